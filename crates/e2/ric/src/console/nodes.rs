//! Northbound view of base stations.
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{Hint, NodeSnapshot, RanInfo, RicSnapshot, SubscriptionSnapshot};
use ranlab_e2_codec::e2ap::{EnbId, GlobalE2NodeId, NgEnbId, RanFunctionItem};
use ranlab_e2_codec::e2sm::{Encoding, Octets, by_oid, ccc};
use ranlab_e2_codec::per::ShortBits;
use ranlab_e2_codec::rnib::GlobalNbId;
use serde_json::{Value as Json, json};

/// Number of periods without a report after which a subscription is shown as silent.
const SILENT_PERIODS: u32 = 3;
/// Maximum length of a RAN function name, in characters (E2SM: 150).
const NAME_MAX: usize = 150;
/// Maximum number of optional fields in a RAN function definition (KPM has 2, RC has 5). All numbers are tried, because
/// the length field of the name is correct for only one of them.
const OPTIONALS_MAX: u32 = 8;

/// Returns all nodes with their functions, subscriptions, counters and hints on likely faults.
pub fn nodes(snapshot: &RicSnapshot, now: Time) -> Json {
    let of = |node: &NodeSnapshot| {
        let about = |hint: &&Hint| hint.node == Some(node.info.id);
        let hints: Vec<Json> = snapshot.hints.iter().filter(about).map(|hint| hint_of(hint, now)).collect();
        self::node(node, hints, now)
    };
    let elsewhere = snapshot.hints.iter().filter(|hint| hint.node.is_none());
    json!({
        "nodes": snapshot.nodes.iter().map(of).collect::<Vec<_>>(),
        "base_stations": snapshot.rans.iter().map(base_station).collect::<Vec<_>>(),
        "refused": elsewhere.map(|hint| hint_of(hint, now)).collect::<Vec<_>>(),
    })
}

/// Returns one node in the form of [`nodes`].
pub fn one(node: &NodeSnapshot, hints: &[Hint], now: Time) -> Json {
    let about = hints.iter().filter(|hint| hint.node == Some(node.info.id));
    self::node(node, about.map(|hint| hint_of(hint, now)).collect(), now)
}

fn node(node: &NodeSnapshot, hints: Vec<Json>, now: Time) -> Json {
    let info = &node.info;
    json!({
        "id": info.id.to_string(),
        "inventory_name": inventory_name(&info.id),
        "kind": info.kind.name(),
        "connected": info.connected,
        "since_s": now.since(info.since).as_secs(),
        "e2ap": info.version.to_string(),
        "peer": &*info.peer,
        "functions": info.functions.iter().map(function).collect::<Vec<_>>(),
        "components": info.components.iter().map(|c| c.interface.name()).collect::<Vec<_>>(),
        "subscriptions": node.subscriptions.len(),
        "subscribed": node.subscriptions.iter().map(|s| subscription(s, now)).collect::<Vec<_>>(),
        "counters": {
            "indications": node.subscriptions.iter().map(|s| s.indications).sum::<u64>(),
            "requests": node.requests,
            "procedures": node.procedures,
        },
        "hints": hints,
    })
}

fn function(function: &RanFunctionItem) -> Json {
    let model = function.oid.as_deref().and_then(by_oid);
    json!({
        "id": function.id,
        "oid": function.oid,
        "revision": function.revision,
        "sm": model.map(|model| model.name()),
        "name": name(&function.definition),
    })
}

fn subscription(subscription: &SubscriptionSnapshot, now: Time) -> Json {
    let silent = subscription.period.filter(|_| subscription.state == "active").map(|period| {
        let heard = subscription.heard.map(|heard| now.since(heard));
        heard.is_none_or(|since| since > period.saturating_mul(SILENT_PERIODS))
    });
    json!({
        "function": subscription.function,
        "state": subscription.state,
        "xapps": subscription.xapps.len(),
        "iapps": subscription.iapps,
        "period_ms": subscription.period.map(|period| period.as_millis() as u64),
        "indications": subscription.indications,
        "silent": silent,
    })
}

fn base_station(ran: &RanInfo) -> Json {
    json!({
        "id": ran.id.to_string(),
        "complete": ran.complete,
        "parts": ran.parts.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>(),
    })
}

fn hint_of(hint: &Hint, now: Time) -> Json {
    json!({
        "peer": &*hint.peer,
        "function": hint.function,
        "hint": hint.sentence,
        "times": hint.times,
        "since_s": now.since(hint.last).as_secs(),
    })
}

/// Returns the name of a RAN function from its definition: the short name in a JSON definition, an ASCII definition as
/// a whole, or the short name in the RANfunction-Name of an O-RAN definition.
fn name(definition: &[u8]) -> Option<String> {
    let json =
        || ccc::FunctionDefinition::decode_as(Encoding::Json, &Bytes::copy_from_slice(definition)).ok();
    if let Some(described) = definition.starts_with(b"{").then(json).flatten() {
        return Some(described.name.short_name);
    }
    let printable = |octet: &u8| (b' '..=b'~').contains(octet);
    let text = if definition.iter().all(printable) {
        definition
    } else {
        (0..=OPTIONALS_MAX).find_map(|optionals| {
            // Number of bits before the length field: extension and presence bits of the definition, of the name, and
            // of the string.
            let at = 1 + optionals + 2 + 1;
            let bits = definition.iter().take(4).fold(0u32, |bits, octet| bits << 8 | u32::from(*octet));
            let len = (bits >> (32 - at - 8) & 0xff) as usize + 1;
            let rest = definition.get((at + 8).div_ceil(8) as usize..)?;
            (rest.iter().take_while(|octet| printable(octet)).count() == len).then(|| &rest[..len])
        })?
    };
    let text = text.get(..NAME_MAX.min(text.len()))?;
    (!text.is_empty()).then(|| text.iter().map(|octet| char::from(*octet)).collect())
}

/// Returns the response of O-RAN SC's E2 manager to `/v1/nodeb/states`.
pub fn states(snapshot: &RicSnapshot) -> Json {
    let state = |node: &NodeSnapshot| {
        json!({
            "inventoryName": inventory_name(&node.info.id),
            "globalNbId": shown(&node.info.id),
            "connectionStatus": connection_status(node),
        })
    };
    snapshot.nodes.iter().map(state).collect()
}

fn connection_status(node: &NodeSnapshot) -> &'static str {
    if node.info.connected { "CONNECTED" } else { "DISCONNECTED" }
}

/// Returns a base station's identity in O-RAN SC's notation: PLMN bytes as hexadecimal digits, and the
/// identity bits.
pub fn global_nb_id(id: &GlobalE2NodeId) -> GlobalNbId {
    let (_, bits) = kind_and_bits(id);
    let bit = |bit: u8| char::from(b'0' + (bits.value >> bit & 1) as u8);
    let plmn_id = id.plmn().0.iter().map(|byte| format!("{byte:02X}")).collect();
    GlobalNbId { plmn_id, nb_id: (0..bits.len_bits).rev().map(bit).collect() }
}

fn shown(id: &GlobalE2NodeId) -> Json {
    let id = global_nb_id(id);
    json!({ "plmnId": id.plmn_id, "nbId": id.nb_id })
}

/// Returns whether O-RAN SC's E2 manager treats a node as an LTE base station.
pub fn is_enb(id: &GlobalE2NodeId) -> bool {
    matches!(id, GlobalE2NodeId::NgEnb(_) | GlobalE2NodeId::Enb(_))
}

/// Returns the prefix of O-RAN SC's node names and the identity bits of the base station.
fn kind_and_bits(id: &GlobalE2NodeId) -> (&'static str, ShortBits) {
    match id {
        GlobalE2NodeId::Gnb(gnb) => match (gnb.cu_up_id, gnb.du_id) {
            (Some(_), None) => ("gnbc", gnb.gnb.gnb_id),
            (None, Some(_)) => ("gnbd", gnb.gnb.gnb_id),
            _ => ("gnb", gnb.gnb.gnb_id),
        },
        GlobalE2NodeId::EnGnb(gnb) => ("en_gnb", gnb.en_gnb.gnb_id),
        GlobalE2NodeId::NgEnb(node) => match node.ng_enb.enb_id {
            NgEnbId::Macro(bits) => ("ng_enB_macro", bits),
            NgEnbId::ShortMacro(bits) => ("ng_enB_shortmacro", bits),
            NgEnbId::LongMacro(bits) => ("ng_enB_longmacro", bits),
        },
        GlobalE2NodeId::Enb(node) => match node.enb.enb_id {
            EnbId::Macro(bits) => ("enB_macro", bits),
            EnbId::Home(bits) => ("enB_home", bits),
            EnbId::ShortMacro(bits) => ("enB_shortmacro", bits),
            EnbId::LongMacro(bits) => ("enB_longmacro", bits),
        },
    }
}

/// Returns the name that O-RAN SC's E2 termination gives a node, e.g. `gnb_505_001_00000001` or
/// `gnbd_505_001_00000001_1f`: two hexadecimal digits per byte of the identity, then CU-UP or DU id. E2 termination
/// shortens the part before the identity to 19 characters (`ng_enB_macro_505_00_000001`), so nodes of different
/// networks can have the same name. The name returned here always contains the whole network.
pub fn inventory_name(id: &GlobalE2NodeId) -> String {
    let network = id.plmn().to_string();
    let (mcc, mnc) = network.split_once('.').unwrap_or((&network, ""));
    let (kind, bits) = kind_and_bits(id);
    let width = usize::from(bits.len_bits).div_ceil(8) * 2;
    let part = match (id, id.part_ids()) {
        (GlobalE2NodeId::Gnb(_), (Some(id), None) | (None, Some(id))) => format!("_{id:x}"),
        _ => String::new(),
    };
    format!("{kind}_{mcc}_{mnc:0>3}_{:0width$x}{part}", bits.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2ap::{E2NodeEnb, E2NodeGnb, E2NodeNgEnb, GlobalEnbId, GlobalNgEnbId, Plmn};
    use ranlab_e2_codec::e2sm::ServiceModel;

    #[test]
    fn function_names_come_from_their_definitions() {
        assert_eq!(name(b"MAC_STATS_V0").as_deref(), Some("MAC_STATS_V0"));
        let kpm = b"\x60\x30ORAN-E2SM-KPM\x00\x00\x181.3.6.1.4.1.53148.1.2.2.2\x05\x00KPM Monitor\x08";
        assert_eq!(name(kpm).as_deref(), Some("ORAN-E2SM-KPM"));
        let rc = b"\x7c\x05\x80ORAN-E2SM-RC\x00\x00\x181.3.6.1.4.1.53148.1.1.2.3";
        assert_eq!(name(rc).as_deref(), Some("ORAN-E2SM-RC"));
        let json = ccc::Ccc::DEFINITION;
        assert_eq!(name(json).as_deref(), Some("ORAN-E2SM-CCC"));
        assert_eq!((name(b""), name(&[0, 1, 0x80, 0x41, 0x42])), (None, None));
    }

    #[test]
    fn nodes_have_o_ran_sc_names() {
        let plmn = Plmn::new(1, 1, 2);
        let part = |cu_up_id, du_id| {
            let GlobalE2NodeId::Gnb(gnb) = GlobalE2NodeId::gnb(plmn, 0x19b, 22) else { panic!() };
            GlobalE2NodeId::Gnb(E2NodeGnb { cu_up_id, du_id, ..gnb })
        };
        let enb_id = EnbId::Home(ShortBits::new(0x19b, 28));
        let ng_enb = |enb_id| {
            let ng_enb = GlobalNgEnbId { plmn, enb_id };
            GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id: None })
        };
        let enb = GlobalE2NodeId::Enb(E2NodeEnb { enb: GlobalEnbId { plmn, enb_id } });
        for (id, name) in [
            (GlobalE2NodeId::gnb(plmn, 0x19b, 22), "gnb_001_001_00019b"),
            (GlobalE2NodeId::gnb(plmn, 0x19b, 24), "gnb_001_001_00019b"),
            (GlobalE2NodeId::gnb(plmn, 0x19b, 25), "gnb_001_001_0000019b"),
            (GlobalE2NodeId::gnb(plmn, 0x19b, 32), "gnb_001_001_0000019b"),
            (GlobalE2NodeId::gnb(Plmn::new(310, 410, 3), 0x19c, 22), "gnb_310_410_00019c"),
            (part(None, Some(67)), "gnbd_001_001_00019b_43"),
            (part(Some(68), None), "gnbc_001_001_00019b_44"),
            (part(Some(1), Some(1)), "gnb_001_001_00019b"),
            (enb, "enB_home_001_001_0000019b"),
            (ng_enb(NgEnbId::Macro(ShortBits::new(0x290, 20))), "ng_enB_macro_001_001_000290"),
            (ng_enb(NgEnbId::ShortMacro(ShortBits::new(0x290, 18))), "ng_enB_shortmacro_001_001_000290"),
        ] {
            assert_eq!(inventory_name(&id), name);
        }
        assert_eq!(global_nb_id(&enb).plmn_id, "00F110");
    }
}
