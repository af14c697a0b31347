//! Requests with the content of a capture.
use super::{Place, Refused, SessionId, Smf, State};
use crate::Time;
use crate::n4::ledger::Kind;
use crate::pfcp::*;

impl Smf {
    /// Requests a session with these rules. Node ID and CP F-SEID are replaced by those of this SMF.
    ///
    /// # Errors
    /// The request cannot be sent now, or does not fit into a datagram.
    pub fn establish_recorded(
        &mut self,
        now: Time,
        intended: Time,
        mut request: SessionEstablishmentRequest,
    ) -> Result<SessionId, Refused> {
        let (index, generation) = self.next_place()?;
        let id = SessionId::new(generation, index);
        request.node_id = self.settings.node.into();
        request.cp_f_seid = FSeid { seid: id.0, addresses: self.settings.node.into() };
        let mut out = self.recorded(request, 0)?;
        let sequence = self.requests.begin(now, intended, Kind::Establishment, Some(id))?;
        number(&mut out, sequence);
        self.occupy(index, Place { generation, state: State::Establishing });
        self.send(sequence, out);
        Ok(id)
    }

    /// Requests this change of a session. Node ID and CP F-SEID, where present, are replaced by those of this SMF.
    ///
    /// # Errors
    /// The request cannot be sent now, or does not fit into a datagram.
    pub fn modify_recorded(
        &mut self,
        now: Time,
        intended: Time,
        id: SessionId,
        mut request: SessionModificationRequest,
    ) -> Result<(), Refused> {
        let Some(State::Live(up_seid)) = self.state(id) else { return Err(Refused::Session(id)) };
        request.node_id = request.node_id.map(|_| self.settings.node.into());
        let own = FSeid { seid: id.0, addresses: self.settings.node.into() };
        request.cp_f_seid = request.cp_f_seid.map(|_| own);
        let mut out = self.recorded(request, up_seid)?;
        let (sequence, _) = self.begin_about(now, intended, Kind::Modification, id)?;
        number(&mut out, sequence);
        self.send(sequence, out);
        Ok(())
    }

    /// Provisions applications. The Node ID, where present, is replaced by that of this SMF.
    ///
    /// # Errors
    /// The request cannot be sent now.
    pub fn provision(&mut self, now: Time, mut request: PfdManagementRequest) -> Result<(), Refused> {
        if !self.associated {
            return Err(Refused::NotAssociated);
        }
        request.node_id = request.node_id.map(|_| self.settings.node.into());
        // The request was recorded from one datagram, so it fits into one.
        self.ask(now, Kind::Association, request)
    }

    fn recorded(&mut self, request: impl Into<Message>, seid: u64) -> Result<Vec<u8>, Refused> {
        let mut out = self.buffer();
        match Pdu::new(request, Some(seid), 0).encode(&mut out) {
            Ok(()) => Ok(out),
            Err(_) => {
                self.recycle(out);
                Err(Refused::TooLong)
            }
        }
    }
}

/// Writes the sequence number of a session message.
fn number(out: &mut [u8], sequence: u32) {
    let at = SESSION_HEADER_LEN - 4;
    if let Some(room) = out.get_mut(at..at + 3) {
        room.copy_from_slice(&sequence.to_be_bytes()[1..]);
    }
}
