//! Decoding state of a base station: its RAN functions, subscriptions and time stamps.
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

/// Maximum number of subscriptions per base station. At the limit, the latest subscriptions are kept.
const SUBSCRIPTIONS_MAX: usize = 64;

/// Key of a subscription and one of its actions.
pub(super) type ActionKey = (SubscriptionHandle, RicActionId);

/// Decoding state of a base station.
#[derive(Default)]
pub(super) struct Node {
    pub(super) functions: Vec<Function>,
    subscriptions: VecDeque<Subscription>,
    /// Time stamp statistics of subscriptions that were removed.
    before: Times,
}

/// An indication with encoded contents.
pub(super) struct Report<'a> {
    pub(super) of: ActionKey,
    pub(super) header: &'a Bytes,
    pub(super) message: &'a Bytes,
    pub(super) received_us: i64,
}

/// A subscription whose reports are decoded.
pub(super) struct Subscription {
    of: ActionKey,
    /// Action definition of the subscription, empty if it has none.
    pub(super) action: Bytes,
    timing: Timing,
    /// Coarsest resolution of the time stamps so far, in microseconds.
    step_us: i64,
    /// Hash of the latest message, if there was one.
    latest: Option<u64>,
    /// Number of reports with the same values as the previous report.
    unchanged: u64,
}

/// A RAN function whose model is watched.
pub(super) struct Function {
    pub(super) id: RanFunctionId,
    pub(super) model: ModelIndex,
    definition: Bytes,
    /// ASN.1 text encoding that the base station uses.
    text: Cell<Text>,
}

/// Statistics of time stamps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Number of missing reports, derived from the time stamps of the others.
    pub missing: u64,
    /// Number of reports with the same values as the previous report. A possible reason is a requested period that is
    /// shorter than the base station's internal period.
    pub unchanged: u64,
    /// Longest interval between the time stamps of two successive reports, in microseconds.
    pub longest_pause_us: i64,
    /// Coarsest resolution of time stamps, in microseconds. With 1,000,000 (whole seconds) no age can be computed.
    pub step_us: i64,
}

impl Node {
    pub(super) fn new(functions: Vec<Function>) -> Self {
        Self { functions, ..Self::default() }
    }

    /// Adds a subscription, unless it is known.
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

    /// Returns a function and one of its subscriptions.
    pub(super) fn find(
        &mut self,
        function: RanFunctionId,
        of: ActionKey,
    ) -> Option<(&Function, &mut Subscription)> {
        let function = self.functions.iter().find(|it| it.id == function)?;
        let subscription = self.subscriptions.iter_mut().find(|it| it.of == of)?;
        Some((function, subscription))
    }

    /// Returns the time stamp statistics of all subscriptions.
    pub(super) fn times(&self) -> Times {
        self.subscriptions.iter().fold(self.before, Times::with)
    }
}

impl Function {
    pub(super) fn new(id: RanFunctionId, model: ModelIndex, definition: Bytes) -> Self {
        Self { id, model, definition, text: Cell::new(Text::default()) }
    }

    /// Returns the context for decoding a subscription's reports.
    pub(super) fn context(&self, action: &Bytes) -> Context {
        let mut context = Context::new(self.definition.clone(), action.clone());
        context.text = self.text.get();
        context
    }

    /// Records the ASN.1 text encoding that the node uses, as detected in its messages.
    pub(super) fn learn_text(&self, node: &GlobalE2NodeId, model: &dyn Model, text: Text) {
        if self.text.replace(text) != text {
            tracing::info!(%node, model = model.name(), "reports follow {text}");
        }
    }
}

impl Subscription {
    /// Decodes the time stamp of a report.
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

    /// Returns the sum of two statistics.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            missing: self.missing + other.missing,
            unchanged: self.unchanged + other.unchanged,
            longest_pause_us: self.longest_pause_us.max(other.longest_pause_us),
            step_us: self.step_us.max(other.step_us),
        }
    }
}
