#include "CHoldfastPlatform.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int hfp_event_create(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

/* An eventfd is non-blocking here: a full counter is still readable and an empty one is still clear, so
 * neither failure matters. */
void hfp_event_set(int descriptor) {
    uint64_t one = 1;
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void hfp_event_clear(int descriptor) {
    uint64_t count;
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void hfp_event_close(int descriptor) { close(descriptor); }
