/*
 * History: what the clients have done and were told, kept where no process takes it with it, and judged.
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
    BACKUPS = 6
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

typedef struct history {
    uint64_t clock;
    int era;
    int count, batches;
    uint32_t next_value;
    record records[RECORDS];
    batch batch[BATCHES];
    backup backup[BACKUPS];
    /* What is found when all is over. */
    reading final[LISTS];
    int found[BATCHES];
    bool is_found;
    uint64_t dump;
    bool has_answered;

    int fault_count;
    char faults[FAULTS][512];
    uint64_t committed, aborted, unknown, opens, failed_opens, backups, restores, batches_in_all;
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
void history_judge(bool after_power_cut);

#endif
