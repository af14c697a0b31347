//! The binary `ranlab`: parses, composes, prints; nothing else.
fn main() {}
