//! Sockets and threads for the E2 state machines, without protocol logic. Applications start here.
//!
//! | application | handle for any thread | handle for one thread |
//! |---|---|---|
//! | agent of a base station | [`Agent`] | [`AgentHandle`] |
//! | RIC with iApps | [`Ric`] | [`RicHandle`] |
//! | xApp | [`Xapp`] | [`XappHandle`] |
//!
//! The handles for any thread are `Send` and `Clone`. They work under `#[tokio::main]`, in `tokio::spawn` and in every
//! other executor, because their machine has its own thread ([`Actor`]). The handles for one thread need a
//! `LocalSet`, which [`run`] provides. They save the switch between threads. Additional threads can serve the sockets
//! of a RIC ([`RicHandle::start_on`]).
//!
//! ```no_run
//! use ranlab_sdk::prelude::*;
//!
//! # async fn watch() -> Result<(), Box<dyn std::error::Error>> {
//! let xapp = Xapp::connect("tcp://127.0.0.1:36422").await?;
//! let reports = xapp.subscribe(&e2sm::mac::Mac, 10.ms()).await?;
//! while let Some(item) = reports.next().await {
//!     println!("{}: {:?}", item.node, reports.table(&item)?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`e2`], [`wire`], [`transport`] and [`bytes`] are re-exported, so applications need no other crate of this
//! project. The [`driver`] runs any other machine, too.
#![deny(missing_docs)]

mod agent;
mod effect;
mod events;
mod handle;
pub mod prelude;
mod ric;
mod shared;
mod threads;
mod typed;
mod xapp;

pub use agent::{AgentConnectError, AgentHandle};
pub use bytes::{self, Bytes};
pub use effect::{ControlEffect, EffectFailure, EffectQuery};
pub use events::EventStream;
pub use handle::Handle;
pub use ranlab_e2 as e2;
pub use ranlab_e2_codec as wire;
pub use ranlab_transport as transport;
pub use ranlab_transport::{Alarm, driver, now, run, unix_time, unix_time_at};
pub use ric::RicHandle;
pub use shared::{
    Actor, Agent, AgentBuilder, COMMANDS_MAX, Closed, EVENTS_MAX, Events, FindNodeError, Indications, Item,
    ListenError, NodeOffer, PROBLEMS_MAX, Problems, QueueCounts, REQUESTS_MAX, ReportRequest, ReportStream,
    RequestError, Ric, StartError, UNREAD_BYTES_MAX, UNREAD_MAX, Xapp,
};
pub use threads::{QUEUE_BYTES, RemoteLink, ThreadReport};
pub use typed::{
    DurationExt, Malformed, Report, Reports, SubscriptionSpec, TypedControlError, TypedSubscribe, WantedError,
};
pub use xapp::{ControlFailure, Subscription, SubscriptionError, XappConnectError, XappHandle};
