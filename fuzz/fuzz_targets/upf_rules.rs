//! Compiles rules for any request. A rule set is installed exactly if it was accepted before, and all packets are
//! accounted for.
//!
//! Half of the inputs are elements of a request. The other inputs seed a random request.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ranlab_upf::forwarding::{Drop, Verdict, Rules, UserPlane};
use ranlab_upf::pfcp::{
    ApplicationPfds, Header, Message, Pdu, PfdContents, PfdContext, Random, SessionEstablishmentRequest,
    decode, message_type,
};
use std::net::IpAddr;
use std::sync::Arc;

const KIND: u8 = message_type::SESSION_ESTABLISHMENT_REQUEST;
const SEID: u64 = 7;

fn request(first: u8, input: &[u8]) -> Option<SessionEstablishmentRequest> {
    let message = if first & 1 == 0 {
        let seed = input.iter().take(8).fold(0, |seed, octet| seed << 8 | u64::from(*octet));
        Message::random(KIND, &mut Random::new(seed))?
    } else {
        let len = u16::try_from(input.len() + 12).ok()?.to_be_bytes();
        let mut datagram = vec![0x21, KIND, len[0], len[1], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        datagram.extend(input);
        let (Pdu { header: Header { .. }, message }, _) = decode(&datagram).ok()?;
        message
    };
    match message {
        Message::SessionEstablishmentRequest(request) => Some(request),
        _ => None,
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&first, rest)) = input.split_first() else { return };
    let Some(request) = request(first, rest) else { return };
    // The input describes the applications that its rules name.
    let named = request.create_pdrs.iter().filter_map(|pdr| pdr.pdi.application_id.clone());
    let applications: Vec<Arc<ApplicationPfds>> = named
        .map(|application_id| {
            let flow_description = Some(Bytes::copy_from_slice(&rest[..rest.len().min(64)]));
            let contents = vec![PfdContents { flow_description, ..Default::default() }];
            let pfd_contexts = vec![PfdContext { contents, ..Default::default() }];
            Arc::new(ApplicationPfds { application_id, pfd_contexts, ..Default::default() })
        })
        .collect();
    let rules = Rules {
        pdrs: &request.create_pdrs,
        fars: &request.create_fars,
        qers: &request.create_qers,
        urrs: &request.create_urrs,
        bar: request.create_bar.as_ref(),
        applications: &applications,
    };
    let mut plane = UserPlane::new();
    let accepted = UserPlane::check(&rules);
    assert_eq!(accepted, plane.install(SEID, &rules, &rules.meters(&[], &[])));
    if accepted.is_err() {
        assert_eq!(plane.sessions(), 0);
        return;
    }
    let mut out = [0; 2_048];
    for (n, chunk) in rest.chunks(48).enumerate() {
        if n % 2 == 0 {
            if let Verdict::Relay(relay) = plane.uplink(n as u64, IpAddr::from([10, 0, 0, 1]), chunk) {
                plane.write(&relay, &mut out);
            }
        } else {
            plane.downlink(n as u64, chunk, &mut out);
        }
    }
    let counters = *plane.counters();
    let dropped: u64 = Drop::ALL.into_iter().map(|reason| counters.dropped(reason)).sum();
    let ended = counters.uplink
        + counters.downlink
        + counters.buffered
        + counters.unknown_tunnels
        + counters.path_messages
        + counters.unsupported
        + dropped;
    assert_eq!(counters.n3_received + counters.n6_received, ended, "{counters:?}");
    plane.remove(SEID);
    assert_eq!(plane.sessions(), 0);
});
