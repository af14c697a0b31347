//! An xApp's side.
use crate::{OID, Report, Trigger};
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{SubscribeError, XappEvent};
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, GlobalE2NodeId};
use ranlab_sdk::wire::e2sm::per;

/// Asks every node that offers the model for reports, those that come later included. A period outside of 1 ms to an
/// hour is taken to its bound.
pub fn watch(xapp: &XappHandle, period_ms: u32) -> Result<(), SubscribeError> {
    let mut trigger = Vec::new();
    // A period within its bounds encodes.
    let _ = per::encode(&Trigger { period_ms: period_ms.clamp(1, 3_600_000) }, &mut trigger);
    xapp.subscribe_all_raw(OID, trigger.into(), vec![ActionToBeSetup::report(0)])?;
    Ok(())
}

/// The report in an event, if it holds one that makes sense. Right for xApps that subscribe to this model alone.
pub fn report_of(event: &XappEvent) -> Option<(GlobalE2NodeId, Report)> {
    let XappEvent::Indication { node, indication, .. } = event else { return None };
    per::decode(indication.message.clone()).ok().map(|report| (*node, report))
}
