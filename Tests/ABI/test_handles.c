/* Handles: whatever is not a living handle of the right type answers HF_INVALID_HANDLE at every function, and
 * NULL HF_INVALID_ARGUMENT. */
#include "handles.h"

/* Calls every function of the role with `bad` in that role and good handles in the others. */
static void refuse_everywhere(handles good, int role, void *bad) {
    hf_status expected = bad == NULL ? HF_INVALID_ARGUMENT : HF_INVALID_HANDLE;
    results r = {0};
    for (size_t i = 0; i < function_count; i++) {
        bool optional = role == TRANSACTION && functions[i].roles != TRANSACTION;
        if ((functions[i].roles & role) == 0 || (bad == NULL && optional)) {
            continue;
        }
        handles h = good;
        h.store = role == STORE ? bad : h.store;
        h.repository = role == REPOSITORY ? bad : h.repository;
        h.transaction = role == TRANSACTION ? bad : h.transaction;
        hf_error *error = NULL;
        hf_status status = functions[i].call(h, &r, &error);
        if (status != expected) {
            fail_msg("%s with handle %p in role %d answered %s", functions[i].name, bad, role,
                     hf_status_name(status));
        }
        assert_true(error == NULL || hf_error_status(error) == expected);
        hf_error_free(error);
    }
    free_results(&r);
}

static void null_is_no_handle(fixture *f) {
    handles good = open_handles(f, NULL);
    for (int role = STORE; role <= TRANSACTION; role *= 2) {
        refuse_everywhere(good, role, NULL);
    }
    free_handles(good);
}

static void a_freed_handle_is_refused_also_when_its_place_is_taken_again(fixture *f) {
    handles freed = open_handles(f, NULL);
    free_handles(freed);
    handles good = open_handles(f, NULL);
    refuse_everywhere(good, STORE, freed.store);
    refuse_everywhere(good, REPOSITORY, freed.repository);
    refuse_everywhere(good, TRANSACTION, freed.transaction);
    free_handles(good);
}

static void a_handle_of_another_type_is_refused(fixture *f) {
    handles good = open_handles(f, NULL);
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
    handles good = open_handles(f, NULL);
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
    handles good = open_handles(f, NULL);
    size_t living = hf_handle_count(NULL);
    hf_store_free((hf_store *)good.repository);
    hf_repository_free((hf_repository *)good.transaction);
    hf_transaction_free((hf_transaction *)good.store);
    hf_error_free((hf_error *)good.store);
    assert_int_equal(hf_handle_count(NULL), living);
    expect_count(good.repository, good.transaction, NULL, 0);

    handles twice = good;
    free_handles(good);
    handles others = open_handles(f, NULL);
    living = hf_handle_count(NULL);
    free_handles(twice);
    assert_int_equal(hf_handle_count(NULL), living);
    free_handles(others);
}

static void handles_may_be_freed_in_any_order(fixture *f) {
    static const char orders[][4] = {"srt", "str", "rst", "rts", "tsr", "trs"};
    size_t living = hf_handle_count(NULL);
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        handles h = open_handles(f, NULL);
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
    handles h = open_handles(f, NULL);
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

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(null_is_no_handle),
        EACH_ENGINE(a_freed_handle_is_refused_also_when_its_place_is_taken_again),
        EACH_ENGINE(a_handle_of_another_type_is_refused),
        EACH_ENGINE(what_never_was_a_handle_is_refused),
        EACH_ENGINE(freeing_twice_or_as_another_type_does_nothing),
        EACH_ENGINE(handles_may_be_freed_in_any_order),
        ONCE(a_destructor_runs_also_when_the_handle_is_refused),
    };
    return run_scenarios("handles", scenarios, COUNT_OF(scenarios));
}
