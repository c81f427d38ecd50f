/*
 * Interrupt: ending a call that takes long, from the thread that makes it.
 *
 * A program that is told to stop while it is in a call of the library, by a signal or by a click, cannot wait
 * until a large index is built, or until another program lets go of the store. So a thread may give the
 * library a function that is asked, now and then, whether its call is to end:
 *
 *     static volatile sig_atomic_t stopped;
 *     static bool is_stopped(void *user_data) { return stopped != 0; }
 *     ...
 *     hf_interrupt_set_check(is_stopped, NULL);
 *
 * It is asked about every 20 ms on that thread alone, in the midst of its own calls: while they wait, for a
 * commit, a future, events, a lock, another program, and while they work, reading, checking, copying. But for
 * what is said of servers below, never while a lock of the library's is held, so it may call the library;
 * what it calls does not ask again. Calls that are short, or that run a function of the program's, which can
 * ask for itself, are hardly ever asked for.
 *
 * Where it answers true the call ends soon with HF_CANCELLED, and with nothing half done, as if it had
 * failed: a commit that waited is withdrawn, a copy leaves no file, an index no record (it is taken away
 * even after the call; where that fails, as behind a lock that another program keeps for too long, it stays,
 * used by no query, until hf_repository_create_index goes on with it or hf_repository_drop_index takes it
 * away), an import what it has committed before. What others commit is not touched, whoever stores it. A
 * call whose work is done, or can no longer be taken back, answers what it came to: so a commit that is
 * being stored ends as it ends. hf_store_close ends its wait, and the store closes all the same;
 * hf_store_events answers 0; what hf_controller_dispatch has handed over is handled.
 *
 * On a server what may be stored is not waited for either where the server does not answer in a moment: the
 * commit answers HF_IO with HF_COMMIT_UNKNOWN, and what became of it is found out all the same. A call that
 * waits for a server's answer may be holding locks while the function is asked. There it may close stores,
 * which begin to close, and free what the call does not use; every other call answers HF_REENTRANT.
 */
#ifndef HOLDFAST_INTERRUPT_H
#define HOLDFAST_INTERRUPT_H

#include "base.h"

HF_BEGIN_DECLS

/**
 * Answers whether the call in which it is asked is to end. user_data: as given to hf_interrupt_set_check.
 * Called on the thread that has set it, in the midst of its calls.
 *
 * It is to be quick: the call stands still meanwhile. It must not end the thread, nor leave by longjmp.
 */
typedef bool (*hf_interrupt_fn)(void *user_data);

/**
 * Sets the function that the calling thread is asked by, in place of the one before. Of other threads none is
 * asked. A thread of the library's never is: there this does nothing. After a fork the child's only thread
 * goes on with its own.
 *
 * check: NULL for none, which is how a thread begins. user_data: handed to it, and to last until another
 * function is set, or the thread ends; NULL allowed.
 *
 * Cannot fail. Any thread, also from inside the function. Does not block.
 */
HF_EXPORT void hf_interrupt_set_check(hf_interrupt_fn check, void *user_data);

HF_END_DECLS

#endif
