/* agent tcp://HOST:PORT: a base station's agent with a RAN function that reports a counter to one subscriber. Its
 * service model: the event trigger is a period in ms, u32 big endian; a report is a counter, u32 big endian. */
#define _POSIX_C_SOURCE 200809L
#include "ranlab.h"
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
enum { PDU_LEN_MAX = 1 << 20 };
static struct { uint64_t subscription, period_ns, next_ns; uint32_t count; uint8_t action; } counter;
static uint8_t in[4 + PDU_LEN_MAX], out[4 + PDU_LEN_MAX];
static size_t have; /* bytes in `in` */ static int fd = -1;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static void put_u32(uint8_t *to, uint32_t v) { for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (24 - 8 * i)); }
static uint32_t take_u32(const uint8_t *at) { return (uint32_t)(at[0] << 8 | at[1]) << 16 | (uint32_t)(at[2] << 8 | at[3]); }

static void on_wake(void *userdata, ranlab_context *ctx) {
    uint64_t now = 0;
    ranlab_context_now(ctx, &now);
    if (counter.subscription && counter.next_ns <= now) {
        uint8_t message[4];
        put_u32(message, counter.count++);
        ranlab_context_indicate(ctx, counter.subscription, counter.action, NULL, 0, message, sizeof message);
        counter.next_ns = now + counter.period_ns;
    }
    if (counter.subscription) ranlab_context_wake_at(ctx, counter.next_ns);
    (void)userdata;
}
static uint32_t on_subscription(void *userdata, ranlab_context *ctx, const ranlab_subscription *s) {
    uint64_t period_ns = s->event_trigger_len == 4 ? take_u32(s->event_trigger) * 1000000ull : 0;
    if (counter.subscription || period_ns == 0 || s->actions[0].kind != RANLAB_ACTION_REPORT) return 0;
    counter.subscription = s->id, counter.period_ns = period_ns, counter.action = s->actions[0].id;
    counter.next_ns = counter.count = 0;
    on_wake(userdata, ctx);
    return 1; /* admits the first action */
}
static void on_subscription_delete(void *userdata, ranlab_context *ctx, uint64_t subscription) {
    if (counter.subscription == subscription) counter.subscription = 0;
    (void)userdata, (void)ctx;
}

static void dial(const char *address) {
    char host[256] = "", port[8] = "";
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    if (sscanf(address, "tcp://%255[^:]:%7s", host, port) != 2 || getaddrinfo(host, port, &hints, &found)) return;
    fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen)) close(fd), fd = -1;
    freeaddrinfo(found), have = 0;
}
/* Executes the outputs of the agent. A socket that fails while writing is detected when reading. */
static void follow(ranlab_agent *agent, ranlab_event e, size_t len) {
    while (ranlab_agent_poll(agent, &e) == RANLAB_OK && e.kind != RANLAB_EVENT_NONE) {
        if (e.kind == RANLAB_EVENT_CONNECT) {
            dial(e.text);
            (fd < 0 ? ranlab_agent_disconnected : ranlab_agent_connected)(agent, now_ns(), e.controller);
        } else if (e.kind == RANLAB_EVENT_TRANSMIT) {
            while (!ranlab_agent_transmit(agent, now_ns(), e.controller, out + 4, PDU_LEN_MAX, &len) && len)
                put_u32(out, (uint32_t)len), send(fd, out, len + 4, MSG_NOSIGNAL); /* blocks until all is sent */
        } else if (e.kind == RANLAB_EVENT_CLOSE && fd >= 0) close(fd), fd = -1;
    }
}
/* Reads available data and passes complete PDUs to the agent. Returns 0 at the end of the connection. */
static int take(ranlab_agent *agent, uint32_t controller) {
    ssize_t n = recv(fd, in + have, sizeof in - have, 0);
    if (n <= 0) return 0;
    size_t done = 0, len = 0, end = have + (size_t)n;
    for (; end - done >= 4 && (len = take_u32(in + done)) <= end - done - 4; done += 4 + len)
        ranlab_agent_receive(agent, now_ns(), controller, in + done + 4, len);
    memmove(in, in + done, have = end - done);
    return len <= PDU_LEN_MAX;
}

int main(int argc, char **argv) {
    const ranlab_agent_config config = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 32, .gnb_id = 7, .seed = 7 };
    const ranlab_function function = { .oid = "1.3.6.1.4.1.32473.1.1", .revision = 1, .on_wake = on_wake,
        .on_subscription = on_subscription, .on_subscription_delete = on_subscription_delete };
    ranlab_agent *agent = NULL;
    uint32_t controller;
    if (argc != 2) return fprintf(stderr, "usage: agent tcp://HOST:PORT\n"), 2;
    int error = ranlab_agent_new(&config, &agent);
    if (!error) error = ranlab_agent_register_function(agent, &function, NULL, NULL);
    if (!error) error = ranlab_agent_add_controller(agent, now_ns(), argv[1], &controller);
    for (; !error; error = ranlab_agent_wake(agent, now_ns())) {
        uint64_t at = RANLAB_NEVER, now = now_ns();
        follow(agent, (ranlab_event){ 0 }, 0);
        ranlab_agent_wake_at(agent, &at);
        int timeout_ms = at <= now ? 0 : at - now > 1000000000u ? 1000 : (int)((at - now) / 1000000u) + 1;
        if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, timeout_ms) <= 0 || take(agent, controller)) continue;
        close(fd), fd = -1, ranlab_agent_disconnected(agent, now_ns(), controller);
    }
    return fprintf(stderr, "agent: %s\n", ranlab_error_text(error)), ranlab_agent_free(agent), 1;
}
