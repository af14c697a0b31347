//! What the bodies of messages are made of.
use super::super::{EmpowerError, Reader, layouts};

/// A network as OpenEmpower v1 writes it: a zero octet and three of BCD.
pub type PlmnId = [u8; 4];

layouts! {
    /// What a cell can.
    CellCaps 0x0100 {
        /// Physical cell identity.
        pci: u16,
        /// [`Features`], as bits.
        features: u32,
        /// Downlink channel.
        dl_earfcn: u16,
        /// Downlink resource blocks.
        dl_bandwidth: u8,
        /// Uplink channel.
        ul_earfcn: u16,
        /// Uplink resource blocks.
        ul_bandwidth: u8,
        /// UEs at most.
        max_ues: u16,
    }
    /// What a cell can slice.
    RanCaps 0x0503 {
        /// Physical cell identity.
        pci: u16,
        /// Layer 1, as bits; none defined.
        layer1: u32,
        /// Layer 2: bit 0 slices by resource block group, bit 1 by resource block.
        layer2: u32,
        /// Layer 3, as bits; none defined.
        layer3: u32,
        /// Schedulers of slices, as bits.
        mac_sched: u32,
        /// Slices at most.
        max_slices: u16,
    }
    /// A UE.
    UeIdentity 0x0700 {
        /// C-RNTI.
        rnti: u16,
        /// Network.
        plmn_id: [u8; 4],
        /// IMSI as a number.
        imsi: u64,
        /// TMSI.
        tmsi: u32,
        /// 0 there, 1 gone.
        state: u8,
    }
    /// Resource block groups of a slice.
    SliceRbgs 0x0501 {
        /// Their number.
        rbgs: u16,
    }
    /// Scheduler of a slice's UEs.
    SliceScheduler 0x0502 {
        /// Its number.
        sched_id: u32,
    }
    /// Asks for the use of resource blocks.
    MacPrbsRequest 0x0101 {}
    /// Use of resource blocks.
    MacPrbsReport 0x0102 {
        /// Downlink, there are.
        dl_prbs_total: u8,
        /// Downlink, used so far.
        dl_prbs_used: u32,
        /// Uplink, there are.
        ul_prbs_total: u8,
        /// Uplink, used so far.
        ul_prbs_used: u32,
    }
    /// Asks a UE to measure.
    RrcMeasureRequest 0x0600 {
        /// Number of the measurement.
        measure_id: u16,
        /// Who measures.
        rnti: u16,
        /// Which channel.
        earfcn: u16,
        /// How often, in ms.
        interval: u16,
        /// Cells at most.
        max_cells: u16,
        /// Reports at most.
        max_measure: u16,
    }
    /// What a UE measured.
    RrcMeasureReport 0x0601 {
        /// Number of the measurement.
        measure_id: u16,
        /// Physical cell identity.
        pci: u16,
        /// RSRP, as the base station counts it.
        rsrp: i16,
        /// RSRQ, as the base station counts it.
        rsrq: i16,
    }
}

/// Bits of [`CellCaps::features`].
pub struct Features;

impl Features {
    /// UE reports.
    pub const UE_REPORT: u32 = 1;
    /// UE measurements.
    pub const UE_MEASURE: u32 = 2;
    /// Cell measurements.
    pub const CELL_MEASURE: u32 = 4;
    /// Handover.
    pub const HANDOVER: u32 = 8;
    /// All of them.
    pub const ALL: u32 = 15;
}

/// Type of the list of C-RNTIs in a slice.
pub const RNTI_LIST: u16 = 0x0001;

/// An element of a body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tlv {
    /// What a cell can.
    CellCaps(CellCaps),
    /// What a cell can slice.
    RanCaps(RanCaps),
    /// A UE.
    UeIdentity(UeIdentity),
    /// Resource block groups of a slice.
    SliceRbgs(SliceRbgs),
    /// Scheduler of a slice.
    SliceScheduler(SliceScheduler),
    /// UEs of a slice.
    RntiList(Vec<u16>),
    /// Asks for the use of resource blocks.
    MacPrbsRequest(MacPrbsRequest),
    /// Use of resource blocks.
    MacPrbsReport(MacPrbsReport),
    /// Asks a UE to measure.
    RrcMeasureRequest(RrcMeasureRequest),
    /// What a UE measured.
    RrcMeasureReport(RrcMeasureReport),
    /// Anything else, kept as it is.
    Unknown {
        /// Type.
        kind: u16,
        /// Value.
        value: Vec<u8>,
    },
}

impl Tlv {
    fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError> {
        Ok(match kind {
            CellCaps::TYPE => Self::CellCaps(CellCaps::read(value)?),
            RanCaps::TYPE => Self::RanCaps(RanCaps::read(value)?),
            UeIdentity::TYPE => Self::UeIdentity(UeIdentity::read(value)?),
            SliceRbgs::TYPE => Self::SliceRbgs(SliceRbgs::read(value)?),
            SliceScheduler::TYPE => Self::SliceScheduler(SliceScheduler::read(value)?),
            MacPrbsRequest::TYPE => Self::MacPrbsRequest(MacPrbsRequest::read(value)?),
            MacPrbsReport::TYPE => Self::MacPrbsReport(MacPrbsReport::read(value)?),
            RrcMeasureRequest::TYPE => Self::RrcMeasureRequest(RrcMeasureRequest::read(value)?),
            RrcMeasureReport::TYPE => Self::RrcMeasureReport(RrcMeasureReport::read(value)?),
            RNTI_LIST => {
                let (rntis, rest) = value.as_chunks::<2>();
                if !rest.is_empty() {
                    let need = value.len() + 1;
                    return Err(EmpowerError::TlvLength { kind, need, have: value.len() });
                }
                Self::RntiList(rntis.iter().map(|rnti| u16::from_be_bytes(*rnti)).collect())
            }
            _ => Self::Unknown { kind, value: value.to_vec() },
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EmpowerError> {
        let kind = match self {
            Self::CellCaps(_) => CellCaps::TYPE,
            Self::RanCaps(_) => RanCaps::TYPE,
            Self::UeIdentity(_) => UeIdentity::TYPE,
            Self::SliceRbgs(_) => SliceRbgs::TYPE,
            Self::SliceScheduler(_) => SliceScheduler::TYPE,
            Self::RntiList(_) => RNTI_LIST,
            Self::MacPrbsRequest(_) => MacPrbsRequest::TYPE,
            Self::MacPrbsReport(_) => MacPrbsReport::TYPE,
            Self::RrcMeasureRequest(_) => RrcMeasureRequest::TYPE,
            Self::RrcMeasureReport(_) => RrcMeasureReport::TYPE,
            Self::Unknown { kind, .. } => *kind,
        };
        out.extend_from_slice(&kind.to_be_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 2]);
        match self {
            Self::CellCaps(value) => value.write(out),
            Self::RanCaps(value) => value.write(out),
            Self::UeIdentity(value) => value.write(out),
            Self::SliceRbgs(value) => value.write(out),
            Self::SliceScheduler(value) => value.write(out),
            Self::RntiList(rntis) => out.extend(rntis.iter().flat_map(|rnti| rnti.to_be_bytes())),
            Self::MacPrbsRequest(value) => value.write(out),
            Self::MacPrbsReport(value) => value.write(out),
            Self::RrcMeasureRequest(value) => value.write(out),
            Self::RrcMeasureReport(value) => value.write(out),
            Self::Unknown { value, .. } => out.extend_from_slice(value),
        }
        let len = out.len() - length_at - 2;
        let most = usize::from(u16::MAX);
        let length =
            u16::try_from(len).map_err(|_| EmpowerError::Unencodable { what: "a TLV", len, most })?;
        out[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

pub(super) fn read_all(mut reader: Reader<'_>) -> Result<Vec<Tlv>, EmpowerError> {
    let mut tlvs = Vec::new();
    while !reader.0.is_empty() {
        let kind = reader.u16("the type of a TLV")?;
        let length = reader.u16("the length of a TLV")?;
        tlvs.push(Tlv::read(kind, reader.take("the value of a TLV", length.into())?)?);
    }
    Ok(tlvs)
}

pub(super) fn write_all(tlvs: &[Tlv], out: &mut Vec<u8>) -> Result<(), EmpowerError> {
    tlvs.iter().try_for_each(|tlv| tlv.write(out))
}
