//! Checks of a base station's E2 agent. The check acts as the agent's RIC, and the agent connects to it.
use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm::kpm::{self, Selection};
use ranlab_e2_codec::e2sm::{self, Encoding, Octets};
use ranlab_e2_codec::per::ShortBits;
use ranlab_sdk::transport::{Address, Listener, SocketOptions};
use tokio::runtime::Runtime;

use super::agent_cases::CASES;
use super::ends::{same_run, transaction};
use super::link::{CheckTrace, Link, PeerMessage};
use ranlab_lab::check::{CaseFailure, CheckTarget, Outcome, Verdict, chosen, fails, folder, listed, run};
use ranlab_lab::config;
use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

config! {
    /// Settings of an agent check.
    pub struct AgentCheck {
        /// maximum time for the agent to connect, at the start and after each connection that a check closes
        arrival: Duration = Duration::from_secs(20);
        /// maximum time to wait for a response
        patience: Duration = Duration::from_millis(1_000);
        /// report period of the subscriptions
        period: Duration = Duration::from_millis(100);
        /// E2 node to check, by its complete identity ("gnb 001.01 411/du 0", with or without "gnb"); without it, the
        /// first one that connects. Other nodes are set up and not checked
        node: Option<String> = None;
        /// run only checks whose names contain one of these words, e.g. setup,reset; without it, all checks run
        only: Vec<String> = Vec::new();
        /// also send hundreds of truncated and random messages and a repeated subscription request, which have crashed
        /// agents
        hostile: bool = false;
        /// folder in which a capture of each failed check is written
        captures: PathBuf = PathBuf::from("."), local();
    }
}

/// Returns name and clause of each agent check, in order.
#[must_use]
pub fn agent_checks() -> Vec<(&'static str, &'static str)> {
    listed(CASES)
}

/// Checks the agent that connects to `address`, clause by clause. `listening` is called with the address, and
/// `report` with each verdict.
///
/// # Errors
///
/// Returns an error if the address cannot be bound, no agent connects, no check has the given name, or `report`
/// returns an error.
pub fn check_agent<E: From<ComponentError>>(
    address: &Address,
    config: &AgentCheck,
    listening: impl FnOnce(&Address) -> Result<(), E>,
    report: impl FnMut(&Verdict) -> Result<(), E>,
) -> Result<Vec<Verdict>, E> {
    let cases = chosen(CASES, &config.only)?;
    folder(&config.captures)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(environment)?;
    let bound = runtime.block_on(Listener::bind(address, &SocketOptions::default()));
    let listener = bound.map_err(environment)?;
    listening(listener.address())?;
    let rig = SharedRun(Rc::new(AgentRun {
        listener,
        config: config.clone(),
        runtime: Rc::new(runtime),
        connections: Cell::new(0),
        held: RefCell::default(),
        node: RefCell::default(),
        others: RefCell::default(),
        lost: Cell::new(false),
    }));
    run(&rig, cases, &config.captures, report)
}

pub(super) struct AgentRun {
    listener: Listener,
    pub(super) config: AgentCheck,
    runtime: Rc<Runtime>,
    /// Number of connections so far. Captures name connections by this number.
    connections: Cell<u16>,
    /// Established connection that the previous check left in a clean state.
    held: RefCell<Option<(Link, E2SetupRequest)>>,
    /// The checked E2 node, set when it has connected.
    node: RefCell<Option<GlobalE2NodeId>>,
    /// Connections of other nodes. They are kept open, because a base station may depend on them.
    others: RefCell<Vec<Link>>,
    /// Whether the agent connected once and no longer reconnects.
    lost: Cell<bool>,
}

/// State of a run, shared with its controllers.
struct SharedRun(Rc<AgentRun>);

impl CheckTarget for SharedRun {
    type Peer = Controller;
    const CAPTURE: (&'static str, &'static str) = ("check-agent", "pcapng");

    fn ended(&self) -> Option<&'static str> {
        self.0.lost.get().then_some("the agent does not reconnect")
    }

    fn node(&self) -> Option<String> {
        self.0.node.borrow().map(|node| node.to_string())
    }

    fn peer(&self, _number: usize) -> Result<Controller, ComponentError> {
        Ok(Controller { run: Rc::clone(&self.0), trace: CheckTrace::default() })
    }

    fn leave(&self, _peer: &mut Controller) -> Result<(), ComponentError> {
        Ok(())
    }

    fn capture(&self, peer: &Controller, file: &Path) -> io::Result<()> {
        peer.trace.write(file)
    }
}

/// Request id of the subscriptions that checks create.
pub(super) const REQUEST: RicRequestId = RicRequestId { requestor: 5, instance: 21 };

/// A RIC that sends the messages of a check.
pub(super) struct Controller {
    pub(super) run: Rc<AgentRun>,
    trace: CheckTrace,
}

/// Maximum number of open connections of other nodes.
const OTHERS_MAX: usize = 64;

impl AgentRun {
    /// Returns whether an E2 node is the checked node: the configured node, or the first one that connected.
    fn is_checked(&self, node: &GlobalE2NodeId) -> bool {
        let whole = node.to_string();
        let without_kind = whole.split_once(' ').map(|(_, rest)| rest);
        let is_it = match (&self.config.node, *self.node.borrow()) {
            (Some(name), _) => whole == *name || without_kind == Some(name),
            (None, Some(first)) => first == *node,
            (None, None) => true,
        };
        if is_it {
            *self.node.borrow_mut() = Some(*node);
        }
        is_it
    }
}

impl Controller {
    /// Waits for a new connection of the checked agent. Returns the connection with its setup request, to which no
    /// response was sent yet. Connections of other nodes are set up and kept.
    pub(super) fn fresh(&self) -> Result<(Link, E2SetupRequest), CaseFailure> {
        // Closes the kept connection, so that the agent reconnects.
        drop(self.run.held.take());
        let until = Instant::now() + self.run.config.arrival;
        loop {
            let (mut link, setup) = self.accept(until)?;
            if self.run.is_checked(&setup.node_id) {
                return Ok((link, setup));
            }
            link.say(&Self::acceptance(&link, &setup))?;
            let mut others = self.run.others.borrow_mut();
            others.truncate(OTHERS_MAX - 1);
            others.insert(0, link);
        }
    }

    /// Waits for the next connection of any node. Returns the connection with its setup request.
    fn accept(&self, until: Instant) -> Result<(Link, E2SetupRequest), CaseFailure> {
        let run = &self.run;
        let came = run
            .runtime
            .block_on(async { tokio::time::timeout_at(until.into(), run.listener.accept()).await });
        let Ok(came) = came else {
            if run.node.borrow().is_some() {
                run.lost.set(true);
                return fails("the agent does not reconnect");
            }
            let at = run.listener.address();
            let arrival = run.config.arrival;
            let agent = run
                .config
                .node
                .as_ref()
                .map_or_else(|| "agent".to_owned(), |node| format!("agent of {node}"));
            return Err(CaseFailure::Trouble(environment(format!(
                "no {agent} connects to {at} within {arrival:?}"
            ))));
        };
        let (stream, _) = came.map_err(|error| CaseFailure::Trouble(environment(error)))?;
        let number = run.connections.get().wrapping_add(1);
        run.connections.set(number);
        let settings = (run.config.patience, Version::V2_03);
        let mut link = Link::new(&run.runtime, stream, &self.trace, number, settings);
        let setup = self.setup_of(&mut link)?;
        Ok((link, setup))
    }

    /// Reads the setup request, and adopts the E2AP version of the agent.
    pub(super) fn setup_of(&self, link: &mut Link) -> Result<E2SetupRequest, CaseFailure> {
        let until = Instant::now() + link.patience.max(Duration::from_secs(5));
        match link.hear_pdu(until) {
            None => fails("the agent connects but sends nothing"),
            Some(Err(why)) => fails(format!("the connection failed before the setup request: {why}")),
            Some(Ok(pdu)) => {
                link.version = Version::of_setup(&pdu).unwrap_or(link.version);
                match decode(&pdu, link.version) {
                    Ok(Decoded { message: Message::E2SetupRequest(m), .. }) => Ok(m),
                    Ok(other) => fails(format!(
                        "the agent's first message is {}, not a setup request",
                        other.message.name()
                    )),
                    Err(why) => {
                        fails(format!("the setup request is not a message of {}: {why}", link.version.name()))
                    }
                }
            }
        }
    }

    /// Returns the response that accepts a setup.
    pub(super) fn acceptance(link: &Link, setup: &E2SetupRequest) -> Message {
        let functions = setup.functions.iter().flatten();
        let accepted = functions.map(|f| RanFunctionIdItem { id: f.id, revision: f.revision }).collect();
        let ack = ComponentAck { outcome: UpdateOutcome::Success, cause: None };
        let components = setup.components.iter().flatten();
        let components =
            components.map(|c| ComponentAckItem { interface: c.interface, id: c.id.clone(), ack }).collect();
        Message::E2SetupResponse(E2SetupResponse {
            transaction_id: setup.transaction_id,
            ric_id: GlobalRicId { plmn: Plmn::new(1, 1, 2), ric_id: ShortBits::new(77, 20) },
            accepted: Some(accepted),
            rejected: None,
            components_v1: None,
            components: (link.version != Version::V1_01).then_some(components),
        })
    }

    /// Returns an established connection. The connection of the previous check is reused if possible.
    pub(super) fn set_up(&self) -> Result<(Link, E2SetupRequest), CaseFailure> {
        if let Some((mut link, setup)) = self.run.held.take() {
            // Discards messages that arrived since the last check. A connection that has ended cannot be reused.
            while let Some(input) = link.receive(Instant::now()) {
                if let PeerMessage::End(_) = input {
                    break;
                }
            }
            if !link.over {
                link.traced_by(&self.trace);
                return Ok((link, setup));
            }
        }
        let (mut link, setup) = self.fresh()?;
        link.say(&Self::acceptance(&link, &setup))?;
        self.serves(&mut link, &setup)?;
        Ok((link, setup))
    }

    /// Keeps a connection for the next check.
    pub(super) fn keep(&self, link: Link, setup: E2SetupRequest) {
        if !link.over {
            *self.run.held.borrow_mut() = Some((link, setup));
        }
    }

    /// Deletes the subscription of a check, whether or not it exists. Any response shows that the agent works. Its
    /// request id may differ, because OCUDU writes 0/0 into its failure message. A reset is not used here, because
    /// OCUDU and srsRAN do not support it.
    pub(super) fn serves(&self, link: &mut Link, setup: &E2SetupRequest) -> Outcome {
        let first = setup.functions.iter().flatten().next().map_or(2, |function| function.id);
        let function_id = self.reporting(setup).map_or(first, |(function, _)| function);
        let request = RicSubscriptionDeleteRequest { request_id: REQUEST, function_id };
        link.say(&Message::RicSubscriptionDeleteRequest(request))?;
        link.expect("the response to a final subscription delete", |_, message| match message {
            Message::RicSubscriptionDeleteResponse(_)
            | Message::RicSubscriptionDeleteFailure(_)
            | Message::ErrorIndication(_) => Some(()),
            _ => None,
        })
    }

    /// Sends a reset, which ends all subscriptions.
    pub(super) fn reset(&self, link: &mut Link) -> Outcome {
        let number = 201;
        let cause = Cause::Misc(CauseMisc::OmIntervention);
        let transaction_id = transaction(link, number);
        link.say(&Message::ResetRequest(ResetRequest { transaction_id, cause }))?;
        let response_id = link.expect("the reset response", |_, message| match message {
            Message::ResetResponse(m) => Some(m.transaction_id),
            _ => None,
        })?;
        same_run(link, "the reset response", number, response_id)
    }

    /// Checks that the agent is still connected or reconnects, after an input that may have ended the connection.
    pub(super) fn comes_again(&self, mut link: Link, setup: E2SetupRequest) -> Outcome {
        if !link.over && self.serves(&mut link, &setup).is_ok() {
            self.keep(link, setup);
            return Ok(());
        }
        drop(link);
        let (link, setup) = self.set_up()?;
        self.keep(link, setup);
        Ok(())
    }

    /// Returns the definition of a KPM action that reports on the node and needs no UE. Returns `None` if the function
    /// does not offer it.
    fn node_report(&self, node: &GlobalE2NodeId, function: &RanFunctionItem) -> Option<Bytes> {
        function.oid.as_deref().filter(|oid| *oid == kpm::OID)?;
        let period_ms = u32::try_from(self.run.config.period.as_millis()).ok()?;
        let selection = Selection { style: Some(1), ..Selection::default() };
        selection.action(node, &function.definition, period_ms).ok()?.to_octets(Encoding::Per).ok()
    }

    /// Returns a RAN function with periodic reports, and a subscription to it. Action 1 has the definition that the
    /// model needs.
    pub(super) fn reporting(
        &self,
        setup: &E2SetupRequest,
    ) -> Result<(RanFunctionId, RicSubscriptionDetails), CaseFailure> {
        let known = setup.functions.iter().flatten().find_map(|function| {
            let model = e2sm::by_oid(function.oid.as_deref()?)?;
            let trigger = model.periodic(model.encoding(), self.run.config.period).ok()?;
            model.period(model.encoding(), &trigger).ok()??;
            let definition = self.node_report(&setup.node_id, function);
            let actions = vec![ActionToBeSetup { definition, ..ActionToBeSetup::report(1) }];
            let mut details = RicSubscriptionDetails { event_trigger: trigger, actions };
            let is_taken = e2sm::complete(&setup.node_id, function, &mut details);
            is_taken.then_some((function.id, details))
        });
        known.ok_or(CaseFailure::Skipped(
            "the agent offers no RAN function of a known service model with periodic reports",
        ))
    }
}
