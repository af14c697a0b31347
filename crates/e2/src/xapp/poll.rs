//! FlexRIC's dialect: the setup, repeated to learn of nodes that came or went.
use super::*;

/// When the setup is repeated. Each repetition costs the RIC an xApp id, so they become rare while nothing changes, and
/// end some time.
#[derive(Debug, Default)]
pub(super) struct Poll {
    at: Option<Time>,
    delay: Duration,
    left: u32,
    /// The setup was repeated; until when its answer is waited for.
    unanswered: Option<Time>,
}

impl Poll {
    /// The first setup was answered.
    pub(super) fn begin(&mut self, now: Time, config: &XappConfig) {
        *self = Self { left: config.limits.node_polls, ..Self::default() };
        self.listed(now, config, true);
    }

    /// The RIC listed its nodes; `news`: others than before.
    pub(super) fn listed(&mut self, now: Time, config: &XappConfig, news: bool) {
        let (first, most) = (config.timers.node_poll, config.timers.node_poll_max);
        self.delay = if news { first } else { self.delay.saturating_mul(2).min(most) };
        self.unanswered = None;
        self.at = (self.left > 0).then_some(now + self.delay);
    }

    /// Whether the setup is to be repeated now; if so, it is under way.
    pub(super) fn take_due(&mut self, now: Time, config: &XappConfig) -> bool {
        let due = self.at.is_some_and(|at| at <= now);
        if due {
            (self.at, self.left) = (None, self.left - 1);
            self.unanswered = Some(now + config.timers.setup_timeout);
        }
        due
    }

    /// Gives up waiting for an answer; another attempt follows.
    pub(super) fn expire(&mut self, now: Time, config: &XappConfig) {
        if self.unanswered.is_some_and(|until| until <= now) {
            self.listed(now, config, false);
        }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.unanswered.is_some()
    }

    /// When it wants to be looked at; it has its turn only while nothing else is asked.
    pub(super) fn wake_at(&self, has_turn: bool) -> Option<Time> {
        self.unanswered.or(self.at.filter(|_| has_turn))
    }
}
