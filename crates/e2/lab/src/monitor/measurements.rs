//! KPM measurements selected by a monitor's flags.
use std::sync::Arc;
use std::time::Duration;

use ranlab_sdk::e2::xapp::{KpmPlan, Planner};
use ranlab_sdk::wire::e2sm::common::{NrCgi, Snssai};
use ranlab_sdk::wire::e2sm::kpm::{self, Selection};

use super::MonitorComponent;
use ranlab_lab::rig;
use ranlab_lab::worker::ComponentError;

impl MonitorComponent {
    /// Returns the subscription plan for KPM, or `None` for other models.
    pub(super) fn plan(&self, oid: &str) -> Result<Option<Arc<dyn Planner>>, ComponentError> {
        if oid != kpm::OID {
            return Ok(None);
        }
        let selection = self.selection()?;
        Ok(Some(Arc::new(KpmPlan { selection, period: self.period })))
    }

    /// Returns the selected KPM measurements.
    ///
    /// # Errors
    ///
    /// Returns an error if the text of a UE, slice or cell is invalid, or a granularity is not a number of milliseconds.
    pub fn selection(&self) -> Result<Selection, ComponentError> {
        let ue = |it: &String| it.parse().map_err(rig);
        let slice = |it: &String| it.parse::<Snssai>().map_err(rig);
        let granularity = |it: Duration| {
            let ms =
                u32::try_from(it.as_millis()).ok().filter(|ms| Duration::from_millis((*ms).into()) == it);
            ms.filter(|ms| *ms > 0).ok_or_else(|| rig("granularity must be a number of milliseconds above 0"))
        };
        Ok(Selection {
            style: self.kpm_style.map(i64::from),
            measurements: self.kpm_measure.clone(),
            ues: self.kpm_ue.iter().map(ue).collect::<Result<_, _>>()?,
            slice: self.kpm_snssai.as_ref().map(slice).transpose()?,
            cell: self.kpm_cell.as_ref().map(|it| it.parse::<NrCgi>().map_err(rig)).transpose()?,
            granularity_ms: self.granularity.map(granularity).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kpm_flags_become_a_selection() {
        let part = MonitorComponent {
            kpm_style: Some(5),
            kpm_measure: vec!["DRB.UEThpDl".to_owned()],
            kpm_ue: vec!["f1ap=1".to_owned(), "amf=2 f1ap=3".to_owned()],
            kpm_snssai: Some("1:010203".to_owned()),
            kpm_cell: Some("505.01/000000010".to_owned()),
            granularity: Some(Duration::from_secs(1)),
            ..MonitorComponent::default()
        };
        let selection = part.selection().unwrap();
        assert_eq!(
            (selection.style, selection.granularity_ms, selection.ues.len()),
            (Some(5), Some(1_000), 2)
        );
        assert_eq!(selection.slice, Some(Snssai::new(1, Some(0x10203))));
        assert_eq!(selection.cell.map(|it| it.cell), Some(0x10));
        assert!(part.plan(kpm::OID).unwrap().is_some() && part.plan("1.2.3").unwrap().is_none());
    }

    #[test]
    fn invalid_kpm_flags_are_rejected() {
        let slice = MonitorComponent { kpm_snssai: Some("gold".to_owned()), ..MonitorComponent::default() };
        let ue = MonitorComponent { kpm_ue: vec!["first".to_owned()], ..MonitorComponent::default() };
        let granularity = Some(Duration::from_micros(500));
        let granularity = MonitorComponent { granularity, ..MonitorComponent::default() };
        let cell = MonitorComponent { kpm_cell: Some("10".to_owned()), ..MonitorComponent::default() };
        for (part, word) in [(slice, "gold"), (ue, "first"), (granularity, "milliseconds"), (cell, "10")] {
            let error = part.selection().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
