//! What was collected for an action until its report, in memory that stays: once the UEs that there are have been told of,
//! collecting and telling take no more.
use super::condition::Scope;
use super::reading::{Quantity, Reading, UeReading};
use ranlab_wire::e2sm::common::UeId;
use ranlab_wire::e2sm::kpm::*;
use ranlab_wire::e2sm::per::{Text, encode_in};

/// Of whom a record is.
pub(super) struct Whom<'a, Name> {
    /// Under which number it is kept: a UE's, or 0 for the node.
    pub(super) number: u32,
    /// Whose counters it sums up.
    pub(super) ues: &'a [UeReading],
    /// What the node calls a UE.
    pub(super) name: Name,
}

/// Records by UE, or the node's, as messages have them.
pub(super) struct Told {
    infos: Vec<MeasurementInfo>,
    quantities: Vec<(Quantity, Scope)>,
    granularity_ms: u32,
    /// Which ASN.1 text messages follow.
    pub(super) text: Text,
    /// Of each of `reports`, in rising order.
    numbers: Vec<u32>,
    reports: Vec<UeReport>,
    /// Records that are free.
    spare: Vec<Record>,
}

impl Told {
    /// Of these measurements, with a quantity for each of their labels.
    pub(super) fn new(
        infos: Vec<MeasurementInfo>,
        quantities: Vec<(Quantity, Scope)>,
        granularity_ms: u32,
        text: Text,
    ) -> Self {
        Self {
            infos,
            quantities,
            granularity_ms,
            text,
            numbers: Vec::new(),
            reports: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// A record without values yet.
    pub(super) fn record(&mut self) -> Record {
        let mut record = self.spare.pop().unwrap_or_else(|| Record { values: Vec::new(), incomplete: false });
        record.values.clear();
        record
    }

    /// A record that is not needed any more.
    pub(super) fn free(&mut self, record: Record) {
        self.spare.push(record);
    }

    /// Adds what happened between two readings, of the UEs that `seen` lets pass.
    pub(super) fn add(
        &mut self,
        [then, now]: [&Reading; 2],
        whom: Whom<'_, impl FnOnce(u32) -> UeId>,
        seen: impl Fn(u32) -> bool,
    ) {
        let mut record = self.record();
        record.values.extend(self.quantities.iter().map(|(quantity, scope)| {
            if scope.is_all() {
                return quantity.between(then, now, whom.ues, &seen);
            }
            let of_label = |number: u32| seen(number) && now.ue(number).is_some_and(|ue| scope.has(ue));
            // A UE outside the label has no value; a node without such UEs has zero.
            if whom.number != 0 && !of_label(whom.number) {
                return Measured::NoValue(());
            }
            quantity.between(then, now, whom.ues, of_label)
        }));
        let place = self.numbers.binary_search(&whom.number).unwrap_or_else(|place| {
            let infos = Some(self.infos.clone());
            let report = Report { records: Vec::new(), infos, granularity_ms: Some(self.granularity_ms) };
            self.numbers.insert(place, whom.number);
            self.reports.insert(place, UeReport { ue: (whom.name)(whom.number), report });
            place
        });
        self.reports[place].report.records.push(record);
    }

    /// Whether there is anything; those of whom nothing was collected this time are forgotten.
    pub(super) fn is_of_somebody(&mut self) -> bool {
        let mut place = 0;
        while let Some(told) = self.reports.get(place) {
            if told.report.records.is_empty() {
                self.numbers.remove(place);
                self.reports.remove(place);
            } else {
                place += 1;
            }
        }
        !self.reports.is_empty()
    }

    /// Of whom there is something, by number and by name, and what.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, &UeId, &[Record])> {
        let each = self.numbers.iter().zip(&self.reports);
        each.map(|(number, told)| (*number, &told.ue, &told.report.records[..]))
    }

    /// Appends the first one's records to `out` as a message of format 1; `false` if they cannot be encoded.
    pub(super) fn write_first(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(first) = self.reports.first_mut() else { return false };
        let nothing = Report { records: Vec::new(), infos: None, granularity_ms: None };
        // Into a message and back, which moves no memory.
        let message = MessageFormat::Node(std::mem::replace(&mut first.report, nothing)).into();
        let (written, format) = write(message, self.text, out);
        if let MessageFormat::Node(report) = format {
            first.report = report;
        }
        written
    }

    /// As [`write_first`](Self::write_first): all records, as a message of format 3.
    pub(super) fn write_by_ue(&mut self, out: &mut Vec<u8>) -> bool {
        let (written, format) =
            write(MessageFormat::Ues(std::mem::take(&mut self.reports)).into(), self.text, out);
        if let MessageFormat::Ues(reports) = format {
            self.reports = reports;
        }
        written
    }

    /// The records are told.
    pub(super) fn forget(&mut self) {
        self.reports.iter_mut().for_each(|told| self.spare.append(&mut told.report.records));
    }
}

/// Appends a message to `out`, and gives its contents back. Values are within their constraints, lists within what a node has of UEs:
/// it is written.
pub(super) fn write(message: IndicationMessage, text: Text, out: &mut Vec<u8>) -> (bool, MessageFormat) {
    (encode_in(&message, text, out).is_ok(), message.format)
}
