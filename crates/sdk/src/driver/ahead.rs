//! What was taken out of an outbox and not yet by the socket.
use crate::transport::{self, FrameWriter, Framer, Stream};
use bytes::Bytes;
use ranlab_e2::Frame;
use std::collections::VecDeque;

/// Bytes taken out of an outbox ahead of the socket: what is out here can no more be dropped for age.
const BYTES: usize = 64 << 10;
/// Frames given to one write.
const FRAMES: usize = 64;

static EMPTY: Bytes = Bytes::new();

/// Frames on their way from an outbox into a socket, in order.
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

    /// Whether all that was taken has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.writer.rest_bytes() == 0
    }

    /// Takes what there is, as far as it is to be ahead.
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

    /// What has to wait shall keep no receive buffer alive.
    pub(crate) fn detach(&mut self) {
        self.frames.iter_mut().for_each(Frame::detach);
    }

    /// Forgets what has not left: nothing leaves any more.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }

    /// One write; how many octets left, and whether the socket takes no more.
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
