#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <stdlib.h>
#include <unistd.h>

const char *hfplatform_environment(const char *name) {
#ifdef __APPLE__
    return issetugid() ? NULL : getenv(name);
#else
    return secure_getenv(name);
#endif
}
