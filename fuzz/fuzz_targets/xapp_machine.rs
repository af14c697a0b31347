//! Runs an xApp with any RIC. It must not panic, and all tables must stay within a small `XappLimits`.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ranlab_e2::OutboxLimits;
use ranlab_e2::xapp::{Dialect, Xapp, XappConfig, XappInput, XappLimits, XappOutput};
use ranlab_e2_codec::e2ap::ActionToBeSetup;
use ranlab_fuzz::{Keys, Script};

fn limits() -> XappLimits {
    XappLimits::default().with(|it| {
        it.subscriptions = 6;
        it.standing = 2;
        it.outstanding = 2;
        it.controls = 2;
        it.node_polls = 4;
        it.nodes = 3;
        it.pdu_bytes = 4 << 10;
        it.outbox = OutboxLimits::default().with(|it| {
            it.control_bytes = 8 << 10;
            it.indication_bytes = 4 << 10;
            it.indication_age = std::time::Duration::from_millis(100);
        });
    })
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script::new(input);
    let dialect = if script.octet() & 1 == 0 { Dialect::Ranlab } else { Dialect::FlexRic };
    let mut xapp = Xapp::new(XappConfig::new("ric").with(|it| {
        it.limits = limits();
        it.dialect = dialect;
    }));
    let mut keys = Keys::default();
    let mut connection = Connection::None;
    drive(&mut xapp, &script, &mut keys, &mut connection);
    while let Some(op) = script.step() {
        match (op & 0xf, connection) {
            (0, _) | (_, Connection::None) => {
                script.pass_time();
                xapp.handle(script.now(), XappInput::Wake);
            }
            (1, _) => {
                connection = Connection::None;
                xapp.handle(script.now(), XappInput::Disconnected { why: ranlab_e2::LinkLoss::ClosedByPeer });
            }
            (2, _) => {
                // The request may be rejected, at the limit or for an unknown function. Both results are valid.
                let function = u16::from(op >> 4);
                let _ = xapp.subscribe_all(function, Bytes::new(), vec![ActionToBeSetup::report(0)]);
                xapp.handle(script.now(), XappInput::Wake);
            }
            (_, Connection::Asked) => {
                connection = Connection::There;
                xapp.handle(script.now(), XappInput::Connected);
            }
            (_, Connection::There) => {
                let pdu = script.e42(&keys);
                xapp.handle(script.now(), XappInput::Received { pdu });
            }
        }
        drive(&mut xapp, &script, &mut keys, &mut connection);
        assert!(xapp.nodes().count() <= limits().nodes);
        assert!(xapp.subscriptions().0 <= limits().subscriptions);
    }
});

#[derive(Clone, Copy)]
enum Connection {
    None,
    Asked,
    There,
}

fn drive(xapp: &mut Xapp, script: &Script<'_>, keys: &mut Keys, connection: &mut Connection) {
    while let Some(output) = xapp.poll() {
        match output {
            XappOutput::Connect { .. } => *connection = Connection::Asked,
            XappOutput::Transmit => {
                while let Some(frame) = xapp.transmit(script.now()) {
                    keys.learn(&frame.to_bytes());
                }
            }
            XappOutput::Close { .. } => *connection = Connection::None,
            XappOutput::Event(_) => {}
        }
    }
}
