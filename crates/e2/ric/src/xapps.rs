//! Admission of xApps: tenant, visible nodes and limits of each, and the list of connected xApps.
use crate::commons::Access;
use crate::{lock, no_such};
use bytes::Bytes;
use ranlab_e2::Time;
use ranlab_e2::ric::{
    IApp, IAppInput, IAppOutbox, NodeFilter, PeerInfo, Tenant, XappGrant, XappInfo, XappLimits, XappPolicy,
};
use ranlab_e2_codec::e2ap::{
    Cause, CauseMisc, GlobalE2NodeId, NotAPlmn, RanFunctionItem, RicSubscriptionDetails,
};
use ranlab_e2_codec::e2sm::{Model, by_oid, models, names};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use toml::Spanned;

/// Admission rule; the first rule whose pattern matches a peer applies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XappRule {
    /// Peer address as printed by the transport (`tcp://127.0.0.1:40112`, `unix:///run/e42.sock pid 17`); a
    /// trailing `*` matches any rest.
    #[serde(default)]
    pub peer: String,
    /// Tenant of the xApps. Rules with the same tenant share nothing else.
    #[serde(default)]
    pub tenant: String,
    /// PLMNs of visible nodes, as `MCC.MNC`; if `nodes` is empty too, all nodes are visible.
    #[serde(default)]
    pub plmns: Vec<String>,
    /// Visible nodes as printed (`gnb 505.01 5`); CUs and DUs are visible with their base station.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Maximum number of subscriptions per xApp over all nodes; default: the RIC's limit.
    pub subscriptions: Option<usize>,
    /// Maximum number of pending controls per xApp; default: the RIC's limit.
    pub requests: Option<usize>,
    /// Whether controls are allowed, rather than only observation.
    #[serde(default = "yes")]
    pub control: bool,
    /// Service models allowed for subscriptions and controls, by name (`mac`, `rc`) or object identifier;
    /// empty: all.
    #[serde(default)]
    pub models: Vec<String>,
    /// Priority in conflicts: if two xApps set the same parameter, the xApp with the higher number prevails; with equal
    /// numbers, the first xApp. Needs `[conflicts]` in a file, or [`XappRules::guard`].
    #[serde(default)]
    pub priority: u8,
    /// Name by which manifests of hosted xApps refer to this rule; `peer` is then optional.
    #[serde(default)]
    pub name: String,
    /// Namespaces of values and topics that its hosted xApps may read in addition to their own.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Namespaces that its hosted xApps may read and write.
    #[serde(default)]
    pub writes: Vec<String>,
}

/// `[conflicts]` of a file: a parameter set by one xApp cannot be changed for a while by another of the same
/// or lower priority.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConflictsTable {
    /// Hold time, in seconds.
    hold_s: f64,
}

/// Maximum hold time, in seconds: one day.
const HOLD_MAX_S: f64 = 86_400.0;

/// Cause of a refusal by a rule.
const REFUSED: Cause = Cause::Misc(CauseMisc::OmIntervention);

fn yes() -> bool {
    true
}

/// Error in a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XappRuleError {
    /// The pattern cannot match any peer.
    #[error(
        "rule {rule}: {text:?} matches no peer; write tcp://IP:PORT, unix:///PATH pid N or mem://NAME, or the \
             beginning of such an address followed by *"
    )]
    Peer {
        /// Number of the rule, from 1.
        rule: usize,
        /// Pattern.
        text: String,
    },
    /// The rule has neither `peer` nor `name`.
    #[error(
        "rule {0} has neither `peer` (address of the xApps) nor `name` (for the manifest of a hosted xApp)"
    )]
    Nobody(usize),
    /// Two rules have the same name.
    #[error("rule {rule} has the name {name:?} of an earlier rule; names must be unique")]
    Name {
        /// Number of the rule, from 1.
        rule: usize,
        /// Name.
        name: String,
    },
    /// A PLMN is invalid.
    #[error("rule {rule}: {text:?} is not a PLMN; expected MCC.MNC, e.g. 505.01")]
    Plmn {
        /// Number of the rule, from 1.
        rule: usize,
        /// Value.
        text: String,
    },
    /// A service model is unknown.
    #[error(
        "rule {rule}: unknown service model {text:?}; allowed: object identifiers (1.3.6...) and {}",
        names(models())
    )]
    Model {
        /// Number of the rule, from 1.
        rule: usize,
        /// Value.
        text: String,
    },
    /// The rule has both PLMNs and nodes.
    #[error("rule {0} has both networks and nodes; use only one of them")]
    Both(usize),
    /// Rules of one tenant differ in `control`; xApps of one tenant are indistinguishable.
    #[error("rule {rule} and an earlier rule of tenant {tenant:?} differ in `control`")]
    Control {
        /// Number of the rule, from 1.
        rule: usize,
        /// Tenant.
        tenant: String,
    },
}

impl XappRuleError {
    /// Returns the number of the rule, from 1.
    pub fn rule(&self) -> usize {
        match self {
            Self::Both(rule)
            | Self::Nobody(rule)
            | Self::Name { rule, .. }
            | Self::Peer { rule, .. }
            | Self::Plmn { rule, .. }
            | Self::Model { rule, .. }
            | Self::Control { rule, .. } => *rule,
        }
    }
}

/// Error in a file of rules.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RulesFileError {
    /// Line number, from 1.
    pub line: usize,
    /// Fault.
    pub fault: RulesFileFault,
}

/// Fault in a file of rules.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesFileFault {
    /// Invalid TOML, unknown key or value of the wrong type.
    #[error("{0}")]
    Toml(String),
    /// Invalid rule.
    #[error(transparent)]
    Rule(#[from] XappRuleError),
    /// Invalid hold time.
    #[error("hold_s = {0} is not a valid hold time; expected seconds, more than 0 and at most {HOLD_MAX_S}")]
    Hold(f64),
    /// The file has no rule, so no xApp could join.
    #[error("the file has no rule, so no xApp could connect; to admit all, add [[rule]] with peer = \"*\"")]
    Empty,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<Spanned<XappRule>>,
    conflicts: Option<Spanned<ConflictsTable>>,
}

/// Admission policy made of rules. A peer without a matching rule is refused.
#[derive(Debug, Clone)]
pub struct XappRules {
    rules: Vec<(String, XappGrant)>,
    may_control: BTreeMap<Tenant, bool>,
    /// Object identifiers that each rule allows; empty: all.
    models: Vec<Vec<String>>,
    hold: Option<Duration>,
    /// Shared-store access of each rule.
    shares: Vec<Access>,
    /// Indices of the rules, by name.
    names: BTreeMap<String, usize>,
    /// Address at the RIC and rule of each hosted xApp.
    hosted: BTreeMap<String, (String, usize)>,
}

/// Unknown rule name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no [[rule]] has the name {name:?}; names of rules: {there}")]
pub struct NoSuchRule {
    /// Requested name.
    pub name: String,
    /// Available names.
    pub there: String,
}

impl XappRules {
    /// Enables conflict detection: a parameter set by one xApp is held for this time against xApps of the
    /// same or lower priority.
    pub fn guard(mut self, hold: Duration) -> Self {
        self.hold = Some(hold);
        self
    }

    /// Returns the hold time if conflict detection is enabled:
    /// [`RicTimers::hold`](ranlab_e2::ric::RicTimers::hold).
    pub fn hold(&self) -> Option<Duration> {
        self.hold
    }

    /// Registers a hosted xApp. The permissions of the named rule, regardless of its pattern, apply to HTTP requests
    /// with this xApp's token, and to connections at `address`, which only this xApp can reach.
    ///
    /// # Errors
    /// Returns [`NoSuchRule`] if no rule has this name.
    pub fn host(&mut self, xapp: &str, address: &str, rule: &str) -> Result<(), NoSuchRule> {
        let found = self.names.get(rule).copied().ok_or_else(|| {
            let there: Vec<&str> = self.names.keys().map(String::as_str).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            NoSuchRule { name: rule.to_owned(), there }
        })?;
        self.hosted.insert(xapp.to_owned(), (address.to_owned(), found));
        Ok(())
    }

    /// Returns the shared-store access of a hosted xApp.
    pub fn access(&self, xapp: &str) -> Access {
        let rule = self.hosted.get(xapp).and_then(|(_, rule)| self.shares.get(*rule));
        rule.cloned().unwrap_or_default()
    }

    /// Returns the permissions of a rule.
    fn granted(&self, rule: usize) -> Result<XappGrant, Cause> {
        self.rules.get(rule).map(|(_, grant)| grant.clone()).ok_or(REFUSED)
    }

    /// Returns the permissions of the first rule that matches an address.
    fn rule_for(&self, address: &str) -> Result<XappGrant, Cause> {
        let rule = self.rules.iter().find(|(pattern, _)| matches(pattern, address));
        rule.map(|(_, grant)| grant.clone()).ok_or(REFUSED)
    }

    fn allows(&self, grant: &XappGrant, function: &RanFunctionItem) -> Result<(), Cause> {
        let allowed = self.models.get(grant.rule).is_some_and(|oids| {
            oids.is_empty() || function.oid.as_ref().is_some_and(|oid| oids.contains(oid))
        });
        if allowed { Ok(()) } else { Err(REFUSED) }
    }

    /// Parses a TOML file with one `[[rule]]` per [`XappRule`], in order of evaluation.
    ///
    /// ```
    /// let rules = ranlab_ric::xapps::XappRules::from_toml(r#"
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
        let hold = match &file.conflicts {
            Some(table) if !(table.get_ref().hold_s > 0.0 && table.get_ref().hold_s <= HOLD_MAX_S) => {
                let fault = RulesFileFault::Hold(table.get_ref().hold_s);
                return Err(RulesFileError { line: line(table.span().start), fault });
            }
            Some(table) => Some(Duration::from_secs_f64(table.get_ref().hold_s)),
            None => None,
        };
        let lines: Vec<usize> = file.rule.iter().map(|rule| line(rule.span().start)).collect();
        let rules: Vec<XappRule> = file.rule.into_iter().map(Spanned::into_inner).collect();
        let made = Self::new(&rules).map_err(|error| {
            let line = lines.get(error.rule() - 1).copied().unwrap_or(1);
            RulesFileError { line, fault: error.into() }
        })?;
        Ok(Self { hold, ..made })
    }

    /// Validates the rules.
    pub fn new(rules: &[XappRule]) -> Result<Self, XappRuleError> {
        let mut made = Self {
            rules: Vec::new(),
            may_control: BTreeMap::new(),
            models: Vec::new(),
            hold: None,
            shares: Vec::new(),
            names: BTreeMap::new(),
            hosted: BTreeMap::new(),
        };
        for (i, rule) in rules.iter().enumerate() {
            if !rule.name.is_empty() && made.names.insert(rule.name.clone(), i).is_some() {
                return Err(XappRuleError::Name { rule: i + 1, name: rule.name.clone() });
            }
            if rule.peer.is_empty() && rule.name.is_empty() {
                return Err(XappRuleError::Nobody(i + 1));
            }
            if !rule.peer.is_empty() && rule.peer != "*" && !rule.peer.contains("://") {
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
            let set = |names: &[String]| names.iter().cloned().collect();
            made.shares.push(Access { reads: set(&rule.reads), writes: set(&rule.writes) });
            made.models.push(oids(i + 1, &rule.models)?);
            let grant = XappGrant { tenant, nodes, limits, priority: rule.priority, rule: i };
            made.rules.push((rule.peer.clone(), grant));
        }
        Ok(made)
    }
}

/// Returns the object identifiers of models, including all versions that nodes may offer.
fn oids(rule: usize, models: &[String]) -> Result<Vec<String>, XappRuleError> {
    let mut oids = Vec::new();
    for text in models {
        match text.parse::<&'static dyn Model>() {
            Ok(model) => {
                oids.extend([model.oid()].iter().chain(model.other_oids()).map(|oid| (*oid).to_owned()));
            }
            Err(_) if text.split('.').all(|arc| arc.parse::<u64>().is_ok()) => oids.push(text.clone()),
            Err(_) => return Err(XappRuleError::Model { rule, text: text.clone() }),
        }
    }
    Ok(oids)
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
    // A rule with only a name matches no address.
    !pattern.is_empty() && pattern.strip_suffix('*').map_or(pattern == peer, |start| peer.starts_with(start))
}

impl XappPolicy for XappRules {
    fn admit(&self, peer: &PeerInfo<'_>) -> Result<XappGrant, Cause> {
        let at = |address: &str| {
            peer.peer.strip_prefix(address).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        match self.hosted.values().find(|(address, _)| at(address)) {
            Some((_, rule)) => self.granted(*rule),
            None => self.rule_for(peer.peer),
        }
    }

    /// Returns the permissions of a requester. Hosted xApps get the permissions of their rule. RMR clients, like E42
    /// xApps, get the permissions of the first matching rule. All other requesters are the operator, unless a rule
    /// names them.
    fn party(&self, who: &str) -> Result<XappGrant, Cause> {
        if let Some(name) = who.strip_prefix("xapp://") {
            return self.hosted.get(name).map_or(Err(REFUSED), |(_, rule)| self.granted(*rule));
        }
        if who.starts_with("rmr://") {
            return self.rule_for(who);
        }
        let named = self.rules.iter().find(|(pattern, _)| pattern != "*" && matches(pattern, who));
        Ok(named.map_or_else(XappGrant::operator, |(_, grant)| grant.clone()))
    }

    fn may_subscribe(
        &self,
        grant: &XappGrant,
        _: &GlobalE2NodeId,
        function: &RanFunctionItem,
        _: &RicSubscriptionDetails,
    ) -> Result<(), Cause> {
        self.allows(grant, function)
    }

    fn may_control(
        &self,
        grant: &XappGrant,
        _: &GlobalE2NodeId,
        function: &RanFunctionItem,
    ) -> Result<(), Cause> {
        match self.may_control.get(&grant.tenant) {
            Some(true) => self.allows(grant, function),
            _ => Err(REFUSED),
        }
    }

    fn targets(&self, function: &RanFunctionItem, header: &Bytes, message: &Bytes) -> Vec<String> {
        let model = function.oid.as_deref().and_then(by_oid).filter(|_| self.hold.is_some());
        let Some(model) = model else { return Vec::new() };
        let targets = model.control_targets(model.encoding(), header, message);
        targets.unwrap_or_else(|| vec![format!("unread {}", model.name())])
    }
}

/// Read access to the list of connected xApps kept by a [`Registry`].
#[derive(Debug, Clone, Default)]
pub struct RegistryHandle(Arc<Mutex<BTreeMap<u16, XappInfo>>>);

impl RegistryHandle {
    /// Returns the xApps in order of their ids.
    pub fn xapps(&self) -> Vec<XappInfo> {
        lock(&self.0).values().cloned().collect()
    }
}

/// iApp that keeps the list of xApps and serves it northbound.
#[derive(Debug, Default)]
pub struct Registry(RegistryHandle);

impl Registry {
    /// Returns a registry and its read handle.
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
