/*
 * Floors: what no engine can do faster, because it has to do this for each document or commit.
 *
 *     floors parse|sync|copy DIRECTORY DOCUMENTS COUNT
 *
 * parse: jansson's parse of a document. sync: a page appended to a file in the directory, and fdatasync.
 * copy: the bytes of a document copied, in random order.
 */
#include "documents.h"
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void parse_each(const documents *d, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const document *parsed = &d->items[i % d->count];
        json_t *tree = json_loadb(parsed->body, parsed->length, JSON_REJECT_DUPLICATES, NULL);
        if (tree == NULL)
            fail("jansson", "a document that is not JSON");
        json_decref(tree);
    }
}

static void sync_each(const char *directory, size_t count) {
    static char page[4096];
    char path[4096];
    if (mkdir(directory, 0700) != 0)
        fail(directory, strerror(errno));
    snprintf(path, sizeof path, "%s/pages", directory);
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    for (size_t i = 0; i < count; i++)
        if (write(file, page, sizeof page) != (ssize_t)sizeof page || fdatasync(file) != 0)
            fail(path, strerror(errno));
    close(file);
}

static void copy_each(const documents *d, size_t count) {
    size_t longest = 0;
    for (size_t i = 0; i < d->count; i++)
        longest = d->items[i].length > longest ? d->items[i].length : longest;
    char *copy = malloc(longest);
    for (size_t i = 0; i < count; i++) {
        memcpy(copy, d->items[i % d->count].body, d->items[i % d->count].length);
        __asm__ volatile("" : : "r"(copy) : "memory"); /* the copy counts as used */
    }
    free(copy);
}

int main(int argc, char **argv) {
    if (argc != 5)
        fail(argv[0], "parse|sync|copy DIRECTORY DOCUMENTS COUNT");
    documents d = documents_load(argv[3]);
    size_t count = strtoull(argv[4], NULL, 10);
    double began = seconds_now();
    if (strcmp(argv[1], "parse") == 0)
        parse_each(&d, count);
    else if (strcmp(argv[1], "sync") == 0)
        sync_each(argv[2], count);
    else if (strcmp(argv[1], "copy") == 0)
        copy_each(&d, count);
    else
        fail(argv[1], "no such floor");
    report(count, seconds_now() - began, 0, 0);
    documents_free(&d);
    return 0;
}
