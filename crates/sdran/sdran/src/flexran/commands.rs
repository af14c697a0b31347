//! Commands of a controller: code, policies and decisions for the downlink scheduler, slices, and UEs in slices.
use super::agent::FlexranAgent;
use super::report;
use super::template::Replies;
use crate::agent::{AgentEvent, AgentOutput};
use crate::flexran::protocol::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_machine::support::Element;

impl FlexranAgent {
    /// Reports the outcome of a command. Commands of the published controllers have no transaction number, and get no response. Commands of
    /// this project's controller have one, and get the outcome in an [`AgentReconfiguration`], which controllers otherwise send to agents.
    fn done(&mut self, header: Option<&Header>, ended: Result<(), Refusal>) {
        let refused = ended.err().map(|why| why.detail);
        if let Some(why) = &refused {
            self.counters.refused_commands += 1;
            self.outputs.push_back(AgentOutput::Event(AgentEvent::Refused(why.clone())));
        }
        if let Some(xid) = header.and_then(|header| header.xid).filter(|xid| *xid != 0) {
            let direction = if refused.is_some() { Direction::Unsuccessful } else { Direction::Successful };
            let header = Some(Header::new(Kind::ReconfigureAgent, xid));
            let answer = AgentReconfiguration { header, policy: refused, ..AgentReconfiguration::default() };
            self.send(Some(direction), answer, None);
        }
    }

    /// Refuses a message because of one of its elements. If only agents may send the message, it is a fault of the controller.
    pub(super) fn refuse(&mut self, message: &Message, element: &Element) {
        match message {
            Message::EchoReply(_)
            | Message::StatsReply(_)
            | Message::SfTrigger(_)
            | Message::UlSrInfo(_)
            | Message::LcConfigReply(_)
            | Message::UeStateChange(_) => {
                self.fault("the controller sent a message that only agents may send".to_owned())
            }
            _ => {
                self.counters.commands += 1;
                let what = format!("the base station does not support {element}");
                self.done(message.header(), Err(Refusal::new(Reason::NotSupported, what)));
            }
        }
    }

    pub(super) fn delegation(&mut self, push: ControlDelegation) {
        let ControlDelegation { header, payload, name, .. } = push;
        let payload = payload.unwrap_or_default();
        let Some(steering) = &mut self.steering else {
            self.counters.discarded_bytes += payload.len() as u64;
            return;
        };
        let ended = steering.push(name.as_deref().unwrap_or_default(), &payload);
        // An emulated base station does not run pushed code. It only stores the name.
        self.counters.discarded_bytes += payload.len() as u64;
        self.done(header.as_ref(), ended);
    }

    /// Applies another behaviour of the downlink scheduler, or another set of slices.
    pub(super) fn policy(&mut self, change: AgentReconfiguration) {
        self.counters.commands += 1;
        let ues: Vec<u16> = self.ues.iter().map(|(rnti, _)| rnti).collect();
        let Some(steering) = &mut self.steering else { return };
        let ended = match report::policy_of(&change) {
            Ok(policy) => steering.apply(&policy, &ues),
            Err(why) => Err(why),
        };
        self.done(change.header.as_ref(), ended);
    }

    /// Applies the allocations of a subframe.
    pub(super) fn decision(&mut self, config: &DlMacConfig) {
        self.counters.commands += 1;
        let Some(steering) = &mut self.steering else { return };
        let ended = steering.decide(config);
        self.counters.decisions += u64::from(ended.is_ok());
        self.done(config.header.as_ref(), ended);
    }

    /// Sends a trigger for a new subframe to the controller, if the controller schedules subframes.
    pub(super) fn trigger(&mut self) {
        let Some(steering) = self.steering.as_mut().filter(|_| self.connected) else { return };
        if let Some(sfn_sf) = steering.trigger() {
            self.counters.triggers += 1;
            let header = Some(Header::new(Kind::SfTrigger, 0));
            self.send(None, SfTrigger { header, sfn_sf: Some(sfn_sf), ..SfTrigger::default() }, None);
        }
    }

    /// Configures the cell. Mosaic5G 2.x uses the message that reports a cell for this purpose.
    pub(super) fn reconfigure(&mut self, reply: &EnbConfigReply) {
        self.counters.commands += 1;
        let Some(cell) = reply.cell_config.first() else { return };
        if let Some(refusal) = self.beyond_cell(reply) {
            return self.done(reply.header.as_ref(), Err(refusal));
        }
        self.replies = Replies::Changed;
        let mut control = self.control.clone();
        let set = match control.configure(cell) {
            Ok(set) => set,
            Err(what) => return self.fault(what),
        };
        let sliced = control.downlink().filter(|_| cell.slice_config.is_some());
        let ended = match (&mut self.steering, sliced) {
            (Some(steering), Some(sliced)) => steering.slice(sliced),
            _ => Ok(()),
        };
        if ended.is_ok() {
            self.control = control;
            let set = set.into_iter().map(|(slice, rbgs)| AgentEvent::Slice { slice, rbgs });
            self.outputs.extend(set.map(AgentOutput::Event));
        }
        self.done(reply.header.as_ref(), ended);
    }

    /// Returns a refusal if a configuration has more than one cell, or slices of the uplink.
    fn beyond_cell(&self, reply: &EnbConfigReply) -> Option<Refusal> {
        let refusal = |what| Some(Refusal::new(Reason::NotSupported, what));
        let uplink = reply.cell_config.iter().filter_map(|cell| cell.slice_config.as_ref()?.ul.as_ref());
        if reply.cell_config.len() > 1 {
            return refusal("the base station has only one cell");
        }
        // Without a radio, slices are only stored and reported.
        if self.steering.is_some() && uplink.into_iter().any(|uplink| !uplink.slices.is_empty()) {
            return refusal("the cell supports slices only in the downlink");
        }
        None
    }

    /// Applies a UE configuration. Mosaic5G 2.x uses the message that reports UEs for this purpose.
    pub(super) fn associate(&mut self, reply: &UeConfigReply) {
        self.counters.commands += 1;
        self.replies = Replies::Changed;
        if self.steering.is_some() {
            let ended = self.associate_in_cell(reply);
            return self.done(reply.header.as_ref(), ended);
        }
        for config in &reply.ue_config {
            let rnti = config.rnti.and_then(|rnti| u16::try_from(rnti).ok());
            let done = match rnti.filter(|rnti| self.ues.get(*rnti).is_some()) {
                Some(rnti) => self.control.associate(rnti, config),
                None => Err("the configuration is for an unknown UE".to_owned()),
            };
            if let Err(what) = done {
                self.fault(what);
            }
        }
    }

    fn associate_in_cell(&mut self, reply: &UeConfigReply) -> Result<(), Refusal> {
        let Some(steering) = &mut self.steering else { return Ok(()) };
        let mut control = self.control.clone();
        let mut ues = Vec::new();
        for config in &reply.ue_config {
            let rnti = config.rnti.and_then(|rnti| u16::try_from(rnti).ok());
            let Some(rnti) = rnti.filter(|rnti| self.ues.get(*rnti).is_some()) else {
                return Err(Refusal::new(Reason::UnknownUe, "the configuration is for an unknown UE"));
            };
            control.associate(rnti, config).map_err(|why| Refusal::new(Reason::UnknownSlice, why))?;
            ues.extend(config.dl_slice_id.map(|slice| (rnti, slice)));
        }
        steering.associate(&ues)?;
        self.control = control;
        Ok(())
    }

    /// Requests the handover of a UE to another cell. The driver of the agent executes it.
    pub(super) fn handover(&mut self, command: HoCommand) {
        let rnti = command.rnti.and_then(|rnti| u16::try_from(rnti).ok());
        let target = command.target_phy_cell_id.and_then(|pci| u16::try_from(pci).ok());
        match (rnti, target) {
            (Some(rnti), Some(target_pci)) if self.ues.get(rnti).is_some() => {
                self.leaving.extend(command.header.map(|header| (rnti, header)));
                let event = AgentEvent::Handover { rnti, target_station: None, target_pci };
                self.outputs.push_back(AgentOutput::Event(event));
            }
            _ => {
                let what = "the controller sent a handover command without a known UE or target";
                self.fault(what.to_owned());
                self.done(command.header.as_ref(), Err(Refusal::new(Reason::UnknownUe, what)));
            }
        }
    }

    /// Reports the outcome of a handover.
    pub(super) fn handed_over(&mut self, rnti: u16, refusal: Option<Refusal>) {
        let header = self.leaving.remove(&rnti);
        self.done(header.as_ref(), refusal.map_or(Ok(()), Err));
    }
}
