//! Admission and permissions. The RIC requests each decision from an implementation of these traits.
use bytes::Bytes;
use ranlab_e2_codec::e2ap::{Cause, GlobalE2NodeId, Plmn, RanFunctionItem, RicSubscriptionDetails};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A tenant. Data of one tenant is never delivered to another. iApps belong to the default tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Arc<str>);

impl Tenant {
    /// Creates a tenant.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Returns the name; empty for the default tenant.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Default for Tenant {
    fn default() -> Self {
        Self::new("")
    }
}

/// An xApp that requests a setup.
#[derive(Debug, Clone, Copy)]
pub struct PeerInfo<'a> {
    /// Remote address, in the format of the transport.
    pub peer: &'a str,
    /// Service models of the xApp.
    pub functions: &'a [RanFunctionItem],
}

/// Nodes that an xApp sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NodeFilter {
    /// All nodes.
    #[default]
    All,
    /// Nodes of these networks.
    Plmns(Vec<Plmn>),
    /// These nodes, and the nodes of these base stations.
    Nodes(Vec<GlobalE2NodeId>),
    /// Nodes and base stations with these displayed names (`gnb 505.01 5`, `gnb 505.01 5/du 1`).
    Named(Vec<String>),
}

impl NodeFilter {
    /// Returns whether a node is visible.
    pub fn allows(&self, node: &GlobalE2NodeId) -> bool {
        match self {
            Self::All => true,
            Self::Plmns(plmns) => plmns.contains(&node.plmn()),
            Self::Named(names) => {
                let part = node.to_string();
                let whole = node.base_station().to_string();
                names.iter().any(|name| *name == part || *name == whole)
            }
            Self::Nodes(nodes) => nodes.contains(node) || nodes.contains(&node.base_station()),
        }
    }
}

/// Separator between a peer's address and the name in its certificate (TLS).
const AS: &str = " as ";

/// Base stations whose setup is accepted: by network or name, and optionally by certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// `001.01` for a network, `gnb 001.01 5` for a base station and its nodes, `*` for all.
    nodes: String,
    /// Name in the certificate; `None` accepts any peer.
    certificate: Option<String>,
}

/// The text is not a valid admission rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither a network (001.01), nor a base station (gnb 001.01 5), nor *; append @NAME to require a certificate"
)]
pub struct NoAdmission(String);

impl FromStr for Admission {
    type Err = NoAdmission;

    fn from_str(text: &str) -> Result<Self, NoAdmission> {
        let (nodes, certificate) =
            text.split_once('@').map_or((text, None), |(nodes, name)| (nodes, Some(name)));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let network = |part: &str| part.split_once('.').is_some_and(|(mcc, mnc)| digits(mcc) && digits(mnc));
        let words: Vec<_> = nodes.split(' ').collect();
        let fits = match words[..] {
            [one] => one == "*" || network(one),
            ["gnb" | "en-gnb" | "ng-enb" | "enb", plmn, _, ..] => network(plmn),
            _ => false,
        };
        if !fits || certificate.is_some_and(str::is_empty) {
            return Err(NoAdmission(text.to_owned()));
        }
        Ok(Self { nodes: nodes.to_owned(), certificate: certificate.map(str::to_owned) })
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.nodes)?;
        self.certificate.as_ref().map_or(Ok(()), |name| write!(f, "@{name}"))
    }
}

impl Admission {
    /// Returns whether a node at remote address `peer` matches.
    pub fn holds(&self, node: &GlobalE2NodeId, peer: &str) -> bool {
        let named =
            [node.to_string(), node.base_station().to_string(), node.plmn().to_string(), "*".to_owned()];
        let shown = peer.strip_prefix("tls://").and_then(|peer| peer.split_once(AS)).map(|(_, name)| name);
        named.contains(&self.nodes) && self.certificate.as_ref().is_none_or(|name| shown == Some(name))
    }
}

/// Limits of one xApp, in addition to those of the RIC ([`Limits`](super::Limits)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct XappLimits {
    /// Maximum number of subscriptions over all nodes.
    pub subscriptions: usize,
    /// Maximum number of outstanding controls.
    pub requests: usize,
}

changed_by!(XappLimits);

impl Default for XappLimits {
    /// Returns no limits in addition to those of the RIC.
    fn default() -> Self {
        Self { subscriptions: usize::MAX, requests: usize::MAX }
    }
}

/// Permissions of an admitted xApp.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct XappGrant {
    /// Tenant of the xApp.
    pub tenant: Tenant,
    /// Visible nodes.
    pub nodes: NodeFilter,
    /// Limits.
    pub limits: XappLimits,
    /// Priority. Of two xApps that set the same parameter, the one with the higher priority prevails.
    pub priority: u8,
    /// Index of the policy rule that granted this. Only the policy uses it.
    pub rule: usize,
}

impl XappGrant {
    /// Returns the operator's permissions: everything, with the highest priority, and no rule.
    pub fn operator() -> Self {
        Self { priority: u8::MAX, rule: usize::MAX, ..Self::default() }
    }

    /// Returns whether these are the operator's permissions.
    pub fn is_operator(&self) -> bool {
        self.rule == usize::MAX
    }
}

/// Decides on xApps. Implementations are pure functions, called while the RIC processes a message.
pub trait XappPolicy: Send {
    /// Decides on the setup of an xApp and returns its permissions.
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause>;

    /// Decides on a subscription. The node is already known to be visible.
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

    /// Decides on a control. The node is already known to be visible.
    fn may_control(
        &self,
        grant: &XappGrant,
        node: &GlobalE2NodeId,
        function: &RanFunctionItem,
    ) -> Result<(), Cause> {
        let _ = (grant, node, function);
        Ok(())
    }

    /// Returns the permissions of a controller that is not an E42 xApp: an iApp (`iapp://NAME`), or a client of an
    /// iApp (`http://ADDRESS`, `rmr://ADDRESS`, `xapp://NAME` for a hosted xApp). The default is the operator's
    /// permissions, with a priority above that of any xApp.
    fn party(&self, who: &str) -> Result<XappGrant, Cause> {
        let _ = who;
        Ok(XappGrant::operator())
    }

    /// Returns the parameters that a permitted control would set: `KIND NAME`, or `KIND *` for all of a kind. A
    /// control of another xApp that sets one of them at the same base station within
    /// [`RicTimers::hold`](super::RicTimers::hold) is refused, unless its priority is higher. An empty list means
    /// that the control conflicts with no other.
    fn targets(&self, function: &RanFunctionItem, header: &Bytes, message: &Bytes) -> Vec<String> {
        let _ = (function, header, message);
        Vec::new()
    }
}

/// Admits all xApps with all permissions.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl XappPolicy for AllowAll {
    fn admit(&self, _: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        Ok(XappGrant::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_station_is_admitted_by_network_name_and_certificate() {
        let node = GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), 5, 22);
        let bare = "tcp://10.0.0.1:5";
        let shown = "tls://10.0.0.1:5 as gnb-5.lab";
        for (text, without, with) in [
            ("*", true, true),
            ("001.01", true, true),
            ("001.02", false, false),
            ("gnb 001.01 5", true, true),
            ("gnb 001.01 6", false, false),
            ("*@gnb-5.lab", false, true),
            ("gnb 001.01 5@gnb-6.lab", false, false),
        ] {
            let admission: Admission = text.parse().unwrap();
            assert_eq!(admission.to_string(), text);
            assert_eq!(
                (admission.holds(&node, bare), admission.holds(&node, shown)),
                (without, with),
                "{text}"
            );
        }
        for text in ["", "gnb", "001", "1.x", "gnb 5", "*@", "@name"] {
            assert!(text.parse::<Admission>().is_err(), "{text}");
        }
    }
}
