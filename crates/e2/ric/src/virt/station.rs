//! Base station as seen by the operators, with each operator's slices and UEs.
use super::lease::TenantShare;
use super::tenants::Tenants;
use bytes::Bytes;
use ranlab_e2::ric::RequestHandle;
use ranlab_e2_codec::e2ap::{ComponentConfigItem, GlobalE2NodeId};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::rrc::{RrcCell, RrcChange, RrcEvent, RrcHandover};
use ranlab_e2_codec::e2sm::slice::{
    RateReservation, Slice, SliceAlgorithm, SliceCommand, SliceIndication, SliceParameters, SliceSet,
    SliceShare, UeScheduler, UeSlice,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of queued controls per operator and base station.
const ORDERS_MAX: usize = 64;
/// Maximum number of UE changes kept for an operator that does not read them; the oldest are dropped.
const NEWS_MAX: usize = 4_096;
/// Slice of UEs that belong to no operator. It is the first slice, so that new UEs are in it by default.
const NOBODYS_ID: u16 = 0;

/// Control, either in the base station's or in an operator's terms.
#[derive(Debug, Clone)]
pub(super) enum Command {
    /// Control for the E2 node that schedules the carrier.
    Slice(SliceCommand),
    /// Control for the E2 node that terminates RRC.
    HandOver(RrcHandover),
}

/// Control of an operator.
#[derive(Debug, Clone)]
struct Order {
    number: u64,
    command: Command,
}

/// View of an operator on a base station.
#[derive(Debug, Default)]
pub(super) struct TenantView {
    /// Slices, in the operator's terms.
    pub(super) set: SliceSet,
    /// Slice of each UE that the operator has associated, by RNTI.
    homes: BTreeMap<u16, u16>,
    /// UEs of the operator, by RNTI.
    pub(super) ues: BTreeMap<u16, RrcEvent>,
    /// UE changes since the agent last read them.
    pub(super) news: VecDeque<RrcEvent>,
    orders: VecDeque<Order>,
    last_order: u64,
    /// Outcomes of slice controls since the agent last read them.
    pub(super) ended: Vec<CommandResult>,
    /// Outcomes of handovers since the agent last read them.
    pub(super) handed_over: Vec<CommandResult>,
}

/// Number of a control and its outcome.
pub(super) type CommandResult = (u64, Result<(), Refusal>);

impl TenantView {
    fn new(sharing: bool) -> Self {
        Self { set: SliceSet { sharing, ..SliceSet::default() }, ..Self::default() }
    }

    /// Returns the slice of a UE in the operator's terms: the associated slice, else the first; `None`
    /// without slices.
    fn slice_of(&self, rnti: u16) -> Option<u16> {
        let home = self.homes.get(&rnti).copied().filter(|id| self.set.slice(*id).is_some());
        home.or_else(|| self.set.slices.first().map(|slice| slice.id))
    }

    /// Queues a control and returns the number under which its outcome is reported.
    pub(super) fn order(&mut self, command: Command) -> Result<u64, Refusal> {
        if self.orders.len() >= ORDERS_MAX {
            return Err(Refusal::new(Reason::TooMany, "too many commands are pending; try again"));
        }
        self.last_order += 1;
        self.orders.push_back(Order { number: self.last_order, command });
        Ok(self.last_order)
    }

    /// Records the outcome of a control.
    fn end(&mut self, order: &Order, end: Result<(), Refusal>) {
        let results =
            if let Command::Slice(_) = order.command { &mut self.ended } else { &mut self.handed_over };
        results.push((order.number, end));
    }

    /// Adds or updates a UE.
    fn on_rrc_event(&mut self, event: RrcEvent) {
        let known = RrcEvent { change: RrcChange::Connected, other: None, ..event.clone() };
        self.ues.insert(event.rnti, known);
        self.push_event(event);
    }

    /// Removes a UE if it is known.
    fn lose(&mut self, rnti: u16, other: Option<RrcCell>) {
        self.homes.remove(&rnti);
        if let Some(ue) = self.ues.remove(&rnti) {
            self.push_event(RrcEvent { change: RrcChange::Release, other, ..ue });
        }
    }

    fn push_event(&mut self, event: RrcEvent) {
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        self.news.push_back(event);
    }
}

/// Pending control at the base station.
#[derive(Debug)]
struct UnderWay {
    request: RequestHandle,
    command: Command,
    by: CommandOrigin,
}

/// Origin of a pending control: operator, its control, and its configuration afterwards. `None`: a correction
/// by the controller.
type CommandOrigin = Option<(usize, Order, SliceSet)>;

/// Base station as seen by the operators.
#[derive(Debug)]
pub(super) struct SharedBaseStation {
    /// E2 node that schedules the carrier.
    pub(super) part: GlobalE2NodeId,
    /// E2 node that terminates RRC.
    pub(super) cu: GlobalE2NodeId,
    pub(super) components: Vec<ComponentConfigItem>,
    /// Cells in RRC numbering, as far as known.
    pub(super) cells: BTreeSet<u16>,
    /// Whether all E2 nodes are connected.
    pub(super) up: bool,
    /// Last SLICE report.
    pub(super) report: Option<SliceIndication>,
    /// Last report of each statistics model.
    pub(super) stats: BTreeMap<&'static str, Bytes>,
    /// RNTIs that were reassigned after the last report, by model. The report's values for such an RNTI belong to
    /// another UE, possibly of another operator.
    later: BTreeMap<&'static str, BTreeSet<u16>>,
    /// View of each operator.
    pub(super) views: Vec<TenantView>,
    under_way: Option<UnderWay>,
    /// Index of the operator whose controls are sent first. It rotates, so that an operator with many controls does not delay the others.
    turn: usize,
    /// Last refusal of a correction; retried later.
    pub(super) refused: Option<String>,
}

/// Returns the slice for UEs of no operator. It reserves the share that is not leased, which would otherwise be added
/// to the operators' shares. If nothing is left, it reserves the smallest share possible.
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

impl SharedBaseStation {
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
            views: tenants.leases.iter().map(|_| TenantView::new(tenants.sharing)).collect(),
            under_way: None,
            turn: 0,
            refused: None,
        }
    }

    /// Returns whether the base station can be shown to operators.
    pub(super) fn is_ready(&self) -> bool {
        self.up && self.report.is_some()
    }

    /// Returns the number of resource blocks of the carrier.
    pub(super) fn prbs(&self) -> u16 {
        self.report.as_ref().map_or(1, |report| report.prbs)
    }

    /// Fails all pending controls after a loss or change of the base station.
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
                view.end(
                    &order,
                    Err(Refusal::new(Reason::NotSupported, "the base station is not connected")),
                );
            }
        }
    }

    /// Returns the slice configuration of the carrier, optionally with another configuration of one operator.
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

    /// Returns the base station's slice for an operator's UE.
    fn outer_home(lease: &TenantShare, view: &TenantView, rnti: u16) -> u16 {
        view.slice_of(rnti).and_then(|id| lease.outer_id(id)).unwrap_or(lease.first_id)
    }

    /// Returns the next control for an idle base station: operators' controls in rotation, then corrections.
    fn next(&mut self, tenants: &Tenants) -> Option<(Command, CommandOrigin)> {
        let report = self.report.as_ref().filter(|_| self.up && self.under_way.is_none())?;
        let wanted = self.wanted(tenants, None).ok()?;
        if report.set != wanted {
            return Some((Command::Slice(SliceCommand::Configure(wanted)), None));
        }
        let place = |(lease, view): (&TenantShare, &TenantView)| -> Vec<UeSlice> {
            let of = |rnti: &u16| UeSlice { rnti: *rnti, slice: Self::outer_home(lease, view, *rnti) };
            let there = |ue: &UeSlice| report.ues.iter().find(|known| known.rnti == ue.rnti).copied();
            let moved = |ue: &UeSlice| there(ue).is_some_and(|known| known.slice != ue.slice);
            view.ues.keys().map(of).filter(moved).collect()
        };
        let moves: Vec<_> = tenants.leases.iter().zip(&self.views).flat_map(place).collect();
        if !moves.is_empty() {
            return Some((Command::Slice(SliceCommand::Associate(moves)), None));
        }
        let prbs = self.prbs();
        let count = tenants.leases.len();
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

    /// Translates an operator's control to the base station's terms; also returns the operator's
    /// configuration afterwards.
    fn translated(
        &self,
        tenants: &Tenants,
        tenant: usize,
        lease: &TenantShare,
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

    /// Sends the next control with `send`, which returns `None` if it cannot be sent.
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
                let refusal = Refusal::new(Reason::NotSupported, "the base station does not accept commands");
                match by {
                    Some((tenant, order, _)) => self.views[tenant].end(&order, Err(refusal)),
                    None => self.refused = Some(refusal.detail),
                }
            }
        }
    }

    /// Applies the outcome of a control, if it is the pending one.
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
                // The original text may name resources of other operators.
                let own = Refusal::new(refusal.reason, "the base station does not execute this command");
                self.views[tenant].end(&order, Err(own));
            }
            (None, Err(refusal)) => self.refused = Some(refusal.detail.clone()),
            (None, Ok(())) => {}
        }
    }

    /// Stores a statistics message.
    pub(super) fn keep(&mut self, oid: &'static str, message: Bytes) {
        self.stats.insert(oid, message);
        self.later.remove(oid);
    }

    /// Returns the last report of a statistics model, and a predicate for RNTIs whose values are outdated.
    pub(super) fn said(&self, oid: &str) -> Option<(&Bytes, impl Fn(u32) -> bool)> {
        let later = self.later.get(oid);
        let is_later = move |rnti| later.is_some_and(|all| all.iter().any(|it| u32::from(*it) == rnti));
        self.stats.get(oid).map(|message| (message, is_later))
    }

    /// Registers a UE of an operator (`None`: of no operator) or an update of it.
    pub(super) fn on_rrc_event(&mut self, tenant: Option<usize>, event: &RrcEvent) {
        let known = tenant.is_some_and(|it| self.views[it].ues.contains_key(&event.rnti));
        if event.change == RrcChange::Attach || !known {
            for oid in self.stats.keys() {
                self.later.entry(oid).or_default().insert(event.rnti);
            }
        }
        for (n, view) in self.views.iter_mut().enumerate() {
            if tenant == Some(n) {
                view.on_rrc_event(event.clone());
            } else {
                view.lose(event.rnti, None);
            }
        }
    }

    /// Removes a UE.
    pub(super) fn lose(&mut self, event: &RrcEvent) {
        self.views.iter_mut().for_each(|view| view.lose(event.rnti, event.other));
    }

    /// Returns the SLICE report for an operator.
    pub(super) fn as_seen_by(&self, tenants: &Tenants, tenant: usize) -> SliceIndication {
        let lease = &tenants.leases[tenant];
        let view = &self.views[tenant];
        let Some(report) = &self.report else { return SliceIndication::default() };
        let inner = |outer: u16| {
            // An operator without slices sees its whole share as one slice with id 0, like a base station
            // without slices.
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

/// Applies a confirmed control to the last report, before the next report arrives.
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
                let entry = ues.iter().find(|entry| entry.rnti == ue.rnti);
                ue.slice = entry.map_or(ue.slice, |entry| entry.slice);
            }
        }
        _ => {}
    }
}
