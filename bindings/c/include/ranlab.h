/* ranlab: E2 (near-RT RIC interface of base stations) for C programs.
 *
 *   ranlab.h         what all share; an agent: the base station's end of E2, with RAN functions of your own and KPM
 *   ranlab_stats.h   MAC, RLC and PDCP out of your counters, and their reports read again
 *   ranlab_ric.h     a RIC: E2 towards base stations, E42 towards xApps, iApps of your own inside
 *   ranlab_xapp.h    an xApp: E42 towards a RIC
 *
 * None has sockets, a clock or threads. Your program tells it what happened and when, and asks what follows; for an agent
 *
 *   1. ranlab_agent_connected / _disconnected / _receive / _wake   something happened
 *   2. ranlab_agent_poll until RANLAB_EVENT_NONE                    connect, transmit, close, or worth knowing
 *   3. ranlab_agent_transmit until it gives no more                 PDUs for a controller, each for you to send
 *   4. ranlab_agent_wake no later than ranlab_agent_wake_at
 *
 * Sending an indication of a function of your own, MAC, RLC or PDCP asks the heap for nothing once it runs, nor does receiving one
 * as an iApp or xApp, or forwarding one to an xApp; KPM's reports are put together anew.
 *
 * Framing. PDUs go in and out whole. On SCTP a message is a PDU. On TCP and Unix sockets a PDU has its length in front,
 * 4 octets, big endian:
 *     uint8_t head[4] = { len >> 24, len >> 16, len >> 8, len };       send head, then the PDU
 *     len = (uint32_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
 *
 * Conventions. A machine is an agent, a RIC or an xApp.
 *   Errors     Functions return RANLAB_OK (0) or a positive error; its number never changes its meaning and is never
 *              used again. Results come through pointers and are written only with RANLAB_OK, unless said otherwise.
 *              NULL is an error where it is not allowed, never a crash.
 *   Ownership  What you pass in is copied, unless said otherwise; you keep it. What you get is the machine's: what an event
 *              points to lives until the next call with this machine, what a callback is given until it returns. The
 *              machine itself is yours from _new to _free.
 *   Userdata   goes back to your callbacks as it came; it must live as long as the machine.
 *   Threads    A machine belongs to one thread at a time. Different machines know nothing of each other.
 *   Callbacks  run inside _receive, _wake, _disconnected and the like, on your thread. From there call ranlab_context_* or
 *              ranlab_iapp_* alone: anything else with the same machine returns RANLAB_ERR_BUSY. Do not leave one by longjmp
 *              or a C++ exception.
 *   Time       Nanoseconds of any clock that never goes back, the same for all calls.
 *   Panics     A fault inside the library returns RANLAB_ERR_PANIC; that machine then only can be freed.
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
    RANLAB_ERR_NULL = 1,                 /* a pointer is NULL that must not be */
    RANLAB_ERR_PANIC = 2,                /* a fault inside the library: free the machine */
    RANLAB_ERR_BUSY = 3,                 /* called from a callback of the same machine */
    RANLAB_ERR_INVALID = 4,              /* a value outside its range, or a string that is not UTF-8 */
    RANLAB_ERR_FUNCTION = 5,             /* the OID is empty, too long or not printable, or there are 256 functions */
    RANLAB_ERR_CONTROLLER_LIMIT = 6,     /* there are 8 controllers */
    RANLAB_ERR_CONTROLLER_TAKEN = 7,     /* there is a controller with this address */
    RANLAB_ERR_UNKNOWN_CONTROLLER = 8,
    RANLAB_ERR_UNKNOWN_SUBSCRIPTION = 9, /* it is gone, or another function's */
    RANLAB_ERR_BUFFER_TOO_SMALL = 10,    /* nothing is lost: call again with the length told */
    RANLAB_ERR_ENCODE = 11,              /* E2AP cannot express it */
    RANLAB_ERR_UE = 12,                  /* there is no such UE, or there are as many as an agent takes */
    RANLAB_ERR_NODE = 13,                /* there is no such node */
    RANLAB_ERR_NODE_FUNCTION = 14,       /* the node offers no such RAN function */
    RANLAB_ERR_LIMIT = 15,               /* there are as many already as are allowed */
    RANLAB_ERR_NOT_READY = 16,           /* the xApp is not connected to a RIC */
    RANLAB_ERR_UNKNOWN_CONNECTION = 17,  /* it was closed, or never there */
    RANLAB_ERR_UNKNOWN_IAPP = 18,
    RANLAB_ERR_UNKNOWN_CONTROL = 19,     /* none is being handled, or nobody waits for its answer any more */
    RANLAB_ERR_MODEL = 20,               /* no service model of the library has this OID */
    RANLAB_ERR_NOT_OF_MODEL = 21         /* the service model has no such octets, or no reports at such a period */
};

enum { /* ranlab_event.kind */
    RANLAB_EVENT_NONE = 0,         /* nothing more for now */
    RANLAB_EVENT_CONNECT = 1,      /* connect to text, then call _connected or _disconnected */
    RANLAB_EVENT_TRANSMIT = 2,     /* call _transmit */
    RANLAB_EVENT_CLOSE = 3,        /* close the connection, text says why; do not call _disconnected */
    RANLAB_EVENT_SETUP = 4,        /* the controller accepted the node */
    RANLAB_EVENT_DISCONNECTED = 5, /* the agent will ask for a new connection by itself */
    RANLAB_EVENT_SUBSCRIBED = 6,
    RANLAB_EVENT_UNSUBSCRIBED = 7,
    RANLAB_EVENT_OTHER = 8         /* text says it */
};

enum { RANLAB_ACTION_REPORT = 0, RANLAB_ACTION_INSERT = 1, RANLAB_ACTION_POLICY = 2 }; /* ranlab_action.kind */

enum { /* what on_control and on_query return */
    RANLAB_CONTROL_DONE = 0,
    RANLAB_CONTROL_INVALID = 1, /* refused: the message makes no sense */
    RANLAB_CONTROL_FAILED = 2   /* refused: it could not be done */
};

#define RANLAB_NEVER UINT64_MAX /* of _wake_at: nothing is due */

typedef struct ranlab_agent ranlab_agent;
typedef struct ranlab_context ranlab_context; /* the agent as seen from a callback */

enum { /* which node: ranlab_agent_config.node, ranlab_node.kind */
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
    uint8_t gnb_id_bits;  /* 22 to 32; of an eNB or ng-eNB 18, 20 or 21 (short macro, macro, long macro), of a home eNB 28 */
    uint32_t gnb_id;      /* the same for all parts of a base station */
    uint64_t seed;        /* of the jitter when reconnecting: different for each node */
    const char *amf_name; /* names the NG or S1 interface among the node's components; NULL: "amf" */
    uint8_t node;         /* RANLAB_NODE_* */
    uint8_t e2ap;         /* RANLAB_E2AP_*; one version for all controllers; 2.03 turns into 3.01 with one that speaks it */
    uint64_t part_id;     /* of a CU-UP or DU its own id, of a CU that of its first part; below 2^36 */
} ranlab_agent_config;

typedef struct ranlab_event {
    uint32_t kind;         /* RANLAB_EVENT_* */
    uint32_t controller;   /* whom it is about, if kind says so */
    uint64_t subscription; /* of SUBSCRIBED and UNSUBSCRIBED */
    const char *text;      /* never NULL */
} ranlab_event;

typedef struct ranlab_action {
    uint8_t id;
    uint8_t kind;              /* RANLAB_ACTION_* */
    const uint8_t *definition; /* never NULL */
    size_t definition_len;
} ranlab_action;

typedef struct ranlab_subscription {
    uint64_t id; /* never 0, never used twice by an agent */
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
    const uint8_t *call_process_id; /* of the insert that this answers; NULL: of none */
    size_t call_process_id_len;
} ranlab_control;

typedef struct ranlab_query { /* a question (E2AP 3.01) */
    uint32_t controller;
    const uint8_t *header;
    size_t header_len;
    const uint8_t *definition;
    size_t definition_len;
} ranlab_query;

/* An indication of type insert: the controller is asked, and answers by a control with the same call process id. What happens
 * if it does not is yours to decide. Pointers may be NULL if their length is 0. */
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

/* A RAN function: what a service model is asked. The struct and its strings may go after registration. */
typedef struct ranlab_function {
    const char *oid;           /* names the service model */
    const uint8_t *definition; /* RAN function definition; NULL if definition_len is 0 */
    size_t definition_len;
    uint16_t revision; /* 0 to 4095 */
    /* Returns which actions are admitted: bit i for actions[i]. If none is, on_subscription_delete follows. */
    uint32_t (*on_subscription)(void *userdata, ranlab_context *ctx, const ranlab_subscription *subscription);
    void (*on_subscription_delete)(void *userdata, ranlab_context *ctx, uint64_t subscription);
    /* Returns RANLAB_CONTROL_*. NULL: every control is refused as invalid. */
    uint32_t (*on_control)(void *userdata, ranlab_context *ctx, const ranlab_control *control);
    /* The time has come that was asked for with ranlab_context_wake_at, or ranlab_agent_rouse was called. May be NULL. */
    void (*on_wake)(void *userdata, ranlab_context *ctx);
    /* Returns RANLAB_CONTROL_*; what is asked for is told by ranlab_context_outcome. NULL: every query fails. */
    uint32_t (*on_query)(void *userdata, ranlab_context *ctx, const ranlab_query *query);
} ranlab_function;

#define RANLAB_NO_SD 0xffffffu  /* ranlab_ue.sd: the slice has no differentiator */
#define RANLAB_UES_MAX 1024     /* UEs that are read at most */

/* Counters of a UE. All but the delay grow for ever; [0] is downlink, [1] uplink. */
typedef struct ranlab_ue {
    uint32_t number;             /* of the UE at this node: its C-RNTI, or gNB-CU-UE-F1AP-ID */
    uint8_t sst;                 /* of its slice; 0: it has none */
    uint32_t sd;                 /* of its slice, or RANLAB_NO_SD */
    uint64_t delivered_bytes[2]; /* octets that RLC handed on */
    uint64_t pdcp_sdu_bytes[2];  /* octets that PDCP got to send, and received */
    uint64_t prbs[2];            /* resource blocks, a slot's counted each */
    double rlc_delay_us;         /* how long what RLC sent had waited, a moving mean, microseconds */
} ranlab_ue;

/* E2SM-KPM 2.03 and 3.00 (report styles 1 to 5) as function 2. The library makes the reports at the subscribed periods out of
 * counters: throughput, resource blocks, volume and delay by their names in TS 28.552. The struct may go after registration. */
typedef struct ranlab_kpm {
    uint16_t prbs; /* resource blocks of the downlink carrier */
    /* The time of day, microseconds since 1970; asked for right after each reading, too. */
    int64_t (*time_us)(void *userdata);
    /* Writes the resource blocks that there were since the start, and the UEs that are there; returns how many. */
    size_t (*read)(void *userdata, uint64_t *prbs_offered, ranlab_ue *ues, size_t ues_max);
} ranlab_kpm;

/* What an error means; never NULL, lives for ever. */
const char *ranlab_error_text(int32_t error);

int32_t ranlab_agent_new(const ranlab_agent_config *config, ranlab_agent **agent);
/* NULL is allowed. From a callback of this agent: RANLAB_ERR_BUSY, and it lives on. */
int32_t ranlab_agent_free(ranlab_agent *agent);

/* id may be NULL; it gets the RAN function id. */
int32_t ranlab_agent_register_function(ranlab_agent *agent, const ranlab_function *function, void *userdata,
                                       uint16_t *id);
int32_t ranlab_agent_register_kpm(ranlab_agent *agent, const ranlab_kpm *kpm, void *userdata);
/* address comes back in RANLAB_EVENT_CONNECT; what it means is yours. controller may be NULL. */
int32_t ranlab_agent_add_controller(ranlab_agent *agent, uint64_t now_ns, const char *address, uint32_t *controller);
int32_t ranlab_agent_remove_controller(ranlab_agent *agent, uint64_t now_ns, uint32_t controller);

/* Which UEs a controller is told of: the first controller of all, further ones of those that are associated with them, once
 * they have arrived. ue is the number that KPM calls it by. */
int32_t ranlab_agent_ue_arrived(ranlab_agent *agent, uint64_t ue);
int32_t ranlab_agent_ue_left(ranlab_agent *agent, uint64_t ue);
int32_t ranlab_agent_associate_ue(ranlab_agent *agent, uint64_t ue, uint32_t controller);
int32_t ranlab_agent_dissociate_ue(ranlab_agent *agent, uint64_t ue, uint32_t controller);

int32_t ranlab_agent_connected(ranlab_agent *agent, uint64_t now_ns, uint32_t controller);
int32_t ranlab_agent_disconnected(ranlab_agent *agent, uint64_t now_ns, uint32_t controller);
/* pdu is one whole PDU, without its length prefix. What is wrong with it becomes an answer to the peer, not an error. */
int32_t ranlab_agent_receive(ranlab_agent *agent, uint64_t now_ns, uint32_t controller, const uint8_t *pdu,
                             size_t pdu_len);
int32_t ranlab_agent_wake(ranlab_agent *agent, uint64_t now_ns);
int32_t ranlab_agent_wake_at(ranlab_agent *agent, uint64_t *at_ns);
/* Calls on_wake of a function now: something happened in the base station that it shall tell of. Unknown ids are ignored. */
int32_t ranlab_agent_rouse(ranlab_agent *agent, uint64_t now_ns, uint16_t function);

int32_t ranlab_agent_poll(ranlab_agent *agent, ranlab_event *event);
/* Writes the next PDU for a controller and its length; length 0: there is none. With RANLAB_ERR_BUFFER_TOO_SMALL
 * pdu_len is what is needed (at most 1 MiB). */
int32_t ranlab_agent_transmit(ranlab_agent *agent, uint64_t now_ns, uint32_t controller, uint8_t *buffer,
                              size_t buffer_len, size_t *pdu_len);

/* Inside callbacks. */
int32_t ranlab_context_now(ranlab_context *ctx, uint64_t *now_ns);
/* Sends an indication of type report. header and message may be NULL if their length is 0. */
int32_t ranlab_context_indicate(ranlab_context *ctx, uint64_t subscription, uint8_t action, const uint8_t *header,
                                size_t header_len, const uint8_t *message, size_t message_len);
int32_t ranlab_context_insert(ranlab_context *ctx, const ranlab_insert *insert);
/* Asks for on_wake; the earliest time asked for since the last on_wake counts. */
int32_t ranlab_context_wake_at(ranlab_context *ctx, uint64_t at_ns);
/* What goes with the answer to the control or query that is being handled, done or refused: octets of the service model. */
int32_t ranlab_context_outcome(ranlab_context *ctx, const uint8_t *outcome, size_t outcome_len);
/* In on_control, which then returns RANLAB_CONTROL_DONE: the answer will be given with ranlab_context_answer, from a later
 * callback of the same function. RANLAB_ERR_UNKNOWN_CONTROL: none is being handled, or 1,024 wait already. */
int32_t ranlab_context_answer_later(ranlab_context *ctx, uint64_t *ticket);
/* done: RANLAB_CONTROL_*. RANLAB_ERR_UNKNOWN_CONTROL: nobody waits for it any more. */
int32_t ranlab_context_answer(ranlab_context *ctx, uint64_t ticket, uint32_t done);
/* Whether the controller of a subscription may be told of a UE: 0 or 1. */
int32_t ranlab_context_shows_ue(ranlab_context *ctx, uint64_t subscription, uint64_t ue, uint8_t *shows);

/* Subscriptions to the service models of the library, by OID. Octets are written and their length; with
 * RANLAB_ERR_BUFFER_TOO_SMALL the length is what is needed. */
#define RANLAB_OID_MAC "0.0.0.0.0.0.0.0.1.142.0"
#define RANLAB_OID_RLC "0.0.0.0.0.0.0.0.1.143.0"
#define RANLAB_OID_PDCP "0.0.0.0.0.0.0.0.1.144.0"
#define RANLAB_OID_KPM "1.3.6.1.4.1.53148.1.2.2.2"
/* The event trigger of a report each period_us microseconds. */
int32_t ranlab_model_trigger(const char *oid, uint64_t period_us, uint8_t *trigger, size_t trigger_max,
                             size_t *trigger_len);
/* The action definition for all that a RAN function of this definition tells; of length 0 if the model has none. */
int32_t ranlab_model_action(const char *oid, const uint8_t *definition, size_t definition_len, uint64_t period_us,
                            uint8_t *action, size_t action_max, size_t *action_len);

#ifdef __cplusplus
}
#endif
#endif
