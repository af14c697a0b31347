//! A packet's fate is decided without sockets: declared pipelines, their reference, their traffic and a native engine.
//!
//! | module | content |
//! |---|---|
//! | [`backends`] | other people's switches: what each can express, and its configuration |
//! | [`declare`] | what a pipeline does: tables, elements, changes; not bound to any switch |
//! | [`pipelines`] | the telco pipelines of the published benchmark, each with declaration, traffic and oracle |
//! | [`trace`] | traffic from a seed |
//! | [`engine`] | the native engine |
//! | [`memif`] | memif, both endpoints of its control channel: packets in shared memory, from one program to another |
//! | [`spread`] | which worker a packet reaches |
//! | [`tester`] | an open-loop tester without its sockets: pace, marks, what became of each packet |
//!
//! Time is an argument (nanoseconds from any origin that does not run backwards).
#![deny(missing_docs)]

pub mod backends;
pub mod declare;
pub mod engine;
pub mod memif;
pub mod pipelines;
mod reference;
pub mod spread;
pub mod tester;
pub mod trace;
