//! Rigs with a simulated form, compared with results calculated by hand.

use ranlab_campaign::rig::Rig;
use ranlab_rigs::{Lab, by_name};

use super::Row;
use super::campaigns::{Question, mock, row};
use crate::process::ranlab;

/// Rate on the wire of a split 7.2x cell of 100 MHz and four layers, in Mbit/s (docs/explanation/xhaul.md).
const CELL_MBPS: f64 = 6899.2;

fn xhaul() -> Box<dyn Rig> {
    by_name(&Lab::new(ranlab()), "xhaul").unwrap_or_else(mock)
}

pub(super) fn rows(seeds: u64) -> Vec<Row> {
    let cells = "[cells]\nsplit = \"7.2x\"\ncarrier = \"nr-100\"\npacing = \"spread\"\n";
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
    ];
    questions.iter().map(|question| row(question, seeds)).collect()
}
