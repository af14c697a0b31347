//! Property tests of the isolation of operators. After any controls, each operator has only its own share, slice ids
//! and UEs, in every model that reports UEs, with one and two levels of virtualization.
#![allow(clippy::unwrap_used)] // a test's set-up that fails is a failed test
mod lab;

use lab::Lab;
use lab::cell::{MockCell, PRBS};
use ranlab_e2::Time;
use ranlab_e2::agent::{Agent, FunctionDescription, UeFilter, UeId};
use ranlab_e2::functions::stats::{PeriodicReport, StatsSource};
use ranlab_e2::ric::Method::{Delete, Get, Put};
use ranlab_e2::ric::{IApp, IAppInput, IAppOutbox, Method};
use ranlab_e2_codec::e2ap::{GlobalE2NodeId, Plmn};
use ranlab_e2_codec::e2sm::plain::{PlainElement, encode_list};
use ranlab_e2_codec::e2sm::slice::{Slice, SliceParameters};
use ranlab_e2_codec::e2sm::{MODELS, Model, RowKey, Value, cell, gtp, kpm, mac, pdcp, rc, rlc, rrc, slice};
use ranlab_machine::Random;
use ranlab_ric::monitor::{Monitor, MonitorConfig, MonitorHandle};
use ranlab_ric::slicing::Slicing;
use ranlab_ric::virt::{Tenant, Virt};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(100);
const NODE: &str = "nodes/gnb%20505.01%205";

fn station_id() -> GlobalE2NodeId {
    GlobalE2NodeId::gnb(Plmn::new(505, 1, 2), 5, 32)
}

fn attach(lab: &mut Lab, rnti: u16, plmn: Plmn) {
    let station = &mut lab.stations[0];
    station.cell.attach(&mut station.agent, rnti, plmn, None);
    station.cell.state().slices.insert(rnti, 0);
}

/// Statistics of the mock's UEs. The generation identifies the owner when an RNTI is reused.
struct Tells<E> {
    cell: MockCell,
    generation: Arc<Mutex<u64>>,
    of: fn(u16, u64) -> E,
}

impl<E: PlainElement> StatsSource for Tells<E> {
    fn fill(&mut self, now: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        let state = self.cell.state();
        let generation = *self.generation.lock().unwrap();
        let seen = state.bearers.keys().filter(|it| ues.is_all() || ues.contains(UeId(it.rnti.into())));
        let all: Vec<E> = seen.map(|it| (self.of)(it.rnti, generation)).collect();
        encode_list(out, all, now.as_nanos() as i64 / 1_000).unwrap();
    }
}

/// Registers every statistics model and RRC.
fn offer_all(agent: &mut Agent, cell: &MockCell, generation: &Arc<Mutex<u64>>) {
    fn tells<E: PlainElement>(
        (cell, generation): (&MockCell, &Arc<Mutex<u64>>),
        model: &dyn Model,
        of: fn(u16, u64) -> E,
    ) -> PeriodicReport<Tells<E>> {
        PeriodicReport::for_model(model, Tells { cell: cell.clone(), generation: generation.clone(), of })
    }
    let from = (cell, generation);
    let mac = |rnti: u16, n| mac::MacUe { rnti: rnti.into(), dl_aggr_tbs: n, ..mac::MacUe::default() };
    let rlc = |rnti: u16, n| rlc::RlcBearer { rnti: rnti.into(), txsdu_bytes: n, ..Default::default() };
    let pdcp =
        |rnti: u16, n| pdcp::PdcpBearer { rnti: rnti.into(), txsdu_bytes: n as u32, ..Default::default() };
    let gtp = |rnti: u16, _| gtp::GtpTunnel { rnti: rnti.into(), ..gtp::GtpTunnel::default() };
    agent.register(Box::new(tells(from, &mac::Mac, mac)), Some(142)).unwrap();
    agent.register(Box::new(tells(from, &rlc::Rlc, rlc)), Some(143)).unwrap();
    agent.register(Box::new(tells(from, &pdcp::Pdcp, pdcp)), Some(144)).unwrap();
    agent.register(Box::new(tells(from, &gtp::Gtp, gtp)), Some(148)).unwrap();
    // These models report UEs of all operators and must not be offered to an operator.
    agent.register(Box::new(tells(from, &cell::CellStats, mac)), Some(150)).unwrap();
    agent.register(Box::new(tells(from, &kpm::Kpm, mac)), Some(2)).unwrap();
    let description =
        FunctionDescription { oid: rc::OID.to_owned(), definition: bytes::Bytes::new(), revision: 0 };
    let source = Tells { cell: cell.clone(), generation: generation.clone(), of: mac };
    agent.register(Box::new(PeriodicReport::new(description, source)), Some(3)).unwrap();
}

/// iApp that records the OIDs offered by nodes.
struct Offers(Arc<Mutex<BTreeSet<String>>>);

impl IApp for Offers {
    fn name(&self) -> &str {
        "offers"
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, _: &mut IAppOutbox) {
        if let IAppInput::NodeAdded(node) | IAppInput::NodeChanged(node) = input {
            self.0.lock().unwrap().extend(node.functions.iter().filter_map(|it| it.oid.clone()));
        }
    }
}

/// Controller of an operator that subscribes to every periodic model and contains the slicing controller,
/// which subscribes to RRC.
struct Spy {
    seat: usize,
    heard: MonitorHandle,
    offered: Arc<Mutex<BTreeSet<String>>>,
}

fn spy(lab: &mut Lab, address: &str) -> Spy {
    let models = MODELS.iter().copied().filter(|model| model.periodic(model.encoding(), PERIOD).is_ok());
    let (monitor, heard) = Monitor::new(MonitorConfig { models: models.collect(), period_ms: 10 }).unwrap();
    let seat = lab.controller(address, Box::new(monitor));
    let offered = Arc::default();
    lab.iapp(seat, Box::new(Offers(Arc::clone(&offered))));
    lab.iapp(seat, Box::new(Slicing::new(PERIOD).unwrap()));
    Spy { seat, heard, offered }
}

impl Spy {
    /// Returns the UEs in each model's last report, for models with a report.
    fn ues(&self) -> BTreeMap<&'static str, BTreeSet<u32>> {
        let mut all = BTreeMap::new();
        for (stats, table) in self.heard.snapshot().into_iter().flat_map(|node| node.reports) {
            let ues: BTreeSet<_> = table.rows().filter_map(|(key, _)| key.ue()).collect();
            if stats.indications > 0 {
                all.insert(stats.model.name(), ues);
            }
        }
        all
    }

    /// Returns the first column of a UE's MAC row, which identifies its owner.
    fn generation(&self, ue: u32) -> Option<Value> {
        let nodes = self.heard.snapshot();
        nodes.iter().flat_map(|node| node.rows(&mac::Mac, ue)).find_map(|(_, row)| row.first().cloned())
    }

    fn connected(&self, lab: &mut Lab) -> Vec<u64> {
        let (_, body) = lab.ask_at((self.seat, 2), Get, "nodes", "");
        body["nodes"][0]["ues"].as_array().unwrap().iter().map(|ue| ue["rnti"].as_u64().unwrap()).collect()
    }
}

fn network(n: usize) -> String {
    format!("001.{n:02}")
}

fn tenant(n: usize, share: f64) -> Tenant {
    Tenant::new(&format!("T{n}"), share, &[&network(n)]).unwrap()
}

/// An operator receives only its own UEs in every registered model, of every base station. KPM, RC, CELL and
/// TRAFFIC are not split by subscriber and are not offered.
#[test]
fn every_model_reports_only_the_operators_ues() {
    let generation = Arc::new(Mutex::new(1));
    let (virt, desk) =
        Virt::new(&[tenant(1, 0.5), tenant(2, 0.5)], true, 10, Duration::from_millis(70)).unwrap();
    let mut lab = Lab::new(Box::new(virt));
    let a = spy(&mut lab, "mem://a");
    let b = spy(&mut lab, "mem://b");
    lab.share(0, desk, &["mem://a", "mem://b"]);
    lab.station_with(station_id(), |agent, cell| offer_all(agent, cell, &generation));
    lab.pass(2 * PERIOD);
    for rnti in 1..=6 {
        // UEs of A, of B and of no operator, alternating.
        attach(&mut lab, rnti, network(usize::from(rnti - 1) % 3 + 1).parse().unwrap());
    }
    lab.pass(5 * PERIOD);
    let offered: BTreeSet<_> = a.offered.lock().unwrap().clone();
    let own = [slice::OID, rrc::OID, mac::OID, rlc::OID, pdcp::OID, gtp::OID];
    assert_eq!(offered, own.map(str::to_owned).into());
    assert_eq!(offered, *b.offered.lock().unwrap());
    for (spy, own) in [(&a, [1, 4]), (&b, [2, 5])] {
        let seen = spy.ues();
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), ["gtp", "mac", "pdcp", "rlc", "rrc", "slice"]);
        assert!(seen["rrc"].is_subset(&own.into()), "RRC must not report a UE of another operator: {seen:?}");
        assert!(
            seen.iter()
                .filter(|(name, _)| !["rrc", "slice"].contains(*name))
                .all(|(_, ues)| *ues == own.into()),
            "{seen:?}"
        );
        assert_eq!(spy.connected(&mut lab), own.map(u64::from));
        // The slice that represents the operator's whole share has id 0.
        let slices = spy.heard.snapshot().into_iter().flat_map(|node| node.reports);
        let keys = slices.filter(|(stats, _)| stats.model.name() == "slice");
        let keys: Vec<_> =
            keys.flat_map(|(_, table)| table.rows().map(|(key, _)| key).collect::<Vec<_>>()).collect();
        assert!(
            keys.iter().all(|key| matches!(key, RowKey::Slice { slice: 0 })
                || key.ue().is_some_and(|ue| own.contains(&ue))),
            "{keys:?}"
        );
    }
    // The RNTI of A's UE is reused by a UE of B; the old values must never be reported to B.
    assert!(b.generation(1).is_none());
    let was = a.generation(1).unwrap();
    let station = &mut lab.stations[0];
    station.cell.release(&mut station.agent, 1);
    *generation.lock().unwrap() = 2;
    attach(&mut lab, 1, network(2).parse().unwrap());
    let mut new_value = None;
    for _ in 0..300 {
        lab.pass(Duration::from_millis(1));
        let now = b.generation(1);
        assert_ne!(now.as_ref(), Some(&was), "B must not get old values of A's UE");
        new_value = new_value.or(now);
    }
    assert!(new_value.is_some() && a.generation(1).is_none() && a.connected(&mut lab) == [4]);
    assert_eq!(b.connected(&mut lab), [1, 2, 5]);
}

/// Random requests.
struct Dice(Random);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Random::stream(seed, 0))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Returns random shares with a sum of at most 1.
    fn shares(&mut self, count: usize) -> Vec<f64> {
        let parts: Vec<u64> = (0..count).map(|_| 1 + self.below(50)).collect();
        let whole = parts.iter().sum::<u64>() + self.below(30);
        parts.iter().map(|part| *part as f64 / whole as f64).collect()
    }

    /// Returns a slice id that is rarely invalid.
    fn id(&mut self) -> u64 {
        if self.below(8) == 0 { self.below(12) } else { self.below(4) }
    }

    /// Returns a random slice with a capacity or a rate, often too large.
    fn slice(&mut self) -> Json {
        let id = self.id();
        let mut slice = match self.below(3) {
            0 => {
                let reserved = 1 + self.below(20);
                let reference = 10 + self.below(80);
                json!({ "id": id, "rate": { "reserved_mbps": reserved, "reference_mbps": reference } })
            }
            _ => json!({ "id": id, "capacity": (1 + self.below(50)) as f64 / 100.0 }),
        };
        if self.below(2) == 0 {
            slice["scheduler"] = json!("remote");
        }
        slice
    }

    /// Returns a random request of an operator, and the UE that it concerns.
    fn command(&mut self, sharing: bool) -> (Method, String, String, Option<u64>) {
        let slices = format!("{NODE}/slices");
        let ue = 1 + self.below(9);
        match self.below(7) {
            0 | 1 => {
                let all: Vec<_> = (0..1 + self.below(3)).map(|_| self.slice()).collect();
                let sharing = sharing != (self.below(8) == 0);
                let body = json!({ "algorithm": "nvs", "sharing": sharing, "slices": all });
                (Put, slices, body.to_string(), None)
            }
            2 => {
                let slice = self.slice();
                (Put, format!("{slices}/{}", slice["id"]), slice.to_string(), None)
            }
            3 => (Delete, format!("{slices}/{}", self.id()), String::new(), None),
            4 => {
                let mut of = |_: u64| json!({ "rnti": 1 + self.below(9), "prbs": 1 + self.below(40) });
                let ues: Vec<_> = (0..1 + ue % 2).map(&mut of).collect();
                let path = format!("{slices}/{}/allocation", self.id());
                let body = json!({ "slots": 1 + self.below(4), "ues": ues });
                (Put, path, body.to_string(), None)
            }
            5 => {
                let cell = json!({ "cell_id": self.below(3) });
                (Put, format!("{NODE}/ues/{ue}/cell"), cell.to_string(), Some(ue))
            }
            _ => {
                let slice = json!({ "slice": self.id() });
                (Put, format!("{NODE}/ues/{ue}"), slice.to_string(), Some(ue))
            }
        }
    }
}

/// Returns the sum of the slices' reservations, as a share of 1.
fn reserved<'a>(slices: impl Iterator<Item = &'a Slice>) -> f64 {
    let of = |slice: &Slice| match &slice.parameters {
        SliceParameters::Capacity(ppm) => f64::from(*ppm) / 1e6,
        SliceParameters::Rate(rate) => f64::from(rate.reserved_kbps) / f64::from(rate.reference_kbps),
        other => panic!("{other:?}"),
    };
    slices.map(of).sum()
}

/// Operators of a test network: their controllers, their shares of the carrier, and the operator of each slice id at
/// the base station.
struct Operators {
    seats: Vec<usize>,
    shares: Vec<f64>,
    whose: fn(u16) -> Option<usize>,
    /// Operator of each UE, starting with UE 1.
    owner: Vec<usize>,
}

/// Number of requests by result.
#[derive(Default)]
struct RequestResults {
    done: u32,
    refused: u32,
    allocated: u32,
    handed_over: u32,
}

impl Operators {
    /// Sends random requests of the operators. Checks after each step that every operator has its agreed share and only
    /// its own resources.
    fn live(&self, lab: &mut Lab, dice: &mut Dice, sharing: bool, seed: u64) -> RequestResults {
        let mut results = RequestResults::default();
        for step in 0..40 {
            let operator = dice.below(self.seats.len() as u64) as usize;
            let (method, path, body, ue) = match dice.below(12) {
                0 => self.allocation(lab, dice, operator, sharing),
                _ => dice.command(sharing),
            };
            let (status, answer) = lab.ask_at((self.seats[operator], 0), method, &path, &body);
            match status {
                200 => results.done += 1,
                404 | 409 | 422 => results.refused += 1,
                _ => panic!("seed {seed} step {step}: {status} {answer}"),
            }
            let foreign = ue.is_some_and(|ue| self.owner.get(ue as usize - 1) != Some(&operator));
            assert!(!foreign || status == 404, "seed {seed} step {step}: {path} {status} {answer}");
            results.handed_over += u32::from(status == 200 && path.ends_with("/cell"));
            if step % 7 == 0 {
                lab.pass(2 * PERIOD);
            }
            results.allocated += self.check(lab, &format!("seed {seed} step {step}: {path} {body}"));
        }
        results
    }

    /// Replaces the operator's slices by a slice that is scheduled remotely. Returns a request to allocate PRBs in it
    /// to the operator's first UE, or to UE 9 if the operator has no UE.
    fn allocation(
        &self,
        lab: &mut Lab,
        dice: &mut Dice,
        operator: usize,
        sharing: bool,
    ) -> (Method, String, String, Option<u64>) {
        let id = dice.below(10);
        let slices = format!("{NODE}/slices");
        let slice = json!({ "id": id, "capacity": 0.9, "scheduler": "remote" });
        let set = json!({ "algorithm": "nvs", "sharing": sharing, "slices": [slice] });
        assert_eq!(lab.ask_at((self.seats[operator], 0), Put, &slices, &set.to_string()).0, 200);
        let own = self.owner.iter().position(|it| *it == operator);
        let ue = own.map_or(9, |at| at as u64 + 1);
        let body = json!({ "slots": 1 + dice.below(4), "ues": [{ "rnti": ue, "prbs": 1 + dice.below(4) }] });
        (Put, format!("{slices}/{id}/allocation"), body.to_string(), Some(ue))
    }

    /// Checks shares, ids and UEs; returns the number of new allocations.
    fn check(&self, lab: &Lab, what: &str) -> u32 {
        let mut state = lab.stations[0].cell.state();
        for (n, share) in self.shares.iter().enumerate() {
            let own = reserved(state.set.slices.iter().filter(|slice| (self.whose)(slice.id) == Some(n)));
            // Rounding costs at most one part per million per slice, and never adds any.
            assert!(
                own <= share + 16e-6,
                "{what}: operator T{n} has reserved {own}, more than its share {share}"
            );
        }
        let ids: BTreeSet<_> = state.set.slices.iter().map(|slice| slice.id).collect();
        assert_eq!(ids.len(), state.set.slices.len(), "{what}");
        let owner = |rnti: u16| self.owner.get(usize::from(rnti) - 1).copied();
        for (rnti, slice) in &state.slices {
            assert_eq!(
                (self.whose)(*slice),
                owner(*rnti),
                "{what}: UE {rnti} is in slice {slice} of another operator"
            );
        }
        let allocations = std::mem::take(&mut state.allocations);
        for allocation in &allocations {
            let whose = (self.whose)(allocation.slice);
            let prbs: u32 = allocation.ues.iter().map(|ue| u32::from(ue.prbs)).sum();
            assert!(prbs <= u32::from(PRBS), "{what}: {allocation:?}");
            assert!(
                whose.is_some() && allocation.ues.iter().all(|ue| owner(ue.rnti) == whose),
                "{what}: {allocation:?}"
            );
        }
        allocations.len() as u32
    }

    fn sees_its_own(&self, lab: &mut Lab, seed: u64) {
        lab.pass(4 * PERIOD);
        for (operator, seat) in self.seats.iter().enumerate() {
            let its: Vec<u64> =
                (1..).zip(&self.owner).filter(|(_, it)| **it == operator).map(|(n, _)| n).collect();
            let (_, body) = lab.ask_at((*seat, 0), Get, "nodes", "");
            let seen: Vec<_> = body["nodes"][0]["ues"]
                .as_array()
                .unwrap()
                .iter()
                .map(|ue| ue["rnti"].as_u64().unwrap())
                .collect();
            assert_eq!(seen, its, "seed {seed}");
        }
    }
}

/// Checks that enough requests of each kind were made.
fn assert_enough_requests(all: &[RequestResults]) {
    let sum = |of: fn(&RequestResults) -> u32| all.iter().map(of).sum::<u32>();
    let sums = [sum(|it| it.done), sum(|it| it.refused), sum(|it| it.allocated), sum(|it| it.handed_over)];
    assert!(sums[0] > 200 && sums[1] > 200 && sums[2] > 50 && sums[3] > 10, "{sums:?}");
}

/// With random operators, shares and controls, no operator ever exceeds its share or obtains an id or UE of
/// another.
#[test]
fn random_controls_never_exceed_share_or_ownership() {
    let world = |seed: u64| {
        let dice = &mut Dice::new(seed);
        let count = 1 + dice.below(4) as usize;
        let sharing = dice.below(3) > 0;
        let shares = dice.shares(count);
        let tenants: Vec<_> = (0..count).map(|n| tenant(n, shares[n])).collect();
        let (virt, desk) = Virt::new(&tenants, sharing, 10, PERIOD).unwrap();
        let mut lab = Lab::new(Box::new(virt));
        let addresses: Vec<String> = (0..count).map(|n| format!("mem://{n}")).collect();
        let seat = |address: &String| lab.controller(address, Box::new(Slicing::new(PERIOD).unwrap()));
        let seats = addresses.iter().map(seat).collect();
        lab.share(0, desk, &addresses.iter().map(String::as_str).collect::<Vec<_>>());
        lab.station(station_id());
        lab.pass(2 * PERIOD);
        let owner: Vec<usize> = (0..8).map(|_| dice.below(count as u64) as usize).collect();
        (1..).zip(&owner).for_each(|(rnti, owner)| attach(&mut lab, rnti, network(*owner).parse().unwrap()));
        lab.pass(3 * PERIOD);
        // Id 0 belongs to no operator; each operator has one id for its whole share and ten more.
        let whose = |id: u16| id.checked_sub(1).map(|id| usize::from(id / 11));
        let operators = Operators { seats, shares, whose, owner };
        let results = operators.live(&mut lab, dice, sharing, seed);
        operators.sees_its_own(&mut lab, seed);
        results
    };
    assert_enough_requests(&(1..=40).map(world).collect::<Vec<_>>());
}

/// Nested operators, and an operator next to them, also never exceed their shares or obtain an id or UE of another.
#[test]
fn nested_operators_keep_the_product_of_shares() {
    let world = |seed: u64| {
        let dice = &mut Dice::new(seed ^ 0xdee9);
        // T0 and T1 share the part of U; T2 is next to U. Each of the three has slices at a base station with
        // at most 16.
        let lower = dice.shares(2);
        let upper = dice.shares(2);
        let sharing = dice.below(3) > 0;
        let both = [network(0), network(1)];
        let u = Tenant::new("U", lower[0], &both.each_ref().map(String::as_str)).unwrap();
        let (below, desk) = Virt::new(&[u, tenant(2, lower[1])], sharing, 40, PERIOD).unwrap();
        let (above, inner) =
            Virt::new(&[tenant(0, upper[0]), tenant(1, upper[1])], sharing, 10, PERIOD).unwrap();
        let mut lab = Lab::new(Box::new(below));
        lab.controller("mem://u", Box::new(above));
        let mut seat = |address: &str| lab.controller(address, Box::new(Slicing::new(PERIOD).unwrap()));
        let seats = ["mem://0", "mem://1", "mem://2"].map(&mut seat).to_vec();
        lab.share(0, desk, &["mem://u", "mem://2"]);
        lab.share(1, inner, &["mem://0", "mem://1"]);
        lab.station(station_id());
        lab.pass(5 * PERIOD);
        let owner: Vec<usize> = (0..8).map(|_| dice.below(3) as usize).collect();
        (1..).zip(&owner).for_each(|(rnti, owner)| attach(&mut lab, rnti, network(*owner).parse().unwrap()));
        lab.pass(6 * PERIOD);
        // At the base station, U has ids 1 to 41, and T2 has ids 42 to 82. U uses id 1 for its whole share, id 2 for
        // UEs of no operator, and then eleven ids for each of its operators.
        let whose = |id: u16| match id {
            3..=13 => Some(0),
            14..=24 => Some(1),
            42..=82 => Some(2),
            _ => None,
        };
        let shares = vec![lower[0] * upper[0], lower[0] * upper[1], lower[1]];
        let operators = Operators { seats, shares, whose, owner };
        let results = operators.live(&mut lab, dice, sharing, seed);
        operators.sees_its_own(&mut lab, seed);
        results
    };
    assert_enough_requests(&(1..=40).map(world).collect::<Vec<_>>());
}
