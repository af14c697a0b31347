//! The scenario language as a JSON schema, for editors.

use serde_json::{Map, Value, json};

use crate::description::RigDescription;
use crate::renamed::Renames;
use crate::schema::{Key, Presence};

use super::core;

/// Returns a JSON schema (2020-12) of the scenarios of these rigs. The rig determines the keys. A file that extends
/// another one may omit the rig; then only the common keys are checked.
pub fn json_schema(rigs: &[RigDescription]) -> Value {
    let of_rig = |rig: &RigDescription| {
        json!({
            "if": {"properties": {"rig": {"enum": names(rig)}}, "required": ["rig"]},
            "then": {"$ref": format!("#/$defs/{}", rig.name)},
        })
    };
    let all: Vec<&String> = rigs.iter().flat_map(names).collect();
    let mut definitions = Map::new();
    for rig in rigs {
        let (settings, axes) = tables(rig);
        definitions.insert(rig.name.clone(), rig_schema(rig));
        definitions.insert(format!("{}.settings", rig.name), settings);
        definitions.insert(format!("{}.axes", rig.name), axes);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ranlab scenario",
        "description": "A campaign: what is measured, over which settings, how often, and what is expected.",
        "type": "object",
        "properties": {"rig": {"enum": all}, "title": {"type": "string"}, "extends": {"type": "string"}},
        "anyOf": [{"required": ["rig"]}, {"required": ["extends"]}],
        "allOf": rigs.iter().map(of_rig).collect::<Vec<_>>(),
        "$defs": definitions,
        // Earlier names of settings and metrics, by rig.
        "x-renamed": rigs.iter().map(renamed).collect::<Map<_, _>>(),
    })
}

/// Returns the earlier names of a rig's settings and metrics, with their current names.
fn renamed(rig: &RigDescription) -> (String, Value) {
    let renames = Renames::from_rig(rig);
    let names: Map<String, Value> =
        renames.iter().map(|(earlier, name)| (earlier.to_owned(), json!(name))).collect();
    (rig.name.clone(), Value::Object(names))
}

/// Returns the names of the rig that scenarios may use.
fn names(rig: &RigDescription) -> Vec<&String> {
    std::iter::once(&rig.name).chain(&rig.aliases).collect()
}

/// Returns two schemas of the rig's settings by their paths: one for single values, and one for lists of values.
fn tables(rig: &RigDescription) -> (Value, Value) {
    let mut settings = Map::new();
    let mut axes = Map::new();
    for key in &rig.keys {
        let value = key.kind.json_schema();
        let list = json!({"type": "array", "minItems": 1, "items": value});
        if let Some(earlier) = &key.formerly {
            axes.insert(earlier.clone(), deprecated(&list, key));
            settings.insert(earlier.clone(), deprecated(&value, key));
        }
        axes.insert(key.path.clone(), list);
        settings.insert(key.path.clone(), value);
    }
    let table =
        |properties| json!({"type": "object", "properties": properties, "additionalProperties": false});
    (table(settings), table(axes))
}

/// Returns the schema of a key's earlier name.
fn deprecated(schema: &Value, key: &Key) -> Value {
    let mut schema = schema.clone();
    schema["deprecated"] = json!(true);
    schema["description"] = json!(format!("earlier name of {}", key.path));
    schema
}

fn rig_schema(rig: &RigDescription) -> Value {
    let mut root = object();
    for key in core::top().iter().chain(&core::measure()).chain(&rig.keys) {
        insert(&mut root, &key.path.split('.').collect::<Vec<_>>(), key, &key.kind.json_schema());
        if let Some(earlier) = &key.formerly {
            let schema = deprecated(&key.kind.json_schema(), key);
            insert(&mut root, &earlier.split('.').collect::<Vec<_>>(), key, &schema);
        }
    }
    root["title"] = json!(rig.name);
    root["description"] = json!(rig.comment);
    let properties = &mut root["properties"];
    properties["rig"] = json!({"enum": names(rig)});
    let settings = json!({"$ref": format!("#/$defs/{}.settings", rig.name)});
    let axes = json!({"$ref": format!("#/$defs/{}.axes", rig.name)});
    properties["sweep"] = table(&core::sweep(), &[("axes", axes.clone())]);
    properties["search"] = table(&core::search(), &[("knobs", axes)]);
    properties["plot"] =
        json!({"type": "array", "items": table(&core::plot(), &[("filter", settings.clone())])});
    let order = json!({"type": "array", "minItems": 2});
    let extra = [("where", settings.clone()), ("against", settings), ("order", order)];
    properties["expect"] = json!({"type": "array", "items": table(&core::expect(), &extra)});
    root
}

fn object() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// Returns the schema of one table whose keys have the form `section.leaf`.
fn table(keys: &[Key], extra: &[(&str, Value)]) -> Value {
    let mut root = object();
    for key in keys {
        insert(&mut root, &[key.leaf()], key, &key.kind.json_schema());
    }
    for (name, schema) in extra {
        root["properties"][*name] = schema.clone();
    }
    root
}

fn insert(node: &mut Value, path: &[&str], key: &Key, schema: &Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        let mut schema = schema.clone();
        let unit = if key.unit.is_empty() { String::new() } else { format!(" [{}]", key.unit) };
        if schema["description"].is_null() {
            schema["description"] = json!(format!("{}{unit}", key.comment));
        }
        match &key.presence {
            Presence::Default(value) => schema["default"] = value.to_json(),
            // A file that extends another one need not repeat its keys, so no other key is `required`.
            Presence::Required | Presence::Optional => {}
        }
        node["properties"][*first] = schema;
        return;
    }
    let child = &mut node["properties"][*first];
    if !child.is_object() {
        *child = object();
    }
    insert(child, rest, key, schema);
}
