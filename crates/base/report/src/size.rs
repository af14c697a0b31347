//! Sizes a deployment: computes instances, blades, racks, kW and mW per user from measured capacity.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use ranlab_campaign::answer::Bound;
use ranlab_campaign::results::{PointResult, Results};
use ranlab_campaign::usl::Usl;
use ranlab_campaign::value::Value;

/// Required load of a deployment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadRequirement {
    /// Users to serve.
    pub subscribers: f64,
    /// Load per user, in Mbit/s.
    #[serde(default)]
    pub mbps_per_user: f64,
    /// Sessions that each user starts per hour.
    #[serde(default)]
    pub sessions_per_ue_hour: f64,
    /// Users per cell, to compute the number of cells.
    pub ues_per_cell: Option<f64>,
    /// Share of capacity that stays free.
    #[serde(default)]
    pub headroom: f64,
    /// Number of spare instances in addition to those that the load needs (1 for N+1).
    #[serde(default)]
    pub spare_instances: u32,
}

/// Type of machine (blade).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineType {
    /// Number of cores.
    pub cores: u32,
    /// Power under load, in W. If it is `None`, the power that was measured together with the capacity is used, if
    /// available.
    pub watts: Option<f64>,
    /// Machines in a rack.
    pub per_rack: u32,
    /// Price of one blade, in any currency.
    pub price: Option<f64>,
}

/// Measured capacity.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Campaign with the number of users per core. If it is `None`, `users_per_core` applies.
    pub from: Option<SloCapacity>,
    /// Point of a campaign with the number of users per core. If it is `None`, `users_per_core` applies.
    pub at: Option<CapacityPoint>,
    /// Users that one core serves within the objective; infinite without a limit.
    #[serde(default = "unlimited")]
    pub users_per_core: f64,
    /// Throughput of one core, Mbit/s; infinite without a limit.
    #[serde(default = "unlimited")]
    pub mbps_per_core: f64,
    /// Sessions per second that one core starts; infinite without a limit.
    #[serde(default = "unlimited")]
    pub sessions_per_s_per_core: f64,
    /// Cores of an instance.
    pub cores_per_instance: u32,
    /// The scaling law over cores. If it is `None`, there is only the linear result.
    pub law: Option<Usl>,
    /// Measured range of cores. Default: one core.
    #[serde(default = "one_core")]
    pub cores_measured: (f64, f64),
    /// Maximum number of users served at once during the measurement; `None` if it is unknown.
    #[serde(skip)]
    pub users_measured: Option<f64>,
}

/// A point of a campaign. One of its metrics is the capacity of one core.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityPoint {
    /// Folder or file of the campaign.
    pub campaign: PathBuf,
    /// Settings that identify a single point.
    #[serde(rename = "where", default)]
    pub filter: BTreeMap<String, Value>,
    /// Metric with the capacity of one core.
    pub metric: String,
    /// Number of users of a core for each unit of the metric.
    pub users_per_unit: f64,
}

/// Measured capacity of one core at a point of a campaign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Users that one core serves.
    pub users: f64,
    /// Lower end of the interval of the users.
    pub least: f64,
    /// Upper end of the interval of the users; `None` if the capacity is a lower bound, so that the true capacity is
    /// higher.
    pub most: Option<f64>,
    /// Number of repeats in which the capacity was measured.
    pub repeats: usize,
    /// Power of the machine during the measurement, W, if it could be read.
    pub watts: Option<f64>,
}

/// Metric with the power of the measuring machine.
const POWER: &str = "host.power_w";

impl CapacityPoint {
    /// Returns the campaign's numbers.
    ///
    /// # Errors
    /// Returns a sentence if no point or several points have these settings, or the point has no such number above 0.
    pub fn measured(&self, results: &Results) -> Result<Measured, String> {
        let points: Vec<&PointResult> = results.matching(&self.filter).collect();
        let [point] = points[..] else {
            let count = points.len();
            return Err(format!("`where` names {count} points of the campaign; it must be one"));
        };
        let answer = |name: &str| results.answer(point, name);
        let rate = answer(&self.metric).filter(|answer| answer.value > 0.0 && answer.value.is_finite());
        let rate = rate.ok_or_else(|| {
            let label = point.point.label();
            let why = point.runs.first().map_or("", |run| &run.recording.reason);
            format!("`{}` was not measured at {label} {why}", self.metric)
        })?;
        if rate.bound == Bound::AtMost {
            return Err(format!(
                "`{}` is {}, an upper bound, which is not a capacity",
                self.metric,
                rate.text()
            ));
        }
        let (low, high) = rate.ends();
        let low = low.unwrap_or(rate.value);
        let users = |value: f64| value * self.users_per_unit;
        Ok(Measured {
            // With few repeats an interval may include impossible values.
            users: users(rate.value),
            least: users(low.max(0.0)),
            most: high.map(users),
            repeats: rate.n,
            watts: answer(POWER).map(|watts| watts.value).filter(|watts| *watts > 0.0),
        })
    }
}

/// A campaign whose points state the load served within a service level. For a campaign with a search, axis, metric and
/// bound are omitted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SloCapacity {
    /// Folder or file of the campaign.
    pub campaign: PathBuf,
    /// Axis with the load.
    pub axis: Option<String>,
    /// Number of users for each unit of the load.
    pub users_per_load: f64,
    /// Metric with the service level.
    pub metric: Option<String>,
    /// Upper limit of the metric.
    pub at_most: Option<f64>,
    /// Metric with the number of busy cores.
    #[serde(default = "cpu_cores")]
    pub cores: String,
}

fn unlimited() -> f64 {
    f64::INFINITY
}

fn one_core() -> (f64, f64) {
    (0.0, 1.0)
}

fn cpu_cores() -> String {
    "sut.cpu_cores".to_owned()
}

/// A deployment for a required load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deployment {
    /// Users that one blade serves.
    pub users_per_blade: f64,
    /// Number of instances, including spares.
    pub instances: u64,
    /// Number of blades.
    pub blades: u64,
    /// Number of racks.
    pub racks: u64,
    /// Power, in kW; `None` if the power of a blade is unknown.
    pub kw: Option<f64>,
    /// Power per user, mW.
    pub mw_per_user: Option<f64>,
    /// Number of cells, if the users per cell are known.
    pub cells: Option<u64>,
    /// Price of all blades, in the currency of the price of one blade.
    pub price: Option<f64>,
    /// Price of all blades per user.
    pub price_per_user: Option<f64>,
    /// Whether an instance has a number of cores outside the measured range.
    pub extrapolated: bool,
    /// Whether an instance serves more users than were served while its capacity was measured.
    pub beyond_load: bool,
}

/// Two results: with linear scaling over cores, and with the scaling law.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sizing {
    /// Result with capacity proportional to the number of cores.
    pub linear: Deployment,
    /// Result corrected by the scaling law, if there is one.
    pub corrected: Option<Deployment>,
}

/// Reason why the input of a sizing is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// A number must be above 0.
    #[error("`{0}` must be above 0")]
    NotPositive(&'static str),
    /// The headroom is not a share.
    #[error("`headroom` must be at least 0 and below 1")]
    Headroom,
    /// An instance does not fit a blade.
    #[error("an instance of {instance} cores does not fit a blade of {blade}")]
    InstanceTooLarge {
        /// Cores of an instance.
        instance: u32,
        /// Cores of a blade.
        blade: u32,
    },
}

/// Sizes a deployment.
///
/// # Errors
/// The input is invalid; see [`SizeError`].
pub fn size(demand: &LoadRequirement, blade: &MachineType, capacity: &Capacity) -> Result<Sizing, SizeError> {
    check(demand, blade, capacity)?;
    let cores = f64::from(capacity.cores_per_instance);
    let linear = deploy(demand, blade, capacity, cores);
    // The law states how many times faster `cores` cores are than one core.
    let corrected = capacity.law.map(|law| deploy(demand, blade, capacity, law.at(cores) / law.at(1.0)));
    Ok(Sizing { linear, corrected })
}

fn check(demand: &LoadRequirement, blade: &MachineType, capacity: &Capacity) -> Result<(), SizeError> {
    let positive = [
        ("subscribers", demand.subscribers),
        ("blade.cores", f64::from(blade.cores)),
        ("blade.watts", blade.watts.unwrap_or(1.0)),
        ("blade.per_rack", f64::from(blade.per_rack)),
        ("blade.price", blade.price.unwrap_or(1.0)),
        ("users_per_core", capacity.users_per_core),
        ("mbps_per_core", capacity.mbps_per_core),
        ("sessions_per_s_per_core", capacity.sessions_per_s_per_core),
        ("cores_per_instance", f64::from(capacity.cores_per_instance)),
    ];
    if let Some((name, _)) = positive.into_iter().find(|(_, value)| value.is_nan() || *value <= 0.0) {
        return Err(SizeError::NotPositive(name));
    }
    if !(0.0..1.0).contains(&demand.headroom) {
        return Err(SizeError::Headroom);
    }
    if capacity.cores_per_instance > blade.cores {
        let instance = capacity.cores_per_instance;
        let blade = blade.cores;
        return Err(SizeError::InstanceTooLarge { instance, blade });
    }
    Ok(())
}

/// Computes a deployment. `gain` is the capacity of an instance, as a multiple of the capacity of one core.
fn deploy(demand: &LoadRequirement, blade: &MachineType, capacity: &Capacity, gain: f64) -> Deployment {
    let by_rate =
        |per_core: f64, per_user: f64| if per_user > 0.0 { per_core / per_user } else { f64::INFINITY };
    let users_per_core = capacity
        .users_per_core
        .min(by_rate(capacity.mbps_per_core, demand.mbps_per_user))
        .min(by_rate(capacity.sessions_per_s_per_core, demand.sessions_per_ue_hour / 3600.0));
    let users_per_instance = users_per_core * gain * (1.0 - demand.headroom);
    let instances_per_blade = u64::from(blade.cores / capacity.cores_per_instance);
    let instances = round_up(demand.subscribers / users_per_instance) + u64::from(demand.spare_instances);
    let blades = instances.div_ceil(instances_per_blade);
    let watts = blade.watts.map(|watts| blades as f64 * watts);
    let cores = f64::from(capacity.cores_per_instance);
    Deployment {
        users_per_blade: users_per_instance * instances_per_blade as f64,
        instances,
        blades,
        racks: blades.div_ceil(u64::from(blade.per_rack)),
        kw: watts.map(|watts| watts / 1e3),
        mw_per_user: watts.map(|watts| watts * 1e3 / demand.subscribers),
        price: blade.price.map(|price| price * blades as f64),
        price_per_user: blade.price.map(|price| price * blades as f64 / demand.subscribers),
        beyond_load: capacity.users_measured.is_some_and(|most| users_per_instance > most * (1.0 + 1e-9)),
        cells: demand.ues_per_cell.map(|ues| round_up(demand.subscribers / ues)),
        extrapolated: cores < capacity.cores_measured.0 || cores > capacity.cores_measured.1,
    }
}

/// Rounds up, but ignores an excess that is only a rounding error.
fn round_up(value: f64) -> u64 {
    (value - 1e-9 * value.abs()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLADE: MachineType = MachineType { cores: 24, watts: Some(500.0), per_rack: 16, price: None };

    fn demand(subscribers: f64) -> LoadRequirement {
        LoadRequirement {
            subscribers,
            mbps_per_user: 0.0,
            sessions_per_ue_hour: 0.0,
            ues_per_cell: None,
            headroom: 0.0,
            spare_instances: 0,
        }
    }

    fn capacity(users_per_core: f64) -> Capacity {
        Capacity {
            from: None,
            at: None,
            users_per_core,
            mbps_per_core: f64::INFINITY,
            sessions_per_s_per_core: f64::INFINITY,
            cores_per_instance: 1,
            law: None,
            cores_measured: (1.0, 1.0),
            users_measured: None,
        }
    }

    /// Whether a number, rounded to the digits of a printed number, equals the printed number. Zeros at the end of a
    /// printed number, such as in 140 or 20, are not significant.
    fn prints(value: f64, printed: u32) -> bool {
        let mut unit = 1.0;
        while f64::from(printed) % (unit * 10.0) == 0.0 {
            unit *= 10.0;
        }
        ((value / unit).round() * unit) as u32 == printed
    }

    /// TIPSY, Table III and §VI: 24 cores and 500 W a blade, 16 blades a rack, linear scaling.
    #[test]
    fn sizing_matches_tipsy_table_iii() {
        for (switch, subscribers, per_blade, blades, racks, kw, mw) in [
            ("bng BESS", 768e3, 4320.0, 178, 12, 89, 116),
            ("bng OVS", 768e3, 7200.0, 107, 7, 54, 70),
            ("bng ESwitch", 768e3, 24000.0, 32, 2, 16, 21),
            ("mgw BESS", 1e6, 3600.0, 278, 18, 140, 140),
            ("mgw OVS", 1e6, 24000.0, 42, 3, 20, 20),
            ("mgw ESwitch", 1e6, 64000.0, 16, 1, 8, 8),
        ] {
            let ours = size(&demand(subscribers), &BLADE, &capacity(per_blade / 24.0)).unwrap().linear;
            assert_eq!((ours.blades, ours.racks), (blades, racks), "{switch}");
            assert!((ours.users_per_blade - per_blade).abs() < 1e-6);
            let ours_kw = ours.kw.unwrap();
            let ours_mw = ours.mw_per_user.unwrap();
            assert!(prints(ours_kw, kw), "{switch}: {ours_kw} kW, printed {kw}");
            assert!(prints(ours_mw, mw), "{switch}: {ours_mw} mW, printed {mw}");
        }
    }

    /// TIPSY, §VI: with 1 Gbit/s per core and 3 Mbit/s per user, or with 300 users per core, 768,000 users need 2,560
    /// cores.
    #[test]
    fn sizing_matches_tipsy_example() {
        let demand = LoadRequirement { mbps_per_user: 3.0, ..demand(768e3) };
        let capacity = Capacity { mbps_per_core: 1024.0, ..capacity(300.0) };
        let ours = size(&demand, &BLADE, &capacity).unwrap().linear;
        assert_eq!((ours.instances, ours.blades, ours.racks), (2560, 107, 7));
    }

    #[test]
    fn law_headroom_and_spares_add_machines() {
        let law = Usl { lambda: 2.5, sigma: 0.002, kappa: 0.008 };
        let one = Capacity {
            cores_per_instance: 12,
            law: Some(law),
            cores_measured: (1.0, 10.0),
            ..capacity(300.0)
        };
        let sizing = size(&demand(768e3), &BLADE, &one).unwrap();
        let corrected = sizing.corrected.unwrap();
        assert_eq!(sizing.linear.blades, 107);
        // Each of 12 cores serves only `X(12) / (12 * X(1)) = 1 / (1 + 0.022 + 1.056)` = 0.4812 of the users of a single core.
        assert_eq!(corrected.blades, 222);
        assert!(
            corrected.extrapolated,
            "a result for 12 cores must be marked as extrapolated, because 10 were measured"
        );
        let spare = LoadRequirement {
            headroom: 0.2,
            spare_instances: 1,
            ues_per_cell: Some(100.0),
            ..demand(24_000.0)
        };
        let ours = size(&spare, &BLADE, &capacity(100.0)).unwrap().linear;
        assert_eq!((ours.instances, ours.cells), (301, Some(240)));
    }

    #[test]
    fn prices_add_up_and_unmeasured_load_is_marked() {
        let blade = MachineType { price: Some(5000.0), ..BLADE };
        let demand = demand(768e3);
        // An instance with 12 cores and 300 users per core serves 3,600 users, but only 3,000 were served at once in
        // the measurement.
        let one = Capacity { cores_per_instance: 12, users_measured: Some(3000.0), ..capacity(300.0) };
        let ours = size(&demand, &blade, &one).unwrap().linear;
        assert_eq!((ours.blades, ours.price, ours.beyond_load), (107, Some(535_000.0), true));
        assert!((ours.price_per_user.unwrap() - 535e3 / 768e3).abs() < 1e-9);
        let within = LoadRequirement { headroom: 0.2, ..demand };
        assert!(!size(&within, &blade, &one).unwrap().linear.beyond_load, "2,880 with headroom");
    }

    #[test]
    fn invalid_sizing_inputs_are_rejected_with_reason() {
        assert_eq!(size(&demand(0.0), &BLADE, &capacity(1.0)), Err(SizeError::NotPositive("subscribers")));
        assert_eq!(
            size(&LoadRequirement { headroom: 1.0, ..demand(1.0) }, &BLADE, &capacity(1.0)),
            Err(SizeError::Headroom)
        );
        let large = Capacity { cores_per_instance: 25, ..capacity(1.0) };
        assert_eq!(
            size(&demand(1.0), &BLADE, &large),
            Err(SizeError::InstanceTooLarge { instance: 25, blade: 24 })
        );
    }
}
