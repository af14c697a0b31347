//! The binary `ranlab`: parses, composes, prints; nothing else.
use ranlab_cli::{exit, verbs};

fn main() -> std::process::ExitCode {
    exit::report(verbs::run(std::env::args_os()))
}
