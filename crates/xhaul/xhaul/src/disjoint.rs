//! Shortest paths that share no node: minimum-cost flow, in which each node is split in two (Suurballe).

/// Arc of the residual graph.
#[derive(Debug, Clone, Copy)]
struct Arc {
    from: usize,
    to: usize,
    cost: i64,
    free: bool,
    /// Line that the arc represents, if any.
    line: Option<usize>,
}

/// Returns up to `count` paths from `from` to `to` that share no line and no inner node, as lists of lines. The total length of the paths
/// is minimal. `links` contains (line, from, to).
pub(super) fn paths(
    links: &[(usize, usize, usize)],
    from: usize,
    to: usize,
    count: usize,
) -> Vec<Vec<usize>> {
    let nodes = links.iter().map(|&(_, from, to)| from.max(to)).chain([from, to]).max().unwrap_or(0) + 1;
    // Every node has an entry (2 n) and an exit (2 n + 1). At most one path connects them.
    let mut arcs: Vec<Arc> = Vec::new();
    let mut add = |from, to, cost, line| {
        arcs.push(Arc { from, to, cost, free: true, line });
        arcs.push(Arc { from: to, to: from, cost: -cost, free: false, line });
    };
    for node in (0..nodes).filter(|&node| node != from && node != to) {
        add(2 * node, 2 * node + 1, 0, None);
    }
    for &(line, a, b) in links {
        add(2 * a + 1, 2 * b, 1, Some(line));
    }
    for _ in 0..count {
        if !augment(&mut arcs, 2 * from + 1, 2 * to, 2 * nodes) {
            break;
        }
    }
    let mut used: Vec<Arc> = arcs.iter().step_by(2).filter(|arc| !arc.free).copied().collect();
    let mut paths = Vec::new();
    while let Some(path) = follow(&mut used, 2 * from + 1, 2 * to) {
        paths.push(path);
    }
    paths
}

/// Adds one path along the cheapest path of the residual graph. Returns `false` if no path is left.
fn augment(arcs: &mut [Arc], source: usize, sink: usize, nodes: usize) -> bool {
    let mut cost = vec![i64::MAX; nodes];
    let mut by: Vec<Option<usize>> = vec![None; nodes];
    cost[source] = 0;
    // Bellman-Ford algorithm: residual arcs may have negative costs, but there is no negative cycle.
    for _ in 0..nodes {
        let mut changed = false;
        for (index, arc) in arcs.iter().enumerate().filter(|(_, arc)| arc.free) {
            let reached = cost[arc.from].saturating_add(arc.cost);
            if cost[arc.from] != i64::MAX && reached < cost[arc.to] {
                cost[arc.to] = reached;
                by[arc.to] = Some(index);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut at = sink;
    while at != source {
        let Some(index) = by[at] else { return false };
        arcs[index].free = false;
        arcs[index ^ 1].free = true;
        at = arcs[index].from;
    }
    true
}

/// Removes one path of used arcs and returns its lines.
fn follow(used: &mut Vec<Arc>, source: usize, sink: usize) -> Option<Vec<usize>> {
    let mut lines = Vec::new();
    let mut at = source;
    while at != sink {
        let index = used.iter().position(|arc| arc.from == at)?;
        let arc = used.swap_remove(index);
        lines.extend(arc.line);
        at = arc.to;
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns both directions of these cables. Lines 2 n and 2 n + 1 are the two directions of cable n.
    fn cables(ends: &[(usize, usize)]) -> Vec<(usize, usize, usize)> {
        let both = |(index, &(a, b)): (usize, &(usize, usize))| [(2 * index, a, b), (2 * index + 1, b, a)];
        ends.iter().enumerate().flat_map(both).collect()
    }

    #[test]
    fn ring_has_two_paths() {
        let ring = cables(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]);
        assert_eq!(paths(&ring, 0, 2, 3), [vec![0, 2], vec![11, 9, 7, 5]]);
    }

    #[test]
    fn two_disjoint_paths_avoid_the_shortest_path() {
        // The shortest path 0-1-2-5 blocks both other paths, which use its middle nodes.
        let trap = cables(&[(0, 1), (1, 2), (2, 5), (0, 3), (3, 2), (1, 4), (4, 5)]);
        let mut found = paths(&trap, 0, 5, 2);
        found.sort();
        assert_eq!(found, [vec![0, 10, 12], vec![6, 8, 4]]);
    }

    #[test]
    fn shared_node_permits_only_one_path() {
        let waist = cables(&[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)]);
        assert_eq!(paths(&waist, 0, 6, 2).len(), 1);
        assert!(paths(&waist[..4], 0, 6, 2).is_empty());
    }
}
