//! SMFs that come, prove that they live, start anew, and go.
use super::{Association, Reply, Upf, UpfEvent, UpfOutput};
use crate::Time;
use crate::n4::dialect::Purges;
use crate::n4::ledger::{Done, Kind};
use ranlab_wire::pfcp::*;
use std::net::SocketAddr;

impl Upf {
    pub(super) fn heartbeats(&mut self, now: Time) {
        let Some((interval, _)) = self.settings.dialect.demands.heartbeat else { return };
        let due = self.associations.iter_mut().filter(|(_, a)| a.next_heartbeat.is_some_and(|at| at <= now));
        let due: Vec<SocketAddr> = due
            .map(|(peer, association)| {
                association.next_heartbeat = Some(now + interval);
                *peer
            })
            .collect();
        let recovery_time_stamp = RecoveryTimeStamp(self.settings.recovery_time_stamp);
        for peer in due {
            let request = HeartbeatRequest { recovery_time_stamp, ..Default::default() };
            self.ask(now, peer, 0, Kind::Heartbeat, request.into(), None);
        }
    }

    /// A heartbeat or report of ours that was given up.
    pub(super) fn unanswered(&mut self, done: Done<(SocketAddr, u64)>) {
        if done.kind != Kind::Heartbeat {
            self.outputs.push_back(UpfOutput::Event(UpfEvent::Reported(done)));
            return;
        }
        let peer = done.about.0;
        let Some(association) = self.associations.get_mut(&peer) else { return };
        association.unanswered = association.unanswered.saturating_add(1);
        let patience = self.settings.dialect.demands.heartbeat.map_or(u8::MAX, |(_, retries)| retries);
        if association.unanswered >= patience {
            self.release(peer);
        }
    }

    pub(super) fn associate(
        &mut self,
        now: Time,
        from: SocketAddr,
        request: &AssociationSetupRequest,
    ) -> Reply {
        let known = self.associations.contains_key(&from);
        let room = known || self.associations.len() < self.settings.max_associations;
        let demands = self.settings.dialect.demands;
        if room {
            let standing = match demands.purges {
                Purges::Standard => {
                    self.delete_all(from);
                    None
                }
                _ => self.associations.get(&from).map(|standing| standing.recovery),
            };
            let recovery = standing.unwrap_or(request.recovery_time_stamp);
            let next_heartbeat = demands.heartbeat.map(|(interval, _)| now + interval);
            self.associations.insert(from, Association { recovery, next_heartbeat, unanswered: 0 });
            self.outputs.push_back(UpfOutput::Event(UpfEvent::Associated(from)));
        } else {
            self.counters.refused += 1;
        }
        let chooses = if demands.chooses_teid { UpFunctionFeatures::FTUP } else { 0 };
        let response = AssociationSetupResponse {
            node_id: self.settings.node.into(),
            cause: if room { Cause::ACCEPTED } else { Cause::NO_RESOURCES },
            recovery_time_stamp: RecoveryTimeStamp(self.settings.recovery_time_stamp),
            up_function_features: Some(UpFunctionFeatures::new(UpFunctionFeatures::EMPU | chooses)),
            ..Default::default()
        };
        Reply::Message(response.into(), None)
    }

    /// An SMF that has started anew knows no session: its sessions go, if the dialect minds.
    pub(super) fn note_recovery(&mut self, peer: SocketAddr, recovery: RecoveryTimeStamp) {
        let Some(association) = self.associations.get_mut(&peer) else { return };
        let before = std::mem::replace(&mut association.recovery, recovery);
        let purges = match self.settings.dialect.demands.purges {
            Purges::Standard => before != recovery,
            Purges::NewerHeartbeat => before < recovery,
            Purges::Never => false,
        };
        if purges {
            self.delete_all(peer);
        }
    }

    pub(super) fn release(&mut self, peer: SocketAddr) {
        if self.associations.remove(&peer).is_some() {
            let sessions = self.delete_all(peer);
            self.outputs.push_back(UpfOutput::Event(UpfEvent::Released(peer, sessions)));
        }
    }
}
