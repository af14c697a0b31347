//! RAN functions that come with the crate.
