/* Handles: whatever is not a living handle of the right type answers HF_INVALID_HANDLE at every function, and
 * NULL HF_INVALID_ARGUMENT. */
#include "support.h"

#include <sys/wait.h>

/* The handles of one call; a table entry uses those of its roles. */
typedef struct handles {
    hf_store *store;
    hf_repository *repository;
    hf_transaction *transaction;
} handles;

enum { STORE = 1, REPOSITORY = 2, TRANSACTION = 4 };

static const char thing[] = "{\"id\":\"a\"}";
static hf_entity entity;
static hf_entity_list list;
static hf_buffer buffer;

#define CALL(name, ...)                                                                                      \
    static hf_status call_##name(handles h, hf_error **e) { return hf_##name(__VA_ARGS__, e); }

static hf_status nothing(hf_transaction *transaction, void *user_data) {
    (void)transaction, (void)user_data;
    return HF_OK;
}

static hf_status call_repository_open(handles h, hf_error **e) {
    hf_repository *out = NULL;
    hf_status status = hf_repository_open(h.store, "others", NULL, &out, e);
    assert_true((status == HF_OK) == (out != NULL));
    hf_repository_free(out);
    return status;
}

static hf_status call_transaction_begin(handles h, hf_error **e) {
    hf_transaction *out = NULL;
    hf_status status = hf_transaction_begin(h.store, NULL, &out, e);
    assert_true((status == HF_OK) == (out != NULL));
    hf_transaction_free(out);
    return status;
}

static hf_status call_store_event_fd(handles h, hf_error **e) {
    int descriptor = -1;
    return hf_store_event_fd(h.store, &descriptor, e);
}

static hf_status call_store_events(handles h, hf_error **e) {
    hf_event event;
    int32_t taken = hf_store_events(h.store, &event, 1, 0);
    *e = NULL;
    return taken < 0 ? (hf_status)-taken : HF_OK;
}

static hf_status call_transaction_savepoint(handles h, hf_error **e) {
    uint64_t savepoint;
    return hf_transaction_savepoint(h.transaction, &savepoint, e);
}

static hf_status call_transaction_get_state(handles h, hf_error **e) {
    hf_transaction_state state;
    return hf_transaction_get_state(h.transaction, &state, e);
}

static hf_status call_repository_count(handles h, hf_error **e) {
    uint64_t n;
    return hf_repository_count(h.repository, h.transaction, NULL, 0, &n, e);
}

static hf_status call_repository_contains(handles h, hf_error **e) {
    bool contains;
    return hf_repository_contains(h.repository, h.transaction, "a", 1, &contains, e);
}

CALL(store_close, h.store, 0)
CALL(store_sync, h.store)
CALL(store_describe, h.store, &buffer)
CALL(store_transact, h.store, nothing, NULL, NULL, NULL)
CALL(transaction_commit, h.transaction, NULL)
CALL(transaction_submit, h.transaction, NULL, NULL, NULL)
CALL(transaction_cancel, h.transaction)
CALL(transaction_rollback, h.transaction)
CALL(transaction_rollback_to, h.transaction, 1)
CALL(repository_add, h.repository, h.transaction, thing, HF_NTS, NULL)
CALL(repository_update, h.repository, h.transaction, thing, HF_NTS, 0, NULL)
CALL(repository_save, h.repository, h.transaction, thing, HF_NTS, NULL)
CALL(repository_patch, h.repository, h.transaction, "a", 1, "{}", 2, 0, NULL)
CALL(repository_delete, h.repository, h.transaction, "a", 1, 0)
CALL(repository_add_many, h.repository, h.transaction, "[]", 2, NULL)
CALL(repository_update_many, h.repository, h.transaction, "[]", 2, NULL)
CALL(repository_save_many, h.repository, h.transaction, "[]", 2, NULL)
CALL(repository_patch_many, h.repository, h.transaction, "[]", 2, NULL)
CALL(repository_delete_many, h.repository, h.transaction, "[]", 2)
CALL(repository_delete_all, h.repository, h.transaction, NULL, 0, NULL)
CALL(repository_fetch, h.repository, h.transaction, "a", 1, &entity)
CALL(repository_fetch_many, h.repository, h.transaction, "[]", 2, &list)
CALL(repository_fetch_all, h.repository, h.transaction, &list)
CALL(repository_find, h.repository, h.transaction, NULL, 0, NULL, &list)

#define ENTRY(name, roles)                                                                                   \
    { #name, call_##name, roles }

static const struct {
    const char *name;
    hf_status (*call)(handles h, hf_error **e);
    int roles;
} functions[] = {
    ENTRY(store_close, STORE),
    ENTRY(store_sync, STORE),
    ENTRY(store_events, STORE),
    ENTRY(store_event_fd, STORE),
    ENTRY(store_describe, STORE),
    ENTRY(store_transact, STORE),
    ENTRY(repository_open, STORE),
    ENTRY(transaction_begin, STORE),
    ENTRY(transaction_commit, TRANSACTION),
    ENTRY(transaction_submit, TRANSACTION),
    ENTRY(transaction_cancel, TRANSACTION),
    ENTRY(transaction_rollback, TRANSACTION),
    ENTRY(transaction_savepoint, TRANSACTION),
    ENTRY(transaction_rollback_to, TRANSACTION),
    ENTRY(transaction_get_state, TRANSACTION),
    ENTRY(repository_add, REPOSITORY | TRANSACTION),
    ENTRY(repository_update, REPOSITORY | TRANSACTION),
    ENTRY(repository_save, REPOSITORY | TRANSACTION),
    ENTRY(repository_patch, REPOSITORY | TRANSACTION),
    ENTRY(repository_delete, REPOSITORY | TRANSACTION),
    ENTRY(repository_add_many, REPOSITORY | TRANSACTION),
    ENTRY(repository_update_many, REPOSITORY | TRANSACTION),
    ENTRY(repository_save_many, REPOSITORY | TRANSACTION),
    ENTRY(repository_patch_many, REPOSITORY | TRANSACTION),
    ENTRY(repository_delete_many, REPOSITORY | TRANSACTION),
    ENTRY(repository_delete_all, REPOSITORY | TRANSACTION),
    ENTRY(repository_fetch, REPOSITORY | TRANSACTION),
    ENTRY(repository_fetch_many, REPOSITORY | TRANSACTION),
    ENTRY(repository_fetch_all, REPOSITORY | TRANSACTION),
    ENTRY(repository_find, REPOSITORY | TRANSACTION),
    ENTRY(repository_count, REPOSITORY | TRANSACTION),
    ENTRY(repository_contains, REPOSITORY | TRANSACTION),
};

static handles open_handles(const fixture *f) {
    hf_store *store = open_store(f, NULL);
    return (handles){store, open_repository(store, "things"), begin(store, NULL)};
}

static void free_handles(handles h) {
    hf_transaction_free(h.transaction);
    hf_repository_free(h.repository);
    hf_store_free(h.store);
}

/* Calls every function of the role with `bad` in that role and good handles in the others. */
static void refuse_everywhere(handles good, int role, void *bad) {
    hf_status expected = bad == NULL ? HF_INVALID_ARGUMENT : HF_INVALID_HANDLE;
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        bool optional = role == TRANSACTION && (functions[i].roles & REPOSITORY) != 0;
        if ((functions[i].roles & role) == 0 || (bad == NULL && optional)) {
            continue;
        }
        handles h = good;
        h.store = role == STORE ? bad : h.store;
        h.repository = role == REPOSITORY ? bad : h.repository;
        h.transaction = role == TRANSACTION ? bad : h.transaction;
        hf_error *error = NULL;
        hf_status status = functions[i].call(h, &error);
        if (status != expected) {
            fail_msg("hf_%s with handle %p in role %d answered %s", functions[i].name, bad, role,
                     hf_status_name(status));
        }
        assert_true(error == NULL || hf_error_status(error) == expected);
        hf_error_free(error);
    }
}

static void null_is_no_handle(fixture *f) {
    handles good = open_handles(f);
    for (int role = STORE; role <= TRANSACTION; role *= 2) {
        refuse_everywhere(good, role, NULL);
    }
    free_handles(good);
}

static void a_freed_handle_is_refused_also_when_its_place_is_taken_again(fixture *f) {
    handles freed = open_handles(f);
    free_handles(freed);
    handles good = open_handles(f);
    refuse_everywhere(good, STORE, freed.store);
    refuse_everywhere(good, REPOSITORY, freed.repository);
    refuse_everywhere(good, TRANSACTION, freed.transaction);
    free_handles(good);
}

static void a_handle_of_another_type_is_refused(fixture *f) {
    handles good = open_handles(f);
    hf_error *error = error_of(HF_INVALID_JSON, hf_repository_save, good.repository, NULL, "{", 1, NULL);
    refuse_everywhere(good, STORE, good.repository);
    refuse_everywhere(good, STORE, good.transaction);
    refuse_everywhere(good, REPOSITORY, good.store);
    refuse_everywhere(good, REPOSITORY, good.transaction);
    refuse_everywhere(good, REPOSITORY, error);
    refuse_everywhere(good, TRANSACTION, good.repository);
    refuse_everywhere(good, TRANSACTION, good.store);
    hf_error_free(error);
    free_handles(good);
}

static void what_never_was_a_handle_is_refused(fixture *f) {
    handles good = open_handles(f);
    long on_the_stack[16] = {0};
    void *const never[] = {(void *)1, (void *)0xdeadbeef, (void *)UINTPTR_MAX, (void *)(UINTPTR_MAX / 3),
                           on_the_stack};
    for (size_t i = 0; i < COUNT_OF(never); i++) {
        for (int role = STORE; role <= TRANSACTION; role *= 2) {
            refuse_everywhere(good, role, never[i]);
        }
        hf_store_free(never[i]);
        hf_repository_free(never[i]);
        hf_transaction_free(never[i]);
        hf_error_free(never[i]);
    }
    free_handles(good);
}

static void freeing_twice_or_as_another_type_does_nothing(fixture *f) {
    handles good = open_handles(f);
    size_t living = hf_handle_count(NULL);
    hf_store_free((hf_store *)good.repository);
    hf_repository_free((hf_repository *)good.transaction);
    hf_transaction_free((hf_transaction *)good.store);
    hf_error_free((hf_error *)good.store);
    assert_int_equal(hf_handle_count(NULL), living);
    expect_count(good.repository, good.transaction, NULL, 0);

    handles twice = good;
    free_handles(good);
    handles others = open_handles(f);
    living = hf_handle_count(NULL);
    free_handles(twice);
    assert_int_equal(hf_handle_count(NULL), living);
    free_handles(others);
}

static void handles_may_be_freed_in_any_order(fixture *f) {
    static const char orders[][4] = {"srt", "str", "rst", "rts", "tsr", "trs"};
    size_t living = hf_handle_count(NULL);
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        handles h = open_handles(f);
        save(h.repository, h.transaction, "{\"id\":\"lost\"}");
        for (const char *next = orders[i]; *next != '\0'; next++) {
            switch (*next) {
            case 's':
                hf_store_free(h.store);
                break;
            case 'r':
                hf_repository_free(h.repository);
                break;
            default:
                hf_transaction_free(h.transaction);
            }
        }
        assert_int_equal(hf_handle_count(NULL), living);
    }
    handles h = open_handles(f);
    expect_count(h.repository, NULL, NULL, 0);
    free_handles(h);
}

static void a_destructor_runs_also_when_the_handle_is_refused(fixture *f) {
    (void)f;
    recorder *r = new_recorder(1);
    expect(HF_INVALID_HANDLE, hf_transaction_submit, (hf_transaction *)(void *)17, record_event,
           new_ticket(r, 0), free_ticket);
    assert_int_equal(r->freed, 1);
    assert_int_equal(r->count, 0);
    free_recorder(r);
}

static void every_handle_of_the_parent_is_forked_in_a_child(fixture *f) {
    handles inherited = open_handles(f);
    save(inherited.repository, inherited.transaction, "{\"id\":\"ours\"}");
    pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        for (size_t i = 0; i < COUNT_OF(functions); i++) {
            hf_error *error = NULL;
            wrong += functions[i].call(inherited, &error) != HF_FORKED;
            hf_error_free(error);
        }
        hf_store *again = NULL;
        if (f->engine[0] == 's') {
            wrong += hf_store_open(f->url, NULL, &again, NULL) != HF_FORKED || again != NULL;
        }
        free_handles(inherited);
        _exit(wrong);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);

    expect_ok(hf_transaction_commit, inherited.transaction, NULL);
    expect_entity(inherited.repository, NULL, "ours", "{\"id\":\"ours\"}");
    free_handles(inherited);
}

static void a_forked_child_may_open_a_store_of_its_own(fixture *f) {
    handles inherited = open_handles(f);
    pid_t child = fork();
    if (child == 0) {
        hf_store *own = NULL;
        hf_repository *things = NULL;
        bool ok = hf_store_open("memory:", NULL, &own, NULL) == HF_OK &&
                  hf_repository_open(own, "things", NULL, &things, NULL) == HF_OK &&
                  hf_repository_save(things, NULL, thing, HF_NTS, NULL, NULL) == HF_OK &&
                  hf_store_close(own, -1, NULL) == HF_OK;
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    free_handles(inherited);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(null_is_no_handle),
        EACH_ENGINE(a_freed_handle_is_refused_also_when_its_place_is_taken_again),
        EACH_ENGINE(a_handle_of_another_type_is_refused),
        EACH_ENGINE(what_never_was_a_handle_is_refused),
        EACH_ENGINE(freeing_twice_or_as_another_type_does_nothing),
        EACH_ENGINE(handles_may_be_freed_in_any_order),
        ONCE(a_destructor_runs_also_when_the_handle_is_refused),
        EACH_ENGINE(every_handle_of_the_parent_is_forked_in_a_child),
        EACH_ENGINE(a_forked_child_may_open_a_store_of_its_own),
    };
    return run_scenarios("handles", scenarios, COUNT_OF(scenarios));
}
