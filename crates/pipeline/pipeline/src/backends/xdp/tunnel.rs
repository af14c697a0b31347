//! Code that removes and writes tunnel headers.

use std::net::Ipv4Addr;

use super::object::MapId;
use super::path::{
    CONTEXT, ETHER, ETHERNET, FOUND, FRONT, IPV4, IPV6, KEY, LENGTH, PACKET, Path, TUNNEL, USER, Version,
};
use super::tables::{kind_number, tunnel, user};
use crate::declare::{Element, Encapsulation};
use crate::reference::{GTPU_PORT, TUNNEL_TTL, VXLAN_SOURCE_PORT};
use ranlab_packet::VXLAN_PORT;
use ranlab_packet::ebpf::{ADJUST_HEAD, ADJUST_TAIL, FRAME, If, Label, Op, Reg, Size, read16, read32};

/// Maximum number of GTP-U extension headers that are parsed.
pub(super) const EXTENSIONS_MAX: usize = 2;
/// Register with the current offset from the beginning of the frame.
const AT: Reg = 5;

impl Path<'_> {
    /// Removes a tunnel from a well-formed IPv4 packet without options.
    pub(super) fn decap(&mut self, kind: Encapsulation, local: Ipv4Addr, ipv6: bool, rest: &[&Element]) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        let protocol = if kind == Encapsulation::Gre { 47 } else { 17 };
        self.asm().expect(Size::Four, 30, read32(local.octets()), unmatched);
        self.asm().expect(Size::One, 23, protocol, unmatched);
        self.asm().expect_whole(drop);
        self.asm().number(Op::Sub, LENGTH, 20);
        self.asm().store_number(Size::Eight, FRAME, TUNNEL, 0);
        match kind {
            Encapsulation::Gre => self.decap_gre(ipv6),
            Encapsulation::Gtp { .. } => {
                self.udp(GTPU_PORT);
                self.decap_gtp(ipv6);
            }
            Encapsulation::Vxlan => {
                self.udp(VXLAN_PORT);
                self.decap_vxlan();
                self.asm().load(Size::Two, 1, PACKET, 12);
                return self.versions(1, ipv6, rest);
            }
        }
        // The Ethernet header has been copied to the stack.
        let asm = self.asm();
        asm.register(Op::Move, 2, AT);
        asm.number(Op::Sub, 2, ETHERNET.into());
        self.cut_front();
        self.asm().bounds(ETHERNET, drop);
        let asm = self.asm();
        asm.load(Size::Eight, 1, FRAME, ETHER);
        asm.store(Size::Eight, PACKET, 0, 1);
        asm.load(Size::Four, 1, FRAME, ETHER + 8);
        asm.store(Size::Four, PACKET, 8, 1);
        asm.load(Size::Two, 1, FRAME, ETHER + 12);
        asm.store(Size::Two, PACKET, 12, 1);
        asm.number(Op::Add, LENGTH, ETHERNET.into());
        self.trim();
        self.asm().load(Size::Two, 1, FRAME, ETHER + 12);
        self.versions(1, ipv6, rest);
    }

    /// Checks for a UDP datagram to `port`. `LENGTH` becomes the length of its payload.
    fn udp(&mut self, port: u16) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        self.asm().jump_if(If::Less, LENGTH, 8, drop);
        self.asm().bounds(42, drop);
        self.asm().number_at(1, 38);
        self.asm().jump_if(If::Less, 1, 8, drop);
        self.asm().jump_if_register(If::Greater, 1, LENGTH, drop);
        self.asm().register(Op::Move, LENGTH, 1);
        self.asm().number(Op::Sub, LENGTH, 8);
        self.asm().expect(Size::Two, 36, read16(port.to_be_bytes()), unmatched);
    }

    /// Copies the Ethernet header to the stack.
    fn save_ethernet(&mut self) {
        let asm = self.asm();
        for (size, at) in [(Size::Eight, 0), (Size::Four, 8), (Size::Two, 12)] {
            asm.load(size, 1, PACKET, at);
            asm.store(size, FRAME, ETHER + at, 1);
        }
    }

    /// Loads the byte at `AT` minus `less` into register 1, after a check that `LENGTH` covers it.
    fn octet_at(&mut self, less: i32) {
        let drop = self.drop;
        let asm = self.asm();
        asm.register(Op::Move, 2, AT);
        asm.number(Op::Sub, 2, less);
        asm.register(Op::Move, 4, PACKET);
        asm.register(Op::Add, 4, 2);
        asm.register(Op::Move, 2, 4);
        asm.number(Op::Add, 2, 1);
        asm.jump_if_register(If::Greater, 2, 3, drop);
        asm.load(Size::One, 1, 4, 0);
    }

    fn decap_gtp(&mut self, ipv6: bool) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        self.asm().jump_if(If::Less, LENGTH, 8, drop);
        self.asm().bounds(50, drop);
        // The first byte of GTP-U has version 1 and protocol type GTP.
        self.asm().load(Size::One, 1, PACKET, 42);
        self.asm().number(Op::And, 1, 0xf0);
        self.asm().jump_if(If::NotEqual, 1, 0x30, drop);
        self.asm().expect(Size::One, 43, 255, unmatched);
        self.asm().number_at(1, 44);
        let asm = self.asm();
        asm.number(Op::Sub, LENGTH, 8);
        asm.jump_if_register(If::Greater, 1, LENGTH, drop);
        asm.register(Op::Move, LENGTH, 1);
        asm.load(Size::Four, 1, PACKET, 46);
        asm.store(Size::Four, FRAME, TUNNEL + 4, 1);
        self.save_ethernet();
        let done = self.asm().label();
        self.asm().number(Op::Move, AT, 50);
        self.asm().load(Size::One, 1, PACKET, 42);
        self.asm().number(Op::And, 1, 7);
        self.asm().jump_if(If::Equal, 1, 0, done);
        self.extensions(done);
        self.asm().place(done);
        if ipv6 {
            let four = self.asm().label();
            self.asm().jump_if(If::Less, LENGTH, 1, drop);
            self.bounds_end();
            self.octet_at(0);
            let asm = self.asm();
            asm.number(Op::RightShift, 1, 4);
            asm.jump_if(If::NotEqual, 1, 6, four);
            asm.store_number(Size::Two, FRAME, ETHER + 12, IPV6);
            asm.place(four);
        }
    }

    /// Loads the end of the frame into register 3 again.
    fn bounds_end(&mut self) {
        self.asm().load(Size::Four, 3, CONTEXT, 4);
    }

    /// Parses optional fields and extension headers of GTP-U. The flags are in register 1.
    fn extensions(&mut self, done: Label) {
        let drop = self.drop;
        self.asm().jump_if(If::Less, LENGTH, 4, drop);
        let asm = self.asm();
        asm.number(Op::Sub, LENGTH, 4);
        asm.number(Op::Move, AT, 54);
        // Without the E flag, the next extension header type must not be interpreted.
        asm.number(Op::And, 1, 4);
        asm.jump_if(If::Equal, 1, 0, done);
        self.asm().bounds(54, drop);
        for _ in 0..EXTENSIONS_MAX {
            self.octet_at(1);
            self.asm().jump_if(If::Equal, 1, 0, done);
            self.asm().jump_if(If::Equal, LENGTH, 0, drop);
            self.octet_at(0);
            let asm = self.asm();
            asm.jump_if(If::Equal, 1, 0, drop);
            asm.number(Op::LeftShift, 1, 2);
            asm.jump_if_register(If::Greater, 1, LENGTH, drop);
            asm.register(Op::Sub, LENGTH, 1);
            asm.register(Op::Add, AT, 1);
        }
        self.octet_at(1);
        self.asm().jump_if(If::NotEqual, 1, 0, drop);
    }

    fn decap_gre(&mut self, ipv6: bool) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        self.asm().jump_if(If::Less, LENGTH, 4, drop);
        self.asm().bounds(38, drop);
        self.save_ethernet();
        self.asm().number(Op::Sub, LENGTH, 4);
        self.asm().number(Op::Move, AT, 38);
        // These bits are the version and the reserved bits (routing, strict route, recursion).
        self.asm().load(Size::Two, 1, PACKET, 34);
        self.asm().number(Op::And, 1, read16([0x4c, 0x07]));
        self.asm().jump_if(If::NotEqual, 1, 0, drop);
        for (flag, key) in [(0x80, false), (0x20, true), (0x10, false)] {
            let absent = self.asm().label();
            let asm = self.asm();
            asm.load(Size::One, 1, PACKET, 34);
            asm.number(Op::And, 1, flag);
            asm.jump_if(If::Equal, 1, 0, absent);
            asm.jump_if(If::Less, LENGTH, 4, drop);
            asm.register(Op::Move, 4, PACKET);
            asm.register(Op::Add, 4, AT);
            asm.register(Op::Move, 2, 4);
            asm.number(Op::Add, 2, 4);
            asm.jump_if_register(If::Greater, 2, 3, drop);
            if key {
                asm.load(Size::Four, 1, 4, 0);
                asm.store(Size::Four, FRAME, TUNNEL + 4, 1);
            }
            asm.number(Op::Sub, LENGTH, 4);
            asm.number(Op::Add, AT, 4);
            asm.place(absent);
        }
        let known = self.asm().label();
        self.asm().load(Size::Two, 1, PACKET, 36);
        if ipv6 {
            let four = self.asm().label();
            self.asm().jump_if_word(If::NotEqual, 1, IPV6, four);
            self.asm().store_number(Size::Two, FRAME, ETHER + 12, IPV6);
            self.asm().jump(known);
            self.asm().place(four);
        }
        self.asm().jump_if_word(If::NotEqual, 1, IPV4, unmatched);
        self.asm().place(known);
        self.asm().load(Size::One, 1, PACKET, 34);
        self.asm().number(Op::And, 1, 0x20);
        self.asm().jump_if(If::Equal, 1, 0, unmatched);
    }

    fn decap_vxlan(&mut self) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        self.asm().jump_if(If::Less, LENGTH, 8, drop);
        self.asm().bounds(50, drop);
        let asm = self.asm();
        asm.load(Size::One, 1, PACKET, 42);
        asm.number(Op::And, 1, 8);
        asm.jump_if(If::Equal, 1, 0, unmatched);
        asm.load(Size::Four, 1, PACKET, 45);
        asm.word_number(Op::And, 1, read32([0, 0xff, 0xff, 0xff]));
        asm.store(Size::Four, FRAME, TUNNEL + 4, 1);
        asm.number(Op::Sub, LENGTH, 8);
        asm.jump_if(If::Less, LENGTH, ETHERNET.into(), drop);
        asm.number(Op::Move, 2, 50);
        self.cut_front();
        self.trim();
    }

    /// Removes the number of bytes in register 2 from the front of the frame, or adds them if it is negative.
    fn cut_front(&mut self) {
        let drop = self.drop;
        let asm = self.asm();
        asm.load(Size::Eight, 1, FRAME, FRONT);
        asm.register(Op::Add, 1, 2);
        asm.store(Size::Eight, FRAME, FRONT, 1);
        asm.register(Op::Move, 1, CONTEXT);
        asm.call(ADJUST_HEAD);
        asm.jump_if(If::NotEqual, 0, 0, drop);
    }

    /// Sets the length of the frame to `LENGTH`.
    fn trim(&mut self) {
        let drop = self.drop;
        let fits = self.asm().label();
        self.asm().bounds(ETHERNET, drop);
        let asm = self.asm();
        asm.register(Op::Sub, 3, PACKET);
        asm.register(Op::Move, 2, LENGTH);
        asm.register(Op::Sub, 2, 3);
        asm.jump_if(If::Equal, 2, 0, fits);
        asm.register(Op::Move, 1, CONTEXT);
        asm.call(ADJUST_TAIL);
        asm.jump_if(If::NotEqual, 0, 0, drop);
        asm.place(fits);
        self.asm().bounds(ETHERNET, drop);
    }

    /// Encapsulates the packet in the user's tunnel and sends it.
    pub(super) fn encap(&mut self, version: Option<Version>) {
        let drop = self.drop;
        self.code.look_up(MapId::Users, USER, drop);
        let asm = self.asm();
        asm.load(Size::Four, 1, 0, user::KEY);
        asm.store(Size::Four, FRAME, TUNNEL, 1);
        asm.load(Size::Four, 1, 0, user::TUNNEL);
        asm.store(Size::Four, FRAME, KEY, 1);
        self.code.look_up(MapId::Tunnels, KEY, drop);
        self.asm().register(Op::Move, FOUND, 0);
        let mut kinds: Vec<Encapsulation> = Vec::new();
        for tunnel in &self.request.declaration.tables.tunnels {
            if !kinds.iter().any(|kind| kind_number(*kind) == kind_number(tunnel.kind)) {
                kinds.push(tunnel.kind);
            }
        }
        for kind in &kinds {
            let other = self.asm().label();
            if kinds.len() > 1 {
                self.asm().load(Size::One, 1, FOUND, tunnel::KIND);
                self.asm().jump_if(If::NotEqual, 1, kind_number(*kind).into(), other);
            }
            self.wrap(*kind, version);
            self.asm().load(Size::One, 1, FOUND, tunnel::PORT);
            self.leave_by();
            self.asm().place(other);
        }
        if kinds.len() != 1 {
            self.asm().jump(drop);
        }
    }

    fn wrap(&mut self, kind: Encapsulation, version: Option<Version>) {
        let drop = self.drop;
        // `headers` is the number of bytes of IPv4 and following headers. `front` is the number of bytes before the
        // payload.
        let (headers, front): (i16, i16) = match kind {
            Encapsulation::Gtp { .. } => (20 + 8 + 16, 20 + 8 + 16),
            Encapsulation::Gre => (20 + 8, 20 + 8),
            Encapsulation::Vxlan => (20 + 8 + 8, 20 + 8 + 8 + ETHERNET),
        };
        if kind == Encapsulation::Vxlan {
            self.asm().bounds(ETHERNET, drop);
            self.asm().register(Op::Move, LENGTH, 3);
            self.asm().register(Op::Sub, LENGTH, PACKET);
        } else {
            self.asm().number(Op::Add, LENGTH, ETHERNET.into());
            self.trim();
            self.asm().number(Op::Sub, LENGTH, ETHERNET.into());
        }
        self.asm().number(Op::Move, 2, (-front).into());
        self.cut_front();
        self.asm().bounds(ETHERNET + headers, drop);
        self.outer(kind, headers);
        match kind {
            Encapsulation::Gtp { .. } => {
                self.asm().gtpu_headers((FRAME, TUNNEL), (FOUND, tunnel::QFI));
            }
            Encapsulation::Vxlan => {
                self.asm().udp_header(VXLAN_SOURCE_PORT, VXLAN_PORT, headers - 20);
                self.asm().store_number(Size::Four, PACKET, 42, read32([8, 0, 0, 0]));
                // The lower three bytes of the key are followed by a zero byte.
                self.asm().store_number(Size::Four, PACKET, 46, 0);
                self.asm().load(Size::One, 1, FRAME, TUNNEL + 1);
                self.asm().store(Size::One, PACKET, 46, 1);
                self.asm().load(Size::Two, 1, FRAME, TUNNEL + 2);
                self.asm().store(Size::Two, PACKET, 47, 1);
            }
            Encapsulation::Gre => {
                let protocol = if version == Some(Version::Six) { IPV6 } else { IPV4 };
                self.asm().store_number(Size::Two, PACKET, 34, read16([0x20, 0]));
                self.asm().store_number(Size::Two, PACKET, 36, protocol);
                self.key_at(38);
            }
        }
    }

    /// Writes the tunnel's Ethernet and IPv4 headers. They precede `headers` bytes of further headers and `LENGTH`
    /// bytes of payload.
    fn outer(&mut self, kind: Encapsulation, headers: i16) {
        let protocol = if kind == Encapsulation::Gre { 47 } else { 17 };
        let asm = self.asm();
        asm.load(Size::Eight, 1, FOUND, tunnel::MACS);
        asm.store(Size::Eight, PACKET, 0, 1);
        asm.load(Size::Four, 1, FOUND, tunnel::MACS + 8);
        asm.store(Size::Four, PACKET, 8, 1);
        asm.store_number(Size::Two, PACKET, 12, IPV4);
        asm.ipv4_header(TUNNEL_TTL, protocol, headers, (FOUND, tunnel::SUM));
        for (from, to) in [(tunnel::LOCAL, 26), (tunnel::REMOTE, 30)] {
            asm.load(Size::Four, 1, FOUND, from);
            asm.store(Size::Four, PACKET, to, 1);
        }
    }

    fn key_at(&mut self, at: i16) {
        self.asm().load(Size::Four, 1, FRAME, TUNNEL);
        self.asm().store(Size::Four, PACKET, at, 1);
    }
}
