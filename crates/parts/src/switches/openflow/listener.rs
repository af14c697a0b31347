//! Packets that a switch does not forward itself: it sends them to its controllers (OFPT_PACKET_IN), of which we are one. They are
//! counted on a connection of their own, whose answers nothing else waits for.

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
use crate::worker::Trouble;
use crate::{environment, sut};

/// How long a wait lasts until it is looked whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// Octets of a packet that are asked for, where a switch sends us none otherwise: Open vSwitch tells those who connect to it, rather
/// than it to them, nothing before they have said how much.
const OCTETS: u16 = 64;

/// Who counts.
pub(super) struct Listener {
    seen: Arc<Seen>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    packets: AtomicU64,
    /// The connection has ended, though nobody here ended it.
    gone: AtomicBool,
}

impl Listener {
    /// Connects to a switch at an address.
    pub(super) fn connect(at: SocketAddr) -> Result<Self, Trouble> {
        let mut stream = tcp(at)?;
        stream.set_read_timeout(Some(LOOK)).map_err(environment)?;
        let greeting = [message(HELLO, 0, &[]), message(GET_CONFIG_REQUEST, 1, &[])].concat();
        stream.write_all(&greeting).map_err(environment)?;
        let (seen, stop) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let ended = listen(&mut stream, &counted, &stopped);
            counted.gone.store(ended.is_err(), Ordering::Relaxed);
        });
        Ok(Self { seen, stop, thread: Some(thread) })
    }

    /// Packets that came.
    pub(super) fn packets(&self) -> u64 {
        self.seen.packets.load(Ordering::Relaxed)
    }

    /// Whether the switch keeps the connection.
    pub(super) fn check(&self) -> Result<(), Trouble> {
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

/// Reads messages until it is told to stop; none is kept.
fn listen(stream: &mut TcpStream, seen: &Seen, stop: &AtomicBool) -> std::io::Result<()> {
    let (mut head, mut body) = ([0; HEAD], vec![0; usize::from(u16::MAX)]);
    // What it is told again at the end, if anything was changed.
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
            // Who does not answer is thought to be dead.
            ECHO_REQUEST => {
                let xid = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
                stream.write_all(&message(ECHO_REPLY, xid, &body[..length]))?;
            }
            // Its flags stay what they are.
            GET_CONFIG_REPLY if length >= 4 && body[2..4] == [0, 0] => {
                let [octets, none] = [OCTETS, 0].map(|octets| [&body[..2], &octets.to_be_bytes()].concat());
                stream.write_all(&message(SET_CONFIG, 2, &octets))?;
                as_before = Some(message(SET_CONFIG, 3, &none));
            }
            _ => {}
        }
    }
}

/// Fills a buffer; false: it is told to stop.
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
    fn packets_are_counted_questions_answered_and_an_end_is_noticed() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::connect(server.local_addr().unwrap()).unwrap();
        let (mut switch, _) = server.accept().unwrap();
        let mut greeting = [0; 2 * HEAD];
        switch.read_exact(&mut greeting).unwrap();
        assert_eq!(greeting, [message(HELLO, 0, &[]), message(GET_CONFIG_REQUEST, 1, &[])].concat()[..]);
        // A length that is shorter than its own header is that of a header.
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
    fn a_silent_switch_holds_nobody_up() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::connect(server.local_addr().unwrap()).unwrap();
        let (mut switch, _) = server.accept().unwrap();
        listener.check().unwrap();
        drop(listener);
        let mut all = Vec::new();
        switch.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 2 * HEAD, "a switch that was told nothing is told nothing again");
    }

    #[test]
    fn who_is_sent_nothing_asks_for_it_and_leaves_the_setting_as_it_was() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::connect(server.local_addr().unwrap()).unwrap();
        let (mut switch, _) = server.accept().unwrap();
        switch.read_exact(&mut [0; 2 * HEAD]).unwrap();
        switch.write_all(&message(GET_CONFIG_REPLY, 1, &[0, 2, 0, 0])).unwrap();
        let mut set = [0; HEAD + 4];
        switch.read_exact(&mut set).unwrap();
        assert_eq!(set, message(SET_CONFIG, 2, &[0, 2, 0, 64])[..]);
        // One that sends as much as it is told already is not told otherwise.
        switch.write_all(&message(GET_CONFIG_REPLY, 1, &[0, 2, 0, 128])).unwrap();
        drop(listener);
        switch.read_exact(&mut set).unwrap();
        assert_eq!(set, message(SET_CONFIG, 3, &[0, 2, 0, 0])[..]);
    }
}
