//! An iApp that requests one report stream of every node, while nodes fail and restart.
use crate::tracer_function::trigger;
use ranlab_e2::Time;
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, NodeInfo, SubscriptionHandle};
use ranlab_e2_codec::e2ap::{ActionToBeSetup, GlobalE2NodeId, RanFunctionId, RicSubscriptionDetails};
use std::collections::BTreeMap;
use std::time::Duration;

const RETRY: Duration = Duration::from_millis(700);

/// iApp that subscribes at every node that connects.
#[derive(Debug)]
pub struct Watcher {
    oid: String,
    period_ms: u32,
    tag: u32,
    nodes: BTreeMap<GlobalE2NodeId, (RanFunctionId, Option<SubscriptionHandle>)>,
}

impl Watcher {
    /// Creates an iApp that requests the reports of the tracer function `oid`.
    pub fn new(oid: &str, period_ms: u32, tag: u32) -> Self {
        Self { oid: oid.to_owned(), period_ms, tag, nodes: BTreeMap::new() }
    }

    fn subscribe(&mut self, out: &mut IAppOutbox) {
        for (node, (function, handle)) in &mut self.nodes {
            let details = || RicSubscriptionDetails {
                event_trigger: trigger(self.period_ms, self.tag),
                actions: vec![ActionToBeSetup::report(0)],
            };
            handle.get_or_insert_with(|| out.subscribe(*node, *function, details()));
        }
    }

    fn node(&mut self, node: &NodeInfo, out: &mut IAppOutbox) {
        if let Some(function) = node.function_by_oid(&self.oid) {
            self.nodes.entry(node.id).or_insert((function.id, None)).0 = function.id;
            self.subscribe(out);
        }
    }
}

impl IApp for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }

    fn handle(&mut self, now: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        match input {
            IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) => self.node(node, out),
            IAppInput::NodeRemoved(node) => {
                self.nodes.remove(&node.id);
            }
            IAppInput::SubscriptionFailed { subscription, .. }
            | IAppInput::SubscriptionEnded { subscription, .. } => {
                let mut ended = self.nodes.values_mut().filter(|(_, h)| *h == Some(subscription));
                if let Some((_, handle)) = ended.next() {
                    *handle = None;
                    out.wake_at(now + RETRY, 0);
                }
            }
            IAppInput::Timer(_) => self.subscribe(out),
            _ => {}
        }
    }
}
