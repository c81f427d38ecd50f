/* For fork.c: see runtime_locks.c. */
#ifndef RUNTIME_LOCKS_H
#define RUNTIME_LOCKS_H

/* Waits until no other thread has a lock of the runtime's, and keeps all from taking one. */
void hfplatform_runtime_hold(void);
void hfplatform_runtime_release(void);
/* In place of release, in a child. */
void hfplatform_runtime_renew(void);

#endif
