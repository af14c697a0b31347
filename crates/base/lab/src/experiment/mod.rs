//! Code shared by the rigs of every domain. The harness starts components and measures windows. Other modules contain
//! common keys, the judgement of noise, profiles of third-party systems, and accounts of CPU time and memory.

pub mod account;
pub mod fake;
pub mod harness;
pub mod keys;
pub mod noise;
pub mod profile;
pub mod readback;
pub mod third_party;
pub mod wire;
