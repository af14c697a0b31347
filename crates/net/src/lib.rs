//! Socket system calls that std lacks; the only floor-0 crate with `unsafe`, each block with its reason.
