//! An xApp of the SDK, with its subscriptions and controls.
use crate::convert::{form, rows};
use crate::errors::{Class, Fault};
use crate::models::{Function, Ordered, OrderedUe, Pair, encode_control, model, order, pair};
use crate::wait::{result, wait};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use ranlab_sdk::e2::effect::{Change, Halves};
use ranlab_sdk::e2::xapp::{Dialect, XappConfig};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, RanFunctionItem, Version};
use ranlab_sdk::wire::e2sm::common::Snssai;
use ranlab_sdk::wire::e2sm::kpm::Selection;
use ranlab_sdk::wire::e2sm::{Model, by_oid};
use ranlab_sdk::{Bytes, EffectQuery, Indications, Item, ReportRequest, UNREAD_BYTES_MAX, UNREAD_MAX};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum time to read the state of the xApp.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Time added to the timeouts that the SDK applies to a control.
const CONTROL_MARGIN: Duration = Duration::from_secs(60);

/// Arguments of a subscription in Python format: period, trigger, definitions, KPM measurements.
type PySubscriptionArguments = (f64, Option<Vec<u8>>, Option<Vec<Option<Vec<u8>>>>, Option<KpmWanted>);
/// Selection of KPM data in Python format: style, measurements, UEs, slice, cell and granularity.
type KpmWanted = (Option<i64>, Vec<String>, Vec<String>, Option<String>, Option<String>, Option<u32>);

fn selection(arguments: KpmWanted) -> Result<Selection, Fault> {
    fn parse<T: FromStr<Err: ToString>>(name: &str, text: &str) -> Result<T, Fault> {
        text.parse().map_err(|error: T::Err| Fault::config(format!("`{name}`: {}", error.to_string())))
    }
    let (style, measurements, ues, slice, cell, granularity_ms) = arguments;
    Ok(Selection {
        style,
        measurements,
        ues: ues.iter().map(|ue| parse("ues", ue)).collect::<Result<_, _>>()?,
        slice: slice.map(|slice| parse("snssai", &slice)).transpose()?,
        cell: cell.map(|cell| parse("cell", &cell)).transpose()?,
        granularity_ms,
    })
}
/// Request to measure the effect of a control, in Python format: model, KPIs, number of periods, their length, and
/// slices.
type EffectWanted = (String, Vec<String>, u32, f64, Vec<String>);
/// Values before and after the control.
type BeforeAfter = (Option<f64>, Option<f64>);
/// Change of a KPI in Python format: name, unit, `sum` or `mean`, total, values per slice, values per UE, and number of
/// omitted UEs.
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

/// An xApp connected to a RIC.
#[pyclass(frozen)]
pub(crate) struct Xapp(ranlab_sdk::Xapp);

#[pymethods]
impl Xapp {
    #[new]
    fn new(py: Python<'_>, address: String, e2ap: &str, dialect: &str) -> PyResult<Self> {
        let version: Version = e2ap.parse().map_err(|error| Fault::config(format!("`e2ap`: {error}")))?;
        let dialect: Dialect =
            dialect.parse().map_err(|error| Fault::config(format!("`dialect`: {error}")))?;
        let config = XappConfig::new(address).with(|it| {
            it.version = version;
            it.dialect = dialect;
        });
        let connected = ranlab_sdk::Xapp::connect_with(config, SocketOptions::default());
        Ok(Self(result(py, Duration::MAX, connected)?))
    }

    /// Returns the name of each node and its functions: id, OID, service model, revision, offers.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<NodeFunction>)>> {
        let nodes = result(py, READ_TIMEOUT, self.0.nodes())?;
        let function = |f: RanFunctionItem| {
            let known = f.oid.as_deref().and_then(by_oid);
            let offers = known.and_then(|model| model.offers(&f.definition).ok()).into_iter().flatten();
            let offers = offers.map(|it| (it.kind, it.number, it.name, it.items)).collect();
            (f.id, f.oid, known.map(Model::name), f.revision, offers)
        };
        let nodes = nodes.into_iter().map(|offer| {
            (offer.node.to_string(), offer.functions.into_iter().map(function).collect::<Vec<_>>())
        });
        Ok(nodes.collect())
    }

    /// Sends a subscription. `asked` contains the report period in milliseconds, an encoded trigger that replaces the
    /// period, and action definitions.
    fn subscribe(
        &self,
        py: Python<'_>,
        function: Function,
        asked: PySubscriptionArguments,
        node: Option<String>,
        timeout: f64,
    ) -> PyResult<Stream> {
        let (period_ms, trigger, definitions, kpm) = asked;
        let timeout = seconds(timeout)?;
        let period = milliseconds("period_ms", period_ms)?;
        let trigger = trigger.map(Bytes::from);
        let mut request = match (function.model()?, trigger) {
            (Some(model), None) => ReportRequest::every(model, period),
            (Some(model), Some(trigger)) => ReportRequest::every(model, period).trigger(trigger),
            (None, Some(trigger)) => ReportRequest::encoded(function.reference()?, trigger),
            (None, None) => {
                return Err(Fault::config("this function's model is unknown: `trigger` is needed").into());
            }
        };
        request = request.function(function.reference()?);
        if let Some(definitions) = definitions {
            let action = |(id, definition): (u8, Option<Vec<u8>>)| ActionToBeSetup {
                definition: definition.map(Bytes::from),
                ..ActionToBeSetup::report(id)
            };
            request = request.actions((0..).zip(definitions).map(action).collect());
        }
        if let Some(kpm) = kpm {
            request = request.measurements(selection(kpm)?);
        }
        if let Some(node) = node {
            request = request.at(result(py, READ_TIMEOUT, self.0.node(&node))?);
        }
        let late =
            || Fault::new(Class::Timeout, format!("no response to the subscription within {timeout:?}"));
        let subscribed = wait(py, Some(timeout), self.0.request(request))?.ok_or_else(late)?;
        let indications = subscribed.map_err(Fault::from)?;
        Ok(Stream { indications, malformed: AtomicU64::new(0) })
    }

    /// Returns header and message of an RC order for a node that offers it.
    fn encode_order<'py>(
        &self,
        py: Python<'py>,
        node: String,
        ue: OrderedUe,
        ordered: Ordered,
    ) -> PyResult<Pair<'py>> {
        let numbers = ue.numbers()?;
        let node = result(py, READ_TIMEOUT, self.0.node(&node))?;
        let order = order(&node, ordered)?;
        let request = self.0.read(move |xapp| xapp.order_request(&node, &order, &numbers));
        let request = result(py, READ_TIMEOUT, request)?.map_err(Fault::config)?;
        Ok(pair(py, (request.header, request.message)))
    }

    /// Returns header and message of a control for a function of a node. The arguments are values by the names of the
    /// model's ASN.1.
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
        let node = result(py, READ_TIMEOUT, self.0.node(&node))?;
        let offered = self.0.read(move |xapp| xapp.node(&node)?.function(&reference).cloned());
        let offered = result(py, READ_TIMEOUT, offered)?
            .ok_or_else(|| Fault::config(format!("{node} does not have this RAN function")))?;
        Ok(pair(py, encode_control(&offered, header, message)?))
    }

    /// Sends a control. Returns the outcome if `ack` is set. Returns the values of each KPI before and after the
    /// control if `effect` is set.
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
            Ok::<_, Fault>(EffectQuery {
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
        let node = result(py, READ_TIMEOUT, self.0.node(&node))?;
        // The SDK applies timeouts to the request. This additional timeout covers the case that the thread is blocked.
        let periods = watch.as_ref().map(|it| it.period.saturating_mul(it.periods.saturating_mul(2)));
        let timeout = periods.unwrap_or_default().saturating_add(CONTROL_MARGIN);
        let (outcome, changes) = match watch {
            Some(watch) => {
                let control = self.0.control_with_effect(node, reference, header, message, watch);
                let measured = result(py, timeout, control)?;
                let changes = measured.changes.into_iter().map(changed).collect::<Vec<Changed>>();
                (measured.outcome, Some(changes))
            }
            None if ack => (result(py, timeout, self.0.control(node, reference, header, message))?, None),
            None => {
                result(py, timeout, self.0.send_control(node, reference, header, message))?;
                (None, None)
            }
        };
        let outcome = outcome.map(|octets| function.outcome(py, &octets)).transpose()?;
        Ok((outcome, changes))
    }

    /// Returns counters, losses and the latest problems.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let read =
            self.0.read(|xapp| (xapp.is_ready(), xapp.lost_total(), xapp.counters(), xapp.subscriptions().1));
        let (ready, lost, counters, subscriptions) = result(py, READ_TIMEOUT, read)?;
        let lagged = result(py, READ_TIMEOUT, self.0.lagged())?;
        let problems = self.0.problems();
        let values = PyDict::new(py);
        values.set_item("connected", ready)?;
        values.set_item("lost", lost)?;
        values.set_item("subscriptions", subscriptions)?;
        values.set_item("indications", counters.indications)?;
        values.set_item("controls", counters.controls)?;
        values.set_item("connects", counters.connects)?;
        values.set_item("refused_pdus", counters.refused_pdus)?;
        values.set_item("lagged", lagged)?;
        values.set_item("troubles", Vec::from(problems.latest))?;
        values.set_item("troubles_forgotten", problems.dropped)?;
        Ok(values)
    }

    /// Deletes the subscriptions at the RIC, and ends the xApp.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        wait(py, None, self.0.close()).map(drop)
    }
}

/// Indications of one subscription, as an iterator.
#[pyclass(frozen)]
pub(crate) struct Stream {
    indications: Indications,
    malformed: AtomicU64,
}

#[pymethods]
impl Stream {
    /// Returns the next report: node, action, sequence number, timestamp, rows, header, message.
    ///
    /// Waits up to `timeout` seconds (`None`: no limit). Returns `None` if no report arrived in this time or the
    /// subscription has ended ([`over`](Self::over)).
    fn next<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let until = timeout.map(seconds).transpose()?.and_then(|time| Instant::now().checked_add(time));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let Some(Some(item)) = wait(py, left, self.indications.next())? else { return Ok(None) };
            if let Some(report) = self.report(py, &item)? {
                return Ok(Some(report));
            }
            self.malformed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns a file descriptor that is readable while reports are queued.
    fn fileno(&self) -> PyResult<i32> {
        Ok(self.indications.descriptor().map_err(|error| Fault::new(Class::Environment, error))?)
    }

    /// Returns whether the subscription has ended and all reports have been read.
    fn over(&self) -> bool {
        self.indications.is_over()
    }

    /// Returns the numbers of received, dropped (unread), malformed and queued reports.
    fn counts(&self) -> (u64, u64, u64, usize) {
        let counts = self.indications.counts();
        (counts.received, counts.dropped, self.malformed.load(Ordering::Relaxed), counts.waiting)
    }

    /// Returns the maximum number and size of queued reports.
    #[staticmethod]
    fn bounds() -> (usize, usize) {
        (UNREAD_MAX, UNREAD_BYTES_MAX)
    }

    fn close(&self) {
        self.indications.end();
    }
}

impl Stream {
    /// Decodes a report. Returns `None` if its bytes do not belong to the model.
    fn report<'py>(&self, py: Python<'py>, item: &Item) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(table) = py.detach(|| self.indications.table(item)) else { return Ok(None) };
        let rows = table.as_ref().map(|table| rows(py, table)).transpose()?;
        let tstamp_us = table.and_then(|table| table.tstamp_us);
        let indication = &item.indication;
        let header = PyBytes::new(py, &indication.header);
        let message = PyBytes::new(py, &indication.message);
        let node = item.node.to_string();
        let report = (node, indication.action, indication.sn, tstamp_us, rows, header, message);
        Ok(Some(report.into_pyobject(py)?.into_any()))
    }
}
