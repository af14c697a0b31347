//! A relay between peers and a RIC. It decodes every message with its payload and encodes it again before it forwards
//! the message. For comparison it can also forward messages unchanged.
//!
//! Two relays around a RIC (towards the base stations and towards the xApps) are the reference for an architecture that
//! decodes every message twice. In this architecture, E2 termination and xApp side are separate processes, and both
//! decode and encode the whole message. An example is the O-RAN reference platform (FlexRIC, CoNEXT 2021, section 5.4).
//! The relay uses this project's codec, so the measured cost is caused by the architecture and not by a slow codec.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use ranlab_ran::functions::selectable;
use ranlab_sdk::transport::{Address, Listener, Proxy, ProxyDirection, ProxyObserver, SocketOptions};
use ranlab_sdk::wire::e2ap::{self, Message, Version};
use ranlab_sdk::wire::e2sm::inspect;
use ranlab_sdk::wire::e42;

use crate::E2_PORT;
use crate::e2_fields::E2Names;
use ranlab_lab::choices;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Counters};
use ranlab_lab::{Listen, RunningComponent, Task, config, environment, loopback};

choices! {
    /// Protocol of the relayed connections.
    pub enum Language {
        /// E2, between base stations and a RIC.
        E2 = "e2",
        /// E42, between xApps and a RIC.
        E42 = "e42",
        /// Any protocol; messages are forwarded unchanged.
        Any = "any",
    }
}

config! {
    /// A relay in front of a RIC.
    pub struct RelayComponent {
        /// address on which the relay accepts connections
        listen: Listen = Listen::Own, wiring();
        /// address of the RIC to which connections are forwarded
        connect: Address = loopback(E2_PORT), wiring();
        /// protocol of the relayed messages
        language: Language = Language::E2, inner();
        /// E2AP version: 1.01, 2.03 or 3.01
        e2ap: Version as E2Names = Version::V2_03;
    }
}

/// A running relay.
pub(crate) struct Relay {
    address: Address,
    codec: Rc<Codec>,
    _folder: Folder,
    _task: Task,
}

/// Decodes and re-encodes messages.
struct Codec {
    language: Language,
    version: Version,
    passed: Cell<u64>,
    /// Number of messages that could not be decoded and were forwarded unchanged.
    undecoded: Cell<u64>,
}

impl ProxyObserver for Codec {
    fn pass(&self, _: &ProxyDirection, batch: &mut Vec<Bytes>) {
        self.passed.set(self.passed.get() + batch.len() as u64);
        for pdu in batch {
            match self.again(pdu) {
                Some(again) => *pdu = again,
                None => self.undecoded.set(self.undecoded.get() + 1),
            }
        }
    }
}

impl Relay {
    pub(crate) async fn start(part: RelayComponent) -> Result<Self, ComponentError> {
        let codec = Rc::new(Codec::new(part.language, part.e2ap));
        let mut folder = Folder::default();
        let listen = folder.place(&part.listen, "relay")?;
        let options = SocketOptions::default();
        let listener = Listener::bind(&listen, &options).await.map_err(environment)?;
        let address = listener.address().clone();
        let proxy = Proxy::new(listener, part.connect, options);
        let tap = Rc::clone(&codec);
        let _task = Task::spawn(async move { proxy.serve(tap).await });
        Ok(Self { address, codec, _folder: folder, _task })
    }
}

impl Codec {
    fn new(language: Language, version: Version) -> Self {
        Self { language, version, passed: Cell::default(), undecoded: Cell::default() }
    }

    /// Decodes and re-encodes a message with its payload. Returns `None` if the message cannot be decoded.
    fn again(&self, pdu: &Bytes) -> Option<Bytes> {
        match self.language {
            Language::Any => Some(pdu.clone()),
            Language::E2 => {
                let mut decoded = e2ap::decode(pdu, self.version).ok()?;
                take_apart(&mut decoded.message);
                e2ap::encode_as_received(&decoded, self.version).ok().map(Bytes::from)
            }
            Language::E42 => {
                let mut decoded = e42::decode(pdu, self.version).ok()?;
                if let e42::Message::E2(message) = &mut decoded.message {
                    take_apart(message);
                }
                e42::encode_as_received(&decoded, self.version).ok().map(Bytes::from)
            }
        }
    }
}

/// Decodes and re-encodes the payload of an indication.
fn take_apart(message: &mut Message) {
    if let Message::RicIndication(indication) = message
        && let Some(payload) = payload_again(indication.function_id, &indication.message)
    {
        indication.message = payload;
    }
}

/// Decodes and re-encodes a statistics payload. The model is found by its default function id, which this project's
/// base stations use.
fn payload_again(function: u16, payload: &Bytes) -> Option<Bytes> {
    let mut models = selectable().filter_map(|it| it.model());
    let model = models.find(|model| model.default_function_id() == function)?;
    inspect(model)?.transcode(model.encoding(), model.encoding(), payload).ok()
}

impl RunningComponent for Relay {
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("relay".to_owned(), self.address.to_string())])
    }

    fn counters(&mut self) -> Counters {
        [("passed", self.codec.passed.get()), ("undecoded", self.codec.undecoded.get())]
            .map(|(name, value)| (name.to_owned(), value as f64))
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_sdk::wire::e2ap::{RicIndicationType, RicRequestId, fast};
    use ranlab_sdk::wire::e2sm::mac::{self, MacUe};
    use ranlab_sdk::wire::e2sm::plain::{PlainElement, encode_list};

    #[test]
    fn relayed_messages_are_decoded_and_unchanged() {
        let ue = [0x11_u8; 176];
        let ue = MacUe::from_bytes(&ue).unwrap();
        let mut message = Vec::new();
        encode_list(&mut message, [ue], 1_700_000_000_000_000).unwrap();
        let indication = fast::Indication {
            request_id: RicRequestId { requestor: 1021, instance: 0 },
            function_id: mac::DEFAULT_FUNCTION_ID,
            action_id: 0,
            sn: Some(7),
            kind: RicIndicationType::Report,
            header: &[0; 4],
            message: &message,
            call_process_id: None,
        };
        let mut pdu = Vec::new();
        indication.encode(&mut pdu).unwrap();
        let pdu = Bytes::from(pdu);
        for language in [Language::E2, Language::E42] {
            let codec = Codec::new(language, Version::V2_03);
            assert_eq!(codec.again(&pdu).unwrap(), pdu, "{language:?}");
            assert_eq!(codec.again(&Bytes::from_static(b"\xff\xff\xff")), None);
        }
        let undecodable = Bytes::from_static(b"\xff\xff\xff");
        assert_eq!(Codec::new(Language::Any, Version::V2_03).again(&undecodable), Some(undecodable));
        assert_eq!(payload_again(mac::DEFAULT_FUNCTION_ID, &Bytes::from_static(b"no list")), None);
    }
}
