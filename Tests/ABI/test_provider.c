/* Providers: a store over a place of the host's, and what becomes of it when that place fails, lies, calls
 * back or blocks. That such a store keeps every promise of the others is the conformance suite's to show. */
#include "every_function.h"
#include "members.h"
#include "shelf.h"

#include <sys/wait.h>

/* --- Opening -------------------------------------------------------------------------------------------- */

static void user_data_is_freed_exactly_once_on_every_path(fixture *f) {
    (void)f;
    shelf s;
    hf_store *store = NULL;

    begin_shelf(&s);
    hf_provider whole = provider_of(&s, 0);
    expect_ok(hf_store_open_provider, &whole, NULL, &store);
    expect_ok(hf_store_close, store, -1);
    assert_int_equal(s.freed, 1);
    hf_store_free(store);
    end_shelf(&s);

    begin_shelf(&s);
    whole = provider_of(&s, 0);
    expect_ok(hf_store_open_provider, &whole, NULL, &store);
    hf_store_free(store);
    end_shelf(&s);

    begin_shelf(&s);
    whole = provider_of(&s, 0);
    store = NULL;
    expect(HF_INVALID_OPTION, hf_store_open_provider, &whole, "{\"no\":1}", &store);
    assert_null(store);
    end_shelf(&s);

    begin_shelf(&s);
    whole = provider_of(&s, 0);
    expect(HF_INVALID_ARGUMENT, hf_store_open_provider, &whole, NULL, NULL);
    end_shelf(&s);

    for (int missing = 0; missing < 4; missing++) {
        begin_shelf(&s);
        hf_provider part = provider_of(&s, 0);
        if (missing == 0)
            part.on_save = NULL;
        if (missing == 1)
            part.on_fetch = NULL;
        if (missing == 2)
            part.on_fetch_all = NULL;
        if (missing == 3)
            part.on_delete = NULL;
        expect(HF_INVALID_ARGUMENT, hf_store_open_provider, &part, NULL, &store);
        end_shelf(&s);
    }
}

static hf_status refuse_token(shelf *s, const char *function, hf_error **out_error) {
    (void)s;
    if (strcmp(function, "change_token") != 0)
        return HF_OK;
    *out_error = hf_error_create(HF_HOST_ERROR, 5, "no token");
    return HF_HOST_ERROR;
}

static void a_provider_that_cannot_tell_its_token_is_not_opened(shelf *s) {
    s->before = refuse_token;
    hf_provider provider = provider_of(s, CAN_TELL_CHANGES);
    hf_store *store = NULL;
    hf_error *error = error_of(HF_HOST_ERROR, hf_store_open_provider, &provider, NULL, &store);
    assert_string_equal(hf_error_message(error), "the provider could not tell its change token: no token");
    expect_detail(error, "code", "5");
    assert_null(store);
}

static void a_provider_of_another_size_is_refused_untouched(fixture *f) {
    (void)f;
    hf_provider unknown = HF_PROVIDER_INIT;
    hf_store *store = NULL;
    unknown.size--;
    expect(HF_INVALID_ARGUMENT, hf_store_open_provider, &unknown, NULL, &store);
    expect(HF_INVALID_ARGUMENT, hf_store_open_provider, NULL, NULL, &store);
}

static void what_is_stored_lies_with_the_provider_and_is_found_by_the_next_store(fixture *f) {
    (void)f;
    for (int abilities = 0; abilities <= 15; abilities++) {
        shelf s;
        begin_shelf(&s);
        room r = open_shelf(&s, abilities, NULL);
        save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
        save(r.things, NULL, "{\"id\":\"b\",\"n\":2}");
        expect_ok(hf_repository_delete, r.things, NULL, "b", HF_NTS, 0);
        assert_string_equal(find_book(&s, "a"), "{\"id\":\"a\",\"n\":1}");
        assert_null(find_book(&s, "b"));
        uint64_t before = version_of(r.things, NULL, "a");
        assert_int_equal(s.syncs > 0, (abilities & CAN_SYNC) != 0);
        json_t *described = describe(r.store);
        assert_string_equal(json_string_value(json_object_get(described, "engine")), "provider");
        json_decref(described);
        close_room(r);

        s.freed = 0;
        r = open_shelf(&s, abilities, NULL);
        expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
        assert_true(version_of(r.things, NULL, "a") > before);
        close_room(r);
        end_shelf(&s);
    }
}

static void a_store_that_is_read_only_reads_and_gives_the_provider_nothing(shelf *s) {
    put_book(s, "a", "{\"id\":\"a\"}");
    room r = open_shelf(s, CAN_SYNC, "{\"read_only\":true}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
    expect_count(r.things, NULL, NULL, 1);
    expect(HF_READ_ONLY, hf_repository_save, r.things, NULL, "{\"id\":\"b\"}", HF_NTS, NULL);
    close_room(r);
    assert_int_equal(s->writes + s->syncs, 0);
}

/* --- Failing -------------------------------------------------------------------------------------------- */

static void a_failure_names_what_could_not_be_done_and_keeps_the_hosts_error(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    s->fail_from = 1;
    s->fail_to = 2;
    hf_error *error =
        error_of(HF_HOST_ERROR, hf_repository_save, r.things, NULL, "{\"id\":\"a\"}", HF_NTS, NULL);
    assert_string_equal(hf_error_message(error),
                        "the provider could not save things \"a\": the shelf is broken");
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
    hf_error *cause = hf_error_cause(error);
    assert_string_equal(hf_error_message(cause), "the shelf is broken");
    hf_error_free(cause);
    size_t length;
    json_t *detail = json_loads(hf_error_detail(error, &length), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(detail, "repository")), "things");
    assert_string_equal(json_string_value(json_object_get(detail, "id")), "a");
    json_decref(detail);
    expect_detail(error, "code", "7001");
    save(r.things, NULL, "{\"id\":\"a\"}");
    close_room(r);
}

/* Stores six entities, changes, deletes and adds some in one transaction whose n-th write fails, and expects
 * everything to be as before. Answers false when there was no n-th write. */
static bool fail_at(size_t n, int abilities) {
    shelf s;
    begin_shelf(&s);
    room r = open_shelf(&s, abilities, NULL);
    for (int i = 0; i < 6; i++) {
        char entity[64];
        snprintf(entity, sizeof entity, "{\"id\":\"e%d\",\"n\":%d}", i, i);
        save(r.things, NULL, entity);
    }
    shelf before = s;
    hf_transaction *reader = begin(r.store, NULL), *t = begin(r.store, NULL);
    expect_count(r.things, reader, NULL, 6);
    save(r.things, t, "{\"id\":\"e1\",\"n\":10}");
    save(r.things, t, "{\"id\":\"e3\",\"n\":30}");
    save(r.things, t, "{\"id\":\"new\",\"n\":70}");
    expect_ok(hf_repository_delete, r.things, t, "e2", HF_NTS, 0);
    s.fail_from = s.writes + n;
    s.fail_to = s.fail_from + 1;
    hf_error *error = NULL;
    hf_status status = hf_transaction_commit(t, NULL, &error);
    hf_transaction_free(t);
    s.fail_from = s.fail_to = 0;
    bool failed = status == HF_HOST_ERROR;
    if (failed) {
        assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
        assert_int_equal(s.count, before.count);
        for (size_t i = 0; i < before.count; i++) {
            expect_entity(r.things, NULL, before.books[i].id, before.books[i].entity);
        }
        expect_absent(r.things, NULL, "new");
    } else {
        assert_int_equal(status, HF_OK);
        expect_entity(r.things, NULL, "e1", "{\"id\":\"e1\",\"n\":10}");
        expect_absent(r.things, NULL, "e2");
    }
    hf_error_free(error);
    /* The reader goes on seeing what it saw. */
    expect_entity(r.things, reader, "e2", "{\"id\":\"e2\",\"n\":2}");
    expect_count(r.things, reader, "{\"n\":{\"$gte\":10}}", 0);
    hf_transaction_free(reader);
    save(r.things, NULL, "{\"id\":\"after\"}");
    close_room(r);
    end_shelf(&s);
    return failed;
}

static void a_commit_whose_nth_write_fails_leaves_nothing(fixture *f) {
    (void)f;
    size_t n = 1;
    while (fail_at(n, 0))
        n++;
    assert_int_equal(n, 5);
    n = 1;
    while (fail_at(n, CAN_APPLY | CAN_TELL_CHANGES))
        n++;
    assert_int_equal(n, 2);
}

static void a_commit_that_cannot_be_taken_back_is_unknown_and_the_store_goes_on(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    uint64_t version = version_of(r.things, NULL, "a");
    hf_transaction *reader = begin(r.store, NULL), *t = begin(r.store, NULL);
    expect_entity(r.things, reader, "a", "{\"id\":\"a\",\"n\":1}");
    save(r.things, reader, "{\"id\":\"c\"}");
    save(r.things, t, "{\"id\":\"a\",\"n\":2}");
    save(r.things, t, "{\"id\":\"b\",\"n\":2}");
    /* The second write fails, and so does what should take back the first. */
    s->fail_from = s->writes + 2;
    s->fail_to = s->fail_from + 2;
    hf_error *error = error_of(HF_HOST_ERROR, hf_transaction_commit, t, NULL);
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_UNKNOWN);
    assert_non_null(strstr(hf_error_message(error), "could not be taken back"));
    hf_error_free(error);
    hf_transaction_free(t);
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":2}");
    assert_true(version_of(r.things, NULL, "a") > version);
    expect(HF_CONFLICT, hf_transaction_commit, reader, NULL);
    hf_transaction_free(reader);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":3}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":3}");
    close_room(r);
}

static void objects_go_back_where_it_is_unknown_whether_the_entities_are_stored(fixture *f) {
    (void)f;
    for (int submits = 0; submits < 2; submits++) {
        shelf s;
        room r = begin_shelf_with_one(&s);
        member root, child;
        make_member(&root, "root", NULL);
        make_member(&child, "child", &root);
        hf_transaction *t = begin(r.store, NULL);
        expect_ok(hf_transaction_enlist, t, root.handle);
        root.value = child.value = 2;
        save(r.things, t, "{\"id\":\"a\",\"n\":2}");
        save(r.things, t, "{\"id\":\"b\",\"n\":2}");
        s.fail_from = s.writes + 2;
        s.fail_to = s.fail_from + 2;
        if (submits) {
            recorder *ended = new_recorder(1);
            expect_ok(hf_transaction_submit, t, record_event, new_ticket(ended, 0), free_ticket);
            wait_for_freed(ended, 1);
            assert_int_equal(ended->outcomes[0].status, HF_HOST_ERROR);
            free_recorder(ended);
        } else {
            hf_error *error = error_of(HF_HOST_ERROR, hf_transaction_commit, t, NULL);
            assert_int_equal(hf_error_commit_state(error), HF_COMMIT_UNKNOWN);
            hf_error_free(error);
        }
        hf_transaction_free(t);
        expect_calls(&root, 1, 1, 0, 1);
        expect_calls(&child, 1, 1, 0, 1);
        assert_int_equal(root.value, 0);
        assert_int_equal(child.value, 0);
        free_member(&child), free_member(&root);
        close_room(r);
        end_shelf(&s);
    }
}

static hf_status refuse(shelf *s, const char *function, hf_error **out_error) {
    (void)s, (void)function, (void)out_error;
    return (hf_status)12345;
}

static void a_failed_read_fails_that_read_alone(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    save(r.things, NULL, "{\"id\":\"a\"}");
    hf_transaction *t = begin(r.store, NULL);
    hf_entity entity = HF_ENTITY_INIT;
    uint64_t count;
    s->before = refuse;
    hf_error *error = error_of(HF_HOST_ERROR, hf_repository_fetch, r.things, t, "a", HF_NTS, &entity);
    expect_detail(error, "code", "12345");
    expect(HF_HOST_ERROR, hf_repository_count, r.things, t, NULL, 0, NULL, &count);
    s->before = NULL;
    expect_entity(r.things, t, "a", "{\"id\":\"a\"}");
    save(r.things, t, "{\"id\":\"b\"}");
    commit_quietly(t);
    hf_entity_free(&entity);
    close_room(r);
}

static void a_receipt_says_whether_all_was_stored_at_once(fixture *f) {
    (void)f;
    for (int abilities = 0; abilities <= CAN_APPLY; abilities++) {
        shelf s;
        begin_shelf(&s);
        room r = open_shelf(&s, abilities, NULL);
        hf_transaction *t = begin(r.store, NULL);
        save(r.things, t, "{\"id\":\"a\"}");
        json_t *receipt = commit(t);
        assert_null(json_object_get(receipt, "atomic"));
        json_decref(receipt);
        t = begin(r.store, "{\"idempotency_key\":\"k\"}");
        save(r.things, t, "{\"id\":\"a\"}");
        save(r.things, t, "{\"id\":\"b\"}");
        receipt = commit(t);
        assert_true(json_is_false(json_object_get(receipt, "atomic")) == (abilities == 0));
        json_decref(receipt);
        t = begin(r.store, "{\"idempotency_key\":\"k\"}");
        save(r.things, t, "{\"id\":\"a\"}");
        save(r.things, t, "{\"id\":\"b\"}");
        receipt = commit(t);
        assert_true(json_is_true(json_object_get(receipt, "replayed")));
        assert_true(json_is_false(json_object_get(receipt, "atomic")) == (abilities == 0));
        json_decref(receipt);
        close_room(r);
        end_shelf(&s);
    }
}

/* --- Lying ---------------------------------------------------------------------------------------------- */

static void what_is_no_entity_of_its_id_is_corrupt_and_hides_no_other(fixture *f) {
    (void)f;
    static const char *const lies[] = {"",
                                       "{",
                                       "[]",
                                       "17",
                                       "{\"id\":\"other\"}",
                                       "{\"n\":1}",
                                       "{\"id\":\"bad\",\"id\":\"bad\"}",
                                       "{\"id\":\"bad\"} x",
                                       "{\"id\":\"bad\",\"t\":\"\xff\"}"};
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        shelf s;
        begin_shelf(&s);
        room r = open_shelf(&s, 0, NULL);
        save(r.things, NULL, "{\"id\":\"a\"}");
        save(r.things, NULL, "{\"id\":\"z\"}");
        put_book(&s, "bad", lies[i]);
        hf_entity entity = HF_ENTITY_INIT;
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        hf_error *error = error_of(HF_CORRUPT, hf_repository_fetch, r.things, NULL, "bad", HF_NTS, &entity);
        expect_detail(error, "id", "\"bad\"");
        error = error_of(HF_CORRUPT, hf_repository_fetch_all, r.things, NULL, &list);
        expect_detail(error, "repository", "\"things\"");
        expect_ok(hf_repository_find, r.things, NULL, NULL, 0, "{\"damaged\":\"skip\"}", &list);
        assert_string_equal(list.json, "[{\"id\":\"a\"},{\"id\":\"z\"}]");
        expect_entity(r.things, NULL, "a", "{\"id\":\"a\"}");
        expect_entity(r.things, NULL, "z", "{\"id\":\"z\"}");
        expect(HF_EXISTS, hf_repository_add, r.things, NULL, "{\"id\":\"bad\"}", HF_NTS, NULL);
        if (i % 2 == 0)
            save(r.things, NULL, "{\"id\":\"bad\"}");
        else
            expect_ok(hf_repository_delete, r.things, NULL, "bad", HF_NTS, 0);
        expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
        assert_int_equal(list.count, 3 - i % 2);
        hf_entity_list_free(&list);
        hf_entity_free(&entity);
        close_room(r);
        end_shelf(&s);
    }
}

static void ids_that_come_twice_or_are_none_are_corrupt(shelf *s) {
    room r = open_shelf(s, 0, NULL);
    put_book(s, "b", "{\"id\":\"b\"}");
    put_book(s, "a", "{\"id\":\"a\"}");
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_fetch_all, r.things, NULL, &list);
    assert_string_equal(list.json, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
    s->books[s->count++] = s->books[0];
    hf_error *error = error_of(HF_CORRUPT, hf_repository_fetch_all, r.things, NULL, &list);
    expect_detail(error, "id", "\"b\"");
    strcpy(s->books[2].id, "with\nline");
    expect(HF_CORRUPT, hf_repository_fetch_all, r.things, NULL, &list);
    hf_entity_list_free(&list);
    close_room(r);
}

/* --- Who else writes ------------------------------------------------------------------------------------ */

static void what_others_write_is_seen_and_conflicts_where_it_is_told(shelf *s) {
    room r = open_shelf(s, CAN_TELL_CHANGES, NULL);
    expect_ok(hf_repository_create_index, r.things, "{\"fields\":{\"n\":1}}", NULL, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    size_t reads = s->reads;
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
    assert_int_equal(s->reads, reads); /* cached */
    uint64_t version = version_of(r.things, NULL, "a");
    hf_transaction *t = begin(r.store, NULL);
    expect_entity(r.things, t, "a", "{\"id\":\"a\",\"n\":1}");
    put_book(s, "a", "{\"id\":\"a\",\"n\":2}");
    expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":2}");
    assert_true(version_of(r.things, NULL, "a") > version);
    expect_count(r.things, NULL, "{\"n\":2}", 1);
    expect_count(r.things, NULL, "{\"n\":1}", 0);
    save(r.things, t, "{\"id\":\"b\",\"n\":3}");
    expect(HF_CONFLICT, hf_transaction_commit, t, NULL);
    hf_transaction_free(t);
    expect(HF_VERSION_MISMATCH, hf_repository_update, r.things, NULL, "{\"id\":\"a\"}", HF_NTS, version,
           NULL);
    close_room(r);
}

static void without_a_token_nothing_is_cached_unless_it_is_asked_for(fixture *f) {
    (void)f;
    for (int asked = 0; asked < 2; asked++) {
        shelf s;
        begin_shelf(&s);
        room r = open_shelf(&s, 0, asked ? "{\"cache_bytes\":1000000}" : NULL);
        save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
        expect_entity(r.things, NULL, "a", "{\"id\":\"a\",\"n\":1}");
        put_book(&s, "a", "{\"id\":\"a\",\"n\":2}");
        expect_entity(r.things, NULL, "a", asked ? "{\"id\":\"a\",\"n\":1}" : "{\"id\":\"a\",\"n\":2}");
        close_room(r);
        end_shelf(&s);
    }
}

static void a_query_reaches_the_provider_with_its_parameters_and_is_matched_again(shelf *s) {
    room r = open_shelf(s, CAN_FIND, NULL);
    for (int i = 0; i < 5; i++) {
        char entity[64];
        snprintf(entity, sizeof entity, "{\"id\":\"e%d\",\"n\":%d}", i, i);
        save(r.things, NULL, entity);
    }
    uint64_t count;
    expect_ok(hf_repository_count, r.things, NULL, "{\"n\":{\"$gte\":{\"$param\":\"least\"}}}", HF_NTS,
              "{\"parameters\":{\"least\":3}}", &count);
    assert_int_equal(count, 2);
    assert_string_equal(s->filter, "{\"n\":{\"$gte\":3}}");
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(user_data_is_freed_exactly_once_on_every_path),
        ONCE(a_provider_that_cannot_tell_its_token_is_not_opened),
        ONCE(a_provider_of_another_size_is_refused_untouched),
        ONCE(what_is_stored_lies_with_the_provider_and_is_found_by_the_next_store),
        ONCE(a_store_that_is_read_only_reads_and_gives_the_provider_nothing),
        ONCE(a_failure_names_what_could_not_be_done_and_keeps_the_hosts_error),
        ONCE(a_commit_whose_nth_write_fails_leaves_nothing),
        ONCE(a_commit_that_cannot_be_taken_back_is_unknown_and_the_store_goes_on),
        ONCE(objects_go_back_where_it_is_unknown_whether_the_entities_are_stored),
        ONCE(a_failed_read_fails_that_read_alone),
        ONCE(a_receipt_says_whether_all_was_stored_at_once),
        ONCE(what_is_no_entity_of_its_id_is_corrupt_and_hides_no_other),
        ONCE(ids_that_come_twice_or_are_none_are_corrupt),
        ONCE(what_others_write_is_seen_and_conflicts_where_it_is_told),
        ONCE(without_a_token_nothing_is_cached_unless_it_is_asked_for),
        ONCE(a_query_reaches_the_provider_with_its_parameters_and_is_matched_again),
    };
    return run_scenarios("providers", scenarios, COUNT_OF(scenarios));
}
