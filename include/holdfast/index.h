/*
 * Indexes: what lets queries find entities by other members than their id.
 *
 * An index is over one path or several. It has an entry for each entity and each value to which its paths
 * lead: where there is an array, one for each element; where there is nothing, one for null, also for an
 * element of an array on the way that is no object. Paths that come to one array go on through the same
 * element: {"a": [{"b": 1, "c": 2}, {"b": 3, "c": 4}]} has over a.b and a.c the entries (1, 2) and (3, 4).
 * Of paths through several arrays there is every combination. Every commit keeps the indexes of its
 * repositories right, in the same engine transaction that stores the entities.
 *
 * An index of the kind "text" has the words of texts instead, for "$text" in filters (see repository.h). A
 * repository has one at most. Words are found by Unicode's rules (UAX 29), in whatever script; their case is
 * folded; the endings that a language gives them are taken off (by Snowball's stemmers); their accents are
 * left away, in English before that, else behind it, as many languages have them in their endings. So in
 * English "Running" and "run" are one word, and "Café" and "cafe". In scripts
 * that put no spaces between words, such as Chinese, each character is a word: ask for several as a phrase.
 * Of a word longer than 256 bytes, what is behind them does not count.
 *
 * Which index a query uses is the library's choice; hf_repository_explain tells it. Every function here may
 * be called from any thread but not from a callback of a commit, since it waits for commits. Every function
 * may answer HF_INVALID_HANDLE, HF_FORKED, HF_CLOSED, HF_INVALID_ARGUMENT, HF_IO, HF_CORRUPT, HF_NO_MEMORY.
 */
#ifndef HOLDFAST_INDEX_H
#define HOLDFAST_INDEX_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "repository.h"
#include "status.h"

HF_BEGIN_DECLS

/**
 * Hears how far the building of an index is. entities: how many are done. Called on the thread that creates
 * the index, between pieces of the work and once at its end, never under a lock. Answering false gives up.
 */
typedef bool (*hf_index_progress_fn)(uint64_t entities, void *user_data);

/**
 * Creates an index, and returns when queries use it. Other threads and processes go on reading and writing
 * meanwhile: what is there already is added in small pieces, between commits. Where an equal index of this
 * name exists, nothing happens, but where it is `outdated` (see hf_repository_indexes) and not unique, it is
 * built anew; one that was begun, by a process that ended, is gone on with. Several may create the same index
 * at once; each is answered HF_OK only once it is there, or by itself why it cannot be.
 *
 * While there is the index, an entity that would have more than 10,000 entries in it, or more than 1 MiB of
 * keys, is refused with HF_INVALID_ENTITY; of a text index, one with 100,000 different words or more, or with
 * more than 8 MiB of keys. So is a commit whose entities have more than 256 MiB of keys in their indexes, or
 * had them before, unless their texts are even more.
 *
 * options: NUL-terminated JSON object.
 *
 *   "fields": object
 *       paths in the order of the key, 1 to 16, each with 1 (ascending) or -1 (descending)
 *   "kind": "values" | "text"   ("values")
 *       "text": one of words. Then "fields" has the paths to texts, each with its weight, a whole number from
 *       1 to 99,999: {"title": 10, "body": 1}. What is no text there has no words; in an array each element
 *       is a text for itself. "unique" and "expire_after_ms" cannot be given
 *   "language": text ("english")
 *       of a text index: whose endings are taken off. "none" takes none off; else one that libstemmer knows,
 *       by its name or its code of ISO 639 ("english", "en"): arabic armenian basque catalan danish dutch
 *       english finnish french german greek hindi hungarian indonesian irish italian lithuanian nepali
 *       norwegian portuguese romanian russian serbian spanish swedish tamil turkish yiddish, and porter
 *   "stop_words": array of texts ([])
 *       of a text index: at most 10,000 words that do not count, as ["the", "a"], but for phrases
 *   "unique": bool (false)
 *       no two entities may have the same values there. What is missing counts as null, as in MongoDB.
 *       Checked on the state that a transaction leaves, so two entities may exchange their values; commits
 *       are refused from the moment the index is begun
 *   "expire_after_ms": 0..2^50
 *       an entity is deleted when so many milliseconds have passed since the time that stands under the one
 *       path, in milliseconds since 1970; of an array, since the smallest. One without a number there stays.
 *       It is gone a second later or so, while a process has the store open for writing that knows the index:
 *       one that created it, or opened the store afterwards. Deleting is a commit as any other; what a
 *       validator does not let go stays, is tried again each second and named in the log, and keeps nothing
 *       else. Where the system has no thread left for it at its creation, a warning goes to the log, and
 *       deleting begins when the store is opened again
 *   "name": text
 *       1 to 128 bytes; by default the paths, those descending behind a hyphen, joined by underscores; of a
 *       text index with "_text" behind them
 *
 * progress: NULL if not wanted. user_data: passed to it; borrowed until the call returns.
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_OPTION; HF_EXISTS (an index of this name over something else, or a
 * second text index);
 * HF_UNIQUE_VIOLATION (two entities have the same values; the index is not created); HF_INVALID_ENTITY (an
 * entity would have too many entries); HF_CANCELLED (progress answered false, also at its last call; the
 * index is not created); HF_READ_ONLY. After any error what was begun is taken away again, as far as the
 * storage still can; what stays after all, as after the end of the process, is a "building" index, with which
 * the next call goes on.
 */
HF_EXPORT hf_status hf_repository_create_index(hf_repository *repository, const char *options,
                                               hf_index_progress_fn progress, void *user_data,
                                               hf_error **out_error);

/**
 * Takes an index away, and returns when its entries are gone. Queries stop using it at once; the entries are
 * removed in small pieces, between commits.
 *
 * It also takes one away whose definition in the file is damaged. Until then such an index is used by no
 * query, and changes of its repository are refused with HF_CORRUPT and the detail's `index`, because they
 * could not keep it.
 *
 * name: NUL-terminated. Errors: HF_NOT_FOUND, HF_READ_ONLY.
 */
HF_EXPORT hf_status hf_repository_drop_index(hf_repository *repository, const char *name,
                                             hf_error **out_error);

/**
 * Lists the repository's indexes.
 *
 * out_indexes: receives a JSON array, ordered by name, of objects with `name`, `fields`, `unique`,
 * `expire_after_ms` where there is one, `state` ("building", "ready", or "dropping") and `arrays` (whether
 * some entity has, or had, an array there, or on the way), of a text index `kind`, `language` and
 * `stop_words`, too; and `outdated`, true, where it was created before
 * null stood for elements that are no objects and before paths through one array went together: such an index
 * is kept as it was begun and helps with filters, but not with sorts, until it is created again (a unique one
 * must be dropped before). Must not be NULL.
 */
HF_EXPORT hf_status hf_repository_indexes(hf_repository *repository, hf_buffer *out_indexes,
                                          hf_error **out_error);

/**
 * Tells how a query is carried out, by carrying it out.
 *
 * Parameters as for hf_repository_find, whose answers are counted and not given; in a transaction it counts
 * as a read. The option "distinct", a path, asks for hf_repository_distinct instead, and goes with none of
 * "sort", "skip", "limit" and "fields". out_report: receives a JSON object; must not be NULL. Readers ignore
 * other members than these:
 *
 *   "access"     "id" (the filter names ids, or says between which texts they lie or with what they begin),
 *                "index", "alternatives" (each of a "$or" by itself), or "scan" (every entity of the
 *                repository)
 *   "index"      the name of the index, or null
 *   "alternatives"  with that access: an object with "access", "index" and "bounds" for each
 *   "bounds"     what of the filter the index, or the ids, were asked for: {"age": {"$gte": 18}}; of a text
 *                index the words, as it keeps them: {"$text": ["coffe"]}
 *   "exact"      whether that is the whole filter, so that no document was held against it
 *   "sort"       "index" or "id" (it comes in the order asked for), "memory", or null (none was asked for)
 *   "examined"   how many documents were held against the filter
 *   "matched"    how many entities were found, before "skip", and before "limit" where the memory sorts; with
 *                "distinct" how many were met that match
 *   "leaps"      with "distinct": how often entries of the index were leapt over that lead to a value which
 *                was found; 0 where all that matches was read
 *   "stages", "returned", "memory", "time_us"
 *                as of hf_repository_explain_aggregate: the stages behind, which are "$project" with "fields"
 *                and none else; how many entities, or values, are answered; the most bytes that were kept at
 *                once to sort, or to tell values; and how long it took, in microseconds
 *
 * Errors: those of hf_repository_find.
 */
HF_EXPORT hf_status hf_repository_explain(hf_repository *repository, hf_transaction *transaction,
                                          const char *filter, size_t filter_length, const char *options,
                                          hf_buffer *out_report, hf_error **out_error);

/**
 * Checks every entity of the repository, and holds its indexes against them, on one snapshot.
 *
 * out_report: receives a JSON object; must not be NULL. Readers ignore other members than these:
 *
 *   "ok"             whether nothing is wrong
 *   "name"           the repository's
 *   "entities"       how many there are
 *   "damaged"        how many of them are no entities, or have another id than they are stored under
 *   "damaged_ids"    the ids of those, at most a hundred
 *   "failure"        only where not all could be looked at: why
 *   "indexes"        an array, ordered by name, of objects with "name", "entries", "wrong" (entries that lead
 *                    nowhere, or to an entity without that value) and "missing"
 *
 * An index that is not right is mended by dropping it and creating it again; so is one that is outdated (see
 * hf_repository_indexes), which is held to what it would be then.
 */
HF_EXPORT hf_status hf_repository_verify(hf_repository *repository, hf_buffer *out_report,
                                         hf_error **out_error);

HF_END_DECLS

#endif
