//! The elements of a direction as one function with the context as argument. The function returns the verdict and the
//! number of bytes removed from the front of the packet. After [`Element::Admit`] the code branches by IP version, so
//! that every offset is a constant.
//!
//! Register 6 is the context, 7 the found entry, 8 the length of the IP packet, and 9 the frame. The result is `verdict
//! | bytes removed from the front << 8`.

use super::object::{MapId, Program};
use super::tables::hop;
use crate::backends::BackendRequest;
use crate::declare::{AclId, Direction, Element, Port};
use ranlab_packet::Mac;
use ranlab_packet::ebpf::{Assembler, FRAME, If, Label, MAP_LOOKUP, Op, Reg, Size, read16, read32};

/// Verdicts in the result of a function: dropped, sent to the same port, sent to the other port.
pub(super) const GONE: i32 = 0;
pub(super) const BACK: i32 = 1;
pub(super) const ACROSS: i32 = 2;

pub(super) const FOUND: Reg = 7;
pub(super) use ranlab_packet::ebpf::{CONTEXT, LENGTH, PACKET};

/// Stack layout: a key of up to 24 bytes, the number of bytes removed from the front, the tunnel key in the form of
/// exact tables, the user, and the Ethernet header.
pub(super) const KEY: i16 = -24;
pub(super) const FRONT: i16 = -32;
pub(super) const TUNNEL: i16 = -40;
pub(super) const USER: i16 = -48;
pub(super) const ETHER: i16 = -64;

pub(super) const ETHERNET: i16 = 14;
pub(super) const IPV4: i32 = read16([0x08, 0x00]);
pub(super) const IPV6: i32 = read16([0x86, 0xdd]);

/// IP version of the current packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Four,
    Six,
}

impl Version {
    /// Returns the length of the IP header, in bytes.
    pub(super) const fn header(self) -> i16 {
        match self {
            Self::Four => 20,
            Self::Six => 40,
        }
    }

    /// Returns the offset of the IP payload.
    pub(super) const fn payload(self) -> i16 {
        ETHERNET + self.header()
    }

    /// Returns the offset of the source or destination address.
    pub(super) const fn address(self, source: bool) -> i16 {
        match (self, source) {
            (Self::Four, true) => 26,
            (Self::Four, false) => 30,
            (Self::Six, true) => 22,
            (Self::Six, false) => 38,
        }
    }

    /// Returns the length of an address, in bytes.
    pub(super) const fn address_bytes(self) -> i16 {
        match self {
            Self::Four => 4,
            Self::Six => 16,
        }
    }

    /// Returns the offset of the protocol field.
    pub(super) const fn protocol(self) -> i16 {
        match self {
            Self::Four => 23,
            Self::Six => 20,
        }
    }
}

/// A program under construction: instructions, map references, and functions of rule lists that have not been written
/// yet.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) asm: Assembler,
    maps: Vec<(usize, MapId)>,
    lists: Vec<(AclId, Version, Label)>,
}

impl Code {
    /// Writes an instruction that loads the map into the register `to`.
    pub(super) fn map(&mut self, to: Reg, id: MapId) {
        if self.asm.is_reached() {
            self.maps.push((self.asm.len(), id));
        }
        self.asm.map(to, 0);
    }

    /// Writes a lookup of the key on the stack at `key`. If an entry exists, register 0 contains it. Otherwise the code
    /// jumps to `otherwise`.
    pub(super) fn look_up(&mut self, id: MapId, key: i16, otherwise: Label) {
        self.map(1, id);
        self.asm.register(Op::Move, 2, FRAME);
        self.asm.number(Op::Add, 2, key.into());
        self.asm.call(MAP_LOOKUP);
        self.asm.jump_if(If::Equal, 0, 0, otherwise);
    }

    /// Returns the label of the function of a rule list for an IP version.
    pub(super) fn list(&mut self, id: AclId, version: Version) -> Label {
        let known = self.lists.iter().find(|(list, of, _)| (*list, *of) == (id, version));
        if let Some((_, _, label)) = known {
            return *label;
        }
        let label = self.asm.label();
        self.lists.push((id, version, label));
        label
    }

    /// Writes the functions of used rule lists and returns the program.
    pub(super) fn finish(mut self, request: &BackendRequest<'_>) -> Program {
        for (id, version, label) in std::mem::take(&mut self.lists) {
            self.asm.place(label);
            super::rewrite::list(&mut self.asm, &request.declaration.tables.acls[id.index()], version);
        }
        Program::new(self.asm.finish(), self.maps)
    }
}

/// Code of one direction.
pub(super) struct Path<'a> {
    pub(super) code: &'a mut Code,
    pub(super) request: &'a BackendRequest<'a>,
    ingress: Port,
    /// Label of code that returns, with the verdict in register 0.
    end: Label,
    /// Label of code that drops the packet.
    pub(super) drop: Label,
    /// Label of code that handles an unmatched packet.
    pub(super) unmatched: Label,
}

/// Writes the function of a direction at the label.
pub(super) fn function(code: &mut Code, request: &BackendRequest<'_>, direction: Direction, at: Label) {
    let asm = &mut code.asm;
    let end = asm.label();
    let drop = asm.label();
    let unmatched = asm.label();
    asm.place(at);
    asm.register(Op::Move, CONTEXT, 1);
    asm.store_number(Size::Eight, FRAME, FRONT, 0);
    let elements: Vec<&Element> = request.declaration.path(direction).blocks.iter().flatten().collect();
    let mut path = Path { code, request, ingress: direction.ingress(), end, drop, unmatched };
    path.run(&elements, None);
    let asm = &mut path.code.asm;
    asm.place(unmatched);
    if request.declaration.fakedrop {
        asm.number(Op::Move, 0, ACROSS);
        asm.jump(end);
    }
    asm.place(drop);
    asm.number(Op::Move, 0, GONE);
    asm.place(end);
    asm.load(Size::Eight, 1, FRAME, FRONT);
    asm.number(Op::LeftShift, 1, 8);
    asm.register(Op::Or, 0, 1);
    asm.exit();
}

impl Path<'_> {
    pub(super) fn asm(&mut self) -> &mut Assembler {
        &mut self.code.asm
    }

    /// Writes the remaining elements. The code does not continue after them.
    pub(super) fn run(&mut self, elements: &[&Element], version: Option<Version>) {
        let mut rest = elements;
        while let Some((element, after)) = rest.split_first() {
            rest = after;
            match (*element, version) {
                (Element::Admit { mac, ipv6 }, _) => return self.admit(*mac, *ipv6, rest),
                (Element::Bridge(id), _) => {
                    self.mac_key();
                    self.value(MapId::Exact(id.0));
                    self.hop();
                }
                (Element::FindUserByMac(id), _) => {
                    self.mac_key();
                    self.user(MapId::Exact(id.0));
                }
                (Element::FindUserByTunnelKey(id), _) => {
                    self.asm().load(Size::Eight, 1, FRAME, TUNNEL);
                    self.asm().store(Size::Eight, FRAME, KEY, 1);
                    self.user(MapId::Exact(id.0));
                }
                (Element::Deliver, _) => return self.deliver(),
                (Element::Encap, version) => return self.encap(version),
                (Element::Emit { port, source }, _) => return self.emit(*port, *source),
                (element, Some(version)) => {
                    if !self.admitted(element, version, rest) {
                        return;
                    }
                }
                // Such an element is rejected earlier; see `lacks`.
                (_, None) => break,
            }
        }
        let drop = self.drop;
        self.asm().jump(drop);
    }

    /// Writes an element that reads an IP header. Returns whether the following elements still have to be written.
    fn admitted(&mut self, element: &Element, version: Version, rest: &[&Element]) -> bool {
        match element {
            Element::Decap { kind, local, ipv6 } => {
                if version == Version::Six {
                    let unmatched = self.unmatched;
                    self.asm().jump(unmatched);
                } else {
                    self.decap(*kind, *local, *ipv6, rest);
                }
                return false;
            }
            Element::FindUserBySource(id) => self.user_by_address(MapId::Exact(id.0), version, true),
            Element::FindUserByDestination(id) => self.user_by_address(MapId::Exact(id.0), version, false),
            Element::Meter => self.meter(),
            Element::Acl(id) => self.classify(*id, version),
            Element::NatSource(id) => self.translate(*id, version, true),
            Element::NatDestination(id) => self.translate(*id, version, false),
            Element::Route(id) => self.route(id.0, version),
            Element::Forward => {
                self.spend_hop(version);
                self.deliver();
                return false;
            }
            _ => {}
        }
        true
    }

    fn admit(&mut self, mac: Option<Mac>, ipv6: bool, rest: &[&Element]) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        self.asm().bounds(ETHERNET, drop);
        if let Some(Mac([a, b, c, d, e, f])) = mac {
            self.asm().expect(Size::Four, 0, read32([a, b, c, d]), unmatched);
            self.asm().expect(Size::Two, 4, read16([e, f]), unmatched);
        }
        self.asm().load(Size::Two, 1, PACKET, 12);
        self.versions(1, ipv6, rest);
    }

    /// Branches by the EtherType in the register `ether_type`.
    pub(super) fn versions(&mut self, ether_type: Reg, ipv6: bool, rest: &[&Element]) {
        let drop = self.drop;
        let six = self.asm().label();
        if ipv6 {
            self.asm().jump_if_word(If::Equal, ether_type, IPV6, six);
        }
        self.asm().jump_if_word(If::NotEqual, ether_type, IPV4, drop);
        self.check4();
        self.run(rest, Some(Version::Four));
        if ipv6 {
            self.asm().place(six);
            self.check6();
            self.run(rest, Some(Version::Six));
        }
    }

    /// Checks for a well-formed IPv4 packet without options.
    fn check4(&mut self) {
        let drop = self.drop;
        self.asm().bounds(ETHERNET + 20, drop);
        self.asm().expect(Size::One, 14, 0x45, drop);
        self.asm().number_at(5, 16);
        self.asm().jump_if(If::Less, 5, 20, drop);
        self.holds();
        let asm = self.asm();
        asm.load(Size::Four, 1, PACKET, 14);
        for at in [18, 22, 26, 30] {
            asm.load(Size::Four, 2, PACKET, at);
            asm.register(Op::Add, 1, 2);
        }
        self.asm().fold(1, 2);
        self.asm().jump_if_word(If::NotEqual, 1, 0xffff, drop);
    }

    fn check6(&mut self) {
        let drop = self.drop;
        self.asm().bounds(ETHERNET + 40, drop);
        self.asm().load(Size::One, 1, PACKET, 14);
        self.asm().number(Op::RightShift, 1, 4);
        self.asm().jump_if_word(If::NotEqual, 1, 6, drop);
        self.asm().number_at(5, 18);
        self.asm().number(Op::Add, 5, 40);
        self.holds();
    }

    /// Drops the packet unless the frame, whose end is in register 3, can hold the length in register 5. [`LENGTH`]
    /// becomes this length.
    fn holds(&mut self) {
        let drop = self.drop;
        let asm = self.asm();
        asm.register(Op::Sub, 3, PACKET);
        asm.number(Op::Sub, 3, ETHERNET.into());
        asm.jump_if_register(If::Less, 3, 5, drop);
        asm.register(Op::Move, LENGTH, 5);
    }

    fn mac_key(&mut self) {
        let drop = self.drop;
        self.asm().bounds(ETHERNET, drop);
        let asm = self.asm();
        asm.store_number(Size::Two, FRAME, KEY, 0);
        asm.load(Size::Two, 1, PACKET, 0);
        asm.store(Size::Two, FRAME, KEY + 2, 1);
        asm.load(Size::Four, 1, PACKET, 2);
        asm.store(Size::Four, FRAME, KEY + 4, 1);
    }

    /// Looks up the key in the map and loads the value into register 1.
    fn value(&mut self, map: MapId) {
        let unmatched = self.unmatched;
        self.code.look_up(map, KEY, unmatched);
        self.asm().load(Size::Four, 1, 0, 0);
    }

    fn user(&mut self, map: MapId) {
        self.value(map);
        self.asm().store(Size::Four, FRAME, USER, 1);
    }

    fn user_by_address(&mut self, map: MapId, version: Version, source: bool) {
        let at = version.address(source);
        let asm = self.asm();
        match version {
            Version::Four => {
                asm.store_number(Size::Four, FRAME, KEY, 0);
                asm.load(Size::Four, 1, PACKET, at);
                asm.store(Size::Four, FRAME, KEY + 4, 1);
            }
            Version::Six => {
                asm.load(Size::Eight, 1, PACKET, at);
                asm.store(Size::Eight, FRAME, KEY, 1);
            }
        }
        self.user(map);
    }

    fn route(&mut self, table: u32, version: Version) {
        let at = version.address(false);
        let octets = version.address_bytes();
        let asm = self.asm();
        asm.store_number(Size::Four, FRAME, KEY, i32::from(octets) * 8);
        for word in (0..octets).step_by(4) {
            asm.load(Size::Four, 1, PACKET, at + word);
            asm.store(Size::Four, FRAME, KEY + 4 + word, 1);
        }
        self.value(match version {
            Version::Four => MapId::Routes4(table),
            Version::Six => MapId::Routes6(table),
        });
        self.hop();
    }

    /// Looks up the next hop whose number is in register 1.
    fn hop(&mut self) {
        let drop = self.drop;
        self.asm().store(Size::Four, FRAME, KEY, 1);
        self.code.look_up(MapId::Hops, KEY, drop);
        self.asm().register(Op::Move, FOUND, 0);
    }

    fn deliver(&mut self) {
        let drop = self.drop;
        self.asm().bounds(ETHERNET, drop);
        for (flag, from, to) in [(hop::HAS_DST, hop::DST, 0), (hop::HAS_SRC, hop::SRC, 6)] {
            let asm = self.asm();
            let stays = asm.label();
            asm.load(Size::One, 1, FOUND, hop::FLAGS);
            asm.number(Op::And, 1, flag);
            asm.jump_if(If::Equal, 1, 0, stays);
            asm.load(Size::Four, 1, FOUND, from);
            asm.store(Size::Four, PACKET, to, 1);
            asm.load(Size::Two, 1, FOUND, from + 4);
            asm.store(Size::Two, PACKET, to + 4, 1);
            asm.place(stays);
        }
        self.asm().load(Size::One, 1, FOUND, hop::PORT);
        self.leave_by();
    }

    /// Sends to the port in register 1.
    pub(super) fn leave_by(&mut self) {
        let end = self.end;
        let ingress = self.ingress as i32;
        let asm = self.asm();
        asm.number(Op::Move, 0, BACK);
        asm.jump_if(If::Equal, 1, ingress, end);
        asm.number(Op::Move, 0, ACROSS);
        asm.jump(end);
    }

    fn emit(&mut self, port: Port, source: Option<Mac>) {
        if let Some(Mac([a, b, c, d, e, f])) = source {
            let drop = self.drop;
            self.asm().bounds(ETHERNET, drop);
            self.asm().store_number(Size::Four, PACKET, 6, read32([a, b, c, d]));
            self.asm().store_number(Size::Two, PACKET, 10, read16([e, f]));
        }
        self.asm().number(Op::Move, 1, port as i32);
        self.leave_by();
    }
}
