//! Compares the descriptions of nodes with the responses of O-RAN SC's E2 manager (f7de667) for the same nodes.
use super::*;
use bytes::Bytes;
use ranlab_e2::ric::NodeKind;
use ranlab_e2_codec::e2ap::{
    ComponentConfiguration, E2NodeEnGnb, E2NodeEnb, E2NodeGnb, E2NodeNgEnb, GlobalEnGnbId, GlobalEnbId,
    GlobalGnbId, GlobalNgEnbId, InterfaceE1, InterfaceF1, InterfaceNg, InterfaceS1, InterfaceXn,
    RanFunctionItem, Version,
};
use serde_json::json;

const CHANGED: u64 = 1_795_860_703_672_003_801;
/// Component configuration of ranlab's nodes (`ranlab`) as hexadecimal digits, encoded in Base64.
const MARK: &str = "NzI2MTZFNkM2MTYy";

fn plmn() -> Plmn {
    Plmn::new(505, 1, 2)
}

fn gnb(id: u64, cu_up_id: Option<u64>, du_id: Option<u64>) -> GlobalE2NodeId {
    let gnb = GlobalGnbId { plmn: plmn(), gnb_id: ShortBits::new(id, 32) };
    GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id })
}

fn node(id: GlobalE2NodeId, components: Vec<(ComponentInterfaceType, ComponentId)>) -> NodeInfo {
    let mark = Bytes::from_static(b"ranlab");
    let configuration = ComponentConfiguration { request_part: mark.clone(), response_part: mark };
    let item = |(interface, id)| ComponentConfigItem { interface, id, configuration: configuration.clone() };
    let function = RanFunctionItem {
        id: 142,
        definition: Bytes::from_static(b"MAC_STATS_V0"),
        revision: 1,
        oid: Some("0.0.0.0.0.0.0.0.1.142.0".to_owned()),
    };
    NodeInfo {
        id,
        kind: NodeKind::Whole,
        peer: "peer".into(),
        relayed: false,
        version: Version::V2_03,
        functions: vec![function],
        components: components.into_iter().map(item).collect(),
        connected: true,
        since: Time::ZERO,
    }
}

fn described(node: &NodeInfo) -> Json {
    json(&info(node, Some("10.0.2.10:38000"), CHANGED))
}

fn functions() -> Json {
    json!([{
        "ranFunctionId": 142, "ranFunctionDefinition": "4D41435F53544154535F5630", "ranFunctionRevision": 1,
        "ranFunctionOid": "0.0.0.0.0.0.0.0.1.142.0",
    }])
}

fn e1(id: u64) -> (ComponentInterfaceType, ComponentId) {
    (ComponentInterfaceType::E1, ComponentId::E1(InterfaceE1 { cu_up_id: id }))
}

fn f1(id: u64) -> (ComponentInterfaceType, ComponentId) {
    (ComponentInterfaceType::F1, ComponentId::F1(InterfaceF1 { du_id: id }))
}

fn ng() -> (ComponentInterfaceType, ComponentId) {
    (ComponentInterfaceType::Ng, ComponentId::Ng(InterfaceNg { amf_name: "amf".to_owned() }))
}

#[test]
fn nodes_of_split_gnb_match_e2_manager() {
    let cu_up = node(gnb(255, Some(255), None), vec![e1(255)]);
    let expected = json!({
        "ranName": "gnbc_505_001_000000ff_ff", "connectionStatus": "CONNECTED",
        "globalNbId": {"plmnId": "05F510", "nbId": "00000000000000000000000011111111"}, "nodeType": "GNB",
        "gnb": {"ranFunctions": functions(), "gnbType": "GNB", "nodeConfigs": [{
            "e2nodeComponentInterfaceTypeE1": {"gNBCuCpId": "255"}, "e2nodeComponentInterfaceType": "e1",
            "e2nodeComponentRequestPart": MARK, "e2nodeComponentResponsePart": MARK}]},
        "associatedE2tInstanceAddress": "10.0.2.10:38000", "setupFromNetwork": true,
        "statusUpdateTimeStamp": "1795860703672003801", "gnbNodeType": "gNB_CU_UP", "cuUpId": "255",
    });
    assert_eq!(described(&cu_up), expected);
    let du = described(&node(gnb(255, None, Some(255)), vec![f1(255)]));
    assert_eq!((&du["gnbNodeType"], &du["duId"]), (&json!("gNB_DU"), &json!("255")));
    assert_eq!(du["gnb"]["nodeConfigs"][0]["e2nodeComponentInterfaceTypeF1"], json!({"gNBDuId": "255"}));
    let cu_cp = described(&node(gnb(256, None, None), vec![ng(), f1(256), e1(256)]));
    assert_eq!(cu_cp["gnbNodeType"], "gNB");
    // NG is the default interface type, so protobuf's JSON omits it.
    let expected = json!({
        "e2nodeComponentInterfaceTypeNG": {"amfName": "amf"},
        "e2nodeComponentRequestPart": MARK, "e2nodeComponentResponsePart": MARK,
    });
    assert_eq!(cu_cp["gnb"]["nodeConfigs"][0], expected);
}

#[test]
fn lte_nodes_have_enb_types_and_no_functions() {
    let ng_enb = GlobalNgEnbId { plmn: plmn(), enb_id: NgEnbId::Macro(ShortBits::new(0x290, 20)) };
    let ng_enb = GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id: None });
    let expected = json!({
        "ranName": "ng_enB_macro_505_001_000290", "connectionStatus": "CONNECTED",
        "globalNbId": {"plmnId": "05F510", "nbId": "00000000001010010000"}, "nodeType": "ENB",
        "enb": {"enbType": "MACRO_NG_ENB", "nodeConfigs": [{
            "e2nodeComponentInterfaceTypeNG": {"amfName": "amf"},
            "e2nodeComponentRequestPart": MARK, "e2nodeComponentResponsePart": MARK}]},
        "associatedE2tInstanceAddress": "10.0.2.10:38000", "setupFromNetwork": true,
        "statusUpdateTimeStamp": "1795860703672003801",
    });
    assert_eq!(described(&node(ng_enb, vec![ng()])), expected);
    let enb = GlobalEnbId { plmn: plmn(), enb_id: EnbId::Macro(ShortBits::new(0x3a5, 20)) };
    let s1 = (ComponentInterfaceType::S1, ComponentId::S1(InterfaceS1 { mme_name: "mme".to_owned() }));
    let enb = described(&node(GlobalE2NodeId::Enb(E2NodeEnb { enb }), vec![s1]));
    assert_eq!(
        (&enb["ranName"], &enb["enb"]["enbType"]),
        (&json!("enB_macro_505_001_0003a5"), &json!("MACRO_ENB"))
    );
    let config = &enb["enb"]["nodeConfigs"][0];
    assert_eq!(
        (&config["e2nodeComponentInterfaceTypeS1"], &config["e2nodeComponentInterfaceType"]),
        (&json!({"mmeName": "mme"}), &json!("s1"))
    );
}

#[test]
fn stored_nodes_are_found_by_identity() {
    for (id, key) in [
        (gnb(1, None, None), "GNB:05F510:00000000000000000000000000000001"),
        (gnb(1, None, Some(2)), "GNB:05F510:00000000000000000000000000000001:2"),
        (gnb(1, Some(3), None), "GNB:05F510:00000000000000000000000000000001:3"),
        (gnb(1, Some(3), Some(2)), "GNB:05F510:00000000000000000000000000000001"),
    ] {
        let info = info(&node(id, vec![]), None, CHANGED);
        assert_eq!(identity_key(&info), key);
    }
    let mut away = node(gnb(1, None, None), vec![]);
    away.connected = false;
    let away = described(&away);
    assert_eq!(
        (&away["connectionStatus"], away.get("associatedE2tInstanceAddress")),
        (&json!("DISCONNECTED"), None)
    );
}

#[test]
fn peers_of_interfaces_have_their_identities() {
    let en_gnb = GlobalEnGnbId { plmn: plmn(), gnb_id: ShortBits::new(5, 22) };
    let enb = GlobalEnbId { plmn: plmn(), enb_id: EnbId::Home(ShortBits::new(6, 28)) };
    let x2 = |enb, en_gnb| (ComponentInterfaceType::X2, ComponentId::X2(InterfaceX2 { enb, en_gnb }));
    let gnb = GlobalGnbId { plmn: plmn(), gnb_id: ShortBits::new(7, 22) };
    let xn = (ComponentInterfaceType::Xn, ComponentId::Xn(InterfaceXn { node: GlobalNgRanNodeId::Gnb(gnb) }));
    let id = GlobalE2NodeId::EnGnb(E2NodeEnGnb { en_gnb, cu_up_id: None, du_id: None });
    let description = described(&node(id, vec![x2(Some(enb), None), x2(Some(enb), Some(en_gnb)), xn]));
    assert_eq!(
        (&description["gnb"]["gnbType"], &description["gnbNodeType"]),
        (&json!("EN_GNB"), &json!("gNB"))
    );
    let peer = |at: usize, kind: &str| {
        description["gnb"]["nodeConfigs"][at][format!("e2nodeComponentInterfaceType{kind}")].clone()
    };
    let expected = json!({"globalEnbId":
        {"plmnIdentity": "05F510", "enbId": "0000000000000000000000000110", "enbType": "HOME_ENB"}});
    assert_eq!(peer(0, "X2"), expected);
    let expected = json!({"globalEngnbId":
        {"plmnIdentity": "05F510", "gnbId": "0000000000000000000101", "gnbType": "GNB"}});
    assert_eq!(peer(1, "X2"), expected);
    let expected = json!({"globalGnbId":
        {"plmnIdentity": "05F510", "gnbId": "0000000000000000000111", "gnbType": "GNB"}});
    assert_eq!(peer(2, "Xn"), expected);
}
