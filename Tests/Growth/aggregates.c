/* Growth: pipelines. */
#include "growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void aggregate(const char *pipeline) {
    hf_buffer documents = HF_BUFFER_INIT;
    must(hf_repository_aggregate(things, NULL, pipeline, HF_NTS, NULL, &documents, &error));
    hf_buffer_free(&documents);
}

void group_into_few(void) { aggregate("[{\"$group\":{\"_id\":\"$tag\",\"n\":{\"$sum\":\"$n\"}}}]"); }
void group_into_many(void) { aggregate("[{\"$group\":{\"_id\":\"$n\",\"n\":{\"$sum\":\"$n\"}}}]"); }
void sort_in_a_pipeline(void) {
    aggregate("[{\"$set\":{\"m\":{\"$multiply\":[\"$n\",-1]}}},{\"$sort\":{\"m\":1}},{\"$count\":\"n\"}]");
}
void large_stored_array(void) {
    large_array();
    save_the_prepared();
}
void unwind(void) {
    aggregate("[{\"$unwind\":\"$list\"},{\"$group\":{\"_id\":null,\"n\":{\"$sum\":\"$list\"}}}]");
}
void look_up(void) {
    aggregate(
        "[{\"$lookup\":{\"from\":\"things\",\"localField\":\"n\",\"foreignField\":\"n\",\"as\":\"same\"}},"
        "{\"$count\":\"n\"}]");
}

/* As many as are allowed go eight times into this. */
void many_stages(void) {
    static const char stage[] = "{\"$set\":{\"m\":{\"$add\":[\"$n\",1]}}},{\"$match\":{\"m\":{\"$gt\":0}}}";
    char *pipeline = malloc((size_t)size * sizeof stage + 3), *end = pipeline;
    for (int i = 0; i < size; i++)
        end += sprintf(end, "%c%s", i == 0 ? '[' : ',', stage);
    strcpy(end, "]");
    aggregate(pipeline);
    free(pipeline);
}
