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
        /// A number outside its bounds, or parameters that contradict each other or the algorithm.
        Invalid "invalid",
        /// There is no such slice.
        UnknownSlice "unknownSlice",
        /// There is no such UE, or the controller may not see it.
        UnknownUe "unknownUe",
        /// There is no such bearer, or the controller may not see its UE.
        UnknownBearer "unknownBearer",
        /// There is no such queue.
        UnknownQueue "unknownQueue",
        /// There is no such filter.
        UnknownFilter "unknownFilter",
        /// It exists already: it can be modified, not added.
        Exists "exists",
        /// It belongs to another controller.
        NotOwner "notOwner",
        /// More than the whole would be reserved.
        Overcommitted "overcommitted",
        /// Something else still uses it.
        InUse "inUse",
        /// There are too many of the kind.
        TooMany "tooMany",
        /// The base station cannot do this.
        NotSupported "notSupported",
    }
}

sequence! {
    /// The outcome of a command that was refused; nothing has changed. It travels in the RIC control failure. One that
    /// was carried out has no outcome.
    #[derive(Eq, Hash)]
    Refusal "Refusal" {
        /// For programs.
        reason: Reason [Own] "reason",
        /// For people: at most [`DETAIL_MAX`] characters of ASCII.
        detail: String [Str<0, { DETAIL_MAX as u64 }>] "detail",
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
