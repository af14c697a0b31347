//! From PDUs to bytes, without copying their bodies.

use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};

use super::{Framer, LengthPrefix, MAX_PDU_BYTES, Stream};

/// Slices given to one system call, at most (the kernel's own bound, `IOV_MAX`, is 1024).
const MAX_SLICES: usize = 256;
/// So many frames are few.
const FEW_FRAMES: usize = 2;
/// A head up to this long is copied behind its length, which saves a slice; a longer one is referred to.
const COPIED_HEAD_BYTES: usize = 256;

/// One PDU in two parts: `head` is what this hop writes anew, `body` what it passes on. Either may be empty.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The first bytes of the PDU.
    pub head: &'a [u8],
    /// The rest; never copied.
    pub body: &'a Bytes,
}

impl Frame<'_> {
    /// The PDU's length.
    fn pdu_bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// What one [`FrameWriter::write`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteOutcome {
    /// Frames from the front of the slice that the writer has taken: drop them from the queue. The last of
    /// them may be half written; the writer keeps its rest.
    pub taken: usize,
    /// Bytes that left, lengths included.
    pub bytes: usize,
    /// The stream takes no more now: wait for [`Stream::writable`].
    pub blocked: bool,
}

/// Why nothing more can be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Our own fault: a frame is empty or too long. Nothing of this call was written.
    #[error("frame {index} cannot be sent: {length} bytes, from 1 to {limit} are allowed")]
    Length {
        /// Its place in the slice.
        index: usize,
        /// Its PDU's length.
        length: usize,
        /// What this writer sends.
        limit: usize,
    },
    /// The connection is broken.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes frames as far as the stream takes them.
#[derive(Debug)]
pub struct FrameWriter {
    framer: &'static dyn Framer,
    max_pdu: usize,
    /// What is left of the frame under way: of its length and head,
    rest_head: Bytes,
    /// and of its body.
    rest_body: Bytes,
    /// Lengths and short heads of the frames of one system call.
    scratch: Vec<u8>,
}

impl Default for FrameWriter {
    fn default() -> Self {
        Self::new(MAX_PDU_BYTES)
    }
}

impl FrameWriter {
    /// A writer that sends PDUs of up to `max_pdu` bytes.
    pub fn new(max_pdu: usize) -> Self {
        Self::with_framer(max_pdu, &LengthPrefix)
    }

    /// As [`new`](Self::new), with frames of another form.
    pub fn with_framer(max_pdu: usize, framer: &'static dyn Framer) -> Self {
        Self { framer, max_pdu, rest_head: Bytes::new(), rest_body: Bytes::new(), scratch: Vec::new() }
    }

    /// Bytes of a frame under way that have not left. While there are some, call [`Self::write`] when the
    /// stream is writable, if need be with no frames.
    pub fn rest_bytes(&self) -> usize {
        self.rest_head.len() + self.rest_body.len()
    }

    /// Writes the rest of the frame under way and then `frames`, until all are taken or the stream is full.
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

    /// Offers the rest and as many frames as one call holds; returns how many frames those were.
    fn write_once(&mut self, stream: &Stream, frames: &[Frame<'_>]) -> (usize, io::Result<usize>) {
        // Where one message is answered by one, clearing 256 slices would cost as much as sending it.
        if frames.len() <= FEW_FRAMES {
            self.offer::<{ 2 + 3 * FEW_FRAMES }>(stream, frames)
        } else {
            self.offer::<MAX_SLICES>(stream, frames)
        }
    }

    /// As [`write_once`](Self::write_once), with room for `SLICES` slices.
    fn offer<const SLICES: usize>(
        &mut self,
        stream: &Stream,
        frames: &[Frame<'_>],
    ) -> (usize, io::Result<usize>) {
        let (offered, head_bytes) = (offerable(frames), self.framer.head_bytes());
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

    /// Books `written` bytes: first on the rest, then on frames, keeping the rest of a half-written one. Returns
    /// how many frames are taken.
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

/// How many frames from the front fit into the slices of one call, beside the two of the rest.
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

/// How much of the head is copied behind the length: all or nothing.
fn copied_bytes(frame: &Frame<'_>) -> usize {
    if frame.head.len() <= COPIED_HEAD_BYTES { frame.head.len() } else { 0 }
}
