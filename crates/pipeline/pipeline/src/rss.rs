//! Distribution of packets over workers: receive side scaling (RSS) with the Toeplitz hash, as computed by network
//! cards (Microsoft, "RSS hashing functions").
//!
//! If a pipeline has users, the hash covers the user's address after removal of the tunnel and before translation. Both
//! directions of a user then use the same meter.
//!
//! Network cards select the worker on reception. Here, a trace in memory is divided before the measurement. The code of
//! the oracle is used, because the time for the division is not measured.
use crate::declare::{Declaration, Direction, Element, Nat, NatKey, Path, Port};
use crate::reference::{Side, Step, admit, decap, destination, five_tuple, nat_key, source};
use crate::trace::Trace;
use ranlab_packet::{EtherType, Ethernet, Ipv6};
use std::collections::HashMap;
use std::net::IpAddr;

/// Number of entries of the indirection table from hashes to workers.
const INDIRECTION: usize = 128;
/// Maximum number of workers. The indirection table could not select more workers than its number of entries.
pub const WORKERS_MAX: usize = INDIRECTION;
/// The key of the published test vectors, used by most drivers.
const KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// The number of workers is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} workers; allowed are 1 to {WORKERS_MAX}")]
pub struct WorkersError(pub usize);

/// Selects a worker for each packet of a pipeline.
pub struct RssHash {
    workers: usize,
    /// Hashed fields of packets by ingress port.
    keys: [Key; 2],
}

/// The fields of a packet that are hashed.
struct Key {
    path: Path,
    /// Whether the hash covers the user's address.
    by_user: bool,
    /// If the path translates destinations: the private address and port for each public address and port.
    inward: HashMap<NatKey, Nat>,
}

impl Key {
    fn new(declaration: &Declaration, direction: Direction) -> Self {
        let path = declaration.path(direction).clone();
        let elements = || path.blocks.iter().flatten();
        let by_user = elements().any(|e| {
            let by_address = matches!(e, Element::FindUserBySource(_) | Element::FindUserByDestination(_));
            by_address || matches!(e, Element::FindUserByTunnelKey(_))
        });
        let inward = elements().find_map(|element| match element {
            Element::NatDestination(id) => declaration.tables.nats.get(id.index()),
            _ => None,
        });
        let inward = inward.map(|table| table.entries.iter().copied().collect()).unwrap_or_default();
        Self { path, by_user, inward }
    }

    fn hash(&self, port: Port, frame: &[u8]) -> u32 {
        let user = if self.by_user { self.user(port, frame).ok() } else { None };
        user.or_else(|| flow(frame).ok()).map_or(0, |octets| toeplitz(&octets))
    }

    /// Returns the user's address.
    fn user(&self, port: Port, frame: &[u8]) -> Step<Vec<u8>> {
        let mut frame = frame.to_vec();
        for element in self.path.blocks.iter().flatten() {
            if let Element::Decap { kind, local, ipv6 } = element {
                decap(&mut frame, *kind, *local, *ipv6)?;
            }
        }
        if port == Port::Access {
            return Ok(of_user(source(&frame)?));
        }
        if let Ok(key) = nat_key(&frame, Side::Destination)
            && let Some(private) = self.inward.get(&key)
        {
            return Ok(of_user(private.address));
        }
        Ok(of_user(destination(&frame)?))
    }
}

/// Returns the part of an address that identifies the user: the whole IPv4 address, or the upper half of an IPv6
/// address.
fn of_user(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets()[..8].to_vec(),
    }
}

impl RssHash {
    /// Creates the selection for a number of workers.
    pub fn new(declaration: &Declaration, workers: usize) -> Result<Self, WorkersError> {
        if !(1..=WORKERS_MAX).contains(&workers) {
            return Err(WorkersError(workers));
        }
        let keys = [Direction::Uplink, Direction::Downlink].map(|d| Key::new(declaration, d));
        Ok(Self { workers, keys })
    }

    /// Returns the worker for a packet.
    #[must_use]
    pub fn worker(&self, port: Port, frame: &[u8]) -> usize {
        let hash = self.keys[port as usize].hash(port, frame);
        hash as usize % INDIRECTION % self.workers
    }

    /// Returns the worker for each packet of a trace.
    #[must_use]
    pub fn workers(&self, trace: &Trace) -> Vec<usize> {
        trace.iter().map(|(port, frame)| self.worker(port, frame)).collect()
    }

    /// Divides a trace among the workers. Packets of each worker remain in order.
    #[must_use]
    pub fn divide(&self, trace: &Trace) -> Vec<Trace> {
        let mut parts = vec![Trace::default(); self.workers];
        let workers = self.workers(trace);
        trace.iter().zip(workers).for_each(|((port, frame), worker)| parts[worker].push(port, frame));
        parts
    }
}

/// Division of a trace among workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    /// Number of packets per worker.
    pub packets: Vec<usize>,
}

impl Balance {
    /// Returns the balance of a divided trace.
    #[must_use]
    pub fn from_parts(parts: &[Trace]) -> Self {
        Self { packets: parts.iter().map(Trace::len).collect() }
    }

    /// Returns the balance for the numbers of packets per worker.
    #[must_use]
    pub fn of_counts(packets: impl IntoIterator<Item = u64>) -> Self {
        Self {
            packets: packets
                .into_iter()
                .map(|packets| usize::try_from(packets).unwrap_or(usize::MAX))
                .collect(),
        }
    }

    /// Returns the busiest worker's number of packets divided by the mean. The total rate is lower than with an even
    /// distribution by this factor.
    #[must_use]
    pub fn busiest_over_mean(&self) -> f64 {
        let total: usize = self.packets.iter().sum();
        let most = self.packets.iter().copied().max().unwrap_or(0);
        if total == 0 { 1.0 } else { most as f64 * self.packets.len() as f64 / total as f64 }
    }
}

/// Returns the fields that network cards hash for a packet without tunnels: addresses, and ports if there are any.
fn flow(frame: &[u8]) -> Step<Vec<u8>> {
    admit(frame, None, true)?;
    if let Ok(Ethernet { ether_type: EtherType::IPV6, payload, .. }) = Ethernet::parse(frame)
        && let Ok(packet) = Ipv6::parse(payload)
    {
        return Ok([packet.src.octets(), packet.dst.octets()].concat());
    }
    let tuple = five_tuple(frame)?;
    let mut octets = [tuple.src.octets(), tuple.dst.octets()].concat();
    if let Some((src, dst)) = tuple.ports.filter(|ports| *ports != (0, 0)) {
        octets.extend(src.to_be_bytes());
        octets.extend(dst.to_be_bytes());
    }
    Ok(octets)
}

/// Returns the hash of up to 36 bytes.
fn toeplitz(octets: &[u8]) -> u32 {
    let mut hash = 0;
    for (i, octet) in octets.iter().enumerate().take(KEY.len() - 4) {
        let window = KEY[i..i + 5].iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        for bit in 0..8 {
            if octet & (0x80 >> bit) != 0 {
                hash ^= (window >> (8 - bit)) as u32;
            }
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipelines::Pipeline;
    use crate::trace::{Directions, Traffic};
    use std::net::Ipv4Addr;

    /// The vectors are Microsoft's verification suite: IPv4 with and without TCP ports, and IPv6 without ports.
    #[test]
    fn hashes_equal_published_vectors() {
        let octets = |src: &str, dst: &str, ports: &[u16]| {
            let address = |text: &str| text.parse::<Ipv4Addr>().unwrap().octets();
            let mut octets = [address(src), address(dst)].concat();
            ports.iter().for_each(|port| octets.extend(port.to_be_bytes()));
            octets
        };
        let hash = |src, dst, ports: &[u16]| toeplitz(&octets(src, dst, ports));
        assert_eq!(hash("66.9.149.187", "161.142.100.80", &[]), 0x323e_8fc2);
        assert_eq!(hash("66.9.149.187", "161.142.100.80", &[2794, 1766]), 0x51cc_c178);
        assert_eq!(hash("199.92.111.2", "65.69.140.83", &[14230, 4739]), 0xc626_b0ea);
    }

    fn parts(json: &str, workers: usize) -> (Vec<Trace>, RssHash) {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let spread = RssHash::new(&pipeline.build().unwrap(), workers).unwrap();
        let traffic = Traffic { pkt_num: 4000, dir: Directions::Bidir, ..Traffic::default() };
        let trace = Trace::generate(&pipeline, &traffic).unwrap();
        (spread.divide(&trace), spread)
    }

    /// The hash covers the inner source in the uplink, and the destination or its translation in the downlink. Each
    /// user therefore has one worker.
    #[test]
    fn both_directions_of_user_reach_same_worker() {
        for json in [
            r#"{"name":"mgw","user":200,"bst":7,"server":9}"#,
            r#"{"name":"bng","user":200,"cpe":7,"server":9,"user-conn":3}"#,
            r#"{"name":"rlimit","user":200}"#,
            r#"{"name":"mgw","user":200,"bst":7,"server":9,"family":"dual"}"#,
            r#"{"name":"bng","user":200,"cpe":7,"server":9,"user-conn":3,"family":"dual"}"#,
            r#"{"name":"dcgw","vm":200,"host":7,"server":9,"family":"ipv6"}"#,
        ] {
            let pipeline: Pipeline = serde_json::from_str(json).unwrap();
            let spread = RssHash::new(&pipeline.build().unwrap(), 4).unwrap();
            for flow in 0..50 {
                let mut random = ranlab_machine::Random::stream(3, flow);
                let up = pipeline.frame((Direction::Uplink, flow), &mut random, 64);
                let down = pipeline.frame((Direction::Downlink, flow), &mut random, 64);
                assert_eq!(
                    spread.worker(Port::Access, &up),
                    spread.worker(Port::Core, &down),
                    "{json} {flow}"
                );
            }
        }
    }

    #[test]
    fn many_flows_spread_and_single_flow_does_not() {
        let (even, _) =
            parts(r#"{"name":"l3fwd","upstream-l3-table-size":1000,"downstream-l3-table-size":1000}"#, 4);
        assert_eq!(even.iter().map(Trace::len).sum::<usize>(), 4000);
        assert!(Balance::from_parts(&even).busiest_over_mean() < 1.25);
        let (one, _) = parts(r#"{"name":"mgw"}"#, 4);
        assert_eq!(Balance::from_parts(&one).busiest_over_mean(), 4.0, "three workers have no packets");
    }

    #[test]
    fn number_of_workers_is_limited() {
        let declaration = Pipeline::all()[0].build().unwrap();
        assert_eq!(RssHash::new(&declaration, 0).err(), Some(WorkersError(0)));
        assert_eq!(RssHash::new(&declaration, 129).err(), Some(WorkersError(129)));
    }
}
