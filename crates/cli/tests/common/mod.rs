//! A RIC as a real process, and peers with blocking sockets that control every byte.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used)] // in a test a panic is the report; not every test uses all
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{self, GlobalE2NodeId, Message, Plmn, RicRequestId, Version};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a response. A RIC closes a silent connection after 5 s, or later on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the binary under test: `$RANLAB` (the release binary in end-to-end tests) or the one just built.
pub fn ranlab() -> Command {
    let path = std::env::var_os("RANLAB").unwrap_or_else(|| env!("CARGO_BIN_EXE_ranlab").into());
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    command
}

/// Returns a port that was free at the time of the call.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Temporary folder of a test, removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ranlab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Listener of a RIC.
#[derive(Clone, Debug)]
pub enum RicListener {
    Tcp(u16),
    Unix(PathBuf),
}

impl RicListener {
    pub fn url(&self) -> String {
        match self {
            Self::Tcp(port) => format!("tcp://127.0.0.1:{port}"),
            Self::Unix(path) => format!("unix://{}", path.display()),
        }
    }

    pub fn connect(&self) -> io::Result<Peer> {
        let stream = match self {
            Self::Tcp(port) => Wire::Tcp(TcpStream::connect(("127.0.0.1", *port))?),
            Self::Unix(path) => Wire::Unix(UnixStream::connect(path)?),
        };
        let mut peer = Peer { stream };
        peer.timeout(PATIENCE);
        Ok(peer)
    }
}

/// RIC process with E2 and E42 over TCP and Unix sockets; killed at the end.
pub struct RicProcess {
    pub child: Child,
    pub e2: [RicListener; 2],
    pub e42: [RicListener; 2],
    _scratch: Scratch,
}

impl RicProcess {
    pub fn start(name: &str, more: &[&str]) -> Self {
        let scratch = Scratch::new(name);
        let doors = |file: &str| [RicListener::Tcp(free_port()), RicListener::Unix(scratch.0.join(file))];
        let e2 = doors("e2");
        let e42 = doors("e42");
        let mut command = ranlab();
        command.arg("ric");
        for door in &e2 {
            command.args(["--e2", &door.url()]);
        }
        for door in &e42 {
            command.args(["--e42", &door.url()]);
        }
        let child = command.args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let ric = Self { child, e2, e42, _scratch: scratch };
        let deadline = Instant::now() + Duration::from_secs(10);
        for door in ric.e2.iter().chain(&ric.e42) {
            while door.connect().is_err() {
                assert!(Instant::now() < deadline, "the RIC does not listen at {}", door.url());
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        ric
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Returns the resident memory in bytes.
    pub fn rss_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }
}

impl Drop for RicProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Connection that exchanges complete PDUs with a length prefix.
pub struct Peer {
    stream: Wire,
}

impl Peer {
    pub fn timeout(&mut self, timeout: Duration) {
        let timeout = Some(timeout);
        match &self.stream {
            Wire::Tcp(s) => s.set_read_timeout(timeout).and_then(|()| s.set_write_timeout(timeout)).unwrap(),
            Wire::Unix(s) => s.set_read_timeout(timeout).and_then(|()| s.set_write_timeout(timeout)).unwrap(),
        }
    }

    pub fn send_raw(&mut self, octets: &[u8]) -> io::Result<()> {
        match &mut self.stream {
            Wire::Tcp(s) => s.write_all(octets),
            Wire::Unix(s) => s.write_all(octets),
        }
    }

    pub fn send(&mut self, pdu: &[u8]) -> io::Result<()> {
        self.send_raw(&[&(pdu.len() as u32).to_be_bytes(), pdu].concat())
    }

    pub fn send_message(&mut self, message: &Message, version: Version) -> io::Result<()> {
        self.send(&e2ap::encode(message, version).unwrap())
    }

    /// Receives the next PDU; `None` if the peer has closed.
    pub fn receive(&mut self) -> io::Result<Option<Bytes>> {
        let mut length = [0; 4];
        match self.read_exact(&mut length) {
            Ok(()) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
                return Ok(None);
            }
            Err(e) => return Err(e),
        }
        let mut pdu = vec![0; u32::from_be_bytes(length) as usize];
        self.read_exact(&mut pdu)?;
        Ok(Some(pdu.into()))
    }

    fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<()> {
        match &mut self.stream {
            Wire::Tcp(s) => s.read_exact(buf),
            Wire::Unix(s) => s.read_exact(buf),
        }
    }
}

/// Returns a valid E2 Setup Request of FlexRIC's emulator with the node id `gnb_id`.
pub fn setup_request(gnb_id: u32) -> Message {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2/codec/tests/vectors/");
    let bytes = std::fs::read(format!("{vectors}flexric_e2setup_request_v2_03.bin")).unwrap();
    let mut message = e2ap::decode(&bytes.into(), Version::V2_03).unwrap().message;
    if let Message::E2SetupRequest(setup) = &mut message {
        setup.node_id = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), gnb_id, 32);
    }
    message
}

/// Connects a node and completes its E2 setup.
pub fn set_up_node(door: &RicListener, gnb_id: u32) -> Peer {
    let mut peer = door.connect().unwrap();
    peer.send_message(&setup_request(gnb_id), Version::V2_03).unwrap();
    let answer = peer.receive().unwrap().expect("the setup should get a response");
    let answer = e2ap::decode(&answer, Version::V2_03).unwrap().message;
    assert!(matches!(answer, Message::E2SetupResponse(_)), "{answer:?}");
    peer
}

/// Responds to a subscription by admitting all its actions; returns its request id.
pub fn admit(peer: &mut Peer, pdu: &Bytes) -> Option<RicRequestId> {
    let Message::RicSubscriptionRequest(request) = e2ap::decode(pdu, Version::V2_03).ok()?.message else {
        return None;
    };
    let response = Message::RicSubscriptionResponse(e2ap::RicSubscriptionResponse {
        request_id: request.request_id,
        function_id: request.function_id,
        admitted: request.details.actions.iter().map(|a| a.id).collect(),
        not_admitted: None,
    });
    peer.send_message(&response, Version::V2_03).ok()?;
    Some(request.request_id)
}
