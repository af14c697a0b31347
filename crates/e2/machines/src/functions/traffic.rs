//! TRAFFIC at a base station ([`ranlab_e2_codec::e2sm::traffic`]). A controller commands the bearers of UEs that it sees.
use super::command_function::{CommandFunction, CommandTarget, Progress, Requester};
use crate::Time;
use crate::agent::*;
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::traffic::{BearerId, Traffic, TrafficCommand, TrafficConfig, TrafficIndication};

/// Sublayer behind the function. It only receives commands that have been checked.
pub trait TrafficControl: Send {
    /// Returns the configuration of a bearer, or `None` if there is no such bearer.
    fn config(&self, bearer: BearerId) -> Option<TrafficConfig>;

    /// Returns the statistics of the bearers of the given UEs.
    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> TrafficIndication;

    /// Executes a command; `next` is the configuration of the bearer that includes it. A refusal changes nothing.
    ///
    /// # Errors
    /// Returns an error if the base station cannot execute the command.
    fn control(&mut self, now: Time, command: &TrafficCommand, next: &TrafficConfig) -> Result<(), Refusal>;
}

struct Station<C>(C);

/// The RAN function; register it as [`ranlab_e2_codec::e2sm::traffic::DEFAULT_FUNCTION_ID`].
pub fn function(control: impl TrafficControl + 'static) -> Box<dyn RanFunction> {
    Box::new(CommandFunction::new(Station(control)))
}

impl<C: TrafficControl> CommandTarget for Station<C> {
    type Model = Traffic;

    fn report(&mut self, now: Time, ues: UeFilter<'_>) -> TrafficIndication {
        self.0.report(now, ues)
    }

    fn execute(
        &mut self,
        now: Time,
        asker: &Requester<'_>,
        command: TrafficCommand,
    ) -> Result<Progress, Refusal> {
        let BearerId { rnti, rbid } = command.bearer;
        let config = Some(command.bearer).filter(|_| asker.sees(rnti)).and_then(|id| self.0.config(id));
        let unknown =
            || Refusal::new(Reason::UnknownBearer, format!("there is no bearer {rbid} of UE {rnti}"));
        let next = config.ok_or_else(unknown)?.after(&command.action)?;
        self.0.control(now, &command, &next).map(|()| Progress::Done)
    }
}
