//! Meter of the resource use of the whole machine, and of resources taken from it.

use std::path::PathBuf;

use serde::Serialize;

use crate::{MeterError, TICKS_PER_SECOND, read};

/// Reads the machine's meters repeatedly.
#[derive(Debug, Clone)]
pub struct MachineMeter {
    proc: PathBuf,
}

/// Totals since the machine started, in CPU seconds over all CPUs unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MachineSample {
    /// Seconds of wall time since the machine started.
    pub uptime_s: f64,
    /// Number of counted CPUs.
    pub cpus: usize,
    /// CPU time of work: user, nice, system and interrupts.
    pub busy_s: f64,
    /// CPU time idle or waiting for I/O.
    pub idle_s: f64,
    /// CPU time requested by this machine, but given to another machine by the hypervisor.
    pub steal_s: f64,
    /// Context switches of all CPUs.
    pub context_switches: u64,
    /// Pressure on the machine; `None` if the kernel has no pressure stall information.
    pub pressure: Option<Pressure>,
}

/// Wall seconds in which at least one task waited for a resource (`some` of /proc/pressure).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pressure {
    /// Seconds in which some task waited for a CPU.
    pub cpu_s: f64,
    /// Seconds in which some task waited for memory.
    pub memory_s: f64,
    /// Seconds in which some task waited for I/O.
    pub io_s: f64,
}

/// The difference of two samples, as shares from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MachineInterval {
    /// Wall seconds between the samples.
    pub wall_s: f64,
    /// Share of all CPU time spent working.
    pub busy_share: f64,
    /// Share of all CPU time stolen.
    pub steal_share: f64,
    /// Context switches per second.
    pub context_switches_per_s: f64,
    /// Shares of wall time under pressure. The field names end with `_s`, but their unit is seconds per second.
    pub pressure: Option<Pressure>,
}

impl Default for MachineMeter {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc") }
    }
}

impl MachineMeter {
    /// Reads all meters.
    pub fn sample(&self) -> Result<MachineSample, MeterError> {
        let stat_path = self.proc.join("stat");
        let uptime_path = self.proc.join("uptime");
        let stat = read(&stat_path)?;
        let uptime = read(&uptime_path)?;
        let uptime_s = first_number(&uptime).ok_or(MeterError::Form { path: uptime_path })?;
        let mut sample = parse_stat(&stat).ok_or(MeterError::Form { path: stat_path })?;
        sample.uptime_s = uptime_s;
        sample.pressure = self.pressure();
        Ok(sample)
    }

    fn pressure(&self) -> Option<Pressure> {
        let of = |resource| {
            let text = read(self.proc.join("pressure").join(resource)).ok()?;
            parse_pressure(&text)
        };
        Some(Pressure { cpu_s: of("cpu")?, memory_s: of("memory")?, io_s: of("io")? })
    }
}

impl MachineSample {
    /// Returns the difference between `earlier` and this sample; `None` if no time has passed.
    pub fn since(&self, earlier: &Self) -> Option<MachineInterval> {
        let wall_s = self.uptime_s - earlier.uptime_s;
        let all = |sample: &Self| sample.busy_s + sample.idle_s + sample.steal_s;
        let cpu_s = all(self) - all(earlier);
        if wall_s <= 0.0 || cpu_s <= 0.0 {
            return None;
        }
        let switches = self.context_switches.saturating_sub(earlier.context_switches);
        Some(MachineInterval {
            wall_s,
            busy_share: (self.busy_s - earlier.busy_s) / cpu_s,
            steal_share: (self.steal_s - earlier.steal_s) / cpu_s,
            context_switches_per_s: switches as f64 / wall_s,
            pressure: self.pressure.zip(earlier.pressure).map(|(now, then)| Pressure {
                cpu_s: (now.cpu_s - then.cpu_s) / wall_s,
                memory_s: (now.memory_s - then.memory_s) / wall_s,
                io_s: (now.io_s - then.io_s) / wall_s,
            }),
        })
    }
}

/// Parses `/proc/stat`, proc_stat(5): `cpu user nice system idle iowait irq softirq steal guest guest_nice`. Guest time
/// is already part of user time.
fn parse_stat(text: &str) -> Option<MachineSample> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = all.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks.as_slice() else { return None };
    let one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    Some(MachineSample {
        uptime_s: 0.0,
        cpus: text.lines().filter(one).count(),
        busy_s: (user + nice + system + irq + softirq) / TICKS_PER_SECOND,
        idle_s: (idle + iowait) / TICKS_PER_SECOND,
        steal_s: steal / TICKS_PER_SECOND,
        context_switches: text.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()?,
        pressure: None,
    })
}

/// Returns the total of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, which is in microseconds.
fn parse_pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total: u64 = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
    Some(total as f64 / 1e6)
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 20 30 1000 50 1 2 7 9 9\ncpu0 50 10 15 500 25 1 1 3 0 0\n\
                        cpu1 50 10 15 500 25 0 1 4 0 0\nintr 1 2 3\nctxt 4242\nbtime 1\n";

    #[test]
    fn ticks_become_seconds_and_guest_time_counts_once() {
        let sample = parse_stat(STAT).unwrap();
        assert_eq!((sample.cpus, sample.context_switches), (2, 4242));
        assert_eq!((sample.busy_s, sample.idle_s, sample.steal_s), (1.53, 10.5, 0.07));
        assert_eq!(parse_stat("cpu  1 2 3\nctxt 1\n"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn interval_contains_shares() {
        let pressure = |cpu_s| Some(Pressure { cpu_s, memory_s: 0.0, io_s: 0.5 });
        let start = MachineSample { uptime_s: 100.0, pressure: pressure(1.0), ..parse_stat(STAT).unwrap() };
        let end = MachineSample {
            uptime_s: 110.0,
            busy_s: start.busy_s + 5.0,
            idle_s: start.idle_s + 13.0,
            steal_s: start.steal_s + 2.0,
            context_switches: 5242,
            pressure: pressure(3.5),
            ..start
        };
        let interval = end.since(&start).unwrap();
        assert!((interval.busy_share - 0.25).abs() < 1e-9 && (interval.steal_share - 0.1).abs() < 1e-9);
        assert_eq!(interval.context_switches_per_s, 100.0);
        let pressure = interval.pressure.unwrap();
        assert_eq!((pressure.cpu_s, pressure.io_s), (0.25, 0.0));
        assert_eq!(start.since(&start), None);
    }

    #[test]
    fn pressure_is_read_in_microseconds() {
        let text = "some avg10=0.78 avg60=1.51 avg300=0.90 total=7159247\nfull avg10=0.00 total=1\n";
        assert_eq!(parse_pressure(text), Some(7.159247));
        assert_eq!(parse_pressure("full total=1\n"), None);
    }

    #[test]
    fn this_machine_is_sampled() {
        let sample = MachineMeter::default().sample().unwrap();
        assert!(sample.cpus >= 1 && sample.uptime_s > 0.0 && sample.busy_s > 0.0);
    }
}
