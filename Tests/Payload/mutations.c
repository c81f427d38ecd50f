/*
 * Random changes to a text: at first the same on every run, then others each time.
 */
#include "payload_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many numbers follow from the test's own seed alone. */
enum { FIXED = 200000 };

static uint64_t random_state, drawn;
static size_t numbers;

void random_draw(void) {
    const char *given = getenv("HOLDFAST_SEED");
    drawn = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("HOLDFAST_SEED=%llu\n", (unsigned long long)drawn);
    fflush(stdout);
}

void random_seed(uint64_t seed) {
    random_state = seed;
    numbers = 0;
}

uint32_t random_below(uint32_t bound) {
    if (numbers++ == FIXED)
        random_state ^= drawn * 0x9E3779B97F4A7C15u;
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % bound;
}

size_t mutate(char *bytes, size_t length) {
    static const char telling[] = "{}[]\",:\\u0123456789.eE+-tfn \n\0\x7F\x80\xC3\xE2\xF0\xFF";
    for (uint32_t changes = 1 + random_below(4); changes > 0 && length > 0; changes--) {
        uint32_t at = random_below((uint32_t)length);
        switch (random_below(4)) {
        case 0:
            bytes[at] = telling[random_below(sizeof telling - 1)];
            break;
        case 1: /* remove */
            memmove(bytes + at, bytes + at + 1, length - at - 1);
            length--;
            break;
        case 2: { /* swap */
            uint32_t other = random_below((uint32_t)length);
            char byte = bytes[at];
            bytes[at] = bytes[other];
            bytes[other] = byte;
            break;
        }
        default: /* cut short, now and then */
            length -= random_below(8) == 0 ? at : 0;
            break;
        }
    }
    return length;
}
