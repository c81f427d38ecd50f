/*
 * A pie chart whose slices must make 100 per cent: objects of the program's own that change together with the
 * entities that store them, or not at all.
 *
 *   cc pie_chart.c $(pkg-config --cflags --libs holdfast) -o pie_chart && ./pie_chart
 *
 * The chart is the root of an object tree and each slice a member below it. A transaction over both backs the
 * objects up, asks them whether they agree to what was done, stores them, and brings them back when anything
 * goes wrong, whoever refused. Every step checks what it shows.
 */
#include <holdfast.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPECT(expected, call)                                                                               \
    do {                                                                                                     \
        hf_error *error = NULL;                                                                              \
        hf_status status = (call);                                                                           \
        if (status != (expected)) {                                                                          \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, hf_status_name(status), hf_error_message(error)); \
            exit(1);                                                                                         \
        }                                                                                                    \
        hf_error_free(error);                                                                                \
    } while (0)
#define OK(call) EXPECT(HF_OK, call)

static void check(bool is_so, const char *sentence) {
    printf("  %s %s\n", is_so ? "ok" : "NOT SO:", sentence);
    if (!is_so)
        exit(1);
}

/* --- The objects ---------------------------------------------------------------------------------------- */

enum { MOST_SLICES = 8, TOTAL_IS_NOT_100 = 100, NO_PERCENTAGE = 101 };

typedef struct chart chart;

typedef struct slice {
    hf_participant *handle;
    chart *chart;
    const char *label;
    int percentage, percentage_before;
} slice;

struct chart {
    hf_participant *handle;
    hf_store *store;
    hf_repository *slices_stored;
    slice slices[MOST_SLICES];
    int count, count_before;
};

static void chart_begins(const uint8_t *descriptor, void *user_data) {
    (void)descriptor;
    chart *c = user_data;
    c->count_before = c->count;
}

static hf_status chart_is_whole(hf_transaction *t, void *user_data, hf_error **out_error) {
    (void)t;
    chart *c = user_data;
    int total = 0;
    for (int i = 0; i < c->count; i++)
        total += c->slices[i].percentage;
    if (total == 100)
        return HF_OK;
    *out_error = hf_error_create(HF_REFUSED, TOTAL_IS_NOT_100, "the slices do not make 100 per cent");
    return HF_REFUSED;
}

/* What joined in the transaction goes again. The slices have been told before, children first. */
static void chart_goes_back(const uint8_t *descriptor, void *user_data) {
    (void)descriptor;
    chart *c = user_data;
    for (int i = c->count_before; i < c->count; i++)
        hf_participant_free(c->slices[i].handle);
    c->count = c->count_before;
}

static void slice_begins(const uint8_t *descriptor, void *user_data) {
    (void)descriptor;
    slice *s = user_data;
    s->percentage_before = s->percentage;
}

/* The one who validates also stores: only validators may write by now, and all that they write belongs to the
 * transaction. */
static hf_status slice_is_stored(hf_transaction *t, void *user_data, hf_error **out_error) {
    slice *s = user_data;
    if (s->percentage < 1 || s->percentage > 100) {
        *out_error = hf_error_create(HF_REFUSED, NO_PERCENTAGE, "a slice has 1 to 100 per cent");
        return HF_REFUSED;
    }
    char text[128];
    snprintf(text, sizeof text, "{\"label\": \"%s\", \"percentage\": %d}", s->label, s->percentage);
    return hf_repository_save(s->chart->slices_stored, t, text, HF_NTS, NULL, out_error);
}

static void slice_goes_back(const uint8_t *descriptor, void *user_data) {
    (void)descriptor;
    slice *s = user_data;
    s->percentage = s->percentage_before;
}

static void make_chart(chart *c, hf_store *store) {
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_begin = chart_begins;
    callbacks.on_validate = chart_is_whole;
    callbacks.on_rollback = chart_goes_back;
    *c = (chart){.store = store};
    OK(hf_repository_open(store, "slices", "{\"key\": \"label\"}", &c->slices_stored, &error));
    OK(hf_participant_create(NULL, &callbacks, c, NULL, &c->handle, &error));
}

/* Where the chart is in a transaction, the slice joins it at once. */
static slice *add_slice(chart *c, const char *label, int percentage) {
    hf_participant_callbacks callbacks = HF_PARTICIPANT_CALLBACKS_INIT;
    callbacks.on_begin = slice_begins;
    callbacks.on_validate = slice_is_stored;
    callbacks.on_rollback = slice_goes_back;
    slice *s = &c->slices[c->count++];
    *s = (slice){.chart = c, .label = label, .percentage = percentage};
    OK(hf_participant_create(c->handle, &callbacks, s, NULL, &s->handle, &error));
    return s;
}

static void free_chart(chart *c) {
    for (int i = 0; i < c->count; i++)
        hf_participant_free(c->slices[i].handle);
    hf_participant_free(c->handle);
    hf_repository_free(c->slices_stored);
}

/* --- What holds after every step --------------------------------------------------------------------------
 */

static int stored_percentage(chart *c, const char *label) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_status status = hf_repository_fetch(c->slices_stored, NULL, label, HF_NTS, &entity, NULL);
    const char *number = status == HF_OK ? strstr(entity.data, "\"percentage\": ") : NULL;
    int percentage = number != NULL ? atoi(number + strlen("\"percentage\": ")) : 0;
    hf_entity_free(&entity);
    return percentage;
}

static void expect_agreement(chart *c, const char *sentence) {
    uint64_t count = 0;
    OK(hf_repository_count(c->slices_stored, NULL, NULL, 0, NULL, &count, &error));
    bool agree = count == (uint64_t)c->count;
    for (int i = 0; i < c->count; i++)
        agree = agree && stored_percentage(c, c->slices[i].label) == c->slices[i].percentage;
    check(agree, sentence);
}

/* --- The tour ---------------------------------------------------------------------------------------------
 */

static hf_status draw(hf_transaction *t, void *user_data, hf_error **out_error) {
    chart *c = user_data;
    hf_status status = hf_transaction_enlist(t, c->handle, out_error);
    if (status == HF_OK) {
        add_slice(c, "cats", 60);
        add_slice(c, "dogs", 40);
    }
    return status;
}

static void refuse_and_repair(chart *c) {
    hf_transaction *t = NULL;
    hf_error *refusal = NULL;
    OK(hf_transaction_begin(c->store, NULL, &t, &error));
    OK(hf_transaction_enlist(t, c->handle, &error));
    c->slices[0].percentage = 50;
    add_slice(c, "birds", 20);
    check(hf_transaction_commit(t, NULL, &refusal) == HF_REFUSED, "110 per cent are refused");
    check(strstr(hf_error_detail(refusal, NULL), "\"code\":100") != NULL, "with the chart's own code");
    check(hf_error_participant(refusal) == c->handle, "by the chart");
    hf_error_free(refusal);
    c->slices[1].percentage = 30;
    OK(hf_transaction_commit(t, NULL, &error));
    hf_transaction_free(t);
    expect_agreement(c, "repaired and committed: three slices, as objects and as entities");
}

static void roll_back(chart *c) {
    hf_transaction *t = NULL;
    OK(hf_transaction_begin(c->store, NULL, &t, &error));
    OK(hf_transaction_enlist(t, c->handle, &error));
    c->slices[0].percentage = 1;
    add_slice(c, "fish", 49);
    OK(hf_transaction_rollback(t, &error));
    hf_transaction_free(t);
    check(c->count == 3 && c->slices[0].percentage == 50, "a rollback brings the objects back");
    expect_agreement(c, "and nothing was stored");
}

static void lose_a_race(chart *c) {
    hf_transaction *t = NULL;
    hf_entity seen = HF_ENTITY_INIT;
    OK(hf_transaction_begin(c->store, NULL, &t, &error));
    OK(hf_transaction_enlist(t, c->handle, &error));
    OK(hf_repository_fetch(c->slices_stored, t, "cats", HF_NTS, &seen, &error));
    c->slices[0].percentage = 40, c->slices[1].percentage = 40;
    /* Somebody else writes what this transaction has read. */
    OK(hf_repository_patch(c->slices_stored, NULL, "cats", HF_NTS, "{\"percentage\": 50}", HF_NTS, 0, NULL,
                           &error));
    EXPECT(HF_CONFLICT, hf_transaction_commit(t, NULL, &error));
    hf_transaction_free(t);
    hf_entity_free(&seen);
    check(c->slices[0].percentage == 50 && c->slices[1].percentage == 30, "a conflict brings them back too");
    expect_agreement(c, "and chart and store agree");
}

static void note_event(const hf_event *event, void *user_data) {
    __atomic_store_n((int *)user_data, event->status == HF_OK ? 1 : -1, __ATOMIC_RELEASE);
}

static void commit_later(chart *c) {
    static int told;
    hf_transaction *t = NULL;
    OK(hf_transaction_begin(c->store, NULL, &t, &error));
    OK(hf_transaction_enlist(t, c->handle, &error));
    c->slices[0].percentage = 30, c->slices[1].percentage = 50;
    OK(hf_transaction_submit(t, note_event, &told, NULL, &error));
    hf_transaction_free(t);
    while (__atomic_load_n(&told, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    check(told == 1, "a submitted commit seals the chart until its event");
    expect_agreement(c, "which finds objects and entities changed");
}

int main(void) {
    char directory[] = "/tmp/holdfast-pie-XXXXXX", path[64], lock[80];
    if (mkdtemp(directory) == NULL)
        return perror(directory), 1;
    snprintf(path, sizeof path, "%s/pie.db", directory);
    snprintf(lock, sizeof lock, "%s-lock", path);
    hf_store *store = NULL;
    chart c;
    OK(hf_store_open(path, NULL, &store, &error));
    printf("A pie chart, store %s\n", path);
    make_chart(&c, store);

    OK(hf_store_transact(store, draw, &c, NULL, NULL, &error));
    expect_agreement(&c, "two slices are drawn and stored in one transaction");
    refuse_and_repair(&c);
    roll_back(&c);
    lose_a_race(&c);
    commit_later(&c);

    free_chart(&c);
    hf_store_free(store);
    unlink(path);
    unlink(lock);
    rmdir(directory);
    printf("Everything held.\n");
    return 0;
}
