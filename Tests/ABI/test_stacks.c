/* Whatever a call is given, it keeps to a small stack: each runs here, as deep as it may and one deeper, on a
 * thread that has what the header promises to be enough, less what is left for the host. */
#include "handles.h"

#include <sys/mman.h>

/* "holdfast.h" says that a thread with 128 KiB may call, and that a call itself takes less than 96. */
enum { CALLS_STACK = 96 << 10, GUARD = 64 << 10, MOST_TEXT = 1 << 16 };

typedef struct job job;
typedef hf_status (*call)(job *j);

struct job {
    room *r;
    call call;
    const char *text, *options;
    hf_status status;
};

static void *do_job(void *argument) {
    job *j = argument;
    j->status = j->call(j);
    return NULL;
}

/* What the call answers on a thread with such a stack, below which nothing can be written. */
static hf_status on_small_stack(room *r, call call, const char *text, const char *options) {
    char *memory =
        mmap(NULL, GUARD + CALLS_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory, GUARD, PROT_NONE), 0);
    job j = {r, call, text, options, HF_INVALID_STATE};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, memory + GUARD, CALLS_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, do_job, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    munmap(memory, GUARD + CALLS_STACK);
    return j.status;
}

/* --- Calls --------------------------------------------------------------------------------------- */

static hf_status find(job *j) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_repository_find(j->r->things, NULL, j->text, HF_NTS, j->options, &list, NULL);
    hf_entity_list_free(&list);
    return status;
}

static hf_status find_all(job *j) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_repository_find(j->r->things, NULL, NULL, 0, j->text, &list, NULL);
    hf_entity_list_free(&list);
    return status;
}

static hf_status find_in_transaction(job *j) {
    hf_transaction *t = NULL;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_status status = hf_transaction_begin(j->r->store, NULL, &t, NULL);
    if (status == HF_OK)
        status = hf_repository_find(j->r->things, t, j->text, HF_NTS, NULL, &list, NULL);
    hf_entity_list_free(&list);
    /* Another's commit is then held against the filter. */
    if (status == HF_OK)
        status = hf_repository_save(j->r->things, NULL, "{\"id\":\"0\"}", HF_NTS, NULL, NULL);
    if (status == HF_OK)
        status = hf_repository_save(j->r->things, t, "{\"id\":\"1\"}", HF_NTS, NULL, NULL);
    if (status == HF_OK) {
        status = hf_transaction_commit(t, NULL, NULL);
        status = status == HF_CONFLICT ? HF_OK : status;
    }
    hf_transaction_free(t);
    return status;
}

static hf_status save_one(job *j) {
    return hf_repository_save(j->r->things, NULL, j->text, HF_NTS, NULL, NULL);
}

static hf_status patch(job *j) {
    return hf_repository_patch(j->r->things, NULL, "o", HF_NTS, j->text, HF_NTS, 0, NULL, NULL);
}

static hf_status modify(job *j) {
    return hf_repository_modify(j->r->things, NULL, "m", HF_NTS, j->text, HF_NTS, "{}", HF_NTS, 0, NULL,
                                NULL);
}

static hf_status distinct(job *j) {
    hf_buffer values = HF_BUFFER_INIT;
    hf_status status = hf_repository_distinct(j->r->things, NULL, j->text, NULL, 0, NULL, &values, NULL);
    hf_buffer_free(&values);
    return status;
}

static hf_status create_index(job *j) {
    return hf_repository_create_index(j->r->things, j->text, NULL, NULL, NULL);
}

static hf_status perform(job *j) {
    hf_operation *operation = NULL;
    hf_status status = hf_operation_create(j->r->store, j->text, HF_NTS, &operation, NULL);
    if (status == HF_OK)
        status = hf_operation_perform(operation, NULL, NULL, NULL, NULL);
    hf_operation_free(operation);
    return status;
}

static hf_status reduce(job *j) {
    hf_buffer state = HF_BUFFER_INIT, next = HF_BUFFER_INIT;
    hf_status status = hf_reduce(j->text, HF_NTS, NULL, 0, &state, NULL);
    if (status == HF_OK)
        status = hf_reduce(j->text, HF_NTS, state.data, state.length, &next, NULL);
    hf_buffer_free(&next);
    hf_buffer_free(&state);
    return status;
}

static hf_status follow(job *j) {
    hf_stream *stream = NULL;
    hf_status status =
        hf_stream_open_query(j->r->things, j->text, HF_NTS, NULL, NULL, NULL, NULL, &stream, NULL);
    hf_stream_free(stream);
    return status;
}

typedef struct line {
    const char *rest;
} line;

static int64_t give(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    line *l = user_data;
    size_t length = strnlen(l->rest, capacity);
    memcpy(buffer, l->rest, length);
    l->rest += length;
    return (int64_t)length;
}

static hf_status import(job *j) {
    line l = {j->text};
    hf_buffer report = HF_BUFFER_INIT;
    hf_status status = hf_store_import(j->r->store, j->options, give, NULL, &l, &report, NULL);
    hf_buffer_free(&report);
    return status;
}

static hf_status aggregate(job *j) {
    hf_buffer documents = HF_BUFFER_INIT;
    hf_status status =
        hf_repository_aggregate(j->r->things, NULL, j->text, HF_NTS, j->options, &documents, NULL);
    hf_buffer_free(&documents);
    return status;
}

static hf_status verify(job *j) {
    hf_buffer report = HF_BUFFER_INIT;
    hf_status status = hf_repository_verify(j->r->things, &report, NULL);
    hf_buffer_free(&report);
    return status;
}

/* --- Texts ---------------------------------------------------------------------------------------- */

typedef struct text {
    const char *before, *opening, *middle, *closing, *after;
} text;

static void write_text(char *buffer, text t, int depth) {
    char *end = stpcpy(buffer, t.before);
    for (int i = 0; i < depth; i++)
        end = stpcpy(end, t.opening);
    end = stpcpy(end, t.middle);
    for (int i = 0; i < depth; i++)
        end = stpcpy(end, t.closing);
    strcpy(end, t.after);
    assert_true(strlen(buffer) < MOST_TEXT);
}

static room open_deep_room(const fixture *f) {
    static const text entities[] = {
        {"{\"id\":\"o\",\"a\":", "{\"a\":", "1", "}", "}"},
        {"{\"id\":\"a\",\"a\":", "[", "1", "]", "}"},
        {"{\"id\":\"x\",\"a\":", "[{\"a\":", "1", "}]", "}"},
        {"{\"id\":\"s\",\"s\":\"", "", "aabbcaabbcaabbcaabbc", "", "\"}"},
    };
    static const int depths[] = {199, 199, 99, 1};
    room r = open_room(f, "{\"max_depth\":200}");
    char *buffer = malloc(MOST_TEXT);
    for (size_t i = 0; i < COUNT_OF(entities); i++) {
        write_text(buffer, entities[i], depths[i]);
        save(r.things, NULL, buffer);
    }
    free(buffer);
    return r;
}

/* --- Scenarios ------------------------------------------------------------------------------------ */

typedef struct deep_case {
    call call;
    text text;
    const char *options;
    int deepest; /* one deeper is refused so: */
    hf_status beyond;
} deep_case;

static void try_cases(fixture *f, const deep_case *cases, size_t count) {
    room r = open_deep_room(f);
    char *buffer = malloc(MOST_TEXT);
    for (size_t i = 0; i < count; i++) {
        for (int beyond = 0; beyond <= 1; beyond++) {
            if (beyond && cases[i].beyond == HF_OK)
                continue;
            write_text(buffer, cases[i].text, cases[i].deepest + beyond);
            hf_status expected = beyond ? cases[i].beyond : HF_OK;
            hf_status status = on_small_stack(&r, cases[i].call, buffer, cases[i].options);
            if (status != expected)
                fail_msg("case %zu answered %s: %.200s", i, hf_status_name(status), buffer);
        }
    }
    free(buffer);
    close_room(r);
}

#define NOT                                                                                                  \
    { "{\"a\":", "{\"$not\":", "{\"$eq\":1}", "}", "}" }
#define ELEMENT                                                                                              \
    { "{\"a\":", "{\"$elemMatch\":{\"a\":", "{\"$gt\":0}", "}}", "}" }

static void filters_as_deep_as_they_may_be(fixture *f) {
    static const deep_case cases[] = {
        {find, NOT, NULL, 32, HF_INVALID_QUERY},
        {find_in_transaction, NOT, NULL, 32, HF_INVALID_QUERY},
        {find,
         {"{\"a\":", "{\"$not\":", "{\"$eq\":{\"$param\":\"x\"}}", "}", "}"},
         "{\"parameters\":{\"x\":1}}",
         32,
         HF_INVALID_QUERY},
        {find, {"", "{\"$or\":[{\"b\":1},", "{\"a\":1}", "]}", ""}, NULL, 32, HF_INVALID_QUERY},
        {find, {"", "{\"$and\":[", "{\"a\":1}", "]}", ""}, NULL, 32, HF_INVALID_QUERY},
        {find, {"", "{\"$nor\":[", "{\"a\":1}", "]}", ""}, NULL, 32, HF_INVALID_QUERY},
        {find, ELEMENT, NULL, 32, HF_INVALID_QUERY},
        {find_in_transaction, ELEMENT, NULL, 32, HF_INVALID_QUERY},
        {find, {"{\"a\":", "{\"$elemMatch\":", "{\"$gt\":0}", "}", "}"}, NULL, 32, HF_INVALID_QUERY},
        {find,
         {"{\"a\":", "{\"$all\":[{\"$elemMatch\":", "{\"$gt\":0}", "}]}", "}"},
         NULL,
         32,
         HF_INVALID_QUERY},
        {follow, NOT, NULL, 32, HF_INVALID_QUERY},
        {follow, ELEMENT, NULL, 32, HF_INVALID_QUERY},
        {perform,
         {"{\"operation\":\"count\",\"repository\":\"things\",\"filter\":{\"a\":", "{\"$not\":",
          "{\"$eq\":1}", "}", "}}"},
         NULL,
         32,
         HF_INVALID_QUERY},
        {modify,
         {"{\"$pull\":{\"list\":", "{\"$not\":", "{\"$eq\":1}", "}", "}}"},
         NULL,
         32,
         HF_INVALID_QUERY},
    };
    try_cases(f, cases, COUNT_OF(cases));
}

static void literals_as_deep_as_they_may_be(fixture *f) {
    static const deep_case cases[] = {
        {find, {"{\"a\":", "{\"a\":", "1", "}", "}"}, NULL, 199, HF_INVALID_JSON},
        {find, {"{\"a\":{\"$in\":[", "[", "1", "]", "]}}"}, NULL, 197, HF_INVALID_JSON},
        {find, {"{\"a\":{\"$gte\":", "[", "1", "]", "}}"}, NULL, 198, HF_INVALID_JSON},
        {follow, {"{\"a\":", "[", "1", "]", "}"}, NULL, 199, HF_INVALID_JSON},
        {find_all, {"{\"parameters\":{\"x\":", "[", "1", "]", "}}"}, NULL, 101, HF_OK},
        {find_all, {"{\"sort\":", "[", "1", "]", "}"}, NULL, 101, HF_OK},
    };
    /* The last two are refused at any depth; what counts is that they return. */
    room r = open_deep_room(f);
    char *buffer = malloc(MOST_TEXT);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool is_refused = cases[i].beyond == HF_OK;
        write_text(buffer, cases[i].text, cases[i].deepest);
        hf_status status = on_small_stack(&r, cases[i].call, buffer, cases[i].options);
        if ((status == HF_OK) == is_refused)
            fail_msg("case %zu answered %s", i, hf_status_name(status));
        if (!is_refused) {
            write_text(buffer, cases[i].text, cases[i].deepest + 1);
            assert_int_equal(on_small_stack(&r, cases[i].call, buffer, cases[i].options), cases[i].beyond);
        }
    }
    free(buffer);
    close_room(r);
}

static void paths_as_long_as_they_may_be(fixture *f) {
    static const deep_case cases[] = {
        {find, {"{\"a", ".a", "", "", "\":1}"}, NULL, 62, HF_INVALID_QUERY},
        {find, {"{\"a", ".0", "", "", "\":1}"}, NULL, 62, HF_INVALID_QUERY},
        {find_all, {"{\"sort\":{\"a", ".a", "", "", "\":1}}"}, NULL, 62, HF_INVALID_OPTION},
        {find_all, {"{\"sort\":{\"a", ".0", "", "", "\":-1,\"a.a\":1}}"}, NULL, 62, HF_INVALID_OPTION},
        {find_all, {"{\"fields\":[\"a", ".a", "", "", "\"]}"}, NULL, 62, HF_INVALID_OPTION},
        {find_all, {"{\"fields\":{\"a", ".a", "", "", "\":0}}"}, NULL, 62, HF_INVALID_OPTION},
        {distinct, {"a", ".a", "", "", ""}, NULL, 62, HF_INVALID_QUERY},
        {create_index,
         {"{\"name\":\"1\",\"fields\":{\"a", ".a", "", "", "\":1}}"},
         NULL,
         62,
         HF_INVALID_QUERY},
        {create_index,
         {"{\"name\":\"2\",\"fields\":{\"a", ".0", "", "", "\":1}}"},
         NULL,
         62,
         HF_INVALID_QUERY},
        {modify, {"{\"$set\":{\"a", ".a", "", "", "\":1}}"}, NULL, 62, HF_INVALID_QUERY},
        {modify, {"{\"$unset\":{\"a", ".a", "", "", "\":1}}"}, NULL, 62, HF_INVALID_QUERY},
        {modify, {"{\"$push\":{\"b", ".b", "", "", "\":1}}"}, NULL, 62, HF_INVALID_QUERY},
        {modify, {"{\"$rename\":{\"b", ".b", "", "", "\":\"c\"}}"}, NULL, 62, HF_INVALID_QUERY},
        {verify, {"", "", "", "", ""}, NULL, 1, HF_OK},
    };
    try_cases(f, cases, COUNT_OF(cases));
}

static void entities_as_deep_as_they_may_be(fixture *f) {
    static const deep_case cases[] = {
        {create_index, {"{\"fields\":{\"a\":1}}", "", "", "", ""}, NULL, 1, HF_OK},
        {create_index, {"{\"fields\":{\"a.a\":-1,\"a.b\":1}}", "", "", "", ""}, NULL, 1, HF_OK},
        {save_one, {"{\"id\":\"n\",\"a\":", "{\"a\":", "1", "}", "}"}, NULL, 199, HF_INVALID_JSON},
        {save_one, {"{\"id\":\"n\",\"a\":", "[", "1", "]", "}"}, NULL, 199, HF_INVALID_JSON},
        {patch, {"", "{\"a\":", "2", "}", ""}, NULL, 200, HF_INVALID_JSON},
        {patch, {"", "{\"b\":", "2", "}", ""}, NULL, 200, HF_INVALID_JSON},
        {modify, {"{\"$set\":{\"v\":", "[", "1", "]", "}}"}, NULL, 199, HF_INVALID_ENTITY},
        {modify, {"{\"$max\":{\"w\":", "[", "1", "]", "}}"}, NULL, 199, HF_INVALID_ENTITY},
        {modify, {"{\"$max\":{\"w\":", "[", "2", "]", "}}"}, NULL, 199, HF_INVALID_ENTITY},
        {modify, {"{\"$addToSet\":{\"t\":", "{\"a\":", "1", "}", "}}"}, NULL, 198, HF_INVALID_ENTITY},
        {modify, {"{\"$addToSet\":{\"t\":", "{\"a\":", "2", "}", "}}"}, NULL, 198, HF_INVALID_ENTITY},
        {find_all, {"{\"sort\":{\"a\":1}}", "", "", "", ""}, NULL, 1, HF_OK},
        {find_all, {"{\"fields\":[\"a.b\"]}", "", "", "", ""}, NULL, 1, HF_OK},
        {find_all, {"{\"fields\":{\"a.b\":0}}", "", "", "", ""}, NULL, 1, HF_OK},
        {distinct, {"a", "", "", "", ""}, NULL, 1, HF_OK},
        {perform,
         {"{\"operation\":\"save\",\"repository\":\"things\",\"entity\":{\"id\":\"p\",\"a\":", "[", "1", "]",
          "}}"},
         NULL,
         199,
         HF_INVALID_JSON},
        {perform,
         {"{\"steps\":[{\"operation\":\"patch\",\"repository\":\"things\",\"id\":\"p\",\"patch\":", "{\"a\":",
          "1", "}", "}]}"},
         NULL,
         200,
         HF_INVALID_JSON},
        {reduce, {"{\"action\":\"save\",\"element\":", "{\"a\":", "1", "}", "}"}, NULL, 205, HF_INVALID_JSON},
        {import,
         {"{\"id\":\"i\",\"a\":", "[", "1", "]", "}\n"},
         "{\"repository\":\"things\"}",
         199,
         HF_INVALID_JSON},
        {verify, {"", "", "", "", ""}, NULL, 1, HF_OK},
    };
    try_cases(f, cases, COUNT_OF(cases));
}

static void pipelines_as_deep_as_they_may_be(fixture *f) {
    static const deep_case cases[] = {
        {aggregate,
         {"[{\"$match\":{\"a\":", "{\"$not\":", "{\"$eq\":1}", "}", "}}]"},
         NULL,
         32,
         HF_INVALID_QUERY},
        {aggregate, {"[{\"$set\":{\"b", ".b", "", "", "\":1}}]"}, NULL, 62, HF_INVALID_QUERY},
        {aggregate, {"[{\"$set\":{\"b\":", "{\"a\":", "1", "}", "}}]"}, NULL, 62, HF_INVALID_QUERY},
        {aggregate, {"[{\"$project\":{\"a", ".a", "", "", "\":1}}]"}, NULL, 62, HF_INVALID_QUERY},
        {aggregate, {"[{\"$unwind\":\"$a", ".a", "", "", "\"}]"}, NULL, 62, HF_INVALID_QUERY},
        {aggregate, {"[{\"$set\":{\"b\":", "{\"$abs\":", "1", "}", "}}]"}, NULL, 32, HF_INVALID_QUERY},
        {aggregate, {"[{\"$set\":{\"b\":1}},{\"$sort\":{\"a\":1}}]", "", "", "", ""}, NULL, 1, HF_OK},
        {aggregate,
         {"[{\"$group\":{\"_id\":\"$a\",\"x\":{\"$first\":\"$a\"}}}]", "", "", "", ""},
         NULL,
         1,
         HF_OK},
        {aggregate, {"[{\"$unwind\":\"$a\"},{\"$sortByCount\":\"$a\"}]", "", "", "", ""}, NULL, 1, HF_OK},
        {aggregate,
         {"[{\"$project\":{\"b\":{\"$add\":[1,2]}}},{\"$lookup\":{\"from\":\"things\",\"localField\":\"id\","
          "\"foreignField\":\"a\",\"as\":\"c\"}}]",
          "", "", "", ""},
         NULL,
         1,
         HF_OK},
    };
    try_cases(f, cases, COUNT_OF(cases));
}

static void patterns_as_deep_as_they_may_be(fixture *f) {
    static const deep_case cases[] = {
        {find, {"{\"s\":{\"$regex\":\"", "(", "a", ")", "\"}}"}, NULL, 250, HF_INVALID_QUERY},
        {find, {"{\"s\":{\"$regex\":\"", "(?:a|", "b", ")*", "\"}}"}, NULL, 250, HF_INVALID_QUERY},
        {find, {"{\"s\":{\"$regex\":\"", "(?=", "a", ")", "\"}}"}, NULL, 250, HF_INVALID_QUERY},
        {find, {"{\"s\":{\"$regex\":\"", "(?>a|", "b", ")+", "\"}}"}, NULL, 250, HF_INVALID_QUERY},
        {find, {"{\"s\":{\"$regex\":\"", "a?", "", "", "\"}}"}, NULL, 5400, HF_OK},
        {find, {"{\"s\":{\"$regex\":\"", "[^x]+", "", "", "\"}}"}, NULL, 2000, HF_OK},
        {find, {"{\"s\":{\"$regex\":\"", "((a)b)?", "", "", "\"}}"}, NULL, 290, HF_OK},
        {find, {"{\"s\":{\"$regex\":\"^(a|b(?1)?c)*$\"}}", "", "", "", ""}, NULL, 1, HF_OK},
        {find, {"{\"s\":{\"$regex\":\"^(?:(?:(?:a|b)*c?)*)$\"}}", "", "", "", ""}, NULL, 1, HF_OK},
    };
    try_cases(f, cases, COUNT_OF(cases));
}

/* --- All functions ------------------------------------------------------------------------------------ */

/* That of the table whose name is the job's text, whatever it answers. */
static hf_status call_named(job *j) {
    results r = {0};
    handles h = {j->r->store, j->r->things, NULL};
    hf_status status = hf_transaction_begin(h.store, NULL, &h.transaction, NULL);
    for (size_t i = 0; i < function_count; i++) {
        hf_error *error = NULL;
        if (strcmp(functions[i].name, j->text) == 0)
            functions[i].call(h, &r, &error);
        hf_error_free(error);
    }
    hf_transaction_free(h.transaction);
    free_results(&r);
    return status;
}

static void every_function_called_once(fixture *f) {
    for (size_t i = 0; i < function_count; i++) {
        room r = open_room(f, NULL);
        save_in_one(r, 100, "{\"id\":%d,\"n\":%d}", 7);
        assert_int_equal(on_small_stack(&r, call_named, functions[i].name, NULL), HF_OK);
        close_room(r);
    }
}

int main(void) {
    static const scenario scenarios[] = {
        EACH_ENGINE(every_function_called_once),       EACH_ENGINE(filters_as_deep_as_they_may_be),
        EACH_ENGINE(literals_as_deep_as_they_may_be),  EACH_ENGINE(paths_as_long_as_they_may_be),
        EACH_ENGINE(entities_as_deep_as_they_may_be),  EACH_ENGINE(patterns_as_deep_as_they_may_be),
        EACH_ENGINE(pipelines_as_deep_as_they_may_be),
    };
    return run_scenarios("stacks", scenarios, COUNT_OF(scenarios));
}
