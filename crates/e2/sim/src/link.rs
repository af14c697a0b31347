//! Connections: ordered, reliable, bounded, slow and breakable.
use bytes::Bytes;
use ranlab_e2::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Behaviour of connections without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkProfile {
    /// Minimum and maximum one-way latency. Each connection draws a random value.
    pub latency: (Duration, Duration),
    /// Maximum additional delay of a PDU. PDUs of a connection never overtake each other.
    pub jitter: Duration,
    /// Rate in one direction, in bytes per second.
    pub bytes_per_second: u64,
    /// Maximum bytes in flight in one direction. At this limit the transport accepts no more data.
    pub window_bytes: usize,
    /// Minimum and maximum time until an endpoint detects that its connection is lost.
    pub detection: (Duration, Duration),
}

impl Default for LinkProfile {
    /// Returns a profile with 1 to 50 ms of latency, 10 ms of jitter, 1 MB/s, a window of 8 KiB, and losses detected
    /// after 1 ms to 12 s.
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            latency: (ms(1), ms(50)),
            jitter: ms(10),
            bytes_per_second: 1_000_000,
            window_bytes: 8 << 10,
            detection: (ms(1), ms(12_000)),
        }
    }
}

/// An item in flight on a connection.
#[derive(Debug)]
pub(crate) enum Item {
    Pdu(Bytes),
    /// Orderly shutdown: no more data follows.
    End,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    queue: VecDeque<Item>,
    under_way_bytes: usize,
    busy_until: Time,
    last_arrival: Time,
    /// Whether the sender waits for room in the window.
    pub(crate) blocked: bool,
    /// Whether the direction is broken: sent data never arrives and is never confirmed.
    pub(crate) dead: bool,
}

impl Pipe {
    pub(crate) fn is_full(&self, window_bytes: usize) -> bool {
        self.under_way_bytes >= window_bytes
    }

    /// Sends an item. Returns its arrival time, or `None` if it never arrives.
    pub(crate) fn send(
        &mut self,
        now: Time,
        item: Item,
        delay: Duration,
        bytes_per_second: u64,
    ) -> Option<Time> {
        let len = item.len();
        self.under_way_bytes += len;
        if self.dead {
            return None;
        }
        let takes = Duration::from_nanos(len as u64 * 1_000_000_000 / bytes_per_second.max(1));
        self.busy_until = self.busy_until.max(now) + takes;
        self.last_arrival = self.last_arrival.max(self.busy_until + delay);
        self.queue.push_back(item);
        Some(self.last_arrival)
    }

    /// Delays all further arrivals until `at` or later.
    pub(crate) fn not_before(&mut self, at: Time) {
        self.last_arrival = self.last_arrival.max(at);
    }

    pub(crate) fn arrive(&mut self) -> Option<Item> {
        let item = self.queue.pop_front()?;
        self.under_way_bytes -= item.len();
        Some(item)
    }

    /// Breaks the connection. Data in flight is lost.
    pub(crate) fn kill(&mut self) {
        self.dead = true;
        self.queue.clear();
    }
}

impl Item {
    fn len(&self) -> usize {
        match self {
            // The transport adds a length prefix of 4 bytes.
            Self::Pdu(pdu) => pdu.len() + 4,
            Self::End => 0,
        }
    }
}

/// One endpoint of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) party: usize,
    /// Key of the connection in the party's machine.
    pub(crate) key: u64,
    pub(crate) open: bool,
}

/// A connection between two endpoints. Endpoint 0 is the client. `pipes[i]` carries the data sent by endpoint `i`.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) ends: [End; 2],
    pub(crate) pipes: [Pipe; 2],
    pub(crate) latency: Duration,
    /// Whether the connection request has reached the RIC, running or stopped.
    pub(crate) arrived: bool,
}

impl Connection {
    pub(crate) fn end_of(&self, party: usize) -> usize {
        usize::from(self.ends[0].party != party)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_keeps_order_delays_messages_and_has_limited_capacity() {
        let mut pipe = Pipe::default();
        let ms = Duration::from_millis;
        let pdu = || Item::Pdu(Bytes::from_static(&[0; 996]));
        let first = pipe.send(Time::ZERO, pdu(), ms(30), 1_000_000);
        let second = pipe.send(Time::ZERO, pdu(), ms(1), 1_000_000);
        assert_eq!((first, second), (Some(Time::ZERO + ms(31)), Some(Time::ZERO + ms(31))));
        assert!(pipe.is_full(2_000) && pipe.arrive().is_some() && !pipe.is_full(2_000));
        pipe.kill();
        assert!(pipe.send(Time::ZERO, pdu(), ms(1), 1).is_none() && pipe.arrive().is_none());
    }
}
