//! Notations of values whose types belong to other crates. Rust allows `impl FieldType for T` only where the trait or the
//! type is declared; a crate of a domain declares an adapter instead.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use ranlab_campaign::schema::Kind;
use ranlab_campaign::value::Value;

use super::{FieldType, quoted};

/// Notation of values of type `T`. The functions are those of [`FieldType`].
pub trait As<T> {
    /// Whether an error of [`from_value`](Self::from_value) is a complete sentence.
    const EXPLAINS: bool = false;
    /// Returns the allowed values, unless the field restricts them further.
    fn kind() -> Kind;
    /// Validates a value and converts it to the form that [`from_value`](Self::from_value) reads.
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        kind.accept(value)
    }
    /// Converts an accepted value.
    fn from_value(value: &Value) -> Result<T, String>;
    /// Returns the value in its written form, or `None` if it is absent.
    fn to_value(value: &T) -> Option<Value>;
}

/// Notation that a type defines by its own [`FieldType`].
#[derive(Debug)]
pub enum Same {}

impl<T: FieldType> As<T> for Same {
    const EXPLAINS: bool = T::EXPLAINS;
    fn kind() -> Kind {
        T::kind()
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        T::accept(kind, value)
    }
    fn from_value(value: &Value) -> Result<T, String> {
        T::from_value(value)
    }
    fn to_value(value: &T) -> Option<Value> {
        value.to_value()
    }
}

/// As text: [`FromStr`], whose error is a sentence, and [`Display`].
#[derive(Debug)]
pub enum Text {}

impl<T: FromStr<Err: Display> + Display> As<T> for Text {
    const EXPLAINS: bool = true;
    fn kind() -> Kind {
        Kind::Text
    }
    fn from_value(value: &Value) -> Result<T, String> {
        let text = value.to_string();
        text.parse().map_err(|error| quoted(&text, error))
    }
    fn to_value(value: &T) -> Option<Value> {
        Some(Value::Text(value.to_string()))
    }
}

/// A value that may be absent; if present, in the notation `A`.
#[derive(Debug)]
pub struct Maybe<A>(PhantomData<A>);

impl<T, A: As<T>> As<Option<T>> for Maybe<A> {
    const EXPLAINS: bool = A::EXPLAINS;
    fn kind() -> Kind {
        A::kind()
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        A::accept(kind, value)
    }
    fn from_value(value: &Value) -> Result<Option<T>, String> {
        A::from_value(value).map(Some)
    }
    fn to_value(value: &Option<T>) -> Option<Value> {
        value.as_ref().and_then(A::to_value)
    }
}

/// A list whose entries have the notation `A`.
#[derive(Debug)]
pub struct Each<A>(PhantomData<A>);

impl<T, A: As<T>> As<Vec<T>> for Each<A> {
    const EXPLAINS: bool = A::EXPLAINS;
    fn kind() -> Kind {
        Kind::List(Box::new(A::kind()))
    }
    fn accept(kind: &Kind, value: &Value) -> Result<Value, String> {
        let of = if let Kind::List(of) = kind { of } else { kind };
        let accepted = match value {
            Value::List(list) => list.iter().map(|value| A::accept(of, value)).collect(),
            // A single value is accepted as a list with one entry, because a rig may vary it.
            one => A::accept(of, one).map(|one| vec![one]),
        };
        accepted.map(Value::List).map_err(|each| format!("a list, each entry {each}"))
    }
    fn from_value(value: &Value) -> Result<Vec<T>, String> {
        match value {
            Value::List(list) => list.iter().map(A::from_value).collect(),
            _ => Err(Kind::List(Box::new(A::kind())).allowed()),
        }
    }
    fn to_value(value: &Vec<T>) -> Option<Value> {
        Some(Value::List(value.iter().filter_map(A::to_value).collect()))
    }
}

/// Declares the notation of an enum by a name for each value: `impl As<Type> for Adapter`.
#[macro_export]
macro_rules! names {
    ($adapter:ident: $($type:ty { $($name:literal => $member:path),* $(,)? })*) => {$(
        impl $crate::field::As<$type> for $adapter {
            fn kind() -> $crate::field::KindOf {
                $crate::field::KindOf::choice(&[$($name),*])
            }
            fn from_value(value: &$crate::field::ValueOf) -> Result<$type, String> {
                match value.to_string().as_str() {
                    $($name => Ok($member),)*
                    _ => Err(<Self as $crate::field::As<$type>>::kind().allowed()),
                }
            }
            fn to_value(value: &$type) -> Option<$crate::field::ValueOf> {
                Some(match value { $($member => $name),* }.into())
            }
        }
    )*};
}
