/*
 * Base: compiler annotations, HF_NTS, and the two ways in which bytes leave the library.
 *
 * Ownership, once for all headers: what a function returns through an `out_` parameter belongs to
 * the caller and is given back with the type's own `_free`; a pointer that a callback receives is
 * borrowed for the duration of that call. `_free(NULL)` does nothing.
 *
 * NULL, once for all headers, which mark no pointer: whatever pointer a caller gives may be NULL. Where a
 * comment gives NULL no meaning, and the function cannot do without, it answers HF_INVALID_ARGUMENT and
 * changes nothing. What the library answers, and what it gives to the host's functions, is not NULL, but for
 * user_data and where a comment says so.
 *
 * Parameters, once for all headers, where a comment says nothing else of them. What the functions of a header
 * have in common besides is told at its top, in the same form. A length stands behind what it is of.
 *
 *   out_error       receives what went wrong, freed with hf_error_free, or NULL where nothing did; NULL
 *                   if not wanted
 *   user_data       handed to the host's function that it comes with, as it is; NULL allowed
 *   length          in bytes, or HF_NTS
 *
 * Parameters of the host's functions, likewise:
 *
 *   out_error       may receive an error made with hf_error_create, or one that a call of the library has
 *                   answered; the library takes it over
 *   user_data       as given together with the function; may be NULL
 *
 * Structs, once for all headers: one that the library fills or lends (hf_buffer, hf_entity, hf_entity_view,
 * hf_entity_list, hf_event, hf_receipt, hf_receipt_change, hf_provider_write) stays as it is for as long as
 * the soname does, also in arrays; what is to be told besides gets a function. One that a host fills in
 * (hf_provider, hf_participant_callbacks) begins with its `size`, which tells the library which members there
 * are, and grows at its end.
 */
#ifndef HOLDFAST_BASE_H
#define HOLDFAST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HF_BEGIN_DECLS extern "C" {
#define HF_END_DECLS }
#else
#define HF_BEGIN_DECLS
#define HF_END_DECLS
#endif

#if defined(__clang__)
#define HF_OPEN_ENUM __attribute__((enum_extensibility(open)))
#else
#define HF_OPEN_ENUM
#endif

/* The head of an enumeration. Its numbers have a type where a language has a say in it, so that one which
 * only a later library knows, or a host's own, is a value of the enumeration in C++, too. In C it is one
 * anyway. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define HF_ENUM(name) HF_OPEN_ENUM name : uint32_t
#else
#define HF_ENUM(name) HF_OPEN_ENUM name
#endif

#if defined(__GNUC__) || defined(__clang__)
#define HF_EXPORT __attribute__((visibility("default")))
#else
#define HF_EXPORT
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
    char *data;
    size_t length;
    size_t capacity;
} hf_buffer;

#define HF_BUFFER_INIT                                                                                       \
    { NULL, 0, 0 }

/**
 * Frees the memory of a buffer and sets it to HF_BUFFER_INIT. buffer: NULL and an empty one are allowed.
 * Cannot fail. Any thread; one buffer must not be used by two threads at once.
 */
HF_EXPORT void hf_buffer_free(hf_buffer *buffer);

/**
 * Fills a buffer with a copy of the bytes and a closing NUL, reusing and growing its memory; for results that
 * a host's function gives back.
 *
 * buffer: must not be NULL. bytes: NULL with length 0 for none. length: in bytes, or HF_NTS.
 * Answers false, with the buffer as it was, where one of them is NULL that must not be, and without memory.
 * Any thread.
 */
HF_EXPORT bool hf_buffer_set(hf_buffer *buffer, const char *bytes, size_t length);

HF_END_DECLS

#endif
