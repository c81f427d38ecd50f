/*
 * Maintenance: backup, export and import while others commit, and what that costs them. Holdfast alone.
 *
 *     maintenance WORK DIRECTORY DOCUMENTS COUNT   backup | export | import: all documents, COUNT of them
 * at least maintenance commits-beside-WORK ...   COUNT commits of one document, relaxed, while that goes on;
 * of "nothing", alone
 *
 * Filling the store is not timed.
 */
#include "documents.h"
#include "measure.h"

#include <errno.h>
#include <holdfast.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 1000 };

static hf_error *error;
static documents all;
static hf_store *store;
static hf_repository *repository;
static char directory[400];
static atomic_bool is_over;
static _Atomic size_t committed;

static void fill_store(void) {
    char *text = malloc(BATCH * 8192);
    for (size_t i = 0; i < all.count; i += BATCH) {
        size_t length = 0, end = i + BATCH < all.count ? i + BATCH : all.count;
        text[length++] = '[';
        for (size_t k = i; k < end; k++) {
            if (length + all.items[k].length + 2 > BATCH * 8192)
                fail("fill", "the documents are too large");
            if (k > i)
                text[length++] = ',';
            memcpy(text + length, all.items[k].body, all.items[k].length);
            length += all.items[k].length;
        }
        text[length++] = ']';
        REQUIRE(hf_repository_add_many(repository, NULL, text, length, NULL, &error));
    }
    free(text);
}

/* --- The work --------------------------------------------------------------------------------------- */

static hf_status to_file(const char *bytes, size_t length, void *file, hf_error **out_error) {
    (void)out_error;
    return fwrite(bytes, 1, length, file) == length ? HF_OK : HF_IO;
}

static int64_t from_file(char *buffer, size_t capacity, void *file, hf_error **out_error) {
    (void)out_error;
    return (int64_t)fread(buffer, 1, capacity, file);
}

static bool goes_on(uint64_t done, uint64_t total, void *user_data) {
    (void)done, (void)total, (void)user_data;
    return true;
}

static void back_up(const char *path) {
    unlink(path);
    REQUIRE(hf_store_backup(store, path, goes_on, NULL, NULL, &error));
}

static void export_lines(const char *path) {
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail("export", "the file cannot be written");
    REQUIRE(hf_store_export(store, NULL, to_file, NULL, file, NULL, &error));
    fclose(file);
}

static void import_lines(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail("import", "the file cannot be read");
    REQUIRE(hf_store_import(store, "{\"existing\":\"replace\"}", from_file, NULL, file, NULL, &error));
    fclose(file);
}

static void do_once(const char *work) {
    char path[440];
    snprintf(path, sizeof path, "%s/%s", directory, work);
    if (strcmp(work, "backup") == 0)
        back_up(path);
    else if (strcmp(work, "export") == 0)
        export_lines(path);
    else if (strcmp(work, "import") == 0)
        import_lines(path);
    else
        fail(work, "no such work");
}

/* An import needs lines. */
static void prepare(const char *work) {
    if (strcmp(work, "import") != 0)
        return;
    char path[440];
    snprintf(path, sizeof path, "%s/import", directory);
    export_lines(path);
}

/* --- The others ------------------------------------------------------------------------------------- */

static void commit_some(size_t count) {
    uint64_t luck = 88172645463325252u;
    for (size_t i = 0; i < count && !is_over; i++) {
        const document *one = &all.items[random_next(&luck) % all.count];
        REQUIRE(hf_repository_save(repository, NULL, one->body, one->length, NULL, &error));
        committed++;
    }
}

static void *commit_until_over(void *unused) {
    commit_some(SIZE_MAX);
    return unused;
}

static void *work_until_over(void *work) {
    while (!is_over)
        do_once(work);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 5)
        fail(argv[0], "WORK DIRECTORY DOCUMENTS COUNT");
    static const char beside[] = "commits-beside-";
    size_t count = strtoull(argv[4], NULL, 10);
    snprintf(directory, sizeof directory, "%s", argv[2]);
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        fail(directory, "the directory cannot be created");
    all = documents_load(argv[3]);
    char path[440];
    snprintf(path, sizeof path, "%s/store", directory);
    REQUIRE(hf_store_open(path, "{\"durability\":\"relaxed\"}", &store, &error));
    REQUIRE(hf_repository_open(store, "documents", NULL, &repository, &error));
    fill_store();

    pthread_t other;
    size_t operations = 0;
    double seconds;
    if (strncmp(argv[1], beside, strlen(beside)) == 0) {
        char *work = argv[1] + strlen(beside);
        bool alone = strcmp(work, "nothing") == 0;
        if (!alone) {
            prepare(work);
            pthread_create(&other, NULL, work_until_over, work);
        }
        double began = seconds_now();
        commit_some(count);
        seconds = seconds_now() - began;
        operations = count;
        is_over = true;
        if (!alone)
            pthread_join(other, NULL);
    } else {
        prepare(argv[1]);
        pthread_create(&other, NULL, commit_until_over, NULL);
        while (committed < 100)
            usleep(100);
        double began = seconds_now();
        for (; operations < count; operations += all.count)
            do_once(argv[1]);
        seconds = seconds_now() - began;
        is_over = true;
        pthread_join(other, NULL);
    }
    report(operations, seconds, 0, 0);
    hf_repository_free(repository);
    hf_store_free(store);
    documents_free(&all);
    return 0;
}
