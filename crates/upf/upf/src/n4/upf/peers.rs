//! Associations: setup, heartbeats, restart and release of SMFs.
use super::elements;
use super::{Association, Reply, Upf, UpfEvent, UpfOutput};
use crate::Time;
use crate::n4::dialect::AssociationReset;
use crate::n4::ledger::{Kind, RequestEnd};
use crate::n4::rules::Session;
use crate::pfcp::*;
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};

/// IE type of Session Retention Information (TS 29.244 §8.2.133). It announces that the SMF keeps its sessions across the setup.
const SESSION_RETENTION_INFORMATION: u16 = 183;
/// IE type of PFCPASRsp-Flags (§8.2.134). The first bit reports that the sessions were retained.
const AS_RSP_FLAGS: u16 = 184;

fn sessions_retained() -> RawIe {
    RawIe { ie_type: AS_RSP_FLAGS, value: Bytes::from_static(&[1]) }
}

impl Upf {
    /// Returns the UP Function Features that follow from the supported elements and from the settings.
    fn features(&self) -> UpFunctionFeatures {
        let of_elements = elements::features(&self.settings.dialect.demands);
        let chooses = if self.settings.ue_pool.is_some() { UpFunctionFeatures::UEIP } else { 0 };
        UpFunctionFeatures::new(of_elements.bits() | chooses)
    }

    pub(super) fn heartbeats(&mut self, now: Time) {
        let Some((interval, _)) = self.settings.dialect.demands.heartbeat else { return };
        let due_peers =
            self.associations.iter_mut().filter(|(_, a)| a.next_heartbeat.is_some_and(|at| at <= now));
        let due_peers: Vec<SocketAddr> = due_peers
            .map(|(_, association)| {
                association.next_heartbeat = Some(now + interval);
                SocketAddr::new(association.address, self.settings.smf_port)
            })
            .collect();
        let recovery_time_stamp = RecoveryTimeStamp(self.settings.recovery_time_stamp);
        for peer in due_peers {
            let request = HeartbeatRequest { recovery_time_stamp, ..Default::default() };
            self.ask(now, peer, 0, Kind::Heartbeat, request.into(), None);
        }
    }

    /// Processes the timeout of a heartbeat or report that the UPF has sent.
    pub(super) fn unanswered(&mut self, done: RequestEnd<(SocketAddr, u64)>) {
        if done.kind != Kind::Heartbeat {
            self.outputs.push_back(UpfOutput::Event(UpfEvent::Reported(done)));
            return;
        }
        let address = done.about.0.ip();
        let Some((node, association)) = self.associations.iter_mut().find(|(_, a)| a.address == address)
        else {
            return;
        };
        association.unanswered = association.unanswered.saturating_add(1);
        let patience = self.settings.dialect.demands.heartbeat.map_or(u8::MAX, |(_, retries)| retries);
        if association.unanswered >= patience {
            let node = node.clone();
            self.release(&node);
        }
    }

    /// Returns the address for requests to an SMF.
    pub(super) fn smf_address(&self, address: IpAddr) -> SocketAddr {
        SocketAddr::new(address, self.settings.smf_port)
    }

    /// Returns whether an SMF with this Node ID is associated at this IP address. The port does not matter.
    pub(super) fn is_associated(&self, node: &NodeId, address: IpAddr) -> bool {
        self.associations.get(node).is_some_and(|association| association.address == address)
    }

    pub(super) fn if_associated(&mut self, node: &NodeId) -> Cause {
        if self.associations.contains_key(node) {
            Cause::ACCEPTED
        } else {
            self.counters.refused += 1;
            Cause::NO_ASSOCIATION
        }
    }

    /// Deletes the sessions of the sets that a Session Set Deletion Request names (§7.4.6.1).
    pub(super) fn delete_sets(&mut self, request: &SessionSetDeletionRequest) -> Reply {
        let mut cause = self.if_associated(&request.node_id);
        let mut offending_ie = None;
        if request.fq_csids.is_empty() && cause.is_accepted() {
            self.counters.refused += 1;
            cause = Cause::CONDITIONAL_IE_MISSING;
            offending_ie = Some(OffendingIe(65));
        }
        if cause.is_accepted() {
            self.delete_where(|session| {
                session.node == request.node_id && session.is_in_set(&request.fq_csids)
            });
        }
        let node_id = self.settings.node.into();
        let response = SessionSetDeletionResponse { node_id, cause, offending_ie, ..Default::default() };
        Reply::Message(response.into(), None)
    }

    /// Deletes the sessions of an SMF. Returns their number.
    pub(super) fn delete_all(&mut self, node: &NodeId) -> usize {
        self.delete_where(|session| session.node == *node)
    }

    fn delete_where(&mut self, is_meant: impl Fn(&Session) -> bool) -> usize {
        let meant = self.sessions.iter().filter(|(_, session)| is_meant(session));
        let mut seids: Vec<u64> = meant.map(|(seid, _)| *seid).collect();
        seids.extend(self.alike.with_shape(is_meant));
        seids.sort_unstable();
        for seid in &seids {
            self.forget(*seid);
        }
        seids.len()
    }

    pub(super) fn associate(
        &mut self,
        now: Time,
        from: SocketAddr,
        request: &AssociationSetupRequest,
    ) -> Reply {
        let node = &request.node_id;
        let known = self.associations.contains_key(node);
        let room = known || self.associations.len() < self.settings.max_associations;
        let demands = self.settings.dialect.demands;
        let retains = known && request.others.iter().any(|ie| ie.ie_type == SESSION_RETENTION_INFORMATION);
        if room {
            let standing = match demands.purges {
                AssociationReset::Standard if retains => None,
                AssociationReset::Standard => {
                    self.delete_all(node);
                    None
                }
                _ => self.associations.get(node).map(|standing| standing.recovery),
            };
            let recovery = standing.unwrap_or(request.recovery_time_stamp);
            let next_heartbeat = demands.heartbeat.map(|(interval, _)| now + interval);
            let association = Association { address: from.ip(), recovery, next_heartbeat, unanswered: 0 };
            self.associations.insert(node.clone(), association);
            self.outputs.push_back(UpfOutput::Event(UpfEvent::Associated(from)));
        } else {
            self.counters.refused += 1;
        }
        let response = AssociationSetupResponse {
            node_id: self.settings.node.into(),
            cause: if room { Cause::ACCEPTED } else { Cause::NO_RESOURCES },
            recovery_time_stamp: RecoveryTimeStamp(self.settings.recovery_time_stamp),
            up_function_features: Some(self.features()),
            others: if retains { vec![sessions_retained()] } else { Vec::new() },
            ..Default::default()
        };
        Reply::Message(response.into(), None)
    }

    /// Processes the recovery time stamp of an SMF. A restarted SMF has lost its sessions. The UPF deletes them if the dialect requires it.
    pub(super) fn note_recovery(&mut self, address: IpAddr, recovery: RecoveryTimeStamp) {
        let mut here = self.associations.iter_mut().filter(|(_, association)| association.address == address);
        // A heartbeat has no Node ID. If several SMFs have the same address, the sender is unknown.
        let (Some((node, association)), None) = (here.next(), here.next()) else { return };
        let before = std::mem::replace(&mut association.recovery, recovery);
        let purges = match self.settings.dialect.demands.purges {
            AssociationReset::Standard => before != recovery,
            AssociationReset::NewerHeartbeat => before < recovery,
            AssociationReset::Never => false,
        };
        if purges {
            let node = node.clone();
            self.delete_all(&node);
        }
    }

    pub(super) fn release(&mut self, node: &NodeId) {
        if let Some(association) = self.associations.remove(node) {
            let sessions = self.delete_all(node);
            let smf = self.smf_address(association.address);
            self.outputs.push_back(UpfOutput::Event(UpfEvent::Released(smf, sessions)));
        }
    }
}
