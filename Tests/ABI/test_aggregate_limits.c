/* What aggregations refuse: beyond what their options allow, and what is not in the language. */
#include "aggregates.h"
#include "interrupts.h"

/* --- Limits -------------------------------------------------------------------------------------- */

/* The pipeline with so many stages before it. */
static char *with_stages(int count, const char *stage) {
    char *text = malloc((size_t)count * (strlen(stage) + 1) + 3), *end = text;
    for (int i = 0; i < count; i++)
        end += sprintf(end, "%c%s", i == 0 ? '[' : ',', stage);
    strcpy(end, count == 0 ? "[]" : "]");
    return text;
}

static void a_pipeline_may_have_a_thousand_stages(room r) {
    hf_buffer out = HF_BUFFER_INIT;
    static const char *const stages[] = {"{'$set':{'a':1}}",   "{'$match':{'g':1}}",
                                         "{'$sort':{'id':1}}", "{'$skip':0}",
                                         "{'$limit':9}",       "{'$group':{'_id':'$_id'}}"};
    save_groups(r);
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        char *text = with_stages(1000, stages[i]);
        expect_ok(aggregate, r.things, NULL, text, NULL, &out);
        free(text);
        text = with_stages(1001, stages[i]);
        expect(HF_INVALID_QUERY, aggregate, r.things, NULL, text, NULL, &out);
        free(text);
    }
    hf_buffer_free(&out);
}

static void documents_nested_ever_deeper_are_refused(room r) {
    hf_buffer out = HF_BUFFER_INIT;
    save_groups(r);
    static const struct {
        const char *stage;
        int allowed; /* as often */
    } cases[] = {
        {"{'$set':{'a':{'b':'$$ROOT'}}}", 99},
        {"{'$project':{'a':'$$ROOT'}}", 199},
        {"{'$group':{'_id':null,'a':{'$push':'$$ROOT'}}}", 99},
        {"{'$replaceWith':{'a':'$$ROOT'}}", 199},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = with_stages(cases[i].allowed, cases[i].stage);
        expect_ok(aggregate, r.things, NULL, text, NULL, &out);
        free(text);
        text = with_stages(cases[i].allowed + 1, cases[i].stage);
        hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, text, NULL, &out);
        assert_non_null(strstr(hf_error_message(error), "200"));
        hf_error_free(error);
        free(text);
    }
    hf_buffer_free(&out);
}

static void stages_keep_no_more_memory_than_the_option_says(room r) {
    static const char *const pipelines[] = {
        "[{'$group':{'_id':'$n'}}]",
        "[{'$group':{'_id':null,'all':{'$push':'$id'}}}]",
        "[{'$group':{'_id':null,'all':{'$addToSet':'$id'}}}]",
        "[{'$sort':{'few':1}}]",
        "[{'$set':{'x':1}},{'$sort':{'x':1}}]",
        "[{'$lookup':{'from':'things','localField':'few','foreignField':'few','as':'x'}},{'$count':'n'}]",
    };
    static const char *const operators[] = {"\"$group\"", "\"$group\"", "\"$group\"",
                                            "\"$sort\"",  "\"$sort\"",  "\"$lookup\""};
    fill(r, MANY);
    for (size_t i = 0; i < COUNT_OF(pipelines); i++) {
        hf_buffer out = HF_BUFFER_INIT;
        char *text = quoted(pipelines[i]), options[64];
        expect_ok(hf_repository_explain_aggregate, r.things, NULL, text, HF_NTS, NULL, &out);
        char *memory = part_of(out.data, out.length, "memory");
        long long peak = atoll(memory);
        assert_true(peak > MANY && peak < 1000 * MANY);
        /* At what it needs, one below, and 1. */
        snprintf(options, sizeof options, "{'max_memory_bytes':%lld}", peak);
        expect_ok(aggregate, r.things, NULL, pipelines[i], options, &out);
        snprintf(options, sizeof options, "{'max_memory_bytes':%lld}", peak - 1);
        hf_error *error = error_of(HF_NO_MEMORY, aggregate, r.things, NULL, pipelines[i], options, &out);
        size_t length = 0;
        const char *detail = hf_error_detail(error, &length);
        char *operator= part_of(detail, length, "operator"), *option = part_of(detail, length, "option");
        assert_string_equal(operator, operators[i]);
        assert_string_equal(option, "\"max_memory_bytes\"");
        free(operator);
        free(option);
        hf_error_free(error);
        expect(HF_NO_MEMORY, aggregate, r.things, NULL, pipelines[i], "{'max_memory_bytes':1}", &out);
        free(memory);
        free(text);
        hf_buffer_free(&out);
    }
    /* What keeps nothing needs nothing. */
    expect_documents(r.things, NULL, "[{'$match':{'few':1}},{'$count':'n'}]", "{'max_memory_bytes':1}",
                     "[{'n':72}]");
    /* Of a sort with a limit few are kept. */
    expect_documents(r.things, NULL, "[{'$sort':{'n':1}},{'$limit':1},{'$project':{'n':1,'id':0}}]",
                     "{'max_memory_bytes':1000}", "[{'n':1}]");
    /* Along an index one group is. */
    create_index(r, "{\"fields\":{\"n\":1}}");
    expect_documents(r.things, NULL, "[{'$group':{'_id':'$n'}},{'$count':'n'}]", "{'max_memory_bytes':1000}",
                     "[{'n':500}]");
}

/* Expects a pipeline to be refused for what an option allows. */
static void expect_limit(room r, const char *pipeline, const char *option, long long limit) {
    hf_buffer out = HF_BUFFER_INIT;
    char options[64], wanted[64];
    size_t length = 0;
    snprintf(options, sizeof options, "{'%s':%lld}", option, limit);
    hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, pipeline, options, &out);
    assert_non_null(strstr(hf_error_message(error), option));
    const char *detail = hf_error_detail(error, &length);
    char *named = part_of(detail, length, "option"), *allowed = part_of(detail, length, "limit");
    snprintf(wanted, sizeof wanted, "\"%s\"", option);
    assert_string_equal(named, wanted);
    assert_int_equal(atoll(allowed), limit);
    free(named);
    free(allowed);
    hf_error_free(error);
}

static void options_say_how_many_stages_and_groups_there_may_be_and_how_deep(room r) {
    static const char two_stages[] = "[{'$match':{'g':1}},{'$count':'n'}]";
    static const char three_groups[] = "[{'$group':{'_id':'$g'}},{'$count':'n'}]";
    static const char one_group[] = "[{'$group':{'_id':null}},{'$count':'n'}]";
    static const char deep[] = "[{'$limit':1},{'$project':{'_':{'x':[1]}}},{'$unset':'id'}]";
    save_groups(r);
    expect_documents(r.things, NULL, "[{'$count':'n'}]", "{'max_stages':1}", "[{'n':4}]");
    expect_documents(r.things, NULL, two_stages, "{'max_stages':2}", "[{'n':2}]");
    expect_limit(r, two_stages, "max_stages", 1);
    for (int indexed = 0; indexed < 2; indexed++) {
        expect_documents(r.things, NULL, three_groups, "{'max_groups':3}", "[{'n':3}]");
        expect_documents(r.things, NULL, one_group, "{'max_groups':1}", "[{'n':1}]");
        expect_limit(r, three_groups, "max_groups", 2);
        expect_limit(r, three_groups, "max_groups", 1);
        create_index(r, "{\"fields\":{\"g\":1}}");
    }
    /* Each stage may have as many. */
    expect_documents(r.things, NULL, "[{'$group':{'_id':'$g'}},{'$group':{'_id':'$_id'}},{'$count':'n'}]",
                     "{'max_groups':3}", "[{'n':3}]");
    expect_documents(r.things, NULL, one_group, "{'max_depth':1}", "[{'n':1}]");
    expect_documents(r.things, NULL, deep, "{'max_depth':3}", "[{'_':{'x':[1]}}]");
    expect_limit(r, deep, "max_depth", 2);
    expect_limit(r, deep, "max_depth", 1);
    static const char *const makers[] = {
        "[{'$group':{'_id':null,'all':{'$push':'$g'}}}]",
        "[{'$replaceWith':{'a':['$g']}}]",
        "[{'$set':{'a.b':1}}]",
        "[{'$unwind':{'path':'$g','includeArrayIndex':'a.b'}}]",
        "[{'$lookup':{'from':'people','localField':'by','foreignField':'nobody','as':'who'}}]",
    };
    for (size_t i = 0; i < COUNT_OF(makers); i++) {
        hf_buffer out = HF_BUFFER_INIT;
        expect_ok(aggregate, r.things, NULL, makers[i], "{'max_depth':3}", &out);
        expect_limit(r, makers[i], "max_depth", 1);
        hf_buffer_free(&out);
    }
}

static void a_limit_beyond_its_bounds_is_refused_by_name(room r) {
    static const char *const names[] = {"max_memory_bytes", "max_stages", "max_groups", "max_depth"};
    static const char *const most[] = {"9007199254740992", "1000", "9007199254740992", "200"};
    static const char *const beyond[] = {"9007199254740993", "1001", "9007199254740993", "201"};
    save_groups(r);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *const wrong[] = {"0",   "-1",   beyond[i], "1.5", "1e300", "9223372036854775807",
                                     "'1'", "null", "[]",      "true"};
        char options[80], wanted[64];
        for (size_t w = 0; w < COUNT_OF(wrong); w++) {
            hf_buffer out = HF_BUFFER_INIT;
            snprintf(options, sizeof options, "{'%s':%s}", names[i], wrong[w]);
            hf_error *error = error_of(HF_INVALID_OPTION, aggregate, r.things, NULL, "[]", options, &out);
            size_t length = 0;
            const char *detail = hf_error_detail(error, &length);
            char *option = part_of(detail, length, "option");
            snprintf(wanted, sizeof wanted, "\"%s\"", names[i]);
            assert_string_equal(option, wanted);
            free(option);
            hf_error_free(error);
        }
        hf_buffer out = HF_BUFFER_INIT;
        snprintf(options, sizeof options, "{'%s':NaN}", names[i]);
        expect(HF_INVALID_JSON, aggregate, r.things, NULL, "[]", options, &out);
        snprintf(options, sizeof options, "{'%s':1}", names[i]);
        expect_documents(r.things, NULL, "[{'$count':'n'}]", options, "[{'n':4}]");
        snprintf(options, sizeof options, "{'%s':%s}", names[i], most[i]);
        expect_documents(r.things, NULL, "[{'$count':'n'}]", options, "[{'n':4}]");
    }
}

static void what_a_match_may_have_is_told_whole(room r) {
    static const char *const cases[][2] = {
        {"[{'$match':{'$where':'x'}}]", "\"$text\", \"$expr\""},
        {"[{'$match':{'$exp':1}}]", "did you mean \"$expr\"?"},
        {"[{'$match':{'$and':[{'$expr':{'$gt':['$g',1]}}]}}]", "top level of a \"$match\" only"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hf_buffer out = HF_BUFFER_INIT;
        hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, cases[i][0], NULL, &out);
        assert_non_null(strstr(hf_error_message(error), cases[i][1]));
        hf_error_free(error);
    }
    /* A filter outside of a pipeline has none. */
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_error *error =
        error_of(HF_INVALID_QUERY, hf_repository_find, r.things, NULL, "{\"$where\":1}", HF_NTS, NULL, &list);
    assert_null(strstr(hf_error_message(error), "$expr"));
    hf_error_free(error);
}

int main(void) {
    const scenario scenarios[] = {
        ONCE(a_pipeline_may_have_a_thousand_stages),
        ONCE(documents_nested_ever_deeper_are_refused),
        EACH_ENGINE(stages_keep_no_more_memory_than_the_option_says),
        EACH_ENGINE(options_say_how_many_stages_and_groups_there_may_be_and_how_deep),
        ONCE(a_limit_beyond_its_bounds_is_refused_by_name),
        ONCE(what_a_match_may_have_is_told_whole),
    };
    return run_scenarios("aggregate limits", scenarios, COUNT_OF(scenarios));
}
