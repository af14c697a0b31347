//! Tests of applications that PFD Management provisions, and of sessions whose rules name them.
use super::*;
use bytes::Bytes;
use ranlab_upf::pfcp::*;
use std::net::SocketAddr;

const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 8_805);

/// A UPF with one association, and the last sequence number used.
struct Bed {
    upf: Upf,
    sequence: u32,
    events: Vec<UpfEvent>,
}

impl Bed {
    fn new() -> Self {
        let upf = Upf::new(upf_settings(Dialect::STRICT_REL17));
        let mut bed = Self { upf, sequence: 0, events: Vec::new() };
        let setup = AssociationSetupRequest { node_id: SMF.ip().into(), ..Default::default() };
        let Message::AssociationSetupResponse(response) = bed.ask(setup, None) else { panic!() };
        assert!(response.up_function_features.unwrap().contains(UpFunctionFeatures::PFDM));
        bed
    }

    fn ask(&mut self, message: impl Into<Message>, seid: Option<u64>) -> Message {
        self.ask_from(SMF, message, seid)
    }

    fn ask_from(&mut self, from: SocketAddr, message: impl Into<Message>, seid: Option<u64>) -> Message {
        self.sequence += 1;
        let octets = encode(message, seid, self.sequence).unwrap();
        self.upf.handle(at(1), UpfInput::Received(from, &octets));
        let mut response = None;
        while let Some(output) = self.upf.poll() {
            match output {
                UpfOutput::Send(_, datagram) => response = Some(decode(&datagram).unwrap().0.message),
                UpfOutput::Event(event) => self.events.push(event),
            }
        }
        response.unwrap()
    }

    fn provision(&mut self, applications: Vec<ApplicationPfds>) -> (Cause, Option<OffendingIe>) {
        let request = PfdManagementRequest { applications, ..Default::default() };
        let Message::PfdManagementResponse(response) = self.ask(request, None) else { panic!() };
        (response.cause, response.offending_ie)
    }

    /// Establishes session `n` with a rule for an application. Returns its SEID, or the cause and the rule.
    fn establish(&mut self, n: u32, application: &'static str) -> Result<u64, (Cause, Option<FailedRuleId>)> {
        let smf = Smf::new(smf_settings(Dialect::STRICT_REL17), profile()).unwrap();
        let mut request = smf.templates().establishment(u64::from(n), spec(n));
        request.create_pdrs[0].pdi.application_id = Some(id(application));
        let Message::SessionEstablishmentResponse(response) = self.ask(request, Some(0)) else { panic!() };
        let seid = response.up_f_seid.map(|f_seid| f_seid.seid);
        seid.ok_or((response.cause, response.failed_rule_id))
    }

    /// Returns the sessions whose rules have changed since the last call.
    fn modified(&mut self) -> Vec<u64> {
        let events = std::mem::take(&mut self.events).into_iter();
        let modified = events.filter_map(|event| match event {
            UpfEvent::Modified { seid, .. } => Some(seid),
            _ => None,
        });
        modified.collect()
    }

    fn flows(&self, seid: u64) -> Vec<String> {
        let applications = &self.upf.session(seid).unwrap().applications;
        let contexts = applications.iter().flat_map(|application| &application.pfd_contexts);
        let flows = contexts.flat_map(|context| &context.contents).flat_map(PfdContents::flows);
        flows.map(|flow| String::from_utf8_lossy(flow).into_owned()).collect()
    }
}

fn id(name: &'static str) -> Opaque {
    Opaque(Bytes::from_static(name.as_bytes()))
}

fn application(name: &'static str, contents: Vec<PfdContents>) -> ApplicationPfds {
    let context = PfdContext { contents, ..Default::default() };
    let pfd_contexts = if context.contents.is_empty() { Vec::new() } else { vec![context] };
    ApplicationPfds { application_id: id(name), pfd_contexts, ..Default::default() }
}

#[test]
fn changed_descriptions_modify_sessions_that_name_application() {
    let mut bed = Bed::new();
    let refused = Err((Cause::UNKNOWN_APPLICATION_ID, Some(FailedRuleId::Pdr(PdrId(1)))));
    assert_eq!(bed.establish(1, "video"), refused);
    let both = ["video", "games"].map(|name| application(name, vec![PfdContents::flow("first")]));
    assert_eq!(bed.provision(both.to_vec()), (Cause::ACCEPTED, None));
    let video = bed.establish(1, "video").unwrap();
    let games = bed.establish(2, "games").unwrap();
    bed.events.clear();
    let second = application("video", vec![PfdContents::flow("second"), PfdContents::flow("third")]);
    assert_eq!(bed.provision(vec![second]), (Cause::ACCEPTED, None));
    assert_eq!(bed.modified(), [video]);
    assert_eq!(bed.flows(video), ["second", "third"]);
    assert_eq!(bed.flows(games), ["first"]);
}

#[test]
fn deleted_application_stays_valid_only_for_existing_sessions() {
    let mut bed = Bed::new();
    let both = ["video", "games"].map(|name| application(name, vec![PfdContents::flow("first")]));
    bed.provision(both.to_vec());
    let video = bed.establish(1, "video").unwrap();
    let games = bed.establish(2, "games").unwrap();
    bed.events.clear();
    bed.provision(vec![application("video", Vec::new())]);
    assert_eq!((bed.modified(), bed.flows(video)), (vec![video], Vec::new()));
    assert!(bed.establish(3, "video").is_err());
    // A modification of the session does not need the descriptions, although they were deleted.
    let update = UpdatePdr { pdr_id: PdrId(2), precedence: Some(Precedence(7)), ..Default::default() };
    let change = SessionModificationRequest { update_pdrs: vec![update], ..Default::default() };
    let Message::SessionModificationResponse(response) = bed.ask(change, Some(video)) else { panic!() };
    assert_eq!(response.cause, Cause::ACCEPTED);
    bed.events.clear();
    // A request without applications deletes the descriptions of all applications.
    bed.provision(Vec::new());
    assert_eq!((bed.modified(), bed.flows(games)), (vec![games], Vec::new()));
    assert!(bed.establish(4, "games").is_err());
}

#[test]
fn request_with_invalid_description_is_rejected_as_a_whole() {
    let mut bed = Bed::new();
    let url = PfdContents { url: Some(Bytes::from_static(b"x")), ..Default::default() };
    let good = application("video", vec![PfdContents::flow("first")]);
    let refused = (Cause::SERVICE_NOT_SUPPORTED, Some(OffendingIe(61)));
    assert_eq!(bed.provision(vec![good.clone(), application("games", vec![url])]), refused);
    assert!(bed.establish(1, "video").is_err(), "no part of the request is carried out");
    let many = PfdContents { additional_flows: vec![Bytes::from_static(b"x"); 65], ..Default::default() };
    assert_eq!(bed.provision(vec![application("video", vec![many])]), (Cause::NO_RESOURCES, None));
    let unknown_peer = SocketAddr::from(([10, 9, 9, 9], 8_805));
    let request = PfdManagementRequest { applications: vec![good], ..Default::default() };
    let Message::PfdManagementResponse(response) = bed.ask_from(unknown_peer, request, None) else {
        panic!()
    };
    assert_eq!(response.cause, Cause::NO_ASSOCIATION);
}
