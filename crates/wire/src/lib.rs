//! Bytes and types: a decoder returns a typed value or a typed error; no clock, no I/O, no panic, bounded allocation.
