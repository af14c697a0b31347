//! Traffic controller (FlexRIC §6.1.1): RLC and TRAFFIC statistics on a [`Bus`], traffic control by REST.
//!
//! | resource | GET | PUT | DELETE |
//! |---|---|---|---|
//! | `nodes` | all base stations | | |
//! | `nodes/NODE/bearers` | its bearers | | |
//! | `nodes/NODE/bearers/RNTI/RBID` | a bearer | | |
//! | … `/queues/ID` | | adds or changes a queue | deletes it |
//! | … `/filters/ID` | | adds or changes a filter | deletes it |
//! | … `/scheduler`, … `/pacer` | | replaces it | |
//! | … `/stages/pacer`, … `/stages/scheduler` | | loads a signed user module | removes it |
//!
//! On the bus each report is an object with `node`, `sm`, `tstamp_us` and `bearers`, under the subject
//! `ranlab.rlc` or `ranlab.traffic`.
mod northbound;
mod resources;

pub use resources::{
    CodelResource, FilterResource, PacerResource, QueueResource, RateResource, SchedulerResource,
};

use crate::bus::Bus;
use crate::monitor::row;
use crate::northbound::{FaultReply as _, PendingCommands};
use crate::watch::SubscriptionTracker;
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, NorthboundReply};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::rlc::Rlc;
use ranlab_e2_codec::e2sm::traffic::{Traffic as TrafficModel, TrafficIndication};
use ranlab_e2_codec::e2sm::{Column, Encoding, Model, Octets, ServiceModel, SmError};
use ranlab_machine::routes::{Document, Routed};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Routes of this iApp, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: Traffic::ROUTES, details: include_str!("../../openapi/traffic.json") };
/// Name of this iApp, in northbound paths.
pub const NAME: &str = "traffic";
/// Subject of TRAFFIC reports.
pub const TRAFFIC_SUBJECT: &str = "ranlab.traffic";
/// Subject of RLC reports.
pub const RLC_SUBJECT: &str = "ranlab.rlc";

/// Index of the watched service model.
const TRAFFIC: usize = 0;

/// Last TRAFFIC report of a base station; `None` before the first.
#[derive(Debug, Default)]
struct Node {
    report: Option<TrafficIndication>,
    malformed: u64,
}

/// iApp for traffic control.
pub struct Traffic {
    watch: SubscriptionTracker,
    nodes: BTreeMap<GlobalE2NodeId, Node>,
    /// Tokens of the northbound requests with pending controls.
    commands: PendingCommands<u64>,
    rlc_columns: Vec<Column>,
    bus: Box<dyn Bus>,
}

impl Traffic {
    /// Returns a controller that requests reports every `period` and publishes them.
    ///
    /// # Errors
    /// Fails if the service model does not support the period.
    pub fn new(period: Duration, bus: Box<dyn Bus>) -> Result<Self, SmError> {
        let traffic = <TrafficModel as ServiceModel>::periodic(period)?.to_octets(Encoding::Per)?;
        let rlc = Model::periodic(&Rlc, Rlc.encoding(), period)?;
        let watch = SubscriptionTracker::new(vec![(TrafficModel::OID, traffic), (Rlc::OID, rlc)]);
        let nodes = BTreeMap::new();
        let commands = PendingCommands::default();
        Ok(Self { watch, nodes, commands, rlc_columns: Model::columns(&Rlc), bus })
    }

    fn on_indication(&mut self, id: GlobalE2NodeId, model: usize, header: &[u8], message: &[u8]) {
        let message = Bytes::copy_from_slice(message);
        let decoded = if model == TRAFFIC {
            TrafficIndication::decode_as(Encoding::Per, &message).map(|report| {
                let bearers = report.bearers.iter().map(resources::bearer).collect();
                self.publish(TRAFFIC_SUBJECT, &id, report.tstamp_us.into(), bearers);
                self.nodes.entry(id).or_default().report = Some(report);
            })
        } else {
            Rlc.table(Rlc.encoding(), &Bytes::copy_from_slice(header), &message).map(|table| {
                let rows = table.rows().map(|(key, values)| row(&self.rlc_columns, key, values));
                let bearers = rows.collect();
                self.publish(RLC_SUBJECT, &id, table.tstamp_us.into(), bearers);
            })
        };
        if decoded.is_err() {
            self.nodes.entry(id).or_default().malformed += 1;
        }
    }

    fn publish(&mut self, subject: &str, id: &GlobalE2NodeId, tstamp_us: Json, bearers: Json) {
        let sm = subject.rsplit('.').next();
        let message = json!({ "node": id.to_string(), "sm": sm, "tstamp_us": tstamp_us, "bearers": bearers });
        self.bus.publish(subject, message.to_string().into());
    }
}

impl IApp for Traffic {
    fn name(&self) -> &str {
        NAME
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        for (id, _) in self.watch.handle(now, &input, out) {
            self.nodes.entry(id).or_default();
        }
        match input {
            IAppInput::Indication { subscription, indication, .. } => {
                if let Some((id, model)) = self.watch.node_of(subscription) {
                    self.on_indication(id, model, indication.header, indication.message);
                }
            }
            IAppInput::NodeRemoved(node) => {
                self.nodes.remove(&node.id);
            }
            IAppInput::ControlDone { request, outcome } => {
                if let Some((token, ended)) = self.commands.done(request, outcome) {
                    out.reply(match ended {
                        Ok(()) => NorthboundReply { token, status: 200, body: "{}".into() },
                        Err(fault) => fault.reply(token),
                    });
                }
            }
            IAppInput::Northbound(request) => crate::northbound::serve(self, now, request, out),
            _ => {}
        }
    }
}
