/* ranlab: an xApp for C programs, which uses E42 with a ranlab RIC or FlexRIC. Subscriptions are restored after lost connections,
 * restarts of the RIC, and reconnects of nodes. The conventions are those of ranlab.h; there are no callbacks.
 *
 *   1. ranlab_xapp_connected / _disconnected / _receive / _wake   report an input; _subscribe, _control and others: send a request
 *   2. ranlab_xapp_poll until RANLAB_XAPP_NONE                     returns actions (connect, transmit, close) and events
 *   3. ranlab_xapp_transmit until pdu_len is 0                     returns the PDUs to send to the RIC
 *   4. ranlab_xapp_wake no later than ranlab_xapp_wake_at, and once at the start, so that it connects */
#ifndef RANLAB_XAPP_H
#define RANLAB_XAPP_H

#include "ranlab_nodes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ranlab_xapp ranlab_xapp;

enum { RANLAB_E42_RANLAB = 0, RANLAB_E42_FLEXRIC = 1, RANLAB_E42_AUTO = 2 }; /* E42 dialect; AUTO: detect it */

typedef struct ranlab_xapp_config {
    const char *address; /* returned in RANLAB_XAPP_CONNECT; the library does not interpret it */
    uint64_t seed;       /* seed of the reconnect jitter; should differ between xApps */
    uint8_t e2ap;        /* RANLAB_E2AP_* */
    uint8_t dialect;     /* RANLAB_E42_* */
} ranlab_xapp_config;

enum { /* ranlab_xapp_event.kind */
    RANLAB_XAPP_NONE = 0,         /* no further event now */
    RANLAB_XAPP_CONNECT = 1,      /* connect to text, then call _connected or _disconnected */
    RANLAB_XAPP_TRANSMIT = 2,     /* call _transmit */
    RANLAB_XAPP_CLOSE = 3,        /* close the connection (text is the reason); do not call _disconnected */
    RANLAB_XAPP_READY = 4,        /* the RIC accepted the xApp */
    RANLAB_XAPP_DISCONNECTED = 5, /* text is the reason; a RANLAB_XAPP_CONNECT will follow */
    RANLAB_XAPP_NODE = 6,         /* change and node */
    RANLAB_XAPP_SUBSCRIBED = 7,   /* subscription, node, not_admitted; also after it was restored */
    RANLAB_XAPP_SUBSCRIPTION_FAILED = 8, /* subscription, node, text; retried when its node is announced again */
    RANLAB_XAPP_UNSUBSCRIBED = 9, /* subscription, node; ended permanently */
    RANLAB_XAPP_INDICATION = 10,  /* subscription, standing, indication */
    RANLAB_XAPP_OUTCOME = 11,     /* outcome */
    RANLAB_XAPP_OTHER = 12        /* described by text */
};

typedef struct ranlab_xapp_event {
    uint32_t kind;                       /* RANLAB_XAPP_* */
    uint32_t change;                     /* for NODE: RANLAB_NODE_ADDED, _CHANGED or _REMOVED */
    uint64_t subscription;
    uint64_t standing;                   /* standing subscription that created this one; 0: none */
    const ranlab_node *node;             /* NULL unless listed for the kind; a disconnected node has no functions */
    const ranlab_indication *indication; /* NULL unless listed for the kind */
    const ranlab_outcome *outcome;       /* NULL unless listed for the kind */
    const uint8_t *not_admitted;         /* ids of actions that were not admitted */
    size_t not_admitted_len;
    const char *text;                    /* never NULL */
} ranlab_xapp_event;

int32_t ranlab_xapp_new(const ranlab_xapp_config *config, ranlab_xapp **xapp);
int32_t ranlab_xapp_free(ranlab_xapp *xapp); /* NULL is allowed */

int32_t ranlab_xapp_connected(ranlab_xapp *xapp, uint64_t now_ns);
int32_t ranlab_xapp_disconnected(ranlab_xapp *xapp, uint64_t now_ns);
/* pdu is one whole PDU, without its length prefix. */
int32_t ranlab_xapp_receive(ranlab_xapp *xapp, uint64_t now_ns, const uint8_t *pdu, size_t pdu_len);
int32_t ranlab_xapp_wake(ranlab_xapp *xapp, uint64_t now_ns);
int32_t ranlab_xapp_wake_at(ranlab_xapp *xapp, uint64_t *at_ns);
int32_t ranlab_xapp_poll(ranlab_xapp *xapp, ranlab_xapp_event *event);
/* Writes the next PDU for the RIC and its length, or length 0 if there is none. With RANLAB_ERR_BUFFER_TOO_SMALL, pdu_len is the
 * required size (at most 1 MiB). */
int32_t ranlab_xapp_transmit(ranlab_xapp *xapp, uint64_t now_ns, uint8_t *buffer, size_t buffer_len, size_t *pdu_len);

/* Subscribes at a node, or with wanted->node 0 at every node that offers the function, including nodes that are announced later. In
 * the latter case, number is that of the standing subscription, and each subscription that it creates has its own number. An action
 * without a definition then gets one that requests everything that the node offers (KPM). */
int32_t ranlab_xapp_subscribe(ranlab_xapp *xapp, uint64_t now_ns, const ranlab_wanted *wanted, uint64_t *number);
/* No further indications are returned; RANLAB_XAPP_UNSUBSCRIBED follows. */
int32_t ranlab_xapp_unsubscribe(ranlab_xapp *xapp, uint64_t now_ns, uint64_t subscription);
/* Ends a standing subscription and all subscriptions that it created; with 0, ends all subscriptions. */
int32_t ranlab_xapp_unsubscribe_all(ranlab_xapp *xapp, uint64_t now_ns, uint64_t standing);
/* RANLAB_XAPP_OUTCOME follows if an acknowledgement was requested or the control failed. */
int32_t ranlab_xapp_control(ranlab_xapp *xapp, uint64_t now_ns, const ranlab_command *command, uint64_t *request);
/* Like ranlab_xapp_control, for an order of RC. With RANLAB_ERR_ORDER or _NOT_OFFERED, nothing is sent; order->why is the reason. */
int32_t ranlab_xapp_order(ranlab_xapp *xapp, uint64_t now_ns, const ranlab_order *order, uint64_t *request);
/* Writes the action definition for measurements of KPM at a node, and its length. */
int32_t ranlab_xapp_kpm_action(ranlab_xapp *xapp, const ranlab_kpm_choice *choice, uint8_t *action, size_t action_max,
                               size_t *action_len);
/* Writes the number of lost indications of a subscription, counted by gaps in their sequence numbers; UINT64_MAX if unknown. */
int32_t ranlab_xapp_lost(ranlab_xapp *xapp, uint64_t subscription, uint64_t *lost);

#ifdef __cplusplus
}
#endif
#endif
