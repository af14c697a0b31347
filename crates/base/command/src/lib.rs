//! Common parts of the verbs of all domains.
//!
//! * [`verb`]: registration of verbs; [`emulate`], [`check`]: verbs that several domains extend.
//! * [`args`]: argument types of several verbs; [`scenario`]: a scenario as an argument.
//! * [`flags`]: flags generated from a component's configuration.
//! * [`exit`]: exit codes and failures; [`output`]: printing; [`live`]: lines of a running verb; [`web`], [`fleet_page`]: its page.

pub mod args;
pub mod check;
pub mod emulate;
pub mod exit;
pub mod flags;
pub mod fleet_page;
pub mod live;
pub mod log;
pub mod output;
pub mod program;
pub mod scenario;
pub mod verb;
pub mod web;
