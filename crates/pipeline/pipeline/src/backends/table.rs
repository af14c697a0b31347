//! The table in the documentation that shows the elements that each backend can express.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Backend, BackendRequest, Equivalence, all, permitted};
use crate::declare::Direction;
use crate::pipelines::Pipeline;

/// Returns the content of `docs/reference/backends.md`: every backend with every pipeline, in both directions and with
/// default parameters.
#[must_use]
pub fn document() -> String {
    let pipelines = Pipeline::all();
    let names: String = pipelines.iter().map(|pipeline| format!(" {} |", pipeline.name())).collect();
    let mut out = format!("{HEAD}| `sut.engine` | what | tiers |{names}\n|---|---|---|");
    let _ = writeln!(out, "{}", "---|".repeat(pipelines.len()));
    let _ =
        writeln!(out, "| `native` | ranlab's own engine | mem, ring |{}", " yes |".repeat(pipelines.len()));
    let mut reasons = String::new();
    for backend in all() {
        let tiers: Vec<&str> = backend.tiers().iter().map(|tier| tier.name()).collect();
        let tiers = if tiers.is_empty() { "written only".to_owned() } else { tiers.join(", ") };
        let mut row = BackendRow::default();
        let cells: String = pipelines.iter().map(|pipeline| row.add_pipeline(*backend, pipeline)).collect();
        let _ = writeln!(out, "| `{}` | {} | {tiers} |{cells}", backend.name(), backend.title());
        let _ = writeln!(reasons, "\n## `{}`: {}\n", backend.name(), backend.title());
        let _ = writeln!(reasons, "Installed by: `{}`.\n", backend.install());
        row.write(&mut reasons);
    }
    out + &reasons
}

/// A backend's results for all pipelines.
#[derive(Default)]
struct BackendRow {
    /// For each reason, the unsupported elements, and the pipelines with their directions.
    lacks: BTreeMap<String, (BTreeSet<&'static str>, BTreeSet<String>)>,
    /// For each equivalence, the pipelines to which it applies.
    differs: BTreeMap<Equivalence, BTreeSet<&'static str>>,
}

impl BackendRow {
    /// Adds the results for one pipeline. Returns its table cell.
    fn add_pipeline(&mut self, backend: &dyn Backend, pipeline: &Pipeline) -> String {
        let Ok(declaration) = pipeline.build() else { return String::new() };
        let mut able = Vec::new();
        for (direction, way) in [(Direction::Uplink, "up"), (Direction::Downlink, "down")] {
            let request = BackendRequest { declaration: &declaration, directions: &[direction] };
            match permitted(backend, &request) {
                Ok(()) => {
                    able.push(way);
                    for one in backend.equivalences(&request) {
                        self.differs.entry(one).or_default().insert(pipeline.name());
                    }
                }
                Err(refused) => refused.lacks.iter().for_each(|lack| {
                    let (elements, of) = self.lacks.entry(lack.reason.to_string()).or_default();
                    elements.insert(lack.element);
                    of.insert(format!("{} {way}", pipeline.name()));
                }),
            }
        }
        match able.as_slice() {
            [] => " no |".to_owned(),
            [one] => format!(" {one} only |"),
            _ => " yes |".to_owned(),
        }
    }

    fn write(&self, out: &mut String) {
        let joined = |all: &BTreeSet<&'static str>| all.iter().copied().collect::<Vec<_>>().join(", ");
        for (reason, (elements, of)) in &self.lacks {
            let of: Vec<&str> = of.iter().map(String::as_str).collect();
            let _ = writeln!(out, "* cannot: {reason}: {} ({})", joined(elements), of.join(", "));
        }
        for (one, of) in &self.differs {
            let _ = writeln!(out, "* differs: {} ({})", one.meaning(), joined(of));
        }
    }
}

const HEAD: &str = "\
# Switches that pipelines are compared on

Written by `RANLAB_WRITE_BACKENDS=1 cargo test -p ranlab-pipeline --test backends` from the declarations of the backends;
do not edit. A cell says in which directions (`up`: users to network) a backend can run a pipeline with its default
parameters. The sections below give the reasons for each element that a backend cannot run. They also list the differences
from the oracle's packets that do not count as errors. Some switches cannot be run any more (Lagopus, ESwitch, OF-DPA,
NetBricks): for those, results only quote the figures of the paper.

";
