//! Kernel-specific behaviour of SCTP associations: payload protocol identifiers, multi-homing, abort, restart, silent
//! loss. Runs if the kernel has SCTP; `make test-sctp` starts one that has. The far end is in the network namespace
//! named by `RANLAB_FAR`, behind two links: 10.1.0.1 to 10.1.0.2 (far1), 10.2.0.1 to 10.2.0.2 (far2).
#![allow(clippy::unwrap_used)] // Helpers outside #[test] functions are tests too.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_net::sctp::{Association, MessageInfo};
use ranlab_net::stamped::enter_namespace;
use ranlab_transport::*;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Timeout of a test. It is longer than the detection of a lost path.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time for a retransmission on the other path: two attempts, the first after one second.
const FAILOVER: Duration = Duration::from_secs(20);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, future).await.expect("the test must end within the time limit")
    })
}

/// Returns whether the kernel has SCTP; prints a notice if not.
fn kernel() -> bool {
    let support = ranlab_net::sctp_support();
    if let Err(why) = &support {
        ranlab_host::doctor::skipped(format_args!("SCTP of a kernel: {why}"));
    }
    support.is_ok()
}

/// Returns the namespace of the far end.
fn far() -> Option<PathBuf> {
    let far = std::env::var_os("RANLAB_FAR").map(PathBuf::from).filter(|_| kernel());
    if far.is_none() {
        ranlab_host::doctor::skipped("SCTP between two namespaces: RANLAB_FAR names none (make test-sctp)");
    }
    far
}

/// Runs a function in the namespace of the far end.
fn over_there<T: Send + 'static>(
    far: &Path,
    what: impl FnOnce() -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let far = far.to_owned();
    thread::spawn(move || {
        enter_namespace(&far).unwrap();
        what()
    })
}

/// Takes a link down or up. Must be called at the far end.
fn wire(number: u8, state: &str) {
    let cut = Command::new("ip").args(["link", "set", &format!("far{number}"), state]).status().unwrap();
    assert!(cut.success());
}

async fn listener(address: &str) -> Listener {
    Listener::bind(&address.parse().unwrap(), &SocketOptions::default()).await.unwrap()
}

/// Returns the next PDU, or `None` at the end.
async fn next(stream: &Stream) -> io::Result<Option<Bytes>> {
    let mut reader = FrameReader::with_framer(MAX_PDU_BYTES, stream.framer());
    loop {
        match reader.fill(stream)? {
            ReadOutcome::WouldBlock => stream.readable().await?,
            ReadOutcome::Closed => return Ok(None),
            ReadOutcome::Bytes(_) => match reader.next().unwrap() {
                Some(pdu) => return Ok(Some(pdu)),
                None => continue,
            },
        }
    }
}

async fn send(stream: &Stream, pdu: &'static [u8]) {
    let frames = [Frame { head: &[], body: &Bytes::from_static(pdu) }];
    let mut writer = FrameWriter::with_framer(MAX_PDU_BYTES, stream.framer());
    while writer.write(stream, &frames).unwrap().taken == 0 {
        stream.writable().await.unwrap();
    }
}

/// Returns a blocking socket with a fixed port, as programs in C use it.
fn stock(own: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::SCTP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&SockAddr::from(own)).unwrap();
    socket
}

fn abort(socket: Socket) {
    socket.set_linger(Some(Duration::ZERO)).unwrap();
    drop(socket);
}

/// Sends after the association has been established.
fn send_as(association: &Association, ppid: u32, pdu: &[u8]) {
    let begun = Instant::now();
    while let Err(error) = association.send(pdu, MessageInfo { stream: 1, ppid }) {
        assert!(begun.elapsed() < FAILOVER, "{error}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn receive(association: &Association) -> (Vec<u8>, MessageInfo) {
    let begun = Instant::now();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match association.receive(&mut buffer) {
            Ok(came) if came.notification.is_none() => {
                assert!(came.whole);
                return (buffer[..came.bytes].to_vec(), came.info.unwrap());
            }
            Ok(_) => {}
            Err(error) => assert!(begun.elapsed() < FAILOVER, "{error}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Messages to a peer have the same identifier as the messages from it (FlexRIC: 0, E2AP: 70).
#[test]
fn peer_gets_its_own_payload_protocol_identifier() {
    if !kernel() {
        return;
    }
    block_on(async {
        let listener = listener("sctp://127.0.0.1:0").await;
        let Address::Sctp { port, .. } = *listener.address() else { unreachable!() };
        for ppid in [0, 70, 71] {
            let peer = thread::spawn(move || {
                let peer = Association::connect(&[SocketAddr::from(([127, 0, 0, 1], port))]).unwrap();
                // Before the peer's first message, the identifier of E2AP (70) is used.
                let unasked = receive(&peer).1.ppid;
                send_as(&peer, ppid, b"from an unknown peer");
                (unasked, receive(&peer))
            });
            let (stream, _) = listener.accept().await.unwrap();
            send(&stream, b"first").await;
            assert_eq!(next(&stream).await.unwrap().as_deref(), Some(&b"from an unknown peer"[..]));
            send(&stream, b"answer").await;
            let (unasked, (answer, info)) = peer.join().unwrap();
            assert_eq!((unasked, answer.as_slice(), info.ppid), (70, &b"answer"[..], ppid));
        }
    });
}

#[test]
fn abort_is_error_instead_of_end() {
    if !kernel() {
        return;
    }
    block_on(async {
        let listener = listener("sctp://127.0.0.1:0").await;
        let Address::Sctp { port, .. } = *listener.address() else { unreachable!() };
        let peer = thread::spawn(move || {
            let peer = stock(SocketAddr::from(([127, 0, 0, 1], 0)));
            peer.connect(&SockAddr::from(SocketAddr::from(([127, 0, 0, 1], port)))).unwrap();
            // An association that is aborted before it is accepted reports only its end.
            assert_eq!(io::Read::read(&mut &peer, &mut [0; 16]).unwrap(), 5);
            abort(peer);
        });
        let (stream, _) = listener.accept().await.unwrap();
        send(&stream, b"there").await;
        peer.join().unwrap();
        assert_eq!(next(&stream).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    });
}

/// If the peer restarts an association, the listener gets the end of the old one, and a new connection.
#[test]
fn restarted_peer_is_new_connection() {
    let Some(far) = far() else { return };
    block_on(async {
        let listener = listener("sctp://0.0.0.0:36431").await;
        let peer = over_there(&far, || {
            let place = |text: &str| text.parse::<SocketAddr>().unwrap();
            let own = place("10.1.0.2:40000");
            let ric = place("10.1.0.1:36431");
            let before = stock(own);
            before.connect(&SockAddr::from(ric)).unwrap();
            before.send(b"before").unwrap();
            thread::sleep(Duration::from_secs(1));
            // The links go down, so that the peer's last messages are lost, as after a power failure.
            wire(1, "down");
            wire(2, "down");
            abort(before);
            wire(1, "up");
            wire(2, "up");
            let after = stock(own);
            after.connect(&SockAddr::from(ric)).unwrap();
            after.send(b"after").unwrap();
            let mut answer = [0; 16];
            let read = io::Read::read(&mut &after, &mut answer).unwrap();
            answer[..read].to_vec()
        });
        let (before, name) = listener.accept().await.unwrap();
        assert_eq!(next(&before).await.unwrap().as_deref(), Some(&b"before"[..]));
        assert_eq!(next(&before).await.unwrap(), None, "the restart must end the old association");
        let (after, again) = listener.accept().await.unwrap();
        assert_eq!(again, name);
        assert!(before.try_write_vectored(&[io::IoSlice::new(b"to nobody")]).is_err());
        assert_eq!(next(&after).await.unwrap().as_deref(), Some(&b"after"[..]));
        // Dropping the old connection does not affect the new one.
        drop(before);
        send(&after, b"to the new one").await;
        assert_eq!(peer.join().unwrap(), b"to the new one");
    });
}

/// Both endpoints have two addresses, whether configured or not. Data sent while one link is down uses the other link.
#[test]
fn path_failure_loses_no_data() {
    let Some(far) = far() else { return };
    for (at, to) in [
        ("sctp://10.1.0.1,10.2.0.1:36432", "sctp://10.1.0.1,10.2.0.1:36432"),
        ("sctp://0.0.0.0:36433", "sctp://10.1.0.1:36433"),
    ] {
        block_on(async {
            let listener = listener(at).await;
            let peer = over_there(&far, move || {
                block_on(async {
                    let stream = connect(&to.parse().unwrap(), &SocketOptions::default()).await.unwrap();
                    send(&stream, b"over the first").await;
                    assert_eq!(next(&stream).await.unwrap().as_deref(), Some(&b"over the first, too"[..]));
                    // Unconfirmed paths carry no data until a heartbeat was acknowledged.
                    tokio::time::sleep(Duration::from_secs(3)).await;
                    wire(1, "down");
                    let begun = Instant::now();
                    send(&stream, b"over the second").await;
                    assert_eq!(next(&stream).await.unwrap().as_deref(), Some(&b"over the second, too"[..]));
                    let took = begun.elapsed();
                    wire(1, "up");
                    took
                })
            });
            let (stream, _) = listener.accept().await.unwrap();
            assert_eq!(next(&stream).await.unwrap().as_deref(), Some(&b"over the first"[..]));
            send(&stream, b"over the first, too").await;
            assert_eq!(next(&stream).await.unwrap().as_deref(), Some(&b"over the second"[..]));
            send(&stream, b"over the second, too").await;
            let took = peer.join().unwrap();
            println!("{at}: after the path failure, a round trip over the other path took {took:?}");
            assert!(took < FAILOVER, "{took:?}");
        });
    }
}

/// An idle association whose peer has disappeared silently is detected.
#[test]
fn silent_loss_of_peer_is_detected() {
    let Some(far) = far() else { return };
    block_on(async {
        let listener = listener("sctp://10.1.0.1:36434").await;
        let peer = over_there(&far, || {
            block_on(async {
                let address = "sctp://10.1.0.1:36434".parse().unwrap();
                let stream = connect(&address, &SocketOptions::default()).await.unwrap();
                send(&stream, b"there").await;
                tokio::time::sleep(Duration::from_secs(1)).await;
                wire(1, "down");
                wire(2, "down");
            });
        });
        let (stream, _) = listener.accept().await.unwrap();
        assert_eq!(next(&stream).await.unwrap().as_deref(), Some(&b"there"[..]));
        let begun = Instant::now();
        let gone = next(&stream).await.unwrap_err();
        println!("the silent loss of the peer is noticed within {:?}: {gone}", begun.elapsed());
        assert_eq!(gone.kind(), io::ErrorKind::TimedOut);
        peer.join().unwrap();
        over_there(&far, || {
            wire(1, "up");
            wire(2, "up");
        })
        .join()
        .unwrap();
    });
}
