//! Quotas of slices at base stations without SLICE, in virtual time.
#![allow(clippy::unwrap_used)]
mod lab;

use bytes::Bytes;
use lab::cell::MockCell;
use lab::{Lab, escaped};
use ranlab_e2::agent::*;
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::{
    Cause, CauseMisc, ComponentConfigItem, ComponentConfiguration, ComponentId, ComponentInterfaceType,
    GlobalE2NodeId, InterfaceNg, Plmn,
};
use ranlab_e2_codec::e2sm::ccc::{self, ControlFormat, ResourceType, RrmPolicyRatio};
use ranlab_e2_codec::e2sm::common::Snssai;
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::{self, ControlHeader, ControlMessage, FunctionDefinition};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_ric::slicing::Slicing;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);

/// A dedicated ratio of 0 in a policy of CCC.
const NO_DEDICATED: &[u8] = br#""rRMPolicyDedicatedRatio":0"#;

/// Header and message of each control.
type Controls = Arc<Mutex<Vec<(Bytes, Bytes)>>>;

/// A RAN function that records its controls.
struct Keeper {
    oid: &'static str,
    definition: Bytes,
    controls: Controls,
}

impl RanFunction for Keeper {
    fn description(&self) -> FunctionDescription {
        FunctionDescription { oid: self.oid.to_owned(), definition: self.definition.clone(), revision: 1 }
    }
    fn on_subscription(
        &mut self,
        _: &mut FunctionContext<'_>,
        _: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        Ok(Admission::default())
    }
    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, _: SubscriptionId) {}
    fn on_control(
        &mut self,
        _: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        // Refuses a dedicated ratio of 0, like OCUDU.
        let no_dedicated =
            self.oid == ccc::OID && control.message.windows(NO_DEDICATED.len()).any(|it| it == NO_DEDICATED);
        if no_dedicated {
            return Err(Cause::Misc(CauseMisc::Unspecified));
        }
        self.controls.lock().unwrap().push((control.header.clone(), control.message.clone()));
        Ok(ControlOutcome::default())
    }
}

/// Connects a base station with these functions and without SLICE. Returns its path and its controls.
fn station(lab: &mut Lab, number: u32, functions: &[(&'static str, Bytes)]) -> (String, Controls) {
    let id = GlobalE2NodeId::gnb(HOME, number, 32);
    let controls = Controls::default();
    let component = ComponentConfigItem {
        interface: ComponentInterfaceType::Ng,
        id: ComponentId::Ng(InterfaceNg { amf_name: "amf".into() }),
        configuration: ComponentConfiguration::default(),
    };
    let mut agent = Agent::new(AgentConfig::new(id, vec![component]));
    for (oid, definition) in functions {
        let keeper = Keeper { oid, definition: definition.clone(), controls: Arc::clone(&controls) };
        agent.register(Box::new(keeper), None).unwrap();
    }
    lab.adopt(agent, MockCell::default(), id);
    lab.pass(200 * MS);
    (format!("nodes/{}", escaped(&id)), controls)
}

fn rc_of(style: i64, action: u16) -> (&'static str, Bytes) {
    let definition = FunctionDefinition::of_controls(&[(style, "a", action, "b", &[])]);
    (rc::OID, definition.to_octets(Encoding::Per).unwrap())
}

fn ccc_of(structure: &str) -> (&'static str, Bytes) {
    let definition = json!({
        "ranFunctionName": { "ranFunctionShortName": "ORAN-E2SM-CCC", "ranFunctionServiceModelOID": ccc::OID,
            "ranFunctionDescription": "" },
        "listOfCellsForRANFunctionDefinition": [{
            "cellGlobalId": { "plmnIdentity": { "mcc": "505", "mnc": "01" }, "nRCellIdentity": "00066C000" },
            "listOfSupportedCellLevelRANConfigurationStructures":
                [{ "ranConfigurationStructureName": structure, "listOfSupportedAttributes": [] }],
        }],
    });
    (ccc::OID, definition.to_string().into())
}

const QUOTAS: &str = r#"{"quotas": [{"snssai": "1-010203", "min": 20, "max": 60, "dedicated": 10}]}"#;

#[test]
fn ccc_policies_carry_quotas_without_slice() {
    let mut lab = Lab::new(Box::new(Slicing::new(100 * MS).unwrap()));
    let (node, controls) = station(&mut lab, 5, &[rc_of(2, 6), ccc_of("O-RRMPolicyRatio")]);
    let listed = lab.get("nodes")["nodes"][0].clone();
    assert_eq!((&listed["slicing"], &listed["quotas_by"]), (&json!(null), &json!("ccc")), "{listed}");
    assert!(listed["reason"].as_str().unwrap().contains("no SLICE"), "{listed}");
    lab.put(&format!("{node}/quotas"), QUOTAS);
    let (header, message) = controls.lock().unwrap().pop().unwrap();
    assert_eq!(ccc::ControlHeader::decode_as(Encoding::Json, &header).unwrap().format.style, 2);
    let message = ccc::ControlMessage::decode_as(Encoding::Json, &message).unwrap();
    let ControlFormat::Cells { cells } = message.format else { panic!("{message:?}") };
    let policies: Vec<RrmPolicyRatio> =
        cells[0].structures.iter().map(|it| it.new.attributes.meaning().unwrap()).collect();
    let resources: Vec<_> = policies.iter().map(|it| it.resource).collect();
    assert_eq!(resources, [ResourceType::PrbDl, ResourceType::PrbUl]);
    for policy in policies {
        assert_eq!((policy.min, policy.max, policy.dedicated), (20, 60, 10));
        assert_eq!(policy.members[0].snssai.slice(), Some(Snssai { sst: 1, sd: Some(0x01_0203) }));
        assert_eq!(policy.members[0].plmn_id.plmn(), Some(HOME));
    }
}

#[test]
fn quotas_that_ccc_refuses_are_sent_by_rc() {
    let mut lab = Lab::new(Box::new(Slicing::new(100 * MS).unwrap()));
    let (node, controls) = station(&mut lab, 5, &[rc_of(2, 6), ccc_of("O-RRMPolicyRatio")]);
    lab.put(&format!("{node}/quotas"), r#"{"quotas": [{"snssai": "1", "min": 30, "max": 60}]}"#);
    let [(header, message)] = &controls.lock().unwrap()[..] else { panic!() };
    let header = ControlHeader::decode_as(Encoding::Per, header).unwrap();
    let message = ControlMessage::decode_as(Encoding::Per, message).unwrap();
    let quota = SliceQuota { plmn: HOME, slice: Snssai::new(1, None), min: 30, max: 60, dedicated: 0 };
    assert_eq!(Order::read(&header, &message), Ok(Order::SliceQuotas(vec![quota])));
}

#[test]
fn refusal_of_ccc_is_explained_without_rc() {
    let mut lab = Lab::new(Box::new(Slicing::new(100 * MS).unwrap()));
    let (node, _) = station(&mut lab, 5, &[ccc_of("O-RRMPolicyRatio")]);
    let (status, reply) = lab.ask(Method::Put, &format!("{node}/quotas"), r#"{"quotas": [{"snssai": "1"}]}"#);
    assert!(status == 502 && reply["detail"].as_str().unwrap().contains("dedicated"), "{status} {reply}");
}

#[test]
fn rc_carries_quotas_without_ccc_policies() {
    let mut lab = Lab::new(Box::new(Slicing::new(100 * MS).unwrap()));
    let (node, controls) = station(&mut lab, 5, &[rc_of(2, 6), ccc_of("O-BWP")]);
    assert_eq!(lab.get(&node)["quotas_by"], json!("rc"));
    lab.put(&format!("{node}/quotas"), QUOTAS);
    let (header, message) = controls.lock().unwrap().pop().unwrap();
    let header = ControlHeader::decode_as(Encoding::Per, &header).unwrap();
    let message = ControlMessage::decode_as(Encoding::Per, &message).unwrap();
    let slice = Snssai { sst: 1, sd: Some(0x01_0203) };
    let quota = SliceQuota { plmn: HOME, slice, min: 20, max: 60, dedicated: 10 };
    assert_eq!(Order::read(&header, &message), Ok(Order::SliceQuotas(vec![quota])));
}

#[test]
fn invalid_quotas_are_not_sent() {
    let mut lab = Lab::new(Box::new(Slicing::new(100 * MS).unwrap()));
    let (none, controls) = station(&mut lab, 5, &[rc_of(3, 1)]);
    let (takes, _) = station(&mut lab, 6, &[rc_of(2, 6)]);
    assert_eq!(lab.get(&none)["quotas_by"], json!(null));
    for (path, body, status, words) in [
        (format!("{none}/quotas"), QUOTAS, 409, "neither RC style 2 action 6"),
        (format!("{none}/slices"), r#"{"algorithm": "nvs", "slices": []}"#, 409, "no SLICE"),
        (format!("{takes}/quotas"), r#"{"quotas": [{"snssai": "1", "min": 60, "max": 30}]}"#, 409, "60 %"),
        (format!("{takes}/quotas"), r#"{"quotas": [{"snssai": "x"}]}"#, 422, "snssai"),
        (format!("{takes}/quotas"), r#"{"quotas": [{"snssai": "1"}], "ue": "rnti=4"}"#, 422, "ue"),
    ] {
        let (was, reply) = lab.ask(Method::Put, &path, body);
        assert_eq!(was, status, "{reply}");
        assert!(reply["detail"].as_str().unwrap().contains(words), "{reply}");
    }
    assert!(controls.lock().unwrap().is_empty());
}
