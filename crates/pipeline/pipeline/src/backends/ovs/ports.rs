//! The bridge, its tunnel ports, and the address, route and neighbours that `tnl_push` needs.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::Ipv4Addr;

use ranlab_packet::Mac;

use super::BRIDGE;
use crate::backends::{BackendRequest, TextConsumer, Translation};
use crate::declare::{Element, Encapsulation};

/// Returns the OpenFlow number of a tunnel port.
pub(super) const fn number(kind: Encapsulation) -> u32 {
    match kind {
        Encapsulation::Gtp { .. } => 10,
        Encapsulation::Vxlan => 11,
        Encapsulation::Gre => 12,
    }
}

const fn name(kind: Encapsulation) -> &'static str {
    match kind {
        Encapsulation::Gtp { .. } => "gtp",
        Encapsulation::Vxlan => "vxlan",
        Encapsulation::Gre => "gre",
    }
}

/// Returns the match for packets of a tunnel type.
pub(super) const fn outer(kind: Encapsulation) -> &'static str {
    match kind {
        Encapsulation::Gtp { .. } => "udp,tp_dst=2152",
        Encapsulation::Vxlan => "udp,tp_dst=4789",
        Encapsulation::Gre => "ip,nw_proto=47",
    }
}

/// Returns the tunnel types that packets enter or leave, without duplicates.
pub(super) fn kinds(request: &BackendRequest<'_>) -> Vec<Encapsulation> {
    let mut kinds: Vec<Encapsulation> = Vec::new();
    let mut add = |kind: Encapsulation| {
        if kinds.iter().all(|known| number(*known) != number(kind)) {
            kinds.push(kind);
        }
    };
    for (_, element) in request.elements() {
        match element {
            Element::Decap { kind, .. } => add(*kind),
            Element::Encap => request.declaration.tables.tunnels.iter().for_each(|tunnel| add(tunnel.kind)),
            _ => {}
        }
    }
    kinds
}

/// Returns the IP and MAC address of the bridge, if tunnels end there.
fn own(request: &BackendRequest<'_>) -> Option<(Ipv4Addr, Option<Mac>)> {
    let tunnel = request.declaration.tables.tunnels.first().map(|tunnel| (tunnel.local, Some(tunnel.src)));
    let cut = request.elements().find_map(|(direction, element)| {
        let Element::Decap { local, .. } = element else { return None };
        let admits = request.declaration.path(direction).blocks.iter().flatten();
        let mac = admits
            .filter_map(|element| if let Element::Admit { mac, .. } = element { *mac } else { None })
            .next();
        Some((*local, mac))
    });
    if kinds(request).is_empty() { None } else { cut.or(tunnel) }
}

/// Writes the bridge, tunnel ports, address, route and neighbours. The caller adds the ingress ports, whose type
/// depends on the tier.
pub(super) fn write(request: &BackendRequest<'_>, out: &mut Translation) {
    let own = own(request);
    let mac = own.and_then(|(_, mac)| mac).filter(|mac| !mac.is_group());
    let mut bridge = format!(
        "add-br {BRIDGE} -- set bridge {BRIDGE} datapath_type=netdev fail_mode=secure \
         protocols=OpenFlow13,OpenFlow14,OpenFlow15 other-config:disable-in-band=true"
    );
    if let Some(mac) = mac {
        let _ = write!(bridge, " other-config:hwaddr=\"{mac}\"");
    }
    bridge.push('\n');
    for kind in kinds(request) {
        let port = name(kind);
        let number = number(kind);
        let (of, more) = match kind {
            Encapsulation::Gtp { .. } => ("gtpu", ""),
            Encapsulation::Vxlan => ("vxlan", ""),
            // Without this option, Open vSwitch transports Ethernet frames in GRE.
            Encapsulation::Gre => ("gre", " options:packet_type=legacy_l3"),
        };
        let _ = writeln!(
            bridge,
            "add-port {BRIDGE} {port} -- set interface {port} type={of} ofport_request={number} \
             options:remote_ip=flow options:key=flow{more}"
        );
    }
    out.push("bridge", TextConsumer::OvsVsctl, bridge);
    let Some((address, _)) = own else { return };
    // The switch uses an address as source only for destinations in the same network. The network must therefore
    // contain all addresses.
    let address = format!("address add {address}/0 dev {BRIDGE}\nlink set {BRIDGE} up\n");
    out.push("address", TextConsumer::IpBatch, address);
    if request.elements().any(|(_, element)| *element == Element::Encap) {
        let far: BTreeSet<(Ipv4Addr, Mac)> =
            request.declaration.tables.tunnels.iter().map(|tunnel| (tunnel.remote, tunnel.dst)).collect();
        let line = |(address, mac): &(Ipv4Addr, Mac)| format!("tnl/neigh/set {BRIDGE} {address} {mac}\n");
        // The switch does not read a default route without a gateway from the kernel's table.
        let route = format!("ovs/route/add 0.0.0.0/0 {BRIDGE}\n");
        let all = std::iter::once(route).chain(far.iter().map(line)).collect();
        out.push("neighbours", TextConsumer::OvsAppctl, all);
    }
}
