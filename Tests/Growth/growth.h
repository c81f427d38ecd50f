/* What the verbs of both files work on, and those that work on large payloads. */
#ifndef GROWTH_H
#define GROWTH_H

#include <holdfast.h>

extern hf_repository *things;
extern hf_error *error;
extern int size;

/* A call that nothing stands in the way of. */
void must(hf_status status);
void few_entities(void);

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
void many_ids(void);
void many_values(void);
void many_alternatives(void);
void many_conditions(void);
void find_by_the_prepared(void);

#endif
