//! Tests of E2 components over loopback and in virtual time. All tests are one program, because linking each program
//! costs CI time.

mod controllers;
mod network;
mod one_by_one;
mod tenants;
mod values;
