//! Who may join and what they see: the question is asked here, the answer is a policy's.
use ranlab_wire::e2ap::{Cause, GlobalE2NodeId, Plmn, RanFunctionItem, RicSubscriptionDetails};
use std::sync::Arc;

/// A principal: what belongs to one is never delivered to another. The default one is that of the iApps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Arc<str>);

impl Tenant {
    /// A tenant by name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name; empty for the default tenant.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self::new("")
    }
}

/// An xApp that asks to be admitted.
#[derive(Debug, Clone, Copy)]
pub struct PeerInfo<'a> {
    /// Where it comes from, in the words of the transport.
    pub peer: &'a str,
    /// The service models it brings.
    pub functions: &'a [RanFunctionItem],
}

/// Which nodes an xApp sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NodeFilter {
    /// All.
    #[default]
    All,
    /// Those of these networks.
    Plmns(Vec<Plmn>),
    /// These, and the parts of these base stations.
    Nodes(Vec<GlobalE2NodeId>),
    /// The same by their names as people write them (`gnb 505.01 5`, `gnb 505.01 5/du 1`).
    Named(Vec<String>),
}

impl NodeFilter {
    /// Whether a node is seen.
    pub fn allows(&self, node: &GlobalE2NodeId) -> bool {
        match self {
            Self::All => true,
            Self::Plmns(plmns) => plmns.contains(&node.plmn()),
            Self::Named(names) => {
                let (part, whole) = (node.to_string(), node.base_station().to_string());
                names.iter().any(|name| *name == part || *name == whole)
            }
            Self::Nodes(nodes) => nodes.contains(node) || nodes.contains(&node.base_station()),
        }
    }
}

/// An xApp's own bounds; the RIC's [`Limits`](super::Limits) hold besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XappLimits {
    /// Subscriptions over all nodes.
    pub subscriptions: usize,
    /// Controls under way.
    pub requests: usize,
}

changed_by!(XappLimits);

impl Default for XappLimits {
    /// No bounds beyond the RIC's.
    fn default() -> Self {
        Self { subscriptions: usize::MAX, requests: usize::MAX }
    }
}

/// What an admitted xApp may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct XappGrant {
    /// On whose behalf it acts.
    pub tenant: Tenant,
    /// What it sees.
    pub nodes: NodeFilter,
    /// How much it may ask for.
    pub limits: XappLimits,
}

/// Decides about xApps; pure functions, called in the RIC's own time.
pub trait XappPolicy: Send {
    /// Whether an xApp may join, and as whom.
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause>;

    /// Whether it may subscribe; that it sees the node is already sure.
    fn may_subscribe(
        &self,
        grant: &XappGrant,
        node: &GlobalE2NodeId,
        function: &RanFunctionItem,
        details: &RicSubscriptionDetails,
    ) -> Result<(), Cause> {
        let _ = (grant, node, function, details);
        Ok(())
    }

    /// Whether it may control; that it sees the node is already sure.
    fn may_control(
        &self,
        grant: &XappGrant,
        node: &GlobalE2NodeId,
        function: &RanFunctionItem,
    ) -> Result<(), Cause> {
        let _ = (grant, node, function);
        Ok(())
    }
}

/// Admits everyone to everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl XappPolicy for AllowAll {
    fn admit(&self, _: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        Ok(XappGrant::default())
    }
}
