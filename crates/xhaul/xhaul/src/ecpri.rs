//! eCPRI (interface specification V2.0): the messages that carry fronthaul over Ethernet or UDP.
//!
//! A message consists of a common header of [`HEADER_SIZE`] bytes (3.1.3.1) and a payload of the size in that header.
//! A frame can contain several messages: all but the last then have the concatenation bit, and the next message
//! starts at a multiple of four bytes. All numbers are big-endian. Bytes after the last message are padding.

use bytes::BufMut;

/// EtherType of eCPRI.
pub const ETHERTYPE: u16 = 0xAEFE;
/// Size of the common header, bytes.
pub const HEADER_SIZE: usize = 4;
/// Supported protocol revision (3.1.3.1.1).
pub const REVISION: u8 = 1;
/// Maximum payload size in bytes. The size field has 16 bits.
pub const PAYLOAD_MAX: usize = 0xFFFF;

/// Message with borrowed data (3.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Type 0: IQ samples; in O-RAN fronthaul the user plane.
    IqData(Stream<'a>),
    /// Type 1: bit sequence.
    BitSequence(Stream<'a>),
    /// Type 2: real-time control; in O-RAN fronthaul the control plane.
    RealTimeControl(Stream<'a>),
    /// Type 3: generic data.
    GenericData {
        /// Identifier of the series of messages.
        pc_id: u32,
        /// Sequence number in the series.
        sequence: u32,
        /// Content of the message.
        data: &'a [u8],
    },
    /// Type 5: one-way delay measurement.
    DelayMeasurement(DelayMeasurement<'a>),
    /// Type 6: remote reset.
    RemoteReset {
        /// Identifier of the reset.
        id: u16,
        /// 1: request, 2: response; other values are reserved.
        operation: u8,
        /// Vendor-specific data of the reset.
        data: &'a [u8],
    },
    /// Message of any other type (remote memory access, event indication, interworking, vendor-specific), with its undecoded payload.
    Other {
        /// Message type: 4, or 7 and above.
        message_type: u8,
        /// Undecoded payload.
        payload: &'a [u8],
    },
}

/// Data of a series of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream<'a> {
    /// PC_ID or RTC_ID; in O-RAN fronthaul the antenna-carrier (eAxC).
    pub id: u16,
    /// SEQ_ID; in O-RAN fronthaul an 8-bit sequence number, the end bit and a 7-bit subsequence number.
    pub sequence: u16,
    /// Content of the message.
    pub data: &'a [u8],
}

/// One step of a one-way delay measurement (3.2.4.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayMeasurement<'a> {
    /// Identifier of the measurement.
    pub id: u8,
    /// 0: request, 1: request with follow-up, 2: response, 3: remote request, 4: remote request with follow-up, 5:
    /// follow-up.
    pub action: u8,
    /// Seconds of the timestamp, 48 bits.
    pub seconds: u64,
    /// Nanoseconds of the timestamp.
    pub nanoseconds: u32,
    /// Compensation in units of 2^-16 ns, as in IEEE 1588.
    pub compensation: u64,
    /// Padding that makes the message as long as the messages whose delay is measured.
    pub filling: &'a [u8],
}

/// Reason why bytes are not a valid eCPRI message, or why a message cannot be encoded. Unless stated otherwise, the sender's message is
/// invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EcpriError {
    /// The common header is incomplete.
    #[error("an eCPRI header needs {HEADER_SIZE} bytes, not {0}")]
    NoHeader(usize),
    /// The protocol revision is unknown.
    #[error("eCPRI revision {0} is not supported; only {REVISION} is")]
    Revision(u8),
    /// The message has fewer bytes than its header announces.
    #[error("the eCPRI header announces {need} bytes of payload, but the message has {have}")]
    Truncated {
        /// Announced bytes.
        need: usize,
        /// Number of received bytes.
        have: usize,
    },
    /// The payload is too short for the fields of its type.
    #[error("eCPRI message type {message_type} needs at least {need} bytes of payload, not {have}")]
    TooShort {
        /// Message type.
        message_type: u8,
        /// Required size of the fields, in bytes.
        need: usize,
        /// Number of received bytes.
        have: usize,
    },
    /// The data exceeds the maximum payload (invalid argument of the caller).
    #[error("an eCPRI payload has at most {PAYLOAD_MAX} bytes, not {0}")]
    TooLong(usize),
    /// A value is too large for its field, or `Other` has a type with a separate variant (invalid argument of the caller).
    #[error("a time stamp has more than 48 bits of seconds, or `Other` has one of the types 0 to 3, 5 and 6")]
    NotInField,
}

impl<'a> Message<'a> {
    /// Decodes the first message of `bytes`. Also returns the remaining bytes if another message is concatenated.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), EcpriError> {
        let (header, rest) =
            bytes.split_first_chunk::<HEADER_SIZE>().ok_or(EcpriError::NoHeader(bytes.len()))?;
        let revision = header[0] >> 4;
        if revision != REVISION {
            return Err(EcpriError::Revision(revision));
        }
        let need = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let payload = rest.get(..need).ok_or(EcpriError::Truncated { need, have: rest.len() })?;
        let message = Self::of_payload(header[1], payload)?;
        let concatenated = header[0] & 1 == 1;
        let next = concatenated.then(|| rest.get(need.next_multiple_of(4)..).unwrap_or(&[]));
        Ok((message, next))
    }

    /// Appends the message. With `concatenated`, also appends the padding before the next message, which must follow.
    pub fn encode(&self, concatenated: bool, out: &mut impl BufMut) -> Result<(), EcpriError> {
        let size = self.payload_size();
        let written = u16::try_from(size).map_err(|_| EcpriError::TooLong(size))?;
        self.check()?;
        out.put_u8(REVISION << 4 | u8::from(concatenated));
        out.put_u8(self.message_type());
        out.put_u16(written);
        match *self {
            Self::IqData(stream) | Self::BitSequence(stream) | Self::RealTimeControl(stream) => {
                out.put_u16(stream.id);
                out.put_u16(stream.sequence);
                out.put_slice(stream.data);
            }
            Self::GenericData { pc_id, sequence, data } => {
                out.put_u32(pc_id);
                out.put_u32(sequence);
                out.put_slice(data);
            }
            Self::DelayMeasurement(measurement) => {
                out.put_slice(&[measurement.id, measurement.action]);
                out.put_uint(measurement.seconds, 6);
                out.put_u32(measurement.nanoseconds);
                out.put_u64(measurement.compensation);
                out.put_slice(measurement.filling);
            }
            Self::RemoteReset { id, operation, data } => {
                out.put_u16(id);
                out.put_u8(operation);
                out.put_slice(data);
            }
            Self::Other { payload, .. } => out.put_slice(payload),
        }
        if concatenated {
            out.put_bytes(0, size.next_multiple_of(4) - size);
        }
        Ok(())
    }

    /// Returns the message type (3.2.4).
    pub const fn message_type(&self) -> u8 {
        match self {
            Self::IqData(_) => 0,
            Self::BitSequence(_) => 1,
            Self::RealTimeControl(_) => 2,
            Self::GenericData { .. } => 3,
            Self::DelayMeasurement(_) => 5,
            Self::RemoteReset { .. } => 6,
            Self::Other { message_type, .. } => *message_type,
        }
    }

    /// Returns the payload size in bytes.
    pub const fn payload_size(&self) -> usize {
        match self {
            Self::IqData(stream) | Self::BitSequence(stream) | Self::RealTimeControl(stream) => {
                4 + stream.data.len()
            }
            Self::GenericData { data, .. } => 8 + data.len(),
            Self::DelayMeasurement(measurement) => 20 + measurement.filling.len(),
            Self::RemoteReset { data, .. } => 3 + data.len(),
            Self::Other { payload, .. } => payload.len(),
        }
    }

    fn of_payload(message_type: u8, payload: &'a [u8]) -> Result<Self, EcpriError> {
        let stream = || {
            let ([id0, id1, sequence0, sequence1], data) = fields::<4>(message_type, payload)?;
            let id = u16::from_be_bytes([id0, id1]);
            let sequence = u16::from_be_bytes([sequence0, sequence1]);
            Ok(Stream { id, sequence, data })
        };
        Ok(match message_type {
            0 => Self::IqData(stream()?),
            1 => Self::BitSequence(stream()?),
            2 => Self::RealTimeControl(stream()?),
            3 => {
                let ([p0, p1, p2, p3, s0, s1, s2, s3], data) = fields::<8>(message_type, payload)?;
                let pc_id = u32::from_be_bytes([p0, p1, p2, p3]);
                let sequence = u32::from_be_bytes([s0, s1, s2, s3]);
                Self::GenericData { pc_id, sequence, data }
            }
            5 => {
                let (f, filling) = fields::<20>(message_type, payload)?;
                Self::DelayMeasurement(DelayMeasurement {
                    id: f[0],
                    action: f[1],
                    seconds: u64::from_be_bytes([0, 0, f[2], f[3], f[4], f[5], f[6], f[7]]),
                    nanoseconds: u32::from_be_bytes([f[8], f[9], f[10], f[11]]),
                    compensation: u64::from_be_bytes([
                        f[12], f[13], f[14], f[15], f[16], f[17], f[18], f[19],
                    ]),
                    filling,
                })
            }
            6 => {
                let ([id0, id1, operation], data) = fields::<3>(message_type, payload)?;
                Self::RemoteReset { id: u16::from_be_bytes([id0, id1]), operation, data }
            }
            message_type => Self::Other { message_type, payload },
        })
    }

    fn check(&self) -> Result<(), EcpriError> {
        let fits = match self {
            Self::DelayMeasurement(measurement) => measurement.seconds < 1 << 48,
            Self::Other { message_type, .. } => !matches!(message_type, 0..=3 | 5 | 6),
            _ => true,
        };
        if fits { Ok(()) } else { Err(EcpriError::NotInField) }
    }
}

fn fields<const N: usize>(message_type: u8, payload: &[u8]) -> Result<([u8; N], &[u8]), EcpriError> {
    let too_short = EcpriError::TooShort { message_type, need: N, have: payload.len() };
    payload.split_first_chunk::<N>().map(|(fields, rest)| (*fields, rest)).ok_or(too_short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(message: &Message<'_>, concatenated: bool) -> Vec<u8> {
        let mut out = Vec::new();
        message.encode(concatenated, &mut out).unwrap();
        out
    }

    #[test]
    fn iq_data_header_has_eight_bytes() {
        let message = Message::IqData(Stream { id: 0x0102, sequence: 0x0380, data: &[0xAA, 0xBB] });
        let out = encoded(&message, false);
        assert_eq!(out, [0x10, 0, 0, 6, 1, 2, 3, 0x80, 0xAA, 0xBB]);
        assert_eq!(Message::decode(&out), Ok((message, None)));
    }

    #[test]
    fn concatenated_message_starts_at_a_multiple_of_four() {
        let first = Message::RemoteReset { id: 7, operation: 1, data: &[] };
        let second = Message::BitSequence(Stream { id: 1, sequence: 2, data: &[3] });
        let mut out = encoded(&first, true);
        assert_eq!(out, [0x11, 6, 0, 3, 0, 7, 1, 0]);
        out.extend(encoded(&second, false));
        let (read, rest) = Message::decode(&out).unwrap();
        assert_eq!(read, first);
        assert_eq!(Message::decode(rest.unwrap()), Ok((second, None)));
        assert_eq!(Message::decode(&out[..7]), Ok((first, Some(&[][..]))));
    }

    #[test]
    fn delay_measurement_has_48_bit_seconds() {
        let measurement = DelayMeasurement {
            id: 1,
            action: 2,
            seconds: 0x0102_0304_0506,
            nanoseconds: 0x0708_090A,
            compensation: 1 << 16,
            filling: &[0; 2],
        };
        let message = Message::DelayMeasurement(measurement);
        let out = encoded(&message, false);
        assert_eq!(out[..16], [0x10, 5, 0, 22, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(Message::decode(&out), Ok((message, None)));
        let late = Message::DelayMeasurement(DelayMeasurement { seconds: 1 << 48, ..measurement });
        assert_eq!(late.encode(false, &mut Vec::new()), Err(EcpriError::NotInField));
    }

    #[test]
    fn invalid_messages_yield_specific_errors() {
        assert_eq!(Message::decode(&[0x10, 0, 0]), Err(EcpriError::NoHeader(3)));
        assert_eq!(Message::decode(&[0x20, 0, 0, 0]), Err(EcpriError::Revision(2)));
        assert_eq!(Message::decode(&[0x10, 0, 0, 5, 0]), Err(EcpriError::Truncated { need: 5, have: 1 }));
        let short = EcpriError::TooShort { message_type: 3, need: 8, have: 1 };
        assert_eq!(Message::decode(&[0x10, 3, 0, 1, 0]), Err(short));
        let data = vec![0; PAYLOAD_MAX];
        let long = Message::IqData(Stream { id: 0, sequence: 0, data: &data });
        assert_eq!(long.encode(false, &mut Vec::new()), Err(EcpriError::TooLong(PAYLOAD_MAX + 4)));
        let disguised = Message::Other { message_type: 0, payload: &[] };
        assert_eq!(disguised.encode(false, &mut Vec::new()), Err(EcpriError::NotInField));
    }

    proptest! {
        #[test]
        fn messages_round_trip_and_prefixes_fail(
            message_type in prop_oneof![0_u8..8, any::<u8>()], a: u32, b: u32, c in 0_u64..1 << 48, data in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let data = &data[..];
            let stream = Stream { id: a as u16, sequence: b as u16, data };
            let message = match message_type {
                0 => Message::IqData(stream),
                1 => Message::BitSequence(stream),
                2 => Message::RealTimeControl(stream),
                3 => Message::GenericData { pc_id: a, sequence: b, data },
                5 => Message::DelayMeasurement(DelayMeasurement {
                    id: a as u8, action: b as u8, seconds: c, nanoseconds: a, compensation: c << 16, filling: data,
                }),
                6 => Message::RemoteReset { id: a as u16, operation: b as u8, data },
                message_type => Message::Other { message_type, payload: data },
            };
            let out = encoded(&message, false);
            prop_assert_eq!(out.len(), HEADER_SIZE + message.payload_size());
            prop_assert_eq!(Message::decode(&out), Ok((message, None)));
            for end in 0..out.len() {
                prop_assert!(Message::decode(&out[..end]).is_err());
            }
        }

        #[test]
        fn decode_never_panics(octets in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Message::decode(&octets);
            let mut likely = vec![0x11, octets.first().copied().unwrap_or(0) % 8, 0];
            likely.extend(octets);
            let _ = Message::decode(&likely);
        }
    }
}
