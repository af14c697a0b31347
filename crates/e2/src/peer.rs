//! Signs by which programs of this project recognize each other on E2; other peers ignore them (`docs/explanation/e2-peers.md`).
//!
//! A node shows itself in its setup request, by [`MARK`] where others put an interface's setup messages. A RIC answers
//! such a node, and no other, by accepting [`OWN_FUNCTIONS`] too, which it was not offered.
use bytes::Bytes;
use ranlab_wire::e2ap::{ComponentConfigItem, RanFunctionIdItem};
use ranlab_wire::e2sm::{association, hw};

/// Contents of a component configuration that its owner left empty. Some decoders take no empty octet string.
pub const MARK: &[u8] = b"ranlab";

/// The association control: id and revision.
const ASSOCIATION: RanFunctionIdItem =
    RanFunctionIdItem { id: association::DEFAULT_FUNCTION_ID, revision: association::REVISION };

/// Functions that nobody but this project has.
pub const OWN_FUNCTIONS: [RanFunctionIdItem; 2] =
    [ASSOCIATION, RanFunctionIdItem { id: hw::DEFAULT_FUNCTION_ID, revision: hw::REVISION }];

/// Whether a node with these components is an agent of this project: one that takes several procedures at a time.
pub fn is_own(components: &[ComponentConfigItem]) -> bool {
    components.iter().any(|c| c.configuration.request_part == MARK)
}

/// The components without empty contents: those get `contents`.
pub(crate) fn filled(
    mut components: Vec<ComponentConfigItem>,
    contents: &'static [u8],
) -> Vec<ComponentConfigItem> {
    for configuration in components.iter_mut().map(|c| &mut c.configuration) {
        for part in [&mut configuration.request_part, &mut configuration.response_part] {
            if part.is_empty() {
                *part = Bytes::from_static(contents);
            }
        }
    }
    components
}
