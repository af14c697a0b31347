//! Benchmarks of the RIC in its own process, compared with a bare relay or echo on the same machine and transport.
use crate::load::{Load, Rig};
use crate::ping::{Places, echo_rtt_us, iapp_rtt_us, xapp_rtt_us};
use crate::process::{Process, free_address, own, ranlab, ranlab_ric};
use crate::report::{Bar, Line, Report};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of rounds of each comparison. The minimum of each side is used, so that disturbed rounds have no effect.
const ROUNDS: usize = 3;
/// Number of rounds of pings. Each round takes a second.
const PING_ROUNDS: usize = 7;
/// Limit for forwarding: CPU time of the RIC per indication, as a multiple of a bare relay.
const FORWARD_BAR: f64 = 1.5;
/// Limit for throughput, in indications per CPU second.
const FLAT_OUT_BAR: f64 = 100_000.0;
/// Limit for a second thread: indications per CPU second, as a multiple of the value with one thread.
const TWO_THREADS_BAR: f64 = 0.9;
/// Number of rounds of the comparison of threads, which is sensitive to disturbances.
const THREADS_ROUNDS: usize = 7;
/// Loads of the comparison of threads in indications per second, in addition to the maximum load.
const THREADS_RATES: [u32; 3] = [20_000, 60_000, 100_000];
/// Limit for the memory of an idle lean RIC (PSS), in MB.
const IDLE_BAR_MB: f64 = 5.0;
/// Limit for the size of the lean RIC, in MB.
const RIC_SIZE_BAR_MB: f64 = 10.0;
/// Limit for the size of the complete program, in MB.
const SIZE_BAR_MB: f64 = 28.0;
/// Number of free cores below which a second thread competes with the generator or the receiver.
const SPEED_UP_CORES: f64 = 4.0;

/// Returns the CPU time of a process per indication, in microseconds, and the number of indications per second.
fn cost_us(process: &Process, rig: Rig, load: Load) -> Option<(f64, f64)> {
    let mut run = rig.connect(load)?;
    run.warm_up();
    let cpu = process.cpu_s();
    let begin = Instant::now();
    let delivered = run.measure();
    let spent = process.cpu_s() - cpu;
    let rate = delivered as f64 / begin.elapsed().as_secs_f64();
    (delivered > 0).then(|| (spent * 1e6 / delivered as f64, rate))
}

fn ric_cost_us(load: Load) -> Option<(f64, f64)> {
    ric_with_cost_us(load, &[])
}

fn ric_with_cost_us(load: Load, with: &[&str]) -> Option<(f64, f64)> {
    let e2 = free_address();
    let e42 = free_address();
    let e2_at = e2.to_string();
    let e42_at = e42.to_string();
    let arguments = [&["ric", "--e2", &e2_at, "--e42", &e42_at], with].concat();
    let process = Process::start(&ranlab(), &arguments);
    cost_us(&process, Rig::Ric { e2, e42 }, load)
}

fn relay_cost_us(load: Load) -> Option<(f64, f64)> {
    let upstream = free_address();
    let downstream = free_address();
    let process = Process::start(&own(), &["relay", &upstream.to_string(), &downstream.to_string()]);
    cost_us(&process, Rig::Relay { upstream, downstream }, load)
}

/// Returns the lowest CPU time per indication of the RIC and of the relay, and the RIC's rate in the last round. Each
/// round measures both, one after the other.
fn compare(load: Load) -> (f64, f64, f64) {
    let mut ric = f64::INFINITY;
    let mut relay = f64::INFINITY;
    let mut rate = 0.0;
    for _ in 0..ROUNDS {
        if let Some((us, per_s)) = ric_cost_us(load) {
            ric = ric.min(us);
            rate = per_s;
        }
        if let Some((us, _)) = relay_cost_us(load) {
            relay = relay.min(us);
        }
    }
    (ric, relay, rate)
}

pub(crate) fn bench_forward(report: &mut Report) {
    for rate in [4_000, 20_000] {
        let load = Load { per_second: Some(rate), duration: Duration::from_secs(4) };
        let (ric, relay, delivered) = compare(load);
        report.add(Line {
            name: format!("forward 3.3 kB at {rate}/s ({delivered:.0}/s arrived), RIC CPU"),
            measured: ric,
            floor: Some(relay),
            unit: "us",
            bar: Bar::AtMostTimesFloor(FORWARD_BAR),
        });
    }
    let (ric, relay, _) = compare(Load { per_second: None, duration: Duration::from_secs(4) });
    report.add(Line {
        name: "forward 3.3 kB at full speed, per CPU-second".to_owned(),
        measured: 1e6 / ric,
        floor: Some(1e6 / relay),
        unit: "/s",
        bar: Bar::AtLeast(FLAT_OUT_BAR),
    });
}

/// Measures a RIC with one thread, a RIC with two threads, and a bare relay in turn. Compares the CPU time per indication
/// (sum of all threads) at loads that a single thread can also process, and at maximum load.
pub(crate) fn bench_threads(report: &mut Report) {
    let free = free_cores();
    for rate in THREADS_RATES {
        on_threads(report, Some(rate));
    }
    let rates = on_threads(report, None);
    if free < SPEED_UP_CORES {
        report.note(format!(
            "speed-up by a second thread: not measured, because {free:.1} cores are free and {SPEED_UP_CORES} are needed (two for \
             the RIC, one each for sender and receiver)"
        ));
    } else {
        report.add(Line {
            name: "forward 3.3 kB at full speed with 2 threads compared with 1, per second".to_owned(),
            measured: rates[1],
            floor: Some(rates[0]),
            unit: "/s",
            bar: Bar::None,
        });
    }
}

/// Measures one load. Returns the maximum rate per second for each number of threads.
fn on_threads(report: &mut Report, per_second: Option<u32>) -> [f64; 2] {
    let load = Load { per_second, duration: Duration::from_secs(2) };
    let what = per_second.map_or_else(|| "at full speed".to_owned(), |rate| format!("at {rate}/s"));
    let mut cost = [f64::INFINITY; 2];
    let mut relay = f64::INFINITY;
    let mut came = [[0.0, f64::INFINITY]; 2];
    let mut rounds = Vec::new();
    let mut at_once = f64::INFINITY;
    for _ in 0..THREADS_ROUNDS {
        let mut round = [f64::INFINITY; 2];
        for (threads, with) in [["--threads", "1"], ["--threads", "2"]].iter().enumerate() {
            if let Some((us, per_s)) = ric_with_cost_us(load, with) {
                round[threads] = us;
                came[threads] = [came[threads][0].max(per_s), came[threads][1].min(per_s)];
            }
        }
        if let Some((us, _)) = ric_with_cost_us(load, &["--threads", "2", "--thread-load", "0"]) {
            at_once = at_once.min(us);
        }
        cost = [cost[0].min(round[0]), cost[1].min(round[1])];
        rounds.push(round[1] / round[0]);
        if let Some((us, _)) = relay_cost_us(load) {
            relay = relay.min(us);
        }
    }
    rounds.sort_by(f64::total_cmp);
    report.add(Line {
        name: format!("forward 3.3 kB {what} with 2 threads compared with 1, RIC CPU"),
        measured: cost[1],
        floor: Some(cost[0]),
        unit: "us",
        bar: Bar::AtMostTimesFloor(1.0 / TWO_THREADS_BAR),
    });
    let [one, two] = came;
    report.note(format!(
        "{what}, 2 threads compared with 1: ratio of RIC CPU time per round {:.2} to {:.2}, median {:.2}. CPU time of a bare \
         relay: {relay:.2} us; of 2 threads with evenly divided links: {at_once:.2} us. Arrived with 1 thread: {:.0} to {:.0}/s; \
         with 2 threads: {:.0} to {:.0}/s",
        rounds[0],
        rounds[rounds.len() - 1],
        rounds[rounds.len() / 2],
        one[1],
        one[0],
        two[1],
        two[0],
    ));
    [one[0], two[0]]
}

/// Returns the number of idle cores: the cores available to this process, minus the load of the last minute.
fn free_cores() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let busy: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
    (cores - busy).max(0.0)
}

/// Measures the idle memory of the lean RIC (`make ric`), and the sizes of both binaries.
pub(crate) fn bench_idle(report: &mut Report) {
    let e2 = free_address();
    let e42 = free_address();
    let process = Process::start(&ranlab_ric(), &["--e2", &e2.to_string(), "--e42", &e42.to_string()]);
    std::thread::sleep(Duration::from_secs(1));
    report.add(Line {
        name: "ranlab-ric idle, proportional set size".to_owned(),
        measured: process.pss_mb(),
        floor: None,
        unit: "MB",
        bar: Bar::AtMost(IDLE_BAR_MB),
    });
    for (name, program, bar) in
        [("ranlab-ric, stripped", ranlab_ric(), RIC_SIZE_BAR_MB), ("ranlab, stripped", ranlab(), SIZE_BAR_MB)]
    {
        report.add(Line {
            name: name.to_owned(),
            measured: stripped_mb(&program),
            floor: None,
            unit: "MB",
            bar: Bar::AtMost(bar),
        });
    }
}

/// Returns the size of a binary in MB. The result is infinite if the binary has a symbol table or cannot be read.
fn stripped_mb(program: &Path) -> f64 {
    match std::fs::read(program) {
        Ok(elf) if is_stripped(&elf) => elf.len() as f64 / 1e6,
        Ok(_) => {
            eprintln!(
                "{} has a symbol table: it was not built with the profile's `strip = true`",
                program.display()
            );
            f64::INFINITY
        }
        Err(_) => f64::INFINITY,
    }
}

/// Returns whether a 64-bit ELF file has no symbol table (section type SHT_SYMTAB).
fn is_stripped(elf: &[u8]) -> bool {
    const SYMTAB: u32 = 2;
    let bytes = |at: usize, len: usize| elf.get(at..at + len).unwrap_or_default();
    let u16_at = |at| bytes(at, 2).try_into().map_or(0, u16::from_le_bytes);
    let sections = bytes(0x28, 8).try_into().map_or(0, u64::from_le_bytes);
    let size = u16_at(0x3a);
    let count = u16_at(0x3c);
    let kind = |index: u16| {
        let at =
            usize::try_from(sections).unwrap_or(usize::MAX / 2) + usize::from(index) * usize::from(size) + 4;
        bytes(at, 4).try_into().map_or(0, u32::from_le_bytes)
    };
    elf.starts_with(b"\x7fELF") && (0..count).all(|index| kind(index) != SYMTAB)
}

/// Measures round trips over TCP with 1,500 bytes: a bare echo, from an iApp to a node, and from an xApp through the
/// RIC to a node.
pub(crate) fn bench_ping(report: &mut Report) {
    // The measurement runs in a separate thread, so that later work is not pinned to its CPU.
    let least = std::thread::spawn(|| {
        let several = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
        let places = match several && ranlab_net::pin_thread(0).is_ok() {
            true => Places { near: Some(0), far: Some(1) },
            false => Places { near: None, far: None },
        };
        let mut least = [f64::INFINITY; 3];
        for _ in 0..PING_ROUNDS {
            let round = [echo_rtt_us(places), iapp_rtt_us(places), xapp_rtt_us(places)];
            for (least, rtt) in least.iter_mut().zip(round) {
                *least = least.min(rtt.unwrap_or(f64::INFINITY));
            }
        }
        least
    });
    let [echo, iapp, xapp] = least.join().unwrap_or([f64::INFINITY; 3]);
    for (name, measured, bar) in [("ping iApp - node", iapp, 1.5), ("ping xApp - RIC - node", xapp, 3.0)] {
        report.add(Line {
            name: format!("{name} over TCP, median"),
            measured,
            floor: Some(echo),
            unit: "us",
            bar: Bar::AtMostTimesFloor(bar),
        });
    }
}
