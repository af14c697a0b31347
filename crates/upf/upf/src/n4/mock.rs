//! UPF with known behaviour, to test the load generator.
use super::faults::{Meddler, UpfFault};
use super::upf::{DataPlane, NoDataPlane, Upf, UpfEvent, UpfInput, UpfOutput, UpfSettings};
use crate::Time;
use crate::pfcp::Random;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Behaviour of a [`Mock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MockSettings {
    /// Service time of a datagram. Datagrams are served one at a time, so the capacity is the reciprocal of this time.
    pub service: Duration,
    /// Additional service time per live session, which emulates a linear scan.
    pub scan_per_session: Duration,
    /// Maximum number of waiting datagrams. Further datagrams are lost, as in a full socket buffer.
    pub queue: usize,
    /// Datagrams lost on arrival, per thousand.
    pub loss_permille: u16,
    /// Number of datagrams after which the mock crashes. A crashed mock does not answer until [`Mock::restart`].
    pub crash_after: Option<u64>,
    /// Seed of the losses.
    pub seed: u64,
    /// Fault of the UPF.
    pub fault: Option<UpfFault>,
}

impl Default for MockSettings {
    /// Returns settings without service time, losses and crash.
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

/// A [`Upf`] behind a queue with a single server.
#[derive(Debug)]
pub struct Mock {
    settings: MockSettings,
    upf: Upf,
    /// Simulated fault with its state.
    meddler: Option<Meddler>,
    random: Random,
    /// Waiting datagrams, each with the end of its service time.
    waiting: VecDeque<(Time, SocketAddr, Vec<u8>)>,
    busy_until: Time,
    received: u64,
    /// Datagrams lost on arrival, as configured.
    pub lost: u64,
    /// Datagrams lost because the queue was full.
    pub overflowed: u64,
    crashed: bool,
}

impl Mock {
    /// Creates a mock in front of a UPF with these settings.
    pub fn new(settings: MockSettings, upf: UpfSettings) -> Self {
        let mut upf = upf;
        if let Some(fault) = settings.fault {
            fault.apply(&mut upf.dialect.demands);
            // Recognition is disabled, because a fault can only be applied to decoded messages.
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

    /// Returns the UPF behind the mock.
    pub fn upf(&self) -> &Upf {
        &self.upf
    }

    /// Returns the UPF behind the mock, for example to let it send reports.
    pub fn upf_mut(&mut self) -> &mut Upf {
        &mut self.upf
    }

    /// Returns whether the mock has crashed.
    pub fn is_crashed(&self) -> bool {
        self.crashed
    }

    /// Restarts the UPF. It has no sessions and a new recovery time stamp, and does not crash again.
    pub fn restart(&mut self) {
        let mut settings = self.upf.settings().clone();
        settings.recovery_time_stamp = settings.recovery_time_stamp.wrapping_add(1);
        self.upf = Upf::new(settings);
        self.settings.crash_after = None;
        self.crashed = false;
    }

    /// Handles an input without a data plane.
    pub fn handle(&mut self, now: Time, input: UpfInput<'_>) {
        self.handle_with(now, input, &mut NoDataPlane);
    }

    /// Handles an input; see [`Upf::handle_with`].
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

    /// Returns whether datagrams pass unchanged and at once.
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

    /// Returns the next output, if there is one.
    pub fn poll(&mut self) -> Option<UpfOutput> {
        if self.crashed {
            // A crashed UPF sends nothing, but its data plane still has to remove sessions.
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

    /// Returns the latest time at which to call [`Mock::handle`] with [`UpfInput::Wake`].
    pub fn wake_at(&self) -> Option<Time> {
        if self.crashed {
            return None;
        }
        let served = self.waiting.front().map(|(ends, ..)| *ends);
        [served, self.upf.wake_at()].into_iter().flatten().min()
    }
}
