//! Open vSwitch with its userspace datapath, over sockets (`ovs`) or DPDK (`ovs-dpdk`). Each element is an OpenFlow
//! table. Next hops are groups, users' rate limits are meters, and tunnels are tunnel ports.
//!
//! Register 0 contains the user, and register 1 the next hop. `tnl_push` builds the outer headers from the bridge's
//! address, its routes, and configured neighbours (`tnl/neigh/set`).
mod any;
mod dialect;
mod flows;
mod ports;
mod rules;
#[cfg(test)]
mod tests;

pub use any::OpenFlow;
pub use dialect::{COOKIE, COOKIE_MASK, FIRST_GROUP, FIRST_TABLE, GROUPS_MAX};

use self::dialect::Dialect;
use super::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, Tier, Translation, UnsupportedElement,
    UnsupportedPipeline, element_name, permitted,
};
use crate::declare::{AclTable, Change, Element, Encapsulation};

/// Name of the bridge and of its interface.
pub const BRIDGE: &str = "br0";
/// Maximum number of meters of the userspace datapath.
const METERS_MAX: u64 = 1 << 18;
/// Maximum number of rules in a list. Each rule has a separate priority, and priorities have 16 bits.
const RULES_MAX: u64 = 65_000;
/// The TCP flags and reserved bits that a flow can match.
const FLAGS: u16 = 0x0fff;

/// Open vSwitch over sockets of the kernel.
#[derive(Debug)]
pub struct Ovs;

/// Open vSwitch over DPDK.
#[derive(Debug)]
pub struct OvsDpdk;

impl Backend for Ovs {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "ovs",
            title: "Open vSwitch in user space, over sockets",
            install: "apt install openvswitch-switch",
            programs: &["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl"],
            tiers: &[Tier::Veth],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        lacks(request)
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        equivalences(request)
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        Ok(flows::translate(request, Dialect::Own))
    }

    fn update(
        &self,
        request: &BackendRequest<'_>,
        changes: &[Change],
    ) -> Result<Translation, UnsupportedPipeline> {
        flows::update(request, Dialect::Own, changes)
            .map_err(|lack| UnsupportedPipeline { backend: self.name(), lacks: vec![lack] })
    }
}

impl Backend for OvsDpdk {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "ovs-dpdk",
            title: "Open vSwitch over DPDK",
            install: "apt install openvswitch-switch-dpdk",
            programs: &[
                "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk",
                "ovsdb-server",
                "ovsdb-tool",
                "ovs-vsctl",
                "ovs-ofctl",
            ],
            tiers: &[Tier::Mem, Tier::Ring],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        lacks(request)
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        equivalences(request)
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        Ok(flows::translate(request, Dialect::Own))
    }

    fn update(
        &self,
        request: &BackendRequest<'_>,
        changes: &[Change],
    ) -> Result<Translation, UnsupportedPipeline> {
        flows::update(request, Dialect::Own, changes)
            .map_err(|lack| UnsupportedPipeline { backend: self.name(), lacks: vec![lack] })
    }
}

fn lacks(request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
    let tables = &request.declaration.tables;
    let mut lacks = Vec::new();
    for (_, element) in request.elements() {
        match element {
            Element::Meter => {
                lacks.extend(too_many(element, "meters", tables.users.len() as u64, METERS_MAX));
            }
            Element::Acl(id) => {
                let table = &tables.acls[id.index()];
                let rules = table.rules.len().max(table.rules6.len()) as u64;
                lacks.extend(too_many(element, "rules", rules, RULES_MAX));
                lacks.extend(beyond_flags(element, table));
            }
            Element::Decap { kind: Encapsulation::Gtp { .. }, ipv6: true, .. } => {
                lacks.push(UnsupportedElement {
                    element: element_name(element),
                    // Open vSwitch 3.1 lost all IPv6 packets inside GTP-U when it was compared with the oracle.
                    reason: Reason::NotWritten("IPv6 inside GTP-U"),
                })
            }
            _ => {}
        }
    }
    // A bridge has a single address, so all tunnels end at this address. All tunnels of one kind use the same port.
    let mut locals: Vec<_> =
        tables.tunnels.iter().map(|tunnel| (tunnel.local, tunnel.src, tunnel.port as u32)).collect();
    locals.sort_unstable();
    locals.dedup();
    let encaps = request.elements().find(|(_, element)| **element == Element::Encap);
    if let (Some((_, element)), true) = (encaps, locals.len() > 1) {
        let reason = Reason::NotWritten("tunnels with several local addresses or several ports");
        lacks.push(UnsupportedElement { element: element_name(element), reason });
    }
    lacks
}

/// Reports rules that require bits of TCP's data offset, which no flow can match.
fn beyond_flags(element: &Element, table: &AclTable) -> Option<UnsupportedElement> {
    let reason = Reason::NoMatch("the TCP data offset (flags 0x1000 to 0x8000 of a rule)");
    table.flags_beyond(FLAGS).then(|| UnsupportedElement { element: element_name(element), reason })
}

fn too_many(element: &Element, what: &'static str, asked: u64, most: u64) -> Option<UnsupportedElement> {
    let reason = Reason::TooMany { what, asked, most };
    (asked > most).then(|| UnsupportedElement { element: element_name(element), reason })
}

fn equivalences(request: &BackendRequest<'_>) -> Vec<Equivalence> {
    let kinds: Vec<Encapsulation> = ports::kinds(request);
    let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
    let mut all = Vec::new();
    if kinds.iter().any(|kind| matches!(kind, Encapsulation::Gtp { .. })) {
        all.push(Equivalence::GtpContainer);
    }
    if has(&|element| *element == Element::Encap) {
        all.push(Equivalence::OuterHeaders);
    }
    if has(&|element| *element == Element::Meter) {
        all.push(Equivalence::Meters);
    }
    if has(&|element| matches!(element, Element::Admit { .. } | Element::Decap { .. })) {
        all.push(Equivalence::Soundness);
    }
    all
}
