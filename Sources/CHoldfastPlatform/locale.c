#define _GNU_SOURCE
#include "CHoldfastPlatform.h"

#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

static locale_t plain;

__attribute__((constructor)) static void make_plain(void) {
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

void *hfplatform_locale_begin_plain(void) { return uselocale(plain); }

void hfplatform_locale_end_plain(void *before) { uselocale((locale_t)before); }
