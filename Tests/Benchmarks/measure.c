#include "measure.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool is_on_server(const char *place) { return strncmp(place, "postgresql:", strlen("postgresql:")) == 0; }

void make_place(const char *place) {
    if (!is_on_server(place) && mkdir(place, 0700) != 0)
        fail(place, strerror(errno));
}

/* A line of /proc/self/status in megabytes. */
static double status(const char *name) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long long kibibytes = -1;
    while (file != NULL && kibibytes < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kibibytes = strtoll(line + strlen(name), NULL, 10);
    if (kibibytes < 0)
        fail("/proc/self/status", name);
    fclose(file);
    return (double)kibibytes * 1024 / 1e6;
}

double megabytes_now(void) {
    /* proc(5): 5 sets the peak back to what there is now. */
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL || fputs("5", file) < 0 || fclose(file) != 0)
        fail("/proc/self/clear_refs", strerror(errno));
    return status("VmRSS:");
}

double megabytes_at_most(void) { return status("VmHWM:"); }

double megabytes_in(const char *directory) {
    DIR *opened = opendir(directory);
    if (opened == NULL)
        fail(directory, strerror(errno));
    double bytes = 0;
    struct stat found;
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;)
        if (fstatat(dirfd(opened), entry->d_name, &found, 0) == 0 && S_ISREG(found.st_mode))
            bytes += (double)found.st_blocks * 512;
    closedir(opened);
    return bytes / 1e6;
}

void report(size_t operations, double seconds, size_t repeated, double megabytes) {
    printf("{\"operations\":%zu,\"seconds\":%.9f,\"ended\":%.9f,\"repeated\":%zu,\"megabytes\":%.3f}\n",
           operations, seconds, seconds_now(), repeated, megabytes);
}

void fail(const char *what, const char *why) {
    fprintf(stderr, "FAILED: %s: %s\n", what, why);
    exit(1);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double at_rank(const double *sorted, size_t count, double rank) {
    return sorted[(size_t)((double)(count - 1) * rank)];
}

void report_time(double *times, size_t count, double rank) {
    qsort(times, count, sizeof *times, by_value);
    report(1, at_rank(times, count, rank), 0, 0);
}

void report_times(double *times, size_t count, double seconds) {
    qsort(times, count, sizeof *times, by_value);
    printf("{\"operations\":%zu,\"seconds\":%.9f,\"repeated\":0,\"ranks\":{\"0.5\":%.9f,\"0.99\":%.9f,"
           "\"0.999\":%.9f}}\n",
           count, seconds, at_rank(times, count, 0.5), at_rank(times, count, 0.99),
           at_rank(times, count, 0.999));
}
