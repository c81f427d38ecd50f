/*
 * The C library's functions for names of files and what they lead to, as file_calls.c has those for what is
 * in the files.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* --- Looking -------------------------------------------------------------------------------------- */

static void tell(int file, struct stat *status) {
    memset(status, 0, sizeof *status);
    status->st_dev = 81;
    status->st_uid = geteuid();
    status->st_blksize = 4096;
    if (file == THE_DIRECTORY) {
        status->st_mode = S_IFDIR | 0755;
        status->st_ino = 1;
        status->st_nlink = 2;
        return;
    }
    status->st_mode = S_IFREG | the->files[file].mode;
    status->st_ino = 1 + the->files[file].number;
    status->st_size = the->files[file].size;
    for (int i = 0; i < NAMES; i++)
        status->st_nlink += the->names[i].text[0] != 0 && the->names[i].file == file;
}

static int stat_simulated(const char *path, struct stat *status) {
    const char *text = name_in(path);
    int error = enter("stat", text, SELDOM, EIO);
    if (error != 0)
        return fail(error);
    int file = *text == 0 ? THE_DIRECTORY : file_named(text);
    note("stat", text, file, 0, 0);
    if (file < 0 && *text != 0)
        return leave(fail(ENOENT));
    tell(file, status);
    return leave(0);
}

#define STAT_LIKE(name, type)                                                                                \
    int name(const char *path, struct type *status) {                                                        \
        if (is_simulated(path))                                                                              \
            return stat_simulated(path, (struct stat *)status);                                              \
        REAL(name)                                                                                           \
        return real(path, status);                                                                           \
    }
STAT_LIKE(stat, stat)
STAT_LIKE(lstat, stat)
STAT_LIKE(stat64, stat64)
STAT_LIKE(lstat64, stat64)

#define FSTAT_LIKE(name, type)                                                                               \
    int name(int number, struct type *status) {                                                              \
        descriptor *open = simulated(number);                                                                \
        if (open != NULL) {                                                                                  \
            int error = enter("fstat", NULL, SELDOM, EIO);                                                   \
            if (error != 0)                                                                                  \
                return fail(error);                                                                          \
            tell(open->file, (struct stat *)status);                                                         \
            return leave(0);                                                                                 \
        }                                                                                                    \
        REAL(name)                                                                                           \
        return real(number, status);                                                                         \
    }
FSTAT_LIKE(fstat, stat)
FSTAT_LIKE(fstat64, stat64)

int access(const char *path, int mode) {
    struct stat status;
    if (is_simulated(path))
        return stat_simulated(path, &status);
    REAL(access)
    return real(path, mode);
}

int faccessat(int directory, const char *path, int mode, int flags) {
    struct stat status;
    if (is_simulated(path))
        return stat_simulated(path, &status);
    REAL(faccessat)
    return real(directory, path, mode, flags);
}

char *realpath(const char *restrict path, char *restrict resolved) {
    if (is_simulated(path)) {
        const char *text = name_in(path);
        if (*text != 0 && file_named(text) < 0) {
            errno = ENOENT;
            return NULL;
        }
        if (resolved != NULL)
            return strcpy(resolved, path);
        return strdup(path);
    }
    REAL(realpath)
    return real(path, resolved);
}

ssize_t readlink(const char *restrict path, char *restrict target, size_t size) {
    if (is_simulated(path))
        return fail(EINVAL);
    REAL(readlink)
    return real(path, target, size);
}

int statfs(const char *path, struct statfs *status) {
    if (is_simulated(path)) {
        memset(status, 0, sizeof *status);
        status->f_type = 0xEF53;
        return 0;
    }
    REAL(statfs)
    return real(path, status);
}

/* --- Names ---------------------------------------------------------------------------------------- */

static int change_name(const char *what, naming kind, const char *from, const char *to) {
    int error = enter(what, from, OFTEN, write_error());
    if (error == 0)
        error = names_change(kind, from, to);
    note(what, from, 0, 0, error);
    if (to != NULL)
        note("to", to, 0, 0, 0);
    return leave(error == 0 ? 0 : fail(error));
}

int unlink(const char *path) {
    if (is_simulated(path))
        return change_name("unlink", UNNAMED, name_in(path), NULL);
    REAL(unlink)
    return real(path);
}

int rename(const char *from, const char *to) {
    if (is_simulated(from))
        return change_name("rename", RENAMED, name_in(from), name_in(to));
    REAL(rename)
    return real(from, to);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    if (is_simulated(from)) {
        if (flags & RENAME_EXCHANGE)
            return change_name("exchange", EXCHANGED, name_in(from), name_in(to));
        if ((flags & RENAME_NOREPLACE) && file_named(name_in(to)) >= 0)
            return fail(EEXIST);
        return change_name("rename", RENAMED, name_in(from), name_in(to));
    }
    REAL(renameat2)
    return real(from_directory, from, to_directory, to, flags);
}

int link(const char *from, const char *to) {
    if (is_simulated(from))
        return fail(EPERM);
    REAL(link)
    return real(from, to);
}

int fchmod(int number, mode_t mode) {
    descriptor *open = simulated(number);
    if (open != NULL) {
        int error = enter("fchmod", name_of(open->file), SELDOM, EIO);
        if (error != 0)
            return fail(error);
        the->files[open->file].mode = mode & 07777;
        return leave(0);
    }
    REAL(fchmod)
    return real(number, mode);
}

int chmod(const char *path, mode_t mode) {
    if (is_simulated(path)) {
        int error = enter("chmod", name_in(path), SELDOM, EIO);
        int file = file_named(name_in(path));
        if (error != 0 || file < 0)
            return fail(error != 0 ? error : ENOENT);
        the->files[file].mode = mode & 07777;
        return leave(0);
    }
    REAL(chmod)
    return real(path, mode);
}

int fchown(int number, uid_t owner, gid_t group) {
    if (simulated(number) != NULL)
        return 0;
    REAL(fchown)
    return real(number, owner, group);
}

int chown(const char *path, uid_t owner, gid_t group) {
    if (is_simulated(path))
        return 0;
    REAL(chown)
    return real(path, owner, group);
}
