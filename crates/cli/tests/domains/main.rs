//! Scenarios and rigs of all domains.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

mod meaning;
mod scenarios;
mod virtual_time;
