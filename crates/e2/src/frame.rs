//! A PDU on its way out.
use bytes::Bytes;
use ranlab_wire::e2ap::Version;
use ranlab_wire::flat::{Coding, from_per};

/// Octets of a PDU that may be written anew per receiver. An indication's request id ends at octet 18.
const HEAD: usize = 24;

/// One PDU to send: a head of this receiver's own and a body that may be shared with others.
///
/// Forwarding writes only the head (it holds the request id); the body is a slice of what was received.
#[derive(Debug, Clone)]
pub struct Frame {
    head: [u8; HEAD],
    head_len: u8,
    body: Bytes,
    /// Whether the body owns its octets, rather than keeping a whole receive buffer alive.
    detached: bool,
}

impl Frame {
    /// A PDU as it is.
    pub fn whole(body: Bytes) -> Self {
        Self { head: [0; HEAD], head_len: 0, body, detached: false }
    }

    /// A PDU whose octets `at..at + patch.len()` are replaced; `None` if they do not lie in the first octets.
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

    /// The PDU, in PER unless it was written in FlatBuffers, in the encoding of its connection.
    pub(crate) fn in_coding(self, coding: Coding, version: Version) -> Self {
        match coding {
            Coding::Per => self,
            Coding::Flat if self.head_len == 0 && Coding::of(&self.body) == Coding::Flat => self,
            Coding::Flat => Self::whole(from_per(&self.to_bytes(), version)),
        }
    }

    /// The octets before the body.
    pub fn head(&self) -> &[u8] {
        &self.head[..usize::from(self.head_len)]
    }

    /// The shared octets.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Length of the PDU in octets.
    pub fn len(&self) -> usize {
        usize::from(self.head_len) + self.body.len()
    }

    /// Whether the PDU has no octets; no PDU has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The PDU in one piece.
    pub fn to_bytes(&self) -> Bytes {
        if self.head_len == 0 {
            return self.body.clone();
        }
        [self.head(), &self.body].concat().into()
    }

    /// Whether the body has its own octets.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Gives the body its own octets: a frame that must wait shall not keep the whole receive buffer alive, or a
    /// bound in bytes would bound nothing.
    pub fn detach(&mut self) {
        if !self.detached {
            self.body = Bytes::copy_from_slice(&self.body);
            self.detached = true;
        }
    }
}
