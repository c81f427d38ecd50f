#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void report(size_t operations, double seconds, size_t repeated) {
    printf("{\"operations\":%zu,\"seconds\":%.9f,\"repeated\":%zu}\n", operations, seconds, repeated);
}

void fail(const char *what, const char *why) {
    fprintf(stderr, "FAILED: %s: %s\n", what, why);
    exit(1);
}
