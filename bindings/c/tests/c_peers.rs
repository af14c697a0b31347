//! RICs, xApps and base stations in C, connected to peers in Rust and to each other.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
mod build;

use build::{Running, SANITIZERS, compile_with, free_port, manifest_dir, until};
use bytes::Bytes;
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::agent::{Agent, AgentConfig, UeFilter};
use ranlab_sdk::e2::functions::stats::{PeriodicReport, StatsSource};
use ranlab_sdk::e2::ric::{
    ControlDetails, IApp, IAppInput, IAppOutbox, ListenerProtocol, NodeInfo, Outcome, RequestHandle,
    RicConfig,
};
use ranlab_sdk::e2::xapp::{XappConfig, XappEvent};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::*;
use ranlab_sdk::wire::e2sm::common::{Snssai, UeId};
use ranlab_sdk::wire::e2sm::kpm::{
    self, ActionDefinition, ActionFormat, ConditionalMeasurement, ConditionalMeasurements, IndicationMessage,
    Matching, MatchingCondition, Measurements, Test, UeMeasurements, UesMeasurements,
};
use ranlab_sdk::wire::e2sm::mac::{self, MacIndication, MacUe};
use ranlab_sdk::wire::e2sm::pdcp::{self, PdcpIndication};
use ranlab_sdk::wire::e2sm::rlc::{self, RlcIndication, RlcMode};
use ranlab_sdk::wire::e2sm::{Encoding, Octets, plain};
use ranlab_sdk::{AgentHandle, RicHandle, XappHandle, run};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// OID of the station's private function.
const OWN: &str = "1.3.6.1.4.1.32473.1.2";
const PERIOD: Duration = Duration::from_millis(20);

fn example(name: &str) -> PathBuf {
    compile_with(name, &manifest_dir().join(format!("examples/{name}.c")), &SANITIZERS)
}

fn station() -> PathBuf {
    compile_with("station", &manifest_dir().join("tests/station.c"), &SANITIZERS)
}

fn every(period: Duration) -> Bytes {
    plain::EventTrigger::every(period).unwrap().encode().to_vec().into()
}

fn local(port: &str) -> Address {
    format!("tcp://127.0.0.1:{port}").parse().unwrap()
}

async fn ric_with(iapp: Box<dyn IApp>) -> (RicHandle, String) {
    // With v3.01, nodes of v2 or later also support queries.
    let config = RicConfig::default().with(|it| it.version = Version::V3_01);
    let ric = RicHandle::start(config, SocketOptions::default());
    ric.add_iapp(iapp);
    let bound = ric.listen(ListenerProtocol::E2, &local("0"), |_| true).await.unwrap();
    (ric, bound.to_string().rsplit_once(':').unwrap().1.to_owned())
}

/// Inputs that an [`Asker`] received.
#[derive(Default)]
struct RecordedInputs {
    mac: Vec<MacIndication>,
    rlc: Vec<RlcIndication>,
    pdcp: Vec<PdcpIndication>,
    inserts: usize,
    outcomes: BTreeMap<&'static str, Outcome>,
    failures: Vec<Cause>,
}

/// iApp that subscribes to all reports of a station and sends all types of requests.
#[derive(Clone, Default)]
struct Asker {
    heard: Arc<Mutex<RecordedInputs>>,
    asked: BTreeMap<RequestHandle, &'static str>,
}

impl Asker {
    fn ask(
        &mut self,
        node: &NodeInfo,
        what: &'static str,
        call_process_id: Option<Bytes>,
        out: &mut IAppOutbox,
    ) {
        let ack_request = Some(RicControlAckRequest::Ack);
        let header = Bytes::new();
        let message = Bytes::from_static(what.as_bytes());
        let details = ControlDetails { call_process_id, header, message, ack_request };
        self.asked.insert(out.control(node.id, node.function_by_oid(OWN).unwrap().id, details), what);
    }

    fn met(&mut self, node: &NodeInfo, out: &mut IAppOutbox) {
        for oid in [mac::OID, rlc::OID, pdcp::OID] {
            let actions = vec![ActionToBeSetup::report(1)];
            let details = RicSubscriptionDetails { event_trigger: every(PERIOD), actions };
            out.subscribe(node.id, node.function_by_oid(oid).unwrap().id, details);
        }
        let own = node.function_by_oid(OWN).unwrap().id;
        let actions = vec![ActionToBeSetup { kind: RicActionType::Insert, ..ActionToBeSetup::report(5) }];
        out.subscribe(node.id, own, RicSubscriptionDetails { event_trigger: Bytes::new(), actions });
        ["now", "later", "no"].into_iter().for_each(|what| self.ask(node, what, None, out));
        for what in ["what?", "refuse"] {
            let header = Bytes::from_static(b"!");
            let definition = Bytes::from_static(what.as_bytes());
            self.asked.insert(out.query(node.id, own, header, definition), what);
        }
    }
}

impl IApp for Asker {
    fn name(&self) -> &str {
        "asker"
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) => self.met(node, out),
            IAppInput::SubscriptionFailed { cause, .. } => self.heard.lock().unwrap().failures.push(cause),
            IAppInput::ControlDone { request, outcome } | IAppInput::QueryDone { request, outcome } => {
                let what = self.asked[&request];
                self.heard.lock().unwrap().outcomes.insert(what, outcome.clone());
            }
            IAppInput::Indication { node, indication, .. } => {
                let oid = node.function(indication.function_id).unwrap().oid.clone().unwrap();
                let mut inputs = self.heard.lock().unwrap();
                match &oid[..] {
                    mac::OID => inputs.mac.push(MacIndication::decode(indication.message).unwrap()),
                    rlc::OID => inputs.rlc.push(RlcIndication::decode(indication.message).unwrap()),
                    pdcp::OID => inputs.pdcp.push(PdcpIndication::decode(indication.message).unwrap()),
                    _ => {
                        assert_eq!(indication.message, b"may I?");
                        inputs.inserts += 1;
                        if inputs.inserts == 1 {
                            drop(inputs);
                            let id = indication.call_process_id.map(Bytes::copy_from_slice);
                            self.ask(node, "insert", id, out);
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Runs `tests/station.c` with sanitizers and two controllers. The second controller sees only the UE associated with
/// it.
#[test]
fn c_station_reports_mac_rlc_pdcp_and_answers_requests() {
    let program = station();
    run(async {
        let first = Asker::default();
        let second = Asker::default();
        let (_first, first_port) = ric_with(Box::new(first.clone())).await;
        let (_second, second_port) = ric_with(Box::new(second.clone())).await;
        let mut station = Running::start(&program, &[&first_port, &second_port]);
        for asker in [&first, &second] {
            until("all reports of a station", async || {
                let inputs = asker.heard.lock().unwrap();
                let reports = [inputs.mac.len(), inputs.rlc.len(), inputs.pdcp.len()];
                reports.iter().all(|reports| *reports >= 5)
                    && inputs.outcomes.len() == 6
                    && inputs.inserts >= 3
            })
            .await;
        }
        assert_eq!(station.asked_to_end().await.trim(), "station: ok");
        let first = first.heard.lock().unwrap();
        let second = second.heard.lock().unwrap();
        assert!(first.failures.is_empty() && second.failures.is_empty());
        let rntis = |inputs: &RecordedInputs| {
            inputs.mac.iter().map(|it| it.ues.iter().map(|ue| ue.rnti).collect()).collect()
        };
        let both: Vec<Vec<u32>> = rntis(&first);
        let one: Vec<Vec<u32>> = rntis(&second);
        assert!(
            both.iter().all(|it| it == &[17, 18]) && one.iter().all(|it| it == &[18]),
            "{both:?} {one:?}"
        );
        tells_what_it_counts(&first);
        assert!(second.rlc.iter().all(|it| it.bearers.is_empty()));
        assert!(second.pdcp.iter().all(|it| it.bearers.iter().map(|b| (b.rnti, b.rbid)).eq([(18, 6)])));
        answers(&first);
    });
}

fn tells_what_it_counts(inputs: &RecordedInputs) {
    for report in &inputs.mac {
        let [first, second] = report.ues[..] else { panic!("{report:?}") };
        // Fields that the callback does not write are zero, regardless of earlier contents.
        let dl_aggr_tbs = first.dl_aggr_tbs;
        let mut expected = MacUe { rnti: 17, dl_aggr_tbs, pusch_snr: 21.5, phr: -3, ..MacUe::default() };
        expected.ul_harq[4] = 9;
        assert_eq!(first, expected);
        assert_eq!(second, MacUe { rnti: 18, dl_aggr_tbs: 2 * dl_aggr_tbs, ..expected });
        assert!(report.tstamp_us > 1_600_000_000_000_000);
    }
    assert!(inputs.mac.is_sorted_by_key(|it| it.ues[0].dl_aggr_tbs));
    for report in &inputs.rlc {
        let [bearer] = report.bearers[..] else { panic!("{report:?}") };
        let numbers = (bearer.rnti, bearer.rbid, bearer.mode, bearer.txsdu_bytes, bearer.rxsdu_dd_bytes);
        assert_eq!(numbers, (17, 4, RlcMode::Unacknowledged, 1 << 40, 5));
        assert!((bearer.txsdu_avg_time_to_tx_us - 0.25).abs() < 1e-9);
    }
    for report in &inputs.pdcp {
        let bearers = report.bearers.iter().map(|it| (it.rnti, it.rbid, it.rxsdu_bytes));
        assert!(bearers.eq([(17, 4, 0), (17, 5, 100), (18, 6, 200)]), "{report:?}");
    }
}

fn answers(inputs: &RecordedInputs) {
    let done = |words: &'static [u8]| Outcome::Done(Some(Bytes::from_static(words)));
    let failed = |cause, words: Option<&'static [u8]>| Outcome::Failed {
        cause: Cause::RicRequest(cause),
        outcome: words.map(Bytes::from_static),
    };
    assert_eq!(inputs.outcomes["now"], done(b"at once"));
    assert_eq!(inputs.outcomes["later"], done(b"at last"));
    assert_eq!(inputs.outcomes["no"], failed(CauseRicRequest::ControlMessageInvalid, Some(b"because")));
    assert_eq!(inputs.outcomes["what?"], done(b"what?!"));
    assert_eq!(inputs.outcomes["refuse"], failed(CauseRicRequest::InvalidInformationRequest, None));
    assert_eq!(inputs.outcomes["insert"], done(b"7"));
}

/// Runs `examples/hello_ric.c` with base stations and xApps in C and Rust. All C programs run with sanitizers.
#[test]
fn c_ric_serves_stations_and_xapps_of_both_languages() {
    let ric = example("hello_ric");
    let xapp = example("hello_xapp");
    let agent = example("hello_agent");
    let station = station();
    run(async {
        let e2 = free_port();
        let e42 = free_port();
        let mut ric = Running::start(&ric, &[&e2, &e42, "6", "20"]);
        let mut station = Running::start(&station, &[&e2]);
        // The agent offers only KPM. The iApp's subscription to MAC is rejected, and everything else works.
        let mut agent = Running::start(&agent, &["127.0.0.1", &e2, "5"]);
        let mut xapp = Running::start(&xapp, &["127.0.0.1", &e42, "5", "50"]);
        let _agent = mac_agent(&e2);
        let config = XappConfig::new(local(&e42).to_string());
        let ours = XappHandle::start(config, SocketOptions::default());
        let actions = vec![ActionToBeSetup::report(1)];
        ours.subscribe_all_raw(mac::OID, every(PERIOD), actions).unwrap();
        let mut nodes = BTreeMap::new();
        until("reports of both base stations", async || {
            while let Some(event) = ours.try_next() {
                if let XappEvent::Indication { node, indication, .. } = event {
                    let report = MacIndication::decode(&indication.message).unwrap();
                    nodes.entry(node).or_insert_with(Vec::new).push(report.ues.len());
                }
            }
            nodes.len() == 2 && nodes.values().all(|reports| reports.len() >= 20)
        })
        .await;
        let counts: std::collections::BTreeSet<_> = nodes.values().flatten().copied().collect();
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [2, 3]);
        let station_id = *nodes.iter().find(|(_, reports)| reports[0] == 2).unwrap().0;
        let header = Bytes::from_static(b"");
        let message = Bytes::from_static(b"now");
        let outcome = ours.control(station_id, OWN, header, message).await.unwrap();
        assert_eq!(outcome.as_deref(), Some(&b"at once"[..]));
        assert_eq!(agent.await_its_end().await.trim(), "hello_agent: ok");
        // Both base stations (in C and in Rust) acknowledge the control.
        assert_output(&xapp.await_its_end().await, "hello_xapp: ok, ", 40, ", 2 controls acknowledged");
        assert_output(&ric.await_its_end().await, "hello_ric: ok, ", 100, "");
        assert_eq!(station.asked_to_end().await.trim(), "station: ok");
    });
}

/// Runs `examples/hello_xapp.c` with sanitizers and a RIC in Rust.
#[test]
fn c_xapp_subscribes_and_controls_through_rust_ric() {
    let xapp = example("hello_xapp");
    let station = station();
    run(async {
        let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
        let port = |bound: Address| bound.to_string().rsplit_once(':').unwrap().1.to_owned();
        let e2 = port(ric.listen(ListenerProtocol::E2, &local("0"), |_| true).await.unwrap());
        let e42 = port(ric.listen(ListenerProtocol::E42, &local("0"), |_| true).await.unwrap());
        let _agent = mac_agent(&e2);
        let mut station = Running::start(&station, &[&e2]);
        let mut xapp = Running::start(&xapp, &["127.0.0.1", &e42, "3", "20"]);
        assert_output(&xapp.await_its_end().await, "hello_xapp: ok, ", 40, ", 2 controls acknowledged");
        assert_eq!(station.asked_to_end().await.trim(), "station: ok");
    });
}

/// Compiles a program that counts the heap allocations in calls of a function.
fn counted(folder: &str, name: &str, number: u32, function: &str) -> PathBuf {
    let counter = manifest_dir().join("tests/allocations.c");
    let source = manifest_dir().join(folder).join(format!("{name}.c"));
    let define = format!("-DCOUNTED={number}");
    let wrap = format!("-Wl,--wrap={function}");
    compile_with(&format!("{name}-counted"), &source, &[counter.to_str().unwrap(), &define, &wrap])
}

/// The check begins after 200 PDUs. A station reports MAC and RLC, a RIC reads and forwards the reports, and an xApp
/// reads them.
#[test]
fn report_path_does_not_allocate() {
    let ric = counted("examples", "hello_ric", 2, "ranlab_ric_receive");
    let xapp = counted("examples", "hello_xapp", 3, "ranlab_xapp_receive");
    let station = counted("tests", "station", 4, "ranlab_agent_transmit");
    run(async {
        let e2 = free_port();
        let e42 = free_port();
        // RIC and xApp subscribe to the same data. The station therefore has a single subscription with two receivers.
        let mut ric = Running::start(&ric, &[&e2, &e42, "600", "2"]);
        let mut station = Running::start(&station, &[&e2]);
        let mut xapp = Running::start(&xapp, &["127.0.0.1", &e42, "600", "2"]);
        for program in [&mut station, &mut ric, &mut xapp] {
            program.without_the_heap().await;
        }
    });
}

/// iApp that subscribes to MAC, RLC, PDCP, and KPM in all report styles, and counts the reports per action.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<BTreeMap<(String, u8), usize>>>);

impl Everything {
    const PERIOD: Duration = Duration::from_millis(4);

    fn kpm() -> Vec<ActionToBeSetup> {
        let slice = Snssai { sst: 1, sd: None };
        let names = ["DRB.UEThpDl", "RRU.PrbTotDl", "DRB.PdcpSduVolumeDL", "DRB.RlcSduDelayDl"];
        let every_ms = |granularity_ms| Measurements::plain(names, granularity_ms);
        let conditions = vec![Matching { condition: MatchingCondition::Test(Test::slice(slice)), or: false }];
        let measurement = |name: &str| ConditionalMeasurement {
            measurement: name.into(),
            conditions: conditions.clone(),
            bins: None,
        };
        let conditional = ConditionalMeasurements {
            measurements: names.map(measurement).into(),
            granularity_ms: 1,
            cell: None,
        };
        let formats = [
            ActionFormat::Node(every_ms(1)),
            ActionFormat::Ue(UeMeasurements { ue: UeId::du(17), measurements: every_ms(4) }),
            ActionFormat::Conditional(conditional),
            ActionFormat::of_slice(slice, every_ms(2)),
            ActionFormat::Ues(UesMeasurements {
                ues: vec![UeId::du(18), UeId::du(19)],
                measurements: every_ms(4),
            }),
        ];
        let definition = |format| Some(ActionDefinition::from(format).to_octets(Encoding::Per).unwrap());
        let action =
            |(id, format)| ActionToBeSetup { definition: definition(format), ..ActionToBeSetup::report(id) };
        (1..).zip(formats).map(action).collect()
    }
}

impl IApp for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) => {
                let measured = kpm::EventTrigger { period_ms: Self::PERIOD.as_millis() as u32 };
                let measured = (measured.to_octets(Encoding::Per).unwrap(), Self::kpm());
                let counted = (every(Self::PERIOD), vec![ActionToBeSetup::report(1)]);
                for (oid, (event_trigger, actions)) in [mac::OID, rlc::OID, pdcp::OID]
                    .map(|oid| (oid, counted.clone()))
                    .into_iter()
                    .chain([(kpm::OID, measured)])
                {
                    let details = RicSubscriptionDetails { event_trigger, actions };
                    out.subscribe(node.id, node.function_by_oid(oid).unwrap().id, details);
                }
            }
            IAppInput::SubscriptionFailed { cause, .. } => panic!("{cause}"),
            IAppInput::Subscribed { not_admitted, .. } => assert!(not_admitted.is_empty()),
            IAppInput::Indication { node, indication, .. } => {
                let oid = node.function(indication.function_id).unwrap().oid.clone().unwrap();
                if oid == kpm::OID {
                    IndicationMessage::decode_as(Encoding::Per, &indication.message.to_vec().into()).unwrap();
                }
                *self.0.lock().unwrap().entry((oid, indication.action_id)).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// The check begins after 200 PDUs. The station sends eight reports every 4 ms; a KPM report has up to four records.
#[test]
fn c_station_does_not_allocate_for_reports() {
    let station = counted("tests", "station", 4, "ranlab_agent_transmit");
    run(async {
        let iapp = Everything::default();
        let (_ric, port) = ric_with(Box::new(iapp.clone())).await;
        Running::start(&station, &[&port]).without_the_heap().await;
        let counts = iapp.0.lock().unwrap();
        assert!(counts.len() == 8 && counts.values().all(|reports| *reports >= 50), "{counts:?}");
    });
}

/// Checks the final output of a program: the text `before`, the number of reports and UEs, and the text `after`. There
/// must be more than `reports_min` reports with two or three UEs each.
fn assert_output(output: &str, before: &str, reports_min: u64, after: &str) {
    let numbers = output.trim().strip_prefix(before).and_then(|it| it.strip_suffix(after));
    let numbers = numbers.and_then(|it| it.strip_suffix(" UEs")).unwrap_or_else(|| panic!("{output}"));
    let (reports, rows) = numbers.split_once(" reports of ").unwrap();
    let reports: u64 = reports.parse().unwrap();
    let rows: u64 = rows.parse().unwrap();
    assert!(reports > reports_min && (2 * reports..=3 * reports).contains(&rows), "{output}");
}

/// A cell with three UEs.
struct Cell;

impl StatsSource for Cell {
    fn fill(&mut self, _: Time, _: UeFilter<'_>, out: &mut Vec<u8>) {
        let ues = (1..=3).map(|rnti| MacUe { rnti, ..MacUe::default() }).collect();
        MacIndication { ues, tstamp_us: 1 }.encode(out);
    }
}

/// Returns an agent in Rust that offers MAC.
fn mac_agent(port: &str) -> AgentHandle {
    let id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 1, 22);
    let configuration = ComponentConfiguration::default();
    let interface = ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() });
    let component =
        ComponentConfigItem { interface: ComponentInterfaceType::Ng, id: interface, configuration };
    let mut agent = Agent::new(AgentConfig::new(id, vec![component]));
    agent
        .register(Box::new(PeriodicReport::for_model(&mac::Mac, Cell)), Some(mac::DEFAULT_FUNCTION_ID))
        .unwrap();
    let agent = AgentHandle::start(agent, SocketOptions::default());
    agent.add_controller(&local(port)).unwrap();
    agent
}
