//! Measures the speed of the user plane relative to real time: slot by slot on two threads, and with the fluid model
//! over a day. On a machine with other load, use the CPU time: half of it is the wall-clock time on two idle cores.
//!
//! `cargo run --release -p ranlab-radio --example user_plane_speed [slot|fleet|day|hour [HOURS]]`
#![allow(clippy::disallowed_methods, reason = "a stopwatch around the model, not in it")]

use std::time::Instant;

use ranlab_radio::user_plane::{
    Carrier, Cell, CellConfig, Channel, Direction, FlowConfig, FluidCell, Traffic, UeConfig,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CELLS: u64 = 1000;
const UES: u32 = 10;
const THREADS: u64 = 2;

fn main() -> Result<(), Failure> {
    let only = std::env::args().nth(1);
    let selected = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if selected("slot") {
        for (name, kbps) in [("1 Mbit/s each", 1000), ("full buffer", 0)] {
            slots(name, kbps)?;
        }
    }
    if selected("fleet") {
        for (name, kbps) in [("1 Mbit/s each", 1000), ("full buffer", 0)] {
            fleet(name, kbps)?;
        }
    }
    let hours = std::env::args().nth(2).map(|hours| hours.parse()).transpose()?;
    if selected("day") {
        day(hours.unwrap_or(24))?;
    }
    if selected("hour") {
        hour(hours.unwrap_or(1))?;
    }
    Ok(())
}

/// Measures wall-clock and CPU time since its creation.
struct Stopwatch {
    start: Instant,
    cpu: f64,
}

impl Stopwatch {
    fn start() -> Self {
        Self { start: Instant::now(), cpu: cpu_s() }
    }

    /// Returns the elapsed wall-clock time and CPU time, in seconds.
    fn stop(&self) -> (f64, f64) {
        (self.start.elapsed().as_secs_f64(), cpu_s() - self.cpu)
    }
}

/// Returns user and system time of this process, in seconds, or NaN if the kernel does not report it.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> =
        after.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    if ticks.len() == 2 { (ticks[0] + ticks[1]) / 100.0 } else { f64::NAN }
}

fn traffic(kbps: u32) -> Traffic {
    match kbps {
        0 => Traffic::FullBuffer,
        kbps => Traffic::OnOff { kbps: 4 * kbps, packet_bytes: 1200, on_ms: 200, off_ms: 600, random: true },
    }
}

fn ue(id: u32, kbps: u32, correlation: f32) -> UeConfig {
    let mean_db = 6.0 + (id % 20) as f32;
    let channel = Channel::Fading { mean_db, correlation };
    UeConfig { channel, ..UeConfig::fixed(id, 0, vec![FlowConfig::new(traffic(kbps))]) }
}

/// Measures some seconds of LTE cells of 5 MHz, slot by slot.
fn slots(name: &str, kbps: u32) -> Result<(), Failure> {
    const SECONDS: u64 = 2;
    let mut shards = Vec::new();
    for shard in 0..THREADS {
        let mut cells = Vec::new();
        for seed in 0..CELLS / THREADS {
            let seed = shard * CELLS + seed;
            let mut cell = Cell::new(CellConfig { seed, ..CellConfig::new(Carrier::lte(25)) })?;
            for id in 0..UES {
                cell.attach(ue(id, kbps, 0.999))?;
            }
            cells.push(cell);
        }
        shards.push(cells);
    }
    let watch = Stopwatch::start();
    let shards: Vec<Vec<Cell>> = std::thread::scope(|scope| {
        let run = |mut cells: Vec<Cell>| {
            // Each cell is advanced by a tenth of a second before the next one, so that its state stays in the CPU cache.
            for tenth in 1..=SECONDS * 10 {
                cells.iter_mut().for_each(|cell| cell.advance(tenth * 100_000));
            }
            cells
        };
        let threads: Vec<_> = shards.into_iter().map(|cells| scope.spawn(move || run(cells))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let (elapsed, cpu) = watch.stop();
    let reports = shards.iter().flatten().flat_map(Cell::reports);
    let bytes: u64 = reports.map(|ue| ue.dl.rlc_sdu_bytes_out).sum();
    println!(
        "slot, {CELLS} cells x {UES} UEs, {name}: {:.2} times real time, {:.2} by CPU time; {:.2} us of CPU per cell-TTI, {:.1} Mbit/s per cell",
        SECONDS as f64 / elapsed,
        (SECONDS * THREADS) as f64 / cpu,
        cpu * 1e6 / (CELLS * SECONDS * 1000) as f64,
        bytes as f64 * 8e-6 / (SECONDS * CELLS) as f64,
    );
    Ok(())
}

/// Measures a fleet of NR cells with 106 PRBs on one thread, with reports every 100 ms, both slot by slot and in
/// steps of 10 ms.
fn fleet(name: &str, kbps: u32) -> Result<(), Failure> {
    const STATIONS: u64 = 200;
    const TENTHS: [u64; 2] = [10, 300];
    let mut slots = Vec::new();
    let mut fluid = Vec::new();
    for seed in 0..STATIONS {
        let config = CellConfig { seed, ..CellConfig::new(Carrier::n78(106)) };
        let mut exact = Cell::new(config.clone())?;
        let mut coarse = FluidCell::new(config, 20)?;
        for id in 0..UES {
            exact.attach(ue(id, kbps, 0.99))?;
            coarse.attach(&ue(id, kbps, 0.99))?;
        }
        slots.push(exact);
        fluid.push(coarse);
    }
    let measure = |tenths: u64, cells: &mut dyn FnMut(u64) -> u64| {
        let watch = Stopwatch::start();
        let reports: u64 = (1..=tenths).map(|tenth| cells(tenth * 100_000)).sum();
        (tenths as f64 / 10.0 / watch.stop().1, reports)
    };
    let mut pass =
        |now_us| slots.iter_mut().map(|cell| (cell.advance(now_us), cell.reports().count() as u64).1).sum();
    let (exact, one) = measure(TENTHS[0], &mut pass);
    let mut pass =
        |now_us| fluid.iter_mut().map(|cell| (cell.advance(now_us), cell.reports().count() as u64).1).sum();
    let (coarse, other) = measure(TENTHS[1], &mut pass);
    println!(
        "fleet, {STATIONS} cells x {UES} UEs, {name}: {exact:.2} times real time by slots, {coarse:.0} in steps, by CPU time of one thread ({} reports)",
        one + other
    );
    Ok(())
}

/// Measures a day (or `hours`) of 50 cells x 20 UEs, in steps of 100 ms.
fn day(hours: u64) -> Result<(), Failure> {
    let seconds = hours as f64 * 3600.0;
    for (name, kbps) in [("1 Mbit/s each", 1000), ("full buffer", 0)] {
        let watch = Stopwatch::start();
        let run = |seeds: std::ops::Range<u64>| -> Result<f64, Failure> {
            let mut delivered = 0.0;
            for seed in seeds {
                let config = CellConfig { seed, ..CellConfig::new(Carrier::lte(50)) };
                let mut cell = FluidCell::new(config, 100)?;
                for id in 0..20 {
                    cell.attach(&ue(id, kbps, 0.99))?;
                }
                cell.advance(hours * 3_600_000_000);
                let all = (0..20).filter_map(|ue| cell.stats(ue, Direction::Down));
                delivered += all.map(|ue| ue.delivered).sum::<f64>();
            }
            Ok(delivered)
        };
        let (one, other) = std::thread::scope(|scope| {
            let thread = scope.spawn(|| run(0..25));
            (run(25..50), thread.join())
        });
        let delivered = one? + other.map_err(|_| "a thread panicked")??;
        let (elapsed, cpu) = watch.stop();
        println!(
            "fluid, {hours} h of 50 cells x 20 UEs, {name}: {elapsed:.1} s, {:.0} times real time, {:.0} s by CPU time; {:.2} Mbit/s per cell",
            seconds / elapsed,
            cpu / THREADS as f64,
            delivered * 8e-6 / seconds / 50.0
        );
    }
    Ok(())
}

/// Compares slot model and fluid model over one or more hours.
fn hour(hours: u64) -> Result<(), Failure> {
    let end = hours * 3_600_000_000;
    for (name, kbps, correlation, ues) in [
        ("full buffer, fast", 0, 0.9, UES),
        ("full buffer, 20 UEs", 0, 0.97, 20),
        ("full buffer, slow", 0, 0.999, UES),
        ("1 Mbit/s each", 1000, 0.99, UES),
    ] {
        let config = CellConfig { seed: 1, ..CellConfig::new(Carrier::lte(25)) };
        let mut slot = Cell::new(config.clone())?;
        let mut fluid = FluidCell::new(config, 100)?;
        for id in 0..ues {
            slot.attach(ue(id, kbps, correlation))?;
            fluid.attach(&ue(id, kbps, correlation))?;
        }
        let start = Instant::now();
        slot.advance(end);
        let slot_s = start.elapsed().as_secs_f64();
        fluid.advance(end);
        let fluid_s = start.elapsed().as_secs_f64() - slot_s;
        let slot_bytes: u64 =
            slot.rntis().filter_map(|rnti| slot.flows(rnti)).map(|flows| flows[0].delivered.1).sum();
        let fluid_bytes: f64 =
            (0..ues as usize).filter_map(|ue| fluid.stats(ue, Direction::Down)).map(|ue| ue.delivered).sum();
        println!(
            "{hours} h, {name}: slot {:.3} Mbit/s in {slot_s:.1} s, fluid {:.3} Mbit/s in {fluid_s:.2} s: {:+.2} %",
            slot_bytes as f64 * 8.0 / end as f64,
            fluid_bytes * 8.0 / end as f64,
            100.0 * (fluid_bytes / slot_bytes as f64 - 1.0),
        );
    }
    Ok(())
}
