/* Live queries: a snapshot, then how the result differs, in positions. */
#include "listener.h"
#include "shelf.h"

static void remove_if_there(hf_repository *things, hf_transaction *t, const char *id) {
    hf_status status = hf_repository_delete(things, t, id, HF_NTS, 0, NULL);
    assert_true(status == HF_OK || status == HF_NOT_FOUND);
}

static void the_result_comes_first_then_each_commit_that_changes_it(room r, listener *l) {
    save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":5}");
    observe_query(l, r.things, "{\"n\":{\"$gt\":1}}", "{\"sort\":{\"n\":1}}");
    expect_event(l, 0, "{\"snapshot\":[{\"id\":\"b\",\"n\":2},{\"id\":\"a\",\"n\":5}]}");
    save(r.things, NULL, "{\"id\":\"c\",\"n\":3}");
    expect_event(
        l, 1,
        "{\"merged\":1,\"removed\":[],\"inserted\":[{\"position\":1,\"id\":\"c\",\"entity\":{\"id\":\"c\","
        "\"n\":3}}],\"moved\":[],\"changed\":[]}");
    /* It moves in the order, */
    save(r.things, NULL, "{\"id\":\"b\",\"n\":9}");
    expect_event(
        l, 2,
        "{\"merged\":1,\"removed\":[],\"inserted\":[],\"moved\":[{\"from\":0,\"to\":2,\"id\":\"b\"}],"
        "\"changed\":[{\"position\":2,\"id\":\"b\",\"entity\":{\"id\":\"b\",\"n\":9}}]}");
    /* leaves the filter, */
    save(r.things, NULL, "{\"id\":\"c\",\"n\":0}");
    expect_event(l, 3,
                 "{\"merged\":1,\"removed\":[{\"position\":0,\"id\":\"c\"}],\"inserted\":[],\"moved\":[],"
                 "\"changed\":[]}");
    /* and enters it again, changed where it stays. */
    save(r.things, NULL, "{\"id\":\"c\",\"n\":6}");
    wait_for_events(l, 5);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":5,\"x\":1}");
    expect_event(l, 5,
                 "{\"merged\":1,\"removed\":[],\"inserted\":[],\"moved\":[],"
                 "\"changed\":[{\"position\":0,\"id\":\"a\",\"entity\":{\"id\":\"a\",\"n\":5,\"x\":1}}]}");
    expect_followed(l, r.things, "{\"n\":{\"$gt\":1}}", "{\"sort\":{\"n\":1}}");
}

static void deleting_three_of_six_in_one_commit_is_one_difference(room r, listener *l) {
    for (int i = 0; i < 6; i++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":\"r%d\"}", i);
        save(r.things, NULL, json);
    }
    observe_query(l, r.things, NULL, NULL);
    wait_for_events(l, 1);
    hf_transaction *t = begin(r.store, NULL);
    expect_ok(hf_repository_delete, r.things, t, "r1", HF_NTS, 0);
    expect_ok(hf_repository_delete, r.things, t, "r2", HF_NTS, 0);
    expect_ok(hf_repository_delete, r.things, t, "r5", HF_NTS, 0);
    commit_quietly(t);
    expect_event(l, 1,
                 "{\"merged\":1,\"removed\":[{\"position\":1,\"id\":\"r1\"},{\"position\":2,\"id\":\"r2\"},"
                 "{\"position\":5,\"id\":\"r5\"}],\"inserted\":[],\"moved\":[],\"changed\":[]}");
    save(r.things, NULL, "{\"id\":\"r2\"}");
    wait_for_events(l, 3);
    expect_followed(l, r.things, NULL, NULL);
    assert_int_equal(event_count(l), 3);
}

static void what_changes_nothing_that_it_shows_tells_nothing(room r) {
    hf_repository *others = open_repository(r.store, "others");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1,\"note\":\"x\"}");
    listener l;
    begin_listening(&l);
    observe_query(&l, r.things, "{\"n\":1}", "{\"fields\":{\"n\":1},\"limit\":1}");
    wait_for_events(&l, 1);
    save(others, NULL, "{\"id\":\"a\",\"n\":1}");
    save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1,\"note\":\"y\"}");
    /* Behind the limit. */
    save(r.things, NULL, "{\"id\":\"c\",\"n\":1}");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"0\",\"n\":1}");
    expect_ok(hf_transaction_rollback, t);
    hf_transaction_free(t);
    save(r.things, NULL, "{\"id\":\"0\",\"n\":1}");
    /* Those that change nothing may be merged with it. */
    wait_for_events(&l, 2);
    assert_int_equal(json_object_del(json_array_get(l.events, 1), "merged"), 0);
    expect_event(&l, 1,
                 "{\"removed\":[{\"position\":0,\"id\":\"a\"}],\"inserted\":[{\"position\":0,\"id\":"
                 "\"0\",\"entity\":{\"id\":\"0\",\"n\":1}}],\"moved\":[],\"changed\":[]}");
    assert_int_equal(event_count(&l), 2);
    end_listening(&l);
    hf_repository_free(others);
}

static void a_slow_consumer_is_told_of_several_commits_at_once(room r, listener *l) {
    observe_query(l, r.things, NULL, NULL);
    wait_for_events(l, 1);
    hold(l);
    for (int i = 0; i < 100; i++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":\"r%d\"}", i % 30);
        save(r.things, NULL, json);
        if (i % 3 == 2) {
            remove_if_there(r.things, NULL, "r0");
        }
    }
    hold_no_more(l);
    expect_followed(l, r.things, NULL, NULL);
    assert_true(event_count(l) <= 25);
    json_int_t most = 0;
    size_t i;
    json_t *event;
    pthread_mutex_lock(&l->lock);
    json_array_foreach(l->events, i, event) {
        json_int_t merged = json_integer_value(json_object_get(event, "merged"));
        if (merged > most)
            most = merged;
    }
    pthread_mutex_unlock(&l->lock);
    assert_true(most > 10);
}

/* --- Random commits against random queries ---------------------------------------------------------- */

static const char *filters[] = {
    NULL,
    "{\"g\":1}",
    "{\"g\":{\"$in\":[0,2]}}",
    "{\"n\":{\"$gte\":3,\"$lt\":8}}",
    "{\"tags\":\"x\"}",
    "{\"$or\":[{\"g\":0},{\"n\":{\"$gt\":6}}]}",
    "{\"name\":{\"$regex\":\"^a\"}}",
    "{\"id\":\"e3\"}",
    "{\"g\":{\"$ne\":1},\"n\":{\"$gt\":2}}",
    "{\"g\":null}",
    "{\"tags\":{\"$elemMatch\":{\"$in\":[\"y\"]}}}",
};
static const char *options[] = {
    "{}",
    "{\"sort\":{\"n\":1}}",
    "{\"sort\":{\"n\":-1,\"g\":1}}",
    "{\"sort\":{\"n\":1},\"limit\":3}",
    "{\"sort\":{\"name\":-1},\"skip\":2,\"limit\":4}",
    "{\"sort\":{\"tags\":1},\"fields\":{\"tags\":1}}",
    "{\"sort\":{\"g\":-1},\"limit\":20}",
    "{\"sort\":{\"id\":1},\"skip\":1}",
};
enum { QUERIES = COUNT_OF(filters) * COUNT_OF(options) };

static void change_something(hf_repository *things, hf_transaction *t, unsigned *seed, int ids) {
    static const char *names[] = {"ab", "b", "\\u00e4", "aa"};
    static const char *tags[] = {"\"x\"", "[\"x\",\"y\"]", "[]", "\"y\"", "3"};
    char id[16], json[128];
    snprintf(id, sizeof id, "e%d", rand_r(seed) % ids);
    if (rand_r(seed) % 4 == 0) {
        remove_if_there(things, t, id);
        return;
    }
    int n = snprintf(json, sizeof json, "{\"id\":\"%s\",\"n\":%d,\"name\":\"%s\",\"tags\":%s", id,
                     rand_r(seed) % 10, names[rand_r(seed) % 4], tags[rand_r(seed) % 5]);
    snprintf(json + n, sizeof json - (size_t)n, rand_r(seed) % 4 ? ",\"g\":%d}" : "}", rand_r(seed) % 3);
    save(things, t, json);
}

static void following_gives_what_the_query_finds_anew(room r) {
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    listener *l = calloc(QUERIES, sizeof *l);
    for (int i = 0; i < 30; i++)
        change_something(r.things, NULL, &seed, 60);
    for (size_t i = 0; i < QUERIES; i++) {
        begin_listening(&l[i]);
        observe_query(&l[i], r.things, filters[i / COUNT_OF(options)], options[i % COUNT_OF(options)]);
        change_something(r.things, NULL, &seed, 60);
    }
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 12; i++) {
            hf_transaction *t = begin(r.store, "{\"durability\":\"relaxed\"}");
            for (int k = rand_r(&seed) % 5; k >= 0; k--)
                change_something(r.things, t, &seed, 60);
            commit_quietly(t);
        }
        for (size_t i = 0; i < QUERIES; i++)
            expect_followed(&l[i], r.things, filters[i / COUNT_OF(options)], options[i % COUNT_OF(options)]);
    }
    for (size_t i = 0; i < QUERIES; i++)
        end_listening(&l[i]);
    free(l);
}

/* Rows come and go at the limit until what is kept behind it is used up. */
static void at_the_edge_of_a_limit_it_reads_on_when_it_must(room r) {
    save_in_one(r, 200, "{\"id\":\"e%03d\",\"n\":%d}", 200);
    listener l;
    begin_listening(&l);
    observe_query(&l, r.things, NULL, "{\"sort\":{\"n\":1},\"skip\":5,\"limit\":10}");
    for (int i = 0; i < 150; i++) {
        char id[16];
        snprintf(id, sizeof id, "e%03d", i);
        expect_ok(hf_repository_delete, r.things, NULL, id, HF_NTS, 0);
    }
    expect_followed(&l, r.things, NULL, "{\"sort\":{\"n\":1},\"skip\":5,\"limit\":10}");
    for (int i = 150; i > 100; i--) {
        char json[48];
        snprintf(json, sizeof json, "{\"id\":\"f%03d\",\"n\":%d}", i, i);
        save(r.things, NULL, json);
    }
    expect_followed(&l, r.things, NULL, "{\"sort\":{\"n\":1},\"skip\":5,\"limit\":10}");
    end_listening(&l);
}

static hf_status count_listings(shelf *s, const char *function, hf_error **out_error) {
    (void)out_error;
    if (strstr(function, "fetch_all") || strstr(function, "find"))
        atomic_fetch_add((_Atomic size_t *)s->hook, 1);
    return HF_OK;
}

static void moves_at_the_edge_of_a_limit_ask_the_storage_nothing(fixture *f) {
    (void)f;
    static const char *ordered = "{\"sort\":{\"n\":1},\"limit\":3}";
    shelf s;
    _Atomic size_t listings = 0;
    begin_shelf(&s);
    room r = open_shelf(&s, CAN_APPLY, NULL);
    for (int i = 0; i < 30; i++) {
        char json[48];
        snprintf(json, sizeof json, "{\"id\":\"b%02d\",\"n\":%d}", i, i);
        save(r.things, NULL, json);
    }
    listener l;
    begin_listening(&l);
    observe_query(&l, r.things, NULL, ordered);
    wait_for_events(&l, 1);
    s.hook = &listings;
    s.before = count_listings;
    save(r.things, NULL, "{\"id\":\"b01\",\"n\":99}");
    save(r.things, NULL, "{\"id\":\"b20\",\"n\":0.5}");
    expect_ok(hf_repository_delete, r.things, NULL, "b00", HF_NTS, 0);
    save(r.things, NULL, "{\"id\":\"b01\",\"n\":1}");
    wait_for_events(&l, 5);
    assert_int_equal(atomic_load(&listings), 0);
    expect_followed(&l, r.things, NULL, ordered);
    assert_true(atomic_load(&listings) > 0);
    s.before = NULL;
    end_listening(&l);
    close_room(r);
    end_shelf(&s);
}

static void each_of_many_queries_with_ranges_of_their_own_hears_of_what_comes_into_its_range(room r) {
    enum { RANGES = 9 };
    listener listeners[RANGES];
    char text[64];
    for (int i = 0; i < RANGES; i++) {
        begin_listening(&listeners[i]);
        snprintf(text, sizeof text, "{\"n\":{\"$lt\":%d}}", 10 * i + 10);
        observe_query(&listeners[i], r.things, text, NULL);
    }
    for (int i = RANGES - 1; i >= 0; i--) {
        snprintf(text, sizeof text, "{\"id\":\"e%d\",\"n\":%d}", i, 10 * i + 5);
        save(r.things, NULL, text);
        for (int k = i; k < RANGES; k++)
            wait_for_events(&listeners[k], (size_t)(k - i + 2));
    }
    for (int i = 0; i < RANGES; i++)
        end_listening(&listeners[i]);
}

static void save_one_of_twenty(hf_repository *things, int number) {
    char json[64];
    snprintf(json, sizeof json, "{\"id\":\"e%d\",\"n\":%d}", number % 20, number);
    save(things, NULL, json);
}

static void what_is_committed_while_it_is_opened_is_not_missed(fixture *f) {
    room r = open_room(f, "{\"durability\":\"relaxed\"}");
    listener first, l;
    begin_listening(&first);
    observe(&first, r.store, NULL);
    for (int round = 0; round < 100; round++) {
        writer w;
        begin_writing(&w, r.things, save_one_of_twenty);
        sleep_milliseconds(2);
        begin_listening(&l);
        observe_query(&l, r.things, NULL, NULL);
        end_writing(&w);
        expect_followed(&l, r.things, NULL, NULL);
        end_listening(&l);
    }
    end_listening(&first);
    close_room(r);
}

static void a_live_query_pins_no_snapshot_of_the_past(room r, listener *l) {
    observe_query(l, r.things, NULL, NULL);
    for (int i = 0; i < 3; i++)
        save(r.things, NULL, i % 2 ? "{\"id\":\"a\"}" : "{\"id\":\"b\"}");
    expect_followed(l, r.things, NULL, NULL);
    json_t *description = describe(r.store), *one;
    size_t i;
    /* The newest may be kept for speed. */
    json_array_foreach(json_object_get(description, "open_snapshots"), i, one)
        assert_int_equal(json_integer_value(json_object_get(one, "sequence")),
                         json_integer_value(json_object_get(description, "sequence")));
    json_decref(description);
}

static void a_wrong_query_is_refused_at_once(room r, listener *l) {
    expect(HF_INVALID_QUERY, hf_stream_open_query, r.things, "{\"$nope\":1}", HF_NTS, NULL, hear, l, let_go,
           &l->stream);
    assert_int_equal(l->freed, 1);
    expect(HF_INVALID_OPTION, hf_stream_open_query, r.things, NULL, 0, "{\"sorted\":1}", hear, l, let_go,
           &l->stream);
    assert_int_equal(l->freed, 2);
    expect(HF_INVALID_ARGUMENT, hf_stream_open_query, r.things, NULL, 0, NULL, hear, l, let_go, NULL);
    assert_int_equal(l->freed, 3);
    assert_null(l->stream);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(the_result_comes_first_then_each_commit_that_changes_it),
        EACH_ENGINE(deleting_three_of_six_in_one_commit_is_one_difference),
        EACH_ENGINE(what_changes_nothing_that_it_shows_tells_nothing),
        EACH_ENGINE(a_slow_consumer_is_told_of_several_commits_at_once),
        EACH_ENGINE(following_gives_what_the_query_finds_anew),
        EACH_ENGINE(at_the_edge_of_a_limit_it_reads_on_when_it_must),
        ONCE(moves_at_the_edge_of_a_limit_ask_the_storage_nothing),
        EACH_ENGINE(a_live_query_pins_no_snapshot_of_the_past),
        ONCE(each_of_many_queries_with_ranges_of_their_own_hears_of_what_comes_into_its_range),
        EACH_ENGINE(what_is_committed_while_it_is_opened_is_not_missed),
        ONCE(a_wrong_query_is_refused_at_once),
    };
    return run_scenarios("live queries", scenarios, COUNT_OF(scenarios));
}
