//! Identifiers that differ in each run, and the start time of the SMFs, which all runs share.
//!
//! A UPF may still store responses, sessions and associations of an earlier run. If a run repeated their identifiers, the UPF would confuse
//! the runs.
use crate::upf::{ntp_of_unix, ntp_seconds};
use ranlab_net::monotonic_ns;
use ranlab_upf::n4::SmfSettings;
use ranlab_upf::pfcp::MAX_SEQUENCE;

/// Returns a sequence number that no request of the last minute has used. A UPF that caches responses takes a repeated number for a
/// retransmission. The number is derived from the clock and advances every 4 µs. No run sends requests faster, so no number is used twice
/// within 67 s.
pub(super) fn sequence() -> u32 {
    const STEP_NS: u64 = 4_000;
    (monotonic_ns() / STEP_NS) as u32 & MAX_SEQUENCE
}

/// Returns the value for [`SmfSettings::first_generation`]. It is derived from the clock, advances faster than a run reuses an index, and
/// repeats after nine hours.
pub(super) fn generation() -> u32 {
    (monotonic_ns() >> 13) as u32
}

/// Returns the first uplink TEID, if the SMF chooses TEIDs. The lower 21 bits distinguish the sessions of a run.
pub(super) fn first_teid() -> u32 {
    const RUNS: u32 = 0x3fe0_0000;
    // The multiplication separates the numbers of runs that begin shortly after each other.
    generation().wrapping_mul(0x9e37_79b1) & RUNS | 0x0001_0000
}

/// Returns the start time of an SMF on this host, in seconds since 1900. This is the boot time of the host, or the current time if the boot
/// time is unknown. All runs use the same value, because some UPFs keep an unreleased association. Such a UPF would take a newer value for
/// a restart in the middle of the next run.
pub fn recovery_time_stamp() -> u32 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
    boot.map_or_else(ntp_seconds, ntp_of_unix)
}

/// Returns settings with [`recovery_time_stamp`] or, if `anew` is set, with the current time.
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
    fn runs_share_time_stamp_and_differ_in_numbers() {
        let stamp = recovery_time_stamp();
        let first = generation();
        assert!(stamp < ntp_seconds(), "the host booted before now");
        // There are 512 ranges of TEIDs. Two successive runs may share one by chance; five do not.
        let ranges = [(); 5].map(|()| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            first_teid() >> 21
        });
        assert_eq!(recovery_time_stamp(), stamp);
        assert_ne!(generation(), first);
        assert!(ranges.iter().any(|range| *range != ranges[0]), "{ranges:?}");
    }
}
