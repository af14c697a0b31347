//! `ranlab check upf`: conformance of a user plane function.
use std::net::SocketAddr;

use ranlab_command::args;
use ranlab_command::check::{self, Options};
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::verb::{Context, Run};

use crate::check::{UpfCheck, check_upf, upf_checks};

/// Arguments of `check upf`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check upf 127.0.0.8:8805 --n3 127.0.0.8:2152 --gnb 127.0.1.1:2152\n  ranlab check upf 127.0.0.7:8805 --n3 127.0.0.7:2152 --dialect open5gs --ue 10.45.0.2 --n6 routed://10.45.0.1:9 --only 'trap 3,echo'"
)]
pub struct Arguments {
    /// Address and port of the UPF's N4
    #[arg(value_name = "ADDRESS:PORT", value_parser = args::socket_address, required_unless_present = "list")]
    address: Option<SocketAddr>,
    #[command(flatten)]
    check: Flags<UpfCheck>,
    #[command(flatten)]
    options: Options,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { address, check, options } = self;
        check::run("check upf", &options, context.format, address, &upf_checks(), |address, report| {
            check_upf(address, &check.config, report)
        })
    }
}
