/* How aggregations run: in transactions, live, within limits, along indexes, and interrupted. */
#include "aggregates.h"
#include "interrupts.h"
#include "listener.h"
#include "shelf.h"

static const char by_group[] = "[{'$match':{'open':true}},{'$group':{'_id':'$g','n':{'$sum':'$n'}}}]";

/* --- Transactions -------------------------------------------------------------------------------- */

/* A transaction aggregates, and saves something else; meanwhile another commit does `write`. Answers what the
 * commit is answered. */
static hf_status commit_beside(room r, const char *pipeline, void (*write)(room r)) {
    hf_transaction *t = begin(r.store, NULL);
    hf_buffer out = HF_BUFFER_INIT;
    expect_ok(aggregate, r.things, t, pipeline, NULL, &out);
    hf_buffer_free(&out);
    write(r);
    hf_repository *notes = open_repository(r.store, "notes");
    save(notes, t, "{\"id\":\"note\"}");
    hf_repository_free(notes);
    hf_status status = hf_transaction_commit(t, NULL, NULL);
    hf_transaction_free(t);
    return status;
}

static void add_to_a_group(room r) { save(r.things, NULL, "{\"id\":\"z\",\"g\":1,\"n\":1,\"open\":true}"); }
static void change_in_a_group(room r) {
    save(r.things, NULL, "{\"id\":\"a\",\"g\":1,\"n\":9,\"open\":true}");
}
static void leave_a_group(room r) { save(r.things, NULL, "{\"id\":\"b\",\"g\":2,\"n\":2,\"open\":false}"); }
static void add_beside_the_groups(room r) { save(r.things, NULL, "{\"id\":\"y\",\"g\":1,\"n\":1}"); }
static void rename_ann(room r) {
    hf_repository *people = open_repository(r.store, "people");
    save(people, NULL, "{\"id\":\"p\",\"name\":\"ann\",\"age\":3}");
    hf_repository_free(people);
}
static void add_a_second_ann(room r) {
    hf_repository *people = open_repository(r.store, "people");
    save(people, NULL, "{\"id\":\"q\",\"name\":\"ann\"}");
    hf_repository_free(people);
}
static void add_somebody(room r) {
    hf_repository *people = open_repository(r.store, "people");
    save(people, NULL, "{\"id\":\"s\",\"name\":\"zoe\"}");
    hf_repository_free(people);
}

static void a_commit_that_changes_a_group_is_a_conflict(room r) {
    save_groups(r);
    assert_int_equal(commit_beside(r, by_group, add_beside_the_groups), HF_OK);
    assert_int_equal(commit_beside(r, by_group, add_to_a_group), HF_CONFLICT);
    assert_int_equal(commit_beside(r, by_group, change_in_a_group), HF_CONFLICT);
    assert_int_equal(commit_beside(r, by_group, leave_a_group), HF_CONFLICT);
}

static void a_commit_that_changes_what_was_looked_up_is_a_conflict(room r) {
    static const char looked_up[] =
        "[{'$match':{'open':true}},"
        "{'$lookup':{'from':'people','localField':'by','foreignField':'name','as':'who'}}]";
    save_groups(r);
    room people = {r.store, open_repository(r.store, "people")};
    assert_int_equal(commit_beside(r, looked_up, rename_ann), HF_CONFLICT);
    assert_int_equal(commit_beside(r, looked_up, add_a_second_ann), HF_CONFLICT);
    create_index(people, "{\"fields\":{\"name\":1}}");
    assert_int_equal(commit_beside(r, looked_up, rename_ann), HF_CONFLICT);
    assert_int_equal(commit_beside(r, looked_up, add_a_second_ann), HF_CONFLICT);
    assert_int_equal(commit_beside(r, looked_up, add_somebody), HF_OK);
    hf_repository_free(people.things);
}

static void a_provider_s_entities_are_aggregated(shelf *s) {
    room r = open_shelf(s, CAN_APPLY | CAN_FIND, NULL);
    save_groups(r);
    expect_documents(r.things, NULL, by_group, NULL, "[{'_id':1,'n':5},{'_id':2,'n':2}]");
    expect_documents(r.things, NULL,
                     "[{'$match':{'g':1}},{'$lookup':{'from':'people','localField':'by',"
                     "'foreignField':'name','as':'who'}},{'$project':{'who.id':1}}]",
                     NULL, "[{'id':'a','who':[{'id':'p'}]},{'id':'c','who':[{'id':'p'}]}]");
    hf_transaction *t = begin(r.store, NULL);
    save(r.things, t, "{\"id\":\"z\",\"g\":2,\"n\":1,\"open\":true}");
    expect_documents(r.things, t, by_group, NULL, "[{'_id':1,'n':5},{'_id':2,'n':3}]");
    hf_transaction_free(t);
    close_room(r);
}

/* --- Explaining ----------------------------------------------------------------------------------- */

static void expect_part(room r, const char *pipeline, const char *path, const char *expected) {
    hf_buffer out = HF_BUFFER_INIT;
    char *text = quoted(pipeline), *wanted = quoted(expected);
    expect_ok(hf_repository_explain_aggregate, r.things, NULL, text, HF_NTS, NULL, &out);
    char *part = part_of(out.data, out.length, path);
    if (part == NULL || strcmp(part, wanted) != 0)
        fail_msg("%s: \"%s\" is %s in %s", pipeline, path, part ? part : "missing", out.data);
    free(part);
    free(text);
    free(wanted);
    hf_buffer_free(&out);
}

static void explaining_tells_how_each_stage_is_carried_out(room r) {
    static const char late_match[] = "[{'$sort':{'n':1}},{'$set':{'x':1}},{'$match':{'g':1}}]";
    save_groups(r);
    expect_part(r, by_group, "access", "'scan'");
    expect_part(r, by_group, "examined", "4");
    expect_part(r, by_group, "matched", "3");
    expect_part(r, by_group, "returned", "2");
    expect_part(r, late_match, "sort", "'memory'");
    expect_part(r, late_match, "stages", "[{'stage':'$set','number':1}]");
    create_index(r, "{\"fields\":{\"g\":1}}");
    expect_part(r, late_match, "index", "'g'");
    expect_part(r, late_match, "bounds", "{'g':{'$eq':1}}");
    expect_part(r, "[{'$group':{'_id':'$g'}}]", "stages", "[{'stage':'$group','number':0,'group':'index'}]");
    expect_part(r, "[{'$group':{'_id':'$by'}}]", "stages",
                "[{'stage':'$group','number':0,'group':'memory'}]");
    expect_part(r, "[{'$limit':3},{'$group':{'_id':'$g'}}]", "stages",
                "[{'stage':'$group','number':1,'group':'memory'}]");
    expect_part(r, "[{'$group':{'_id':'$id'}}]", "stages", "[{'stage':'$group','number':0,'group':'id'}]");
    expect_part(r, "[{'$lookup':{'from':'things','localField':'g','foreignField':'id','as':'x'}}]", "stages",
                "[{'stage':'$lookup','number':0,'access':'id','index':null,'examined':0}]");
}

static void what_many_documents_lead_to_is_looked_up_once(room r) {
    enum { ORDERS = 3000, CUSTOMERS = 40 };
    static const char by_name[] =
        "[{'$lookup':{'from':'people','localField':'by','foreignField':'name','as':'who'}},"
        "{'$match':{'$expr':{'$eq':[{'$size':'$who'},2]}}},{'$count':'n'}]";
    static const char by_names[] =
        "[{'$lookup':{'from':'people','localField':'all','foreignField':'names','as':'who'}},"
        "{'$match':{'$expr':{'$eq':['$who.id',['a7','b7','b8']]}}},{'$count':'n'}]";
    room people = {r.store, open_repository(r.store, "people")};
    hf_transaction *t = begin(r.store, NULL);
    char text[128];
    for (int i = 0; i < ORDERS; i++) {
        snprintf(text, sizeof text, "{\"id\":%d,\"by\":%d,\"all\":[%d,%d,-5]}", i, i % (CUSTOMERS + 1),
                 i % CUSTOMERS, 1000 + i % CUSTOMERS);
        save(r.things, t, text);
    }
    for (int i = 0; i < 2 * CUSTOMERS; i++) {
        int number = i % CUSTOMERS;
        snprintf(text, sizeof text, "{\"id\":\"%c%d\",\"name\":%d,\"names\":[%d,%d]}",
                 i < CUSTOMERS ? 'a' : 'b', number, number, i < CUSTOMERS ? number : number - 1,
                 1000 + number);
        save(people.things, t, text);
    }
    commit_quietly(t);
    create_index(people, "{\"fields\":{\"name\":1}}");
    create_index(people, "{\"fields\":{\"names\":1}}");
    expect_documents(r.things, NULL, by_name, NULL, "[{'n':2927}]");
    expect_part(r, by_name, "stages",
                "[{'stage':'$lookup','number':0,'access':'index','index':'name','examined':80},"
                "{'stage':'$match','number':1},{'stage':'$count','number':2}]");
    expect_documents(r.things, NULL, by_names, NULL, "[{'n':75}]");
    /* A little memory holds a part of them, and as much as is left. */
    hf_buffer out = HF_BUFFER_INIT;
    for (int bytes = 1000; bytes < 64000; bytes += 1000) {
        snprintf(text, sizeof text, "{'max_memory_bytes':%d}", bytes);
        hf_status status = aggregate(r.things, NULL, by_names, text, &out, NULL);
        if (status == HF_OK)
            assert_string_equal(out.data, "[{\"n\":75}]");
        else
            assert_int_equal(status, HF_NO_MEMORY);
        assert_true(bytes < 63000 || status == HF_OK);
    }
    hf_buffer_free(&out);
    hf_repository_free(people.things);
}

/* --- Live ---------------------------------------------------------------------------------------- */

static void a_live_aggregation_tells_its_documents_whenever_they_have_changed(room r, listener *l) {
    save_groups(r);
    char *text = quoted(by_group);
    observe_aggregation(l, r.things, text);
    free(text);
    expect_event(l, 0, "{\"merged\":0,\"documents\":[{\"_id\":1,\"n\":5},{\"_id\":2,\"n\":2}]}");
    add_to_a_group(r);
    expect_event(l, 1, "{\"merged\":1,\"documents\":[{\"_id\":1,\"n\":6},{\"_id\":2,\"n\":2}]}");
    /* Nothing is told of what changes nothing. */
    add_beside_the_groups(r);
    add_somebody(r);
    leave_a_group(r);
    wait_for_events(l, 3);
    assert_int_equal(event_count(l), 3);
    pthread_mutex_lock(&l->lock);
    char *documents = json_dumps(json_object_get(json_array_get(l->events, 2), "documents"), JSON_COMPACT);
    pthread_mutex_unlock(&l->lock);
    assert_string_equal(documents, "[{\"_id\":1,\"n\":6}]");
    free(documents);
}

static void a_live_aggregation_follows_what_it_looks_up(room r, listener *l) {
    save_groups(r);
    observe_aggregation(l, r.things,
                        "[{\"$match\":{\"g\":2}},{\"$lookup\":{\"from\":\"people\",\"localField\":\"by\","
                        "\"foreignField\":\"name\",\"as\":\"who\"}},{\"$project\":{\"who\":1}}]");
    expect_event(l, 0, "{\"merged\":0,\"documents\":[{\"id\":\"b\",\"who\":[]}]}");
    hf_repository *people = open_repository(r.store, "people");
    save(people, NULL, "{\"id\":\"bob\",\"name\":\"bob\"}");
    hf_repository_free(people);
    expect_event(l, 1,
                 "{\"merged\":1,\"documents\":[{\"id\":\"b\",\"who\":[{\"id\":\"bob\",\"name\":\"bob\"}]}]}");
}

static void a_slow_consumer_of_a_live_aggregation_is_told_the_last_documents(room r, listener *l) {
    observe_aggregation(l, r.things, "[{\"$count\":\"n\"}]");
    wait_for_events(l, 1);
    hold(l);
    for (int i = 0; i < 100; i++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":\"r%d\"}", i);
        save(r.things, NULL, json);
    }
    hold_no_more(l);
    for (size_t count = 1;; count++) {
        wait_for_events(l, count);
        char *text = event_text(l, count - 1);
        bool is_last = strstr(text, "\"documents\":[{\"n\":100}]") != NULL;
        free(text);
        if (is_last)
            break;
    }
    assert_true(event_count(l) <= 30);
}

static void a_live_aggregation_that_fails_ends_with_the_reason(room r) {
    listener l;
    begin_listening(&l);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    observe_aggregation(&l, r.things, "[{\"$bucket\":{\"groupBy\":\"$n\",\"boundaries\":[0,2]}}]");
    wait_for_events(&l, 1);
    save(r.things, NULL, "{\"id\":\"b\",\"n\":3}");
    pthread_mutex_lock(&l.lock);
    while (l.ended == 0)
        pthread_cond_wait(&l.changed, &l.lock);
    assert_int_equal(l.end, HF_INVALID_QUERY);
    pthread_mutex_unlock(&l.lock);
    end_listening(&l);
}

static void closing_a_store_ends_its_live_aggregations(room r) {
    listener l;
    begin_listening(&l);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    observe_aggregation(&l, r.things, "[{\"$count\":\"n\"}]");
    wait_for_events(&l, 1);
    save(r.things, NULL, "{\"id\":\"b\",\"n\":3}");
    expect_ok(hf_store_close, r.store, 10000);
    wait_for_events(&l, 2);
    pthread_mutex_lock(&l.lock);
    while (l.ended == 0)
        pthread_cond_wait(&l.changed, &l.lock);
    assert_int_equal(l.end, HF_CLOSED);
    pthread_mutex_unlock(&l.lock);
    hf_buffer out = HF_BUFFER_INIT;
    expect(HF_CLOSED, aggregate, r.things, NULL, "[]", NULL, &out);
    hf_buffer_free(&out);
    end_listening(&l);
}

typedef struct counting {
    room r;
    atomic_int runs;
    hf_status status;
} counting;

static void *count_until_closed(void *argument) {
    counting *c = argument;
    do {
        hf_buffer out = HF_BUFFER_INIT;
        c->status =
            aggregate(c->r.things, NULL, "[{'$group':{'_id':'$n'}},{'$sort':{'_id':-1}}]", NULL, &out, NULL);
        hf_buffer_free(&out);
        atomic_fetch_add(&c->runs, 1);
    } while (c->status == HF_OK);
    return NULL;
}

static void a_store_closes_while_others_aggregate(room r) {
    fill(r, MANY);
    counting c = {.r = r};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count_until_closed, &c), 0);
    while (atomic_load(&c.runs) < 3)
        sleep_milliseconds(1);
    expect_ok(hf_store_close, r.store, -1);
    pthread_join(thread, NULL);
    assert_int_equal(c.status, HF_CLOSED);
}

/* --- Interrupts ---------------------------------------------------------------------------------- */

static void an_aggregation_ends_where_its_thread_is_told_to(room r) {
    static const char *const pipelines[] = {
        "[{'$group':{'_id':'$n'}},{'$sort':{'_id':-1}},{'$count':'n'}]",
        "[{'$sort':{'n':1}},{'$set':{'x':['$n','$few']}},{'$unwind':'$x'},{'$sort':{'x':1}}]",
        "[{'$limit':50},{'$lookup':{'from':'things','localField':'few','foreignField':'few','as':'x'}}]",
    };
    fill(r, MANY);
    hf_buffer out = HF_BUFFER_INIT;
    for (size_t i = 0; i < COUNT_OF(pipelines); i++) {
        for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
            hf_transaction *t = in_transaction ? begin(r.store, NULL) : NULL;
            check c = {0};
            hf_interrupt_set_check(is_to_end, &c);
            expect_ok(aggregate, r.things, t, pipelines[i], NULL, &out);
            assert_true(c.asked > 3);
            int asked = c.asked;
            for (int end_at = 1; end_at < asked; end_at += 1 + asked / 5) {
                c = (check){.end_at = end_at};
                hf_status status = aggregate(r.things, t, pipelines[i], NULL, &out, NULL);
                /* How often it is asked while it waits for a server is not the same each time. */
                assert_int_equal(status, c.asked >= end_at ? HF_CANCELLED : HF_OK);
            }
            hf_interrupt_set_check(NULL, NULL);
            expect_ok(aggregate, r.things, t, pipelines[i], NULL, &out);
            hf_transaction_free(t);
        }
    }
    hf_buffer_free(&out);
}

int main(void) {
    ask_all_the_time();
    const scenario scenarios[] = {
        EACH_ENGINE(a_commit_that_changes_a_group_is_a_conflict),
        EACH_ENGINE(a_commit_that_changes_what_was_looked_up_is_a_conflict),
        ONCE(a_provider_s_entities_are_aggregated),
        EACH_ENGINE(explaining_tells_how_each_stage_is_carried_out),
        EACH_ENGINE(what_many_documents_lead_to_is_looked_up_once),
        EACH_ENGINE(a_live_aggregation_tells_its_documents_whenever_they_have_changed),
        EACH_ENGINE(a_live_aggregation_follows_what_it_looks_up),
        EACH_ENGINE(a_slow_consumer_of_a_live_aggregation_is_told_the_last_documents),
        EACH_ENGINE(a_live_aggregation_that_fails_ends_with_the_reason),
        EACH_ENGINE(closing_a_store_ends_its_live_aggregations),
        EACH_ENGINE(a_store_closes_while_others_aggregate),
        EACH_ENGINE(an_aggregation_ends_where_its_thread_is_told_to),
    };
    return run_scenarios("aggregate runs", scenarios, COUNT_OF(scenarios));
}
