//! Support of decoded elements: which elements of a message are acted on, refused or ignored.
//!
//! A table declares the support of each field of a message, and [`elements!`](crate::elements) creates the list for the
//! documentation and the check that refuses messages. A field without a line does not compile.
use std::collections::BTreeMap;

/// Support of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The receiver applies it.
    Acted,
    /// The receiver refuses a message that contains the element.
    Refused,
    /// The receiver accepts the element without effect. It is only informative, or concerns a feature that the receiver
    /// does not have.
    Ignored,
}

impl Support {
    /// Returns the name in documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::Refused => "refused",
            Self::Ignored => "ignored",
        }
    }
}

/// An element of a message or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Message or group.
    pub group: &'static str,
    /// Field or variant.
    pub name: &'static str,
    /// Support by the receiver.
    pub support: Support,
}

impl Element {
    /// Returns the row of a Markdown table: group, element, support.
    pub fn row(&self) -> String {
        format!("| {} | {} | {} |", self.group, self.name, self.support.name())
    }
}

/// Names the element as `element of group`.
impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.name, self.group)
    }
}

/// A field that can be absent or empty.
pub trait Given {
    /// Returns whether the field has a value.
    fn is_given(&self) -> bool;
}

impl Given for bool {
    fn is_given(&self) -> bool {
        *self
    }
}

impl<T> Given for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T> Given for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

impl<K, V> Given for BTreeMap<K, V> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

/// Declares the support of the elements of structs and enums. The constant `ELEMENTS` lists all elements. The trait
/// `Checked` of the module finds an element that is refused.
///
/// The support of an element is `acted`, `refused` or `ignored`. `within` is like `acted`, for an element whose type has its
/// own table.
///
/// ```
/// struct Order { cell: u16, power: Option<i8>, note: Option<String> }
/// ranlab_machine::elements! {
///     struct Order = "order" { cell acted; power refused; note ignored; }
/// }
/// let order = Order { cell: 1, power: Some(3), note: None };
/// assert_eq!(order.refused().unwrap().to_string(), "power of order");
/// assert_eq!(ELEMENTS.len(), 3);
/// ```
#[macro_export]
macro_rules! elements {
    ($($form:ident $ty:ty = $group:literal { $($name:ident $support:ident;)* })*) => {
        /// All elements, by group.
        #[allow(unreachable_pub)]
        pub const ELEMENTS: &[$crate::support::Element] = &[$($(
            $crate::elements!(@element $group, $name, $support),
        )*)*];

        /// A value whose elements have declared support.
        pub(crate) trait Checked {
            /// Returns the first given element that is refused, at any depth.
            fn refused(&self) -> Option<&'static $crate::support::Element>;
        }

        impl<T: Checked> Checked for Option<T> {
            fn refused(&self) -> Option<&'static $crate::support::Element> {
                self.as_ref().and_then(Checked::refused)
            }
        }

        impl<T: Checked> Checked for Vec<T> {
            fn refused(&self) -> Option<&'static $crate::support::Element> {
                self.iter().find_map(Checked::refused)
            }
        }

        $( $crate::elements!(@$form $ty, $group, $($name $support),*); )*
    };
    (@struct $ty:ty, $group:literal, $($name:ident $support:ident),*) => {
        impl Checked for $ty {
            fn refused(&self) -> Option<&'static $crate::support::Element> {
                let Self { $($name),* } = self;
                $( $crate::elements!(@field $group, $name, $support); )*
                None
            }
        }
    };
    (@enum $ty:ty, $group:literal, $($name:ident $support:ident),*) => {
        impl Checked for $ty {
            fn refused(&self) -> Option<&'static $crate::support::Element> {
                $( $crate::elements!(@variant self, $group, $name, $support); )*
                // A variant without a line in the table does not compile.
                match self { $( Self::$name { .. } => None, )* }
            }
        }
    };
    (@field $group:literal, $name:ident, refused) => {
        if $crate::support::Given::is_given($name) {
            return Some(&$crate::elements!(@element $group, $name, refused));
        }
    };
    (@field $group:literal, $name:ident, within) => {
        if let Some(element) = Checked::refused($name) {
            return Some(element);
        }
    };
    (@field $group:literal, $name:ident, $support:ident) => {
        let _ = $name;
    };
    (@variant $self:ident, $group:literal, $name:ident, refused) => {
        if let Self::$name { .. } = $self {
            return Some(&$crate::elements!(@element $group, $name, refused));
        }
    };
    (@variant $self:ident, $group:literal, $name:ident, within) => {
        if let Self::$name(value) = $self {
            return Checked::refused(value);
        }
    };
    (@variant $self:ident, $group:literal, $name:ident, $support:ident) => {};
    (@element $group:literal, $name:ident, $support:ident) => {
        $crate::support::Element {
            group: $group,
            name: stringify!($name),
            support: $crate::elements!(@support $support),
        }
    };
    (@support acted) => { $crate::support::Support::Acted };
    (@support within) => { $crate::support::Support::Acted };
    (@support refused) => { $crate::support::Support::Refused };
    (@support ignored) => { $crate::support::Support::Ignored };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Group {
        parts: Vec<Part>,
        title: Option<u8>,
    }
    enum Part {
        Cell(Cell),
        Beam,
        Slot { _number: u8 },
    }
    struct Cell {
        id: u16,
        masks: Vec<u8>,
    }
    elements! {
        struct Group = "group" { parts within; title ignored; }
        enum Part = "part" { Cell within; Beam refused; Slot acted; }
        struct Cell = "cell" { id acted; masks refused; }
    }

    #[test]
    fn refused_element_is_found_at_any_depth() {
        let group = |parts| Group { parts, title: Some(1) };
        let refused = |parts| group(parts).refused().map(ToString::to_string);
        assert_eq!(refused(vec![Part::Slot { _number: 1 }]), None);
        assert_eq!(refused(vec![Part::Cell(Cell { id: 1, masks: Vec::new() })]), None);
        let cell = Part::Cell(Cell { id: 1, masks: vec![1] });
        assert_eq!(refused(vec![Part::Slot { _number: 1 }, cell]).as_deref(), Some("masks of cell"));
        assert_eq!(refused(vec![Part::Beam]).as_deref(), Some("Beam of part"));
    }

    #[test]
    fn list_has_every_element() {
        let rows: Vec<String> = ELEMENTS.iter().map(Element::row).collect();
        assert_eq!(rows[..2], ["| group | parts | acted |", "| group | title | ignored |"]);
        assert_eq!(rows.len(), 7);
    }
}
