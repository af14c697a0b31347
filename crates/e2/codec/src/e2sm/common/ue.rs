//! UE identities, which differ between node types. A UE has a different identity at every node.
use std::fmt;
use std::str::FromStr;

use super::{GlobalEnb, GlobalGnb, GlobalNgEnb, GlobalNgRanNode};
use crate::e2ap::{GlobalE2NodeId, Plmn, PlmnCodec};
use crate::per::{BitNumber, Fixed, Int, IntExt, List, Opt, SelfCoded};
use crate::{choice, sequence};

/// A 32-bit identifier assigned by one end of an interface.
type Id32 = Int<0, 4_294_967_295>;

sequence! {
    /// An AMF (TS 23.003 §2.10).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    Guami "GUAMI" {
        plmn: Plmn [PlmnCodec] "pLMNIdentity", "PLMN.",
        region: u8 [BitNumber<8>] "aMFRegionID", "AMF region.",
        set: u16 [BitNumber<10>] "aMFSetID", "AMF set, 10 bits.",
        pointer: u8 [BitNumber<6>] "aMFPointer", "AMF pointer, 6 bits.",
    }
    /// An MME (TS 23.003 §2.8).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    Gummei "GUMMEI" {
        plmn: Plmn [PlmnCodec] "pLMN-Identity", "PLMN.",
        group: [u8; 2] [Fixed] "mME-Group-ID", "MME group.",
        code: [u8; 1] [Fixed] "mME-Code", "MME code.",
    }
    /// F1AP identifier of a UE, assigned by the gNB-CU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    F1apId "UEID-GNB-CU-CP-F1AP-ID-Item" {
        id: u32 [Id32] "gNB-CU-UE-F1AP-ID", "Identifier on F1.",
    }
    /// E1AP identifier of a UE, assigned by the gNB-CU-CP.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    E1apId "UEID-GNB-CU-CP-E1AP-ID-Item" {
        id: u32 [Id32] "gNB-CU-CP-UE-E1AP-ID", "Identifier on E1.",
    }
    /// UE at a gNB or a gNB-CU-CP.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    GnbUe "UEID-GNB" {
        amf_ue_ngap_id: u64 [Int<0, 1_099_511_627_775>] "amf-UE-NGAP-ID", "AMF UE NGAP ID, 40 bits.",
        guami: Guami [SelfCoded] "guami", "The AMF.",
        f1ap_ids: Option<Vec<F1apId>> [Opt<List<1, 4>>] "gNB-CU-UE-F1AP-ID-List", "gNB-CU UE F1AP IDs.",
        e1ap_ids: Option<Vec<E1apId>> [Opt<List<1, 65_535>>] "gNB-CU-CP-UE-E1AP-ID-List", "gNB-CU-CP UE E1AP IDs.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "RAN UE ID.",
        xnap_id: Option<u32> [Opt<Id32>] "m-NG-RAN-UE-XnAP-ID", "M-NG-RAN node UE XnAP ID.",
        gnb: Option<GlobalGnb> [Opt] "globalGNB-ID", "The master node, if a gNB.";
        node: GlobalNgRanNode [SelfCoded] "globalNG-RANNode-ID", "The master node.",
    }
    /// UE at a gNB-DU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GnbDuUe "UEID-GNB-DU" {
        f1ap_id: u32 [Id32] "gNB-CU-UE-F1AP-ID", "gNB-CU UE F1AP ID.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "RAN UE ID.",
    }
    /// UE at a gNB-CU-UP.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GnbCuUpUe "UEID-GNB-CU-UP" {
        e1ap_id: u32 [Id32] "gNB-CU-CP-UE-E1AP-ID", "gNB-CU-CP UE E1AP ID.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "RAN UE ID.",
    }
    /// UE at an ng-eNB or an ng-eNB-CU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NgEnbUe "UEID-NG-ENB" {
        amf_ue_ngap_id: u64 [Int<0, 1_099_511_627_775>] "amf-UE-NGAP-ID", "AMF UE NGAP ID, 40 bits.",
        guami: Guami [SelfCoded] "guami", "The AMF.",
        w1ap_id: Option<u32> [Opt<Id32>] "ng-eNB-CU-UE-W1AP-ID", "ng-eNB-CU UE W1AP ID.",
        xnap_id: Option<u32> [Opt<Id32>] "m-NG-RAN-UE-XnAP-ID", "M-NG-RAN node UE XnAP ID.",
        ng_enb: Option<GlobalNgEnb> [Opt] "globalNgENB-ID", "The master node, if an ng-eNB.";
        node: GlobalNgRanNode [SelfCoded] "globalNG-RANNode-ID", "The master node.",
    }
    /// UE at an ng-eNB-DU.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NgEnbDuUe "UEID-NG-ENB-DU" {
        w1ap_id: u32 [Id32] "ng-eNB-CU-UE-W1AP-ID", "ng-eNB-CU UE W1AP ID.",
    }
    /// UE at an en-gNB.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    EnGnbUe "UEID-EN-GNB" {
        x2ap_id: u16 [Int<0, 4_095>] "m-eNB-UE-X2AP-ID", "MeNB UE X2AP ID.",
        x2ap_id_extension: Option<u16> [Opt<IntExt<0, 4_095>>] "m-eNB-UE-X2AP-ID-Extension", "MeNB UE X2AP ID extension.",
        enb: GlobalEnb [SelfCoded] "globalENB-ID", "The master eNB.",
        f1ap_id: Option<u32> [Opt<Id32>] "gNB-CU-UE-F1AP-ID", "gNB-CU UE F1AP ID.",
        e1ap_ids: Option<Vec<E1apId>> [Opt<List<1, 65_535>>] "gNB-CU-CP-UE-E1AP-ID-List", "gNB-CU-CP UE E1AP IDs.",
        ran_ue_id: Option<[u8; 8]> [Opt<Fixed>] "ran-UEID", "RAN UE ID.",
    }
    /// UE at an eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    EnbUe "UEID-ENB" {
        s1ap_id: u32 [Id32] "mME-UE-S1AP-ID", "MME UE S1AP ID.",
        gummei: Gummei [SelfCoded] "gUMMEI", "The MME.",
        x2ap_id: Option<u16> [Opt<Int<0, 4_095>>] "m-eNB-UE-X2AP-ID", "MeNB UE X2AP ID.",
        x2ap_id_extension: Option<u16> [Opt<IntExt<0, 4_095>>] "m-eNB-UE-X2AP-ID-Extension", "MeNB UE X2AP ID extension.",
        enb: Option<GlobalEnb> [Opt] "globalENB-ID", "The master eNB.",
    }
}
choice! {
    /// Identity of a UE. Its form depends on the type of the node that reports the UE.
    #[derive(Eq, Hash, PartialOrd, Ord)]
    UeId "UEID" {
        Gnb(GnbUe) [SelfCoded] "gNB-UEID", "A gNB, or the CU-CP of a gNB.",
        GnbDu(GnbDuUe) [SelfCoded] "gNB-DU-UEID", "A gNB-DU.",
        GnbCuUp(GnbCuUpUe) [SelfCoded] "gNB-CU-UP-UEID", "A gNB-CU-UP.",
        NgEnb(NgEnbUe) [SelfCoded] "ng-eNB-UEID", "An ng-eNB, or the CU of an ng-eNB.",
        NgEnbDu(NgEnbDuUe) [SelfCoded] "ng-eNB-DU-UEID", "An ng-eNB-DU.",
        EnGnb(EnGnbUe) [SelfCoded] "en-gNB-UEID", "An en-gNB.",
        Enb(EnbUe) [SelfCoded] "eNB-UEID", "An eNB.",
    }
}

impl UeId {
    /// Returns a UE at a gNB-DU with the identifier assigned by its CU.
    pub const fn du(f1ap_id: u32) -> Self {
        Self::GnbDu(GnbDuUe { f1ap_id, ran_ue_id: None })
    }

    /// Returns the number that identifies the UE across nodes. In the order of preference, it is the first F1AP, W1AP
    /// or E1AP id, the RAN UE ID (low 32 bits), or the id assigned by the core or the master node (low 32 bits).
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

/// Name and value of one identifier.
type Part = (&'static str, u64);

impl UeId {
    /// Returns the type of node.
    pub const fn node(&self) -> &'static str {
        match self {
            Self::Gnb(_) => "gnb",
            Self::GnbDu(_) => "gnb-du",
            Self::GnbCuUp(_) => "gnb-cu-up",
            Self::NgEnb(_) => "ng-enb",
            Self::NgEnbDu(_) => "ng-enb-du",
            Self::EnGnb(_) => "en-gnb",
            Self::Enb(_) => "enb",
        }
    }

    /// Returns the identifiers with their names, in the order of preference of [`number`](Self::number).
    pub fn parts(&self) -> Vec<Part> {
        let one = |name, id: Option<u32>| id.map(|id| (name, u64::from(id)));
        let ran = |id: &Option<[u8; 8]>| id.map(|id| ("ran", u64::from_be_bytes(id)));
        let f1 = |ids: &Option<Vec<F1apId>>| {
            ids.iter().flatten().map(|it| ("f1ap", it.id.into())).collect::<Vec<_>>()
        };
        let e1 = |ids: &Option<Vec<E1apId>>| {
            ids.iter().flatten().map(|it| ("e1ap", it.id.into())).collect::<Vec<_>>()
        };
        match self {
            Self::Gnb(ue) => {
                let rest = [ran(&ue.ran_ue_id), Some(("amf", ue.amf_ue_ngap_id)), one("xnap", ue.xnap_id)];
                let rest = rest.into_iter().flatten();
                f1(&ue.f1ap_ids).into_iter().chain(rest).chain(e1(&ue.e1ap_ids)).collect()
            }
            Self::GnbDu(ue) => {
                [one("f1ap", Some(ue.f1ap_id)), ran(&ue.ran_ue_id)].into_iter().flatten().collect()
            }
            Self::GnbCuUp(ue) => {
                [one("e1ap", Some(ue.e1ap_id)), ran(&ue.ran_ue_id)].into_iter().flatten().collect()
            }
            Self::NgEnb(ue) => {
                let amf = Some(("amf", ue.amf_ue_ngap_id));
                [one("w1ap", ue.w1ap_id), amf, one("xnap", ue.xnap_id)].into_iter().flatten().collect()
            }
            Self::NgEnbDu(ue) => vec![("w1ap", ue.w1ap_id.into())],
            Self::EnGnb(ue) => {
                let x2 = one("x2ap", Some(ue.x2ap_id.into()));
                let extension = one("x2ap-ext", ue.x2ap_id_extension.map(u32::from));
                let first =
                    [one("f1ap", ue.f1ap_id), ran(&ue.ran_ue_id), x2, extension].into_iter().flatten();
                first.chain(e1(&ue.e1ap_ids)).collect()
            }
            Self::Enb(ue) => {
                let x2 = one("x2ap", ue.x2ap_id.map(u32::from));
                let extension = one("x2ap-ext", ue.x2ap_id_extension.map(u32::from));
                [one("mme", Some(ue.s1ap_id)), x2, extension].into_iter().flatten().collect()
            }
        }
    }

    /// Returns the complete identity as text: `f1ap=10 amf=206966894641 guami=505.01/96/0/0`.
    pub const fn ids(&self) -> Ids<'_> {
        Ids(self)
    }

    /// Returns whether a control with the identity `order` refers to this UE. The two identities must have at least one identifier in
    /// common, and all common identifiers must be equal. An AMF in `order` with region, set and pointer 0 is ignored: xApps that do not
    /// know the AMF write these zeros (oran-sc-ric).
    pub fn is_meant_by(&self, order: &Self) -> bool {
        let own = self.parts();
        let order_parts = order.parts();
        let is_common = |part: &&Part| own.iter().any(|it| it.0 == part.0);
        let mut common = order_parts.iter().filter(is_common).peekable();
        let equal = common.peek().is_some() && common.all(|part| own.contains(part));
        let cores = match (self, order) {
            (Self::Gnb(GnbUe { guami: own, .. }), Self::Gnb(GnbUe { guami, .. }))
            | (Self::NgEnb(NgEnbUe { guami: own, .. }), Self::NgEnb(NgEnbUe { guami, .. })) => {
                own == guami || (guami.region, guami.set, guami.pointer) == (0, 0, 0)
            }
            (Self::Enb(own), Self::Enb(ue)) => own.gummei == ue.gummei,
            _ => true,
        };
        equal && cores
    }
}

impl fmt::Display for UeId {
    /// Writes node type and number, then the identifiers that differ from it: `gnb-du 7`, `gnb 10 amf=206966894641`.
    /// A number that an AMF or MME assigned is unique only with the AMF or MME: `gnb 5 guami=505.01/1/1/0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        let number = parts.first().map_or(0, |(_, number)| *number);
        write!(f, "{} {number}", self.node())?;
        let further = parts.iter().filter(|(_, other)| *other != number);
        further.take(SHOWN_MAX).try_for_each(|(name, number)| write!(f, " {name}={number}"))?;
        if matches!(parts.first(), Some(("amf" | "mme", _))) { self.write_core(f) } else { Ok(()) }
    }
}

impl UeId {
    /// Writes the AMF or MME, if the identity names one.
    fn write_core(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gnb(GnbUe { guami, .. }) | Self::NgEnb(NgEnbUe { guami, .. }) => {
                write!(f, " guami={}/{}/{}/{}", guami.plmn, guami.region, guami.set, guami.pointer)
            }
            Self::Enb(EnbUe { gummei: Gummei { plmn, group: [high, low], code: [code] }, .. }) => {
                write!(f, " gummei={plmn}/{high:02x}{low:02x}/{code:02x}")
            }
            _ => Ok(()),
        }
    }
}

/// Maximum number of additional identifiers in the short text, because lists of E1AP ids are long.
const SHOWN_MAX: usize = 4;

/// Text of a complete identity; see [`UeId::ids`].
#[derive(Debug)]
pub struct Ids<'a>(&'a UeId);

impl fmt::Display for Ids<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, number)) in self.0.parts().into_iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{name}={number}")?;
        }
        self.0.write_core(f)
    }
}

/// The text is not a valid UE identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a UE: write amf, f1ap, e1ap, w1ap, mme or ran=NUMBER and guami=MCC.MNC/REGION/SET/POINTER with commas between"
)]
pub struct NotAUe(pub String);

/// Identifiers of a UE, from which the identity for any type of node can be derived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UeNumbers {
    /// AMF UE NGAP ID, 40 bits.
    pub amf: Option<u64>,
    /// AMF.
    pub guami: Option<Guami>,
    /// gNB-CU UE F1AP IDs.
    pub f1ap: Vec<u32>,
    /// gNB-CU-CP UE E1AP IDs.
    pub e1ap: Vec<u32>,
    /// ng-eNB-CU UE W1AP ID.
    pub w1ap: Option<u32>,
    /// MME UE S1AP ID.
    pub mme: Option<u32>,
    /// RAN UE ID.
    pub ran: Option<u64>,
}

impl UeNumbers {
    /// Returns the identifiers at ranlab's base stations, which use one number for all of them.
    pub fn from_number(number: u32) -> Self {
        Self {
            amf: Some(number.into()),
            guami: None,
            f1ap: vec![number],
            e1ap: Vec::new(),
            w1ap: Some(number),
            mme: Some(number),
            ran: Some(number.into()),
        }
    }

    /// Returns the identity of the UE at a node, or `None` if a required identifier is missing.
    pub fn name_at(&self, node: &GlobalE2NodeId) -> Option<UeId> {
        let ran_ue_id = self.ran.map(u64::to_be_bytes);
        let plmn = node.plmn();
        // Value used by base stations of ranlab and OpenAirInterface.
        let guami = self.guami.unwrap_or(Guami { plmn, region: 1, set: 1, pointer: 0 });
        let f1 = self.f1ap.first().copied();
        let e1 = self.e1ap.first().copied();
        Some(match node {
            GlobalE2NodeId::Gnb(gnb) if gnb.du_id.is_some() => {
                UeId::GnbDu(GnbDuUe { f1ap_id: f1?, ran_ue_id })
            }
            GlobalE2NodeId::Gnb(gnb) if gnb.cu_up_id.is_some() => {
                UeId::GnbCuUp(GnbCuUpUe { e1ap_id: e1.or(f1)?, ran_ue_id })
            }
            GlobalE2NodeId::Gnb(_) | GlobalE2NodeId::EnGnb(_) => UeId::Gnb(GnbUe {
                amf_ue_ngap_id: self.amf.or_else(|| f1.map(u64::from))?,
                guami,
                f1ap_ids: list(&self.f1ap, |id| F1apId { id }),
                e1ap_ids: list(&self.e1ap, |id| E1apId { id }),
                ran_ue_id,
                xnap_id: None,
                gnb: None,
                node: None,
            }),
            GlobalE2NodeId::NgEnb(ng_enb) if ng_enb.du_id.is_some() => {
                UeId::NgEnbDu(NgEnbDuUe { w1ap_id: self.w1ap? })
            }
            GlobalE2NodeId::NgEnb(_) => UeId::NgEnb(NgEnbUe {
                amf_ue_ngap_id: self.amf.or_else(|| self.w1ap.map(u64::from))?,
                guami,
                w1ap_id: self.w1ap,
                xnap_id: None,
                ng_enb: None,
                node: None,
            }),
            GlobalE2NodeId::Enb(_) => UeId::Enb(EnbUe {
                s1ap_id: self.mme?,
                gummei: Gummei { plmn, group: [0, 1], code: [1] },
                x2ap_id: None,
                x2ap_id_extension: None,
                enb: None,
            }),
        })
    }
}

fn list<T>(ids: &[u32], one: impl Fn(u32) -> T) -> Option<Vec<T>> {
    (!ids.is_empty()).then(|| ids.iter().map(|id| one(*id)).collect())
}

fn guami(text: &str) -> Option<Guami> {
    let parts: Vec<_> = text.split('/').collect();
    let [plmn, region, set, pointer] = parts[..] else { return None };
    let set = set.parse().ok().filter(|set| *set < 1 << 10)?;
    let pointer = pointer.parse().ok().filter(|pointer| *pointer < 1 << 6)?;
    Some(Guami { plmn: plmn.parse().ok()?, region: region.parse().ok()?, set, pointer })
}

impl FromStr for UeNumbers {
    type Err = NotAUe;

    /// Parses a single number, or identifiers in the format of [`UeId::ids`], separated by commas or spaces.
    fn from_str(text: &str) -> Result<Self, NotAUe> {
        let wrong = || NotAUe(text.to_owned());
        if let Ok(number) = text.parse() {
            return Ok(Self::from_number(number));
        }
        let mut numbers = Self::default();
        for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse::<u64>().map_err(|_| wrong());
            let short = || value.parse::<u32>().map_err(|_| wrong());
            match name {
                "amf" => numbers.amf = Some(number()?).filter(|amf| *amf < 1 << 40),
                "guami" => numbers.guami = Some(guami(value).ok_or_else(wrong)?),
                "f1ap" => numbers.f1ap.push(short()?),
                "e1ap" => numbers.e1ap.push(short()?),
                "w1ap" => numbers.w1ap = Some(short()?),
                "mme" => numbers.mme = Some(short()?),
                "ran" => numbers.ran = Some(number()?),
                _ => return Err(wrong()),
            }
            if name == "amf" && numbers.amf.is_none() {
                return Err(wrong());
            }
        }
        if numbers == Self::default() { Err(wrong()) } else { Ok(numbers) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gnb(amf: u64, f1ap: &[u32], pointer: u8) -> UeId {
        let guami = Guami { plmn: Plmn::new(505, 1, 2), region: 96, set: 0, pointer };
        let numbers =
            UeNumbers { amf: Some(amf), guami: Some(guami), f1ap: f1ap.to_vec(), ..UeNumbers::default() };
        numbers.name_at(&GlobalE2NodeId::gnb(guami.plmn, 1, 22)).unwrap()
    }

    #[test]
    fn ids_text_contains_all_numbers() {
        assert_eq!(gnb(206_966_894_641, &[], 0).to_string(), "gnb 206966894641 guami=505.01/96/0/0");
        assert_ne!(gnb(5, &[], 0).to_string(), gnb(5, &[], 1).to_string());
        assert_eq!(gnb(206_966_894_641, &[10], 0).to_string(), "gnb 10 amf=206966894641");
        assert_eq!(gnb(7, &[7], 0).to_string(), "gnb 7");
        assert_eq!(UeId::du(7).to_string(), "gnb-du 7");
        let ids = gnb(206_966_894_641, &[10], 0).ids().to_string();
        assert_eq!(ids, "f1ap=10 amf=206966894641 guami=505.01/96/0/0");
        let numbers: UeNumbers = ids.parse().unwrap();
        let node = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 1, 22);
        assert_eq!(numbers.name_at(&node).unwrap(), gnb(206_966_894_641, &[10], 0));
    }

    #[test]
    fn order_matches_ue_only_if_common_identifiers_are_equal() {
        let ue = gnb(2, &[10, 11], 0);
        for (order, expected) in [
            (gnb(2, &[10], 0), true),
            (gnb(2, &[11], 0), true),
            (gnb(2, &[], 0), true),
            (UeId::du(10), true),
            (gnb((1 << 32) + 2, &[10], 0), false),
            (gnb(2, &[12], 0), false),
            (gnb(2, &[10], 1), false),
            (UeId::du(2), false),
        ] {
            assert_eq!(ue.is_meant_by(&order), expected, "{}", order.ids());
        }
        let unknown = |amf| {
            let UeId::Gnb(ue) = gnb(amf, &[10], 0) else { panic!() };
            UeId::Gnb(GnbUe { guami: Guami { region: 0, set: 0, pointer: 0, ..ue.guami }, ..ue })
        };
        assert!(ue.is_meant_by(&unknown(2)));
        assert!(
            !ue.is_meant_by(&unknown(3)),
            "UEs with different AMF UE NGAP IDs must not match, even if the GUAMI is unknown"
        );
    }

    #[test]
    fn invalid_ue_texts_are_refused() {
        for wrong in ["", "x", "amf=1099511627776", "f1ap=-1", "guami=505.01/1/1", "rnti=4"] {
            assert!(wrong.parse::<UeNumbers>().is_err(), "{wrong:?}");
        }
    }
}
