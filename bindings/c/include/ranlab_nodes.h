/* ranlab: nodes as seen by iApps and xApps, and their common requests. Included by ranlab_ric.h and ranlab_xapp.h. */
#ifndef RANLAB_NODES_H
#define RANLAB_NODES_H

#include "ranlab.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RANLAB_NODE_ADDED = 0, RANLAB_NODE_CHANGED = 1, RANLAB_NODE_REMOVED = 2 };

#define RANLAB_E2AP_UNKNOWN 255 /* ranlab_node.e2ap: not known to an xApp */
#define RANLAB_NO_SN UINT32_MAX /* ranlab_indication.sn: the agent sends none */

typedef struct ranlab_node_function {
    uint16_t id;               /* chosen by the node; prefer to select a function by OID */
    uint16_t revision;
    const char *oid;           /* never NULL; empty if the node sends none */
    const uint8_t *definition; /* never NULL */
    size_t definition_len;
} ranlab_node_function;

typedef struct ranlab_node {
    uint32_t node;      /* number in this machine: never 0, never reused; a removed node that reconnects gets a new one */
    uint16_t mcc, mnc;
    uint8_t mnc_digits;
    uint8_t kind;       /* RANLAB_NODE_GNB and so on */
    uint8_t id_bits;
    uint8_t e2ap;       /* RANLAB_E2AP_* */
    uint8_t connected;  /* 0: disconnected, and remembered for a time with its subscriptions */
    uint32_t id;        /* id of its base station */
    uint64_t part_id;   /* id of a CU-UP or DU; else 0 */
    const char *name;   /* displayed name: "gnb 505.01 7/du 1" */
    const ranlab_node_function *functions;
    size_t functions_len;
} ranlab_node;

typedef struct ranlab_indication {
    uint64_t subscription;
    uint32_t node;
    uint32_t sn;      /* sequence number, 16 bits: a gap means lost indications; or RANLAB_NO_SN */
    uint16_t function;
    uint8_t action;
    uint8_t kind;     /* RANLAB_ACTION_REPORT or RANLAB_ACTION_INSERT */
    const uint8_t *header;
    size_t header_len;
    const uint8_t *message;
    size_t message_len;
    const uint8_t *call_process_id; /* of an insert: for the control that responds to it; NULL: none */
    size_t call_process_id_len;
} ranlab_indication;

/* A subscription request. Pointers may be NULL if their length is 0. */
typedef struct ranlab_wanted {
    uint32_t node;
    uint16_t function; /* function id; ignored if oid is not NULL */
    const char *oid;
    const uint8_t *event_trigger;
    size_t event_trigger_len;
    const ranlab_action *actions;
    size_t actions_len; /* 1 to 16 */
} ranlab_wanted;

/* A control or query to send. Pointers may be NULL if their length is 0. */
typedef struct ranlab_command {
    uint32_t node;
    uint16_t function;   /* function id; ignored if oid is not NULL */
    uint8_t acknowledge; /* 1: request a response on success, too */
    const char *oid;
    const uint8_t *header;
    size_t header_len;
    const uint8_t *message; /* for a query: its definition */
    size_t message_len;
    const uint8_t *call_process_id; /* of the insert to which this responds */
    size_t call_process_id_len;
} ranlab_command;

/* Result of a control or query. */
typedef struct ranlab_outcome {
    uint64_t request;
    uint8_t done;           /* 1: executed; 0: not executed (why is the reason, for example a timeout) */
    const uint8_t *outcome; /* outcome from the node, defined by the service model; NULL: none */
    size_t outcome_len;
    const char *why;        /* never NULL */
} ranlab_outcome;

#ifdef __cplusplus
}
#endif
#endif
