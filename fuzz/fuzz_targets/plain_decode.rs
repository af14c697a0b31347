//! Decodes indications as packed structs. Decoding must not panic. Encoding a decoded message changes only its padding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ranlab_e2_codec::e2sm::gtp::GtpTunnel;
use ranlab_e2_codec::e2sm::mac::MacUe;
use ranlab_e2_codec::e2sm::pdcp::PdcpBearer;
use ranlab_e2_codec::e2sm::plain::{self, EventTrigger, PlainElement, PlainView};
use ranlab_e2_codec::e2sm::rlc::RlcBearer;

fuzz_target!(|input: &[u8]| {
    let _ = plain::tstamp_us(input);
    let _ = plain::decode_indication_header(input);
    if let Ok(trigger) = EventTrigger::decode(input) {
        assert_eq!(trigger.encode(), input);
    }
    list::<MacUe>(input);
    list::<RlcBearer>(input);
    list::<PdcpBearer>(input);
    list::<GtpTunnel>(input);
});

fn list<E: PlainElement>(input: &[u8]) {
    let Ok(view) = PlainView::<E>::new(input) else { return };
    assert_eq!(view.iter().count(), view.len());
    assert!(view.at(view.len()).is_none() && view.at(usize::MAX).is_none());
    let once = encoded(&view);
    assert_eq!(once.len(), input.len());
    // The bytes are compared, because NaN is not equal to itself.
    assert_eq!(encoded(&PlainView::<E>::new(&once).expect("an encoded message can be decoded")), once);
}

fn encoded<E: PlainElement>(view: &PlainView<'_, E>) -> Vec<u8> {
    let mut out = Vec::new();
    plain::encode_list(&mut out, view.iter().collect::<Vec<_>>(), view.tstamp_us()).expect("a Vec has room");
    out
}
