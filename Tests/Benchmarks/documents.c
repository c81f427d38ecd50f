#include "documents.h"

#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char beginning[] = "{\"id\":\"";

static document parse(const char *line, size_t length) {
    document d = {line + strlen(beginning), 0, line, length};
    const char *quote = length <= strlen(beginning) || memcmp(line, beginning, strlen(beginning)) != 0
                            ? NULL
                            : memchr(d.id, '"', length - strlen(beginning));
    if (quote == NULL || memchr(d.id, '\\', (size_t)(quote - d.id)) != NULL)
        fail("documents", "a line does not begin with a plain id");
    d.id_length = (size_t)(quote - d.id);
    return d;
}

static char *read_file(const char *path, size_t *out_length) {
    FILE *file = fopen(path, "r");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail(path, strerror(errno));
    *out_length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*out_length + 1);
    if (text == NULL || fread(text, 1, *out_length, file) != *out_length)
        fail(path, "cannot be read");
    fclose(file);
    text[*out_length] = '\0';
    return text;
}

documents documents_load(const char *path) {
    size_t length, capacity = 0;
    documents d = {NULL, 0, read_file(path, &length)};
    for (const char *line = d.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (d.count == capacity) {
            capacity = capacity == 0 ? 1024 : capacity * 2;
            d.items = realloc(d.items, capacity * sizeof *d.items);
            if (d.items == NULL)
                fail(path, "no memory");
        }
        d.items[d.count++] = parse(line, (size_t)(end - line));
    }
    if (d.count == 0)
        fail(path, "holds no documents");
    uint64_t state = 0x9E3779B97F4A7C15;
    for (size_t last = d.count - 1; last > 0; last--) {
        size_t other = random_next(&state) % (last + 1);
        document moved = d.items[last];
        d.items[last] = d.items[other];
        d.items[other] = moved;
    }
    return d;
}

void documents_free(documents *d) {
    free(d->items);
    free(d->text);
    *d = (documents){NULL, 0, NULL};
}

uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
