//! Detects UEs that KPM subscriptions name (report styles 2 and 5) but base stations do not report.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_sdk::e2::xapp::SubscriptionHandle;
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use ranlab_sdk::wire::e2sm::common::UeId;
use ranlab_sdk::wire::e2sm::kpm::{ActionDefinition, ActionFormat, IndicationMessage, MessageFormat};
use ranlab_sdk::wire::e2sm::per::decode_either;

/// Number of report periods without a report of a UE after which the UE counts as missing.
const PERIODS: u32 = 3;
/// Minimum time without a report of a UE before the UE counts as missing.
const PATIENCE_MIN: Duration = Duration::from_secs(1);

/// UEs that subscriptions name and that no report has contained yet.
#[derive(Debug)]
pub(super) struct MissingUes {
    patience: Duration,
    subscriptions: BTreeMap<SubscriptionHandle, Named>,
}

/// UEs that a subscription names and that were not reported yet.
#[derive(Debug)]
struct Named {
    node: GlobalE2NodeId,
    ues: Vec<UeId>,
    since: Instant,
}

impl MissingUes {
    /// Creates a watch for subscriptions with this report period.
    pub(super) fn new(period: Duration) -> Self {
        let patience = period.saturating_mul(PERIODS).max(PATIENCE_MIN);
        Self { patience, subscriptions: BTreeMap::new() }
    }

    /// Watches an admitted subscription if its action definition names UEs.
    pub(super) fn on_subscribed(
        &mut self,
        now: Instant,
        of: (SubscriptionHandle, GlobalE2NodeId),
        definition: Option<&Bytes>,
    ) {
        let definition = definition.and_then(|it| decode_either::<ActionDefinition>(it).ok());
        let ues = match definition.map(|(it, _)| it.format) {
            Some(ActionFormat::Ue(it)) => vec![it.ue],
            Some(ActionFormat::Ues(it)) => it.ues,
            _ => return,
        };
        self.subscriptions.insert(of.0, Named { node: of.1, ues, since: now });
    }

    /// Removes the UEs of a report from the missing UEs. A report about a single UE does not contain the UE's name, so
    /// it removes all UEs of its subscription.
    pub(super) fn on_report(&mut self, handle: SubscriptionHandle, message: &Bytes) {
        let Some(named) = self.subscriptions.get_mut(&handle) else { return };
        match decode_either::<IndicationMessage>(message).map(|(it, _)| it.format) {
            Ok(MessageFormat::Ues(reports)) => {
                named.ues.retain(|ue| !reports.iter().any(|report| report.ue.number() == ue.number()));
            }
            Ok(MessageFormat::Node(_)) => named.ues.clear(),
            _ => return,
        }
        if named.ues.is_empty() {
            self.subscriptions.remove(&handle);
        }
    }

    /// Removes a subscription that has ended.
    pub(super) fn on_end(&mut self, handle: SubscriptionHandle) {
        self.subscriptions.remove(&handle);
    }

    /// Returns a sentence for each subscription with overdue UEs. Each subscription is reported once.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<String> {
        let patience = self.patience;
        let is_overdue = |named: &Named| now.saturating_duration_since(named.since) >= patience;
        let overdue: Vec<_> = self.subscriptions.extract_if(.., |_, named| is_overdue(named)).collect();
        overdue.into_iter().map(|(_, named)| named.sentence()).collect()
    }
}

impl Named {
    fn sentence(&self) -> String {
        let ues: Vec<_> = self.ues.iter().map(|ue| ue.ids().to_string()).collect();
        format!(
            "{}: KPM reports do not contain the UE {}, which is not attached or has other ids. Reports of style 4 list the ids of all UEs (ue_ids).",
            self.node,
            ues.join(", the UE ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_sdk::wire::e2ap::Plmn;
    use ranlab_sdk::wire::e2sm::kpm::{
        Measured, Measurements, Record, Report, UeMeasurements, UeReport, UesMeasurements,
    };
    use ranlab_sdk::wire::e2sm::{Encoding, Octets};

    const PERIOD: Duration = Duration::from_secs(1);

    fn node() -> GlobalE2NodeId {
        GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 1, 32)
    }

    fn octets(format: ActionFormat) -> Bytes {
        ActionDefinition::from(format).to_octets(Encoding::Per).unwrap()
    }

    fn listed(numbers: &[u32]) -> Bytes {
        let measurements = Measurements::plain(["DRB.UEThpDl"], 1_000);
        octets(ActionFormat::Ues(UesMeasurements {
            ues: numbers.iter().map(|number| UeId::du(*number)).collect(),
            measurements,
        }))
    }

    fn report(numbers: &[u32]) -> Bytes {
        let record = || Record { values: vec![Measured::Integer(1)], incomplete: false };
        let report = || Report { records: vec![record()], infos: None, granularity_ms: None };
        let ue = |number: &u32| UeReport { ue: UeId::du(*number), report: report() };
        let message = match numbers {
            [] => MessageFormat::Node(report()),
            numbers => MessageFormat::Ues(numbers.iter().map(ue).collect()),
        };
        IndicationMessage::from(message).to_octets(Encoding::Per).unwrap()
    }

    #[test]
    fn absent_ues_are_reported_once_after_three_periods() {
        let begin = Instant::now();
        let [some, silent, one, all] = [1, 2, 3, 4].map(SubscriptionHandle);
        let mut missing = MissingUes::new(PERIOD);
        let measurements = Measurements::plain(["DRB.UEThpDl"], 1_000);
        let of_one = octets(ActionFormat::Ue(UeMeasurements { ue: UeId::du(1), measurements }));
        for (handle, definition) in
            [(some, listed(&[1, 98, 99])), (silent, listed(&[7, 8])), (one, of_one), (all, Bytes::new())]
        {
            missing.on_subscribed(begin, (handle, node()), Some(&definition));
        }
        missing.on_report(some, &report(&[1]));
        missing.on_report(one, &report(&[]));
        assert_eq!(missing.overdue(begin + 3 * PERIOD - Duration::from_millis(1)), Vec::<String>::new());
        let sentences = missing.overdue(begin + 3 * PERIOD);
        let [first, second] = &sentences[..] else { panic!("{sentences:?}") };
        assert!(first.contains("505.01 1: ") && first.contains("f1ap=98, the UE f1ap=99,"), "{first}");
        assert!(second.contains("f1ap=7, the UE f1ap=8,"), "{second}");
        assert_eq!(missing.overdue(begin + 9 * PERIOD), Vec::<String>::new());
    }

    #[test]
    fn ended_subscription_is_not_overdue() {
        let begin = Instant::now();
        let mut missing = MissingUes::new(PERIOD);
        missing.on_subscribed(begin, (SubscriptionHandle(1), node()), Some(&listed(&[1, 2])));
        missing.on_end(SubscriptionHandle(1));
        assert_eq!(missing.overdue(begin + 9 * PERIOD), Vec::<String>::new());
    }
}
