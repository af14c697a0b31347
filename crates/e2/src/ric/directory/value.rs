//! Keys and values of the store: lines of text that explain themselves, for whoever looks with another tool.
use super::config::NAME_LEN_MAX;
use bytes::Bytes;
use ranlab_wire::e2ap::{EnbId, GlobalE2NodeId, NgEnbId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The first word of every value, which later formats change.
const FORMAT: &str = "ranlab1";
/// Octets of a value; a longer one is not ours.
const VALUE_LEN_MAX: usize = 1_024;
/// What keys of nodes begin with.
const NODES: &str = "node.";
/// What keys of RICs begin with.
const RICS: &str = "ric.";

/// Who has claimed a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The RIC's name.
    pub ric: Arc<str>,
    /// Its life.
    pub life: u64,
    /// How often the node has changed hands.
    pub epoch: u64,
}

/// A RIC's sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// Its life.
    pub life: u64,
    /// Number of the sign in this life.
    pub beat: u64,
    /// The highest revision that it had seen, and acted upon, before.
    pub seen: u64,
    /// Its last one: it serves nobody any more.
    pub over: bool,
    /// It hands its nodes over.
    pub draining: bool,
    /// Where base stations reach it; empty: nowhere.
    pub e2: String,
    /// Where other RICs reach it; empty: nowhere.
    pub e42: String,
}

/// The key of a node: its name as people know it and the bits of its id, for `gnb 505.01 5` may be 22 bits or 32.
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

/// The key of a RIC.
pub(super) fn ric_key(name: &str) -> String {
    format!("{RICS}{name}")
}

/// What a key is about.
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

/// The words `name=value` of a value, if it is ours and of that kind.
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
        let (over, draining) = (u8::from(*over), u8::from(*draining));
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
    use ranlab_wire::e2ap::Plmn;

    #[test]
    fn values_come_back_and_what_is_not_ours_is_nothing() {
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
    fn nodes_whose_ids_differ_in_length_alone_have_keys_of_their_own() {
        let (short, long) = (
            GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 22),
            GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32),
        );
        assert_eq!(node_key(&short), "node.gnb_505.01_5=22");
        assert_ne!(node_key(&short), node_key(&long));
    }
}
