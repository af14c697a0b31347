//! Joins the identities of a UE. CU-CP, CU-UPs and DUs of a base station name the same UE by different identities.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::UeNumbers;
use crate::e2ap::GlobalE2NodeId;

/// A UE and the identities by which nodes of its base station name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedUe {
    /// Base station: the node's identity without CU-UP and DU.
    pub base_station: GlobalE2NodeId,
    /// Numbers of all identities of the UE. [`Display`](fmt::Display) writes them in the format of reports.
    pub numbers: UeNumbers,
    /// Identity of the UE at each node, in the format of reports (`f1ap=1 ran=7`).
    pub nodes: BTreeMap<GlobalE2NodeId, String>,
}

impl JoinedUe {
    /// Returns the number shown for the UE: its first F1AP id, otherwise its first other number.
    pub fn number(&self) -> u32 {
        let UeNumbers { amf, f1ap, e1ap, w1ap, mme, ran, .. } = &self.numbers;
        let short = f1ap.first().copied().or(*w1ap).or_else(|| e1ap.first().copied()).or(*mme);
        // The low 32 bits, as in `UeId::number`.
        short.unwrap_or_else(|| ran.or(*amf).unwrap_or_default() as u32)
    }
}

impl fmt::Display for UeNumbers {
    /// Writes the numbers in the format of [`UeId::ids`](super::UeId::ids): `f1ap=10 ran=7 amf=206966894641 e1ap=3 guami=505.01/96/0/0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { amf, guami, f1ap, e1ap, w1ap, mme, ran } = self;
        let mut parts: Vec<String> = f1ap.iter().map(|id| format!("f1ap={id}")).collect();
        let mut one = |name: &str, id: Option<u64>| parts.extend(id.map(|id| format!("{name}={id}")));
        one("w1ap", w1ap.map(u64::from));
        one("ran", *ran);
        one("amf", *amf);
        one("mme", mme.map(u64::from));
        parts.extend(e1ap.iter().map(|id| format!("e1ap={id}")));
        let guami = guami.map(|it| format!("guami={}/{}/{}/{}", it.plmn, it.region, it.set, it.pointer));
        f.write_str(&parts.into_iter().chain(guami).collect::<Vec<_>>().join(" "))
    }
}

/// A number that names a UE within a base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Identifier assigned by the AMF of a GUAMI.
    Core(super::Guami, u64),
    Ran(u64),
    Mme(u32),
    F1ap(u32),
    E1ap(u32),
    W1ap(u32),
}

impl Key {
    /// Returns whether the number identifies the same UE at all nodes of a base station. F1AP and E1AP ids do not: a CU may assign the same
    /// id once per DU or CU-UP.
    const fn is_strong(self) -> bool {
        matches!(self, Self::Core(..) | Self::Ran(_) | Self::Mme(_))
    }

    fn from_numbers(numbers: &UeNumbers) -> Vec<Self> {
        let core = numbers.guami.zip(numbers.amf).map(|(guami, amf)| Self::Core(guami, amf));
        let ran = numbers.ran.map(Self::Ran);
        let mme = numbers.mme.map(Self::Mme);
        let w1ap = numbers.w1ap.map(Self::W1ap);
        let f1ap = numbers.f1ap.iter().copied().map(Self::F1ap);
        let e1ap = numbers.e1ap.iter().copied().map(Self::E1ap);
        [core, ran, mme, w1ap].into_iter().flatten().chain(f1ap).chain(e1ap).collect()
    }
}

/// An identity at a node.
#[derive(Debug)]
struct Identity {
    node: GlobalE2NodeId,
    text: String,
    numbers: UeNumbers,
}

/// Joins the identities in reports of about the same time to UEs.
#[derive(Debug, Default)]
pub struct UeJoin {
    seen: BTreeSet<(GlobalE2NodeId, String)>,
    identities: Vec<Identity>,
    by_key: BTreeMap<(GlobalE2NodeId, Key), Vec<usize>>,
}

impl UeJoin {
    /// Adds the identity of a UE at a node, as in the column `ue_ids` of the node's reports. A text that is not an
    /// identity is ignored.
    pub fn add(&mut self, node: &GlobalE2NodeId, text: &str) {
        let entry = (*node, text.to_owned());
        if text.is_empty() || self.seen.contains(&entry) {
            return;
        }
        // Numbers of the interfaces Xn, X2 and S1 (GUMMEI) are not used.
        let is_foreign = |part: &&str| ["xnap=", "x2ap", "gummei="].iter().any(|it| part.starts_with(it));
        let known: Vec<&str> = text.split(' ').filter(|part| !is_foreign(part)).collect();
        let Ok(numbers) = known.join(" ").parse::<UeNumbers>() else { return };
        self.seen.insert(entry);
        let index = self.identities.len();
        for key in Key::from_numbers(&numbers) {
            self.by_key.entry((node.base_station(), key)).or_default().push(index);
        }
        self.identities.push(Identity { node: *node, text: text.to_owned(), numbers });
    }

    /// Returns the joined UEs, sorted by base station and number.
    pub fn ues(&self) -> Vec<JoinedUe> {
        let mut groups = Groups::new(self.identities.len());
        for strong in [true, false] {
            for ((_, key), same) in self.by_key.iter().filter(|((_, key), _)| key.is_strong() == strong) {
                if key.is_strong() || !self.is_ambiguous(&groups, same) {
                    self.unite(&mut groups, same);
                }
            }
        }
        let mut ues: Vec<JoinedUe> = groups.all().filter_map(|of| self.ue(of)).collect();
        ues.sort_by_key(|ue| (ue.base_station, ue.number()));
        ues
    }

    /// Returns whether two nodes of one kind, for example two DUs, use the same number for different UEs.
    fn is_ambiguous(&self, groups: &Groups, same: &[usize]) -> bool {
        let mut of_kinds: BTreeMap<(bool, bool), BTreeSet<usize>> = BTreeMap::new();
        for index in same {
            let (cu_up, du) = self.identities[*index].node.part_ids();
            of_kinds.entry((cu_up.is_some(), du.is_some())).or_default().insert(groups.of[*index]);
        }
        of_kinds.values().any(|of_kind| of_kind.len() > 1)
    }

    /// Joins identities that share a number, unless their strong numbers differ.
    fn unite(&self, groups: &mut Groups, same: &[usize]) {
        let Some((first, rest)) = same.split_first() else { return };
        for other in rest {
            let a = groups.of[*first];
            let b = groups.of[*other];
            if a != b && self.agree(&groups.members[a], &groups.members[b]) {
                groups.unite(a, b);
            }
        }
    }

    /// Returns whether no strong number differs between two groups.
    fn agree(&self, a: &[usize], b: &[usize]) -> bool {
        let strong = |members: &[usize]| -> Vec<Key> {
            let keys = members.iter().flat_map(|index| Key::from_numbers(&self.identities[*index].numbers));
            keys.filter(|key| key.is_strong()).collect()
        };
        let right = strong(b);
        let differs = |x: &Key| {
            let same_kind = |y: &&Key| std::mem::discriminant(x) == std::mem::discriminant(*y);
            right.iter().filter(same_kind).any(|y| y != x)
        };
        !strong(a).iter().any(differs)
    }

    /// Returns the UE of a group, or `None` for an empty group.
    fn ue(&self, members: &[usize]) -> Option<JoinedUe> {
        let base_station = self.identities[*members.first()?].node.base_station();
        let mut numbers = UeNumbers::default();
        let mut nodes = BTreeMap::new();
        for index in members {
            let Identity { node, text, numbers: own } = &self.identities[*index];
            numbers.amf = numbers.amf.or(own.amf);
            numbers.guami = numbers.guami.or(own.guami);
            numbers.w1ap = numbers.w1ap.or(own.w1ap);
            numbers.mme = numbers.mme.or(own.mme);
            numbers.ran = numbers.ran.or(own.ran);
            for (all, of_own) in [(&mut numbers.f1ap, &own.f1ap), (&mut numbers.e1ap, &own.e1ap)] {
                let new: Vec<u32> = of_own.iter().copied().filter(|id| !all.contains(id)).collect();
                all.extend(new);
            }
            nodes.insert(*node, text.clone());
        }
        Some(JoinedUe { base_station, numbers, nodes })
    }
}

/// Disjoint groups of indexes.
struct Groups {
    /// Group of each index.
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl Groups {
    fn new(len: usize) -> Self {
        Self { of: (0..len).collect(), members: (0..len).map(|index| vec![index]).collect() }
    }

    fn unite(&mut self, a: usize, b: usize) {
        let moved = std::mem::take(&mut self.members[b]);
        moved.iter().for_each(|index| self.of[*index] = a);
        self.members[a].extend(moved);
    }

    fn all(&self) -> impl Iterator<Item = &[usize]> {
        self.members.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2ap::{E2NodeGnb, Plmn};

    fn node(cu_up_id: Option<u64>, du_id: Option<u64>) -> GlobalE2NodeId {
        match GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 7, 22) {
            GlobalE2NodeId::Gnb(gnb) => GlobalE2NodeId::Gnb(E2NodeGnb { cu_up_id, du_id, ..gnb }),
            other => other,
        }
    }

    /// CU-UP id and DU id of one node of a split gNB.
    type Units = (Option<u64>, Option<u64>);

    const CU_CP: Units = (None, None);
    const CU_UP: Units = (Some(1), None);
    const DU_1: Units = (None, Some(1));
    const DU_2: Units = (None, Some(2));

    /// Joins identities at nodes. Returns the number of each UE and the number of its nodes.
    fn joined(identities: &[(Units, &str)]) -> Vec<(u32, usize)> {
        let mut join = UeJoin::default();
        for ((cu_up, du), text) in identities {
            join.add(&node(*cu_up, *du), text);
        }
        join.ues().iter().map(|ue| (ue.number(), ue.nodes.len())).collect()
    }

    #[test]
    fn identities_at_cu_cp_cu_up_and_du_join_to_one_ue() {
        let core = "f1ap=3 amf=1099511627000 e1ap=9 guami=505.01/1/1/0";
        assert_eq!(joined(&[(CU_CP, core), (CU_UP, "e1ap=9"), (DU_1, "f1ap=3")]), [(3, 3)]);
        // Without the CU-CP's identity, the other two have no number in common.
        assert_eq!(joined(&[(CU_UP, "e1ap=9"), (DU_1, "f1ap=3")]), [(3, 1), (9, 1)]);
        // A common RAN UE ID joins them even without the CU-CP's identity.
        assert_eq!(joined(&[(CU_UP, "e1ap=9 ran=5"), (DU_1, "f1ap=3 ran=5")]), [(3, 2)]);
    }

    #[test]
    fn ues_with_different_numbers_are_not_joined() {
        let first = "f1ap=3 amf=1 guami=505.01/1/1/0";
        for second in ["f1ap=3 amf=2 guami=505.01/1/1/0", "f1ap=3 amf=4294967297 guami=505.01/1/1/0"] {
            assert_eq!(joined(&[(CU_CP, first), (CU_CP, second)]).len(), 2, "{second}");
        }
        // Equal AMF UE ids from different AMFs are different numbers.
        let other_amf = "amf=1 guami=505.01/1/1/1";
        assert_eq!(joined(&[(CU_CP, first), (CU_CP, other_amf)]).len(), 2);
    }

    #[test]
    fn number_used_by_two_dus_does_not_join_ues() {
        let core = "f1ap=3 amf=1 guami=505.01/1/1/0";
        assert_eq!(joined(&[(CU_CP, core), (DU_1, "f1ap=3"), (DU_2, "f1ap=3")]).len(), 3);
        // A UE served by two DUs is joined by its RAN UE ID.
        let both = "f1ap=3 f1ap=4 ran=8 amf=1 guami=505.01/1/1/0";
        assert_eq!(joined(&[(CU_CP, both), (DU_1, "f1ap=3 ran=8"), (DU_2, "f1ap=4 ran=8")]), [(3, 3)]);
    }

    #[test]
    fn ues_of_different_base_stations_are_not_joined() {
        let mut join = UeJoin::default();
        for number in [7, 8] {
            join.add(&GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), number, 22), "f1ap=3 ran=3");
        }
        assert_eq!(join.ues().len(), 2);
        join.add(&node(None, None), "no identity");
        assert_eq!(join.ues().len(), 2);
    }

    #[test]
    fn joined_ue_can_be_named_at_each_node() {
        let mut join = UeJoin::default();
        join.add(&node(None, None), "f1ap=3 amf=7 e1ap=9 guami=505.01/1/1/0");
        join.add(&node(None, Some(1)), "f1ap=3 ran=5");
        let ues = join.ues();
        let text = ues[0].numbers.to_string();
        assert_eq!(text, "f1ap=3 ran=5 amf=7 e1ap=9 guami=505.01/1/1/0");
        let numbers: UeNumbers = text.parse().unwrap();
        assert_eq!(numbers, ues[0].numbers);
        for at in [node(None, None), node(Some(1), None), node(None, Some(1))] {
            assert!(numbers.name_at(&at).is_some(), "{at}");
        }
    }
}
