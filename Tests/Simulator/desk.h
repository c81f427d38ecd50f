/*
 * Desk: what a process has open, and what it does there.
 */
#ifndef DESK_H
#define DESK_H

#include "history.h"

#include <holdfast.h>

enum { LISTS_AT_ONCE = 4 };

typedef struct follower follower;
typedef struct live_query live_query;

typedef struct desk {
    hf_store *store;
    hf_repository *lists, *things;
    follower *follower;
    live_query *live;
    int steps;
    bool wants_end;
} desk;

/* --- desk.c --------------------------------------------------------------------------------------- */
/* options: members of the store's, without braces, or NULL. */
hf_status desk_open(desk *d, const char *path, const char *options, hf_error **error);
bool desk_close(desk *d);
/* The number of the process that asks. */
int own_process(void);
/* Frees the error, and reports what no call may answer. Answers whether the call has done what it was asked
 * for. */
bool look(const char *doing, hf_status status, hf_error **error);
/* As look, where nothing fails: reports all but a success. */
bool must(const char *doing, hf_status status, hf_error **error);
bool verify(desk *d, const char *what);
/* Behind the first `"name":` of a text; NULL where there is none. */
const char *behind(const char *text, const char *name);
/* The text there between quotes, without escapes, cut to the size. */
void copy_text(const char *at, char *out, size_t size);

/* --- lists.c -------------------------------------------------------------------------------------- */
/* Now and then others are used, so that none becomes long. */
int generation(void);
void parse_values(const char *text, reading *out);
/* False where it is not known what is in the list. */
bool read_list(desk *d, hf_transaction *t, int list, reading *out);
hf_transaction *begin_transaction(desk *d, bool *out_durable);
outcome finish(hf_transaction *t, record *record);
/* Reads some lists and appends to some of them, all in one transaction. */
void change_lists(desk *d, bool writes);
/* Appends without looking, by a commit of its own. */
void push(desk *d);

/* --- batches.c ------------------------------------------------------------------------------------ */
void batch_filter(int number, char filter[64]);
void add_batch(desk *d);
void remove_batch(desk *d);
void count_batch(desk *d);

/* --- maintenance.c -------------------------------------------------------------------------------- */
void backup_path(int number, char path[64]);
void maintenance(desk *d);

/* --- inspection.c --------------------------------------------------------------------------------- */
/* With all that may lie beside it, also where a power cut has brought it back. */
void remove_store(const char *path);

/* --- exports.c ------------------------------------------------------------------------------------ */
/* `attempts`: after which what was cut short is left so. */
void export_all(desk *d, int attempts);
/* Goes on with those that were cut short, where nobody else is there. */
void end_exports(desk *d);

/* --- imports.c ------------------------------------------------------------------------------------ */
void import_some(desk *d);
/* Runs those again that have not ended, and counts what all have stored. */
void end_imports(desk *d);

/* --- upgrades.c ----------------------------------------------------------------------------------- */
void upgrade(desk *d);
void inspect_upgrades(desk *d);

/* --- followers.c ---------------------------------------------------------------------------------- */
/* The durable subscription of this process, until the desk is closed. */
void follow(desk *d);
void acknowledge(desk *d);
void unfollow(desk *d);
void read_feed(desk *d);
/* Has all of the subscriptions hear the rest, and looks whether any has missed something. */
void end_followers(desk *d, bool after_power_cut);

/* --- live_queries.c ------------------------------------------------------------------------------- */
void open_live_query(desk *d);
/* Looks whether it shows in the end what the query finds. */
void close_live_query(desk *d);

#endif
