//! Reading frames from a stream without copying them.

use std::io;

use bytes::{Buf, Bytes, BytesMut};

use super::{Framer, LengthPrefix, MAX_PDU_BYTES, Stream};

/// Initial size of the buffer.
const FIRST_CHUNK_BYTES: usize = 64 << 10;
/// Maximum size of the buffer, which doubles when reads fill it.
const LAST_CHUNK_BYTES: usize = 256 << 10;
/// Minimum free space for a read. With less, a new buffer is used.
const LEAST_ROOM_BYTES: usize = 8 << 10;

/// Invalid length of a frame. The stream cannot be read further and must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame exceeds the limit.
    #[error("the peer announces a message of {announced} bytes, at most {limit} are allowed")]
    TooLong {
        /// Length in the frame's head, in bytes.
        announced: usize,
        /// Limit of this reader, in bytes.
        limit: usize,
    },
    /// The frame is empty, which is not allowed.
    #[error("the peer announces a message of 0 bytes, at least 1 is needed")]
    Empty,
}

/// Result of [`FrameReader::fill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Number of bytes read. Call [`FrameReader::next`] until it returns `None`.
    Bytes(usize),
    /// No data now; wait for [`Stream::readable`].
    WouldBlock,
    /// The peer has closed the stream. [`FrameReader::unfinished_bytes`] is not zero if this was within a frame.
    Closed,
}

/// Splits a stream into frames that share the read buffer.
///
/// A frame keeps its buffer alive, so callers that queue frames for a long time should copy small ones. Once all
/// frames are dropped, the same allocation is reused from its start.
#[derive(Debug)]
pub struct FrameReader {
    framer: &'static dyn Framer,
    buf: BytesMut,
    max_pdu: usize,
    chunk: usize,
    /// Second buffer, used while frames still refer to the first one, possibly on another thread.
    spare: Option<BytesMut>,
    /// Whether the last buffer was enlarged for a frame beyond the maximum buffer size.
    grown: bool,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new(MAX_PDU_BYTES)
    }
}

impl FrameReader {
    /// Creates a reader for PDUs of up to `max_pdu` bytes. It allocates nothing before the first read.
    pub fn new(max_pdu: usize) -> Self {
        Self::with_framer(max_pdu, &LengthPrefix)
    }

    /// Creates a reader with another framing.
    pub fn with_framer(max_pdu: usize, framer: &'static dyn Framer) -> Self {
        Self { framer, buf: BytesMut::new(), max_pdu, chunk: FIRST_CHUNK_BYTES, spare: None, grown: false }
    }

    /// Enables a second buffer. Frames that live slightly longer than until the next read then cause no allocation.
    pub fn with_spare(mut self) -> Self {
        self.spare = Some(BytesMut::new());
        self
    }

    /// Reads once. Take the received frames with [`Self::next`] before the next call.
    pub fn fill(&mut self, stream: &Stream) -> io::Result<ReadOutcome> {
        self.make_room();
        let room = self.buf.capacity() - self.buf.len();
        match stream.try_read(&mut self.buf) {
            Ok(0) => Ok(ReadOutcome::Closed),
            Ok(read) => {
                if read == room {
                    self.chunk = (self.chunk * 2).min(LAST_CHUNK_BYTES);
                }
                Ok(ReadOutcome::Bytes(read))
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(ReadOutcome::WouldBlock),
                _ => Err(error),
            },
        }
    }

    /// Returns the PDU of the next complete frame, or `None` if it has not arrived yet. After an error there is no
    /// next frame.
    #[allow(clippy::should_implement_trait)] // an iterator would end at the first `None`; this one continues
    pub fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.framer.pdu_bytes(&self.buf) else { return Ok(None) };
        let head = self.framer.head_bytes();
        match length {
            0 => Err(FrameError::Empty),
            announced if announced > self.max_pdu => {
                Err(FrameError::TooLong { announced, limit: self.max_pdu })
            }
            _ if self.buf.len() - head < length => Ok(None),
            _ => {
                self.buf.advance(head);
                Ok(Some(self.buf.split_to(length).freeze()))
            }
        }
    }

    /// Returns the number of bytes of an incomplete frame.
    pub fn unfinished_bytes(&self) -> usize {
        self.buf.len()
    }

    /// Returns the framing.
    pub fn framer(&self) -> &'static dyn Framer {
        self.framer
    }

    /// Returns the data of an incomplete frame, for a different reader.
    pub fn into_rest(self) -> BytesMut {
        self.buf
    }

    fn make_room(&mut self) {
        if self.buf.is_empty() {
            // If no frame refers to the buffer, it is reused from its start, so an idle peer uses the same few pages.
            // A buffer enlarged for a huge frame is released.
            if !self.buf.try_reclaim(self.chunk)
                && !self.grown
                && let Some(spare) = &mut self.spare
            {
                std::mem::swap(&mut self.buf, spare);
                let _reclaimed = self.buf.try_reclaim(self.chunk);
            }
            if self.buf.capacity() > LAST_CHUNK_BYTES {
                self.buf = BytesMut::new();
            }
        }
        if self.buf.capacity() - self.buf.len() >= LEAST_ROOM_BYTES {
            return;
        }
        // An announced frame may never arrive. The buffer grows with the received data, so a peer cannot occupy more
        // memory than about twice what it has sent.
        let room = self.missing().min(self.buf.len()).max(self.chunk);
        self.grown = self.buf.len() + room > LAST_CHUNK_BYTES;
        self.buf.reserve(room);
    }

    /// Returns the number of missing bytes of the current frame, or 0 if unknown or refused by [`Self::next`].
    fn missing(&self) -> usize {
        match self.framer.pdu_bytes(&self.buf) {
            Some(length) if length <= self.max_pdu => {
                (self.framer.head_bytes() + length).saturating_sub(self.buf.len())
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LENGTH_BYTES, duplex};
    use std::io::IoSlice;

    /// Returns a reader that has received `bytes`, parsed frames, and made room for more.
    fn after(bytes: &[u8], max_pdu: usize) -> FrameReader {
        let (near, far) = duplex(bytes.len());
        let near = Stream::Memory(near);
        let far = Stream::Memory(far);
        assert_eq!(near.try_write_vectored(&[IoSlice::new(bytes)]).unwrap(), bytes.len());
        let mut reader = FrameReader::new(max_pdu);
        while let ReadOutcome::Bytes(_) = reader.fill(&far).unwrap() {
            while let Ok(Some(_)) = reader.next() {}
        }
        reader
    }

    #[test]
    fn announced_length_causes_no_allocation() {
        for length in [i32::MAX as u32, u32::MAX, MAX_PDU_BYTES as u32] {
            let reader = after(&length.to_be_bytes(), MAX_PDU_BYTES);
            assert_eq!(
                reader.buf.capacity(),
                FIRST_CHUNK_BYTES,
                "{length} bytes were announced and 4 bytes sent, so the buffer must not have grown"
            );
        }
    }

    #[test]
    fn buffer_grows_with_received_not_announced_bytes() {
        let limit = 64 << 20;
        let mut bytes = (limit as u32).to_be_bytes().to_vec();
        bytes.resize(FIRST_CHUNK_BYTES, 1);
        let reader = after(&bytes, limit);
        assert!(reader.buf.capacity() <= 2 * LAST_CHUNK_BYTES, "{} bytes", reader.buf.capacity());
    }

    #[test]
    fn buffer_grows_only_to_largest_frame() {
        let mut bytes = (MAX_PDU_BYTES as u32).to_be_bytes().to_vec();
        bytes.resize(MAX_PDU_BYTES, 1);
        let reader = after(&bytes, MAX_PDU_BYTES);
        assert_eq!(reader.unfinished_bytes(), bytes.len());
        assert!(reader.buf.capacity() <= 2 * MAX_PDU_BYTES, "{} bytes", reader.buf.capacity());
    }

    #[test]
    fn buffer_of_huge_frame_is_released() {
        let mut bytes = (MAX_PDU_BYTES as u32).to_be_bytes().to_vec();
        bytes.resize(MAX_PDU_BYTES + LENGTH_BYTES, 1);
        let reader = after(&bytes, MAX_PDU_BYTES);
        assert_eq!(reader.unfinished_bytes(), 0);
        assert!(reader.buf.capacity() <= LAST_CHUNK_BYTES, "{} bytes", reader.buf.capacity());
    }
}
