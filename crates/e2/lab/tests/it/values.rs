//! Statistics from the cells of emulated base stations, over a RIC in memory, to rows of a file.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ranlab_e2_lab::values::{Recorder, Screen, Values};
use ranlab_e2_lab::{Fleet, FleetConfig};
use ranlab_ran::functions::{StationFunction, selectable};
use ranlab_ran::node::NodeTemplate;
use ranlab_sdk::e2::ric::{ListenerProtocol, RicConfig};
use ranlab_sdk::e2::xapp::XappConfig;
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::ActionToBeSetup;
use ranlab_sdk::wire::e2sm::kpm::UE_MEASUREMENTS;
use ranlab_sdk::wire::e2sm::mac::Mac;
use ranlab_sdk::wire::e2sm::{Encoding, Model, hw};
use ranlab_sdk::{RicHandle, XappHandle};

const NODES: u32 = 2;
const UES: u16 = 3;
const PERIOD: Duration = Duration::from_millis(10);
/// Time limit of a wait in the tests.
const PATIENCE: Duration = Duration::from_secs(60);

fn fleet(controller: Address, sm_encoding: Option<Encoding>) -> Fleet {
    let stations = NodeTemplate {
        ues: UES,
        service_models: reported_without_radio().collect(),
        sm_encoding,
        ..NodeTemplate::default()
    };
    Fleet::new(FleetConfig {
        controllers: vec![controller],
        one_of: false,
        nodes: NODES,
        stations,
        ramp: Duration::ZERO,
        gentle: false,
        first: 0,
        ahead_us: 0,
        sockets: SocketOptions::default(),
    })
}

/// Returns the station functions that report statistics without a radio.
fn reported_without_radio() -> impl Iterator<Item = &'static dyn StationFunction> {
    selectable().filter(|function| !function.requires().radio)
}

/// An xApp subscribes to every model that base stations offer, including HW's periodic pings. The values of all UEs
/// arrive, and the recorded file contains the received values. The test is repeated for every encoding.
#[test]
fn every_model_yields_rows_for_all_ues() {
    for encoding in [None, Some(Encoding::Per), Some(Encoding::Flat)] {
        ends_as_rows(encoding);
    }
}

fn ends_as_rows(encoding: Option<Encoding>) {
    let path = std::env::temp_dir().join(format!("ranlab-values-in-memory-{}.csv", std::process::id()));
    let hw: &dyn Model = &hw::Hw;
    let offered: Vec<_> = reported_without_radio().filter_map(|it| it.model()).chain([hw]).collect();
    let mut recorder = Recorder::create(&path, &offered).unwrap();
    let mut values = Values::new(&offered, encoding, None);
    let mut received = BTreeMap::<(String, String), BTreeSet<u32>>::new();
    ranlab_sdk::run(async {
        let address = |name: &str| Address::Memory(format!("values-{encoding:?}-{name}"));
        let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
        ric.listen(ListenerProtocol::E2, &address("e2"), |_| true).await.unwrap();
        ric.listen(ListenerProtocol::E42, &address("e42"), |_| true).await.unwrap();
        let mut fleet = fleet(address("e2"), encoding);
        fleet.ramp_up().await.unwrap();
        let config = XappConfig::new(address("e42").to_string());
        let xapp = XappHandle::start(config, SocketOptions::default());
        for model in &offered {
            let trigger = model.periodic(model.encoding_or(encoding), PERIOD).unwrap();
            xapp.subscribe_all_raw(model.oid(), trigger, vec![ActionToBeSetup::report(0)]).unwrap();
        }
        let expected = NODES as usize * offered.len();
        let until = tokio::time::Instant::now() + PATIENCE;
        while received.len() < expected {
            let event = tokio::time::timeout_at(until, xapp.next()).await;
            let event = event.unwrap_or_else(|_| {
                panic!("timed out before all models had reported; received only {received:?}")
            });
            let Some(report) = values.take(&xapp, &event) else { continue };
            let table = report.table().unwrap();
            let ues = received.entry((report.node.to_string(), report.model.name().to_owned())).or_default();
            for line in report.lines(&table, 0) {
                ues.extend(line.key.ue());
                recorder.row(&line).unwrap();
            }
        }
    });
    let rows = recorder.finish().unwrap();
    for node in received.keys().map(|(node, _)| node.clone()).collect::<BTreeSet<_>>() {
        let of = |model: &dyn Model| &received[&(node.clone(), model.name().to_owned())];
        let ues = of(&Mac);
        assert_eq!(ues.len(), usize::from(UES));
        // The other models report about the node and not about UEs.
        assert!(
            reported_without_radio()
                .filter_map(|it| it.model())
                .all(|model| of(model) == ues || of(model).is_empty()),
            "{received:?}"
        );
    }
    // There is one line for the node, and for each UE one line per KPM measurement. The first line of a UE contains
    // the values of the other models.
    let shown = Screen::default().lines(&values);
    assert_eq!(shown.len(), NODES as usize * (usize::from(UES) * UE_MEASUREMENTS.len() + 1), "{shown:#?}");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text.lines().count() as u64, rows + 2);
    for model in &offered {
        assert!(text.lines().any(|line| line.split(',').nth(3) == Some(model.name())), "{model}");
    }
}
