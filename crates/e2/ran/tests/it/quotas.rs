//! Slice quotas at a base station. A controller sends a table of orders over RC and CCC, and the shares of the UEs
//! are measured in virtual time. `tests/e2e/quotas.sh` sends the same table to `ranlab emulate`.
use crate::driver::{ACK, AgentDriver, C0, request_id};
use crate::station::{HOME, template};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::ccc::{
    self, Attributes, CELL_STYLE, CellControlled, PolicyMember, RRM_POLICY_RATIO, ResourceType,
    RrmPolicyRatio,
};
use ranlab_e2_codec::e2sm::common::{Cgi, Snssai, UeId as Name};
use ranlab_e2_codec::e2sm::rc::commands::{Order, SliceQuota};
use ranlab_e2_codec::e2sm::rc::{self, ControlHeader, ControlOutcome};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use ranlab_radio::user_plane::{Carrier, Direction, UeReport};
use ranlab_ran::node::NodeKind;
use ranlab_ran::radio::{FlowPlan, RadioConfig, SharedRadio, cell_of};
use ranlab_ran::text::Spelled;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
/// Time in which the shares settle after an order, in ms.
const SETTLE_MS: u32 = 300;
/// Duration of the measurement after the shares have settled, in ms.
const MEASURE_MS: u32 = 1_500;
/// Allowed difference between a measured and a computed share, in percent of the carrier.
const TOLERANCE: f64 = 1.0;

#[derive(Deserialize)]
struct Table {
    cells: BTreeMap<String, CellCase>,
    orders: Vec<OrderCase>,
}

/// A base station with its UEs. UEs select the slices and networks in rotation.
#[derive(Deserialize)]
struct CellCase {
    ues: u32,
    snssai: Vec<String>,
    plmn: Vec<String>,
    flows: Vec<String>,
    /// Share of the carrier that each UE can use, in percent.
    demand: Vec<f64>,
}

/// Orders in sequence, and the resulting share of each UE, in percent.
#[derive(Deserialize)]
struct OrderCase {
    name: String,
    cell: String,
    send: Vec<Sent>,
    down: Vec<f64>,
    /// Uplink shares; `None`: equal to the downlink shares.
    up: Option<Vec<f64>>,
}

/// An order, with quotas in the format of `ranlab xapp control --rc-quota`.
#[derive(Deserialize)]
struct Sent {
    rc: Option<String>,
    ccc: Option<String>,
    plmn: Option<String>,
    resource: Option<ResourceType>,
    /// Words that the expected refusal contains.
    refused: Option<String>,
}

fn table() -> Table {
    serde_json::from_str(include_str!("quota_orders.json")).unwrap()
}

fn plmn(text: Option<&String>) -> Plmn {
    text.map_or(HOME, |text| text.parse().unwrap())
}

impl Sent {
    fn quotas(&self) -> Vec<SliceQuota> {
        let quota = |text: &str| {
            let (slice, percent) = text.split_once('=').unwrap();
            let percent: Vec<u8> = percent.split(':').map(|it| it.parse().unwrap()).collect();
            let dedicated = percent.get(2).copied().unwrap_or(0);
            let slice = slice.parse().unwrap();
            SliceQuota { plmn: plmn(self.plmn.as_ref()), slice, min: percent[0], max: percent[1], dedicated }
        };
        self.rc.iter().chain(&self.ccc).flat_map(|text| text.split(',')).map(quota).collect()
    }

    /// Returns whether the order applies to a direction.
    fn is_of(&self, direction: Direction) -> bool {
        match self.resource {
            None => true,
            Some(resource) => (resource == ResourceType::PrbUl) == (direction == Direction::Up),
        }
    }

    fn request(&self) -> RicControlRequest {
        let quotas = self.quotas();
        let (function_id, header, message) = match self.resource {
            None => {
                let order = Order::SliceQuotas(quotas);
                let (style, action) = order.action();
                let header = ControlHeader::action(Name::du(0), style, action);
                let message = order.message().to_octets(Encoding::Per);
                (rc::DEFAULT_FUNCTION_ID, header.to_octets(Encoding::Per), message)
            }
            Some(resource) => {
                let header = ccc::ControlHeader::of_style(CELL_STYLE).to_octets(Encoding::Json);
                (ccc::DEFAULT_FUNCTION_ID, header, policies(resource, &quotas).to_octets(Encoding::Json))
            }
        };
        RicControlRequest {
            request_id: request_id(1),
            function_id,
            call_process_id: None,
            header: header.unwrap(),
            message: message.unwrap(),
            ack_request: ACK,
        }
    }
}

/// Returns a CCC control with one policy per quota.
fn policies(resource: ResourceType, quotas: &[SliceQuota]) -> ccc::ControlMessage {
    let write = |quota: &SliceQuota| {
        let &SliceQuota { plmn, slice, min, max, dedicated } = quota;
        let members = vec![PolicyMember { plmn_id: plmn.into(), snssai: slice.into() }];
        let new = Attributes::from_structure(&RrmPolicyRatio { resource, members, max, min, dedicated });
        ccc::Write { name: RRM_POLICY_RATIO.to_owned(), old: Attributes::default().into(), new: new.into() }
    };
    let structures = quotas.iter().map(write).collect();
    let cells = vec![CellControlled { cell: Cgi::Nr(cell_of(HOME, 1)).into(), structures }];
    ccc::ControlMessage { format: ccc::ControlFormat::Cells { cells } }
}

/// A base station with its radio and controller.
struct World {
    bench: AgentDriver,
    radio: SharedRadio,
}

impl World {
    fn new(cell: &CellCase) -> Self {
        let flow = |text: &String| text.parse::<Spelled<FlowPlan>>().unwrap().value;
        let config = RadioConfig {
            flows: cell.flows.iter().map(flow).collect(),
            snssais: cell.snssai.iter().map(|it| it.parse().unwrap()).collect(),
            plmns: cell.plmn.iter().map(|it| it.parse().unwrap()).collect(),
            ..RadioConfig::new(Carrier::n78(273), cell.ues)
        };
        let (agent, radio) = template(NodeKind::Gnb, config).agent(0, Time::ZERO).unwrap();
        let mut world = Self { bench: AgentDriver::up(agent, Version::V2_03), radio: radio.unwrap() };
        world.pass(10);
        world
    }

    fn pass(&mut self, ms: u32) {
        for _ in 0..ms {
            let moved = self.radio.lock().unwrap().pass(self.bench.now + MS);
            moved.into_iter().for_each(|it| it.notify(&mut self.bench.agent));
            self.bench.pass(MS);
        }
    }

    /// Sends an order. Returns the base station's reason if it refuses the order.
    fn send(&mut self, sent: &Sent) -> Option<String> {
        let answers = self.bench.ask(C0, &Message::RicControlRequest(sent.request()));
        match &answers[..] {
            [Message::RicControlAcknowledge(_)] => None,
            [Message::RicControlFailure(failure)] => Some(words(failure.outcome.as_ref().unwrap())),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the resource blocks offered in a direction, and the resource blocks that each UE used.
    fn prbs(&self, direction: Direction) -> (u64, Vec<u64>) {
        let radio = self.radio.lock().unwrap();
        let of = |ue: UeReport| if direction == Direction::Down { ue.dl.prbs } else { ue.ul.prbs };
        let used = radio.rntis().values().map(|rnti| of(radio.cell().report(*rnti).unwrap())).collect();
        (radio.cell().prbs_offered(direction), used)
    }

    /// Returns the share of each UE in percent, for downlink and uplink.
    fn shares(&mut self) -> [Vec<f64>; 2] {
        self.pass(SETTLE_MS);
        let directions = [Direction::Down, Direction::Up];
        let before = directions.map(|direction| self.prbs(direction));
        self.pass(MEASURE_MS);
        let mut before = before.into_iter();
        directions.map(|direction| {
            let (offered, used) = before.next().unwrap();
            let (now_offered, now_used) = self.prbs(direction);
            let share =
                |(now, used): (u64, u64)| 100.0 * (now - used) as f64 / (now_offered - offered) as f64;
            now_used.into_iter().zip(used).map(share).collect()
        })
    }
}

fn words(outcome: &Bytes) -> String {
    let of_rc = ControlOutcome::decode_as(Encoding::Per, outcome).ok().and_then(|it| it.sentence());
    of_rc.unwrap_or_else(|| String::from_utf8_lossy(outcome).into_owned())
}

/// Share of a slice while it is computed.
struct Share {
    ues: Vec<usize>,
    dedicated: f64,
    max: f64,
    used: f64,
    demand: f64,
}

/// Computes the shares of UEs in percent, as TS 28.541 §4.3.36 and §4.4.1 define ratios.
///
/// - Dedicated resources of a slice are reserved for its members, used or not.
/// - Prioritized resources, up to the minimum, are used by the slice's members first. Other slices use the remainder.
/// - Shared resources, up to the maximum, are used by all slices. Here each step of a hundredth of a percent goes to
///   the slice with the fewest resources per UE.
fn computed(cell: &CellCase, quotas: &[SliceQuota]) -> Vec<f64> {
    const STEP: f64 = 0.01;
    let networks: Vec<Plmn> = cell.plmn.iter().map(|it| it.parse().unwrap()).collect();
    let slices: Vec<Snssai> = cell.snssai.iter().map(|it| it.parse().unwrap()).collect();
    let mut rest: Vec<usize> = (0..cell.ues as usize).collect();
    let mut shares = Vec::new();
    for quota in quotas {
        let is_of = |ue: &usize| {
            (networks[ue % networks.len()], slices[ue % slices.len()]) == (quota.plmn, quota.slice)
        };
        let (ues, others) = rest.into_iter().partition::<Vec<_>, _>(is_of);
        rest = others;
        let demand: f64 = ues.iter().map(|ue| cell.demand[*ue]).sum();
        let used = f64::from(quota.min).min(demand);
        shares.push(Share { ues, dedicated: quota.dedicated.into(), max: quota.max.into(), used, demand });
    }
    let demand = rest.iter().map(|ue| cell.demand[*ue]).sum();
    shares.push(Share { ues: rest, dedicated: 0.0, max: 100.0, used: 0.0, demand });
    let active = |share: &Share| share.ues.iter().filter(|ue| cell.demand[**ue] > 0.0).count() as f64;
    loop {
        let taken: f64 = shares.iter().map(|share| share.used.max(share.dedicated)).sum();
        let may = |share: &&mut Share| share.used + STEP <= share.max.min(share.demand);
        let poorest = |share: &&mut Share| share.used / active(share);
        let next = shares.iter_mut().filter(may).min_by(|a, b| poorest(a).total_cmp(&poorest(b)));
        match next {
            Some(share) if taken + STEP <= 100.0 || share.used < share.dedicated => share.used += STEP,
            _ => break,
        }
    }
    let mut of_ues = vec![0.0; cell.ues as usize];
    for share in shares {
        for ue in share.ues.iter().filter(|ue| cell.demand[**ue] > 0.0) {
            of_ues[*ue] = share.used / active(&share);
        }
    }
    of_ues
}

fn differs(one: &[f64], other: &[f64], by: f64) -> bool {
    one.len() != other.len() || one.iter().zip(other).any(|(one, other)| (one - other).abs() > by)
}

impl OrderCase {
    fn expected(&self) -> [&[f64]; 2] {
        [&self.down, self.up.as_ref().unwrap_or(&self.down)]
    }
}

#[test]
fn expected_shares_match_computation_of_standard() {
    let table = table();
    assert!(table.orders.len() >= 20);
    for case in &table.orders {
        for (direction, expected) in [Direction::Down, Direction::Up].into_iter().zip(case.expected()) {
            let sent = case.send.iter().filter(|sent| sent.is_of(direction) && sent.refused.is_none());
            // An order replaces the quotas of the slices that it names.
            let mut quotas: Vec<SliceQuota> = Vec::new();
            for quota in sent.flat_map(Sent::quotas) {
                quotas.retain(|it| (it.plmn, it.slice) != (quota.plmn, quota.slice));
                quotas.push(quota);
            }
            let computed = computed(&table.cells[&case.cell], &quotas);
            assert!(
                !differs(expected, &computed, 0.1),
                "{}: computed shares {computed:?} differ from the expected ones, {direction:?}",
                case.name
            );
        }
    }
}

#[test]
fn quota_orders_give_computed_shares() {
    let table = table();
    let mut wrong = Vec::new();
    for case in &table.orders {
        let mut world = World::new(&table.cells[&case.cell]);
        for sent in &case.send {
            let refused = world.send(sent);
            match (&refused, &sent.refused) {
                (None, None) => {}
                (Some(text), Some(words)) if text.contains(words) => {}
                other => wrong.push(format!("{}: {other:?}", case.name)),
            }
        }
        for (measured, expected) in world.shares().into_iter().zip(case.expected()) {
            if differs(&measured, expected, TOLERANCE) {
                wrong.push(format!(
                    "{}: measured shares {measured:.2?} differ from the computed {expected:?}",
                    case.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
