//! Problems with the controller, as observed by its base stations. An incident has a kind, a time, a duration and a number of connections.
use ranlab_machine::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Maximum number of incidents that are stored. Further incidents are only counted.
const MAX_INCIDENTS: usize = 16;

/// Kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// The controller did not read pending data.
    StoppedReading,
    /// The controller did not respond to a request.
    StoppedAnswering,
    /// The connection was lost.
    Lost,
}

impl IncidentKind {
    const ALL: [Self; 3] = [Self::StoppedReading, Self::StoppedAnswering, Self::Lost];

    fn words(self) -> &'static str {
        match self {
            Self::StoppedReading => "stopped reading",
            Self::StoppedAnswering => "stopped answering",
            Self::Lost => "was lost",
        }
    }
}

/// A problem with the controller.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Kind of the problem.
    pub what: IncidentKind,
    /// Start of the incident, in seconds since the base stations were started.
    pub at_s: f64,
    /// Duration of the incident, or time since its start if it has not ended, in seconds.
    pub for_s: f64,
    /// Whether the incident has ended.
    pub over: bool,
    /// Maximum number of connections affected at the same time.
    pub connections: u32,
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, at_s, for_s, over, connections } = self;
        let words = what.words();
        write!(f, "the controller {words} at {at_s:.1} s, for {for_s:.1} s")?;
        let still = if *over { "" } else { " so far" };
        write!(f, "{still} ({connections} connections)")
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    since: Time,
    connections: u32,
}

/// All incidents.
#[derive(Debug, Default)]
pub(super) struct Incidents {
    began: Time,
    open: [Option<Open>; IncidentKind::ALL.len()],
    closed: Vec<Incident>,
    /// Longest time without reading, among the incidents that have ended.
    longest_unread: Duration,
    forgotten: u64,
}

impl Incidents {
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// Updates the current state of a kind of problem. `trouble` contains the start and the number of affected connections. `None`: there
    /// is no such problem.
    pub(super) fn observe(&mut self, what: IncidentKind, now: Time, trouble: Option<(Time, u32)>) {
        let index = what as usize;
        match (trouble, &mut self.open[index]) {
            (Some((_, connections)), Some(open)) => open.connections = open.connections.max(connections),
            (Some((since, connections)), none) => *none = Some(Open { since, connections }),
            (None, Some(open)) => {
                let incident = incident(what, self.began, *open, now, true);
                if what == IncidentKind::StoppedReading {
                    self.longest_unread = self.longest_unread.max(now.since(open.since));
                }
                self.open[index] = None;
                if self.closed.len() < MAX_INCIDENTS {
                    self.closed.push(incident);
                } else {
                    self.forgotten += 1;
                }
            }
            (None, None) => {}
        }
    }

    /// Returns the stored incidents in the order of their start, and the number of further incidents.
    pub(super) fn all(&self, now: Time) -> (Vec<Incident>, u64) {
        let open = IncidentKind::ALL.into_iter().zip(self.open);
        let open = open.filter_map(|(what, open)| Some(incident(what, self.began, open?, now, false)));
        let mut all: Vec<Incident> = self.closed.iter().copied().chain(open).collect();
        all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        (all, self.forgotten)
    }

    /// Returns the longest time in which the controller did not read pending data.
    pub(super) fn longest_unread(&self, now: Time) -> Duration {
        let open = self.open[IncidentKind::StoppedReading as usize];
        self.longest_unread.max(open.map_or(Duration::ZERO, |open| now.since(open.since)))
    }

    /// Removes the incidents that have ended, at the start of a measurement.
    pub(super) fn reset(&mut self) {
        *self = Self { began: self.began, open: self.open, ..Self::default() };
    }
}

fn incident(what: IncidentKind, began: Time, open: Open, now: Time, over: bool) -> Incident {
    let at_s = open.since.since(began).as_secs_f64();
    Incident { what, at_s, for_s: now.since(open.since).as_secs_f64(), over, connections: open.connections }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn incidents_have_kind_and_duration_and_are_bounded() {
        let mut incidents = Incidents::default();
        incidents.begin(at(100));
        incidents.observe(IncidentKind::StoppedReading, at(103), Some((at(102), 3)));
        incidents.observe(IncidentKind::StoppedReading, at(110), Some((at(102), 10)));
        incidents.observe(IncidentKind::Lost, at(104), Some((at(101), 1)));
        assert_eq!(incidents.longest_unread(at(111)), Duration::from_secs(9));
        incidents.observe(IncidentKind::StoppedReading, at(112), None);
        incidents.observe(IncidentKind::StoppedReading, at(113), None);
        let lines: Vec<String> = incidents.all(at(114)).0.iter().map(Incident::to_string).collect();
        assert_eq!(
            lines,
            [
                "the controller was lost at 1.0 s, for 13.0 s so far (1 connections)",
                "the controller stopped reading at 2.0 s, for 10.0 s (10 connections)",
            ]
        );
        assert_eq!(incidents.longest_unread(at(200)), Duration::from_secs(10));
        incidents.reset();
        assert_eq!((incidents.all(at(114)).0.len(), incidents.longest_unread(at(200))), (1, Duration::ZERO));
        for s in 0..100 {
            incidents.observe(IncidentKind::StoppedAnswering, at(s), Some((at(s), 1)));
            incidents.observe(IncidentKind::StoppedAnswering, at(s), None);
        }
        assert_eq!(incidents.all(at(114)).1, 100 - MAX_INCIDENTS as u64);
    }
}
