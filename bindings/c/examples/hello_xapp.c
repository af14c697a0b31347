/* hello_xapp HOST PORT [SECONDS [PERIOD_MS]]: an xApp that subscribes to MAC of every node and sends a control to each, in a poll
 * loop. */
#define _POSIX_C_SOURCE 200809L
#include "ranlab_stats.h"
#include "ranlab_xapp.h"
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
enum { PDU_MAX = 1 << 20 };
static uint8_t in[4 + PDU_MAX], out[4 + PDU_MAX];
static size_t have;
static int fd = -1;
static uint64_t reports, rows, acknowledged;

static uint64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }
static size_t length_at(const uint8_t *at) { uint32_t n; memcpy(&n, at, 4); return ntohl(n); }

static void dial(const char *host, uint16_t port) {
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    inet_pton(AF_INET, host, &to.sin_addr), have = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) close(fd), fd = -1;
}
/* MAC has one control, which changes nothing: header 1, message 42, 4 bytes each, little endian. */
static void test_the_way(ranlab_xapp *xapp, const ranlab_node *node) {
    uint64_t request;
    int32_t error = ranlab_xapp_control(xapp, now_ns(), &(ranlab_command){ .node = node->node, .oid = RANLAB_OID_MAC, .acknowledge = 1,
        .header = (const uint8_t *)"\1\0\0", .header_len = 4, .message = (const uint8_t *)"\52\0\0", .message_len = 4 }, &request);
    printf("%s: %zu RAN functions; control: %s\n", node->name, node->functions_len, ranlab_error_text(error));
}
static void read_report(const ranlab_indication *i) {
    static ranlab_mac_ue ues[RANLAB_ROWS_MAX]; size_t n; int64_t at_us; uint64_t octets = 0;
    if (ranlab_mac_read(i->message, i->message_len, ues, RANLAB_ROWS_MAX, &n, &at_us)) return;
    for (size_t ue = 0; ue < n; ue++) octets += ues[ue].dl_aggr_tbs;
    if (reports++ % 100 == 0) printf("node %u: %zu UEs, %llu octets so far\n", i->node, n, (unsigned long long)octets);
    rows += n;
}
/* Executes the outputs of the xApp and processes its events. */
static void follow(ranlab_xapp *xapp, char **argv) {
    ranlab_xapp_event e; size_t len;
    while (!ranlab_xapp_poll(xapp, &e) && e.kind != RANLAB_XAPP_NONE) {
        if (e.kind == RANLAB_XAPP_CONNECT) dial(argv[1], (uint16_t)atoi(argv[2])), (fd < 0 ? ranlab_xapp_disconnected : ranlab_xapp_connected)(xapp, now_ns());
        if (e.kind == RANLAB_XAPP_CLOSE && fd >= 0) close(fd), fd = -1;
        while (e.kind == RANLAB_XAPP_TRANSMIT && !ranlab_xapp_transmit(xapp, now_ns(), out + 4, PDU_MAX, &len) && len)
            memcpy(out, &(uint32_t){ htonl((uint32_t)len) }, 4), send(fd, out, len + 4, MSG_NOSIGNAL);
        if (e.kind == RANLAB_XAPP_NODE && e.change == RANLAB_NODE_ADDED) test_the_way(xapp, e.node);
        if (e.kind == RANLAB_XAPP_SUBSCRIBED) printf("%s: subscribed\n", e.node->name);
        if (e.kind == RANLAB_XAPP_SUBSCRIPTION_FAILED) printf("%s: %s\n", e.node->name, e.text);
        if (e.kind == RANLAB_XAPP_INDICATION) read_report(e.indication);
        if (e.kind == RANLAB_XAPP_OUTCOME) acknowledged += e.outcome->done, printf("control: %s\n", e.outcome->done ? "acknowledged" : e.outcome->why);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: hello_xapp HOST PORT [SECONDS [PERIOD_MS]]\n"), 2;
    uint64_t at, number, end = argc > 3 ? now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u : RANLAB_NEVER;
    ranlab_xapp *xapp = NULL; uint8_t trigger[16]; size_t len = 0;
    const ranlab_action report = { .id = 1, .kind = RANLAB_ACTION_REPORT };
    int error = ranlab_xapp_new(&(ranlab_xapp_config){ .address = argv[1], .seed = (uint64_t)getpid() }, &xapp);
    if (!error) error = ranlab_model_trigger(RANLAB_OID_MAC, argc > 4 ? strtoull(argv[4], NULL, 10) * 1000 : 100000, trigger, sizeof trigger, &len);
    if (!error) error = ranlab_xapp_subscribe(xapp, now_ns(), &(ranlab_wanted){ .oid = RANLAB_OID_MAC, .event_trigger = trigger,
        .event_trigger_len = len, .actions = &report, .actions_len = 1 }, &number); /* node 0: every node */
    for (; !error && now_ns() < end; error = ranlab_xapp_wake(xapp, now_ns())) {
        follow(xapp, argv);
        ranlab_xapp_wake_at(xapp, &at);
        uint64_t now = now_ns(), wait = at <= now ? 0 : (at - now) / 1000000u + 1;
        if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, wait > 500 ? 500 : (int)wait) < 1) continue;
        ssize_t n = recv(fd, in + have, sizeof in - have, 0);
        if (n <= 0) { close(fd), fd = -1, ranlab_xapp_disconnected(xapp, now_ns()); continue; }
        size_t done = 0, whole = have + (size_t)n;
        for (; whole - done >= 4 && (len = length_at(in + done)) <= whole - done - 4; done += 4 + len)
            ranlab_xapp_receive(xapp, now_ns(), in + done + 4, len), follow(xapp, argv);
        memmove(in, in + done, have = whole - done);
    }
    fprintf(stderr, "hello_xapp: %s, %llu reports of %llu UEs, %llu controls acknowledged\n", ranlab_error_text(error),
            (unsigned long long)reports, (unsigned long long)rows, (unsigned long long)acknowledged);
    return ranlab_xapp_free(xapp), error;
}
