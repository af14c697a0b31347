//! HW in aligned PER. Encode and decode with [`e2sm::per`](crate::e2sm::per).
//!
//! ```text
//! Ping      ::= SEQUENCE { seq INTEGER (0..4294967295), tSendNs INTEGER (0..18446744073709551615),
//!                          payload OCTET STRING (SIZE (0..65535)), ... }
//! HwTrigger ::= CHOICE { onControl NULL, periodic HwPeriodic, ... }
//! HwPeriodic::= SEQUENCE { periodMs INTEGER (1..3600000), payloadSize INTEGER (0..65535), ... }
//! HwPolicy  ::= SEQUENCE { threshold INTEGER (0..4294967295),
//!                          action ENUMERATED { ignore, reject, echoHeader, echoTwice, ... }, ... }
//! ```

use bytes::Bytes;

use super::{HwTrigger, PAYLOAD_SIZE_MAX};
use crate::per::{Codec, DecodeError, DecodeFault, EncodeError, Notation, Per, Source, Writer};

/// OCTET STRING (SIZE (0..65535)): too short for fragments (X.691 §17.8), with its length in two aligned bytes.
#[derive(Debug)]
pub(super) struct Payload;

impl Codec<Bytes> for Payload {
    fn encode(value: &Bytes, w: &mut Writer) -> Result<(), EncodeError> {
        w.constrained("payload octets", value.len() as u64, 0, PAYLOAD_SIZE_MAX as u64)?;
        w.octets_raw(value);
        Ok(())
    }

    fn decode<S: Source>(r: &mut S) -> Result<Bytes, DecodeError> {
        let octets = r.octet_count(0, PAYLOAD_SIZE_MAX as u64)?;
        r.octets_fixed(octets as usize)
    }

    fn show(value: &Bytes, n: &mut Notation) {
        n.octets(value);
    }
}

const TRIGGERS: u64 = 2;
const ON_CONTROL: u64 = 0;
const PERIODIC: u64 = 1;

impl Per for HwTrigger {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        w.bit(false);
        match *self {
            Self::OnControl => w.constrained("trigger", ON_CONTROL, 0, TRIGGERS - 1),
            Self::Periodic(ref periodic) => {
                w.constrained("trigger", PERIODIC, 0, TRIGGERS - 1)?;
                periodic.encode(w)
            }
        }
    }

    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        match r.index(TRIGGERS, 0, true)? {
            (false, ON_CONTROL) => Ok(Self::OnControl),
            (false, PERIODIC) => Per::decode(r).map(Self::Periodic),
            (_, index) => Err(r.fault(DecodeFault::UnknownAlternative(index))),
        }
    }

    fn show(&self, n: &mut Notation) {
        match self {
            Self::OnControl => n.text("onControl : NULL"),
            Self::Periodic(periodic) => {
                n.text("periodic : ");
                periodic.show(n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2ap::Version;
    use crate::e2sm::hw::{HwPeriodic, HwPolicy, HwPolicyAction, PERIOD_MS_MAX, Ping};
    use crate::e2sm::per::{decode, encode};
    use crate::per::Random;
    use proptest::prelude::*;

    fn octets<T: Per>(value: &T) -> Bytes {
        let mut out = Vec::new();
        encode(value, &mut out).unwrap();
        out.into()
    }

    /// Checks that a value round-trips, and that shorter or longer bytes are refused.
    fn round_trip<T: Per + PartialEq + std::fmt::Debug>(value: &T) {
        let encoded = octets(value);
        assert_eq!(decode::<T>(encoded.clone()).as_ref(), Ok(value));
        for length in 0..encoded.len() {
            assert!(decode::<T>(encoded.slice(..length)).is_err(), "{length} of {} octets", encoded.len());
        }
        let mut longer = encoded.to_vec();
        longer.push(0);
        assert!(decode::<T>(longer.into()).is_err());
    }

    #[test]
    fn ping_has_expected_encoding() {
        let ping = Ping { seq: 7, t_send_ns: 0x0102_0304_0506, payload: Bytes::from_static(b"abc") };
        // Preamble bit 0, length of seq 1 (00), seq; length of the time 6 (101), the time; length 3, payload.
        assert_eq!(octets(&ping)[..], [0x00, 7, 0xa0, 1, 2, 3, 4, 5, 6, 0, 3, b'a', b'b', b'c']);
        round_trip(&ping);
    }

    #[test]
    fn triggers_and_policies_have_expected_encoding() {
        let periodic = HwTrigger::Periodic(HwPeriodic { period_ms: 10, payload_size: 1500 });
        assert_eq!(octets(&HwTrigger::OnControl)[..], [0x00]);
        // Extension bit 0, alternative 1, preamble bit 0, length of the period 1 (00); period less one; size.
        assert_eq!(octets(&periodic)[..], [0x40, 9, 0x05, 0xdc]);
        let policy = HwPolicy { threshold: 256, action: HwPolicyAction::EchoHeader };
        // Preamble bit 0, length 2 (01); threshold; extension bit 0, value 2 (10).
        assert_eq!(octets(&policy)[..], [0x20, 1, 0, 0x40]);
        round_trip(&HwTrigger::OnControl);
        round_trip(&periodic);
        round_trip(&policy);
    }

    #[test]
    fn payload_size_is_limited() {
        let ping = |octets| Ping { payload: vec![0xaa; octets].into(), ..Ping::default() };
        let longest = ping(PAYLOAD_SIZE_MAX);
        assert_eq!(decode::<Ping>(octets(&longest)), Ok(longest));
        let mut out = vec![1, 2, 3];
        let refused = encode(&ping(PAYLOAD_SIZE_MAX + 1), &mut out);
        assert!(matches!(refused, Err(EncodeError::OutOfRange { value: 65_536, high: 65_535, .. })));
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn decoded_payload_is_not_copied() {
        let encoded = octets(&Ping { payload: Bytes::from_static(b"abc"), ..Ping::default() });
        let ping: Ping = decode(encoded.clone()).unwrap();
        assert!(encoded.as_ptr_range().contains(&ping.payload.as_ptr()));
    }

    #[test]
    fn periods_out_of_range_are_refused() {
        for period_ms in [0, PERIOD_MS_MAX + 1] {
            let trigger = HwTrigger::Periodic(HwPeriodic { period_ms, payload_size: 0 });
            assert!(encode(&trigger, &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn unknown_alternatives_are_errors() {
        // Extension bit 1: a trigger or action of a later version.
        assert!(decode::<HwTrigger>(Bytes::from_static(&[0x80, 0])).is_err());
        assert!(decode::<HwPolicy>(Bytes::from_static(&[0x00, 0, 0x80])).is_err());
    }

    #[test]
    fn unknown_additions_are_skipped() {
        // A policy with preamble bit 1 and, after its root, one addition: an open type of one byte.
        let policy = decode::<HwPolicy>(Bytes::from_static(&[0x80, 5, 0x00, 0x20, 1, 0xff]));
        assert_eq!(policy, Ok(HwPolicy { threshold: 5, action: HwPolicyAction::Ignore }));
    }

    proptest! {
        #[test]
        fn any_ping_round_trips(seq: u32, t_send_ns: u64, payload in proptest::collection::vec(any::<u8>(), 0..300)) {
            round_trip(&Ping { seq, t_send_ns, payload: payload.into() });
        }

        #[test]
        fn any_trigger_and_policy_round_trips(seed: u64) {
            let mut random = Random::new(seed, Version::V2_03);
            round_trip(&HwTrigger::decode(&mut random).unwrap());
            round_trip(&HwPolicy::decode(&mut random).unwrap());
        }

        #[test]
        fn random_bytes_do_not_panic(octets in proptest::collection::vec(any::<u8>(), 0..64)) {
            let octets = Bytes::from(octets);
            let _ = decode::<Ping>(octets.clone());
            let _ = decode::<HwTrigger>(octets.clone());
            let _ = decode::<HwPolicy>(octets);
        }
    }
}
