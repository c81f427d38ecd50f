/*
 * Members of object trees, for the tests of participants: each counts its calls, keeps a value that it backs
 * up when a transaction begins and puts back when that is rolled back, and writes a journal that all of a
 * test share.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include "support.h"

typedef enum phase { BEGIN, VALIDATE, COMMIT, ROLLBACK, SAVEPOINT, ROLLBACK_TO, PHASES } phase;

typedef struct member {
    char name[16];
    hf_participant *handle;
    int calls[PHASES];
    int freed; /* how often its user_data was */
    int value;
    int backup;
    int saved[4]; /* at the savepoints, by number */
    /* What on_validate answers: with a code and a message of its own when there is a message. */
    hf_status answer;
    int64_t code;
    const char *message;
    /* Called within each callback; transaction is NULL but for VALIDATE. Its answer counts for VALIDATE. */
    hf_status (*hook)(struct member *m, phase p, hf_transaction *transaction);
    void *context;
    /* The descriptor that was active in the last callback, and whether one was. */
    uint8_t seen[HF_DESCRIPTOR_BYTES];
    bool was_active;
} member;

/* Everything that members were called for since the test began, such as "begin a, validate a". */
extern char journal[4096];

/* A member under `parent`, which may be NULL. It is the test's; its name is cut to 15 bytes. */
void make_member(member *m, const char *name, member *parent);
/* The same, that takes part in savepoints. */
void make_saving_member(member *m, const char *name, member *parent);
void free_member(member *m);

/* begun, validated, committed, rolled back */
#define expect_calls(m, b, v, c, r) check_calls(m, b, v, c, r, __FILE__, __LINE__)
void check_calls(const member *m, int begun, int validated, int committed, int rolled_back, const char *file,
                 int line);

bool is_active(const member *m);

/* A store with one repository, in which there is an entity "clock", and beside it a tree of two members. */
typedef struct tree_room {
    hf_store *store;
    hf_repository *things;
    member root, child;
} tree_room;

void open_tree_room(const fixture *f, tree_room *r, const char *options);
void close_tree_room(tree_room *r);
/* A transaction that the tree takes part in. */
hf_transaction *begin_enlisted(tree_room *r, const char *options);
/* Somebody else's commit, on which transactions stumble that have read the clock. */
void tick(hf_repository *things);

#define expect_journal(text)                                                                                 \
    do {                                                                                                     \
        assert_string_equal(journal, text);                                                                  \
        journal[0] = '\0';                                                                                   \
    } while (0)

#endif
