//! Messages that are encoded once, and patched for each transmission.
use super::{EncodeError, Header, Ies, Message, Pdu, SEID_AT};

/// Encoded message in which a few fields change. These are the sequence number, the SEID, and the fields of [`Template::slot`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    octets: Vec<u8>,
    header: Header,
}

/// Field within an information element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The complete value of the element.
    Whole,
    /// TEID of an F-TEID (IE 21) or an Outer Header Creation (IE 84).
    Teid,
    /// SEID of an F-SEID (IE 57).
    Seid,
    /// IPv4 address of an F-TEID, F-SEID, UE IP Address (IE 93) or Outer Header Creation.
    V4,
    /// IPv6 address of an F-TEID, F-SEID, UE IP Address (IE 93) or Outer Header Creation.
    V6,
}

/// Position of a field in a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    at: usize,
    len: usize,
}

impl Slot {
    /// Writes the field in a copy of the template. If the value has a different length or the copy is too short, returns `false` without a
    /// change.
    #[must_use]
    pub fn put(&self, copy: &mut [u8], value: &[u8]) -> bool {
        match copy.get_mut(self.at..self.at + self.len) {
            Some(field) if field.len() == value.len() => {
                field.copy_from_slice(value);
                true
            }
            _ => false,
        }
    }

    /// Returns the field in a copy of the template.
    pub fn field<'a>(&self, copy: &'a [u8]) -> Option<&'a [u8]> {
        copy.get(self.range())
    }

    /// Returns the byte range of the field.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.len
    }

    /// Returns the size of the field in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the field is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Template {
    /// Encodes a message. SEID and sequence number are zero until they are patched.
    pub fn new(message: impl Into<Message>) -> Result<Self, EncodeError> {
        let message = message.into();
        let seid = Header::needs_seid(message.message_type()).then_some(0);
        let pdu = Pdu::new(message, seid, 0);
        let mut octets = Vec::new();
        pdu.encode(&mut octets)?;
        Ok(Self { octets, header: pdu.header })
    }

    /// Creates a template from an encoded message. Returns `None` unless the datagram contains exactly one message.
    pub fn from_datagram(datagram: &[u8]) -> Option<Self> {
        let (header, _, rest) = Header::read(datagram).ok()?;
        let good = rest.is_empty() && Header::needs_seid(header.message_type) == header.seid.is_some();
        good.then(|| Self { octets: datagram.to_vec(), header })
    }

    /// Returns the encoded message.
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Replaces `out` with a copy that has this SEID and sequence number. The SEID of a node message is ignored.
    pub fn write(&self, seid: u64, sequence: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.octets);
        if self.header.seid.is_some() {
            out[SEID_AT..SEID_AT + 8].copy_from_slice(&seid.to_be_bytes());
        }
        let at = self.header.sequence_at();
        out[at..at + 3].copy_from_slice(&sequence.to_be_bytes()[1..]);
    }

    /// Finds a field. `path` lists the elements from the outermost to the innermost, each by type and number of occurrence, starting at 0.
    /// Returns `None` if there is no such element, or if it has no such part.
    pub fn slot(&self, path: &[(u16, usize)], part: Part) -> Option<Slot> {
        let mut from = self.header.len();
        let mut to = self.octets.len();
        let mut innermost = None;
        for &(ie_type, nth) in path {
            (from, to) = self.find(from, to, ie_type, nth)?;
            innermost = Some(ie_type);
        }
        let value = &self.octets[from..to];
        let (offset, len) = part_of(innermost?, value, part)?;
        (offset + len <= value.len()).then_some(Slot { at: from + offset, len })
    }

    fn find(&self, from: usize, to: usize, ie_type: u16, nth: usize) -> Option<(usize, usize)> {
        let mut at = from;
        let mut count = 0;
        for element in Ies::new(&self.octets[from..to]) {
            let (number, value) = element.ok()?;
            let begin = at + 4;
            at = begin + value.len();
            if number == ie_type {
                if count == nth {
                    return Some((begin, at));
                }
                count += 1;
            }
        }
        None
    }
}

/// Returns offset and length of a part in an element's value.
fn part_of(ie_type: u16, value: &[u8], part: Part) -> Option<(usize, usize)> {
    let first = *value.first()?;
    // Flags of IPv4 and IPv6, and the offset of the addresses.
    let (v4, v6, at) = match ie_type {
        21 if first & 4 == 0 => (first & 1 != 0, first & 2 != 0, 5),
        57 => (first & 2 != 0, first & 1 != 0, 9),
        93 => (first & 2 != 0, first & 1 != 0, 1),
        84 if first & 3 != 0 => (first & 0x15 != 0, first & 0x2a != 0, 6),
        _ => (false, false, 0),
    };
    match (part, ie_type) {
        (Part::Whole, _) => Some((0, value.len())),
        (Part::Teid, 21) if first & 4 == 0 => Some((1, 4)),
        (Part::Teid, 84) if first & 3 != 0 => Some((2, 4)),
        (Part::Seid, 57) => Some((1, 8)),
        (Part::V4, _) if v4 => Some((at, 4)),
        (Part::V6, _) if v6 => Some((at + if v4 { 4 } else { 0 }, 16)),
        _ => None,
    }
}
