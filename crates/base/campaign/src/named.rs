//! Macro for enums whose members have names in files and results.

/// Declares a closed set of named members, with their names in files and results.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $set:ident { $($(#[$doc:meta])* $member:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $set {
            $($(#[$doc])* #[serde(rename = $name)] $member,)+
        }

        impl $set {
            /// All members, in their order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$member),+];

            /// Returns the name used in files and results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$member => $name),+ }
            }

            /// Returns the value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|member| member.name() == name)
            }
        }
    };
}
pub(crate) use named;
