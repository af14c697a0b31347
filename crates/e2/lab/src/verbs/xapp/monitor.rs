//! `ranlab xapp monitor`: shows statistics, and the rate, losses and age of their reports.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use crate::values::{ReceivedReport, RecordError, Recorder, Room, Screen, Values};
use crate::{MonitorComponent, MonitorReport, RunningMonitor};
use ranlab_sdk::e2::xapp::Dialect;
use ranlab_sdk::wire::e2sm::common::JoinedUe;
use serde::Serialize;

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};

/// Number of seconds after which models that no base station offers are reported.
const UNOFFERED_AFTER: u32 = 3;
/// Time limit for the deletion of subscriptions at the RIC.
const LEAVE_WAIT: Duration = Duration::from_secs(10);

/// Arguments of `xapp monitor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ranlab xapp monitor --sm mac,rlc,pdcp,gtp --period 10ms --duration 10s --format json\n  ranlab xapp monitor --ue 17921 --record ue.parquet\n  ranlab xapp monitor --sm kpm --kpm-measure DRB.UEThpDl,RRU.PrbTotDl --kpm-snssai 1-010203 --period 1s --granularity 100ms\n  ranlab xapp monitor --sm kpm --kpm-style 5 --kpm-ue f1ap=1 --kpm-ue f1ap=2\n\nCounters are shown as increments per second. Files and --format ndjson have the reported values.\n\nIf no base station offers the default models and --sm is not given, the xApp shows KPM, or else another offered model."
)]
pub struct Arguments {
    #[command(flatten)]
    monitor: Flags<MonitorComponent>,
    /// Duration of the run [default: until Ctrl-C]
    #[arg(long, value_parser = args::duration)]
    duration: Option<Duration>,
    /// UE (RNTI) whose values are shown, streamed and recorded [default: all]
    #[arg(long, value_name = "RNTI")]
    ue: Option<u32>,
    /// Record a row per UE, bearer or tunnel of each report as .csv or .parquet; Parquet is readable once the xApp
    /// has ended
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print only rates, losses and age, without values
    #[arg(long)]
    totals: bool,
}

pub(super) async fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let part = &arguments.monitor.config;
    part.wanted().map_err(|trouble| Failure::Usage(trouble.to_string()))?;
    part.selection().map_err(|trouble| Failure::Usage(trouble.to_string()))?;
    let sink = Rc::new(RefCell::new(ValueSink::new(&arguments, format)?));
    let mut watch = Watch::start(&arguments, &sink)?;
    tokio::select! {
        joined = watch.watcher.joined() => joined.map_err(Failure::Environment)?,
        () = live::end(arguments.duration) => return Err(Failure::Environment("the RIC has not answered the setup request".to_owned())),
    }
    let watched = live::each_second(arguments.duration, |seconds| watch.print_update(seconds)).await;
    let watcher = watch.watcher;
    let report = watcher.report();
    let xapp = watcher.xapp.clone();
    let ues = watcher.values(Values::ues).iter().take(UES_MAX).map(Ue::from).collect();
    drop(watcher);
    // The recording is saved first, because leaving takes time and a second Ctrl-C may interrupt it.
    let recorded = sink.borrow_mut().finish()?;
    watched?;
    // The subscriptions are deleted, because FlexRIC would keep processing them after the disconnect.
    let left = tokio::select! {
        left = xapp.leave(LEAVE_WAIT) => left,
        // A second Ctrl-C ends the wait.
        () = live::end(None) => xapp.read(|xapp| xapp.subscriptions().1),
    };
    if left > 0 {
        eprintln!(
            "ranlab: {left} subscriptions may remain, because the RIC has not confirmed their deletion"
        );
    }
    let output = &mut sink.borrow_mut().output;
    if let Some((file, rows)) = recorded {
        output.text(format_args!("{rows} rows in {}", file.display()))?;
    }
    let lost = lost(&report);
    let age = report.latency_us;
    warnings(&report).iter().for_each(|warning| eprintln!("ranlab: {warning}"));
    output.text(format_args!(
        "{} nodes, {} subscriptions, {} indications, {lost} lost, latency {age}",
        report.nodes, report.subscriptions, report.indications
    ))?;
    // A script with a time limit reads the exit code, so a run without any subscription is an error.
    let nothing = arguments.duration.is_some() && report.subscriptions == 0 && report.indications == 0;
    output.finish(&Summary { report, ues })?;
    if nothing {
        Err(Failure::Check("no base station has admitted a subscription".to_owned()))
    } else {
        Ok(())
    }
}

/// A running monitor, which is read once per second.
struct Watch<'a> {
    watcher: RunningMonitor,
    sink: &'a Rc<RefCell<ValueSink>>,
    arguments: &'a Arguments,
    /// Whether other models may be watched if no base station offers the default ones. True without --sm.
    may_change: bool,
    looks: u32,
    /// Number of indications at the previous update.
    before: u64,
    dialect_shown: bool,
}

impl<'a> Watch<'a> {
    fn start(arguments: &'a Arguments, sink: &'a Rc<RefCell<ValueSink>>) -> Result<Self, Failure> {
        let part = &arguments.monitor.config;
        let watcher = watcher(part, arguments.ue, sink)?;
        let may_change = part.sm == MonitorComponent::default().sm;
        Ok(Self { watcher, sink, arguments, may_change, looks: 0, before: 0, dialect_shown: false })
    }

    fn print_update(&mut self, seconds: f64) -> Result<(), Failure> {
        let report = self.watcher.report();
        let rate = report.indications.saturating_sub(self.before) as f64 / seconds;
        self.before = report.indications;
        if let Some(Dialect::FlexRic) =
            self.watcher.speaks().filter(|_| !std::mem::replace(&mut self.dialect_shown, true))
        {
            eprintln!("ranlab: this RIC uses the dialect of FlexRIC 2.0; continuing with --dialect flexric");
        }
        self.looks += 1;
        if let Some(sentence) = self.watcher.unoffered().filter(|_| self.looks == UNOFFERED_AFTER) {
            eprintln!("ranlab: {sentence}");
        }
        while let Some(reason) = self.watcher.trouble() {
            eprintln!("ranlab: {reason}");
        }
        self.watcher.values(|values| self.sink.borrow_mut().show(values, &report, rate))?;
        match self.watcher.alternatives().filter(|_| self.may_change) {
            Some(models) => self.change(models),
            None => Ok(()),
        }
    }

    /// Starts to watch other models.
    fn change(&mut self, models: Vec<String>) -> Result<(), Failure> {
        let part = &self.arguments.monitor.config;
        let missing = part.sm.join(", ");
        let shown = models.join(", ");
        eprintln!("ranlab: no base station offers {missing}; showing {shown}");
        let part = MonitorComponent { sm: models, ..part.clone() };
        self.sink.borrow_mut().watch(&part)?;
        self.watcher = watcher(&part, self.arguments.ue, self.sink)?;
        self.may_change = false;
        self.before = 0;
        Ok(())
    }
}

/// Starts a watcher whose reports are passed to `sink`.
fn watcher(
    part: &MonitorComponent,
    ue: Option<u32>,
    sink: &Rc<RefCell<ValueSink>>,
) -> Result<RunningMonitor, Failure> {
    let sink = sink.clone();
    let hear =
        move |report: &ReceivedReport<'_>, received_us| sink.borrow_mut().on_report(report, received_us);
    Ok(RunningMonitor::showing(part, ue, Box::new(hear))?)
}

/// Maximum number of UEs in the final object of `--format json`.
const UES_MAX: usize = 4_096;

/// Final object of `--format json`.
#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    report: MonitorReport,
    /// UEs of the latest reports. The identities of a UE at the CU-CP, CU-UPs and DUs of a base station are joined.
    ues: Vec<Ue>,
}

/// A UE of a base station.
#[derive(Debug, Serialize)]
struct Ue {
    base_station: String,
    number: u32,
    /// All numbers of the UE, in the format that `--ue` of `xapp control` accepts.
    ids: String,
    /// Identity of the UE at each node.
    nodes: BTreeMap<String, String>,
}

impl From<&JoinedUe> for Ue {
    fn from(ue: &JoinedUe) -> Self {
        Self {
            base_station: ue.base_station.to_string(),
            number: ue.number(),
            ids: ue.numbers.to_string(),
            nodes: ue.nodes.iter().map(|(node, ids)| (node.to_string(), ids.clone())).collect(),
        }
    }
}

/// Destination of the received values.
struct ValueSink {
    output: Output,
    screen: Screen,
    recorder: Option<(PathBuf, Recorder)>,
    /// Whether values are shown: as a table per second in text format, or as a stream of all rows.
    shown: bool,
    format: Format,
    /// Lines on the terminal that the next update replaces.
    on_terminal: live::LiveView,
    /// Number of consecutive seconds without indications, after some had arrived.
    silent_s: u64,
    /// Number of seconds without indications after which a warning is printed: the maximum of [`SILENT_S`] and three
    /// periods.
    silence_reported_s: u64,
    /// First reason why a report could not be decoded, and the number of such reports.
    malformed: Option<(String, u64)>,
    /// First reason why a report was decoded only in part, and the number of such reports.
    left_out: Option<(String, u64)>,
    /// Decoding errors that have been reported.
    reported: BTreeSet<String>,
    /// First error while writing.
    failed: Option<Failure>,
}

impl ValueSink {
    fn new(arguments: &Arguments, format: Format) -> Result<Self, Failure> {
        let models = arguments.monitor.config.models()?;
        let recorder = arguments.record.clone().map(|path| {
            let recorder = Recorder::create(&path, &models).map_err(of_recording)?;
            Ok::<_, Failure>((path, recorder))
        });
        Ok(Self {
            output: Output::new(format),
            screen: Screen::default(),
            recorder: recorder.transpose()?,
            shown: !arguments.totals && format != Format::Json,
            format,
            on_terminal: live::LiveView::default(),
            silent_s: 0,
            silence_reported_s: SILENT_S.max(3 * arguments.monitor.config.period.as_secs()),
            malformed: None,
            left_out: None,
            reported: BTreeSet::new(),
            failed: None,
        })
    }

    /// Prepares to show and record other models.
    fn watch(&mut self, part: &MonitorComponent) -> Result<(), Failure> {
        if let Some((path, recorder)) = &mut self.recorder {
            *recorder = Recorder::create(path, &part.models()?).map_err(of_recording)?;
        }
        self.screen = Screen::default();
        Ok(())
    }

    /// Handles a report. Errors are reported with the next update.
    fn on_report(&mut self, report: &ReceivedReport<'_>, received_us: i64) {
        if self.failed.is_none() {
            self.failed = self.rows(report, received_us).err();
        }
    }

    /// Prints and records a report's rows.
    fn rows(&mut self, report: &ReceivedReport<'_>, received_us: i64) -> Result<(), Failure> {
        let streamed = self.shown && self.format == Format::Ndjson;
        if !streamed && self.recorder.is_none() {
            return Ok(());
        }
        let table = match report.table() {
            Ok(table) => table,
            Err(error) => {
                let reason = || (format!("{} of {}: {error}", report.model.name(), report.node), 0);
                self.malformed.get_or_insert_with(reason).1 += 1;
                return Ok(());
            }
        };
        if let Some(reason) = &table.left_out {
            self.left_out.get_or_insert_with(|| (reason.clone(), 0)).1 += 1;
        }
        for line in report.lines(&table, received_us) {
            if let Some((_, recorder)) = &mut self.recorder {
                recorder.row(&line).map_err(of_recording)?;
            }
            if streamed {
                self.output.item(&line)?;
            }
        }
        Ok(())
    }

    /// Shows the values of a second. On a terminal they replace the previous values.
    fn show(&mut self, values: &Values, report: &MonitorReport, rate: f64) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), Err)?;
        if let Some((_, recorder)) = &mut self.recorder {
            recorder.flush().map_err(of_recording)?;
        }
        self.silent_s =
            if rate == 0.0 && report.indications > 0 { self.silent_s.saturating_add(1) } else { 0 };
        if self.silent_s == self.silence_reported_s && report.subscriptions > 0 {
            eprintln!("{}", silence(self.silent_s, report));
        }
        if self.shown && self.format == Format::Text {
            self.report_unreadable(values);
        }
        let summary = line(report, rate);
        if self.format == Format::Text && self.shown {
            self.refresh(values, &summary)?;
        } else {
            self.output.text(summary)?;
        }
        self.output.item(report)?;
        self.output.flush()
    }

    /// Reports why values are not shown, once per reason.
    fn report_unreadable(&mut self, values: &Values) {
        for reason in values.unreadable() {
            if self.reported.len() < REASONS_MAX && self.reported.insert(reason.clone()) {
                eprintln!("ranlab: {reason}");
            }
        }
    }

    fn refresh(&mut self, values: &Values, summary: &str) -> Result<(), Failure> {
        let now_us = i64::try_from(ranlab_sdk::unix_time().as_micros()).unwrap_or(i64::MAX);
        self.screen.set_now(now_us);
        let terminal = io::stdout().is_terminal();
        let size = ranlab_host::terminal_size(io::stdout()).filter(|_| terminal);
        let Some((lines, columns)) = size else {
            self.output.text(summary)?;
            return self.screen.lines(values).into_iter().try_for_each(|line| self.output.text(line));
        };
        // One line is reserved for the summary, and one for the cursor.
        let table = self.screen.table(values, Room { lines: lines.saturating_sub(2), columns });
        let lines: Vec<String> = std::iter::once(summary.to_owned()).chain(table).collect();
        let drawn = self.on_terminal.render(&lines, columns);
        self.output.text(drawn)
    }

    /// Closes the recording. Returns its path and number of rows.
    fn finish(&mut self) -> Result<Option<(PathBuf, u64)>, Failure> {
        if let Some((reason, reports)) = &self.malformed {
            eprintln!(
                "ranlab: {reports} reports cannot be decoded and are omitted; reason of the first: {reason}"
            );
        }
        if let Some((reason, reports)) = &self.left_out {
            eprintln!(
                "ranlab: {reports} reports have values that are in no row of the output; reason of the first: {reason}"
            );
        }
        let finished = self.recorder.take().map(|(path, recorder)| Ok((path, recorder.finish()?)));
        finished.transpose().map_err(of_recording)
    }
}

/// Maximum number of decoding errors that are reported.
const REASONS_MAX: usize = 32;
/// Maximum number of reports with unchanged values for which no warning is printed.
const REPEATED_MIN: u64 = 4;
/// Resolution of time stamps that count whole seconds, in microseconds.
const WHOLE_SECONDS: i64 = 1_000_000;

/// Minimum number of seconds without an indication before a warning is printed.
const SILENT_S: u64 = 3;

/// Formats a warning about a connection without indications. Losses are detected by sequence numbers, so they are not
/// counted in the meantime.
fn silence(seconds: u64, report: &MonitorReport) -> String {
    format!(
        "ranlab: none of the {} subscriptions has received an indication for {seconds} s, after {} indications before; losses in this time are not counted",
        report.subscriptions, report.indications
    )
}

/// Returns warnings about doubtful values or ages.
fn warnings(report: &MonitorReport) -> Vec<String> {
    let times = &report.times;
    let mut warnings = Vec::new();
    if times.missing > 0 {
        let pause_ms = times.longest_pause_us / 1_000;
        warnings.push(format!(
            "according to the time stamps, {} reports are missing; the longest pause is {pause_ms} ms",
            times.missing
        ));
    }
    if times.unchanged > REPEATED_MIN && times.unchanged * 2 > report.indications {
        warnings.push(format!(
            "{} of {} reports have the same values as the report before; --period may be shorter than the interval at which the base stations update their values",
            times.unchanged, report.indications
        ));
    }
    if report.without_age > 0 {
        let reason = match times.step_us {
            WHOLE_SECONDS.. => "the time stamps have a resolution of one second",
            _ => "the time stamps do not agree with this machine's clock",
        };
        warnings.push(format!("the age of {} reports is unknown, because {reason}", report.without_age));
    }
    warnings
}

fn of_recording(error: RecordError) -> Failure {
    match error {
        RecordError::Form(_) => Failure::Usage(error.to_string()),
        _ => Failure::Environment(error.to_string()),
    }
}

fn line(report: &MonitorReport, rate: f64) -> String {
    let lost = lost(report);
    let age = report.latency_us;
    format!(
        "{} nodes  {} subscriptions  {rate:.0} indications/s  {lost} lost  latency {}",
        report.nodes,
        report.subscriptions,
        age.to_string().replace(", ", "  ")
    )
}

/// Formats the losses, which are unknown if a base station sends no sequence numbers.
fn lost(report: &MonitorReport) -> String {
    report.lost.map_or_else(|| "unknown".to_owned(), |lost| lost.to_string())
}
