//! Frames taken out of an outbox but not yet accepted by the socket.
use crate::transport::{self, FrameWriter, Framer, Stream};
use bytes::Bytes;
use ranlab_e2::Frame;
use std::collections::VecDeque;

/// Maximum number of bytes taken out ahead of the socket. The outbox can no longer drop these because of their age.
const BYTES: usize = 64 << 10;
/// Maximum number of frames per write.
const FRAMES: usize = 64;

static EMPTY: Bytes = Bytes::new();

/// Frames on their way from an outbox to a socket, in order.
#[derive(Debug)]
pub(crate) struct Ahead {
    writer: FrameWriter,
    frames: VecDeque<Frame>,
    bytes: usize,
}

impl Ahead {
    pub(crate) fn new(max_pdu: usize, framer: &'static dyn Framer) -> Self {
        Self { writer: FrameWriter::with_framer(max_pdu, framer), frames: VecDeque::new(), bytes: 0 }
    }

    /// Returns whether all frames have been written.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.writer.rest_bytes() == 0
    }

    /// Takes frames up to the limit.
    pub(crate) fn refill(&mut self, mut next: impl FnMut() -> Option<Frame>) {
        while self.bytes < BYTES && self.frames.len() < FRAMES {
            let Some(frame) = next() else { return };
            self.push(frame);
        }
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Copies waiting frames, so that they do not keep a receive buffer alive.
    pub(crate) fn detach(&mut self) {
        self.frames.iter_mut().for_each(Frame::detach);
    }

    /// Discards the frames after the connection has failed.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }

    /// Writes once. Returns the number of written bytes, and whether the socket is full.
    pub(crate) fn write(&mut self, stream: &Stream) -> Result<(usize, bool), transport::WriteError> {
        if self.frames.len() <= 2 { self.write_some::<2>(stream) } else { self.write_some::<FRAMES>(stream) }
    }

    fn write_some<const MOST: usize>(
        &mut self,
        stream: &Stream,
    ) -> Result<(usize, bool), transport::WriteError> {
        let mut frames = [const { transport::Frame { head: &[], body: &EMPTY } }; MOST];
        let count = self.frames.len().min(MOST);
        for (slot, frame) in frames.iter_mut().zip(&self.frames) {
            *slot = transport::Frame { head: frame.head(), body: frame.body() };
        }
        let outcome = self.writer.write(stream, &frames[..count])?;
        for frame in self.frames.drain(..outcome.taken) {
            self.bytes -= frame.len();
        }
        Ok((outcome.bytes, outcome.blocked))
    }
}
