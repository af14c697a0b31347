//! The same seed gives the same traffic and the same rules, for any number of threads.
#![allow(clippy::unwrap_used)] // a test may panic if it cannot continue
use ranlab_pipeline::engine::{BURST, Burst};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Popularity, Sizes, Trace, Traffic, TrafficError};

fn traffic(thread: usize) -> Traffic {
    let popularity = Popularity::Zipf { exponent: 1.1 };
    Traffic {
        pkt_num: 5000,
        dir: Directions::Bidir,
        thread,
        flows: 700,
        popularity,
        sizes: Sizes::Imix,
        ..Traffic::default()
    }
}

#[test]
fn trace_is_the_same_for_any_number_of_threads() {
    for pipeline in Pipeline::all() {
        let [one, two, five] = [1, 2, 5].map(|n| Trace::generate(&pipeline, &traffic(n)).unwrap());
        assert_eq!(one.len(), 5000);
        assert!(one == two && one == five, "{pipeline:?}");
        let other = Traffic { random_seed: 2, ..traffic(2) };
        assert_ne!(one, Trace::generate(&pipeline, &other).unwrap(), "{pipeline:?}");
    }
}

#[test]
fn rules_depend_only_on_rule_seed() {
    let rules = |json: &str| {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        format!("{:?}", pipeline.build().unwrap().tables.acls)
    };
    let first = rules(r#"{"name":"acl","rule-num":500}"#);
    assert_eq!(first, rules(r#"{"name":"fw","rule-num":500,"rule-seed":1}"#));
    assert_ne!(first, rules(r#"{"name":"acl","rule-num":500,"rule-seed":2}"#));
}

#[test]
fn number_of_active_flows_is_independent_of_table_size() {
    let pipeline: Pipeline =
        serde_json::from_str(r#"{"name":"l3fwd","upstream-l3-table-size":10000}"#).unwrap();
    let distinct = |flows| {
        let traffic = Traffic { pkt_num: 20_000, flows, ..Traffic::default() };
        let trace = Trace::generate(&pipeline, &traffic).unwrap();
        trace.iter().map(|(_, frame)| frame.to_vec()).collect::<std::collections::HashSet<_>>().len()
    };
    assert_eq!(distinct(7), 7);
    assert_eq!(distinct(1000), 1000);
}

#[test]
fn invalid_configurations_are_rejected() {
    let error = |json: &str| {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        Trace::generate(&pipeline, &Traffic::default()).unwrap_err().to_string()
    };
    assert_eq!(error(r#"{"name":"mgw","bst":0}"#), "bst is 0; allowed are 1 to 2097152");
    assert!(
        error(r#"{"name":"nat","range-port-min":9,"range-port-max":8}"#).starts_with("range-port-max is 8")
    );
    assert!(serde_json::from_str::<Pipeline>(r#"{"name":"mgw","users":3}"#).is_err());
    let small = Traffic { pkt_size: 20, ..Traffic::default() };
    assert_eq!(Trace::generate(&Pipeline::all()[0], &small), Err(TrafficError::Size(20)));
}

/// Loading a burst copies the packets of the range, including ranges at and beyond the end of the trace.
#[test]
fn loaded_burst_has_packets_of_its_range() {
    let pipeline: Pipeline = serde_json::from_str(r#"{"name":"mgw"}"#).unwrap();
    let trace = Trace::generate(&pipeline, &traffic(1)).unwrap();
    let mut burst = Burst::new();
    for first in [0, BURST, trace.len() - BURST, trace.len() - 7, trace.len(), usize::MAX] {
        let loaded = trace.load(first, &mut burst);
        let packets: Vec<_> = trace.range(first, BURST).collect();
        assert_eq!((loaded, burst.len()), (packets.len(), packets.len()));
        for (i, (_, frame)) in packets.iter().enumerate() {
            assert_eq!(burst.frame(i), *frame);
        }
    }
    assert_eq!(Trace::default().load(0, &mut burst), 0);
}
