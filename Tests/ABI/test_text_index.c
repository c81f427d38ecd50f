/* Text indexes: what they are created with, what "$text" finds, and what is refused. */
#include "indexes.h"

static const char description[] =
    "[{\"name\":\"t_b_text\",\"kind\":\"text\",\"fields\":{\"t\":10,\"b\":1},\"language\":\"english\","
    "\"stop_words\":[\"the\"],\"unique\":false,\"state\":\"ready\",\"arrays\":false}]";
static const char by_score[] = "{\"sort\":{\"s\":{\"$meta\":\"textScore\"}}}";

static void create(room r) {
    create_index(r, "{\"kind\":\"text\",\"fields\":{\"t\":10,\"b\":1},\"stop_words\":[\"the\"]}");
}

static void expect_refused(room r, const char *filter) {
    uint64_t count = 0;
    hf_error *error =
        error_of(HF_INVALID_QUERY, hf_repository_count, r.things, NULL, filter, HF_NTS, NULL, &count);
    expect_detail(error, "operator", "\"$text\"");
}

static void save_three(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"t\":\"Coffee\",\"b\":\"The dark roasts\"}");
    save(r.things, NULL, "{\"id\":\"b\",\"t\":\"Tea\",\"b\":[\"no Coffees\",\"leaves\"]}");
    save(r.things, NULL, "{\"id\":\"c\",\"t\":[1,{\"b\":\"coffee\"}],\"b\":null}");
}

/* Expects the ids of what a search finds, separated by spaces. */
static void expect_search(room r, hf_transaction *t, const char *search, const char *options,
                          const char *ids) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect_ok(hf_repository_find, r.things, t, search, HF_NTS, options, &list);
    char actual[256] = "";
    for (size_t i = 0; i < list.count; i++) {
        size_t used = strlen(actual);
        snprintf(actual + used, sizeof actual - used, "%s%.*s", i > 0 ? " " : "",
                 (int)list.items[i].id_length, list.items[i].id);
    }
    assert_string_equal(actual, ids);
    hf_entity_list_free(&list);
}

static void words_are_found_as_long_as_there_is_the_index(room r) {
    expect_refused(r, "{\"$text\":{\"$search\":\"tea\"}}");
    save_three(r);
    create(r);
    expect_indexes(r, description);
    assert_int_equal(index_entries(r), 4 + 5 + 1);
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"coffee\"}}", by_score, "a b");
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"\\\"dark roast\\\" tea\"}}", NULL, "a");
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"coffee -tea\"}}", NULL, "a");
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"the\"}}", NULL, "");
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"coffee\"},\"t\":\"Tea\"}", NULL, "b");
    expect_ok(hf_repository_patch, r.things, NULL, "b", 1, "{\"b\":\"water\"}", HF_NTS, 0, NULL);
    expect_ok(hf_repository_delete, r.things, NULL, "c", HF_NTS, 0);
    assert_int_equal(index_entries(r), 4 + 3);
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"coffee\"}}", NULL, "a");
    expect_ok(hf_repository_drop_index, r.things, "t_b_text");
    expect_refused(r, "{\"$text\":{\"$search\":\"tea\"}}");
}

static void a_transaction_searches_what_it_has_written(room r) {
    save_three(r);
    create(r);
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"d\",\"t\":\"coffee coffee\"}");
    expect_ok(hf_repository_delete, r.things, t, "b", HF_NTS, 0);
    expect_search(r, t, "{\"$text\":{\"$search\":\"coffee\"}}", by_score, "d a");
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"coffee\"}}", by_score, "a b");
    save(r.things, NULL, "{\"id\":\"e\",\"b\":\"coffee\"}");
    hf_error *error = error_of(HF_CONFLICT, hf_transaction_commit, t, NULL);
    assert_true(hf_error_is_retryable(error));
    hf_error_free(error);
    hf_transaction_free(t);
}

static void a_text_index_says_what_is_wrong_with_its_options(room r) {
    static const char *const refused[] = {
        "{\"kind\":\"text\"}",
        "{\"kind\":\"words\",\"fields\":{\"t\":1}}",
        "{\"kind\":\"text\",\"fields\":{}}",
        "{\"kind\":\"text\",\"fields\":{\"t\":0}}",
        "{\"kind\":\"text\",\"fields\":{\"t\":100000}}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1.5}}",
        "{\"kind\":\"text\",\"fields\":{\"$t\":1}}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1},\"unique\":true}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1},\"expire_after_ms\":1}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1},\"language\":\"klingon\"}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1},\"language\":\"en\\u0000\"}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1},\"stop_words\":\"the\"}",
        "{\"kind\":\"text\",\"fields\":{\"t\":1},\"stop_words\":[1]}",
        "{\"fields\":{\"t\":1},\"language\":\"english\"}",
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        expect(HF_INVALID_OPTION, hf_repository_create_index, r.things, refused[i], NULL, NULL);
    expect_indexes(r, "[]");
    create_index(r, "{\"kind\":\"text\",\"fields\":{\"t\":99999},\"language\":\"none\",\"name\":\"one\"}");
    expect(HF_EXISTS, hf_repository_create_index, r.things, "{\"kind\":\"text\",\"fields\":{\"b\":1}}", NULL,
           NULL);
}

static void a_search_says_what_is_wrong_with_it(room r) {
    create(r);
    static const char *const refused[] = {
        "{\"$text\":\"tea\"}",
        "{\"$text\":{}}",
        "{\"$text\":{\"$search\":1}}",
        "{\"$text\":{\"$search\":\"tea\",\"$language\":\"klingon\"}}",
        "{\"$text\":{\"$search\":\"tea\",\"$diacriticSensitive\":true}}",
        "{\"$text\":{\"$search\":\"tea\",\"$sort\":1}}",
        "{\"$nor\":[{\"$text\":{\"$search\":\"tea\"}}]}",
        "{\"t\":{\"$text\":{\"$search\":\"tea\"}}}",
        "{\"t\":{\"$elemMatch\":{\"$text\":{\"$search\":\"tea\"}}}}",
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        expect_refused(r, refused[i]);
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    expect(HF_INVALID_OPTION, hf_repository_find, r.things, NULL, NULL, 0, by_score, &list);
}

static void a_text_index_outlives_its_store(fixture *f) {
    room r = open_room(f, NULL);
    create(r);
    save_three(r);
    close_room(r);
    r = open_room(f, NULL);
    expect_indexes(r, description);
    expect_search(r, NULL, "{\"$text\":{\"$search\":\"coffee\"}}", by_score, "a b");
    save(r.things, NULL, "{\"id\":\"d\",\"t\":\"coffee\"}");
    assert_int_equal(index_entries(r), 10 + 2);
    close_room(r);
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(words_are_found_as_long_as_there_is_the_index),
        EACH_ENGINE(a_transaction_searches_what_it_has_written),
        ONCE(a_text_index_says_what_is_wrong_with_its_options),
        EACH_ENGINE(a_search_says_what_is_wrong_with_it),
        SQLITE_ONLY(a_text_index_outlives_its_store),
    };
    return run_scenarios("text indexes", scenarios, COUNT_OF(scenarios));
}
