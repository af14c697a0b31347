//! Criticality and its diagnostics (clauses 9.2.1, 9.2.2 and 10).
use crate::per::{Int, List, Notation, Opt, Per, Source, Writer};
use crate::{enumerated, sequence};

/// Handling of an element that the receiver does not comprehend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Criticality {
    /// Refuse the procedure.
    Reject,
    /// Ignore the element.
    Ignore,
    /// Ignore the element and report it.
    Notify,
}

impl Criticality {
    const ALL: [Self; 3] = [Self::Reject, Self::Ignore, Self::Notify];

    /// Returns the ASN.1 identifier.
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

/// Defines an ENUMERATED without an extension mark.
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

/// Message type in which an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TriggeringMessage {
    /// A request, or a message without a response.
    Initiating,
    /// A successful outcome.
    Successful,
    /// An unsuccessful outcome.
    Unsuccessful,
}

impl TriggeringMessage {
    const ALL: [Self; 3] = [Self::Initiating, Self::Successful, Self::Unsuccessful];

    /// Returns the ASN.1 identifier, including the typo of the standard.
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
    /// Type of the error in an information element.
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
    /// One element with an error.
    #[derive(Copy, Eq)]
    CriticalityDiagnosticsIe "CriticalityDiagnostics-IE-Item" {
        criticality: Criticality [crate::per::SelfCoded] "iECriticality", "Criticality of the element.",
        id: u16 [Int<0, 65535>] "iE-ID", "Identifier of the element (see [`ids`](super::ids)).",
        error: TypeOfError [crate::per::SelfCoded] "typeOfError", "Type of the error.",
    }
    /// Errors that a receiver found in a message (clause 9.2.2).
    #[derive(Eq, Default)]
    CriticalityDiagnostics "CriticalityDiagnostics" {
        procedure_code: Option<u8> [Opt<Int<0, 255>>] "procedureCode", "Procedure of the offending message.",
        triggering_message: Option<TriggeringMessage> [Opt] "triggeringMessage", "Type of the offending message.",
        procedure_criticality: Option<Criticality> [Opt] "procedureCriticality", "Criticality of the procedure.",
        request_id: Option<RicRequestId> [Opt] "ricRequestorID", "Request id of the offending message.",
        ies: Option<Vec<CriticalityDiagnosticsIe>> [Opt<List<1, 256>>] "iEsCriticalityDiagnostics", "Offending elements, 1 to 256.",
    }
}

/// Maximum number of elements in one diagnostics.
pub const MAX_DIAGNOSTICS: usize = 256;
