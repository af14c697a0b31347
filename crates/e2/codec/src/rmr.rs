//! RMR over TCP ("SI95"): message transport between O-RAN SC's platform and its xApps. A message consists of a
//! transport header, a message header, two small fields and the payload. There is no delimiter between messages, so
//! an invalid length ends the connection.
use bytes::Bytes;

/// Maximum message size, bytes. RMR itself has no limit.
pub const MESSAGE_MAX: usize = 1 << 20;
/// Maximum length of a source, characters without the terminator.
pub const SOURCE_MAX: usize = 63;
/// Maximum length of a managed element's name, characters without the terminator.
pub const MEID_MAX: usize = 31;

/// RIC_CONTROL_REQ.
pub const CONTROL_REQUEST: i32 = 12_040;
/// RIC_CONTROL_ACK.
pub const CONTROL_ACKNOWLEDGE: i32 = 12_041;
/// RIC_CONTROL_FAILURE.
pub const CONTROL_FAILURE: i32 = 12_042;
/// RIC_INDICATION.
pub const INDICATION: i32 = 12_050;

const TRANSPORT: usize = 50;
const HEADER: usize = 280;
/// Length of the fields that librmr writes after its header: a call number and reserved bytes.
const DATA1: usize = 4;
const VERSION: u32 = 3;
/// Mark of a transport header that also has the length in network byte order.
const NETWORK_ORDER: u8 = b'$';
/// Flag of a message whose subscription id is valid.
const FLAG_SUBSCRIPTION: u32 = 2;

// Byte offsets from the start of the transport header.
const KIND: usize = 50;
const PAYLOAD_LEN: usize = 54;
const MESSAGE_VERSION: usize = 58;
const TRANSACTION: usize = 62;
const SOURCE: usize = 126;
const MEID: usize = 190;
const FLAGS: usize = 242;
const LENGTHS: usize = 246;
const SUBSCRIPTION: usize = 262;
const SOURCE_ADDRESS: usize = 266;
const BODY: usize = TRANSPORT + HEADER;

/// Message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Message type, e.g. [`INDICATION`].
    pub kind: i32,
    /// Subscription id; `None` stands for -1 (no subscription).
    pub subscription: Option<i32>,
    /// Transaction id of the sender, repeated in an answer.
    pub transaction: [u8; 32],
    /// `name:port` on which the sender listens for answers.
    pub source: String,
    /// Managed element: the inventory name of a node.
    pub meid: String,
    /// Number of a blocking call, repeated in its answer; 0 if no call waits.
    pub call: u8,
    /// Payload; a complete E2AP PDU for the E2 message types.
    pub payload: Bytes,
}

/// Reason why bytes are not a valid message. The connection must be closed after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RmrError {
    /// Longer than [`MESSAGE_MAX`], or too short for the headers.
    #[error("a message has {0} bytes; {BODY} to {MESSAGE_MAX} are allowed")]
    Length(u32),
    /// The parts exceed the message.
    #[error("a length in the message exceeds the message")]
    Parts,
    /// Unsupported version of the header.
    #[error("the message header has version {0}; version {VERSION} is expected")]
    Version(u32),
}

impl Message {
    /// Decodes the first message in `octets` and returns it with its size in bytes. Returns `None` if it is
    /// incomplete.
    ///
    /// # Errors
    /// See [`RmrError`].
    pub fn decode(octets: &[u8]) -> Result<Option<(Self, usize)>, RmrError> {
        let Some(head) = octets.first_chunk::<9>() else { return Ok(None) };
        let [h0, h1, h2, h3, n0, n1, n2, n3, mark] = *head;
        let network = u32::from_be_bytes([n0, n1, n2, n3]);
        // Without the mark `$`, the length has the sender's byte order, which is little-endian wherever RMR runs.
        let total = if mark == NETWORK_ORDER { network } else { u32::from_le_bytes([h0, h1, h2, h3]) };
        let len = usize::try_from(total).unwrap_or(usize::MAX);
        if !(BODY..=MESSAGE_MAX).contains(&len) {
            return Err(RmrError::Length(total));
        }
        let Some(message) = octets.get(..len) else { return Ok(None) };
        let version = word(message, MESSAGE_VERSION);
        if version != VERSION {
            return Err(RmrError::Version(version));
        }
        let lengths: [usize; 4] = std::array::from_fn(|i| word(message, LENGTHS + 4 * i) as usize);
        let [header, trace, data1, data2] = lengths;
        let data1_at = TRANSPORT.saturating_add(header).saturating_add(trace);
        let payload_at = data1_at.saturating_add(data1).saturating_add(data2);
        let payload_end = payload_at.saturating_add(word(message, PAYLOAD_LEN) as usize);
        let payload = message.get(payload_at..payload_end).ok_or(RmrError::Parts)?;
        if header < HEADER {
            return Err(RmrError::Parts);
        }
        let mut transaction = [0; 32];
        transaction.copy_from_slice(&message[TRANSACTION..TRANSACTION + 32]);
        let subscription = word(message, SUBSCRIPTION) as i32;
        let decoded = Self {
            kind: word(message, KIND) as i32,
            subscription: (subscription >= 0).then_some(subscription),
            transaction,
            source: text(&message[SOURCE..MEID]),
            meid: text(&message[MEID..MEID + MEID_MAX + 1]),
            call: if data1 > 0 { message.get(data1_at).copied().unwrap_or(0) } else { 0 },
            payload: Bytes::copy_from_slice(payload),
        };
        Ok(Some((decoded, len)))
    }

    /// Encodes the message. Names longer than [`SOURCE_MAX`] and [`MEID_MAX`] are truncated.
    ///
    /// # Errors
    /// Fails with [`RmrError::Length`] if the message is too long.
    pub fn encode(&self) -> Result<Vec<u8>, RmrError> {
        let total = BODY + DATA1 + self.payload.len();
        let too_long = || RmrError::Length(u32::try_from(total).unwrap_or(u32::MAX));
        let len = u32::try_from(total).ok().filter(|_| total <= MESSAGE_MAX).ok_or_else(too_long)?;
        let mut out = vec![0; BODY];
        out.reserve_exact(DATA1 + self.payload.len());
        out[..4].copy_from_slice(&len.to_le_bytes());
        let mut put = |at: usize, value: u32| out[at..at + 4].copy_from_slice(&value.to_be_bytes());
        put(4, len);
        put(KIND, self.kind as u32);
        put(PAYLOAD_LEN, self.payload.len() as u32);
        put(MESSAGE_VERSION, VERSION);
        put(FLAGS, if self.subscription.is_some() { FLAG_SUBSCRIPTION } else { 0 });
        put(LENGTHS, HEADER as u32);
        put(LENGTHS + 8, DATA1 as u32);
        put(SUBSCRIPTION, self.subscription.unwrap_or(-1) as u32);
        out[8] = NETWORK_ORDER;
        out[TRANSACTION..TRANSACTION + 32].copy_from_slice(&self.transaction);
        for (at, name, most) in [
            (SOURCE, &self.source, SOURCE_MAX),
            (SOURCE_ADDRESS, &self.source, SOURCE_MAX),
            (MEID, &self.meid, MEID_MAX),
        ] {
            let name = &name.as_bytes()[..name.len().min(most)];
            out[at..at + name.len()].copy_from_slice(name);
        }
        out.extend_from_slice(&[self.call, 0, 0, 0]);
        out.extend_from_slice(&self.payload);
        Ok(out)
    }

    /// Returns a response of this type to this message, from `source`.
    #[must_use]
    pub fn answer(&self, kind: i32, source: String, payload: Bytes) -> Self {
        Self { kind, source, payload, ..self.clone() }
    }
}

/// Reads four bytes in network byte order; the caller ensures that they exist.
fn word(octets: &[u8], at: usize) -> u32 {
    octets.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Returns the text up to the first NUL.
fn text(octets: &[u8]) -> String {
    let end = octets.iter().position(|octet| *octet == 0).unwrap_or(octets.len());
    String::from_utf8_lossy(&octets[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> Message {
        let mut transaction = [0; 32];
        transaction[..4].copy_from_slice(b"cafe");
        let source = "10.0.2.20:4560".to_owned();
        let meid = "gnb_001_001_00019b".to_owned();
        let payload = Bytes::from_static(b"\x00\x05\x40\x03pdu!");
        Message { kind: INDICATION, subscription: Some(7), transaction, source, meid, call: 0, payload }
    }

    /// A message of librmr 4.9.4 with eight bytes of payload: 342 bytes in total.
    #[test]
    fn field_offsets_match_librmr() {
        let octets = message().encode().unwrap();
        assert_eq!(octets.len(), 342);
        assert_eq!(octets[..9], [0x56, 1, 0, 0, 0, 0, 1, 0x56, b'$']);
        assert_eq!(octets[50..62], [0, 0, 0x2f, 0x12, 0, 0, 0, 8, 0, 0, 0, 3]);
        assert_eq!(&octets[126..141], b"10.0.2.20:4560\0");
        assert_eq!(&octets[190..209], b"gnb_001_001_00019b\0");
        assert_eq!(
            octets[242..266],
            [0, 0, 0, 2, 0, 0, 1, 0x18, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 7]
        );
        assert_eq!(&octets[334..], b"\x00\x05\x40\x03pdu!");
        assert_eq!(Message::decode(&octets), Ok(Some((message(), 342))));
    }

    #[test]
    fn invalid_message_fails_with_a_reason() {
        let octets = message().encode().unwrap();
        let with = |at: usize, bytes: &[u8]| {
            let mut octets = octets.clone();
            octets[at..at + bytes.len()].copy_from_slice(bytes);
            Message::decode(&octets)
        };
        for len in 0..octets.len() {
            assert_eq!(Message::decode(&octets[..len]), Ok(None));
        }
        assert_eq!(with(4, &[0xff; 4]), Err(RmrError::Length(u32::MAX)));
        assert_eq!(with(4, &[0, 0, 0, 9]), Err(RmrError::Length(9)));
        assert_eq!(with(54, &[0, 0, 0, 9]), Err(RmrError::Parts));
        assert_eq!(with(246, &[0xff; 4]), Err(RmrError::Parts));
        assert_eq!(with(246, &[0; 4]), Err(RmrError::Parts));
        assert_eq!(with(58, &[0, 0, 0, 2]), Err(RmrError::Version(2)));
        // Without the mark, the sender's own byte order applies; an unset subscription is -1.
        assert_eq!(with(8, &[0]), Ok(Some((message(), 342))));
        assert_eq!(with(262, &[0xff; 4]).unwrap().unwrap().0.subscription, None);
        let long = Message { payload: vec![0; MESSAGE_MAX].into(), ..message() };
        assert!(matches!(long.encode(), Err(RmrError::Length(_))));
    }

    proptest! {
        #[test]
        fn messages_round_trip(kind in 0..i32::MAX, sub in proptest::option::of(0..i32::MAX), call: u8,
            source in "[a-z0-9.:]{0,63}", meid in "[a-z0-9_]{0,31}", payload: Vec<u8>, transaction: [u8; 32],
            cut in 0usize..2_000) {
            let payload = Bytes::from(payload);
            let message = Message { kind, subscription: sub, transaction, source, meid, call, payload };
            let octets = message.encode().unwrap();
            let len = octets.len();
            prop_assert_eq!(Message::decode(&octets), Ok(Some((message, len))));
            prop_assert_eq!(Message::decode(&octets[..cut.min(len - 1)]), Ok(None));
        }

        #[test]
        fn decode_never_panics(mut octets in proptest::collection::vec(any::<u8>(), 330..700), short in 330u32..700) {
            let _ = Message::decode(&octets);
            octets[4..8].copy_from_slice(&short.to_be_bytes());
            octets[8] = NETWORK_ORDER;
            octets[58..62].copy_from_slice(&VERSION.to_be_bytes());
            let _ = Message::decode(&octets);
        }
    }
}
