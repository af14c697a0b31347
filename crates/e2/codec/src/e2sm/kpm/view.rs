//! Borrowed view of a message: no text is copied, and data repeated for several UEs is read once.
//!
//! In a report per UE, 70 % of the bytes are names of measurements, which are the same for each UE. Therefore a list of
//! measurements that has the same bytes as the previous one is skipped.
use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use super::action::PeriodMs;
use super::measure::{LIST_MAX, Label, LabelItem, RECORD_MAX};
use super::message::{ConditionalReport, Measured};
use crate::e2sm::SmError;
use crate::e2sm::common::UeId;
use crate::e2sm::per;
use crate::per::{
    Codec, Component, DecodeError, DecodeFault, EnumeratedTrue, IntExt, IntegerOrReal, Opt, Per, Reader,
    Source,
};

/// A measurement. Its name shares the memory of the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasurementRef {
    /// Name, in ASCII.
    Name(Bytes),
    /// Identifier from the RAN function definition.
    Id(u32),
}

impl MeasurementRef {
    /// Returns the name, if there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => std::str::from_utf8(name).ok(),
            Self::Id(_) => None,
        }
    }
}

#[derive(Debug)]
struct Info {
    measurement: MeasurementRef,
    labels: Range<usize>,
}

#[derive(Debug)]
struct Record {
    values: Range<usize>,
    incomplete: bool,
}

#[derive(Debug)]
struct Report {
    ue: Option<UeId>,
    records: Range<usize>,
    infos: Option<Range<usize>>,
    granularity_ms: Option<u32>,
}

/// Positions, in bits, of a decoded measurement list and of the current one.
type Known = (Range<usize>, Range<usize>);

/// A decoded message of format 1 or 3.
#[derive(Debug, Default)]
pub struct ReportsView {
    reports: Vec<Report>,
    records: Vec<Record>,
    values: Vec<Measured>,
    infos: Vec<Info>,
    labels: Vec<Label>,
}

/// A message of any format.
#[derive(Debug)]
pub enum MessageView {
    /// Values of the node, a cell or one UE (format 1), or per UE (format 3).
    Reports(ReportsView),
    /// Values per measurement (format 2), as an owned value.
    Conditional(ConditionalReport),
}

impl MessageView {
    /// Decodes a message that must consume all bytes.
    ///
    /// # Errors
    /// Fails like decoding an `IndicationMessage`.
    pub fn read(octets: &Bytes) -> Result<Self, SmError> {
        Self::read_in(octets, &mut per::Text::default())
    }

    /// Decodes like [`read`](Self::read), for a node that uses this ASN.1 text.
    ///
    /// # Errors
    /// Fails like [`read`](Self::read).
    pub fn read_in(octets: &Bytes, text: &mut per::Text) -> Result<Self, SmError> {
        Ok(per::learn(text, |text| Self::whole(octets, text))?)
    }

    fn whole(octets: &Bytes, text: per::Text) -> Result<Self, DecodeError> {
        let mut r = per::reader_of(octets.clone(), text);
        let extended = r.extended()?;
        let view = match r.index(2, 1, true)? {
            (false, 0) => {
                let mut view = ReportsView::default();
                view.report(&mut r, None, &mut None)?;
                Self::Reports(view)
            }
            (false, _) => Self::Conditional(ConditionalReport::decode(&mut r)?),
            (true, _) => Self::Reports(r.addition(ReportsView::by_ue)?),
        };
        skip_additions(&mut r, extended)?;
        if r.remaining() > 0 {
            return Err(r.fault(DecodeFault::InvalidLength));
        }
        Ok(view)
    }
}

/// A record whose number of values differs from the number of labels, so that the values cannot be assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// Number of values.
    pub values: usize,
    /// Number of labels (or UEs, in format 2) of the measurements.
    pub labels: usize,
}

impl Mismatch {
    /// Returns the mismatch of a record, if there is one.
    pub const fn find(values: usize, labels: usize) -> Option<Self> {
        if values == labels { None } else { Some(Self { values, labels }) }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let Self { values, labels } = *self;
        write!(f, "{values} value{} for {labels} label{}", plural(values), plural(labels))
    }
}

impl MessageView {
    /// Returns the mismatch of the first record that has one. `subscribed` returns the number of labels of the
    /// subscription, which applies to reports that contain no labels.
    pub fn mismatch(&self, subscribed: impl FnOnce() -> Option<usize>) -> Option<Mismatch> {
        let is_unnamed = |view: &ReportsView| view.reports.iter().any(|report| report.infos.is_none());
        let subscribed = match self {
            Self::Reports(view) if is_unnamed(view) => subscribed(),
            _ => None,
        };
        match self {
            Self::Conditional(report) => {
                let labels = report.measurements.iter().map(|it| it.ues.as_ref().map_or(0, Vec::len)).sum();
                report.records.iter().find_map(|record| Mismatch::find(record.values.len(), labels))
            }
            Self::Reports(view) => view.reports.iter().find_map(|report| {
                let labels = match report.infos.clone() {
                    Some(infos) => view.infos[infos].iter().map(|info| info.labels.len()).sum(),
                    None => subscribed?,
                };
                let records = view.records[report.records.clone()].iter();
                records.map(|it| it.values.len()).find_map(|values| Mismatch::find(values, labels))
            }),
        }
    }
}

/// Encoding of the label "no label": two extension bits, 21 presence bits of which only the first is set, and its
/// value.
const NO_LABEL: u64 = 1 << 21;
const NO_LABEL_BITS: u32 = 24;

#[inline]
fn skip_additions(r: &mut Reader, extended: bool) -> Result<(), DecodeError> {
    if extended { r.additions(0, |_, _| Ok(())) } else { Ok(()) }
}

impl ReportsView {
    fn by_ue(r: &mut Reader) -> Result<Self, DecodeError> {
        let mut view = Self::default();
        let extended = r.extended()?;
        let (ues, _) = r.list_len(1, LIST_MAX)?;
        let mut known = None;
        // A UE takes at least eight bytes.
        let expected = ues.min(r.remaining() / 8);
        view.reports.reserve(expected);
        view.records.reserve(expected);
        for _ in 0..ues {
            let extended = r.extended()?;
            let ue = UeId::decode(r)?;
            view.report(r, Some(ue), &mut known)?;
            if view.reports.len() == 1 {
                // The other UEs usually have as many values as the first one.
                view.values.reserve((expected * view.values.len()).min(r.remaining()));
            }
            skip_additions(r, extended)?;
        }
        skip_additions(r, extended)?;
        Ok(view)
    }

    #[inline]
    fn report(
        &mut self,
        r: &mut Reader,
        ue: Option<UeId>,
        known: &mut Option<Known>,
    ) -> Result<(), DecodeError> {
        let extended = r.extended()?;
        let has_infos = r.flag()?;
        let has_granularity = r.flag()?;
        let first = self.records.len();
        let (records, _) = r.list_len(1, LIST_MAX)?;
        for _ in 0..records {
            self.record(r)?;
        }
        let infos = match known {
            _ if !has_infos => None,
            Some((bits, infos)) if r.repeats(bits) => Some(infos.clone()),
            _ => {
                let from = r.position().next_multiple_of(8);
                let infos = self.list(r)?;
                *known = Some((from..r.position(), infos.clone()));
                Some(infos)
            }
        };
        let granularity_ms = <Opt<PeriodMs> as Component<_>>::decode(r, has_granularity)?;
        skip_additions(r, extended)?;
        self.reports.push(Report { ue, records: first..self.records.len(), infos, granularity_ms });
        Ok(())
    }

    #[inline]
    fn record(&mut self, r: &mut Reader) -> Result<(), DecodeError> {
        let extended = r.extended()?;
        let is_incomplete = r.flag()?;
        let first = self.values.len();
        loop {
            let (values, more) = r.list_len(1, RECORD_MAX)?;
            for _ in 0..values {
                let value = match r.integer_or_real() {
                    Some(IntegerOrReal::Integer(value)) => Measured::Integer(value),
                    Some(IntegerOrReal::Real(value)) => Measured::Real(value),
                    None => Measured::decode(r)?,
                };
                self.values.push(value);
            }
            if !more {
                break;
            }
        }
        let incomplete = <EnumeratedTrue as Component<bool>>::decode(r, is_incomplete)?;
        skip_additions(r, extended)?;
        self.records.push(Record { values: first..self.values.len(), incomplete });
        Ok(())
    }

    #[inline]
    fn list(&mut self, r: &mut Reader) -> Result<Range<usize>, DecodeError> {
        let first = self.infos.len();
        let (infos, _) = r.list_len(1, LIST_MAX)?;
        for _ in 0..infos {
            let extended = r.extended()?;
            let measurement = match r.index(2, 0, true)? {
                (_, 0) => MeasurementRef::Name(r.text(1, 150, true)?),
                _ => MeasurementRef::Id(<IntExt<1, 65_536> as Codec<u32>>::decode(r)?),
            };
            let from = self.labels.len();
            loop {
                let (labels, more) = r.list_len(1, RECORD_MAX)?;
                for _ in 0..labels {
                    let none = r.skips(NO_LABEL_BITS, NO_LABEL);
                    let label = if none { Label::none() } else { <LabelItem as Codec<Label>>::decode(r)? };
                    self.labels.push(label);
                }
                if !more {
                    break;
                }
            }
            skip_additions(r, extended)?;
            self.infos.push(Info { measurement, labels: from..self.labels.len() });
        }
        Ok(first..self.infos.len())
    }

    /// Returns the reports of each UE or of the node.
    pub fn reports(&self) -> impl ExactSizeIterator<Item = ReportView<'_>> {
        self.reports.iter().map(|report| ReportView { view: self, report })
    }
}

/// A report of a UE or of the node.
#[derive(Debug, Clone, Copy)]
pub struct ReportView<'a> {
    view: &'a ReportsView,
    report: &'a Report,
}

impl<'a> ReportView<'a> {
    /// Returns the UE, or `None` for the node, its cell, or the only UE of the subscription.
    pub fn ue(&self) -> Option<&'a UeId> {
        self.report.ue.as_ref()
    }

    /// Returns the granularity period in milliseconds, if the message contains it.
    pub fn granularity_ms(&self) -> Option<u32> {
        self.report.granularity_ms
    }

    /// Returns the values of each granularity period, and whether the period is incomplete.
    pub fn records(&self) -> impl ExactSizeIterator<Item = (&'a [Measured], bool)> + use<'a> {
        let view = self.view;
        let records = &view.records[self.report.records.clone()];
        records.iter().map(move |record| (&view.values[record.values.clone()], record.incomplete))
    }

    /// Returns measurement and label of the values, or `None` if the subscription defines them.
    pub fn measurements(&self) -> Option<impl Iterator<Item = (&'a MeasurementRef, &'a Label)> + use<'a>> {
        let view = self.view;
        let infos = &view.infos[self.report.infos.clone()?];
        Some(infos.iter().flat_map(move |info| {
            view.labels[info.labels.clone()].iter().map(move |label| (&info.measurement, label))
        }))
    }
}
