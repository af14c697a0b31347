//! Northbound resources of the monitor: an overview, and the latest values of each node.
use super::{MonitorHandle, NodeStats, ReportStats};
use crate::no_such;
use ranlab_e2::ric::{NorthboundReply, NorthboundRequest};
use ranlab_e2_codec::e2sm::common::{JoinedUe, UeJoin};
use ranlab_e2_codec::e2sm::{Column, RowKey, Table, Value};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

impl MonitorHandle {
    /// Returns the reply to a request: a summary of all nodes, all UEs (`ues`), or all values of the node that the path
    /// names (`gnb 505.01 5`).
    pub fn northbound(&self, request: &NorthboundRequest) -> NorthboundReply {
        let nodes = self.snapshot();
        if request.path.is_empty() {
            let nodes: Json = nodes.iter().map(overview).collect();
            return request.reply(200, json!({ "nodes": nodes }).to_string());
        }
        if request.path == "ues" {
            return request.reply(200, json!({ "ues": ues(&nodes) }).to_string());
        }
        match nodes.iter().find(|node| node.node.to_string() == request.path) {
            Some(node) => request.reply(200, values(node).to_string()),
            None => {
                let names: Vec<String> = nodes.iter().map(|node| format!("\"{}\"", node.node)).collect();
                no_such(request, &format!("\"\", \"ues\" and {}", names.join(", ")))
            }
        }
    }
}

/// Column with the whole identity of a row's UE.
const UE_IDS: &str = "ue_ids";

/// Returns the UEs in all latest reports. The identities of a UE at CU-CP, CU-UPs and DUs of a base station are joined.
fn ues(nodes: &[NodeStats]) -> Json {
    let mut join = UeJoin::default();
    for node in nodes {
        for (stats, table) in &node.reports {
            let Some(at) = stats.model.columns().iter().position(|it| it.name == UE_IDS) else { continue };
            for (_, row) in table.rows() {
                if let Some(Value::Text(ids)) = row.get(at) {
                    join.add(&node.node, ids);
                }
            }
        }
    }
    let ue = |ue: JoinedUe| {
        let nodes: Map<_, _> =
            ue.nodes.iter().map(|(node, ids)| (node.to_string(), ids.as_str().into())).collect();
        json!({
            "base_station": ue.base_station.to_string(), "ue": ue.number(), "ids": ue.numbers.to_string(),
            "nodes": nodes,
        })
    };
    join.ues().into_iter().map(ue).collect()
}

fn overview(node: &NodeStats) -> Json {
    let report = |(stats, _): &(ReportStats, Arc<Table>)| {
        json!({
            "model": stats.model.name(), "indications": stats.indications, "malformed": stats.malformed,
            "lost": stats.lost, "missing": stats.missing, "tstamp_us": stats.tstamp_us,
        })
    };
    json!({
        "node": node.node.to_string(),
        "ues": node.ues().len(),
        "reports": node.reports.iter().map(report).collect::<Json>(),
    })
}

fn values(node: &NodeStats) -> Json {
    let models = node.reports.iter().map(|(stats, table)| {
        let columns = stats.model.columns();
        let row = |(key, values): (RowKey, &[Value])| row(&columns, key, values);
        let rows = table.rows().map(row).collect::<Json>();
        (stats.model.name().to_owned(), json!({ "tstamp_us": stats.tstamp_us, "rows": rows }))
    });
    json!({ "node": node.node.to_string(), "models": models.collect::<Map<_, _>>() })
}

/// Formats a row as an object: first the ids in its key (RNTI, bearer, tunnel), then its values.
pub(crate) fn row(columns: &[Column], key: RowKey, values: &[Value]) -> Json {
    let mut row = Map::new();
    let ids = [("rnti", key.ue()), ("rbid", key.bearer().map(u32::from)), ("teid", key.tunnel())];
    row.extend(ids.into_iter().filter_map(|(name, id)| Some((name.to_owned(), id?.into()))));
    row.extend(key.other().map(|(kind, number)| (kind.to_owned(), number.into())));
    let named = columns.iter().zip(values);
    row.extend(named.map(|(column, value)| (column.name.to_string(), number_json(value))));
    Json::Object(row)
}

/// Formats a number; `null` if JSON cannot represent it.
fn number_json(value: &Value) -> Json {
    match value {
        Value::Unsigned(value) => (*value).into(),
        Value::Signed(value) => (*value).into(),
        Value::Text(value) => value.as_ref().into(),
        Value::Double(value) => (*value).into(),
        // Conversion through text avoids digits that the single-precision value does not have.
        Value::Single(value) => value.to_string().parse::<f64>().ok().into(),
    }
}
