//! Common part of the statistics models in FlexRIC's format: periodic reports with a [list](super::list) of elements,
//! without action definition or outcome.
use super::plain::PlainElement;
use crate::e2ap::Version;
use crate::per::{Random, Source};

/// Maximum number of elements of a random message.
const SAMPLE_ELEMENTS: u64 = 8;
/// Microseconds since the Unix epoch; random timestamps are later than this.
const SAMPLE_EPOCH_US: i64 = 1_700_000_000_000_000;

/// Returns random elements and the timestamp of their message; the same seed yields the same message.
pub(crate) fn sample<E: PlainElement>(seed: u64) -> (Vec<E>, i64) {
    let mut random = Random::new(seed, Version::V2_03);
    // The source of random values never ends, and any bytes are a valid element, so no fallback is used.
    let mut number = |below: u64| random.constrained(0, below).unwrap_or_default();
    let count = number(SAMPLE_ELEMENTS);
    let after_us = number(u64::from(u32::MAX));
    let elements = (0..count).filter_map(|_| E::from_bytes(&random.octets_fixed(E::SIZE).ok()?)).collect();
    (elements, SAMPLE_EPOCH_US + after_us as i64)
}

/// Defines a statistics model in FlexRIC's format. The arguments start with its identity: name, OID, function id, definition, revision,
/// whether it is offered by default, and the type of its control's header and message. Then follow the indication, the borrowed view of it,
/// and the list.
macro_rules! statistics_model {
    (
        $(#[$meta:meta])*
        $model:ident $name:literal: $oid:literal, $id:literal, $definition:literal, revision $revision:literal,
            customary $customary:literal, $control:ty;
        $(#[$indication_meta:meta])*
        $indication:ident $view:ident { $list:ident: $element:ident, $list_doc:literal }
    ) => {
        /// OID of the model.
        pub const OID: &str = $oid;
        /// RAN function id: FlexRIC's, or ranlab's if no other implementation has the model.
        pub const DEFAULT_FUNCTION_ID: u16 = $id;
        /// RAN function definition: ASCII without structure.
        pub const DEFINITION: &[u8] = $definition;
        /// RAN function revision announced by agents.
        pub const REVISION: u16 = $revision;
        /// Whether other projects' controllers support the model.
        pub const CUSTOMARY: bool = $customary;

        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $model;

        $(#[$indication_meta])*
        pub struct $indication {
            #[doc = $list_doc]
            pub $list: Vec<$element>,
            /// Time of the statistics, in microseconds since the Unix epoch.
            pub tstamp_us: i64,
        }

        #[doc = concat!("A borrowed [`", stringify!($indication), "`].")]
        pub type $view<'a> = $crate::e2sm::plain::PlainView<'a, $element>;

        $crate::e2sm::octets::octets! {
            $indication: Plain => $crate::e2sm::plain::Plain, Per => $crate::e2sm::list::Aligned,
                Flat => $crate::e2sm::list::Flat;
        }

        impl $crate::e2sm::list::Listed for $indication {
            type Element = $element;

            fn parts(&self) -> (&[$element], i64) {
                (&self.$list, self.tstamp_us)
            }

            fn from_elements($list: Vec<$element>, tstamp_us: i64) -> Self {
                Self { $list, tstamp_us }
            }
        }

        impl $indication {
            /// Appends the message to `out`; does not allocate if the capacity suffices.
            pub fn encode(&self, out: &mut Vec<u8>) {
                out.reserve(self.encoded_size());
                // Cannot fail, because a `Vec` grows.
                let _ = self.encode_into(out);
            }

            /// Appends the message to `out`: a `BytesMut` or a `&mut [u8]`, which is advanced.
            pub fn encode_into(
                &self,
                out: &mut impl bytes::BufMut,
            ) -> Result<(), $crate::e2sm::plain::PlainError> {
                $crate::e2sm::plain::encode_list(out, self.$list.iter().copied(), self.tstamp_us)
            }

            /// Returns the length of the encoded message, in bytes.
            pub fn encoded_size(&self) -> usize {
                $crate::e2sm::plain::encoded_size::<$element>(self.$list.len())
            }

            /// Decodes a message; count and length must match exactly.
            pub fn decode(payload: &[u8]) -> Result<Self, $crate::e2sm::plain::PlainError> {
                let view = $crate::e2sm::plain::PlainView::<$element>::new(payload)?;
                Ok(Self { $list: view.iter().collect(), tstamp_us: view.tstamp_us() })
            }
        }

        impl $crate::e2sm::plain::PlainOctets for $indication {
            fn put(&self, out: &mut Vec<u8>) {
                self.encode(out);
            }

            fn take(octets: &[u8]) -> Result<Self, $crate::e2sm::plain::PlainError> {
                Self::decode(octets)
            }
        }

        impl $crate::e2sm::ServiceModel for $model {
            const NAME: &'static str = $name;
            const OID: &'static str = OID;
            const DEFAULT_FUNCTION_ID: u16 = DEFAULT_FUNCTION_ID;
            const DEFINITION: &'static [u8] = DEFINITION;
            const REVISION: u16 = REVISION;
            const CUSTOMARY: bool = CUSTOMARY;

            type Trigger = $crate::e2sm::plain::EventTrigger;
            type Action = std::convert::Infallible;
            type Header = $crate::e2sm::plain::Word;
            type Message = $indication;
            type ControlHeader = $control;
            type Control = $control;
            type Outcome = std::convert::Infallible;

            fn periodic(period: std::time::Duration) -> Result<Self::Trigger, $crate::e2sm::SmError> {
                $crate::e2sm::plain::EventTrigger::every(period)
            }

            fn period(trigger: &Self::Trigger) -> Option<std::time::Duration> {
                Some(std::time::Duration::from_millis(trigger.period_ms.into()))
            }

            fn columns() -> Vec<$crate::e2sm::Column> {
                <$element as $crate::e2sm::Row>::columns()
            }

            fn tabulate(_: &Self::Header, message: &$indication, table: &mut $crate::e2sm::Table) {
                table.tstamp_us = Some(message.tstamp_us);
                message.$list.iter().for_each(|element| table.push(element));
            }

            fn check(
                encoding: $crate::e2sm::Encoding,
                header: &[u8],
                message: &[u8],
            ) -> Result<(), $crate::e2sm::SmError> {
                $crate::e2sm::list::check::<$element>(encoding, header, message)
            }

            fn tstamp_us(encoding: $crate::e2sm::Encoding, _: &[u8], message: &[u8]) -> Option<i64> {
                let size = <$element as $crate::e2sm::plain::PlainElement>::SIZE;
                $crate::e2sm::list::tstamp_us(encoding, message, size)
            }

            fn sample(seed: u64) -> (Self::Header, Self::Message) {
                let ($list, tstamp_us) = $crate::e2sm::statistics::sample::<$element>(seed);
                (Self::Header::default(), $indication { $list, tstamp_us })
            }
        }
    };
}
pub(crate) use statistics_model;
