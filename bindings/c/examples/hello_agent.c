/* hello_agent HOST PORT [SECONDS]: a gNB with one UE that reports KPM, in an epoll loop. */
#define _GNU_SOURCE
#include "ranlab.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
enum { PDU_MAX = 1 << 20 };
static uint8_t in[4 + PDU_MAX], out[4 + PDU_MAX];
static size_t have;
static int loop, fd = -1;

static uint64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }
static int64_t time_us(void *u) { struct timeval t; gettimeofday(&t, u); return t.tv_sec * 1000000ll + t.tv_usec; }
/* Counters of the base station: a UE that gets 10 Mbit/s in 20 of 106 resource blocks, with slots of 0.5 ms. */
static size_t read_ues(void *start_ns, uint64_t *prbs_offered, ranlab_ue *ues, size_t ues_max) {
    uint64_t us = (now_ns() - *(uint64_t *)start_ns) / 1000;
    *prbs_offered = us / 500 * 106, (void)ues_max;
    ues[0] = (ranlab_ue){ .number = 1, .sst = 1, .sd = RANLAB_NO_SD, .delivered_bytes = { us * 10 / 8 }, .prbs = { us / 500 * 20 } };
    return 1;
}
static void dial(const char *host, uint16_t port) {
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    inet_pton(AF_INET, host, &to.sin_addr), have = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) close(fd), fd = -1;
    else epoll_ctl(loop, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN });
}
static size_t length_at(const uint8_t *at) { uint32_t n; memcpy(&n, at, 4); return ntohl(n); }

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: hello_agent HOST PORT [SECONDS]\n"), 2;
    uint64_t start = now_ns(), at, end = argc > 3 ? start + strtoull(argv[3], NULL, 10) * 1000000000u : RANLAB_NEVER;
    ranlab_agent_config config = { .mcc = 505, .mnc = 1, .mnc_digits = 2, .gnb_id_bits = 32, .gnb_id = 7, .seed = 7 };
    ranlab_agent *agent = NULL; uint32_t ric = 0; ranlab_event e; size_t len; loop = epoll_create1(0);
    int error = ranlab_agent_new(&config, &agent);
    if (!error) error = ranlab_agent_register_kpm(agent, &(ranlab_kpm){ .prbs = 106, .time_us = time_us, .read = read_ues }, &start);
    if (!error) error = ranlab_agent_add_controller(agent, start, argv[1], &ric);
    for (; !error && now_ns() < end; error = ranlab_agent_wake(agent, now_ns())) {
        while (!ranlab_agent_poll(agent, &e) && e.kind != RANLAB_EVENT_NONE) {
            if (e.kind == RANLAB_EVENT_CONNECT) dial(argv[1], (uint16_t)atoi(argv[2])), (fd < 0 ? ranlab_agent_disconnected : ranlab_agent_connected)(agent, now_ns(), ric);
            if (e.kind == RANLAB_EVENT_CLOSE && fd >= 0) close(fd), fd = -1;
            while (e.kind == RANLAB_EVENT_TRANSMIT && !ranlab_agent_transmit(agent, now_ns(), ric, out + 4, PDU_MAX, &len) && len)
                memcpy(out, &(uint32_t){ htonl((uint32_t)len) }, 4), send(fd, out, len + 4, MSG_NOSIGNAL);
        }
        ranlab_agent_wake_at(agent, &at);
        uint64_t now = now_ns(), wait = at <= now ? 0 : (at - now) / 1000000u + 1;
        if (epoll_wait(loop, &(struct epoll_event){ 0 }, 1, wait > 500 ? 500 : (int)wait) < 1) continue;
        ssize_t n = recv(fd, in + have, sizeof in - have, 0);
        if (n <= 0) { close(fd), fd = -1, ranlab_agent_disconnected(agent, now_ns(), ric); continue; }
        for (have += (size_t)n; have >= 4 && have - 4 >= (len = length_at(in)); memmove(in, in + 4 + len, have -= 4 + len))
            ranlab_agent_receive(agent, now_ns(), ric, in + 4, len);
    }
    return fprintf(stderr, "hello_agent: %s\n", ranlab_error_text(error)), ranlab_agent_free(agent), error;
}
