//! Rewrites requests of a capture for another session. It replaces TEIDs, UE addresses, and the addresses of SMF and base stations.
use super::recording::Script;
use crate::pfcp::*;
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses and TEIDs of repeated sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addressing {
    /// N3 address of the UPF.
    pub n3: IpAddr,
    /// Address of the base station, and of every other peer to which the UPF sends.
    pub gnb: IpAddr,
    /// Address of the SMF, for tunnels towards the CP function.
    pub smf: IpAddr,
    /// IPv4 address of the first UE. Each further UE has the next address.
    pub ue_v4: Ipv4Addr,
    /// IPv6 address of the first UE. Each further UE has the next /64 prefix.
    pub ue_v6: Ipv6Addr,
    /// First TEID that the SMF or the base station assigns.
    pub first_teid: u32,
}

/// TEIDs and addresses of one repetition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) script: &'a Script,
    pub(super) addressing: &'a Addressing,
    /// Slot of the repetition, which is unique among the existing repetitions.
    pub(super) slot: u32,
    /// Largest number of names of each kind in a session.
    pub(super) most: [u32; 3],
    /// Pairs of TEIDs that the UPF chose: in the capture, and in this repetition.
    pub(super) chosen: &'a [(u32, u32)],
}

fn index_of<T: PartialEq>(all: &[T], one: &T) -> u32 {
    all.iter().position(|other| other == one).map_or(0, |at| u32::try_from(at).unwrap_or(u32::MAX))
}

impl Names<'_> {
    fn number(&self, kind: usize, index: u32) -> u32 {
        self.slot.wrapping_mul(self.most[kind]).wrapping_add(index)
    }

    fn local(&self, teid: u32) -> u32 {
        if let Some((_, now)) = self.chosen.iter().find(|(old, _)| *old == teid) {
            return *now;
        }
        self.addressing.first_teid.wrapping_add(self.number(0, index_of(&self.script.locals, &teid)))
    }

    fn remote(&self, teid: u32) -> u32 {
        self.addressing.first_teid.wrapping_add(self.number(1, index_of(&self.script.remotes, &teid)))
    }

    fn v4(&self, ue: Ipv4Addr) -> Ipv4Addr {
        let number = self.number(2, index_of(&self.script.ues_v4, &ue));
        Ipv4Addr::from(u32::from(self.addressing.ue_v4).wrapping_add(number))
    }

    fn v6(&self, ue: Ipv6Addr) -> Ipv6Addr {
        let number = self.number(2, index_of(&self.script.ues_v6, &ue));
        Ipv6Addr::from(u128::from(self.addressing.ue_v6).wrapping_add(u128::from(number) << 64))
    }

    pub(super) fn establishment(&self) -> SessionEstablishmentRequest {
        let mut request = self.script.establishment.clone();
        request.create_pdrs.iter_mut().for_each(|pdr| self.pdi(&mut pdr.pdi));
        request.create_fars.iter_mut().for_each(|far| self.created(far));
        request
    }

    pub(super) fn modification(&self, recorded: &SessionModificationRequest) -> SessionModificationRequest {
        let mut request = recorded.clone();
        request.create_pdrs.iter_mut().for_each(|pdr| self.pdi(&mut pdr.pdi));
        request.update_pdrs.iter_mut().filter_map(|pdr| pdr.pdi.as_mut()).for_each(|pdi| self.pdi(pdi));
        request.create_fars.iter_mut().for_each(|far| self.created(far));
        let ways = request.update_fars.iter_mut().filter_map(|far| far.update_forwarding_parameters.as_mut());
        for way in ways {
            let interface = way.destination_interface;
            way.outer_header_creation.iter_mut().for_each(|header| self.header(interface, header));
        }
        request
    }

    fn created(&self, far: &mut CreateFar) {
        if let Some(way) = &mut far.forwarding_parameters {
            let interface = Some(way.destination_interface);
            way.outer_header_creation.iter_mut().for_each(|header| self.header(interface, header));
        }
    }

    fn header(&self, interface: Option<Interface>, header: &mut OuterHeaderCreation) {
        let gtpu = OuterHeaderCreation::GTPU_UDP_IPV4 | OuterHeaderCreation::GTPU_UDP_IPV6;
        if header.description & gtpu == 0 {
            return;
        }
        let to_smf = interface == Some(Interface::CP_FUNCTION);
        let peer = if to_smf { self.addressing.smf } else { self.addressing.gnb };
        let version = match peer {
            IpAddr::V4(_) => OuterHeaderCreation::GTPU_UDP_IPV4,
            IpAddr::V6(_) => OuterHeaderCreation::GTPU_UDP_IPV6,
        };
        header.description = header.description & !gtpu | version;
        header.teid = header.teid.map(|teid| self.remote(teid));
        header.addresses = peer.into();
    }

    fn pdi(&self, pdi: &mut Pdi) {
        let n3 = self.addressing.n3;
        pdi.f_teid = pdi.f_teid.map(|f_teid| match f_teid {
            FTeid::Assigned { teid, .. } => FTeid::Assigned { teid: self.local(teid), addresses: n3.into() },
            FTeid::Choose { id, .. } => FTeid::Choose { v4: n3.is_ipv4(), v6: n3.is_ipv6(), id },
        });
        for ue in &mut pdi.ue_ip_addresses {
            ue.addresses.v4 = ue.addresses.v4.map(|v4| self.v4(v4));
            ue.addresses.v6 = ue.addresses.v6.map(|v6| self.v6(v6));
        }
        for filter in &mut pdi.sdf_filters {
            let text = filter.flow_description.as_ref().and_then(|text| std::str::from_utf8(text).ok());
            let flow = text.map(|text| self.flow(text));
            filter.flow_description = flow.map(Bytes::from).or_else(|| filter.flow_description.take());
        }
    }

    /// Replaces the UE's addresses in a flow description with the UE addresses of this repetition.
    fn flow(&self, text: &str) -> String {
        let words = text.split(' ').map(|word| {
            let (address, rest) = word.split_at(word.find('/').unwrap_or(word.len()));
            match address.parse() {
                Ok(IpAddr::V4(v4)) if self.script.ues_v4.contains(&v4) => format!("{}{rest}", self.v4(v4)),
                Ok(IpAddr::V6(v6)) if self.script.ues_v6.contains(&v6) => format!("{}{rest}", self.v6(v6)),
                _ => word.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}
