//! Recognises sessions that differ from an earlier one in a few fields, and handles them without decoding.
//!
//! An SMF's requests differ from each other in a few fields. The first request of a kind is decoded and carried out. Its bytes and its
//! result are stored as a *shape*. If a later request has the same bytes except for these fields, decoding would yield the same rules with
//! other numbers. The request is therefore answered from the shape. Any other request about such a session first converts it to an ordinary
//! session ([`Upf::make_ordinary`]). Tests compare both paths, response by response.
use super::addresses::v4_key;
use super::seids::place;
use super::{Upf, UpfEvent, UpfOutput};
use crate::Time;
use crate::n4::mix::Teid;
use crate::n4::rules::Session;
use crate::pfcp::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;

/// Maximum number of shapes of each kind. If it is reached, requests of further shapes are decoded.
pub const MAX_SHAPES: usize = 64;

/// Bytes of a message, some of which may differ between requests.
#[derive(Debug)]
struct MaskedOctets {
    octets: Vec<u8>,
    fixed: Vec<Range<usize>>,
}

impl MaskedOctets {
    fn new(octets: &[u8], mut free: Vec<Range<usize>>) -> Self {
        free.sort_by_key(|range| range.start);
        let mut fixed = Vec::new();
        let mut at = 0;
        for range in free {
            fixed.push(at..range.start);
            at = range.end;
        }
        fixed.push(at..octets.len());
        Self { octets: octets.to_vec(), fixed }
    }

    fn fits(&self, datagram: &[u8]) -> bool {
        datagram.len() == self.octets.len()
            && self.fixed.iter().all(|range| datagram[range.clone()] == self.octets[range.clone()])
    }
}

/// Position of the sequence number in a session message of any shape.
const SEQUENCE: Range<usize> = SESSION_HEADER_LEN - 4..SESSION_HEADER_LEN - 1;
const SEID: Range<usize> = SEID_AT..SEID_AT + 8;

/// Shape of an establishment, with its result.
#[derive(Debug)]
struct RequestShape {
    pattern: MaskedOctets,
    cp_seid: Slot,
    /// Position of the TEID, if the SMF chooses it.
    teid: Option<Slot>,
    ue: [Slot; 2],
    session: Session,
    answer: Template,
    answer_seid: Slot,
    answer_teid: Option<Slot>,
}

/// Shape of a modification that sets the downlink tunnel.
#[derive(Debug)]
struct ChangeShape {
    pattern: MaskedOctets,
    teid: Slot,
    peer: Slot,
    update: UpdateFar,
    end_marker: bool,
    answer: Template,
}

/// Session that is described by a shape and a few numbers.
#[derive(Debug, Clone, Copy)]
struct TemplateSession {
    seid: u64,
    peer: IpAddr,
    cp_seid: u64,
    teid: u32,
    ue: Ipv4Addr,
    shape: usize,
    /// Shape of the last change, and the downlink tunnel that it has set.
    change: Option<(usize, u32, Ipv4Addr)>,
}

/// Shapes, and the sessions that are described by a shape.
#[derive(Debug, Default)]
pub(super) struct ShapeCache {
    shapes: Vec<RequestShape>,
    changes: Vec<ChangeShape>,
    deletion: Option<Template>,
    /// Sessions indexed by place; see [`Seids`](super::seids::Seids).
    places: Vec<Option<TemplateSession>>,
    live: usize,
}

impl ShapeCache {
    pub(super) fn len(&self) -> usize {
        self.live
    }

    fn get(&self, seid: u64) -> Option<&TemplateSession> {
        self.places.get(place(seid)?)?.as_ref().filter(|light| light.seid == seid)
    }

    fn insert(&mut self, light: TemplateSession) {
        let Some(at) = place(light.seid) else { return };
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        self.live += usize::from(self.places[at].replace(light).is_none());
    }

    fn remove(&mut self, seid: u64) -> Option<TemplateSession> {
        let light = *self.get(seid)?;
        self.places[place(seid)?] = None;
        self.live -= 1;
        Some(light)
    }

    /// Returns the sessions whose prototype satisfies `is_meant`.
    pub(super) fn with_shape(&self, is_meant: impl Fn(&Session) -> bool) -> Vec<u64> {
        let meant: Vec<bool> = self.shapes.iter().map(|shape| is_meant(&shape.session)).collect();
        let lights = self.places.iter().flatten();
        lights.filter(|light| meant.get(light.shape) == Some(&true)).map(|light| light.seid).collect()
    }

    /// Returns the session that sends into this tunnel.
    pub(super) fn by_downlink_tunnel(&self, teid: u32, peer: IpAddr) -> Option<u64> {
        let into = |light: &&TemplateSession| match light.change {
            Some((_, own, at)) => own == teid && IpAddr::V4(at) == peer,
            None => self.shapes.get(light.shape).is_some_and(|shape| shape.session.sends_into(teid, peer)),
        };
        self.places.iter().flatten().find(into).map(|light| light.seid)
    }

    pub(super) fn prototype(&self, shape: usize) -> Option<&Session> {
        self.shapes.get(shape).map(|shape| &shape.session)
    }

    pub(super) fn cp_seid(&self, seid: u64) -> Option<u64> {
        self.get(seid).map(|light| light.cp_seid)
    }

    /// Removes a session. Returns its uplink TEID and the address of its UE.
    pub(super) fn forget(&mut self, seid: u64) -> Option<(u32, Ipv4Addr)> {
        self.remove(seid).map(|light| (light.teid, light.ue))
    }
}

fn number<const N: usize>(slot: &Slot, datagram: &[u8]) -> Option<[u8; N]> {
    slot.field(datagram)?.try_into().ok()
}

impl Upf {
    /// Carries out a request of a known shape. If the shape is unknown, has no effect and returns `false`.
    pub(super) fn quick(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> bool {
        let Some(head) = datagram.first_chunk::<SESSION_HEADER_LEN>() else { return false };
        let sequence = u32::from_be_bytes([0, head[12], head[13], head[14]]);
        let seid = head[SEID].try_into().map_or(0, u64::from_be_bytes);
        if self.held.find(now, from, sequence).is_some() {
            return false;
        }
        let mut out = self.spare.pop().unwrap_or_default();
        let done = match head[1] {
            message_type::SESSION_ESTABLISHMENT_REQUEST => {
                self.quick_establish(from, datagram, sequence, &mut out)
            }
            message_type::SESSION_MODIFICATION_REQUEST => {
                self.quick_modify(from, datagram, sequence, seid, &mut out)
            }
            message_type::SESSION_DELETION_REQUEST => {
                self.quick_delete(from, datagram, sequence, seid, &mut out)
            }
            _ => None,
        };
        if done.is_none() {
            self.recycle(out);
            return false;
        }
        self.counters.requests += 1;
        self.held.hold(now, from, sequence, &out);
        self.outputs.push_back(UpfOutput::Send(from, out));
        true
    }

    fn quick_establish(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        sequence: u32,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let at = self.alike.shapes.iter().position(|shape| shape.pattern.fits(datagram))?;
        let shape = &self.alike.shapes[at];
        let cp_seid = u64::from_be_bytes(number(&shape.cp_seid, datagram)?);
        let ue: [u8; 4] = number(&shape.ue[0], datagram)?;
        let wished = match &shape.teid {
            Some(slot) => Some(u32::from_be_bytes(number(slot, datagram)?)),
            None => None,
        };
        // The general path determines the error.
        if number(&shape.ue[1], datagram) != Some(ue)
            || wished.is_some_and(|teid| self.tunnels.contains_key(&Teid(teid)))
            || self.addresses.has(v4_key(ue.into()))
            || !self.is_associated(&shape.session.node, from.ip())
            || self.sessions() >= self.settings.max_sessions
        {
            return None;
        }
        let next = self.seids.next();
        let teid = wished.unwrap_or_else(|| self.free_teid(Some(next)));
        let seid = self.seids.take();
        self.tunnels.insert(Teid(teid), seid);
        let shape = &self.alike.shapes[at];
        shape.answer.write(cp_seid, sequence, out);
        let _fits = shape.answer_seid.put(out, &seid.to_be_bytes())
            && shape.answer_teid.is_none_or(|slot| slot.put(out, &teid.to_be_bytes()));
        let ue = Ipv4Addr::from(ue);
        let light = TemplateSession { seid, peer: from.ip(), cp_seid, teid, ue, shape: at, change: None };
        self.alike.insert(light);
        self.addresses.take([v4_key(ue)].into_iter(), seid);
        let event = UpfEvent::EstablishedAlike { seid, shape: at, teid, ue };
        self.outputs.push_back(UpfOutput::Event(event));
        Some(())
    }

    fn quick_modify(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        sequence: u32,
        seid: u64,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let ShapeCache { shapes, changes, places, .. } = &mut self.alike;
        let light = places.get_mut(place(seid)?)?.as_mut();
        let light = light.filter(|light| light.seid == seid && light.peer == from.ip())?;
        let at = changes.iter().position(|change| change.pattern.fits(datagram))?;
        let change = &changes[at];
        // The change must only concern the downlink. It must also set everything that an earlier change has set.
        let session = &shapes.get(light.shape)?.session;
        let pdrs = &session.pdrs;
        let far = Some(change.update.far_id);
        let same = |before: usize| before == at || effect(&changes[before].update) == effect(&change.update);
        if pdrs[0].far_id == far || pdrs[1].far_id != far || light.change.is_some_and(|(was, ..)| !same(was))
        {
            return None;
        }
        let teid = u32::from_be_bytes(number(&change.teid, datagram)?);
        let peer = Ipv4Addr::from(number::<4>(&change.peer, datagram)?);
        let before = light.change.replace((at, teid, peer));
        let before =
            before.map(|(_, teid, peer)| OuterHeaderCreation::gtpu(teid, peer.into())).or_else(|| {
                // The previous tunnel was set by the establishment. It is the same for all sessions of the shape.
                let far = session.fars.iter().find(|own| Some(own.far_id) == far)?;
                far.forwarding_parameters.as_ref()?.outer_header_creation
            });
        let left = before.filter(|_| change.end_marker);
        change.answer.write(light.cp_seid, sequence, out);
        let event = UpfEvent::Redirected { seid, teid, peer, left };
        self.outputs.push_back(UpfOutput::Event(event));
        Some(())
    }

    fn quick_delete(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        sequence: u32,
        seid: u64,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        const BARE: [u8; 4] = [0x21, message_type::SESSION_DELETION_REQUEST, 0, 12];
        if datagram.len() != SESSION_HEADER_LEN || datagram[..4] != BARE {
            return None;
        }
        let light = self.alike.get(seid).filter(|light| light.peer == from.ip())?;
        let cp_seid = light.cp_seid;
        let teid = light.teid;
        let ue = light.ue;
        if self.alike.deletion.is_none() {
            let response = SessionDeletionResponse { cause: Cause::ACCEPTED, ..Default::default() };
            self.alike.deletion = Template::new(response).ok();
        }
        self.alike.deletion.as_ref()?.write(cp_seid, sequence, out);
        self.alike.remove(seid);
        self.tunnels.remove(&Teid(teid));
        self.addresses.give([v4_key(ue)].into_iter(), seid);
        self.seids.give(seid);
        self.outputs.push_back(UpfOutput::Event(UpfEvent::Deleted(seid)));
        Some(())
    }

    /// Converts a session to an ordinary one, with separate rules.
    pub(super) fn make_ordinary(&mut self, seid: u64) {
        let Some(light) = self.alike.remove(seid) else { return };
        let ShapeCache { shapes, changes, .. } = &self.alike;
        let Some(shape) = shapes.get(light.shape) else { return };
        let mut session = shape.session.clone();
        session.cp_f_seid.seid = light.cp_seid;
        session.peer = light.peer;
        for pdr in &mut session.pdrs {
            if let Some(FTeid::Assigned { teid, .. }) = &mut pdr.pdi.f_teid {
                *teid = light.teid;
            }
            for ue in &mut pdr.pdi.ue_ip_addresses {
                ue.addresses.v4 = Some(light.ue);
            }
        }
        if let Some((at, teid, peer)) = light.change {
            let mut update = changes[at].update.clone();
            if let Some(way) = &mut update.update_forwarding_parameters {
                way.outer_header_creation = Some(OuterHeaderCreation::gtpu(teid, IpAddr::V4(peer)));
            }
            let request = SessionModificationRequest { update_fars: vec![update], ..Default::default() };
            // The modification cannot fail: it was accepted when its shape was learnt, and depends on no other state.
            if let Ok(next) = session.modified(request, &self.settings.dialect.demands) {
                session = next;
            }
        }
        self.sessions.insert(seid, session);
    }

    /// Learns the shape of a request that the general path has accepted.
    pub(super) fn learn(&mut self, datagram: &[u8], seid: u64) {
        let Some(template) = Template::from_datagram(datagram) else { return };
        match datagram[1] {
            message_type::SESSION_ESTABLISHMENT_REQUEST if self.alike.shapes.len() < MAX_SHAPES => {
                let session = self.sessions.get(&self.seids.last());
                let shape = session.and_then(|session| self.shape(&template, session));
                self.alike.shapes.extend(shape);
            }
            message_type::SESSION_MODIFICATION_REQUEST if self.alike.changes.len() < MAX_SHAPES => {
                let change = self.sessions.get(&seid).and_then(|_| change_shape(&template));
                self.alike.changes.extend(change);
            }
            _ => {}
        }
    }

    fn shape(&self, template: &Template, session: &Session) -> Option<RequestShape> {
        let [up, down] = &session.pdrs[..] else { return None };
        let of_v4 = |pdr: &CreatePdr| match &pdr.pdi.ue_ip_addresses[..] {
            [ue] => ue.addresses.v4.is_some() && ue.addresses.v6.is_none(),
            _ => false,
        };
        let plain = up.pdi.source_interface == Interface::ACCESS
            && down.pdi.source_interface == Interface::CORE
            && matches!(up.pdi.f_teid, Some(FTeid::Assigned { .. }))
            && down.pdi.f_teid.is_none()
            && of_v4(up)
            && of_v4(down)
            && session.urrs.is_empty()
            && session.bar.is_none()
            && session.applications.is_empty()
            && session.fars.iter().all(|far| !far.apply_action.contains(ApplyAction::BUFF));
        if !plain {
            return None;
        }
        let cp_seid = template.slot(&[(57, 0)], Part::Seid)?;
        let teid = template.slot(&[(1, 0), (2, 0), (21, 0)], Part::Teid);
        let ue_at = |pdr| template.slot(&[(1, pdr), (2, 0), (93, 0)], Part::V4);
        let ue = [ue_at(0)?, ue_at(1)?];
        let mut free = vec![SEQUENCE, cp_seid.range(), ue[0].range(), ue[1].range()];
        free.extend(teid.map(|slot| slot.range()));
        let node = self.settings.node;
        let chosen = CreatedPdr { pdr_id: up.pdr_id, f_teid: up.pdi.f_teid, ..Default::default() };
        let answer = SessionEstablishmentResponse {
            node_id: node.into(),
            cause: Cause::ACCEPTED,
            up_f_seid: Some(FSeid { seid: 0, addresses: node.into() }),
            created_pdrs: if teid.is_none() { vec![chosen] } else { Vec::new() },
            ..Default::default()
        };
        let answer = Template::new(answer).ok()?;
        let answer_teid = answer.slot(&[(8, 0), (21, 0)], Part::Teid);
        (answer_teid.is_some() != teid.is_some()).then_some(())?;
        Some(RequestShape {
            pattern: MaskedOctets::new(template.octets(), free),
            cp_seid,
            teid,
            ue,
            session: session.clone(),
            answer_seid: answer.slot(&[(57, 0)], Part::Seid)?,
            answer_teid,
            answer,
        })
    }
}

/// Returns the effect of a change, without its tunnel and end markers.
fn effect(update: &UpdateFar) -> UpdateFar {
    let mut effect = update.clone();
    if let Some(way) = &mut effect.update_forwarding_parameters {
        way.outer_header_creation = None;
        way.sm_req_flags = None;
    }
    effect
}

fn change_shape(template: &Template) -> Option<ChangeShape> {
    let (pdu, _) = decode(template.octets()).ok()?;
    let Message::SessionModificationRequest(request) = pdu.message else { return None };
    let [update] = &request.update_fars[..] else { return None };
    let alone = SessionModificationRequest { update_fars: vec![update.clone()], ..Default::default() };
    let way = update.update_forwarding_parameters.as_ref()?;
    let header = way.outer_header_creation?;
    let forwards = update.apply_action.is_some_and(|action| {
        let other = [ApplyAction::DROP, ApplyAction::BUFF, ApplyAction::NOCP];
        action.contains(ApplyAction::FORW) && !other.into_iter().any(|flag| action.contains(flag))
    });
    let known = OuterHeaderCreation::gtpu(header.teid?, header.addresses.v4?.into());
    let end_marker = way.sm_req_flags.is_some_and(|flags| flags.contains(SmReqFlags::SNDEM));
    if request != alone
        || !forwards
        || update.bar_id.is_some()
        || way.transport_level_marking.is_some()
        || way.destination_interface != Some(Interface::ACCESS)
        || header != known
    {
        return None;
    }
    let path = [(10, 0), (11, 0), (84, 0)];
    let teid = template.slot(&path, Part::Teid)?;
    let peer = template.slot(&path, Part::V4)?;
    let answer = SessionModificationResponse { cause: Cause::ACCEPTED, ..Default::default() };
    let free = vec![SEID, SEQUENCE, teid.range(), peer.range()];
    Some(ChangeShape {
        pattern: MaskedOctets::new(template.octets(), free),
        teid,
        peer,
        update: update.clone(),
        end_marker,
        answer: Template::new(answer).ok()?,
    })
}
