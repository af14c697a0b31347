//! Rigs that can run in virtual time, compared with results calculated manually.

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Outcome, Rig, RigDescription, RigError, Run};
use ranlab_cli::domains::by_name;
use ranlab_e2_lab::rigs::virtual_time::{self, RepeatOptions};
use ranlab_lab::RigContext;

use super::Row;
use super::campaigns::{Question, mock, row};
use crate::process::ranlab;

/// Rate on the wire of a split 7.2x cell of 100 MHz and four layers, in Mbit/s (docs/explanation/xhaul.md).
const CELL_MBPS: f64 = 6899.2;

/// A rig whose repeats run in virtual time, as in `ranlab sim`.
struct InVirtualTime(Box<dyn Rig>);

impl Rig for InVirtualTime {
    fn describe(&self) -> RigDescription {
        self.0.describe()
    }

    fn prepare(&mut self, _run: &Run<'_>) -> Result<(), RigError> {
        Ok(())
    }

    fn warm_up(&mut self, _run: &Run<'_>) -> Result<(), RigError> {
        Ok(())
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let passed = virtual_time::run(run, RepeatOptions::default())?;
        passed.recording.metrics.iter().for_each(|(name, value)| recorder.scalar(name, *value));
        Ok(passed.outcome)
    }

    fn tear_down(&mut self) {}
}

fn radio() -> Box<dyn Rig> {
    Box::new(InVirtualTime(by_name(&RigContext::new(ranlab()), "radio").unwrap_or_else(mock)))
}

fn tenants() -> Box<dyn Rig> {
    Box::new(InVirtualTime(by_name(&RigContext::new(ranlab()), "tenants").unwrap_or_else(mock)))
}

/// Traffic of 4 Mbit/s that is sent for 150 ms and pauses for 50 ms. It consists of complete packets of 1,500 octets. A
/// window of 4 s has 20 periods, regardless of its start.
const THREE_QUARTERS: &str = "udp:4:150ms:50ms";
/// Throughput of two UEs with the traffic [`THREE_QUARTERS`], in Mbit/s.
const TWO_UES_MBPS: f64 = 2.0 * 4.0 * 0.75;

fn xhaul() -> Box<dyn Rig> {
    by_name(&RigContext::new(ranlab()), "xhaul").unwrap_or_else(mock)
}

pub(super) fn rows(seeds: u64) -> Vec<Row> {
    let cells = "[cells]\nsplit = \"7.2x\"\ncarrier = \"nr-100\"\ntdd = \"off\"\npacing = \"spread\"\n";
    let base = |count: u32, mbps: f64| {
        format!(
            "[sut]\ntier = \"sim\"\nsharing = \"none\"\n{cells}count = {count}\n[background]\ndirection = \"none\"\n\
             [net]\nmbps = {mbps:?}\nmtu = 9000\n[measure]\nduration = \"5ms\"\nwarm_up = \"0s\"\nrepeats = 2\n"
        )
    };
    let knee = |more: &str| {
        format!("[search]\ntype = \"knee\"\nmetric = \"cell_dl.delay_us_max\"\nat_most = 1000\n{more}\n")
    };
    let questions = [
        Question {
            name: "xhaul: cells that a port of 25 Gbit/s carries",
            text: base(1, 25_000.0) + &knee("axis = \"cells.count\"\nmin = 1\nmax = 8"),
            metric: "search.load",
            truth: (25_000.0 / CELL_MBPS).floor(),
            precision: 0.34,
            rig: xhaul,
        },
        Question {
            name: "xhaul, smallest: link for three cells",
            text: base(3, 50_000.0)
                + &knee(
                    "find = \"smallest\"\naxis = \"net.mbps\"\nmin = 10_000\nmax = 50_000\nprecision = 0.002",
                ),
            metric: "search.load",
            truth: 3.0 * CELL_MBPS,
            precision: 0.002,
            rig: xhaul,
        },
        Question {
            name: "radio: two UEs with on/off traffic",
            text: format!(
                "[sut]\ntype = \"ric\"\n[load]\nues = 2\nflows = [\"{THREE_QUARTERS}\"]\n[measure]\nduration = \"4s\"\nrepeats = 5\n"
            ),
            metric: "total_mbps",
            truth: TWO_UES_MBPS,
            precision: 0.0,
            rig: radio,
        },
        Question {
            name: "tenants: the same of two UEs of one operator",
            text: format!(
                "[load]\nflows = [\"1-2={THREE_QUARTERS}\"]\n[measure]\nduration = \"4s\"\nrepeats = 5\n"
            ),
            metric: "tenant1_mbps",
            truth: TWO_UES_MBPS,
            precision: 0.0,
            rig: tenants,
        },
    ];
    questions.iter().map(|question| row(question, seeds)).collect()
}
