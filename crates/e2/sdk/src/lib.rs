//! Sockets and tasks for the E2 state machines, without protocol logic. Applications start here.
//!
//! | application | start with |
//! |---|---|
//! | agent of a base station | [`AgentHandle`] |
//! | RIC with iApps | [`RicHandle`] |
//! | xApp | [`XappHandle`] |
//!
//! Everything runs on one thread, which [`run`] provides. Additional threads can serve the sockets of a RIC
//! ([`RicHandle::start_on`]). [`e2`], [`wire`] and the [`Bytes`] in their interfaces are re-exported, so applications
//! need no other crate. The [`driver`] runs any other machine, too.
#![deny(missing_docs)]

mod agent;
mod effect;
mod events;
mod handle;
mod ric;
mod threads;
mod typed;
mod xapp;

pub use agent::{AgentConnectError, AgentHandle};
pub use bytes::Bytes;
pub use effect::{EffectFailure, Measured, Watch};
pub use events::EventStream;
pub use handle::Handle;
pub use ranlab_e2 as e2;
pub use ranlab_e2_codec as wire;
pub use ranlab_transport as transport;
pub use ranlab_transport::{Alarm, driver, now, run, unix_time, unix_time_at};
pub use ric::RicHandle;
pub use threads::{Far, QUEUE_BYTES, ThreadReport};
pub use typed::{Ask, Malformed, Report, Reports, Span, SubscriptionSpec, TypedControlError, WantedError};
pub use xapp::{ControlFailure, Subscription, SubscriptionError, XappConnectError, XappHandle};
