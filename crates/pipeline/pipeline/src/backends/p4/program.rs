//! The generated P4 program: one parser for all tunnels, and an ingress control with the elements of both directions.
use super::super::port_number;
use super::{path, table_name};
use crate::backends::BackendRequest;
use crate::declare::{Direction, Element, Encapsulation};
use crate::reference::{GTPU_PORT, TUNNEL_TTL, VXLAN_SOURCE_PORT};
use ranlab_packet::{Mac, VXLAN_PORT};
use std::fmt::Write;

pub(super) fn text(request: &BackendRequest<'_>) -> String {
    let mut out = HEADERS.to_owned();
    out.push_str(&parser(request));
    out.push_str(&ingress(request));
    out.push_str(TAIL);
    out
}

fn parser(request: &BackendRequest<'_>) -> String {
    // If a direction removes a tunnel, packets that arrive at its port are parsed as tunnel packets.
    let mut ways = String::new();
    for direction in request.directions {
        if path(request, *direction).iter().any(|element| matches!(element, Element::Decap { .. })) {
            let _ = writeln!(ways, "            {}: outer;", port_number(direction.ingress()));
        }
    }
    PARSER
        .replace("@WAYS@", &ways)
        .replace("@GTPU@", &GTPU_PORT.to_string())
        .replace("@VXLAN@", &VXLAN_PORT.to_string())
}

fn ingress(request: &BackendRequest<'_>) -> String {
    let tables = &request.declaration.tables;
    let mut out = format!(
        "control Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{\n{}",
        constants(ACTIONS)
    );
    if request.elements().any(|(_, element)| *element == Element::Meter) {
        let users = tables.users.len().max(1);
        let _ = writeln!(out, "    meter({users}, MeterType.bytes) users;");
    }
    let mut applied = String::new();
    for direction in request.directions {
        let port = port_number(direction.ingress());
        let mut steps = String::new();
        for (at, element) in path(request, *direction).iter().enumerate() {
            let place = Place { request, direction: *direction, at };
            place.element(element, &mut out, &mut steps);
        }
        let _ = writeln!(
            applied,
            "        if (sm.ingress_port == {port}) {{\n{steps}            return;\n        }}"
        );
    }
    let _ = write!(out, "    apply {{\n{applied}        mark_to_drop(sm);\n    }}\n}}\n\n");
    out
}

struct Place<'a> {
    request: &'a BackendRequest<'a>,
    direction: Direction,
    at: usize,
}

impl Place<'_> {
    /// Returns whether the element precedes the removal of a tunnel, and thus reads outer headers.
    fn before_decap(&self) -> bool {
        path(self.request, self.direction)[self.at..]
            .iter()
            .any(|element| matches!(element, Element::Decap { .. }))
    }

    /// Returns the statement for packets that match nothing.
    fn unmatched(&self) -> String {
        if self.request.declaration.fakedrop {
            format!("{{ sm.egress_spec = {}; return; }}", port_number(self.direction.ingress().other()))
        } else {
            "{ mark_to_drop(sm); return; }".to_owned()
        }
    }

    /// Adds a table with these keys and actions. Packets without a match are handled as unmatched.
    fn table(&self, keys: &[&str], actions: &str, tables: &mut String, steps: &mut String) {
        let name = self.declared(keys, actions, tables);
        let _ = writeln!(steps, "            if (!{name}.apply().hit) {}", self.unmatched());
    }

    fn declared(&self, keys: &[&str], actions: &str, tables: &mut String) -> String {
        let name = table_name(self.direction, self.at);
        let keys: String = keys.iter().map(|key| format!(" {key};")).collect();
        let size = super::entries::size(self.request, self.direction, self.at).max(1);
        let _ = writeln!(
            tables,
            "    table {name} {{\n        key = {{{keys} }}\n        actions = {{ {actions} }}\n        size = {size};\n    }}"
        );
        name
    }

    fn element(&self, element: &Element, tables: &mut String, steps: &mut String) {
        let mut step = |line: &str| add(steps, line);
        match element {
            Element::Admit { mac, ipv6 } => self.admit(*mac, *ipv6, steps),
            Element::Bridge(_) => self.table(&["hdr.ethernet.dst : exact"], "set_hop;", tables, steps),
            Element::FindUserByMac(_) => {
                self.table(&["hdr.ethernet.dst : exact"], "set_user;", tables, steps)
            }
            Element::Decap { kind, local, .. } => self.decap(*kind, local.to_bits(), steps),
            Element::FindUserByTunnelKey(_) => {
                self.table(&["meta.tunnel : exact"], "set_user;", tables, steps)
            }
            Element::FindUserBySource(_) => self.table(&["hdr.ipv4.src : exact"], "set_user;", tables, steps),
            Element::FindUserByDestination(_) => {
                self.table(&["hdr.ipv4.dst : exact"], "set_user;", tables, steps)
            }
            Element::Meter => {
                step("users.execute_meter<bit<2>>(meta.user, meta.colour);");
                step("if (meta.colour == 2) { mark_to_drop(sm); return; }");
            }
            Element::Acl(_) => self.acl(tables, steps),
            Element::NatSource(_) => self.translate(("src", "sport", "translate_source;"), tables, steps),
            Element::NatDestination(_) => {
                self.translate(("dst", "dport", "translate_destination;"), tables, steps)
            }
            Element::Route(_) => self.table(&["hdr.ipv4.dst : lpm"], "set_hop;", tables, steps),
            Element::Forward => {
                step("if (hdr.ipv4.ttl <= 1) { mark_to_drop(sm); return; }");
                step("hdr.ipv4.ttl = hdr.ipv4.ttl - 1;");
                self.deliver(tables, steps);
            }
            Element::Deliver => self.deliver(tables, steps),
            Element::Encap => {
                self.table(&["meta.user : exact"], "into_gtpu; into_vxlan; into_gre;", tables, steps)
            }
            Element::Emit { port, source } => {
                if let Some(source) = source {
                    step(&format!("hdr.ethernet.src = {};", hex(*source)));
                }
                step(&format!("sm.egress_spec = {};", port_number(*port)));
            }
        }
    }

    fn admit(&self, mac: Option<Mac>, ipv6: bool, steps: &mut String) {
        let unmatched = self.unmatched();
        let (ethernet, ipv4) =
            if self.before_decap() { ("outer_ethernet", "outer_ipv4") } else { ("ethernet", "ipv4") };
        add(steps, &format!("if (!hdr.{ethernet}.isValid()) {{ mark_to_drop(sm); return; }}"));
        if let Some(mac) = mac {
            add(steps, &format!("if (hdr.{ethernet}.dst != {}) {unmatched}", hex(mac)));
        }
        if ipv6 {
            // IPv6 packets are unmatched, because no table has an IPv6 entry.
            add(steps, &format!("if (hdr.{ethernet}.ethertype == 0x86dd) {unmatched}"));
        }
        let refused =
            format!("if (!hdr.{ipv4}.isValid() || sm.checksum_error == 1) {{ mark_to_drop(sm); return; }}");
        add(steps, &refused);
    }

    fn decap(&self, kind: Encapsulation, local: u32, steps: &mut String) {
        let (header, key, cut) = match kind {
            Encapsulation::Gtp { .. } => ("gtpu", "hdr.gtpu.teid", "cut_bare"),
            Encapsulation::Vxlan => ("vxlan", "(bit<32>) hdr.vxlan.vni", "cut_frame"),
            Encapsulation::Gre => ("gre", "hdr.gre.number", "cut_bare"),
        };
        let unmatched = self.unmatched();
        add(steps, &format!("if (hdr.outer_ipv4.dst != {local:#x} || !hdr.{header}.isValid()) {unmatched}"));
        add(steps, "if (!hdr.ipv4.isValid()) { mark_to_drop(sm); return; }");
        add(steps, &format!("meta.tunnel = {key};"));
        add(steps, &format!("{cut}();"));
    }

    fn acl(&self, tables: &mut String, steps: &mut String) {
        let keys = [
            "hdr.ipv4.src : ternary",
            "hdr.ipv4.dst : ternary",
            "hdr.ipv4.protocol : ternary",
            "meta.sport : range",
            "meta.dport : range",
        ];
        let name = self.declared(&keys, "permit; deny;", tables);
        let unmatched = self.unmatched();
        PORTS.iter().for_each(|line| add(steps, line));
        add(steps, &format!("meta.denied = 0; {name}.apply();"));
        add(steps, &format!("if (meta.denied == 1) {unmatched}"));
    }

    /// Looks up an address, the protocol and a port, and writes the translated address and port.
    fn translate(
        &self,
        (address, port, action): (&str, &str, &str),
        tables: &mut String,
        steps: &mut String,
    ) {
        PORTS.iter().for_each(|line| add(steps, line));
        let keys = [
            format!("hdr.ipv4.{address} : exact"),
            "hdr.ipv4.protocol : exact".to_owned(),
            format!("meta.{port} : exact"),
        ];
        self.table(&keys.each_ref().map(String::as_str), action, tables, steps);
        for header in ["tcp", "udp"] {
            add(steps, &format!("if (hdr.{header}.isValid()) {{ hdr.{header}.{port} = meta.port; }}"));
        }
    }

    fn deliver(&self, tables: &mut String, steps: &mut String) {
        self.table(&["meta.hop : exact"], "send; send_from; send_to; send_between;", tables, steps);
    }
}

/// Statements that read the ports of a packet. A fragment has no ports.
const PORTS: [&str; 3] = [
    "meta.sport = 0; meta.dport = 0;",
    "if (hdr.tcp.isValid()) { meta.sport = hdr.tcp.sport; meta.dport = hdr.tcp.dport; }",
    "if (hdr.udp.isValid()) { meta.sport = hdr.udp.sport; meta.dport = hdr.udp.dport; }",
];

/// Appends a line to the apply block.
fn add(steps: &mut String, line: &str) {
    let _ = writeln!(steps, "            {line}");
}

pub(super) fn hex(mac: Mac) -> String {
    format!("0x{:012x}", mac.to_u64())
}

const HEADERS: &str = "\
// Written by ranlab: a pipeline for v1model. A separate file has the entries, for simple_switch_CLI.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> ethertype; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> total; bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
header tcp_t {
    bit<16> sport; bit<16> dport; bit<32> sequence; bit<32> acknowledged; bit<4> offset; bit<4> reserved; bit<8> flags;
    bit<16> window; bit<16> checksum; bit<16> urgent;
}
header udp_t { bit<16> sport; bit<16> dport; bit<16> length; bit<16> checksum; }
header gtpu_t { bit<5> version; bit<3> options; bit<8> kind; bit<16> length; bit<32> teid; }
header gtpu_options_t { bit<16> sequence; bit<8> number; bit<8> next; }
header pdu_session_t { bit<8> length; bit<8> kind; bit<8> flow; bit<8> next; }
header vxlan_t { bit<8> flags; bit<24> reserved; bit<24> vni; bit<8> rest; }
header gre_t { bit<16> flags; bit<16> protocol; bit<32> number; }

struct headers_t {
    ethernet_t outer_ethernet;
    ipv4_t outer_ipv4;
    udp_t outer_udp;
    gtpu_t gtpu;
    gtpu_options_t gtpu_options;
    pdu_session_t pdu_session;
    vxlan_t vxlan;
    gre_t gre;
    ethernet_t ethernet;
    ipv4_t ipv4;
    tcp_t tcp;
    udp_t udp;
}
struct metadata_t {
    bit<32> tunnel; bit<32> user; bit<32> hop; bit<2> colour; bit<1> denied; bit<1> translated;
    bit<16> port; bit<16> sport; bit<16> dport; bit<16> l4_bytes;
}

";

const PARSER: &str = "\
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(sm.ingress_port) {
@WAYS@            default: frame;
        }
    }
    state outer {
        packet.extract(hdr.outer_ethernet);
        transition select(hdr.outer_ethernet.ethertype) { 0x0800: outer_ipv4; default: accept; }
    }
    state outer_ipv4 {
        packet.extract(hdr.outer_ipv4);
        transition select(hdr.outer_ipv4.ihl, hdr.outer_ipv4.fragment, hdr.outer_ipv4.protocol) {
            (5, 0, 17): outer_udp;
            (5, 0, 47): gre;
            default: accept;
        }
    }
    state outer_udp {
        packet.extract(hdr.outer_udp);
        transition select(hdr.outer_udp.dport) { @GTPU@: gtpu; @VXLAN@: vxlan; default: accept; }
    }
    state gtpu {
        packet.extract(hdr.gtpu);
        transition select(hdr.gtpu.kind, hdr.gtpu.options) {
            (255, 0): bare;
            (255, 4): gtpu_options;
            default: accept;
        }
    }
    state gtpu_options {
        packet.extract(hdr.gtpu_options);
        transition select(hdr.gtpu_options.next) { 0x85: pdu_session; 0: bare; default: accept; }
    }
    state pdu_session {
        packet.extract(hdr.pdu_session);
        transition select(hdr.pdu_session.length, hdr.pdu_session.next) { (1, 0): bare; default: accept; }
    }
    state gre {
        packet.extract(hdr.gre);
        transition select(hdr.gre.flags, hdr.gre.protocol) { (0x2000, 0x0800): bare; default: accept; }
    }
    state vxlan {
        packet.extract(hdr.vxlan);
        transition frame;
    }
    state bare {
        transition select(packet.lookahead<bit<4>>()) { 4: ipv4; default: accept; }
    }
    state frame {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 6): tcp;
            (5, 0, 17): udp;
            default: accept;
        }
    }
    state tcp { packet.extract(hdr.tcp); transition accept; }
    state udp { packet.extract(hdr.udp); transition accept; }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos,
            hdr.ipv4.total, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
            hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

";

const ACTIONS: &str = "    \
action set_hop(bit<32> hop) { meta.hop = hop; }
    action set_user(bit<32> user) { meta.user = user; }
    action permit() { meta.denied = 0; }
    action deny() { meta.denied = 1; }
    action send(bit<9> port) { sm.egress_spec = port; }
    action send_from(bit<9> port, bit<48> src) { hdr.ethernet.src = src; sm.egress_spec = port; }
    action send_to(bit<9> port, bit<48> dst) { hdr.ethernet.dst = dst; sm.egress_spec = port; }
    action send_between(bit<9> port, bit<48> dst, bit<48> src) {
        hdr.ethernet.dst = dst;
        hdr.ethernet.src = src;
        sm.egress_spec = port;
    }
    action translate_source(bit<32> address, bit<16> port) {
        hdr.ipv4.src = address;
        meta.port = port;
        meta.translated = 1;
        meta.l4_bytes = hdr.ipv4.total - 20;
    }
    action translate_destination(bit<32> address, bit<16> port) {
        hdr.ipv4.dst = address;
        meta.port = port;
        meta.translated = 1;
        meta.l4_bytes = hdr.ipv4.total - 20;
    }
    action cut() {
        hdr.outer_ethernet.setInvalid();
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.gtpu.setInvalid();
        hdr.gtpu_options.setInvalid();
        hdr.pdu_session.setInvalid();
        hdr.vxlan.setInvalid();
        hdr.gre.setInvalid();
    }
    action cut_frame() { cut(); }
    action cut_bare() {
        hdr.ethernet.setValid();
        hdr.ethernet.dst = hdr.outer_ethernet.dst;
        hdr.ethernet.src = hdr.outer_ethernet.src;
        hdr.ethernet.ethertype = 0x0800;
        cut();
    }
    action outer(bit<48> dst, bit<48> src, bit<32> local, bit<32> remote, bit<8> protocol, bit<16> total) {
        hdr.outer_ethernet.setValid();
        hdr.outer_ethernet.dst = dst;
        hdr.outer_ethernet.src = src;
        hdr.outer_ethernet.ethertype = 0x0800;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.tos = 0;
        hdr.outer_ipv4.total = total;
        hdr.outer_ipv4.id = 0;
        hdr.outer_ipv4.flags = 2;
        hdr.outer_ipv4.fragment = 0;
        hdr.outer_ipv4.ttl = OUTER_TTL;
        hdr.outer_ipv4.protocol = protocol;
        hdr.outer_ipv4.src = local;
        hdr.outer_ipv4.dst = remote;
    }
    action outer_udp(bit<16> sport, bit<16> dport, bit<16> bytes) {
        hdr.outer_udp.setValid();
        hdr.outer_udp.sport = sport;
        hdr.outer_udp.dport = dport;
        hdr.outer_udp.length = bytes;
        hdr.outer_udp.checksum = 0;
    }
    action into_gtpu(bit<9> port, bit<48> dst, bit<48> src, bit<32> local, bit<32> remote, bit<32> number, bit<8> flow) {
        outer(dst, src, local, remote, 17, hdr.ipv4.total + 44);
        outer_udp(GTPU_PORT, GTPU_PORT, hdr.ipv4.total + 24);
        hdr.gtpu.setValid();
        hdr.gtpu.version = 6;
        hdr.gtpu.options = 4;
        hdr.gtpu.kind = 255;
        hdr.gtpu.length = hdr.ipv4.total + 8;
        hdr.gtpu.teid = number;
        hdr.gtpu_options.setValid();
        hdr.gtpu_options.sequence = 0;
        hdr.gtpu_options.number = 0;
        hdr.gtpu_options.next = 0x85;
        hdr.pdu_session.setValid();
        hdr.pdu_session.length = 1;
        hdr.pdu_session.kind = 0;
        hdr.pdu_session.flow = flow;
        hdr.pdu_session.next = 0;
        hdr.ethernet.setInvalid();
        sm.egress_spec = port;
    }
    action into_vxlan(bit<9> port, bit<48> dst, bit<48> src, bit<32> local, bit<32> remote, bit<24> number) {
        outer(dst, src, local, remote, 17, (bit<16>) sm.packet_length + 36);
        outer_udp(VXLAN_SOURCE_PORT, VXLAN_PORT, (bit<16>) sm.packet_length + 16);
        hdr.vxlan.setValid();
        hdr.vxlan.flags = 8;
        hdr.vxlan.reserved = 0;
        hdr.vxlan.vni = number;
        hdr.vxlan.rest = 0;
        sm.egress_spec = port;
    }
    action into_gre(bit<9> port, bit<48> dst, bit<48> src, bit<32> local, bit<32> remote, bit<32> number) {
        outer(dst, src, local, remote, 47, hdr.ipv4.total + 28);
        hdr.gre.setValid();
        hdr.gre.flags = 0x2000;
        hdr.gre.protocol = 0x0800;
        hdr.gre.number = number;
        hdr.ethernet.setInvalid();
        sm.egress_spec = port;
    }
";

/// Replaces the names of constants in actions by their values.
fn constants(text: &str) -> String {
    text.replace("OUTER_TTL", &TUNNEL_TTL.to_string())
        .replace("VXLAN_SOURCE_PORT", &VXLAN_SOURCE_PORT.to_string())
        .replace("VXLAN_PORT", &VXLAN_PORT.to_string())
        .replace("GTPU_PORT", &GTPU_PORT.to_string())
}

const TAIL: &str = "\
control Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos,
            hdr.ipv4.total, hdr.ipv4.id, hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
            hdr.ipv4.src, hdr.ipv4.dst }, hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.outer_ipv4.isValid() && hdr.outer_ipv4.ihl == 5, { hdr.outer_ipv4.version,
            hdr.outer_ipv4.ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.total, hdr.outer_ipv4.id, hdr.outer_ipv4.flags,
            hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol, hdr.outer_ipv4.src,
            hdr.outer_ipv4.dst }, hdr.outer_ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.tcp.isValid() && meta.translated == 1, { hdr.ipv4.src, hdr.ipv4.dst, 8w0,
            hdr.ipv4.protocol, meta.l4_bytes, hdr.tcp.sport, hdr.tcp.dport, hdr.tcp.sequence, hdr.tcp.acknowledged,
            hdr.tcp.offset, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent },
            hdr.tcp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.udp.isValid() && meta.translated == 1 && hdr.udp.checksum != 0,
            { hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, meta.l4_bytes, hdr.udp.sport, hdr.udp.dport,
            hdr.udp.length }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.outer_ethernet);
        packet.emit(hdr.outer_ipv4);
        packet.emit(hdr.outer_udp);
        packet.emit(hdr.gtpu);
        packet.emit(hdr.gtpu_options);
        packet.emit(hdr.pdu_session);
        packet.emit(hdr.vxlan);
        packet.emit(hdr.gre);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(Parse(), Verify(), Ingress(), Egress(), Compute(), Deparse()) main;
";
