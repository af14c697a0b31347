//! Writing PDUs to a stream without copying their bodies.

use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};

use super::{Framer, LengthPrefix, MAX_PDU_BYTES, Stream};

/// Maximum number of slices per system call (the kernel's limit, `IOV_MAX`, is 1024).
const MAX_SLICES: usize = 256;
/// Number of frames for which a smaller array of slices is used.
const FEW_FRAMES: usize = 2;
/// Maximum length of a head that is copied after the frame's length, which saves a slice. A longer head gets its own
/// slice.
const COPIED_HEAD_BYTES: usize = 256;

/// One PDU in two parts: `head` is written by this hop, `body` is forwarded unchanged. Either may be empty.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// First bytes of the PDU.
    pub head: &'a [u8],
    /// Rest of the PDU, which is never copied.
    pub body: &'a Bytes,
}

impl Frame<'_> {
    /// Returns the length of the PDU.
    fn pdu_bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Result of [`FrameWriter::write`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteOutcome {
    /// Number of frames accepted from the front of the slice; remove them from the queue. The last of them may be
    /// partially written; the writer keeps the rest of it.
    pub taken: usize,
    /// Number of written bytes, including frame heads.
    pub bytes: usize,
    /// Whether the stream is full; wait for [`Stream::writable`].
    pub blocked: bool,
}

/// Reason why no more data can be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A frame is empty or too long, which is an error of the caller. Nothing of this call was written.
    #[error("frame {index} cannot be sent: {length} bytes, from 1 to {limit} are allowed")]
    Length {
        /// Index of the frame.
        index: usize,
        /// Length of the PDU of the frame, in bytes.
        length: usize,
        /// Limit of this writer, in bytes.
        limit: usize,
    },
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes frames until the stream is full.
#[derive(Debug)]
pub struct FrameWriter {
    framer: &'static dyn Framer,
    max_pdu: usize,
    /// Unwritten part of the current frame's head.
    rest_head: Bytes,
    /// Unwritten part of the current frame's body.
    rest_body: Bytes,
    /// Frame heads and short PDU heads of one system call.
    scratch: Vec<u8>,
}

impl Default for FrameWriter {
    fn default() -> Self {
        Self::new(MAX_PDU_BYTES)
    }
}

impl FrameWriter {
    /// Creates a writer for PDUs of up to `max_pdu` bytes.
    pub fn new(max_pdu: usize) -> Self {
        Self::with_framer(max_pdu, &LengthPrefix)
    }

    /// Creates a writer with another framing.
    pub fn with_framer(max_pdu: usize, framer: &'static dyn Framer) -> Self {
        Self { framer, max_pdu, rest_head: Bytes::new(), rest_body: Bytes::new(), scratch: Vec::new() }
    }

    /// Returns the number of unwritten bytes of the current frame. If it is not zero, call [`Self::write`] when the
    /// stream is writable, even without further frames.
    pub fn rest_bytes(&self) -> usize {
        self.rest_head.len() + self.rest_body.len()
    }

    /// Writes the rest of the current frame and then `frames`, until all are accepted or the stream is full.
    pub fn write(&mut self, stream: &Stream, frames: &[Frame<'_>]) -> Result<WriteOutcome, WriteError> {
        self.check(frames)?;
        let mut outcome = WriteOutcome::default();
        while self.rest_bytes() > 0 || outcome.taken < frames.len() {
            let rest_bytes = self.rest_bytes();
            let mut waiting = &frames[outcome.taken..];
            if self.framer.is_one_per_write() {
                waiting = &waiting[..waiting.len().min(1)];
            }
            let (offered, written) = self.write_once(stream, waiting);
            let written = match written {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    outcome.blocked = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            outcome.bytes += written;
            outcome.taken += self.account(waiting, written);
            if written < rest_bytes + self.wire_bytes(&waiting[..offered]) {
                outcome.blocked = true;
                break;
            }
        }
        Ok(outcome)
    }

    fn check(&self, frames: &[Frame<'_>]) -> Result<(), WriteError> {
        let limit = self.max_pdu.min(u32::MAX as usize);
        let wrong = |frame: &Frame<'_>| !(1..=limit).contains(&frame.pdu_bytes());
        match frames.iter().position(wrong) {
            Some(index) => Err(WriteError::Length { index, length: frames[index].pdu_bytes(), limit }),
            None => Ok(()),
        }
    }

    /// Writes the rest of the current frame and the next frames, up to the limit of one call. Returns the number of
    /// frames offered.
    fn write_once(&mut self, stream: &Stream, frames: &[Frame<'_>]) -> (usize, io::Result<usize>) {
        // For request-response traffic, clearing 256 slices would cost as much as the send itself.
        if frames.len() <= FEW_FRAMES {
            self.offer::<{ 2 + 3 * FEW_FRAMES }>(stream, frames)
        } else {
            self.offer::<MAX_SLICES>(stream, frames)
        }
    }

    /// Writes like [`write_once`](Self::write_once), with room for `SLICES` slices.
    fn offer<const SLICES: usize>(
        &mut self,
        stream: &Stream,
        frames: &[Frame<'_>],
    ) -> (usize, io::Result<usize>) {
        let offered = offerable(frames);
        let head_bytes = self.framer.head_bytes();
        let frames = &frames[..offered];
        self.scratch.clear();
        for frame in frames {
            let at = self.scratch.len();
            self.scratch.resize(at + head_bytes, 0);
            self.framer.write_head(frame.pdu_bytes(), &mut self.scratch[at..]);
            self.scratch.extend_from_slice(&frame.head[..copied_bytes(frame)]);
        }
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut used = 0;
        let mut push = |bytes| {
            slices[used] = IoSlice::new(bytes);
            used += usize::from(!slices[used].is_empty());
        };
        push(&self.rest_head);
        push(&self.rest_body);
        let mut scratch = &self.scratch[..];
        for frame in frames {
            let copied = copied_bytes(frame);
            let (start, others) = scratch.split_at(head_bytes + copied);
            scratch = others;
            push(start);
            push(&frame.head[copied..]);
            push(frame.body);
        }
        (offered, stream.try_write_vectored(&slices[..used]))
    }

    /// Accounts for `written` bytes: first the rest of the current frame, then `frames`. Keeps the rest of a frame that
    /// is partially written. Returns the number of accepted frames.
    fn account(&mut self, frames: &[Frame<'_>], mut written: usize) -> usize {
        for rest in [&mut self.rest_head, &mut self.rest_body] {
            let part = written.min(rest.len());
            rest.advance(part);
            written -= part;
        }
        let mut taken = 0;
        for frame in frames {
            if written == 0 {
                break;
            }
            taken += 1;
            let length = self.framer.head_bytes() + frame.pdu_bytes();
            if written < length {
                self.keep_rest(frame, written);
                break;
            }
            written -= length;
        }
        taken
    }

    fn wire_bytes(&self, frames: &[Frame<'_>]) -> usize {
        frames.iter().map(|frame| self.framer.head_bytes() + frame.pdu_bytes()).sum()
    }

    fn keep_rest(&mut self, frame: &Frame<'_>, written: usize) {
        let framing = self.framer.head_bytes();
        let head_bytes = framing + frame.head.len();
        if written < head_bytes {
            let mut rest = vec![0; framing];
            self.framer.write_head(frame.pdu_bytes(), &mut rest);
            rest.extend_from_slice(frame.head);
            rest.drain(..written);
            self.rest_head = rest.into();
        }
        self.rest_body = frame.body.slice(written.saturating_sub(head_bytes)..);
    }
}

/// Returns the number of frames that fit into the slices of one call, in addition to the two slices for the rest of the
/// current frame.
fn offerable(frames: &[Frame<'_>]) -> usize {
    let mut left = MAX_SLICES - 2;
    let fits = |frame: &&Frame<'_>| {
        let needed =
            1 + usize::from(copied_bytes(frame) < frame.head.len()) + usize::from(!frame.body.is_empty());
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    frames.iter().take_while(fits).count()
}

/// Returns the number of head bytes to copy: all or none.
fn copied_bytes(frame: &Frame<'_>) -> usize {
    if frame.head.len() <= COPIED_HEAD_BYTES { frame.head.len() } else { 0 }
}
