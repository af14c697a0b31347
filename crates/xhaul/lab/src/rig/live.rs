//! Tier `live`: a setup as network namespaces on this machine.

use std::time::Duration;

use ranlab_campaign::rig::RigError;
use ranlab_xhaul::{Gates, Pattern, Plan, Scheduler, Split, Stage};

use super::predictions::role;
use super::setup::{Setup, User};
use super::sharing::Sharing;
use crate::live::{Classes, LiveFlow, LiveSharing, RankOrder, Segment, SharingKind, Tool, XhaulComponent};
use ranlab_lab::JsonField;

/// Bytes of a packet on the wire in addition to its payload: Ethernet header, frame check sequence, preamble and inter-packet gap.
const FRAME_BYTES: u32 = 14 + 4 + 20;
/// Bytes of preamble and inter-packet gap, which are not part of a frame.
const GAP_BYTES: u32 = 20;
const IP_BYTES: u32 = 20;
const UDP_BYTES: u32 = 8;
const IF4P5_BYTES: u32 = 12;
const NS_PER_PS: u64 = 1000;
/// Time between passing a frame to the kernel and its launch time, in nanoseconds.
const LAUNCH_LEAD_NS: u64 = 2_000_000;

/// Returns the component for a worker, or the reason why `live` does not support the setup.
pub(super) fn component(setup: &Setup, plan: &Plan, duration: Duration) -> Result<XhaulComponent, RigError> {
    let cannot = |what: &str| Err(RigError::Environment(format!("live: {what}")));
    if setup.cells.count != 1 {
        return cannot("a live network has only one cell and a neighbour; `cells.count` must be 1");
    }
    if setup.net.midhaul_switches > 1 || setup.net.cut_through_bytes.is_some() {
        return cannot(
            "the kernel's bridge is the only switch, and it stores and forwards: at most one switch is allowed in the midhaul, without cut-through",
        );
    }
    let classes = order(setup, plan)?.map(|order| classes(setup, order).map(JsonField)).transpose()?;
    if setup.air.is_some() {
        return cannot("a live network has no radio; `air.on` must be false");
    }
    if setup.neighbour_user.is_some() {
        return cannot(
            "the senders pace the users of the other vBBU evenly; `neighbour.timer` must be \"even\"",
        );
    }
    if plan.network.flows.iter().any(|flow| matches!(flow.pattern, Pattern::Tdd { .. })) {
        return cannot("the senders do not support TDD patterns; `cells.tdd` must be \"off\"");
    }
    let frames = matches!(setup.cells.down, Split::If4p5 { udp: false });
    if setup.live.taps && setup.net.midhaul_switches != 1 {
        return cannot("`live.taps` captures at the ports of a switch: `net.midhaul_switches` must be 1");
    }
    let ipvlan = setup.sharing == Sharing::Kind(SharingKind::Ipvlan);
    if ipvlan && frames {
        return cannot(
            "ipvlan distinguishes containers by IP address, but frames of split \"7.1-if4p5\" have no IP address, so they reach no \
             container: set `cells.split` \"7.1-if4p5-udp\", or another `sut.sharing`",
        );
    }
    let sharing = match setup.sharing {
        Sharing::Kind(SharingKind::Ipvlan) => LiveSharing::Ipvlan,
        Sharing::Kind(SharingKind::Dedicated) => LiveSharing::OwnPorts,
        Sharing::Kind(SharingKind::SrIov) => LiveSharing::Functions,
        Sharing::Kind(SharingKind::Macvlan) => LiveSharing::Macvlan,
        Sharing::Kind(SharingKind::Bridge) => LiveSharing::Bridge,
        Sharing::LeftOut => return cannot("`sut.sharing` \"none\" is a simulation without a card"),
        Sharing::Measured => return cannot("`sut.sharing` \"measured\" is the simulated cost of a profile"),
    };
    let given = setup.live.midhaul_ports.is_some();
    if sharing == LiveSharing::Functions && given && classes.is_some() {
        return cannot(
            "frames that leave virtual functions are ordered by the card: set `sut.scheduler` \"fifo\" or \"etf\" with `sut.sharing` \
             \"sr-iov\", or set another `sut.sharing`",
        );
    }
    let launched = (setup.scheduler == "etf").then_some(LAUNCH_LEAD_NS);
    if launched.is_some() && setup.cells.name == "2" {
        return cannot(
            "\"etf\" sets launch times for frames of radio symbols; a cell of split \"2\" has no such frames",
        );
    }
    let flows = plan.network.flows.iter().filter_map(|flow| live_flow(setup, flow)).collect();
    Ok(XhaulComponent {
        sharing: JsonField(sharing),
        midhaul_switch: setup.net.midhaul_switches > 0,
        backhaul_switch: setup.net.backhaul_switch,
        rate_bps: setup.net.rate_bps,
        queue_bytes: setup.net.queue_bytes,
        classes,
        launch_lead_ns: launched,
        busy_ns: setup.contention.map(|(period, busy, _)| JsonField((period / NS_PER_PS, busy / NS_PER_PS))),
        tools: JsonField(tools(setup, duration)?),
        flows: JsonField(flows),
        ..setup.live.clone()
    })
}

/// Returns the queueing order of links, which is the same as in the simulation. `None` if each link has one queue.
fn order(setup: &Setup, plan: &Plan) -> Result<Option<RankOrder>, RigError> {
    // Scheduler of the plan; only shared links have gates.
    let mut planned = plan.network.stages.iter().filter_map(|stage| match stage {
        Stage::Port(port) => Some(&port.scheduler),
        _ => None,
    });
    let mut shaping = || {
        planned.find_map(|scheduler| match scheduler {
            Scheduler::CreditBased { idle_bps } => {
                idle_bps.iter().flatten().next().map(|&idle_bps| RankOrder::Credit { idle_bps })
            }
            Scheduler::DeficitRoundRobin { quanta } => {
                let own = quanta[usize::from(setup.cells.class).min(quanta.len() - 1)];
                let other = quanta.iter().copied().min().unwrap_or(own);
                Some(RankOrder::Turns { own, other })
            }
            Scheduler::Gates(gates) => Some(gated(gates)),
            _ => None,
        })
    };
    match setup.scheduler.as_str() {
        // Launch times apply at the sender. The sender's links have one queue.
        "fifo" | "etf" => Ok(None),
        "strict" => Ok(Some(RankOrder::Strict)),
        "mqprio" => Ok(Some(RankOrder::Queues)),
        "drr" | "cbs" | "gates" => Ok(shaping()),
        name => {
            let why = match name {
                "preemption" => "no kernel can interrupt a frame, only a card can (IEEE 802.3br)",
                _ => "no kernel has asynchronous shapers (IEEE 802.1Qcr)",
            };
            Err(RigError::Environment(format!(
                "live: {why}; `sut.scheduler` can be \"fifo\", \"strict\", \"drr\", \"cbs\", \"gates\", \"mqprio\" or \"etf\" if the \
                 kernel has it; \"{name}\" needs `sut.tier` \"sim\" or \"bound\""
            )))
        }
    }
}

/// Converts a gate control list to ranks.
fn gated(gates: &Gates) -> RankOrder {
    let entries =
        gates.entries.iter().map(|entry| (entry.duration_ps / NS_PER_PS, entry.open.reverse_bits()));
    RankOrder::Gates { entries: entries.collect() }
}

/// Returns the class of each flow if queues are ordered. The kernel classifies flows by address.
fn classes(setup: &Setup, order: RankOrder) -> Result<Classes, RigError> {
    let neighbour = setup.neighbour.map_or(setup.cells.class, |(.., class)| class);
    let raw = setup.neighbour.is_some_and(|(down, up, _)| {
        [down, up].iter().any(|split| matches!(split, Split::If4p5 { udp: false }))
    });
    if raw && neighbour != setup.cells.class {
        let why = "live: a neighbour of split \"7.1-if4p5\" sends frames without IP addresses, which cannot be distinguished from \
                   the cell's frames: give the neighbour the cell's class, or split \"7.1-if4p5-udp\"";
        return Err(RigError::Environment(why.to_owned()));
    }
    Ok(Classes { cell: setup.cells.class, neighbour, background: setup.background.class, order })
}

/// Returns the programs that run in parallel with the user's flow during the measurement.
fn tools(setup: &Setup, duration: Duration) -> Result<Vec<Tool>, RigError> {
    let mut tools = Vec::new();
    let beside = |name: &str, kind: &str| {
        RigError::Environment(format!(
            "live: `live.{name}` runs in parallel with a user's flow: set `user.kind` \"{kind}\""
        ))
    };
    if setup.programs.ping {
        let User::Ping { bytes, interval_ps } = setup.user else { return Err(beside("ping", "ping")) };
        let interval_ns = interval_ps / NS_PER_PS;
        let count = duration.as_nanos() / u128::from(interval_ns.max(1));
        let headers = FRAME_BYTES - GAP_BYTES + IP_BYTES + UDP_BYTES;
        tools.push(Tool::Ping {
            bytes: u32::from(bytes).saturating_sub(headers),
            interval_ns,
            count: u64::try_from(count).unwrap_or(u64::MAX).max(1),
        });
    }
    if setup.programs.iperf3 {
        let User::Udp { bps, bytes, .. } = setup.user else { return Err(beside("iperf3", "udp")) };
        tools.push(Tool::Iperf3 { bps, bytes: bytes.into(), seconds: duration.as_secs().max(1) });
    }
    Ok(tools)
}

fn live_flow(setup: &Setup, flow: &ranlab_xhaul::Flow) -> Option<LiveFlow> {
    let role = role(&flow.name)?;
    let (way, split) = match role {
        "cell_dl" => (Segment::CellDown, Some(setup.cells.down)),
        "cell_ul" => (Segment::CellUp, Some(setup.cells.up)),
        "neighbour_dl" => (Segment::NeighbourDown, setup.neighbour.map(|(down, ..)| down)),
        "neighbour_ul" => (Segment::NeighbourUp, setup.neighbour.map(|(_, up, _)| up)),
        "background_dl" => (Segment::BackgroundDown, None),
        "background_ul" => (Segment::BackgroundUp, None),
        _ if matches!(setup.user, User::Ping { .. }) => (Segment::Echo, None),
        _ => (Segment::User, None),
    };
    let (frames, period_ps, releases, timer_ps) = match &flow.pattern {
        Pattern::Periodic { period_ps, releases, frames, .. } => (frames.clone(), *period_ps, *releases, 0),
        Pattern::Timer { timer_ps, gap_ps, frame } => (vec![*frame], *gap_ps, 1, *timer_ps),
        _ => return None,
    };
    let raw = matches!(split, Some(Split::If4p5 { udp: false }));
    let datagrams = IP_BYTES + UDP_BYTES + FRAME_BYTES;
    let payloads = match split {
        _ if raw => frames.iter().map(|&wire| (wire - FRAME_BYTES - IF4P5_BYTES) as usize).collect(),
        // The kernel fragments the packets.
        Some(Split::Two { .. }) => {
            let ip: u32 = frames.iter().map(|&wire| wire.saturating_sub(FRAME_BYTES + IP_BYTES)).sum();
            vec![ip.saturating_sub(UDP_BYTES) as usize]
        }
        _ => frames.iter().map(|&wire| wire.saturating_sub(datagrams) as usize).collect(),
    };
    // The live network has no radio. Therefore only an echo has a bound, and a user's packet has none.
    Some(LiveFlow {
        role: role.to_owned(),
        way,
        raw,
        payloads,
        // Periods with several releases include fractions of a nanosecond.
        period_ns: period_ps / NS_PER_PS,
        releases,
        timer_ns: timer_ps / NS_PER_PS,
        budget_ns: flow.budget_ps.map(|ps| ps / NS_PER_PS),
    })
}
