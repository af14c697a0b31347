//! Planning and execution of faults.
use crate::fault::{Disturbance, Fault};
use crate::host::Kind;
use crate::machine::Machine;
use crate::party::PartyId;
use crate::world::{Happening, World};
use ranlab_e2::Time;
use std::time::Duration;

impl World {
    /// Plans a fault.
    pub fn plan(&mut self, at: Time, fault: Fault) {
        self.agenda.plan(at, Happening::Fault(fault));
    }

    /// Plans random faults of random parties: cuts, crashes, freezes, slow links and toggled requests.
    pub fn disturb(&mut self, d: Disturbance) {
        for _ in 0..d.faults {
            let at = self.now + self.chance.between(d.from.since(self.now), d.until.since(self.now));
            let fault = self.random_fault(&d);
            self.plan(at, fault);
        }
    }

    fn random_fault(&mut self, d: &Disturbance) -> Fault {
        let least = Duration::from_millis(1);
        let party = PartyId(self.chance.below(self.hosts.len()));
        match self.chance.below(100) {
            0..35 => Fault::Cut(party, self.chance.below(64)),
            35..65 => {
                // RICs are chosen more often than their number suggests, because their crash is the most severe fault.
                let rics: Vec<_> = self.rics().collect();
                let ric = PartyId(rics[self.chance.below(rics.len())]);
                let party = if self.chance.happens(20) { ric } else { party };
                let away = self.chance.between(least, d.away);
                Fault::Crash { party, polite: self.chance.happens(60), away }
            }
            65..75 => Fault::Freeze(party, self.chance.between(least, d.lasting)),
            75..85 => {
                let lasting = self.chance.between(least, d.lasting);
                let bytes_per_second = 200 + self.chance.below(5_000) as u64;
                Fault::Throttle { party, bytes_per_second, lasting }
            }
            _ => {
                let xapps: Vec<_> = self.xapps().collect();
                let xapp = PartyId(xapps[self.chance.below(xapps.len())]);
                Fault::Toggle(xapp, self.chance.below(8))
            }
        }
    }

    pub(crate) fn rics(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.hosts.len()).filter(|&p| matches!(self.hosts[p].kind, Kind::Ric(_)))
    }

    pub(crate) fn xapps(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.hosts.len()).filter(|&p| matches!(self.hosts[p].kind, Kind::Xapp(_)))
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.note(|_| format!("*** {fault:?}"));
        match fault {
            Fault::Cut(party, n) => {
                let ends = &self.hosts[party.0].ends;
                let number = ends.values().nth(n % ends.len().max(1)).copied();
                number.into_iter().for_each(|number| self.cut(number));
            }
            Fault::Crash { party, polite, away } => self.crash(party.0, polite, away),
            Fault::Freeze(party, lasting) => {
                let host = &mut self.hosts[party.0];
                host.frozen_until = host.frozen_until.max(self.now + lasting);
            }
            Fault::Throttle { party, bytes_per_second, lasting } => {
                self.hosts[party.0].bytes_per_second = Some(bytes_per_second);
                self.agenda.plan(self.now + lasting, Happening::Unthrottle(party.0));
            }
            Fault::Delay { party, by, lasting } => {
                self.hosts[party.0].delay = by;
                self.agenda.plan(self.now + lasting, Happening::Undelay(party.0));
            }
            Fault::Jump(party, by) => {
                self.hosts[party.0].ahead += by;
                // The jump may have passed the time of a pending timer, so the timer is planned again.
                self.hosts[party.0].armed = None;
                self.run_machine(party.0, Machine::wake);
            }
            Fault::Toggle(party, wish) => {
                let host = &mut self.hosts[party.0];
                let (Kind::Xapp(xapp), Some(Machine::Xapp(machine))) = (&mut host.kind, &mut host.machine)
                else {
                    return;
                };
                let wish = wish % xapp.wishes.len().max(1);
                xapp.toggle(machine, wish);
                self.run_machine(party.0, Machine::wake);
            }
        }
    }

    /// Breaks a connection.
    fn cut(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        connection.pipes.iter_mut().for_each(crate::link::Pipe::kill);
        let (least, most) = self.profile.detection;
        for end in 0..2 {
            let at = self.now + self.chance.between(least, most);
            self.agenda.plan(at, Happening::Learn(number, end));
        }
    }

    fn crash(&mut self, party: usize, polite: bool, away: Duration) {
        let now = self.now;
        let host = &mut self.hosts[party];
        if host.machine.take().is_none() {
            return;
        }
        (host.armed, host.frozen_until) = (None, now);
        for number in std::mem::take(&mut host.ends).into_values() {
            let Some(end) = self.connections.get(&number).map(|c| c.end_of(party)) else { continue };
            self.shut(number, end);
            if polite {
                self.say_end(number, end);
            } else {
                self.cut(number);
            }
        }
        self.agenda.plan(now + away, Happening::Restart(party));
    }
}
