//! RAN functions and node components (clauses 9.2.8 to 9.2.13 and 9.2.26 to 9.2.28).
use super::{
    Cause, ComponentUpdate, ComponentUpdateAck, GlobalEnGnbId, GlobalEnbId, GlobalNgRanNodeId, MAX_PART_ID,
    Version, container, ids,
};
use crate::per::{
    Codec, DecodeError, EncodeError, Int, Notation, Opt, Per, SelfCoded, Source, Str, Unconstrained, Writer,
};
use crate::{choice, enumerated, sequence};
use bytes::Bytes;

/// Identifier of a RAN function within its node. It is chosen by the node, so select functions by OID.
pub type RanFunctionId = u16;
pub(crate) type RanFunctionIdCodec = Int<0, 4095>;
type PartId = Int<0, MAX_PART_ID>;

/// A RAN function offered by a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RanFunctionItem {
    /// Identifier, 0 to 4095.
    pub id: RanFunctionId,
    /// RAN function definition of the service model; opaque here.
    pub definition: Bytes,
    /// Revision, 0 to 4095; increases with every change of the definition.
    pub revision: u16,
    /// Object identifier of the service model; mandatory since v2.03, an extension in v1.01.
    pub oid: Option<String>,
}

type OidCodec = Str<1, 1000>;

impl Per for RanFunctionItem {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        let version = w.version();
        let oid_as_addition = version == Version::V1_01 && self.oid.is_some();
        w.bit(oid_as_addition);
        RanFunctionIdCodec::encode(&self.id, w)?;
        Unconstrained::encode(&self.definition, w)?;
        RanFunctionIdCodec::encode(&self.revision, w)?;
        match &self.oid {
            Some(oid) if oid_as_addition => w.additions(&[true], |_, w| OidCodec::encode(oid, w)),
            Some(oid) => OidCodec::encode(oid, w),
            None if version == Version::V1_01 => Ok(()),
            None => Err(EncodeError::MissingInVersion { element: "ranFunctionOID", version: version.name() }),
        }
    }
    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        let extended = r.extended()?;
        let v1 = r.version() == Version::V1_01;
        let id = RanFunctionIdCodec::decode(r).map_err(|e| e.within("ranFunctionID"))?;
        let definition = Unconstrained::decode(r).map_err(|e| e.within("ranFunctionDefinition"))?;
        let revision = RanFunctionIdCodec::decode(r).map_err(|e| e.within("ranFunctionRevision"))?;
        let mut oid = None;
        if !v1 {
            oid = Some(OidCodec::decode(r).map_err(|e| e.within("ranFunctionOID"))?);
        }
        if extended {
            r.additions(usize::from(v1), |_, r| {
                oid = Some(OidCodec::decode(r).map_err(|e| e.within("ranFunctionOID"))?);
                Ok(())
            })?;
        }
        Ok(Self { id, definition, revision, oid })
    }
    fn show(&self, n: &mut Notation) {
        n.braces(|n| {
            n.field("ranFunctionID", |n| n.value(self.id));
            n.field("ranFunctionDefinition", |n| n.octets(&self.definition));
            n.field("ranFunctionRevision", |n| n.value(self.revision));
            if let Some(oid) = &self.oid {
                n.field("ranFunctionOID", |n| OidCodec::show(oid, n));
            }
        });
    }
}

sequence! {
    /// A RAN function, identified by id and revision.
    #[derive(Copy, Eq)]
    RanFunctionIdItem "RANfunctionID-Item" {
        id: RanFunctionId [RanFunctionIdCodec] "ranFunctionID", "Id of the RAN function, 0 to 4095.",
        revision: u16 [RanFunctionIdCodec] "ranFunctionRevision", "Revision of the RAN function, 0 to 4095.",
    }
    /// A RAN function that the RIC rejects.
    #[derive(Copy, Eq)]
    RanFunctionIdCauseItem "RANfunctionIDcause-Item" {
        id: RanFunctionId [RanFunctionIdCodec] "ranFunctionID", "Id of the RAN function, 0 to 4095.",
        cause: Cause [SelfCoded] "cause", "Cause.",
    }
}
enumerated! {
    /// Type of a node's interface; not in v1.01.
    ComponentInterfaceType "E2nodeComponentInterfaceType" {
        Ng "ng", "Interface to the AMF.",
        Xn "xn", "Interface to other NG-RAN nodes.",
        E1 "e1", "Interface between CU-CP and CU-UP.",
        F1 "f1", "Interface between CU and DU.",
        W1 "w1", "ng-eNB-CU to ng-eNB-DU.",
        S1 "s1", "Interface to the MME.",
        X2 "x2", "Interface to other eNBs and en-gNBs.",
    }
}
sequence! {
    /// An NG interface.
    #[derive(Eq)]
    InterfaceNg "E2nodeComponentInterfaceNG" {
        amf_name: String [Str<1, 150>] "amf-name", "Peer AMF.",
    }
    /// An Xn interface.
    #[derive(Eq)]
    InterfaceXn "E2nodeComponentInterfaceXn" {
        node: GlobalNgRanNodeId [SelfCoded] "global-NG-RAN-Node-ID", "Peer node.",
    }
}
/// An E1 interface, identified by the CU-UP (v2.03 spells the field name `gNB-CU-CP-ID`; the encoding is the same).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceE1 {
    /// Id of the CU-UP, 36 bits.
    pub cu_up_id: u64,
}
sequence! {
    /// An F1 interface.
    #[derive(Eq)]
    InterfaceF1 "E2nodeComponentInterfaceF1" {
        du_id: u64 [PartId] "gNB-DU-ID", "The DU.",
    }
    /// A W1 interface.
    #[derive(Eq)]
    InterfaceW1 "E2nodeComponentInterfaceW1" {
        du_id: u64 [PartId] "ng-eNB-DU-ID", "The ng-eNB's DU.",
    }
    /// An S1 interface.
    #[derive(Eq)]
    InterfaceS1 "E2nodeComponentInterfaceS1" {
        mme_name: String [Str<1, 150>] "mme-name", "Peer MME.",
    }
    /// An X2 interface.
    #[derive(Eq)]
    InterfaceX2 "E2nodeComponentInterfaceX2" {
        enb: Option<GlobalEnbId> [Opt] "global-eNB-ID", "Peer eNB.",
        en_gnb: Option<GlobalEnGnbId> [Opt] "global-en-gNB-ID", "Peer en-gNB.",
    }
}

impl Per for InterfaceE1 {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        w.bit(false);
        PartId::encode(&self.cu_up_id, w)
    }
    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        let extended = r.extended()?;
        let cu_up_id = PartId::decode(r).map_err(|e| e.within("gNB-CU-UP-ID"))?;
        if extended {
            r.additions(0, |_, _| Ok(()))?;
        }
        Ok(Self { cu_up_id })
    }
    fn show(&self, n: &mut Notation) {
        n.braces(|n| n.field("gNB-CU-UP-ID", |n| n.value(self.cu_up_id)));
    }
}

choice! {
    /// Identity of a node's interface; not in v1.01.
    #[derive(Eq)]
    ComponentId "E2nodeComponentID" {
        Ng(InterfaceNg) [SelfCoded] "e2nodeComponentInterfaceTypeNG", "Interface to the AMF.",
        Xn(InterfaceXn) [SelfCoded] "e2nodeComponentInterfaceTypeXn", "Interface to another NG-RAN node.",
        E1(InterfaceE1) [SelfCoded] "e2nodeComponentInterfaceTypeE1", "Interface between CU-CP and CU-UP.",
        F1(InterfaceF1) [SelfCoded] "e2nodeComponentInterfaceTypeF1", "Interface between CU and DU.",
        W1(InterfaceW1) [SelfCoded] "e2nodeComponentInterfaceTypeW1", "ng-eNB-CU to ng-eNB-DU.",
        S1(InterfaceS1) [SelfCoded] "e2nodeComponentInterfaceTypeS1", "Interface to the MME.",
        X2(InterfaceX2) [SelfCoded] "e2nodeComponentInterfaceTypeX2", "Interface to another eNB or en-gNB.",
    }
}
sequence! {
    /// Configuration of a component: the setup messages of its interface; opaque here.
    #[derive(Eq, Default)]
    ComponentConfiguration "E2nodeComponentConfiguration" {
        request_part: Bytes [Unconstrained] "e2nodeComponentRequestPart", "Request sent or received.",
        response_part: Bytes [Unconstrained] "e2nodeComponentResponsePart", "Response received or sent.",
    }
}
enumerated! {
    /// Whether a configuration was accepted.
    UpdateOutcome "updateOutcome" {
        Success "success", "Accepted.",
        Failure "failure", "Not accepted.",
    }
}
sequence! {
    /// Acknowledgement of a component by the RIC (`E2nodeComponentConfigUpdateAck` in v1.01).
    #[derive(Copy, Eq)]
    ComponentAck "E2nodeComponentConfigurationAck" {
        outcome: UpdateOutcome [SelfCoded] "updateOutcome", "Whether the component was accepted.",
        cause: Option<Cause> [Opt] "failureCause", "Cause of the failure.",
    }
    /// A component that a node adds or, since v2.03, updates.
    #[derive(Eq)]
    ComponentConfigItem "E2nodeComponentConfigAddition-Item" {
        interface: ComponentInterfaceType [SelfCoded] "e2nodeComponentInterfaceType", "Type of the interface.",
        id: ComponentId [SelfCoded] "e2nodeComponentID", "Identity of the component.",
        configuration: ComponentConfiguration [SelfCoded] "e2nodeComponentConfiguration", "Configuration.",
    }
    /// A component that a node removes.
    #[derive(Eq)]
    ComponentRemovalItem "E2nodeComponentConfigRemoval-Item" {
        interface: ComponentInterfaceType [SelfCoded] "e2nodeComponentInterfaceType", "Type of the interface.",
        id: ComponentId [SelfCoded] "e2nodeComponentID", "Identity of the component.",
    }
    /// Acknowledgement of one component by the RIC.
    #[derive(Eq)]
    ComponentAckItem "E2nodeComponentConfigAdditionAck-Item" {
        interface: ComponentInterfaceType [SelfCoded] "e2nodeComponentInterfaceType", "Type of the interface.",
        id: ComponentId [SelfCoded] "e2nodeComponentID", "Identity of the component.",
        ack: ComponentAck [SelfCoded] "e2nodeComponentConfigurationAck", "Whether the component was accepted.",
    }
}

impl From<ComponentId> for ComponentConfigItem {
    /// Returns the component with this identity and an empty configuration.
    fn from(id: ComponentId) -> Self {
        let interface = match &id {
            ComponentId::Ng(_) => ComponentInterfaceType::Ng,
            ComponentId::Xn(_) => ComponentInterfaceType::Xn,
            ComponentId::E1(_) => ComponentInterfaceType::E1,
            ComponentId::F1(_) => ComponentInterfaceType::F1,
            ComponentId::W1(_) => ComponentInterfaceType::W1,
            ComponentId::S1(_) => ComponentInterfaceType::S1,
            ComponentId::X2(_) => ComponentInterfaceType::X2,
        };
        Self { interface, id, configuration: ComponentConfiguration::default() }
    }
}

impl ComponentConfigItem {
    /// Returns the component of an interface to the AMF with this name, with an empty configuration.
    pub fn ng(amf_name: impl Into<String>) -> Self {
        ComponentId::Ng(InterfaceNg { amf_name: amf_name.into() }).into()
    }

    /// Returns the component of an interface to the MME with this name, with an empty configuration.
    pub fn s1(mme_name: impl Into<String>) -> Self {
        ComponentId::S1(InterfaceS1 { mme_name: mme_name.into() }).into()
    }

    /// Returns the component of an interface between a CU and this DU, with an empty configuration.
    pub fn f1(du_id: u64) -> Self {
        ComponentId::F1(InterfaceF1 { du_id }).into()
    }

    /// Returns the component of an interface between a CU-CP and this CU-UP, with an empty configuration.
    pub fn e1(cu_up_id: u64) -> Self {
        ComponentId::E1(InterfaceE1 { cu_up_id }).into()
    }
}

container::list_item!(RanFunctionItems RanFunctionItem ids::RAN_FUNCTION_ITEM, Ignore "RANfunction-Item");
container::list_item!(RanFunctionIdItems RanFunctionIdItem ids::RAN_FUNCTION_ID_ITEM, Ignore "RANfunctionID-Item");
container::list_item!(RanFunctionIdCauseItems RanFunctionIdCauseItem ids::RAN_FUNCTION_IE_CAUSE_ITEM, Ignore "RANfunctionIDcause-Item");
container::list_item!(ComponentAdditionItems ComponentConfigItem ids::E2_NODE_COMPONENT_CONFIG_ADDITION_ITEM, Reject "E2nodeComponentConfigAddition-Item");
container::list_item!(ComponentAdditionAckItems ComponentAckItem ids::E2_NODE_COMPONENT_CONFIG_ADDITION_ACK_ITEM, Reject "E2nodeComponentConfigAdditionAck-Item");
container::list_item!(ComponentRemovalItems ComponentRemovalItem ids::E2_NODE_COMPONENT_CONFIG_REMOVAL_ITEM, Reject "E2nodeComponentConfigRemoval-Item");
container::list_item!(ComponentRemovalAckItems ComponentAckItem ids::E2_NODE_COMPONENT_CONFIG_REMOVAL_ACK_ITEM, Reject "E2nodeComponentConfigRemovalAck-Item");
container::list_item!(ComponentUpdateItems ComponentUpdate ids::E2_NODE_COMPONENT_CONFIG_UPDATE_ITEM, Reject "E2nodeComponentConfigUpdate-Item");
container::list_item!(ComponentUpdateAckItems ComponentUpdateAck ids::E2_NODE_COMPONENT_CONFIG_UPDATE_ACK_ITEM, Reject "E2nodeComponentConfigUpdateAck-Item");
