//! Rules of a session at the user plane. A request either creates, changes and removes all of its rules, or none of them.
use super::dialect::UpfRequirements;
use crate::pfcp::*;
use std::net::IpAddr;
use std::sync::Arc;

/// Maximum number of rules of one kind in a session.
pub(super) const MAX_RULES: usize = 64;

/// Id of the usage rule that detects inactivity. The id is from the range that the user plane assigns (TS 29.244 §8.2.54).
pub const INACTIVITY: UrrId = UrrId(u32::MAX);

/// Direction of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Direction from the base station to the data network.
    Uplink,
    /// Direction from the data network to the base station.
    Downlink,
}

/// Session, as described by the SMF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// SEID and addresses of the SMF for the session.
    pub cp_f_seid: FSeid,
    /// Node ID of the SMF that established the session.
    pub node: NodeId,
    /// Source address of the establishment.
    pub peer: IpAddr,
    /// Session sets that the session belongs to.
    pub fq_csids: Vec<FqCsid>,
    /// Packet detection rules.
    pub pdrs: Vec<CreatePdr>,
    /// Forwarding action rules.
    pub fars: Vec<CreateFar>,
    /// Usage reporting rules.
    pub urrs: Vec<CreateUrr>,
    /// QoS enforcement rules.
    pub qers: Vec<CreateQer>,
    /// Buffering action rule.
    pub bar: Option<CreateBar>,
    /// IP versions of the UE.
    pub pdn_type: Option<PdnType>,
    /// Applications that the rules name, with their flow descriptions.
    pub applications: Vec<Arc<ApplicationPfds>>,
}

/// Reason why rules were rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleFault {
    /// Cause that the response contains.
    pub cause: Cause,
    /// Rule that caused the rejection.
    pub failed: Option<FailedRuleId>,
}

fn failed(rule: FailedRuleId) -> RuleFault {
    RuleFault { cause: Cause::RULE_FAILURE, failed: Some(rule) }
}

impl From<Cause> for RuleFault {
    fn from(cause: Cause) -> Self {
        Self { cause, failed: None }
    }
}

impl Session {
    pub(super) fn establish(
        request: SessionEstablishmentRequest,
        peer: IpAddr,
        demands: &UpfRequirements,
    ) -> Result<Self, RuleFault> {
        let mut session = Self {
            cp_f_seid: request.cp_f_seid,
            node: request.node_id,
            peer,
            fq_csids: request.fq_csids,
            pdrs: Vec::new(),
            fars: Vec::new(),
            urrs: Vec::new(),
            qers: Vec::new(),
            bar: request.create_bar,
            pdn_type: request.pdn_type,
            applications: Vec::new(),
        };
        session.urrs = request.create_urrs;
        session.qers = request.create_qers;
        session.fars = request.create_fars;
        session.pdrs = request.create_pdrs;
        session.check(demands)?;
        session.watch_inactivity(request.inactivity_timer);
        Ok(session)
    }

    /// Returns the changed session. `self` is unchanged on an error.
    pub(super) fn modified(
        &self,
        request: SessionModificationRequest,
        demands: &UpfRequirements,
    ) -> Result<Self, RuleFault> {
        let mut next = self.clone();
        next.remove(&request)?;
        next.pdrs.extend(request.create_pdrs);
        next.fars.extend(request.create_fars);
        next.urrs.extend(request.create_urrs);
        next.qers.extend(request.create_qers);
        next.bar = request.create_bar.or(next.bar);
        for update in request.update_pdrs {
            next.update_pdr(update)?;
        }
        for update in request.update_fars {
            next.update_far(update)?;
        }
        for update in request.update_urrs {
            next.update_urr(update)?;
        }
        for update in request.update_qers {
            next.update_qer(update)?;
        }
        if let Some(update) = request.update_bar {
            let missing = failed(FailedRuleId::Bar(update.bar_id));
            let bar = next.bar.as_mut().filter(|bar| bar.bar_id == update.bar_id).ok_or(missing)?;
            bar.notification_delay = update.notification_delay.or(bar.notification_delay);
            bar.suggested_packet_count = update.suggested_packet_count.or(bar.suggested_packet_count);
        }
        next.cp_f_seid = request.cp_f_seid.unwrap_or(next.cp_f_seid);
        next.check(demands)?;
        next.watch_inactivity(request.inactivity_timer);
        Ok(next)
    }

    /// Makes all detection rules count packets for the inactivity timer (TS 29.244 §5.11.3). `timer` replaces the timer. A timer of 0 is
    /// removed.
    fn watch_inactivity(&mut self, timer: Option<Seconds>) {
        let is_watch = |urr: &CreateUrr| urr.urr_id == INACTIVITY;
        if let Some(timer) = timer {
            self.urrs.retain(|urr| !is_watch(urr));
            self.urrs.extend((timer.0 > 0).then(|| CreateUrr {
                urr_id: INACTIVITY,
                quota_holding_time: Some(timer),
                ..CreateUrr::default()
            }));
        }
        let watches = self.urrs.iter().any(is_watch);
        for pdr in &mut self.pdrs {
            pdr.urr_ids.retain(|id| *id != INACTIVITY);
            pdr.urr_ids.extend(watches.then_some(INACTIVITY));
        }
    }

    fn remove(&mut self, request: &SessionModificationRequest) -> Result<(), RuleFault> {
        for gone in &request.remove_pdrs {
            take(&mut self.pdrs, |r| r.pdr_id == gone.pdr_id, FailedRuleId::Pdr(gone.pdr_id))?;
        }
        for gone in &request.remove_fars {
            take(&mut self.fars, |r| r.far_id == gone.far_id, FailedRuleId::Far(gone.far_id))?;
        }
        // References to removed rules are removed from detection rules, so that removed rules no longer count or police packets.
        for gone in &request.remove_urrs {
            take(&mut self.urrs, |r| r.urr_id == gone.urr_id, FailedRuleId::Urr(gone.urr_id))?;
            self.pdrs.iter_mut().for_each(|pdr| pdr.urr_ids.retain(|id| *id != gone.urr_id));
        }
        for gone in &request.remove_qers {
            take(&mut self.qers, |r| r.qer_id == gone.qer_id, FailedRuleId::Qer(gone.qer_id))?;
            self.pdrs.iter_mut().for_each(|pdr| pdr.qer_ids.retain(|id| *id != gone.qer_id));
        }
        if let Some(gone) = &request.remove_bar {
            let bar = self.bar.take().filter(|bar| bar.bar_id == gone.bar_id);
            bar.ok_or_else(|| failed(FailedRuleId::Bar(gone.bar_id)))?;
        }
        Ok(())
    }

    fn update_pdr(&mut self, update: UpdatePdr) -> Result<(), RuleFault> {
        let missing = failed(FailedRuleId::Pdr(update.pdr_id));
        let pdr = self.pdrs.iter_mut().find(|pdr| pdr.pdr_id == update.pdr_id).ok_or(missing)?;
        pdr.outer_header_removal = update.outer_header_removal.or(pdr.outer_header_removal);
        pdr.precedence = update.precedence.unwrap_or(pdr.precedence);
        pdr.far_id = update.far_id.or(pdr.far_id);
        pdr.pdi = update.pdi.unwrap_or_else(|| std::mem::take(&mut pdr.pdi));
        if !update.urr_ids.is_empty() {
            pdr.urr_ids = update.urr_ids;
        }
        if !update.qer_ids.is_empty() {
            pdr.qer_ids = update.qer_ids;
        }
        Ok(())
    }

    fn update_far(&mut self, update: UpdateFar) -> Result<(), RuleFault> {
        let missing = failed(FailedRuleId::Far(update.far_id));
        let far = self.fars.iter_mut().find(|far| far.far_id == update.far_id).ok_or(missing)?;
        far.apply_action = update.apply_action.unwrap_or(far.apply_action);
        far.bar_id = update.bar_id.or(far.bar_id);
        if let Some(change) = update.update_forwarding_parameters {
            let way = far.forwarding_parameters.get_or_insert_default();
            way.destination_interface = change.destination_interface.unwrap_or(way.destination_interface);
            way.network_instance = change.network_instance.or_else(|| way.network_instance.take());
            way.outer_header_creation = change.outer_header_creation.or(way.outer_header_creation);
            way.transport_level_marking = change.transport_level_marking.or(way.transport_level_marking);
            way.destination_interface_type =
                change.destination_interface_type.or(way.destination_interface_type);
        }
        Ok(())
    }

    fn update_urr(&mut self, update: UpdateUrr) -> Result<(), RuleFault> {
        let missing = failed(FailedRuleId::Urr(update.urr_id));
        let urr = self.urrs.iter_mut().find(|urr| urr.urr_id == update.urr_id).ok_or(missing)?;
        update.change(urr);
        Ok(())
    }

    fn update_qer(&mut self, update: UpdateQer) -> Result<(), RuleFault> {
        let missing = failed(FailedRuleId::Qer(update.qer_id));
        let qer = self.qers.iter_mut().find(|qer| qer.qer_id == update.qer_id).ok_or(missing)?;
        update.change(qer);
        Ok(())
    }

    /// Checks that identifiers are unique, that references exist, that the number of rules is within limits, and that requested features
    /// are available.
    fn check(&self, demands: &UpfRequirements) -> Result<(), RuleFault> {
        for (at, pdr) in self.pdrs.iter().enumerate() {
            let fault = failed(FailedRuleId::Pdr(pdr.pdr_id));
            let known = pdr.far_id.is_none_or(|id| self.fars.iter().any(|far| far.far_id == id))
                && pdr.urr_ids.iter().all(|id| self.urrs.iter().any(|urr| urr.urr_id == *id))
                && pdr.qer_ids.iter().all(|id| self.qers.iter().any(|qer| qer.qer_id == *id));
            if !known || at >= MAX_RULES || self.pdrs[..at].iter().any(|other| other.pdr_id == pdr.pdr_id) {
                return Err(fault);
            }
            if matches!(pdr.pdi.f_teid, Some(FTeid::Choose { .. })) && !demands.chooses_teid {
                return Err(Cause::INVALID_F_TEID_ALLOCATION.into());
            }
            if pdr.pdi.ue_ip_addresses.iter().any(|ue| ue.choose_v4 || ue.choose_v6) {
                return Err(Cause::SERVICE_NOT_SUPPORTED.into());
            }
        }
        unique(&self.fars, |far| far.far_id, FailedRuleId::Far)?;
        unique(&self.urrs, |urr| urr.urr_id, FailedRuleId::Urr)?;
        unique(&self.qers, |qer| qer.qer_id, FailedRuleId::Qer)
    }

    /// Returns whether requests about the session may come from this address. Allowed are the source of the establishment, and the SMF's
    /// address in CP F-SEID. The port does not matter (TS 29.244 §4.2.2).
    pub fn is_owned_by(&self, address: IpAddr) -> bool {
        let Addresses { v4, v6 } = self.cp_f_seid.addresses;
        address == self.peer || v4.map(IpAddr::from) == Some(address) || v6.map(IpAddr::from) == Some(address)
    }

    /// Returns the address for requests to the SMF about the session, in IPv4 or IPv6. If CP F-SEID has no address of this version, it is
    /// the source of the establishment.
    pub fn report_address(&self, ipv4: bool) -> IpAddr {
        let Addresses { v4, v6 } = self.cp_f_seid.addresses;
        let same = if ipv4 { v4.map(IpAddr::from) } else { v6.map(IpAddr::from) };
        same.unwrap_or(self.peer)
    }

    /// Returns whether one of these sets contains the session.
    pub fn is_in_set(&self, sets: &[FqCsid]) -> bool {
        let holds = |set: &FqCsid, own: &FqCsid| {
            set.node == own.node && own.csids.iter().any(|csid| set.csids.contains(csid))
        };
        sets.iter().any(|set| self.fq_csids.iter().any(|own| holds(set, own)))
    }

    /// Returns whether a forwarding rule sends downlink packets into this tunnel.
    pub fn sends_into(&self, teid: u32, peer: IpAddr) -> bool {
        let headers =
            self.fars.iter().filter_map(|far| far.forwarding_parameters.as_ref()?.outer_header_creation);
        headers.into_iter().any(|header| {
            let Addresses { v4, v6 } = header.addresses;
            header.teid == Some(teid)
                && (v4.map(IpAddr::from) == Some(peer) || v6.map(IpAddr::from) == Some(peer))
        })
    }

    /// Returns the uplink TEIDs of the session.
    pub fn uplink_teids(&self) -> impl Iterator<Item = u32> {
        self.pdrs.iter().filter_map(|pdr| match pdr.pdi.f_teid {
            Some(FTeid::Assigned { teid, .. }) => Some(teid),
            _ => None,
        })
    }

    /// Returns the forwarding rule of the first detection rule (by precedence) of a direction.
    pub fn far(&self, direction: Direction) -> Option<&CreateFar> {
        self.pdr(direction)?.far_id.and_then(|id| self.fars.iter().find(|far| far.far_id == id))
    }

    /// Returns the first detection rule (by precedence) of a direction.
    pub fn pdr(&self, direction: Direction) -> Option<&CreatePdr> {
        let source = match direction {
            Direction::Uplink => Interface::ACCESS,
            Direction::Downlink => Interface::CORE,
        };
        let rules = self.pdrs.iter().filter(|pdr| pdr.pdi.source_interface == source);
        rules.min_by_key(|pdr| pdr.precedence)
    }

    /// Returns whether a user plane with these demands forwards packets of a direction. It may accept rules and not
    /// forward.
    pub fn forwards(&self, direction: Direction, demands: &UpfRequirements) -> bool {
        let Some(far) = self.far(direction) else { return false };
        let way = far.forwarding_parameters.as_ref();
        let forwards = far.apply_action.contains(ApplyAction::FORW);
        forwards
            && match direction {
                Direction::Uplink => {
                    !demands.interface_type || way.is_some_and(|way| way.destination_interface_type.is_some())
                }
                Direction::Downlink => {
                    (!demands.pdn_type || self.pdn_type.is_some())
                        && way.is_some_and(|way| way.outer_header_creation.is_some())
                }
            }
    }
}

fn take<R>(rules: &mut Vec<R>, is_it: impl Fn(&R) -> bool, name: FailedRuleId) -> Result<(), RuleFault> {
    let at = rules.iter().position(is_it).ok_or_else(|| failed(name))?;
    rules.remove(at);
    Ok(())
}

fn unique<R, I: PartialEq + Copy>(
    rules: &[R],
    id: impl Fn(&R) -> I,
    name: impl Fn(I) -> FailedRuleId,
) -> Result<(), RuleFault> {
    for (at, rule) in rules.iter().enumerate() {
        if at >= MAX_RULES || rules[..at].iter().any(|other| id(other) == id(rule)) {
            return Err(failed(name(id(rule))));
        }
    }
    Ok(())
}
