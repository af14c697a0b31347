//! Parts of redundant flows, each a flow by itself: the common start, the branches, the common end.

use super::super::network::{Flow, Network, Shared, StageId};
use super::Bound;

/// A network in which every frame of a flow is sent once.
pub(super) struct Parts {
    pub(super) network: Network,
    /// For each part, those before it.
    pub(super) before: Vec<Vec<usize>>,
    /// For each original flow, the parts with which it ends.
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

    /// The stage before a part's first one, if it follows one part.
    pub(super) fn stage_before(&self, part: usize) -> Option<StageId> {
        match self.before[part][..] {
            [before] => self.network.flows[before].path.last().copied(),
            _ => None,
        }
    }

    /// The stage behind a part's last one; of several branches the first.
    pub(super) fn stage_after(&self, part: usize) -> Option<StageId> {
        let after = self.before.iter().position(|before| before.contains(&part))?;
        self.network.flows[after].path.first().copied()
    }

    /// The stages at which a part follows another: the last of the one, the first of the other.
    pub(super) fn joints(&self) -> impl Iterator<Item = (StageId, StageId)> {
        let ends = |before: usize| self.network.flows[before].path.last().copied();
        self.before.iter().zip(&self.network.flows).flat_map(move |(before, flow)| {
            before.iter().filter_map(move |&before| Some((ends(before)?, *flow.path.first()?)))
        })
    }

    /// The bound of each original flow: that of the slowest path, which holds if all others are cut.
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
