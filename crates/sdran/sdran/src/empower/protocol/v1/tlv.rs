//! TLVs in message bodies.
use super::super::{Element, EmpowerError, Layout, Reader, tlvs};

/// PLMN identity in OpenEmpower v1: a zero byte and three bytes of BCD.
pub type PlmnId = [u8; 4];

tlvs! {
    length counts 0;
    /// Capabilities of a cell.
    CellCaps 0x0100 {
        pci: u16, "Physical cell identity.";
        features: u32, "[`Features`], as bits.";
        dl_earfcn: u16, "Downlink EARFCN.";
        dl_bandwidth: u8, "Downlink resource blocks.";
        ul_earfcn: u16, "Uplink EARFCN.";
        ul_bandwidth: u8, "Uplink resource blocks.";
        max_ues: u16, "Maximum number of UEs.";
    }
    /// Slicing capabilities of a cell.
    RanCaps 0x0503 {
        pci: u16, "Physical cell identity.";
        layer1: u32, "Layer 1 features, as bits; no bits are defined.";
        layer2: u32, "Layer 2 features: bit 0 slices by resource block group, bit 1 by resource block.";
        layer3: u32, "Layer 3 features, as bits; no bits are defined.";
        mac_sched: u32, "Schedulers of slices, as bits.";
        max_slices: u16, "Maximum number of slices.";
    }
    /// Identity of a UE, with its state.
    UeIdentity 0x0700 {
        rnti: u16, "C-RNTI.";
        plmn_id: [u8; 4], "PLMN.";
        imsi: u64, "IMSI as a number.";
        tmsi: u32, "TMSI.";
        state: u8, "State of the UE: 0 connected, 1 disconnected.";
    }
    /// Resource block groups of a slice.
    SliceRbgs 0x0501 {
        rbgs: u16, "Number of resource block groups.";
    }
    /// Scheduler of a slice's UEs.
    SliceScheduler 0x0502 {
        sched_id: u32, "Number of the scheduler.";
    }
    /// Request for the resource block utilization.
    MacPrbsRequest 0x0101 {}
    /// Resource block utilization.
    MacPrbsReport 0x0102 {
        dl_prbs_total: u8, "Available downlink resource blocks.";
        dl_prbs_used: u32, "Downlink resource blocks used so far.";
        ul_prbs_total: u8, "Available uplink resource blocks.";
        ul_prbs_used: u32, "Uplink resource blocks used so far.";
    }
    /// Measurement request for a UE.
    RrcMeasureRequest 0x0600 {
        measure_id: u16, "Number of the measurement.";
        rnti: u16, "RNTI of the measuring UE.";
        earfcn: u16, "EARFCN of the measured carrier.";
        interval: u16, "Interval, in ms.";
        max_cells: u16, "Maximum number of cells.";
        max_measure: u16, "Maximum number of reports.";
    }
    /// Measurement results of a UE.
    RrcMeasureReport 0x0601 {
        measure_id: u16, "Number of the measurement.";
        pci: u16, "Physical cell identity.";
        rsrp: i16, "RSRP, in the base station's units.";
        rsrq: i16, "RSRQ, in the base station's units.";
    }
    [RntiList RNTI_LIST: Vec<u16>, "UEs of a slice."]
}

/// Bits of [`CellCaps::features`].
pub struct Features;

impl Features {
    ranlab_machine::codes! { u32:
        UE_REPORT = 1 "UE reports.";
        UE_MEASURE = 2 "UE measurements.";
        CELL_MEASURE = 4 "Cell measurements.";
        HANDOVER = 8 "Handover.";
        ALL = 15 "All features.";
    }
}

/// Type of the list of C-RNTIs of a slice.
pub const RNTI_LIST: u16 = 0x0001;

impl Layout for Vec<u16> {
    fn read(kind: u16, value: &[u8]) -> Result<Self, EmpowerError> {
        let (numbers, rest) = value.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(EmpowerError::TlvLength { kind, need: value.len() + 1, have: value.len() });
        }
        Ok(numbers.iter().map(|number| u16::from_be_bytes(*number)).collect())
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.iter().flat_map(|number| number.to_be_bytes()));
    }
}
