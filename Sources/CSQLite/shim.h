#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

/* Swift cannot call functions with variable arguments: sqlite3_db_config for the options that are a switch.
 */
static inline int holdfast_sqlite3_db_switch(sqlite3 *connection, int option, int on) {
    return sqlite3_db_config(connection, option, on, (int *)0);
}

/* The header of the index of a write-ahead log ("WAL-Index Header" in SQLite's walformat.html): it stands
 * there twice, and a writer changes the second copy before the first, with a barrier between. */
enum { HOLDFAST_WAL_HEADER_BYTES = 48 };

/* Copies the header from the mapped index. False while a writer is changing it. */
static inline bool holdfast_wal_header(const void *index, void *header) {
    unsigned char second[HOLDFAST_WAL_HEADER_BYTES];
    memcpy(header, index, HOLDFAST_WAL_HEADER_BYTES);
    /* The order of two reads is all that is wanted. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(second, (const unsigned char *)index + HOLDFAST_WAL_HEADER_BYTES, HOLDFAST_WAL_HEADER_BYTES);
    return memcmp(header, second, HOLDFAST_WAL_HEADER_BYTES) == 0;
}

/* Sets how many frames of the log are in the database's file ("nBackfill", behind the two headers) to none.
 */
static inline void holdfast_wal_forget_copied(void *index) {
    __atomic_store_n((unsigned *)index + HOLDFAST_WAL_HEADER_BYTES * 2 / sizeof(unsigned), 0,
                     __ATOMIC_SEQ_CST);
}
