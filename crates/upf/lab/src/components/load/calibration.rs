//! Calibration: measures the maximum rates of this machine, and compares the load generator with them.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::load::{
    BareLoop, LoadConfig, LoadError, Loop, Mode, N3Io, Network, PacketSizes, Traffic, bare_loop, run,
};
use crate::upf::{InMemory, in_memory};
use serde::Serialize;

use super::UpfLoad;

/// Number of repetitions. The result is the median.
const TURNS: usize = Calibration::TURNS;
const TURN: Duration = Duration::from_secs(2);
/// Duration for which packets of one configuration are sent.
const MOMENT: Duration = Duration::from_millis(500);
/// Maximum number of sending threads.
const MOST_THREADS: usize = 8;
const SESSIONS: [usize; 3] = [1, 100, 1_000];
const OCTETS: [usize; 3] = [64, 512, 1_400];
/// Number of session cycles without sockets.
const CYCLES: u64 = 1 << 20;

/// Maximum rates of a machine.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// Maximum rate of plain sendmmsg and recvmmsg with an echo thread.
    pub bare: BareLoop,
    /// Answered requests per second of CPU time of the SMF thread, with the configured UPF.
    pub generator_per_cpu_s: f64,
    /// Ratio of `generator_per_cpu_s` to the round trips per second of CPU time of the plain loop.
    pub ratio: f64,
    /// Session cycles per second of wall time, with the configured UPF.
    pub cycles_per_s: f64,
    /// Maximum packet rates of the base stations, for each I/O method and each number of threads, sessions and bytes.
    pub packets: Vec<PacketsReached>,
    /// Rates of ranlab's UPF without sockets, in three cases: sessions are recognised by their bytes; additionally, 500,000 sessions are
    /// live; every message is decoded.
    pub in_memory: [Option<InMemory>; 3],
}

/// Maximum packet rate of base stations with a given configuration. It is comparable to the rate that the estimator of the published
/// emulator measures without a delay between batches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PacketsReached {
    /// I/O method, as written in a scenario.
    pub io: String,
    /// Number of sending threads.
    pub threads: usize,
    /// Number of sessions for which they send, round robin.
    pub sessions: usize,
    /// Length of a user's IP packet, in bytes.
    pub octets: usize,
    /// Packets per second that the kernel accepted.
    pub accepted_per_s: f64,
    /// Bit rate of the accepted IP packets, in bit/s.
    pub accepted_bps: f64,
    /// Fraction of the offered packets that the kernel rejected.
    pub refused_ratio: f64,
    /// Accepted packets per second of CPU time of the threads.
    pub per_cpu_s: f64,
}

impl Calibration {
    /// Number of repetitions of which the figures are medians.
    pub const TURNS: usize = 3;
}

impl UpfLoad {
    /// Measures the plain loop and the generator alternately, so that both run under the same conditions.
    ///
    /// # Errors
    /// The load on the UPF cannot run.
    pub fn calibrate(&self, window: usize, stop: &AtomicBool) -> Result<Calibration, LoadError> {
        let begin = Loop::Closed { window };
        let mode = Mode::Control { begin, cycles: None, duration: TURN, hold: Duration::ZERO, live: 0 };
        calibration(&LoadConfig { mode, smoke: false, ..self.config.clone() }, window, stop)
    }
}

/// Sends packets of each configuration at full speed over sockets. If another I/O method is configured, also measures this method.
fn packets(config: &LoadConfig, stop: &AtomicBool) -> Result<Vec<PacketsReached>, LoadError> {
    let mut ways = vec![N3Io::Sockets];
    ways.extend((config.n3_io != N3Io::Sockets).then(|| config.n3_io.clone()));
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let mut reached = Vec::new();
    for io in ways {
        for threads in (0..).map(|n| 1 << n).take_while(|threads| *threads <= most) {
            for sessions in SESSIONS {
                for octets in OCTETS {
                    if stop.load(Relaxed) {
                        return Ok(reached);
                    }
                    reached.push(flat_out(config, &io, threads, sessions, octets, stop)?);
                }
            }
        }
    }
    Ok(reached)
}

fn flat_out(
    config: &LoadConfig,
    io: &N3Io,
    threads: usize,
    sessions: usize,
    octets: usize,
    stop: &AtomicBool,
) -> Result<PacketsReached, LoadError> {
    let octets_of_all = PacketSizes::Fixed(octets);
    let uplink = Traffic { packets_per_s: f64::INFINITY, octets: octets_of_all, reflect_every: 0 };
    let config = LoadConfig {
        n3_io: io.clone(),
        threads,
        gnbs: config.gnbs.max(threads),
        uplink: Some(uplink),
        downlink: None,
        network: Network::None,
        mode: Mode::Sessions { sessions, duration: MOMENT },
        ..config.clone()
    };
    let report = run(&config, stop)?;
    let step = report.steps.first();
    let side = step.and_then(|step| step.uplink.clone()).unwrap_or_default();
    let cpu_s = step.map_or(0.0, |step| step.generator_cpu_s).max(1e-9);
    Ok(PacketsReached {
        io: io.to_string(),
        threads,
        sessions,
        octets,
        accepted_per_s: side.offered_pps,
        accepted_bps: side.offered_pps * octets as f64 * 8.0,
        refused_ratio: side.unsent as f64 / side.offered.max(1) as f64,
        per_cpu_s: side.sent as f64 / cpu_s,
    })
}

fn calibration(config: &LoadConfig, window: usize, stop: &AtomicBool) -> Result<Calibration, LoadError> {
    let turns = (0..TURNS as u32).map(|n| turn(config, window, n, stop));
    let mut turns = turns.collect::<Result<Vec<_>, _>>()?;
    let mut median = |of: &dyn Fn(&CalibrationRound) -> f64| {
        turns.sort_by(|a, b| of(a).total_cmp(&of(b)));
        turns[TURNS / 2]
    };
    let bare = median(&|turn| turn.bare.per_cpu_s).bare;
    let generator_per_cpu_s = median(&|turn| turn.generator_per_cpu_s).generator_per_cpu_s;
    Ok(Calibration {
        bare,
        generator_per_cpu_s,
        ratio: generator_per_cpu_s / bare.per_cpu_s.max(1.0),
        cycles_per_s: median(&|turn| turn.cycles_per_s).cycles_per_s,
        packets: packets(config, stop)?,
        in_memory: [
            in_memory(CYCLES, 0, true),
            in_memory(CYCLES, 500_000, true),
            in_memory(CYCLES / 4, 0, false),
        ],
    })
}

#[derive(Clone, Copy)]
struct CalibrationRound {
    bare: BareLoop,
    generator_per_cpu_s: f64,
    cycles_per_s: f64,
}

fn turn(
    config: &LoadConfig,
    window: usize,
    n: u32,
    stop: &AtomicBool,
) -> Result<CalibrationRound, LoadError> {
    let bare = bare_loop(window, TURN, &config.pin)?;
    let config = LoadConfig { run: config.run.wrapping_add(n), ..config.clone() };
    let control = run(&config, stop)?.control;
    Ok(CalibrationRound {
        bare,
        generator_per_cpu_s: control.answers_per_cpu_s,
        cycles_per_s: control.cycles_per_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upf::N6;
    use crate::{Upf, UpfComponent, UpfLoadComponent};
    use std::net::SocketAddr;

    #[test]
    fn maximum_rate_counts_accepted_packets() {
        let at = |host, port| SocketAddr::from(([127, 62, 17, host], port));
        let n4 = at(8, 8805);
        let n3 = at(8, 2152);
        let upf = Upf::start(&UpfComponent { n4, n3, n6: N6::Sink, ..UpfComponent::default() }).unwrap();
        let smf = Some(at(1, 8805));
        let load = UpfLoad::new(&UpfLoadComponent {
            n4,
            n3,
            smf,
            gnb: Some(at(20, 2152)),
            ..UpfLoadComponent::default()
        })
        .unwrap();
        let config = LoadConfig { smoke: false, ..load.config };
        let reached = flat_out(&config, &N3Io::Sockets, 3, 10, 512, &AtomicBool::new(false)).unwrap();
        drop(upf);
        assert_eq!(
            (reached.io.as_str(), reached.threads, reached.sessions, reached.octets),
            ("sockets", 3, 10, 512)
        );
        assert!(reached.accepted_per_s > 0.0 && reached.per_cpu_s > 0.0, "{reached:?}");
        assert_eq!(reached.accepted_bps, reached.accepted_per_s * 4_096.0);
        assert!((0.0..1.0).contains(&reached.refused_ratio), "{reached:?}");
    }
}
