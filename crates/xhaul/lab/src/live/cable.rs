//! Latency of the midhaul's cable, if physical ports are used. Small frames get time stamps from the network cards, if both cards support
//! it. Each card has its own clock. Otherwise the kernel takes the time stamps.
//!
//! Most cards stamp only PTP messages, and store only one transmit stamp at a time. The frames are therefore PTP Sync messages (version 2,
//! over Ethernet, to the address of the other port). Each direction sends the next frame after the stamp of the previous one is available.

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

use super::clocks::{ClockMap, Clocks, READINGS_MIN, RxStamp, StampMatch, TxStamp};
use super::topology::{InterfaceEnd as NetEnd, LiveTopology, in_namespace};
use super::traffic::{BUFFER_BYTES, PRIORITIES, WAIT};
use super::{XhaulComponent, lab_trouble};
use ranlab_lab::environment;
use ranlab_lab::worker::{ComponentError, Report};

/// Allowed values of `live.stamps`.
pub(super) const STAMPS: [&str; 4] = ["auto", "card", "kernel", "none"];
/// EtherType of IEEE 1588.
const ETHERTYPE: u16 = 0x88F7;
/// Length of a Sync message, in bytes. The next constant is the length to which it is padded.
const SYNC_BYTES: usize = 44;
const BODY_BYTES: usize = 46;
/// Offset of the source port identity. The time stamp field contains our sequence number, because no PTP clock reads it.
const CLOCK_AT: usize = 20;
const PORT_AT: usize = 28;
const COUNT_AT: usize = 34;
/// The clock identity in our messages.
const CLOCK: [u8; 8] = *b"ranlab\0\0";
/// A domain number that no PTP profile uses by default.
const DOMAIN: u8 = 127;
/// Interval between two frames of one direction. It is longer in slow motion, up to `EACH_MAX`. `READ_EACH` is the interval between two
/// clock readings.
const EACH: Duration = Duration::from_millis(20);
const EACH_MAX: Duration = Duration::from_millis(500);
const READ_EACH: Duration = Duration::from_millis(50);
/// Timeout of a transmit stamp. The driver fetches the stamp of a card asynchronously.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of frames per direction in one window. Further frames are not sent. `READINGS_MAX` is the maximum number of clock
/// readings.
const FRAMES_MAX: u64 = 200_000;
const READINGS_MAX: usize = 100_000;
/// Directions of a cable, as named by metrics: from the near port (at the CU), and from the far port.
const WAYS: [&str; 2] = ["cable_dl", "cable_ul"];

/// A cable with time stamps at both ends.
pub(super) struct StampedLink {
    /// Near end and far end of the cable.
    ends: [End; 2],
    /// Clocks of the cards. `None` if the kernel takes the stamps.
    clocks: Option<CardClocks>,
    each: Duration,
}

struct End {
    sender: Arc<OwnedFd>,
    tap: Arc<OwnedFd>,
    /// Ethernet header of sent frames.
    header: [u8; ETHERNET_BYTES],
}

enum CardClocks {
    /// Both ports are on one card, so there is one clock.
    One,
    Two(Arc<[Phc; 2]>),
}

/// Threads that run during a measurement window.
pub(super) struct CaptureThreads {
    senders: Vec<JoinHandle<Vec<TxStamp>>>,
    taps: Vec<JoinHandle<Vec<RxStamp>>>,
    readings: Option<JoinHandle<[Vec<CrossReading>; 2]>>,
}

impl StampedLink {
    /// Opens both ends if the midhaul uses physical ports and stamps are enabled.
    ///
    /// # Errors
    /// The cards are required to stamp but do not support it, a port has no address, or a socket cannot be opened.
    pub(super) fn open(
        lab: &mut LiveTopology,
        part: &XhaulComponent,
    ) -> Result<Option<Self>, ComponentError> {
        let must = part.stamps == "card";
        let ends = lab.cable.clone();
        let Some(ends) = ends.filter(|_| part.stamps != "none") else {
            return match must {
                true => Err(environment(
                    "live: `live.stamps` \"card\" needs network cards: set `live.midhaul_ports`",
                )),
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

    /// Sends and receives frames in both directions. Senders run until `sending` is cleared, receivers until
    /// `receiving` is.
    pub(super) fn watch(&self, sending: &Arc<AtomicBool>, receiving: &Arc<AtomicBool>) -> CaptureThreads {
        let clock = self.clock();
        let each = self.each;
        let [near, far] = &self.ends;
        let senders = [near, far].into_iter().zip(1_u16..).map(|(end, way)| {
            let socket = Arc::clone(&end.sender);
            let header = end.header;
            let go = Arc::clone(sending);
            std::thread::spawn(move || send(&socket, header, way, clock, each, &go))
        });
        let taps = [far, near].into_iter().zip(1_u16..).map(|(end, way)| {
            let socket = Arc::clone(&end.tap);
            let go = Arc::clone(receiving);
            std::thread::spawn(move || take(&socket, way, clock, &go))
        });
        let readings = match &self.clocks {
            Some(CardClocks::Two(clocks)) => {
                let clocks = Arc::clone(clocks);
                let go = Arc::clone(receiving);
                Some(std::thread::spawn(move || read(&clocks, &go)))
            }
            _ => None,
        };
        CaptureThreads { senders: senders.collect(), taps: taps.collect(), readings }
    }

    /// Adds the results of a window to its report.
    ///
    /// # Errors
    /// There are too few readings of the cards' clocks.
    pub(super) fn add_results(&self, results: &CableSeen, report: &mut Report) -> Result<(), ComponentError> {
        let lines = match &results.readings {
            None => None,
            Some(readings) => Some(lines(readings)?),
        };
        let mut error_ns = 0;
        let mut drift_ppm = 0.0;
        for (way, name) in WAYS.into_iter().enumerate() {
            let clocks = match &lines {
                None => Clocks::One,
                Some(lines) => {
                    drift_ppm = lines[1].drift_ppm() - lines[0].drift_ppm();
                    Clocks::Two { from: lines[way].clone(), to: lines[1 - way].clone() }
                }
            };
            error_ns = error_ns.max(clocks.error_ns());
            let sent = &results.sent[way];
            let came = &results.came[way];
            StampMatch::match_stamps(sent, came, &clocks).numbers(&mut |number, value| {
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

/// Fits the clocks of both cards to the system clock.
fn lines(readings: &[Vec<CrossReading>; 2]) -> Result<[ClockMap; 2], ComponentError> {
    let of = |end: usize| {
        ClockMap::through(&readings[end]).ok_or_else(|| {
            environment(format!(
                "live: the clock of the {} card was read {} times, which is not enough for a conversion; {READINGS_MIN} readings are needed, and \
                 the clock must not be set back meanwhile: use a longer `measure.duration`, or `live.stamps` \"kernel\"",
                ["near", "far"][end],
                readings[end].len()
            ))
        })
    };
    Ok([of(0)?, of(1)?])
}

/// Results of a measurement window. Arrays have the downlink first.
#[derive(Default)]
pub(super) struct CableSeen {
    sent: [Vec<TxStamp>; 2],
    came: [Vec<RxStamp>; 2],
    readings: Option<[Vec<CrossReading>; 2]>,
}

impl CaptureThreads {
    /// Collects the sent frames after the senders have been stopped.
    pub(super) fn sent(&mut self, results: &mut CableSeen) {
        for (thread, sent) in self.senders.drain(..).zip(&mut results.sent) {
            *sent = thread.join().unwrap_or_default();
        }
    }

    /// Collects the received frames after the receivers have been stopped.
    pub(super) fn came(self, results: &mut CableSeen) {
        for (thread, came) in self.taps.into_iter().zip(&mut results.came) {
            *came = thread.join().unwrap_or_default();
        }
        results.readings = self.readings.map(|thread| thread.join().unwrap_or_default());
    }
}

impl End {
    fn open(interface: &str, clock: Clock, header: [u8; ETHERNET_BYTES]) -> std::io::Result<Self> {
        let sender = open_frames(interface, ETHERTYPE)?;
        stamp_sent(&sender, clock)?;
        // Taps the port below any bridge or device that would consume the frame.
        let tap = open_tap(interface, ETHERTYPE)?;
        stamp_received(&tap, BUFFER_BYTES, WAIT)?;
        if clock == Clock::Card {
            stamp_by_card(&tap)?;
        }
        Ok(Self { sender: Arc::new(sender), tap: Arc::new(tap), header })
    }
}

/// Enables stamping on both cards and opens their clocks. Returns the reason if they do not support it.
fn by_cards(lab: &mut LiveTopology, ends: &[NetEnd; 2]) -> Result<CardClocks, String> {
    let mut offered = Vec::new();
    for (namespace, interface) in ends {
        let stamping = in_namespace(namespace, || Ok(Stamping::read(interface)));
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

/// Builds a Sync message of direction 1 (down) or 2 (up) with a sequence number.
fn sync(header: [u8; ETHERNET_BYTES], way: u16, sequence: u64) -> Vec<u8> {
    let mut body = [0_u8; BODY_BYTES];
    // These are message type and version, length, and domain.
    (body[1], body[3], body[4]) = (2, SYNC_BYTES as u8, DOMAIN);
    body[CLOCK_AT..CLOCK_AT + CLOCK.len()].copy_from_slice(&CLOCK);
    body[PORT_AT..PORT_AT + 2].copy_from_slice(&way.to_be_bytes());
    body[PORT_AT + 2..PORT_AT + 4].copy_from_slice(&(sequence as u16).to_be_bytes());
    body[COUNT_AT..COUNT_AT + 8].copy_from_slice(&sequence.to_be_bytes());
    [&header[..], &body[..]].concat()
}

/// Returns the sequence number of a frame that [`sync`] built. Returns `None` if the frame belongs to the other direction, or is not ours.
fn number_of(frame: &[u8], way: u16) -> Option<u64> {
    let body = frame.get(ETHERNET_BYTES..ETHERNET_BYTES + SYNC_BYTES)?;
    let ours =
        body[CLOCK_AT..CLOCK_AT + CLOCK.len()] == CLOCK && body[PORT_AT..PORT_AT + 2] == way.to_be_bytes();
    let count = body[COUNT_AT..COUNT_AT + 8].try_into().ok()?;
    ours.then(|| u64::from_be_bytes(count))
}

fn send(
    socket: &OwnedFd,
    header: [u8; ETHERNET_BYTES],
    way: u16,
    clock: Clock,
    each: Duration,
    go: &AtomicBool,
) -> Vec<TxStamp> {
    let _ = urgent_thread(PRIORITIES.1);
    let mut all = Vec::new();
    let mut number = 0;
    // The stamp numbers of the kernel restart with each window, and after a frame that the kernel rejected.
    if stamp_sent(socket, clock).is_err() {
        return all;
    }
    for sequence in 0..FRAMES_MAX {
        std::thread::sleep(each);
        if !go.load(Ordering::Relaxed) {
            break;
        }
        if send_frame(socket, &sync(header, way, sequence)).is_ok() {
            all.push(TxStamp { sequence, left_ns: left_ns(socket, clock, number) });
            number += 1;
        } else if stamp_sent(socket, clock).is_ok() {
            number = 0;
        } else {
            break;
        }
    }
    all
}

/// Returns the stamp of the frame with this number. Late stamps of earlier frames are skipped.
fn left_ns(socket: &OwnedFd, clock: Clock, number: u32) -> Option<u64> {
    let begun = Instant::now();
    loop {
        let left = PATIENCE.checked_sub(begun.elapsed())?;
        match sent_stamp(socket, clock, left) {
            Ok(Some(stamp)) if stamp.number == number => return Some(stamp.at_ns),
            // This is a late stamp, or an error of an earlier operation of the socket. Reading it has removed it.
            Ok(_) | Err(_) => {}
        }
    }
}

/// Reads both clocks until `go` is cleared. Takes at least the number of readings that the fit needs.
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
    // The last reading is taken after the last frame.
    for (clock, readings) in clocks.iter().zip(&mut all) {
        readings.extend(clock.read());
    }
    all
}

fn take(socket: &OwnedFd, way: u16, clock: Clock, go: &AtomicBool) -> Vec<RxStamp> {
    let _ = urgent_thread(PRIORITIES.0);
    let mut room = [0_u8; 256];
    let mut all = Vec::new();
    while go.load(Ordering::Relaxed) && (all.len() as u64) < FRAMES_MAX {
        let Ok(stamped) = receive_stamped(socket, &mut room) else { continue };
        let Some(sequence) = number_of(&room[..stamped.bytes.min(room.len())], way) else { continue };
        let came_ns = match clock {
            Clock::Card => stamped.card_ns,
            Clock::Kernel => Some(stamped.at_ns),
        };
        all.push(RxStamp { sequence, came_ns });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_is_ptp_sync_of_its_direction() {
        let header = write_ethernet(Mac([2; 6]), Mac([4; 6]), EtherType(ETHERTYPE));
        let frame = sync(header, 2, 77);
        // IEEE 1588-2019, 13.3 defines these bytes as type and version, length, and domain.
        assert_eq!((frame.len(), &frame[14..19]), (60, &[0, 2, 0, 44, 127][..]));
        assert_eq!((number_of(&frame, 2), number_of(&frame, 1)), (Some(77), None));
        assert_eq!(number_of(&frame[..40], 2), None);
        let mut others = frame;
        others[14 + CLOCK_AT] ^= 1;
        assert_eq!(number_of(&others, 2), None);
    }

    #[test]
    fn too_few_clock_readings_are_an_error() {
        let readings: Vec<_> = (1..9)
            .map(|at| CrossReading { before_ns: at * 100, card_ns: at * 100, after_ns: at * 100 })
            .collect();
        assert!(lines(&[readings.clone(), readings.clone()]).is_ok());
        let why = lines(&[readings.clone(), readings[..2].to_vec()]).unwrap_err().what;
        assert!(why.contains("far card was read 2 times"), "{why}");
    }
}
