//! Decodes responses in place. Only the fields that are needed to find the request and to continue are read.
//!
//! This module reads only the usual elements. For a message with other elements (usage reports, failed rules, vendor-specific elements,
//! faults), [`Response::read`] returns `None`, and [`decode`](super::decode) must be used. Tests ensure that both decoders agree.
use super::{Cause, FTeid, Header, IeValue, Ies, PdrId, Reader, message_type};

/// Response to a session request or a heartbeat, with borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub struct Response<'a> {
    /// Type of the message; see [`message_type`].
    pub message_type: u8,
    /// SEID of the requester's session.
    pub seid: Option<u64>,
    /// Sequence number of the request.
    pub sequence: u32,
    /// Cause of the response. `None` in a heartbeat response.
    pub cause: Option<Cause>,
    /// SEID that the user plane assigned to the established session.
    pub up_seid: Option<u64>,
    /// Tunnels that the user plane chose for the rules.
    pub created_pdrs: CreatedPdrs<'a>,
}

impl<'a> Response<'a> {
    /// Decodes a response. Returns `None` if it requires the general decoder.
    pub fn read(datagram: &'a [u8]) -> Option<Self> {
        let (header, elements, _) = Header::read(datagram).ok()?;
        if Header::needs_seid(header.message_type) != header.seid.is_some() {
            return None;
        }
        let mut response = Self {
            message_type: header.message_type,
            seid: header.seid,
            sequence: header.sequence,
            cause: None,
            up_seid: None,
            created_pdrs: CreatedPdrs { ies: Ies::new(elements) },
        };
        match header.message_type {
            message_type::SESSION_ESTABLISHMENT_RESPONSE => {
                response.walk(elements, &[60, 19, 57, 8, 40], true)?;
                if response.cause?.is_accepted() && response.up_seid.is_none() {
                    return None;
                }
            }
            message_type::SESSION_MODIFICATION_RESPONSE => response.walk(elements, &[19, 8, 40], false)?,
            message_type::SESSION_DELETION_RESPONSE => response.walk(elements, &[19, 40], false)?,
            message_type::HEARTBEAT_RESPONSE => {
                let mut ies = Ies::new(elements);
                let (96, [_, _, _, _]) = ies.next()?.ok()? else { return None };
                return ies.next().is_none().then_some(response);
            }
            _ => return None,
        }
        response.cause.is_some().then_some(response)
    }

    /// Reads the elements. Each type must be in `usual`, and may occur once, except for Created PDR.
    fn walk(&mut self, elements: &[u8], usual: &[u16], node_id: bool) -> Option<()> {
        let mut seen_node_id = !node_id;
        let mut seen_offending = false;
        for element in Ies::new(elements) {
            let (number, value) = element.ok()?;
            if !usual.contains(&number) {
                return None;
            }
            let fresh = match number {
                60 => match value {
                    [kind, _, _, _, _] if kind & 0x0f == 0 => !std::mem::replace(&mut seen_node_id, true),
                    [kind, rest @ ..] if kind & 0x0f == 1 && rest.len() == 16 => {
                        !std::mem::replace(&mut seen_node_id, true)
                    }
                    _ => return None,
                },
                19 => self.cause.replace(Cause(*value.first()?)).is_none(),
                57 => self.up_seid.replace(seid(value)?).is_none(),
                40 => value.len() == 2 && !std::mem::replace(&mut seen_offending, true),
                _ => {
                    created_tunnel(value)?;
                    true
                }
            };
            if !fresh {
                return None;
            }
        }
        seen_node_id.then_some(())
    }
}

/// Returns header and cause of a refusal, even if other elements are absent. Some user planes omit the Node ID and all later elements.
/// Returns `None` for any other message.
pub fn refusal(datagram: &[u8]) -> Option<(Header, Cause)> {
    let (header, elements, _) = Header::read(datagram).ok()?;
    let cause = Ies::new(elements).flatten().find(|(number, _)| *number == 19)?.1;
    let cause = Cause(*cause.first()?);
    (!cause.is_accepted()).then_some((header, cause))
}

/// Tunnels that the user plane chose, in the order of the message.
#[derive(Debug, Clone, Copy)]
pub struct CreatedPdrs<'a> {
    ies: Ies<'a>,
}

/// A rule and the tunnel that the user plane chose for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreatedTunnel {
    /// Id of the rule.
    pub pdr_id: PdrId,
    /// Tunnel of the rule.
    pub f_teid: Option<FTeid>,
}

impl Iterator for CreatedPdrs<'_> {
    type Item = CreatedTunnel;

    fn next(&mut self) -> Option<CreatedTunnel> {
        loop {
            if let (8, value) = self.ies.next()?.ok()? {
                return created_tunnel(value);
            }
        }
    }
}

fn created_tunnel(value: &[u8]) -> Option<CreatedTunnel> {
    let mut pdr_id = None;
    let mut f_teid = None;
    for element in Ies::new(value) {
        let fresh = match element.ok()? {
            (56, [a, b]) => pdr_id.replace(PdrId(u16::from_be_bytes([*a, *b]))).is_none(),
            (21, value) => f_teid.replace(FTeid::take(&mut Reader::new(value)).ok()?).is_none(),
            _ => false,
        };
        if !fresh {
            return None;
        }
    }
    Some(CreatedTunnel { pdr_id: pdr_id?, f_teid })
}

/// Returns the SEID of a complete F-SEID.
fn seid(value: &[u8]) -> Option<u64> {
    let (flags, rest) = value.split_first()?;
    let addresses = match flags & 3 {
        1 => 16,
        2 => 4,
        3 => 20,
        _ => return None,
    };
    let (seid, rest) = rest.split_first_chunk()?;
    (rest.len() >= addresses).then_some(u64::from_be_bytes(*seid))
}
