//! UEs, as each type of node names them. A UE has another name at every node.
use std::fmt;

use super::{GlobalEnb, GlobalGnb, GlobalNgEnb, GlobalNgRanNode};
use crate::e2ap::{Plmn, PlmnCodec};
use crate::per::{BitNumber, Fixed, Int, IntExt, List, Opt, Own};
use crate::{choice, sequence};

/// An identifier of 32 bits that one end of an interface gave.
type Id32 = Int<0, 4_294_967_295>;

sequence! {
    /// An AMF (TS 23.003 §2.10).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    Guami "GUAMI" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "Its network.",
        region: u8 [BitNumber<8>] "aMFRegionID", "Its region.",
        set: u16 [BitNumber<10>] "aMFSetID", "Its set there, 10 bits.",
        pointer: u8 [BitNumber<6>] "aMFPointer", "Its place there, 6 bits.",
    }
    /// An MME (TS 23.003 §2.8).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    Gummei "GUMMEI" {
        plmn: Plmn [PlmnCodec] "pLMN-Identity", "Its network.",
        group: [u8; 2] [Fixed] "mME-Group-ID", "Its group.",
        code: [u8; 1] [Fixed] "mME-Code", "Its place there.",
    }
    /// What a gNB-CU calls a UE towards a DU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    F1apId "UEID-GNB-CU-CP-F1AP-ID-Item" {
        id: u32 [Id32] "gNB-CU-UE-F1AP-ID", "On F1.",
    }
    /// What a gNB-CU-CP calls a UE towards a CU-UP.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    E1apId "UEID-GNB-CU-CP-E1AP-ID-Item" {
        id: u32 [Id32] "gNB-CU-CP-UE-E1AP-ID", "On E1.",
    }
    /// At a gNB or a gNB-CU-CP.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    GnbUe "UEID-GNB" {
        amf_ue_ngap_id: u64 [Int<0, 1_099_511_627_775>] "amf-UE-NGAP-ID", "What the AMF calls it, 40 bits.",
        guami: Guami [Own] "guami", "The AMF.",
        f1ap_ids: Option<Vec<F1apId>> [Opt<List<1, 4>>] "gNB-CU-UE-F1AP-ID-List", "What its CU calls it towards its DUs.",
        e1ap_ids: Option<Vec<E1apId>> [Opt<List<1, 65_535>>] "gNB-CU-CP-UE-E1AP-ID-List", "What its CU-CP calls it towards its CU-UPs.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "What the RAN calls it.",
        xnap_id: Option<u32> [Opt<Id32>] "m-NG-RAN-UE-XnAP-ID", "What the master node calls it on Xn.",
        gnb: Option<GlobalGnb> [Opt] "globalGNB-ID", "The master node, if a gNB.";
        node: GlobalNgRanNode [Own] "globalNG-RANNode-ID", "The master node.",
    }
    /// At a gNB-DU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GnbDuUe "UEID-GNB-DU" {
        f1ap_id: u32 [Id32] "gNB-CU-UE-F1AP-ID", "What its CU calls it on F1.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "What the RAN calls it.",
    }
    /// At a gNB-CU-UP.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GnbCuUpUe "UEID-GNB-CU-UP" {
        e1ap_id: u32 [Id32] "gNB-CU-CP-UE-E1AP-ID", "What its CU-CP calls it on E1.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "What the RAN calls it.",
    }
    /// At an ng-eNB or an ng-eNB-CU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NgEnbUe "UEID-NG-ENB" {
        amf_ue_ngap_id: u64 [Int<0, 1_099_511_627_775>] "amf-UE-NGAP-ID", "What the AMF calls it, 40 bits.",
        guami: Guami [Own] "guami", "The AMF.",
        w1ap_id: Option<u32> [Opt<Id32>] "ng-eNB-CU-UE-W1AP-ID", "What its CU calls it on W1.",
        xnap_id: Option<u32> [Opt<Id32>] "m-NG-RAN-UE-XnAP-ID", "What the master node calls it on Xn.",
        ng_enb: Option<GlobalNgEnb> [Opt] "globalNgENB-ID", "The master node, if an ng-eNB.";
        node: GlobalNgRanNode [Own] "globalNG-RANNode-ID", "The master node.",
    }
    /// At an ng-eNB-DU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NgEnbDuUe "UEID-NG-ENB-DU" {
        w1ap_id: u32 [Id32] "ng-eNB-CU-UE-W1AP-ID", "What its CU calls it on W1.",
    }
    /// At an en-gNB.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    EnGnbUe "UEID-EN-GNB" {
        x2ap_id: u16 [Int<0, 4_095>] "m-eNB-UE-X2AP-ID", "What the master eNB calls it on X2.",
        x2ap_id_extension: Option<u16> [Opt<IntExt<0, 4_095>>] "m-eNB-UE-X2AP-ID-Extension", "More of it.",
        enb: GlobalEnb [Own] "globalENB-ID", "The master eNB.",
        f1ap_id: Option<u32> [Opt<Id32>] "gNB-CU-UE-F1AP-ID", "What its CU calls it on F1.",
        e1ap_ids: Option<Vec<E1apId>> [Opt<List<1, 65_535>>] "gNB-CU-CP-UE-E1AP-ID-List", "What its CU-CP calls it towards its CU-UPs.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "What the RAN calls it.",
    }
    /// At an eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    EnbUe "UEID-ENB" {
        s1ap_id: u32 [Id32] "mME-UE-S1AP-ID", "What the MME calls it.",
        gummei: Gummei [Own] "gUMMEI", "The MME.",
        x2ap_id: Option<u16> [Opt<Int<0, 4_095>>] "m-eNB-UE-X2AP-ID", "What the master eNB calls it on X2.",
        x2ap_id_extension: Option<u16> [Opt<IntExt<0, 4_095>>] "m-eNB-UE-X2AP-ID-Extension", "More of it.",
        enb: Option<GlobalEnb> [Opt] "globalENB-ID", "The master eNB.",
    }
}
choice! {
    /// A UE, as the type of node that reports about it names it.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    UeId "UEID" {
        Gnb(GnbUe) [Own] "gNB-UEID", "A gNB, or its CU-CP.",
        GnbDu(GnbDuUe) [Own] "gNB-DU-UEID", "A gNB-DU.",
        GnbCuUp(GnbCuUpUe) [Own] "gNB-CU-UP-UEID", "A gNB-CU-UP.",
        NgEnb(NgEnbUe) [Own] "ng-eNB-UEID", "An ng-eNB, or its CU.",
        NgEnbDu(NgEnbDuUe) [Own] "ng-eNB-DU-UEID", "An ng-eNB-DU.",
        EnGnb(EnGnbUe) [Own] "en-gNB-UEID", "An en-gNB.",
        Enb(EnbUe) [Own] "eNB-UEID", "An eNB.",
    }
}

impl UeId {
    /// A UE at a gNB-DU, by what its CU calls it.
    pub const fn du(f1ap_id: u32) -> Self {
        Self::GnbDu(GnbDuUe { f1ap_id, ran_ue_id: None })
    }

    /// The number by which this node and others join it, in the order of trust that the field taught: the first
    /// F1AP id, W1AP id or E1AP id, what the RAN calls it (its low 32 bits), what the core or the master node calls it
    /// (likewise).
    pub fn number(&self) -> u32 {
        let ran = |id: &Option<[u8; 8]>| id.map(|id| u64::from_be_bytes(id) as u32);
        match self {
            Self::Gnb(ue) => {
                let f1 = ue.f1ap_ids.as_ref().and_then(|ids| ids.first()).map(|id| id.id);
                f1.or_else(|| ran(&ue.ran_ue_id)).unwrap_or(ue.amf_ue_ngap_id as u32)
            }
            Self::GnbDu(ue) => ue.f1ap_id,
            Self::GnbCuUp(ue) => ue.e1ap_id,
            Self::NgEnb(ue) => ue.w1ap_id.unwrap_or(ue.amf_ue_ngap_id as u32),
            Self::NgEnbDu(ue) => ue.w1ap_id,
            Self::EnGnb(ue) => ue.f1ap_id.or_else(|| ran(&ue.ran_ue_id)).unwrap_or_else(|| ue.x2ap_id.into()),
            Self::Enb(ue) => ue.s1ap_id,
        }
    }
}

impl fmt::Display for UeId {
    /// The type of node and the number there: `gnb-du 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = match self {
            Self::Gnb(_) => "gnb",
            Self::GnbDu(_) => "gnb-du",
            Self::GnbCuUp(_) => "gnb-cu-up",
            Self::NgEnb(_) => "ng-enb",
            Self::NgEnbDu(_) => "ng-enb-du",
            Self::EnGnb(_) => "en-gnb",
            Self::Enb(_) => "enb",
        };
        write!(f, "{node} {}", self.number())
    }
}
