/*
 * Failing calls: the C library's functions that lead into the system, with a fault in one of them.
 *
 * A program that is linked with -rdynamic and this file takes them in front of the C library, for itself and
 * for every shared library that it loads. While nothing is armed they only pass on. What the kernel is asked
 * for without the C library (the waits inside locks) is not seen here.
 */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include <stdbool.h>

typedef enum call_fault {
    CALLS_COUNTED,    /* nothing fails */
    CALL_FAILS,       /* the n-th call, once */
    CALLS_FAIL,       /* the n-th and all that follow */
    CALL_IS_SHORT,    /* the n-th moves half of the bytes; one that moves none fails */
    CALL_INTERRUPTED, /* the n-th answers EINTR */
    KILLED_BEFORE,    /* the process is killed in place of the n-th */
    KILLED_AFTER,     /* the process is killed when the n-th has been carried out */
    ALLOCATION_FAILS, /* the n-th allocation of a C library below Holdfast (SQLite, jansson, PCRE2), once */
    ALLOCATIONS_FAIL, /* the n-th and all that follow */
    DIRECTORY_SYNC_FAILS,    /* the n-th sync of a directory, once; only these are counted */
    FUNCTION_FAILS,          /* every call of the n-th function that is called; functions are counted */
    FUNCTION_IS_FORBIDDEN,   /* the same with EPERM, as where a sandbox does not allow it */
    CALL_FAULTS,             /* how many kinds there are, but for the next */
    SPACE_ENDS = CALL_FAULTS /* of memory: the address space ends n pieces behind what is in use */
} call_fault;

/* What a file system cannot do, from here on: let two files change names, give a name only where there is
 * none, give a second name. */
typedef enum call_lack { LACKS_EXCHANGE = 1, LACKS_EXCLUSIVE_RENAMES = 2, LACKS_LINKS = 4 } call_lack;
void calls_lack(int lacks);
/* From here on the calls of all threads of this process are counted, and the n-th, from 1, meets the fault.
 */
void calls_arm(call_fault fault, long nth);
/* No call fails any more. Answers how many were counted. */
long calls_disarm(void);
/* What met the fault, "" if nothing did: the function's name, and its path where it has one. */
const char *calls_met(void);
const char *call_fault_name(call_fault fault);

#endif
