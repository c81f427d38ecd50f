#include "members.h"

char journal[4096];

static const char *const phase_names[] = {"begin",    "validate",  "commit",
                                          "rollback", "savepoint", "rollback to"};

static hf_status called(member *m, phase p, hf_transaction *transaction) {
    size_t length = strlen(journal);
    snprintf(journal + length, sizeof journal - length, "%s%s %s", length > 0 ? ", " : "", phase_names[p],
             m->name);
    m->calls[p]++;
    /* From inside hf_participant_create the handle is not known here yet. */
    if (m->handle != NULL &&
        hf_participant_active(m->handle, &m->was_active, m->seen, NULL) == HF_INVALID_HANDLE) {
        m->was_active = false; /* freed by another member's hook */
    }
    return m->hook != NULL ? m->hook(m, p, transaction) : HF_OK;
}

static void begin_member(const uint8_t *descriptor, void *user_data) {
    member *m = user_data;
    assert_non_null(descriptor);
    m->backup = m->value;
    called(m, BEGIN, NULL);
}

static hf_status validate_member(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    member *m = user_data;
    hf_status answer = called(m, VALIDATE, transaction);
    if (answer != HF_OK) {
        return answer;
    }
    if (m->answer != HF_OK && m->message != NULL) {
        *out_error = hf_error_create(m->answer, m->code, m->message);
    }
    return m->answer;
}

static void check_descriptor(const member *m, const uint8_t *descriptor) {
    if (m->was_active) {
        assert_memory_equal(descriptor, m->seen, HF_DESCRIPTOR_BYTES);
    }
}

static void commit_member(const uint8_t *descriptor, void *user_data) {
    member *m = user_data;
    called(m, COMMIT, NULL);
    check_descriptor(m, descriptor);
}

static void roll_back_member(const uint8_t *descriptor, void *user_data) {
    member *m = user_data;
    m->value = m->backup;
    called(m, ROLLBACK, NULL);
    check_descriptor(m, descriptor);
}

static void save_member(uint64_t savepoint, void *user_data) {
    member *m = user_data;
    assert_true(savepoint < COUNT_OF(m->saved));
    m->saved[savepoint] = m->value;
    called(m, SAVEPOINT, NULL);
}

static void return_member(uint64_t savepoint, void *user_data) {
    member *m = user_data;
    m->value = m->calls[SAVEPOINT] > 0 ? m->saved[savepoint] : m->backup;
    called(m, ROLLBACK_TO, NULL);
}

static void count_free(void *user_data) { ((member *)user_data)->freed++; }

static void make(member *m, const char *name, member *parent, bool saves) {
    *m = (member){.handle = NULL};
    snprintf(m->name, sizeof m->name, "%s", name);
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_begin = begin_member;
    callbacks.on_validate = validate_member;
    callbacks.on_commit = commit_member;
    callbacks.on_rollback = roll_back_member;
    if (saves) {
        callbacks.on_savepoint = save_member;
        callbacks.on_rollback_to = return_member;
    }
    expect_ok(hf_participant_create, parent != NULL ? parent->handle : NULL, &callbacks, m, count_free,
              &m->handle);
}

void make_member(member *m, const char *name, member *parent) { make(m, name, parent, false); }

void make_saving_member(member *m, const char *name, member *parent) { make(m, name, parent, true); }

void free_member(member *m) {
    hf_participant_free(m->handle);
    assert_int_equal(m->freed, 1);
}

void check_calls(const member *m, int begun, int validated, int committed, int rolled_back, const char *file,
                 int line) {
    const int *c = m->calls;
    if (c[BEGIN] != begun || c[VALIDATE] != validated || c[COMMIT] != committed ||
        c[ROLLBACK] != rolled_back) {
        fail_msg("%s:%d: %s was begun %d, validated %d, committed %d, rolled back %d times", file, line,
                 m->name, c[BEGIN], c[VALIDATE], c[COMMIT], c[ROLLBACK]);
    }
}

bool is_active(const member *m) {
    bool active = false;
    expect_ok(hf_participant_active, m->handle, &active, NULL);
    return active;
}

void open_tree_room(const fixture *f, tree_room *r, const char *options) {
    r->store = open_store(f, options);
    r->things = open_repository(r->store, "things");
    make_member(&r->root, "root", NULL);
    make_member(&r->child, "child", &r->root);
    save(r->things, NULL, "{\"id\":\"clock\",\"n\":0}");
    journal[0] = '\0';
}

void close_tree_room(tree_room *r) {
    free_member(&r->root), free_member(&r->child);
    hf_repository_free(r->things);
    hf_store_free(r->store);
}

void in_tree_room(fixture *f, void (*scenario)(void)) {
    tree_room r;
    open_tree_room(f, &r, NULL);
    ((void (*)(tree_room *))scenario)(&r);
    close_tree_room(&r);
}

hf_transaction *begin_enlisted(tree_room *r, const char *options) {
    hf_transaction *t = begin(r->store, options);
    expect_ok(hf_transaction_enlist, t, r->child.handle);
    return t;
}

void tick(hf_repository *things) {
    expect_ok(hf_repository_modify, things, NULL, "clock", HF_NTS, "{\"$inc\":{\"n\":1}}", HF_NTS, NULL, 0, 0,
              NULL);
}
