/*
 * History: what the clients have done and were told, kept where no process takes it with it, and checked.
 *
 * Clients append numbers, each of which is used once, to lists. So the lists tell in which order their
 * transactions were stored, and who has read what, and a cycle among them shows that no order explains it
 * (as in Elle: Kingsbury and Alvaro, VLDB 2020). Beside that they add entities in batches, of which all or
 * none are there.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "world.h"

enum {
    RECORDS = 4000,
    READS = 4,
    APPENDS = 3,
    VALUES = 48,
    LISTS = 160,
    BATCHES = 400,
    FAULTS = 8,
    BACKUPS = 6,
    BATCH_SIZE = 408,
    IMPORTS = 100,
    COPIED_BYTES = 24 << 20
};

typedef enum outcome { ABORTED, COMMITTED, UNKNOWN } outcome;

typedef struct reading {
    int list;
    int count;
    uint32_t values[VALUES];
} reading;

/* A transaction, or a backup, which reads as one does. */
typedef struct record {
    int task;
    outcome outcome;
    bool is_durable;
    uint64_t began, ended; /* 0: never */
    int reads, appends;
    reading read[READS];
    struct {
        int list;
        uint32_t value;
    } append[APPENDS];
} record;

typedef struct batch {
    uint64_t began;
    int size;
    outcome outcome; /* of adding it */
    bool is_durable;
    bool is_removing; /* somebody has tried to remove it */
    bool is_removed;  /* and was told so, for good */
} batch;

/* One that was answered with success, in the present era. */
typedef struct backup {
    bool is_there;
    int generation; /* of lists, at its end */
    uint64_t began, ended;
} backup;

/* What was written of an export, which is there also when its process is not. */
typedef struct exported {
    bool is_begun, is_running, is_whole;
    uint64_t began, sequence, entities;
    char incarnation[40];
    char repository[16], id[40]; /* of the last line */
    int generation;              /* of the lists that are looked at */
    reading read[READS];
    int batches; /* as it began, and what must be of them */
    bool must_be[BATCHES], must_not_be[BATCHES];
    int found[BATCHES];
} exported;

typedef struct import {
    int size, process;
    bool is_running, is_done;
} import;

/* What a durable subscription, or the feed, has heard of batches in the present era. */
typedef struct subscription {
    uint64_t began;        /* 0: never */
    uint64_t acknowledged; /* a sequence */
    char position[80];     /* of the feed */
    uint8_t heard[BATCHES][BATCH_SIZE / 8];
} subscription;

/* What has come of it all, by the names under which the summary tells it. */
#define COUNTS(X)                                                                                            \
    X(calls, "calls on files")                                                                               \
    X(failures, "of them failed")                                                                            \
    X(switches, "switches")                                                                                  \
    X(kills, "kills")                                                                                        \
    X(power_cuts, "power cuts")                                                                              \
    X(seconds, "seconds")                                                                                    \
    X(opens, "openings")                                                                                     \
    X(failed_opens, "of them failed")                                                                        \
    X(committed, "commits")                                                                                  \
    X(aborted, "refused")                                                                                    \
    X(unknown, "of unknown outcome")                                                                         \
    X(batches, "batches")                                                                                    \
    X(backups, "backups")                                                                                    \
    X(restores, "restores")                                                                                  \
    X(copies, "copies")                                                                                      \
    X(exports, "exports")                                                                                    \
    X(resumed_exports, "of them gone on with by others")                                                     \
    X(imports, "imports")                                                                                    \
    X(upgrades, "upgrades")                                                                                  \
    X(acknowledgements, "acknowledgements")                                                                  \
    X(subscriptions, "subscriptions")                                                                        \
    X(live_queries, "live queries")

typedef struct counts {
#define COUNT_MEMBER(name, text) uint64_t name;
    COUNTS(COUNT_MEMBER)
#undef COUNT_MEMBER
} counts;

typedef struct history {
    uint64_t clock;
    int era;
    int count, batches;
    uint32_t next_value;
    record records[RECORDS];
    batch batch[BATCHES];
    backup backup[BACKUPS];
    exported exported[PROCESSES];
import import[IMPORTS];
    int imports;
    subscription subscription[PROCESSES + 1];
    size_t exported_bytes;
    char exported_text[COPIED_BYTES];
    int64_t schema; /* the version that an upgrade has told of */
    /* What is found when all is over. */
    reading final[LISTS];
    int found[BATCHES];
    bool is_found;
    uint64_t dump;
    bool has_answered;

    int fault_count;
    char faults[FAULTS][512];
    counts counted;
} history;

extern history *told;

void history_create(void);
/* Begins anew, under names of their own. */
void history_begin(void);
record *history_add(void);
batch *history_add_batch(int size);
uint64_t tick(void);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Holds what was told against what was found. */
void history_check(bool after_power_cut);

#endif
