//! Transport addresses of E2 connections (clauses 9.2.29 and 9.2.30).
use super::{Cause, container, ids};
use crate::per::{BitString, Bits, BitsExt, Opt, SelfCoded, ShortBits};
use crate::{enumerated, sequence};

sequence! {
    /// A transport endpoint.
    #[derive(Eq)]
    TnlInformation "TNLinformation" {
        address: BitString [BitsExt<1, 160>] "tnlAddress", "IPv4 (32 bits), IPv6 (128 bits) or both (160 bits).",
        port: Option<ShortBits> [Opt<Bits<16, 16>>] "tnlPort", "Port.",
    }
}
enumerated! {
    /// Purpose of an association.
    TnlUsage "TNLusage" {
        RicService "ric-service", "RIC services.",
        SupportFunction "support-function", "Support functions.",
        Both "both", "Both.",
    }
}
sequence! {
    /// An association to add or to modify.
    #[derive(Eq)]
    E2ConnectionUpdateItem "E2connectionUpdate-Item" {
        tnl: TnlInformation [SelfCoded] "tnlInformation", "Endpoint of the RIC.",
        usage: TnlUsage [SelfCoded] "tnlUsage", "Purpose of the association.",
    }
    /// An association to remove.
    #[derive(Eq)]
    E2ConnectionRemoveItem "E2connectionUpdateRemove-Item" {
        tnl: TnlInformation [SelfCoded] "tnlInformation", "Endpoint of the RIC.",
    }
    /// An association that could not be set up.
    #[derive(Eq)]
    E2ConnectionSetupFailedItem "E2connectionSetupFailed-Item" {
        tnl: TnlInformation [SelfCoded] "tnlInformation", "Endpoint of the RIC.",
        cause: Cause [SelfCoded] "cause", "Cause.",
    }
    /// An association that the node removes.
    #[derive(Eq)]
    E2NodeTnlRemovalItem "E2nodeTNLassociationRemoval-Item" {
        tnl: TnlInformation [SelfCoded] "tnlInformation", "Endpoint of the node.",
        tnl_ric: TnlInformation [SelfCoded] "tnlInformationRIC", "Endpoint of the RIC.",
    }
}

container::list_item!(ConnectionUpdateItems E2ConnectionUpdateItem ids::E2_CONNECTION_UPDATE_ITEM, Ignore "E2connectionUpdate-Item");
container::list_item!(ConnectionRemoveItems E2ConnectionRemoveItem ids::E2_CONNECTION_UPDATE_REMOVE_ITEM, Ignore "E2connectionUpdateRemove-Item");
container::list_item!(ConnectionFailedItems E2ConnectionSetupFailedItem ids::E2_CONNECTION_SETUP_FAILED_ITEM, Ignore "E2connectionSetupFailed-Item");
container::list_item!(TnlRemovalItems E2NodeTnlRemovalItem ids::E2_NODE_TNL_ASSOCIATION_REMOVAL_ITEM, Reject "E2nodeTNLassociationRemoval-Item");
