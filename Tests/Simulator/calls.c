#include "calls.h"

#include <errno.h>
#include <stdlib.h>

int fail(int error) {
    errno = error;
    return -1;
}

descriptor *simulated(int number) {
    if (number < FIRST_DESCRIPTOR || number >= FIRST_DESCRIPTOR + DESCRIPTORS || the == NULL)
        return NULL;
    return &the->descriptors[number - FIRST_DESCRIPTOR];
}

const char *name_of(int file) {
    for (int i = 0; i < NAMES; i++)
        if (the->names[i].text[0] != 0 && the->names[i].file == file)
            return the->names[i].text;
    return "(no name)";
}

static void cut(void) {
    note("POWER CUT", NULL, 0, 0, 0);
    the->power_is_cut = true;
    the->tasks[0].state = ABLE;
    for (int i = 1; i < TASKS; i++)
        the->tasks[i].state = NO_TASK;
    wait_in(NO_TASK);
    abort();
}

bool is_last(void) {
    process *own = &the->processes[the->tasks[self].process];
    return own->kill_at != 0 && own->calls >= own->kill_at;
}

void begin(void) {
    process *own = &the->processes[the->tasks[self].process];
    the->now += 500 + draw(20000);
    /* Now and then one is held up for long. */
    if (draw(5000) == 0)
        sleep_for(draw(10) == 0 ? draw(8000000000) : draw(30000000));
    else if (happens(the->switching))
        give_way();
    own->calls++;
    the->calls++;
    if (the->power_at != 0 && the->calls >= the->power_at)
        cut();
}

int enter(const char *what, const char *name, uint32_t weight, int error) {
    begin();
    if (is_last() && happens(500))
        process_end(KILLED);
    uint32_t failing = the->processes[the->tasks[self].process].failing;
    if (error != 0 && failing != 0 && draw(1000000) < (uint64_t)failing * weight) {
        the->failures++;
        note(what, name, 0, 0, -error);
        return error;
    }
    return 0;
}

int leave(int result) {
    if (is_last())
        process_end(KILLED);
    return result;
}

int write_error(void) { return happens(300) ? ENOSPC : EIO; }
