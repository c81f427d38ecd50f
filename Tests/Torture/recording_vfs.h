/*
 * Recording VFS: a layer over SQLite's own file layer that remembers what was done to the files, and makes
 * chosen operations fail. The library takes it by its name, "holdfast"; whatever else the process does with
 * SQLite goes past it.
 *
 * Only what outlives a power cut is recorded: the database file, the write-ahead log, the rollback journal.
 */
#ifndef RECORDING_VFS_H
#define RECORDING_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VFS_OPEN = 1,
    VFS_READ = 2,
    VFS_WRITE = 4,
    VFS_TRUNCATE = 8,
    VFS_SYNC = 16,
    VFS_DELETE = 32,
    VFS_MAP = 64, /* of the shared memory file; not recorded */
    VFS_MARK = 128
};

enum { FILE_DATABASE, FILE_WAL, FILE_JOURNAL, FILE_COUNT };

extern const char *const vfs_suffixes[FILE_COUNT];

typedef struct vfs_record {
    int operation;
    int file;
    bool failed;       /* a sync that was made to fail: its writes may be lost for good */
    int64_t offset;    /* of a write; the new size of a truncation */
    uint8_t *data;     /* of a write */
    size_t size;       /* of a write */
    uint32_t number;   /* of a mark: whatever the program under test says with it */
    uint64_t sequence; /* of a mark */
    bool is_durable;   /* of a mark; of a deletion: the directory was synced with it */
} vfs_record;

/* Once, before the library opens a store. */
void vfs_install(void);

/* Forgets what was recorded, and records from here on, or stops. */
void vfs_record_begin(void);
void vfs_record_end(void);
size_t vfs_record_count(void);
const vfs_record *vfs_records(void);
/* Records a moment of the program under test. */
void vfs_mark(uint32_t number, uint64_t sequence, bool is_durable);

/* Makes the nth (from 1) of these operations answer `error`, and all after it if `forever`. A write that
 * fails has written half of its bytes. */
void vfs_fail(int operations, long nth, bool forever, int error);
void vfs_fail_nothing(void);
/* How many operations of the kinds last given to vfs_fail have come since; with an nth of 0 none fails. */
long vfs_operation_count(void);

/* Syncs do nothing and are not recorded: the planted fault that a replay must find. */
void vfs_swallow_syncs(bool on);

/* Each sync takes so much longer: a disk with a long queue. */
void vfs_slow_syncs(uint32_t milliseconds);

/* Runs the body once, in the thread that opens it, before the next file of this kind is opened; asked again
 * with NULL, none does. */
void vfs_before_open(int file, void (*body)(void));

/* How many syncs have begun so far. */
long vfs_begun_syncs(void);

#endif
