//! One direction of a link between two threads. It is a bounded queue of bytes or of whole messages, and uses no
//! clock or thread.
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::task::Waker;

use bytes::{Buf, BytesMut};

use crate::transport::Framer;

/// Capacity of each queue between two threads, in bytes. A queue with any room accepts a read or message as a whole,
/// so it may exceed the capacity by the length of one.
pub const QUEUE_BYTES: usize = 64 << 10;

/// Reason why a direction ended. The reader gets it after all queued data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The writer has closed the direction.
    Closed,
    /// The link has failed.
    Broken(io::ErrorKind, String),
}

impl End {
    /// Returns the result for the reader.
    fn read_result(&self) -> io::Result<usize> {
        match self {
            Self::Closed => Ok(0),
            Self::Broken(kind, why) => Err(io::Error::new(*kind, why.clone())),
        }
    }
}

/// A queue with one writer and one reader. No data is dropped: a writer without room gets `WouldBlock` and is woken
/// later.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bytes: BytesMut,
    /// Lengths of the messages in `bytes`, or `None` for a queue of bytes.
    messages: Option<VecDeque<usize>>,
    end: Option<End>,
    /// Whether the reader is gone. The queue then accepts no data.
    unread: bool,
    /// Whether the writer is held until the reader has handled all data.
    held: bool,
    /// Wakers of the single task that waits for data, and of the single task that waits for room.
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Task to wake after the lock has been released.
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
    /// Creates an empty queue of whole messages or of bytes.
    pub(super) fn new(of_messages: bool) -> Self {
        Self { messages: of_messages.then(VecDeque::new), ..Self::default() }
    }

    /// Returns the number of queued bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the queue has room.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < QUEUE_BYTES
    }

    /// Returns whether a read would return data or the end.
    pub(super) fn is_readable(&self) -> bool {
        !self.bytes.is_empty() || self.end.is_some()
    }

    /// Returns whether a write would succeed or fail, without waiting.
    pub(super) fn is_writable(&self) -> bool {
        self.has_room() || self.is_over()
    }

    /// Returns whether the reader is gone or the writer has ended the direction.
    pub(super) fn is_over(&self) -> bool {
        self.unread || self.end.is_some()
    }

    /// Registers the task to wake when data arrives. The reader calls this after it has handled all earlier data, so
    /// a held writer may continue.
    pub(super) fn await_octets(&mut self, waker: &Waker) -> Wake {
        store(&mut self.reader, waker);
        Wake(if std::mem::take(&mut self.held) { self.writer.take() } else { None })
    }

    /// Holds the writer until all queued data has been handled. Has no effect if the reader already waits for more
    /// data.
    pub(super) fn hold(&mut self) {
        self.held = self.is_readable() || self.reader.is_none();
    }

    /// Returns whether the writer is held.
    pub(super) fn is_held(&self) -> bool {
        self.held && !self.is_over()
    }

    /// Registers the task to wake when the queue has room.
    pub(super) fn await_room(&mut self, waker: &Waker) {
        store(&mut self.writer, waker);
    }

    /// Writes as many bytes as there is room for, or a whole message. Returns `WouldBlock` if there is no room.
    /// Returns `BrokenPipe`, or the reason of the failure, if there is no reader.
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<(usize, Wake)> {
        if self.is_over() {
            return Err(match &self.end {
                Some(End::Broken(kind, why)) => io::Error::new(*kind, why.clone()),
                _ => io::ErrorKind::BrokenPipe.into(),
            });
        }
        let whole: usize = slices.iter().map(|slice| slice.len()).sum();
        let most = match &self.messages {
            // A message is accepted as a whole if there is any room. An empty queue accepts even a message longer
            // than the capacity.
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

    /// Appends a message to `into`, framed in the format that the queue's reader expects.
    pub(super) fn frame(framer: &dyn Framer, pdu: &[u8], into: &mut BytesMut) {
        let at = into.len();
        into.resize(at + framer.head_bytes(), 0);
        framer.write_head(pdu.len(), &mut into[at..]);
        into.extend_from_slice(pdu);
    }

    /// Adds the data of one read regardless of its length; discards it if the reader is gone.
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

    /// Appends queued data to `buf`. A queue of bytes appends at most the spare capacity of `buf`; a queue of
    /// messages appends one message.
    pub(super) fn read(&mut self, buf: &mut BytesMut) -> io::Result<(usize, Wake)> {
        if self.bytes.is_empty() {
            let ended = self.end.as_ref().map(End::read_result);
            return ended
                .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
                .map(|n| (n, Wake::default()));
        }
        let moved = match &mut self.messages {
            Some(messages) => messages.pop_front().unwrap_or(self.bytes.len()),
            None => self.bytes.len().min(buf.spare_capacity_mut().len()),
        };
        if buf.is_empty() && moved == self.bytes.len() && self.messages.is_none() {
            // All queued bytes are requested, so the buffers are swapped instead of copied.
            std::mem::swap(buf, &mut self.bytes);
        } else {
            buf.extend_from_slice(&self.bytes[..moved]);
            self.bytes.advance(moved);
        }
        let wake = if self.has_room() { self.writer.take() } else { None };
        Ok((moved, Wake(wake)))
    }

    /// Ends the direction, regularly or with an error. Only the first call has an effect.
    pub(super) fn finish(&mut self, end: End) -> Wake {
        self.end.get_or_insert(end);
        Wake(self.reader.take())
    }

    /// Discards all data, because the reader is gone.
    pub(super) fn abandon(&mut self) -> Wake {
        self.unread = true;
        self.bytes = BytesMut::new();
        self.messages.iter_mut().for_each(VecDeque::clear);
        Wake(self.writer.take())
    }
}

/// Stores a waker, unless the stored waker already wakes the same task.
pub(super) fn store(place: &mut Option<Waker>, waker: &Waker) {
    if place.as_ref().is_none_or(|known| !known.will_wake(waker)) {
        *place = Some(waker.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Maximum number of bytes per write.
    const SIZE_MAX: usize = 100_000;

    /// Checks that all data is read in order for any sizes of writes, and that the queue stays within its capacity.
    fn carried(of_messages: bool, steps: &[(bool, usize)]) {
        let mut queue = Queue::new(of_messages);
        let mut written = Vec::new();
        let mut read = Vec::new();
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
                        assert!(
                            size == 0 || !queue.has_room(),
                            "a write of {size} bytes is refused, although only {} bytes are queued",
                            queue.len()
                        );
                    }
                }
                let most = if of_messages { QUEUE_BYTES + SIZE_MAX } else { QUEUE_BYTES };
                assert!(queue.len() <= most, "{} bytes are queued", queue.len());
            } else {
                let mut buf = BytesMut::with_capacity(size.max(1));
                if let Ok((taken, _)) = queue.read(&mut buf) {
                    assert_eq!(taken, buf.len());
                    if of_messages {
                        assert_eq!(
                            Some(taken),
                            lengths.pop_front(),
                            "a message must be read with the length with which it was written"
                        );
                    }
                    read.extend_from_slice(&buf);
                }
            }
        }
        let _ = queue.finish(End::Broken(io::ErrorKind::Other, "over".to_owned()));
        let why = loop {
            let mut buf = BytesMut::with_capacity(5_000);
            match queue.read(&mut buf) {
                Ok((0, _)) => panic!("a broken link must end with its reason, not like a closed one"),
                Ok(_) => read.extend_from_slice(&buf),
                Err(why) => break why,
            }
        };
        assert_eq!(why.to_string(), "over", "the reason must be returned after the queued data");
        assert!(
            read == written,
            "the {} written and the {} read bytes must be equal",
            written.len(),
            read.len()
        );
    }

    proptest! {
        #[test]
        fn data_is_neither_lost_nor_reordered(
            of_messages in any::<bool>(),
            steps in prop::collection::vec((any::<bool>(), 0_usize..SIZE_MAX), 0..60),
        ) {
            carried(of_messages, &steps);
        }
    }

    #[test]
    fn queue_without_reader_rejects_writes() {
        let mut queue = Queue::new(false);
        let _ = queue.put(b"lost with its reader");
        let _ = queue.abandon();
        assert_eq!(queue.len(), 0);
        assert_eq!(queue.write(&[IoSlice::new(b"x")]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(queue.is_writable(), "the queue must be writable, or a waiting writer would never wake");
    }
}
