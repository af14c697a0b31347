//! Other people's switches: what each can express of a declared pipeline, and its configuration for it.
//!
//! Pure: a [`Backend`] makes texts and programs of declarations and of changes; processes, sockets and maps belong to who
//! runs it. A backend is a file here and a line of [`all`]. What it cannot express it says element by element with a typed
//! reason ([`Lack`]), and where its packets differ from the oracle's by design it says so ([`Equivalence`]): both are
//! printed in `docs/reference/backends.md`, which a test keeps fresh.
mod alike;
mod bess;
mod kernel;
mod ovs;
mod p4;
mod table;
mod testpmd;
mod vpp;
pub mod xdp;

pub use alike::{Equivalence, Mismatch, NotComparable, Outcomes, compare, input, normalise};
pub use bess::Bess;
pub use kernel::Kernel;
pub use ovs::{BRIDGE as OVS_BRIDGE, OpenFlow, Ovs, OvsDpdk};
pub use ovs::{COOKIE, COOKIE_MASK, FIRST_GROUP, FIRST_TABLE, GROUPS_MAX};
pub use p4::P4;
pub use table::document;
pub use testpmd::Testpmd;
pub use vpp::Vpp;
pub use xdp::Xdp;

use std::fmt;

use crate::declare::{Change, Declaration, Direction, Element, Encapsulation};

/// Where packets come from and go to. Rates of different tiers are different measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// A trace in the memory of who forwards; what leaves is counted and gone. One core, no network card.
    Mem,
    /// Rings of shared memory between a tester and a switch on a core each.
    Ring,
    /// Virtual Ethernet pairs in namespaces: functional, and for switches of the kernel.
    Veth,
    /// Network cards.
    Nic,
}

impl Tier {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mem, Self::Ring, Self::Veth, Self::Nic];

    /// As scenarios name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mem => "mem",
            Self::Ring => "ring",
            Self::Veth => "veth",
            Self::Nic => "nic",
        }
    }
}

/// What a backend is asked to be: a pipeline, and the directions in which packets will come. A direction without traffic
/// need not be expressed.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The pipeline.
    pub declaration: &'a Declaration,
    /// Where packets come from.
    pub directions: &'a [Direction],
}

impl<'a> Asked<'a> {
    /// Every element that packets pass, with its direction, in order.
    pub fn elements(&self) -> impl Iterator<Item = (Direction, &'a Element)> + use<'a> {
        let declaration = self.declaration;
        let of = move |direction: &Direction| {
            let direction = *direction;
            declaration.path(direction).blocks.iter().flatten().map(move |element| (direction, element))
        };
        self.directions.iter().flat_map(of)
    }
}

/// Why a backend cannot do what an element asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// It has no such match: it does not look at this.
    NoMatch(&'static str),
    /// It has no such action: it cannot do this to a packet.
    NoAction(&'static str),
    /// It takes fewer.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many the pipeline has.
        asked: u64,
        /// How many it takes.
        most: u64,
    },
    /// It could; this version does not write its configuration for it.
    NotWritten(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMatch(what) => write!(f, "it does not match {what}"),
            Self::NoAction(what) => write!(f, "it cannot {what}"),
            Self::TooMany { what, asked, most } => {
                write!(f, "{asked} {what} are asked for, it takes {most}")
            }
            Self::NotWritten(what) => write!(f, "this version does not write {what} for it"),
        }
    }
}

/// An element that a backend cannot express, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lack {
    /// The element, as [`element_name`] calls it.
    pub element: &'static str,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.element, self.reason)
    }
}

/// A pipeline that a backend cannot express: everything that it lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot express this pipeline: {}", .backend, .lacks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Refused {
    /// Who.
    pub backend: &'static str,
    /// Why, once each.
    pub lacks: Vec<Lack>,
}

/// Who reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reader {
    /// `ovs-vsctl`: its arguments, a command for each line.
    OvsVsctl,
    /// `ovs-ofctl bundle`: groups and flows, a modification for each line, all at once.
    OvsBundle,
    /// A meter for each line, as `ovs-ofctl add-meter` has it; one that is there is modified.
    OvsMeters,
    /// `ovs-appctl`: a command for each line.
    OvsAppctl,
    /// `dpdk-testpmd`: its arguments behind `--`, one for each line.
    Testpmd,
    /// `ip -batch`.
    IpBatch,
    /// `nft -f`.
    Nft,
    /// People: the kernel is given the [`xdp::Object`].
    Bpf,
    /// `sysctl -w`: a setting for each line.
    Sysctl,
    /// A file that the switch itself reads when it starts, such as a script.
    File,
    /// `vppctl exec`: a command for each line.
    Vppctl,
    /// `bessctl run file`: Python.
    Bessctl,
    /// `p4c`: a program.
    P4,
    /// `simple_switch_CLI`: a command for each line.
    SwitchCli,
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OvsVsctl => "ovs-vsctl, a command a line",
            Self::OvsBundle => "ovs-ofctl bundle",
            Self::OvsMeters => "ovs-ofctl add-meter, a meter a line",
            Self::OvsAppctl => "ovs-appctl, a command a line",
            Self::Testpmd => "dpdk-testpmd, an argument a line",
            Self::IpBatch => "ip -batch",
            Self::Nft => "nft -f",
            Self::Bpf => "people: the kernel is given maps and programs",
            Self::Sysctl => "sysctl -w, a setting a line",
            Self::File => "the switch itself, when it starts",
            Self::Vppctl => "vppctl exec",
            Self::Bessctl => "bessctl run file",
            Self::P4 => "p4c --target bmv2 --arch v1model",
            Self::SwitchCli => "simple_switch_CLI",
        })
    }
}

/// One piece of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it is called: the name of a file, should it become one.
    pub name: &'static str,
    /// Who reads it.
    pub reader: Reader,
    /// The text; every line ends with `\n`.
    pub text: String,
}

/// What a pipeline, or a change of it, is for a switch, to be told in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Translation {
    /// The pieces.
    pub texts: Vec<Text>,
    /// Maps and programs, for who takes these instead.
    pub object: Option<xdp::Object>,
}

impl Translation {
    /// Appends a piece, unless it is empty.
    pub fn push(&mut self, name: &'static str, reader: Reader, text: String) {
        if !text.is_empty() {
            self.texts.push(Text { name, reader, text });
        }
    }

    /// All pieces as one text with headings, for people and golden files.
    #[must_use]
    pub fn whole(&self) -> String {
        let piece = |text: &Text| format!("== {} ({:?})\n{}", text.name, text.reader, text.text);
        self.texts.iter().map(piece).collect()
    }
}

/// What a backend is called and where it is had, told once; [`Backend`] hands it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// See [`Backend::name`].
    pub name: &'static str,
    /// See [`Backend::title`].
    pub title: &'static str,
    /// See [`Backend::install`].
    pub install: &'static str,
    /// See [`Backend::programs`].
    pub programs: &'static [&'static str],
    /// See [`Backend::tiers`].
    pub tiers: &'static [Tier],
}

/// A switch that is not ours, as far as it can be known without running it.
pub trait Backend: Sync {
    /// What is said of it before anything is asked.
    fn facts(&self) -> &'static Facts;
    /// As `sut.engine` names it.
    fn name(&self) -> &'static str {
        self.facts().name
    }
    /// What it is, for people.
    fn title(&self) -> &'static str {
        self.facts().title
    }
    /// The line that installs it on Debian, or where it comes from.
    fn install(&self) -> &'static str {
        self.facts().install
    }
    /// Programs that have to be there to run it: names, or paths where the system's path does not lead.
    fn programs(&self) -> &'static [&'static str] {
        self.facts().programs
    }
    /// Where it can be driven by this version; empty: its configuration is written, but nobody here runs it.
    fn tiers(&self) -> &'static [Tier] {
        self.facts().tiers
    }
    /// What of this it cannot express, each reason once; empty: it can all of it.
    fn lacks(&self, asked: &Asked<'_>) -> Vec<Lack>;
    /// In what its packets differ from the oracle's by design, for this pipeline.
    fn equivalences(&self, asked: &Asked<'_>) -> Vec<Equivalence>;
    /// Its configuration for a pipeline. Ports have the OpenFlow numbers or names of [`port_number`] and [`port_name`].
    ///
    /// # Errors
    /// It cannot express the pipeline.
    fn translate(&self, asked: &Asked<'_>) -> Result<Translation, Refused>;
    /// What it is told when a running pipeline changes.
    ///
    /// # Errors
    /// It cannot express the change.
    fn update(&self, asked: &Asked<'_>, changes: &[Change]) -> Result<Translation, Refused>;
}

/// Every backend, a line each.
#[must_use]
pub fn all() -> &'static [&'static dyn Backend] {
    &[&Testpmd, &Ovs, &OvsDpdk, &OpenFlow, &Kernel, &Xdp, &Vpp, &Bess, &P4]
}

/// The backend of a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Backend> {
    all().iter().copied().find(|backend| backend.name() == name)
}

/// What refuses a pipeline, if anything does.
///
/// # Errors
/// The backend lacks something.
pub fn permitted(backend: &dyn Backend, asked: &Asked<'_>) -> Result<(), Refused> {
    let mut lacks = backend.lacks(asked);
    lacks.sort();
    lacks.dedup();
    if lacks.is_empty() { Ok(()) } else { Err(Refused { backend: backend.name(), lacks }) }
}

/// What a backend without tables says to changes: there are none, or this is why not.
fn refuse_changes(backend: &dyn Backend, changes: &[Change], reason: Reason) -> Result<Translation, Refused> {
    if changes.is_empty() {
        return Ok(Translation::default());
    }
    Err(Refused { backend: backend.name(), lacks: vec![Lack { element: "change", reason }] })
}

/// Name of a port: at most ten octets, so that interfaces may have it.
#[must_use]
pub const fn port_name(port: crate::declare::Port) -> &'static str {
    match port {
        crate::declare::Port::Access => "access",
        crate::declare::Port::Core => "core",
    }
}

/// OpenFlow number of a port.
#[must_use]
pub const fn port_number(port: crate::declare::Port) -> u32 {
    match port {
        crate::declare::Port::Access => 1,
        crate::declare::Port::Core => 2,
    }
}

/// What an element is called in tables and refusals.
#[must_use]
pub const fn element_name(element: &Element) -> &'static str {
    match element {
        Element::Admit { .. } => "admit",
        Element::Bridge(_) => "bridge",
        Element::FindUserByMac(_) => "user by MAC",
        Element::Decap { kind, .. } => match kind {
            Encapsulation::Gtp { .. } => "GTP-U decapsulation",
            Encapsulation::Vxlan => "VXLAN decapsulation",
            Encapsulation::Gre => "GRE decapsulation",
        },
        Element::FindUserByTunnelKey(_) => "user by tunnel key",
        Element::FindUserBySource(_) => "user by source",
        Element::FindUserByDestination(_) => "user by destination",
        Element::Meter => "meter",
        Element::Acl(_) => "ACL",
        Element::NatSource(_) => "source NAT",
        Element::NatDestination(_) => "destination NAT",
        Element::Route(_) => "route",
        Element::Forward => "forward",
        Element::Deliver => "deliver",
        Element::Encap => "encapsulation",
        Element::Emit { .. } => "emit",
    }
}

/// The elements of a direction in order.
fn path<'a>(asked: &Asked<'a>, direction: Direction) -> Vec<&'a Element> {
    asked.declaration.path(direction).blocks.iter().flatten().collect()
}

#[cfg(test)]
mod tests;
