//! Tests of the cell. Property tests check its invariants, recorded values show that it is deterministic, and the
//! orders of magnitude of some values are checked.

#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::collections::HashSet;
use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use ranlab_radio::{
    Cell, CellConfig, CellError, LinkStats, MAC_HEADER_BYTES, PDCP_HEADER_BYTES, PRBS_MAX, PdcpStats,
    QUEUE_BYTES_MAX, RATE_KBPS_MAX, RLC_STATUS_BYTES, RNTI_MAX, UeState,
};

fn check_link(link: &LinkStats) {
    assert!(link.mac_sdu_bytes() + link.mac_sdus() * MAC_HEADER_BYTES <= link.tbs_bytes, "{link:?}");
    assert!(link.curr_tbs_bytes <= link.tbs_bytes, "{link:?}");
    assert!(link.sched_prbs <= link.prbs, "{link:?}");
    assert!(link.retx_prbs <= link.prbs, "{link:?}");
    assert!(link.harq.is_sorted_by(|earlier, later| earlier >= later), "{link:?}");
    assert_eq!(link.rlc_status_bytes, link.rlc_status_pdus * RLC_STATUS_BYTES);
    assert!(link.rlc_retx_pdus <= link.rlc_pdus && link.rlc_retx_bytes <= link.rlc_pdu_bytes, "{link:?}");
    assert!(link.rlc_segmented_pdus <= link.rlc_pdus, "{link:?}");
    assert_eq!(
        link.rlc_sdu_bytes_in,
        link.rlc_sdu_bytes_out + link.rlc_dropped_bytes + link.queue_bytes + link.partial_bytes
    );
    assert_eq!(link.rlc_sdus_in, link.rlc_sdus_out + link.rlc_dropped_sdus + link.queue_sdus);
    // RLC has sent at least the bytes of the SDUs that it completed.
    assert!(link.rlc_pdu_bytes >= link.rlc_sdu_bytes_out, "{link:?}");
    assert!(link.queue_bytes <= QUEUE_BYTES_MAX, "{link:?}");
    assert_eq!(link.queue_bytes == 0, link.queue_sdus == 0);
    assert_eq!(link.head_delay_us == 0, link.queue_bytes == 0, "{link:?}");
    assert!(link.bler_q16 <= 1 << 16);
}

fn check_pdcp(ue: &UeState) {
    let pdcp = ue.pdcp();
    assert_eq!((pdcp.tx_pdus, pdcp.tx_pdu_bytes), (ue.dl().rlc_sdus_in, ue.dl().rlc_sdu_bytes_in));
    assert_eq!((pdcp.rx_pdus, pdcp.rx_pdu_bytes), (ue.ul().rlc_sdus_out, ue.ul().rlc_sdu_bytes_out));
    assert_eq!(pdcp.tx_pdu_bytes, pdcp.tx_sdu_bytes + pdcp.tx_sdus * PDCP_HEADER_BYTES);
    assert_eq!(pdcp.rx_pdu_bytes, pdcp.rx_sdu_bytes + pdcp.rx_sdus * PDCP_HEADER_BYTES);
    assert!(pdcp.rx_out_of_order_pdus <= pdcp.rx_pdus && pdcp.rx_out_of_order_bytes <= pdcp.rx_pdu_bytes);
    let reception = ue.rlc_reception();
    assert!(reception.out_of_window_pdus <= reception.duplicate_pdus);
    assert!(
        reception.discarded_pdus <= ue.ul().rlc_retx_pdus
            && reception.discarded_bytes <= ue.ul().rlc_retx_bytes
    );
    assert!(pdcp.rx_reordering_pdus <= pdcp.rx_out_of_order_pdus);
}

fn check_radio(ue: &UeState) {
    let radio = ue.radio();
    assert!((1..=15).contains(&radio.wb_cqi));
    assert!(radio.dl_mcs1 <= 28 && radio.ul_mcs1 <= 28 && radio.dl_mcs2 <= 27 && radio.ul_mcs2 <= 27);
    assert!((-23..=40).contains(&radio.phr_db));
    assert!((-40.0..=40.0).contains(&radio.pusch_snr.db()) && (-40.0..=40.0).contains(&radio.pucch_snr.db()));
}

fn check_cell(cell: &Cell) {
    for ue in cell.ues() {
        check_link(ue.dl());
        check_link(ue.ul());
        check_pdcp(ue);
        check_radio(ue);
    }
    let total = |of: fn(&UeState) -> u64| cell.ues().iter().map(of).sum::<u64>();
    let prbs = u64::from(cell.config().prbs);
    assert!(total(|ue| ue.dl().prbs) <= cell.prbs_offered());
    assert!(total(|ue| ue.ul().prbs) <= cell.prbs_offered());
    assert!(total(|ue| ue.dl().sched_prbs) <= prbs);
    assert!(total(|ue| ue.ul().sched_prbs) <= prbs);
    assert!(cell.frame() < 1024 && u32::from(cell.slot()) < 10_000 / cell.config().slot_us);
}

fn counters(link: &LinkStats) -> [u64; 24] {
    let [first, second, third, fourth] = link.harq;
    [
        link.tbs_bytes,
        link.prbs,
        link.retx_prbs,
        link.mac_sdus(),
        link.mac_sdu_bytes(),
        first,
        second,
        third,
        fourth,
        link.rlc_sdus_in,
        link.rlc_sdu_bytes_in,
        link.rlc_sdus_out,
        link.rlc_sdu_bytes_out,
        link.rlc_dropped_sdus,
        link.rlc_dropped_bytes,
        link.rlc_pdus,
        link.rlc_pdu_bytes,
        link.rlc_segmented_pdus,
        link.rlc_retx_pdus,
        link.rlc_retx_bytes,
        link.rlc_status_pdus,
        link.rlc_status_bytes,
        link.out_of_order_pdus,
        link.out_of_order_bytes,
    ]
}

fn check_growth(before: &Cell, after: &Cell) {
    for (before, after) in before.ues().iter().zip(after.ues()) {
        assert_eq!(before.identity(), after.identity());
        for (before, after) in [(before.dl(), after.dl()), (before.ul(), after.ul())] {
            assert!(counters(before).iter().zip(counters(after)).all(|(before, after)| *before <= after));
            // The values of the last slot are part of the growth in this step.
            assert!(after.curr_tbs_bytes <= after.tbs_bytes - before.tbs_bytes);
            assert!(after.sched_prbs <= after.prbs - before.prbs);
        }
    }
}

fn config() -> impl Strategy<Value = CellConfig> {
    let rate = prop_oneof![0..5_000_u32, 0..=RATE_KBPS_MAX];
    (0..60_u16, 1..=PRBS_MAX, 0..4_usize, rate.clone(), rate, any::<u64>(), 0..1_u64 << 50).prop_map(
        |(ues, prbs, numerology, dl_kbps, ul_kbps, seed, start_us)| CellConfig {
            cell_id: 7,
            ues,
            prbs,
            slot_us: ranlab_radio::SLOTS_US[numerology],
            dl_kbps,
            ul_kbps,
            seed,
            start_us,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn invariants_hold_at_every_step(
        config in config(),
        steps_us in vec(prop_oneof![0..3_000_u64, 0..200_000_u64, 0..100_000_000_u64], 1..30),
    ) {
        let mut now_us = config.start_us;
        let mut cell = Cell::new(config).unwrap();
        for step_us in steps_us {
            let before = cell.clone();
            now_us += step_us;
            cell.advance(now_us);
            check_cell(&cell);
            prop_assert!(cell.now_us() <= now_us);
            prop_assert!(now_us - cell.now_us() < u64::from(cell.config().slot_us));
            // The model advances by one internal step here, so the present values belong to this step only.
            if cell.now_us() > before.now_us() && step_us < 8_000_000 {
                check_growth(&before, &cell);
            }
        }
    }

    #[test]
    fn identities_are_unique(cell_id in any::<u16>(), seed in any::<u64>(), ues in 0..3_000_u16) {
        let cell = Cell::new(CellConfig { cell_id, ues, seed, ..CellConfig::default() }).unwrap();
        let mut seen = HashSet::new();
        for ue in cell.ues() {
            let identity = ue.identity();
            prop_assert!((1..=RNTI_MAX).contains(&identity.rnti));
            prop_assert!(identity.teid_gnb != 0 && identity.teid_upf != 0);
            prop_assert!(seen.insert((0, u32::from(identity.rnti))));
            prop_assert!(seen.insert((1, identity.teid_gnb)));
            prop_assert!(seen.insert((2, identity.teid_upf)));
        }
    }
}

fn run(config: CellConfig, period_us: u64, steps: u64) -> Cell {
    let start_us = config.start_us;
    let mut cell = Cell::new(config).unwrap();
    for step in 1..=steps {
        cell.advance(start_us + step * period_us);
    }
    cell
}

#[test]
fn cell_can_use_every_rnti() {
    let cell = Cell::new(CellConfig { ues: RNTI_MAX, ..CellConfig::default() }).unwrap();
    let rntis: HashSet<u16> = cell.ues().iter().map(|ue| ue.identity().rnti).collect();
    assert_eq!((rntis.len(), rntis.contains(&0)), (usize::from(RNTI_MAX), false));
}

#[test]
fn counters_stay_zero_before_first_slot() {
    let mut cell = Cell::new(CellConfig { start_us: 1_000, ..CellConfig::default() }).unwrap();
    cell.advance(1_499);
    assert_eq!((cell.now_us(), cell.prbs_offered()), (1_000, 0));
    cell.advance(0);
    assert_eq!(cell.now_us(), 1_000);
    cell.advance(2_100);
    assert_eq!((cell.now_us(), cell.slot(), cell.frame()), (2_000, 2, 0));
    cell.advance(1_000 + 1024 * 10_000 + 30_500);
    assert_eq!((cell.slot(), cell.frame()), (1, 3));
}

#[test]
fn light_load_is_delivered_for_any_step_length() {
    for (period_us, steps) in [(1_000, 10_000), (50_000, 200), (1_000_000, 10), (10_000_000, 1)] {
        let config = CellConfig { ues: 10, dl_kbps: 1_000, ul_kbps: 250, seed: 3, ..CellConfig::default() };
        let cell = run(config, period_us, steps);
        for link in cell.ues().iter().flat_map(|ue| [ue.dl(), ue.ul()]) {
            assert_eq!(link.rlc_dropped_sdus, 0);
            assert!(link.queue_bytes <= link.rlc_sdu_bytes_in / 10 + 3_000, "{period_us} us: {link:?}");
        }
    }
}

#[test]
fn overload_uses_all_prbs_and_drops_packets() {
    let config = CellConfig { ues: 40, dl_kbps: 50_000, ul_kbps: 50_000, ..CellConfig::default() };
    for (period_us, steps) in [(1_000, 10_000), (100_000, 100)] {
        let cell = run(config.clone(), period_us, steps);
        let used: u64 = cell.ues().iter().map(|ue| ue.dl().prbs).sum();
        assert!(
            used * 100 >= cell.prbs_offered() * 99,
            "overload must use all PRBs, but only {used} of {} are used",
            cell.prbs_offered()
        );
        let dropped = cell.ues().iter().filter(|ue| ue.dl().rlc_dropped_sdus > 0).count();
        assert!(dropped > 30, "{dropped}");
        assert!(cell.ues().iter().all(|ue| ue.dl().rlc_sdus_out > 0), "every UE must get some throughput");
    }
}

#[test]
fn reported_values_change_over_time() {
    let cell = run(CellConfig::default(), 10_000, 10_000);
    for link in cell.ues().iter().flat_map(|ue| [ue.dl(), ue.ul()]) {
        assert!(link.harq[0] > 100 && link.harq[1] > 0, "{link:?}");
        assert!(link.retx_prbs > 0 && link.rlc_status_pdus > 0 && link.time_to_tx_us_q4 > 0, "{link:?}");
    }
    assert!(cell.ues().iter().filter(|ue| ue.dl().rlc_segmented_pdus > 0).count() > 16);
    let cqis: HashSet<u8> = cell.ues().iter().map(|ue| ue.radio().wb_cqi).collect();
    assert!(cqis.len() > 3, "{cqis:?}");
    assert!(cell.ues().iter().any(|ue| ue.dl().rlc_retx_pdus > 0));
    assert!(
        cell.ues().iter().any(|ue| ue.pdcp() != PdcpStats::default() && ue.pdcp().rx_out_of_order_pdus > 0)
    );
}

#[test]
fn invalid_cell_configurations_are_rejected() {
    let refused = |change: fn(&mut CellConfig)| {
        let mut config = CellConfig::default();
        change(&mut config);
        Cell::new(config).unwrap_err()
    };
    assert_eq!(refused(|config| config.ues = u16::MAX), CellError::Ues(u16::MAX));
    assert_eq!(refused(|config| config.prbs = 0), CellError::Prbs(0));
    assert_eq!(refused(|config| config.prbs = 276), CellError::Prbs(276));
    assert_eq!(refused(|config| config.slot_us = 0), CellError::Slot(0));
    assert_eq!(refused(|config| config.dl_kbps = u32::MAX), CellError::Rate(u32::MAX));
    assert_eq!(refused(|config| config.ul_kbps = 5_000_001), CellError::Rate(5_000_001));
}

/// The values are the same on every machine. If this test fails, the model has changed, and the change must be intended.
#[test]
fn same_seed_gives_same_cell() {
    let config = CellConfig { ues: 4, seed: 42, ..CellConfig::default() };
    let mut cell = Cell::new(config.clone()).unwrap();
    let mut table = String::new();
    for now_us in [1_000, 50_000, 1_000_000, 61_000_000] {
        cell.advance(now_us);
        writeln!(table, "t={now_us} frame={} slot={}", cell.frame(), cell.slot()).unwrap();
        for ue in cell.ues() {
            writeln!(table, "{}", row(ue)).unwrap();
        }
    }
    assert_eq!(table, EXPECTED, "\n{table}");

    let other = run(CellConfig { seed: 43, ..config.clone() }, 1_000, 100);
    assert_ne!(row(&other.ues()[0]), row(&run(config, 1_000, 100).ues()[0]));
}

fn row(ue: &UeState) -> String {
    let identity = ue.identity();
    let radio = ue.radio();
    let dl = ue.dl();
    let ul = ue.ul();
    format!(
        "{:5} {:8x} cqi {:2} snr {:5} | dl {} {} {} {:?} {} {} | ul {} {} {} {:?} {} {}",
        identity.rnti,
        identity.teid_upf,
        radio.wb_cqi,
        radio.pusch_snr.0,
        dl.tbs_bytes,
        dl.mac_sdu_bytes(),
        dl.prbs,
        dl.harq,
        dl.queue_bytes,
        dl.head_delay_us,
        ul.tbs_bytes,
        ul.mac_sdu_bytes(),
        ul.prbs,
        ul.harq,
        ul.queue_bytes,
        ul.time_to_tx_us_q4,
    )
}

const EXPECTED: &str = "\
t=1000 frame=0 slot=2
22546 31bb6672 cqi 11 snr  2069 | dl 0 0 0 [0, 0, 0, 0] 0 0 | ul 0 0 0 [0, 0, 0, 0] 0 0
48262 8e67aea6 cqi  8 snr   620 | dl 0 0 0 [0, 0, 0, 0] 0 0 | ul 0 0 0 [0, 0, 0, 0] 0 0
\x208459 f3120b9b cqi  9 snr  2565 | dl 0 0 0 [0, 0, 0, 0] 0 0 | ul 0 0 0 [0, 0, 0, 0] 0 0
34175 4fbe53cf cqi  7 snr   443 | dl 0 0 0 [0, 0, 0, 0] 0 0 | ul 0 0 0 [0, 0, 0, 0] 0 0
t=50000 frame=5 slot=0
22546 31bb6672 cqi 11 snr  1951 | dl 2511 2418 42 [5, 0, 0, 0] 0 0 | ul 3162 3054 119 [14, 1, 0, 0] 0 1422
48262 8e67aea6 cqi  9 snr   908 | dl 3724 3636 86 [10, 0, 0, 0] 0 0 | ul 0 0 0 [0, 0, 0, 0] 0 0
\x208459 f3120b9b cqi  9 snr  2653 | dl 9052 8908 209 [26, 2, 0, 0] 0 0 | ul 2772 2666 64 [8, 0, 0, 0] 0 1486
34175 4fbe53cf cqi  7 snr   451 | dl 18657 18303 702 [87, 8, 0, 0] 0 0 | ul 4498 4329 285 [35, 3, 0, 0] 0 1370
t=1000000 frame=100 slot=0
22546 31bb6672 cqi 11 snr  2401 | dl 123487 122271 2065 [257, 25, 2, 0] 0 0 | ul 100595 98847 2955 [367, 37, 3, 0] 0 2281
48262 8e67aea6 cqi  6 snr  -396 | dl 178793 175140 8358 [1044, 99, 9, 0] 15 84 | ul 19493 18132 2873 [359, 39, 4, 0] 0 1398
\x208459 f3120b9b cqi  9 snr  2520 | dl 149341 147433 3464 [430, 35, 2, 0] 0 0 | ul 37156 36029 1062 [132, 13, 1, 0] 0 2645
34175 4fbe53cf cqi  8 snr   807 | dl 257865 254283 7709 [954, 99, 10, 1] 6 24 | ul 27086 26103 1740 [213, 22, 2, 0] 0 2653
t=61000000 frame=980 slot=0
22546 31bb6672 cqi 10 snr  1782 | dl 24087969 23841327 518155 [61205, 6553, 702, 75] 978 2266 | ul 3214567 3138063 126430 [15012, 1622, 175, 18] 441 33937
48262 8e67aea6 cqi  9 snr  1190 | dl 9985232 9850143 318116 [35977, 3654, 371, 37] 45 1453 | ul 995559 961048 71243 [8002, 837, 87, 9] 0 14537
\x208459 f3120b9b cqi  9 snr  2425 | dl 10135080 10007112 250095 [29248, 2462, 207, 17] 246 2943 | ul 3131037 3045446 86821 [10464, 1025, 100, 9] 1164 68430
34175 4fbe53cf cqi  7 snr   455 | dl 23005044 22618313 926554 [106058, 11109, 1163, 121] 1243 4166 | ul 1287603 1230108 84320 [10422, 1127, 121, 13] 221 27208
";
