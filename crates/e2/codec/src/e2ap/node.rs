//! Identities of E2 nodes and RICs (clauses 9.2.4 and 9.2.6).
use crate::per::{
    Bits, Codec, DecodeError, EncodeError, Fixed, Int, Notation, Opt, SelfCoded, ShortBits, SinceV2, Source,
    Writer,
};
use crate::{choice, sequence};
use std::fmt;
use std::str::FromStr;

/// Largest gNB-CU-UP-ID, gNB-DU-ID and ngENB-DU-ID: 36 bits.
pub const MAX_PART_ID: u64 = 68_719_476_735;
type PartId = Int<0, MAX_PART_ID>;

/// A public land mobile network as three bytes with its digits in sequence (TS 36.413 §9.2.3.8, TS 38.413 §9.3.3.5,
/// TS 36.423 §9.2.4): the low half of each byte first, and a filler 1111 between the country code and a network code
/// of two digits.
///
/// NAS orders the digits of a three-digit network code differently: see [`nas_octets`](Self::nas_octets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Plmn(pub [u8; 3]);

/// Half byte between the codes if the network code has two digits.
const FILLER: u8 = 0xf;

impl Plmn {
    /// Creates a PLMN from a mobile country code and a mobile network code of two or three digits.
    pub fn new(mcc: u16, mnc: u16, mnc_digits: u8) -> Self {
        let digit = |n: u16, place: u16| (n / place % 10) as u8;
        let first = if mnc_digits == 3 { digit(mnc, 100) } else { FILLER };
        Self([
            digit(mcc, 10) << 4 | digit(mcc, 100),
            first << 4 | digit(mcc, 1),
            digit(mnc, 1) << 4 | digit(mnc, 10),
        ])
    }

    /// Returns the three half bytes of the country code and of the network code. A two-digit network code starts with
    /// [`FILLER`](Self::FILLER).
    const fn halves(self) -> ([u8; 3], [u8; 3]) {
        let [a, b, c] = self.0;
        ([a & 15, a >> 4, b & 15], [b >> 4, c & 15, c >> 4])
    }

    /// Returns the digits of the country code and of the network code. Half bytes that are not digits are returned
    /// unchanged.
    pub fn digits(self) -> ([u8; 3], Vec<u8>) {
        let (mcc, mnc) = self.halves();
        let skipped = usize::from(mnc[0] == FILLER);
        (mcc, mnc[skipped..].to_vec())
    }

    /// Returns the bytes in the order of NAS (TS 24.008 §10.5.1.13, TS 24.501 §9.11.3.4): the third digit of the
    /// network code is in the second byte.
    pub const fn nas_octets(self) -> [u8; 3] {
        let (mcc, mnc) = self.halves();
        let [n1, n2, n3] = if mnc[0] == FILLER { [mnc[1], mnc[2], FILLER] } else { mnc };
        [mcc[1] << 4 | mcc[0], n3 << 4 | mcc[2], n2 << 4 | n1]
    }
}

impl fmt::Display for Plmn {
    /// Writes `MCC.MNC`, for example `505.01` or `310.410`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mcc, mnc) = self.digits();
        mcc.iter().try_for_each(|digit| write!(f, "{digit:x}"))?;
        f.write_str(".")?;
        mnc.iter().try_for_each(|digit| write!(f, "{digit:x}"))
    }
}

/// The text is not a valid PLMN.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network; write MCC.MNC, e.g. 505.01")]
pub struct NotAPlmn(pub String);

impl FromStr for Plmn {
    type Err = NotAPlmn;

    /// Parses `MCC.MNC`, the latter with two or three digits.
    fn from_str(text: &str) -> Result<Self, NotAPlmn> {
        let digits = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
        let read = || {
            let (mcc, mnc) = text.split_once('.')?;
            let valid = mcc.len() == 3 && (2..=3).contains(&mnc.len()) && digits(mcc) && digits(mnc);
            valid.then(|| Some(Self::new(mcc.parse().ok()?, mnc.parse().ok()?, mnc.len() as u8)))?
        };
        read().ok_or_else(|| NotAPlmn(text.to_owned()))
    }
}

/// Codec of [`Plmn`].
#[derive(Debug)]
pub struct PlmnCodec;

impl Codec<Plmn> for PlmnCodec {
    fn encode(value: &Plmn, w: &mut Writer) -> Result<(), EncodeError> {
        Fixed::encode(&value.0, w)
    }
    fn decode<S: Source>(r: &mut S) -> Result<Plmn, DecodeError> {
        Fixed::decode(r).map(Plmn)
    }
    fn show(value: &Plmn, n: &mut Notation) {
        Fixed::show(&value.0, n);
    }
}

/// Defines a CHOICE that so far has a single alternative. In Rust, the value of that alternative is used directly.
macro_rules! sole_alternative {
    ($name:ident $asn:literal $t:ty [$c:ty]) => {
        #[doc = concat!("CHOICE with the sole alternative `", $asn, "`.")]
        #[derive(Debug)]
        pub struct $name;
        impl $crate::per::Codec<$t> for $name {
            fn encode(value: &$t, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                w.bit(false);
                <$c as $crate::per::Codec<$t>>::encode(value, w)
            }
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<$t, $crate::per::DecodeError> {
                r.choose(&[$asn], &[])?;
                <$c as $crate::per::Codec<$t>>::decode(r)
            }
            fn show(value: &$t, n: &mut $crate::per::Notation) {
                n.alternative($asn, |n| <$c as $crate::per::Codec<$t>>::show(value, n));
            }
        }
    };
}
pub(crate) use sole_alternative;
sole_alternative!(GnbIdChoice "gnb-ID" ShortBits [Bits<22, 32>]);
sole_alternative!(EnGnbIdChoice "gNB-ID" ShortBits [Bits<22, 32>]);

sequence! {
    /// A gNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalGnbId "GlobalgNB-ID" {
        plmn: Plmn [PlmnCodec] "plmn-id", "PLMN.",
        gnb_id: ShortBits [GnbIdChoice] "gnb-id", "Identity of the gNB, 22 to 32 bits.",
    }
    /// A gNB attached to an eNB (EN-DC).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalEnGnbId "GlobalenGNB-ID" {
        plmn: Plmn [PlmnCodec] "pLMN-Identity", "PLMN.",
        gnb_id: ShortBits [EnGnbIdChoice] "gNB-ID", "Identity of the en-gNB, 22 to 32 bits.",
    }
}
choice! {
    /// Identity of an ng-eNB within its network.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NgEnbId "ENB-ID-Choice" {
        Macro(ShortBits) [Bits<20, 20>] "enb-ID-macro", "Macro ng-eNB, 20 bits.",
        ShortMacro(ShortBits) [Bits<18, 18>] "enb-ID-shortmacro", "Short macro ng-eNB, 18 bits.",
        LongMacro(ShortBits) [Bits<21, 21>] "enb-ID-longmacro", "Long macro ng-eNB, 21 bits.",
    }
}
sequence! {
    /// An ng-eNB (LTE radio, 5G core).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalNgEnbId "GlobalngeNB-ID" {
        plmn: Plmn [PlmnCodec] "plmn-id", "PLMN.",
        enb_id: NgEnbId [SelfCoded] "enb-id", "Identity within the PLMN.",
    }
}
choice! {
    /// Identity of an eNB within its network.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    EnbId "ENB-ID" {
        Macro(ShortBits) [Bits<20, 20>] "macro-eNB-ID", "Macro eNB, 20 bits.",
        Home(ShortBits) [Bits<28, 28>] "home-eNB-ID", "Home eNB, 28 bits.";
        ShortMacro(ShortBits) [Bits<18, 18>] "short-Macro-eNB-ID", "Short macro eNB, 18 bits.",
        LongMacro(ShortBits) [Bits<21, 21>] "long-Macro-eNB-ID", "Long macro eNB, 21 bits.",
    }
}
sequence! {
    /// An eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalEnbId "GlobalENB-ID" {
        plmn: Plmn [PlmnCodec] "pLMN-Identity", "PLMN.",
        enb_id: EnbId [SelfCoded] "eNB-ID", "Identity within the PLMN.",
    }
}
choice! {
    /// A node of the NG-RAN, as named by a neighbour.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalNgRanNodeId "GlobalNG-RANNode-ID" {
        Gnb(GlobalGnbId) [SelfCoded] "gNB", "A gNB.",
        NgEnb(GlobalNgEnbId) [SelfCoded] "ng-eNB", "An ng-eNB.",
    }
}
sequence! {
    /// A gNB, or one node of a split gNB. A CU-UP id or DU id identifies that node. Without both ids, it is the CU, the CU-CP or the
    /// complete gNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    E2NodeGnb "GlobalE2node-gNB-ID" {
        gnb: GlobalGnbId [SelfCoded] "global-gNB-ID", "The base station.",
        en_gnb: Option<GlobalEnGnbId> [SinceV2] "global-en-gNB-ID", "Identity as an en-gNB, if it also is one; not in v1.01.",
        cu_up_id: Option<u64> [Opt<PartId>] "gNB-CU-UP-ID", "CU-UP id, if the node is a CU-UP.",
        du_id: Option<u64> [Opt<PartId>] "gNB-DU-ID", "DU id, if the node is a DU.",
    }
    /// An en-gNB, or one node of a split en-gNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    E2NodeEnGnb "GlobalE2node-en-gNB-ID" {
        en_gnb: GlobalEnGnbId [SelfCoded] "global-en-gNB-ID", "The base station (`global-gNB-ID` in v1.01).",
        cu_up_id: Option<u64> [SinceV2<PartId>] "en-gNB-CU-UP-ID", "CU-UP id, if the node is a CU-UP; not in v1.01.",
        du_id: Option<u64> [SinceV2<PartId>] "en-gNB-DU-ID", "DU id, if the node is a DU; not in v1.01.",
    }
    /// An ng-eNB, or one node of a split ng-eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    E2NodeNgEnb "GlobalE2node-ng-eNB-ID" {
        ng_enb: GlobalNgEnbId [SelfCoded] "global-ng-eNB-ID", "The base station.",
        enb: Option<GlobalEnbId> [SinceV2] "global-eNB-ID", "Identity as an eNB, if it also is one; not in v1.01.",
        du_id: Option<u64> [SinceV2<PartId>] "ngENB-DU-ID", "DU id, if the node is a DU; not in v1.01.",
    }
    /// An eNB.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    E2NodeEnb "GlobalE2node-eNB-ID" {
        enb: GlobalEnbId [SelfCoded] "global-eNB-ID", "The base station.",
    }
}
choice! {
    /// An E2 node: a complete base station, or one node of a split base station.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalE2NodeId "GlobalE2node-ID" {
        Gnb(E2NodeGnb) [SelfCoded] "gNB", "gNB: 5G standalone.",
        EnGnb(E2NodeEnGnb) [SelfCoded] "en-gNB", "en-gNB: 5G non-standalone.",
        NgEnb(E2NodeNgEnb) [SelfCoded] "ng-eNB", "ng-eNB: LTE radio with a 5G core.",
        Enb(E2NodeEnb) [SelfCoded] "eNB", "eNB.",
    }
}

impl GlobalE2NodeId {
    /// Returns the identity of a complete gNB.
    pub fn gnb(plmn: Plmn, gnb_id: u32, len_bits: u8) -> Self {
        let gnb = GlobalGnbId { plmn, gnb_id: ShortBits::new(u64::from(gnb_id), len_bits) };
        Self::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id: None, du_id: None })
    }

    /// Returns the PLMN of the node.
    pub fn plmn(&self) -> Plmn {
        match self {
            Self::Gnb(n) => n.gnb.plmn,
            Self::EnGnb(n) => n.en_gnb.plmn,
            Self::NgEnb(n) => n.ng_enb.plmn,
            Self::Enb(n) => n.enb.plmn,
        }
    }

    /// Returns whether `name` selects this node. A name is the displayed identity, with or without the kind of node, or a PLMN. A PLMN
    /// selects all nodes of the network.
    pub fn is_named(&self, name: &str) -> bool {
        let identity = self.to_string();
        let without_kind = identity.split_once(' ').map(|(_, rest)| rest);
        identity == name || without_kind == Some(name) || name.parse() == Ok(self.plmn())
    }

    /// Returns the CU-UP and DU ids of a split base station's node.
    pub fn part_ids(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Gnb(n) => (n.cu_up_id, n.du_id),
            Self::EnGnb(n) => (n.cu_up_id, n.du_id),
            Self::NgEnb(n) => (None, n.du_id),
            Self::Enb(_) => (None, None),
        }
    }

    /// Returns the identity of the base station, which is the same for all its nodes.
    #[must_use]
    pub fn base_station(&self) -> Self {
        match *self {
            Self::Gnb(n) => Self::Gnb(E2NodeGnb { cu_up_id: None, du_id: None, ..n }),
            Self::EnGnb(n) => Self::EnGnb(E2NodeEnGnb { cu_up_id: None, du_id: None, ..n }),
            Self::NgEnb(n) => Self::NgEnb(E2NodeNgEnb { du_id: None, ..n }),
            Self::Enb(n) => Self::Enb(n),
        }
    }
}

impl fmt::Display for GlobalE2NodeId {
    /// Writes `kind MCC.MNC id[/cu-up N][/du N]`, for example `gnb 505.01 5/du 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, id) = match self {
            Self::Gnb(n) => ("gnb", n.gnb.gnb_id),
            Self::EnGnb(n) => ("en-gnb", n.en_gnb.gnb_id),
            Self::NgEnb(n) => match n.ng_enb.enb_id {
                NgEnbId::Macro(b) | NgEnbId::ShortMacro(b) | NgEnbId::LongMacro(b) => ("ng-enb", b),
            },
            Self::Enb(n) => match n.enb.enb_id {
                EnbId::Macro(b) | EnbId::Home(b) | EnbId::ShortMacro(b) | EnbId::LongMacro(b) => ("enb", b),
            },
        };
        write!(f, "{kind} {} {}", self.plmn(), id.value)?;
        let (cu_up, du) = self.part_ids();
        if let Some(id) = cu_up {
            write!(f, "/cu-up {id}")?;
        }
        if let Some(id) = du {
            write!(f, "/du {id}")?;
        }
        Ok(())
    }
}

sequence! {
    /// A near-RT RIC.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    GlobalRicId "GlobalRIC-ID" {
        plmn: Plmn [PlmnCodec] "pLMN-Identity", "PLMN.",
        ric_id: ShortBits [Bits<20, 20>] "ric-ID", "Identity of the RIC, 20 bits.",
    }
}

#[cfg(test)]
mod tests {
    use super::Plmn;

    /// Texts and encodings. OCUDU sends 310-410; the other encodings follow the table in TS 36.413 §9.2.3.8.
    const VECTORS: [(&str, [u8; 3]); 6] = [
        ("310.410", [0x13, 0x40, 0x01]),
        ("302.720", [0x03, 0x72, 0x02]),
        ("334.020", [0x33, 0x04, 0x02]),
        ("001.001", [0x00, 0x01, 0x10]),
        ("505.01", [0x05, 0xf5, 0x10]),
        ("001.01", [0x00, 0xf1, 0x10]),
    ];

    #[test]
    fn plmn_in_e2ap_order_has_digits_in_sequence() {
        for (text, octets) in VECTORS {
            assert_eq!(text.parse(), Ok(Plmn(octets)));
            assert_eq!(Plmn(octets).to_string(), text);
        }
        assert_eq!(Plmn(VECTORS[0].1).digits(), ([3, 1, 0], vec![4, 1, 0]));
        assert_eq!(Plmn(VECTORS[4].1).digits(), ([5, 0, 5], vec![0, 1]));
    }

    #[test]
    fn plmn_in_nas_order_has_third_mnc_digit_in_second_byte() {
        assert_eq!(Plmn::new(310, 410, 3).nas_octets(), [0x13, 0x00, 0x14]);
        assert_eq!(Plmn::new(505, 1, 2).nas_octets(), [0x05, 0xf5, 0x10]);
    }
}
