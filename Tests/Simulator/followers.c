/*
 * Followers: each process has a durable subscription, which the next of its number goes on with, and all
 * share a feed. None misses a commit, and none hears again what it has acknowledged.
 */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEED = PROCESSES };

struct follower {
    subscription *kept;
    hf_stream *stream;
    char position[80]; /* behind what was heard */
    char former[80];   /* behind what was heard some time before */
    uint64_t last;     /* sequence */
};

/* Which entities of batches are told of. */
static void take_ids(subscription *kept, const char *text) {
    int era, number, part;
    for (const char *at = text; (at = behind(at, "id")) != NULL; at++)
        if (sscanf(at, "\"e%d-%d-%d\"", &era, &number, &part) == 3 && era == told->era && number >= 0 &&
            number < BATCHES && part >= 0 && part < BATCH_SIZE)
            kept->heard[number][part / 8] |= (uint8_t)(1 << part % 8);
}

static void hear(const hf_event *event, void *user_data) {
    follower *f = user_data;
    if (event->status == HF_CURSOR_LOST)
        report("a subscription was told %s", hf_error_message(event->error));
    if (event->kind != HF_EVENT_CHANGES || event->status != HF_OK)
        return;
    const char *text = event->value.data;
    for (const char *at = text; (at = behind(at, "sequence")) != NULL; at++) {
        uint64_t sequence = strtoull(at, NULL, 10);
        if (sequence <= f->last)
            report("a subscription was told of commit %llu behind %llu", (unsigned long long)sequence,
                   (unsigned long long)f->last);
        f->last = sequence;
    }
    take_ids(f->kept, text);
    if (happens(300))
        strcpy(f->former, f->position);
    copy_text(behind(text, "position"), f->position, sizeof f->position);
    note("heard", f->position, (int64_t)event->value.length, 0, 0);
}

static bool subscribe(desk *d, int number, follower *f) {
    subscription *kept = &told->subscription[number];
    *f = (follower){.kept = kept, .last = kept->acknowledged};
    char options[120];
    snprintf(options, sizeof options, "{\"durable\":\"e%d-f%d\",\"repository\":\"things\",\"entities\":%s}",
             told->era, number, happens(500) ? "true" : "false");
    hf_error *error = NULL;
    hf_status status = hf_stream_open(d->store, options, hear, f, NULL, &f->stream, &error);
    if (!look("subscribe", status, &error))
        return false;
    if (kept->began == 0)
        kept->began = tick();
    return true;
}

void follow(desk *d) {
    follower *f = calloc(1, sizeof *f);
    if (subscribe(d, own_process(), f))
        d->follower = f;
    else
        free(f);
}

/* What was heard last, or, which changes nothing then, what was heard before. */
void acknowledge(desk *d) {
    follower *f = d->follower;
    if (f == NULL || f->position[0] == 0)
        return;
    char position[sizeof f->position];
    strcpy(position, f->former[0] != 0 && happens(300) ? f->former : f->position);
    const char *colon = strchr(position, ':');
    uint64_t sequence = colon == NULL ? 0 : strtoull(colon + 1, NULL, 10);
    hf_error *error = NULL;
    if (look("acknowledge", hf_stream_acknowledge(f->stream, position, &error), &error)) {
        told->counted.acknowledgements++;
        if (sequence > f->kept->acknowledged)
            f->kept->acknowledged = sequence;
    }
}

void unfollow(desk *d) {
    if (d->follower == NULL)
        return;
    hf_stream_free(d->follower->stream);
    free(d->follower);
    d->follower = NULL;
}

/* Who keeps its position itself. Answers whether it has come to the end. Where the power was cut, the
 * position may be that of a commit that went with it: that is told, and no fault. */
static bool read_some(desk *d, bool after_power_cut, hf_status *out_status) {
    subscription *kept = &told->subscription[FEED];
    char position[sizeof kept->position];
    strcpy(position, kept->position);
    hf_buffer text = HF_BUFFER_INIT;
    hf_error *error = NULL;
    if (position[0] == 0) {
        *out_status = hf_store_position(d->store, &text, &error);
        if (look("position", *out_status, &error) && kept->position[0] == 0) {
            snprintf(kept->position, sizeof kept->position, "%s", text.data);
            kept->began = tick();
        }
        hf_buffer_free(&text);
        return false;
    }
    char options[64];
    snprintf(options, sizeof options, "{\"repository\":\"things\",\"limit\":%d}", 1 + (int)draw(30));
    *out_status = hf_store_changes_since(d->store, position, options, &text, &error);
    bool is_lost = *out_status == HF_CURSOR_LOST && after_power_cut, is_over = false;
    if (is_lost)
        hf_error_free(error);
    else if (look("feed", *out_status, &error)) {
        take_ids(kept, text.data);
        /* Another may have come further meanwhile, from the same place. */
        if (strcmp(kept->position, position) == 0)
            copy_text(behind(text.data, "position"), kept->position, sizeof kept->position);
        is_over = strcmp(kept->position, position) == 0;
    }
    hf_buffer_free(&text);
    return is_over;
}

void read_feed(desk *d) {
    hf_status status;
    read_some(d, false, &status);
}

/* --- When all is over ----------------------------------------------------------------------------- */

static bool is_owed(const subscription *kept, int number, bool after_power_cut) {
    const batch *batch = &told->batch[number];
    return kept->began != 0 && batch->began > kept->began &&
           (told->found[number] != 0 ||
            (batch->outcome == COMMITTED && (batch->is_durable || !after_power_cut)));
}

/* The number of a batch of which not all was heard; -1: none. */
static int missed(const subscription *kept, bool after_power_cut) {
    for (int i = 0; i < told->batches; i++)
        for (int part = 0; part < told->batch[i].size && is_owed(kept, i, after_power_cut); part++)
            if ((kept->heard[i][part / 8] >> part % 8 & 1) == 0)
                return i;
    return -1;
}

static void end_follower(desk *d, int number, bool after_power_cut) {
    subscription *kept = &told->subscription[number];
    if (kept->began == 0)
        return;
    /* An acknowledgement may be gone with the power. */
    if (after_power_cut)
        kept->acknowledged = 0;
    follower f;
    if (!subscribe(d, number, &f)) {
        report("subscription %d cannot be gone on with", number);
        return;
    }
    for (int i = 0; i < 300 && missed(kept, after_power_cut) >= 0; i++)
        usleep(50000);
    int batch = missed(kept, after_power_cut);
    if (batch >= 0)
        report("subscription %d has missed something of batch %d", number, batch);
    hf_stream_free(f.stream);
    told->counted.subscriptions++;
}

void end_followers(desk *d, bool after_power_cut) {
    for (int i = 0; i < PROCESSES; i++)
        end_follower(d, i, after_power_cut);
    subscription *feed = &told->subscription[FEED];
    hf_status status = HF_OK;
    for (int i = 0; feed->position[0] != 0 && status == HF_OK && i < 2 * RECORDS; i++)
        if (read_some(d, after_power_cut, &status))
            break;
    if (status == HF_CURSOR_LOST && after_power_cut)
        return;
    int batch = missed(feed, after_power_cut);
    if (status != HF_OK || batch >= 0)
        report("the feed ended with %s and has missed something of batch %d", hf_status_name(status), batch);
}
