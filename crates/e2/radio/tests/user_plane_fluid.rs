//! Tests that statistics of a fluid cell are consistent, and close to statistics of the slot model.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_radio::user_plane::*;
use ranlab_radio::{LinkStats, MAC_HEADER_BYTES};

const SECOND: u64 = 1_000_000;

fn cells(traffic: &Traffic, ues: u32) -> (Cell, FluidCell) {
    let config = CellConfig { seed: 3, cell_id: 7, ..CellConfig::new(Carrier::n78(106)) };
    let mut slots = Cell::new(config.clone()).unwrap();
    let mut fluid = FluidCell::new(config, 20).unwrap();
    for id in 1..=ues {
        let channel = Channel::Fading { mean_db: 8.0 + 2.0 * (id % 6) as f32, correlation: 0.99 };
        let ue = UeConfig { channel, ..UeConfig::fixed(id, 0, vec![FlowConfig::new(traffic.clone())]) };
        slots.attach(ue.clone()).unwrap();
        fluid.attach(&ue).unwrap();
    }
    (slots, fluid)
}

/// Checks the relations that apply in every cell.
fn check(link: &LinkStats) {
    assert!(link.mac_sdu_bytes() + link.mac_sdus() * MAC_HEADER_BYTES <= link.tbs_bytes, "{link:?}");
    assert!(link.curr_tbs_bytes <= link.tbs_bytes && link.sched_prbs <= link.prbs, "{link:?}");
    assert!(link.retx_prbs <= link.prbs, "{link:?}");
    assert!(link.harq.is_sorted_by(|earlier, later| earlier >= later), "{link:?}");
    let bytes = link.rlc_sdu_bytes_out + link.rlc_dropped_bytes;
    let sdus = link.rlc_sdus_out + link.rlc_dropped_sdus;
    assert_eq!(link.rlc_sdu_bytes_in, bytes + link.queue_bytes);
    assert_eq!(link.rlc_sdus_in, sdus + link.queue_sdus);
    assert!(link.rlc_pdu_bytes >= link.rlc_sdu_bytes_out, "{link:?}");
}

fn counters(link: &LinkStats) -> [u64; 8] {
    let LinkStats { tbs_bytes, prbs, retx_prbs, rlc_sdus_in, rlc_sdus_out, rlc_dropped_sdus, harq, .. } =
        *link;
    [tbs_bytes, prbs, retx_prbs, rlc_sdus_in, rlc_sdus_out, rlc_dropped_sdus, harq[0], harq[1]]
}

#[test]
fn fluid_statistics_are_consistent_and_counters_only_grow() {
    for traffic in [
        Traffic::FullBuffer,
        Traffic::OnOff { kbps: 40_000, packet_bytes: 1500, on_ms: 200, off_ms: 300, random: true },
    ] {
        let (_, mut fluid) = cells(&traffic, 5);
        let mut before: Vec<[u64; 8]> = vec![[0; 8]; 5];
        for tenth in 1..=100 {
            fluid.advance(tenth * SECOND / 10);
            for (ue, before) in fluid.reports().zip(&mut before) {
                check(&ue.dl);
                check(&ue.ul);
                let now = counters(&ue.dl);
                assert!(now.iter().zip(&*before).all(|(now, before)| now >= before), "{now:?} {before:?}");
                *before = now;
            }
        }
        let rntis: Vec<_> = fluid.reports().map(|ue| (ue.identity.rnti, ue.id)).collect();
        assert_eq!(rntis, [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]);
        assert!(before.iter().all(|ue| ue[4] > 1_000), "{before:?}");
    }
}

/// The sums over all UEs in a minute agree with the slot model: blocks, PRBs, packets, and retransmissions.
#[test]
fn fluid_statistics_match_slot_model() {
    for (traffic, name) in [
        (Traffic::FullBuffer, "full"),
        (
            Traffic::OnOff { kbps: 4_000, packet_bytes: 1500, on_ms: 1, off_ms: 0, random: false },
            "4 Mbit/s each",
        ),
    ] {
        let (mut slots, mut fluid) = cells(&traffic, 6);
        slots.advance(60 * SECOND);
        fluid.advance(60 * SECOND);
        assert_eq!(slots.slot(), fluid.slot());
        assert_eq!(slots.prbs_offered(Direction::Down), fluid.prbs_offered(Direction::Down));
        let sum = |all: Vec<UeReport>, of: fn(&LinkStats) -> u64| {
            all.iter().map(|ue| of(&ue.dl)).sum::<u64>() as f64
        };
        for (what, within, of) in [
            ("packets", 0.03, (|link| link.rlc_sdus_out) as fn(&LinkStats) -> u64),
            ("PRBs", 0.05, |link| link.prbs),
            ("bytes of blocks", 0.05, |link| link.tbs_bytes),
        ] {
            let exact = sum(slots.reports().collect(), of);
            let coarse = sum(fluid.reports().collect(), of);
            let off = coarse / exact - 1.0;
            assert!(
                off.abs() < within,
                "{name}, {what}: {exact} in the slot model, {coarse} in the fluid model"
            );
        }
        let share = |all: Vec<UeReport>| {
            let again = sum(all.clone(), |link| link.harq[1]);
            let first = sum(all, |link| link.harq[0]);
            again / first
        };
        let exact = share(slots.reports().collect());
        let coarse = share(fluid.reports().collect());
        assert!(
            (exact - coarse).abs() < 0.03,
            "{name}: share of retransmitted blocks: {exact} in the slot model, {coarse} in the fluid model"
        );
    }
}
