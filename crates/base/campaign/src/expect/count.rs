//! Counts the expectations by class and verdict.

use serde::Serialize;

use super::{Judged, Verdict};
use crate::scenario::Class;

/// The verdicts of one class of expectations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Class, which is the source of the expectations.
    pub class: Class,
    /// Expectations of this class.
    pub all: usize,
    /// Number of expectations per verdict, without verdicts that do not occur.
    pub verdicts: Vec<(Verdict, usize)>,
}

/// Counts the verdicts by class, without classes that have no expectation.
pub fn counts(judged: &[Judged]) -> Vec<Count> {
    let of_class = |class: Class| {
        let own: Vec<&Judged> = judged.iter().filter(|row| row.class == class).collect();
        let of = |verdict: Verdict| own.iter().filter(|row| row.verdict == verdict).count();
        let verdicts = Verdict::ALL.into_iter().map(|verdict| (verdict, of(verdict)));
        Count { class, all: own.len(), verdicts: verdicts.filter(|(_, count)| *count > 0).collect() }
    };
    Class::ALL.into_iter().map(of_class).filter(|count| count.all > 0).collect()
}

/// Formats the counts: `paper: 3 of 4 hold, 1 differs; own: 2 of 2 hold`. Empty without expectations.
pub fn in_words(counts: &[Count]) -> String {
    let one = |count: &Count| {
        let of = |selected: Verdict| {
            count.verdicts.iter().find(|(verdict, _)| *verdict == selected).map_or(0, |(_, number)| *number)
        };
        let others = count.verdicts.iter().filter(|(verdict, _)| *verdict != Verdict::Holds);
        let others: String =
            others.map(|(verdict, number)| format!(", {number} {}", verdict.name())).collect();
        format!("{}: {} of {} hold{others}", count.class.name(), of(Verdict::Holds), count.all)
    };
    counts.iter().map(one).collect::<Vec<_>>().join("; ")
}
