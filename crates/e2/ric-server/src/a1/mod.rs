//! A1 policies (O-RAN.WG2.A1AP, A1-P version 2): policy types installed by the operator, policies from a
//! non-real-time RIC, and their status as reported by xApps.
//!
//! | content | where xApps find it |
//! |---|---|
//! | a policy | the value `a1/TYPE:POLICY` |
//! | creation, update or deletion of a policy | the topic `a1/TYPE`: `{"policy": …, "event": "put" or "delete"}` |
//! | policy status, as a PolicyStatusObject | the value `a1-status/TYPE:POLICY`, written by an xApp |
//!
//! The rule of a hosted xApp therefore contains `reads = ["a1"]` and `writes = ["a1-status"]`.
#![allow(clippy::result_large_err, reason = "at most one refusal per request")]

mod schema;

pub use schema::Schema;

use crate::commons::SharedData;
use crate::hosted::HostedXapp;
use axum::body::Bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ranlab_http::server::{Handler, HttpCall, json_response, refused};
use ranlab_machine::routes::{Document, Parameters, Routed};
use ranlab_ric::commons::StoreError;
use ranlab_ric::northbound::Fault;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A1-P routes, and the additions to their OpenAPI description.
pub const DOCUMENT: Document =
    Document { routes: A1::ROUTES, details: include_str!("../../openapi/a1.json") };
/// Maximum number of installed policy types.
pub const TYPES_MAX: usize = 64;
/// Maximum size of a policy type file, in bytes.
pub const TYPE_BYTES_MAX: u64 = 256 << 10;
/// Maximum length of the identifier of a policy type or policy, in characters.
const ID_MAX: usize = 60;
/// Namespaces of policies and of their status.
const POLICIES: &str = "a1";
const STATUSES: &str = "a1-status";

/// Policy type (PolicyTypeObject).
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyType {
    policy: Schema,
    status: Option<Schema>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeFile {
    #[serde(rename = "policySchema")]
    policy: Json,
    #[serde(rename = "statusSchema")]
    status: Option<Json>,
}

impl PolicyType {
    /// Parses a PolicyTypeObject: `{"policySchema": …, "statusSchema": …}`.
    ///
    /// # Errors
    /// Fails if the text is not a PolicyTypeObject, or a schema contains a keyword that is not supported.
    pub fn read(text: &str) -> Result<Self, String> {
        let TypeFile { policy, status } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let policy = Schema::new(policy).map_err(|why| format!("invalid policySchema: {why}"))?;
        let status =
            status.map(Schema::new).transpose().map_err(|why| format!("invalid statusSchema: {why}"))?;
        Ok(Self { policy, status })
    }

    fn json(&self) -> Json {
        let mut object = json!({ "policySchema": self.policy.json() });
        if let Some(status) = &self.status {
            object["statusSchema"] = status.json().clone();
        }
        object
    }
}

/// Returns whether a text is a valid identifier of a policy type or policy.
pub fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=ID_MAX).contains(&text.len()) && text.bytes().all(fits) && !matches!(text, "." | "..")
}

/// A1-P server with its policy types and policies; clones share state.
#[derive(Debug, Clone)]
pub struct A1 {
    types: Arc<BTreeMap<String, PolicyType>>,
    commons: SharedData,
}

type Call = HttpCall<HostedXapp>;

ranlab_machine::routes! {
    async impl A1: Handler<A1, HostedXapp>, at "/A1-P/v2/", faults [400, 401, 403, 404, 405, 421, 503] {
        Get "policytypes" policy_types -> 200: Names, Operator, "installed policy types";
        Get "policytypes/{policyTypeId}" policy_type -> 200, Operator, "schemas of a policy type";
        Get "policytypes/{policyTypeId}/policies" policies -> 200: Names, Operator, "policies of a type";
        Get "policytypes/{policyTypeId}/policies/{policyId}" policy -> 200, Operator, "a policy";
        Put "policytypes/{policyTypeId}/policies/{policyId}" put_policy(PolicyObject) -> 200, Operator or [409],
            "create or update a policy; notificationDestination is not used";
        Delete "policytypes/{policyTypeId}/policies/{policyId}" delete_policy -> 204, Operator, "delete a policy";
        Get "policytypes/{policyTypeId}/policies/{policyId}/status" policy_status -> 200: PolicyStatus, Operator,
            "policy status as reported by an xApp";
    }
}

/// Converts a fault to an error response.
fn concluded(result: Result<Response, Fault>) -> Result<Response, Response> {
    result.map_err(|fault| refused(&fault))
}

impl A1 {
    /// Returns a server for these policy types. It keeps the policies in the shared store, where xApps find them.
    pub fn new(types: BTreeMap<String, PolicyType>, commons: SharedData) -> Self {
        Self { types: Arc::new(types), commons }
    }

    async fn policy_types(self: Arc<Self>, _: Call) -> Result<Response, Response> {
        Ok(json_response(&json!(self.types.keys().collect::<Vec<_>>())))
    }

    async fn policy_type(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        concluded(self.kind(call.parameters.text("policyTypeId")).map(|kind| json_response(&kind.json())))
    }

    async fn policies(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        concluded(self.list(call.parameters.text("policyTypeId")).await)
    }

    async fn policy(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        concluded(self.show(&call.parameters).await)
    }

    async fn put_policy(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        concluded(self.put(&call).await)
    }

    async fn delete_policy(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        concluded(self.delete(&call.parameters).await)
    }

    async fn policy_status(self: Arc<Self>, call: Call) -> Result<Response, Response> {
        concluded(self.status(&call.parameters).await)
    }

    async fn show(&self, parameters: &Parameters) -> Result<Response, Fault> {
        let (_, policy, key) = self.place(parameters)?;
        let found = self.value(POLICIES, &key).await?;
        Ok(json_response(&found.ok_or_else(|| missing(policy))?))
    }

    /// Returns the type of a request's policy, its identifier, and its key in the shared store.
    fn place<'p>(&self, parameters: &'p Parameters) -> Result<(&PolicyType, &'p str, String), Fault> {
        let id = parameters.text("policyTypeId");
        let policy = parameters.text("policyId");
        Ok((self.kind(id)?, policy, key(id, policy)?))
    }

    fn kind(&self, id: &str) -> Result<&PolicyType, Fault> {
        self.types.get(id).ok_or_else(|| {
            let there: Vec<_> = self.types.keys().map(String::as_str).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            Fault::new(404, format!("no policy type {id:?} is installed; installed: {there}"))
        })
    }

    async fn value(&self, namespace: &str, key: &str) -> Result<Option<Json>, Fault> {
        let found = self.commons.store().get(namespace, key).await.map_err(of_store)?;
        let read = |value: &Bytes| {
            serde_json::from_slice(value)
                .map_err(|error| Fault::new(502, format!("the stored value is not valid JSON: {error}")))
        };
        found.map(|entry| read(&entry.value)).transpose()
    }

    async fn list(&self, id: &str) -> Result<Response, Fault> {
        self.kind(id)?;
        let all = self.commons.store().keys(POLICIES).await.map_err(of_store)?;
        let of_type = |(key, ..): &(String, u64, usize)| {
            key.split_once(':').filter(|(kind, _)| *kind == id).map(|(_, policy)| policy.to_owned())
        };
        Ok(json_response(&json!(all.iter().filter_map(of_type).collect::<Vec<_>>())))
    }

    async fn put(&self, call: &Call) -> Result<Response, Fault> {
        let (kind, policy, key) = self.place(&call.parameters)?;
        let id = call.parameters.text("policyTypeId");
        if let Some(query) = call.uri.query().filter(|query| !query.is_empty()) {
            let why = if query.starts_with("notificationDestination=") {
                "notifications are not supported: no destination is allowed; read the policy's status instead"
            } else {
                "unknown query parameter"
            };
            return Err(Fault::new(400, format!("{why}: {query:?}")));
        }
        let value: Json = serde_json::from_slice(&call.body)
            .map_err(|error| Fault::new(400, format!("the policy is not valid JSON: {error}")))?;
        if !value.is_object() {
            return Err(Fault::new(400, "the policy must be an object"));
        }
        kind.policy
            .check(&value)
            .map_err(|why| Fault::new(400, format!("the policy is not valid for type {id}: {why}")))?;
        let is_new = self.value(POLICIES, &key).await?.is_none();
        let text = Bytes::from(value.to_string());
        if text.len() > ranlab_ric::commons::VALUE_BYTES_MAX {
            let most = ranlab_ric::commons::VALUE_BYTES_MAX;
            return Err(Fault::new(
                413,
                format!("the policy has {} bytes; at most {most} are allowed", text.len()),
            ));
        }
        self.commons.store().put(POLICIES, &key, text, None).await.map_err(of_store)?;
        self.publish_event(id, policy, "put");
        if !is_new {
            return Ok(json_response(&value));
        }
        let place = format!("/A1-P/v2/policytypes/{id}/policies/{policy}");
        let mut created = json_response(&value);
        *created.status_mut() = StatusCode::CREATED;
        if let Ok(place) = place.parse() {
            created.headers_mut().insert(header::LOCATION, place);
        }
        Ok(created)
    }

    async fn delete(&self, parameters: &Parameters) -> Result<Response, Fault> {
        let (_, policy, key) = self.place(parameters)?;
        let gone = self.commons.store().delete(POLICIES, &key, None).await;
        gone.map_err(|error| match error {
            StoreError::Missing(_) => missing(policy),
            other => of_store(other),
        })?;
        // There may be no status to delete.
        let _ = self.commons.store().delete(STATUSES, &key, None).await;
        self.publish_event(parameters.text("policyTypeId"), policy, "delete");
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    /// Returns the status that an xApp has written; NOT_ENFORCED if it is missing or does not match the
    /// status schema.
    async fn status(&self, parameters: &Parameters) -> Result<Response, Fault> {
        let (kind, policy, key) = self.place(parameters)?;
        self.value(POLICIES, &key).await?.ok_or_else(|| missing(policy))?;
        let is_status = |it: &Json| {
            let known = matches!(it["enforceStatus"].as_str(), Some("ENFORCED" | "NOT_ENFORCED"));
            known && kind.status.as_ref().is_none_or(|schema| schema.check(it).is_ok())
        };
        let nobody = || json!({ "enforceStatus": "NOT_ENFORCED", "enforceReason": "OTHER_REASON" });
        Ok(json_response(&self.value(STATUSES, &key).await?.filter(is_status).unwrap_or_else(nobody)))
    }

    fn publish_event(&self, id: &str, policy: &str, event: &str) {
        let message = json!({ "policy": policy, "event": event }).to_string();
        self.commons.publish_message(POLICIES, id, message.into());
    }
}

fn key(id: &str, policy: &str) -> Result<String, Fault> {
    let wrong = || {
        let what = format!(
            "{policy:?} is not a valid policy identifier; expected 1 to {ID_MAX} characters of A-Z, a-z, 0-9, '-', '_' and '.'"
        );
        Fault::new(404, what)
    };
    is_id(policy).then(|| format!("{id}:{policy}")).ok_or_else(wrong)
}

fn missing(policy: &str) -> Fault {
    Fault::new(404, format!("unknown policy {policy:?}"))
}

fn of_store(error: StoreError) -> Fault {
    Fault::new(if matches!(error, StoreError::Full) { 409 } else { 503 }, error.to_string())
}

#[cfg(test)]
mod tests;
