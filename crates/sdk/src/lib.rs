//! Sockets and tasks around the E2 machines; no decisions. The one door for users.
#![deny(missing_docs)]

pub mod transport;
