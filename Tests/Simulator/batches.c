/*
 * Batches of many entities, of which all or none are there.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>

void batch_filter(int number, char filter[64]) {
    snprintf(filter, 64, "{\"batch\":\"e%d-%d\"}", told->era, number);
}

void add_batch(desk *d) {
    int size = 5 + (int)draw(happens(200) ? 400 : 60);
    batch *batch = history_add_batch(size);
    if (batch == NULL)
        return;
    int number = told->batches - 1;
    size_t room = (size_t)size * 1600 + 16;
    char *text = malloc(room);
    size_t length = 0;
    text[length++] = '[';
    for (int i = 0; i < size; i++)
        length += (size_t)snprintf(
            text + length, room - length, "%s{\"id\":\"e%d-%d-%d\",\"batch\":\"e%d-%d\",\"pad\":\"%0*d\"}",
            i ? "," : "", told->era, number, i, told->era, number, 1 + (int)draw(1400), 0);
    text[length++] = ']';
    hf_transaction *t = begin_transaction(d, &batch->is_durable);
    hf_error *error = NULL;
    if (t != NULL &&
        look("save many", hf_repository_save_many(d->things, t, text, length, NULL, &error), &error) &&
        !happens(200)) {
        batch->outcome = UNKNOWN;
        batch->outcome = finish(t, NULL);
    }
    hf_transaction_free(t);
    free(text);
}

void remove_batch(desk *d) {
    if (told->batches == 0)
        return;
    int number = (int)draw((uint64_t)told->batches);
    batch *batch = &told->batch[number];
    if (batch->outcome != COMMITTED)
        return;
    char filter[64];
    batch_filter(number, filter);
    hf_error *error = NULL;
    batch->is_removing = true;
    uint64_t count = 0;
    if (look("delete all", hf_repository_delete_all(d->things, NULL, filter, HF_NTS, NULL, &count, &error),
             &error))
        batch->is_removed = true;
}

void count_batch(desk *d) {
    if (told->batches == 0)
        return;
    int number = (int)draw((uint64_t)told->batches);
    batch *batch = &told->batch[number];
    char filter[64];
    batch_filter(number, filter);
    hf_error *error = NULL;
    uint64_t count = 0;
    bool was_committed = batch->outcome == COMMITTED && !batch->is_removing;
    if (!look("count", hf_repository_count(d->things, NULL, filter, HF_NTS, NULL, &count, &error), &error))
        return;
    if (count != 0 && count != (uint64_t)batch->size)
        report("of batch %d %d of %d entities were counted", number, (int)count, batch->size);
    if (count == 0 && was_committed && !batch->is_removing)
        report("batch %d was committed, and was not found", number);
}
