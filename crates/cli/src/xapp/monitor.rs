//! `ranlab xapp monitor`: statistics, and their rates, losses and age.
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use ranlab_parts::values::{RecordError, Recorder, Room, Screen, Values};
use ranlab_sdk::XappHandle;
use ranlab_sdk::e2::xapp::{Dialect, XappConfig, XappEvent};
use ranlab_sdk::transport::SocketOptions;
use ranlab_sdk::wire::e2ap::{ActionToBeSetup, Version};
use ranlab_sdk::wire::e2sm::{self, Model};
use serde::Serialize;

use crate::args::{self, Address};
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// Greatest age that is told apart.
const LATENCY_US_MAX: u64 = 3_600_000_000;
/// How long the RIC may take to delete what was subscribed.
const LEAVE_WAIT: Duration = Duration::from_secs(10);
/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(1);

/// Arguments of `xapp monitor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab xapp monitor --sm mac,rlc,pdcp,gtp --period 10ms --duration 10s --format json\n  ranlab xapp monitor --ue 17921 --record ue.parquet\n\nCounters are shown as what they grow by each second; files and --format ndjson have them as they came."
)]
pub struct Arguments {
    /// The RIC's listener for xApps
    #[arg(long, value_name = "ADDRESS", default_value = "tcp://127.0.0.1:36422")]
    connect: Address,
    /// Service models to subscribe, at every base station that has them
    #[arg(long, value_delimiter = ',', default_values_t = e2sm::customary())]
    sm: Vec<&'static dyn Model>,
    /// Report period
    #[arg(long, default_value = "100ms", value_parser = args::duration)]
    period: Duration,
    /// End by itself after this long
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
    /// Show, stream and record the values of this UE alone
    #[arg(long, value_name = "RNTI")]
    ue: Option<u32>,
    /// Record a row for each UE, bearer or tunnel of each report: .csv, or .parquet, which is readable after the end
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Tell of rates, losses and age alone, not of values
    #[arg(long)]
    totals: bool,
    /// Version of E2AP whose numbering the RIC speaks
    #[arg(long, value_name = "VERSION", default_value = "2.03")]
    e2ap: Version,
    /// Whose E42 the RIC speaks: ranlab, flexric, or auto: FlexRIC's until the RIC shows itself as ours
    #[arg(long, value_name = "DIALECT", default_value = "auto")]
    dialect: Dialect,
    /// The same as --dialect flexric
    #[arg(long)]
    flexric: bool,
    /// Take at most so many indications a second: a reader that does not keep up
    #[arg(long, hide_short_help = true)]
    at_most: Option<u32>,
    /// With --at-most: from when ...
    #[arg(long, value_parser = args::duration, default_value = "0s", hide_short_help = true)]
    slow_from: Duration,
    /// ... and until when
    #[arg(long, value_parser = args::duration, default_value = "366d", hide_short_help = true)]
    slow_until: Duration,
}

#[derive(Debug, Clone, Serialize)]
struct Summary {
    nodes: usize,
    subscriptions: usize,
    indications: u64,
    bytes: u64,
    lost: Option<u64>,
    repeated: u64,
    latency_us: Latency,
    restored: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Latency {
    p50: u64,
    p99: u64,
    max: u64,
}

struct Watch {
    latency_us: Histogram<u64>,
    indications: u64,
    bytes: u64,
    reconnects: u64,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let triggers = arguments.sm.iter().map(|model| model.periodic(model.encoding(), arguments.period));
    let triggers = triggers.collect::<Result<Vec<_>, _>>();
    let triggers = triggers.map_err(|error| Failure::Usage(error.to_string()))?;
    let mut config = XappConfig { version: arguments.e2ap, ..XappConfig::new(arguments.connect.to_string()) };
    config.dialect = if arguments.flexric { Dialect::FlexRic } else { arguments.dialect };
    let xapp = XappHandle::start(config, SocketOptions::default());
    for (model, trigger) in arguments.sm.iter().zip(triggers) {
        xapp.subscribe_all_raw(model.oid(), trigger, vec![ActionToBeSetup::report(0)])
            .map_err(|error| Failure::Usage(error.to_string()))?;
    }
    super::joined(&xapp).await?;
    // Bounds and precision are constants that the histogram accepts.
    #[allow(clippy::expect_used)]
    let latency_us = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("constant bounds");
    let mut watch = Watch { latency_us, indications: 0, bytes: 0, reconnects: 0 };
    let mut values = Told::new(&arguments, format)?;
    let mut output = Output::new(format);
    let watched = listen(&xapp, &arguments, &mut watch, &mut values, &mut output).await;
    let summary = watch.summary(&xapp);
    // First what cannot be had again, whatever ended the watch: leaving takes its time, and at times a second Ctrl-C.
    let recorded = values.finish()?;
    watched?;
    leave(&xapp).await;
    if let Some((file, rows)) = recorded {
        output.text(format_args!("{rows} rows in {}", file.display()))?;
    }
    output.text(format_args!(
        "{} nodes, {} subscriptions, {} indications, {} lost, latency p50 {} us, p99 {} us, max {} us",
        summary.nodes,
        summary.subscriptions,
        summary.indications,
        lost(&summary),
        summary.latency_us.p50,
        summary.latency_us.p99,
        summary.latency_us.max
    ))?;
    output.finish(&summary)
}

/// Takes what comes until Ctrl-C, SIGTERM or the end of the duration.
async fn listen(
    xapp: &XappHandle,
    arguments: &Arguments,
    watch: &mut Watch,
    values: &mut Told,
    output: &mut Output,
) -> Result<(), Failure> {
    let end = live::end(arguments.duration);
    tokio::pin!(end);
    let mut tick = tokio::time::interval(PROGRESS);
    tick.tick().await;
    let (begin, mut pace) = (Instant::now(), Pace::default());
    let (mut before, mut at) = (0, begin);
    loop {
        tokio::select! {
            biased;
            () = &mut end => return Ok(()),
            _ = tick.tick() => {
                let summary = watch.summary(xapp);
                let rate = (watch.indications - before) as f64 / at.elapsed().as_secs_f64();
                (before, at) = (watch.indications, Instant::now());
                values.show(output, &line(&summary, rate))?;
                output.item(&summary)?;
                output.flush()?;
            }
            event = xapp.next() => {
                if let XappEvent::Speaks { dialect: dialect @ Dialect::FlexRic } = &event {
                    eprintln!("ranlab: this RIC speaks as FlexRIC 2.0 does; using --dialect {dialect}");
                }
                watch.take(&event, values.take(xapp, &event, output)?);
                // What is there already needs no wait.
                for _ in 0..256 {
                    let Some(event) = xapp.try_next() else { break };
                    watch.take(&event, values.take(xapp, &event, output)?);
                    if let Some(rest) = pace.rest(begin.elapsed(), arguments) {
                        tokio::time::sleep(rest).await;
                    }
                }
            }
        }
    }
}

/// Takes back what was subscribed: FlexRIC keeps what an xApp leaves behind, and works for it.
async fn leave(xapp: &XappHandle) {
    let left = tokio::select! {
        left = xapp.leave(LEAVE_WAIT) => left,
        // A second Ctrl-C.
        () = live::end(None) => xapp.read(|xapp| xapp.subscriptions().1),
    };
    if left > 0 {
        eprintln!("ranlab: {left} subscriptions are left behind: the RIC has not confirmed their deletion");
    }
}

/// Where the values go.
struct Told {
    values: Values,
    screen: Screen,
    recorder: Option<(PathBuf, Recorder)>,
    /// Values are shown: of text a look each second, of a stream every row.
    shown: bool,
    format: Format,
    /// Lines on the terminal that the next look replaces.
    on_terminal: usize,
    /// Reports that were none of their model's.
    malformed: u64,
}

impl Told {
    fn new(arguments: &Arguments, format: Format) -> Result<Self, Failure> {
        let models = &arguments.sm;
        let recorder = arguments.record.clone().map(|path| {
            let recorder = Recorder::create(&path, models).map_err(of_recording)?;
            Ok::<_, Failure>((path, recorder))
        });
        Ok(Self {
            values: Values::new(models, arguments.ue),
            screen: Screen::default(),
            recorder: recorder.transpose()?,
            shown: !arguments.totals && format != Format::Json,
            format,
            on_terminal: 0,
            malformed: 0,
        })
    }

    /// Takes an event; of a report it says when the base station took it.
    fn take(
        &mut self,
        xapp: &XappHandle,
        event: &XappEvent,
        output: &mut Output,
    ) -> Result<Option<i64>, Failure> {
        let Some(heard) = self.values.take(xapp, event) else { return Ok(None) };
        let streamed = self.shown && self.format == Format::Ndjson;
        if streamed || self.recorder.is_some() {
            match heard.table() {
                Ok(table) => {
                    for line in heard.lines(&table, wall_clock_us()) {
                        if let Some((_, recorder)) = &mut self.recorder {
                            recorder.row(&line).map_err(of_recording)?;
                        }
                        if streamed {
                            output.item(&line)?;
                        }
                    }
                }
                Err(_) => self.malformed += 1,
            }
        }
        Ok(heard.tstamp_us())
    }

    /// The look of a second: on a terminal in the place of the one before.
    fn show(&mut self, output: &mut Output, summary: &str) -> Result<(), Failure> {
        if let Some((_, recorder)) = &mut self.recorder {
            recorder.flush().map_err(of_recording)?;
        }
        if self.format != Format::Text || !self.shown {
            return output.text(summary);
        }
        let terminal = io::stdout().is_terminal();
        let size = ranlab_host::terminal_size(io::stdout()).filter(|_| terminal);
        let Some((lines, columns)) = size else {
            output.text(summary)?;
            return self.screen.lines(&self.values).into_iter().try_for_each(|line| output.text(line));
        };
        // A line of the summary, and one for the cursor.
        let table = self.screen.table(&self.values, Room { lines: lines.saturating_sub(2), columns });
        let mut drawn = String::new();
        if self.on_terminal > 0 {
            // Up to the first line of the last look; what is from there on is erased (ECMA-48 CPL, ED).
            drawn = format!("\x1b[{}F\x1b[J", self.on_terminal);
        }
        let cut = |line: &str| line.chars().take(columns).collect::<String>();
        let text = std::iter::once(cut(summary)).chain(table.iter().map(|line| cut(line)));
        drawn.push_str(&text.collect::<Vec<_>>().join("\n"));
        self.on_terminal = table.len() + 1;
        output.text(drawn)
    }

    /// Ends the file. Says which and how many rows.
    fn finish(self) -> Result<Option<(PathBuf, u64)>, Failure> {
        if self.malformed > 0 {
            eprintln!("ranlab: {} reports were none of their service model's: passed over", self.malformed);
        }
        let finished = self.recorder.map(|(path, recorder)| Ok((path, recorder.finish()?)));
        finished.transpose().map_err(of_recording)
    }
}

fn of_recording(error: RecordError) -> Failure {
    match error {
        RecordError::Form(_) => Failure::Usage(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    }
}

/// How far a slow reader is ahead of what it may take.
#[derive(Default)]
struct Pace {
    taken: u32,
}

impl Pace {
    /// How long to rest after one more indication.
    fn rest(&mut self, elapsed: Duration, arguments: &Arguments) -> Option<Duration> {
        let at_most = f64::from(arguments.at_most?);
        if elapsed < arguments.slow_from || elapsed >= arguments.slow_until {
            return None;
        }
        self.taken += 1;
        let due = arguments.slow_from + Duration::from_secs_f64(f64::from(self.taken) / at_most);
        due.checked_sub(elapsed)
    }
}

impl Watch {
    /// Takes an event, and the time at which a base station says that it took what an indication tells.
    fn take(&mut self, event: &XappEvent, tstamp_us: Option<i64>) {
        match event {
            XappEvent::Indication { indication, .. } => {
                self.indications += 1;
                self.bytes += indication.message.len() as u64;
                if let Some(sent) = tstamp_us {
                    let age = i128::from(wall_clock_us()) - i128::from(sent);
                    self.latency_us.saturating_record(u64::try_from(age).unwrap_or(0).max(1));
                }
            }
            XappEvent::Disconnected { .. } => self.reconnects += 1,
            _ => {}
        }
    }

    fn summary(&self, xapp: &XappHandle) -> Summary {
        let h = &self.latency_us;
        xapp.read(|xapp| Summary {
            nodes: xapp.nodes().count(),
            subscriptions: xapp.subscriptions().0,
            indications: self.indications,
            bytes: self.bytes,
            lost: xapp.lost_total(),
            repeated: xapp.repeated_total(),
            latency_us: Latency {
                p50: h.value_at_quantile(0.5),
                p99: h.value_at_quantile(0.99),
                max: h.max(),
            },
            restored: self.reconnects,
        })
    }
}

fn wall_clock_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

fn line(s: &Summary, rate: f64) -> String {
    format!(
        "{} nodes  {} subscriptions  {rate:.0} indications/s  {} lost  latency p50 {} us  p99 {} us",
        s.nodes,
        s.subscriptions,
        lost(s),
        s.latency_us.p50,
        s.latency_us.p99
    )
}

/// A base station that numbers nothing leaves losses unknown.
fn lost(summary: &Summary) -> String {
    summary.lost.map_or_else(|| "unknown".to_owned(), |n| n.to_string())
}
