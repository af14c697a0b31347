//! Typed scenario keys of rig `xhaul`, by section.
#![allow(unreachable_pub, reason = "config! makes public types")]

use std::time::Duration;

use crate::XhaulComponent;
use ranlab_campaign::rig::{RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_lab::{Config, config};

use super::budget::Limits;
use ranlab_lab::experiment::{keys, third_party};

pub(super) const SPLITS: [&str; 7] = ["8", "7.1-if4p5", "7.1-if4p5-udp", "7.1", "7.2x", "6", "2"];
const NEIGHBOURS: [&str; 7] = ["none", "8", "7.1-if4p5", "7.1", "7.2x", "6", "2"];
pub(super) const CARRIERS: [&str; 4] = ["lte-5", "lte-20", "nr-20", "nr-100"];
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
/// Range of all rates, in Mbit/s.
const MBPS: Kind = Kind::Float { min: 0.0, max: 800_000.0 };

config! {
    /// Tier, and how links are shared.
    pub struct Sut {
        /// simulation (sim), network calculus (bound), or this machine (live)
        tier: String = "sim".to_owned(), kind(Kind::choice(&["sim", "bound", "live"]));
        /// scheduler of every switch and port; gates apply to shared links only; mqprio and etf: live only
        scheduler: String = "fifo".to_owned(), kind(Kind::choice(&SCHEDULERS));
        /// how containers of the CU share its network card; "none": without this cost, to study only the network
        sharing: String = "sr-iov".to_owned(), kind(Kind::choice(&SHARINGS));
        /// simulated cost of a frame for sharing "measured" and "ipvlan", in addition to the variation of a dedicated port
        sharing_cost_ns: u32 = 0, range(0, 1_000_000), unit("ns");
        /// file of `ranlab bench sharing` with the simulated cost of a frame for each way to share, and with wake-up latencies; default: the built-in profile
        sharing_profile: Option<String> = None;
        /// factor for the simulated cost of a virtual function, applied to the part that exceeds the cost of a dedicated port
        function_times: f64 = 1.0, kind(Kind::Float { min: 0.1, max: 1000.0 });
    }
}

config! {
    /// The CU's host.
    pub struct Cu {
        /// software time of a frame at the CU, per direction
        service_ns: u64 = 500, range(0, 1_000_000), unit("ns");
        /// share of the CU's core used by vBBU processing, which has precedence
        busy_share: f64 = 0.0, kind(Kind::share());
        /// period of vBBU processing
        busy_period: Duration = Duration::from_millis(1);
        /// simulated wake-up latency of the vBBU's thread, as measured in the profile: alone, or next to a busy thread for each CPU (shared)
        wakeup: String = "none".to_owned(), kind(Kind::choice(&["none", "alone", "shared"]));
        /// factor for the simulated wake-up latency
        wakeup_times: f64 = 1.0, kind(Kind::Float { min: 0.0, max: 10_000.0 });
    }
}

config! {
    /// Keys of the evaluated cells.
    pub struct Cells {
        /// functional split of the evaluated cells
        split: String = "7.1-if4p5".to_owned(), kind(Kind::choice(&SPLITS));
        /// carrier of the cells; LTE or NR, and its bandwidth in MHz
        carrier: String = "lte-5".to_owned(), kind(Kind::choice(&CARRIERS));
        /// antenna ports (splits 7.1 and 8) or layers (splits 2, 6 and 7.2x); default by carrier: lte-5 1, lte-20 and nr-20 2, nr-100 4
        layers: Option<u8> = None, range(1, 64);
        /// TDD pattern of downlink, special and uplink slots, or "off" for FDD; default: DDDSU for NR, off for LTE
        tdd: Option<String> = None;
        /// symbols of a special slot: down:guard:up
        tdd_special: String = "10:2:2".to_owned();
        /// number of cells at one CU, one DU per cell
        count: u64 = 1, range(1, 500), unit("cells");
        /// traffic class; 7 has the highest priority
        class: u8 = 7, range(0, 7);
        /// the 14 symbols of a TTI are sent back to back (burst) or at their due times (spread)
        pacing: String = "burst".to_owned(), kind(Kind::choice(&["burst", "spread"]));
        /// TTIs of the cells start at the same time (aligned) or one after the other (staggered)
        phase: String = "aligned".to_owned(), kind(Kind::choice(&["aligned", "staggered"]));
        /// mantissa bits of block floating point in split 7.2x; 16: uncompressed
        mantissa_bits: u8 = 9, range(1, 16), unit("bit");
        /// downlink user data of a split-2 cell; default: the peak rate of the carrier, its layers and its TDD pattern
        mbps: Option<f64> = None, kind(MBPS), unit("Mbit/s");
        /// uplink user data of a split-2 cell; default: the peak rate
        mbps_up: Option<f64> = None, kind(MBPS), unit("Mbit/s");
        /// VLAN id of the cells' frames: each frame has an 802.1Q tag with this id and with the class as priority; default: no tag
        vlan: Option<u16> = None, range(1, 4094);
        /// split 7.2x: time by which control messages (one for each slot and layer) precede the data (Tcp_adv_dl); default: no control messages
        tcp_adv_dl: Option<Duration> = None;
    }
}

config! {
    /// Keys of the other vBBU.
    pub struct Neighbour {
        /// functional split of the other vBBU
        split: String = "none".to_owned(), kind(Kind::choice(&NEIGHBOURS));
        /// downlink user data of the other vBBU
        mbps: f64 = 13.0, kind(MBPS), unit("Mbit/s");
        /// traffic class of the other vBBU
        class: u8 = 4, range(0, 7);
        /// pacing of the other vBBU's user data by the server: even, or the timer of iperf3 (simulated, with a measured flow)
        timer: String = "even".to_owned(), kind(Kind::choice(&["even", "1ms", "100ms"]));
    }
}

config! {
    /// Keys of the background traffic.
    pub struct Background {
        /// direction of background traffic; up: from the midhaul to the CU, as published; down: from the CU, in parallel with its downlink
        direction: String = "none".to_owned(), kind(Kind::choice(&["none", "up", "down", "both"]));
        /// rate of background traffic
        mbps: f64 = 850.0, kind(MBPS), unit("Mbit/s");
        /// frame size of background traffic, including the check sequence
        bytes: u32 = 1000, range(64, 9216), unit("B");
        /// traffic class
        class: u8 = 0, range(0, 7);
    }
}

config! {
    /// Keys of the measured flow.
    pub struct Measured {
        /// measured flow: UDP from server to UE, or echo requests from the UE
        kind: String = "none".to_owned(), kind(Kind::choice(&["none", "udp", "ping"]));
        /// rate of UDP payload
        mbps: f64 = 9.0, kind(MBPS), unit("Mbit/s");
        /// UDP payload of a packet; for ping the size of the Ethernet frame
        bytes: u16 = 1470, range(64, 8900), unit("B");
        /// pacing timer of iperf3: 100ms up to version 3.1, 1ms in later versions
        timer: String = "1ms".to_owned(), kind(Kind::choice(&["even", "1ms", "100ms"]));
        /// interval of echo requests
        interval: Duration = Duration::from_millis(1004);
        /// time that core and server need for an echo; assumed
        turnaround: Duration = Duration::from_millis(1);
    }
}

config! {
    /// Keys of the radio.
    pub struct Radio {
        /// an LTE air interface of 5 MHz after the DU, for the measured flow
        on: bool = false;
        /// share of failed transmissions, which are repeated after 8 ms
        bler: f64 = 0.0, kind(Kind::share());
    }
}

config! {
    /// Keys of the switches and links.
    pub struct Network {
        /// row of the published testbed, which sets switches, sharing, neighbour and background; suffix -a: background
        /// up, -d: background down
        testbed: String = "custom".to_owned(), kind(Kind::choice(&ROWS)), formerly("row");
        /// number of switches in a chain between DUs and CU; 0: cables
        midhaul_switches: usize = 1, range(0, 8);
        /// switch between CU and server
        backhaul_switch: bool = true;
        /// forwarding time of a switch, from reception to the next queue
        forwarding: Duration = Duration::from_micros(2);
        /// bytes after which a frame is forwarded; 0: store and forward
        cut_through_bytes: u32 = 0, range(0, 9216), unit("B");
        /// rate of every link
        mbps: f64 = 1000.0, kind(MBPS), unit("Mbit/s");
        /// length of every cable, 5 ns per metre
        metres: u32 = 100, range(0, 100_000), unit("m");
        /// maximum Ethernet payload
        mtu: u32 = 1500, range(576, 9000), unit("B");
        /// queue size of each class at each port
        queue_bytes: u64 = 500_000, range(84, 1_000_000_000), unit("B");
    }
}

config! {
    /// Execution of the simulation.
    pub struct Sim {
        /// number of phases of the sources; the first phase has the offsets of the scenario
        phases: u64 = 1, range(1, 10_000);
        /// number of threads; 0: one per CPU. Results do not depend on it
        threads: usize = 0, range(0, 256);
        /// rounds of a search for the worst phase; 0: no search
        search_rounds: u32 = 0, range(0, 1000);
        /// pcapng file of each point's first repeat, with the point's number before the extension; up to 200,000 deliveries
        pcap: Option<String> = None;
    }
}

config! {
    /// Programs that run next to the built-in probe in tier `live`.
    pub struct Programs {
        /// run the program ping in parallel with `user.kind` "ping", with the same size and interval
        ping: bool = false;
        /// run the program iperf3 in parallel with `user.kind` "udp", with the same rate and size; its packets add load
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
    pub(super) limits: Limits,
    /// Settings of the live network; the rest follows from the other sections.
    pub(super) live: XhaulComponent,
}

impl Settings {
    pub(super) fn read(run: &Run<'_>) -> Result<Self, RigError> {
        let cpu_quota = XhaulComponent::read(run, "cu")?.cpu_quota;
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
            limits: Limits::read(run).map_err(RigError::Rig)?,
            live: XhaulComponent { cpu_quota, ..XhaulComponent::read(run, "live")? },
        })
    }

    pub(super) fn keys() -> Vec<Key> {
        let sections = [
            Sut::keys("sut"),
            Cu::keys("cu"),
            XhaulComponent::keys("cu").only(&["cpu_quota"]),
            Cells::keys("cells"),
            Neighbour::keys("neighbour"),
            Background::keys("background"),
            Measured::keys("user"),
            Radio::keys("air"),
            Network::keys("net"),
            Sim::keys("sim"),
            XhaulComponent::keys("live").only(&[
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
        let net = keys.iter().position(|key| key.path == "net.testbed").unwrap_or(keys.len());
        keys.insert(net, super::own::key());
        let after = keys.iter().position(|key| key.path == "cells.mbps").unwrap_or(keys.len());
        drop(keys.splice(after..after, super::budget::keys()));
        let du = "machine of the DUs and of the switch in front of them, if not that of the CU: local, ssh://[user@]host[/path/to/ranlab]";
        keys.insert(2, Key::new(super::split_hosts::DU_AT, Kind::Text, du).optional());
        drop(keys.splice(3..3, third_party::keys_of_started("sut.tier", &["live"])));
        keys
    }
}
