/*
 * Receipt: what a commit answers, a JSON object:
 *
 *   {"sequence": 17, "position": "7d0c…:17", "durable": true, "attempts": 1, "replayed": false,
 *    "changes": [{"repository": "songs", "id": "s1", "operation": "put", "version": 17},
 *                {"repository": "songs", "id": "s2", "operation": "delete", "version": 17}],
 *    "secondary": []}
 *
 * `changes` are the final changes of the transaction, one for each entity, ordered by repository and id;
 * `version` is the entity's version from now on, to be given as an expected version; `position` is an
 * opaque token of the place in the store's history; `secondary` lists what went wrong on the side.
 * A commit that changed nothing has sequence 0 and no position. "atomic": false is there where several
 * entities were stored one after the other (see provider.h). Readers ignore members they do not know.
 *
 * A program without a reader of JSON has hf_receipt_read:
 *
 *     hf_receipt receipt = HF_RECEIPT_INIT;
 *     if (hf_receipt_read(text.data, text.length, &receipt, &error) == HF_OK)
 *         for (size_t i = 0; i < receipt.change_count; i++)
 *             printf("%s has version %" PRIu64 "\n", receipt.changes[i].id, receipt.changes[i].version);
 *     hf_receipt_free(&receipt);
 */
#ifndef HOLDFAST_RECEIPT_H
#define HOLDFAST_RECEIPT_H

#include "base.h"
#include "error.h"
#include "status.h"

HF_BEGIN_DECLS

/** What became of one entity. Both texts are closed with NUL, and lent by the receipt. */
typedef struct hf_receipt_change {
    const char *repository;
    /** An id holds no NUL. */
    const char *id;
    /** In bytes. */
    size_t id_length;
    /** From now on. */
    uint64_t version;
    /** Whether the entity was deleted; else it was stored. */
    bool is_deletion;
} hf_receipt_change;

/** A receipt that was read, whose memory the caller owns. Start with HF_RECEIPT_INIT; reading into one that
 * is in use frees what it held. On failure it keeps that. */
typedef struct hf_receipt {
    /** The commit's number in the store's order, and the version of what it wrote; 0 when it changed nothing.
     */
    uint64_t sequence;
    /** Closed with NUL; empty when nothing was changed. */
    const char *position;
    /** Ordered by repository and id, one for each entity. */
    const hf_receipt_change *changes;
    size_t change_count;
    /** How often the transaction ran. */
    int32_t attempts;
    /** Whether it was synced to the disk when it was told. */
    bool is_durable;
    /** Whether an earlier commit with the same idempotency key is answered again. */
    bool is_replayed;
    /** False where several entities were stored one after the other. */
    bool is_atomic;
} hf_receipt;

#define HF_RECEIPT_INIT                                                                                      \
    { 0, NULL, NULL, 0, 0, false, false, false }

/**
 * Reads a receipt.
 *
 * text: as an event or a call gave it; length: in bytes, or HF_NTS. out_receipt: receives what it says, to be
 * freed with hf_receipt_free.
 * Errors: HF_INVALID_JSON, HF_INVALID_ARGUMENT (text or out_receipt is NULL, or the JSON is no receipt, as
 * the result of an operation is none), HF_NO_MEMORY. Any thread. Does not block.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_receipt_read(const char *text, size_t length, hf_receipt *out_receipt,
                                                   hf_error **out_error);

/** Frees the memory of a receipt and sets it to HF_RECEIPT_INIT. receipt: NULL allowed. Cannot fail. Any
 * thread. */
HF_EXPORT void hf_receipt_free(hf_receipt *receipt);

HF_END_DECLS

#endif
