//! P4-16 for the v1model architecture of the behavioural model (`simple_switch`): a program for the pipeline's
//! elements, and its table entries as commands of `simple_switch_CLI`. Ports have the numbers of
//! [`super::port_number`]. The configuration is generated but not run.
mod entries;
mod program;
#[cfg(test)]
mod tests;

use super::{
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, TextConsumer, Translation, UnsupportedElement,
    UnsupportedPipeline, element_name, path, permitted, refuse_changes,
};
use crate::declare::{Change, Direction, Element, Encapsulation, NatTable, Tables};

/// Backend for P4-16.
#[derive(Debug)]
pub struct P4;

impl Backend for P4 {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "p4",
            title: "P4-16 for v1model switches (bmv2)",
            install: "p4c and simple_switch from https://github.com/p4lang (no Debian 12 package)",
            programs: &["p4c", "simple_switch", "simple_switch_CLI"],
            tiers: &[],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        request.directions.iter().flat_map(|direction| lacks(request, *direction)).collect()
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
        let mut all = Vec::new();
        if has(&|element| *element == Element::Meter) {
            all.push(Equivalence::Meters);
        }
        if has(&|element| matches!(element, Element::Admit { .. } | Element::Decap { .. })) {
            all.extend([Equivalence::Soundness, Equivalence::Options]);
        }
        if has(&|element| matches!(element, Element::Acl(_))) {
            all.push(Equivalence::Fragments);
        }
        all
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        let mut translation = Translation::default();
        translation.push("ranlab.p4", TextConsumer::P4, program::text(request));
        translation.push("entries.txt", TextConsumer::SwitchCli, entries::text(request));
        Ok(translation)
    }

    fn update(&self, _: &BackendRequest<'_>, changes: &[Change]) -> Result<Translation, UnsupportedPipeline> {
        refuse_changes(self, changes, Reason::NotWritten("changes of entries"))
    }
}

/// Returns the name of an element's table in the program and in the entries.
fn table_name(direction: Direction, at: usize) -> String {
    let way = match direction {
        Direction::Uplink => "up",
        Direction::Downlink => "down",
    };
    format!("{way}_{at}")
}

fn lacks(request: &BackendRequest<'_>, direction: Direction) -> Vec<UnsupportedElement> {
    let tables = &request.declaration.tables;
    let elements = path(request, direction);
    let cut = elements.iter().position(|element| matches!(element, Element::Decap { .. }));
    let mut lacks = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        let six = six(tables, element);
        let outer = cut.is_some_and(|cut| at < cut) && !matches!(element, Element::Admit { .. });
        let vxlan = tables.tunnels.iter().any(|tunnel| tunnel.kind == Encapsulation::Vxlan);
        let reason = match element {
            _ if six => Reason::NotWritten("IPv6"),
            Element::Acl(id) if tables.acls[id.index()].has_flags() => {
                Reason::NotWritten("TCP flags of rules")
            }
            _ if outer => Reason::NotWritten("elements between admit and decap"),
            Element::Encap if cut.is_some() && vxlan => {
                Reason::NotWritten("VXLAN around packets that came out of a tunnel")
            }
            _ => continue,
        };
        lacks.push(UnsupportedElement { element: element_name(element), reason });
    }
    lacks
}

/// Returns whether an element has IPv6 entries, or accepts IPv6 in a tunnel.
pub(super) fn six(tables: &Tables, element: &Element) -> bool {
    let nat = |table: &NatTable| table.entries.iter().any(|(key, _)| key.address.is_ipv6());
    match element {
        Element::Decap { ipv6, .. } => *ipv6,
        Element::Route(id) => !tables.routes[id.index()].ipv6.is_empty(),
        Element::Acl(id) => !tables.acls[id.index()].rules6.is_empty(),
        Element::FindUserBySource(id) | Element::FindUserByDestination(id) => {
            tables.exact[id.index()].entries.iter().any(|(key, _)| u32::try_from(*key).is_err())
        }
        Element::NatSource(id) | Element::NatDestination(id) => nat(&tables.nats[id.index()]),
        _ => false,
    }
}
