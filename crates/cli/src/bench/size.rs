//! `bench size`: computes blades, racks and power from a demand and measured capacity.
use std::path::{Path, PathBuf};

use ranlab_campaign::answer::Bound;
use ranlab_campaign::expect::short;
use ranlab_campaign::objective::{Objective, ObjectiveError, ServedLoad, found, served};
use ranlab_command::verb::Context;
use ranlab_report::size::{
    Capacity, CapacityPoint, Deployment, LoadRequirement, MachineType, Measured, SloCapacity, size,
};
use ranlab_report::store::Load;
use serde::Deserialize;

use crate::exit::Failure;
use crate::output::Output;

/// Arguments of `bench size`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab bench size profile.toml\n\nA profile:\n\n  \
    [demand]\n  subscribers = 1_000_000\n  mbps_per_user = 0.1\n  sessions_per_ue_hour = 2\n  headroom = 0.2        # share of capacity that stays free\n  \
    spare_instances = 1   # N+1\n\n  [blade]\n  cores = 24\n  watts = 400\n  per_rack = 16\n  price = 5_000         # in any currency; optional\n\n  [capacity]            # measured\n  \
    users_per_core = 1000\n  cores_per_instance = 4\n  cores_measured = [1, 4]\n  law = { lambda = 1000, sigma = 0.05, kappa = 0.002 }\n\n\
    Alternative to users_per_core: a campaign and an objective. The largest load that met it gives the users per core\n\n  \
    [capacity.from]\n  campaign = \"results/my\"\n  axis = \"load.nodes\"\n  users_per_load = 32   # UEs of each base station\n  \
    metric = \"latency_us_p99\"\n  at_most = 10_000\n\n\
    For a campaign with a [search], omit axis, metric and at_most: the load that it found is used.\n\n\
    Alternative: one point of a campaign. One of its metrics gives the capacity of a core. The deployment is also computed \
    for both ends of the metric's confidence interval\n\n  \
    [capacity.at]\n  campaign = \"docs/results/tipsy/table3.json\"\n  where = { \"sut.engine\" = \"native\", \"pipeline.name\" = \"mgw\" }\n  \
    metric = \"users_per_blade\"\n  users_per_unit = 0.0416667   # a blade of 24 cores\n\n\
    Without watts, the power is what the campaign measured with energy counters, if its machine had them.")]
pub(super) struct Arguments {
    /// File of the profile
    profile: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    demand: LoadRequirement,
    blade: MachineType,
    capacity: Capacity,
}

pub(super) fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let file = arguments.profile.display();
    let text = std::fs::read_to_string(&arguments.profile)
        .map_err(|error| Failure::Usage(format!("{file} cannot be read: {error}")))?;
    let Profile { demand, mut blade, mut capacity } = toml::from_str(&text).map_err(|error| {
        Failure::Usage(format!("{file}: {}", error.to_string().trim().replace('\n', " ")))
    })?;
    let mut output = Output::new(context.format);
    let mut at_least = false;
    if let Some(from) = capacity.from.take() {
        let served = measured(&from, &arguments.profile)?;
        print_capacity(&mut output, &from, &served)?;
        let users = served.load * from.users_per_load;
        capacity.users_per_core = capacity.users_per_core.min(users / served.cores);
        capacity.users_measured = Some(users);
        at_least = served.missed_at.is_none();
    }
    let at = match capacity.at.take() {
        Some(at) => Some(at_point(&at, &arguments.profile, &mut output)?),
        None => None,
    };
    if let Some(at) = &at {
        at_least |= at.most.is_none();
        capacity.users_per_core = capacity.users_per_core.min(at.users);
        blade.watts = blade.watts.or(at.watts);
    }
    if blade.watts.is_none() {
        let why = match &at {
            Some(_) => "the measuring machine has no energy counter (RAPL)",
            None => "no campaign contains the power of a machine",
        };
        output.text(format_args!("power is unknown: [blade] has no watts, and {why}"))?;
    }
    if [capacity.users_per_core, capacity.mbps_per_core, capacity.sessions_per_s_per_core]
        .iter()
        .all(|c| c.is_infinite())
    {
        return Err(Failure::Usage(format!(
            "{file}: [capacity] needs one of users_per_core, mbps_per_core, sessions_per_s_per_core, [capacity.from] or [capacity.at]"
        )));
    }
    let sizing =
        size(&demand, &blade, &capacity).map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    output.text(format_args!(
        "{:<12} {:>14} {:>10} {:>8} {:>6} {:>9} {:>12}  {}",
        "", "users/blade", "instances", "blades", "racks", "kW", "mW/user", ""
    ))?;
    row(&mut output, "linear", &sizing.linear)?;
    let mut answer = serde_json::to_value(&sizing).unwrap_or_default();
    if at_least {
        output.text("the capacity is a lower bound: at most this many instances are needed")?;
        answer["capacity_bound"] = serde_json::to_value(Bound::AtLeast).unwrap_or_default();
    }
    let ends = at.map(|at| [("least", Some(at.least)), ("most", at.most)]);
    let ends = ends.into_iter().flatten().filter_map(|(name, users)| Some((name, users?)));
    for (name, users_per_core) in ends.filter(|(_, users)| *users > 0.0) {
        let end = Capacity { users_per_core, ..capacity.clone() };
        let end = size(&demand, &blade, &end).map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
        row(&mut output, name, &end.linear)?;
        answer[name] = serde_json::to_value(&end.linear).unwrap_or_default();
    }
    if let Some(corrected) = &sizing.corrected {
        row(&mut output, "USL", corrected)?;
    }
    output.finish(&answer)
}

/// Returns the capacity per core at a point of a campaign, and prints it.
fn at_point(at: &CapacityPoint, profile: &Path, output: &mut Output) -> Result<Measured, Failure> {
    let results = super::results_of(&beside(&at.campaign, profile), Load::Metrics)?;
    let outcome = at.measured(&results);
    let measured = outcome.map_err(|error| Failure::Usage(format!("{}: {error}", profile.display())))?;
    let ends = match measured.most {
        Some(most) => format!("{} to {}", short(measured.least), short(most)),
        None => format!("at least {}", short(measured.least)),
    };
    let power = measured.watts.map_or_else(String::new, |watts| format!(", at {} W", short(watts)));
    output.text(format_args!(
        "a core serves {} users ({ends} over {} repeats of {}){power}",
        short(measured.users),
        measured.repeats,
        at.campaign.display()
    ))?;
    Ok(measured)
}

/// Returns the path of a campaign below the profile's folder if it exists, else the path as given (relative to the working directory).
fn beside(campaign: &Path, profile: &Path) -> PathBuf {
    let beside = profile.parent().map(|folder| folder.join(campaign)).filter(|path| path.exists());
    beside.unwrap_or_else(|| campaign.to_owned())
}

/// Returns the load served in a campaign, whose path is relative to the profile.
fn measured(from: &SloCapacity, profile: &Path) -> Result<ServedLoad, Failure> {
    let results = super::results_of(&beside(&from.campaign, profile), Load::Metrics)?;
    let served = match (&from.axis, &from.metric, from.at_most) {
        (Some(axis), Some(metric), Some(at_most)) => {
            served(&results, &Objective { metric: metric.clone(), at_most }, axis, &from.cores)
        }
        (None, None, None) => found(&results, &from.cores),
        _ => Err(ObjectiveError::NoSearch),
    };
    let served = served.map_err(|error| Failure::Usage(format!("{}: {error}", profile.display())))?;
    if served.cores <= 0.0 {
        return Err(Failure::Usage(format!(
            "{}: no CPU time was measured: the metric {} of the campaign is 0",
            profile.display(),
            from.cores
        )));
    }
    Ok(served)
}

fn print_capacity(output: &mut Output, from: &SloCapacity, served: &ServedLoad) -> Result<(), Failure> {
    let axis = from.axis.as_deref().unwrap_or("the load");
    let then = match served.missed_at {
        Some(missed) => format!("the objective is missed at {axis} = {}", short(missed)),
        None => "every measured load meets the objective, so the true capacity is higher".to_owned(),
    };
    let kept = match (&from.metric, from.at_most) {
        (Some(metric), Some(at_most)) => format!("{metric} <= {} is kept", short(at_most)),
        _ => "the objective of the search is met".to_owned(),
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
        number_or_dash(deployment.kw),
        number_or_dash(deployment.mw_per_user),
        marks(deployment)
    ))
}

fn number_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), short)
}

/// Formats the price, and marks the values that were not measured.
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
