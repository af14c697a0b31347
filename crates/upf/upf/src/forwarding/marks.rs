//! Marks of the QoS flow in the header of packets into a tunnel, and the prepared headers for downlink packets.
use super::compile::Unsupported;
use crate::pfcp::CreateQer;
use ranlab_packet::gtpu::{DlPduSession, GpduTemplate, PduSession};
use std::sync::LazyLock;

/// Number of QoS flows.
const FLOWS: usize = 64;
/// Number of paging policy indicators.
const POLICIES: u8 = 8;

/// What a QER writes into the PDU session container of packets (TS 38.415 §5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks {
    /// QoS flow identifier, 0 to 63.
    pub(super) qfi: u8,
    /// Reflective QoS indication. Only downlink packets carry it.
    rqi: bool,
    /// Paging policy indicator, 0 to 7. Only downlink packets carry it.
    ppi: Option<u8>,
}

impl Marks {
    /// Returns the marks of a QER. `None`: it has none.
    ///
    /// # Errors
    /// The QER has another mark, but no QoS flow. A container always has a QoS flow.
    pub(super) fn from_qer(qer: &CreateQer) -> Result<Option<Self>, Unsupported> {
        let marks = Self {
            rqi: qer.rqi.is_some_and(|rqi| rqi.0 != 0),
            ppi: qer.paging_policy_indicator.map(|policy| policy.0 % POLICIES),
            ..Self::default()
        };
        match qer.qfi {
            Some(qfi) => Ok(Some(Self { qfi: qfi.0 % FLOWS as u8, ..marks })),
            None if marks == Self::default() => Ok(None),
            None => Err(Unsupported::NoFlow),
        }
    }

    /// Returns the marks that consist of the QoS flow only.
    pub(super) fn flow(qfi: u8) -> Self {
        Self { qfi, ..Self::default() }
    }

    /// Returns whether the marks consist of the QoS flow only.
    pub(super) fn is_flow_only(self) -> bool {
        self == Self::flow(self.qfi)
    }

    /// Returns the container of an uplink or downlink packet.
    pub(super) fn container(self, uplink: bool) -> PduSession {
        if uplink { PduSession::ul(self.qfi) } else { PduSession::Dl(self.downlink()) }
    }

    fn downlink(self) -> DlPduSession {
        DlPduSession { qfi: self.qfi, rqi: self.rqi, ppi: self.ppi, ..DlPduSession::default() }
    }

    /// Returns the position of the header.
    fn index(self) -> usize {
        let policy = self.ppi.map_or(0, |ppi| 1 + usize::from(ppi));
        usize::from(self.qfi) + FLOWS * (usize::from(self.rqi) + 2 * policy)
    }

    /// Returns all marks, in the order of [`Marks::index`].
    fn all() -> impl Iterator<Item = Self> {
        [None].into_iter().chain((0..POLICIES).map(Some)).flat_map(|ppi| {
            let flows = move |rqi| (0..FLOWS as u8).map(move |qfi| Self { qfi, rqi, ppi });
            [false, true].into_iter().flat_map(flows)
        })
    }
}

/// Headers of downlink packets: one without a container, followed by one for all marks.
static HEADS: LazyLock<Vec<GpduTemplate>> = LazyLock::new(|| {
    let containers = [None].into_iter().chain(Marks::all().map(|marks| Some(marks.container(false))));
    // A template cannot fail here, because containers without delays and times are short.
    containers.filter_map(|container| GpduTemplate::new(container).ok()).collect()
});

/// Returns the header for downlink packets with these marks. `None`: a header without a container.
pub(super) fn head(marks: Option<Marks>) -> Option<&'static GpduTemplate> {
    HEADS.get(marks.map_or(0, |marks| 1 + marks.index()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_header_is_at_the_index_of_its_marks() {
        assert!(Marks::all().enumerate().all(|(at, marks)| marks.index() == at));
        assert_eq!(HEADS.len(), 1 + Marks::all().count());
    }
}
