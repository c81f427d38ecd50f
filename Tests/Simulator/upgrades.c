/*
 * Upgrades: each step is done once, together with the version that tells so, whoever tries it and dies.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_status add_step(hf_transaction *t, int64_t from, int64_t to, void *user_data,
                          hf_error **out_error) {
    (void)out_error;
    desk *d = user_data;
    if (to != from + 1)
        report("an upgrade leads from %d to %d", (int)from, (int)to);
    char update[64];
    snprintf(update, sizeof update, "{\"$push\":{\"values\":%d}}", (int)to);
    hf_error *error = NULL;
    hf_status status = hf_repository_modify(d->lists, t, "schema", HF_NTS, update, HF_NTS,
                                            "{\"id\":\"schema\",\"values\":[]}", HF_NTS, 0, NULL, &error);
    look("step", status, &error);
    return status;
}

/* Programs of two versions meet. */
static int64_t newest(void) { return told->era * 2 + 1; }

void upgrade(desk *d) {
    int64_t version = newest() - (int64_t)draw(2);
    const char *options = happens(100) ? NULL : "{\"backup\":false}";
    hf_error *error = NULL;
    hf_status status = hf_store_upgrade(d->store, version, add_step, options, NULL, d, NULL, &error);
    if (status == HF_SCHEMA_TOO_NEW && version < newest()) {
        hf_error_free(error);
        return;
    }
    if (look("upgrade", status, &error) && version > told->schema) {
        told->schema = version;
        told->counted.upgrades++;
    }
}

void inspect_upgrades(desk *d) {
    int64_t version = -1;
    hf_error *error = NULL;
    if (!must("asking for the version", hf_store_schema_version(d->store, &version, &error), &error))
        return;
    if (told->schema > 0 && version < told->schema)
        report("an upgrade to %d was told, and the version is %d", (int)told->schema, (int)version);
    hf_entity entity = HF_ENTITY_INIT;
    reading steps = {.count = 0};
    if (hf_repository_fetch(d->lists, NULL, "schema", HF_NTS, &entity, NULL) == HF_OK)
        parse_values(entity.data, &steps);
    hf_entity_free(&entity);
    for (int i = 1; i < steps.count; i++)
        if (steps.values[i] != steps.values[i - 1] + 1)
            report("step %u was taken after step %u", steps.values[i], steps.values[i - 1]);
    if (steps.count > 0 && steps.values[steps.count - 1] != version)
        report("step %u was taken last, and the version is %d", steps.values[steps.count - 1], (int)version);
}
