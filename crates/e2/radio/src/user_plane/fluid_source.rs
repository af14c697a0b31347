//! Traffic sources of the fluid cell. A flow is a rate that is always on, or alternately on and off.

use super::flow::{FlowConfig, Traffic};
use super::random::{Purpose, Stream};

/// A flow as a rate over time.
#[derive(Debug)]
pub(super) struct FluidSource {
    /// Rate in bytes per second; `None` for a flow that always has data.
    rate: Option<f64>,
    start_us: u64,
    stop_us: u64,
    on_off: Option<OnOffState>,
}

/// State of an on/off source.
#[derive(Debug)]
struct OnOffState {
    stream: Stream,
    drawn: u64,
    means_us: [f64; 2],
    random: bool,
    on: bool,
    until_us: f64,
}

impl FluidSource {
    pub(super) fn new(flow: &FlowConfig, seed: u64, entity: u64) -> Self {
        let (rate, on_off) = match flow.traffic {
            Traffic::OnOff { kbps, on_ms, off_ms, random, .. } if off_ms > 0 => {
                let stream = Stream::new(seed, Purpose::Flow, entity);
                let means_us = [f64::from(off_ms) * 1000.0, f64::from(on_ms) * 1000.0];
                let until_us = flow.start_us as f64;
                let state = OnOffState { stream, drawn: 0, means_us, random, on: false, until_us };
                (Some(f64::from(kbps) * 125.0), Some(state))
            }
            _ => (flow.mean_rate(), None),
        };
        Self { rate, start_us: flow.start_us, stop_us: flow.stop_us, on_off }
    }

    /// Returns the bytes sent in a period, or `None` for a flow that always has data.
    pub(super) fn bytes(&mut self, from_us: u64, to_us: u64) -> Option<f64> {
        let from = from_us.max(self.start_us);
        let to = to_us.min(self.stop_us);
        if to <= from {
            return Some(0.0);
        }
        let rate = self.rate?;
        let micros = match &mut self.on_off {
            Some(state) => state.on_time(from as f64, to as f64),
            None => (to - from) as f64,
        };
        Some(rate * micros / 1e6)
    }
}

impl OnOffState {
    /// Returns the time during which the source is on in a period, in µs. Callers must pass ascending times.
    fn on_time(&mut self, from: f64, to: f64) -> f64 {
        let mut at = from;
        let mut sum = 0.0;
        while at < to {
            if self.until_us <= at {
                self.on = !self.on;
                self.drawn += 1;
                let mean = self.means_us[usize::from(self.on)];
                self.until_us += if self.random { mean * self.stream.exponential(self.drawn) } else { mean };
                continue;
            }
            let end = self.until_us.min(to);
            sum += if self.on { end - at } else { 0.0 };
            at = end;
        }
        sum
    }
}
