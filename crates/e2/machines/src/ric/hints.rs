//! Hints: one sentence about the probable cause of a common problem, for logs, events and northbound interfaces.
//! Hints do not affect the RIC's behaviour.
use super::ListenerProtocol;
use super::links::Links;
use crate::Time;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{
    Cause, CauseRicRequest, GlobalE2NodeId, RanFunctionId, RejectReason, Rejection, Version,
};
use ranlab_e2_codec::e2sm::{self, Encoding};
use ranlab_e2_codec::e42;
use ranlab_e2_codec::per::DecodeFault;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of hints; beyond it, the oldest one is dropped.
const HINTS_MAX: usize = 64;
/// Number of report periods without a report after which a subscription counts as silent.
const SILENT_PERIODS: u32 = 3;
/// Minimum time without a report before a subscription counts as silent. It allows for the round-trip time if periods are short.
const SILENT_MIN: Duration = Duration::from_secs(1);

/// Probable cause of a problem with a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Remote address.
    pub peer: Arc<str>,
    /// Node, if its setup is complete.
    pub node: Option<GlobalE2NodeId>,
    /// RAN function, if the hint concerns one.
    pub function: Option<RanFunctionId>,
    /// Observation and probable cause, in one sentence.
    pub sentence: &'static str,
    /// Time of the last occurrence.
    pub last: Time,
    /// Number of occurrences.
    pub times: u64,
}

/// The latest hints. Each one is listed once, with its number of occurrences.
#[derive(Debug, Default)]
pub(super) struct Hints(VecDeque<Hint>);

impl Hints {
    /// Records a hint. Returns whether it is new.
    fn add(&mut self, hint: Hint) -> bool {
        let same = |known: &&mut Hint| {
            host(&known.peer) == host(&hint.peer)
                && (known.node, known.function, known.sentence) == (hint.node, hint.function, hint.sentence)
        };
        if let Some(known) = self.0.iter_mut().find(same) {
            (known.peer, known.last, known.times) = (hint.peer, hint.last, known.times + 1);
            return false;
        }
        if self.0.len() >= HINTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(hint);
        true
    }

    /// Removes the hints about a silent subscription, because a report has arrived.
    pub(super) fn clear_silence(&mut self, node: &GlobalE2NodeId, function: RanFunctionId) {
        self.0.retain(|hint| {
            (hint.node.as_ref(), hint.function) != (Some(node), Some(function))
                || !SILENT.contains(&hint.sentence)
        });
    }

    /// Returns all hints, the oldest first.
    pub(super) fn all(&self) -> Vec<Hint> {
        self.0.iter().cloned().collect()
    }
}

/// Returns the host of a peer, because its port differs after a reconnect.
fn host(peer: &str) -> &str {
    peer.rsplit_once(':').map_or(peer, |(host, _)| host)
}

/// Hint for an E2 setup request at the E42 listener.
const SETUP_AT_E42: &str = "a base station sent its setup request to the listener for xApps: base stations connect to the \
     address of --e2, port 36421 by default (36422 is the E2 port of O-RAN SC's E2T, but the port for xApps at FlexRIC and at this RIC)";
const SETUP_AT_E2: &str = "an xApp sent its setup request to the listener for base stations: xApps join at the address of \
     --e42, port 36422 by default";
const NO_SETUP: &str = "the first message is no E2 setup: is this the address of --e2, and does the peer send E2AP (not HTTP, \
     X2AP or NGAP)? A base station that did not notice a restart of the RIC has to reconnect";
const OTHER_VERSION: &str = "the peer is built for another version of E2AP or of a service model than its messages indicate: \
     build the base station and the RIC for the same version (v2.03 and v3.01 require TransactionID and \
     E2nodeComponentConfigAddition; v1.01 has neither)";
const CUT: &str = "the message is shorter than its lengths indicate: a fixed buffer of the peer truncated it (e2sim's buffer has \
     10,000 octets, enough for about ten UEs), or the peer's encoder wrote a wrong length";
const MALFORMED: &str = "the message is not valid aligned PER: check whether a later release of the peer fixes its encoder; \
     the message was dropped; nothing else is affected";
const SAME_ID: &str = "two base stations have the same id: configure different ids (gnb_id, ran_node_name); a base station that \
     has just restarted is accepted after its old connection has been silent for 10 s";
const FULL: &str = "the maximum number of base stations is connected: --max-nodes changes this limit";
const NOT_LISTED: &str = "The RIC has a list of base stations (--admit): add this base station by its network or name; an entry \
    with @NAME requires a connection over tls:// with a certificate for that name.";
const SETS_UP_AGAIN: &str = "the peer repeats its setup: it does not accept the RIC's response, most likely because it is built for \
     another version of E2AP; the peer's log contains the reason";
const NO_SUCH_FUNCTION: &str = "the base station has no RAN function with this id: each base station chooses its ids \
     (KPM is 2 with some and 147 with others), so find the function by its OID";
const KPM_REFUSED: &str = "the base station refuses this KPM subscription: it may not support the style, a measurement, the \
     label or the period; style 5 requires two UE ids or more, styles 3 and 4 a condition that the base station supports; OCUDU and \
     srsRAN send the cause misc: control-processing-overload for all of these, and support only the label noLabel";
const SILENT_KPM: &str = "the subscription was admitted and is silent: KPM reports require an attached UE that matches the \
     condition (OpenAirInterface: its S-NSSAI) or is listed in the action (styles 2 and 5), and a value (srsRAN and OCUDU send no report \
     before a granularity period has passed, and no report above 9,100 bytes: select fewer measurements or UEs); the granularity \
     period must divide the report period";
const SILENT_OTHER: &str = "the subscription was admitted and is silent: is a UE attached, and does the base station report at \
     this period?";
const SILENT: [&str; 2] = [SILENT_KPM, SILENT_OTHER];

fn is_kpm(oid: Option<&str>) -> bool {
    let model = oid.and_then(e2sm::by_oid);
    model.is_some_and(|model| model.oid() == e2sm::kpm::OID)
}

/// Returns a hint for the first message of a connection if it is not a setup request of the listener's protocol.
pub(super) fn of_first(side: ListenerProtocol, pdu: &[u8]) -> Option<&'static str> {
    match side {
        ListenerProtocol::E42 if Version::of_setup(pdu).is_some() => Some(SETUP_AT_E42),
        ListenerProtocol::E2 if matches!(pdu, [0x00, 0x01, ..]) => None,
        ListenerProtocol::E2 if e42::numbering_of(pdu).is_some() => Some(SETUP_AT_E2),
        ListenerProtocol::E2 => Some(NO_SETUP),
        _ => None,
    }
}

/// Returns a hint for a message that could not be decoded.
pub(super) const fn of_rejection(rejection: &Rejection) -> &'static str {
    let RejectReason::Syntax(error) = &rejection.reason else { return OTHER_VERSION };
    match error.fault {
        DecodeFault::Missing(_)
        | DecodeFault::UnknownIe(_)
        | DecodeFault::UnknownAlternative(_)
        | DecodeFault::OutOfRange { .. } => OTHER_VERSION,
        DecodeFault::Truncated | DecodeFault::InvalidLength => CUT,
        _ => MALFORMED,
    }
}

/// Reason why a setup was refused.
#[derive(Debug, Clone, Copy)]
pub(super) enum SetupRefused {
    SameId,
    Full,
    TooOften,
    NotListed,
}

impl SetupRefused {
    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::SameId => SAME_ID,
            Self::Full => FULL,
            Self::TooOften => SETS_UP_AGAIN,
            Self::NotListed => NOT_LISTED,
        }
    }
}

/// Returns a hint for a subscription that the RIC or the base station refused.
pub fn of_refused(oid: Option<&str>, cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid) => Some(NO_SUCH_FUNCTION),
        _ if is_kpm(oid) => Some(KPM_REFUSED),
        _ => None,
    }
}

/// Returns a hint for a subscription without reports.
pub(super) fn of_silence(oid: Option<&str>) -> &'static str {
    if is_kpm(oid) { SILENT_KPM } else { SILENT_OTHER }
}

/// Returns the report period of an event trigger, if its service model is known and reports periodically.
pub(super) fn period(oid: Option<&str>, trigger: &Bytes) -> Option<Duration> {
    let model = e2sm::by_oid(oid?)?;
    let encoding: Encoding = model.encoding();
    model.period(encoding, trigger).ok().flatten()
}

/// Returns the time without reports after which a subscription with this period counts as silent.
pub(super) fn patience(period: Duration) -> Duration {
    period.saturating_mul(SILENT_PERIODS).max(SILENT_MIN)
}

impl Links {
    /// Records a hint and emits an event if it is new.
    pub(super) fn hint(
        &mut self,
        peer: Arc<str>,
        node: Option<GlobalE2NodeId>,
        function: Option<RanFunctionId>,
        sentence: &'static str,
    ) {
        let hint = Hint { peer, node, function, sentence, last: self.now(), times: 1 };
        if self.hints.add(hint.clone()) {
            self.event(super::RicEvent::Hint(hint));
        }
    }
}
