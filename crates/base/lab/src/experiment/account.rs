//! Records the resources that a system under test uses, and finds the addresses on which it listens.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ranlab_campaign::metrics;
use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Metric, RigError, Run};
use ranlab_campaign::value::Value;
use ranlab_transport::Address;

use crate::experiment::keys;
use crate::experiment::profile::SystemProfile;
use crate::worker::{ProcessReport, Report};

/// Name of the metric for CPU usage. [`record`] records it for every rig that lists it.
pub const CPU_CORES: &str = "sut.cpu_cores";

pub fn metrics() -> Vec<Metric> {
    metrics! {
        Series Lower "sut.cpu_cores" "cores" "CPU cores that the controller uses, by process";
        Scalar Lower "sut.cpu_share" "" "CPU time as a share of the whole machine";
        Series Lower "sut.rss_mb" "MB" "resident memory of the controller";
        Scalar Lower "sut.rss_peak_mb" "MB" "maximum resident memory";
        Scalar Lower "sut.pss_mb" "MB" "proportional set size: shared memory is divided among the processes";
        Scalar Lower "sut.context_switches_per_s" "1/s" "context switches of all its threads";
        Scalar Lower "sut.faults_per_s" "1/s" "page faults of its processes";
        Scalar Neither "sut.processes" "" "number of its processes";
        Scalar Lower "sut.stopped_s" "s" "time for which a process of a third-party system was stopped by a signal";
    }
}

/// Returns the reason why the controller of a point cannot be reached, if its settings show that.
pub fn refused(settings: &BTreeMap<String, Value>) -> Option<String> {
    let text = |path: &str| settings.get(path).and_then(Value::text);
    if text("sut.type") != Some("external") {
        return None;
    }
    let addresses = ["sut.e2", "sut.e42"].into_iter().filter_map(text).collect::<Vec<_>>();
    if addresses.is_empty() {
        // A controller without these addresses uses another protocol than E2.
        return None;
    }
    let peer = match SystemProfile::load(text("sut.peer").unwrap_or("ranlab")) {
        Ok(peer) => peer,
        Err(error) => return Some(error.to_string()),
    };
    addresses.into_iter().find_map(|address| {
        let scheme = address.split_once("://").map_or("tcp", |(scheme, _)| scheme);
        let missing = || match scheme {
            "sctp" => ranlab_net::sctp_support()
                .err()
                .map(|why| format!("{address}: {why}; docs/how-to/gateway.md has alternatives")),
            _ => None,
        };
        peer.refuses(scheme).or_else(missing)
    })
}

/// Records the sum over the processes, sample by sample; their clocks agree within some milliseconds.
pub fn record(recorder: &mut Recorder, reports: &[&Report], duration: Duration) {
    let metered: Vec<_> =
        reports.iter().filter_map(|report| Some((*report, report.process.as_ref()?))).collect();
    let Some(samples) = metered.iter().map(|(_, process)| process.series.len()).min() else { return };
    let sum =
        |of: &dyn Fn(&ProcessReport) -> f64| -> f64 { metered.iter().map(|(_, process)| of(process)).sum() };
    for index in 0..samples {
        // The last sample may be taken just after the end.
        let at = Duration::from_secs_f64(metered[0].1.series[index].0).min(duration);
        recorder.sample(CPU_CORES, at, sum(&|process| process.series[index].1));
        recorder.sample("sut.rss_mb", at, sum(&|process| process.series[index].2 as f64 / 1e6));
    }
    let wall_s = metered[0].0.wall_s.max(1e-3);
    recorder.scalar("sut.rss_peak_mb", sum(&|process| process.rss_peak_bytes as f64 / 1e6));
    let pss: Option<u64> = metered.iter().map(|(_, process)| process.pss_bytes).sum();
    if let Some(pss) = pss {
        recorder.scalar("sut.pss_mb", pss as f64 / 1e6);
    }
    recorder.scalar("sut.context_switches_per_s", sum(&|process| process.context_switches as f64 / wall_s));
    recorder.scalar("sut.faults_per_s", sum(&|process| process.faults as f64 / wall_s));
    recorder.scalar("sut.processes", sum(&|process| process.processes.max(1) as f64));
    if let Some(machine) = metered[0].0.machine {
        recorder.scalar("sut.cpu_share", sum(&|process| process.cpu_s / wall_s) / machine.cpus.max(1) as f64);
    }
}

/// Returns the IP address that the controller is to listen on.
pub fn ip(run: &Run<'_>) -> Result<IpAddr, RigError> {
    let text = keys::text(run, "sut.listen")?;
    let wrong = |_| RigError::Rig(format!("`sut.listen`: \"{text}\" is not an IP address"));
    text.parse().map_err(wrong)
}

/// Returns the address `name` from the addresses that a component reported.
pub fn address(addresses: &BTreeMap<String, String>, name: &str) -> Result<Address, RigError> {
    let missing = || RigError::Rig(format!("the component does not report its address `{name}`"));
    let text = addresses.get(name).ok_or_else(missing)?;
    text.parse().map_err(|error| RigError::Rig(format!("`{name}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_controllers_are_rejected_in_preview() {
        let of = |kind: &str, peer: &str, e2: &str| {
            let settings = [("sut.type", kind), ("sut.peer", peer), ("sut.e2", e2), ("sut.e42", e2)];
            refused(&settings.map(|(path, text)| (path.to_owned(), Value::Text(text.to_owned()))).into())
        };
        let reason = of("external", "flexric", "unix:///run/e2").unwrap();
        assert!(reason.contains("speaks sctp, shim, tcp and not unix"), "{reason}");
        // These are addresses of a gateway in front of the controller.
        assert_eq!(of("external", "flexric", "tcp://10.0.0.9:36421"), None);
        assert_eq!(of("external", "flexric", "shim:///run/e2/10.0.0.9:36421"), None);
        assert_eq!(of("external", "ranlab", "tcp://10.0.0.9:36421"), None);
        assert_eq!(of("ranlab", "flexric", "tcp://10.0.0.9:36421"), None);
        assert!(of("external", "flexran2", "tcp://10.0.0.9:36421").unwrap().contains("no profile"));
        let reason = of("external", "flexric", "sctp://10.0.0.9:36421");
        assert_eq!(reason.is_some(), ranlab_net::sctp_support().is_err(), "{reason:?}");
    }
}
