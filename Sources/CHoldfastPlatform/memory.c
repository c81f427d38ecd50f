#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <sys/mman.h>

/* More than any caller can have in memory, and far from where sums of sizes overflow: no bound that a test
 * would move. */
#define MOST ((size_t)1 << 36)

/* Asked for since this thread looked last. */
static __thread size_t unseen;

/* By a mapping and not by malloc, which would change its ways after a large block was freed. Its pages are
 * never touched, so it costs two system calls. */
static bool is_there(size_t bytes) {
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    munmap(mapping, bytes);
    return true;
}

bool hfplatform_memory_ask(size_t bytes, size_t unasked, size_t reserve) {
    if (bytes > MOST)
        return false;
    unseen += bytes;
    if (unseen < unasked)
        return true;
    bool answer = is_there(bytes + reserve);
    /* After a refusal the system is asked by the next, however little that is. */
    unseen = answer ? 0 : unasked;
    return answer;
}
