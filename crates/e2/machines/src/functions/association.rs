//! Association control at an agent ([`ranlab_e2_codec::e2sm::association`]): adds and removes its controllers, and sets the UEs that each
//! of them sees.
//!
//! An agent does not always know which UE belongs to which controller; a DU, for example, does not see the PLMN that
//! a UE selected. The default controller therefore sends the associations. Other controllers may do so only if the
//! function was created with [`Association::open`].
use crate::agent::*;
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{Cause, CauseRicRequest};
pub use ranlab_e2_codec::e2sm::association::{
    AssociationCommand, DEFAULT_FUNCTION_ID, DEFINITION, OID, REVISION,
};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::{Encoding, Octets};

/// RAN function for association control.
#[derive(Debug, Default)]
pub struct Association {
    open: bool,
}

impl Association {
    /// Creates a function that accepts commands from the default controller only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a function that accepts commands from every controller.
    pub fn open() -> Self {
        Self { open: true }
    }
}

const INVALID: Cause = Cause::RicRequest(CauseRicRequest::ControlMessageInvalid);
const FAILED: Cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
const FULL: Cause = Cause::RicRequest(CauseRicRequest::FunctionResourceLimit);

/// Finds a controller by address. Returns a refusal if no controller has it.
fn find(ctx: &FunctionContext<'_>, address: &str) -> Result<ControllerId, (Cause, Refusal)> {
    let found = ctx.controllers().find(|(_, known)| *known == address).map(|(id, _)| id);
    let unknown = || Refusal::new(Reason::Invalid, format!("the agent has no controller {address}"));
    found.ok_or_else(|| (FAILED, unknown()))
}

/// Executes a command completely or not at all. Returns the id of an added controller.
fn execute(
    ctx: &mut FunctionContext<'_>,
    command: AssociationCommand,
) -> Result<Option<ControllerId>, (Cause, Refusal)> {
    match command {
        AssociationCommand::AddController { address } => match ctx.add_controller(address) {
            Ok(id) | Err(ControllerError::AlreadyThere(id)) => return Ok(Some(id)),
            Err(error @ ControllerError::TooMany(_)) => {
                return Err((FULL, Refusal::new(Reason::TooMany, error.to_string())));
            }
            Err(error) => return Err((INVALID, Refusal::new(Reason::Invalid, error.to_string()))),
        },
        AssociationCommand::RemoveController { address } => {
            let id = find(ctx, &address)?;
            let removed = ctx.remove_controller(id);
            removed.map_err(|error| (FAILED, Refusal::new(Reason::Invalid, error.to_string())))?;
        }
        AssociationCommand::Associate { ue, address } => {
            let id = find(ctx, &address)?;
            let associated = ctx.associate_ue(UeId(ue), id);
            associated.map_err(|error| (FAILED, Refusal::new(Reason::UnknownUe, error.to_string())))?;
        }
        AssociationCommand::Dissociate { ue, address } => {
            let id = find(ctx, &address)?;
            ctx.dissociate_ue(UeId(ue), id);
        }
    }
    Ok(None)
}

impl RanFunction for Association {
    fn description(&self) -> FunctionDescription {
        let definition = Bytes::from_static(DEFINITION);
        FunctionDescription { oid: OID.to_owned(), definition, revision: REVISION }
    }

    fn on_subscription(
        &mut self,
        _: &mut FunctionContext<'_>,
        _: SubscriptionRequest<'_>,
    ) -> Result<Admission, Cause> {
        Err(Cause::RicRequest(CauseRicRequest::ActionNotSupported))
    }

    fn on_subscription_delete(&mut self, _: &mut FunctionContext<'_>, _: SubscriptionId) {}

    fn on_control(
        &mut self,
        ctx: &mut FunctionContext<'_>,
        control: ControlRequest<'_>,
    ) -> Result<ControlOutcome, Cause> {
        let command = AssociationCommand::decode(control.message).ok_or(INVALID)?;
        let may = self.open || ctx.controller() == ctx.first_controller();
        let foreign =
            || Refusal::new(Reason::NotOwner, "only the default controller assigns UEs to controllers");
        let done = if may { execute(ctx, command) } else { Err((FAILED, foreign())) };
        match done {
            Ok(added) => {
                let number = |id: ControllerId| Bytes::copy_from_slice(&id.0.to_be_bytes());
                Ok(ControlOutcome { outcome: added.map(number) })
            }
            Err((cause, refusal)) => {
                ctx.explain(refusal.to_octets(Encoding::Per).unwrap_or_default());
                Err(cause)
            }
        }
    }
}
