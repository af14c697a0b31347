//! Values collected for an action until its report. Memory is reused, so collecting and reporting do not allocate
//! after each connected UE has been reported once.
use super::condition::Scope;
use super::reading::{Quantity, Reading, UeReading};
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::*;
use ranlab_e2_codec::e2sm::per::{Text, encode_in};

/// Subject of a record.
pub(super) struct RecordSubject<'a, Name> {
    /// Number of the subject: the number of a UE, or 0 for the node.
    pub(super) number: u32,
    /// Counters to sum up.
    pub(super) ues: &'a [UeReading],
    /// Identifier that the node uses for a UE.
    pub(super) name: Name,
}

/// Records per UE, or of the node, in the form of the message.
pub(super) struct Records {
    infos: Vec<MeasurementInfo>,
    quantities: Vec<(Quantity, Scope)>,
    granularity_ms: u32,
    /// ASN.1 text of the messages.
    pub(super) text: Text,
    /// Subject number of each entry of `reports`, in ascending order.
    numbers: Vec<u32>,
    reports: Vec<UeReport>,
    /// Unused records.
    spare: Vec<Record>,
}

impl Records {
    /// Creates empty records for these measurements, with a quantity for each of their labels.
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

    /// Returns a record without values.
    pub(super) fn record(&mut self) -> Record {
        let mut record = self.spare.pop().unwrap_or_else(|| Record { values: Vec::new(), incomplete: false });
        record.values.clear();
        record
    }

    /// Returns a record to the unused ones.
    pub(super) fn free(&mut self, record: Record) {
        self.spare.push(record);
    }

    /// Adds the values between two readings for the UEs that `seen` accepts.
    pub(super) fn add(
        &mut self,
        [then, now]: [&Reading; 2],
        whom: RecordSubject<'_, impl FnOnce(u32) -> UeId>,
        seen: impl Fn(u32) -> bool,
    ) {
        let mut record = self.record();
        record.values.extend(self.quantities.iter().map(|(quantity, scope)| {
            if scope.is_all() {
                return quantity.between(then, now, whom.ues, &seen);
            }
            let of_label = |number: u32| seen(number) && now.ue(number).is_some_and(|ue| scope.has(ue));
            // A UE to which the label does not apply has no value. The node has the value zero if the label applies to no UE.
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

    /// Removes subjects without a record in this period. Returns whether any subject is left.
    pub(super) fn has_subjects(&mut self) -> bool {
        let mut place = 0;
        while let Some(entry) = self.reports.get(place) {
            if entry.report.records.is_empty() {
                self.numbers.remove(place);
                self.reports.remove(place);
            } else {
                place += 1;
            }
        }
        !self.reports.is_empty()
    }

    /// Returns number, name and records of each subject.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, &UeId, &[Record])> {
        let each = self.numbers.iter().zip(&self.reports);
        each.map(|(number, entry)| (*number, &entry.ue, &entry.report.records[..]))
    }

    /// Appends the records of the first subject to `out` as a message of format 1. Returns `false` if they cannot be
    /// encoded.
    pub(super) fn write_first(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(first) = self.reports.first_mut() else { return false };
        let nothing = Report { records: Vec::new(), infos: None, granularity_ms: None };
        // The report is moved into a message and back, so that encoding does not allocate.
        let message = MessageFormat::Node(std::mem::replace(&mut first.report, nothing)).into();
        let (written, format) = write(message, self.text, out);
        if let MessageFormat::Node(report) = format {
            first.report = report;
        }
        written
    }

    /// Appends all records to `out` as a message of format 3. Returns `false` if they cannot be encoded.
    pub(super) fn write_by_ue(&mut self, out: &mut Vec<u8>) -> bool {
        let (written, format) =
            write(MessageFormat::Ues(std::mem::take(&mut self.reports)).into(), self.text, out);
        if let MessageFormat::Ues(reports) = format {
            self.reports = reports;
        }
        written
    }

    /// Clears the records after a report.
    pub(super) fn forget(&mut self) {
        self.reports.iter_mut().for_each(|entry| self.spare.append(&mut entry.report.records));
    }
}

/// Appends a message to `out` and returns its contents for reuse. Encoding succeeds, because values are within their
/// constraints and lists within the number of UEs of a node.
pub(super) fn write(message: IndicationMessage, text: Text, out: &mut Vec<u8>) -> (bool, MessageFormat) {
    (encode_in(&message, text, out).is_ok(), message.format)
}
