//! The interfaces of a gNB as reported by NI: messages on NG, Xn and F1 when UEs attach, detach and are handed over.
//!
//! A radio has neither a core network nor real neighbours. The reported messages are those that a base station would
//! send and receive. They contain those mandatory elements that consist of identities, cells and causes
//! ([`ranlab_e2_codec::ap::messages`]). Messages that need keys, RRC messages or sessions are not reported: context
//! setup on NG, handover preparation, and path switch. UEs are identified by C-RNTI, as in KPM and RC.
use super::{Radio, SharedRadio, SharedSite};
use ranlab_e2::Time;
use ranlab_e2::functions::ni::{InterfaceMessage, NiStation};
use ranlab_e2_codec::ap::messages::{self, F1Ids, NgIds};
use ranlab_e2_codec::ap::{self, Interface};
use ranlab_e2_codec::e2ap::{GlobalNgRanNodeId, Plmn};
use ranlab_e2_codec::e2sm::common::NrCgi;
use ranlab_e2_codec::e2sm::ni::{Direction, GnbDuId, NodeId};
use ranlab_machine::lock;
use ranlab_radio::user_plane::{EVENTS_MAX, RrcKind};

/// Tracking area of every cell.
const TRACKING_AREA: u32 = 1;

/// Identities of a cell on its base station's interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InterfaceIdentity {
    /// Identity of the gNB.
    pub(crate) station: GlobalNgRanNodeId,
    /// Identity of the DU, if the gNB is split.
    pub(crate) du: Option<u64>,
    /// Identity of the cell.
    pub(crate) cell: NrCgi,
}

/// The other cell of a handover: its identities, and the UE's C-RNTI there.
pub(super) type PeerCell = (Option<InterfaceIdentity>, u16);

/// An RRC event that NI reports as messages on the interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RrcProcedure {
    at_us: u64,
    kind: RrcKind,
    rnti: u16,
    /// Number of the UE.
    ue: u32,
    /// Network of the UE.
    home: Plmn,
    other: Option<PeerCell>,
}

/// Events that NI has not fetched yet. At the cell's limit of events, the oldest are dropped.
#[derive(Debug, Default)]
pub(super) struct InterfaceEvents {
    pub(super) called: Option<InterfaceIdentity>,
    calls: Vec<RrcProcedure>,
}

impl InterfaceEvents {
    pub(super) fn record(&mut self, at_us: u64, kind: RrcKind, (rnti, ue): (u16, u32), home: Plmn) {
        if self.called.is_some() {
            self.calls.push(RrcProcedure { at_us, kind, rnti, ue, home, other: None });
            let beyond = self.calls.len().saturating_sub(EVENTS_MAX);
            self.calls.drain(..beyond);
        }
    }

    /// Records the other cell of a UE's last handover.
    pub(super) fn between(&mut self, rnti: u16, other: PeerCell) {
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.rnti == rnti) {
            call.other = Some(other);
        }
    }
}

impl Radio {
    /// Sets the identities of the cell. Events are recorded only after this call.
    pub(crate) fn set_identity(&mut self, called: InterfaceIdentity) {
        self.calls.called = Some(called);
    }
}

/// A gNB or CU-CP whose interfaces NI reports.
pub(crate) struct NiSource {
    pub(crate) site: SharedSite,
    pub(crate) station: GlobalNgRanNodeId,
    /// Whether the gNB is split and therefore has F1.
    pub(crate) split: bool,
    pub(crate) epoch_us: i64,
}

/// Context in which the messages of one event are generated.
struct InterfaceReport<'a> {
    watched: &'a NiSource,
    call: RrcProcedure,
    called: InterfaceIdentity,
    out: Vec<InterfaceMessage>,
}

/// Calls a function with the locked radio. Works even after another thread panicked while holding the lock.
fn with<T>(radio: &SharedRadio, what: impl FnOnce(&mut Radio) -> T) -> T {
    what(&mut lock(radio))
}

type Made = Result<ap::Message, ranlab_e2_codec::per::EncodeError>;

impl InterfaceReport<'_> {
    fn push(&mut self, direction: Direction, far: Option<NodeId>, leaves: bool, made: Made) {
        // The identities are within their ranges, so encoding succeeds.
        let Some((interface, octets)) = made.ok().and_then(|it| Some((it.interface, it.to_octets().ok()?)))
        else {
            return;
        };
        let at_us = i64::try_from(self.call.at_us).unwrap_or(i64::MAX);
        let tstamp_us = self.watched.epoch_us.saturating_add(at_us);
        let ue = Some(u32::from(self.call.rnti));
        self.out.push(InterfaceMessage { interface, far, direction, tstamp_us, ue, leaves, octets });
    }

    fn du(&self) -> Option<NodeId> {
        let part = self.called.du.filter(|_| self.watched.split)?;
        Some(NodeId::GnbDu(GnbDuId { station: self.called.station, part }))
    }

    fn set_up(&mut self) {
        let rnti = self.call.rnti;
        let cell = self.called.cell;
        let Some(du) = self.du() else { return };
        let ids = F1Ids { cu: rnti.into(), du: rnti.into() };
        self.push(Direction::Outgoing, Some(du), false, messages::f1_setup_request(ids.cu, &cell));
        self.push(Direction::Incoming, Some(du), false, messages::f1_setup_response(ids, rnti));
    }

    fn take_down(&mut self) {
        let ids = F1Ids { cu: self.call.rnti.into(), du: self.call.rnti.into() };
        let Some(du) = self.du() else { return };
        self.push(Direction::Outgoing, Some(du), true, messages::f1_release_command(ids));
        self.push(Direction::Incoming, Some(du), true, messages::f1_release_complete(ids));
    }

    /// Returns the other gNB of a handover and the UE's C-RNTI there, or `None` if the UE stayed at this gNB.
    fn neighbour(&self) -> Option<(NodeId, u16)> {
        let (called, rnti) = self.call.other?;
        let station = called?.station;
        (station != self.called.station).then_some((NodeId::NgRan(station), rnti))
    }

    fn report(&mut self) {
        let rnti = self.call.rnti;
        let ran = u32::from(self.call.rnti);
        let ids = NgIds { amf: ran.into(), ran };
        match self.call.kind {
            RrcKind::Attach => {
                let home = self.call.home;
                let cell = self.called.cell;
                let asks = messages::initial_ue_message(ran, home, self.call.ue, &cell, TRACKING_AREA);
                self.push(Direction::Outgoing, None, false, asks);
                self.set_up();
            }
            RrcKind::Release => {
                self.push(Direction::Outgoing, None, true, messages::ng_release_request(ids));
                self.push(Direction::Incoming, None, true, messages::ng_release_command(ids));
                self.take_down();
                self.push(Direction::Outgoing, None, true, messages::ng_release_complete(ids));
            }
            RrcKind::HandoverIn => {
                self.set_up();
                if let Some((source, there)) = self.neighbour() {
                    let release = messages::xn_release(there.into(), rnti.into());
                    self.push(Direction::Outgoing, Some(source), false, release);
                }
            }
            RrcKind::HandoverOut => {
                if let Some((target, there)) = self.neighbour() {
                    let release = messages::xn_release(rnti.into(), there.into());
                    self.push(Direction::Incoming, Some(target), true, release);
                }
                self.take_down();
            }
        }
    }
}

impl NiStation for NiSource {
    fn interfaces(&self) -> Vec<Interface> {
        let f1 = self.split.then_some(Interface::F1);
        [Interface::Ng, Interface::Xn].into_iter().chain(f1).collect()
    }

    fn node(&self) -> NodeId {
        NodeId::NgRan(self.station)
    }

    /// Any other gNB may be a handover target. The core network has no name and is never a target.
    fn may_reach(&self, interface: Interface, node: &NodeId) -> bool {
        match (interface, node) {
            (Interface::Xn, NodeId::NgRan(GlobalNgRanNodeId::Gnb(_))) => true,
            (Interface::F1, NodeId::GnbDu(du)) if self.split && du.station == self.station => {
                let is = |radio: &SharedRadio| {
                    with(radio, |it| it.calls.called.and_then(|called| called.du)) == Some(du.part)
                };
                self.site.cells().iter().any(is)
            }
            _ => false,
        }
    }

    fn ues(&mut self) -> Vec<u32> {
        // Agents number UEs by their C-RNTIs, which have 16 bits.
        self.site.ues().into_iter().map(|ue| ue.0 as u32).collect()
    }

    fn messages(&mut self, _: Time) -> Vec<InterfaceMessage> {
        let mut calls = Vec::new();
        for radio in self.site.cells() {
            let (called, news) = with(radio, |it| (it.calls.called, std::mem::take(&mut it.calls.calls)));
            calls.extend(news.into_iter().filter_map(|call| Some((call, called?))));
        }
        calls.sort_by_key(|(call, _)| call.at_us);
        let to_messages = |(call, called)| {
            let mut telling = InterfaceReport { watched: self, call, called, out: Vec::new() };
            telling.report();
            telling.out
        };
        calls.into_iter().flat_map(to_messages).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BaseStation, RadioConfig, UePresence, cell_of, hand_over};
    use super::*;
    use ranlab_e2_codec::ap::Message;
    use ranlab_e2_codec::e2ap::GlobalGnbId;
    use ranlab_e2_codec::per::ShortBits;
    use ranlab_radio::user_plane::Carrier;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    const PLMN: Plmn = Plmn([0x00, 0xf1, 0x10]);

    fn gnb(number: u32) -> GlobalNgRanNodeId {
        let gnb_id = ShortBits::new(number.into(), 32);
        GlobalNgRanNodeId::Gnb(GlobalGnbId { plmn: PLMN, gnb_id })
    }

    /// Creates a gNB with two UEs, the second of which detaches after 20 ms.
    fn station(number: u32, split: bool) -> NiSource {
        let until = Some(Duration::from_millis(20));
        let stays = vec![UePresence { ues: 2..=2, from: Duration::ZERO, until }];
        let config = RadioConfig { stays, ..RadioConfig::new(Carrier::lte(25), 2) };
        let mut radio = Radio::new(&config, (number as u16, 1), PLMN, 0, 0).unwrap();
        let du = split.then_some(7);
        radio.set_identity(InterfaceIdentity { station: gnb(number), du, cell: cell_of(PLMN, number) });
        let site = BaseStation::new(vec![Arc::new(Mutex::new(radio))]);
        NiSource { site, station: gnb(number), split, epoch_us: 1_000_000 }
    }

    fn pass(station: &NiSource, ms: u64) {
        station.site.pass(Time::from_nanos(ms * 1_000_000));
    }

    /// Returns the messages as text: interface, direction, procedure, kind, C-RNTI, other endpoint, and whether the
    /// UE leaves.
    fn messages(station: &mut NiSource) -> Vec<String> {
        let one = |passed: InterfaceMessage| {
            let message = Message::read(passed.interface, &passed.octets).unwrap();
            let name = message.procedure_name();
            let kind = message.kind.name();
            let far = passed.far.map_or_else(|| "-".to_owned(), |far| far.to_string());
            let interface = passed.interface.name();
            let way = passed.direction.name();
            let leaves = if passed.leaves { " leaves" } else { "" };
            assert!(passed.tstamp_us >= 1_000_000);
            format!("{interface} {way} {name} {kind} {} {far}{leaves}", passed.ue.unwrap())
        };
        station.messages(Time::ZERO).into_iter().map(one).collect()
    }

    #[test]
    fn attach_and_detach_are_reported_on_every_interface() {
        let mut whole = station(1, false);
        assert_eq!(whole.interfaces(), [Interface::Ng, Interface::Xn]);
        pass(&whole, 1);
        let asks = |ue| format!("ng outgoing InitialUEMessage initiating-message {ue} -");
        assert_eq!(messages(&mut whole), [asks(1), asks(2)]);
        pass(&whole, 20);
        pass(&whole, 30);
        assert_eq!(
            messages(&mut whole),
            [
                "ng outgoing UEContextReleaseRequest initiating-message 2 - leaves",
                "ng incoming UEContextRelease initiating-message 2 - leaves",
                "ng outgoing UEContextRelease successful-outcome 2 - leaves",
            ]
        );
        assert_eq!(messages(&mut whole), [""; 0]);

        let mut split = station(1, true);
        pass(&split, 1);
        let du = "gnb 001.01 1/du 7";
        assert_eq!(
            messages(&mut split)[..3],
            [
                asks(1),
                format!("f1 outgoing UEContextSetup initiating-message 1 {du}"),
                format!("f1 incoming UEContextSetup successful-outcome 1 {du}"),
            ]
        );
        pass(&split, 20);
        pass(&split, 30);
        assert_eq!(
            messages(&mut split)[2],
            format!("f1 outgoing UEContextRelease initiating-message 2 {du} leaves")
        );
        let at = |part| NodeId::GnbDu(GnbDuId { station: gnb(1), part });
        assert!(split.may_reach(Interface::F1, &at(7)) && !split.may_reach(Interface::F1, &at(8)));
    }

    #[test]
    fn handover_is_reported_at_both_ends_of_xn() {
        let [mut here, mut there] = [station(1, false), station(2, true)];
        for station in [&mut here, &mut there] {
            pass(station, 1);
            messages(station);
        }
        hand_over(&here.site.cells()[0], &there.site.cells()[0], 1).unwrap();
        assert_eq!(
            messages(&mut here),
            ["xn incoming UEContextRelease initiating-message 1 gnb 001.01 2 leaves"]
        );
        let came = messages(&mut there);
        assert_eq!(came.len(), 3, "{came:?}");
        assert_eq!(came[2], "xn outgoing UEContextRelease initiating-message 3 gnb 001.01 1");
    }
}
