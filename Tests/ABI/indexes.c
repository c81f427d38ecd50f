#include "indexes.h"

void create_index(room r, const char *options) {
    expect_ok(hf_repository_create_index, r.things, options, NULL, NULL);
}

void expect_indexes(room r, const char *json) {
    hf_buffer buffer = HF_BUFFER_INIT;
    expect_ok(hf_repository_indexes, r.things, &buffer);
    assert_string_equal(buffer.data, json);
    hf_buffer_free(&buffer);
}

int index_entries(room r) {
    hf_buffer buffer = HF_BUFFER_INIT;
    expect_ok(hf_repository_verify, r.things, &buffer);
    json_t *report = json_loadb(buffer.data, buffer.length, 0, NULL);
    assert_true(json_is_true(json_object_get(report, "ok")));
    int sum = 0;
    size_t index;
    json_t *entry;
    json_array_foreach(json_object_get(report, "indexes"), index, entry) {
        assert_int_equal(json_integer_value(json_object_get(entry, "wrong")), 0);
        assert_int_equal(json_integer_value(json_object_get(entry, "missing")), 0);
        sum += (int)json_integer_value(json_object_get(entry, "entries"));
    }
    json_decref(report);
    hf_buffer_free(&buffer);
    return sum;
}
