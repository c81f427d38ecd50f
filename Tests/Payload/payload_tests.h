/*
 * Shared by the payload's tests: cmocka with what it needs before it, checks on exact copies of the text, so
 * that the address sanitizer sees every byte read beyond it, and random changes to a text.
 */
#ifndef PAYLOAD_TESTS_H
#define PAYLOAD_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "CHoldfastPayload.h"

static const hfpayload_limits roomy = {1 << 20, 64};

/* A text that may hold NUL bytes, from a literal. */
typedef struct text {
    const char *bytes;
    size_t length;
} text;
#define TEXT(literal)                                                                                        \
    { literal, sizeof(literal) - 1 }

/* A text that is refused, where, and in words that hold these. */
typedef struct refusal {
    text payload;
    size_t position;
    const char *words;
} refusal;

char *exact_copy(const char *bytes, size_t length);
bool check_entity(text payload, hfpayload_limits limits, hfpayload_entity *entity, hfpayload_error *error);
void assert_refused(const hfpayload_error *error, hfpayload_failure failure, size_t position,
                    const char *words);

/* Draws what the numbers later follow from, HOLDFAST_SEED or another each time, and prints it. */
void random_draw(void);
void random_seed(uint64_t seed);
uint32_t random_below(uint32_t bound);
/* Changes some bytes, prefers those that mean something in JSON; answers the length that is left. */
size_t mutate(char *bytes, size_t length);

int run_tree_tests(void);
int run_entity_tests(void);
int run_batch_tests(void);
int run_plain_tests(void);
int run_stored_tests(void);
int run_robustness_tests(void);

#endif
