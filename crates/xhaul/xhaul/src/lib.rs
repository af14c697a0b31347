//! Model of a switched-Ethernet Xhaul: the traffic that it must carry, simulated delays, and delay bounds by network calculus.
//!
//! | item | purpose |
//! |---|---|
//! | [`Scenario`] | cells, hosts, switches and links; yields a [`Plan`] with rates, budgets and capacity before a run |
//! | [`Topology`] | nodes, directed lines and demands of a user-defined network; routes the demands, also over disjoint paths |
//! | [`Network`] | stages and the flows through them: ports with schedulers and links, hosts, air interfaces |
//! | [`Split`] | traffic of a cell in one direction: frames, period, rate, budget |
//! | [`Simulation`] | simulates every frame, in integer picoseconds, with a total order of events (time, sequence) |
//! | [`bounds`] | proven upper bounds of delays |
//! | [`worst_phase`] | searches the phases of the sources with the largest delay |
//! | [`ecpri`], [`cus`], [`if4p5`] | fronthaul messages: eCPRI, O-RAN user plane and control plane, and split 7.1 as implemented by OpenAirInterface |
//! | [`Delays`] | one-way delay, its variation (RFC 5481, RFC 3393, RFC 3550), loss, order, missed budgets |
//!
//! Sizes of frames are bytes on the wire: the MAC frame with its check sequence plus [`WIRE_GAP_BYTES`] of preamble
//! and inter-frame gap. A frame arrives with its last bit. The line is free for the next frame [`INTER_FRAME_GAP_BYTES`]
//! later.

#![deny(missing_docs)]

mod air;
mod bound;
mod control;
pub mod cus;
mod disjoint;
pub mod ecpri;
mod engine;
mod error;
pub mod if4p5;
mod network;
mod pattern;
mod random;
mod reference;
mod scenario;
mod scheduler;
mod search;
mod split;
mod stats;
mod tdd;
mod time;
mod topology;

pub use air::{AirInterface, UplinkAccess};
pub use bound::{Bound, BoundError, Curves, Theorem, bounds};
pub use control::{TAG_BYTES, control_pattern, control_symbols};
pub use engine::{Delivery, FlowReport, Options, Report, Segment, Simulation};
pub use error::{FLOWS_MAX, HOPS_MAX, NetworkError, REPLICAS_MAX, STAGES_MAX};
pub use network::{DelayWindow, Flow, Host, Network, Port, RATE_BPS_MAX, Shared, Stage, StageId};
pub use pattern::{
    INTER_FRAME_GAP_BYTES, Pattern, PatternError, WIRE_BYTES_MAX, WIRE_BYTES_MIN, WIRE_GAP_BYTES,
};
pub use random::{named, numbered};
pub use reference::{REFERENCE_FLOWS, reference_gates, reference_network};
pub use scenario::{Cell, Link, Node, Plan, Role, Scenario, ScenarioError, Stream};
pub use scheduler::{
    CLASSES, GATE_ENTRIES_MAX, GateEntry, Gates, Scheduler, SchedulerError, TokenBucket,
    WIRE_PREEMPTION_BYTES,
};
pub use search::{Search, WorstCase, worst_phase};
pub use split::{Carrier, F1U_BYTES, IF4P5_PRACH_BYTES, Load, Split, SplitError, wire_bytes};
pub use stats::{BUDGETS, Budget, Delays};
pub use tdd::{Direction, Tdd, TddError};
pub use time::{Clock, DRIFT_PPB_MAX, Duration, MS, NS, Ps, Quantiles, S, US};
pub use topology::{Demand, Line, Topology, TopologyError};
