/*
 * Answer: for hosts whose functions may end before their first line, or behind their last one.
 *
 * In Python, for one, the handler of a signal may raise an exception at any moment, also before a function
 * has begun; what the library would then be given as the function's value is whatever lies in memory. Such a
 * host declares its functions, and has them answer by a call. C programs need none of this.
 */
#ifndef HOLDFAST_ANSWER_H
#define HOLDFAST_ANSWER_H

#include "base.h"
#include "error.h"
#include "status.h"

HF_BEGIN_DECLS

/** A function of any type: cast yours to this one. */
typedef void (*hf_function)(void);

/**
 * Says that a function, of any of the types in these headers, answers by hf_answer: what it returns counts
 * for nothing, for the rest of the process.
 *
 * The library calls it again, up to 100 times, until it has called hf_answer, also where it has no value to
 * give; so that is the first thing that it is to do. One that never does has failed: it has then answered
 * HF_HOST_ERROR, false, -1, or for a clock the time 0.
 *
 * function: must not be NULL. Errors: HF_INVALID_ARGUMENT (function is NULL), HF_NO_MEMORY (64 were
 * declared). Any thread.
 */
HF_EXPORT hf_status hf_answer_declare(hf_function function, hf_error **out_error);

/**
 * Gives the answer of the declared function that the library is just calling on this thread.
 *
 * answer: a status, a truth, a length or a time; the last one counts. A predicate that answers a negative
 * number ends its query with HF_HOST_ERROR.
 *
 * Answers how often the library has called the function in vain for this before: 0 as a rule, -1 where it
 * is calling none. Cannot fail. Any thread. Does not block.
 */
HF_EXPORT int32_t hf_answer(int64_t answer);

HF_END_DECLS

#endif
