//! The telco pipelines of the benchmark TIPSY, with TIPSY's names and defaults of their parameters. Each pipeline has
//! its declaration (`build`), traffic (`frame`, `events`) and oracle in one file. User-declared pipelines are in
//! [`own`].
pub mod acl;
mod addressing;
pub mod bng;
pub mod dcgw;
pub mod encap;
mod gateway;
pub mod l2fwd;
pub mod l3fwd;
pub mod mgw;
pub mod nat;
pub mod own;
pub mod portfwd;
pub mod rlimit;

pub(crate) use gateway::GW_MAC;

use crate::declare::{Declaration, Direction, Event, EventKind, Port, Verdict};
use crate::reference::{Step, decide};
use ranlab_machine::Random;
use serde::{Deserialize, Serialize};

/// Maximum number of entries that a parameter may request for one table.
pub const TABLE_MAX: u32 = 1 << 21;

/// A pipeline and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum Pipeline {
    /// Port forwarding: the baseline.
    Portfwd(portfwd::Portfwd),
    /// Ethernet switch.
    L2fwd(l2fwd::L2fwd),
    /// IP router.
    L3fwd(l3fwd::L3fwd),
    /// VXLAN tunnel endpoint.
    Encap(encap::Encap),
    /// Rate limiter.
    Rlimit(rlimit::Rlimit),
    /// Firewall.
    #[serde(alias = "fw")]
    Acl(acl::Acl),
    /// Static address translation.
    Nat(nat::Nat),
    /// Data centre gateway.
    Dcgw(dcgw::Dcgw),
    /// Mobile gateway.
    Mgw(mgw::Mgw),
    /// Broadband network gateway.
    Bng(bng::Bng),
    /// A user-declared pipeline.
    Own(own::Own),
}

/// The reason why a pipeline cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} is {value}; allowed are {least} to {most}")]
pub struct ParameterError {
    /// Name of the parameter in the configuration.
    pub parameter: &'static str,
    /// Value of the parameter.
    pub value: u64,
    /// Minimum of the parameter.
    pub least: u64,
    /// Maximum of the parameter.
    pub most: u64,
}

/// Distribution of events over a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Evenly over the second.
    #[default]
    Even,
    /// All events at the beginning of the second, as in TIPSY's controller.
    Burst,
}

/// Declares the parameters of a pipeline with TIPSY's names, one per line: `name: Type = default, "meaning";`. Adds the
/// parameters common to all pipelines.
macro_rules! parameters {
    ($(#[$meta:meta])* $name:ident, fakedrop $fakedrop:literal {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr, $doc:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct $name {
            /// Number of cores of the system under test.
            pub core: u16,
            /// Whether unmatched packets are sent to the other port.
            pub fakedrop: bool,
            $($(#[$field_meta])* #[doc = $doc] pub $field: $type,)*
            /// Division of the elements into blocks.
            pub decomposition: $crate::declare::Decomposition,
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    core: 1,
                    fakedrop: $fakedrop,
                    $($field: $default,)*
                    decomposition: $crate::declare::Decomposition::Block,
                }
            }
        }
    };
}
use parameters;

macro_rules! each {
    ($self:expr, $p:ident => $do:expr) => {
        match $self {
            Pipeline::Portfwd($p) => $do,
            Pipeline::L2fwd($p) => $do,
            Pipeline::L3fwd($p) => $do,
            Pipeline::Encap($p) => $do,
            Pipeline::Rlimit($p) => $do,
            Pipeline::Acl($p) => $do,
            Pipeline::Nat($p) => $do,
            Pipeline::Dcgw($p) => $do,
            Pipeline::Mgw($p) => $do,
            Pipeline::Bng($p) => $do,
            Pipeline::Own($p) => $do,
        }
    };
}

impl Pipeline {
    /// Returns TIPSY's ten pipelines with their defaults.
    #[must_use]
    pub fn all() -> [Self; 10] {
        [
            Self::Portfwd(portfwd::Portfwd::default()),
            Self::L2fwd(l2fwd::L2fwd::default()),
            Self::L3fwd(l3fwd::L3fwd::default()),
            Self::Encap(encap::Encap::default()),
            Self::Rlimit(rlimit::Rlimit::default()),
            Self::Acl(acl::Acl::default()),
            Self::Nat(nat::Nat::default()),
            Self::Dcgw(dcgw::Dcgw::default()),
            Self::Mgw(mgw::Mgw::default()),
            Self::Bng(bng::Bng::default()),
        ]
    }

    /// Returns the name of the pipeline in TIPSY and in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Portfwd(_) => "portfwd",
            Self::L2fwd(_) => "l2fwd",
            Self::L3fwd(_) => "l3fwd",
            Self::Encap(_) => "encap",
            Self::Rlimit(_) => "rlimit",
            Self::Acl(_) => "acl",
            Self::Nat(_) => "nat",
            Self::Dcgw(_) => "dcgw",
            Self::Mgw(_) => "mgw",
            Self::Bng(_) => "bng",
            Self::Own(_) => "own",
        }
    }

    /// Returns the declaration of the static pipeline.
    pub fn build(&self) -> Result<Declaration, ParameterError> {
        self.check()?;
        Ok(each!(self, p => p.build()))
    }

    /// Checks that every parameter is in range.
    pub fn check(&self) -> Result<(), ParameterError> {
        each!(self, p => p.check())
    }

    /// Returns the number of entries of the table that decides in this direction. As in TIPSY, this number is the
    /// default size of a trace.
    #[must_use]
    pub fn table_entries(&self, direction: Direction) -> u64 {
        each!(self, p => p.table_entries(direction))
    }

    /// Returns a frame of the flow `flow`. Fields that the flow's number does not determine are drawn from the flow's
    /// random stream. The parameters have already been checked.
    pub(crate) fn frame(&self, flow: Flow, random: &mut Random, bytes: usize) -> Vec<u8> {
        each!(self, p => p.frame(flow, random, bytes))
    }

    /// Returns the events of a second of a run, in order.
    pub fn events(&self, second: u64) -> Result<Vec<Event>, ParameterError> {
        self.check()?;
        Ok(match self {
            Self::L2fwd(p) => p.events(second),
            Self::L3fwd(p) => p.events(second),
            Self::Mgw(p) => p.events(second),
            Self::Bng(p) => p.events(second),
            Self::Own(p) => p.events(second),
            // The other pipelines have no events.
            _ => Vec::new(),
        })
    }

    /// Returns a new oracle, to which no event has been applied.
    pub fn oracle(&self) -> Result<Oracle, ParameterError> {
        self.check()?;
        Ok(each!(self, p => Oracle { fakedrop: p.fakedrop, reference: Box::new(p.oracle()) }))
    }
}

/// The oracle of a pipeline: a slow reference implementation. For every packet, its result is the required result of
/// all engines and backends.
pub struct Oracle {
    fakedrop: bool,
    reference: Box<dyn Reference>,
}

/// Direction of a flow, and the number of the flow in this direction.
pub(crate) type Flow = (Direction, u64);

/// The reference implementation of a pipeline.
pub(crate) trait Reference {
    /// Processes one packet. After the call, `frame` has the content at the time of the verdict.
    fn process(&mut self, now_ns: u64, ingress: Port, frame: &mut Vec<u8>) -> Step<Port>;
    /// Applies an event.
    fn apply(&mut self, what: EventKind) {
        let _ = what;
    }
}

impl Oracle {
    /// Processes one packet. `frame` becomes the frame that is sent.
    pub fn process(&mut self, now_ns: u64, ingress: Port, frame: &mut Vec<u8>) -> Verdict {
        decide(ingress, self.fakedrop, self.reference.process(now_ns, ingress, frame))
    }

    /// Applies an event. Events that the pipeline does not support are ignored.
    pub fn apply(&mut self, what: EventKind) {
        self.reference.apply(what);
    }
}

/// Checks that a parameter is in range.
fn bounded(parameter: &'static str, value: u32, least: u32, most: u32) -> Result<(), ParameterError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ParameterError { parameter, value: value.into(), least: least.into(), most: most.into() })
}

/// Distributes events over a second.
fn schedule(events: Vec<(EventKind, Vec<crate::declare::Change>)>, spread: Spread) -> Vec<Event> {
    let count = events.len() as u64;
    let place = |index: u64| {
        if spread == Spread::Burst { 0 } else { index * 1_000_000_000 / count }
    };
    events.into_iter().zip(0..).map(|((what, changes), i)| Event { at_ns: place(i), what, changes }).collect()
}
