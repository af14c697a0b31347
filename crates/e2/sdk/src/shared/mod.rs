//! Handles that are `Send` and `Clone`. The machine stays on a thread with a single-threaded runtime, and commands
//! reach it through a bounded channel.
mod actor;
mod agent;
mod events;
mod indications;
mod problems;
mod queue;
mod request;
mod ric;
mod xapp;

pub use actor::{Actor, COMMANDS_MAX, Closed, REQUESTS_MAX, StartError};
pub use agent::{Agent, AgentBuilder};
pub use events::{EVENTS_MAX, Events};
pub use indications::{Indications, ReportStream};
pub use problems::{PROBLEMS_MAX, Problems};
pub(crate) use queue::Queue;
pub use queue::{Item, QueueCounts, UNREAD_BYTES_MAX, UNREAD_MAX};
pub use request::{ReportRequest, RequestError};
pub use ric::{ListenError, Ric};
pub use xapp::{FindNodeError, NodeOffer, Xapp};
