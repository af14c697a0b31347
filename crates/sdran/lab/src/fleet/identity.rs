//! Identity and source address of a base station.
use ranlab_radio::user_plane::UES_MAX;
use ranlab_sdran::empower::protocol::Mac;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::time::Duration;

/// Country and network code of the IMSIs. 901-70 is used for tests that span networks.
const IMSI_BASE: u64 = 901_700_000_000_000;
/// Number of IMSIs per base station.
const IMSIS_PER_STATION: u64 = 100_000;

/// Identity of a base station. All values are unique within a network of 65,535 base stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Number of the base station in the network, from 1.
    pub station: u64,
    /// Physical cell identity. A value above 503 is invalid but unique.
    pub pci: u16,
    /// Ethernet address of the base station.
    pub mac: Mac,
}

impl Identity {
    /// Returns the identity of the base station with this index.
    pub fn new(index: u32) -> Self {
        let pci = u16::try_from(index % 65_535 + 1).unwrap_or(1);
        Self { station: u64::from(index) + 1, pci, mac: Mac::local(index) }
    }

    /// Returns the IMSI of a UE of this base station.
    pub fn imsi(&self, ue: u32) -> u64 {
        IMSI_BASE + self.station * IMSIS_PER_STATION + u64::from(ue)
    }

    /// Returns the IMSI of a UE by its number among the UEs of all radios. The IMSI does not depend on the current cell.
    pub(super) fn imsi_of(number: u32) -> u64 {
        let cell = (number - 1) / UES_MAX as u32;
        let ue = (number - 1) % UES_MAX as u32;
        Self::new(cell).imsi(ue)
    }

    /// Returns the seed of this base station, derived from the seed of the network.
    pub fn seed(&self, seed: u64) -> u64 {
        seed ^ self.station.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Returns the offset of the base station's reports within a period. Different offsets keep base stations from sending at the same
    /// time.
    pub(crate) fn phase(&self, period: Duration) -> Duration {
        // Multiples of the golden ratio spread any number of base stations evenly.
        period.mul_f64((self.station as f64 * 0.618_033_988_749_895).fract())
    }
}

/// Source addresses, which are used round robin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourcePool(Vec<IpAddr>);

/// The text is not a valid address range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a range of at most 65536 IPv4 addresses; write e.g. 127.0.1.1-127.0.1.50")]
pub struct SourcePoolError(String);

impl SourcePool {
    /// Returns a pool of this number of loopback addresses, for a controller on this machine.
    pub fn of_loopback(addresses: u32) -> Self {
        let first = u32::from(Ipv4Addr::new(127, 1, 0, 1));
        let last = first.saturating_add(addresses).min(u32::from(Ipv4Addr::new(127, 255, 255, 254)));
        Self((first..last).map(|address| Ipv4Addr::from(address).into()).collect())
    }

    /// Returns the number of addresses.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the system chooses the source address.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the source address of a base station. `None`: the system chooses the address.
    pub fn at(&self, index: u32) -> Option<IpAddr> {
        let len = u32::try_from(self.0.len()).ok().filter(|len| *len > 0)?;
        self.0.get((index % len) as usize).copied()
    }
}

impl FromStr for SourcePool {
    type Err = SourcePoolError;

    /// Parses `first-last` or a single address. The empty text is the empty pool.
    fn from_str(text: &str) -> Result<Self, SourcePoolError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let wrong = || SourcePoolError(text.to_owned());
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let first: Ipv4Addr = first.trim().parse().map_err(|_| wrong())?;
        let last: Ipv4Addr = last.trim().parse().map_err(|_| wrong())?;
        let first = u32::from(first);
        let last = u32::from(last);
        if last < first || last - first >= 65_536 {
            return Err(wrong());
        }
        Ok(Self((first..=last).map(|address| Ipv4Addr::from(address).into()).collect()))
    }
}

/// Writes the form that `from_str` parses.
impl fmt::Display for SourcePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => write!(f, "{first}-{last}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn identities_are_unique() {
        let all: Vec<Identity> = (0..5_000).map(Identity::new).collect();
        assert_eq!(all.iter().map(|i| i.pci).collect::<BTreeSet<_>>().len(), 5_000);
        assert_eq!(all.iter().map(|i| i.mac).collect::<BTreeSet<_>>().len(), 5_000);
        assert_eq!(all.iter().map(|i| i.seed(7)).collect::<BTreeSet<_>>().len(), 5_000);
        let imsis = all.iter().flat_map(|i| [i.imsi(0), i.imsi(99_999)]);
        assert_eq!(imsis.collect::<BTreeSet<_>>().len(), 10_000);
        let phases: Vec<Duration> = all.iter().map(|i| i.phase(Duration::from_millis(50))).collect();
        let early = phases.iter().filter(|phase| **phase < Duration::from_millis(5)).count();
        assert!((450..550).contains(&early), "{early}");
    }

    #[test]
    fn addresses_are_used_round_robin() {
        let pool: SourcePool = "127.0.1.1-127.0.1.3".parse().unwrap();
        assert_eq!(pool.at(4), Some("127.0.1.2".parse().unwrap()));
        assert_eq!(SourcePool::default().at(4), None);
        for text in ["", "127.0.1.1-127.0.1.3"] {
            assert_eq!(text.parse::<SourcePool>().unwrap().to_string(), text);
        }
        for text in ["-", "127.0.0.2-127.0.0.1", "x", "10.0.0.0-11.0.0.0"] {
            assert!(text.parse::<SourcePool>().unwrap_err().to_string().contains("127.0.1.1"));
        }
    }
}
