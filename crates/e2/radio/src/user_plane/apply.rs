//! Execution of commands in a cell. A rejected command changes nothing.

use super::carrier::Direction;
use super::cell::Cell;
use super::command::{ALLOCATE_AHEAD_MAX, Allocation, Association, Command, Refusal, SliceAllocation};
use super::leg::{BearerDirection, Decision};
use super::slice::{SliceError, SliceSet};
use super::tc::{Tc, TcCommand};
use super::ue_scheduler::UeScheduler;
use std::ops::RangeInclusive;

impl Cell {
    /// Executes a command, or rejects it without a change.
    pub fn command(&mut self, command: &Command) -> Result<(), Refusal> {
        match command {
            Command::Slices(direction, set) => self.set_slices(*direction, set.clone()),
            Command::AddSlices(direction, slices) => {
                let set = self.leg(*direction).slices.set.with(slices);
                self.set_slices(*direction, set)
            }
            Command::DeleteSlices(direction, ids) => {
                let set = self.leg(*direction).slices.set.without(ids)?;
                self.set_slices(*direction, set)
            }
            Command::Associate(associations) => self.associate(associations),
            Command::Tc(rnti, command) => self.command_tc(*rnti, command),
            Command::Allocate(direction, slot, allocations) => {
                self.allocate(*direction, *slot..=*slot, None, allocations)
            }
            Command::AllocateSlice(allocation) => self.allocate_slice(allocation),
        }
    }

    fn leg(&self, direction: Direction) -> &BearerDirection {
        if direction == Direction::Down { &self.down } else { &self.up }
    }

    fn leg_mut(&mut self, direction: Direction) -> &mut BearerDirection {
        if direction == Direction::Down { &mut self.down } else { &mut self.up }
    }

    fn set_slices(&mut self, direction: Direction, set: SliceSet) -> Result<(), Refusal> {
        set.check(self.config.carrier.prbs)?;
        let slices = self.slices(set.clone(), direction);
        self.leg_mut(direction).set_slices(slices);
        let kept = if direction == Direction::Down { &mut self.config.down } else { &mut self.config.up };
        *kept = set;
        Ok(())
    }

    fn associate(&mut self, associations: &[Association]) -> Result<(), Refusal> {
        let place = |leg: &BearerDirection, id: Option<u32>| {
            id.map(|id| leg.slices.index(id).ok_or(SliceError::NoSlice(id))).transpose()
        };
        let places = associations.iter().map(|association| {
            let ue = self.index(association.rnti).ok_or(Refusal::NoUe(association.rnti))?;
            Ok((ue, place(&self.down, association.down)?, place(&self.up, association.up)?))
        });
        let places: Vec<_> = places.collect::<Result<_, Refusal>>()?;
        for (ue, down, up) in places {
            down.into_iter().for_each(|slice| self.down.associate(ue, slice));
            up.into_iter().for_each(|slice| self.up.associate(ue, slice));
        }
        Ok(())
    }

    fn command_tc(&mut self, rnti: Option<u16>, command: &TcCommand) -> Result<(), Refusal> {
        let now_us = self.now_us();
        let only = rnti.map(|rnti| self.index(rnti).ok_or(Refusal::NoUe(rnti))).transpose()?;
        let is_meant = |index: usize| only.is_none_or(|only| only == index);
        // The command is checked for all UEs first, so that it applies to all of them or to none.
        for ue in self
            .ues
            .iter()
            .enumerate()
            .filter(|(index, _)| is_meant(*index))
            .filter_map(|(_, ue)| ue.as_ref())
        {
            match &ue.tc {
                Some(tc) => tc.check(command)?,
                None => Tc::new(now_us).check(command)?,
            }
        }
        for (_, ue) in self.ues.iter_mut().enumerate().filter(|(index, _)| is_meant(*index)) {
            let Some(ue) = ue else { continue };
            ue.tc.get_or_insert_with(|| Box::new(Tc::new(now_us))).command(command, now_us)?;
        }
        Ok(())
    }

    fn allocate_slice(&mut self, request: &SliceAllocation) -> Result<(), Refusal> {
        let leg = self.leg(request.direction);
        let id = request.slice;
        let now = self.slot();
        let slice = leg.slices.index(id).ok_or(SliceError::NoSlice(id))?;
        if leg.slices.set.slices[usize::from(slice)].scheduler != UeScheduler::Remote {
            return Err(Refusal::NotRemote(id));
        }
        for one in &request.allocations {
            let ue = self.index(one.rnti).ok_or(Refusal::NoUe(one.rnti))?;
            if leg.hot[ue].slice != slice {
                return Err(Refusal::NotIn { rnti: one.rnti, slice: id });
            }
        }
        let free = || (now..).find(|slot| leg.decided(*slot, Some(id)).is_none());
        let first = request.slot.or_else(free).unwrap_or(now);
        let last = first.saturating_add(u64::from(request.slots.max(1)) - 1);
        self.allocate(request.direction, first..=last, Some(id), &request.allocations)
    }

    /// Stores a controller's decision for a range of slots, for one slice or for all slices.
    fn allocate(
        &mut self,
        direction: Direction,
        slots: RangeInclusive<u64>,
        slice: Option<u32>,
        requested: &[Allocation],
    ) -> Result<(), Refusal> {
        let now = self.slot();
        let prbs = self.config.carrier.prbs;
        let mcs = self.config.carrier.table.highest();
        let ahead = now..=now + ALLOCATE_AHEAD_MAX;
        if let Some(&slot) = [slots.start(), slots.end()].into_iter().find(|slot| !ahead.contains(slot)) {
            return Err(Refusal::Deadline { slot, now });
        }
        let sum: u64 = requested.iter().map(|one| u64::from(one.prbs)).sum();
        let is_wrong = |one: &Allocation| one.prbs == 0 || one.mcs.is_some_and(|index| index > mcs);
        if sum > u64::from(prbs) || requested.iter().any(is_wrong) {
            return Err(Refusal::Allocation { prbs, mcs });
        }
        let leg = self.leg(direction);
        if let Some(slot) = slots.clone().find(|slot| leg.decided(*slot, slice).is_some()) {
            return Err(Refusal::Allocated(slot));
        }
        let place = |one: &Allocation| {
            let ue = self.index(one.rnti).ok_or(Refusal::NoUe(one.rnti))?;
            Ok((ue as u32, one.prbs, one.mcs))
        };
        let allocations: Vec<_> = requested.iter().map(place).collect::<Result<_, Refusal>>()?;
        let decisions = slots.map(|slot| Decision { slot, slice, allocations: allocations.clone() });
        self.leg_mut(direction).decisions.extend(decisions);
        Ok(())
    }
}
