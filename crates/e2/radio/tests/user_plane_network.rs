//! Tests of UEs that move between cells.
#![allow(clippy::unwrap_used, reason = "a test's helpers")]
use ranlab_radio::user_plane::*;

const SECOND: u64 = 1_000_000;

fn config(seed: u64) -> NetworkConfig {
    NetworkConfig {
        environment: Environment::Umi,
        ghz: 3.5,
        power_dbm: 44.0,
        noise_figure_db: 9.0,
        sites: vec![(100.0, 100.0), (300.0, 100.0), (200.0, 270.0)],
        area_m: (400.0, 400.0),
        speed_kmh: 60.0,
        hysteresis_db: 3.0,
        time_to_trigger_ms: 200,
        cell: CellConfig { seed, ..CellConfig::new(Carrier::lte(25)) },
    }
}

fn network(seed: u64, ues: u32) -> Network {
    let mut network = Network::new(config(seed)).unwrap();
    let flow = || Traffic::OnOff { kbps: 300, packet_bytes: 600, on_ms: 1000, off_ms: 0, random: false };
    for id in 0..ues {
        network.attach(UeConfig::fixed(id, 0, vec![FlowConfig::new(flow())])).unwrap();
    }
    network
}

#[test]
fn ues_are_handed_over_to_strongest_cell() {
    let mut network = network(1, 12);
    let before: Vec<(f64, f64)> = network.measured().map(|ue| ue.place_m).collect();
    network.advance(60 * SECOND);
    let measured: Vec<Measured> = network.measured().copied().collect();
    for (ue, before) in measured.iter().zip(before) {
        assert!(ue.place_m != before && (0.0..=400.0).contains(&ue.place_m.0), "{ue:?}");
        let report = network.cells()[ue.cell].report(ue.rnti).unwrap();
        assert_eq!(report.id, ue.ue);
        let flow = network.cells()[ue.cell].flows(ue.rnti).unwrap()[0].clone();
        assert!(flow.dropped == 0 && flow.delivered.0 * 100 >= flow.sent.0 * 95, "{ue:?}: {flow:?}");
    }
    let handovers: u32 = measured.iter().map(|ue| ue.handovers).sum();
    assert!(handovers >= 12, "12 UEs at 60 km/h had {handovers} handovers in a minute");
    let attached: usize = network.cells().iter().map(|cell| cell.rntis().count()).sum();
    assert_eq!(attached, 12);
}

#[test]
fn ue_path_does_not_depend_on_commands() {
    let mut one = network(2, 4);
    let mut other = network(2, 4);
    let target = (one.measured().next().unwrap().cell + 1) % 3;
    other.hand_over(0, target).unwrap();
    assert_eq!(other.measured().next().unwrap().cell, target);
    one.advance(10 * SECOND);
    other.advance(10 * SECOND);
    let places = |network: &Network| network.measured().map(|ue| ue.place_m).collect::<Vec<_>>();
    assert_eq!(places(&one), places(&other));
}

#[test]
fn invalid_networks_and_handovers_are_rejected() {
    for wrong in [
        NetworkConfig { ghz: f64::NAN, ..config(1) },
        NetworkConfig { sites: vec![], ..config(1) },
        NetworkConfig { sites: vec![(f64::INFINITY, 0.0)], ..config(1) },
        NetworkConfig { speed_kmh: -1.0, ..config(1) },
    ] {
        let reason = Network::new(wrong).unwrap_err().to_string();
        assert!(reason.contains("allowed"), "{reason}");
    }
    let mut network = network(1, 1);
    assert_eq!(network.hand_over(0, 3), Err(NetworkError::NoCell(3)));
    assert_eq!(network.hand_over(7, 0), Err(NetworkError::NoUe(7)));
}
