//! The radio network information base of O-RAN SC, as far as xApps read it: protobuf messages that its E2 manager keeps in the
//! shared data layer.
use prost::Message;

/// The namespace in the shared data layer.
pub const NAMESPACE: &str = "e2Manager";

/// `ConnectionStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ConnectionStatus {
    /// Not known.
    Unknown = 0,
    /// Connected.
    Connected = 1,
    /// Not connected.
    Disconnected = 2,
}

/// `GlobalNbId`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct GlobalNbId {
    /// The network's three octets as hexadecimal digits.
    #[prost(string, tag = "1")]
    pub plmn_id: String,
    /// The base station's bits as digits.
    #[prost(string, tag = "2")]
    pub nb_id: String,
}

/// `NbIdentity`: a member of the sets `GNB` and `ENB`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NbIdentity {
    /// How the node is called.
    #[prost(string, tag = "1")]
    pub inventory_name: String,
    /// Its identity.
    #[prost(message, optional, tag = "2")]
    pub global_nb_id: Option<GlobalNbId>,
    /// Whether it is connected.
    #[prost(enumeration = "ConnectionStatus", tag = "3")]
    pub connection_status: i32,
}

/// `RanFunction`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct RanFunction {
    /// Its number at the node.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Its definition as hexadecimal digits.
    #[prost(string, tag = "2")]
    pub definition: String,
    /// Its revision.
    #[prost(uint32, tag = "3")]
    pub revision: u32,
    /// Its object identifier.
    #[prost(string, tag = "4")]
    pub oid: String,
}

/// `Gnb`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Gnb {
    /// What it offers.
    #[prost(message, repeated, tag = "2")]
    pub ran_functions: Vec<RanFunction>,
}

/// `NodebInfo`: the value of `RAN:NAME`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodebInfo {
    /// How the node is called.
    #[prost(string, tag = "1")]
    pub ran_name: String,
    /// Whether it is connected.
    #[prost(enumeration = "ConnectionStatus", tag = "5")]
    pub connection_status: i32,
    /// Its identity.
    #[prost(message, optional, tag = "6")]
    pub global_nb_id: Option<GlobalNbId>,
    /// [`ENB`] or [`GNB`].
    #[prost(int32, tag = "7")]
    pub node_type: i32,
    /// What is known of a gNB.
    #[prost(message, optional, tag = "9")]
    pub gnb: Option<Gnb>,
    /// It connected by itself.
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

    /// As protobuf's Python library of `ricxappframe` 3.2.2 writes them.
    #[test]
    fn messages_are_those_that_xapps_read() {
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
