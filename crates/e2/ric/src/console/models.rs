//! Service models known to the console, for clients that show their tables.
use ranlab_e2_codec::e2sm::{Column, Form, Kind, Model, SmError};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// Period with which the code tests whether a model can report periodically.
const PERIOD: Duration = Duration::from_secs(1);

/// Returns all models: names, columns with units and kinds, and supported requests.
pub(super) fn all(models: &[&'static dyn Model]) -> Json {
    json!({ "models": models.iter().map(|model| one(*model)).collect::<Vec<_>>() })
}

fn one(model: &'static dyn Model) -> Json {
    // The null value is not a valid control. A model that supports JSON controls rejects it with a specific error; any other model returns
    // a general error earlier.
    let control = model.control(model.encoding(), Form::Null, Form::Null);
    json!({
        "name": model.name(),
        "oid": model.oid(),
        "periodic": model.periodic(model.encoding(), PERIOD).is_ok(),
        "control": !matches!(control, Err(SmError::Absent(_))),
        "columns": model.columns().iter().map(column).collect::<Vec<_>>(),
    })
}

fn column(column: &Column) -> Json {
    let kind = match column.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Label => "label",
    };
    json!({ "name": &*column.name, "unit": column.unit, "kind": kind, "headline": column.headline })
}
