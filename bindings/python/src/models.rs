//! Service models, and encoding of their control requests.
use crate::convert::of_form;
use crate::errors::Fault;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use ranlab_sdk::Bytes;
use ranlab_sdk::e2::xapp::FunctionRef;
use ranlab_sdk::wire::e2ap::{GlobalE2NodeId, Plmn, RanFunctionItem};
use ranlab_sdk::wire::e2sm::common::{NrCgi, Snssai, UeNumbers};
use ranlab_sdk::wire::e2sm::rc::commands::{FlowMapping, Order, SliceQuota};
use ranlab_sdk::wire::e2sm::{Form, Inspect, Model, RowKey, UnknownModel, by_oid, inspected};

/// Returns a service model by name.
pub(crate) fn model(name: &str) -> Result<&'static dyn Model, Fault> {
    name.parse().map_err(|error: UnknownModel| Fault::config(error))
}

/// Argument that selects a RAN function: a model's name, an object identifier, or the node's own number.
#[derive(FromPyObject)]
pub(crate) enum Function {
    Number(u16),
    Name(String),
}

impl Function {
    /// Returns the model that decodes the function's bytes, if the model is known.
    pub(crate) fn model(&self) -> Result<Option<&'static dyn Model>, Fault> {
        match self {
            Self::Number(_) => Ok(None),
            Self::Name(name) if name.contains('.') => Ok(by_oid(name)),
            Self::Name(name) => model(name).map(Some),
        }
    }

    pub(crate) fn reference(&self) -> Result<FunctionRef, Fault> {
        Ok(match self {
            Self::Number(id) => FunctionRef::from(*id),
            Self::Name(name) if name.contains('.') => FunctionRef::from(&**name),
            Self::Name(name) => FunctionRef::from(model(name)?.oid()),
        })
    }

    /// Returns a control outcome as a dictionary with the model's names, or as bytes.
    pub(crate) fn outcome<'py>(&self, py: Python<'py>, octets: &Bytes) -> PyResult<Bound<'py, PyAny>> {
        let form = self.model()?.and_then(|model| model.outcome(model.encoding(), octets).ok());
        match form {
            Some(form) => of_form(py, &form),
            None => Ok(PyBytes::new(py, octets).into_any()),
        }
    }
}

/// Number of random samples that are decoded to find the kinds of keys of a model's rows.
const SAMPLES: u64 = 32;

/// Describes each model of the registry, for `models.py` and users. A program that embeds Python and adds a model
/// (`e2sm::extend`) finds it here too.
#[pyfunction]
pub(crate) fn models(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let describe = |model: &'static dyn Inspect| {
        let description = PyDict::new(py);
        description.set_item("name", model.name())?;
        description.set_item("oid", model.oid())?;
        description.set_item("function_id", model.default_function_id())?;
        let columns: Vec<_> = model.columns();
        let columns = columns.iter().map(|column| {
            let kind = format!("{:?}", column.kind);
            let of = format!("{:?}", column.of);
            (column.name.to_string(), column.unit, kind.to_lowercase(), of.to_lowercase())
        });
        description.set_item("columns", columns.collect::<Vec<_>>())?;
        description.set_item("keys", keys(model))?;
        Ok(description)
    };
    PyList::new(py, inspected().map(describe).collect::<PyResult<Vec<_>>>()?)
}

/// Returns which of `ue`, `bearer`, `tunnel`, `slice`, `queue` identify the rows.
fn keys(model: &dyn Inspect) -> Vec<&'static str> {
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

pub(crate) type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

pub(crate) fn pair<'py>(py: Python<'py>, (header, message): (Bytes, Bytes)) -> Pair<'py> {
    (PyBytes::new(py, &header), PyBytes::new(py, &message))
}

/// Returns the bytes of a control's header and message for a RAN function. `header` and `message` are values by the
/// names of the model's ASN.1.
pub(crate) fn encode_control(
    function: &RanFunctionItem,
    header: Form,
    message: Form,
) -> Result<(Bytes, Bytes), Fault> {
    let model = function.oid.as_deref().and_then(by_oid);
    let unknown =
        || Fault::config(format!("function {} has no known service model, so its header and message must be bytes", function.id));
    let model = model.ok_or_else(unknown)?;
    let encoded = model.control_at(model.encoding(), &function.definition, header, message);
    encoded.map_err(|error| Fault::config(format!("{model}: {error}")))
}

/// An RC order in Python format, without its UE, which is part of the request's header.
#[derive(FromPyObject)]
pub(crate) enum Ordered {
    /// Quotas, each with PLMN (`None`: the node's), SST, SD, and the minimum, maximum and dedicated share in %.
    Quotas(Vec<(Option<String>, i64, Option<i64>, i64, i64, i64)>),
    /// Handover to a cell, with its PLMN (`None`: the node's).
    Handover(Option<String>, i64),
    /// Flows of a bearer: the bearer, and the identifier and direction of each flow.
    Flows(i64, Vec<(i64, i64)>),
}

/// Checks that a number of an order is from 0 to `most`.
fn within<T: TryFrom<i64>>(name: &str, value: i64, most: i64) -> Result<T, Fault> {
    let fits = T::try_from(value).ok().filter(|_| (0..=most).contains(&value));
    fits.ok_or_else(|| {
        Fault::config(format!("`{name}` must be a whole number from 0 to {most}, not {value}"))
    })
}

/// UE of an order. Either a number that stands for all of its identifiers at the node, or its identity as text
/// (`amf=1,f1ap=2`).
#[derive(FromPyObject)]
pub(crate) enum OrderedUe {
    Number(i64),
    Ids(String),
}

impl OrderedUe {
    pub(crate) fn numbers(&self) -> Result<UeNumbers, Fault> {
        Ok(match self {
            Self::Number(number) => UeNumbers::from_number(within("ue", *number, u32::MAX.into())?),
            Self::Ids(ids) => ids.parse().map_err(|error| Fault::config(format!("`ue`: {error}")))?,
        })
    }
}

fn network(text: Option<String>, node: &GlobalE2NodeId) -> Result<Plmn, Fault> {
    let Some(text) = text else { return Ok(node.plmn()) };
    text.parse().map_err(|error| Fault::config(format!("`plmn`: {error}")))
}

/// Returns an order for a node. The default PLMN is the node's.
pub(crate) fn order(node: &GlobalE2NodeId, order: Ordered) -> Result<Order, Fault> {
    Ok(match order {
        Ordered::Quotas(quotas) => {
            let quota =
                |(plmn, sst, sd, min, max, dedicated): (Option<String>, i64, Option<i64>, i64, i64, i64)| {
                    let sd = sd.map(|sd| within("sd", sd, (1 << 24) - 1)).transpose()?;
                    let slice = Snssai::new(within("sst", sst, 255)?, sd);
                    let [min, max] = [within("min", min, 100)?, within("max", max, 100)?];
                    let dedicated = within("dedicated", dedicated, 100)?;
                    Ok(SliceQuota { plmn: network(plmn, node)?, slice, min, max, dedicated })
                };
            Order::SliceQuotas(quotas.into_iter().map(quota).collect::<Result<_, Fault>>()?)
        }
        Ordered::Handover(plmn, cell) => {
            Order::Handover(NrCgi { plmn: network(plmn, node)?, cell: within("cell", cell, (1 << 36) - 1)? })
        }
        Ordered::Flows(drb, flows) => {
            let flow = |(qfi, indication): (i64, i64)| {
                Ok(FlowMapping {
                    qfi: within("qfi", qfi, 63)?,
                    indication: within("direction", indication, 1)?,
                })
            };
            let flows = flows.into_iter().map(flow).collect::<Result<_, Fault>>()?;
            Order::QosFlows { drb: within("drb", drb, 32)?, flows }
        }
    })
}
