//! Who may join and what they see: the question is asked here, the answer is a policy's.
use bytes::Bytes;
use ranlab_wire::e2ap::{Cause, GlobalE2NodeId, Plmn, RanFunctionItem, RicSubscriptionDetails};
use std::fmt;
use std::str::FromStr;
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

/// What stands between a peer's address and the name in its certificate, where the transport has one (TLS).
const AS: &str = " as ";

/// Base stations that may set up: by network or name, and by the certificate that they show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// `001.01` for a network, `gnb 001.01 5` for a base station and its parts, `*` for all.
    nodes: String,
    /// The name in the certificate; without it, any peer.
    certificate: Option<String>,
}

/// The text names no base stations.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither a network (001.01), nor a base station (gnb 001.01 5), nor *; @NAME after it asks for a certificate"
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
    /// Whether a node that comes from `peer`, in the words of the transport, is meant.
    pub fn holds(&self, node: &GlobalE2NodeId, peer: &str) -> bool {
        let named =
            [node.to_string(), node.base_station().to_string(), node.plmn().to_string(), "*".to_owned()];
        let shown = peer.strip_prefix("tls://").and_then(|peer| peer.split_once(AS)).map(|(_, name)| name);
        named.contains(&self.nodes) && self.certificate.as_ref().is_none_or(|name| shown == Some(name))
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
    /// Of two xApps that set the same parameter the one with the higher number has it.
    pub priority: u8,
    /// The policy's own mark: by which of its rules this was granted.
    pub rule: usize,
}

impl XappGrant {
    /// The operator's own: everything, of the highest priority, by no rule.
    pub fn operator() -> Self {
        Self { priority: u8::MAX, rule: usize::MAX, ..Self::default() }
    }

    /// Whether it is the operator's own.
    pub fn is_operator(&self) -> bool {
        self.rule == usize::MAX
    }
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

    /// What somebody may control who is no xApp of E42: an iApp (`iapp://NAME`), or who asks one from outside (`http://ADDRESS`,
    /// `rmr://ADDRESS`, `xapp://NAME` for one that the host started). Everything, before any xApp, unless a policy says
    /// otherwise: they are the operator's.
    fn party(&self, who: &str) -> Result<XappGrant, Cause> {
        let _ = who;
        Ok(XappGrant::operator())
    }

    /// What a control that it may send would set: `KIND NAME`, or `KIND *` for all of a kind. Another xApp that sets the same
    /// at the same base station within [`RicTimers::hold`](super::RicTimers::hold) is refused, or takes it if it is more
    /// important. Nothing: the control meets no other.
    fn targets(&self, function: &RanFunctionItem, header: &Bytes, message: &Bytes) -> Vec<String> {
        let _ = (function, header, message);
        Vec::new()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_station_is_admitted_by_network_name_and_certificate() {
        let node = GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), 5, 22);
        let (bare, shown) = ("tcp://10.0.0.1:5", "tls://10.0.0.1:5 as gnb-5.lab");
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
