//! Reference midhaul for comparisons of bounds and schedulers: two small cells and a loaded 1 Gbit/s switch.

use super::network::{Flow, Network, Port, Shared, Stage, StageId};
use super::pattern::Pattern;
use super::scheduler::{GateEntry, Gates, Scheduler};
use super::time::{Clock, Duration, MS, NS, US};

/// Names of the flows of [`reference_network`] by index: IQ of split 7.1 down and up, F1-U of split 2 down and up, background up and down.
pub const REFERENCE_FLOWS: [&str; 6] =
    ["IQ DL", "IQ UL", "F1-U DL", "F1-U UL", "background UL", "background DL"];

/// Returns the reference midhaul with two 5 MHz cells, one of split 7.1 and one of split 2. A cell of split 7.1 sends 14 symbols of 650
/// bytes in each TTI, at once or `spread` over the TTI. A cell of split 2 sends 13.5 Mbit/s in frames of 1536 bytes. The background has 850
/// Mbit/s of 1000-byte frames in each direction. All traffic passes one switch (2 µs, 100 m cables) to a host with one port.
///
/// `scheduler` applies to the two ports that all flows share: the host's port and the switch's port towards the host. With
/// [`Scheduler::Gates`], the IQ flows are sent at the beginning of the cycle.
pub fn reference_network(scheduler: &Scheduler, spread: bool) -> Network {
    let names = ["CU", "switch-DU1", "switch-DU2", "switch-tester", "DU1", "DU2", "tester", "switch-CU"];
    let stages = names.iter().map(|&name| {
        let shared = name == "CU" || name == "switch-CU";
        // Gates are used only where classes share a port. All other schedulers are used at every port.
        let own = if shared || !matches!(scheduler, Scheduler::Gates(_)) {
            scheduler.clone()
        } else {
            Scheduler::StrictPriority
        };
        Stage::Port(Port {
            propagation_ps: 500 * NS,
            forwarding: Duration::Constant(2 * US),
            scheduler: own,
            ..Port::new(name, 1_000_000_000)
        })
    });
    let iq = |path: [StageId; 2], name| {
        let (releases, count) = if spread { (14, 1) } else { (1, 14) };
        let frames = vec![650; count];
        flow(name, 7, path, Pattern::Periodic { period_ps: MS, releases, frames, jitter_ps: 0 }, 0)
    };
    let f1u = |path, name, offset| {
        let frames = vec![1536];
        let pattern =
            Pattern::Periodic { period_ps: 871_111_111, releases: 1, frames, jitter_ps: 20 * US - 1 };
        flow(name, 4, path, pattern, offset)
    };
    let load = |path, name, offset| flow(name, 0, path, Pattern::constant(9_411_764, 1020), offset);
    let names = REFERENCE_FLOWS;
    Network {
        stages: stages.collect(),
        flows: vec![
            iq([0, 1], names[0]),
            iq([4, 7], names[1]),
            f1u([0, 2], names[2], 13 * US),
            f1u([5, 7], names[3], 17 * US),
            load([6, 7], names[4], 3 * US),
            load([0, 3], names[5], 5 * US),
        ],
    }
}

/// Returns a gate control list with a cycle of 1 ms, which begins with 100 µs for class 7 only.
pub fn reference_gates() -> Gates {
    let entries = vec![
        GateEntry { duration_ps: 100 * US, open: 0x80 },
        GateEntry { duration_ps: 900 * US, open: 0x7F },
    ];
    Gates { entries, clock: Clock::default() }
}

fn flow(name: &str, class: u8, path: [StageId; 2], pattern: Pattern, offset_ps: u64) -> Flow {
    Flow {
        name: name.to_owned(),
        class,
        path: path.to_vec(),
        replicas: Vec::new(),
        shared: Shared::default(),
        pattern,
        offset_ps,
        clock: Clock::default(),
        regulator: None,
        budget_ps: (class == 7).then_some(100 * US),
        window: None,
    }
}
