/* What the tests of aggregation share. */
#ifndef AGGREGATES_H
#define AGGREGATES_H

#include "support.h"

/* Single quotes stand for double ones, which pipelines are full of. To be freed. */
static inline char *quoted(const char *text) {
    char *copy = strdup(text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

static inline hf_status aggregate(hf_repository *things, hf_transaction *t, const char *pipeline,
                                  const char *options, hf_buffer *out, hf_error **error) {
    char *text = quoted(pipeline), *chosen = options ? quoted(options) : NULL;
    hf_status status = hf_repository_aggregate(things, t, text, HF_NTS, chosen, out, error);
    free(text);
    free(chosen);
    return status;
}

/* Expects the documents, written with single quotes. */
#define expect_documents(things, t, pipeline, options, expected)                                             \
    check_documents(things, t, pipeline, options, expected, __FILE__, __LINE__)
static inline void check_documents(hf_repository *things, hf_transaction *t, const char *pipeline,
                                   const char *options, const char *expected, const char *file, int line) {
    hf_buffer out = HF_BUFFER_INIT;
    expect_ok(aggregate, things, t, pipeline, options, &out);
    char *text = quoted(expected);
    _assert_string_equal(out.data, text, file, line);
    free(text);
    hf_buffer_free(&out);
}

/* Saves the entities of an array. */
static inline void save_all(hf_repository *things, hf_transaction *t, const char *entities) {
    char *text = quoted(entities);
    expect_ok(hf_repository_save_many, things, t, text, HF_NTS, NULL);
    free(text);
}

/* Things in groups, and who they are by. */
static inline void save_groups(room r) {
    save_all(r.things, NULL,
             "[{'id':'a','g':1,'n':1,'open':true,'by':'ann'},{'id':'b','g':2,'n':2,'open':true,'by':'bob'},"
             "{'id':'c','g':1,'n':4,'open':true,'by':'ann'},{'id':'d','g':3,'n':8}]");
    hf_repository *people = open_repository(r.store, "people");
    save(people, NULL, "{\"id\":\"p\",\"name\":\"ann\",\"age\":2}");
    hf_repository_free(people);
}

#endif
