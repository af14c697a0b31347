//! Benchmarks of encoding and decoding the two most frequent messages (with a payload of 1,500 bytes), and a KPM report.
//! Compares the fast path, the general codec, and a copy of the same bytes.
use crate::allocations;
use crate::report::{Bar, Line, Report};
use bytes::Bytes;
use ranlab_e2_codec::e2ap::fast::{Control, Indication};
use ranlab_e2_codec::e2ap::{self, Message, RicControlAckRequest, RicIndicationType, RicRequestId, Version};
use ranlab_e2_codec::e2sm::common::UeId;
use ranlab_e2_codec::e2sm::kpm::{
    self, IndicationMessage, Measured, MeasurementInfo, MessageFormat, MessageView, Record, UE_MEASUREMENTS,
    UeReport,
};
use ranlab_e2_codec::e2sm::{Encoding, Octets};
use std::hint::black_box;
use std::time::{Duration, Instant};

const VERSION: Version = Version::V2_03;
const PAYLOAD: [u8; 1500] = [0x5a; 1500];
/// Limit for encoding or decoding a message by the fast path, in nanoseconds.
const BAR_NS: f64 = 30.0;
/// Limit for reading a KPM report of 32 UEs in place, in nanoseconds.
const KPM_BAR_NS: f64 = 5_000.0;
/// Operations per batch. With this number, the cost of reading the clock is negligible.
const BATCH: u32 = 500;
/// Duration for which batches are repeated. The fastest batch is used, because disturbances only add time.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Number of buffers, which are at different addresses.
const PLACES: usize = 8;

pub(crate) fn bench_indication(report: &mut Report) {
    let indication = Indication {
        request_id: RicRequestId { requestor: 1021, instance: 7 },
        function_id: 142,
        action_id: 1,
        sn: Some(4_711),
        kind: RicIndicationType::Report,
        header: &[0; 8],
        message: &PAYLOAD,
        call_process_id: None,
    };
    let mut pdu = Vec::new();
    // Encoding cannot fail, because a payload of 1,500 bytes is within every bound of the message.
    let outcome = indication.encode(&mut pdu);
    assert!(outcome.is_ok() && Indication::decode(&pdu) == Some(indication), "{outcome:?}");

    promise(report, "RICindication 1500 B, encode", &pdu, |out| {
        black_box(black_box(&indication).encode(out).is_ok());
    });
    promise(report, "RICindication 1500 B, decode", &pdu, |_| {
        black_box(Indication::decode(black_box(&pdu)));
    });
    general(report, "RICindication 1500 B", &pdu);
}

/// Measures a KPM report by UE, with 32 UEs and eight measurements each. A quarter of the measurements are fractions.
pub(crate) fn bench_kpm(report: &mut Report) {
    let value = |ue: u32, place: u32| match place % 4 {
        3 => Measured::Real(1.5 * f64::from(ue + place) + 0.1),
        _ => Measured::Integer(1_000 * ue + place),
    };
    let ue = |ue: u32| {
        let values = (0..8).map(|place| value(ue, place)).collect();
        let infos = UE_MEASUREMENTS.iter().map(|name| MeasurementInfo::plain(name)).collect();
        UeReport {
            ue: UeId::du(ue),
            report: kpm::Report {
                records: vec![Record { values, incomplete: false }],
                infos: Some(infos),
                granularity_ms: Some(1_000),
            },
        }
    };
    let message = IndicationMessage::from(MessageFormat::Ues((0..32).map(ue).collect()));
    let Ok(octets) = message.to_octets(Encoding::Per) else { return };
    let name = format!("KPM by UE, 32 UEs, 8 values, {} B", octets.len());
    let floor = Some(copy_ns(&octets));
    let line =
        |what, measured, bar| Line { name: format!("{name}, {what}"), measured, floor, unit: "ns", bar };
    let measured = least_ns(octets.len(), |_| {
        black_box(MessageView::read(black_box(&octets)).is_ok());
    });
    report.add(line("read in place", measured, Bar::AtMost(KPM_BAR_NS)));
    let measured = least_ns(octets.len(), |_| {
        black_box(IndicationMessage::decode_as(Encoding::Per, black_box(&octets)).is_ok());
    });
    report.add(line("decode to a value", measured, Bar::None));
    let measured = least_ns(octets.len(), |out| {
        black_box(black_box(&message).encode_as(Encoding::Per, out).is_ok());
    });
    report.add(line("encode", measured, Bar::None));
}

pub(crate) fn bench_control(report: &mut Report) {
    let control = Control {
        request_id: RicRequestId { requestor: 1021, instance: 7 },
        function_id: 140,
        call_process_id: None,
        header: &[],
        message: &PAYLOAD,
        ack_request: Some(RicControlAckRequest::NoAck),
    };
    let mut pdu = Vec::new();
    let outcome = control.encode(VERSION, &mut pdu);
    assert!(outcome.is_ok() && Control::decode(&pdu, VERSION) == Some(control), "{outcome:?}");

    promise(report, "RICcontrolRequest 1500 B, encode", &pdu, |out| {
        black_box(black_box(&control).encode(VERSION, out).is_ok());
    });
    promise(report, "RICcontrolRequest 1500 B, decode", &pdu, |_| {
        black_box(Control::decode(black_box(&pdu), VERSION));
    });
    general(report, "RICcontrolRequest 1500 B", &pdu);
}

/// Adds the time and the allocations of `operation`, each with its limit. The operation may write to an empty buffer.
fn promise(report: &mut Report, name: &str, pdu: &[u8], mut operation: impl FnMut(&mut Vec<u8>)) {
    let floor = Some(copy_ns(pdu));
    let measured = least_ns(pdu.len(), &mut operation);
    report.add(Line { name: name.to_owned(), measured, floor, unit: "ns", bar: Bar::AtMost(BAR_NS) });
    let mut out = Vec::with_capacity(pdu.len());
    let allocations = allocations::during(|| {
        for _ in 0..BATCH {
            out.clear();
            operation(&mut out);
        }
    });
    report.add(Line {
        name: format!("{name}, allocations"),
        measured: allocations as f64 / f64::from(BATCH),
        floor: None,
        unit: "each",
        bar: Bar::AtMost(0.0),
    });
}

/// Adds the time of the general codec for the same bytes, without a limit.
fn general(report: &mut Report, name: &str, pdu: &[u8]) {
    let pdu = Bytes::copy_from_slice(pdu);
    let floor = Some(copy_ns(&pdu));
    let line = |name, measured| Line { name, measured, floor, unit: "ns", bar: Bar::None };
    let measured = least_ns(pdu.len(), |_| {
        black_box(e2ap::decode(black_box(&pdu), VERSION).is_ok());
    });
    report.add(line(format!("{name}, decode, general codec"), measured));
    let Ok(decoded) = e2ap::decode(&pdu, VERSION) else { return };
    let measured = least_ns(pdu.len(), |out| {
        let message: &Message = black_box(&decoded.message);
        *out = e2ap::encode_into(message, VERSION, std::mem::take(out)).unwrap_or_default();
    });
    report.add(line(format!("{name}, encode, general codec"), measured));
}

/// Returns the time of copying the PDU into a buffer with sufficient space, which is the minimum for any encoder.
fn copy_ns(pdu: &[u8]) -> f64 {
    least_ns(pdu.len(), |out| out.extend_from_slice(black_box(pdu)))
}

/// Returns the nanoseconds per operation in the fastest batch.
///
/// `operation` receives an empty buffer with space for `len` bytes at one of several addresses. The addresses differ
/// because a copy takes half as long again if the low address bits of source and destination are equal.
fn least_ns(len: usize, mut operation: impl FnMut(&mut Vec<u8>)) -> f64 {
    let mut buffers: Vec<Vec<u8>> = (0..PLACES).map(|place| Vec::with_capacity(len + 600 * place)).collect();
    let mut least = f64::INFINITY;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        for out in &mut buffers {
            let start = Instant::now();
            for _ in 0..BATCH {
                out.clear();
                operation(out);
                black_box(&*out);
            }
            least = least.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
        }
    }
    least
}
