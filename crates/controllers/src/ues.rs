//! Connected UEs of base stations, as RRC tells of them, and which of them are meant by what they chose.
use crate::north::Fault;
use ranlab_wire::e2ap::{GlobalE2NodeId, NotAPlmn, Plmn};
use ranlab_wire::e2sm::rrc::{NotAnSnssai, RrcChange, RrcEvent, Snssai};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// UEs of a base station that are kept; of more, a policy knows nothing.
const UES_MAX: usize = 65_536;

/// Connected UEs of each base station by RNTI; its parts share them.
#[derive(Debug, Default)]
pub(crate) struct Ues(BTreeMap<GlobalE2NodeId, BTreeMap<u16, RrcEvent>>);

impl Ues {
    /// What RRC says at a part of a base station.
    pub(crate) fn learn(&mut self, part: &GlobalE2NodeId, event: RrcEvent) {
        let ues = self.0.entry(part.base_station()).or_default();
        if event.change == RrcChange::Release {
            ues.remove(&event.rnti);
        } else if ues.len() < UES_MAX || ues.contains_key(&event.rnti) {
            ues.insert(event.rnti, event);
        }
    }

    /// Those of the base station of a part.
    pub(crate) fn of(&self, part: &GlobalE2NodeId) -> impl Iterator<Item = &RrcEvent> + use<'_> {
        self.0.get(&part.base_station()).into_iter().flat_map(BTreeMap::values)
    }

    /// One of them.
    pub(crate) fn get(&self, part: &GlobalE2NodeId, rnti: u16) -> Option<&RrcEvent> {
        self.0.get(&part.base_station())?.get(&rnti)
    }

    /// Forgets those of the base station of a part.
    pub(crate) fn forget(&mut self, part: &GlobalE2NodeId) {
        self.0.remove(&part.base_station());
    }
}

/// A UE as JSON.
pub(crate) fn ue_of(ue: &RrcEvent) -> Json {
    json!({
        "rnti": ue.rnti,
        "cell_id": ue.cell_id,
        "plmn": ue.plmn.to_string(),
        "snssais": ue.snssais.iter().map(Snssai::to_string).collect::<Vec<_>>(),
    })
}

/// UEs by what they chose when they attached: what is absent fits any UE.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    plmn: Option<Plmn>,
    snssai: Option<Snssai>,
}

impl Choice {
    pub(crate) fn new(plmn: Option<&str>, snssai: Option<&str>) -> Result<Self, Fault> {
        let network = |text: &str| text.parse().map_err(|error: NotAPlmn| Fault::new(422, error.to_string()));
        let slice =
            |text: &str| text.parse().map_err(|error: NotAnSnssai| Fault::new(422, error.to_string()));
        Ok(Self { plmn: plmn.map(network).transpose()?, snssai: snssai.map(slice).transpose()? })
    }

    pub(crate) fn fits(&self, ue: &RrcEvent) -> bool {
        self.plmn.is_none_or(|plmn| plmn == ue.plmn)
            && self.snssai.is_none_or(|snssai| ue.snssais.contains(&snssai))
    }
}
