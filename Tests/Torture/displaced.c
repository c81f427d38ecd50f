/*
 * Displaced: the files of an open store are deleted, moved away, replaced by those of another store, or cut
 * short. Soon after nothing is acknowledged that would not be there when the store is opened again, whether
 * it was closed or killed; what was acknowledged before is kept wherever it can be; what is read is true; and
 * nothing crashes, hangs or prints.
 */
#include "ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* An idle store is checkpointed after two seconds. Who commits within a millisecond does not look again. */
enum {
    ENTRIES = 300,
    IN_LOG = 50,
    SECONDS = 300,
    IDLE_MILLISECONDS = 2500,
    LOOK_MILLISECONDS = 2,
    VISITORS = 200
};

typedef enum deed { DELETED, MOVED, REPLACED, EMPTIED, HALVED } deed;

/* One file of the store, what happens to it, and how the store ends. */
typedef struct scene {
    const char *suffix;
    deed deed;
    bool is_killed;
    char name[80];
} scene;

static char directory[64], path[128], other[128], printed[128];
static FILE *report;
static int wrong;

static bool is_database(const scene *s) { return s->suffix[0] == '\0'; }
static bool is_log(const scene *s) { return strcmp(s->suffix, "-wal") == 0; }
static bool is_cut_short(const scene *s) { return s->deed >= EMPTIED; }
static hf_status refusal(const scene *s) { return is_cut_short(s) ? HF_CORRUPT : HF_IO; }

static void fail(const scene *s, const char *what, hf_status status, hf_error *error) {
    fprintf(report, "WRONG: %s: %s: %s %s\n", s->name, what, hf_status_name(status),
            error ? hf_error_message(error) : "");
    wrong++;
}

/* Expects a status, with an error of one line where it is a failure, and frees the error. */
static void expect(const scene *s, const char *call, bool is_expected, hf_status status, hf_error *error) {
    const char *words = error ? hf_error_message(error) : "";
    bool is_explained = status == HF_OK ? error == NULL : words[0] != '\0' && strchr(words, '\n') == NULL;
    if (!is_expected || !is_explained)
        fail(s, call, status, error);
    hf_error_free(error);
}

/* --- Files -------------------------------------------------------------------------------------- */

static void name_of(char *out, const char *store, const char *suffix, const char *ending) {
    snprintf(out, 192, "%s%s%s", store, suffix, ending);
}

static void remove_files(const char *store) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock", "-journal"};
    char name[192];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        name_of(name, store, suffixes[i], "");
        unlink(name);
        name_of(name, store, suffixes[i], ".away");
        unlink(name);
    }
}

static bool displace(const scene *s) {
    char file[192], target[192];
    struct stat status;
    name_of(file, path, s->suffix, "");
    if (stat(file, &status) != 0)
        return false;
    switch (s->deed) {
    case DELETED:
        return unlink(file) == 0;
    case MOVED:
        name_of(target, path, s->suffix, ".away");
        return rename(file, target) == 0;
    case REPLACED:
        name_of(target, other, s->suffix, "");
        return rename(target, file) == 0;
    case EMPTIED:
        return truncate(file, 0) == 0;
    default:
        /* At the end of a page: SQLite keeps no checksums, and would show a torn page as it is. */
        return truncate(file, status.st_size / 2 / 4096 * 4096) == 0;
    }
}

/* --- Before and after -------------------------------------------------------------------------------- */

static void entry(char *out, int number) {
    sprintf(out, "{\"id\":\"e%d\",\"padding\":\"%0900d\"}", number, number);
}

static bool open_entries(const char *store_path, hf_store **store, hf_repository **entries,
                         hf_error **error) {
    return hf_store_open(store_path, NULL, store, error) == HF_OK &&
           hf_repository_open(*store, "entries", NULL, entries, error) == HF_OK;
}

/* Another store, left open by a process that ends, so that all its files are there. */
static void make_other(void) {
    pid_t child = fork();
    if (child == 0) {
        hf_store *store = NULL;
        hf_repository *entries = NULL;
        bool is_made = open_entries(other, &store, &entries, NULL) &&
                       hf_repository_save(entries, NULL, "{\"id\":\"foreign\"}", HF_NTS, NULL, NULL) == HF_OK;
        _exit(is_made ? 0 : 1);
    }
    int outcome;
    waitpid(child, &outcome, 0);
    if (outcome != 0)
        exit(2);
}

/* Reads what was stored before, through old and new snapshots: true, or refused. */
static void read_all(const scene *s, hf_repository *entries, hf_transaction *reader) {
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    char expected[1024], id[16];
    for (int i = 0; i < ENTRIES; i++) {
        sprintf(id, "e%d", i);
        entry(expected, i);
        bool is_old = i % 2 && i <= ENTRIES - IN_LOG;
        hf_status status = hf_repository_fetch(entries, is_old ? reader : NULL, id, HF_NTS, &entity, &error);
        bool is_true = status == HF_OK && strcmp(entity.data, expected) == 0;
        expect(s, "fetching", is_true || status == HF_IO || status == HF_CORRUPT, status, error);
    }
    hf_status status = hf_repository_fetch_all(entries, NULL, &list, &error);
    bool is_true = status == HF_OK && list.count == ENTRIES;
    expect(s, "fetching all", is_true || status == HF_IO || status == HF_CORRUPT, status, error);
    hf_entity_free(&entity);
    hf_entity_list_free(&list);
}

/* What must be there when a store is opened again: everything that came before, the state of some moment
 * before, or what the lost file allows. Never what was refused. */
typedef enum remains { EVERYTHING, EARLIER, ANYTHING } remains;

static void verify(const scene *s, const char *store_path, remains expected) {
    hf_store *store = NULL;
    hf_repository *entries = NULL;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    hf_error *error = NULL;
    bool found = false;
    bool is_open = open_entries(store_path, &store, &entries, &error);
    hf_status status = error ? hf_error_status(error) : HF_OK;
    expect(s, "opening again", is_open || (expected == ANYTHING && status == HF_CORRUPT), status, error);
    if (is_open) {
        status = hf_repository_contains(entries, NULL, "refused", HF_NTS, &found, &error);
        expect(s, "a refused commit", !found, status, error);
        status = hf_repository_fetch_all(entries, NULL, &list, &error);
        bool is_kept = status == HF_OK && (expected == EARLIER || list.count == ENTRIES);
        expect(s, "all that came before", is_kept || expected == ANYTHING, status, error);
    }
    hf_entity_list_free(&list);
    hf_repository_free(entries);
    hf_store_free(store);
}

/* --- Scenes ------------------------------------------------------------------------------------- */

static void play(const scene *s) {
    hf_store *store = NULL;
    hf_repository *entries = NULL;
    hf_transaction *reader = NULL, *writer = NULL;
    hf_entity entity = HF_ENTITY_INIT;
    hf_error *error = NULL;
    char json[1024];
    if (!open_entries(path, &store, &entries, NULL))
        exit(2);
    for (int i = 0; i < ENTRIES; i++) {
        entry(json, i);
        if (hf_repository_save(entries, NULL, json, HF_NTS, NULL, NULL) != HF_OK)
            exit(2);
        /* All but the last are in the database's file. Those stay in the log, because the first is being
         * read. */
        if (i == ENTRIES - IN_LOG) {
            hf_repository_free(entries);
            hf_store_free(store);
            if (!open_entries(path, &store, &entries, NULL) ||
                hf_repository_save(entries, NULL, json, HF_NTS, NULL, NULL) != HF_OK ||
                hf_transaction_begin(store, NULL, &reader, NULL) != HF_OK ||
                hf_repository_fetch(entries, reader, "e1", HF_NTS, &entity, NULL) != HF_OK)
                exit(2);
        }
    }
    if (hf_transaction_begin(store, NULL, &writer, NULL) != HF_OK ||
        hf_repository_save(entries, writer, "{\"id\":\"refused\"}", HF_NTS, NULL, NULL) != HF_OK ||
        !displace(s))
        exit(2);

    usleep(LOOK_MILLISECONDS * 1000);
    hf_status status = hf_transaction_commit(writer, NULL, &error);
    expect(s, "committing", status == refusal(s), status, error);
    status = hf_repository_save(entries, NULL, "{\"id\":\"refused\"}", HF_NTS, NULL, &error);
    expect(s, "saving", status == refusal(s), status, error);
    status = hf_store_sync(store, &error);
    expect(s, "syncing", status == refusal(s), status, error);
    read_all(s, entries, reader);
    if (is_log(s) && s->deed == EMPTIED)
        usleep(IDLE_MILLISECONDS * 1000);
    if (s->is_killed)
        return;
    status = hf_store_close(store, -1, &error);
    expect(s, "closing", status == (is_database(s) || is_cut_short(s) ? refusal(s) : HF_OK), status, error);
    hf_entity_free(&entity);
    hf_transaction_free(reader);
    hf_transaction_free(writer);
    hf_repository_free(entries);
    hf_store_free(store);
}

/* Plays in a process of its own, whose output goes to a file that must stay empty, then looks what is left.
 */
static void stage(const scene *s) {
    remove_files(path);
    remove_files(other);
    make_other();
    fflush(report);
    pid_t child = fork();
    if (child == 0) {
        wrong = 0;
        int file = open(printed, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (dup2(file, 1) < 0 || dup2(file, 2) < 0)
            exit(2);
        alarm(SECONDS);
        play(s);
        fflush(report);
        _exit(wrong > 0);
    }
    int outcome;
    struct stat output;
    waitpid(child, &outcome, 0);
    if (outcome != 0) {
        fprintf(report, "WRONG: %s: the process ended with %#x\n", s->name, outcome);
        wrong++;
    }
    if (stat(printed, &output) != 0 || output.st_size > 0) {
        fprintf(report, "WRONG: %s: the library printed\n", s->name);
        wrong++;
    }
    remains remains = EVERYTHING;
    if (is_log(s) && (s->is_killed || is_cut_short(s)))
        remains = s->deed == REPLACED ? ANYTHING : EARLIER;
    verify(s, path, is_database(s) ? ANYTHING : remains);
    if (is_database(s) && s->deed == MOVED && !s->is_killed) {
        char away[192];
        name_of(away, path, "", ".away");
        verify(s, away, EVERYTHING);
    }
}

/* --- Two processes --------------------------------------------------------------------------------- */

/* What the two say to each other, a byte each. */
typedef struct line {
    int ends[2];
} line;

static void say(line l, unsigned char what) {
    if (write(l.ends[1], &what, 1) != 1)
        exit(2);
}

static unsigned char hear(line l) {
    unsigned char what;
    if (read(l.ends[0], &what, 1) != 1)
        exit(2);
    return what;
}

static bool save_visitor(hf_repository *entries, int number) {
    char json[64];
    sprintf(json, "{\"id\":\"visitor%d\"}", number);
    return hf_repository_save(entries, NULL, json, HF_NTS, NULL, NULL) == HF_OK;
}

/* Has the store open when the file is displaced, is told so, and closes when the other has been there. */
static void host(const scene *s, line from, line to) {
    hf_store *store = NULL;
    hf_repository *entries = NULL;
    hf_error *error = NULL;
    if (!open_entries(path, &store, &entries, NULL) || !save_visitor(entries, VISITORS))
        exit(2);
    say(to, 1);
    hear(from);
    usleep(LOOK_MILLISECONDS * 1000);
    hf_status status = hf_repository_save(entries, NULL, "{\"id\":\"refused\"}", HF_NTS, NULL, &error);
    expect(s, "saving where a file is gone", status == HF_IO, status, error);
    say(to, 1);
    hear(from);
    hf_store_free(store);
    hf_repository_free(entries);
    say(to, 1);
}

/* Opens the store, if it may, commits, and tells how often it was answered; closes before the other, or
 * after. */
static void visit(line from, line to, bool closes_first) {
    hf_store *store = NULL;
    hf_repository *entries = NULL;
    int answered = 0;
    if (open_entries(path, &store, &entries, NULL))
        while (answered < VISITORS && save_visitor(entries, answered))
            answered++;
    if (closes_first)
        hf_store_free(store);
    say(to, (unsigned char)answered);
    hear(from);
    if (!closes_first)
        hf_store_free(store);
    hf_repository_free(entries);
}

static pid_t in_process(void (*body)(const scene *, line, line, int), const scene *s, line from, line to,
                        int argument) {
    fflush(report);
    pid_t child = fork();
    if (child == 0) {
        wrong = 0;
        alarm(SECONDS);
        body(s, from, to, argument);
        fflush(report);
        _exit(wrong > 0);
    }
    return child;
}

static void be_host(const scene *s, line from, line to, int argument) {
    (void)argument;
    host(s, from, to);
}

static void be_visitor(const scene *s, line from, line to, int closes_first) {
    (void)s;
    visit(from, to, closes_first);
}

/* Of those that were acknowledged, each is there. */
static void look(const scene *s, int answered, int closes_first) {
    hf_store *store = NULL;
    hf_repository *entries = NULL;
    hf_error *error = NULL;
    uint64_t count = 0;
    if (!open_entries(path, &store, &entries, &error)) {
        expect(s, "opening again", false, HF_IO, error);
        return;
    }
    hf_status status = hf_repository_count(entries, NULL, NULL, 0, NULL, &count, &error);
    /* The host's own may have been in a log that is gone. */
    bool is_kept = count >= (uint64_t)answered && count <= (uint64_t)answered + 1;
    expect(s,
           closes_first ? "what a visitor committed that closed first"
                        : "what a visitor committed that closed last",
           status == HF_OK && is_kept, status, error);
    hf_repository_free(entries);
    hf_store_free(store);
}

static void a_visitor_keeps_what_it_was_answered(const scene *s, int closes_first) {
    line to_host, from_host, to_visitor, from_visitor;
    int outcome;
    remove_files(path);
    remove_files(other);
    make_other();
    if (pipe(to_host.ends) || pipe(from_host.ends) || pipe(to_visitor.ends) || pipe(from_visitor.ends))
        exit(2);
    pid_t one = in_process(be_host, s, to_host, from_host, 0);
    hear(from_host);
    if (!displace(s))
        exit(2);
    say(to_host, 1);
    hear(from_host);
    pid_t two = in_process(be_visitor, s, to_visitor, from_visitor, closes_first);
    int answered = hear(from_visitor);
    say(to_host, 1);
    hear(from_host);
    say(to_visitor, 1);
    waitpid(one, &outcome, 0);
    wrong += outcome != 0;
    waitpid(two, &outcome, 0);
    wrong += outcome != 0;
    look(s, answered, closes_first);
    for (int end = 0; end < 2; end++) {
        close(to_host.ends[end]), close(from_host.ends[end]);
        close(to_visitor.ends[end]), close(from_visitor.ends[end]);
    }
}

static void a_file_that_comes_back_serves_on(void) {
    scene s = {"", MOVED, false, "store.db moved away and back"};
    hf_store *store = NULL;
    hf_repository *entries = NULL;
    hf_error *error = NULL;
    char away[192];
    remove_files(path);
    name_of(away, path, "", ".away");
    if (!open_entries(path, &store, &entries, NULL) || rename(path, away) != 0)
        exit(2);
    usleep(LOOK_MILLISECONDS * 1000);
    hf_status status = hf_repository_save(entries, NULL, "{\"id\":\"a\"}", HF_NTS, NULL, &error);
    expect(&s, "saving while it is away", status == HF_IO, status, error);
    if (rename(away, path) != 0)
        exit(2);
    status = hf_repository_save(entries, NULL, "{\"id\":\"b\"}", HF_NTS, NULL, &error);
    expect(&s, "saving when it is back", status == HF_OK, status, error);
    hf_repository_free(entries);
    status = hf_store_close(store, -1, &error);
    expect(&s, "closing", status == HF_OK, status, error);
    hf_store_free(store);
}

int main(void) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    static const char *const deeds[] = {"deleted", "moved away", "replaced", "emptied", "halved"};
    report = fdopen(dup(2), "w");
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(other, sizeof other, "%s/other.db", directory);
    snprintf(printed, sizeof printed, "%s/printed", directory);
    int scenes = 0;
    for (size_t file = 0; file < sizeof suffixes / sizeof *suffixes; file++) {
        for (deed deed = DELETED; deed <= HALVED; deed++) {
            /* A program that maps a file which another cuts short gets a SIGBUS, and SQLite maps the -shm.
             * What the sidecar file holds is only a note. */
            if (deed >= EMPTIED && file > 1)
                continue;
            for (int is_killed = 0; is_killed < 2; is_killed++, scenes++) {
                scene s = {suffixes[file], deed, is_killed, ""};
                snprintf(s.name, sizeof s.name, "store.db%s %s, then %s", suffixes[file], deeds[deed],
                         is_killed ? "killed" : "closed");
                stage(&s);
            }
        }
    }
    for (size_t file = 1; file < sizeof suffixes / sizeof *suffixes; file++)
        for (deed deed = DELETED; deed <= REPLACED; deed++)
            for (int closes_first = 0; closes_first < 2; closes_first++, scenes++) {
                scene s = {suffixes[file], deed, false, ""};
                snprintf(s.name, sizeof s.name, "store.db%s %s, then visited", suffixes[file], deeds[deed]);
                a_visitor_keeps_what_it_was_answered(&s, closes_first);
            }
    a_file_that_comes_back_serves_on();
    remove_files(path);
    remove_files(other);
    unlink(printed);
    rmdir(directory);
    printf("displaced files: %d scenes, %d wrong\n", scenes + 1, wrong);
    return wrong > 0;
}
