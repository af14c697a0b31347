//! The worker's side of the protocol: one component with its meters, until the input ends.

use std::io::{self, BufReader, Read, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ranlab_host::thread_cpu_ns;
use serde::Serialize;
use tokio::sync::mpsc::Receiver;

use super::{ClockReading, ComponentError, FaultOwner, Hello, LINE_BYTES_MAX, Ready, Reply, Request};
use crate::child::next_line;
use crate::meters::{MeteringOverhead, WindowMeters};
use crate::{Registry, RunningComponent};

/// Requests that a worker accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerTrust {
    /// All requests, including commands of the user. For callers that could start this process anyway.
    Full,
    /// Requests for built-in components only. For all peers that can connect to the socket.
    PartsOnly,
}

/// The value of [`grace`], in milliseconds.
static GRACE_MS: AtomicU64 = AtomicU64::new(0);

/// Returns how long this process may take to end in order after the campaign has disconnected. Physical ports, for
/// example, are returned one by one. 0 if no extra time is needed.
pub fn grace() -> Duration {
    Duration::from_millis(GRACE_MS.load(Ordering::Relaxed))
}

/// The first panic of this process since the worker started. Later results cannot be trusted.
static PANIC: OnceLock<String> = OnceLock::new();

/// Records panics of threads and tasks that are never joined. Every later request is answered with the recorded panic.
fn keep_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Stores the first panic only, because it causes the others.
            let _ = PANIC.set(info.to_string().replace('\n', " "));
            before(info);
        }));
    });
}

fn sound(panic: Option<&String>) -> Result<(), ComponentError> {
    match panic {
        Some(panic) => {
            Err(ComponentError { fault: FaultOwner::Rig, what: format!("a thread of the component {panic}") })
        }
        None => Ok(()),
    }
}

/// Serves requests from `input` until it ends or a stop request arrives.
///
/// # Errors
/// The output cannot be written.
pub fn serve(
    input: impl Read + Send + 'static,
    mut output: impl Write,
    trust: WorkerTrust,
    registry: Registry,
) -> io::Result<()> {
    let (sink, mut lines) = tokio::sync::mpsc::channel::<Line>(1);
    let cost = Rc::new(MeteringOverhead::default());
    let spent_ns = cost.reader();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(input);
        while let Some(line) = next_line(&mut reader, LINE_BYTES_MAX).transpose() {
            let last = line.is_err();
            spent_ns.store(thread_cpu_ns().unwrap_or_default(), Ordering::Relaxed);
            if sink.blocking_send(line).is_err() || last {
                return;
            }
        }
    });
    keep_panics();
    ranlab_transport::run(async move {
        let mut bench = WorkerSession { part: None, trust, registry, cost: cost.clone() };
        let mut early = None;
        while let Some(line) = next(&mut early, &mut lines).await {
            cost.begin();
            let line = line.map_err(|error| error.to_string());
            let request =
                line.and_then(|line| serde_json::from_str(&line).map_err(|error| error.to_string()));
            let stop = matches!(request, Ok(Request::Stop));
            let reply = match request {
                Ok(Request::Stop) => bench.answer(Request::Stop).await.unwrap_or_else(Reply::Error),
                Ok(request) => match unless_ended(bench.answer(request), &mut early, &mut lines).await {
                    Some(reply) => reply.unwrap_or_else(Reply::Error),
                    None => break,
                },
                Err(error) => Reply::Error(ComponentError {
                    fault: FaultOwner::Rig,
                    what: format!("invalid request: {error}"),
                }),
            };
            // The line is written as a whole, because each piece would be a packet on a socket with TCP_NODELAY.
            let mut line = serde_json::to_vec(&reply).map_err(io::Error::from)?;
            line.push(b'\n');
            output.write_all(&line)?;
            output.flush()?;
            cost.end();
            if stop {
                break;
            }
        }
        Ok(())
    })
}

/// A line of the input.
type Line = io::Result<String>;

/// Returns the next line. A line that was read ahead comes first.
async fn next(early: &mut Option<Line>, lines: &mut Receiver<Line>) -> Option<Line> {
    match early.take() {
        Some(line) => Some(line),
        None => lines.recv().await,
    }
}

/// Waits for an answer. Returns `None` if the input ends or a stop request arrives in the meantime. Everything that a
/// starting component has created by then is dropped.
async fn unless_ended<T>(
    answer: impl Future<Output = T>,
    early: &mut Option<Line>,
    lines: &mut Receiver<Line>,
) -> Option<T> {
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return Some(answer),
            line = lines.recv(), if early.is_none() => match line {
                None => return None,
                Some(Ok(line)) if matches!(serde_json::from_str(&line), Ok(Request::Stop)) => return None,
                line => *early = line,
            },
        }
    }
}

struct WorkerSession {
    part: Option<HeldComponent>,
    trust: WorkerTrust,
    registry: Registry,
    cost: Rc<MeteringOverhead>,
}

struct HeldComponent {
    running: Box<dyn RunningComponent>,
    meters: WindowMeters,
    window: Option<Instant>,
}

impl HeldComponent {
    fn alive(&mut self) -> Result<(), ComponentError> {
        sound(PANIC.get())?;
        self.running.check()
    }
}

impl WorkerSession {
    async fn answer(&mut self, request: Request) -> Result<Reply, ComponentError> {
        match request {
            Request::Hello => ok(Hello {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
            }),
            Request::Clock => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                ok(ClockReading { unix_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX) })
            }
            Request::Start { .. } if self.part.is_some() => Err(ComponentError {
                fault: FaultOwner::Rig,
                what: "a worker runs only one component".to_owned(),
            }),
            Request::Start { part } => {
                let part = self.registry.component(part).map_err(|what| ComponentError {
                    fault: FaultOwner::Rig,
                    what: format!("invalid request: {what}"),
                })?;
                // Recorded before the component is up, because the campaign may disconnect in the meantime.
                GRACE_MS.fetch_max(part.waits().restore.as_millis() as u64, Ordering::Relaxed);
                let running = part.start(self.trust).await?;
                let addresses = running.addresses();
                let pid = running.pid();
                let meters = WindowMeters::new(running.subject(), self.cost.clone());
                self.part = Some(HeldComponent { running, meters, window: None });
                ok(Ready { addresses, pid })
            }
            Request::Look => {
                let held = self.held()?;
                held.alive()?;
                ok(held.running.counters())
            }
            Request::Begin => {
                let held = self.held()?;
                held.alive()?;
                held.running.begin();
                held.meters.begin();
                held.window = Some(Instant::now());
                ok(())
            }
            Request::End => {
                let held = self.held()?;
                held.alive()?;
                let begun = held.window.take().ok_or_else(|| ComponentError {
                    fault: FaultOwner::Rig,
                    what: "no window is open".to_owned(),
                })?;
                let mut report = held.meters.end(begun.elapsed());
                held.running.end(&mut report);
                ok(report)
            }
            Request::Reset => {
                let held = self.held()?;
                sound(PANIC.get())?;
                held.running.reset().await?;
                ok(())
            }
            Request::Stop => {
                if let Some(mut held) = self.part.take() {
                    held.running.leave().await;
                }
                ok(())
            }
        }
    }

    fn held(&mut self) -> Result<&mut HeldComponent, ComponentError> {
        self.part.as_mut().ok_or_else(|| ComponentError {
            fault: FaultOwner::Rig,
            what: "no component was started".to_owned(),
        })
    }
}

fn ok(value: impl Serialize) -> Result<Reply, ComponentError> {
    let value = serde_json::to_value(value);
    value.map(Reply::Ok).map_err(|error| ComponentError { fault: FaultOwner::Rig, what: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::Report;

    const ONLY_BASE: Registry = Registry(&[&crate::base::BASE]);

    fn talk(lines: &'static str, trust: WorkerTrust) -> Vec<Reply> {
        let mut output = Vec::new();
        serve(lines.as_bytes(), &mut output, trust, ONLY_BASE).unwrap();
        output.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    fn trouble(reply: &Reply) -> &str {
        match reply {
            Reply::Error(trouble) => &trouble.what,
            Reply::Ok(value) => panic!("{value}"),
        }
    }

    #[test]
    fn worker_identifies_itself_and_stops_on_request() {
        let replies = talk(
            "{\"op\":\"hello\"}\n{\"op\":\"clock\"}\n{\"op\":\"stop\"}\n{\"op\":\"hello\"}\n",
            WorkerTrust::Full,
        );
        assert_eq!(replies.len(), 3, "{replies:?}");
        let Reply::Ok(hello) = &replies[0] else { panic!("{replies:?}") };
        assert_eq!(hello["pid"], std::process::id());
        let Reply::Ok(clock) = &replies[1] else { panic!("{replies:?}") };
        assert!(clock["unix_ns"].as_u64().unwrap() > 1_700_000_000_000_000_000);
    }

    #[test]
    fn invalid_requests_get_an_error_response() {
        let replies = talk(
            "nonsense\n{\"op\":\"begin\"}\n{\"op\":\"start\",\"part\":{\"type\":\"rocket\"}}\n{\"op\":\"hello\"}",
            WorkerTrust::Full,
        );
        assert!(trouble(&replies[0]).starts_with("invalid request"), "{replies:?}");
        assert_eq!(trouble(&replies[1]), "no component was started");
        assert!(trouble(&replies[2]).contains("rocket"), "{replies:?}");
        assert!(matches!(replies[3], Reply::Ok(_)));
    }

    #[test]
    fn window_reports_resource_usage() {
        let replies = talk(
            "{\"op\":\"start\",\"part\":{\"type\":\"attach\",\"command\":\"no-such-program\"}}\n\
             {\"op\":\"start\",\"part\":{\"type\":\"attach\"}}\n\
             {\"op\":\"start\",\"part\":{\"type\":\"attach\"}}\n\
             {\"op\":\"end\"}\n{\"op\":\"begin\"}\n{\"op\":\"end\"}\n",
            WorkerTrust::Full,
        );
        assert!(trouble(&replies[0]).contains("no-such-program"), "{replies:?}");
        assert!(matches!(replies[1], Reply::Ok(_)), "{replies:?}");
        assert_eq!(trouble(&replies[2]), "a worker runs only one component");
        assert_eq!(trouble(&replies[3]), "no window is open");
        let Reply::Ok(report) = replies[5].clone() else { panic!("{replies:?}") };
        let report: Report = serde_json::from_value(report).unwrap();
        assert!(report.process.is_none() && report.wall_s >= 0.0);
    }

    #[test]
    fn panic_in_thread_is_reported_to_later_requests() {
        assert_eq!(sound(None), Ok(()));
        let trouble = sound(Some(&"panicked at x.rs:1:2: index out of bounds".to_owned())).unwrap_err();
        assert_eq!(trouble.what, "a thread of the component panicked at x.rs:1:2: index out of bounds");
        assert_eq!(trouble.fault, FaultOwner::Rig);
    }

    #[test]
    fn untrusted_worker_meters_no_third_party_process() {
        let attach = "{\"op\":\"start\",\"part\":{\"type\":\"attach\",\"pid\":1}}\n";
        let replies = talk(attach, WorkerTrust::PartsOnly);
        assert!(trouble(&replies[0]).contains("not one over TCP"), "{replies:?}");
    }
}
