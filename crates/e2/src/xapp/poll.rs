//! FlexRIC's dialect: the setup, repeated to learn of nodes that came or went, and to wake a RIC that sleeps.
//!
//! FlexRIC reads one message each time that octets come. Where those of two xApps come together, one message stays unread
//! until something more comes, and from then on one message always does. So a request without an answer is pushed by a
//! setup, which then is the unread one itself; the next request makes the RIC read it, and is pushed at once.
use super::*;

/// When the setup is repeated. Each repetition costs the RIC an xApp id, so they become rare while nothing changes, and
/// end some time.
#[derive(Debug, Default)]
pub(super) struct Poll {
    at: Option<Time>,
    delay: Duration,
    left: u32,
    /// The setup was repeated; until when nothing else is asked, unless its answer comes.
    unanswered: Option<Time>,
    /// While a request is unanswered: when it is pushed.
    push_at: Option<Time>,
    /// A setup that pushed a request lies unread, as far as can be known.
    behind: bool,
    /// It did so when the request was made.
    was_behind: bool,
    /// Nodes that come are of no interest any more.
    retired: bool,
}

impl Poll {
    /// The first setup was answered.
    pub(super) fn begin(&mut self, now: Time, config: &XappConfig) {
        *self = Self { left: config.limits.node_polls, ..Self::default() };
        self.listed(now, config, true);
    }

    /// One more list of nodes, before all that is subscribed is deleted: a deletion for a node that is gone ends FlexRIC.
    pub(super) fn retire(&mut self, now: Time) {
        (self.retired, self.at) = (true, Some(now));
    }

    /// Something was asked of the RIC.
    pub(super) fn asked(&mut self, now: Time, config: &XappConfig) {
        self.was_behind = self.behind;
        self.push_at = Some(now + self.patience(config));
    }

    /// How long a request may be unanswered before it is pushed: who leaves has little time, and no use for ids any more.
    fn patience(&self, config: &XappConfig) -> Duration {
        if self.retired { config.timers.leaving_push } else { config.timers.node_poll }
    }

    /// The RIC listed its nodes; `news`: others than before.
    pub(super) fn listed(&mut self, now: Time, config: &XappConfig, news: bool) {
        if std::mem::take(&mut self.behind) && std::mem::take(&mut self.was_behind) {
            // The request's octets made the RIC read this setup rather than the request.
            self.push_at = Some(now);
        }
        let (first, most) = (config.timers.node_poll, config.timers.node_poll_max);
        self.delay = if news { first } else { self.delay.saturating_mul(2).min(most) };
        self.unanswered = None;
        self.at = (!self.retired).then_some(now + self.delay);
    }

    /// Whether the setup is to be repeated now; if so, it is under way. `owed`: a request is unanswered.
    pub(super) fn take_due(&mut self, now: Time, config: &XappConfig, owed: bool) -> bool {
        if self.next(owed).is_none_or(|at| at > now) {
            return false;
        }
        self.left -= 1;
        if owed {
            self.push_at = Some(now + self.patience(config));
            self.behind = true;
        } else {
            self.at = None;
            let wait = if self.retired { config.timers.node_poll } else { config.timers.setup_timeout };
            self.unanswered = Some(now + wait);
        }
        true
    }

    fn next(&self, owed: bool) -> Option<Time> {
        let at = if owed { self.push_at } else { self.at.filter(|_| self.unanswered.is_none()) };
        at.filter(|_| self.left > 0)
    }

    /// Gives up waiting for an answer; another attempt follows.
    pub(super) fn expire(&mut self, now: Time, config: &XappConfig) {
        if self.unanswered.is_some_and(|until| until <= now) {
            self.listed(now, config, false);
        }
    }

    /// Whether nothing else is to be asked now.
    pub(super) fn is_under_way(&self) -> bool {
        self.unanswered.is_some()
    }

    /// When it wants to be looked at.
    pub(super) fn wake_at(&self, owed: bool) -> Option<Time> {
        self.unanswered.into_iter().chain(self.next(owed)).min()
    }
}
