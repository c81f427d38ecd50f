/* What the verbs of both files work on, and those that work on large payloads. */
#ifndef GROWTH_H
#define GROWTH_H

#include <holdfast.h>

extern hf_repository *things;
extern hf_error *error;
extern int size;

/* Those of aggregates.c. */
#define AGGREGATE_VERBS                                                                                      \
    {"group-into-few", 1.1, 200, many_entities, group_into_few},                                             \
        {"group-into-many", 1.25, 200, many_entities, group_into_many},                                      \
        {"group-by-an-index", 1.15, 200, indexed_entities, group_into_many},                                 \
        {"sort-in-a-pipeline", 1.25, 200, many_entities, sort_in_a_pipeline},                                \
        {"unwind", 1.1, 200, large_stored_array, unwind}, {"look-up", 1.2, 100, many_entities, look_up},     \
        {"look-up-by-an-index", 1.2, 100, indexed_entities, look_up}, {                                      \
        "pipeline-of-stages", 1.15, 40, few_entities, many_stages                                            \
    }

/* Of which 64 times as many are more than the library allows, or, the last two, than it waits for under
 * callgrind. */
#define LIMITED_VERBS                                                                                        \
    "save-of-depth", "save-of-an-indexed-array", "pipeline-of-stages", "filter-of-alternatives",             \
        "filter-of-conditions", "commits-submitted-at-once", "save-beside-live-queries"

/* A call that nothing stands in the way of. */
void must(hf_status status);
void few_entities(void);

void group_into_few(void);
void group_into_many(void);
void sort_in_a_pipeline(void);
void large_stored_array(void);
void unwind(void);
void look_up(void);
void many_stages(void);

void large_array(void);
void save_the_prepared(void);
void save_an_indexed_array(void);
void indexed_large_array(void);
void modify_by_the_prepared(void);
void push_many(void);
void add_many_to_a_set(void);
void pull_many(void);
void set_many(void);
void set_many_elements(void);
void patch_many(void);
void patch_by_the_prepared(void);
void many_members(void);
void nested(void);
void indexed_long_text(void);
void many_ids(void);
void many_values(void);
void many_alternatives(void);
void many_conditions(void);
void find_by_the_prepared(void);

void live_queries(void);
void open_and_close_live_queries(void);

#endif
