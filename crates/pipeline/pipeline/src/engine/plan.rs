//! The plan of a path: elements in the form that the engine runs. Elements of the same block are merged where possible.
use super::parse::MacFilter;
use crate::declare::{Encapsulation, Port};

/// An element in the form that the engine runs. Numbers are indexes into the compiled tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Admit {
        mac: MacFilter,
        ipv6: bool,
    },
    Bridge(usize),
    FindUserByMac(usize),
    Decap(Tunnelled),
    /// `Admit` and `Decap` in one loop, if they share a block.
    AdmitDecap {
        mac: MacFilter,
        ipv6: bool,
        tunnel: Tunnelled,
    },
    FindUser {
        table: usize,
        by: LookupKey,
    },
    Meter,
    Acl(usize),
    Nat {
        table: usize,
        side: Side,
    },
    Route(usize),
    /// `Route` and `Forward` in one loop, if they share a block.
    RouteForward(usize),
    /// `Meter`, `Route` and `Forward` in one loop, if they share a block.
    MeterRouteForward(usize),
    Forward,
    Deliver,
    Encap,
    Emit {
        port: Port,
        source: Option<[u8; 6]>,
    },
}

/// The tunnel that a stage removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tunnelled {
    pub(super) kind: Encapsulation,
    pub(super) local: u32,
    /// Whether inner IPv6 is accepted.
    pub(super) ipv6: bool,
}

/// Data that the next stage of the same block will read. The current stage prefetches it, which saves a separate loop
/// of the next stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrefetchPlan {
    Nothing,
    User { table: usize, by: LookupKey },
    Route(usize),
    Tunnel,
}

/// A stage of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathStage {
    pub(super) stage: Stage,
    pub(super) ahead: PrefetchPlan,
    /// Whether an earlier stage prefetches the data that this stage reads.
    pub(super) fetched: bool,
}

impl PathStage {
    /// Returns the stages of a block in order, merged where possible.
    pub(super) fn block(stages: &[Stage]) -> Vec<Self> {
        let mut merged: Vec<Stage> = Vec::with_capacity(stages.len());
        for &stage in stages {
            match (merged.last(), stage) {
                (Some(&Stage::Route(table)), Stage::Forward) => {
                    merged.pop();
                    let metered = merged.pop_if(|before| *before == Stage::Meter).is_some();
                    merged.push(if metered {
                        Stage::MeterRouteForward(table)
                    } else {
                        Stage::RouteForward(table)
                    });
                }
                (Some(&Stage::Admit { mac, ipv6 }), Stage::Decap(tunnel)) => {
                    merged.pop();
                    merged.push(Stage::AdmitDecap { mac, ipv6, tunnel });
                }
                _ => merged.push(stage),
            }
        }
        let mut placed: Vec<Self> = Vec::with_capacity(merged.len());
        for stage in merged {
            let plan = stage.reads();
            // A meter does not change keys. A stage before it can therefore prefetch the data of the stage after it.
            let before =
                placed.iter_mut().rev().find(|p| plan == PrefetchPlan::Tunnel || p.stage != Stage::Meter);
            let fetched = before.is_some_and(|before| before.look_ahead(plan));
            placed.push(Self { stage, ahead: PrefetchPlan::Nothing, fetched });
        }
        placed
    }

    /// Lets this stage prefetch the data that a later stage reads, if it knows the key. Returns false otherwise.
    fn look_ahead(&mut self, plan: PrefetchPlan) -> bool {
        let able = match self.stage {
            Stage::Admit { .. } => {
                matches!(
                    plan,
                    PrefetchPlan::Route(_)
                        | PrefetchPlan::User { by: LookupKey::Source | LookupKey::Destination, .. }
                )
            }
            Stage::FindUser { .. } => matches!(plan, PrefetchPlan::Route(_)),
            Stage::Decap(_) | Stage::AdmitDecap { .. } => matches!(plan, PrefetchPlan::User { .. }),
            Stage::Meter => plan == PrefetchPlan::Tunnel,
            _ => false,
        };
        if able {
            self.ahead = plan;
        }
        able
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupKey {
    TunnelKey,
    Source,
    Destination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Destination,
}

impl Stage {
    /// Returns the number of elements merged into the stage.
    pub(super) const fn elements(self) -> usize {
        match self {
            Self::MeterRouteForward(_) => 3,
            Self::AdmitDecap { .. } | Self::RouteForward(_) => 2,
            _ => 1,
        }
    }

    /// Returns the data that the stage looks up.
    const fn reads(self) -> PrefetchPlan {
        match self {
            Self::FindUser { table, by } => PrefetchPlan::User { table, by },
            Self::Route(table) | Self::RouteForward(table) | Self::MeterRouteForward(table) => {
                PrefetchPlan::Route(table)
            }
            Self::Encap => PrefetchPlan::Tunnel,
            _ => PrefetchPlan::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(stages: &[Stage]) -> Vec<(PrefetchPlan, bool)> {
        PathStage::block(stages).iter().map(|p| (p.ahead, p.fetched)).collect()
    }

    const ADMIT: Stage = Stage::Admit { mac: MacFilter::ANY, ipv6: false };

    #[test]
    fn router_is_merged_into_two_loops() {
        let merged = PathStage::block(&[ADMIT, Stage::Route(3), Stage::Forward]);
        assert_eq!(merged.len(), 2);
        assert_eq!((merged[0].ahead, merged[1].fetched), (PrefetchPlan::Route(3), true));
        assert_eq!(merged[1].stage, Stage::RouteForward(3));
    }

    #[test]
    fn route_is_prefetched_before_meter() {
        let find = Stage::FindUser { table: 1, by: LookupKey::TunnelKey };
        let decap = Stage::Decap(Tunnelled { kind: Encapsulation::Gre, local: 7, ipv6: false });
        let user = PrefetchPlan::User { table: 1, by: LookupKey::TunnelKey };
        let expected = [
            (user, false),
            (PrefetchPlan::Route(0), true),
            (PrefetchPlan::Nothing, false),
            (PrefetchPlan::Nothing, true),
        ];
        let path = [ADMIT, decap, find, Stage::Meter, Stage::Route(0), Stage::Forward];
        assert_eq!(shape(&path[..5]), expected);
        // Together with the following elements, a gateway has three loops.
        let merged = PathStage::block(&path);
        assert_eq!((merged.len(), merged[2].stage), (3, Stage::MeterRouteForward(0)));
        assert!(merged[2].fetched);
    }

    /// The key of a tunnel is not known before the tunnel is removed.
    #[test]
    fn unknown_keys_are_not_prefetched() {
        let find = Stage::FindUser { table: 1, by: LookupKey::TunnelKey };
        assert_eq!(shape(&[ADMIT, find]), [(PrefetchPlan::Nothing, false); 2]);
        // An ACL does not prefetch for the next stage, so the route stage prefetches its own data.
        assert_eq!(shape(&[Stage::Acl(0), Stage::Route(0)]), [(PrefetchPlan::Nothing, false); 2]);
    }
}
