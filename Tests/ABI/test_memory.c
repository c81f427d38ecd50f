/* What is answered where memory ends. Each case runs in a process of its own that may have so much more
 * address space than it has just then, from nearly nothing to more than enough: it answers HF_OK or
 * HF_NO_MEMORY, the process lives, and afterwards the store holds what was acknowledged and goes on. */
#include "support.h"

#include <sys/resource.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, LARGE = 10 * MIB, MOST = 96 * MIB };

/* Counted in the processes of the cases, which report by their exit. */
static void require(bool condition, const char *what, hf_error *error) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", what, error != NULL ? hf_error_message(error) : "");
    _exit(1);
}

static size_t address_space(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    require(file != NULL && fscanf(file, "%zu", &pages) == 1, "statm", NULL);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The C library's comes behind this one. A result grows by it in the caller's memory, and nothing else is so
 * large. */
extern void *__libc_realloc(void *memory, size_t bytes), *__libc_malloc(size_t bytes);
static bool results_are_refused;
/* The views of a list lie with its ids in a block of their own, of so many bytes. */
static size_t refused_views;

void *realloc(void *memory, size_t bytes) {
    return results_are_refused && bytes > MIB ? NULL : __libc_realloc(memory, bytes);
}

void *malloc(size_t bytes) { return bytes == refused_views && bytes > 0 ? NULL : __libc_malloc(bytes); }

static struct rlimit before;

static void leave(size_t bytes) {
    getrlimit(RLIMIT_AS, &before);
    struct rlimit tight = {address_space() + bytes, before.rlim_max};
    require(setrlimit(RLIMIT_AS, &tight) == 0, "setrlimit", NULL);
}

static void leave_all(void) { setrlimit(RLIMIT_AS, &before); }

/* {"id":"large","text":"xxx…"} */
static char *large_entity(size_t *length) {
    static const char head[] = "{\"id\":\"large\",\"text\":\"";
    char *text = malloc(LARGE + 64);
    memcpy(text, head, sizeof head - 1);
    memset(text + sizeof head - 1, 'x', LARGE);
    memcpy(text + sizeof head - 1 + LARGE, "\"}", 3);
    *length = strlen(text);
    return text;
}

/* [{"id":0},{"id":1},…] */
static char *many_entities(size_t count) {
    char *text = malloc(count * 24 + 3), *end = text;
    *end++ = '[';
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s{\"id\":%zu}", i > 0 ? "," : "", i);
    strcpy(end, "]");
    return text;
}

/* The same numbers as one array, for ids and for $in. */
static char *many_numbers(const char *head, size_t count, const char *tail) {
    char *text = malloc(count * 12 + strlen(head) + strlen(tail) + 3), *end = text;
    end += sprintf(end, "%s[", head);
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%s%zu", i > 0 ? "," : "", i);
    sprintf(end, "]%s", tail);
    return text;
}

enum { MANY = 20000 };

static hf_status accept_or_refuse(hf_status status, hf_error *error) {
    require(status == HF_OK || status == HF_NO_MEMORY, hf_status_name(status), error);
    hf_error_free(error);
    return status;
}

/* Runs the call with so little memory, and says how it ended. */
#define LEAVING(bytes, function, ...)                                                                        \
    ({                                                                                                       \
        hf_error *error_ = NULL;                                                                             \
        leave(bytes);                                                                                        \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        leave_all();                                                                                         \
        accept_or_refuse(status_, error_);                                                                   \
    })

typedef hf_status (*memory_case)(room r, size_t bytes);

static hf_status saves_a_large_entity(room r, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    hf_entity out = HF_ENTITY_INIT;
    hf_status status = LEAVING(bytes, hf_repository_save, r.things, NULL, text, length, &out);
    require(status != HF_OK || out.length == length, "the entity is answered", NULL);
    hf_status found = hf_repository_fetch(r.things, NULL, "large", HF_NTS, &out, NULL);
    require(found == (status == HF_OK ? HF_OK : HF_NOT_FOUND), "what is refused is not stored", NULL);
    return status;
}

static hf_status saves_a_large_entity_without_an_id(room r, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    memcpy(text, "{\"no\"", 5);
    hf_entity out = HF_ENTITY_INIT;
    return LEAVING(bytes, hf_repository_save, r.things, NULL, text, length, &out);
}

static hf_status commits_a_large_transaction(room r, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    hf_buffer receipt = HF_BUFFER_INIT;
    hf_transaction *t = begin(r.store, NULL);
    require(hf_repository_save(r.things, t, text, length, NULL, NULL) == HF_OK, "it is written", NULL);
    hf_status status = LEAVING(bytes, hf_transaction_commit, t, &receipt);
    hf_transaction_free(t);
    hf_entity out = HF_ENTITY_INIT;
    hf_status found = hf_repository_fetch(r.things, NULL, "large", HF_NTS, &out, NULL);
    require(found == (status == HF_OK ? HF_OK : HF_NOT_FOUND), "what is refused is not stored", NULL);
    return status;
}

static hf_status adds_many(room r, size_t bytes) {
    char *text = many_entities(MANY);
    hf_entity_list out = HF_ENTITY_LIST_INIT;
    hf_status status = LEAVING(bytes, hf_repository_add_many, r.things, NULL, text, HF_NTS, &out);
    uint64_t count = 1;
    require(hf_repository_count(r.things, NULL, NULL, 0, NULL, &count, NULL) == HF_OK, "counting", NULL);
    require(count == (status == HF_OK ? MANY : 0), "all or nothing is stored", NULL);
    return status;
}

static hf_status writes_many_in_a_transaction(room r, size_t bytes) {
    char *text = many_entities(MANY);
    hf_transaction *t = begin(r.store, NULL);
    hf_status status = LEAVING(bytes, hf_repository_save_many, r.things, t, text, HF_NTS, NULL);
    require(hf_transaction_commit(t, NULL, NULL) == HF_OK, "committing", NULL);
    hf_transaction_free(t);
    uint64_t count = 1;
    require(hf_repository_count(r.things, NULL, NULL, 0, NULL, &count, NULL) == HF_OK, "counting", NULL);
    require(count == (status == HF_OK ? MANY : 0), "all or nothing is stored", NULL);
    return status;
}

static hf_status fetches_a_large_entity(room r, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    require(hf_repository_save(r.things, NULL, text, length, NULL, NULL) == HF_OK, "it is written", NULL);
    require(hf_repository_invalidate_cache(r.things, NULL, 0, NULL) == HF_OK, "it is not cached", NULL);
    hf_entity out = HF_ENTITY_INIT;
    return LEAVING(bytes, hf_repository_fetch, r.things, NULL, "large", HF_NTS, &out);
}

static hf_status changes_a_large_entity(room r, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    require(hf_repository_save(r.things, NULL, text, length, NULL, NULL) == HF_OK, "it is written", NULL);
    hf_entity out = HF_ENTITY_INIT;
    return LEAVING(bytes, hf_repository_modify, r.things, NULL, "large", HF_NTS, "{\"$inc\":{\"n\":1}}",
                   HF_NTS, NULL, 0, 0, &out);
}

static void add_the_many(room r) {
    char *text = many_entities(MANY);
    require(hf_repository_add_many(r.things, NULL, text, HF_NTS, NULL, NULL) == HF_OK, "they are written",
            NULL);
    free(text);
}

static hf_status finds_many(room r, size_t bytes) {
    add_the_many(r);
    hf_entity_list out = HF_ENTITY_LIST_INIT;
    return LEAVING(bytes, hf_repository_find, r.things, NULL, NULL, 0, NULL, &out);
}

static hf_status sorts_many(room r, size_t bytes) {
    add_the_many(r);
    hf_entity_list out = HF_ENTITY_LIST_INIT;
    return LEAVING(bytes, hf_repository_find, r.things, NULL, NULL, 0, "{\"sort\":{\"id\":-1}}", &out);
}

/* Whatever is refused on the way, each entity is handed out once. */
static hf_status takes_pieces(room r, const char *options, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    require(hf_repository_save(r.things, NULL, text, length, NULL, NULL) == HF_OK, "it is written", NULL);
    for (int i = 0; i < 3; i++) {
        char small[16];
        snprintf(small, sizeof small, "{\"id\":\"n%d\"}", i);
        require(hf_repository_save(r.things, NULL, small, HF_NTS, NULL, NULL) == HF_OK, "it is written",
                NULL);
    }
    hf_cursor *cursor = NULL;
    require(hf_cursor_open(r.things, NULL, NULL, 0, options, &cursor, NULL) == HF_OK, "opening", NULL);
    hf_entity_list out = HF_ENTITY_LIST_INIT;
    hf_status worst = HF_OK;
    size_t count = 0;
    while (true) {
        hf_status status = LEAVING(bytes, hf_cursor_next, cursor, 1, &out);
        if (status != HF_OK) {
            worst = status;
            require(hf_cursor_next(cursor, 1, &out, NULL) == HF_OK, "the piece comes again", NULL);
        }
        if (out.count == 0)
            break;
        count += out.count;
    }
    require(count == 4, "each is handed out", NULL);
    hf_entity_list_free(&out);
    hf_cursor_free(cursor);
    return worst;
}

static hf_status takes_pieces_as_they_lie(room r, size_t bytes) { return takes_pieces(r, NULL, bytes); }

static hf_status takes_pieces_in_order(room r, size_t bytes) {
    return takes_pieces(r, "{\"sort\":{\"id\":-1}}", bytes);
}

static hf_status tells_many_values_apart(room r, size_t bytes) {
    add_the_many(r);
    hf_buffer out = HF_BUFFER_INIT;
    return LEAVING(bytes, hf_repository_distinct, r.things, NULL, "id", NULL, 0, NULL, &out);
}

static hf_status asks_for_one_of_many(room r, size_t bytes) {
    char *filter = many_numbers("{\"id\":{\"$in\":", MANY, "}}");
    uint64_t count = 0;
    return LEAVING(bytes, hf_repository_count, r.things, NULL, filter, HF_NTS, NULL, &count);
}

static hf_status fetches_many(room r, size_t bytes) {
    add_the_many(r);
    char *ids = many_numbers("", MANY, "");
    hf_entity_list out = HF_ENTITY_LIST_INIT;
    return LEAVING(bytes, hf_repository_fetch_many, r.things, NULL, ids, HF_NTS, &out);
}

static hf_status deletes_many(room r, size_t bytes) {
    add_the_many(r);
    return LEAVING(bytes, hf_repository_delete_all, r.things, NULL, NULL, 0, NULL, NULL);
}

static hf_status builds_an_index(room r, size_t bytes) {
    add_the_many(r);
    return LEAVING(bytes, hf_repository_create_index, r.things, "{\"fields\":{\"id\":1}}", NULL, NULL);
}

static hf_status performs_a_large_operation(room r, size_t bytes) {
    size_t length;
    char *entity = large_entity(&length), *text = malloc(length + 128);
    sprintf(text, "{\"operation\":\"save\",\"repository\":\"things\",\"entity\":%s}", entity);
    hf_operation *operation = NULL;
    hf_status status = LEAVING(bytes, hf_operation_create, r.store, text, HF_NTS, &operation);
    if (status == HF_OK) {
        hf_entity out = HF_ENTITY_INIT;
        status = LEAVING(bytes, hf_operation_perform, operation, NULL, &out, NULL);
    }
    hf_operation_free(operation);
    return status;
}

static hf_status completes_a_future_with_much(room r, size_t bytes) {
    (void)r;
    size_t length;
    char *text = large_entity(&length);
    hf_future *future = NULL;
    require(hf_future_create(&future, NULL) == HF_OK, "it is created", NULL);
    hf_status status = LEAVING(bytes, hf_future_complete, future, text, length);
    require(hf_future_is_ended(future) == (status == HF_OK), "what is refused completes nothing", NULL);
    hf_entity out = HF_ENTITY_INIT;
    if (status == HF_OK)
        status = LEAVING(bytes, hf_future_wait, future, NULL, 0, &out, NULL);
    hf_future_free(future);
    return status;
}

static const char *imported;

static int64_t read_import(char *buffer, size_t capacity, void *user_data, hf_error **out_error) {
    (void)out_error;
    (void)user_data;
    size_t left = strlen(imported), count = left < capacity ? left : capacity;
    memcpy(buffer, imported, count);
    imported += count;
    return (int64_t)count;
}

static hf_status imports_a_large_line(room r, size_t bytes) {
    size_t length;
    imported = large_entity(&length);
    hf_buffer report = HF_BUFFER_INIT;
    return LEAVING(bytes, hf_store_import, r.store, "{\"repository\":\"things\"}", read_import, NULL, NULL,
                   &report);
}

static hf_status discard(const char *lines, size_t length, void *user_data, hf_error **out_error) {
    (void)lines, (void)length, (void)user_data, (void)out_error;
    return HF_OK;
}

static hf_status exports_a_large_entity(room r, size_t bytes) {
    size_t length;
    char *text = large_entity(&length);
    require(hf_repository_save(r.things, NULL, text, length, NULL, NULL) == HF_OK, "it is written", NULL);
    hf_buffer report = HF_BUFFER_INIT;
    return LEAVING(bytes, hf_store_export, r.store, NULL, discard, NULL, NULL, &report);
}

static hf_status reduces_a_large_state(room r, size_t bytes) {
    (void)r;
    size_t length;
    char *element = large_entity(&length), *action = malloc(length + 256);
    sprintf(action, "{\"action\":\"save\",\"token\":\"t\",\"element\":%s}", element);
    hf_buffer out = HF_BUFFER_INIT;
    hf_error *error = NULL;
    leave(bytes);
    hf_status status = hf_reduce(action, HF_NTS, NULL, 0, &out, &error);
    leave_all();
    hf_error_free(error);
    require(status != HF_INTERNAL, "a status", NULL);
    return status == HF_NO_MEMORY ? status : HF_OK;
}

/* In pieces so small that none of them is looked at for itself. */
static hf_status fills_a_transaction_piece_by_piece(room r, size_t bytes) {
    enum { PIECES = 4000, PIECE = 4000 };
    char text[PIECE + 64];
    hf_transaction *t = begin(r.store, NULL);
    hf_error *error = NULL;
    hf_status status = HF_OK;
    leave(bytes);
    for (int i = 0; i < PIECES && status == HF_OK; i++) {
        snprintf(text, sizeof text, "{\"id\":%d,\"text\":\"%0*d\"}", i, PIECE, i);
        status = hf_repository_save(r.things, t, text, HF_NTS, NULL, &error);
    }
    leave_all();
    hf_transaction_free(t);
    return accept_or_refuse(status, error);
}

/* Answers whether memory was refused. */
static bool run_in_a_process(const fixture *f, memory_case run, size_t bytes) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        char url[160];
        snprintf(url, sizeof url, "%s%s", f->url, strcmp(f->engine, "memory") == 0 ? "" : ".child");
        room r = {NULL, NULL};
        hf_error *error = NULL;
        require(hf_store_open(url, NULL, &r.store, &error) == HF_OK, "opening", error);
        require(hf_repository_open(r.store, "things", NULL, &r.things, &error) == HF_OK, "opening", error);
        hf_status status = run(r, bytes);
        require(hf_repository_save(r.things, NULL, "{\"id\":\"after\"}", HF_NTS, NULL, &error) == HF_OK,
                "the store goes on", error);
        require(hf_store_close(r.store, -1, &error) == HF_OK, "closing", error);
        if (strcmp(f->engine, "memory") != 0)
            unlink(url);
        _exit(status == HF_OK ? 0 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2))
        fail_msg("with %zu bytes left it ended with status 0x%x", bytes, (unsigned)status);
    return WEXITSTATUS(status) == 2;
}

static void with_less_and_less(fixture *f, void (*scenario)(void)) {
    memory_case run = (memory_case)scenario;
    bool was_refused = false;
    for (size_t bytes = 256 << 10; bytes <= MOST; bytes += MIB + bytes)
        was_refused = run_in_a_process(f, run, bytes) || was_refused;
    assert_true(was_refused);
    assert_false(run_in_a_process(f, run, (size_t)1 << 30));
}

static void an_answer_without_memory_says_that_the_commit_is_stored(room r) {
    size_t length;
    char *text = large_entity(&length);
    hf_entity out = HF_ENTITY_INIT;
    results_are_refused = true;
    hf_error *error = error_of(HF_NO_MEMORY, hf_repository_save, r.things, NULL, text, length, &out);
    results_are_refused = false;
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_DONE);
    hf_error_free(error);
    expect_count(r.things, NULL, NULL, 1);
    /* In a transaction it is not yet. */
    hf_transaction *t = begin(r.store, NULL);
    results_are_refused = true;
    error = error_of(HF_NO_MEMORY, hf_repository_save, r.things, t, text, length, &out);
    results_are_refused = false;
    assert_int_equal(hf_error_commit_state(error), HF_COMMIT_NONE);
    hf_error_free(error);
    hf_transaction_free(t);
    hf_entity_free(&out);
    free(text);
}

/* Whatever of a piece is refused: the array's last bracket, for which a text of this length leaves no room,
 * or the views. */
static void a_piece_that_could_not_be_handed_over_comes_again(room r) {
    enum { COUNT = 5, LENGTH = MIB / 3 * 2 };
    static char text[LENGTH + 64];
    for (int i = 0; i < COUNT; i++) {
        int length = snprintf(text, sizeof text, "{\"id\":\"%03d\",\"text\":\"", i);
        memset(text + length, 'x', LENGTH);
        strcpy(text + length + LENGTH, "\"}");
        save(r.things, NULL, text);
    }
    static const char *const orders[] = {NULL, "{\"sort\":{\"id\":1}}", "{\"sort\":{\"id\":1},\"skip\":1}"};
    for (size_t order = 0; order < COUNT_OF(orders); order++) {
        hf_transaction *t = begin(r.store, NULL);
        hf_cursor *cursor = NULL;
        expect_ok(hf_cursor_open, r.things, t, NULL, 0, orders[order], &cursor);
        hf_entity_list list = HF_ENTITY_LIST_INIT;
        int first = order == 2;
        for (int i = first; i < COUNT; i++) {
            results_are_refused = i == first;
            refused_views = results_are_refused ? 0 : sizeof(hf_entity_view) + 3;
            expect(HF_NO_MEMORY, hf_cursor_next, cursor, 1, &list);
            results_are_refused = false;
            refused_views = 0;
            expect_ok(hf_cursor_next, cursor, 1, &list);
            assert_int_equal(list.count, 1);
            assert_int_equal(list.items[0].id[2], '0' + i);
        }
        expect_ok(hf_cursor_next, cursor, 1, &list);
        assert_int_equal(list.count, 0);
        hf_entity_list_free(&list);
        hf_cursor_free(cursor);
        hf_transaction_free(t);
    }
}

/* A case as a scenario. */
#define OR_IS_REFUSED(function)                                                                              \
    { #function "_or_is_refused", with_less_and_less, (void (*)(void))(function), ON_ALL }

static void lengths_beyond_all_memory_are_refused(room r) {
    hf_future *future = NULL;
    expect_ok(hf_future_create, &future);
    hf_buffer buffer = HF_BUFFER_INIT;
    hf_operation *operation = NULL;
    static const size_t lengths[] = {(size_t)1 << 35, (size_t)1 << 40, (size_t)1 << 47, SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        size_t length = lengths[i];
        expect(HF_NO_MEMORY, hf_future_complete, future, "x", length);
        assert_false(hf_buffer_set(&buffer, "x", length));
        expect(HF_NO_MEMORY, hf_repository_save, r.things, NULL, "{}", length, NULL);
        expect(HF_NO_MEMORY, hf_operation_create, r.store, "{}", length, &operation);
    }
    expect(HF_INVALID_ARGUMENT, hf_future_complete, future, "x", SIZE_MAX - 1);
    assert_false(hf_buffer_set(&buffer, "x", SIZE_MAX - 1));
    assert_false(hf_future_is_ended(future));
    hf_future_free(future);
}

int main(void) {
    static const scenario scenarios[] = {
        ONCE(lengths_beyond_all_memory_are_refused),
        OR_IS_REFUSED(saves_a_large_entity),
        OR_IS_REFUSED(saves_a_large_entity_without_an_id),
        OR_IS_REFUSED(commits_a_large_transaction),
        OR_IS_REFUSED(adds_many),
        OR_IS_REFUSED(writes_many_in_a_transaction),
        OR_IS_REFUSED(fills_a_transaction_piece_by_piece),
        OR_IS_REFUSED(fetches_a_large_entity),
        EACH_ENGINE(an_answer_without_memory_says_that_the_commit_is_stored),
        OR_IS_REFUSED(changes_a_large_entity),
        OR_IS_REFUSED(finds_many),
        OR_IS_REFUSED(sorts_many),
        OR_IS_REFUSED(takes_pieces_as_they_lie),
        OR_IS_REFUSED(takes_pieces_in_order),
        EACH_ENGINE(a_piece_that_could_not_be_handed_over_comes_again),
        OR_IS_REFUSED(tells_many_values_apart),
        OR_IS_REFUSED(asks_for_one_of_many),
        OR_IS_REFUSED(fetches_many),
        OR_IS_REFUSED(deletes_many),
        OR_IS_REFUSED(builds_an_index),
        OR_IS_REFUSED(performs_a_large_operation),
        OR_IS_REFUSED(completes_a_future_with_much),
        OR_IS_REFUSED(imports_a_large_line),
        OR_IS_REFUSED(exports_a_large_entity),
        OR_IS_REFUSED(reduces_a_large_state),
    };
    return run_scenarios("memory", scenarios, COUNT_OF(scenarios));
}
