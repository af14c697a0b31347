/* ranlab: an xApp for C programs, which speaks E42 with a RIC (ranlab's, or FlexRIC's). What is subscribed stays subscribed: through
 * lost connections, restarts of the RIC, and nodes that go and come. The conventions are those of ranlab.h; there are no callbacks.
 *
 *   1. ranlab_xapp_connected / _disconnected / _receive / _wake   something happened; or _subscribe, _control: you want something
 *   2. ranlab_xapp_poll until RANLAB_XAPP_NONE                     connect, transmit, close, a node, an indication and so on
 *   3. ranlab_xapp_transmit until it gives no more                 PDUs for the RIC, each for you to send
 *   4. ranlab_xapp_wake no later than ranlab_xapp_wake_at; once at the beginning, too: it asks to be connected */
#ifndef RANLAB_XAPP_H
#define RANLAB_XAPP_H

#include "ranlab_nodes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ranlab_xapp ranlab_xapp;

enum { RANLAB_E42_RANLAB = 0, RANLAB_E42_FLEXRIC = 1, RANLAB_E42_AUTO = 2 }; /* whose E42; AUTO: what the RIC shows */

typedef struct ranlab_xapp_config {
    const char *address; /* comes back in RANLAB_XAPP_CONNECT; what it means is yours */
    uint64_t seed;       /* of the jitter when reconnecting: different for each xApp */
    uint8_t e2ap;        /* RANLAB_E2AP_* */
    uint8_t dialect;     /* RANLAB_E42_* */
} ranlab_xapp_config;

enum { /* ranlab_xapp_event.kind */
    RANLAB_XAPP_NONE = 0,         /* nothing more for now */
    RANLAB_XAPP_CONNECT = 1,      /* connect to text, then call _connected or _disconnected */
    RANLAB_XAPP_TRANSMIT = 2,     /* call _transmit */
    RANLAB_XAPP_CLOSE = 3,        /* close the connection, text says why; do not call _disconnected */
    RANLAB_XAPP_READY = 4,        /* the RIC accepted the xApp */
    RANLAB_XAPP_DISCONNECTED = 5, /* text says why; it will ask for a new connection by itself */
    RANLAB_XAPP_NODE = 6,         /* change and node */
    RANLAB_XAPP_SUBSCRIBED = 7,   /* subscription, node, not_admitted; for the first time, or again after it was restored */
    RANLAB_XAPP_SUBSCRIPTION_FAILED = 8, /* subscription, node, text; it is tried again when its node is announced anew */
    RANLAB_XAPP_UNSUBSCRIBED = 9, /* subscription, node; gone for good */
    RANLAB_XAPP_INDICATION = 10,  /* subscription, standing, indication */
    RANLAB_XAPP_OUTCOME = 11,     /* outcome */
    RANLAB_XAPP_OTHER = 12        /* text says it */
};

typedef struct ranlab_xapp_event {
    uint32_t kind;                       /* RANLAB_XAPP_* */
    uint32_t change;                     /* of NODE: RANLAB_NODE_ADDED, _CHANGED or _REMOVED */
    uint64_t subscription;
    uint64_t standing;                   /* which standing subscription made this one; 0: none */
    const ranlab_node *node;             /* NULL unless kind says so; of a node that is not there its functions are not known */
    const ranlab_indication *indication; /* NULL unless kind says so */
    const ranlab_outcome *outcome;       /* NULL unless kind says so */
    const uint8_t *not_admitted;         /* ids of actions that the node does not take */
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
/* Writes the next PDU for the RIC and its length; length 0: there is none. With RANLAB_ERR_BUFFER_TOO_SMALL pdu_len is what is
 * needed (at most 1 MiB). */
int32_t ranlab_xapp_transmit(ranlab_xapp *xapp, uint64_t now_ns, uint8_t *buffer, size_t buffer_len, size_t *pdu_len);

/* Subscribes at a node. wanted->node 0: at every node that offers the function, those that come later included; then number is that
 * of the standing subscription, each that it makes has its own, and an action without a definition gets the one that its service
 * model needs for all that the node tells (KPM). */
int32_t ranlab_xapp_subscribe(ranlab_xapp *xapp, uint64_t now_ns, const ranlab_wanted *wanted, uint64_t *number);
/* None of its indications is handed out any more; RANLAB_XAPP_UNSUBSCRIBED follows. */
int32_t ranlab_xapp_unsubscribe(ranlab_xapp *xapp, uint64_t now_ns, uint64_t subscription);
/* Ends a standing subscription and all that it made; 0: everything. */
int32_t ranlab_xapp_unsubscribe_all(ranlab_xapp *xapp, uint64_t now_ns, uint64_t standing);
/* RANLAB_XAPP_OUTCOME follows if an acknowledgement was asked for or it failed. */
int32_t ranlab_xapp_control(ranlab_xapp *xapp, uint64_t now_ns, const ranlab_command *command, uint64_t *request);
/* Indications of a subscription that are missing, by the gaps in their numbers; UINT64_MAX: not known. */
int32_t ranlab_xapp_lost(ranlab_xapp *xapp, uint64_t subscription, uint64_t *lost);

#ifdef __cplusplus
}
#endif
#endif
