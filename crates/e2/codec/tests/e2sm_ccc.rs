//! CCC: JSON of real base stations, unknown members, and choices without tags.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use bytes::Bytes;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::ccc::*;
use ranlab_e2_codec::e2sm::common::{Cgi, NrCgi, Snssai};
use ranlab_e2_codec::e2sm::{Encoding, Model, Octets, ServiceModel, SmError};
use ranlab_e2_codec::per::Form;

/// Header that xApps send to OCUDU's base stations.
const HEADER: &str = r#"{"controlHeaderFormat":{"ricStyleType":2}}"#;
const MESSAGE: &str = r#"{"controlMessageFormat":{"listOfCellsControlled":[{"cellGlobalId":{"plmnIdentity":{"mcc":"001","mnc":"01"},"nRCellIdentity":"00066C000"},"listOfConfigurationStructures":[{"ranConfigurationStructureName":"O-RRMPolicyRatio","oldValuesOfAttributes":{"ranConfigurationStructure":{}},"newValuesOfAttributes":{"ranConfigurationStructure":{"rRMPolicyDedicatedRatio":5,"rRMPolicyMaxRatio":50,"rRMPolicyMemberList":[{"plmnId":{"mcc":"001","mnc":"01"},"snssai":{"sd":"000001","sst":1}}],"rRMPolicyMinRatio":10,"resourceType":"PRB_DL"}}}]}]}}"#;

fn read<T: Octets>(text: &str) -> Result<T, SmError> {
    T::decode_as(Encoding::Json, &Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn real_messages_round_trip() {
    let header: ControlHeader = read(HEADER).unwrap();
    assert_eq!(header.to_octets(Encoding::Json).unwrap(), HEADER);
    let message: ControlMessage = read(MESSAGE).unwrap();
    assert_eq!(message.to_octets(Encoding::Json).unwrap(), MESSAGE);
    let ControlFormat::Cells { cells } = message.format else { panic!() };
    let cell = NrCgi { plmn: Plmn::new(1, 1, 2), cell: 0x66_c000 };
    assert_eq!(cells[0].cell.cell(), Some(Cgi::Nr(cell)));
    assert_eq!(CellId::from(Cgi::Nr(cell)), cells[0].cell);
    let ratio: RrmPolicyRatio = cells[0].structures[0].new.attributes.meaning().unwrap();
    assert_eq!((ratio.resource, ratio.min, ratio.max, ratio.dedicated), (ResourceType::PrbDl, 10, 50, 5));
    assert_eq!(ratio.members[0].snssai.slice(), Some(Snssai { sst: 1, sd: Some(1) }));
    assert_eq!(ratio.members[0].plmn_id.plmn(), Some(cell.plmn));
}

/// Unknown members are skipped; attributes of structures are kept unchanged.
#[test]
fn unknown_members_are_skipped_and_attributes_kept() {
    let more = MESSAGE
        .replacen("{\"cellGlobalId\"", "{\"later\":[1],\"cellGlobalId\"", 1)
        .replace("\"resourceType\":\"PRB_DL\"", "\"resourceType\":\"PRB_DL\",\"vendor\":{\"x\":[1.5]}");
    let message: ControlMessage = read(&more).unwrap();
    let octets = message.to_octets(Encoding::Json).unwrap();
    let text = std::str::from_utf8(&octets).unwrap();
    assert!(text.contains("\"vendor\":{\"x\":[1.5]}") && !text.contains("later"), "{text}");
    let ControlFormat::Cells { cells } = message.format else { panic!() };
    let refused = cells[0].structures[0].new.attributes.meaning::<RrmPolicyRatio>().unwrap_err().to_string();
    assert!(refused.contains("vendor"), "{refused}");
}

#[test]
fn choices_are_identified_by_their_members() {
    for (text, cells) in [
        (
            r#"{"eventTriggerDefinitionFormat":{"listOfCellLevelConfigurationStructuresForEventTrigger":[]}}"#,
            true,
        ),
        (
            r#"{"eventTriggerDefinitionFormat":{"listOfNodeLevelConfigurationStructuresForEventTrigger":[]}}"#,
            false,
        ),
    ] {
        let trigger: EventTrigger = read(text).unwrap();
        assert_eq!(matches!(trigger.format, TriggerFormat::Cells { .. }), cells);
        assert_eq!(<Ccc as ServiceModel>::period(&trigger), None);
        assert_eq!(trigger.to_octets(Encoding::Json).unwrap(), text);
    }
    let node: ControlOutcome = read(r#"{"controlOutcomeFormat":{"receivedTimestamp":"00"}}"#).unwrap();
    assert!(matches!(node.format, OutcomeFormat::Node { .. }));
    let cells: ControlOutcome =
        read(r#"{"controlOutcomeFormat":{"listOfCellsForControlOutcome":[]}}"#).unwrap();
    assert!(matches!(cells.format, OutcomeFormat::Cells { .. }));
    let lte = CellId::Eutra { plmn: PlmnId { mcc: "001".into(), mnc: "01".into() }, cell: "0001A2D".into() };
    let Some(Cgi::Eutra(cell)) = lte.cell() else { panic!() };
    assert_eq!((cell.cell, CellId::from(Cgi::Eutra(cell))), (0x1a2d, lte));
}

#[test]
fn invalid_json_fails_with_a_reason() {
    for (text, why) in [
        ("", "EOF"),
        ("{}", "controlMessageFormat"),
        (&MESSAGE[1..], "invalid type"),
        (&format!("{MESSAGE} x"), "trailing"),
        (&MESSAGE.replace("newValuesOfAttributes", "newValues"), "did not match any variant"),
    ] {
        let refused = read::<ControlMessage>(text).unwrap_err().to_string();
        assert!(refused.contains(why), "{text}: {refused}");
    }
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(read::<ControlMessage>(&deep).is_err(), "values that are nested too deep must be refused");
    for wrong in ["00066C00", "00066C0000", "00066C00G", "+0066C000"] {
        let cell = CellId::Nr { plmn: PlmnId { mcc: "001".into(), mnc: "01".into() }, cell: wrong.into() };
        assert_eq!(cell.cell(), None, "{wrong}");
    }
    assert_eq!(SliceId { sst: 1, sd: Some("00001".into()) }.slice(), None);
}

#[test]
fn registry_builds_controls_and_decodes_outcomes() {
    let form = |text: &str| Form::from(serde_json::from_str::<serde_json::Value>(text).unwrap());
    let (header, message) = Ccc.control(Encoding::Json, form(HEADER), form(MESSAGE)).unwrap();
    assert_eq!((&header[..], &message[..]), (HEADER.as_bytes(), MESSAGE.as_bytes()));
    let outcome = Bytes::from_static(br#"{"controlOutcomeFormat":{"listOfCellsForControlOutcome":[]}}"#);
    let shown = serde_json::Value::from(Ccc.outcome(Encoding::Json, &outcome).unwrap());
    assert_eq!(shown.to_string().as_bytes(), outcome);
    assert!(read::<FunctionDefinition>(std::str::from_utf8(Ccc::DEFINITION).unwrap()).is_ok());
}

#[test]
fn attributes_outside_the_wrapper_become_rows() {
    let header =
        br#"{"indicationHeaderFormat":{"indicationReason":"uponChange","eventTime":"ec2c83fdb48863be"}}"#;
    let rows = |values: &str| {
        let message = format!(
            r#"{{"indicationMessageFormat":{{"listOfConfigurationStructuresReported":[{{"changeType":"modification","ranConfigurationStructureName":"O-NRCellDU","valuesOfAttributes":{values}}}]}}}}"#
        );
        Ccc.table(Encoding::Json, &Bytes::from_static(header), &Bytes::from(message)).unwrap()
    };
    let bare = rows(r#"{"administrativeState":"LOCKED","cellState":"INACTIVE"}"#);
    let wrapped =
        rows(r#"{"ranConfigurationStructure":{"administrativeState":"LOCKED","cellState":"INACTIVE"}}"#);
    assert_eq!((bare.len(), &bare), (2, &wrapped));
    let mixed =
        rows(r#"{"ranConfigurationStructure":{"administrativeState":"LOCKED"},"cellState":"INACTIVE"}"#);
    assert_eq!(mixed.len(), 2);
    let empty = rows("{}");
    assert!(empty.is_empty() && empty.left_out.is_some());
}

#[test]
fn invalid_policies_are_not_written() {
    let write = |from: &str, to: &str| {
        let text = MESSAGE.replacen(from, to, 1);
        let [header, message] = [HEADER, &text].map(|text| {
            let json: serde_json::Value = serde_json::from_str(text).unwrap();
            Form::from(json)
        });
        Ccc.control(Encoding::Json, header, message).map(drop)
    };
    assert_eq!(write("x", "x"), Ok(()));
    assert_eq!(
        write("\"rRMPolicyDedicatedRatio\":5,", ""),
        Ok(()),
        "attributes of a policy must be optional"
    );
    for (from, to) in [
        ("\"sst\":1", "\"sst\":\"1\""),
        ("\"sst\":1", "\"sst\":256"),
        ("\"sd\":\"000001\"", "\"sd\":1"),
        ("\"sd\":\"000001\"", "\"sd\":\"1\""),
        ("\"plmnId\":{\"mcc\":\"001\"", "\"plmnId\":{\"mcc\":\"1\""),
        ("\"rRMPolicyMaxRatio\":50", "\"rRMPolicyMaxRatio\":\"50\""),
        ("\"rRMPolicyMaxRatio\":50", "\"rRMPolicyMaxRatio\":5.5"),
        ("\"rRMPolicyMaxRatio\":50", "\"rRMPolicyMaxRatio\":101"),
        ("\"rRMPolicyMaxRatio\":50", "\"rRMPolicyMaxRatio\":9"),
        ("\"rRMPolicyMinRatio\":10", "\"rRMPolicyMinRatio\":4"),
        ("\"PRB_DL\"", "\"PRB\""),
    ] {
        assert!(matches!(write(from, to), Err(SmError::Order(_))), "{to}: {:?}", write(from, to));
    }
}

/// OCUDU 26.04's answer to a policy: without `controlOutcomeFormat`, with `null` for no old values.
const OCUDU_OUTCOME: &str = r#"{"listOfCellsForControlOutcome":[{"cellGlobalId":{"plmnIdentity":{"mcc":"001","mnc":"01"},"nRCellIdentity":"00066C000"},"ranConfigurationStructuresAcceptedList":[{"ranConfigurationStructureName":"O-RRMPolicyRatio","oldValuesOfAttributes":{"ranConfigurationStructure":null},"currentValuesOfAttributes":{"ranConfigurationStructure":{"resourceType":"PRB_DL","rRMPolicyMemberList":[{"plmnId":{"mcc":"001","mnc":"01"},"snssai":{"sst":1,"sd":"000001"}}],"rRMPolicyMaxRatio":50,"rRMPolicyMinRatio":10,"rRMPolicyDedicatedRatio":5}}}]}]}"#;

#[test]
fn control_outcome_without_outer_object_is_decoded() {
    let outcome: ControlOutcome = read(OCUDU_OUTCOME).unwrap();
    let OutcomeFormat::Cells { cells, .. } = &outcome.format else { panic!("{outcome:?}") };
    let accepted = &cells[0].outcomes.accepted[0];
    assert_eq!(accepted.name, RRM_POLICY_RATIO);
    let policy: RrmPolicyRatio = accepted.current.attributes.meaning().unwrap();
    assert_eq!(accepted.old, Values::default());
    assert_eq!((policy.min, policy.max, policy.dedicated), (10, 50, 5));
    // The encoded outcome has the outer object and decodes to the same value.
    let written = outcome.to_octets(Encoding::Json).unwrap();
    assert_eq!(ControlOutcome::decode_as(Encoding::Json, &written).unwrap(), outcome);
    for text in ["{}", r#"{"cells":[]}"#] {
        assert!(read::<ControlOutcome>(text).is_err(), "{text}");
    }
}
