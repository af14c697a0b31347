//! Component updates. v1.01 describes a component by its type, later versions by its interface, under the same
//! identifier.
use super::{ComponentAck, ComponentAckItem, ComponentConfigItem, MAX_PART_ID, Version};
use crate::per::{
    DecodeError, EncodeError, Int, Notation, Opt, Per, SelfCoded, Source, Unconstrained, Writer,
};
use crate::{choice, enumerated, sequence};
use bytes::Bytes;

type PartId = Int<0, MAX_PART_ID>;

enumerated! {
    /// Type of a component in v1.01.
    ComponentTypeV1 "E2nodeComponentType" {
        Gnb "gNB", "A gNB.",
        GnbCuUp "gNB-CU-UP", "A CU-UP.",
        GnbDu "gNB-DU", "A DU.",
        EnGnb "en-gNB", "An en-gNB.",
        Enb "eNB", "An eNB.",
        NgEnb "ng-eNB", "An ng-eNB.",
    }
}
sequence! {
    /// A CU-UP in v1.01.
    #[derive(Eq)]
    CuUpV1 "E2nodeComponentGNB-CU-UP-ID" {
        cu_up_id: u64 [PartId] "gNB-CU-UP-ID", "The CU-UP.",
    }
    /// A DU in v1.01.
    #[derive(Eq)]
    DuV1 "E2nodeComponentGNB-DU-ID" {
        du_id: u64 [PartId] "gNB-DU-ID", "The DU.",
    }
}
choice! {
    /// Identity of a component in v1.01.
    #[derive(Eq)]
    ComponentIdV1 "E2nodeComponentID" {
        GnbCuUp(CuUpV1) [SelfCoded] "e2nodeComponentTypeGNB-CU-UP", "A CU-UP.",
        GnbDu(DuV1) [SelfCoded] "e2nodeComponentTypeGNB-DU", "A DU.",
    }
}
sequence! {
    /// A gNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigGnbV1 "E2nodeComponentConfigUpdateGNB" {
        ngap: Option<Bytes> [Opt<Unconstrained>] "ngAPconfigUpdate", "NG setup.",
        xnap: Option<Bytes> [Opt<Unconstrained>] "xnAPconfigUpdate", "Xn setup.",
        e1ap: Option<Bytes> [Opt<Unconstrained>] "e1APconfigUpdate", "E1 setup.",
        f1ap: Option<Bytes> [Opt<Unconstrained>] "f1APconfigUpdate", "F1 setup.",
    }
    /// An en-gNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigEnGnbV1 "E2nodeComponentConfigUpdateENgNB" {
        x2ap: Option<Bytes> [Opt<Unconstrained>] "x2APconfigUpdate", "X2 setup.",
    }
    /// An ng-eNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigNgEnbV1 "E2nodeComponentConfigUpdateNGeNB" {
        ngap: Option<Bytes> [Opt<Unconstrained>] "ngAPconfigUpdate", "NG setup.",
        xnap: Option<Bytes> [Opt<Unconstrained>] "xnAPconfigUpdate", "Xn setup.",
    }
    /// An eNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigEnbV1 "E2nodeComponentConfigUpdateENB" {
        s1ap: Option<Bytes> [Opt<Unconstrained>] "s1APconfigUpdate", "S1 setup.",
        x2ap: Option<Bytes> [Opt<Unconstrained>] "x2APconfigUpdate", "X2 setup.",
    }
}
choice! {
    /// A component's configuration in v1.01.
    #[derive(Eq)]
    ConfigV1 "E2nodeComponentConfigUpdate" {
        Gnb(ConfigGnbV1) [SelfCoded] "gNBconfigUpdate", "Configuration of a gNB.",
        EnGnb(ConfigEnGnbV1) [SelfCoded] "en-gNBconfigUpdate", "Configuration of an en-gNB.",
        NgEnb(ConfigNgEnbV1) [SelfCoded] "ng-eNBconfigUpdate", "Configuration of an ng-eNB.",
        Enb(ConfigEnbV1) [SelfCoded] "eNBconfigUpdate", "Configuration of an eNB.",
    }
}
sequence! {
    /// A component update in v1.01.
    #[derive(Eq)]
    ComponentUpdateV1 "E2nodeComponentConfigUpdate-Item" {
        kind: ComponentTypeV1 [SelfCoded] "e2nodeComponentType", "Type of the component.",
        id: Option<ComponentIdV1> [Opt] "e2nodeComponentID", "Identity of the component.",
        config: ConfigV1 [SelfCoded] "e2nodeComponentConfigUpdate", "Configuration.",
    }
    /// Acknowledgement of a component by the RIC in v1.01.
    #[derive(Eq)]
    ComponentUpdateAckV1 "E2nodeComponentConfigUpdateAck-Item" {
        kind: ComponentTypeV1 [SelfCoded] "e2nodeComponentType", "Type of the component.",
        id: Option<ComponentIdV1> [Opt] "e2nodeComponentID", "Identity of the component.",
        ack: ComponentAck [SelfCoded] "e2nodeComponentConfigUpdateAck", "Whether the component was accepted.",
    }
}

/// Defines a type that v1.01 and later versions define differently under one identifier.
macro_rules! either_version {
    ($(#[$m:meta])* $name:ident $element:literal { $v1:ident, $v2:ident }) => {
        $(#[$m])* #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            /// Format of v1.01.
            V1($v1),
            /// Format of v2.03 and later.
            V2($v2),
        }
        impl Per for $name {
            fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
                let version = w.version();
                match (self, version == Version::V1_01) {
                    (Self::V1(v), true) => v.encode(w),
                    (Self::V2(v), false) => v.encode(w),
                    _ => Err(EncodeError::NotInVersion { element: $element, version: version.name() }),
                }
            }
            fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
                if r.version() == Version::V1_01 { Per::decode(r).map(Self::V1) } else { Per::decode(r).map(Self::V2) }
            }
            fn show(&self, n: &mut Notation) {
                match self {
                    Self::V1(v) => v.show(n),
                    Self::V2(v) => v.show(n),
                }
            }
        }
    };
}
either_version! {
    /// A component that a node updates.
    ComponentUpdate "E2nodeComponentConfigUpdate-Item" { ComponentUpdateV1, ComponentConfigItem }
}
either_version! {
    /// Acknowledgement of an updated component by the RIC.
    ComponentUpdateAck "E2nodeComponentConfigUpdateAck-Item" { ComponentUpdateAckV1, ComponentAckItem }
}
