//! Neighbours of a cell.
use super::LIST_MAX;
use crate::e2sm::common::{EutraCgi, NrCgi, sole_component};
use crate::per::{Fixed, Int, IntExt, List, Opt, Own};
use crate::{choice, enumerated, sequence};

/// Codec of the physical identity of a cell of LTE.
type EutraPci = IntExt<0, 503>;
/// Codec of a band of NR.
type Band = IntExt<1, 1_024>;

enumerated! {
    /// Yes or no, in words.
    Truth "x2-Xn-established" {
        True "true", "Yes.",
        False "false", "No.",
    }
    /// How both directions share the air.
    Duplex "nR-mode-info" {
        Fdd "fdd", "By frequency.",
        Tdd "tdd", "By time.",
    }
    /// Whether frequencies are shifted by 7.5 kHz.
    Shift "NRFrequencyShift7p5khz" {
        False "false", "No.",
        True "true", "Yes.",
    }
}
sequence! {
    /// A cell's own place, and its neighbours.
    NeighbourRelations "NeighborRelation-Info" {
        pci: ServingPci [Own] "servingCellPCI", "Its physical identity.",
        arfcn: ServingArfcn [Own] "servingCellARFCN", "Its frequency.",
        neighbours: Vec<Neighbour> [List<1, LIST_MAX>] "neighborCell-List", "They.",
    }
    /// A neighbour of NR.
    NrNeighbour "NeighborCell-Item-Choice-NR" {
        cell: NrCgi [Own] "nR-CGI", "Which.",
        pci: u16 [Int<0, 1_007>] "nR-PCI", "Its physical identity.",
        tac: [u8; 3] [Fixed] "fiveGS-TAC", "Its tracking area.",
        duplex: Duplex [Own] "nR-mode-info", "How both directions share the air.",
        frequency: NrFrequency [Own] "nR-FreqInfo", "Where it is.",
        connected: Truth [Own] "x2-Xn-established", "Whether there is an interface to it.",
        handover: Truth [Own] "hO-validated", "Whether handovers to it work.",
        version: u16 [IntExt<1, 65_535>] "version", "Of this entry.",
    }
    /// A neighbour of LTE.
    EutraNeighbour "NeighborCell-Item-Choice-E-UTRA" {
        cell: EutraCgi [Own] "eUTRA-CGI", "Which.",
        pci: u16 [EutraPci] "eUTRA-PCI", "Its physical identity.",
        arfcn: u16 [Int<0, 65_535>] "eUTRA-ARFCN", "Where it is.",
        tac: [u8; 2] [Fixed] "eUTRA-TAC", "Its tracking area.",
        connected: Truth [Own] "x2-Xn-established", "Whether there is an interface to it.",
        handover: Truth [Own] "hO-validated", "Whether handovers to it work.",
        version: u16 [IntExt<1, 65_535>] "version", "Of this entry.",
    }
    /// A frequency of NR.
    NrFrequency "NRFrequencyInfo" {
        arfcn: u32 [NrArfcn] "nrARFCN", "Its number.",
        bands: Vec<NrBand> [List<1, 32>] "frequencyBand-List", "The bands that it is of.",
        shift: Option<Shift> [Opt] "frequencyShift7p5khz", "Whether it is shifted.",
    }
    /// A band of NR.
    NrBand "NRFrequencyBandItem" {
        band: u16 [Band] "freqBandIndicatorNr", "Its number.",
        supplementary: Vec<u16> [List<0, 32, SupplementaryBand>] "supportedSULBandList", "Bands of a supplementary uplink.",
    }
}
choice! {
    /// A neighbour.
    Neighbour "NeighborCell-Item" {
        Nr(NrNeighbour) [Own] "ranType-Choice-NR", "Of NR.",
        Eutra(EutraNeighbour) [Own] "ranType-Choice-EUTRA", "Of LTE.",
    }
    /// A serving cell's physical identity.
    #[derive(Copy, Eq, Hash)]
    ServingPci "ServingCell-PCI" {
        Nr(u16) [Int<0, 1_007>] "nR", "Of NR.",
        Eutra(u16) [EutraPci] "eUTRA", "Of LTE.",
    }
    /// A serving cell's frequency.
    #[derive(Copy, Eq, Hash)]
    ServingArfcn "ServingCell-ARFCN" {
        Nr(u32) [NrArfcn] "nR", "Of NR.",
        Eutra(u16) [Int<0, 65_535>] "eUTRA", "Of LTE.",
    }
}
sole_component! {
    NrArfcn "nRARFCN" u32 [Int<0, 3_279_165>];
    SupplementaryBand "freqBandIndicatorNr" u16 [Band];
}
