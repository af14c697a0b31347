//! A base station's way to its controller: what waits to be written, and what the kernel has of it.
use super::meters::Meters;
use ranlab_machines::Time;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use tokio::net::TcpStream;

/// Octets that may wait to be written; beyond, reports are dropped and counted.
const UNWRITTEN_BYTES: usize = 1 << 20;
/// Other messages go on until here; then the connection ends.
const UNWRITTEN_BYTES_MAX: usize = 2 * UNWRITTEN_BYTES;

/// A message that waits, or its rest.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    left: usize,
    /// When a periodical report was due.
    due: Option<Time>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It waits to be written.
    Waits,
    /// A report that found no room.
    Dropped,
    /// Another message that found no room: the controller takes nothing any more.
    Stuck,
}

/// What waits on a line now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backlog {
    /// Messages that the kernel has not taken, a begun one counted.
    pub(super) messages: u64,
    /// Their octets.
    pub(super) octets: u64,
    /// Octets that the kernel took and the controller's host has not acknowledged.
    pub(super) unacknowledged: u64,
}

impl Backlog {
    /// Adds another line's.
    pub(super) fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.octets += other.octets;
        self.unacknowledged += other.unacknowledged;
    }
}

/// Messages on their way to the kernel. A message counts as sent, and a report's lateness ends, when the kernel took its last
/// octet.
#[derive(Debug, Default)]
pub(super) struct Line {
    octets: Vec<u8>,
    written: usize,
    waiting: VecDeque<Waiting>,
    pub(super) stream: Option<Rc<TcpStream>>,
}

impl Line {
    /// Takes a message, if there is room.
    pub(super) fn push(&mut self, octets: &[u8], due: Option<Time>) -> Fate {
        let waiting = self.octets.len() - self.written;
        match due {
            Some(_) if waiting + octets.len() > UNWRITTEN_BYTES => return Fate::Dropped,
            None if waiting > UNWRITTEN_BYTES_MAX => return Fate::Stuck,
            _ => {}
        }
        self.octets.extend_from_slice(octets);
        self.waiting.push_back(Waiting { left: octets.len(), due });
        Fate::Waits
    }

    /// Whether anything waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.written < self.octets.len()
    }

    /// Writes what the kernel takes; `write` is its system call.
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

    fn taken(&mut self, meters: &Meters, now: Time, octets: usize) {
        self.written += octets;
        meters.sent_bytes.set(meters.sent_bytes.get() + octets as u64);
        let mut left = octets;
        while let Some(first) = self.waiting.front_mut() {
            if first.left > left {
                first.left -= left;
                return;
            }
            left -= first.left;
            meters.sent(now, first.due);
            self.waiting.pop_front();
        }
    }

    /// The connection ended: how many messages it never took.
    pub(super) fn end(&mut self) -> u64 {
        let given_up = self.waiting.len() as u64;
        self.octets.clear();
        self.written = 0;
        self.waiting.clear();
        self.stream = None;
        given_up
    }

    /// What waits now.
    pub(super) fn backlog(&self) -> Backlog {
        let kernel = self.stream.as_deref().and_then(|stream| ranlab_net::unacknowledged(stream).ok());
        Backlog {
            messages: self.waiting.len() as u64,
            octets: (self.octets.len() - self.written) as u64,
            unacknowledged: kernel.unwrap_or(0),
        }
    }

    /// When the reports that wait were due.
    pub(super) fn overdue(&self) -> impl Iterator<Item = Time> {
        self.waiting.iter().filter_map(|message| message.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Takes so many octets, then none.
    fn kernel(room: &Cell<usize>) -> impl FnMut(&[u8]) -> io::Result<usize> {
        move |octets| match room.get().min(octets.len()) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            taken => {
                room.set(room.get() - taken);
                Ok(taken)
            }
        }
    }

    #[test]
    fn a_message_is_sent_when_the_kernel_took_its_last_octet() {
        let (mut line, meters, room) = (Line::default(), Meters::default(), Cell::new(250));
        for ms in [0, 50, 100] {
            assert_eq!(line.push(&[7; 100], Some(at(ms))), Fate::Waits);
        }
        line.write(&meters, || at(100), kernel(&room)).unwrap();
        let report = meters.report(&[], Time::ZERO);
        assert_eq!((report.sent, report.reports, report.sent_bytes), (2, 2, 250));
        assert_eq!(report.lateness_us_p99 / 10_000, 10, "the first was due 100 ms ago");
        assert_eq!(line.backlog(), Backlog { messages: 1, octets: 50, unacknowledged: 0 });
        assert_eq!(line.overdue().collect::<Vec<_>>(), [at(100)]);
        // A minute later its reader reads on.
        room.set(1_000);
        line.write(&meters, || at(60_100), kernel(&room)).unwrap();
        let report = meters.report(&[], Time::ZERO);
        assert_eq!((report.sent, report.sent_bytes), (3, 300));
        assert_eq!(report.lateness_us_p99 / 1_000_000, 60, "{}", report.lateness_us_p99);
        assert_eq!(line.backlog(), Backlog::default());
    }

    #[test]
    fn what_finds_no_room_is_told_and_what_waited_at_the_end_too() {
        let (mut line, meters, room) = (Line::default(), Meters::default(), Cell::new(0));
        let report = vec![7; UNWRITTEN_BYTES / 4];
        let fates: Vec<Fate> = (0..6).map(|_| line.push(&report, Some(Time::ZERO))).collect();
        assert_eq!(fates[..4], [Fate::Waits; 4]);
        assert_eq!(fates[4..], [Fate::Dropped; 2]);
        let fates: Vec<Fate> = (0..6).map(|_| line.push(&report, None)).collect();
        assert_eq!(fates[..5], [Fate::Waits; 5]);
        assert_eq!(fates[5], Fate::Stuck);
        line.write(&meters, || at(1), kernel(&room)).unwrap();
        room.set(UNWRITTEN_BYTES);
        line.write(&meters, || at(1) + Duration::from_secs(1), kernel(&room)).unwrap();
        assert_eq!((meters.report(&[], Time::ZERO).sent, line.end(), line.end()), (4, 5, 0));
        assert!(!line.is_waiting());
    }
}
