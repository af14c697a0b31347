//! FlexRIC's dialect: repeated setups, which discover nodes and make a stalled RIC read its socket.
//!
//! FlexRIC reads one message per receive event. If messages of two xApps arrive together, one of them stays unread
//! until more data arrives, and from then on one message is always behind. Therefore the xApp sends a setup if a
//! request gets no response. The RIC then reads the request, and the setup stays unread instead. The next request
//! makes the RIC read that setup, so the xApp sends another setup immediately.
use super::*;

/// Schedule of the repeated setups. Each one uses up an xApp id, so they become rarer while nothing changes and
/// finally stop.
#[derive(Debug, Default)]
pub(super) struct Poll {
    at: Option<Time>,
    delay: Duration,
    left: u32,
    /// Deadline of the response to a repeated setup. No other request is sent before.
    unanswered: Option<Time>,
    /// Time of the next setup that makes the RIC read an outstanding request.
    push_at: Option<Time>,
    /// Whether a setup that was sent for this purpose is probably still unread by the RIC.
    behind: bool,
    /// Value of `behind` when the request was sent.
    was_behind: bool,
    /// Whether new nodes are no longer of interest.
    retired: bool,
}

impl Poll {
    /// Starts the schedule after the response to the first setup.
    pub(super) fn begin(&mut self, now: Time, config: &XappConfig) {
        *self = Self { left: config.limits.node_polls, ..Self::default() };
        self.listed(now, config, true);
    }

    /// Requests one more list of nodes before all subscriptions are deleted, because a deletion for a removed node
    /// crashes FlexRIC.
    pub(super) fn retire(&mut self, now: Time) {
        (self.retired, self.at) = (true, Some(now));
    }

    /// Records that a request was sent.
    pub(super) fn on_request_sent(&mut self, now: Time, config: &XappConfig) {
        self.was_behind = self.behind;
        self.push_at = Some(now + self.patience(config));
    }

    /// Returns the time to wait before a setup follows a request. It is short for an xApp that is leaving, because it
    /// needs no further ids.
    fn patience(&self, config: &XappConfig) -> Duration {
        if self.retired { config.timers.leaving_push } else { config.timers.node_poll }
    }

    /// Records a list of nodes; `news` means that it differs from the previous one.
    pub(super) fn listed(&mut self, now: Time, config: &XappConfig, news: bool) {
        if std::mem::take(&mut self.behind) && std::mem::take(&mut self.was_behind) {
            // The bytes of the request made the RIC read this setup instead of the request.
            self.push_at = Some(now);
        }
        let first = config.timers.node_poll;
        let most = config.timers.node_poll_max;
        self.delay = if news { first } else { self.delay.saturating_mul(2).min(most) };
        self.unanswered = None;
        self.at = (!self.retired).then_some(now + self.delay);
    }

    /// Returns whether to repeat the setup now, and records it as sent. `owed` means that a request has no response
    /// yet.
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

    /// Stops waiting for a response after its deadline.
    pub(super) fn expire(&mut self, now: Time, config: &XappConfig) {
        if self.unanswered.is_some_and(|until| until <= now) {
            self.listed(now, config, false);
        }
    }

    /// Returns whether a repeated setup is outstanding, so that no other request may be sent.
    pub(super) fn is_under_way(&self) -> bool {
        self.unanswered.is_some()
    }

    /// Returns the next deadline.
    pub(super) fn wake_at(&self, owed: bool) -> Option<Time> {
        self.unanswered.into_iter().chain(self.next(owed)).min()
    }
}
