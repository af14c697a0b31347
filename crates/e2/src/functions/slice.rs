//! SLICE at a base station ([`ranlab_wire::e2sm::slice`]).
//!
//! A slice belongs to the controller that made it: no other changes or deletes it, puts UEs into it or allocates in it,
//! and who shares the carrier with slices of others changes neither algorithm nor sharing. Slices of nobody, or of a
//! controller that is no more, belong to the default controller. So does the carrier: a further controller, which sees the
//! UEs that were associated to it, neither chooses the algorithm nor makes the first slice, where UEs are that nobody put
//! anywhere.
pub use super::controlled::Progress;
use super::controlled::{Asker, Controlled, Obeys};
use crate::Time;
use crate::agent::*;
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::slice::{SliceCommand, SliceIndication, SliceModel, SliceSet};
use std::collections::BTreeMap;

/// The scheduler behind the function. Commands come to it when they can be carried out.
pub trait SliceControl: Send {
    /// Resource blocks of the carrier in a slot.
    fn prbs(&self) -> u16;

    /// The configuration.
    fn set(&self) -> SliceSet;

    /// Whether there is a UE of this RNTI.
    fn has_ue(&self, rnti: u16) -> bool;

    /// Statistics of the given UEs, and of all slices.
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> SliceIndication;

    /// Carries out a command; `next` is the configuration with it. Whoever refuses has changed nothing. Of an allocation
    /// the station checks what it alone knows: its slots, and that its UEs are in the slice.
    ///
    /// # Errors
    /// The base station cannot do this.
    fn control(&mut self, now: Time, command: &SliceCommand, next: &SliceSet) -> Result<Progress, Refusal>;

    /// What became of the commands of which it said [`Progress::Later`]; `next` may be another by then.
    fn ended(&mut self) -> Vec<(u64, Result<(), Refusal>)> {
        Vec::new()
    }
}

struct Station<C> {
    control: C,
    /// Of slices that a controller made.
    owners: BTreeMap<u16, ControllerId>,
    /// Commands that were put off: whose, and which slices they make.
    later: BTreeMap<u64, (ControllerId, Vec<u16>)>,
}

/// The RAN function; register it as [`ranlab_wire::e2sm::slice::DEFAULT_FUNCTION_ID`].
pub fn function(control: impl SliceControl + 'static) -> Box<dyn RanFunction> {
    Box::new(Controlled::new(Station { control, owners: BTreeMap::new(), later: BTreeMap::new() }))
}

impl<C: SliceControl> Station<C> {
    /// These slices are a controller's; those that are no more are nobody's.
    fn own(&mut self, controller: ControllerId, new: Vec<u16>) {
        let set = self.control.set();
        self.owners.extend(new.into_iter().map(|id| (id, controller)));
        self.owners.retain(|id, _| set.slice(*id).is_some());
    }

    /// Refuses what would touch a slice of another controller.
    fn permit(&self, asker: &Asker<'_>, set: &SliceSet, command: &SliceCommand) -> Result<(), Refusal> {
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
            let whose = "algorithm, sharing and the first slice are the default controller's, for all UEs";
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

    fn ues_are_there(&self, asker: &Asker<'_>, command: &SliceCommand) -> Result<(), Refusal> {
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

impl<C: SliceControl> Obeys for Station<C> {
    type Model = SliceModel;

    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> SliceIndication {
        self.control.report(now, ues)
    }

    fn obey(&mut self, now: Time, asker: &Asker<'_>, command: SliceCommand) -> Result<Progress, Refusal> {
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
