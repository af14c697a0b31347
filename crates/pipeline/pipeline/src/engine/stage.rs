//! Runs the stages of a path. A stage is a loop over a burst, with the tables that the stage reads.
use super::bridge::{Bridge, FindUserByMac};
use super::burst::Burst;
use super::compile::Compiled;
use super::hot::{IsaToken, run as run_loop};
use super::loops::{
    self, Admit, AdmitDecap, Classify, Decap, Deliver, Emit, Encap, FindUser, Forward, GRE, GTP, LookRoute,
    LookUser, Meter, MeterRouteForward, NoLook, Route, RouteForward, VXLAN,
};
use super::parse::MacFilter;
use super::plan::{PathStage, PrefetchPlan, Stage, Tunnelled};
use super::translate::Translate;
use crate::declare::Encapsulation;

/// Runs the stage over the packets in `live`. Returns the packets that continue.
pub(super) fn run(
    placed: PathStage,
    c: &mut Compiled,
    burst: &mut Burst,
    live: u64,
    (ingress, now_ns): (usize, u64),
    width: IsaToken,
) -> u64 {
    let PathStage { stage, ahead, fetched } = placed;
    match stage {
        Stage::Admit { mac, ipv6 } => match loops::prefetch_tables(c, ahead) {
            (Some(route), _) => run_loop(width, Admit { mac, ipv6, ahead: LookRoute(route) }, burst, live),
            (_, Some(user)) => run_loop(width, Admit { mac, ipv6, ahead: user }, burst, live),
            _ => run_loop(width, Admit { mac, ipv6, ahead: NoLook }, burst, live),
        },
        Stage::Decap(tunnel) => decap(c, burst, live, None, tunnel, ahead, width),
        Stage::AdmitDecap { mac, ipv6, tunnel } => {
            decap(c, burst, live, Some((mac, ipv6)), tunnel, ahead, width)
        }
        Stage::Bridge(table) => match c.macs.get(table) {
            Some(table) => run_loop(width, Bridge { table }, burst, live),
            None => 0,
        },
        Stage::FindUserByMac(table) => match c.macs.get(table) {
            Some(table) => run_loop(width, FindUserByMac { table }, burst, live),
            None => 0,
        },
        Stage::FindUser { table, by } => {
            let Some(table) = loops::users_table(c, table) else {
                return 0;
            };
            let users = &c.users;
            match loops::prefetch_tables(c, ahead) {
                (Some(route), _) => {
                    let ahead = LookRoute(route);
                    run_loop(width, FindUser { table, users, by, fetched, ahead }, burst, live)
                }
                _ => run_loop(width, FindUser { table, users, by, fetched, ahead: NoLook }, burst, live),
            }
        }
        Stage::Meter => {
            let Compiled { users, tunnels, .. } = c;
            let tunnels: &[_] = if ahead == PrefetchPlan::Tunnel { tunnels } else { &[] };
            run_loop(width, Meter { users, tunnels, ingress, now_ns }, burst, live)
        }
        Stage::Acl(table) => match c.acls.get(table) {
            Some((ipv4, ipv6)) => run_loop(width, Classify { ipv4, ipv6 }, burst, live),
            None => 0,
        },
        Stage::Nat { table, side } => match c.nats.get(table) {
            Some((ipv4, ipv6)) => run_loop(width, Translate { ipv4, ipv6, side }, burst, live),
            None => 0,
        },
        Stage::Route(table) => match c.routes.get(table) {
            Some((ipv4, ipv6)) => run_loop(width, Route { ipv4, ipv6, fetched }, burst, live),
            None => 0,
        },
        Stage::RouteForward(table) => forward(c, burst, live, table, None, fetched, width),
        Stage::MeterRouteForward(table) => {
            forward(c, burst, live, table, Some((ingress, now_ns)), fetched, width)
        }
        Stage::Forward => run_loop(width, Forward { c }, burst, live),
        Stage::Deliver => run_loop(width, Deliver { c }, burst, live),
        Stage::Encap => run_loop(width, Encap { users: &c.users, tunnels: &c.tunnels, fetched }, burst, live),
        Stage::Emit { port, source } => run_loop(width, Emit { port, source }, burst, live),
    }
}

/// Routes and forwards in one loop, after charging a meter if there is one.
fn forward(
    c: &mut Compiled,
    burst: &mut Burst,
    live: u64,
    table: usize,
    meter: Option<(usize, u64)>,
    fetched: bool,
    width: IsaToken,
) -> u64 {
    let Compiled { users, routes, next_hops: hops, .. } = c;
    let Some((ipv4, ipv6)) = routes.get(table) else {
        return 0;
    };
    let forward = RouteForward { hops, ipv4, ipv6, fetched };
    match meter {
        None => run_loop(width, forward, burst, live),
        Some((ingress, now_ns)) => {
            let meter = Meter { users, tunnels: &[], ingress, now_ns };
            run_loop(width, MeterRouteForward { meter, forward }, burst, live)
        }
    }
}

/// Removes tunnels. Each encapsulation has a separate loop, so that the choice is not repeated for every packet.
fn decap(
    c: &Compiled,
    burst: &mut Burst,
    live: u64,
    admit: Option<(MacFilter, bool)>,
    tunnel: Tunnelled,
    ahead: PrefetchPlan,
    width: IsaToken,
) -> u64 {
    let user = loops::prefetch_tables(c, ahead).1;
    match tunnel.kind {
        Encapsulation::Gtp { .. } => decap_kind::<GTP>(burst, live, admit, tunnel, user, width),
        Encapsulation::Vxlan => decap_kind::<VXLAN>(burst, live, admit, tunnel, user, width),
        Encapsulation::Gre => decap_kind::<GRE>(burst, live, admit, tunnel, user, width),
    }
}

fn decap_kind<const KIND: u8>(
    burst: &mut Burst,
    live: u64,
    admit: Option<(MacFilter, bool)>,
    Tunnelled { local, ipv6, .. }: Tunnelled,
    ahead: Option<LookUser<'_>>,
    width: IsaToken,
) -> u64 {
    match (admit, ahead) {
        (Some((mac, outer6)), Some(ahead)) => {
            let admit = Admit { mac, ipv6: outer6, ahead: NoLook };
            run_loop(width, AdmitDecap { admit, decap: Decap::<KIND, _> { local, ipv6, ahead } }, burst, live)
        }
        (Some((mac, outer6)), None) => {
            let admit = Admit { mac, ipv6: outer6, ahead: NoLook };
            let decap = Decap::<KIND, _> { local, ipv6, ahead: NoLook };
            run_loop(width, AdmitDecap { admit, decap }, burst, live)
        }
        (None, Some(ahead)) => run_loop(width, Decap::<KIND, _> { local, ipv6, ahead }, burst, live),
        (None, None) => run_loop(width, Decap::<KIND, _> { local, ipv6, ahead: NoLook }, burst, live),
    }
}
