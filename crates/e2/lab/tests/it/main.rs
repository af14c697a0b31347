//! Components of E2 over loopback and in virtual time. One program, because each costs CI time to link.

mod controllers;
mod network;
mod one_by_one;
mod tenants;
mod values;
