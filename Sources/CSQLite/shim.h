#include <sqlite3.h>

/* Swift cannot call functions with variable arguments: sqlite3_db_config for the options that are a switch.
 */
static inline int holdfast_sqlite3_db_switch(sqlite3 *connection, int option, int on) {
    return sqlite3_db_config(connection, option, on, (int *)0);
}
