//! Fixtures shared by the tests.
#![allow(dead_code)] // no test file uses all fixtures

use ranlab_sdk::Bytes;
use ranlab_sdk::e2::agent::{Agent, AgentConfig};
use ranlab_sdk::e2::functions::hw::Hw;
use ranlab_sdk::wire::e2ap::*;
use ranlab_sdk::wire::e2sm::{hw, per};
use std::time::Duration;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn encoded(value: &impl ranlab_sdk::wire::per::Per) -> Bytes {
    let mut octets = Vec::new();
    per::encode(value, &mut octets).unwrap();
    octets.into()
}

/// Returns an agent with the HW function.
pub(crate) fn agent() -> Agent {
    let node_id = NodeIdentity::gnb(Plmn::new(505, 1, 2), 7).build().unwrap();
    let mut agent = Agent::new(AgentConfig::new(node_id, vec![ComponentConfigItem::ng("amf")]));
    agent.register(Box::new(Hw::new()), Some(hw::DEFAULT_FUNCTION_ID)).unwrap();
    agent
}

/// Runs a test, and fails if it does not end within [`PATIENCE`].
pub(crate) fn within_patience<T>(story: impl Future<Output = T>) -> T {
    ranlab_sdk::run(async { tokio::time::timeout(PATIENCE, story).await }).expect("the test timed out")
}
