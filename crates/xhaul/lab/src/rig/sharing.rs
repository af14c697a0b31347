//! Simulated cost of sharing a network card, from the built-in profile or from a measured one.

use crate::live::{SharingKind, SharingProfile, WakeupKind};
use ranlab_xhaul::{Duration, NS, Quantiles};

use super::settings::{Cu, Sut};

/// Built-in profile. `ranlab bench sharing` measured it on the machine that the file names. The values for virtual functions are from
/// published work.
const BUILT_IN: &str = include_str!("sharing.toml");
/// Maximum size of a profile, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Way in which containers share the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Mechanism in the profile.
    Kind(SharingKind),
    /// Cost given by `sut.sharing_cost_ns`.
    Measured,
    /// No cost, for questions about the network alone.
    LeftOut,
}

impl Sharing {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "sr-iov" => Self::Kind(SharingKind::SrIov),
            "macvlan" => Self::Kind(SharingKind::Macvlan),
            "bridge" => Self::Kind(SharingKind::Bridge),
            "ipvlan" => Self::Kind(SharingKind::Ipvlan),
            "measured" => Self::Measured,
            "none" => Self::LeftOut,
            _ => Self::Kind(SharingKind::Dedicated),
        }
    }

    /// Returns the cost per frame, to and from the vBBU, for simulation and bounds.
    pub(super) fn cost(self, from: &Sut) -> Result<[Duration; 2], String> {
        if self == Self::LeftOut {
            return Ok([Duration::Constant(0), Duration::Constant(0)]);
        }
        let profile = profile(from.sharing_profile.as_deref())?;
        let known = |kind: SharingKind| match kind {
            SharingKind::SrIov => profile.scaled(kind, from.function_times),
            kind => profile.cost(kind),
        };
        let more = u64::from(from.sharing_cost_ns) * NS;
        let port = || {
            let lacks =
                || "the profile has no kind `dedicated`, to which all other kinds are compared".to_owned();
            known(SharingKind::Dedicated).ok_or_else(lacks)
        };
        let quantiles = match self {
            // A constant is added to the variation of a separate port.
            Self::Measured | Self::LeftOut => port()?.map(|port| port.later(more)),
            Self::Kind(SharingKind::Ipvlan) if more > 0 => port()?.map(|port| port.later(more)),
            Self::Kind(kind) => known(kind).ok_or_else(|| {
                let name = kind.name();
                format!(
                    "`sut.sharing` \"{name}\" needs a measured cost, which the profile lacks: set \
                     `sut.sharing_cost_ns`, or set `sut.sharing_profile` to a profile that `ranlab bench sharing` wrote on a machine \
                     with {name}"
                )
            })?,
        };
        Ok(quantiles.map(Duration::Drawn))
    }
}

/// Maximum simulated wake-up latency, in ps.
const WAKEUP_PS_MAX: u64 = 100_000_000 * NS;

/// Returns the wake-up latency of the vBBU's thread: the profile's latency, multiplied by the factor.
pub(super) fn wakeup(sut: &Sut, cu: &Cu) -> Result<Duration, String> {
    let kind = match cu.wakeup.as_str() {
        "alone" => WakeupKind::Alone,
        "shared" => WakeupKind::Shared,
        _ => return Ok(Duration::Constant(0)),
    };
    let profile = profile(sut.sharing_profile.as_deref())?;
    let lacks = || {
        format!(
            "`cu.wakeup` \"{}\" needs a measured latency, which the profile lacks: `ranlab bench sharing` writes a profile that has it",
            kind.name()
        )
    };
    let measured = profile.wakeup(kind).ok_or_else(lacks)?;
    let longest = measured.latency_ns.last().copied().unwrap_or(0);
    if f64::from(longest) * cu.wakeup_times * NS as f64 > WAKEUP_PS_MAX as f64 {
        return Err(format!(
            "`cu.wakeup_times` {}: with this factor, the longest latency of the profile, {} us, is above 100 ms",
            cu.wakeup_times,
            longest / 1000
        ));
    }
    let scaled = |ns: u32| (f64::from(ns) * cu.wakeup_times * NS as f64).round() as u64;
    let points: Vec<(f64, u64)> =
        measured.shares.iter().zip(&measured.latency_ns).map(|(&share, &ns)| (share, scaled(ns))).collect();
    // The check of the profile ensures valid quantiles.
    Quantiles::new(&points).map(Duration::Drawn).ok_or_else(lacks)
}

fn profile(file: Option<&str>) -> Result<SharingProfile, String> {
    let Some(file) = file else {
        return parsed(BUILT_IN).map_err(|why| format!("the built-in profile: {why}"));
    };
    let error_of = |why: String| format!("`sut.sharing_profile` {file}: {why}");
    let meta = std::fs::metadata(file).map_err(|error| error_of(error.to_string()))?;
    if meta.len() > BYTES_MAX {
        return Err(error_of(format!("a profile may have at most {BYTES_MAX} bytes")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| error_of(error.to_string()))?;
    parsed(&text).map_err(error_of)
}

fn parsed(text: &str) -> Result<SharingProfile, String> {
    let profile: SharingProfile =
        toml::from_str(text).map_err(|error| error.to_string().trim().replace('\n', " "))?;
    profile.check().map_err(|error| error.to_string())?;
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_ns(name: &str) -> f64 {
        let cost = Sharing::named(name).cost(&Sut::default()).unwrap();
        let [Duration::Drawn(to), Duration::Drawn(from)] = cost else { panic!("{cost:?}") };
        (to.mean_ps() + from.mean_ps()) / 2e3
    }

    #[test]
    fn costs_are_positive_and_in_measured_order() {
        let [port, function, macvlan, bridge] = ["dedicated", "sr-iov", "macvlan", "bridge"].map(mean_ns);
        assert!(
            0.0 < port && port < function && function < macvlan && macvlan < bridge,
            "{port} {function} {macvlan} {bridge}"
        );
    }

    #[test]
    fn virtual_function_cost_scales_and_stays_positive() {
        let mean_ns = |name: &str, times: f64| {
            let sut = Sut { function_times: times, ..Sut::default() };
            let [Duration::Drawn(to), Duration::Drawn(from)] = Sharing::named(name).cost(&sut).unwrap()
            else {
                panic!("drawn")
            };
            (to.mean_ps() + from.mean_ps()) / 2e3
        };
        let [half, whole, twice] = [0.5, 1.0, 2.0].map(|times| mean_ns("sr-iov", times));
        let port = mean_ns("dedicated", 2.0);
        let macvlan = mean_ns("macvlan", 2.0);
        assert!(port < half && half < whole && whole < twice && twice < macvlan);
        assert!((twice - whole - 2.0 * (whole - half)).abs() < 0.1, "{half} {whole} {twice}");
        assert_eq!(macvlan, mean_ns("macvlan", 1.0), "the factor does not change measured costs");
    }

    #[test]
    fn cost_missing_in_profile_must_be_set_and_is_added_to_port_cost() {
        let ipvlan = Sharing::named("ipvlan");
        let unknown = ipvlan.cost(&Sut::default());
        if let Err(why) = &unknown {
            assert!(why.contains("sut.sharing_cost_ns") && why.contains("bench sharing"), "{why}");
        }
        let given = Sut { sharing_cost_ns: 900, ..Sut::default() };
        for sharing in [ipvlan, Sharing::Measured] {
            let [to, _] = sharing.cost(&given).unwrap();
            assert!(to.min_ps() >= 900 * NS && to.max_ps() > 900 * NS, "{to:?}");
        }
    }

    #[test]
    fn wakeup_latency_follows_profile_and_factor() {
        let of = |kind: &str, times: f64| {
            let cu = Cu { wakeup: kind.to_owned(), wakeup_times: times, ..Cu::default() };
            wakeup(&Sut::default(), &cu)
        };
        assert_eq!(of("none", 5.0), Ok(Duration::Constant(0)));
        let longest = |kind: &str, times: f64| of(kind, times).unwrap().max_ps();
        assert!(longest("alone", 1.0) > 0 && longest("alone", 1.0) < longest("shared", 1.0));
        assert_eq!(longest("alone", 2.0), 2 * longest("alone", 1.0));
        assert_eq!(of("alone", 0.0).map(|none| none.max_ps()), Ok(0));
        let why = of("shared", 10_000.0).unwrap_err();
        assert!(why.contains("`cu.wakeup_times` 10000"), "{why}");
    }

    #[test]
    fn invalid_profile_is_named() {
        let of = |file: &str| {
            let sut = Sut { sharing_profile: Some(file.to_owned()), ..Sut::default() };
            Sharing::named("macvlan").cost(&sut).unwrap_err()
        };
        assert!(of("/no/such/profile.toml").contains("/no/such/profile.toml"));
        let file = std::env::temp_dir().join(format!("ranlab-sharing-{}.toml", std::process::id()));
        for (text, word) in [
            ("shares = 7", "shares"),
            ("machine = \"m\"\nshares = [0.0, 1.0]\nsharing = []", "lacks"),
            (
                "machine = \"m\"\nshares = [0.0, 1.0]\n[[sharing]]\nkind = \"macvlan\"\norigin = \"measured\"\nsource = \"s\"\n\
                 from_vbbu_ns = [0, 0]\nto_vbbu_ns = [1, 2]",
                "is zero",
            ),
        ] {
            std::fs::write(&file, text).unwrap();
            let why = of(&file.to_string_lossy());
            assert!(why.contains(word), "{why}");
        }
        std::fs::remove_file(&file).unwrap();
    }
}
