//! Transport tests that run over TCP, Unix sockets and memory.
#![allow(clippy::unwrap_used)] // Helpers outside #[test] functions are tests too.

use std::fs;
use std::io::{self, IoSlice};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use ranlab_transport::*;

/// Directory of one test; it is removed when the test ends.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ranlab-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn address(&self) -> Address {
        Address::Unix(self.0.join("sock"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn every_transport(test: &str) -> (Directory, [Address; 3]) {
    let directory = Directory::new(test);
    let tcp = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    let addresses = [tcp, directory.address(), Address::Memory(test.into())];
    (directory, addresses)
}

/// Returns options with small buffers, which a test can fill quickly.
fn narrow() -> SocketOptions {
    SocketOptions::default().with(|options| {
        (options.send_buffer_bytes, options.receive_buffer_bytes) = (8 << 10, 8 << 10);
        options.local_buffer_bytes = 8 << 10;
    })
}

async fn pair(address: &Address, options: &SocketOptions) -> (Listener, Stream, Stream) {
    let listener = Listener::bind(address, options).await.unwrap();
    let near = connect(listener.address(), options).await.unwrap();
    let (far, peer) = listener.accept().await.unwrap();
    assert!(peer.starts_with(&address.to_string()[..6]), "{peer}");
    (listener, near, far)
}

async fn write_all(stream: &Stream, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match stream.try_write_vectored(&[IoSlice::new(bytes)]) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads until `count` frames have arrived.
async fn read_frames(stream: &Stream, reader: &mut FrameReader, count: usize) -> Vec<Bytes> {
    let mut frames = Vec::new();
    while frames.len() < count {
        match reader.fill(stream).unwrap() {
            ReadOutcome::WouldBlock => stream.readable().await.unwrap(),
            ReadOutcome::Closed => panic!("the stream was closed after {} of {count} frames", frames.len()),
            ReadOutcome::Bytes(_) => {
                while let Some(frame) = reader.next().unwrap() {
                    frames.push(frame);
                }
            }
        }
    }
    frames
}

fn framed(pdus: &[Vec<u8>]) -> Vec<u8> {
    pdus.iter().flat_map(|pdu| [&(pdu.len() as u32).to_be_bytes()[..], pdu].concat()).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), future).await.expect("the test must end within 60 s")
    })
}

#[test]
fn frames_arrive_with_any_fragmentation() {
    block_on(async {
        let (_directory, addresses) = every_transport("fragments");
        let pdus: Vec<Vec<u8>> = (1..40).map(|n| vec![n; usize::from(n)]).collect();
        let bytes = framed(&pdus);
        for address in &addresses {
            let (_listener, near, far) = pair(address, &SocketOptions::default()).await;
            let mut reader = FrameReader::default();
            for cut in 1..bytes.len() {
                let (first, second) = bytes.split_at(cut);
                write_all(&near, first).await;
                let mut frames = Vec::new();
                while reader.fill(&far).unwrap() == ReadOutcome::WouldBlock {
                    far.readable().await.unwrap();
                }
                while let Some(frame) = reader.next().unwrap() {
                    frames.push(frame);
                }
                write_all(&near, second).await;
                let missing = pdus.len() - frames.len();
                frames.extend(read_frames(&far, &mut reader, missing).await);
                assert_eq!(frames, pdus, "{address}: the stream was cut at byte {cut}");
                assert_eq!(reader.unfinished_bytes(), 0);
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any PDUs, split into head and body anywhere, pass unchanged through a pipe of any capacity.
    #[test]
    fn written_frames_are_read_unchanged(
        pdus in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..3000), any::<prop::sample::Index>()), 1..200),
        capacity in 1_usize..20_000,
    ) {
        block_on(async {
            let (near, far) = duplex(capacity);
            let near = Stream::Memory(near);
            let far = Stream::Memory(far);
            let bodies: Vec<Bytes> = pdus.iter().map(|(pdu, at)| Bytes::copy_from_slice(&pdu[at.index(pdu.len())..])).collect();
            let frames: Vec<Frame<'_>> = pdus.iter().zip(&bodies)
                .map(|((pdu, at), body)| Frame { head: &pdu[..at.index(pdu.len())], body }).collect();
            let send = async {
                let mut writer = FrameWriter::default();
                let mut taken = 0;
                let mut bytes = 0;
                while taken < frames.len() || writer.rest_bytes() > 0 {
                    let outcome = writer.write(&near, &frames[taken..]).unwrap();
                    taken += outcome.taken;
                    bytes += outcome.bytes;
                    if outcome.blocked {
                        near.writable().await.unwrap();
                    }
                }
                bytes
            };
            let mut reader = FrameReader::default();
            let (bytes, received) = tokio::join!(send, read_frames(&far, &mut reader, frames.len()));
            let sent: Vec<_> = pdus.iter().map(|(pdu, _)| pdu.clone()).collect();
            assert_eq!(bytes, framed(&sent).len());
            assert_eq!(received, sent);
        });
    }
}

#[test]
fn invalid_length_is_refused_before_allocation() {
    block_on(async {
        let (_directory, addresses) = every_transport("length");
        for address in &addresses {
            for (length, expected) in [
                (i32::MAX as u32, FrameError::TooLong { announced: i32::MAX as usize, limit: 1000 }),
                (u32::MAX, FrameError::TooLong { announced: u32::MAX as usize, limit: 1000 }),
                (1001, FrameError::TooLong { announced: 1001, limit: 1000 }),
                (0, FrameError::Empty),
            ] {
                let (_listener, near, far) = pair(address, &SocketOptions::default()).await;
                write_all(&near, &length.to_be_bytes()).await;
                let mut reader = FrameReader::new(1000);
                while reader.fill(&far).unwrap() == ReadOutcome::WouldBlock {
                    far.readable().await.unwrap();
                }
                assert_eq!(reader.next(), Err(expected));
                assert_eq!(reader.next(), Err(expected), "a framing error must persist");
            }
        }
    });
}

#[test]
fn largest_frame_passes_through_small_buffers() {
    block_on(async {
        let (_directory, addresses) = every_transport("limit");
        let body = Bytes::from(vec![7; MAX_PDU_BYTES]);
        for address in &addresses {
            let (_listener, near, far) = pair(address, &narrow()).await;
            let send = async {
                let mut writer = FrameWriter::default();
                let frames = [Frame { head: &[], body: &body }];
                let first = writer.write(&near, &frames).unwrap();
                assert_eq!((first.taken, first.blocked), (1, true));
                assert_eq!(writer.rest_bytes(), body.len() + LENGTH_BYTES - first.bytes);
                while writer.rest_bytes() > 0 {
                    near.writable().await.unwrap();
                    assert_eq!(writer.write(&near, &[]).unwrap().taken, 0);
                }
            };
            let mut reader = FrameReader::default();
            let ((), frames) = tokio::join!(send, read_frames(&far, &mut reader, 1));
            assert_eq!(frames.len(), 1);
            assert_eq!(frames[0], body);
        }
    });
}

#[test]
fn writer_refuses_empty_and_overlong_frames_before_writing() {
    block_on(async {
        let (near, far) = duplex(1000);
        let near = Stream::Memory(near);
        let far = Stream::Memory(far);
        let fine = Bytes::from_static(b"fine");
        let none = Bytes::new();
        let long = Bytes::from(vec![0; 11]);
        let mut writer = FrameWriter::new(10);
        for wrong in [&none, &long] {
            let frames = [Frame { head: &[], body: &fine }, Frame { head: &[], body: wrong }];
            let error = writer.write(&near, &frames).unwrap_err();
            assert!(matches!(error, WriteError::Length { index: 1, limit: 10, .. }), "{error}");
        }
        assert_eq!(FrameReader::default().fill(&far).unwrap(), ReadOutcome::WouldBlock);
    });
}

#[test]
fn all_tasks_waiting_for_stream_are_woken() {
    block_on(async {
        let (_directory, addresses) = every_transport("waiting");
        for address in &addresses {
            let (_listener, near, far) = pair(address, &narrow()).await;
            let near = Arc::new(near);
            let far = Arc::new(far);
            let waiting = |stream: &Arc<Stream>, to_write: bool| {
                let stream = Arc::clone(stream);
                let task = tokio::spawn(async move {
                    if to_write { stream.writable().await } else { stream.readable().await }
                });
                // The timeout is outside of the task, because its expiry would wake the task.
                tokio::time::timeout(Duration::from_secs(10), task)
            };
            // A new socket counts as readable until a read has returned no data.
            assert_eq!(far.try_read(&mut BytesMut::new()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let readers = [(); 3].map(|()| waiting(&far, false));
            tokio::task::yield_now().await;
            // Writes until the stream stays full.
            while tokio::time::timeout(Duration::from_millis(50), near.writable()).await.is_ok() {
                let _ = near.try_write_vectored(&[IoSlice::new(&[0; 4096])]);
            }
            for reader in readers {
                reader
                    .await
                    .expect("each waiting reader must be woken within 10 s after a write")
                    .unwrap()
                    .unwrap();
            }
            let writers = [(); 3].map(|()| waiting(&near, true));
            tokio::task::yield_now().await;
            let mut read = BytesMut::with_capacity(1 << 20);
            while tokio::time::timeout(Duration::from_millis(50), far.readable()).await.is_ok() {
                let _ = far.try_read(&mut read);
            }
            for writer in writers {
                writer
                    .await
                    .expect("each waiting writer must be woken within 10 s after a read")
                    .unwrap()
                    .unwrap();
            }
        }
    });
}

#[test]
fn writer_blocks_without_loss_if_peer_does_not_read() {
    block_on(async {
        let (_directory, addresses) = every_transport("pressure");
        let body = Bytes::from(vec![1; 1000]);
        let frames = vec![Frame { head: b"head", body: &body }; 10_000];
        for address in &addresses {
            let (_listener, near, far) = pair(address, &narrow()).await;
            let mut writer = FrameWriter::default();
            let mut outcome = writer.write(&near, &frames).unwrap();
            assert!(outcome.blocked && outcome.taken < frames.len(), "{address}");
            // A blocked stream keeps returning `WouldBlock`, and is not writable until the peer reads.
            for _ in 0..100 {
                let wait = tokio::time::timeout(Duration::from_millis(50), near.writable()).await;
                let more = writer.write(&near, &frames[outcome.taken..]).unwrap();
                outcome.taken += more.taken;
                if wait.is_err() && more.bytes == 0 {
                    break;
                }
            }
            assert!(
                outcome.taken < 2_000,
                "{address}: {} frames of 1 kB were accepted although the peer does not read",
                outcome.taken
            );
            let complete = outcome.taken - usize::from(writer.rest_bytes() > 0);
            let mut reader = FrameReader::default();
            let received = read_frames(&far, &mut reader, complete).await;
            assert!(received.iter().all(|frame| frame.len() == 1004));
            near.writable().await.unwrap();
        }
    });
}

#[test]
fn reader_gets_last_bytes_before_close_and_later_writes_fail() {
    block_on(async {
        let (_directory, addresses) = every_transport("end");
        for address in &addresses {
            let (_listener, near, far) = pair(address, &SocketOptions::default()).await;
            write_all(&near, &[0, 0, 0, 2, 8, 9, 0]).await;
            drop(near);
            let mut reader = FrameReader::default();
            assert_eq!(read_frames(&far, &mut reader, 1).await, [vec![8, 9]]);
            loop {
                match reader.fill(&far).unwrap() {
                    ReadOutcome::WouldBlock => far.readable().await.unwrap(),
                    ReadOutcome::Closed => break,
                    ReadOutcome::Bytes(_) => {
                        panic!("no bytes were sent after the last frame, so none may arrive")
                    }
                }
            }
            assert_eq!(reader.unfinished_bytes(), 1);
            let gone = loop {
                match far.try_write_vectored(&[IoSlice::new(b"x")]) {
                    Ok(_) => tokio::task::yield_now().await,
                    Err(error) => break error.kind(),
                }
            };
            assert!(matches!(gone, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset), "{gone}");
        }
    });
}

#[test]
fn waiting_reader_is_woken_by_writer_on_same_thread() {
    block_on(async {
        let (_directory, addresses) = every_transport("woken");
        for address in &addresses {
            let (_listener, near, far) = pair(address, &SocketOptions::default()).await;
            let mut buf = BytesMut::with_capacity(16);
            let read = async {
                loop {
                    match far.try_read(&mut buf) {
                        Ok(read) => break read,
                        Err(_) => far.readable().await.unwrap(),
                    }
                }
            };
            let write = async {
                tokio::task::yield_now().await;
                // Writes in the other direction of the same stream, while `far` is awaited.
                write_all(&far, b"back").await;
                write_all(&near, b"there").await;
            };
            assert_eq!(tokio::join!(read, write).0, 5);
            assert_eq!(&buf[..], b"there");
        }
    });
}

/// If all frames in a buffer have been dropped, the reader reuses the buffer from its start instead of allocating.
#[test]
fn buffer_is_reused_after_its_frames_are_dropped() {
    block_on(async {
        let (near, far) = duplex(1 << 20);
        let near = Stream::Memory(near);
        let far = Stream::Memory(far);
        let mut reader = FrameReader::default();
        let mut places = std::collections::HashSet::new();
        for _ in 0..1000 {
            write_all(&near, &framed(&[vec![5; 900]])).await;
            let frames = read_frames(&far, &mut reader, 1).await;
            places.insert(frames[0].as_ptr());
        }
        assert_eq!(places.len(), 1, "all frames must start at the same address of one buffer");
        // Frames that are kept are not overwritten.
        let mut kept = Vec::new();
        for n in 0..1000 {
            write_all(&near, &framed(&[vec![n as u8; 900]])).await;
            kept.extend(read_frames(&far, &mut reader, 1).await);
        }
        assert!(kept.iter().enumerate().all(|(n, frame)| frame.iter().all(|byte| *byte == n as u8)));
    });
}

#[test]
fn bind_reports_address_in_use_and_connect_reports_missing_listener() {
    block_on(async {
        let options = SocketOptions::default();
        let (_directory, addresses) = every_transport("taken");
        for address in &addresses {
            let listener = Listener::bind(address, &options).await.unwrap();
            let bound = listener.address().clone();
            let error = Listener::bind(&bound, &options).await.unwrap_err();
            assert_eq!(error.to_string(), format!("{bound} is in use by another listener"));
            drop(listener);
            let error = connect(&bound, &options).await.unwrap_err();
            let expected = if matches!(bound, Address::Unix(_)) {
                "there is no socket at"
            } else {
                "no program listens at"
            };
            assert_eq!(error.to_string(), format!("{expected} {bound}"));
            drop(Listener::bind(&bound, &options).await.unwrap());
        }
    });
}

#[test]
fn unix_listener_creates_private_file_and_replaces_only_stale_sockets() {
    block_on(async {
        let directory = Directory::new("file");
        let address = directory.address();
        let Address::Unix(path) = &address else { unreachable!() };
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;

        // A listener that ended without cleaning up: the standard library never removes the file.
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        let listener = Listener::bind(&address, &SocketOptions::default()).await.unwrap();
        assert_eq!(mode(path), 0o600);
        drop(listener);
        assert!(!path.exists(), "the listener must remove its socket file when it is dropped");

        let open = SocketOptions::default().with(|options| options.unix_mode = 0o666);
        let listener = Listener::bind(&address, &open).await.unwrap();
        assert_eq!(mode(path), 0o666);
        drop(listener);

        fs::write(path, "somebody's").unwrap();
        let error = Listener::bind(&address, &SocketOptions::default()).await.unwrap_err();
        assert!(matches!(error, BindError::NotASocket { .. }), "{error}");
        assert_eq!(fs::read_to_string(path).unwrap(), "somebody's");

        let nowhere = Address::Unix(directory.0.join("no/such"));
        let error = Listener::bind(&nowhere, &SocketOptions::default()).await.unwrap_err();
        assert!(matches!(error, BindError::NoDirectory { .. }), "{error}");
    });
}

#[test]
fn unavailable_transports_report_reason() {
    block_on(async {
        let options = SocketOptions::default();
        for (text, word) in [("tls://127.0.0.1:36421", "TLS"), ("sctp://127.0.0.1:36421", "SCTP")] {
            let address: Address = text.parse().unwrap();
            if word == "SCTP" && ranlab_net::sctp_support().is_ok() {
                continue;
            }
            let refused = connect(&address, &options).await.unwrap_err().to_string();
            assert!(
                refused.contains(text) && refused.contains(word) && refused.contains("tcp://"),
                "{refused}"
            );
            let refused = Listener::bind(&address, &options).await.unwrap_err().to_string();
            assert!(refused.contains(text) && refused.contains(word), "{refused}");
        }
        let nowhere: Address = "tcp://192.0.2.1:36421".parse().unwrap();
        let error = Listener::bind(&nowhere, &options).await.unwrap_err();
        assert!(matches!(error, BindError::NotLocal { .. }), "{error}");
    });
}

#[test]
fn every_transport_passes_conformance_suite() {
    block_on(async {
        let (directory, addresses) = every_transport("suite");
        let shim = format!("shim://{}/10.9.8.7:36421", directory.0.join("sctp").display());
        let sctp = match ranlab_net::sctp_support() {
            Ok(()) => Some("sctp://127.0.0.1:36421".to_owned()),
            Err(why) => {
                ranlab_host::doctor::skipped(format_args!("the conformance suite over sctp://: {why}"));
                None
            }
        };
        let further = sctp.into_iter().chain([shim]).map(|text| text.parse().unwrap());
        for address in addresses.into_iter().chain(further) {
            assert_eq!(suite::check(&address).await, Ok(()), "{address}");
        }
    });
}
