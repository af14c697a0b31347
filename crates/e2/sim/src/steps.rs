//! Stepping interface for callers that combine a world with other models, such as radios, or with programs that send
//! requests to a RIC. The world's event queue also schedules the calls of the caller.
use crate::host::Kind;
use crate::machine::Machine;
use crate::party::PartyId;
use crate::world::{Happening, World};
use ranlab_e2::Time;
use ranlab_e2::agent::Agent;
use ranlab_e2::ric::directory::StoreRequest;
use ranlab_e2::ric::{NorthboundReply, Ric};
use ranlab_e2::xapp::{Xapp, XappEvent};
use std::time::Duration;

/// Kind of the event that a step processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An event of the parties.
    Happened,
    /// The timer of a [`World::call_at`] expired, with its token.
    Called(u64),
}

impl World {
    /// Makes [`step`](Self::step) return at this time. Calls with the same time occur in the order of their requests.
    pub fn call_at(&mut self, at: Time, token: u64) {
        self.agenda.plan(at.max(self.now), Happening::Call(token));
    }

    /// Runs `act` on an agent at the time of the agent's clock, and executes the resulting actions. Returns `None` if
    /// the party has stopped or is not an agent.
    pub fn with_agent<T>(&mut self, party: PartyId, act: impl FnOnce(&mut Agent, Time) -> T) -> Option<T> {
        let mut done = None;
        self.run_machine(party.0, |machine, now| {
            if let Machine::Agent(agent) = machine {
                done = Some(act(agent, now));
            }
        });
        done
    }

    /// Runs `act` on a RIC at the time of the RIC's clock, and executes the resulting actions. Returns `None` if the
    /// party has stopped or is not a RIC.
    pub fn with_ric<T>(&mut self, party: PartyId, act: impl FnOnce(&mut Ric, Time) -> T) -> Option<T> {
        let mut done = None;
        self.run_machine(party.0, |machine, now| {
            if let Machine::Ric(ric) = machine {
                done = Some(act(ric, now));
            }
        });
        done
    }

    /// Returns a RIC for inspection, or `None` if the party has stopped or is not a RIC.
    pub fn look_at_ric(&self, party: PartyId) -> Option<&Ric> {
        self.hosts.get(party.0)?.ric()
    }

    /// Returns an agent for inspection, or `None` if the party has stopped or is not an agent.
    pub fn look_at_agent(&self, party: PartyId) -> Option<&Agent> {
        self.hosts.get(party.0)?.agent().map(|(_, agent)| agent)
    }

    /// Returns the additional delay of a party's messages.
    pub fn delay_of(&self, party: PartyId) -> Duration {
        self.hosts.get(party.0).map_or(Duration::ZERO, |host| host.delay)
    }

    /// Returns the end of a party's freeze, if the party is frozen.
    pub fn frozen_until(&self, party: PartyId) -> Option<Time> {
        self.hosts.get(party.0)?.frozen(self.now)
    }

    /// Sets whether the trace includes each delivered PDU. Default: yes.
    pub fn trace_pdus(&mut self, each: bool) {
        self.trace_pdus = each;
    }

    /// Returns the replies of RICs to outside requests since the last call.
    pub fn take_replies(&mut self) -> Vec<(PartyId, NorthboundReply)> {
        std::mem::take(&mut self.replies)
    }

    /// Returns the events that [clients](Self::client) received since the last call, in order. Call it after
    /// each [`step`](Self::step).
    pub fn take_heard(&mut self) -> Vec<(PartyId, XappEvent)> {
        std::mem::take(&mut self.client_events)
    }

    /// Returns the requests of clustered RICs to their store since the last call, for callers that simulate a
    /// store.
    pub fn take_asks(&mut self) -> Vec<(PartyId, StoreRequest)> {
        std::mem::take(&mut self.asks)
    }

    /// Runs `act` on a [client](Self::client) at the time of the client's clock, and executes the resulting actions.
    /// Returns `None` if the party has stopped or is not a client.
    pub fn with_client<T>(&mut self, party: PartyId, act: impl FnOnce(&mut Xapp, Time) -> T) -> Option<T> {
        let mut done = None;
        self.run_machine(party.0, |machine, now| {
            if let Machine::Xapp(xapp) = machine {
                done = Some(act(xapp, now));
            }
        });
        done
    }

    /// Returns the number of incarnations of a party so far.
    pub fn life_of(&self, party: PartyId) -> u32 {
        self.hosts.get(party.0).map_or(0, |host| host.life)
    }

    /// Moves a party's clock forward by `ahead`, and sets its drift to `faster_ppm` millionths (negative:
    /// slower).
    pub fn set_clock(&mut self, party: PartyId, ahead: Duration, faster_ppm: i32) {
        if let Some(host) = self.hosts.get_mut(party.0) {
            host.ahead += ahead;
            host.faster_ppm = faster_ppm.max(-900_000);
            host.armed = None;
        }
        self.run_machine(party.0, Machine::wake);
    }

    /// Returns the time at which a party's clock shows this reading.
    pub fn true_time(&self, party: PartyId, clock: Time) -> Time {
        self.hosts.get(party.0).map_or(clock, |host| host.true_time(clock))
    }

    /// Returns a [client](Self::client) for inspection, or `None` if the party has stopped or is not a client.
    pub fn look_at_client(&self, party: PartyId) -> Option<&Xapp> {
        let host = self.hosts.get(party.0)?;
        match (&host.kind, &host.machine) {
            (Kind::Client(_), Some(Machine::Xapp(machine))) => Some(machine),
            _ => None,
        }
    }

    /// Writes a remark to the trace.
    pub fn remark(&mut self, words: impl FnOnce() -> String) {
        self.note(|_| words());
    }
}
