/*
 * Aggregate: documents made of a repository's entities by a pipeline of stages, with MongoDB's meaning.
 *
 * A pipeline is a JSON array of stages, objects with one member each, through which documents go one behind
 * the other: first the entities, then what each stage makes of what comes to it.
 *
 *   [{"$match": {"paid": true}},
 *    {"$group": {"_id": "$country", "total": {"$sum": "$amount"}, "orders": {"$sum": 1}}},
 *    {"$sort": {"total": -1}},
 *    {"$limit": 10}]
 *
 *   {"$match": filter}         those that match; a filter as of hf_repository_find, also with
 *                              "$expr": expression beside its conditions at the top level; "$text" in the
 *                              first stage only
 *   {"$group": {"_id": expression, "name": {accumulator: expression}, ...}}
 *                              one document for each value of "_id", null for what is missing, in the order
 *                              of these values. 1 and 1.0 are one value; the first one is shown
 *   {"$sort": {"path": 1, "other": -1}}    as "sort" of hf_repository_find; what is equal stays as it comes
 *   {"$limit": n}              the first of them; n from 1
 *   {"$skip": n}               all but the first
 *   {"$project": {"a": 1, "b.c": 1, "sum": expression}}    chooses and computes members. The id stays too
 *                              unless its member is given 0: that of the repository's key, and "_id" behind
 *                              $group, $bucket, $sortByCount and $count. {"a": 0} leaves out instead
 *   {"$set": {"path": expression}}         computes members, in their place or as last; also "$addFields"
 *   {"$unset": ["a", "b.c"]}   leaves members out; also one as a text
 *   {"$unwind": "$path"}       a document for each element of an array, none for an empty one, null, and
 *                              what is missing; also {"path": "$path", "includeArrayIndex": "name",
 *                              "preserveNullAndEmptyArrays": true}
 *   {"$count": "name"}         one document with how many there are; none of none
 *   {"$sortByCount": expression}           "_id" and "count" of each value, the most frequent first, those
 *                              of one count in the order of "_id"
 *   {"$bucket": {"groupBy": expression, "boundaries": [0, 10, 100], "default": "other",
 *                "output": {"name": {accumulator: expression}}}}
 *                              groups of what lies from one boundary to the next; "_id" is the lower one.
 *                              Boundaries and default are constants; without "output" there is "count"
 *   {"$lookup": {"from": "customers", "localField": "customer", "foreignField": "id", "as": "customers"}}
 *                              the entities of another repository of the store whose value at foreignField
 *                              is that at localField, or an element of it; null is what is missing, too. An
 *                              array, in the order of the ids. An index over foreignField, or the id, is
 *                              used; without one that repository is read once, and kept in memory
 *   {"$replaceRoot": {"newRoot": expression}}    the object instead of the document; also "$replaceWith"
 *
 * An expression is a literal, "$path" (the value there, through arrays that of each element), "$$ROOT" (the
 * document), "$$REMOVE" (no member), {"member": expression, ...}, [expression, ...], {"$literal": value},
 * which is taken as it is, or an operator with its operands, as {"$multiply": ["$price", "$count"]}:
 *
 *   numbers        $abs $add $ceil $divide $exp $floor $ln $log $log10 $mod $multiply $pow $round $sqrt
 *                  $subtract $trunc; of arrays $avg $max $min $stdDevPop $stdDevSamp $sum
 *   comparisons    $cmp $eq $gt $gte $lt $lte $ne; $and $not $or; $cond $ifNull $switch
 *   strings        $concat $indexOfCP $ltrim $regexMatch $replaceAll $replaceOne $rtrim $split $strLenCP
 *                  $substrCP $toLower $toUpper $trim
 *   arrays         $arrayElemAt $arrayToObject $concatArrays $filter $first $in $indexOfArray $isArray $last
 *                  $map $range $reduce $reverseArray $size $slice $sortArray; as sets $setDifference
 *                  $setEquals $setIntersection $setIsSubset $setUnion
 *   objects        $getField $mergeObjects $objectToArray $setField $unsetField
 *   dates          texts of ISO 8601 such as "2024-05-06T07:08:09Z": $dateAdd $dateDiff $dateSubtract
 *                  $dateToString $dateTrunc $dayOfMonth $dayOfWeek $dayOfYear $hour $isoDayOfWeek $isoWeek
 *                  $isoWeekYear $millisecond $minute $month $second $week $year
 *   types          $convert $isNumber $toBool $toDouble $toInt $toLong $toString $type
 *   variables      $let
 *
 * Accumulators are $sum $avg $min $max $first $last $push $addToSet $count $stdDevPop $stdDevSamp
 * $mergeObjects; $sum leaves out what is no number. Fractions are calculated as doubles: who must add up
 * money exactly stores it in whole cents.
 *
 * Other stages are HF_INVALID_QUERY, and so is what is wrong with one: the detail has `stage` (its number,
 * from 0), `operator`, `path` where there is one, and `position` in bytes. No document that a stage makes is
 * longer than 268,435,456 bytes; for one document an expression makes at most 67,108,864 bytes of values, or
 * goes through as many again, and none that is nested deeper than 200. A literal may be
 * {"$param": "name"} in filters, expressions, $limit and $skip: its value comes from the options, and is
 * taken as a literal whatever it looks like.
 *
 * Documents come by the ids' bytes unless an index serves the pipeline, or a stage orders them: then in no
 * order that is promised, and $first, $last, $push, $skip and $limit take them as they come. $match, $sort,
 * $skip and $limit at the beginning find entities as hf_repository_find does, also a $match that may as well
 * stand there; $group by a path, or by the id, that an index has in order keeps one group at a time.
 *
 * A pipeline reads one snapshot, of all repositories that it names. In a transaction that is the
 * transaction's, with its own writes, and all counts as read: another commit that adds or changes what the
 * first $match asks for, or what $lookup looks up, is a conflict, as with hf_repository_find.
 *
 * options: NUL-terminated JSON object, or NULL:
 *   "parameters": {"x": 1}   values for the parameters of the pipeline, by their names
 *   "max_memory_bytes": 1..2^53 (104857600)    what stages may keep at once: groups, documents to be sorted,
 *                            entities that were looked up. More is HF_NO_MEMORY, whose detail has `stage`,
 *                            `option` and `limit`. The answer itself does not count
 *   "max_stages": 1..1000 (1000)       how many stages a pipeline may have
 *   "max_groups": 1..2^53 (10000000)   how many groups one stage may make, whether they are kept at once or
 *                            come one behind the other along an index
 *   "max_depth": 1..200 (200)          how many arrays and objects may stand in each other in a document that
 *                            a stage makes; one of numbers and texts has 1. More than these three allow is
 *                            HF_INVALID_QUERY, whose detail has `option` and `limit`, too
 *   "damaged": "refuse" | "skip"   (refuse) as of hf_repository_find, also where $lookup reads
 *
 * Functions may be called from any thread, and answer HF_INVALID_HANDLE, HF_FORKED, HF_CLOSED,
 * HF_INVALID_ARGUMENT, HF_IO, HF_CORRUPT, HF_NO_MEMORY, HF_CANCELLED besides what they name.
 */
#ifndef HOLDFAST_AGGREGATE_H
#define HOLDFAST_AGGREGATE_H

#include "base.h"
#include "entity.h"
#include "error.h"
#include "event.h"
#include "repository.h"
#include "status.h"
#include "stream.h"
#include "transaction.h"

HF_BEGIN_DECLS

/**
 * Answers what a pipeline makes of a repository's entities.
 *
 * transaction: NULL for the newest committed state. pipeline, pipeline_length: JSON, see above; must not be
 * NULL. options: NULL allowed. out_documents: HF_BUFFER_INIT at first; receives a JSON array of
 * the documents, freed with hf_buffer_free; as it was where the call fails; must not be NULL.
 *
 * Errors: HF_INVALID_JSON, HF_INVALID_QUERY (also where an expression fails on a document),
 * HF_INVALID_OPTION, HF_NOT_FOUND (there is no repository of the name that $lookup has), HF_NO_MEMORY (also
 * beyond "max_memory_bytes").
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_aggregate(hf_repository *repository,
                                                           hf_transaction *transaction, const char *pipeline,
                                                           size_t pipeline_length, const char *options,
                                                           hf_buffer *out_documents, hf_error **out_error);

/**
 * Tells how a pipeline is carried out, by carrying it out.
 *
 * Parameters as for hf_repository_aggregate, whose documents are counted and not given; in a transaction it
 * counts as a read. out_report: receives a JSON object; must not be NULL. Readers ignore other members than
 * these:
 *
 *   "access", "index", "bounds", "alternatives", "exact", "sort", "examined", "matched"
 *                as of hf_repository_explain, of what the first stages ask the repository for
 *   "stages"     the stages behind those, in the order in which they are carried out: objects with "stage"
 *                and "number" (where it stands in the pipeline; "$sortByCount" is two of one number, groups
 *                and their sort). A group has "group": "index" or "id" (the documents come in the order of
 *                its key, so that one group is kept at a time) or "memory". A lookup that looked something
 *                up has "access", "index" and "examined" (how many entities it read) in the other repository
 *   "returned"   how many documents there are behind the last stage
 *   "memory"     the most bytes that stages kept at once, as "max_memory_bytes" counts them
 *   "time_us"    how long it took, in microseconds
 *
 * Errors: those of hf_repository_aggregate.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_repository_explain_aggregate(
    hf_repository *repository, hf_transaction *transaction, const char *pipeline, size_t pipeline_length,
    const char *options, hf_buffer *out_report, hf_error **out_error);

/**
 * Opens a live aggregation: the documents that a pipeline makes are the first event, and again an event each
 * time commits have changed them.
 *
 * The value of each event (HF_EVENT_CHANGES) is all of them, behind the commit that "position" names:
 *
 *   {"position": "5c…:43", "merged": 2, "documents": [{…}, {…}]}
 *
 * "merged": how many commits to the repositories that the pipeline reads have come since the last event; 0 in
 * the first. The pipeline is carried out anew, on a thread of the store's, after commits that change entities
 * of these repositories; where the documents are what they were nothing is told, and to a consumer that does
 * not keep up several commits are told as one. Where it fails, as beyond "max_memory_bytes", HF_EVENT_END
 * tells why. Between events it keeps the documents' text, and pins no snapshot.
 *
 * pipeline, pipeline_length, options: as of hf_repository_aggregate. on_event, user_data, free_user_data,
 * out_stream: as of hf_stream_open; freed with hf_stream_free.
 *
 * Errors: those of hf_repository_aggregate. Carries the pipeline out once on the calling thread.
 */
HF_EXPORT HF_WARN_UNUSED hf_status hf_stream_open_aggregate(hf_repository *repository, const char *pipeline,
                                                            size_t pipeline_length, const char *options,
                                                            hf_event_fn on_event, void *user_data,
                                                            void (*free_user_data)(void *),
                                                            hf_stream **out_stream, hf_error **out_error);

HF_END_DECLS

#endif
