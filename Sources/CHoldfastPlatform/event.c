#include "CHoldfastPlatform.h"

#include <errno.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/event.h>

/* A kernel queue, which is readable while an event of it is: here one that the user sets. A forked child does
 * not have it. */
static int change(int descriptor, unsigned short flags, unsigned int what) {
    struct kevent event;
    EV_SET(&event, 0, EVFILT_USER, flags, what, 0, NULL);
    int result;
    do {
        result = kevent(descriptor, &event, 1, NULL, 0, NULL);
    } while (result < 0 && errno == EINTR);
    return result;
}

int hfplatform_event_create(void) {
    int descriptor = kqueue();
    if (descriptor >= 0 && change(descriptor, EV_ADD, 0) < 0) {
        int failure = errno;
        close(descriptor);
        return -failure;
    }
    return descriptor < 0 ? -errno : descriptor;
}

void hfplatform_event_set(int descriptor) { change(descriptor, 0, NOTE_TRIGGER); }

/* An event that is taken out and put in again is no longer triggered. */
void hfplatform_event_clear(int descriptor) {
    change(descriptor, EV_DELETE, 0);
    change(descriptor, EV_ADD, 0);
}
#else
#include <sys/eventfd.h>

int hfplatform_event_create(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

/* An eventfd is non-blocking here: a full counter is still readable and an empty one is still clear, so
 * neither failure matters. */
void hfplatform_event_set(int descriptor) {
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void hfplatform_event_clear(int descriptor) {
    uint64_t count;
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {
    }
}
#endif

void hfplatform_event_close(int descriptor) { close(descriptor); }
