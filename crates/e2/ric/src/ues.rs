//! Connected UEs of base stations as reported by RRC, and conditions that select UEs.
use crate::northbound::Fault;
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, NotAPlmn, Plmn};
use ranlab_e2_codec::e2sm::common::{NotAnSnssai, Snssai};
use ranlab_e2_codec::e2sm::rrc::{RrcChange, RrcEvent};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Maximum number of UEs stored per base station; policies ignore further ones.
const UES_MAX: usize = 65_536;

/// Connected UEs of each base station by RNTI, shared by its E2 nodes.
#[derive(Debug, Default)]
pub(crate) struct Ues(BTreeMap<GlobalE2NodeId, BTreeMap<u16, RrcEvent>>);

impl Ues {
    /// Applies an RRC event of an E2 node.
    pub(crate) fn learn(&mut self, part: &GlobalE2NodeId, event: RrcEvent) {
        let ues = self.0.entry(part.base_station()).or_default();
        if event.change == RrcChange::Release {
            ues.remove(&event.rnti);
        } else if ues.len() < UES_MAX || ues.contains_key(&event.rnti) {
            ues.insert(event.rnti, event);
        }
    }

    /// Returns the UEs of the base station that an E2 node belongs to.
    pub(crate) fn of_station(&self, part: &GlobalE2NodeId) -> impl Iterator<Item = &RrcEvent> + use<'_> {
        self.0.get(&part.base_station()).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns one UE.
    pub(crate) fn get(&self, part: &GlobalE2NodeId, rnti: u16) -> Option<&RrcEvent> {
        self.0.get(&part.base_station())?.get(&rnti)
    }

    /// Removes the UEs of the base station that an E2 node belongs to.
    pub(crate) fn forget(&mut self, part: &GlobalE2NodeId) {
        self.0.remove(&part.base_station());
    }
}

/// Formats a UE as JSON.
pub(crate) fn ue_of(ue: &RrcEvent) -> Json {
    json!({
        "rnti": ue.rnti,
        "cell_id": ue.cell_id,
        "plmn": ue.plmn.to_string(),
        "snssais": ue.snssais.iter().map(Snssai::to_string).collect::<Vec<_>>(),
    })
}

/// Condition on the PLMN and slices selected at attach; an absent condition matches every UE.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UeSelector {
    plmn: Option<Plmn>,
    snssai: Option<Snssai>,
}

impl UeSelector {
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
