//! KPM function whose counters are provided by a C program.
use crate::agent::{ranlab_agent, register};
use crate::error::*;
use crate::types::*;
use ranlab_e2::Time;
use ranlab_e2::functions::kpm::{self, KpmSource, Reading, UeReading};
use ranlab_e2_codec::e2sm::common::{Snssai, UeId};
use ranlab_e2_codec::e2sm::kpm::DEFAULT_FUNCTION_ID;
use std::ffi::c_void;

/// A base station whose counters are provided by a C program.
struct Source {
    prbs: u16,
    time_us: unsafe extern "C" fn(*mut c_void) -> i64,
    read: unsafe extern "C" fn(*mut c_void, *mut u64, *mut ranlab_ue, usize) -> usize,
    userdata: *mut c_void,
    ues: Vec<ranlab_ue>,
}

// SAFETY: the callbacks run on the thread that uses the agent at that time. The header requires `userdata` to be usable
// on every thread that uses the agent.
unsafe impl Send for Source {}

impl KpmSource for Source {
    fn read(&mut self, now: Time, reading: &mut Reading) {
        reading.prbs = self.prbs;
        self.ues.clear();
        let mut offered = 0;
        // SAFETY: the buffer has space for `ues_max` entries, and entries that the callback does not write are zero.
        unsafe {
            self.ues.as_mut_ptr().write_bytes(0, RANLAB_UES_MAX);
            let given = (self.read)(self.userdata, &mut offered, self.ues.as_mut_ptr(), RANLAB_UES_MAX);
            self.ues.set_len(given.min(RANLAB_UES_MAX));
        }
        reading.prbs_offered = [offered; 2];
        // The time is read after the callback. The program may have been preempted since the start of the call, while
        // its counters increased.
        reading.at_us = u64::try_from(self.tstamp_us(now)).unwrap_or(0);
        reading.ues.extend(self.ues.iter().map(|ue| {
            let sd = (ue.sd < RANLAB_NO_SD).then_some(ue.sd);
            UeReading {
                number: ue.number,
                slices: (ue.sst != 0).then_some(Snssai { sst: ue.sst, sd }).into_iter().collect(),
                delivered_bytes: ue.delivered_bytes,
                pdcp_sdu_bytes: ue.pdcp_sdu_bytes,
                prbs: ue.prbs,
                rlc_delay_us: if ue.rlc_delay_us.is_finite() { ue.rlc_delay_us.max(0.0) } else { 0.0 },
                ..UeReading::default()
            }
        }));
    }

    fn name(&self, number: u32) -> UeId {
        UeId::du(number)
    }

    fn tstamp_us(&self, _: Time) -> i64 {
        // SAFETY: the callback has the registered type.
        unsafe { (self.time_us)(self.userdata) }
    }
}

/// Documented in `include/ranlab.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ranlab_agent_register_kpm(
    agent: *mut ranlab_agent,
    kpm: *const ranlab_kpm,
    userdata: *mut c_void,
) -> i32 {
    // SAFETY: the caller passes valid pointers, as the header requires.
    unsafe {
        register(agent, Some(DEFAULT_FUNCTION_ID), || {
            let kpm = kpm.as_ref().ok_or(RANLAB_ERR_NULL)?;
            let time_us = kpm.time_us.ok_or(RANLAB_ERR_NULL)?;
            let read = kpm.read.ok_or(RANLAB_ERR_NULL)?;
            let ues = Vec::with_capacity(RANLAB_UES_MAX);
            Ok(kpm::function(Source { prbs: kpm.prbs, time_us, read, userdata, ues }))
        })
        .0
    }
}
