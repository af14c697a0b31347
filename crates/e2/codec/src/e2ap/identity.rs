//! Construction of node identities with checked ranges.
use super::node::{
    E2NodeEnGnb, E2NodeEnb, E2NodeGnb, E2NodeNgEnb, EnbId, GlobalE2NodeId, GlobalEnGnbId, GlobalEnbId,
    GlobalGnbId, GlobalNgEnbId, MAX_PART_ID, NgEnbId, Plmn,
};
use crate::per::ShortBits;

/// Kind of a base station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gnb,
    EnGnb,
    NgEnb,
    Enb,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Gnb => "gNB",
            Self::EnGnb => "en-gNB",
            Self::NgEnb => "ng-eNB",
            Self::Enb => "eNB",
        }
    }

    /// Returns the allowed lengths of the identity, in bits.
    fn lengths(self) -> &'static [u8] {
        match self {
            Self::Gnb | Self::EnGnb => &[22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32],
            Self::NgEnb => &[18, 20, 21],
            Self::Enb => &[18, 20, 21, 28],
        }
    }
}

/// Reason why an identity is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeIdentityError {
    /// The length is not allowed for this kind of node.
    #[error("the identity of a {kind} cannot have {bits} bits; allowed: {allowed:?}")]
    Length {
        /// Kind of the node.
        kind: &'static str,
        /// Length, in bits.
        bits: u8,
        /// Allowed lengths, in bits.
        allowed: &'static [u8],
    },
    /// The number does not fit in the length.
    #[error("the identity {id} does not fit in {bits} bits")]
    TooLarge {
        /// Number.
        id: u32,
        /// Length, in bits.
        bits: u8,
    },
    /// A node of this kind has no such unit.
    #[error("a {kind} has no {unit}")]
    NoSuchUnit {
        /// Kind of the node.
        kind: &'static str,
        /// Unit.
        unit: &'static str,
    },
    /// The node would be CU-UP and DU at the same time.
    #[error("a node cannot be both a CU-UP and a DU")]
    TwoUnits,
    /// The number of the unit does not fit in 36 bits.
    #[error("the number {number} of the {unit} exceeds {MAX_PART_ID}")]
    UnitTooLarge {
        /// Unit.
        unit: &'static str,
        /// Number.
        number: u64,
    },
}

/// Builder of a [`GlobalE2NodeId`].
///
/// ```
/// use ranlab_e2_codec::e2ap::NodeIdentity;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let du = NodeIdentity::gnb("505.01".parse()?, 7).bits(22).du(2).build()?;
/// assert_eq!(du.to_string(), "gnb 505.01 7/du 2");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeIdentity {
    kind: Kind,
    plmn: Plmn,
    id: u32,
    bits: u8,
    cu_up: Option<u64>,
    du: Option<u64>,
}

impl NodeIdentity {
    /// Starts the identity of a gNB, with 32 bits.
    pub fn gnb(plmn: Plmn, id: u32) -> Self {
        Self::of_kind(Kind::Gnb, plmn, id, 32)
    }

    /// Starts the identity of an en-gNB, with 32 bits.
    pub fn en_gnb(plmn: Plmn, id: u32) -> Self {
        Self::of_kind(Kind::EnGnb, plmn, id, 32)
    }

    /// Starts the identity of an ng-eNB, with 20 bits (macro).
    pub fn ng_enb(plmn: Plmn, id: u32) -> Self {
        Self::of_kind(Kind::NgEnb, plmn, id, 20)
    }

    /// Starts the identity of an eNB, with 20 bits (macro).
    pub fn enb(plmn: Plmn, id: u32) -> Self {
        Self::of_kind(Kind::Enb, plmn, id, 20)
    }

    fn of_kind(kind: Kind, plmn: Plmn, id: u32, bits: u8) -> Self {
        Self { kind, plmn, id, bits, cu_up: None, du: None }
    }

    /// Sets the length, in bits: 22 to 32 for a gNB; 18 (short macro), 20 (macro), 21 (long macro), and for an eNB
    /// 28 (home).
    pub fn bits(self, bits: u8) -> Self {
        Self { bits, ..self }
    }

    /// Makes the node the CU-UP with this number.
    pub fn cu_up(self, number: u64) -> Self {
        Self { cu_up: Some(number), ..self }
    }

    /// Makes the node the DU with this number.
    pub fn du(self, number: u64) -> Self {
        Self { du: Some(number), ..self }
    }

    /// Returns the identity.
    ///
    /// # Errors
    /// Returns an error with the value that is out of range.
    pub fn build(self) -> Result<GlobalE2NodeId, NodeIdentityError> {
        self.check()?;
        let Self { kind, plmn, id, bits, cu_up: cu_up_id, du: du_id } = self;
        let number = ShortBits::new(id.into(), bits);
        Ok(match kind {
            Kind::Gnb => {
                let gnb = GlobalGnbId { plmn, gnb_id: number };
                GlobalE2NodeId::Gnb(E2NodeGnb { gnb, en_gnb: None, cu_up_id, du_id })
            }
            Kind::EnGnb => {
                let en_gnb = GlobalEnGnbId { plmn, gnb_id: number };
                GlobalE2NodeId::EnGnb(E2NodeEnGnb { en_gnb, cu_up_id, du_id })
            }
            Kind::NgEnb => {
                let enb_id = match bits {
                    18 => NgEnbId::ShortMacro(number),
                    21 => NgEnbId::LongMacro(number),
                    _ => NgEnbId::Macro(number),
                };
                let ng_enb = GlobalNgEnbId { plmn, enb_id };
                GlobalE2NodeId::NgEnb(E2NodeNgEnb { ng_enb, enb: None, du_id })
            }
            Kind::Enb => {
                let enb_id = match bits {
                    18 => EnbId::ShortMacro(number),
                    21 => EnbId::LongMacro(number),
                    28 => EnbId::Home(number),
                    _ => EnbId::Macro(number),
                };
                GlobalE2NodeId::Enb(E2NodeEnb { enb: GlobalEnbId { plmn, enb_id } })
            }
        })
    }

    fn check(&self) -> Result<(), NodeIdentityError> {
        let kind = self.kind.name();
        let allowed = self.kind.lengths();
        if !allowed.contains(&self.bits) {
            return Err(NodeIdentityError::Length { kind, bits: self.bits, allowed });
        }
        if u64::from(self.id) >> self.bits != 0 {
            return Err(NodeIdentityError::TooLarge { id: self.id, bits: self.bits });
        }
        if self.cu_up.is_some() && self.du.is_some() {
            return Err(NodeIdentityError::TwoUnits);
        }
        let has_cu_up = matches!(self.kind, Kind::Gnb | Kind::EnGnb);
        for (unit, number, exists) in
            [("CU-UP", self.cu_up, has_cu_up), ("DU", self.du, self.kind != Kind::Enb)]
        {
            let Some(number) = number else { continue };
            if !exists {
                return Err(NodeIdentityError::NoSuchUnit { kind, unit });
            }
            if number > MAX_PART_ID {
                return Err(NodeIdentityError::UnitTooLarge { unit, number });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builder_creates_identities_of_all_kinds_of_nodes() {
        let plmn = Plmn::new(505, 1, 2);
        assert_eq!(NodeIdentity::gnb(plmn, 7).build(), Ok(GlobalE2NodeId::gnb(plmn, 7, 32)));
        let names = [
            (NodeIdentity::gnb(plmn, 7).cu_up(3), "gnb 505.01 7/cu-up 3"),
            (NodeIdentity::en_gnb(plmn, 7).bits(22), "en-gnb 505.01 7"),
            (NodeIdentity::ng_enb(plmn, 7).du(1), "ng-enb 505.01 7/du 1"),
            (NodeIdentity::enb(plmn, 7).bits(28), "enb 505.01 7"),
        ];
        for (identity, name) in names {
            assert_eq!(identity.build().unwrap().to_string(), name);
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let plmn = Plmn::new(505, 1, 2);
        use NodeIdentityError::*;
        let gnb = NodeIdentity::gnb(plmn, u32::MAX);
        assert!(gnb.build().is_ok());
        assert!(matches!(gnb.bits(31).build(), Err(TooLarge { bits: 31, .. })));
        assert!(matches!(gnb.bits(20).build(), Err(Length { bits: 20, .. })));
        assert!(matches!(gnb.cu_up(1).du(1).build(), Err(TwoUnits)));
        assert!(matches!(gnb.du(MAX_PART_ID + 1).build(), Err(UnitTooLarge { unit: "DU", .. })));
        let enb = NodeIdentity::enb(plmn, 1);
        assert!(matches!(enb.du(1).build(), Err(NoSuchUnit { unit: "DU", .. })));
        assert!(matches!(enb.bits(22).build(), Err(Length { .. })));
        assert!(matches!(NodeIdentity::ng_enb(plmn, 1).cu_up(1).build(), Err(NoSuchUnit { .. })));
    }
}
