//! Station functions of the statistics models, which report periodically about a cell.
use super::{StationContext, StationFunction};
use crate::node::Unit;
use crate::stats::{CellStats, FillMessage};
use ranlab_e2::agent::RanFunction;
use ranlab_e2::functions::stats::PeriodicReport;
use ranlab_e2_codec::e2sm::Model;

/// Station function of a statistics model.
pub(crate) struct Statistics {
    pub(crate) model: &'static dyn Model,
    /// Unit of a split base station that has the statistics.
    pub(crate) unit: Unit,
    /// Function that encodes a report.
    pub(crate) fill: FillMessage,
}

impl StationFunction for Statistics {
    fn model(&self) -> Option<&'static dyn Model> {
        Some(self.model)
    }

    fn unit(&self) -> Option<Unit> {
        Some(self.unit)
    }

    fn function(&self, station: &StationContext<'_>) -> Option<Box<dyn RanFunction>> {
        let template = station.template;
        let stats = CellStats {
            cell: station.cell.clone(),
            fill: self.fill,
            encoding: self.model.encoding_or(template.sm_encoding),
            epoch_us: template.epoch_us,
            lateness: template.lateness.clone(),
        };
        let report = PeriodicReport::for_model(self.model, stats).counting(template.reports.clone());
        Some(Box::new(report))
    }
}
