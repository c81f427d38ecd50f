/*
 * What the Swift runtime asks of glibc 2.35 and 2.36, so that a wheel runs from 2.34 on. The library exports
 * none of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* Cannot fail, as the other one: once the kernel is up getrandom gives so few bytes always. */
uint32_t arc4random(void) {
    uint32_t number;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
        if (errno != EINTR)
            abort();
    }
    return number;
}

float hypotf(float x, float y) {
    if (isinf(x) || isinf(y))
        return INFINITY;
    return (float)sqrt((double)x * x + (double)y * y);
}
