//! Helpers for tests of base stations with a radio.
use ranlab_e2::OutboxLimits;
use ranlab_e2::functions::stats::ReportCounters;
use ranlab_e2_codec::e2ap::{Plmn, Version};
use ranlab_e2_codec::flat::Coding;
use ranlab_ran::node::{NodeKind, NodeTemplate};
use ranlab_ran::radio::RadioConfig;
use ranlab_ran::stats::SOURCES;
use std::sync::Arc;

pub(crate) const HOME: Plmn = Plmn([0x05, 0xf5, 0x10]);

pub(crate) fn template(kind: NodeKind, radio: RadioConfig) -> NodeTemplate {
    NodeTemplate {
        kind,
        plmn: HOME,
        ues: 0,
        radio: Some(radio),
        service_models: SOURCES.iter().collect(),
        own_functions: false,
        version: Version::V2_03,
        coding: Coding::Per,
        sm_encoding: None,
        seed: 1,
        epoch_us: 0,
        start_us: 0,
        outbox: OutboxLimits::default(),
        reports: Arc::new(ReportCounters::default()),
        lateness: Arc::new(|_| {}),
        neighbours: Default::default(),
        pinged: None,
    }
}
