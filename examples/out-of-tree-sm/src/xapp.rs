//! xApp that finds hot cells.
use crate::{Cell, Temperature};
use ranlab_sdk::Malformed;
use ranlab_sdk::prelude::*;

/// Returns the hottest cell in the next report, with its node. The cell is `None` for a node without cells. Returns
/// `None` once the xApp has ended.
pub async fn hottest(
    reports: &ReportStream<Temperature>,
) -> Option<Result<(GlobalE2NodeId, Option<Cell>), Box<Malformed>>> {
    let report = reports.next().await?;
    Some(report.map(|report| {
        let hottest = report.message.cells.into_iter().max_by_key(|cell| cell.temperature_dk);
        (report.node, hottest)
    }))
}
