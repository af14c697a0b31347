//! Divides the load on a UPF among several locations. Their SMFs, base stations, UEs and servers are numbered consecutively.

use crate::load::{Network, UePool, capacity, default_smf, nth};

use super::{BitRate, LoadArrivals, LoadMode, PacketRate, UpfLoadComponent};
use ranlab_lab::divide::{divisible, share};
use ranlab_lab::rig;
use ranlab_lab::worker::ComponentError;

impl UpfLoadComponent {
    /// Returns the shares for a number of locations. Each location has its own SMFs and base stations, whose addresses continue those of
    /// the previous location. UEs and, with a data network, servers are also numbered consecutively.
    pub(crate) fn shares(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        if self.mode == LoadMode::Blind {
            return Err(rig(
                "the mode blind guesses the SEIDs of the UPF, which only works for a single load generator: \
                 it cannot be divided",
            ));
        }
        divisible("SMFs (`load.smfs`)", self.smfs as u64, places)?;
        // Locations on other machines choose their addresses themselves. Without a configured number of base stations, each location has
        // one.
        let (first, count) = match self.gnb {
            Some(first) => (Some(first), self.gnbs_from(first)),
            None => (
                self.n3.ip().is_loopback().then(|| self.first_gnb()).transpose()?,
                self.gnbs.unwrap_or(places),
            ),
        };
        divisible("base stations (`load.gnbs`)", count as u64, places)?;
        let all = Self { gnbs: Some(count), ..self.totals(places)? };
        let mut shares = Vec::with_capacity(places);
        let mut smfs = 0;
        let mut gnbs = 0;
        let mut ues = 0;
        for place in 0..places {
            let part = self.numbers(&all, place, places);
            let smf = self.smf.or_else(|| self.n4.ip().is_loopback().then(|| default_smf(self.n4).ok())?);
            let part = Self {
                smf: smf.map(|first| nth(first, smfs)),
                gnb: first.map(|first| nth(first, gnbs)),
                ue: UePool { first: self.ue }.address(ues),
                n6: self.n6.of_place(place),
                server: if self.n6 == Network::None { self.server } else { nth(self.server, place) },
                // Packets of another location must not be counted. Each location therefore has its own run number, distinct in all steps of
                // a run.
                run: self.run.map(|run| run.wrapping_add((place as u32) << 16)),
                shared: true,
                ..part
            };
            (smfs, gnbs) = (smfs + part.smfs, gnbs + part.gnbs.unwrap_or(0));
            // The capacity does not depend on the addresses, so any valid addresses suffice.
            ues += capacity(&Self { smf: Some(part.n4), gnb: Some(part.n3), ..part.clone() }.load()?);
            shares.push(part);
        }
        Ok(shares)
    }

    /// Returns the numbers of the whole load, with all defaults filled in.
    fn totals(&self, places: usize) -> Result<Self, ComponentError> {
        let mut all = self.clone();
        if self.mode == LoadMode::Control {
            match self.arrivals {
                LoadArrivals::Closed => divisible("cycles (`load.window`)", self.window as u64, places)?,
                LoadArrivals::Burst => {
                    divisible("sessions of a burst (`load.burst`)", self.burst.into(), places)?;
                }
                LoadArrivals::Ramp => all.rate_to = Some(self.rate_to.unwrap_or(self.rate * 2.0)),
                LoadArrivals::Constant | LoadArrivals::Poisson => {}
            }
            if let Some(sessions) = self.sessions {
                divisible("sessions (`load.sessions`)", sessions, places)?;
            }
            return Ok(all);
        }
        let sessions = self.sessions.unwrap_or(if self.mode == LoadMode::Qos { 1 } else { super::SESSIONS });
        divisible("sessions (`load.sessions`)", sessions, places)?;
        all.sessions = Some(sessions);
        (all.uplink, all.downlink) = self.flows();
        Ok(all)
    }

    /// Returns the numbers of one location. Packet rates are divided like the sessions, so each session keeps its rate.
    fn numbers(&self, all: &Self, place: usize, places: usize) -> Self {
        let of = |total: u64| share(total, place, places);
        let size = |total: usize| of(total as u64) as usize;
        let equal = 1.0 / places as f64;
        let by_sessions = match all.sessions {
            Some(sessions) if self.mode != LoadMode::Control => of(sessions) as f64 / sessions.max(1) as f64,
            _ => equal,
        };
        let burst = of(self.burst.into()) as u32;
        let rate = match (self.mode, self.arrivals) {
            (LoadMode::Control, LoadArrivals::Burst) => f64::from(burst) / f64::from(self.burst.max(1)),
            _ => by_sessions,
        };
        let packets = |rate: Option<PacketRate>| rate.map(|rate| PacketRate(rate.0 * by_sessions));
        Self {
            smfs: size(self.smfs),
            gnbs: all.gnbs.map(size),
            rate: self.rate * rate,
            rate_to: all.rate_to.map(|to| to * rate),
            burst,
            window: size(self.window).max(1),
            sessions: all.sessions.map(of),
            live: size(self.live),
            dynamic: size(self.dynamic),
            uplink: packets(all.uplink),
            downlink: packets(all.downlink),
            offered_mbps: self.offered_mbps.iter().map(|rate| BitRate(rate.0 * by_sessions)).collect(),
            ..self.clone()
        }
    }
}
