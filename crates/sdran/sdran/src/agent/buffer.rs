//! Assembles messages from a stream with arbitrary segment boundaries.

/// Maximum number of buffered bytes of an incomplete message. The largest message of every protocol is smaller.
pub const MAX_BUFFER_BYTES: usize = 1 << 20;

/// An error after which the stream cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamFault<E> {
    /// The protocol's framing is broken.
    #[error(transparent)]
    Framing(E),
    /// A message is longer than any valid one.
    #[error("a message has {0} bytes; at most {MAX_BUFFER_BYTES} are allowed")]
    TooLong(usize),
}

/// Buffers bytes until a message is complete.
#[derive(Debug, Default)]
pub struct StreamBuffer {
    held: Vec<u8>,
    read: usize,
}

impl StreamBuffer {
    /// Appends bytes.
    pub fn extend(&mut self, octets: &[u8]) {
        if self.read == self.held.len() {
            self.held.clear();
            self.read = 0;
        } else if self.read > self.held.len() / 2 {
            self.held.drain(..self.read);
            self.read = 0;
        }
        self.held.extend_from_slice(octets);
    }

    /// Returns the next complete message. `message_bytes` computes the length of a message from its first bytes.
    pub fn next<E>(
        &mut self,
        message_bytes: impl Fn(&[u8]) -> Result<Option<usize>, E>,
    ) -> Result<Option<&[u8]>, StreamFault<E>> {
        let rest = &self.held[self.read..];
        let Some(len) = message_bytes(rest).map_err(StreamFault::Framing)? else { return Ok(None) };
        if len > MAX_BUFFER_BYTES {
            return Err(StreamFault::TooLong(len));
        }
        if rest.len() < len {
            return Ok(None);
        }
        let start = self.read;
        self.read += len;
        Ok(Some(&self.held[start..start + len]))
    }

    /// Discards all bytes.
    pub fn clear(&mut self) {
        self.held.clear();
        self.read = 0;
    }

    /// Returns the number of buffered bytes.
    pub fn len(&self) -> usize {
        self.held.len() - self.read
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(octets: &[u8]) -> Result<Option<usize>, ()> {
        match octets.first() {
            Some(0) => Err(()),
            Some(255) => Ok(Some(MAX_BUFFER_BYTES + 1)),
            first => Ok(first.map(|len| usize::from(*len))),
        }
    }

    #[test]
    fn messages_are_complete_for_any_segment_boundaries() {
        let stream = [3, 1, 1, 1, 2, 9, 4, 7, 7, 7];
        for cut in 1..stream.len() {
            let mut buffer = StreamBuffer::default();
            let mut messages = Vec::new();
            for chunk in stream.chunks(cut) {
                buffer.extend(chunk);
                while let Some(message) = buffer.next(bytes).unwrap() {
                    messages.push(message.to_vec());
                }
            }
            assert_eq!(messages, [&[3, 1, 1][..], &[1], &[2, 9], &[4, 7, 7, 7]]);
            assert!(buffer.is_empty());
        }
    }

    #[test]
    fn broken_framing_is_reported() {
        let mut buffer = StreamBuffer::default();
        buffer.extend(&[0]);
        assert_eq!(buffer.next(bytes), Err(StreamFault::Framing(())));
        buffer.clear();
        buffer.extend(&[255]);
        assert_eq!(buffer.next(bytes), Err(StreamFault::TooLong(MAX_BUFFER_BYTES + 1)));
    }
}
