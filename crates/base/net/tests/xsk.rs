//! AF_XDP sockets on a pair of devices in separate network namespaces. Needs root, and reports a skip without
//! it.
#![allow(clippy::unwrap_used)]

use ranlab_host::doctor::skipped;
use ranlab_net::routes::{device, neighbour, route};
use ranlab_net::stamped::enter_namespace;
use ranlab_net::{
    DatagramOptions, XdpError, XskError, XskOptions, XskSocket, XskSteering, XskTarget, bind_datagrams,
    wait_readable,
};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PORT: u16 = 2_152;
const SMALL: XskOptions = XskOptions { frame_bytes: 2_048, ring: 64, zero_copy: false };

/// Two namespaces with a link between them, removed when this is dropped. `a` has the addresses 10.9.0.1 to 10.9.0.3,
/// `b` has 10.9.0.9.
struct Link(String);

impl Link {
    /// Creates the link, or returns `None` if this user may not create one.
    fn new(test: &str) -> Option<Self> {
        if let Err(XskError::Absent | XskError::Privilege) = XskSocket::bind(0x7fff_ffff, 0, SMALL) {
            skipped("no AF_XDP for this user here");
            return None;
        }
        let link = Self(format!("ranlab-xsk-{test}-{}", std::process::id()));
        for end in ["a", "b"] {
            let made = Command::new("ip").args(["netns", "add", &link.space(end)]).output().ok()?;
            if !made.status.success() {
                skipped("this user may make no network namespace (ip netns add)");
                return None;
            }
        }
        let a = link.space("a");
        let b = link.space("b");
        ip(&format!("-n {a} link add n3 type veth peer name n3 netns {b}"));
        for (space, addresses) in [(&a, &["10.9.0.1", "10.9.0.2", "10.9.0.3"][..]), (&b, &["10.9.0.9"])] {
            ip(&format!("-n {space} link set lo up"));
            for address in addresses {
                ip(&format!("-n {space} address add {address}/24 dev n3"));
            }
            ip(&format!("-n {space} link set n3 up"));
        }
        Some(link)
    }

    fn space(&self, end: &str) -> String {
        format!("{}-{end}", self.0)
    }

    /// Runs `what` in the namespace, on a separate thread.
    fn within<T: Send + 'static>(&self, end: &str, what: impl FnOnce() -> T + Send + 'static) -> T {
        let file = Path::new("/run/netns").join(self.space(end));
        let ran = std::thread::spawn(move || {
            enter_namespace(&file).unwrap();
            what()
        });
        ran.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn socket(&self, end: &str, address: &str) -> UdpSocket {
        let address = format!("{address}:{PORT}").parse().unwrap();
        self.within(end, move || bind_datagrams(address, DatagramOptions::default()).unwrap())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for end in ["a", "b"] {
            let _ = Command::new("ip").args(["netns", "del", &self.space(end)]).output();
        }
    }
}

fn ip(arguments: &str) -> String {
    let done = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Returns a frame from 10.9.0.1 to 10.9.0.9, encoded independently by this test.
fn frame(from: [u8; 6], to: [u8; 6], payload: &[u8]) -> Vec<u8> {
    let mut frame = [&to[..], &from, &[8, 0, 0x45, 0]].concat();
    frame.extend((28 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 9]);
    let words = frame[14..34].chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let udp = [PORT, PORT, 8 + payload.len() as u16, 0].map(u16::to_be_bytes);
    frame.extend(udp.as_flattened());
    frame.extend(payload);
    frame
}

/// Returns the datagrams that arrive with gaps of at most 0.5 s. Waits up to 2 s for the first datagram.
fn all(socket: &UdpSocket) -> Vec<Vec<u8>> {
    let mut buffer = [0; 2_048];
    let mut came = Vec::new();
    let mut patience = Duration::from_secs(2);
    while wait_readable(&[socket.as_fd()], patience).unwrap() {
        let len = socket.recv(&mut buffer).unwrap();
        came.push(buffer[..len].to_vec());
        patience = Duration::from_millis(500);
    }
    came
}

/// Returns the index and the MAC address of the device, and the MAC address of the neighbour, from the kernel's tables.
fn tables(link: &Link, ours: &UdpSocket, theirs: &UdpSocket) -> (u32, [u8; 6], [u8; 6]) {
    ours.send_to(b"who are you", "10.9.0.9:2152").unwrap();
    assert_eq!(all(theirs), [b"who are you"]);
    link.within("a", || {
        let way = route(address("10.9.0.1"), address("10.9.0.9")).unwrap();
        assert!(!way.local && way.gateway.is_none());
        assert!(route(address("10.9.0.1"), address("10.9.0.2")).unwrap().local);
        assert_eq!(neighbour(way.device, address("10.9.0.77")).unwrap(), None);
        let n3 = device(way.device).unwrap();
        assert_eq!((n3.name.as_str(), n3.mtu), ("n3", 1_500));
        (n3.index, n3.mac.unwrap(), neighbour(way.device, address("10.9.0.9")).unwrap().unwrap())
    })
}

/// Sends three times as many frames as the ring has entries, and checks that each arrives once and in order.
fn out(socket: &mut XskSocket, theirs: &UdpSocket, own: [u8; 6], peer: [u8; 6]) {
    let mut received = Vec::new();
    for n in 0..192_u64 {
        let frame = frame(own, peer, &n.to_be_bytes());
        let put = |room: &mut [u8]| {
            room.get_mut(..frame.len())?.copy_from_slice(&frame);
            Some(frame.len())
        };
        assert!(socket.push(put), "{n}");
        if n % 64 == 63 {
            assert!(socket.is_full() && !socket.push(|_| Some(60)));
            assert_eq!(socket.send().unwrap(), 0);
            received.extend(all(theirs));
        }
    }
    assert_eq!(received, (0..192_u64).map(|n| n.to_be_bytes().to_vec()).collect::<Vec<_>>());
    assert!(
        !socket.push(|_| None) && !socket.push(|room| Some(room.len() + 1)),
        "a frame without a length, or longer than its buffer, must not be added"
    );
}

fn both_ways(test: &str, native: bool) {
    let Some(link) = Link::new(test) else { return };
    let ours = link.socket("a", "10.9.0.1");
    let theirs = link.socket("b", "10.9.0.9");
    let third = link.socket("a", "10.9.0.3");
    let (index, own, peer) = tables(&link, &ours, &theirs);
    let target = XskTarget { first: address("10.9.0.1"), count: 2, port: PORT };
    let (mut socket, steering) = link.within("a", move || {
        let socket = XskSocket::bind(index, 0, SMALL).unwrap();
        assert!(matches!(XskSocket::bind(index, 0, SMALL), Err(XskError::Busy { queue: 0, .. })));
        let beyond = XskSocket::bind(index, 4_000, SMALL);
        assert!(matches!(beyond, Err(XskError::NoQueue { queue: 4_000, .. })));
        let steering = XskSteering::attach("n3", target, 1, native).unwrap();
        assert!(matches!(XskSteering::attach("n3", target, 1, native), Err(XdpError::Attach { .. })));
        steering.steer(0, &socket).unwrap();
        (socket, steering)
    });
    out(&mut socket, &theirs, own, peer);
    // Incoming packets: the socket gets the first two addresses and the port; the kernel gets the third address and
    // all other traffic.
    let mut came = Vec::new();
    let mut take = |socket: &mut XskSocket| {
        while wait_readable(&[socket.as_fd()], Duration::from_millis(100)).unwrap() {
            socket.receive(7, |frame| came.push((frame[33], frame[42..72].to_vec())));
        }
    };
    for n in 0..50_u8 {
        for to in ["10.9.0.1:2152", "10.9.0.2:2152", "10.9.0.3:2152", "10.9.0.1:9"] {
            theirs.send_to(&[n; 30], to).unwrap();
        }
        if n % 25 == 24 {
            take(&mut socket);
        }
    }
    let expected: Vec<_> = (0..50_u8).flat_map(|n| [(1, vec![n; 30]), (2, vec![n; 30])]).collect();
    assert_eq!(came, expected);
    assert_eq!((all(&third).len(), all(&ours).len()), (50, 0));
    assert_eq!(socket.statistics().unwrap(), Default::default());
    // After removal, the kernel gets all frames again.
    let space = link.space("a");
    assert!(ip(&format!("-n {space} link show n3")).contains("xdp"));
    drop((steering, socket));
    assert!(!ip(&format!("-n {space} link show n3")).contains("xdp"));
    theirs.send_to(b"after", "10.9.0.1:2152").unwrap();
    assert_eq!(all(&ours), [b"after"]);
}

#[test]
fn frames_pass_both_ways_without_leftovers() {
    both_ways("generic", false);
}

#[test]
fn native_mode_equals_generic_mode() {
    both_ways("native", true);
}

#[test]
fn losses_of_full_ring_are_counted_exactly() {
    let Some(link) = Link::new("full") else { return };
    let ours = link.socket("a", "10.9.0.1");
    let theirs = link.socket("b", "10.9.0.9");
    let (index, ..) = tables(&link, &ours, &theirs);
    let (mut socket, _steering) = link.within("a", move || {
        let socket = XskSocket::bind(index, 0, SMALL).unwrap();
        let target = XskTarget { first: address("10.9.0.1"), count: 1, port: PORT };
        let steering = XskSteering::attach("n3", target, 1, false).unwrap();
        steering.steer(0, &socket).unwrap();
        (socket, steering)
    });
    // 64 frames are available to receive, and no reader runs in the meantime.
    for n in 0..100_u8 {
        theirs.send_to(&[n; 8], "10.9.0.1:2152").unwrap();
    }
    std::thread::sleep(Duration::from_millis(50));
    let mut came = Vec::new();
    while socket.receive(64, |frame| came.push(frame[42])) > 0 {}
    assert_eq!(
        came,
        (0..64).collect::<Vec<_>>(),
        "a full ring must keep the first frames and lose the later ones"
    );
    let told = socket.statistics().unwrap();
    assert_eq!(told.lost(), 36, "{told:?}");
    // The frames are free again, so the next packet is received.
    theirs.send_to(&[200; 8], "10.9.0.1:2152").unwrap();
    assert!(wait_readable(&[socket.as_fd()], Duration::from_secs(2)).unwrap());
    assert_eq!(socket.receive(64, |frame| assert_eq!(frame[42], 200)), 1);
    assert_eq!(socket.statistics().unwrap().lost(), 36);
}

#[test]
fn sending_on_disabled_device_is_an_error() {
    let Some(link) = Link::new("down") else { return };
    let mut socket = link.within("a", || {
        let index = route(address("10.9.0.1"), address("10.9.0.9")).unwrap().device;
        XskSocket::bind(index, 0, SMALL).unwrap()
    });
    ip(&format!("-n {} link set n3 down", link.space("a")));
    assert!(socket.push(|room| {
        room[..60].fill(0xff);
        Some(60)
    }));
    // 100 is ENETDOWN.
    assert_eq!(socket.send().unwrap_err().raw_os_error(), Some(100));
}
