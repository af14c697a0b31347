//! Marks by which ranlab agents and RICs recognize each other on E2. Other peers ignore them
//! (`docs/explanation/e2-peers.md`).
//!
//! A ranlab node puts [`MARK`] into its setup request, in a field where other nodes put the setup messages of an
//! interface. A ranlab RIC responds to such a node by accepting [`OWN_FUNCTIONS`], which the node did not offer.
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{ComponentConfigItem, RanFunctionIdItem};
use ranlab_e2_codec::e2sm::{association, hw};

/// Contents of a component configuration that is otherwise empty. Some decoders reject an empty octet string.
pub const MARK: &[u8] = b"ranlab";

/// Id and revision of the association control.
const ASSOCIATION: RanFunctionIdItem =
    RanFunctionIdItem { id: association::DEFAULT_FUNCTION_ID, revision: association::REVISION };

/// Functions that only ranlab nodes have.
pub const OWN_FUNCTIONS: [RanFunctionIdItem; 2] =
    [ASSOCIATION, RanFunctionIdItem { id: hw::DEFAULT_FUNCTION_ID, revision: hw::REVISION }];

/// Returns whether a node with these components is a ranlab agent, which handles several procedures in parallel.
pub fn is_own(components: &[ComponentConfigItem]) -> bool {
    components.iter().any(|c| c.configuration.request_part == MARK)
}

/// Returns the components with empty contents replaced by `contents`.
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
