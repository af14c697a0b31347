//! Golden tests of A1-P: request, status and exact response.
use super::*;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use ranlab_http::guard::Access;
use ranlab_http::server::{Server, Table};
use ranlab_machine::routes::Method;
use std::net::Ipv4Addr;

const QOS: &str = r##"{"policySchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
    "properties": {"scope": {"type": "object", "properties": {"ueId": {"type": "string"}, "qosId": {"type": "integer"}},
    "additionalProperties": false, "required": ["ueId"]}, "qosObjectives": {"type": "object",
    "properties": {"gfbr": {"type": "number", "minimum": 0}}}}, "additionalProperties": false,
    "required": ["scope", "qosObjectives"]}, "statusSchema": {"type": "object", "required": ["enforceStatus"]}}"##;
const POLICY: &str = r#"{"qosObjectives":{"gfbr":30},"scope":{"qosId":1,"ueId":"17"}}"#;

fn a1() -> A1 {
    let types = [("qos_1.0.0".to_owned(), PolicyType::read(QOS).unwrap())];
    A1::new(types.into(), SharedData::default())
}

fn at_once<T>(answer: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(answer)
}

fn ask(a1: &A1, method: Method, path: &str, body: &str) -> (u16, String) {
    let server = Server::<HostedXapp>::new(Access::default()).with(Table::routed(Arc::new(a1.clone())));
    let request = Request::builder().method(method.name()).uri(format!("/A1-P/v2/{path}"));
    let request = request.header("host", "localhost").header("content-type", "application/json");
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let answer = server.answer(Ipv4Addr::LOCALHOST.into(), request);
    let (head, body) = at_once(answer).into_parts();
    let body = at_once(to_bytes(body, 1 << 20)).unwrap();
    (head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap())
}

/// Compares two texts as JSON, regardless of the order of names.
fn same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Json>(text).unwrap();
    read(one) == read(other)
}

#[test]
fn a1_policy_can_be_created_read_updated_and_deleted() {
    let a1 = a1();
    let at = "policytypes/qos_1.0.0/policies/p1";
    let status_at = format!("{at}/status");
    let golden: [(Method, &str, &str, u16, &str); 14] = [
        (Method::Get, "policytypes", "", 200, r#"["qos_1.0.0"]"#),
        (Method::Get, "policytypes/qos_1.0.0/policies", "", 200, "[]"),
        (Method::Put, at, POLICY, 201, POLICY),
        (Method::Put, at, POLICY, 200, POLICY),
        (Method::Get, at, "", 200, POLICY),
        (Method::Get, "policytypes/qos_1.0.0/policies", "", 200, r#"["p1"]"#),
        (
            Method::Get,
            &status_at,
            "",
            200,
            r#"{"enforceReason":"OTHER_REASON","enforceStatus":"NOT_ENFORCED"}"#,
        ),
        (Method::Put, at, r#"{"scope":{}}"#, 400, ""),
        (Method::Put, at, r#"{"scope":{"ueId":"1"},"qosObjectives":{"gfbr":-1}}"#, 400, ""),
        (Method::Put, at, "[]", 400, ""),
        (Method::Put, at, "no", 400, ""),
        (Method::Get, at, "", 200, POLICY),
        (Method::Delete, at, "", 204, ""),
        (Method::Delete, at, "", 404, ""),
    ];
    for (method, path, body, status, expected) in golden {
        let answer = ask(&a1, method, path, body);
        assert_eq!(answer.0, status, "{method:?} {path} {body}: {}", answer.1);
        assert!(expected.is_empty() || same(&answer.1, expected), "{method:?} {path}: {}", answer.1);
    }
    let kept: Json = serde_json::from_str(&ask(&a1, Method::Get, "policytypes/qos_1.0.0", "").1).unwrap();
    assert_eq!(kept, serde_json::from_str::<Json>(QOS).unwrap());
}

#[test]
fn refused_a1_requests_name_the_cause() {
    let a1 = a1();
    let detail = |path: &str, body: &str| ask(&a1, Method::Put, path, body).1;
    assert!(
        detail("policytypes/qos_1.0.0/policies/p", r#"{"scope":{"ueId":1},"qosObjectives":{}}"#)
            .contains("/scope/ueId: ")
    );
    assert!(detail("policytypes/other/policies/p", POLICY).contains("installed: qos_1.0.0"));
    assert!(
        detail("policytypes/qos_1.0.0/policies/a:b", POLICY).contains("is not a valid policy identifier")
    );
    let elsewhere = "policytypes/qos_1.0.0/policies/p?notificationDestination=http://10.0.0.1/x";
    assert!(detail(elsewhere, POLICY).contains("notifications are not supported"));
    assert_eq!(
        ask(&a1, Method::Get, "policytypes/qos_1.0.0/policies", "").1,
        "[]",
        "no policy may exist before the first PUT"
    );
    let unknown = PolicyType::read(r#"{"policySchema": {"pattern": "x"}}"#).unwrap_err();
    assert!(
        unknown.starts_with("invalid policySchema: #/pattern: this keyword is not supported"),
        "{unknown}"
    );
}

#[test]
fn xapp_reads_policies_and_writes_status() {
    let a1 = a1();
    let at = "policytypes/qos_1.0.0/policies/p1";
    assert_eq!(ask(&a1, Method::Put, at, POLICY).0, 201);
    let key = "qos_1.0.0:p1";
    let found = at_once(a1.commons.store().get("a1", key)).unwrap().unwrap();
    assert_eq!(found.value, POLICY.as_bytes());
    for (written, status) in [
        (r#"{"enforceStatus":"ENFORCED"}"#, r#"{"enforceStatus":"ENFORCED"}"#),
        (
            r#"{"enforceStatus":"PERHAPS"}"#,
            r#"{"enforceReason":"OTHER_REASON","enforceStatus":"NOT_ENFORCED"}"#,
        ),
        (r#"7"#, r#"{"enforceReason":"OTHER_REASON","enforceStatus":"NOT_ENFORCED"}"#),
    ] {
        at_once(a1.commons.store().put("a1-status", key, written.into(), None)).unwrap();
        let answer = ask(&a1, Method::Get, &format!("{at}/status"), "").1;
        assert!(same(&answer, status), "{written}: {answer}");
    }
    assert_eq!(ask(&a1, Method::Delete, at, "").0, 204);
    assert!(at_once(a1.commons.store().keys("a1-status")).unwrap().is_empty());
    assert_eq!(a1.commons.counts().published, 2);
}
