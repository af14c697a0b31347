//! MAC, RLC and PDCP functions whose counters are provided by a C program, and functions that read their reports.
use crate::agent::{ranlab_agent, register};
use crate::error::*;
use crate::types::*;
use ranlab_e2::Time;
use ranlab_e2::agent::{RanFunction, UeFilter, UeId};
use ranlab_e2::functions::stats::{PeriodicReport, StatsSource};
use ranlab_e2_codec::e2sm::mac::{HARQ_ROUNDS, Mac, MacUe};
use ranlab_e2_codec::e2sm::pdcp::{Pdcp, PdcpBearer};
use ranlab_e2_codec::e2sm::plain::{PlainElement, PlainView, encode_list};
use ranlab_e2_codec::e2sm::rlc::{Rlc, RlcBearer, RlcMode};
use ranlab_e2_codec::e2sm::{Model, ServiceModel};
use std::ffi::c_void;
use std::mem::zeroed;

pub const RANLAB_ROWS_MAX: usize = 4_096;

/// A field of a report in C format.
trait Field<C> {
    fn to_c(self) -> C;
    fn of_c(c: C) -> Self;
}

impl<T> Field<T> for T {
    fn to_c(self) -> T {
        self
    }
    fn of_c(c: T) -> T {
        c
    }
}

impl Field<u8> for RlcMode {
    fn to_c(self) -> u8 {
        self.code()
    }
    fn of_c(c: u8) -> Self {
        Self::from_code(c)
    }
}

/// A row of a report in C format.
trait Row: Copy {
    type Element: PlainElement;
    fn ue(&self) -> u32;
    fn element(&self) -> Self::Element;
    fn from_element(element: Self::Element) -> Self;
}

/// Declares a struct of the header. It has the fields of the wire format in the same order, and therefore the same
/// offsets.
macro_rules! rows {
    ($( $row:ident of $element:ident { $( $field:ident: $type:ty, )+ } )+) => { $(
        /// Documented in `include/ranlab*.h`.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $row {
            $( pub $field: $type, )+
        }

        const _: () = assert!(size_of::<$row>() == <$element as PlainElement>::SIZE);

        impl Row for $row {
            type Element = $element;

            fn ue(&self) -> u32 {
                self.rnti
            }
            fn element(&self) -> $element {
                $element { $( $field: Field::<$type>::of_c(self.$field), )+ }
            }
            fn from_element(element: $element) -> Self {
                Self { $( $field: Field::<$type>::to_c(element.$field), )+ }
            }
        }
    )+ };
}

rows! {
    ranlab_mac_ue of MacUe {
        dl_aggr_tbs: u64, ul_aggr_tbs: u64, dl_aggr_bytes_sdus: u64, ul_aggr_bytes_sdus: u64, dl_curr_tbs: u64,
        ul_curr_tbs: u64, dl_sched_rb: u64, ul_sched_rb: u64, pusch_snr: f32, pucch_snr: f32, dl_bler: f32,
        ul_bler: f32, dl_harq: [u32; HARQ_ROUNDS], ul_harq: [u32; HARQ_ROUNDS], dl_num_harq: u32, ul_num_harq: u32,
        rnti: u32, dl_aggr_prb: u32, ul_aggr_prb: u32, dl_aggr_sdus: u32, ul_aggr_sdus: u32,
        dl_aggr_retx_prb: u32, ul_aggr_retx_prb: u32, bsr: u32, frame: u16, slot: u16, wb_cqi: u8, dl_mcs1: u8,
        ul_mcs1: u8, dl_mcs2: u8, ul_mcs2: u8, phr: i8,
    }
    ranlab_rlc_bearer of RlcBearer {
        txpdu_pkts: u32, txpdu_bytes: u32, txpdu_wt_ms: u32, txpdu_dd_pkts: u32, txpdu_dd_bytes: u32,
        txpdu_retx_pkts: u32, txpdu_retx_bytes: u32, txpdu_segmented: u32, txpdu_status_pkts: u32,
        txpdu_status_bytes: u32, txbuf_occ_bytes: u32, txbuf_occ_pkts: u32, rxpdu_pkts: u32, rxpdu_bytes: u32,
        rxpdu_dup_pkts: u32, rxpdu_dup_bytes: u32, rxpdu_dd_pkts: u32, rxpdu_dd_bytes: u32, rxpdu_ow_pkts: u32,
        rxpdu_ow_bytes: u32, rxpdu_status_pkts: u32, rxpdu_status_bytes: u32, rxbuf_occ_bytes: u32,
        rxbuf_occ_pkts: u32, txsdu_pkts: u32, txsdu_bytes: u64, txsdu_avg_time_to_tx_us: f64, txsdu_wt_us: u32,
        rxsdu_pkts: u32, rxsdu_bytes: u64, rxsdu_dd_pkts: u32, rxsdu_dd_bytes: u32, rnti: u32, mode: u8, rbid: u8,
    }
    ranlab_pdcp_bearer of PdcpBearer {
        txpdu_pkts: u32, txpdu_bytes: u32, txpdu_sn: u32, rxpdu_pkts: u32, rxpdu_bytes: u32, rxpdu_sn: u32,
        rxpdu_oo_pkts: u32, rxpdu_oo_bytes: u32, rxpdu_dd_pkts: u32, rxpdu_dd_bytes: u32, rxpdu_ro_count: u32,
        txsdu_pkts: u32, txsdu_bytes: u32, rxsdu_pkts: u32, rxsdu_bytes: u32, rnti: u32, mode: u8, rbid: u8,
    }
}

type TimeUs = unsafe extern "C" fn(*mut c_void) -> i64;
type Read<R> = unsafe extern "C" fn(*mut c_void, *mut R, usize) -> usize;

/// A base station whose counters are provided by a C program.
struct Source<R> {
    time_us: TimeUs,
    read: Read<R>,
    userdata: *mut c_void,
    /// Rows for the callback, which are zero before each call.
    rows: Box<[R]>,
}

// SAFETY: the callbacks run on the thread that uses the agent at that time. The header requires `userdata` to be usable
// on every thread that uses the agent.
unsafe impl<R: Send> Send for Source<R> {}

impl<R: Row + Send> StatsSource for Source<R> {
    fn fill(&mut self, _: Time, ues: UeFilter<'_>, out: &mut Vec<u8>) {
        // SAFETY: the callback has the registered type, and gets a buffer with the stated number of rows.
        let given = unsafe { (self.read)(self.userdata, self.rows.as_mut_ptr(), self.rows.len()) };
        // SAFETY: the callback has the registered type.
        let time_us = unsafe { (self.time_us)(self.userdata) };
        let given = given.min(self.rows.len());
        let mut shown = 0;
        for place in 0..given {
            if ues.is_all() || ues.contains(UeId(self.rows[place].ue().into())) {
                self.rows[shown] = self.rows[place];
                shown += 1;
            }
        }
        // Encoding into a `Vec` cannot fail, because it grows.
        let _ = encode_list(out, self.rows[..shown].iter().map(Row::element), time_us);
        // SAFETY: a row consists of numbers, for which zero is valid.
        self.rows[..given].fill(unsafe { zeroed() });
    }
}

fn function<R: Row + Send + 'static>(
    model: &dyn Model,
    time_us: Option<TimeUs>,
    read: Option<Read<R>>,
    userdata: *mut c_void,
) -> Result<Box<dyn RanFunction>, i32> {
    let time_us = time_us.ok_or(RANLAB_ERR_NULL)?;
    let read = read.ok_or(RANLAB_ERR_NULL)?;
    // SAFETY: a row consists of numbers, for which zero is valid.
    let rows = vec![unsafe { zeroed::<R>() }; RANLAB_ROWS_MAX].into();
    Ok(Box::new(PeriodicReport::for_model(model, Source { time_us, read, userdata, rows })))
}

/// Reads a report: its rows, their number, and its time.
///
/// # Safety
/// See the header for the functions that call this.
unsafe fn read<R: Row>(
    message: *const u8,
    message_len: usize,
    rows: *mut R,
    rows_max: usize,
    rows_len: *mut usize,
    time_us: *mut i64,
) -> i32 {
    boundary(|| {
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        let (message, rows_len) = unsafe { (octets(message, message_len)?, out(rows_len)?) };
        if rows.is_null() && rows_max > 0 {
            return Err(RANLAB_ERR_NULL);
        }
        let view = PlainView::<R::Element>::new(message).map_err(|_| RANLAB_ERR_NOT_OF_MODEL)?;
        rows_len.write(view.len());
        if view.len() > rows_max {
            return Err(RANLAB_ERR_BUFFER_TOO_SMALL);
        }
        for (place, element) in view.iter().enumerate() {
            // SAFETY: the buffer has space for `rows_max` rows, and no more rows are written.
            unsafe { rows.add(place).write(R::from_element(element)) };
        }
        // SAFETY: the caller guarantees the requirements under `# Safety`.
        if let Ok(time_us) = unsafe { out(time_us) } {
            time_us.write(view.tstamp_us());
        }
        Ok(())
    })
}

macro_rules! models {
    ($( $config:ident, $register:ident, $read:ident: $model:ident of $row:ident )+) => { $(
        /// Documented in `include/ranlab*.h`.
        #[repr(C)]
        pub struct $config {
            pub time_us: Option<unsafe extern "C" fn(*mut c_void) -> i64>,
            pub read: Option<unsafe extern "C" fn(*mut c_void, *mut $row, usize) -> usize>,
        }

        /// Documented in `include/ranlab*.h`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $register(
            agent: *mut ranlab_agent,
            counters: *const $config,
            userdata: *mut c_void,
        ) -> i32 {
            // SAFETY: the caller passes valid pointers, as the header requires.
            unsafe {
                register(agent, Some($model::DEFAULT_FUNCTION_ID), || {
                    let counters = counters.as_ref().ok_or(RANLAB_ERR_NULL)?;
                    function(&$model, counters.time_us, counters.read, userdata)
                })
                .0
            }
        }

        /// Documented in `include/ranlab*.h`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $read(
            message: *const u8,
            message_len: usize,
            rows: *mut $row,
            rows_max: usize,
            rows_len: *mut usize,
            time_us: *mut i64,
        ) -> i32 {
            // SAFETY: the caller passes valid pointers, as the header requires.
            unsafe { read(message, message_len, rows, rows_max, rows_len, time_us) }
        }
    )+ };
}

models! {
    ranlab_mac, ranlab_agent_register_mac, ranlab_mac_read: Mac of ranlab_mac_ue
    ranlab_rlc, ranlab_agent_register_rlc, ranlab_rlc_read: Rlc of ranlab_rlc_bearer
    ranlab_pdcp, ranlab_agent_register_pdcp, ranlab_pdcp_read: Pdcp of ranlab_pdcp_bearer
}
