/* station PORT [PORT...]: a base station for the tests, with the functions MAC, RLC, PDCP and KPM, and a user-defined function for
 * queries and controls. It connects to one controller on 127.0.0.1 per port. UE 17 is visible to the first controller, UE 18 to all.
 *
 * The user-defined function responds to a query with its definition and header, and refuses the query "refuse". It executes a control "now"
 * immediately and "later" within 20 ms, and refuses "no" with a text. A control that responds to an insert is acknowledged with the
 * insert's id. The first action of a subscription is an insert, which is sent every 20 ms with the call process id "7". */
#define _GNU_SOURCE
#include "ranlab_stats.h"
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
enum { PDU_MAX = 1 << 20, CONTROLLERS_MAX = 8 };
static struct link { int fd; size_t have; uint8_t in[4 + PDU_MAX], out[4 + PDU_MAX]; } links[CONTROLLERS_MAX];
static uint64_t inserts_for[CONTROLLERS_MAX], tickets[CONTROLLERS_MAX], readings;
static volatile sig_atomic_t ended;

static void end(int signal) { (void)signal, ended = 1; }
static uint64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }
static int64_t time_us(void *userdata) { struct timeval t; (void)userdata, gettimeofday(&t, NULL); return t.tv_sec * 1000000ll + t.tv_usec; }
static size_t length_at(const uint8_t *at) { uint32_t n; memcpy(&n, at, 4); return ntohl(n); }

static size_t read_mac(void *userdata, ranlab_mac_ue *rows, size_t rows_max) {
    (void)userdata, (void)rows_max, readings++;
    for (uint32_t ue = 0; ue < 2; ue++)
        rows[ue].rnti = 17 + ue, rows[ue].dl_aggr_tbs = readings * 1000 * (ue + 1), rows[ue].ul_harq[4] = 9, rows[ue].pusch_snr = 21.5f, rows[ue].phr = -3;
    return 2;
}
static size_t read_rlc(void *userdata, ranlab_rlc_bearer *rows, size_t rows_max) {
    (void)userdata, (void)rows_max;
    rows[0] = (ranlab_rlc_bearer){ .rnti = 17, .rbid = 4, .mode = RANLAB_RLC_UM, .txsdu_bytes = 1ull << 40, .txsdu_avg_time_to_tx_us = 0.25, .rxsdu_dd_bytes = 5 };
    return 1;
}
static size_t read_pdcp(void *userdata, ranlab_pdcp_bearer *rows, size_t rows_max) {
    (void)userdata, (void)rows_max;
    for (uint32_t i = 0; i < 3; i++) rows[i] = (ranlab_pdcp_bearer){ .rnti = 17 + i / 2, .rbid = (uint8_t)(4 + i), .rxsdu_bytes = 100 * i };
    return 3;
}
/* Three UEs; UE 18 is in a different slice. */
static size_t read_ues(void *userdata, uint64_t *prbs_offered, ranlab_ue *ues, size_t ues_max) {
    uint64_t us = now_ns() / 1000;
    (void)userdata, (void)ues_max, *prbs_offered = us;
    for (uint32_t i = 0; i < 3; i++)
        ues[i] = (ranlab_ue){ .number = 19 - i, .sst = i == 1 ? 2 : 1, .sd = RANLAB_NO_SD, .delivered_bytes = { us * i, us }, .prbs = { us / 4, us / 8 }, .rlc_delay_us = 0.1 * i };
    return 3;
}

static uint32_t on_subscription(void *userdata, ranlab_context *ctx, const ranlab_subscription *s) {
    uint8_t shows[2] = { 9, 9 };
    (void)userdata;
    if (ranlab_context_shows_ue(ctx, s->id, 17, &shows[0]) || ranlab_context_shows_ue(ctx, s->id, 18, &shows[1])) return 0;
    if (shows[1] != 1 || shows[0] != (s->controller == 0) || ranlab_context_shows_ue(ctx, s->id + 1, 17, shows) != RANLAB_ERR_UNKNOWN_SUBSCRIPTION) return 0;
    return s->actions[0].kind == RANLAB_ACTION_INSERT ? (inserts_for[s->controller] = s->id, 1u) : 0;
}
static void on_subscription_delete(void *userdata, ranlab_context *ctx, uint64_t subscription) {
    (void)userdata, (void)ctx;
    for (int c = 0; c < CONTROLLERS_MAX; c++) if (inserts_for[c] == subscription) inserts_for[c] = 0;
}
static uint32_t on_control(void *userdata, ranlab_context *ctx, const ranlab_control *c) {
    (void)userdata;
    if (c->call_process_id) return ranlab_context_outcome(ctx, c->call_process_id, c->call_process_id_len) ? RANLAB_CONTROL_FAILED : RANLAB_CONTROL_DONE;
    if (c->message_len == 3 && !memcmp(c->message, "now", 3)) return ranlab_context_outcome(ctx, (const uint8_t *)"at once", 7) ? RANLAB_CONTROL_FAILED : RANLAB_CONTROL_DONE;
    if (c->message_len == 5 && !memcmp(c->message, "later", 5)) {
        uint64_t now = 0;
        if (ranlab_context_answer_later(ctx, &tickets[c->controller]) || ranlab_context_now(ctx, &now)) return RANLAB_CONTROL_FAILED;
        return ranlab_context_wake_at(ctx, now + 20000000) ? RANLAB_CONTROL_FAILED : RANLAB_CONTROL_DONE;
    }
    ranlab_context_outcome(ctx, (const uint8_t *)"because", 7);
    return RANLAB_CONTROL_INVALID;
}
static uint32_t on_query(void *userdata, ranlab_context *ctx, const ranlab_query *q) {
    uint8_t both[64];
    uint64_t unused;
    (void)userdata;
    if (ranlab_context_answer_later(ctx, &unused) != RANLAB_ERR_UNKNOWN_CONTROL) return RANLAB_CONTROL_FAILED; /* the response to a query cannot be deferred */
    if (q->header_len + q->definition_len > sizeof both || (q->definition_len == 6 && !memcmp(q->definition, "refuse", 6))) return RANLAB_CONTROL_INVALID;
    memcpy(both, q->definition, q->definition_len), memcpy(both + q->definition_len, q->header, q->header_len);
    return ranlab_context_outcome(ctx, both, q->definition_len + q->header_len) ? RANLAB_CONTROL_FAILED : RANLAB_CONTROL_DONE;
}
static void on_wake(void *userdata, ranlab_context *ctx) {
    (void)userdata;
    for (uint64_t *ticket = tickets; ticket < tickets + CONTROLLERS_MAX; *ticket++ = 0) {
        if (!*ticket) continue;
        ranlab_context_outcome(ctx, (const uint8_t *)"at last", 7);
        if (ranlab_context_answer(ctx, *ticket, RANLAB_CONTROL_DONE) || ranlab_context_answer(ctx, *ticket, RANLAB_CONTROL_DONE) != RANLAB_ERR_UNKNOWN_CONTROL) abort();
    }
    for (int c = 0; c < CONTROLLERS_MAX; c++)
        if (inserts_for[c]) ranlab_context_insert(ctx, &(ranlab_insert){ .subscription = inserts_for[c], .action = 5, .message = (const uint8_t *)"may I?", .message_len = 6,
                                                     .call_process_id = (const uint8_t *)"7", .call_process_id_len = 1 });
}

static void dial(struct link *link, uint16_t port) {
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    link->have = 0, link->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(link->fd, (struct sockaddr *)&to, sizeof to)) close(link->fd), link->fd = -1;
}
static void follow(ranlab_agent *agent, char **argv) {
    ranlab_event e;
    size_t len;
    while (!ranlab_agent_poll(agent, &e) && e.kind != RANLAB_EVENT_NONE) {
        struct link *link = e.controller < CONTROLLERS_MAX ? links + e.controller : NULL;
        if (e.kind == RANLAB_EVENT_CONNECT) dial(link, (uint16_t)atoi(argv[1 + e.controller])), (link->fd < 0 ? ranlab_agent_disconnected : ranlab_agent_connected)(agent, now_ns(), e.controller);
        if (e.kind == RANLAB_EVENT_CLOSE && link->fd >= 0) close(link->fd), link->fd = -1;
        while (e.kind == RANLAB_EVENT_TRANSMIT && !ranlab_agent_transmit(agent, now_ns(), e.controller, link->out + 4, PDU_MAX, &len) && len)
            memcpy(link->out, &(uint32_t){ htonl((uint32_t)len) }, 4), send(link->fd, link->out, len + 4, MSG_NOSIGNAL);
    }
}
static void take(ranlab_agent *agent, uint32_t controller) {
    struct link *link = links + controller;
    ssize_t n = recv(link->fd, link->in + link->have, sizeof link->in - link->have, 0);
    size_t done = 0, len, whole = link->have + (n > 0 ? (size_t)n : 0);
    if (n <= 0) { close(link->fd), link->fd = -1, ranlab_agent_disconnected(agent, now_ns(), controller); return; }
    for (; whole - done >= 4 && (len = length_at(link->in + done)) <= whole - done - 4; done += 4 + len)
        ranlab_agent_receive(agent, now_ns(), controller, link->in + done + 4, len);
    memmove(link->in, link->in + done, link->have = whole - done);
}

int main(int argc, char **argv) {
    ranlab_agent_config config = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 32, .gnb_id = 9, .seed = 9,
                                   .node = RANLAB_NODE_GNB_DU, .part_id = 3, .e2ap = RANLAB_E2AP_3_01 };
    ranlab_function function = { .oid = "1.3.6.1.4.1.32473.1.2", .on_subscription = on_subscription, .on_wake = on_wake, .on_control = on_control,
                                 .on_query = on_query, .on_subscription_delete = on_subscription_delete };
    ranlab_agent *agent = NULL;
    struct pollfd ready[CONTROLLERS_MAX];
    uint32_t controllers = argc > CONTROLLERS_MAX ? CONTROLLERS_MAX : (uint32_t)argc - 1;
    uint64_t at, roused = 0;
    uint16_t id = 0;
    signal(SIGTERM, end);
    int error = ranlab_agent_new(&config, &agent);
    if (!error) error = ranlab_agent_register_mac(agent, &(ranlab_mac){ time_us, read_mac }, NULL);
    if (!error) error = ranlab_agent_register_rlc(agent, &(ranlab_rlc){ time_us, read_rlc }, NULL);
    if (!error) error = ranlab_agent_register_pdcp(agent, &(ranlab_pdcp){ time_us, read_pdcp }, NULL);
    if (!error) error = ranlab_agent_register_kpm(agent, &(ranlab_kpm){ 106, time_us, read_ues }, NULL);
    if (!error) error = ranlab_agent_register_function(agent, &function, NULL, &id);
    for (uint32_t c = 0; c < controllers && !error; c++) links[c].fd = -1, error = ranlab_agent_add_controller(agent, now_ns(), argv[1 + c], NULL);
    for (uint64_t ue = 17; ue <= 18 && !error; ue++) error = ranlab_agent_ue_arrived(agent, ue);
    for (uint32_t c = 1; c < controllers && !error; c++) error = ranlab_agent_associate_ue(agent, 18, c);
    for (; !error && !ended; error = ranlab_agent_wake(agent, now_ns())) {
        follow(agent, argv);
        ranlab_agent_wake_at(agent, &at);
        uint64_t now = now_ns(), wait = at <= now ? 0 : (at - now) / 1000000u + 1;
        for (uint32_t c = 0; c < controllers; c++) ready[c] = (struct pollfd){ .fd = links[c].fd, .events = POLLIN };
        poll(ready, controllers, wait > 20 ? 20 : (int)wait);
        for (uint32_t c = 0; c < controllers; c++) if (ready[c].revents) take(agent, c);
        if (now - roused > 20000000) roused = now, ranlab_agent_rouse(agent, now_ns(), id);
    }
    return fprintf(stderr, "station: %s\n", ranlab_error_text(error)), ranlab_agent_free(agent), error;
}
