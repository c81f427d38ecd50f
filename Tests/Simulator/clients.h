/*
 * Clients: what the processes of a simulation do with the store.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include "history.h"

#define STORE DIRECTORY "/store.db"
#define KEPT DIRECTORY "/kept.db"

/* How a process is made up. */
typedef struct plan {
    int clients, steps, sessions;
    const char *options; /* for desk_open */
} plan;

void run_clients(const plan *plan);
/* Without faults: looks at all that is there, and has the history hear of it. `was_cut`: the power. */
void run_inspection(bool was_cut);
/* Makes a backup to be restored later. */
void run_keeping(void);
/* Restores it over the store; has_answered tells that it was done. */
void run_restoring(void);
/* The path of this era's copy: a power cut may bring back an earlier one that was removed. */
const char *copy_path(void);
/* Exports the store into the history. */
void run_exporting(void);
/* Imports that into the copy; has_answered tells that it was done. */
void run_importing(void);
/* Removes the copy. */
void run_removing(void);
/* Commits something, sets `dump`, and ends without closing. */
void run_leaving(void);
/* Sets `dump` to a fingerprint of all entities of the file. */
void run_dump(const char *path);

#endif
