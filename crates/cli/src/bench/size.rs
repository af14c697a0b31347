//! `bench size`: from a demand and measured capacity to blades, racks and power.
use std::path::{Path, PathBuf};

use ranlab_campaign::expect::short;
use ranlab_campaign::objective::{Objective, ObjectiveError, Served, found, served};
use ranlab_campaign::size::{Blade, Capacity, Demand, Deployment, size};
use ranlab_campaign::store::Load;
use ranlab_campaign::usl::Usl;
use serde::Deserialize;

use crate::exit::Failure;
use crate::output::{Format, Output};

/// Arguments of `bench size`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab bench size profile.toml\n\nA profile:\n\n  \
    [demand]\n  subscribers = 1_000_000\n  mbps_per_user = 0.1\n  sessions_per_ue_hour = 2\n  headroom = 0.2        # share of capacity that stays free\n  \
    spare_instances = 1   # N+1\n\n  [blade]\n  cores = 24\n  watts = 400\n  per_rack = 16\n  price = 5_000         # in any currency; may be left out\n\n  [capacity]            # measured\n  \
    users_per_core = 1000\n  cores_per_instance = 4\n  cores_measured = [1, 4]\n  law = { lambda = 1000, sigma = 0.05, kappa = 0.002 }\n\n\
    Instead of users_per_core, a campaign and an objective: the largest load that kept it gives the users of a core\n\n  \
    [capacity.from]\n  campaign = \"results/my\"\n  axis = \"load.nodes\"\n  users_per_load = 32   # UEs of each base station\n  \
    metric = \"latency_us_p99\"\n  at_most = 10_000\n\n\
    Of a campaign with a [search] neither axis nor metric nor at_most: the load that it found counts.")]
pub(super) struct Arguments {
    /// The profile
    profile: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    demand: Wanted,
    blade: Machine,
    capacity: Measured,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    subscribers: f64,
    #[serde(default)]
    mbps_per_user: f64,
    #[serde(default)]
    sessions_per_ue_hour: f64,
    ues_per_cell: Option<f64>,
    #[serde(default)]
    headroom: f64,
    #[serde(default)]
    spare_instances: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    cores: u32,
    watts: f64,
    per_rack: u32,
    price: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    from: Option<Within>,
    users_per_core: Option<f64>,
    mbps_per_core: Option<f64>,
    sessions_per_s_per_core: Option<f64>,
    cores_per_instance: u32,
    cores_measured: Option<(f64, f64)>,
    law: Option<Law>,
}

/// A campaign whose points say what is served within a service level.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Within {
    campaign: PathBuf,
    axis: Option<String>,
    users_per_load: f64,
    metric: Option<String>,
    at_most: Option<f64>,
    #[serde(default = "cpu_cores")]
    cores: String,
}

fn cpu_cores() -> String {
    "sut.cpu_cores".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    lambda: f64,
    sigma: f64,
    kappa: f64,
}

pub(super) fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let file = arguments.profile.display();
    let text = std::fs::read_to_string(&arguments.profile)
        .map_err(|error| Failure::Usage(format!("{file} cannot be read: {error}")))?;
    let profile: Profile = toml::from_str(&text).map_err(|error| {
        Failure::Usage(format!("{file}: {}", error.to_string().trim().replace('\n', " ")))
    })?;
    let from = profile.capacity.from.clone();
    let mut output = Output::new(format);
    let (demand, mut capacity) = inputs(profile);
    if let Some(from) = from {
        let served = measured(&from, &arguments.profile)?;
        tell(&mut output, &from, &served)?;
        let users = served.load * from.users_per_load;
        capacity.users_per_core = capacity.users_per_core.min(users / served.cores);
        capacity.users_measured = Some(users);
    }
    if [capacity.users_per_core, capacity.mbps_per_core, capacity.sessions_per_s_per_core]
        .iter()
        .all(|c| c.is_infinite())
    {
        return Err(Failure::Usage(format!(
            "{file}: [capacity] needs one of users_per_core, mbps_per_core, sessions_per_s_per_core, or [capacity.from]"
        )));
    }
    let sizing = size(&demand, &capacity).map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    output.text(format_args!(
        "{:<12} {:>14} {:>10} {:>8} {:>6} {:>9} {:>12}  {}",
        "", "users/blade", "instances", "blades", "racks", "kW", "mW/user", ""
    ))?;
    row(&mut output, "linear", &sizing.linear)?;
    if let Some(corrected) = &sizing.corrected {
        row(&mut output, "USL", corrected)?;
    }
    output.finish(&sizing)
}

fn inputs(profile: Profile) -> (Demand, Capacity) {
    let Profile { demand, blade, capacity } = profile;
    let unlimited = |value: Option<f64>| value.unwrap_or(f64::INFINITY);
    (
        Demand {
            subscribers: demand.subscribers,
            mbps_per_user: demand.mbps_per_user,
            sessions_per_ue_hour: demand.sessions_per_ue_hour,
            ues_per_cell: demand.ues_per_cell,
            blade: Blade {
                cores: blade.cores,
                watts: blade.watts,
                per_rack: blade.per_rack,
                price: blade.price,
            },
            headroom: demand.headroom,
            spare_instances: demand.spare_instances,
        },
        Capacity {
            users_per_core: unlimited(capacity.users_per_core),
            mbps_per_core: unlimited(capacity.mbps_per_core),
            sessions_per_s_per_core: unlimited(capacity.sessions_per_s_per_core),
            cores_per_instance: capacity.cores_per_instance,
            law: capacity.law.map(|law| Usl { lambda: law.lambda, sigma: law.sigma, kappa: law.kappa }),
            // What nobody says was measured, was measured with one core.
            cores_measured: capacity.cores_measured.unwrap_or((0.0, 1.0)),
            users_measured: None,
        },
    )
}

/// The campaign's answer; its path is relative to the profile.
fn measured(from: &Within, profile: &Path) -> Result<Served, Failure> {
    let beside = profile.parent().map(|folder| folder.join(&from.campaign)).filter(|path| path.exists());
    let results = super::results_of(&beside.unwrap_or_else(|| from.campaign.clone()), Load::Metrics)?;
    let served = match (&from.axis, &from.metric, from.at_most) {
        (Some(axis), Some(metric), Some(at_most)) => {
            served(&results, &Objective { metric: metric.clone(), at_most }, axis, &from.cores)
        }
        (None, None, None) => found(&results, &from.cores),
        _ => Err(ObjectiveError::NoSearch),
    };
    let served = served.map_err(|error| Failure::Usage(format!("{}: {error}", profile.display())))?;
    if served.cores <= 0.0 {
        let what = format!("{}: the campaign measured no CPU time in {}", profile.display(), from.cores);
        return Err(Failure::Usage(what));
    }
    Ok(served)
}

fn tell(output: &mut Output, from: &Within, served: &Served) -> Result<(), Failure> {
    let axis = from.axis.as_deref().unwrap_or("the load");
    let then = match served.missed_at {
        Some(missed) => format!("{axis} = {} misses it", short(missed)),
        None => "no load that was measured misses it: the true capacity is above".to_owned(),
    };
    let kept = match (&from.metric, from.at_most) {
        (Some(metric), Some(at_most)) => format!("{metric} <= {} is kept", short(at_most)),
        _ => "what the search looked for is kept".to_owned(),
    };
    output.text(format_args!(
        "{kept} up to {axis} = {} with {} cores busy; {then}",
        short(served.load),
        short(served.cores)
    ))
}

fn row(output: &mut Output, name: &str, deployment: &Deployment) -> Result<(), Failure> {
    output.text(format_args!(
        "{name:<12} {:>14} {:>10} {:>8} {:>6} {:>9} {:>12}  {}",
        short(deployment.users_per_blade),
        deployment.instances,
        deployment.blades,
        deployment.racks,
        short(deployment.kw),
        short(deployment.mw_per_user),
        marks(deployment)
    ))
}

/// Price, and what nobody measured.
fn marks(deployment: &Deployment) -> String {
    let price = deployment.price.zip(deployment.price_per_user);
    [
        price.map(|(all, each)| format!("costs {}, {} a user", short(all), short(each))),
        deployment.extrapolated.then(|| "extrapolated beyond the cores that were measured".to_owned()),
        deployment.beyond_load.then(|| "extrapolated beyond the load that was measured".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join("; ")
}
