/*
 * Status: the outcome of every call, as a number. Numbers are given by hand, only ever appended,
 * and never reused, so a program compiled against an older header reads them right.
 */
#ifndef HOLDFAST_STATUS_H
#define HOLDFAST_STATUS_H

#include "base.h"

HF_BEGIN_DECLS

/** The outcome of a call. */
typedef enum HF_ENUM(hf_status) {
    /** Done. */
    HF_OK = 0,

    /* What a caller passed. Repeating the same call gives the same answer. */

    /** A parameter is missing, NULL where it must not be, or outside its documented range. */
    HF_INVALID_ARGUMENT = 1,
    /** A handle that was freed, never existed, or is of another type. */
    HF_INVALID_HANDLE = 2,
    /** A payload is no JSON, or JSON beyond the limits for depth and size. The detail has `position`. */
    HF_INVALID_JSON = 3,
    /** An entity is no JSON object, its id is missing where one is needed, or an update does not fit it. */
    HF_INVALID_ENTITY = 4,
    /** An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer. */
    HF_INVALID_ID = 5,
    /** A repository's name does not follow the rule given at hf_repository_open. */
    HF_INVALID_NAME = 6,
    /** An option is unknown or has a wrong type or value. The detail has `option` and perhaps `nearest`. */
    HF_INVALID_OPTION = 7,
    /** A filter or an update uses an unknown operator, a wrong operand or a wrong path. */
    HF_INVALID_QUERY = 8,
    /** The store's URL names no engine that this library has. */
    HF_INVALID_URL = 9,
    /** The call is not allowed in the object's present state, such as a write in a finished transaction. */
    HF_INVALID_STATE = 10,
    /** This library or engine does not offer what was asked. */
    HF_UNSUPPORTED = 11,
    /** The library's API version is older than the one the program selects. */
    HF_VERSION_UNSUPPORTED = 12,

    /* What the data say. */

    /** No such entity. From a fetch it is an answer and comes without an error object. */
    HF_NOT_FOUND = 20,
    /** An entity, or a repository, of this name is there already. */
    HF_EXISTS = 21,
    /** The expected version that the caller gave is not the entity's. Never retried by the library. */
    HF_VERSION_MISMATCH = 22,
    /** The idempotency key was used before for other content. */
    HF_KEY_REUSED = 23,
    /** A stored record cannot be read. The detail names `repository` and `id`; other records stay readable.
     */
    HF_CORRUPT = 24,
    /** Two entities would have one value in a unique index. The detail names `index`, `id`, `other` and
       `value`. */
    HF_UNIQUE_VIOLATION = 25,

    /* What other work in progress says. */

    /** Something that the transaction read was changed since. Means only "run again"; retryable. */
    HF_CONFLICT = 30,
    /** The queue is full, or another process or program does not let go of the store. Retryable. */
    HF_BUSY = 31,
    /** The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a
     * wait, and then what was waited for goes on. From hf_store_close it comes without an error object. */
    HF_TIMEOUT = 32,
    /** The commit was withdrawn by its owner while it was queued, or the call ended by what a host's function
     * said: progress, or the check of interrupt.h, for which any call may answer it. Nothing was done. */
    HF_CANCELLED = 33,
    /** Waiting here would never end, such as waiting for the callback thread on the callback thread. */
    HF_WOULD_DEADLOCK = 34,
    /** The store is closed or closing. */
    HF_CLOSED = 35,
    /** The handle, or the open file, belongs to the parent of this forked process. */
    HF_FORKED = 36,
    /** The server has lost commits that it had acknowledged, and the transaction has read what is no more: a
     * replica that was behind was promoted, or a backup restored. Nothing of it is stored. What is there is
     * served: read anew. */
    HF_HISTORY_LOST = 37,

    /* What the storage says. */

    /** The store's place does not exist or cannot be reached. */
    HF_CANNOT_OPEN = 40,
    /** The place holds something that is not a Holdfast store. */
    HF_NOT_A_STORE = 41,
    /** The store was written in a newer format than this library reads, or holds what only a newer library of
     * its format understands; the latter is answered by queries and commits, too, where a newer library has
     * put it there meanwhile. A file says which reader it needs. */
    HF_FORMAT_TOO_NEW = 42,
    /** The store or the file system allows no writing. */
    HF_READ_ONLY = 43,
    /** No space is left. */
    HF_FULL = 44,
    /** Reading, writing or syncing failed. The commit state says what may have happened. */
    HF_IO = 45,
    /** The system gives no memory, no thread or no descriptor, all handles are in use, or an aggregation
     * would take more memory than its options allow. See holdfast.h. */
    HF_NO_MEMORY = 46,
    /** The place cannot hold a store safely: a link, a file mounted by itself, or a network file system. */
    HF_UNSAFE_LOCATION = 47,
    /** The store's schema has a greater version than the program knows. The detail has `version`. */
    HF_SCHEMA_TOO_NEW = 48,
    /** What was committed behind a position is not known any more. The detail has the `position` to go on
       from. */
    HF_CURSOR_LOST = 49,

    /* What object trees and validators say. */

    /** The object tree is in another transaction. */
    HF_TRANSACTION_ACTIVE = 50,
    /** The object tree is in no transaction. */
    HF_TRANSACTION_NOT_ACTIVE = 51,
    /** The descriptor is of another transaction than the tree's active one. */
    HF_WRONG_DESCRIPTOR = 52,
    /** A participant would be below itself. */
    HF_CYCLE = 53,
    /** A call from inside one of the functions that the transaction, or the store of a provider, is just
     * calling. Nothing was changed. */
    HF_REENTRANT = 54,
    /** A validator refused. The error has its own code and message. */
    HF_REFUSED = 55,

    /** The host's own callback, or its provider, reported a failure; its code and message travel back. */
    HF_HOST_ERROR = 60,
    /** A defect of the library. Please report it with the message. */
    HF_INTERNAL = 61
} hf_status;

/**
 * The name of a status, such as "HF_NOT_FOUND".
 *
 * status: any number; one that this library does not know has the name "HF_UNKNOWN".
 * The text is constant and never freed. Cannot fail. Any thread.
 */
HF_EXPORT const char *hf_status_name(hf_status status);

/** What became of a commit whose call failed. */
typedef enum HF_ENUM(hf_commit_state) {
    /** Nothing of it was stored. */
    HF_COMMIT_NONE = 0,
    /** It may or may not have been stored: the failure came from the commit itself. */
    HF_COMMIT_UNKNOWN = 1,
    /** It was stored, although something afterwards failed. */
    HF_COMMIT_DONE = 2
} hf_commit_state;

HF_END_DECLS

#endif
