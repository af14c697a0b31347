//! RAN functions of an operator's agent: the operator's view of a base station.
use super::broker::{TenantBroker, TenantNodeId};
use super::station::{Command, CommandResult, TenantView};
use ranlab_e2::Time;
use ranlab_e2::agent::{RanFunction, UeFilter, UeId};
use ranlab_e2::functions::rrc::{self, RrcSource};
use ranlab_e2::functions::slice::{self, Progress, SliceControl};
use ranlab_e2::functions::stats::{PeriodicReport, StatsSource};
use ranlab_e2_codec::e2ap::RanFunctionId;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::plain::{PlainElement, PlainView, encode_list};
use ranlab_e2_codec::e2sm::rrc::{RrcEvent, RrcHandover};
use ranlab_e2_codec::e2sm::slice::{SliceCommand, SliceIndication, SliceSet};
use ranlab_e2_codec::e2sm::{self, Model, gtp, mac, pdcp, rlc};

/// Access to the view of an operator.
#[derive(Debug, Clone)]
struct TenantFunction(TenantBroker, TenantNodeId);

impl TenantFunction {
    /// Queues a control; its outcome is reported later.
    fn order(&self, command: Command) -> Result<Progress, Refusal> {
        let mut state = self.0.state();
        let away = || Refusal::new(Reason::NotSupported, "the base station is not connected");
        let (station, tenant) = state.of_mut(self.1).filter(|it| it.0.is_ready()).ok_or_else(away)?;
        let number = station.views[tenant].order(command)?;
        state.rouse();
        Ok(Progress::Later(number))
    }

    /// Calls `of` with the view; returns the default if the base station is not present.
    fn with<T: Default>(&self, of: impl FnOnce(&mut TenantView) -> T) -> T {
        let mut state = self.0.state();
        state.of_mut(self.1).map(|(station, tenant)| of(&mut station.views[tenant])).unwrap_or_default()
    }
}

/// Returns all RAN functions of a view, with their ids.
pub(super) fn all(desk: &TenantBroker, face: TenantNodeId) -> Vec<(Box<dyn RanFunction>, RanFunctionId)> {
    let face = TenantFunction(desk.clone(), face);
    let statistics = |model: &dyn Model, keep: Keep| -> (Box<dyn RanFunction>, RanFunctionId) {
        let source = Statistics { face: face.clone(), oid: model.oid().to_owned(), keep };
        (Box::new(PeriodicReport::for_model(model, source)), model.default_function_id())
    };
    vec![
        (slice::function(face.clone()), e2sm::slice::DEFAULT_FUNCTION_ID),
        (rrc::function(face.clone()), e2sm::rrc::DEFAULT_FUNCTION_ID),
        statistics(&mac::Mac, |message, its, out| keep::<mac::MacUe>(message, its, |ue| ue.rnti, out)),
        statistics(&rlc::Rlc, |message, its, out| keep::<rlc::RlcBearer>(message, its, |it| it.rnti, out)),
        statistics(&pdcp::Pdcp, |message, its, out| {
            keep::<pdcp::PdcpBearer>(message, its, |it| it.rnti, out)
        }),
        statistics(&gtp::Gtp, |message, its, out| keep::<gtp::GtpTunnel>(message, its, |it| it.rnti, out)),
    ]
}

/// Function that appends those records of a statistics message whose UE satisfies the predicate.
type Keep = fn(&[u8], &dyn Fn(u32) -> bool, &mut Vec<u8>);

fn keep<E: PlainElement>(message: &[u8], its: &dyn Fn(u32) -> bool, rnti: fn(&E) -> u32, out: &mut Vec<u8>) {
    let view = PlainView::<E>::new(message);
    let its: Vec<E> = view.iter().flat_map(PlainView::iter).filter(|it| its(rnti(it))).collect();
    // Writing to a `Vec` cannot run out of room. A malformed message yields no records.
    let _ = encode_list(out, its, view.map_or(0, |view| view.tstamp_us()));
}

/// Statistics function of a view: the last report of the base station, restricted to the operator's UEs.
struct Statistics {
    face: TenantFunction,
    oid: String,
    keep: Keep,
}

impl StatsSource for Statistics {
    fn fill(&mut self, _: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        let state = self.face.0.state();
        match state.station_of(self.face.1).and_then(|(station, _)| station.said(&self.oid)) {
            Some((message, is_later)) => {
                let its = |rnti: u32| ues.contains(UeId(rnti.into())) && !is_later(rnti);
                (self.keep)(message, &its, out);
            }
            // Before the first report, the list is empty. It has the same encoding for all models.
            None => drop(encode_list(out, std::iter::empty::<mac::MacUe>(), 0)),
        }
    }
}

impl SliceControl for TenantFunction {
    fn prbs(&self) -> u16 {
        let state = self.0.state();
        state
            .station_of(self.1)
            .map_or(1, |(station, tenant)| state.tenants.leases[tenant].prbs(station.prbs()))
    }

    fn set(&self) -> SliceSet {
        let state = self.0.state();
        state
            .station_of(self.1)
            .map(|(station, tenant)| station.views[tenant].set.clone())
            .unwrap_or_default()
    }

    fn has_ue(&self, rnti: u16) -> bool {
        let state = self.0.state();
        state
            .station_of(self.1)
            .is_some_and(|(station, tenant)| station.views[tenant].ues.contains_key(&rnti))
    }

    fn report(&mut self, _: Time, ues: UeFilter<'_>) -> SliceIndication {
        let state = self.0.state();
        let indication =
            state.station_of(self.1).map(|(station, tenant)| station.as_seen_by(&state.tenants, tenant));
        let mut indication = indication.unwrap_or_default();
        indication.ues.retain(|ue| ues.contains(UeId(ue.rnti.into())));
        indication
    }

    fn control(&mut self, _: Time, command: &SliceCommand, _: &SliceSet) -> Result<Progress, Refusal> {
        self.order(Command::Slice(command.clone()))
    }

    fn ended(&mut self) -> Vec<CommandResult> {
        self.with(|view| std::mem::take(&mut view.ended))
    }
}

impl RrcSource for TenantFunction {
    fn connected(&mut self, _: Time) -> Vec<RrcEvent> {
        let state = self.0.state();
        let ues = state
            .station_of(self.1)
            .map(|(station, tenant)| station.views[tenant].ues.values().cloned().collect());
        ues.unwrap_or_default()
    }

    fn events(&mut self, _: Time) -> Vec<RrcEvent> {
        self.with(|view| view.news.drain(..).collect())
    }

    fn hand_over(&mut self, _: Time, handover: &RrcHandover) -> Result<Progress, Refusal> {
        self.order(Command::HandOver(*handover))
    }

    fn ended(&mut self) -> Vec<CommandResult> {
        self.with(|view| std::mem::take(&mut view.handed_over))
    }

    fn tstamp_us(&self, _: Time) -> u64 {
        let state = self.0.state();
        state
            .station_of(self.1)
            .and_then(|(station, _)| station.report.as_ref())
            .map_or(0, |report| report.tstamp_us)
    }
}
