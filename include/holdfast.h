/*
 * Holdfast: an embeddable transactional repository.
 *
 * A program opens a store, works on repositories of JSON entities inside transactions, and is told what
 * became of each commit. This header brings in all the others; each holds one concept:
 *
 *   holdfast/base.h         annotations, HF_NTS, buffers
 *   holdfast/status.h       the outcome of every call
 *   holdfast/error.h        what went wrong, as an object
 *   holdfast/version.h      which contract, which features
 *   holdfast/answer.h       for hosts whose functions may end before they have begun
 *   holdfast/interrupt.h    how a thread ends its own calls that take long
 *   holdfast/log.h          what the library tells the host's log
 *   holdfast/event.h        how asynchronous outcomes arrive
 *   holdfast/store.h        a database: open, close, sync, events
 *   holdfast/provider.h     a place of the host's where a store's entities live
 *   holdfast/transaction.h  one unit of work: begin, commit, submit, roll back, run with retry
 *   holdfast/receipt.h      what a commit answers
 *   holdfast/participant.h  the host's own objects, changed together with what is stored, or not at all
 *   holdfast/entity.h       a JSON object with an id
 *   holdfast/repository.h   a named collection of entities: write and read
 *   holdfast/aggregate.h    groups, sums and other documents made of entities by a pipeline
 *   holdfast/validator.h    the host's functions that may refuse a repository's writes
 *   holdfast/index.h        which values of a repository's entities are found without a scan, or are unique
 *   holdfast/cursor.h       a long answer, a piece at a time
 *   holdfast/cache.h        what is kept in memory: policies, statistics
 *   holdfast/future.h       the pending result of anything asynchronous: wait, observe, complete
 *   holdfast/operation.h    a transaction described now and run later, as often as wanted
 *   holdfast/stream.h       what was committed, in order: observers, feeds, subscriptions, live queries
 *   holdfast/controller.h   actions in, state out: persistence for programs with one direction of flow
 *   holdfast/maintenance.h  backup, restore, compact, verify, upgrade
 *   holdfast/transfer.h     export and import as lines of JSON, and from SQLite tables
 *
 * Beside it, for the tests of programs alone, is holdfast/testing.h: a mock storage and a clock.
 *
 * Conventions. Functions are hf_<module>_<verb> and answer an hf_status, HF_OK being 0. What is given back
 * through `out_` parameters belongs to the caller. `hf_error **out_error` comes last and may be NULL; what
 * NULL means elsewhere is told in base.h and at each function. Lengths are in bytes, times in milliseconds.
 * What a program works on, ids, entities, filters, updates, values, has a length, which may be HF_NTS; what
 * names a thing, names, URLs, paths, positions, messages, and options end at their NUL. Types of callbacks
 * end in _fn. Options are JSON objects; NULL or an empty text means the defaults. A callback comes with
 * user_data and a destructor, which runs exactly once.
 *
 * Handles. hf_store, hf_repository, hf_transaction, hf_error, hf_cursor, hf_operation, hf_future,
 * hf_participant, hf_stream and hf_controller are opaque and checked on every call: one that was freed, is of
 * another type, or never was, answers HF_INVALID_HANDLE; NULL answers HF_INVALID_ARGUMENT. They may be freed
 * in any order, and while other threads use them: a call that has begun goes on to its end. A handle's value
 * is not used again while the process lives, so freeing one twice harms no other. 16 million may live at
 * once; 2^48 can be made, which would take years, and then HF_NO_MEMORY is the answer.
 *
 * Threads. Every function may be called from any thread that has 128 KiB of stack: a call itself takes less
 * than 96, whatever it is given, besides what functions of the host's take that it calls. (A library built
 * without optimization takes up to five times as much.) The library's own threads, which have 1 MiB or the
 * system's default if that is more, take none of the signals that are sent to the process. Those that a
 * thread brings upon itself, such as SIGSEGV, SIGBUS and SIGABRT, are not blocked there, so that what the
 * host has for crashes sees them.
 *
 * Memory. What a caller, a file or the host's functions decide the amount of is asked for before it is taken:
 * payloads, entities, results, lines, what a transaction has written and read. Where the system would refuse
 * it, the call answers HF_NO_MEMORY and has stored nothing, unless hf_error_commit_state says HF_COMMIT_DONE:
 * then only its result could not be handed over. A payload or value of more than 2^34 bytes is refused so
 * too. 4 MiB stay free beside what is asked for. They are for what remains Swift's, whose allocations cannot
 * be refused: a handle, an error, a node of a list, the events and streams on their way. A process in which
 * not even these fit ends by abort, and so may one whose other code takes what was just found free. Where the
 * system promises more memory than there is (Linux does by default), it ends processes by a signal of its own
 * instead, which no library can turn into a status.
 *
 * Forks. In a child made by fork(2), whatever other threads were doing:
 *   - every handle that it inherited, errors too, answers HF_FORKED at once, and a `_free` does nothing;
 *   - so does opening a file that was open at the fork: SQLite's inherited locks would read it unlocked;
 *   - nothing is closed, written, delivered or freed for the parent, also not when the child exits;
 *   - it may open stores of its own. Buffers, entities, lists and events that were taken before are memory of
 *     its own, and freed as usual;
 *   - the parent's lock on a file ends with the parent, also if the child lives on.
 * The host's functions may fork, but for a clock. Where one runs inside a call of the host's, that call
 * answers HF_FORKED in the child. Where it runs on a thread of the library's, the child ends, as by _exit(0),
 * when it returns. A fork may wait a moment for other threads; a signal handler must not fork. Programs that
 * are executed (exec, vfork, posix_spawn) inherit no descriptor. _Fork and clone go unnoticed and are not
 * supported.
 *
 * The library never prints, never exits, and installs no signal handlers.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include "holdfast/aggregate.h"
#include "holdfast/answer.h"
#include "holdfast/base.h"
#include "holdfast/cache.h"
#include "holdfast/controller.h"
#include "holdfast/cursor.h"
#include "holdfast/entity.h"
#include "holdfast/error.h"
#include "holdfast/event.h"
#include "holdfast/future.h"
#include "holdfast/index.h"
#include "holdfast/interrupt.h"
#include "holdfast/log.h"
#include "holdfast/maintenance.h"
#include "holdfast/operation.h"
#include "holdfast/participant.h"
#include "holdfast/provider.h"
#include "holdfast/receipt.h"
#include "holdfast/repository.h"
#include "holdfast/status.h"
#include "holdfast/store.h"
#include "holdfast/stream.h"
#include "holdfast/transaction.h"
#include "holdfast/transfer.h"
#include "holdfast/validator.h"
#include "holdfast/version.h"

#endif
