//! Session endpoint identifiers (SEIDs). The lower half is a place in a table, the upper half the number of uses of the place.

/// Allocator of SEIDs. The last released place is reused first, so tables that are indexed by place stay small and in
/// the CPU cache. A SEID repeats after 2^32 uses of its place.
#[derive(Debug, Default)]
pub(super) struct Seids {
    uses: Vec<u32>,
    free: Vec<u32>,
    last: u64,
}

/// Returns the place of a SEID. Places start at 0.
pub(super) fn place(seid: u64) -> Option<usize> {
    (seid as u32 as usize).checked_sub(1)
}

impl Seids {
    /// Returns the SEID that [`take`](Self::take) would return.
    pub(super) fn next(&self) -> u64 {
        let place = self.free.last().copied().unwrap_or(self.uses.len() as u32);
        let uses = self.uses.get(place as usize).copied().unwrap_or(0);
        u64::from(uses) << 32 | (u64::from(place) + 1)
    }

    /// Allocates a SEID. The number of sessions is far below 2^32, so a place fits.
    pub(super) fn take(&mut self) -> u64 {
        self.last = self.next();
        if self.free.pop().is_none() {
            self.uses.push(0);
        }
        self.last
    }

    /// Returns the SEID that was allocated last.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Releases a SEID.
    pub(super) fn give(&mut self, seid: u64) {
        if let Some(uses) = place(seid).and_then(|place| self.uses.get_mut(place)) {
            *uses = uses.wrapping_add(1);
            self.free.push(seid as u32 - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_deleted_session_is_reused_with_different_seid() {
        let mut seids = Seids::default();
        assert_eq!([seids.take(), seids.take(), seids.take()], [1, 2, 3]);
        seids.give(2);
        assert_eq!((seids.next(), seids.take(), seids.last()), (1 << 32 | 2, 1 << 32 | 2, 1 << 32 | 2));
        assert_eq!((seids.take(), place(1 << 32 | 2), place(0)), (4, Some(1), None));
    }
}
