/*
 * Engine: what a workload asks of Holdfast and of those that it is compared with. Each engine is written as
 * its careful user would write it, one file an engine; a program is one engine with all the workloads.
 *
 * Functions do what they say or end the program. One that is NULL is not compared.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "documents.h"

#include <stdbool.h>

/* How many commits a program has under way that hands them over. */
enum { IN_FLIGHT = 1000 };

enum { LARGE_CACHE = 256 << 20 };

/* What an engine may keep in its own memory of what was read. The last four are Holdfast's. */
typedef enum caching {
    NO_CACHE,
    CACHED,
    /* Up to LARGE_CACHE, for all threads together. */
    CACHED_LARGE,
    /* By a policy with room for all, used longest ago or inserted first, that expires after an hour. */
    CACHED_LRU,
    CACHED_FIFO,
    /* By a policy with room for far too few. */
    CACHED_FEW,
    /* On a server: also what was the newest state a tenth of a second ago. */
    CACHED_STALE,
} caching;

typedef struct engine {
    /* Opens the store in the directory, or in the database of a URL, or creates it there. Durable: what is
     * acknowledged survives a power cut; otherwise it survives the end of the process. */
    void *(*open)(const char *directory, bool is_durable, caching cache);
    void (*close)(void *store);

    /* What one thread needs, such as a connection. */
    void *(*session_open)(void *store);
    void (*session_close)(void *session);

    /* Stores a document, new or not, in a commit of its own, and returns when it is acknowledged. */
    void (*save)(void *session, const document *d);
    /* Stores new documents in one commit, and returns when it is acknowledged. */
    void (*add_many)(void *session, const document *d, size_t count);
    /* Hands over one commit of these documents. It may return before it is acknowledged. */
    void (*submit)(void *session, const document *d, size_t count);
    /* Waits until everything that was handed over is acknowledged. */
    void (*drain)(void *session);

    /* Copies the document out, and answers its length. The copy lives until the session's next call. */
    size_t (*fetch)(void *session, const document *d, const char **out_body);
    /* Visits this document and those whose ids come behind it, in the order of the ids' bytes: so many, or as
     * many as there are. Answers how many. */
    size_t (*range)(void *session, const document *first, size_t count);
    /* Adds 1 to the document's "installed_size" in one transaction. Answers how often it was tried in vain.
     */
    size_t (*increment)(void *session, const document *d);
    /* Visits each document of a section, without an index, and answers how many there are. */
    size_t (*scan)(void *session, const char *section);

    /* Makes an index of a member, unless it is there. */
    void (*create_index)(void *session, const char *member);
    void (*drop_index)(void *session, const char *member);
    /* Visits each document whose "installed_size" is at least `low` and below `high`, and answers how many
     * there are. */
    size_t (*find)(void *session, long long low, long long high);
    /* Adds up "installed_size" for each value of a member, and answers how many values there are. */
    size_t (*group)(void *session, const char *member);
    /* Makes an index of the words of "description", with Porter's stems. */
    void (*create_text_index)(void *session);
    void (*drop_text_index)(void *session);
    /* Visits the ten documents that match these words best: that have one of them, or all as a phrase.
     * Answers how many there are. */
    size_t (*search)(void *session, const char *const *words, size_t count, bool is_phrase);
    /* Visits every document and answers how many there are. */
    size_t (*stream)(void *session);
} engine;

/* For the functions of these names in an engine's file. */
#define WHAT_ALL_CAN                                                                                         \
    .open = store_open, .close = store_close, .session_open = session_open, .session_close = session_close,  \
    .save = save

/* The engine of this program. */
extern const engine this_engine;

#endif
