//! Cached statistics replies of an agent with unchanged UEs. They have the same bytes, except for the subframe.

/// Subframe numbers whose encoding has two bytes. The encoding of lower numbers has one byte.
const TWO_OCTETS: std::ops::Range<u32> = 1 << 7..1 << 14;
/// Two subframe numbers whose encodings differ in every byte.
const PROBES: [u32; 2] = [0x0081, 0x3ffe];

/// State of the cache of the last reply.
#[derive(Debug, Default)]
pub(super) enum Replies {
    /// The UEs or the request have changed since the last reply.
    #[default]
    Changed,
    /// One reply was encoded since the change. A second one shows that caching is worthwhile.
    Once,
    /// The reply is cached.
    Kept(Template),
    /// The reply cannot be cached.
    Odd,
}

impl Replies {
    /// Returns the reply for a subframe, if it is cached.
    pub(super) fn cached(&self, sfn_sf: u32) -> Option<Vec<u8>> {
        match self {
            Self::Kept(template) => template.with(sfn_sf),
            _ => None,
        }
    }

    /// Records that a reply was encoded by `frame`, which returns the reply for any subframe.
    pub(super) fn put_together(&mut self, frame: impl Fn(u32) -> Option<Vec<u8>>) {
        match self {
            Self::Changed => *self = Self::Once,
            Self::Once => *self = Template::new(frame).map_or(Self::Odd, Self::Kept),
            // The number of the subframe has one byte, so the cached reply could not be used.
            Self::Kept(_) | Self::Odd => {}
        }
    }
}

/// An encoded reply, and the positions of the subframe in it.
#[derive(Debug)]
pub(super) struct Template {
    octets: Vec<u8>,
    places: Vec<u32>,
}

fn varint(number: u32) -> [u8; 2] {
    // The number has 14 bits. The low seven bits come first.
    [number as u8 | 0x80, (number >> 7) as u8]
}

impl Template {
    /// Finds the positions by comparing the replies for two subframes. Returns `None` if they differ in other positions.
    fn new(frame: impl Fn(u32) -> Option<Vec<u8>>) -> Option<Self> {
        let [octets, other] = [frame(PROBES[0])?, frame(PROBES[1])?];
        if octets.len() != other.len() {
            return None;
        }
        let mut places = Vec::new();
        let mut at = 0;
        while at < octets.len() {
            if octets[at] == other[at] {
                at += 1;
                continue;
            }
            let both = [(&octets, PROBES[0]), (&other, PROBES[1])];
            let is_number =
                |(frame, number): &(&Vec<u8>, u32)| frame.get(at..at + 2) == Some(&varint(*number)[..]);
            if !both.iter().all(is_number) {
                return None;
            }
            places.push(u32::try_from(at).ok()?);
            at += 2;
        }
        Some(Self { octets, places })
    }

    fn with(&self, sfn_sf: u32) -> Option<Vec<u8>> {
        if !TWO_OCTETS.contains(&sfn_sf) {
            return None;
        }
        let mut octets = self.octets.clone();
        let [low, high] = varint(sfn_sf);
        for &place in &self.places {
            let place = place as usize;
            (octets[place], octets[place + 1]) = (low, high);
        }
        Some(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Radio;
    use crate::flexran::protocol::*;
    use crate::flexran::report;

    fn frame(sfn_sf: u32, ues: u16) -> Option<Vec<u8>> {
        let radio = Radio { queue_bytes: 1 << 20, ..Radio::default() };
        let flags = UeFlags::PUBLISHED;
        // Some values of the UEs resemble the encoding of a probe.
        let rnti = |ue: u16| ue + PROBES[0] as u16;
        let ue_report =
            (0..ues).map(|ue| report::ue_report(rnti(ue), &radio, flags, sfn_sf, false)).collect();
        let cell_report = report::cell_report(CellFlags::NOISE, sfn_sf).into_iter().collect();
        let header = Some(Header::new(Kind::StatsReply, PROBES[1]));
        let mut octets = Vec::new();
        encode_frame(&Envelope::undirected(StatsReply { header, ue_report, cell_report }), &mut octets)
            .ok()?;
        Some(octets)
    }

    #[test]
    fn cached_reply_equals_encoded_reply() {
        for ues in [0, 1, 100] {
            let template = Template::new(|sfn_sf| frame(sfn_sf, ues)).unwrap();
            assert_eq!(template.places.len(), 2 * usize::from(ues) + 1);
            for sfn_sf in (0..1_024_u32).flat_map(|frame| [frame << 4, frame << 4 | 9]) {
                let kept = template.with(sfn_sf);
                assert_eq!(kept.is_some(), sfn_sf >= 128, "{sfn_sf}");
                assert!(kept.is_none_or(|kept| Some(kept) == frame(sfn_sf, ues)), "{sfn_sf}");
            }
        }
    }

    #[test]
    fn reply_with_other_differences_is_not_cached() {
        assert!(Template::new(|sfn_sf| Some(vec![sfn_sf as u8])).is_none());
        assert!(Template::new(|sfn_sf| Some(vec![0; sfn_sf as usize])).is_none());
        assert!(Template::new(|_| None).is_none());
        let mut replies = Replies::default();
        for _ in 0..3 {
            replies.put_together(|_| None);
            assert_eq!(replies.cached(1_000), None);
        }
    }
}
