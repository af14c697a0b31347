//! Implements the RAN functions SLICE and TRAFFIC for a radio cell.
use super::{Radio, SharedRadio, convert};
use ranlab_e2::Time;
use ranlab_e2::agent::{UeFilter, UeId};
use ranlab_e2::functions::slice::{Progress, SliceControl};
use ranlab_e2::functions::traffic::TrafficControl;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication, SliceSet, SliceShare, UeSlice};
use ranlab_e2_codec::e2sm::traffic::{
    BearerId, BearerTraffic, Queue, QueueState, TrafficAction, TrafficCommand, TrafficConfig,
    TrafficIndication,
};
use ranlab_machine::lock;
use ranlab_radio::user_plane::{Association, Command, Direction, Sojourn};
use std::sync::MutexGuard;

/// A radio in the form that RAN functions use.
#[derive(Debug, Clone)]
pub struct RadioTarget(pub SharedRadio);

impl RadioTarget {
    /// Locks the radio.
    pub fn radio(&self) -> MutexGuard<'_, Radio> {
        lock(&self.0)
    }

    /// Executes a slice command as a RAN function would.
    ///
    /// # Errors
    ///
    /// Returns an error if the command does not fit the slices or the UEs of the cell.
    pub fn command(&mut self, command: &SliceCommand) -> Result<(), Refusal> {
        let next = SliceControl::set(self).after(command, SliceControl::prbs(self))?;
        if let SliceCommand::Associate(ues) = command
            && let Some(ue) = ues.iter().find(|ue| !self.has_ue(ue.rnti))
        {
            return Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {}", ue.rnti)));
        }
        SliceControl::control(self, Time::ZERO, command, &next).map(|_| ())
    }
}

fn sees(ues: UeFilter<'_>, rnti: u16) -> bool {
    ues.is_all() || ues.contains(UeId(rnti.into()))
}

/// Converts a number to 32 bits, saturating.
pub(super) fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Radio {
    pub(super) fn tstamp_us(&self, now: Time) -> u64 {
        let now_us = i64::try_from(now.as_nanos() / 1_000).unwrap_or(i64::MAX);
        u64::try_from(self.epoch_us.saturating_add(now_us)).unwrap_or(0)
    }

    /// Fetches waiting times of packets from the cell, for SLICE and TRAFFIC reports.
    fn gather(&mut self) {
        for rnti in self.cell.rntis().collect::<Vec<_>>() {
            let slice = self.cell.report(rnti).and_then(|ue| convert::slice_id(ue.slice_down));
            let Some(waited) = self.cell.take_sojourns(rnti) else { continue };
            self.waits.slices.entry(slice.unwrap_or(0)).or_default().add(waited.whole);
            self.waits.rlc.entry(rnti).or_default().add(waited.rlc);
            for (queue, sojourn) in waited.queues {
                // Controllers use 8-bit queue numbers.
                self.waits.queues.entry((rnti, queue as u8)).or_default().add(sojourn);
            }
        }
    }

    /// Divides the model's downlink according to `next`. Changes nothing if the model rejects it.
    fn share(&mut self, next: &SliceSet) -> Result<(), Refusal> {
        let slices = Command::Slices(Direction::Down, convert::slices(next));
        self.cell.command(&slices).map_err(|why| convert::refusal(&why))?;
        self.end_quotas()?;
        self.set = next.clone();
        self.homes.retain(|_, slice| next.slice(*slice).is_some());
        self.settle_ues();
        Ok(())
    }

    /// Moves UEs to the slices that controllers assigned.
    pub(super) fn settle_ues(&mut self) {
        if convert::is_sliced(&self.set) {
            let home = |(rnti, slice): (&u16, &u16)| Association {
                rnti: *rnti,
                down: Some(u32::from(*slice)),
                up: None,
            };
            let associated = self.cell.command(&Command::Associate(self.homes.iter().map(home).collect()));
            // The UEs and slices exist, because assignments are removed together with them.
            debug_assert!(associated.is_ok(), "{associated:?}");
        }
    }
}

impl SliceControl for RadioTarget {
    fn prbs(&self) -> u16 {
        self.radio().cell.config().carrier.prbs
    }

    fn set(&self) -> SliceSet {
        self.radio().set.clone()
    }

    fn has_ue(&self, rnti: u16) -> bool {
        self.radio().bearers.contains_key(&rnti)
    }

    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> SliceIndication {
        let mut radio = self.radio();
        radio.gather();
        let mut waits = std::mem::take(&mut radio.waits.slices);
        let all: Vec<_> = radio.cell.reports().collect();
        let slice = |slice_down| convert::slice_id(slice_down).unwrap_or(0);
        let (set, stats) = radio.cell.slice_stats(Direction::Down);
        let share = |(spec, stats): (&ranlab_radio::user_plane::SliceSpec, &_)| {
            let &ranlab_radio::user_plane::SliceStats { prbs, bytes, .. } = stats;
            let id = slice(spec.id);
            let members = || all.iter().filter(|ue| slice(ue.slice_down) == id);
            let in_queues = |rnti| {
                let tc = radio.cell.tc(rnti);
                tc.map_or(0, |tc| tc.queues.iter().map(|queue| queue.stats.bytes).sum::<u64>())
            };
            let waited = waits.remove(&id).unwrap_or_default();
            SliceShare {
                slice: id,
                // A cell has at most 1,024 UEs.
                ues: members().count() as u16,
                prbs,
                bytes,
                queue_bytes: members().map(|ue| ue.dl.queue_bytes + in_queues(ue.identity.rnti)).sum(),
                sojourn_us: short(waited.mean_us()),
                sojourn_max_us: short(waited.max_us),
            }
        };
        let got = set.slices.iter().zip(stats).map(share).collect();
        let seen = all.iter().filter(|ue| sees(ues, ue.identity.rnti));
        SliceIndication {
            tstamp_us: radio.tstamp_us(now),
            prbs: radio.cell.config().carrier.prbs,
            prbs_offered: radio.cell.prbs_offered(Direction::Down),
            set: radio.set.clone(),
            slot: Some(radio.cell.slot()),
            slot_us: Some(short(radio.cell.config().carrier.slot_us())),
            ues: seen.map(|ue| UeSlice { rnti: ue.identity.rnti, slice: slice(ue.slice_down) }).collect(),
            got,
        }
    }

    fn control(&mut self, _: Time, command: &SliceCommand, next: &SliceSet) -> Result<Progress, Refusal> {
        let mut radio = self.radio();
        match command {
            SliceCommand::Associate(ues) => {
                radio.homes.extend(ues.iter().map(|ue| (ue.rnti, ue.slice)));
                radio.settle_ues();
                Ok(Progress::Done)
            }
            SliceCommand::Allocate(allocation) => {
                let allocation = Command::AllocateSlice(convert::allocation(allocation, &radio.set));
                let allocated = radio.cell.command(&allocation);
                allocated.map(|()| Progress::Done).map_err(|why| convert::refusal(&why))
            }
            _ => radio.share(next).map(|()| Progress::Done),
        }
    }
}

impl TrafficControl for RadioTarget {
    fn config(&self, bearer: BearerId) -> Option<TrafficConfig> {
        let radio = self.radio();
        let is_its = radio.cell.report(bearer.rnti)?.identity.drb_id == bearer.rbid;
        radio.bearers.get(&bearer.rnti).filter(|_| is_its).cloned()
    }

    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> TrafficIndication {
        let mut radio = self.radio();
        radio.gather();
        let rlc = std::mem::take(&mut radio.waits.rlc);
        let mut queues = std::mem::take(&mut radio.waits.queues);
        let mut bearers = Vec::new();
        for ue in radio.cell.reports().filter(|ue| sees(ues, ue.identity.rnti)) {
            let rnti = ue.identity.rnti;
            let (Some(config), Some(tc)) = (radio.bearers.get(&rnti), radio.cell.tc(rnti)) else { continue };
            let waited = rlc.get(&rnti).copied().unwrap_or_default();
            let state = |queue: &Queue| {
                let known = tc.queues.iter().find(|known| known.id == u32::from(queue.id));
                let stats = known.map(|known| known.stats).unwrap_or_default();
                let waited: Sojourn = queues.remove(&(rnti, queue.id)).unwrap_or_default();
                QueueState {
                    id: queue.id,
                    bytes: stats.bytes,
                    // The number is at most 65,536.
                    packets: stats.packets as u32,
                    sent_bytes: stats.forwarded_bytes,
                    sent_packets: stats.forwarded_packets,
                    dropped_packets: stats.dropped_packets,
                    policed_packets: stats.policed_packets,
                    sojourn_us: short(waited.mean_us()),
                    sojourn_max_us: short(waited.max_us),
                }
            };
            bearers.push(BearerTraffic {
                bearer: BearerId { rnti, rbid: ue.identity.drb_id },
                queues: config.queues.iter().map(state).collect(),
                config: config.clone(),
                rlc_bytes: ue.dl.queue_bytes,
                rlc_sojourn_us: short(waited.mean_us()),
                rlc_sojourn_max_us: short(waited.max_us),
                paced_kbps: short(tc.paced_kbps),
                stages: radio.stages.states(rnti),
            });
        }
        TrafficIndication { tstamp_us: radio.tstamp_us(now), bearers }
    }

    fn control(&mut self, _: Time, command: &TrafficCommand, next: &TrafficConfig) -> Result<(), Refusal> {
        let mut radio = self.radio();
        let rnti = command.bearer.rnti;
        if let TrafficAction::SetStage(stage) = &command.action {
            return radio.set_stage(rnti, stage);
        }
        let before = radio.bearers.get(&rnti).cloned().unwrap_or_default();
        // Waiting times of a queue are collected before it is removed.
        radio.gather();
        if let Some(change) = convert::traffic(&command.action, &before) {
            let changed = radio.cell.command(&Command::Tc(Some(rnti), change));
            changed.map_err(|why| convert::refusal(&why))?;
        }
        radio.bearers.insert(rnti, next.clone());
        if let TrafficAction::DeleteQueue(id) = command.action {
            radio.waits.queues.remove(&(rnti, id));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FlowPlan, RadioConfig, TrafficKind};
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;
    use ranlab_e2_codec::e2sm::control::Reason;
    use ranlab_e2_codec::e2sm::slice::{
        Slice, SliceAlgorithm, SliceAllocation, SliceParameters, UeAllocation, UeScheduler,
    };
    use ranlab_radio::user_plane::Carrier;
    use std::sync::{Arc, Mutex};

    fn execute(station: &mut RadioTarget, command: &SliceCommand) -> Result<(), Refusal> {
        let next = SliceControl::set(station).after(command, SliceControl::prbs(station))?;
        SliceControl::control(station, Time::ZERO, command, &next).map(|_| ())
    }

    /// A controller that learns the next slot from a report can allocate resource blocks to the UEs of its slice.
    #[test]
    fn allocation_by_controller_is_applied() {
        let flows = vec![FlowPlan::new(TrafficKind::Full)];
        let config = RadioConfig { flows, ..RadioConfig::new(Carrier::lte(25), 2) };
        let mut radio = Radio::new(&config, (0, 1), Plmn::new(1, 1, 2), 0, 0).unwrap();
        radio.pass(Time::ZERO);
        let mut station = RadioTarget(Arc::new(Mutex::new(radio)));
        let pass = |station: &RadioTarget, ms: u64| station.radio().pass(Time::from_nanos(ms * 1_000_000));
        let slice = Slice {
            id: 4,
            label: String::new(),
            scheduler: UeScheduler::Remote,
            parameters: SliceParameters::Capacity(1_000_000),
        };
        let set = SliceSet { algorithm: SliceAlgorithm::None, sharing: true, slices: vec![slice] };
        let allocate = |slot, slots, ues: &[(u16, u16)]| {
            let ues = ues.iter().map(|&(rnti, prbs)| UeAllocation { rnti, prbs, mcs: None }).collect();
            SliceCommand::Allocate(SliceAllocation { slice: 4, slot, slots, ues })
        };
        // The test runs twice: with NVS slices, and without slicing. Without slicing, all UEs share one pool, which uses
        // the first slice's scheduler.
        for (algorithm, from_ms) in [(SliceAlgorithm::Nvs, 0), (SliceAlgorithm::None, 100)] {
            execute(&mut station, &SliceCommand::Configure(SliceSet { algorithm, ..set.clone() })).unwrap();
            let prbs =
                |station: &RadioTarget| [1, 2].map(|rnti| station.radio().cell.report(rnti).unwrap().dl.prbs);
            let before = prbs(&station);
            execute(&mut station, &allocate(Some(from_ms), 20, &[(1, 20), (2, 5)])).unwrap();
            execute(&mut station, &allocate(None, 30, &[(2, 10)])).unwrap();
            for (refused, why) in [
                (allocate(Some(from_ms), 1, &[(1, 1)]), Reason::Exists),
                (allocate(Some(from_ms + 65), 1, &[(1, 1)]), Reason::Invalid),
                (allocate(None, 1, &[(9, 1)]), Reason::UnknownUe),
            ] {
                assert_eq!(execute(&mut station, &refused).unwrap_err().reason, why, "{refused:?}");
            }
            (0..10).for_each(|step| drop(pass(&station, from_ms + 10 * (step + 1))));
            let after = prbs(&station);
            assert_eq!([after[0] - before[0], after[1] - before[1]], [20 * 20, 20 * 5 + 30 * 10]);
        }
    }
}
