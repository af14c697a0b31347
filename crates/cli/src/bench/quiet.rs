//! Check for other activity on the machine before a campaign starts.
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ranlab_campaign::scenario::Scenario;
use ranlab_campaign::value::Value;
use ranlab_host::MachineInterval;

use crate::doctor;
use crate::exit::Failure;

/// Duration of the check. A short campaign is checked for a tenth of its expected duration.
const WATCH: Duration = Duration::from_secs(2);
/// Time limit for the user's response. Without a response the campaign continues, as it does without a terminal.
const TO_ANSWER: Duration = Duration::from_secs(30);
/// Default limits of a scenario: the share of CPU time that the hypervisor gives to other guests, and the share that other
/// processes use.
const STEAL_AT_MOST: f64 = 0.02;
const BUSY_AT_MOST: f64 = 0.1;

/// Watches the machine and reports other activity. If the machine is busy, asks on the terminal whether to continue, and waits for
/// [`TO_ANSWER`]. Without a terminal or a response, the campaign continues.
///
/// # Errors
///
/// The machine is busy and the user does not want to continue.
pub(super) fn check(scenario: &Scenario, expected: Duration) -> Result<(), Failure> {
    // A rig without time measurements has no limits for noise.
    if !scenario.settings.contains_key(ranlab_lab::experiment::keys::WHEN_NOISY) {
        return Ok(());
    }
    let time = WATCH.min(expected / 10);
    let Some(seen) = doctor::watch(time) else { return Ok(()) };
    let limit = |path: &str, default| scenario.settings.get(path).and_then(Value::number).unwrap_or(default);
    let limits = Limits {
        steal: limit("host.steal_at_most", STEAL_AT_MOST),
        busy: limit("host.other_at_most", BUSY_AT_MOST),
    };
    let busy = limits.are_exceeded(&seen);
    eprintln!("{}", limits.describe(&seen, time));
    if !busy {
        return Ok(());
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !terminal || answer().is_none_or(|line| matches!(line.trim(), "y" | "Y" | "yes")) {
        eprintln!("continuing: disturbed repeats will be marked or invalid");
        return Ok(());
    }
    Err(Failure::Environment("the machine is busy, and nothing was measured".to_owned()))
}

/// Asks the user whether to continue, and returns the response, or `None` after [`TO_ANSWER`].
fn answer() -> Option<String> {
    eprint!("Continue? [y/N; without an answer it continues in {} s] ", TO_ANSWER.as_secs());
    let _ = std::io::stderr().flush();
    let (send, receive) = channel();
    // Reading a line cannot be interrupted, so a separate thread reads it. Without input, this thread remains blocked.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().read_line(&mut line);
        let _ = send.send(line);
    });
    match receive.recv_timeout(TO_ANSWER) {
        Ok(line) => Some(line),
        Err(RecvTimeoutError::Timeout) => {
            eprintln!();
            None
        }
        Err(RecvTimeoutError::Disconnected) => Some(String::new()),
    }
}

/// Shares of the machine that other processes may use.
#[derive(Debug, Clone, Copy)]
struct Limits {
    steal: f64,
    busy: f64,
}

impl Limits {
    fn are_exceeded(self, seen: &MachineInterval) -> bool {
        seen.steal_share > self.steal || seen.busy_share > self.busy
    }

    fn describe(self, seen: &MachineInterval, time: Duration) -> String {
        let word = if self.are_exceeded(seen) { "busy" } else { "quiet" };
        format!(
            "the machine is {word}: within {:.1} s, other work used {:.0} % of the CPU time (allowed {:.0} %), and the \
             hypervisor gave {:.1} % to other guests (allowed {:.1} %)",
            time.as_secs_f64(),
            seen.busy_share * 100.0,
            self.busy * 100.0,
            seen.steal_share * 100.0,
            self.steal * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_is_busy_beyond_either_limit() {
        let seen = |busy_share, steal_share| MachineInterval {
            wall_s: 2.0,
            busy_share,
            steal_share,
            context_switches_per_s: 0.0,
            pressure: None,
        };
        let limits = Limits { steal: 0.02, busy: 0.1 };
        let exceeded =
            [(0.05, 0.01), (0.05, 0.03), (0.43, 0.0)].map(|(b, s)| limits.are_exceeded(&seen(b, s)));
        assert_eq!(exceeded, [false, true, true]);
        let text = limits.describe(&seen(0.43, 0.001), Duration::from_secs(2));
        assert!(
            text.starts_with("the machine is busy")
                && text.contains("used 43 % of the CPU time (allowed 10 %)"),
            "{text}"
        );
    }
}
