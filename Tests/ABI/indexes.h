/* What the tests of indexes share. */
#ifndef INDEXES_H
#define INDEXES_H

#include "support.h"

void create_index(room r, const char *options);
void expect_indexes(room r, const char *json);

/* Expects that no entry of any index is wrong or missing, and answers how many there are. */
int index_entries(room r);

#endif
