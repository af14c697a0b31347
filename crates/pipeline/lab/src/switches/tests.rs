//! Tests that compare each installed switch with the oracle, for every supported pipeline and both directions.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::time::Duration;

use crate::memif::Role;
use ranlab_pipeline::backends::{self, Backend, BackendRequest, Outcomes, Tier, compare, permitted};
use ranlab_pipeline::declare::Direction;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Trace, Traffic};

use super::foreign::VerifiedPipeline;
use super::{RunningSwitch, SwitchJob, driver, installed};
use crate::pipeline::PipelineComponent;
use crate::ring;
use ranlab_lab::RunningComponent;
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{FaultOwner, Report};

/// Lock that runs one switch at a time, because packet memory and cores are scarce.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Small pipelines with several entries per table, and with meters that pass everything.
pub(super) const SMALL: [&str; 12] = [
    r#"{"name":"portfwd"}"#,
    r#"{"name":"portfwd","mac-swap-upstream":"02:00:00:00:00:07","mac-swap-downstream":"02:00:00:00:00:08"}"#,
    r#"{"name":"l2fwd","upstream-table-size":20,"downstream-table-size":10}"#,
    r#"{"name":"l3fwd","upstream-l3-table-size":50,"family":"dual","prefix-lengths":"mixed"}"#,
    r#"{"name":"encap","station":20,"endpoint":3}"#,
    r#"{"name":"rlimit","user":20,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    r#"{"name":"acl","rule-num":200,"seed-file":"fw1","family":"dual"}"#,
    r#"{"name":"acl","rule-num":200,"seed-file":"ipc1","fakedrop":false}"#,
    r#"{"name":"nat","range-port-min":1000,"range-port-max":1050}"#,
    r#"{"name":"dcgw","vm":10,"vm-conn":3}"#,
    r#"{"name":"mgw","user":30,"bst":7,"server":20,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
    r#"{"name":"bng","user":30,"cpe":7,"server":20,"user-conn":3,"fw-rules":20,"rate-limit":1000000000000,"rate-burst":4000000000}"#,
];

fn component(backend: &dyn Backend, pipeline: Pipeline, dir: Directions) -> PipelineComponent {
    let traffic = Traffic { pkt_num: 512, dir, ..Traffic::default() };
    PipelineComponent {
        engine: backend.name().to_owned(),
        tier: backend.tiers()[0].name().to_owned(),
        pipeline: Some(JsonField(pipeline)),
        traffic: JsonField(traffic),
        verify: 512,
        ..PipelineComponent::default()
    }
}

/// Returns the backends that can run here. Prints the reasons for the others.
fn here() -> Vec<&'static dyn Backend> {
    let able = |backend: &&'static dyn Backend| match driver(*backend).and_then(|_| installed(*backend, None))
    {
        Ok(()) => true,
        Err(trouble) => {
            ranlab_host::doctor::skipped(trouble.to_string());
            false
        }
    };
    // The driver `openflow` starts no switch. `tests/e2e/openflow.sh` tests it.
    let started = |backend: &&'static dyn Backend| backend.name() != super::openflow::NAME;
    backends::all().iter().copied().filter(started).filter(able).collect()
}

#[test]
fn each_switch_equals_oracle_on_supported_pipelines() {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut wrong = Vec::new();
    for (backend, json) in here().into_iter().flat_map(|backend| SMALL.map(|json| (backend, json))) {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let declaration = pipeline.build().unwrap();
        for (direction, dir) in
            [(Direction::Uplink, Directions::Uplink), (Direction::Downlink, Directions::Downlink)]
        {
            let request = BackendRequest { declaration: &declaration, directions: &[direction] };
            let started = VerifiedPipeline::new(&component(backend, pipeline.clone(), dir));
            let what = format!("{} {json} {direction:?}", backend.name());
            match (permitted(backend, &request), started) {
                (Ok(()), Ok(verified)) => assert_eq!(verified.packets, 512, "{what}"),
                (Ok(()), Err(trouble)) => wrong.push(format!("{what}: {trouble}")),
                (Err(_), Ok(_)) => wrong.push(format!("{what}: it runs a pipeline that it does not support")),
                (Err(_), Err(trouble)) => {
                    assert_eq!(trouble.fault, FaultOwner::Environment, "{what}: {trouble}");
                    assert!(trouble.what.contains("cannot express"), "{what}: {trouble}");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests both memif roles of a switch, with one ring for each of its threads. A listening switch maps the tester's
/// memory. For a connecting switch, the tester maps the switch's memory. The switch counts every packet, and the output
/// equals the oracle's.
#[test]
fn switches_forward_over_memif_in_both_roles() {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let traffic = Traffic { pkt_num: 256, pkt_size: 128, dir: Directions::Bidir, ..Traffic::default() };
    for backend in here().into_iter().filter(|backend| backend.tiers().contains(&Tier::Ring)) {
        let pipeline: Pipeline =
            serde_json::from_str(if backend.name() == "testpmd" { SMALL[0] } else { SMALL[10] }).unwrap();
        let declaration = pipeline.build().unwrap();
        let driver = driver(backend).unwrap();
        let trace = Trace::generate(&pipeline, &traffic).unwrap();
        for connects in [false, true] {
            let mut folder = Folder::default();
            let files = folder.made().unwrap();
            let sockets = ring::sockets(&files);
            let directions = [Direction::Uplink, Direction::Downlink];
            let job = SwitchJob {
                backend,
                declaration: &declaration,
                directions: &directions,
                trace: &trace,
                folder: &files,
                far: None,
                build: None,
                ring: 9,
                connects,
            };
            // The listening side must be started first.
            let ours =
                connects.then(|| ring::ports(&sockets, Role::Master, ring::Shape::one(job.ring, 1)).unwrap());
            let mut switch = driver.rings(&job, &sockets).unwrap();
            let ports = match ours {
                Some(ours) => ring::up(ours),
                None => ring::connected(&sockets, ring::Shape::one(job.ring, driver.rings_back())),
            };
            let what = format!("{} connects: {connects}", backend.name());
            let mut ports = ports.unwrap_or_else(|trouble| panic!("{what}: {trouble}"));
            let before = switch.read().unwrap();
            let equivalences = backend.equivalences(&job.request());
            let found = ring::pass(&mut ports, &trace, &equivalences)
                .unwrap_or_else(|trouble| panic!("{what}: {trouble}"));
            let expected = Outcomes::expected(&pipeline, &trace, usize::MAX, &equivalences).unwrap();
            compare(&expected, &found).unwrap_or_else(|mismatch| panic!("{what}: {mismatch}"));
            let taken = switch.read().unwrap().received.saturating_sub(before.received);
            assert_eq!(taken, 256, "{what}");
            switch.check().unwrap();
            drop(switch);
        }
    }
}

#[test]
fn openflow_engine_requires_address() {
    let backend = backends::named("openflow").unwrap();
    let of = |part: PipelineComponent| RunningSwitch::start(&part).err().unwrap();
    let nameless = component(backend, serde_json::from_str(SMALL[0]).unwrap(), Directions::Uplink);
    let trouble = of(nameless.clone());
    assert_eq!(trouble.fault, FaultOwner::Environment);
    assert!(trouble.what.contains("needs `sut.address`"), "{trouble}");
    let lonely = PipelineComponent { address: Some("tcp:127.0.0.1:1".to_owned()), ..nameless };
    assert!(of(lonely).what.contains("needs `sut.access_interface`"));
}

#[test]
fn window_reports_rates_and_applied_changes() {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for backend in here() {
        let json = match backend.name() {
            "ovs" | "ovs-dpdk" | "xdp" => {
                r#"{"name":"mgw","user":30,"bst":7,"server":20,"handover":100,"rate-limit":1000000000000,"rate-burst":4000000000}"#
            }
            "vpp" => {
                r#"{"name":"l3fwd","upstream-l3-table-size":20,"fluct-group-table":100,"fluct-l3-table":50}"#
            }
            _ => r#"{"name":"portfwd"}"#,
        };
        let name = backend.name();
        let pipeline = serde_json::from_str(json).unwrap();
        let dir = if name == "vpp" { Directions::Uplink } else { Directions::Downlink };
        let mut foreign = RunningSwitch::start(&component(backend, pipeline, dir)).unwrap();
        for _ in 0..2 {
            let mut report = Report::default();
            foreign.begin();
            std::thread::sleep(Duration::from_millis(500));
            foreign.end(&mut report);
            foreign.check().unwrap();
            let number = |name: &str| report.numbers[name];
            assert!(number("mpps") > 0.0 && number("verified_packets") == 512.0, "{name}: {report:?}");
            assert_eq!(
                number("updates_sent") > 0.0,
                !["testpmd", "kernel"].contains(&name),
                "{name}: {report:?}"
            );
            assert_eq!(number("changes_refused"), 0.0, "{name}: {report:?}");
            // Single packets probe the effect of handovers and of changed next hops.
            assert_eq!(
                report.distributions.contains_key("update_effective_ns"),
                !["testpmd", "kernel"].contains(&name),
                "{name}"
            );
        }
    }
}
