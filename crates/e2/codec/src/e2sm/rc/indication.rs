//! Indication headers and messages of reports and inserts (E2SM-RC clauses 8.2.1.3 and 8.2.1.4).
use bytes::Bytes;

use super::neighbours::NeighbourRelations;
use super::parameter::*;
use super::{LIST_MAX, STYLES_MAX};
use crate::e2sm::common::{Cgi, Oran, UeId, sole_component};
use crate::e2sm::octets::octets;
use crate::per::{List, Opt, SelfCoded, Unconstrained};
use crate::{choice, sequence};

octets! {
    IndicationHeader: Per => Oran;
    IndicationMessage: Per => Oran;
}

sequence! {
    /// Indication header.
    IndicationHeader "E2SM-RC-IndicationHeader" {
        format: IndicationHeaderFormat [SelfCoded] "ric-indicationHeader-formats", "One of three formats.",
    }
    /// Header of a report.
    #[derive(Copy, Eq, Hash)]
    ReportHeader "E2SM-RC-IndicationHeader-Format1" {
        condition: Option<u16> [Opt<Number>] "ric-eventTriggerCondition-ID", "Condition of the event trigger that was met.",
    }
    /// Header of an insert with one indication.
    InsertHeader "E2SM-RC-IndicationHeader-Format2" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        style: i64 [Unconstrained] "ric-InsertStyle-Type", "Insert style.",
        indication: u16 [Number] "ric-InsertIndication-ID", "Id of the insert indication.",
    }
    /// Header of an insert with several indications.
    InsertsHeader "E2SM-RC-IndicationHeader-Format3" {
        condition: Option<u16> [Opt<Number>] "ric-eventTriggerCondition-ID", "The condition of the event trigger.",
        ue: Option<UeId> [Opt] "ueID", "UE.",
    }
    /// Indication message.
    IndicationMessage "E2SM-RC-IndicationMessage" {
        format: IndicationFormat [SelfCoded] "ric-indicationMessage-formats", "One of six formats.",
    }
    /// A UE and its parameters.
    UeParameters "E2SM-RC-IndicationMessage-Format2-Item" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        parameters: Vec<Parameter> [List<1, LIST_MAX>] "ranP-List", "Parameters.",
    }
    /// A cell that changed.
    CellChange "E2SM-RC-IndicationMessage-Format3-Item" {
        cell: Cgi [SelfCoded] "cellGlobal-ID", "Cell.",
        context: Option<Bytes> [Opt<Unconstrained>] "cellContextInfo", "Context.",
        deleted: Option<bool> [Opt<Unconstrained>] "cellDeleted", "Whether the cell was deleted.",
        neighbours: Option<NeighbourRelations> [Opt] "neighborRelation-Table", "Neighbours of the cell.",
    }
    /// A UE in an on-demand report.
    UeContext "E2SM-RC-IndicationMessage-Format4-ItemUE" {
        ue: UeId [SelfCoded] "ueID", "UE.",
        context: Option<Bytes> [Opt<Unconstrained>] "ueContextInfo", "Context.",
        cell: Cgi [SelfCoded] "cellGlobal-ID", "Serving cell.",
    }
    /// A cell in an on-demand report.
    CellContext "E2SM-RC-IndicationMessage-Format4-ItemCell" {
        cell: Cgi [SelfCoded] "cellGlobal-ID", "Cell.",
        context: Option<Bytes> [Opt<Unconstrained>] "cellContextInfo", "Context.",
        neighbours: Option<NeighbourRelations> [Opt] "neighborRelation-Table", "Neighbours of the cell.",
    }
    /// An on-demand report.
    OnDemandReport "E2SM-RC-IndicationMessage-Format4" {
        ues: Vec<UeContext> [List<0, LIST_MAX>] "ueInfo-List", "UEs.",
        cells: Vec<CellContext> [List<0, LIST_MAX>] "cellInfo-List", "Cells.",
    }
    /// The indications of an insert style.
    StyleInserts "E2SM-RC-IndicationMessage-Format6-Style-Item" {
        style: i64 [Unconstrained] "indicated-Insert-Style-Type", "The insert style.",
        indications: Vec<Insert> [List<1, STYLES_MAX>] "ric-InsertIndication-List", "Indications.",
    }
    /// An indication of an insert style.
    Insert "E2SM-RC-IndicationMessage-Format6-Indication-Item" {
        indication: u16 [Number] "ric-InsertIndication-ID", "Id of the insert indication.",
        parameters: Vec<Parameter> [List<0, LIST_MAX>] "ranP-InsertIndication-List", "Parameters.",
    }
}
choice! {
    /// Format of the indication header.
    IndicationHeaderFormat "ric-indicationHeader-formats" {
        Report(ReportHeader) [SelfCoded] "indicationHeader-Format1", "A condition of the event trigger is met.",
        Insert(InsertHeader) [SelfCoded] "indicationHeader-Format2", "The node waits for a decision.";
        Inserts(InsertsHeader) [SelfCoded] "indicationHeader-Format3", "The node waits for several decisions.",
    }
    /// Format of the indication message.
    IndicationFormat "ric-indicationMessage-formats" {
        Parameters(Vec<Parameter>) [Reported] "indicationMessage-Format1", "Parameters (report style 1).",
        Ues(Vec<UeParameters>) [ByUe] "indicationMessage-Format2", "Parameters by UE (report styles 2 and 4).",
        Cells(Vec<CellChange>) [ByCell] "indicationMessage-Format3", "Cells that changed (report style 3).",
        OnDemand(OnDemandReport) [SelfCoded] "indicationMessage-Format4", "UEs and cells (report style 5).",
        Insert(Vec<Parameter>) [Requested] "indicationMessage-Format5", "Parameters of an insert.";
        Inserts(Vec<StyleInserts>) [InsertStyles] "indicationMessage-Format6", "Parameters of several inserts.",
    }
}

sole_component! {
    Reported "ranP-Reported-List" Vec<Parameter> [List<1, LIST_MAX>];
    ByUe "ueParameter-List" Vec<UeParameters> [List<1, LIST_MAX>];
    ByCell "cellInfo-List" Vec<CellChange> [List<1, LIST_MAX>];
    Requested "ranP-Requested-List" Vec<Parameter> [List<0, LIST_MAX>];
    InsertStyles "ric-InsertStyle-List" Vec<StyleInserts> [List<1, STYLES_MAX>];
}
