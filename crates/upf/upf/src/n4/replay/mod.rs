//! Repeats the sessions of a capture. Each repetition has a separate SEID, tunnels and UE addresses.
//!
//! [`Recorder`] reads the requests of an SMF from a capture. [`Replay`] sends them again through an [`Smf`], which
//! counts them. Sessions are established, modified and deleted as in the capture. A request is sent after the
//! response to the request before it.
mod recording;
mod rewrite;
#[cfg(test)]
mod tests;

pub use recording::{Ignored, MAX_RECORDED, Recorded, Recorder, Recording, Script, Step};
pub use rewrite::Addressing;

use crate::Time;
use crate::n4::{Kind, Outcome, Refused, RequestEnd, SessionId, Smf, SmfEvent};
use crate::pfcp::FTeid;
use rewrite::Names;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

/// Outcome of a repetition of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every request was accepted.
    Completed,
    /// A request was rejected or lost.
    Failed,
}

/// Completed repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Outcome of the repetition.
    pub ending: Ending,
    /// Scheduled start time of the repetition.
    pub intended: Time,
}

#[derive(Debug)]
struct Run {
    script: usize,
    slot: u32,
    /// Time at which the establishment was sent.
    began: Time,
    intended: Time,
    /// Index of the next step.
    step: usize,
    /// Pairs of TEIDs that the UPF chose: in the capture, and in this repetition.
    chosen: Vec<(u32, u32)>,
    failed: bool,
    /// Whether the deletion is pending.
    ends: bool,
}

/// Repeats the sessions of a recording, one after the other.
#[derive(Debug)]
pub struct Replay {
    recording: Arc<Recording>,
    addressing: Addressing,
    most: [u32; 3],
    /// Whether the requests of a session keep their intervals in the capture.
    keeps_gaps: bool,
    running: HashMap<SessionId, Run>,
    /// Requests that wait for their scheduled time.
    due: BinaryHeap<Reverse<(Time, SessionId)>>,
    free: VecDeque<u32>,
    next_slot: u32,
    next: usize,
}

impl Replay {
    /// Creates a replay without pending repetitions.
    pub fn new(recording: Arc<Recording>, addressing: Addressing, keeps_gaps: bool) -> Self {
        Self {
            most: recording.most(),
            recording,
            addressing,
            keeps_gaps,
            running: HashMap::new(),
            due: BinaryHeap::new(),
            free: VecDeque::new(),
            next_slot: 0,
            next: 0,
        }
    }

    /// Returns the number of repetitions that have begun and not ended. A repetition whose deletion is not in the capture ends with its
    /// last request.
    pub fn under_way(&self) -> usize {
        self.running.len()
    }

    /// Sends the PFD Management Requests of the capture. They must be answered before the first session begins.
    ///
    /// # Errors
    /// The SMF cannot send them now.
    pub fn provision(&self, now: Time, smf: &mut Smf) -> Result<(), Refused> {
        self.recording.pfds.iter().try_for_each(|request| smf.provision(now, request.clone()))
    }

    /// Returns the time at which [`send_due`](Self::send_due) has to be called next.
    pub fn next_due(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Begins the next session of the recording.
    ///
    /// # Errors
    /// The SMF cannot send the request now, or the recording has no session.
    pub fn begin(&mut self, now: Time, intended: Time, smf: &mut Smf) -> Result<SessionId, Refused> {
        let index = self.next % self.recording.scripts.len().max(1);
        let script = self.recording.scripts.get(index).ok_or(Refused::NothingRecorded)?;
        let slot = self.free.front().copied().unwrap_or(self.next_slot);
        let names = Names { script, addressing: &self.addressing, slot, most: self.most, chosen: &[] };
        let id = smf.establish_recorded(now, intended, names.establishment())?;
        if self.free.pop_front().is_none() {
            self.next_slot = self.next_slot.wrapping_add(1);
        }
        self.next += 1;
        let run = Run {
            script: index,
            slot,
            began: now,
            intended,
            step: 0,
            chosen: Vec::new(),
            failed: false,
            ends: false,
        };
        self.running.insert(id, run);
        Ok(id)
    }

    /// Processes an event of the SMF. Returns the repetition that it ended, if any.
    pub fn on_event(&mut self, now: Time, event: &SmfEvent, smf: &mut Smf) -> Option<Ended> {
        match event {
            SmfEvent::Tunnel(id, tunnel) => {
                let run = self.running.get_mut(id)?;
                let chosen = &self.recording.scripts[run.script].chosen;
                let before = chosen.iter().find(|(pdr_id, _)| *pdr_id == tunnel.pdr_id);
                if let (Some((_, before)), Some(FTeid::Assigned { teid, .. })) = (before, tunnel.f_teid) {
                    run.chosen.push((*before, teid));
                }
                None
            }
            SmfEvent::Done(done) => self.done(now, done, smf),
            _ => None,
        }
    }

    /// Sends all requests whose scheduled time has passed. Returns `false` if a request could not be sent now.
    pub fn send_due(&mut self, now: Time, smf: &mut Smf) -> bool {
        while let Some(&Reverse((at, id))) = self.due.peek() {
            if at > now {
                break;
            }
            self.due.pop();
            if let Err(Refused::Full(_)) = self.send(now, at, id, smf) {
                self.due.push(Reverse((at, id)));
                return false;
            }
        }
        true
    }

    /// Removes all repetitions, as after a restart of the UPF. Returns their number.
    pub fn clear(&mut self) -> usize {
        self.due.clear();
        let all = self.running.len();
        self.free.extend(self.running.drain().map(|(_, run)| run.slot));
        all
    }

    fn done(&mut self, now: Time, done: &RequestEnd<Option<SessionId>>, smf: &mut Smf) -> Option<Ended> {
        let id = done.about?;
        let run = self.running.get_mut(&id)?;
        let accepted = matches!(done.outcome, Outcome::Ok | Outcome::Retransmitted);
        if matches!(done.outcome, Outcome::Late(_)) {
            return None;
        }
        run.failed |= !accepted;
        if done.kind == Kind::Establishment && !accepted {
            let lost = done.outcome == Outcome::Lost;
            return self.end(id, !lost);
        }
        if run.ends {
            return self.end(id, accepted);
        }
        let steps = &self.recording.scripts[run.script].steps;
        if run.failed {
            // The repetition ends here, because later requests of the capture depend on changes that failed.
            run.ends = true;
            return match smf.delete(now, now, id) {
                Ok(()) => None,
                Err(_) => self.end(id, false),
            };
        }
        let Some(step) = steps.get(run.step) else { return self.end(id, false) };
        let at = if self.keeps_gaps { now.max(run.began + step.after) } else { now };
        self.due.push(Reverse((at, id)));
        None
    }

    fn send(&mut self, now: Time, at: Time, id: SessionId, smf: &mut Smf) -> Result<(), Refused> {
        let Some(run) = self.running.get_mut(&id) else { return Ok(()) };
        let script = &self.recording.scripts[run.script];
        match script.steps.get(run.step).map(|step| &step.request) {
            Some(Recorded::Modification(request)) => {
                let names = Names {
                    script,
                    addressing: &self.addressing,
                    slot: run.slot,
                    most: self.most,
                    chosen: &run.chosen,
                };
                smf.modify_recorded(now, at, id, names.modification(request))?;
            }
            Some(Recorded::Deletion) => {
                smf.delete(now, at, id)?;
                run.ends = true;
            }
            None => {}
        }
        run.step += 1;
        Ok(())
    }

    /// Ends a repetition. Its slot is reused only if the UPF has deleted the session with certainty.
    fn end(&mut self, id: SessionId, is_gone: bool) -> Option<Ended> {
        let run = self.running.remove(&id)?;
        if is_gone {
            self.free.push_back(run.slot);
        }
        let ending = if run.failed { Ending::Failed } else { Ending::Completed };
        Some(Ended { ending, intended: run.intended })
    }
}
