//! Allocation-free codec for the two most frequent messages. Every field of RICindication and RICcontrolRequest
//! starts at a byte boundary in aligned PER, so they are read and written in place.
//!
//! Unusual messages (fragments, unusual order, unknown elements) are left to the general codec: a decoder returns
//! `None`, and an encoder calls the general one. Tests compare both codecs.
mod put;

use super::{
    Message, RanFunctionId, RicActionId, RicControlAckRequest, RicControlRequest, RicIndication,
    RicIndicationType, RicRequestId, Version, encode_into,
};
use crate::per::EncodeError;
use bytes::Bytes;
use put::{USUAL_CONTROL, USUAL_INDICATION, long_len, put_head, put_string, put_usual};

/// Maximum length of contents without fragmentation.
const UNFRAGMENTED: usize = 16_383;

/// Fields for routing an indication, read from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Request id of the subscription.
    pub request_id: RicRequestId,
    /// Offset of the four bytes of the request id.
    pub request_id_at: usize,
    /// Id of the RAN function.
    pub function_id: RanFunctionId,
    /// Id of the action.
    pub action_id: RicActionId,
    /// Sequence number.
    pub sn: Option<u16>,
}

impl Head {
    /// Reads the head of a RICindication in the usual order of elements. Returns `None` for anything else.
    pub fn peek(pdu: &[u8]) -> Option<Self> {
        let [0x00, 5, _, rest @ ..] = pdu else { return None };
        // A long message is fragmented, but its first fragment contains these fields. A truncated message must not be
        // forwarded.
        let (whole, rest) = match rest {
            [n @ 0..0x80, rest @ ..] => (usize::from(*n), rest),
            [n @ 0x80..=0xbf, low, rest @ ..] => (usize::from(*n & 0x3f) << 8 | usize::from(*low), rest),
            [units @ 0xc1..=0xc4, rest @ ..] => (usize::from(*units & 0x3f) * (UNFRAGMENTED + 1), rest),
            _ => return None,
        };
        if rest.len() < whole {
            return None;
        }
        let [
            0,
            _,
            _,
            0,
            29,
            _,
            5,
            0,
            r1,
            r2,
            i1,
            i2,
            0,
            5,
            _,
            2,
            f @ 0..16,
            f2,
            0,
            15,
            _,
            1,
            action_id,
            rest @ ..,
        ] = rest
        else {
            return None;
        };
        let sn = match rest {
            [0, 27, _, 2, hi, lo, ..] => Some(u16::from_be_bytes([*hi, *lo])),
            _ => None,
        };
        Some(Self {
            request_id: RicRequestId {
                requestor: u16::from_be_bytes([*r1, *r2]),
                instance: u16::from_be_bytes([*i1, *i2]),
            },
            request_id_at: pdu.len() - rest.len() - 15,
            function_id: u16::from_be_bytes([*f, *f2]),
            action_id: *action_id,
            sn,
        })
    }
}

/// Returns the encoding of a request id in a PDU.
pub fn request_id_octets(id: RicRequestId) -> [u8; 4] {
    let [a, b] = id.requestor.to_be_bytes();
    let [c, d] = id.instance.to_be_bytes();
    [a, b, c, d]
}

/// A RICindication, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indication<'a> {
    /// Request id of the subscription.
    pub request_id: RicRequestId,
    /// Id of the RAN function.
    pub function_id: RanFunctionId,
    /// Id of the action.
    pub action_id: RicActionId,
    /// Sequence number.
    pub sn: Option<u16>,
    /// Type: report or insert.
    pub kind: RicIndicationType,
    /// Indication header of the service model.
    pub header: &'a [u8],
    /// Indication message of the service model.
    pub message: &'a [u8],
    /// Identifier that links an insert to the control that responds to it.
    pub call_process_id: Option<&'a [u8]>,
}

impl<'a> Indication<'a> {
    /// Decodes an indication in place. Returns `None` if only the general codec can decide.
    #[inline]
    pub fn decode(pdu: &'a [u8]) -> Option<Self> {
        let ies = Ies::open(pdu, [0x00, 5])?;
        Self::in_usual_order(&ies).or_else(|| Self::in_any_order(ies))
    }

    /// Decodes elements in the order of the standard, with one comparison per element.
    #[inline]
    fn in_usual_order(ies: &Ies<'a>) -> Option<Self> {
        let &[0, 29, c1, 5, 0, r1, r2, i1, i2, 0, 5, c2, 2, f1, f2, 0, 15, c3, 1, action_id, ref rest @ ..] =
            ies.rest
        else {
            return None;
        };
        let (sn, c4, rest) = match *rest {
            [0, 27, c4, 2, hi, lo, ref rest @ ..] => (Some(u16::from_be_bytes([hi, lo])), c4, rest),
            _ => (None, 0, rest),
        };
        let &[0, 28, c5, 1, kind, 0, 25, c6, ref rest @ ..] = rest else { return None };
        let (header, rest) = take_open_string(rest)?;
        let &[0, 26, c7, ref rest @ ..] = rest else { return None };
        let (message, rest) = take_open_string(rest)?;
        let (call_process_id, c8, rest) = match *rest {
            [0, 20, c8, ref rest @ ..] => {
                let (id, rest) = take_open_string(rest)?;
                (Some(id), c8, rest)
            }
            _ => (None, 0, rest),
        };
        let count = 6 + u16::from(sn.is_some()) + u16::from(call_process_id.is_some());
        let usual = rest.is_empty() && ies.left == count && f1 < 16;
        if !usual || ![c1, c2, c3, c4, c5, c6, c7, c8].into_iter().all(is_criticality) {
            return None;
        }
        Some(Self {
            request_id: RicRequestId {
                requestor: u16::from_be_bytes([r1, r2]),
                instance: u16::from_be_bytes([i1, i2]),
            },
            function_id: u16::from_be_bytes([f1, f2]),
            action_id,
            sn,
            kind: take_kind(kind)?,
            header,
            message,
            call_process_id,
        })
    }

    fn in_any_order(mut ies: Ies<'a>) -> Option<Self> {
        let mut request_id = None;
        let mut function_id = None;
        let mut action_id = None;
        let mut sn = None;
        let mut kind = None;
        let mut header = None;
        let mut message = None;
        let mut call_process_id = None;
        while let Some((id, value)) = ies.next()? {
            let fresh = match id {
                29 => request_id.replace(take_request_id(value)?).is_none(),
                5 => function_id.replace(take_function_id(value)?).is_none(),
                15 => match *value {
                    [id] => action_id.replace(id).is_none(),
                    _ => return None,
                },
                27 => match *value {
                    [hi, lo] => sn.replace(u16::from_be_bytes([hi, lo])).is_none(),
                    _ => return None,
                },
                28 => match *value {
                    [octet] => kind.replace(take_kind(octet)?).is_none(),
                    _ => return None,
                },
                25 => header.replace(take_string(value)?).is_none(),
                26 => message.replace(take_string(value)?).is_none(),
                20 => call_process_id.replace(take_string(value)?).is_none(),
                _ => return None,
            };
            if !fresh {
                return None;
            }
        }
        Some(Self {
            request_id: request_id?,
            function_id: function_id?,
            action_id: action_id?,
            sn,
            kind: kind?,
            header: header?,
            message: message?,
            call_process_id,
        })
    }

    /// Appends the PDU, which is the same in all versions. Allocates only if `out` lacks room or the message is
    /// fragmented.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let cpid_len = self.call_process_id.map_or(0, string_ie_len);
        let body = 3 + 9 + 6 + 5 + if self.sn.is_some() { 6 } else { 0 } + 5;
        let body = body + string_ie_len(self.header) + string_ie_len(self.message) + cpid_len;
        if body > UNFRAGMENTED || self.function_id > 4095 {
            return self.encode_general(out);
        }
        out.reserve(body + 5);
        let count = 6 + u8::from(self.sn.is_some()) + u8::from(self.call_process_id.is_some());
        let kind = if self.kind == RicIndicationType::Insert { 0x40 } else { 0 };
        if let (Some(sn), None) = (self.sn, self.call_process_id)
            && let Some(head) = put_usual(out, &USUAL_INDICATION, 39, self.header, self.message)
        {
            head[3..5].copy_from_slice(&long_len(body));
            head[13..17].copy_from_slice(&request_id_octets(self.request_id));
            head[21..23].copy_from_slice(&self.function_id.to_be_bytes());
            head[32..34].copy_from_slice(&sn.to_be_bytes());
            (head[27], head[38]) = (self.action_id, kind);
            return Ok(());
        }
        put_head(out, [0x00, 5, 0x40], body, count, self.request_id, self.function_id);
        out.extend_from_slice(&[0, 15, 0, 1, self.action_id]);
        if let Some(sn) = self.sn {
            let [hi, lo] = sn.to_be_bytes();
            out.extend_from_slice(&[0, 27, 0, 2, hi, lo]);
        }
        out.extend_from_slice(&[0, 28, 0, 1, kind]);
        put_string(out, 25, self.header);
        put_string(out, 26, self.message);
        if let Some(cpid) = self.call_process_id {
            put_string(out, 20, cpid);
        }
        Ok(())
    }

    #[cold]
    fn encode_general(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let message = Message::RicIndication(RicIndication {
            request_id: self.request_id,
            function_id: self.function_id,
            action_id: self.action_id,
            sn: self.sn,
            kind: self.kind,
            header: Bytes::copy_from_slice(self.header),
            message: Bytes::copy_from_slice(self.message),
            call_process_id: self.call_process_id.map(Bytes::copy_from_slice),
        });
        *out = encode_into(&message, Version::V2_03, std::mem::take(out))?;
        Ok(())
    }
}

/// A RICcontrolRequest, borrowed from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control<'a> {
    /// Request id, chosen by the RIC.
    pub request_id: RicRequestId,
    /// Id of the RAN function.
    pub function_id: RanFunctionId,
    /// Call process id of the insert to which this responds.
    pub call_process_id: Option<&'a [u8]>,
    /// Control header of the service model.
    pub header: &'a [u8],
    /// Control message of the service model.
    pub message: &'a [u8],
    /// Requested type of response.
    pub ack_request: Option<RicControlAckRequest>,
}

impl<'a> Control<'a> {
    /// Decodes a control in place. Returns `None` if only the general codec can decide.
    #[inline]
    pub fn decode(pdu: &'a [u8], version: Version) -> Option<Self> {
        let mut ies = Ies::open(pdu, [0x00, 4])?;
        let mut request_id = None;
        let mut function_id = None;
        let mut call_process_id = None;
        let mut header = None;
        let mut message = None;
        let mut ack_request = None;
        while let Some((id, value)) = ies.next()? {
            let fresh = match id {
                29 => request_id.replace(take_request_id(value)?).is_none(),
                5 => function_id.replace(take_function_id(value)?).is_none(),
                20 => call_process_id.replace(take_string(value)?).is_none(),
                22 => header.replace(take_string(value)?).is_none(),
                23 => message.replace(take_string(value)?).is_none(),
                21 => match *value {
                    [bits] => ack_request.replace(take_ack_request(bits, version)?).is_none(),
                    _ => return None,
                },
                _ => return None,
            };
            if !fresh {
                return None;
            }
        }
        Some(Self {
            request_id: request_id?,
            function_id: function_id?,
            call_process_id,
            header: header?,
            message: message?,
            ack_request,
        })
    }

    /// Appends the PDU. Allocates only if `out` lacks room or the message is fragmented.
    #[inline]
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let cpid_len = self.call_process_id.map_or(0, string_ie_len);
        let ack = self.ack_request.map(|ack| ack_request_octet(ack, version));
        let body = 3 + 9 + 6 + cpid_len + string_ie_len(self.header) + string_ie_len(self.message);
        let body = body + if ack.is_some() { 5 } else { 0 };
        if body > UNFRAGMENTED || self.function_id > 4095 || ack == Some(None) {
            return self.encode_general(version, out);
        }
        out.reserve(body + 5);
        let count = 4 + u8::from(ack.is_some()) + u8::from(self.call_process_id.is_some());
        if self.call_process_id.is_none()
            && let Some(head) = put_usual(out, &USUAL_CONTROL, 23, self.header, self.message)
        {
            head[3..5].copy_from_slice(&long_len(body));
            head[7] = count;
            head[13..17].copy_from_slice(&request_id_octets(self.request_id));
            head[21..23].copy_from_slice(&self.function_id.to_be_bytes());
        } else {
            put_head(out, [0x00, 4, 0x00], body, count, self.request_id, self.function_id);
            if let Some(cpid) = self.call_process_id {
                put_string(out, 20, cpid);
            }
            put_string(out, 22, self.header);
            put_string(out, 23, self.message);
        }
        if let Some(Some(octet)) = ack {
            out.extend_from_slice(&[0, 21, 0, 1, octet]);
        }
        Ok(())
    }

    /// Returns the message. Octet strings are slices of `pdu`, from which this was decoded.
    pub fn to_message(&self, pdu: &Bytes) -> RicControlRequest {
        RicControlRequest {
            request_id: self.request_id,
            function_id: self.function_id,
            call_process_id: self.call_process_id.map(|octets| pdu.slice_ref(octets)),
            header: pdu.slice_ref(self.header),
            message: pdu.slice_ref(self.message),
            ack_request: self.ack_request,
        }
    }

    #[cold]
    fn encode_general(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let message = Message::RicControlRequest(RicControlRequest {
            request_id: self.request_id,
            function_id: self.function_id,
            call_process_id: self.call_process_id.map(Bytes::copy_from_slice),
            header: Bytes::copy_from_slice(self.header),
            message: Bytes::copy_from_slice(self.message),
            ack_request: self.ack_request,
        });
        *out = encode_into(&message, version, std::mem::take(out))?;
        Ok(())
    }
}

/// Encodes as one byte: an extension bit, then the index in one bit (two in v1.01, which has three values).
#[inline]
fn ack_request_octet(ack: RicControlAckRequest, version: Version) -> Option<u8> {
    Some(match (ack, version) {
        (RicControlAckRequest::NoAck, _) => 0x00,
        (RicControlAckRequest::Ack, Version::V1_01) => 0x20,
        (RicControlAckRequest::NAck, Version::V1_01) | (RicControlAckRequest::Ack, _) => 0x40,
        (RicControlAckRequest::NAck, _) => return None,
    })
}

#[inline]
fn take_ack_request(octet: u8, version: Version) -> Option<RicControlAckRequest> {
    use RicControlAckRequest::{Ack, NAck, NoAck};
    [NoAck, Ack, NAck].into_iter().find(|&ack| ack_request_octet(ack, version) == Some(octet))
}

/// Elements of an unfragmented message.
struct Ies<'a> {
    rest: &'a [u8],
    left: u16,
}

impl<'a> Ies<'a> {
    #[inline]
    fn open(pdu: &'a [u8], envelope: [u8; 2]) -> Option<Self> {
        let (head, rest) = pdu.split_at_checked(3)?;
        let (body, trailing) = take_contents(rest)?;
        let (&[extended, hi, lo], rest) = body.split_first_chunk::<3>()?;
        let usual = head[..2] == envelope && is_criticality(head[2]) && trailing.is_empty() && extended == 0;
        usual.then_some(Self { rest, left: u16::from_be_bytes([hi, lo]) })
    }

    /// Returns the next element. The outer `None` means that an expected element is missing.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    fn next(&mut self) -> Option<Option<(u16, &'a [u8])>> {
        if self.left == 0 {
            return self.rest.is_empty().then_some(None);
        }
        self.left -= 1;
        let (&[hi, lo, criticality], rest) = self.rest.split_first_chunk::<3>()?;
        if !is_criticality(criticality) {
            return None;
        }
        let (value, rest) = take_contents(rest)?;
        self.rest = rest;
        Some(Some((u16::from_be_bytes([hi, lo]), value)))
    }
}

/// Returns whether a byte is a criticality: two bits and padding.
#[inline]
fn is_criticality(octet: u8) -> bool {
    octet & 0x3f == 0 && octet != 0xc0
}

/// Returns the contents after an unfragmented length, and the remaining bytes.
#[inline]
fn take_contents(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = match octets {
        [n @ 0..0x80, rest @ ..] => (usize::from(*n), rest),
        [n @ 0x80..0xc0, m, rest @ ..] => (usize::from(n & 0x3f) << 8 | usize::from(*m), rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}

/// Returns the contents of an open type that contains only an OCTET STRING, and the remaining bytes.
#[inline]
fn take_open_string(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (value, rest) = take_contents(octets)?;
    Some((take_string(value)?, rest))
}

#[inline]
fn take_kind(octet: u8) -> Option<RicIndicationType> {
    match octet {
        0x00 => Some(RicIndicationType::Report),
        0x40 => Some(RicIndicationType::Insert),
        _ => None,
    }
}

#[inline]
fn take_string(value: &[u8]) -> Option<&[u8]> {
    take_contents(value).and_then(|(string, rest)| rest.is_empty().then_some(string))
}

#[inline]
fn take_request_id(value: &[u8]) -> Option<RicRequestId> {
    let &[0, a, b, c, d] = value else { return None };
    Some(RicRequestId { requestor: u16::from_be_bytes([a, b]), instance: u16::from_be_bytes([c, d]) })
}

#[inline]
fn take_function_id(value: &[u8]) -> Option<RanFunctionId> {
    match *value {
        [hi @ 0..16, lo] => Some(u16::from_be_bytes([hi, lo])),
        _ => None,
    }
}

#[inline]
const fn len_len(n: usize) -> usize {
    if n < 128 { 1 } else { 2 }
}

/// Returns the length of an element that contains an OCTET STRING, in bytes.
#[inline]
const fn string_ie_len(string: &[u8]) -> usize {
    let value = len_len(string.len()) + string.len();
    3 + len_len(value) + value
}
