/*
 * The names of Unicode's scalars, which the Swift runtime can tell and nothing here asks for, left out: half
 * a megabyte of tables that the linker would keep because the standard library refers to them. See the
 * Makefile, which has these calls led here.
 */
#ifdef HOLDFAST_OWN_RUNTIME

#include <stddef.h>
#include <stdint.h>

const char *__wrap__swift_stdlib_getNameAlias(uint32_t scalar) {
    (void)scalar;
    return NULL;
}

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, intptr_t capacity) {
    (void)scalar;
    (void)buffer;
    (void)capacity;
    return 0;
}

#endif
