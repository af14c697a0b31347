/* hello_ric E2_PORT E42_PORT [SECONDS [PERIOD_MS]]: a RIC on 127.0.0.1 for base stations and xApps, in an epoll loop. Its iApp
 * subscribes to MAC of every node. */
#define _GNU_SOURCE
#include "ranlab_ric.h"
#include "ranlab_stats.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
enum { PDU_MAX = 1 << 20, PEERS_MAX = 64 };
/* A connection, or (side 0 and 1) a listener. */
static struct peer { int fd; uint64_t connection; size_t have, queued, sent; uint8_t in[4 + PDU_MAX], out[4 + PDU_MAX]; } peers[PEERS_MAX];
static int loop;
static uint64_t reports, rows, period_us = 100000;

static uint64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }
static size_t length_at(const uint8_t *at) { uint32_t n; memcpy(&n, at, 4); return ntohl(n); }
static struct peer *peer_of(uint64_t connection) { struct peer *p = peers; while (p->connection != connection) p++; return p; }

/* The iApp subscribes at each new node and reads the reports. */
static void on_node(void *userdata, ranlab_iapp_context *ctx, uint32_t change, const ranlab_node *node) {
    uint8_t trigger[16]; size_t len; uint64_t subscription; (void)userdata;
    printf("%s %s\n", node->name, change == RANLAB_NODE_ADDED ? "is new" : change == RANLAB_NODE_CHANGED ? "has changed" : "was removed");
    if (change != RANLAB_NODE_ADDED || ranlab_model_trigger(RANLAB_OID_MAC, period_us, trigger, sizeof trigger, &len)) return;
    const ranlab_action report = { .id = 1, .kind = RANLAB_ACTION_REPORT };
    ranlab_iapp_subscribe(ctx, &(ranlab_wanted){ .node = node->node, .oid = RANLAB_OID_MAC, .event_trigger = trigger,
        .event_trigger_len = len, .actions = &report, .actions_len = 1 }, &subscription);
}
static void on_subscription(void *userdata, ranlab_iapp_context *ctx, const ranlab_subscription_news *news) {
    (void)userdata, (void)ctx;
    if (news->state != RANLAB_SUBSCRIBED) printf("subscription %llu: %s\n", (unsigned long long)news->subscription, news->why);
}
static void on_indication(void *userdata, ranlab_iapp_context *ctx, const ranlab_indication *i) {
    static ranlab_mac_ue ues[RANLAB_ROWS_MAX]; size_t n; int64_t at_us; uint64_t octets = 0; (void)userdata, (void)ctx;
    if (ranlab_mac_read(i->message, i->message_len, ues, RANLAB_ROWS_MAX, &n, &at_us)) return;
    for (size_t ue = 0; ue < n; ue++) octets += ues[ue].dl_aggr_tbs;
    if (reports++ % 100 == 0) printf("node %u: %zu UEs, %llu octets so far\n", i->node, n, (unsigned long long)octets);
    rows += n;
}

static int listen_at(struct peer *p, uint16_t port) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    return bind(p->fd, (struct sockaddr *)&at, sizeof at) || listen(p->fd, 16)
        || epoll_ctl(loop, EPOLL_CTL_ADD, p->fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = p });
}
static void accept_on(ranlab_ric *ric, struct peer *listener) {
    struct peer *p = peers + 2; int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    while (p < peers + PEERS_MAX && p->connection) p++;
    if (fd < 0 || p == peers + PEERS_MAX || ranlab_ric_connected(ric, now_ns(), (uint8_t)(listener - peers), "tcp://127.0.0.1", &p->connection)) { close(fd); return; }
    p->fd = fd, p->have = p->queued = p->sent = 0;
    epoll_ctl(loop, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = p });
}
static void flush(ranlab_ric *ric, struct peer *p) { /* data that the kernel does not accept stays here; further PDUs stay in the RIC */
    for (ssize_t n = 0; n >= 0; n = send(p->fd, p->out + p->sent, p->queued - p->sent, MSG_DONTWAIT | MSG_NOSIGNAL), p->sent += n > 0 ? (size_t)n : 0) {
        size_t len = 0;
        if (p->sent < p->queued) continue;
        if (ranlab_ric_transmit(ric, now_ns(), p->connection, p->out + 4, PDU_MAX, &len) || !len) break;
        memcpy(p->out, &(uint32_t){ htonl((uint32_t)len) }, 4), p->sent = 0, p->queued = len + 4;
    }
    epoll_ctl(loop, EPOLL_CTL_MOD, p->fd, &(struct epoll_event){ .events = EPOLLIN | (p->sent < p->queued ? EPOLLOUT : 0u), .data.ptr = p });
}
static void take(ranlab_ric *ric, struct peer *p) {
    ssize_t n = recv(p->fd, p->in + p->have, sizeof p->in - p->have, MSG_DONTWAIT);
    size_t done = 0, len = 0, end = p->have + (n > 0 ? (size_t)n : 0);
    for (; end - done >= 4 && (len = length_at(p->in + done)) <= end - done - 4; done += 4 + len)
        ranlab_ric_receive(ric, now_ns(), p->connection, p->in + done + 4, len);
    memmove(p->in, p->in + done, p->have = end - done);
    if (n == 0 || len > PDU_MAX) close(p->fd), ranlab_ric_disconnected(ric, now_ns(), p->connection), p->connection = 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: hello_ric E2_PORT E42_PORT [SECONDS [PERIOD_MS]]\n"), 2;
    const ranlab_ric_config config = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .ric_id = 25, .first_instance = (uint16_t)getpid() };
    const ranlab_iapp iapp = { .name = "hello", .on_node = on_node, .on_subscription = on_subscription, .on_indication = on_indication };
    uint64_t at, end = argc > 3 ? now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u : RANLAB_NEVER;
    if (argc > 4) period_us = strtoull(argv[4], NULL, 10) * 1000;
    ranlab_ric *ric = NULL; ranlab_ric_event e; struct epoll_event ready[16]; loop = epoll_create1(EPOLL_CLOEXEC);
    int error = ranlab_ric_new(&config, &ric);
    if (!error) error = ranlab_ric_add_iapp(ric, &iapp, NULL, NULL);
    for (int side = 0; side < 2; side++)
        if (listen_at(peers + side, (uint16_t)atoi(argv[1 + side]))) return perror(argv[1 + side]), ranlab_ric_free(ric), 1;
    for (; !error && now_ns() < end; error = ranlab_ric_wake(ric, now_ns())) {
        while (!ranlab_ric_poll(ric, &e) && e.kind != RANLAB_RIC_NONE) {
            if (e.kind == RANLAB_RIC_TRANSMIT) flush(ric, peer_of(e.connection));
            if (e.kind == RANLAB_RIC_CLOSE) close(peer_of(e.connection)->fd), peer_of(e.connection)->connection = 0;
            if (e.kind == RANLAB_RIC_LOG) printf("%s\n", e.text);
        }
        ranlab_ric_wake_at(ric, &at);
        uint64_t now = now_ns(), wait = at <= now ? 0 : (at - now) / 1000000u + 1;
        int n = epoll_wait(loop, ready, 16, wait > 500 ? 500 : (int)wait);
        for (struct epoll_event *r = ready; r < ready + n; r++) {
            struct peer *p = r->data.ptr;
            if (p < peers + 2) accept_on(ric, p);
            else if (p->connection && r->events & EPOLLOUT) flush(ric, p);
            else if (p->connection) take(ric, p);
        }
    }
    fprintf(stderr, "hello_ric: %s, %llu reports of %llu UEs\n", ranlab_error_text(error), (unsigned long long)reports, (unsigned long long)rows);
    return ranlab_ric_free(ric), error;
}
