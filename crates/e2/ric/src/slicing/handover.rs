//! State that slicing controllers of different RICs hand over: the policy and, per base station, the UEs that a REST
//! request associated with a slice. The policy must not move these UEs.
use super::resources::Rule;
use super::{PolicyResource, Slicing};
use crate::northbound::Fault;
use bytes::Bytes;
use ranlab_e2::ric::{IAppOutbox, Keeps};
use ranlab_e2_codec::e2ap::GlobalE2NodeId;
use ranlab_e2_codec::e2sm::slice::SLICES_MAX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Version and maximum size in bytes per record; 16 KiB hold about 2,500 UEs of a base station.
pub(super) const KEEPS: Keeps = Keeps { version: 1, bytes_max: 16 << 10 };

/// State of a base station.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Station {
    by_hand: BTreeSet<u16>,
}

/// Serialises a value, or returns an empty text if `nothing` is set.
fn written(nothing: bool, what: &impl Serialize) -> Bytes {
    if nothing { Bytes::new() } else { serde_json::to_vec(what).unwrap_or_default().into() }
}

/// Inverse of [`written`].
fn read<T: Default + for<'a> Deserialize<'a>>(text: &[u8]) -> Result<T, String> {
    if text.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}

impl Slicing {
    pub(super) fn known(&self, about: Option<&GlobalE2NodeId>) -> Bytes {
        match about {
            None => written(self.policy == PolicyResource::default(), &self.policy),
            Some(id) => {
                let by_hand = self.nodes.get(id).map(|node| node.by_hand.clone()).unwrap_or_default();
                written(by_hand.is_empty(), &Station { by_hand })
            }
        }
    }

    pub(super) fn take_over(
        &mut self,
        about: Option<&GlobalE2NodeId>,
        text: &[u8],
        out: &mut IAppOutbox,
    ) -> Result<(), String> {
        match about {
            None => self.adopt(read(text)?, out).map_err(|fault| fault.detail().to_owned()),
            Some(id) => {
                let Station { by_hand } = read(text)?;
                self.nodes.entry(*id).or_default().by_hand = by_hand;
                self.follow_policy_around(*id, out);
                Ok(())
            }
        }
    }

    /// Replaces the policy.
    pub(super) fn adopt(&mut self, policy: PolicyResource, out: &mut IAppOutbox) -> Result<(), Fault> {
        if policy.rules.len() > SLICES_MAX {
            return Err(Fault::new(422, format!("at most {SLICES_MAX} rules are allowed")));
        }
        self.rules = policy.rules.iter().map(Rule::new).collect::<Result<_, _>>()?;
        self.policy = policy;
        self.nodes.values_mut().for_each(|node| node.refused.clear());
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.follow_policy_around(id, out);
        }
        Ok(())
    }
}
