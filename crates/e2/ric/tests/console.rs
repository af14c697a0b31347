//! Tests of the console's resources in virtual time.
#![allow(clippy::unwrap_used)]
mod lab;

use lab::Lab;
use ranlab_e2::ric::Method;
use ranlab_e2_codec::e2ap::{
    GlobalE2NodeId, Message as E2ap, Plmn, RicControlAckRequest, RicControlRequest, RicRequestId, Version,
    decode, encode, fast,
};
use ranlab_e2_codec::e2sm::rrc::RrcTrigger;
use ranlab_e2_codec::e2sm::slice::SliceModel;
use ranlab_e2_codec::e2sm::{Encoding, Form, Model, Octets, slice};
use ranlab_e2_codec::rmr::{INDICATION, Message};
use ranlab_ric::console::{Console, ConsoleHandle, FeedReceiver, Filter, Line, Notification};
use serde_json::{Value as Json, json};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const NODE: &str = "gnb 505.01 5";

/// Returns a base station with UE 1 in two slices, and the console of its RIC.
fn lab() -> (Lab, ConsoleHandle) {
    let (console, handle) = Console::new();
    let mut lab = Lab::new(Box::new(console));
    let plmn = Plmn::new(505, 1, 2);
    let n = lab.station(GlobalE2NodeId::gnb(plmn, 5, 32));
    let station = &mut lab.stations[n];
    station.cell.attach(&mut station.agent, 1, plmn, None);
    lab.pass(200 * MS);
    (lab, handle)
}

fn post(lab: &mut Lab, path: &str, body: &Json) -> (u16, Json) {
    lab.ask(Method::Post, path, &body.to_string())
}

fn next(listener: &mut FeedReceiver) -> Option<Json> {
    match listener.poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Line::Indication(line) | Line::Ended(line))) => {
            Some(serde_json::from_slice(&line).unwrap())
        }
        Poll::Ready(other) => panic!("{other:?}"),
        Poll::Pending => None,
    }
}

fn notified(handle: &ConsoleHandle) -> Option<Notification> {
    match handle.poll_notification(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(notification) => Some(notification),
        Poll::Pending => None,
    }
}

const HALVES: &str = r#"{"configure": {"algorithm": "nvs", "sharing": false, "slices": [
    {"id": 1, "label": "white", "scheduler": "pf", "parameters": {"capacity": 500000}},
    {"id": 2, "label": "", "scheduler": "rr", "parameters": {"capacity": 500000}}]}}"#;

fn control(message: Json) -> Json {
    json!({ "node": NODE, "sm": "slice", "message": message })
}

#[test]
fn subscription_is_created_reported_and_ended() {
    let (mut lab, handle) = lab();
    let mut all = handle.feed.listen(Filter::default()).unwrap();
    let body = json!({ "node": NODE, "sm": "SLICE", "period_ms": 100 });
    let (status, made) = post(&mut lab, "subscriptions", &body);
    assert_eq!((status, &made["state"], &made["sm"]), (201, &json!("active"), &json!("slice")), "{made}");
    lab.pass(250 * MS);
    let report = next(&mut all).unwrap();
    assert_eq!((&report["node"], &report["subscription"]), (&json!(NODE), &made["id"]));
    assert!(report["rows"].is_array() && report["tstamp_us"].is_u64(), "{report}");
    let path = format!("subscriptions/{}", made["id"]);
    let shown = lab.get(&path);
    assert_eq!(
        (&shown["indications"], &shown["lost"], &shown["malformed"]),
        (&json!(2), &json!(0), &json!(0))
    );
    assert_eq!(lab.get("subscriptions")["subscriptions"][0]["id"], made["id"]);
    // The same control with O-RAN SC's name of the node, the RAN function id, and raw bytes.
    let octets = json!({ "node": "gnb_505_001_00000005", "function": slice::DEFAULT_FUNCTION_ID,
        "event_trigger": shown["event_trigger"], "actions": [{ "id": 0 }] });
    let (status, second) = post(&mut lab, "subscriptions", &octets);
    assert_eq!((status, &second["period_ms"]), (201, &json!(100)), "{second}");
}

#[test]
fn rejected_subscriptions_name_the_reason() {
    let (mut lab, _) = lab();
    for (body, status, words) in [
        (json!({ "node": "gnb 505.01 6", "sm": "slice" }), 404, "unknown node"),
        (json!({ "node": NODE, "sm": "slick" }), 404, "unknown service model \"slick\"; available: hw, mac"),
        (json!({ "node": NODE }), 422, "sm (a service model) or function"),
        (json!({ "node": NODE, "function": 4_000 }), 409, "does not have this RAN function; it has "),
        (json!({ "node": NODE, "sm": "slice", "period_ms": 0 }), 409, "a report period must be"),
        (
            json!({ "node": NODE, "sm": "slice", "period_ms": 1, "event_trigger": "00" }),
            422,
            "exclude each other",
        ),
        (json!({ "node": NODE, "sm": "slice", "event_trigger": "0" }), 422, "hexadecimal"),
        (
            json!({ "node": NODE, "sm": "slice", "event_trigger": "ffffffffff" }),
            409,
            "the request was refused: ",
        ),
        (json!({ "node": NODE, "sm": "slice", "periods": 1 }), 422, "unknown field"),
    ] {
        let (got, reply) = post(&mut lab, "subscriptions", &body);
        assert_eq!(got, status, "{body}: {reply}");
        assert!(reply["detail"].as_str().unwrap().contains(words), "{body}: {reply}");
    }
    assert_eq!(lab.get("subscriptions"), json!({ "subscriptions": [] }));
    assert_eq!(lab.ask(Method::Get, "subscriptions/1", "").0, 404);
    assert_eq!(lab.ask(Method::Put, "subscriptions", "").0, 405);
}

#[test]
fn control_in_json_or_bytes_returns_the_nodes_outcome() {
    let (mut lab, _) = lab();
    let (status, done) = post(&mut lab, "control", &control(serde_json::from_str(HALVES).unwrap()));
    assert_eq!((status, done), (200, json!({ "result": "acknowledged", "outcome": null })));
    assert_eq!(lab.stations[0].cell.state().set.slices.len(), 2);
    let third =
        json!({ "add": { "id": 3, "label": "", "scheduler": "pf", "parameters": { "capacity": 1 } } });
    let (status, refused) = post(&mut lab, "control", &control(third));
    assert_eq!((status, &refused["outcome"]["reason"]), (409, &json!("overcommitted")), "{refused}");
    let by_names = Form::Fields(vec![("delete".into(), Form::Integer(2))]);
    let (_, octets) = SliceModel.control(SliceModel.encoding(), Form::Null, by_names).unwrap();
    let digits: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let (status, _) = post(&mut lab, "control", &control(digits.into()));
    assert_eq!((status, lab.stations[0].cell.state().set.slices.len()), (200, 1));
    let before = format!("{:?}", lab.stations[0].cell.state());
    for (message, status, words) in [
        (json!("zz"), 422, "hexadecimal"),
        (json!(7), 422, "hexadecimal"),
        (json!({ "remove": 1 }), 409, "unknown name \"remove\""),
        (json!({ "delete": 70_000 }), 409, "70000 is outside 0..65535"),
        (json!("ffffffff"), 409, "the request was refused"),
    ] {
        let (got, reply) = post(&mut lab, "control", &control(message.clone()));
        assert_eq!(got, status, "{message}: {reply}");
        assert!(reply["detail"].as_str().unwrap().contains(words), "{message}: {reply}");
    }
    assert_eq!(format!("{:?}", lab.stations[0].cell.state()), before);
    let silent = json!({ "node": NODE, "sm": "slice", "message": { "delete": 9 }, "ack": false });
    assert_eq!(post(&mut lab, "control", &silent), (202, json!({ "result": "sent" })));
}

fn oran(port: u16, trigger: &[u8]) -> Json {
    json!({
        "ClientEndpoint": { "Host": "service-ricxapp", "HTTPPort": port, "RMRPort": 4560 },
        "Meid": "gnb_505_001_00000005",
        "RANFunctionID": slice::DEFAULT_FUNCTION_ID,
        "SubscriptionDetails": [{
            "XappEventInstanceId": 7, "EventTriggers": trigger,
            "ActionToBeSetupList": [{ "ActionID": 0, "ActionType": "report", "ActionDefinition": null }],
        }],
    })
}

fn trigger() -> Vec<u8> {
    SliceModel.periodic(SliceModel.encoding(), 100 * MS).unwrap().to_vec()
}

#[test]
fn oran_sc_subscriptions_get_response_and_then_notification() {
    let (mut lab, handle) = lab();
    let (status, made) = post(&mut lab, "oran/subscriptions/127.0.0.1", &oran(8_091, &trigger()));
    assert_eq!((status, &made["SubscriptionId"]), (201, &json!("1")), "{made}");
    let notification = notified(&handle).unwrap();
    assert_eq!(
        notification.to.to_string(),
        "127.0.0.1:8091",
        "the notification must go to the address of the request"
    );
    let ours = notification.body["SubscriptionInstances"][0]["E2EventInstanceId"].clone();
    let expected = json!({ "XappEventInstanceId": 7, "E2EventInstanceId": ours });
    assert_eq!(notification.body, json!({ "SubscriptionId": "1", "SubscriptionInstances": [expected] }));
    let listed = lab.get("oran/subscriptions");
    assert_eq!(
        (&listed[0]["Meid"], &listed[0]["SubscriptionInstances"]),
        (&json!("gnb_505_001_00000005"), &json!([ours]))
    );
    // The native resource shows the subscription, but cannot end it.
    assert_eq!(lab.ask(Method::Delete, &format!("subscriptions/{ours}"), "").0, 409);
    // A subscription that the base station refuses.
    assert_eq!(post(&mut lab, "oran/subscriptions/127.0.0.1", &oran(8_091, &[0xff; 5])).0, 201);
    let refused = notified(&handle).unwrap().body;
    assert!(refused["SubscriptionInstances"][0]["ErrorCause"].is_string(), "{refused}");
    // Both requests are kept until the client deletes them.
    assert_eq!(lab.get("oran/subscriptions")[1]["SubscriptionInstances"], json!([]));
    for id in ["1", "2"] {
        lab.begin_and_end(Method::Delete, &format!("oran/subscriptions/{id}"), 204);
    }
    assert_eq!(
        (lab.get("oran/subscriptions"), lab.get("subscriptions")["subscriptions"].clone()),
        (json!([]), json!([]))
    );
}

/// The body of this test is spelled as by `ricxappframe` on PyPI.
#[test]
fn oran_sc_subscription_in_snake_case_is_accepted() {
    let (mut lab, handle) = lab();
    let body = json!({
        "subscription_id": null,
        "client_endpoint": { "host": "xapp", "http_port": 8_091, "rmr_port": 4_560 },
        "meid": NODE, "ran_function_id": slice::DEFAULT_FUNCTION_ID,
        "subscription_details": [{
            "xapp_event_instance_id": 7, "event_triggers": trigger(),
            "action_to_be_setup_list": [{ "action_id": 0, "action_type": "report", "action_definition": [] }],
        }],
    });
    assert_eq!(post(&mut lab, "oran/subscriptions/10.0.0.7", &body).0, 201);
    assert_eq!(notified(&handle).unwrap().to.to_string(), "10.0.0.7:8091");
    for (wrong, status) in [(json!({}), 400), (json!([]), 400), (json!({ "Meid": 1 }), 400)] {
        assert_eq!(post(&mut lab, "oran/subscriptions/10.0.0.7", &wrong).0, status, "{wrong}");
    }
    let mut elsewhere = body;
    elsewhere["meid"] = "gnb_001_001_00000001".into();
    assert_eq!(post(&mut lab, "oran/subscriptions/10.0.0.7", &elsewhere).0, 404);
}

#[test]
fn listener_receives_the_end_of_a_subscription() {
    let (mut lab, handle) = lab();
    let mut all = handle.feed.listen(Filter::default()).unwrap();
    let body = json!({ "node": NODE, "sm": "slice", "period_ms": 10_000 });
    let (_, made) = post(&mut lab, "subscriptions", &body);
    lab.cut(0, 0);
    lab.stations.clear();
    lab.pass(Duration::from_secs(700));
    let last = std::iter::from_fn(|| next(&mut all)).last().unwrap();
    assert_eq!((&last["subscription"], last["ended"].is_string()), (&made["id"], true), "{last}");
    assert_eq!(lab.get("subscriptions"), json!({ "subscriptions": [] }));
}

/// A report on demand comes once, often before its requester has opened the stream.
#[test]
fn report_of_an_event_is_kept_until_first_listener_connects() {
    let (mut lab, handle) = lab();
    let trigger = RrcTrigger::EVENTS.to_octets(Encoding::Per).unwrap();
    let digits: String = trigger.iter().map(|byte| format!("{byte:02x}")).collect();
    let (status, made) =
        post(&mut lab, "subscriptions", &json!({ "node": NODE, "sm": "rrc", "event_trigger": digits }));
    assert_eq!(status, 201, "{made}");
    let station = &mut lab.stations[0];
    station.cell.attach(&mut station.agent, 2, Plmn::new(505, 1, 2), None);
    lab.pass(100 * MS);
    let path = format!("subscriptions/{}", made["id"]);
    let kept = lab.get(&path)["unread"]["kept"].as_u64().unwrap();
    assert!(kept >= 1, "{}", lab.get(&path));
    let id = u32::try_from(made["id"].as_u64().unwrap()).unwrap();
    let other = Filter { subscriptions: [id + 1].into(), ..Filter::default() };
    assert_eq!(next(&mut handle.feed.listen(other).unwrap()), None);
    let mut late = handle.feed.listen(Filter { subscriptions: [id].into(), ..Filter::default() }).unwrap();
    let reports: Vec<Json> = std::iter::from_fn(|| next(&mut late)).collect();
    assert_eq!(reports.len() as u64, kept);
    assert!(reports.iter().any(|it| it["rows"][0]["rnti"] == 2), "{reports:?}");
    assert_eq!(lab.get(&path)["unread"], json!({ "kept": 0, "dropped": 0 }));

    // Unread periodic reports are not kept: the next one follows soon.
    let (_, made) =
        post(&mut lab, "subscriptions", &json!({ "node": NODE, "sm": "slice", "period_ms": 100 }));
    lab.pass(250 * MS);
    let shown = lab.get(&format!("subscriptions/{}", made["id"]));
    assert_eq!((&shown["indications"], &shown["unread"]["kept"]), (&json!(2), &json!(0)));
}

#[test]
fn effect_compares_before_and_after_a_control() {
    let (mut lab, _) = lab();
    let mut body = control(serde_json::from_str(HALVES).unwrap());
    body["effect"] =
        json!({ "sm": "traffic", "columns": ["rlc_sojourn_us"], "periods": 5, "period_ms": 100 });
    let (status, refusal) = post(
        &mut lab,
        "control",
        &json!({ "node": NODE, "sm": "slice", "message": "00",
        "effect": { "sm": "traffic", "columns": ["colour"], "periods": 1 } }),
    );
    assert_eq!(status, 409, "{refusal}");
    let columns = refusal["detail"].as_str().unwrap().to_owned();
    assert!(columns.contains("\"colour\" is not a KPI; allowed are "), "{columns}");
    let column = columns.rsplit(' ').next().unwrap().to_owned();
    body["effect"]["columns"] = json!([column]);
    lab.begin(Method::Post, "control", &body.to_string());
    lab.pass(Duration::from_millis(450));
    assert!(
        lab.stations[0].cell.state().set.slices.is_empty(),
        "the control must not be sent before the first periods are measured"
    );
    lab.pass(Duration::from_millis(300));
    assert_eq!(
        lab.stations[0].cell.state().set.slices.len(),
        2,
        "the control must be sent after the first periods"
    );
    lab.pass(Duration::from_millis(600));
    let (status, reply) = lab.ended();
    assert_eq!(
        (status, &reply["result"], &reply["effect"]["periods"]),
        (200, &json!("acknowledged"), &json!(5)),
        "{reply}"
    );
    let column = &reply["effect"]["columns"][&column];
    assert!(column["before"].is_number() && column["after"].is_number(), "{reply}");
    assert_eq!((&column["unit"], &column["total"]), (&json!("kbit/s"), &json!("sum")), "{reply}");
    assert!(column["ues"].as_object().is_some_and(|ues| !ues.is_empty()), "{reply}");
    assert_eq!(
        lab.get("subscriptions"),
        json!({ "subscriptions": [] }),
        "the measurement must not leave a subscription"
    );
    body["effect"]["periods"] = json!(0);
    assert_eq!(post(&mut lab, "control", &body).0, 409);
    // A silent base station.
    body["effect"]["periods"] = json!(2);
    lab.begin(Method::Post, "control", &body.to_string());
    lab.cut(0, 0);
    lab.stations.clear();
    lab.pass(Duration::from_secs(8));
    let (status, refusal) = lab.ended();
    assert_eq!(status, 504, "{refusal}");
}

fn oran_xapp(lab: &mut Lab, rmr_port: u16) {
    let mut body = oran(8_091, &trigger());
    body["ClientEndpoint"]["RMRPort"] = rmr_port.into();
    let (status, made) = post(lab, "oran/subscriptions/127.0.0.1", &body);
    assert_eq!(status, 201, "{made}");
}

fn sent(handle: &ConsoleHandle, port: u16) -> Option<Message> {
    let to = ([127, 0, 0, 1], port).into();
    match handle.rmr.poll_next(to, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(octets) => Some(Message::decode(&octets).unwrap().unwrap().0),
        Poll::Pending => None,
    }
}

/// As sent by O-RAN SC's E2 termination: the subscription's id is the instance of the request id.
#[test]
fn oran_sc_subscriber_receives_rmr_indications() {
    let (mut lab, handle) = lab();
    oran_xapp(&mut lab, 4_561);
    lab.pass(300 * MS);
    assert_eq!(sent(&handle, 4_561), None, "no message may be queued while no RMR transport is open");
    handle.rmr.open("127.0.0.1:4560".to_owned());
    lab.pass(300 * MS);
    let fresh = handle.rmr.poll_fresh(&mut Context::from_waker(Waker::noop()));
    assert_eq!(fresh, Poll::Ready(([127, 0, 0, 1], 4_561).into()));
    let notification = notified(&handle).unwrap().body;
    let ours = &notification["SubscriptionInstances"][0]["E2EventInstanceId"];
    let message = sent(&handle, 4_561).unwrap();
    assert_eq!((message.kind, json!(message.subscription), message.call), (INDICATION, ours.clone(), 0));
    assert_eq!((&*message.meid, &*message.source), ("gnb_505_001_00000005", "127.0.0.1:4560"));
    let indication = fast::Indication::decode(&message.payload).unwrap();
    assert_eq!((indication.request_id.requestor, json!(indication.request_id.instance)), (123, ours.clone()));
    assert!(SliceModel.check(SliceModel.encoding(), indication.header, indication.message).is_ok());
    // A slow xApp loses the oldest messages; a closed connection loses its queue. Both are counted.
    let queued = std::iter::from_fn(|| sent(&handle, 4_561)).count() as u64;
    assert!(queued >= 1);
    lab.pass(Duration::from_secs(150));
    let dropped = handle.rmr.counts().dropped;
    assert!(dropped > 100, "{dropped}");
    handle.rmr.close(([127, 0, 0, 1], 4_561).into(), 1);
    assert_eq!(handle.rmr.counts().dropped, dropped + 1_024 + 1);
}

#[test]
fn rmr_control_response_has_the_clients_request_id() {
    let (mut lab, _) = lab();
    let form: Json = serde_json::from_str(HALVES).unwrap();
    let (status, _) = post(&mut lab, "control", &control(form));
    assert_eq!(status, 200);
    let delete = |slice: i128| {
        let by_names = Form::Fields(vec![("delete".into(), Form::Integer(slice))]);
        SliceModel.control(SliceModel.encoding(), Form::Null, by_names).unwrap()
    };
    let mut ask = |meid: &str, function_id, slice| {
        let (header, message) = delete(slice);
        let call_process_id = None;
        let request_id = RicRequestId { requestor: 7, instance: 0 };
        let ack_request = Some(RicControlAckRequest::Ack);
        let request =
            RicControlRequest { request_id, function_id, call_process_id, header, message, ack_request };
        let pdu = encode(&E2ap::RicControlRequest(request), Version::V2_03).unwrap();
        lab.ask_octets(0, 0, Method::Post, &format!("rmr/{meid}"), pdu.into())
    };
    let answer = |body| decode(&body, Version::V2_03).unwrap().message;
    let slices = slice::DEFAULT_FUNCTION_ID;
    let (status, body) = ask("gnb_505_001_00000005", slices, 2);
    let E2ap::RicControlAcknowledge(done) = answer(body) else {
        panic!("expected a control acknowledgement")
    };
    assert_eq!((status, done.request_id), (200, RicRequestId { requestor: 7, instance: 0 }));
    for (function, slice, outcome) in [(slices, 9, true), (4_000, 1, false)] {
        let (status, body) = ask("gnb_505_001_00000005", function, slice);
        let E2ap::RicControlFailure(failure) = answer(body) else { panic!("expected a control failure") };
        assert_eq!((status, failure.request_id.requestor, failure.outcome.is_some()), (409, 7, outcome));
    }
    assert_eq!(ask("gnb_505_001_00000009", slices, 1).0, 404);
    assert_eq!(lab.ask_octets(0, 0, Method::Post, "rmr/gnb_505_001_00000005", vec![0; 9].into()).0, 400);
}
