#include "clients.h"
#include "desk.h"

#include <stdlib.h>
#include <unistd.h>

/* What takes long. */
static void attend(desk *d) {
    switch (draw(6)) {
    case 0:
        export_all(d, 4);
        break;
    case 1:
        upgrade(d);
        break;
    case 2:
    case 3:
        import_some(d);
        break;
    default:
        maintenance(d);
    }
}

static void *client(void *argument) {
    desk *d = argument;
    while (d->steps > 0 && !d->wants_end && the->switches < the->enough) {
        d->steps--;
        switch (draw(18)) {
        case 0:
        case 1:
            add_batch(d);
            break;
        case 2:
            remove_batch(d);
            break;
        case 3:
            count_batch(d);
            break;
        case 4:
            attend(d);
            break;
        case 5:
        case 6:
            push(d);
            break;
        case 7:
        case 8:
            change_lists(d, false);
            break;
        case 9:
            acknowledge(d);
            break;
        case 10:
            read_feed(d);
            break;
        default:
            change_lists(d, true);
        }
        if (happens(30))
            usleep((useconds_t)draw(200000));
    }
    return NULL;
}

/* Where one of this number was killed meanwhile, nobody is at it any more. */
static void go_on(void) {
    told->exported[own_process()].is_running = false;
    for (int i = 0; i < told->imports; i++)
        if (told->import[i].process == own_process())
            told->import[i].is_running = false;
}

void run_clients(const plan *plan) {
    go_on();
    for (int session = 0; session < plan->sessions && the->switches < the->enough; session++) {
        desk d;
        hf_error *error = NULL;
        hf_status status = desk_open(&d, STORE, plan->options, &error);
        told->counted.opens++;
        if (!look("open", status, &error)) {
            told->counted.failed_opens++;
            desk_close(&d);
            usleep((useconds_t)draw(500000));
            continue;
        }
        d.steps = plan->steps;
        if (happens(500))
            upgrade(&d);
        if (happens(600))
            follow(&d);
        if (happens(400))
            open_live_query(&d);
        pthread_t threads[8];
        for (int i = 0; i < plan->clients; i++)
            if (pthread_create(&threads[i], NULL, client, &d) != 0)
                abort();
        for (int i = 0; i < plan->clients; i++)
            pthread_join(threads[i], NULL);
        close_live_query(&d);
        if (happens(200))
            export_all(&d, 1);
        desk_close(&d);
    }
    process_end(ENDED);
}
