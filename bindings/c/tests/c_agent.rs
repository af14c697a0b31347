//! `examples/agent.c`, compiled by the system's compiler against the static library, run against a RIC.
#![allow(clippy::unwrap_used)] // in a test a panic is the report
mod build;

use ranlab_sdk::e2::Time;
use ranlab_sdk::e2::ric::{IApp, IAppInput, IAppOutbox, RicConfig, Side};
use ranlab_sdk::transport::{Address, SocketOptions};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, RicSubscriptionDetails};
use ranlab_sdk::{RicHandle, run};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OID: &str = "1.3.6.1.4.1.32473.1.1";
const PERIOD_MS: u32 = 5;
/// How long a slow machine may take for any step.
const PATIENCE: Duration = Duration::from_secs(30);

/// Subscribes to the counter of every node and keeps what it reports.
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
                // The second action is one that the agent does not admit.
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

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}: not in {PATIENCE:?}"));
}

/// A RIC at `address` and what its iApp collects. The address may still be in use by the RIC before.
async fn ric_at(address: &Address) -> (RicHandle, Address, Arc<Mutex<Vec<u32>>>) {
    let ric = RicHandle::start(RicConfig::default(), SocketOptions::default());
    let reports = Arc::new(Mutex::new(Vec::new()));
    ric.add_iapp(Box::new(Collector(reports.clone())));
    let mut bound = None;
    until("listening", async || {
        bound = ric.listen(Side::E2, address, |_| true).await.ok();
        bound.is_some()
    })
    .await;
    (ric, bound.unwrap(), reports)
}

#[test]
fn an_agent_in_c_reports_and_survives_a_restart_of_its_ric() {
    let program = build::compile("agent", &build::manifest_dir().join("examples/agent.c"));
    run(async {
        let mut address = "tcp://127.0.0.1:0".parse().unwrap();
        let mut agent = None;
        for life in 1..=3 {
            let (_ric, bound, reports) = ric_at(&address).await;
            agent.get_or_insert_with(|| {
                let mut command = Command::new(&program);
                Ended(command.arg(bound.to_string()).stdout(Stdio::null()).spawn().unwrap())
            });
            until(&format!("reports in life {life}"), async || reports.lock().unwrap().len() >= 20).await;
            // Each life has a subscription of its own: counted from zero, nothing lost, nothing twice.
            let reports = reports.lock().unwrap().clone();
            assert!(reports.iter().copied().eq(0..reports.len() as u32), "{reports:?}");
            address = bound;
        }
        assert!(agent.unwrap().0.try_wait().unwrap().is_none(), "the agent has ended");
    });
}

/// From the 200th to the 1200th report of a running agent: PDUs out, wakes, polls.
#[test]
fn reporting_asks_the_heap_for_nothing_after_the_set_up() {
    let counter = build::manifest_dir().join("tests/allocations.c");
    let more = [counter.to_str().unwrap(), "-Wl,--wrap=ranlab_context_indicate"];
    let program =
        build::compile_with("agent-counted", &build::manifest_dir().join("examples/agent.c"), &more);
    run(async {
        let (_ric, bound, _) = ric_at(&"tcp://127.0.0.1:0".parse().unwrap()).await;
        let mut command = Command::new(program);
        let mut agent = Ended(command.arg(bound.to_string()).stderr(Stdio::piped()).spawn().unwrap());
        until("1200 reports", async || agent.0.try_wait().unwrap().is_some()).await;
        let mut said = String::new();
        std::io::Read::read_to_string(&mut agent.0.stderr.take().unwrap(), &mut said).unwrap();
        assert_eq!((said.trim(), agent.0.wait().unwrap().code()), ("allocated 0 freed 0", Some(0)));
    });
}

#[test]
fn misuse_is_answered_with_errors() {
    let program = build::compile("misuse", &build::manifest_dir().join("tests/misuse.c"));
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
