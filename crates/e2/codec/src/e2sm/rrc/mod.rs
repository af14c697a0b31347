//! RRC: connected UEs. This model of ranlab reports UEs that attach, are released or arrive by handover, with the
//! selected PLMN and slices. From the PLMN and slices, a controller at a CU determines to which controller a UE
//! belongs. It can also hand UEs over between cells of the CU.
//!
//! After a subscription to events, the connected UEs are reported as [`RrcChange::Connected`], then each event as it
//! occurs. FlexRIC has no such model. All octet strings use aligned PER, and there is no indication header.

use std::convert::Infallible;
use std::time::Duration;

use crate::e2ap::{Plmn, PlmnCodec};
use crate::per::{Int, List, Opt, SelfCoded, Unconstrained};
use crate::{choice, enumerated, sequence};

use super::common::Snssai;
use super::control::Refusal;
use super::octets::{octets, period_ms};
use super::per::{Aligned, sample};
use super::plain::{PERIOD_MS_MAX, PERIOD_MS_MIN};
use super::table::{Row, columns};
use super::{Column, Encoding, Octets, RowKey, ServiceModel, SmError, Table};

/// OID of the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.136.0";
/// RAN function id used by ranlab's agents.
pub const DEFAULT_FUNCTION_ID: u16 = 136;
/// Maximum number of slices that a UE may use at the same time (TS 23.501 §5.15.1).
pub const SNSSAIS_MAX: usize = 8;

/// The RRC service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rrc;

impl ServiceModel for Rrc {
    const NAME: &'static str = "rrc";
    const OID: &'static str = OID;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    const DEFINITION: &'static [u8] = b"RRC_EVENTS_V0";
    const REVISION: u16 = 1;
    const CUSTOMARY: bool = false;

    type Trigger = RrcTrigger;
    type Action = Infallible;
    type Header = ();
    type Message = RrcIndication;
    type ControlHeader = ();
    type Control = RrcCommand;
    type Outcome = Refusal;

    /// Requests events as they occur, and the list of all connected UEs every `period`.
    fn periodic(period: Duration) -> Result<RrcTrigger, SmError> {
        let period_ms = Some(period_ms(period, PERIOD_MS_MIN, PERIOD_MS_MAX)?);
        Ok(RrcTrigger { events: true, period_ms })
    }

    fn period(trigger: &RrcTrigger) -> Option<Duration> {
        trigger.period_ms.map(|ms| Duration::from_millis(ms.into()))
    }

    fn columns() -> Vec<Column> {
        RrcEvent::columns()
    }

    fn tabulate(_: &(), message: &RrcIndication, table: &mut Table) {
        table.tstamp_us = i64::try_from(message.tstamp_us).ok();
        message.events.iter().for_each(|event| table.push(event));
    }

    fn tstamp_us(encoding: Encoding, _: &[u8], message: &[u8]) -> Option<i64> {
        let message = RrcIndication::decode_as(encoding, &bytes::Bytes::copy_from_slice(message)).ok()?;
        i64::try_from(message.tstamp_us).ok()
    }

    fn sample(seed: u64) -> ((), RrcIndication) {
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the default is never
        // used.
        ((), sample(seed).unwrap_or_default())
    }
}
octets! {
    RrcTrigger: Per => Aligned;
    RrcIndication: Per => Aligned;
    RrcCommand: Per => Aligned;
}

sequence! {
    /// Event trigger definition.
    #[derive(Copy, Eq, Hash)]
    RrcTrigger "RrcTrigger" {
        events: bool [Unconstrained] "events", "Each event immediately, after an initial list of the connected UEs.",
        period_ms: Option<u32> [Opt<Int<{ PERIOD_MS_MIN as u64 }, { PERIOD_MS_MAX as u64 }>>] "periodMs", "Period of reports of all connected UEs, in milliseconds.",
    }
}

impl RrcTrigger {
    /// Events only.
    pub const EVENTS: Self = Self { events: true, period_ms: None };
}

sequence! {
    /// Indication message.
    #[derive(Eq, Hash, Default)]
    RrcIndication "RrcIndication" {
        tstamp_us: u64 [Int<0, { i64::MAX as u64 }>] "tstampUs", "Time of the report, in microseconds since the Unix epoch.",
        events: Vec<RrcEvent> [List<0, 65_535>] "events", "Events in chronological order.",
    }
}

enumerated! {
    /// Type of an event.
    RrcChange "RrcChange" {
        Connected "connected", "No event: the UE is connected.",
        Attach "attach", "The UE attached.",
        Release "release", "The UE left this node.",
        Handover "handover", "The UE arrived from another cell.",
    }
}

sequence! {
    /// An event of a UE.
    #[derive(Eq, Hash)]
    RrcEvent "RrcEvent" {
        change: RrcChange [SelfCoded] "change", "Type of the event.",
        rnti: u16 [Int<0, 65_535>] "rnti", "Radio network temporary identifier of the UE.",
        cell_id: u16 [Int<0, 65_535>] "cellId", "Number of the cell at the node.",
        plmn: Plmn [PlmnCodec] "plmn", "The network that the UE selected.",
        snssais: Vec<Snssai> [List<0, { SNSSAIS_MAX as u64 }>] "snssais", "Requested slices.",
        other: Option<RrcCell> [Opt] "other", "Source cell after a handover; target cell with a release for a handover.",
    }
    /// The other cell of a handover.
    #[derive(Copy, Eq, Hash)]
    RrcCell "RrcCell" {
        cell_id: u16 [Int<0, 65_535>] "cellId", "Number of the cell at the node.",
        rnti: u16 [Int<0, 65_535>] "rnti", "RNTI of the UE in that cell.",
    }
}

choice! {
    /// Control message. A command is executed completely or not at all; a refused one has a [`Refusal`].
    #[derive(Copy, Eq, Hash)]
    RrcCommand "RrcCommand" {
        Handover(RrcHandover) [SelfCoded] "handover", "A UE goes to another cell of the same node (TS 38.401 §8.2.1: from DU to DU of a CU).",
    }
}

sequence! {
    /// A handover. It causes two events: a release with the target cell, and a handover with the source cell and the
    /// new C-RNTI.
    #[derive(Copy, Eq, Hash)]
    RrcHandover "RrcHandover" {
        rnti: u16 [Int<0, 65_535>] "rnti", "Radio network temporary identifier of the UE.",
        cell_id: u16 [Int<0, 65_535>] "cellId", "Number of the current cell at the node.",
        target_cell_id: u16 [Int<0, 65_535>] "targetCellId", "Target cell.",
    }
}

columns! { RrcEvent, event => RowKey::Ue { rnti: event.rnti.into() }, {
    "change" [Text Label headline] = event.change.name(),
    "cell_id" [Unsigned Label headline] = event.cell_id,
    "plmn" [Text Label headline] = event.plmn.to_string(),
    "snssai" [Text Label headline] = event.snssais.iter().map(Snssai::to_string).collect::<Vec<_>>().join(" "),
    "other_cell_id" [Text Label] = event.other.map_or_else(String::new, |cell| cell.cell_id.to_string()),
    "other_rnti" [Text Label] = event.other.map_or_else(String::new, |cell| cell.rnti.to_string()),
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attach_has_expected_encoding() {
        let event = RrcEvent {
            change: RrcChange::Attach,
            rnti: 0x4601,
            cell_id: 3,
            plmn: Plmn::new(505, 1, 2),
            snssais: vec![Snssai { sst: 1, sd: Some(0xff) }],
            other: None,
        };
        let message = RrcIndication { tstamp_us: 5, events: vec![event] };
        let octets = message.to_octets(Encoding::Per).unwrap();
        #[rustfmt::skip]
        let expected = [
            0x00, 5,             // no additions, the time in one byte
            0x00, 0x01,          // one event
            0x08,                // no additions, no `other`; `attach` is 1 of 0..3, extensible: 0 01
            0x46, 0x01, 0, 3,    // RNTI, cell
            0x05, 0xf5, 0x10,    // 505.01
            0x14,                // one S-NSSAI of 0..8 (0001), no additions, a differentiator follows
            1, 0x00, 0xff,
        ];
        assert_eq!(octets[..], expected);
        assert_eq!(RrcIndication::decode_as(Encoding::Per, &octets), Ok(message));
    }

    #[test]
    fn handover_has_expected_encoding() {
        let handover = RrcHandover { rnti: 0x4601, cell_id: 0, target_cell_id: 2 };
        let command = RrcCommand::Handover(handover);
        let octets = command.to_octets(Encoding::Per).unwrap();
        // Two zero bits: the CHOICE has no extension (and no index, because it has one alternative); no additions.
        assert_eq!(octets[..], [0x00, 0x46, 0x01, 0, 0, 0, 2]);
        assert_eq!(RrcCommand::decode_as(Encoding::Per, &octets), Ok(command));
    }
}
