/*
 * A directory of JSON files as the place where a store's entities live: a provider of the host's own.
 *
 *   cc json_directory.c $(pkg-config --cflags --libs holdfast) -o json_directory && ./json_directory
 *
 * Each repository is a directory, each entity a file in it, which any editor opens. Four functions are
 * enough. A file is replaced by renaming a complete one over it, so that nobody ever sees half of an entity.
 * Names are escaped: whatever an id holds, "../../etc/passwd" too, its file lies in the directory.
 *
 * With -DJSON_DIRECTORY_WITHOUT_MAIN -shared it is a library, whose json_directory_open others call.
 */
#define _GNU_SOURCE
#include <holdfast.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

hf_status json_directory_open(const char *directory, const char *options, hf_store **out_store,
                              hf_error **out_error);

/* --- Paths ---------------------------------------------------------------------------------------------- */

/* An id of 512 bytes, escaped, and a repository's name. A name of a file may have 255 bytes, so a longer one
 * is cut into directories. */
enum { MOST_PATH = 4096, MOST_NAME = 200 };

static bool is_plain(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Appends a text of which only what is_plain stays as it is, and all else becomes %XX. */
static void append_escaped(char *path, const char *text, size_t length) {
    char *end = path + strlen(path);
    size_t in_name = 0;
    for (size_t i = 0; i < length; i++) {
        if (in_name >= MOST_NAME) {
            *end++ = '/';
            in_name = 0;
        }
        unsigned char c = (unsigned char)text[i];
        int written = is_plain(c) ? sprintf(end, "%c", c) : sprintf(end, "%%%02X", c);
        end += written;
        in_name += (size_t)written;
    }
    *end = '\0';
}

/* Appends what was escaped; answers false for a name that no entity has. */
static bool append_unescaped(char *id, size_t *length, const char *name, size_t name_length) {
    for (size_t i = 0; i < name_length; i++) {
        unsigned char c = (unsigned char)name[i];
        unsigned value = c;
        if (c == '%') {
            if (i + 2 >= name_length || sscanf(name + i + 1, "%2X", &value) != 1)
                return false;
            i += 2;
        } else if (!is_plain(c)) {
            return false;
        }
        if (*length >= 512)
            return false;
        id[(*length)++] = (char)value;
    }
    return true;
}

static void repository_path(char *path, const char *directory, const char *repository) {
    snprintf(path, MOST_PATH / 2, "%s/", directory);
    append_escaped(path, repository, strlen(repository));
}

static void entity_path(char *path, const char *directory, const char *repository, const char *id,
                        size_t length) {
    repository_path(path, directory, repository);
    strcat(path, "/");
    append_escaped(path, id, length);
    strcat(path, ".json");
}

/* --- The functions -------------------------------------------------------------------------------------- */

/* What the system has refused, as the host's own error, with errno as its code. */
static hf_status failed(const char *path, hf_error **out_error) {
    char message[MOST_PATH + 64];
    int code = errno;
    snprintf(message, sizeof message, "%s: %s", path, strerror(code));
    *out_error = hf_error_create(HF_HOST_ERROR, code, message);
    return HF_HOST_ERROR;
}

/* Makes the directories in which the file lies. */
static bool make_directories(char *path, size_t after) {
    for (char *slash = strchr(path + after, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return false;
    }
    return true;
}

static bool write_file(const char *path, const char *bytes, size_t length) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = true;
    while (length > 0 && written) {
        ssize_t count = write(file, bytes, length);
        if (count < 0 && errno == EINTR)
            continue;
        written = count > 0;
        if (written) {
            bytes += count;
            length -= (size_t)count;
        }
    }
    /* Before the rename: else a power cut could leave an empty file under the entity's name. */
    written = written && fsync(file) == 0;
    int code = errno;
    close(file);
    errno = code;
    return written;
}

static hf_status save(const char *repository, const char *id, size_t id_length, const char *entity,
                      size_t length, void *directory, hf_error **out_error) {
    char path[MOST_PATH], fresh[MOST_PATH + 8];
    entity_path(path, directory, repository, id, id_length);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    if (!make_directories(path, strlen(directory) + 1) || !write_file(fresh, entity, length) ||
        rename(fresh, path) != 0) {
        hf_status status = failed(path, out_error);
        unlink(fresh);
        return status;
    }
    return HF_OK;
}

/* Reads a file into memory that the caller frees; NULL with errno on failure. */
static char *read_file(const char *path, size_t *out_length) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return NULL;
    struct stat about;
    char *bytes = NULL;
    size_t length = 0;
    if (fstat(file, &about) == 0 && (bytes = malloc((size_t)about.st_size + 1)) != NULL) {
        while (length < (size_t)about.st_size) {
            ssize_t count = read(file, bytes + length, (size_t)about.st_size - length);
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                break;
            length += (size_t)count;
        }
    }
    close(file);
    *out_length = length;
    return bytes;
}

static hf_status fetch(const char *repository, const char *id, size_t id_length, hf_buffer *out_entity,
                       void *directory, hf_error **out_error) {
    char path[MOST_PATH];
    size_t length;
    entity_path(path, directory, repository, id, id_length);
    char *bytes = read_file(path, &length);
    if (bytes == NULL)
        return errno == ENOENT ? HF_NOT_FOUND : failed(path, out_error);
    bool taken = hf_buffer_set(out_entity, bytes, length);
    free(bytes);
    return taken ? HF_OK : HF_NO_MEMORY;
}

/* Walks a directory and those below it, which hold what long ids go on with. */
static hf_status walk(const char *path, const char *id, size_t id_length, hf_provider_visit_fn visit,
                      void *visitor, hf_error **out_error) {
    DIR *files = opendir(path);
    if (files == NULL)
        return errno == ENOENT ? HF_OK : failed(path, out_error);
    hf_status status = HF_OK;
    struct dirent *file;
    while (status == HF_OK && (file = readdir(files)) != NULL) {
        char inner[MOST_PATH], whole[512];
        size_t name_length = strlen(file->d_name), length = id_length, entity_length;
        bool is_entity = name_length > 5 && strcmp(file->d_name + name_length - 5, ".json") == 0;
        memcpy(whole, id, id_length);
        if (!append_unescaped(whole, &length, file->d_name, name_length - (is_entity ? 5 : 0)))
            continue; /* no file of ours, such as one that was about to be renamed */
        snprintf(inner, sizeof inner, "%s/%s", path, file->d_name);
        if (!is_entity) {
            status = walk(inner, whole, length, visit, visitor, out_error);
            continue;
        }
        char *entity = read_file(inner, &entity_length);
        if (entity == NULL) {
            if (errno != ENOENT) /* deleted meanwhile */
                status = failed(inner, out_error);
            continue;
        }
        bool goes_on = visit(whole, length, entity, entity_length, visitor);
        free(entity);
        if (!goes_on)
            break;
    }
    closedir(files);
    return status;
}

static hf_status fetch_all(const char *repository, hf_provider_visit_fn visit, void *visitor, void *directory,
                           hf_error **out_error) {
    char path[MOST_PATH];
    repository_path(path, directory, repository);
    return walk(path, "", 0, visit, visitor, out_error);
}

static hf_status delete_entity(const char *repository, const char *id, size_t id_length, void *directory,
                               hf_error **out_error) {
    char path[MOST_PATH];
    entity_path(path, directory, repository, id, id_length);
    return unlink(path) == 0 || errno == ENOENT ? HF_OK : failed(path, out_error);
}

/* The files are synced when they are saved; this is for their names. */
static hf_status sync_names(void *directory, hf_error **out_error) {
    int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = file >= 0 && syncfs(file) == 0;
    hf_status status = synced ? HF_OK : failed(directory, out_error);
    if (file >= 0)
        close(file);
    return status;
}

/* Opens a store over a directory, which is made where there is none. */
hf_status json_directory_open(const char *directory, const char *options, hf_store **out_store,
                              hf_error **out_error) {
    if (strlen(directory) >= MOST_PATH / 4) {
        errno = ENAMETOOLONG;
        return failed("the directory", out_error);
    }
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return failed(directory, out_error);
    hf_provider provider = HF_PROVIDER_INIT;
    provider.user_data = strdup(directory);
    provider.free_user_data = free;
    provider.on_save = save;
    provider.on_fetch = fetch;
    provider.on_fetch_all = fetch_all;
    provider.on_delete = delete_entity;
    provider.on_sync = sync_names;
    return hf_store_open_provider(&provider, options, out_store, out_error);
}

/* --- What it looks like --------------------------------------------------------------------------------- */

#ifndef JSON_DIRECTORY_WITHOUT_MAIN

#define OK(call)                                                                                             \
    do {                                                                                                     \
        hf_error *error = NULL;                                                                              \
        hf_status status = (call);                                                                           \
        if (status != HF_OK) {                                                                               \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, hf_status_name(status), hf_error_message(error)); \
            exit(1);                                                                                         \
        }                                                                                                    \
        hf_error_free(error);                                                                                \
    } while (0)

static void check(bool is_so, const char *sentence) {
    printf("  %s %s\n", is_so ? "ok" : "NOT SO:", sentence);
    if (!is_so)
        exit(1);
}

static void remove_all(const char *directory) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    if (system(command) != 0)
        fprintf(stderr, "%s is left behind\n", directory);
}

int main(void) {
    char directory[] = "/tmp/json-directory-XXXXXX", path[128];
    if (mkdtemp(directory) == NULL)
        return 1;
    hf_store *store = NULL;
    hf_repository *songs = NULL;
    hf_transaction *transaction = NULL;
    hf_buffer receipt = HF_BUFFER_INIT;
    hf_entity song = HF_ENTITY_INIT;

    printf("A store over a directory of JSON files\n");
    OK(json_directory_open(directory, NULL, &store, &error));
    OK(hf_repository_open(store, "songs", NULL, &songs, &error));
    OK(hf_transaction_begin(store, NULL, &transaction, &error));
    OK(hf_repository_add(songs, transaction, "{\"id\":\"s1\",\"plays\":1}", HF_NTS, NULL, &error));
    OK(hf_repository_add(songs, transaction, "{\"id\":\"../s2\",\"plays\":5}", HF_NTS, NULL, &error));
    snprintf(path, sizeof path, "%s/songs/s1.json", directory);
    check(access(path, F_OK) != 0, "before the commit there is no file");
    OK(hf_transaction_commit(transaction, &receipt, &error));
    hf_transaction_free(transaction);
    check(access(path, F_OK) == 0, "after it each song is one");
    check(strstr(receipt.data, "\"atomic\":false") != NULL,
          "the receipt says that they came one after the other");
    snprintf(path, sizeof path, "%s/songs/%%2E%%2E%%2Fs2.json", directory);
    check(access(path, F_OK) == 0, "an id with dots and slashes stays in the directory");

    uint64_t count;
    OK(hf_repository_count(songs, NULL, "{\"plays\":{\"$gt\":2}}", HF_NTS, NULL, &count, &error));
    check(count == 1, "queries work as on every engine");

    snprintf(path, sizeof path, "%s/songs/s1.json", directory);
    const char *edited = "{\"id\":\"s1\",\"plays\":7}\n";
    check(write_file(path, edited, strlen(edited)), "somebody edits a file");
    OK(hf_repository_fetch(songs, NULL, "s1", HF_NTS, &song, &error));
    check(strcmp(song.data, "{\"id\":\"s1\",\"plays\":7}") == 0, "and the store shows what it holds");

    check(write_file(path, "{\"id\":", 6), "somebody damages it");
    check(hf_repository_fetch(songs, NULL, "s1", HF_NTS, &song, NULL) == HF_CORRUPT, "and the store says so");
    OK(hf_repository_fetch(songs, NULL, "../s2", HF_NTS, &song, &error));
    check(true, "of that entity alone");

    hf_entity_free(&song);
    hf_buffer_free(&receipt);
    hf_repository_free(songs);
    OK(hf_store_close(store, -1, &error));
    hf_store_free(store);
    remove_all(directory);
    return 0;
}

#endif
