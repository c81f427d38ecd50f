#include "oracle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int wrong;

void expect(bool is_right, const char *sentence) {
    if (!is_right) {
        fprintf(stderr, "WRONG: %s\n", sentence);
        wrong++;
    }
}

void give_up(const char *doing, hf_status status, hf_error *error) {
    fprintf(stderr, "WRONG: %s answered %s: %s\n", doing, hf_status_name(status),
            error ? hf_error_message(error) : "");
    _exit(3);
}

unsigned seed_of_run(void) {
    const char *given = getenv("HOLDFAST_SEED");
    return given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
}

void pin_limits(const char *limits) {
    const char *drawn = getenv("HOLDFAST_LIMITS");
    char all[8192];
    snprintf(all, sizeof all, "%s,%s", drawn ? drawn : "", limits);
    setenv("HOLDFAST_LIMITS", all, 1);
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void board_name(char *name, size_t size, const char *path) { snprintf(name, size, "%s-board", path); }

void *board_map(const char *path, size_t size) {
    char name[160];
    board_name(name, sizeof name, path);
    int descriptor = open(name, O_RDWR | O_CREAT, 0600);
    void *block = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, (off_t)size) == 0)
        block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (block == MAP_FAILED) {
        perror(name);
        exit(2);
    }
    close(descriptor);
    return block;
}

void board_remove(const char *path) {
    char name[160];
    board_name(name, sizeof name, path);
    unlink(name);
}
