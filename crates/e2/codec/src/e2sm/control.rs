//! Common part of ranlab's control models (SLICE, TRAFFIC): reasons for refused commands.

use crate::per::{SelfCoded, Str};
use crate::{enumerated, sequence};

use super::octets::octets;
use super::per::Aligned;

/// Maximum length of a refusal's explanation, in characters.
pub const DETAIL_MAX: usize = 200;

enumerated! {
    /// Reason why a command was refused, for programs.
    Reason "Reason" {
        Invalid "invalid", "A number is out of range, or parameters contradict each other or the algorithm.",
        UnknownSlice "unknownSlice", "The slice does not exist.",
        UnknownUe "unknownUe", "The UE does not exist or is not visible to the controller.",
        UnknownBearer "unknownBearer", "The bearer does not exist, or the UE is not visible to the controller.",
        UnknownQueue "unknownQueue", "The queue does not exist.",
        UnknownFilter "unknownFilter", "The filter does not exist.",
        Exists "exists", "The object exists already: it can be modified, not added.",
        NotOwner "notOwner", "The object belongs to another controller.",
        Overcommitted "overcommitted", "The reservations would exceed the available resources.",
        InUse "inUse", "The object is still in use.",
        TooMany "tooMany", "The limit of this type is reached.",
        NotSupported "notSupported", "The base station does not support this.";
        Untrusted "untrusted", "The signature is not from a signer that the base station trusts.",
    }
}

sequence! {
    /// Outcome of a refused command, which has changed nothing. It is sent in the RIC control failure. An executed
    /// command has no outcome.
    #[derive(Eq, Hash)]
    Refusal "Refusal" {
        reason: Reason [SelfCoded] "reason", "Reason, for programs.",
        detail: String [Str<0, { DETAIL_MAX as u64 }>] "detail", "Explanation, at most [`DETAIL_MAX`] ASCII characters.",
    }
}
octets! { Refusal: Per => Aligned; }

impl Refusal {
    /// Creates a refusal with an explanation, which is truncated at [`DETAIL_MAX`]; non-ASCII characters become `?`.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        let ascii = |c: char| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' };
        Self { reason, detail: detail.as_ref().chars().take(DETAIL_MAX).map(ascii).collect() }
    }
}
