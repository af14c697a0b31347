//! Paired runs: runs the same seed twice, with and without a component.
//!
//! The model draws each random number by its purpose (UE, flow, slot), independent of the order of draws. Both runs
//! are therefore identical except for the effects of the component, and their difference is exactly this effect.

use std::collections::BTreeMap;

use ranlab_campaign::rig::{Better, RigError, Run};
use ranlab_campaign::stats::{Summary, quartiles, summarise};
use ranlab_ran::radio::{RadioMeter, quantile};
use serde::Serialize;

use super::{Omitted, RepeatOptions, RepeatResult};

/// Paired runs of one seed.
#[derive(Debug, Clone)]
pub struct SeedPair {
    /// Result with all components.
    pub with: RepeatResult,
    /// Result without the component.
    pub without: RepeatResult,
}

/// A compared value, identified by base station, UE and KPI.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Kpi {
    /// Number of the base station, from 1.
    pub station: usize,
    /// Number of the UE, from 1.
    pub ue: u32,
    /// Name of the KPI: `mbps`, or a flow's KPI such as `voip_rtt_us_p99`.
    pub kpi: String,
}

/// Effect of the component on a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectVerdict {
    /// The value is better with the component, over the whole confidence interval.
    Gains,
    /// The value is worse with the component, over the whole confidence interval.
    Loses,
    /// The value is exactly the same in every seed.
    Same,
    /// The effect is unclear: the confidence interval includes 0, or there is only one seed.
    Unclear,
}

/// Value with and without the component, over all seeds.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// Compared value.
    #[serde(flatten)]
    pub of: Kpi,
    /// Mean with all components.
    pub with: f64,
    /// Mean without the component.
    pub without: f64,
    /// Differences (with minus without) of the seeds that have both values.
    pub differences: Vec<f64>,
    /// Mean of the differences, and Student's confidence interval for paired samples.
    pub summary: Summary,
    /// Correlation between the values with and without the component, over the seeds. Near 0, pairing does not reduce
    /// the variance. Absent without variation or with fewer than three seeds.
    pub correlation: Option<f64>,
    /// Effect of the component on the value.
    pub verdict: EffectVerdict,
}

/// Distribution of a KPI's effects over the UEs.
#[derive(Debug, Clone, Serialize)]
pub struct Spread {
    /// Name of the KPI.
    pub kpi: String,
    /// Number of UEs with a better value.
    pub gains: usize,
    /// Number of UEs with a worse value.
    pub loses: usize,
    /// Number of UEs with exactly the same value.
    pub same: usize,
    /// Number of UEs with an unclear effect.
    pub unclear: usize,
    /// Minimum, quartiles and maximum of the UEs' mean differences.
    pub quartiles: [f64; 5],
}

/// Runs a repeat twice, with and without a component. For `record`, see [`RepeatOptions`].
///
/// # Errors
///
/// Returns an error like [`super::run`].
pub fn pair(run: &Run<'_>, without: Omitted, record: bool) -> Result<SeedPair, InWorld> {
    let one = |without| {
        let passed = super::run(run, RepeatOptions { without, record, ..RepeatOptions::default() });
        passed.map_err(|error| InWorld { without, error })
    };
    Ok(SeedPair { with: one(Omitted::Nobody)?, without: one(without)? })
}

/// Error in one of the two runs.
#[derive(Debug)]
pub struct InWorld {
    /// Component that was omitted in the failed run.
    pub without: Omitted,
    /// Error of the run.
    pub error: RigError,
}

/// Returns whether higher or lower values of a KPI are better.
fn better(kpi: &str) -> Better {
    if kpi.ends_with("mbps") { Better::Higher } else { Better::Lower }
}

/// Returns all KPIs of a repeat.
fn numbers(radios: &[RadioMeter]) -> BTreeMap<Kpi, f64> {
    let mut all = BTreeMap::new();
    for (station, radio) in (1..).zip(radios) {
        let seconds = radio.seconds.max(1e-6);
        for ue in &radio.ues {
            let of = Kpi { station, ue: ue.ue, kpi: "mbps".to_owned() };
            // A UE that left and returned has several entries, which are added.
            *all.entry(of).or_default() += ue.bytes as f64 * 8e-6 / seconds;
        }
        for flow in radio.flows.iter().filter(|flow| !flow.rtt_us.is_empty()) {
            let dropped = Some(flow.dropped as f64);
            let rtt = |share| quantile(&flow.rtt_us, share).map(|us| us as f64);
            let kpis = [("rtt_us_p50", rtt(0.5)), ("rtt_us_p99", rtt(0.99)), ("dropped", dropped)];
            for (name, value) in kpis {
                let kpi = format!("{}_{name}", flow.what);
                all.extend(value.map(|value| (Kpi { station, ue: flow.ue, kpi }, value)));
            }
        }
    }
    all
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns Pearson's correlation coefficient of at least three pairs with variation.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let ma = mean(&a);
    let mb = mean(&b);
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    let spread = (product(&a, ma, &a, ma) * product(&b, mb, &b, mb)).sqrt();
    (spread > 0.0).then(|| product(&a, ma, &b, mb) / spread)
}

fn classify(kpi: &str, differences: &[f64], summary: &Summary) -> EffectVerdict {
    if differences.iter().all(|difference| *difference == 0.0) {
        return EffectVerdict::Same;
    }
    let Some(half) = summary.half_width else { return EffectVerdict::Unclear };
    let up = match (summary.mean - half > 0.0, summary.mean + half < 0.0) {
        (true, _) => true,
        (_, true) => false,
        _ => return EffectVerdict::Unclear,
    };
    if up == (better(kpi) == Better::Higher) { EffectVerdict::Gains } else { EffectVerdict::Loses }
}

/// Returns the effect on every value, UE by UE.
pub fn differences(pairs: &[SeedPair], confidence: f64) -> Vec<Difference> {
    let seeds: Vec<_> =
        pairs.iter().map(|pair| (numbers(&pair.with.radios), numbers(&pair.without.radios))).collect();
    let mut kpis: Vec<_> = seeds.iter().flat_map(|(with, _)| with.keys().cloned()).collect();
    kpis.sort();
    kpis.dedup();
    let one = |of: Kpi| {
        let both = seeds.iter().filter_map(|(with, without)| Some((*with.get(&of)?, *without.get(&of)?)));
        let both: Vec<(f64, f64)> = both.collect();
        let differences: Vec<f64> = both.iter().map(|(with, without)| with - without).collect();
        let summary = summarise(&differences, confidence)?;
        let (with, without): (Vec<f64>, Vec<f64>) = both.iter().copied().unzip();
        let verdict = classify(&of.kpi, &differences, &summary);
        let with = mean(&with);
        let without = mean(&without);
        let correlation = correlation(&both);
        Some(Difference { of, with, without, differences, summary, correlation, verdict })
    };
    kpis.into_iter().filter_map(one).collect()
}

/// Returns the distribution of the effects, KPI by KPI.
pub fn spreads(differences: &[Difference]) -> Vec<Spread> {
    let mut by_kpi: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
    for difference in differences {
        by_kpi.entry(&difference.of.kpi).or_default().push(difference);
    }
    let one = |(kpi, all): (&str, Vec<&Difference>)| {
        let count = |verdict| all.iter().filter(|difference| difference.verdict == verdict).count();
        let means: Vec<f64> = all.iter().map(|difference| difference.summary.mean).collect();
        Some(Spread {
            kpi: kpi.to_owned(),
            gains: count(EffectVerdict::Gains),
            loses: count(EffectVerdict::Loses),
            same: count(EffectVerdict::Same),
            unclear: count(EffectVerdict::Unclear),
            quartiles: quartiles(&means)?,
        })
    };
    by_kpi.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_ran::radio::{FlowMeter, UeMeter};

    fn passed(bytes: [u64; 2], rtt_us: u64) -> RepeatResult {
        let ues = (1..).zip(bytes).map(|(ue, bytes)| UeMeter { ue, bytes, ..UeMeter::default() }).collect();
        let rtt_us = vec![(rtt_us, 9)];
        let voip = FlowMeter { ue: 1, what: "voip".to_owned(), rtt_us, ..FlowMeter::default() };
        let radio = RadioMeter { seconds: 1.0, ues, flows: vec![voip], ..RadioMeter::default() };
        RepeatResult {
            outcome: ranlab_campaign::rig::Outcome::Ok,
            recording: Default::default(),
            radios: vec![radio],
            digest: 0,
            passed: Default::default(),
            took: Default::default(),
            kept: Default::default(),
        }
    }

    #[test]
    fn paired_seeds_show_gains_and_losses() {
        // The round-trip time of the first UE improves by the amount by which the value of the second UE worsens. The
        // throughput of the first UE is exactly the same.
        let pair = |seed: u64| SeedPair {
            with: passed([seed * 500_000, 1_000_000 + 100 * seed], 20_000 + seed),
            without: passed([seed * 500_000, 1_250_000 + 100 * seed], 200_000 + 2 * seed),
        };
        let pairs: Vec<_> = (1..=4).map(pair).collect();
        let all = differences(&pairs, 0.95);
        let of = |ue, kpi: &str| all.iter().find(|it| it.of.ue == ue && it.of.kpi == kpi).unwrap();
        assert_eq!(
            (of(1, "mbps").verdict, of(1, "mbps").summary.half_width),
            (EffectVerdict::Same, Some(0.0))
        );
        let paid = of(2, "mbps");
        assert_eq!((paid.verdict, (paid.summary.mean * 1e6).round()), (EffectVerdict::Loses, -2_000_000.0));
        let gained = of(1, "voip_rtt_us_p99");
        assert_eq!((gained.verdict, gained.summary.mean), (EffectVerdict::Gains, -180_002.5));
        assert!(gained.summary.half_width.unwrap() > 0.0 && gained.correlation.unwrap() > 0.999);
        let mbps = spreads(&all).into_iter().find(|spread| spread.kpi == "mbps").unwrap();
        assert_eq!((mbps.gains, mbps.loses, mbps.same, mbps.unclear), (0, 1, 1, 0));
        // With one seed there is no confidence interval, so different values are unclear and identical values are the same.
        let one = differences(&pairs[..1], 0.95);
        let verdict: Vec<_> = one.iter().map(|it| it.verdict).collect();
        assert_eq!(
            verdict,
            [
                EffectVerdict::Same,
                EffectVerdict::Same,
                EffectVerdict::Unclear,
                EffectVerdict::Unclear,
                EffectVerdict::Unclear
            ]
        );
    }
}
