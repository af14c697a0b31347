//! Values that a system under test reports over REST, as evidence of what it received.

use std::time::Instant;

use crate::readback::{ReadBack, ReadingKind, Readings, read};
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::{keys, metrics};

use crate::experiment::{keys, third_party};

/// Returns the keys for queries in addition to a profile, or without one.
pub fn keys(external: &[&str]) -> Vec<Key> {
    keys! {
        ("sut.rest", Kind::Text, "URL with its known base stations, e.g. http://127.0.0.1:9999/stats_manager/enb_config; read once after the measurement").optional().when("sut.type", external);
        ("sut.rest_nodes", Kind::Text, "position of base stations in that JSON: a path such as /eNB_config, / for the whole document, * for each element; lists are counted, numbers added; or a JSON path (RFC 9535) such as $[?@.state == 'online'], whose nodes are counted").optional().when("sut.type", external);
        ("sut.rest_ues", Kind::Text, "position of their UEs, e.g. /eNB_config/*/ues").optional().when("sut.type", external);
        ("sut.rest_login", Kind::Text, "environment variable with user:password for it").optional().when("sut.type", external);
    }
}

pub fn metrics() -> Vec<Metric> {
    use Better::Neither;
    let scalar = |name: &str, unit: &str, better, comment: &str| {
        Metric::new(name, unit, MetricKind::Scalar, better, comment)
    };
    let mut metrics = metrics! {
        Scalar Higher "rest_answered" "" "1: the system responded to the REST queries";
        Scalar Lower "rest_ms" "ms" "response time of these queries";
    };
    let renamed = |metric: Metric| match metric.name.as_str() {
        "rest_bytes" => metric.formerly("rest_octets"),
        "rest_bytes_per_s" => metric.formerly("rest_octets_per_s"),
        _ => metric,
    };
    for (_, name, comment) in ReadingKind::ALL {
        metrics.push(renamed(scalar(&format!("rest_{name}"), "", Neither, comment)));
    }
    for (_, name, comment) in ReadingKind::ALL.iter().skip(2) {
        let comment = format!("per second: {comment}");
        metrics.push(renamed(scalar(&format!("rest_{name}_per_s"), "1/s", Neither, &comment)));
    }
    metrics
}

/// Returns the queries: from the scenario's keys, else from the profile.
///
/// # Errors
/// Fails if an address or path in the scenario is invalid.
pub fn wanted(run: &Run<'_>) -> Result<Vec<ReadBack>, RigError> {
    if run.value("sut.rest").is_none() {
        return Ok(third_party::peer(run)?.map(|peer| peer.read_back).unwrap_or_default());
    }
    let url = keys::text(run, "sut.rest")?;
    let own = [(ReadingKind::Nodes, "sut.rest_nodes"), (ReadingKind::Ues, "sut.rest_ues")];
    let all = own.into_iter().filter_map(|(what, key)| {
        let login = run.text("sut.rest_login").unwrap_or_default().to_owned();
        Some((key, ReadBack { login, ..ReadBack::by_path(what, url, run.text(key)?) }))
    });
    let checked = all.map(|(key, one)| match one.check() {
        Ok(()) => Ok(one),
        Err(why) if url.starts_with("http://") => Err(RigError::Rig(format!("`{key}`: {why}"))),
        Err(why) => Err(RigError::Rig(format!("`sut.rest`: {why}"))),
    });
    checked.collect()
}

/// Sends the queries, if any; returns a sentence about missing or contradictory responses.
///
/// # Errors
/// Fails like [`wanted`].
pub fn record(
    run: &Run<'_>,
    recorder: &mut Recorder,
    before: Option<(Instant, Readings)>,
) -> Result<Option<String>, RigError> {
    let wanted = wanted(run)?;
    if wanted.is_empty() {
        return Ok(None);
    }
    let readings = read(&wanted);
    recorder.scalar("rest_answered", f64::from(u8::from(readings.is_ok())));
    let readings = match readings {
        Ok(readings) => readings,
        Err(why) => return Ok(Some(format!("the system under test did not answer over REST: {why}"))),
    };
    recorder.scalar("rest_ms", readings.elapsed.as_secs_f64() * 1e3);
    let name = |what| ReadingKind::ALL.iter().find(|(own, ..)| *own == what).map_or("", |(_, name, _)| name);
    let mut unread = readings.disagree;
    for (what, now) in readings.numbers {
        let metric = format!("rest_{}", name(what));
        let total = wanted.iter().any(|one| one.what == what && one.total);
        let then = before.as_ref().and_then(|(at, before)| Some((at.elapsed(), before.numbers.get(&what)?)));
        match then {
            Some((elapsed, then)) if total => {
                recorder.scalar(&metric, now - then);
                recorder.scalar(&format!("{metric}_per_s"), (now - then) / elapsed.as_secs_f64().max(1e-3));
            }
            None if total => unread.push(format!("`{metric}` could not be read before the window")),
            _ => recorder.scalar(&metric, now),
        }
    }
    Ok((!unread.is_empty()).then(|| unread.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use ranlab_campaign::plan::Point;

    use super::*;

    /// Starts a controller that gives these responses, one per connection; its thread returns the requests.
    fn controller(answers: &'static [&'static str]) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = std::thread::spawn(move || {
            let mut received = String::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut room = [0; 4096];
                let read = stream.read(&mut room).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                received.push_str(&String::from_utf8_lossy(&room[..read]));
            }
            received
        });
        (format!("http://{address}/stats_manager/enb_config"), received)
    }

    type Metrics = std::collections::BTreeMap<String, f64>;

    fn read_back(settings: &[(&str, &str)]) -> (Result<Option<String>, RigError>, Metrics) {
        let settings = settings.iter().map(|(path, value)| ((*path).to_owned(), (*value).into())).collect();
        let point = Point { index: 0, axes: Vec::new(), settings };
        let run = Run::new(&point, 0, 1, Duration::from_secs(1));
        let mut recorder = Recorder::default();
        let result = third_party::before(&run).and_then(|before| record(&run, &mut recorder, before));
        (result, recorder.finish().metrics.into_iter().collect())
    }

    #[test]
    fn controller_is_queried_once_and_its_response_recorded() {
        let (url, requests) =
            controller(&["HTTP/1.1 200 OK\r\nContent-Length: 31\r\n\r\n{\"eNB_config\": [{\"ues\": 100}]} "]);
        let (result, metrics) = read_back(&[
            ("sut.rest", &url),
            ("sut.rest_nodes", "$.eNB_config[?@.ues > 7]"),
            ("sut.rest_ues", "/eNB_config/*/ues"),
        ]);
        assert_eq!(result, Ok(None));
        assert_eq!((metrics["rest_answered"], metrics["rest_nodes"], metrics["rest_ues"]), (1.0, 1.0, 100.0));
        assert!(requests.join().unwrap().starts_with("GET /stats_manager/enb_config HTTP/1.1"));
    }

    #[test]
    fn invalid_responses_are_reported() {
        for (answer, why) in [
            ("HTTP/1.1 500 Internal\r\nContent-Length: 0\r\n\r\n", "500"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"a\":", "not JSON"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "does not contain"),
            ("garbage", "http"),
        ] {
            let (url, requests) = controller(Box::leak(Box::new([answer])));
            let (result, metrics) = read_back(&[("sut.rest", &url), ("sut.rest_nodes", "/eNB_config")]);
            let reason = result.unwrap().unwrap();
            assert!(reason.contains(why) && metrics["rest_answered"] == 0.0, "{answer}: {reason}");
            requests.join().unwrap();
        }
        assert_eq!(read_back(&[]).0, Ok(None));
        let nobody = read_back(&[("sut.rest", "http://127.0.0.1:1/"), ("sut.rest_nodes", "/")]).0;
        assert!(nobody.unwrap().unwrap().contains("http://127.0.0.1:1/"));
    }

    #[test]
    fn a_counter_is_read_before_and_after() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nmessages ";
        let answers = [format!("{text}07"), format!("{text}19")].map(|answer| &*answer.leak());
        let (url, requests) = controller(Box::leak(Box::new(answers)));
        let file = std::env::temp_dir().join(format!("ranlab-readback-{}.toml", std::process::id()));
        let profile = "name = 'x'\ntitle = 'x'\nversion = '1'\n[fill.rest]\nabout = 'its URL'\n\
                       [[read_back]]\nwhat = 'messages'\nurl = '{rest}'\npattern = 'messages (\\d+)'\ntotal = true\n";
        std::fs::write(&file, profile).unwrap();
        let (result, metrics) =
            read_back(&[("sut.peer", file.to_str().unwrap()), ("sut.fill", &format!("rest={url}"))]);
        let _ = std::fs::remove_file(file);
        assert_eq!(result, Ok(None));
        assert_eq!(metrics["rest_messages"], 12.0);
        assert!(metrics["rest_messages_per_s"] > 0.0);
        requests.join().unwrap();
    }

    #[test]
    fn invalid_setting_is_named() {
        let url = "http://127.0.0.1:1/";
        let login = "RANLAB_TEST_NO_SUCH_VARIABLE";
        for (settings, named) in [
            (&[("sut.rest", "127.0.0.1:9999"), ("sut.rest_ues", "/")][..], "http://"),
            (&[("sut.rest", url), ("sut.rest_ues", "eNB_config")], "`sut.rest_ues`"),
        ] {
            let error = read_back(settings).0.unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        let unset = read_back(&[("sut.rest", url), ("sut.rest_ues", "/"), ("sut.rest_login", login)]).0;
        assert!(unset.unwrap().unwrap().contains(login));
    }
}
