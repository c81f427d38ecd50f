/*
 * File lock: one process at a time holds a store, and knows that it does.
 *
 * A claim has two halves. The table of this process, keyed by device and inode, refuses a second open by
 * whatever name, also a hard link; it outlives a fork, so that a child learns that the file was open in its
 * parent. The lock on the sidecar file refuses other processes. It is an open-file-description lock: unlike
 * the older kind it is not lost when some other code of the process opens and closes the file.
 */
#ifndef CHOLDFAST_FILE_LOCK_H
#define CHOLDFAST_FILE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hfp_claim hfp_claim;

/* Enters a file into this process's table. 0, EBUSY (this process has it), ECHILD (its parent had it at the
 * fork), ENOMEM. */
int hfp_claim_create(uint64_t device, uint64_t inode, hfp_claim **out_claim);

/* Locks `descriptor`, which hfp_open_unshared has opened, exclusively or shared, without waiting, and takes
 * it over on success; what was locked is unlocked by hfp_claim_free. 0, EAGAIN (another process holds it), or
 * another errno. */
int hfp_claim_lock(hfp_claim *claim, int descriptor, bool exclusive);

/* Unlocks, closes, and takes the file out of the table; does nothing in a forked child. */
void hfp_claim_free(hfp_claim *claim);

/* The number by which statfs(2) names the file system on which `path` lies, 0 if it does not tell. */
uint32_t hfp_file_system(const char *path);

#endif
