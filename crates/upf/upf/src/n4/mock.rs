//! A UPF whose behaviour is known, to measure the measuring with.
use super::faults::{Meddler, UpfFault};
use super::upf::{DataPlane, NoDataPlane, Upf, UpfEvent, UpfInput, UpfOutput, UpfSettings};
use crate::Time;
use crate::pfcp::Random;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// How a [`Mock`] behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MockSettings {
    /// Time that each datagram takes; one after the other, so the capacity is its reciprocal.
    pub service: Duration,
    /// Further time for each live session: a linear scan.
    pub scan_per_session: Duration,
    /// Datagrams that wait at most; what comes beyond is lost, as in a socket's buffer.
    pub queue: usize,
    /// Datagrams lost on arrival of a thousand.
    pub loss_permille: u16,
    /// After so many datagrams the mock dies: it answers nothing until [`Mock::restart`].
    pub crash_after: Option<u64>,
    /// For the losses.
    pub seed: u64,
    /// What it does wrong.
    pub fault: Option<UpfFault>,
}

impl Default for MockSettings {
    /// Immediate, lossless, immortal.
    fn default() -> Self {
        Self {
            service: Duration::ZERO,
            scan_per_session: Duration::ZERO,
            queue: 1 << 16,
            loss_permille: 0,
            crash_after: None,
            seed: 1,
            fault: None,
        }
    }
}

/// A [`Upf`] behind a single server.
#[derive(Debug)]
pub struct Mock {
    settings: MockSettings,
    upf: Upf,
    /// The fault at work.
    meddler: Option<Meddler>,
    random: Random,
    /// Datagrams and when their service ends.
    waiting: VecDeque<(Time, SocketAddr, Vec<u8>)>,
    busy_until: Time,
    received: u64,
    /// Datagrams lost on arrival, by the settings.
    pub lost: u64,
    /// Datagrams lost because too many waited.
    pub overflowed: u64,
    crashed: bool,
}

impl Mock {
    /// A mock in front of a UPF of these settings.
    pub fn new(settings: MockSettings, upf: UpfSettings) -> Self {
        let mut upf = upf;
        if let Some(fault) = settings.fault {
            fault.apply(&mut upf.dialect.demands);
            // A fault shows in decoded messages alone.
            upf.recognise = false;
        }
        Self {
            settings,
            upf: Upf::new(upf),
            meddler: settings.fault.map(Meddler::new),
            random: Random::new(settings.seed),
            waiting: VecDeque::new(),
            busy_until: Time::ZERO,
            received: 0,
            lost: 0,
            overflowed: 0,
            crashed: false,
        }
    }

    /// The UPF behind.
    pub fn upf(&self) -> &Upf {
        &self.upf
    }

    /// The UPF behind, to let it report.
    pub fn upf_mut(&mut self) -> &mut Upf {
        &mut self.upf
    }

    /// Whether it has died.
    pub fn is_crashed(&self) -> bool {
        self.crashed
    }

    /// Starts it anew: no sessions, another recovery time stamp, no second crash.
    pub fn restart(&mut self) {
        let mut settings = self.upf.settings().clone();
        settings.recovery_time_stamp = settings.recovery_time_stamp.wrapping_add(1);
        self.upf = Upf::new(settings);
        self.settings.crash_after = None;
        self.crashed = false;
    }

    /// Tells what happened.
    pub fn handle(&mut self, now: Time, input: UpfInput<'_>) {
        self.handle_with(now, input, &mut NoDataPlane);
    }

    /// As [`Upf::handle_with`].
    pub fn handle_with(&mut self, now: Time, input: UpfInput<'_>, plane: &mut dyn DataPlane) {
        if self.is_transparent() {
            self.received += u64::from(matches!(input, UpfInput::Received(..)));
            self.upf.handle_with(now, input, plane);
            return;
        }
        self.serve(now, plane);
        if let UpfInput::Received(from, datagram) = input {
            self.arrive(now, from, datagram);
        }
        self.serve(now, plane);
        if !self.crashed {
            self.upf.handle(now, UpfInput::Wake);
        }
    }

    /// Whether it does nothing to what arrives.
    fn is_transparent(&self) -> bool {
        let MockSettings { service, scan_per_session, queue, loss_permille, crash_after, fault, seed: _ } =
            self.settings;
        !self.crashed
            && fault.is_none()
            && self.waiting.is_empty()
            && (service + scan_per_session).is_zero()
            && queue > 0
            && loss_permille == 0
            && crash_after.is_none()
    }

    fn arrive(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) {
        self.received += 1;
        if self.settings.crash_after.is_some_and(|limit| self.received > limit) {
            self.crashed = true;
            self.waiting.clear();
        }
        if self.crashed || self.random.below(1000) < self.settings.loss_permille.into() {
            self.lost += 1;
        } else if self.waiting.len() >= self.settings.queue {
            self.overflowed += 1;
        } else {
            let scan = u32::try_from(self.upf.sessions()).unwrap_or(u32::MAX);
            let service = self.settings.service + self.settings.scan_per_session.saturating_mul(scan);
            self.busy_until = self.busy_until.max(now) + service;
            self.waiting.push_back((self.busy_until, from, datagram.to_vec()));
        }
    }

    fn serve(&mut self, now: Time, plane: &mut dyn DataPlane) {
        while let Some((ends, from, datagram)) = self.waiting.pop_front_if(|(ends, ..)| *ends <= now) {
            let mut meddled = Some(datagram);
            if let (Some(meddler), Some(datagram)) = (&mut self.meddler, &meddled) {
                if meddler.is_fatal(datagram) {
                    self.crashed = true;
                    self.waiting.clear();
                    return;
                }
                meddled = meddler.request(from, datagram);
            }
            let Some(datagram) = meddled else { continue };
            self.upf.handle_with(ends, UpfInput::Received(from, &datagram), plane);
        }
    }

    /// What follows; `None` when there is nothing more.
    pub fn poll(&mut self) -> Option<UpfOutput> {
        if self.crashed {
            // What the dead had to say is lost, but for what the data plane has to forget.
            while let Some(output) = self.upf.poll() {
                if let UpfOutput::Event(UpfEvent::Deleted(_)) = output {
                    return Some(output);
                }
            }
            return None;
        }
        loop {
            let output = self.upf.poll()?;
            match (output, &mut self.meddler) {
                (UpfOutput::Send(to, datagram), Some(meddler)) => {
                    if let Some((to, datagram)) = meddler.output(to, datagram) {
                        return Some(UpfOutput::Send(to, datagram));
                    }
                }
                (output, _) => return Some(output),
            }
        }
    }

    /// When to call [`Mock::handle`] with [`UpfInput::Wake`] at the latest.
    pub fn wake_at(&self) -> Option<Time> {
        if self.crashed {
            return None;
        }
        let served = self.waiting.front().map(|(ends, ..)| *ends);
        [served, self.upf.wake_at()].into_iter().flatten().min()
    }
}
