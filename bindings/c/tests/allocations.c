/* Counts what the heap is asked for between the 200th and the 1200th indication of the program it is linked with, and ends that
 * program: 0 if it was nothing. Linked with -Wl,--wrap=ranlab_context_indicate. */
#include "ranlab.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void __libc_free(void *);
static long asked, freed, indications, asked_before, freed_before;

void *malloc(size_t n) { return asked++, __libc_malloc(n); }
void *calloc(size_t m, size_t n) { return asked++, __libc_calloc(m, n); }
void *realloc(void *p, size_t n) { return asked++, __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return asked++, __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return asked++, __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { return asked++, *p = __libc_memalign(a, n), *p ? 0 : 12; }
void free(void *p) { freed += p != NULL, __libc_free(p); }

int32_t __real_ranlab_context_indicate(ranlab_context *, uint64_t, uint8_t, const uint8_t *, size_t, const uint8_t *, size_t);
int32_t __wrap_ranlab_context_indicate(ranlab_context *ctx, uint64_t subscription, uint8_t action, const uint8_t *header,
                                       size_t header_len, const uint8_t *message, size_t message_len) {
    if (++indications == 200) asked_before = asked, freed_before = freed;
    if (indications == 1200) {
        fprintf(stderr, "allocated %ld freed %ld\n", asked - asked_before, freed - freed_before);
        _exit(asked != asked_before || freed != freed_before);
    }
    return __real_ranlab_context_indicate(ctx, subscription, action, header, header_len, message, message_len);
}
