/*
 * Actions: what the reducer makes of any sequence of texts, given as actions and as states.
 *
 * The texts are separated by tabs. A state is JSON, is the same when it is read and written again, and stays
 * what it is where nothing happens; what is refused changes nothing.
 */
#include "outcome.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING "{\"action\":\"cancelRequest\",\"token\":\"nobody's\"}"
/* A request with a result, and a save under way. */
#define STATE                                                                                                \
    "{\"request\":{\"token\":\"t\"},\"requests\":{\"t\":{\"state\":\"received\",\"elements\":["              \
    "{\"id\":\"a\"},{\"id\":\"b\"}],\"ids\":[\"a\",\"b\"]}},"                                                \
    "\"saves\":{\"default\":{\"state\":\"processing\",\"element\":{}}}}"

static void expect_state(const hf_buffer *state) {
    hf_buffer again = HF_BUFFER_INIT;
    json_t *tree = parse_json(state->data, state->length);
    if (!json_is_object(tree))
        fail("no state: %s", state->data);
    json_decref(tree);
    MUST(hf_reduce, NOTHING, HF_NTS, state->data, state->length, &again);
    if (again.length != state->length || memcmp(again.data, state->data, again.length) != 0)
        fail("a state that was read and written became another: %s became %s", state->data, again.data);
    hf_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hf_buffer state = HF_BUFFER_INIT, other = HF_BUFFER_INIT;
    MUST(hf_reduce, NOTHING, HF_NTS, STATE, HF_NTS, &state);
    const uint8_t *end = data + size;
    while (data < end) {
        const uint8_t *tab = memchr(data, '\t', (size_t)(end - data));
        size_t length = (size_t)((tab ? tab : end) - data);
        char *text = exact_copy(data, length);
        if (CALL(hf_reduce, text, length, state.data, state.length, &other) == HF_OK) {
            expect_state(&other);
            hf_buffer_set(&state, other.data, other.length);
        }
        if (CALL(hf_reduce, NOTHING, HF_NTS, text, length, &other) == HF_OK)
            expect_state(&other);
        free(text);
        data = tab ? tab + 1 : end;
    }
    hf_buffer_free(&state);
    hf_buffer_free(&other);
    return 0;
}
