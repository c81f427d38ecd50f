/*
 * Trees: what a member of an object tree costs. Holdfast alone, through its header.
 *
 *     trees MEMBERS COUNT
 *
 * Begins, validates and commits a tree of so many members, ten below each, until COUNT members have passed
 * through all of it.
 */
#include "measure.h"

#include <holdfast.h>
#include <stdlib.h>

enum { FAN_OUT = 10 };

static hf_error *error;
static size_t called;

static void hear(const uint8_t *descriptor, void *user_data) {
    (void)descriptor, (void)user_data;
    called++;
}

static hf_status accept(hf_transaction *transaction, void *user_data, hf_error **out_error) {
    (void)transaction, (void)user_data, (void)out_error;
    called++;
    return HF_OK;
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail(argv[0], "MEMBERS COUNT");
    size_t members = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10), rounds = 0;
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_begin = callbacks.on_commit = callbacks.on_rollback = hear;
    callbacks.on_validate = accept;
    hf_participant **all = calloc(members, sizeof *all);
    for (size_t i = 0; i < members; i++)
        REQUIRE(hf_participant_create(i == 0 ? NULL : all[(i - 1) / FAN_OUT], &callbacks, NULL, NULL, &all[i],
                                      &error));
    double began = seconds_now();
    for (; rounds * members < count; rounds++) {
        REQUIRE(hf_participant_begin(all[0], NULL, &error));
        REQUIRE(hf_participant_commit(all[0], NULL, &error));
    }
    double seconds = seconds_now() - began;
    if (called != 3 * members * rounds)
        fail("trees", "a member was not called");
    for (size_t i = 0; i < members; i++)
        hf_participant_free(all[i]);
    free(all);
    report(rounds * members, seconds, 0, 0);
    return 0;
}
