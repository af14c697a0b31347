//! Helpers for the checks of agents and RICs: expected error responses, and invalid inputs for both.
use std::time::Instant;

use ranlab_e2_codec::e2ap::*;

use super::link::{Link, PeerMessage};
use ranlab_lab::check::{CaseFailure, Outcome, fails};

/// Header of a frame of 4 GiB (`docs/decisions/0005-length-prefix.md`).
pub(super) const OVERSIZED: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0];

/// Returns the cause if a message rejects a request. The inner value is `None` if the rejection has no cause.
fn refusal(message: &Message) -> Option<Option<Cause>> {
    Some(match message {
        Message::ErrorIndication(m) => m.cause,
        Message::E2SetupFailure(m) => Some(m.cause),
        Message::RicSubscriptionFailure(m) => {
            m.cause.or_else(|| m.not_admitted.as_ref()?.first().map(|action| action.cause))
        }
        Message::RicSubscriptionDeleteFailure(m) => Some(m.cause),
        Message::RicControlFailure(m) => Some(m.cause),
        Message::RicServiceUpdateFailure(m) => m.cause,
        Message::E2NodeConfigurationUpdateFailure(m) => Some(m.cause),
        Message::E2ConnectionUpdateFailure(m) => m.cause,
        Message::RicQueryFailure(m) => Some(m.cause),
        _ => return None,
    })
}

/// Expects an error indication or a failure with one of these causes, as the response to the request `what`.
pub(super) fn objected(link: &mut Link, what: &str, causes: &[Cause]) -> Outcome {
    let awaited = format!("an error response to {what}");
    let cause = link.expect(&awaited, |_, message| refusal(&message))?;
    match cause {
        Some(cause) if causes.contains(&cause) => Ok(()),
        Some(cause) => {
            fails(format!("the error response to {what} has the cause {cause} instead of {}", names(causes)))
        }
        None => fails(format!("the error response to {what} has no cause; expected {}", names(causes))),
    }
}

fn names(causes: &[Cause]) -> String {
    causes.iter().map(Cause::name).collect::<Vec<_>>().join(" or ")
}

/// Expects no error and no disconnect until the timeout, after the message `what` was sent.
pub(super) fn silently(link: &mut Link, what: &str) -> Outcome {
    let until = Instant::now() + link.patience;
    while let Some(input) = link.receive(until) {
        match input {
            PeerMessage::Said(decoded) => {
                if let Some(cause) = refusal(&decoded.message) {
                    let cause = cause.map_or_else(|| "none".to_owned(), |cause| cause.name());
                    let name = decoded.message.name();
                    return fails(format!(
                        "expected no response to {what}; received {name} (cause: {cause})"
                    ));
                }
            }
            PeerMessage::Odd(rejection) => {
                return fails(format!("after {what}: received bytes that are not a message: {rejection}"));
            }
            PeerMessage::End(why) => return fails(format!("after {what}: {why}")),
        }
    }
    Ok(())
}

/// Returns a transaction id, if the E2AP version of the link has one.
pub(super) fn transaction(link: &Link, number: u16) -> Option<TransactionId> {
    (link.version != Version::V1_01).then_some(number)
}

/// Checks that the response `what` has the transaction id of its request.
pub(super) fn same_run(link: &Link, what: &str, number: u16, response_id: Option<TransactionId>) -> Outcome {
    match response_id {
        response_id if response_id == transaction(link, number) => Ok(()),
        response_id => fails(format!("{what} has transaction id {response_id:?} instead of {number}")),
    }
}

/// Sends a request with one invalid element.
pub(super) fn spoiled(
    link: &Link,
    message: &Message,
    spoil: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<u8>, CaseFailure> {
    let pdu = encode(message, link.version).map_err(|error| CaseFailure::Fails(error.to_string()))?;
    spoil(&pdu).ok_or(CaseFailure::Skipped("the message has no such element in this version"))
}

pub(super) const TRANSFER_SYNTAX: Cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);
pub(super) const NOT_UNDERSTOOD: Cause = Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject);
pub(super) const FALSELY_CONSTRUCTED: Cause = Cause::Protocol(CauseProtocol::FalselyConstructedMessage);
pub(super) const WRONG_STATE: Cause = Cause::Protocol(CauseProtocol::MessageNotCompatibleWithReceiverState);
pub(super) const NO_FUNCTION: Cause = Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid);
pub(super) const NO_REQUEST: Cause = Cause::RicRequest(CauseRicRequest::RequestIdUnknown);

/// Generates truncated, modified and random messages from a seed.
pub(super) fn hostile(whole: &[u8], count: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = ranlab_machine::Random::stream(1, 0);
    let whole = whole.to_vec();
    (0..count).map(move |n| {
        let mut draw = |below: usize| random.below(below.max(1) as u64) as usize;
        let mut octets = whole[..1 + draw(whole.len() - 1)].to_vec();
        for _ in 0..n % 8 {
            let at = draw(octets.len());
            octets[at] = draw(256) as u8;
        }
        octets
    })
}
