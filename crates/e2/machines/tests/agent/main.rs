//! Agent tests with scripted controllers in virtual time.
#![cfg(feature = "agent")]
#![allow(clippy::unwrap_used)]
mod ccc;
mod cell;
mod connections;
mod controls;
mod driver;
mod functional;
mod functions;
mod kpm;
mod ni;
mod rc;
mod rc_policies;
mod rc_reports;
mod robustness;
