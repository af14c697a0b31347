use super::*;
use crate::declare::{DropReason, Port};
use crate::pipelines::Pipeline;
use crate::trace::{Directions, Trace, Traffic};

fn pipeline(json: &str) -> Pipeline {
    serde_json::from_str(json).unwrap()
}

fn trace(pipeline: &Pipeline, dir: Directions) -> Trace {
    Trace::generate(pipeline, &Traffic { pkt_num: 64, dir, thread: 1, ..Traffic::default() }).unwrap()
}

const WIDE: &str = r#"{"name":"mgw","user":5,"bst":2,"rate-limit":1000000000000,"rate-burst":4000000000}"#;

#[test]
fn pdu_session_container_is_removed_and_lengths_are_updated() {
    let mgw = pipeline(WIDE);
    for (port, frame) in trace(&mgw, Directions::Uplink).iter() {
        let mut cut = frame.to_vec();
        normalise(&mut cut, &[Equivalence::GtpContainer]);
        assert_eq!(cut.len(), frame.len() - 8);
        assert_eq!(cut[42..44], [0x30, 255]);
        // The result is a tunnel packet that the oracle accepts, with the same inner packet.
        let mut was = frame.to_vec();
        let mut is = cut.clone();
        let fates = [
            mgw.oracle().unwrap().process(0, port, &mut was),
            mgw.oracle().unwrap().process(0, port, &mut is),
        ];
        assert_eq!((fates[0], was), (fates[1], is));
        normalise(&mut cut, &[Equivalence::GtpContainer]);
        assert_eq!(cut.len(), frame.len() - 8, "a second removal has no effect");
    }
}

#[test]
fn outer_headers_may_differ_but_payload_may_not() {
    let mgw = pipeline(WIDE);
    let both = [Equivalence::GtpContainer, Equivalence::OuterHeaders];
    let trace = trace(&mgw, Directions::Downlink);
    let expected = Outcomes::expected(&mgw, &trace, 64, &both).unwrap();
    assert_eq!((expected.count(Port::Access), expected.count(Port::Core)), (64, 0));
    let found = |spoil: &dyn Fn(&mut Vec<u8>)| {
        let mut oracle = mgw.oracle().unwrap();
        let mut found = Outcomes::default();
        for (index, (port, frame)) in trace.iter().enumerate() {
            let mut frame = frame.to_vec();
            oracle.process(0, port, &mut frame);
            if index == 3 {
                spoil(&mut frame);
            }
            found.sent(Port::Access, frame, &both);
        }
        compare(&expected, &found)
    };
    assert_eq!(found(&|_| {}), Ok(64));
    // Offsets of the identification, TTL, UDP source port and checksum of the outer headers.
    let forgiven = [18, 19, 22, 34, 35, 40, 41];
    assert_eq!(found(&|frame| forgiven.iter().for_each(|at| frame[*at] ^= 0x15)), Ok(64));
    // Offsets within the MAC address and IP address of a base station, the TEID, and the inner packet.
    for at in [5, 33, 49, 70] {
        let wrong = found(&|frame| frame[at] ^= 1).unwrap_err();
        assert_eq!((wrong.missing, wrong.extra, wrong.port), (1, 1, Port::Access), "octet {at}");
        assert!(wrong.to_string().contains("1 frames are missing and 1 are unexpected"), "{wrong}");
    }
}

/// A router decrements the TTL of a packet that it routes into a tunnel. All other bytes must be equal.
#[test]
fn normalisation_clears_only_hop_limits_of_inner_packets() {
    for json in [
        r#"{"name":"mgw","user":3,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
        r#"{"name":"mgw","user":3,"tunneling-method":"vxlan","rate-limit":1000000000000,"rate-burst":4000000000}"#,
        r#"{"name":"bng","user":3,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    ] {
        let pipeline = pipeline(json);
        let mut oracle = pipeline.oracle().unwrap();
        let trace = trace(&pipeline, Directions::Downlink);
        let mut frame = trace.packet(0).unwrap().1.to_vec();
        oracle.process(0, Port::Core, &mut frame);
        let alike = |frame: &[u8]| {
            let mut frame = frame.to_vec();
            normalise(&mut frame, &[Equivalence::InnerHop]);
            frame
        };
        // The last IPv4 header belongs to the inner packet.
        let inner =
            (34..frame.len() - 20).rev().find(|at| frame[*at] == 0x45 && frame[at + 8] == 64).unwrap();
        let mut later = frame.clone();
        later[inner + 8] -= 1;
        later[inner + 10] ^= 1;
        assert_eq!(alike(&later), alike(&frame), "{json}");
        later[inner + 16] ^= 1;
        assert_ne!(alike(&later), alike(&frame), "{json}");
    }
}

#[test]
fn frames_without_tunnel_are_compared_unchanged() {
    let l3fwd = pipeline(r#"{"name":"l3fwd"}"#);
    for (_, frame) in trace(&l3fwd, Directions::Bidir).iter() {
        // `PortMac` is left out, because it clears the source MAC of every frame.
        let others: Vec<_> =
            Equivalence::ALL.into_iter().filter(|one| *one != Equivalence::PortMac).collect();
        let mut same = frame.to_vec();
        normalise(&mut same, &others);
        assert_eq!(same, frame);
        normalise(&mut same, &Equivalence::ALL);
        assert_eq!((&same[..6], &same[6..12], &same[12..]), (&frame[..6], &[0; 6][..], &frame[12..]));
    }
    for short in 0..60 {
        let mut frame = vec![0x45; short];
        normalise(&mut frame, &Equivalence::ALL);
        assert_eq!(frame.len(), short);
    }
}

#[test]
fn drops_are_counted_and_traces_beyond_a_rate_are_rejected() {
    let acl = pipeline(r#"{"name":"acl","rule-num":50,"fakedrop":false}"#);
    let trace_of = trace(&acl, Directions::Uplink);
    let outcomes = Outcomes::expected(&acl, &trace_of, 64, &[]).unwrap();
    let denied = outcomes.dropped[&DropReason::Denied];
    assert_eq!(denied + outcomes.count(Port::Core), 64);
    let slow = pipeline(r#"{"name":"mgw","rate-limit":1,"rate-burst":100}"#);
    let error = Outcomes::expected(&slow, &trace(&slow, Directions::Downlink), 64, &[]).unwrap_err();
    assert!(matches!(error, NotComparable::Metered { index: 2 }), "{error}");
}

#[test]
fn backend_without_tables_rejects_changes() {
    let pipeline = pipeline(r#"{"name":"portfwd","mac-swap-upstream":"02:00:00:00:00:07"}"#);
    let declaration = pipeline.build().unwrap();
    let up = BackendRequest { declaration: &declaration, directions: &[Direction::Uplink] };
    let refused = Testpmd.translate(&up).unwrap_err();
    assert_eq!(refused.lacks.len(), 1);
    assert!(refused.to_string().contains("emit: it cannot write a source MAC"), "{refused}");
    let down = BackendRequest { directions: &[Direction::Downlink], ..up };
    assert!(Testpmd.translate(&down).unwrap().whole().contains("--forward-mode=io"));
    assert_eq!(Testpmd.update(&down, &[]), Ok(Translation::default()));
}
