//! The registry of service models, and controls in their words.
use crate::convert::{form, of_form};
use crate::errors::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use ranlab_sdk::Bytes;
use ranlab_sdk::e2::xapp::FunctionRef;
use ranlab_sdk::wire::e2ap::Plmn;
use ranlab_sdk::wire::e2sm::common::{NrCgi, Snssai, UeId};
use ranlab_sdk::wire::e2sm::rc::commands::{FlowMapping, Order, SliceQuota};
use ranlab_sdk::wire::e2sm::rc::{self, ControlHeader, ControlMessage, ControlOutcome};
use ranlab_sdk::wire::e2sm::{Encoding, MODELS, Model, Octets, RowKey, UnknownModel};

/// RC as people write it: it orders, and has no tables.
pub(crate) const RC: &str = "rc";

/// A model of the registry by name.
pub(crate) fn model(name: &str) -> Result<&'static dyn Model, Fault> {
    name.parse().map_err(|error: UnknownModel| Fault::config(error))
}

/// What Python calls a function: a model's name, an object identifier, or the node's own number.
#[derive(FromPyObject)]
pub(crate) enum Function {
    Number(u16),
    Name(String),
}

impl Function {
    pub(crate) fn reference(&self) -> Result<FunctionRef, Fault> {
        Ok(match self {
            Self::Number(id) => FunctionRef::from(*id),
            Self::Name(name) if name.eq_ignore_ascii_case(RC) => FunctionRef::from(rc::OID),
            Self::Name(name) if name.contains('.') => FunctionRef::from(&**name),
            Self::Name(name) => FunctionRef::from(model(name)?.oid()),
        })
    }

    /// The control outcome by names, else its octets.
    pub(crate) fn outcome<'py>(&self, py: Python<'py>, octets: &Bytes) -> PyResult<Bound<'py, PyAny>> {
        let form = match self {
            Self::Name(name) if name.eq_ignore_ascii_case(RC) => {
                ControlOutcome::decode_as(Encoding::Per, octets).and_then(|outcome| outcome.to_form()).ok()
            }
            Self::Name(name) => model(name).ok().and_then(|it| it.outcome(it.encoding(), octets).ok()),
            Self::Number(_) => None,
        };
        match form {
            Some(form) => of_form(py, &form),
            None => Ok(PyBytes::new(py, octets).into_any()),
        }
    }
}

/// Samples that are looked at for what a model's rows are about.
const SAMPLES: u64 = 32;

/// What each model of the registry is: for `models.py`, and for people.
#[pyfunction]
pub(crate) fn models(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let describe = |model: &&'static dyn Model| {
        let told = PyDict::new(py);
        told.set_item("name", model.name())?;
        told.set_item("oid", model.oid())?;
        told.set_item("function_id", model.default_function_id())?;
        let columns: Vec<_> = model.columns();
        let columns = columns.iter().map(|column| {
            let (kind, of) = (format!("{:?}", column.kind), format!("{:?}", column.of));
            (column.name.to_string(), column.unit, kind.to_lowercase(), of.to_lowercase())
        });
        told.set_item("columns", columns.collect::<Vec<_>>())?;
        told.set_item("keys", keys(*model))?;
        Ok(told)
    };
    PyList::new(py, MODELS.iter().map(describe).collect::<PyResult<Vec<_>>>()?)
}

/// Which of `ue`, `bearer`, `tunnel`, `slice`, `queue` its rows are about.
fn keys(model: &dyn Model) -> Vec<&'static str> {
    let tables: Vec<_> =
        (0..SAMPLES).filter_map(|seed| Some(model.sample(model.encoding(), seed).ok()?.2)).collect();
    type Has = fn(RowKey) -> bool;
    let any = |has: Has| tables.iter().any(|table| table.rows().any(|(key, _)| has(key)));
    let named: [(&str, Has); 5] = [
        ("ue", |key| key.ue().is_some()),
        ("bearer", |key| key.bearer().is_some()),
        ("tunnel", |key| key.tunnel().is_some()),
        ("slice", |key| matches!(key, RowKey::Slice { .. })),
        ("queue", |key| matches!(key, RowKey::Queue { .. })),
    ];
    named.into_iter().filter(|(_, has)| any(*has)).map(|(name, _)| name).collect()
}

type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn pair<'py>(py: Python<'py>, (header, message): (Bytes, Bytes)) -> Pair<'py> {
    (PyBytes::new(py, &header), PyBytes::new(py, &message))
}

/// Octets of a control's header and message, from their values by the names of the model's ASN.1.
#[pyfunction]
pub(crate) fn encode_control<'py>(
    py: Python<'py>,
    sm: &str,
    header: &Bound<'py, PyAny>,
    message: &Bound<'py, PyAny>,
) -> PyResult<Pair<'py>> {
    let (header, message) = (form(header)?, form(message)?);
    let octets = || {
        if sm.eq_ignore_ascii_case(RC) {
            let header = ControlHeader::from_form(header)?.to_octets(Encoding::Per)?;
            return Ok((header, ControlMessage::from_form(message)?.to_octets(Encoding::Per)?));
        }
        let model = model(sm)?;
        model.control(model.encoding(), header, message).map_err(Fault::from)
    };
    Ok(pair(py, octets().map_err(|fault: Fault| Fault { text: format!("{sm}: {}", fault.text), ..fault })?))
}

/// An order of RC as Python has it, beside the UE that its header names.
#[derive(FromPyObject)]
pub(crate) enum Ordered {
    /// Network, SST, SD, least, most, dedicated %.
    Quotas(Vec<(String, u8, Option<u32>, u8, u8, u8)>),
    /// Network and cell.
    Handover(String, u64),
    /// Bearer, and each flow's identifier and direction.
    Flows(u8, Vec<(u8, u8)>),
}

/// Octets of an order of RC (style 2 action 6, 3/1, 1/2).
#[pyfunction]
pub(crate) fn encode_order<'py>(py: Python<'py>, ue: u32, order: Ordered) -> PyResult<Pair<'py>> {
    let network = |text: &str| text.parse::<Plmn>().map_err(Fault::config);
    let order = match order {
        Ordered::Quotas(quotas) => {
            let quota = |(plmn, sst, sd, min, max, dedicated): &(String, u8, Option<u32>, u8, u8, u8)| {
                if sd.is_some_and(|sd| sd >= 1 << 24) {
                    return Err(Fault::config("`sd` must be a whole number from 0 to 16777215"));
                }
                for (name, percent) in [("min", min), ("max", max), ("dedicated", dedicated)] {
                    if *percent > 100 {
                        return Err(Fault::config(format!("`{name}` must be 0 to 100 %, not {percent}")));
                    }
                }
                let slice = Snssai { sst: *sst, sd: *sd };
                Ok(SliceQuota { plmn: network(plmn)?, slice, min: *min, max: *max, dedicated: *dedicated })
            };
            Order::SliceQuotas(quotas.iter().map(quota).collect::<Result<_, _>>()?)
        }
        Ordered::Handover(plmn, cell) => {
            if cell >= 1 << 36 {
                return Err(Fault::config("`cell` must be a whole number of 36 bits").into());
            }
            Order::Handover(NrCgi { plmn: network(&plmn)?, cell })
        }
        Ordered::Flows(drb, flows) => {
            let flow = |(qfi, indication): &(u8, u8)| FlowMapping { qfi: *qfi, indication: *indication };
            Order::QosFlows { drb, flows: flows.iter().map(flow).collect() }
        }
    };
    let (style, action) = order.action();
    let header = ControlHeader::action(UeId::du(ue), style, action).to_octets(Encoding::Per);
    let message = order.message().to_octets(Encoding::Per);
    Ok(pair(py, (header.map_err(Fault::from)?, message.map_err(Fault::from)?)))
}
