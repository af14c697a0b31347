//! KPM: 3GPP measurements per cell, per UE or by condition. Implements O-RAN's E2SM-KPM 2.03 and 3.00, and of the
//! additions in 4.00 only "not satisfied".
//!
//! 2.03 and 3.00 differ only in the timestamp of the header, whose length distinguishes them. The OID does not identify
//! the version: existing base stations offer 2.x and send 3.00. Names and units are those of TS 28.552. All octet
//! strings use aligned PER.
//!
//! [`MessageView`] reads messages without copying text; [`IndicationMessage`] is the same as an owned value.

mod action;
mod function;
mod measure;
mod message;
mod names;
mod naming;
mod rows;
mod selection;
mod time;
mod view;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;

use super::common::Snssai;
use super::octets::period_ms;
use super::per::sample;
use super::plain::{PERIOD_MS_MAX, PERIOD_MS_MIN};
use super::table::Row;
use super::{Column, Context, Encoding, Octets, Offer, ServiceModel, SmError, Stamp, Table};

use naming::Naming;

pub use action::*;
pub use function::*;
pub use measure::*;
pub use message::*;
pub use names::*;
pub use rows::MeasurementRow;
use selection::offers;
pub use selection::{Selection, SelectionError};
pub use time::TimeStamp;
pub use view::*;

/// OID of the model in any version (2.03, and 3.00 at OCUDU).
pub const OID: &str = "1.3.6.1.4.1.53148.1.2.2.2";
/// OID used by some nodes for 3.00.
pub const OID_V3: &str = "1.3.6.1.4.1.53148.1.3.2.2";
/// Usual RAN function id.
pub const DEFAULT_FUNCTION_ID: u16 = 2;
/// Slice whose UEs are requested from a third-party node by default: SST 1.
pub const DEFAULT_SLICE: Snssai = Snssai { sst: 1, sd: None };

/// The KPM service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Kpm;

impl ServiceModel for Kpm {
    const NAME: &'static str = "kpm";
    const OID: &'static str = OID;
    const OTHER_OIDS: &'static [&'static str] = &[OID_V3];
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    /// Encoded [`FunctionDescription::new`] with the measurements of ranlab's base stations ([`UE_MEASUREMENTS`], [`NODE_MEASUREMENTS`]).
    const DEFINITION: &'static [u8] = include_bytes!("definition.per");
    const REVISION: u16 = 0;
    const CUSTOMARY: bool = false;

    type Trigger = EventTrigger;
    type Action = ActionDefinition;
    type Header = IndicationHeader;
    type Message = IndicationMessage;
    type ControlHeader = Infallible;
    type Control = Infallible;
    type Outcome = Infallible;

    fn periodic(period: Duration) -> Result<EventTrigger, SmError> {
        period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX).map(|period_ms| EventTrigger { period_ms })
    }

    fn period(trigger: &EventTrigger) -> Option<Duration> {
        Some(Duration::from_millis(trigger.period_ms.into()))
    }

    /// Requests all measurements of each UE, or of the node if it offers none per UE. From a third-party node, requests
    /// only the UEs of [`DEFAULT_SLICE`].
    fn action(definition: &Bytes, period: Duration) -> Result<Option<ActionDefinition>, SmError> {
        let granularity_ms = period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX)?;
        let description = FunctionDescription::decode_as(Encoding::Per, definition)?;
        let ours = definition[..] == *Self::DEFINITION;
        let test = if ours { Test::any_slice() } else { Test::slice(DEFAULT_SLICE) };
        let action = description.everything(test, granularity_ms);
        action.map(Some).ok_or(SmError::Absent("report style that can be monitored at this base station"))
    }

    fn offers(definition: &Bytes) -> Result<Vec<Offer>, SmError> {
        offers(definition)
    }

    fn columns() -> Vec<Column> {
        MeasurementRow::columns()
    }

    fn tabulate(header: &IndicationHeader, message: &IndicationMessage, table: &mut Table) {
        Self::tabulate_in(&Context::default(), header, message, table);
    }

    /// A message without measurement names has the measurements of the subscription. Measurement ids refer to the definition.
    fn tabulate_in(
        context: &Context,
        header: &IndicationHeader,
        message: &IndicationMessage,
        table: &mut Table,
    ) {
        let span_ms = match &message.format {
            MessageFormat::Node(report) => span_ms(report.records.len(), report.granularity_ms),
            MessageFormat::Conditional(report) => span_ms(report.records.len(), report.granularity_ms),
            MessageFormat::Ues(ues) => {
                let of = |it: &UeReport| span_ms(it.report.records.len(), it.report.granularity_ms);
                ues.iter().map(of).max().unwrap_or(0)
            }
        };
        table.tstamp_us = ended_us(header, span_ms);
        rows::push(message, &Naming::new(message, context), table);
    }

    fn check(encoding: Encoding, header: &[u8], message: &[u8]) -> Result<(), SmError> {
        Self::check_in(encoding, &mut Context::default(), header, message)
    }

    fn check_in(
        encoding: Encoding,
        context: &mut Context,
        header: &[u8],
        message: &[u8],
    ) -> Result<(), SmError> {
        IndicationHeader::decode_as(encoding, &Bytes::copy_from_slice(header))?;
        let view = MessageView::read_in(&Bytes::copy_from_slice(message), &mut context.text)?;
        let mismatch = view.mismatch(|| naming::subscribed_values(context));
        mismatch.map_or(Ok(()), |it| Err(SmError::LeftOut(it.to_string())))
    }

    /// Returns the end of the last record. The header contains the start of the collection.
    fn tstamp_us(encoding: Encoding, header: &[u8], message: &[u8]) -> Option<i64> {
        let header = IndicationHeader::decode_as(encoding, &Bytes::copy_from_slice(header)).ok()?;
        let span_ms = match MessageView::read(&Bytes::copy_from_slice(message)).ok()? {
            MessageView::Conditional(report) => span_ms(report.records.len(), report.granularity_ms),
            MessageView::Reports(view) => {
                let of = |it: ReportView<'_>| span_ms(it.records().len(), it.granularity_ms());
                view.reports().map(of).max().unwrap_or(0)
            }
        };
        ended_us(&header, span_ms)
    }

    fn stamp(encoding: Encoding, context: &mut Context, header: &[u8], message: &[u8]) -> Option<Stamp> {
        let header = IndicationHeader::decode_as(encoding, &Bytes::copy_from_slice(header)).ok()?;
        let view = MessageView::read_in(&Bytes::copy_from_slice(message), &mut context.text).ok()?;
        let granularity_ms = |of_message: Option<u32>| of_message.or_else(|| naming::granularity_ms(context));
        let span_ms = match view {
            MessageView::Conditional(report) => {
                span_ms(report.records.len(), granularity_ms(report.granularity_ms))
            }
            MessageView::Reports(view) => {
                let of =
                    |it: ReportView<'_>| span_ms(it.records().len(), granularity_ms(it.granularity_ms()));
                view.reports().map(of).max().unwrap_or(0)
            }
        };
        Some(Stamp {
            at_us: header.start.unix_us()?,
            span_us: span_ms.saturating_mul(1_000),
            step_us: header.start.step_us(),
            is_start: true,
        })
    }

    fn sample(seed: u64) -> (IndicationHeader, IndicationMessage) {
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the fallback is never
        // used.
        let header = IndicationHeader::sample(seed).unwrap_or_else(|_| TimeStamp::V3(seed).into());
        let report = || Report { records: Vec::new(), infos: None, granularity_ms: None };
        let message = sample(seed).unwrap_or_else(|_| MessageFormat::Node(report()).into());
        (header, rows::consistent(message))
    }
}

/// Returns the duration of this number of records, if their granularity period is known.
fn span_ms(records: usize, granularity_ms: Option<u32>) -> i64 {
    i64::try_from(records as u64 * u64::from(granularity_ms.unwrap_or(0))).unwrap_or(i64::MAX)
}

fn ended_us(header: &IndicationHeader, span_ms: i64) -> Option<i64> {
    Some(header.start.unix_us()?.saturating_add(span_ms.saturating_mul(1_000)))
}
