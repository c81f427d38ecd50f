/*
 * Maintenance of a store while it is in use: backup and restore, checking, compacting, and bringing its
 * schema to the program's version.
 *
 * The functions take as long as the work does, so they are for threads that may wait. The library's callback
 * thread is none: events would be held up meanwhile.
 */
#ifndef HOLDFAST_MAINTENANCE_H
#define HOLDFAST_MAINTENANCE_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "status.h"
#include "store.h"
#include "transaction.h"

HF_BEGIN_DECLS

/**
 * Hears how far long work is.
 *
 * done: in the unit that the function names. total: in the same unit, 0 where it is not known. Called on the
 * thread that does the work, between its pieces and once at its end, never under a lock. It may use the
 * store, and close it. Answering false gives up: the function answers HF_CANCELLED.
 */
typedef bool (*hf_progress_fn)(uint64_t done, uint64_t total, void *user_data);

/**
 * Copies the newest committed state into a new file, while this and other processes go on reading and
 * writing. The file appears under its name when it is complete, found sound by SQLite's own check, and
 * synced; until then there is one of that name with "-partial" appended. It is a store, closed cleanly, with
 * an incarnation of its own and the permissions of the store. Where a file system has neither exclusive
 * renames nor links, an empty file keeps the name for the instant before; a process that is killed in it
 * leaves that file, which hf_store_restore refuses: remove it.
 *
 * Where others commit meanwhile it rests up to three times as long as it works, so that they keep most of
 * their speed. So it takes up to four times as long as it would without resting, and ends however many
 * commit.
 *
 * While it copies, the write-ahead log cannot be begun anew, and from half of "wal_limit_bytes" on it does
 * not rest. Where the log outgrows that limit all the same, because others commit and progress takes long,
 * the copying begins anew with the state of then, and goes on at full speed, without progress until its end:
 * so the log grows beyond the limit by what is committed while the file is copied without a pause.
 *
 * path: NUL-terminated, of the new file, which must not exist; nor may a file of that name with "-wal",
 * "-shm" or "-journal" appended, which would be read as a part of it. progress: in bytes; NULL if not
 * wanted. user_data: passed to it; borrowed until the call returns. out_report: receives
 * {"path","sequence","bytes"}; NULL if not wanted.
 *
 * Errors: HF_EXISTS (the message names the file, which may be the one with "-partial" appended: what a copy
 * that was cut short has left is known by the sticky bit of its mode, and begun anew; where the file system
 * keeps none, remove it), HF_BUSY (that file is just being written, or a process has a store of that name
 * open), HF_UNSUPPORTED (a store without a file: export it), HF_CANCELLED, HF_CLOSED (closed meanwhile),
 * HF_CANNOT_OPEN (also a name that is kept for a part of another store), HF_READ_ONLY, HF_FULL, HF_IO,
 * HF_CORRUPT (the store is damaged: verify it). Nothing is left behind then. Any thread.
 */
HF_EXPORT hf_status hf_store_backup(hf_store *store, const char *path, hf_progress_fn progress,
                                    void *user_data, hf_buffer *out_report, hf_error **out_error);

/**
 * Makes a store from a backup, or from the file of any store that nobody changes meanwhile. The copy is
 * complete, found sound and synced before it gets its name. It has a new incarnation: positions in the
 * stream of the store that was backed up are not taken for positions in this one. A new file has the
 * permissions of the backup, and its owner may write it all the same. Who opens the store meanwhile waits,
 * and gets the restored one.
 *
 * backup: NUL-terminated path. url: as for hf_store_open, of an SQLite file that no process has open.
 * options: NUL-terminated JSON object, or NULL.
 *   "replace": bool (false)                whether a store that is there is replaced. It stays there, with
 *                                          all its commits, until the copy is complete and takes its place
 *                                          and its permissions. Commits in its "-wal" file are brought into
 *                                          it first; where it is too damaged for that, or gone, that file
 *                                          lies under its name with "-replaced" appended for a moment; so
 *                                          does the store where files cannot change names in one step
 *   "allow_unsafe_location", "lock_timeout_ms": as for hf_store_open
 * progress, user_data: as for hf_store_backup.
 *
 * Errors: HF_EXISTS (also a "-wal", "-shm" or "-journal" file without its store: the message names it),
 * HF_BUSY (a process has the store open, if only for reading, or another program), HF_NOT_A_STORE,
 * HF_FORMAT_TOO_NEW, HF_CORRUPT (the backup is damaged), HF_CANCELLED, HF_UNSUPPORTED (a URL without a file),
 * HF_INVALID_URL, HF_INVALID_JSON, HF_INVALID_OPTION, HF_CANNOT_OPEN, HF_UNSAFE_LOCATION, HF_FULL, HF_IO.
 * What was there is as before then. Any thread.
 */
HF_EXPORT hf_status hf_store_restore(const char *backup, const char *url, const char *options,
                                     hf_progress_fn progress, void *user_data, hf_error **out_error);

/**
 * Checks all that is stored: the file by the engine's own rules, every entity (valid, and stored under its
 * own id), and every index against the entities. Others go on meanwhile. Each repository is looked at in one
 * state; where the write-ahead log outgrows "wal_limit_bytes" meanwhile, that begins anew, without progress
 * until its end. The check of the file by SQLite's rules is done without a pause.
 *
 * progress: in entities, total 0; NULL if not wanted. out_report: receives a JSON object; must not be NULL:
 *
 *   "ok"             whether nothing is wrong
 *   "problems"       an array of sentences: what the engine finds wrong in its file
 *   "repositories"   an array, ordered by name, of what hf_repository_verify reports
 *
 * What is wrong is an answer, not an error. Errors: HF_CANCELLED, HF_CLOSED, HF_IO. Any thread.
 */
HF_EXPORT hf_status hf_store_verify(hf_store *store, hf_progress_fn progress, void *user_data,
                                    hf_buffer *out_report, hf_error **out_error);

/**
 * Gives space that nothing is stored in back to the file system. Commits wait meanwhile, reads go on; open
 * transactions lose their snapshots, as when those are too old. It needs as much free space again as the
 * file has, in the directory of temporary files and beside the store.
 *
 * out_report: receives {"bytes_before","bytes_after"}, of the file; NULL if not wanted. The file may get
 * shorter a little later, where a reader stands in the way.
 *
 * Errors: HF_BUSY (another process has the store open for more than reading), HF_UNSUPPORTED (a store
 * without a file), HF_READ_ONLY, HF_FULL, HF_IO, HF_CLOSED. The store is as before then. Any thread.
 */
HF_EXPORT hf_status hf_store_compact(hf_store *store, hf_buffer *out_report, hf_error **out_error);

/**
 * Brings entities from one version of the program's schema to the next.
 *
 * transaction: borrowed for this call, as for hf_transaction_fn; all reading and writing goes through it.
 * from, to: the versions; `to` is `from` + 1. out_error: as of hf_transaction_fn, as is the answer. It is
 * called again for the same version after a conflict.
 */
typedef hf_status (*hf_upgrade_fn)(hf_transaction *transaction, int64_t from, int64_t to, void *user_data,
                                   hf_error **out_error);

/**
 * Brings the store to a version of the program's schema, to be called once it is open, before its
 * repositories are, which that creates. A store without repositories is new and gets the version as it is;
 * one with repositories in which no version is recorded has version 0, and so has one over a provider where
 * none is. From each version to the next the function is called once, in a transaction that records the new
 * version too: an upgrade that fails, or whose process dies, is done again as a whole at the next call, and
 * those before it are not. Other processes that have the store open are told nothing: they go on writing the
 * old shapes. Where they never stop, a step may meet a conflict in each of 100 attempts, which is
 * HF_CONFLICT, with "attempts" in its detail: end them first.
 *
 * version: 0..2^31, the program's. upgrade: called on this thread; it may be NULL where nothing is to be
 * done. options: NUL-terminated JSON object, or NULL.
 *   "backup": bool (true)   whether a store with a file is backed up first, if there is something to do, to
 *                           "<path>-v<version>.backup", with a number behind it where that is taken
 *
 * progress: of the backup, in bytes; NULL if not wanted. user_data: passed to both; borrowed until the call
 * returns. out_report: receives {"from","to","backup"}, backup a path or null; NULL if not wanted.
 *
 * Errors: HF_SCHEMA_TOO_NEW (the store has a greater version, or got one meanwhile from a newer program),
 * what upgrade answered (with an error that says so), HF_INVALID_ARGUMENT, HF_INVALID_OPTION, HF_READ_ONLY,
 * those of hf_store_backup and hf_store_transact.
 * Any thread, and several processes at once: each step is done by one of them.
 */
HF_EXPORT hf_status hf_store_upgrade(hf_store *store, int64_t version, hf_upgrade_fn upgrade,
                                     const char *options, hf_progress_fn progress, void *user_data,
                                     hf_buffer *out_report, hf_error **out_error);

/**
 * The recorded version of the program's schema; -1 where none is. out_version must not be NULL. Errors:
 * HF_INVALID_ARGUMENT, HF_CLOSED, HF_IO, HF_CORRUPT. Any thread.
 */
HF_EXPORT hf_status hf_store_schema_version(hf_store *store, int64_t *out_version, hf_error **out_error);

HF_END_DECLS

#endif
