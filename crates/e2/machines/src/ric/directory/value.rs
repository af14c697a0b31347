//! Keys and values of the store, as text that is readable with any client of the store.
use super::config::NAME_LEN_MAX;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{EnbId, GlobalE2NodeId, NgEnbId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// First word of every value; a later format will change it.
const FORMAT: &str = "ranlab1";
/// Maximum length of a value, in bytes. A longer one was not written by ranlab.
const VALUE_LEN_MAX: usize = 1_024;
/// Prefix of the keys of nodes.
const NODES: &str = "node.";
/// Prefix of the keys of RICs.
const RICS: &str = "ric.";

/// A claim of a RIC for a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name of the RIC.
    pub ric: Arc<str>,
    /// Incarnation of the RIC.
    pub life: u64,
    /// Number of times that the node has changed its owner.
    pub epoch: u64,
}

/// A heartbeat of a RIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// Incarnation of the RIC.
    pub life: u64,
    /// Number of the heartbeat in this incarnation.
    pub beat: u64,
    /// Highest revision that the RIC had seen and processed before this heartbeat.
    pub seen: u64,
    /// Whether this is the last heartbeat: the RIC serves no node any more.
    pub over: bool,
    /// Whether the RIC is draining.
    pub draining: bool,
    /// Address for base stations; empty if it has no such address.
    pub e2: String,
    /// Address for other RICs; empty if it has no such address.
    pub e42: String,
}

/// Returns the key of a node: its displayed name and the bits of its id, because the id of `gnb 505.01 5` may have 22
/// bits or 32.
pub fn node_key(node: &GlobalE2NodeId) -> String {
    let bits = match node {
        GlobalE2NodeId::Gnb(n) => n.gnb.gnb_id.len_bits,
        GlobalE2NodeId::EnGnb(n) => n.en_gnb.gnb_id.len_bits,
        GlobalE2NodeId::NgEnb(n) => match n.ng_enb.enb_id {
            NgEnbId::Macro(b) | NgEnbId::ShortMacro(b) | NgEnbId::LongMacro(b) => b.len_bits,
        },
        GlobalE2NodeId::Enb(n) => match n.enb.enb_id {
            EnbId::Macro(b) | EnbId::Home(b) | EnbId::ShortMacro(b) | EnbId::LongMacro(b) => b.len_bits,
        },
    };
    format!("{NODES}{}={bits}", node.to_string().replace(' ', "_"))
}

/// Returns the key of a RIC.
pub(super) fn ric_key(name: &str) -> String {
    format!("{RICS}{name}")
}

/// Subject of a key.
pub(super) enum Subject<'a> {
    Node,
    Ric(&'a str),
}

pub(super) fn subject(key: &str) -> Option<Subject<'_>> {
    if key.starts_with(NODES) {
        return Some(Subject::Node);
    }
    let name = key.strip_prefix(RICS)?;
    (!name.is_empty() && name.len() <= NAME_LEN_MAX).then_some(Subject::Ric(name))
}

/// Returns the `name=value` words of a value, or `None` if ranlab did not write it or it has a different kind.
fn words<'a>(value: &'a [u8], kind: &str) -> Option<BTreeMap<&'a str, &'a str>> {
    let text = std::str::from_utf8(value.get(..value.len().min(VALUE_LEN_MAX + 1))?).ok()?;
    let mut words = text.split(' ');
    if text.len() > VALUE_LEN_MAX || words.next() != Some(FORMAT) || words.next() != Some(kind) {
        return None;
    }
    Some(words.filter_map(|word| word.split_once('=')).collect())
}

impl Claim {
    pub(super) fn write(&self) -> Bytes {
        format!("{FORMAT} claim ric={} life={:x} epoch={}", self.ric, self.life, self.epoch).into()
    }

    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let words = words(value, "claim")?;
        Some(Self {
            ric: (*words.get("ric")?).into(),
            life: u64::from_str_radix(words.get("life")?, 16).ok()?,
            epoch: words.get("epoch")?.parse().ok()?,
        })
    }
}

impl Presence {
    pub(super) fn write(&self) -> Bytes {
        let Self { life, beat, seen, over, draining, e2, e42 } = self;
        let over = u8::from(*over);
        let draining = u8::from(*draining);
        format!("{FORMAT} ric life={life:x} beat={beat} seen={seen} over={over} draining={draining} e2={e2} e42={e42}")
            .into()
    }

    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let words = words(value, "ric")?;
        Some(Self {
            life: u64::from_str_radix(words.get("life")?, 16).ok()?,
            beat: words.get("beat")?.parse().ok()?,
            seen: words.get("seen")?.parse().ok()?,
            over: *words.get("over")? == "1",
            draining: *words.get("draining")? == "1",
            e2: (*words.get("e2")?).to_owned(),
            e42: (*words.get("e42")?).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_e2_codec::e2ap::Plmn;

    #[test]
    fn values_round_trip_and_invalid_ones_are_rejected() {
        let claim = Claim { ric: "a".into(), life: 0xab, epoch: 7 };
        assert_eq!(&claim.write()[..], b"ranlab1 claim ric=a life=ab epoch=7");
        assert_eq!(Claim::read(&claim.write()), Some(claim));
        let e2 = "tcp://10.0.0.1:36421".to_owned();
        let presence = Presence {
            life: u64::MAX,
            beat: 3,
            seen: 9,
            over: false,
            draining: true,
            e2,
            e42: String::new(),
        };
        assert_eq!(Presence::read(&presence.write()), Some(presence.clone()));
        assert_eq!(Claim::read(&presence.write()), None);
        for wrong in
            ["", "ranlab1", "ranlab2 claim ric=a life=1 epoch=1", "ranlab1 claim ric=a life=x epoch=1"]
        {
            assert_eq!(Claim::read(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(Claim::read(&[0xff; 5_000]), None);
    }

    #[test]
    fn nodes_with_ids_of_different_length_have_distinct_keys() {
        let short = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 22);
        let long = GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32);
        assert_eq!(node_key(&short), "node.gnb_505.01_5=22");
        assert_ne!(node_key(&short), node_key(&long));
    }
}
