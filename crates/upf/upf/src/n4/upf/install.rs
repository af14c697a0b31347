//! Establishes sessions: rules, tunnels, UE address.
use super::addresses;
use super::elements;
use super::{DataPlane, Upf};
use crate::n4::mix::{PLACE_BITS, Teid};
use crate::n4::rules::{RuleFault, Session};
use crate::pfcp::*;
use std::net::SocketAddr;

impl Upf {
    pub(super) fn install(
        &mut self,
        from: SocketAddr,
        mut request: SessionEstablishmentRequest,
        plane: &mut dyn DataPlane,
    ) -> Result<(u64, Vec<CreatedPdr>), RuleFault> {
        let demands = self.settings.dialect.demands;
        if !self.is_associated(&request.node_id, from.ip()) {
            return Err(Cause::NO_ASSOCIATION.into());
        }
        if self.sessions() >= self.settings.max_sessions {
            return Err(Cause::NO_RESOURCES.into());
        }
        let instances = request.create_pdrs.iter().filter_map(|pdr| pdr.pdi.network_instance.as_ref());
        if demands.labels && instances.into_iter().any(|name| *name == NetworkName::text(&name.name())) {
            return Err(Cause::NO_RESOURCES.into());
        }
        elements::check_establishment(&request)?;
        let chosen = self.choose_address(&mut request)?;
        let installed = self.install_rules(from, request, plane);
        if let (Err(_), Some(address)) = (&installed, chosen) {
            self.addresses.give_back(address);
        }
        let (seid, mut created) = installed?;
        if let (Some(address), Some(session)) = (chosen, self.sessions.get(&seid)) {
            addresses::report_chosen(session, address, &mut created);
        }
        Ok((seid, created))
    }

    fn install_rules(
        &mut self,
        from: SocketAddr,
        request: SessionEstablishmentRequest,
        plane: &mut dyn DataPlane,
    ) -> Result<(u64, Vec<CreatedPdr>), RuleFault> {
        let mut session = Session::establish(request, from.ip(), &self.settings.dialect.demands)?;
        self.resolve_applications(&mut session)?;
        plane.check(&session)?;
        self.check_addresses(None, &session)?;
        let seid = self.seids.next();
        let created = self.take_tunnels(seid, &mut session)?;
        self.seids.take();
        self.addresses.take(addresses::keys(&session).map(|(key, _)| key), seid);
        self.sessions.insert(seid, session);
        Ok((seid, created))
    }

    /// Assigns TEIDs if the SMF requests this. Rejects a TEID of 0, and TEIDs of other sessions.
    pub(super) fn take_tunnels(
        &mut self,
        seid: u64,
        session: &mut Session,
    ) -> Result<Vec<CreatedPdr>, RuleFault> {
        for pdr in &session.pdrs {
            // The TEID of user packets is never 0 (TS 29.281 §5.1).
            if let Some(FTeid::Assigned { teid, .. }) = pdr.pdi.f_teid
                && (teid == 0 || self.tunnels.get(&Teid(teid)).is_some_and(|owner| *owner != seid))
            {
                let failed = Some(FailedRuleId::Pdr(pdr.pdr_id));
                return Err(RuleFault { cause: Cause::RULE_FAILURE, failed });
            }
        }
        let mut created = Vec::new();
        let mut shared: Vec<(u8, FTeid)> = Vec::new();
        for pdr in &mut session.pdrs {
            if let Some(FTeid::Choose { id, .. }) = pdr.pdi.f_teid {
                let same = shared.iter().find(|(other, _)| Some(*other) == id).map(|(_, f_teid)| *f_teid);
                let place = created.is_empty().then_some(seid);
                let f_teid = same.unwrap_or_else(|| {
                    let teid = self.free_teid(place);
                    let addresses = self.settings.n3.into();
                    FTeid::Assigned { teid, addresses }
                });
                shared.extend(id.map(|id| (id, f_teid)));
                pdr.pdi.f_teid = Some(f_teid);
                created.push(CreatedPdr { pdr_id: pdr.pdr_id, f_teid: Some(f_teid), ..Default::default() });
            }
        }
        self.tunnels.extend(session.uplink_teids().map(|teid| (Teid(teid), seid)));
        Ok(created)
    }

    /// Returns a TEID that no session has. It is never 0, which is reserved for error indications. The first TEID of a session is its
    /// place, with the number of uses of the place in the upper bits. It therefore repeats after 2,048 uses. Further TEIDs are counted up.
    pub(super) fn free_teid(&mut self, first_of: Option<u64>) -> u32 {
        if let Some(seid) = first_of
            && (seid as u32) < 1 << PLACE_BITS
        {
            let teid = ((seid >> 32) as u32) << PLACE_BITS | seid as u32;
            if !self.tunnels.contains_key(&Teid(teid)) {
                return teid;
            }
        }
        loop {
            let teid = self.next_teid;
            self.next_teid = self.next_teid.wrapping_add(1).max(1);
            // There are far fewer sessions than TEIDs, so the loop ends.
            if !self.tunnels.contains_key(&Teid(teid)) {
                return teid;
            }
        }
    }
}
