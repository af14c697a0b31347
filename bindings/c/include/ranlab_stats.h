/* ranlab: the statistics models MAC, RLC and PDCP (the structs of FlexRIC 2.0, which OpenAirInterface fills). An agent reports
 * your counters; an iApp or xApp reads the reports. */
#ifndef RANLAB_STATS_H
#define RANLAB_STATS_H

#include "ranlab.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RANLAB_ROWS_MAX 4096 /* maximum number of rows */
#define RANLAB_HARQ_ROUNDS 5

enum { RANLAB_RLC_AM = 0, RANLAB_RLC_UM = 1, RANLAB_RLC_TM = 2 }; /* .mode of a bearer */

/* A UE at MAC. "Aggregated" counters grow since it attached; "current" values are those of the most recent slot. */
typedef struct ranlab_mac_ue {
    uint64_t dl_aggr_tbs;                    /* aggregated downlink transport block sizes, bytes */
    uint64_t ul_aggr_tbs;                    /* aggregated uplink transport block sizes, bytes */
    uint64_t dl_aggr_bytes_sdus;             /* aggregated bytes of downlink MAC SDUs */
    uint64_t ul_aggr_bytes_sdus;             /* aggregated bytes of uplink MAC SDUs */
    uint64_t dl_curr_tbs;                    /* current downlink transport block size, bytes */
    uint64_t ul_curr_tbs;                    /* current uplink transport block size, bytes */
    uint64_t dl_sched_rb;                    /* downlink resource blocks scheduled in the current slot */
    uint64_t ul_sched_rb;                    /* uplink resource blocks scheduled in the current slot */
    float pusch_snr;                         /* signal-to-noise ratio of the PUSCH, dB */
    float pucch_snr;                         /* signal-to-noise ratio of the PUCCH, dB */
    float dl_bler;                           /* downlink block error rate, 0 to 1 */
    float ul_bler;                           /* uplink block error rate, 0 to 1 */
    uint32_t dl_harq[RANLAB_HARQ_ROUNDS];    /* downlink transmissions by HARQ round: the first, then retransmissions */
    uint32_t ul_harq[RANLAB_HARQ_ROUNDS];    /* uplink transmissions by HARQ round */
    uint32_t dl_num_harq;                    /* number of HARQ rounds reported in the downlink (FlexRIC's agents: 4) */
    uint32_t ul_num_harq;                    /* number of HARQ rounds reported in the uplink (FlexRIC's agents: 4) */
    uint32_t rnti;                           /* radio network temporary identifier of the UE (a 16-bit number in a 32-bit field) */
    uint32_t dl_aggr_prb;                    /* aggregated downlink resource blocks, retransmissions included */
    uint32_t ul_aggr_prb;                    /* aggregated uplink resource blocks, retransmissions included */
    uint32_t dl_aggr_sdus;                   /* aggregated number of downlink MAC SDUs */
    uint32_t ul_aggr_sdus;                   /* aggregated number of uplink MAC SDUs */
    uint32_t dl_aggr_retx_prb;               /* aggregated downlink resource blocks of retransmissions */
    uint32_t ul_aggr_retx_prb;               /* aggregated uplink resource blocks of retransmissions */
    uint32_t bsr;                            /* buffer status report: bytes queued in the UE */
    uint16_t frame;                          /* system frame number, 0 to 1023 */
    uint16_t slot;                           /* slot within the frame */
    uint8_t wb_cqi;                          /* wideband channel quality indicator, 0 to 15 (TS 38.214, 5.2.2.1) */
    uint8_t dl_mcs1;                         /* downlink modulation and coding scheme, table 1 */
    uint8_t ul_mcs1;                         /* uplink modulation and coding scheme, table 1 */
    uint8_t dl_mcs2;                         /* downlink modulation and coding scheme, table 2 */
    uint8_t ul_mcs2;                         /* uplink modulation and coding scheme, table 2 */
    int8_t phr;                              /* power headroom report, dB */
} ranlab_mac_ue;

/* A radio bearer at RLC; tx is the downlink. Counters grow since it was set up and wrap at their width. */
typedef struct ranlab_rlc_bearer {
    uint32_t txpdu_pkts;                     /* PDUs sent */
    uint32_t txpdu_bytes;                    /* bytes of PDUs sent */
    uint32_t txpdu_wt_ms;                    /* current head-of-line delay of the transmit buffer, ms */
    uint32_t txpdu_dd_pkts;                  /* PDUs dropped or discarded on transmission */
    uint32_t txpdu_dd_bytes;                 /* bytes of PDUs dropped or discarded on transmission */
    uint32_t txpdu_retx_pkts;                /* PDUs retransmitted (acknowledged mode) */
    uint32_t txpdu_retx_bytes;               /* bytes of PDUs retransmitted */
    uint32_t txpdu_segmented;                /* PDUs that carried a segment of an SDU */
    uint32_t txpdu_status_pkts;              /* status PDUs sent */
    uint32_t txpdu_status_bytes;             /* bytes of status PDUs sent */
    uint32_t txbuf_occ_bytes;                /* bytes in the transmit buffer */
    uint32_t txbuf_occ_pkts;                 /* PDUs or SDUs in the transmit buffer */
    uint32_t rxpdu_pkts;                     /* PDUs received */
    uint32_t rxpdu_bytes;                    /* bytes of PDUs received */
    uint32_t rxpdu_dup_pkts;                 /* duplicate PDUs received */
    uint32_t rxpdu_dup_bytes;                /* bytes of duplicate PDUs received */
    uint32_t rxpdu_dd_pkts;                  /* PDUs dropped or discarded on receipt */
    uint32_t rxpdu_dd_bytes;                 /* bytes of PDUs dropped or discarded on receipt */
    uint32_t rxpdu_ow_pkts;                  /* PDUs received out of the window */
    uint32_t rxpdu_ow_bytes;                 /* bytes of PDUs received out of the window */
    uint32_t rxpdu_status_pkts;              /* status PDUs received */
    uint32_t rxpdu_status_bytes;             /* bytes of status PDUs received */
    uint32_t rxbuf_occ_bytes;                /* bytes in the receive buffer */
    uint32_t rxbuf_occ_pkts;                 /* PDUs in the receive buffer */
    uint32_t txsdu_pkts;                     /* SDUs received from the upper layer */
    uint64_t txsdu_bytes;                    /* bytes of SDUs received from the upper layer */
    double txsdu_avg_time_to_tx_us;          /* average time from an SDU's arrival to its transmission, microseconds */
    uint32_t txsdu_wt_us;                    /* current head-of-line delay of the SDU buffer, microseconds */
    uint32_t rxsdu_pkts;                     /* SDUs delivered to the upper layer */
    uint64_t rxsdu_bytes;                    /* bytes of SDUs delivered to the upper layer */
    uint32_t rxsdu_dd_pkts;                  /* SDUs dropped or discarded on receipt */
    uint32_t rxsdu_dd_bytes;                 /* bytes of SDUs dropped or discarded on receipt */
    uint32_t rnti;                           /* radio network temporary identifier of the UE */
    uint8_t mode;                            /* RANLAB_RLC_*: mode of the entity */
    uint8_t rbid;                            /* radio bearer identity */
} ranlab_rlc_bearer;

/* A radio bearer at PDCP; tx is the downlink. Counters grow since it was set up and wrap at their width. */
typedef struct ranlab_pdcp_bearer {
    uint32_t txpdu_pkts;                     /* PDUs sent to RLC */
    uint32_t txpdu_bytes;                    /* bytes of PDUs sent to RLC */
    uint32_t txpdu_sn;                       /* sequence number of the last PDU sent */
    uint32_t rxpdu_pkts;                     /* PDUs received from RLC */
    uint32_t rxpdu_bytes;                    /* bytes of PDUs received from RLC */
    uint32_t rxpdu_sn;                       /* sequence number of the last PDU received */
    uint32_t rxpdu_oo_pkts;                  /* PDUs received out of order */
    uint32_t rxpdu_oo_bytes;                 /* bytes of PDUs received out of order */
    uint32_t rxpdu_dd_pkts;                  /* duplicate or discarded PDUs received */
    uint32_t rxpdu_dd_bytes;                 /* bytes of duplicate or discarded PDUs received */
    uint32_t rxpdu_ro_count;                 /* PDUs that wait for reordering */
    uint32_t txsdu_pkts;                     /* SDUs received from the upper layer */
    uint32_t txsdu_bytes;                    /* bytes of SDUs received from the upper layer */
    uint32_t rxsdu_pkts;                     /* SDUs delivered to the upper layer */
    uint32_t rxsdu_bytes;                    /* bytes of SDUs delivered to the upper layer */
    uint32_t rnti;                           /* radio network temporary identifier of the UE */
    uint8_t mode;                            /* RANLAB_RLC_*: mode of the RLC entity below */
    uint8_t rbid;                            /* radio bearer identity */
} ranlab_pdcp_bearer;

/* Callbacks that an agent registers, as RAN functions 142, 143 and 144. The structs may be freed after registration. time_us returns
 * the time of day, in microseconds since 1970. read writes the current rows, which are zeroed before, and returns their number. */
typedef struct ranlab_mac {
    int64_t (*time_us)(void *userdata);
    size_t (*read)(void *userdata, ranlab_mac_ue *rows, size_t rows_max);
} ranlab_mac;
typedef struct ranlab_rlc {
    int64_t (*time_us)(void *userdata);
    size_t (*read)(void *userdata, ranlab_rlc_bearer *rows, size_t rows_max);
} ranlab_rlc;
typedef struct ranlab_pdcp {
    int64_t (*time_us)(void *userdata);
    size_t (*read)(void *userdata, ranlab_pdcp_bearer *rows, size_t rows_max);
} ranlab_pdcp;

/* read is called for each report of a subscription (every 1 ms to 60 s). A controller other than the first one gets only the UEs
 * that are associated with it; rnti is their number. */
int32_t ranlab_agent_register_mac(ranlab_agent *agent, const ranlab_mac *counters, void *userdata);
int32_t ranlab_agent_register_rlc(ranlab_agent *agent, const ranlab_rlc *counters, void *userdata);
int32_t ranlab_agent_register_pdcp(ranlab_agent *agent, const ranlab_pdcp *counters, void *userdata);

/* Reads the message of an indication: its rows, their number, and their time (may be NULL). With RANLAB_ERR_BUFFER_TOO_SMALL,
 * rows_len is the required number. RANLAB_ERR_NOT_OF_MODEL: the message does not belong to the model. */
int32_t ranlab_mac_read(const uint8_t *message, size_t message_len, ranlab_mac_ue *rows, size_t rows_max,
                        size_t *rows_len, int64_t *time_us);
int32_t ranlab_rlc_read(const uint8_t *message, size_t message_len, ranlab_rlc_bearer *rows, size_t rows_max,
                        size_t *rows_len, int64_t *time_us);
int32_t ranlab_pdcp_read(const uint8_t *message, size_t message_len, ranlab_pdcp_bearer *rows, size_t rows_max,
                         size_t *rows_len, int64_t *time_us);

#ifdef __cplusplus
}
#endif
#endif
