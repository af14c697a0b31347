//! N4: the PFCP interface between a session management function (SMF) and a user plane function (UPF).
//!
//! * [`Smf`]: associates, sends heartbeats, establishes, modifies and deletes sessions from templates, retransmits
//!   where configured, and accounts for every request in its [`RequestStats`].
//! * [`Upf`]: the control half of a user plane: associations, sessions and their rules, reports. It answers
//!   duplicates from a cache.
//! * [`Mock`]: a UPF with a known service time, known losses and a crash. It tests the load generator.
//! * [`Dialect`]: differences between user planes, as settings.
//! * [`replay`]: repeats the sessions of a capture.
//! * [`Pair`]: both ends on an impaired link in virtual time.
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

pub use dialect::{
    AssociationReset, Dialect, NameForm, PFCP_PORT, SmfMessageStyle, TeidChoice, UpfRequirements,
};
pub use faults::UpfFault;
pub use ledger::{Counts, Kind, Outcome, RequestEnd, RequestStats};
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
