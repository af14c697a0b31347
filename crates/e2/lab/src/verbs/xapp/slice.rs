//! `ranlab xapp slice`: configures slices over REST.
use crate::SliceXappComponent;

use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::output::{Format, Output};

/// Arguments of `xapp slice`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  ranlab xapp slice --rest http://127.0.0.1:8091 --slice 1=0.66,2=0.34 --ue 17921=1,17922=2"
)]
pub struct Arguments {
    #[command(flatten)]
    slice: Flags<SliceXappComponent>,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let report = arguments.slice.config.run().await?;
    let mut output = Output::new(format);
    output.text(format_args!(
        "{} base stations have the requested slices, {} UEs are in their slices",
        report.nodes, report.ues
    ))?;
    output.finish(&report)
}
