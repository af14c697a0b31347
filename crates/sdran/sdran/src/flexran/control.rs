//! Settings that a controller of Mosaic5G 2.x applies to its base station: slices, UEs in slices, and control of handovers. The controller
//! requests the resulting configuration every second, and relies on it.
use super::report;
use crate::agent::Ue;
use crate::flexran::protocol::*;
use std::collections::BTreeMap;

/// Maximum number of slices of a direction. Further slices are refused.
const MAX_SLICES: usize = 16;
/// Number of resource blocks of a cell without a radio model. It corresponds to 10 MHz.
const PRBS: u16 = 50;

/// Slices of a UE in downlink and uplink.
type InSlices = (Option<u32>, Option<u32>);

#[derive(Debug, Clone)]
pub(super) struct Control {
    /// Number of resource blocks of the cell.
    cell_prbs: u16,
    slices: SliceConfig,
    net_control: Option<bool>,
    ues: BTreeMap<u16, InSlices>,
}

impl Default for Control {
    fn default() -> Self {
        Self::of_cell(PRBS)
    }
}

impl Control {
    /// Returns a state without settings.
    pub(super) fn of_cell(cell_prbs: u16) -> Self {
        Self { cell_prbs, slices: SliceConfig::default(), net_control: None, ues: BTreeMap::new() }
    }

    /// Returns the slices of the downlink.
    pub(super) fn downlink(&self) -> Option<&SliceDlUlConfig> {
        self.slices.dl.as_ref()
    }

    /// Applies a configuration of the cell. Returns the downlink slices that it has set, or removed (zero groups).
    pub(super) fn configure(&mut self, cell: &CellConfig) -> Result<Vec<(u32, u16)>, String> {
        self.net_control = cell.x2_ho_net_control.or(self.net_control);
        let Some(config) = &cell.slice_config else { return Ok(Vec::new()) };
        if let Some(ul) = &config.ul {
            apply(self.slices.ul.get_or_insert_default(), ul)?;
        }
        let dl = config.dl.clone().unwrap_or_default();
        apply(self.slices.dl.get_or_insert_default(), &dl)?;
        let downlink = ids(self.slices.dl.as_ref());
        let uplink = ids(self.slices.ul.as_ref());
        for (dl, ul) in self.ues.values_mut() {
            *dl = dl.filter(|id| downlink.contains(id));
            *ul = ul.filter(|id| uplink.contains(id));
        }
        Ok(dl.slices.iter().map(|slice| (slice.id.unwrap_or(0), groups(slice))).collect())
    }

    /// Moves a UE into slices. Returns an error if a slice does not exist.
    pub(super) fn associate(&mut self, rnti: u16, config: &UeConfig) -> Result<(), String> {
        for (id, of) in [(config.dl_slice_id, &self.slices.dl), (config.ul_slice_id, &self.slices.ul)] {
            if let Some(id) = id.filter(|id| *id != 0 && !ids(of.as_ref()).contains(id)) {
                return Err(format!("cannot move UE {rnti} into unknown slice {id}"));
            }
        }
        let (dl, ul) = self.ues.entry(rnti).or_default();
        (*dl, *ul) = (config.dl_slice_id.or(*dl), config.ul_slice_id.or(*ul));
        Ok(())
    }

    pub(super) fn forget(&mut self, rnti: u16) {
        self.ues.remove(&rnti);
    }

    /// Returns the current cell configuration.
    pub(super) fn cell(&self, pci: u16) -> CellConfig {
        let sliced = self.slices.dl.is_some() || self.slices.ul.is_some();
        CellConfig {
            slice_config: sliced.then(|| self.slices.clone()),
            x2_ho_net_control: self.net_control,
            ..report::cell_config(pci, self.cell_prbs)
        }
    }

    /// Returns the current configuration of a UE.
    pub(super) fn ue(&self, rnti: u16, ue: &Ue, mosaic: bool) -> UeConfig {
        let (dl_slice_id, ul_slice_id) = self.ues.get(&rnti).copied().unwrap_or_default();
        UeConfig { dl_slice_id, ul_slice_id, ..report::ue_config(rnti, ue, mosaic) }
    }

    /// Returns the number of resource blocks that are available to a UE in its slice.
    pub(super) fn prbs(&self, rnti: u16) -> Option<u16> {
        let id = self.ues.get(&rnti)?.0?;
        let slice = self.slices.dl.as_ref()?.slices.iter().find(|slice| slice.id == Some(id))?;
        Some(groups(slice).saturating_mul(rbg_prbs(self.cell_prbs))).filter(|prbs| *prbs > 0)
    }
}

fn ids(slices: Option<&SliceDlUlConfig>) -> Vec<u32> {
    slices.map_or_else(Vec::new, |of| of.slices.iter().filter_map(|slice| slice.id).collect())
}

/// Returns the number of resource block groups of a slice.
fn groups(slice: &Slice) -> u16 {
    let Some(SliceParameters::Fixed(groups)) = &slice.params else { return 0 };
    let low = groups.pos_low.unwrap_or(0);
    let high = groups.pos_high.unwrap_or(0);
    u16::try_from(high.saturating_sub(low).saturating_add(1)).unwrap_or(u16::MAX)
}

/// Applies slices, as in the published agent. Another algorithm starts from an empty set. A slice that only has a number is removed. Other
/// slices are set.
fn apply(slices: &mut SliceDlUlConfig, config: &SliceDlUlConfig) -> Result<(), String> {
    if config.algorithm.is_some() && config.algorithm != slices.algorithm {
        *slices = SliceDlUlConfig { algorithm: config.algorithm, ..SliceDlUlConfig::default() };
    }
    if config.scheduler.is_some() {
        slices.scheduler.clone_from(&config.scheduler);
    }
    for slice in &config.slices {
        slices.slices.retain(|held| held.id != slice.id);
        if *slice == (Slice { id: slice.id, ..Slice::default() }) {
            continue;
        }
        if slices.slices.len() >= MAX_SLICES {
            return Err(format!("at most {MAX_SLICES} slices are allowed"));
        }
        slices.slices.push(slice.clone());
    }
    Ok(())
}
