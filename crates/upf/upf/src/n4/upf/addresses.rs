//! Assignment of UE addresses to sessions, and the address pool of this UPF.
use super::Upf;
use crate::n4::mix::Map;
use crate::n4::rules::{RuleFault, Session};
use crate::pfcp::*;
use std::collections::VecDeque;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Address range for UEs, such as `10.60.0.0/16`. The first and the last address are not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UePool {
    first: u32,
    bits: u8,
}

/// Error: the text is not a [`UePool`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a pool of UE addresses; allowed is ADDRESS/BITS of IPv4 with 8 to 30 bits")]
pub struct UePoolError(String);

impl FromStr for UePool {
    type Err = UePoolError;

    fn from_str(text: &str) -> Result<Self, UePoolError> {
        let wrong = || UePoolError(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().ok().filter(|bits| (8..=30).contains(bits)).ok_or_else(wrong)?;
        Ok(Self { first: u32::from(address) & (u32::MAX << (32 - bits)), bits })
    }
}

impl fmt::Display for UePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.first), self.bits)
    }
}

/// UE addresses in use.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// Sessions by the keys of their UE addresses; see [`keys`].
    owners: Map<u64, u64>,
    pool: Option<UePool>,
    /// Number of addresses that were allocated from the start of the pool. Released addresses are in `free`.
    taken: u32,
    free: VecDeque<u32>,
}

/// Returns the keys by which downlink packets find a session. A key is an IPv4 address, or the /64 prefix of an IPv6 address.
pub(super) fn keys(session: &Session) -> impl Iterator<Item = (u64, PdrId)> {
    let from_network = |pdr: &&CreatePdr| {
        let interface = pdr.pdi.source_interface;
        (interface == Interface::CORE || interface == Interface::N6_LAN) && pdr.pdi.f_teid.is_none()
    };
    session.pdrs.iter().filter(from_network).flat_map(|pdr| {
        let of_ue = |ue: &UeIpAddress| {
            let v6 = ue.addresses.v6.map(|v6| (u128::from(v6) >> 64) as u64);
            [ue.addresses.v4.map(v4_key), v6]
        };
        let all = pdr.pdi.ue_ip_addresses.iter().flat_map(of_ue).flatten();
        all.map(|key| (key, pdr.pdr_id))
    })
}

pub(super) fn v4_key(address: Ipv4Addr) -> u64 {
    u32::from(address).into()
}

impl Addresses {
    pub(super) fn new(pool: Option<UePool>) -> Self {
        Self { pool, ..Self::default() }
    }

    pub(super) fn has(&self, key: u64) -> bool {
        self.owners.contains_key(&key)
    }

    /// Records that a session has these addresses.
    pub(super) fn take(&mut self, keys: impl Iterator<Item = u64>, seid: u64) {
        self.owners.extend(keys.map(|key| (key, seid)));
    }

    /// Records that a session no longer has these addresses. Addresses of the pool become available again.
    pub(super) fn give(&mut self, keys: impl Iterator<Item = u64>, seid: u64) {
        for key in keys {
            if self.owners.get(&key) != Some(&seid) {
                continue;
            }
            self.owners.remove(&key);
            // Only allocated addresses are added to `free`, because all later ones are still available.
            let given =
                |pool: &UePool| (1..=u64::from(self.taken)).contains(&key.wrapping_sub(pool.first.into()));
            self.free.extend(self.pool.filter(given).map(|_| key as u32));
        }
    }

    /// Returns an address of the pool that no session has. Addresses that were never used take precedence.
    fn choose(&mut self) -> Option<Ipv4Addr> {
        let pool = self.pool?;
        let size = (1_u32 << (32 - pool.bits)) - 2;
        while self.taken < size {
            self.taken += 1;
            let address = Ipv4Addr::from(pool.first + self.taken);
            if !self.has(v4_key(address)) {
                return Some(address);
            }
        }
        let tries = self.free.len();
        for _ in 0..tries {
            let address = Ipv4Addr::from(self.free.pop_front()?);
            if !self.has(v4_key(address)) {
                return Some(address);
            }
            self.free.push_back(address.into());
        }
        None
    }

    /// Returns an address to the pool, because its session was not established.
    pub(super) fn give_back(&mut self, address: Ipv4Addr) {
        self.free.push_back(address.into());
    }
}

impl Upf {
    /// Assigns a UE address if the establishment requests one; all rules of the session get the same address (TS 29.244 §5.21).
    ///
    /// # Errors
    /// There is no pool, or it is exhausted.
    pub(super) fn choose_address(
        &mut self,
        request: &mut SessionEstablishmentRequest,
    ) -> Result<Option<Ipv4Addr>, RuleFault> {
        let wished = |ue: &UeIpAddress| ue.choose_v4;
        let mut ues = request.create_pdrs.iter().flat_map(|pdr| &pdr.pdi.ue_ip_addresses);
        if !ues.any(wished) {
            return Ok(None);
        }
        if self.settings.ue_pool.is_none() {
            return Err(Cause::SERVICE_NOT_SUPPORTED.into());
        }
        let address = self.addresses.choose().ok_or(Cause::NO_RESOURCES)?;
        let ues = request.create_pdrs.iter_mut().flat_map(|pdr| &mut pdr.pdi.ue_ip_addresses);
        for ue in ues.filter(|ue| wished(ue)) {
            ue.addresses.v4 = Some(address);
            ue.choose_v4 = false;
        }
        Ok(Some(address))
    }

    /// Rejects addresses of another session, because its packets would be redirected. Some dialects allow such addresses.
    pub(super) fn check_addresses(&self, seid: Option<u64>, session: &Session) -> Result<(), RuleFault> {
        if self.settings.dialect.demands.shares_addresses {
            return Ok(());
        }
        let in_use = |key: &u64| self.addresses.owners.get(key).is_some_and(|owner| Some(*owner) != seid);
        match keys(session).find(|(key, _)| in_use(key)) {
            Some((_, pdr_id)) => {
                Err(RuleFault { cause: Cause::RULE_FAILURE, failed: Some(FailedRuleId::Pdr(pdr_id)) })
            }
            None => Ok(()),
        }
    }
}

/// Adds the assigned address to the response, for the rules that requested an address.
pub(super) fn report_chosen(session: &Session, address: Ipv4Addr, created: &mut Vec<CreatedPdr>) {
    let has_it = |ue: &UeIpAddress| ue.addresses.v4 == Some(address);
    for pdr in &session.pdrs {
        let ues: Vec<_> = pdr.pdi.ue_ip_addresses.iter().copied().filter(has_it).collect();
        if ues.is_empty() {
            continue;
        }
        match created.iter_mut().find(|created| created.pdr_id == pdr.pdr_id) {
            Some(created) => created.ue_ip_addresses = ues,
            None => {
                created.push(CreatedPdr { pdr_id: pdr.pdr_id, ue_ip_addresses: ues, ..CreatedPdr::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_text_round_trips() {
        for text in ["10.60.0.0/16", "10.0.0.0/8", "192.0.2.4/30"] {
            assert_eq!(text.parse::<UePool>().unwrap().to_string(), text);
        }
        assert_eq!("10.60.1.2/16".parse::<UePool>().unwrap().to_string(), "10.60.0.0/16");
        for text in ["", "10.60.0.0", "10.60.0.0/31", "10.60.0.0/7", "2001:db8::/48", "10.60.0.0/x"] {
            assert_eq!(text.parse::<UePool>(), Err(UePoolError(text.to_owned())));
        }
    }

    #[test]
    fn assigned_addresses_are_from_pool_and_reused() {
        let mut addresses = Addresses::new("192.0.2.0/30".parse().ok());
        let one = addresses.choose().unwrap();
        addresses.take([v4_key(one)].into_iter(), 1);
        let two = addresses.choose().unwrap();
        assert_eq!([one, two].map(|address| address.octets()[3]), [1, 2]);
        assert_eq!(addresses.choose(), None);
        addresses.give([v4_key(one)].into_iter(), 1);
        assert_eq!(addresses.choose(), Some(one));
        addresses.give_back(one);
        assert_eq!(addresses.choose(), Some(one));
    }

    #[test]
    fn pool_skips_addresses_assigned_by_smf() {
        let mut addresses = Addresses::new("192.0.2.0/29".parse().ok());
        addresses.take([v4_key([192, 0, 2, 1].into())].into_iter(), 7);
        assert_eq!(addresses.choose(), Some([192, 0, 2, 2].into()));
    }
}
