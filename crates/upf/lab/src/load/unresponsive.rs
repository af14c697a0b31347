//! Detects times in which a UPF does not respond to requests.
use ranlab_machine::Time;
use ranlab_upf::pfcp::message_type;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Minimum duration of a silence that is reported after it has ended.
const LEAST: Duration = Duration::from_secs(1);

/// A time without messages from the UPF.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Unresponsive {
    /// Time of the first unanswered request, in seconds since the start of the run.
    pub at_s: f64,
    /// Duration of the silence, in seconds.
    pub for_s: f64,
    /// Whether the UPF responded again.
    pub ended: bool,
}

impl Unresponsive {
    /// Returns the more important of two silences: one that has not ended, then the longer one.
    pub(super) fn worse(self, other: Self) -> Self {
        let key = |one: &Self| (!one.ended, one.for_s);
        if key(&other) > key(&self) { other } else { self }
    }
}

impl fmt::Display for Unresponsive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_s, for_s, ended } = self;
        if *ended {
            write!(f, "the UPF sent nothing for {for_s:.2} s from {at_s:.2} s on")
        } else {
            write!(f, "the UPF stopped answering {at_s:.2} s into the run")
        }
    }
}

/// Requests and messages at one socket.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResponseWatch {
    /// Time of the first request since the last message from the UPF.
    asked: Option<Time>,
    /// The longest time from a request to the next message, with the time of the request.
    longest: Option<(Duration, Time)>,
}

impl ResponseWatch {
    /// Records a message that is sent. Responses do not count as requests. Releases do not count either, because some UPFs do not answer
    /// them.
    pub(super) fn sends(&mut self, now: Time, datagram: &[u8]) {
        use message_type::*;
        let asks = [
            HEARTBEAT_REQUEST,
            SESSION_ESTABLISHMENT_REQUEST,
            SESSION_MODIFICATION_REQUEST,
            SESSION_DELETION_REQUEST,
        ];
        if datagram.get(1).is_some_and(|kind| asks.contains(kind)) {
            self.asked.get_or_insert(now);
        }
    }

    /// Records a message from the UPF.
    pub(super) fn hears(&mut self, now: Time) {
        if let Some(requested_at) = self.asked.take() {
            self.longest = self.longest.max(Some((now.since(requested_at), requested_at)));
        }
    }

    /// Returns the silence to report. This is the current silence if it is longer than a request's timeout, otherwise the longest one.
    pub(super) fn unresponsive_for(
        &self,
        now: Time,
        begin: Time,
        patience: Duration,
    ) -> Option<Unresponsive> {
        let outage = |(length, requested_at): (Duration, Time), ended| Unresponsive {
            at_s: requested_at.since(begin).as_secs_f64(),
            for_s: length.as_secs_f64(),
            ended,
        };
        let lasts = self.asked.map(|requested_at| (now.since(requested_at), requested_at));
        let lasts = lasts.filter(|(length, _)| *length >= patience).map(|silence| outage(silence, false));
        lasts.or_else(|| {
            self.longest.filter(|(length, _)| *length >= LEAST).map(|silence| outage(silence, true))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn silence_is_worse_if_it_has_not_ended_or_is_longer() {
        let silence = |for_s, ended| Unresponsive { at_s: 1.0, for_s, ended };
        let short = silence(1.0, true);
        let long = silence(9.0, true);
        let lasts = silence(2.0, false);
        assert_eq!([short.worse(long), long.worse(short)], [long; 2]);
        assert_eq!([lasts.worse(long), long.worse(lasts)], [lasts; 2]);
    }

    #[test]
    fn silence_begins_with_request_and_ends_with_any_message() {
        let ask = [0x21, 50];
        let patience = LEAST / 2;
        let mut hearing = ResponseWatch::default();
        let outage = |hearing: &ResponseWatch, now| hearing.unresponsive_for(at(now), at(1_000), patience);
        hearing.sends(at(1_000), &[0x20, message_type::HEARTBEAT_RESPONSE]);
        hearing.sends(at(1_000), &[0x20, message_type::ASSOCIATION_RELEASE_REQUEST]);
        assert_eq!(outage(&hearing, 60_000), None, "no request was sent");
        hearing.sends(at(2_000), &ask);
        hearing.sends(at(2_900), &ask);
        hearing.hears(at(2_999));
        assert_eq!(outage(&hearing, 60_000), None, "the UPF is slow, not silent");
        hearing.sends(at(3_000), &ask);
        assert_eq!(outage(&hearing, 3_400), None);
        assert_eq!(outage(&hearing, 3_500), Some(Unresponsive { at_s: 2.0, for_s: 0.5, ended: false }));
        hearing.hears(at(13_000));
        assert_eq!(outage(&hearing, 60_000), Some(Unresponsive { at_s: 2.0, for_s: 10.0, ended: true }));
        hearing.sends(at(14_000), &ask);
        hearing.hears(at(15_000));
        assert_eq!(
            outage(&hearing, 60_000).map(|silence| silence.for_s),
            Some(10.0),
            "the longest silence is reported"
        );
    }
}
