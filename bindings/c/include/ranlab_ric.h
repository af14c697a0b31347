/* ranlab: a near-RT RIC for C programs: E2 towards base stations, E42 towards xApps, and iApps, which contain your logic in the
 * same process. The conventions are those of ranlab.h.
 *
 *   1. ranlab_ric_connected / _disconnected / _receive / _wake   report an input; iApps are called from there
 *   2. ranlab_ric_poll until RANLAB_RIC_NONE                      returns actions (transmit, close) and events
 *   3. ranlab_ric_transmit until pdu_len is 0                     returns the PDUs to send on a connection
 *   4. ranlab_ric_wake no later than ranlab_ric_wake_at
 *
 * Your program listens (usual ports: 36421 for E2, 36422 for E42) and reports each accepted connection. Do not call _transmit for a
 * peer that does not read. Its queue is bounded: the oldest indications are dropped, which leaves gaps in their sequence numbers; if
 * the limit of other messages is reached, the connection is closed. */
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
    uint8_t e2ap;            /* RANLAB_E2AP_*, until a node's setup determines it; 3.01 upgrades nodes of 2.03 */
    uint16_t first_instance; /* should differ at each start, so that subscriptions of an earlier run are recognized and deleted */
    uint32_t ric_id;         /* 20 bits */
    uint32_t nodes_max;      /* maximum number of nodes, up to 65,536; 0: 4,096 */
} ranlab_ric_config;

enum { RANLAB_SIDE_E2 = 0, RANLAB_SIDE_E42 = 1 }; /* protocol of the listener; it cannot be derived from the bytes */

enum { /* ranlab_ric_event.kind */
    RANLAB_RIC_NONE = 0,     /* no further event now */
    RANLAB_RIC_TRANSMIT = 1, /* call _transmit */
    RANLAB_RIC_CLOSE = 2,    /* close the connection (text is the reason); do not call _disconnected */
    RANLAB_RIC_LOG = 3      /* text describes an event, for logs */
};

typedef struct ranlab_ric_event {
    uint32_t kind;       /* RANLAB_RIC_* */
    uint64_t connection; /* for TRANSMIT and CLOSE */
    const char *text;    /* never NULL */
} ranlab_ric_event;

enum { /* ranlab_subscription_news.state */
    RANLAB_SUBSCRIBED = 0,
    RANLAB_SUBSCRIPTION_FAILED = 1, /* refused by the RIC or the node (why is the reason); the subscription no longer exists */
    RANLAB_SUBSCRIPTION_ENDED = 2   /* an active subscription was ended by the RIC or the node */
};

typedef struct ranlab_subscription_news {
    uint64_t subscription;
    uint32_t state;
    const uint8_t *admitted; /* for SUBSCRIBED: ids of the admitted actions */
    size_t admitted_len;
    const char *why; /* never NULL */
} ranlab_subscription_news;

/* An iApp. The struct and its name may be freed after ranlab_ric_add_iapp. Any callback may be NULL. */
typedef struct ranlab_iapp {
    const char *name; /* for logs */
    /* A node was added, changed (functions or connection), or removed with its subscriptions. change: RANLAB_NODE_*. */
    void (*on_node)(void *userdata, ranlab_iapp_context *ctx, uint32_t change, const ranlab_node *node);
    void (*on_subscription)(void *userdata, ranlab_iapp_context *ctx, const ranlab_subscription_news *news);
    void (*on_indication)(void *userdata, ranlab_iapp_context *ctx, const ranlab_indication *indication);
    void (*on_outcome)(void *userdata, ranlab_iapp_context *ctx, const ranlab_outcome *outcome);
    /* Called at a time set by ranlab_iapp_wake_at, or after ranlab_ric_rouse. */
    void (*on_wake)(void *userdata, ranlab_iapp_context *ctx);
} ranlab_iapp;

int32_t ranlab_ric_new(const ranlab_ric_config *config, ranlab_ric **ric);
/* NULL is allowed. If a callback of this RIC calls it, RANLAB_ERR_BUSY is returned, and the RIC is not freed. */
int32_t ranlab_ric_free(ranlab_ric *ric);
/* At most 256 iApps. The next call reports the existing nodes to it. iapp_number, for _rouse, may be NULL. */
int32_t ranlab_ric_add_iapp(ranlab_ric *ric, const ranlab_iapp *iapp, void *userdata, uint32_t *iapp_number);
/* Calls on_wake of an iApp now, for example because your program has data for it. */
int32_t ranlab_ric_rouse(ranlab_ric *ric, uint64_t now_ns, uint32_t iapp_number);

/* Reports an accepted connection. peer is its remote address for logs ("tcp://10.0.0.1:4711"); faults are rate-limited per host.
 * connection is never 0 and never reused. */
int32_t ranlab_ric_connected(ranlab_ric *ric, uint64_t now_ns, uint8_t side, const char *peer, uint64_t *connection);
int32_t ranlab_ric_disconnected(ranlab_ric *ric, uint64_t now_ns, uint64_t connection);
/* pdu is one whole PDU, without its length prefix. A faulty PDU causes a response to the peer, not an error here. */
int32_t ranlab_ric_receive(ranlab_ric *ric, uint64_t now_ns, uint64_t connection, const uint8_t *pdu, size_t pdu_len);
int32_t ranlab_ric_wake(ranlab_ric *ric, uint64_t now_ns);
int32_t ranlab_ric_wake_at(ranlab_ric *ric, uint64_t *at_ns);
int32_t ranlab_ric_poll(ranlab_ric *ric, ranlab_ric_event *event);
/* Writes the next PDU for a connection and its length, or length 0 if there is none. With RANLAB_ERR_BUFFER_TOO_SMALL, pdu_len is
 * the required size (at most 1 MiB). */
int32_t ranlab_ric_transmit(ranlab_ric *ric, uint64_t now_ns, uint64_t connection, uint8_t *buffer, size_t buffer_len,
                            size_t *pdu_len);

/* Functions for callbacks. Requests are executed after the callback returns. Numbers of subscriptions and requests are never 0. */
int32_t ranlab_iapp_now(ranlab_iapp_context *ctx, uint64_t *now_ns);
/* on_subscription follows. Equal subscriptions of several iApps or xApps share one subscription at the node. */
int32_t ranlab_iapp_subscribe(ranlab_iapp_context *ctx, const ranlab_wanted *wanted, uint64_t *subscription);
/* No callback follows. Unknown numbers are ignored, because the subscription may have ended meanwhile. */
int32_t ranlab_iapp_unsubscribe(ranlab_iapp_context *ctx, uint64_t subscription);
/* on_outcome follows if an acknowledgement was requested or the control failed. */
int32_t ranlab_iapp_control(ranlab_iapp_context *ctx, const ranlab_command *command, uint64_t *request);
/* Like ranlab_iapp_control, for an order of RC. With RANLAB_ERR_ORDER or _NOT_OFFERED, nothing is sent; order->why is the reason. */
int32_t ranlab_iapp_order(ranlab_iapp_context *ctx, const ranlab_order *order, uint64_t *request);
/* Writes the action definition for measurements of KPM at a node, and its length. */
int32_t ranlab_iapp_kpm_action(ranlab_iapp_context *ctx, const ranlab_kpm_choice *choice, uint8_t *action,
                               size_t action_max, size_t *action_len);
/* Sends a query to a node of E2AP 3.01; on_outcome follows. */
int32_t ranlab_iapp_query(ranlab_iapp_context *ctx, const ranlab_command *query, uint64_t *request);
/* Schedules on_wake, in addition to times set before. */
int32_t ranlab_iapp_wake_at(ranlab_iapp_context *ctx, uint64_t at_ns);

#ifdef __cplusplus
}
#endif
#endif
