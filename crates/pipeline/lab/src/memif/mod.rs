//! An open-loop [`tester`] on memif ports, and ranlab's packet engine on memif ports as the [`device`] under test.
mod cores;
pub mod device;
pub mod tester;

pub use ranlab_memif::{
    Down, Port, PortError, Put, RINGS_MAX, Refusal, Rings, Role, Settings, SettingsError,
};
