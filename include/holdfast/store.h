/*
 * Store: one database, opened by URL. The unit of commit order: the commits of a store have a total
 * order, and each successful one has its own sequence number.
 *
 * Files. An SQLite store is one file when it is closed by all. While it is open, and after a crash, the files
 * beside it that end in "-wal", "-shm" and "-lock" belong to it: copy, move and delete them with it, and only
 * while no process has it open. The "-lock" stays when the store is closed, holds nothing then, and may be
 * deleted while no process has it open. No store, and no copy of one, gets a name that makes it such a file,
 * or a "-journal", of a store that is there. If another program deletes, moves or replaces one of them, or
 * the store's file, under an open store, every commit answers HF_IO and names the file, and so does the
 * opening by another process until this one has closed the store; a store whose "-shm" or "-lock" file is
 * gone closes without writing, and the next opening finds what was committed. If it truncates the store's
 * file or the "-wal" file, HF_CORRUPT. Reads then show what was committed, or answer HF_IO or HF_CORRUPT; but
 * SQLite's format has no checksums, so what stood in a page that was cut in two may be read damaged. One
 * thing no library can turn into a status: a "-shm" file that is truncated while it is mapped ends the
 * process with SIGBUS.
 *
 * SQLite is shared with whatever else uses it in the process. Neither its shared cache nor a VFS that the
 * process makes its default is used for stores; a program that registers a VFS by the name "holdfast" has
 * their files go through that.
 */
#ifndef HOLDFAST_STORE_H
#define HOLDFAST_STORE_H

#include "base.h"
#include "error.h"
#include "event.h"
#include "status.h"

HF_BEGIN_DECLS

typedef struct hf_store hf_store;

/**
 * Opens a store, creating it where there is none.
 *
 * url: NUL-terminated UTF-8.
 *   "music.db", "/srv/music.db", "sqlite:music.db"   an SQLite file (a path that begins like a scheme is
 *                                                    written "./x:y.db")
 *   "memory:"                                        a new store in this process's memory (":memory:",
 *                                                    as SQLite calls it, is HF_INVALID_URL)
 *   "postgresql://user@host:5432/database", "postgres://..."   a store in a PostgreSQL database, see below
 *   Schemes are the same in any case (RFC 3986); what follows "sqlite:" is the path by the letter.
 *
 * options: NUL-terminated JSON object, or NULL for the defaults. Unknown names are refused.
 *   "create": bool (true)                  false: HF_CANNOT_OPEN where there is no store
 *   "read_only": bool (false)              every write answers HF_READ_ONLY
 *   "durability": "full" | "relaxed"       (full) what commits get that do not say otherwise
 *   "delivery": "callback" | "queue"       (callback) see event.h
 *   "max_in_flight": 1..1000000 (10000)    commits accepted and not yet delivered; see hf_transaction_submit
 *   "max_entity_bytes": 64..268435456 (16777216)
 *   "max_depth": 1..200 (100)              nested arrays and objects of an entity
 *   "cache_bytes": 0..2^40 (67108864)      memory for entities that were read; 0: none. See cache.h
 *                                          beside it SQLite keeps pages of the file: up to 32 MiB for
 *                                          commits, 64 for each snapshot in use and for two that were
 *   "max_snapshots": 1..64 (16)            snapshots of the past held open for transactions; two file
 *                                          descriptors each. A transaction that loses its snapshot moves
 *                                          forward if nothing it read has changed, else HF_CONFLICT.
 *   "snapshot_max_age_ms": 100..86400000 (60000)   a snapshot older than this is taken back once there
 *                                          is a newer state. A call that is reading from it goes on to its
 *                                          end, and no commit waits for it
 *   "wal_limit_bytes": 1048576..2^40 (268435456)   SQLite: a write-ahead log beyond this takes snapshots back
 *   "lock_timeout_ms": 0..86400000 (5000)  SQLite: how long to wait for a process that is just opening,
 *                                          recovering or closing the store; another open in this process
 *                                          is refused at once. On a server: how long a connection may take,
 *                                          a second at least, and how long a commit whose connection was lost
 *                                          on the way is looked up, for which those behind it wait, too.
 *                                          Nothing else waits for a server that is gone: calls end at once
 *                                          with HF_IO, opening with HF_CANNOT_OPEN
 *   "idempotency_max_age_ms": 0..2^53 (604800000)  how long idempotency keys are kept,
 *   "idempotency_max_count": 0..2^31 (100000)      and at most how many; ages are counted
 *                                          steadily while the store is open, by the calendar in between
 *   "log_retention": 1000..2^31 (100000)   commits kept in the commit log, which conflicts are found in and
 *                                          streams go on from; it is trimmed every 1024 commits. Counted are
 *                                          sequences: those that are left out count, too, up to 65,536 when a
 *                                          process did not close the store, and what an import goes on
 *                                          behind. Who relies on the log across crashes asks for several
 *                                          times as many
 *   "log_max_age_ms": 0..2^53 (no limit)   older ones are not kept; what is there at opening counts from then
 *   "log_max_bytes": 1048576..2^40 (268435456)   nor more than take so many bytes: 32 for each commit, and
 *                                          for each change its id's and 2; in an SQLite file that is about
 *                                          what they take there. It is trimmed as soon as it takes more; the
 *                                          newest batch of commits stays, whatever it takes. A process counts
 *                                          what it finds once it has added a thousandth of that, or with the
 *                                          1024th commit
 *   "slow_commit_ms": 1..86400000 (1000)   a batch slower than this is logged as a warning
 *   "allow_unsafe_location": bool (false)  allow a symbolic link, a file that is mounted by itself, or a
 *                                          network file system
 *   "mode": "0600".."0777"                 SQLite: the permissions of a file that is created, whatever the
 *                                          umask; without it 0644 less the umask, as SQLite does it. The
 *                                          files beside it have the same, and for root the same owner
 *   "store": "name" ("main")               on a server: which of the database's stores, 1 to 255 bytes; the
 *                                          parameter "holdfast_store" of the URL says the same
 *   "max_connections": 3..1000 (32)        on a server: as many connections at most; each snapshot in use
 *                                          takes one, and few are kept that are not in use
 *   "max_staleness_ms": 0..86400000 (0)    on a server: reads outside of transactions take a cached entity
 *                                          without asking where it was the newest at most so long ago. At 0
 *                                          each asks what the newest state is. Whatever it is, transactions
 *                                          that are serializable may read cached entities of a second ago:
 *                                          their commit, also of one that wrote nothing, is held against
 *                                          the newest state, and a conflict where what they read has changed
 *
 * Several processes on one machine may have an SQLite file open at once, each by one handle. They write in
 * turns, in the order in which they ask, and wait for their turn as long as the commit's timeout allows; a
 * process that dies leaves its place. One that has met no other for a tenth of a second asks once a
 * millisecond: another that comes in between may wait about as long. While another program has the file
 * locked for writing, commits wait as their timeouts allow, and half a minute at most. A read sees what any
 * of them committed before it began, and a transaction conflicts with their commits as with its own
 * process's. Read-only handles hold up nobody. Other programs may read the file whenever they like. They must
 * not write the store's own tables: no log tells of that, so a read may show what was there before, a query
 * may miss it, and no transaction conflicts with it.
 *
 * A store on a server (PostgreSQL 15 or later, a database in UTF8) may be open in any number of processes on
 * any machines, with the promises of a file: a read sees what any of them committed before it began, commits
 * are in one order, and one is durable as the server's own commits are ("full" waits for its disk, and for
 * its synchronous replicas; "relaxed" does not). The URL is that of libpq, the library libpq.so.5, which is
 * loaded when the first such store is opened: hosts, TLS, password and service files, and the variables PG...
 * of the environment work as there. No message tells the password. A role that opens the first store of a
 * database needs the right to create tables there, every other one SELECT, INSERT, UPDATE and DELETE on those
 * whose names begin with "holdfast_"; with "read_only" SELECT. Each read asks the server whether it is still
 * the newest state that the cache holds; a snapshot in use is a transaction there, and keeps its vacuum from
 * what it sees until "snapshot_max_age_ms" have passed. The key of an index's entry has, with its id, 2,600
 * bytes at most: beyond that a commit is HF_INVALID_ENTITY. A server that lost commits, because a replica
 * that was behind was promoted, or a backup was restored, is noticed by whoever knows of them: the log tells
 * it, transactions that had read are told HF_HISTORY_LOST, streams of changes HF_CURSOR_LOST, and the store
 * goes on with what is there. Only where a repository was lost, too, or another store lies in its place,
 * every call answers HF_IO until the store is closed and opened again. When a connection is lost in the
 * middle of a commit, a new one finds out what became of it; HF_COMMIT_UNKNOWN is left where the server does
 * not come back, or not before the commit's "timeout_ms" have passed. Reads have no such limit: a server that
 * says nothing for a minute is given up. hf_store_backup and hf_store_compact are HF_UNSUPPORTED: take
 * pg_dump, or hf_store_export.
 *
 * out_store receives the handle, freed with hf_store_free.
 *
 * Errors: HF_INVALID_ARGUMENT (NULL), HF_INVALID_URL, HF_INVALID_JSON, HF_INVALID_OPTION,
 * HF_CANNOT_OPEN (no such directory, a directory, no permission, no store and "create" false, a name that is
 * kept for a part of another store, or a function fails that the process has given to
 * sqlite3_auto_extension; on a server: libpq is missing, no server, a wrong password, no such database, one
 * that is not in UTF8, a server that is too old, or the tables are missing and may not be created),
 * HF_NOT_A_STORE (a foreign SQLite file, or no SQLite file), HF_FORMAT_TOO_NEW, HF_CORRUPT (a damaged file,
 * or a "-wal" file whose store is missing), HF_READ_ONLY (a store to be recovered or created where nothing
 * can be written), HF_BUSY (another process opens or closes it for longer than "lock_timeout_ms", or this
 * process has it open; the detail's `holder` names it), HF_UNSAFE_LOCATION, HF_FULL, HF_IO, HF_NO_MEMORY,
 * HF_FORKED (the file was open in the parent when this process was forked).
 *
 * Any thread. Does I/O; starts the store's threads.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_store_open(const char *url, const char *options, hf_store **out_store,
                                                 hf_error **out_error);

/**
 * Closes a store: refuses new work, rolls back open transactions, finishes what was accepted, delivers
 * its events, releases the file.
 *
 * timeout_ms: how long to wait, in milliseconds; -1 for ever, 0 not at all. Another negative number is
 * HF_INVALID_ARGUMENT, and nothing is closed.
 *
 * The handle, and those of its repositories and transactions, stay valid until freed; their calls
 * answer HF_CLOSED. Under "queue" delivery undelivered events can still be taken. Closing a closed
 * store is HF_OK. From inside a callback of this store, and any other function of the host's that one of its
 * threads calls, such as a destructor, it returns HF_OK at once and completes afterwards.
 *
 * Errors: HF_TIMEOUT (without an error object: still closing; call again to wait on), HF_INVALID_ARGUMENT,
 * HF_INVALID_HANDLE, HF_FORKED. A failure of the last write to the file is HF_IO; the store is closed all the
 * same, and what was acknowledged as durable is. HF_IO also tells that the file was deleted, moved or
 * replaced meanwhile, HF_CORRUPT that it was truncated.
 *
 * Any thread. May block for timeout_ms.
 */
HF_EXPORT hf_status hf_store_close(hf_store *store, int64_t timeout_ms, hf_error **out_error);

/**
 * Frees the handle. A store that is still open is closed, as hf_store_close with -1 does (from inside a
 * callback: afterwards). Repositories and transactions of it may be freed before or after, in any order.
 * Events not taken are dropped, their user_data freed. NULL and a freed handle do nothing. Cannot fail.
 * Any thread.
 */
HF_EXPORT void hf_store_free(hf_store *store);

/**
 * Makes everything committed before this call durable, also what was committed as "relaxed".
 * Errors: HF_IO, HF_HISTORY_LOST (a server has lost some of it since the last call, and no call of this
 * function has told so; what is there is durable), HF_CLOSED, HF_INVALID_HANDLE, HF_FORKED. Any thread.
 * Blocks for one sync of the file, or of the server's.
 */
HF_EXPORT hf_status hf_store_sync(hf_store *store, hf_error **out_error);

/**
 * Takes events that are ready, waiting for the first.
 *
 * events: an array of at least `capacity` elements, overwritten. timeout_ms: how long to wait for the
 * first event, in milliseconds; -1 for ever, 0 not at all.
 *
 * Returns the number of events taken, 0 when the time has passed, hf_store_wake was called or the thread's
 * check says so (see interrupt.h), or the negative of a status: -HF_CLOSED when the store is closed and every
 * event was taken, -HF_INVALID_ARGUMENT for a NULL array, capacity 0, another negative timeout, or a store
 * without "queue" delivery, -HF_INVALID_HANDLE, -HF_FORKED.
 *
 * A signal does not end the wait. A program that is to hear of signals gives its thread a check that looks
 * whether one has come, has its handler call hf_store_wake, or waits for the descriptor with poll or
 * epoll_wait, which signals interrupt, and calls this with 0.
 *
 * What the events hold belongs to the caller: hf_events_free. Any thread, several at once.
 */
HF_EXPORT int32_t hf_store_events(hf_store *store, hf_event *events, size_t capacity, int64_t timeout_ms);

/**
 * Ends a wait for events: every hf_store_events that waits now returns 0, or what has come meanwhile; if none
 * waits, the next that would. To have a loop look at something else. The descriptor is left alone.
 *
 * Errors: HF_UNSUPPORTED for a store without "queue" delivery, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE,
 * HF_FORKED. Any thread; also in a signal handler, with a live handle and out_error NULL.
 */
HF_EXPORT hf_status hf_store_wake(hf_store *store, hf_error **out_error);

/**
 * A descriptor that is readable while events wait to be taken, and once the store is closed, for
 * poll, epoll and the like. It is the library's: neither read from it nor close it; it is valid until
 * hf_store_free. close-on-exec.
 *
 * out_descriptor: receives it; must not be NULL.
 * Errors: HF_UNSUPPORTED for a store without "queue" delivery, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE,
 * HF_FORKED. Any thread.
 */
HF_EXPORT hf_status hf_store_event_fd(hf_store *store, int *out_descriptor, hf_error **out_error);

/**
 * Describes the store as a JSON object. Readers ignore other members than these:
 *
 *   "url", "engine", "format", "read_only", "incarnation"
 *   "sequence", "position"   of the newest commit of any process, as a number and as a token
 *   "schema_version"         see hf_store_upgrade; null where none is recorded
 *   "in_flight", "queue"     commits accepted and not yet delivered; {"waiting","max_in_flight"}
 *   "snapshots"              how many are held open, and
 *   "open_snapshots"         an array of {"sequence","age_ms","pinned","holders","names"}, oldest first: how
 *                            many transactions hold each, and the names of those that were given one
 *   "transactions"           how many are open
 *   "sizes"                  {"store_bytes","log_bytes","free_bytes"} of the file, the log beside it, and
 *                            what of the file is unused; null for a store without a file
 *   "server"                 {"connections","round_trips","lag_ms","lost_races","resolved_commits"}: how many
 *                            are open; and since the store was opened, how often the server was asked, how
 *                            long ago it last told its newest state, how often a batch of commits began anew
 *                            because another process was faster, and how many commits only a new connection
 *                            told the outcome of. null for a store that is on no server
 *   "cache"                  see hf_repository_cache_statistics
 *   "handles"                how many live in this process, by kind, as hf_handle_count
 *   "repositories"           an array of {"name","key"}
 *
 * out_description: see hf_buffer. Errors: HF_CLOSED, HF_INVALID_ARGUMENT, HF_INVALID_HANDLE, HF_FORKED,
 * HF_IO, HF_CORRUPT. Any thread; reads from the storage.
 */
HF_EXPORT hf_status hf_store_describe(hf_store *store, hf_buffer *out_description, hf_error **out_error);

/**
 * How many handles of a kind live in this process, for tests that nothing leaks.
 *
 * kind: "store", "repository", "transaction", "error", "cursor", "operation", "future", "participant",
 * "stream", "controller", of any other there are 0; NULL for all. Cannot fail. Any thread.
 */
HF_EXPORT size_t hf_handle_count(const char *kind);

HF_END_DECLS

#endif
