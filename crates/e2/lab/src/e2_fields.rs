//! Text forms of E2 types, and the names of service models.

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::Value;
use ranlab_ran::functions::selectable;
use ranlab_ran::node::NodeKind;
use ranlab_ran::radio::Fidelity;
use ranlab_sdk::wire::e2ap::Version;
use ranlab_sdk::wire::e2sm::list::ENCODINGS;
use ranlab_sdk::wire::e2sm::{self, Encoding, Model, models};
use ranlab_sdk::wire::flat::Coding;

use ranlab_lab::field::As;
use ranlab_lab::names;

/// Text forms of the E2AP versions.
pub const E2AP: [&str; 3] = ["1.01", "2.03", "3.01"];

/// Returns the names of all service models.
pub fn service_models() -> Vec<&'static str> {
    models().map(Model::name).collect()
}

/// Returns the names of the statistics that base stations report.
pub fn statistics() -> Vec<&'static str> {
    selectable().map(|function| function.name()).collect()
}

/// Returns the names of the service models that base stations offer, and monitors watch, by default.
pub fn customary_models() -> Vec<String> {
    e2sm::customary().map(|model| model.name().to_owned()).collect()
}

/// Default port of E2 (O-RAN.WG3.E2GAP).
pub const E2_PORT: u16 = 36421;
/// Default port for xApps.
pub const E42_PORT: u16 = 36422;

/// Namespace for the text forms of E2's enums.
#[derive(Debug)]
pub enum E2Names {}

names! { E2Names:
    NodeKind {
        "gnb" => NodeKind::Gnb,
        "split" => NodeKind::Split,
        "ng-enb" => NodeKind::NgEnb,
        "enb" => NodeKind::Enb,
        "mixed" => NodeKind::Mixed,
    }
    Fidelity { "slot" => Fidelity::Slot, "fluid" => Fidelity::Fluid }
}

impl As<Coding> for E2Names {
    fn kind() -> Kind {
        Kind::choice(&Coding::ALL.map(Coding::key))
    }
    fn from_value(value: &Value) -> Result<Coding, String> {
        value.text().and_then(|text| text.parse().ok()).ok_or_else(|| <Self as As<Coding>>::kind().allowed())
    }
    fn to_value(value: &Coding) -> Option<Value> {
        Some(value.key().into())
    }
}

impl As<Encoding> for E2Names {
    fn kind() -> Kind {
        Kind::choice(&ENCODINGS.map(Encoding::key))
    }
    fn from_value(value: &Value) -> Result<Encoding, String> {
        let found = ENCODINGS.into_iter().find(|it| Some(it.key()) == value.text());
        found.ok_or_else(|| <Self as As<Encoding>>::kind().allowed())
    }
    fn to_value(value: &Encoding) -> Option<Value> {
        Some(value.key().into())
    }
}

impl As<Version> for E2Names {
    fn kind() -> Kind {
        Kind::choice(&E2AP)
    }
    fn from_value(value: &Value) -> Result<Version, String> {
        value.to_string().parse().map_err(|_| <Self as As<Version>>::kind().allowed())
    }
    fn to_value(value: &Version) -> Option<Value> {
        Some(value.name().trim_start_matches("E2AP ").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_lab::field::testing::reads;

    #[test]
    fn e2_enum_names_round_trip_and_errors_list_allowed_values() {
        reads::<E2Names, NodeKind>(&["gnb", "split", "ng-enb", "enb", "mixed"], &[("bts", "ng-enb")]);
        reads::<E2Names, Coding>(&["per", "flat"], &[("xml", "flat")]);
        reads::<E2Names, Encoding>(&["plain", "per", "flat"], &[("xml", "flat")]);
        reads::<E2Names, Version>(&["1.01", "2.03", "3.01"], &[("4.00", "3.01")]);
    }
}
