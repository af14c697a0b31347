//! Reads the clock of a network card (PTP hardware clock, `/dev/ptpN`) together with the system clock.
#![allow(unsafe_code, reason = "requests of linux/ptp_clock.h, which std lacks")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Readings per request, of which the fastest counts; the kernel allows 25.
const SAMPLES: u32 = 10;
const SAMPLES_MAX: usize = 25;
/// Numbers of the requests `PTP_SYS_OFFSET`, `PTP_SYS_OFFSET_PRECISE` and `PTP_SYS_OFFSET_EXTENDED` of
/// linux/ptp_clock.h.
const PLAIN: libc::c_ulong = request(1, 5, size_of::<PtpSysOffset<{ 2 * SAMPLES_MAX + 1 }>>());
const PRECISE: libc::c_ulong = request(3, 8, size_of::<PtpSysOffsetPrecise>());
const EXTENDED: libc::c_ulong = request(3, 9, size_of::<PtpSysOffset<{ 3 * SAMPLES_MAX }>>());
/// Assumed error of a reading if the hardware takes both times at once (PCIe PTM, ART). No driver reports this error.
const AT_ONCE_NS: u64 = 100;

/// Computes `_IOC` of linux/ioctl.h for the type of PTP clocks.
const fn request(direction: usize, number: usize, bytes: usize) -> libc::c_ulong {
    (direction << 30 | bytes << 16 | (b'=' as usize) << 8 | number) as libc::c_ulong
}

/// `struct ptp_clock_time`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Time {
    seconds: i64,
    nanoseconds: u32,
    reserved: u32,
}

impl Time {
    /// Returns the nanoseconds since the clock's zero; `None` for a time before it.
    fn ns(self) -> Option<u64> {
        u64::try_from(self.seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(self.nanoseconds.into())
    }
}

/// `struct ptp_sys_offset` and `struct ptp_sys_offset_extended`.
#[repr(C)]
struct PtpSysOffset<const TIMES: usize> {
    samples: u32,
    reserved: [u32; 3],
    times: [Time; TIMES],
}

/// `struct ptp_sys_offset_precise`.
#[repr(C)]
#[derive(Default)]
struct PtpSysOffsetPrecise {
    card: Time,
    system: Time,
    raw: Time,
    reserved: [u32; 4],
}

/// Reading of the card's clock between two readings of the system clock. System times are ns since 1970; the card's
/// time counts from the zero of the card's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossReading {
    /// System time before the reading of the card.
    pub before_ns: u64,
    /// Time of the card.
    pub card_ns: u64,
    /// System time after the reading of the card.
    pub after_ns: u64,
}

impl CrossReading {
    const fn took_ns(&self) -> u64 {
        self.after_ns.saturating_sub(self.before_ns)
    }
}

/// Method to read a card's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReadMethod {
    /// The card is read between two readings of the system clock.
    Plain,
    /// The card is read between two readings of the system clock, which are next to the access to the card's register.
    Extended,
    /// The hardware reads both clocks at the same time.
    Precise,
}

/// An open clock of a card.
#[derive(Debug)]
pub struct Phc {
    file: File,
    way: ReadMethod,
}

impl Phc {
    /// Opens `/dev/ptpN`, and selects the best method to read it.
    ///
    /// # Errors
    /// The clock does not exist, this user may not read it, or its driver does not support it.
    pub fn open(number: u32) -> io::Result<Self> {
        let file = File::open(format!("/dev/ptp{number}"))?;
        let mut phc = Self { file, way: ReadMethod::Precise };
        for way in [ReadMethod::Precise, ReadMethod::Extended, ReadMethod::Plain] {
            phc.way = way;
            if phc.read().is_ok() {
                return Ok(phc);
            }
        }
        phc.read().map(|_| phc)
    }

    /// Reads both clocks several times and returns the fastest reading.
    ///
    /// # Errors
    /// The driver's error.
    pub fn read(&self) -> io::Result<CrossReading> {
        let all = match self.way {
            ReadMethod::Precise => {
                let mut crossed = PtpSysOffsetPrecise::default();
                self.ask(PRECISE, &mut crossed)?;
                let system = crossed.system.ns();
                let around = |ns: u64| (ns.saturating_sub(AT_ONCE_NS), ns + AT_ONCE_NS);
                let reading = system.zip(crossed.card.ns()).map(|(ns, card_ns)| {
                    let (before_ns, after_ns) = around(ns);
                    CrossReading { before_ns, card_ns, after_ns }
                });
                reading.into_iter().collect()
            }
            ReadMethod::Extended => {
                let mut reply = PtpSysOffset::<{ 3 * SAMPLES_MAX }>::new();
                self.ask(EXTENDED, &mut reply)?;
                readings(&reply.times[..3 * SAMPLES as usize], 3)
            }
            ReadMethod::Plain => {
                let mut reply = PtpSysOffset::<{ 2 * SAMPLES_MAX + 1 }>::new();
                self.ask(PLAIN, &mut reply)?;
                readings(&reply.times[..=2 * SAMPLES as usize], 2)
            }
        };
        let best = all.into_iter().min_by_key(CrossReading::took_ns);
        best.ok_or_else(|| io::Error::other("the time of the card's clock is negative"))
    }

    fn ask<T>(&self, request: libc::c_ulong, reply: &mut T) -> io::Result<()> {
        // SAFETY: the structure is that of the request, whose number contains its size; it outlives the call.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, std::ptr::from_mut(reply)) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl<const TIMES: usize> PtpSysOffset<TIMES> {
    fn new() -> Self {
        Self { samples: SAMPLES, reserved: [0; 3], times: [Time::default(); TIMES] }
    }
}

/// Returns readings (system, card, system), each starting `step` times after the previous reading. With a step of 2,
/// consecutive readings share a system time. Readings that run backwards, because the clock was set in the meantime,
/// are left out.
fn readings(times: &[Time], step: usize) -> Vec<CrossReading> {
    let triples = times.windows(3).step_by(step);
    let of = |triple: &[Time]| {
        let [before, card, after] = [triple[0].ns()?, triple[1].ns()?, triple[2].ns()?];
        (after >= before).then_some(CrossReading { before_ns: before, card_ns: card, after_ns: after })
    };
    triples.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_numbers_match_kernel() {
        // Numbers that a C compiler computes from linux/ptp_clock.h.
        assert_eq!((PLAIN, PRECISE, EXTENDED), (0x4340_3D05, 0xC040_3D08, 0xC4C0_3D09));
    }

    #[test]
    fn step_determines_overlap_of_readings() {
        let times: Vec<Time> = (1..=9).map(|seconds| Time { seconds, nanoseconds: 1, reserved: 0 }).collect();
        let cards = |step: usize| readings(&times, step).iter().map(|r| r.card_ns).collect::<Vec<_>>();
        assert_eq!(cards(3), [2_000_000_001, 5_000_000_001, 8_000_000_001]);
        assert_eq!(cards(2), [2_000_000_001, 4_000_000_001, 6_000_000_001, 8_000_000_001]);
        let mut back = times;
        back[2].seconds = 0;
        back[4].seconds = -1;
        assert_eq!(readings(&back, 3).len(), 1);
    }

    #[test]
    fn missing_clock_is_not_opened() {
        assert_eq!(Phc::open(987_654).unwrap_err().kind(), io::ErrorKind::NotFound);
        // If this machine has a card clock, it advances, and the two system times enclose its reading.
        let Ok(phc) = Phc::open(0) else { return };
        let first = phc.read().unwrap();
        let second = phc.read().unwrap();
        assert!(second.card_ns > first.card_ns && first.after_ns >= first.before_ns);
    }
}
