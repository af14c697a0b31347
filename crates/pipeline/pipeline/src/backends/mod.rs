//! Third-party switches: the parts of a declared pipeline that each switch can express, and the configuration of the
//! switch.
//!
//! A [`Backend`] is pure: it generates texts and programs from declarations and changes. Its user runs processes,
//! sockets and maps.
//!
//! A backend is one file here and one line of [`all`]. For each element that it cannot express, it returns a typed
//! reason ([`UnsupportedElement`]). It also returns the intended differences between its packets and the oracle's
//! ([`Equivalence`]). Both are printed in `docs/reference/backends.md`, which a test keeps up to date.
mod bess;
mod equivalence;
mod kernel;
mod ovs;
mod p4;
mod table;
mod testpmd;
pub mod vpp;
pub mod xdp;

pub use bess::Bess;
pub use equivalence::{
    Equivalence, Mismatch, NotComparable, Outcomes, compare, input, is_later_fragment, normalise,
};
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

/// Source and destination of packets in a measurement. Rates of different tiers are not comparable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Packets in memory: the forwarding process replays a trace, and its output is counted and discarded. Uses one
    /// core and no network card.
    Mem,
    /// Rings of shared memory between a tester and a switch, with a core each.
    Ring,
    /// Virtual Ethernet pairs in namespaces: for functional tests, and for switches in the kernel.
    Veth,
    /// Network cards between a generator and a switch.
    Nic,
}

impl Tier {
    /// All tiers in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Mem, Self::Ring, Self::Veth, Self::Nic];

    /// Returns the name of the tier in scenarios.
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

/// A request to a backend: a pipeline, and the directions in which packets arrive. A direction without traffic need not
/// be expressible.
#[derive(Debug, Clone, Copy)]
pub struct BackendRequest<'a> {
    /// Pipeline to express.
    pub declaration: &'a Declaration,
    /// Directions in which packets arrive.
    pub directions: &'a [Direction],
}

impl<'a> BackendRequest<'a> {
    /// Returns all elements that packets pass, with their directions, in order.
    pub fn elements(&self) -> impl Iterator<Item = (Direction, &'a Element)> + use<'a> {
        let declaration = self.declaration;
        let of = move |direction: &Direction| {
            let direction = *direction;
            declaration.path(direction).blocks.iter().flatten().map(move |element| (direction, element))
        };
        self.directions.iter().flat_map(of)
    }
}

/// The reason why a backend cannot express an element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The backend has no such match.
    NoMatch(&'static str),
    /// The backend has no such action.
    NoAction(&'static str),
    /// A limit of the backend is too small.
    TooMany {
        /// The limited quantity.
        what: &'static str,
        /// Number that the pipeline needs.
        asked: u64,
        /// Maximum that the backend supports.
        most: u64,
    },
    /// The switch supports it, but this version does not generate the configuration.
    NotWritten(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMatch(what) => write!(f, "it does not match {what}"),
            Self::NoAction(what) => write!(f, "it cannot {what}"),
            Self::TooMany { what, asked, most } => {
                write!(f, "{asked} {what} are required, it supports {most}")
            }
            Self::NotWritten(what) => write!(f, "this version does not write {what} for it"),
        }
    }
}

/// An element that a backend cannot express, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnsupportedElement {
    /// Name of the element ([`element_name`]).
    pub element: &'static str,
    /// Reason why the backend cannot express the element.
    pub reason: Reason,
}

impl fmt::Display for UnsupportedElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.element, self.reason)
    }
}

/// A pipeline that a backend cannot express, with all reasons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot express this pipeline: {}", .backend, .lacks.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct UnsupportedPipeline {
    /// Name of the backend.
    pub backend: &'static str,
    /// Elements that the backend cannot express, without duplicates.
    pub lacks: Vec<UnsupportedElement>,
}

/// The program that reads a configuration text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TextConsumer {
    /// `ovs-vsctl`: the arguments of one command per line.
    OvsVsctl,
    /// `ovs-ofctl bundle`: one group or flow modification per line, applied atomically.
    OvsBundle,
    /// One meter per line, in the syntax of `ovs-ofctl add-meter`. An existing meter is modified.
    OvsMeters,
    /// `ovs-appctl`: one command per line.
    OvsAppctl,
    /// `dpdk-testpmd`: its arguments after `--`, one per line.
    Testpmd,
    /// `ip -batch`.
    IpBatch,
    /// `nft -f`.
    Nft,
    /// Text for display only. The kernel receives the [`xdp::Object`] instead.
    Bpf,
    /// `sysctl -w`: one setting per line.
    Sysctl,
    /// A file that the switch reads when it starts, such as a script.
    File,
    /// `vppctl exec`: one command per line.
    Vppctl,
    /// `bessctl run file`: Python.
    Bessctl,
    /// `p4c`: a program.
    P4,
    /// `simple_switch_CLI`: one command per line.
    SwitchCli,
}

impl fmt::Display for TextConsumer {
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

/// One file or command list of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Name of the text, used as file name if the text is written to a file.
    pub name: &'static str,
    /// Program that reads the text.
    pub reader: TextConsumer,
    /// Content of the text. Every line ends with `
    /// `.
    pub text: String,
}

/// The configuration of a switch for a pipeline, or for a change of a running pipeline. It is applied in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Translation {
    /// Texts of the configuration, in order.
    pub texts: Vec<Text>,
    /// Maps and programs, for backends that use these instead of texts.
    pub object: Option<xdp::Object>,
}

impl Translation {
    /// Appends a configuration text, unless it is empty.
    pub fn push(&mut self, name: &'static str, reader: TextConsumer, text: String) {
        if !text.is_empty() {
            self.texts.push(Text { name, reader, text });
        }
    }

    /// Returns all texts as one text with headings, for people and golden files.
    #[must_use]
    pub fn whole(&self) -> String {
        let piece = |text: &Text| format!("== {} ({:?})\n{}", text.name, text.reader, text.text);
        self.texts.iter().map(piece).collect()
    }
}

/// Constant properties of a backend, as returned by [`Backend::facts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendInfo {
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

/// A third-party switch: its properties and its configurations. Implementations do not run the switch.
pub trait Backend: Sync {
    /// Returns the constant properties of the backend.
    fn facts(&self) -> &'static BackendInfo;
    /// Returns the backend's name, which is a value of `sut.engine`.
    fn name(&self) -> &'static str {
        self.facts().name
    }
    /// Returns the display name of the backend.
    fn title(&self) -> &'static str {
        self.facts().title
    }
    /// Returns the command that installs the switch on Debian, or the location of its source.
    fn install(&self) -> &'static str {
        self.facts().install
    }
    /// Returns the programs that running the switch requires. A program is a name, or a path if it is not in `PATH`.
    fn programs(&self) -> &'static [&'static str] {
        self.facts().programs
    }
    /// Returns the tiers in which this version can run the switch. Without tiers, this version generates the
    /// configuration but cannot run the switch.
    fn tiers(&self) -> &'static [Tier] {
        self.facts().tiers
    }
    /// Returns the elements that the backend cannot express, without duplicates. The list is empty if all elements are
    /// supported.
    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement>;
    /// Returns the intended differences between the backend's packets and the oracle's for this pipeline.
    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence>;
    /// Returns the switch's configuration for a pipeline. Ports have the OpenFlow numbers of [`port_number`], or the
    /// names of [`port_name`].
    ///
    /// # Errors
    ///
    /// The backend cannot express the pipeline.
    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline>;
    /// Returns the switch's configuration for changes of a running pipeline.
    ///
    /// # Errors
    ///
    /// The backend cannot express a change.
    fn update(
        &self,
        request: &BackendRequest<'_>,
        changes: &[Change],
    ) -> Result<Translation, UnsupportedPipeline>;
}

/// Returns all backends.
#[must_use]
pub fn all() -> &'static [&'static dyn Backend] {
    &[&Testpmd, &Ovs, &OvsDpdk, &OpenFlow, &Kernel, &Xdp, &Vpp, &Bess, &P4]
}

/// Returns the backend with a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Backend> {
    all().iter().copied().find(|backend| backend.name() == name)
}

/// Checks that a backend can express a pipeline.
///
/// # Errors
///
/// The backend cannot express an element.
pub fn permitted(backend: &dyn Backend, request: &BackendRequest<'_>) -> Result<(), UnsupportedPipeline> {
    let mut lacks = backend.lacks(request);
    lacks.sort();
    lacks.dedup();
    if lacks.is_empty() { Ok(()) } else { Err(UnsupportedPipeline { backend: backend.name(), lacks }) }
}

/// Rejects changes for a backend without tables. An empty list is accepted.
fn refuse_changes(
    backend: &dyn Backend,
    changes: &[Change],
    reason: Reason,
) -> Result<Translation, UnsupportedPipeline> {
    if changes.is_empty() {
        return Ok(Translation::default());
    }
    Err(UnsupportedPipeline {
        backend: backend.name(),
        lacks: vec![UnsupportedElement { element: "change", reason }],
    })
}

/// Returns the name of a port: at most ten bytes, so that it can be an interface name.
#[must_use]
pub const fn port_name(port: crate::declare::Port) -> &'static str {
    match port {
        crate::declare::Port::Access => "access",
        crate::declare::Port::Core => "core",
    }
}

/// Returns the OpenFlow number of a port.
#[must_use]
pub const fn port_number(port: crate::declare::Port) -> u32 {
    match port {
        crate::declare::Port::Access => 1,
        crate::declare::Port::Core => 2,
    }
}

/// Returns the name of an element in tables and error messages.
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

/// Returns the elements of a direction, in order.
fn path<'a>(request: &BackendRequest<'a>, direction: Direction) -> Vec<&'a Element> {
    request.declaration.path(direction).blocks.iter().flatten().collect()
}

#[cfg(test)]
mod tests;
