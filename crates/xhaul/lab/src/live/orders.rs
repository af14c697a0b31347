//! Tests of the kernel's packet schedulers. They check the order in which frames of two classes leave an overloaded link. Times are only
//! checked for gates.
//!
//! If the kernel lacks a scheduler, its test is skipped, unless `RANLAB_SCHEDULERS` is `all`, as in the machine that
//! `make test-sriov` boots.
#![allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use ranlab_host::netns::{LAUNCHED, Link, NetnsError, RankOrder, Testbed};
use ranlab_net::launch::{launch_timed, port_bps, send_at, tai_ns};
use ranlab_net::stamped::{open_tap, receive_stamped, stamp_received};
use ranlab_packet::EtherType;

use super::topology::in_namespace;
use super::traffic::datagram;
use ranlab_lab::environment;

const CELL: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
const BACKGROUND: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 3);
const SINK: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
/// Number of frames per class.
const FRAMES: usize = 40;
const PAYLOAD: usize = 1_000;
const RATE_BPS: u64 = 1_000_000;
const QUEUE_BYTES: u64 = 200_000;
const PORT: u16 = 9;

/// Two namespaces and a link between them.
struct TestNetwork {
    testbed: Testbed,
    near: String,
    tap: std::os::fd::OwnedFd,
    _sink: UdpSocket,
}

impl TestNetwork {
    fn new() -> Self {
        let mut testbed = Testbed::new().unwrap();
        let near = testbed.namespace("near").unwrap();
        let far = testbed.namespace("far").unwrap();
        testbed.veth_of(8, (&near, "left"), (&far, "right")).unwrap();
        for address in [CELL, BACKGROUND] {
            testbed.ip(&near, &["addr", "add", &format!("{address}/24"), "dev", "left"]).unwrap();
        }
        testbed.ip(&far, &["addr", "add", &format!("{SINK}/24"), "dev", "right"]).unwrap();
        let (tap, sink) = in_namespace(&far, || {
            let tap = open_tap("right", EtherType::IPV4.0).map_err(environment)?;
            stamp_received(&tap, 1 << 20, Duration::from_millis(400)).map_err(environment)?;
            Ok((tap, UdpSocket::bind((SINK, PORT)).map_err(environment)?))
        })
        .unwrap();
        let yard = Self { testbed, near, tap, _sink: sink };
        // The first packets resolve the neighbour's address.
        for address in [CELL, BACKGROUND] {
            yard.from(address).send(b"first").unwrap();
        }
        assert_eq!(yard.arrived(2).len(), 2);
        yard
    }

    /// Opens a socket of a class. A socket always uses the device queue that it used first, so the link has to be configured before.
    fn from(&self, address: Ipv4Addr) -> UdpSocket {
        in_namespace(&self.near, || {
            let socket = UdpSocket::bind((address, 0)).map_err(environment)?;
            socket.connect((SINK, PORT)).map_err(environment)?;
            Ok(socket)
        })
        .unwrap()
    }

    fn at(&self) -> (&str, &str) {
        (&self.near, "left")
    }

    /// Configures the link. Returns `false` if this kernel lacks the scheduler, and schedulers are not required.
    fn configure(&self, order: RankOrder) -> bool {
        let port_bps = in_namespace(&self.near, || Ok(port_bps("left").unwrap_or(0))).unwrap();
        let ranks = [(BACKGROUND, 7)];
        let link =
            Link { rate_bps: RATE_BPS, queue_bytes: QUEUE_BYTES, port_bps, order, rank: 0, ranks: &ranks };
        accepted(self.testbed.prioritise(self.at(), &link))
    }

    /// Sends the background frames, then the frames of the cell, without a pause.
    fn burst(&self) {
        let payload = [0; PAYLOAD];
        for socket in [BACKGROUND, CELL].map(|address| self.from(address)) {
            for _ in 0..FRAMES {
                socket.send(&payload).unwrap();
            }
        }
    }

    /// Returns the frames that left the link, in order, each with source, time and first byte. Ends after `count` frames, or when no more
    /// frames arrive.
    fn arrived(&self, count: usize) -> Vec<(Ipv4Addr, u64, u8)> {
        let mut room = [0; 2048];
        let mut frames = Vec::new();
        let mut waits = 0;
        while frames.len() < count && waits < 10 {
            match receive_stamped(&self.tap, &mut room) {
                Ok(stamped) => {
                    if let Some((from, SINK, PORT, payload)) = datagram(&room[..stamped.bytes]) {
                        frames.push((from, stamped.at_ns, payload.first().copied().unwrap_or(0)));
                    }
                }
                Err(_) => waits += 1,
            }
        }
        frames
    }

    /// Returns the order of a burst's classes as a string of c (cell) and b (background).
    fn order(&self) -> String {
        self.burst();
        let frames = self.arrived(2 * FRAMES);
        let letters: String = frames.iter().map(|(from, ..)| if *from == CELL { 'c' } else { 'b' }).collect();
        println!("{letters}");
        assert_eq!(letters.len(), 2 * FRAMES, "all frames must arrive: {letters}");
        letters
    }
}

/// Returns whether the kernel accepted the configuration. A rejection is an error only if all schedulers are required.
fn accepted(result: Result<(), NetnsError>) -> bool {
    match result {
        Ok(()) => true,
        Err(error @ NetnsError::Kernel { .. })
            if std::env::var("RANLAB_SCHEDULERS").as_deref() != Ok("all") =>
        {
            ranlab_host::doctor::skipped(error.to_string());
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn yard() -> Option<TestNetwork> {
    match ranlab_host::netns::lacking().first() {
        Some(lack) => {
            ranlab_host::doctor::skipped(lack);
            None
        }
        None => Some(TestNetwork::new()),
    }
}

/// Returns two numbers of background frames: after the last frame of the cell, and between its first and last frame.
fn behind_and_between(letters: &str) -> (usize, usize) {
    let first = letters.find('c').unwrap();
    let last = letters.rfind('c').unwrap();
    let count = |part: &str| part.chars().filter(|&letter| letter == 'b').count();
    (count(&letters[last..]), count(&letters[first..last]))
}

#[test]
fn fifo_keeps_order_and_strict_priority_reverses_it() {
    let Some(yard) = yard() else { return };
    yard.testbed.shape(yard.at(), RATE_BPS, QUEUE_BYTES).unwrap();
    assert_eq!(yard.order(), format!("{}{}", "b".repeat(FRAMES), "c".repeat(FRAMES)));
    assert!(yard.configure(RankOrder::Strict), "every kernel supports this scheduler");
    let (behind, between) = behind_and_between(&yard.order());
    // Some background frames left before the first frame of the cell was queued. After that, no background frame precedes the last frame of
    // the cell.
    assert!(behind >= FRAMES / 2 && between <= 4, "{behind} {between}");
}

#[test]
fn round_robin_follows_quanta() {
    let Some(yard) = yard() else { return };
    assert!(
        yard.configure(RankOrder::Turns { own: 3_100, other: 1_550 }),
        "every kernel supports this scheduler"
    );
    let (behind, between) = behind_and_between(&yard.order());
    assert!(behind >= 5 && between >= 5, "{behind} {between}");
}

#[test]
fn credit_limits_highest_class_to_its_rate() {
    let Some(yard) = yard() else { return };
    if !yard.configure(RankOrder::Credit { idle_bps: RATE_BPS / 4 }) {
        return;
    }
    let letters = yard.order();
    let (behind, between) = behind_and_between(&letters);
    // The cell has a quarter of the link while both classes are queued. There are three background frames for each frame of the cell.
    let both = &letters[letters.find('c').unwrap()..letters.rfind('b').unwrap()];
    let cell = both.chars().filter(|&letter| letter == 'c').count();
    assert!(behind == 0 && between >= FRAMES / 2, "{behind} {between}");
    assert!((0.15..0.45).contains(&(cell as f64 / both.len() as f64)), "{cell} of {}", both.len());
}

#[test]
fn gates_pass_classes_in_their_windows() {
    const WINDOW_NS: u64 = 150_000_000;
    /// Tolerance for late timers on an emulated machine, in nanoseconds.
    const LATE_NS: u64 = 25_000_000;
    let Some(yard) = yard() else { return };
    if !yard.configure(RankOrder::Gates { entries: vec![(WINDOW_NS, 0b1), (WINDOW_NS, 0b1000_0000)] }) {
        return;
    }
    // All gates are open until the first cycle begins.
    std::thread::sleep(Duration::from_nanos(4 * WINDOW_NS));
    // The frames are sent alternately, so FIFO would deliver them alternately.
    let sockets = [BACKGROUND, CELL].map(|address| yard.from(address));
    for _ in 0..FRAMES {
        for socket in &sockets {
            socket.send(&[0; PAYLOAD]).unwrap();
        }
    }
    let frames = yard.arrived(2 * FRAMES);
    let letters: String = frames.iter().map(|(from, ..)| if *from == CELL { 'c' } else { 'b' }).collect();
    println!("{letters}");
    assert_eq!(frames.len(), 2 * FRAMES, "{letters}");
    let changes = letters.as_bytes().windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((1..=8).contains(&changes), "frames of a class must leave in its windows only: {letters}");
    let outside = frames.iter().filter(|(from, at_ns, _)| {
        let begins = if *from == CELL { 0 } else { WINDOW_NS };
        (at_ns + 2 * WINDOW_NS - begins) % (2 * WINDOW_NS) > WINDOW_NS + LATE_NS
    });
    assert!(outside.count() <= FRAMES / 10, "{frames:?}");
}

#[test]
fn device_queues_are_independent() {
    let Some(yard) = yard() else { return };
    if !yard.configure(RankOrder::Queues) {
        return;
    }
    let letters = yard.order();
    // The device chooses which queue is first. Each queue is limited to its rate, so the frames interleave.
    let (_, between) = behind_and_between(&letters);
    assert!(letters.find('c').unwrap() < FRAMES / 2 && between >= FRAMES / 4, "{letters}");
}

#[test]
fn launch_times_override_sending_order() {
    let Some(yard) = yard() else { return };
    if !accepted(yard.testbed.launch(yard.at(), Some(RATE_BPS * 100), QUEUE_BYTES, 20_000_000)) {
        return;
    }
    let cell = yard.from(CELL);
    let background = yard.from(BACKGROUND);
    launch_timed(&cell, LAUNCHED).unwrap();
    let begun = tai_ns();
    // The frame that is sent last leaves first. A frame without a launch time leaves immediately.
    for index in 0..8_u8 {
        let later = 900_000_000 - u64::from(index) * 80_000_000;
        send_at(&cell, &[index + 1; 100], begun + later).unwrap();
    }
    background.send(&[99; 100]).unwrap();
    let order: Vec<_> = yard.arrived(9).iter().map(|(.., octet)| *octet).collect();
    assert_eq!(order, [99, 8, 7, 6, 5, 4, 3, 2, 1]);
}
