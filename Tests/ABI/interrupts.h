/* What the tests of interrupts share. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "indexes.h"

/* What a thread's check does. In this program it is asked whenever it may be. */
typedef struct check {
    int asked;
    int end_at;               /* the question from which on calls are to end; 0: never */
    void (*inside)(void *of); /* what it does by itself */
    void *of;
    bool is_inside;
} check;

static inline bool is_to_end(void *user_data) {
    check *c = user_data;
    assert_false(c->is_inside);
    c->is_inside = true;
    c->asked++;
    if (c->inside != NULL)
        c->inside(c->of);
    c->is_inside = false;
    return c->end_at > 0 && c->asked >= c->end_at;
}

enum { MANY = 500 };

static inline void fill(room r, int count) {
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":\"%05d\",\"n\":%d,\"few\":%d}", i, count - i, i % 7);
        save(r.things, t, text);
    }
    commit_quietly(t);
}

static inline void *save_elsewhere(void *things) {
    save(things, NULL, "{\"id\":\"other\"}");
    return NULL;
}

/* Begins a thread that is in the way, or finds this one there, with a commit of "other". */
static inline pthread_t begin_saving_elsewhere(hf_repository *things) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, save_elsewhere, things), 0);
    return thread;
}

/* The sqlite3 program, which has the store's file locked until it is closed, after a command of its own. */
static inline FILE *lock_file_after(const char *path, const char *first) {
    char command[300], note[250];
    snprintf(note, sizeof note, "%s.locked", path);
    snprintf(command, sizeof command, "sqlite3 -cmd '%s' %s >/dev/null", first, path);
    FILE *shell = popen(command, "w");
    fprintf(shell, "BEGIN IMMEDIATE;\n.shell touch %s\n", note);
    fflush(shell);
    while (access(note, F_OK) != 0)
        sleep_milliseconds(5);
    unlink(note);
    return shell;
}

/* The same for writing. */
static inline FILE *lock_file(const char *path) { return lock_file_after(path, ".timeout 10000"); }

/* To be called before anything else: whoever may be asked is, each time. */
static inline void ask_all_the_time(void) { setenv("HOLDFAST_LIMITS", "interruptInterval=1", 1); }

#endif
