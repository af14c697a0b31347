use super::*;
use crate::declare::DropReason;
use crate::pipelines::Pipeline;
use crate::trace::{Directions, Trace, Traffic};
use ranlab_machine::Random;

#[test]
fn packets_are_due_at_fixed_rate() {
    let mut pacer = Pacer::new(1_000, 4_000_000, 3, 10);
    assert_eq!(pacer.due(0), Due::Wait(1_000));
    assert_eq!(pacer.due(1_000), Due::Send(0));
    assert_eq!(pacer.due(1_000), Due::Wait(1_250));
    assert_eq!(pacer.due(1_260), Due::Send(1));
    assert_eq!(pacer.due(1_511), Due::Late(2));
    assert_eq!(pacer.due(9_999), Due::Over);
}

/// If the generator is suspended, exactly the packets that were due in that time are late.
#[test]
fn late_generator_reports_unsent_packets() {
    // The rate is 1 Mpps for 10 ms, with a tolerance of 100 us. The pacer is polled every microsecond, except for a gap
    // of 2 ms.
    let mut pacer = Pacer::new(0, 1_000_000, 10_000, 100_000);
    let mut tally = Tally::default();
    for now in (0..=10_000_u64).filter(|us| !(3_000..5_000).contains(us)) {
        loop {
            match pacer.due(now * 1_000) {
                Due::Send(number) => tally.sent(number),
                Due::Late(_) => tally.late += 1,
                Due::Wait(_) | Due::Over => break,
            }
        }
    }
    tally.intended = pacer.packets();
    // The late packets were due from 3,000 to 4,899 us, and the next poll is at 5,000 us.
    assert_eq!((tally.sent, tally.late), (8_100, 1_900));
    assert_eq!(DeviceCounters { waiting: 8_100, ..DeviceCounters::default() }.unknown(&tally), Ok(0));
}

fn stamp(number: u32) -> Option<Stamp> {
    Some(Stamp { run: 5, number, sent_ns: 0 })
}

#[test]
fn returned_packets_are_classified() {
    let mut tally = Tally::default();
    (0..200).for_each(|number| tally.sent(number));
    assert_eq!(tally.returned(5, 0, stamp(100)), Returned::InOrder);
    assert_eq!(tally.returned(5, 1, stamp(99)), Returned::InOrder, "the other port has its own order");
    assert_eq!(tally.returned(5, 0, stamp(98)), Returned::Misordered);
    assert_eq!(tally.returned(5, 0, stamp(98)), Returned::Again);
    assert_eq!(tally.returned(5, 0, stamp(200)), Returned::Unknown, "packet 200 was never sent");
    assert_eq!(tally.returned(6, 0, stamp(1)), Returned::Unknown, "the packet belongs to another run");
    assert_eq!(tally.returned(5, 0, stamp(u32::MAX)), Returned::Unknown);
    assert_eq!(tally.returned(5, 0, None), Returned::Unknown);
    assert_eq!((tally.received, tally.misordered, tally.duplicated, tally.unknown), (3, 1, 1, 4));
    assert_eq!(tally.lost(), 197);
}

/// For random outcomes, the counters are consistent. A single wrong counter is either detected or increases the unknown
/// losses.
#[test]
fn packet_accounting_adds_up_and_detects_contradictions() {
    let mut random = Random::stream(3, 0);
    for _ in 0..500 {
        let mut tally = Tally::default();
        let mut ledger = DeviceCounters::default();
        let mut unknown = 0;
        for number in 0..500_u32 {
            tally.intended += 1;
            match random.below(12) {
                0 => tally.late += 1,
                1 => tally.ring_full += 1,
                2 => tally.unfit += 1,
                choice => {
                    tally.sent(number.into());
                    match choice {
                        3 => ledger.waiting += 1,
                        4 => ledger.dropped[random.below(DropReason::COUNT as u64) as usize] += 1,
                        5 => ledger.on_purpose += 1,
                        6 => ledger.ring_full += 1,
                        7 => ledger.unfit += 1,
                        8 => unknown += 1,
                        _ => drop(tally.returned(5, 0, stamp(number))),
                    }
                }
            }
        }
        assert_eq!(ledger.unknown(&tally), Ok(unknown));
        tally.late += 1;
        assert!(matches!(ledger.unknown(&tally), Err(Inconsistent::Intended { .. })));
        tally.intended += 1;
        ledger.on_purpose += unknown + 1;
        assert!(matches!(ledger.unknown(&tally), Err(Inconsistent::Causes { .. })));
    }
}

/// The shortest packets of every pipeline have space for a mark after their headers, and the pipeline preserves the
/// mark.
#[test]
fn tester_stamps_survive_every_pipeline() {
    for pipeline in Pipeline::all() {
        let mut oracle = pipeline.oracle().unwrap();
        let mut marked = 0;
        for pkt_size in [64, 128] {
            let traffic = Traffic { pkt_size, pkt_num: 64, dir: Directions::Bidir, ..Traffic::default() };
            let trace = Trace::generate(&pipeline, &traffic).unwrap();
            for (number, (port, frame)) in (0..).zip(trace.iter()) {
                let mut frame = frame.to_vec();
                if headers_octets(&frame) + STAMP_BYTES > frame.len() {
                    assert_eq!(pkt_size, 64, "{}: {} octets", pipeline.name(), frame.len());
                    continue;
                }
                let stamp = Stamp { run: 9, number, sent_ns: 77 };
                assert!(stamp.write(&mut frame));
                if let crate::declare::Verdict::Sent(_) = oracle.process(0, port, &mut frame) {
                    assert_eq!(Stamp::read(&frame), Some(stamp), "{}", pipeline.name());
                    marked += 1;
                }
            }
        }
        assert!(marked >= 32, "{}: {marked}", pipeline.name());
    }
}
