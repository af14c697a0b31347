//! SLICE at a base station ([`ranlab_e2_codec::e2sm::slice`]).
//!
//! A slice belongs to the controller that created it. No other controller may change or delete it, move UEs into it or allocate resources
//! in it. A controller that shares the carrier with slices of others may change neither the algorithm nor the sharing. Slices without an
//! owner, or of a controller that has disconnected, belong to the default controller. The carrier also belongs to the default controller.
//! Other controllers see only the UEs associated with them. They may neither choose the algorithm nor create the first slice, because that
//! slice would contain all unassigned UEs.
pub use super::command_function::Progress;
use super::command_function::{CommandFunction, CommandTarget, Requester};
use crate::Time;
use crate::agent::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication, SliceModel, SliceSet};
use std::collections::BTreeMap;

/// Scheduler behind the function. It only receives commands that have been checked.
pub trait SliceControl: Send {
    /// Returns the number of resource blocks of the carrier per slot.
    fn prbs(&self) -> u16;

    /// Returns the configuration.
    fn set(&self) -> SliceSet;

    /// Returns whether there is a UE with this RNTI.
    fn has_ue(&self, rnti: u16) -> bool;

    /// Returns the statistics of the given UEs and of all slices.
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> SliceIndication;

    /// Executes a command; `next` is the configuration that includes it. A refusal changes nothing. For an allocation,
    /// the station only has to check the slots, and that the UEs are in the slice.
    ///
    /// # Errors
    /// Returns an error if the base station cannot execute the command.
    fn control(&mut self, now: Time, command: &SliceCommand, next: &SliceSet) -> Result<Progress, Refusal>;

    /// Returns the results of the commands that returned [`Progress::Later`]; `next` may have changed since then.
    fn ended(&mut self) -> Vec<(u64, Result<(), Refusal>)> {
        Vec::new()
    }
}

struct Station<C> {
    control: C,
    /// Owners of the slices that controllers created.
    owners: BTreeMap<u16, ControllerId>,
    /// Deferred commands: their controller and the slices that they create.
    later: BTreeMap<u64, (ControllerId, Vec<u16>)>,
}

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::slice::DEFAULT_FUNCTION_ID`].
pub fn function(control: impl SliceControl + 'static) -> Box<dyn RanFunction> {
    Box::new(CommandFunction::new(Station { control, owners: BTreeMap::new(), later: BTreeMap::new() }))
}

impl<C: SliceControl> Station<C> {
    /// Assigns new slices to a controller, and removes the owners of deleted slices.
    fn own(&mut self, controller: ControllerId, new: Vec<u16>) {
        let set = self.control.set();
        self.owners.extend(new.into_iter().map(|id| (id, controller)));
        self.owners.retain(|id, _| set.slice(*id).is_some());
    }

    /// Refuses commands that would change a slice of another controller.
    fn permit(&self, asker: &Requester<'_>, set: &SliceSet, command: &SliceCommand) -> Result<(), Refusal> {
        let owner = |id: u16| {
            let owner = self.owners.get(&id).copied().filter(|owner| asker.known.contains(owner));
            owner.or(asker.first)
        };
        let foreign = |id: u16| set.slice(id).is_some() && owner(id) != Some(asker.controller);
        let others: Vec<u16> = set.slices.iter().map(|slice| slice.id).filter(|id| foreign(*id)).collect();
        let framed = |new: &SliceSet| (new.algorithm, new.sharing) == (set.algorithm, set.sharing);
        let first = |set: &SliceSet| set.slices.first().map(|slice| slice.id);
        let takes_carrier = match command {
            SliceCommand::Configure(new) => !framed(new) || first(new) != first(set),
            SliceCommand::Add(_) => set.slices.is_empty(),
            _ => false,
        };
        if takes_carrier && asker.first != Some(asker.controller) {
            let whose = "only the default controller may set algorithm, sharing and the first slice, which apply to all UEs";
            return Err(Refusal::new(Reason::NotOwner, whose));
        }
        let touched = match command {
            SliceCommand::Configure(new) => {
                let kept = |id: &&u16| new.slice(**id) == set.slice(**id);
                others.iter().find(|id| !framed(new) || !kept(id)).copied()
            }
            SliceCommand::Add(_) => None,
            SliceCommand::Modify(slice) => Some(slice.id).filter(|id| foreign(*id)),
            SliceCommand::Delete(id) => Some(*id).filter(|id| foreign(*id)),
            SliceCommand::Associate(ues) => ues.iter().map(|ue| ue.slice).find(|id| foreign(*id)),
            SliceCommand::Allocate(allocation) => Some(allocation.slice).filter(|id| foreign(*id)),
        };
        match touched {
            Some(id) => {
                Err(Refusal::new(Reason::NotOwner, format!("slice {id} belongs to another controller")))
            }
            None => Ok(()),
        }
    }

    fn ues_are_there(&self, asker: &Requester<'_>, command: &SliceCommand) -> Result<(), Refusal> {
        let missing = |rnti: &u16| !asker.sees(*rnti) || !self.control.has_ue(*rnti);
        let missing = match command {
            SliceCommand::Associate(ues) => ues.iter().map(|ue| ue.rnti).find(missing),
            SliceCommand::Allocate(allocation) => allocation.ues.iter().map(|ue| ue.rnti).find(missing),
            _ => None,
        };
        match missing {
            Some(rnti) => Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {rnti}"))),
            None => Ok(()),
        }
    }
}

impl<C: SliceControl> CommandTarget for Station<C> {
    type Model = SliceModel;

    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> SliceIndication {
        self.control.report(now, ues)
    }

    fn execute(
        &mut self,
        now: Time,
        asker: &Requester<'_>,
        command: SliceCommand,
    ) -> Result<Progress, Refusal> {
        let set = self.control.set();
        self.permit(asker, &set, &command)?;
        let next = set.after(&command, self.control.prbs())?;
        self.ues_are_there(asker, &command)?;
        let new = next.slices.iter().map(|slice| slice.id).filter(|id| set.slice(*id).is_none()).collect();
        let progress = self.control.control(now, &command, &next)?;
        match progress {
            Progress::Done => self.own(asker.controller, new),
            Progress::Later(number) => drop(self.later.insert(number, (asker.controller, new))),
        }
        Ok(progress)
    }

    fn ended(&mut self) -> Vec<(u64, Result<(), Refusal>)> {
        let ended = self.control.ended();
        for (number, end) in &ended {
            if let (Some((controller, new)), Ok(())) = (self.later.remove(number), end) {
                self.own(controller, new);
            }
        }
        ended
    }
}
