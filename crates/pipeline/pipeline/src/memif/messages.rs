//! memif 2.0: the messages by which two processes agree on shared memory with rings of packet descriptors.
//!
//! One message is one record of [`MESSAGE_BYTES`] octets on a Unix `SEQPACKET` socket, in the machine's own byte order, for both
//! ends are on one machine. Descriptors of memory and of interrupts travel beside the octets. "M" is who listens and maps the
//! memory, "S" who connects and owns it; "S2M" is the ring of packets from S to M.

use std::fmt;

/// Octets of every message.
pub const MESSAGE_BYTES: usize = 128;
/// The version that this is: 2.0.
pub const VERSION: u16 = 2 << 8;
/// Octets of names, with the zero behind them.
pub const NAME_BYTES: usize = 32;
/// Octets of a secret.
pub const SECRET_BYTES: usize = 24;
/// Octets of the reason in a disconnect, with the zero behind it.
pub const REASON_BYTES: usize = 96;
/// What a ring in memory begins with.
pub const RING_COOKIE: u32 = 0x03E3_1F20;
/// Octets of a ring before its descriptors: two cache lines.
pub const RING_HEAD_BYTES: u32 = 128;
/// Octets of a descriptor.
pub const DESCRIPTOR_BYTES: u32 = 16;
/// Packets are frames with Ethernet headers; the other modes carry bare IP or go into a host's stack.
pub const MODE_ETHERNET: u8 = 0;

/// A text of at most 31 octets, ended by a zero on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Name([u8; NAME_BYTES]);

impl Name {
    /// The first 31 octets of `text`, up to a zero.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut name = [0; NAME_BYTES];
        copy_text(&mut name, text);
        Self(name)
    }

    /// As text; octets that are none become question marks of Unicode.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

fn copy_text(to: &mut [u8], text: &str) {
    let most = to.len().saturating_sub(1);
    for (to, from) in to[..most].iter_mut().zip(text.bytes().take_while(|octet| *octet != 0)) {
        *to = from;
    }
}

fn text(octets: &[u8]) -> String {
    let end = octets.iter().position(|octet| *octet == 0).unwrap_or(octets.len());
    String::from_utf8_lossy(&octets[..end]).into_owned()
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The last one that needs an answer was good.
    Ack,
    /// M to S, first: what M can take.
    Hello(Hello),
    /// S to M: which interface is meant.
    Init(Init),
    /// S to M, with a descriptor of the memory.
    AddRegion {
        /// Its number, from 0 on.
        index: u16,
        /// Its length in octets.
        octets: u64,
    },
    /// S to M, with a descriptor for interrupts.
    AddRing(Ring),
    /// S to M: everything is said. The text is the name of S's interface.
    Connect(Name),
    /// M to S: packets may flow. The text is the name of M's interface.
    Connected(Name),
    /// Either way: this is the end.
    Disconnect {
        /// A number without published meaning; 0 is common.
        code: u32,
        /// Why, in words; 95 octets travel.
        reason: String,
    },
}

/// What M can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The program at M.
    pub name: Name,
    /// Lowest version.
    pub min_version: u16,
    /// Highest version.
    pub max_version: u16,
    /// Greatest number of a region.
    pub max_region: u16,
    /// Greatest number of a ring towards S.
    pub max_m2s_ring: u16,
    /// Greatest number of a ring towards M.
    pub max_s2m_ring: u16,
    /// Binary logarithm of the greatest ring's descriptors.
    pub max_log2_ring: u8,
}

/// Which interface S means, and who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init {
    /// Version that S has chosen.
    pub version: u16,
    /// The interface's number at M's socket.
    pub id: u32,
    /// What packets are.
    pub mode: u8,
    /// A word that both ends know; zeros are none.
    pub secret: [u8; SECRET_BYTES],
    /// The program at S.
    pub name: Name,
}

/// Where a ring is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// From S to M, or the other way.
    pub to_master: bool,
    /// Its number in its direction, from 0 on.
    pub index: u16,
    /// The region that holds it.
    pub region: u16,
    /// Where in the region.
    pub offset: u32,
    /// Binary logarithm of its descriptors.
    pub log2_size: u8,
    /// Octets in front of each packet that are private to both ends.
    pub private_bytes: u16,
}

impl Ring {
    /// Octets of a ring of that many descriptors (as binary logarithm, 0 to 15).
    #[must_use]
    pub const fn octets(log2_size: u8) -> u64 {
        RING_HEAD_BYTES as u64 + ((DESCRIPTOR_BYTES as u64) << (if log2_size > 15 { 15 } else { log2_size }))
    }
}

/// Octets that are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemifError {
    /// Not the length of a message.
    #[error("a memif message has {MESSAGE_BYTES} octets, this has {0}")]
    Length(usize),
    /// No message has this type.
    #[error("memif has no message of type {0}; allowed are 1 to 8")]
    Type(u16),
}

struct Writer([u8; MESSAGE_BYTES], usize);

impl Writer {
    fn put<const N: usize>(&mut self, octets: [u8; N]) -> &mut Self {
        self.0[self.1..self.1 + N].copy_from_slice(&octets);
        self.1 += N;
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.put(value.to_ne_bytes())
    }
}

struct Reader<'a>(&'a [u8; MESSAGE_BYTES], usize);

impl Reader<'_> {
    /// The next octets. Positions are constants of the formats below, all within a message.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut octets = [0; N];
        octets.copy_from_slice(&self.0[self.1..self.1 + N]);
        self.1 += N;
        octets
    }

    fn u16(&mut self) -> u16 {
        u16::from_ne_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn octet(&mut self) -> u8 {
        let [octet] = self.take();
        octet
    }
}

/// The octets of a message; what is not said is zero.
#[must_use]
pub fn encode(message: &Message) -> [u8; MESSAGE_BYTES] {
    let mut out = Writer([0; MESSAGE_BYTES], 0);
    match message {
        Message::Ack => out.u16(1),
        Message::Hello(hello) => out
            .u16(2)
            .put(hello.name.0)
            .u16(hello.min_version)
            .u16(hello.max_version)
            .u16(hello.max_region)
            .u16(hello.max_m2s_ring)
            .u16(hello.max_s2m_ring)
            .put([hello.max_log2_ring]),
        Message::Init(init) => out
            .u16(3)
            .u16(init.version)
            .put(init.id.to_ne_bytes())
            .put([init.mode])
            .put(init.secret)
            .put(init.name.0),
        Message::AddRegion { index, octets } => out.u16(4).u16(*index).put(octets.to_ne_bytes()),
        Message::AddRing(ring) => out
            .u16(5)
            .u16(ring.to_master.into())
            .u16(ring.index)
            .u16(ring.region)
            .put(ring.offset.to_ne_bytes())
            .put([ring.log2_size])
            .u16(ring.private_bytes),
        Message::Connect(name) => out.u16(6).put(name.0),
        Message::Connected(name) => out.u16(7).put(name.0),
        Message::Disconnect { code, reason } => {
            let mut octets = [0; REASON_BYTES];
            copy_text(&mut octets, reason);
            out.u16(8).put(code.to_ne_bytes()).put(octets)
        }
    };
    out.0
}

/// Reads a message. Flags and octets without meaning are ignored; numbers are not judged here.
///
/// # Errors
/// Another length, or no such type.
pub fn decode(octets: &[u8]) -> Result<Message, MemifError> {
    let message: &[u8; MESSAGE_BYTES] = octets.try_into().map_err(|_| MemifError::Length(octets.len()))?;
    let mut reader = Reader(message, 0);
    let kind = reader.u16();
    Ok(match kind {
        1 => Message::Ack,
        2 => Message::Hello(Hello {
            name: Name(reader.take()),
            min_version: reader.u16(),
            max_version: reader.u16(),
            max_region: reader.u16(),
            max_m2s_ring: reader.u16(),
            max_s2m_ring: reader.u16(),
            max_log2_ring: reader.octet(),
        }),
        3 => Message::Init(Init {
            version: reader.u16(),
            id: reader.u32(),
            mode: reader.octet(),
            secret: reader.take(),
            name: Name(reader.take()),
        }),
        4 => Message::AddRegion { index: reader.u16(), octets: u64::from_ne_bytes(reader.take()) },
        5 => Message::AddRing(Ring {
            to_master: reader.u16() & 1 == 1,
            index: reader.u16(),
            region: reader.u16(),
            offset: reader.u32(),
            log2_size: reader.octet(),
            private_bytes: reader.u16(),
        }),
        6 => Message::Connect(Name(reader.take())),
        7 => Message::Connected(Name(reader.take())),
        8 => Message::Disconnect { code: reader.u32(), reason: text(&reader.take::<REASON_BYTES>()) },
        other => return Err(MemifError::Type(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of_each() -> Vec<Message> {
        vec![
            Message::Ack,
            Message::Hello(Hello {
                name: Name::new("them"),
                min_version: VERSION,
                max_version: VERSION,
                max_region: 3,
                max_m2s_ring: 1,
                max_s2m_ring: 2,
                max_log2_ring: 14,
            }),
            Message::Init(Init {
                version: VERSION,
                id: 0x0102_0304,
                mode: MODE_ETHERNET,
                secret: *b"abcdefghijklmnopqrstuvwx",
                name: Name::new("us"),
            }),
            Message::AddRegion { index: 1, octets: 0x1_0000_0001 },
            Message::AddRing(Ring {
                to_master: true,
                index: 0,
                region: 1,
                offset: 0x0506_0708,
                log2_size: 10,
                private_bytes: 9,
            }),
            Message::Connect(Name::new("if0")),
            Message::Connected(Name::new("if1")),
            Message::Disconnect { code: 5, reason: "a reason".to_owned() },
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        for message in one_of_each() {
            assert_eq!(decode(&encode(&message)), Ok(message));
        }
    }

    /// Offsets of the published header's packed structures, where each field begins.
    #[test]
    #[cfg(target_endian = "little")]
    fn fields_are_where_the_published_structures_have_them() {
        let octets: Vec<_> = one_of_each().iter().map(encode).collect();
        assert!(octets.iter().zip(1_u8..).all(|(octets, kind)| octets[..2] == [kind, 0]));
        let [_, hello, init, region, ring, connect, _, disconnect] = &octets[..] else { panic!() };
        assert_eq!(hello[2..6], *b"them");
        assert_eq!(hello[34..46], [0, 2, 0, 2, 3, 0, 1, 0, 2, 0, 14, 0]);
        assert_eq!(init[2..9], [0, 2, 4, 3, 2, 1, 0]);
        assert_eq!((&init[9..33], &init[33..35]), (&b"abcdefghijklmnopqrstuvwx"[..], &b"us"[..]));
        assert_eq!(region[2..12], [1, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(ring[2..15], [1, 0, 0, 0, 1, 0, 8, 7, 6, 5, 10, 9, 0]);
        assert_eq!(connect[2..6], *b"if0\0");
        assert_eq!((&disconnect[2..6], &disconnect[6..14]), (&[5, 0, 0, 0][..], &b"a reason"[..]));
    }

    #[test]
    fn what_is_no_message_is_named() {
        assert_eq!(decode(&[0; 127]), Err(MemifError::Length(127)));
        assert_eq!(decode(&[0; 128]), Err(MemifError::Type(0)));
        assert_eq!(decode(&[9; 128]), Err(MemifError::Type(0x0909)));
    }

    #[test]
    fn texts_are_cut_and_end_with_a_zero() {
        let long = Name::new(&"x".repeat(40));
        assert_eq!(long.text().len(), NAME_BYTES - 1);
        let octets = encode(&Message::Disconnect { code: 0, reason: "y".repeat(200) });
        assert_eq!(octets[6 + REASON_BYTES - 1..], [0; 27]);
        assert_eq!(Name::new("a\0b").text(), "a");
    }
}
