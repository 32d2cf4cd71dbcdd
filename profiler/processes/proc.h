/* proc.h: facts about other processes from /proc.
 *
 * Each result may be outdated when it is returned; a caller that acts on it
 * holds a pidfd.  All of it may block: never the observer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_USER_BYTES 33
#define PROC_NAME_BYTES 16

/* A handle that becomes readable when the process ends; or a negative errno. */
int proc_pidfd(pid_t pid);

#define PROC_THREADS 3

/* Handles that become readable when a thread of the process ends, of up to
 * PROC_THREADS threads that are not its first; places left are set to -1.
 * A killed process frees its memory before its own handle becomes readable:
 * a tenth of a second per gigabyte.  Handles of its threads become readable at
 * once, except that of the last thread, which frees the memory: hence several.
 * A thread may also end alone: see proc_is_ending.
 * Returns how many, or a negative errno (-EINVAL: Linux before 6.9). */
int proc_thread_pidfds(pid_t pid, int out[PROC_THREADS]);

/* True once the process has freed its memory, or has ended.  After a kill this
 * takes until each of its threads has run once, some tenths of a millisecond on
 * an idle machine.  Costs a few microseconds while the process lives. */
bool proc_is_ending(pid_t pid);

/* The process's threads, in the order of their creation.  Returns how many, or
 * a negative errno; -E2BIG: there are more than max, which were filled in. */
int proc_threads(pid_t pid, pid_t *tid, int max);

/* The process's first thread of that name; 0: there is none, or none is
 * known. */
pid_t proc_thread_named(pid_t pid, const char *name);

/* The process's user.  0 or a negative errno (-ENOENT: no such process). */
int proc_uid(pid_t pid, uid_t *out);

/* The user's name, or its number if it has none. */
void proc_user_name(uid_t uid, char out[PROC_USER_BYTES]);

/* The name of the process's first thread, "" if unknown; bytes that are not
 * printable become '?'. */
void proc_name(pid_t pid, char out[PROC_NAME_BYTES]);

/* The process's number in its innermost pid namespace; pid itself if
 * unknown. */
pid_t proc_inner_pid(pid_t pid);

/* The process's parent, 0 if unknown. */
pid_t proc_parent(pid_t pid);

/* True if pid is ancestor, or descends from it by at most 32 steps. */
bool proc_descends(pid_t pid, pid_t ancestor);

/* The letter of the process's state, of a thread that has not ended; 0: it is
 * gone. */
char proc_state(pid_t pid);

/* True if the process's first thread is stopped, by a signal or a debugger, or
 * the process is frozen with its control group, of either version.  False also
 * if that cannot be read. */
bool proc_is_stopped(pid_t pid);

/* Time since the process began, ns, rounded to clock ticks; or a negative
 * errno. */
int64_t proc_age_ns(pid_t pid);

/* True if one of the process's arguments is this text. */
bool proc_has_argument(pid_t pid, const char *text);

/* True if a file whose name contains text is mapped into the process.  deleted:
 * only files that were deleted, or replaced, since count. */
bool proc_maps(pid_t pid, const char *text, bool deleted);
