//! Exchange of requests and responses between a check and the UPF. The UPF's own requests are answered in the meantime.
use std::time::{Duration, Instant};

use ranlab_upf::pfcp::*;

use super::upf::Peer;
use crate::load::LoadError;
use ranlab_lab::check::{CaseFailure, Outcome, fails};
use ranlab_lab::worker::ComponentError;

fn is_answer(kind: u8) -> bool {
    matches!(kind, 2 | 4 | 6 | 8 | 10 | 11 | 13 | 15 | 51 | 53 | 55 | 57)
}

impl Peer {
    /// Sends a raw message. Returns the response with this sequence number, or `None` after a timeout.
    pub(super) fn ask_raw(&mut self, octets: &[u8], sequence: u32) -> Result<Option<Vec<u8>>, CaseFailure> {
        self.n4.send_raw(octets).map_err(LoadError::from)?;
        let end = Instant::now() + self.run.config.patience;
        while Instant::now() < end {
            if let Some(answer) = self.receive(Some(sequence))? {
                let established = Response::read(&answer).and_then(|response| response.up_seid);
                let own = Header::read(&answer).ok().and_then(|(header, ..)| header.seid);
                if let (Some(seid), Some(own)) = (established, own) {
                    self.named.push((own, seid));
                    self.sessions.extend((!self.sessions.contains(&seid)).then_some(seid));
                }
                return Ok(Some(answer));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(None)
    }

    /// Answers pending requests of the UPF.
    pub(super) fn listen(&mut self) -> Outcome {
        self.receive(None).map(drop)
    }

    /// Returns the response with this sequence number, if it has arrived. Also answers the UPF's requests, and stores its session reports.
    fn receive(&mut self, sequence: Option<u32>) -> Result<Option<Vec<u8>>, CaseFailure> {
        let mut unread = std::mem::take(&mut self.unread);
        self.n4.receive_raw(&mut |datagram| unread.push_back(datagram.to_vec())).map_err(LoadError::from)?;
        self.unread = unread;
        while let Some(datagram) = self.unread.pop_front() {
            match Header::read(&datagram) {
                Ok((header, ..)) if Some(header.sequence) == sequence && is_answer(header.message_type) => {
                    return Ok(Some(datagram));
                }
                Ok((header, ..)) if header.message_type == message_type::HEARTBEAT_REQUEST => {
                    let recovery_time_stamp = RecoveryTimeStamp(self.run.recovery.get());
                    let response = HeartbeatResponse { recovery_time_stamp, ..Default::default() };
                    self.answer(response, None, header.sequence)?;
                }
                Ok((header, ..)) if header.message_type == message_type::SESSION_REPORT_REQUEST => {
                    self.take_report(&datagram)?;
                }
                _ => {}
            }
        }
        Ok(None)
    }

    fn answer(&mut self, message: impl Into<Message>, seid: Option<u64>, sequence: u32) -> Outcome {
        let octets =
            encode(message, seid, sequence).map_err(|error| CaseFailure::Fails(error.to_string()))?;
        self.n4.send_raw(&octets).map_err(LoadError::from)?;
        Ok(())
    }

    fn take_report(&mut self, datagram: &[u8]) -> Outcome {
        let Ok((Pdu { header, message: Message::SessionReportRequest(report) }, _)) = decode(datagram) else {
            return fails("a session report cannot be read");
        };
        let upf_seid =
            self.named.iter().find(|(own, _)| Some(*own) == header.seid).map_or(0, |(_, upf)| *upf);
        let response = SessionReportResponse { cause: Cause::ACCEPTED, ..Default::default() };
        self.reported.push(report);
        self.answer(response, Some(upf_seid), header.sequence)
    }

    /// Returns whether the UPF responds at all: to a heartbeat, to a request for an unknown session, or to an
    /// association setup.
    pub(super) fn is_answered(&mut self) -> Result<bool, ComponentError> {
        let recovery_time_stamp = RecoveryTimeStamp(self.run.recovery.get());
        for _ in 0..2 {
            let tries: [(Message, Option<u64>); 3] = [
                (HeartbeatRequest { recovery_time_stamp, ..Default::default() }.into(), None),
                (SessionDeletionRequest::default().into(), Some(0x7fff_ffff_ffff_0002)),
                (self.setup().into(), None),
            ];
            for (message, seid) in tries {
                let sets_up = seid.is_none() && matches!(message, Message::AssociationSetupRequest(_));
                match self.ask(message, seid) {
                    Err(CaseFailure::Trouble(trouble)) => return Err(trouble),
                    Ok(None) => {}
                    _ => {
                        self.associated |= sets_up;
                        self.leave()?;
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}
