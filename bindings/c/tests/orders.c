/* Tests orders and choices of measurements from an xApp and an iApp in C. The library does not send an order that no base station
 * can execute or that the node does not offer. The first argument is the RAN function definition of RC, in hexadecimal digits. */
#include "ranlab_ric.h"
#include "ranlab_xapp.h"
#include <stdio.h>
#include <string.h>

#define EXPECT(error, call) expect(__LINE__, #call, (error), (call))
#define CHECK(condition) expect(__LINE__, #condition, 1, !!(condition))
#define RC "1.3.6.1.4.1.53148.1.1.2.3"
#define CCC "1.3.6.1.4.1.53148.1.6.2.4"

static int failed;
static void expect(int line, const char *what, int32_t expected, int32_t is) {
    if (is != expected) fprintf(stderr, "line %d: %s is %d, expected %d\n", line, what, is, expected), failed = 1;
}
static uint64_t now = 1, e2, e42;
static ranlab_agent *agent;
static ranlab_ric *ric;
static ranlab_xapp *xapp;
static uint32_t controller, node, controls, outcomes;
static char why[2000];

static uint32_t on_subscription(void *u, ranlab_context *ctx, const ranlab_subscription *s) { return (void)u, (void)ctx, (void)s, 0; }
static void on_subscription_delete(void *u, ranlab_context *ctx, uint64_t s) { (void)u, (void)ctx, (void)s; }
static uint32_t on_control(void *u, ranlab_context *ctx, const ranlab_control *c) {
    (void)u, (void)ctx;
    CHECK(c->header_len > 3 && c->message_len > 10);
    controls++;
    return RANLAB_CONTROL_DONE;
}
static int64_t time_us(void *u) { return (void)u, 1; }
static size_t read_ues(void *u, uint64_t *prbs, ranlab_ue *ues, size_t max) { return (void)u, (void)prbs, (void)ues, (void)max, 0; }

/* Invalid orders with their errors. An xApp and an iApp get the same error. */
static int32_t try_quota(uint32_t at, ranlab_iapp_context *ctx, ranlab_quota quota, uint32_t kind) {
    ranlab_order order = { .node = at, .kind = kind, .acknowledge = 1, .quotas = &quota, .quotas_len = 1, .cell = 32, .ue = "9", .why = why, .why_max = sizeof why };
    uint64_t request = 0;
    memset(why, 'x', sizeof why);
    int32_t error = ctx ? ranlab_iapp_order(ctx, &order, &request) : ranlab_xapp_order(xapp, now, &order, &request);
    CHECK(memchr(why, 0, sizeof why) && !*why == (error == RANLAB_OK) && !!request == (error == RANLAB_OK));
    return error;
}
static void try_orders(uint32_t at, ranlab_iapp_context *ctx) {
    EXPECT(RANLAB_OK, try_quota(at, ctx, (ranlab_quota){ .sst = 1, .min = 20, .max = 60, .dedicated = 10, .sd = RANLAB_NO_SD }, RANLAB_ORDER_QUOTAS));
    EXPECT(RANLAB_ERR_ORDER, try_quota(at, ctx, (ranlab_quota){ .sst = 1, .min = 60, .max = 30, .sd = RANLAB_NO_SD }, RANLAB_ORDER_QUOTAS));
    CHECK(strstr(why, "60 %") && strstr(why, "30 %"));
    EXPECT(RANLAB_ERR_ORDER, try_quota(at, ctx, (ranlab_quota){ .sst = 1, .min = 10, .max = 30, .dedicated = 20, .sd = RANLAB_NO_SD }, RANLAB_ORDER_QUOTAS));
    EXPECT(RANLAB_ERR_ORDER, try_quota(at, ctx, (ranlab_quota){ .sst = 1, .max = 101, .sd = RANLAB_NO_SD }, RANLAB_ORDER_QUOTAS));
    EXPECT(RANLAB_ERR_ORDER, try_quota(at, ctx, (ranlab_quota){ .sst = 1, .max = 50, .sd = 1u << 24 }, RANLAB_ORDER_QUOTAS));
    EXPECT(RANLAB_ERR_INVALID, try_quota(at, ctx, (ranlab_quota){ .mcc = 505, .mnc = 100, .mnc_digits = 2, .sst = 1, .max = 50 }, RANLAB_ORDER_QUOTAS));
    EXPECT(RANLAB_ERR_NOT_OFFERED, try_quota(at, ctx, (ranlab_quota){ 0 }, RANLAB_ORDER_HANDOVER));
    CHECK(strstr(why, "2/6"));
    EXPECT(RANLAB_ERR_INVALID, try_quota(at, ctx, (ranlab_quota){ 0 }, 2));
    EXPECT(RANLAB_ERR_NODE, try_quota(at + 1, ctx, (ranlab_quota){ .sst = 1, .max = 50 }, RANLAB_ORDER_QUOTAS));
}
static void try_choices(uint32_t at, ranlab_iapp_context *ctx) {
    uint8_t action[4096];
    size_t len = 0;
    ranlab_kpm_choice choice = { .node = at, .period_ms = 100, .measurements = "DRB.UEThpDl, RRU.PrbTotDl", .snssai = "1-010203", .why = why, .why_max = sizeof why };
#define ACTION() (ctx ? ranlab_iapp_kpm_action(ctx, &choice, action, sizeof action, &len) : ranlab_xapp_kpm_action(xapp, &choice, action, sizeof action, &len))
    EXPECT(RANLAB_OK, ACTION());
    CHECK(len > 20 && !*why);
    choice.part = 9;
    EXPECT(RANLAB_OK, ACTION());
    CHECK(len == 0);
    choice.part = 0, choice.measurements = "DRB.Nothing";
    EXPECT(RANLAB_ERR_NOT_OFFERED, ACTION());
    CHECK(strstr(why, "DRB.Nothing") && strstr(why, "DRB.UEThpDl"));
    choice.measurements = NULL, choice.snssai = "256";
    EXPECT(RANLAB_ERR_INVALID, ACTION());
    choice.snssai = NULL, choice.granularity_ms = 33;
    EXPECT(RANLAB_ERR_NOT_OFFERED, ACTION());
}
static void on_node(void *u, ranlab_iapp_context *ctx, uint32_t change, const ranlab_node *info) {
    (void)u;
    if (change == RANLAB_NODE_ADDED) try_orders(info->node, ctx), try_choices(info->node, ctx);
}

static void settle(void) {
    static uint8_t pdu[1 << 16];
    int busy = 1;
    now += 1000;
    ranlab_agent_wake(agent, now), ranlab_ric_wake(ric, now), ranlab_xapp_wake(xapp, now);
    while (busy) {
        ranlab_event a;
        ranlab_ric_event r;
        ranlab_xapp_event x;
        size_t len;
        busy = 0;
        while (!ranlab_agent_poll(agent, &a) && a.kind != RANLAB_EVENT_NONE) {
            busy = 1;
            if (a.kind == RANLAB_EVENT_CONNECT) ranlab_ric_connected(ric, now, RANLAB_SIDE_E2, "agent", &e2), ranlab_agent_connected(agent, now, controller);
            while (a.kind == RANLAB_EVENT_TRANSMIT && !ranlab_agent_transmit(agent, now, controller, pdu, sizeof pdu, &len) && len) ranlab_ric_receive(ric, now, e2, pdu, len);
        }
        while (!ranlab_xapp_poll(xapp, &x) && x.kind != RANLAB_XAPP_NONE) {
            busy = 1;
            if (x.kind == RANLAB_XAPP_NODE && x.change == RANLAB_NODE_ADDED) node = x.node->node;
            if (x.kind == RANLAB_XAPP_OUTCOME) CHECK(x.outcome->done), outcomes++;
            if (x.kind == RANLAB_XAPP_CONNECT) ranlab_ric_connected(ric, now, RANLAB_SIDE_E42, "xapp", &e42), ranlab_xapp_connected(xapp, now);
            while (x.kind == RANLAB_XAPP_TRANSMIT && !ranlab_xapp_transmit(xapp, now, pdu, sizeof pdu, &len) && len) ranlab_ric_receive(ric, now, e42, pdu, len);
        }
        while (!ranlab_ric_poll(ric, &r) && r.kind != RANLAB_RIC_NONE) {
            busy = 1;
            while (r.kind == RANLAB_RIC_TRANSMIT && !ranlab_ric_transmit(ric, now, r.connection, pdu, sizeof pdu, &len) && len)
                if (r.connection == e2) ranlab_agent_receive(agent, now, controller, pdu, len);
                else ranlab_xapp_receive(xapp, now, pdu, len);
        }
    }
}

/* JSON with a text where a number is required. It crashes deployed base stations. */
static int32_t try_sst(const char *sst) {
    static char message[600];
    uint8_t header_bytes[100], message_bytes[1000];
    size_t header_len = 0, message_len = 0;
    snprintf(message, sizeof message,
        "{\"controlMessageFormat\":{\"listOfConfigurationStructures\":[{\"ranConfigurationStructureName\":\"O-RRMPolicyRatio\",\"oldValuesOfAttributes\":"
        "{\"ranConfigurationStructure\":{}},\"newValuesOfAttributes\":{\"ranConfigurationStructure\":{\"resourceType\":\"PRB_DL\",\"rRMPolicyMaxRatio\":50,"
        "\"rRMPolicyMemberList\":[{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"snssai\":{\"sst\":%s}}]}}}]}}", sst);
    ranlab_values values = { .oid = CCC, .header = "{\"controlHeaderFormat\":{\"ricStyleType\":1}}", .message = message, .why = why, .why_max = sizeof why };
    int32_t error = ranlab_model_control(&values, header_bytes, sizeof header_bytes, &header_len, message_bytes, sizeof message_bytes, &message_len);
    CHECK((error == RANLAB_OK) == (message_len > 0));
    return error;
}

int main(int argc, char **argv) {
    static uint8_t definition[4096];
    static char small[8];
    size_t len = 0, room;
    for (unsigned byte; argc > 1 && len < sizeof definition && sscanf(argv[1] + 2 * len, "%2x", &byte) == 1; len++) definition[len] = (uint8_t)byte;
    const ranlab_function function = { .oid = RC, .definition = definition, .definition_len = len, .on_subscription = on_subscription,
        .on_subscription_delete = on_subscription_delete, .on_control = on_control };
    const ranlab_kpm kpm = { .prbs = 106, .time_us = time_us, .read = read_ues };
    const ranlab_iapp iapp = { .name = "orders", .on_node = on_node };
    const ranlab_agent_config a = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 22, .gnb_id = 7 };
    const ranlab_ric_config r = { .mcc = 505, .mnc = 1, .mnc_digits = 2 };
    const ranlab_xapp_config x = { .address = "here" };
    EXPECT(RANLAB_OK, ranlab_ric_new(&r, &ric));
    EXPECT(RANLAB_OK, ranlab_ric_add_iapp(ric, &iapp, NULL, NULL));
    EXPECT(RANLAB_OK, ranlab_xapp_new(&x, &xapp));
    EXPECT(RANLAB_OK, ranlab_agent_new(&a, &agent));
    EXPECT(RANLAB_OK, ranlab_agent_register_function(agent, &function, NULL, NULL));
    EXPECT(RANLAB_OK, ranlab_agent_register_kpm(agent, &kpm, NULL));
    EXPECT(RANLAB_OK, ranlab_agent_add_controller(agent, now, "ric", &controller));
    settle();
    CHECK(node != 0 && controls == 1); /* the only valid order of the iApp */
    try_orders(node, NULL), try_choices(node, NULL), settle();
    CHECK(controls == 2 && outcomes == 1); /* the only valid order of the xApp */

    EXPECT(RANLAB_OK, try_sst("1"));
    EXPECT(RANLAB_ERR_ORDER, try_sst("\"1\""));
    CHECK(strstr(why, "rRMPolicyMemberList"));
    EXPECT(RANLAB_ERR_INVALID, try_sst("{"));
    EXPECT(RANLAB_ERR_NULL, ranlab_model_control(NULL, NULL, 0, &room, NULL, 0, &room));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_order(xapp, now, NULL, NULL));
    /* A sentence that does not fit into the buffer is truncated. */
    ranlab_values values = { .oid = "1.2", .why = small, .why_max = sizeof small };
    EXPECT(RANLAB_ERR_MODEL, ranlab_model_control(&values, NULL, 0, &room, NULL, 0, &room));
    values.oid = RC, values.header = "nonsense";
    EXPECT(RANLAB_ERR_INVALID, ranlab_model_control(&values, NULL, 0, &room, NULL, 0, &room));
    CHECK(!strcmp(small, "header "));
    EXPECT(RANLAB_OK, ranlab_agent_free(agent));
    EXPECT(RANLAB_OK, ranlab_xapp_free(xapp));
    EXPECT(RANLAB_OK, ranlab_ric_free(ric));
    return failed;
}
