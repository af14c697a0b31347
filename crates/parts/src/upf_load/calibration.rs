//! What this machine can do at best, and the generator beside it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ranlab_emulator::load::{BareLoop, LoadConfig, LoadError, Loop, Mode, bare_loop, run};
use ranlab_emulator::upf::{InMemory, in_memory};
use serde::Serialize;

use super::UpfLoad;

/// Each is measured so often; the medians count.
const TURNS: usize = Calibration::TURNS;
const TURN: Duration = Duration::from_secs(2);
/// Sessions that come and go without sockets.
const CYCLES: u64 = 1 << 20;

/// What a machine can do.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// Bare sendmmsg and recvmmsg against an echo thread.
    pub bare: BareLoop,
    /// Requests answered for each second of the SMF thread's CPU time, against the UPF named.
    pub generator_per_cpu_s: f64,
    /// Their ratio.
    pub ratio: f64,
    /// Sessions in a second of wall time.
    pub cycles_per_s: f64,
    /// Our UPF without sockets: sessions recognised by their octets, with 500,000 that live, and each decoded.
    pub in_memory: [Option<InMemory>; 3],
}

impl Calibration {
    /// Turns that the figures are medians of.
    pub const TURNS: usize = 3;
}

impl UpfLoad {
    /// The bare loop and the generator in turns, so that both see the same machine.
    ///
    /// # Errors
    /// The UPF cannot be loaded.
    pub fn calibrate(&self, window: usize, stop: &AtomicBool) -> Result<Calibration, LoadError> {
        let begin = Loop::Closed { window };
        let mode = Mode::Control { begin, cycles: None, duration: TURN, hold: Duration::ZERO, live: 0 };
        calibration(&LoadConfig { mode, smoke: false, ..self.config.clone() }, window, stop)
    }
}

fn calibration(config: &LoadConfig, window: usize, stop: &AtomicBool) -> Result<Calibration, LoadError> {
    let turns = (0..TURNS as u32).map(|n| turn(config, window, n, stop));
    let mut turns = turns.collect::<Result<Vec<_>, _>>()?;
    let mut median = |of: &dyn Fn(&Turn) -> f64| {
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
        in_memory: [
            in_memory(CYCLES, 0, true),
            in_memory(CYCLES, 500_000, true),
            in_memory(CYCLES / 4, 0, false),
        ],
    })
}

#[derive(Clone, Copy)]
struct Turn {
    bare: BareLoop,
    generator_per_cpu_s: f64,
    cycles_per_s: f64,
}

fn turn(config: &LoadConfig, window: usize, n: u32, stop: &AtomicBool) -> Result<Turn, LoadError> {
    let bare = bare_loop(window, TURN, &config.pin)?;
    let config = LoadConfig { run: config.run.wrapping_add(n), ..config.clone() };
    let control = run(&config, stop)?.control;
    Ok(Turn { bare, generator_per_cpu_s: control.answers_per_cpu_s, cycles_per_s: control.cycles_per_s })
}
