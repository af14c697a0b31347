//! XDP: a pipeline as programs of the kernel, written by our own assembler, with its tables as maps. A change of the pipeline is
//! a change of entries, which a running program reads in one step.
mod feeder;
mod object;
mod path;
mod rewrite;
mod tables;
#[cfg(test)]
mod tests;
mod tunnel;

pub use feeder::Feed;
pub use object::{MapEntry, MapId, MapKind, MapShape, Object, Program};

use super::{
    Asked, Backend, Equivalence, Facts, Lack, Reader, Reason, Refused, Tier, Translation, element_name,
    permitted,
};
use crate::declare::{Change, Direction, Element, Encapsulation};

/// Rules of a list: each is instructions of its own, and the kernel's checker follows 8,192 open ways.
const RULES_MAX: u64 = 4_096;

/// The backend.
#[derive(Debug)]
pub struct Xdp;

impl Backend for Xdp {
    fn facts(&self) -> &'static Facts {
        &Facts {
            name: "xdp",
            title: "XDP: eBPF of our own assembler in the kernel",
            install: "nothing to install: Linux 5.18 or later, and root (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)",
            programs: &[],
            tiers: &[Tier::Mem],
        }
    }

    fn lacks(&self, asked: &Asked<'_>) -> Vec<Lack> {
        asked.directions.iter().flat_map(|direction| lacks(asked, *direction)).collect()
    }

    fn equivalences(&self, asked: &Asked<'_>) -> Vec<Equivalence> {
        let has = |wanted: &dyn Fn(&Element) -> bool| asked.elements().any(|(_, element)| wanted(element));
        let mut all = Vec::new();
        if has(&|element| *element == Element::Meter) {
            all.push(Equivalence::Clock);
        }
        if has(&|element| matches!(element, Element::Admit { .. } | Element::Decap { .. })) {
            all.push(Equivalence::Options);
        }
        all
    }

    fn translate(&self, asked: &Asked<'_>) -> Result<Translation, Refused> {
        permitted(self, asked)?;
        let mut object = Object::default();
        for id in tables::used(asked) {
            let entries = tables::entries(asked, id);
            object.maps.push(tables::shape(id, entries.len()));
            object.entries.extend(entries);
        }
        for direction in asked.directions {
            object.programs[direction.ingress() as usize] = Some(feeder::judge(asked, *direction));
        }
        Ok(translation(object))
    }

    fn update(&self, asked: &Asked<'_>, changes: &[Change]) -> Result<Translation, Refused> {
        let (mut object, used) = (Object::default(), tables::used(asked));
        for change in changes {
            let Some(entries) = tables::changed(asked, change) else {
                let reason = Reason::NotWritten("handovers of users that came later");
                return Err(Refused {
                    backend: self.name(),
                    lacks: vec![Lack { element: "change", reason }],
                });
            };
            object.entries.extend(entries.into_iter().filter(|entry| used.contains(&entry.map)));
        }
        Ok(translation(object))
    }
}

/// The object, and what it is as text.
fn translation(object: Object) -> Translation {
    let mut translation = Translation::default();
    translation.push("object", Reader::Bpf, object.whole());
    translation.object = Some(object);
    translation
}

/// What a direction asks that programs do not do.
fn lacks(asked: &Asked<'_>, direction: Direction) -> Vec<Lack> {
    let (tables, mut lacks, mut admitted) = (&asked.declaration.tables, Vec::new(), false);
    for element in asked.declaration.path(direction).blocks.iter().flatten() {
        let reason = match element {
            Element::Admit { .. } => {
                admitted = true;
                None
            }
            Element::Acl(id) => {
                let table = &tables.acls[id.index()];
                let asked = table.rules.len().max(table.rules6.len()) as u64;
                (asked > RULES_MAX).then_some(Reason::TooMany { what: "rules", asked, most: RULES_MAX })
            }
            _ => None,
        };
        let bare = match element {
            Element::Encap => tables.tunnels.iter().any(|tunnel| tunnel.kind != Encapsulation::Vxlan),
            Element::Admit { .. }
            | Element::Bridge(_)
            | Element::FindUserByMac(_)
            | Element::FindUserByTunnelKey(_)
            | Element::Deliver
            | Element::Emit { .. } => false,
            _ => true,
        };
        let unread = (bare && !admitted)
            .then_some(Reason::NotWritten("what reads IP headers of frames that were not admitted"));
        lacks.extend(reason.or(unread).map(|reason| Lack { element: element_name(element), reason }));
    }
    lacks
}
