//! Tests of the reports of whole campaigns: every form of figure, hostile text, ten thousand points.
#![cfg(all(feature = "store", feature = "report"))]
#![allow(clippy::unwrap_used, reason = "test helpers may unwrap, like tests")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use ranlab_campaign::mock::MockRig;
use ranlab_campaign::plan::Plan;
use ranlab_campaign::record::Distribution;
use ranlab_campaign::renamed::Renames;
use ranlab_campaign::results::{MemoryJournal, Results};
use ranlab_campaign::rig::{MetricKind, Rig, Stop};
use ranlab_campaign::run::run;
use ranlab_campaign::scenario::{Overrides, Scenario, metrics};
use ranlab_campaign::search::TrialOutcome;
use ranlab_campaign::trials;
use ranlab_campaign::value::Value;
use ranlab_report::compare::{Options, compare, side};
use ranlab_report::report::{Across, Context, Figure, Form, Sample, Written, beside, figures, svg, write};
use ranlab_report::store::{Header, Load, Store};

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name)
}

fn campaign(text: &str) -> Results {
    let rig = MockRig::default();
    let description = rig.describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = match Scenario::parse(text, "t.toml", &Overrides::default(), rigs) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    };
    let plan = Plan::new(&scenario, &description);
    let mut journal = MemoryJournal::default();
    run(Box::new(rig), &scenario, &plan, &mut journal, &Stop::never(), &mut |_| {}).unwrap();
    let metrics = metrics(&description, &scenario);
    Results::new(scenario, metrics, plan.points, journal.finished)
}

/// Writes the report of a campaign. Returns what was written, and the JSON data of the HTML page.
fn page(name: &str, results: &Results, context: &Context) -> (Written, String) {
    let folder = directory(name);
    let _ = std::fs::remove_dir_all(&folder);
    let written = write(results, context, &folder).unwrap();
    let page = data(&std::fs::read_to_string(&written.html).unwrap());
    (written, page)
}

fn data(page: &str) -> String {
    let data = page.split("<script type=\"application/json\" id=\"data\">").nth(1).unwrap();
    data.split("</script>").next().unwrap().to_owned()
}

/// Returns the position of each text; all texts must be present.
fn places<const N: usize>(page: &str, texts: [&str; N]) -> [usize; N] {
    texts.map(|text| page.find(text).unwrap_or_else(|| panic!("the page lacks “{text}”")))
}

fn samples(figure: &Figure) -> impl Iterator<Item = &Sample> {
    figure.series.iter().flat_map(|series| &series.samples)
}

const GALLERY: &str = include_str!("../examples/gallery.toml");

#[test]
fn every_figure_type_is_drawn_completely() {
    let mut results = campaign(GALLERY);
    results.host = serde_json::json!({"cpu": "mock", "steal": 0.0});
    let context = Context {
        pictures: Vec::new(),
        warnings: vec!["The hypervisor gave 3 % of the CPU time to others.".to_owned()],
        remarks: vec!["The governor is “powersave”; latencies may be longer than they need be.".to_owned()],
        verdict: vec!["Cell UL meets 100 us under strict priority.".to_owned()],
        command: "ranlab bench run gallery.toml".to_owned(),
    };
    let written = write(&results, &context, &directory("gallery")).unwrap();
    assert_eq!(written.figures.len(), 22);
    for path in &written.figures {
        let bytes = std::fs::read(path).unwrap();
        if path.extension().is_some_and(|ext| ext == "png") {
            assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 5_000, "{path:?} is empty");
        }
    }
    let page = std::fs::read_to_string(&written.html).unwrap();
    // The page is self-contained: it fetches nothing.
    for foreign in ["<img", "src=", "@import", "url(h", "url(/", "url(\"", "href=\"h", "href=\"/"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let page = data(&page);
    let json: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!(json["figures"].as_array().unwrap().len(), 11);
    assert!(page.contains("λ (one alone)") && !page.contains("NaN"));
    numbers_are_the_results(&json, &results);
    for figure in &figures(&results) {
        assert!(figure.series.iter().all(|series| !series.samples.is_empty()), "{}", figure.title);
    }
    let figures = figures(&results);
    assert_eq!(figures[0].marks.iter().map(|mark| mark.color).collect::<Vec<_>>(), [Some(0), Some(1)]);
    // Every table of the page is a file as well: verdicts, the data of eleven figures, and the numbers below
    // two of them.
    assert_eq!(written.tables.len(), 14);
    for path in &written.tables {
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.lines().count() > 1 && !text.contains("NaN"), "{path:?}: {text}");
    }
    assert!(page.contains("Of 4 published statements (an invented paper): 3 as published; 1 different"));
    assert!(page.contains("A/A spread"));
    assert!(page.contains("Cell UL meets 100 us under strict priority."));
}

/// Checks that all means and intervals on the page are those of the results.
fn numbers_are_the_results(json: &serde_json::Value, results: &Results) {
    let metrics = json["metrics"].as_array().unwrap();
    assert!(metrics.len() >= 5 && json["points"].as_array().unwrap().len() == results.points.len());
    for (point, told) in results.points.iter().zip(json["points"].as_array().unwrap()) {
        for (metric, value) in metrics.iter().zip(told["values"].as_array().unwrap()) {
            let Some(own) = results.summary(point, metric["name"].as_str().unwrap()) else {
                assert!(value.is_null(), "{metric}");
                continue;
            };
            // The JSON reader of this test is sometimes off by the last bit; the written numbers are exact.
            for (told, own) in [(&value[0], own.mean), (&value[1], own.half_width.unwrap())] {
                assert!(
                    (told.as_f64().unwrap() - own).abs() <= own.abs() * 1e-15,
                    "{metric}: {told} is not {own}"
                );
            }
        }
    }
    // The expectations are listed next to their figures.
    let first = json["figures"][0]["expected"].as_array().unwrap();
    assert!(!first.is_empty());
    for index in first {
        let row = &json["expected"][index.as_u64().unwrap() as usize];
        assert_eq!(row["metric"], json["figures"][0]["plot"]["y"]);
    }
}

#[test]
fn failures_and_hostile_text_are_escaped() {
    let results = campaign(
        "title = \"<script>alert(1)</script>\"\nrig = \"mock\"\n[load]\nfails = \"crash\"\n[sweep.axes]\n\
         \"load.workers\" = [1, 2]\n[measure]\nrepeats = 1\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n",
    );
    let written = write(&results, &Context::default(), &directory("hostile")).unwrap();
    let page = std::fs::read_to_string(&written.html).unwrap();
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    let json: serde_json::Value = serde_json::from_str(&data(&page)).unwrap();
    assert_eq!(json["title"], "<script>alert(1)</script>");
    assert!(json["figures"][0]["missing"].as_str().unwrap().contains("exited with signal 11"));
}

const SEARCH: &str = include_str!("../examples/gallery-search.toml");

/// The result of a search comes first, with its interval. Every trial is drawn.
#[test]
fn search_report_begins_with_answer_and_trials() {
    let results = campaign(SEARCH);
    let found = results.points[0].summary("search.load", 0.95).unwrap();
    let (written, page) = page("search", &results, &Context::default());
    let sentence = "Largest offered rate (1/s) with rtt_us_p50 ≤ 1000: ";
    let [answer, figure, points] = places(&page, [sentence, "\"figures\":", "\"points\":"]);
    assert!(answer < figure && figure < points);
    assert!(page[answer..].contains("95 % interval over 5 searches"));
    let figure = &figures(&results)[0];
    assert_eq!((figure.y_label.as_str(), figure.x_label.as_str()), ("rtt_us_p50 (us)", "offered rate (1/s)"));
    assert_eq!((figure.bounds[0].y, figure.bounds[0].name.as_str()), (1000.0, "allowed: rtt_us_p50 ≤ 1000"));
    let own = figure.answer.as_ref().unwrap();
    // The interval extends to the nearest load that failed.
    let bracket = results.points[0].summary("search.upper", 0.95).unwrap().mean - found.mean;
    let (low, high) = own.interval;
    assert!(own.x == found.mean && low <= found.interval().0 && high >= found.interval().1 + bracket);
    assert!(high - low < 1.1 * (2.0 * found.half_width.unwrap() + bracket), "{own:?}");
    // Every trial is drawn. Trials marked as passed are at or below the bound, all others above it.
    let kept: usize =
        results.points[0].runs.iter().map(|run| trials::from_recording(&run.recording).len()).sum();
    let mut drawn = 0;
    for series in &figure.series {
        let Form::Trials { gave, .. } = series.form else { continue };
        drawn += series.samples.len();
        assert!(series.samples.iter().all(|s| (s.y <= 1000.0) == (gave == TrialOutcome::Pass)), "{series:?}");
    }
    assert_eq!((drawn, kept > 20), (kept, true));
    let table = std::fs::read_to_string(&written.tables[0]).unwrap();
    assert!(table.contains("failed, full time") && table.contains("answer: "), "{table}");
}

#[test]
fn search_without_answer_shows_reason_and_trials() {
    let results = campaign(&SEARCH.replace("at_most = 1000\n", "at_most = 0.5\n"));
    let (_, page) = page("search-none", &results, &Context::default());
    let [answer, _] = places(&page, ["with rtt_us_p50 ≤ 0.5: not found (", "\"figures\":"]);
    assert!(
        page[answer..].contains("rtt_us_p50 is ") && page[answer..].contains("more than 0.5"),
        "{}",
        &page[answer..answer + 200]
    );
    let figure = &figures(&results)[0];
    assert!(figure.answer.is_none() && samples(figure).count() > 3);
}

#[test]
fn single_search_has_bounds_and_no_interval() {
    let results = campaign(&SEARCH.replace("repeats = 5", "repeats = 1"));
    let (_, page) = page("search-once", &results, &Context::default());
    places(&page, ["passed and", "failed, in one search", "no number here has an interval"]);
    let metrics = &results.points[0].runs[0].recording.metrics;
    let answer = figures(&results)[0].answer.clone().unwrap();
    assert_eq!(answer.interval, (metrics["search.load"], metrics["search.upper"]));
}

#[test]
fn tuning_shows_each_tried_setting() {
    let results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[search]\ntype = \"tune\"\nmetric = \"throughput\"\ntrials = 6\n[search.knobs]\n\
         \"load.workers\" = [1, 2, 4, 8, 16, 32]\n[measure]\nrepeats = 2\n",
    );
    let (_, page) = page("tune", &results, &Context::default());
    places(&page, ["Best requests done in a second (1/s): ", "best of 6 trials: load.workers = "]);
    assert_eq!(samples(&figures(&results)[0]).count(), 12);
}

/// The reason names the metric, its value, the limit, and the setting that defines the limit. If all points are
/// invalid, no figure is drawn.
#[test]
fn invalid_campaign_report_names_limit_setting_and_draws_nothing() {
    let text = include_str!("../examples/gallery-invalid.toml");
    let plot = "[[plot]]\ntitle = \"Nothing of it\"\nx = \"load.workers\"\ny = \"throughput\"\n";
    let (written, page) = page("invalid", &campaign(&format!("{text}{plot}")), &Context::default());
    assert!(written.figures.is_empty());
    let why = "host.steal_share is 0.36, more than 0.02 (limit: `host.steal_at_most`)";
    let [doubt, missing, points] = places(
        &page,
        [
            &format!("the measurement is invalid and its numbers are not used: {why}"),
            "\"missing\":\"3 of 3 points invalid: ",
            "\"points\":",
        ],
    );
    assert!(doubt < missing && missing < points);
    // The table shows the reason for each point.
    assert_eq!(page[points..].matches(why).count(), 3);
}

#[test]
fn degraded_point_names_broken_limit() {
    let results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.0\n[load]\nrate = 2000.0\n[sweep.axes]\n\"load.workers\" = [1, 4]\n\
         [measure]\nrepeats = 2\n",
    );
    assert_eq!(results.points[0].reason(), "loss_ratio is 0.5, more than 0");
    assert_eq!(results.points[1].reason(), "");
    let (_, page) = page("degraded", &results, &Context::default());
    let [doubt, figure] =
        places(&page, ["kept working (degraded): loss_ratio is 0.5, more than 0.", "\"figures\":"]);
    assert!(doubt < figure);
}

/// Two repeats of a noisy system give wide intervals. In figures, intervals of a share are cut off at 0 and 1, those of
/// a latency at 0.
#[test]
fn intervals_are_cut_off_at_possible_values() {
    let text = "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.3\n[load]\nrate = 1100.0\n[sweep.axes]\n\"load.workers\" = [1, 2]\n\
                [measure]\nrepeats = 2\n[[plot]]\nx = \"load.workers\"\ny = \"loss_ratio\"\n[[plot]]\nx = \"load.workers\"\ny = \"rtt_us_p50\"\n";
    let mut results = campaign(text);
    let beyond =
        |name: &str| results.points.iter().any(|p| p.summary(name, 0.95).unwrap().interval().0 < 0.0);
    assert!(beyond("loss_ratio") && beyond("rtt_us_p50"), "the test needs intervals that reach below 0");
    for (figure, most) in figures(&results).iter().zip([1.0, f64::INFINITY]) {
        assert!(samples(figure).all(|s| s.low >= 0.0 && s.high <= most && s.low <= s.y), "{figure:?}");
    }
    // A signed metric may be negative.
    results.metrics.iter_mut().for_each(|metric| metric.signed = true);
    assert!(samples(&figures(&results)[0]).any(|s| s.low < 0.0));
}

#[test]
fn axes_begin_at_0_unless_scenario_overrides() {
    let of = |more: &str| {
        let text = format!(
            "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.0\nsigma = 0.9\n[load]\nrate = 100.0\n[sweep.axes]\n\
             \"load.workers\" = [10, 12]\n[measure]\nrepeats = 2\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n{more}"
        );
        let svg = svg(&figures(&campaign(&text))[0]).unwrap();
        svg.split("<text")
            .filter(|text| text.split('>').nth(1).is_some_and(|text| text.trim_start().starts_with("0\n")))
            .count()
    };
    assert_eq!((of(""), of("zero = \"y\"\n"), of("zero = \"\"\n"), of("log = \"xy\"\n")), (2, 1, 0, 0));
}

#[test]
fn areas_stack_and_have_labels() {
    let mut results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n[measure]\nrepeats = 2\n\
         [[plot]]\ntype = \"areas\"\nx = \"load.workers\"\ny = \"sut.cpu_cores\"\nlog = \"xy\"\nzero = \"\"\n",
    );
    let at = |second: u64| Duration::from_secs(second);
    let series = &mut results.points[0].runs[0].recording.series;
    series.insert("sut.cpu_cores".to_owned(), vec![(at(1), 5.0), (at(2), 6.0), (at(4), 1.0)]);
    series.insert("black".to_owned(), vec![(at(2), 3.0), (at(3), 2.0)]);
    results.scenario.plots[0].stack = vec!["black".to_owned()];
    let figure = &figures(&results)[0];
    assert_eq!(figure.title, "Cores that the system keeps busy, black (cores) over time (s), stacked");
    assert_eq!((figure.x_label.as_str(), figure.y_label.as_str()), ("time (s)", "stacked (cores)"));
    assert!(figure.caption.ends_with(
        "Only repeat 1 at load.workers=1; the areas are stacked. Other points are not shown. \
         sut.cpu_cores: cores that the system keeps busy."
    ));
    assert!(figure.zero.1 && !figure.log_y, "heights add up from 0");
    let drawn = |series: usize| {
        let edges = figure.series[series].samples.iter().map(|s| (s.x, s.low, s.high));
        (figure.series[series].name.as_str(), edges.collect::<Vec<_>>())
    };
    let below = [(1.0, 0.0, 5.0), (2.0, 0.0, 6.0), (3.0, 0.0, 6.0), (4.0, 0.0, 1.0)];
    assert_eq!(drawn(0), ("cores that the system keeps busy", below.to_vec()));
    let above = [(1.0, 5.0, 5.0), (2.0, 6.0, 9.0), (3.0, 6.0, 8.0), (4.0, 1.0, 3.0)];
    assert_eq!(drawn(1), ("black", above.to_vec()));
    let (written, page) = page("areas", &results, &Context::default());
    let svg = svg(figure).unwrap();
    assert_eq!(
        (svg.matches("<polygon").count(), svg.matches("\nblack\n").count()),
        (2, 1),
        "the figure must have two areas and one legend entry `black`"
    );
    assert!(page.contains("the areas are stacked"), "{:?}", written.figures);
}

#[test]
fn separate_measurements_never_share_a_figure() {
    let mut results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sweep]\nmode = \"joint\"\n[sweep.axes]\n\
         \"load.workers\" = [1, 2, 1, 2]\n\"sut.build\" = [\"mem\", \"mem\", \"veth\", \"veth\"]\n[measure]\nrepeats = 2\n\
         [[plot]]\ntitle = \"rate\"\nx = \"load.workers\"\ny = \"throughput\"\n\
         [[plot]]\ntitle = \"one\"\nx = \"load.workers\"\ny = \"throughput\"\nfilter = { \"sut.build\" = \"veth\" }\n",
    );
    let titles =
        |results: &Results| figures(results).into_iter().map(|figure| figure.title).collect::<Vec<_>>();
    assert_eq!(titles(&results), ["rate", "one"], "an axis without `apart` must not split figures");
    results.scenario.sweep.axes[1].apart = true;
    assert_eq!(titles(&results), ["rate, sut.build = mem", "rate, sut.build = veth", "one"]);
    assert!(figures(&results).iter().all(|figure| samples(figure).count() == 2));
    // A generated title names the points.
    results.scenario.plots.iter_mut().for_each(|plot| plot.title.clear());
    assert!(
        titles(&results)
            .iter()
            .zip(["mem", "veth", "veth"])
            .all(|(title, of)| title.ends_with(&format!(" = {of}")))
    );
    results.points.clear();
    assert_eq!(titles(&results).len(), 2, "without points, each of the two plots must give one figure");
}

#[test]
fn comparison_within_campaign_draws_picture_per_value() {
    let results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.01\n[sweep.axes]\n\"sut.build\" = [\"one\", \"other\"]\n\
         \"sut.sigma\" = [0.1, 0.5]\n\"load.workers\" = [1, 2, 400]\n[measure]\nrepeats = 3\n",
    );
    let of = |value: &str| side(&results, "sut.build", &Value::from(value)).unwrap();
    let one = of("one");
    let other = of("other");
    let compared =
        compare(&one, &other, &Options { metrics: vec!["throughput".to_owned()], ..Options::default() });
    assert_eq!((compared.rows.len(), compared.unmatched), (6, (0, 0)));
    assert!(side(&results, "sut.build", &Value::from("third")).is_none());
    let pictures = beside(("one", &one), ("other", &other), "throughput", Some("sut.sigma"));
    assert_eq!(pictures.iter().map(|(value, _)| value.as_str()).collect::<Vec<_>>(), ["0.1", "0.5"]);
    for (value, figure) in &pictures {
        let names: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["compared = one", "compared = other"]);
        assert_eq!((figure.title.clone(), samples(figure).count()), (format!("{value}: throughput"), 6));
        assert!(matches!(figure.x, Across::Numbers { log: true }), "1 to 400");
        assert!(svg(figure).unwrap().contains("<svg"));
    }
    // With one point on each side, the picture has bars.
    let bars = beside(("one", &one), ("other", &other), "throughput", Some("load.workers"));
    assert_eq!(bars.len(), 3);
    let mut single = one;
    single.points.truncate(1);
    let bars = beside(("one", &single), ("other", &other), "throughput", None);
    assert!(matches!(&bars[..], [(name, figure)] if name == "all" && matches!(figure.x, Across::Names(_))));
}

#[test]
fn titles_and_labels_are_words_with_units() {
    let results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n\"sut.sigma\" = [0.1, 0.2]\n[measure]\nrepeats = 2\n\
         [[plot]]\nx = \"load.workers\"\ny = \"rtt_us_p99\"\ngroup_by = \"sut.sigma\"\n\
         [[plot]]\ntype = \"series\"\nx = \"load.workers\"\ny = \"sut.cpu_cores\"\n\
         [[plot]]\ntype = \"heat\"\nx = \"load.workers\"\ny = \"sut.sigma\"\nz = \"throughput\"\n",
    );
    let figures = figures(&results);
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "99th percentile of reply time from the intended send time (us) against concurrency (workers)",
            "Cores that the system keeps busy (cores) over time (s)",
            "Requests done in a second (1/s) over concurrency (workers) and contention",
        ]
    );
    assert_eq!(
        (figures[0].y_label.as_str(), figures[0].x_label.as_str()),
        ("rtt_us_p99 (us)", "concurrency (workers)")
    );
    // A title by the author is unchanged; the sentence moves to the caption.
    let short = campaign(&GALLERY.replace("title = \"Median latency\"", "title = \"8a\""));
    let figure =
        ranlab_report::report::figures(&short).into_iter().find(|figure| figure.title == "8a").unwrap();
    let sentence = "Median of reply time from the intended send time (us) against concurrency (workers). ";
    assert!(figure.caption.starts_with(sentence), "{}", figure.caption);
    // Two lines have names at their ends, once each.
    let svg = svg(&figures[0]).unwrap();
    assert_eq!((svg.matches("contention = 0.1").count(), svg.matches("contention = 0.2").count()), (1, 1));
}

const POOLED: &str = "title = \"t\"\nrig = \"mock\"\n[sut]\nlaw = \"queue\"\n[load]\nrequests = 500\n[sweep.axes]\n\
                      \"load.rate\" = [1000, 9000]\n\"sut.build\" = [\"a\", \"b\"]\n[measure]\nrepeats = 3\n[[plot]]\n";

/// The 99th percentile of two pooled settings is the percentile of all their values, not the mean of two percentiles.
#[test]
fn pooled_percentiles_come_from_merged_histograms() {
    let mut results = campaign(&format!("{POOLED}x = \"sut.build\"\ny = \"rtt_us_p99\"\n"));
    let of = |results: &Results| figures(results)[0].series[0].samples[0].y;
    let here = || results.points.iter().filter(|point| point.point.settings["sut.build"].text() == Some("a"));
    let merged = (0..3).map(|repeat| {
        let mut all = Distribution::default();
        here().for_each(|point| all.merge(&point.runs[repeat].recording.distributions["rtt_us"]));
        all.quantile(0.99) as f64
    });
    let merged = merged.sum::<f64>() / 3.0;
    let averaged = here().map(|point| point.summary("rtt_us_p99", 0.95).unwrap().mean).sum::<f64>() / 2.0;
    assert!((of(&results) - merged).abs() < 1e-9 && (merged - averaged).abs() > 0.1 * merged);
    assert!(figures(&results)[0].caption.contains("of each repeat's own 99th percentile"));
    assert!(figures(&results)[0].caption.contains("histograms merged"));
    // Without histograms, the percentile cannot be computed.
    results
        .points
        .iter_mut()
        .flat_map(|point| &mut point.runs)
        .for_each(|run| run.recording.distributions.clear());
    assert!(!figures(&results)[0].missing.is_empty());
}

#[test]
fn box_plot_shows_and_names_quartiles_of_metric() {
    let boxes = |y: &str| {
        campaign(&format!(
            "{POOLED}type = \"box\"\nx = \"load.rate\"\ny = \"{y}\"\nfilter = {{ \"sut.build\" = \"a\" }}\n"
        ))
    };
    let results = boxes("rtt_us");
    let figure = &figures(&results)[0];
    let all = results.points[0].distribution("rtt_us").unwrap();
    let own = figure.series[0].samples[0];
    let quantile = |share| all.quantile(share) as f64;
    assert_eq!((own.low, own.y, own.high), (quantile(0.25), quantile(0.5), quantile(0.75)));
    assert_eq!(own.ends, (quantile(0.01), quantile(0.99)));
    assert!(figure.caption.contains("quartiles of all single values of 3 repeats"), "{}", figure.caption);
    assert!(matches!(&figure.x, Across::Names(names) if *names == ["1000", "9000"]));
    let figure = &figures(&boxes("rtt_us_p50"))[0];
    assert!(figure.caption.contains("quartiles over 3 repeats"), "{}", figure.caption);
}

/// A fingerprint shows equality only; a mean of two would be a third value that never occurred.
#[test]
fn fingerprint_is_never_averaged() {
    let mut results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [1, 2]\n[measure]\nrepeats = 2\n[[plot]]\n\
         x = \"load.workers\"\ny = \"throughput\"\n",
    );
    results.metrics[0].kind = MetricKind::Fingerprint;
    assert_eq!(results.summary(&results.points[0], "throughput"), None);
    assert!(figures(&results)[0].missing.contains("no repeat has a `throughput`"));
    let csv = ranlab_campaign::table::csv(&results);
    let column = csv.lines().next().unwrap().split(',').position(|name| name == "throughput").unwrap();
    assert!(csv.lines().skip(1).all(|line| line.split(',').nth(column) == Some("")), "{csv}");
    // If all repeats have the same fingerprint, the point has this fingerprint too.
    let first = results.points[0].runs[0].recording.metrics["throughput"];
    results.points[0].runs[1].recording.metrics.insert("throughput".to_owned(), first);
    assert_eq!(results.summary(&results.points[0], "throughput").unwrap().mean, first);
}

#[test]
fn user_expectations_are_not_attributed_to_paper() {
    let text = "title = \"t\"\nrig = \"mock\"\nPAPER[sut]\nnoise = 0.001\n[load]\nrate = 100.0\n[sweep.axes]\n\"load.workers\" = [1, 2]\n\
                [measure]\nrepeats = 3\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\n[[expect]]\nmetric = \"throughput\"\n\
                where = { \"load.workers\" = 1 }\nvalue = 500.0\nSOURCE[[expect]]\nmetric = \"throughput\"\nat_least = 900.0\n";
    let of = |paper: &str, source: &str| campaign(&text.replace("PAPER", paper).replace("SOURCE", source));
    let own = of("", "");
    let (_, text) = page("own", &own, &Context::default());
    let sentences = &text[..text.find("\"versions\":").unwrap()];
    let sentences = sentences.replace("\"paper\":", "").replace("\"published\":", "");
    assert!(!sentences.to_lowercase().contains("paper") && !sentences.contains("published"), "{sentences}");
    places(&text, ["Of 2 expectations: 1 as expected; 1 different", "expected 500 ± 10 %, measured"]);
    let figure = &figures(&own)[0];
    assert!(figure.marks.iter().all(|mark| !mark.published) && figure.drawn().csv().contains("expected"));
    assert_eq!(figure.bounds[0].name, "expected ≥ 900");
    // An expectation without a source is the user's own, even in a scenario with a paper.
    let theirs = of("paper = { work = \"a paper\" }\n", "source = \"table 1\"\n");
    let figure = &figures(&theirs)[0];
    assert!(figure.marks[0].published && figure.bounds[0].name == "expected ≥ 900");
    let (_, text) = page("theirs", &theirs, &Context::default());
    places(&text, ["published 500 ± 10 %", "1 of 1 expectations holds."]);
}

/// Question, date, machine, command, result and its qualifications come before the main figure, everything else after
/// it.
#[test]
fn first_screen_of_report_has_key_facts() {
    let mut results = campaign(GALLERY);
    results.host =
        serde_json::json!({"cpu_model": "A CPU", "cpus": 8, "kernel": "6.1", "virtual_machine": true});
    for run in results.points.iter_mut().flat_map(|point| &mut point.runs) {
        // 29 February 2024, 11:58 to 12:03 UTC.
        run.started_unix_ms = 1_709_207_880_000 + u64::from(run.position) * 1_000;
    }
    let context = Context {
        pictures: Vec::new(),
        warnings: vec!["Steal was high.".to_owned()],
        remarks: vec!["The governor is slow.".to_owned()],
        verdict: vec!["It meets its budget.".to_owned()],
        command: "ranlab bench run gallery.toml --set 'load.rate=1'".to_owned(),
    };
    let (_, page) = page("first-screen", &results, &context);
    let order = places(
        &page,
        [
            "\"title\":\"How many workers",
            "2024-02-29, 11:58 to 12:01 UTC",
            "A CPU, 8 CPUs, virtual machine, Linux 6.1",
            "\"command\":\"ranlab bench run gallery.toml",
            "It meets its budget.",
            "Of 4 published statements",
            "Steal was high.",
            "At 23 of 42 points",
            "\"figures\":",
            "The governor is slow.",
            "\"points\":",
        ],
    );
    assert!(order.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
    let html = std::fs::read_to_string(directory("first-screen").join("report.html")).unwrap();
    assert!(html.matches("@font-face").count() == 1);
}

#[test]
fn ten_thousand_points_are_stored_and_reported() {
    let list = |from: u32| (from..from + 100).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "title = \"large\"\nrig = \"mock\"\n[sweep.axes]\n\"load.workers\" = [{}]\n\"load.requests\" = [{}]\n[measure]\n\
         repeats = 1\n[[plot]]\nx = \"load.workers\"\ny = \"throughput\"\ngroup_by = \"load.requests\"\n",
        list(1),
        list(1)
    );
    let description = MockRig::default().describe();
    let rigs = std::slice::from_ref(&description);
    let scenario = Scenario::parse(&text, "t.toml", &Overrides::default(), rigs).unwrap();
    let plan = Plan::new(&scenario, &description);
    std::fs::create_dir_all(directory("large")).unwrap();
    let path = directory("large").join("large.db");
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    let null = serde_json::Value::Null;
    let header = Header {
        scenario: &scenario,
        plan: &plan,
        keys: &description.keys,
        metrics: &description.metrics,
        host: &null,
        versions: &null,
        renames: &Renames::default(),
    };
    let mut store = Store::open(&path, &header).unwrap();
    let session =
        run(Box::new(MockRig::default()), &scenario, &plan, &mut store, &Stop::never(), &mut |_| {}).unwrap();
    assert_eq!(session.finished, 10_000);
    drop(store);
    let results = Store::read(&path).unwrap().results(Load::Metrics).unwrap();
    let written = write(&results, &Context::default(), &directory("large")).unwrap();
    assert_eq!(std::fs::read_to_string(&written.csv).unwrap().lines().count(), 10_001);
    assert!(std::fs::metadata(&written.html).unwrap().len() < 5_000_000);
}

/// Measured after the search: a figure for each percentile, over the share of the found load.
#[test]
fn latency_after_search_is_drawn_per_percentile() {
    let search = SEARCH
        .replace("at_most = 1000\n", "at_most = 1000\nlatency_at = [0.5, 0.1, 1]\nlatency_of = \"rtt_us\"\n");
    let results = campaign(&search);
    let (_, page) = page("search-after", &results, &Context::default());
    let figures = figures(&results);
    let after: Vec<_> =
        figures.iter().filter(|figure| figure.x_label == "share of the load found (%)").collect();
    assert_eq!(after.len(), 4);
    for (figure, suffix) in after.iter().zip(["p50", "p75", "p99", "p999"]) {
        let drawn: Vec<(f64, f64)> = samples(figure).map(|sample| (sample.x, sample.y)).collect();
        let own = |at: &str| {
            results.points[0].summary(&format!("search.at_{at}.rtt_us_{suffix}"), 0.95).unwrap().mean
        };
        assert_eq!(drawn, [(10.0, own("10")), (50.0, own("50")), (100.0, own("100"))], "{}", figure.title);
        assert!(drawn[0].1 < drawn[2].1 && page.contains(&figure.title), "{}", figure.title);
    }
}

#[test]
fn limits_of_a_metric_are_lines_with_names() {
    let mut results = campaign(
        "title = \"t\"\nrig = \"mock\"\n[sut]\nnoise = 0.0\n[sweep.axes]\n\"load.workers\" = [1, 2]\n[measure]\nrepeats = 1\n\
         [[plot]]\ntype = \"lines\"\nx = \"load.workers\"\ny = \"rtt_us_max\"\n",
    );
    let longest = results.points.iter().flat_map(|point| point.values("rtt_us_max")).fold(0.0, f64::max);
    let mut limited = |limit: f64| {
        let rtt = results.metrics.iter_mut().find(|metric| metric.name == "rtt_us").unwrap();
        *rtt = rtt.clone().limited_by("cell.budget_us");
        for run in results.points.iter_mut().flat_map(|point| &mut point.runs) {
            run.recording.metrics.insert("cell.budget_us".to_owned(), limit);
        }
        figures(&results).remove(0)
    };
    // Both points have one limit: one line.
    let near = (longest * 2.0).round();
    let figure = limited(near);
    let lines: Vec<(f64, &str)> = figure.bounds.iter().map(|line| (line.y, line.name.as_str())).collect();
    let name = format!("budget {}", ranlab_campaign::expect::short(near));
    assert_eq!(lines, [(near, name.as_str())]);
    assert!(svg(&figure).unwrap().contains(&name));
    // A limit far above the values would flatten the figure.
    let figure = limited(longest * 100.0);
    assert!(
        figure.bounds.is_empty() && figure.caption.contains("Far above the drawn range: budget"),
        "{}",
        figure.caption
    );
}
