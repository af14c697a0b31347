//! Names of elementary procedures by code, from 3GPP's application protocols (release 18). The name is empty if a
//! code is not used.
//!
//! A message is identified by procedure and message type, so a procedure has one name for all its messages.

/// S1AP, TS 36.413.
#[rustfmt::skip]
pub(super) const S1AP: &[&str] = &[
    "HandoverPreparation", "HandoverResourceAllocation", "HandoverNotification", "PathSwitchRequest",
    "HandoverCancel", "ERABSetup", "ERABModify", "ERABRelease", "ERABReleaseIndication", "InitialContextSetup",
    "Paging", "DownlinkNASTransport", "InitialUEMessage", "UplinkNASTransport", "Reset", "ErrorIndication",
    "NASNonDeliveryIndication", "S1Setup", "UEContextReleaseRequest", "DownlinkS1CDMA2000Tunnelling",
    "UplinkS1CDMA2000Tunnelling", "UEContextModification", "UECapabilityInfoIndication", "UEContextRelease",
    "ENBStatusTransfer", "MMEStatusTransfer", "DeactivateTrace", "TraceStart", "TraceFailureIndication",
    "ENBConfigurationUpdate", "MMEConfigurationUpdate", "LocationReportingControl",
    "LocationReportingFailureIndication", "LocationReport", "OverloadStart", "OverloadStop",
    "WriteReplaceWarning", "ENBDirectInformationTransfer", "MMEDirectInformationTransfer", "PrivateMessage",
    "ENBConfigurationTransfer", "MMEConfigurationTransfer", "CellTrafficTrace", "Kill",
    "DownlinkUEAssociatedLPPaTransport", "UplinkUEAssociatedLPPaTransport",
    "DownlinkNonUEAssociatedLPPaTransport", "UplinkNonUEAssociatedLPPaTransport", "UERadioCapabilityMatch",
    "PWSRestartIndication", "ERABModificationIndication", "PWSFailureIndication", "RerouteNASRequest",
    "UEContextModificationIndication", "ConnectionEstablishmentIndication", "UEContextSuspend",
    "UEContextResume", "NASDeliveryIndication", "RetrieveUEInformation", "UEInformationTransfer",
    "ENBCPRelocationIndication", "MMECPRelocationIndication", "SecondaryRATDataUsageReport",
    "UERadioCapabilityIDMapping", "HandoverSuccess", "ENBEarlyStatusTransfer", "MMEEarlyStatusTransfer",
];

/// X2AP, TS 36.423.
#[rustfmt::skip]
pub(super) const X2AP: &[&str] = &[
    "HandoverPreparation", "HandoverCancel", "LoadIndication", "ErrorIndication", "SNStatusTransfer",
    "UEContextRelease", "X2Setup", "Reset", "ENBConfigurationUpdate", "ResourceStatusReportingInitiation",
    "ResourceStatusReporting", "PrivateMessage", "MobilitySettingsChange", "RLFIndication", "HandoverReport",
    "CellActivation", "X2Release", "X2APMessageTransfer", "X2Removal", "SeNBAdditionPreparation",
    "SeNBReconfigurationCompletion", "MeNBInitiatedSeNBModificationPreparation",
    "SeNBInitiatedSeNBModification", "MeNBInitiatedSeNBRelease", "SeNBInitiatedSeNBRelease", "SeNBCounterCheck",
    "RetrieveUEContext", "SgNBAdditionPreparation", "SgNBReconfigurationCompletion",
    "MeNBInitiatedSgNBModificationPreparation", "SgNBInitiatedSgNBModification", "MeNBInitiatedSgNBRelease",
    "SgNBInitiatedSgNBRelease", "SgNBCounterCheck", "SgNBChange", "RRCTransfer", "ENDCX2Setup",
    "ENDCConfigurationUpdate", "SecondaryRATDataUsageReport", "ENDCCellActivation", "ENDCPartialReset",
    "EUTRANRCellResourceCoordination", "SgNBActivityNotification", "ENDCX2Removal",
    "DataForwardingAddressIndication", "GNBStatusIndication", "DeactivateTrace", "TraceStart",
    "ENDCConfigurationTransfer", "HandoverSuccess", "ConditionalHandoverCancel", "EarlyStatusTransfer",
    "CellTrafficTrace", "ENDCResourceStatusReporting", "ENDCResourceStatusReportingInitiation",
    "F1CTrafficTransfer", "UERadioCapabilityIDMapping", "AccessAndMobilityIndication", "", "CPCCancel",
    "RachIndication",
];

/// NGAP, TS 38.413.
#[rustfmt::skip]
pub(super) const NGAP: &[&str] = &[
    "AMFConfigurationUpdate", "AMFStatusIndication", "CellTrafficTrace", "DeactivateTrace",
    "DownlinkNASTransport", "DownlinkNonUEAssociatedNRPPaTransport", "DownlinkRANConfigurationTransfer",
    "DownlinkRANStatusTransfer", "DownlinkUEAssociatedNRPPaTransport", "ErrorIndication", "HandoverCancel",
    "HandoverNotification", "HandoverPreparation", "HandoverResourceAllocation", "InitialContextSetup",
    "InitialUEMessage", "LocationReportingControl", "LocationReportingFailureIndication", "LocationReport",
    "NASNonDeliveryIndication", "NGReset", "NGSetup", "OverloadStart", "OverloadStop", "Paging",
    "PathSwitchRequest", "PDUSessionResourceModify", "PDUSessionResourceModifyIndication",
    "PDUSessionResourceRelease", "PDUSessionResourceSetup", "PDUSessionResourceNotify", "PrivateMessage",
    "PWSCancel", "PWSFailureIndication", "PWSRestartIndication", "RANConfigurationUpdate", "RerouteNASRequest",
    "RRCInactiveTransitionReport", "TraceFailureIndication", "TraceStart", "UEContextModification",
    "UEContextRelease", "UEContextReleaseRequest", "UERadioCapabilityCheck", "UERadioCapabilityInfoIndication",
    "UETNLABindingRelease", "UplinkNASTransport", "UplinkNonUEAssociatedNRPPaTransport",
    "UplinkRANConfigurationTransfer", "UplinkRANStatusTransfer", "UplinkUEAssociatedNRPPaTransport",
    "WriteReplaceWarning", "SecondaryRATDataUsageReport", "UplinkRIMInformationTransfer",
    "DownlinkRIMInformationTransfer", "RetrieveUEInformation", "UEInformationTransfer",
    "RANCPRelocationIndication", "UEContextResume", "UEContextSuspend", "UERadioCapabilityIDMapping",
    "HandoverSuccess", "UplinkRANEarlyStatusTransfer", "DownlinkRANEarlyStatusTransfer",
    "AMFCPRelocationIndication", "ConnectionEstablishmentIndication", "BroadcastSessionModification",
    "BroadcastSessionRelease", "BroadcastSessionSetup", "DistributionSetup", "DistributionRelease",
    "MulticastSessionActivation", "MulticastSessionDeactivation", "MulticastSessionUpdate",
    "MulticastGroupPaging", "BroadcastSessionReleaseRequired", "TimingSynchronisationStatus",
    "TimingSynchronisationStatusReport", "MTCommunicationHandling", "RANPagingRequest",
    "BroadcastSessionTransport",
];

/// XnAP, TS 38.423.
#[rustfmt::skip]
pub(super) const XNAP: &[&str] = &[
    "HandoverPreparation", "SNStatusTransfer", "HandoverCancel", "RetrieveUEContext", "RANPaging",
    "XnUAddressIndication", "UEContextRelease", "SNGRANnodeAdditionPreparation",
    "SNGRANnodeReconfigurationCompletion", "MNGRANnodeInitiatedSNGRANnodeModificationPreparation",
    "SNGRANnodeInitiatedSNGRANnodeModificationPreparation", "MNGRANnodeInitiatedSNGRANnodeRelease",
    "SNGRANnodeInitiatedSNGRANnodeRelease", "SNGRANnodeCounterCheck", "SNGRANnodeChange", "RRCTransfer",
    "XnRemoval", "XnSetup", "NGRANnodeConfigurationUpdate", "CellActivation", "Reset", "ErrorIndication",
    "PrivateMessage", "NotificationControl", "ActivityNotification", "EUTRANRCellResourceCoordination",
    "SecondaryRATDataUsageReport", "DeactivateTrace", "TraceStart", "HandoverSuccess",
    "ConditionalHandoverCancel", "EarlyStatusTransfer", "FailureIndication", "HandoverReport",
    "ResourceStatusReportingInitiation", "ResourceStatusReporting", "MobilitySettingsChange",
    "AccessAndMobilityIndication", "CellTrafficTrace", "RANMulticastGroupPaging", "ScgFailureInformationReport",
    "", "ScgFailureTransfer", "F1CTrafficTransfer", "IABTransportMigrationManagement",
    "IABTransportMigrationModification", "IABResourceCoordination", "RetrieveUEContextConfirm", "CPCCancel",
    "PartialUEContextTransfer", "RachIndication", "DataCollectionReportingInitiation",
    "DataCollectionReporting",
];

/// F1AP, TS 38.473.
#[rustfmt::skip]
pub(super) const F1AP: &[&str] = &[
    "Reset", "F1Setup", "ErrorIndication", "GNBDUConfigurationUpdate", "GNBCUConfigurationUpdate",
    "UEContextSetup", "UEContextRelease", "UEContextModification", "UEContextModificationRequired", "",
    "UEContextReleaseRequest", "InitialULRRCMessageTransfer", "DLRRCMessageTransfer", "ULRRCMessageTransfer",
    "PrivateMessage", "UEInactivityNotification", "GNBDUResourceCoordination",
    "SystemInformationDeliveryCommand", "Paging", "Notify", "WriteReplaceWarning", "PWSCancel",
    "PWSRestartIndication", "PWSFailureIndication", "GNBDUStatusIndication", "RRCDeliveryReport", "F1Removal",
    "NetworkAccessRateReduction", "TraceStart", "DeactivateTrace", "DUCURadioInformationTransfer",
    "CUDURadioInformationTransfer", "BAPMappingConfiguration", "GNBDUResourceConfiguration",
    "IABTNLAddressAllocation", "IABUPConfigurationUpdate", "ResourceStatusReportingInitiation",
    "ResourceStatusReporting", "AccessAndMobilityIndication", "AccessSuccess", "CellTrafficTrace",
    "PositioningMeasurementExchange", "PositioningAssistanceInformationControl",
    "PositioningAssistanceInformationFeedback", "PositioningMeasurementReport", "PositioningMeasurementAbort",
    "PositioningMeasurementFailureIndication", "PositioningMeasurementUpdate", "TRPInformationExchange",
    "PositioningInformationExchange", "PositioningActivation", "PositioningDeactivation",
    "ECIDMeasurementInitiation", "ECIDMeasurementFailureIndication", "ECIDMeasurementReport",
    "ECIDMeasurementTermination", "PositioningInformationUpdate", "ReferenceTimeInformationReport",
    "ReferenceTimeInformationReportingControl", "BroadcastContextSetup", "BroadcastContextRelease",
    "BroadcastContextReleaseRequest", "BroadcastContextModification", "MulticastGroupPaging",
    "MulticastContextSetup", "MulticastContextRelease", "MulticastContextReleaseRequest",
    "MulticastContextModification", "MulticastDistributionSetup", "MulticastDistributionRelease",
    "PDCMeasurementInitiation", "PDCMeasurementReport", "", "", "", "PRSConfigurationExchange",
    "MeasurementPreconfiguration", "MeasurementActivation", "QoEInformationTransfer",
    "PDCMeasurementTerminationCommand", "PDCMeasurementFailureIndication",
    "PosSystemInformationDeliveryCommand", "DUCUCellSwitchNotification", "CUDUCellSwitchNotification",
    "DUCUTAInformationTransfer", "CUDUTAInformationTransfer", "QoEInformationTransferControl", "RachIndication",
    "TimingSynchronisationStatus", "TimingSynchronisationStatusReport", "MIABF1SetupTriggering",
    "MIABF1SetupOutcomeNotification", "MulticastContextNotification", "MulticastCommonConfiguration",
    "BroadcastTransportResourceRequest", "DUCUAccessAndMobilityIndication",
    "SRSInformationReservationNotification", "CUDUMobilityInitiationRequest",
];

/// E1AP, TS 37.483.
#[rustfmt::skip]
pub(super) const E1AP: &[&str] = &[
    "Reset", "ErrorIndication", "PrivateMessage", "GNBCUUPE1Setup", "GNBCUCPE1Setup",
    "GNBCUUPConfigurationUpdate", "GNBCUCPConfigurationUpdate", "E1Release", "BearerContextSetup",
    "BearerContextModification", "BearerContextModificationRequired", "BearerContextRelease",
    "BearerContextReleaseRequest", "BearerContextInactivityNotification", "DLDataNotification",
    "DataUsageReport", "GNBCUUPCounterCheck", "GNBCUUPStatusIndication", "ULDataNotification",
    "MRDCDataUsageReport", "TraceStart", "DeactivateTrace", "ResourceStatusReportingInitiation",
    "ResourceStatusReporting", "IABUPTNLAddressUpdate", "CellTrafficTrace", "EarlyForwardingSNTransfer",
    "GNBCUCPMeasurementResultsInformation", "IABPSKNotification", "BCBearerContextSetup",
    "BCBearerContextModification", "BCBearerContextModificationRequired", "BCBearerContextRelease",
    "BCBearerContextReleaseRequest", "MCBearerContextSetup", "MCBearerContextModification",
    "MCBearerContextModificationRequired", "MCBearerContextRelease", "MCBearerContextReleaseRequest",
    "MCBearerNotification",
];
