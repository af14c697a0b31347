//! `ranlab check ric` and `ranlab check agent`: conformance of a RIC or an E2 agent.
use ranlab_command::check::{self, Options};
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::verb::{Context, Run};
use ranlab_transport::Address;

use crate::check::{AgentCheck, RicCheck, agent_checks, check_agent, check_ric, ric_checks};

/// Arguments of `check ric`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check ric tcp://127.0.0.1:36421 --e42 tcp://127.0.0.1:36422 --junit ric.xml\n  ranlab check ric sctp://10.0.0.1:36421 --only setup,reset"
)]
pub struct RicArguments {
    /// Address of the RIC's listener for base stations
    #[arg(required_unless_present = "list")]
    address: Option<Address>,
    #[command(flatten)]
    check: Flags<RicCheck>,
    #[command(flatten)]
    options: Options,
}

/// Arguments of `check agent`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab check agent tcp://127.0.0.1:36421 --junit agent.xml\n  ranlab check agent sctp://0.0.0.0:36421 --hostile\n  ranlab check agent shim:///run/ranlab:36421 --node \"001.01 411/du 0\""
)]
pub struct AgentArguments {
    /// Address on which the agent's connection is accepted
    #[arg(required_unless_present = "list")]
    address: Option<Address>,
    #[command(flatten)]
    check: Flags<AgentCheck>,
    #[command(flatten)]
    options: Options,
}

impl Run for RicArguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { address, check, options } = self;
        check::run("check ric", &options, context.format, address, &ric_checks(), |address, report| {
            check_ric(&address, &check.config, report)
        })
    }
}

impl Run for AgentArguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let Self { address, check, options } = self;
        check::run("check agent", &options, context.format, address, &agent_checks(), |address, report| {
            let listening = |at: &Address| {
                eprintln!("waiting for an agent at {at}");
                Ok(())
            };
            check_agent(&address, &check.config, listening, report)
        })
    }
}
