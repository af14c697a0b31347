//! DPDK's `dpdk-testpmd`, which has no pipelines. It shows the cost of moving packets between two ports with the same
//! drivers, and is therefore the baseline of all other DPDK programs.

use super::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, TextConsumer, Tier, Translation,
    UnsupportedElement, UnsupportedPipeline, element_name,
};
use super::{permitted, refuse_changes};
use crate::declare::{Change, Element};

/// Backend for `dpdk-testpmd`.
#[derive(Debug)]
pub struct Testpmd;

impl Backend for Testpmd {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "testpmd",
            title: "DPDK testpmd, the baseline",
            install: "apt install dpdk-dev",
            programs: &["dpdk-testpmd"],
            tiers: &[Tier::Mem, Tier::Ring],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        let lack = |(direction, element): (crate::declare::Direction, &Element)| {
            let reason = match element {
                Element::Emit { port, source: None } if *port == direction.ingress().other() => return None,
                Element::Emit { source: Some(_), .. } => {
                    Reason::NoAction("write a source MAC that is not its port's own")
                }
                _ => Reason::NoMatch("anything: it forwards from port to port"),
            };
            Some(UnsupportedElement { element: element_name(element), reason })
        };
        request.elements().filter_map(lack).collect()
    }

    fn equivalences(&self, _: &BackendRequest<'_>) -> Vec<Equivalence> {
        Vec::new()
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        let mut translation = Translation::default();
        // One core forwards, another runs the main thread. Checksum offload and link status are not used.
        let arguments = ["--forward-mode=io", "--nb-cores=1", "--rxq=1", "--txq=1", "--no-lsc-interrupt"];
        let lines = arguments.iter().map(|argument| format!("{argument}\n")).collect();
        translation.push("arguments", TextConsumer::Testpmd, lines);
        Ok(translation)
    }

    fn update(&self, _: &BackendRequest<'_>, changes: &[Change]) -> Result<Translation, UnsupportedPipeline> {
        refuse_changes(self, changes, Reason::NoAction("be changed: it has no tables"))
    }
}
