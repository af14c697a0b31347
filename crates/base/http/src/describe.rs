//! OpenAPI 3.1 descriptions: merging, and lookup of allowed methods.
use serde_json::{Map, Value as Json};

/// HTTP methods of a path item.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// Merges descriptions. The first provides the general information; if several describe the same path or
/// schema, the first one is used.
pub fn together(descriptions: &[&str]) -> Json {
    let mut all = descriptions.iter().map(|text| serde_json::from_str(text).unwrap_or_default());
    let mut whole: Json = all.next().unwrap_or_default();
    for mut other in all {
        merge(&mut whole["paths"], other["paths"].take());
        let Json::Object(kinds) = other["components"].take() else { continue };
        for (kind, parts) in kinds {
            merge(&mut whole["components"][kind], parts);
        }
    }
    whole
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

/// Methods per path pattern.
pub struct Routes(Vec<(String, String)>);

impl Routes {
    /// Reads the paths of a description.
    pub fn described(description: &Json) -> Self {
        let paths = description["paths"].as_object().into_iter().flatten();
        let methods = |item: &Json| {
            let all = METHODS.into_iter().filter(|method| !item[method].is_null());
            all.map(str::to_uppercase).collect::<Vec<_>>().join(", ")
        };
        Self(paths.map(|(path, item)| (path.clone(), methods(item))).collect())
    }

    /// Returns the methods of a path; `None` if there is no such path.
    pub fn methods(&self, path: &str) -> Option<&str> {
        let fits = |pattern: &str| {
            let pattern = pattern.split('/');
            let path = path.split('/');
            pattern.clone().count() == path.clone().count()
                && pattern.zip(path).all(|(wanted, is)| wanted.starts_with('{') || wanted == is)
        };
        // A literal segment takes precedence over a placeholder.
        let named = |path: &str| path.matches('{').count();
        let fitting = self.0.iter().filter(|(pattern, _)| fits(pattern));
        fitting.min_by_key(|(pattern, _)| named(pattern)).map(|(_, methods)| methods.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_description_takes_precedence() {
        let first = r#"{"info": 1, "paths": {"/a": {"get": {"summary": "first"}}}}"#;
        let second = r#"{"info": 2, "paths": {"/a": {"put": {}}, "/b/{id}": {"post": {}, "delete": {}}, "/b/c": {"get": {}}},
            "components": {"schemas": {"X": {}}}}"#;
        let whole = together(&[first, second]);
        assert_eq!((&whole["info"], whole["components"]["schemas"]["X"].is_object()), (&Json::from(1), true));
        let routes = Routes::described(&whole);
        assert_eq!(routes.methods("/a"), Some("GET"));
        assert_eq!(routes.methods("/b/1"), Some("POST, DELETE"));
        assert_eq!(routes.methods("/b/c"), Some("GET"));
        assert_eq!(routes.methods("/b"), None);
    }
}
