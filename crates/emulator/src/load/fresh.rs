//! Numbers that no run before has used, and the one that all have in common.
//!
//! A UPF may still hold answers, sessions and associations of the run before: what is numbered alike would be taken for the
//! same.
use crate::upf::{ntp_of_unix, ntp_seconds};
use ranlab_net::monotonic_ns;
use ranlab_upf::n4::SmfSettings;
use ranlab_upf::pfcp::MAX_SEQUENCE;

/// A sequence number that no request of the last minute has had: a UPF that holds its answers takes a repeated one for a
/// retransmission. It goes on with the clock, faster than any run sends, and is back after 67 s.
pub(super) fn sequence() -> u32 {
    const STEP_NS: u64 = 4_000;
    (monotonic_ns() / STEP_NS) as u32 & MAX_SEQUENCE
}

/// For [`SmfSettings::first_generation`]: it goes on with the clock, faster than a run uses a place again, and is back after
/// nine hours.
pub(super) fn generation() -> u32 {
    (monotonic_ns() >> 13) as u32
}

/// The first uplink TEID where the SMF chooses. The lower 21 bits are for the sessions of a run.
pub(super) fn first_teid() -> u32 {
    const RUNS: u32 = 0x3fe0_0000;
    // Two runs that begin soon after each other shall be far apart.
    generation().wrapping_mul(0x9e37_79b1) & RUNS | 0x0001_0000
}

/// When an SMF on this host started, seconds since 1900: when the host did. One value for all runs at an address, since some
/// UPFs keep an association that nobody released and take a newer value for a restart, in the middle of the next run. Where
/// the kernel does not tell, the time.
pub fn recovery_time_stamp() -> u32 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
    boot.map_or_else(ntp_seconds, ntp_of_unix)
}

/// As [`recovery_time_stamp`], or with `anew` that of an SMF that has just started.
pub(super) fn settings(settings: SmfSettings, anew: bool) -> SmfSettings {
    SmfSettings {
        recovery_time_stamp: if anew { ntp_seconds() } else { recovery_time_stamp() },
        first_sequence: sequence(),
        first_generation: generation(),
        ..settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_one_time_stamp_and_other_numbers() {
        let (stamp, first) = (recovery_time_stamp(), generation());
        assert!(stamp < ntp_seconds(), "the host has been up for a while");
        // There are 512 ranges of TEIDs: two runs in a row may meet in one by chance, five do not.
        let ranges = [(); 5].map(|()| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            first_teid() >> 21
        });
        assert_eq!(recovery_time_stamp(), stamp);
        assert_ne!(generation(), first);
        assert!(ranges.iter().any(|range| *range != ranges[0]), "{ranges:?}");
    }
}
