//! N4: what a session management function (SMF) and a user plane function (UPF) say to each other in PFCP.
//!
//! * [`Smf`]: associates, keeps the heartbeat, establishes, modifies and deletes sessions from templates, retransmits or
//!   not, and accounts for every request in its [`Ledger`].
//! * [`Upf`]: the control half of a user plane: associations, sessions and their rules, duplicates answered from a
//!   cache, reports.
//! * [`Mock`]: a UPF with a service time, losses, scans and a crash, to measure the measuring with.
//! * [`Dialect`]: how the user planes of this world differ, as settings.
//! * [`replay`]: sessions of a capture, repeated.
//! * [`Pair`]: both ends on a bad link in virtual time.
mod cache;
mod dialect;
mod faults;
mod ledger;
mod link;
mod mix;
mod mock;
mod pair;
pub mod replay;
mod requests;
mod rules;
mod session;
mod smf;
mod upf;

pub use dialect::{Demands, Dialect, NameForm, PFCP_PORT, Purges, Sends, TeidChoice};
pub use faults::UpfFault;
pub use ledger::{Counts, Done, Kind, Ledger, Outcome};
pub use link::{Impairments, Link};
pub use mock::{Mock, MockSettings};
pub use pair::Pair;
pub use requests::{Full, Retransmission};
pub use rules::{Direction, INACTIVITY, RuleFault, Session};
pub use session::{Change, SessionProfile, SessionSpec, SessionTemplates, Tunnel};
pub use smf::{Refused, SessionId, Smf, SmfEvent, SmfInput, SmfOutput, SmfSettings};
pub use upf::{
    DataPlane, ELEMENTS, Element, Group, MAX_SHAPES, NoDataPlane, Support, UePool, UePoolError, Upf,
    UpfCounters, UpfEvent, UpfInput, UpfOutput, UpfSettings, UsageQuery,
};
