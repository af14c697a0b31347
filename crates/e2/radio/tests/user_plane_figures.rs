//! Reproduces figures 11 and 13 of FlexRIC (CoNEXT 2021) with the model: NR band n78, 106 PRBs, MCS 20.
#![allow(clippy::unwrap_used, reason = "a test's helpers")]
use ranlab_radio::user_plane::{
    Association, Carrier, Cell, CellConfig, Command, Direction, Filter, FiveTuple, FlowConfig, Pacer,
    QueueKind, RlcConfig, Rule, SliceAlgorithm, SliceParams, SliceSet, SliceSpec, TcCommand, Traffic,
    UeConfig, UeScheduler,
};

const SECOND: u64 = 1_000_000;

fn cell(seed: u64) -> Cell {
    Cell::new(CellConfig { seed, ..CellConfig::new(Carrier::n78(106)) }).unwrap()
}

/// Returns a UE with iperf's UDP traffic, above the capacity of the cell, and a buffer of 1 MB.
fn saturated(id: u32, on_ms: u32, off_ms: u32) -> UeConfig {
    let traffic = Traffic::OnOff { kbps: 80_000, packet_bytes: 1500, on_ms, off_ms, random: false };
    let mut ue = UeConfig::fixed(id, 20, vec![FlowConfig::new(traffic)]);
    ue.rlc_down = RlcConfig { buffer_bytes: 1_000_000, ..RlcConfig::default() };
    ue
}

fn shares(sharing: bool, shares: [f64; 2]) -> Command {
    let slice = |(id, share)| SliceSpec {
        id,
        label: format!("slice {id}"),
        params: SliceParams::Capacity(share),
        scheduler: UeScheduler::default(),
    };
    let slices = [1, 2].into_iter().zip(shares).map(slice).collect();
    Command::Slices(Direction::Down, SliceSet { algorithm: SliceAlgorithm::Nvs, sharing, slices })
}

fn associate(cell: &mut Cell, rnti: u16, slice: u32) {
    cell.command(&Command::Associate(vec![Association { rnti, down: Some(slice), up: None }])).unwrap();
}

fn delivered(cell: &Cell, rnti: u16) -> u64 {
    cell.flows(rnti).unwrap()[0].delivered.1
}

/// Advances the cell by `seconds`. Returns the rate of each UE in Mbit/s, without the first second (warm-up).
fn rates(cell: &mut Cell, rntis: &[u16], seconds: u64) -> Vec<f64> {
    let start = cell.now_us();
    cell.advance(start + SECOND);
    let before: Vec<u64> = rntis.iter().map(|rnti| delivered(cell, *rnti)).collect();
    cell.advance(start + seconds * SECOND);
    rntis
        .iter()
        .zip(before)
        .map(|(rnti, before)| {
            (delivered(cell, *rnti) - before) as f64 * 8.0 / ((seconds - 1) * SECOND) as f64
        })
        .collect()
}

#[test]
fn figure_13a_slices_keep_white_ue_share() {
    for seed in [1, 2, 3] {
        let mut cell = cell(seed);
        let mut rntis =
            vec![cell.attach(saturated(1, 1000, 0)).unwrap(), cell.attach(saturated(2, 1000, 0)).unwrap()];
        let mut found = Vec::new();
        let mut look = |cell: &mut Cell, rntis: &[u16]| {
            let rates = rates(cell, rntis, 10);
            let total: f64 = rates.iter().sum();
            assert!((58.0..66.0).contains(&total), "the cell carries {total} Mbit/s");
            found.push(100.0 * rates[0] / total);
        };
        look(&mut cell, &rntis);
        rntis.push(cell.attach(saturated(3, 1000, 0)).unwrap());
        look(&mut cell, &rntis);
        cell.command(&shares(true, [0.5, 0.5])).unwrap();
        associate(&mut cell, rntis[0], 1);
        associate(&mut cell, rntis[1], 2);
        associate(&mut cell, rntis[2], 2);
        look(&mut cell, &rntis);
        cell.command(&shares(true, [0.66, 0.34])).unwrap();
        look(&mut cell, &rntis);
        for (found, published) in found.iter().zip([50.0, 33.3, 50.0, 66.0]) {
            assert!(
                (found - published).abs() <= 2.0,
                "the white UE has {found} %; figure 13a of FlexRIC reports {published} %"
            );
        }
    }
}

#[test]
fn figure_13b_sharing_reuses_idle_slice() {
    for (sharing, gain) in [(true, 50.0), (false, 0.0)] {
        let mut cell = cell(1);
        let gray = cell.attach(saturated(1, 1000, 0)).unwrap();
        let black = cell.attach(saturated(2, 10_000, 10_000)).unwrap();
        cell.command(&shares(sharing, [0.66, 0.34])).unwrap();
        associate(&mut cell, gray, 1);
        associate(&mut cell, black, 2);
        let busy = rates(&mut cell, &[gray, black], 10);
        let idle = rates(&mut cell, &[gray, black], 10);
        assert!((busy[1] / (busy[0] + busy[1]) - 0.34).abs() < 0.01, "{busy:?}");
        assert!(idle[1] < 0.01 * busy[1], "the black UE must be idle: {idle:?}");
        let found = 100.0 * (idle[0] / busy[0] - 1.0);
        assert!(
            (found - gain).abs() <= 5.0,
            "the gray UE gains {found} %; figure 13b of FlexRIC reports {gain} %"
        );
        let wasted: u64 = cell.slice_stats(Direction::Down).1.iter().map(|slice| slice.wasted_prbs).sum();
        let share = wasted as f64 / cell.prbs_offered(Direction::Down) as f64;
        assert!(
            if sharing { share < 0.01 } else { (0.12..0.20).contains(&share) },
            "a share of {share} of the carrier is wasted"
        );
    }
}

/// Sends the commands of the xApp of figure 11: a second queue, a filter for voice packets, and a pacer.
fn segregate(cell: &mut Cell, rnti: u16) {
    let filter = Filter { destination_port: Some(2112), protocol: Some(17), ..Filter::default() };
    for command in [
        TcCommand::AddQueue { id: 1, kind: QueueKind::Fifo },
        TcCommand::AddRule(Rule { id: 1, filter, queue: 1 }),
        TcCommand::Pacer(Pacer::BDP),
    ] {
        cell.command(&Command::Tc(Some(rnti), command)).unwrap();
    }
}

struct Figure11 {
    voice_rtt_us: u64,
    voice_lost: u64,
    rlc_us: [u64; 2],
    tc_us: [u64; 2],
    prbs_used: f64,
    greedy_mbps: f64,
}

/// Runs voice from the start and TCP from 5 s on. The measurement covers half a minute from 7 s on.
fn figure_11(seed: u64, greedy: bool, xapp: bool) -> Figure11 {
    let mut cell = cell(seed);
    let tuple = FiveTuple { destination_port: 2112, protocol: 17, ..FiveTuple::default() };
    let voice = FlowConfig { tuple, measured: true, ..FlowConfig::new(Traffic::Voip) };
    let tcp = Traffic::GreedyTcp { receive_window_bytes: 3_000_000 };
    let tuple = FiveTuple { destination_port: 5201, protocol: 6, ..FiveTuple::default() };
    let tcp = FlowConfig { tuple, start_us: 5 * SECOND, measured: true, ..FlowConfig::new(tcp) };
    let early = FlowConfig { stop_us: 7 * SECOND, measured: false, ..voice.clone() };
    let late = FlowConfig { start_us: 7 * SECOND, ..voice };
    let flows = if greedy { vec![early, late, tcp] } else { vec![early, late] };
    let rnti = cell.attach(UeConfig::fixed(1, 20, flows)).unwrap();
    cell.advance(6 * SECOND);
    if xapp {
        segregate(&mut cell, rnti);
    }
    cell.advance(7 * SECOND);
    let before = (cell.report(rnti).unwrap().dl.prbs, cell.prbs_offered(Direction::Down));
    let greedy_before = cell.flows(rnti).unwrap().get(2).map_or(0, |flow| flow.delivered.1);
    cell.advance(37 * SECOND);
    let flows = cell.flows(rnti).unwrap();
    let used = cell.report(rnti).unwrap().dl.prbs - before.0;
    let offered = cell.prbs_offered(Direction::Down) - before.1;
    let p50 = |index: usize, tc: bool| {
        let histogram = flows.get(index).map(|flow| if tc { &flow.tc_sojourn } else { &flow.rlc_sojourn });
        histogram.and_then(|histogram| histogram.as_ref()?.quantile_us(0.5)).unwrap_or(0)
    };
    Figure11 {
        voice_rtt_us: flows[1].rtt.as_ref().unwrap().quantile_us(0.5).unwrap(),
        voice_lost: flows[1].dropped,
        rlc_us: [p50(1, false), p50(2, false)],
        tc_us: [p50(1, true), p50(2, true)],
        prbs_used: used as f64 / offered as f64,
        greedy_mbps: flows.get(2).map_or(0, |flow| flow.delivered.1 - greedy_before) as f64 * 8.0
            / (30 * SECOND) as f64,
    }
}

#[test]
fn figure_11_queue_filter_and_pacer_reduce_voice_delay() {
    for seed in [1, 2] {
        let alone = figure_11(seed, false, false);
        assert!(
            (12_000..=40_000).contains(&alone.voice_rtt_us),
            "without other traffic, the round trip of the call is {} us",
            alone.voice_rtt_us
        );
        let transparent = figure_11(seed, true, false);
        for sojourn in transparent.rlc_us {
            assert!(
                (200_000..=900_000).contains(&sojourn),
                "without queues and pacer, packets wait {sojourn} us in RLC"
            );
        }
        assert_eq!(transparent.tc_us, [0, 0]);
        let freed = figure_11(seed, true, true);
        let ratio = transparent.voice_rtt_us as f64 / freed.voice_rtt_us as f64;
        assert!(
            ratio >= 4.0,
            "the round trip must shrink to a quarter: {} us before, {} us after the commands",
            transparent.voice_rtt_us,
            freed.voice_rtt_us
        );
        assert!(freed.prbs_used >= 0.95, "a share of {} of the PRBs is used", freed.prbs_used);
        assert!(
            freed.greedy_mbps >= 0.95 * transparent.greedy_mbps,
            "TCP had {} Mbit/s before the commands, and {} Mbit/s after them",
            transparent.greedy_mbps,
            freed.greedy_mbps
        );
        assert!(
            freed.rlc_us[0] <= 10_000 && freed.rlc_us[1] <= 10_000,
            "packets of the call and of TCP wait {:?} us in RLC",
            freed.rlc_us
        );
        assert!(
            freed.tc_us[0] <= 5_000 && freed.tc_us[1] >= 200_000,
            "packets of the call and of TCP wait {:?} us in queues",
            freed.tc_us
        );
        assert_eq!((freed.voice_lost, transparent.voice_lost), (0, 0));
    }
}
