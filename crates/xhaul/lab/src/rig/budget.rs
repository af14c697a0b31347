//! Budgets of a cell's flows: named transport classes, and the receive windows of an O-RAN fronthaul.

use std::time::Duration;

use ranlab_campaign::rig::Run;
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::{Value, parse_span};
use ranlab_xhaul::{
    DelayWindow, Direction, Flow, MS, Network, Ps, Scheduler, Split, Stage, US, WIRE_GAP_BYTES,
};

/// Named one-way budgets: eCPRI Transport Network V1.2 table 1; IQ data of IEEE 802.1CM classes 1 and 2 (clauses 6.2 and
/// 6.3); TR 38.801 annex A.
const NAMED: [(&str, Ps); 12] = [
    ("high25", 25 * US),
    ("high100", 100 * US),
    ("802.1cm", 100 * US),
    ("802.1cm-a", 100 * US),
    ("802.1cm-b", 100 * US),
    ("high200", 200 * US),
    ("split6", 250 * US),
    ("split7", 250 * US),
    ("high500", 500 * US),
    ("medium", MS),
    ("f1", 1500 * US),
    ("low", 100 * MS),
];

const BUDGET: &str = "cells.budget";
const T1A: &str = "cells.t1a_up";
const T2A: &str = "cells.t2a_up";
const TA3: &str = "cells.ta3_up";
const TA4: &str = "cells.ta4_up";

/// Returns the keys.
pub(super) fn keys() -> Vec<Key> {
    let window = || Kind::List(Box::new(Kind::Span));
    let budget = "one-way budget of the cells' frames: a time, or high25, high100, high200, high500, medium, low (eCPRI), 802.1cm, 802.1cm-a or 802.1cm-b (with a warning about ports and frames that the profile excludes), f1; \
                  default: 250us for splits 6 to 8, f1 (1500us) for split 2";
    vec![
        Key::new(BUDGET, Kind::Text, budget).optional(),
        Key::new(T1A, Kind::Span, "O-RAN, split 7.2x down: time before a symbol goes on air at which the DU sends it").optional(),
        Key::new(T2A, window(), "O-RAN, split 7.2x down: receive window of the radio unit before a symbol goes on air: [least, most]").optional(),
        Key::new(TA3, Kind::Span, "O-RAN, split 7.2x up: time after a symbol is on air at which the radio unit sends it").optional(),
        Key::new(TA4, window(), "O-RAN, split 7.2x up: receive window of the DU after a symbol is on air: [least, most]").optional(),
    ]
}

/// Bridge profile of IEEE 802.1CM for a fronthaul: its requirements in addition to the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// Profile A: strict priority, and no frame above [`PROFILE_BYTES_MAX`].
    A,
    /// Profile B: strict priority with preemption. Frames of other traffic may be longer than [`PROFILE_BYTES_MAX`].
    B,
}

/// Maximum size of a frame that can delay a fronthaul frame, in bytes.
const PROFILE_BYTES_MAX: u32 = 2000;

impl Profile {
    /// Returns the profile with the name `budget`.
    pub(super) fn named(budget: &str) -> Option<Self> {
        match budget.trim().to_ascii_lowercase().as_str() {
            "802.1cm-a" => Some(Self::A),
            "802.1cm-b" => Some(Self::B),
            _ => None,
        }
    }

    /// Returns a warning about the first port on a flow's path that does not conform to the profile.
    pub(super) fn warning(self, network: &Network, flow: &Flow) -> Option<String> {
        let name = if self == Self::A { "A" } else { "B" };
        flow.paths().flatten().find_map(|&stage| {
            let Some(Stage::Port(port)) = network.stages.get(usize::from(stage)) else { return None };
            let (fits, needs) = match self {
                Self::A => (port.scheduler == Scheduler::StrictPriority, "strict priority"),
                Self::B => (matches!(port.scheduler, Scheduler::Preemption { .. }), "preemption"),
            };
            if !fits {
                return Some(format!(
                    "{}: profile {name} of 802.1CM requires {needs}, but port {} has another scheduler",
                    flow.name, port.name
                ));
            }
            // Express frames interrupt the frames of other classes.
            let delays = |other: &&Flow| {
                (self == Self::A || other.class >= flow.class) && other.paths().flatten().any(|own| *own == stage)
            };
            let longest = network.flows.iter().filter(delays).map(|other| (other.pattern.largest(), &other.name));
            let (wire, other) = longest.max()?;
            let bytes = wire.saturating_sub(WIRE_GAP_BYTES);
            (bytes > PROFILE_BYTES_MAX).then(|| {
                format!(
                    "{}: profile {name} of 802.1CM allows frames of at most {PROFILE_BYTES_MAX} bytes, but {other} has {bytes} at port {}",
                    flow.name, port.name
                )
            })
        })
    }
}

/// Budget and receive windows of the cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) budget_ps: Option<Ps>,
    pub(super) profile: Option<Profile>,
    pub(super) down: Window,
    pub(super) up: Window,
}

/// User-plane timing of one direction, as O-RAN defines it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// T1a or Ta3: time between sending and the air.
    pub(super) sent_ps: Option<Ps>,
    /// T2a or Ta4: minimum and maximum time between reception and the air.
    pub(super) received_ps: Option<(Ps, Ps)>,
}

impl Limits {
    /// Reads the settings of a point.
    pub(super) fn read(run: &Run<'_>) -> Result<Self, String> {
        let read = |sent: &str, received: &str| {
            let sent_ps = run.span(sent).map(|time| ps(sent, time)).transpose()?;
            Ok::<_, String>(Window { sent_ps, received_ps: interval(run, received)? })
        };
        Ok(Self {
            budget_ps: run.text(BUDGET).map(|text| budget(BUDGET, text)).transpose()?,
            profile: run.text(BUDGET).and_then(Profile::named),
            down: read(T1A, T2A)?,
            up: read(TA3, TA4)?,
        })
    }

    /// Sets the budget and the window of a cell's flow.
    pub(super) fn apply(&self, flow: &mut Flow, split: Split) {
        flow.budget_ps = self.budget_ps.or(flow.budget_ps);
        let (window, way) = match flow.name.ends_with("DL") {
            true => (self.down, Direction::Down),
            false => (self.up, Direction::Up),
        };
        if !matches!(split, Split::SevenTwo { .. }) {
            return;
        }
        flow.window = window.delays(way);
        if let Some(window) = flow.window {
            flow.budget_ps = Some(u64::try_from(window.to_ps).unwrap_or(0));
        }
    }

    /// Returns a warning if windows are set that do not apply to a split.
    pub(super) fn warning(&self, split: Split) -> Option<String> {
        let set = self.down != Window::default() || self.up != Window::default();
        (set && !matches!(split, Split::SevenTwo { .. })).then(|| {
            format!("`{T1A}`, `{T2A}`, `{TA3}` and `{TA4}` apply to split 7.2x only: this split is judged by its budget")
        })
    }
}

impl Window {
    /// Returns the range of delays with which a frame is on time. `None` if the sending time or the receive window is unknown.
    pub(super) fn delays(self, way: Direction) -> Option<DelayWindow> {
        let sent = i64::try_from(self.sent_ps?).ok()?;
        let (least, most) = self.received_ps?;
        let least = i64::try_from(least).ok()?;
        let most = i64::try_from(most).ok()?;
        Some(match way {
            Direction::Down => DelayWindow { from_ps: sent - most, to_ps: sent - least },
            Direction::Up => DelayWindow { from_ps: least - sent, to_ps: most - sent },
        })
    }

    /// Returns the minimum and the maximum T1a (downlink) or Ta3 (uplink), in ps. With a time in this range, frames with these delays are
    /// on time. If no such time exists, the minimum is above the maximum. `None` if there is no receive window.
    pub(super) fn sending(self, way: Direction, delays: (Ps, Ps)) -> Option<(i64, i64)> {
        let (least, most) = self.received_ps?;
        let signed = |ps: Ps| i64::try_from(ps).ok();
        let shortest = signed(delays.0)?;
        let longest = signed(delays.1)?;
        Some(match way {
            Direction::Down => (signed(least)? + longest, signed(most)? + shortest),
            Direction::Up => (signed(least)? - shortest, signed(most)? - longest),
        })
    }
}

/// Returns the share of its budget that a flow uses. Above 1, the flow misses the budget because of late frames or frames before the
/// window.
pub(super) fn used(flow: (Option<Ps>, Option<DelayWindow>), shortest: Ps, longest: Ps) -> Option<f64> {
    let (budget_ps, window) = flow;
    let late = longest as f64 / budget_ps?.max(1) as f64;
    let early = window.map_or(0.0, |window| window.from_ps as f64 / shortest.max(1) as f64);
    Some(late.max(early))
}

/// Reads a budget: a time, or the name of a class.
pub(super) fn budget(key: &str, text: &str) -> Result<Ps, String> {
    let named = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
    if let Some((_, budget)) = named {
        return Ok(*budget);
    }
    let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    match parse_span(text) {
        Some(time) if time.is_zero() => Err(format!("`{key}` \"{text}\": a budget must be above 0")),
        Some(time) => ps(key, time),
        None => Err(format!(
            "`{key}` \"{text}\": a budget must be a time such as \"100us\", or one of {}",
            names.join(", ")
        )),
    }
}

/// Returns the name of the class with this budget, for use in sentences.
pub(super) fn class_of(budget_us: f64) -> &'static str {
    match budget_us {
        25.0 => "eCPRI High25",
        100.0 => "802.1CM and eCPRI High100",
        200.0 => "eCPRI High200",
        250.0 => "TR 38.801, options 6 to 8",
        500.0 => "eCPRI High500",
        1_000.0 => "eCPRI Medium",
        1_500.0 => "F1, TR 38.801 option 2",
        _ => "as set",
    }
}

fn interval(run: &Run<'_>, key: &str) -> Result<Option<(Ps, Ps)>, String> {
    let Some(Value::List(ends)) = run.value(key) else { return Ok(None) };
    let ends: Vec<Duration> = ends.iter().filter_map(Value::span).collect();
    let [least, most] = ends[..] else {
        return Err(format!(
            "`{key}` must have two times, the minimum and the maximum, such as [\"80us\", \"160us\"]"
        ));
    };
    if least > most {
        return Err(format!("`{key}`: the minimum, {least:?}, is above the maximum, {most:?}"));
    }
    Ok(Some((ps(key, least)?, ps(key, most)?)))
}

fn ps(key: &str, time: Duration) -> Result<Ps, String> {
    // One second is far above the delay of any fronthaul, and its picoseconds fit 64 bits.
    if time > Duration::from_secs(1) {
        return Err(format!("`{key}` must be at most 1s, not {time:?}"));
    }
    Ok(time.as_nanos() as Ps * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receive_windows_become_delay_limits_and_send_intervals() {
        let window = Window { sent_ps: Some(196 * US), received_ps: Some((80 * US, 160 * US)) };
        let down = window.delays(Direction::Down);
        let signed = |us: i64| us * 1_000_000;
        assert_eq!(down, Some(DelayWindow { from_ps: signed(36), to_ps: signed(116) }));
        let delays = (107 * US, 116 * US);
        assert_eq!(window.sending(Direction::Down, delays), Some((signed(196), signed(267))));
        let up = Window { sent_ps: Some(50 * US), received_ps: Some((20 * US, 200 * US)) };
        assert_eq!(up.delays(Direction::Up), Some(DelayWindow { from_ps: signed(-30), to_ps: signed(150) }));
        assert_eq!(up.sending(Direction::Up, delays), Some((signed(-87), signed(84))));
        let incomplete = Window { sent_ps: None, ..up };
        assert_eq!(incomplete.delays(Direction::Up), None);
    }

    #[test]
    fn budgets_are_times_or_names() {
        assert_eq!(budget(BUDGET, "100us"), Ok(100 * US));
        assert_eq!(budget(BUDGET, "High25"), Ok(25 * US));
        assert_eq!(budget(BUDGET, "f1"), Ok(1500 * US));
        assert_eq!(budget(BUDGET, "802.1CM-A"), Ok(100 * US));
        assert_eq!(budget(BUDGET, "0us"), Err("`cells.budget` \"0us\": a budget must be above 0".to_owned()));
        assert!(
            budget(BUDGET, "fast")
                .is_err_and(|why| why.contains("`cells.budget` \"fast\"") && why.contains("high25"))
        );
        assert!(budget(BUDGET, "2s").is_err_and(|why| why.contains("at most 1s")));
    }
}
