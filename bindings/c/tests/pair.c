/* Tests an agent, a RIC with an iApp, and an xApp in one program, connected in memory: their interaction, and the errors of invalid
 * calls. */
#include "ranlab_ric.h"
#include "ranlab_xapp.h"
#include <stdio.h>
#include <string.h>

#define EXPECT(error, call) expect(__LINE__, #call, (error), (call))
#define CHECK(condition) expect(__LINE__, #condition, 1, !!(condition))
#define OID "1.3.6.1.4.1.32473.1.3"

static int failed;
static void expect(int line, const char *what, int32_t expected, int32_t is) {
    if (is != expected) fprintf(stderr, "line %d: %s is %d, expected %d\n", line, what, is, expected), failed = 1;
}
static uint64_t now = 1;
static ranlab_agent *agent;
static ranlab_ric *ric;
static ranlab_xapp *xapp;
static uint32_t controller;
static uint64_t e2, e42; /* connections at the RIC; 0: none */

/* The agent's function: sends a report and an insert to each subscription whenever it is woken. */
static struct { uint64_t subscription; uint8_t action, kind; } wants[8];
static uint32_t on_subscription(void *userdata, ranlab_context *ctx, const ranlab_subscription *s) {
    CHECK(userdata == &wants && ctx);
    for (int i = 0; i < 8; i++)
        if (!wants[i].subscription) {
            wants[i].subscription = s->id, wants[i].action = s->actions[0].id, wants[i].kind = s->actions[0].kind;
            return s->actions_len == 2 && s->actions[1].definition_len == 3 && !memcmp(s->actions[1].definition, "def", 3) ? 1 : 0;
        }
    return 0;
}
static void on_subscription_delete(void *userdata, ranlab_context *ctx, uint64_t subscription) {
    (void)userdata, (void)ctx;
    for (int i = 0; i < 8; i++) if (wants[i].subscription == subscription) wants[i].subscription = 0;
}
static uint32_t on_control(void *userdata, ranlab_context *ctx, const ranlab_control *c) {
    (void)userdata;
    CHECK(c->header_len == 1 && *c->header == 'h');
    ranlab_context_outcome(ctx, c->call_process_id, c->call_process_id_len);
    return c->message_len == 2 ? RANLAB_CONTROL_DONE : RANLAB_CONTROL_FAILED;
}
static uint32_t on_query(void *userdata, ranlab_context *ctx, const ranlab_query *q) {
    (void)userdata;
    CHECK(q->definition_len == 1 && *q->definition == 'q');
    ranlab_context_outcome(ctx, (const uint8_t *)"forty-two", 9);
    return RANLAB_CONTROL_DONE;
}
static void on_function_wake(void *userdata, ranlab_context *ctx) {
    (void)userdata;
    for (int i = 0; i < 8; i++)
        if (wants[i].subscription)
            EXPECT(RANLAB_OK, ranlab_context_insert(ctx, &(ranlab_insert){ .subscription = wants[i].subscription, .action = wants[i].action,
                .message = (const uint8_t *)"ask", .message_len = 3, .call_process_id = (const uint8_t *)"id", .call_process_id_len = 2 }));
}

/* The iApp. */
static struct { uint32_t node, added, changed, removed, subscribed, failed, ended, indications, outcomes, refused, wakes; uint64_t subscription, unknown; } seen;
static void want(ranlab_iapp_context *ctx, uint32_t node) {
    const ranlab_action actions[2] = { { .id = 3, .kind = RANLAB_ACTION_INSERT }, { .id = 4, .kind = RANLAB_ACTION_REPORT, .definition = (const uint8_t *)"def", .definition_len = 3 } };
    ranlab_wanted wanted = { .node = node, .oid = OID, .event_trigger = (const uint8_t *)"t", .event_trigger_len = 1, .actions = actions, .actions_len = 2 };
    ranlab_command command = { .node = node, .oid = OID, .header = (const uint8_t *)"h", .header_len = 1, .message = (const uint8_t *)"no!", .message_len = 3, .acknowledge = 1 };
    uint64_t request = 0, at = 0;
    EXPECT(RANLAB_OK, ranlab_iapp_subscribe(ctx, &wanted, &seen.subscription));
    EXPECT(RANLAB_ERR_NULL, ranlab_iapp_subscribe(ctx, NULL, &request));
    EXPECT(RANLAB_ERR_NULL, ranlab_iapp_subscribe(ctx, &wanted, NULL));
    wanted.actions_len = 17;
    EXPECT(RANLAB_ERR_INVALID, ranlab_iapp_subscribe(ctx, &wanted, &request));
    wanted.actions_len = 2, wanted.node = node + 1;
    EXPECT(RANLAB_ERR_NODE, ranlab_iapp_subscribe(ctx, &wanted, &request));
    wanted.node = node, wanted.oid = "1.2.3";
    EXPECT(RANLAB_ERR_NODE_FUNCTION, ranlab_iapp_subscribe(ctx, &wanted, &request));
    wanted.oid = NULL, wanted.function = 4000;
    EXPECT(RANLAB_ERR_NODE_FUNCTION, ranlab_iapp_subscribe(ctx, &wanted, &request));
    EXPECT(RANLAB_OK, ranlab_iapp_unsubscribe(ctx, 4711));
    EXPECT(RANLAB_OK, ranlab_iapp_control(ctx, &command, &request));
    CHECK(request != 0 && request != seen.subscription);
    command.message = (const uint8_t *)"q", command.message_len = 1;
    EXPECT(RANLAB_OK, ranlab_iapp_query(ctx, &command, &request));
    EXPECT(RANLAB_OK, ranlab_iapp_now(ctx, &at));
    EXPECT(RANLAB_OK, ranlab_iapp_wake_at(ctx, at + 1000));
}
static void on_node(void *userdata, ranlab_iapp_context *ctx, uint32_t change, const ranlab_node *node) {
    CHECK(userdata == &seen && !strcmp(node->name, "gnb 505.01 7/du 3") && node->kind == RANLAB_NODE_GNB_DU && node->part_id == 3 && node->id == 7);
    CHECK(node->mcc == 505 && node->mnc == 1 && node->mnc_digits == 2 && node->id_bits == 24 && node->e2ap == RANLAB_E2AP_3_01);
    CHECK(node->functions_len == 1 && !strcmp(node->functions->oid, OID) && node->functions->revision == 5 && !memcmp(node->functions->definition, "what", 4));
    CHECK(!seen.node || seen.node == node->node);
    seen.node = node->node;
    if (change == RANLAB_NODE_ADDED) seen.added++, want(ctx, node->node);
    if (change == RANLAB_NODE_CHANGED) seen.changed++;
    if (change == RANLAB_NODE_REMOVED) seen.removed++;
}
static void on_news(void *userdata, ranlab_iapp_context *ctx, const ranlab_subscription_news *news) {
    (void)userdata, (void)ctx;
    CHECK(news->subscription == seen.subscription && (news->state == RANLAB_SUBSCRIBED) == !*news->why);
    if (news->state == RANLAB_SUBSCRIBED) CHECK(news->admitted_len == 1 && news->admitted[0] == 3), seen.subscribed++;
    seen.failed += news->state == RANLAB_SUBSCRIPTION_FAILED, seen.ended += news->state == RANLAB_SUBSCRIPTION_ENDED;
}
static void on_indication(void *userdata, ranlab_iapp_context *ctx, const ranlab_indication *i) {
    uint64_t request;
    ranlab_ric_event event;
    (void)userdata;
    CHECK(i->subscription == seen.subscription && i->node == seen.node && i->action == 3 && i->kind == RANLAB_ACTION_INSERT && i->sn == seen.indications);
    CHECK(i->message_len == 3 && !memcmp(i->message, "ask", 3) && i->header_len == 0 && i->call_process_id_len == 2);
    EXPECT(RANLAB_OK, ranlab_iapp_control(ctx, &(ranlab_command){ .node = i->node, .function = i->function, .acknowledge = 1, .header = (const uint8_t *)"h", .header_len = 1,
        .message = (const uint8_t *)"ok", .message_len = 2, .call_process_id = i->call_process_id, .call_process_id_len = i->call_process_id_len }, &request));
    EXPECT(RANLAB_ERR_BUSY, ranlab_ric_poll(ric, &event));
    EXPECT(RANLAB_ERR_BUSY, ranlab_ric_free(ric));
    seen.indications++;
}
static void on_outcome(void *userdata, ranlab_iapp_context *ctx, const ranlab_outcome *o) {
    (void)userdata, (void)ctx;
    if (o->done) {
        CHECK((o->outcome_len == 9 && !memcmp(o->outcome, "forty-two", 9)) || (o->outcome_len == 2 && !memcmp(o->outcome, "id", 2)));
        CHECK(!*o->why);
        seen.outcomes++;
    } else CHECK(strstr(o->why, "control")), seen.refused++;
}
static void on_wake(void *userdata, ranlab_iapp_context *ctx) {
    (void)userdata, (void)ctx;
    seen.wakes++;
}

/* The xApp. */
static struct { uint32_t node, added, removed, ready, subscribed, unsubscribed, indications, outcomes; uint64_t subscription, standing; } got;
static void hear(const ranlab_xapp_event *e) {
    uint64_t request;
    got.ready += e->kind == RANLAB_XAPP_READY;
    if (e->kind == RANLAB_XAPP_NODE) {
        CHECK(!strcmp(e->node->name, "gnb 505.01 7/du 3") && e->node->kind == RANLAB_NODE_GNB_DU && e->node->e2ap == RANLAB_E2AP_UNKNOWN);
        if (e->change == RANLAB_NODE_ADDED) CHECK(e->node->functions_len == 1 && e->node->connected), got.added++, got.node = e->node->node;
        if (e->change == RANLAB_NODE_REMOVED) CHECK(e->node->functions_len == 0 && e->node->node == got.node), got.removed++;
    }
    if (e->kind == RANLAB_XAPP_SUBSCRIBED) CHECK(e->not_admitted_len == 1 && e->not_admitted[0] == 4), got.subscribed++, got.subscription = e->subscription;
    if (e->kind == RANLAB_XAPP_UNSUBSCRIBED) CHECK(e->subscription == got.subscription), got.unsubscribed++;
    if (e->kind == RANLAB_XAPP_INDICATION) {
        const ranlab_indication *i = e->indication;
        CHECK(e->subscription == got.subscription && e->standing == got.standing && i->subscription == got.subscription && i->node == got.node);
        CHECK(i->message_len == 3 && !memcmp(i->message, "ask", 3) && i->kind == RANLAB_ACTION_INSERT && i->call_process_id_len == 2);
        uint8_t id[2];
        memcpy(id, i->call_process_id, 2), got.indications++;
        EXPECT(RANLAB_OK, ranlab_xapp_control(xapp, now, &(ranlab_command){ .node = i->node, .oid = OID, .acknowledge = 1, .header = (const uint8_t *)"h", .header_len = 1,
            .message = (const uint8_t *)"ok", .message_len = 2, .call_process_id = id, .call_process_id_len = 2 }, &request));
    }
    if (e->kind == RANLAB_XAPP_OUTCOME) CHECK(e->outcome->done && e->outcome->outcome_len == 2 && !memcmp(e->outcome->outcome, "id", 2)), got.outcomes++;
}

/* Transfers PDUs until no machine has output. */
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
            busy = 1, hear(&x);
            if (x.kind == RANLAB_XAPP_CONNECT) CHECK(!strcmp(x.text, "here")), ranlab_ric_connected(ric, now, RANLAB_SIDE_E42, "xapp", &e42), ranlab_xapp_connected(xapp, now);
            while (x.kind == RANLAB_XAPP_TRANSMIT && !ranlab_xapp_transmit(xapp, now, pdu, sizeof pdu, &len) && len) ranlab_ric_receive(ric, now, e42, pdu, len);
        }
        while (!ranlab_ric_poll(ric, &r) && r.kind != RANLAB_RIC_NONE) {
            busy = 1;
            CHECK(r.kind != RANLAB_RIC_CLOSE);
            if (r.kind != RANLAB_RIC_TRANSMIT) continue;
            /* A buffer that is too small loses no data. */
            int32_t error = ranlab_ric_transmit(ric, now, r.connection, pdu, 3, &len);
            if (!error && !len) continue;
            CHECK(error == RANLAB_ERR_BUFFER_TOO_SMALL && len > 3);
            while (!ranlab_ric_transmit(ric, now, r.connection, pdu, sizeof pdu, &len) && len)
                if (r.connection == e2) ranlab_agent_receive(agent, now, controller, pdu, len);
                else ranlab_xapp_receive(xapp, now, pdu, len);
        }
    }
}

static void make(void) {
    const ranlab_function function = { .oid = OID, .definition = (const uint8_t *)"what", .definition_len = 4, .revision = 5, .on_subscription = on_subscription,
        .on_subscription_delete = on_subscription_delete, .on_control = on_control, .on_query = on_query, .on_wake = on_function_wake };
    const ranlab_iapp iapp = { "pair", on_node, on_news, on_indication, on_outcome, on_wake };
    ranlab_agent_config a = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 24, .gnb_id = 7, .node = RANLAB_NODE_GNB_DU, .part_id = 3, .e2ap = RANLAB_E2AP_3_01 };
    ranlab_ric_config r = { .mcc = 505, .mnc = 1, .mnc_digits = 1, .ric_id = 25, .e2ap = RANLAB_E2AP_3_01 };
    ranlab_xapp_config x = { .address = "here", .dialect = 3 };
    uint16_t id;
    uint32_t number = 9;
    EXPECT(RANLAB_ERR_INVALID, ranlab_ric_new(&r, &ric));
    r.mnc_digits = 2, r.ric_id = 1 << 20;
    EXPECT(RANLAB_ERR_INVALID, ranlab_ric_new(&r, &ric));
    r.ric_id = 25;
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_new(NULL, &ric));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_new(&r, NULL));
    EXPECT(RANLAB_OK, ranlab_ric_new(&r, &ric));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_add_iapp(ric, NULL, NULL, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_add_iapp(ric, &(ranlab_iapp){ 0 }, NULL, NULL));
    EXPECT(RANLAB_OK, ranlab_ric_add_iapp(ric, &iapp, &seen, &number));
    EXPECT(RANLAB_OK, ranlab_ric_rouse(ric, now, number));
    CHECK(seen.wakes == 1);
    EXPECT(RANLAB_ERR_UNKNOWN_IAPP, ranlab_ric_rouse(ric, now, number + 1));
    EXPECT(RANLAB_ERR_INVALID, ranlab_xapp_new(&x, &xapp));
    x.dialect = RANLAB_E42_RANLAB, x.address = NULL;
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_new(&x, &xapp));
    x.address = "here";
    EXPECT(RANLAB_OK, ranlab_xapp_new(&x, &xapp));
    EXPECT(RANLAB_OK, ranlab_agent_new(&a, &agent));
    EXPECT(RANLAB_OK, ranlab_agent_register_function(agent, &function, &wants, &id));
    EXPECT(RANLAB_OK, ranlab_agent_add_controller(agent, now, "ric", &controller));
}

static void misuse(void) {
    ranlab_ric_event r;
    ranlab_xapp_event x;
    uint64_t n;
    size_t len;
    uint8_t pdu[8];
    EXPECT(RANLAB_OK, ranlab_ric_free(NULL));
    EXPECT(RANLAB_OK, ranlab_xapp_free(NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_poll(NULL, &r));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_poll(ric, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_wake_at(ric, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_connected(ric, now, RANLAB_SIDE_E2, NULL, &n));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_connected(ric, now, RANLAB_SIDE_E2, "", NULL));
    EXPECT(RANLAB_ERR_INVALID, ranlab_ric_connected(ric, now, 2, "", &n));
    EXPECT(RANLAB_ERR_UNKNOWN_CONNECTION, ranlab_ric_disconnected(ric, now, 0));
    EXPECT(RANLAB_ERR_UNKNOWN_CONNECTION, ranlab_ric_receive(ric, now, 99, pdu, 1));
    EXPECT(RANLAB_ERR_UNKNOWN_CONNECTION, ranlab_ric_transmit(ric, now, 99, pdu, sizeof pdu, &len));
    EXPECT(RANLAB_ERR_NULL, ranlab_ric_transmit(ric, now, 99, NULL, 8, &len));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_poll(NULL, &x));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_poll(xapp, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_receive(xapp, now, NULL, 1));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_transmit(xapp, now, NULL, 1, &len));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_transmit(xapp, now, pdu, 1, NULL));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_subscribe(xapp, now, NULL, &n));
    EXPECT(RANLAB_ERR_NULL, ranlab_xapp_subscribe(xapp, now, &(ranlab_wanted){ 0 }, &n));
    EXPECT(RANLAB_ERR_NODE, ranlab_xapp_subscribe(xapp, now, &(ranlab_wanted){ .node = 7, .actions = &(ranlab_action){ 0 }, .actions_len = 1 }, &n));
    EXPECT(RANLAB_ERR_UNKNOWN_SUBSCRIPTION, ranlab_xapp_unsubscribe(xapp, now, 99));
    EXPECT(RANLAB_ERR_UNKNOWN_SUBSCRIPTION, ranlab_xapp_lost(xapp, 99, &n));
    EXPECT(RANLAB_ERR_NODE, ranlab_xapp_control(xapp, now, &(ranlab_command){ .node = 7 }, &n));
    EXPECT(RANLAB_ERR_NULL, ranlab_iapp_now(NULL, &n));
    EXPECT(RANLAB_ERR_NULL, ranlab_iapp_wake_at(NULL, 0));
    EXPECT(RANLAB_ERR_NULL, ranlab_iapp_query(NULL, NULL, NULL));
}

int main(void) {
    const ranlab_action actions[2] = { { .id = 3, .kind = RANLAB_ACTION_INSERT }, { .id = 4, .definition = (const uint8_t *)"def", .definition_len = 3 } };
    const ranlab_wanted wanted = { .oid = OID, .event_trigger = (const uint8_t *)"u", .event_trigger_len = 1, .actions = actions, .actions_len = 2 };
    uint64_t lost = 9, at;
    make(), misuse();
    EXPECT(RANLAB_OK, ranlab_xapp_subscribe(xapp, now, &wanted, &got.standing));
    settle();
    CHECK(seen.added == 1 && seen.subscribed == 1 && seen.refused == 1 && seen.outcomes == 1 && seen.wakes == 1);
    CHECK(got.ready == 1 && got.added == 1 && got.subscribed == 1);
    settle();
    CHECK(seen.wakes == 2); /* the iApp was woken at the time that it set */
    for (int i = 0; i < 3; i++) EXPECT(RANLAB_OK, ranlab_agent_rouse(agent, now, 0)), EXPECT(RANLAB_OK, ranlab_agent_rouse(agent, now, 1)), settle();
    CHECK(seen.indications == 3 && got.indications == 3 && seen.outcomes == 4 && got.outcomes == 3);
    EXPECT(RANLAB_OK, ranlab_xapp_lost(xapp, got.subscription, &lost));
    CHECK(lost == 0);

    EXPECT(RANLAB_OK, ranlab_xapp_unsubscribe_all(xapp, now, got.standing)), settle();
    CHECK(got.unsubscribed == 1 && !wants[0].subscription + !wants[1].subscription == 1);

    /* The node disconnects, which is reported to the iApp only. It reconnects, and its subscription is restored. */
    EXPECT(RANLAB_OK, ranlab_ric_disconnected(ric, now, e2));
    EXPECT(RANLAB_ERR_UNKNOWN_CONNECTION, ranlab_ric_disconnected(ric, now, e2));
    EXPECT(RANLAB_OK, ranlab_agent_disconnected(agent, now, controller)), settle();
    CHECK(seen.changed == 1 && got.removed == 0 && !wants[0].subscription && !wants[1].subscription);
    EXPECT(RANLAB_OK, ranlab_agent_wake_at(agent, &at));
    now = at, settle();
    CHECK(got.added == 1 && seen.added == 1 && seen.changed >= 2 && seen.subscribed >= 1 && wants[0].subscription + wants[1].subscription > 0);

    /* Not E2AP: the connection is closed without affecting others. */
    uint64_t stranger;
    ranlab_ric_event r = { 0 };
    EXPECT(RANLAB_OK, ranlab_ric_connected(ric, now, RANLAB_SIDE_E2, "stranger", &stranger));
    EXPECT(RANLAB_OK, ranlab_ric_receive(ric, now, stranger, (const uint8_t *)"\x10\x0e\xff\xff", 4));
    while (r.kind != RANLAB_RIC_CLOSE && !ranlab_ric_poll(ric, &r) && r.kind != RANLAB_RIC_NONE) {}
    CHECK(r.kind == RANLAB_RIC_CLOSE && r.connection == stranger && *r.text);
    EXPECT(RANLAB_ERR_UNKNOWN_CONNECTION, ranlab_ric_receive(ric, now, stranger, (const uint8_t *)"", 0));
    EXPECT(RANLAB_OK, ranlab_ric_connected(ric, now, RANLAB_SIDE_E2, "stranger", &stranger));
    EXPECT(RANLAB_OK, ranlab_ric_receive(ric, now, stranger, (const uint8_t *)"\x10\x0e\xff\xff", 4));
    EXPECT(RANLAB_OK, ranlab_ric_disconnected(ric, now, stranger));
    while (!ranlab_ric_poll(ric, &r) && r.kind != RANLAB_RIC_NONE) CHECK(r.connection != stranger); /* no event for a closed connection */

    /* The RIC removes a node that does not reconnect. */
    EXPECT(RANLAB_OK, ranlab_ric_disconnected(ric, now, e2));
    now += 700 * 1000000000ull;
    EXPECT(RANLAB_OK, ranlab_ric_wake(ric, now));
    CHECK(seen.removed == 1 && seen.ended == 1);
    uint32_t before = seen.node;
    seen.node = 0;
    EXPECT(RANLAB_OK, ranlab_agent_disconnected(agent, now, controller)), settle();
    now += 2000000000, settle();
    CHECK(got.removed == 1 && got.added == 2 && seen.added == 2 && seen.node != before && seen.node != 0);
    EXPECT(RANLAB_OK, ranlab_agent_free(agent));
    EXPECT(RANLAB_OK, ranlab_xapp_free(xapp));
    EXPECT(RANLAB_OK, ranlab_ric_free(ric));
    return failed;
}
