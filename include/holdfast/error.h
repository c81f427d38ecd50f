/*
 * Error: what went wrong, as an object that travels with the call.
 *
 * Every function that can fail takes `hf_error **out_error` last. NULL means: the status is enough.
 * On failure *out_error receives a new error that the caller frees with hf_error_free; on success,
 * and where a status is documented as an answer without an error object, it receives NULL. There is
 * no last error per thread.
 *
 * All texts and details that an error lends stay valid until that error is freed. Errors are
 * immutable: any thread may read one, at the same time as others.
 */
#ifndef HOLDFAST_ERROR_H
#define HOLDFAST_ERROR_H

#include "base.h"
#include "status.h"

HF_BEGIN_DECLS

typedef struct hf_error hf_error;

/** The status the failing call returned. HF_INVALID_HANDLE for NULL or a freed error, HF_FORKED for a
 * parent's, of which a forked child learns nothing else. Cannot fail. Any thread. */
HF_EXPORT hf_status hf_error_status(const hf_error *error);

/**
 * One sentence that names the thing and the cure: UTF-8, closed with NUL, borrowed from the error.
 * A constant text for NULL or a freed error, never NULL. Cannot fail. Any thread.
 */
HF_EXPORT const char *hf_error_message(const hf_error *error);

/**
 * Whether running the same work again may succeed: a conflict, or a full queue. False for NULL or a
 * freed error. Cannot fail. Any thread.
 */
HF_EXPORT bool hf_error_is_retryable(const hf_error *error);

/** What became of the commit. HF_COMMIT_NONE for NULL or a freed error. Cannot fail. Any thread. */
HF_EXPORT hf_commit_state hf_error_commit_state(const hf_error *error);

/**
 * Details for programs: a JSON object, closed with NUL, borrowed from the error; "{}" when there are none.
 * Members, each only where it applies: `position` (bytes into the payload; of a stream, the token from which
 * it goes on), `option` and `nearest`, `repository`, `id`, `ids`, `snapshot` (the sequence that was read),
 * `expected` and `actual` (versions; of an export that is gone on with, what it is of), `attempts`, `index`
 * (in a batch, from 0; or the name of an index, and with it `other`, the id that has the same `value`),
 * `operator`, `path`, `supported` and `parameter` (of a filter or an update), `line` (of an import, from 1;
 * of a table the row), `table` and `column` (that a database to be imported has not), `version` (of a schema
 * that is too new), `identifier` (the name of the future that was waited for), `holder` (the process that
 * holds the store), `file` (that another program has locked), `code` (a number that a host's function
 * answered), `cause`. Readers must ignore members they do not know.
 *
 * out_length receives its length in bytes; NULL allowed. Cannot fail. Any thread.
 */
HF_EXPORT const char *hf_error_detail(const hf_error *error, size_t *out_length);

/**
 * The error behind this one, or NULL. The result belongs to the caller, who frees it, and stays
 * valid after the outer error is freed. Cannot fail. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_error *hf_error_cause(const hf_error *error);

/**
 * Makes an error, for a host's function that has to answer one.
 *
 * status: what it is; one that this library does not know, and HF_OK, become HF_HOST_ERROR. code: the host's
 * own number, found again as `code` in the detail. message: NUL-terminated UTF-8, copied; NULL for none. The
 * result belongs to the caller, until it is handed over; NULL when no handles or memory are left. Any thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_error *hf_error_create(hf_status status, int64_t code, const char *message);

/** Frees an error. NULL, and an error freed before, do nothing. Cannot fail. Any thread. */
HF_EXPORT void hf_error_free(hf_error *error);

HF_END_DECLS

#endif
