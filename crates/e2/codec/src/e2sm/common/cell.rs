//! Cells and base stations.
use crate::e2ap::{EnbId, Plmn, PlmnCodec, sole_alternative};
use crate::per::{BitNumber, Bits, SelfCoded, ShortBits};
use crate::{choice, sequence};
use std::str::FromStr;

sequence! {
    /// A cell of NR.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NrCgi "NR-CGI" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "PLMN.",
        cell: u64 [BitNumber<36>] "nRCellIdentity", "Identity within the PLMN, 36 bits; the first bits are the identity of the gNB.",
    }
    /// A cell of LTE.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    EutraCgi "EUTRA-CGI" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "PLMN.",
        cell: u32 [BitNumber<28>] "eUTRACellIdentity", "Identity within the PLMN, 28 bits; the first bits are the identity of the eNB.",
    }
}

/// The text is not a valid NR cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an NR cell; MCC.MNC/IDENTITY is allowed, the identity being 36 bits in hexadecimal digits"
)]
pub struct NotACell(pub String);

impl FromStr for NrCgi {
    type Err = NotACell;

    fn from_str(text: &str) -> Result<Self, NotACell> {
        let read = || {
            let (plmn, cell) = text.split_once('/')?;
            let cell = u64::from_str_radix(cell, 16).ok().filter(|cell| *cell < 1 << 36)?;
            Some(Self { plmn: plmn.parse().ok()?, cell })
        };
        read().ok_or_else(|| NotACell(text.to_owned()))
    }
}

choice! {
    /// A cell.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    Cgi "CGI" {
        Nr(NrCgi) [SelfCoded] "nR-CGI", "NR.",
        Eutra(EutraCgi) [SelfCoded] "eUTRA-CGI", "LTE.",
    }
    /// Identity of an ng-eNB within its network.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NgEnbNumber "NgENB-ID" {
        Macro(ShortBits) [Bits<20, 20>] "macroNgENB-ID", "Macro ng-eNB, 20 bits.",
        ShortMacro(ShortBits) [Bits<18, 18>] "shortMacroNgENB-ID", "Short macro ng-eNB, 18 bits.",
        LongMacro(ShortBits) [Bits<21, 21>] "longMacroNgENB-ID", "Long macro ng-eNB, 21 bits.",
    }
}

sole_alternative!(GnbNumber "gNB-ID" ShortBits [Bits<22, 32>]);

sequence! {
    /// A gNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalGnb "GlobalGNB-ID" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "PLMN.",
        gnb: ShortBits [GnbNumber] "gNB-ID", "Identity of the gNB, 22 to 32 bits.",
    }
    /// An ng-eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalNgEnb "GlobalNgENB-ID" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "PLMN.",
        ng_enb: NgEnbNumber [SelfCoded] "ngENB-ID", "Identity within the PLMN.",
    }
    /// An eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalEnb "GlobalENB-ID" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "PLMN.",
        enb: EnbId [SelfCoded] "eNB-ID", "Identity within the PLMN.",
    }
}
choice! {
    /// A node of the NG-RAN.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalNgRanNode "GlobalNGRANNodeID" {
        Gnb(GlobalGnb) [SelfCoded] "gNB", "A gNB.",
        NgEnb(GlobalNgEnb) [SelfCoded] "ng-eNB", "An ng-eNB.",
    }
}
