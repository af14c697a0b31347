//! Energy use of this machine's processors, from the kernel's counters of their packages (powercap, RAPL).

use std::path::PathBuf;

use crate::read;

/// Folder of the kernel's energy counters.
const POWERCAP: &str = "/sys/class/powercap";

/// Reason why the power cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PowerError {
    /// No counter of a package.
    #[error(
        "{0} (intel-rapl) contains no energy counter of a processor; virtual machines and kernels without powercap have no such counters"
    )]
    None(String),
    /// The counters exist and may not be read.
    #[error("{0} may not be read: only root can read energy counters")]
    Denied(String),
}

/// Reads the energy of all processor packages.
#[derive(Debug, Clone)]
pub struct PowerMeter {
    /// Folders of the packages.
    packages: Vec<PathBuf>,
}

/// Counters of all packages at one moment, µJ, each with the value at which it wraps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerSample(Vec<(u64, u64)>);

impl PowerMeter {
    /// Opens the counters of this machine's packages.
    ///
    /// # Errors
    /// No package has a counter, or this user may not read it.
    pub fn new() -> Result<Self, PowerError> {
        Self::at(POWERCAP.into())
    }

    fn at(root: PathBuf) -> Result<Self, PowerError> {
        let zones = std::fs::read_dir(&root).into_iter().flatten().flatten().map(|entry| entry.path());
        // Zones within packages (cores, memory) are part of them; `psys` covers the whole platform and
        // contains them.
        let package = |path: &PathBuf| {
            read(path.join("name")).is_ok_and(|name| name.trim_start().starts_with("package"))
        };
        let mut packages: Vec<PathBuf> = zones.filter(package).collect();
        packages.sort();
        if packages.is_empty() {
            return Err(PowerError::None(root.display().to_string()));
        }
        let own = Self { packages };
        own.sample().map(|_| own)
    }

    /// Reads the counters.
    ///
    /// # Errors
    /// A counter may not be read.
    pub fn sample(&self) -> Result<PowerSample, PowerError> {
        let one = |package: &PathBuf| {
            let file = package.join("energy_uj");
            let number = |path: PathBuf| read(path).ok()?.trim().parse::<u64>().ok();
            let now = number(file.clone()).ok_or_else(|| PowerError::Denied(file.display().to_string()))?;
            Ok((now, number(package.join("max_energy_range_uj")).unwrap_or(u64::MAX)))
        };
        self.packages.iter().map(one).collect::<Result<_, _>>().map(PowerSample)
    }
}

impl PowerSample {
    /// Returns the joules that all packages used since `earlier`. A counter that decreased has wrapped once. `None` if
    /// `earlier` is from another machine.
    #[must_use]
    pub fn joules_since(&self, earlier: &Self) -> Option<f64> {
        if self.0.len() != earlier.0.len() {
            return None;
        }
        let one = |((now, range), (then, _)): (&(u64, u64), &(u64, u64))| {
            now.checked_sub(*then).unwrap_or_else(|| range.saturating_sub(*then).saturating_add(*now))
        };
        Some(self.0.iter().zip(&earlier.0).map(one).map(|uj| uj as f64 / 1e6).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn machine(name: &str, zones: &[(&str, &str, Option<u64>)]) -> Folder {
        let root = std::env::temp_dir().join(format!("ranlab-power-{}-{name}", std::process::id()));
        for (zone, kind, energy) in zones {
            let folder = root.join(zone);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("name"), format!("{kind}\n")).unwrap();
            std::fs::write(folder.join("max_energy_range_uj"), "1000000000\n").unwrap();
            if let Some(energy) = energy {
                std::fs::write(folder.join("energy_uj"), format!("{energy}\n")).unwrap();
            }
        }
        std::fs::create_dir_all(&root).unwrap();
        Folder(root)
    }

    #[test]
    fn packages_add_up_across_counter_wrap() {
        let zones = [
            ("intel-rapl:0", "package-0", Some(999_000_000)),
            ("intel-rapl:0:0", "core", Some(5)),
            ("intel-rapl:1", "package-1", Some(10)),
            ("intel-rapl:2", "psys", Some(7)),
        ];
        let folder = machine("two", &zones);
        let meter = PowerMeter::at(folder.0.clone()).unwrap();
        let before = meter.sample().unwrap();
        // The first counter wrapped: it counted 1 J up to its end and 3 J after that. The second counter advanced by 2
        // J.
        std::fs::write(folder.0.join("intel-rapl:0/energy_uj"), "3000000\n").unwrap();
        std::fs::write(folder.0.join("intel-rapl:1/energy_uj"), "2000010\n").unwrap();
        let joules = meter.sample().unwrap().joules_since(&before).unwrap();
        assert!((joules - 6.0).abs() < 1e-9, "{joules}");
        assert_eq!(before.joules_since(&PowerSample(Vec::new())), None);
    }

    #[test]
    fn unreadable_counter_is_an_error() {
        let empty = machine("none", &[]);
        assert!(matches!(PowerMeter::at(empty.0.clone()), Err(PowerError::None(_))));
        let hidden = machine("hidden", &[("intel-rapl:0", "package-0", None)]);
        let error = PowerMeter::at(hidden.0.clone()).unwrap_err();
        assert!(error.to_string().contains("energy_uj may not be read"), "{error}");
    }
}
