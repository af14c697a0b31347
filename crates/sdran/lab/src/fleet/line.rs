//! Connection of a base station to its controller. Tracks messages that wait for the kernel, bytes in the kernel, and bytes that the
//! controller has read.
use super::meters::Meters;
use ranlab_machine::Time;
use ranlab_net::Readers;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Maximum number of unwritten bytes. If it is exceeded, reports are dropped and counted.
const UNWRITTEN_BYTES: usize = 1 << 20;
/// Maximum number of unwritten bytes for messages other than reports. If it is exceeded, the connection is closed.
const UNWRITTEN_BYTES_MAX: usize = 2 * UNWRITTEN_BYTES;

/// Time for which a controller may leave data unread before an incident is reported.
pub(super) const STILL: Duration = Duration::from_secs(1);

/// A message that has not been written completely.
#[derive(Debug, Clone, Copy)]
struct QueuedMessage {
    left: usize,
    /// Scheduled time of a periodic report. `None` for other messages.
    due: Option<Time>,
}

/// Outcome of queueing a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The message was queued.
    Waits,
    /// A report was dropped because the queue is full.
    Dropped,
    /// A message other than a report does not fit into the queue, because the controller no longer reads.
    Stuck,
}

/// A message that was passed to the kernel.
#[derive(Debug, Clone, Copy)]
struct SentMessage {
    /// Position of the message's end in the byte stream of the connection.
    end: u64,
    due: Option<Time>,
    at: Time,
    /// Whether an earlier check found the message unread.
    seen_unread: bool,
}

/// Amount of data that is queued on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backlog {
    /// Messages that the kernel has not accepted completely.
    pub(super) messages: u64,
    /// Bytes of the messages that the kernel has not accepted completely.
    pub(super) octets: u64,
    /// Bytes in the kernel that the controller's host has not acknowledged.
    pub(super) unacknowledged: u64,
    /// Acknowledged bytes that the controller has not read. They are known if the controller's socket is in this network namespace.
    pub(super) unread: u64,
    /// Number of connections for which the controller's socket is in this network namespace.
    pub(super) readers: u32,
}

impl Backlog {
    /// Adds the backlog of another connection.
    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.octets += other.octets;
        self.unacknowledged += other.unacknowledged;
        self.unread += other.unread;
        self.readers += other.readers;
    }
}

/// Socket of a connection, and its addresses.
#[derive(Debug)]
struct Connection {
    stream: Rc<TcpStream>,
    local: SocketAddr,
    peer: SocketAddr,
}

/// Connection to the controller, with the messages that the controller has not read yet. A message counts as sent when the kernel has
/// accepted its last byte. The delay of a report ends with the last visible event, which is reading by the controller if its socket is
/// visible, and otherwise acknowledgement by its host.
#[derive(Debug, Default)]
pub(super) struct ControllerLink {
    octets: Vec<u8>,
    written: usize,
    waiting: VecDeque<QueuedMessage>,
    connection: Option<Connection>,
    /// Number of bytes that the kernel accepted.
    taken: u64,
    /// Number of bytes that the controller's host acknowledged.
    acknowledged: u64,
    /// Number of bytes that the controller read.
    read: u64,
    /// Messages in the kernel that the controller has not read.
    unread: VecDeque<SentMessage>,
    /// Number of the messages in `unread` that the controller's host acknowledged.
    acknowledged_unread: usize,
    /// Whether the controller's socket is in this network namespace, so that its unread bytes are visible.
    reader_seen: bool,
    /// Last time at which the controller read data, or had no data to read.
    progress_at: Time,
    /// Time since which a response of the controller is pending.
    pub(super) unanswered_since: Option<Time>,
    /// Time at which the connection was lost.
    pub(super) lost_at: Option<Time>,
}

impl ControllerLink {
    /// Starts a connection.
    pub(super) fn begin(&mut self, stream: &Rc<TcpStream>, now: Time) -> io::Result<()> {
        let connection =
            Connection { stream: stream.clone(), local: stream.local_addr()?, peer: stream.peer_addr()? };
        *self = Self { connection: Some(connection), progress_at: now, ..Self::default() };
        Ok(())
    }

    /// Queues a message, if there is space.
    pub(super) fn push(&mut self, octets: &[u8], due: Option<Time>) -> SendOutcome {
        let waiting = self.octets.len() - self.written;
        match due {
            Some(_) if waiting + octets.len() > UNWRITTEN_BYTES => return SendOutcome::Dropped,
            None if waiting > UNWRITTEN_BYTES_MAX => return SendOutcome::Stuck,
            _ => {}
        }
        self.octets.extend_from_slice(octets);
        self.waiting.push_back(QueuedMessage { left: octets.len(), due });
        SendOutcome::Waits
    }

    /// Returns whether data is queued.
    pub(super) fn is_waiting(&self) -> bool {
        self.written < self.octets.len()
    }

    /// Writes as many bytes as the kernel accepts. `write` is the system call.
    pub(super) fn write(
        &mut self,
        meters: &Meters,
        now: impl Fn() -> Time,
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        while self.is_waiting() {
            match write(&self.octets[self.written..]) {
                Ok(taken) => self.taken(meters, now(), taken),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if !self.is_waiting() {
            self.octets.clear();
            self.written = 0;
        } else if self.written > UNWRITTEN_BYTES / 2 {
            self.octets.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    fn taken(&mut self, meters: &Meters, at: Time, octets: usize) {
        self.written += octets;
        meters.sent_bytes.set(meters.sent_bytes.get() + octets as u64);
        let mut left = octets;
        while let Some(first) = self.waiting.front_mut() {
            if first.left > left {
                first.left -= left;
                break;
            }
            left -= first.left;
            let end = self.taken + (octets - left) as u64;
            self.unread.push_back(SentMessage { end, due: first.due, at, seen_unread: false });
            meters.sent(at, first.due);
            self.waiting.pop_front();
        }
        self.taken += octets as u64;
    }

    /// Updates the progress of the controller. `excused` is a time in which this process was suspended. It does not count as a delay of the
    /// controller.
    pub(super) fn update_progress(
        &mut self,
        meters: &Meters,
        now: Time,
        excused: Duration,
        readers: Option<&mut Readers>,
    ) {
        let Some(Connection { stream, local, peer }) = &self.connection else { return };
        let held = ranlab_net::unacknowledged(&**stream).unwrap_or(0);
        // The number of unacknowledged bytes is queried first. Acknowledgements between the two queries can then only make the number of
        // bytes that the controller read too small, never too large.
        let reader = readers.and_then(|readers| readers.unread(*local, *peer).ok().flatten());
        self.progress_at += excused;
        // A host delays acknowledgements by up to 40 ms. If the controller's socket is visible, the received bytes are used, so this delay
        // does not count.
        let received = reader.and_then(|reader| reader.received).unwrap_or(0);
        let arrived = self.taken.saturating_sub(held).max(received.min(self.taken));
        self.seen(meters, now, arrived, reader.map(|reader| u64::from(reader.unread)));
    }

    /// Updates the number of bytes that the controller's host has acknowledged or received, and the number of unread bytes.
    fn seen(&mut self, meters: &Meters, now: Time, acknowledged: u64, unread: Option<u64>) {
        let read = acknowledged.saturating_sub(unread.unwrap_or(0));
        if read > self.read {
            self.progress_at = now;
        }
        self.reader_seen = unread.is_some();
        self.acknowledged = self.acknowledged.max(acknowledged);
        self.read = self.read.max(read);
        while self.unread.get(self.acknowledged_unread).is_some_and(|report| report.end <= self.acknowledged)
        {
            self.acknowledged_unread += 1;
            meters.acknowledged.set(meters.acknowledged.get() + 1);
        }
        while let Some(report) = self.unread.pop_front_if(|report| report.end <= self.read) {
            self.acknowledged_unread = self.acknowledged_unread.saturating_sub(1);
            // The exact time of reading between two checks is unknown. A message that was read before its first check does not count as
            // late.
            meters.read(if report.seen_unread { now } else { report.at }, report.due);
        }
        self.unread.iter_mut().for_each(|report| report.seen_unread = true);
        match self.unread.front() {
            Some(first) => self.progress_at = self.progress_at.max(first.at),
            None if !self.is_waiting() => self.progress_at = now,
            None => {}
        }
    }

    /// Returns the time since which the controller has read no data although data is pending. Returns `None` if this time is shorter than
    /// [`STILL`].
    pub(super) fn still_since(&self, now: Time) -> Option<Time> {
        let waits = !self.unread.is_empty() || self.is_waiting();
        (waits && now.since(self.progress_at) >= STILL).then_some(self.progress_at)
    }

    /// Ends the connection. Returns the number of messages that the kernel never accepted. For reports that were never read, the delay
    /// until now is recorded.
    pub(super) fn end(&mut self, meters: &Meters, now: Time) -> u64 {
        let given_up = self.waiting.len() as u64;
        self.unread
            .iter()
            .filter(|report| report.seen_unread)
            .for_each(|report| meters.late(now, report.due));
        *self = Self { lost_at: self.connection.as_ref().map(|_| now), ..Self::default() };
        given_up
    }

    /// Returns the current backlog.
    pub(super) fn backlog(&self) -> Backlog {
        let kernel = self.connection.as_ref();
        let kernel = kernel.and_then(|of| ranlab_net::unacknowledged(&*of.stream).ok());
        Backlog {
            messages: self.waiting.len() as u64,
            octets: (self.octets.len() - self.written) as u64,
            unacknowledged: kernel.unwrap_or(0),
            unread: self.acknowledged.saturating_sub(self.read),
            readers: u32::from(self.reader_seen),
        }
    }

    /// Returns the scheduled times of reports that the controller has not read.
    pub(super) fn overdue(&self) -> impl Iterator<Item = Time> {
        let unread = self.unread.iter().filter(|report| report.seen_unread).filter_map(|report| report.due);
        unread.chain(self.waiting.iter().filter_map(|message| message.due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Returns a `write` function that accepts up to `room` bytes.
    fn kernel(room: &Cell<usize>) -> impl FnMut(&[u8]) -> io::Result<usize> {
        move |octets| match room.get().min(octets.len()) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            accepted => {
                room.set(room.get() - accepted);
                Ok(accepted)
            }
        }
    }

    #[test]
    fn message_counts_as_sent_when_its_last_byte_is_written() {
        let mut line = ControllerLink::default();
        let meters = Meters::default();
        let room = Cell::new(250);
        for ms in [0, 50, 100] {
            assert_eq!(line.push(&[7; 100], Some(at(ms))), SendOutcome::Waits);
        }
        line.write(&meters, || at(100), kernel(&room)).unwrap();
        let report = meters.report(&[], Time::ZERO);
        assert_eq!((report.sent, report.reports, report.sent_bytes), (2, 2, 250));
        assert_eq!(report.taken_us_p99 / 10_000, 10, "the send delay of the first report must be 100 ms");
        assert_eq!(line.backlog(), Backlog { messages: 1, octets: 50, ..Backlog::default() });
        assert_eq!(line.overdue().collect::<Vec<_>>(), [at(100)]);
        // One minute later, the controller reads again.
        room.set(1_000);
        line.write(&meters, || at(60_100), kernel(&room)).unwrap();
        let report = meters.report(&[], Time::ZERO);
        assert_eq!((report.sent, report.sent_bytes), (3, 300));
        assert_eq!(report.taken_us_p99 / 1_000_000, 60, "{}", report.taken_us_p99);
        assert_eq!(line.backlog(), Backlog::default());
    }

    #[test]
    fn dropped_and_abandoned_messages_are_counted() {
        let mut line = ControllerLink::default();
        let meters = Meters::default();
        let room = Cell::new(0);
        let report = vec![7; UNWRITTEN_BYTES / 4];
        let outcomes: Vec<SendOutcome> = (0..6).map(|_| line.push(&report, Some(Time::ZERO))).collect();
        assert_eq!(outcomes[..4], [SendOutcome::Waits; 4]);
        assert_eq!(outcomes[4..], [SendOutcome::Dropped; 2]);
        let outcomes: Vec<SendOutcome> = (0..6).map(|_| line.push(&report, None)).collect();
        assert_eq!(outcomes[..5], [SendOutcome::Waits; 5]);
        assert_eq!(outcomes[5], SendOutcome::Stuck);
        line.write(&meters, || at(1), kernel(&room)).unwrap();
        room.set(UNWRITTEN_BYTES);
        line.write(&meters, || at(1) + Duration::from_secs(1), kernel(&room)).unwrap();
        assert_eq!(
            (meters.report(&[], Time::ZERO).sent, line.end(&meters, at(1)), line.end(&meters, at(1))),
            (4, 5, 0)
        );
        assert!(!line.is_waiting());
    }

    /// Sends a report of 100 bytes per second. The kernel accepts each report immediately.
    fn reports(line: &mut ControllerLink, meters: &Meters, seconds: std::ops::Range<u64>) {
        for second in seconds {
            let now = at(second * 1_000);
            line.push(&[7; 100], Some(now));
            line.write(meters, || now, |octets| Ok(octets.len())).unwrap();
        }
    }

    #[test]
    fn acknowledged_report_is_late_until_read() {
        let mut line = ControllerLink::default();
        let meters = Meters::default();
        reports(&mut line, &meters, 0..1);
        line.seen(&meters, at(10), 100, Some(0));
        let report = meters.report(&[], at(0));
        assert_eq!((report.sent, report.acknowledged, report.read), (1, 1, 1));
        assert_eq!(
            report.lateness_us_max, 1,
            "a report that was read before the first check must not be late"
        );
        // The controller is suspended. Its host still receives all data.
        reports(&mut line, &meters, 1..11);
        line.seen(&meters, at(1_500), 200, Some(100));
        assert_eq!(line.still_since(at(1_500)), None, "half a second must be too short for an incident");
        line.seen(&meters, at(10_900), 1_000, Some(900));
        let report = meters.report(&[], at(0));
        assert_eq!((report.sent, report.acknowledged, report.read), (11, 10, 1));
        assert_eq!((line.still_since(at(10_900)), line.overdue().count()), (Some(at(1_000)), 10));
        assert_eq!(line.backlog().unread, 900);
        // The controller reads again. At first, it reads half of the data.
        line.seen(&meters, at(11_000), 1_100, Some(450));
        assert_eq!((line.still_since(at(11_000)), line.overdue().count()), (None, 5));
        line.seen(&meters, at(11_020), 1_100, Some(0));
        let report = meters.report(&[], at(0));
        assert_eq!(
            (report.read, report.lateness_us_max / 100_000),
            (11, 100),
            "the longest delay must be ten seconds"
        );
        assert_eq!((line.still_since(at(60_000)), line.overdue().count()), (None, 0));
        // Only acknowledgements of a remote controller are visible. The delay of data that was never read ends with the connection.
        reports(&mut line, &meters, 12..13);
        line.seen(&meters, at(12_010), 1_200, None);
        assert_eq!((meters.report(&[], at(0)).read, line.backlog().readers), (12, 0));
        reports(&mut line, &meters, 13..14);
        line.seen(&meters, at(13_010), 1_200, None);
        line.end(&meters, at(83_000));
        assert_eq!(meters.report(&[], at(0)).lateness_us_max / 1_000_000, 70);
    }

    #[test]
    fn time_without_checks_does_not_count_as_delay() {
        let mut line = ControllerLink::default();
        let meters = Meters::default();
        reports(&mut line, &meters, 1..2);
        line.seen(&meters, at(1_010), 100, Some(100));
        line.progress_at += Duration::from_secs(5);
        line.seen(&meters, at(6_010), 100, Some(100));
        assert_eq!(line.still_since(at(6_010)), None);
        assert!(line.still_since(at(7_010)).is_some());
    }
}
