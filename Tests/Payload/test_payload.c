#include "payload_tests.h"

#include <stdlib.h>
#include <string.h>

char *exact_copy(const char *bytes, size_t length) {
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    return copy;
}

bool check_entity(text payload, hfpayload_limits limits, hfpayload_entity *entity, hfpayload_error *error) {
    char *copy = exact_copy(payload.bytes, payload.length);
    bool accepted = hfpayload_entity_check(copy, payload.length, "id", limits, entity, error);
    free(copy);
    return accepted;
}

void assert_refused(const hfpayload_error *error, hfpayload_failure failure, size_t position,
                    const char *words) {
    if (strstr(error->message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error->message, words);
    }
    assert_int_equal(error->failure, failure);
    if (error->position != position) {
        fail_msg("\"%s\" at %zu, expected at %zu", error->message, error->position, position);
    }
}

int main(void) {
    random_draw();
    int failed = run_tree_tests();
    failed += run_entity_tests();
    failed += run_batch_tests();
    failed += run_plain_tests();
    failed += run_stored_tests();
    failed += run_robustness_tests();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
