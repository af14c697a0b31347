//! Support of each element of event triggers, action definitions and controls, by service model.
use ranlab_machine::support::Element;

/// Elements of all models.
pub const MODELS: &[&[Element]] = &[
    kpm::ELEMENTS,
    rc::ELEMENTS,
    ni::ELEMENTS,
    ccc::ELEMENTS,
    slice::ELEMENTS,
    traffic::ELEMENTS,
    rrc::ELEMENTS,
    association::ELEMENTS,
];

/// Elements of KPM.
pub mod kpm {
    use ranlab_e2_codec::e2sm::kpm::*;

    ranlab_machine::elements! {
        struct EventTrigger = "KPM EventTrigger" {
            period_ms acted;
        }
        struct ActionDefinition = "KPM ActionDefinition" {
            style acted;
            format within;
        }
        enum ActionFormat = "KPM ActionFormat" {
            Node within;
            Ue within;
            Conditional within;
            MatchingUes within;
            Ues within;
        }
        struct Measurements = "KPM Measurements" {
            infos within;
            granularity_ms acted;
            cell acted;
            bins refused;
        }
        struct UeMeasurements = "KPM UeMeasurements" {
            ue acted;
            measurements within;
        }
        struct ConditionalMeasurements = "KPM ConditionalMeasurements" {
            measurements acted;
            granularity_ms acted;
            cell acted;
        }
        struct MatchingUeMeasurements = "KPM MatchingUeMeasurements" {
            conditions within;
            measurements within;
        }
        struct UeMatching = "KPM UeMatching" {
            test acted;
            or acted;
        }
        struct UesMeasurements = "KPM UesMeasurements" {
            ues acted;
            measurements within;
        }
        struct MeasurementInfo = "KPM MeasurementInfo" {
            measurement acted;
            labels within;
        }
        struct Label = "KPM Label" {
            no_label acted;
            plmn acted;
            slice acted;
            five_qi acted;
            qfi refused;
            qci acted;
            qci_max refused;
            qci_min refused;
            arp_max refused;
            arp_min refused;
            bitrate_range refused;
            mu_mimo_layer refused;
            sum acted;
            bin_x refused;
            bin_y refused;
            bin_z refused;
            override_before refused;
            start_end refused;
            min refused;
            max refused;
            avg refused;
            ssb refused;
            beamforming refused;
            mimo refused;
        }
    }
}

/// Elements of RC.
pub mod rc {
    use ranlab_e2_codec::e2sm::rc::*;

    ranlab_machine::elements! {
        struct EventTrigger = "RC EventTrigger" {
            format within;
        }
        enum TriggerFormat = "RC TriggerFormat" {
            Messages within;
            Process within;
            Node within;
            Ues within;
            OnDemand within;
        }
        struct MessageTrigger = "RC MessageTrigger" {
            messages within;
            ues within;
        }
        struct MessageEvent = "RC MessageEvent" {
            condition acted;
            message within;
            direction acted;
            ues within;
            events refused;
            or ignored;
        }
        enum MessageType = "RC MessageType" {
            Interface refused;
            Rrc acted;
        }
        struct ProcessTrigger = "RC ProcessTrigger" {
            process acted;
            breakpoint acted;
            node refused;
            ues within;
        }
        struct NodeChange = "RC NodeChange" {
            condition acted;
            change acted;
            cells within;
            or ignored;
        }
        struct UeChange = "RC UeChange" {
            condition acted;
            trigger within;
            ues within;
            or ignored;
        }
        enum ChangeOf = "RC ChangeOf" {
            RrcState within;
            Identity refused;
            L2 refused;
        }
        struct StateChange = "RC StateChange" {
            to acted;
            or ignored;
        }
        struct OnDemandTrigger = "RC OnDemandTrigger" {
            on_demand acted;
            ues within;
            cells within;
        }
        struct UeCondition = "RC UeCondition" {
            id ignored;
            ue within;
            or acted;
        }
        enum UeKind = "RC UeKind" {
            One within;
            Group refused;
        }
        struct OneUe = "RC OneUe" {
            ue acted;
            test refused;
        }
        struct CellCondition = "RC CellCondition" {
            id ignored;
            cell within;
            or ignored;
        }
        enum CellKind = "RC CellKind" {
            One acted;
            Group refused;
        }
        struct ActionDefinition = "RC ActionDefinition" {
            style acted;
            format within;
        }
        enum ActionFormat = "RC ActionFormat" {
            Report within;
            Policy within;
            Insert within;
            Inserts refused;
        }
        struct WantedParameter = "RC WantedParameter" {
            id acted;
            definition ignored;
        }
        struct Policy = "RC Policy" {
            action within;
            condition acted;
        }
        struct PolicyAction = "RC PolicyAction" {
            action acted;
            parameters acted;
            decision acted;
        }
        struct InsertAction = "RC InsertAction" {
            indication acted;
            parameters within;
            ue acted;
        }
        struct ControlHeader = "RC ControlHeader" {
            format within;
        }
        enum HeaderFormat = "RC HeaderFormat" {
            Action within;
            Actions refused;
        }
        struct ActionHeader = "RC ActionHeader" {
            ue acted;
            style acted;
            action acted;
            decision acted;
        }
        struct ControlMessage = "RC ControlMessage" {
            format within;
        }
        enum ControlFormat = "RC ControlFormat" {
            Action acted;
            Actions refused;
        }
    }
}

/// Elements of NI.
pub mod ni {
    use ranlab_e2_codec::e2sm::ni::*;

    ranlab_machine::elements! {
        enum EventTrigger = "NI EventTrigger" {
            Message within;
        }
        struct MessageEvent = "NI MessageEvent" {
            interface acted;
            node acted;
            direction acted;
            message acted;
            tests acted;
        }
        struct ActionDefinition = "NI ActionDefinition" {
            style acted;
            format within;
        }
        enum ActionFormat = "NI ActionFormat" {
            Parameters acted;
            Groups refused;
        }
        enum ControlHeader = "NI ControlHeader" {
            Message refused;
        }
        enum ControlMessage = "NI ControlMessage" {
            Message refused;
        }
    }
}

/// Elements of CCC.
pub mod ccc {
    use ranlab_e2_codec::e2sm::ccc::*;

    ranlab_machine::elements! {
        struct EventTrigger = "CCC EventTrigger" {
            format within;
        }
        enum TriggerFormat = "CCC TriggerFormat" {
            Node acted;
            Cells acted;
            Periodic acted;
        }
        struct WatchedCell = "CCC WatchedCell" {
            cell acted;
            structures within;
        }
        struct WatchedStructure = "CCC WatchedStructure" {
            name acted;
            attributes acted;
        }
        struct ActionDefinition = "CCC ActionDefinition" {
            style acted;
            format within;
        }
        enum ActionFormat = "CCC ActionFormat" {
            Node acted;
            Cells acted;
        }
        struct WantedCell = "CCC WantedCell" {
            cell acted;
            structures within;
        }
        struct WantedStructure = "CCC WantedStructure" {
            report acted;
            name acted;
            attributes acted;
        }
        struct ControlHeader = "CCC ControlHeader" {
            format within;
        }
        struct ControlStyleHeader = "CCC ControlStyleHeader" {
            style acted;
        }
        struct ControlMessage = "CCC ControlMessage" {
            format within;
        }
        enum ControlFormat = "CCC ControlFormat" {
            Node acted;
            Cells acted;
        }
        struct CellControlled = "CCC CellControlled" {
            cell acted;
            structures within;
        }
        struct Write = "CCC Write" {
            name acted;
            old acted;
            new acted;
        }
    }
}

/// Elements of SLICE.
pub mod slice {
    use ranlab_e2_codec::e2sm::slice::*;

    ranlab_machine::elements! {
        struct ReportEvery = "SLICE ReportEvery" {
            period_ms acted;
        }
        enum SliceCommand = "SLICE SliceCommand" {
            Configure acted;
            Add acted;
            Modify acted;
            Delete acted;
            Associate acted;
            Allocate acted;
        }
    }
}

/// Elements of TRAFFIC.
pub mod traffic {
    use ranlab_e2_codec::e2sm::traffic::*;

    ranlab_machine::elements! {
        struct TrafficCommand = "TRAFFIC TrafficCommand" {
            bearer acted;
            action within;
        }
        enum TrafficAction = "TRAFFIC TrafficAction" {
            PutQueue acted;
            DeleteQueue acted;
            PutFilter acted;
            DeleteFilter acted;
            SetScheduler acted;
            SetPacer acted;
            SetStage acted;
        }
    }
}

/// Elements of RRC.
pub mod rrc {
    use ranlab_e2_codec::e2sm::rrc::*;

    ranlab_machine::elements! {
        struct RrcTrigger = "RRC RrcTrigger" {
            events acted;
            period_ms acted;
        }
        enum RrcCommand = "RRC RrcCommand" {
            Handover acted;
        }
        struct RrcHandover = "RRC RrcHandover" {
            rnti acted;
            cell_id acted;
            target_cell_id acted;
        }
    }
}

/// Elements of ASSOCIATION.
pub mod association {
    use ranlab_e2_codec::e2sm::association::*;

    ranlab_machine::elements! {
        enum AssociationCommand = "ASSOCIATION AssociationCommand" {
            AddController acted;
            RemoveController acted;
            Associate acted;
            Dissociate acted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_contains_element_table() {
        let documented = include_str!("../../../../../docs/reference/e2sm-elements.md");
        let rows: Vec<&str> = documented.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(rows, MODELS.iter().copied().flatten().map(Element::row).collect::<Vec<_>>());
    }
}
