/*
 * World: everything of a simulation that its processes share, in one block of memory.
 *
 * The processes are true ones, forked from the runner, each with its own copy of the library, of SQLite and
 * of their tables of locks. But at any time one thread of one of them runs, the one that has the baton: all
 * others sleep until it is handed to them. So what happens follows from the seed alone, and happens again.
 */
#ifndef WORLD_H
#define WORLD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TASKS = 96, PROCESSES = 8, NAMES = 64, FILES = 64, DESCRIPTORS = 256, LOCKS = 256, PENDING = 512 };
enum { SECTOR = 512, MOST_BYTES = 24 << 20, NAME_BYTES = 64 };

#define DIRECTORY "/simulated"

/* --- Tasks: the threads of all processes ---------------------------------------------------------- */
typedef enum task_state {
    NO_TASK,
    ABLE,
    ASLEEP,       /* until a time */
    AT_A_MUTEX,   /* until it is unlocked */
    AT_A_FUTEX,   /* until it is woken, or until a time */
    AT_AN_END,    /* until another thread of its process has ended */
    AT_A_PROCESS, /* the runner, until a process has ended or the power is cut */
    GONE          /* with its process; the thread may still wait for the baton */
} task_state;

typedef struct task {
    uint32_t baton; /* a futex of the true kernel */
    task_state state;
    int process;
    const void *address;
    uint32_t bits;
    uint64_t until;
    bool is_woken;
    /* The lock that it asks for in vain, since when, and how often. */
    uint64_t wanted_file, wanted_since;
    int64_t wanted_begin;
    uint32_t attempts;
    pthread_t thread;
    void *(*body)(void *);
    void *argument;
} task;

/* --- Processes ------------------------------------------------------------------------------------ */
typedef enum ending { STILL_RUNS, ENDED, KILLED } ending;

typedef struct process {
    ending ending;
    int pid;          /* of the true kernel */
    int leaving;      /* the thread, of the true kernel, that ended last; 0: none, or gone */
    uint64_t calls;   /* on files, since it began */
    uint64_t kill_at; /* in place of this call; 0: never */
    /* So many of a thousand calls on files fail. */
    uint32_t failing;
} process;

/* --- Files ---------------------------------------------------------------------------------------- */
typedef struct file {
    bool is_used;
    bool is_mapped; /* kept until the next power cut */
    uint64_t number;
    uint32_t mode;
    int open;
    uint32_t failed_syncs;
    int64_t size, durable_size;
    int64_t highest; /* bytes behind it are zero */
    /* Whether it was made shorter since the last sync, and how short it was at least. */
    bool is_shortened;
    int64_t shortest;
    /* Of the sectors that are to be written by the next sync. */
    uint64_t unsynced[MOST_BYTES / SECTOR / 64];
} file;

typedef struct name {
    char text[NAME_BYTES]; /* "": none */
    int file;
} name;

typedef enum naming { NAMED, UNNAMED, RENAMED, EXCHANGED } naming;

/* What was done to names since the directory was synced. */
typedef struct change {
    naming kind;
    char from[NAME_BYTES], to[NAME_BYTES];
    int file;
} change;

typedef struct descriptor {
    bool is_used;
    int process;
    int file; /* -1: the directory; -2: the source of random bytes */
    /* Of the failed syncs of the file: how many there were when it was opened, or when it told of one last.
     */
    uint32_t known_failures;
} descriptor;

typedef struct range_lock {
    uint64_t file; /* its number; 0: none */
    int owner;
    int process;
    bool is_exclusive;
    int64_t begin, end;
} range_lock;

/* What is taken away from the file system, to see that the simulation notices. */
typedef enum weakness {
    SOUND,
    SYNCS_DO_NOTHING,           /* and answer that they did */
    FAILED_SYNCS_ARE_CONCEALED, /* a sync that fails is answered as a success */
    NAMES_ARE_NOT_SYNCED,       /* the directory's entries are not written by a sync */
    LOCKS_ARE_LOST,             /* now and then a lock is let go of too early */
    WEAKNESSES
} weakness;

typedef struct world {
    uint64_t seed, chance;
    uint64_t trace; /* a fingerprint of all that has happened */
    uint64_t now;   /* in nanoseconds */
    weakness weakness;
    bool is_tracing;
    task tasks[TASKS];
    int running;
    process processes[PROCESSES];
    uint64_t calls;    /* on files, of all */
    uint64_t power_at; /* in place of this call; 0: never */
    bool power_is_cut;
    int crashed; /* the true number of a process that has died of itself */
    uint64_t switches, most_switches;
    /* Without a switch for so many seconds of true time it hangs. A busy machine takes long, and goes on. */
    uint32_t patience;
    uint64_t enough; /* with so many, clients begin nothing more */
    bool is_stuck;
    uint32_t switching; /* so many of a thousand calls on files let others run */
    /* What came of it, for the run's summary. */
    uint64_t kills, power_cuts, failures;

    file files[FILES];
    name names[NAMES], durable_names[NAMES];
    change changes[PENDING];
    int change_count;
    uint64_t next_number;
    descriptor descriptors[DESCRIPTORS];
    range_lock locks[LOCKS];
} world;

extern world *the;
/* The contents of files, as they are read and as they are on the disk. */
extern uint8_t (*contents)[MOST_BYTES], (*durable)[MOST_BYTES];
/* The task that this thread is; -1 outside of any simulation. */
extern __thread int self;

/* --- world.c -------------------------------------------------------------------------------------- */
void world_create(void);

uint64_t draw(uint64_t below);
bool happens(uint32_t permille);
void note(const char *what, const char *name, int64_t a, int64_t b, int64_t result);
void note_bytes(const void *bytes, size_t count);

/* The task of a thread that is about to begin; it runs once it is given the baton. */
int task_add(int process);
/* By the new thread: waits for the baton. */
void task_begin(int task);
/* Lets others run, with the state of this task set to what it waits for; returns when it is chosen again. */
void wait_in(task_state state);
void give_way(void);
/* The task has ended. */
void task_end(void);
void sleep_for(uint64_t nanoseconds);
/* Ends the process at once: what its descriptors had is let go, all its threads end. */
void process_end(ending ending) __attribute__((noreturn));
/* By the runner, once the true process is no more: others may have the places of its threads. */
void process_clear(int process);
/* By the runner: waits until a process has ended or the power is cut. False where nobody can go on any more.
 */
bool runner_wait(void);

/* --- files.c -------------------------------------------------------------------------------------- */
bool is_simulated(const char *path);
/* -1: no such name. */
int file_named(const char *name);
const char *name_in(const char *path);
/* Creates a file under a name; -1 where there is no place. */
int file_create(const char *name, uint32_t mode);
int names_change(naming kind, const char *from, const char *to);
int64_t file_write(int file, const void *bytes, int64_t count, int64_t offset);
int64_t file_read(int file, void *bytes, int64_t count, int64_t offset);
void file_resize(int file, int64_t size);
/* `lost`: of a sync that fails the sectors that it does not write are taken for written. */
void file_sync(int file, bool fails);
void directory_sync(void);
void files_forget(void);
/* What the disk keeps of what was not synced. */
void power_cut(void);

/* --- locks.c -------------------------------------------------------------------------------------- */
/* -1 for what belongs to the process, else the number of the descriptor. */
typedef enum lock_kind { UNLOCKED, SHARED, EXCLUSIVE } lock_kind;
bool lock_set(int file, int process, int descriptor, lock_kind kind, int64_t begin, int64_t end);
const range_lock *lock_in_the_way(int file, int process, int descriptor, lock_kind kind, int64_t begin,
                                  int64_t end);
/* A lock was asked for: who waits long for one must ask ever less often. */
void lock_asked(int file, int64_t begin, bool is_set);
void locks_drop(int file, int process, int descriptor);
void locks_drop_all(int process);

#endif
