//! What messages are made of.
use super::super::{Element, EmpowerError, Layout, Reader, tlvs};
use std::time::Duration;

tlvs! {
    length counts 4;
    /// How often the base station says hello.
    HelloPeriod 0x05 {
        period: u32, "Milliseconds.";
    }
    /// What a cell is.
    CapabilitiesCell 0x06 {
        pci: u16, "Physical cell identity.";
        dl_earfcn: u32, "Downlink channel.";
        ul_earfcn: u32, "Uplink channel.";
        n_prbs: u8, "Resource blocks.";
    }
    /// A UE.
    UeIdentity 0x07 {
        imsi: u64, "IMSI as a number.";
        tmsi: u32, "TMSI.";
        rnti: u16, "C-RNTI.";
        status: u8, "A [`UeStatus`].";
        pci: u16, "Physical cell identity.";
    }
    /// Asks a UE to measure.
    UeMeasurementConfig 0x08 {
        rnti: u16, "RNTI of the measuring UE.";
        meas_id: u8, "Number of the measurement.";
        interval: u8, "A [`ReportInterval`].";
        amount: u8, "A [`ReportAmount`].";
    }
    /// What a UE measured.
    UeMeasurementReport 0x09 {
        rnti: u16, "RNTI of the measuring UE.";
        meas_id: u8, "Number of the measurement.";
        rsrp: i8, "RSRP range.";
        rsrq: i8, "RSRQ range.";
    }
    /// Use of a cell.
    MacPrbReport 0x0a {
        prb: u16, "Resource blocks offered.";
        dl: u32, "Resource blocks used so far, downlink.";
        ul: u32, "Resource blocks used so far, uplink.";
        pci: u16, "Physical cell identity.";
    }
    /// A measurement.
    MeasurementId 0x0b {
        meas_id: u8, "Its number.";
    }
}

/// Values of [`UeIdentity::status`].
pub struct UeStatus;

impl UeStatus {
    /// There.
    pub const CONNECTED: u8 = 1;
    /// Gone.
    pub const DISCONNECTED: u8 = 2;
}

/// `reportInterval` of TS 36.331: the numbers and their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportInterval;

impl ReportInterval {
    const MILLISECONDS: [u64; 13] =
        [120, 240, 480, 640, 1024, 2048, 5120, 10_240, 60_000, 360_000, 720_000, 1_800_000, 3_600_000];

    /// The time between two reports; `None` for a spare number.
    pub fn duration(number: u8) -> Option<Duration> {
        Self::MILLISECONDS.get(usize::from(number)).map(|ms| Duration::from_millis(*ms))
    }

    /// The shortest interval that is at least `wanted`; the longest there is for more.
    pub fn at_least(wanted: Duration) -> u8 {
        let at = Self::MILLISECONDS.iter().position(|ms| Duration::from_millis(*ms) >= wanted);
        // 13 of them.
        at.unwrap_or(Self::MILLISECONDS.len() - 1) as u8
    }
}

/// `reportAmount` of TS 36.331: the numbers and their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportAmount;

impl ReportAmount {
    /// Without end.
    pub const INFINITE: u8 = 7;

    /// Reports in all: 1, 2, 4 … 64; `None`: without end.
    pub fn reports(number: u8) -> Option<u32> {
        (number < Self::INFINITE).then(|| 1 << number)
    }
}
