/* Aggregation: values hold others by reference, and a short pipeline may name one many times. What it makes
 * of them is bounded all the same, in memory, in time and on the stack. */
#include "aggregates.h"

#include <sys/resource.h>

enum { LONG_TEXT = 1 << 20, MANY_ELEMENTS = 10000 };

/* A text of a megabyte, and an array of many objects. */
static void save_large(hf_repository *things) {
    size_t capacity = LONG_TEXT + 32 * MANY_ELEMENTS + 64;
    char *text = malloc(capacity);
    int at = sprintf(text, "{\"id\":\"a\",\"x\":1,\"s\":\"");
    memset(text + at, 'x', LONG_TEXT);
    at += LONG_TEXT;
    at += sprintf(text + at, "\",\"a\":[");
    for (int i = 0; i < MANY_ELEMENTS; i++)
        at += sprintf(text + at, "%s{\"x\":%d}", i ? "," : "", i);
    sprintf(text + at, "]}");
    save(things, NULL, text);
    free(text);
}

/* For each of 100,000 elements: what is written for %s. */
#define EACH(result) "{'$map':{'input':{'$range':[0,100000]},'in':" result "}}"
#define SIZE_OF(array) "[{'$project':{'n':{'$size':" array "}}}]"
#define TEN(value)                                                                                           \
    "[" value "," value "," value "," value "," value "," value "," value "," value "," value "," value "]"
/* 10^9 values, of a few arrays. */
#define WITH(value, in) "{'$let':{'vars':{'a':" TEN(value) "},'in':" in "}}"
#define AGAIN(in) WITH("'$$a'", in)
#define VAST(in) WITH("'$x'", AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(in)))))))))

static const char *const too_long[] = {
    SIZE_OF("{'$reduce':{'input':{'$range':[0,20]},'initialValue':1,'in':" TEN("'$$value'") "}}"),
    SIZE_OF("{'$sortArray':{'input':" EACH("'$s'") ",'sortBy':1}}"),
    SIZE_OF("{'$setUnion':[" EACH("'$s'") "]}"),
    SIZE_OF("{'$setIntersection':[" EACH("'$s'") "]}"),
    SIZE_OF("{'$setDifference':[" EACH("'$s'") ",[]]}"),
    SIZE_OF("{'$setDifference':[[]," EACH("'$s'") "]}"),
    SIZE_OF(EACH("'$a.x'")),
    SIZE_OF(EACH("{'$let':{'vars':{'a':'$a'},'in':'$$a.x'}}")),
    SIZE_OF(EACH("{'$strLenCP':'$s'}")),
    SIZE_OF(EACH("{'$substrCP':['$s',1000000,1]}")),
    SIZE_OF(EACH("{'$indexOfCP':['$s','y']}")),
    SIZE_OF(EACH("{'$trim':{'input':'y','chars':'$s'}}")),
    SIZE_OF(EACH("{'$eq':['$s','$s']}")),
    SIZE_OF(EACH("{'$cmp':['$a','$a']}")),
    SIZE_OF(EACH("{'$in':['$s',['$s']]}")),
    SIZE_OF(EACH("{'$indexOfArray':[['$a'],'$a']}")),
    SIZE_OF(EACH("{'$max':['$a']}")),
    "[{'$project':{'n':" VAST("'$$a'") "}}]",
    "[{'$project':{'n':" VAST("{'$eq':['$$a','$$a']}") "}}]",
    "[{'$project':{'n':" VAST("{'$size':{'$setUnion':['$$a']}}") "}}]",
    "[{'$project':{'n':" VAST("{'$toInt':'$$a'}") "}}]",
    "[{'$match':{'$expr':" VAST("'$$a'") "}}]",
    "[{'$replaceRoot':{'newRoot':{'a':" VAST("'$$a'") "}}}]",
    "[{'$group':{'_id':" VAST("'$$a'") "}}]",
    "[{'$group':{'_id':1,'a':{'$push':" VAST("'$$a'") "}}}]",
};

static void what_names_a_value_many_times_is_refused_before_it_is_gone_through(room r) {
    save_large(r.things);
    for (size_t i = 0; i < COUNT_OF(too_long); i++) {
        hf_buffer out = HF_BUFFER_INIT;
        hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, too_long[i], NULL, &out);
        hf_error_free(error);
    }
}

static void stages_that_double_a_document_again_and_again_are_refused(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"x\":1}");
    char pipeline[4096] = "[";
    for (int i = 0; i < 60; i++)
        sprintf(pipeline + strlen(pipeline), "%s{'$set':{'x':['$x','$x']}}", i ? "," : "");
    strcat(pipeline, ",{'$count':'n'}]");
    hf_buffer out = HF_BUFFER_INIT;
    hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, pipeline, NULL, &out);
    assert_non_null(strstr(hf_error_message(error), "268435456 bytes"));
    hf_error_free(error);
}

/* A pass of each makes the value a little deeper, and none of them goes far enough to look by itself. */
static void loops_in_loops_nest_no_deeper_than_one_may(room r) {
    static const int passes[] = {25, 12, 8, 6, 5, 4, 4, 4};
    save(r.things, NULL, "{\"id\":\"a\",\"x\":1}");
    char *inner = strdup("['$$value']");
    for (size_t i = 0; i < COUNT_OF(passes); i++) {
        char *outer = malloc(strlen(inner) + 128);
        sprintf(outer, "{'$reduce':{'input':{'$range':[0,%d]},'initialValue':%s,'in':%s}}", passes[i],
                i + 1 < COUNT_OF(passes) ? "'$$value'" : "1", inner);
        free(inner);
        inner = outer;
    }
    char *pipeline = malloc(strlen(inner) + 64);
    sprintf(pipeline, "[{'$project':{'n':{'$size':%s}}}]", inner);
    hf_buffer out = HF_BUFFER_INIT;
    hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, pipeline, NULL, &out);
    assert_non_null(strstr(hf_error_message(error), "200 arrays"));
    hf_error_free(error);
    free(pipeline);
    free(inner);
}

static void dates_in_bins_that_begin_before_all_years_are_refused(room r) {
    save(r.things, NULL, "{\"id\":\"a\"}");
    static const char *const units[] = {"year", "quarter", "month",  "week",
                                        "day",  "hour",    "minute", "second"};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        char pipeline[256];
        hf_buffer out = HF_BUFFER_INIT;
        snprintf(pipeline, sizeof pipeline,
                 "[{'$set':{'x':{'$dateTrunc':{'date':'1999-01-01','unit':'%s','binSize':100000000000}}}}]",
                 units[i]);
        hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL, pipeline, NULL, &out);
        assert_non_null(strstr(hf_error_message(error), "leaves the years"));
        hf_error_free(error);
        hf_buffer_free(&out);
    }
}

static long most_kilobytes(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Together the documents take a gigabyte, one by one a few dozen megabytes. */
static void large_documents_go_through_the_stages_one_by_one(room r) {
    enum { FEW = 64, MANY = 20000, ALLOWED = 256 << 10 };
    hf_repository *others = open_repository(r.store, "others");
    hf_transaction *t = begin(r.store, NULL);
    for (int i = 0; i < MANY; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"id\":%d,\"k\":1}", i);
        if (i < FEW)
            save(r.things, t, text);
        save(others, t, text);
    }
    commit_quietly(t);
    long before = most_kilobytes();
    expect_documents(r.things, NULL, "[{'$set':{'x':{'$range':[0,1000000]}}},{'$count':'n'}]", NULL,
                     "[{'n':64}]");
    expect_documents(r.things, NULL,
                     "[{'$set':{'k':{'$map':{'input':{'$range':[0,40]},'in':1}}}},{'$unwind':'$k'},"
                     "{'$lookup':{'from':'others','localField':'k','foreignField':'k','as':'m'}},"
                     "{'$match':{'$expr':{'$eq':[{'$size':'$m'},20000]}}},{'$count':'n'}]",
                     NULL, "[{'n':2560}]");
    assert_in_range(most_kilobytes() - before, 0, ALLOWED);
    hf_repository_free(others);
}

int main(void) {
    const scenario scenarios[] = {
        ONCE(what_names_a_value_many_times_is_refused_before_it_is_gone_through),
        ONCE(stages_that_double_a_document_again_and_again_are_refused),
        ONCE(loops_in_loops_nest_no_deeper_than_one_may),
        ONCE(dates_in_bins_that_begin_before_all_years_are_refused),
        ONCE(large_documents_go_through_the_stages_one_by_one),
    };
    return run_scenarios("aggregate bounds", scenarios, COUNT_OF(scenarios));
}
