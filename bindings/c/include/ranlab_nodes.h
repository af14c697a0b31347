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

/* Orders of RC and choices of KPM are checked before they are sent. If one is refused, the reason is written to why: at most
 * why_max characters, including the NUL. After a success, why is empty. why may be NULL. */

/* Share of a slice in the carrier, in %: dedicated <= min <= max <= 100. In an order, all dedicated and all min each sum up to at
 * most 100. */
typedef struct ranlab_quota {
    uint16_t mcc, mnc;
    uint8_t mnc_digits; /* 2 or 3; 0: the node's network */
    uint8_t sst;
    uint8_t min;        /* guaranteed share; other slices use what this slice leaves idle */
    uint8_t max;        /* largest share; all max may sum up to more than 100 */
    uint8_t dedicated;  /* reserved share; stays unused if the slice does not use it */
    uint32_t sd;        /* 24 bits; RANLAB_NO_SD: none */
} ranlab_quota;

enum { RANLAB_ORDER_QUOTAS = 0, RANLAB_ORDER_HANDOVER = 1 };

/* An order of RC: slice quotas (style 2 action 6) or a handover (3/1). Sent only to a node whose function definition lists it. */
typedef struct ranlab_order {
    uint32_t node;
    uint32_t kind;              /* RANLAB_ORDER_* */
    uint8_t acknowledge;        /* 1: request a response on success, too */
    uint8_t mnc_digits;         /* for HANDOVER, the network of the cell: 2 or 3; 0: the node's network */
    uint16_t mcc, mnc;
    uint64_t cell;              /* for HANDOVER: NR cell identity, 36 bits */
    const char *ue;             /* number ("17"), or identity as in reports ("amf=1,f1ap=2"); NULL for QUOTAS */
    const ranlab_quota *quotas; /* for QUOTAS */
    size_t quotas_len;          /* 1 to 1024 */
    char *why;
    size_t why_max;
} ranlab_order;

/* A control as JSON, by the names of the model's ASN.1 or JSON schema. */
typedef struct ranlab_values {
    const char *oid;
    const uint8_t *definition; /* definition of the node's RAN function; length 0: not checked whether the node offers the control */
    size_t definition_len;
    const char *header;        /* JSON; NULL: the model has no header */
    const char *message;       /* JSON */
    char *why;
    size_t why_max;
} ranlab_values;

/* Checks the values against the types and ranges of the model, and writes header and message of the control. With RANLAB_ERR_ORDER,
 * _NOT_OFFERED or _NOT_OF_MODEL, why names the fault. With RANLAB_ERR_BUFFER_TOO_SMALL, both lengths are the required sizes. */
int32_t ranlab_model_control(const ranlab_values *values, uint8_t *header, size_t header_max, size_t *header_len,
                             uint8_t *message, size_t message_max, size_t *message_len);

/* Measurements of KPM by name, for ranlab_xapp_kpm_action and ranlab_iapp_kpm_action. */
typedef struct ranlab_kpm_choice {
    uint32_t node;
    uint32_t part;            /* 0, 1, ...: index of the definition, if one is not enough; the written length is 0 after the last */
    uint32_t style;           /* report style, 1 to 5; 0: the style that fits the choice */
    uint32_t period_ms;       /* reporting period */
    uint32_t granularity_ms;  /* granularity period of a value; 0: period_ms */
    const char *measurements; /* "DRB.UEThpDl,RRU.PrbTotDl"; NULL: all that the node offers */
    const char *ues;          /* UEs, separated by semicolons: "amf=1,f1ap=2;amf=3"; NULL: all */
    const char *snssai;       /* "1" or "1-010203"; NULL: all slices */
    const char *cell;         /* "505.01/000000010"; NULL: any */
    char *why;
    size_t why_max;
} ranlab_kpm_choice;

#ifdef __cplusplus
}
#endif
#endif
