//! TRAFFIC at a base station ([`ranlab_wire::e2sm::traffic`]). A controller commands the bearers of UEs that it sees.
use super::controlled::{Asker, Controlled, Obeys, Progress};
use crate::Time;
use crate::agent::*;
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::traffic::{BearerId, Traffic, TrafficCommand, TrafficConfig, TrafficIndication};

/// The sublayer behind the function. Commands come to it when they can be carried out.
pub trait TrafficControl: Send {
    /// The configuration of a bearer; `None` if there is no such bearer.
    fn config(&self, bearer: BearerId) -> Option<TrafficConfig>;

    /// Statistics of the given UEs' bearers.
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> TrafficIndication;

    /// Carries out a command; `next` is the bearer's configuration with it. Whoever refuses has changed nothing.
    ///
    /// # Errors
    /// The base station cannot do this.
    fn control(&mut self, now: Time, command: &TrafficCommand, next: &TrafficConfig) -> Result<(), Refusal>;
}

struct Station<C>(C);

/// The RAN function; register it as [`ranlab_wire::e2sm::traffic::DEFAULT_FUNCTION_ID`].
pub fn function(control: impl TrafficControl + 'static) -> Box<dyn RanFunction> {
    Box::new(Controlled::new(Station(control)))
}

impl<C: TrafficControl> Obeys for Station<C> {
    type Model = Traffic;

    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> TrafficIndication {
        self.0.report(now, ues)
    }

    fn obey(&mut self, now: Time, asker: &Asker<'_>, command: TrafficCommand) -> Result<Progress, Refusal> {
        let BearerId { rnti, rbid } = command.bearer;
        let config = Some(command.bearer).filter(|_| asker.sees(rnti)).and_then(|id| self.0.config(id));
        let unknown =
            || Refusal::new(Reason::UnknownBearer, format!("there is no bearer {rbid} of a UE {rnti}"));
        let next = config.ok_or_else(unknown)?.after(&command.action)?;
        self.0.control(now, &command, &next).map(|()| Progress::Done)
    }
}
