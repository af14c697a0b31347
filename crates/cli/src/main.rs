//! Binary `ranlab`: calls the library.
use ranlab_cli::{exit, verbs};

fn main() -> std::process::ExitCode {
    exit::report(verbs::run(std::env::args_os()))
}
