//! Component updates: v1.01 describes a component by its type, v2.03 and later by its interface; one identifier, two types.
use super::{ComponentAck, ComponentAckItem, ComponentConfigItem, MAX_PART_ID, Version};
use crate::per::{DecodeError, EncodeError, Free, Int, Notation, Opt, Own, Per, Source, Writer};
use crate::{choice, enumerated, sequence};
use bytes::Bytes;

type PartId = Int<0, MAX_PART_ID>;

enumerated! {
    /// Kind of component in v1.01.
    ComponentTypeV1 "E2nodeComponentType" {
        /// A gNB.
        Gnb "gNB",
        /// A CU-UP.
        GnbCuUp "gNB-CU-UP",
        /// A DU.
        GnbDu "gNB-DU",
        /// An en-gNB.
        EnGnb "en-gNB",
        /// An eNB.
        Enb "eNB",
        /// An ng-eNB.
        NgEnb "ng-eNB",
    }
}
sequence! {
    /// A CU-UP in v1.01.
    #[derive(Eq)]
    CuUpV1 "E2nodeComponentGNB-CU-UP-ID" {
        /// The CU-UP.
        cu_up_id: u64 [PartId] "gNB-CU-UP-ID",
    }
}
sequence! {
    /// A DU in v1.01.
    #[derive(Eq)]
    DuV1 "E2nodeComponentGNB-DU-ID" {
        /// The DU.
        du_id: u64 [PartId] "gNB-DU-ID",
    }
}
choice! {
    /// Which component in v1.01.
    #[derive(Eq)]
    ComponentIdV1 "E2nodeComponentID" {
        /// A CU-UP.
        GnbCuUp(CuUpV1) [Own] "e2nodeComponentTypeGNB-CU-UP",
        /// A DU.
        GnbDu(DuV1) [Own] "e2nodeComponentTypeGNB-DU",
    }
}
sequence! {
    /// A gNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigGnbV1 "E2nodeComponentConfigUpdateGNB" {
        /// NG setup.
        ngap: Option<Bytes> [Opt<Free>] "ngAPconfigUpdate",
        /// Xn setup.
        xnap: Option<Bytes> [Opt<Free>] "xnAPconfigUpdate",
        /// E1 setup.
        e1ap: Option<Bytes> [Opt<Free>] "e1APconfigUpdate",
        /// F1 setup.
        f1ap: Option<Bytes> [Opt<Free>] "f1APconfigUpdate",
    }
}
sequence! {
    /// An en-gNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigEnGnbV1 "E2nodeComponentConfigUpdateENgNB" {
        /// X2 setup.
        x2ap: Option<Bytes> [Opt<Free>] "x2APconfigUpdate",
    }
}
sequence! {
    /// An ng-eNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigNgEnbV1 "E2nodeComponentConfigUpdateNGeNB" {
        /// NG setup.
        ngap: Option<Bytes> [Opt<Free>] "ngAPconfigUpdate",
        /// Xn setup.
        xnap: Option<Bytes> [Opt<Free>] "xnAPconfigUpdate",
    }
}
sequence! {
    /// An eNB's interfaces in v1.01.
    #[derive(Eq)]
    ConfigEnbV1 "E2nodeComponentConfigUpdateENB" {
        /// S1 setup.
        s1ap: Option<Bytes> [Opt<Free>] "s1APconfigUpdate",
        /// X2 setup.
        x2ap: Option<Bytes> [Opt<Free>] "x2APconfigUpdate",
    }
}
choice! {
    /// A component's configuration in v1.01.
    #[derive(Eq)]
    ConfigV1 "E2nodeComponentConfigUpdate" {
        /// Of a gNB.
        Gnb(ConfigGnbV1) [Own] "gNBconfigUpdate",
        /// Of an en-gNB.
        EnGnb(ConfigEnGnbV1) [Own] "en-gNBconfigUpdate",
        /// Of an ng-eNB.
        NgEnb(ConfigNgEnbV1) [Own] "ng-eNBconfigUpdate",
        /// Of an eNB.
        Enb(ConfigEnbV1) [Own] "eNBconfigUpdate",
    }
}
sequence! {
    /// A component update in v1.01.
    #[derive(Eq)]
    ComponentUpdateV1 "E2nodeComponentConfigUpdate-Item" {
        /// Kind of component.
        kind: ComponentTypeV1 [Own] "e2nodeComponentType",
        /// Which one.
        id: Option<ComponentIdV1> [Opt] "e2nodeComponentID",
        /// Its configuration.
        config: ConfigV1 [Own] "e2nodeComponentConfigUpdate",
    }
}
sequence! {
    /// The RIC's word on a component in v1.01.
    #[derive(Eq)]
    ComponentUpdateAckV1 "E2nodeComponentConfigUpdateAck-Item" {
        /// Kind of component.
        kind: ComponentTypeV1 [Own] "e2nodeComponentType",
        /// Which one.
        id: Option<ComponentIdV1> [Opt] "e2nodeComponentID",
        /// Accepted or not.
        ack: ComponentAck [Own] "e2nodeComponentConfigUpdateAck",
    }
}

/// A type that v1.01 and later versions define differently under one identifier.
macro_rules! either_version {
    ($(#[$m:meta])* $name:ident $element:literal { $v1:ident, $v2:ident }) => {
        $(#[$m])* #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            /// As v1.01 has it.
            V1($v1),
            /// As v2.03 and later have it.
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
    /// The RIC's word on an updated component.
    ComponentUpdateAck "E2nodeComponentConfigUpdateAck-Item" { ComponentUpdateAckV1, ComponentAckItem }
}
