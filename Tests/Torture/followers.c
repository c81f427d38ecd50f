/*
 * Followers: several processes commit to one store at once, follow what all of them commit, and are killed.
 *
 *     followers [SECONDS]                       all of it (3)
 *     followers --process PATH INDEX            one process
 *
 * Each process follows a live query, whose differences must lead to what the query finds anew, and the
 * changes of the whole repository, whose entities must add up to what is stored. One process more reads a
 * durable subscription: it notes each commit's number in a file before it acknowledges it, and is killed
 * again and again. In the end no commit that any process was told of may be missing there.
 */
#include "ledger.h"
#include "oracle.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WRITERS = 3, MAILER = WRITERS, PROCESSES = WRITERS + 1, IDS = 40, NUMBERS = 4 << 20 };

/* What all processes see of each other, in a file that they map. */
typedef struct board {
    volatile bool stop, pause;
    volatile bool started[PROCESSES];
    /* In a pause: whether a process has found what it follows to be what is stored. */
    volatile bool agreed[PROCESSES];
    volatile long commits, comparisons, merged, mails;
    /* For each sequence whether a writer was told of its commit, and whether the mailer has noted it. */
    unsigned char told[NUMBERS], noted[NUMBERS];
} board;

static board *shared;
static char directory[64], path[128];

/* --- Following ---------------------------------------------------------------------------------- */

static const char *filter = "{\"n\":{\"$lt\":60}}", *options = "{\"sort\":{\"n\":-1,\"id\":1},\"limit\":12}";

typedef struct follower {
    pthread_mutex_t lock;
    json_t *result; /* of the live query */
    json_t *mirror; /* each entity by its id */
    hf_stream *query, *changes;
} follower;

static json_int_t number(json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

/* As stream.h says: what leaves, highest first; what comes, lowest first; then what is changed. */
static void follow_result(follower *f, json_t *event) {
    json_t *snapshot = json_object_get(event, "snapshot"), *one;
    if (snapshot) {
        json_decref(f->result);
        f->result = json_deep_copy(snapshot);
        return;
    }
    size_t count = json_array_size(f->result), k;
    json_t *before = json_copy(f->result), *removed = json_object_get(event, "removed"),
           *moved = json_object_get(event, "moved"), *inserted = json_object_get(event, "inserted");
    for (size_t position = count; position-- > 0;) {
        bool leaves = false;
        json_array_foreach(removed, k, one) leaves |= number(one, "position") == (json_int_t)position;
        json_array_foreach(moved, k, one) leaves |= number(one, "from") == (json_int_t)position;
        if (leaves)
            json_array_remove(f->result, position);
    }
    size_t arriving = json_array_size(inserted) + json_array_size(moved);
    for (json_int_t position = 0; arriving > 0; position++) {
        json_t *here = NULL;
        json_array_foreach(inserted, k, one) {
            if (number(one, "position") == position)
                here = json_object_get(one, "entity");
        }
        json_array_foreach(moved, k, one) {
            if (number(one, "to") == position)
                here = json_array_get(before, (size_t)number(one, "from"));
        }
        if (here) {
            json_array_insert(f->result, (size_t)position, here);
            arriving--;
        }
    }
    json_array_foreach(json_object_get(event, "changed"), k, one)
        json_array_set(f->result, (size_t)number(one, "position"), json_object_get(one, "entity"));
    if (number(event, "merged") > 1)
        __atomic_add_fetch(&shared->merged, 1, __ATOMIC_SEQ_CST);
    json_decref(before);
}

/* What an event tells; NULL at the end of the stream. */
static json_t *news_in(const hf_event *event, const char *stream) {
    if (event->status == HF_OK)
        return json_loadb(event->value.data, event->value.length, 0, NULL);
    if (event->status != HF_CLOSED)
        give_up(stream, event->status, event->error);
    return NULL;
}

static void on_query(const hf_event *event, void *user_data) {
    follower *f = user_data;
    json_t *value = news_in(event, "a live query");
    if (value == NULL)
        return;
    pthread_mutex_lock(&f->lock);
    follow_result(f, value);
    pthread_mutex_unlock(&f->lock);
    json_decref(value);
}

static void on_changes(const hf_event *event, void *user_data) {
    follower *f = user_data;
    json_t *value = news_in(event, "an observer"), *commit, *change;
    if (value == NULL)
        return;
    size_t i, k;
    pthread_mutex_lock(&f->lock);
    json_array_foreach(json_object_get(value, "commits"), i, commit) {
        json_array_foreach(json_object_get(commit, "changes"), k, change) {
            const char *id = json_string_value(json_object_get(change, "id"));
            json_t *entity = json_object_get(change, "entity");
            if (entity)
                json_object_set(f->mirror, id, entity);
            else /* deleted, or a later change brings it */
                json_object_del(f->mirror, id);
        }
    }
    pthread_mutex_unlock(&f->lock);
    json_decref(value);
}

static json_t *find(hf_repository *things, const char *which, const char *how) {
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    hf_status status = hf_repository_find(things, NULL, which, which ? HF_NTS : 0, how, &list, &error);
    if (status != HF_OK)
        give_up("finding", status, error);
    json_t *found = json_loadb(list.json, list.json_length, 0, NULL);
    hf_entity_list_free(&list);
    return found;
}

static json_t *by_id(json_t *entities) {
    json_t *object = json_object(), *one;
    size_t i;
    json_array_foreach(entities, i, one)
        json_object_set(object, json_string_value(json_object_get(one, "id")), one);
    json_decref(entities);
    return object;
}

static bool agrees(follower *f, hf_repository *things) {
    json_t *found = find(things, filter, options), *stored = by_id(find(things, NULL, NULL));
    pthread_mutex_lock(&f->lock);
    bool is_equal = json_equal(found, f->result) && json_equal(stored, f->mirror);
    pthread_mutex_unlock(&f->lock);
    json_decref(found);
    json_decref(stored);
    return is_equal;
}

/* --- A process ---------------------------------------------------------------------------------- */

static void change_something(hf_store *store, hf_repository *things, unsigned *seed) {
    hf_error *error = NULL;
    hf_transaction *t = NULL;
    hf_status status = hf_transaction_begin(store, "{\"durability\":\"relaxed\"}", &t, &error);
    for (int i = rand_r(seed) % 3; i >= 0 && status == HF_OK; i--) {
        char id[16], text[64];
        snprintf(id, sizeof id, "e%d", rand_r(seed) % IDS);
        snprintf(text, sizeof text, "{\"id\":\"%s\",\"n\":%d}", id, rand_r(seed) % 100);
        if (rand_r(seed) % 4 == 0) {
            status = hf_repository_delete(things, t, id, HF_NTS, 0, &error);
            if (status == HF_NOT_FOUND) {
                hf_error_free(error);
                error = NULL;
                status = HF_OK;
            }
        } else {
            status = hf_repository_save(things, t, text, HF_NTS, NULL, &error);
        }
    }
    hf_buffer receipt = HF_BUFFER_INIT;
    if (status == HF_OK)
        status = hf_transaction_commit(t, &receipt, &error);
    if (status == HF_OK) {
        long sequence = strtol(strstr(receipt.data, "\"sequence\":") + 11, NULL, 10);
        if (sequence >= NUMBERS)
            shared->stop = true;
        else if (sequence > 0)
            shared->told[sequence] = 1;
        __atomic_add_fetch(&shared->commits, 1, __ATOMIC_SEQ_CST);
    } else if (status != HF_CONFLICT) {
        give_up("committing", status, error);
    }
    hf_error_free(error);
    hf_buffer_free(&receipt);
    hf_transaction_free(t);
}

static void write_and_follow(hf_store *store, hf_repository *things, int index) {
    unsigned seed = seed_of_run() + (unsigned)index;
    follower f = {PTHREAD_MUTEX_INITIALIZER, json_array(), NULL, NULL, NULL};
    hf_error *error = NULL;
    /* The changes behind a state: its position is read first, so a change may be in both. */
    hf_buffer position = HF_BUFFER_INIT;
    char since[128];
    hf_status status = hf_store_position(store, &position, &error);
    f.mirror = by_id(find(things, NULL, NULL));
    snprintf(since, sizeof since, "{\"repository\":\"things\",\"since\":\"%s\"}", position.data);
    if (status == HF_OK)
        status = hf_stream_open(store, since, on_changes, &f, NULL, &f.changes, &error);
    if (status == HF_OK)
        status = hf_stream_open_query(things, filter, HF_NTS, options, on_query, &f, NULL, &f.query, &error);
    if (status != HF_OK)
        give_up("opening streams", status, error);
    shared->started[index] = true;
    while (!shared->stop) {
        if (!shared->pause) {
            change_something(store, things, &seed);
            usleep((useconds_t)(rand_r(&seed) % 1000));
            continue;
        }
        if (!shared->agreed[index])
            shared->agreed[index] = agrees(&f, things);
        usleep(2000);
    }
    hf_stream_free(f.query);
    hf_stream_free(f.changes);
    hf_buffer_free(&position);
    json_decref(f.result);
    json_decref(f.mirror);
}

static void on_mail(const hf_event *event, void *user_data) {
    hf_stream *volatile *stream = user_data;
    /* The first event may come before the call that opens the stream has returned. */
    while (!*stream)
        usleep(100);
    if (event->status != HF_OK) {
        if (event->status != HF_CLOSED)
            give_up("the durable subscription", event->status, event->error);
        return;
    }
    json_t *value = json_loadb(event->value.data, event->value.length, 0, NULL), *commit;
    size_t i;
    json_array_foreach(json_object_get(value, "commits"), i, commit) {
        json_int_t sequence = number(commit, "sequence");
        if (sequence < NUMBERS)
            shared->noted[sequence] = 1;
        __atomic_add_fetch(&shared->mails, 1, __ATOMIC_SEQ_CST);
    }
    hf_error *error = NULL;
    hf_status status =
        hf_stream_acknowledge(*stream, json_string_value(json_object_get(value, "position")), &error);
    if (status != HF_OK && status != HF_CLOSED)
        give_up("acknowledging", status, error);
    hf_error_free(error);
    json_decref(value);
}

static void send_mail(hf_store *store) {
    static hf_stream *stream;
    hf_error *error = NULL;
    hf_status status =
        hf_stream_open(store, "{\"durable\":\"mailer\",\"repository\":\"things\",\"entities\":false}",
                       on_mail, &stream, NULL, &stream, &error);
    if (status != HF_OK)
        give_up("subscribing", status, error);
    shared->started[MAILER] = true;
    while (!shared->stop)
        usleep(2000);
}

static int run(int index) {
    hf_store *store;
    hf_repository *things;
    hf_error *error = NULL;
    hf_status status = hf_store_open(path, NULL, &store, &error);
    if (status == HF_OK)
        status = hf_repository_open(store, "things", NULL, &things, &error);
    if (status != HF_OK)
        give_up("opening", status, error);
    if (index == MAILER)
        send_mail(store);
    else
        write_and_follow(store, things, index);
    hf_repository_free(things);
    status = hf_store_close(store, -1, &error);
    if (status != HF_OK)
        give_up("closing", status, error);
    hf_store_free(store);
    return 0;
}

/* --- All of them -------------------------------------------------------------------------------- */

static pid_t start(const char *program, int index) {
    char text[8];
    snprintf(text, sizeof text, "%d", index);
    char *arguments[] = {(char *)program, "--process", path, text, NULL};
    pid_t pid;
    shared->started[index] = false;
    if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) != 0)
        exit(2);
    for (double began = seconds(); !shared->started[index] && seconds() - began < 200;)
        usleep(1000);
    expect(shared->started[index], "a process begins");
    return pid;
}

static void compare(void) {
    for (int i = 0; i < WRITERS; i++)
        shared->agreed[i] = false;
    shared->pause = true;
    bool all = false;
    for (double began = seconds(); !all && seconds() - began < 200;) {
        all = true;
        for (int i = 0; i < WRITERS; i++)
            all = all && shared->agreed[i];
        usleep(1000);
    }
    expect(all, "what each process followed is what is stored");
    shared->comparisons++;
    shared->pause = false;
}

int main(int count, char **arguments) {
    if (count == 4 && strcmp(arguments[1], "--process") == 0) {
        snprintf(path, sizeof path, "%s", arguments[2]);
        shared = board_map(path, sizeof *shared);
        return run(atoi(arguments[3]));
    }
    double duration = count > 1 ? atof(arguments[1]) : 3;
    make_directory(directory, "/var/tmp");
    snprintf(path, sizeof path, "%s/store.db", directory);
    shared = board_map(path, sizeof *shared);
    pid_t pids[PROCESSES];
    /* The mailer first: it subscribes before anything is committed. */
    for (int i = PROCESSES - 1; i >= 0; i--)
        pids[i] = start(arguments[0], i);
    int kills = 0;
    for (double began = seconds(); seconds() - began < duration && !shared->stop; kills++) {
        usleep(150000);
        if (kills % 3 == 0)
            compare();
        int victim = kills % 2 == 0 ? MAILER : kills / 2 % WRITERS;
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        pids[victim] = start(arguments[0], victim);
    }
    compare();
    long missing = 0, told = 0;
    shared->pause = true;
    for (double began = seconds(); seconds() - began < 200;) {
        missing = told = 0;
        for (long i = 0; i < NUMBERS; i++) {
            told += shared->told[i];
            missing += shared->told[i] && !shared->noted[i];
        }
        if (missing == 0)
            break;
        usleep(10000);
    }
    shared->stop = true;
    for (int i = 0; i < PROCESSES; i++) {
        int outcome;
        waitpid(pids[i], &outcome, 0);
        expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0, "a process ends well");
    }
    expect(missing == 0, "a durable subscription is told of each commit at least once");
    expect(told > 0 && shared->mails >= told, "there were commits, and all were told");
    printf(
        "followers: %ld commits, %d kills, %ld comparisons, %ld merged differences, %ld told to the durable "
        "subscription\n",
        (long)shared->commits, kills, (long)shared->comparisons, (long)shared->merged, (long)shared->mails);
    board_remove(path);
    ledger_remove(directory, true);
    printf("followers: %d wrong\n", wrong);
    return wrong > 0;
}
