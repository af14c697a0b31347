//! Base stations as O-RAN SC's E2 manager describes them: as `NodebInfo` in its database (`sdl`), and as JSON over
//! HTTP. The JSON is protobuf's mapping, which omits fields with their default value.
use ranlab_e2::Time;
use ranlab_e2::ric::NodeInfo;
use ranlab_e2_codec::e2ap::{
    ComponentConfigItem, ComponentId, ComponentInterfaceType, EnbId, GlobalE2NodeId, GlobalNgRanNodeId,
    InterfaceX2, NgEnbId, Plmn,
};
use ranlab_e2_codec::per::ShortBits;
use ranlab_e2_codec::rnib::{
    self, ConnectionStatus, EnbType, GnbType, InterfaceType, NodebInfo, RanFunction,
};
use ranlab_http::base64;
use ranlab_ric::console::nodes::{global_nb_id, inventory_name, is_enb};
use serde_json::{Map, Value as Json};
use std::time::{Duration, SystemTime};

/// Returns the E2 manager's description of a node. `termination` is the RMR address of the E2 termination, and
/// `changed_ns` the time of the last connect or disconnect in ns since 1970.
pub fn info(node: &NodeInfo, termination: Option<&str>, changed_ns: u64) -> NodebInfo {
    let node_configs = node.components.iter().map(component).collect();
    let function = |it: &ranlab_e2_codec::e2ap::RanFunctionItem| RanFunction {
        id: it.id.into(),
        definition: hex(&it.definition),
        revision: it.revision.into(),
        oid: it.oid.clone().unwrap_or_default(),
    };
    let (node_type, configuration) = if is_enb(&node.id) {
        let enb = rnib::Enb { enb_type: enb_type(&node.id).into(), node_configs };
        (rnib::NodeType::Enb, rnib::Configuration::Enb(enb))
    } else {
        let ran_functions = node.functions.iter().map(function).collect();
        let gnb_type =
            if matches!(node.id, GlobalE2NodeId::EnGnb(_)) { GnbType::EnGnb } else { GnbType::Gnb };
        let gnb = rnib::Gnb { ran_functions, gnb_type: gnb_type.into(), node_configs };
        (rnib::NodeType::Gnb, rnib::Configuration::Gnb(gnb))
    };
    let (cu_up_id, du_id) = match &node.id {
        GlobalE2NodeId::Gnb(gnb) => (gnb.cu_up_id, gnb.du_id),
        _ => (None, None),
    };
    let role = match (cu_up_id, du_id) {
        _ if is_enb(&node.id) => "",
        (Some(_), None) => "gNB_CU_UP",
        (None, Some(_)) => "gNB_DU",
        _ => "gNB",
    };
    let decimal = |id: Option<u64>| id.map(|id| id.to_string()).unwrap_or_default();
    NodebInfo {
        ran_name: inventory_name(&node.id),
        connection_status: status(node).into(),
        global_nb_id: Some(global_nb_id(&node.id)),
        node_type: node_type.into(),
        configuration: Some(configuration),
        associated_e2t_instance_address: termination
            .filter(|_| node.connected)
            .unwrap_or_default()
            .to_owned(),
        setup_from_network: true,
        status_update_time_stamp: changed_ns,
        gnb_node_type: role.to_owned(),
        cu_up_id: decimal(cu_up_id),
        du_id: decimal(du_id),
    }
}

/// Returns the connection status of a node.
pub fn status(node: &NodeInfo) -> ConnectionStatus {
    if node.connected { ConnectionStatus::Connected } else { ConnectionStatus::Disconnected }
}

/// Converts the time `at` to ns since 1970. `now` is the current time on the same clock.
pub fn unix_ns(now: Time, at: Time) -> u64 {
    let today = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(today.saturating_sub(now.since(at)).as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the second key under which the E2 manager stores a node: type, network and identity, then CU-UP or DU
/// id.
pub fn identity_key(info: &NodebInfo) -> String {
    let id = info.global_nb_id.clone().unwrap_or_default();
    let set = if info.node_type() == rnib::NodeType::Enb { "ENB" } else { "GNB" };
    let part = match (&*info.cu_up_id, &*info.du_id) {
        ("", "") => String::new(),
        (part, "") | ("", part) => format!(":{part}"),
        _ => String::new(),
    };
    format!("{set}:{}:{}{part}", id.plmn_id, id.nb_id)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02X}")).collect()
}

fn digits(bits: ShortBits) -> String {
    (0..bits.len_bits).rev().map(|bit| char::from(b'0' + (bits.value >> bit & 1) as u8)).collect()
}

fn enb_type(id: &GlobalE2NodeId) -> EnbType {
    match id {
        GlobalE2NodeId::NgEnb(node) => match node.ng_enb.enb_id {
            NgEnbId::Macro(_) => EnbType::MacroNgEnb,
            NgEnbId::ShortMacro(_) => EnbType::ShortMacroNgEnb,
            NgEnbId::LongMacro(_) => EnbType::LongMacroNgEnb,
        },
        GlobalE2NodeId::Enb(node) => enb_id(&node.enb.enb_id).1,
        GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => EnbType::Unknown,
    }
}

fn enb_id(id: &EnbId) -> (ShortBits, EnbType) {
    match *id {
        EnbId::Macro(bits) => (bits, EnbType::MacroEnb),
        EnbId::Home(bits) => (bits, EnbType::HomeEnb),
        EnbId::ShortMacro(bits) => (bits, EnbType::ShortMacroEnb),
        EnbId::LongMacro(bits) => (bits, EnbType::LongMacroEnb),
    }
}

fn component(item: &ComponentConfigItem) -> rnib::ComponentConfig {
    let interface = match item.interface {
        ComponentInterfaceType::Ng => InterfaceType::Ng,
        ComponentInterfaceType::Xn => InterfaceType::Xn,
        ComponentInterfaceType::E1 => InterfaceType::E1,
        ComponentInterfaceType::F1 => InterfaceType::F1,
        ComponentInterfaceType::W1 => InterfaceType::W1,
        ComponentInterfaceType::S1 => InterfaceType::S1,
        ComponentInterfaceType::X2 => InterfaceType::X2,
    };
    // Ids have at most 36 bits, so the conversion does not fail.
    let signed = |id: u64| i64::try_from(id).unwrap_or(i64::MAX);
    use rnib::ComponentId as Id;
    let id = match &item.id {
        ComponentId::Ng(ng) => Id::Ng(rnib::InterfaceNg { amf_name: ng.amf_name.clone() }),
        ComponentId::Xn(xn) => Id::Xn(rnib::InterfaceXn { node: Some(xn_node(&xn.node)) }),
        ComponentId::E1(e1) => Id::E1(rnib::InterfaceE1 { cu_cp_id: signed(e1.cu_up_id) }),
        ComponentId::F1(f1) => Id::F1(rnib::InterfaceF1 { du_id: signed(f1.du_id) }),
        ComponentId::W1(w1) => Id::W1(rnib::InterfaceW1 { du_id: signed(w1.du_id) }),
        ComponentId::S1(s1) => Id::S1(rnib::InterfaceS1 { mme_name: s1.mme_name.clone() }),
        ComponentId::X2(x2) => Id::X2(x2_peer(x2)),
    };
    rnib::ComponentConfig {
        id: Some(id),
        interface: interface.into(),
        request_part: hex(&item.configuration.request_part).into_bytes(),
        response_part: hex(&item.configuration.response_part).into_bytes(),
    }
}

/// Converts a node to the types that the E2 manager writes. An ng-eNB has the type of an eNB.
fn xn_node(node: &GlobalNgRanNodeId) -> rnib::XnNode {
    let network = |plmn: Plmn| hex(&plmn.0);
    match node {
        GlobalNgRanNodeId::Gnb(gnb) => rnib::XnNode::Gnb(rnib::GlobalGnb {
            plmn_identity: network(gnb.plmn),
            id: digits(gnb.gnb_id),
            kind: GnbType::Gnb.into(),
        }),
        GlobalNgRanNodeId::NgEnb(node) => {
            let (bits, kind) = match node.enb_id {
                NgEnbId::Macro(bits) => (bits, EnbType::MacroEnb),
                NgEnbId::ShortMacro(bits) => (bits, EnbType::ShortMacroEnb),
                NgEnbId::LongMacro(bits) => (bits, EnbType::LongMacroEnb),
            };
            rnib::XnNode::NgEnb(rnib::GlobalNgEnb {
                plmn_identity: network(node.plmn),
                id: digits(bits),
                kind: kind.into(),
            })
        }
    }
}

/// Returns the peer of an X2 interface. If there are two peers, uses the en-gNB, like the E2 manager.
fn x2_peer(x2: &InterfaceX2) -> rnib::InterfaceX2 {
    if let Some(gnb) = &x2.en_gnb {
        let peer = rnib::GlobalEnGnb {
            plmn_identity: hex(&gnb.plmn.0),
            id: digits(gnb.gnb_id),
            kind: GnbType::Gnb.into(),
        };
        return rnib::InterfaceX2 { enb: None, en_gnb: Some(peer) };
    }
    let enb = x2.enb.map(|enb| {
        let (bits, kind) = enb_id(&enb.enb_id);
        rnib::GlobalEnb { plmn_identity: hex(&enb.plmn.0), id: digits(bits), kind: kind.into() }
    });
    rnib::InterfaceX2 { enb, en_gnb: None }
}

/// Returns the description in protobuf's JSON mapping.
pub fn json(info: &NodebInfo) -> Json {
    let id = info.global_nb_id.clone().unwrap_or_default();
    let id = object([("plmnId", text(&id.plmn_id)), ("nbId", text(&id.nb_id))]);
    let mut fields = object([
        ("ranName", text(&info.ran_name)),
        ("connectionStatus", name_of(info.connection_status, &["", "CONNECTED", "DISCONNECTED"])),
        ("globalNbId", Some(id)),
        ("nodeType", name_of(info.node_type, &["", "ENB", "GNB"])),
        ("associatedE2tInstanceAddress", text(&info.associated_e2t_instance_address)),
        ("setupFromNetwork", info.setup_from_network.then(|| true.into())),
        ("statusUpdateTimeStamp", number(info.status_update_time_stamp.into())),
        ("gnbNodeType", text(&info.gnb_node_type)),
        ("cuUpId", text(&info.cu_up_id)),
        ("duId", text(&info.du_id)),
    ]);
    match &info.configuration {
        Some(rnib::Configuration::Gnb(gnb)) => {
            fields["gnb"] = object([
                ("ranFunctions", list(&gnb.ran_functions, function)),
                ("gnbType", name_of(gnb.gnb_type, GNB_TYPES)),
                ("nodeConfigs", list(&gnb.node_configs, node_config)),
            ]);
        }
        Some(rnib::Configuration::Enb(enb)) => {
            fields["enb"] = object([
                ("enbType", name_of(enb.enb_type, ENB_TYPES)),
                ("nodeConfigs", list(&enb.node_configs, node_config)),
            ]);
        }
        None => {}
    }
    fields
}

const GNB_TYPES: &[&str] = &["", "GNB", "EN_GNB"];
const ENB_TYPES: &[&str] = &[
    "",
    "MACRO_ENB",
    "HOME_ENB",
    "SHORT_MACRO_ENB",
    "LONG_MACRO_ENB",
    "MACRO_NG_ENB",
    "SHORT_MACRO_NG_ENB",
    "LONG_MACRO_NG_ENB",
];
/// Names of `E2nodeComponentInterfaceType`, by number. The name of the default, number 0, is never written.
const INTERFACES: &[&str] = &["", "xn", "e1", "f1", "", "w1", "s1", "x2"];

fn object<const N: usize>(fields: [(&str, Option<Json>); N]) -> Json {
    let present = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Json::Object(present.collect::<Map<_, _>>())
}

fn text(value: &str) -> Option<Json> {
    (!value.is_empty()).then(|| value.into())
}

/// Returns a 64-bit number, which is a string in protobuf's JSON.
fn number(value: i128) -> Option<Json> {
    (value != 0).then(|| value.to_string().into())
}

fn name_of(value: i32, names: &[&str]) -> Option<Json> {
    text(usize::try_from(value).ok().and_then(|at| names.get(at)).copied().unwrap_or_default())
}

fn list<T>(items: &[T], item: impl Fn(&T) -> Json) -> Option<Json> {
    (!items.is_empty()).then(|| items.iter().map(item).collect())
}

fn function(function: &RanFunction) -> Json {
    let number = |value: u32| (value != 0).then(|| value.into());
    object([
        ("ranFunctionId", number(function.id)),
        ("ranFunctionDefinition", text(&function.definition)),
        ("ranFunctionRevision", number(function.revision)),
        ("ranFunctionOid", text(&function.oid)),
    ])
}

fn node_config(config: &rnib::ComponentConfig) -> Json {
    use rnib::ComponentId as Id;
    let bytes = |part: &[u8]| text(&base64(part));
    let mut fields = object([
        ("e2nodeComponentInterfaceType", name_of(config.interface, INTERFACES)),
        ("e2nodeComponentRequestPart", bytes(&config.request_part)),
        ("e2nodeComponentResponsePart", bytes(&config.response_part)),
    ]);
    let Some(id) = &config.id else { return fields };
    let (kind, id) = match id {
        Id::Ng(ng) => ("NG", object([("amfName", text(&ng.amf_name))])),
        Id::Xn(xn) => ("Xn", xn.node.as_ref().map_or_else(|| object([]), xn_json)),
        Id::E1(e1) => ("E1", object([("gNBCuCpId", number(e1.cu_cp_id.into()))])),
        Id::F1(f1) => ("F1", object([("gNBDuId", number(f1.du_id.into()))])),
        Id::W1(w1) => ("W1", object([("ngenbDuId", number(w1.du_id.into()))])),
        Id::S1(s1) => ("S1", object([("mmeName", text(&s1.mme_name))])),
        Id::X2(x2) => {
            let enb = x2.enb.as_ref().map(|it| enb_json(&it.plmn_identity, &it.id, it.kind));
            let gnb = x2.en_gnb.as_ref().map(|it| gnb_json(&it.plmn_identity, &it.id, it.kind));
            ("X2", object([("globalEnbId", enb), ("globalEngnbId", gnb)]))
        }
    };
    fields[format!("e2nodeComponentInterfaceType{kind}")] = id;
    fields
}

fn xn_json(node: &rnib::XnNode) -> Json {
    match node {
        rnib::XnNode::Gnb(it) => {
            object([("globalGnbId", Some(gnb_json(&it.plmn_identity, &it.id, it.kind)))])
        }
        rnib::XnNode::NgEnb(it) => {
            object([("globalNgenbId", Some(enb_json(&it.plmn_identity, &it.id, it.kind)))])
        }
    }
}

fn enb_json(plmn: &str, id: &str, kind: i32) -> Json {
    object([("plmnIdentity", text(plmn)), ("enbId", text(id)), ("enbType", name_of(kind, ENB_TYPES))])
}

fn gnb_json(plmn: &str, id: &str, kind: i32) -> Json {
    object([("plmnIdentity", text(plmn)), ("gnbId", text(id)), ("gnbType", name_of(kind, GNB_TYPES))])
}

#[cfg(test)]
#[path = "nodeb_tests.rs"]
mod tests;
