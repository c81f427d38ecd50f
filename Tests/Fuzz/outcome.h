/*
 * What every call of the library must answer, whatever it was given.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "input.h"

#include <holdfast.h>

/* Expects a status that has a name and is no defect, with an error of one line, in UTF-8, whose detail is a
 * JSON object; and no error with HF_OK, HF_NOT_FOUND from a fetch, and HF_TIMEOUT from a wait. Frees the
 * error and answers the status. */
hf_status outcome(const char *call, hf_status status, hf_error *error);

/* Calls the function with these arguments and an out_error behind them. */
#define CALL(function, ...)                                                                                  \
    ({                                                                                                       \
        hf_error *error_ = NULL;                                                                             \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        outcome(#function, status_, error_);                                                                 \
    })

/* The same for a call that must succeed. */
#define MUST(function, ...)                                                                                  \
    do {                                                                                                     \
        hf_error *error_ = NULL;                                                                             \
        hf_status status_ = function(__VA_ARGS__, &error_);                                                  \
        if (status_ != HF_OK)                                                                                \
            fail("%s: %s", #function, error_ ? hf_error_message(error_) : hf_status_name(status_));          \
    } while (0)

/* Expects the entity of this id to be there, byte for byte. */
void expect_stored(hf_repository *repository, hf_transaction *transaction, const char *id, size_t id_length,
                   const char *bytes, size_t length);

#endif
