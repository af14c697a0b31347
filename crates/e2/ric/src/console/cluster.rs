//! Northbound view of a cluster of RICs: members, base station claims, and draining.
use ranlab_e2::Time;
use ranlab_e2::ric::Ric;
use ranlab_e2::ric::directory::{Claim, Directory, DirectoryCounters, RicSeen};
use serde_json::{Value as Json, json};

/// Maximum number of claims in a response; `more` reports whether further ones follow.
pub const CLAIMS_MAX: usize = 10_000;

/// Reason why a RIC cannot be drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotDrained {
    /// The RIC is not a member of a cluster.
    #[error("this RIC is not a member of a cluster (--bus)")]
    Alone,
    /// No other RIC accepts base stations.
    #[error("no other RIC that accepts base stations has reported recently")]
    NoOther,
}

/// Returns the members of the cluster and the base station claims with keys after `after`, in key order;
/// `None` if this RIC is not in a cluster.
pub fn cluster(ric: &Ric, now: Time, after: &str) -> Option<Json> {
    let directory = ric.directory()?;
    let mut claims = directory.claims().filter(|(key, _)| *key > after);
    let claimed: Vec<Json> = claims.by_ref().take(CLAIMS_MAX).map(|it| claim(directory, it)).collect();
    let rics = directory.rics().map(|(name, seen)| other(name, seen, now));
    Some(json!({
        "name": directory.name(),
        "lawful": directory.is_lawful(now),
        "draining": directory.is_draining(),
        "held": directory.held().count(),
        "rics": rics.collect::<Vec<_>>(),
        "claims": claimed,
        "more": claims.next().is_some(),
        "counters": counted(directory.counters()),
    }))
}

/// Starts draining. The base stations are handed over one by one, and this RIC accepts no further base stations. A
/// repeated call continues the handover.
///
/// # Errors
/// Returns [`NotDrained`], without any change, if no other RIC would take the base stations.
pub fn drain(ric: &mut Ric, now: Time) -> Result<(), NotDrained> {
    let directory = ric.directory().ok_or(NotDrained::Alone)?;
    if !directory.is_draining() && !directory.has_others() {
        return Err(NotDrained::NoOther);
    }
    ric.drain(now);
    Ok(())
}

fn claim(directory: &Directory, (key, claim): (&str, &Claim)) -> Json {
    let here = &*claim.ric == directory.name();
    json!({ "key": key, "ric": &*claim.ric, "here": here, "epoch": claim.epoch })
}

fn other(name: &str, seen: &RicSeen, now: Time) -> Json {
    let it = &seen.presence;
    json!({
        "name": name,
        "e2": it.e2,
        "e42": it.e42,
        "over": it.over,
        "draining": it.draining,
        "heard_ms": u64::try_from(now.since(seen.at).as_millis()).unwrap_or(u64::MAX),
    })
}

fn counted(counters: DirectoryCounters) -> Json {
    let DirectoryCounters {
        admitted,
        refused,
        revised,
        closed,
        fenced,
        writes,
        writes_failed,
        watches,
        foreign,
        unreached,
    } = counters;
    json!({
        "admitted": admitted, "refused": refused, "revised": revised, "closed": closed, "fenced": fenced, "writes": writes,
        "writes_failed": writes_failed, "watches": watches, "foreign": foreign, "unreached": unreached,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use ranlab_e2::ric::directory::{DirectoryConfig, StoreEvent};
    use ranlab_e2::ric::{RicConfig, RicEvent, RicOutput};
    use std::time::Duration;

    /// Returns a RIC `north` whose store has reported these keys.
    fn ric_with_keys(keys: &[(&str, &str)]) -> (Ric, Time) {
        let config =
            RicConfig::default().with(|it| it.directory = Some(DirectoryConfig::new("north", 7).unwrap()));
        let mut ric = Ric::new(config);
        let now = Time::ZERO + Duration::from_secs(10);
        ric.bus(now, StoreEvent::Began);
        for (revision, (key, value)) in (1..).zip(keys) {
            let key = (*key).to_owned();
            let value = Bytes::copy_from_slice(value.as_bytes());
            ric.bus(now, StoreEvent::Entry { key, revision, value });
        }
        ric.bus(now, StoreEvent::Complete);
        (ric, now)
    }

    const SOUTH: &str =
        "ranlab1 ric life=3 beat=9 seen=0 over=0 draining=0 e2=tcp://10.0.0.2:36421 e42=tcp://10.0.0.2:36422";

    #[test]
    fn claims_are_listed_in_key_order() {
        let (ric, now) = ric_with_keys(&[
            ("ric.south", SOUTH),
            ("node.gnb_505.01_2=22", "ranlab1 claim ric=south life=3 epoch=4"),
            ("node.gnb_505.01_1=22", "ranlab1 claim ric=north life=6 epoch=2"),
            ("node.gnb_505.01_3=22", "something else"),
        ]);
        let all = cluster(&ric, now, "").unwrap();
        assert_eq!(
            (&all["name"], &all["draining"], &all["more"]),
            (&json!("north"), &json!(false), &json!(false))
        );
        assert_eq!(
            all["claims"],
            json!([
                { "key": "node.gnb_505.01_1=22", "ric": "north", "here": true, "epoch": 2 },
                { "key": "node.gnb_505.01_2=22", "ric": "south", "here": false, "epoch": 4 },
            ])
        );
        assert_eq!(all["rics"][0]["name"], "south");
        assert_eq!(all["rics"][0]["e2"], "tcp://10.0.0.2:36421");
        let rest = cluster(&ric, now, "node.gnb_505.01_1=22").unwrap();
        assert_eq!(rest["claims"].as_array().unwrap().len(), 1);
        assert_eq!(cluster(&Ric::new(RicConfig::default()), now, ""), None);
    }

    #[test]
    fn drain_without_other_rics_fails() {
        let mut ric = Ric::new(RicConfig::default());
        let now = Time::ZERO;
        assert_eq!(drain(&mut ric, now), Err(NotDrained::Alone));
        let (mut ric, now) = ric_with_keys(&[]);
        assert_eq!(drain(&mut ric, now), Err(NotDrained::NoOther));
        assert_eq!(
            cluster(&ric, now, "").unwrap()["draining"],
            false,
            "a refused drain must not change the state"
        );
        let (mut ric, now) = ric_with_keys(&[("ric.south", SOUTH)]);
        assert_eq!((drain(&mut ric, now), drain(&mut ric, now)), (Ok(()), Ok(())));
        assert_eq!(cluster(&ric, now, "").unwrap()["draining"], true);
        let is_drained =
            std::iter::from_fn(|| ric.poll()).any(|it| matches!(it, RicOutput::Event(RicEvent::Drained)));
        assert!(is_drained, "a RIC without base stations must be drained immediately");
    }
}
