#![allow(missing_docs, unsafe_code, unreachable_pub, unused_qualifications, unused_imports, dead_code)]
#![allow(rustdoc::all, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
pub use root::*;

const _: () = ::planus::check_version_compatibility("planus-1.3.0");

/// The root namespace
///
/// Generated from these locations:
/// * File `crates/e2/codec/schemas/ranlab.fbs`
#[no_implicit_prelude]
#[allow(clippy::needless_lifetimes)]
mod root {
    /// The namespace `e2`
    ///
    /// Generated from these locations:
    /// * File `crates/e2/codec/schemas/ranlab.fbs`
    pub mod e2 {
        /// The enum `IndicationKind` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Enum `IndicationKind` in the file `crates/e2/codec/schemas/ranlab.fbs:5`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum IndicationKind {
            /// The variant `Report` in the enum `IndicationKind`
            Report = 0,

            /// The variant `Insert` in the enum `IndicationKind`
            Insert = 1,
        }

        impl IndicationKind {
            /// Array containing all valid variants of IndicationKind
            pub const ENUM_VALUES: [Self; 2] = [Self::Report, Self::Insert];
        }

        impl ::core::convert::TryFrom<u8> for IndicationKind {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: u8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(IndicationKind::Report),
                    1 => ::core::result::Result::Ok(IndicationKind::Insert),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind {
                        tag: value as i128,
                    }),
                }
            }
        }

        impl ::core::convert::From<IndicationKind> for u8 {
            #[inline]
            fn from(value: IndicationKind) -> Self {
                value as u8
            }
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for IndicationKind {
            const ALIGNMENT: usize = 1;
            const SIZE: usize = 1;
        }

        impl ::planus::WriteAsPrimitive<IndicationKind> for IndicationKind {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                (*self as u8).write(cursor, buffer_position);
            }
        }

        impl ::planus::WriteAs<IndicationKind> for IndicationKind {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> IndicationKind {
                *self
            }
        }

        impl ::planus::WriteAsDefault<IndicationKind, IndicationKind> for IndicationKind {
            type Prepared = Self;

            #[inline]
            fn prepare(
                &self,
                _builder: &mut ::planus::Builder,
                default: &IndicationKind,
            ) -> ::core::option::Option<IndicationKind> {
                if self == default {
                    ::core::option::Option::None
                } else {
                    ::core::option::Option::Some(*self)
                }
            }
        }

        impl ::planus::WriteAsOptional<IndicationKind> for IndicationKind {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<IndicationKind> {
                ::core::option::Option::Some(*self)
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for IndicationKind {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: u8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        impl<'buf> ::planus::VectorReadInner<'buf> for IndicationKind {
            type Error = ::planus::errors::UnknownEnumTag;
            const STRIDE: usize = 1;
            #[inline]
            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTag> {
                let value = unsafe { *buffer.buffer.get_unchecked(offset) };
                let value: ::core::result::Result<Self, _> = ::core::convert::TryInto::try_into(value);
                value.map_err(|error_kind| {
                    error_kind.with_error_location(
                        "IndicationKind",
                        "VectorRead::from_buffer",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<IndicationKind> for IndicationKind {
            const STRIDE: usize = 1;

            type Value = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[Self],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 1];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - i as u32,
                    );
                }
            }
        }

        /// The enum `ActionKind` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Enum `ActionKind` in the file `crates/e2/codec/schemas/ranlab.fbs:6`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum ActionKind {
            /// The variant `Report` in the enum `ActionKind`
            Report = 0,

            /// The variant `Insert` in the enum `ActionKind`
            Insert = 1,

            /// The variant `Policy` in the enum `ActionKind`
            Policy = 2,
        }

        impl ActionKind {
            /// Array containing all valid variants of ActionKind
            pub const ENUM_VALUES: [Self; 3] = [Self::Report, Self::Insert, Self::Policy];
        }

        impl ::core::convert::TryFrom<u8> for ActionKind {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: u8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(ActionKind::Report),
                    1 => ::core::result::Result::Ok(ActionKind::Insert),
                    2 => ::core::result::Result::Ok(ActionKind::Policy),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind {
                        tag: value as i128,
                    }),
                }
            }
        }

        impl ::core::convert::From<ActionKind> for u8 {
            #[inline]
            fn from(value: ActionKind) -> Self {
                value as u8
            }
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for ActionKind {
            const ALIGNMENT: usize = 1;
            const SIZE: usize = 1;
        }

        impl ::planus::WriteAsPrimitive<ActionKind> for ActionKind {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                (*self as u8).write(cursor, buffer_position);
            }
        }

        impl ::planus::WriteAs<ActionKind> for ActionKind {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ActionKind {
                *self
            }
        }

        impl ::planus::WriteAsDefault<ActionKind, ActionKind> for ActionKind {
            type Prepared = Self;

            #[inline]
            fn prepare(
                &self,
                _builder: &mut ::planus::Builder,
                default: &ActionKind,
            ) -> ::core::option::Option<ActionKind> {
                if self == default {
                    ::core::option::Option::None
                } else {
                    ::core::option::Option::Some(*self)
                }
            }
        }

        impl ::planus::WriteAsOptional<ActionKind> for ActionKind {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<ActionKind> {
                ::core::option::Option::Some(*self)
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for ActionKind {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: u8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        impl<'buf> ::planus::VectorReadInner<'buf> for ActionKind {
            type Error = ::planus::errors::UnknownEnumTag;
            const STRIDE: usize = 1;
            #[inline]
            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTag> {
                let value = unsafe { *buffer.buffer.get_unchecked(offset) };
                let value: ::core::result::Result<Self, _> = ::core::convert::TryInto::try_into(value);
                value.map_err(|error_kind| {
                    error_kind.with_error_location(
                        "ActionKind",
                        "VectorRead::from_buffer",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<ActionKind> for ActionKind {
            const STRIDE: usize = 1;

            type Value = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[Self],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 1];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - i as u32,
                    );
                }
            }
        }

        /// The enum `AckRequest` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Enum `AckRequest` in the file `crates/e2/codec/schemas/ranlab.fbs:7`
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum AckRequest {
            /// The variant `NoAck` in the enum `AckRequest`
            NoAck = 0,

            /// The variant `Ack` in the enum `AckRequest`
            Ack = 1,

            /// The variant `NAck` in the enum `AckRequest`
            NAck = 2,
        }

        impl AckRequest {
            /// Array containing all valid variants of AckRequest
            pub const ENUM_VALUES: [Self; 3] = [Self::NoAck, Self::Ack, Self::NAck];
        }

        impl ::core::convert::TryFrom<u8> for AckRequest {
            type Error = ::planus::errors::UnknownEnumTagKind;
            #[inline]
            fn try_from(value: u8) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTagKind> {
                #[allow(clippy::match_single_binding)]
                match value {
                    0 => ::core::result::Result::Ok(AckRequest::NoAck),
                    1 => ::core::result::Result::Ok(AckRequest::Ack),
                    2 => ::core::result::Result::Ok(AckRequest::NAck),

                    _ => ::core::result::Result::Err(::planus::errors::UnknownEnumTagKind {
                        tag: value as i128,
                    }),
                }
            }
        }

        impl ::core::convert::From<AckRequest> for u8 {
            #[inline]
            fn from(value: AckRequest) -> Self {
                value as u8
            }
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for AckRequest {
            const ALIGNMENT: usize = 1;
            const SIZE: usize = 1;
        }

        impl ::planus::WriteAsPrimitive<AckRequest> for AckRequest {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                (*self as u8).write(cursor, buffer_position);
            }
        }

        impl ::planus::WriteAs<AckRequest> for AckRequest {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> AckRequest {
                *self
            }
        }

        impl ::planus::WriteAsDefault<AckRequest, AckRequest> for AckRequest {
            type Prepared = Self;

            #[inline]
            fn prepare(
                &self,
                _builder: &mut ::planus::Builder,
                default: &AckRequest,
            ) -> ::core::option::Option<AckRequest> {
                if self == default {
                    ::core::option::Option::None
                } else {
                    ::core::option::Option::Some(*self)
                }
            }
        }

        impl ::planus::WriteAsOptional<AckRequest> for AckRequest {
            type Prepared = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<AckRequest> {
                ::core::option::Option::Some(*self)
            }
        }

        impl<'buf> ::planus::TableRead<'buf> for AckRequest {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let n: u8 = ::planus::TableRead::from_buffer(buffer, offset)?;
                ::core::result::Result::Ok(::core::convert::TryInto::try_into(n)?)
            }
        }

        impl<'buf> ::planus::VectorReadInner<'buf> for AckRequest {
            type Error = ::planus::errors::UnknownEnumTag;
            const STRIDE: usize = 1;
            #[inline]
            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'buf>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::UnknownEnumTag> {
                let value = unsafe { *buffer.buffer.get_unchecked(offset) };
                let value: ::core::result::Result<Self, _> = ::core::convert::TryInto::try_into(value);
                value.map_err(|error_kind| {
                    error_kind.with_error_location(
                        "AckRequest",
                        "VectorRead::from_buffer",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<AckRequest> for AckRequest {
            const STRIDE: usize = 1;

            type Value = Self;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[Self],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 1];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - i as u32,
                    );
                }
            }
        }

        /// The struct `RequestId` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Struct `RequestId` in the file `crates/e2/codec/schemas/ranlab.fbs:10`
        #[derive(Copy, Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash, Default)]
        pub struct RequestId {
            /// The field `requestor` in the struct `RequestId`
            pub requestor: u16,

            /// The field `instance` in the struct `RequestId`
            pub instance: u16,
        }

        /// # Safety
        /// The Planus compiler correctly calculates `ALIGNMENT` and `SIZE`.
        unsafe impl ::planus::Primitive for RequestId {
            const ALIGNMENT: usize = 2;
            const SIZE: usize = 4;
        }

        #[allow(clippy::identity_op)]
        impl ::planus::WriteAsPrimitive<RequestId> for RequestId {
            #[inline]
            fn write<const N: usize>(&self, cursor: ::planus::Cursor<'_, N>, buffer_position: u32) {
                let (cur, cursor) = cursor.split::<2, 2>();
                self.requestor.write(cur, buffer_position - 0);
                let (cur, cursor) = cursor.split::<2, 0>();
                self.instance.write(cur, buffer_position - 2);
                cursor.finish([]);
            }
        }

        impl ::planus::WriteAsOffset<RequestId> for RequestId {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<RequestId> {
                unsafe {
                    builder.write_with(4, 1, |buffer_position, bytes| {
                        let bytes = bytes.as_mut_ptr();

                        ::planus::WriteAsPrimitive::write(
                            self,
                            ::planus::Cursor::new(&mut *(bytes as *mut [::core::mem::MaybeUninit<u8>; 4])),
                            buffer_position,
                        );
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<RequestId> for RequestId {
            type Prepared = Self;
            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self {
                *self
            }
        }

        impl ::planus::WriteAsOptional<RequestId> for RequestId {
            type Prepared = Self;
            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(*self)
            }
        }

        /// Reference to a deserialized [RequestId].
        #[derive(Copy, Clone)]
        pub struct RequestIdRef<'a>(::planus::ArrayWithStartOffset<'a, 4>);

        impl<'a> RequestIdRef<'a> {
            /// Getter for the [`requestor` field](RequestId#structfield.requestor).
            pub fn requestor(&self) -> u16 {
                let buffer = self.0.advance_as_array::<2>(0).unwrap();

                u16::from_le_bytes(*buffer.as_array())
            }

            /// Getter for the [`instance` field](RequestId#structfield.instance).
            pub fn instance(&self) -> u16 {
                let buffer = self.0.advance_as_array::<2>(2).unwrap();

                u16::from_le_bytes(*buffer.as_array())
            }
        }

        impl<'a> ::core::fmt::Debug for RequestIdRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("RequestIdRef");
                f.field("requestor", &self.requestor());
                f.field("instance", &self.instance());
                f.finish()
            }
        }

        impl<'a> ::core::convert::From<::planus::ArrayWithStartOffset<'a, 4>> for RequestIdRef<'a> {
            fn from(array: ::planus::ArrayWithStartOffset<'a, 4>) -> Self {
                Self(array)
            }
        }

        impl<'a> ::core::convert::From<RequestIdRef<'a>> for RequestId {
            #[allow(unreachable_code)]
            fn from(value: RequestIdRef<'a>) -> Self {
                Self { requestor: value.requestor(), instance: value.instance() }
            }
        }

        impl<'a, 'b> ::core::cmp::PartialEq<RequestIdRef<'a>> for RequestIdRef<'b> {
            fn eq(&self, other: &RequestIdRef<'_>) -> bool {
                self.requestor() == other.requestor() && self.instance() == other.instance()
            }
        }

        impl<'a> ::core::cmp::Eq for RequestIdRef<'a> {}
        impl<'a, 'b> ::core::cmp::PartialOrd<RequestIdRef<'a>> for RequestIdRef<'b> {
            fn partial_cmp(&self, other: &RequestIdRef<'_>) -> ::core::option::Option<::core::cmp::Ordering> {
                ::core::option::Option::Some(::core::cmp::Ord::cmp(self, other))
            }
        }

        impl<'a> ::core::cmp::Ord for RequestIdRef<'a> {
            fn cmp(&self, other: &RequestIdRef<'_>) -> ::core::cmp::Ordering {
                self.requestor().cmp(&other.requestor()).then_with(|| self.instance().cmp(&other.instance()))
            }
        }

        impl<'a> ::core::hash::Hash for RequestIdRef<'a> {
            fn hash<H: ::core::hash::Hasher>(&self, state: &mut H) {
                self.requestor().hash(state);
                self.instance().hash(state);
            }
        }

        impl<'a> ::planus::TableRead<'a> for RequestIdRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                let buffer = buffer.advance_as_array::<4>(offset)?;
                ::core::result::Result::Ok(Self(buffer))
            }
        }

        impl<'a> ::planus::VectorRead<'a> for RequestIdRef<'a> {
            const STRIDE: usize = 4;

            #[inline]
            unsafe fn from_buffer(buffer: ::planus::SliceWithStartOffset<'a>, offset: usize) -> Self {
                Self(unsafe { buffer.unchecked_advance_as_array(offset) })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<RequestId> for RequestId {
            const STRIDE: usize = 4;

            type Value = RequestId;

            #[inline]
            fn prepare(&self, _builder: &mut ::planus::Builder) -> Self::Value {
                *self
            }

            #[inline]
            unsafe fn write_values(
                values: &[RequestId],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (4 * i) as u32,
                    );
                }
            }
        }

        /// The table `Indication` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `Indication` in the file `crates/e2/codec/schemas/ranlab.fbs:12`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct Indication {
            /// The field `request` in the table `Indication`
            pub request: self::RequestId,
            /// The field `function` in the table `Indication`
            pub function: u16,
            /// The field `action` in the table `Indication`
            pub action: u8,
            /// The field `sn` in the table `Indication`
            pub sn: ::core::option::Option<u16>,
            /// The field `kind` in the table `Indication`
            pub kind: self::IndicationKind,
            /// The field `header` in the table `Indication`
            pub header: ::planus::alloc::vec::Vec<u8>,
            /// The field `message` in the table `Indication`
            pub message: ::planus::alloc::vec::Vec<u8>,
            /// The field `call_process_id` in the table `Indication`
            pub call_process_id: ::core::option::Option<::planus::alloc::vec::Vec<u8>>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Indication {
            fn default() -> Self {
                Self {
                    request: ::core::default::Default::default(),
                    function: 0,
                    action: 0,
                    sn: ::core::default::Default::default(),
                    kind: self::IndicationKind::Report,
                    header: ::core::default::Default::default(),
                    message: ::core::default::Default::default(),
                    call_process_id: ::core::default::Default::default(),
                }
            }
        }

        impl Indication {
            /// Creates a [IndicationBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> IndicationBuilder<()> {
                IndicationBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
                field_action: impl ::planus::WriteAsDefault<u8, u8>,
                field_sn: impl ::planus::WriteAsOptional<u16>,
                field_kind: impl ::planus::WriteAsDefault<self::IndicationKind, self::IndicationKind>,
                field_header: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
                field_message: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
                field_call_process_id: impl ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);
                let prepared_action = field_action.prepare(builder, &0);
                let prepared_sn = field_sn.prepare(builder);
                let prepared_kind = field_kind.prepare(builder, &self::IndicationKind::Report);
                let prepared_header = field_header.prepare(builder);
                let prepared_message = field_message.prepare(builder);
                let prepared_call_process_id = field_call_process_id.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<20> =
                    ::core::default::Default::default();
                table_writer.write_entry::<::planus::Offset<[u8]>>(5);
                table_writer.write_entry::<::planus::Offset<[u8]>>(6);
                if prepared_call_process_id.is_some() {
                    table_writer.write_entry::<::planus::Offset<[u8]>>(7);
                }
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }
                if prepared_sn.is_some() {
                    table_writer.write_entry::<u16>(3);
                }
                if prepared_action.is_some() {
                    table_writer.write_entry::<u8>(2);
                }
                if prepared_kind.is_some() {
                    table_writer.write_entry::<self::IndicationKind>(4);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_header);
                        object_writer.write::<_, _, 4>(&prepared_message);
                        if let ::core::option::Option::Some(prepared_call_process_id) =
                            prepared_call_process_id
                        {
                            object_writer.write::<_, _, 4>(&prepared_call_process_id);
                        }
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                        if let ::core::option::Option::Some(prepared_sn) = prepared_sn {
                            object_writer.write::<_, _, 2>(&prepared_sn);
                        }
                        if let ::core::option::Option::Some(prepared_action) = prepared_action {
                            object_writer.write::<_, _, 1>(&prepared_action);
                        }
                        if let ::core::option::Option::Some(prepared_kind) = prepared_kind {
                            object_writer.write::<_, _, 1>(&prepared_kind);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Indication>> for Indication {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Indication> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Indication>> for Indication {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Indication>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Indication> for Indication {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Indication> {
                Indication::create(
                    builder,
                    self.request,
                    self.function,
                    self.action,
                    self.sn,
                    self.kind,
                    &self.header,
                    &self.message,
                    &self.call_process_id,
                )
            }
        }

        /// Builder for serializing an instance of the [Indication] type.
        ///
        /// Can be created using the [Indication::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct IndicationBuilder<State>(State);

        impl IndicationBuilder<()> {
            /// Setter for the [`request` field](Indication#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> IndicationBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                IndicationBuilder((value,))
            }
        }

        impl<T0> IndicationBuilder<(T0,)> {
            /// Setter for the [`function` field](Indication#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> IndicationBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                IndicationBuilder((v0, value))
            }

            /// Sets the [`function` field](Indication#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(self) -> IndicationBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> IndicationBuilder<(T0, T1)> {
            /// Setter for the [`action` field](Indication#structfield.action).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn action<T2>(self, value: T2) -> IndicationBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAsDefault<u8, u8>,
            {
                let (v0, v1) = self.0;
                IndicationBuilder((v0, v1, value))
            }

            /// Sets the [`action` field](Indication#structfield.action) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn action_as_default(self) -> IndicationBuilder<(T0, T1, ::planus::DefaultValue)> {
                self.action(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2> IndicationBuilder<(T0, T1, T2)> {
            /// Setter for the [`sn` field](Indication#structfield.sn).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn sn<T3>(self, value: T3) -> IndicationBuilder<(T0, T1, T2, T3)>
            where
                T3: ::planus::WriteAsOptional<u16>,
            {
                let (v0, v1, v2) = self.0;
                IndicationBuilder((v0, v1, v2, value))
            }

            /// Sets the [`sn` field](Indication#structfield.sn) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn sn_as_null(self) -> IndicationBuilder<(T0, T1, T2, ())> {
                self.sn(())
            }
        }

        impl<T0, T1, T2, T3> IndicationBuilder<(T0, T1, T2, T3)> {
            /// Setter for the [`kind` field](Indication#structfield.kind).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn kind<T4>(self, value: T4) -> IndicationBuilder<(T0, T1, T2, T3, T4)>
            where
                T4: ::planus::WriteAsDefault<self::IndicationKind, self::IndicationKind>,
            {
                let (v0, v1, v2, v3) = self.0;
                IndicationBuilder((v0, v1, v2, v3, value))
            }

            /// Sets the [`kind` field](Indication#structfield.kind) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn kind_as_default(self) -> IndicationBuilder<(T0, T1, T2, T3, ::planus::DefaultValue)> {
                self.kind(::planus::DefaultValue)
            }
        }

        impl<T0, T1, T2, T3, T4> IndicationBuilder<(T0, T1, T2, T3, T4)> {
            /// Setter for the [`header` field](Indication#structfield.header).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn header<T5>(self, value: T5) -> IndicationBuilder<(T0, T1, T2, T3, T4, T5)>
            where
                T5: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2, v3, v4) = self.0;
                IndicationBuilder((v0, v1, v2, v3, v4, value))
            }
        }

        impl<T0, T1, T2, T3, T4, T5> IndicationBuilder<(T0, T1, T2, T3, T4, T5)> {
            /// Setter for the [`message` field](Indication#structfield.message).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn message<T6>(self, value: T6) -> IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6)>
            where
                T6: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2, v3, v4, v5) = self.0;
                IndicationBuilder((v0, v1, v2, v3, v4, v5, value))
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6> IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6)> {
            /// Setter for the [`call_process_id` field](Indication#structfield.call_process_id).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn call_process_id<T7>(self, value: T7) -> IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
            where
                T7: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2, v3, v4, v5, v6) = self.0;
                IndicationBuilder((v0, v1, v2, v3, v4, v5, v6, value))
            }

            /// Sets the [`call_process_id` field](Indication#structfield.call_process_id) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn call_process_id_as_null(self) -> IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6, ())> {
                self.call_process_id(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5, T6, T7> IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Indication].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Indication>
            where
                Self: ::planus::WriteAsOffset<Indication>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsDefault<u8, u8>,
            T3: ::planus::WriteAsOptional<u16>,
            T4: ::planus::WriteAsDefault<self::IndicationKind, self::IndicationKind>,
            T5: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T6: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T7: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAs<::planus::Offset<Indication>>
            for IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
        {
            type Prepared = ::planus::Offset<Indication>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Indication> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsDefault<u8, u8>,
            T3: ::planus::WriteAsOptional<u16>,
            T4: ::planus::WriteAsDefault<self::IndicationKind, self::IndicationKind>,
            T5: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T6: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T7: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOptional<::planus::Offset<Indication>>
            for IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
        {
            type Prepared = ::planus::Offset<Indication>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Indication>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsDefault<u8, u8>,
            T3: ::planus::WriteAsOptional<u16>,
            T4: ::planus::WriteAsDefault<self::IndicationKind, self::IndicationKind>,
            T5: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T6: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T7: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOffset<Indication> for IndicationBuilder<(T0, T1, T2, T3, T4, T5, T6, T7)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Indication> {
                let (v0, v1, v2, v3, v4, v5, v6, v7) = &self.0;
                Indication::create(builder, v0, v1, v2, v3, v4, v5, v6, v7)
            }
        }

        /// Reference to a deserialized [Indication].
        #[derive(Copy, Clone)]
        pub struct IndicationRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> IndicationRef<'a> {
            /// Getter for the [`request` field](Indication#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "Indication", "request")
            }

            /// Getter for the [`function` field](Indication#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(self.0.access(1, "Indication", "function")?.unwrap_or(0))
            }

            /// Getter for the [`action` field](Indication#structfield.action).
            #[inline]
            pub fn action(&self) -> ::planus::Result<u8> {
                ::core::result::Result::Ok(self.0.access(2, "Indication", "action")?.unwrap_or(0))
            }

            /// Getter for the [`sn` field](Indication#structfield.sn).
            #[inline]
            pub fn sn(&self) -> ::planus::Result<::core::option::Option<u16>> {
                self.0.access(3, "Indication", "sn")
            }

            /// Getter for the [`kind` field](Indication#structfield.kind).
            #[inline]
            pub fn kind(&self) -> ::planus::Result<self::IndicationKind> {
                ::core::result::Result::Ok(
                    self.0.access(4, "Indication", "kind")?.unwrap_or(self::IndicationKind::Report),
                )
            }

            /// Getter for the [`header` field](Indication#structfield.header).
            #[inline]
            pub fn header(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(5, "Indication", "header")
            }

            /// Getter for the [`message` field](Indication#structfield.message).
            #[inline]
            pub fn message(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(6, "Indication", "message")
            }

            /// Getter for the [`call_process_id` field](Indication#structfield.call_process_id).
            #[inline]
            pub fn call_process_id(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(7, "Indication", "call_process_id")
            }
        }

        impl<'a> ::core::fmt::Debug for IndicationRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("IndicationRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                f.field("action", &self.action());
                if let ::core::option::Option::Some(field_sn) = self.sn().transpose() {
                    f.field("sn", &field_sn);
                }
                f.field("kind", &self.kind());
                f.field("header", &self.header());
                f.field("message", &self.message());
                if let ::core::option::Option::Some(field_call_process_id) =
                    self.call_process_id().transpose()
                {
                    f.field("call_process_id", &field_call_process_id);
                }
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<IndicationRef<'a>> for Indication {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: IndicationRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                    action: ::core::convert::TryInto::try_into(value.action()?)?,
                    sn: if let ::core::option::Option::Some(sn) = value.sn()? {
                        ::core::option::Option::Some(::core::convert::TryInto::try_into(sn)?)
                    } else {
                        ::core::option::Option::None
                    },
                    kind: ::core::convert::TryInto::try_into(value.kind()?)?,
                    header: value.header()?.to_vec(),
                    message: value.message()?.to_vec(),
                    call_process_id: value.call_process_id()?.map(|v| v.to_vec()),
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for IndicationRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for IndicationRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[IndicationRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Indication>> for Indication {
            type Value = ::planus::Offset<Indication>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Indication>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for IndicationRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[IndicationRef]", "read_as_root", 0))
            }
        }

        /// The table `Control` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `Control` in the file `crates/e2/codec/schemas/ranlab.fbs:23`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct Control {
            /// The field `request` in the table `Control`
            pub request: self::RequestId,
            /// The field `function` in the table `Control`
            pub function: u16,
            /// The field `call_process_id` in the table `Control`
            pub call_process_id: ::core::option::Option<::planus::alloc::vec::Vec<u8>>,
            /// The field `header` in the table `Control`
            pub header: ::planus::alloc::vec::Vec<u8>,
            /// The field `message` in the table `Control`
            pub message: ::planus::alloc::vec::Vec<u8>,
            /// The field `ack` in the table `Control`
            pub ack: ::core::option::Option<self::AckRequest>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Control {
            fn default() -> Self {
                Self {
                    request: ::core::default::Default::default(),
                    function: 0,
                    call_process_id: ::core::default::Default::default(),
                    header: ::core::default::Default::default(),
                    message: ::core::default::Default::default(),
                    ack: ::core::default::Default::default(),
                }
            }
        }

        impl Control {
            /// Creates a [ControlBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> ControlBuilder<()> {
                ControlBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
                field_call_process_id: impl ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
                field_header: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
                field_message: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
                field_ack: impl ::planus::WriteAsOptional<self::AckRequest>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);
                let prepared_call_process_id = field_call_process_id.prepare(builder);
                let prepared_header = field_header.prepare(builder);
                let prepared_message = field_message.prepare(builder);
                let prepared_ack = field_ack.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<16> =
                    ::core::default::Default::default();
                if prepared_call_process_id.is_some() {
                    table_writer.write_entry::<::planus::Offset<[u8]>>(2);
                }
                table_writer.write_entry::<::planus::Offset<[u8]>>(3);
                table_writer.write_entry::<::planus::Offset<[u8]>>(4);
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }
                if prepared_ack.is_some() {
                    table_writer.write_entry::<self::AckRequest>(5);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_call_process_id) =
                            prepared_call_process_id
                        {
                            object_writer.write::<_, _, 4>(&prepared_call_process_id);
                        }
                        object_writer.write::<_, _, 4>(&prepared_header);
                        object_writer.write::<_, _, 4>(&prepared_message);
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                        if let ::core::option::Option::Some(prepared_ack) = prepared_ack {
                            object_writer.write::<_, _, 1>(&prepared_ack);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Control>> for Control {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Control> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Control>> for Control {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Control>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Control> for Control {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Control> {
                Control::create(
                    builder,
                    self.request,
                    self.function,
                    &self.call_process_id,
                    &self.header,
                    &self.message,
                    self.ack,
                )
            }
        }

        /// Builder for serializing an instance of the [Control] type.
        ///
        /// Can be created using the [Control::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct ControlBuilder<State>(State);

        impl ControlBuilder<()> {
            /// Setter for the [`request` field](Control#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> ControlBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                ControlBuilder((value,))
            }
        }

        impl<T0> ControlBuilder<(T0,)> {
            /// Setter for the [`function` field](Control#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> ControlBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                ControlBuilder((v0, value))
            }

            /// Sets the [`function` field](Control#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(self) -> ControlBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> ControlBuilder<(T0, T1)> {
            /// Setter for the [`call_process_id` field](Control#structfield.call_process_id).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn call_process_id<T2>(self, value: T2) -> ControlBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            {
                let (v0, v1) = self.0;
                ControlBuilder((v0, v1, value))
            }

            /// Sets the [`call_process_id` field](Control#structfield.call_process_id) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn call_process_id_as_null(self) -> ControlBuilder<(T0, T1, ())> {
                self.call_process_id(())
            }
        }

        impl<T0, T1, T2> ControlBuilder<(T0, T1, T2)> {
            /// Setter for the [`header` field](Control#structfield.header).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn header<T3>(self, value: T3) -> ControlBuilder<(T0, T1, T2, T3)>
            where
                T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2) = self.0;
                ControlBuilder((v0, v1, v2, value))
            }
        }

        impl<T0, T1, T2, T3> ControlBuilder<(T0, T1, T2, T3)> {
            /// Setter for the [`message` field](Control#structfield.message).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn message<T4>(self, value: T4) -> ControlBuilder<(T0, T1, T2, T3, T4)>
            where
                T4: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2, v3) = self.0;
                ControlBuilder((v0, v1, v2, v3, value))
            }
        }

        impl<T0, T1, T2, T3, T4> ControlBuilder<(T0, T1, T2, T3, T4)> {
            /// Setter for the [`ack` field](Control#structfield.ack).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn ack<T5>(self, value: T5) -> ControlBuilder<(T0, T1, T2, T3, T4, T5)>
            where
                T5: ::planus::WriteAsOptional<self::AckRequest>,
            {
                let (v0, v1, v2, v3, v4) = self.0;
                ControlBuilder((v0, v1, v2, v3, v4, value))
            }

            /// Sets the [`ack` field](Control#structfield.ack) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn ack_as_null(self) -> ControlBuilder<(T0, T1, T2, T3, T4, ())> {
                self.ack(())
            }
        }

        impl<T0, T1, T2, T3, T4, T5> ControlBuilder<(T0, T1, T2, T3, T4, T5)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Control].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Control>
            where
                Self: ::planus::WriteAsOffset<Control>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T4: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T5: ::planus::WriteAsOptional<self::AckRequest>,
        > ::planus::WriteAs<::planus::Offset<Control>> for ControlBuilder<(T0, T1, T2, T3, T4, T5)>
        {
            type Prepared = ::planus::Offset<Control>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Control> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T4: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T5: ::planus::WriteAsOptional<self::AckRequest>,
        > ::planus::WriteAsOptional<::planus::Offset<Control>> for ControlBuilder<(T0, T1, T2, T3, T4, T5)>
        {
            type Prepared = ::planus::Offset<Control>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Control>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T4: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T5: ::planus::WriteAsOptional<self::AckRequest>,
        > ::planus::WriteAsOffset<Control> for ControlBuilder<(T0, T1, T2, T3, T4, T5)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Control> {
                let (v0, v1, v2, v3, v4, v5) = &self.0;
                Control::create(builder, v0, v1, v2, v3, v4, v5)
            }
        }

        /// Reference to a deserialized [Control].
        #[derive(Copy, Clone)]
        pub struct ControlRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ControlRef<'a> {
            /// Getter for the [`request` field](Control#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "Control", "request")
            }

            /// Getter for the [`function` field](Control#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(self.0.access(1, "Control", "function")?.unwrap_or(0))
            }

            /// Getter for the [`call_process_id` field](Control#structfield.call_process_id).
            #[inline]
            pub fn call_process_id(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(2, "Control", "call_process_id")
            }

            /// Getter for the [`header` field](Control#structfield.header).
            #[inline]
            pub fn header(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(3, "Control", "header")
            }

            /// Getter for the [`message` field](Control#structfield.message).
            #[inline]
            pub fn message(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(4, "Control", "message")
            }

            /// Getter for the [`ack` field](Control#structfield.ack).
            #[inline]
            pub fn ack(&self) -> ::planus::Result<::core::option::Option<self::AckRequest>> {
                self.0.access(5, "Control", "ack")
            }
        }

        impl<'a> ::core::fmt::Debug for ControlRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("ControlRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                if let ::core::option::Option::Some(field_call_process_id) =
                    self.call_process_id().transpose()
                {
                    f.field("call_process_id", &field_call_process_id);
                }
                f.field("header", &self.header());
                f.field("message", &self.message());
                if let ::core::option::Option::Some(field_ack) = self.ack().transpose() {
                    f.field("ack", &field_ack);
                }
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<ControlRef<'a>> for Control {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: ControlRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                    call_process_id: value.call_process_id()?.map(|v| v.to_vec()),
                    header: value.header()?.to_vec(),
                    message: value.message()?.to_vec(),
                    ack: if let ::core::option::Option::Some(ack) = value.ack()? {
                        ::core::option::Option::Some(::core::convert::TryInto::try_into(ack)?)
                    } else {
                        ::core::option::Option::None
                    },
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for ControlRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for ControlRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[ControlRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Control>> for Control {
            type Value = ::planus::Offset<Control>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Control>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for ControlRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[ControlRef]", "read_as_root", 0))
            }
        }

        /// The table `ControlAcknowledge` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `ControlAcknowledge` in the file `crates/e2/codec/schemas/ranlab.fbs:32`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct ControlAcknowledge {
            /// The field `request` in the table `ControlAcknowledge`
            pub request: self::RequestId,
            /// The field `function` in the table `ControlAcknowledge`
            pub function: u16,
            /// The field `call_process_id` in the table `ControlAcknowledge`
            pub call_process_id: ::core::option::Option<::planus::alloc::vec::Vec<u8>>,
            /// The field `outcome` in the table `ControlAcknowledge`
            pub outcome: ::core::option::Option<::planus::alloc::vec::Vec<u8>>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for ControlAcknowledge {
            fn default() -> Self {
                Self {
                    request: ::core::default::Default::default(),
                    function: 0,
                    call_process_id: ::core::default::Default::default(),
                    outcome: ::core::default::Default::default(),
                }
            }
        }

        impl ControlAcknowledge {
            /// Creates a [ControlAcknowledgeBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> ControlAcknowledgeBuilder<()> {
                ControlAcknowledgeBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
                field_call_process_id: impl ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
                field_outcome: impl ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);
                let prepared_call_process_id = field_call_process_id.prepare(builder);
                let prepared_outcome = field_outcome.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<12> =
                    ::core::default::Default::default();
                if prepared_call_process_id.is_some() {
                    table_writer.write_entry::<::planus::Offset<[u8]>>(2);
                }
                if prepared_outcome.is_some() {
                    table_writer.write_entry::<::planus::Offset<[u8]>>(3);
                }
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_call_process_id) =
                            prepared_call_process_id
                        {
                            object_writer.write::<_, _, 4>(&prepared_call_process_id);
                        }
                        if let ::core::option::Option::Some(prepared_outcome) = prepared_outcome {
                            object_writer.write::<_, _, 4>(&prepared_outcome);
                        }
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<ControlAcknowledge>> for ControlAcknowledge {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<ControlAcknowledge> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<ControlAcknowledge>> for ControlAcknowledge {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<ControlAcknowledge>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<ControlAcknowledge> for ControlAcknowledge {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<ControlAcknowledge> {
                ControlAcknowledge::create(
                    builder,
                    self.request,
                    self.function,
                    &self.call_process_id,
                    &self.outcome,
                )
            }
        }

        /// Builder for serializing an instance of the [ControlAcknowledge] type.
        ///
        /// Can be created using the [ControlAcknowledge::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct ControlAcknowledgeBuilder<State>(State);

        impl ControlAcknowledgeBuilder<()> {
            /// Setter for the [`request` field](ControlAcknowledge#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> ControlAcknowledgeBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                ControlAcknowledgeBuilder((value,))
            }
        }

        impl<T0> ControlAcknowledgeBuilder<(T0,)> {
            /// Setter for the [`function` field](ControlAcknowledge#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> ControlAcknowledgeBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                ControlAcknowledgeBuilder((v0, value))
            }

            /// Sets the [`function` field](ControlAcknowledge#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(self) -> ControlAcknowledgeBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> ControlAcknowledgeBuilder<(T0, T1)> {
            /// Setter for the [`call_process_id` field](ControlAcknowledge#structfield.call_process_id).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn call_process_id<T2>(self, value: T2) -> ControlAcknowledgeBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            {
                let (v0, v1) = self.0;
                ControlAcknowledgeBuilder((v0, v1, value))
            }

            /// Sets the [`call_process_id` field](ControlAcknowledge#structfield.call_process_id) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn call_process_id_as_null(self) -> ControlAcknowledgeBuilder<(T0, T1, ())> {
                self.call_process_id(())
            }
        }

        impl<T0, T1, T2> ControlAcknowledgeBuilder<(T0, T1, T2)> {
            /// Setter for the [`outcome` field](ControlAcknowledge#structfield.outcome).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn outcome<T3>(self, value: T3) -> ControlAcknowledgeBuilder<(T0, T1, T2, T3)>
            where
                T3: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            {
                let (v0, v1, v2) = self.0;
                ControlAcknowledgeBuilder((v0, v1, v2, value))
            }

            /// Sets the [`outcome` field](ControlAcknowledge#structfield.outcome) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn outcome_as_null(self) -> ControlAcknowledgeBuilder<(T0, T1, T2, ())> {
                self.outcome(())
            }
        }

        impl<T0, T1, T2, T3> ControlAcknowledgeBuilder<(T0, T1, T2, T3)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [ControlAcknowledge].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<ControlAcknowledge>
            where
                Self: ::planus::WriteAsOffset<ControlAcknowledge>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAs<::planus::Offset<ControlAcknowledge>>
            for ControlAcknowledgeBuilder<(T0, T1, T2, T3)>
        {
            type Prepared = ::planus::Offset<ControlAcknowledge>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<ControlAcknowledge> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOptional<::planus::Offset<ControlAcknowledge>>
            for ControlAcknowledgeBuilder<(T0, T1, T2, T3)>
        {
            type Prepared = ::planus::Offset<ControlAcknowledge>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<ControlAcknowledge>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOffset<ControlAcknowledge> for ControlAcknowledgeBuilder<(T0, T1, T2, T3)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<ControlAcknowledge> {
                let (v0, v1, v2, v3) = &self.0;
                ControlAcknowledge::create(builder, v0, v1, v2, v3)
            }
        }

        /// Reference to a deserialized [ControlAcknowledge].
        #[derive(Copy, Clone)]
        pub struct ControlAcknowledgeRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ControlAcknowledgeRef<'a> {
            /// Getter for the [`request` field](ControlAcknowledge#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "ControlAcknowledge", "request")
            }

            /// Getter for the [`function` field](ControlAcknowledge#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(self.0.access(1, "ControlAcknowledge", "function")?.unwrap_or(0))
            }

            /// Getter for the [`call_process_id` field](ControlAcknowledge#structfield.call_process_id).
            #[inline]
            pub fn call_process_id(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(2, "ControlAcknowledge", "call_process_id")
            }

            /// Getter for the [`outcome` field](ControlAcknowledge#structfield.outcome).
            #[inline]
            pub fn outcome(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(3, "ControlAcknowledge", "outcome")
            }
        }

        impl<'a> ::core::fmt::Debug for ControlAcknowledgeRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("ControlAcknowledgeRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                if let ::core::option::Option::Some(field_call_process_id) =
                    self.call_process_id().transpose()
                {
                    f.field("call_process_id", &field_call_process_id);
                }
                if let ::core::option::Option::Some(field_outcome) = self.outcome().transpose() {
                    f.field("outcome", &field_outcome);
                }
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<ControlAcknowledgeRef<'a>> for ControlAcknowledge {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: ControlAcknowledgeRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                    call_process_id: value.call_process_id()?.map(|v| v.to_vec()),
                    outcome: value.outcome()?.map(|v| v.to_vec()),
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for ControlAcknowledgeRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for ControlAcknowledgeRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[ControlAcknowledgeRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<ControlAcknowledge>> for ControlAcknowledge {
            type Value = ::planus::Offset<ControlAcknowledge>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<ControlAcknowledge>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for ControlAcknowledgeRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[ControlAcknowledgeRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `Action` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `Action` in the file `crates/e2/codec/schemas/ranlab.fbs:39`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct Action {
            /// The field `id` in the table `Action`
            pub id: u8,
            /// The field `kind` in the table `Action`
            pub kind: self::ActionKind,
            /// The field `definition` in the table `Action`
            pub definition: ::core::option::Option<::planus::alloc::vec::Vec<u8>>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Action {
            fn default() -> Self {
                Self {
                    id: 0,
                    kind: self::ActionKind::Report,
                    definition: ::core::default::Default::default(),
                }
            }
        }

        impl Action {
            /// Creates a [ActionBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> ActionBuilder<()> {
                ActionBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_id: impl ::planus::WriteAsDefault<u8, u8>,
                field_kind: impl ::planus::WriteAsDefault<self::ActionKind, self::ActionKind>,
                field_definition: impl ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_id = field_id.prepare(builder, &0);
                let prepared_kind = field_kind.prepare(builder, &self::ActionKind::Report);
                let prepared_definition = field_definition.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<10> =
                    ::core::default::Default::default();
                if prepared_definition.is_some() {
                    table_writer.write_entry::<::planus::Offset<[u8]>>(2);
                }
                if prepared_id.is_some() {
                    table_writer.write_entry::<u8>(0);
                }
                if prepared_kind.is_some() {
                    table_writer.write_entry::<self::ActionKind>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_definition) = prepared_definition {
                            object_writer.write::<_, _, 4>(&prepared_definition);
                        }
                        if let ::core::option::Option::Some(prepared_id) = prepared_id {
                            object_writer.write::<_, _, 1>(&prepared_id);
                        }
                        if let ::core::option::Option::Some(prepared_kind) = prepared_kind {
                            object_writer.write::<_, _, 1>(&prepared_kind);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Action>> for Action {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Action> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Action>> for Action {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Action>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Action> for Action {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Action> {
                Action::create(builder, self.id, self.kind, &self.definition)
            }
        }

        /// Builder for serializing an instance of the [Action] type.
        ///
        /// Can be created using the [Action::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct ActionBuilder<State>(State);

        impl ActionBuilder<()> {
            /// Setter for the [`id` field](Action#structfield.id).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn id<T0>(self, value: T0) -> ActionBuilder<(T0,)>
            where
                T0: ::planus::WriteAsDefault<u8, u8>,
            {
                ActionBuilder((value,))
            }

            /// Sets the [`id` field](Action#structfield.id) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn id_as_default(self) -> ActionBuilder<(::planus::DefaultValue,)> {
                self.id(::planus::DefaultValue)
            }
        }

        impl<T0> ActionBuilder<(T0,)> {
            /// Setter for the [`kind` field](Action#structfield.kind).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn kind<T1>(self, value: T1) -> ActionBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<self::ActionKind, self::ActionKind>,
            {
                let (v0,) = self.0;
                ActionBuilder((v0, value))
            }

            /// Sets the [`kind` field](Action#structfield.kind) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn kind_as_default(self) -> ActionBuilder<(T0, ::planus::DefaultValue)> {
                self.kind(::planus::DefaultValue)
            }
        }

        impl<T0, T1> ActionBuilder<(T0, T1)> {
            /// Setter for the [`definition` field](Action#structfield.definition).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn definition<T2>(self, value: T2) -> ActionBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
            {
                let (v0, v1) = self.0;
                ActionBuilder((v0, v1, value))
            }

            /// Sets the [`definition` field](Action#structfield.definition) to null.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn definition_as_null(self) -> ActionBuilder<(T0, T1, ())> {
                self.definition(())
            }
        }

        impl<T0, T1, T2> ActionBuilder<(T0, T1, T2)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Action].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Action>
            where
                Self: ::planus::WriteAsOffset<Action>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAsDefault<u8, u8>,
            T1: ::planus::WriteAsDefault<self::ActionKind, self::ActionKind>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAs<::planus::Offset<Action>> for ActionBuilder<(T0, T1, T2)>
        {
            type Prepared = ::planus::Offset<Action>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Action> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAsDefault<u8, u8>,
            T1: ::planus::WriteAsDefault<self::ActionKind, self::ActionKind>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOptional<::planus::Offset<Action>> for ActionBuilder<(T0, T1, T2)>
        {
            type Prepared = ::planus::Offset<Action>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Action>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAsDefault<u8, u8>,
            T1: ::planus::WriteAsDefault<self::ActionKind, self::ActionKind>,
            T2: ::planus::WriteAsOptional<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOffset<Action> for ActionBuilder<(T0, T1, T2)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Action> {
                let (v0, v1, v2) = &self.0;
                Action::create(builder, v0, v1, v2)
            }
        }

        /// Reference to a deserialized [Action].
        #[derive(Copy, Clone)]
        pub struct ActionRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> ActionRef<'a> {
            /// Getter for the [`id` field](Action#structfield.id).
            #[inline]
            pub fn id(&self) -> ::planus::Result<u8> {
                ::core::result::Result::Ok(self.0.access(0, "Action", "id")?.unwrap_or(0))
            }

            /// Getter for the [`kind` field](Action#structfield.kind).
            #[inline]
            pub fn kind(&self) -> ::planus::Result<self::ActionKind> {
                ::core::result::Result::Ok(
                    self.0.access(1, "Action", "kind")?.unwrap_or(self::ActionKind::Report),
                )
            }

            /// Getter for the [`definition` field](Action#structfield.definition).
            #[inline]
            pub fn definition(&self) -> ::planus::Result<::core::option::Option<&'a [u8]>> {
                self.0.access(2, "Action", "definition")
            }
        }

        impl<'a> ::core::fmt::Debug for ActionRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("ActionRef");
                f.field("id", &self.id());
                f.field("kind", &self.kind());
                if let ::core::option::Option::Some(field_definition) = self.definition().transpose() {
                    f.field("definition", &field_definition);
                }
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<ActionRef<'a>> for Action {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: ActionRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    id: ::core::convert::TryInto::try_into(value.id()?)?,
                    kind: ::core::convert::TryInto::try_into(value.kind()?)?,
                    definition: value.definition()?.map(|v| v.to_vec()),
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for ActionRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for ActionRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[ActionRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Action>> for Action {
            type Value = ::planus::Offset<Action>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Action>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for ActionRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[ActionRef]", "read_as_root", 0))
            }
        }

        /// The table `SubscriptionRequest` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `SubscriptionRequest` in the file `crates/e2/codec/schemas/ranlab.fbs:45`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct SubscriptionRequest {
            /// The field `request` in the table `SubscriptionRequest`
            pub request: self::RequestId,
            /// The field `function` in the table `SubscriptionRequest`
            pub function: u16,
            /// The field `trigger` in the table `SubscriptionRequest`
            pub trigger: ::planus::alloc::vec::Vec<u8>,
            /// The field `actions` in the table `SubscriptionRequest`
            pub actions: ::planus::alloc::vec::Vec<self::Action>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for SubscriptionRequest {
            fn default() -> Self {
                Self {
                    request: ::core::default::Default::default(),
                    function: 0,
                    trigger: ::core::default::Default::default(),
                    actions: ::core::default::Default::default(),
                }
            }
        }

        impl SubscriptionRequest {
            /// Creates a [SubscriptionRequestBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> SubscriptionRequestBuilder<()> {
                SubscriptionRequestBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
                field_trigger: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
                field_actions: impl ::planus::WriteAs<::planus::Offset<[::planus::Offset<self::Action>]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);
                let prepared_trigger = field_trigger.prepare(builder);
                let prepared_actions = field_actions.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<12> =
                    ::core::default::Default::default();
                table_writer.write_entry::<::planus::Offset<[u8]>>(2);
                table_writer.write_entry::<::planus::Offset<[::planus::Offset<self::Action>]>>(3);
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_trigger);
                        object_writer.write::<_, _, 4>(&prepared_actions);
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<SubscriptionRequest>> for SubscriptionRequest {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionRequest> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<SubscriptionRequest>> for SubscriptionRequest {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionRequest>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<SubscriptionRequest> for SubscriptionRequest {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionRequest> {
                SubscriptionRequest::create(
                    builder,
                    self.request,
                    self.function,
                    &self.trigger,
                    &self.actions,
                )
            }
        }

        /// Builder for serializing an instance of the [SubscriptionRequest] type.
        ///
        /// Can be created using the [SubscriptionRequest::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct SubscriptionRequestBuilder<State>(State);

        impl SubscriptionRequestBuilder<()> {
            /// Setter for the [`request` field](SubscriptionRequest#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> SubscriptionRequestBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                SubscriptionRequestBuilder((value,))
            }
        }

        impl<T0> SubscriptionRequestBuilder<(T0,)> {
            /// Setter for the [`function` field](SubscriptionRequest#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> SubscriptionRequestBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                SubscriptionRequestBuilder((v0, value))
            }

            /// Sets the [`function` field](SubscriptionRequest#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(self) -> SubscriptionRequestBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> SubscriptionRequestBuilder<(T0, T1)> {
            /// Setter for the [`trigger` field](SubscriptionRequest#structfield.trigger).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn trigger<T2>(self, value: T2) -> SubscriptionRequestBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1) = self.0;
                SubscriptionRequestBuilder((v0, v1, value))
            }
        }

        impl<T0, T1, T2> SubscriptionRequestBuilder<(T0, T1, T2)> {
            /// Setter for the [`actions` field](SubscriptionRequest#structfield.actions).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn actions<T3>(self, value: T3) -> SubscriptionRequestBuilder<(T0, T1, T2, T3)>
            where
                T3: ::planus::WriteAs<::planus::Offset<[::planus::Offset<self::Action>]>>,
            {
                let (v0, v1, v2) = self.0;
                SubscriptionRequestBuilder((v0, v1, v2, value))
            }
        }

        impl<T0, T1, T2, T3> SubscriptionRequestBuilder<(T0, T1, T2, T3)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [SubscriptionRequest].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionRequest>
            where
                Self: ::planus::WriteAsOffset<SubscriptionRequest>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAs<::planus::Offset<[::planus::Offset<self::Action>]>>,
        > ::planus::WriteAs<::planus::Offset<SubscriptionRequest>>
            for SubscriptionRequestBuilder<(T0, T1, T2, T3)>
        {
            type Prepared = ::planus::Offset<SubscriptionRequest>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionRequest> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAs<::planus::Offset<[::planus::Offset<self::Action>]>>,
        > ::planus::WriteAsOptional<::planus::Offset<SubscriptionRequest>>
            for SubscriptionRequestBuilder<(T0, T1, T2, T3)>
        {
            type Prepared = ::planus::Offset<SubscriptionRequest>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionRequest>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
            T3: ::planus::WriteAs<::planus::Offset<[::planus::Offset<self::Action>]>>,
        > ::planus::WriteAsOffset<SubscriptionRequest> for SubscriptionRequestBuilder<(T0, T1, T2, T3)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionRequest> {
                let (v0, v1, v2, v3) = &self.0;
                SubscriptionRequest::create(builder, v0, v1, v2, v3)
            }
        }

        /// Reference to a deserialized [SubscriptionRequest].
        #[derive(Copy, Clone)]
        pub struct SubscriptionRequestRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SubscriptionRequestRef<'a> {
            /// Getter for the [`request` field](SubscriptionRequest#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "SubscriptionRequest", "request")
            }

            /// Getter for the [`function` field](SubscriptionRequest#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(self.0.access(1, "SubscriptionRequest", "function")?.unwrap_or(0))
            }

            /// Getter for the [`trigger` field](SubscriptionRequest#structfield.trigger).
            #[inline]
            pub fn trigger(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(2, "SubscriptionRequest", "trigger")
            }

            /// Getter for the [`actions` field](SubscriptionRequest#structfield.actions).
            #[inline]
            pub fn actions(
                &self,
            ) -> ::planus::Result<::planus::Vector<'a, ::planus::Result<self::ActionRef<'a>>>> {
                self.0.access_required(3, "SubscriptionRequest", "actions")
            }
        }

        impl<'a> ::core::fmt::Debug for SubscriptionRequestRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("SubscriptionRequestRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                f.field("trigger", &self.trigger());
                f.field("actions", &self.actions());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<SubscriptionRequestRef<'a>> for SubscriptionRequest {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: SubscriptionRequestRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                    trigger: value.trigger()?.to_vec(),
                    actions: value.actions()?.to_vec_result()?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for SubscriptionRequestRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for SubscriptionRequestRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location(
                        "[SubscriptionRequestRef]",
                        "get",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<SubscriptionRequest>> for SubscriptionRequest {
            type Value = ::planus::Offset<SubscriptionRequest>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<SubscriptionRequest>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for SubscriptionRequestRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[SubscriptionRequestRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `SubscriptionResponse` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `SubscriptionResponse` in the file `crates/e2/codec/schemas/ranlab.fbs:52`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct SubscriptionResponse {
            /// The field `request` in the table `SubscriptionResponse`
            pub request: self::RequestId,
            /// The field `function` in the table `SubscriptionResponse`
            pub function: u16,
            /// The field `admitted` in the table `SubscriptionResponse`
            pub admitted: ::planus::alloc::vec::Vec<u8>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for SubscriptionResponse {
            fn default() -> Self {
                Self {
                    request: ::core::default::Default::default(),
                    function: 0,
                    admitted: ::core::default::Default::default(),
                }
            }
        }

        impl SubscriptionResponse {
            /// Creates a [SubscriptionResponseBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> SubscriptionResponseBuilder<()> {
                SubscriptionResponseBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
                field_admitted: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);
                let prepared_admitted = field_admitted.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<10> =
                    ::core::default::Default::default();
                table_writer.write_entry::<::planus::Offset<[u8]>>(2);
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_admitted);
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<SubscriptionResponse>> for SubscriptionResponse {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionResponse> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<SubscriptionResponse>> for SubscriptionResponse {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionResponse>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<SubscriptionResponse> for SubscriptionResponse {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionResponse> {
                SubscriptionResponse::create(builder, self.request, self.function, &self.admitted)
            }
        }

        /// Builder for serializing an instance of the [SubscriptionResponse] type.
        ///
        /// Can be created using the [SubscriptionResponse::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct SubscriptionResponseBuilder<State>(State);

        impl SubscriptionResponseBuilder<()> {
            /// Setter for the [`request` field](SubscriptionResponse#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> SubscriptionResponseBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                SubscriptionResponseBuilder((value,))
            }
        }

        impl<T0> SubscriptionResponseBuilder<(T0,)> {
            /// Setter for the [`function` field](SubscriptionResponse#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> SubscriptionResponseBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                SubscriptionResponseBuilder((v0, value))
            }

            /// Sets the [`function` field](SubscriptionResponse#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(self) -> SubscriptionResponseBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> SubscriptionResponseBuilder<(T0, T1)> {
            /// Setter for the [`admitted` field](SubscriptionResponse#structfield.admitted).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn admitted<T2>(self, value: T2) -> SubscriptionResponseBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1) = self.0;
                SubscriptionResponseBuilder((v0, v1, value))
            }
        }

        impl<T0, T1, T2> SubscriptionResponseBuilder<(T0, T1, T2)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [SubscriptionResponse].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionResponse>
            where
                Self: ::planus::WriteAsOffset<SubscriptionResponse>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAs<::planus::Offset<SubscriptionResponse>>
            for SubscriptionResponseBuilder<(T0, T1, T2)>
        {
            type Prepared = ::planus::Offset<SubscriptionResponse>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionResponse> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOptional<::planus::Offset<SubscriptionResponse>>
            for SubscriptionResponseBuilder<(T0, T1, T2)>
        {
            type Prepared = ::planus::Offset<SubscriptionResponse>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionResponse>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAs<self::RequestId>,
            T1: ::planus::WriteAsDefault<u16, u16>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOffset<SubscriptionResponse> for SubscriptionResponseBuilder<(T0, T1, T2)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<SubscriptionResponse> {
                let (v0, v1, v2) = &self.0;
                SubscriptionResponse::create(builder, v0, v1, v2)
            }
        }

        /// Reference to a deserialized [SubscriptionResponse].
        #[derive(Copy, Clone)]
        pub struct SubscriptionResponseRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SubscriptionResponseRef<'a> {
            /// Getter for the [`request` field](SubscriptionResponse#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "SubscriptionResponse", "request")
            }

            /// Getter for the [`function` field](SubscriptionResponse#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(self.0.access(1, "SubscriptionResponse", "function")?.unwrap_or(0))
            }

            /// Getter for the [`admitted` field](SubscriptionResponse#structfield.admitted).
            #[inline]
            pub fn admitted(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(2, "SubscriptionResponse", "admitted")
            }
        }

        impl<'a> ::core::fmt::Debug for SubscriptionResponseRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("SubscriptionResponseRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                f.field("admitted", &self.admitted());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<SubscriptionResponseRef<'a>> for SubscriptionResponse {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: SubscriptionResponseRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                    admitted: value.admitted()?.to_vec(),
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for SubscriptionResponseRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for SubscriptionResponseRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location(
                        "[SubscriptionResponseRef]",
                        "get",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<SubscriptionResponse>> for SubscriptionResponse {
            type Value = ::planus::Offset<SubscriptionResponse>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<SubscriptionResponse>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for SubscriptionResponseRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[SubscriptionResponseRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `SubscriptionDeleteRequest` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `SubscriptionDeleteRequest` in the file `crates/e2/codec/schemas/ranlab.fbs:58`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct SubscriptionDeleteRequest {
            /// The field `request` in the table `SubscriptionDeleteRequest`
            pub request: self::RequestId,
            /// The field `function` in the table `SubscriptionDeleteRequest`
            pub function: u16,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for SubscriptionDeleteRequest {
            fn default() -> Self {
                Self { request: ::core::default::Default::default(), function: 0 }
            }
        }

        impl SubscriptionDeleteRequest {
            /// Creates a [SubscriptionDeleteRequestBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> SubscriptionDeleteRequestBuilder<()> {
                SubscriptionDeleteRequestBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);

                let mut table_writer: ::planus::table_writer::TableWriter<8> =
                    ::core::default::Default::default();
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<SubscriptionDeleteRequest>> for SubscriptionDeleteRequest {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteRequest> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<SubscriptionDeleteRequest>> for SubscriptionDeleteRequest {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionDeleteRequest>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<SubscriptionDeleteRequest> for SubscriptionDeleteRequest {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteRequest> {
                SubscriptionDeleteRequest::create(builder, self.request, self.function)
            }
        }

        /// Builder for serializing an instance of the [SubscriptionDeleteRequest] type.
        ///
        /// Can be created using the [SubscriptionDeleteRequest::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct SubscriptionDeleteRequestBuilder<State>(State);

        impl SubscriptionDeleteRequestBuilder<()> {
            /// Setter for the [`request` field](SubscriptionDeleteRequest#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> SubscriptionDeleteRequestBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                SubscriptionDeleteRequestBuilder((value,))
            }
        }

        impl<T0> SubscriptionDeleteRequestBuilder<(T0,)> {
            /// Setter for the [`function` field](SubscriptionDeleteRequest#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> SubscriptionDeleteRequestBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                SubscriptionDeleteRequestBuilder((v0, value))
            }

            /// Sets the [`function` field](SubscriptionDeleteRequest#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(
                self,
            ) -> SubscriptionDeleteRequestBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> SubscriptionDeleteRequestBuilder<(T0, T1)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [SubscriptionDeleteRequest].
            #[inline]
            pub fn finish(
                self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteRequest>
            where
                Self: ::planus::WriteAsOffset<SubscriptionDeleteRequest>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<T0: ::planus::WriteAs<self::RequestId>, T1: ::planus::WriteAsDefault<u16, u16>>
            ::planus::WriteAs<::planus::Offset<SubscriptionDeleteRequest>>
            for SubscriptionDeleteRequestBuilder<(T0, T1)>
        {
            type Prepared = ::planus::Offset<SubscriptionDeleteRequest>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteRequest> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<T0: ::planus::WriteAs<self::RequestId>, T1: ::planus::WriteAsDefault<u16, u16>>
            ::planus::WriteAsOptional<::planus::Offset<SubscriptionDeleteRequest>>
            for SubscriptionDeleteRequestBuilder<(T0, T1)>
        {
            type Prepared = ::planus::Offset<SubscriptionDeleteRequest>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionDeleteRequest>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<T0: ::planus::WriteAs<self::RequestId>, T1: ::planus::WriteAsDefault<u16, u16>>
            ::planus::WriteAsOffset<SubscriptionDeleteRequest>
            for SubscriptionDeleteRequestBuilder<(T0, T1)>
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteRequest> {
                let (v0, v1) = &self.0;
                SubscriptionDeleteRequest::create(builder, v0, v1)
            }
        }

        /// Reference to a deserialized [SubscriptionDeleteRequest].
        #[derive(Copy, Clone)]
        pub struct SubscriptionDeleteRequestRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SubscriptionDeleteRequestRef<'a> {
            /// Getter for the [`request` field](SubscriptionDeleteRequest#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "SubscriptionDeleteRequest", "request")
            }

            /// Getter for the [`function` field](SubscriptionDeleteRequest#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(
                    self.0.access(1, "SubscriptionDeleteRequest", "function")?.unwrap_or(0),
                )
            }
        }

        impl<'a> ::core::fmt::Debug for SubscriptionDeleteRequestRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("SubscriptionDeleteRequestRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<SubscriptionDeleteRequestRef<'a>> for SubscriptionDeleteRequest {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: SubscriptionDeleteRequestRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for SubscriptionDeleteRequestRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for SubscriptionDeleteRequestRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location(
                        "[SubscriptionDeleteRequestRef]",
                        "get",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<SubscriptionDeleteRequest>> for SubscriptionDeleteRequest {
            type Value = ::planus::Offset<SubscriptionDeleteRequest>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<SubscriptionDeleteRequest>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for SubscriptionDeleteRequestRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[SubscriptionDeleteRequestRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `SubscriptionDeleteResponse` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `SubscriptionDeleteResponse` in the file `crates/e2/codec/schemas/ranlab.fbs:59`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct SubscriptionDeleteResponse {
            /// The field `request` in the table `SubscriptionDeleteResponse`
            pub request: self::RequestId,
            /// The field `function` in the table `SubscriptionDeleteResponse`
            pub function: u16,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for SubscriptionDeleteResponse {
            fn default() -> Self {
                Self { request: ::core::default::Default::default(), function: 0 }
            }
        }

        impl SubscriptionDeleteResponse {
            /// Creates a [SubscriptionDeleteResponseBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> SubscriptionDeleteResponseBuilder<()> {
                SubscriptionDeleteResponseBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_request: impl ::planus::WriteAs<self::RequestId>,
                field_function: impl ::planus::WriteAsDefault<u16, u16>,
            ) -> ::planus::Offset<Self> {
                let prepared_request = field_request.prepare(builder);
                let prepared_function = field_function.prepare(builder, &0);

                let mut table_writer: ::planus::table_writer::TableWriter<8> =
                    ::core::default::Default::default();
                table_writer.write_entry::<self::RequestId>(0);
                if prepared_function.is_some() {
                    table_writer.write_entry::<u16>(1);
                }

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_request);
                        if let ::core::option::Option::Some(prepared_function) = prepared_function {
                            object_writer.write::<_, _, 2>(&prepared_function);
                        }
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<SubscriptionDeleteResponse>> for SubscriptionDeleteResponse {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteResponse> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<SubscriptionDeleteResponse>> for SubscriptionDeleteResponse {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionDeleteResponse>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<SubscriptionDeleteResponse> for SubscriptionDeleteResponse {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteResponse> {
                SubscriptionDeleteResponse::create(builder, self.request, self.function)
            }
        }

        /// Builder for serializing an instance of the [SubscriptionDeleteResponse] type.
        ///
        /// Can be created using the [SubscriptionDeleteResponse::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct SubscriptionDeleteResponseBuilder<State>(State);

        impl SubscriptionDeleteResponseBuilder<()> {
            /// Setter for the [`request` field](SubscriptionDeleteResponse#structfield.request).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn request<T0>(self, value: T0) -> SubscriptionDeleteResponseBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<self::RequestId>,
            {
                SubscriptionDeleteResponseBuilder((value,))
            }
        }

        impl<T0> SubscriptionDeleteResponseBuilder<(T0,)> {
            /// Setter for the [`function` field](SubscriptionDeleteResponse#structfield.function).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function<T1>(self, value: T1) -> SubscriptionDeleteResponseBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u16, u16>,
            {
                let (v0,) = self.0;
                SubscriptionDeleteResponseBuilder((v0, value))
            }

            /// Sets the [`function` field](SubscriptionDeleteResponse#structfield.function) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn function_as_default(
                self,
            ) -> SubscriptionDeleteResponseBuilder<(T0, ::planus::DefaultValue)> {
                self.function(::planus::DefaultValue)
            }
        }

        impl<T0, T1> SubscriptionDeleteResponseBuilder<(T0, T1)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [SubscriptionDeleteResponse].
            #[inline]
            pub fn finish(
                self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteResponse>
            where
                Self: ::planus::WriteAsOffset<SubscriptionDeleteResponse>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<T0: ::planus::WriteAs<self::RequestId>, T1: ::planus::WriteAsDefault<u16, u16>>
            ::planus::WriteAs<::planus::Offset<SubscriptionDeleteResponse>>
            for SubscriptionDeleteResponseBuilder<(T0, T1)>
        {
            type Prepared = ::planus::Offset<SubscriptionDeleteResponse>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteResponse> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<T0: ::planus::WriteAs<self::RequestId>, T1: ::planus::WriteAsDefault<u16, u16>>
            ::planus::WriteAsOptional<::planus::Offset<SubscriptionDeleteResponse>>
            for SubscriptionDeleteResponseBuilder<(T0, T1)>
        {
            type Prepared = ::planus::Offset<SubscriptionDeleteResponse>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<SubscriptionDeleteResponse>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<T0: ::planus::WriteAs<self::RequestId>, T1: ::planus::WriteAsDefault<u16, u16>>
            ::planus::WriteAsOffset<SubscriptionDeleteResponse>
            for SubscriptionDeleteResponseBuilder<(T0, T1)>
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::planus::Offset<SubscriptionDeleteResponse> {
                let (v0, v1) = &self.0;
                SubscriptionDeleteResponse::create(builder, v0, v1)
            }
        }

        /// Reference to a deserialized [SubscriptionDeleteResponse].
        #[derive(Copy, Clone)]
        pub struct SubscriptionDeleteResponseRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> SubscriptionDeleteResponseRef<'a> {
            /// Getter for the [`request` field](SubscriptionDeleteResponse#structfield.request).
            #[inline]
            pub fn request(&self) -> ::planus::Result<self::RequestIdRef<'a>> {
                self.0.access_required(0, "SubscriptionDeleteResponse", "request")
            }

            /// Getter for the [`function` field](SubscriptionDeleteResponse#structfield.function).
            #[inline]
            pub fn function(&self) -> ::planus::Result<u16> {
                ::core::result::Result::Ok(
                    self.0.access(1, "SubscriptionDeleteResponse", "function")?.unwrap_or(0),
                )
            }
        }

        impl<'a> ::core::fmt::Debug for SubscriptionDeleteResponseRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("SubscriptionDeleteResponseRef");
                f.field("request", &self.request());
                f.field("function", &self.function());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<SubscriptionDeleteResponseRef<'a>> for SubscriptionDeleteResponse {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: SubscriptionDeleteResponseRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    request: ::core::convert::Into::into(value.request()?),
                    function: ::core::convert::TryInto::try_into(value.function()?)?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for SubscriptionDeleteResponseRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for SubscriptionDeleteResponseRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location(
                        "[SubscriptionDeleteResponseRef]",
                        "get",
                        buffer.offset_from_start,
                    )
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<SubscriptionDeleteResponse>>
            for SubscriptionDeleteResponse
        {
            type Value = ::planus::Offset<SubscriptionDeleteResponse>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<SubscriptionDeleteResponse>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for SubscriptionDeleteResponseRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| {
                    error_kind.with_error_location("[SubscriptionDeleteResponseRef]", "read_as_root", 0)
                })
            }
        }

        /// The table `Standard` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `Standard` in the file `crates/e2/codec/schemas/ranlab.fbs:62`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct Standard {
            /// The field `pdu` in the table `Standard`
            pub pdu: ::planus::alloc::vec::Vec<u8>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Standard {
            fn default() -> Self {
                Self { pdu: ::core::default::Default::default() }
            }
        }

        impl Standard {
            /// Creates a [StandardBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> StandardBuilder<()> {
                StandardBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_pdu: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_pdu = field_pdu.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<6> =
                    ::core::default::Default::default();
                table_writer.write_entry::<::planus::Offset<[u8]>>(0);

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_pdu);
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Standard>> for Standard {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Standard> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Standard>> for Standard {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Standard>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Standard> for Standard {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Standard> {
                Standard::create(builder, &self.pdu)
            }
        }

        /// Builder for serializing an instance of the [Standard] type.
        ///
        /// Can be created using the [Standard::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct StandardBuilder<State>(State);

        impl StandardBuilder<()> {
            /// Setter for the [`pdu` field](Standard#structfield.pdu).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn pdu<T0>(self, value: T0) -> StandardBuilder<(T0,)>
            where
                T0: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                StandardBuilder((value,))
            }
        }

        impl<T0> StandardBuilder<(T0,)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Standard].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Standard>
            where
                Self: ::planus::WriteAsOffset<Standard>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<T0: ::planus::WriteAs<::planus::Offset<[u8]>>> ::planus::WriteAs<::planus::Offset<Standard>>
            for StandardBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<Standard>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Standard> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<T0: ::planus::WriteAs<::planus::Offset<[u8]>>>
            ::planus::WriteAsOptional<::planus::Offset<Standard>> for StandardBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<Standard>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Standard>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<T0: ::planus::WriteAs<::planus::Offset<[u8]>>> ::planus::WriteAsOffset<Standard>
            for StandardBuilder<(T0,)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Standard> {
                let (v0,) = &self.0;
                Standard::create(builder, v0)
            }
        }

        /// Reference to a deserialized [Standard].
        #[derive(Copy, Clone)]
        pub struct StandardRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> StandardRef<'a> {
            /// Getter for the [`pdu` field](Standard#structfield.pdu).
            #[inline]
            pub fn pdu(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(0, "Standard", "pdu")
            }
        }

        impl<'a> ::core::fmt::Debug for StandardRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("StandardRef");
                f.field("pdu", &self.pdu());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<StandardRef<'a>> for Standard {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: StandardRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self { pdu: value.pdu()?.to_vec() })
            }
        }

        impl<'a> ::planus::TableRead<'a> for StandardRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for StandardRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[StandardRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Standard>> for Standard {
            type Value = ::planus::Offset<Standard>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Standard>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for StandardRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[StandardRef]", "read_as_root", 0))
            }
        }

        /// The union `Message` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Union `Message` in the file `crates/e2/codec/schemas/ranlab.fbs:64`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub enum Message {
            /// The variant of type `Indication` in the union `Message`
            Indication(::planus::alloc::boxed::Box<self::Indication>),

            /// The variant of type `Control` in the union `Message`
            Control(::planus::alloc::boxed::Box<self::Control>),

            /// The variant of type `ControlAcknowledge` in the union `Message`
            ControlAcknowledge(::planus::alloc::boxed::Box<self::ControlAcknowledge>),

            /// The variant of type `SubscriptionRequest` in the union `Message`
            SubscriptionRequest(::planus::alloc::boxed::Box<self::SubscriptionRequest>),

            /// The variant of type `SubscriptionResponse` in the union `Message`
            SubscriptionResponse(::planus::alloc::boxed::Box<self::SubscriptionResponse>),

            /// The variant of type `SubscriptionDeleteRequest` in the union `Message`
            SubscriptionDeleteRequest(::planus::alloc::boxed::Box<self::SubscriptionDeleteRequest>),

            /// The variant of type `SubscriptionDeleteResponse` in the union `Message`
            SubscriptionDeleteResponse(::planus::alloc::boxed::Box<self::SubscriptionDeleteResponse>),

            /// The variant of type `Standard` in the union `Message`
            Standard(::planus::alloc::boxed::Box<self::Standard>),
        }

        impl Message {
            /// Creates a [MessageBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> MessageBuilder<::planus::Uninitialized> {
                MessageBuilder(::planus::Uninitialized)
            }

            #[inline]
            pub fn create_indication(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::Indication>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(1, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_control(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::Control>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(2, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_control_acknowledge(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::ControlAcknowledge>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(3, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_subscription_request(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::SubscriptionRequest>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(4, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_subscription_response(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::SubscriptionResponse>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(5, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_subscription_delete_request(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::SubscriptionDeleteRequest>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(6, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_subscription_delete_response(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::SubscriptionDeleteResponse>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(7, value.prepare(builder).downcast())
            }

            #[inline]
            pub fn create_standard(
                builder: &mut ::planus::Builder,
                value: impl ::planus::WriteAsOffset<self::Standard>,
            ) -> ::planus::UnionOffset<Self> {
                ::planus::UnionOffset::new(8, value.prepare(builder).downcast())
            }
        }

        impl ::planus::WriteAsUnion<Message> for Message {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Self> {
                match self {
                    Self::Indication(value) => Self::create_indication(builder, value),
                    Self::Control(value) => Self::create_control(builder, value),
                    Self::ControlAcknowledge(value) => Self::create_control_acknowledge(builder, value),
                    Self::SubscriptionRequest(value) => Self::create_subscription_request(builder, value),
                    Self::SubscriptionResponse(value) => Self::create_subscription_response(builder, value),
                    Self::SubscriptionDeleteRequest(value) => {
                        Self::create_subscription_delete_request(builder, value)
                    }
                    Self::SubscriptionDeleteResponse(value) => {
                        Self::create_subscription_delete_response(builder, value)
                    }
                    Self::Standard(value) => Self::create_standard(builder, value),
                }
            }
        }

        impl ::planus::WriteAsOptionalUnion<Message> for Message {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Self>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }

        /// Builder for serializing an instance of the [Message] type.
        ///
        /// Can be created using the [Message::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct MessageBuilder<T>(T);

        impl MessageBuilder<::planus::Uninitialized> {
            /// Creates an instance of the [`Indication` variant](Message#variant.Indication).
            #[inline]
            pub fn indication<T>(self, value: T) -> MessageBuilder<::planus::Initialized<1, T>>
            where
                T: ::planus::WriteAsOffset<self::Indication>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`Control` variant](Message#variant.Control).
            #[inline]
            pub fn control<T>(self, value: T) -> MessageBuilder<::planus::Initialized<2, T>>
            where
                T: ::planus::WriteAsOffset<self::Control>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`ControlAcknowledge` variant](Message#variant.ControlAcknowledge).
            #[inline]
            pub fn control_acknowledge<T>(self, value: T) -> MessageBuilder<::planus::Initialized<3, T>>
            where
                T: ::planus::WriteAsOffset<self::ControlAcknowledge>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`SubscriptionRequest` variant](Message#variant.SubscriptionRequest).
            #[inline]
            pub fn subscription_request<T>(self, value: T) -> MessageBuilder<::planus::Initialized<4, T>>
            where
                T: ::planus::WriteAsOffset<self::SubscriptionRequest>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`SubscriptionResponse` variant](Message#variant.SubscriptionResponse).
            #[inline]
            pub fn subscription_response<T>(self, value: T) -> MessageBuilder<::planus::Initialized<5, T>>
            where
                T: ::planus::WriteAsOffset<self::SubscriptionResponse>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`SubscriptionDeleteRequest` variant](Message#variant.SubscriptionDeleteRequest).
            #[inline]
            pub fn subscription_delete_request<T>(
                self,
                value: T,
            ) -> MessageBuilder<::planus::Initialized<6, T>>
            where
                T: ::planus::WriteAsOffset<self::SubscriptionDeleteRequest>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`SubscriptionDeleteResponse` variant](Message#variant.SubscriptionDeleteResponse).
            #[inline]
            pub fn subscription_delete_response<T>(
                self,
                value: T,
            ) -> MessageBuilder<::planus::Initialized<7, T>>
            where
                T: ::planus::WriteAsOffset<self::SubscriptionDeleteResponse>,
            {
                MessageBuilder(::planus::Initialized(value))
            }

            /// Creates an instance of the [`Standard` variant](Message#variant.Standard).
            #[inline]
            pub fn standard<T>(self, value: T) -> MessageBuilder<::planus::Initialized<8, T>>
            where
                T: ::planus::WriteAsOffset<self::Standard>,
            {
                MessageBuilder(::planus::Initialized(value))
            }
        }

        impl<const N: u8, T> MessageBuilder<::planus::Initialized<N, T>> {
            /// Finish writing the builder to get an [UnionOffset](::planus::UnionOffset) to a serialized [Message].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message>
            where
                Self: ::planus::WriteAsUnion<Message>,
            {
                ::planus::WriteAsUnion::prepare(&self, builder)
            }
        }

        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<1, T>>
        where
            T: ::planus::WriteAsOffset<self::Indication>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(1, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<1, T>>
        where
            T: ::planus::WriteAsOffset<self::Indication>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<2, T>>
        where
            T: ::planus::WriteAsOffset<self::Control>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(2, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<2, T>>
        where
            T: ::planus::WriteAsOffset<self::Control>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<3, T>>
        where
            T: ::planus::WriteAsOffset<self::ControlAcknowledge>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(3, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<3, T>>
        where
            T: ::planus::WriteAsOffset<self::ControlAcknowledge>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<4, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionRequest>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(4, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<4, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionRequest>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<5, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionResponse>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(5, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<5, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionResponse>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<6, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionDeleteRequest>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(6, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<6, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionDeleteRequest>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<7, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionDeleteResponse>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(7, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<7, T>>
        where
            T: ::planus::WriteAsOffset<self::SubscriptionDeleteResponse>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }
        impl<T> ::planus::WriteAsUnion<Message> for MessageBuilder<::planus::Initialized<8, T>>
        where
            T: ::planus::WriteAsOffset<self::Standard>,
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::UnionOffset<Message> {
                ::planus::UnionOffset::new(8, (self.0).0.prepare(builder).downcast())
            }
        }

        impl<T> ::planus::WriteAsOptionalUnion<Message> for MessageBuilder<::planus::Initialized<8, T>>
        where
            T: ::planus::WriteAsOffset<self::Standard>,
        {
            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::UnionOffset<Message>> {
                ::core::option::Option::Some(::planus::WriteAsUnion::prepare(self, builder))
            }
        }

        /// Reference to a deserialized [Message].
        #[derive(Copy, Clone, Debug)]
        pub enum MessageRef<'a> {
            Indication(self::IndicationRef<'a>),
            Control(self::ControlRef<'a>),
            ControlAcknowledge(self::ControlAcknowledgeRef<'a>),
            SubscriptionRequest(self::SubscriptionRequestRef<'a>),
            SubscriptionResponse(self::SubscriptionResponseRef<'a>),
            SubscriptionDeleteRequest(self::SubscriptionDeleteRequestRef<'a>),
            SubscriptionDeleteResponse(self::SubscriptionDeleteResponseRef<'a>),
            Standard(self::StandardRef<'a>),
        }

        impl<'a> ::core::convert::TryFrom<MessageRef<'a>> for Message {
            type Error = ::planus::Error;

            fn try_from(value: MessageRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(match value {
                    MessageRef::Indication(value) => Self::Indication(::planus::alloc::boxed::Box::new(
                        ::core::convert::TryFrom::try_from(value)?,
                    )),

                    MessageRef::Control(value) => Self::Control(::planus::alloc::boxed::Box::new(
                        ::core::convert::TryFrom::try_from(value)?,
                    )),

                    MessageRef::ControlAcknowledge(value) => Self::ControlAcknowledge(
                        ::planus::alloc::boxed::Box::new(::core::convert::TryFrom::try_from(value)?),
                    ),

                    MessageRef::SubscriptionRequest(value) => Self::SubscriptionRequest(
                        ::planus::alloc::boxed::Box::new(::core::convert::TryFrom::try_from(value)?),
                    ),

                    MessageRef::SubscriptionResponse(value) => Self::SubscriptionResponse(
                        ::planus::alloc::boxed::Box::new(::core::convert::TryFrom::try_from(value)?),
                    ),

                    MessageRef::SubscriptionDeleteRequest(value) => Self::SubscriptionDeleteRequest(
                        ::planus::alloc::boxed::Box::new(::core::convert::TryFrom::try_from(value)?),
                    ),

                    MessageRef::SubscriptionDeleteResponse(value) => Self::SubscriptionDeleteResponse(
                        ::planus::alloc::boxed::Box::new(::core::convert::TryFrom::try_from(value)?),
                    ),

                    MessageRef::Standard(value) => Self::Standard(::planus::alloc::boxed::Box::new(
                        ::core::convert::TryFrom::try_from(value)?,
                    )),
                })
            }
        }

        impl<'a> ::planus::TableReadUnion<'a> for MessageRef<'a> {
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                tag: u8,
                field_offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                match tag {
                    1 => ::core::result::Result::Ok(Self::Indication(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    2 => ::core::result::Result::Ok(Self::Control(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    3 => ::core::result::Result::Ok(Self::ControlAcknowledge(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    4 => ::core::result::Result::Ok(Self::SubscriptionRequest(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    5 => ::core::result::Result::Ok(Self::SubscriptionResponse(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    6 => ::core::result::Result::Ok(Self::SubscriptionDeleteRequest(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    7 => ::core::result::Result::Ok(Self::SubscriptionDeleteResponse(
                        ::planus::TableRead::from_buffer(buffer, field_offset)?,
                    )),
                    8 => ::core::result::Result::Ok(Self::Standard(::planus::TableRead::from_buffer(
                        buffer,
                        field_offset,
                    )?)),
                    _ => ::core::result::Result::Err(::planus::errors::ErrorKind::UnknownUnionTag { tag }),
                }
            }
        }

        impl<'a> ::planus::VectorReadUnion<'a> for MessageRef<'a> {
            const VECTOR_NAME: &'static str = "[MessageRef]";
        }

        /// The table `Pdu` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `Pdu` in the file `crates/e2/codec/schemas/ranlab.fbs:69`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct Pdu {
            /// The field `message` in the table `Pdu`
            pub message: self::Message,
        }

        impl Pdu {
            /// Creates a [PduBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> PduBuilder<()> {
                PduBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_message: impl ::planus::WriteAsUnion<self::Message>,
            ) -> ::planus::Offset<Self> {
                let prepared_message = field_message.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<8> =
                    ::core::default::Default::default();
                table_writer.write_entry::<::planus::Offset<self::Message>>(1);
                table_writer.write_entry::<u8>(0);

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        object_writer.write::<_, _, 4>(&prepared_message.offset());
                        object_writer.write::<_, _, 1>(&prepared_message.tag());
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Pdu>> for Pdu {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Pdu> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Pdu>> for Pdu {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Pdu>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Pdu> for Pdu {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Pdu> {
                Pdu::create(builder, &self.message)
            }
        }

        /// Builder for serializing an instance of the [Pdu] type.
        ///
        /// Can be created using the [Pdu::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct PduBuilder<State>(State);

        impl PduBuilder<()> {
            /// Setter for the [`message` field](Pdu#structfield.message).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn message<T0>(self, value: T0) -> PduBuilder<(T0,)>
            where
                T0: ::planus::WriteAsUnion<self::Message>,
            {
                PduBuilder((value,))
            }
        }

        impl<T0> PduBuilder<(T0,)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Pdu].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Pdu>
            where
                Self: ::planus::WriteAsOffset<Pdu>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<T0: ::planus::WriteAsUnion<self::Message>> ::planus::WriteAs<::planus::Offset<Pdu>>
            for PduBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<Pdu>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Pdu> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<T0: ::planus::WriteAsUnion<self::Message>> ::planus::WriteAsOptional<::planus::Offset<Pdu>>
            for PduBuilder<(T0,)>
        {
            type Prepared = ::planus::Offset<Pdu>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Pdu>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<T0: ::planus::WriteAsUnion<self::Message>> ::planus::WriteAsOffset<Pdu> for PduBuilder<(T0,)> {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Pdu> {
                let (v0,) = &self.0;
                Pdu::create(builder, v0)
            }
        }

        /// Reference to a deserialized [Pdu].
        #[derive(Copy, Clone)]
        pub struct PduRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> PduRef<'a> {
            /// Getter for the [`message` field](Pdu#structfield.message).
            #[inline]
            pub fn message(&self) -> ::planus::Result<self::MessageRef<'a>> {
                self.0.access_union_required(0, "Pdu", "message")
            }
        }

        impl<'a> ::core::fmt::Debug for PduRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("PduRef");
                f.field("message", &self.message());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<PduRef<'a>> for Pdu {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: PduRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    message: ::core::convert::TryInto::try_into(value.message()?)?,
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for PduRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for PduRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[PduRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Pdu>> for Pdu {
            type Value = ::planus::Offset<Pdu>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Pdu>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for PduRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[PduRef]", "read_as_root", 0))
            }
        }

        /// The table `Ping` in the namespace `e2`
        ///
        /// Generated from these locations:
        /// * Table `Ping` in the file `crates/e2/codec/schemas/ranlab.fbs:72`
        #[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord, Hash)]
        pub struct Ping {
            /// The field `seq` in the table `Ping`
            pub seq: u32,
            /// The field `t_send_ns` in the table `Ping`
            pub t_send_ns: u64,
            /// The field `payload` in the table `Ping`
            pub payload: ::planus::alloc::vec::Vec<u8>,
        }

        #[allow(clippy::derivable_impls)]
        impl ::core::default::Default for Ping {
            fn default() -> Self {
                Self { seq: 0, t_send_ns: 0, payload: ::core::default::Default::default() }
            }
        }

        impl Ping {
            /// Creates a [PingBuilder] for serializing an instance of this table.
            #[inline]
            pub fn builder() -> PingBuilder<()> {
                PingBuilder(())
            }

            #[allow(clippy::too_many_arguments)]
            pub fn create(
                builder: &mut ::planus::Builder,
                field_seq: impl ::planus::WriteAsDefault<u32, u32>,
                field_t_send_ns: impl ::planus::WriteAsDefault<u64, u64>,
                field_payload: impl ::planus::WriteAs<::planus::Offset<[u8]>>,
            ) -> ::planus::Offset<Self> {
                let prepared_seq = field_seq.prepare(builder, &0);
                let prepared_t_send_ns = field_t_send_ns.prepare(builder, &0);
                let prepared_payload = field_payload.prepare(builder);

                let mut table_writer: ::planus::table_writer::TableWriter<10> =
                    ::core::default::Default::default();
                if prepared_t_send_ns.is_some() {
                    table_writer.write_entry::<u64>(1);
                }
                if prepared_seq.is_some() {
                    table_writer.write_entry::<u32>(0);
                }
                table_writer.write_entry::<::planus::Offset<[u8]>>(2);

                unsafe {
                    table_writer.finish(builder, |object_writer| {
                        if let ::core::option::Option::Some(prepared_t_send_ns) = prepared_t_send_ns {
                            object_writer.write::<_, _, 8>(&prepared_t_send_ns);
                        }
                        if let ::core::option::Option::Some(prepared_seq) = prepared_seq {
                            object_writer.write::<_, _, 4>(&prepared_seq);
                        }
                        object_writer.write::<_, _, 4>(&prepared_payload);
                    });
                }
                builder.current_offset()
            }
        }

        impl ::planus::WriteAs<::planus::Offset<Ping>> for Ping {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Ping> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl ::planus::WriteAsOptional<::planus::Offset<Ping>> for Ping {
            type Prepared = ::planus::Offset<Self>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Ping>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl ::planus::WriteAsOffset<Ping> for Ping {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Ping> {
                Ping::create(builder, self.seq, self.t_send_ns, &self.payload)
            }
        }

        /// Builder for serializing an instance of the [Ping] type.
        ///
        /// Can be created using the [Ping::builder] method.
        #[derive(Debug)]
        #[must_use]
        pub struct PingBuilder<State>(State);

        impl PingBuilder<()> {
            /// Setter for the [`seq` field](Ping#structfield.seq).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn seq<T0>(self, value: T0) -> PingBuilder<(T0,)>
            where
                T0: ::planus::WriteAsDefault<u32, u32>,
            {
                PingBuilder((value,))
            }

            /// Sets the [`seq` field](Ping#structfield.seq) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn seq_as_default(self) -> PingBuilder<(::planus::DefaultValue,)> {
                self.seq(::planus::DefaultValue)
            }
        }

        impl<T0> PingBuilder<(T0,)> {
            /// Setter for the [`t_send_ns` field](Ping#structfield.t_send_ns).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn t_send_ns<T1>(self, value: T1) -> PingBuilder<(T0, T1)>
            where
                T1: ::planus::WriteAsDefault<u64, u64>,
            {
                let (v0,) = self.0;
                PingBuilder((v0, value))
            }

            /// Sets the [`t_send_ns` field](Ping#structfield.t_send_ns) to the default value.
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn t_send_ns_as_default(self) -> PingBuilder<(T0, ::planus::DefaultValue)> {
                self.t_send_ns(::planus::DefaultValue)
            }
        }

        impl<T0, T1> PingBuilder<(T0, T1)> {
            /// Setter for the [`payload` field](Ping#structfield.payload).
            #[inline]
            #[allow(clippy::type_complexity)]
            pub fn payload<T2>(self, value: T2) -> PingBuilder<(T0, T1, T2)>
            where
                T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
            {
                let (v0, v1) = self.0;
                PingBuilder((v0, v1, value))
            }
        }

        impl<T0, T1, T2> PingBuilder<(T0, T1, T2)> {
            /// Finish writing the builder to get an [Offset](::planus::Offset) to a serialized [Ping].
            #[inline]
            pub fn finish(self, builder: &mut ::planus::Builder) -> ::planus::Offset<Ping>
            where
                Self: ::planus::WriteAsOffset<Ping>,
            {
                ::planus::WriteAsOffset::prepare(&self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAsDefault<u32, u32>,
            T1: ::planus::WriteAsDefault<u64, u64>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAs<::planus::Offset<Ping>> for PingBuilder<(T0, T1, T2)>
        {
            type Prepared = ::planus::Offset<Ping>;

            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Ping> {
                ::planus::WriteAsOffset::prepare(self, builder)
            }
        }

        impl<
            T0: ::planus::WriteAsDefault<u32, u32>,
            T1: ::planus::WriteAsDefault<u64, u64>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOptional<::planus::Offset<Ping>> for PingBuilder<(T0, T1, T2)>
        {
            type Prepared = ::planus::Offset<Ping>;

            #[inline]
            fn prepare(
                &self,
                builder: &mut ::planus::Builder,
            ) -> ::core::option::Option<::planus::Offset<Ping>> {
                ::core::option::Option::Some(::planus::WriteAsOffset::prepare(self, builder))
            }
        }

        impl<
            T0: ::planus::WriteAsDefault<u32, u32>,
            T1: ::planus::WriteAsDefault<u64, u64>,
            T2: ::planus::WriteAs<::planus::Offset<[u8]>>,
        > ::planus::WriteAsOffset<Ping> for PingBuilder<(T0, T1, T2)>
        {
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> ::planus::Offset<Ping> {
                let (v0, v1, v2) = &self.0;
                Ping::create(builder, v0, v1, v2)
            }
        }

        /// Reference to a deserialized [Ping].
        #[derive(Copy, Clone)]
        pub struct PingRef<'a>(#[allow(dead_code)] ::planus::table_reader::Table<'a>);

        impl<'a> PingRef<'a> {
            /// Getter for the [`seq` field](Ping#structfield.seq).
            #[inline]
            pub fn seq(&self) -> ::planus::Result<u32> {
                ::core::result::Result::Ok(self.0.access(0, "Ping", "seq")?.unwrap_or(0))
            }

            /// Getter for the [`t_send_ns` field](Ping#structfield.t_send_ns).
            #[inline]
            pub fn t_send_ns(&self) -> ::planus::Result<u64> {
                ::core::result::Result::Ok(self.0.access(1, "Ping", "t_send_ns")?.unwrap_or(0))
            }

            /// Getter for the [`payload` field](Ping#structfield.payload).
            #[inline]
            pub fn payload(&self) -> ::planus::Result<&'a [u8]> {
                self.0.access_required(2, "Ping", "payload")
            }
        }

        impl<'a> ::core::fmt::Debug for PingRef<'a> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut f = f.debug_struct("PingRef");
                f.field("seq", &self.seq());
                f.field("t_send_ns", &self.t_send_ns());
                f.field("payload", &self.payload());
                f.finish()
            }
        }

        impl<'a> ::core::convert::TryFrom<PingRef<'a>> for Ping {
            type Error = ::planus::Error;

            #[allow(unreachable_code)]
            fn try_from(value: PingRef<'a>) -> ::planus::Result<Self> {
                ::core::result::Result::Ok(Self {
                    seq: ::core::convert::TryInto::try_into(value.seq()?)?,
                    t_send_ns: ::core::convert::TryInto::try_into(value.t_send_ns()?)?,
                    payload: value.payload()?.to_vec(),
                })
            }
        }

        impl<'a> ::planus::TableRead<'a> for PingRef<'a> {
            #[inline]
            fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::core::result::Result<Self, ::planus::errors::ErrorKind> {
                ::core::result::Result::Ok(Self(::planus::table_reader::Table::from_buffer(buffer, offset)?))
            }
        }

        impl<'a> ::planus::VectorReadInner<'a> for PingRef<'a> {
            type Error = ::planus::Error;
            const STRIDE: usize = 4;

            unsafe fn from_buffer(
                buffer: ::planus::SliceWithStartOffset<'a>,
                offset: usize,
            ) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(buffer, offset).map_err(|error_kind| {
                    error_kind.with_error_location("[PingRef]", "get", buffer.offset_from_start)
                })
            }
        }

        /// # Safety
        /// The planus compiler generates implementations that initialize
        /// the bytes in `write_values`.
        unsafe impl ::planus::VectorWrite<::planus::Offset<Ping>> for Ping {
            type Value = ::planus::Offset<Ping>;
            const STRIDE: usize = 4;
            #[inline]
            fn prepare(&self, builder: &mut ::planus::Builder) -> Self::Value {
                ::planus::WriteAs::prepare(self, builder)
            }

            #[inline]
            unsafe fn write_values(
                values: &[::planus::Offset<Ping>],
                bytes: *mut ::core::mem::MaybeUninit<u8>,
                buffer_position: u32,
            ) {
                let bytes = bytes as *mut [::core::mem::MaybeUninit<u8>; 4];
                for (i, v) in ::core::iter::Iterator::enumerate(values.iter()) {
                    ::planus::WriteAsPrimitive::write(
                        v,
                        ::planus::Cursor::new(unsafe { &mut *bytes.add(i) }),
                        buffer_position - (Self::STRIDE * i) as u32,
                    );
                }
            }
        }

        impl<'a> ::planus::ReadAsRoot<'a> for PingRef<'a> {
            fn read_as_root(slice: &'a [u8]) -> ::planus::Result<Self> {
                ::planus::TableRead::from_buffer(
                    ::planus::SliceWithStartOffset { buffer: slice, offset_from_start: 0 },
                    0,
                )
                .map_err(|error_kind| error_kind.with_error_location("[PingRef]", "read_as_root", 0))
            }
        }
    }
}
