//! TLVs in messages.
use super::super::{Element, EmpowerError, Layout, Reader, tlvs};
use std::time::Duration;

tlvs! {
    length counts 4;
    /// Period of the base station's hello.
    HelloPeriod 0x05 {
        period: u32, "Period, in ms.";
    }
    /// Capabilities of a cell.
    CapabilitiesCell 0x06 {
        pci: u16, "Physical cell identity.";
        dl_earfcn: u32, "Downlink EARFCN.";
        ul_earfcn: u32, "Uplink EARFCN.";
        n_prbs: u8, "Number of resource blocks.";
    }
    /// Identity of a UE, with its status.
    UeIdentity 0x07 {
        imsi: u64, "IMSI as a number.";
        tmsi: u32, "TMSI.";
        rnti: u16, "C-RNTI.";
        status: u8, "A [`UeStatus`].";
        pci: u16, "Physical cell identity.";
    }
    /// Measurement request for a UE.
    UeMeasurementConfig 0x08 {
        rnti: u16, "RNTI of the measuring UE.";
        meas_id: u8, "Number of the measurement.";
        interval: u8, "A [`ReportInterval`].";
        amount: u8, "A [`ReportAmount`].";
    }
    /// Measurement results of a UE.
    UeMeasurementReport 0x09 {
        rnti: u16, "RNTI of the measuring UE.";
        meas_id: u8, "Number of the measurement.";
        rsrp: i8, "RSRP range.";
        rsrq: i8, "RSRQ range.";
    }
    /// Resource block utilization.
    MacPrbReport 0x0a {
        prb: u16, "Available resource blocks.";
        dl: u32, "Downlink resource blocks used so far.";
        ul: u32, "Uplink resource blocks used so far.";
        pci: u16, "Physical cell identity.";
    }
    /// Identifier of a measurement.
    MeasurementId 0x0b {
        meas_id: u8, "Number of the measurement.";
    }
}

/// Values of [`UeIdentity::status`].
pub struct UeStatus;

impl UeStatus {
    /// The UE is connected.
    pub const CONNECTED: u8 = 1;
    /// The UE is disconnected.
    pub const DISCONNECTED: u8 = 2;
}

/// Values of `reportInterval` of TS 36.331, with their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportInterval;

impl ReportInterval {
    const MILLISECONDS: [u64; 13] =
        [120, 240, 480, 640, 1024, 2048, 5120, 10_240, 60_000, 360_000, 720_000, 1_800_000, 3_600_000];

    /// Returns the time between two reports, or `None` for a spare number.
    pub fn duration(number: u8) -> Option<Duration> {
        Self::MILLISECONDS.get(usize::from(number)).map(|ms| Duration::from_millis(*ms))
    }

    /// Returns the number of the shortest interval that is at least `least`, or of the longest interval if `least` exceeds it.
    pub fn at_least(least: Duration) -> u8 {
        let at = Self::MILLISECONDS.iter().position(|ms| Duration::from_millis(*ms) >= least);
        // The index fits, because there are 13 intervals.
        at.unwrap_or(Self::MILLISECONDS.len() - 1) as u8
    }
}

/// Values of `reportAmount` of TS 36.331, with their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportAmount;

impl ReportAmount {
    /// Value for an unlimited number of reports.
    pub const INFINITE: u8 = 7;

    /// Returns the total number of reports (1, 2, 4 … 64), or `None` if it is unlimited.
    pub fn reports(number: u8) -> Option<u32> {
        (number < Self::INFINITE).then(|| 1 << number)
    }
}
