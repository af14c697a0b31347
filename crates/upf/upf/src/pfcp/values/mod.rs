//! Values of information elements (TS 29.244 §8.2).
mod address;
mod flags;
mod number;
mod pfd;
mod qos;
mod usage;

pub use address::*;
pub use flags::*;
pub use number::*;
pub use pfd::*;
pub use qos::*;
pub use usage::*;
