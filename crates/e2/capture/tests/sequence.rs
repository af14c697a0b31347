//! Message sequence documents of captures: responses match their requests, and every document is bounded.
#![allow(clippy::unwrap_used)]

use ranlab_e2_capture::dissect::Known;
use ranlab_e2_capture::sequence::{LANES_MAX, MESSAGES_MAX, OCTETS_MAX, Sequence};
use ranlab_e2_capture::{Endpoint, Flow, Recorder, Side, Trace, Transport};
use serde_json::Value;

fn document(octets: &[u8]) -> Value {
    let mut trace = Trace::new(Known::default(), true);
    let mut sequence = Sequence::default();
    trace.read(octets, |dissected, problem| sequence.take(dissected, problem)).unwrap();
    serde_json::from_str(&sequence.finish("<b>trace</b>", &trace.finish()).json()).unwrap()
}

#[test]
fn recorded_session_has_lanes_responses_and_delays() {
    let capture = include_bytes!("../../codec/tests/vectors/flexric_e2_e42_sctp.pcap");
    let document = document(capture);
    assert_eq!(
        (&document["format"], &document["title"]),
        (&"ranlab-sequence/1".into(), &"<b>trace</b>".into())
    );
    let lanes: Vec<&str> =
        document["lanes"].as_array().unwrap().iter().map(|lane| lane.as_str().unwrap()).collect();
    assert_eq!(lanes.iter().filter(|lane| lane.starts_with("RIC ")).count(), 1, "{lanes:?}");
    assert!(lanes.iter().any(|lane| lane.starts_with("xApp ")), "{lanes:?}");
    let messages = document["messages"].as_array().unwrap();
    let mut answered = 0;
    for (at, message) in messages.iter().enumerate() {
        let Some(index) = message["answers"].as_u64() else { continue };
        let request = &messages[index as usize];
        assert!((request["n"].as_u64().unwrap() as usize) <= at);
        assert_eq!((&request["from"], &request["to"]), (&message["to"], &message["from"]));
        assert!(message["took_us"].as_i64().unwrap() >= 0);
        // The names E2setupRequest and E2setupResponse share all but the last word.
        let stem = |name: &Value| name.as_str().unwrap().trim_end_matches("Request").to_owned();
        let stem = stem(&request["name"]);
        let answer = message["name"].as_str().unwrap();
        assert!(
            answer.starts_with(&stem) || answer.contains("ubscription") || answer.contains("ontrol"),
            "{stem} {answer}"
        );
        answered += 1;
    }
    let count_of =
        |name: &str| messages.iter().filter(|message| message["name"].as_str() == Some(name)).count();
    let requests = count_of("E2setupRequest")
        + count_of("E42setupRequest")
        + count_of("RICsubscriptionRequest")
        + count_of("E42RICsubscriptionRequest");
    assert!(
        answered >= requests && requests >= 8,
        "each request must have a response: {answered} responses to {requests} requests"
    );
    assert!(messages.iter().all(|message| message["words"].as_str().unwrap().contains("procedureCode")));
}

#[test]
fn undecodable_pdu_is_a_fault_and_document_is_bounded() {
    let mut octets = Vec::new();
    let mut recorder = Recorder::new(&mut octets).unwrap();
    for n in 0..MESSAGES_MAX as u16 + 5 {
        let source = Endpoint { address: Some([10, 0, (n >> 8) as u8, n as u8].into()), port: 40_000 };
        let destination = Endpoint { address: Some([10, 9, 9, 9].into()), port: Side::E2.port() };
        let flow = Flow { transport: Transport::Tcp, source, destination };
        recorder.write(Side::E2, u64::from(n) * 1_000_000, &flow, &[0xFF; OCTETS_MAX + 9]).unwrap();
    }
    recorder.flush().unwrap();
    let document = document(&octets);
    assert_eq!(document["left_out"], 5);
    assert_eq!(document["messages"].as_array().unwrap().len(), MESSAGES_MAX);
    assert!(document["lanes"].as_array().unwrap().len() <= LANES_MAX);
    let first = &document["messages"][0];
    assert!(first["fault"].as_str().unwrap().starts_with("undecodable: "), "{}", first["fault"]);
    assert_eq!(first["hex"].as_str().unwrap().len(), 2 * OCTETS_MAX);
    assert_eq!(first["octets"], OCTETS_MAX + 9);
    let notes = document["notes"].to_string();
    assert!(notes.contains("5 more are only counted") && notes.contains("share the last lane"), "{notes}");
}

#[test]
fn endless_trace_keeps_newest_messages_with_responses() {
    let capture = include_bytes!("../../codec/tests/vectors/flexric_e2_e42_sctp.pcap");
    let mut trace = Trace::new(Known::default(), false);
    let mut sequence = Sequence::newest();
    // The same session is traced three times, which gives more messages than the limit.
    for _ in 0..3 {
        trace.read(&capture[..], |dissected, problem| sequence.take(dissected, problem)).unwrap();
    }
    let document: Value = serde_json::from_str(&sequence.finish("", &trace.finish()).json()).unwrap();
    let messages = document["messages"].as_array().unwrap();
    let left_out = document["left_out"].as_u64().unwrap();
    assert!(messages.len() <= MESSAGES_MAX && left_out > 0);
    assert_eq!(messages.len() as u64 + left_out, 3 * 660);
    assert_eq!(
        (&messages[0]["n"], &messages[messages.len() - 1]["n"]),
        (&(left_out + 1).into(), &1980.into())
    );
    let mut answered = 0;
    for (at, message) in messages.iter().enumerate() {
        let Some(index) = message["answers"].as_u64() else { continue };
        let request = &messages[index as usize];
        assert!((request["n"].as_u64().unwrap() - left_out - 1) as usize <= at);
        assert_eq!((&request["from"], &request["to"]), (&message["to"], &message["from"]));
        answered += 1;
    }
    assert!(answered > 8, "{answered}");
    assert!(document["notes"].to_string().contains("before them are only counted"), "{}", document["notes"]);
}
