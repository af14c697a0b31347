//! Support of each information element of a controller's messages, by version.
pub mod v1 {
    //! Elements of version 1.
    use crate::empower::protocol::v1::*;

    ranlab_machine::elements! {
        enum Body = "message" {
            Hello acted;
            CapsRequest acted;
            CapsResponse refused;
            UeReportRequest acted;
            UeReport refused;
            UeMeasureRequest within;
            UeMeasureReport refused;
            CellMeasureRequest within;
            CellMeasureReport refused;
            HandoverRequest within;
            HandoverResponse refused;
            SliceRequest acted;
            SliceResponse refused;
            Opaque acted;
        }
        enum Tlv = "TLV" {
            CellCaps refused;
            RanCaps refused;
            UeIdentity refused;
            SliceRbgs within;
            SliceScheduler within;
            MacPrbsRequest acted;
            MacPrbsReport refused;
            RrcMeasureRequest within;
            RrcMeasureReport refused;
            RntiList refused;
            Unknown refused;
        }
        struct SliceId = "slice" {
            plmn ignored;
            dscp acted;
            padding ignored;
        }
        struct SliceRbgs = "SliceRbgs" {
            rbgs acted;
        }
        struct SliceScheduler = "SliceScheduler" {
            sched_id acted;
        }
        struct RrcMeasureRequest = "RrcMeasureRequest" {
            measure_id acted;
            rnti acted;
            earfcn ignored;
            interval acted;
            max_cells ignored;
            max_measure ignored;
        }
        struct HandoverRequest = "HandoverRequest" {
            rnti acted;
            target acted;
            target_pci acted;
            cause ignored;
        }
    }
}

pub mod v2 {
    //! Elements of version 2.
    use crate::empower::protocol::v2::*;

    ranlab_machine::elements! {
        enum Tlv = "TLV" {
            HelloPeriod ignored;
            CapabilitiesCell refused;
            UeIdentity refused;
            UeMeasurementConfig within;
            UeMeasurementReport refused;
            MacPrbReport refused;
            MeasurementId within;
            Unknown refused;
        }
        struct UeMeasurementConfig = "UeMeasurementConfig" {
            rnti acted;
            meas_id acted;
            interval acted;
            amount acted;
        }
        struct MeasurementId = "MeasurementId" {
            meas_id acted;
        }
    }
}

#[cfg(test)]
mod tests {
    use ranlab_machine::support::Element;

    #[test]
    fn documentation_contains_element_tables() {
        let documented = include_str!("../../../../../docs/reference/sd-ran-elements.md");
        let rows: Vec<&str> = documented
            .lines()
            .filter(|line| line.starts_with("| ") && *line != "| group | element | support |")
            .collect();
        let tables = [crate::flexran::elements::ELEMENTS, super::v1::ELEMENTS, super::v2::ELEMENTS];
        assert_eq!(rows, tables.iter().copied().flatten().map(Element::row).collect::<Vec<_>>());
    }

    #[test]
    fn agent_only_messages_are_refused() {
        use super::v1::Checked;
        use crate::empower::protocol::v1::*;
        let measure = |tlvs| Body::UeMeasureRequest(tlvs).refused().map(ToString::to_string);
        let request = Tlv::RrcMeasureRequest(RrcMeasureRequest::default());
        assert_eq!(measure(vec![request.clone()]), None);
        let report = Tlv::RrcMeasureReport(RrcMeasureReport::default());
        assert_eq!(measure(vec![request, report]).as_deref(), Some("RrcMeasureReport of TLV"));
        assert!(Body::CapsResponse(Vec::new()).refused().is_some());
    }
}
