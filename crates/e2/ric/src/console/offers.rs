//! Capabilities of nodes: report styles with measurements, control actions, structures.
use ranlab_e2::ric::NodeInfo;
use ranlab_e2_codec::e2ap::RanFunctionItem;
use ranlab_e2_codec::e2sm::{Offer, by_oid};
use serde_json::{Value as Json, json};

/// Returns the capabilities of several nodes.
pub(super) fn all<'a>(nodes: impl Iterator<Item = &'a NodeInfo>) -> Json {
    json!({ "nodes": nodes.map(one).collect::<Vec<_>>() })
}

/// Returns the capabilities of a node, by RAN function.
pub(super) fn one(node: &NodeInfo) -> Json {
    json!({
        "id": node.id.to_string(),
        "functions": node.functions.iter().map(function).collect::<Vec<_>>(),
    })
}

fn function(function: &RanFunctionItem) -> Json {
    let model = function.oid.as_deref().and_then(by_oid);
    let offers = model.map(|model| model.offers(&function.definition));
    let mut json = json!({ "id": function.id, "oid": function.oid, "sm": model.map(|model| model.name()) });
    match offers {
        Some(Ok(offers)) => json["offers"] = offers.iter().map(offer).collect(),
        Some(Err(error)) => json["malformed"] = error.to_string().into(),
        None => {}
    }
    json
}

fn offer(offer: &Offer) -> Json {
    json!({ "kind": offer.kind, "number": offer.number, "name": offer.name, "items": offer.items })
}
