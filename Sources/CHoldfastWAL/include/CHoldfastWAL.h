/*
 * WAL: writes the frames of one transaction to SQLite's write-ahead log in one piece.
 */
#ifndef CHOLDFAST_WAL_H
#define CHOLDFAST_WAL_H

#include <stdbool.h>

/* SQLite writes each frame with two calls, a header of 24 bytes and a page. From here on what it writes to
 * this log is gathered, and written when the frame that commits is complete, which is before SQLite shows the
 * transaction to anybody; before anything else is done with the file; and whenever the buffer is full. So the
 * file holds at any moment what it would hold otherwise, without the end of a transaction that is not
 * committed.
 *
 * `log` is the sqlite3_file. It goes on being used by one thread at a time, and takes this along when SQLite
 * closes it. False where there is no memory: then everything is as before. */
bool hfw_gather(void *log);

#endif
