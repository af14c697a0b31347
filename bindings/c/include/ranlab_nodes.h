/* ranlab: nodes as a RIC's iApps and xApps see them, and what both ask of them. Included by ranlab_ric.h and ranlab_xapp.h. */
#ifndef RANLAB_NODES_H
#define RANLAB_NODES_H

#include "ranlab.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RANLAB_NODE_ADDED = 0, RANLAB_NODE_CHANGED = 1, RANLAB_NODE_REMOVED = 2 };

#define RANLAB_E2AP_UNKNOWN 255 /* ranlab_node.e2ap: an xApp is not told */
#define RANLAB_NO_SN UINT32_MAX /* ranlab_indication.sn: the agent gives none */

typedef struct ranlab_node_function {
    uint16_t id;               /* the node's choice: better find a function by its OID */
    uint16_t revision;
    const char *oid;           /* never NULL; empty if the node tells none */
    const uint8_t *definition; /* never NULL */
    size_t definition_len;
} ranlab_node_function;

typedef struct ranlab_node {
    uint32_t node;      /* its number: of this machine, never 0, never used twice; one that is removed and comes back has another */
    uint16_t mcc, mnc;
    uint8_t mnc_digits;
    uint8_t kind;       /* RANLAB_NODE_GNB and so on */
    uint8_t id_bits;
    uint8_t e2ap;       /* RANLAB_E2AP_* */
    uint8_t connected;  /* 0: lost, and remembered for a while with its subscriptions */
    uint32_t id;        /* of its base station */
    uint64_t part_id;   /* of a CU-UP or DU; else 0 */
    const char *name;   /* all of that for people: "gnb 505.01 7/du 1" */
    const ranlab_node_function *functions;
    size_t functions_len;
} ranlab_node;

typedef struct ranlab_indication {
    uint64_t subscription;
    uint32_t node;
    uint32_t sn;      /* 16 bits, grows by one: a gap is what was lost; or RANLAB_NO_SN */
    uint16_t function;
    uint8_t action;
    uint8_t kind;     /* RANLAB_ACTION_REPORT or RANLAB_ACTION_INSERT */
    const uint8_t *header;
    size_t header_len;
    const uint8_t *message;
    size_t message_len;
    const uint8_t *call_process_id; /* of an insert: to go with the control that answers it; NULL: there is none */
    size_t call_process_id_len;
} ranlab_indication;

/* A subscription to be made. Pointers may be NULL if their length is 0. */
typedef struct ranlab_wanted {
    uint32_t node;
    uint16_t function; /* by its id, unless oid says which */
    const char *oid;
    const uint8_t *event_trigger;
    size_t event_trigger_len;
    const ranlab_action *actions;
    size_t actions_len; /* 1 to 16 */
} ranlab_wanted;

/* A control or a query to be sent. Pointers may be NULL if their length is 0. */
typedef struct ranlab_command {
    uint32_t node;
    uint16_t function;   /* by its id, unless oid says which */
    uint8_t acknowledge; /* 1: the node answers even if all went well */
    const char *oid;
    const uint8_t *header;
    size_t header_len;
    const uint8_t *message; /* of a query: its definition */
    size_t message_len;
    const uint8_t *call_process_id; /* of the insert that this answers */
    size_t call_process_id_len;
} ranlab_command;

/* How a control or query ended. */
typedef struct ranlab_outcome {
    uint64_t request;
    uint8_t done;           /* 1: done; 0: why says why not, "nobody answered" among others */
    const uint8_t *outcome; /* the node's words, of the service model; NULL: none */
    size_t outcome_len;
    const char *why;        /* never NULL */
} ranlab_outcome;

#ifdef __cplusplus
}
#endif
#endif
