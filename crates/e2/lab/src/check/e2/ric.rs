//! Checks of a RIC. The check acts as base stations and, if the RIC supports E42, also as an xApp.
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ranlab_e2_codec::e2ap::*;
use ranlab_e2_codec::e2sm;
use ranlab_e2_codec::e42;
use ranlab_sdk::transport::{Address, SocketOptions, connect};
use tokio::runtime::Runtime;

use super::ends::{same_run, transaction};
use super::link::{CheckTrace, Link, PeerMessage, unreachable};
use crate::e2_fields::E2Names;
use ranlab_lab::check::{CaseFailure, CheckTarget, Outcome, fails};
use ranlab_lab::settings::Listen;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{config, environment};

config! {
    /// Settings of a RIC check.
    pub struct RicCheck {
        /// address of the RIC's listener for xApps, if it supports E42; the checks request subscriptions and controls
        /// there
        e42: Option<Listen> = None, wiring();
        /// E2AP version of the emulated base stations: 1.01, 2.03 or 3.01; each setup is tried in all versions
        e2ap: Version as E2Names = Version::V2_03;
        /// number of the first emulated base station (gnb 001.01 NUMBER); each check uses another number
        first: u32 = 900_000;
        /// maximum time to wait for a response
        patience: Duration = Duration::from_millis(1_000);
        /// run only checks whose names contain one of these words, e.g. setup,reset; without it, all checks run
        only: Vec<String> = Vec::new();
        /// also send hundreds of truncated and random messages, which have crashed RICs
        hostile: bool = false;
        /// folder in which a capture of each failed check is written
        captures: PathBuf = PathBuf::from("."), local();
    }
}

pub(super) struct RicRun {
    address: Address,
    pub(super) config: RicCheck,
    runtime: Rc<Runtime>,
    /// Number of connections so far. Captures name connections by this number.
    connections: Cell<u16>,
    /// Whether the RIC has responded at least once. Until then, an unreachable RIC is not a failure of the RIC.
    met: Cell<bool>,
}

impl RicRun {
    /// Creates the run for the RIC at `address`, to which base stations connect.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime cannot be created.
    pub(super) fn new(address: &Address, config: &RicCheck) -> Result<Rc<Self>, ComponentError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(environment)?;
        Ok(Rc::new(Self {
            address: address.clone(),
            config: config.clone(),
            runtime: Rc::new(runtime),
            connections: Cell::new(0),
            met: Cell::new(false),
        }))
    }
}

/// State of a run, shared with its base stations.
pub(super) struct SharedRun(pub(super) Rc<RicRun>);

impl CheckTarget for SharedRun {
    type Peer = ScriptedNodes;
    const CAPTURE: (&'static str, &'static str) = ("check-ric", "pcapng");

    fn ended(&self) -> Option<&'static str> {
        None
    }

    fn peer(&self, number: usize) -> Result<ScriptedNodes, ComponentError> {
        let node = GlobalE2NodeId::gnb(Plmn::new(1, 1, 2), self.0.config.first + number as u32, 22);
        Ok(ScriptedNodes { run: Rc::clone(&self.0), node, trace: CheckTrace::default(), links: Vec::new() })
    }

    fn leave(&self, peer: &mut ScriptedNodes) -> Result<(), ComponentError> {
        peer.leave();
        Ok(())
    }

    fn capture(&self, peer: &ScriptedNodes, file: &Path) -> io::Result<()> {
        peer.trace.write(file)
    }
}

/// Base stations that send the messages of a check.
pub(super) struct ScriptedNodes {
    pub(super) run: Rc<RicRun>,
    pub(super) node: GlobalE2NodeId,
    trace: CheckTrace,
    /// Established connections, to be closed at the end of the check.
    links: Vec<Link>,
}

impl ScriptedNodes {
    /// Opens a new connection.
    pub(super) fn connect(&self) -> Result<Link, CaseFailure> {
        self.link(&self.run.address)
    }

    fn link(&self, address: &Address) -> Result<Link, CaseFailure> {
        let run = &self.run;
        let made = run.runtime.block_on(connect(address, &SocketOptions::default()));
        let number = run.connections.get().wrapping_add(1);
        run.connections.set(number);
        match made {
            Ok(stream) => {
                run.met.set(true);
                let settings = (run.config.patience, run.config.e2ap);
                Ok(Link::new(&run.runtime, stream, &self.trace, number, settings))
            }
            Err(error) if run.met.get() => fails(unreachable(address, &error)),
            Err(error) => Err(CaseFailure::Trouble(environment(error))),
        }
    }

    /// Returns the RAN functions of the emulated base stations, which all controllers support.
    pub(super) fn functions() -> Vec<RanFunctionItem> {
        let item = |model: &dyn e2sm::Model| RanFunctionItem {
            id: model.default_function_id(),
            definition: Bytes::from_static(model.definition()),
            revision: model.revision(),
            oid: Some(model.oid().to_owned()),
        };
        e2sm::customary().map(item).collect()
    }

    /// Returns the setup request of the emulated base station, in the E2AP version of a connection.
    pub(super) fn setup_request(&self, link: &Link, number: u16) -> Message {
        let v1 = link.version == Version::V1_01;
        Message::E2SetupRequest(E2SetupRequest {
            transaction_id: transaction(link, number),
            node_id: self.node,
            functions: Some(Self::functions()),
            components_v1: None,
            components: (!v1).then(|| vec![component("amf-1")]),
        })
    }

    /// Opens a connection and completes the E2 setup.
    pub(super) fn set_up(&self) -> Result<Link, CaseFailure> {
        let mut link = self.connect()?;
        self.set_up_on(&mut link, 1)?;
        Ok(link)
    }

    /// Sends the setup request on a connection. Returns the response.
    pub(super) fn set_up_on(&self, link: &mut Link, number: u16) -> Result<E2SetupResponse, CaseFailure> {
        let request = self.setup_request(link, number);
        link.say(&request)?;
        let answer = link.expect("the setup response", |_, message| match message {
            Message::E2SetupResponse(m) => Some(Ok(m)),
            Message::E2SetupFailure(m) => Some(Err(m.cause)),
            _ => None,
        })?;
        let answer = answer.or_else(|cause| fails(format!("the setup is refused: {cause}")))?;
        same_run(link, "the setup response", number, answer.transaction_id)?;
        Ok(answer)
    }

    /// Returns the RIC's SCTP address, if SCTP is used.
    pub(super) fn sctp(&self) -> Option<SocketAddr> {
        match &self.run.address {
            Address::Sctp { host, port } => {
                Some(SocketAddr::new(host.split(',').next()?.parse().ok()?, *port))
            }
            _ => None,
        }
    }

    /// Checks that the RIC still responds on this connection. If `may_end` is set and the connection has ended,
    /// checks on a new connection.
    pub(super) fn serves(&self, link: &mut Link, may_end: bool) -> Outcome {
        let until = Instant::now() + Duration::from_millis(50);
        while let Some(input) = link.receive(until) {
            if let PeerMessage::End(why) = input {
                return if may_end { self.set_up().map(drop) } else { fails(why) };
            }
        }
        let number = 200;
        link.say(&reset(link, number))?;
        let answer = link.expect("the response to a final reset", |_, message| match message {
            Message::ResetResponse(m) => Some(m.transaction_id),
            _ => None,
        });
        match answer {
            Err(CaseFailure::Fails(_)) if may_end && link.over => self.set_up().map(drop),
            other => other.and_then(|response_id| same_run(link, "the reset response", number, response_id)),
        }
    }

    /// Registers a connection to be closed after the check.
    pub(super) fn keep(&mut self, link: Link) {
        self.links.push(link);
    }

    fn leave(&mut self) {
        for mut link in self.links.drain(..) {
            if link.version != Version::V1_01 && !link.over {
                let request = E2RemovalRequest { transaction_id: transaction(&link, 250) };
                let parted = link.say(&Message::E2RemovalRequest(request)).and_then(|()| {
                    link.expect("", |_, message| {
                        matches!(message, Message::E2RemovalResponse(_)).then_some(())
                    })
                });
                // The result is ignored, because closing the connections is not part of the check.
                drop(parted);
            }
        }
    }

    /// Connects an xApp in addition to the base station.
    pub(super) fn xapp(&self) -> Result<Xapp, CaseFailure> {
        const NONE: CaseFailure =
            CaseFailure::Skipped("the check needs an xApp: specify the RIC's listener for xApps with --e42");
        let Some(Listen::At(address)) = &self.run.config.e42 else { return Err(NONE) };
        let mut link = self.link(address)?;
        let request = e42::SetupRequest { functions: Self::functions(), wants_node_events: false };
        let pdu = e42::encode(&e42::Message::SetupRequest(request), link.version);
        link.say_pdu(&pdu.map_err(|error| CaseFailure::Fails(error.to_string()))?);
        let until = Instant::now() + link.patience;
        while let Some(Ok(pdu)) = link.hear_pdu(until) {
            if let Ok(Decoded { message: e42::Message::SetupResponse(m), .. }) =
                e42::decode(&pdu, link.version)
            {
                return Ok(Xapp { id: m.xapp_id, link, node: self.node });
            }
        }
        fails("the RIC does not answer the xApp's setup request")
    }
}

/// An xApp whose requests the RIC forwards to the base station.
pub(super) struct Xapp {
    id: e42::XappId,
    pub(super) link: Link,
    node: GlobalE2NodeId,
}

impl Xapp {
    const REQUEST: RicRequestId = RicRequestId { requestor: 1, instance: 77 };

    fn say(&mut self, message: &e42::Message) -> Outcome {
        let pdu = e42::encode(message, self.link.version);
        self.link.say_pdu(&pdu.map_err(|error| CaseFailure::Fails(error.to_string()))?);
        Ok(())
    }

    pub(super) fn subscribe(&mut self, details: RicSubscriptionDetails, function_id: u16) -> Outcome {
        let xapp_id = self.id;
        let node_id = self.node;
        let request_id = Self::REQUEST;
        let request = e42::SubscriptionRequest { xapp_id, node_id, request_id, function_id, details };
        self.say(&e42::Message::SubscriptionRequest(request))
    }

    pub(super) fn delete(&mut self, request_id: RicRequestId, function_id: u16) -> Outcome {
        let request = e42::SubscriptionDeleteRequest { xapp_id: self.id, request_id, function_id };
        self.say(&e42::Message::SubscriptionDeleteRequest(request))
    }

    pub(super) fn control(&mut self, function_id: u16, header: Bytes, message: Bytes) -> Outcome {
        self.say(&e42::Message::ControlRequest(e42::ControlRequest {
            xapp_id: self.id,
            node_id: self.node,
            request_id: Self::REQUEST,
            function_id,
            call_process_id: None,
            header,
            message,
            ack_request: Some(RicControlAckRequest::Ack),
        }))
    }
}

/// Returns an additional node component.
pub(super) fn component(amf: &str) -> ComponentConfigItem {
    let configuration = ComponentConfiguration {
        request_part: Bytes::from_static(b"request"),
        response_part: Bytes::from_static(b"response"),
    };
    let id = ComponentId::Ng(InterfaceNg { amf_name: amf.to_owned() });
    ComponentConfigItem { interface: ComponentInterfaceType::Ng, id, configuration }
}

pub(super) fn reset(link: &Link, number: u16) -> Message {
    let cause = Cause::Misc(CauseMisc::OmIntervention);
    Message::ResetRequest(ResetRequest { transaction_id: transaction(link, number), cause })
}
