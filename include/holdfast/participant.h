/*
 * Participant: an object of the host's that begins, validates, commits and rolls back with others, alone or
 * together with what a store's transaction stores.
 *
 * Participants form trees by their parents; one without a parent is a root. A tree is in at most one
 * transaction at a time, and separate trees are independent. A transaction may be
 *   - of a tree alone: hf_participant_begin, _commit, _rollback, or hf_participant_transact with a body;
 *   - of a store and any number of trees: hf_transaction_enlist; it is ended by hf_transaction_commit,
 * _submit or _rollback, or by hf_store_transact. Whichever node of a tree is given to these functions, they
 * concern the whole tree.
 *
 *   on_begin      parents before children; siblings in the order in which they were attached
 *   (the body)
 *   on_validate   in the same order; the only one that may refuse, and the first that does ends it
 *   (the store commits; a conflict or a failure leads to on_rollback)
 *   on_commit     children before parents, or
 *   on_rollback   children before parents
 * Several trees begin and validate in the order in which they were enlisted, commit and roll back in reverse.
 *
 * Validation. When a member refuses, an explicit commit or submit answers with the member's own error, calls
 * nobody else and leaves the transaction open, to be repaired and committed again; the forms with a body roll
 * back and answer the same. From the first validator on only validators may write in the store's transaction,
 * on the thread that called; when one refuses, and where no commit follows (hf_transaction_validate, HF_BUSY
 * of a submission), what they wrote is discarded. What they read counts as read by the transaction, whatever
 * its isolation, and a transaction with trees is checked for conflicts also if it wrote nothing. A member
 * that joins meanwhile is validated too, in at most 100 rounds (else HF_INVALID_STATE).
 *
 * Joining and leaving. A participant that is created in, or attached to, a tree in a transaction is begun at
 * once, and its sub-nodes after it (inside an on_begin: when that has returned). One that is detached leaves
 * the transaction with its sub-nodes, one that is freed leaves alone: they are not called any more. What
 * joins while on_commit or on_rollback are called is not part of the transaction.
 *
 * Threads. Any thread; the host's functions are called on the thread that makes the call, and one tree is
 * best used by one thread at a time. Of a submitted transaction on_commit and on_rollback are called where
 * its event is delivered: on the store's callback thread, just before the event, or under "queue" delivery
 * within hf_store_events (hf_store_free, when nobody takes the event). Until then the tree is sealed: what
 * would change it answers HF_BUSY. A tree that is enlisted in a transaction of a store that closes is rolled
 * back when the transaction is next ended or freed.
 *
 * Inside the host's functions the tree may be changed, also by attaching and freeing. Beginning, committing
 * and rolling back its transaction there answers HF_REENTRANT and changes nothing; other trees may be used
 * freely. A forked child's participants answer HF_FORKED.
 *
 * Parameters, where a function says nothing else of them:
 *
 *   descriptor    as of hf_participant_commit; NULL or all zero for whichever transaction is active
 *   savepoint     its number, as hf_participant_savepoint gave it
 *   scope         its number, as hf_participant_begin_scope gave it
 */
#ifndef HOLDFAST_PARTICIPANT_H
#define HOLDFAST_PARTICIPANT_H

#include "base.h"
#include "error.h"
#include "status.h"
#include "transaction.h"

HF_BEGIN_DECLS

typedef struct hf_participant hf_participant;

/** The bytes of a descriptor, which names one transaction of trees. All zero stands for any. */
#define HF_DESCRIPTOR_BYTES 16

/**
 * Hears that a transaction begins, has committed or is rolled back. Cannot fail: what may fail belongs into
 * on_validate.
 *
 * descriptor: HF_DESCRIPTOR_BYTES, borrowed. user_data: as given to hf_participant_create.
 */
typedef void (*hf_participant_fn)(const uint8_t *descriptor, void *user_data);

/**
 * Checks that the participant may be committed as it is.
 *
 * transaction: the store's, borrowed, to read and write in; NULL for a tree alone. user_data: as given to
 * hf_participant_create. out_error: may receive an error made with hf_error_create, or one that a call of the
 * library has answered; the library takes it over.
 * Answers HF_OK to accept. Any other status refuses: the caller of the commit receives it with that error, or
 * with one that the library makes; a number that is no status becomes HF_REFUSED with it as `code`.
 */
typedef hf_status (*hf_participant_validate_fn)(hf_transaction *transaction, void *user_data,
                                                hf_error **out_error);

/**
 * Hears that a savepoint was made, or is rolled back to: the participant goes back to what it was at that
 * savepoint, and to how it began if it joined after that. savepoint: its number. Cannot fail.
 */
typedef void (*hf_participant_savepoint_fn)(uint64_t savepoint, void *user_data);

/** What a participant is called for. Start with HF_PARTICIPANT_CALLBACKS_INIT; NULL where nothing is to do.
 */
typedef struct hf_participant_callbacks {
    /** sizeof(hf_participant_callbacks), which tells versions apart. */
    size_t size;
    hf_participant_fn on_begin;
    hf_participant_validate_fn on_validate;
    hf_participant_fn on_commit;
    hf_participant_fn on_rollback;
    /** Both or neither. Without them in every member a savepoint of the transaction is HF_UNSUPPORTED, and a
     * scope that fails leaves a transaction that can only be rolled back. */
    hf_participant_savepoint_fn on_savepoint;
    hf_participant_savepoint_fn on_rollback_to;
} hf_participant_callbacks;

#define HF_PARTICIPANT_CALLBACKS_INIT                                                                        \
    { sizeof(hf_participant_callbacks), NULL, NULL, NULL, NULL, NULL, NULL }

/* --- Trees ---------------------------------------------------------------------------------------------- */

/**
 * Creates a participant, and attaches it to a parent.
 *
 * parent: NULL for the root of a new tree; see hf_participant_attach. callbacks: copied; NULL for none.
 * user_data: handed to them; NULL allowed. free_user_data: called with user_data exactly once: after
 * hf_participant_free, when none of the callbacks is running, or before this call returns a failure; NULL
 * allowed.
 * out_participant receives the handle, before on_begin is called, to be freed with hf_participant_free.
 *
 * Errors: HF_INVALID_ARGUMENT (no out_participant, a size that is none, one savepoint function without the
 * other), those of hf_participant_attach. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_participant_create(hf_participant *parent,
                                                         const hf_participant_callbacks *callbacks,
                                                         void *user_data, void (*free_user_data)(void *),
                                                         hf_participant **out_participant,
                                                         hf_error **out_error);

/**
 * Makes a participant, with its sub-nodes, the last child of a parent, wherever it was before. A tree that is
 * in no transaction joins the parent's, if there is one.
 *
 * Errors: HF_CYCLE (the parent is the participant or below it), HF_TRANSACTION_ACTIVE (it is in a transaction
 * in which the parent is not), HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED; after any
 * of them nothing was changed. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_participant_attach(hf_participant *participant, hf_participant *parent,
                                          hf_error **out_error);

/**
 * Makes a participant, with its sub-nodes, a tree of its own. Inside a transaction they leave it. Detaching a
 * root does nothing.
 * Errors: HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_participant_detach(hf_participant *participant, hf_error **out_error);

/** The participant's user_data; NULL for a freed one. Cannot fail. Any thread. */
HF_EXPORT void *hf_participant_user_data(hf_participant *participant);

/**
 * Frees a participant, which is called no more, also inside its transaction, sealed or not. Its sub-nodes
 * stay in the transaction and become trees of their own when that ends, or at once where there is none. NULL
 * and a freed handle do nothing. Cannot fail. Any thread.
 */
HF_EXPORT void hf_participant_free(hf_participant *participant);

/* --- Transactions of a tree alone ----------------------------------------------------------------------- */

/**
 * Whether the participant is in a transaction, of its tree alone or of a store's, and in which.
 *
 * out_active: must not be NULL. out_descriptor: receives HF_DESCRIPTOR_BYTES, all zero where there is none;
 * NULL if not wanted. Readable inside every callback of the transaction, and gone after the last. Errors:
 * HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_participant_active(hf_participant *participant, bool *out_active,
                                          uint8_t *out_descriptor, hf_error **out_error);

/**
 * Begins a transaction of the participant's tree.
 *
 * out_descriptor: receives the HF_DESCRIPTOR_BYTES that name it, never all zero; NULL if not wanted.
 * Errors: HF_TRANSACTION_ACTIVE, HF_REENTRANT, HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE,
 * HF_FORKED. Any thread.
 */
HF_EXPORT hf_status hf_participant_begin(hf_participant *participant, uint8_t *out_descriptor,
                                         hf_error **out_error);

/**
 * Validates and commits the transaction of the participant's tree.
 *
 * descriptor: the HF_DESCRIPTOR_BYTES of the transaction that is meant; NULL or all zero for whichever is
 * active. Errors: HF_WRONG_DESCRIPTOR (also where none is active and the descriptor names one),
 * HF_TRANSACTION_NOT_ACTIVE, HF_REENTRANT, HF_BUSY (sealed), HF_INVALID_STATE (it is a store's transaction, a
 * scope is under way, or members went on joining), what a validator answered, HF_INVALID_ARGUMENT,
 * HF_INVALID_HANDLE, HF_FORKED. After any of them the transaction is what it was. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_participant_commit(hf_participant *participant,
                                                         const uint8_t *descriptor, hf_error **out_error);

/** Rolls back the transaction of the participant's tree. Parameters and errors as of hf_participant_commit,
 * without those of validation. Any thread. */
HF_EXPORT hf_status hf_participant_rollback(hf_participant *participant, const uint8_t *descriptor,
                                            hf_error **out_error);

/**
 * Marks a place to which the members can go back. out_savepoint receives its number.
 * Errors: HF_UNSUPPORTED (a member has no savepoint functions; none was called), those of
 * hf_participant_rollback. Any thread.
 */
HF_EXPORT hf_status hf_participant_savepoint(hf_participant *participant, const uint8_t *descriptor,
                                             uint64_t *out_savepoint, hf_error **out_error);

/**
 * Has the members go back to a savepoint, children first; the savepoints after it are gone, it itself stays.
 * Errors: HF_INVALID_ARGUMENT (no such savepoint), those of hf_participant_rollback. Any thread.
 */
HF_EXPORT hf_status hf_participant_rollback_to(hf_participant *participant, const uint8_t *descriptor,
                                               uint64_t savepoint, hf_error **out_error);

/**
 * Begins a scope inside the transaction that the participant's tree is in, its own or a store's: a part that
 * goes back by itself when it fails, as hf_transaction_begin_scope says. out_scope receives its number.
 * Errors: HF_TRANSACTION_NOT_ACTIVE, HF_BUSY (sealed), what a failed scope has left, HF_INVALID_ARGUMENT,
 * HF_INVALID_HANDLE, HF_FORKED. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_participant_begin_scope(hf_participant *participant,
                                                              uint64_t *out_scope, hf_error **out_error);

/**
 * Ends a scope. succeeded: whether what it changed stays a part of the transaction; false: it goes back.
 * Errors: as of hf_transaction_end_scope. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_participant_end_scope(hf_participant *participant, uint64_t scope,
                                                            bool succeeded, hf_error **out_error);

/** The body of a transaction of a tree. out_error: as of hf_transaction_fn. Answers HF_OK to commit, any
 * other status to roll back. */
typedef hf_status (*hf_participant_body_fn)(hf_participant *participant, void *user_data,
                                            hf_error **out_error);

/**
 * Runs a body in a transaction of the participant's tree: begins, runs it, validates and commits; rolls back
 * when the body or a validator refuses. Where the tree is in a transaction already, a store's too, the body
 * joins that as a scope of it: nobody is begun, validated, committed or rolled back. When it fails, what it
 * changed goes back: members go back to a savepoint, and what was written in a store's transaction goes back.
 * Where a member has no functions for savepoints, the transaction can only be rolled back from then on: its
 * commit answers HF_UNSUPPORTED.
 *
 * body: called on this thread. user_data: handed to it; NULL allowed.
 * Errors: what the body answered, what a validator answered,
 * HF_REENTRANT, HF_BUSY (sealed), HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. A body that ends the
 * transaction itself leaves nothing to do, and its answer counts. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_participant_transact(hf_participant *participant,
                                                           hf_participant_body_fn body, void *user_data,
                                                           hf_error **out_error);

/* --- Together with a store ------------------------------------------------------------------------------ */

/**
 * Takes the participant's tree into a store's transaction and begins its members; one that is in it already
 * stays. In the body of hf_store_transact it is called in each run: a conflict rolls the tree back before
 * the next.
 *
 * Errors: HF_TRANSACTION_ACTIVE (the tree is in another transaction), HF_REENTRANT, HF_BUSY (the transaction
 * is being committed, or the tree is sealed), HF_INVALID_STATE (the transaction has ended), HF_CLOSED,
 * HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread.
 */
HF_EXPORT hf_status hf_transaction_enlist(hf_transaction *transaction, hf_participant *participant,
                                          hf_error **out_error);

/**
 * Asks all validators, as a commit will do again. The transaction stays open.
 * Errors: what a validator answered, HF_REENTRANT, HF_INVALID_STATE, HF_CLOSED, HF_INVALID_ARGUMENT,
 * HF_INVALID_HANDLE, HF_FORKED. Any thread.
 */
HF_EXPORT hf_status hf_transaction_validate(hf_transaction *transaction, hf_error **out_error);

/**
 * The participant whose validator refused, or NULL: the very handle that hf_participant_create gave,
 * borrowed. NULL for NULL, a freed error, or a freed participant. Cannot fail. Any thread.
 */
HF_EXPORT hf_participant *hf_error_participant(const hf_error *error);

HF_END_DECLS

#endif
