//! Statistics as tables, for monitors and recorders that do not know the model.
//!
//! A model has columns (name, unit, kind) and converts each indication to rows. A row has a key that identifies its
//! subject. Identifiers in the key are not columns.

use std::borrow::Cow;
use std::fmt;

/// A column of a model's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name of the statistic, as defined by the model.
    pub name: Cow<'static, str>,
    /// Unit, for example `B`, `dB`, `us`; empty for counts, ratios and names.
    pub unit: &'static str,
    /// Kind of the column's values.
    pub kind: Kind,
    /// Data type of the column's values.
    pub of: Type,
    /// Whether a narrow table shows it.
    pub headline: bool,
}

impl Column {
    /// Returns a column without a unit.
    pub(crate) const fn without_unit(name: &'static str, kind: Kind, of: Type, headline: bool) -> Self {
        Self { name: Cow::Borrowed(name), unit: "", kind, of, headline }
    }
}

/// Kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A counter that wraps at its width; the increase since the last report is of interest.
    Counter,
    /// A current value.
    Gauge,
    /// A name or number that identifies something; sums and differences have no meaning.
    Label,
}

/// Data type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// Non-negative integers.
    Unsigned,
    /// Integers.
    Signed,
    /// Floating-point numbers.
    Float,
    /// Text.
    Text,
}

/// One value of a table. Floats are equal if their bits are, so tables with NaN can be compared.
#[derive(Debug, Clone)]
pub enum Value {
    /// A value of [`Type::Unsigned`].
    Unsigned(u64),
    /// A value of [`Type::Signed`].
    Signed(i64),
    /// A value of [`Type::Float`], displayed with single precision.
    Single(f32),
    /// A value of [`Type::Float`].
    Double(f64),
    /// A value of [`Type::Text`].
    Text(Cow<'static, str>),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unsigned(a), Self::Unsigned(b)) => a == b,
            (Self::Signed(a), Self::Signed(b)) => a == b,
            (Self::Single(a), Self::Single(b)) => a.to_bits() == b.to_bits(),
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => false,
        }
    }
}

impl Value {
    /// Returns the value as a number, or `None` for text.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Unsigned(value) => Some(value as f64),
            Self::Signed(value) => Some(value as f64),
            Self::Single(value) => Some(value.into()),
            Self::Double(value) => Some(value),
            Self::Text(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Single(value) => value.fmt(f),
            Self::Double(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// Subject of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RowKey {
    /// The node as a whole.
    Node,
    /// A UE.
    Ue {
        /// Radio network temporary identifier.
        rnti: u32,
    },
    /// A radio bearer of a UE.
    Bearer {
        /// Radio network temporary identifier.
        rnti: u32,
        /// Radio bearer identity.
        rbid: u8,
    },
    /// A GTP-U tunnel of a UE.
    Tunnel {
        /// Radio network temporary identifier.
        rnti: u32,
        /// Tunnel endpoint identifier at the base station.
        teid: u32,
    },
    /// A slice of the node.
    Slice {
        /// Number of the slice.
        slice: u16,
    },
    /// A queue of a radio bearer.
    Queue {
        /// Radio network temporary identifier.
        rnti: u32,
        /// Radio bearer identity.
        rbid: u8,
        /// Number of the queue.
        queue: u8,
    },
    /// Subject of another crate's model, for which no other key exists.
    Other {
        /// Kind of the subject: a word in lower case, such as `beam`.
        kind: &'static str,
        /// Number of the subject.
        number: u32,
        /// Radio network temporary identifier of the UE to which the subject belongs, if any.
        rnti: Option<u32>,
    },
}

impl RowKey {
    /// Returns the RNTI of the UE, or `None` for the node as a whole and its slices.
    pub const fn ue(self) -> Option<u32> {
        match self {
            Self::Node | Self::Slice { .. } => None,
            Self::Other { rnti, .. } => rnti,
            Self::Ue { rnti }
            | Self::Bearer { rnti, .. }
            | Self::Queue { rnti, .. }
            | Self::Tunnel { rnti, .. } => Some(rnti),
        }
    }

    /// Returns the radio bearer identity.
    pub const fn bearer(self) -> Option<u8> {
        if let Self::Bearer { rbid, .. } | Self::Queue { rbid, .. } = self { Some(rbid) } else { None }
    }

    /// Returns the tunnel endpoint identifier at the base station.
    pub const fn tunnel(self) -> Option<u32> {
        if let Self::Tunnel { teid, .. } = self { Some(teid) } else { None }
    }

    /// Returns kind and number of a subject that no other key has.
    pub const fn other(self) -> Option<(&'static str, u32)> {
        if let Self::Other { kind, number, .. } = self { Some((kind, number)) } else { None }
    }
}

/// Rows of one indication. The columns are those of the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Time of the statistics, in microseconds since the Unix epoch; `None` if the model has no timestamp.
    pub tstamp_us: Option<i64>,
    /// Reason why a part of the indication could not be converted to rows; `None` if it is complete.
    pub left_out: Option<String>,
    keys: Vec<RowKey>,
    values: Vec<Value>,
}

impl Table {
    /// Records that a part could not be converted. The first reason is kept.
    pub fn leave_out(&mut self, reason: impl FnOnce() -> String) {
        self.left_out.get_or_insert_with(reason);
    }

    /// Appends a row with the statistics of an element.
    pub fn push<E: Row>(&mut self, element: &E) {
        self.keys.push(element.key());
        element.values(&mut self.values);
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns all rows in the sender's order: subject, and a value for each column of the model.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (RowKey, &[Value])> {
        let width = self.values.len().checked_div(self.keys.len()).unwrap_or(0);
        self.keys.iter().enumerate().map(move |(row, key)| (*key, &self.values[row * width..][..width]))
    }
}

/// A type that is a row of a table: a UE, a bearer, a tunnel.
pub trait Row {
    /// Returns the columns.
    fn columns() -> Vec<Column>;
    /// Returns the subject.
    fn key(&self) -> RowKey;
    /// Appends a value for each column.
    fn values(&self, out: &mut Vec<Value>);
}

/// A field of a row with one or more values.
pub trait Field {
    /// Data type of the values.
    const OF: Type;

    /// Appends the columns; a field with one value has the given column.
    fn columns(column: Column, out: &mut Vec<Column>) {
        out.push(column);
    }

    /// Appends the values.
    fn values(&self, out: &mut Vec<Value>);
}

macro_rules! fields {
    ($($number:ty => $of:ident $value:ident),+) => { $(
        impl Field for $number {
            const OF: Type = Type::$of;
            fn values(&self, out: &mut Vec<Value>) {
                out.push(Value::$value((*self).into()));
            }
        }
    )+ };
}
fields!(u8 => Unsigned Unsigned, u16 => Unsigned Unsigned, u32 => Unsigned Unsigned, u64 => Unsigned Unsigned);
fields!(i8 => Signed Signed, f32 => Float Single, f64 => Float Double);

/// An array has one column per element: `name_0`, `name_1` and so on.
impl<const N: usize> Field for [u32; N] {
    const OF: Type = Type::Unsigned;

    fn columns(column: Column, out: &mut Vec<Column>) {
        out.extend((0..N).map(|n| Column { name: format!("{}_{n}", column.name).into(), ..column.clone() }));
    }

    fn values(&self, out: &mut Vec<Value>) {
        out.extend(self.iter().map(|value| Value::Unsigned((*value).into())));
    }
}

/// Declares an element with one line per field: its offset in the packed struct, its type, and its column in brackets.
/// A column has a kind (`counter`, `gauge` or `label`), a unit, and `headline` if a narrow table shows it. The brackets
/// contain `key` if the field is not a column.
macro_rules! row {
    ($(#[$meta:meta])* $row:ident, $me:ident => $key:expr, $size:literal octets {
        $($offset:literal $field:ident: $type:ty [$($column:tt)+], $doc:literal;)+
    }) => {
        $(#[$meta])*
        pub struct $row {
            $(#[doc = $doc] pub $field: $type,)+
        }

        $crate::e2sm::plain::plain_element!($row, $size, { $($offset => $field: $type,)+ });

        impl $crate::e2sm::table::Row for $row {
            fn columns() -> Vec<$crate::e2sm::table::Column> {
                let mut columns = Vec::new();
                $($crate::e2sm::table::row!(@column columns, $field, $type, $($column)+);)+
                columns
            }

            fn key(&self) -> $crate::e2sm::table::RowKey {
                let $me = self;
                $key
            }

            fn values(&self, out: &mut Vec<$crate::e2sm::table::Value>) {
                $($crate::e2sm::table::row!(@value self, out, $field, $type, $($column)+);)+
            }
        }
    };
    (@column $out:ident, $field:ident, $type:ty, key) => {};
    (@column $out:ident, $field:ident, $type:ty, counter $($rest:tt)*) => {
        $crate::e2sm::table::row!(@push $out, $field, $type, Counter, $($rest)*)
    };
    (@column $out:ident, $field:ident, $type:ty, gauge $($rest:tt)*) => {
        $crate::e2sm::table::row!(@push $out, $field, $type, Gauge, $($rest)*)
    };
    (@column $out:ident, $field:ident, $type:ty, label $($rest:tt)*) => {
        $crate::e2sm::table::row!(@push $out, $field, $type, Label, $($rest)*)
    };
    (@push $out:ident, $field:ident, $type:ty, $kind:ident, $($unit:literal)? $($headline:ident)?) => {
        <$type as $crate::e2sm::table::Field>::columns(
            $crate::e2sm::table::Column {
                name: stringify!($field).into(),
                unit: concat!($($unit)?),
                kind: $crate::e2sm::table::Kind::$kind,
                of: <$type as $crate::e2sm::table::Field>::OF,
                headline: !concat!($(stringify!($headline))?).is_empty(),
            },
            &mut $out,
        )
    };
    (@value $me:ident, $out:ident, $field:ident, $type:ty, key) => {};
    (@value $me:ident, $out:ident, $field:ident, $type:ty, $($column:tt)+) => {
        <$type as $crate::e2sm::table::Field>::values(&$me.$field, $out)
    };
}
pub(crate) use row;

/// Declares the rows of a type that is defined elsewhere: the key, then for each column name, data type, kind, unit,
/// `headline` if a narrow table shows it, and the value.
macro_rules! columns {
    ($row:ty, $me:ident => $key:expr, {
        $($name:literal [$of:ident $kind:ident $($unit:literal)? $($headline:ident)?] = $value:expr,)+
    }) => {
        impl $crate::e2sm::table::Row for $row {
            fn columns() -> Vec<$crate::e2sm::table::Column> {
                vec![$($crate::e2sm::table::Column {
                    name: $name.into(),
                    unit: concat!($($unit)?),
                    kind: $crate::e2sm::table::Kind::$kind,
                    of: $crate::e2sm::table::Type::$of,
                    headline: !concat!($(stringify!($headline))?).is_empty(),
                },)+]
            }

            fn key(&self) -> $crate::e2sm::table::RowKey {
                let $me = self;
                $key
            }

            fn values(&self, out: &mut Vec<$crate::e2sm::table::Value>) {
                let $me = self;
                out.extend([$($crate::e2sm::table::Value::$of($value.into())),+]);
            }
        }
    };
}
pub(crate) use columns;
