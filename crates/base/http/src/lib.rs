//! HTTP for all crates, independent of RAN protocols: one access policy, responses from values that stay on one thread, and
//! live pages.
//!
//! | module | content |
//! |---|---|
//! | [`guard`] | access policy: loopback or token, the Host header, content types |
//! | [`token`] | tokens of clients, and the peers that need none |
//! | [`board`] | live page of a command that runs |
//! | [`sse`] | lines of a listener as server-sent events or NDJSON |
//! | [`https`] | TLS of listeners and clients |
//! | [`listen`] | connections of clients, and their limits |
//! | [`server`] | route tables behind the policy |
//! | [`audit`] | audit of a server: requests of an attacker to each route |
//! | [`openapi`] | OpenAPI descriptions of route tables |
//! | [`page`] | files of the embedded page |
#![deny(missing_docs)]

pub mod audit;
pub mod board;
pub mod guard;
pub mod https;
pub mod listen;
pub mod openapi;
pub mod page;
pub mod server;
pub mod sse;
mod thread_bridge;
pub mod token;

pub use ranlab_page::base64;
pub use thread_bridge::ThreadBridge;
