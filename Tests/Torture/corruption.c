/*
 * Corruption: each page of a store's file, and each frame of its log, is zeroed, overwritten, changed in some
 * bits, or exchanged with another; then the store is opened, read, queried, written and closed.
 *
 * Every call answers a status that says so in one line; nothing crashes, hangs or prints; what could be a
 * text is one that was stored, as far as that can be seen. SQLite's pages have no checksums: a bit that
 * changes inside a text, or an index page that has come from elsewhere, goes unnoticed, and is counted here.
 */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ENTITIES = 200,
    GENERATIONS = 2,
    KEYS = 20,
    PAGE = 4096,
    LOG_HEADER = 32,
    LAST_FRAMES = 20,
    FRAME = 24 + PAGE,
    SECONDS = 300
};

typedef enum damage { ZEROED, OVERWRITTEN, FLIPPED, EXCHANGED, DAMAGES } damage;
static const char *const damage_names[] = {"zeroed", "overwritten", "some bits of it changed", "exchanged"};

/* How a child ended. */
enum { UNNOTICED = 10, NOTICED, REFUSED, WRONG };

typedef struct file {
    const char *suffix;
    uint8_t *bytes;
    size_t length;
} file;

static char directory[64], path[128], printed[128], scene[128];
static FILE *report;
static bool is_noticed, is_wrong, is_damaged_unnoticed;
static uint64_t random_state;

static uint64_t next_random(void) { /* SplitMix64 */
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* --- The sound store ------------------------------------------------------------------------------ */

static void write_text(char *out, int number, int generation) {
    sprintf(out, "{\"id\":\"e%d\",\"generation\":%d,\"n\":%d,\"text\":\"%0*d\"}", number, generation,
            number % 7, number % 50 == 0 ? 9000 : 150, number);
}

static bool was_stored(const char *text, size_t length) {
    char expected[10000];
    int number, generation;
    if (sscanf(text, "{\"id\":\"e%d\",\"generation\":%d,", &number, &generation) != 2)
        return length == 12 && memcmp(text, "{\"id\":\"new\"}", 12) == 0;
    write_text(expected, number, generation);
    return number >= 0 && number < ENTITIES && generation >= 0 && generation < GENERATIONS &&
           strlen(expected) == length && memcmp(expected, text, length) == 0;
}

static hf_status commit_with_key(hf_store *store, hf_repository *repository, int key, const char *text,
                                 hf_error **error) {
    hf_transaction *t = NULL;
    char options[64];
    sprintf(options, "{\"idempotency_key\":\"key %d\"}", key);
    hf_status status = hf_transaction_begin(store, options, &t, error);
    if (status == HF_OK)
        status = hf_repository_save(repository, t, text, HF_NTS, NULL, error);
    if (status == HF_OK)
        status = hf_transaction_commit(t, NULL, error);
    hf_transaction_free(t);
    return status;
}

/* Left open by a process that ends, or closed. */
static void make_store(bool is_closed) {
    pid_t child = fork();
    if (child == 0) {
        hf_store *store = NULL;
        hf_repository *things = NULL, *others = NULL;
        char text[10000];
        bool is_made = hf_store_open(path, NULL, &store, NULL) == HF_OK &&
                       hf_repository_open(store, "things", NULL, &things, NULL) == HF_OK &&
                       hf_repository_open(store, "others", NULL, &others, NULL) == HF_OK;
        for (int i = 0; i < GENERATIONS * ENTITIES; i++) {
            write_text(text, i % ENTITIES, i / ENTITIES);
            hf_repository *repository = i % ENTITIES % 3 == 0 ? others : things;
            if (i < KEYS)
                is_made = is_made && commit_with_key(store, repository, i, text, NULL) == HF_OK;
            else if (i < ENTITIES || i % 5 == 0)
                is_made = is_made && hf_repository_save(repository, NULL, text, HF_NTS, NULL, NULL) == HF_OK;
        }
        if (is_closed)
            is_made = is_made && hf_store_close(store, -1, NULL) == HF_OK;
        _exit(is_made ? 0 : 1);
    }
    int outcome;
    if (waitpid(child, &outcome, 0) != child || outcome != 0)
        exit(2);
}

/* --- Examining a damaged one ----------------------------------------------------------------------- */

static void complain(const char *what, hf_status status, const char *words) {
    fprintf(report, "WRONG: %s: %s: %s %s\n", scene, what, hf_status_name(status), words);
    is_wrong = true;
}

/* What any call may answer on a damaged store. Frees the error. */
static hf_status checked(const char *call, hf_status status, hf_error *error) {
    static const hf_status fitting[] = {HF_OK,        HF_NOT_FOUND, HF_CORRUPT,    HF_NOT_A_STORE,
                                        HF_READ_ONLY, HF_IO,        HF_KEY_REUSED, HF_FORMAT_TOO_NEW};
    bool is_fitting = false;
    for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++)
        is_fitting = is_fitting || fitting[i] == status;
    const char *words = error != NULL ? hf_error_message(error) : "";
    bool is_explained =
        status == HF_OK || status == HF_NOT_FOUND
            ? error == NULL || status == HF_NOT_FOUND
            : words[0] != '\0' && strchr(words, '\n') == NULL && hf_error_status(error) == status;
    if (!is_fitting || !is_explained)
        complain(call, status, words);
    is_noticed = is_noticed || (status != HF_OK && status != HF_NOT_FOUND);
    hf_error_free(error);
    return status;
}

#define CALL(function, ...)                                                                                  \
    ({                                                                                                       \
        hf_error *error_ = NULL;                                                                             \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        checked(#function, status_, error_);                                                                 \
    })

/* A text is one that was stored, or at least looks like one. */
static void check_text(const char *text, size_t length) {
    if (length < 2 || text[0] != '{' || text[length - 1] != '}' || memchr(text, '\0', length) != NULL)
        complain("a text that cannot be one", HF_OK, "");
    else if (!was_stored(text, length))
        is_damaged_unnoticed = true;
}

/* How many entities are found by their ids. */
static int read_all(hf_repository *repository) {
    static const char *const filters[] = {NULL, "{\"n\":3}", "{\"text\":null}", "{\"id\":\"e7\"}"};
    hf_entity entity = HF_ENTITY_INIT;
    hf_entity_list list = HF_ENTITY_LIST_INIT;
    uint64_t count;
    int found = 0;
    char id[16];
    for (int i = 0; i < ENTITIES; i++) {
        sprintf(id, "e%d", i);
        hf_status status = CALL(hf_repository_fetch, repository, NULL, id, HF_NTS, &entity);
        if (status == HF_OK) {
            check_text(entity.data, entity.length);
            found++;
        }
    }
    for (size_t f = 0; f < sizeof filters / sizeof *filters; f++) {
        size_t length = filters[f] != NULL ? HF_NTS : 0;
        if (CALL(hf_repository_find, repository, NULL, filters[f], length, NULL, &list) == HF_OK)
            for (size_t i = 0; i < list.count; i++)
                check_text(list.items[i].data, list.items[i].length);
        (void)CALL(hf_repository_count, repository, NULL, filters[f], length, NULL, &count);
    }
    hf_entity_free(&entity);
    hf_entity_list_free(&list);
    return found;
}

/* Every kind of write, in a transaction that reads and in ones of their own. */
static void write_some(hf_store *store, hf_repository *repository) {
    hf_transaction *t = NULL;
    uint64_t count;
    (void)CALL(hf_repository_save, repository, NULL, "{\"id\":\"new\"}", HF_NTS, NULL);
    (void)CALL(hf_repository_patch, repository, NULL, "e1", HF_NTS, "{\"n\":3}", HF_NTS, 0, NULL);
    (void)CALL(hf_repository_patch, repository, NULL, "e1", HF_NTS, "{\"n\":1}", HF_NTS, 0, NULL);
    (void)CALL(hf_repository_delete, repository, NULL, "e2", HF_NTS, 0);
    if (CALL(hf_transaction_begin, store, NULL, &t) == HF_OK) {
        (void)CALL(hf_repository_count, repository, t, "{\"n\":9}", HF_NTS, NULL, &count);
        (void)CALL(hf_repository_save, repository, t, "{\"id\":\"new\"}", HF_NTS, NULL);
        (void)CALL(hf_transaction_commit, t, NULL);
    }
    hf_transaction_free(t);
    (void)CALL(hf_store_sync, store);
}

static int examine(void) {
    hf_store *store = NULL;
    hf_repository *things = NULL, *others = NULL;
    bool is_open = CALL(hf_store_open, path, NULL, &store) == HF_OK;
    if (is_open && CALL(hf_repository_open, store, "things", NULL, &things) == HF_OK &&
        CALL(hf_repository_open, store, "others", NULL, &others) == HF_OK) {
        is_damaged_unnoticed = read_all(things) + read_all(others) != ENTITIES || is_damaged_unnoticed;
        char text[10000];
        write_text(text, 0, 0);
        (void)CALL(commit_with_key, store, others, 0, text); /* again */
        write_some(store, things);
        write_some(store, others);
        read_all(things);
    }
    hf_repository_free(things);
    hf_repository_free(others);
    if (is_open)
        (void)CALL(hf_store_close, store, -1);
    hf_store_free(store);
    if (is_wrong)
        return WRONG;
    return !is_open ? REFUSED : is_noticed ? NOTICED : is_damaged_unnoticed ? UNNOTICED : 0;
}

/* --- Files -------------------------------------------------------------------------------------- */

static void name_of(char *out, const char *suffix) { snprintf(out, 160, "%s%s", path, suffix); }

static file read_file(const char *suffix) {
    char name[160];
    struct stat status;
    name_of(name, suffix);
    int descriptor = open(name, O_RDONLY);
    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        exit(2);
    file f = {suffix, malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    if (read(descriptor, f.bytes, f.length) != (ssize_t)f.length)
        exit(2);
    close(descriptor);
    return f;
}

static void write_file(const char *suffix, const uint8_t *bytes, size_t length) {
    char name[160];
    name_of(name, suffix);
    int descriptor = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0 || write(descriptor, bytes, length) != (ssize_t)length || close(descriptor) != 0)
        exit(2);
}

/* Does it to the piece of this size at `offset`; `count` pieces begin at `first`. */
static void inflict(damage damage, uint8_t *bytes, size_t first, size_t count, size_t index, size_t size) {
    uint8_t *piece = bytes + first + index * size, *other = bytes + first + (index + 1) % count * size;
    switch (damage) {
    case ZEROED:
        memset(piece, 0, size);
        break;
    case OVERWRITTEN:
        for (size_t i = 0; i < size; i++)
            piece[i] = (uint8_t)next_random();
        break;
    case FLIPPED:
        for (int i = 0; i < 5; i++)
            piece[next_random() % size] ^= (uint8_t)(1u << next_random() % 8);
        break;
    default:
        for (size_t i = 0; i < size; i++) {
            uint8_t byte = piece[i];
            piece[i] = other[i];
            other[i] = byte;
        }
    }
}

typedef struct tally {
    size_t cases, harmless, unnoticed, noticed, refused, wrong;
} tally;

/* Writes the files, one of them with other bytes, and examines the store in a process of its own. */
static void try_files(tally *t, const file *files, size_t count, const char *suffix, const uint8_t *bytes) {
    ledger_remove(directory, false);
    for (size_t i = 0; i < count; i++)
        write_file(files[i].suffix, strcmp(files[i].suffix, suffix) == 0 ? bytes : files[i].bytes,
                   files[i].length);
    fflush(report);
    pid_t child = fork();
    if (child == 0) {
        int output = open(printed, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (dup2(output, 1) < 0 || dup2(output, 2) < 0)
            _exit(2);
        alarm(SECONDS);
        int result = examine();
        fflush(report);
        _exit(result);
    }
    int outcome;
    struct stat output;
    waitpid(child, &outcome, 0);
    int result = WIFEXITED(outcome) ? WEXITSTATUS(outcome) : WRONG;
    if (!WIFEXITED(outcome))
        fprintf(report, "WRONG: %s: ended by signal %d\n", scene, WTERMSIG(outcome));
    if (stat(printed, &output) != 0 || output.st_size > 0) {
        fprintf(report, "WRONG: %s: it printed\n", scene);
        result = WRONG;
    }
    t->cases++;
    t->harmless += result == 0;
    t->unnoticed += result == UNNOTICED;
    t->noticed += result == NOTICED;
    t->refused += result == REFUSED;
    t->wrong += result != 0 && (result < UNNOTICED || result > REFUSED);
}

/* Damages each piece of one of the files, from `first` to `end`, in each way. */
static size_t try_each(const char *what, const file *files, size_t count, size_t which, size_t first,
                       size_t end, size_t size) {
    const file *f = &files[which];
    size_t pieces = (end - first) / size;
    uint8_t *bytes = malloc(f->length);
    tally t = {0};
    for (size_t index = 0; index < pieces; index++)
        for (int damage = 0; damage < DAMAGES; damage++) {
            memcpy(bytes, f->bytes, f->length);
            inflict(damage, bytes, first, pieces, index, size);
            snprintf(scene, sizeof scene, "%s %zu %s", what, index, damage_names[damage]);
            try_files(&t, files, count, f->suffix, bytes);
        }
    free(bytes);
    printf("%s: %zu cases: %zu refused at opening, %zu noticed, %zu harmless, %zu unnoticed, %zu wrong\n",
           what, t.cases, t.refused, t.noticed, t.harmless, t.unnoticed, t.wrong);
    fflush(stdout);
    return t.wrong;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    size_t wrong = 0;
    report = fdopen(dup(2), "w");
    ledger_directory(directory);
    snprintf(path, sizeof path, "%s/store.db", directory);
    snprintf(printed, sizeof printed, "%s/printed", directory);

    make_store(true);
    file closed[] = {read_file("")};
    ledger_remove(directory, false);
    make_store(false);
    file killed[] = {read_file(""), read_file("-wal"), read_file("-shm"), read_file("-lock")};
    tally sound = {0};
    strcpy(scene, "nothing damaged");
    try_files(&sound, closed, 1, "", closed[0].bytes);
    try_files(&sound, killed, 4, "", killed[0].bytes);
    if (sound.harmless != sound.cases) {
        fprintf(report, "WRONG: a sound store is not as it was stored\n");
        wrong++;
    }
    /* Only the end of a log is long enough to tell, and short enough to try. */
    size_t frames = (killed[1].length - LOG_HEADER) / FRAME,
           last = frames > LAST_FRAMES ? frames - LAST_FRAMES : 0;

    for (long round = 0; round < rounds; round++) {
        random_state = (uint64_t)round;
        wrong += try_each("page", closed, 1, 0, 0, closed[0].length, PAGE);
        wrong += try_each("header of the log, part", killed, 4, 1, 0, LOG_HEADER, 8);
        wrong +=
            try_each("frame of the log", killed, 4, 1, LOG_HEADER + last * FRAME, killed[1].length, FRAME);
        wrong += try_each("index of the log, part", killed, 4, 2, 0, killed[2].length, PAGE);
        wrong += try_each("sidecar file, part", killed, 4, 3, 0, killed[3].length, 8);
    }
    free(closed[0].bytes);
    for (size_t i = 0; i < sizeof killed / sizeof *killed; i++)
        free(killed[i].bytes);
    fclose(report);
    ledger_remove(directory, false);
    unlink(printed);
    rmdir(directory);
    return wrong > 0;
}
