//! A base station as the operators see it, and what each of them has there.
use super::lease::Lease;
use super::tenants::Tenants;
use bytes::Bytes;
use ranlab_e2::ric::RequestHandle;
use ranlab_wire::e2ap::{ComponentConfigItem, GlobalE2NodeId};
use ranlab_wire::e2sm::control::{Reason, Refusal};
use ranlab_wire::e2sm::rrc::{RrcCell, RrcChange, RrcEvent, RrcHandover};
use ranlab_wire::e2sm::slice::{
    RateReservation, Slice, SliceAlgorithm, SliceCommand, SliceIndication, SliceParameters, SliceSet,
    SliceShare, UeScheduler, UeSlice,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Commands of an operator that may wait at a base station.
const ORDERS_MAX: usize = 64;
/// News of UEs that are kept for an operator that does not ask; beyond, the oldest go.
const NEWS_MAX: usize = 4_096;
/// The slice of UEs that are nobody's subscribers; it is the first, so that they are there of themselves.
const NOBODYS_ID: u16 = 0;

/// What a base station is told, and in an operator's terms what an operator tells.
#[derive(Debug, Clone)]
pub(super) enum Command {
    /// To the part that shares the carrier.
    Slice(SliceCommand),
    /// To the part that has the UEs' connections.
    HandOver(RrcHandover),
}

/// A command of an operator.
#[derive(Debug, Clone)]
struct Order {
    number: u64,
    command: Command,
}

/// What an operator has at a base station.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Its slices, in its own terms.
    pub(super) set: SliceSet,
    /// Its UEs that it put somewhere, and where.
    homes: BTreeMap<u16, u16>,
    /// Its UEs.
    pub(super) ues: BTreeMap<u16, RrcEvent>,
    /// What happened to them since it was last told.
    pub(super) news: VecDeque<RrcEvent>,
    orders: VecDeque<Order>,
    last_order: u64,
    /// What became of its commands about slices since it was last told.
    pub(super) ended: Vec<End>,
    /// And about connections.
    pub(super) handed_over: Vec<End>,
}

/// The number of a command, and how it ended.
pub(super) type End = (u64, Result<(), Refusal>);

impl View {
    fn new(sharing: bool) -> Self {
        Self { set: SliceSet { sharing, ..SliceSet::default() }, ..Self::default() }
    }

    /// Where a UE is, in its terms: where it was put, else in the first slice; `None` without slices.
    fn slice_of(&self, rnti: u16) -> Option<u16> {
        let home = self.homes.get(&rnti).copied().filter(|id| self.set.slice(*id).is_some());
        home.or_else(|| self.set.slices.first().map(|slice| slice.id))
    }

    /// Takes a command in; the number by which its end is told.
    pub(super) fn order(&mut self, command: Command) -> Result<u64, Refusal> {
        if self.orders.len() >= ORDERS_MAX {
            return Err(Refusal::new(Reason::TooMany, "too many commands at once; try again"));
        }
        self.last_order += 1;
        self.orders.push_back(Order { number: self.last_order, command });
        Ok(self.last_order)
    }

    /// A command has ended.
    fn end(&mut self, order: &Order, end: Result<(), Refusal>) {
        let told =
            if let Command::Slice(_) = order.command { &mut self.ended } else { &mut self.handed_over };
        told.push((order.number, end));
    }

    /// A UE came, or what is known of it has changed.
    fn hear(&mut self, event: RrcEvent) {
        let known = RrcEvent { change: RrcChange::Connected, other: None, ..event.clone() };
        self.ues.insert(event.rnti, known);
        self.tell(event);
    }

    /// A UE went, if it was there.
    fn lose(&mut self, rnti: u16, other: Option<RrcCell>) {
        self.homes.remove(&rnti);
        if let Some(ue) = self.ues.remove(&rnti) {
            self.tell(RrcEvent { change: RrcChange::Release, other, ..ue });
        }
    }

    fn tell(&mut self, event: RrcEvent) {
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        self.news.push_back(event);
    }
}

/// What the base station is being told.
#[derive(Debug)]
struct UnderWay {
    request: RequestHandle,
    command: Command,
    by: By,
}

/// For which operator's command, and what its configuration is afterwards; `None`: to have it as it should be.
type By = Option<(usize, Order, SliceSet)>;

/// A base station as the operators see it.
#[derive(Debug)]
pub(super) struct Station {
    /// The part that shares the carrier.
    pub(super) part: GlobalE2NodeId,
    /// The part that has the UEs' connections.
    pub(super) cu: GlobalE2NodeId,
    pub(super) components: Vec<ComponentConfigItem>,
    /// Its cells as RRC numbers them, as far as known.
    pub(super) cells: BTreeSet<u16>,
    /// All parts are there.
    pub(super) up: bool,
    /// What it said last of its slices.
    pub(super) report: Option<SliceIndication>,
    /// What it said last in each statistics model.
    pub(super) stats: BTreeMap<&'static str, Bytes>,
    /// UEs that came after that was said, by model: what it says under such a number is about another UE, perhaps of
    /// another operator.
    later: BTreeMap<&'static str, BTreeSet<u16>>,
    /// Of each operator.
    pub(super) views: Vec<View>,
    under_way: Option<UnderWay>,
    /// Whose commands are looked at first: one with many holds nobody up.
    turn: usize,
    /// What it did not do; it is asked again later.
    pub(super) refused: Option<String>,
}

/// The slice for those who are nobody's subscribers: it reserves what is agreed with nobody, which else would be added to
/// what operators have; where that is nothing, what rounds to nothing.
fn nobodys(left_ppm: u32) -> Slice {
    let next_to_nothing = RateReservation { reserved_kbps: 1, reference_kbps: u32::MAX };
    Slice {
        id: NOBODYS_ID,
        label: "nobody's".to_owned(),
        scheduler: UeScheduler::ProportionalFair,
        parameters: match left_ppm {
            0 => SliceParameters::Rate(next_to_nothing),
            some => SliceParameters::Capacity(some),
        },
    }
}

impl Station {
    pub(super) fn new(part: GlobalE2NodeId, cu: GlobalE2NodeId, tenants: &Tenants) -> Self {
        Self {
            part,
            cu,
            components: Vec::new(),
            cells: BTreeSet::new(),
            up: false,
            report: None,
            stats: BTreeMap::new(),
            later: BTreeMap::new(),
            views: tenants.leases.iter().map(|_| View::new(tenants.sharing)).collect(),
            under_way: None,
            turn: 0,
            refused: None,
        }
    }

    /// Whether operators can be told of it.
    pub(super) fn is_ready(&self) -> bool {
        self.up && self.report.is_some()
    }

    /// Resource blocks of its carrier.
    pub(super) fn prbs(&self) -> u16 {
        self.report.as_ref().map_or(1, |report| report.prbs)
    }

    /// It is gone, or another than before: whoever waits is told.
    pub(super) fn forget(&mut self) {
        self.up = false;
        self.report = None;
        self.stats.clear();
        self.later.clear();
        if let Some(UnderWay { by: Some((tenant, order, _)), .. }) = self.under_way.take() {
            self.views[tenant].orders.push_front(order);
        }
        for view in &mut self.views {
            for order in std::mem::take(&mut view.orders) {
                view.end(&order, Err(Refusal::new(Reason::NotSupported, "the base station is lost")));
            }
        }
    }

    /// How the carrier should be shared, if the operator `with` had this configuration.
    fn wanted(&self, tenants: &Tenants, with: Option<(usize, &SliceSet)>) -> Result<SliceSet, Refusal> {
        let mut slices = vec![nobodys(tenants.left_ppm)];
        for (tenant, (lease, view)) in tenants.leases.iter().zip(&self.views).enumerate() {
            let set = with.filter(|(of, _)| *of == tenant).map_or(&view.set, |(_, set)| set);
            if set.slices.is_empty() {
                slices.push(lease.whole(&tenants.names[tenant]));
            } else {
                slices.extend(lease.outer(set, tenants.sharing, self.prbs())?);
            }
        }
        Ok(SliceSet { algorithm: SliceAlgorithm::Nvs, sharing: tenants.sharing, slices })
    }

    /// Where an operator's UE should be.
    fn outer_home(lease: &Lease, view: &View, rnti: u16) -> u16 {
        view.slice_of(rnti).and_then(|id| lease.outer_id(id)).unwrap_or(lease.first_id)
    }

    /// What is to be done next at the base station, if nothing is being done: the operators' commands in turn, then what
    /// is not as it should be.
    fn next(&mut self, tenants: &Tenants) -> Option<(Command, By)> {
        let report = self.report.as_ref().filter(|_| self.up && self.under_way.is_none())?;
        let wanted = self.wanted(tenants, None).ok()?;
        if report.set != wanted {
            return Some((Command::Slice(SliceCommand::Configure(wanted)), None));
        }
        let place = |(lease, view): (&Lease, &View)| -> Vec<UeSlice> {
            let of = |rnti: &u16| UeSlice { rnti: *rnti, slice: Self::outer_home(lease, view, *rnti) };
            let there = |ue: &UeSlice| report.ues.iter().find(|known| known.rnti == ue.rnti).copied();
            let moved = |ue: &UeSlice| there(ue).is_some_and(|known| known.slice != ue.slice);
            view.ues.keys().map(of).filter(moved).collect()
        };
        let moves: Vec<_> = tenants.leases.iter().zip(&self.views).flat_map(place).collect();
        if !moves.is_empty() {
            return Some((Command::Slice(SliceCommand::Associate(moves)), None));
        }
        let (prbs, count) = (self.prbs(), tenants.leases.len());
        for tenant in (0..count).map(|n| (self.turn + n) % count) {
            let lease = &tenants.leases[tenant];
            while let Some(order) = self.views[tenant].orders.pop_front() {
                match self.translated(tenants, tenant, lease, prbs, &order.command) {
                    Ok((command, set)) => {
                        self.turn = tenant + 1;
                        return Some((command, Some((tenant, order, set))));
                    }
                    Err(refusal) => self.views[tenant].end(&order, Err(refusal)),
                }
            }
        }
        None
    }

    /// An operator's command as the base station's, and its configuration afterwards.
    fn translated(
        &self,
        tenants: &Tenants,
        tenant: usize,
        lease: &Lease,
        prbs: u16,
        command: &Command,
    ) -> Result<(Command, SliceSet), Refusal> {
        let view = &self.views[tenant];
        let its = |rnti: u16| match view.ues.get(&rnti) {
            Some(ue) => Ok(ue),
            None => Err(Refusal::new(Reason::UnknownUe, format!("there is no UE {rnti}"))),
        };
        let command = match command {
            Command::HandOver(handover) => {
                its(handover.rnti)?;
                return Ok((Command::HandOver(*handover), view.set.clone()));
            }
            Command::Slice(command) => command,
        };
        let next = view.set.after(command, lease.prbs(prbs))?;
        let unknown = |id: u16| Refusal::new(Reason::UnknownSlice, format!("there is no slice {id}"));
        let outer = match command {
            SliceCommand::Associate(ues) => {
                let outer = |ue: &UeSlice| {
                    let slice = lease.outer_id(ue.slice).ok_or_else(|| unknown(ue.slice));
                    its(ue.rnti).and(slice).map(|slice| UeSlice { rnti: ue.rnti, slice })
                };
                SliceCommand::Associate(ues.iter().map(outer).collect::<Result<_, _>>()?)
            }
            SliceCommand::Allocate(allocation) => {
                for ue in &allocation.ues {
                    its(ue.rnti)?;
                }
                let outer = lease.allocation(allocation, prbs);
                SliceCommand::Allocate(outer.ok_or_else(|| unknown(allocation.slice))?)
            }
            _ => {
                lease.outer(&next, tenants.sharing, prbs)?;
                SliceCommand::Configure(self.wanted(tenants, Some((tenant, &next)))?)
            }
        };
        Ok((Command::Slice(outer), next))
    }

    /// Sends what is to be done next with `send`; `None`: it cannot be sent.
    pub(super) fn go_on(
        &mut self,
        tenants: &Tenants,
        send: impl FnOnce(&Self, &Command) -> Option<RequestHandle>,
    ) {
        if self.refused.is_some() {
            return;
        }
        let Some((command, by)) = self.next(tenants) else { return };
        match send(self, &command) {
            Some(request) => self.under_way = Some(UnderWay { request, command, by }),
            None => {
                let refusal = Refusal::new(Reason::NotSupported, "the base station takes no commands");
                match by {
                    Some((tenant, order, _)) => self.views[tenant].end(&order, Err(refusal)),
                    None => self.refused = Some(refusal.detail),
                }
            }
        }
    }

    /// A control has ended, perhaps the one under way.
    pub(super) fn done(&mut self, request: RequestHandle, end: &Result<(), Refusal>) {
        let Some(UnderWay { command, by, .. }) = self.under_way.take_if(|it| it.request == request) else {
            return;
        };
        if let (Ok(()), Some(report), Command::Slice(command)) = (end, &mut self.report, &command) {
            took_effect(report, command);
        }
        match (by, end) {
            (Some((tenant, order, next)), Ok(())) => {
                let view = &mut self.views[tenant];
                view.set = next;
                if let Command::Slice(SliceCommand::Associate(ues)) = &order.command {
                    view.homes.extend(ues.iter().map(|ue| (ue.rnti, ue.slice)));
                }
                let set = &view.set;
                view.homes.retain(|_, slice| set.slice(*slice).is_some());
                view.end(&order, Ok(()));
            }
            (Some((tenant, order, _)), Err(refusal)) => {
                // Its sentence may name what is not this operator's.
                let own = Refusal::new(refusal.reason, "the base station does not do this");
                self.views[tenant].end(&order, Err(own));
            }
            (None, Err(refusal)) => self.refused = Some(refusal.detail.clone()),
            (None, Ok(())) => {}
        }
    }

    /// Takes a statistics message in.
    pub(super) fn keep(&mut self, oid: &'static str, message: Bytes) {
        self.stats.insert(oid, message);
        self.later.remove(oid);
    }

    /// What it said last in a statistics model, and of which UEs that tells nothing yet.
    pub(super) fn said(&self, oid: &str) -> Option<(&Bytes, impl Fn(u32) -> bool)> {
        let later = self.later.get(oid);
        let is_later = move |rnti| later.is_some_and(|all| all.iter().any(|it| u32::from(*it) == rnti));
        self.stats.get(oid).map(|message| (message, is_later))
    }

    /// Whose UE came or changed: it is this operator's, or nobody's.
    pub(super) fn hear(&mut self, tenant: Option<usize>, event: &RrcEvent) {
        let known = tenant.is_some_and(|it| self.views[it].ues.contains_key(&event.rnti));
        if event.change == RrcChange::Attach || !known {
            for oid in self.stats.keys() {
                self.later.entry(oid).or_default().insert(event.rnti);
            }
        }
        for (n, view) in self.views.iter_mut().enumerate() {
            if tenant == Some(n) {
                view.hear(event.clone());
            } else {
                view.lose(event.rnti, None);
            }
        }
    }

    /// A UE went.
    pub(super) fn lose(&mut self, event: &RrcEvent) {
        self.views.iter_mut().for_each(|view| view.lose(event.rnti, event.other));
    }

    /// What an operator is told of its slices.
    pub(super) fn told(&self, tenants: &Tenants, tenant: usize) -> SliceIndication {
        let (lease, view) = (&tenants.leases[tenant], &self.views[tenant]);
        let Some(report) = &self.report else { return SliceIndication::default() };
        let inner = |outer: u16| {
            // Its share as a whole is what a base station without slices tells: one entry, numbered 0.
            let whole = view.set.slices.is_empty() && outer == lease.first_id;
            if whole { Some(0) } else { lease.inner_id(outer).filter(|id| view.set.slice(*id).is_some()) }
        };
        let share = |share: &SliceShare| Some(SliceShare { slice: inner(share.slice)?, ..*share });
        let ue = |rnti: &u16| UeSlice { rnti: *rnti, slice: view.slice_of(*rnti).unwrap_or(0) };
        SliceIndication {
            tstamp_us: report.tstamp_us,
            prbs: lease.prbs(report.prbs),
            prbs_offered: lease.offered(report.prbs_offered),
            set: view.set.clone(),
            ues: view.ues.keys().map(ue).collect(),
            slot: report.slot,
            slot_us: report.slot_us,
            got: report.got.iter().filter_map(share).collect(),
        }
    }
}

/// What a command has changed is known before the next report says so.
fn took_effect(report: &mut SliceIndication, command: &SliceCommand) {
    match command {
        SliceCommand::Configure(set) => {
            report.set = set.clone();
            let first = set.slices.first().map_or(0, |slice| slice.id);
            for ue in report.ues.iter_mut().filter(|ue| set.slice(ue.slice).is_none()) {
                ue.slice = first;
            }
        }
        SliceCommand::Associate(ues) => {
            for ue in &mut report.ues {
                let told = ues.iter().find(|told| told.rnti == ue.rnti);
                ue.slice = told.map_or(ue.slice, |told| told.slice);
            }
        }
        _ => {}
    }
}
