//! Typed keys of rig `xhaul`, by section.
#![allow(unreachable_pub, reason = "config! makes public types")]

use std::time::Duration;

use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_parts::{Config, XhaulPart, config};

use crate::{keys, stranger};

const SPLITS: [&str; 7] = ["8", "7.1-if4p5", "7.1-if4p5-udp", "7.1", "7.2x", "6", "2"];
const NEIGHBOURS: [&str; 7] = ["none", "8", "7.1-if4p5", "7.1", "7.2x", "6", "2"];
const CARRIERS: [&str; 4] = ["lte-5", "lte-20", "nr-20", "nr-100"];
const SCHEDULERS: [&str; 9] = ["fifo", "strict", "preemption", "gates", "drr", "cbs", "ats", "mqprio", "etf"];
const SHARINGS: [&str; 7] = ["dedicated", "sr-iov", "macvlan", "bridge", "ipvlan", "measured", "none"];
const ROWS: [&str; 11] = [
    "custom",
    "baseline",
    "sriov-noa",
    "sriov-a",
    "sriov-d",
    "macvlan-noa",
    "macvlan-a",
    "macvlan-d",
    "bridge-noa",
    "bridge-a",
    "bridge-d",
];
/// Of every rate, Mbit/s.
const MBPS: Kind = Kind::Float { min: 0.0, max: 800_000.0 };

config! {
    /// Who answers, and how links are shared.
    pub struct Sut {
        /// who answers: simulation, network calculus, this machine
        tier: String = "sim".to_owned(), kind(Kind::choice(&["sim", "bound", "live"]));
        /// of every switch and port; gates on shared links alone; live only: mqprio, etf
        scheduler: String = "fifo".to_owned(), kind(Kind::choice(&SCHEDULERS));
        /// how containers of the CU share its network card; "none" leaves that out, for a question about the network alone
        sharing: String = "sr-iov".to_owned(), kind(Kind::choice(&SHARINGS));
        /// of a frame, simulated, for sharing "measured" and "ipvlan", beside what a port of one's own varies by
        sharing_cost_ns: u32 = 0, range(0, 1_000_000), unit("ns");
        /// file of `ranlab bench sharing`: what a frame costs, simulated, by each way to share; without it the built-in one
        sharing_profile: Option<String> = None;
        /// times the assumed cost of a virtual function: of what the profile adds for one to a port of one's own, simulated
        function_times: f64 = 1.0, kind(Kind::Float { min: 0.1, max: 1000.0 });
    }
}

config! {
    /// The CU's host.
    pub struct Cu {
        /// software time of a frame at the CU, each way
        service_ns: u64 = 500, range(0, 1_000_000), unit("ns");
        /// of the CU's core that vBBU processing takes first
        busy_share: f64 = 0.0, kind(Kind::share());
        /// how often that work comes
        busy_period: Duration = Duration::from_millis(1);
    }
}

config! {
    /// The cells that are evaluated.
    pub struct Cells {
        /// functional split of the cells that are evaluated
        split: String = "7.1-if4p5".to_owned(), kind(Kind::choice(&SPLITS));
        /// their carrier: ports or layers 1, 2, 2, 4
        carrier: String = "lte-5".to_owned(), kind(Kind::choice(&CARRIERS));
        /// cells, a DU each, at one CU
        count: u64 = 1, range(1, 500), unit("cells");
        /// traffic class; 7 is the most urgent
        class: u8 = 7, range(0, 7);
        /// the 14 symbols of a TTI back to back, or when due
        pacing: String = "burst".to_owned(), kind(Kind::choice(&["burst", "spread"]));
        /// TTIs of the cells: all at once, or one after the other
        phase: String = "aligned".to_owned(), kind(Kind::choice(&["aligned", "staggered"]));
        /// block floating point of split 7.2x; 16: none
        mantissa_bits: u8 = 9, range(1, 16), unit("bit");
        /// users' downlink data of a split-2 cell
        mbps: f64 = 13.0, kind(MBPS), unit("Mbit/s");
        /// users' uplink data of a split-2 cell
        mbps_up: f64 = 0.5, kind(MBPS), unit("Mbit/s");
    }
}

config! {
    /// The other vBBU.
    pub struct Neighbour {
        /// of the other vBBU
        split: String = "none".to_owned(), kind(Kind::choice(&NEIGHBOURS));
        /// its users' downlink data
        mbps: f64 = 13.0, kind(MBPS), unit("Mbit/s");
        /// its traffic class
        class: u8 = 4, range(0, 7);
        /// how its users' data comes from the server: even, or as iperf3 paces it (simulated, beside a measured flow)
        timer: String = "even".to_owned(), kind(Kind::choice(&["even", "1ms", "100ms"]));
    }
}

config! {
    /// What loads the network besides.
    pub struct Background {
        /// up: from the midhaul to the CU, as published; down: from the CU, beside its downlink
        direction: String = "none".to_owned(), kind(Kind::choice(&["none", "up", "down", "both"]));
        /// of its frames
        mbps: f64 = 850.0, kind(MBPS), unit("Mbit/s");
        /// of a frame, check sequence included
        bytes: u32 = 1000, range(64, 9216), unit("B");
        /// traffic class
        class: u8 = 0, range(0, 7);
    }
}

config! {
    /// The measured flow.
    pub struct Measured {
        /// the measured flow: UDP from server to UE, or echoes from the UE
        kind: String = "none".to_owned(), kind(Kind::choice(&["none", "udp", "ping"]));
        /// UDP payload
        mbps: f64 = 9.0, kind(MBPS), unit("Mbit/s");
        /// UDP payload of a packet; for ping the Ethernet frame
        bytes: u16 = 1470, range(64, 8900), unit("B");
        /// how iperf3 paces: 100ms until 3.1, 1ms since
        timer: String = "1ms".to_owned(), kind(Kind::choice(&["even", "1ms", "100ms"]));
        /// between two echo requests
        interval: Duration = Duration::from_millis(1004);
        /// of core and server, for an echo; assumed
        turnaround: Duration = Duration::from_millis(1);
    }
}

config! {
    /// The radio.
    pub struct Radio {
        /// an LTE air interface of 5 MHz behind the DU, for the measured flow
        on: bool = false;
        /// transmissions that fail; sent again after 8 ms
        bler: f64 = 0.0, kind(Kind::share());
    }
}

config! {
    /// Switches and links.
    pub struct Network {
        /// a row of the published testbed sets switches, sharing, neighbour and background; -a: background up, -d: down
        row: String = "custom".to_owned(), kind(Kind::choice(&ROWS));
        /// in a chain between DUs and CU; 0: cables
        midhaul_switches: usize = 1, range(0, 8);
        /// between CU and server
        backhaul_switch: bool = true;
        /// of a switch, from reception to its next queue
        forwarding: Duration = Duration::from_micros(2);
        /// after which a frame is forwarded; 0: store and forward
        cut_through_bytes: u32 = 0, range(0, 9216), unit("B");
        /// of every link
        mbps: f64 = 1000.0, kind(MBPS), unit("Mbit/s");
        /// of every cable, 5 ns each
        metres: u32 = 100, range(0, 100_000), unit("m");
        /// Ethernet payload at most
        mtu: u32 = 1500, range(576, 9000), unit("B");
        /// of each class at each port
        queue_bytes: u64 = 500_000, range(84, 1_000_000_000), unit("B");
    }
}

config! {
    /// How the simulation is run.
    pub struct Sim {
        /// of the sources; the first is the scenario's own
        phases: u64 = 1, range(1, 10_000);
        /// 0: one for each CPU. Results do not depend on it
        threads: usize = 0, range(0, 256);
        /// of a search for the worst phase; 0: none
        search_rounds: u32 = 0, range(0, 1000);
        /// each point's first repeat as pcapng, its number before the extension; up to 200,000 deliveries
        pcap: Option<String> = None;
    }
}

config! {
    /// Programs beside our own probe, where the network is live.
    pub struct Programs {
        /// run the program ping beside `user.kind` "ping", with its size and interval
        ping: bool = false;
        /// run the program iperf3 beside `user.kind` "udp", with its rate and size; its packets load the way too
        iperf3: bool = false;
    }
}

/// All sections of a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) sut: Sut,
    pub(super) cu: Cu,
    pub(super) cells: Cells,
    pub(super) neighbour: Neighbour,
    pub(super) background: Background,
    pub(super) user: Measured,
    pub(super) air: Radio,
    pub(super) net: Network,
    pub(super) sim: Sim,
    pub(super) programs: Programs,
    /// Settings of the live network; the rest follows from the other sections.
    pub(super) live: XhaulPart,
}

impl Settings {
    pub(super) fn read(run: &Run<'_>) -> Result<Self, RigError> {
        let cpu_quota = XhaulPart::read(run, "cu")?.cpu_quota;
        Ok(Self {
            sut: Sut::read(run, "sut")?,
            cu: Cu::read(run, "cu")?,
            cells: Cells::read(run, "cells")?,
            neighbour: Neighbour::read(run, "neighbour")?,
            background: Background::read(run, "background")?,
            user: Measured::read(run, "user")?,
            air: Radio::read(run, "air")?,
            net: Network::read(run, "net")?,
            sim: Sim::read(run, "sim")?,
            programs: Programs::read(run, "live")?,
            live: XhaulPart { cpu_quota, ..XhaulPart::read(run, "live")? },
        })
    }

    pub(super) fn keys() -> Vec<Key> {
        let sections = [
            Sut::keys("sut"),
            Cu::keys("cu"),
            XhaulPart::keys("cu").only(&["cpu_quota"]),
            Cells::keys("cells"),
            Neighbour::keys("neighbour"),
            Background::keys("background"),
            Measured::keys("user"),
            Radio::keys("air"),
            Network::keys("net"),
            Sim::keys("sim"),
            XhaulPart::keys("live").only(&[
                "cost_batches",
                "taps",
                "midhaul_ports",
                "backhaul_ports",
                "stamps",
                "slowdown",
                "instructions",
            ]),
            Programs::keys("live"),
        ];
        let mut keys: Vec<Key> = sections.into_iter().flat_map(|section| section.keys()).collect();
        keys.insert(1, keys::place("sut.at", "the live network"));
        let du = "machine of the DUs and of the switch before them, where it is another than the CU's: local, ssh://[user@]host[/path/to/ranlab]";
        keys.insert(2, Key::new(super::apart::DU_AT, Kind::Text, du).optional());
        drop(keys.splice(3..3, stranger::keys_of_started("sut.tier", &["live"])));
        keys
    }
}
