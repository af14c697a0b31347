//! An xApp on its own thread, with bounded queues for its indications.
use crate::actor::Actor;
use crate::convert::{form, rows};
use crate::errors::{Class, Fault};
use crate::models::{Function, Ordered, OrderedUe, Pair, encode_control, model, order, pair};
use crate::parts::Held;
use crate::queue::{BYTES_MAX, ITEMS_MAX, Item, Queue};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ranlab_sdk::e2::effect::{Change, Halves};
use ranlab_sdk::e2::xapp::{
    Dialect, FunctionRef, KpmPlan, StandingHandle, SubscriptionHandle, XappConfig, XappEvent,
};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, GlobalE2NodeId, Version};
use ranlab_sdk::wire::e2sm::common::Snssai;
use ranlab_sdk::wire::e2sm::kpm::Selection;
use ranlab_sdk::wire::e2sm::{Encoding, Model, Octets, by_oid};
use ranlab_sdk::{Bytes, SubscriptionError, Watch, XappHandle};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Maximum number of stored problems. Beyond it, the oldest is dropped and counted.
const TROUBLES_MAX: usize = 64;
/// Maximum time to read the state of the xApp.
const LOOK: Duration = Duration::from_secs(10);
/// Time added to the xApp's own timeout of a response.
const MARGIN: Duration = Duration::from_secs(1);
/// Maximum time to delete all subscriptions at the end.
const LEAVE: Duration = Duration::from_secs(1);
/// Interval at which Ctrl-C is checked.
const SIGNAL_LOOK: Duration = Duration::from_millis(50);

/// Subscriptions whose indications a queue receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Route {
    Standing(StandingHandle),
    One(SubscriptionHandle),
}

type Admission = oneshot::Sender<Result<(), SubscriptionError>>;

/// State on the thread.
struct State {
    handle: XappHandle,
    queues: RefCell<BTreeMap<Route, Arc<Queue>>>,
    admissions: RefCell<BTreeMap<SubscriptionHandle, Admission>>,
    troubles: RefCell<VecDeque<String>>,
    troubles_forgotten: Cell<u64>,
}

impl State {
    async fn connect(config: XappConfig) -> Result<Rc<Self>, Fault> {
        let handle = XappHandle::connect(config, SocketOptions::default()).await?;
        let state = Rc::new(Self {
            handle,
            queues: RefCell::default(),
            admissions: RefCell::default(),
            troubles: RefCell::default(),
            troubles_forgotten: Cell::new(0),
        });
        let pump = Rc::clone(&state);
        // The task ends with the thread's runtime.
        tokio::task::spawn_local(async move {
            loop {
                let event = pump.handle.next().await;
                pump.on_event(event);
            }
        });
        Ok(state)
    }

    fn on_event(&self, event: XappEvent) {
        match event {
            XappEvent::Indication { handle, standing, node, indication } => {
                let route = standing.map_or(Route::One(handle), Route::Standing);
                if let Some(queue) = self.queues.borrow().get(&route) {
                    let action = indication.action;
                    let sn = indication.sn;
                    let header = indication.header;
                    let message = indication.message;
                    queue.push(Item { node, action, sn, header, message });
                }
            }
            XappEvent::Subscribed { handle, .. } => self.admit(handle, Ok(())),
            XappEvent::SubscriptionFailed { handle, node, failure } => {
                self.trouble(format!("{node}: the subscription failed: {failure}"));
                self.admit(handle, Err(SubscriptionError::Failed { handle, failure }));
            }
            XappEvent::NotOffered { reason, .. } => self.trouble(reason),
            XappEvent::Unsubscribed { handle, .. } => self.admit(handle, Err(SubscriptionError::Ended)),
            XappEvent::Disconnected { why, .. } => self.trouble(format!("disconnected: {why}")),
            XappEvent::SetupFailed { cause, .. } => {
                let cause = cause.map_or_else(|| "no cause".to_owned(), |cause| cause.to_string());
                self.trouble(format!("the RIC refuses the xApp: {cause}"));
            }
            XappEvent::ErrorReported { cause: Some(cause) } => {
                self.trouble(format!("the RIC reports an error: {cause}"));
            }
            _ => {}
        }
    }

    fn admit(&self, handle: SubscriptionHandle, outcome: Result<(), SubscriptionError>) {
        if let Some(asker) = self.admissions.borrow_mut().remove(&handle) {
            // The caller may be gone.
            let _ = asker.send(outcome);
        }
    }

    fn trouble(&self, what: String) {
        let mut troubles = self.troubles.borrow_mut();
        troubles.push_back(what);
        if troubles.len() > TROUBLES_MAX {
            troubles.pop_front();
            self.troubles_forgotten.set(self.troubles_forgotten.get() + 1);
        }
    }

    fn node(&self, name: &str) -> Result<GlobalE2NodeId, Fault> {
        self.handle.read(|xapp| {
            let found = xapp.nodes().find(|(id, _)| id.to_string() == name).map(|(id, _)| *id);
            found.ok_or_else(|| {
                let names: Vec<_> = xapp.nodes().map(|(id, _)| format!("\"{id}\"")).collect();
                let there = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
                Fault::config(format!("there is no node \"{name}\"; there are {there}"))
            })
        })
    }

    /// Returns the definition of a function as announced by the node.
    fn definition(&self, node: &GlobalE2NodeId, function: &FunctionRef) -> Option<Bytes> {
        self.handle.read(|xapp| {
            let info = xapp.node(node)?;
            let id = info.find(function)?;
            Some(info.functions.iter().find(|f| f.id == id)?.definition.clone())
        })
    }

    async fn subscribe(&self, wanted: SubscriptionRequest, queue: Arc<Queue>) -> Result<Route, Fault> {
        let SubscriptionRequest { function, model, trigger, period, mut actions, selection, node } = wanted;
        let Some(name) = node else {
            let standing = match selection {
                Some(selection) => {
                    let plan = Arc::new(KpmPlan { selection, period });
                    self.handle.subscribe_all_planned(function, plan)
                }
                None => self.handle.subscribe_all_raw(function, trigger, actions),
            };
            let route = Route::Standing(standing.map_err(Fault::config)?);
            self.queues.borrow_mut().insert(route, queue);
            return Ok(route);
        };
        let node = self.node(&name)?;
        let definition = self.definition(&node, &function);
        if let (Some(selection), Some(definition)) = (&selection, &definition) {
            let period_ms = u32::try_from(period.as_millis()).unwrap_or(u32::MAX);
            let action = selection.action(&node, definition, period_ms).map_err(Fault::config)?;
            let definition = Some(action.to_octets(Encoding::Per)?);
            actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(0) }];
        }
        if let (Some(model), Some(definition)) = (model, definition) {
            for action in actions.iter_mut().filter(|action| action.definition.is_none()) {
                action.definition = model.action(model.encoding(), &definition, period)?;
            }
        }
        let handle =
            self.handle.request_subscription(node, function, trigger, actions).map_err(Fault::config)?;
        let (asker, answer) = oneshot::channel();
        self.admissions.borrow_mut().insert(handle, asker);
        self.queues.borrow_mut().insert(Route::One(handle), queue);
        match answer.await.unwrap_or(Err(SubscriptionError::Ended)) {
            Ok(()) => Ok(Route::One(handle)),
            Err(error) => {
                self.unsubscribe(Route::One(handle));
                Err(error.into())
            }
        }
    }

    fn unsubscribe(&self, route: Route) {
        if let Some(queue) = self.queues.borrow_mut().remove(&route) {
            queue.end();
        }
        match route {
            Route::Standing(standing) => self.handle.unsubscribe_all(standing),
            Route::One(handle) => self.handle.unsubscribe(handle),
        }
    }
}

impl State {
    /// Ends every subscription and waits shortly for the responses, because some RICs keep the subscriptions of a
    /// disconnected xApp.
    async fn leave(&self) {
        let routes: Vec<Route> = self.queues.borrow().keys().copied().collect();
        routes.into_iter().for_each(|route| self.unsubscribe(route));
        let until = Instant::now() + LEAVE;
        while self.handle.read(|xapp| xapp.is_ready() && xapp.subscriptions().1 > 0) && Instant::now() < until
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Ends all queues, so that waiting callers return.
impl Drop for State {
    fn drop(&mut self) {
        self.queues.borrow().values().for_each(|queue| queue.end());
    }
}

/// A subscription request.
struct SubscriptionRequest {
    function: FunctionRef,
    model: Option<&'static dyn Model>,
    trigger: Bytes,
    period: Duration,
    actions: Vec<ActionToBeSetup>,
    selection: Option<Selection>,
    node: Option<String>,
}

/// Subscription request in Python format: period, trigger, definitions, KPM measurements.
type PySubscriptionArguments = (f64, Option<Vec<u8>>, Option<Vec<Option<Vec<u8>>>>, Option<KpmWanted>);
/// Style, measurements, UEs, slice, cell and granularity.
type KpmWanted = (Option<i64>, Vec<String>, Vec<String>, Option<String>, Option<String>, Option<u32>);

fn selection(wanted: KpmWanted) -> Result<Selection, Fault> {
    fn parse<T: FromStr<Err: ToString>>(name: &str, text: &str) -> Result<T, Fault> {
        text.parse().map_err(|error: T::Err| Fault::config(format!("`{name}`: {}", error.to_string())))
    }
    let (style, measurements, ues, slice, cell, granularity_ms) = wanted;
    Ok(Selection {
        style,
        measurements,
        ues: ues.iter().map(|ue| parse("ues", ue)).collect::<Result<_, _>>()?,
        slice: slice.map(|slice| parse("snssai", &slice)).transpose()?,
        cell: cell.map(|cell| parse("cell", &cell)).transpose()?,
        granularity_ms,
    })
}
/// Model, KPIs, number of periods, their length, and slices, in Python format.
type EffectWanted = (String, Vec<String>, u32, f64, Vec<String>);
/// Values before and after the control.
type BeforeAfter = (Option<f64>, Option<f64>);
/// KPI, unit, `sum` or `mean`, total, per slice, per UE, and number of UEs left out.
type Changed =
    (String, String, &'static str, BeforeAfter, Vec<(String, BeforeAfter)>, Vec<(String, BeforeAfter)>, u64);

/// Converts a KPI to the Python format.
fn changed(change: Change) -> Changed {
    let pair = |it: Halves| (it.before, it.after);
    let groups =
        |groups: Vec<(String, Halves)>| groups.into_iter().map(|(name, it)| (name, pair(it))).collect();
    let Change { name, unit, summary, total, slices, ues, left_out } = change;
    (name, unit, summary.name(), pair(total), groups(slices), groups(ues), left_out)
}

/// Converts a time in milliseconds.
fn milliseconds(name: &str, ms: f64) -> Result<Duration, Fault> {
    let wrong =
        |_| Fault::config(format!("`{name}` must be a number of milliseconds, zero or above, not {ms}"));
    Duration::try_from_secs_f64(ms / 1_000.0).map_err(wrong)
}

/// Converts a time in seconds.
fn seconds(seconds: f64) -> Result<Duration, Fault> {
    let wrong =
        |_| Fault::config(format!("`timeout` must be a number of seconds, zero or above, not {seconds}"));
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// Kind, number, name and items of an offer.
type OfferItem = (&'static str, String, String, Vec<String>);
/// Id, OID, service model, revision and offers of a function.
type NodeFunction = (u16, Option<String>, Option<&'static str>, u16, Vec<OfferItem>);

/// An xApp.
#[pyclass(frozen)]
pub(crate) struct Xapp(Arc<Held<Rc<State>>>);

#[pymethods]
impl Xapp {
    #[new]
    fn new(py: Python<'_>, address: String, e2ap: &str, dialect: &str) -> PyResult<Self> {
        let version: Version = e2ap.parse().map_err(|error| Fault::config(format!("`e2ap`: {error}")))?;
        let dialect: Dialect =
            dialect.parse().map_err(|error| Fault::config(format!("`dialect`: {error}")))?;
        let config = XappConfig::new(address).with(|it| (it.version, it.dialect) = (version, dialect));
        let actor = Actor::start(py, "xapp", move || State::connect(config))?;
        Ok(Self(Arc::new(Held::new(actor))))
    }

    /// Returns the name of each node and its functions: id, OID, service model, revision, offers.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<NodeFunction>)>> {
        self.0.get()?.ask(py, LOOK, |state| async move {
            Ok(state.handle.read(|xapp| {
                let nodes = xapp.nodes().map(|(id, info)| {
                    let functions = info.functions.iter().map(|f| {
                        let known = f.oid.as_deref().and_then(by_oid);
                        let offers = known.and_then(|model| model.offers(&f.definition).ok());
                        let offers = offers.into_iter().flatten();
                        let offers = offers.map(|it| (it.kind, it.number, it.name, it.items)).collect();
                        (f.id, f.oid.clone(), known.map(Model::name), f.revision, offers)
                    });
                    (id.to_string(), functions.collect())
                });
                nodes.collect()
            }))
        })
    }

    /// Subscribes. `asked` has the report period in milliseconds, an encoded trigger that replaces it, and action
    /// definitions.
    fn subscribe(
        &self,
        py: Python<'_>,
        function: Function,
        asked: PySubscriptionArguments,
        node: Option<String>,
        timeout: f64,
    ) -> PyResult<Stream> {
        let (period_ms, trigger, definitions, kpm) = asked;
        let selection = kpm.map(selection).transpose()?;
        let timeout = seconds(timeout)?;
        let period = milliseconds("period_ms", period_ms)?;
        let reads = function.model()?;
        let trigger = match (trigger, reads) {
            (Some(octets), _) => Bytes::from(octets),
            (None, Some(model)) => model.periodic(model.encoding(), period).map_err(Fault::from)?,
            (None, None) => {
                return Err(Fault::config("this function's model is unknown: `trigger` is needed").into());
            }
        };
        let action = |(id, definition): (u8, Option<Vec<u8>>)| ActionToBeSetup {
            definition: definition.map(Bytes::from),
            ..ActionToBeSetup::report(id)
        };
        let actions = (0..).zip(definitions.unwrap_or_else(|| vec![None])).map(action).collect();
        let function = function.reference()?;
        let wanted =
            SubscriptionRequest { function, model: reads, trigger, period, actions, selection, node };
        let queue = Arc::new(Queue::default());
        let its = Arc::clone(&queue);
        let route = self.0.get()?.ask(py, timeout.saturating_add(MARGIN), move |state| async move {
            let subscribed = tokio::time::timeout(timeout, state.subscribe(wanted, its)).await;
            let late = || {
                Fault::new(Class::Timeout, format!("the subscription was not answered within {timeout:?}"))
            };
            subscribed.unwrap_or_else(|_| Err(late()))
        })?;
        Ok(Stream { xapp: Arc::clone(&self.0), queue, route, model: reads })
    }

    /// Header and message of an order of RC to a node that offers it.
    fn encode_order<'py>(
        &self,
        py: Python<'py>,
        node: String,
        ue: OrderedUe,
        ordered: Ordered,
    ) -> PyResult<Pair<'py>> {
        let numbers = ue.numbers()?;
        let request = self.0.get()?.ask(py, LOOK, |state| async move {
            let node = state.node(&node)?;
            let order = order(&node, ordered)?;
            state.handle.read(|xapp| xapp.order_request(&node, &order, &numbers)).map_err(Fault::config)
        })?;
        Ok(pair(py, (request.header, request.message)))
    }

    /// Header and message of a control for a function of a node, from values by the names of the model's ASN.1.
    fn encode_control<'py>(
        &self,
        py: Python<'py>,
        node: String,
        function: Function,
        header: &Bound<'py, PyAny>,
        message: &Bound<'py, PyAny>,
    ) -> PyResult<Pair<'py>> {
        let reference = function.reference()?;
        let header = form(header)?;
        let message = form(message)?;
        let offered = self.0.get()?.ask(py, LOOK, |state| async move {
            let node = state.node(&node)?;
            let offered = state.handle.read(|xapp| xapp.node(&node)?.function(&reference).cloned());
            offered.ok_or_else(|| Fault::config(format!("{node} has no such RAN function")))
        })?;
        Ok(pair(py, encode_control(&offered, header, message)?))
    }

    /// Sends a control. Returns the outcome with `ack`, and each KPI before and after with `effect`.
    fn control<'py>(
        &self,
        py: Python<'py>,
        node: String,
        function: Function,
        octets: (Vec<u8>, Vec<u8>),
        ack: bool,
        effect: Option<EffectWanted>,
    ) -> PyResult<(Option<Bound<'py, PyAny>>, Option<Vec<Changed>>)> {
        let watch = effect.map(|(sm, kpis, periods, period_ms, slices)| {
            let slice = |it: &String| {
                it.parse::<Snssai>().map_err(|error| Fault::config(format!("`slices`: {error}")))
            };
            Ok::<_, Fault>(Watch {
                model: model(&sm)?,
                kpis,
                periods,
                period: milliseconds("period_ms", period_ms)?,
                slices: slices.iter().map(slice).collect::<Result<_, Fault>>()?,
            })
        });
        let watch = watch.transpose()?;
        let reference = function.reference()?;
        let header = Bytes::from(octets.0);
        let message = Bytes::from(octets.1);
        // The SDK has its own timeout; this one is for the case that the thread has ended.
        let patience =
            watch.as_ref().map_or(LOOK, |it| it.period.saturating_mul(it.periods.saturating_mul(2)));
        let (outcome, changes) = self.0.get()?.ask(
            py,
            patience.saturating_add(Duration::from_secs(60)),
            move |state| async move {
                let node = state.node(&node)?;
                let Some(watch) = watch else {
                    if !ack {
                        let sent = state.handle.send_control(node, reference, header, message, false);
                        return sent.map(|_| (None, None)).map_err(Fault::config);
                    }
                    return Ok((state.handle.control(node, reference, header, message).await?, None));
                };
                let measured =
                    state.handle.control_with_effect(node, reference, header, message, &watch).await?;
                let changes = measured.changes.into_iter().map(changed);
                Ok((measured.outcome, Some(changes.collect::<Vec<Changed>>())))
            },
        )?;
        let outcome = outcome.map(|octets| function.outcome(py, &octets)).transpose()?;
        Ok((outcome, changes))
    }

    /// Returns counters, losses and the latest problems.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (read, lagged, troubles, forgotten) = self.0.get()?.ask(py, LOOK, |state| async move {
            let read = state
                .handle
                .read(|xapp| (xapp.is_ready(), xapp.lost_total(), xapp.counters(), xapp.subscriptions().1));
            let troubles: Vec<String> = state.troubles.borrow().iter().cloned().collect();
            Ok((read, state.handle.lagged(), troubles, state.troubles_forgotten.get()))
        })?;
        let (ready, lost, counters, subscriptions) = read;
        let told = PyDict::new(py);
        told.set_item("connected", ready)?;
        told.set_item("lost", lost)?;
        told.set_item("subscriptions", subscriptions)?;
        told.set_item("indications", counters.indications)?;
        told.set_item("controls", counters.controls)?;
        told.set_item("connects", counters.connects)?;
        told.set_item("refused_pdus", counters.refused_pdus)?;
        told.set_item("lagged", lagged)?;
        told.set_item("troubles", troubles)?;
        told.set_item("troubles_forgotten", forgotten)?;
        Ok(told)
    }

    /// Deletes the subscriptions at the RIC, and ends the xApp.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(actor) = self.0.peek() {
            actor.ask(py, LOOK, |state| async move {
                state.leave().await;
                Ok(())
            })?;
        }
        self.0.close(py);
        Ok(())
    }
}

/// Indications of one subscription.
#[pyclass(frozen)]
pub(crate) struct Stream {
    xapp: Arc<Held<Rc<State>>>,
    queue: Arc<Queue>,
    route: Route,
    model: Option<&'static dyn Model>,
}

#[pymethods]
impl Stream {
    /// Returns the next report, waiting up to a timeout in seconds (`None`: no timeout): node, action, sequence
    /// number, timestamp, rows, header, message. Returns `None` if no report arrived in time or the subscription has
    /// ended ([`over`](Self::over)).
    fn next<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let until = timeout.map(seconds).transpose()?.and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = until.map_or(SIGNAL_LOOK, |until| until.saturating_duration_since(Instant::now()));
            let item = py.detach(|| self.queue.take(left.min(SIGNAL_LOOK)));
            match item {
                Some(item) => match self.report(py, &item)? {
                    Some(report) => return Ok(Some(report)),
                    None => self.queue.malformed(),
                },
                None if left.is_zero() || self.queue.is_over() => return Ok(None),
                None => py.check_signals()?,
            }
        }
    }

    /// Returns a descriptor that is readable while there are reports.
    fn fileno(&self) -> PyResult<i32> {
        Ok(self.queue.descriptor().map_err(|error| Fault::new(Class::Environment, error))?)
    }

    /// Returns whether the subscription has ended and all reports were taken.
    fn over(&self) -> bool {
        self.queue.is_over()
    }

    /// Returns the numbers of received, dropped (unread), malformed and queued reports.
    fn counts(&self) -> (u64, u64, u64, usize) {
        let counts = self.queue.counts();
        (counts.received, counts.dropped, counts.malformed, counts.waiting)
    }

    /// Returns the maximum number and size of queued reports.
    #[staticmethod]
    fn bounds() -> (usize, usize) {
        (ITEMS_MAX, BYTES_MAX)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.queue.end();
        // A closed xApp has already ended its subscriptions.
        let Some(xapp) = self.xapp.peek() else { return Ok(()) };
        let route = self.route;
        xapp.ask(py, LOOK, move |state| async move {
            state.unsubscribe(route);
            Ok(())
        })
    }
}

/// Ends the subscription when Python no longer references it.
impl Drop for Stream {
    fn drop(&mut self) {
        self.queue.end();
        let route = self.route;
        if let Some(xapp) = self.xapp.peek() {
            xapp.post(move |state| state.unsubscribe(route));
        }
    }
}

impl Stream {
    /// Decodes a report. Returns `None` if its bytes do not belong to the model.
    fn report<'py>(&self, py: Python<'py>, item: &Item) -> PyResult<Option<Bound<'py, PyAny>>> {
        let read = py.detach(|| self.model.map(|it| it.table(it.encoding(), &item.header, &item.message)));
        let table = match read {
            Some(Err(_)) => return Ok(None),
            Some(Ok(table)) => Some(table),
            None => None,
        };
        let rows = table.as_ref().map(|table| rows(py, table)).transpose()?;
        let tstamp_us = table.and_then(|table| table.tstamp_us);
        let header = PyBytes::new(py, &item.header);
        let message = PyBytes::new(py, &item.message);
        let told = (item.node.to_string(), item.action, item.sn, tstamp_us, rows, header, message);
        Ok(Some(told.into_pyobject(py)?.into_any()))
    }
}
