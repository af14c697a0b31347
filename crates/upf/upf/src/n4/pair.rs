//! SMF and UPF on an impaired link, in virtual time.
use super::link::{Impairments, Link};
use super::mock::Mock;
use super::smf::{Smf, SmfEvent, SmfInput, SmfOutput};
use super::upf::{UpfEvent, UpfInput, UpfOutput};
use crate::Time;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An SMF and a UPF with a link in each direction. The same seeds give the same run.
#[derive(Debug)]
pub struct Pair {
    /// Current time of both endpoints.
    pub now: Time,
    /// State machine of the SMF.
    pub smf: Smf,
    /// State machine of the UPF, behind a mock.
    pub upf: Mock,
    /// Link from SMF to UPF.
    pub there: Link,
    /// Link from UPF to SMF.
    pub back: Link,
    /// Events of the SMF, in order.
    pub smf_events: Vec<SmfEvent>,
    /// Events of the UPF, in order.
    pub upf_events: Vec<UpfEvent>,
}

impl Pair {
    /// Source address of the SMF's datagrams.
    pub const SMF_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 8805);

    /// Creates both endpoints with nothing in transit. Each direction draws from a separate random stream of the seed.
    pub fn new(smf: Smf, upf: Mock, impairments: Impairments, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            smf,
            upf,
            there: Link::new(impairments, seed),
            back: Link::new(impairments, seed ^ 0xb0ac),
            smf_events: Vec::new(),
            upf_events: Vec::new(),
        }
    }

    /// Runs both endpoints until `end`, and sets the time to `end`.
    pub fn run_until(&mut self, end: Time) {
        loop {
            self.flush();
            let next =
                [self.there.arrives_at(), self.back.arrives_at(), self.smf.wake_at(), self.upf.wake_at()];
            let Some(next) = next.into_iter().flatten().min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            self.deliver();
        }
        self.now = self.now.max(end);
    }

    fn deliver(&mut self) {
        while let Some(datagram) = self.there.receive(self.now) {
            self.upf.handle(self.now, UpfInput::Received(Self::SMF_ADDRESS, &datagram));
        }
        while let Some(datagram) = self.back.receive(self.now) {
            self.smf.handle(self.now, SmfInput::Received(&datagram));
        }
        self.smf.handle(self.now, SmfInput::Wake);
        self.upf.handle(self.now, UpfInput::Wake);
    }

    fn flush(&mut self) {
        while let Some(output) = self.smf.poll() {
            match output {
                SmfOutput::Send(datagram) => self.there.send(self.now, datagram),
                SmfOutput::Event(event) => self.smf_events.push(event),
            }
        }
        while let Some(output) = self.upf.poll() {
            match output {
                UpfOutput::Send(_, datagram) => self.back.send(self.now, datagram),
                UpfOutput::Event(event) => self.upf_events.push(event),
            }
        }
    }
}
