//! What a controller says of itself over REST: the proof that it took in what it was sent.

use std::str::FromStr;
use std::time::{Duration, Instant};

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Metric, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::{keys, metrics};
use serde_json::Value;

use crate::keys;

/// A controller that answers later has not answered.
const WAIT: Duration = Duration::from_secs(10);
/// Octets of an answer. A full dump of 50 base stations with 100 UEs is about 10 MB.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// In a path: every element of an array, every member of an object.
const EACH: &str = "*";

pub(crate) fn keys(external: &[&str]) -> Vec<Key> {
    keys! {
        ("sut.rest", Kind::Text, "where it tells what it knows, e.g. http://127.0.0.1:9999/stats_manager/enb_config; read once after the measurement").optional().when("sut.type", external);
        ("sut.rest_nodes", Kind::Text, "where base stations are in that JSON: a path such as /eNB_config, / for all of it, * for each element; lists are counted, numbers added").optional().when("sut.type", external);
        ("sut.rest_ues", Kind::Text, "where their UEs are, e.g. /eNB_config/*/ues").optional().when("sut.type", external);
        ("sut.rest_login", Kind::Text, "environment variable that holds user:password for it").optional().when("sut.type", external);
    }
}

pub(crate) fn metrics() -> Vec<Metric> {
    metrics! {
        Scalar Higher "rest_answered" "" "1 if the controller answered over REST within 10 s";
        Scalar Lower "rest_ms" "ms" "time until it had";
        Scalar Higher "rest_nodes" "" "base stations that it knows, by its own words";
        Scalar Higher "rest_ues" "" "UEs that it knows, by its own words";
    }
}

/// A question to a system over REST, `URL[=PATTERN]`: where it tells what it knows, and what of it is counted. Without a
/// pattern, all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    url: String,
    pattern: String,
}

impl Question {
    /// The system's answer.
    ///
    /// # Errors
    /// It did not answer within 10 s, or not with what the pattern names: in words, its address in them.
    pub fn ask(&self) -> Result<f64, String> {
        let Self { url, pattern } = self;
        count(&ask(url)?, &steps(pattern)).ok_or_else(|| format!("{url} tells nothing at {pattern}"))
    }
}

impl FromStr for Question {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (url, pattern) = text.split_once('=').unwrap_or((text, "/"));
        if !url.starts_with("http://") {
            return Err(format!("\"{url}\" does not begin with http://"));
        }
        if !pattern.starts_with('/') {
            return Err(format!("\"{pattern}\" is no path: it begins with / as /eNB_config/*/ues does"));
        }
        Ok(Self { url: url.to_owned(), pattern: pattern.to_owned() })
    }
}

/// Asks, if the scenario says where; false: it did not answer with what was asked for.
///
/// # Errors
/// The scenario's fault: an address or a path that is none, a variable that is not set.
pub(crate) fn record(run: &Run<'_>, recorder: &mut Recorder) -> Result<bool, RigError> {
    if run.value("sut.rest").is_none() {
        return Ok(true);
    }
    let url = address(run)?;
    let wanted: Vec<(&str, &str)> = [("rest_nodes", "sut.rest_nodes"), ("rest_ues", "sut.rest_ues")]
        .into_iter()
        .filter_map(|(metric, key)| Some((metric, run.text(key)?)))
        .collect();
    for (_, path) in &wanted {
        if !path.starts_with('/') {
            return Err(RigError::Rig(format!(
                "\"{path}\" is no path: it begins with / as /eNB_config/*/ues does"
            )));
        }
    }
    let begun = Instant::now();
    let answer = ask(&url).ok();
    let elapsed = begun.elapsed();
    let counts = answer.and_then(|answer| {
        wanted
            .iter()
            .map(|(metric, path)| Some((*metric, count(&answer, &steps(path))?)))
            .collect::<Option<Vec<_>>>()
    });
    recorder.scalar("rest_answered", f64::from(u8::from(counts.is_some())));
    let Some(counts) = counts else { return Ok(false) };
    recorder.scalar("rest_ms", elapsed.as_secs_f64() * 1e3);
    counts.into_iter().for_each(|(metric, value)| recorder.scalar(metric, value));
    Ok(true)
}

/// The address, with the login in it: no file keeps that.
fn address(run: &Run<'_>) -> Result<String, RigError> {
    let url = keys::text(run, "sut.rest")?;
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(RigError::Rig(format!("`sut.rest` \"{url}\" does not begin with http://")));
    };
    let Some(name) = run.text("sut.rest_login") else { return Ok(url.to_owned()) };
    match std::env::var(name) {
        Ok(login) if login.contains(':') => Ok(format!("http://{login}@{rest}")),
        _ => Err(RigError::Environment(format!(
            "`sut.rest_login`: variable {name} does not hold user:password"
        ))),
    }
}

fn ask(url: &str) -> Result<Value, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder().timeout_global(Some(WAIT)).build().into();
    let no_answer = |error: ureq::Error| format!("{url} does not answer: {error}");
    let mut response = agent.get(url).call().map_err(no_answer)?;
    let text =
        response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string().map_err(no_answer)?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{url} answers with something else than JSON: {error}"))
}

/// How many there are at the end of these steps; `None`: they do not lead there.
fn count(value: &Value, steps: &[&str]) -> Option<f64> {
    let Some((step, rest)) = steps.split_first() else {
        return match value {
            Value::Array(all) => Some(all.len() as f64),
            Value::Object(all) => Some(all.len() as f64),
            other => other.as_f64(),
        };
    };
    match value {
        Value::Array(all) if *step == EACH => all.iter().map(|one| count(one, rest)).sum(),
        Value::Object(all) if *step == EACH => all.values().map(|one| count(one, rest)).sum(),
        Value::Array(all) => count(all.get(step.parse::<usize>().ok()?)?, rest),
        other => count(other.get(step)?, rest),
    }
}

/// The steps of a path; `/` alone is the whole answer.
fn steps(path: &str) -> Vec<&str> {
    path.split('/').filter(|step| !step.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use ranlab_campaign::plan::Point;
    use serde_json::json;

    use super::*;

    /// A controller that gives one answer; what it was asked.
    fn controller(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut room = [0; 4096];
            let read = stream.read(&mut room).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&room[..read]).into_owned()
        });
        (format!("http://{address}/stats_manager/enb_config"), asked)
    }

    fn read_back(
        settings: &[(&str, &str)],
    ) -> (Result<bool, RigError>, std::collections::BTreeMap<String, f64>) {
        let settings = settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).into())).collect();
        let point = Point { index: 0, axes: Vec::new(), settings };
        let run = Run::new(&point, 0, 1, Duration::from_secs(1));
        let mut recorder = Recorder::default();
        let result = record(&run, &mut recorder);
        (result, recorder.finish().metrics.into_iter().collect())
    }

    #[test]
    fn what_it_knows_is_counted() {
        let at = |value: &Value, path: &str| count(value, &steps(path));
        let knows = json!({ "eNB_config": [{ "ues": 3, "cells": [1, 2] }, { "ues": 4, "cells": [1] }], "x": { "a": 1, "b": 2 } });
        assert_eq!(at(&knows, "/eNB_config"), Some(2.0));
        assert_eq!(at(&knows, "/eNB_config/*/ues"), Some(7.0));
        assert_eq!(at(&knows, "/eNB_config/*/cells"), Some(3.0));
        assert_eq!(at(&knows, "/eNB_config/1/ues"), Some(4.0));
        assert_eq!(at(&knows, "/x/*"), Some(3.0));
        assert_eq!(at(&knows, "/x"), Some(2.0));
        assert_eq!(at(&knows, "/eNB_config/*/none"), None);
        assert_eq!(at(&json!([]), "/*/ues"), Some(0.0));
        // 5G-EmPOWER answers with the list itself.
        let vbses = json!([{ "ues": [1, 2] }, { "ues": [3] }]);
        assert_eq!((at(&vbses, "/"), at(&vbses, "/*/ues")), (Some(2.0), Some(3.0)));
    }

    #[test]
    fn a_controller_is_asked_and_its_answer_recorded() {
        let (url, asked) =
            controller("HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\n{\"eNB_config\": [{\"ues\": 100}]} ");
        let (result, metrics) = read_back(&[
            ("sut.rest", &url),
            ("sut.rest_nodes", "/eNB_config"),
            ("sut.rest_ues", "/eNB_config/*/ues"),
        ]);
        assert_eq!(result, Ok(true));
        assert_eq!((metrics["rest_answered"], metrics["rest_nodes"], metrics["rest_ues"]), (1.0, 1.0, 100.0));
        assert!(asked.join().unwrap().starts_with("GET /stats_manager/enb_config HTTP/1.1"));
    }

    #[test]
    fn a_question_is_one_argument_and_an_answer_or_the_reason() {
        let (url, asked) = controller("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"BS\": [{}, {}, {}]}");
        let question: Question = format!("{url}=/BS").parse().unwrap();
        assert_eq!(question.ask(), Ok(3.0));
        asked.join().unwrap();
        let error = question.ask().unwrap_err();
        assert!(error.contains(&url) && error.contains("does not answer"), "{error}");
        assert!("127.0.0.1:9999=/".parse::<Question>().unwrap_err().contains("http://"));
        assert!("http://127.0.0.1:1=x".parse::<Question>().unwrap_err().contains("no path"));
    }

    #[test]
    fn what_is_no_answer_is_told_from_one() {
        for answer in [
            "HTTP/1.1 500 Internal\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"a\":",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "garbage",
        ] {
            let (url, asked) = controller(answer);
            let (result, metrics) = read_back(&[("sut.rest", &url), ("sut.rest_nodes", "/eNB_config")]);
            assert_eq!((result, metrics["rest_answered"]), (Ok(false), 0.0), "{answer}");
            asked.join().unwrap();
        }
        assert_eq!(read_back(&[]).0, Ok(true));
        assert_eq!(read_back(&[("sut.rest", "http://127.0.0.1:1/")]).0, Ok(false));
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let (url, login) = ("http://127.0.0.1:1/", "RANLAB_TEST_NO_SUCH_VARIABLE");
        for (settings, named) in [
            (&[("sut.rest", "127.0.0.1:9999")][..], "http://"),
            (&[("sut.rest", url), ("sut.rest_ues", "eNB_config")], "no path"),
            (&[("sut.rest", url), ("sut.rest_login", login)], login),
        ] {
            let error = read_back(settings).0.unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
