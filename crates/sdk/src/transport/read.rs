//! From bytes to frames, without copying them.

use std::io;

use bytes::{Buf, Bytes, BytesMut};

use super::{Framer, LengthPrefix, MAX_PDU_BYTES, Stream};

/// The buffer begins with this much,
const FIRST_CHUNK_BYTES: usize = 64 << 10;
/// and doubles up to this much when reads fill it.
const LAST_CHUNK_BYTES: usize = 256 << 10;
/// Less room than this is not worth a system call: a new chunk is taken.
const LEAST_ROOM_BYTES: usize = 8 << 10;

/// What the peer did wrong with a frame's length. The stream cannot be read on: close it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Longer than allowed.
    #[error("the peer announces a message of {announced} bytes, at most {limit} are allowed")]
    TooLong {
        /// What the frame's head says.
        announced: usize,
        /// What this reader takes.
        limit: usize,
    },
    /// No PDU has zero bytes.
    #[error("the peer announces a message of 0 bytes, at least 1 is needed")]
    Empty,
}

/// What one [`FrameReader::fill`] brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// So many bytes: call [`FrameReader::next`] until it gives none.
    Bytes(usize),
    /// Nothing now: wait for [`Stream::readable`].
    WouldBlock,
    /// The peer has closed; [`FrameReader::unfinished_bytes`] tells whether in the middle of a frame.
    Closed,
}

/// Splits a stream into frames that share the read buffer.
///
/// A frame keeps the chunk that it lies in alive, so whoever queues frames for long should copy small ones.
/// Once all frames are dropped, reading goes on in the same allocation from its beginning.
#[derive(Debug)]
pub struct FrameReader {
    framer: &'static dyn Framer,
    buf: BytesMut,
    max_pdu: usize,
    chunk: usize,
    /// A second allocation, for while frames still refer to the first: they may be written by another thread.
    spare: Option<BytesMut>,
    /// What was allocated last was for a frame beyond all chunks.
    grown: bool,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new(MAX_PDU_BYTES)
    }
}

impl FrameReader {
    /// A reader that takes PDUs of up to `max_pdu` bytes. Allocates nothing before the first read.
    pub fn new(max_pdu: usize) -> Self {
        Self::with_framer(max_pdu, &LengthPrefix)
    }

    /// As [`new`](Self::new), of frames of another form.
    pub fn with_framer(max_pdu: usize, framer: &'static dyn Framer) -> Self {
        Self { framer, buf: BytesMut::new(), max_pdu, chunk: FIRST_CHUNK_BYTES, spare: None, grown: false }
    }

    /// Keeps a second buffer once one is needed: frames that live a little longer than until the next read cost no allocation.
    pub(crate) fn with_spare(mut self) -> Self {
        self.spare = Some(BytesMut::new());
        self
    }

    /// Makes one attempt to read. Take out what has come with [`Self::next`] before the next attempt.
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

    /// The next whole frame's PDU, `None` if it has not arrived yet. After an error there is no next frame.
    #[allow(clippy::should_implement_trait)] // An iterator would end at the first `None`; this one goes on.
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

    /// Bytes read that do not make a whole frame yet.
    pub fn unfinished_bytes(&self) -> usize {
        self.buf.len()
    }

    /// How its frames are marked.
    pub(crate) fn framer(&self) -> &'static dyn Framer {
        self.framer
    }

    /// What was read and is no whole frame: for who reads on in another way.
    pub(crate) fn into_rest(self) -> BytesMut {
        self.buf
    }

    fn make_room(&mut self) {
        if self.buf.is_empty() {
            // Back to the beginning of the allocation if no frame refers to it: the same few pages serve an
            // idle peer for ever. One that has grown for a huge frame is given back.
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
        // What is announced is not yet sent: grow with what has arrived, so that a peer can hold no more than
        // about twice what it pays for.
        let room = self.missing().min(self.buf.len()).max(self.chunk);
        self.grown = self.buf.len() + room > LAST_CHUNK_BYTES;
        self.buf.reserve(room);
    }

    /// Bytes that the frame under way still needs; 0 if unknown or refused by [`Self::next`].
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
    use crate::transport::{LENGTH_BYTES, duplex};
    use std::io::IoSlice;

    /// A reader that has been given `bytes` and asked for frames, and then had room for more.
    fn after(bytes: &[u8], max_pdu: usize) -> FrameReader {
        let (near, far) = duplex(bytes.len());
        let (near, far) = (Stream::Memory(near), Stream::Memory(far));
        assert_eq!(near.try_write_vectored(&[IoSlice::new(bytes)]).unwrap(), bytes.len());
        let mut reader = FrameReader::new(max_pdu);
        while let ReadOutcome::Bytes(_) = reader.fill(&far).unwrap() {
            while let Ok(Some(_)) = reader.next() {}
        }
        reader
    }

    #[test]
    fn what_is_announced_allocates_nothing() {
        for length in [i32::MAX as u32, u32::MAX, MAX_PDU_BYTES as u32] {
            let reader = after(&length.to_be_bytes(), MAX_PDU_BYTES);
            assert_eq!(reader.buf.capacity(), FIRST_CHUNK_BYTES, "{length} announced, 4 bytes sent");
        }
    }

    #[test]
    fn the_buffer_grows_with_what_is_sent_and_not_with_what_is_announced() {
        let limit = 64 << 20;
        let mut bytes = (limit as u32).to_be_bytes().to_vec();
        bytes.resize(FIRST_CHUNK_BYTES, 1);
        let reader = after(&bytes, limit);
        assert!(reader.buf.capacity() <= 2 * LAST_CHUNK_BYTES, "{} bytes", reader.buf.capacity());
    }

    #[test]
    fn what_arrives_makes_the_buffer_grow_no_further_than_needed() {
        let mut bytes = (MAX_PDU_BYTES as u32).to_be_bytes().to_vec();
        bytes.resize(MAX_PDU_BYTES, 1);
        let reader = after(&bytes, MAX_PDU_BYTES);
        assert_eq!(reader.unfinished_bytes(), bytes.len());
        assert!(reader.buf.capacity() <= 2 * MAX_PDU_BYTES, "{} bytes", reader.buf.capacity());
    }

    #[test]
    fn a_huge_frame_does_not_leave_its_buffer_behind() {
        let mut bytes = (MAX_PDU_BYTES as u32).to_be_bytes().to_vec();
        bytes.resize(MAX_PDU_BYTES + LENGTH_BYTES, 1);
        let reader = after(&bytes, MAX_PDU_BYTES);
        assert_eq!(reader.unfinished_bytes(), 0);
        assert!(reader.buf.capacity() <= LAST_CHUNK_BYTES, "{} bytes", reader.buf.capacity());
    }
}
