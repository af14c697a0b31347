//! XDP: the pipeline becomes kernel programs, which ranlab's assembler generates, and its tables become maps. A change
//! of the pipeline changes only map entries, which a running program reads atomically.
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
    Backend, BackendInfo, BackendRequest, Equivalence, Reason, TextConsumer, Tier, Translation,
    UnsupportedElement, UnsupportedPipeline, element_name, permitted,
};
use crate::declare::{Change, Direction, Element, Encapsulation};

/// Maximum number of rules in a list. Each rule is compiled to instructions, and the kernel's verifier follows at most
/// 8,192 pending branches.
const RULES_MAX: u64 = 4_096;

/// Backend for XDP.
#[derive(Debug)]
pub struct Xdp;

impl Backend for Xdp {
    fn facts(&self) -> &'static BackendInfo {
        &BackendInfo {
            name: "xdp",
            title: "XDP: eBPF of our own assembler in the kernel",
            install: "nothing to install: Linux 5.18 or later, and root (CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)",
            programs: &[],
            tiers: &[Tier::Mem],
        }
    }

    fn lacks(&self, request: &BackendRequest<'_>) -> Vec<UnsupportedElement> {
        request.directions.iter().flat_map(|direction| lacks(request, *direction)).collect()
    }

    fn equivalences(&self, request: &BackendRequest<'_>) -> Vec<Equivalence> {
        let has = |test: &dyn Fn(&Element) -> bool| request.elements().any(|(_, element)| test(element));
        let mut all = Vec::new();
        if has(&|element| *element == Element::Meter) {
            all.push(Equivalence::Clock);
        }
        if has(&|element| matches!(element, Element::Admit { .. } | Element::Decap { .. })) {
            all.push(Equivalence::Options);
        }
        all
    }

    fn translate(&self, request: &BackendRequest<'_>) -> Result<Translation, UnsupportedPipeline> {
        permitted(self, request)?;
        let mut object = Object::default();
        for id in tables::used(request) {
            let entries = tables::entries(request, id);
            object.maps.push(tables::shape(id, entries.len()));
            object.entries.extend(entries);
        }
        for direction in request.directions {
            object.programs[direction.ingress() as usize] = Some(feeder::judge(request, *direction));
        }
        Ok(translation(object))
    }

    fn update(
        &self,
        request: &BackendRequest<'_>,
        changes: &[Change],
    ) -> Result<Translation, UnsupportedPipeline> {
        let mut object = Object::default();
        let used = tables::used(request);
        for change in changes {
            let Some(entries) = tables::changed(request, change) else {
                let reason = Reason::NotWritten("handovers of users that came later");
                return Err(UnsupportedPipeline {
                    backend: self.name(),
                    lacks: vec![UnsupportedElement { element: "change", reason }],
                });
            };
            object.entries.extend(entries.into_iter().filter(|entry| used.contains(&entry.map)));
        }
        Ok(translation(object))
    }
}

/// Returns the object with its text form.
fn translation(object: Object) -> Translation {
    let mut translation = Translation::default();
    translation.push("object", TextConsumer::Bpf, object.whole());
    translation.object = Some(object);
    translation
}

/// Returns the elements of a direction that the programs do not support.
fn lacks(request: &BackendRequest<'_>, direction: Direction) -> Vec<UnsupportedElement> {
    let tables = &request.declaration.tables;
    let mut lacks = Vec::new();
    let mut admitted = false;
    for element in request.declaration.path(direction).blocks.iter().flatten() {
        let reason = match element {
            Element::Admit { .. } => {
                admitted = true;
                None
            }
            Element::Acl(id) => {
                let table = &tables.acls[id.index()];
                let asked = table.rules.len().max(table.rules6.len()) as u64;
                if table.has_flags() {
                    Some(Reason::NotWritten("TCP flags of rules"))
                } else {
                    (asked > RULES_MAX).then_some(Reason::TooMany { what: "rules", asked, most: RULES_MAX })
                }
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
            .then_some(Reason::NotWritten("elements that read IP headers of frames that were not admitted"));
        lacks.extend(
            reason.or(unread).map(|reason| UnsupportedElement { element: element_name(element), reason }),
        );
    }
    lacks
}
