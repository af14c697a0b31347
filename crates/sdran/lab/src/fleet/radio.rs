//! A base station's radio with its driver, and the pending notifications for its agent.
use super::deadlines::now;
use ranlab_e2_codec::e2ap::Plmn;
use ranlab_e2_codec::e2sm::control::Refusal;
use ranlab_machine::lock;
use ranlab_ran::RADIO_TICK;
use ranlab_ran::radio::{self, Radio, RadioConfig, RadioError, SharedRadio, UeMovement};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::sync::Notify;

/// Radio of a base station, with the notifications for its agent.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(super) radio: SharedRadio,
    moved: Rc<RefCell<Vec<UeMovement>>>,
    passed: Rc<Notify>,
}

impl Cell {
    /// Creates the radio of the base station with this number. The time of the radio begins now.
    pub(super) fn new(config: &RadioConfig, number: u32, seed: u64) -> Result<Self, RadioError> {
        // The number fits, because there are fewer than 65,536 base stations.
        let cell_id = number as u16;
        let seed = seed.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // The IMSIs of the UEs belong to this home network.
        let home = Plmn::new(901, 70, 2);
        let radio = Radio::new(config, (cell_id, seed), home, now().as_nanos() / 1_000, 0)?;
        let radio = Arc::new(Mutex::new(radio));
        Ok(Self { radio, moved: Rc::default(), passed: Rc::new(Notify::new()) })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Radio> {
        lock(&self.radio)
    }

    /// Advances the radio in real time. The function never returns.
    pub(super) async fn drive(self) {
        let Self { radio, moved, passed } = self;
        drive(radio, |news| {
            moved.borrow_mut().extend(news);
            passed.notify_one();
        })
        .await;
    }

    /// Returns after the next time step.
    pub(super) async fn passed(&self) {
        self.passed.notified().await;
    }

    /// Returns and removes pending UE movements.
    pub(super) fn moved(&self) -> Vec<UeMovement> {
        std::mem::take(&mut *self.moved.borrow_mut())
    }

    /// Hands over a UE. The UE movements are stored until the agents of both cells take them.
    pub(super) fn hand_over(&self, target: &Self, rnti: u16) -> Result<(), Refusal> {
        let handed_over = radio::hand_over(&self.radio, &target.radio, rnti)?;
        self.moved.borrow_mut().push(handed_over.source);
        target.moved.borrow_mut().extend(handed_over.target);
        target.passed.notify_one();
        Ok(())
    }
}

/// Advances a radio in real time, and never returns. Calls `on_moves` with the UE movements after each step.
async fn drive(radio: SharedRadio, mut on_moves: impl FnMut(Vec<UeMovement>)) {
    let mut tick = tokio::time::interval(RADIO_TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let moved = {
            let mut radio = lock(&radio);
            let begin = Instant::now();
            let moved = radio.pass(now());
            radio.was_busy(begin.elapsed());
            moved
        };
        on_moves(moved);
    }
}
