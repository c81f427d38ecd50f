/*
 * Stream: what was committed, in order, told after the commit to whoever wants to know.
 *
 * A position is an opaque text that names a place in the order of a store's commits: receipts and events have
 * one, and hf_store_position gives the newest. There are four ways to follow the commits:
 *
 *   an observer               hf_stream_open. Tells of changes from now on, or from a position on.
 *   a durable subscription    the same with "durable": its position is kept in the store and moved by
 *                             hf_stream_acknowledge, so that it goes on behind what was acknowledged, also
 *                             after the program has ended: each commit is told at least once.
 *   a feed                    hf_store_changes_since. The caller keeps the position, and asks.
 *   a live query              hf_stream_open_query. A query's result, then what changes in it.
 *
 * They tell what is committed and durable as asked for, never what is rolled back; commits of this process
 * and of others. Those of others are noticed within 50 milliseconds, where the machine is not overloaded.
 * What the host of a provider (see provider.h) changes there by itself is not told.
 *
 * Events (HF_EVENT_CHANGES) arrive as event.h says: on the store's callback thread, or under "queue"
 * delivery through hf_store_events. A stream's events are in commit order; a commit that this process
 * submitted is told to observers before its completion is, where they are not behind. When nothing comes any
 * more without the host having freed the stream, as when the store closes, HF_EVENT_END tells why.
 *
 * Changes, the value of an observer's event and of a feed's answer:
 *
 *   {"position": "5c…:42",                            behind these commits
 *    "behind": true,                                  where it is told from the log (see below)
 *    "commits": [
 *      {"sequence": 42, "time": 1790000000000,        milliseconds since 1970
 *       "changes": [
 *         {"repository": "songs", "id": "s1",
 *          "operation": "update",                     insert, update, delete; put: one of the first two;
 *                                                     drop, rename: see below
 *          "entity": {…},                             the new form, where known
 *          "old": {…}}]}]}                            the before-image, where known and asked for
 *
 * A repository that was dropped or renamed is one change of its own, alone in its commit:
 *
 *         {"repository": "songs", "operation": "drop"}                   all its entities are gone
 *         {"repository": "songs", "operation": "rename", "to": "tracks"}
 *
 * An observer of a repository hears of both, whatever else it asks for, and goes on with it under the new
 * name. A commit from before is told under the name from before, as long as the log has it.
 *
 * Of this process's commits every form is known. Of others' the log has the ids alone: the new form is known
 * where the entity was not changed again since, and the later change brings it otherwise; no before-image
 * is, and what was inserted or updated is "put". What needs a former form to be decided ("filter", "fields")
 * and cannot have it is told rather than kept back: who acts upon it looks at the form itself.
 *
 * A stream that begins in the past is told from the log. So is a consumer that does not keep up: where more
 * than 10,000 changes, or 16 MiB, wait for it. Then forms are known as of another process's commits, and its
 * events say "behind". The log is kept as long as the store options log_retention, log_max_age_ms and
 * log_max_bytes say.
 * Who is so far behind that it was trimmed hears HF_CURSOR_LOST once: what it knows has to be read anew. The
 * error's detail has the `position` from which the stream goes on; all that was committed up to there is
 * read by a transaction begun afterwards. So does everybody where a server has lost commits
 * (HF_HISTORY_LOST); live queries and aggregations tell their whole result then.
 *
 * A durable subscription that is open is not left behind by commits that it is not told of: the library moves
 * its place past them, up to the first one that it was told of and has not acknowledged, with each
 * acknowledgement and else by a small commit of its own, "relaxed", for each sixteenth of what the log keeps
 * by the options of the process that has it open. What is not open stays where it is, and its place is lost
 * once the log has gone on by log_retention, for which a process that was killed counts up to 65,536. What is
 * lost stays so, however often it is opened with "since", until a position from there on is acknowledged: so
 * acknowledge the error's `position`, once what is stored was read.
 *
 * Live queries: the value of the first event is the whole result,
 *
 *   {"position": "5c…:42", "snapshot": [{…}, {…}], "versions": [40, 42]}
 *
 * and each one after it says how the result differs from what was told before:
 *
 *   {"position": "5c…:43",
 *    "merged": 1,                                     of how many commits that touched it
 *    "removed":  [{"position": 0, "id": "s1"}],       in the result before, ascending
 *    "inserted": [{"position": 4, "id": "s9",         in the new result, ascending
 *                  "version": 43, "entity": {…}}],
 *    "moved":    [{"from": 3, "to": 0, "id": "s4"}],  from the one before to the new, ascending there
 *    "changed":  [{"position": 0, "id": "s4",         in the new result, ascending
 *                  "version": 43, "entity": {…}}]}
 *
 * To follow, take out what is removed or moved, put in what is inserted or moved at its new position in
 * ascending order, then replace what is changed; a controller does so (see controller.h), and so does
 * hf_reduce, to which the values are the results of "received" and "changed". Positions count the sorted
 * result from "skip" on, up to "limit". A commit that leaves the result as it is tells nothing; one whose
 * entities keep what "fields" shows tells nothing either. An entity that is damaged where it is stored ends a
 * live query with HF_CORRUPT where its result is read, unless "damaged" says "skip"; an observer, and a feed,
 * hear of what was committed whatever lies there now, without its form. A consumer that does not keep up gets
 * several commits merged into one event: "merged" says how many. Where the log was trimmed too early a new
 * snapshot comes, with "reset": true. A live query keeps its result in memory, with some entities beyond its
 * limit, so that few changes at the edge need the storage; it pins no snapshot.
 */
#ifndef HOLDFAST_STREAM_H
#define HOLDFAST_STREAM_H

#include "base.h"
#include "error.h"
#include "event.h"
#include "repository.h"
#include "status.h"
#include "store.h"

HF_BEGIN_DECLS

typedef struct hf_stream hf_stream;

/**
 * Observes changes.
 *
 * options: NUL-terminated JSON object; NULL for all changes of the store:
 *
 *   "repository": "songs"     only of this one
 *   "id": "s1"                only of this entity; with "repository"
 *   "filter": {…}             only of entities that match before or after, and those of which that is not
 *                             known (see above); with "repository"
 *   "fields": ["plays"]       only updates of what one of these paths leads to; with "repository"
 *   "old": true               with the former form of entities (default false)
 *   "entities": false         without entities: ids alone (default true)
 *   "since": "5c…:42"         begins behind this position (default: with the next commit)
 *   "durable": "mailer"       a durable subscription of this name, 1 to 64 bytes: begins behind what was
 *                             acknowledged last; the first time, and where that is lost, at "since". For
 *                             one consumer at a time: what another process, or another open of a store on
 *                             a server, hears under this name is all of it, too
 *
 * on_event: NULL allowed: under "queue" delivery the event carries user_data. free_user_data: called with
 * user_data exactly once: by hf_stream_free, after the stream's HF_EVENT_END was delivered, or before this
 * call returns a failure; NULL allowed. out_stream receives the handle, freed with hf_stream_free.
 *
 * Errors: HF_INVALID_OPTION, HF_INVALID_QUERY, HF_INVALID_JSON, HF_NOT_FOUND (no such repository),
 * HF_CURSOR_LOST ("since" or the acknowledged position is not in the log any more, or of another store: read
 * what is stored anew, then open with the detail's `position` as "since"), HF_INVALID_STATE (a durable
 * subscription of this name is open in this process), HF_NO_MEMORY, HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED;
 * a durable subscription's first time, those of a commit. Any thread. Reads the storage.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_stream_open(hf_store *store, const char *options, hf_event_fn on_event,
                                                  void *user_data, void (*free_user_data)(void *),
                                                  hf_stream **out_stream, hf_error **out_error);

/**
 * Opens a live query: its snapshot is the first event, the next ones tell how it changes.
 *
 * filter, filter_length, options: as of hf_repository_find, all of its options allowed. Without "sort"
 * the order is by id, bytewise. The rest as hf_stream_open.
 *
 * Errors: those of hf_repository_find, HF_NO_MEMORY. Any thread. Runs the query once on the calling thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_stream_open_query(hf_repository *repository, const char *filter,
                                                        size_t filter_length, const char *options,
                                                        hf_event_fn on_event, void *user_data,
                                                        void (*free_user_data)(void *),
                                                        hf_stream **out_stream, hf_error **out_error);

/**
 * Notes that a durable subscription has dealt with everything up to a position: when it is opened again it
 * goes on behind it, and behind the commits after it that it was not to be told of. An earlier position than
 * what was noted changes nothing. The note is a commit of its own, of "relaxed" durability: after a power cut
 * some commits may be told once more.
 *
 * position: NUL-terminated, of an event of this stream.
 * Errors: HF_INVALID_STATE (the stream is not durable), HF_INVALID_ARGUMENT (no position at all),
 * HF_CURSOR_LOST (one of another store, or of what is not committed yet), HF_READ_ONLY, those of a commit,
 * HF_INVALID_HANDLE, HF_FORKED. Any thread. Blocks for the commit.
 */
HF_EXPORT hf_status hf_stream_acknowledge(hf_stream *stream, const char *position, hf_error **out_error);

/**
 * Ends a stream and frees its handle. When it returns no event of the stream reaches the host any more: it
 * waits for a callback that is running, unless it is called from inside a callback of the store; then, and
 * where the callback is the stream's own, user_data is freed after that. Events that were taken with
 * hf_store_events before are the host's, but the user_data that they name is freed here: where one thread may
 * hold such an event while another frees the stream, let user_data be a number that the host looks up. NULL
 * and a freed handle do nothing. Cannot fail. Any thread.
 */
HF_EXPORT void hf_stream_free(hf_stream *stream);

/**
 * Answers what was committed behind a position, oldest first, as changes (see above).
 *
 * position: NUL-terminated; NULL: from the oldest commit on that the log still has. options: those of
 * hf_stream_open but "since", "durable", "old" and "fields", and "limit": at most so many commits (default
 * 1000, at most 100,000). A commit of which nothing is asked for counts, but is not listed. out_changes
 * receives the answer, freed with hf_buffer_free: its "position" is the one to ask with next, the same as
 * before where nothing was committed since.
 *
 * Errors: as hf_stream_open. Any thread. Reads the storage.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_changes_since(hf_store *store, const char *position,
                                                          const char *options, hf_buffer *out_changes,
                                                          hf_error **out_error);

/**
 * Answers the position behind the newest commit, of whatever process.
 *
 * out_position receives it as text, freed with hf_buffer_free.
 * Errors: HF_NO_MEMORY, HF_CLOSED, HF_IO, HF_INVALID_HANDLE, HF_FORKED. Any thread. Reads the storage.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_position(hf_store *store, hf_buffer *out_position,
                                                     hf_error **out_error);

HF_END_DECLS

#endif
