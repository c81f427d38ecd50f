#include "shelf.h"

void begin_shelf(shelf *s) {
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
}

void with_shelf(fixture *f, void (*scenario)(void)) {
    (void)f;
    shelf s;
    begin_shelf(&s);
    ((void (*)(shelf *))scenario)(&s);
    end_shelf(&s);
}

void end_shelf(shelf *s) {
    assert_int_equal(s->freed, 1);
    pthread_mutex_destroy(&s->lock);
}

static book *look_up(shelf *s, const char *repository, const char *id) {
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->books[i].repository, repository) == 0 && strcmp(s->books[i].id, id) == 0)
            return &s->books[i];
    }
    return NULL;
}

static void put(shelf *s, const char *repository, const char *id, const char *entity) {
    book *b = look_up(s, repository, id);
    if (b == NULL) {
        if (s->count == MOST_BOOKS)
            abort();
        b = &s->books[s->count++];
    }
    snprintf(b->repository, sizeof b->repository, "%s", repository);
    snprintf(b->id, sizeof b->id, "%s", id);
    snprintf(b->entity, sizeof b->entity, "%s", entity);
    s->token++;
}

static void take_away(shelf *s, const char *repository, const char *id) {
    book *b = look_up(s, repository, id);
    if (b != NULL)
        *b = s->books[--s->count];
    s->token++;
}

void put_book(shelf *s, const char *id, const char *entity) { put(s, "things", id, entity); }

const char *find_book(shelf *s, const char *id) {
    book *b = look_up(s, "things", id);
    return b == NULL ? NULL : b->entity;
}

static hf_status enter(shelf *s, const char *function, size_t *counter, hf_error **out_error) {
    pthread_mutex_lock(&s->lock);
    size_t number = counter == NULL ? 0 : ++*counter;
    if (++s->running > s->most_running)
        s->most_running = s->running;
    pthread_mutex_unlock(&s->lock);
    hf_status status = s->before == NULL ? HF_OK : s->before(s, function, out_error);
    pthread_mutex_lock(&s->lock);
    if (status == HF_OK && counter == &s->writes && number >= s->fail_from && number < s->fail_to) {
        *out_error = hf_error_create(HF_HOST_ERROR, 7000 + (int64_t)number, "the shelf is broken");
        status = HF_HOST_ERROR;
    }
    return status;
}

static hf_status leave(shelf *s, hf_status status) {
    s->running--;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static hf_status on_save(const char *repository, const char *id, size_t id_length, const char *entity,
                         size_t length, void *user_data, hf_error **out_error) {
    shelf *s = user_data;
    hf_status status = enter(s, "save", &s->writes, out_error);
    if (strlen(id) != id_length || strlen(entity) != length)
        abort();
    if (status == HF_OK)
        put(s, repository, id, entity);
    return leave(s, status);
}

static hf_status on_fetch(const char *repository, const char *id, size_t id_length, hf_buffer *out_entity,
                          void *user_data, hf_error **out_error) {
    shelf *s = user_data;
    hf_status status = enter(s, "fetch", &s->reads, out_error);
    if (strlen(id) != id_length)
        abort();
    if (status == HF_OK) {
        book *b = look_up(s, repository, id);
        status = b == NULL ? HF_NOT_FOUND : HF_OK;
        if (b != NULL)
            hf_buffer_set(out_entity, b->entity, HF_NTS);
    }
    return leave(s, status);
}

static hf_status on_fetch_all(const char *repository, hf_provider_visit_fn visit, void *visitor,
                              void *user_data, hf_error **out_error) {
    shelf *s = user_data;
    hf_status status = enter(s, "fetch_all", &s->reads, out_error);
    for (size_t i = 0; status == HF_OK && i < s->count; i++) {
        book *b = &s->books[i];
        if (strcmp(b->repository, repository) == 0 && !visit(b->id, HF_NTS, b->entity, HF_NTS, visitor))
            break;
    }
    return leave(s, status);
}

static hf_status on_delete(const char *repository, const char *id, size_t id_length, void *user_data,
                           hf_error **out_error) {
    shelf *s = user_data;
    hf_status status = enter(s, "delete", &s->writes, out_error);
    (void)id_length;
    if (status == HF_OK)
        take_away(s, repository, id);
    return leave(s, status);
}

static hf_status on_apply(const hf_provider_write *writes, size_t count, void *user_data,
                          hf_error **out_error) {
    shelf *s = user_data;
    hf_status status = enter(s, "apply", &s->writes, out_error);
    for (size_t i = 0; status == HF_OK && i < count; i++) {
        if (writes[i].entity != NULL)
            put(s, writes[i].repository, writes[i].id, writes[i].entity);
        else
            take_away(s, writes[i].repository, writes[i].id);
    }
    return leave(s, status);
}

/* Understands nothing but that everything was asked for, which is enough, unless it is to find literally. */
static hf_status on_find(const char *repository, const char *filter, size_t filter_length,
                         hf_provider_visit_fn visit, void *visitor, void *user_data, hf_error **out_error) {
    shelf *s = user_data;
    if (strlen(filter) != filter_length)
        abort();
    snprintf(s->filter, sizeof s->filter, "%s", filter);
    if (!s->finds_literally)
        return on_fetch_all(repository, visit, visitor, user_data, out_error);
    hf_status status = enter(s, "find", &s->reads, out_error);
    char sought[128];
    snprintf(sought, sizeof sought, "%.*s", (int)filter_length - 2, filter + 1);
    for (size_t i = 0; status == HF_OK && i < s->count; i++) {
        book *b = &s->books[i];
        if (strcmp(b->repository, repository) == 0 && strstr(b->entity, sought) != NULL &&
            !visit(b->id, HF_NTS, b->entity, HF_NTS, visitor))
            break;
    }
    return leave(s, status);
}

static hf_status on_change_token(uint64_t *out_token, void *user_data, hf_error **out_error) {
    shelf *s = user_data;
    hf_status status = enter(s, "change_token", NULL, out_error);
    *out_token = s->token;
    return leave(s, status);
}

static hf_status on_sync(void *user_data, hf_error **out_error) {
    shelf *s = user_data;
    return leave(s, enter(s, "sync", &s->syncs, out_error));
}

static void free_shelf(void *user_data) { ((shelf *)user_data)->freed++; }

hf_provider provider_of(shelf *s, int abilities) {
    hf_provider provider = HF_PROVIDER_INIT;
    s->finds_literally = (abilities & FINDS_LITERALLY) != 0;
    provider.user_data = s;
    provider.free_user_data = free_shelf;
    provider.on_save = on_save;
    provider.on_fetch = on_fetch;
    provider.on_fetch_all = on_fetch_all;
    provider.on_delete = on_delete;
    provider.on_apply = abilities & CAN_APPLY ? on_apply : NULL;
    provider.on_find = abilities & CAN_FIND ? on_find : NULL;
    provider.on_change_token = abilities & CAN_TELL_CHANGES ? on_change_token : NULL;
    provider.on_sync = abilities & CAN_SYNC ? on_sync : NULL;
    return provider;
}

room open_shelf(shelf *s, int abilities, const char *options) {
    room r = {NULL, NULL};
    hf_provider provider = provider_of(s, abilities);
    expect_ok(hf_store_open_provider, &provider, options, &r.store);
    r.things = open_repository(r.store, "things");
    return r;
}

room begin_shelf_with_one(shelf *s) {
    begin_shelf(s);
    room r = open_shelf(s, 0, NULL);
    save(r.things, NULL, "{\"id\":\"a\",\"n\":1}");
    return r;
}
