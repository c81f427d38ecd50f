/*
 * Files in one directory, and what a power cut leaves of them.
 *
 * What is written is seen by all at once and is on the disk after a sync. A power cut keeps of what was not
 * synced each sector or not. So it is with names and a sync of the directory: of what was done to them since,
 * the first part is kept, or each step by itself. After a sync that failed the sectors that it has not
 * written are taken for written, as Linux does it. Every descriptor that was open then tells of it once, by
 * its next sync (errseq_t, since Linux 4.13), and none that is opened later.
 */
#include "world.h"

#include <errno.h>
#include <string.h>

bool is_simulated(const char *path) {
    size_t length = strlen(DIRECTORY);
    return path != NULL && strncmp(path, DIRECTORY, length) == 0 &&
           (path[length] == 0 || path[length] == '/') && the != NULL && self >= 0;
}

const char *name_in(const char *path) {
    const char *rest = path + strlen(DIRECTORY);
    while (*rest == '/')
        rest++;
    return rest;
}

/* --- Names ---------------------------------------------------------------------------------------- */

static name *find(name *names, const char *text) {
    for (int i = 0; i < NAMES; i++)
        if (strcmp(names[i].text, text) == 0)
            return &names[i];
    return NULL;
}

int file_named(const char *text) {
    name *found = find(the->names, text);
    return found == NULL ? -1 : found->file;
}

/* Does to names what was done once; nothing where it does not fit. */
static void carry_out(name *names, const change *change) {
    name *from = find(names, change->from), *to = find(names, change->to);
    switch (change->kind) {
    case NAMED:
        if (from == NULL)
            from = find(names, "");
        if (from != NULL) {
            strcpy(from->text, change->from);
            from->file = change->file;
        }
        break;
    case UNNAMED:
        if (from != NULL)
            from->text[0] = 0;
        break;
    case RENAMED:
        if (from == NULL || from->file != change->file)
            return;
        if (to != NULL && to != from)
            to->text[0] = 0;
        strcpy(from->text, change->to);
        break;
    case EXCHANGED:
        if (from != NULL && to != NULL) {
            int file = from->file;
            from->file = to->file;
            to->file = file;
        }
        break;
    }
}

static void changed(change change) {
    if (the->change_count == PENDING) {
        /* The disk cannot put off everything for ever. */
        carry_out(the->durable_names, &the->changes[0]);
        memmove(the->changes, the->changes + 1, sizeof change * (PENDING - 1));
        the->change_count--;
    }
    the->changes[the->change_count++] = change;
    carry_out(the->names, &change);
    files_forget();
}

int names_change(naming kind, const char *from, const char *to) {
    change change = {.kind = kind, .file = file_named(from)};
    if (strlen(from) >= NAME_BYTES || (to != NULL && strlen(to) >= NAME_BYTES))
        return ENAMETOOLONG;
    if (change.file < 0 || (kind == EXCHANGED && file_named(to) < 0))
        return ENOENT;
    strcpy(change.from, from);
    strcpy(change.to, to == NULL ? "\1" : to);
    changed(change);
    return 0;
}

void directory_sync(void) {
    if (the->weakness == NAMES_ARE_NOT_SYNCED || the->weakness == SYNCS_DO_NOTHING)
        return;
    memcpy(the->durable_names, the->names, sizeof the->names);
    the->change_count = 0;
    files_forget();
}

/* --- Files ---------------------------------------------------------------------------------------- */

static bool is_named(int file) {
    for (int i = 0; i < NAMES; i++)
        if ((the->names[i].text[0] != 0 && the->names[i].file == file) ||
            (the->durable_names[i].text[0] != 0 && the->durable_names[i].file == file))
            return true;
    for (int i = 0; i < the->change_count; i++)
        if (the->changes[i].file == file)
            return true;
    return false;
}

static void clear(int number) {
    file *file = &the->files[number];
    memset(contents[number], 0, (size_t)file->highest);
    memset(durable[number], 0, (size_t)file->highest);
    memset(file, 0, sizeof *file);
}

/* Takes back the places of files that nobody can come to any more. */
void files_forget(void) {
    for (int i = 0; i < FILES; i++)
        if (the->files[i].is_used && the->files[i].open == 0 && !the->files[i].is_mapped && !is_named(i))
            clear(i);
}

int file_create(const char *text, uint32_t mode) {
    if (strlen(text) >= NAME_BYTES || find(the->names, "") == NULL)
        return -1;
    for (int i = 0; i < FILES; i++)
        if (!the->files[i].is_used) {
            the->files[i].is_used = true;
            the->files[i].number = ++the->next_number;
            the->files[i].mode = mode;
            change change = {.kind = NAMED, .to = "\1", .file = i};
            strcpy(change.from, text);
            changed(change);
            return i;
        }
    return -1;
}

static void mark(file *file, int64_t begin, int64_t end) {
    for (int64_t sector = begin / SECTOR; sector * SECTOR < end; sector++)
        file->unsynced[sector / 64] |= UINT64_C(1) << sector % 64;
    if (end > file->highest)
        file->highest = end;
}

int64_t file_write(int number, const void *bytes, int64_t count, int64_t offset) {
    file *file = &the->files[number];
    if (offset + count > MOST_BYTES)
        count = offset < MOST_BYTES ? MOST_BYTES - offset : 0;
    if (count == 0)
        return 0;
    memcpy(contents[number] + offset, bytes, (size_t)count);
    mark(file, offset, offset + count);
    if (offset + count > file->size)
        file->size = offset + count;
    return count;
}

int64_t file_read(int number, void *bytes, int64_t count, int64_t offset) {
    int64_t left = the->files[number].size - offset;
    if (left <= 0)
        return 0;
    if (count > left)
        count = left;
    memcpy(bytes, contents[number] + offset, (size_t)count);
    return count;
}

static void persist(int number, int64_t sector) {
    memcpy(durable[number] + sector * SECTOR, contents[number] + sector * SECTOR, SECTOR);
}

/* Decides of each sector behind `begin` that is to be written whether it is. */
static void write_sectors(int number, int64_t begin, uint32_t permille) {
    file *file = &the->files[number];
    int64_t first = (begin + SECTOR - 1) / SECTOR;
    for (int64_t word = first / 64; word * 64 * SECTOR < file->highest; word++) {
        uint64_t all = file->unsynced[word];
        if (word == first / 64)
            all &= UINT64_MAX << first % 64;
        for (uint64_t bits = all; bits != 0; bits &= bits - 1)
            if (permille >= 1000 || happens(permille))
                persist(number, word * 64 + __builtin_ctzll(bits));
        file->unsynced[word] &= ~all;
    }
}

/* Nothing, all, or so many of a thousand. */
static uint32_t draw_share(void) {
    switch (draw(4)) {
    case 0:
        return 0;
    case 1:
        return 1000;
    default:
        return (uint32_t)draw(1001);
    }
}

void file_resize(int number, int64_t size) {
    file *file = &the->files[number];
    if (size < file->size) {
        /* The disk may have come to some of what is cut off. */
        write_sectors(number, size, draw_share());
        memset(contents[number] + size, 0, (size_t)(file->size - size));
        if (!file->is_shortened || size < file->shortest)
            file->shortest = size;
        file->is_shortened = true;
    }
    file->size = size;
}

/* On the disk this is done at once: a file is never as long as it was, with what was cut off in part. */
static void shorten(int number) {
    file *file = &the->files[number];
    if (!file->is_shortened)
        return;
    if (file->highest > file->shortest)
        memset(durable[number] + file->shortest, 0, (size_t)(file->highest - file->shortest));
    if (file->durable_size > file->shortest)
        file->durable_size = file->shortest;
    file->is_shortened = false;
}

void file_sync(int number, bool fails) {
    if (the->weakness == SYNCS_DO_NOTHING)
        return;
    file *file = &the->files[number];
    if (!fails || happens(500))
        shorten(number);
    write_sectors(number, 0, fails ? draw_share() : 1000);
    if (!fails || (!file->is_shortened && happens(500)))
        file->durable_size = file->size;
}

/* --- The power cut -------------------------------------------------------------------------------- */

static void cut_names(void) {
    int count = the->change_count;
    if (happens(500)) {
        int kept = (int)draw((uint64_t)count + 1);
        for (int i = 0; i < kept; i++)
            carry_out(the->durable_names, &the->changes[i]);
    } else {
        uint32_t share = draw_share();
        for (int i = 0; i < count; i++)
            if (happens(share))
                carry_out(the->durable_names, &the->changes[i]);
    }
    the->change_count = 0;
    memcpy(the->names, the->durable_names, sizeof the->names);
}

static void cut_file(int number, uint32_t share) {
    file *file = &the->files[number];
    if (happens(share))
        shorten(number);
    write_sectors(number, 0, share);
    /* A file that has grown may have grown in part. */
    if (file->is_shortened)
        file->is_shortened = false;
    else if (file->size > file->durable_size && happens(500))
        file->durable_size += (int64_t)draw((uint64_t)(file->size - file->durable_size) + 1);
    else if (happens(share))
        file->durable_size = file->size;
    file->size = file->durable_size;
    memset(durable[number] + file->size, 0,
           (size_t)(file->highest > file->size ? file->highest - file->size : 0));
    memcpy(contents[number], durable[number], (size_t)file->highest);
    file->open = 0;
    file->is_mapped = false;
}

void power_cut(void) {
    uint32_t share = draw_share();
    cut_names();
    for (int i = 0; i < FILES; i++)
        if (the->files[i].is_used)
            cut_file(i, share);
    memset(the->descriptors, 0, sizeof the->descriptors);
    memset(the->locks, 0, sizeof the->locks);
    files_forget();
}
