//! Criticality and its diagnostics (clauses 9.2.1, 9.2.2 and 10).
use crate::per::{Int, List, Notation, Opt, Per, Source, Writer};
use crate::{enumerated, sequence};

/// What a receiver does with an element that it does not comprehend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Criticality {
    /// Refuse the procedure.
    Reject,
    /// Skip the element.
    Ignore,
    /// Skip the element and report it.
    Notify,
}

impl Criticality {
    const ALL: [Self; 3] = [Self::Reject, Self::Ignore, Self::Notify];

    /// The ASN.1 identifier.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Ignore => "ignore",
            Self::Notify => "notify",
        }
    }

    pub(crate) fn from_index(i: u8) -> Self {
        Self::ALL.get(usize::from(i)).copied().unwrap_or(Self::Reject)
    }
}

/// A root-only ENUMERATED: no extension bit.
macro_rules! closed_enum {
    ($name:ident $values:expr) => {
        impl Per for $name {
            fn encode(&self, w: &mut Writer) -> Result<(), crate::per::EncodeError> {
                w.constrained(stringify!($name), *self as u64, 0, $values.len() as u64 - 1)
            }
            fn decode<S: Source>(r: &mut S) -> Result<Self, crate::per::DecodeError> {
                let (_, i) = r.index($values.len() as u64, 0, false)?;
                Ok($values[i as usize])
            }
            fn show(&self, n: &mut Notation) {
                n.text(self.name());
            }
        }
    };
}
closed_enum!(Criticality Criticality::ALL);

/// Which kind of message an error was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TriggeringMessage {
    /// A request, or a message without an answer.
    Initiating,
    /// A positive answer.
    Successful,
    /// A negative answer.
    Unsuccessful,
}

impl TriggeringMessage {
    const ALL: [Self; 3] = [Self::Initiating, Self::Successful, Self::Unsuccessful];

    /// The ASN.1 identifier, typo of the standard included.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initiating => "initiating-message",
            Self::Successful => "successful-outcome",
            Self::Unsuccessful => "unsuccessfull-outcome",
        }
    }
}
closed_enum!(TriggeringMessage TriggeringMessage::ALL);

enumerated! {
    /// What is wrong with an information element.
    TypeOfError "TypeOfError" {
        NotUnderstood "not-understood", "Not comprehended, or misplaced.",
        Missing "missing", "Mandatory but missing.",
    }
}

sequence! {
    /// Identifies a subscription or control of a requestor (clause 9.2.7).
    #[derive(Copy, Eq, Hash, PartialOrd, Ord, Default)]
    RicRequestId "RICrequestID" {
        requestor: u16 [Int<0, 65535>] "ricRequestorID", "Requestor (xApp), numbered by the RIC.",
        instance: u16 [Int<0, 65535>] "ricInstanceID", "Sequence number of the requestor.",
    }
    /// One element that a receiver objects to.
    #[derive(Copy, Eq)]
    CriticalityDiagnosticsIe "CriticalityDiagnostics-IE-Item" {
        criticality: Criticality [crate::per::Own] "iECriticality", "Criticality of the element.",
        id: u16 [Int<0, 65535>] "iE-ID", "Identifier of the element (see [`ids`](super::ids)).",
        error: TypeOfError [crate::per::Own] "typeOfError", "Type of the error.",
    }
    /// What a receiver objects to (clause 9.2.2).
    #[derive(Eq, Default)]
    CriticalityDiagnostics "CriticalityDiagnostics" {
        procedure_code: Option<u8> [Opt<Int<0, 255>>] "procedureCode", "Procedure of the offending message.",
        triggering_message: Option<TriggeringMessage> [Opt] "triggeringMessage", "Type of the offending message.",
        procedure_criticality: Option<Criticality> [Opt] "procedureCriticality", "Criticality of the procedure.",
        request_id: Option<RicRequestId> [Opt] "ricRequestorID", "Request id of the offending message.",
        ies: Option<Vec<CriticalityDiagnosticsIe>> [Opt<List<1, 256>>] "iEsCriticalityDiagnostics", "Offending elements, 1 to 256.",
    }
}

/// Longest list of offending elements in one diagnostics.
pub const MAX_DIAGNOSTICS: usize = 256;
