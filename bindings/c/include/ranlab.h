/* ranlab: E2 (the interface between base stations and the near-RT RIC) for C programs.
 *
 *   ranlab.h         common definitions; an agent: E2 for a base station, with your own RAN functions and KPM
 *   ranlab_stats.h   MAC, RLC and PDCP functions from your counters; reading of their reports
 *   ranlab_ric.h     a RIC: E2 towards base stations, E42 towards xApps, with your own iApps
 *   ranlab_xapp.h    an xApp: E42 towards a RIC
 *
 * All of them are state machines without sockets, clock or threads. Your program passes inputs and executes outputs. For an agent:
 *
 *   1. ranlab_agent_connected / _disconnected / _receive / _wake   report an input
 *   2. ranlab_agent_poll until RANLAB_EVENT_NONE                    returns actions (connect, transmit, close) and events
 *   3. ranlab_agent_transmit until pdu_len is 0                     returns the PDUs to send to a controller
 *   4. ranlab_agent_wake no later than ranlab_agent_wake_at
 *
 * In steady state, indications cause no heap allocation: neither sending them from your own functions, MAC, RLC or PDCP, nor
 * receiving them in an iApp or xApp, nor forwarding them to an xApp. KPM reports do allocate.
 *
 * Framing. PDUs are passed as a whole. On SCTP a message is a PDU. On TCP and Unix sockets each PDU follows its length,
 * 4 bytes, big endian:
 *     uint8_t head[4] = { len >> 24, len >> 16, len >> 8, len };       send head, then the PDU
 *     len = (uint32_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
 *
 * Conventions. A machine is an agent, a RIC or an xApp.
 *   Errors     Functions return RANLAB_OK (0) or a positive error code, which never changes its meaning and is never
 *              reused. Results are written through pointers, and only with RANLAB_OK unless documented otherwise.
 *              NULL where it is not allowed is an error, never a crash.
 *   Ownership  The library copies your arguments unless documented otherwise. Returned data belongs to the machine: data of
 *              an event is valid until the next call with this machine, arguments of a callback until it returns. You own
 *              the machine from _new to _free.
 *   Userdata   is passed to your callbacks unchanged; it must be valid for the lifetime of the machine.
 *   Threads    Only one thread may use a machine at a time. Different machines are independent.
 *   Callbacks  run inside _receive, _wake, _disconnected and similar functions, on your thread. They may only call
 *              ranlab_context_* or ranlab_iapp_*: any other call with the same machine returns RANLAB_ERR_BUSY. Do not
 *              leave a callback by longjmp or a C++ exception.
 *   Time       Nanoseconds of a monotonic clock, the same one for all calls.
 *   Panics     An internal error of the library returns RANLAB_ERR_PANIC; the machine can then only be freed.
 */
#ifndef RANLAB_H
#define RANLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RANLAB_OK = 0,
    RANLAB_ERR_NULL = 1,                 /* a required pointer is NULL */
    RANLAB_ERR_PANIC = 2,                /* internal error of the library: free the machine */
    RANLAB_ERR_BUSY = 3,                 /* called from a callback of the same machine */
    RANLAB_ERR_INVALID = 4,              /* a value is out of range, or a string is not UTF-8 */
    RANLAB_ERR_FUNCTION = 5,             /* the OID is empty, too long or not printable, or the limit of 256 functions is reached */
    RANLAB_ERR_CONTROLLER_LIMIT = 6,     /* the limit of 8 controllers is reached */
    RANLAB_ERR_CONTROLLER_TAKEN = 7,     /* a controller with this address exists */
    RANLAB_ERR_UNKNOWN_CONTROLLER = 8,
    RANLAB_ERR_UNKNOWN_SUBSCRIPTION = 9, /* it has ended, or belongs to another function */
    RANLAB_ERR_BUFFER_TOO_SMALL = 10,    /* call again with the returned length; no data is lost */
    RANLAB_ERR_ENCODE = 11,              /* E2AP cannot encode the values */
    RANLAB_ERR_UE = 12,                  /* the UE does not exist, or the limit of UEs is reached */
    RANLAB_ERR_NODE = 13,                /* the node does not exist */
    RANLAB_ERR_NODE_FUNCTION = 14,       /* the node does not offer this RAN function */
    RANLAB_ERR_LIMIT = 15,               /* a limit is reached */
    RANLAB_ERR_NOT_READY = 16,           /* the xApp is not connected to a RIC */
    RANLAB_ERR_UNKNOWN_CONNECTION = 17,  /* it was closed, or never existed */
    RANLAB_ERR_UNKNOWN_IAPP = 18,
    RANLAB_ERR_UNKNOWN_CONTROL = 19,     /* no control is being handled, or its response is no longer awaited */
    RANLAB_ERR_MODEL = 20,               /* the library has no service model with this OID */
    RANLAB_ERR_NOT_OF_MODEL = 21,        /* the bytes are not valid in the service model, or the report period is not supported */
    RANLAB_ERR_ORDER = 22,               /* no base station can execute the order; why names the value and the allowed range */
    RANLAB_ERR_NOT_OFFERED = 23          /* the node's RAN function definition does not list it; why names what it lists */
};

enum { /* ranlab_event.kind */
    RANLAB_EVENT_NONE = 0,         /* no further event now */
    RANLAB_EVENT_CONNECT = 1,      /* connect to text, then call _connected or _disconnected */
    RANLAB_EVENT_TRANSMIT = 2,     /* call _transmit */
    RANLAB_EVENT_CLOSE = 3,        /* close the connection (text is the reason); do not call _disconnected */
    RANLAB_EVENT_SETUP = 4,        /* the controller accepted the node */
    RANLAB_EVENT_DISCONNECTED = 5, /* a RANLAB_EVENT_CONNECT will follow */
    RANLAB_EVENT_SUBSCRIBED = 6,
    RANLAB_EVENT_UNSUBSCRIBED = 7,
    RANLAB_EVENT_OTHER = 8         /* described by text */
};

enum { RANLAB_ACTION_REPORT = 0, RANLAB_ACTION_INSERT = 1, RANLAB_ACTION_POLICY = 2 }; /* ranlab_action.kind */

enum { /* return values of on_control and on_query */
    RANLAB_CONTROL_DONE = 0,
    RANLAB_CONTROL_INVALID = 1, /* refused: the message is invalid */
    RANLAB_CONTROL_FAILED = 2   /* refused: execution failed */
};

#define RANLAB_NEVER UINT64_MAX /* result of _wake_at: there is no deadline */

typedef struct ranlab_agent ranlab_agent;
typedef struct ranlab_context ranlab_context; /* the agent as seen from a callback */

enum { /* type of a node: ranlab_agent_config.node, ranlab_node.kind */
    RANLAB_NODE_GNB = 0,
    RANLAB_NODE_GNB_CU = 1,
    RANLAB_NODE_GNB_CU_CP = 2,
    RANLAB_NODE_GNB_CU_UP = 3,
    RANLAB_NODE_GNB_DU = 4,
    RANLAB_NODE_NG_ENB = 5,
    RANLAB_NODE_ENB = 6,
    RANLAB_NODE_EN_GNB = 7,
    RANLAB_NODE_EN_GNB_CU_UP = 8, /* this and the following: not in E2AP 1.01 */
    RANLAB_NODE_EN_GNB_DU = 9,
    RANLAB_NODE_NG_ENB_DU = 10
};

enum { RANLAB_E2AP_2_03 = 0, RANLAB_E2AP_1_01 = 1, RANLAB_E2AP_3_01 = 3 }; /* .e2ap of the configs */

typedef struct ranlab_agent_config {
    uint16_t mcc, mnc;
    uint8_t mnc_digits;   /* 2 or 3 */
    uint8_t gnb_id_bits;  /* 22 to 32; eNB or ng-eNB: 18, 20 or 21 (short macro, macro, long macro); home eNB: 28 */
    uint32_t gnb_id;      /* the same for all nodes of a base station */
    uint64_t seed;        /* seed of the reconnect jitter; should differ between nodes */
    const char *amf_name; /* name of the NG or S1 interface in the list of components; NULL: "amf" */
    uint8_t node;         /* RANLAB_NODE_* */
    uint8_t e2ap;         /* RANLAB_E2AP_*, for all controllers; 2.03 is upgraded to 3.01 if a controller uses it */
    uint64_t part_id;     /* id of a CU-UP or DU; for a CU, that of its first DU or CU-UP; below 2^36 */
} ranlab_agent_config;

typedef struct ranlab_event {
    uint32_t kind;         /* RANLAB_EVENT_* */
    uint32_t controller;   /* controller, for events of a controller */
    uint64_t subscription; /* for SUBSCRIBED and UNSUBSCRIBED */
    const char *text;      /* never NULL */
} ranlab_event;

typedef struct ranlab_action {
    uint8_t id;
    uint8_t kind;              /* RANLAB_ACTION_* */
    const uint8_t *definition; /* never NULL */
    size_t definition_len;
} ranlab_action;

typedef struct ranlab_subscription {
    uint64_t id; /* never 0, never reused by an agent */
    uint32_t controller;
    const uint8_t *event_trigger;
    size_t event_trigger_len;
    const ranlab_action *actions;
    size_t actions_len; /* 1 to 16 */
} ranlab_subscription;

typedef struct ranlab_control {
    uint32_t controller;
    const uint8_t *header;
    size_t header_len;
    const uint8_t *message;
    size_t message_len;
    const uint8_t *call_process_id; /* of the insert to which this responds; NULL: none */
    size_t call_process_id_len;
} ranlab_control;

typedef struct ranlab_query { /* a RIC query (E2AP 3.01) */
    uint32_t controller;
    const uint8_t *header;
    size_t header_len;
    const uint8_t *definition;
    size_t definition_len;
} ranlab_query;

/* An indication of type insert: the controller responds with a control that has the same call process id. Your function must
 * handle a missing response. Pointers may be NULL if their length is 0. */
typedef struct ranlab_insert {
    uint64_t subscription;
    uint8_t action;
    const uint8_t *header;
    size_t header_len;
    const uint8_t *message;
    size_t message_len;
    const uint8_t *call_process_id;
    size_t call_process_id_len;
} ranlab_insert;

/* A RAN function: the callbacks of a service model. The struct and its strings may be freed after registration. */
typedef struct ranlab_function {
    const char *oid;           /* identifies the service model */
    const uint8_t *definition; /* RAN function definition; NULL if definition_len is 0 */
    size_t definition_len;
    uint16_t revision; /* 0 to 4095 */
    /* Returns the admitted actions as a bit mask: bit i for actions[i]. If it is 0, on_subscription_delete follows. */
    uint32_t (*on_subscription)(void *userdata, ranlab_context *ctx, const ranlab_subscription *subscription);
    void (*on_subscription_delete)(void *userdata, ranlab_context *ctx, uint64_t subscription);
    /* Returns RANLAB_CONTROL_*. If NULL, every control is refused as invalid. */
    uint32_t (*on_control)(void *userdata, ranlab_context *ctx, const ranlab_control *control);
    /* Called at the time set by ranlab_context_wake_at, or after ranlab_agent_rouse. May be NULL. */
    void (*on_wake)(void *userdata, ranlab_context *ctx);
    /* Returns RANLAB_CONTROL_*; ranlab_context_outcome sets the response. If NULL, every query fails. */
    uint32_t (*on_query)(void *userdata, ranlab_context *ctx, const ranlab_query *query);
} ranlab_function;

#define RANLAB_NO_SD 0xffffffu  /* ranlab_ue.sd: the slice has no slice differentiator */
#define RANLAB_UES_MAX 1024     /* maximum number of UEs */

/* Counters of a UE. All but the delay only increase. [0] is downlink, [1] uplink. */
typedef struct ranlab_ue {
    uint32_t number;             /* identifier of the UE at this node: C-RNTI, or gNB-CU-UE-F1AP-ID */
    uint8_t sst;                 /* of its slice; 0: no slice */
    uint32_t sd;                 /* of its slice, or RANLAB_NO_SD */
    uint64_t delivered_bytes[2]; /* bytes delivered by RLC */
    uint64_t pdcp_sdu_bytes[2];  /* bytes passed to PDCP for sending, and bytes received by PDCP */
    uint64_t prbs[2];            /* resource blocks, summed over slots */
    double rlc_delay_us;         /* queueing delay of sent RLC SDUs, moving average, microseconds */
} ranlab_ue;

/* E2SM-KPM 2.03 and 3.00 (report styles 1 to 5) as function 2. The library calculates the reports from your counters:
 * throughput, resource blocks, volume and delay, named as in TS 28.552. The struct may be freed after registration. */
typedef struct ranlab_kpm {
    uint16_t prbs; /* resource blocks of the downlink carrier */
    /* Returns the time of day, in microseconds since 1970; also called after each read. */
    int64_t (*time_us)(void *userdata);
    /* Writes the number of resource blocks offered since the start, and the connected UEs. Returns the number of UEs. */
    size_t (*read)(void *userdata, uint64_t *prbs_offered, ranlab_ue *ues, size_t ues_max);
} ranlab_kpm;

/* Returns the meaning of an error code: a static string, never NULL. */
const char *ranlab_error_text(int32_t error);

int32_t ranlab_agent_new(const ranlab_agent_config *config, ranlab_agent **agent);
/* NULL is allowed. If a callback of this agent calls it, RANLAB_ERR_BUSY is returned, and the agent is not freed. */
int32_t ranlab_agent_free(ranlab_agent *agent);

/* Writes the RAN function id to id, which may be NULL. */
int32_t ranlab_agent_register_function(ranlab_agent *agent, const ranlab_function *function, void *userdata,
                                       uint16_t *id);
int32_t ranlab_agent_register_kpm(ranlab_agent *agent, const ranlab_kpm *kpm, void *userdata);
/* address is returned in RANLAB_EVENT_CONNECT; the library does not interpret it. controller may be NULL. */
int32_t ranlab_agent_add_controller(ranlab_agent *agent, uint64_t now_ns, const char *address, uint32_t *controller);
int32_t ranlab_agent_remove_controller(ranlab_agent *agent, uint64_t now_ns, uint32_t controller);

/* The first controller sees all UEs; any other controller sees only the UEs that are associated with it. A UE must have arrived
 * before it can be associated. ue is the number of the UE in KPM. */
int32_t ranlab_agent_ue_arrived(ranlab_agent *agent, uint64_t ue);
int32_t ranlab_agent_ue_left(ranlab_agent *agent, uint64_t ue);
int32_t ranlab_agent_associate_ue(ranlab_agent *agent, uint64_t ue, uint32_t controller);
int32_t ranlab_agent_dissociate_ue(ranlab_agent *agent, uint64_t ue, uint32_t controller);

int32_t ranlab_agent_connected(ranlab_agent *agent, uint64_t now_ns, uint32_t controller);
int32_t ranlab_agent_disconnected(ranlab_agent *agent, uint64_t now_ns, uint32_t controller);
/* pdu is one whole PDU, without its length prefix. A faulty PDU causes a response to the peer, not an error here. */
int32_t ranlab_agent_receive(ranlab_agent *agent, uint64_t now_ns, uint32_t controller, const uint8_t *pdu,
                             size_t pdu_len);
int32_t ranlab_agent_wake(ranlab_agent *agent, uint64_t now_ns);
int32_t ranlab_agent_wake_at(ranlab_agent *agent, uint64_t *at_ns);
/* Calls on_wake of a function now, for example because an event must be reported. Unknown ids are ignored. */
int32_t ranlab_agent_rouse(ranlab_agent *agent, uint64_t now_ns, uint16_t function);

int32_t ranlab_agent_poll(ranlab_agent *agent, ranlab_event *event);
/* Writes the next PDU for a controller and its length, or length 0 if there is none. With RANLAB_ERR_BUFFER_TOO_SMALL,
 * pdu_len is the required size (at most 1 MiB). */
int32_t ranlab_agent_transmit(ranlab_agent *agent, uint64_t now_ns, uint32_t controller, uint8_t *buffer,
                              size_t buffer_len, size_t *pdu_len);

/* Functions for callbacks. */
int32_t ranlab_context_now(ranlab_context *ctx, uint64_t *now_ns);
/* Sends an indication of type report. header and message may be NULL if their length is 0. */
int32_t ranlab_context_indicate(ranlab_context *ctx, uint64_t subscription, uint8_t action, const uint8_t *header,
                                size_t header_len, const uint8_t *message, size_t message_len);
int32_t ranlab_context_insert(ranlab_context *ctx, const ranlab_insert *insert);
/* Schedules on_wake. The earliest time set since the last on_wake applies. */
int32_t ranlab_context_wake_at(ranlab_context *ctx, uint64_t at_ns);
/* Sets the outcome (bytes of the service model) in the response to the current control or query, executed or refused. */
int32_t ranlab_context_outcome(ranlab_context *ctx, const uint8_t *outcome, size_t outcome_len);
/* Defers the response in on_control, which then returns RANLAB_CONTROL_DONE. A later callback of the same function sends it
 * with ranlab_context_answer. RANLAB_ERR_UNKNOWN_CONTROL: no control is being handled, or 1,024 are deferred already. */
int32_t ranlab_context_answer_later(ranlab_context *ctx, uint64_t *ticket);
/* done: RANLAB_CONTROL_*. RANLAB_ERR_UNKNOWN_CONTROL: the response is no longer awaited. */
int32_t ranlab_context_answer(ranlab_context *ctx, uint64_t ticket, uint32_t done);
/* Writes 1 if the controller of a subscription sees a UE, else 0. */
int32_t ranlab_context_shows_ue(ranlab_context *ctx, uint64_t subscription, uint64_t ue, uint8_t *shows);

/* Event triggers and action definitions of the library's service models, by OID. The bytes and their length are written; with
 * RANLAB_ERR_BUFFER_TOO_SMALL, the length is the required size. */
#define RANLAB_OID_MAC "0.0.0.0.0.0.0.0.1.142.0"
#define RANLAB_OID_RLC "0.0.0.0.0.0.0.0.1.143.0"
#define RANLAB_OID_PDCP "0.0.0.0.0.0.0.0.1.144.0"
#define RANLAB_OID_KPM "1.3.6.1.4.1.53148.1.2.2.2"
/* Writes the event trigger for a report every period_us microseconds. */
int32_t ranlab_model_trigger(const char *oid, uint64_t period_us, uint8_t *trigger, size_t trigger_max,
                             size_t *trigger_len);
/* Writes the action definition that requests everything that a RAN function with this definition offers; length 0 if the model
 * has no action definition. */
int32_t ranlab_model_action(const char *oid, const uint8_t *definition, size_t definition_len, uint64_t period_us,
                            uint8_t *action, size_t action_max, size_t *action_len);

#ifdef __cplusplus
}
#endif
#endif
