//! Runs the control plane to completion without sockets, to measure the cost of the code without the kernel.
use super::packets::rules;
use ranlab_machine::Time;
use ranlab_net::{monotonic_ns, thread_cpu_time};
use ranlab_packet::gtpu::{GpduTemplate, PduSession};
use ranlab_upf::forwarding::{UserPlane, Verdict};
use ranlab_upf::n4::Mock;
use ranlab_upf::n4::{
    Change, Dialect, MockSettings, SessionProfile, SessionSpec, SessionTemplates, Tunnel, UpfEvent, UpfInput,
    UpfOutput, UpfSettings,
};
use ranlab_upf::pfcp::{AssociationSetupRequest, RecoveryTimeStamp, Response, encode};
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const SMF: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 8805);
const NODE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const GNB: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
/// Number of concurrent sessions, which is also the default of the load generator.
const BATCH: usize = 64;

/// Results of session cycles without sockets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InMemory {
    /// Number of live sessions during the measurement.
    pub live: usize,
    /// Sessions that were established, given a tunnel and deleted.
    pub cycles: u64,
    /// Requests that were not accepted.
    pub refused: u64,
    /// Sessions that forwarded an uplink and a downlink packet before their deletion.
    pub forwarded: u64,
    /// Cycles per second of CPU time, including encoding of requests and decoding of responses.
    pub cycles_per_cpu_s: f64,
    /// Messages per second of CPU time.
    pub messages_per_cpu_s: f64,
}

struct Loop {
    mock: Mock,
    plane: UserPlane,
    templates: SessionTemplates,
    sequence: u32,
    out: Vec<u8>,
    refused: u64,
    /// Time of the current batch. The clock is read once per batch, as in a worker.
    now: Time,
}

impl Loop {
    /// Sends one request and processes it to completion. Returns the SEID of the established session.
    fn ask(&mut self, write: impl FnOnce(&SessionTemplates, u32, &mut Vec<u8>)) -> Option<u64> {
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        write(&self.templates, self.sequence, &mut self.out);
        self.mock.handle(self.now, UpfInput::Received(SMF, &self.out));
        let mut accepted = false;
        let mut up_seid = None;
        while let Some(output) = self.mock.poll() {
            match output {
                UpfOutput::Event(event) => self.apply(event),
                UpfOutput::Send(_, datagram) => {
                    let response = Response::read(&datagram);
                    let cause = response.and_then(|response| response.cause);
                    accepted = cause.is_some_and(|cause| cause.is_accepted());
                    up_seid = response.and_then(|response| response.up_seid);
                    self.mock.upf_mut().recycle(datagram);
                }
            }
        }
        self.refused += u64::from(!accepted);
        up_seid
    }

    fn apply(&mut self, event: UpfEvent) {
        match event {
            UpfEvent::Established(seid) | UpfEvent::Modified { seid, .. } => {
                if let Some(session) = self.mock.upf().session(seid) {
                    self.refused += u64::from(self.plane.install(seid, &rules(session), &[]).is_err());
                }
            }
            UpfEvent::EstablishedAlike { seid, shape, teid, ue } => {
                if let Some(prototype) = self.mock.upf().prototype(shape)
                    && !self.plane.has_prototype(shape)
                {
                    self.plane.learn(shape, &rules(prototype));
                }
                self.plane.install_like(shape, seid, teid, ue.into());
            }
            UpfEvent::Redirected { seid, teid, peer, .. } => self.plane.redirect(seid, teid, peer.into()),
            UpfEvent::Deleted(seid) => self.plane.remove(seid),
            UpfEvent::DropBuffered(seid) => self.plane.drop_buffered(seid),
            UpfEvent::Associated(_) | UpfEvent::Released(..) | UpfEvent::Reported(_) => {}
        }
    }

    fn establish(&mut self, n: u32) -> Option<u64> {
        let spec = SessionSpec { ue: ue(n).into(), uplink_teid: 0x1_0000 + n };
        self.ask(|templates, sequence, out| {
            // Writing cannot fail, because profile and UE both use IPv4.
            let _ = templates.write_establishment(sequence, u64::from(n) + 1, spec, out);
        })
    }

    fn give_tunnel(&mut self, seid: u64, n: u32) {
        let tunnel = Tunnel { teid: 0x2_0000 + n, peer: GNB.into() };
        let change = Change::Downlink { tunnel, end_marker: false };
        self.ask(|templates, sequence, out| templates.write_modification(sequence, seid, change, out));
    }

    /// Returns whether a packet passes in each direction.
    fn forwards(&mut self, n: u32) -> bool {
        let packet = |from: Ipv4Addr, to: Ipv4Addr| {
            let mut packet = [0; 28];
            packet[0] = 0x45;
            packet[3] = 28;
            packet[12..16].copy_from_slice(&from.octets());
            packet[16..20].copy_from_slice(&to.octets());
            packet
        };
        let server = Ipv4Addr::new(10, 45, 0, 1);
        let mut datagram = [0; GpduTemplate::MAX_LEN + 28];
        let Ok(head) = GpduTemplate::new(Some(PduSession::ul(9))) else { return false };
        let Some(at) = head.write(0x1_0000 + n, 28, &mut datagram) else { return false };
        datagram[at..at + 28].copy_from_slice(&packet(ue(n), server));
        let up = matches!(self.plane.uplink(0, GNB.into(), &datagram[..at + 28]), Verdict::N6(_));
        let mut out = [0; GpduTemplate::MAX_LEN + 28];
        up && matches!(self.plane.downlink(0, &packet(server, ue(n)), &mut out), Verdict::N3 { .. })
    }

    fn delete(&mut self, seid: u64) {
        self.ask(|templates, sequence, out| templates.write_deletion(sequence, seid, out));
    }
}

fn ue(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a3c_0001 + n)
}

/// Runs `cycles` sessions through establishment, modification and deletion while `live` other sessions remain. The cost includes PFCP
/// decoding, rules in the packet engine, and encoding of responses. `recognise` has the same meaning as in [`UpfSettings`]. Returns `None`
/// if the profile does not fit into a message, which does not happen with the built-in profile.
pub fn in_memory(cycles: u64, live: usize, recognise: bool) -> Option<InMemory> {
    let dialect = Dialect { sends: Dialect::STRICT_REL15.sends, ..Dialect::STRICT_REL17 };
    let profile = SessionProfile { upf_n3: NODE.into(), ..SessionProfile::default() };
    let settings = UpfSettings { recognise, ..UpfSettings::new(NODE.into(), dialect) };
    let mut run = Loop {
        mock: Mock::new(MockSettings::default(), settings),
        plane: UserPlane::new(),
        templates: SessionTemplates::new(profile, dialect.sends, SMF.ip())?,
        sequence: 0,
        out: Vec::new(),
        refused: 0,
        now: Time::from_nanos(monotonic_ns()),
    };
    run.associate();
    let live = u32::try_from(live).unwrap_or(u32::MAX - 0x1_0000);
    for n in 0..live {
        run.tick();
        if let Some(seid) = run.establish(n) {
            run.give_tunnel(seid, n);
        }
    }
    // Warm-up: these cycles fill the cache of message shapes and allocate memory, so that the measured cycles do not.
    run.cycles(live, 2 * BATCH as u64, false);
    let before = thread_cpu_time();
    let done = run.cycles(live, cycles, false);
    let cpu_s = (thread_cpu_time() - before).as_secs_f64().max(1e-9);
    let forwarded = run.cycles(live, BATCH as u64, true);
    Some(InMemory {
        live: live as usize,
        cycles: done,
        refused: run.refused,
        forwarded,
        cycles_per_cpu_s: done as f64 / cpu_s,
        messages_per_cpu_s: 3.0 * done as f64 / cpu_s,
    })
}

impl Loop {
    fn tick(&mut self) {
        self.now = Time::from_nanos(monotonic_ns());
    }

    fn associate(&mut self) {
        let request = AssociationSetupRequest {
            node_id: SMF.ip().into(),
            recovery_time_stamp: RecoveryTimeStamp(1),
            ..Default::default()
        };
        if let Ok(octets) = encode(request, None, 0) {
            self.mock.handle(Time::from_nanos(monotonic_ns()), UpfInput::Received(SMF, &octets));
        }
        while self.mock.poll().is_some() {}
    }

    /// Runs cycles in batches. Returns the number of sessions that forwarded packets if `packets` is set, otherwise the number of cycles.
    fn cycles(&mut self, first: u32, cycles: u64, packets: bool) -> u64 {
        let mut done = 0;
        let mut seids = [0; BATCH];
        let mut began = 0;
        while began < cycles {
            self.tick();
            for (n, seid) in seids.iter_mut().enumerate() {
                *seid = self.establish(first + n as u32).unwrap_or(0);
            }
            self.tick();
            for (n, seid) in seids.iter().enumerate() {
                self.give_tunnel(*seid, first + n as u32);
            }
            for n in 0..BATCH as u32 {
                done += u64::from(!packets || self.forwards(first + n));
            }
            self.tick();
            seids.iter().for_each(|seid| self.delete(*seid));
            began += BATCH as u64;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_accepted_and_forward_packets_with_and_without_recognition() {
        for recognise in [false, true] {
            let result = in_memory(640, 100, recognise).unwrap();
            assert_eq!(
                (result.cycles, result.refused, result.forwarded),
                (640, 0, BATCH as u64),
                "{recognise}"
            );
        }
    }
}
