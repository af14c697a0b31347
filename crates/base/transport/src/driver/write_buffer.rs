//! Frames taken out of an outbox but not yet accepted by the socket.
use crate::{FrameWriter, Framer, Stream};
use bytes::Bytes;
use ranlab_machine::Frame;
use std::collections::VecDeque;

/// Maximum number of bytes that are taken from the outbox before the socket accepts them. The outbox can no longer drop
/// these bytes because of their age.
const BYTES: usize = 64 << 10;
/// Maximum number of frames per write.
const FRAMES: usize = 64;

static EMPTY: Bytes = Bytes::new();

/// Frames on their way from an outbox to a socket, in order.
#[derive(Debug)]
pub struct WriteBuffer {
    writer: FrameWriter,
    frames: VecDeque<Frame>,
    bytes: usize,
}

impl WriteBuffer {
    /// Creates an empty buffer. `max_pdu` is the longest PDU that may be written, in bytes.
    pub fn new(max_pdu: usize, framer: &'static dyn Framer) -> Self {
        Self { writer: FrameWriter::with_framer(max_pdu, framer), frames: VecDeque::new(), bytes: 0 }
    }

    /// Returns whether all frames have been written.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.writer.rest_bytes() == 0
    }

    /// Takes frames from `next`, up to the limits of bytes and frames.
    pub fn refill(&mut self, mut next: impl FnMut() -> Option<Frame>) {
        while self.bytes < BYTES && self.frames.len() < FRAMES {
            let Some(frame) = next() else { return };
            self.push(frame);
        }
    }

    /// Appends a frame, even beyond the limits.
    pub fn push(&mut self, frame: Frame) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Copies waiting frames, so that they do not keep a receive buffer alive.
    pub fn detach(&mut self) {
        self.frames.iter_mut().for_each(Frame::detach);
    }

    /// Discards the frames after the connection has failed.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }

    /// Writes once. Returns the number of written bytes, and whether the socket is full.
    pub fn write(&mut self, stream: &Stream) -> Result<(usize, bool), crate::WriteError> {
        if self.frames.len() <= 2 { self.write_some::<2>(stream) } else { self.write_some::<FRAMES>(stream) }
    }

    fn write_some<const MOST: usize>(&mut self, stream: &Stream) -> Result<(usize, bool), crate::WriteError> {
        let mut frames = [const { crate::Frame { head: &[], body: &EMPTY } }; MOST];
        let count = self.frames.len().min(MOST);
        for (slot, frame) in frames.iter_mut().zip(&self.frames) {
            *slot = crate::Frame { head: frame.head(), body: frame.body() };
        }
        let outcome = self.writer.write(stream, &frames[..count])?;
        for frame in self.frames.drain(..outcome.taken) {
            self.bytes -= frame.len();
        }
        Ok((outcome.bytes, outcome.blocked))
    }
}
