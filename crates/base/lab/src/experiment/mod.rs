//! Code shared by the rigs of every domain: the harness that starts components and measures windows, keys, noise,
//! profiles of third-party systems, and accounts of CPU time and memory.

pub mod account;
pub mod fake;
pub mod harness;
pub mod keys;
pub mod noise;
pub mod profile;
pub mod readback;
pub mod third_party;
pub mod wire;
