/* Growth: verbs that work on payloads of some size. */
#include "growth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A text that grows. */
typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;

static void add(text *t, const char *format, ...) {
    va_list arguments;
    if (t->capacity - t->length < 256) {
        t->capacity = t->capacity * 2 + 4096;
        t->bytes = realloc(t->bytes, t->capacity);
    }
    va_start(arguments, format);
    t->length += (size_t)vsnprintf(t->bytes + t->length, t->capacity - t->length, format, arguments);
    va_end(arguments);
}

static text prepared;

void large_array(void) {
    add(&prepared, "{\"id\":\"a\",\"list\":[0");
    for (int i = 1; i < size; i++)
        add(&prepared, ",%d", i);
    add(&prepared, "]}");
}
void save_the_prepared(void) {
    must(hf_repository_save(things, NULL, prepared.bytes, prepared.length, NULL, &error));
}
void save_an_indexed_array(void) { save_the_prepared(); }
void indexed_large_array(void) {
    must(hf_repository_create_index(things, "{\"fields\":{\"list\":1}}", NULL, NULL, &error));
    large_array();
}
static void modify(const char *update, size_t length) {
    must(hf_repository_modify(things, NULL, "a", HF_NTS, update, length, NULL, 0, 0, NULL, &error));
}
static void stored_array(const char *beginning, const char *item, const char *end) {
    large_array();
    save_the_prepared();
    prepared.length = 0;
    add(&prepared, "%s", beginning);
    for (int i = 0; i < size; i++) {
        add(&prepared, i ? "," : "");
        add(&prepared, item, i, i);
    }
    add(&prepared, "%s", end);
}
void modify_by_the_prepared(void) { modify(prepared.bytes, prepared.length); }
void push_many(void) { stored_array("{\"$push\":{\"list\":{\"$each\":[", "%d", "]}}}"); }
void add_many_to_a_set(void) { stored_array("{\"$addToSet\":{\"list\":{\"$each\":[", "-%d", "]}}}"); }
void pull_many(void) { stored_array("{\"$pull\":{\"list\":{\"$in\":[", "%d", "]}}}"); }
void set_many(void) { stored_array("{\"$set\":{", "\"m%d\":%d", "}}"); }
void set_many_elements(void) { stored_array("{\"$set\":{", "\"list.%d\":-%d", "}}"); }
void patch_many(void) { stored_array("{", "\"m%d\":%d", "}"); }
void patch_by_the_prepared(void) {
    must(hf_repository_patch(things, NULL, "a", HF_NTS, prepared.bytes, prepared.length, 0, NULL, &error));
}
void many_members(void) {
    add(&prepared, "{\"id\":\"a\"");
    for (int i = 0; i < size; i++)
        add(&prepared, ",\"m%d\":%d", i, i);
    add(&prepared, "}");
}
void nested(void) {
    add(&prepared, "{\"id\":\"a\",\"n\":");
    for (int i = 0; i < size; i++)
        add(&prepared, "[");
    for (int i = 0; i < size; i++)
        add(&prepared, "]");
    add(&prepared, "}");
}
void indexed_long_text(void) {
    must(hf_repository_create_index(things, "{\"kind\":\"text\",\"fields\":{\"text\":1}}", NULL, NULL,
                                    &error));
    add(&prepared, "{\"id\":\"a\",\"text\":\"");
    for (int i = 0; i < size; i++)
        add(&prepared, "two words ");
    add(&prepared, "\"}");
    save_the_prepared();
    prepared.length = 0;
    add(&prepared, "{\"$text\":{\"$search\":\"\\\"two words\\\"\"}}");
}
static void filter_of(const char *beginning, const char *item, const char *end) {
    few_entities();
    add(&prepared, "%s", beginning);
    for (int i = 0; i < size; i++) {
        add(&prepared, i ? "," : "");
        add(&prepared, item, i, i);
    }
    add(&prepared, "%s", end);
}
void many_ids(void) { filter_of("{\"id\":{\"$in\":[", "\"e%07d\"", "]}}"); }
void many_values(void) { filter_of("{\"n\":{\"$in\":[", "%d", "]}}"); }
void many_alternatives(void) { filter_of("{\"$or\":[", "{\"n\":%d}", "]}"); }
void many_conditions(void) { filter_of("{\"$and\":[", "{\"n\":{\"$ne\":-%d}}", "]}"); }
void find_by_the_prepared(void) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    must(hf_repository_find(things, NULL, prepared.bytes, prepared.length, NULL, &list, &error));
    hf_entity_list_free(&list);
}
