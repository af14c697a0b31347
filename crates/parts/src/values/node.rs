//! What is known of a base station whose reports are read: its functions, its subscriptions, its time stamps.
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use ranlab_sdk::Bytes;
use ranlab_sdk::e2::xapp::SubscriptionHandle;
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, RanFunctionId, RicActionId};
use ranlab_sdk::wire::e2sm::per::Text;
use ranlab_sdk::wire::e2sm::{Context, Encoding, Model, ReportTime, Stamp, Timing};
use serde::Serialize;

use super::ModelIndex;

/// Subscriptions known of each base station, the latest ones.
const SUBSCRIPTIONS_MAX: usize = 64;

/// A subscription and one of its actions.
pub(super) type ActionKey = (SubscriptionHandle, RicActionId);

/// A base station.
#[derive(Default)]
pub(super) struct Node {
    pub(super) functions: Vec<Function>,
    subscriptions: VecDeque<Subscription>,
    /// What was counted of subscriptions that are not known any more.
    before: Times,
}

/// An indication, as it arrived.
pub(super) struct Report<'a> {
    pub(super) of: ActionKey,
    pub(super) header: &'a Bytes,
    pub(super) message: &'a Bytes,
    pub(super) received_us: i64,
}

/// A subscription whose reports are read.
pub(super) struct Subscription {
    of: ActionKey,
    /// Action definition; empty if it has none.
    pub(super) action: Bytes,
    timing: Timing,
    /// Coarsest step of the time stamps, microseconds.
    step_us: i64,
    /// Hash of the latest message.
    latest: Option<u64>,
    /// Reports whose values are those of the report before.
    unchanged: u64,
}

/// A RAN function whose model is watched.
pub(super) struct Function {
    pub(super) id: RanFunctionId,
    pub(super) model: ModelIndex,
    definition: Bytes,
    /// ASN.1 text of the node.
    text: Cell<Text>,
}

/// What the time stamps of reports have shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Reports missing between others, by their time stamps.
    pub missing: u64,
    /// Reports whose values are those of the report before: the period may be shorter than the node's own.
    pub unchanged: u64,
    /// Longest time between the stamps of two reports in a row, microseconds.
    pub longest_pause_us: i64,
    /// Coarsest step of time stamps, microseconds; 1,000,000 for whole seconds, from which no age follows.
    pub step_us: i64,
}

impl Node {
    pub(super) fn new(functions: Vec<Function>) -> Self {
        Self { functions, ..Self::default() }
    }

    /// Adds a subscription unless it is known.
    pub(super) fn add_subscription(&mut self, of: ActionKey, action: impl FnOnce() -> Option<Bytes>) {
        if self.subscriptions.iter().any(|it| it.of == of) {
            return;
        }
        if self.subscriptions.len() >= SUBSCRIPTIONS_MAX
            && let Some(oldest) = self.subscriptions.pop_front()
        {
            self.before = self.before.with(&oldest);
        }
        self.subscriptions.push_back(Subscription {
            of,
            action: action().unwrap_or_default(),
            timing: Timing::default(),
            step_us: 1,
            latest: None,
            unchanged: 0,
        });
    }

    /// A function, and a subscription of it.
    pub(super) fn find(
        &mut self,
        function: RanFunctionId,
        of: ActionKey,
    ) -> Option<(&Function, &mut Subscription)> {
        let function = self.functions.iter().find(|it| it.id == function)?;
        let subscription = self.subscriptions.iter_mut().find(|it| it.of == of)?;
        Some((function, subscription))
    }

    /// What the time stamps of all subscriptions have shown.
    pub(super) fn times(&self) -> Times {
        self.subscriptions.iter().fold(self.before, Times::with)
    }
}

impl Function {
    pub(super) fn new(id: RanFunctionId, model: ModelIndex, definition: Bytes) -> Self {
        Self { id, model, definition, text: Cell::new(Text::default()) }
    }

    /// What is known for reading a report of a subscription.
    pub(super) fn context(&self, action: &Bytes) -> Context {
        let mut context = Context::new(self.definition.clone(), action.clone());
        context.text = self.text.get();
        context
    }

    /// Messages have shown the text that the node writes.
    pub(super) fn learn_text(&self, node: &GlobalE2NodeId, model: &dyn Model, text: Text) {
        if self.text.replace(text) != text {
            tracing::info!(%node, model = model.name(), "reports follow {text}");
        }
    }
}

impl Subscription {
    /// Reads the time stamp of a report.
    pub(super) fn stamp(
        &mut self,
        mut context: Context,
        model: &dyn Model,
        encoding: Encoding,
        report: &Report<'_>,
    ) -> Option<(Stamp, ReportTime)> {
        let stamp = model.stamp(encoding, &mut context, report.header, report.message)?;
        self.step_us = self.step_us.max(stamp.step_us);
        if stamp.is_start {
            let mut hasher = DefaultHasher::new();
            report.message.hash(&mut hasher);
            let hash = hasher.finish();
            self.unchanged += u64::from(self.latest.replace(hash) == Some(hash));
        }
        Some((stamp, self.timing.add(stamp, report.received_us)))
    }
}

impl Times {
    fn with(self, subscription: &Subscription) -> Self {
        let Subscription { timing, step_us, unchanged, .. } = subscription;
        self.and(Self {
            missing: timing.missing(),
            unchanged: *unchanged,
            longest_pause_us: timing.longest_pause_us(),
            step_us: *step_us,
        })
    }

    /// Of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            missing: self.missing + other.missing,
            unchanged: self.unchanged + other.unchanged,
            longest_pause_us: self.longest_pause_us.max(other.longest_pause_us),
            step_us: self.step_us.max(other.step_us),
        }
    }
}
