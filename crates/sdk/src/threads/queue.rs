//! One direction of a link between two threads: a bounded queue of octets or whole messages, without a clock or a thread.
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::Waker;

use bytes::{Buf, BytesMut};

use crate::transport::Framer;

/// Octets that wait between two threads, per link and direction: more are not taken before some are. One read of a socket,
/// or one message, may go beyond by its own length, since it is taken whole.
pub const QUEUE_BYTES: usize = 64 << 10;

/// What ended a direction; told after what was queued before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The writer has no more to say.
    Closed,
    /// The link broke.
    Broken(io::ErrorKind, String),
}

impl End {
    /// As a reader is told.
    fn told(&self) -> io::Result<usize> {
        match self {
            Self::Closed => Ok(0),
            Self::Broken(kind, why) => Err(io::Error::new(*kind, why.clone())),
        }
    }
}

/// A queue with one writer and one reader. Nothing is dropped: a writer that finds no room is told so, and woken.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bytes: BytesMut,
    /// Lengths of the messages in `bytes`, if the link keeps messages apart.
    messages: Option<VecDeque<usize>>,
    end: Option<End>,
    /// The reader has gone: nothing is taken any more.
    unread: bool,
    /// The writer rests until the reader has handled all that was written.
    held: bool,
    /// Who waits for octets, and for room; one task each.
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// What a change wakes; called by whoever holds no lock.
#[must_use]
#[derive(Debug, Default)]
pub(super) struct Wake(Option<Waker>);

impl Wake {
    pub(super) fn wake(self) {
        if let Some(waker) = self.0 {
            waker.wake();
        }
    }
}

impl Queue {
    /// An empty queue; of whole messages or of octets.
    pub(super) fn new(of_messages: bool) -> Self {
        Self { messages: of_messages.then(VecDeque::new), ..Self::default() }
    }

    /// Octets that wait.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether a writer is to write on.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < QUEUE_BYTES
    }

    /// Whether a reader finds something: octets or the end.
    pub(super) fn is_readable(&self) -> bool {
        !self.bytes.is_empty() || self.end.is_some()
    }

    /// Whether a writer finds something: room, or that it writes in vain.
    pub(super) fn is_writable(&self) -> bool {
        self.has_room() || self.is_over()
    }

    /// Whether nobody reads any more, or the writer has ended it.
    pub(super) fn is_over(&self) -> bool {
        self.unread || self.end.is_some()
    }

    /// Who is woken once something can be read. The reader asks for this when it has handled all before: a writer that was
    /// held goes on.
    pub(super) fn await_octets(&mut self, waker: &Waker) -> Wake {
        store(&mut self.reader, waker);
        Wake(if std::mem::take(&mut self.held) { self.writer.take() } else { None })
    }

    /// Holds the writer back until all that was written is handled, unless it is: then the reader waits for more.
    pub(super) fn hold(&mut self) {
        self.held = self.is_readable() || self.reader.is_none();
    }

    /// Whether the writer is to rest.
    pub(super) fn is_held(&self) -> bool {
        self.held && !self.is_over()
    }

    /// Who is woken once something can be written.
    pub(super) fn await_room(&mut self, waker: &Waker) {
        store(&mut self.writer, waker);
    }

    /// Takes as much as there is room for, of a message all or nothing. `WouldBlock` without room, `BrokenPipe` (or why it
    /// broke) without a reader.
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<(usize, Wake)> {
        if self.is_over() {
            return Err(match &self.end {
                Some(End::Broken(kind, why)) => io::Error::new(*kind, why.clone()),
                _ => io::ErrorKind::BrokenPipe.into(),
            });
        }
        let whole: usize = slices.iter().map(|slice| slice.len()).sum();
        let most = match &self.messages {
            // A message is taken whole: alone if it is longer than the queue.
            Some(_) if self.has_room() => whole,
            Some(_) => 0,
            None => whole.min(QUEUE_BYTES.saturating_sub(self.bytes.len())),
        };
        if most == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut left = most;
        for slice in slices {
            let part = &slice[..slice.len().min(left)];
            self.bytes.extend_from_slice(part);
            left -= part.len();
        }
        Ok((most, self.grown(most)))
    }

    /// Frames a message as the reader of a queue expects it.
    pub(super) fn frame(framer: &dyn Framer, pdu: &[u8], into: &mut BytesMut) {
        let at = into.len();
        into.resize(at + framer.head_bytes(), 0);
        framer.write_head(pdu.len(), &mut into[at..]);
        into.extend_from_slice(pdu);
    }

    /// Takes what one read has brought, whatever its length; in vain if nobody reads.
    pub(super) fn put(&mut self, octets: &[u8]) -> Wake {
        if self.is_over() || octets.is_empty() {
            return Wake::default();
        }
        self.bytes.extend_from_slice(octets);
        self.grown(octets.len())
    }

    fn grown(&mut self, by: usize) -> Wake {
        if let Some(messages) = &mut self.messages {
            messages.push_back(by);
        }
        Wake(self.reader.take())
    }

    /// Appends to `buf` what is there: of octets at most its spare capacity, of messages one.
    pub(super) fn read(&mut self, buf: &mut BytesMut) -> io::Result<(usize, Wake)> {
        if self.bytes.is_empty() {
            let ended = self.end.as_ref().map(End::told);
            return ended
                .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
                .map(|n| (n, Wake::default()));
        }
        let moved = match &mut self.messages {
            Some(messages) => messages.pop_front().unwrap_or(self.bytes.len()),
            None => self.bytes.len().min(buf.spare_capacity_mut().len()),
        };
        if buf.is_empty() && moved == self.bytes.len() && self.messages.is_none() {
            // The whole buffer changes hands, and comes back empty.
            std::mem::swap(buf, &mut self.bytes);
        } else {
            buf.extend_from_slice(&self.bytes[..moved]);
            self.bytes.advance(moved);
        }
        let wake = if self.has_room() { self.writer.take() } else { None };
        Ok((moved, Wake(wake)))
    }

    /// The writer has no more to say, or cannot. The first end counts.
    pub(super) fn finish(&mut self, end: End) -> Wake {
        self.end.get_or_insert(end);
        Wake(self.reader.take())
    }

    /// Nobody reads any more: what waits is forgotten.
    pub(super) fn abandon(&mut self) -> Wake {
        self.unread = true;
        self.bytes = BytesMut::new();
        self.messages.iter_mut().for_each(VecDeque::clear);
        Wake(self.writer.take())
    }
}

/// Keeps who is to be woken.
pub(super) fn store(place: &mut Option<Waker>, waker: &Waker) {
    if place.as_ref().is_none_or(|known| !known.will_wake(waker)) {
        *place = Some(waker.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Octets of one write.
    const SIZE_MAX: usize = 100_000;

    /// What is written comes out, whole and in order, whatever the pieces; and no more waits than the bound.
    fn carried(of_messages: bool, steps: &[(bool, usize)]) {
        let mut queue = Queue::new(of_messages);
        let (mut written, mut read) = (Vec::new(), Vec::new());
        let mut lengths = VecDeque::new();
        for &(writes, size) in steps {
            if writes {
                let piece: Vec<u8> = (0..size).map(|i| ((written.len() + i) % 251) as u8).collect();
                let (first, second) = piece.split_at(size / 3);
                match queue.write(&[IoSlice::new(first), IoSlice::new(second)]) {
                    Ok((taken, _)) => {
                        assert!(taken > 0 && (!of_messages || taken == size));
                        lengths.push_back(taken);
                        written.extend_from_slice(&piece[..taken]);
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                        assert!(size == 0 || !queue.has_room(), "{} wait, {size} refused", queue.len());
                    }
                }
                let most = if of_messages { QUEUE_BYTES + SIZE_MAX } else { QUEUE_BYTES };
                assert!(queue.len() <= most, "{} octets wait", queue.len());
            } else {
                let mut buf = BytesMut::with_capacity(size.max(1));
                if let Ok((taken, _)) = queue.read(&mut buf) {
                    assert_eq!(taken, buf.len());
                    if of_messages {
                        assert_eq!(Some(taken), lengths.pop_front(), "a message is taken as it was given");
                    }
                    read.extend_from_slice(&buf);
                }
            }
        }
        let _ = queue.finish(End::Broken(io::ErrorKind::Other, "over".to_owned()));
        let why = loop {
            let mut buf = BytesMut::with_capacity(5_000);
            match queue.read(&mut buf) {
                Ok((0, _)) => panic!("a broken link ends as if it were closed"),
                Ok(_) => read.extend_from_slice(&buf),
                Err(why) => break why,
            }
        };
        assert_eq!(why.to_string(), "over", "what was queued comes first, then why it broke");
        assert!(read == written, "{} octets written, {} read", written.len(), read.len());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_reordered(
            of_messages in any::<bool>(),
            steps in prop::collection::vec((any::<bool>(), 0_usize..SIZE_MAX), 0..60),
        ) {
            carried(of_messages, &steps);
        }
    }

    #[test]
    fn who_writes_to_nobody_is_told() {
        let mut queue = Queue::new(false);
        let _ = queue.put(b"lost with its reader");
        let _ = queue.abandon();
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.write(&[IoSlice::new(b"x")]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(queue.is_writable(), "a writer that waits for room would wait for ever");
    }
}
