//! xApp.
use crate::{Cell, Temperature};
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;
use ranlab_sdk::{Malformed, Reports};

/// Returns the hottest cell in the next report, with its node; `None` for a node without cells.
pub async fn hottest(
    reports: &mut Reports<Temperature>,
) -> Result<(GlobalE2NodeId, Option<Cell>), Malformed> {
    let report = reports.next().await?;
    let hottest = report.message.cells.into_iter().max_by_key(|cell| cell.temperature_dk);
    Ok((report.node, hottest))
}
