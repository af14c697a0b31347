/* Tests invalid calls: every call returns its error, and none crashes. */
#include "ranlab_stats.h"
#include <stdio.h>
#include <string.h>

#define EXPECT(error, call) \
    do { \
        int32_t got = (call); \
        if (got != (error)) { \
            fprintf(stderr, "line %d: %s is %d, expected %s\n", __LINE__, #call, got, #error); \
            return 1; \
        } \
    } while (0)

static uint32_t on_subscription(void *userdata, ranlab_context *ctx, const ranlab_subscription *s) {
    (void)userdata, (void)ctx, (void)s;
    return 0;
}
static void on_subscription_delete(void *userdata, ranlab_context *ctx, uint64_t subscription) {
    (void)userdata, (void)ctx, (void)subscription;
}

static ranlab_agent *reentered;
static int busy; /* number of refused calls */
static void on_wake(void *userdata, ranlab_context *ctx) {
    ranlab_event event;
    uint64_t ticket;
    uint8_t shows;
    (void)userdata;
    busy += ranlab_agent_poll(reentered, &event) == RANLAB_ERR_BUSY;
    busy += ranlab_agent_free(reentered) == RANLAB_ERR_BUSY;
    busy += ranlab_context_answer_later(ctx, &ticket) == RANLAB_ERR_UNKNOWN_CONTROL;
    busy += ranlab_context_answer(ctx, 1, RANLAB_CONTROL_DONE) == RANLAB_ERR_UNKNOWN_CONTROL;
    busy += ranlab_context_shows_ue(ctx, 1, 1, &shows) == RANLAB_ERR_UNKNOWN_SUBSCRIPTION;
    busy += ranlab_context_outcome(ctx, NULL, 1) == RANLAB_ERR_NULL;
}

int main(void) {
    ranlab_agent_config config = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 22, .gnb_id = 1 };
    ranlab_function function = { .oid = "1.2.3", .on_subscription = on_subscription,
                                 .on_subscription_delete = on_subscription_delete };
    ranlab_agent *agent = NULL;
    ranlab_event event;
    uint32_t controller = 99;
    uint64_t at = 0;
    uint8_t pdu[1024];
    size_t len = 0;

    EXPECT(RANLAB_ERR_NULL, ranlab_agent_new(NULL, &agent));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_new(&config, NULL));
    config.gnb_id = 1u << 22;
    EXPECT(RANLAB_ERR_INVALID, ranlab_agent_new(&config, &agent));
    config.gnb_id = 1;
    config.amf_name = "\xff";
    EXPECT(RANLAB_ERR_INVALID, ranlab_agent_new(&config, &agent));
    config.amf_name = NULL;
    /* Ids have 22 to 32 bits for gNBs, 18, 20 or 21 for ng-eNBs, and also 28 for eNBs; 1.01 has no split en-gNBs and ng-eNBs. */
    for (uint8_t node = 0; node <= 11; node++)
        for (uint8_t bits = 17; bits <= 33; bits++)
            for (int v1 = 0; v1 < 2; v1++) {
                int enb = bits == 18 || bits == 20 || bits == 21;
                int fits = node == RANLAB_NODE_ENB ? enb || bits == 28 : node == RANLAB_NODE_NG_ENB || node == RANLAB_NODE_NG_ENB_DU ? enb : bits >= 22 && bits <= 32;
                if (node > 10 || (v1 && node >= RANLAB_NODE_EN_GNB_CU_UP)) fits = 0;
                config.node = node, config.gnb_id_bits = bits, config.e2ap = v1 ? RANLAB_E2AP_1_01 : RANLAB_E2AP_2_03;
                EXPECT(fits ? RANLAB_OK : RANLAB_ERR_INVALID, ranlab_agent_new(&config, &agent));
                if (fits) EXPECT(RANLAB_OK, ranlab_agent_free(agent));
            }
    config.node = 0, config.gnb_id_bits = 22, config.e2ap = 2;
    EXPECT(RANLAB_ERR_INVALID, ranlab_agent_new(&config, &agent));
    config.e2ap = RANLAB_E2AP_3_01, config.part_id = 1ull << 36;
    EXPECT(RANLAB_ERR_INVALID, ranlab_agent_new(&config, &agent));
    config.e2ap = 0, config.part_id = 0;
    EXPECT(RANLAB_OK, ranlab_agent_free(NULL));
    EXPECT(RANLAB_OK, ranlab_agent_new(&config, &agent));

    uint16_t id = 0;
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_function(agent, NULL, NULL, NULL));
    function.on_wake = on_wake, reentered = agent;
    EXPECT(RANLAB_OK, ranlab_agent_register_function(agent, &function, NULL, &id));
    EXPECT(RANLAB_OK, ranlab_agent_rouse(agent, 0, (uint16_t)(id + 1)));
    if (busy != 0) return 8;
    EXPECT(RANLAB_OK, ranlab_agent_rouse(agent, 0, id));
    if (busy != 6) return 9;
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_rouse(NULL, 0, id));
    function.oid = "";
    EXPECT(RANLAB_ERR_FUNCTION, ranlab_agent_register_function(agent, &function, NULL, NULL));
    function.oid = "1.2.4";
    function.definition_len = 1;
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_function(agent, &function, NULL, NULL));
    function.definition_len = 0;
    function.on_subscription = NULL;
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_function(agent, &function, NULL, NULL));

    EXPECT(RANLAB_ERR_NULL, ranlab_agent_add_controller(NULL, 0, "ric", NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_add_controller(agent, 0, NULL, NULL));
    EXPECT(RANLAB_ERR_INVALID, ranlab_agent_add_controller(agent, 0, "", NULL));
    EXPECT(RANLAB_OK, ranlab_agent_add_controller(agent, 0, "ric", &controller));
    EXPECT(RANLAB_ERR_CONTROLLER_TAKEN, ranlab_agent_add_controller(agent, 0, "ric", NULL));
    EXPECT(RANLAB_ERR_UNKNOWN_CONTROLLER, ranlab_agent_connected(agent, 0, controller + 1));
    EXPECT(RANLAB_ERR_UNKNOWN_CONTROLLER, ranlab_agent_remove_controller(agent, 0, controller + 1));

    EXPECT(RANLAB_ERR_UE, ranlab_agent_associate_ue(agent, 1, controller));
    EXPECT(RANLAB_OK, ranlab_agent_ue_arrived(agent, 1));
    EXPECT(RANLAB_OK, ranlab_agent_associate_ue(agent, 1, controller));
    EXPECT(RANLAB_ERR_UNKNOWN_CONTROLLER, ranlab_agent_associate_ue(agent, 1, controller + 1));
    EXPECT(RANLAB_OK, ranlab_agent_dissociate_ue(agent, 1, controller));
    EXPECT(RANLAB_OK, ranlab_agent_ue_left(agent, 1));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_kpm(agent, NULL, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_kpm(agent, &(ranlab_kpm){ 0 }, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_mac(agent, NULL, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_rlc(agent, &(ranlab_rlc){ 0 }, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_register_pdcp(NULL, NULL, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_context_insert(NULL, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_context_outcome(NULL, NULL, 0));
    EXPECT(RANLAB_ERR_NULL, ranlab_context_answer(NULL, 1, 0));

    /* An empty MAC report: no rows, timestamp 1. */
    const uint8_t empty[12] = { 0, 0, 0, 0, 1 }, one[12 + 176] = { 1 };
    ranlab_mac_ue ue;
    size_t rows = 9;
    int64_t time_us = 0;
    EXPECT(RANLAB_OK, ranlab_mac_read(empty, sizeof empty, NULL, 0, &rows, &time_us));
    if (rows != 0 || time_us != 1) return 10;
    EXPECT(RANLAB_ERR_NOT_OF_MODEL, ranlab_mac_read(empty, sizeof empty - 1, NULL, 0, &rows, &time_us));
    EXPECT(RANLAB_ERR_BUFFER_TOO_SMALL, ranlab_mac_read(one, sizeof one, NULL, 0, &rows, NULL));
    if (rows != 1) return 11;
    EXPECT(RANLAB_ERR_NULL, ranlab_mac_read(one, sizeof one, NULL, 1, &rows, NULL));
    EXPECT(RANLAB_OK, ranlab_mac_read(one, sizeof one, &ue, 1, &rows, NULL));
    EXPECT(RANLAB_ERR_NOT_OF_MODEL, ranlab_rlc_read(one, sizeof one, NULL, 0, &rows, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_pdcp_read(empty, sizeof empty, NULL, 0, NULL, NULL));
    EXPECT(RANLAB_OK, ranlab_model_trigger(RANLAB_OID_MAC, 5000, pdu, sizeof pdu, &len));
    if (len != 4 || memcmp(pdu, "\5\0\0", 4)) return 12;
    EXPECT(RANLAB_ERR_BUFFER_TOO_SMALL, ranlab_model_trigger(RANLAB_OID_KPM, 5000, NULL, 0, &len));
    EXPECT(RANLAB_ERR_MODEL, ranlab_model_trigger("1.2.3", 5000, pdu, sizeof pdu, &len));
    EXPECT(RANLAB_ERR_NOT_OF_MODEL, ranlab_model_trigger(RANLAB_OID_MAC, 0, pdu, sizeof pdu, &len));
    EXPECT(RANLAB_OK, ranlab_model_action(RANLAB_OID_MAC, NULL, 0, 5000, pdu, sizeof pdu, &len));
    if (len != 0) return 13;
    EXPECT(RANLAB_ERR_NOT_OF_MODEL, ranlab_model_action(RANLAB_OID_KPM, (const uint8_t *)"junk", 4, 5000, pdu, sizeof pdu, &len));

    EXPECT(RANLAB_ERR_NULL, ranlab_agent_poll(agent, NULL));
    do {
        EXPECT(RANLAB_OK, ranlab_agent_poll(agent, &event));
    } while (event.kind == RANLAB_EVENT_OTHER);
    if (event.kind != RANLAB_EVENT_CONNECT || strcmp(event.text, "ric")) return 2;
    EXPECT(RANLAB_OK, ranlab_agent_connected(agent, 1, controller));
    EXPECT(RANLAB_OK, ranlab_agent_poll(agent, &event));
    if (event.kind != RANLAB_EVENT_TRANSMIT) return 3;

    /* A buffer that is too small loses no data. */
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_transmit(agent, 1, controller, pdu, sizeof pdu, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_transmit(agent, 1, controller, NULL, sizeof pdu, &len));
    EXPECT(RANLAB_ERR_BUFFER_TOO_SMALL, ranlab_agent_transmit(agent, 1, controller, pdu, 3, &len));
    size_t needed = len;
    EXPECT(RANLAB_ERR_BUFFER_TOO_SMALL, ranlab_agent_transmit(agent, 1, controller, NULL, 0, &len));
    EXPECT(RANLAB_OK, ranlab_agent_transmit(agent, 1, controller, pdu, needed, &len));
    if (len != needed || len < 20) return 4;
    EXPECT(RANLAB_OK, ranlab_agent_transmit(agent, 1, controller, pdu, sizeof pdu, &len));
    if (len != 0) return 5;

    /* Not E2AP: the connection is closed, and the agent keeps running. */
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_receive(agent, 2, controller, NULL, 4));
    EXPECT(RANLAB_OK, ranlab_agent_receive(agent, 2, controller, (const uint8_t *)"junk", 4));
    EXPECT(RANLAB_OK, ranlab_agent_receive(agent, 2, controller, NULL, 0));
    EXPECT(RANLAB_OK, ranlab_agent_disconnected(agent, 3, controller));
    EXPECT(RANLAB_ERR_NULL, ranlab_agent_wake_at(agent, NULL));
    EXPECT(RANLAB_OK, ranlab_agent_wake_at(agent, &at));
    if (at == RANLAB_NEVER) return 6;
    EXPECT(RANLAB_OK, ranlab_agent_wake(agent, at));

    EXPECT(RANLAB_ERR_NULL, ranlab_context_now(NULL, &at));
    EXPECT(RANLAB_ERR_NULL, ranlab_context_wake_at(NULL, 0));
    EXPECT(RANLAB_ERR_NULL, ranlab_context_indicate(NULL, 1, 0, NULL, 0, NULL, 0));
    if (!*ranlab_error_text(RANLAB_ERR_ENCODE) || !*ranlab_error_text(-1)) return 7;
    EXPECT(RANLAB_OK, ranlab_agent_free(agent));
    return 0;
}
