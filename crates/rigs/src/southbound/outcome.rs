//! Metrics of the rig, and the outcome of a repeat.

use std::time::Duration;

use ranlab_campaign::metrics;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Breach, Metric, Outcome, RigError};
use ranlab_emulator::radio::RadioMeter;
use ranlab_parts::Incident;
use ranlab_parts::worker::Report;

use crate::harness::metric_of_places;
use crate::{noise, readback, sut, wire};

/// Share of base stations below which a controller is overloaded.
const ALIVE_AT_LEAST: f64 = 0.5;
/// Maximum number of incidents in a reason.
const REASONS: usize = 3;

pub(super) fn metrics() -> Vec<Metric> {
    let mut metrics = sut::metrics();
    metrics.extend(metrics! {
        Scalar Lower "sut.cpu_us_per_message" "us" "its CPU time for each message that it was sent";
        Scalar Neither "rx_messages_per_s" "1/s" "protocol messages that the kernel took for the controller, not packets" .counted();
        Scalar Neither "acknowledged_messages_per_s" "1/s" "messages of those that the controller's host acknowledged";
        Scalar Neither "read_messages_per_s" "1/s" "messages of those that the controller read, where its socket is in the base stations' network namespace; acknowledged ones elsewhere";
        Scalar Neither "rx_mbps" "Mbit/s" "their bytes, frames included, without the transport's headers" .counted();
        Scalar Neither "offered_messages_per_s" "1/s" "messages that the base stations made for it, sent or not";
        Scalar Lower "unread_kb" "kB" "octets at the end that the base stations or their kernel hold and the controller's host has not acknowledged; what waits there for its reader is not in it";
        Scalar Lower "unread_at_host_kb" "kB" "octets at the end that the controller's host acknowledged and the controller has not read, where that is seen";
        Scalar Lower "unread_s_max" "s" "longest time in which the controller read nothing of what waited for it; 0 below 1 s";
        Scalar Lower "lateness_us_p99" "us" "time from when reports were due until the controller read them, or its host acknowledged them where no more is seen, 99th percentile; those that still wait count as late as they are at the end";
        Scalar Lower "lateness_us_max" "us" "the longest";
        Scalar Neither "rx_bytes_per_message" "B" "bytes of a message to the controller, on average" .counted();
        Scalar Neither "tx_messages_per_s" "1/s" "protocol messages from the controller, no acknowledgements of TCP";
        Scalar Neither "tx_mbps" "Mbit/s" "their octets";
        Scalar Higher "nodes_alive_ratio" "" "base stations that the controller had asked for reports, of all";
        Scalar Lower "init_delay_ms" "ms" "from one more base station's connection to the request for its reports; the patience if none came";
        Scalar Lower "init_requests_ms" "ms" "the same to its last configuration request, where MARC stops its clock";
        Scalar Higher "ingested_ratio" "" "messages that the controller processed, of those sent; ours only";
        Scalar Higher "ues_known_ratio" "" "UEs that the controller knows, of those active; ours only";
        Scalar Lower "dropped_per_s" "1/s" "messages that the controller or the base stations gave up";
        Scalar Lower "lost_at_batch_end" "" "messages that the published RIB updater takes off its queue after a full batch and forgets, since it started: a base station whose hello or configuration is among them is never asked for reports";
        Scalar Lower "leaked_mb" "MB" "memory of dropped messages that the controller keeps";
        Scalar Lower "declared_dead" "" "base stations that were declared dead though connected";
        Scalar Higher "app_runs_per_s" "1/s" "runs of the controller's applications";
        Scalar Lower "reconnects" "" "connections that base stations lost";
        Scalar Higher "nodes_connected_ratio" "" "base stations connected at the end, of all";
        Scalar Lower "refused" "" "connections that could not be made";
        Scalar Lower "faults" "" "breaches of the protocol by the controller, and messages that it cannot carry";
        Scalar Higher "ues_announced_ratio" "" "UEs that the controller was told of, of those active";
        Scalar Higher "handovers_per_s" "1/s" "handovers that the controller commanded and base stations carried out; with load.radio";
        Scalar Neither "triggers_per_s" "1/s" "subframes that base stations told the controller of because it schedules them; with load.radio";
        Scalar Neither "decisions_per_s" "1/s" "decisions on subframes that radios took; a late trigger is followed by several; with load.radio";
        Scalar Higher "decided_ratio" "" "its decisions that came in time, of all; with load.radio, where it schedules";
        Scalar Lower "commands_refused_per_s" "1/s" "its commands and decisions that radios refused, decisions that came too late among them; with load.radio";
        Scalar Higher "total_mbps" "Mbit/s" "IP that arrived at all UEs; with load.radio";
        Scalar Higher "prb_use" "" "downlink resource blocks used, by those that there were; with load.radio";
        Scalar Neither "slice0_share" "" "what the first slices got, of all; with load.radio and sut.slices";
        Scalar Higher "real_time_factor" "" "the slowest radio's time by the time that it took: below 1 it cannot follow; with load.radio";
        Scalar Neither "overload_drops" "" "1 if it drops messages";
        Scalar Neither "overload_declares_dead" "" "1 if it declares base stations dead";
        Scalar Neither "overload_memory_grows" "" "1 if its memory grows without bound";
        Scalar Neither "overload_starves" "" "1 if its applications wait in more cycles than they run";
        Scalar Neither "tool.cpu_cores" "cores" "cores that the base stations kept busy";
        Scalar Neither "tool.lateness_us_p99" "us" "time from when reports were due until the kernel took them, 99th percentile";
        Scalar Neither "tool.skipped_ratio" "" "reports that the base stations left out, being late" .unsent_share();
    });
    metrics.extend(wire::packets("", "base stations"));
    metrics.push(metric_of_places());
    metrics.extend(readback::metrics());
    metrics.extend(noise::metrics());
    metrics
}

/// Counters that a controller provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// None: a third-party controller.
    Nothing,
    /// Counters of the monitoring iApp.
    Ric,
    /// Counters of a reference controller.
    Reference,
}

/// Results of a window from base stations and controller.
pub(super) struct Seen<'a> {
    /// Number of base stations.
    pub(super) nodes: f64,
    pub(super) load: &'a Report,
    pub(super) controller: &'a Report,
    pub(super) told: Told,
    /// Incidents at the controller, as reported by base stations.
    pub(super) incidents: Vec<Incident>,
    /// Meters of the base stations' radios, if any.
    pub(super) radios: Vec<RadioMeter>,
}

/// Limits that were kept (`None`) or broken.
type Limits = Vec<(Outcome, Option<Breach>)>;

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

/// Result of one more base station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Probe {
    /// Time until its reports were requested, and until the last configuration request, in us.
    Served(f64, f64),
    /// Its reports were not requested.
    Unserved,
    /// The controller closed its connections.
    HungUp,
}

impl Probe {
    /// Records the result and returns the violated limit, if any. Without load a controller is not
    /// overloaded.
    pub(super) fn record(self, recorder: &mut Recorder, patience: Duration) -> Option<Breach> {
        let patience_us = patience.as_secs_f64() * 1e6;
        let (reporting_us, requests_us) = match self {
            Self::Served(reporting_us, requests_us) => (reporting_us, requests_us),
            Self::Unserved | Self::HungUp => (patience_us, patience_us),
        };
        recorder.scalar("init_delay_ms", reporting_us * 1e-3);
        recorder.scalar("init_requests_ms", requests_us * 1e-3);
        match self {
            Self::Served(..) => None,
            Self::Unserved => {
                Breach::said(true, "one more base station was not served within `load.patience`")
            }
            Self::HungUp => {
                Breach::said(true, "the controller hung up on one more base station: does it know that one?")
            }
        }
    }
}

impl Seen<'_> {
    fn of(&self, name: &str) -> Result<f64, RigError> {
        self.load.number(name)
    }

    /// Returns whether the controller had load: enough base stations received a request for reports once. A
    /// controller that never sent them did not know the base stations, or does not repeat requests after a
    /// reconnect.
    fn had_load(&self) -> Result<bool, RigError> {
        Ok(!self.tells_shortfall() || self.of("served")? >= self.nodes * ALIVE_AT_LEAST)
    }

    /// Returns whether the base stations report the part of the load that is in transit; E2 base stations do
    /// not.
    fn tells_shortfall(&self) -> bool {
        self.told != Told::Ric
    }

    pub(super) fn record(
        &self,
        recorder: &mut Recorder,
        probe: Option<(Probe, Duration)>,
    ) -> Result<Outcome, RigError> {
        let sent = self.of("sent")?;
        let sent_bytes = self.of("sent_bytes")?;
        let seconds = self.load.wall_s.max(1e-3);
        recorder.scalar("rx_messages_per_s", sent / seconds);
        wire::record_packets(recorder, "", self.load);
        if sent > 0.0 {
            recorder.scalar("rx_bytes_per_message", sent_bytes / sent);
        }
        recorder.scalar("rx_mbps", sent_bytes * 8e-6 / seconds);
        let alive = self.of("alive")? / self.nodes.max(1.0);
        recorder.scalar("nodes_alive_ratio", alive);
        recorder.scalar("reconnects", self.of("reconnects")?);
        if let Some(process) = self.controller.process.as_ref().filter(|_| sent > 0.0) {
            recorder.scalar("sut.cpu_us_per_message", process.cpu_s * 1e6 / sent);
        }
        let unserved = probe.and_then(|(probe, patience)| probe.record(recorder, patience));
        let hung_up = matches!(probe, Some((Probe::HungUp, _)));
        let failed_it = |failed: bool| if failed { Outcome::Overloaded } else { Outcome::Degraded };
        let mut limits = vec![
            (failed_it(self.had_load()?), Breach::below("nodes_alive_ratio", alive, ALIVE_AT_LEAST)),
            (failed_it(self.of("reports")? > 0.0 && !hung_up), unserved),
        ];
        self.record_shortfall(recorder)?;
        limits.push((Outcome::Degraded, self.record_radios(recorder)?));
        self.record_told(recorder, &mut limits)?;
        // E2 base stations only know when the kernel accepted a report.
        let taken = if self.tells_shortfall() { "taken_us" } else { "lateness_us" };
        recorder.scalar("tool.lateness_us_p99", self.p99(taken)?);
        let skipped = self.of("skipped")?;
        recorder.scalar("tool.skipped_ratio", skipped / (self.of("reports")? + skipped).max(1.0));
        limits.extend(self.short(alive)?.map(|breach| (Outcome::Degraded, breach)));
        Ok(match self.unloaded()? {
            Some((outcome, why)) => recorder.judge([(outcome, Breach::said(true, why))]),
            None => recorder.judge(limits),
        })
    }

    /// Records the part of the load that did not reach the controller, and what it sent back.
    fn record_shortfall(&self, recorder: &mut Recorder) -> Result<(), RigError> {
        if !self.tells_shortfall() {
            return Ok(());
        }
        let seconds = self.load.wall_s.max(1e-3);
        recorder.scalar("tx_messages_per_s", self.of("received")? / seconds);
        recorder.scalar("tx_mbps", self.of("received_bytes")? * 8e-6 / seconds);
        recorder.scalar("offered_messages_per_s", self.of("offered")? / seconds);
        recorder.scalar("unread_kb", (self.of("waiting_bytes")? + self.of("unacknowledged_bytes")?) * 1e-3);
        recorder.scalar("acknowledged_messages_per_s", self.of("acknowledged")? / seconds);
        recorder.scalar("read_messages_per_s", self.of("read")? / seconds);
        recorder.scalar("unread_at_host_kb", self.of("unread_bytes")? * 1e-3);
        recorder.scalar("unread_s_max", self.of("unread_us_max")? * 1e-6);
        recorder.scalar("lateness_us_p99", self.p99("lateness_us")?);
        recorder.scalar("lateness_us_max", self.of("lateness_us_max")?);
        recorder.scalar("nodes_connected_ratio", self.of("connected")? / self.nodes.max(1.0));
        recorder.scalar("refused", self.of("refused")?);
        recorder.scalar("faults", self.of("faults")?);
        recorder.scalar("ues_announced_ratio", share(self.of("announced_ues")?, self.of("ues")?));
        Ok(())
    }

    /// Records the results of UEs and controls, if there are radios.
    fn record_radios(&self, recorder: &mut Recorder) -> Result<Option<Breach>, RigError> {
        let seconds = self.load.wall_s.max(1e-3);
        let Some(slowest) = self.radios.iter().map(|radio| radio.real_time_factor).reduce(f64::min) else {
            return Ok(None);
        };
        let triggers = self.of("triggers")?;
        let decisions = self.of("decisions")?;
        recorder.scalar("handovers_per_s", self.of("handovers")? / seconds);
        recorder.scalar("triggers_per_s", triggers / seconds);
        let refused = self.of("refused_commands")?;
        recorder.scalar("commands_refused_per_s", refused / seconds);
        recorder.scalar("decisions_per_s", decisions / seconds);
        if decisions + refused > 0.0 && triggers > 0.0 {
            recorder.scalar("decided_ratio", decisions / (decisions + refused));
        }
        let of = |radio: &RadioMeter| {
            radio.ues.iter().map(|ue| ue.bytes as f64 * 8e-6).sum::<f64>() / radio.seconds.max(1e-3)
        };
        recorder.scalar("total_mbps", self.radios.iter().map(of).sum());
        let used: f64 = self.radios.iter().map(|radio| radio.prb_use).sum();
        recorder.scalar("prb_use", used / self.radios.len() as f64);
        let samples = self.radios.iter().flat_map(|radio| &radio.samples);
        let mut first = 0.0;
        let mut all = 0.0;
        for (slice, mbps) in samples.flat_map(|sample| &sample.slices) {
            first += if slice == "0" { *mbps } else { 0.0 };
            all += mbps;
        }
        if all > 0.0 {
            recorder.scalar("slice0_share", first / all);
        }
        recorder.scalar("real_time_factor", slowest);
        Ok(Breach::below("real_time_factor", slowest, 1.0))
    }

    /// Records counters of ranlab's controllers, and the limits that they violate.
    fn record_told(&self, recorder: &mut Recorder, limits: &mut Limits) -> Result<(), RigError> {
        let its = |name: &str| self.controller.number(name);
        let sign = |shown: bool| f64::from(u8::from(shown));
        let seconds = self.load.wall_s.max(1e-3);
        let dropped = match self.told {
            Told::Nothing => 0.0,
            Told::Ric => its("lost")?,
            Told::Reference => its("dropped")?,
        };
        recorder.scalar("dropped_per_s", (self.of("dropped")? + dropped) / seconds);
        if self.told == Told::Nothing {
            return Ok(());
        }
        recorder.scalar("ingested_ratio", share(its("processed")?, self.of("sent")?));
        recorder.scalar("ues_known_ratio", share(its("ues")?, self.of("ues")?));
        recorder.scalar("overload_drops", sign(dropped > 0.0));
        limits.push((Outcome::Overloaded, Breach::above("messages dropped", dropped, 0.0)));
        if self.told == Told::Ric {
            return Ok(());
        }
        let declared_dead = its("declared_dead")?;
        let app_runs = its("app_runs")?;
        recorder.scalar("lost_at_batch_end", its("lost_at_batch_end")?);
        recorder.scalar("leaked_mb", its("leaked_bytes")? * 1e-6);
        recorder.scalar("declared_dead", declared_dead);
        recorder.scalar("app_runs_per_s", app_runs / seconds);
        recorder.scalar("overload_declares_dead", sign(declared_dead > 0.0));
        recorder.scalar("overload_memory_grows", sign(its("leaked_bytes")? > 0.0));
        recorder.scalar("overload_starves", sign(its("throttled")? > app_runs));
        limits.push((Outcome::Overloaded, Breach::above("declared_dead", declared_dead, 0.0)));
        Ok(())
    }

    /// Returns the 99th percentile of a distribution over all locations of the load, or else of the count at
    /// one location.
    fn p99(&self, name: &str) -> Result<f64, RigError> {
        let Some(counts) = self.load.distributions.get(name) else {
            return self.of(&format!("{name}_p99"));
        };
        let mut left = counts.iter().map(|(_, count)| *count).sum::<u64>() as f64 * 0.99;
        let reached = counts.iter().find(|(_, count)| {
            left -= *count as f64;
            left <= 0.0
        });
        Ok(reached.map_or(0.0, |(value, _)| *value as f64))
    }

    /// Returns the limits violated because less load, or fewer base stations, were present than configured.
    fn short(&self, alive: f64) -> Result<[Option<Breach>; 6], RigError> {
        let (faults, unannounced) = if self.tells_shortfall() {
            let told = self.of("announced_ues")?;
            let ues = self.of("ues")?;
            (
                Breach::above("faults", self.of("faults")?, 0.0),
                Breach::below("number of UEs announced", told, ues),
            )
        } else {
            (None, None)
        };
        let told =
            self.incidents.iter().take(REASONS).map(Incident::to_string).collect::<Vec<_>>().join("; ");
        Ok([
            Breach::said(!told.is_empty(), &told),
            Breach::above("messages given up by base stations", self.of("dropped")?, 0.0),
            faults,
            unannounced,
            Breach::above("reconnects", self.of("reconnects")?, 0.0),
            Breach::below("nodes_alive_ratio", alive, 1.0),
        ])
    }

    /// Returns an outcome if nothing reached the controller: it read nothing, refused all base stations, or
    /// there was no load.
    fn unloaded(&self) -> Result<Option<(Outcome, &'static str)>, RigError> {
        let sent = self.of("sent")?;
        let alive = self.of("alive")?;
        let reports = self.of("reports")?;
        let mut kept = self.of("dropped")?;
        if self.tells_shortfall() {
            if self.of("connected")? == 0.0 && self.of("refused")? > 0.0 {
                return Ok(Some((Outcome::SutFailed, "the controller refused every base station")));
            }
            kept += self.of("offered")? + self.of("waiting")?;
            if sent > 0.0 && self.of("read")? == 0.0 && self.of("readers_seen")? > 0.0 {
                return Ok(Some((Outcome::SutFailed, "the controller read nothing of what it was sent")));
            }
            if alive == 0.0 && self.of("served")? == 0.0 {
                return Ok(Some((Outcome::Invalid, "the controller asked no base station for reports")));
            }
        }
        if sent == 0.0 && kept > 0.0 {
            return Ok(Some((Outcome::Overloaded, "the controller took nothing of what was offered")));
        }
        if sent == 0.0 || (alive > 0.0 && reports == 0.0) {
            return Ok(Some((Outcome::Invalid, "the base stations sent no report")));
        }
        let idle = self.told != Told::Nothing && self.controller.number("processed")? == 0.0;
        Ok(idle.then_some((Outcome::Overloaded, "the controller processed no message")))
    }
}

#[cfg(test)]
mod tests;
