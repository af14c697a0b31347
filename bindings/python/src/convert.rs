//! Conversions between Python and Rust values.
use crate::errors::Fault;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use ranlab_campaign::value::Value as Setting;
use ranlab_lab::{Config, FieldError};
use ranlab_sdk::wire::e2sm::{Form, RowKey, Table, Value};
use serde_json::Value as Json;

/// Maximum nesting depth of lists and dictionaries.
const DEPTH_MAX: usize = 64;

/// Converts dictionaries, lists and values to the input of a service model. Python's `bytes` become octet strings.
pub(crate) fn form(value: &Bound<'_, PyAny>) -> PyResult<Form> {
    form_within(value, DEPTH_MAX)
}

fn form_within(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Form> {
    let inner = depth.checked_sub(1).ok_or_else(|| Fault::config(format!("at most {DEPTH_MAX} levels")))?;
    if value.is_none() {
        return Ok(Form::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Form::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole =
            value.extract::<i64>().map(i128::from).or_else(|_| value.extract::<u64>().map(i128::from));
        return Ok(Form::Integer(
            whole.map_err(|_| Fault::config(format!("{value} has more than 64 bits")))?,
        ));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Form::Real(value.value()));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Form::Text(value.extract()?));
    }
    if let Ok(octets) = value.cast::<PyBytes>() {
        return Ok(Form::Text(octets.as_bytes().iter().map(|octet| format!("{octet:02x}")).collect()));
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        let field = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name =
                name.extract().map_err(|_| Fault::config(format!("{name} is not a name: text is needed")))?;
            Ok((name, form_within(&value, inner)?))
        };
        return fields.iter().map(field).collect::<PyResult<_>>().map(Form::Fields);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| form_within(&item?, inner));
        return items.collect::<PyResult<_>>().map(Form::List);
    }
    let kind = value.get_type().name()?;
    Err(Fault::config(format!("{kind} is not one of None, bool, int, float, str, bytes, list, tuple, dict"))
        .into())
}

/// Converts a value of a service model to dictionaries, lists and values.
pub(crate) fn of_form<'py>(py: Python<'py>, form: &Form) -> PyResult<Bound<'py, PyAny>> {
    match form {
        Form::Null => Ok(py.None().into_bound(py)),
        Form::Bool(value) => value.into_bound_py_any(py),
        Form::Integer(value) => match i64::try_from(*value) {
            Ok(value) => value.into_bound_py_any(py),
            Err(_) => (*value as u64).into_bound_py_any(py),
        },
        Form::Real(value) => value.into_bound_py_any(py),
        Form::Text(text) => text.into_bound_py_any(py),
        Form::List(list) => {
            let items = list.iter().map(|item| of_form(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Form::Fields(fields) => {
            let dictionary = PyDict::new(py);
            for (name, value) in fields {
                dictionary.set_item(name, of_form(py, value)?)?;
            }
            Ok(dictionary.into_any())
        }
    }
}

/// Converts JSON to Python values.
pub(crate) fn of_json<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    match json {
        Json::Null => Ok(py.None().into_bound(py)),
        Json::Bool(value) => value.into_bound_py_any(py),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_bound_py_any(py),
            (None, Some(whole)) => whole.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Json::String(text) => text.into_bound_py_any(py),
        Json::Array(list) => {
            let items = list.iter().map(|item| of_json(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Json::Object(members) => {
            let dictionary = PyDict::new(py);
            for (name, value) in members {
                dictionary.set_item(name, of_json(py, value)?)?;
            }
            Ok(dictionary.into_any())
        }
    }
}

fn setting(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Setting> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Setting::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let wrong = |_| Fault::config(format!("`{name}`: {value} has more than 64 bits"));
        return Ok(Setting::Int(value.extract().map_err(wrong)?));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Setting::Float(value.value()));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Setting::Text(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| setting(name, &item?));
        return items.collect::<PyResult<_>>().map(Setting::List);
    }
    let kind = value.get_type().name()?;
    Err(Fault::config(format!("`{name}`: {kind} is not one of bool, int, float, str, list, tuple")).into())
}

/// Returns the configuration of a component with these settings. A setting with the value `None` keeps its default.
pub(crate) fn config<C: Config>(settings: &Bound<'_, PyDict>) -> PyResult<C> {
    let mut config = C::default();
    for (name, value) in settings.iter().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        let unknown = |error: FieldError| {
            let names: Vec<_> = C::fields().iter().map(|field| field.name).collect();
            let known = names.contains(&&*name);
            let allowed = if known { String::new() } else { format!("; there are {}", names.join(", ")) };
            Fault::config(format!("{error}{allowed}"))
        };
        config.set(&name, &setting(&name, &value)?).map_err(unknown)?;
    }
    Ok(config)
}

/// Returns the rows of a report as tuples. A tuple contains UE, bearer, tunnel, slice and queue (`None` if not
/// applicable), followed by one value per column.
pub(crate) fn rows<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyList>> {
    let row = |(key, values): (RowKey, &[Value])| {
        let (slice, queue) = match key {
            RowKey::Slice { slice } => (Some(slice), None),
            RowKey::Queue { queue, .. } => (None, Some(queue)),
            _ => (None, None),
        };
        let mut cells = vec![
            key.ue().into_bound_py_any(py)?,
            key.bearer().into_bound_py_any(py)?,
            key.tunnel().into_bound_py_any(py)?,
            slice.into_bound_py_any(py)?,
            queue.into_bound_py_any(py)?,
        ];
        for value in values {
            cells.push(match value {
                Value::Unsigned(value) => value.into_bound_py_any(py)?,
                Value::Signed(value) => value.into_bound_py_any(py)?,
                Value::Single(value) => value.into_bound_py_any(py)?,
                Value::Double(value) => value.into_bound_py_any(py)?,
                Value::Text(value) => value.as_ref().into_bound_py_any(py)?,
            });
        }
        PyTuple::new(py, cells)
    };
    PyList::new(py, table.rows().map(row).collect::<PyResult<Vec<_>>>()?)
}
