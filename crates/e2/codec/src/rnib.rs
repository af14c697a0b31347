//! The parts of O-RAN SC's radio network information base (R-NIB) that xApps read: protobuf messages that the E2
//! manager stores in the shared data layer.
use prost::Message;

/// Namespace in the shared data layer.
pub const NAMESPACE: &str = "e2Manager";

/// `ConnectionStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ConnectionStatus {
    /// Unknown.
    Unknown = 0,
    /// Connected.
    Connected = 1,
    /// Disconnected.
    Disconnected = 2,
}

/// `GlobalNbId`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GlobalNbId {
    /// PLMN identity: three bytes as hexadecimal digits.
    #[prost(string, tag = "1")]
    pub plmn_id: String,
    /// Base station identity: bits as digits.
    #[prost(string, tag = "2")]
    pub nb_id: String,
}

/// `NbIdentity`: a member of the sets `GNB` and `ENB`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NbIdentity {
    /// Inventory name of the node.
    #[prost(string, tag = "1")]
    pub inventory_name: String,
    /// Identity of the node.
    #[prost(message, optional, tag = "2")]
    pub global_nb_id: Option<GlobalNbId>,
    /// Connection status.
    #[prost(enumeration = "ConnectionStatus", tag = "3")]
    pub connection_status: i32,
}

/// `RanFunction`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct RanFunction {
    /// RAN function id.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// RAN function definition as hexadecimal digits.
    #[prost(string, tag = "2")]
    pub definition: String,
    /// RAN function revision.
    #[prost(uint32, tag = "3")]
    pub revision: u32,
    /// Object identifier.
    #[prost(string, tag = "4")]
    pub oid: String,
}

/// `GnbType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum GnbType {
    /// Unknown.
    Unknown = 0,
    /// A gNB.
    Gnb = 1,
    /// A gNB attached to an eNB.
    EnGnb = 2,
}

/// `EnbType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum EnbType {
    /// Unknown.
    Unknown = 0,
    /// A macro eNB.
    MacroEnb = 1,
    /// A home eNB.
    HomeEnb = 2,
    /// A short macro eNB.
    ShortMacroEnb = 3,
    /// A long macro eNB.
    LongMacroEnb = 4,
    /// A macro ng-eNB.
    MacroNgEnb = 5,
    /// A short macro ng-eNB.
    ShortMacroNgEnb = 6,
    /// A long macro ng-eNB.
    LongMacroNgEnb = 7,
}

/// `E2nodeComponentInterfaceType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum InterfaceType {
    /// Interface to the AMF.
    Ng = 0,
    /// Interface to other NG-RAN nodes.
    Xn = 1,
    /// Interface between CU-CP and CU-UP.
    E1 = 2,
    /// Interface between CU and DU.
    F1 = 3,
    /// ng-eNB-CU to ng-eNB-DU.
    W1 = 5,
    /// Interface to the MME.
    S1 = 6,
    /// Interface to other eNBs and en-gNBs.
    X2 = 7,
}

/// Defines an R-NIB message with the parts of an identity. The tags are those of the protobuf file.
macro_rules! identity {
    ($($(#[$doc:meta])* $name:ident { $plmn:tt, $id:tt, $kind:tt $of:tt })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, Message)]
        pub struct $name {
            /// PLMN identity: three bytes as hexadecimal digits.
            #[prost(string, tag = $plmn)]
            pub plmn_identity: String,
            /// Identity: bits as digits.
            #[prost(string, tag = $id)]
            pub id: String,
            /// Type of the base station.
            #[prost(enumeration = $of, tag = $kind)]
            pub kind: i32,
        }
    )*};
}
identity! {
    /// `GlobalENBID`.
    GlobalEnb { "20", "21", "22" "EnbType" }
    /// `GlobalENGNBID`.
    GlobalEnGnb { "23", "24", "25" "GnbType" }
    /// `GlobalGNBID`.
    GlobalGnb { "26", "27", "28" "GnbType" }
    /// `GlobalNGENBID`.
    GlobalNgEnb { "29", "30", "31" "EnbType" }
}

/// `E2nodeComponentInterfaceNG`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceNg {
    /// Peer AMF.
    #[prost(string, tag = "11")]
    pub amf_name: String,
}

/// `E2nodeComponentInterfaceXn`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceXn {
    /// Peer node.
    #[prost(oneof = "XnNode", tags = "12, 13")]
    pub node: Option<XnNode>,
}

/// Peer of an Xn interface.
#[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
pub enum XnNode {
    /// An ng-eNB.
    #[prost(message, tag = "12")]
    NgEnb(GlobalNgEnb),
    /// A gNB.
    #[prost(message, tag = "13")]
    Gnb(GlobalGnb),
}

/// `E2nodeComponentInterfaceE1`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceE1 {
    /// Id of the CU-UP, in a field that is named after the CU-CP.
    #[prost(int64, tag = "14")]
    pub cu_cp_id: i64,
}

/// `E2nodeComponentInterfaceF1`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceF1 {
    /// Id of the DU.
    #[prost(int64, tag = "15")]
    pub du_id: i64,
}

/// `E2nodeComponentInterfaceW1`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceW1 {
    /// Id of the ng-eNB's DU.
    #[prost(int64, tag = "16")]
    pub du_id: i64,
}

/// `E2nodeComponentInterfaceS1`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceS1 {
    /// Peer MME.
    #[prost(string, tag = "17")]
    pub mme_name: String,
}

/// `E2nodeComponentInterfaceX2`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct InterfaceX2 {
    /// Peer eNB.
    #[prost(message, optional, tag = "18")]
    pub enb: Option<GlobalEnb>,
    /// Peer en-gNB.
    #[prost(message, optional, tag = "19")]
    pub en_gnb: Option<GlobalEnGnb>,
}

/// Identity of an interface in [`ComponentConfig`].
#[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
pub enum ComponentId {
    /// Interface to the AMF.
    #[prost(message, tag = "1")]
    Ng(InterfaceNg),
    /// Interface to another NG-RAN node.
    #[prost(message, tag = "2")]
    Xn(InterfaceXn),
    /// Interface between CU-CP and CU-UP.
    #[prost(message, tag = "3")]
    E1(InterfaceE1),
    /// Interface between CU and DU.
    #[prost(message, tag = "4")]
    F1(InterfaceF1),
    /// ng-eNB-CU to ng-eNB-DU.
    #[prost(message, tag = "5")]
    W1(InterfaceW1),
    /// Interface to the MME.
    #[prost(message, tag = "6")]
    S1(InterfaceS1),
    /// Interface to another eNB or en-gNB.
    #[prost(message, tag = "7")]
    X2(InterfaceX2),
}

/// `E2nodeComponentConfig`. The setup messages are bytes that contain hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ComponentConfig {
    /// Identity of the interface.
    #[prost(oneof = "ComponentId", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub id: Option<ComponentId>,
    /// Type of the interface.
    #[prost(enumeration = "InterfaceType", tag = "8")]
    pub interface: i32,
    /// Request sent or received.
    #[prost(bytes = "vec", tag = "9")]
    pub request_part: Vec<u8>,
    /// Response received or sent.
    #[prost(bytes = "vec", tag = "10")]
    pub response_part: Vec<u8>,
}

/// `Gnb`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Gnb {
    /// Offered RAN functions.
    #[prost(message, repeated, tag = "2")]
    pub ran_functions: Vec<RanFunction>,
    /// Type of the gNB.
    #[prost(enumeration = "GnbType", tag = "3")]
    pub gnb_type: i32,
    /// Interfaces of the gNB.
    #[prost(message, repeated, tag = "4")]
    pub node_configs: Vec<ComponentConfig>,
}

/// `Enb`, which has no RAN functions.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Enb {
    /// Type of the eNB.
    #[prost(enumeration = "EnbType", tag = "1")]
    pub enb_type: i32,
    /// Interfaces of the eNB.
    #[prost(message, repeated, tag = "4")]
    pub node_configs: Vec<ComponentConfig>,
}

/// Properties of a node.
#[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
pub enum Configuration {
    /// Properties of an eNB or ng-eNB.
    #[prost(message, tag = "8")]
    Enb(Enb),
    /// Properties of a gNB.
    #[prost(message, tag = "9")]
    Gnb(Gnb),
}

/// `NodebInfo`: the value of `RAN:NAME`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodebInfo {
    /// Inventory name of the node.
    #[prost(string, tag = "1")]
    pub ran_name: String,
    /// Connection status.
    #[prost(enumeration = "ConnectionStatus", tag = "5")]
    pub connection_status: i32,
    /// Identity of the node.
    #[prost(message, optional, tag = "6")]
    pub global_nb_id: Option<GlobalNbId>,
    /// Node type.
    #[prost(enumeration = "NodeType", tag = "7")]
    pub node_type: i32,
    /// Properties.
    #[prost(oneof = "Configuration", tags = "8, 9")]
    pub configuration: Option<Configuration>,
    /// RMR address of the E2 termination to which the node is connected.
    #[prost(string, tag = "12")]
    pub associated_e2t_instance_address: String,
    /// Whether the node initiated the connection.
    #[prost(bool, tag = "13")]
    pub setup_from_network: bool,
    /// Time of the last change of the connection status, in ns since 1970.
    #[prost(uint64, tag = "14")]
    pub status_update_time_stamp: u64,
    /// Role of a gNB's node: `gNB`, `gNB_CU_UP` or `gNB_DU`.
    #[prost(string, tag = "15")]
    pub gnb_node_type: String,
    /// CU-UP id, in decimal.
    #[prost(string, tag = "16")]
    pub cu_up_id: String,
    /// DU id, in decimal.
    #[prost(string, tag = "17")]
    pub du_id: String,
}

/// `Node.Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NodeType {
    /// Unknown.
    Unknown = 0,
    /// An eNB or ng-eNB.
    Enb = 1,
    /// A gNB.
    Gnb = 2,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of protobuf's Python library in `ricxappframe` 3.2.2.
    #[test]
    fn messages_match_the_xapp_framework() {
        let id = GlobalNbId { plmn_id: "05f510".to_owned(), nb_id: "01".to_owned() };
        let identity = NbIdentity {
            inventory_name: "gnb_1".to_owned(),
            global_nb_id: Some(id.clone()),
            connection_status: ConnectionStatus::Connected.into(),
        };
        assert_eq!(identity.encode_to_vec(), b"\x0a\x05gnb_1\x12\x0c\x0a\x0605f510\x12\x0201\x18\x01");
        let function = RanFunction { id: 2, definition: "60".to_owned(), revision: 1, oid: "1.3".to_owned() };
        let info = NodebInfo {
            ran_name: "gnb_1".to_owned(),
            connection_status: ConnectionStatus::Disconnected.into(),
            global_nb_id: Some(id),
            node_type: NodeType::Gnb.into(),
            configuration: Some(Configuration::Gnb(Gnb { ran_functions: vec![function], ..Gnb::default() })),
            setup_from_network: true,
            ..NodebInfo::default()
        };
        assert_eq!(
            info.encode_to_vec(),
            b"\x0a\x05gnb_1\x28\x022\x0c\x0a\x0605f510\x12\x02018\x02J\x0f\x12\x0d\x08\x02\x12\x0260\x18\x01\"\x031.3h\x01"
        );
    }
}
