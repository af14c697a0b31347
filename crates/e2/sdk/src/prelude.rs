//! The names that most programs need: `use ranlab_sdk::prelude::*;`.
//!
//! Everything else is in [`e2`](crate::e2) (machines, their events and configurations), [`wire`](crate::wire)
//! (messages and service models) and [`transport`](crate::transport) (addresses and sockets).
pub use crate::{
    Agent, Bytes, DurationExt, Events, Indications, Report, ReportRequest, ReportStream, Ric, TypedSubscribe,
    Xapp,
};
pub use ranlab_e2::Time;
pub use ranlab_e2::agent::{AgentEvent, RanFunction};
pub use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, ListenerProtocol, RicConfig, RicEvent};
pub use ranlab_e2::xapp::{FunctionRef, XappConfig, XappEvent};
pub use ranlab_e2_codec::e2ap::{ComponentConfigItem, GlobalE2NodeId, NodeIdentity, Plmn};
pub use ranlab_e2_codec::e2sm::{self, Model, ServiceModel};
pub use ranlab_transport::{Address, SocketOptions};
