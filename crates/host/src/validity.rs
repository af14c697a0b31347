//! Whether a measurement may be believed: what others took from the machine meanwhile.

use serde::Serialize;

use crate::MachineInterval;

/// Bounds above which a measurement says more about the neighbours than about its subject.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Thresholds {
    /// Share of all CPU time that the hypervisor gave to other machines.
    pub steal_share: f64,
    /// Share of all CPU time that processes outside the experiment used.
    pub foreign_share: f64,
    /// Share of the time in which some task waited for a CPU. Counts only if strangers used the CPU as well
    /// (a tenth of [`Self::foreign_share`]): an experiment that saturates its own cores is meant to make pressure.
    pub cpu_pressure: f64,
    /// Share of the time in which some task waited for memory.
    pub memory_pressure: f64,
    /// Share of the time in which some task waited for I/O.
    pub io_pressure: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            steal_share: 0.02,
            foreign_share: 0.10,
            cpu_pressure: 0.25,
            memory_pressure: 0.05,
            io_pressure: 0.25,
        }
    }
}

/// One thing that speaks against a measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubt {
    /// What (`steal`, `foreign`, `cpu pressure` …).
    pub what: &'static str,
    /// What was found, a share.
    pub found: f64,
    /// What is allowed.
    pub bound: f64,
}

impl Doubt {
    /// For people.
    pub fn sentence(&self) -> String {
        let (found, bound) = (percent(self.found), percent(self.bound));
        match self.what {
            "steal" => {
                format!("the hypervisor gave {found} % of the CPU time to others; {bound} % are allowed")
            }
            "foreign" => {
                format!(
                    "programs outside the experiment used {found} % of the machine; {bound} % are allowed"
                )
            }
            what => format!("{found} % of the time under {what}; {bound} % are allowed"),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// Everything that speaks against a measurement. Meters that the kernel does not have raise no doubt.
pub fn doubts(
    machine: Option<&MachineInterval>,
    foreign_cores: Option<f64>,
    cpus: usize,
    thresholds: &Thresholds,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut look = |what, found: Option<f64>, bound: f64| {
        if let Some(found) = found.filter(|found| *found > bound) {
            doubts.push(Doubt { what, found, bound });
        }
    };
    let foreign = foreign_cores.map(|cores| cores / cpus.max(1) as f64);
    let pressure = machine.and_then(|machine| machine.pressure);
    let disturbed = foreign.is_none_or(|foreign| foreign > thresholds.foreign_share / 10.0);
    look("steal", machine.map(|machine| machine.steal_share), thresholds.steal_share);
    look("foreign", foreign, thresholds.foreign_share);
    look("CPU pressure", pressure.map(|p| p.cpu_s).filter(|_| disturbed), thresholds.cpu_pressure);
    look("memory pressure", pressure.map(|p| p.memory_s), thresholds.memory_pressure);
    look("I/O pressure", pressure.map(|p| p.io_s), thresholds.io_pressure);
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pressure;

    fn interval(steal_share: f64, cpu_s: f64, memory_s: f64) -> MachineInterval {
        let pressure = Some(Pressure { cpu_s, memory_s, io_s: 0.0 });
        MachineInterval { wall_s: 10.0, busy_share: 0.9, steal_share, context_switches_per_s: 1.0, pressure }
    }

    fn names(machine: MachineInterval, foreign_cores: f64) -> Vec<&'static str> {
        let found = doubts(Some(&machine), Some(foreign_cores), 2, &Thresholds::default());
        found.iter().map(|doubt| doubt.what).collect()
    }

    #[test]
    fn each_disturbance_is_found_alone() {
        assert!(names(interval(0.01, 0.1, 0.0), 0.1).is_empty());
        assert_eq!(names(interval(0.03, 0.1, 0.0), 0.0), ["steal"]);
        assert_eq!(names(interval(0.0, 0.1, 0.2), 0.0), ["memory pressure"]);
        assert_eq!(names(interval(0.0, 0.1, 0.0), 0.5), ["foreign"]);
        assert_eq!(names(interval(0.0, 0.9, 0.0), 0.05), ["CPU pressure"]);
    }

    #[test]
    fn an_experiment_that_saturates_its_own_cores_is_valid() {
        assert!(names(interval(0.0, 0.95, 0.0), 0.01).is_empty());
    }

    #[test]
    fn a_kernel_without_meters_raises_no_doubt_and_sentences_give_both_numbers() {
        assert!(doubts(None, None, 0, &Thresholds::default()).is_empty());
        let doubt = Doubt { what: "steal", found: 0.031, bound: 0.02 };
        assert_eq!(
            doubt.sentence(),
            "the hypervisor gave 3.1 % of the CPU time to others; 2.0 % are allowed"
        );
    }
}
