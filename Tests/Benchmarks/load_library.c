/*
 * Load library: the time that dlopen takes.
 *
 *     load_library PATH
 */
#include "measure.h"

#include <dlfcn.h>

int main(int argc, char **argv) {
    if (argc != 2)
        fail(argv[0], "PATH");
    double began = seconds_now();
    if (dlopen(argv[1], RTLD_NOW) == NULL)
        fail(argv[1], dlerror());
    report(1, seconds_now() - began, 0, 0);
    return 0;
}
