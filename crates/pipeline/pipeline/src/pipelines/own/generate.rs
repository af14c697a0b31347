//! Generated entries with distinct keys from a seed. Their values are assigned round robin.
use super::addresses::{AnyPrefix, Ports, shuffled};
use super::classbench::RULES_MAX;
use super::fault::{OwnError, OwnFault};
use super::read::Fields;
use super::tables::{ENTRIES_MAX, Keys};
use super::{MAC, PREFIX};
use crate::declare::{AclTable, Nat, NatKey, NextHopId, User};
use crate::pipelines::acl::{Acl, Family};
use ranlab_packet::{Mac, Protocol};

/// Maximum tunnel key.
pub(super) const KEY_MAX: u64 = u32::MAX as u64;
/// Number of generated bits of a MAC address.
const MAC_BITS: u32 = 24;
/// Ports used by generated translations.
const NAT_PORTS: Ports = Ports(1024, 65_535);

type Result<T> = std::result::Result<T, OwnError>;

/// Returns a MAC address plus an offset.
pub(super) fn mac_after(mac: Mac, further: u32) -> Mac {
    Mac::from_u64(mac.to_u64().wrapping_add(further.into()) & 0xffff_ffff_ffff)
}

fn count(fields: &mut Fields<'_>, most: u64) -> Result<u64> {
    fields.need("count", "a number of entries, or the name of a parameter")?.number("count", (1, most))
}

fn seed(fields: &mut Fields<'_>) -> Result<u64> {
    Ok(fields.number("seed", (0, u64::MAX >> 1))?.unwrap_or(1))
}

/// Checks that `count` distinct numbers fit into `bits` bits.
fn room(fields: &Fields<'_>, count: u64, bits: u32) -> Result<()> {
    let most = if bits >= 63 { u64::MAX >> 1 } else { 1 << bits };
    if count <= most {
        return Ok(());
    }
    let what = "`count` for this `within`".to_owned();
    Err(fields.fault(OwnFault::Range { what, value: count, least: 1, most }))
}

/// Returns keys and values of an exact table. Values are numbered round robin from `first`.
pub(super) fn exact(
    fields: &mut Fields<'_>,
    keys: Keys,
    users: &[User],
    (first, values): (u32, u32),
) -> Result<Vec<(u64, u32)>> {
    let most = if keys == Keys::Tunnel { users.len().max(1) } else { ENTRIES_MAX };
    let count = count(fields, most as u64)?;
    let seed = seed(fields)?;
    if values == 0 {
        return Err(fields.fault(OwnFault::Both("no values: the file declares no users or no next hops")));
    }
    let value = |i: u64| first + (i % u64::from(values)) as u32;
    match keys {
        // The keys are the tunnel keys of the users.
        Keys::Tunnel => Ok((0..count).map(|i| (users[i as usize].tunnel_key.into(), i as u32)).collect()),
        Keys::Mac => {
            let first: Mac = fields.need_parsed("within", MAC)?;
            room(fields, count, MAC_BITS)?;
            let base = first.to_u64() >> MAC_BITS << MAC_BITS;
            Ok((0..count).map(|i| (base | shuffled(i, MAC_BITS, seed), value(i))).collect())
        }
        Keys::Address => {
            let within: AnyPrefix = fields.need_parsed("within", PREFIX)?;
            let (whole, upper) = match within {
                AnyPrefix::V4(_) => (32, false),
                AnyPrefix::V6(_) => (64, true),
            };
            if within.length() > whole || upper && key_of(within.sub_prefix(64, 0)) >> 48 == 0 {
                return Err(
                    fields.fault(OwnFault::Kind { field: "within".to_owned(), allowed: USERS_WITHIN })
                );
            }
            let bits = u32::from(whole - within.length());
            room(fields, count, bits)?;
            Ok((0..count)
                .map(|i| (key_of(within.sub_prefix(whole, shuffled(i, bits, seed))), value(i)))
                .collect())
        }
    }
}

const USERS_WITHIN: &str = "an IPv4 prefix, or an IPv6 prefix of at most 64 bits whose first group is not 0";

/// Returns the lookup key of an address: the IPv4 address, or the upper half of the IPv6 address.
fn key_of(prefix: AnyPrefix) -> u64 {
    crate::reference::user_key(prefix.address())
}

/// Returns prefixes of one length within another prefix, with their next hops.
pub(super) fn routes(
    fields: &mut Fields<'_>,
    (first, hops): (u32, u32),
) -> Result<Vec<(AnyPrefix, NextHopId)>> {
    let count = count(fields, ENTRIES_MAX as u64)?;
    let seed = seed(fields)?;
    let within: AnyPrefix = fields.need_parsed("within", PREFIX)?;
    let longest = if matches!(within, AnyPrefix::V4(_)) { 32 } else { 128 };
    let length = fields.need("length", "the length of each prefix")?;
    let length = length.number("length", (within.length().into(), longest))? as u8;
    let bits = u32::from(length - within.length());
    room(fields, count, bits)?;
    if hops == 0 {
        return Err(fields.fault(OwnFault::Both("no values: the file declares no next hops")));
    }
    let hop = |i: u64| NextHopId(first + (i % u64::from(hops)) as u32);
    let route = |i: u64| (within.sub_prefix(length, shuffled(i, bits.min(64), seed)), hop(i));
    Ok((0..count).map(route).collect())
}

/// Returns rules with the structure of ClassBench's seeds, as in pipeline `acl`.
pub(super) fn rules(fields: &mut Fields<'_>, table: &mut AclTable) -> Result<()> {
    let count = count(fields, RULES_MAX as u64)?;
    let rule_seed = seed(fields)?;
    let families = [("acl1", Family::Acl1), ("fw1", Family::Fw1), ("ipc1", Family::Ipc1)];
    let seed_file = fields.choice("like", &families)?.unwrap_or_default();
    let acl = Acl { rule_num: count as u32, seed_file, rule_seed, ..Acl::default() };
    table.rules.extend(acl.table().rules);
    Ok(())
}

/// Returns translations from one IPv4 network to another.
///
/// Inside addresses are in an order determined by the seed, with several ports each. An exact table generated with the
/// same network and seed has the same order. On the outside, ports are counted before addresses.
pub(super) fn translations(fields: &mut Fields<'_>) -> Result<Vec<(NatKey, Nat)>> {
    let count = count(fields, ENTRIES_MAX as u64)?;
    let seed = seed(fields)?;
    let [from, to] = [network(fields, "from")?, network(fields, "to")?];
    let Ports(low, high) = NAT_PORTS;
    let range = u64::from(high - low) + 1;
    let each = fields.number("ports-per-address", (1, range))?.unwrap_or(1);
    let protocols = [("tcp", Protocol::TCP), ("udp", Protocol::UDP)];
    let protocol = fields.choice("protocol", &protocols)?.unwrap_or(Protocol::TCP).0;
    let total = count * each;
    let bits = |network: AnyPrefix| 32 - u32::from(network.length());
    room(fields, count, bits(from))?;
    room(fields, total.div_ceil(range), bits(to))?;
    if total > ENTRIES_MAX as u64 {
        let what = "`count` times `ports-per-address`".to_owned();
        return Err(fields.fault(OwnFault::Range { what, value: total, least: 1, most: ENTRIES_MAX as u64 }));
    }
    let one = |i: u64| {
        let inside = from.sub_prefix(32, shuffled(i / each, bits(from), seed)).address();
        let outside = to.sub_prefix(32, i / range).address();
        let key = NatKey { address: inside, protocol, port: low + (i % each) as u16 };
        (key, Nat { address: outside, port: low + (i % range) as u16 })
    };
    Ok((0..total).map(one).collect())
}

fn network(fields: &mut Fields<'_>, field: &'static str) -> Result<AnyPrefix> {
    const ALLOWED: &str = "an IPv4 prefix such as \"10.0.0.0/16\"";
    let network: AnyPrefix = fields.need_parsed(field, ALLOWED)?;
    if matches!(network, AnyPrefix::V4(_)) {
        return Ok(network);
    }
    Err(fields.fault(OwnFault::Kind { field: field.to_owned(), allowed: ALLOWED }))
}
