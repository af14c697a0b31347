//! Messages between nodes and RRC messages, as identified in event triggers.
use crate::e2ap::{MAX_PART_ID, Plmn, PlmnCodec, sole_alternative};
use crate::e2sm::common::{
    GlobalEnb, GlobalGnb, GlobalNgEnb, GlobalNgRanNode, Guami, Gummei, sole_component,
};
use crate::per::{Bits, Int, Opt, SelfCoded, ShortBits, Unconstrained};
use crate::{choice, enumerated, sequence};

/// Codec of the id of a CU-UP or DU.
type PartId = Int<0, MAX_PART_ID>;

enumerated! {
    /// An interface between nodes.
    Interface "InterfaceType" {
        Ng "nG", "NG: interface to the 5G core.",
        Xn "xn", "Xn: between NG-RAN nodes.",
        F1 "f1", "F1: between CU and DU.",
        E1 "e1", "E1: between CU-CP and CU-UP.",
        S1 "s1", "S1: interface to the LTE core.",
        X2 "x2", "X2: between eNBs.",
        W1 "w1", "W1: between the CU and the DU of an ng-eNB.",
    }
    /// Type of a message in its procedure.
    Part "messageType" {
        Initiating "initiatingMessage", "Initiating message.",
        Success "successfulOutcome", "Successful outcome.",
        Failure "unsuccessfulOutcome", "Unsuccessful outcome.",
    }
    /// A logical channel of LTE, with its direction.
    LteClass "RRCclass-LTE" {
        BcchBch "bCCH-BCH", "Broadcast (BCCH to BCH).",
        BcchBchMbms "bCCH-BCH-MBMS", "Broadcast of multicast.",
        BcchDlSch "bCCH-DL-SCH", "System information.",
        BcchDlSchBr "bCCH-DL-SCH-BR", "System information for reduced bandwidth.",
        BcchDlSchMbms "bCCH-DL-SCH-MBMS", "System information of multicast.",
        Mcch "mCCH", "Control of multicast.",
        Pcch "pCCH", "Paging.",
        DlCcch "dL-CCCH", "Common control, downlink.",
        DlDcch "dL-DCCH", "Dedicated control, downlink.",
        UlCcch "uL-CCCH", "Common control, uplink.",
        UlDcch "uL-DCCH", "Dedicated control, uplink.",
        ScMcch "sC-MCCH", "Control of multicast in a cell.",
    }
    /// A logical channel of NR, with its direction.
    NrClass "RRCclass-NR" {
        BcchBch "bCCH-BCH", "Broadcast (BCCH to BCH).",
        BcchDlSch "bCCH-DL-SCH", "System information.",
        DlCcch "dL-CCCH", "Common control, downlink.",
        DlDcch "dL-DCCH", "Dedicated control, downlink.",
        Pcch "pCCH", "Paging.",
        UlCcch "uL-CCCH", "Common control, uplink.",
        UlCcch1 "uL-CCCH1", "Common control, uplink, with long identities.",
        UlDcch "uL-DCCH", "Dedicated control, uplink.",
    }
}
sequence! {
    /// A message of an interface.
    InterfaceMessage "MessageType-Choice-NI" {
        interface: Interface [SelfCoded] "nI-Type", "Type of the interface.",
        id: Option<InterfaceId> [Opt] "nI-Identifier", "Identity of the interface.",
        message: Option<MessageId> [Opt] "nI-Message", "Type of the message.",
    }
    /// A message, identified by its procedure.
    #[derive(Copy, Eq, Hash)]
    MessageId "Interface-MessageID" {
        procedure: i64 [Unconstrained] "interfaceProcedureID", "Procedure code.",
        part: Part [SelfCoded] "messageType", "Type of the message.",
    }
    /// An RRC message.
    #[derive(Copy, Eq, Hash)]
    RrcMessage "RRC-MessageID" {
        class: RrcClass [SelfCoded] "rrcType", "Logical channel.",
        message: i64 [Unconstrained] "messageID", "Number of the message on the channel.",
    }
    /// The interface to a CU-UP.
    E1Id "InterfaceID-E1" {
        gnb: GlobalGnb [SelfCoded] "globalGNB-ID", "The base station.",
        cu_up: u64 [PartId] "gNB-CU-UP-ID", "The CU-UP.",
    }
    /// The interface to a DU.
    F1Id "InterfaceID-F1" {
        gnb: GlobalGnb [SelfCoded] "globalGNB-ID", "The base station.",
        du: u64 [PartId] "gNB-DU-ID", "The DU.",
    }
    /// The interface to the DU of an ng-eNB.
    W1Id "InterfaceID-W1" {
        ng_enb: GlobalNgEnb [SelfCoded] "global-ng-eNB-ID", "The base station.",
        du: u64 [PartId] "ng-eNB-DU-ID", "The DU.",
    }
    /// An en-gNB.
    #[derive(Copy, Eq, Hash)]
    GlobalEnGnb "GlobalenGNB-ID" {
        plmn: Plmn [PlmnCodec] "pLMN-Identity", "PLMN.",
        en_gnb: ShortBits [EnGnbNumber] "en-gNB-ID", "Identity of the en-gNB, 22 to 32 bits.",
    }
}
sole_alternative!(EnGnbNumber "en-gNB-ID" ShortBits [Bits<22, 32>]);
choice! {
    /// A logical channel.
    #[derive(Copy, Eq, Hash)]
    RrcClass "rrcType" {
        Lte(LteClass) [SelfCoded] "lTE", "LTE.",
        Nr(NrClass) [SelfCoded] "nR", "NR.",
    }
    /// Peer on the X2 interface.
    #[derive(Copy, Eq, Hash)]
    X2Id "nodeType" {
        Enb(GlobalEnb) [SelfCoded] "global-eNB-ID", "An eNB.",
        EnGnb(GlobalEnGnb) [SelfCoded] "global-en-gNB-ID", "An en-gNB.",
    }
    /// An interface, identified by its peer.
    InterfaceId "InterfaceIdentifier" {
        Ng(Guami) [NgEnd] "nG", "The AMF.",
        Xn(GlobalNgRanNode) [XnEnd] "xN", "A node of the NG-RAN.",
        F1(F1Id) [SelfCoded] "f1", "A DU.",
        E1(E1Id) [SelfCoded] "e1", "A CU-UP.",
        S1(Gummei) [S1End] "s1", "The MME.",
        X2(X2Id) [X2End] "x2", "An eNB or en-gNB.",
        W1(W1Id) [SelfCoded] "w1", "The DU of an ng-eNB.",
    }
}
sole_component! {
    NgEnd "guami" Guami [SelfCoded];
    XnEnd "global-NG-RAN-ID" GlobalNgRanNode [SelfCoded];
    S1End "gUMMEI" Gummei [SelfCoded];
    X2End "nodeType" X2Id [SelfCoded];
}
