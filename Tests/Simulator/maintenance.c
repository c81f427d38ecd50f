/*
 * The maintenance of a store: what its files and indexes are made to go through.
 */
#include "desk.h"

#include <stdio.h>
#include <unistd.h>

void backup_path(int number, char path[64]) { snprintf(path, 64, DIRECTORY "/backup-%d.db", number); }

static void back_up(desk *d) {
    char path[64];
    int number = (int)draw(BACKUPS);
    backup_path(number, path);
    hf_error *error = NULL;
    uint64_t began = tick();
    if (!look("backup", hf_store_backup(d->store, path, NULL, NULL, NULL, &error), &error))
        return;
    told->backup[number] = (backup){true, generation(), began, tick()};
    told->counted.backups++;
}

void maintenance(desk *d) {
    hf_error *error = NULL;
    switch (draw(8)) {
    case 0:
        look("create index",
             hf_repository_create_index(d->things, "{\"fields\":{\"batch\":1},\"name\":\"by\"}", NULL, NULL,
                                        &error),
             &error);
        break;
    case 1:
        look("drop index", hf_repository_drop_index(d->things, "by", &error), &error);
        break;
    case 2:
        verify(d, "the store");
        break;
    case 3:
        look("compact", hf_store_compact(d->store, NULL, &error), &error);
        break;
    case 4:
    case 5:
        back_up(d);
        break;
    case 6:
        look("sync", hf_store_sync(d->store, &error), &error);
        break;
    case 7:
        usleep((useconds_t)draw(5000000));
        break;
    }
}
