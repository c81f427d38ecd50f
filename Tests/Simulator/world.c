/*
 * The baton, chance, and time that passes only when the simulation says so.
 */
#include "world.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

world *the;
uint8_t (*contents)[MOST_BYTES], (*durable)[MOST_BYTES];
__thread int self = -1;

static void *shared(size_t size) {
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) {
        perror("the simulated world");
        exit(2);
    }
    return block;
}

void world_create(void) {
    the = shared(sizeof *the);
    contents = shared((size_t)FILES * MOST_BYTES);
    durable = shared((size_t)FILES * MOST_BYTES);
}

/* --- Chance --------------------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood, 2014). */
uint64_t draw(uint64_t below) {
    uint64_t z = the->chance += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    return below == 0 ? z : z % below;
}

bool happens(uint32_t permille) { return draw(1000) < permille; }

static void mix(uint64_t word) { the->trace = (the->trace ^ word) * 0x100000001B3; }

void note_bytes(const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    for (; count >= 8; at += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        mix(word);
        the->trace ^= the->trace >> 29;
    }
    for (; count > 0; at++, count--)
        mix(*at);
}

void note(const char *what, const char *name, int64_t a, int64_t b, int64_t result) {
    note_bytes(what, strlen(what));
    if (name != NULL)
        note_bytes(name, strlen(name));
    mix((uint64_t)a), mix((uint64_t)b), mix((uint64_t)result), mix((uint64_t)self), mix(the->now);
    if (the->is_tracing)
        fprintf(stderr, "%12llu %d.%-2d %-10s %-20s %lld %lld = %lld  %016llx\n",
                (unsigned long long)the->now / 1000, self < 0 ? -1 : the->tasks[self].process, self, what,
                name ? name : "", (long long)a, (long long)b, (long long)result,
                (unsigned long long)the->trace);
}

/* --- The baton ------------------------------------------------------------------------------------ */

static long kernel(long number, void *address, long operation, long value, void *timeout) {
    static __typeof__(syscall) *real;
    if (real == NULL)
        real = (__typeof__(syscall) *)dlsym(RTLD_NEXT, "syscall");
    return real(number, address, operation, value, timeout, NULL, 0);
}

static void hand_to(int next) {
    the->running = next;
    __atomic_store_n(&the->tasks[next].baton, 1, __ATOMIC_RELEASE);
    kernel(SYS_futex, &the->tasks[next].baton, FUTEX_WAKE, 1, NULL);
}

/*
 * Who has ended gives the C library its memory back without the baton. Others of its process wait for that,
 * or where their memory comes to lie would be chance.
 */
static void await_who_leaves(int process) {
    int leaving = the->processes[process].leaving;
    if (leaving == 0)
        return;
    while (kernel(SYS_tgkill, (void *)kernel(SYS_getpid, NULL, 0, 0, NULL), leaving, 0, NULL) == 0)
        kernel(SYS_sched_yield, NULL, 0, 0, NULL);
    the->processes[process].leaving = 0;
}

/* The runner looks now and then whether the one that has the baton has died of itself, or goes on. */
static void await_baton(int task) {
    struct timespec second = {1, 0};
    uint32_t *baton = &the->tasks[task].baton;
    uint64_t seen = 0;
    while (__atomic_load_n(baton, __ATOMIC_ACQUIRE) == 0) {
        kernel(SYS_futex, baton, FUTEX_WAIT, 0, task == 0 ? &second : NULL);
        if (task != 0 || __atomic_load_n(baton, __ATOMIC_ACQUIRE) != 0)
            continue;
        if (the->switches != seen)
            alarm(the->patience);
        seen = the->switches;
        int process = the->tasks[the->running].process;
        siginfo_t info = {0};
        if (the->running != 0 &&
            waitid(P_PID, (id_t)the->processes[process].pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0) {
            the->crashed = info.si_pid;
            return;
        }
    }
    *baton = 0;
    await_who_leaves(the->tasks[task].process);
}

static bool can_go_on(task *task) {
    switch (task->state) {
    case ABLE:
        return true;
    case ASLEEP:
        return task->until <= the->now;
    case AT_A_FUTEX:
        return task->is_woken || task->until <= the->now;
    default:
        return false;
    }
}

/* Who runs next; -1 where nobody ever can. */
static int choose(void) {
    for (;;) {
        int able[TASKS], count = 0;
        uint64_t first = UINT64_MAX;
        for (int i = 0; i < TASKS; i++) {
            task *task = &the->tasks[i];
            if (can_go_on(task))
                able[count++] = i;
            else if ((task->state == ASLEEP || task->state == AT_A_FUTEX) && task->until < first)
                first = task->until;
        }
        if (count > 0)
            return able[draw((uint64_t)count)];
        if (first == UINT64_MAX)
            return -1;
        the->now = first;
    }
}

static void pass_on(bool waits) {
    the->switches++;
    int next = the->switches > the->most_switches ? -1 : choose();
    if (next < 0) {
        the->is_stuck = true;
        the->tasks[0].state = ABLE;
        next = 0;
    }
    if (next != self)
        hand_to(next);
    if (waits && next != self)
        await_baton(self);
    if (waits)
        the->tasks[self].state = ABLE;
}

int task_add(int process) {
    for (int i = 0; i < TASKS; i++)
        if (the->tasks[i].state == NO_TASK) {
            the->tasks[i] = (task){.state = ABLE, .process = process, .until = UINT64_MAX};
            return i;
        }
    fprintf(stderr, "the simulation has no place for so many threads\n");
    abort();
}

void task_begin(int task) {
    self = task;
    await_baton(task);
}

void wait_in(task_state state) {
    the->tasks[self].state = state;
    pass_on(true);
}

void give_way(void) { wait_in(ABLE); }

void sleep_for(uint64_t nanoseconds) {
    the->tasks[self].until = the->now + nanoseconds;
    wait_in(ASLEEP);
    the->tasks[self].until = UINT64_MAX;
}

void task_end(void) {
    the->tasks[self].state = NO_TASK;
    the->processes[the->tasks[self].process].leaving = (int)kernel(SYS_gettid, NULL, 0, 0, NULL);
    for (int i = 0; i < TASKS; i++)
        if (the->tasks[i].state == AT_AN_END && the->tasks[i].process == the->tasks[self].process)
            the->tasks[i].state = ABLE;
    pass_on(false);
}

/* --- Processes ------------------------------------------------------------------------------------ */

static void let_go(int process) {
    locks_drop_all(process);
    for (int i = 0; i < DESCRIPTORS; i++) {
        descriptor *open = &the->descriptors[i];
        if (open->is_used && open->process == process) {
            open->is_used = false;
            if (open->file >= 0)
                the->files[open->file].open--;
        }
    }
    files_forget();
    for (int i = 1; i < TASKS; i++)
        if (the->tasks[i].process == process && the->tasks[i].state != NO_TASK)
            the->tasks[i].state = GONE;
}

void process_clear(int process) {
    for (int i = 1; i < TASKS; i++)
        if (the->tasks[i].process == process && the->tasks[i].state == GONE)
            the->tasks[i].state = NO_TASK;
}

void process_end(ending ending) {
    int process = the->tasks[self].process;
    note(ending == KILLED ? "KILLED" : "ended", NULL, process, 0, 0);
    the->processes[process].ending = ending;
    if (ending == KILLED)
        the->kills++;
    let_go(process);
    the->tasks[0].state = ABLE;
    pass_on(false);
    _exit(0);
}

bool runner_wait(void) {
    wait_in(AT_A_PROCESS);
    if (!the->is_stuck && the->crashed == 0 && !the->power_is_cut)
        return true;
    /* Nobody else runs any more. */
    for (int i = 0; i < PROCESSES; i++)
        if (the->processes[i].ending == STILL_RUNS && the->processes[i].pid != 0) {
            kill(the->processes[i].pid, SIGKILL);
            the->processes[i].ending = KILLED;
            let_go(i);
        }
    return !the->is_stuck && the->crashed == 0;
}
