//! HW ("hello world"): a service model of ranlab that measures round trips and demonstrates all four services.
//!
//! An xApp or iApp sends a [`Ping`] as a RIC control message. The RAN function echoes it, unchanged, in an indication
//! to every subscription whose trigger is [`HwTrigger::OnControl`]. Control header and indication header are empty
//! octet strings.
//!
//! Pings are in aligned PER or in FlatBuffers; trigger and policy are always in aligned PER, independently of E2AP's
//! encoding.
//!
//! | service | implementation |
//! |---|---|
//! | report | action type report, no definition: indications of type report contain a [`Ping`] |
//! | insert | action type insert, no definition: indications of type insert contain a [`Ping`] |
//! | control | message [`Ping`] |
//! | policy | action type policy, definition [`HwPolicy`]: treatment of large pings without a further request |

mod flat;
mod per;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;

use super::octets::{octets, period_ms};
use super::per::{Aligned, sample};
use super::{Column, Kind, RowKey, ServiceModel, SmError, Table, Type, Value, table};
use crate::per::{Int, SelfCoded};
use crate::{enumerated, sequence};

/// OID of the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.140.0";
/// RAN function id used by ranlab's agents.
pub const DEFAULT_FUNCTION_ID: u16 = 140;
/// RAN function definition: ASCII without structure.
pub const DEFINITION: &[u8] = b"HW_V0";
/// RAN function revision announced by ranlab's agents.
pub const REVISION: u16 = 1;
/// Maximum size of a ping payload, in bytes.
pub const PAYLOAD_SIZE_MAX: usize = 65_535;
/// Maximum period of a trigger, in milliseconds: one hour.
pub const PERIOD_MS_MAX: u32 = 3_600_000;

/// The HW service model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hw;

impl ServiceModel for Hw {
    const NAME: &'static str = "hw";
    const OID: &'static str = OID;
    const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
    const DEFINITION: &'static [u8] = DEFINITION;
    const REVISION: u16 = REVISION;
    const CUSTOMARY: bool = false;
    const ECHOES: bool = true;

    type Trigger = HwTrigger;
    type Action = HwPolicy;
    type Header = ();
    type Message = Ping;
    type ControlHeader = ();
    type Control = Ping;
    type Outcome = Infallible;

    /// Requests pings without payload.
    fn periodic(period: Duration) -> Result<HwTrigger, SmError> {
        let period_ms = period_ms(period, 1, PERIOD_MS_MAX)?;
        Ok(HwTrigger::Periodic(HwPeriodic { period_ms, payload_size: 0 }))
    }

    fn period(trigger: &HwTrigger) -> Option<Duration> {
        match trigger {
            HwTrigger::OnControl => None,
            HwTrigger::Periodic(periodic) => Some(Duration::from_millis(periodic.period_ms.into())),
        }
    }

    fn columns() -> Vec<Column> {
        <Ping as table::Row>::columns()
    }

    fn tabulate(_: &(), message: &Ping, table: &mut Table) {
        table.push(message);
    }

    fn sample(seed: u64) -> ((), Ping) {
        // `sample` fails only for types whose constraints cannot be fulfilled. These can be, so the default is never
        // used.
        ((), sample(seed).unwrap_or_default())
    }
}
octets! {
    Ping: Per => Aligned, Flat => flat::Flat;
    HwTrigger: Per => Aligned, Flat => Aligned;
    HwPolicy: Per => Aligned, Flat => Aligned;
}

/// A ping is a row about the node, with the size of its payload.
impl table::Row for Ping {
    fn columns() -> Vec<Column> {
        let column = |name: &'static str, unit, kind| Column {
            name: name.into(),
            unit,
            kind,
            of: Type::Unsigned,
            headline: true,
        };
        vec![
            column("seq", "", Kind::Counter),
            column("t_send_ns", "ns", Kind::Label),
            column("payload_bytes", "B", Kind::Gauge),
        ]
    }

    fn key(&self) -> RowKey {
        RowKey::Node
    }

    fn values(&self, out: &mut Vec<Value>) {
        let payload_bytes = self.payload.len() as u64;
        out.extend([self.seq.into(), self.t_send_ns, payload_bytes].map(Value::Unsigned));
    }
}

sequence! {
    /// A numbered message with its send time; used as control message and as indication message.
    #[derive(Eq, Hash, Default)]
    Ping "Ping" {
        seq: u32 [Int<0, { u32::MAX as u64 }>] "seq", "Sequence number, assigned by the sender. Periodic reports of an agent start at zero.",
        /// Send time, in nanoseconds on the sender's clock. Only the sender can calculate a difference.
        t_send_ns: u64 [Int<0, { u64::MAX }>] "tSendNs",
        payload: Bytes [per::Payload] "payload", "Arbitrary data that determines the size of the message, at most [`PAYLOAD_SIZE_MAX`] bytes.",
    }
}

/// The event trigger definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HwTrigger {
    /// Each control message is echoed.
    OnControl,
    /// The function sends pings periodically.
    Periodic(HwPeriodic),
}

sequence! {
    /// Periodic pings, with a payload of zeros.
    #[derive(Copy, Eq, Hash)]
    HwPeriodic "HwPeriodic" {
        period_ms: u32 [Int<1, { PERIOD_MS_MAX as u64 }>] "periodMs", "Interval between two pings, in milliseconds, 1 to [`PERIOD_MS_MAX`].",
        payload_size: u16 [Int<0, { PAYLOAD_SIZE_MAX as u64 }>] "payloadSize", "Payload size in bytes, at most [`PAYLOAD_SIZE_MAX`].",
    }
    /// Action definition of a policy: pings with a payload above the threshold are handled differently.
    ///
    /// The policy applies to the pings of all controllers while its subscription exists. Smaller pings are echoed as usual.
    #[derive(Copy, Eq, Hash)]
    HwPolicy "HwPolicy" {
        threshold: u32 [Int<0, { u32::MAX as u64 }>] "threshold", "Payload size in bytes; a ping with exactly this size does not exceed it.",
        action: HwPolicyAction [SelfCoded] "action", "Action for pings above the threshold.",
    }
}

impl HwPolicy {
    /// Returns the action for a ping with `payload_size` bytes, or `None` if it is echoed as usual.
    pub const fn applies(&self, payload_size: usize) -> Option<HwPolicyAction> {
        if payload_size as u64 > self.threshold as u64 { Some(self.action) } else { None }
    }
}

enumerated! {
    /// Action of a policy.
    HwPolicyAction "HwPolicyAction" {
        Ignore "ignore", "The control is acknowledged but not echoed.",
        Reject "reject", "The control is refused: a RIC control failure, no echo.",
        EchoHeader "echoHeader", "The ping is echoed without its payload, with the same number and time.",
        EchoTwice "echoTwice", "The ping is echoed twice.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::per::Form;

    #[test]
    fn policy_applies_above_threshold() {
        let policy = HwPolicy { threshold: 100, action: HwPolicyAction::Reject };
        assert_eq!(policy.applies(100), None);
        assert_eq!(policy.applies(101), Some(HwPolicyAction::Reject));
    }

    #[test]
    fn ping_from_named_values_equals_ping() {
        use crate::e2sm::Octets;
        for payload in [&b""[..], b"x", &[0x5a; 1_500]] {
            let ping = Ping { seq: 7, t_send_ns: u64::MAX, payload: Bytes::copy_from_slice(payload) };
            assert_eq!(Ping::from_form(ping.to_form().unwrap()).unwrap(), ping);
        }
        let odd = Form::Fields(vec![
            ("seq".to_owned(), Form::Integer(7)),
            ("tSendNs".to_owned(), Form::Integer(0)),
            ("payload".to_owned(), Form::Text("abc".to_owned())),
        ]);
        let error = Ping::from_form(odd).unwrap_err().to_string();
        assert!(error.contains("in payload"), "{error}");
    }
}
