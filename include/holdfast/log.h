/*
 * Log: what the library has to say to the host's log. The library itself never prints.
 */
#ifndef HOLDFAST_LOG_H
#define HOLDFAST_LOG_H

#include "base.h"
#include "error.h"
#include "status.h"

HF_BEGIN_DECLS

/** How much a log entry matters. */
typedef enum HF_ENUM(hf_log_level) {
    /** Opens, closes, checkpoints. */
    HF_LOG_INFO = 1,
    /** Slow commits, retries with the ids that collided, snapshots taken back from long readers. */
    HF_LOG_WARNING = 2,
    /** Storage failures and recoveries. */
    HF_LOG_ERROR = 3
} hf_log_level;

/**
 * Receives one log entry.
 *
 * level: how much it matters; one that only a later library knows is possible. message: one sentence, UTF-8,
 * closed with NUL. fields: a JSON object with what the sentence speaks of, such as
 * {"store":"music.db","milliseconds":412}, closed with NUL. Both are borrowed for this call. user_data: as
 * given to hf_log_set_callback.
 *
 * Called on the thread where the entry arose, which may be the caller's or one of the library's, and
 * by several threads at once; no lock of the library is held. It must return soon: a committer waits.
 * It must not close a store, which may have to wait for this very call.
 */
typedef void (*hf_log_fn)(hf_log_level level, const char *message, const char *fields, void *user_data);

/**
 * Sets the one receiver of log entries of this process, in place of the one before.
 *
 * callback: NULL for none, which is how a process begins. user_data: handed to each call; NULL allowed.
 * free_user_data: called exactly once with user_data, when the callback was replaced and its last call
 * has returned, or when this call fails; NULL allowed.
 *
 * A forked child begins without a receiver; its parent's user_data is not freed there. Always HF_OK;
 * out_error receives NULL. Any thread, also from inside the callback.
 */
HF_EXPORT hf_status hf_log_set_callback(hf_log_fn callback, void *user_data, void (*free_user_data)(void *),
                                        hf_error **out_error);

HF_END_DECLS

#endif
