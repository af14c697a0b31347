//! Neighbours of a cell.
use super::LIST_MAX;
use crate::e2sm::common::{EutraCgi, NrCgi, sole_component};
use crate::per::{Fixed, Int, IntExt, List, Opt, SelfCoded};
use crate::{choice, enumerated, sequence};

/// Codec of a physical cell identity of LTE.
type EutraPci = IntExt<0, 503>;
/// Codec of a band of NR.
type Band = IntExt<1, 1_024>;

enumerated! {
    /// A Boolean as an enumeration.
    Truth "x2-Xn-established" {
        True "true", "True.",
        False "false", "False.",
    }
    /// Duplex mode.
    Duplex "nR-mode-info" {
        Fdd "fdd", "Frequency-division duplex.",
        Tdd "tdd", "Time-division duplex.",
    }
    /// Whether frequencies are shifted by 7.5 kHz.
    Shift "NRFrequencyShift7p5khz" {
        False "false", "Not shifted.",
        True "true", "Shifted.",
    }
}
sequence! {
    /// Serving cell and its neighbours.
    NeighbourRelations "NeighborRelation-Info" {
        pci: ServingPci [SelfCoded] "servingCellPCI", "Physical cell identity.",
        arfcn: ServingArfcn [SelfCoded] "servingCellARFCN", "Frequency.",
        neighbours: Vec<Neighbour> [List<1, LIST_MAX>] "neighborCell-List", "Neighbour cells.",
    }
    /// A neighbour of NR.
    NrNeighbour "NeighborCell-Item-Choice-NR" {
        cell: NrCgi [SelfCoded] "nR-CGI", "Cell.",
        pci: u16 [Int<0, 1_007>] "nR-PCI", "Physical cell identity.",
        tac: [u8; 3] [Fixed] "fiveGS-TAC", "Tracking area.",
        duplex: Duplex [SelfCoded] "nR-mode-info", "Duplex mode.",
        frequency: NrFrequency [SelfCoded] "nR-FreqInfo", "Frequency.",
        connected: Truth [SelfCoded] "x2-Xn-established", "Whether there is an Xn or X2 interface to the neighbour.",
        handover: Truth [SelfCoded] "hO-validated", "Whether handovers to the neighbour are possible.",
        version: u16 [IntExt<1, 65_535>] "version", "Version of the entry.",
    }
    /// A neighbour of LTE.
    EutraNeighbour "NeighborCell-Item-Choice-E-UTRA" {
        cell: EutraCgi [SelfCoded] "eUTRA-CGI", "Cell.",
        pci: u16 [EutraPci] "eUTRA-PCI", "Physical cell identity.",
        arfcn: u16 [Int<0, 65_535>] "eUTRA-ARFCN", "Frequency (EARFCN).",
        tac: [u8; 2] [Fixed] "eUTRA-TAC", "Tracking area.",
        connected: Truth [SelfCoded] "x2-Xn-established", "Whether there is an Xn or X2 interface to the neighbour.",
        handover: Truth [SelfCoded] "hO-validated", "Whether handovers to the neighbour are possible.",
        version: u16 [IntExt<1, 65_535>] "version", "Version of the entry.",
    }
    /// A frequency of NR.
    NrFrequency "NRFrequencyInfo" {
        arfcn: u32 [NrArfcn] "nrARFCN", "NR-ARFCN.",
        bands: Vec<NrBand> [List<1, 32>] "frequencyBand-List", "Frequency bands.",
        shift: Option<Shift> [Opt] "frequencyShift7p5khz", "Whether the frequency is shifted by 7.5 kHz.",
    }
    /// A band of NR.
    NrBand "NRFrequencyBandItem" {
        band: u16 [Band] "freqBandIndicatorNr", "Band number.",
        supplementary: Vec<u16> [List<0, 32, SupplementaryBand>] "supportedSULBandList", "Bands of a supplementary uplink.",
    }
}
choice! {
    /// A neighbour.
    Neighbour "NeighborCell-Item" {
        Nr(NrNeighbour) [SelfCoded] "ranType-Choice-NR", "NR.",
        Eutra(EutraNeighbour) [SelfCoded] "ranType-Choice-EUTRA", "LTE.",
    }
    /// A serving cell's physical identity.
    #[derive(Copy, Eq, Hash)]
    ServingPci "ServingCell-PCI" {
        Nr(u16) [Int<0, 1_007>] "nR", "NR.",
        Eutra(u16) [EutraPci] "eUTRA", "LTE.",
    }
    /// A serving cell's frequency.
    #[derive(Copy, Eq, Hash)]
    ServingArfcn "ServingCell-ARFCN" {
        Nr(u32) [NrArfcn] "nR", "NR.",
        Eutra(u16) [Int<0, 65_535>] "eUTRA", "LTE.",
    }
}
sole_component! {
    NrArfcn "nRARFCN" u32 [Int<0, 3_279_165>];
    SupplementaryBand "freqBandIndicatorNr" u16 [Band];
}
