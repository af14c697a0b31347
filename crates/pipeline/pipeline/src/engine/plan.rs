//! The plan of a path: elements as the engine runs them, and what of a block is merged.
use super::parse::MacFilter;
use crate::declare::{Encapsulation, Port};

/// An element as the engine runs it; numbers are places in the compiled tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Admit {
        mac: MacFilter,
        ipv6: bool,
    },
    Bridge(usize),
    FindUserByMac(usize),
    Decap(Tunnelled),
    /// Both in one loop, where they share a block.
    AdmitDecap {
        mac: MacFilter,
        ipv6: bool,
        tunnel: Tunnelled,
    },
    FindUser {
        table: usize,
        by: By,
    },
    Meter,
    Acl(usize),
    Nat {
        table: usize,
        side: Side,
    },
    Route(usize),
    /// Both in one loop, where they share a block.
    RouteForward(usize),
    /// All three likewise.
    MeterRouteForward(usize),
    Forward,
    Deliver,
    Encap,
    Emit {
        port: Port,
        source: Option<[u8; 6]>,
    },
}

/// What is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tunnelled {
    pub(super) kind: Encapsulation,
    pub(super) local: u32,
    /// Whether IPv6 within passes.
    pub(super) ipv6: bool,
}

/// What the next stage will read: the lines are fetched while this stage is at work, which spares the next one a loop of
/// its own for it. Only within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ahead {
    Nothing,
    User { table: usize, by: By },
    Route(usize),
    Tunnel,
}

/// A stage of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) stage: Stage,
    pub(super) ahead: Ahead,
    /// Whether the stage before has fetched what this one reads.
    pub(super) fetched: bool,
}

impl Placed {
    /// The stages of a block, in order: what may be merged is.
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
            let wanted = stage.reads();
            // A meter changes no key: what comes after it can be fetched before it.
            let before = placed.iter_mut().rev().find(|p| wanted == Ahead::Tunnel || p.stage != Stage::Meter);
            let fetched = before.is_some_and(|before| before.look_ahead(wanted));
            placed.push(Self { stage, ahead: Ahead::Nothing, fetched });
        }
        placed
    }

    /// Takes on the fetching for the next stage, if there is something to fetch and this stage knows the key.
    fn look_ahead(&mut self, wanted: Ahead) -> bool {
        let able = match self.stage {
            Stage::Admit { .. } => {
                matches!(wanted, Ahead::Route(_) | Ahead::User { by: By::Source | By::Destination, .. })
            }
            Stage::FindUser { .. } => matches!(wanted, Ahead::Route(_)),
            Stage::Decap(_) | Stage::AdmitDecap { .. } => matches!(wanted, Ahead::User { .. }),
            Stage::Meter => wanted == Ahead::Tunnel,
            _ => false,
        };
        if able {
            self.ahead = wanted;
        }
        able
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
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
    /// Of how many elements it was made.
    pub(super) const fn elements(self) -> usize {
        match self {
            Self::MeterRouteForward(_) => 3,
            Self::AdmitDecap { .. } | Self::RouteForward(_) => 2,
            _ => 1,
        }
    }

    /// What it will look up.
    const fn reads(self) -> Ahead {
        match self {
            Self::FindUser { table, by } => Ahead::User { table, by },
            Self::Route(table) | Self::RouteForward(table) | Self::MeterRouteForward(table) => {
                Ahead::Route(table)
            }
            Self::Encap => Ahead::Tunnel,
            _ => Ahead::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(stages: &[Stage]) -> Vec<(Ahead, bool)> {
        Placed::block(stages).iter().map(|p| (p.ahead, p.fetched)).collect()
    }

    const ADMIT: Stage = Stage::Admit { mac: MacFilter::ANY, ipv6: false };

    #[test]
    fn a_router_is_two_loops() {
        let merged = Placed::block(&[ADMIT, Stage::Route(3), Stage::Forward]);
        assert_eq!(merged.len(), 2);
        assert_eq!((merged[0].ahead, merged[1].fetched), (Ahead::Route(3), true));
        assert_eq!(merged[1].stage, Stage::RouteForward(3));
    }

    #[test]
    fn a_route_is_fetched_before_the_meter() {
        let find = Stage::FindUser { table: 1, by: By::TunnelKey };
        let decap = Stage::Decap(Tunnelled { kind: Encapsulation::Gre, local: 7, ipv6: false });
        let user = Ahead::User { table: 1, by: By::TunnelKey };
        let expected =
            [(user, false), (Ahead::Route(0), true), (Ahead::Nothing, false), (Ahead::Nothing, true)];
        let path = [ADMIT, decap, find, Stage::Meter, Stage::Route(0), Stage::Forward];
        assert_eq!(shape(&path[..5]), expected);
        // With what follows, a gateway is three loops.
        let merged = Placed::block(&path);
        assert_eq!((merged.len(), merged[2].stage), (3, Stage::MeterRouteForward(0)));
        assert!(merged[2].fetched);
    }

    /// The key of a tunnel is not known before the tunnel was cut.
    #[test]
    fn nothing_is_fetched_by_a_key_that_is_not_known() {
        let find = Stage::FindUser { table: 1, by: By::TunnelKey };
        assert_eq!(shape(&[ADMIT, find]), [(Ahead::Nothing, false); 2]);
        // And what an ACL stands before is fetched by its own stage.
        assert_eq!(shape(&[Stage::Acl(0), Stage::Route(0)]), [(Ahead::Nothing, false); 2]);
    }
}
