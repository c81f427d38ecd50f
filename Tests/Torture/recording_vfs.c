#include "recording_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const vfs_suffixes[FILE_COUNT] = {"", "-wal", "-journal"};

typedef struct recorded_file {
    sqlite3_file base;
    int file;
    sqlite3_file *real;
} recorded_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs this_vfs;

/* One lock around operation and record, so that the order of the records is the order on the files. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static vfs_record *records;
static size_t count, capacity;
static bool is_recording, swallows_syncs;
static uint32_t sync_milliseconds;
static long begun_syncs;
static int fault_operations, fault_error;
static long fault_nth, fault_seen;
static bool fault_forever;
static int awaited_file;
static void (*before_open)(void);

static void append(vfs_record record) {
    if (!is_recording)
        return;
    if (count == capacity) {
        capacity = capacity ? capacity * 2 : 1024;
        records = realloc(records, capacity * sizeof *records);
        if (records == NULL)
            abort();
    }
    records[count++] = record;
}

/* The error that this operation is to answer, or SQLITE_OK. Under the lock. */
static int fault(int operation) {
    if (!(fault_operations & operation))
        return SQLITE_OK;
    fault_seen++;
    bool fails = fault_nth > 0 && (fault_seen == fault_nth || (fault_forever && fault_seen > fault_nth));
    return fails ? fault_error : SQLITE_OK;
}

static sqlite3_file *real(sqlite3_file *file) { return ((recorded_file *)file)->real; }

/* --- Files -------------------------------------------------------------------------------------- */

static int file_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    pthread_mutex_lock(&mutex);
    int code = fault(VFS_READ);
    pthread_mutex_unlock(&mutex);
    return code ? code : real(file)->pMethods->xRead(real(file), bytes, size, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    pthread_mutex_lock(&mutex);
    int failure = fault(VFS_WRITE);
    if (failure)
        size /= 2;
    int code = size ? real(file)->pMethods->xWrite(real(file), bytes, size, offset) : SQLITE_OK;
    if (code == SQLITE_OK && is_recording && size) {
        uint8_t *copy = malloc(size);
        memcpy(copy, bytes, size);
        append((vfs_record){.operation = VFS_WRITE,
                            .file = ((recorded_file *)file)->file,
                            .offset = offset,
                            .data = copy,
                            .size = size});
    }
    pthread_mutex_unlock(&mutex);
    return failure ? failure : code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    pthread_mutex_lock(&mutex);
    int code = fault(VFS_TRUNCATE);
    if (code == SQLITE_OK)
        code = real(file)->pMethods->xTruncate(real(file), size);
    if (code == SQLITE_OK)
        append(
            (vfs_record){.operation = VFS_TRUNCATE, .file = ((recorded_file *)file)->file, .offset = size});
    pthread_mutex_unlock(&mutex);
    return code;
}

static int file_sync(sqlite3_file *file, int flags) {
    uint32_t milliseconds = __atomic_load_n(&sync_milliseconds, __ATOMIC_RELAXED);
    __atomic_fetch_add(&begun_syncs, 1, __ATOMIC_RELEASE);
    if (milliseconds > 0)
        usleep(milliseconds * 1000);
    pthread_mutex_lock(&mutex);
    int code = SQLITE_OK;
    if (!swallows_syncs) {
        code = fault(VFS_SYNC);
        bool failed = code != SQLITE_OK;
        if (!failed)
            code = real(file)->pMethods->xSync(real(file), flags);
        append((vfs_record){.operation = VFS_SYNC, .file = ((recorded_file *)file)->file, .failed = failed});
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size) {
    return real(f)->pMethods->xFileSize(real(f), size);
}
static int file_lock(sqlite3_file *f, int level) { return real(f)->pMethods->xLock(real(f), level); }
static int file_unlock(sqlite3_file *f, int level) { return real(f)->pMethods->xUnlock(real(f), level); }
static int file_is_reserved(sqlite3_file *f, int *out) {
    return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
static int file_control(sqlite3_file *f, int operation, void *argument) {
    return real(f)->pMethods->xFileControl(real(f), operation, argument);
}
static int file_sector_size(sqlite3_file *f) { return real(f)->pMethods->xSectorSize(real(f)); }
static int file_characteristics(sqlite3_file *f) {
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
static int shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **out) {
    pthread_mutex_lock(&mutex);
    int code = fault(VFS_MAP);
    pthread_mutex_unlock(&mutex);
    return code ? code : real(f)->pMethods->xShmMap(real(f), region, size, extend, out);
}
static int shm_lock(sqlite3_file *f, int offset, int n, int flags) {
    return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}
static void shm_barrier(sqlite3_file *f) { real(f)->pMethods->xShmBarrier(real(f)); }
static int shm_unmap(sqlite3_file *f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }

/* Version 2: without memory-mapped reading, which the library does not use. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

/* --- The file system ---------------------------------------------------------------------------- */

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    recorded_file *opened = (recorded_file *)file;
    opened->base.pMethods = NULL;
    opened->real = (sqlite3_file *)(opened + 1);
    bool is_wal = flags & SQLITE_OPEN_WAL, is_journal = flags & SQLITE_OPEN_MAIN_JOURNAL;
    opened->file = is_wal ? FILE_WAL : is_journal ? FILE_JOURNAL : FILE_DATABASE;
    pthread_mutex_lock(&mutex);
    int code = fault(VFS_OPEN);
    void (*body)(void) = opened->file == awaited_file ? before_open : NULL;
    if (body)
        before_open = NULL;
    pthread_mutex_unlock(&mutex);
    if (body)
        body();
    if (code == SQLITE_OK)
        code = real_vfs->xOpen(real_vfs, name, opened->real, flags, out_flags);
    if (code == SQLITE_OK)
        opened->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_directory) {
    (void)vfs;
    pthread_mutex_lock(&mutex);
    int code = fault(VFS_DELETE);
    if (code == SQLITE_OK)
        code = real_vfs->xDelete(real_vfs, name, sync_directory);
    for (int file = FILE_WAL; file < FILE_COUNT && code == SQLITE_OK; file++) {
        size_t length = strlen(name), suffix = strlen(vfs_suffixes[file]);
        if (length > suffix && strcmp(name + length - suffix, vfs_suffixes[file]) == 0)
            append((vfs_record){.operation = VFS_DELETE, .file = file, .is_durable = sync_directory});
    }
    pthread_mutex_unlock(&mutex);
    return code;
}

/* --- Control ------------------------------------------------------------------------------------ */

void vfs_install(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    this_vfs = *real_vfs;
    this_vfs.zName = "holdfast";
    this_vfs.szOsFile = (int)sizeof(recorded_file) + real_vfs->szOsFile;
    this_vfs.pNext = NULL;
    this_vfs.xOpen = vfs_open;
    this_vfs.xDelete = vfs_delete;
    if (sqlite3_vfs_register(&this_vfs, 0) != SQLITE_OK)
        abort();
}

void vfs_record_begin(void) {
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++)
        free(records[i].data);
    count = 0;
    is_recording = true;
    pthread_mutex_unlock(&mutex);
}

void vfs_record_end(void) {
    pthread_mutex_lock(&mutex);
    is_recording = false;
    pthread_mutex_unlock(&mutex);
}

size_t vfs_record_count(void) { return count; }
const vfs_record *vfs_records(void) { return records; }

void vfs_mark(uint32_t number, uint64_t sequence, bool is_durable) {
    pthread_mutex_lock(&mutex);
    append((vfs_record){
        .operation = VFS_MARK, .number = number, .sequence = sequence, .is_durable = is_durable});
    pthread_mutex_unlock(&mutex);
}

void vfs_fail(int operations, long nth, bool forever, int error) {
    pthread_mutex_lock(&mutex);
    fault_operations = operations;
    fault_nth = nth;
    fault_forever = forever;
    fault_error = error;
    fault_seen = 0;
    pthread_mutex_unlock(&mutex);
}

void vfs_fail_nothing(void) { vfs_fail(0, 0, false, SQLITE_OK); }

long vfs_operation_count(void) {
    pthread_mutex_lock(&mutex);
    long seen = fault_seen;
    pthread_mutex_unlock(&mutex);
    return seen;
}

void vfs_before_open(int file, void (*body)(void)) {
    pthread_mutex_lock(&mutex);
    awaited_file = file;
    before_open = body;
    pthread_mutex_unlock(&mutex);
}

void vfs_swallow_syncs(bool on) {
    pthread_mutex_lock(&mutex);
    swallows_syncs = on;
    pthread_mutex_unlock(&mutex);
}

long vfs_begun_syncs(void) { return __atomic_load_n(&begun_syncs, __ATOMIC_ACQUIRE); }

void vfs_slow_syncs(uint32_t milliseconds) {
    __atomic_store_n(&sync_milliseconds, milliseconds, __ATOMIC_RELAXED);
}
