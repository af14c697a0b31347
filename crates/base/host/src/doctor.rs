//! Checks of the machine's setup, as data for a front end to print.

use serde::Serialize;

use crate::{Facts, MachineInterval, Sctp};

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Name of the check.
    pub name: &'static str,
    /// Result of the check.
    pub status: Status,
    /// Finding, as text.
    pub found: String,
    /// Advice on a problem; `None` without a problem.
    pub advice: Option<&'static str>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The setup is as recommended.
    Good,
    /// The setup works, but measurements are less steady, or an optional feature is not available.
    Fair,
    /// A promised feature will not work.
    Missing,
}

/// Maximum share of all CPU time that the hypervisor gives to other machines.
const STEAL_MAX: f64 = 0.02;
/// Maximum share of the time in which some task waits for a CPU.
const CPU_PRESSURE_MAX: f64 = 0.25;
/// Minimum limit of open files: enough for about 10,000 peers with their timers and logs.
const OPEN_FILES_WANTED: u64 = 16_384;
/// Exit latency of an idle state above which waking affects latencies of tens of microseconds.
const IDLE_EXIT_US: u64 = 20;
/// Minimum number of CPUs of a machine on which some CPUs can be reserved.
const ISOLATION_CPUS: usize = 4;

/// Runs all checks on the facts. With `lately`, also checks whether the machine was quiet in that interval.
pub fn checks(facts: &Facts, lately: Option<&MachineInterval>) -> Vec<Check> {
    let mut checks = vec![
        open_files(facts),
        sctp(facts),
        af_xdp(facts),
        namespaces(facts),
        iproute2(facts),
        network_probes(facts),
        virtual_functions(facts),
        card_clocks(facts),
        cpus(facts),
        smt(facts),
        governor(facts),
        boost(facts),
        idle_states(facts),
        isolation(facts),
        clock_source(facts),
        pressure(facts),
        kernel(facts),
        huge_pages(facts),
    ];
    checks.extend(lately.map(quiet));
    checks
}

fn check(name: &'static str, found: String, bad: Option<(Status, &'static str)>) -> Check {
    let (status, advice) = bad.unzip();
    Check { name, status: status.unwrap_or(Status::Good), found, advice }
}

fn open_files(facts: &Facts) -> Check {
    let show = |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let found = format!("{} now, {} at most", show(facts.open_files_soft), show(facts.open_files_hard));
    let few = facts.open_files_hard.is_some_and(|limit| limit < OPEN_FILES_WANTED);
    let advice = "raise the hard limit: `ulimit -Hn 65536` as root, or LimitNOFILE= of the service";
    check("open files", found, few.then_some((Status::Missing, advice)))
}

fn sctp(facts: &Facts) -> Check {
    let (found, bad) = match facts.sctp {
        Sctp::Loaded => ("in the kernel", None),
        Sctp::Loadable => ("a module that is not loaded", Some((Status::Fair, "`modprobe sctp` as root"))),
        Sctp::Absent => (
            "not in this kernel",
            Some((
                Status::Fair,
                "use tcp:// or unix:// between ranlab processes; `make preload` and shim:// with other programs",
            )),
        ),
    };
    check("SCTP", found.to_owned(), bad)
}

fn af_xdp(facts: &Facts) -> Check {
    let found = if facts.af_xdp { "in the kernel" } else { "not in this kernel" };
    let advice = "use `ranlab load upf --io sockets`, which does not need AF_XDP";
    check("AF_XDP", found.to_owned(), (!facts.af_xdp).then_some((Status::Fair, advice)))
}

fn namespaces(facts: &Facts) -> Check {
    let found = if facts.network_namespaces { "allowed" } else { "not allowed to this user" };
    let advice = "run as root for experiments with emulated networks";
    check(
        "network namespaces",
        found.to_owned(),
        (!facts.network_namespaces).then_some((Status::Fair, advice)),
    )
}

fn iproute2(facts: &Facts) -> Check {
    let found = if facts.iproute2 { "ip and tc" } else { "not found" };
    let advice = "install iproute2 for experiments with emulated networks (rig xhaul, `sut.tier` live)";
    check("iproute2", found.to_owned(), (!facts.iproute2).then_some((Status::Fair, advice)))
}

fn network_probes(facts: &Facts) -> Check {
    let found = match facts.network_probes.as_slice() {
        [] => "neither ping nor iperf3".to_owned(),
        some => some.join(", "),
    };
    let advice = "install iputils-ping and iperf3 to run them in parallel with ranlab's probe (rig xhaul, `live.ping`, `live.iperf3`)";
    check("network probes", found, (facts.network_probes.len() < 2).then_some((Status::Fair, advice)))
}

fn virtual_functions(facts: &Facts) -> Check {
    let ports = &facts.virtual_functions;
    let found = if ports.is_empty() { "no port with virtual functions".to_owned() } else { ports.join(", ") };
    let advice = "rig xhaul: SR-IOV is emulated by one switch port per container; these do not share the rate of one port";
    check("SR-IOV", found, ports.is_empty().then_some((Status::Fair, advice)))
}

fn card_clocks(facts: &Facts) -> Check {
    let ports = &facts.card_clocks;
    let described = |line: &String| {
        let port = line.split(':').next().unwrap_or_default();
        if crate::netns::stamps_now(port) { format!("{line} (stamps now)") } else { line.clone() }
    };
    let found = if ports.is_empty() {
        "no port with hardware time stamps".to_owned()
    } else {
        ports.iter().map(described).collect::<Vec<_>>().join(", ")
    };
    let advice = "rig xhaul on given ports uses time stamps of the kernel, which include its delays";
    check("card clocks", found, ports.is_empty().then_some((Status::Fair, advice)))
}

fn cpus(facts: &Facts) -> Check {
    let place = if facts.virtual_machine { "virtual machine" } else { "bare machine" };
    let found =
        format!("{} ({}, {place})", facts.cpus, facts.cpu_model.as_deref().unwrap_or("unknown model"));
    let advice = "load and system under test share one CPU: measure on two or more";
    check("CPUs", found, (facts.cpus < 2).then_some((Status::Fair, advice)))
}

fn smt(facts: &Facts) -> Check {
    let on = facts.smt == Some(true);
    let found = facts.smt.map_or("unknown", |on| if on { "on" } else { "off" });
    let advice = "two threads share a core: pin load and system under test to different cores";
    check("SMT", found.to_owned(), on.then_some((Status::Fair, advice)))
}

fn governor(facts: &Facts) -> Check {
    let slow = facts.governor.as_deref().is_some_and(|governor| governor != "performance");
    let found = facts.governor.clone().unwrap_or_else(|| "not under this system's control".to_owned());
    let advice = "`cpupower frequency-set -g performance` for steady measurements";
    check("frequency governor", found, slow.then_some((Status::Fair, advice)))
}

fn boost(facts: &Facts) -> Check {
    let on = facts.boost == Some(true);
    let found =
        facts.boost.map_or("not under this system's control", |on| if on { "allowed" } else { "off" });
    let advice = "the clock depends on heat and neighbours: `echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo` \
                  or `echo 0 > /sys/devices/system/cpu/cpufreq/boost` for repeatable figures";
    check("turbo", found.to_owned(), on.then_some((Status::Fair, advice)))
}

fn idle_states(facts: &Facts) -> Check {
    let deepest = facts.idle_states.iter().max_by_key(|state| state.exit_latency_us);
    let found = deepest.map_or_else(
        || "not under this system's control".to_owned(),
        |state| format!("deepest is {}, exit latency {} us", state.name, state.exit_latency_us),
    );
    let deep = deepest.is_some_and(|state| state.exit_latency_us > IDLE_EXIT_US);
    let advice = "waking a CPU adds to latency at low load: `cpupower idle-set -D 20`, or hold /dev/cpu_dma_latency at 0";
    check("idle states", found, deep.then_some((Status::Fair, advice)))
}

fn isolation(facts: &Facts) -> Check {
    let isolated = facts.isolated_cpus.clone();
    let found = match (&isolated, &facts.tickless_cpus) {
        (None, None) => "no CPU set aside".to_owned(),
        (isolated, tickless) => {
            let show = |cpus: &Option<String>| cpus.clone().unwrap_or_else(|| "none".to_owned());
            format!("isolated: {}, tickless: {}", show(isolated), show(tickless))
        }
    };
    let could = isolated.is_none() && facts.cpus >= ISOLATION_CPUS;
    let advice =
        "for tails below 100 us boot with isolcpus= and nohz_full= for the CPUs of the system under test";
    check("isolated CPUs", found, could.then_some((Status::Fair, advice)))
}

fn clock_source(facts: &Facts) -> Check {
    let slow =
        facts.clock_source.as_deref().is_some_and(|source| ["hpet", "acpi_pm", "jiffies"].contains(&source));
    let found = facts.clock_source.clone().unwrap_or_else(|| "unknown".to_owned());
    let advice =
        "each reading costs a microsecond or more: boot with clocksource=tsc if the machine's is stable";
    check("clock source", found, slow.then_some((Status::Fair, advice)))
}

fn pressure(facts: &Facts) -> Check {
    let found = if facts.pressure_information { "available" } else { "not available" };
    let advice =
        "boot with psi=1: without it, CPU contention on this machine does not invalidate a measurement";
    let bad = (!facts.pressure_information).then_some((Status::Fair, advice));
    check("pressure information", found.to_owned(), bad)
}

/// Reports the kernel, its flavour and preemption model. Never gives advice: any flavour is suitable.
fn kernel(facts: &Facts) -> Check {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let found = format!(
        "{} ({}, preemption {})",
        word(&facts.kernel),
        word(&facts.kernel_flavour),
        word(&facts.preemption)
    );
    check("kernel", found, None)
}

fn huge_pages(facts: &Facts) -> Check {
    let none = facts.huge_pages.unwrap_or(0) == 0;
    let found = format!("{} reserved", facts.huge_pages.unwrap_or(0));
    let advice = "only packet engines outside this program need them: `sysctl vm.nr_hugepages=512`";
    check("huge pages", found, none.then_some((Status::Fair, advice)))
}

fn quiet(lately: &MachineInterval) -> Check {
    let pressure = lately.pressure.map_or(0.0, |pressure| pressure.cpu_s);
    let found = format!(
        "{:.1} % stolen, {:.0} % of the time under CPU pressure",
        lately.steal_share * 100.0,
        pressure * 100.0
    );
    let noisy = lately.steal_share > STEAL_MAX || pressure > CPU_PRESSURE_MAX;
    let advice = "other programs use this machine: measurements would be invalid now";
    check("quiet", found, noisy.then_some((Status::Fair, advice)))
}

/// Reports that a test cannot run here, with the reason. Writes to standard error directly, because test harnesses
/// capture `eprintln!`; `scripts/tests.py` counts these lines.
pub fn skipped(why: impl std::fmt::Display) {
    // A failed write means that standard error is closed, so there is no reader to inform.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\nskipped: {why}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IdleState, Pressure};

    fn good() -> Facts {
        Facts {
            sctp: Sctp::Loaded,
            af_xdp: true,
            network_namespaces: true,
            iproute2: true,
            network_probes: vec!["ping", "iperf3"],
            virtual_functions: vec!["eth0: 7".into()],
            card_clocks: vec!["eth0: /dev/ptp0".into()],
            cpus: 8,
            smt: Some(false),
            governor: Some("performance".into()),
            boost: Some(false),
            idle_states: vec![IdleState { name: "C1".into(), exit_latency_us: 2 }],
            isolated_cpus: Some("2-7".into()),
            clock_source: Some("tsc".into()),
            pressure_information: true,
            huge_pages: Some(512),
            open_files_soft: Some(1024),
            open_files_hard: Some(1 << 20),
            ..Facts::read()
        }
    }

    fn interval(steal_share: f64, cpu_s: f64) -> MachineInterval {
        let pressure = Some(Pressure { cpu_s, memory_s: 0.0, io_s: 0.0 });
        MachineInterval { wall_s: 1.0, busy_share: 0.5, steal_share, context_switches_per_s: 1.0, pressure }
    }

    fn status_of(facts: &Facts, lately: Option<&MachineInterval>, name: &str) -> Status {
        checks(facts, lately).into_iter().find(|check| check.name == name).unwrap().status
    }

    #[test]
    fn machine_without_problems_gets_no_advice() {
        let checks = checks(&good(), Some(&interval(0.0, 0.1)));
        assert_eq!(checks.len(), 19);
        assert!(
            checks.iter().all(|check| check.status == Status::Good && check.advice.is_none()),
            "{checks:#?}"
        );
    }

    #[test]
    fn each_problem_yields_one_advice() {
        let deep = IdleState { name: "C6".into(), exit_latency_us: 133 };
        let lacks: [(&str, Facts, Status); 17] = [
            ("open files", Facts { open_files_hard: Some(4096), ..good() }, Status::Missing),
            ("SCTP", Facts { sctp: Sctp::Absent, ..good() }, Status::Fair),
            ("AF_XDP", Facts { af_xdp: false, ..good() }, Status::Fair),
            ("network namespaces", Facts { network_namespaces: false, ..good() }, Status::Fair),
            ("iproute2", Facts { iproute2: false, ..good() }, Status::Fair),
            ("network probes", Facts { network_probes: vec!["ping"], ..good() }, Status::Fair),
            ("SR-IOV", Facts { virtual_functions: Vec::new(), ..good() }, Status::Fair),
            ("card clocks", Facts { card_clocks: Vec::new(), ..good() }, Status::Fair),
            ("CPUs", Facts { cpus: 1, ..good() }, Status::Fair),
            ("SMT", Facts { smt: Some(true), ..good() }, Status::Fair),
            ("frequency governor", Facts { governor: Some("powersave".into()), ..good() }, Status::Fair),
            ("turbo", Facts { boost: Some(true), ..good() }, Status::Fair),
            ("idle states", Facts { idle_states: vec![deep], ..good() }, Status::Fair),
            ("isolated CPUs", Facts { isolated_cpus: None, ..good() }, Status::Fair),
            ("clock source", Facts { clock_source: Some("hpet".into()), ..good() }, Status::Fair),
            ("pressure information", Facts { pressure_information: false, ..good() }, Status::Fair),
            ("huge pages", Facts { huge_pages: Some(0), ..good() }, Status::Fair),
        ];
        for (name, facts, status) in lacks {
            assert_eq!(status_of(&facts, None, name), status, "{name}");
            assert_eq!(checks(&facts, None).iter().filter(|check| check.advice.is_some()).count(), 1);
        }
    }

    #[test]
    fn stolen_time_and_cpu_pressure_are_reported() {
        assert_eq!(status_of(&good(), Some(&interval(0.03, 0.0)), "quiet"), Status::Fair);
        assert_eq!(status_of(&good(), Some(&interval(0.0, 0.3)), "quiet"), Status::Fair);
    }
}
