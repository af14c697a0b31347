"""Rows of the service models' reports. Generated from the registry by bindings/python/models.py; do not edit.

The first fields of every row identify its subject: ``ue``, ``bearer``, ``tunnel``, ``slice``, ``queue``; ``None`` if not applicable.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Union


class HwRow(NamedTuple):
    """A row of ``hw`` (0.0.0.0.0.0.0.0.1.140.0); about the node as a whole."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: counter
    seq: int
    #: label, ns
    t_send_ns: int
    #: gauge, B
    payload_bytes: int


class MacRow(NamedTuple):
    """A row of ``mac`` (0.0.0.0.0.0.0.0.1.142.0); about ``ue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: counter, B
    dl_aggr_tbs: int
    #: counter, B
    ul_aggr_tbs: int
    #: counter, B
    dl_aggr_bytes_sdus: int
    #: counter, B
    ul_aggr_bytes_sdus: int
    #: gauge, B
    dl_curr_tbs: int
    #: gauge, B
    ul_curr_tbs: int
    #: gauge
    dl_sched_rb: int
    #: gauge
    ul_sched_rb: int
    #: gauge, dB
    pusch_snr: float
    #: gauge, dB
    pucch_snr: float
    #: gauge
    dl_bler: float
    #: gauge
    ul_bler: float
    #: counter
    dl_harq_0: int
    #: counter
    dl_harq_1: int
    #: counter
    dl_harq_2: int
    #: counter
    dl_harq_3: int
    #: counter
    dl_harq_4: int
    #: counter
    ul_harq_0: int
    #: counter
    ul_harq_1: int
    #: counter
    ul_harq_2: int
    #: counter
    ul_harq_3: int
    #: counter
    ul_harq_4: int
    #: label
    dl_num_harq: int
    #: label
    ul_num_harq: int
    #: counter
    dl_aggr_prb: int
    #: counter
    ul_aggr_prb: int
    #: counter
    dl_aggr_sdus: int
    #: counter
    ul_aggr_sdus: int
    #: counter
    dl_aggr_retx_prb: int
    #: counter
    ul_aggr_retx_prb: int
    #: gauge, B
    bsr: int
    #: label
    frame: int
    #: label
    slot: int
    #: gauge
    wb_cqi: int
    #: gauge
    dl_mcs1: int
    #: gauge
    ul_mcs1: int
    #: gauge
    dl_mcs2: int
    #: gauge
    ul_mcs2: int
    #: gauge, dB
    phr: int


class RlcRow(NamedTuple):
    """A row of ``rlc`` (0.0.0.0.0.0.0.0.1.143.0); about ``ue``, ``bearer``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: counter
    txpdu_pkts: int
    #: counter, B
    txpdu_bytes: int
    #: gauge, ms
    txpdu_wt_ms: int
    #: counter
    txpdu_dd_pkts: int
    #: counter, B
    txpdu_dd_bytes: int
    #: counter
    txpdu_retx_pkts: int
    #: counter, B
    txpdu_retx_bytes: int
    #: counter
    txpdu_segmented: int
    #: counter
    txpdu_status_pkts: int
    #: counter, B
    txpdu_status_bytes: int
    #: gauge, B
    txbuf_occ_bytes: int
    #: gauge
    txbuf_occ_pkts: int
    #: counter
    rxpdu_pkts: int
    #: counter, B
    rxpdu_bytes: int
    #: counter
    rxpdu_dup_pkts: int
    #: counter, B
    rxpdu_dup_bytes: int
    #: counter
    rxpdu_dd_pkts: int
    #: counter, B
    rxpdu_dd_bytes: int
    #: counter
    rxpdu_ow_pkts: int
    #: counter, B
    rxpdu_ow_bytes: int
    #: counter
    rxpdu_status_pkts: int
    #: counter, B
    rxpdu_status_bytes: int
    #: gauge, B
    rxbuf_occ_bytes: int
    #: gauge
    rxbuf_occ_pkts: int
    #: counter
    txsdu_pkts: int
    #: counter, B
    txsdu_bytes: int
    #: gauge, us
    txsdu_avg_time_to_tx_us: float
    #: gauge, us
    txsdu_wt_us: int
    #: counter
    rxsdu_pkts: int
    #: counter, B
    rxsdu_bytes: int
    #: counter
    rxsdu_dd_pkts: int
    #: counter, B
    rxsdu_dd_bytes: int
    #: label
    mode: str


class PdcpRow(NamedTuple):
    """A row of ``pdcp`` (0.0.0.0.0.0.0.0.1.144.0); about ``ue``, ``bearer``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: counter
    txpdu_pkts: int
    #: counter, B
    txpdu_bytes: int
    #: label
    txpdu_sn: int
    #: counter
    rxpdu_pkts: int
    #: counter, B
    rxpdu_bytes: int
    #: label
    rxpdu_sn: int
    #: counter
    rxpdu_oo_pkts: int
    #: counter, B
    rxpdu_oo_bytes: int
    #: counter
    rxpdu_dd_pkts: int
    #: counter, B
    rxpdu_dd_bytes: int
    #: gauge
    rxpdu_ro_count: int
    #: counter
    txsdu_pkts: int
    #: counter, B
    txsdu_bytes: int
    #: counter
    rxsdu_pkts: int
    #: counter, B
    rxsdu_bytes: int
    #: label
    mode: str


class GtpRow(NamedTuple):
    """A row of ``gtp`` (0.0.0.0.0.0.0.0.1.148.0); about ``ue``, ``tunnel``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    qfi: int
    #: label
    teid_upf: int


class CellRow(NamedTuple):
    """A row of ``cell`` (0.0.0.0.0.0.0.0.1.141.0); about the node as a whole."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: counter
    aggr_prb: int
    #: counter
    dl_aggr_prb: int
    #: counter
    ul_aggr_prb: int
    #: counter, B
    dl_aggr_tbs: int
    #: counter, B
    ul_aggr_tbs: int
    #: gauge, B
    dl_queue_bytes: int
    #: gauge, B
    ul_queue_bytes: int
    #: gauge
    prb: int
    #: label
    cell_id: int
    #: gauge
    ues: int


class DigestRow(NamedTuple):
    """A row of ``digest`` (0.0.0.0.0.0.0.0.1.135.0); about ``ue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: counter, B
    dl_aggr_bytes: int
    #: counter, B
    ul_aggr_bytes: int
    #: counter
    dl_aggr_prb: int
    #: counter
    ul_aggr_prb: int
    #: gauge, B
    dl_queue_bytes: int
    #: gauge, B
    ul_queue_bytes: int
    #: gauge, us
    dl_delay_us: int
    #: gauge, us
    ul_delay_us: int
    #: counter
    dl_dropped_sdus: int
    #: counter
    ul_dropped_sdus: int
    #: gauge
    dl_bler: float
    #: gauge
    cqi: int
    #: gauge
    dl_mcs: int


class RrcRow(NamedTuple):
    """A row of ``rrc`` (0.0.0.0.0.0.0.0.1.136.0); about ``ue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    change: str
    #: label
    cell_id: int
    #: label
    plmn: str
    #: label
    snssai: str
    #: label
    other_cell_id: str
    #: label
    other_rnti: str


class SliceRow(NamedTuple):
    """A row of ``slice`` (0.0.0.0.0.0.0.0.1.137.0); about ``slice``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    slice_id: int
    #: gauge
    slice_ues: int
    #: counter
    dl_prbs: int
    #: counter, B
    dl_bytes: int
    #: gauge, B
    dl_queue_bytes: int
    #: gauge, us
    sojourn_us: int
    #: gauge, us
    sojourn_max_us: int


class TrafficRow(NamedTuple):
    """A row of ``traffic`` (0.0.0.0.0.0.0.0.1.138.0); about ``ue``, ``bearer``, ``queue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    queue_id: int
    #: gauge, B
    queue_bytes: int
    #: gauge
    queue_packets: int
    #: counter, B
    sent_bytes: int
    #: counter
    sent_packets: int
    #: counter
    dropped_packets: int
    #: counter
    policed_packets: int
    #: gauge, us
    sojourn_us: int
    #: gauge, us
    sojourn_max_us: int
    #: gauge, B
    rlc_bytes: int
    #: gauge, us
    rlc_sojourn_us: int
    #: gauge, us
    rlc_sojourn_max_us: int
    #: gauge, kbit/s
    paced_kbps: int
    #: label
    pacer: str


class KpmRow(NamedTuple):
    """A row of ``kpm`` (1.3.6.1.4.1.53148.1.2.2.2); about ``ue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    of: str
    #: label
    measurement: str
    #: label
    label: str
    #: gauge
    value: float
    #: label
    value_unit: str
    #: label
    absent: str
    #: label
    incomplete: int
    #: label
    ue_ids: str


class RcRow(NamedTuple):
    """A row of ``rc`` (1.3.6.1.4.1.53148.1.1.2.3); about ``ue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    of: str
    #: label
    service: str
    #: label
    parameter: str
    #: label
    name: str
    #: label
    value: str
    #: gauge
    number: float
    #: label
    ue_ids: str


class CccRow(NamedTuple):
    """A row of ``ccc`` (1.3.6.1.4.1.53148.1.6.2.4); about the node as a whole."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    of: str
    #: label
    structure: str
    #: label
    attribute: str
    #: label
    value: str
    #: gauge
    number: float
    #: label
    change: str
    #: label
    reason: str


class NiRow(NamedTuple):
    """A row of ``ni`` (1.3.6.1.4.1.53148.1.1.2.1); about ``ue``."""

    ue: Optional[int]
    bearer: Optional[int]
    tunnel: Optional[int]
    slice: Optional[int]
    queue: Optional[int]
    #: label
    interface: str
    #: label
    end: str
    #: label
    direction: str
    #: label
    procedure: str
    #: label
    message: str
    #: label
    ue_ids: str
    #: gauge, B
    length: int


#: A row of any model.
Row = Union[
    HwRow,
    MacRow,
    RlcRow,
    PdcpRow,
    GtpRow,
    CellRow,
    DigestRow,
    RrcRow,
    SliceRow,
    TrafficRow,
    KpmRow,
    RcRow,
    CccRow,
    NiRow,
]

#: The class of each model's rows.
ROWS: dict[str, type[Row]] = {
    "hw": HwRow,
    "mac": MacRow,
    "rlc": RlcRow,
    "pdcp": PdcpRow,
    "gtp": GtpRow,
    "cell": CellRow,
    "digest": DigestRow,
    "rrc": RrcRow,
    "slice": SliceRow,
    "traffic": TrafficRow,
    "kpm": KpmRow,
    "rc": RcRow,
    "ccc": CccRow,
    "ni": NiRow,
}
