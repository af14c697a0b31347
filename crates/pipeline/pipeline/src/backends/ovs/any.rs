//! A third-party switch that supports OpenFlow 1.3 or later and is configured at its address. This backend uses
//! OpenFlow only.
//!
//! OpenFlow cannot create tunnel ports, so pipelines with tunnels are rejected. The sender of the configuration
//! replaces port names by the switch's port numbers.

use super::{Dialect, GROUPS_MAX, equivalences, flows, lacks, too_many};
use crate::backends::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, Tier, Translation, UnsupportedElement,
    UnsupportedPipeline, element_name, permitted,
};
use crate::declare::{Change, Element};

/// Backend for a third-party OpenFlow switch, which keeps running after the measurement.
#[derive(Debug)]
pub struct OpenFlow;

impl Backend for OpenFlow {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "openflow",
            title: "any OpenFlow switch at an address",
            install: "apt install openvswitch-switch (for its ovs-ofctl)",
            programs: &["ovs-ofctl"],
            tiers: &[Tier::Veth],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        let tunnels = request.elements().filter_map(|(_, element)| {
            let reason = match element {
                Element::Decap { .. } | Element::FindUserByTunnelKey(_) => Reason::NoAction(
                    "remove a tunnel's headers by OpenFlow alone: tunnel ports must be created by the switch's owner",
                ),
                Element::Encap => Reason::NoAction(
                    "add a tunnel's headers by OpenFlow alone: tunnel ports must be created by the switch's owner",
                ),
                _ => return None,
            };
            Some(UnsupportedElement { element: element_name(element), reason })
        });
        // The maximum number of meters is unknown here, because it is read from the switch after connecting.
        let rules = lacks(request).into_iter().filter(|lack| lack.element == "ACL");
        let hops =
            request.elements().find(|(_, element)| matches!(element, Element::Forward | Element::Deliver));
        let count = request.declaration.tables.next_hops.len() as u64;
        let hops = hops.and_then(|(_, element)| too_many(element, "next hops", count, GROUPS_MAX.into()));
        tunnels.chain(rules).chain(hops).collect()
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        let mut all = equivalences(request);
        if request.elements().any(|(_, element)| matches!(element, Element::Acl(_))) {
            all.push(Equivalence::Fragments);
        }
        all
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        Ok(flows::translate(request, Dialect::Any))
    }

    fn update(
        &self,
        request: &BackendRequest<'_>,
        changes: &[Change],
    ) -> Result<Translation, UnsupportedPipeline> {
        flows::update(request, Dialect::Any, changes)
            .map_err(|lack| UnsupportedPipeline { backend: self.name(), lacks: vec![lack] })
    }
}
