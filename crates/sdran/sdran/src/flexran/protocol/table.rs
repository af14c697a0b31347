//! Macros that declare messages, with one line per field: name, tag, label and type.

/// Maps a protobuf scalar to its Rust type.
macro_rules! scalar {
    (uint32) => {
        u32
    };
    (uint64) => {
        u64
    };
    (int32) => {
        i32
    };
    (int64) => {
        i64
    };
    (bool) => {
        bool
    };
    (string) => {
        String
    };
}

/// Defines structs from lines `name = tag label type, "meaning";`. Labels: `optional`, `repeated` (messages,
/// strings), `unpacked` (repeated scalars in the form of proto2, one tag each), `map` (string keys). `octets` stands
/// for `bytes`. A oneof has the form `name = "tags" oneof "Type" Type, "meaning";`.
macro_rules! messages {
    ($($(#[$meta:meta])* $name:ident { $($body:tt)* })*) => {
        $( messages!(@fields [$(#[$meta])* $name] [] $($body)*); )*
    };
    (@fields [$(#[$meta:meta])* $name:ident] [$($out:tt)*]) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct $name { $($out)* }
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt optional message $ty:ident, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost(message, optional, tag = $tag)]
            pub $field: Option<$ty>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt repeated message $ty:ident, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost(message, repeated, tag = $tag)]
            pub $field: Vec<$ty>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt map $ty:ident, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost(btree_map = "string, message", tag = $tag)]
            pub $field: std::collections::BTreeMap<String, $ty>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tags:tt oneof $name:tt $ty:ident, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost(oneof = $name, tags = $tags)]
            pub $field: Option<$ty>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt optional octets, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost(bytes = "bytes", optional, tag = $tag)]
            pub $field: Option<::bytes::Bytes>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt optional $kind:tt, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost($kind, optional, tag = $tag)]
            pub $field: Option<scalar!($kind)>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt unpacked $kind:tt, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost($kind, repeated, packed = "false", tag = $tag)]
            pub $field: Vec<scalar!($kind)>,] $($rest)*);
    };
    (@fields $head:tt [$($out:tt)*] $field:ident = $tag:tt repeated $kind:tt, $doc:literal; $($rest:tt)*) => {
        messages!(@fields $head [$($out)* #[doc = $doc] #[prost($kind, repeated, tag = $tag)]
            pub $field: Vec<scalar!($kind)>,] $($rest)*);
    };
}

/// Defines oneofs from lines `Variant = tag kind Type, "meaning";`.
macro_rules! oneofs {
    ($($(#[$meta:meta])* $name:ident { $($variant:ident = $tag:tt $kind:tt $ty:ident, $doc:literal;)* })*) => { $(
        $(#[$meta])*
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub enum $name { $( #[doc = $doc] #[prost($kind, tag = $tag)] $variant($ty), )* }

        $( impl From<$ty> for $name {
            fn from(value: $ty) -> Self { Self::$variant(value) }
        } )*
    )* };
}
