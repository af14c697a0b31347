//! Events from a file, or from another program during a run: one event per line.
//!
//! `TIME EVENT [node=N] [ue=N] [cqi=N] [sinr=N] [rsrp=N] [rsrq=N] [queue=N] [bsr=N] [prbs=N]`, where TIME is seconds since the start, or
//! `now`, and EVENT is `activated`, `deactivated`, `updated`, `delegated` or `taken-back`. The form `EVENT,TIME` of MARC is also accepted.
//! Without `ue`, an activation applies to the next UE, and a deactivation to the UE that was activated last. A line that starts with `#` is
//! a comment.
use super::{Characteristics, Event, Happening};
use std::collections::HashMap;
use std::time::Duration;

/// Maximum number of events of a trace.
pub const MAX_TRACE_EVENTS: usize = 10_000_000;
/// Maximum length of a line, in bytes.
pub const MAX_LINE_BYTES: usize = 1_024;

/// Error in a line of a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The line does not have the form of an event.
    #[error("line {line}: \"{text}\" is not an event; write e.g. \"12.5 activated node=0 ue=3 cqi=9\"")]
    Form {
        /// Number of the line, from 1.
        line: usize,
        /// Text of the rejected line.
        text: String,
    },
    /// A key is unknown, or a value is out of range.
    #[error(
        "line {line}: \"{text}\" is invalid; allowed are node, ue, cqi (0..15), sinr, headroom, rsrp, rsrq, queue, bsr (0..63), prbs"
    )]
    Key {
        /// Number of the line, from 1.
        line: usize,
        /// Text of the key and its value.
        text: String,
    },
    /// The time of a line precedes that of the previous line.
    #[error("line {line}: {at:?} follows {before:?}; events must be in the order of their times")]
    Order {
        /// Number of the line, from 1.
        line: usize,
        /// Time of the line.
        at: Duration,
        /// Time of the previous line.
        before: Duration,
    },
    /// A line or a trace is too long.
    #[error(
        "line {line}: the trace is too long; at most {MAX_LINE_BYTES} bytes per line and {MAX_TRACE_EVENTS} events are allowed"
    )]
    TooLong {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The line deactivates a UE that is not active.
    #[error("line {line}: no UE of base station {node} is active")]
    NobodyThere {
        /// Number of the line, from 1.
        line: usize,
        /// Number of the base station.
        node: u32,
    },
}

/// A line of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceLine {
    /// Time of the event. `None` stands for `now`.
    pub at: Option<Duration>,
    /// Number of the base station.
    pub node: u32,
    /// Number of the UE, if the line has it.
    pub ue: Option<u32>,
    /// Kind of the event.
    pub what: Happening,
}

/// Parses one line. Returns `None` for an empty line or a comment.
pub fn parse_line(number: usize, text: &str) -> Result<Option<TraceLine>, TraceError> {
    if text.len() > MAX_LINE_BYTES {
        return Err(TraceError::TooLong { line: number });
    }
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let wrong = || TraceError::Form { line: number, text: text.to_owned() };
    let mut words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
    let first = words.next().ok_or_else(wrong)?;
    let second = words.next().ok_or_else(wrong)?;
    let (time, event) = if first.starts_with(|c: char| c.is_ascii_alphabetic()) && first != "now" {
        (second, first)
    } else {
        (first, second)
    };
    let at = match time {
        "now" => None,
        _ => Some(seconds(time).ok_or_else(wrong)?),
    };
    let mut line = TraceLine { at, node: 0, ue: None, what: Happening::Deactivated };
    let mut characteristics = Characteristics::default();
    for word in words {
        let key_error = || TraceError::Key { line: number, text: word.to_owned() };
        let (key, value) = word.split_once('=').ok_or_else(key_error)?;
        set(&mut line, &mut characteristics, key, value).ok_or_else(key_error)?;
    }
    line.what = match event {
        "activated" => Happening::Activated(characteristics),
        "deactivated" => Happening::Deactivated,
        "updated" => Happening::Updated(characteristics),
        "delegated" => Happening::Delegated(true),
        "taken-back" => Happening::Delegated(false),
        _ => return Err(wrong()),
    };
    Ok(Some(line))
}

fn set(line: &mut TraceLine, of: &mut Characteristics, key: &str, value: &str) -> Option<()> {
    match key {
        "node" => line.node = value.parse().ok()?,
        "ue" => line.ue = Some(value.parse().ok()?),
        "cqi" => of.cqi = value.parse().ok().filter(|cqi| *cqi <= 15)?,
        "sinr" => of.sinr_db = value.parse().ok()?,
        "headroom" => of.headroom_db = value.parse().ok()?,
        "rsrp" => of.rsrp_dbm = value.parse().ok()?,
        "rsrq" => of.rsrq_db = value.parse().ok()?,
        "queue" => of.queue_bytes = value.parse().ok()?,
        "bsr" => of.bsr = value.parse().ok().filter(|bsr| *bsr <= 63)?,
        "prbs" => of.prbs = value.parse().ok()?,
        _ => return None,
    }
    Some(())
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    let bounded = seconds.is_finite() && (0.0..=super::MAX_TIME.as_secs_f64()).contains(&seconds);
    // The value is within the bound, and is rounded to a nanosecond.
    bounded.then(|| Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// Assigns UEs to lines without a UE, as in MARC. An activation applies to the next UE, and a deactivation to the UE that was activated
/// last.
#[derive(Debug, Default)]
pub struct TraceNames {
    stations: HashMap<u32, (u32, Vec<u32>)>,
}

impl TraceNames {
    /// Returns the event of a line. `number` is the number of the line.
    pub fn resolve(&mut self, number: usize, line: TraceLine, at: Duration) -> Result<Event, TraceError> {
        let (next, active) = self.stations.entry(line.node).or_default();
        let nobody = TraceError::NobodyThere { line: number, node: line.node };
        let ue = match (line.what, line.ue) {
            (Happening::Delegated(_), _) => 0,
            (Happening::Activated(_), named) => {
                let ue = named.unwrap_or(*next);
                *next = (*next).max(ue.saturating_add(1));
                active.push(ue);
                ue
            }
            (Happening::Deactivated, Some(ue)) => {
                let at = active.iter().position(|there| *there == ue).ok_or(nobody)?;
                active.remove(at)
            }
            (Happening::Deactivated, None) => active.pop().ok_or(nobody)?,
            (Happening::Updated(_), named) => named.or_else(|| active.last().copied()).ok_or(nobody)?,
        };
        Ok(Event { at, ue, what: line.what })
    }
}

/// Parses a trace. Returns base station and event for each line with an event.
pub fn parse_trace(text: &str) -> Result<Vec<(u32, Event)>, TraceError> {
    let mut names = TraceNames::default();
    let mut events: Vec<(u32, Event)> = Vec::new();
    for (index, line_text) in text.lines().enumerate() {
        let number = index + 1;
        let Some(line) = parse_line(number, line_text)? else { continue };
        let before = events.last().map_or(Duration::ZERO, |(_, event)| event.at);
        let at = line.at.unwrap_or(before);
        if at < before {
            return Err(TraceError::Order { line: number, at, before });
        }
        if events.len() >= MAX_TRACE_EVENTS {
            return Err(TraceError::TooLong { line: number });
        }
        events.push((line.node, names.resolve(number, line, at)?));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_lines_of_both_forms_are_parsed() {
        let text = "# comment\nactivated,1.5\n2 activated node=1 ue=7 cqi=9 rsrp=-101\n2.5\tdeactivated\n\n3 updated node=1 ue=7 bsr=63\n3 delegated node=1\n4 taken-back node=1\n";
        let events = parse_trace(text).unwrap();
        assert_eq!(events.len(), 6);
        assert_eq!((events[0].0, events[0].1.at, events[0].1.ue), (0, Duration::from_millis(1500), 0));
        let Happening::Activated(c) = events[1].1.what else { panic!() };
        assert_eq!((events[1].0, events[1].1.ue, c.cqi, c.rsrp_dbm), (1, 7, 9, -101));
        assert_eq!((events[2].1.ue, events[2].1.what), (0, Happening::Deactivated));
        assert_eq!(events[4].1.what, Happening::Delegated(true));
        assert_eq!(parse_line(1, "now activated").unwrap().unwrap().at, None);
    }

    #[test]
    fn errors_contain_line_and_allowed_values() {
        let refusal = |text: &str| parse_trace(text).unwrap_err().to_string();
        for text in ["x", "1 gone", "-1 activated", "nan activated", "activated"] {
            assert!(
                refusal(text).starts_with("line 1:") && refusal(text).contains("12.5 activated"),
                "{text}"
            );
        }
        for text in ["1 activated cqi=16", "1 activated speed=3", "1 activated ue", "1 activated bsr=64"] {
            assert!(refusal(text).contains("allowed are node, ue"), "{text}");
        }
        assert!(refusal("2 activated\n1 activated").starts_with("line 2:"));
        assert!(refusal("1 deactivated").contains("no UE"));
        assert!(refusal(&format!("1 activated {}", " ".repeat(1_100))).contains("at most 1024"));
    }
}
