use super::*;
use ranlab_campaign::rig::Rig;

fn campaign(sections: &str, seed: u64) -> Results {
    of_mock(&format!("[load]\nrate = 100.0\n{sections}\n[measure]\nrepeats = 5\nseed = {seed}\n"), false)
}

fn swept(lambda: f64, noise: f64, seed: u64) -> Results {
    campaign(
        &format!(
            "[sut]\nlambda = {lambda:?}\nnoise = {noise:?}\n[sweep.axes]\n\"load.workers\" = [1, 2, 4, 8, 16, 32]"
        ),
        seed,
    )
}

fn named(metric: &str) -> Options {
    Options { metrics: vec![metric.to_owned()], ..Options::default() }
}

fn claims(comparison: &Comparison) -> usize {
    let claim = |row: &&Row| matches!(row.finding, Finding::Better | Finding::Worse | Finding::Changed);
    comparison.rows.iter().filter(claim).count()
}

#[test]
fn regression_is_found_among_all_metrics() {
    let before = swept(1000.0, 0.03, 1);
    let after = swept(930.0, 0.03, 9);
    let all = compare(&before, &after, &Options::default());
    let alone = compare(&before, &after, &named("throughput"));
    let worse = |comparison: &Comparison| -> Vec<String> {
        let worse = |row: &&Row| row.finding == Finding::Worse && row.metric == "throughput";
        comparison.rows.iter().filter(worse).map(|row| row.point.clone()).collect()
    };
    assert!(worse(&all).len() >= 5, "{}", all.sentence);
    assert_eq!(worse(&all), worse(&alone));
    assert!(
        all.sentence.starts_with("The campaigns differ in measure.seed (1 → 9), sut.lambda (1000 → 930)."),
        "{}",
        all.sentence
    );
    assert!(all.sentence.contains("worse: throughput at"), "{}", all.sentence);
    assert_eq!(all.rows[0].metric, "throughput", "the surest row comes first");
    assert!(all.rows.iter().all(|row| !row.metric.starts_with("tool.")));
    let constant = all.rows.iter().filter(|row| row.metric == "loss_ratio");
    assert!(constant.clone().count() == 6 && constant.clone().all(|row| row.finding == Finding::Equal));
}

/// Compares 1,000 pairs of equal campaigns, with every metric, six points and five repeats. At most 70 may claim a
/// difference.
#[test]
fn equal_campaigns_rarely_claim_a_difference() {
    const PAIRS: u64 = 250;
    let claiming = (0..PAIRS)
        .filter(|&seed| {
            let a = swept(1000.0, 0.03, seed);
            let b = swept(1000.0, 0.03, seed + PAIRS);
            claims(&compare(&a, &b, &Options::default())) > 0
        })
        .count();
    assert!(
        claiming as u64 * 1000 <= 70 * PAIRS,
        "a difference is claimed for {claiming} of {PAIRS} pairs of equal campaigns"
    );
}

#[test]
fn decrease_of_five_percent_is_found_with_five_repeats() {
    let at = |lambda: f64, seed: u64| campaign(&format!("[sut]\nlambda = {lambda:?}\nnoise = 0.01"), seed);
    let found = (0..200)
        .filter(|&seed| {
            let compared = compare(&at(1000.0, seed), &at(950.0, seed + 200), &Options::default());
            compared.rows.iter().any(|row| row.metric == "throughput" && row.finding == Finding::Worse)
        })
        .count();
    assert!(found >= 186, "a decrease of 5 % is found in only {found} of 200 pairs");
}

#[test]
fn undetected_change_names_its_resolution() {
    let compared = compare(&swept(1000.0, 0.03, 3), &swept(1000.0, 0.03, 4), &named("throughput"));
    assert_eq!(claims(&compared), 0);
    assert!(
        compared.sentence.contains("No difference shown (a change of throughput smaller than"),
        "{}",
        compared.sentence
    );
    assert!(compared.rows.iter().all(|row| row.detectable.is_some_and(|size| (0.02..0.3).contains(&size))));
    assert!(compared.rows.iter().all(|row| row.floor.is_some()) && compared.floor_missing.is_none());
}

#[test]
fn differing_load_gives_no_verdict_unless_named() {
    let before = swept(1000.0, 0.01, 1);
    let after = {
        let mut after = swept(800.0, 0.01, 2);
        for point in &mut after.points {
            point.point.settings.insert("load.requests".to_owned(), Value::Int(9));
        }
        after
    };
    let mut options = named("throughput");
    options.thresholds = vec!["throughput < -5%".parse().unwrap()];
    let compared = compare(&before, &after, &options);
    assert!(compared.rows.iter().all(|row| row.finding == Finding::Changed), "{}", compared.sentence);
    assert!(
        compared.sentence.starts_with("The campaigns differ in load.requests (2000 → 9)"),
        "{}",
        compared.sentence
    );
    assert!(!compared.sentence.contains("worse"));
    assert_eq!(compared.thresholds[0].verdict, ThresholdVerdict::Unjudged);
    options.intended = vec!["load".to_owned()];
    let compared = compare(&before, &after, &options);
    assert!(compared.rows.iter().all(|row| row.finding == Finding::Worse), "{}", compared.sentence);
    assert_eq!(compared.thresholds[0].verdict, ThresholdVerdict::Exceeded);
}

#[test]
fn threshold_fails_only_with_evidence() {
    let verdict = |lambda: f64, seed: u64, threshold: &str| {
        let options = Options { thresholds: vec![threshold.parse().unwrap()], ..named("throughput") };
        let compared = compare(&swept(1000.0, 0.03, seed), &swept(lambda, 0.03, seed + 100), &options);
        compared.thresholds[0].clone()
    };
    assert_eq!(verdict(850.0, 1, "throughput < -5%").verdict, ThresholdVerdict::Exceeded);
    assert_eq!(verdict(1150.0, 1, "throughput > +5%").verdict, ThresholdVerdict::Exceeded);
    assert!((0..20).all(|seed| !verdict(1000.0, seed, "throughput < -5%").verdict.fails()));
    assert_eq!(verdict(1000.0, 1, "throughput < -30%").verdict, ThresholdVerdict::Kept);
    let seven = (0..20).filter(|seed| verdict(930.0, *seed, "throughput < -5%").verdict.fails()).count();
    let three = (0..20).filter(|seed| verdict(970.0, *seed, "throughput < -5%").verdict.fails()).count();
    assert!(
        seven > 8 && three <= 1,
        "of 20 pairs, {seven} fail at a decrease of 7 %, and {three} at one of 3 %"
    );
}

#[test]
fn second_system_that_failed_exceeds_every_threshold() {
    let before = swept(1000.0, 0.03, 1);
    let mut after = swept(1000.0, 0.03, 2);
    for run in &mut after.points[2].runs {
        run.outcome = Outcome::SutFailed;
        run.recording.metrics.clear();
    }
    let options = Options { thresholds: vec!["throughput < -50%".parse().unwrap()], ..named("throughput") };
    let compared = compare(&before, &after, &options);
    assert_eq!(compared.thresholds[0].verdict, ThresholdVerdict::SystemFailed);
    assert_eq!((compared.lost.len(), compared.lost[0].b), (1, Some(Outcome::SutFailed)));
    assert!(compared.sentence.contains("At 1 points one side has no numbers"), "{}", compared.sentence);
}

#[test]
fn single_repeats_and_unshared_points_are_inconclusive() {
    let mut one = swept(1000.0, 0.03, 1);
    one.points.iter_mut().for_each(|point| point.runs.truncate(1));
    let compared = compare(&one, &swept(500.0, 0.03, 2), &named("throughput"));
    assert!(compared.rows.iter().all(|row| row.finding == Finding::Unknown));
    assert!(compared.sentence.contains("No comparison is possible"), "{}", compared.sentence);
    let other = campaign("[sweep.axes]\n\"load.workers\" = [64]", 1);
    assert!(compare(&one, &other, &Options::default()).sentence.contains("share no point"));
}

/// Runs a campaign of the mock in memory; `text` is the scenario without title and rig.
fn of_mock(text: &str, quick: bool) -> Results {
    let rig = ranlab_campaign::mock::MockRig::default();
    let text = format!("title = \"t\"\nrig = \"mock\"\n{text}");
    let overrides = ranlab_campaign::scenario::Overrides { sets: Vec::new(), quick };
    let scenario =
        ranlab_campaign::scenario::Scenario::parse(&text, "t", &overrides, &[rig.describe()]).unwrap();
    let plan = ranlab_campaign::plan::Plan::new(&scenario, &rig.describe());
    let metrics = rig.describe().metrics;
    let mut journal = ranlab_campaign::results::MemoryJournal::default();
    let stop = ranlab_campaign::rig::Stop::never();
    ranlab_campaign::run::run(Box::new(rig), &scenario, &plan, &mut journal, &stop, &mut |_| {}).unwrap();
    Results::new(scenario, metrics, plan.points, journal.finished)
}
