//! What the control models of this project (SLICE, TRAFFIC) share: why a command was refused.

use crate::per::{Own, Str};
use crate::{enumerated, sequence};

use super::octets::octets;
use super::per::Aligned;

/// Characters of a refusal's sentence, at most.
pub const DETAIL_MAX: usize = 200;

enumerated! {
    /// Why a command was refused, for programs.
    Reason "Reason" {
        Invalid "invalid", "A number outside its bounds, or parameters that contradict each other or the algorithm.",
        UnknownSlice "unknownSlice", "There is no such slice.",
        UnknownUe "unknownUe", "There is no such UE, or the controller may not see it.",
        UnknownBearer "unknownBearer", "There is no such bearer, or the controller may not see its UE.",
        UnknownQueue "unknownQueue", "There is no such queue.",
        UnknownFilter "unknownFilter", "There is no such filter.",
        Exists "exists", "It exists already: it can be modified, not added.",
        NotOwner "notOwner", "It belongs to another controller.",
        Overcommitted "overcommitted", "More than the whole would be reserved.",
        InUse "inUse", "Something else still uses it.",
        TooMany "tooMany", "There are too many of the kind.",
        NotSupported "notSupported", "The base station cannot do this.";
        Untrusted "untrusted", "Nobody whom the base station trusts has signed it.",
    }
}

sequence! {
    /// The outcome of a command that was refused; nothing has changed. It travels in the RIC control failure. One that
    /// was carried out has no outcome.
    #[derive(Eq, Hash)]
    Refusal "Refusal" {
        reason: Reason [Own] "reason", "For programs.",
        detail: String [Str<0, { DETAIL_MAX as u64 }>] "detail", "For people: at most [`DETAIL_MAX`] characters of ASCII.",
    }
}
octets! { Refusal: Per => Aligned; }

impl Refusal {
    /// A refusal with a sentence, which is cut at [`DETAIL_MAX`]; what is not ASCII in it becomes `?`.
    pub fn new(reason: Reason, detail: impl AsRef<str>) -> Self {
        let ascii = |c: char| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' };
        Self { reason, detail: detail.as_ref().chars().take(DETAIL_MAX).map(ascii).collect() }
    }
}
