//! Splits each redundant flow into parts: the common start, the branches and the common end. Each part is analysed as a
//! flow.

use super::super::network::{Flow, Network, Shared, StageId};
use super::Bound;

/// Network in which every frame of a flow is sent once.
pub(super) struct Parts {
    pub(super) network: Network,
    /// For each part, the parts that directly precede it.
    pub(super) before: Vec<Vec<usize>>,
    /// For each original flow, its last parts: a single part, or the branches if they have no common end.
    last: Vec<Vec<usize>>,
}

impl Parts {
    pub(super) fn new(network: &Network) -> Self {
        let stages = network.stages.clone();
        let network_of_parts = Network { stages, flows: Vec::new() };
        let mut parts = Self { network: network_of_parts, before: Vec::new(), last: Vec::new() };
        for flow in &network.flows {
            if flow.replicas.is_empty() {
                let part = parts.add(flow, &flow.path, Vec::new());
                parts.last.push(vec![part]);
                continue;
            }
            let Shared { head, tail } = flow.shared;
            let start = (head > 0).then(|| parts.add(flow, &flow.path[..head], Vec::new()));
            let branches = flow
                .paths()
                .map(|path| parts.add(flow, &path[head..path.len() - tail], start.into_iter().collect()));
            let branches: Vec<usize> = branches.collect();
            let end = &flow.path[flow.path.len() - tail..];
            let last = if tail > 0 { vec![parts.add(flow, end, branches)] } else { branches };
            parts.last.push(last);
        }
        parts
    }

    fn add(&mut self, flow: &Flow, path: &[StageId], before: Vec<usize>) -> usize {
        let path = path.to_vec();
        let part = Flow { path, replicas: Vec::new(), shared: Shared::default(), ..flow.clone() };
        self.network.flows.push(part);
        self.before.push(before);
        self.network.flows.len() - 1
    }

    /// Returns the stage before the first stage of a part, if exactly one part precedes it.
    pub(super) fn stage_before(&self, part: usize) -> Option<StageId> {
        match self.before[part][..] {
            [before] => self.network.flows[before].path.last().copied(),
            _ => None,
        }
    }

    /// Returns the stage after the last stage of a part. If several branches follow, returns the stage of the first branch.
    pub(super) fn stage_after(&self, part: usize) -> Option<StageId> {
        let after = self.before.iter().position(|before| before.contains(&part))?;
        self.network.flows[after].path.first().copied()
    }

    /// Returns each boundary between two parts: the last stage of the first part and the first stage of the second part.
    pub(super) fn joints(&self) -> impl Iterator<Item = (StageId, StageId)> {
        let ends = |before: usize| self.network.flows[before].path.last().copied();
        self.before.iter().zip(&self.network.flows).flat_map(move |(before, flow)| {
            before.iter().filter_map(move |&before| Some((ends(before)?, *flow.path.first()?)))
        })
    }

    /// Returns the bound of each original flow. It is the bound of the slowest path, so it also applies if the other paths fail.
    pub(super) fn join(&self, found: &[Bound]) -> Vec<Bound> {
        let of = |last: &Vec<usize>| {
            let bounds = || last.iter().map(|&part| &found[part]);
            let slowest = bounds().max_by_key(|bound| bound.delay_ps)?;
            let least_ps = bounds().map(|bound| bound.least_ps).min()?;
            Some(Bound { least_ps, ..slowest.clone() })
        };
        self.last.iter().filter_map(of).collect()
    }
}
