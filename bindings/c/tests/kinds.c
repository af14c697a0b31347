/* Tests the setup of every type of node in every version of E2AP that defines it; the RIC must recognize the type. */
#include "ranlab_ric.h"
#include "ranlab_stats.h"
#include <stdio.h>
#include <string.h>

static ranlab_node seen;
static char name[64];
static void on_node(void *userdata, ranlab_iapp_context *ctx, uint32_t change, const ranlab_node *node) {
    (void)userdata, (void)ctx;
    if (change == RANLAB_NODE_ADDED) seen = *node, snprintf(name, sizeof name, "%s", node->name);
}

static int64_t time_us(void *userdata) { return (void)userdata, 0; }
static size_t read_mac(void *userdata, ranlab_mac_ue *rows, size_t rows_max) { return (void)userdata, (void)rows, (void)rows_max, 0; }

/* Sets up a node at a separate RIC. Returns whether the RIC recognizes its type. */
static int met(ranlab_agent_config config) {
    const ranlab_ric_config at = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .ric_id = 1, .e2ap = config.e2ap };
    const ranlab_iapp iapp = { .name = "kinds", .on_node = on_node };
    ranlab_agent *agent = NULL;
    ranlab_ric *ric = NULL;
    ranlab_event e;
    ranlab_ric_event r;
    uint32_t controller;
    uint64_t connection = 0;
    uint8_t pdu[4096];
    size_t len;
    seen.kind = 99;
    int error = ranlab_agent_new(&config, &agent);
    /* From v2.03 on, a setup requires at least one RAN function. */
    if (!error) error = ranlab_agent_register_mac(agent, &(ranlab_mac){ time_us, read_mac }, NULL);
    if (!error) error = ranlab_ric_new(&at, &ric);
    if (!error) error = ranlab_ric_add_iapp(ric, &iapp, NULL, NULL);
    if (!error) error = ranlab_agent_add_controller(agent, 1, "ric", &controller);
    for (int turn = 0; turn < 4 && !error; turn++) {
        while (!ranlab_agent_poll(agent, &e) && e.kind != RANLAB_EVENT_NONE) {
            if (e.kind == RANLAB_EVENT_CONNECT) ranlab_ric_connected(ric, 1, RANLAB_SIDE_E2, "agent", &connection), ranlab_agent_connected(agent, 1, controller);
            while (e.kind == RANLAB_EVENT_TRANSMIT && !ranlab_agent_transmit(agent, 1, controller, pdu, sizeof pdu, &len) && len) ranlab_ric_receive(ric, 1, connection, pdu, len);
        }
        while (!ranlab_ric_poll(ric, &r) && r.kind != RANLAB_RIC_NONE)
            while (r.kind == RANLAB_RIC_TRANSMIT && !ranlab_ric_transmit(ric, 1, connection, pdu, sizeof pdu, &len) && len) ranlab_agent_receive(agent, 1, controller, pdu, len);
    }
    ranlab_agent_free(agent), ranlab_ric_free(ric);
    /* v1.01 sends no components, which would distinguish central units from complete base stations. */
    int central = config.node == RANLAB_NODE_GNB_CU || config.node == RANLAB_NODE_GNB_CU_CP;
    uint8_t expected = config.e2ap == RANLAB_E2AP_1_01 && central ? RANLAB_NODE_GNB : config.node;
    int part = strstr(name, "/du ") || strstr(name, "/cu-up ");
    return !error && seen.kind == expected && seen.e2ap == config.e2ap && seen.id == config.gnb_id && seen.id_bits == config.gnb_id_bits
        && seen.mcc == 310 && seen.mnc == 26 && seen.mnc_digits == 3 && seen.part_id == (part ? config.part_id : 0) && seen.connected;
}

int main(void) {
    const uint8_t versions[] = { RANLAB_E2AP_1_01, RANLAB_E2AP_2_03, RANLAB_E2AP_3_01 };
    int failed = 0, nodes = 0;
    for (uint8_t node = 0; node <= RANLAB_NODE_NG_ENB_DU; node++)
        for (uint8_t bits = 18; bits <= 32; bits++)
            for (int v = 0; v < 3; v++) {
                ranlab_agent_config config = { .mcc = 310, .mnc = 26, .mnc_digits = 3, .gnb_id_bits = bits, .gnb_id = 5, .node = node, .e2ap = versions[v], .part_id = 2 };
                ranlab_agent *agent;
                if (ranlab_agent_new(&config, &agent)) continue; /* invalid node */
                ranlab_agent_free(agent), nodes++;
                if (!met(config)) fprintf(stderr, "node %u of %u bits in version %u: kind %u, %s\n", node, bits, config.e2ap, seen.kind, name), failed = 1;
            }
    /* 8 types with 11 id lengths, 2 with 3, 1 with 4; 3 of them in two versions only. */
    if (nodes != (6 * 11 + 3 + 4) * 3 + (2 * 11 + 3) * 2) fprintf(stderr, "%d nodes\n", nodes), failed = 1;
    return failed;
}
