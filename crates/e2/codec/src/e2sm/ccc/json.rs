//! Values as JSON text.
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::e2sm::SmError;
use crate::e2sm::octets::Code;
use crate::per::Form;

/// JSON encoding. The text is UTF-8 without leading or trailing data.
#[derive(Debug)]
pub(super) struct Json;

fn fault(error: &serde_json::Error) -> SmError {
    SmError::Json(error.to_string())
}

impl<T: Serialize + DeserializeOwned> Code<T> for Json {
    fn encode(value: &T, out: &mut Vec<u8>) -> Result<(), SmError> {
        let text = serde_json::to_vec(value).map_err(|error| fault(&error))?;
        out.extend_from_slice(&text);
        Ok(())
    }

    fn decode(octets: &Bytes) -> Result<T, SmError> {
        serde_json::from_slice(octets).map_err(|error| fault(&error))
    }

    fn from_form(form: Form) -> Result<T, SmError> {
        serde_json::from_value(form.into()).map_err(|error| fault(&error))
    }

    fn to_form(value: &T) -> Result<Form, SmError> {
        serde_json::to_value(value).map(Form::from).map_err(|error| fault(&error))
    }
}
