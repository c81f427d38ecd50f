/*
 * Version: which contract the program was written for, and what this library can do.
 */
#ifndef HOLDFAST_VERSION_H
#define HOLDFAST_VERSION_H

#include "base.h"
#include "error.h"
#include "status.h"

HF_BEGIN_DECLS

/** The version of the contract in these headers. Rises when functions or options are added. */
#define HF_API_VERSION 1

/**
 * Says which contract the program was compiled against. Call it once, first, with HF_API_VERSION;
 * calling it again, or not at all, does no harm.
 *
 * api_version: the HF_API_VERSION of the headers that the program was compiled with.
 * Errors: HF_VERSION_UNSUPPORTED when this library is older than `api_version`, with both numbers in
 * the message; HF_INVALID_ARGUMENT when `api_version` is less than 1. Any thread.
 */
HF_EXPORT hf_status hf_version_select(int32_t api_version, hf_error **out_error);

/** The library's own version, such as "0.1.0". Constant text. Cannot fail. Any thread. */
HF_EXPORT const char *hf_version_text(void);

/**
 * The same as a number that later versions are greater than: 1,000,000 for each major version, 1,000 for each
 * minor one, and the patch; 1000 for "0.1.0". Cannot fail. Any thread.
 */
HF_EXPORT int32_t hf_version_number(void);

/**
 * Whether this library has a feature, so that a program can ask before it relies on it.
 *
 * name: one that the library does not know is answered with false, as is NULL. Known are "sqlite", "memory",
 * "postgresql", "provider" (engines); "queue_delivery", "idempotency", "savepoints", "scopes", "filters",
 * "updates", "indexes", "cursors", "validators", "object_trees", "operations", "futures", "streams",
 * "live_queries", "controllers", "cache_policies", "expiry", "maintenance", "upgrades", "transfer",
 * "interrupts", "aggregation", "text_search". Cannot fail. Any thread.
 */
HF_EXPORT bool hf_feature_available(const char *name);

HF_END_DECLS

#endif
