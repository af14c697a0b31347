//! The SMF on a UDP socket.
use super::LoadError;
use super::addresses::Endpoint;
use super::cycles::REST;
use super::unresponsive::ResponseWatch;
use ranlab_machine::Time;
use ranlab_net::{DatagramOptions, PreciseSleep, ReceiveBatch, SendBatch, bind_datagrams, monotonic_ns};
use ranlab_upf::n4::{Kind, SessionProfile, Smf, SmfEvent, SmfInput, SmfOutput, SmfSettings};
use ranlab_upf::pfcp::message_type;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Maximum length of a PFCP message, in bytes.
const MAX_MESSAGE: usize = 4_096;
/// Messages per system call.
const BATCH: usize = 64;
/// Maximum number of messages stored for a capture.
const MAX_TRACE: usize = 10_000;

/// A recorded PFCP message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedMessage {
    /// Time on the monotonic clock, in nanoseconds.
    pub at_ns: u64,
    /// Address of the sender.
    pub from: SocketAddr,
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Bytes of the message.
    pub octets: Vec<u8>,
}

/// An [`Smf`] with its socket.
#[derive(Debug)]
pub struct N4 {
    /// State machine of the SMF.
    pub smf: Smf,
    socket: UdpSocket,
    own: SocketAddr,
    upf: SocketAddr,
    received: ReceiveBatch,
    to_send: SendBatch,
    rest: PreciseSleep,
    /// Whether heartbeats are sent.
    heartbeats: bool,
    events: VecDeque<SmfEvent>,
    /// The last messages, if recording is enabled.
    pub trace: Option<VecDeque<TracedMessage>>,
    /// Requests for which the socket had no space. The state machine considers them sent, so they count as lost.
    pub unsent: u64,
    /// Datagrams from other addresses than the UPF's.
    pub strangers: u64,
    pub(super) hearing: ResponseWatch,
}

fn endpoint(own: SocketAddr, peer: SocketAddr) -> Endpoint {
    Endpoint { what: "SMF", flag: "--smf", own, peer, peer_flag: "--n4" }
}

impl N4 {
    /// Binds the SMF's address.
    pub fn new(
        bind: SocketAddr,
        upf: SocketAddr,
        settings: SmfSettings,
        profile: SessionProfile,
    ) -> Result<Self, LoadError> {
        let heartbeats = settings.heartbeat.is_some();
        let smf = Smf::new(settings, profile).ok_or(LoadError::Profile)?;
        let fault = |source| LoadError::Bind { what: "SMF", address: bind, source };
        let options = DatagramOptions { merge: true, stamp: true, ..Default::default() };
        let socket = bind_datagrams(bind, options).map_err(fault)?;
        let own = socket.local_addr().map_err(fault)?;
        endpoint(own, upf).check()?;
        Ok(Self {
            smf,
            socket,
            own,
            upf,
            received: ReceiveBatch::merging(MAX_MESSAGE),
            to_send: SendBatch::segmenting(BATCH, MAX_MESSAGE),
            rest: PreciseSleep::default(),
            heartbeats,
            events: VecDeque::new(),
            trace: None,
            unsent: 0,
            strangers: 0,
            hearing: ResponseWatch::default(),
        })
    }

    /// Returns the SMF's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.own
    }

    /// Returns the current time of the state machine.
    pub fn now() -> Time {
        Time::from_nanos(monotonic_ns())
    }

    /// Receives and sends pending messages without blocking. Returns whether a message was received.
    pub fn pump(&mut self) -> io::Result<bool> {
        let Self { smf, socket, upf, received, trace, own, strangers, hearing, .. } = self;
        let came = received.receive(socket).map_err(|error| endpoint(*own, *upf).error(error))?;
        // The kernel's time of arrival is used, because the time in the receive buffer is no delay of the UPF.
        for (from, datagram, at_ns) in received.stamped() {
            if from != *upf {
                *strangers += 1;
                continue;
            }
            if let Some(trace) = trace {
                note(trace, at_ns, from, *own, datagram);
            }
            hearing.hears(Time::from_nanos(at_ns));
            smf.handle(Time::from_nanos(at_ns), SmfInput::Received(datagram));
        }
        let now = Self::now();
        if self.smf.wake_at().is_some_and(|at| at <= now) {
            self.smf.handle(now, SmfInput::Wake);
        }
        self.flush()?;
        Ok(came > 0)
    }

    /// Sends the state machine's messages, and queues its events.
    pub fn flush(&mut self) -> io::Result<()> {
        while let Some(output) = self.smf.poll() {
            match output {
                SmfOutput::Event(event) => self.events.push_back(event),
                SmfOutput::Send(datagram) => {
                    if let Some(trace) = &mut self.trace {
                        note(trace, monotonic_ns(), self.own, self.upf, &datagram);
                    }
                    self.hearing.sends(Self::now(), &datagram);
                    if self.to_send.is_full() {
                        self.send()?;
                    }
                    if !self.to_send.copy(Some(self.upf), &datagram) {
                        self.unsent += 1;
                    }
                    self.smf.recycle(datagram);
                }
            }
        }
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        let waiting = self.to_send.len();
        if waiting > 0 {
            let sent =
                self.to_send.send(&self.socket).map_err(|error| endpoint(self.own, self.upf).error(error))?;
            self.unsent += (waiting - sent.datagrams) as u64;
            self.to_send.clear();
        }
        Ok(())
    }

    /// Sends a message that the state machine does not track.
    pub fn send_raw(&mut self, octets: &[u8]) -> io::Result<()> {
        if let Some(trace) = &mut self.trace {
            note(trace, monotonic_ns(), self.own, self.upf, octets);
        }
        self.socket
            .send_to(octets, self.upf)
            .map(drop)
            .map_err(|error| endpoint(self.own, self.upf).error(error))
    }

    /// Queues a message that the state machine does not track, for [`send_queued`](Self::send_queued).
    pub(super) fn queue_raw(&mut self, octets: &[u8]) {
        self.hearing.sends(Self::now(), octets);
        if !self.to_send.copy(Some(self.upf), octets) {
            self.unsent += 1;
        }
    }

    /// Sends the queued messages.
    pub(super) fn send_queued(&mut self) -> io::Result<()> {
        self.send()
    }

    /// Like [`N4::receive_raw`], but the state machine handles heartbeats, because a UPF deletes an SMF that does not answer its
    /// heartbeats.
    pub fn receive_answers(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut heartbeats = Vec::new();
        let came = self.receive_raw(&mut |datagram| {
            let kind = datagram.get(1).copied().unwrap_or(0);
            if matches!(kind, message_type::HEARTBEAT_REQUEST | message_type::HEARTBEAT_RESPONSE) {
                heartbeats.push(datagram.to_vec());
            } else {
                take(datagram);
            }
        })?;
        for heartbeat in &heartbeats {
            self.smf.handle(Self::now(), SmfInput::Received(heartbeat));
        }
        if !heartbeats.is_empty() {
            self.flush()?;
        }
        Ok(came)
    }

    /// Receives pending messages and passes them to `take` instead of the state machine. Returns their number.
    pub fn receive_raw(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let Self { socket, upf, received, trace, own, strangers, hearing, .. } = self;
        let came = received.receive(socket).map_err(|error| endpoint(*own, *upf).error(error))?;
        for (from, datagram) in received.datagrams() {
            if from == *upf {
                hearing.hears(Self::now());
                if let Some(trace) = trace {
                    note(trace, monotonic_ns(), from, *own, datagram);
                }
                take(datagram);
            } else {
                *strangers += 1;
            }
        }
        Ok(came)
    }

    /// Returns the oldest event of the state machine.
    pub fn event(&mut self) -> Option<SmfEvent> {
        self.events.pop_front()
    }

    /// Waits for a message, at most until `until`.
    pub fn rest(&mut self, until: Time) -> io::Result<()> {
        let until = self.smf.wake_at().map_or(until, |at| at.min(until));
        let Self { rest, socket, .. } = self;
        rest.wait(&[socket.as_fd()], monotonic_ns(), until.as_nanos()).map(drop)
    }

    /// Sets up the association. If heartbeats are enabled, the first one is answered before this function returns. Some UPFs detect a
    /// restarted SMF only by a heartbeat, and then delete its sessions. At this time, no sessions exist yet.
    pub fn associate(&mut self, patience: Duration) -> Result<(), LoadError> {
        let start = Self::now();
        while !self.smf.is_associated() {
            // The request is repeated even if retransmissions are disabled, so that a single lost request is not fatal.
            if self.smf.ledger().counts(Kind::Association).pending == 0 {
                self.smf.associate(Self::now()).map_err(|why| LoadError::Refused(why.to_string()))?;
            }
            self.pump()?;
            if Self::now().since(start) > patience {
                return Err(LoadError::NoAssociation { upf: self.upf, smf: self.own, waited: patience });
            }
            self.rest(Self::now() + REST)?;
        }
        let heartbeat = self.heartbeats.then(|| self.smf.heartbeat(Self::now()));
        while heartbeat.is_some()
            && self.smf.ledger().counts(Kind::Heartbeat).pending > 0
            && Self::now().since(start) <= patience
        {
            self.pump()?;
            self.rest(Self::now() + REST)?;
        }
        Ok(())
    }
}

fn note(trace: &mut VecDeque<TracedMessage>, at_ns: u64, from: SocketAddr, to: SocketAddr, octets: &[u8]) {
    if trace.len() >= MAX_TRACE {
        trace.pop_front();
    }
    trace.push_back(TracedMessage { at_ns, from, to, octets: octets.to_vec() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_stores_only_the_last_messages() {
        let from = "10.0.0.1:8805".parse().unwrap();
        let to = "10.0.0.2:8805".parse().unwrap();
        let mut trace = VecDeque::new();
        (0..=MAX_TRACE as u64).for_each(|n| note(&mut trace, n, from, to, &[n as u8]));
        assert_eq!((trace.len(), trace[0].at_ns, trace[0].octets[0]), (MAX_TRACE, 1, 1));
        assert_eq!(trace.back().map(|last| last.at_ns), Some(MAX_TRACE as u64));
    }
}
