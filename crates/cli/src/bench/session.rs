//! Progress of a campaign, and handling of Ctrl-C. On a terminal, a bar shows the remaining time and the latest values. Elsewhere, each
//! repeat prints a line.
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ranlab_campaign::rig::{Outcome, Stop};
use ranlab_campaign::run::Event;

use super::about;
use crate::web::HostMeters;

/// Interval at which the bar is redrawn if no event occurs.
const TICK: Duration = Duration::from_millis(200);

/// Progress display on stderr; stdout is reserved for results.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    label: String,
    done: usize,
    total: usize,
    /// Expected remaining time at the end of the last repeat.
    remaining: Duration,
    machine: HostMeters,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(0));
        let mut machine = HostMeters::default();
        machine.sample();
        Self { bar, label: String::new(), done: 0, total: 0, remaining: Duration::ZERO, machine }
    }

    /// Applies an event with the values of its point.
    pub(crate) fn take(&mut self, event: Event, numbers: &[String]) {
        match event {
            Event::Started { to_do, done_before, expected } => {
                (self.total, self.remaining) = (to_do, expected);
                let before = if done_before > 0 {
                    format!(", {done_before} are already measured")
                } else {
                    String::new()
                };
                if let Some(bar) = &self.bar {
                    bar.set_length(to_do as u64);
                    // The template is constant and valid.
                    if let Ok(style) = ProgressStyle::with_template(
                        "{spinner} {bar:24} {pos}/{len}  {elapsed}  {wide_msg}\n  {prefix}",
                    ) {
                        bar.set_style(style);
                    }
                    bar.enable_steady_tick(TICK);
                }
                self.say(&format!("{to_do} repeats to measure{before}, about {}", about(expected)));
            }
            Event::Measuring { label, repeat, .. } => {
                self.label = label;
                if let Some(bar) = &self.bar {
                    bar.set_prefix("");
                }
                self.show(repeat);
            }
            Event::Measured { .. } => {
                let numbers = self.numbers(numbers);
                if let Some(bar) = &self.bar {
                    // A line wider than the terminal wraps, and its wrapped part would not be erased.
                    let columns =
                        ranlab_host::terminal_size(std::io::stderr()).map_or(80, |(_, columns)| columns);
                    bar.set_prefix(numbers.chars().take(columns.saturating_sub(3)).collect::<String>());
                }
            }
            Event::Finished { repeat, outcome, reason, left, remaining, .. } => {
                (self.done, self.remaining) = (self.total - left, remaining);
                let why = if outcome == Outcome::Ok || reason.is_empty() {
                    String::new()
                } else {
                    format!(": {reason}")
                };
                let line = format!("{}  repeat {}  {}{why}", self.label, repeat + 1, outcome.name());
                match &self.bar {
                    Some(bar) => {
                        if outcome != Outcome::Ok {
                            bar.println(&line);
                        }
                        bar.set_position(self.done as u64);
                        self.show(repeat);
                    }
                    None => {
                        let numbers = self.numbers(numbers);
                        let done = self.done;
                        let total = self.total;
                        let left = about(remaining);
                        eprintln!("{done}/{total}  {line}  {numbers}  (about {left} left)");
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the values and the activity of the machine since the last call.
    fn numbers(&mut self, numbers: &[String]) -> String {
        let sample = self.machine.sample();
        let share = |name: &str, words: &str| Some(format!("{words} {:.1} %", sample.get(name)?.as_f64()?));
        let machine = [share("steal", "stolen"), share("own", "this program")];
        numbers.iter().cloned().chain(machine.into_iter().flatten()).collect::<Vec<_>>().join("  ")
    }

    /// Shows the remaining time, the label and the repeat. The time is first because a narrow terminal cuts off the end of the line.
    fn show(&self, repeat: u32) {
        if let Some(bar) = &self.bar {
            let left = about(self.remaining);
            bar.set_message(format!("about {left} left  {}  repeat {}", self.label, repeat + 1));
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Converts Ctrl-C and SIGTERM to a stop request and prints the consequence. A second signal ends the process immediately. In both cases,
/// workers end with this process.
pub(crate) fn stop_at_signal(what: &'static str) -> Stop {
    let stop = Stop::never();
    let wish = stop.clone();
    std::thread::spawn(move || {
        ranlab_transport::run(async {
            crate::live::end(None).await;
            wish.request_stop();
            eprintln!("\nranlab: {what} (again to end at once)");
            crate::live::end(None).await;
            std::process::exit(i32::from(crate::exit::INTERRUPTED));
        });
    });
    stop
}
