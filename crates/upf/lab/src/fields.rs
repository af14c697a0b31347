//! Text forms of UPF types in settings.

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::Value;
use ranlab_upf::n4::{Dialect, UpfFault};

use ranlab_lab::field::As;

/// Text forms of a UPF's dialect and fault, for settings.
#[derive(Debug)]
pub enum UpfNames {}

impl As<Dialect> for UpfNames {
    fn kind() -> Kind {
        Kind::choice(&Dialect::ALL.map(|dialect| dialect.name))
    }
    fn from_value(value: &Value) -> Result<Dialect, String> {
        value.text().and_then(Dialect::named).ok_or_else(|| <Self as As<Dialect>>::kind().allowed())
    }
    fn to_value(value: &Dialect) -> Option<Value> {
        Some(value.name.into())
    }
}

impl As<UpfFault> for UpfNames {
    fn kind() -> Kind {
        Kind::choice(&UpfFault::ALL.iter().map(|(_, name, _)| *name).collect::<Vec<_>>())
    }
    fn from_value(value: &Value) -> Result<UpfFault, String> {
        value.text().and_then(UpfFault::named).ok_or_else(|| <Self as As<UpfFault>>::kind().allowed())
    }
    fn to_value(value: &UpfFault) -> Option<Value> {
        Some(value.name().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_lab::field::testing::reads;

    #[test]
    fn upf_names_round_trip_or_errors_name_allowed_values() {
        reads::<UpfNames, Dialect>(
            &Dialect::ALL.map(|dialect| dialect.name),
            &[("tr-069", Dialect::ALL[0].name)],
        );
    }
}
