/*
 * File lock: what processes that share a store agree on.
 *
 * A claim has two halves. The table of this process, keyed by device and inode, refuses a second open by
 * whatever name, also a hard link; it outlives a fork, so that a child learns that the file was open in its
 * parent. The locks on ranges of the sidecar file are seen by other processes. They are
 * open-file-description locks: unlike the older kind they are not lost when some other code of the process
 * opens and closes the file, and like it they go when the process dies.
 */
#ifndef CHOLDFAST_FILE_LOCK_H
#define CHOLDFAST_FILE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hfplatform_claim hfplatform_claim;

/* Enters a file into this process's table. 0, EBUSY (this process has it), ECHILD (its parent had it at the
 * fork), ENOMEM. */
int hfplatform_claim_create(uint64_t device, uint64_t inode, hfplatform_claim **out_claim);

/* Hands the descriptor of the sidecar file, which hfplatform_open_unshared has opened, to the claim, which
 * closes it. */
void hfplatform_claim_attach(hfplatform_claim *claim, int descriptor);

typedef enum hfplatform_lock_kind {
    HFPLATFORM_UNLOCKED,
    HFPLATFORM_SHARED,
    HFPLATFORM_EXCLUSIVE
} hfplatform_lock_kind;

/* Sets the claim's lock on `count` bytes from `start` (0: to the end), whatever it was before, without
 * waiting. 0, EAGAIN (another process holds one that does not go with it; this claim's stays as it was), or
 * another errno. */
int hfplatform_claim_lock(hfplatform_claim *claim, hfplatform_lock_kind kind, int64_t start, int64_t count);

/* Whether anybody, also this process, has a lock on bytes of the file at `path`; false where it cannot be
 * opened. */
bool hfplatform_is_locked(const char *path, int64_t start, int64_t count);

/* Unlocks, closes, and takes the file out of the table; does nothing in a forked child. */
void hfplatform_claim_free(hfplatform_claim *claim);

/* The number by which Linux' statfs(2) names the file system on which `path` lies, 0 if it does not tell. */
uint32_t hfplatform_file_system(const char *path);

/* Whether something is mounted at `path` itself, which is then a second name of a file; false where the
 * system does not tell. Links are not followed. */
bool hfplatform_is_mount(const char *path);

#endif
