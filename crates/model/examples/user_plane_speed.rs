//! How fast the user plane runs: cells x UEs against real time on two threads, and the fluid fidelity over a day.
//!
//! `cargo run --release -p ranlab-model --example user_plane_speed [slot|day|hour]`
#![allow(clippy::disallowed_methods, reason = "a stopwatch around the model, not in it")]

use std::time::Instant;

use ranlab_model::user_plane::{
    Carrier, Cell, CellConfig, Channel, Direction, FlowConfig, FluidCell, Traffic, UeConfig,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CELLS: u64 = 1000;
const UES: u32 = 10;
const THREADS: u64 = 2;

fn main() -> Result<(), Failure> {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("slot") {
        for (name, kbps) in [("1 Mbit/s each", 1000), ("full buffer", 0)] {
            slots(name, kbps)?;
        }
    }
    if wanted("day") {
        day()?;
    }
    if wanted("hour") {
        hour()?;
    }
    Ok(())
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

/// LTE of 5 MHz, and a second of it.
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
    let start = Instant::now();
    let shards: Vec<Vec<Cell>> = std::thread::scope(|scope| {
        let run = |mut cells: Vec<Cell>| {
            // A tenth of a second of one cell after the other: a cell's state stays near.
            for tenth in 1..=SECONDS * 10 {
                cells.iter_mut().for_each(|cell| cell.advance(tenth * 100_000));
            }
            cells
        };
        let threads: Vec<_> = shards.into_iter().map(|cells| scope.spawn(move || run(cells))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let elapsed = start.elapsed().as_secs_f64();
    let reports = shards.iter().flatten().flat_map(Cell::reports);
    let bytes: u64 = reports.map(|ue| ue.dl.rlc_sdu_bytes_out).sum();
    println!(
        "slot, {CELLS} cells x {UES} UEs, {name}: {:.2} times real time, {:.2} us per cell-TTI and thread, {:.1} Mbit/s per cell",
        SECONDS as f64 / elapsed,
        elapsed * 1e6 * THREADS as f64 / (CELLS * SECONDS * 1000) as f64,
        bytes as f64 * 8e-6 / (SECONDS * CELLS) as f64,
    );
    Ok(())
}

/// 24 h of 50 cells x 20 UEs, steps of 100 ms, one thread.
fn day() -> Result<(), Failure> {
    let start = Instant::now();
    let mut delivered = 0.0;
    for seed in 0..50 {
        let mut cell = FluidCell::new(CellConfig { seed, ..CellConfig::new(Carrier::lte(50)) }, 100)?;
        for id in 0..20 {
            cell.attach(&ue(id, 1000, 0.99))?;
        }
        cell.advance(86_400_000_000);
        delivered +=
            (0..20).filter_map(|ue| cell.stats(ue, Direction::Down)).map(|ue| ue.delivered).sum::<f64>();
    }
    let elapsed = start.elapsed().as_secs_f64();
    println!(
        "fluid, a day of 50 cells x 20 UEs: {elapsed:.1} s, {:.0} times real time, {:.2} Mbit/s per cell",
        86_400.0 / elapsed,
        delivered * 8e-6 / 86_400.0 / 50.0
    );
    Ok(())
}

/// An hour in both fidelities.
fn hour() -> Result<(), Failure> {
    const END: u64 = 3_600_000_000;
    for (name, kbps, correlation) in
        [("full buffer, fast", 0, 0.9), ("full buffer, slow", 0, 0.999), ("1 Mbit/s each", 1000, 0.99)]
    {
        let config = CellConfig { seed: 1, ..CellConfig::new(Carrier::lte(25)) };
        let mut slot = Cell::new(config.clone())?;
        let mut fluid = FluidCell::new(config, 100)?;
        for id in 0..UES {
            slot.attach(ue(id, kbps, correlation))?;
            fluid.attach(&ue(id, kbps, correlation))?;
        }
        let start = Instant::now();
        slot.advance(END);
        let slot_s = start.elapsed().as_secs_f64();
        fluid.advance(END);
        let fluid_s = start.elapsed().as_secs_f64() - slot_s;
        let slot_bytes: u64 =
            slot.rntis().filter_map(|rnti| slot.flows(rnti)).map(|flows| flows[0].delivered.1).sum();
        let fluid_bytes: f64 =
            (0..UES as usize).filter_map(|ue| fluid.stats(ue, Direction::Down)).map(|ue| ue.delivered).sum();
        println!(
            "an hour, {name}: slot {:.3} Mbit/s in {slot_s:.1} s, fluid {:.3} Mbit/s in {fluid_s:.2} s: {:+.2} %",
            slot_bytes as f64 * 8.0 / END as f64,
            fluid_bytes * 8.0 / END as f64,
            100.0 * (fluid_bytes / slot_bytes as f64 - 1.0),
        );
    }
    Ok(())
}
