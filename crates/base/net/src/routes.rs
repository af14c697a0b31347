//! Routes, devices and neighbours of an address, from the kernel's tables (rtnetlink(7)).
//!
//! Each query opens a new socket when it is needed; results are not cached.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

const GET_LINK: u16 = 18;
const GET_ROUTE: u16 = 26;
const GET_NEIGHBOUR: u16 = 30;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
/// Sizes of `struct nlmsghdr`, `rtmsg`, `ifinfomsg` and `ndmsg`, in bytes.
const HEADER: usize = 16;
const ROUTE: usize = 12;
const LINK: usize = 16;
const NEIGHBOUR: usize = 12;
/// Buffer for a response: a device with many virtual functions needs much space.
const ANSWER_BYTES: usize = 1 << 16;
/// Timeout of a query. It normally does not expire, because the kernel responds within the call that sends the request.
const PATIENCE: Duration = Duration::from_secs(1);
/// `RTN_LOCAL`
const LOCAL: u8 = 2;
/// `ARPHRD_ETHER`
const ETHERNET: u16 = 1;
/// States of a neighbour whose address may be used: permanent, no ARP, reachable, probed, stale, delayed.
const USABLE: u16 = 0x80 | 0x40 | 0x02 | 0x10 | 0x04 | 0x08;

/// The route to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Index of the device.
    pub device: u32,
    /// The router, if the address is not on the device's own link.
    pub gateway: Option<IpAddr>,
    /// Whether the address belongs to this machine.
    pub local: bool,
}

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Index of the device.
    pub index: u32,
    /// Name of the device.
    pub name: String,
    /// MAC address of the device, if its link is Ethernet.
    pub mac: Option<[u8; 6]>,
    /// Maximum bytes of a packet.
    pub mtu: u32,
}

/// Returns the route from an address of this machine to `to`.
pub fn route(from: IpAddr, to: IpAddr) -> io::Result<Route> {
    let bits = if to.is_ipv4() { 32 } else { 128 };
    let mut body = vec![family(to), bits, bits, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    attribute(&mut body, 1, &octets(to));
    attribute(&mut body, 2, &octets(from));
    let answer = ask(GET_ROUTE, &body)?;
    let kind = answer.get(7).copied().unwrap_or(0);
    let mut route = Route { device: 0, gateway: None, local: kind == LOCAL };
    for (number, value) in attributes(&answer, ROUTE) {
        match number {
            4 => route.device = value.first_chunk().map_or(0, |four| u32::from_ne_bytes(*four)),
            5 => route.gateway = address(value),
            _ => {}
        }
    }
    Ok(route)
}

/// Returns the device with this index.
pub fn device(index: u32) -> io::Result<Device> {
    let mut body = vec![0; LINK];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    let answer = ask(GET_LINK, &body)?;
    let kind = answer.get(2..4).and_then(|two| two.first_chunk()).map_or(0, |two| u16::from_ne_bytes(*two));
    let mut device = Device { index, name: String::new(), mac: None, mtu: 0 };
    for (number, value) in attributes(&answer, LINK) {
        match number {
            1 if kind == ETHERNET => device.mac = value.try_into().ok(),
            3 => device.name = String::from_utf8_lossy(value).trim_end_matches('\0').to_owned(),
            4 => device.mtu = value.first_chunk().map_or(0, |four| u32::from_ne_bytes(*four)),
            _ => {}
        }
    }
    Ok(device)
}

/// Returns the MAC address of a neighbour on a device; `None` while the kernel does not know it. The kernel resolves it
/// when it sends a packet there.
pub fn neighbour(device: u32, address: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let mut body = vec![0; NEIGHBOUR];
    body[0] = family(address);
    body[4..8].copy_from_slice(&device.to_ne_bytes());
    attribute(&mut body, 1, &octets(address));
    let answer = match ask(GET_NEIGHBOUR, &body) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
        answer => answer?,
    };
    let state = answer.get(8..10).and_then(|two| two.first_chunk()).map_or(0, |two| u16::from_ne_bytes(*two));
    let mac = attributes(&answer, NEIGHBOUR).find(|(number, _)| *number == 2);
    Ok(mac.filter(|_| state & USABLE != 0).and_then(|(_, value)| value.try_into().ok()))
}

fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

fn address(value: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(value).ok().map(IpAddr::from);
    v4().or_else(|| <[u8; 16]>::try_from(value).ok().map(IpAddr::from))
}

fn attribute(body: &mut Vec<u8>, number: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(number.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Returns the attributes after a message's fixed part, up to the first one that does not fit.
fn attributes(message: &[u8], fixed: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = message.get(fixed..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let [a, b, c, d] = *rest.first_chunk()?;
        let len = usize::from(u16::from_ne_bytes([a, b]));
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        // The upper two bits are flags.
        Some((u16::from_ne_bytes([c, d]) & 0x3fff, value))
    })
}

/// Sends one request to the kernel; returns the response without its header.
fn ask(kind: u16, body: &[u8]) -> io::Result<Vec<u8>> {
    let domain = Domain::from(libc::AF_NETLINK);
    let routes = Protocol::from(libc::NETLINK_ROUTE);
    let mut socket = Socket::new(domain, Type::RAW, Some(routes))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut request = Vec::with_capacity(HEADER + body.len());
    request.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    request.extend([kind.to_ne_bytes(), REQUEST.to_ne_bytes()].as_flattened());
    request.extend([0; 8]);
    request.extend(body);
    socket.write_all(&request)?;
    let mut answer = vec![0; ANSWER_BYTES];
    let len = socket.read(&mut answer)?;
    answer.truncate(len);
    content(&answer).map(<[u8]>::to_vec)
}

/// Returns the content of the first message of a response.
fn content(answer: &[u8]) -> io::Result<&[u8]> {
    let cut = || io::Error::new(io::ErrorKind::InvalidData, "a response of rtnetlink is incomplete");
    let [a, b, c, d, kind @ ..] = *answer.first_chunk::<6>().ok_or_else(cut)?;
    let body = answer.get(HEADER..u32::from_ne_bytes([a, b, c, d]) as usize).ok_or_else(cut)?;
    if u16::from_ne_bytes(kind) == ERROR {
        let code = body.first_chunk().map_or(0, |four| i32::from_ne_bytes(*four));
        return Err(io::Error::from_raw_os_error(code.saturating_neg()));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_local_without_ethernet() {
        let own: IpAddr = [127, 0, 0, 1].into();
        let way = route(own, [127, 0, 0, 8].into()).unwrap();
        assert!(way.local && way.gateway.is_none() && way.device > 0, "{way:?}");
        let found = device(way.device).unwrap();
        assert_eq!((found.name.as_str(), found.mac), ("lo", None));
        assert!(found.mtu >= 1_500);
    }

    #[test]
    fn missing_route_device_or_neighbour_is_reported() {
        assert!(device(0x7fff_ffff).is_err());
        // TEST-NET-3 is not a neighbour on loopback.
        assert_eq!(neighbour(1, [203, 0, 113, 77].into()).unwrap(), None);
        assert!(
            route([203, 0, 113, 1].into(), [203, 0, 113, 2].into()).is_err(),
            "a source address of another machine must be refused"
        );
    }

    #[test]
    fn responses_with_wrong_length_are_refused() {
        assert!(content(&[]).is_err() && content(&[200, 0, 0, 0, 24, 0]).is_err());
        assert!(content(&[3, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
        let mut refused = vec![36, 0, 0, 0, 2, 0];
        refused.resize(36, 0);
        refused[16..20].copy_from_slice(&(-libc::ENOENT).to_ne_bytes());
        assert_eq!(content(&refused).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        // A valid attribute, followed by an attribute without a length or by an attribute that is too long.
        for tail in [[0, 0, 1, 0], [200, 0, 1, 0]] {
            let message = [&[6_u8, 0, 4, 0, 7, 7, 0, 0][..], &tail].concat();
            assert_eq!(attributes(&message, 0).collect::<Vec<_>>(), [(4, &[7, 7][..])]);
        }
        assert_eq!(attributes(&[1, 2], 12).count(), 0);
    }
}
