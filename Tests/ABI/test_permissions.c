/* Stores where the file system does not let this user write. Run as root it becomes nobody first, whom
 * permissions bind. */
#include "support.h"

#include <sys/stat.h>

enum { NOBODY = 65534 };

static void make_store_with_one_thing(const fixture *f) {
    room r = open_room(f, NULL);
    save(r.things, NULL, "{\"id\":\"s1\"}");
    close_room(r);
}

static void expect_refusal_where(fixture *f, mode_t mode, hf_status expected) {
    make_store_with_one_thing(f);
    assert_int_equal(chmod(f->url, mode), 0);
    hf_store *store = NULL;
    expect(expected, hf_store_open, f->url, NULL, &store);
    assert_null(store);
}

static void a_file_that_may_not_be_written_is_read_only(fixture *f) {
    expect_refusal_where(f, 0400, HF_READ_ONLY);
}

static void a_file_that_may_not_be_written_can_be_read(fixture *f) {
    make_store_with_one_thing(f);
    assert_int_equal(chmod(f->url, 0400), 0);
    room r = open_room(f, "{\"read_only\":true}");
    expect_entity(r.things, NULL, "s1", "{\"id\":\"s1\"}");
    close_room(r);
}

static void a_file_that_may_not_be_read_cannot_be_opened(fixture *f) {
    expect_refusal_where(f, 0, HF_CANNOT_OPEN);
}

static void nothing_can_be_created_in_a_directory_that_may_not_be_written(fixture *f) {
    assert_int_equal(chmod(f->directory, 0500), 0);
    hf_store *store = NULL;
    hf_error *error = NULL;
    hf_status status = hf_store_open(f->url, NULL, &store, &error);
    chmod(f->directory, 0700);
    assert_true(status == HF_CANNOT_OPEN || status == HF_READ_ONLY);
    hf_error_free(error);
    assert_null(store);
}

int main(void) {
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
        perror("setuid");
        return 1;
    }
    static const scenario scenarios[] = {
        SQLITE_ONLY(a_file_that_may_not_be_written_is_read_only),
        SQLITE_ONLY(a_file_that_may_not_be_written_can_be_read),
        SQLITE_ONLY(a_file_that_may_not_be_read_cannot_be_opened),
        SQLITE_ONLY(nothing_can_be_created_in_a_directory_that_may_not_be_written),
    };
    return run_scenarios("permissions", scenarios, COUNT_OF(scenarios));
}
