//! Sockets and tasks around the E2 machines; no decisions. The one door for users.
//!
//! | to build | start with |
//! |---|---|
//! | a base station's agent | [`AgentHandle`] |
//! | a RIC with iApps | [`RicHandle`] |
//! | an xApp | [`XappHandle`] |
//!
//! Everything lives on one thread; [`run`] provides it. A RIC may have its sockets served by further ones
//! ([`RicHandle::start_on`]). [`e2`], [`wire`] and the [`Bytes`] in their interfaces are re-exported:
//! users need no other crate.
//! What drives them drives any machine: [`driver`].
#![deny(missing_docs)]

mod agent;
mod alarm;
mod clock;
pub mod driver;
mod effect;
mod events;
mod handle;
mod ric;
mod run;
mod threads;
pub mod transport;
mod typed;
mod xapp;

pub use agent::{AgentConnectError, AgentHandle};
pub use alarm::Alarm;
pub use bytes::Bytes;
pub use clock::{now, unix_time, unix_time_at};
pub use effect::{EffectFailure, Measured, Watch};
pub use events::EventStream;
pub use handle::Handle;
pub use ranlab_e2 as e2;
pub use ranlab_wire as wire;
pub use ric::RicHandle;
pub use run::run;
pub use threads::{Far, QUEUE_BYTES, ThreadReport};
pub use typed::{Ask, Malformed, Report, Reports, Span, TypedControlError, Wanted, WantedError};
pub use xapp::{ControlFailure, Subscription, SubscriptionError, XappConnectError, XappHandle};
