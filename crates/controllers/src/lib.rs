//! Policy as sans-IO IApps: monitoring and xApp hosting.

#[cfg(feature = "serve")]
pub mod http;
