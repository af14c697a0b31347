//! Types of fields that come from the crates below: how people write them.

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::Value;
use ranlab_emulator::node::NodeKind;
use ranlab_sdk::transport::Address;
use ranlab_sdk::wire::e2ap::Version;

use crate::{Setting, setting_by_choice, setting_by_text};

/// Versions of E2AP, as people write them.
pub const E2AP: [&str; 3] = ["1.01", "2.03", "3.01"];
/// Statistics service models.
pub const SERVICE_MODELS: [&str; 4] = ["mac", "rlc", "pdcp", "gtp"];

setting_by_choice! {
    NodeKind = ["gnb", "split", "ng-enb", "enb", "mixed"],
}
setting_by_text!(Address);

impl Setting for Version {
    fn kind() -> Kind {
        Kind::choice(&E2AP)
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.to_string().parse().map_err(|_| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(self.name().trim_start_matches("E2AP ").into())
    }
}
