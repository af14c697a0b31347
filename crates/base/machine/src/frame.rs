//! A PDU to send.
use bytes::Bytes;

/// Number of bytes at the start of a PDU that can be rewritten per receiver. The request id of an indication ends at
/// byte 18.
const HEAD: usize = 24;

/// One PDU to send: a head that is specific to the receiver and a body that may be shared with other receivers.
///
/// Forwarding writes only the head, which contains the request id. The body is a slice of the received PDU.
#[derive(Debug, Clone)]
pub struct Frame {
    head: [u8; HEAD],
    head_len: u8,
    body: Bytes,
    /// Whether the body has its own memory instead of keeping a whole receive buffer alive.
    detached: bool,
}

impl Frame {
    /// Creates a frame from an unmodified PDU.
    pub fn whole(body: Bytes) -> Self {
        Self { head: [0; HEAD], head_len: 0, body, detached: false }
    }

    /// Creates a frame with the bytes `at..at + patch.len()` of a PDU replaced. Returns `None` if they are not within
    /// the head.
    pub fn patched(pdu: &Bytes, at: usize, patch: &[u8]) -> Option<Self> {
        let end = at.checked_add(patch.len())?;
        if end > HEAD || end > pdu.len() {
            return None;
        }
        let mut head = [0; HEAD];
        head[..at].copy_from_slice(&pdu[..at]);
        head[at..end].copy_from_slice(patch);
        Some(Self { head, head_len: end as u8, body: pdu.slice(end..), detached: false })
    }

    /// Returns the bytes before the body.
    pub fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_len)]
    }

    /// Returns the shared bytes.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Returns the length of the PDU, in bytes.
    pub fn len(&self) -> usize {
        usize::from(self.head_len) + self.body.len()
    }

    /// Returns whether the PDU is empty, which no valid PDU is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the PDU as one buffer.
    pub fn to_bytes(&self) -> Bytes {
        if self.head_len == 0 {
            return self.body.clone();
        }
        [self.head(), &self.body].concat().into()
    }

    /// Returns whether the body has its own memory.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Copies the body to its own memory. Otherwise a queued frame would keep its whole receive buffer alive, and a
    /// limit in bytes would not bound the memory.
    pub fn detach(&mut self) {
        if !self.detached {
            self.body = Bytes::copy_from_slice(&self.body);
            self.detached = true;
        }
    }
}
