/* Options are stricter than data: an unknown name, a wrong type and a value out of range are refused by
 * name, because a typo must not be silent. */
#include "support.h"

/* One call for each place that takes options. */
typedef hf_status (*options_call)(hf_store *store, hf_repository *things, const char *options,
                                  hf_error **out_error);

static hf_status open_with(hf_store *store, hf_repository *things, const char *options,
                           hf_error **out_error) {
    (void)store, (void)things;
    hf_store *other = NULL;
    hf_status status = hf_store_open("memory:", options, &other, out_error);
    hf_store_free(other);
    return status;
}

static hf_status open_repository_with(hf_store *store, hf_repository *things, const char *options,
                                      hf_error **out_error) {
    (void)things;
    hf_repository *other = NULL;
    hf_status status = hf_repository_open(store, "others", options, &other, out_error);
    hf_repository_free(other);
    return status;
}

/* Options of the cache, within those of a repository. */
static hf_status cache_with(hf_store *store, hf_repository *repository, const char *options,
                            hf_error **out_error) {
    char whole[256];
    snprintf(whole, sizeof whole, "{\"cache\":%s}", options);
    return open_repository_with(store, repository, whole, out_error);
}

static hf_status begin_with(hf_store *store, hf_repository *things, const char *options,
                            hf_error **out_error) {
    (void)things;
    hf_transaction *transaction = NULL;
    hf_status status = hf_transaction_begin(store, options, &transaction, out_error);
    hf_transaction_free(transaction);
    return status;
}

static hf_status do_nothing(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)transaction, (void)user_data;
    return HF_OK;
}

static hf_status transact_with(hf_store *store, hf_repository *things, const char *options,
                               hf_error **out_error) {
    (void)things;
    return hf_store_transact(store, do_nothing, NULL, options, NULL, out_error);
}

static hf_status find_with(hf_store *store, hf_repository *things, const char *options,
                           hf_error **out_error) {
    (void)store;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_repository_find(things, NULL, NULL, 0, options, &list, out_error);
    hf_entity_list_free(&list);
    return status;
}

static const struct {
    const char *name;
    options_call call;
} places[] = {
    {"store", open_with},        {"repository", open_repository_with},
    {"transaction", begin_with}, {"transact", transact_with},
    {"find", find_with},
};

static void malformed_options_are_no_json_everywhere(room r) {
    static const char *const malformed[] = {"{",          "{\"create\":}",
                                            "}",          "{} {}",
                                            "{\"a\":1,}", "{\"\xff\":1}",
                                            "{'a':1}",    "{\"a\":01}",
                                            "nul",        "{\"limit\":1,\"limit\":2}"};
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        for (size_t m = 0; m < COUNT_OF(malformed); m++) {
            expect(HF_INVALID_JSON, places[p].call, r.store, r.things, malformed[m]);
        }
    }
}

static void options_that_are_no_object_are_refused_everywhere(room r) {
    static const char *const others[] = {"[]", "1", "null", "\"create\"", "true"};
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        for (size_t o = 0; o < COUNT_OF(others); o++) {
            expect(HF_INVALID_OPTION, places[p].call, r.store, r.things, others[o]);
        }
        expect_ok(places[p].call, r.store, r.things, NULL);
        expect_ok(places[p].call, r.store, r.things, " { } ");
    }
}

static void the_nearest_name_is_told_for_an_unknown_one(room r) {
    static const struct {
        options_call call;
        const char *options, *option, *nearest;
    } typos[] = {
        {cache_with, "{\"max_entrys\":1}", "\"max_entrys\"", "\"max_entries\""},
        {open_with, "{\"durablity\":\"full\"}", "\"durablity\"", "\"durability\""},
        {open_with, "{\"max_inflight\":7}", "\"max_inflight\"", "\"max_in_flight\""},
        {open_repository_with, "{\"kye\":\"id\"}", "\"kye\"", "\"key\""},
        {begin_with, "{\"isolaton\":\"snapshot\"}", "\"isolaton\"", "\"isolation\""},
        {begin_with, "{\"timeout_m\":1}", "\"timeout_m\"", "\"timeout_ms\""},
        {transact_with, "{\"max_attemps\":3}", "\"max_attemps\"", "\"max_attempts\""},
        {find_with, "{\"limits\":3}", "\"limits\"", "\"limit\""},
        {find_with, "{\"Skip\":3}", "\"Skip\"", "\"skip\""},
    };
    for (size_t i = 0; i < COUNT_OF(typos); i++) {
        expect_detail(error_of(HF_INVALID_OPTION, typos[i].call, r.store, r.things, typos[i].options),
                      "option", typos[i].option);
        expect_detail(error_of(HF_INVALID_OPTION, typos[i].call, r.store, r.things, typos[i].options),
                      "nearest", typos[i].nearest);
    }
    hf_error *error = error_of(HF_INVALID_OPTION, open_with, r.store, r.things, "{\"colour\":\"green\"}");
    assert_null(strstr(hf_error_detail(error, NULL), "nearest"));
    assert_non_null(strstr(hf_error_message(error), "colour"));
    hf_error_free(error);
}

static void wrong_types_and_values_out_of_range_are_refused_by_name(fixture *f) {
    static const struct {
        options_call call;
        const char *option;
        const char *values[6];
    } wrong[] = {
        {open_with, "create", {"1", "\"true\"", "null"}},
        {open_with, "read_only", {"0", "[]"}},
        {open_with, "durability", {"\"none\"", "true", "\"FULL\"", "\"\""}},
        {open_with, "delivery", {"\"poll\"", "1"}},
        {open_with, "max_in_flight", {"0", "-1", "1000001", "1.5", "\"7\"", "null"}},
        {open_with, "max_entity_bytes", {"63", "268435457", "-9223372036854775808"}},
        {open_with, "max_depth", {"0", "201"}},
        {open_with, "cache_bytes", {"-1", "1099511627777"}},
        {open_with, "max_snapshots", {"0", "65"}},
        {open_with, "snapshot_max_age_ms", {"99", "86400001"}},
        {open_with, "wal_limit_bytes", {"1048575", "1099511627777"}},
        {open_with, "lock_timeout_ms", {"-1", "86400001"}},
        {open_with, "max_connections", {"2", "1001"}},
        {open_with, "store", {"1", "null", "true"}},
        {open_with, "idempotency_max_age_ms", {"-1", "9007199254740993"}},
        {open_with, "idempotency_max_count", {"-1", "2147483649"}},
        {open_with, "log_retention", {"999", "2147483649"}},
        {open_with, "log_max_age_ms", {"-1", "9007199254740993"}},
        {open_with, "log_max_bytes", {"1048575", "1099511627777"}},
        {open_with, "slow_commit_ms", {"0", "86400001"}},
        {open_with, "allow_unsafe_location", {"\"yes\""}},
        {open_with, "mode", {"\"0444\"", "\"1777\"", "\"+660\"", "\"rw-r-----\"", "432", "null"}},
        {open_repository_with, "key", {"1", "\"\"", "null"}},
        {open_repository_with, "create", {"\"no\""}},
        {open_repository_with, "cache", {"1", "null", "[]", "\"lru\""}},
        {cache_with, "strategy", {"\"LRU\"", "\"mru\"", "1"}},
        {cache_with, "time_to_live_ms", {"-1", "9223372036855", "\"1\"", "0.5"}},
        {cache_with, "max_entries", {"-1", "2147483649", "null"}},
        {cache_with, "max_bytes", {"-1", "1099511627777"}},
        {begin_with, "isolation", {"\"serialisable\"", "1"}},
        {begin_with, "durability", {"\"some\"", "0"}},
        {begin_with, "timeout_ms", {"-1", "86400001", "1e3", "\"1\""}},
        {begin_with, "when_full", {"\"no\"", "false"}},
        {begin_with, "idempotency_key", {"\"\"", "7"}},
        {transact_with, "max_attempts", {"0", "1001", "2.0"}},
        {find_with, "limit", {"-1", "9007199254740993", "true"}},
        {find_with, "skip", {"-1", "\"1\""}},
    };
    hf_store *store = open_store(f, NULL);
    hf_repository *things = open_repository(store, "things");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char quoted[64], options[160];
        snprintf(quoted, sizeof quoted, "\"%s\"", wrong[i].option);
        for (size_t v = 0; v < COUNT_OF(wrong[i].values) && wrong[i].values[v] != NULL; v++) {
            snprintf(options, sizeof options, "{%s:%s}", quoted, wrong[i].values[v]);
            expect_detail(error_of(HF_INVALID_OPTION, wrong[i].call, store, things, options), "option",
                          quoted);
        }
    }
    hf_repository_free(things);
    hf_store_free(store);
}

static void the_bounds_of_each_range_are_within_it(fixture *f) {
    static const char *const good[] = {
        "{\"max_in_flight\":1}",
        "{\"max_in_flight\":1000000}",
        "{\"max_entity_bytes\":64}",
        "{\"max_entity_bytes\":268435456}",
        "{\"max_depth\":1}",
        "{\"max_depth\":200}",
        "{\"cache_bytes\":0}",
        "{\"cache_bytes\":1099511627776}",
        "{\"max_snapshots\":1}",
        "{\"max_snapshots\":64}",
        "{\"snapshot_max_age_ms\":100}",
        "{\"wal_limit_bytes\":1099511627776}",
        "{\"idempotency_max_age_ms\":0}",
        "{\"idempotency_max_age_ms\":9007199254740992}",
        "{\"idempotency_max_count\":0}",
        "{\"idempotency_max_count\":2147483648}",
        "{\"log_retention\":1000}",
        "{\"log_retention\":2147483648}",
        "{\"log_max_age_ms\":0}",
        "{\"log_max_age_ms\":9007199254740992}",
        "{\"log_max_bytes\":1048576}",
        "{\"log_max_bytes\":1099511627776}",
        "{\"slow_commit_ms\":1}",
        "{\"lock_timeout_ms\":0}",
        "{\"max_connections\":3}",
        "{\"max_connections\":1000}",
        "{\"durability\":\"relaxed\",\"delivery\":\"queue\",\"create\":true,\"read_only\":false}",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        hf_store_free(open_store(f, good[i]));
    }
}

static void an_idempotency_key_of_255_bytes_is_the_longest(fixture *f) {
    hf_store *store = open_store(f, NULL);
    char options[320];
    for (int length = 255; length <= 256; length++) {
        int at = snprintf(options, sizeof options, "{\"idempotency_key\":\"");
        memset(options + at, 'k', (size_t)length);
        strcpy(options + at + length, "\"}");
        expect(length == 255 ? HF_OK : HF_INVALID_OPTION, begin_with, store, NULL, options);
    }
    /* 127 or 128 letters of two bytes each. */
    for (int letters = 127; letters <= 128; letters++) {
        int at = snprintf(options, sizeof options, "{\"idempotency_key\":\"");
        for (int i = 0; i < letters; i++)
            at += snprintf(options + at, sizeof options - (size_t)at, "é");
        strcpy(options + at, "\"}");
        expect(letters == 127 ? HF_OK : HF_INVALID_OPTION, begin_with, store, NULL, options);
    }
    hf_store_free(store);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(malformed_options_are_no_json_everywhere),
        ONCE(options_that_are_no_object_are_refused_everywhere),
        ONCE(the_nearest_name_is_told_for_an_unknown_one),
        ONCE(wrong_types_and_values_out_of_range_are_refused_by_name),
        EACH_ENGINE(the_bounds_of_each_range_are_within_it),
        ONCE(an_idempotency_key_of_255_bytes_is_the_longest),
    };
    return run_scenarios("options", scenarios, COUNT_OF(scenarios));
}
