#include "zipfian.h"

#include "documents.h"

#include <math.h>

static const double skew = 0.99;

static double zeta(size_t count) {
    double sum = 0;
    for (size_t i = 1; i <= count; i++)
        sum += 1 / pow((double)i, skew);
    return sum;
}

zipfian zipfian_of(size_t count) {
    double all = zeta(count);
    return (zipfian){
        .count = count,
        .zeta = all,
        .alpha = 1 / (1 - skew),
        .eta = (1 - pow(2 / (double)count, 1 - skew)) / (1 - zeta(2) / all),
        .second = 1 + pow(0.5, skew),
    };
}

size_t zipfian_next(const zipfian *z, uint64_t *chance) {
    double chosen = uniform_next(chance), sum = chosen * z->zeta;
    if (sum < 1)
        return 0;
    if (sum < z->second)
        return 1;
    size_t rank = (size_t)((double)z->count * pow(z->eta * chosen - z->eta + 1, z->alpha));
    return rank < z->count ? rank : z->count - 1;
}

double uniform_next(uint64_t *chance) { return (double)(random_next(chance) >> 11) / (double)(1ULL << 53); }

uint64_t scattered(uint64_t number) {
    uint64_t hash = 0xCBF29CE484222325;
    for (int i = 0; i < 8; i++, number >>= 8)
        hash = (hash ^ (number & 0xFF)) * 1099511628211;
    return hash;
}
