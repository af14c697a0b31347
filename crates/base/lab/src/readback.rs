//! Reads counters of a system over HTTP, with a JSON path (RFC 9535) or a pattern in text.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;

/// Timeout of a response.
const WAIT: Duration = Duration::from_secs(10);
/// Timeout of a response from a system that may not be up yet and is polled.
const GLANCE: Duration = Duration::from_secs(1);
/// Maximum length of a response, in bytes. A full dump of 50 base stations with 100 UEs is about 10 MB.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// Path elements after which a path may select several nodes.
const OPEN: [&str; 4] = ["[*]", "[?", "..", ".*"];

/// The kind of number that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingKind {
    /// Base stations that the system considers alive.
    Nodes,
    /// UEs of the base stations that the system considers alive.
    Ues,
    /// Sessions, subscriptions and similar objects.
    Sessions,
    /// Number of messages received.
    Messages,
    /// Number of packets received.
    Packets,
    /// Number of bytes received.
    #[serde(alias = "octets")]
    Bytes,
}

impl ReadingKind {
    /// All kinds, with name and description.
    pub const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Nodes, "nodes", "connected base stations, as reported by the system"),
        (Self::Ues, "ues", "known UEs, as reported by the system"),
        (Self::Sessions, "sessions", "open sessions, as reported by the system"),
        (Self::Messages, "messages", "received messages, as reported by the system"),
        (Self::Packets, "packets", "received packets, as reported by the system"),
        (Self::Bytes, "bytes", "received bytes, as reported by the system"),
    ];
}

/// One number of a profile (`[[read_back]]`): its location and extraction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The kind of number.
    pub what: ReadingKind,
    /// URL of the document: `http://…`.
    pub url: String,
    /// JSON path. The number is the count of selected nodes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub count: String,
    /// JSON path. The number is the sum of the selected numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sum: String,
    /// Regular expression. The number is the count of matches or, with a group, the sum of the numbers in the group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// Whether a missing node counts as 0, for systems that omit empty lists.
    #[serde(default)]
    pub omitted: bool,
    /// Whether the number counts since the start of the system. The difference within the window is then used.
    #[serde(default)]
    pub total: bool,
    /// Function that combines several numbers of the same kind.
    #[serde(default)]
    pub combine: Aggregate,
    /// Name of the environment variable that contains user:password.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub login: String,
}

/// Function that combines several numbers of the same kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// Sum of the numbers.
    #[default]
    Sum,
    /// First number; all numbers must be equal.
    Same,
}

/// Method of extracting a number from a response.
#[derive(Debug)]
enum Extractor {
    Count(JsonPath, String),
    Sum(JsonPath, String),
    Pattern(Regex),
    /// A slash-separated path. Each step must exist. Lists and objects at its end count by their lengths, numbers by
    /// their values.
    Sizes(Vec<JsonPath>, Vec<bool>),
}

/// The numbers that were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    /// Numbers by their kind.
    pub numbers: BTreeMap<ReadingKind, f64>,
    /// Contradictions between numbers that must be equal, one sentence each.
    pub disagree: Vec<String>,
    /// Time until all responses had arrived.
    pub elapsed: Duration,
}

impl ReadBack {
    /// Returns the extraction by a slash-separated path, as in `sut.rest_nodes` (`/eNB_config/*/ues`), or by a JSON
    /// path whose nodes are counted.
    pub fn by_path(what: ReadingKind, url: &str, path: &str) -> Self {
        Self {
            what,
            url: url.to_owned(),
            count: path.to_owned(),
            sum: String::new(),
            pattern: String::new(),
            omitted: false,
            total: false,
            combine: Aggregate::Sum,
            login: String::new(),
        }
    }

    /// Validates the configuration.
    ///
    /// # Errors
    /// A sentence with the key and the allowed values.
    pub fn check(&self) -> Result<(), String> {
        // A URL with placeholders is completed later.
        if !self.url.starts_with("http://") && !self.url.starts_with('{') {
            return Err(format!("`url` \"{}\" does not begin with http://", self.url));
        }
        self.take().map(drop)
    }

    fn take(&self) -> Result<Extractor, String> {
        match (&self.count[..], &self.sum[..], &self.pattern[..]) {
            ("", "", pattern) if !pattern.is_empty() => {
                Regex::new(pattern).map(Extractor::Pattern).map_err(|error| format!("`pattern`: {error}"))
            }
            (path, "", "") if path.starts_with('/') => sizes(path),
            (path, "", "") if !path.is_empty() => {
                Ok(Extractor::Count(json_path("count", path)?, path.to_owned()))
            }
            ("", path, "") if !path.is_empty() => {
                Ok(Extractor::Sum(json_path("sum", path)?, path.to_owned()))
            }
            _ => Err("one of `count`, `sum` and `pattern` must define the number".to_owned()),
        }
    }

    /// Returns the URL with the login. It is never written to a file.
    fn address(&self) -> Result<String, String> {
        let Some(rest) = self.url.strip_prefix("http://").filter(|_| !self.login.is_empty()) else {
            return Ok(self.url.clone());
        };
        match std::env::var(&self.login) {
            Ok(login) if login.contains(':') => Ok(format!("http://{login}@{rest}")),
            _ => Err(format!("variable {} does not contain user:password", self.login)),
        }
    }
}

/// A query as one argument, `URL[=PATH]`: the URL of a document, and a slash-separated path or JSON path of the nodes
/// to count. Without a path, counts the top-level nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadbackQuery(ReadBack);

impl ReadbackQuery {
    /// Runs the query.
    ///
    /// # Errors
    /// The system did not respond, or the path does not match the response. The text contains the URL.
    pub fn ask(&self) -> Result<f64, String> {
        Ok(read(std::slice::from_ref(&self.0))?.numbers.values().sum())
    }
}

impl std::str::FromStr for ReadbackQuery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (url, path) = text.split_once('=').unwrap_or((text, "/"));
        let question = ReadBack::by_path(ReadingKind::Nodes, url, path);
        question.check().map(|()| Self(question))
    }
}

fn json_path(key: &str, path: &str) -> Result<JsonPath, String> {
    let wrong = |error| {
        format!(
            "`{key}`: \"{path}\" is not a path such as /eNB_config/*/ues or, as RFC 9535 has it, $[?@.state == 'online']: {error}"
        )
    };
    JsonPath::parse(path).map_err(wrong)
}

/// Parses a slash-separated path. Returns the JSON path up to each step, and whether the step is a member name.
fn sizes(path: &str) -> Result<Extractor, String> {
    let mut paths = vec![json_path("count", "$")?];
    let mut members = vec![];
    let mut text = "$".to_owned();
    for step in path.split('/').filter(|step| !step.is_empty()) {
        let quoted = step.replace('\\', "\\\\").replace('\'', "\\'");
        let number = step.parse::<u32>().map(|index| format!(",{index}")).unwrap_or_default();
        text.push_str(&if step == "*" { "[*]".to_owned() } else { format!("['{quoted}'{number}]") });
        members.push(step != "*");
        paths.push(json_path("count", &text)?);
    }
    Ok(Extractor::Sizes(paths, members))
}

/// Reads all numbers. Each URL is requested once.
///
/// # Errors
/// A sentence that names the missing response or its missing content.
pub fn read(all: &[ReadBack]) -> Result<Readings, String> {
    let begun = Instant::now();
    let mut answers: BTreeMap<String, String> = BTreeMap::new();
    let mut readings = Readings::default();
    for one in all {
        let address = one.address()?;
        let answer = match answers.get(&address) {
            Some(answer) => answer,
            None => {
                let answer = get(&address, WAIT).map_err(|error| format!("{}: {error}", one.url))?;
                answers.entry(address).or_insert(answer)
            }
        };
        let number =
            one.take()?.from(answer, one.omitted).map_err(|error| format!("{}: {error}", one.url))?;
        match (readings.numbers.get_mut(&one.what), one.combine) {
            (None, _) => drop(readings.numbers.insert(one.what, number)),
            (Some(sum), Aggregate::Sum) => *sum += number,
            (Some(first), Aggregate::Same) if *first != number => {
                let other = format!("{} reports {number}, but the first query reports {first}", one.url);
                readings.disagree.push(other);
            }
            (Some(_), Aggregate::Same) => {}
        }
    }
    readings.elapsed = begun.elapsed();
    Ok(readings)
}

/// Checks that a URL responds with success within a short time.
pub fn ask(url: &str) -> Result<(), String> {
    get(url, GLANCE).map(drop).map_err(|error| format!("{url}: {error}"))
}

fn get(url: &str, wait: Duration) -> Result<String, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(wait)).build().into();
    // The side that closes a TCP connection first occupies the port for a minute, and some servers cannot restart on
    // such a port. Therefore this side closes first.
    let mut response = agent
        .get(url)
        .header("connection", "keep-alive")
        .call()
        .map_err(|error| format!("it does not answer: {error}"))?;
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).lossy_utf8(true).read_to_string();
    body.map_err(|error| error.to_string())
}

impl Extractor {
    fn from(&self, answer: &str, omitted: bool) -> Result<f64, String> {
        if let Self::Pattern(pattern) = self {
            return by_pattern(pattern, answer, omitted);
        }
        let json: Value =
            serde_json::from_str(answer).map_err(|error| format!("the response is not JSON: {error}"))?;
        match self {
            Self::Sizes(paths, members) => by_sizes(paths, members, &json).or_else(|| omitted.then_some(0.0)),
            Self::Count(path, text) => {
                let found = path.query(&json).len() as f64;
                Some(found).filter(|found| *found > 0.0 || omitted || there(text, &json))
            }
            Self::Sum(path, text) => {
                let numbers = path.query(&json).all();
                let sum = numbers.iter().map(|number| number.as_f64()).sum::<Option<f64>>();
                sum.filter(|_| !numbers.is_empty() || omitted || there(text, &json))
            }
            Self::Pattern(_) => None,
        }
        .ok_or_else(|| "the response does not contain the requested value".to_owned())
    }
}

/// Returns whether the list exists in which a path selected no node. Then the number is 0; a missing list is an error.
fn there(path: &str, json: &Value) -> bool {
    let end = OPEN.iter().filter_map(|open| path.find(open)).min().unwrap_or(path.len());
    end < path.len() && JsonPath::parse(&path[..end]).is_ok_and(|place| !place.query(json).is_empty())
}

fn by_sizes(paths: &[JsonPath], members: &[bool], json: &Value) -> Option<f64> {
    let found: Vec<_> = paths.iter().map(|path| path.query(json).all()).collect();
    // Each selected parent must have the member that the next step names.
    let whole =
        members.iter().zip(found.windows(2)).all(|(member, pair)| !member || pair[0].len() == pair[1].len());
    let size = |value: &&Value| match value {
        Value::Array(all) => Some(all.len() as f64),
        Value::Object(all) => Some(all.len() as f64),
        other => other.as_f64(),
    };
    found.last().filter(|_| whole)?.iter().map(size).sum()
}

fn by_pattern(pattern: &Regex, answer: &str, omitted: bool) -> Result<f64, String> {
    let all: Vec<_> = pattern.captures_iter(answer).collect();
    if pattern.captures_len() == 1 {
        return Ok(all.len() as f64);
    }
    if all.is_empty() && !omitted {
        return Err(format!("nothing matches \"{pattern}\""));
    }
    let numbers = all.iter().map(|found| found.get(1)?.as_str().parse::<f64>().ok());
    numbers.sum::<Option<f64>>().ok_or_else(|| format!("the group of \"{pattern}\" does not match a number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by(key: &str, how: &str, answer: &str, omitted: bool) -> Result<f64, String> {
        let empty = ReadBack {
            count: String::new(),
            omitted,
            ..ReadBack::by_path(ReadingKind::Nodes, "http://x", "")
        };
        let one = match key {
            "count" => ReadBack { count: how.to_owned(), ..empty },
            "sum" => ReadBack { sum: how.to_owned(), ..empty },
            _ => ReadBack { pattern: how.to_owned(), ..empty },
        };
        one.take()?.from(answer, omitted)
    }

    #[test]
    fn slash_paths_count_nodes() {
        let at = |value: &Value, path: &str| by("count", path, &value.to_string(), false).ok();
        let knows = json!({ "eNB_config": [{ "ues": 3, "cells": [1, 2] }, { "ues": 4, "cells": [1] }], "x": { "a": 1, "b": 2 } });
        assert_eq!(at(&knows, "/eNB_config"), Some(2.0));
        assert_eq!(at(&knows, "/eNB_config/*/ues"), Some(7.0));
        assert_eq!(at(&knows, "/eNB_config/*/cells"), Some(3.0));
        assert_eq!(at(&knows, "/eNB_config/1/ues"), Some(4.0));
        assert_eq!(at(&knows, "/x/*"), Some(3.0));
        assert_eq!(at(&knows, "/x"), Some(2.0));
        assert_eq!(at(&knows, "/eNB_config/*/none"), None);
        assert_eq!(at(&json!([]), "/*/ues"), Some(0.0));
        // 5G-EmPOWER returns the list itself.
        let vbses = json!([{ "ues": [1, 2] }, { "ues": [3] }]);
        assert_eq!((at(&vbses, "/"), at(&vbses, "/*/ues")), (Some(2.0), Some(3.0)));
    }

    #[test]
    fn filter_path_counts_selected_nodes() {
        let vbses =
            json!([{ "state": "online" }, { "state": "disconnected" }, { "state": "online" }]).to_string();
        assert_eq!(by("count", "$[?@.state == 'online']", &vbses, false), Ok(2.0));
        assert_eq!(
            by("count", "$[?@.state == 'lost']", &vbses, false),
            Ok(0.0),
            "a list without matches must count as 0"
        );
        let config = r#"{"eNB_config":[{"UE":{"ueConfig":[{},{}]}},{"UE":{}}]}"#;
        assert_eq!(by("count", "$.eNB_config[*].UE.ueConfig[*]", config, true), Ok(2.0));
        assert_eq!(by("sum", "$.a[*].n", r#"{"a":[{"n":3},{"n":4.5}]}"#, false), Ok(7.5));
    }

    #[test]
    fn missing_node_is_zero_only_if_omitted_is_set() {
        let ues = "$.eNB_config[*].UE.ueConfig[*]";
        assert_eq!(by("count", ues, "{}", true), Ok(0.0));
        assert!(by("count", ues, "{}", false).unwrap_err().contains("does not contain"));
        assert_eq!(by("count", ues, r#"{"eNB_config":[]}"#, false), Ok(0.0));
        assert!(by("sum", "$.n", r#"{"n":"many"}"#, true).is_err(), "text must not be read as a number");
        assert!(by("count", "$.a", "no JSON", true).unwrap_err().contains("not JSON"));
    }

    #[test]
    fn pattern_counts_matches_or_adds_numbers() {
        let text = "agent 1: 3 UEs\nagent 2: 5 UEs\n";
        assert_eq!(by("pattern", "agent", text, false), Ok(2.0));
        assert_eq!(by("pattern", r"(\d+) UEs", text, false), Ok(8.0));
        assert_eq!(by("pattern", "nobody", text, false), Ok(0.0));
        assert!(by("pattern", r"(\d+) cells", text, false).is_err());
        assert_eq!(by("pattern", r"(\d+) cells", text, true), Ok(0.0));
        assert!(by("pattern", r"agent (.*)", text, false).unwrap_err().contains("does not match a number"));
    }

    #[test]
    fn query_argument_returns_number_or_error() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"BS\": [{}, {}, {}]}").unwrap();
        });
        let question: ReadbackQuery = format!("{url}=/BS").parse().unwrap();
        assert_eq!(question.ask(), Ok(3.0));
        answers.join().unwrap();
        let error = question.ask().unwrap_err();
        assert!(error.contains(&url) && error.contains("does not answer"), "{error}");
        assert!("127.0.0.1:9999=/".parse::<ReadbackQuery>().unwrap_err().contains("http://"));
        assert!("http://127.0.0.1:1=x".parse::<ReadbackQuery>().unwrap_err().contains("not a path"));
    }

    #[test]
    fn invalid_read_back_names_allowed_values() {
        let one = |count: &str| ReadBack::by_path(ReadingKind::Ues, "http://127.0.0.1:1/", count);
        assert!(one("").check().unwrap_err().contains("one of `count`, `sum` and `pattern`"));
        assert!(one("eNB").check().unwrap_err().contains("RFC 9535"));
        assert!(ReadBack { pattern: "(".to_owned(), ..one("") }.check().unwrap_err().contains("`pattern`"));
        assert!(
            ReadBack { url: "127.0.0.1:1".to_owned(), ..one("$") }.check().unwrap_err().contains("http://")
        );
        assert!(
            ReadBack { pattern: "x".to_owned(), ..one("$") }.check().is_err(),
            "a path and a pattern together must be refused"
        );
    }
}
