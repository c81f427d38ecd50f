#include "history.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

history *told;

void history_create(void) {
    told =
        mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (told == MAP_FAILED) {
        perror("the history");
        exit(2);
    }
    told->next_value = 1;
}

void history_begin(void) {
    told->era++;
    told->count = 0;
    told->batches = 0;
    memset(told->backup, 0, sizeof told->backup);
    memset(told->exported, 0, sizeof told->exported);
    memset(told->subscription, 0, sizeof told->subscription);
    told->imports = 0;
    told->schema = 0;
    memset(told->final, 0, sizeof told->final);
    memset(told->found, 0, sizeof told->found);
    told->is_found = false;
}

uint64_t tick(void) { return ++told->clock; }

record *history_add(void) {
    if (told->count == RECORDS)
        return NULL;
    record *record = &told->records[told->count++];
    memset(record, 0, sizeof *record);
    record->task = self;
    record->began = tick();
    return record;
}

batch *history_add_batch(int size) {
    if (told->batches == BATCHES)
        return NULL;
    batch *batch = &told->batch[told->batches++];
    told->counted.batches++;
    *batch = (struct batch){.began = tick(), .size = size};
    return batch;
}

void report(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    note("FAULT", text, 0, 0, 0);
    if (told->fault_count < FAULTS)
        strcpy(told->faults[told->fault_count++], text);
}

/* --- The order of each list ------------------------------------------------------------------------- */

static reading order[LISTS];

static bool begins_with(const reading *whole, const reading *part) {
    return part->count <= whole->count &&
           memcmp(whole->values, part->values, sizeof *part->values * (size_t)part->count) == 0;
}

static void take(const reading *seen, const char *where) {
    reading *known = &order[seen->list];
    if (begins_with(known, seen))
        return;
    if (!begins_with(seen, known))
        report("list %d was read in two orders (%s)", seen->list, where);
    *known = *seen;
}

static void find_orders(void) {
    memset(order, 0, sizeof order);
    for (int i = 0; i < told->count; i++)
        for (int j = 0; j < told->records[i].reads; j++)
            take(&told->records[i].read[j], "by a transaction");
    for (int i = 0; i < LISTS; i++) {
        told->final[i].list = i;
        take(&told->final[i], "in the end");
    }
}

static bool has(const reading *list, uint32_t value) {
    for (int i = 0; i < list->count; i++)
        if (list->values[i] == value)
            return true;
    return false;
}

static record *writer_of(int list, uint32_t value) {
    for (int i = 0; i < told->count; i++)
        for (int j = 0; j < told->records[i].appends; j++)
            if (told->records[i].append[j].list == list && told->records[i].append[j].value == value)
                return &told->records[i];
    return NULL;
}

/* --- What must be there ------------------------------------------------------------------------------ */

static void check_presence(bool after_power_cut) {
    for (int i = 0; i < told->count; i++) {
        record *record = &told->records[i];
        int there = 0, seen = 0;
        for (int j = 0; j < record->appends; j++) {
            there += has(&told->final[record->append[j].list], record->append[j].value);
            seen += has(&order[record->append[j].list], record->append[j].value);
        }
        const char *names[] = {"aborted", "committed", "unknown"};
        if (record->outcome == ABORTED && seen > 0)
            report("transaction %d was aborted, and what it wrote was read", i);
        if (record->outcome == COMMITTED && there < record->appends &&
            (record->is_durable || !after_power_cut))
            report("transaction %d was committed, and %d of its %d numbers are there", i, there,
                   record->appends);
        if (there != 0 && there != record->appends)
            report("of transaction %d (%s) %d of %d numbers are there", i, names[record->outcome], there,
                   record->appends);
        if (!after_power_cut && seen != there)
            report("of transaction %d (%s) %d numbers were read, and %d are there", i, names[record->outcome],
                   seen, there);
    }
    for (int list = 0; list < LISTS; list++)
        for (int k = 0; k < order[list].count; k++)
            if (writer_of(list, order[list].values[k]) == NULL)
                report("list %d has the number %u, which nobody wrote", list, order[list].values[k]);
    for (int i = 0; i < told->batches; i++) {
        batch *batch = &told->batch[i];
        int found = told->found[i];
        if (found != 0 && found != batch->size)
            report("of batch %d %d of %d entities are there", i, found, batch->size);
        if (batch->outcome == COMMITTED && found == 0 && !batch->is_removing &&
            (batch->is_durable || !after_power_cut))
            report("batch %d was committed, and is not there", i);
        if (found != 0 && (batch->outcome == ABORTED || batch->is_removed))
            report("batch %d is there, although it was %s", i, batch->is_removed ? "removed" : "aborted");
    }
}

/* --- Whether an order explains it -------------------------------------------------------------------- */

/* A node for each transaction, and one for the end of each, in a chain, so that what was begun after an end
 * comes after all that had ended by then. */
typedef struct edge {
    int to, next;
} edge;
enum { NODES = RECORDS * 2, EDGES = 120000 };
static int first_edge[NODES], indegree[NODES], edge_count;
static edge edges[EDGES];

static void put(int from, int to) {
    if (from < 0 || to < 0 || from == to || edge_count == EDGES)
        return;
    edges[edge_count] = (edge){to, first_edge[from]};
    first_edge[from] = edge_count++;
    indegree[to]++;
}

static int node_of(const record *record) { return record == NULL ? -1 : (int)(record - told->records); }

/* Those whose place in the order counts. */
static bool has_place(const record *record) {
    if (record->outcome == ABORTED)
        return false;
    if (record->outcome == COMMITTED)
        return true;
    for (int j = 0; j < record->appends; j++)
        if (has(&order[record->append[j].list], record->append[j].value))
            return true;
    return false;
}

static int compare_ends(const void *a, const void *b) {
    uint64_t one = told->records[*(const int *)a].ended, other = told->records[*(const int *)b].ended;
    return one < other ? -1 : one > other;
}

static void put_times(void) {
    static int ends[RECORDS];
    int count = 0;
    for (int i = 0; i < told->count; i++)
        if (told->records[i].outcome == COMMITTED && told->records[i].ended != 0)
            ends[count++] = i;
    qsort(ends, (size_t)count, sizeof *ends, compare_ends);
    for (int e = 0; e < count; e++) {
        put(ends[e], RECORDS + e);
        if (e > 0)
            put(RECORDS + e - 1, RECORDS + e);
    }
    for (int i = 0; i < told->count; i++) {
        if (!has_place(&told->records[i]))
            continue;
        int e = -1;
        while (e + 1 < count && told->records[ends[e + 1]].ended < told->records[i].began)
            e++;
        if (e >= 0)
            put(RECORDS + e, i);
    }
}

static void put_dependencies(void) {
    for (int list = 0; list < LISTS; list++)
        for (int k = 1; k < order[list].count; k++)
            put(node_of(writer_of(list, order[list].values[k - 1])),
                node_of(writer_of(list, order[list].values[k])));
    for (int i = 0; i < told->count; i++) {
        record *record = &told->records[i];
        if (!has_place(record))
            continue;
        for (int j = 0; j < record->reads; j++) {
            reading *seen = &record->read[j];
            reading *whole = &order[seen->list];
            if (seen->count > 0)
                put(node_of(writer_of(seen->list, seen->values[seen->count - 1])), i);
            if (seen->count < whole->count)
                put(i, node_of(writer_of(seen->list, whole->values[seen->count])));
        }
    }
}

static void check_order(void) {
    edge_count = 0;
    for (int i = 0; i < NODES; i++) {
        first_edge[i] = -1;
        indegree[i] = 0;
    }
    put_dependencies();
    put_times();
    static int ready[NODES];
    int count = 0, done = 0;
    for (int i = 0; i < NODES; i++)
        if (indegree[i] == 0)
            ready[count++] = i;
    while (done < count)
        for (int e = first_edge[ready[done++]]; e >= 0; e = edges[e].next)
            if (--indegree[edges[e].to] == 0)
                ready[count++] = edges[e].to;
    if (count == NODES)
        return;
    char text[256];
    int length = 0, shown = 0;
    for (int i = 0; i < RECORDS && shown < 6; i++)
        if (indegree[i] > 0)
            length += snprintf(text + length, sizeof text - (size_t)length, " %d", i), shown++;
    report("no order explains what transactions did and read; among them are%s", text);
}

void history_check(bool after_power_cut) {
    for (int i = 0; i < told->count; i++) {
        record *record = &told->records[i];
        told->counted.committed += record->outcome == COMMITTED;
        told->counted.aborted += record->outcome == ABORTED;
        told->counted.unknown += record->outcome == UNKNOWN;
    }
    if (!told->is_found)
        return;
    find_orders();
    check_presence(after_power_cut);
    check_order();
}
