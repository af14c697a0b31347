//! Scenarios and rigs of all domains.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod meaning;
mod scenarios;
mod virtual_time;
