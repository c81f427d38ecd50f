/*
 * Transfer: entities that go out as text and come in from it, or from the table of another database.
 *
 * The format is JSON Lines (jsonlines.org): UTF-8, one JSON object a line. The first line of an export tells
 * the state and the repositories with their keys and indexes, the last one how many entities there are:
 *
 *   {"holdfast_export":1,"incarnation":"…","sequence":12,"repositories":[{"name":"songs","key":"id",
 *    "indexes":[{"name":"plays","fields":{"plays":1},"unique":false}]}]}
 *   {"repository":"songs","id":"s1","version":7,"entity":{"id":"s1","plays":3}}
 *   {"end":true,"entities":1}
 *
 * "schema_version" stands in the first line where hf_store_upgrade has recorded one. Entities are in the
 * order of the repositories' names and the ids, with their bytes as stored, except that a line break between
 * JSON's words becomes a space. Readers ignore members that they do not know. Where no such first line
 * stands, every line is an entity itself, whatever it looks like, but for one such as this further down,
 * which is refused, as is a first line with a "holdfast_export" that is not as above.
 */
#ifndef HOLDFAST_TRANSFER_H
#define HOLDFAST_TRANSFER_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "maintenance.h"
#include "status.h"
#include "store.h"

HF_BEGIN_DECLS

/**
 * Takes a piece of an export: one or more whole lines. bytes: borrowed for this call, not closed with NUL.
 * Called on the exporting thread, without a lock. out_error: as of hf_transaction_fn. Answers HF_OK, or a
 * status with which the export ends, and with that error.
 */
typedef hf_status (*hf_write_fn)(const char *bytes, size_t length, void *user_data, hf_error **out_error);

/**
 * Gives an import its next bytes. buffer: for at most `capacity` bytes. Called on the importing thread,
 * without a lock. out_error: as of hf_transaction_fn. Answers how many were put there, 0 at the end, or -1
 * when they cannot be had: then the import ends with that error, or with HF_HOST_ERROR.
 */
typedef int64_t (*hf_read_fn)(char *buffer, size_t capacity, void *user_data, hf_error **out_error);

/**
 * Exports a store, all of it as of one commit, while others go on writing.
 *
 * While it runs it holds a snapshot of its own, which nobody takes back ("snapshot_max_age_ms" does not hold
 * for it): the write-ahead log cannot be begun anew, so it may grow beyond "wal_limit_bytes", and what write
 * takes long for keeps it so.
 *
 * options: NUL-terminated JSON object, or NULL.
 *   "repositories": array of names (all)
 *   "after": {"sequence","repository","id","incarnation","repositories"}   goes on behind this entity with
 *       an export of that state which was cut short; its first line is not repeated, and the last line
 *       counts what was written before, too. "incarnation" and "repositories", an array of names, are those
 *       of the first line; without them it cannot be seen whether that export is of this store and of what
 *       is asked for. HF_CONFLICT where it is of another state, store or repositories: export anew
 *   "damaged": "refuse" | "skip" (refuse)   an entity, or an index's definition, that is damaged where it is
 *       stored ends the export with HF_CORRUPT, or it is left out
 *
 * write: must not be NULL. progress: in entities, total 0; NULL if not wanted. user_data: passed to both;
 * borrowed until the call returns. out_report: receives {"sequence","entities","skipped"}, those that were
 * written and those that were left out; NULL if not wanted.
 *
 * Errors: what write answered; HF_CANCELLED, HF_NOT_FOUND (no such repository), HF_CONFLICT, HF_INVALID_JSON,
 * HF_INVALID_OPTION, HF_CLOSED, HF_CORRUPT (the detail names the entity), HF_IO. Any thread.
 */
HF_EXPORT hf_status hf_store_export(hf_store *store, const char *options, hf_write_fn write,
                                    hf_progress_fn progress, void *user_data, hf_buffer *out_report,
                                    hf_error **out_error);

/**
 * Imports an export, or lines that are entities themselves (blank ones are passed over), in commits of at
 * most 1,000 entities or 4 MiB. The commits before a failure stay; a repository is created with its first
 * entity, or at the end. All is durable when the call returns.
 *
 * Of an export, repositories are created with their keys, indexes after the entities, and where no schema's
 * version is recorded, that of the export is. Into a store without entities each brings its version, where no
 * entity of this store can have had a greater one, as in a new store; commits to come have greater numbers.
 * A store that has entities goes on from its own number, so that who follows its commits keeps his place,
 * and gives new versions. So does an import with "replace", one into a repository with a validator, and one
 * of an export whose "sequence" is beyond 2^51.
 *
 * options: NUL-terminated JSON object, or NULL.
 *   "repository": name             where lines go that name none; an id is assigned where one is missing
 *   "existing": "refuse" | "replace" | "skip"   (refuse) what becomes of an entity whose id is taken:
 *                                  HF_EXISTS, or it replaces the other, or it is left out
 *   "resume": name                 1 to 200 bytes. Run again with the same name, lines and options, the
 *                                  import stores only what an earlier run did not; for other lines the
 *                                  name is HF_KEY_REUSED. Known as long as idempotency keys are
 *   "indexes": bool (true)         whether the export's indexes are created
 *
 * read: must not be NULL. progress: in entities, total 0; NULL if not wanted. user_data: passed to both;
 * borrowed until the call returns. out_report: receives {"entities","stored","skipped"}; what an earlier run
 * stored counts as stored. NULL if not wanted.
 *
 * Errors, with the detail's `line`: HF_INVALID_JSON (also an export that was cut short, or has a line that is
 * none of an export), HF_FORMAT_TOO_NEW (an export of a newer library), HF_INVALID_ENTITY, HF_INVALID_ID
 * (also where an export's line names another id than its entity has), HF_EXISTS, HF_UNIQUE_VIOLATION,
 * HF_KEY_REUSED, what read has failed with, HF_CANCELLED, HF_INVALID_OPTION, HF_INVALID_NAME, HF_READ_ONLY,
 * and those of hf_transaction_commit. Any thread.
 */
HF_EXPORT hf_status hf_store_import(hf_store *store, const char *options, hf_read_fn read,
                                    hf_progress_fn progress, void *user_data, hf_buffer *out_report,
                                    hf_error **out_error);

/**
 * Imports the rows of a table, or of a view, of any SQLite file, which is only read. Each row becomes an
 * entity with the columns, generated ones too, as members: numbers and text as they are, NULL as null, an
 * infinite number as null. A BLOB becomes text in base64 (RFC 4648, section 4), and text that is not UTF-8 as
 * well.
 *
 * path: NUL-terminated, of the SQLite file. table: NUL-terminated name.
 * options: NUL-terminated JSON object, or NULL.
 *   "repository": name (the table's)
 *   "id": name of a column         whose value becomes the id. By default the column called as the
 *                                  repository's key, else the primary key if it is one column, else the
 *                                  row's number, else an id is assigned
 *   "json": array of columns       whose text is JSON and becomes a value of its own
 *   "existing", "resume": as for hf_store_import; lines are rows, in the order in which SQLite gives them
 * progress, user_data, out_report: as for hf_store_import.
 *
 * Errors: HF_NOT_FOUND (no such table or column: the detail's `table` or `column`), HF_CANNOT_OPEN,
 * HF_NOT_A_STORE (no SQLite file), and those of hf_store_import, whose `line` is the row's number here,
 * from 1. Any thread.
 */
HF_EXPORT hf_status hf_store_import_table(hf_store *store, const char *path, const char *table,
                                          const char *options, hf_progress_fn progress, void *user_data,
                                          hf_buffer *out_report, hf_error **out_error);

HF_END_DECLS

#endif
