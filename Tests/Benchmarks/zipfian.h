/*
 * Zipfian: ranks of which the first is met most often, as often as most things are that people ask for.
 *
 * The algorithm of Gray, Sundaresan, Englert, Baclawski and Weinberger, "Quickly Generating Billion-Record
 * Synthetic Databases", SIGMOD 1994, section 3.2, with the skew that YCSB has.
 */
#ifndef ZIPFIAN_H
#define ZIPFIAN_H

#include <stddef.h>
#include <stdint.h>

typedef struct zipfian {
    size_t count;
    double zeta, alpha, eta, second;
} zipfian;

/* Of so many ranks, which takes as many steps. */
zipfian zipfian_of(size_t count);
/* A rank from 0 up to `count`, exclusive. `chance`: see random_next. */
size_t zipfian_next(const zipfian *z, uint64_t *chance);

/* A number from 0 to 1, exclusive, each as likely. */
double uniform_next(uint64_t *chance);

/* FNV-1a of the number's eight bytes, which scatters what lies side by side: ranks over all records. (Fowler,
 * Noll, Vo; http://www.isthe.com/chongo/tech/comp/fnv/) */
uint64_t scattered(uint64_t number);

#endif
