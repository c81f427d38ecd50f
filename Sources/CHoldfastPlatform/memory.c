#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <sys/mman.h>

/* Stays free for what is allocated without asking. It is many times what a thread may take between two looks.
 */
#define RESERVE ((size_t)4 << 20)
/* So much a thread may ask for before the system is asked. */
#define UNSEEN ((size_t)64 << 10)
/* More than any caller can have in memory. */
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

bool hfp_memory_ask(size_t bytes) {
    if (bytes > MOST)
        return false;
    unseen += bytes;
    if (unseen < UNSEEN)
        return true;
    bool answer = is_there(bytes + RESERVE);
    /* After a refusal the system is asked by the next, however little that is. */
    unseen = answer ? 0 : UNSEEN;
    return answer;
}
