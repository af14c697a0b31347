//! Air interface of one UE as a stage: TTIs, HARQ, and scheduling requests in the uplink.

use super::error::NetworkError;
use super::time::{MS, Ps, S};

/// Bytes of a frame that exist on a wire but not on the air: Ethernet header, check sequence, preamble and gap.
pub(super) const WIRE_ONLY_BYTES: u32 = 14 + 4 + 20;

/// One direction of the air interface. Each TTI fills one transport block from the queue. A packet is delivered with the block that
/// contains its end, and never before an earlier packet (RLC reorders).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AirInterface {
    /// Name of the stage in reports.
    pub name: String,
    /// Duration of a TTI, in ps.
    pub tti_ps: Ps,
    /// Bytes of a transport block.
    pub transport_bytes: u32,
    /// PDCP, RLC and MAC headers of a packet, in bytes.
    pub overhead_bytes: u32,
    /// Bytes of the network's own headers (F1-U, fragments) in a frame, which the air interface does not
    /// carry.
    pub stripped_bytes: u32,
    /// Failed transmissions per million.
    pub error_ppm: u32,
    /// Time from a failed transmission to the next one, in ps. The retransmission also takes a whole TTI.
    pub harq_ps: Ps,
    /// Maximum transmissions of a block. If all of them fail, its packets are lost and counted as dropped.
    pub transmissions_max: u32,
    /// Time from the end of a TTI until the receiver's stack delivers a packet, in ps.
    pub processing_ps: Ps,
    /// Uplink access by scheduling requests. `None`: downlink, where the scheduler knows the queue.
    pub access: Option<UplinkAccess>,
    /// Maximum number of waiting bytes. Further packets are dropped and counted.
    pub queue_bytes_max: u64,
}

/// Uplink access procedure: scheduling request, grant, buffer status report, grant (TS 36.321 5.4.4 and 5.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkAccess {
    /// Period of the opportunities for a scheduling request, in ps.
    pub request_period_ps: Ps,
    /// Time of the first opportunity for a scheduling request, in ps.
    pub request_offset_ps: Ps,
    /// Time from a request to the first transmission, in ps.
    pub request_to_data_ps: Ps,
    /// Bytes of packets in the first transmission, in addition to the buffer status report.
    pub first_bytes: u32,
    /// Time from the buffer status report to the first requested transmission, in ps. Further transmissions follow in each TTI.
    pub report_to_data_ps: Ps,
}

impl AirInterface {
    /// Returns the downlink of LTE with 25 PRBs at its highest rate: 18336 bit per TTI, 8 ms of HARQ, up to four transmissions, 4 ms until
    /// a packet is delivered.
    pub fn lte_5_mhz_downlink() -> Self {
        Self {
            name: "air DL".to_owned(),
            tti_ps: MS,
            transport_bytes: 18_336 / 8,
            overhead_bytes: 6,
            stripped_bytes: 0,
            error_ppm: 0,
            harq_ps: 8 * MS,
            transmissions_max: 4,
            processing_ps: 4 * MS,
            access: None,
            queue_bytes_max: 1_000_000,
        }
    }

    /// Returns an uplink as small eNodeBs schedule it for a UE that was idle. The values are assumed, not measured: requests each 10 ms, 8
    /// ms from request to grant and transmission, 8 ms from the report to the data, 3000 bit per TTI.
    pub fn lte_5_mhz_uplink() -> Self {
        Self {
            name: "air UL".to_owned(),
            transport_bytes: 375,
            access: Some(UplinkAccess {
                request_period_ps: 10 * MS,
                request_offset_ps: 0,
                request_to_data_ps: 8 * MS,
                first_bytes: 0,
                report_to_data_ps: 8 * MS,
            }),
            ..Self::lte_5_mhz_downlink()
        }
    }

    pub(super) fn check(&self) -> Result<(), NetworkError> {
        let fine = |ps: Ps| (1..=S).contains(&ps);
        let access = self.access.is_none_or(|access| {
            let delays = [access.request_offset_ps, access.request_to_data_ps, access.report_to_data_ps];
            fine(access.request_period_ps) && delays.iter().all(|&ps| ps <= S)
        });
        if !fine(self.tti_ps) || !fine(self.harq_ps) || self.processing_ps > S || !access {
            return Err(NetworkError::Delay { stage: self.name.clone() });
        }
        let sends = self.transport_bytes > 0 && (1..=64).contains(&self.transmissions_max);
        if !sends || self.error_ppm > 1_000_000 || self.overhead_bytes > 10_000 || self.queue_bytes_max == 0 {
            return Err(NetworkError::Air { stage: self.name.clone() });
        }
        Ok(())
    }
}
