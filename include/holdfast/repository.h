/*
 * Repository: a named collection of entities in a store.
 *
 * Every function takes a transaction that may be NULL.
 *
 *   With a transaction, reads see its snapshot and its own writes. Writes are checked at the call, against
 *   the same view, and stored when it commits. A failed call leaves the transaction as it was, and open,
 *   unless it was begun with "on_error": "abort" (see transaction.h). So compilers warn where nobody looks at
 *   what a write, or a commit, has answered.
 *
 *   With NULL, a read sees the newest committed state, and a write is a transaction of its own: it is
 *   evaluated on the newest state when its turn comes, so it answers HF_EXISTS, HF_NOT_FOUND or
 *   HF_VERSION_MISMATCH and never HF_CONFLICT; it blocks until stored. Batches are atomic.
 *
 * Parameters, where a function says nothing else of them:
 *
 *   transaction         the one that this is a part of; NULL for none, as told above
 *   id                  the entity's; text of its bytes
 *   entity              the JSON object
 *   entities, patches   a JSON array of objects
 *   ids                 a JSON array of ids, text or integers
 *   filter              as of hf_repository_find; NULL for all
 *   out_entity          receives the entity as stored; NULL if not wanted
 *   out_entities        receives the entities, in place of those that it held; must not be NULL
 *
 * Texts and payloads are UTF-8 bytes with their length, or closed with NUL and given the length HF_NTS. They
 * are copied before the call returns.
 *
 * Every function here may be called from any thread. Every function may answer HF_INVALID_HANDLE, HF_FORKED,
 * HF_CLOSED, HF_INVALID_ARGUMENT (NULL where not allowed; a transaction of another store), HF_INVALID_STATE
 * (the transaction has ended), HF_IO, HF_CORRUPT, HF_NO_MEMORY; with a transaction HF_CONFLICT (its snapshot
 * was taken back and what it read has changed) and HF_HISTORY_LOST (a server has lost it); writes also
 * HF_READ_ONLY, and with NULL what hf_transaction_commit answers. The comments name what is particular.
 *
 * HF_CORRUPT tells by its detail's `repository` and `id` which entity is damaged where it is stored: no JSON
 * object, one that is nested more than 200 deep, one with another id or without one, or a record whose id or
 * version is none. (A name that stands there twice, and a number beyond 64 bits, are JSON, and no damage:
 * filters and updates go by the name that comes first.) It hides no other: those are fetched by their ids,
 * and a query or an export can leave it out. It can be replaced and deleted, where it has an id, and then no
 * index leads to it by what it was; and hf_repository_verify finds exactly what reading refuses.
 */
#ifndef HOLDFAST_REPOSITORY_H
#define HOLDFAST_REPOSITORY_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "status.h"
#include "store.h"
#include "transaction.h"

HF_BEGIN_DECLS

typedef struct hf_repository hf_repository;

/**
 * Opens a repository, creating it where the store has none of that name.
 *
 * name: NUL-terminated: a letter or underscore, then letters, digits, underscores and hyphens, all ASCII, 1
 * to 64 bytes; not beginning with "holdfast_" or "sqlite_". Names that differ only in case name one
 * repository and must be written as at its creation.
 *
 * options: NUL-terminated JSON object, or NULL.
 *   "key": text ("id")       the member that holds an entity's id. Stored at creation; later opens must say
 *                            the same or nothing.
 *   "create": bool (true)    false: HF_NOT_FOUND where there is no such repository
 *   "cache": object          how its entities are cached in this process, apart from those of other
 *                            repositories; see cache.h
 *
 * out_repository receives the handle, freed with hf_repository_free, before the store or after it.
 *
 * Errors: HF_INVALID_NAME, HF_INVALID_JSON, HF_INVALID_OPTION (also another key than at creation),
 * HF_EXISTS (the name differs in case from an existing one), HF_NOT_FOUND, HF_READ_ONLY (to be created in a
 * read-only store). Blocks when it has to create.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_open(hf_store *store, const char *name, const char *options,
                                                      hf_repository **out_repository, hf_error **out_error);

/**
 * The repository's name: what it is called by now, as far as this process has heard; of one that was dropped,
 * what it was called then.
 *
 * out_name: see hf_buffer. Errors: HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_NO_MEMORY. Any
 * thread, also when the store is closed. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_name(hf_repository *repository, hf_buffer *out_name,
                                                      hf_error **out_error);

/** Frees the handle; the entities stay. NULL and a freed handle do nothing. Cannot fail. */
HF_EXPORT void hf_repository_free(hf_repository *repository);

/* --- Which there are, dropping, renaming ------------------------------------------------------- */

/**
 * The names of the store's repositories, in the order of their bytes, as a JSON array of texts.
 *
 * A repository is there from when it was first opened with "create", with entities or without, in whatever
 * process, until it is dropped; of a provider's store, where this process has opened it. (hf_store_describe
 * tells their keys too, hf_repository_count how many entities one has.)
 *
 * out_names: see hf_buffer. Errors: HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_IO,
 * HF_CORRUPT, HF_NO_MEMORY. Any thread; reads from the storage.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_repositories(hf_store *store, hf_buffer *out_names,
                                                         hf_error **out_error);

/**
 * Drops a repository: all its entities, its indexes (also those being built, and those after which entities
 * expire) and the repository itself go, in one commit, durable as the store's others.
 *
 * name: NUL-terminated, as at its creation.
 *
 * Handles of it stay good, in every process. They find an empty repository, which is there again as soon as
 * something is stored in it or it is opened with "create": then with another key, if wanted, and handles from
 * before answer HF_NOT_FOUND to what would store. Validators and cache policies stay, as they belong to the
 * process and not to what is stored; no validator is asked whether the entities may go. What was cached of it
 * is gone everywhere.
 *
 * It is a commit of its own, also while the thread has a transaction open, and never meets a conflict. A
 * transaction that has read an entity of the repository, or a query that found one, answers HF_CONFLICT when
 * it commits behind the drop; one that only saves there comes after it, and brings the repository back. What
 * reads a snapshot from before sees it as it was. An entity that is added again has a greater version than
 * any before, so none is taken for another.
 *
 * Streams tell it as one change, {"repository": "songs", "operation": "drop"}, without an entity for each
 * that is gone; live queries tell that their rows are.
 *
 * The storage deletes the entities one by one while other commits wait, about 2 to 5 seconds for a million
 * small ones, in little memory (the write-ahead log grows by what is touched); hf_interrupt_set_check can
 * end it, with nothing gone. Who cannot have commits wait deletes them in pieces first, with
 * hf_repository_delete_all and filters.
 *
 * Errors: HF_NOT_FOUND (no such repository), HF_INVALID_NAME, HF_READ_ONLY, HF_UNSUPPORTED (of a provider's
 * store, whose host keeps the entities by this name: see hf_repository_delete_all), HF_FULL, HF_IO,
 * HF_CORRUPT, HF_BUSY, HF_CANCELLED, HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED,
 * HF_NO_MEMORY. Any thread. Blocks for the commit.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_drop(hf_store *store, const char *name, hf_error **out_error);

/**
 * Gives a repository another name, in one commit, durable as the store's others, however many entities it
 * has. They keep their versions, indexes go on, also where they are being built.
 *
 * name: NUL-terminated, as at its creation. new_name: NUL-terminated, as hf_repository_open has it; the same
 * in other case is another name.
 *
 * Handles of it stay good, in every process, and so do streams and live queries of it: they are of the
 * repository, by whatever name. The old name is free from then on: who opens it, in whatever process, or runs
 * an operation that names it, creates another repository. It is a commit of its own, also while the thread
 * has a transaction open, and conflicts with none, for no entity is another.
 *
 * Streams tell it as {"repository": "songs", "operation": "rename", "to": "tracks"}, and each commit under
 * the name that the repository had then, so that who follows in order arrives at the same.
 *
 * Errors: HF_NOT_FOUND (no such repository), HF_EXISTS (there is one of the new name, be it this one),
 * HF_INVALID_NAME, HF_READ_ONLY, HF_UNSUPPORTED (of a provider's store), HF_FULL, HF_IO, HF_CORRUPT, HF_BUSY,
 * HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED, HF_NO_MEMORY. Any thread. Blocks for the
 * commit.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_rename(hf_store *store, const char *name, const char *new_name,
                                                   hf_error **out_error);

/* --- Writing one ------------------------------------------------------------------------------- */

/**
 * Stores a new entity. Without an id it is given one (UUIDv7, RFC 9562) as its first member.
 *
 * entity, length: the JSON object. out_entity: receives the entity as stored, its version 0 inside a
 * transaction; NULL if not wanted.
 *
 * Errors: HF_EXISTS (the id is taken), HF_INVALID_JSON, HF_INVALID_ENTITY, HF_INVALID_ID.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_add(hf_repository *repository, hf_transaction *transaction,
                                                     const char *entity, size_t length, hf_entity *out_entity,
                                                     hf_error **out_error);

/**
 * Replaces an existing entity.
 *
 * expected_version: the version the entity must have; 0 for any.
 *
 * Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH (the detail has `expected` and `actual`), HF_INVALID_JSON,
 * HF_INVALID_ENTITY (also without an id), HF_INVALID_ID.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_update(hf_repository *repository,
                                                        hf_transaction *transaction, const char *entity,
                                                        size_t length, uint64_t expected_version,
                                                        hf_entity *out_entity, hf_error **out_error);

/**
 * Stores an entity, new or not. Without an id it is given one. Reads nothing, so a transaction that only
 * saves never conflicts.
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_ENTITY, HF_INVALID_ID.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_save(hf_repository *repository, hf_transaction *transaction,
                                                      const char *entity, size_t length,
                                                      hf_entity *out_entity, hf_error **out_error);

/**
 * Changes some members of an existing entity by a JSON merge patch (RFC 7396): members of the patch replace,
 * null removes, nested objects merge; all else keeps its bytes.
 *
 * id, id_length: the entity's. patch, patch_length: a JSON object. expected_version: 0 for any.
 *
 * Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH, HF_INVALID_JSON, HF_INVALID_ID, HF_INVALID_ENTITY (the patch is
 * no object, would change or remove the id, or the result is over the limits).
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_patch(hf_repository *repository, hf_transaction *transaction,
                                                       const char *id, size_t id_length, const char *patch,
                                                       size_t patch_length, uint64_t expected_version,
                                                       hf_entity *out_entity, hf_error **out_error);

/**
 * Changes an entity by an update in MongoDB's operators. Outside a transaction it is worked out on the newest
 * state when its turn comes, so that many may count in one entity at once: none is lost, none conflicts. In a
 * transaction the entity counts as read; and with a validator (see validator.h) it is in one.
 *
 * update, update_length: a JSON object of operators, each with an object of dotted paths and operands:
 *   {"$set": {"path": value}}       the value, in place of what is there
 *   {"$unset": {"path": any}}       removes the member; an element of an array becomes null
 *   {"$inc": {"path": number}}      adds; where nothing is, the number
 *   {"$mul": {"path": number}}      multiplies; where nothing is, 0
 *   {"$min": {"path": value}}       the value, if it comes before what is there
 *   {"$max": {"path": value}}       the value, if it comes after what is there
 *   {"$push": {"path": value}}      appends to an array; {"$each": [values]} appends several, and may have
 *                                   beside it "$position": integer (where they go, below 0 from the end) and
 *                                   "$slice": integer (how many of all are kept, below 0 the last ones)
 *   {"$addToSet": {"path": value}}  appends unless an equal value is there; also {"$each": [values]}
 *   {"$pull": {"path": value}}      removes the elements that are equal; {"member": value} removes objects
 *                                   that match this filter, {"$operator": operand} any elements that it
 *                                   holds for
 *   {"$rename": {"path": "other"}}  moves the value, if there is one, in place of what is there
 *
 * Objects on the way of a path are made where they are missing. In an array a part of a path is an index;
 * behind its end it is filled up with null. No path of an update may be another one or the beginning of
 * another one, nor lead to the id. Values compare and are equal as in filters (see hf_repository_find), types
 * in the order null, numbers, strings, objects, arrays, booleans. Integers are calculated exactly in 64 bits,
 * and refused beyond them; with a real number they give a real number. What no path names keeps its bytes;
 * new members come last, in the order of their names, numbers among these by their value.
 *
 * initial, initial_length: a JSON object, the entity to begin with where there is none; without an id it is
 * given this one, as text. NULL: HF_NOT_FOUND, as with an expected version. expected_version: 0 for any.
 * out_entity: as at hf_repository_add.
 *
 * Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH, HF_INVALID_JSON, HF_INVALID_ID, HF_INVALID_QUERY (the update
 * fits no entity: an unknown operator, a wrong operand or path, paths that meet), HF_INVALID_ENTITY (it does
 * not fit this one: the value there is of another type, the path leads through a scalar, a number leaves its
 * range, the id would change, the result is over the limits); the detail has `operator` and `path`.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_modify(hf_repository *repository,
                                                        hf_transaction *transaction, const char *id,
                                                        size_t id_length, const char *update,
                                                        size_t update_length, const char *initial,
                                                        size_t initial_length, uint64_t expected_version,
                                                        hf_entity *out_entity, hf_error **out_error);

/**
 * Deletes an entity. expected_version: 0 for any.
 * Errors: HF_NOT_FOUND, HF_VERSION_MISMATCH, HF_INVALID_ID.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_delete(hf_repository *repository,
                                                        hf_transaction *transaction, const char *id,
                                                        size_t id_length, uint64_t expected_version,
                                                        hf_error **out_error);

/* --- Writing many: each call is atomic, and its errors say at which index ----------------------- */

/**
 * hf_repository_add for each element of a JSON array. out_entities: the entities as stored, in the order
 * given; NULL if not wanted. An id given twice is HF_EXISTS.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_add_many(hf_repository *repository,
                                                          hf_transaction *transaction, const char *entities,
                                                          size_t length, hf_entity_list *out_entities,
                                                          hf_error **out_error);

/** hf_repository_update, of any version, for each element of a JSON array. out_entities: as of
 * hf_repository_add_many. */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_update_many(hf_repository *repository,
                                                             hf_transaction *transaction,
                                                             const char *entities, size_t length,
                                                             hf_entity_list *out_entities,
                                                             hf_error **out_error);

/** hf_repository_save for each element of a JSON array; of an id given twice the last stays. out_entities: as
 * of hf_repository_add_many. */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_save_many(hf_repository *repository,
                                                           hf_transaction *transaction, const char *entities,
                                                           size_t length, hf_entity_list *out_entities,
                                                           hf_error **out_error);

/**
 * hf_repository_patch, of any version, for each element of a JSON array: an object that holds the id under
 * the repository's key and the members to change beside it. out_entities: as of hf_repository_add_many.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_patch_many(hf_repository *repository,
                                                            hf_transaction *transaction, const char *patches,
                                                            size_t length, hf_entity_list *out_entities,
                                                            hf_error **out_error);

/** hf_repository_delete, of any version, for each element of a JSON array of ids (text or integers). */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_delete_many(hf_repository *repository,
                                                             hf_transaction *transaction, const char *ids,
                                                             size_t length, hf_error **out_error);

/**
 * hf_repository_modify for every entity that matches, or for none when one of them refuses it. filter: see
 * hf_repository_find; NULL for all. options: "parameters" of hf_repository_find. out_matched: how many
 * match; NULL if not wanted. out_modified: how many of them the update changes, for the others are not
 * written; NULL if not wanted. With NULL for the transaction it is run as hf_store_transact would. Errors:
 * HF_CONFLICT, HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION, HF_INVALID_ENTITY (the detail has
 * `repository` and `id`).
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_modify_all(hf_repository *repository,
                                                            hf_transaction *transaction, const char *filter,
                                                            size_t filter_length, const char *update,
                                                            size_t update_length, const char *options,
                                                            uint64_t *out_matched, uint64_t *out_modified,
                                                            hf_error **out_error);

/**
 * Deletes every entity that matches. filter: see hf_repository_find; NULL for all. options: "parameters"
 * of hf_repository_find. out_count: how many; NULL if not wanted. With NULL for the transaction it is run as
 * hf_store_transact would. Errors: HF_CONFLICT, HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_delete_all(hf_repository *repository,
                                                            hf_transaction *transaction, const char *filter,
                                                            size_t filter_length, const char *options,
                                                            uint64_t *out_count, hf_error **out_error);

/* --- Reading ------------------------------------------------------------------------------------ */

/**
 * Fetches one entity. out_entity: receives its bytes and version; must not be NULL.
 * HF_NOT_FOUND comes without an error object and leaves out_entity as it was. Errors: HF_INVALID_ID.
 */
HF_EXPORT hf_status hf_repository_fetch(hf_repository *repository, hf_transaction *transaction,
                                        const char *id, size_t id_length, hf_entity *out_entity,
                                        hf_error **out_error);

/**
 * Fetches the entities of a JSON array of ids, in the order given; ids without an entity are left out.
 * Errors: HF_INVALID_JSON, HF_INVALID_ID.
 */
HF_EXPORT hf_status hf_repository_fetch_many(hf_repository *repository, hf_transaction *transaction,
                                             const char *ids, size_t length, hf_entity_list *out_entities,
                                             hf_error **out_error);

/** Fetches every entity, ordered by the bytes of the ids. Where some are damaged, hf_repository_find without
 * a filter answers the others. */
HF_EXPORT hf_status hf_repository_fetch_all(hf_repository *repository, hf_transaction *transaction,
                                            hf_entity_list *out_entities, hf_error **out_error);

/**
 * Fetches the entities that match a filter.
 *
 * filter, filter_length: a JSON object of conditions that must all hold, with MongoDB's meaning; NULL matches
 * everything.
 *   {"country": "DE"}            the member equals; where it is an array, the array or any element of it
 *   {"address.city": "Kassel"}   members of members, through arrays too; a number names an element
 *   {"deleted": null}            null or missing
 *   {"age": {"$gte": 18, "$lt": 65}}      operators, which must all hold, each for some value or element:
 *     $eq $ne $gt $gte $lt $lte  comparisons, only with values of the operand's type; arrays as a whole, too
 *     $in $nin                   equal to one, or none, of an array
 *     $exists                    true or false
 *     $type                      one or an array of "null" "bool" "number" "string" "object" "array", or, of
 *                                numbers, "int" (32 bits) "long" "double"
 *     $regex                     a string of which a part matches an expression of PCRE2, with letters of
 *                                "imsx" in "$options"; one that proves too expensive is HF_INVALID_QUERY
 *     $mod                       [divisor, remainder]
 *     $size                      an array of so many elements
 *     $all                       an array that holds all of these: literals, or nothing but $elemMatch
 *     $elemMatch                 an array with one element for which all these hold: operators, or a filter
 *     $not                       the operators in it do not all hold
 *   {"$or": [{...}, {...}]}      likewise $and and $nor
 *   {"$text": {"$search": "coffee \"dark roast\" -decaf"}}     the text index (see index.h) has these words:
 *                                one of them at least, phrases in quotes each as a whole, and none behind a
 *                                hyphen, where a phrase may stand, too. So with a phrase the other words only
 *                                count for the score. Words are compared as the index keeps them, those of
 *                                phrases one behind the other within one text; "$language" has the words of
 *                                the search stemmed in another way. "$caseSensitive" and
 *                                "$diacriticSensitive" may only be false. Of stop words alone, of exclusions
 *                                alone and of no words nothing is found. At most 256 words. It stands once in
 *                                a filter, at the top or within $and and $or, not within $nor and $elemMatch.
 *                                HF_INVALID_QUERY where there is no text index that is ready. Nobody but the
 *                                library decides it: a provider that finds by filters is asked for all
 * The member under the key is compared as any other: 42 and "42" are one id, and a filter tells them apart;
 * {"id": {"$in": [42, "42"]}} finds the entity whichever of them it has.
 * Of $ne, $nin, $not and {"$exists": false}: no value or element passes, so an absent member does match.
 * Numbers compare by value, strings by their bytes, objects member by member in their order.
 * Any literal may be {"$param": "name"}, whose value comes from the options. It is taken as a literal
 * whatever it looks like. Compiled filters are kept by their text, so that one that comes again, with other
 * parameters, is compiled once: there is nothing to prepare.
 * A filter has at most 1,000 conditions, and operators at most 32 deep in each other. A path, here and
 * wherever there is one, has at most 63 parts. What is wrong with a filter is HF_INVALID_QUERY, whose detail
 * has the `operator`, the `path`, and the `position` in bytes.
 *
 * options: NUL-terminated JSON object, or NULL.
 *   "sort": {"age": -1}      by these paths (32 at most), 1 ascending, -1 descending, in MongoDB's order:
 *                            null and missing, numbers, strings, objects, arrays, booleans; an array by
 *                            its smallest element ascending and its largest descending, an empty one
 *                            before null; an element on the way that is no object counts as null. Paths
 *                            through one array are compared by the element that comes first with all of
 *                            them. What is equal is ordered by the ids' bytes, descending where the first
 *                            path is. Without "sort" by the ids' bytes, unless an index serves the filter:
 *                            then in no order that is promised.
 *                            {"score": {"$meta": "textScore"}}, whatever the name, has those first that
 *                            match "$text" best, before or behind paths. The score is BM25, as SQLite's
 *                            FTS5 has it with the opposite sign: k1 is 1.2, b is 0.75, a word counts by
 *                            the weight of its path. How rare words are, and how long texts, is as in the
 *                            snapshot that is read, whose index must be there (HF_CONFLICT: ask again).
 *                            What a transaction has written is scored by the same figures. That others
 *                            change but scores is no conflict. Live queries have no scores
 *   "skip": 0..2^53 (0)      leaves out so many of the first
 *   "limit": 0..2^53 (0)     at most so many; 0 = all
 *   "fields": ["a", "b.c"]   answers only these members and the key; also {"a": 1, "b.c": 1}, or {"a": 0}
 *                            for all but these; {"id": 0} leaves the key out; {"score": {"$meta":
 *                            "textScore"}} adds the score under this name, besides what else is asked for
 *   "parameters": {"x": 1}   values for the parameters of the filter, by their names
 *   "damaged": "refuse" | "skip"   (refuse) an entity that is damaged where it is stored: HF_CORRUPT, whose
 *                            detail has `repository` and `id`, or it is left out as if it were not there.
 *                            hf_repository_verify tells which are
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
 */
HF_EXPORT hf_status hf_repository_find(hf_repository *repository, hf_transaction *transaction,
                                       const char *filter, size_t filter_length, const char *options,
                                       hf_entity_list *out_entities, hf_error **out_error);

/**
 * Fetches the first entity that hf_repository_find would answer. out_entity: receives it; must not be NULL.
 * options: "sort", "skip", "fields", "parameters", "damaged" of hf_repository_find. HF_NOT_FOUND comes
 * without an error object and leaves out_entity as it was. Errors: HF_INVALID_JSON, HF_INVALID_QUERY,
 * HF_INVALID_OPTION.
 */
HF_EXPORT hf_status hf_repository_first(hf_repository *repository, hf_transaction *transaction,
                                        const char *filter, size_t filter_length, const char *options,
                                        hf_entity *out_entity, hf_error **out_error);

/**
 * Counts the entities that match a filter (see hf_repository_find); NULL for all. options: NUL-terminated
 * JSON object with "parameters" and "damaged" of hf_repository_find, or NULL. out_count: must not be NULL.
 * Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
 *
 * Where an index has all that the filter asks, no entity is read, nor found to be damaged.
 */
HF_EXPORT hf_status hf_repository_count(hf_repository *repository, hf_transaction *transaction,
                                        const char *filter, size_t filter_length, const char *options,
                                        uint64_t *out_count, hf_error **out_error);

/** Whether any entity matches a filter. out_exists: must not be NULL. Parameters and errors as of
 * hf_repository_count. */
HF_EXPORT hf_status hf_repository_exists(hf_repository *repository, hf_transaction *transaction,
                                         const char *filter, size_t filter_length, const char *options,
                                         bool *out_exists, hf_error **out_error);

/**
 * The distinct values that a path leads to in the entities that match a filter.
 *
 * path: NUL-terminated. An array on the way, or at its end, gives its elements, and what is missing nothing.
 * One that begins with "$", as in expressions, is HF_INVALID_QUERY.
 * filter, options: see hf_repository_count. out_values: receives a JSON array in the order of
 * hf_repository_find's "sort"; of equal values such as 1 and 1.0, that of the entity with the least id.
 *
 * Along an index of the path, or of it and others, few entities are read for each of its keys, and the others
 * are neither read nor found to be damaged; hf_repository_explain tells it. Not so with "damaged": "skip",
 * nor with a filter in a transaction, which relies on every entity that matches.
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_QUERY, HF_INVALID_OPTION.
 */
HF_EXPORT hf_status hf_repository_distinct(hf_repository *repository, hf_transaction *transaction,
                                           const char *path, const char *filter, size_t filter_length,
                                           const char *options, hf_buffer *out_values, hf_error **out_error);

/** Answers whether an entity is meant. entity: lent until it returns. */
typedef bool (*hf_predicate_fn)(const hf_entity_view *entity, void *user_data);

/**
 * Fetches the entities for which a function of the host answers true, where a filter cannot say what is
 * meant.
 *
 * predicate: called on this thread with one entity after the other, after all were read, so that it may call
 * any function. The call counts as a read of the whole repository, whose entities are held in memory
 * meanwhile. options: "sort", "skip", "limit", "fields", "damaged" of hf_repository_find.
 *
 * Errors: HF_INVALID_OPTION.
 */
HF_EXPORT hf_status hf_repository_find_if(hf_repository *repository, hf_transaction *transaction,
                                          hf_predicate_fn predicate, void *user_data, const char *options,
                                          hf_entity_list *out_entities, hf_error **out_error);

/** Whether there is an entity of this id. out_contains: must not be NULL. Errors: HF_INVALID_ID. */
HF_EXPORT hf_status hf_repository_contains(hf_repository *repository, hf_transaction *transaction,
                                           const char *id, size_t id_length, bool *out_contains,
                                           hf_error **out_error);

HF_END_DECLS

#endif
