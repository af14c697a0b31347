//! Reads any text as answers of VPP. It must not panic, and sums must not wrap.
//!
//! The first byte is the position of the border between a script and an answer, in 256ths of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_pipeline::backends::vpp::answers::{Counters, Drops, LoadCheck, refused_line, release};
use ranlab_pipeline::declare::Port;

fuzz_target!(|input: &[u8]| {
    let Some((&border, text)) = input.split_first() else { return };
    let parts = text.split_at(text.len() * usize::from(border) / 256);
    let script = String::from_utf8_lossy(parts.0);
    let answer = String::from_utf8_lossy(parts.1);

    let counters = Counters::parse(&answer);
    let total = counters.total();
    for port in [Port::Access, Port::Core].map(|port| counters.port(port)) {
        assert!(port.received <= total && port.sent <= total && port.dropped <= counters.dropped);
    }
    let drops = Drops::parse(&answer, counters.dropped);
    let sum = drops.causes.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    assert!(sum >= counters.dropped);

    assert!(release(&answer).is_none_or(|release| release >= 0.0));
    assert!(refused_line(&script, &answer).is_none_or(|line| !line.contains('\n')));
    for check in LoadCheck::for_script(&script) {
        assert!(check.expected > 0);
        check.count(&answer);
    }
});
