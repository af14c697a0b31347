/* Counts the heap allocations in every 1000 calls of a function that transfers PDUs, after the first 200 calls, and prints the number
 * on stderr. COUNTED selects the function. Linked with -Wl,--wrap=FUNCTION: ranlab_context_indicate, ranlab_agent_transmit,
 * ranlab_ric_receive or ranlab_xapp_receive. Aborts if the program starts a thread. */
#include "ranlab_ric.h"
#include "ranlab_xapp.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void __libc_free(void *);
static long asked, freed, calls, asked_before, freed_before;

void *malloc(size_t n) { return asked++, __libc_malloc(n); }
void *calloc(size_t m, size_t n) { return asked++, __libc_calloc(m, n); }
void *realloc(void *p, size_t n) { return asked++, __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return asked++, __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return asked++, __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { return asked++, *p = __libc_memalign(a, n), *p ? 0 : 12; }
void free(void *p) { freed += p != NULL, __libc_free(p); }

int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *), void *with) {
    (void)id, (void)attributes, (void)start, (void)with, fprintf(stderr, "a thread\n");
    abort();
}

static void count(void) {
    if (++calls % 1000 != 200) return;
    if (calls > 1000) fprintf(stderr, "allocated %ld freed %ld\n", asked - asked_before, freed - freed_before);
    asked_before = asked, freed_before = freed;
}
/* Functions that are not wrapped are not linked. */
#define WRAP(function, parameters, ...) \
    int32_t __real_##function parameters; \
    int32_t __wrap_##function parameters; \
    int32_t __wrap_##function parameters { return count(), __real_##function(__VA_ARGS__); }
#if COUNTED == 1
WRAP(ranlab_context_indicate, (ranlab_context *c, uint64_t s, uint8_t a, const uint8_t *h, size_t hn, const uint8_t *m, size_t mn), c, s, a, h, hn, m, mn)
#elif COUNTED == 2
WRAP(ranlab_ric_receive, (ranlab_ric *r, uint64_t t, uint64_t c, const uint8_t *p, size_t n), r, t, c, p, n)
#elif COUNTED == 3
WRAP(ranlab_xapp_receive, (ranlab_xapp *x, uint64_t t, const uint8_t *p, size_t n), x, t, p, n)
#else
/* Half of the calls return no PDU. */
WRAP(ranlab_agent_transmit, (ranlab_agent *a, uint64_t t, uint32_t c, uint8_t *p, size_t n, size_t *l), a, t, c, p, n, l)
#endif
