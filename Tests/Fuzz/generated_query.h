/*
 * Filters and updates that the fuzzer's bytes describe: every operator, with operands that fit it as a rule.
 * Each is written to `out`, of CAPACITY bytes; answers its length, 0 for what became too long.
 */
#ifndef GENERATED_QUERY_H
#define GENERATED_QUERY_H

#include "input.h"

enum { CAPACITY = 4096 };

/* With equality alone, or with all operators. */
size_t generate_filter(input *in, bool has_operators, char *out);

size_t generate_update(input *in, char *out);

/* Hands over copies of what stands before a tab, a filter or an update, and of the document behind it, if
 * there is a tab. */
void with_pair(const uint8_t *data, size_t size,
               void (*use)(const char *query, size_t query_length, const char *document, size_t length));

#endif
