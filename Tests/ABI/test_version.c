/* Which contract, which features, what the statuses are called, and what the host's log is told. */
#include "support.h"

static void the_version_of_these_headers_and_older_ones_can_be_selected(fixture *f) {
    (void)f;
    expect_ok(hf_version_select, HF_API_VERSION);
    expect_ok(hf_version_select, 1);
    assert_int_equal(hf_version_select(HF_API_VERSION, NULL), HF_OK);
}

static void a_newer_version_is_refused_and_both_numbers_are_told(fixture *f) {
    (void)f;
    char wanted[16], offered[16];
    snprintf(wanted, sizeof wanted, "%d", HF_API_VERSION + 41);
    snprintf(offered, sizeof offered, "%d", HF_API_VERSION);
    hf_error *error = error_of(HF_VERSION_UNSUPPORTED, hf_version_select, HF_API_VERSION + 41);
    assert_non_null(strstr(hf_error_message(error), wanted));
    assert_non_null(strstr(hf_error_message(error), offered));
    hf_error_free(error);
}

static void a_version_below_one_is_an_invalid_argument(fixture *f) {
    (void)f;
    expect(HF_INVALID_ARGUMENT, hf_version_select, 0);
    expect(HF_INVALID_ARGUMENT, hf_version_select, INT32_MIN);
}

static void the_library_has_the_version_that_was_built(fixture *f) {
    (void)f;
    assert_string_equal(hf_version_text(), HOLDFAST_VERSION);
    int major, minor, patch;
    assert_int_equal(sscanf(HOLDFAST_VERSION, "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(hf_version_number(), 1000000 * major + 1000 * minor + patch);
}

static void every_documented_feature_is_available_and_others_are_not(fixture *f) {
    (void)f;
    static const char *const known[] = {
        "sqlite",      "memory",         "postgresql", "provider",    "queue_delivery", "idempotency",
        "savepoints",  "scopes",         "filters",    "updates",     "indexes",        "cursors",
        "validators",  "object_trees",   "operations", "futures",     "streams",        "live_queries",
        "controllers", "cache_policies", "expiry",     "maintenance", "upgrades",       "transfer",
        "interrupts",  "aggregation",    "text_search"};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_true(hf_feature_available(known[i]));
    }
    assert_false(hf_feature_available("time_travel"));
    assert_false(hf_feature_available("SQLITE"));
    assert_false(hf_feature_available(""));
    assert_false(hf_feature_available("\xff"));
    assert_false(hf_feature_available(NULL));
}

static void every_status_has_its_own_name(fixture *f) {
    (void)f;
#define NAMED(status)                                                                                        \
    { status, #status }
    static const struct {
        hf_status status;
        const char *name;
    } all[] = {
        NAMED(HF_OK),
        NAMED(HF_INVALID_ARGUMENT),
        NAMED(HF_INVALID_HANDLE),
        NAMED(HF_INVALID_JSON),
        NAMED(HF_INVALID_ENTITY),
        NAMED(HF_INVALID_ID),
        NAMED(HF_INVALID_NAME),
        NAMED(HF_INVALID_OPTION),
        NAMED(HF_INVALID_QUERY),
        NAMED(HF_INVALID_URL),
        NAMED(HF_INVALID_STATE),
        NAMED(HF_UNSUPPORTED),
        NAMED(HF_VERSION_UNSUPPORTED),
        NAMED(HF_NOT_FOUND),
        NAMED(HF_EXISTS),
        NAMED(HF_VERSION_MISMATCH),
        NAMED(HF_KEY_REUSED),
        NAMED(HF_CORRUPT),
        NAMED(HF_UNIQUE_VIOLATION),
        NAMED(HF_CONFLICT),
        NAMED(HF_BUSY),
        NAMED(HF_TIMEOUT),
        NAMED(HF_CANCELLED),
        NAMED(HF_WOULD_DEADLOCK),
        NAMED(HF_CLOSED),
        NAMED(HF_FORKED),
        NAMED(HF_HISTORY_LOST),
        NAMED(HF_CANNOT_OPEN),
        NAMED(HF_NOT_A_STORE),
        NAMED(HF_FORMAT_TOO_NEW),
        NAMED(HF_READ_ONLY),
        NAMED(HF_FULL),
        NAMED(HF_IO),
        NAMED(HF_NO_MEMORY),
        NAMED(HF_UNSAFE_LOCATION),
        NAMED(HF_SCHEMA_TOO_NEW),
        NAMED(HF_CURSOR_LOST),
        NAMED(HF_TRANSACTION_ACTIVE),
        NAMED(HF_TRANSACTION_NOT_ACTIVE),
        NAMED(HF_WRONG_DESCRIPTOR),
        NAMED(HF_CYCLE),
        NAMED(HF_REENTRANT),
        NAMED(HF_REFUSED),
        NAMED(HF_HOST_ERROR),
        NAMED(HF_INTERNAL),
    };
#undef NAMED
    size_t named = 0;
    for (int number = -1; number < 200; number++) {
        const char *expected = "HF_UNKNOWN";
        for (size_t i = 0; i < COUNT_OF(all); i++) {
            if ((int)all[i].status == number) {
                expected = all[i].name;
                named++;
            }
        }
        assert_string_equal(hf_status_name((hf_status)number), expected);
    }
    assert_int_equal(named, COUNT_OF(all));
}

static void freeing_nothing_does_nothing(fixture *f) {
    (void)f;
    hf_buffer buffer = HF_BUFFER_INIT;
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_buffer_free(NULL), hf_buffer_free(&buffer), hf_buffer_free(&buffer);
    hf_entity_free(NULL), hf_entity_free(&entity), hf_entity_free(&entity);
    hf_entity_list_free(NULL), hf_entity_list_free(&list), hf_entity_list_free(&list);
    hf_events_free(NULL, 0);
    hf_store_free(NULL);
    hf_repository_free(NULL);
    hf_transaction_free(NULL);
    hf_error_free(NULL);
}

typedef struct diary {
    atomic_int entries;
    atomic_int malformed;
    atomic_int freed;
} diary;

static void write_diary(hf_log_level level, const char *message, const char *fields, void *user_data) {
    diary *d = user_data;
    json_t *parsed = json_loads(fields, 0, NULL);
    bool well_formed =
        level >= HF_LOG_INFO && level <= HF_LOG_ERROR && message[0] != '\0' && json_is_object(parsed);
    json_decref(parsed);
    atomic_fetch_add(well_formed ? &d->entries : &d->malformed, 1);
}

static void free_diary(void *user_data) { atomic_fetch_add(&((diary *)user_data)->freed, 1); }

static void the_log_is_told_of_an_open_and_gives_its_user_data_back_once(fixture *f) {
    diary first = {0}, second = {0};
    expect_ok(hf_log_set_callback, write_diary, &first, free_diary);
    hf_store_free(open_store(f, NULL));
    assert_true(atomic_load(&first.entries) > 0);
    assert_int_equal(atomic_load(&first.freed), 0);

    expect_ok(hf_log_set_callback, write_diary, &second, free_diary);
    assert_int_equal(atomic_load(&first.freed), 1);
    int before = atomic_load(&first.entries);
    hf_store_free(open_store(f, NULL));
    assert_int_equal(atomic_load(&first.entries), before);
    assert_true(atomic_load(&second.entries) > 0);

    expect_ok(hf_log_set_callback, NULL, NULL, NULL);
    assert_int_equal(atomic_load(&first.freed), 1);
    assert_int_equal(atomic_load(&second.freed), 1);
    assert_int_equal(atomic_load(&first.malformed) + atomic_load(&second.malformed), 0);
}

static void silence_itself(hf_log_level level, const char *message, const char *fields, void *user_data) {
    (void)level, (void)message, (void)fields;
    atomic_fetch_add(&((diary *)user_data)->entries, 1);
    (void)!hf_log_set_callback(NULL, NULL, NULL, NULL);
}

static void the_log_callback_may_replace_itself(fixture *f) {
    diary d = {0};
    expect_ok(hf_log_set_callback, silence_itself, &d, free_diary);
    hf_store_free(open_store(f, NULL));
    hf_store_free(open_store(f, NULL));
    assert_int_equal(atomic_load(&d.entries), 1);
    assert_int_equal(atomic_load(&d.freed), 1);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(the_version_of_these_headers_and_older_ones_can_be_selected),
        ONCE(a_newer_version_is_refused_and_both_numbers_are_told),
        ONCE(a_version_below_one_is_an_invalid_argument),
        ONCE(the_library_has_the_version_that_was_built),
        ONCE(every_documented_feature_is_available_and_others_are_not),
        ONCE(every_status_has_its_own_name),
        ONCE(freeing_nothing_does_nothing),
        EACH_ENGINE(the_log_is_told_of_an_open_and_gives_its_user_data_back_once),
        EACH_ENGINE(the_log_callback_may_replace_itself),
    };
    return run_scenarios("version", scenarios, COUNT_OF(scenarios));
}
