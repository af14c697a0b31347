//! Guarantees of the driver for any machine, tested with a machine from outside the workspace.
#![allow(clippy::unwrap_used)] // in a test a panic is the report

use ranlab_machine::{Frame, LinkLoss, Time};
use ranlab_transport::driver::{Action, Driver, Machine, ReadInterest};
use ranlab_transport::{Address, SocketOptions, Stream, connect};
use ranlab_transport::{Bytes, run};
use std::io::IoSlice;
use std::time::Duration;

const SENT: usize = 1 << 20;

/// Machine for tests: counts the bytes of a protocol that frames itself, reads while it may, and reports each
/// disconnect.
#[derive(Default)]
struct Counter {
    octets: usize,
    may_read: bool,
    lost: Vec<LinkLoss>,
}

impl Machine for Counter {
    type Key = u8;
    type Event = ();
    const FRAMES_ITSELF: bool = true;
    fn received(&mut self, _: Time, _: u8, octets: Bytes) {
        self.octets += octets.len();
    }
    fn disconnected(&mut self, _: Time, _: u8, why: LinkLoss) {
        self.lost.push(why);
    }
    fn may_read(&mut self, _: u8) -> bool {
        self.may_read
    }
    fn poll(&mut self) -> Option<Action<u8, ()>> {
        None
    }
    fn transmit(&mut self, _: Time, _: u8) -> Option<Frame> {
        None
    }
}

/// Writes until `octets` bytes are sent or no data is accepted for a while. Returns the number of written bytes.
async fn write(stream: &Stream, octets: usize) -> usize {
    let chunk = vec![7; 64 << 10];
    let mut sent = 0;
    while sent < octets {
        match stream.try_write_vectored(&[IoSlice::new(&chunk[..chunk.len().min(octets - sent)])]) {
            Ok(taken) => sent += taken,
            Err(_) if tokio::time::timeout(Duration::from_millis(200), stream.writable()).await.is_err() => {
                break;
            }
            Err(_) => {}
        }
    }
    sent
}

#[test]
fn machine_that_stops_reading_blocks_peer_without_loss() {
    run(async {
        let driver =
            Driver::start(Counter::default(), SocketOptions::default(), SENT, |()| ReadInterest::GoesOn);
        let place: Address = "mem://driver-held".parse().unwrap();
        driver.listen(&place, |_, _, _| Some(1)).await.unwrap();
        let peer = connect(&place, &SocketOptions::default()).await.unwrap();
        let first = write(&peer, SENT).await;
        assert!(first < SENT, "a memory stream buffers 64 KiB, so not all messages can have been sent");
        assert_eq!(driver.read(|counter| counter.octets), 0);
        driver.with(|counter, _| counter.may_read = true);
        assert_eq!(first + write(&peer, SENT - first).await, SENT);
        drop(peer);
        while driver.read(|counter| counter.lost.is_empty()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        driver.read(|counter| {
            assert_eq!((counter.octets, &counter.lost[..]), (SENT, &[LinkLoss::ClosedByPeer][..]));
        });
        assert_eq!(driver.links(), 0);
    });
}
