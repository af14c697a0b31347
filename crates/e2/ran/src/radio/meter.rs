//! Measurements of a radio: throughput of UEs and slices, packet latencies, and delay of the driver relative to real time.
use super::convert::slice_id;
use hdrhistogram::Histogram as Hdr;
use ranlab_radio::user_plane::{Cell, Direction, FlowStats, Histogram};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Virtual time between two samples, in microseconds.
pub(super) const SAMPLE_US: u64 = 500_000;
/// Maximum number of samples, which cover more than one hour.
const SAMPLES_MAX: usize = 10_000;
/// Maximum recorded delay, in microseconds: one minute.
const LATE_US_MAX: u64 = 60_000_000;
/// Name of the slice in reports for UEs without a slice.
const NO_SLICE: &str = "none";

/// Measurements over a period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RadioMeter {
    /// Virtual time of the measurement, in seconds.
    pub seconds: f64,
    /// Virtual time divided by the driver's computing time. Below 1, the radio cannot keep up. It is 0 without any
    /// computing time.
    pub real_time_factor: f64,
    /// Distribution of slot delays, as pairs of microseconds and count.
    pub late_us: Vec<(u64, u64)>,
    /// Fraction of downlink PRBs that were used.
    pub prb_use: f64,
    /// Results per UE.
    pub ues: Vec<UeMeter>,
    /// Results per flow.
    pub flows: Vec<FlowMeter>,
    /// Throughput over time.
    pub samples: Vec<Sample>,
}

/// Results of a UE.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UeMeter {
    /// Number of the UE.
    pub ue: u32,
    /// Bytes of delivered IP packets.
    pub bytes: u64,
    /// Number of downlink PRBs used.
    pub prbs: u64,
    /// Bytes of the UE's downlink transport blocks, counted as in MAC reports.
    #[serde(default)]
    pub tbs_bytes: u64,
}

/// Results of a flow. Distributions are pairs of microseconds and count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowMeter {
    /// Number of the UE.
    pub ue: u32,
    /// Name of the flow's kind; see [`TrafficKind::name`](super::TrafficKind::name).
    pub what: String,
    /// Bytes of delivered IP packets.
    pub bytes: u64,
    /// Number of dropped packets.
    pub dropped: u64,
    /// Distribution of round-trip times.
    pub rtt_us: Vec<(u64, u64)>,
    /// Distribution of waiting times in RLC.
    pub rlc_us: Vec<(u64, u64)>,
    /// Distribution of waiting times in the queues of traffic control.
    pub tc_us: Vec<(u64, u64)>,
}

/// Throughput between two samples, in Mbit/s of IP.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the interval, in seconds.
    pub at_s: f64,
    /// Throughput of each UE, by UE number.
    pub ues: BTreeMap<u32, f64>,
    /// Throughput of each slice, by slice name. The key `none` is for UEs without a slice.
    pub slices: BTreeMap<String, f64>,
}

/// Counters of a UE at one point in time.
#[derive(Debug, Clone, Default)]
struct Counters {
    prbs: u64,
    tbs_bytes: u64,
    flows: Vec<FlowStats>,
}

impl Counters {
    fn read(cell: &Cell, rnti: u16) -> Self {
        let flows = cell.flows(rnti).unwrap_or_default().into_iter().cloned().collect();
        let (prbs, tbs_bytes) = cell.report(rnti).map_or((0, 0), |ue| (ue.dl.prbs, ue.dl.tbs_bytes));
        Self { prbs, tbs_bytes, flows }
    }
}

/// Returns virtual time divided by computing time.
pub(super) fn factor(simulated_us: u64, busy: Duration) -> f64 {
    let busy_us = busy.as_micros() as f64;
    if busy_us > 0.0 { simulated_us as f64 / busy_us } else { 0.0 }
}

fn downloaded(cell: &Cell, rnti: u16) -> u64 {
    cell.flows(rnti).unwrap_or_default().iter().map(|flow| flow.delivered.1).sum()
}

#[derive(Debug)]
pub(super) struct Meter {
    /// Names of each UE's flows.
    whats: BTreeMap<u32, Vec<&'static str>>,
    begun_us: u64,
    begun_prbs: u64,
    then: BTreeMap<u32, Counters>,
    /// Results of UEs that have detached.
    gone: (Vec<UeMeter>, Vec<FlowMeter>),
    due_us: u64,
    /// Bytes delivered to each UE at the last sample.
    sampled: BTreeMap<u32, u64>,
    samples: Vec<Sample>,
    late: Hdr<u64>,
    simulated_us: u64,
    pub(super) busy: Duration,
}

impl Meter {
    pub(super) fn new(start_us: u64, whats: BTreeMap<u32, Vec<&'static str>>) -> Self {
        // The bounds and the precision are constants that the histogram accepts.
        #[allow(clippy::expect_used)]
        let late = Hdr::new_with_bounds(1, LATE_US_MAX, 2).expect("constant bounds");
        Self {
            whats,
            begun_us: start_us,
            begun_prbs: 0,
            then: BTreeMap::new(),
            gone: Default::default(),
            due_us: start_us + SAMPLE_US,
            sampled: BTreeMap::new(),
            samples: Vec::new(),
            late,
            simulated_us: 0,
            busy: Duration::ZERO,
        }
    }

    pub(super) fn due_us(&self) -> u64 {
        self.due_us
    }

    pub(super) fn begin(&mut self, cell: &Cell, rntis: &BTreeMap<u32, u16>) {
        *self = Self::new(cell.now_us(), std::mem::take(&mut self.whats));
        self.begun_prbs = cell.prbs_offered(Direction::Down);
        self.then = rntis.iter().map(|(ue, rnti)| (*ue, Counters::read(cell, *rnti))).collect();
        self.sampled = rntis.iter().map(|(ue, rnti)| (*ue, downloaded(cell, *rnti))).collect();
    }

    /// Records a pass of the driver: the simulated time, and the delay of the first slot.
    pub(super) fn passed(&mut self, simulated_us: u64, late_us: u64) {
        self.simulated_us += simulated_us;
        self.late.saturating_record(late_us.clamp(1, LATE_US_MAX));
    }

    /// Stores the results of a UE that leaves. Returns the names of its flows.
    pub(super) fn leave(&mut self, cell: &Cell, ue: u32, rnti: u16) -> Vec<&'static str> {
        let (got, flows) = self.report(cell, ue, rnti);
        self.gone.0.push(got);
        self.gone.1.extend(flows);
        self.then.remove(&ue);
        self.sampled.remove(&ue);
        self.whats.get(&ue).cloned().unwrap_or_default()
    }

    /// Adds a UE that arrives from another cell, where its flows were counted until now.
    pub(super) fn arrive(&mut self, cell: &Cell, ue: u32, rnti: u16, whats: Vec<&'static str>) {
        self.whats.insert(ue, whats);
        self.then.insert(ue, Counters::read(cell, rnti));
        self.sampled.insert(ue, downloaded(cell, rnti));
    }

    /// Takes a sample if the interval has passed.
    pub(super) fn sample(&mut self, cell: &Cell, rntis: &BTreeMap<u32, u16>) {
        if cell.now_us() < self.due_us {
            return;
        }
        self.due_us += SAMPLE_US;
        let mut sample = Sample { at_s: self.seconds(cell), ..Sample::default() };
        for (ue, rnti) in rntis {
            let bytes = downloaded(cell, *rnti);
            let before = self.sampled.insert(*ue, bytes).unwrap_or(0);
            let mbps = bytes.saturating_sub(before) as f64 * 8.0 / SAMPLE_US as f64;
            let slice = cell.report(*rnti).and_then(|ue| slice_id(ue.slice_down));
            let slice = slice.map_or_else(|| NO_SLICE.to_owned(), |id| id.to_string());
            sample.ues.insert(*ue, mbps);
            *sample.slices.entry(slice).or_default() += mbps;
        }
        if self.samples.len() < SAMPLES_MAX {
            self.samples.push(sample);
        }
    }

    fn seconds(&self, cell: &Cell) -> f64 {
        (cell.now_us() - self.begun_us) as f64 / 1e6
    }

    /// Returns the results of a UE since the start of the measurement, or since its arrival.
    fn report(&self, cell: &Cell, ue: u32, rnti: u16) -> (UeMeter, Vec<FlowMeter>) {
        let now = Counters::read(cell, rnti);
        let then = self.then.get(&ue).cloned().unwrap_or_default();
        let none = FlowStats::default();
        let names = self.whats.get(&ue).map_or(&[][..], Vec::as_slice);
        let flows = now.flows.iter().zip(names).enumerate().map(|(index, (now, what))| {
            let then = then.flows.get(index).unwrap_or(&none);
            let counted = |of: fn(&FlowStats) -> Option<&Histogram>| -> Vec<(u64, u64)> {
                let Some(now) = of(now) else { return Vec::new() };
                of(then).map_or_else(|| now.clone(), |then| now.since(then)).counted().collect()
            };
            FlowMeter {
                ue,
                what: (*what).to_owned(),
                bytes: now.delivered.1 - then.delivered.1,
                dropped: now.dropped - then.dropped,
                rtt_us: counted(|flow| flow.rtt.as_deref()),
                rlc_us: counted(|flow| flow.rlc_sojourn.as_deref()),
                tc_us: counted(|flow| flow.tc_sojourn.as_deref()),
            }
        });
        let flows: Vec<_> = flows.collect();
        let bytes = flows.iter().map(|flow| flow.bytes).sum();
        let tbs_bytes = now.tbs_bytes - then.tbs_bytes;
        (UeMeter { ue, bytes, prbs: now.prbs - then.prbs, tbs_bytes }, flows)
    }

    pub(super) fn read(&self, cell: &Cell, rntis: &BTreeMap<u32, u16>) -> RadioMeter {
        let (mut ues, mut flows) = self.gone.clone();
        for (ue, rnti) in rntis {
            let (got, its) = self.report(cell, *ue, *rnti);
            ues.push(got);
            flows.extend(its);
        }
        let used: u64 = ues.iter().map(|ue| ue.prbs).sum();
        let offered = cell.prbs_offered(Direction::Down) - self.begun_prbs;
        RadioMeter {
            seconds: self.seconds(cell),
            real_time_factor: factor(self.simulated_us, self.busy),
            late_us: self
                .late
                .iter_recorded()
                .map(|it| (it.value_iterated_to(), it.count_at_value()))
                .collect(),
            prb_use: used as f64 / offered.max(1) as f64,
            ues,
            flows,
            samples: self.samples.clone(),
        }
    }
}

/// Summary of a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RadioSummary {
    /// Virtual time of the measurement, in seconds.
    pub seconds: f64,
    /// Virtual time divided by computing time; see [`RadioMeter::real_time_factor`].
    pub real_time_factor: f64,
    /// 99th percentile of slot delays, in microseconds.
    pub late_us_p99: u64,
    /// Fraction of downlink PRBs that were used.
    pub prb_use: f64,
    /// Results per UE.
    pub ues: Vec<UeMeter>,
    /// Results per flow.
    pub flows: Vec<FlowSummary>,
}

/// Summary of a flow. Quantiles are absent if no packet was delivered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Number of the UE.
    pub ue: u32,
    /// Kind of the flow.
    pub what: String,
    /// Throughput of IP, in Mbit/s.
    pub mbps: f64,
    /// Number of dropped packets.
    pub dropped: u64,
    /// Median round-trip time, in microseconds.
    pub rtt_us_p50: Option<u64>,
    /// 99th percentile of the round-trip time, in microseconds.
    pub rtt_us_p99: Option<u64>,
    /// Median waiting time in RLC, in microseconds.
    pub rlc_us_p50: Option<u64>,
    /// Median waiting time in the queues of traffic control, in microseconds.
    pub tc_us_p50: Option<u64>,
}

/// Returns the quantile at `share` (0 to 1) of (value, count) pairs.
pub fn quantile(counts: &[(u64, u64)], share: f64) -> Option<u64> {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let rank = (total as f64 * share).ceil() as u64;
    let mut seen = 0;
    let found = counts.iter().find(|(_, count)| {
        seen += count;
        seen >= rank.max(1)
    });
    found.map(|(value, _)| *value)
}

impl RadioMeter {
    /// Returns a short summary.
    pub fn summary(&self) -> RadioSummary {
        let seconds = self.seconds.max(1e-6);
        let flow = |flow: &FlowMeter| FlowSummary {
            ue: flow.ue,
            what: flow.what.clone(),
            mbps: flow.bytes as f64 * 8e-6 / seconds,
            dropped: flow.dropped,
            rtt_us_p50: quantile(&flow.rtt_us, 0.5),
            rtt_us_p99: quantile(&flow.rtt_us, 0.99),
            rlc_us_p50: quantile(&flow.rlc_us, 0.5),
            tc_us_p50: quantile(&flow.tc_us, 0.5),
        };
        RadioSummary {
            seconds: self.seconds,
            real_time_factor: self.real_time_factor,
            late_us_p99: quantile(&self.late_us, 0.99).unwrap_or(0),
            prb_use: self.prb_use,
            ues: self.ues.clone(),
            flows: self.flows.iter().map(flow).collect(),
        }
    }
}

impl fmt::Display for RadioSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for flow in &self.flows {
            write!(f, "UE {} {} {:.1} Mbit/s", flow.ue, flow.what, flow.mbps)?;
            if let Some(rtt_us) = flow.rtt_us_p50 {
                write!(f, " rtt {:.1} ms", rtt_us as f64 / 1e3)?;
            }
            f.write_str(", ")?;
        }
        let prbs = 100.0 * self.prb_use;
        let factor = self.real_time_factor;
        write!(f, "PRBs {prbs:.0} %, real-time factor {factor:.0}, late p99 {} us", self.late_us_p99)
    }
}
