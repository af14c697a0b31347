//! Both ends of the midhaul's cable, where ports are given: small frames that the cards themselves stamp, each by its own clock, where
//! both can; the kernel's stamps elsewhere.
//!
//! Most cards stamp only what looks like PTP, and have room for one stamp of what leaves: so these are Syncs of PTP (version 2, in
//! Ethernet frames, to the other port's own address), and one way's next one is sent when the one before has been stamped.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_host::netns::Stamping;
use ranlab_host::phc::{CrossReading, Phc};
use ranlab_net::stamped::{
    Clock, open_frames, open_tap, receive_stamped, send_frame, sent_stamp, stamp_by_card, stamp_received,
    stamp_sent, urgent_thread,
};
use ranlab_packet::{ETHERNET_BYTES, EtherType, Mac, write_ethernet};

use super::clocks::{Came, Clocks, Crossing, Line, READINGS_MIN, Sent};
use super::topology::{End as NetEnd, Lab, in_namespace};
use super::traffic::{BUFFER_BYTES, PRIORITIES, WAIT};
use super::{XhaulPart, lab_trouble};
use crate::environment;
use crate::worker::{Report, Trouble};

/// Who may stamp, as `live.stamps` says it.
pub(super) const STAMPS: [&str; 4] = ["auto", "card", "kernel", "none"];
/// IEEE 1588 in Ethernet frames.
const ETHERTYPE: u16 = 0x88F7;
/// A message, octets, and what it is padded to.
const SYNC_BYTES: usize = 44;
const BODY_BYTES: usize = 46;
/// Where its numbers are: who sends (clock, port), and when: nobody of ours, so our own count.
const CLOCK_AT: usize = 20;
const PORT_AT: usize = 28;
const COUNT_AT: usize = 34;
/// The clock's name in our messages.
const CLOCK: [u8; 8] = *b"ranlab\0\0";
/// A domain that no profile of PTP uses by itself.
const DOMAIN: u8 = 127;
/// Between two frames of one way, in slow motion as much longer, up to a bound; and between two readings of the clocks.
const EACH: Duration = Duration::from_millis(20);
const EACH_MAX: Duration = Duration::from_millis(500);
const READ_EACH: Duration = Duration::from_millis(50);
/// How long a stamp of what left may take: a card's is fetched by work of its driver.
const PATIENCE: Duration = Duration::from_secs(1);
/// Frames of one way, and readings of a clock, in one window; later ones are not sent, not taken.
const FRAMES_MAX: u64 = 200_000;
const READINGS_MAX: usize = 100_000;
/// Ways of a cable, as metrics have them: from the near port (the CU's), and from the far one.
const WAYS: [&str; 2] = ["cable_dl", "cable_ul"];

/// A cable whose ends stamp.
pub(super) struct Cable {
    /// Near and far.
    ends: [End; 2],
    /// Their cards' clocks; `None`: the kernel stamps.
    clocks: Option<CardClocks>,
    each: Duration,
}

struct End {
    sender: Arc<OwnedFd>,
    tap: Arc<OwnedFd>,
    /// Of what it sends.
    header: [u8; ETHERNET_BYTES],
}

enum CardClocks {
    /// One card has both ports.
    One,
    Two(Arc<[Phc; 2]>),
}

/// Threads of a window.
pub(super) struct Watch {
    senders: Vec<JoinHandle<Vec<Sent>>>,
    taps: Vec<JoinHandle<Vec<Came>>>,
    readings: Option<JoinHandle<[Vec<CrossReading>; 2]>>,
}

impl Cable {
    /// Of a network whose midhaul has given ports, if it is to be stamped at all.
    ///
    /// # Errors
    /// Cards have to stamp and cannot, with what they lack; a port without an address; sockets that the kernel does not give.
    pub(super) fn open(lab: &mut Lab, part: &XhaulPart) -> Result<Option<Self>, Trouble> {
        let must = part.stamps == "card";
        let ends = lab.cable.clone();
        let Some(ends) = ends.filter(|_| part.stamps != "none") else {
            return match must {
                true => {
                    Err(environment("live: `live.stamps` \"card\" needs cards: give `live.midhaul_ports`"))
                }
                false => Ok(None),
            };
        };
        let clocks = match part.stamps.as_str() {
            "kernel" => None,
            _ => match by_cards(lab, &ends) {
                Ok(clocks) => Some(clocks),
                Err(why) if must => return Err(environment(format!("live: `live.stamps` \"card\": {why}"))),
                Err(_) => None,
            },
        };
        let mut addresses = Vec::new();
        for (namespace, interface) in &ends {
            addresses.push(Mac(lab.testbed.address(namespace, interface).map_err(lab_trouble)?));
        }
        let clock = if clocks.is_some() { Clock::Card } else { Clock::Kernel };
        let open = |own: usize| {
            let (namespace, interface) = &ends[own];
            let header = write_ethernet(addresses[1 - own], addresses[own], EtherType(ETHERTYPE));
            in_namespace(namespace, || End::open(interface, clock, header).map_err(environment))
        };
        let each = (EACH * part.slowdown).min(EACH_MAX);
        Ok(Some(Self { ends: [open(0)?, open(1)?], clocks, each }))
    }

    const fn clock(&self) -> Clock {
        if self.clocks.is_some() { Clock::Card } else { Clock::Kernel }
    }

    /// Sends each way and takes what arrives, until told to stop the one and then the other.
    pub(super) fn watch(&self, sending: &Arc<AtomicBool>, receiving: &Arc<AtomicBool>) -> Watch {
        let (clock, each) = (self.clock(), self.each);
        let [near, far] = &self.ends;
        let senders = [near, far].into_iter().zip(1_u16..).map(|(end, way)| {
            let (socket, header, go) = (Arc::clone(&end.sender), end.header, Arc::clone(sending));
            std::thread::spawn(move || send(&socket, (header, way), (clock, each), &go))
        });
        let taps = [far, near].into_iter().zip(1_u16..).map(|(end, way)| {
            let (socket, go) = (Arc::clone(&end.tap), Arc::clone(receiving));
            std::thread::spawn(move || take(&socket, way, clock, &go))
        });
        let readings = match &self.clocks {
            Some(CardClocks::Two(clocks)) => {
                let (clocks, go) = (Arc::clone(clocks), Arc::clone(receiving));
                Some(std::thread::spawn(move || read(&clocks, &go)))
            }
            _ => None,
        };
        Watch { senders: senders.collect(), taps: taps.collect(), readings }
    }

    /// What a window's stamps say, into its report.
    ///
    /// # Errors
    /// The cards' clocks could not be read often enough to say anything of them.
    pub(super) fn tell(&self, seen: &CableSeen, report: &mut Report) -> Result<(), Trouble> {
        let lines = match &seen.readings {
            None => None,
            Some(readings) => Some(lines(readings)?),
        };
        let (mut error_ns, mut drift_ppm) = (0, 0.0);
        for (way, name) in WAYS.into_iter().enumerate() {
            let clocks = match &lines {
                None => Clocks::One,
                Some(lines) => {
                    drift_ppm = lines[1].drift_ppm() - lines[0].drift_ppm();
                    Clocks::Two { from: lines[way].clone(), to: lines[1 - way].clone() }
                }
            };
            error_ns = error_ns.max(clocks.error_ns());
            let (sent, came) = (&seen.sent[way], &seen.came[way]);
            Crossing::of(sent, came, &clocks).numbers(&mut |number, value| {
                report.numbers.insert(format!("{name}.{number}"), value);
            });
        }
        let clock = f64::from(u8::from(self.clocks.is_some()));
        for (name, value) in [
            ("live.clock", clock),
            ("live.clock_error_us", error_ns as f64 / 1e3),
            ("live.clock_drift_ppm", drift_ppm),
        ] {
            report.numbers.insert(name.to_owned(), value);
        }
        Ok(())
    }
}

/// Both clocks as the system's.
fn lines(readings: &[Vec<CrossReading>; 2]) -> Result<[Line; 2], Trouble> {
    let of = |end: usize| {
        Line::through(&readings[end]).ok_or_else(|| {
            environment(format!(
                "live: the clock of the {} card was read {} times without a word that makes sense; {READINGS_MIN} are needed, and \
                 nobody may set it back meanwhile: a longer `measure.duration`, or `live.stamps` \"kernel\"",
                ["near", "far"][end],
                readings[end].len()
            ))
        })
    };
    Ok([of(0)?, of(1)?])
}

/// What a window saw: of the way down, and of the way up.
#[derive(Default)]
pub(super) struct CableSeen {
    sent: [Vec<Sent>; 2],
    came: [Vec<Came>; 2],
    readings: Option<[Vec<CrossReading>; 2]>,
}

impl Watch {
    /// What was sent, when senders have been told to stop.
    pub(super) fn sent(&mut self, seen: &mut CableSeen) {
        for (thread, sent) in self.senders.drain(..).zip(&mut seen.sent) {
            *sent = thread.join().unwrap_or_default();
        }
    }

    /// What arrived, when receivers have.
    pub(super) fn came(self, seen: &mut CableSeen) {
        for (thread, came) in self.taps.into_iter().zip(&mut seen.came) {
            *came = thread.join().unwrap_or_default();
        }
        seen.readings = self.readings.map(|thread| thread.join().unwrap_or_default());
    }
}

impl End {
    fn open(interface: &str, clock: Clock, header: [u8; ETHERNET_BYTES]) -> std::io::Result<Self> {
        let sender = open_frames(interface, ETHERTYPE)?;
        stamp_sent(&sender, clock)?;
        // Before a bridge or a device above the port takes it.
        let tap = open_tap(interface, ETHERTYPE)?;
        stamp_received(&tap, BUFFER_BYTES, WAIT)?;
        if clock == Clock::Card {
            stamp_by_card(&tap)?;
        }
        Ok(Self { sender: Arc::new(sender), tap: Arc::new(tap), header })
    }
}

/// Tells both cards to stamp and opens their clocks; why they cannot.
fn by_cards(lab: &mut Lab, ends: &[NetEnd; 2]) -> Result<CardClocks, String> {
    let mut offered = Vec::new();
    for (namespace, interface) in ends {
        let stamping = in_namespace(namespace, || Ok(Stamping::of(interface)));
        let stamping = stamping.map_err(|trouble| trouble.what)?.map_err(|error| error.to_string());
        let card = stamping.and_then(|stamping| stamping.by_card());
        offered.push(card.map_err(|why| format!("port {interface} of {namespace}: {why}"))?);
    }
    let mut clocks = Vec::new();
    for (_, number) in &offered {
        clocks.push(Phc::open(*number).map_err(|error| format!("/dev/ptp{number}: {error}"))?);
    }
    for ((namespace, interface), (config, _)) in ends.iter().zip(&offered) {
        lab.testbed.stamp(namespace, interface, *config).map_err(|error| error.to_string())?;
    }
    let one = offered[0].1 == offered[1].1;
    Ok(match <[Phc; 2]>::try_from(clocks) {
        Ok(clocks) if !one => CardClocks::Two(Arc::new(clocks)),
        _ => CardClocks::One,
    })
}

/// A Sync of way 1 (down) or 2 (up), with its number.
fn sync(header: [u8; ETHERNET_BYTES], way: u16, sequence: u64) -> Vec<u8> {
    let mut body = [0_u8; BODY_BYTES];
    // A Sync of version 2; its length; its domain.
    (body[1], body[3], body[4]) = (2, SYNC_BYTES as u8, DOMAIN);
    body[CLOCK_AT..CLOCK_AT + CLOCK.len()].copy_from_slice(&CLOCK);
    body[PORT_AT..PORT_AT + 2].copy_from_slice(&way.to_be_bytes());
    body[PORT_AT + 2..PORT_AT + 4].copy_from_slice(&(sequence as u16).to_be_bytes());
    body[COUNT_AT..COUNT_AT + 8].copy_from_slice(&sequence.to_be_bytes());
    [&header[..], &body[..]].concat()
}

/// The number of such a frame; `None`: the other way's, or somebody else's.
fn number_of(frame: &[u8], way: u16) -> Option<u64> {
    let body = frame.get(ETHERNET_BYTES..ETHERNET_BYTES + SYNC_BYTES)?;
    let ours =
        body[CLOCK_AT..CLOCK_AT + CLOCK.len()] == CLOCK && body[PORT_AT..PORT_AT + 2] == way.to_be_bytes();
    let count = body[COUNT_AT..COUNT_AT + 8].try_into().ok()?;
    ours.then(|| u64::from_be_bytes(count))
}

fn send(
    socket: &OwnedFd,
    (header, way): ([u8; ETHERNET_BYTES], u16),
    (clock, each): (Clock, Duration),
    go: &AtomicBool,
) -> Vec<Sent> {
    let _ = urgent_thread(PRIORITIES.1);
    let (mut all, mut number) = (Vec::new(), 0);
    // Numbers of stamps begin anew with each window, and behind a frame that the kernel did not take.
    if stamp_sent(socket, clock).is_err() {
        return all;
    }
    for sequence in 0..FRAMES_MAX {
        std::thread::sleep(each);
        if !go.load(Ordering::Relaxed) {
            break;
        }
        if send_frame(socket, &sync(header, way, sequence)).is_ok() {
            all.push(Sent { sequence, left_ns: left_ns(socket, clock, number) });
            number += 1;
        } else if stamp_sent(socket, clock).is_ok() {
            number = 0;
        } else {
            break;
        }
    }
    all
}

/// The stamp of the frame with this number; those before it, which came too late, are passed over.
fn left_ns(socket: &OwnedFd, clock: Clock, number: u32) -> Option<u64> {
    let begun = Instant::now();
    loop {
        let left = PATIENCE.checked_sub(begun.elapsed())?;
        match sent_stamp(socket, clock, left) {
            Ok(Some(stamp)) if stamp.number == number => return Some(stamp.at_ns),
            // Another error of the socket's, which is read off with it.
            Ok(_) | Err(_) => {}
        }
    }
}

/// Reads both clocks until told to stop, and often enough to say something of them.
fn read(clocks: &[Phc; 2], go: &AtomicBool) -> [Vec<CrossReading>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    let more = |all: &[Vec<CrossReading>; 2]| go.load(Ordering::Relaxed) && all[0].len() < READINGS_MAX;
    let mut rounds = 0;
    while more(&all) || rounds < READINGS_MIN {
        for (clock, readings) in clocks.iter().zip(&mut all) {
            readings.extend(clock.read());
        }
        rounds += 1;
        std::thread::sleep(READ_EACH);
    }
    // What came last lies between two readings, too.
    for (clock, readings) in clocks.iter().zip(&mut all) {
        readings.extend(clock.read());
    }
    all
}

fn take(socket: &OwnedFd, way: u16, clock: Clock, go: &AtomicBool) -> Vec<Came> {
    let _ = urgent_thread(PRIORITIES.0);
    let (mut room, mut all) = ([0_u8; 256], Vec::new());
    while go.load(Ordering::Relaxed) && (all.len() as u64) < FRAMES_MAX {
        let Ok(stamped) = receive_stamped(socket, &mut room) else { continue };
        let Some(sequence) = number_of(&room[..stamped.bytes.min(room.len())], way) else { continue };
        let came_ns = match clock {
            Clock::Card => stamped.card_ns,
            Clock::Kernel => Some(stamped.at_ns),
        };
        all.push(Came { sequence, came_ns });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_sync_of_version_2_and_known_by_its_way() {
        let header = write_ethernet(Mac([2; 6]), Mac([4; 6]), EtherType(ETHERTYPE));
        let frame = sync(header, 2, 77);
        // IEEE 1588-2019, 13.3: type and version, length, domain.
        assert_eq!((frame.len(), &frame[14..19]), (60, &[0, 2, 0, 44, 127][..]));
        assert_eq!((number_of(&frame, 2), number_of(&frame, 1)), (Some(77), None));
        assert_eq!(number_of(&frame[..40], 2), None);
        let mut others = frame;
        others[14 + CLOCK_AT] ^= 1;
        assert_eq!(number_of(&others, 2), None);
    }

    #[test]
    fn clocks_that_were_hardly_read_are_no_clocks() {
        let readings: Vec<_> = (1..9)
            .map(|at| CrossReading { before_ns: at * 100, card_ns: at * 100, after_ns: at * 100 })
            .collect();
        assert!(lines(&[readings.clone(), readings.clone()]).is_ok());
        let why = lines(&[readings.clone(), readings[..2].to_vec()]).unwrap_err().what;
        assert!(why.contains("far card was read 2 times"), "{why}");
    }
}
