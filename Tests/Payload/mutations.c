/*
 * Random changes to a text, the same on every run.
 */
#include "payload_tests.h"

#include <string.h>

static uint64_t random_state;

void random_seed(uint64_t seed) { random_state = seed; }

uint32_t random_below(uint32_t bound) {
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
