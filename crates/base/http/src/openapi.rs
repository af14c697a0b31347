//! OpenAPI 3.1 descriptions of route tables.
use ranlab_machine::routes::{Document, Form, Route, Who};
use serde_json::{Map, Value as Json, json};

/// Returns one description of several interfaces. The general information is that of the first interface. If several
/// interfaces describe the same path or component, the first description is used.
pub fn openapi(documents: &[Document]) -> Json {
    let mut whole = json!({ "openapi": "3.1.0" });
    for Document { routes, details } in documents {
        let mut details: Json = serde_json::from_str(details).unwrap_or_default();
        for part in ["info", "security"] {
            if whole.get(part).is_none() && !details[part].is_null() {
                whole[part] = details[part].take();
            }
        }
        merge(&mut whole["paths"], paths(routes, &details));
        let Json::Object(kinds) = details["components"].take() else { continue };
        for (kind, parts) in kinds {
            merge(&mut whole["components"][kind], parts);
        }
    }
    whole
}

/// Returns a description as text with a line for each operation and each component.
pub fn lines(description: &Json) -> String {
    let mut text = String::new();
    write_lines(&mut text, description, 0);
    text + "\n"
}

fn write_lines(text: &mut String, value: &Json, depth: usize) {
    match value.as_object().filter(|members| depth < 3 && !members.is_empty()) {
        Some(members) => {
            for (place, (name, member)) in members.iter().enumerate() {
                let begin = if place == 0 { "{" } else { "," };
                let name = Json::from(name.as_str());
                text.push_str(&format!("{begin}\n{:1$}{name}: ", "", 2 * depth + 2));
                write_lines(text, member, depth + 1);
            }
            text.push_str(&format!("\n{:1$}}}", "", 2 * depth));
        }
        None => text.push_str(&value.to_string()),
    }
}

/// Returns the paths of a table.
fn paths(routes: &[Route], details: &Json) -> Json {
    let mut paths = Map::new();
    for route in routes.iter().filter(|route| !route.path.is_empty()) {
        let path = route.path.replace("{*", "{");
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[route.method.name().to_lowercase()] = operation(route, details);
    }
    paths.into()
}

fn operation(route: &Route, details: &Json) -> Json {
    let id = operation_id(route.handler);
    let mut operation = json!({ "operationId": id, "summary": route.summary, "x-access": route.who.name() });
    if route.who == Who::Anyone {
        operation["security"] = json!([{}]);
    }
    let parameters: Vec<Json> = parameters(route, details).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((name, form)) = route.body {
        let mut content = match form {
            Form::Json => json!({ "schema": reference("schemas", name) }),
            _ => json!({}),
        };
        if let Some(example) = details["components"]["schemas"][name]["examples"].get(0) {
            content["example"] = example.clone();
        }
        operation["requestBody"] = json!({ "required": true, "content": { media_types(form)[0]: content } });
    }
    let mut responses = json!({ route.status.to_string(): success(route) });
    for status in faults(route) {
        responses[status.to_string()] = reference("responses", &status.to_string());
    }
    operation["responses"] = responses;
    patch(&mut operation, &details["operations"][&id]);
    operation
}

/// Returns the id of an operation, which is the handler's name in camel case.
fn operation_id(handler: &str) -> String {
    let mut words = handler.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |id, word| {
        let (initial, rest) = word.split_at_checked(1).unwrap_or_default();
        id + &initial.to_uppercase() + rest
    })
}

fn reference(kind: &str, name: &str) -> Json {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

fn parameters(route: &Route, details: &Json) -> impl Iterator<Item = Json> {
    let in_path = route.parameters().map(|name| (name, "path"));
    let all = in_path.chain(route.query.iter().map(|name| (*name, "query")));
    all.map(|(name, place)| {
        details["parameters"].get(name).filter(|it| it["in"] == place).cloned().unwrap_or_else(|| {
            json!({ "name": name, "in": place, "required": place == "path", "schema": { "type": "string" } })
        })
    })
}

const fn media_types(form: Form) -> &'static [&'static str] {
    match form {
        Form::Json => &["application/json"],
        Form::Text => &["text/plain"],
        Form::Events => &["text/event-stream"],
        Form::Lines => &["application/x-ndjson", "text/event-stream"],
        Form::Page => &["text/html"],
        Form::File => &["text/javascript", "text/css", "image/svg+xml"],
        Form::Raw => &["application/octet-stream"],
    }
}

fn success(route: &Route) -> Json {
    let description = match route.form {
        Form::Page => "the page",
        Form::File => "the file",
        _ => "done",
    };
    let content = match (route.form, route.answer) {
        (Form::Json, None) if route.status != 200 => return json!({ "description": description }),
        (Form::Json, None) => json!({ "schema": { "type": "object" } }),
        (Form::Json, Some(name)) => json!({ "schema": reference("schemas", name) }),
        (Form::Events | Form::Lines | Form::Raw, _) => json!({}),
        (Form::Text | Form::Page | Form::File, _) => json!({ "schema": { "type": "string" } }),
    };
    let all: Map<_, _> =
        media_types(route.form).iter().map(|kind| ((*kind).to_owned(), content.clone())).collect();
    json!({ "description": description, "content": all })
}

/// Returns all failure statuses of a route.
fn faults(route: &Route) -> Vec<u16> {
    let mut all = [route.common_faults, route.faults].concat();
    if route.parameters().next().is_some() {
        all.push(404);
    }
    match route.body {
        Some((_, Form::Json)) => all.extend([413, 415]),
        Some(_) => all.push(413),
        None => {}
    }
    if matches!(route.form, Form::Page | Form::File) {
        // Files of the program are always available, so status 503 does not occur.
        all.retain(|status| *status != 503);
    }
    if route.who == Who::Anyone {
        all.retain(|status| *status != 401 || route.faults.contains(status));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Merges the second object into the first (RFC 7396, without removal).
fn patch(into: &mut Json, from: &Json) {
    let Some(from) = from.as_object() else { return };
    for (name, value) in from {
        if value.is_object() && into[name].is_object() {
            patch(&mut into[name], value);
        } else {
            into[name] = value.clone();
        }
    }
}

fn merge(into: &mut Json, from: Json) {
    if into.is_null() {
        *into = Json::Object(Map::new());
    }
    let (Json::Object(into), Json::Object(from)) = (into, from) else { return };
    for (name, value) in from {
        into.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_machine::routes::Routed;

    struct Nodes;

    ranlab_machine::routes! {
        impl Nodes: fn(), at "/v1/", faults [401, 405] {
            Get "nodes" all_nodes ?(after) -> 200: Nodes, Operator, "all nodes";
            Put "nodes/{node}" put_node(Node) -> 204, Operator or [409], "replace a node";
            Get "rest/{*tail}" rest -> 200 as Events, Anyone, "events";
            Post "order" order(Order as Raw) -> 200 as Text, Xapp, "order";
            Post "internal" @ "" internal -> 200, Operator, "not in HTTP";
        }
    }

    impl Nodes {
        const fn all_nodes() {}
        const fn put_node() {}
        const fn rest() {}
        const fn order() {}
        const fn internal() {}
    }

    const DETAILS: &str = r#"{"info": {"title": "nodes"}, "parameters": {"after": {"name": "after", "in": "query", "schema": {"type": "integer"}}},
        "operations": {"rest": {"responses": {"200": {"description": "endless"}}}},
        "components": {"schemas": {"Node": {"type": "object", "examples": [{"id": 1}]}}}}"#;

    #[test]
    fn openapi_description_follows_route_table() {
        let first = Document { routes: Nodes::ROUTES, details: DETAILS };
        let second = Document {
            routes: Nodes::ROUTES,
            details: r#"{"info": {"title": "later"}, "security": [{}], "components": {"schemas": {"Node": {}, "Other": {}}}}"#,
        };
        let whole = openapi(&[first, second]);
        assert_eq!((&whole["info"]["title"], &whole["security"]), (&json!("nodes"), &json!([{}])));
        assert_eq!(whole["components"]["schemas"]["Node"]["type"], "object");
        assert_eq!(whole["components"]["schemas"]["Other"], json!({}));
        let paths = whole["paths"].as_object().unwrap();
        assert_eq!(
            paths.keys().collect::<Vec<_>>(),
            ["/v1/nodes", "/v1/nodes/{node}", "/v1/rest/{tail}", "/v1/order"]
        );
        let all = &paths["/v1/nodes"]["get"];
        assert_eq!((&all["operationId"], &all["x-access"]), (&json!("allNodes"), &json!("operator")));
        assert_eq!(all["parameters"][0]["schema"]["type"], "integer");
        let put = &paths["/v1/nodes/{node}"]["put"];
        assert_eq!(put["requestBody"]["content"]["application/json"]["example"], json!({ "id": 1 }));
        let statuses: Vec<_> = put["responses"].as_object().unwrap().keys().collect();
        assert_eq!(statuses, ["204", "401", "404", "405", "409", "413", "415"]);
        let rest = &paths["/v1/rest/{tail}"]["get"];
        assert_eq!((&rest["security"], &rest["responses"]["401"]), (&json!([{}]), &Json::Null));
        assert_eq!(
            rest["responses"]["200"],
            json!({ "description": "endless", "content": { "text/event-stream": {} } })
        );
        let text = lines(&whole);
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), whole);
        assert!(text.lines().any(|line| line.starts_with("      \"Node\": {")), "{text}");
        assert_eq!(
            paths["/v1/order"]["post"]["requestBody"]["content"],
            json!({ "application/octet-stream": {} })
        );
    }
}
