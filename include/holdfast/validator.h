/*
 * Validator: a function of the host's that checks what is about to be stored in a repository.
 *
 * It is asked on the thread that commits or submits, about each entity of the repository that the transaction
 * has written, in its final state, in the order of the ids: after the members of enlisted object trees (see
 * participant.h), and again about what is written meanwhile. It takes part in the validation that
 * participant.h describes: it may read and write in the transaction, what it reads counts as read whatever
 * the isolation, and a refusal leaves an explicit transaction open, to be repaired and committed again.
 *
 * With a validator a write without a transaction becomes a transaction of its own, which runs again after a
 * conflict as hf_store_transact does, and may answer HF_CONFLICT like that. Writes in repositories without
 * one are as they were.
 *
 * A validator belongs to this process and to the store that its repository was opened in: what others write
 * is not shown to it, and it does not outlive the store.
 */
#ifndef HOLDFAST_VALIDATOR_H
#define HOLDFAST_VALIDATOR_H

#include "base.h"
#include "error.h"
#include "repository.h"
#include "status.h"
#include "transaction.h"

HF_BEGIN_DECLS

/**
 * Checks one entity.
 *
 * transaction: borrowed, to read and write in; not to be ended here. id, id_length: the entity's, in bytes.
 * entity, length: the JSON object as it would be stored, in bytes; NULL and 0 where it is to be deleted.
 * Neither text is closed with NUL, and both are borrowed for this call. user_data: as given to
 * hf_repository_set_validator. out_error: may receive an error made with hf_error_create, or one that a call
 * of the library has answered; the library takes it over.
 * Answers HF_OK to accept. Any other status refuses: the caller of the commit receives it with that error, or
 * with one that the library makes, whose detail has the `repository` and the `id`; a number that is no status
 * becomes HF_REFUSED with it as `code`.
 */
typedef hf_status (*hf_validator_fn)(hf_transaction *transaction, const char *id, size_t id_length,
                                     const char *entity, size_t length, void *user_data,
                                     hf_error **out_error);

/**
 * Sets the one validator of a repository, in place of another, for all handles of it that come from this
 * store's handle. What is stored already is not checked.
 *
 * validator: NULL for none. user_data: handed to it; NULL allowed. free_user_data: called with user_data
 * exactly once, on any thread: when the validator was replaced or the store is closed, and no call of it is
 * running; or before this call returns a failure; NULL allowed.
 *
 * Errors: HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED. Any thread. Does not block.
 */
HF_EXPORT hf_status hf_repository_set_validator(hf_repository *repository, hf_validator_fn validator,
                                                void *user_data, void (*free_user_data)(void *),
                                                hf_error **out_error);

HF_END_DECLS

#endif
