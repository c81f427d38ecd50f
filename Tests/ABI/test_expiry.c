/* Entities that are deleted when their time has passed. */
#include "support.h"

/* A clock that goes as fast as the test wants. */
static uint64_t show(void *user_data) { return atomic_load((_Atomic uint64_t *)user_data); }

#define SECOND UINT64_C(1000000000)

static long long milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void save_seen(hf_repository *things, const char *id, long long seen) {
    char json[80];
    snprintf(json, sizeof json, "{\"id\":\"%s\",\"seen\":%lld}", id, seen);
    save(things, NULL, json);
}

static uint64_t count_of(hf_repository *things) {
    uint64_t count = 0;
    expect_ok(hf_repository_count, things, NULL, NULL, 0, NULL, &count);
    return count;
}

/* Waits until so many are left, at most for half a minute. */
static void wait_for(hf_repository *things, uint64_t count) {
    for (int i = 0; i < 12000 && count_of(things) != count; i++)
        sleep_milliseconds(10);
    assert_int_equal(count_of(things), count);
}

static const char *after_a_minute = "{\"fields\":{\"seen\":1},\"expire_after_ms\":60000}";

static void entities_go_when_their_time_has_passed(room r) {
    _Atomic uint64_t clock = 5 * SECOND;
    expect_ok(hf_store_set_clock, r.store, show, &clock, NULL);
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    long long now = milliseconds_now();
    save_seen(r.things, "old", now - 61000);
    save_seen(r.things, "young", now);
    save_seen(r.things, "future", now + 100000);
    save(r.things, NULL, "{\"id\":\"timeless\"}");
    save(r.things, NULL, "{\"id\":\"text\",\"seen\":\"1970-01-01\"}");
    save(r.things, NULL, "{\"id\":\"several\",\"seen\":[99999999999999,1000]}");
    wait_for(r.things, 4);
    expect_absent(r.things, NULL, "old");
    expect_absent(r.things, NULL, "several");
    atomic_fetch_add(&clock, 61 * SECOND);
    wait_for(r.things, 3);
    expect_absent(r.things, NULL, "young");
    atomic_fetch_add(&clock, 100 * SECOND);
    wait_for(r.things, 2);
    /* More than are deleted at once. */
    for (int i = 0; i < 1200; i++) {
        char id[16];
        snprintf(id, sizeof id, "o%d", i);
        save_seen(r.things, id, 1);
    }
    wait_for(r.things, 2);
    hf_buffer indexes = HF_BUFFER_INIT;
    expect_ok(hf_repository_indexes, r.things, &indexes);
    assert_non_null(strstr(indexes.data, "\"expire_after_ms\":60000"));
    hf_buffer_free(&indexes);
}

/* Lets nobody delete what is to be kept. */
static hf_status keep(hf_transaction *t, const char *id, size_t id_length, const char *entity, size_t length,
                      void *user_data, hf_error **error) {
    (void)t, (void)id_length, (void)length, (void)user_data, (void)error;
    return entity == NULL && strncmp(id, "keep", 4) == 0 ? HF_REFUSED : HF_OK;
}

static void one_that_may_not_be_deleted_keeps_no_other(room r) {
    hf_repository *others = open_repository(r.store, "others");
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    expect_ok(hf_repository_create_index, others, after_a_minute, NULL, NULL);
    hf_transaction *t = begin(r.store, NULL);
    /* More than are deleted at once, the kept ones before and among them. */
    for (int i = 0; i < 1200; i++) {
        char json[80];
        snprintf(json, sizeof json, "{\"id\":\"%s%d\",\"seen\":%d}", i < 600 || i == 800 ? "keep" : "old", i,
                 i);
        save(r.things, t, json);
    }
    expect_ok(hf_repository_set_validator, r.things, keep, NULL, NULL);
    commit_quietly(t);
    save_seen(others, "old", 1);
    wait_for(others, 0);
    wait_for(r.things, 601);
    /* Later ones go as well, and the kept ones when they may. */
    save_seen(r.things, "old", 1000);
    wait_for(r.things, 601);
    expect_ok(hf_repository_set_validator, r.things, NULL, NULL, NULL);
    wait_for(r.things, 0);
    hf_repository_free(others);
}

static void one_whose_text_is_lost_keeps_no_other(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    save_seen(r.things, "a", milliseconds_now() - 58000);
    save_seen(r.things, "b", milliseconds_now() - 58000);
    close_room(r);
    run_sqlite(f->url, "UPDATE holdfast_entity SET body = 'lost' WHERE id = 'a'");
    r = open_room(f, NULL);
    for (int i = 0; i < 12000; i++) {
        hf_entity entity = HF_ENTITY_INIT;
        hf_status status = hf_repository_fetch(r.things, NULL, "b", 1, &entity, NULL);
        hf_entity_free(&entity);
        if (status == HF_NOT_FOUND)
            break;
        sleep_milliseconds(10);
    }
    expect_absent(r.things, NULL, "b");
    close_room(r);
}

static void what_is_wrong_with_one_repository_keeps_nothing_of_another(fixture *f) {
    room r = open_room(f, NULL);
    hf_repository *others = open_repository(r.store, "others");
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    expect_ok(hf_repository_create_index, others, after_a_minute, NULL, NULL);
    save_seen(r.things, "damaged", milliseconds_now() - 58000);
    save_seen(others, "old", milliseconds_now() - 58000);
    hf_repository_free(others);
    close_room(r);
    run_sqlite(f->url, "UPDATE holdfast_entity SET body = '{' WHERE id = 'damaged'");
    r = open_room(f, NULL);
    others = open_repository(r.store, "others");
    wait_for(others, 0);
    hf_repository_free(others);
    close_room(r);
}

static void they_go_too_when_the_store_is_opened_again(fixture *f) {
    room r = open_room(f, NULL);
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    save_seen(r.things, "young", milliseconds_now() - 58000);
    close_room(r);
    r = open_room(f, NULL);
    wait_for(r.things, 0);
    close_room(r);
}

static void they_stay_when_the_index_is_dropped(room r) {
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    expect_ok(hf_repository_drop_index, r.things, "seen");
    save_seen(r.things, "old", 1);
    sleep_milliseconds(1500);
    assert_int_equal(count_of(r.things), 1);
}

typedef struct closer {
    hf_store *store;
    atomic_int status; /* what close answered in the validator, -1 before */
} closer;

static hf_status close_its_store(hf_transaction *t, const char *id, size_t id_length, const char *entity,
                                 size_t length, void *user_data, hf_error **error) {
    closer *c = user_data;
    (void)t, (void)id, (void)id_length, (void)length, (void)error;
    if (entity == NULL)
        atomic_store(&c->status, (int)hf_store_close(c->store, -1, NULL));
    return HF_OK;
}

/* It is called on the thread that deletes, which a store waits for when it closes. */
static void a_validator_may_close_the_store_whose_entities_go(room r) {
    closer c = {r.store, -1};
    expect_ok(hf_repository_set_validator, r.things, close_its_store, &c, NULL);
    expect_ok(hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
    save_seen(r.things, "old", 1);
    for (int i = 0; i < 12000 && atomic_load(&c.status) == -1; i++)
        sleep_milliseconds(10);
    assert_int_equal(atomic_load(&c.status), HF_OK);
    expect_ok(hf_store_close, r.store, 60000);
}

static void only_one_path_can_lead_to_a_time(room r) {
    expect(HF_INVALID_OPTION, hf_repository_create_index, r.things,
           "{\"fields\":{\"a\":1,\"b\":1},\"expire_after_ms\":1}", NULL, NULL);
    expect(HF_INVALID_OPTION, hf_repository_create_index, r.things,
           "{\"fields\":{\"a\":1},\"expire_after_ms\":-1}", NULL, NULL);
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"seen\":1}}", NULL, NULL);
    expect(HF_EXISTS, hf_repository_create_index, r.things, after_a_minute, NULL, NULL);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(entities_go_when_their_time_has_passed),
        EACH_ENGINE(one_that_may_not_be_deleted_keeps_no_other),
        SQLITE_ONLY(one_whose_text_is_lost_keeps_no_other),
        SQLITE_ONLY(what_is_wrong_with_one_repository_keeps_nothing_of_another),
        SQLITE_ONLY(they_go_too_when_the_store_is_opened_again),
        ONCE(they_stay_when_the_index_is_dropped),
        EACH_ENGINE(a_validator_may_close_the_store_whose_entities_go),
        ONCE(only_one_path_can_lead_to_a_time),
    };
    return run_scenarios("expiry", scenarios, COUNT_OF(scenarios));
}
