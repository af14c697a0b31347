//! Maps causes to causes that the E2AP version in use defines.
use ranlab_e2_codec::e2ap::{Cause, CauseMisc, CauseRicRequest as C, Version};

/// Returns `cause`, or the closest cause that `version` defines.
pub(super) fn fit(cause: Cause, version: Version) -> Cause {
    match cause {
        Cause::RicRequest(c) => Cause::RicRequest(match c {
            C::ControlTimerExpired | C::ControlFailedToExecute | C::SystemNotReady
                if version < Version::V2_03 =>
            {
                C::Unspecified
            }
            C::EventTriggerNotSupported if version < Version::V3_01 => C::ActionNotSupported,
            C::RicSubscriptionEndTimeExpired
            | C::RicSubscriptionEndTimeInvalid
            | C::DuplicateRicRequestId
            | C::RequestedInformationUnavailable
            | C::InvalidInformationRequest
                if version < Version::V3_01 =>
            {
                C::Unspecified
            }
            c => c,
        }),
        Cause::E2Node(_) if version < Version::V2_03 => Cause::Misc(CauseMisc::Unspecified),
        cause => cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2ap::{ErrorIndication, Message, encode};

    #[test]
    fn every_cause_is_converted_for_every_version() {
        for version in Version::ALL {
            for seed in 0..2_000 {
                let Some(Message::ErrorIndication(ErrorIndication { cause: Some(cause), .. })) =
                    Message::random("ErrorIndication", seed, Version::V3_01)
                else {
                    continue;
                };
                let message = Message::ErrorIndication(ErrorIndication {
                    transaction_id: None,
                    request_id: None,
                    function_id: None,
                    cause: Some(fit(cause, version)),
                    diagnostics: None,
                });
                assert!(encode(&message, version).is_ok(), "{cause} in {version}");
            }
        }
    }
}
