//! Counts packets that a switch sends to its controllers instead of forwarding them (OFPT_PACKET_IN). Uses a separate
//! connection, so that no other request has to wait.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::session::{
    ECHO_REPLY, ECHO_REQUEST, GET_CONFIG_REPLY, GET_CONFIG_REQUEST, HEAD, HELLO, PACKET_IN, SET_CONFIG,
    message, tcp,
};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, sut};

/// Read timeout, after which the stop flag is checked.
const LOOK: Duration = Duration::from_millis(100);
/// Number of bytes of each packet that the switch is requested to send. It is set if the switch sends 0 bytes by
/// default. Open vSwitch sends packets to a connected controller only after the controller has set this length.
const OCTETS: u16 = 64;

/// Connection on which OFPT_PACKET_IN messages are counted.
pub(super) struct Listener {
    seen: Arc<ConnectionState>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ConnectionState {
    packets: AtomicU64,
    /// Whether the switch has closed the connection.
    gone: AtomicBool,
}

impl Listener {
    /// Connects to the switch at `at`.
    pub(super) fn connect(at: SocketAddr) -> Result<Self, ComponentError> {
        let mut stream = tcp(at)?;
        stream.set_read_timeout(Some(LOOK)).map_err(environment)?;
        let greeting = [message(HELLO, 0, &[]), message(GET_CONFIG_REQUEST, 1, &[])].concat();
        stream.write_all(&greeting).map_err(environment)?;
        let seen = Arc::new(ConnectionState::default());
        let stop = Arc::new(AtomicBool::new(false));
        let counted = Arc::clone(&seen);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let ended = listen(&mut stream, &counted, &stopped);
            counted.gone.store(ended.is_err(), Ordering::Relaxed);
        });
        Ok(Self { seen, stop, thread: Some(thread) })
    }

    /// Returns the number of packets received.
    pub(super) fn packets(&self) -> u64 {
        self.seen.packets.load(Ordering::Relaxed)
    }

    /// Returns an error if the switch has closed the connection.
    pub(super) fn check(&self) -> Result<(), ComponentError> {
        if self.seen.gone.load(Ordering::Relaxed) {
            return Err(sut("the switch has closed its OpenFlow connection"));
        }
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads and discards messages until `stop` is set.
fn listen(stream: &mut TcpStream, seen: &ConnectionState, stop: &AtomicBool) -> std::io::Result<()> {
    let mut head = [0; HEAD];
    let mut body = vec![0; usize::from(u16::MAX)];
    // Configuration to be restored at the end, if it was changed.
    let mut as_before = None;
    loop {
        let mut whole = fill(stream, &mut head, stop)?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]])).saturating_sub(HEAD);
        whole = whole && fill(stream, &mut body[..length], stop)?;
        if !whole {
            return as_before.map_or(Ok(()), |config: Vec<u8>| stream.write_all(&config));
        }
        match head[1] {
            PACKET_IN => {
                seen.packets.fetch_add(1, Ordering::Relaxed);
            }
            // A switch considers a controller dead if it does not reply to echo requests.
            ECHO_REQUEST => {
                let xid = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
                stream.write_all(&message(ECHO_REPLY, xid, &body[..length]))?;
            }
            // Only the length is changed, and the flags remain unchanged.
            GET_CONFIG_REPLY if length >= 4 && body[2..4] == [0, 0] => {
                let [octets, none] = [OCTETS, 0].map(|octets| [&body[..2], &octets.to_be_bytes()].concat());
                stream.write_all(&message(SET_CONFIG, 2, &octets))?;
                as_before = Some(message(SET_CONFIG, 3, &none));
            }
            _ => {}
        }
    }
}

/// Fills a buffer from the stream. Returns false if `stop` was set.
fn fill(stream: &mut TcpStream, buffer: &mut [u8], stop: &AtomicBool) -> std::io::Result<bool> {
    let mut at = 0;
    while at < buffer.len() {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match stream.read(&mut buffer[at..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(octets) => at += octets,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    fn until(what: impl Fn() -> bool) {
        let begun = Instant::now();
        while !what() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn listener_counts_packets_answers_echoes_and_detects_close() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::connect(server.local_addr().unwrap()).unwrap();
        let (mut switch, _) = server.accept().unwrap();
        let mut greeting = [0; 2 * HEAD];
        switch.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting, [message(HELLO, 0, &[]), message(GET_CONFIG_REQUEST, 1, &[])].concat()[..]);
        // If the length field is smaller than the header, the length of the header is used.
        let mut short = message(PACKET_IN, 1, &[]);
        short[3] = 2;
        switch
            .write_all(&[message(PACKET_IN, 7, &[9; 60]), short, message(ECHO_REQUEST, 8, b"x")].concat())
            .unwrap();
        let mut echo = [0; HEAD + 1];
        switch.read_exact(&mut echo).unwrap();
        assert_eq!(echo, message(ECHO_REPLY, 8, b"x")[..]);
        assert_eq!(listener.packets(), 2);
        listener.check().unwrap();
        drop(switch);
        until(|| listener.check().is_err());
    }

    #[test]
    fn silent_switch_does_not_block_shutdown() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::connect(server.local_addr().unwrap()).unwrap();
        let (mut switch, _) = server.accept().unwrap();
        listener.check().unwrap();
        drop(listener);
        let mut all = Vec::new();
        switch.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 2 * HEAD, "an unchanged configuration is not restored");
    }

    #[test]
    fn miss_length_is_set_and_restored() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::connect(server.local_addr().unwrap()).unwrap();
        let (mut switch, _) = server.accept().unwrap();
        switch.read_exact(&mut [0; 2 * HEAD]).unwrap();
        switch.write_all(&message(GET_CONFIG_REPLY, 1, &[0, 2, 0, 0])).unwrap();
        let mut set = [0; HEAD + 4];
        switch.read_exact(&mut set).unwrap();
        assert_eq!(set, message(SET_CONFIG, 2, &[0, 2, 0, 64])[..]);
        // If the switch already sends enough bytes, its configuration is left unchanged.
        switch.write_all(&message(GET_CONFIG_REPLY, 1, &[0, 2, 0, 128])).unwrap();
        drop(listener);
        switch.read_exact(&mut set).unwrap();
        assert_eq!(set, message(SET_CONFIG, 3, &[0, 2, 0, 0])[..]);
    }
}
