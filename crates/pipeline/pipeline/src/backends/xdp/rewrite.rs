//! Code for meters, rule lists, and rewriting of packets.

use super::object::MapId;
use super::path::{FOUND, KEY, LENGTH, PACKET, Path, USER, Version};
use super::tables::meter;
use crate::declare::{AclId, AclRule, AclTable, Action, NatId, Prefix4, Prefix6};
use ranlab_packet::ebpf::{Assembler, FRAME, If, Label, NOW, Op, Reg, Size, read16, read32};

const TCP: i32 = 6;
const UDP: i32 = 17;
/// Lengths of the transport headers, in bytes.
const TCP_BYTES: i16 = 20;
const UDP_BYTES: i16 = 8;
/// Nanoseconds per second. Tokens are bytes times nanoseconds per second.
const PER_BYTE: i32 = 1_000_000_000;

impl Path<'_> {
    /// Charges the packet to the user's token bucket, on the kernel's clock.
    pub(super) fn meter(&mut self) {
        let drop = self.drop;
        self.code.look_up(MapId::Meters, USER, drop);
        let asm = self.asm();
        let charge = asm.label();
        let full = asm.label();
        let some = asm.label();
        asm.register(Op::Move, FOUND, 0);
        asm.call(NOW);
        asm.load(Size::Eight, 1, FOUND, meter::TOKENS);
        asm.load(Size::Eight, 2, FOUND, meter::LAST);
        asm.load(Size::Eight, 3, FOUND, meter::DEPTH);
        // A clock that has not advanced adds no tokens.
        asm.jump_if_register(If::NotLess, 2, 0, charge);
        asm.store(Size::Eight, FOUND, meter::LAST, 0);
        asm.register(Op::Sub, 0, 2);
        asm.load(Size::Eight, 2, FOUND, meter::FULL_AFTER);
        asm.jump_if_register(If::NotLess, 0, 2, full);
        asm.load(Size::Eight, 2, FOUND, meter::RATE);
        asm.register(Op::Multiply, 0, 2);
        asm.register(Op::Add, 1, 0);
        asm.jump_if_register(If::NotLess, 3, 1, charge);
        asm.place(full);
        asm.register(Op::Move, 1, 3);
        asm.place(charge);
        asm.register(Op::Move, 2, LENGTH);
        asm.number(Op::Multiply, 2, PER_BYTE);
        asm.jump_if_register(If::NotLess, 1, 2, some);
        asm.store(Size::Eight, FOUND, meter::TOKENS, 1);
        asm.jump(drop);
        asm.place(some);
        asm.register(Op::Sub, 1, 2);
        asm.store(Size::Eight, FOUND, meter::TOKENS, 1);
    }

    /// Calls the function of a rule list.
    pub(super) fn classify(&mut self, id: AclId, version: Version) {
        let unmatched = self.unmatched;
        let list = self.code.list(id, version);
        let none = self.asm().label();
        let ask = self.asm().label();
        self.transport(version, none, |path, _, l4| {
            path.asm().bounds(l4 + 4, none);
            path.asm().number_at(3, l4);
            path.asm().number_at(4, l4 + 2);
            path.asm().jump(ask);
        });
        self.asm().place(none);
        // A jump may have lost the bounds of the frame, so the verifier requires another check.
        self.asm().bounds(version.payload(), unmatched);
        let asm = self.asm();
        asm.number(Op::Move, 3, NO_PORT);
        asm.number(Op::Move, 4, NO_PORT);
        asm.place(ask);
        asm.load(Size::One, 5, PACKET, version.protocol());
        match version {
            Version::Four => {
                asm.load(Size::Four, 1, PACKET, version.address(true));
                asm.load(Size::Four, 2, PACKET, version.address(false));
            }
            // IPv6 addresses do not fit into registers.
            Version::Six => {
                asm.register(Op::Move, 1, PACKET);
                asm.number(Op::Move, 2, 0);
            }
        }
        asm.call_function(list);
        asm.jump_if(If::Equal, 0, 0, unmatched);
    }

    /// Writes `then` for each transport protocol with ports. The arguments of `then` are whether the protocol is UDP,
    /// and the offset of the transport header. The code of `then` does not continue after it.
    ///
    /// Jumps to `none` if the packet has no complete transport header or is a later fragment.
    fn transport(&mut self, version: Version, none: Label, then: impl Fn(&mut Self, bool, i16)) {
        let tcp = self.asm().label();
        if version == Version::Four {
            self.asm().load(Size::Two, 1, PACKET, 20);
            self.asm().number(Op::And, 1, read16([0x1f, 0xff]));
            self.asm().jump_if(If::NotEqual, 1, 0, none);
        }
        let asm = self.asm();
        asm.load(Size::One, 1, PACKET, version.protocol());
        asm.jump_if(If::Equal, 1, TCP, tcp);
        asm.jump_if(If::NotEqual, 1, UDP, none);
        asm.jump_if(If::Less, LENGTH, (version.header() + UDP_BYTES).into(), none);
        then(self, true, version.payload());
        self.asm().place(tcp);
        self.asm().jump_if(If::Less, LENGTH, (version.header() + TCP_BYTES).into(), none);
        then(self, false, version.payload());
    }

    /// Rewrites the address and port of one side, and updates the checksums.
    pub(super) fn translate(&mut self, id: NatId, version: Version, source: bool) {
        let unmatched = self.unmatched;
        let done = self.asm().label();
        self.transport(version, unmatched, |path, udp, l4| {
            path.translate_one(id, (version, source), (udp, l4));
            path.asm().jump(done);
        });
        self.asm().place(done);
    }

    fn translate_one(&mut self, id: NatId, (version, source): (Version, bool), (udp, l4): (bool, i16)) {
        let drop = self.drop;
        let unmatched = self.unmatched;
        let address = version.address(source);
        let octets = version.address_bytes();
        let port = l4 + if source { 0 } else { 2 };
        let sum = l4 + if udp { 6 } else { 16 };
        self.asm().bounds(l4 + if udp { UDP_BYTES } else { TCP_BYTES }, drop);
        let asm = self.asm();
        for at in (0..octets).step_by(4) {
            asm.load(Size::Four, 1, PACKET, address + at);
            asm.store(Size::Four, FRAME, KEY + at, 1);
        }
        asm.load(Size::Two, 1, PACKET, port);
        // Port 0 denotes a packet without ports.
        asm.jump_if(If::Equal, 1, 0, unmatched);
        asm.store(Size::Two, FRAME, KEY + octets, 1);
        asm.load(Size::One, 1, PACKET, version.protocol());
        asm.store(Size::One, FRAME, KEY + octets + 2, 1);
        asm.store_number(Size::One, FRAME, KEY + octets + 3, 0);
        let map = match version {
            Version::Four => MapId::Nat4(id.0),
            Version::Six => MapId::Nat6(id.0),
        };
        self.code.look_up(map, KEY, unmatched);
        self.asm().register(Op::Move, FOUND, 0);
        let absent = self.asm().label();
        self.asm().load(Size::Two, 5, PACKET, sum);
        if udp {
            self.asm().jump_if(If::Equal, 5, 0, absent);
        }
        self.asm().number(Op::Xor, 5, 0xffff);
        self.difference(address, octets);
        let asm = self.asm();
        asm.load(Size::Two, 1, PACKET, port);
        asm.number(Op::Xor, 1, 0xffff);
        asm.register(Op::Add, 5, 1);
        asm.load(Size::Two, 1, FOUND, octets);
        asm.register(Op::Add, 5, 1);
        self.sum_to(sum);
        if udp {
            let fine = self.asm().label();
            self.asm().jump_if(If::NotEqual, 5, 0, fine);
            self.asm().store_number(Size::Two, PACKET, sum, 0xffff);
            self.asm().place(fine);
        }
        self.asm().place(absent);
        if version == Version::Four {
            self.asm().load(Size::Two, 5, PACKET, 24);
            self.asm().number(Op::Xor, 5, 0xffff);
            self.difference(address, octets);
            self.sum_to(24);
        }
        let asm = self.asm();
        for at in (0..octets).step_by(4) {
            asm.load(Size::Four, 1, FOUND, at);
            asm.store(Size::Four, PACKET, address + at, 1);
        }
        asm.load(Size::Two, 1, FOUND, octets);
        asm.store(Size::Two, PACKET, port, 1);
    }

    /// Adds to register 5 the change of the checksum when an address is replaced by the address in `FOUND` (RFC 1624).
    fn difference(&mut self, address: i16, octets: i16) {
        let asm = self.asm();
        for at in (0..octets).step_by(4) {
            asm.load(Size::Four, 1, PACKET, address + at);
            asm.word_number(Op::Xor, 1, -1);
            asm.register(Op::Add, 5, 1);
            asm.load(Size::Four, 1, FOUND, at);
            asm.register(Op::Add, 5, 1);
        }
    }

    /// Converts the sum in register 5 to a checksum and writes it.
    fn sum_to(&mut self, at: i16) {
        self.asm().fold(5, 1);
        self.asm().number(Op::Xor, 5, 0xffff);
        self.asm().store(Size::Two, PACKET, at, 5);
    }

    /// Decrements the TTL or hop limit.
    pub(super) fn spend_hop(&mut self, version: Version) {
        let drop = self.drop;
        let life = match version {
            Version::Four => 22,
            Version::Six => 21,
        };
        let asm = self.asm();
        asm.load(Size::One, 2, PACKET, life);
        asm.jump_if(If::Less, 2, 2, drop);
        if version == Version::Four {
            // The checksum is updated by the word that contains TTL and protocol, in machine byte order.
            asm.load(Size::Two, 5, PACKET, 24);
            asm.number(Op::Xor, 5, 0xffff);
            asm.load(Size::Two, 1, PACKET, life);
            asm.register(Op::Move, 3, 1);
            asm.number(Op::Xor, 3, 0xffff);
            asm.register(Op::Add, 5, 3);
            asm.number(Op::Sub, 1, read16([1, 0]));
            asm.register(Op::Add, 5, 1);
            self.sum_to(24);
        }
        let asm = self.asm();
        asm.number(Op::Sub, 2, 1);
        asm.store(Size::One, PACKET, life, 2);
    }
}

/// A check of a rule: an operation on register 0, followed by a conditional jump.
enum Check {
    /// Compares a word under a mask. `load` loads the word into register 0.
    Word { load: Load, mask: u32, value: u32 },
    /// Checks that the port in a register is within a range.
    Ports { register: Reg, first: u16, last: u16 },
}

#[derive(Clone, Copy)]
enum Load {
    Register(Reg),
    Packet(i16),
}

impl Check {
    /// Writes the operand to register 0. Returns the condition and the operand under which the rule does not match.
    fn prepare(&self, asm: &mut Assembler) -> (If, i32) {
        match *self {
            Self::Word { load, mask, value } => {
                match load {
                    Load::Register(register) => asm.word_register(Op::Move, 0, register),
                    Load::Packet(at) => asm.load(Size::Four, 0, 1, at),
                }
                if mask != u32::MAX {
                    asm.word_number(Op::And, 0, mask as i32);
                }
                (If::NotEqual, value as i32)
            }
            Self::Ports { register, first, last } => {
                asm.word_register(Op::Move, 0, register);
                if first > 0 {
                    asm.word_number(Op::Sub, 0, first.into());
                }
                (If::Greater, i32::from(last) - i32::from(first))
            }
        }
    }
}

/// Port number of a packet without ports, which is in no range.
const NO_PORT: i32 = 0x1_0000;

/// Writes the function of a rule list. Register 0 returns whether the packet passes.
///
/// Registers 1 and 2 are the packet's IPv4 addresses (for IPv6, register 1 is its frame). Registers 3 and 4 are its
/// ports, and register 5 is its protocol.
pub(super) fn list(asm: &mut Assembler, table: &AclTable, version: Version) {
    let rules: Vec<(Vec<Check>, Action)> = match version {
        Version::Four => table.rules.iter().map(|(rule, action)| (checks4(rule), *action)).collect(),
        Version::Six => table.rules6.iter().map(|(rule, action)| (checks6(rule), *action)).collect(),
    };
    for (checks, action) in rules {
        let Some((first, others)) = checks.split_first() else {
            // The rule matches everything. Nothing follows it, because the kernel rejects code that is never reached.
            return asm.end(permits(action));
        };
        let next = asm.label();
        let matches = asm.label();
        // In this form, the verifier has one pending branch per rule instead of one per check of a rule.
        let (condition, number) = first.prepare(asm);
        let opposite = if condition == If::NotEqual { If::Equal } else { If::Less };
        let number = if opposite == If::Less { number + 1 } else { number };
        asm.jump_if_word(opposite, 0, number, matches);
        asm.jump(next);
        asm.place(matches);
        for check in others {
            let (condition, number) = check.prepare(asm);
            asm.jump_if_word(condition, 0, number, next);
        }
        asm.end(permits(action));
        asm.place(next);
    }
    asm.end(permits(table.default));
}

const fn permits(action: Action) -> i32 {
    match action {
        Action::Permit => 1,
        Action::Deny => 0,
    }
}

/// Adds the checks of a rule that are the same for both IP versions: ports and protocol.
fn common<P>(rule: &AclRule<P>, checks: &mut Vec<Check>) {
    if let Some(protocol) = rule.protocol {
        checks.push(Check::Word { load: Load::Register(5), mask: u32::MAX, value: protocol.into() });
    }
    for (register, (first, last)) in [(3, rule.src_ports), (4, rule.dst_ports)] {
        if (first, last) != (0, u16::MAX) {
            checks.push(Check::Ports { register, first, last });
        }
    }
}

fn checks4(rule: &AclRule<Prefix4>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (register, prefix) in [(1, rule.src), (2, rule.dst)] {
        if prefix.mask() != 0 {
            let read = |bits: u32| read32(bits.to_be_bytes()) as u32;
            let mask = read(prefix.mask());
            let value = read(prefix.address.to_bits() & prefix.mask());
            checks.push(Check::Word { load: Load::Register(register), mask, value });
        }
    }
    common(rule, &mut checks);
    checks
}

fn checks6(rule: &AclRule<Prefix6>) -> Vec<Check> {
    let mut checks = Vec::new();
    for (at, prefix) in [(Version::Six.address(true), rule.src), (Version::Six.address(false), rule.dst)] {
        let masks = prefix.mask().to_be_bytes();
        let values = (prefix.address.to_bits() & prefix.mask()).to_be_bytes();
        for word in 0..4 {
            let read =
                |octets: &[u8; 16]| octets[word * 4..].first_chunk().map_or(0, |four| read32(*four) as u32);
            if read(&masks) != 0 {
                let load = Load::Packet(at + word as i16 * 4);
                checks.push(Check::Word { load, mask: read(&masks), value: read(&values) });
            }
        }
    }
    common(rule, &mut checks);
    checks
}
