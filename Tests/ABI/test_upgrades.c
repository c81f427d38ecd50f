/* The version of a program's schema, and the upgrades that lead to it. */
#include "support.h"

/* What the upgrades did, and at which one something goes wrong. */
typedef struct chain {
    int calls[4];
    hf_repository *things;
    int64_t fails_at;
    int64_t conflicts_at;
    int conflicts; /* how often */
} chain;

/* 1 -> 2 renames, 2 -> 3 counts: each needs what the one before it left. */
static hf_status upgrade(hf_transaction *t, int64_t from, int64_t to, void *user_data, hf_error **out_error) {
    (void)out_error;
    chain *c = user_data;
    assert_int_equal(to, from + 1);
    c->calls[from]++;
    if (from == 1)
        expect_ok(hf_repository_modify_all, c->things, t, NULL, 0, "{\"$rename\":{\"name\":\"title\"}}",
                  HF_NTS, NULL, NULL, NULL);
    if (from == 2) {
        uint64_t titled = 0;
        expect_ok(hf_repository_count, c->things, t, "{\"title\":{\"$exists\":true}}", HF_NTS, NULL, &titled);
        char json[64];
        snprintf(json, sizeof json, "{\"id\":\"count\",\"n\":%d}", (int)titled);
        save(c->things, t, json);
    }
    if (c->conflicts_at == from && c->calls[from] <= c->conflicts)
        save(c->things, NULL, "{\"id\":\"late\",\"name\":\"x\",\"title\":\"x\"}");
    return c->fails_at == from ? HF_REFUSED : HF_OK;
}

static void expect_version(hf_store *store, int64_t expected) {
    int64_t version = -2;
    expect_ok(hf_store_schema_version, store, &version);
    assert_int_equal(version, expected);
}

static const char *no_backup = "{\"backup\":false}";

static room old_room(fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"name\":\"A\"}");
    save(r.things, NULL, "{\"id\":\"b\",\"name\":\"B\"}");
    return r;
}

static void a_new_store_has_the_newest_version_without_upgrades(fixture *f) {
    hf_store *store = open_store(f, NULL);
    chain c = {.fails_at = -1, .conflicts_at = -1};
    expect_version(store, -1);
    expect_ok(hf_store_upgrade, store, 3, upgrade, NULL, NULL, &c, NULL);
    expect_version(store, 3);
    assert_int_equal(c.calls[0] + c.calls[1] + c.calls[2], 0);
    json_t *described = describe(store);
    assert_int_equal(json_array_size(json_object_get(described, "repositories")), 0);
    json_decref(described);
    hf_store_free(store);
}

static void upgrades_run_one_after_the_other_and_once(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = -1, .conflicts_at = -1};
    hf_buffer report = HF_BUFFER_INIT;
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, &report);
    assert_string_equal(report.data, "{\"from\":0,\"to\":3,\"backup\":null}");
    hf_buffer_free(&report);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c.calls[i], 1);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"title\":\"A\"}");
    expect_entity(r.things, NULL, "count", "{\"id\":\"count\",\"n\":2}");
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    assert_int_equal(c.calls[2], 1);
    expect_ok(hf_store_upgrade, r.store, 3, NULL, no_backup, NULL, NULL, NULL);
    close_room(r);
}

static void an_upgrade_that_fails_is_done_again_as_a_whole(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = 2, .conflicts_at = -1};
    expect(HF_REFUSED, hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    expect_version(r.store, 2);
    expect_absent(r.things, NULL, "count");
    c.fails_at = -1;
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    expect_version(r.store, 3);
    assert_int_equal(c.calls[1], 1);
    assert_int_equal(c.calls[2], 2);
    close_room(r);
}

static void an_upgrade_that_meets_a_conflict_runs_again(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = -1, .conflicts_at = 2, .conflicts = 1};
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    assert_int_equal(c.calls[2], 2);
    assert_int_equal(integer_in(r.things, NULL, "count", "n"), 3);
    close_room(r);
}

static void an_upgrade_that_always_meets_a_conflict_says_whom_to_end(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = -1, .conflicts_at = 2, .conflicts = 1000};
    hf_error *error = error_of(HF_CONFLICT, hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    assert_non_null(strstr(hf_error_message(error), "the upgrade to version 3 met a conflict"));
    assert_non_null(strstr(hf_error_message(error), "end the programs that write"));
    expect_detail(error, "attempts", "100");
    assert_int_equal(c.calls[2], 100);
    expect_version(r.store, 2);
    close_room(r);
}

static void a_program_that_is_too_old_is_told(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = -1, .conflicts_at = -1};
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    hf_error *error =
        error_of(HF_SCHEMA_TOO_NEW, hf_store_upgrade, r.store, 2, upgrade, no_backup, NULL, &c, NULL);
    expect_detail(error, "version", "3");
    expect(HF_INVALID_ARGUMENT, hf_store_upgrade, r.store, 4, NULL, no_backup, NULL, NULL, NULL);
    expect(HF_INVALID_ARGUMENT, hf_store_upgrade, r.store, -1, upgrade, no_backup, NULL, &c, NULL);
    expect_version(r.store, 3);
    close_room(r);
}

static void the_store_is_backed_up_before_its_first_upgrade(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = 2, .conflicts_at = -1};
    hf_buffer buffer = HF_BUFFER_INIT;
    expect(HF_REFUSED, hf_store_upgrade, r.store, 3, upgrade, NULL, NULL, &c, NULL);
    c.fails_at = -1;
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, NULL, NULL, &c, &buffer);
    json_t *report = json_loads(buffer.data, 0, NULL);
    const char *second = json_string_value(json_object_get(report, "backup"));
    assert_non_null(strstr(second, "-v2.backup"));
    char first[256];
    snprintf(first, sizeof first, "%.*s-v0.backup", (int)(strstr(second, "-v2.backup") - second), second);
    hf_store *old = open_store_at(first, NULL);
    hf_repository *things = open_repository(old, "things");
    expect_entity(things, NULL, "a", "{\"id\":\"a\",\"name\":\"A\"}");
    expect_version(old, -1);
    hf_repository_free(things);
    hf_store_free(old);
    json_decref(report);
    hf_buffer_free(&buffer);
    close_room(r);
}

static void the_version_is_there_when_the_store_is_opened_again(fixture *f) {
    room r = old_room(f);
    chain c = {.things = r.things, .fails_at = -1, .conflicts_at = -1};
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, no_backup, NULL, &c, NULL);
    close_room(r);
    r = open_room(f, "{\"read_only\":true}");
    expect_version(r.store, 3);
    expect_ok(hf_store_upgrade, r.store, 3, upgrade, NULL, NULL, &c, NULL);
    expect(HF_READ_ONLY, hf_store_upgrade, r.store, 4, upgrade, NULL, NULL, &c, NULL);
    close_room(r);
}

static hf_status do_nothing(hf_transaction *t, int64_t from, int64_t to, void *user_data,
                            hf_error **out_error) {
    (void)out_error;
    (void)t, (void)from, (void)to, (void)user_data;
    return HF_OK;
}

typedef struct program {
    hf_store *store;
    int64_t version;
    pthread_barrier_t *start;
    hf_status status;
} program;

static void *run_program(void *opaque) {
    program *p = opaque;
    pthread_barrier_wait(p->start);
    p->status = hf_store_upgrade(p->store, p->version, do_nothing, no_backup, NULL, NULL, NULL, NULL);
    return NULL;
}

static void an_older_program_does_not_overwrite_the_version_of_a_store_that_is_new_to_both(fixture *f) {
    (void)f;
    for (int round = 0; round < 1000; round++) {
        hf_store *store = open_store_at("memory:", NULL);
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, 2);
        program older = {store, 2, &start, HF_OK}, newer = {store, 3, &start, HF_OK};
        pthread_t threads[2];
        assert_int_equal(pthread_create(&threads[0], NULL, run_program, &older), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, run_program, &newer), 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        assert_int_equal(newer.status, HF_OK);
        assert_true(older.status == HF_OK || older.status == HF_SCHEMA_TOO_NEW);
        expect_version(store, 3);
        pthread_barrier_destroy(&start);
        hf_store_free(store);
    }
}

/* A program that another one overtakes in its first step. */
typedef struct overtaken {
    room room;
    int calls;
} overtaken;

static hf_status count_step(hf_transaction *t, int64_t from, int64_t to, void *user_data,
                            hf_error **out_error) {
    (void)out_error;
    room *r = user_data;
    (void)from, (void)to;
    return hf_repository_modify(r->things, t, "steps", HF_NTS, "{\"$inc\":{\"n\":1}}", HF_NTS, "{\"n\":0}",
                                HF_NTS, 0, NULL, NULL);
}

static void *overtake(void *opaque) {
    room *r = opaque;
    expect_ok(hf_store_upgrade, r->store, 2, count_step, no_backup, NULL, r, NULL);
    return NULL;
}

static hf_status be_overtaken(hf_transaction *t, int64_t from, int64_t to, void *user_data,
                              hf_error **out_error) {
    overtaken *o = user_data;
    if (o->calls++ == 0) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, overtake, &o->room), 0);
        pthread_join(thread, NULL);
    }
    return count_step(t, from, to, &o->room, out_error);
}

static void a_step_that_another_program_has_carried_out_meanwhile_is_not_carried_out_again(fixture *f) {
    overtaken o = {old_room(f), 0};
    expect_ok(hf_store_upgrade, o.room.store, 1, count_step, no_backup, NULL, &o.room, NULL);
    int64_t before = integer_in(o.room.things, NULL, "steps", "n");
    expect_ok(hf_store_upgrade, o.room.store, 2, be_overtaken, no_backup, NULL, &o, NULL);
    assert_int_equal(o.calls, 1);
    assert_int_equal(integer_in(o.room.things, NULL, "steps", "n"), before + 1);
    expect_version(o.room.store, 2);
    close_room(o.room);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_new_store_has_the_newest_version_without_upgrades),
        EACH_ENGINE(upgrades_run_one_after_the_other_and_once),
        EACH_ENGINE(an_upgrade_that_fails_is_done_again_as_a_whole),
        EACH_ENGINE(an_upgrade_that_meets_a_conflict_runs_again),
        EACH_ENGINE(an_upgrade_that_always_meets_a_conflict_says_whom_to_end),
        EACH_ENGINE(a_program_that_is_too_old_is_told),
        EACH_ENGINE(a_step_that_another_program_has_carried_out_meanwhile_is_not_carried_out_again),
        ONCE(an_older_program_does_not_overwrite_the_version_of_a_store_that_is_new_to_both),
        SQLITE_ONLY(the_store_is_backed_up_before_its_first_upgrade),
        SQLITE_ONLY(the_version_is_there_when_the_store_is_opened_again),
    };
    return run_scenarios("upgrades", scenarios, COUNT_OF(scenarios));
}
