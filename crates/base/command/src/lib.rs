//! What the verbs of every domain share.
//!
//! * [`args`]: argument types of several verbs.
//! * [`flags`]: flags generated from a component's configuration.
//! * [`exit`]: exit codes and failures; [`output`]: printing; [`live`]: lines of a running verb; [`web`]: its page.

pub mod args;
pub mod exit;
pub mod flags;
pub mod live;
pub mod log;
pub mod output;
pub mod program;
pub mod web;
