/* Cursors: everything once, on one snapshot, in little memory. */
#include "support.h"

#include <malloc.h>

static room open_filled_room(const fixture *f, int count) {
    room r = open_room(f, NULL);
    for (int start = 0; start < count; start += 1000) {
        char *batch = malloc(1000 * 64), *end = batch;
        for (int i = start; i < start + 1000 && i < count; i++)
            end += sprintf(end, "%s{\"id\":\"%06d\",\"n\":%d,\"tags\":[%d,%d]}", i == start ? "[" : ",", i,
                           i % 10, i % 3, i % 5);
        *end++ = ']';
        expect_ok(hf_repository_save_many, r.things, NULL, batch, (size_t)(end - batch), NULL);
        free(batch);
    }
    return r;
}

static hf_cursor *open_cursor(room r, hf_transaction *t, const char *filter, const char *options) {
    hf_cursor *cursor = NULL;
    expect_ok(hf_cursor_open, r.things, t, filter, filter == NULL ? 0 : HF_NTS, options, &cursor);
    return cursor;
}

/* Takes pieces of `size` to the end; answers how many entities there were, each another. */
static size_t drain(hf_cursor *cursor, uint64_t size) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    static char seen[1000000];
    size_t count = 0;
    memset(seen, 0, sizeof seen);
    do {
        expect_ok(hf_cursor_next, cursor, size, &list);
        assert_true(size == 0 || list.count <= size);
        for (size_t i = 0; i < list.count; i++) {
            char id[8] = "";
            memcpy(id, list.items[i].id, list.items[i].id_length < 7 ? list.items[i].id_length : 7);
            assert_false(seen[atoi(id)]++);
        }
        count += list.count;
    } while (list.count > 0);
    hf_entity_list_free(&list);
    return count;
}

#define expect_drained(expected, r, t, filter, options, size)                                                \
    do {                                                                                                     \
        hf_cursor *cursor_ = open_cursor(r, t, filter, options);                                             \
        assert_int_equal(drain(cursor_, size), expected);                                                    \
        hf_cursor_free(cursor_);                                                                             \
    } while (0)

static void a_cursor_hands_out_each_entity_once_whatever_the_pieces(fixture *f) {
    static const uint64_t sizes[] = {0, 1, 7, 1000, UINT64_MAX};
    size_t all = rounds(2500);
    room r = open_filled_room(f, (int)all);
    for (int indexed = 0; indexed < 2; indexed++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            expect_drained(all, r, NULL, NULL, NULL, sizes[i]);
            expect_drained(all / 5, r, NULL, "{\"n\":{\"$in\":[3,7]}}", NULL, sizes[i]);
            expect_drained(all / 10 * 3, r, NULL, "{\"n\":{\"$gt\":6}}", NULL, sizes[i]);
            /* 0 to 2 and 0 to 4: most are under several keys. */
            expect_drained(all / 5 * 4, r, NULL, "{\"tags\":{\"$lte\":1.5}}", "{\"limit\":2400}", sizes[i]);
            expect_drained(7, r, NULL, "{\"n\":5}", "{\"skip\":10,\"limit\":7}", sizes[i]);
            expect_drained(all / 10 - 10, r, NULL, "{\"n\":5}", "{\"skip\":10}", sizes[i]);
            expect_drained(all, r, NULL, "{\"n\":{\"$gte\":0}}", "{\"sort\":{\"n\":1}}", sizes[i]);
            expect_drained(all, r, NULL, "{\"n\":{\"$gte\":0}}", "{\"sort\":{\"n\":-1}}", sizes[i]);
        }
        expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
        expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"tags\":1}}", NULL, NULL);
    }
    close_room(r);
}

static void a_cursor_in_a_transaction_sees_what_was_written_before(fixture *f) {
    room r = open_filled_room(f, 1000);
    for (int indexed = 0; indexed < 2; indexed++) {
        hf_transaction *t = begin(r.store, NULL);
        save(r.things, t, "{\"id\":\"000000\",\"n\":5}");
        save(r.things, t, "{\"id\":\"000005\",\"n\":0}");
        save(r.things, t, "{\"id\":\"000998\",\"n\":5}");
        save(r.things, t, "{\"id\":\"000015\",\"n\":5}");
        expect_ok(hf_repository_delete, r.things, t, "000025", HF_NTS, 0);
        for (uint64_t size = 1; size < 4; size++)
            expect_drained(100, r, t, "{\"n\":5}", NULL, size);
        hf_cursor *cursor = open_cursor(r, t, "{\"n\":5}", NULL);
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        expect_ok(hf_cursor_next, cursor, 1, &list);
        save(r.things, t, "{\"id\":\"000999\",\"n\":5}"); /* too late */
        assert_int_equal(drain(cursor, 0), 99);
        hf_cursor_free(cursor);
        cursor = open_cursor(r, t, NULL, NULL);
        expect_ok(hf_cursor_next, cursor, 1, &list);
        hf_entity_list_free(&list);
        hf_transaction_free(t);
        expect(HF_INVALID_STATE, hf_cursor_next, cursor, 1, &list);
        hf_cursor_free(cursor);
        expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    }
    close_room(r);
}

/* --- Writes between two pieces ---------------------------------------------------------------------- */

/* Entities as they were read, in their order. */
typedef struct reading {
    char *lines[200]; /* the id and the text */
    size_t count;
} reading;

static void note(reading *o, const hf_entity_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        const hf_entity_view *view = &list->items[i];
        assert_true(o->count < COUNT_OF(o->lines));
        int length = asprintf(&o->lines[o->count++], "%.*s %.*s", (int)view->id_length, view->id,
                              (int)view->length, view->data);
        assert_true(length > 0);
    }
}

static void forget(reading *o) {
    while (o->count > 0)
        free(o->lines[--o->count]);
}

static int compare_lines(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Saves, adds and deletes here and there, and takes some of it back. */
static void write_at_random(room r, hf_transaction *t, unsigned *seed) {
    uint64_t savepoint = 0;
    bool goes_back = t != NULL && rand_r(seed) % 4 == 0;
    if (goes_back)
        expect_ok(hf_transaction_savepoint, t, &savepoint);
    for (int left = rand_r(seed) % 8; left > 0; left--) {
        char id[8], json[64];
        snprintf(id, sizeof id, "%02d", rand_r(seed) % 60);
        snprintf(json, sizeof json, "{\"id\":\"%s\",\"n\":%d,\"m\":%d}", id, rand_r(seed) % 9, rand_r(seed));
        if (rand_r(seed) % 3 > 0) {
            save(r.things, t, json);
        } else {
            hf_status status = hf_repository_delete(r.things, t, id, HF_NTS, 0, NULL);
            assert_true(status == HF_OK || status == HF_NOT_FOUND);
        }
    }
    if (goes_back)
        expect_ok(hf_transaction_rollback_to, t, savepoint);
}

static void a_cursor_in_a_transaction_gives_what_was_there_when_it_began(room r) {
    static const struct {
        const char *filter, *options;
        bool is_ordered;
    } queries[] = {
        {NULL, NULL, false},
        {"{\"n\":{\"$gte\":3}}", NULL, false},
        {NULL, "{\"sort\":{\"n\":1}}", true},
        {NULL, "{\"sort\":{\"n\":-1},\"skip\":3}", true},
        {"{\"n\":{\"$lt\":7}}", "{\"sort\":{\"n\":1,\"m\":-1},\"limit\":20}", true},
        {"{\"n\":{\"$ne\":4}}", "{\"sort\":{\"m\":1},\"fields\":[\"m\"]}", true},
    };
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    for (int round = 0; round < 60; round++) {
        size_t query = (size_t)round % COUNT_OF(queries);
        if (round == 30)
            expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
        write_at_random(r, NULL, &seed);
        hf_transaction *t = begin(r.store, NULL);
        if (rand_r(&seed) % 2)
            write_at_random(r, t, &seed);
        reading expected = {0}, found = {0};
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        const char *filter = queries[query].filter == NULL ? "{}" : queries[query].filter;
        expect_ok(hf_repository_find, r.things, t, filter, HF_NTS, queries[query].options, &list);
        note(&expected, &list);
        hf_cursor *cursor = open_cursor(r, t, queries[query].filter, queries[query].options);
        do {
            expect_ok(hf_cursor_next, cursor, 1 + (uint64_t)rand_r(&seed) % 5, &list);
            note(&found, &list);
            write_at_random(r, t, &seed);
        } while (list.count > 0);
        if (!queries[query].is_ordered) {
            qsort(expected.lines, expected.count, sizeof(char *), compare_lines);
            qsort(found.lines, found.count, sizeof(char *), compare_lines);
        }
        assert_int_equal(found.count, expected.count);
        for (size_t i = 0; i < found.count; i++)
            assert_string_equal(found.lines[i], expected.lines[i]);
        forget(&expected);
        forget(&found);
        hf_entity_list_free(&list);
        hf_cursor_free(cursor);
        if (rand_r(&seed) % 2)
            commit_quietly(t);
        else
            hf_transaction_free(t);
    }
}

static void a_cursor_reads_one_snapshot(fixture *f) {
    room r = open_filled_room(f, 1000);
    hf_cursor *cursor = open_cursor(r, NULL, NULL, NULL);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_cursor_next, cursor, 10, &list);
    size_t left = 1000 - list.count;
    save(r.things, NULL, "{\"id\":\"002000\"}");
    expect_ok(hf_repository_delete, r.things, NULL, "000500", HF_NTS, 0);
    assert_int_equal(drain(cursor, 0), left);
    expect_ok(hf_cursor_next, cursor, 10, &list);
    assert_int_equal(list.count, 0);
    hf_entity_list_free(&list);
    hf_cursor_free(cursor);
    close_room(r);
}

static void what_a_transaction_saw_through_a_cursor_is_judged_when_it_commits(fixture *f) {
    room r = open_filled_room(f, 100);
    for (int collides = 0; collides < 2; collides++) {
        hf_transaction *t = begin(r.store, NULL);
        expect_drained(10, r, t, "{\"n\":5}", NULL, 3);
        save(r.things, t, "{\"id\":\"sum\",\"n\":-1}");
        save(r.things, NULL,
             collides ? "{\"id\":\"000015\",\"n\":5,\"x\":1}" : "{\"id\":\"000016\",\"n\":6,\"x\":1}");
        if (collides)
            expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
        else
            expect_ok(hf_transaction_commit, t, NULL);
        hf_transaction_free(t);
    }
    close_room(r);
}

static void a_cursor_over_many_entities_takes_little_memory(fixture *f) {
    room r = open_filled_room(f, 200000);
    expect_drained(200000, r, NULL, NULL, NULL, 0);
    hf_cursor *cursor = open_cursor(r, NULL, NULL, NULL);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    size_t before = mallinfo2().uordblks, most = before;
    do {
        expect_ok(hf_cursor_next, cursor, 0, &list);
        size_t now = mallinfo2().uordblks;
        most = now > most ? now : most;
    } while (list.count > 0);
    assert_true(most - before < 4 << 20);
    hf_entity_list_free(&list);
    hf_cursor_free(cursor);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(a_cursor_hands_out_each_entity_once_whatever_the_pieces),
        EACH_ENGINE(a_cursor_in_a_transaction_sees_what_was_written_before),
        EACH_ENGINE(a_cursor_in_a_transaction_gives_what_was_there_when_it_began),
        EACH_ENGINE(a_cursor_reads_one_snapshot),
        EACH_ENGINE(what_a_transaction_saw_through_a_cursor_is_judged_when_it_commits),
        SQLITE_ONLY(a_cursor_over_many_entities_takes_little_memory),
    };
    return run_scenarios("cursors", scenarios, COUNT_OF(scenarios));
}
