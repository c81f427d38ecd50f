/*
 * Simulator: processes that share a store, on files that are simulated, with everything that happens drawn
 * from a seed: who runs, what fails, who is killed in which call, when the power goes.
 *
 *     simulator [SEEDS]               so many seeds, drawn; they are printed
 *     simulator --seed SEED [NUMBER]  one of them again, which goes the same way
 *     simulator --replays SEEDS       so many, each twice: both must go the same way
 *     simulator --weak [NUMBER ...]   whether the simulation notices a file system that does not keep its
 *                                     word: each of world.h, or these
 *
 * HOLDFAST_TRACE in the environment has a seed tell all that happens.
 *
 * Everything is true but the files, the time, and who runs when: the library as it is shipped, its threads,
 * SQLite with its own file layer, processes with their locks, a kill that ends a process without a word.
 */
#include "seeds.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WEAK_SEEDS = 200 };

/* In a process of its own, which begins as every other does. */
static bool simulate(uint64_t seed, weakness weakness, summary *out) {
    int ends[2];
    memset(out, 0, sizeof *out);
    if (pipe(ends) != 0)
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        setpgid(0, 0);
        alarm(PATIENCE);
        run_seed(seed, weakness, out);
        ssize_t count = write(ends[1], out, sizeof *out);
        _exit(count == sizeof *out ? 0 : 2);
    }
    close(ends[1]);
    size_t got = 0;
    ssize_t count;
    while (got < sizeof *out && (count = read(ends[0], (char *)out + got, sizeof *out - got)) > 0)
        got += (size_t)count;
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    kill(-pid, SIGKILL);
    if (got == sizeof *out && status == 0)
        return true;
    out->faults = 1;
    snprintf(out->text[0], sizeof out->text[0], "the simulation itself ended with status %x%s",
             (unsigned)status, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": something hangs" : "");
    return false;
}

/* --- The program ---------------------------------------------------------------------------------- */

static counts all;

static bool run(uint64_t seed, weakness weakness) {
    summary one;
    simulate(seed, weakness, &one);
#define ADD(name, text) all.name += one.counted.name;
    COUNTS(ADD)
#undef ADD
    for (int i = 0; i < one.faults; i++)
        fprintf(stderr, "WRONG: %s\n", one.text[i]);
    if (one.faults != 0)
        fprintf(stderr, "seed %llu shows it again (simulator --seed %llu %d), with the limits \"%s\"\n",
                (unsigned long long)seed, (unsigned long long)seed, (int)weakness, one.limits);
    return one.faults == 0;
}

static bool replay(uint64_t seed) {
    summary first, second;
    simulate(seed, SOUND, &first);
    simulate(seed, SOUND, &second);
    bool is_same = first.trace == second.trace && first.counted.calls == second.counted.calls;
    if (!is_same)
        fprintf(stderr, "WRONG: seed %llu goes two ways (%llu calls, and %llu)\n", (unsigned long long)seed,
                (unsigned long long)first.counted.calls, (unsigned long long)second.counted.calls);
    return is_same;
}

static bool is_noticed(weakness weakness) {
    static const char *const names[] = {"", "syncs that do nothing", "failed syncs that are concealed",
                                        "names that are not synced", "locks that are lost"};
    summary one;
    uint64_t seed = 1;
    while (seed <= WEAK_SEEDS && (simulate(seed, weakness, &one), one.faults == 0))
        seed++;
    if (seed > WEAK_SEEDS) {
        fprintf(stderr, "WRONG: %s: not found by %d seeds\n", names[weakness], WEAK_SEEDS);
        return false;
    }
    printf("%s: found by seed %llu (%s)\n", names[weakness], (unsigned long long)seed, one.text[0]);
    return true;
}

/* Those with these numbers, or all. */
static bool are_noticed(int count, char **numbers) {
    bool all = true;
    for (int weakness = 1; weakness < WEAKNESSES; weakness++) {
        bool is_wanted = count == 0;
        for (int i = 0; i < count; i++)
            is_wanted |= atoi(numbers[i]) == weakness;
        if (is_wanted)
            all &= is_noticed((enum weakness)weakness);
    }
    return all;
}

static void tell_all(int seeds, int wrong) {
    printf("%d seeds, %d wrong:", seeds, wrong);
#define TELL(name, text) printf(" %llu " text ",", (unsigned long long)all.name);
    COUNTS(TELL)
#undef TELL
    printf(" all in all\n");
}

/* Addresses and hashes must be the same each time. */
static void begin_as_always(char **arguments) {
    if (getenv("HOLDFAST_SIMULATED") != NULL)
        return;
    setenv("HOLDFAST_SIMULATED", "1", 1);
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
    setenv("MALLOC_ARENA_MAX", "1", 1);
    if (personality(ADDR_NO_RANDOMIZE) == -1)
        fprintf(stderr, "addresses stay random here, so a seed may go another way\n");
    execv("/proc/self/exe", arguments);
    perror("beginning anew");
    exit(2);
}

int main(int count, char **arguments) {
    begin_as_always(arguments);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *what = count > 1 ? arguments[1] : "20";
    if (strcmp(what, "--weak") == 0)
        return !are_noticed(count - 2, arguments + 2);
    if (count >= 3 && strcmp(what, "--seed") == 0)
        return !run(strtoull(arguments[2], NULL, 10), count == 4 ? (weakness)atoi(arguments[3]) : SOUND);
    bool replays = count == 3 && strcmp(what, "--replays") == 0;
    int seeds = atoi(replays ? arguments[2] : what), wrong = 0;
    uint64_t seed = 0;
    if (getrandom(&seed, 4, 0) != 4)
        return 2;
    printf("seeds %llu and the %d behind it\n", (unsigned long long)seed, seeds - 1);
    for (int i = 0; i < seeds; i++, seed++)
        wrong += !(replays ? replay(seed) : run(seed, SOUND));
    if (replays)
        printf("%d seeds, each twice, %d of them two ways\n", seeds, wrong);
    else
        tell_all(seeds, wrong);
    return wrong != 0;
}
