//! Properties of all components with a configuration.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use ranlab_campaign::schema::{Kind, Presence};
use ranlab_campaign::value::Value;
use serde_json::{Map, Value as Json, json};

use ranlab_compare::PingFlexranPart;
use ranlab_e2_lab::virtual_time::{Network, NetworkSpec};
use ranlab_e2_lab::{
    AssociationComponent, FleetComponent, MonitorComponent, PingComponent, RelayComponent, RicComponent,
    SliceXappComponent, SlicingComponent, TrafficComponent, TrafficXappComponent, VirtComponent,
};
use ranlab_lab::{
    AnyComponent, AttachComponent, Config, ConfigFields, Field, GatewayComponent, JsonField,
    ProgramComponent, Role,
};
use ranlab_pipeline_lab::PipelineComponent;
use ranlab_sdran_lab::{EmpowerComponent, FlexranComponent, SouthFleetComponent};
use ranlab_upf_lab::{UpfComponent, UpfLoadComponent};
use ranlab_xhaul_lab::XhaulComponent;

use super::REGISTRY;
use std::time::Duration;

use ranlab_lab::worker::{ComponentError, Reply, WorkerTrust, serve};

/// Returns one component of each type, with defaults.
fn parts() -> Vec<AnyComponent> {
    vec![
        AnyComponent::from(RicComponent::default()),
        AnyComponent::from(AttachComponent::default()),
        AnyComponent::from(FleetComponent::default()),
        AnyComponent::from(MonitorComponent::default()),
        AnyComponent::from(PingComponent::default()),
        AnyComponent::from(PingFlexranPart::default()),
        AnyComponent::from(RelayComponent::default()),
        AnyComponent::from(GatewayComponent::default()),
        AnyComponent::from(FlexranComponent::default()),
        AnyComponent::from(EmpowerComponent::default()),
        AnyComponent::from(SouthFleetComponent::default()),
        AnyComponent::from(AssociationComponent::default()),
        AnyComponent::from(SlicingComponent::default()),
        AnyComponent::from(VirtComponent::default()),
        AnyComponent::from(TrafficComponent::default()),
        AnyComponent::from(SliceXappComponent::default()),
        AnyComponent::from(TrafficXappComponent::default()),
        AnyComponent::from(UpfComponent::default()),
        AnyComponent::from(UpfLoadComponent::default()),
        AnyComponent::from(PipelineComponent::default()),
        AnyComponent::from(XhaulComponent::default()),
    ]
}

/// Returns the component's message to a worker.
fn message(part: &AnyComponent) -> Map<String, Json> {
    let Json::Object(message) = serde_json::to_value(part).unwrap() else {
        panic!("a component should be a JSON object")
    };
    message
}

/// Returns candidate values for a field that differ from its default.
fn others(field: &Field) -> Vec<Json> {
    let texts = [
        "x",
        "{}",
        "[1,2]",
        "127.0.0.1:1",
        "af-xdp",
        "a,b",
        r#"[{"ping":{"bytes":1,"interval_ns":1,"count":1}}]"#,
    ];
    let own = match &field.key.kind {
        Kind::Bool => vec![json!(true), json!(false)],
        Kind::Int { min, max } => vec![json!(min), json!(max)],
        Kind::Float { min, max } => vec![json!(min), json!(max)],
        Kind::Span => vec![json!("1s"), json!("2s")],
        Kind::Choice(all) => all.iter().map(|one| json!(one)).collect(),
        Kind::List(_) => vec![json!(["x"]), json!([1])],
        _ => texts.map(|text| json!(text)).to_vec(),
    };
    let default = match &field.key.presence {
        Presence::Default(value) => serde_json::to_value(value).unwrap(),
        _ => Json::Null,
    };
    own.into_iter().filter(|value| *value != default).collect()
}

/// Sends only a start request for this component to an untrusted worker, and returns the response.
fn over_tcp(message: &Map<String, Json>) -> Result<Json, ComponentError> {
    let request = format!("{}\n", json!({"op": "start", "part": message}));
    let mut output = Vec::new();
    serve(std::io::Cursor::new(request), &mut output, WorkerTrust::PartsOnly, REGISTRY).unwrap();
    match serde_json::from_slice(&output).unwrap() {
        Reply::Ok(value) => Ok(value),
        Reply::Error(trouble) => Err(trouble),
    }
}

#[test]
fn local_fields_are_rejected_over_tcp() {
    let mut tried = Vec::new();
    for part in parts() {
        let default = message(&part);
        let kind = default["type"].as_str().unwrap().to_owned();
        for field in part.described().described() {
            // The first candidate that the configuration accepts.
            let changed = others(&field).into_iter().find_map(|value| {
                let mut changed = default.clone();
                changed.insert(field.name.to_owned(), value);
                let read = REGISTRY.component(Json::Object(changed.clone())).ok()?;
                (read.described().get(field.name) != part.described().get(field.name))
                    .then_some((changed, read))
            });
            let local = field.role == Role::Local;
            let Some((changed, read)) = changed else {
                assert!(!local, "no candidate value of {kind}.{} is valid", field.name);
                continue;
            };
            assert_eq!(read.permitted(WorkerTrust::PartsOnly).is_err(), local, "{kind}.{}", field.name);
            assert_eq!(read.permitted(WorkerTrust::Full), Ok(()));
            if local {
                let trouble = over_tcp(&changed).unwrap_err();
                let named = format!("`{}` names a resource of the worker's machine", field.name);
                assert!(trouble.what.starts_with(&named), "{kind}: {trouble}");
                tried.push(format!("{kind}.{}", field.name));
            }
        }
    }
    assert!(tried.contains(&"xhaul.tools".to_owned()), "{tried:?}");
}

#[test]
fn every_field_survives_the_worker_message() {
    for part in parts() {
        let fields = part.described().described();
        for field in &fields {
            assert!(field.key.comment.len() > 3, "{part:?}: {}", field.name);
        }
        let sent = message(&part);
        let again = REGISTRY.component(Json::Object(sent.clone())).unwrap();
        assert_eq!(message(&again), sent);
        let mut wrong = sent.clone();
        wrong.insert("no_such_field".to_owned(), json!(1));
        let error = REGISTRY.component(Json::Object(wrong)).unwrap_err();
        assert!(error.contains("there is no `no_such_field`"), "{error}");
    }
}

/// A worker of another version reads the same `type` and keys. Therefore the message with the default of each field must not change by
/// accident.
#[test]
fn messages_to_workers_are_unchanged() {
    let now: String = parts().iter().map(|part| Json::Object(message(part)).to_string() + "\n").collect();
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domains/messages.jsonl");
    if std::env::var_os("RANLAB_WRITE_MESSAGES").is_some() {
        std::fs::write(&golden, &now).unwrap();
    }
    let then = std::fs::read_to_string(&golden).unwrap();
    assert!(now == then, "if this is meant, run this test with RANLAB_WRITE_MESSAGES=1:\n{now}");
}

#[test]
fn structured_values_are_json_and_report_errors() {
    let mut part = XhaulComponent::default();
    part.set("busy_ns", &"[1000,20]".into()).unwrap();
    assert_eq!(part.busy_ns, Some(JsonField((1000, 20))));
    let error = part.set("flows", &"soon".into()).unwrap_err().to_string();
    assert!(error.starts_with("`flows` must be plain data as JSON"), "{error}");
    assert_eq!(part.get("flows"), Some(Value::Text("[]".to_owned())));
}

/// Components that need a process, a third-party program or a socket do not run in virtual time. In every role, such a component is
/// rejected by its name.
#[test]
fn components_without_virtual_time_are_rejected_by_name() {
    let mut all = parts();
    all.push(AnyComponent::from(ProgramComponent::default()));
    let mut controllers = Vec::new();
    let mut xapps = Vec::new();
    let latency = Duration::from_millis(1);
    for part in all {
        let name = message(&part)["type"].as_str().unwrap().to_owned();
        let ric = AnyComponent::from(RicComponent::default());
        let fleets = Vec::new;
        let as_controller = NetworkSpec {
            controllers: vec![("ric".to_owned(), part.clone())],
            fleets: fleets(),
            xapps: Vec::new(),
            latency,
        };
        let as_xapp = NetworkSpec {
            controllers: vec![("ric".to_owned(), ric)],
            fleets: fleets(),
            xapps: vec![("xapp".to_owned(), part, "ric".to_owned())],
            latency,
        };
        for (cast, role, here) in
            [(as_controller, "controller", &mut controllers), (as_xapp, "xApp", &mut xapps)]
        {
            let refusal = format!("component `{name}` does not run in virtual time as {role}");
            match Network::new(&cast, 1, None) {
                Err(trouble) if trouble.what.starts_with(&refusal) => {}
                // A component with default settings may be invalid for another reason.
                _ => here.push(name.clone()),
            }
        }
    }
    assert_eq!(controllers, ["ric", "slicing", "virt", "traffic"]);
    assert_eq!(xapps, ["monitor", "slice_xapp", "traffic_xapp"]);
}
