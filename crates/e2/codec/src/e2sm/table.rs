//! Statistics as tables: what a monitor shows and a recorder writes, without knowing the model.
//!
//! A model has columns (name, unit, kind) and turns each indication into rows; a row has a key that says whom it is
//! about. Identifiers that make up the key are no columns.

use std::borrow::Cow;
use std::fmt;

/// A column of a model's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The statistic, in the model's words.
    pub name: Cow<'static, str>,
    /// Unit, e.g. `B`, `dB`, `us`; empty for counts, ratios and names.
    pub unit: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What they are made of.
    pub of: Type,
    /// Whether it is among the few that a narrow table shows.
    pub headline: bool,
}

impl Column {
    /// A column of values without a unit.
    pub(crate) const fn without_unit(name: &'static str, kind: Kind, of: Type, headline: bool) -> Self {
        Self { name: Cow::Borrowed(name), unit: "", kind, of, headline }
    }
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Grows, and wraps at its width: what it grew by since the last report is of interest.
    Counter,
    /// The state of the moment.
    Gauge,
    /// A name or number that stands for something: neither sums nor differences mean anything.
    Label,
}

/// What a column's values are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// Whole numbers, zero or above.
    Unsigned,
    /// Whole numbers.
    Signed,
    /// Numbers.
    Float,
    /// Text.
    Text,
}

/// One value of a table. Floats are equal if their bits are, so that tables with NaN compare.
#[derive(Debug, Clone)]
pub enum Value {
    /// Of [`Type::Unsigned`].
    Unsigned(u64),
    /// Of [`Type::Signed`].
    Signed(i64),
    /// Of [`Type::Float`]; shown with the digits that single precision has.
    Single(f32),
    /// Of [`Type::Float`].
    Double(f64),
    /// Of [`Type::Text`].
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
    /// The value as a number; `None` if it is text.
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

/// Whom a row is about.
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
        /// Its number.
        slice: u16,
    },
    /// A queue of a radio bearer.
    Queue {
        /// Radio network temporary identifier.
        rnti: u32,
        /// Radio bearer identity.
        rbid: u8,
        /// Its number.
        queue: u8,
    },
}

impl RowKey {
    /// The UE's RNTI; `None` for the node as a whole and its slices.
    pub const fn ue(self) -> Option<u32> {
        match self {
            Self::Node | Self::Slice { .. } => None,
            Self::Ue { rnti }
            | Self::Bearer { rnti, .. }
            | Self::Queue { rnti, .. }
            | Self::Tunnel { rnti, .. } => Some(rnti),
        }
    }

    /// The radio bearer's identity.
    pub const fn bearer(self) -> Option<u8> {
        if let Self::Bearer { rbid, .. } | Self::Queue { rbid, .. } = self { Some(rbid) } else { None }
    }

    /// The tunnel's endpoint identifier at the base station.
    pub const fn tunnel(self) -> Option<u32> {
        if let Self::Tunnel { teid, .. } = self { Some(teid) } else { None }
    }
}

/// What one indication says, row by row. The columns are the model's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// When the sender took the statistics, microseconds since the Unix epoch; `None` if the model does not say.
    pub tstamp_us: Option<i64>,
    /// Reason why something that the indication contains is in no row; `None` if everything is.
    pub left_out: Option<String>,
    keys: Vec<RowKey>,
    values: Vec<Value>,
}

impl Table {
    /// Notes that something is in no row. The first reason stays.
    pub fn leave_out(&mut self, reason: impl FnOnce() -> String) {
        self.left_out.get_or_insert_with(reason);
    }

    /// Appends a row: the statistics of an element.
    pub fn push<E: Row>(&mut self, element: &E) {
        self.keys.push(element.key());
        element.values(&mut self.values);
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// All rows in the sender's order: whom they are about, and a value for each of the model's columns.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (RowKey, &[Value])> {
        let width = self.values.len().checked_div(self.keys.len()).unwrap_or(0);
        self.keys.iter().enumerate().map(move |(row, key)| (*key, &self.values[row * width..][..width]))
    }
}

/// Something that is a row of a table: a UE, a bearer, a tunnel.
pub trait Row {
    /// The columns of its kind.
    fn columns() -> Vec<Column>;
    /// Whom it is about.
    fn key(&self) -> RowKey;
    /// Appends a value for each column.
    fn values(&self, out: &mut Vec<Value>);
}

/// A field of a row: one value, or several.
pub trait Field {
    /// What its values are made of.
    const OF: Type;

    /// Appends its columns; a field of one value has the one that is given.
    fn columns(column: Column, out: &mut Vec<Column>) {
        out.push(column);
    }

    /// Appends its values.
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

/// Columns `name_0`, `name_1` …
impl<const N: usize> Field for [u32; N] {
    const OF: Type = Type::Unsigned;

    fn columns(column: Column, out: &mut Vec<Column>) {
        out.extend((0..N).map(|n| Column { name: format!("{}_{n}", column.name).into(), ..column.clone() }));
    }

    fn values(&self, out: &mut Vec<Value>) {
        out.extend(self.iter().map(|value| Value::Unsigned((*value).into())));
    }
}

/// Declares an element once, a line for each field: its offset in the packed struct, its type, and in brackets what its
/// column is: `counter`, `gauge` or `label`, the unit, `headline` where a narrow table shows it; or `key` if it is no column.
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

/// The rows of a type that is declared elsewhere: the key, then of each column name, what it is made of, kind, unit,
/// `headline` where a narrow table shows it, and the value.
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
