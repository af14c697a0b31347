//! Causes (clause 9.2.1): five or six groups whose values were renumbered between v1.01 and v2.03.
use super::Version;
use crate::enumerated;
use crate::per::{DecodeError, DecodeFault, EncodeError, Notation, Per, Source, Writer};

/// Cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Cause related to a RIC request.
    RicRequest(CauseRicRequest),
    /// Cause related to RAN functions.
    RicService(CauseRicService),
    /// Cause related to the E2 node; not in v1.01.
    E2Node(CauseE2Node),
    /// Cause related to the transport.
    Transport(CauseTransport),
    /// Cause related to the protocol.
    Protocol(CauseProtocol),
    /// Any other cause.
    Misc(CauseMisc),
}

impl Cause {
    /// Returns group and value as ASN.1 identifiers, for example `ricRequest : action-not-supported`.
    pub fn name(&self) -> String {
        Notation::collect(|n| self.show(n))
    }

    fn group(&self, version: Version) -> Option<u64> {
        let in_v2 = match self {
            Self::RicRequest(_) => 0,
            Self::RicService(_) => 1,
            Self::E2Node(_) => 2,
            Self::Transport(_) => 3,
            Self::Protocol(_) => 4,
            Self::Misc(_) => 5,
        };
        match (version, in_v2) {
            (Version::V1_01, 2) => None,
            (Version::V1_01, 3..) => Some(in_v2 - 1),
            _ => Some(in_v2),
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

impl Per for Cause {
    fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
        let version = w.version();
        let not_here = EncodeError::NotInVersion { element: "Cause e2Node", version: version.name() };
        let group = self.group(version).ok_or(not_here)?;
        w.bit(false);
        w.constrained("Cause", group, 0, if version == Version::V1_01 { 4 } else { 5 })?;
        match self {
            Self::RicRequest(c) => c.encode(w),
            Self::RicService(c) => c.encode(w),
            Self::E2Node(c) => c.encode(w),
            Self::Transport(c) => c.encode(w),
            Self::Protocol(c) => c.encode(w),
            Self::Misc(c) => c.encode(w),
        }
    }

    fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
        let v1 = r.version() == Version::V1_01;
        let (_, group) = r.index(if v1 { 5 } else { 6 }, 0, true).map_err(|e| e.within("Cause"))?;
        match if v1 && group >= 2 { group + 1 } else { group } {
            0 => Per::decode(r).map(Self::RicRequest),
            1 => Per::decode(r).map(Self::RicService),
            2 => Per::decode(r).map(Self::E2Node),
            3 => Per::decode(r).map(Self::Transport),
            4 => Per::decode(r).map(Self::Protocol),
            _ => Per::decode(r).map(Self::Misc),
        }
    }

    fn show(&self, n: &mut Notation) {
        let (group, value) = match self {
            Self::RicRequest(c) => ("ricRequest", c.name()),
            Self::RicService(c) => ("ricService", c.name()),
            Self::E2Node(c) => ("e2Node", c.name()),
            Self::Transport(c) => ("transport", c.name()),
            Self::Protocol(c) => ("protocol", c.name()),
            Self::Misc(c) => ("misc", c.name()),
        };
        n.value(format_args!("{group} : {value}"));
    }
}

/// Defines an ENUMERATED whose values were renumbered between versions. Each value has its index in v1.01, v2.03 and
/// v3.01; `-` means that it does not exist, `+n` is extension addition n.
macro_rules! versioned_enum {
    ($( $(#[$m:meta])* $name:ident $asn:literal roots [$r1:literal $r2:literal $r3:literal] {
        $( $v:ident $vname:literal [$($ix:tt)+], $doc:literal ),+ $(,)?
    } )+) => { $(
        $(#[$m])* #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( #[doc = $doc] $v, )+ }

        impl $name {
            /// Position of each value per version: (is an addition, index).
            const PLACES: &'static [(Self, [Option<(bool, u64)>; 3])] =
                &[$( (Self::$v, versioned_enum!(@places [] $($ix)+)) ),+];

            /// Returns the ASN.1 identifier.
            pub fn name(self) -> &'static str {
                match self { $( Self::$v => $vname, )+ }
            }

            fn place(self, version: Version) -> Option<(bool, u64)> {
                Self::PLACES.iter().find(|(v, _)| *v == self).and_then(|(_, places)| places[version as usize])
            }
        }

        impl Per for $name {
            fn encode(&self, w: &mut Writer) -> Result<(), EncodeError> {
                let version = w.version();
                match self.place(version) {
                    Some((true, i)) => {
                        w.bit(true);
                        w.small(i);
                        Ok(())
                    }
                    Some((false, i)) => {
                        w.bit(false);
                        w.constrained($asn, i, 0, [$r1, $r2, $r3][version as usize] - 1)
                    }
                    None => Err(EncodeError::NotInVersion { element: self.name(), version: version.name() }),
                }
            }
            fn decode<S: Source>(r: &mut S) -> Result<Self, DecodeError> {
                let version = r.version();
                let places = Self::PLACES.iter().filter_map(|(v, places)| Some((*v, places[version as usize]?)));
                let additions = places.clone().filter(|(_, (addition, _))| *addition).count() as u64;
                let roots = [$r1, $r2, $r3][version as usize];
                let place = r.index(roots, additions, true).map_err(|e| e.within($asn))?;
                let value = places.clone().find(|(_, p)| *p == place).map(|(v, _)| v);
                value.ok_or_else(|| r.fault(DecodeFault::UnknownAlternative(place.1)).within($asn))
            }
            fn show(&self, n: &mut Notation) {
                n.text(self.name());
            }
        }
    )+ };
    (@places [$($done:tt)*]) => { [$($done)*] };
    (@places [$($done:tt)*] - $($rest:tt)*) => { versioned_enum!(@places [$($done)* None,] $($rest)*) };
    (@places [$($done:tt)*] + $i:literal $($rest:tt)*) => {
        versioned_enum!(@places [$($done)* Some((true, $i)),] $($rest)*)
    };
    (@places [$($done:tt)*] $i:literal $($rest:tt)*) => {
        versioned_enum!(@places [$($done)* Some((false, $i)),] $($rest)*)
    };
}
pub(super) use versioned_enum;

versioned_enum! {
    /// Causes related to a RIC request; `CauseRIC` in v1.01.
    CauseRicRequest "CauseRICrequest" roots [11 14 14] {
        RanFunctionIdInvalid "ran-function-id-invalid" [0 0 0], "The RAN function does not exist.",
        ActionNotSupported "action-not-supported" [1 1 1], "The action does not exist.",
        ExcessiveActions "excessive-actions" [2 2 2], "Too many actions.",
        DuplicateAction "duplicate-action" [3 3 3], "An action id occurs twice.",
        DuplicateEventTrigger "duplicate-event-trigger" [4 4 4], "The event trigger exists already.",
        FunctionResourceLimit "function-resource-limit" [5 5 5], "A resource limit of the RAN function is reached.",
        RequestIdUnknown "request-id-unknown" [6 6 6], "The request does not exist.",
        InconsistentActionSubsequentActionSequence "inconsistent-action-subsequent-action-sequence" [7 7 7],
            "Action and subsequent action contradict each other.",
        ControlMessageInvalid "control-message-invalid" [8 8 8], "The control message is invalid for the RAN function.",
        RicCallProcessIdInvalid "ric-call-process-id-invalid" [9 9 9], "The call process id is invalid for the RAN function.",
        ControlTimerExpired "control-timer-expired" [- 10 10], "The control took too long.",
        ControlFailedToExecute "control-failed-to-execute" [- 11 11], "Execution of the control failed.",
        SystemNotReady "system-not-ready" [- 12 12], "The RAN function is not ready.",
        Unspecified "unspecified" [10 13 13], "Unspecified.",
        RicSubscriptionEndTimeExpired "ric-subscription-end-time-expired" [- - +0], "The subscription's end time has passed.",
        RicSubscriptionEndTimeInvalid "ric-subscription-end-time-invalid" [- - +1], "The subscription's end time is invalid.",
        DuplicateRicRequestId "duplicate-ric-request-id" [- - +2], "The request id is in use.",
        EventTriggerNotSupported "eventTriggerNotSupported" [- - +3], "The event trigger is not supported.",
        RequestedInformationUnavailable "requested-information-unavailable" [- - +4], "The requested information is unavailable.",
        InvalidInformationRequest "invalid-information-request" [- - +5], "The query is invalid.",
    }
}

enumerated! {
    /// Causes related to RAN functions.
    CauseRicService "CauseRICservice" {
        RanFunctionNotSupported "ran-function-not-supported", "Not required by the RIC (`function-not-required` in v1.01).",
        ExcessiveFunctions "excessive-functions", "Too many functions.",
        RicResourceLimit "ric-resource-limit", "A resource limit of the RIC is reached.",
    }
    /// Causes related to the E2 node.
    CauseE2Node "CauseE2node" {
        ComponentUnknown "e2node-component-unknown", "The component does not exist.",
    }
    /// Causes related to the transport.
    CauseTransport "CauseTransport" {
        Unspecified "unspecified", "Unspecified.",
        TransportResourceUnavailable "transport-resource-unavailable", "No transport resource is available.",
    }
    /// Causes related to the protocol.
    CauseProtocol "CauseProtocol" {
        TransferSyntaxError "transfer-syntax-error", "The bytes are not valid PER.",
        AbstractSyntaxErrorReject "abstract-syntax-error-reject", "A critical element is missing or not comprehended.",
        AbstractSyntaxErrorIgnoreAndNotify "abstract-syntax-error-ignore-and-notify", "An element was not comprehended and was ignored.",
        MessageNotCompatibleWithReceiverState "message-not-compatible-with-receiver-state", "The message is not expected in this state.",
        SemanticError "semantic-error", "The values contradict each other.",
        FalselyConstructedMessage "abstract-syntax-error-falsely-constructed-message", "Elements are repeated or out of order.",
        Unspecified "unspecified", "Unspecified.",
    }
    /// Other causes.
    CauseMisc "CauseMisc" {
        ControlProcessingOverload "control-processing-overload", "Overload.",
        HardwareFailure "hardware-failure", "Hardware failure.",
        OmIntervention "om-intervention", "Intervention of an operator.",
        Unspecified "unspecified", "Unspecified.",
    }
}
