//! Runs the examples, compiled by the system's C compiler with the static library, against a RIC.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
mod build;

use build::{Running, until};
use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{IApp, IAppInput, IAppOutbox, ListenerProtocol, RicConfig};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, RicSubscriptionDetails};
use ranlab_sdk::wire::e2sm::common::UeId;
use ranlab_sdk::wire::e2sm::kpm::{self, Measured, MessageView};
use ranlab_sdk::wire::e2sm::{Encoding, Octets, by_oid};
use ranlab_sdk::{RicHandle, run};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OID: &str = "1.3.6.1.4.1.32473.1.1";
const PERIOD_MS: u32 = 5;

/// iApp that subscribes to the counter function of every node and records its reports.
struct Collector(Arc<Mutex<Vec<u32>>>);

impl IApp for Collector {
    fn name(&self) -> &str {
        "collector"
    }
    fn handle(&mut self, _now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) => {
                let function = node.function_by_oid(OID).unwrap().id;
                let event_trigger = PERIOD_MS.to_be_bytes().to_vec().into();
                // The agent does not admit the second action.
                let actions = vec![ActionToBeSetup::report(3), ActionToBeSetup::report(4)];
                out.subscribe(node.id, function, RicSubscriptionDetails { event_trigger, actions });
            }
            IAppInput::Subscribed { admitted, not_admitted, .. } => {
                assert_eq!((admitted, not_admitted.len()), (&[3][..], 1));
            }
            IAppInput::Indication { indication, .. } => {
                assert_eq!(indication.action_id, 3);
                self.0.lock().unwrap().push(u32::from_be_bytes(indication.message.try_into().unwrap()));
            }
            _ => {}
        }
    }
}

/// iApp that subscribes to KPM of every node, per UE, and records the downlink throughput in kbit/s.
struct Throughputs(Arc<Mutex<Vec<f64>>>);

impl IApp for Throughputs {
    fn name(&self) -> &str {
        "throughputs"
    }
    fn handle(&mut self, _now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) => {
                let function = node.function_by_oid(kpm::OID).unwrap();
                let model = by_oid(kpm::OID).unwrap();
                let period = Duration::from_millis(50);
                let event_trigger = model.periodic(model.encoding(), period).unwrap();
                let definition = model.action(model.encoding(), &function.definition, period).unwrap();
                let actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(1) }];
                out.subscribe(node.id, function.id, RicSubscriptionDetails { event_trigger, actions });
            }
            IAppInput::SubscriptionFailed { cause, .. } => panic!("KPM is refused: {cause}"),
            IAppInput::Indication { indication, .. } => {
                let message = MessageView::read(&indication.message.to_vec().into()).unwrap();
                let MessageView::Reports(view) = message else { panic!("the report has no values per UE") };
                for report in view.reports() {
                    assert_eq!(report.ue(), Some(&UeId::du(1)));
                    let names: Vec<_> = report.measurements().unwrap().map(|(it, _)| it.name()).collect();
                    let at = names.iter().position(|name| *name == Some("DRB.UEThpDl")).unwrap();
                    for (values, _) in report.records() {
                        let throughput = match values[at] {
                            Measured::Integer(value) => f64::from(value),
                            Measured::Real(value) => value,
                            _ => continue,
                        };
                        self.0.lock().unwrap().push(throughput);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns a RIC at `address` and the reports that its iApp collects. Binding is retried, because a previous RIC may
/// still use the address for a moment.
async fn ric_at(address: &Address) -> (RicHandle, Address, Arc<Mutex<Vec<u32>>>) {
    let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
    let reports = Arc::new(Mutex::new(Vec::new()));
    ric.add_iapp(Box::new(Collector(reports.clone())));
    let mut bound = None;
    until("listening", async || {
        bound = ric.listen(ListenerProtocol::E2, address, |_| true).await.ok();
        bound.is_some()
    })
    .await;
    (ric, bound.unwrap(), reports)
}

#[test]
fn c_agent_reports_and_survives_ric_restart() {
    let program = build::compile("agent", &build::manifest_dir().join("examples/agent.c"));
    run(async {
        let mut address = "tcp://127.0.0.1:0".parse().unwrap();
        let mut agent = None;
        for life in 1..=3 {
            let (_ric, bound, reports) = ric_at(&address).await;
            agent.get_or_insert_with(|| Running::start(&program, &[&bound.to_string()]));
            until(&format!("reports in life {life}"), async || reports.lock().unwrap().len() >= 20).await;
            // Each run of the RIC has a new subscription. Its reports start at zero, without gaps or repetitions.
            let reports = reports.lock().unwrap().clone();
            assert!(reports.iter().copied().eq(0..reports.len() as u32), "{reports:?}");
            address = bound;
        }
        assert_eq!(agent.unwrap().ended(), None, "the agent has ended");
    });
}

/// Runs `examples/hello_agent.c` with address and undefined behaviour sanitizers.
#[test]
fn hello_agent_reports_kpm_without_undefined_behaviour() {
    let source = build::manifest_dir().join("examples/hello_agent.c");
    assert!(std::fs::read_to_string(&source).unwrap().lines().count() <= 60);
    let program = build::compile_with("hello-agent", &source, &build::SANITIZERS);
    run(async {
        let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
        let throughputs = Arc::new(Mutex::new(Vec::new()));
        ric.add_iapp(Box::new(Throughputs(throughputs.clone())));
        let bound =
            ric.listen(ListenerProtocol::E2, &"tcp://127.0.0.1:0".parse().unwrap(), |_| true).await.unwrap();
        let port = bound.to_string().rsplit_once(':').unwrap().1.to_owned();
        let mut agent = Running::start(&program, &["127.0.0.1", &port, "4"]);
        assert_eq!(agent.await_its_end().await.trim(), "hello_agent: ok");
        let mut sorted = throughputs.lock().unwrap().clone();
        sorted.sort_by(f64::total_cmp);
        // The median is used because a busy machine may stop the program between two lines.
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        assert!(sorted.len() >= 10 && (median - 10_000.0).abs() < 500.0, "{sorted:?}");
    });
}

/// After 200 reports, a running agent does not allocate for sent PDUs, wake-ups and polls.
#[test]
fn running_agent_does_not_allocate_for_reports() {
    let counter = build::manifest_dir().join("tests/allocations.c");
    let more = [counter.to_str().unwrap(), "-DCOUNTED=1", "-Wl,--wrap=ranlab_context_indicate"];
    let program =
        build::compile_with("agent-counted", &build::manifest_dir().join("examples/agent.c"), &more);
    run(async {
        let (_ric, bound, _) = ric_at(&"tcp://127.0.0.1:0".parse().unwrap()).await;
        Running::start(&program, &[&bound.to_string()]).without_the_heap().await;
    });
}

/// The three programs test misuse of agents, an agent with a RIC and an xApp connected in memory, and every type of
/// node.
#[test]
fn c_programs_pass_their_own_assertions() {
    for name in ["misuse", "pair", "kinds"] {
        let source = build::manifest_dir().join(format!("tests/{name}.c"));
        let program = build::compile_with(name, &source, &build::SANITIZERS);
        let output = Command::new(program).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// An order or a KPM choice that no base station can perform is not sent, neither by an xApp nor by an iApp.
#[test]
fn orders_are_checked_before_they_are_sent() {
    use ranlab_sdk::wire::e2sm::rc::FunctionDefinition;
    let definition = FunctionDefinition::of_controls(&[(2, "quotas", 6, "quotas", &[])]);
    let definition = definition.to_octets(Encoding::Per).unwrap();
    let digits: String = definition.iter().map(|byte| format!("{byte:02x}")).collect();
    let source = build::manifest_dir().join("tests/orders.c");
    let program = build::compile_with("orders", &source, &build::SANITIZERS);
    let output = Command::new(program).arg(digits).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
