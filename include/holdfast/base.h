/*
 * Base: compiler annotations, HF_NTS, and the two ways in which bytes leave the library.
 *
 * Ownership, once for all headers: what a function returns through an `out_` parameter belongs to
 * the caller and is given back with the type's own `_free`; a pointer that a callback receives is
 * borrowed for the duration of that call. `_free(NULL)` does nothing.
 */
#ifndef HOLDFAST_BASE_H
#define HOLDFAST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
/* Nullability is written in clang's own words, which -Wpedantic would report. */
#define HF_DIAGNOSTICS_PUSH                                                                                  \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wnullability-extension\"")
#define HF_DIAGNOSTICS_POP _Pragma("clang diagnostic pop")
#else
#define HF_DIAGNOSTICS_PUSH
#define HF_DIAGNOSTICS_POP
#endif

#ifdef __cplusplus
#define HF_BEGIN_DECLS HF_DIAGNOSTICS_PUSH extern "C" {
#define HF_END_DECLS                                                                                         \
    }                                                                                                        \
    HF_DIAGNOSTICS_POP
#else
#define HF_BEGIN_DECLS HF_DIAGNOSTICS_PUSH
#define HF_END_DECLS HF_DIAGNOSTICS_POP
#endif

#if defined(__clang__)
#define HF_NULLABLE _Nullable
#define HF_NONNULL _Nonnull
#define HF_OPEN_ENUM __attribute__((enum_extensibility(open)))
#else
#define HF_NULLABLE
#define HF_NONNULL
#define HF_OPEN_ENUM
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HF_WARN_UNUSED __attribute__((warn_unused_result))
#else
#define HF_WARN_UNUSED
#endif

/** A length that says: the bytes end at their first NUL. Accepted wherever a length in bytes is. */
#define HF_NTS ((size_t)-1)

HF_BEGIN_DECLS

/**
 * Text that the caller owns: a receipt, a list, a description, always UTF-8 JSON.
 *
 * Start with HF_BUFFER_INIT and pass the same buffer again and again: the library reuses the memory
 * and grows it when needed. `data` is NULL before first use; afterwards it holds `length` bytes and
 * a closing NUL that `length` does not count. On failure the buffer keeps what it held.
 */
typedef struct hf_buffer {
    char *HF_NULLABLE data;
    size_t length;
    size_t capacity;
} hf_buffer;

#define HF_BUFFER_INIT                                                                                       \
    { NULL, 0, 0 }

/**
 * Frees the memory of a buffer and sets it to HF_BUFFER_INIT. NULL and an empty buffer are allowed.
 * Cannot fail. Any thread; one buffer must not be used by two threads at once.
 */
void hf_buffer_free(hf_buffer *HF_NULLABLE buffer);

/**
 * Fills a buffer with a copy of the bytes and a closing NUL, reusing and growing its memory; for results that
 * a host's function gives back. length: in bytes, or HF_NTS. False, with the buffer as it was: buffer or
 * bytes NULL (with a length other than 0), or no memory. Any thread.
 */
bool hf_buffer_set(hf_buffer *HF_NULLABLE buffer, const char *HF_NULLABLE bytes, size_t length);

HF_END_DECLS

#endif
