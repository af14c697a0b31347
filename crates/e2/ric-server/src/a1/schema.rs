//! JSON Schema for policy types: a subset of draft 2020-12.
//!
//! An unsupported keyword would remain unchecked, so a policy type that contains one is rejected.
use serde_json::{Map, Value as Json};

/// Maximum nesting depth of a schema and of the values that it describes.
const DEPTH_MAX: usize = 32;
/// Maximum number of steps of one check. Nested alternatives multiply the number of steps.
const STEPS_MAX: usize = 20_000;
/// Keywords without constraints.
const NOTES: [&str; 9] =
    ["$schema", "$id", "$comment", "title", "description", "default", "examples", "definitions", "$defs"];
/// Keywords that are checked.
const KNOWN: [&str; 25] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "$ref",
    "format",
];

/// Validated schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Json);

/// State of one check: remaining steps, and the root schema for references.
struct Check<'a> {
    root: &'a Json,
    steps: usize,
}

impl Schema {
    /// Validates a schema.
    ///
    /// # Errors
    /// Returns a text with the position of an unknown keyword or invalid keyword value, and with the allowed keywords
    /// or values.
    pub fn new(schema: Json) -> Result<Self, String> {
        known(&schema, &schema, "#", 0)?;
        Ok(Self(schema))
    }

    /// Returns the schema as JSON.
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// Validates a value against the schema.
    ///
    /// # Errors
    /// Returns a text with the position and the reason of the first mismatch.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        Check { root: &self.0, steps: STEPS_MAX }.value(&self.0, value, "", 0)
    }
}

/// Checks that each keyword of a schema and its subschemas is supported.
fn known(root: &Json, schema: &Json, at: &str, depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("{at}: the schema is nested deeper than {DEPTH_MAX}"));
    }
    let Json::Object(members) = schema else {
        return if schema.is_boolean() {
            Ok(())
        } else {
            Err(format!("{at}: a schema must be an object or a boolean"))
        };
    };
    for (name, value) in members {
        let here = format!("{at}/{name}");
        let within = |value: &Json, at: &str| known(root, value, at, depth + 1);
        match name.as_str() {
            "properties" | "definitions" | "$defs" => {
                let parts = value.as_object().ok_or_else(|| format!("{here}: expected an object"))?;
                parts.iter().try_for_each(|(part, schema)| within(schema, &format!("{here}/{part}")))?;
            }
            "items" | "additionalProperties" | "not" => within(value, &here)?,
            "allOf" | "anyOf" | "oneOf" => {
                let parts = value.as_array().filter(|it| !it.is_empty());
                let parts = parts.ok_or_else(|| format!("{here}: expected a list of schemas"))?;
                parts.iter().try_for_each(|schema| within(schema, &here))?;
            }
            "$ref" => {
                let target = value.as_str().and_then(|text| referred(root, text));
                target.ok_or_else(|| {
                    format!("{here}: {value} does not refer to a schema in this file (#/definitions/NAME)")
                })?;
            }
            name if NOTES.contains(&name) => {}
            name if KNOWN.contains(&name) => fits(name, value).map_err(|why| format!("{here}: {why}"))?,
            _ => {
                return Err(format!(
                    "{here}: this keyword is not supported; supported: {}",
                    KNOWN.join(", ")
                ));
            }
        }
    }
    Ok(())
}

/// Checks that a keyword may have this value.
fn fits(name: &str, value: &Json) -> Result<(), &'static str> {
    let is_type = |it: &Json| {
        let types = ["null", "boolean", "object", "array", "number", "integer", "string"];
        it.as_str().is_some_and(|it| types.contains(&it))
    };
    let (fits, expected) = match name {
        "type" => (
            is_type(value) || value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_type)),
            "expected a type or a list of types",
        ),
        "enum" => (value.is_array(), "expected a list"),
        "required" => {
            (value.as_array().is_some_and(|all| all.iter().all(Json::is_string)), "expected a list of names")
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "expected a number")
        }
        "multipleOf" => (value.as_f64().is_some_and(|it| it > 0.0), "expected a number above 0"),
        "uniqueItems" => (value.is_boolean(), "expected true or false"),
        "const" => (true, ""),
        "format" => (value.is_string(), "expected a text"),
        _ => (value.is_u64(), "expected a whole number"),
    };
    if fits { Ok(()) } else { Err(expected) }
}

fn referred<'a>(root: &'a Json, text: &str) -> Option<&'a Json> {
    root.pointer(text.strip_prefix('#')?).filter(|it| it.is_object() || it.is_boolean())
}

impl Check<'_> {
    fn value(&mut self, schema: &Json, value: &Json, at: &str, depth: usize) -> Result<(), String> {
        self.steps = self
            .steps
            .checked_sub(1)
            .ok_or_else(|| format!("{at}: the check needs more than {STEPS_MAX} steps"))?;
        if depth > DEPTH_MAX {
            return Err(format!("{at}: the value is nested deeper than {DEPTH_MAX}"));
        }
        let members = match schema {
            Json::Object(members) => members,
            Json::Bool(true) => return Ok(()),
            _ => return Err(format!("{at}: the schema allows no value here")),
        };
        for (name, constraint) in members {
            self.keyword(name.as_str(), constraint, members, value, at, depth)?;
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        name: &str,
        constraint: &Json,
        members: &Map<String, Json>,
        value: &Json,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let refuse = |why: &str| Err(format!("{}: {why}", if at.is_empty() { "/" } else { at }));
        match (name, value) {
            ("type", _) if !is_of(constraint, value) => refuse(&format!("expected {constraint}")),
            ("enum", _) if !constraint.as_array().is_some_and(|all| all.iter().any(|it| same(it, value))) => {
                refuse(&format!("expected one of {constraint}"))
            }
            ("const", _) if !same(constraint, value) => refuse(&format!("expected {constraint}")),
            ("$ref", _) => {
                let root = self.root;
                match constraint.as_str().and_then(|text| referred(root, text)) {
                    Some(schema) => self.value(schema, value, at, depth + 1),
                    None => refuse("a reference does not refer to a schema in this file"),
                }
            }
            ("allOf" | "anyOf" | "oneOf", _) => self.several(name, constraint, value, at, depth),
            ("not", _) if self.value(constraint, value, at, depth + 1).is_ok() => {
                refuse("the value matches the schema in `not`, which excludes it")
            }
            ("items", Json::Array(all)) => {
                let mut each = all.iter().enumerate();
                each.try_for_each(|(i, it)| self.value(constraint, it, &format!("{at}/{i}"), depth + 1))
            }
            (_, Json::Object(of)) => self.object(name, constraint, members, of, at, depth),
            (_, Json::Array(all)) => {
                let twice =
                    || all.iter().enumerate().any(|(i, it)| all[..i].iter().any(|other| same(it, other)));
                match name {
                    "uniqueItems" if constraint == &Json::Bool(true) && twice() => {
                        refuse("the list contains an item twice")
                    }
                    _ => counted(name, "Items", constraint, all.len()).map_or(Ok(()), |why| refuse(&why)),
                }
            }
            (_, Json::String(text)) => {
                counted(name, "Length", constraint, text.chars().count()).map_or(Ok(()), |why| refuse(&why))
            }
            (_, Json::Number(number)) => {
                let is = number.as_f64().unwrap_or(f64::NAN);
                let limit = constraint.as_f64().unwrap_or(f64::NAN);
                let wrong = match name {
                    "minimum" => is < limit,
                    "maximum" => is > limit,
                    "exclusiveMinimum" => is <= limit,
                    "exclusiveMaximum" => is >= limit,
                    "multipleOf" => (is / limit).fract() != 0.0,
                    _ => false,
                };
                if wrong { refuse(&format!("{number} violates {name} {constraint}")) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn several(
        &mut self,
        name: &str,
        constraint: &Json,
        value: &Json,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let all = constraint.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut fits = 0;
        let mut why = String::new();
        for schema in all {
            match self.value(schema, value, at, depth + 1) {
                Ok(()) => fits += 1,
                Err(error) => why = error,
            }
        }
        match name {
            "allOf" if fits < all.len() => Err(why),
            "anyOf" if fits == 0 => Err(format!(
                "{at}: the value matches none of {} alternatives; error of the last one: {why}",
                all.len()
            )),
            "oneOf" if fits != 1 => Err(format!(
                "{at}: the value must match exactly one of {} alternatives, not {fits}. {why}",
                all.len()
            )),
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        name: &str,
        constraint: &Json,
        members: &Map<String, Json>,
        value: &Map<String, Json>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let properties = members.get("properties").and_then(Json::as_object);
        match name {
            "required" => {
                let mut names = constraint.as_array().into_iter().flatten().filter_map(Json::as_str);
                let missing = names.find(|name| !value.contains_key(*name));
                missing.map_or(Ok(()), |name| Err(format!("{at}/{name}: the member is missing")))
            }
            "properties" => {
                let known = constraint.as_object().into_iter().flatten();
                let mut there = known.filter_map(|(name, schema)| Some((name, schema, value.get(name)?)));
                there.try_for_each(|(name, schema, it)| {
                    self.value(schema, it, &format!("{at}/{name}"), depth + 1)
                })
            }
            "additionalProperties" => {
                let is_known = |name: &str| properties.is_some_and(|all| all.contains_key(name));
                let mut others = value.iter().filter(|(name, _)| !is_known(name));
                others
                    .try_for_each(|(name, it)| self.value(constraint, it, &format!("{at}/{name}"), depth + 1))
            }
            _ => match counted(name, "Properties", constraint, value.len()) {
                Some(why) => Err(format!("{at}: {why}")),
                None => Ok(()),
            },
        }
    }
}

/// Describes a violated minimum or maximum count.
fn counted(name: &str, of: &str, constraint: &Json, is: usize) -> Option<String> {
    let limit = constraint.as_u64()?;
    let wrong = match name.strip_suffix(of)? {
        "min" => (is as u64) < limit,
        "max" => is as u64 > limit,
        _ => false,
    };
    wrong.then(|| format!("{name} is {limit}, but the value has {is}"))
}

/// Compares two values; numbers are equal regardless of their notation.
fn same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn is_of(expected: &Json, value: &Json) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|it| it.fract() == 0.0),
        "string" => value.is_string(),
        _ => false,
    };
    match expected {
        Json::Array(any) => any.iter().filter_map(Json::as_str).any(is),
        one => one.as_str().is_some_and(is),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Json, value: Json) -> Result<(), String> {
        Schema::new(schema).unwrap().check(&value)
    }

    #[test]
    fn each_supported_keyword_is_checked() {
        for (schema, right, wrong) in [
            (json!({"type": "integer"}), json!(3.0), json!(3.5)),
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"enum": [1, "a"]}), json!(1.0), json!("b")),
            (json!({"const": {"a": 1}}), json!({"a": 1}), json!({"a": 2})),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
            (json!({"properties": {"a": {"type": "string"}}}), json!({"b": 1}), json!({"a": 1})),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
            ),
            (json!({"additionalProperties": {"type": "null"}}), json!({"a": null}), json!({"a": 1})),
            (json!({"items": {"minimum": 2}}), json!([2, 3]), json!([2, 1])),
            (json!({"minItems": 1, "maxItems": 2}), json!([1]), json!([])),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
            (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
            (json!({"exclusiveMinimum": 0, "maximum": 5}), json!(5), json!(0)),
            (json!({"multipleOf": 5}), json!(15), json!(16)),
            (json!({"minLength": 2, "maxLength": 3}), json!("äöü"), json!("ä")),
            (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(2), json!(3)),
            (json!({"anyOf": [{"type": "null"}, {"minimum": 5}]}), json!(null), json!(4)),
            (json!({"oneOf": [{"minimum": 1}, {"minimum": 5}]}), json!(3), json!(7)),
            (json!({"not": {"type": "string"}}), json!(1), json!("a")),
            (
                json!({"$ref": "#/definitions/x", "definitions": {"x": {"type": "null"}}}),
                json!(null),
                json!(1),
            ),
            (json!(true), json!(1), json!(null)),
        ] {
            assert_eq!(check(schema.clone(), right), Ok(()), "{schema}");
            assert!(schema == json!(true) || check(schema.clone(), wrong).is_err(), "{schema}");
        }
        let error =
            check(json!({"properties": {"a": {"items": {"type": "string"}}}}), json!({"a": ["x", 1]}));
        assert_eq!(error.unwrap_err(), "/a/1: expected \"string\"");
    }

    #[test]
    fn unsupported_keywords_are_rejected() {
        for (schema, words) in [
            (
                json!({"properties": {"a": {"pattern": "^a"}}}),
                "#/properties/a/pattern: this keyword is not supported",
            ),
            (json!({"if": true}), "#/if: this keyword"),
            (json!({"type": "int"}), "#/type: expected a type or"),
            (json!({"$ref": "http://elsewhere/x"}), "does not refer to a schema"),
            (json!({"minItems": -1}), "expected a whole number"),
            (json!({"anyOf": []}), "expected a list of schemas"),
            (json!([]), "an object or a boolean"),
        ] {
            let error = Schema::new(schema).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let deep = (0..40).fold(json!(true), |inner, _| json!({ "items": inner }));
        assert!(Schema::new(deep).is_err());
    }

    #[test]
    fn check_of_recursive_references_terminates() {
        let round = json!({"$ref": "#"});
        assert!(check(round, json!(1)).is_err());
        let tree = json!({"properties": {"next": {"$ref": "#"}}, "anyOf": [{"$ref": "#/definitions/x"}, true],
            "definitions": {"x": {"anyOf": [{"$ref": "#/definitions/x"}, {"$ref": "#/definitions/x"}]}}});
        assert!(
            check(tree, json!({"next": {"next": {}}})).is_err(),
            "the check must end at the maximum number of steps"
        );
        let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert_eq!(check(list, json!({"next": {"next": {}}})), Ok(()));
    }
}
