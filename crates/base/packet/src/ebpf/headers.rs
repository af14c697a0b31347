//! Code that the programs of several data planes share: checks of frames, checksums, and headers of tunnels.
//!
//! Frames are Ethernet and IPv4 without options. Registers have fixed tasks: [`CONTEXT`], [`LENGTH`] and [`PACKET`].
//! The methods overwrite registers 1 to 4.
use super::{Assembler, If, Label, Op, Reg, Size, read16, read32};
use crate::gtpu::{PORT, extension_type, message_type};
use std::net::Ipv4Addr;

/// Register of the program's argument, `struct xdp_md`.
pub const CONTEXT: Reg = 6;
/// Register of the length of the payload, in bytes.
pub const LENGTH: Reg = 8;
/// Register that points to the start of the frame.
pub const PACKET: Reg = 9;

/// Length of an Ethernet header, in bytes.
const ETHERNET: i16 = 14;
/// Lengths of an IPv4 and a UDP header, in bytes.
const IPV4: i16 = 20;
const UDP: i16 = 8;
/// Length of a GTP-U header with a PDU session container, in bytes.
pub const GTPU: i16 = 16;
/// Protocol number of UDP.
const PROTOCOL_UDP: u8 = 17;

/// A field in memory: register of the base, and offset.
pub type Field = (Reg, i16);

/// Returns the partial sum for the checksum of an IPv4 header without options and with DF, in the machine's byte order.
/// The sum excludes identification, length and checksum; [`Assembler::ipv4_header`] completes it.
#[must_use]
pub fn ipv4_sum(hops: u8, protocol: u8, local: Ipv4Addr, remote: Ipv4Addr) -> u32 {
    let [a, b, c, d] = local.octets();
    let [e, f, g, h] = remote.octets();
    let words = [[0x45, 0], [0x40, 0], [hops, protocol], [a, b], [c, d], [e, f], [g, h]];
    words.into_iter().map(|word| u32::from(u16::from_ne_bytes(word))).sum()
}

impl Assembler {
    /// Loads the frame into [`PACKET`] and its end into register 3. Jumps to `short` if the frame is shorter than
    /// `octets`.
    pub fn bounds(&mut self, octets: i16, short: Label) {
        self.load(Size::Four, PACKET, CONTEXT, 0);
        self.load(Size::Four, 3, CONTEXT, 4);
        self.register(Op::Move, 4, PACKET);
        self.number(Op::Add, 4, octets.into());
        self.jump_if_register(If::Greater, 4, 3, short);
    }

    /// Jumps unless a field of the frame has a value.
    pub fn expect(&mut self, size: Size, at: i16, value: i32, otherwise: Label) {
        self.load(size, 1, PACKET, at);
        self.jump_if_word(If::NotEqual, 1, value, otherwise);
    }

    /// Jumps if the IPv4 packet is a fragment.
    pub fn expect_whole(&mut self, otherwise: Label) {
        self.load(Size::Two, 1, PACKET, 20);
        self.number(Op::And, 1, read16([0x3f, 0xff]));
        self.jump_if(If::NotEqual, 1, 0, otherwise);
    }

    /// Loads two bytes of the frame as a number.
    pub fn number_at(&mut self, to: Reg, at: i16) {
        self.load(Size::Two, to, PACKET, at);
        self.swap16(to);
    }

    /// Folds a sum to 16 bits.
    pub fn fold(&mut self, sum: Reg, scratch: Reg) {
        self.register(Op::Move, scratch, sum);
        self.number(Op::RightShift, scratch, 32);
        self.word_register(Op::Move, sum, sum);
        self.register(Op::Add, sum, scratch);
        for _ in 0..3 {
            self.register(Op::Move, scratch, sum);
            self.number(Op::RightShift, scratch, 16);
            self.number(Op::And, sum, 0xffff);
            self.register(Op::Add, sum, scratch);
        }
    }

    /// Writes [`LENGTH`] plus `more` to two bytes of the frame. Register 1 then contains the written bytes.
    pub fn write_length(&mut self, at: i16, more: i16) {
        self.register(Op::Move, 1, LENGTH);
        self.number(Op::Add, 1, more.into());
        self.swap16(1);
        self.store(Size::Two, PACKET, at, 1);
    }

    /// Writes an IPv4 header except its addresses. `headers`: bytes of this and following headers; `sum`: the
    /// [`ipv4_sum`].
    pub fn ipv4_header(&mut self, hops: u8, protocol: u8, headers: i16, sum: Field) {
        self.store_number(Size::Two, PACKET, 14, read16([0x45, 0]));
        self.store_number(Size::Four, PACKET, 18, read32([0, 0, 0x40, 0]));
        self.store_number(Size::Two, PACKET, 22, read16([hops, protocol]));
        self.write_length(16, headers);
        // Register 1 contains the length in network byte order, which is the last addend of the sum.
        self.load(Size::Four, 2, sum.0, sum.1);
        self.register(Op::Add, 1, 2);
        self.fold(1, 2);
        self.number(Op::Xor, 1, 0xffff);
        self.store(Size::Two, PACKET, 24, 1);
    }

    /// Writes a UDP header without checksum. `headers`: bytes of this and following headers.
    pub fn udp_header(&mut self, from: u16, to: u16, headers: i16) {
        let [a, b] = from.to_be_bytes();
        let [c, d] = to.to_be_bytes();
        self.store_number(Size::Four, PACKET, 34, read32([a, b, c, d]));
        self.write_length(38, headers);
        self.store_number(Size::Two, PACKET, 40, 0);
    }

    /// Writes UDP and GTP-U headers of a downlink G-PDU with a PDU session container (TS 29.281, TS 38.415).
    pub fn gtpu_headers(&mut self, teid: Field, qfi: Field) {
        self.udp_header(PORT, PORT, UDP + GTPU);
        self.store_number(Size::Two, PACKET, 42, read16([0x34, message_type::G_PDU]));
        self.write_length(44, GTPU - 8);
        self.load(Size::Four, 1, teid.0, teid.1);
        self.store(Size::Four, PACKET, 46, 1);
        self.store_number(Size::Four, PACKET, 50, read32([0, 0, 0, extension_type::PDU_SESSION_CONTAINER]));
        self.store_number(Size::Two, PACKET, 54, read16([1, 0]));
        self.load(Size::One, 1, qfi.0, qfi.1);
        self.store(Size::One, PACKET, 56, 1);
        self.store_number(Size::One, PACKET, 57, 0);
    }

    /// Jumps to `otherwise` unless the frame contains a UDP datagram to the GTP-U port of `local`. The frame must have
    /// at least `ETHERNET` + 44 bytes.
    pub fn expect_gtpu_port(&mut self, local: Ipv4Addr, otherwise: Label) {
        self.expect(Size::One, 23, PROTOCOL_UDP.into(), otherwise);
        self.expect(Size::Four, 30, read32(local.octets()), otherwise);
        self.expect(Size::Two, 36, read16(PORT.to_be_bytes()), otherwise);
    }
}

const _: () = assert!(ETHERNET + IPV4 + UDP == 42);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;

    #[test]
    fn ipv4_sum_plus_length_is_valid_checksum() {
        let local = Ipv4Addr::new(10, 3, 0, 2);
        let remote = Ipv4Addr::new(10, 3, 0, 11);
        let length = 144_u16.to_be_bytes();
        let mut sum = ipv4_sum(64, 17, local, remote) + u32::from(u16::from_ne_bytes(length));
        sum = (sum & 0xffff) + (sum >> 16);
        let [a, b] = (!(sum as u16)).to_ne_bytes();
        let header = [0x45, 0, 0, 144, 0, 0, 0x40, 0, 64, 17, a, b, 10, 3, 0, 2, 10, 3, 0, 11];
        assert!(checksum::verifies(&header));
    }
}
