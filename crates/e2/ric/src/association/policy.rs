//! Derives association controls from the policy, one pending control per E2 node.
use super::{Association, StationUnit, Waiting};
use crate::northbound::Fault;
use ranlab_e2::Time;
use ranlab_e2::ric::IAppOutbox;
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::association::AssociationCommand;

/// Association control for an E2 node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnitCommand {
    /// Connect to a controller.
    Give(String),
    /// Expose the UE with this RNTI to the controller.
    Show(u16, String),
    /// Hide the UE with this RNTI from the controller.
    Hide(u16, String),
}

impl UnitCommand {
    /// Returns the RNTI that this step concerns, if any.
    pub(super) fn rnti(&self) -> Option<u16> {
        match self {
            Self::Give(_) => None,
            Self::Show(rnti, _) | Self::Hide(rnti, _) => Some(*rnti),
        }
    }

    pub(super) fn address(&self) -> &str {
        match self {
            Self::Give(address) | Self::Show(_, address) | Self::Hide(_, address) => address,
        }
    }

    fn command(&self) -> AssociationCommand {
        let address = self.address().to_owned();
        match *self {
            Self::Give(_) => AssociationCommand::AddController { address },
            // The RNTI identifies a UE at both CU and DU (TS 38.473 §8.4.1).
            Self::Show(rnti, _) => AssociationCommand::Associate { ue: rnti.into(), address },
            Self::Hide(rnti, _) => AssociationCommand::Dissociate { ue: rnti.into(), address },
        }
    }
}

impl Association {
    /// Sends the next control to an E2 node, unless one is pending.
    pub(super) fn go_on(&mut self, now: Time, id: GlobalE2NodeId, out: &mut IAppOutbox) {
        while let Some((step, function)) = self.next_step(&id) {
            let message = step.command().encode().into();
            let sent = self.commands.send_octets(id, function, message, Waiting::Policy(id), out);
            let Some(part) = self.parts.get_mut(&id) else { return };
            match sent {
                Ok(()) => {
                    part.under_way = Some((step, true));
                    return;
                }
                Err(fault) => {
                    part.refused.insert(step, fault.detail().to_owned());
                    self.retry_later(now, out);
                }
            }
        }
    }

    /// Returns the next step for an E2 node and the RAN function that takes it.
    fn next_step(&mut self, id: &GlobalE2NodeId) -> Option<(UnitCommand, u16)> {
        let part = self.parts.get_mut(id)?;
        let function = part.function.filter(|_| part.connected && part.under_way.is_none())?;
        while let Some(rnti) = part.look.first().copied() {
            let ue = self.ues.get(id, rnti);
            let rule = ue.and_then(|ue| self.rules.iter().find(|rule| rule.choice.fits(ue)));
            let allowed = rule.map_or(&[][..], |rule| &rule.controllers);
            if let Some(step) = part.step(rnti, allowed) {
                return Some((step, function));
            }
            part.look.remove(&rnti);
        }
        None
    }

    /// Applies the outcome of the pending control.
    pub(super) fn ended(
        &mut self,
        now: Time,
        id: GlobalE2NodeId,
        ended: Result<(), Fault>,
        out: &mut IAppOutbox,
    ) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        let Some((step, is_same)) = part.under_way.take() else { return };
        match ended {
            Ok(()) => part.done(step, is_same),
            // The E2 node does not know the controller, so the UE is already hidden from this controller.
            Err(fault) if fault.reason().is_some() && matches!(step, UnitCommand::Hide(..)) => {
                part.done(step, is_same);
            }
            Err(fault) => {
                part.look.extend(step.rnti().filter(|_| !is_same));
                if is_same {
                    part.refused.insert(step, fault.detail().to_owned());
                    self.retry_later(now, out);
                }
            }
        }
        self.go_on(now, id, out);
    }

    /// Forgets a controller that an E2 node has disconnected from.
    pub(super) fn parted(&mut self, id: &GlobalE2NodeId, address: &str) {
        let Some(part) = self.parts.get_mut(id) else { return };
        part.given.remove(address);
        part.seen.values_mut().for_each(|by| {
            by.remove(address);
        });
        part.doubtful.retain(|(_, known)| known != address);
        part.refused.retain(|step, _| step.address() != address);
    }
}

impl StationUnit {
    /// Returns the next step towards exposing a UE to exactly the controllers in `allowed`.
    fn step(&self, rnti: u16, allowed: &[String]) -> Option<UnitCommand> {
        let seen = self.seen.get(&rnti).into_iter().flatten();
        let doubtful = self.doubtful.range((rnti, String::new())..).take_while(|(other, _)| *other == rnti);
        let hide = (seen.chain(doubtful.map(|(_, address)| address)))
            .filter(|address| !allowed.contains(address))
            .map(|address| UnitCommand::Hide(rnti, address.clone()));
        let show = allowed.iter().filter_map(|address| {
            let is_sure = !self.doubtful.contains(&(rnti, address.clone()));
            if is_sure && self.seen.get(&rnti).is_some_and(|by| by.contains(address)) {
                return None;
            }
            Some(match self.given.contains(address) {
                true => UnitCommand::Show(rnti, address.clone()),
                false => UnitCommand::Give(address.clone()),
            })
        });
        hide.chain(show).find(|step| !self.refused.contains_key(step))
    }

    fn done(&mut self, step: UnitCommand, is_same: bool) {
        match step {
            // After a reconnect the E2 node may have lost the connection; the step is then repeated.
            UnitCommand::Give(address) => {
                if is_same {
                    self.given.insert(address);
                }
            }
            UnitCommand::Show(rnti, address) | UnitCommand::Hide(rnti, address) if !is_same => {
                self.doubtful.insert((rnti, address));
                self.look.insert(rnti);
            }
            UnitCommand::Show(rnti, address) => {
                self.doubtful.remove(&(rnti, address.clone()));
                self.seen.entry(rnti).or_default().insert(address);
            }
            UnitCommand::Hide(rnti, address) => {
                if let Some(by) = self.seen.get_mut(&rnti) {
                    by.remove(&address);
                }
                self.doubtful.remove(&(rnti, address));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATOR: &str = "tcp://192.0.2.1:36421";

    fn unit_after(step: UnitCommand) -> StationUnit {
        let given = [OPERATOR.to_owned()].into();
        StationUnit { under_way: Some((step, true)), given, ..StationUnit::default() }
    }

    /// The response to a control for a UE that has left does not apply to the next UE with the same RNTI.
    #[test]
    fn late_response_after_rnti_reuse_is_uncertain() {
        let allowed = [OPERATOR.to_owned()];
        let nobody = [];
        for step in [UnitCommand::Show(2, OPERATOR.into()), UnitCommand::Hide(2, OPERATOR.into())] {
            let mut part = unit_after(step.clone());
            part.another(2);
            let (step, is_same) = part.under_way.take().unwrap();
            part.done(step, is_same);
            assert!(part.look.contains(&2));
            assert_eq!(part.step(2, &nobody), Some(UnitCommand::Hide(2, OPERATOR.into())));
            assert_eq!(part.step(2, &allowed), Some(UnitCommand::Show(2, OPERATOR.into())));
            let step = part.step(2, &nobody).unwrap();
            part.done(step, true);
            assert_eq!(part.step(2, &nobody), None);
        }
        // If the RNTI is not reused, the confirmed state counts.
        let mut part = unit_after(UnitCommand::Show(2, OPERATOR.into()));
        part.another(3);
        let (step, is_same) = part.under_way.take().unwrap();
        part.done(step, is_same);
        assert_eq!((part.step(2, &allowed), part.step(3, &nobody)), (None, None));
    }
}
