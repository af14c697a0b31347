//! Interfaces, their endpoints and messages, as identified in NI (E2SM-NI §8.3.21 to 8.3.25).
use std::fmt;

use crate::ap::{Interface, Message};
use crate::e2ap::{
    EnbId, GlobalE2NodeId, GlobalEnGnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, GlobalNgRanNodeId,
    MAX_PART_ID, NgEnbId, Plmn, TriggeringMessage,
};
use crate::per::{Codec, DecodeError, EncodeError, Int, Notation, Per, SelfCoded, ShortBits, Source, Writer};
use crate::{choice, enumerated, sequence};

/// Codec of the id of a CU-UP or DU.
type PartId = Int<0, MAX_PART_ID>;

enumerated! {
    /// Direction of a message, as seen from the node.
    Direction "NI-Direction" {
        Incoming "incoming", "Incoming.",
        Outgoing "outgoing", "Outgoing.",
        Both "both", "Both; in event triggers only.",
    }
}
choice! {
    /// A node at one end of an interface.
    #[derive(Copy, Eq, Hash, PartialOrd, Ord)]
    NodeId "NI-Identifier" {
        Enb(GlobalEnbId) [SelfCoded] "global-eNB-ID", "An eNB, on S1 and X2.",
        EnGnb(GlobalEnGnbId) [SelfCoded] "global-en-gNB-ID", "An en-gNB, on X2.",
        NgRan(GlobalNgRanNodeId) [SelfCoded] "global-ng-RAN-ID", "A gNB, the CU of a gNB, or an ng-eNB, on NG, Xn, F1 and E1.",
        GnbDu(GnbDuId) [SelfCoded] "global-gNB-DU-ID", "A DU, on F1.",
        GnbCuUp(GnbCuUpId) [SelfCoded] "global-gNB-CU-UP-ID", "A CU-UP, on E1.",
    }
    /// Type of a message on an interface.
    #[derive(Copy, Eq, Hash)]
    MessageType "NI-MessageType" {
        S1(Procedure) [SelfCoded] "s1MessageType", "S1AP message.",
        X2(Procedure) [SelfCoded] "x2MessageType", "X2AP message.",
        Ng(Procedure) [SelfCoded] "ngMessageType", "NGAP message.",
        Xn(Procedure) [SelfCoded] "xnMessageType", "XnAP message.",
        F1(Procedure) [SelfCoded] "f1MessageType", "F1AP message.",
        E1(Procedure) [SelfCoded] "e1MessageType", "E1AP message.",
    }
}
sequence! {
    /// A message, identified by its procedure.
    #[derive(Copy, Eq, Hash)]
    Procedure "NI-MessageTypeApproach1" {
        code: u8 [Int<0, 255>] "procedureCode", "Procedure code.",
        kind: Kind [SelfCoded] "typeOfMessage", "Type of the message in the procedure.",
    }
}

/// Type of a message in its procedure (`TypeOfMessage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Any message of the interface, regardless of procedure code and type. The tables of the specification allow a
    /// trigger to omit the message type, which means any; its syntax does not. This value represents the omission.
    Nothing,
    /// Initiating message.
    Initiating,
    /// Successful outcome.
    Successful,
    /// Unsuccessful outcome.
    Unsuccessful,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Nothing, Self::Initiating, Self::Successful, Self::Unsuccessful];
    const NAMES: [&'static str; 4] =
        ["nothing", "initiating-message", "successful-outcome", "unsuccessful-outcome"];

    /// Returns the ASN.1 identifier.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl From<TriggeringMessage> for Kind {
    fn from(kind: TriggeringMessage) -> Self {
        match kind {
            TriggeringMessage::Initiating => Self::Initiating,
            TriggeringMessage::Successful => Self::Successful,
            TriggeringMessage::Unsuccessful => Self::Unsuccessful,
        }
    }
}

/// An ENUMERATED without an extension mark.
impl Per for Kind {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        w.constrained("TypeOfMessage", *self as u64, 0, Self::ALL.len() as u64 - 1)
    }
    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        let at = r.enumerated_closed(&Self::NAMES)?;
        Ok(Self::ALL.get(at as usize).copied().unwrap_or(Self::Nothing))
    }
    fn show(&self, n: &mut Notation) {
        n.text(self.name());
    }
}

/// Defines the identity of a CU-UP or DU: a SEQUENCE without an extension mark, with the base station and the id.
macro_rules! part {
    ($(#[$meta:meta])* $name:ident $asn:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            /// Base station.
            pub station: GlobalNgRanNodeId,
            /// Id of the CU-UP or DU, 36 bits.
            pub part: u64,
        }

        impl Per for $name {
            fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
                self.station.encode(w)?;
                PartId::encode(&self.part, w)
            }
            fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
                r.begin_closed()?;
                r.component("global-ng-RAN-ID");
                let station = GlobalNgRanNodeId::decode(r).map_err(|e| e.within("global-ng-RAN-ID"))?;
                r.component($asn);
                let part = PartId::decode(r).map_err(|e| e.within($asn))?;
                r.finish()?;
                Ok(Self { station, part })
            }
            fn show(&self, n: &mut Notation) {
                n.braces(|n| {
                    n.field("global-ng-RAN-ID", |n| self.station.show(n));
                    n.field($asn, |n| n.value(self.part));
                });
            }
        }
    };
}
part! {
    /// A DU (`Global-gNB-DU-ID`).
    GnbDuId "gNB-DU-ID"
}
part! {
    /// A CU-UP (`Global-gNB-CU-UP-ID`).
    GnbCuUpId "gNB-CU-UP-ID"
}

impl NodeId {
    /// Placeholder identity (PLMN and number zero) in a trigger until its target node is known:
    /// [`ServiceModel::at`](crate::e2sm::ServiceModel::at).
    pub const NOBODY: Self = Self::NgRan(GlobalNgRanNodeId::Gnb(GlobalGnbId {
        plmn: Plmn([0; 3]),
        gnb_id: ShortBits::new(0, 22),
    }));

    /// Returns the identity of an E2 node on its interfaces.
    pub fn from_node(node: &GlobalE2NodeId) -> Self {
        match node {
            GlobalE2NodeId::Gnb(it) => {
                let station = GlobalNgRanNodeId::Gnb(it.gnb);
                match (it.du_id, it.cu_up_id) {
                    (Some(part), _) => Self::GnbDu(GnbDuId { station, part }),
                    (None, Some(part)) => Self::GnbCuUp(GnbCuUpId { station, part }),
                    (None, None) => Self::NgRan(station),
                }
            }
            GlobalE2NodeId::EnGnb(it) => Self::EnGnb(it.en_gnb),
            GlobalE2NodeId::NgEnb(it) => Self::NgRan(GlobalNgRanNodeId::NgEnb(it.ng_enb)),
            GlobalE2NodeId::Enb(it) => Self::Enb(it.enb),
        }
    }
}

impl fmt::Display for NodeId {
    /// Writes the node in the format of E2 nodes, for example `gnb 505.01 5/du 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let station = |f: &mut fmt::Formatter<'_>, node: &GlobalNgRanNodeId| match node {
            GlobalNgRanNodeId::Gnb(GlobalGnbId { plmn, gnb_id }) => write!(f, "gnb {plmn} {}", gnb_id.value),
            GlobalNgRanNodeId::NgEnb(GlobalNgEnbId { plmn, enb_id }) => {
                let (NgEnbId::Macro(id) | NgEnbId::ShortMacro(id) | NgEnbId::LongMacro(id)) = enb_id;
                write!(f, "ng-enb {plmn} {}", id.value)
            }
        };
        match self {
            Self::Enb(GlobalEnbId { plmn, enb_id }) => {
                let (EnbId::Macro(id) | EnbId::Home(id) | EnbId::ShortMacro(id) | EnbId::LongMacro(id)) =
                    enb_id;
                write!(f, "enb {plmn} {}", id.value)
            }
            Self::EnGnb(GlobalEnGnbId { plmn, gnb_id }) => write!(f, "en-gnb {plmn} {}", gnb_id.value),
            Self::NgRan(node) => station(f, node),
            Self::GnbDu(GnbDuId { station: of, part }) => {
                station(f, of)?;
                write!(f, "/du {part}")
            }
            Self::GnbCuUp(GnbCuUpId { station: of, part }) => {
                station(f, of)?;
                write!(f, "/cu-up {part}")
            }
        }
    }
}

impl MessageType {
    /// Creates a message type of an interface.
    pub const fn new(interface: Interface, procedure: Procedure) -> Self {
        match interface {
            Interface::S1 => Self::S1(procedure),
            Interface::X2 => Self::X2(procedure),
            Interface::Ng => Self::Ng(procedure),
            Interface::Xn => Self::Xn(procedure),
            Interface::F1 => Self::F1(procedure),
            Interface::E1 => Self::E1(procedure),
        }
    }

    /// Returns the type for any message of an interface; see [`Kind::Nothing`].
    pub const fn any(interface: Interface) -> Self {
        Self::new(interface, Procedure { code: 0, kind: Kind::Nothing })
    }

    /// Returns the interface.
    pub const fn interface(&self) -> Interface {
        match self {
            Self::S1(_) => Interface::S1,
            Self::X2(_) => Interface::X2,
            Self::Ng(_) => Interface::Ng,
            Self::Xn(_) => Interface::Xn,
            Self::F1(_) => Interface::F1,
            Self::E1(_) => Interface::E1,
        }
    }

    /// Returns the procedure.
    pub const fn procedure(&self) -> Procedure {
        let (Self::S1(it) | Self::X2(it) | Self::Ng(it) | Self::Xn(it) | Self::F1(it) | Self::E1(it)) = self;
        *it
    }

    /// Returns whether a message is of this type.
    pub fn is(&self, message: &Message) -> bool {
        let Procedure { code, kind } = self.procedure();
        let of_kind = kind == Kind::Nothing || (code == message.procedure && kind == message.kind.into());
        self.interface() == message.interface && of_kind
    }
}
