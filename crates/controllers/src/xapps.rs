//! Hosting of xApps: who may join, as which tenant, what it sees and how much it may ask for; and who is there.
use crate::{lock, no_such};
use ranlab_e2::Time;
use ranlab_e2::ric::{
    IApp, IAppInput, IAppOutbox, NodeFilter, PeerInfo, Tenant, XappGrant, XappInfo, XappLimits, XappPolicy,
};
use ranlab_wire::e2ap::{Cause, CauseMisc, GlobalE2NodeId, NotAPlmn, RanFunctionItem};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use toml::Spanned;

/// One rule: the first whose pattern matches a peer decides about it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XappRule {
    /// The peer's address as the transport prints it (`tcp://127.0.0.1:40112`, `unix:///run/e42.sock pid 17`); a trailing
    /// `*` stands for any rest.
    pub peer: String,
    /// On whose behalf its xApps act. Rules with the same tenant share nothing but that.
    #[serde(default)]
    pub tenant: String,
    /// Networks whose nodes they see, as `MCC.MNC`; together with `nodes` empty: all nodes.
    #[serde(default)]
    pub plmns: Vec<String>,
    /// Nodes that they see, as they are printed (`gnb 505.01 5`); parts are seen with their base station.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Subscriptions of one xApp over all nodes; absent: the RIC's bound.
    pub subscriptions: Option<usize>,
    /// Controls of one xApp under way; absent: the RIC's bound.
    pub requests: Option<usize>,
    /// Whether they may control, rather than observe alone.
    #[serde(default = "yes")]
    pub control: bool,
}

fn yes() -> bool {
    true
}

/// A mistake in a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XappRuleError {
    /// Matches nobody.
    #[error(
        "rule {rule}: {text:?} is the address of no peer; write tcp://IP:PORT, unix:///PATH pid N or mem://NAME, or its \
             beginning and a *"
    )]
    Peer {
        /// Number of the rule, from one.
        rule: usize,
        /// What was written.
        text: String,
    },
    /// Not a network.
    #[error("rule {rule}: {text:?} is no network; write MCC.MNC, e.g. 505.01")]
    Plmn {
        /// Number of the rule, from one.
        rule: usize,
        /// What was written.
        text: String,
    },
    /// Networks and nodes in one rule.
    #[error("rule {0} names both networks and nodes; name one of them")]
    Both(usize),
    /// Observers and controllers cannot be told apart once they act for the same tenant.
    #[error("rule {rule} gives tenant {tenant:?} another right to control than a rule before")]
    Control {
        /// Number of the rule, from one.
        rule: usize,
        /// Which.
        tenant: String,
    },
}

impl XappRuleError {
    /// Number of the rule, from one.
    pub fn rule(&self) -> usize {
        match self {
            Self::Both(rule)
            | Self::Peer { rule, .. }
            | Self::Plmn { rule, .. }
            | Self::Control { rule, .. } => *rule,
        }
    }
}

/// A mistake in a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RulesFileError {
    /// Where, from one.
    pub line: usize,
    /// What.
    pub fault: RulesFileFault,
}

/// What is wrong with a file of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesFileFault {
    /// It is no TOML, or has keys or values that a rule does not have.
    #[error("{0}")]
    Toml(String),
    /// A rule cannot be.
    #[error(transparent)]
    Rule(#[from] XappRuleError),
    /// Nobody could join.
    #[error("there is no rule, so no xApp could join; write [[rule]] and peer = \"*\" below it to admit all")]
    Empty,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<Spanned<XappRule>>,
}

/// A policy made of rules. A peer that no rule matches is refused.
#[derive(Debug, Clone)]
pub struct XappRules {
    rules: Vec<(String, XappGrant)>,
    may_control: BTreeMap<Tenant, bool>,
}

impl XappRules {
    /// Reads a TOML file: a `[[rule]]` for each [`XappRule`], in the order in which they are tried.
    ///
    /// ```
    /// let rules = ranlab_controllers::xapps::XappRules::from_toml(r#"
    ///     [[rule]]
    ///     peer = "unix:///run/ranlab/e42.sock*"
    ///
    ///     [[rule]] # the neighbour's xApps: their own tenant, one network, no controls
    ///     peer = "tcp://10.0.0.7:*"
    ///     tenant = "neighbour"
    ///     plmns = ["505.01"]
    ///     subscriptions = 100
    ///     control = false
    /// "#);
    /// assert!(rules.is_ok());
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, RulesFileError> {
        let line = |at: usize| text.bytes().take(at).filter(|octet| *octet == b'\n').count() + 1;
        let file: RulesFile = toml::from_str(text).map_err(|error| RulesFileError {
            line: line(error.span().map_or(0, |span| span.start)),
            fault: RulesFileFault::Toml(error.message().to_owned()),
        })?;
        if file.rule.is_empty() {
            return Err(RulesFileError { line: 1, fault: RulesFileFault::Empty });
        }
        let lines: Vec<usize> = file.rule.iter().map(|rule| line(rule.span().start)).collect();
        let rules: Vec<XappRule> = file.rule.into_iter().map(Spanned::into_inner).collect();
        Self::new(&rules).map_err(|error| {
            let line = lines.get(error.rule() - 1).copied().unwrap_or(1);
            RulesFileError { line, fault: error.into() }
        })
    }

    /// Checks the rules.
    pub fn new(rules: &[XappRule]) -> Result<Self, XappRuleError> {
        let mut made = Self { rules: Vec::new(), may_control: BTreeMap::new() };
        for (i, rule) in rules.iter().enumerate() {
            if rule.peer != "*" && !rule.peer.contains("://") {
                return Err(XappRuleError::Peer { rule: i + 1, text: rule.peer.clone() });
            }
            let tenant = Tenant::new(&rule.tenant);
            let nodes = node_filter(i + 1, rule)?;
            if *made.may_control.entry(tenant.clone()).or_insert(rule.control) != rule.control {
                return Err(XappRuleError::Control { rule: i + 1, tenant: rule.tenant.clone() });
            }
            let limits = XappLimits::default().with(|it| {
                it.subscriptions = rule.subscriptions.unwrap_or(usize::MAX);
                it.requests = rule.requests.unwrap_or(usize::MAX);
            });
            made.rules.push((rule.peer.clone(), XappGrant { tenant, nodes, limits }));
        }
        Ok(made)
    }
}

fn node_filter(rule: usize, from: &XappRule) -> Result<NodeFilter, XappRuleError> {
    match (from.plmns.is_empty(), from.nodes.is_empty()) {
        (true, true) => Ok(NodeFilter::All),
        (true, false) => Ok(NodeFilter::Named(from.nodes.clone())),
        (false, false) => Err(XappRuleError::Both(rule)),
        (false, true) => {
            let plmn = |text: &String| {
                text.parse().map_err(|_: NotAPlmn| XappRuleError::Plmn { rule, text: text.clone() })
            };
            from.plmns.iter().map(plmn).collect::<Result<_, _>>().map(NodeFilter::Plmns)
        }
    }
}

fn matches(pattern: &str, peer: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == peer, |start| peer.starts_with(start))
}

impl XappPolicy for XappRules {
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        let rule = self.rules.iter().find(|(pattern, _)| matches(pattern, peer.peer));
        rule.map(|(_, grant)| grant.clone()).ok_or(Cause::Misc(CauseMisc::OmIntervention))
    }

    fn may_control(&self, grant: &XappGrant, _: &GlobalE2NodeId, _: &RanFunctionItem) -> Result<(), Cause> {
        match self.may_control.get(&grant.tenant) {
            Some(true) => Ok(()),
            _ => Err(Cause::Misc(CauseMisc::OmIntervention)),
        }
    }
}

/// Which xApps are there; reads what a [`Registry`] has heard.
#[derive(Debug, Clone, Default)]
pub struct RegistryHandle(Arc<Mutex<BTreeMap<u16, XappInfo>>>);

impl RegistryHandle {
    /// The xApps in order of their ids.
    pub fn xapps(&self) -> Vec<XappInfo> {
        lock(&self.0).values().cloned().collect()
    }
}

/// An iApp that keeps the list of xApps, and shows it to the north.
#[derive(Debug, Default)]
pub struct Registry(RegistryHandle);

impl Registry {
    /// A registry and the door to its list.
    pub fn new() -> (Self, RegistryHandle) {
        let handle = RegistryHandle::default();
        (Self(handle.clone()), handle)
    }
}

impl IApp for Registry {
    fn name(&self) -> &str {
        "xapps"
    }

    fn handle(&mut self, _: Time, input: IAppInput<'_>, out: &mut IAppOutbox) {
        let mut xapps = lock(&self.0.0);
        match input {
            IAppInput::XappAdded(info) => {
                xapps.insert(info.id, info.clone());
            }
            IAppInput::XappRemoved(info) => {
                xapps.remove(&info.id);
            }
            IAppInput::Northbound(request) if request.path.is_empty() => {
                let xapp = |x: &XappInfo| {
                    json!({
                        "id": x.id, "peer": &*x.peer, "tenant": x.tenant.name(), "e2ap": x.version.to_string(),
                    })
                };
                let list: serde_json::Value = xapps.values().map(xapp).collect();
                out.reply(request.reply(200, json!({ "xapps": list }).to_string()));
            }
            IAppInput::Northbound(request) => out.reply(no_such(request, "\"\"")),
            _ => {}
        }
    }
}
