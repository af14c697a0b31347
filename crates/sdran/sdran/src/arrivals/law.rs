//! Distributions of times.
use rand::Rng;
use rand_distr::{Beta, Distribution, Exp, LogNormal, Pareto, Poisson, Weibull};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Maximum time that a law draws. Heavy tails are limited to this time.
pub const MAX_TIME: Duration = Duration::from_secs(366 * 86_400);

/// Forms of a law, for messages and help texts.
pub const LAWS: &str = "constant:500s, exponential:10s, uniform:0s,60s, poisson:10s, beta:3,4,10s, pareto:2.5,1s, \
                        weibull:1.5,10s, log-normal:10s,0.5";

/// A distribution of times. Parsing and printing are inverse to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Always the same time.
    Constant(Duration),
    /// Exponential distribution with this mean. Activations then form a Poisson process.
    Exponential(Duration),
    /// Uniform distribution between two times. With 0 s and 60 s, it is model 1 of TR 37.868.
    Uniform(Duration, Duration),
    /// Poisson distribution of a whole number of seconds around a mean, as in MARC.
    Poisson(Duration),
    /// Beta distribution with α and β over a span. With 3, 4 and 10 s, it is model 2 of TR 37.868.
    Beta(f64, f64, Duration),
    /// Pareto distribution with shape and minimum time.
    Pareto(f64, Duration),
    /// Weibull distribution with shape and scale.
    Weibull(f64, Duration),
    /// Log-normal distribution, given by the median and the standard deviation of the logarithm.
    LogNormal(Duration, f64),
}

/// Error: the text or the parameters are not a valid law.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LawError {
    /// No law has this name or form.
    #[error("\"{0}\" is not a law; write one of {LAWS}")]
    Form(String),
    /// A parameter is out of range.
    #[error("{what} is {given}; {allowed} is allowed")]
    Parameter {
        /// Name of the invalid parameter.
        what: &'static str,
        /// The rejected value.
        given: f64,
        /// The allowed values.
        allowed: &'static str,
    },
}

impl Law {
    /// Checks that the parameters of the law are in range.
    pub fn check(&self) -> Result<(), LawError> {
        let wrong = |what, given, allowed| Err(LawError::Parameter { what, given, allowed });
        let shape = |what, given: f64| {
            if given.is_finite() && (0.01..=1000.0).contains(&given) {
                Ok(())
            } else {
                wrong(what, given, "0.01 to 1000")
            }
        };
        let time = |what, time: Duration, least: Duration| {
            if time >= least && time <= MAX_TIME {
                Ok(())
            } else {
                wrong(what, time.as_secs_f64(), "more than zero seconds, up to 366 days")
            }
        };
        let some = Duration::from_nanos(1);
        match *self {
            Self::Constant(at) => time("the constant", at, Duration::ZERO),
            Self::Exponential(mean) | Self::Poisson(mean) => time("the mean", mean, some),
            Self::Uniform(low, high) if high < low => {
                wrong("the upper end", high.as_secs_f64(), "at least the lower end")
            }
            Self::Uniform(_, high) => time("the upper end", high, Duration::ZERO),
            Self::Beta(alpha, beta, span) => {
                shape("alpha", alpha)?;
                shape("beta", beta)?;
                time("the span", span, some)
            }
            Self::Pareto(alpha, scale) | Self::Weibull(alpha, scale) => {
                shape("the shape", alpha)?;
                time("the scale", scale, some)
            }
            Self::LogNormal(median, sigma) => {
                shape("sigma", sigma)?;
                time("the median", median, some)
            }
        }
    }

    /// Draws a time of at most [`MAX_TIME`].
    pub fn sample(&self, random: &mut impl Rng) -> Duration {
        let seconds = match *self {
            Self::Constant(at) => return at.min(MAX_TIME),
            Self::Exponential(mean) => {
                Exp::new(1.0).map_or(0.0, |law| law.sample(random)) * mean.as_secs_f64()
            }
            Self::Uniform(low, high) => {
                let width = high.saturating_sub(low).as_secs_f64();
                low.as_secs_f64() + width * random.random::<f64>()
            }
            Self::Poisson(mean) => Poisson::new(mean.as_secs_f64()).map_or(0.0, |law| law.sample(random)),
            Self::Beta(alpha, beta, span) => {
                Beta::new(alpha, beta).map_or(0.0, |law| law.sample(random)) * span.as_secs_f64()
            }
            Self::Pareto(shape, scale) => {
                Pareto::new(scale.as_secs_f64(), shape).map_or(0.0, |law| law.sample(random))
            }
            Self::Weibull(shape, scale) => {
                Weibull::new(scale.as_secs_f64(), shape).map_or(0.0, |law| law.sample(random))
            }
            Self::LogNormal(median, sigma) => {
                LogNormal::new(median.as_secs_f64().ln(), sigma).map_or(0.0, |law| law.sample(random))
            }
        };
        let nanoseconds = (seconds * 1e9).round();
        if nanoseconds >= MAX_TIME.as_nanos() as f64 {
            return MAX_TIME;
        }
        // The cast turns negative numbers into zero. Numbers that exceed `u64` were handled above.
        Duration::from_nanos(nanoseconds as u64)
    }
}

impl FromStr for Law {
    type Err = LawError;

    fn from_str(text: &str) -> Result<Self, LawError> {
        let wrong = || LawError::Form(text.to_owned());
        let (name, rest) = text.split_once(':').ok_or_else(wrong)?;
        let parts: Vec<&str> = rest.split(',').map(str::trim).collect();
        let time = |at: usize| parts.get(at).and_then(|part| seconds(part)).ok_or_else(wrong);
        let number = |at: usize| parts.get(at).and_then(|part| part.parse::<f64>().ok()).ok_or_else(wrong);
        let (law, parameters) = match name {
            "constant" => (Self::Constant(time(0)?), 1),
            "exponential" => (Self::Exponential(time(0)?), 1),
            "uniform" => (Self::Uniform(time(0)?, time(1)?), 2),
            "poisson" => (Self::Poisson(time(0)?), 1),
            "beta" => (Self::Beta(number(0)?, number(1)?, time(2)?), 3),
            "pareto" => (Self::Pareto(number(0)?, time(1)?), 2),
            "weibull" => (Self::Weibull(number(0)?, time(1)?), 2),
            "log-normal" => (Self::LogNormal(time(0)?, number(1)?), 2),
            _ => return Err(wrong()),
        };
        if parts.len() != parameters {
            return Err(wrong());
        }
        law.check().map(|()| law)
    }
}

/// Parses a time such as `10s`, `50ms` or `2h`. The units `ns`, `us`, `min` and `d` are also allowed.
fn seconds(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let ns_per_unit = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return None,
    };
    let number: f64 =
        number.bytes().all(|b| b.is_ascii_digit() || b == b'.').then(|| number.parse().ok())??;
    let ns = (number * ns_per_unit).round();
    (ns <= MAX_TIME.as_nanos() as f64).then(|| Duration::from_nanos(ns as u64))
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs_f64())
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Constant(at) => write!(f, "constant:{}", Seconds(at)),
            Self::Exponential(mean) => write!(f, "exponential:{}", Seconds(mean)),
            Self::Uniform(low, high) => write!(f, "uniform:{},{}", Seconds(low), Seconds(high)),
            Self::Poisson(mean) => write!(f, "poisson:{}", Seconds(mean)),
            Self::Beta(alpha, beta, span) => write!(f, "beta:{alpha},{beta},{}", Seconds(span)),
            Self::Pareto(shape, scale) => write!(f, "pareto:{shape},{}", Seconds(scale)),
            Self::Weibull(shape, scale) => write!(f, "weibull:{shape},{}", Seconds(scale)),
            Self::LogNormal(median, sigma) => write!(f, "log-normal:{},{sigma}", Seconds(median)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean of a law, in seconds. It is infinite for Pareto with a shape of 1 or less.
    fn mean_s(law: Law) -> f64 {
        match law {
            Law::Constant(time) | Law::Exponential(time) | Law::Poisson(time) => time.as_secs_f64(),
            Law::Uniform(low, high) => (low + high).as_secs_f64() / 2.0,
            Law::Beta(alpha, beta, span) => span.as_secs_f64() * alpha / (alpha + beta),
            Law::Pareto(shape, _) if shape <= 1.0 => f64::INFINITY,
            Law::Pareto(shape, scale) => scale.as_secs_f64() * shape / (shape - 1.0),
            Law::Weibull(shape, scale) => scale.as_secs_f64() * gamma(1.0 + 1.0 / shape),
            Law::LogNormal(median, sigma) => median.as_secs_f64() * (sigma * sigma / 2.0).exp(),
        }
    }

    /// Computes the gamma function for arguments of at least 1 (Lanczos' approximation, g = 5, six terms; relative error below 1e-9).
    fn gamma(x: f64) -> f64 {
        const TERMS: [f64; 6] = [
            76.180_091_729_471_46,
            -86.505_320_329_416_77,
            24.014_098_240_830_91,
            -1.231_739_572_450_155,
            0.120_865_097_386_617_9e-2,
            -0.539_523_938_495_3e-5,
        ];
        let t = x + 5.5;
        let tail = (x + 0.5) * t.ln() - t;
        let mut series = 1.000_000_000_190_015;
        for (n, term) in TERMS.iter().enumerate() {
            series += term / (x + 1.0 + n as f64);
        }
        (tail + (2.506_628_274_631_000_5 * series / x).ln()).exp()
    }
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const DRAWS: usize = 20_000;

    fn draws(law: Law) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut random).as_secs_f64()).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    /// Returns the Kolmogorov-Smirnov statistic: the greatest distance to `cdf`, times the square root of the number of draws.
    fn distance(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
        let n = draws.len() as f64;
        let mut worst = 0.0_f64;
        for (i, x) in draws.iter().enumerate() {
            let f = cdf(*x);
            worst = worst.max((f - i as f64 / n).abs()).max(((i + 1) as f64 / n - f).abs());
        }
        worst * n.sqrt()
    }

    /// Critical value at a significance of 0.1 %. A correct law fails for one seed in a thousand, and the seed is fixed.
    const CRITICAL: f64 = 1.95;

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// Computes the normal distribution function, with the rational Chebyshev form of Numerical Recipes for the complementary error
    /// function. The error is below 1.2e-7.
    fn normal_cdf(x: f64) -> f64 {
        let z = (x / std::f64::consts::SQRT_2).abs();
        let t = 1.0 / (1.0 + 0.5 * z);
        let terms = [
            -1.265_512_23,
            1.000_023_68,
            0.374_091_96,
            0.096_784_18,
            -0.186_288_06,
            0.278_868_07,
            -1.135_203_98,
            1.488_515_87,
            -0.822_152_23,
            0.170_872_77,
        ];
        let sum = terms.iter().rev().fold(0.0, |sum, term| sum * t + term);
        let erfc = t * (-z * z + sum).exp();
        if x >= 0.0 { 1.0 - erfc / 2.0 } else { erfc / 2.0 }
    }

    #[test]
    fn draws_of_every_law_pass_kolmogorov_smirnov_test() {
        let exponential = distance(&draws(Law::Exponential(s(10.0))), |x| 1.0 - (-x / 10.0).exp());
        let uniform = distance(&draws(Law::Uniform(s(5.0), s(60.0))), |x| (x - 5.0) / 55.0);
        let beta = distance(&draws(Law::Beta(3.0, 4.0, s(10.0))), |x| {
            let x = x / 10.0;
            let term = |choose: f64, j: i32| choose * x.powi(j) * (1.0 - x).powi(6 - j);
            term(20.0, 3) + term(15.0, 4) + term(6.0, 5) + term(1.0, 6)
        });
        let pareto = distance(&draws(Law::Pareto(2.5, s(2.0))), |x| 1.0 - (2.0 / x).powf(2.5));
        let weibull = distance(&draws(Law::Weibull(1.5, s(10.0))), |x| 1.0 - (-(x / 10.0).powf(1.5)).exp());
        let log_normal =
            distance(&draws(Law::LogNormal(s(10.0), 0.5)), |x| normal_cdf((x / 10.0).ln() / 0.5));
        for (name, distance) in [
            ("exponential", exponential),
            ("uniform", uniform),
            ("beta", beta),
            ("pareto", pareto),
            ("weibull", weibull),
            ("log-normal", log_normal),
        ] {
            assert!(distance < CRITICAL, "{name}: {distance}");
        }
        // The test can fail: it detects a mean that is wrong by 5 %.
        let wrong = distance(&draws(Law::Exponential(s(10.0))), |x| 1.0 - (-x / 10.5).exp());
        assert!(wrong > CRITICAL);
    }

    #[test]
    fn poisson_draws_match_its_probabilities() {
        let draws = draws(Law::Poisson(s(10.0)));
        assert!(draws.iter().all(|x| x.fract() == 0.0));
        let mut cdf = vec![0.0; 60];
        let mut probability = (-10.0_f64).exp();
        let mut sum = 0.0;
        for (k, cdf) in cdf.iter_mut().enumerate() {
            sum += probability;
            *cdf = sum;
            probability *= 10.0 / (k as f64 + 1.0);
        }
        let n = draws.len() as f64;
        let worst = (0..60).map(|k| {
            let below = draws.partition_point(|x| *x <= k as f64) as f64 / n;
            (below - cdf[k]).abs() * n.sqrt()
        });
        assert!(worst.fold(0.0, f64::max) < CRITICAL);
        assert!(self::draws(Law::Constant(s(500.0))).iter().all(|x| *x == 500.0));
    }

    #[test]
    fn computed_means_match_means_of_draws() {
        for law in LAWS.split(", ").map(|text| text.parse::<Law>().unwrap()) {
            let draws = draws(law);
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            assert!((mean / mean_s(law) - 1.0).abs() < 0.03, "{law}: {mean} against {}", mean_s(law));
        }
    }

    #[test]
    fn laws_round_trip_and_errors_list_allowed_values() {
        for text in LAWS.split(", ") {
            let law: Law = text.parse().unwrap();
            assert_eq!(law.to_string().parse(), Ok(law), "{text}");
        }
        for text in [
            "",
            "exp:10s",
            "exponential:10",
            "exponential:-1s",
            "uniform:1s",
            "beta:3,4,10s,1",
            "constant:400d",
        ] {
            assert!(text.parse::<Law>().unwrap_err().to_string().contains("exponential:10s"), "{text}");
        }
        for text in ["uniform:2s,1s", "exponential:0s", "pareto:0,1s", "weibull:nan,1s"] {
            assert!(text.parse::<Law>().unwrap_err().to_string().contains("allowed"), "{text}");
        }
    }

    #[test]
    fn heavy_tails_are_limited_to_maximum_time() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let law = Law::Pareto(0.01, s(1000.0));
        assert!((0..100).any(|_| law.sample(&mut random) == MAX_TIME));
    }
}
