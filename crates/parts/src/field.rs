//! What a part can be told, once: from these fields come flags, keys of scenarios, the JSON schema and the worker's
//! messages.
//!
//! ```
//! # use std::time::Duration;
//! # use ranlab_parts::{config, Config};
//! config! {
//!     /// Something that ticks.
//!     pub struct Ticker {
//!         /// ticks before it ends
//!         count: u32 = 10, range(1, 1_000);
//!         /// between two ticks
//!         period: Duration = Duration::from_millis(50);
//!         /// where it reports to
//!         connect: String = String::new(), wiring();
//!         /// file that it writes
//!         record: Option<String> = None, local();
//!     }
//! }
//! let mut ticker = Ticker::default();
//! ticker.set("period", &"20ms".into()).unwrap();
//! assert_eq!(ticker.period, Duration::from_millis(20));
//! assert!(ticker.set("count", &0.into()).unwrap_err().to_string().contains("1 to 1000"));
//! ```

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind, Presence, nearest};
use ranlab_campaign::value::Value;

mod section;

pub use section::Section;

/// Who may fill a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Whoever describes an experiment: a flag, a key of a scenario.
    Setting,
    /// Who brings parts together: the address of the part before, a clock's offset. A flag, but no key.
    Wiring,
    /// As a setting, but it names something of the machine that the part runs on (a file, a program, an interface, a
    /// namespace): a worker that is reached over TCP refuses it.
    Local,
    /// Who starts the part in code: neither a flag nor a key.
    Inner,
}

/// One field of a part's config.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name in Rust and, with a section before it, in a scenario.
    pub name: &'static str,
    /// Its flag without the dashes, if it is not the name.
    pub flag: Option<&'static str>,
    /// Who fills it.
    pub role: Role,
    /// Kind, unit, default, comment; the path is the name.
    pub key: Key,
}

impl Field {
    /// A setting of type `T` with its default.
    pub fn of<T: Setting>(name: &'static str, comment: &str, default: &T) -> Self {
        let key = Key::new(name, T::kind(), comment);
        let key = match default.to_value() {
            Some(value) => key.or(value),
            None => key.optional(),
        };
        Self { name, flag: None, role: Role::Setting, key }
    }

    /// Filled by who joins parts.
    pub fn wiring(self) -> Self {
        Self { role: Role::Wiring, ..self }
    }

    /// Of the part's own machine.
    pub fn local(self) -> Self {
        Self { role: Role::Local, ..self }
    }

    /// Filled by who starts the part in code.
    pub fn inner(self) -> Self {
        Self { role: Role::Inner, ..self }
    }

    /// Has to be given.
    pub fn required(mut self) -> Self {
        self.key.presence = Presence::Required;
        self
    }

    /// A whole number within these bounds.
    pub fn range(mut self, min: i64, max: i64) -> Self {
        self.key.kind = Kind::Int { min, max };
        self
    }

    /// Of another kind than its type says.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.key.kind = kind;
        self
    }

    /// Of this unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.key.unit = unit.to_owned();
        self
    }

    /// With another flag than its name.
    pub fn flag(self, flag: &'static str) -> Self {
        Self { flag: Some(flag), ..self }
    }

    /// Used only where another field of the same config has one of these values.
    pub fn when(mut self, other: &str, values: &[&str]) -> Self {
        self.key = self.key.when(other, values);
        self
    }
}

/// The config of a part: plain data with described fields. Made by [`config!`](crate::config).
pub trait Config: Described + Default + Clone {
    /// Every field, in the order in which people read them.
    fn fields() -> Vec<Field>;

    /// Sets a field, after its kind has accepted the value.
    ///
    /// # Errors
    /// There is no such field, or the value is not allowed.
    fn set(&mut self, name: &str, value: &Value) -> Result<(), FieldError>;

    /// Sets what a point says in a section (`load`); what it does not say keeps its default.
    ///
    /// # Errors
    /// A value is not allowed, or a required field is not set.
    fn read(run: &Run<'_>, section: &str) -> Result<Self, RigError> {
        Self::read_but(run, section, &[])
    }

    /// The same, with the same errors, without some fields, whose keys mean something else in this rig.
    fn read_but(run: &Run<'_>, section: &str, without: &[&str]) -> Result<Self, RigError> {
        let mut config = Self::default();
        for field in Self::fields().iter().filter(|field| {
            matches!(field.role, Role::Setting | Role::Local) && !without.contains(&field.name)
        }) {
            let path = format!("{section}.{}", field.name);
            match run.value(&path) {
                Some(value) => config
                    .set(field.name, value)
                    .map_err(|error| RigError::Rig(format!("in section `{section}`: {error}")))?,
                None if field.key.presence == Presence::Required => {
                    return Err(RigError::Rig(format!("`{path}` is not set")));
                }
                None => {}
            }
        }
        Ok(config)
    }

    /// Its settings as keys of a section: everything but what a rig fills.
    fn keys(section: &str) -> Section {
        let fields =
            Self::fields().into_iter().filter(|field| matches!(field.role, Role::Setting | Role::Local));
        let keys = fields.map(|field| {
            let mut key = field.key;
            key.path = format!("{section}.{}", key.path);
            if let Some((other, _)) = &mut key.when {
                *other = format!("{section}.{other}");
            }
            key
        });
        Section::new(section, keys.collect())
    }
}

/// What of a config is known without its type.
pub trait Described {
    /// Every field.
    fn described(&self) -> Vec<Field>;
    /// The value of a field; `None`: it is absent, or there is no such field.
    fn get(&self, name: &str) -> Option<Value>;

    /// Fields of the part's own machine that do not have their default.
    fn locals(&self) -> Vec<&'static str> {
        let local = |field: &Field| field.role == Role::Local && self.get(field.name) != default_of(field);
        self.described().iter().filter(|field| local(field)).map(|field| field.name).collect()
    }
}

fn default_of(field: &Field) -> Option<Value> {
    match &field.key.presence {
        Presence::Default(value) => Some(value.clone()),
        Presence::Required | Presence::Optional => None,
    }
}

/// A field cannot be set so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// No such field.
    #[error("there is no `{name}`{}", .nearest.as_ref().map_or_else(String::new, |near| format!("; `{near}` is near")))]
    Unknown {
        /// As it was given.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// The value is not allowed.
    #[error("`{name}` must be {allowed}; it is {given}")]
    Value {
        /// Of which field.
        name: String,
        /// What is allowed, in words.
        allowed: String,
        /// What was given.
        given: String,
    },
}

impl FieldError {
    /// There is no such field among these.
    pub fn unknown(name: &str, fields: &[Field]) -> Self {
        let nearest = nearest(name, fields.iter().map(|field| field.name)).map(str::to_owned);
        Self::Unknown { name: name.to_owned(), nearest }
    }
}

/// The value that a field of type `T` gets. Used by [`config!`](crate::config).
#[doc(hidden)]
pub fn checked<T: Setting>(name: &str, fields: &[Field], value: &Value) -> Result<T, FieldError> {
    let field = fields.iter().find(|field| field.name == name);
    let kind = &field.ok_or_else(|| FieldError::unknown(name, fields))?.key.kind;
    // A search replaces a whole number by one that it has to round.
    let rounded = match (kind, value) {
        (Kind::Int { .. }, Value::Float(float)) => Value::Int(float.round() as i64),
        _ => value.clone(),
    };
    let wrong =
        |allowed: String| FieldError::Value { name: name.to_owned(), allowed, given: rounded.to_string() };
    let accepted = T::accept(kind, &rounded).map_err(wrong)?;
    T::from_value(&accepted).map_err(wrong)
}

/// A type that a field can have.
pub trait Setting: Sized {
    /// What is allowed unless a field narrows it.
    fn kind() -> Kind;
    /// The value as the field's kind means it; the error continues "must be". A type that reads more than its kind says
    /// accepts it here: a rate is text on the command line and may be a number in a scenario.
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        kind.accept(value)
    }
    /// From a value that was accepted; the error continues "must be".
    fn from_value(value: &Value) -> Result<Self, String>;
    /// As people write it; `None`: absent.
    fn to_value(&self) -> Option<Value>;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            fn kind() -> Kind {
                Kind::Int {
                    min: i64::try_from(<$type>::MIN).unwrap_or(i64::MIN),
                    max: i64::try_from(<$type>::MAX).unwrap_or(i64::MAX),
                }
            }
            fn from_value(value: &Value) -> Result<Self, String> {
                match value {
                    Value::Int(int) => Self::try_from(*int).map_err(|_| Self::kind().allowed()),
                    _ => Err(Self::kind().allowed()),
                }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
        }
    )*};
}
whole!(u8, u16, u32, u64, usize, i64);

/// Whence everything random comes: all 64 bits, written as a signed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub u64);

impl Setting for Seed {
    fn kind() -> Kind {
        Kind::Int { min: i64::MIN, max: i64::MAX }
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        i64::from_value(value).map(|int| Self(int as u64))
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Int(self.0 as i64))
    }
}

impl Setting for bool {
    fn kind() -> Kind {
        Kind::Bool
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        if let Value::Bool(bool) = value { Ok(*bool) } else { Err(Kind::Bool.allowed()) }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }
}

impl Setting for f64 {
    fn kind() -> Kind {
        Kind::any_number()
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.number().ok_or_else(|| Self::kind().allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

impl Setting for Duration {
    fn kind() -> Kind {
        Kind::Span
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        value.span().ok_or_else(|| Kind::Span.allowed())
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Span(*self))
    }
}

impl<T: Setting> Setting for Option<T> {
    fn kind() -> Kind {
        T::kind()
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        T::accept(kind, value)
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        T::from_value(value).map(Some)
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        let of = if let Kind::List(of) = kind { of } else { kind };
        let accepted = match value {
            Value::List(list) => list.iter().map(|value| T::accept(of, value)).collect(),
            // A rig may vary one where the part takes several.
            one => T::accept(of, one).map(|one| vec![one]),
        };
        accepted.map(Value::List).map_err(|each| format!("a list, each entry {each}"))
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::List(list) => list.iter().map(T::from_value).collect(),
            _ => Err(Self::kind().allowed()),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::List(self.iter().filter_map(T::to_value).collect()))
    }
}

/// Types that people write as text: [`FromStr`](std::str::FromStr) whose error is a sentence, and [`Display`](fmt::Display).
#[macro_export]
macro_rules! setting_by_text {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::Setting for $type {
            fn kind() -> $crate::field::KindOf {
                $crate::field::KindOf::Text
            }
            fn from_value(value: &$crate::field::ValueOf) -> Result<Self, String> {
                value.to_string().parse().map_err(|error| format!("in the right form ({error})"))
            }
            fn to_value(&self) -> Option<$crate::field::ValueOf> {
                Some($crate::field::ValueOf::Text(self.to_string()))
            }
        }
    )*};
}

impl Setting for PathBuf {
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        Ok(value.to_string().into())
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.display().to_string()))
    }
}

/// Plain data with parts of its own, such as a list of flows: JSON in a text. It is wiring, which nobody writes by hand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plain<T>(pub T);

impl<T: serde::Serialize + serde::de::DeserializeOwned> Setting for Plain<T> {
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        let read = serde_json::from_str(value.text().unwrap_or_default());
        read.map(Self).map_err(|error| format!("plain data as JSON ({error})"))
    }
    fn to_value(&self) -> Option<Value> {
        serde_json::to_string(&self.0).ok().map(Value::Text)
    }
}

setting_by_text!(String, std::net::IpAddr);

impl Setting for SocketAddr {
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<Self, String> {
        ranlab_emulator::socket_address(&value.to_string())
            .map_err(|error| format!("in the right form ({error})"))
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

/// A config as a message: an object with the fields that are present.
#[doc(hidden)]
pub fn write<S: serde::Serializer>(config: &dyn Described, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        config.described().iter().filter_map(|field| Some((field.name, config.get(field.name)?))),
    )
}

/// Reads [`write`]'s object; what is absent keeps its default, what is unknown or not allowed is an error.
#[doc(hidden)]
pub struct Reader<C>(pub std::marker::PhantomData<C>);

impl<'de, C: Config> serde::de::Visitor<'de> for Reader<C> {
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a part's settings")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<C, A::Error> {
        let mut config = C::default();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            config.set(&name, &value).map_err(serde::de::Error::custom)?;
        }
        Ok(config)
    }
}

#[doc(hidden)]
pub use ranlab_campaign::{schema::Kind as KindOf, value::Value as ValueOf};

/// Declares a part's config. Each field has its comment (for flags, keys and rustdoc alike), a type that is a
/// [`Setting`], a default, and what else [`Field`]'s methods say of it.
#[macro_export]
macro_rules! config {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty = $default:expr $(, $method:ident ( $($argument:tt)* ))* ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        // A test's config is nobody else's; comments are help texts, too.
        #[allow(unreachable_pub, rustdoc::broken_intra_doc_links)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $crate::Described for $name {
            fn described(&self) -> Vec<$crate::Field> {
                <Self as $crate::Config>::fields()
            }
            fn get(&self, name: &str) -> Option<$crate::field::ValueOf> {
                match name {
                    $( stringify!($field) => $crate::Setting::to_value(&self.$field), )*
                    _ => None,
                }
            }
        }

        impl $crate::Config for $name {
            fn fields() -> Vec<$crate::Field> {
                let default = Self::default();
                vec![$(
                    $crate::Field::of::<$type>(stringify!($field), concat!($($doc),+).trim(), &default.$field)
                        $( .$method($($argument)*) )*,
                )*]
            }
            fn set(&mut self, name: &str, value: &$crate::field::ValueOf) -> Result<(), $crate::FieldError> {
                let fields = <Self as $crate::Config>::fields();
                match name {
                    $( stringify!($field) => self.$field = $crate::field::checked(name, &fields, value)?, )*
                    _ => return Err($crate::FieldError::unknown(name, &fields)),
                }
                Ok(())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::field::write(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::field::Reader::<Self>(std::marker::PhantomData))
            }
        }
    };
}

#[cfg(test)]
mod tests;
