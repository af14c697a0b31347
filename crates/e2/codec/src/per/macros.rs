//! Macros that generate encoder, decoder, random values and notation from a declaration. A declaration has one or
//! several types and one line per component. A description is at the end of the line, or above it as `///`.

/// Defines an extensible SEQUENCE: components in wire order, each `name: Type [Codec] "asn1Name", "Description."`;
/// after a `;` the extension additions, all OPTIONAL.
#[macro_export]
macro_rules! sequence {
    ($( $(#[$m:meta])* $name:ident $asn:literal {
        $( $(#[$fm:meta])* $f:ident : $t:ty [$c:ty] $fname:literal $(, $fdoc:literal)? ),* $(,)?
        $(; $( $(#[$em:meta])* $e:ident : $et:ty [$ec:ty] $ename:literal $(, $edoc:literal)? ),+ $(,)? )?
    } )+) => { $(
        $(#[$m])* #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[$fm])* $(#[doc = $fdoc])? pub $f: $t, )*
            $($( $(#[$em])* $(#[doc = $edoc])? pub $e: Option<$et>, )+)?
        }

        impl $crate::per::Per for $name {
            #[allow(unused_imports)]
            fn encode(&self, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                use $crate::per::{Codec, Component};
                let present = [$($( self.$e.is_some() && !w.merges($asn, $ename) ),+)?];
                w.bit(present.contains(&true));
                let version = w.version();
                $( if <$c as Component<$t>>::has_bit(&version) {
                    w.bit(<$c as Component<$t>>::is_present(&self.$f));
                } )*
                $($( if w.merges($asn, $ename) {
                    w.bit(self.$e.is_some());
                } )+)?
                $( <$c as Component<$t>>::encode(&self.$f, $fname, w)?; )*
                $($( if w.merges($asn, $ename) && let Some(v) = &self.$e {
                    <$ec as Codec<$et>>::encode(v, w)?;
                } )+)?
                if present.contains(&true) {
                    w.additions(&present, |i, w| {
                        let _ = (i, &w);
                        $( let mut at = 0..; $(
                            if at.next() == Some(i) && let Some(v) = &self.$e {
                                return <$ec as Codec<$et>>::encode(v, w);
                            }
                        )+ )?
                        Ok(())
                    })?;
                }
                Ok(())
            }

            #[allow(unused_imports, unused_mut, unused_variables)]
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<Self, $crate::per::DecodeError> {
                use $crate::per::{Codec, Component};
                let extended = r.begin().map_err(|e| e.within($asn))?;
                let version = r.version();
                $( let $f = !<$c as Component<$t>>::has_bit(&version) || r.presence($fname)?; )*
                // In the modified text, some additions are OPTIONAL components of the root.
                $($( let $e = r.merges($asn, $ename) && r.presence($ename)?; )+)?
                $(
                    r.component($fname);
                    let $f = <$c as Component<$t>>::decode(r, $f).map_err(|e| e.within($fname))?;
                )*
                $($(
                    let mut $e: Option<$et> = match $e {
                        true => Some(<$ec as Codec<$et>>::decode(r).map_err(|e| e.within($ename))?),
                        false => None,
                    };
                )+)?
                if extended {
                    const NAMES: &[&str] = &[$($( $ename ),+)?];
                    r.named_additions(NAMES, |i, r| {
                        $( let mut at = 0..; $(
                            if at.next() == Some(i) {
                                $e = Some(<$ec as Codec<$et>>::decode(r).map_err(|e| e.within($ename))?);
                            }
                        )+ )?
                        Ok(())
                    })?;
                }
                r.finish().map_err(|e| e.within($asn))?;
                Ok(Self { $( $f, )* $($( $e, )+)? })
            }

            #[allow(unused_imports)]
            fn show(&self, n: &mut $crate::per::Notation) {
                use $crate::per::{Codec, Component};
                n.braces(|n| {
                    let _ = &n;
                    $( <$c as Component<$t>>::show(&self.$f, $fname, n); )*
                    $($( if let Some(v) = &self.$e { n.field($ename, |n| <$ec as Codec<$et>>::show(v, n)); } )+)?
                });
            }
        }
    )+ };
}

/// Defines an extensible CHOICE: root alternatives, and after a `;` the extension additions (each an open type).
#[macro_export]
macro_rules! choice {
    ($( $(#[$m:meta])* $name:ident $asn:literal {
        $( $(#[$vm:meta])* $v:ident($t:ty) [$c:ty] $vname:literal $(, $vdoc:literal)? ),+ $(,)?
        $(; $( $(#[$xm:meta])* $x:ident($xt:ty) [$xc:ty] $xname:literal $(, $xdoc:literal)? ),+ $(,)? )?
    } )+) => { $(
        $(#[$m])* #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $( $(#[$vm])* $(#[doc = $vdoc])? $v($t), )+
            $($( $(#[$xm])* $(#[doc = $xdoc])? $x($xt), )+)?
        }

        impl $name {
            const ROOT: u64 = [$( stringify!($v) ),+].len() as u64;
            const ADDITIONS: u64 = {
                const NAMES: &[&str] = &[$($( $xname ),+)?];
                NAMES.len() as u64
            };
        }

        impl $crate::per::Per for $name {
            #[allow(irrefutable_let_patterns, unused_assignments, unused_mut, unused_variables)]
            fn encode(&self, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                use $crate::per::Codec;
                let merged = w.merges_alternatives($asn);
                let last = if merged { Self::ROOT + Self::ADDITIONS - 1 } else { Self::ROOT - 1 };
                let mut i = 0;
                $( if let Self::$v(v) = self {
                    w.bit(false);
                    w.constrained("alternative", i, 0, last)?;
                    return <$c as Codec<$t>>::encode(v, w);
                } i += 1; )+
                $( i = 0; $( if let Self::$x(v) = self {
                    if merged {
                        w.bit(false);
                        w.constrained("alternative", Self::ROOT + i, 0, last)?;
                        return <$xc as Codec<$xt>>::encode(v, w);
                    }
                    w.bit(true);
                    w.small(i);
                    return w.open(|w| <$xc as Codec<$xt>>::encode(v, w));
                } i += 1; )+ )?
                Ok(())
            }

            #[allow(unused_assignments, unused_mut, unused_variables)]
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<Self, $crate::per::DecodeError> {
                use $crate::per::Codec;
                const ADDITIONS: &[&str] = &[$($( $xname ),+)?];
                r.alternatives($asn, |r| {
                    let (addition, index) =
                        r.choose(&[$( $vname ),+], ADDITIONS).map_err(|e| e.within($asn))?;
                    let mut i = 0;
                    if !addition {
                        $( if index == i {
                            return <$c as Codec<$t>>::decode(r).map(Self::$v).map_err(|e| e.within($vname));
                        } i += 1; )+
                    }
                    $( i = 0; $( if index == i {
                        return r.addition(|r| <$xc as Codec<$xt>>::decode(r)).map(Self::$x).map_err(|e| e.within($xname));
                    } i += 1; )+ )?
                    Err(r.fault($crate::per::DecodeFault::UnknownAlternative(index)).within($asn))
                })
            }

            fn show(&self, n: &mut $crate::per::Notation) {
                use $crate::per::Codec;
                match self {
                    $( Self::$v(v) => n.alternative($vname, |n| <$c as Codec<$t>>::show(v, n)), )+
                    $($( Self::$x(v) => n.alternative($xname, |n| <$xc as Codec<$xt>>::show(v, n)), )+)?
                }
            }
        }
    )+ };
}

/// Defines an extensible ENUMERATED with the same values in all versions; after a `;` the extension additions.
#[macro_export]
macro_rules! enumerated {
    ($( $(#[$m:meta])* $name:ident $asn:literal {
        $( $(#[$vm:meta])* $v:ident $vname:literal $(, $vdoc:literal)? ),+ $(,)?
        $(; $( $(#[$xm:meta])* $x:ident $xname:literal $(, $xdoc:literal)? ),+ $(,)? )?
    } )+) => { $(
        $(#[$m])* #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[$vm])* $(#[doc = $vdoc])? $v, )+
            $($( $(#[$xm])* $(#[doc = $xdoc])? $x, )+)?
        }

        impl $name {
            const ROOT: &'static [Self] = &[$( Self::$v ),+];
            const ADDITIONS: &'static [Self] = &[$($( Self::$x ),+)?];

            /// Returns the ASN.1 identifier.
            pub fn name(self) -> &'static str {
                match self { $( Self::$v => $vname, )+ $($( Self::$x => $xname, )+)? }
            }
        }

        impl $crate::per::Per for $name {
            fn encode(&self, w: &mut $crate::per::Writer) -> Result<(), $crate::per::EncodeError> {
                if let Some(i) = Self::ROOT.iter().position(|v| v == self) {
                    w.bit(false);
                    return w.constrained($asn, i as u64, 0, Self::ROOT.len() as u64 - 1);
                }
                w.bit(true);
                w.small(Self::ADDITIONS.iter().position(|v| v == self).unwrap_or(0) as u64);
                Ok(())
            }
            fn decode<S: $crate::per::Source>(r: &mut S) -> Result<Self, $crate::per::DecodeError> {
                const ADDITIONS: &[&str] = &[$($( $xname ),+)?];
                let (addition, i) = r.enumerated(&[$( $vname ),+], ADDITIONS).map_err(|e| e.within($asn))?;
                let values = if addition { Self::ADDITIONS } else { Self::ROOT };
                let unknown = || r.fault($crate::per::DecodeFault::UnknownAlternative(i)).within($asn);
                values.get(i as usize).copied().ok_or_else(unknown)
            }
            fn show(&self, n: &mut $crate::per::Notation) {
                n.text(self.name());
            }
        }
    )+ };
}
