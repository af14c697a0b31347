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

/// `Gnb`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Gnb {
    /// Offered RAN functions.
    #[prost(message, repeated, tag = "2")]
    pub ran_functions: Vec<RanFunction>,
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
    /// Node type: [`ENB`] or [`GNB`].
    #[prost(int32, tag = "7")]
    pub node_type: i32,
    /// Properties of a gNB.
    #[prost(message, optional, tag = "9")]
    pub gnb: Option<Gnb>,
    /// Whether the node initiated the connection.
    #[prost(bool, tag = "13")]
    pub setup_from_network: bool,
}

/// `node_type` of an eNB or ng-eNB.
pub const ENB: i32 = 1;
/// `node_type` of a gNB.
pub const GNB: i32 = 2;

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
            node_type: GNB,
            gnb: Some(Gnb { ran_functions: vec![function] }),
            setup_from_network: true,
        };
        assert_eq!(
            info.encode_to_vec(),
            b"\x0a\x05gnb_1\x28\x022\x0c\x0a\x0605f510\x12\x02018\x02J\x0f\x12\x0d\x08\x02\x12\x0260\x18\x01\"\x031.3h\x01"
        );
    }
}
