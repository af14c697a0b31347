//! End of a run: sessions are deleted, the association is released, and remaining sessions at the UPF are reported.
use super::cycles::{CyclePlan, Cycles, REST};
use super::n4::N4;
use super::open_loop;
use ranlab_upf::n4::{Kind, Refused, SessionTemplates};
use ranlab_upf::pfcp::{Cause, MAX_SEQUENCE};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Maximum number of pending deletions. By default a socket of a UPF buffers about 200 datagrams, and a UPF may be
/// slow.
const WINDOW: u64 = 32;
/// Number of retransmissions of a deletion, independent of the load's setting. The measurement has ended, and remaining sessions would
/// disturb the next run.
const N1: u8 = 3;
/// Number of consecutive unanswered deletions after which a UPF is considered gone.
const SILENT: u64 = WINDOW;
/// Number of attempts for sessions with a pending request or a lost deletion.
const PASSES: usize = 3;
/// Timeout of a release.
const RELEASE: Duration = Duration::from_secs(5);

/// Deletes sessions by their UPF SEIDs, without the state machine of an SMF. A deletion without a response within `patience` is
/// retransmitted up to N1 times. Returns the number of sessions that may remain.
pub(super) fn delete_by_name(
    n4: &mut N4,
    templates: &SessionTemplates,
    seids: &[u64],
    first_sequence: u32,
    patience: Duration,
) -> io::Result<u64> {
    let numbers = (first_sequence..).map(|number| number & MAX_SEQUENCE);
    let all: Vec<(u32, u64)> = numbers.zip(seids.iter().copied()).collect();
    let mut stay = 0;
    let mut out = Vec::new();
    for (turn, some) in all.chunks(WINDOW as usize).enumerate() {
        let mut open: BTreeMap<u32, u64> = some.iter().copied().collect();
        for _ in 0..=N1 {
            for (sequence, seid) in &open {
                templates.write_deletion(*sequence, *seid, &mut out);
                n4.queue_raw(&out);
            }
            n4.send_queued()?;
            let end = Instant::now() + patience;
            while !open.is_empty() && Instant::now() < end {
                n4.receive_answers(&mut |datagram| {
                    if let Some((_, sequence, cause)) = open_loop::read(datagram)
                        && (cause.is_accepted() || cause == Cause::CONTEXT_NOT_FOUND)
                    {
                        open.remove(&sequence);
                    }
                })?;
                n4.rest(N4::now() + REST)?;
            }
        }
        stay += open.len();
        if open.len() == some.len() {
            // The UPF has stopped responding, so no further deletions are sent.
            return Ok((stay + all.len().saturating_sub((turn + 1) * WINDOW as usize)) as u64);
        }
    }
    Ok(stay as u64)
}

impl Cycles {
    /// Deletes all sessions and waits for the responses. Returns the number of sessions that remain, as far as known.
    pub fn delete_all(&mut self, plan: &CyclePlan) -> io::Result<usize> {
        self.close_kept();
        let n1 = self.n4.smf.retransmit(N1);
        for _ in 0..PASSES {
            let before = self.n4.smf.live_sessions();
            if before == 0 || !self.delete_once(plan)? || self.n4.smf.live_sessions() == before {
                break;
            }
        }
        self.n4.smf.retransmit(n1);
        self.forget_closing();
        Ok(self.n4.smf.live_sessions())
    }

    /// Sends one deletion per session. Returns whether the UPF responded.
    fn delete_once(&mut self, plan: &CyclePlan) -> io::Result<bool> {
        let mut waiting = self.n4.smf.deletable().into_iter().peekable();
        let counts = |n4: &N4| *n4.smf.ledger().counts(Kind::Deletion);
        let mut previous = counts(&self.n4);
        loop {
            let came = self.n4.pump()?;
            self.events(plan)?;
            let now = N4::now();
            let mut counted = counts(&self.n4);
            if counted.answered() > previous.answered() {
                previous = counted;
            }
            if counted.lost.saturating_sub(previous.lost) >= SILENT {
                return Ok(false);
            }
            while counted.pending < WINDOW
                && let Some(id) = waiting.next()
            {
                match self.n4.smf.delete(now, now, id) {
                    Ok(()) => counted.pending += 1,
                    // The session has ended in the meantime, or there is no association.
                    Err(Refused::Session(_) | Refused::NotAssociated) => {}
                    Err(_) => break,
                }
            }
            self.n4.flush()?;
            if counted.pending == 0 && waiting.peek().is_none() {
                return Ok(true);
            }
            if !came {
                self.n4.rest(now + REST)?;
            }
        }
    }

    /// Releases the association and waits for pending requests. Returns `true` if the UPF answered the release, or if no release was
    /// needed.
    pub fn release(&mut self) -> io::Result<bool> {
        let requested = self.n4.smf.is_associated() && self.n4.smf.release(N4::now()).is_ok();
        let end = Instant::now() + RELEASE;
        self.n4.flush()?;
        while self.n4.smf.ledger().total(|counts| counts.pending) > 0 && Instant::now() < end {
            if !self.n4.pump()? {
                self.n4.rest(N4::now() + REST)?;
            }
        }
        Ok(!requested || self.n4.smf.ledger().counts(Kind::Release).answered() > 0)
    }
}
