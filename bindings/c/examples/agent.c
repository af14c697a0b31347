/* A base station's agent in C: one socket, poll(2), and a RAN function that reports a counter.
 *     agent tcp://HOST:PORT
 * Its service model: the event trigger is a period in ms, u32 big endian; a report is a counter, u32 big endian. */
#define _POSIX_C_SOURCE 200809L
#include "ranlab.h"
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SUBSCRIPTIONS_MAX = 16, PDU_LEN_MAX = 1 << 20 };
struct counter { uint64_t subscription, period_ns, next_ns; uint32_t count; uint8_t action; };
static uint8_t in[4 + PDU_LEN_MAX], out[4 + PDU_LEN_MAX];
static size_t have; /* octets in `in` */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static void put_u32(uint8_t *to, uint32_t v) { for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (24 - 8 * i)); }
static uint32_t take_u32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Reports what is due and asks to be woken for what comes next. */
static void on_wake(void *userdata, ranlab_context *ctx) {
    uint64_t now = 0;
    uint8_t message[4];
    ranlab_context_now(ctx, &now);
    for (struct counter *c = userdata, *end = c + SUBSCRIPTIONS_MAX; c < end; c++) {
        if (!c->subscription) continue;
        if (c->next_ns <= now) {
            put_u32(message, c->count++);
            ranlab_context_indicate(ctx, c->subscription, c->action, NULL, 0, message, sizeof message);
            c->next_ns = now + c->period_ns;
        }
        ranlab_context_wake_at(ctx, c->next_ns);
    }
}
static uint32_t on_subscription(void *userdata, ranlab_context *ctx, const ranlab_subscription *s) {
    struct counter *c = userdata, *end = c + SUBSCRIPTIONS_MAX;
    while (c < end && c->subscription) c++;
    if (c == end || s->event_trigger_len != 4 || s->actions[0].kind != RANLAB_ACTION_REPORT) return 0;
    uint32_t period_ms = take_u32(s->event_trigger);
    if (period_ms == 0) return 0;
    *c = (struct counter){ .subscription = s->id, .period_ns = period_ms * 1000000ull, .action = s->actions[0].id };
    on_wake(userdata, ctx);
    return 1; /* the first action */
}
static void on_subscription_delete(void *userdata, ranlab_context *ctx, uint64_t subscription) {
    (void)ctx;
    for (struct counter *c = userdata, *end = c + SUBSCRIPTIONS_MAX; c < end; c++)
        if (c->subscription == subscription) c->subscription = 0;
}

static int dial(const char *address) {
    char host[256] = "", port[8] = "";
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    if (sscanf(address, "tcp://%255[^:]:%7s", host, port) != 2 || getaddrinfo(host, port, &hints, &found)) return -1;
    int fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen)) { close(fd); fd = -1; }
    freeaddrinfo(found);
    return fd;
}
/* Does what the agent wants. A socket that breaks while writing is noticed when reading. */
static void follow(ranlab_agent *agent, int *fd) {
    ranlab_event e;
    size_t len;
    while (ranlab_agent_poll(agent, &e) == RANLAB_OK && e.kind != RANLAB_EVENT_NONE) {
        if (e.kind == RANLAB_EVENT_CONNECT) {
            *fd = dial(e.text);
            have = 0;
            (*fd < 0 ? ranlab_agent_disconnected : ranlab_agent_connected)(agent, now_ns(), e.controller);
        } else if (e.kind == RANLAB_EVENT_TRANSMIT) {
            while (!ranlab_agent_transmit(agent, now_ns(), e.controller, out + 4, PDU_LEN_MAX, &len) && len) {
                put_u32(out, (uint32_t)len);
                for (size_t sent = 0; *fd >= 0 && sent < len + 4;) {
                    ssize_t n = send(*fd, out + sent, len + 4 - sent, MSG_NOSIGNAL);
                    if (n < 0) break;
                    sent += (size_t)n;
                }
            }
        } else if (e.kind == RANLAB_EVENT_CLOSE && *fd >= 0) { close(*fd); *fd = -1; }
        else puts(e.text);
    }
}

int main(int argc, char **argv) {
    static struct counter counters[SUBSCRIPTIONS_MAX];
    const ranlab_agent_config config = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 32, .gnb_id = 7, .seed = 7 };
    const ranlab_function counter = { .oid = "1.3.6.1.4.1.32473.1.1", .revision = 1, .on_wake = on_wake,
        .on_subscription = on_subscription, .on_subscription_delete = on_subscription_delete };
    ranlab_agent *agent = NULL;
    uint32_t controller;
    if (argc != 2) return fprintf(stderr, "usage: agent tcp://HOST:PORT\n"), 2;
    int error = ranlab_agent_new(&config, &agent);
    if (!error) error = ranlab_agent_register_function(agent, &counter, counters, NULL);
    if (!error) error = ranlab_agent_add_controller(agent, now_ns(), argv[1], &controller);
    int fd = -1;
    while (!error) {
        uint64_t at = RANLAB_NEVER, now = now_ns();
        follow(agent, &fd);
        ranlab_agent_wake_at(agent, &at);
        struct pollfd socket = { .fd = fd, .events = POLLIN };
        int timeout_ms = at <= now ? 0 : at - now > 1000000000u ? 1000 : (int)((at - now) / 1000000u) + 1;
        if (poll(&socket, 1, timeout_ms) > 0) {
            ssize_t n = recv(fd, in + have, sizeof in - have, 0);
            have = n > 0 ? have + (size_t)n : 0;
            size_t done = 0, len = 0;
            while (have - done >= 4 && (len = take_u32(in + done)) <= have - done - 4) {
                ranlab_agent_receive(agent, now_ns(), controller, in + done + 4, len);
                done += 4 + len;
            }
            memmove(in, in + done, have -= done);
            if (n <= 0 || len > PDU_LEN_MAX) {
                close(fd);
                fd = -1;
                ranlab_agent_disconnected(agent, now_ns(), controller);
            }
        }
        error = ranlab_agent_wake(agent, now_ns());
    }
    fprintf(stderr, "agent: %s\n", ranlab_error_text(error));
    return ranlab_agent_free(agent), 1;
}
