/* Aggregation: what pipelines make of entities, and what is wrong with some. */
#include "aggregates.h"
#include "indexes.h"

static void save_orders(hf_repository *things) {
    save_all(things, NULL,
             "[{'id':'a','n':1,'by':'ann','tags':['x','y'],'at':{'city':'Kassel','zip':1}},"
             "{'id':'b','n':2.5,'by':'bob','tags':[],'at':{'city':'Bonn'}},"
             "{'id':'c','n':3,'by':'ann','tags':['y'],'at':{'city':'Kassel'}},"
             "{'id':'d','n':4,'tags':null},"
             "{'id':'e','n':1.0,'by':null,'tags':'z','at':[{'city':'Ulm'},{'city':'Bonn'}]}]");
}

static const struct {
    const char *pipeline, *documents;
} pipelines[] = {
    {"[]", "[{'id':'a','n':1,'by':'ann','tags':['x','y'],'at':{'city':'Kassel','zip':1}},"
           "{'id':'b','n':2.5,'by':'bob','tags':[],'at':{'city':'Bonn'}},"
           "{'id':'c','n':3,'by':'ann','tags':['y'],'at':{'city':'Kassel'}},{'id':'d','n':4,'tags':null},"
           "{'id':'e','n':1.0,'by':null,'tags':'z','at':[{'city':'Ulm'},{'city':'Bonn'}]}]"},
    {"[{'$match':{'by':'ann'}},{'$count':'all'}]", "[{'all':2}]"},
    {"[{'$match':{'by':'eve'}},{'$count':'all'}]", "[]"},
    {"[{'$match':{'$expr':{'$gt':['$n',2]},'by':{'$ne':null}}},{'$project':{'n':1}}]",
     "[{'id':'b','n':2.5},{'id':'c','n':3}]"},
    {"[{'$group':{'_id':'$by','sum':{'$sum':'$n'},'all':{'$sum':1}}}]",
     "[{'_id':null,'sum':5.0,'all':2},{'_id':'ann','sum':4,'all':2},{'_id':'bob','sum':2.5,'all':1}]"},
    {"[{'$group':{'_id':null,'low':{'$min':'$n'},'high':{'$max':'$n'},'mean':{'$avg':'$n'},"
     "'ids':{'$push':'$id'},'by':{'$addToSet':'$by'},'count':{'$count':{}}}}]",
     "[{'_id':null,'low':1,'high':4,'mean':2.3,'ids':['a','b','c','d','e'],'by':['ann','bob',null],'count':5}"
     "]"},
    {"[{'$match':{'by':'eve'}},{'$group':{'_id':null,'all':{'$sum':1}}}]", "[]"},
    {"[{'$group':{'_id':'$n','ids':{'$push':'$id'}}},{'$sort':{'_id':-1}},{'$limit':3}]",
     "[{'_id':4,'ids':['d']},{'_id':3,'ids':['c']},{'_id':2.5,'ids':['b']}]"},
    {"[{'$match':{'n':1}},{'$group':{'_id':'$n','ids':{'$push':'$id'}}}]", "[{'_id':1,'ids':['a','e']}]"},
    {"[{'$group':{'_id':{'by':'$by','city':'$at.city'},'first':{'$first':'$id'},'last':{'$last':'$id'}}},"
     "{'$match':{'_id.by':'ann'}}]",
     "[{'_id':{'by':'ann','city':'Kassel'},'first':'a','last':'c'}]"},
    {"[{'$sort':{'n':-1,'id':1}},{'$project':{'id':1}}]",
     "[{'id':'d'},{'id':'c'},{'id':'b'},{'id':'a'},{'id':'e'}]"},
    {"[{'$sort':{'n':-1}},{'$skip':1},{'$limit':2},{'$project':{'id':1}}]", "[{'id':'c'},{'id':'b'}]"},
    {"[{'$limit':4},{'$skip':1},{'$limit':2},{'$project':{'id':1}}]", "[{'id':'b'},{'id':'c'}]"},
    {"[{'$limit':2},{'$skip':3},{'$project':{'id':1}}]", "[]"},
    {"[{'$limit':3},{'$match':{'by':'ann'}},{'$project':{'id':1}}]", "[{'id':'a'},{'id':'c'}]"},
    {"[{'$limit':3},{'$sort':{'id':-1}},{'$project':{'id':1}}]", "[{'id':'c'},{'id':'b'},{'id':'a'}]"},
    {"[{'$project':{'double':{'$add':['$n','$n']},'id':0,'at.city':1}},{'$limit':2}]",
     "[{'at':{'city':'Kassel'},'double':2},{'at':{'city':'Bonn'},'double':5.0}]"},
    {"[{'$project':{'tags':0,'n':0,'at.zip':0}},{'$limit':2}]",
     "[{'id':'a','by':'ann','at':{'city':'Kassel'}},{'id':'b','by':'bob','at':{'city':'Bonn'}}]"},
    {"[{'$match':{'id':'e'}},{'$project':{'at':{'city':1,'of':'$id'}}}]",
     "[{'id':'e','at':[{'city':'Ulm','of':'e'},{'city':'Bonn','of':'e'}]}]"},
    {"[{'$match':{'id':'d'}},{'$set':{'n':'$id','at.city':'Ulm','gone':'$missing'}}]",
     "[{'id':'d','n':'d','tags':null,'at':{'city':'Ulm'}}]"},
    {"[{'$match':{'id':'d'}},{'$addFields':{'n':'$$REMOVE'}},{'$unset':'tags'}]", "[{'id':'d'}]"},
    {"[{'$match':{'id':'a'}},{'$unset':['tags','at.zip','n','none']}]",
     "[{'id':'a','by':'ann','at':{'city':'Kassel'}}]"},
    {"[{'$unwind':'$tags'},{'$project':{'tags':1}}]",
     "[{'id':'a','tags':'x'},{'id':'a','tags':'y'},{'id':'c','tags':'y'},{'id':'e','tags':'z'}]"},
    {"[{'$unwind':{'path':'$tags','includeArrayIndex':'i','preserveNullAndEmptyArrays':true}},"
     "{'$project':{'tags':1,'i':1}}]",
     "[{'id':'a','tags':'x','i':0},{'id':'a','tags':'y','i':1},{'id':'b','i':null},{'id':'c','tags':'y','i':"
     "0},"
     "{'id':'d','tags':null,'i':null},{'id':'e','tags':'z','i':null}]"},
    {"[{'$unwind':'$tags'},{'$sortByCount':'$tags'}]",
     "[{'_id':'y','count':2},{'_id':'x','count':1},{'_id':'z','count':1}]"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[0,2,4],'default':'more','output':{'ids':{'$push':'$id'}}}}]",
     "[{'_id':0,'ids':['a','e']},{'_id':2,'ids':['b','c']},{'_id':'more','ids':['d']}]"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[0,3,9]}}]", "[{'_id':0,'count':3},{'_id':3,'count':2}]"},
    {"[{'$match':{'id':'a'}},{'$replaceRoot':{'newRoot':'$at'}}]", "[{'city':'Kassel','zip':1}]"},
    {"[{'$match':{'id':'a'}},{'$replaceWith':{'of':'$id'}},{'$project':{'of':1}}]", "[{'of':'a'}]"},
    {"[{'$group':{'_id':'$tags','all':{'$sum':1}}}]",
     "[{'_id':null,'all':1},{'_id':'z','all':1},{'_id':[],'all':1},{'_id':['x','y'],'all':1},"
     "{'_id':['y'],'all':1}]"},
    {"[{'$set':{'n':{'$add':['$n',10]}}},{'$match':{'n':{'$gt':12.5}}},{'$project':{'n':1}}]",
     "[{'id':'c','n':13},{'id':'d','n':14}]"},
    {"[{'$set':{'m':'$n'}},{'$sort':{'m':-1}},{'$skip':1},{'$limit':2},{'$project':{'m':1}}]",
     "[{'id':'c','m':3},{'id':'b','m':2.5}]"},
    {"[{'$unwind':'$tags'},{'$match':{'by':'ann','tags':'y'}},{'$project':{'tags':1}}]",
     "[{'id':'a','tags':'y'},{'id':'c','tags':'y'}]"},
    /* Of the other repository everybody is found by a name, and by what is missing. */
    {"[{'$lookup':{'from':'people','localField':'by','foreignField':'name','as':'who'}},"
     "{'$project':{'who.id':1}}]",
     "[{'id':'a','who':[{'id':1}]},{'id':'b','who':[{'id':2},{'id':3}]},{'id':'c','who':[{'id':1}]},"
     "{'id':'d','who':[{'id':4}]},{'id':'e','who':[{'id':4}]}]"},
    {"[{'$match':{'id':{'$in':['a','b']}}},"
     "{'$lookup':{'from':'people','localField':'tags','foreignField':'likes','as':'who'}},"
     "{'$unwind':'$who'},{'$project':{'id':'$who.id','_id':'$id'}}]",
     "[{'id':1,'_id':'a'},{'id':3,'_id':'a'},{'id':2,'_id':'b'},{'id':4,'_id':'b'}]"},
    {"[{'$lookup':{'from':'people','localField':'n','foreignField':'id','as':'a.b'}},"
     "{'$match':{'a.b.name':'ann'}},{'$project':{'_id':'$id','id':0}}]",
     "[{'_id':'a'},{'_id':'e'}]"},
};

static void save_people(hf_store *store) {
    hf_repository *people = open_repository(store, "people");
    save_all(people, NULL,
             "[{'id':1,'name':'ann','likes':['x','y']},{'id':2,'name':'bob'},"
             "{'id':3,'name':'bob','likes':'x'},{'id':4,'likes':null}]");
    hf_repository_free(people);
}

static void expect_all_pipelines(hf_repository *things, hf_transaction *t) {
    for (size_t i = 0; i < COUNT_OF(pipelines); i++)
        expect_documents(things, t, pipelines[i].pipeline, NULL, pipelines[i].documents);
}

static void pipelines_make_of_entities_what_mongodb_makes(room r) {
    save_orders(r.things);
    save_people(r.store);
    expect_all_pipelines(r.things, NULL);
}

static void indexes_change_nothing_that_pipelines_make(room r) {
    save_orders(r.things);
    save_people(r.store);
    create_index(r, "{\"fields\":{\"by\":1}}");
    create_index(r, "{\"fields\":{\"at.city\":1}}");
    create_index(r, "{\"fields\":{\"tags\":1}}");
    create_index(r, "{\"fields\":{\"n\":-1}}");
    room people = {r.store, open_repository(r.store, "people")};
    create_index(people, "{\"fields\":{\"name\":1}}");
    create_index(people, "{\"fields\":{\"likes\":1}}");
    expect_all_pipelines(r.things, NULL);
    hf_repository_free(people.things);
}

static void a_transaction_aggregates_what_it_has_written(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"n\":7}");
    save(r.things, NULL, "{\"id\":\"z\",\"n\":7}");
    hf_transaction *t = begin(r.store, NULL);
    save_orders(r.things);
    expect_documents(r.things, t, "[{'$count':'all'}]", NULL, "[{'all':6}]");
    hf_transaction_free(t);
    t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"b\",\"n\":2}");
    expect_ok(hf_repository_delete, r.things, t, "z", HF_NTS, 0);
    expect_documents(r.things, t, "[{'$group':{'_id':null,'n':{'$sum':'$n'},'ids':{'$push':'$id'}}}]", NULL,
                     "[{'_id':null,'n':11.0,'ids':['a','b','c','d','e']}]");
    commit_quietly(t);
}

static const struct {
    const char *pipeline;
    hf_status status;
    const char *operator, * path, *says; /* NULL where the detail has none */
} refusals[] = {
    {"{}", HF_INVALID_QUERY, NULL, NULL, "must be a JSON array"},
    {"[", HF_INVALID_JSON, NULL, NULL, "pipeline"},
    {"[1]", HF_INVALID_QUERY, NULL, NULL, "stage 0"},
    {"[{}]", HF_INVALID_QUERY, NULL, NULL, "one member"},
    {"[{'$match':{},'$limit':1}]", HF_INVALID_QUERY, NULL, NULL, "one member"},
    {"[{'$matches':{}}]", HF_INVALID_QUERY, "$matches", NULL, "did you mean \"$match\"?"},
    {"[{'$out':'x'}]", HF_INVALID_QUERY, "$out", NULL, "supported are"},
    {"[{'$match':1}]", HF_INVALID_QUERY, "$match", NULL, "a JSON object"},
    {"[{'$match':{'n':{'$gtt':1}}}]", HF_INVALID_QUERY, "$gtt", "n", "did you mean \"$gt\"?"},
    {"[{'$match':{'n':{'$in':1}}}]", HF_INVALID_QUERY, "$in", "n", "an array"},
    {"[{'$group':{}}]", HF_INVALID_QUERY, "$group", "_id", "\"_id\""},
    {"[{'$group':1}]", HF_INVALID_QUERY, "$group", NULL, "an object"},
    {"[{'$group':{'_id':null,'a':1}}]", HF_INVALID_QUERY, NULL, "$group.a", "one accumulator"},
    {"[{'$group':{'_id':null,'a':{'$summ':1}}}]", HF_INVALID_QUERY, "$summ", "$group.a",
     "did you mean \"$sum\"?"},
    {"[{'$group':{'_id':null,'a.b':{'$sum':1}}}]", HF_INVALID_QUERY, "$group", NULL, "without dots"},
    {"[{'$group':{'_id':{'$adds':[1,2]}}}]", HF_INVALID_QUERY, "$adds", NULL, "$add"},
    {"[{'$sort':{}}]", HF_INVALID_QUERY, "$sort", NULL, "1 to 32"},
    {"[{'$sort':{'a':2}}]", HF_INVALID_QUERY, "$sort", "a", "-1"},
    {"[{'$sort':{'a..b':1}}]", HF_INVALID_QUERY, "$sort", "a..b", "not empty"},
    {"[{'$limit':0}]", HF_INVALID_QUERY, "$limit", NULL, "from 1"},
    {"[{'$limit':-1}]", HF_INVALID_QUERY, "$limit", NULL, "from 1"},
    {"[{'$limit':1.5}]", HF_INVALID_QUERY, "$limit", NULL, "whole number"},
    {"[{'$limit':9007199254740993}]", HF_INVALID_QUERY, "$limit", NULL, "2^53"},
    {"[{'$limit':1e300}]", HF_INVALID_QUERY, "$limit", NULL, "2^53"},
    {"[{'$skip':-1}]", HF_INVALID_QUERY, "$skip", NULL, "from 0"},
    {"[{'$skip':'1'}]", HF_INVALID_QUERY, "$skip", NULL, "whole number"},
    {"[{'$project':{}}]", HF_INVALID_QUERY, "$project", NULL, "at least one"},
    {"[{'$project':{'a':1,'b':0}}]", HF_INVALID_QUERY, "$project", "b", "all 1 or all 0"},
    {"[{'$project':{'a':0,'b':'$c'}}]", HF_INVALID_QUERY, "$project", "b", "$set"},
    {"[{'$project':{'a':1,'a.b':1}}]", HF_INVALID_QUERY, "$project", "a.b", "twice"},
    {"[{'$project':{'a.b':1,'a':1}}]", HF_INVALID_QUERY, "$project", "a", "twice"},
    {"[{'$project':{'a':{}}}]", HF_INVALID_QUERY, "$project", "a", "$literal"},
    {"[{'$set':{'a.':1}}]", HF_INVALID_QUERY, "$set", "a.", "not empty"},
    {"[{'$set':{'$a':1}}]", HF_INVALID_QUERY, "$set", "$a", "begin with"},
    {"[{'$set':{'a':{'$add':[1]},'b':{'$nope':1}}}]", HF_INVALID_QUERY, "$nope", NULL, "$set.b"},
    {"[{'$unset':1}]", HF_INVALID_QUERY, "$unset", NULL, "a path"},
    {"[{'$unset':[]}]", HF_INVALID_QUERY, "$unset", NULL, "at least one"},
    {"[{'$unwind':'a'}]", HF_INVALID_QUERY, "$unwind", "path", "$items"},
    {"[{'$unwind':{'path':'$a','index':'i'}}]", HF_INVALID_QUERY, "$unwind", "index", "includeArrayIndex"},
    {"[{'$unwind':{'path':'$a','includeArrayIndex':1}}]", HF_INVALID_QUERY, "$unwind", "includeArrayIndex",
     "the name"},
    {"[{'$unwind':{'path':'$a','preserveNullAndEmptyArrays':1}}]", HF_INVALID_QUERY, "$unwind",
     "preserveNullAndEmptyArrays", "true or false"},
    {"[{'$count':''}]", HF_INVALID_QUERY, "$count", NULL, "the name"},
    {"[{'$count':'$a'}]", HF_INVALID_QUERY, "$count", NULL, "the name"},
    {"[{'$sortByCount':'a'}]", HF_INVALID_QUERY, "$sortByCount", NULL, "a path"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[1]}}]", HF_INVALID_QUERY, "$bucket", "boundaries",
     "at least two"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[1,1]}}]", HF_INVALID_QUERY, "$bucket", "boundaries.1",
     "ascending"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[1,'2']}}]", HF_INVALID_QUERY, "$bucket", "boundaries.1",
     "one type"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[1,5],'default':3}}]", HF_INVALID_QUERY, "$bucket", "default",
     "below all"},
    {"[{'$bucket':{'groupBy':'$n','boundaries':[1,3]}}]", HF_INVALID_QUERY, "$bucket", "groupBy",
     "no bucket for the value 3"},
    {"[{'$bucket':{'boundaries':[1,5]}}]", HF_INVALID_QUERY, "$bucket", "groupBy", "give it one"},
    {"[{'$lookup':{'from':'things','localField':'a','foreignField':'b'}}]", HF_INVALID_QUERY, "$lookup", "as",
     "give it one"},
    {"[{'$lookup':{'from':'things','localField':'a','foreignField':'b','as':'c','let':{}}}]",
     HF_INVALID_QUERY, "$lookup", "let", "unknown member"},
    {"[{'$lookup':{'from':'none','localField':'a','foreignField':'b','as':'c'}}]", HF_NOT_FOUND, "$lookup",
     "from", "no repository"},
    {"[{'$replaceRoot':{}}]", HF_INVALID_QUERY, "$replaceRoot", "newRoot", "give it one"},
    {"[{'$replaceWith':'$n'}]", HF_INVALID_QUERY, "$replaceWith", NULL, "makes an object"},
    {"[{'$limit':{'$param':'none'}}]", HF_INVALID_QUERY, "$limit", NULL, "no value"},
    {"[{'$match':{'n':{'$param':'none'}}}]", HF_INVALID_QUERY, NULL, NULL, "no value"},
    {"[{'$set':{'n':{'$param':'none'}}}]", HF_INVALID_QUERY, NULL, NULL, "none"},
};

static void expect_text_detail(hf_error *error, const char *name, const char *text) {
    size_t length = 0;
    const char *detail = hf_error_detail(error, &length);
    char *found = part_of(detail, length, name), quoted_text[128];
    if (text == NULL) {
        free(found);
        return;
    }
    snprintf(quoted_text, sizeof quoted_text, "\"%s\"", text);
    assert_non_null(found);
    assert_string_equal(found, quoted_text);
    free(found);
}

static void what_is_wrong_with_a_pipeline_is_told_with_its_stage_operator_and_path(room r) {
    save_orders(r.things);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        hf_buffer out = HF_BUFFER_INIT;
        assert_true(hf_buffer_set(&out, "before", HF_NTS));
        hf_error *error =
            error_of(refusals[i].status, aggregate, r.things, NULL, refusals[i].pipeline, NULL, &out);
        if (strstr(hf_error_message(error), refusals[i].says) == NULL)
            fail_msg("%s: %s", refusals[i].pipeline, hf_error_message(error));
        expect_text_detail(error, "operator", refusals[i].operator);
        expect_text_detail(error, "path", refusals[i].path);
        assert_string_equal(out.data, "before");
        hf_error_free(error);
        hf_buffer_free(&out);
    }
    /* The second stage, and where in the text. */
    hf_buffer out = HF_BUFFER_INIT;
    hf_error *error = error_of(HF_INVALID_QUERY, aggregate, r.things, NULL,
                               "[{'$limit':1},{'$match':{'n':{'$gtt':1}}}]", NULL, &out);
    size_t length = 0;
    const char *detail = hf_error_detail(error, &length);
    char *stage = part_of(detail, length, "stage"), *position = part_of(detail, length, "position");
    assert_string_equal(stage, "1");
    assert_string_equal(position, "30");
    free(stage);
    free(position);
    hf_error_free(error);
    hf_buffer_free(&out);
}

static void parameters_are_literals_whatever_they_look_like(room r) {
    save_orders(r.things);
    save(r.things, NULL, "{\"id\":\"f\",\"n\":9,\"by\":\"$n\"}");
    expect_documents(r.things, NULL,
                     "[{'$match':{'by':{'$param':'by'}}},{'$set':{'x':{'$param':'by'}}},"
                     "{'$limit':{'$param':'most'}}]",
                     "{'parameters':{'by':'$n','most':1}}", "[{'id':'f','n':9,'by':'$n','x':'$n'}]");
    expect_documents(r.things, NULL,
                     "[{'$match':{'$expr':{'$eq':['$n',{'$param':'n'}]}}},{'$project':{'n':1}}]",
                     "{'parameters':{'n':4}}", "[{'id':'d','n':4}]");
    hf_buffer out = HF_BUFFER_INIT;
    expect(HF_INVALID_QUERY, aggregate, r.things, NULL, "[{'$limit':{'$param':'most'}}]",
           "{'parameters':{'most':1,'moist':2}}", &out);
    expect(HF_INVALID_OPTION, aggregate, r.things, NULL, "[]", "{'parameters':1}", &out);
    expect(HF_INVALID_OPTION, aggregate, r.things, NULL, "[]", "{'limit':1}", &out);
    expect(HF_INVALID_OPTION, aggregate, r.things, NULL, "[]", "{'max_memory_bytes':0}", &out);
    hf_buffer_free(&out);
}

int main(void) {
    const scenario scenarios[] = {
        EACH_ENGINE(pipelines_make_of_entities_what_mongodb_makes),
        EACH_ENGINE(indexes_change_nothing_that_pipelines_make),
        EACH_ENGINE(a_transaction_aggregates_what_it_has_written),
        ONCE(what_is_wrong_with_a_pipeline_is_told_with_its_stage_operator_and_path),
        ONCE(parameters_are_literals_whatever_they_look_like),
    };
    return run_scenarios("aggregate", scenarios, COUNT_OF(scenarios));
}
