//! Counts drops by element. Only dropped packets incur the cost.
use super::burst::{Meta, Slot};
use super::parse;
use super::plan::Stage;
use crate::declare::{Declaration, Direction, DropReason, Element, Path};

/// Packets that an element of a direction dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Direction of the packets.
    pub direction: Direction,
    /// Name of the element with its table, such as "route table 0".
    pub element: String,
    /// Reason of the drops.
    pub reason: DropReason,
    /// Number of packets since the start of the engine.
    pub packets: u64,
}

/// Counters of a direction's elements, by position.
struct Counted {
    names: Vec<String>,
    /// Counters by element and reason. The additional last element is the end of the path.
    packets: Vec<[u64; DropReason::COUNT]>,
}

impl Counted {
    fn new(path: &Path) -> Self {
        let mut names: Vec<String> = path.blocks.iter().flatten().map(name).collect();
        names.push("the path's end".to_owned());
        Self { packets: vec![[0; DropReason::COUNT]; names.len()], names }
    }
}

/// Drops of both directions, by ingress port.
pub(super) struct Drops([Counted; 2]);

impl Drops {
    pub(super) fn new(declaration: &Declaration) -> Self {
        Self([Counted::new(&declaration.uplink), Counted::new(&declaration.downlink)])
    }

    /// Counts a drop by an element. An index after the last element stands for the end of the path.
    pub(super) fn count(&mut self, ingress: usize, element: usize, reason: DropReason) {
        let packets = &mut self.0[ingress & 1].packets;
        let last = packets.len() - 1;
        packets[element.min(last)][reason as usize] += 1;
    }

    /// Returns the counters of all elements, in the order in which packets pass them.
    pub(super) fn all(&self) -> Vec<Dropped> {
        let mut all = Vec::new();
        for (direction, counted) in [Direction::Uplink, Direction::Downlink].into_iter().zip(&self.0) {
            for (name, packets) in counted.names.iter().zip(&counted.packets) {
                let counts = DropReason::ALL.into_iter().zip(packets).filter(|(_, packets)| **packets > 0);
                all.extend(counts.map(|(reason, packets)| Dropped {
                    direction,
                    element: name.clone(),
                    reason,
                    packets: *packets,
                }));
            }
        }
        all
    }
}

/// Returns the name of an element with its table.
fn name(element: &Element) -> String {
    match element {
        Element::Admit { .. } => "admission".to_owned(),
        Element::Bridge(id) => format!("stations in exact table {}", id.index()),
        Element::FindUserByMac(id) => format!("users by station in exact table {}", id.index()),
        Element::Decap { .. } => "tunnel's end".to_owned(),
        Element::FindUserByTunnelKey(id) => format!("users by tunnel key in exact table {}", id.index()),
        Element::FindUserBySource(id) => format!("users by source in exact table {}", id.index()),
        Element::FindUserByDestination(id) => format!("users by destination in exact table {}", id.index()),
        Element::Meter => "meter".to_owned(),
        Element::Acl(id) => format!("ACL {}", id.index()),
        Element::NatSource(id) | Element::NatDestination(id) => format!("NAT table {}", id.index()),
        Element::Route(id) => format!("route table {}", id.index()),
        Element::Forward => "forwarding".to_owned(),
        Element::Deliver => "delivery".to_owned(),
        Element::Encap => "tunnel's begin".to_owned(),
        Element::Emit { .. } => "emission".to_owned(),
    }
}

/// Returns which element of a merged stage dropped a packet, counted from the first element of the stage. A route to a
/// missing next hop counts as a missing route.
pub(super) fn element(stage: Stage, reason: DropReason, slot: &Slot, meta: &Meta) -> usize {
    match (stage, reason) {
        // The failed check has not changed the packet, so it can be repeated.
        (Stage::AdmitDecap { mac, ipv6, .. }, _) => {
            let mut again = *meta;
            usize::from(parse::admit(slot, &mut again, mac, ipv6).is_ok())
        }
        (Stage::RouteForward(_), DropReason::HopLimit) => 1,
        (Stage::MeterRouteForward(_), DropReason::HopLimit) => 2,
        (Stage::MeterRouteForward(_), DropReason::Miss) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::declare::{Port, Verdict};
    use crate::engine::{BURST, Burst, Engine, Isa};
    use crate::pipelines::Pipeline;
    use crate::trace::{Directions, Trace, Traffic};
    use ranlab_machine::Random;
    use ranlab_packet::checksum;

    type Places = BTreeMap<(bool, String, DropReason), u64>;

    /// Flips a random bit of a frame. In half of the IPv4 packets, the header checksum is corrected, and some of these
    /// get an expired TTL.
    fn damage(frame: &mut [u8], random: &mut Random) {
        let at = random.next() as usize % frame.len().min(96);
        frame[at] ^= 1 << (random.next() % 8);
        let dice = random.next();
        if frame[12..14] == [8, 0] && dice & 1 == 0 {
            if dice & 6 == 0 {
                frame[22] = 1;
            }
            frame[24..26].fill(0);
            let sum = checksum::checksum(&frame[14..34]).to_be_bytes();
            frame[24..26].copy_from_slice(&sum);
        }
    }

    /// Runs an engine with traffic of which half is damaged. Returns the drops by element and reason, the drops by
    /// reason, and the number of packets with the verdict "dropped".
    fn places(json: &str) -> (Places, [u64; DropReason::COUNT], u64) {
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let (mut engines, _control) = Engine::start(&pipeline.build().unwrap(), 1, Isa::detect()).unwrap();
        let traffic = Traffic { pkt_num: 4096, pkt_size: 128, dir: Directions::Bidir, ..Traffic::default() };
        let trace = Trace::generate(&pipeline, &traffic).unwrap();
        let mut random = Random::stream(19, 0);
        let mut burst = Burst::new();
        let mut seen = 0;
        for first in (0..trace.len()).step_by(BURST) {
            burst.clear();
            for (port, frame) in trace.range(first, BURST) {
                let mut frame = frame.to_vec();
                if random.next() & 1 == 0 {
                    damage(&mut frame, &mut random);
                }
                burst.push(port, &frame).unwrap();
            }
            engines[0].process(first as u64 * 50, &mut burst);
            let dropped = |index: &usize| matches!(burst.fate(*index), Some(Verdict::Dropped(_)));
            seen += (0..burst.len()).filter(dropped).count() as u64;
        }
        let all = engines[0].drops().into_iter();
        let places =
            all.map(|one| ((one.direction == Direction::Uplink, one.element, one.reason), one.packets));
        (places.collect(), engines[0].counters().dropped, seen)
    }

    #[test]
    fn drops_are_attributed_to_elements_of_merged_stages() {
        let mut elements = std::collections::BTreeSet::new();
        for settings in [
            r#""name":"l2fwd","upstream-table-size":50"#,
            r#""name":"l3fwd","upstream-l3-table-size":50,"downstream-l3-table-size":50"#,
            r#""name":"acl","rule-num":100"#,
            r#""name":"nat""#,
            r#""name":"mgw","user":30,"bst":4,"server":9,"rate-limit":9000,"rate-burst":2000"#,
            r#""name":"mgw","user":30,"bst":4,"server":9,"tunneling-method":"vxlan","rate-limit":9000,"rate-burst":2000"#,
            r#""name":"bng","user":30,"cpe":4,"server":9,"rate-limit":9000,"rate-burst":2000"#,
            r#""name":"encap","station":9"#,
        ] {
            let [merged, alone] = ["block", "chain"]
                .map(|how| places(&format!(r#"{{{settings},"fakedrop":false,"decomposition":"{how}"}}"#)));
            assert_eq!(merged, alone, "{settings}");
            let (places, by_reason, seen) = merged;
            assert!(seen > 0 && places.values().sum::<u64>() == seen, "{settings}: {places:?}");
            for reason in DropReason::ALL {
                let sum: u64 = places.iter().filter(|(place, _)| place.2 == reason).map(|(_, n)| n).sum();
                assert_eq!(sum, by_reason[reason as usize], "{settings}: {reason:?}");
            }
            elements.extend(places.into_keys().map(|(_, element, _)| element));
        }
        for name in ["admission", "tunnel's end", "meter", "route table 0", "forwarding"] {
            assert!(elements.contains(name), "{name} dropped nothing: {elements:?}");
        }
    }

    #[test]
    fn packets_sent_by_fakedrop_are_not_counted_as_drops() {
        let json = r#"{"name":"l3fwd","upstream-l3-table-size":5,"fakedrop":true}"#;
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let mut declaration = pipeline.build().unwrap();
        declaration.downlink.blocks.clear();
        let (mut engines, _control) = Engine::start(&declaration, 1, Isa::detect()).unwrap();
        let trace = Trace::generate(&pipeline, &Traffic { pkt_num: 1, ..Traffic::default() }).unwrap();
        let (_, frame) = trace.packet(0).unwrap();
        let mut unrouted = frame.to_vec();
        // The destination changes, and the header checksum is updated.
        let sum = u16::from_be_bytes([frame[24], frame[25]]);
        let was = u16::from_be_bytes([frame[30], frame[31]]);
        unrouted[30..32].copy_from_slice(&[255, 255]);
        let fixed = u32::from(sum) + u32::from(was);
        unrouted[24..26].copy_from_slice(&((fixed & 0xffff) as u16 + (fixed >> 16) as u16).to_be_bytes());
        let mut burst = Burst::new();
        burst.push(Port::Access, &unrouted).unwrap();
        burst.push(Port::Core, frame).unwrap();
        engines[0].process(0, &mut burst);
        assert_eq!(burst.fate(0), Some(Verdict::Sent(Port::Core)));
        assert_eq!(engines[0].counters().faked, 1);
        let end = Dropped {
            direction: Direction::Downlink,
            element: "the path's end".to_owned(),
            reason: DropReason::PathEnd,
            packets: 1,
        };
        assert_eq!(engines[0].drops(), [end]);
    }
}
