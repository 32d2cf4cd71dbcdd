/* hsperf_page.h: the performance page of one JVM, mapped and polled.
 *
 * The attach thread finds the file, parses a copy and maps it read-only; the
 * observer then reads a few words of it per sweep.  Needs nothing in the JVM,
 * and only the privilege of its user (or root).
 *
 * The file can be truncated under the mapping, which turns a load into SIGBUS.
 * Checking the size before each sweep costs a system call, and sigsetjmp
 * costs more than the sweep.  So a SIGBUS handler (sigbus_guard.c) maps a page
 * of zeros over the hole, marks the page as dead and returns: the load is
 * repeated and reads 0, and the next sweep sees the mark.  A SIGBUS anywhere
 * else goes to the previous handler.
 *
 * Cost: four loads from three lines while nothing happens. */
#pragma once

#include <sys/types.h>

#include "profiler/channels/output.h"
#include "profiler/jvm/pause.h"
#include "profiler/jvm/vm_thread.h"
#include "profiler/options/stats.h"

#define PAGE_TEXT 120
#define HSPERF_REST 3 /* both survivors' spaces, and the old generation */

struct hsperf_page {
	/* constant once made */
	const unsigned char *map; /* owned, read-only */
	size_t bytes;
	struct hsperf_layout layout;
	enum collector kind;
	pid_t pid;
	/* Offsets of the counts of loaded classes and compiled methods; 0:
	 * none. */
	uint32_t classes_at, compiled_at;
	uint32_t heap_at[PROFILER_HEAP_COUNTERS]; /* offsets; 0: none */
	uint32_t ticks_at; /* offset of sun.os.hrt.ticks; 0: not sampled */
	uint32_t rest_at[HSPERF_REST]; /* offsets: bytes in use beside eden */
	uint32_t survivors_at; /* offset of the capacity of G1's survivors */
	unsigned java;	       /* 8, 17; 0: not known */
	/* Why the JVM must not get SIGQUIT, which begins the attach protocol:
	 * it would dump its threads.  Static; NULL: it may get SIGQUIT. */
	const char *no_attach;
	/* G1PeriodicGCInterval in the JVM's arguments, ms; 0: not there. */
	uint64_t periodic_ms;
	char text[PAGE_TEXT]; /* "hsperfdata of OpenJDK 17, G1[, polled]" */
	struct vm_thread vm;  /* if none, only polling finds a pause */
	/* the SIGBUS handler writes, any thread reads */
	uint32_t dead;
	/* the observer's own */
	unsigned server;
	uint64_t cause_word[2]; /* first 16 bytes of its text: unique */
	enum talechain_cause cause;
	struct pause pause;
	struct instant swept; /* when the last sweep began */
	struct activity activity;
	struct instant heap_read;
	uint64_t ticks;		/* value when last read */
	struct instant sampled; /* when ticks last moved */
};

/* A heap as the observer sees it.  The observer writes, any thread reads:
 * relaxed. */
struct hsperf_heap {
	uint64_t collector; /* enum collector + 1; 0: no heap is visible */
	uint64_t cause;
	uint64_t word[PROFILER_HEAP_COUNTERS];
	uint8_t eden; /* quarters in use, 0 .. 3; the observer's own */
};

/* Find, check, parse and map the page of a process.  Returns 0; -EAGAIN the JVM
 * is still making the page; -ENOENT there is none; -ESTALE the file of that
 * name is another process's; -EACCES the file is another user's; -EPROTO,
 * -EBADMSG not a valid page; another negative errno.  On failure why (PAGE_TEXT
 * bytes) gets a sentence that says what to do.  Free with hsperf_page_free.
 * Blocks: not the observer. */
int hsperf_page_open(struct hsperf_page **out, pid_t pid, char *why);
void hsperf_page_free(struct hsperf_page **pp);

/* The same from an open file; fd is read, not kept.  owner: the user that must
 * own the file.  For hsperf_page_open and tests. */
int hsperf_page_open_fd(
    struct hsperf_page **out, int fd, uid_t owner, pid_t pid, char *why);

/* Drop texts at the very end of a page: they are read in aligned words that may
 * reach past their end.  For hsperf_page_open_fd and fuzzing. */
void hsperf_page_trim(struct hsperf_page *p);

/* True if the JVM has added counters since: then open the page again. */
bool hsperf_page_is_stale(const struct hsperf_page *p);

/* Read the page once.  False when nothing happened; true with edges in *out
 * otherwise.  The observer only. */
bool hsperf_page_sweep(
    struct hsperf_page *p, struct instant now, struct pause_edges *out);

/* Copy the heap's counters to *out, at most once in 2 ms; EDEN_CAPACITY is that
 * at which the JVM collects now.  With Serial and Parallel the page shows
 * growth between collections only if the JVM samples it, which JDK 25 does not.
 * Then eden in use is computed from agent_bytes, the heap in use that the agent
 * reports; if that is 0 (no report), *out says that no heap is visible.  The
 * observer only. */
void hsperf_page_heap(struct hsperf_page *p, struct instant now,
    uint64_t agent_bytes, struct hsperf_heap *out);

/* Continue from an older page of the same JVM.  The observer only. */
void hsperf_page_continue(struct hsperf_page *p, const struct hsperf_page *old);

/* True if the page must be read again soon: a pause is in force, or can begin
 * before page->vm.fd is readable.  The observer only. */
bool hsperf_page_polls(const struct hsperf_page *p);

/* True once the file was truncated under the mapping.  Any thread. */
static inline bool
hsperf_page_is_dead(const struct hsperf_page *p)
{
	return __atomic_load_n(&p->dead, __ATOMIC_RELAXED) != 0;
}

/* The number at one of the offsets above.  The observer only. */
static inline uint64_t
hsperf_page_count(const struct hsperf_page *p, uint32_t at)
{
	return __atomic_load_n(
	    (const uint64_t *)(const void *)(p->map + at), __ATOMIC_RELAXED);
}
