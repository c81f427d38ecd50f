/*
 * Desk: what a process has open.
 */
#ifndef DESK_H
#define DESK_H

#include "history.h"

#include <holdfast.h>

enum { LISTS_AT_ONCE = 4 };

typedef struct desk {
    hf_store *store;
    hf_repository *lists, *things;
    int steps;
    bool wants_end;
} desk;

hf_status desk_open(desk *d, const char *path, const char *options, hf_error **error);
bool desk_close(desk *d);

/* Frees the error, and reports what no call may answer. Answers whether the call has done what it was asked
 * for. */
bool look(const char *doing, hf_status status, hf_error **error);
bool verify(desk *d, const char *what);
/* False where it is not known what is in the list. */
bool read_list(desk *d, hf_transaction *t, int list, reading *out);
/* Reads some lists and appends to some of them, all in one transaction. */
void change_lists(desk *d, bool writes);
void batch_filter(int number, char filter[64]);
void backup_path(int number, char path[64]);

#endif
