/* ranlab: a near-RT RIC for C programs: E2 towards base stations, E42 towards xApps, and iApps, which are your decisions in the
 * same process. The conventions are those of ranlab.h.
 *
 *   1. ranlab_ric_connected / _disconnected / _receive / _wake   something happened; iApps are called from there
 *   2. ranlab_ric_poll until RANLAB_RIC_NONE                      transmit, close, or worth knowing
 *   3. ranlab_ric_transmit until it gives no more                 PDUs for a connection, each for you to send
 *   4. ranlab_ric_wake no later than ranlab_ric_wake_at
 *
 * Your program listens (36421 for E2, 36422 for E42 by custom) and tells of each connection that it accepts. A peer that does not
 * read: do not call _transmit for it. What waits is bounded: the oldest indications give way, counted in their numbers; at a bound of
 * other messages the connection is closed. */
#ifndef RANLAB_RIC_H
#define RANLAB_RIC_H

#include "ranlab_nodes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ranlab_ric ranlab_ric;
typedef struct ranlab_iapp_context ranlab_iapp_context; /* the RIC as seen from a callback of an iApp */

typedef struct ranlab_ric_config {
    uint16_t mcc, mnc;
    uint8_t mnc_digits;      /* 2 or 3 */
    uint8_t e2ap;            /* RANLAB_E2AP_*: before a node's setup tells it; 3.01 makes a node of 2.03 one of 3.01 */
    uint16_t first_instance; /* best another one in each life of the RIC: what a node still reports to an earlier one is ended */
    uint32_t ric_id;         /* 20 bits */
    uint32_t nodes_max;      /* nodes remembered, 65,536 at most; 0: 4,096 */
} ranlab_ric_config;

enum { RANLAB_SIDE_E2 = 0, RANLAB_SIDE_E42 = 1 }; /* which listener accepted: its octets do not tell */

enum { /* ranlab_ric_event.kind */
    RANLAB_RIC_NONE = 0,     /* nothing more for now */
    RANLAB_RIC_TRANSMIT = 1, /* call _transmit */
    RANLAB_RIC_CLOSE = 2,    /* close the connection, text says why; do not call _disconnected */
    RANLAB_RIC_TOLD = 3      /* text says what happened, for people */
};

typedef struct ranlab_ric_event {
    uint32_t kind;       /* RANLAB_RIC_* */
    uint64_t connection; /* of TRANSMIT and CLOSE */
    const char *text;    /* never NULL */
} ranlab_ric_event;

enum { /* ranlab_subscription_news.state */
    RANLAB_SUBSCRIBED = 0,
    RANLAB_SUBSCRIPTION_FAILED = 1, /* refused, by the RIC or the node: why says why. It is gone */
    RANLAB_SUBSCRIPTION_ENDED = 2   /* it was taken and has ended without the iApp's doing */
};

typedef struct ranlab_subscription_news {
    uint64_t subscription;
    uint32_t state;
    const uint8_t *admitted; /* of SUBSCRIBED: the ids of the actions that the node takes */
    size_t admitted_len;
    const char *why; /* never NULL */
} ranlab_subscription_news;

/* An iApp. The struct and its name may go after ranlab_ric_add_iapp; any callback may be NULL. */
typedef struct ranlab_iapp {
    const char *name; /* for people */
    /* A node came, changed (its functions, its connection) or is forgotten, with its subscriptions. change: RANLAB_NODE_*. */
    void (*on_node)(void *userdata, ranlab_iapp_context *ctx, uint32_t change, const ranlab_node *node);
    void (*on_subscription)(void *userdata, ranlab_iapp_context *ctx, const ranlab_subscription_news *news);
    void (*on_indication)(void *userdata, ranlab_iapp_context *ctx, const ranlab_indication *indication);
    void (*on_outcome)(void *userdata, ranlab_iapp_context *ctx, const ranlab_outcome *outcome);
    /* A time has come that was asked for with ranlab_iapp_wake_at, or ranlab_ric_rouse was called. */
    void (*on_wake)(void *userdata, ranlab_iapp_context *ctx);
} ranlab_iapp;

int32_t ranlab_ric_new(const ranlab_ric_config *config, ranlab_ric **ric);
/* NULL is allowed. From a callback of this RIC: RANLAB_ERR_BUSY, and it lives on. */
int32_t ranlab_ric_free(ranlab_ric *ric);
/* 256 iApps at most. It hears of the nodes that are there at the next call. iapp_number, for _rouse, may be NULL. */
int32_t ranlab_ric_add_iapp(ranlab_ric *ric, const ranlab_iapp *iapp, void *userdata, uint32_t *iapp_number);
/* Calls on_wake of an iApp now: your program has something for it. */
int32_t ranlab_ric_rouse(ranlab_ric *ric, uint64_t now_ns, uint32_t iapp_number);

/* A listener accepted a connection. peer says from where, for people ("tcp://10.0.0.1:4711"): each host has a share of what it
 * may do wrong. connection is never 0 and never used twice. */
int32_t ranlab_ric_connected(ranlab_ric *ric, uint64_t now_ns, uint8_t side, const char *peer, uint64_t *connection);
int32_t ranlab_ric_disconnected(ranlab_ric *ric, uint64_t now_ns, uint64_t connection);
/* pdu is one whole PDU, without its length prefix. What is wrong with it becomes an answer to the peer, not an error. */
int32_t ranlab_ric_receive(ranlab_ric *ric, uint64_t now_ns, uint64_t connection, const uint8_t *pdu, size_t pdu_len);
int32_t ranlab_ric_wake(ranlab_ric *ric, uint64_t now_ns);
int32_t ranlab_ric_wake_at(ranlab_ric *ric, uint64_t *at_ns);
int32_t ranlab_ric_poll(ranlab_ric *ric, ranlab_ric_event *event);
/* Writes the next PDU for a connection and its length; length 0: there is none. With RANLAB_ERR_BUFFER_TOO_SMALL pdu_len is
 * what is needed (at most 1 MiB). */
int32_t ranlab_ric_transmit(ranlab_ric *ric, uint64_t now_ns, uint64_t connection, uint8_t *buffer, size_t buffer_len,
                            size_t *pdu_len);

/* Inside callbacks. What is asked for is done when the callback has returned; numbers of subscriptions and requests are never 0. */
int32_t ranlab_iapp_now(ranlab_iapp_context *ctx, uint64_t *now_ns);
/* on_subscription follows. Two iApps or xApps that want the same share one subscription at the node. */
int32_t ranlab_iapp_subscribe(ranlab_iapp_context *ctx, const ranlab_wanted *wanted, uint64_t *subscription);
/* Nothing follows. Unknown ones are ignored: they may have ended meanwhile. */
int32_t ranlab_iapp_unsubscribe(ranlab_iapp_context *ctx, uint64_t subscription);
/* on_outcome follows if an acknowledgement was asked for or it failed. */
int32_t ranlab_iapp_control(ranlab_iapp_context *ctx, const ranlab_command *command, uint64_t *request);
/* A question to a node of E2AP 3.01; on_outcome follows. */
int32_t ranlab_iapp_query(ranlab_iapp_context *ctx, const ranlab_command *query, uint64_t *request);
/* Asks for on_wake; each time asked for counts. */
int32_t ranlab_iapp_wake_at(ranlab_iapp_context *ctx, uint64_t at_ns);

#ifdef __cplusplus
}
#endif
#endif
