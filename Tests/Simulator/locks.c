/*
 * Locks on ranges of bytes, as fcntl(2) tells of them: those of a process go when it closes any descriptor
 * of the file, those of an open file description with that.
 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>

static int owner_of(int process, int descriptor) { return descriptor < 0 ? -1 - process : descriptor; }

const range_lock *lock_in_the_way(int file, int process, int descriptor, lock_kind kind, int64_t begin,
                                  int64_t end) {
    int owner = owner_of(process, descriptor);
    for (int i = 0; i < LOCKS; i++) {
        range_lock *lock = &the->locks[i];
        if (lock->file == the->files[file].number && lock->owner != owner && lock->begin < end &&
            begin < lock->end && (kind == EXCLUSIVE || lock->is_exclusive))
            return lock;
    }
    return NULL;
}

static void add(range_lock lock) {
    for (int i = 0; i < LOCKS; i++)
        if (the->locks[i].file == 0) {
            the->locks[i] = lock;
            return;
        }
    fprintf(stderr, "the simulation has no place for so many locks\n");
    abort();
}

bool lock_set(int file, int process, int descriptor, lock_kind kind, int64_t begin, int64_t end) {
    if (kind != UNLOCKED && lock_in_the_way(file, process, descriptor, kind, begin, end) != NULL)
        return false;
    range_lock wanted = {
        the->files[file].number, owner_of(process, descriptor), process, kind == EXCLUSIVE, begin, end};
    for (int i = 0; i < LOCKS; i++) {
        range_lock lock = the->locks[i];
        if (lock.file != wanted.file || lock.owner != wanted.owner || lock.begin >= end || begin >= lock.end)
            continue;
        the->locks[i].file = 0;
        range_lock rest = lock;
        rest.end = begin;
        if (rest.begin < rest.end)
            add(rest);
        rest = lock;
        rest.begin = end;
        if (rest.begin < rest.end)
            add(rest);
    }
    if (kind != UNLOCKED && !(the->weakness == LOCKS_ARE_LOST && happens(20)))
        add(wanted);
    return true;
}

enum { LONG = 1000000000 /* nanoseconds */, MOST_ATTEMPTS = 5000 };

void lock_asked(int file, int64_t begin, bool is_set) {
    task *own = &the->tasks[self];
    uint64_t number = the->files[file].number;
    if (is_set || own->wanted_file != number || own->wanted_begin != begin) {
        own->wanted_file = is_set ? 0 : number;
        own->wanted_begin = begin;
        own->wanted_since = the->now;
        own->attempts = 0;
        return;
    }
    own->attempts++;
    if (the->now - own->wanted_since < LONG)
        return;
    if (own->attempts > MOST_ATTEMPTS)
        report("a lock at %d was asked for %u times within %llu milliseconds", (int)begin, own->attempts,
               (unsigned long long)(the->now - own->wanted_since) / 1000000);
    own->wanted_since = the->now;
    own->attempts = 0;
}

void locks_drop(int file, int process, int descriptor) {
    int owner = owner_of(process, descriptor);
    for (int i = 0; i < LOCKS; i++)
        if (the->locks[i].file == the->files[file].number && the->locks[i].owner == owner)
            the->locks[i].file = 0;
}

void locks_drop_all(int process) {
    for (int i = 0; i < LOCKS; i++)
        if (the->locks[i].process == process)
            the->locks[i].file = 0;
}
