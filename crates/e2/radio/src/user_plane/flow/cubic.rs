//! A TCP sender that always has data, with CUBIC (RFC 9438) and selective acknowledgement. All quantities are in segments.

use std::collections::VecDeque;

use crate::user_plane::math::cbrt;

/// Payload of a segment, in bytes.
pub(crate) const SEGMENT_BYTES: u32 = 1448;
/// Size of a segment with IP and TCP headers and the timestamp option, in bytes.
pub(crate) const SEGMENT_IP_BYTES: u32 = 1500;
/// Size of an acknowledgement, in bytes.
pub(crate) const ACK_IP_BYTES: u32 = 52;

const C: f64 = 0.4;
const BETA: f64 = 0.7;
const INITIAL_WINDOW: f64 = 10.0;
/// Number of later acknowledgements after which a segment counts as lost.
const REORDERING: u32 = 3;
/// Minimum retransmission timeout, in µs (as in Linux).
const RTO_MIN_US: u64 = 200_000;
const RTO_FIRST_US: u64 = 1_000_000;
/// Maximum number of segments in a burst, even if the window allows more.
const BURST_MAX: u32 = 256;

#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    window: f64,
    threshold: f64,
    receive_window: f64,
    w_max: f64,
    k: f64,
    /// Window that Reno would have, for the Reno-friendly region.
    reno: f64,
    epoch_us: Option<u64>,
    next: u32,
    flying: u32,
    /// Dropped segments whose loss has not been detected yet, in ascending order.
    lost: VecDeque<u32>,
    recover: u32,
    srtt_us: u64,
    var_us: u64,
    min_rtt_us: u64,
    round: Round,
    last_us: u64,
    backoff: u32,
    pub(crate) reductions: u64,
    pub(crate) timeouts: u64,
}

/// A round trip of slow start, as used by HyStart.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    end: u32,
    samples: u32,
    min_us: u64,
    last_min_us: u64,
}

impl Cubic {
    pub(crate) fn new(receive_window_bytes: u32) -> Self {
        Self {
            window: INITIAL_WINDOW,
            threshold: f64::MAX,
            receive_window: (f64::from(receive_window_bytes) / f64::from(SEGMENT_BYTES)).max(2.0),
            w_max: 0.0,
            k: 0.0,
            reno: 0.0,
            epoch_us: None,
            next: 0,
            flying: 0,
            lost: VecDeque::new(),
            recover: 0,
            srtt_us: 0,
            var_us: 0,
            min_rtt_us: u64::MAX,
            round: Round::default(),
            last_us: 0,
            backoff: 0,
            reductions: 0,
            timeouts: 0,
        }
    }

    /// Returns the segments that may be sent now, and counts them as sent.
    pub(crate) fn send(&mut self, now_us: u64) -> std::ops::Range<u32> {
        let allowed = self.window.min(self.receive_window) as u32;
        let count = allowed.saturating_sub(self.flying).min(BURST_MAX);
        if self.flying == 0 && count > 0 {
            self.last_us = now_us;
        }
        let first = self.next;
        self.next = self.next.wrapping_add(count);
        self.flying += count;
        first..first.wrapping_add(count)
    }

    /// Records that a segment was dropped.
    pub(crate) fn dropped(&mut self, seq: u32) {
        // Queues drop at the tail and the air interface drops in order, so the list is nearly sorted. The insertion
        // keeps it sorted.
        let place = self.lost.partition_point(|other| *other < seq);
        self.lost.insert(place, seq);
    }

    /// Processes an acknowledgement of `count` segments up to `highest`. It belongs to a segment sent at `sent_us`.
    pub(crate) fn acknowledged(&mut self, highest: u32, count: u32, sent_us: u64, now_us: u64) {
        self.flying = self.flying.saturating_sub(count);
        self.last_us = now_us;
        self.backoff = 0;
        self.measure(now_us.saturating_sub(sent_us), highest);
        let mut reduced = false;
        while self.lost.front().is_some_and(|seq| seq.saturating_add(REORDERING) <= highest) {
            let Some(seq) = self.lost.pop_front() else { break };
            // A retransmission counts as a new segment, because the flow always has data.
            self.flying = self.flying.saturating_sub(1);
            if seq >= self.recover {
                self.reduce();
                reduced = true;
            }
        }
        if !reduced && highest >= self.recover {
            self.grow(f64::from(count), now_us);
        }
    }

    /// Returns the time of the retransmission timeout.
    pub(crate) fn deadline(&self) -> u64 {
        if self.flying == 0 {
            return u64::MAX;
        }
        let rto = if self.srtt_us == 0 { RTO_FIRST_US } else { self.srtt_us + 4 * self.var_us };
        self.last_us + (rto.max(RTO_MIN_US) << self.backoff.min(6))
    }

    /// Handles the retransmission timeout: all data in flight is lost.
    pub(crate) fn timeout(&mut self, now_us: u64) {
        self.timeouts += 1;
        self.backoff += 1;
        self.threshold = (self.window * BETA).max(2.0);
        self.w_max = self.window;
        self.window = 1.0;
        self.epoch_us = None;
        self.flying = 0;
        self.lost.clear();
        self.recover = self.next;
        self.last_us = now_us;
    }

    fn measure(&mut self, rtt_us: u64, highest: u32) {
        self.min_rtt_us = self.min_rtt_us.min(rtt_us);
        if self.srtt_us == 0 {
            (self.srtt_us, self.var_us) = (rtt_us, rtt_us / 2);
        } else {
            self.var_us = (3 * self.var_us + self.srtt_us.abs_diff(rtt_us)) / 4;
            self.srtt_us = (7 * self.srtt_us + rtt_us) / 8;
        }
        if self.window >= self.threshold {
            return;
        }
        // HyStart leaves slow start when a round's first samples are clearly higher than the samples of the previous
        // round.
        let round = &mut self.round;
        if highest >= round.end {
            *round = Round { end: self.next, samples: 0, min_us: u64::MAX, last_min_us: round.min_us };
        }
        round.samples += 1;
        round.min_us = round.min_us.min(rtt_us);
        let margin = (round.last_min_us / 8).clamp(4_000, 16_000);
        if round.samples >= 8
            && round.last_min_us > 0
            && round.min_us >= round.last_min_us.saturating_add(margin)
        {
            self.threshold = self.window;
        }
    }

    fn reduce(&mut self) {
        self.reductions += 1;
        // Fast convergence reduces the maximum if the window did not reach the previous maximum.
        self.w_max = if self.window < self.w_max { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (self.window * BETA).max(2.0);
        self.threshold = self.window;
        self.epoch_us = None;
        self.recover = self.next;
    }

    fn grow(&mut self, segments: f64, now_us: u64) {
        // The window does not grow further while the receive window is the limit.
        if self.window >= 2.0 * self.receive_window {
            return;
        }
        if self.window < self.threshold {
            self.window = (self.window + segments).min(self.threshold.max(self.window));
            return;
        }
        let epoch = match self.epoch_us {
            Some(epoch) => epoch,
            None => {
                self.epoch_us = Some(now_us);
                self.w_max = self.w_max.max(self.window);
                self.k = cubic_k(self.w_max, self.window);
                self.reno = self.window;
                now_us
            }
        };
        let seconds = (now_us - epoch + self.srtt_us) as f64 / 1e6;
        let target = cubic_window(self.w_max, self.k, seconds).min(1.5 * self.window);
        let step =
            if target > self.window { (target - self.window) / self.window } else { 0.01 / self.window };
        self.window += segments * step;
        self.reno += segments * 3.0 * (1.0 - BETA) / (1.0 + BETA) / self.window;
        self.window = self.window.max(self.reno);
    }
}

/// Returns the seconds until the window is `w_max` again.
fn cubic_k(w_max: f64, window: f64) -> f64 {
    cbrt((w_max - window) / C)
}

fn cubic_window(w_max: f64, k: f64, seconds: f64) -> f64 {
    let past = seconds - k;
    C * past * past * past + w_max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubic_window_matches_rfc_formula() {
        for (w_max, k, start, half) in [(100.0, 4.2172, 70.0, 96.25), (1000.0, 9.0856, 700.0, 962.5)] {
            let found = cubic_k(w_max, BETA * w_max);
            assert!((found - k).abs() < 1e-4, "K is {found}");
            assert!((cubic_window(w_max, found, 0.0) - start).abs() < 1e-9);
            assert!((cubic_window(w_max, found, found / 2.0) - half).abs() < 1e-9);
        }
        assert!((cubic_window(100.0, 4.2172, 5.2172) - 100.4).abs() < 1e-9);
    }

    #[test]
    fn several_losses_in_a_window_reduce_it_only_once() {
        let mut sender = Cubic::new(1 << 24);
        let sent = sender.send(0);
        assert_eq!(sent, 0..10);
        sender.dropped(4);
        sender.dropped(5);
        sender.acknowledged(3, 4, 0, 30_000);
        assert_eq!(
            sender.reductions, 0,
            "the loss must not be detected before a later packet is acknowledged"
        );
        sender.acknowledged(9, 4, 0, 31_000);
        assert_eq!((sender.reductions, sender.flying), (1, 0));
        assert!((sender.window - 14.0 * BETA).abs() < 1e-9, "{}", sender.window);
    }

    #[test]
    fn silence_resets_window_and_doubles_timeout() {
        let mut sender = Cubic::new(1 << 24);
        assert_eq!(sender.deadline(), u64::MAX);
        sender.send(0);
        let first = sender.deadline();
        sender.timeout(first);
        assert_eq!(sender.send(first).len(), 1);
        assert_eq!(sender.deadline() - first, 2 * RTO_FIRST_US);
    }
}
