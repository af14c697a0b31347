//! Delay statistics of packets as report metrics, measured by the kernel or by the simulator.

use ranlab_xhaul::{BUDGETS, Delays, Ps};

/// Names of the metrics that count late packets, one metric for each of [`BUDGETS`].
pub const LATE: [&str; 7] =
    ["late_25us", "late_100us", "late_200us", "late_250us", "late_500us", "late_1ms", "late_100ms"];
const _: () = assert!(BUDGETS.len() == LATE.len());

fn us(ps: Ps) -> f64 {
    ps as f64 / 1e6
}

/// Computes the delay statistics of a role.
pub fn numbers(
    delays: &Delays,
    (sent, lost): (u64, u64),
    budget_ps: Option<Ps>,
    put: &mut dyn FnMut(&str, f64),
) {
    put("sent", sent as f64);
    put("lost_ratio", lost as f64 / sent.max(1) as f64);
    if delays.count() == 0 {
        return;
    }
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("p9999", 0.9999), ("max", 1.0)] {
        put(&format!("delay_us_{name}"), us(delays.quantile_ps(quantile)));
    }
    put("delay_us_min", us(delays.min_ps()));
    put("delay_us_mean", delays.mean_ps() / 1e6);
    put("delay_us_sd", delays.sd_ps() / 1e6);
    put("pdv_us_p99", us(delays.pdv_ps(0.99)));
    put("pdv_us_max", us(delays.pdv_ps(1.0)));
    let (mean, most) = delays.ipdv_ps();
    put("ipdv_us_mean", mean / 1e6);
    put("ipdv_us_max", us(most));
    put("reordered", delays.reordered() as f64);
    let count = delays.count() as f64;
    for (name, misses) in LATE.iter().zip(delays.misses()) {
        put(name, *misses as f64 / count);
    }
    if let Some(budget_ps) = budget_ps {
        put("budget_us", us(budget_ps));
        put("late_ratio", delays.own_misses() as f64 / count);
    }
}

/// Computes application-level metrics. For echoes, they are round-trip times. For UDP, they are the jitter values that iperf3 would print
/// each second (median, quartiles and maximum).
pub fn seen_by_user(delays: &Delays, echo: bool, put: &mut dyn FnMut(&str, f64)) {
    if echo {
        put("rtt_ms", delays.mean_ps() / 1e9);
        put("rtt_ms_sd", delays.sd_ps() / 1e9);
        return;
    }
    let mut notes_ps = delays.jitter_notes_ps().to_vec();
    if notes_ps.is_empty() {
        notes_ps.push(delays.jitter_ps());
    }
    notes_ps.sort_by(f64::total_cmp);
    let at = |share: f64| notes_ps[((notes_ps.len() - 1) as f64 * share).round() as usize] / 1e9;
    for (name, share) in [("median", 0.5), ("q1", 0.25), ("q3", 0.75), ("max", 1.0)] {
        put(&format!("jitter_ms_{name}"), at(share));
    }
    put("jitter_ms_iqr", at(0.75) - at(0.25));
}
