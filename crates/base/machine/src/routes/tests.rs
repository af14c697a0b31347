use super::*;

struct Nodes;

crate::routes! {
    impl Nodes: fn(&Parameters) -> &'static str, at "/v1/", faults [405, 421] {
        Get "nodes" all -> 200: Nodes, Anyone, "all nodes";
        Get "nodes/{node}" node ?(after, format) -> 200: Node, Operator, "one node";
        Delete "nodes/{node}" remove -> 204, Operator, "remove a node";
        Get "nodes/first" first -> 200: Node, Xapp, "the first node";
        Post "control" control(Order as Raw) -> 202 as Text, Xapp or [400, 409], "send a control";
        Get "oran/{id}" @ "/ric/v1/{id}" oran -> 200, Operator, "in another form";
        Put "rest/{name}/{*tail}" rest(Thing) -> 200, Operator, "all below";
    }
}

impl Nodes {
    fn all(_: &Parameters) -> &'static str {
        "all"
    }
    fn node(_: &Parameters) -> &'static str {
        "node"
    }
    fn remove(_: &Parameters) -> &'static str {
        "remove"
    }
    fn first(_: &Parameters) -> &'static str {
        "first"
    }
    fn control(_: &Parameters) -> &'static str {
        "control"
    }
    fn oran(_: &Parameters) -> &'static str {
        "oran"
    }
    fn rest(_: &Parameters) -> &'static str {
        "rest"
    }
}

fn handler(method: Method, path: &str) -> Result<&'static str, RouteError> {
    Nodes::find(method, path).map(|(route, handler, parameters)| {
        assert_eq!(route.handler, handler(&parameters));
        route.handler
    })
}

#[test]
fn request_finds_its_handler() {
    for (method, path, expected) in [
        (Method::Get, "nodes", "all"),
        (Method::Get, "/nodes/", "all"),
        (Method::Get, "nodes/a", "node"),
        (Method::Get, "nodes/first", "first"),
        (Method::Delete, "nodes/a", "remove"),
        (Method::Post, "control", "control"),
        (Method::Get, "oran/7", "oran"),
        (Method::Put, "rest/a/b/c", "rest"),
    ] {
        assert_eq!(handler(method, path), Ok(expected), "{method:?} {path}");
    }
    let methods = |path| match handler(Method::Put, path) {
        Err(RouteError::Method { allow, who }) => (allow.to_string(), who),
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(methods("nodes"), ("GET".to_owned(), Who::Anyone));
    assert_eq!(methods("nodes/a"), ("GET, DELETE".to_owned(), Who::Operator));
    assert_eq!(methods("nodes/first"), ("GET".to_owned(), Who::Xapp));
    for path in ["", "node", "nodes/a/b", "rest/a", "control/x"] {
        assert!(matches!(handler(Method::Get, path), Err(RouteError::Unknown { .. })), "{path}");
    }
    assert_eq!(handler(Method::Get, "nodes/%ff"), Err(RouteError::Encoding("nodes/%ff".to_owned())));
}

#[test]
fn parameters_are_decoded_by_segment() {
    let parameters = |method, path: &str| Nodes::find(method, path).unwrap().2;
    let node = parameters(Method::Get, "nodes/gnb%20505.01%205%2Fdu%201");
    assert_eq!((node.text("node"), node.text("other")), ("gnb 505.01 5/du 1", ""));
    let rest = parameters(Method::Put, "rest/a/b%2Fc/d");
    assert_eq!((rest.text("name"), rest.text("tail")), ("a", "b/c/d"));
    let number =
        |text: &str| parameters(Method::Get, &format!("oran/{text}")).number::<u16>("id", "slice", 65_535);
    assert_eq!(number("17"), Ok(17));
    for wrong in ["-1", "+1", "65536", "1.0", "NaN", "%20"] {
        let fault = number(wrong).unwrap_err();
        assert!(matches!(&fault, RouteError::Number { what: "slice", most: 65_535, .. }), "{wrong}: {fault}");
        assert_eq!(fault.status(), 404);
    }
    for wrong in ["%", "%2", "%zz", "%ff"] {
        assert_eq!(decode(wrong), None, "{wrong}");
    }
    let text = "gnb 505.01 5/du_1 %é";
    assert_eq!(decode(&encode(text)).as_deref(), Some(text));
    assert_eq!(encode("gnb 505.01 5/du 1"), "gnb%20505.01%205%2Fdu%201");
    assert_eq!(Nodes::ROUTES[1].resource_with(|name| format!("{name}/1")), "nodes/node%2F1");
}

#[test]
fn table_has_all_parts_of_a_route() {
    let [_, node, _, _, control, oran, rest] = Nodes::ROUTES else { panic!() };
    assert_eq!(
        (node.path, node.query, node.answer),
        ("/v1/nodes/{node}", &["after", "format"][..], Some("Node"))
    );
    assert_eq!(
        (control.body, control.form, control.faults),
        (Some(("Order", Form::Raw)), Form::Text, &[400, 409][..])
    );
    assert_eq!((oran.path, oran.answer, oran.common_faults), ("/ric/v1/{id}", None, &[405, 421][..]));
    assert_eq!(rest.parameters().collect::<Vec<_>>(), ["name", "tail"]);
    assert_eq!(Method::from_name("HEAD"), Some(Method::Get));
    assert_eq!(Method::from_name("PATCH"), None);
}
