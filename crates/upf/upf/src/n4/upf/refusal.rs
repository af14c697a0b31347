//! Rejections of requests that cannot be decoded, with the offending element.
use super::Upf;
use crate::Time;
use crate::pfcp::*;
use std::net::SocketAddr;

impl Upf {
    /// Rejects a request that cannot be decoded.
    pub(super) fn refuse(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: Header,
        cause: Cause,
        offending: Option<u16>,
    ) {
        self.counters.requests += 1;
        self.counters.refused += 1;
        let offending_ie = offending.filter(|ie_type| *ie_type != 0).map(OffendingIe);
        let node_id: NodeId = self.settings.node.into();
        let seid = header.seid.map(|seid| self.cp_seid(seid));
        let recovery_time_stamp = RecoveryTimeStamp(self.settings.recovery_time_stamp);
        let message: Message = match header.message_type {
            message_type::HEARTBEAT_REQUEST => {
                HeartbeatResponse { recovery_time_stamp, ..Default::default() }.into()
            }
            message_type::PFD_MANAGEMENT_REQUEST => {
                PfdManagementResponse { cause, offending_ie, ..Default::default() }.into()
            }
            message_type::ASSOCIATION_SETUP_REQUEST => {
                AssociationSetupResponse { node_id, cause, recovery_time_stamp, ..Default::default() }.into()
            }
            message_type::ASSOCIATION_UPDATE_REQUEST => {
                AssociationUpdateResponse { node_id, cause, ..Default::default() }.into()
            }
            message_type::ASSOCIATION_RELEASE_REQUEST => {
                AssociationReleaseResponse { node_id, cause, ..Default::default() }.into()
            }
            message_type::SESSION_SET_DELETION_REQUEST => {
                SessionSetDeletionResponse { node_id, cause, offending_ie, ..Default::default() }.into()
            }
            message_type::SESSION_ESTABLISHMENT_REQUEST => {
                SessionEstablishmentResponse { node_id, cause, offending_ie, ..Default::default() }.into()
            }
            message_type::SESSION_MODIFICATION_REQUEST => {
                SessionModificationResponse { cause, offending_ie, ..Default::default() }.into()
            }
            message_type::SESSION_DELETION_REQUEST => {
                SessionDeletionResponse { cause, offending_ie, ..Default::default() }.into()
            }
            _ => return,
        };
        let seid = Header::needs_seid(message.message_type()).then(|| seid.unwrap_or(0));
        self.reply(now, from, header.sequence, message, seid);
    }
}
