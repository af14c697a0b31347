//! Packet processing without sockets: declared pipelines, their oracles (slow reference implementations), their
//! traffic, and a native engine.
//!
//! | module | content |
//! |---|---|
//! | [`backends`] | third-party switches: the elements that each can express, and its configuration |
//! | [`declare`] | declarations of pipelines: tables, elements, changes; independent of any switch |
//! | [`pipelines`] | the telco pipelines of the benchmark TIPSY, each with declaration, traffic and oracle |
//! | [`trace`] | traffic from a seed |
//! | [`engine`] | the native engine |
//! | [`rss`] | selection of the worker for a packet |
//! | [`tester`] | an open-loop tester without sockets: pace, marks, packet accounting |
//!
//! The time is an argument (nanoseconds since any origin; it must not run backwards).
#![deny(missing_docs)]

pub mod backends;
pub mod declare;
pub mod engine;
pub mod pipelines;
mod reference;
pub mod rss;
pub mod tester;
pub mod trace;
