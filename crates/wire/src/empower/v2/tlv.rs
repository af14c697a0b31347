//! What messages are made of.
use super::super::{EmpowerError, Reader, layouts};
use std::time::Duration;

layouts! {
    /// How often the base station says hello.
    HelloPeriod 0x05 {
        /// Milliseconds.
        period: u32,
    }
    /// What a cell is.
    CapabilitiesCell 0x06 {
        /// Physical cell identity.
        pci: u16,
        /// Downlink channel.
        dl_earfcn: u32,
        /// Uplink channel.
        ul_earfcn: u32,
        /// Resource blocks.
        n_prbs: u8,
    }
    /// A UE.
    UeIdentity 0x07 {
        /// IMSI as a number.
        imsi: u64,
        /// TMSI.
        tmsi: u32,
        /// C-RNTI.
        rnti: u16,
        /// A [`UeStatus`].
        status: u8,
        /// Physical cell identity.
        pci: u16,
    }
    /// Asks a UE to measure.
    UeMeasurementConfig 0x08 {
        /// Who measures.
        rnti: u16,
        /// Number of the measurement.
        meas_id: u8,
        /// A [`ReportInterval`].
        interval: u8,
        /// A [`ReportAmount`].
        amount: u8,
    }
    /// What a UE measured.
    UeMeasurementReport 0x09 {
        /// Who measured.
        rnti: u16,
        /// Number of the measurement.
        meas_id: u8,
        /// RSRP range.
        rsrp: i8,
        /// RSRQ range.
        rsrq: i8,
    }
    /// Use of a cell.
    MacPrbReport 0x0a {
        /// Resource blocks there are.
        prb: u16,
        /// Downlink, used so far.
        dl: u32,
        /// Uplink, used so far.
        ul: u32,
        /// Physical cell identity.
        pci: u16,
    }
    /// A measurement.
    MeasurementId 0x0b {
        /// Its number.
        meas_id: u8,
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

/// An element of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tlv {
    /// How often the base station says hello.
    HelloPeriod(HelloPeriod),
    /// What a cell is.
    CapabilitiesCell(CapabilitiesCell),
    /// A UE.
    UeIdentity(UeIdentity),
    /// Asks a UE to measure.
    UeMeasurementConfig(UeMeasurementConfig),
    /// What a UE measured.
    UeMeasurementReport(UeMeasurementReport),
    /// Use of a cell.
    MacPrbReport(MacPrbReport),
    /// A measurement.
    MeasurementId(MeasurementId),
    /// Anything else, kept as it is.
    Unknown {
        /// Type.
        kind: u16,
        /// Value.
        value: Vec<u8>,
    },
}

/// Octets of a TLV's type and length.
const HEAD_BYTES: usize = 4;

impl Tlv {
    fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError> {
        Ok(match kind {
            HelloPeriod::TYPE => Self::HelloPeriod(HelloPeriod::read(value)?),
            CapabilitiesCell::TYPE => Self::CapabilitiesCell(CapabilitiesCell::read(value)?),
            UeIdentity::TYPE => Self::UeIdentity(UeIdentity::read(value)?),
            UeMeasurementConfig::TYPE => Self::UeMeasurementConfig(UeMeasurementConfig::read(value)?),
            UeMeasurementReport::TYPE => Self::UeMeasurementReport(UeMeasurementReport::read(value)?),
            MacPrbReport::TYPE => Self::MacPrbReport(MacPrbReport::read(value)?),
            MeasurementId::TYPE => Self::MeasurementId(MeasurementId::read(value)?),
            _ => Self::Unknown { kind, value: value.to_vec() },
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EmpowerError> {
        let kind = match self {
            Self::HelloPeriod(_) => HelloPeriod::TYPE,
            Self::CapabilitiesCell(_) => CapabilitiesCell::TYPE,
            Self::UeIdentity(_) => UeIdentity::TYPE,
            Self::UeMeasurementConfig(_) => UeMeasurementConfig::TYPE,
            Self::UeMeasurementReport(_) => UeMeasurementReport::TYPE,
            Self::MacPrbReport(_) => MacPrbReport::TYPE,
            Self::MeasurementId(_) => MeasurementId::TYPE,
            Self::Unknown { kind, .. } => *kind,
        };
        let start = out.len();
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&[0; 2]);
        match self {
            Self::HelloPeriod(value) => value.write(out),
            Self::CapabilitiesCell(value) => value.write(out),
            Self::UeIdentity(value) => value.write(out),
            Self::UeMeasurementConfig(value) => value.write(out),
            Self::UeMeasurementReport(value) => value.write(out),
            Self::MacPrbReport(value) => value.write(out),
            Self::MeasurementId(value) => value.write(out),
            Self::Unknown { value, .. } => out.extend_from_slice(value),
        }
        let (len, most) = (out.len() - start, usize::from(u16::MAX));
        let length =
            u16::try_from(len).map_err(|_| EmpowerError::Unencodable { what: "a TLV", len, most })?;
        out[start + 2..start + HEAD_BYTES].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

pub(super) fn read_all(mut reader: Reader<'_>) -> Result<Vec<Tlv>, EmpowerError> {
    let mut tlvs = Vec::new();
    while !reader.0.is_empty() {
        let kind = reader.u16("the type of a TLV")?;
        let length = usize::from(reader.u16("the length of a TLV")?);
        let least = HEAD_BYTES;
        let value =
            length.checked_sub(least).ok_or(EmpowerError::TlvLength { kind, need: least, have: length })?;
        tlvs.push(Tlv::read(kind, reader.take("the value of a TLV", value)?)?);
    }
    Ok(tlvs)
}

pub(super) fn write_all(tlvs: &[Tlv], out: &mut Vec<u8>) -> Result<(), EmpowerError> {
    tlvs.iter().try_for_each(|tlv| tlv.write(out))
}
