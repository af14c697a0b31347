//! memif 2.0: the messages by which two processes agree on shared memory with rings of packet descriptors.
//!
//! A message is one record of [`MESSAGE_BYTES`] bytes on a Unix `SEQPACKET` socket. Numbers are in the machine's own
//! byte order, because both ends are on one machine. File descriptors of memory and interrupts are passed with the
//! record. The master ("M") listens and maps the memory; the slave ("S") connects and owns the memory. "S2M" is the
//! ring of packets from S to M.

use std::fmt;

/// Size of every message, bytes.
pub const MESSAGE_BYTES: usize = 128;
/// Supported version: 2.0.
pub const VERSION: u16 = 2 << 8;
/// Size of a name including the terminating zero, bytes.
pub const NAME_BYTES: usize = 32;
/// Size of a secret, bytes.
pub const SECRET_BYTES: usize = 24;
/// Size of the reason in a disconnect including the terminating zero, bytes.
pub const REASON_BYTES: usize = 96;
/// First word of a ring in memory.
pub const RING_COOKIE: u32 = 0x03E3_1F20;
/// Size of a ring header before the descriptors, bytes: two cache lines.
pub const RING_HEAD_BYTES: u32 = 128;
/// Size of a descriptor, bytes.
pub const DESCRIPTOR_BYTES: u32 = 16;
/// Mode in which packets are Ethernet frames. The other modes carry IP packets, or pass packets to a host's stack.
pub const MODE_ETHERNET: u8 = 0;

/// Text of at most 31 bytes, terminated by a zero on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Name([u8; NAME_BYTES]);

impl Name {
    /// Creates a name from the first 31 bytes of `text`, up to a zero.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut name = [0; NAME_BYTES];
        copy_text(&mut name, text);
        Self(name)
    }

    /// Returns the name as text; invalid UTF-8 becomes U+FFFD.
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

/// A message of the control channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Acknowledgment of the last message that requires an answer.
    Ack,
    /// M to S, first message: limits of M.
    Hello(Hello),
    /// S to M: the requested interface.
    Init(Init),
    /// S to M, with a file descriptor of the memory.
    AddRegion {
        /// Index of the region, from 0.
        index: u16,
        /// Size of the region, bytes.
        octets: u64,
    },
    /// S to M, with a file descriptor for interrupts.
    AddRing(Ring),
    /// S to M: end of the configuration. The text is the name of S's interface.
    Connect(Name),
    /// M to S: packets can flow. The text is the name of M's interface.
    Connected(Name),
    /// Either direction: end of the connection.
    Disconnect {
        /// Number without published meaning; usually 0.
        code: u32,
        /// Reason as text; 95 bytes are transmitted.
        reason: String,
    },
}

/// Limits of M.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Program name of M.
    pub name: Name,
    /// Lowest version that M supports.
    pub min_version: u16,
    /// Highest version that M supports.
    pub max_version: u16,
    /// Highest region index.
    pub max_region: u16,
    /// Highest index of a ring towards S.
    pub max_m2s_ring: u16,
    /// Highest index of a ring towards M.
    pub max_s2m_ring: u16,
    /// Binary logarithm of the maximum number of descriptors per ring.
    pub max_log2_ring: u8,
}

/// Interface requested by S, and identity of S.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init {
    /// Version chosen by S.
    pub version: u16,
    /// Number of the interface at M's socket.
    pub id: u32,
    /// Packet mode, such as [`MODE_ETHERNET`].
    pub mode: u8,
    /// Secret known to both ends; zeros stand for none.
    pub secret: [u8; SECRET_BYTES],
    /// Program name of S.
    pub name: Name,
}

/// Location of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// Whether the direction is from S to M.
    pub to_master: bool,
    /// Index of the ring in its direction, from 0.
    pub index: u16,
    /// Region that contains the ring.
    pub region: u16,
    /// Offset in the region, bytes.
    pub offset: u32,
    /// Binary logarithm of the number of descriptors.
    pub log2_size: u8,
    /// Private bytes before each packet.
    pub private_bytes: u16,
}

impl Ring {
    /// Returns the size in bytes of a ring with `log2_size` (0 to 15) as the binary logarithm of its descriptors.
    #[must_use]
    pub const fn octets(log2_size: u8) -> u64 {
        RING_HEAD_BYTES as u64 + ((DESCRIPTOR_BYTES as u64) << (if log2_size > 15 { 15 } else { log2_size }))
    }
}

/// Bytes that are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemifError {
    /// Invalid length of a message.
    #[error("a memif message has {MESSAGE_BYTES} bytes, but {0} bytes were given")]
    Length(usize),
    /// Undefined message type.
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
    /// Returns the next `N` bytes. Never out of range, because the formats below are constant and fit into a message.
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

/// Encodes a message; unused bytes are zero.
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

/// Decodes a message. Ignores flags and bytes without meaning, and does not check the ranges of numbers.
///
/// # Errors
/// Fails if the length or the type is invalid.
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
    fn messages_round_trip() {
        for message in one_of_each() {
            assert_eq!(decode(&encode(&message)), Ok(message));
        }
    }

    /// The offsets are taken from the packed structures in `memif.h`, which DPDK, VPP and libmemif share.
    #[test]
    #[cfg(target_endian = "little")]
    fn field_offsets_match_packed_structures_of_memif_h() {
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
    fn decode_error_names_the_invalid_field() {
        assert_eq!(decode(&[0; 127]), Err(MemifError::Length(127)));
        assert_eq!(decode(&[0; 128]), Err(MemifError::Type(0)));
        assert_eq!(decode(&[9; 128]), Err(MemifError::Type(0x0909)));
    }

    #[test]
    fn texts_are_truncated_and_zero_terminated() {
        let long = Name::new(&"x".repeat(40));
        assert_eq!(long.text().len(), NAME_BYTES - 1);
        let octets = encode(&Message::Disconnect { code: 0, reason: "y".repeat(200) });
        assert_eq!(octets[6 + REASON_BYTES - 1..], [0; 27]);
        assert_eq!(Name::new("a\0b").text(), "a");
    }
}
