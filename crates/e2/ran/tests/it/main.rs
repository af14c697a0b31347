//! Tests of emulated E2 nodes with agents, RICs and iApps, in virtual time. All tests are one program, because
//! linking each program costs CI time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic, like tests")]

#[allow(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../../machines/tests/agent/driver.rs"]
mod driver;
mod figure_4;
mod flexric;
#[path = "../../../machines/tests/flexric_models/mod.rs"]
mod flexric_models;
mod fluid;
#[path = "../../../ric/tests/lab/mod.rs"]
mod lab;
mod quotas;
mod radio;
mod rc;
mod split;
mod stages;
#[allow(dead_code, reason = "no test uses all of it")]
mod station;
