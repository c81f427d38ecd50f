/*
 * Tree evaluation: filters evaluated on trees, by listing every value that a path leads to. Written without
 * regard to the library's matcher, which walks the text, so that the two can be held against each other.
 */
#ifndef TREE_EVALUATION_H
#define TREE_EVALUATION_H

#include <jansson.h>
#include <stdbool.h>

/* Whether the document matches the filter, an object that the library has accepted. */
bool tree_matches(const json_t *document, const json_t *filter);

#endif
