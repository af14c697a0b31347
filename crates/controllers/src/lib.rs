//! Policy as sans-IO IApps: monitoring and xApp hosting.
