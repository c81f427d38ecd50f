/*
 * First read: the time from the start of a process until it has read one document.
 *
 *     first_read_ENGINE DIRECTORY ID
 *
 * The process starts itself anew, so that what the dynamic linker does is counted.
 */
#include "engine.h"
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc == 3) {
        char began[32];
        snprintf(began, sizeof began, "%.9f", seconds_now());
        execl("/proc/self/exe", argv[0], argv[1], argv[2], began, (char *)NULL);
        fail("execl", strerror(errno));
    }
    if (argc != 4)
        fail(argv[0], "DIRECTORY ID");
    document d = {argv[2], strlen(argv[2]), NULL, 0};
    const char *body;
    void *store = this_engine.open(argv[1], true, true);
    void *session = this_engine.session_open(store);
    this_engine.fetch(session, &d, &body);
    report(1, seconds_now() - strtod(argv[3], NULL), 0, 0);
    this_engine.session_close(session);
    this_engine.close(store);
    return 0;
}
