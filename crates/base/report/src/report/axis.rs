//! A range of numbers mapped to pixels, with round numbers as ticks.

use ranlab_campaign::expect::short;

/// A linear or logarithmic range on pixels.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
    pub(super) pixels: (i32, i32),
}

impl Axis {
    /// Creates a range that contains every value. A linear range starts at 0 if `zero` is set; any other range has a
    /// margin.
    pub(super) fn holding(values: &[f64], log: bool, zero: bool) -> Self {
        let fit = |value: &&f64| value.is_finite() && (!log || **value > 0.0);
        let mut low = values.iter().filter(fit).copied().fold(f64::INFINITY, f64::min);
        let mut high = values.iter().filter(fit).copied().fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        if log {
            let air = (high / low).powf(0.05).max(1.1);
            return Self { low: low / air, high: high * air, log, pixels: (0, 0) };
        }
        if zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let air = if high > low { (high - low) * 0.04 } else { high.abs().max(1.0) * 0.5 };
        let below = if zero && low == 0.0 { 0.0 } else { air };
        let above = if zero && high == 0.0 { 0.0 } else { air };
        let high = if high > low - below { high + above } else { low + air };
        let low = low - below;
        Self { low, high, log, pixels: (0, 0) }
    }

    /// Creates an axis with one position for each of `count` names.
    pub(super) fn names(count: usize) -> Self {
        Self { low: -0.5, high: count.max(1) as f64 - 0.5, log: false, pixels: (0, 0) }
    }

    pub(super) fn at(&self, value: f64) -> i32 {
        let f = |value: f64| if self.log { value.max(self.low * 1e-3).log10() } else { value };
        let share = (f(value) - f(self.low)) / (f(self.high) - f(self.low));
        self.pixels.0 + (share.clamp(0.0, 1.0) * f64::from(self.pixels.1 - self.pixels.0)).round() as i32
    }

    /// Returns round numbers, about `count` of them.
    pub(super) fn ticks(&self, count: f64) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades <= 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let skip = (decades / count).ceil().max(1.0) as i32;
            let from = self.low.log10().floor() as i32;
            let exponents = (0..).map(|step| from + step * skip).take_while(|e| 10f64.powi(*e) <= self.high);
            let all = exponents.flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e)));
            let margin = 1e-9;
            return all
                .filter(|t| *t >= self.low * (1.0 - margin) && *t <= self.high * (1.0 + margin))
                .collect();
        }
        let step = step((self.high - self.low) / count);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }

    /// Returns the ticks with their labels. On a linear axis, all labels have the same unit.
    pub(super) fn labels(&self, ticks: Vec<f64>) -> Vec<(f64, String)> {
        let most = ticks.iter().fold(0.0, |most: f64, tick| most.max(tick.abs()));
        ticks
            .into_iter()
            .map(|tick| (tick, tick_text(tick, if self.log { tick.abs() } else { most })))
            .collect()
    }
}

/// Returns the round number at or above a value: 1, 2 or 5 times a power of ten.
pub(super) fn step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(power * 10.0)
}

/// Formats a tick, such as `12,000` or `3.5 M`, short enough for an axis whose largest tick is `most`.
pub(super) fn tick_text(tick: f64, most: f64) -> String {
    let tick = if tick.abs() < most * 1e-9 { 0.0 } else { tick };
    for (unit, sign) in [(1e9, " G"), (1e6, " M")] {
        if most >= unit {
            return if tick == 0.0 { "0".to_owned() } else { format!("{}{sign}", short(tick / unit)) };
        }
    }
    let text = short(tick);
    let whole = text.trim_start_matches('-').split('.').next().unwrap_or_default().len();
    if whole < 5 {
        return text;
    }
    let at = text.find('.').unwrap_or(text.len()) - 3;
    format!("{},{}", &text[..at], &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_begins_at_0_by_default() {
        for values in [[900.0, 1000.0], [1.0, 50.0]] {
            assert_eq!(Axis::holding(&values, false, true).low, 0.0);
        }
        assert!(Axis::holding(&[900.0, 1000.0], false, false).low > 890.0);
        let negative = Axis::holding(&[-5.0, -1.0], false, true);
        assert!(negative.low < -5.0 && negative.high == 0.0);
        assert!(Axis::holding(&[5.0, 500.0], true, true).low > 1.0);
        let nothing = Axis::holding(&[0.0], false, true);
        assert!(nothing.high > nothing.low);
    }

    #[test]
    fn tick_labels_of_axis_share_one_unit() {
        let axis = Axis::holding(&[0.0, 20_000.0], false, true);
        let texts: Vec<String> = axis.labels(axis.ticks(6.0)).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0", "5000", "10,000", "15,000", "20,000"]);
        let axis = Axis::holding(&[0.0, 2e6], false, true);
        let texts: Vec<String> = axis.labels(axis.ticks(4.0)).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0", "1 M", "2 M"]);
        assert_eq!(tick_text(123_456.0, 123_456.0), "123,456");
    }
}
