/* talechain_borrow.h: for programs under `tailor borrow --pairs`: stop and go
 * on within microseconds, as the CPU beside gets busy and idle.
 *
 *	struct talechain_borrow b;
 *	talechain_borrow_open(&b, 0);
 *	while (there_is_work) {
 *		talechain_borrow_check(&b);
 *		do_a_little();
 *	}
 *
 * A program that does not ask is kept off the CPU later, by another thread
 * (tailor-borrow(1)).  Elsewhere everything here is a cheap no-op.
 *
 * A check is a load of a word that stays in the cache, and a branch.  Do
 * not ask while holding a lock that a thread of the service may want.
 *
 * Needs Linux, GCC or Clang, and _GNU_SOURCE (g++ and clang++ define it
 * themselves). */
#ifndef TALECHAIN_BORROW_H
#define TALECHAIN_BORROW_H

/* The environment's variable with both descriptors, "5,6": of the lanes' words,
 * for reading only, and of the askers'. */
#define TALECHAIN_BORROW "TAILOR_BORROW"

/* A lane is a CPU.  Lanes of a pair lend or borrow; pairs that share a lane
 * are one core, whose words are in the line of its first borrowing lane. */
enum talechain_role { TALECHAIN_NO_LANE, TALECHAIN_LENDS, TALECHAIN_BORROWS };

#define TALECHAIN_LANES 1024 /* a power of two */
#define TALECHAIN_BESIDE 8   /* borrowing lanes of a core, at most */

/* One CPU's words, in 128 bytes of its own: some prefetchers fetch two lines.
 * A BPF program on sched_switch writes them.  Times are CLOCK_MONOTONIC, ns. */
struct talechain_lane {
	unsigned long long running; /* process << 32 | thread; 0: idle */

	/* Of a core: how many of its lending lanes are busy; since when any or
	 * none is; for how long any was, until then. */
	unsigned long long hold, changed_ns, busy_ns;

	/* Of a lending lane: whether it counts in hold. */
	unsigned long long busy;

	/* Of a borrowing lane: since when batch work runs, 0: not; for how much
	 * of the time until then any lending lane was busy; busy time of the
	 * core when it began; how many switches of tasks there were. */
	unsigned long long since_ns, overlap_ns, before_ns, switches;

	/* Constant. */
	unsigned int core; /* the CPU whose line has the core's words */
	unsigned int role; /* enum talechain_role */
	/* Of a lending lane: the borrowing ones of its core, plus 1; then 0. */
	unsigned short beside[TALECHAIN_BESIDE];

	unsigned long long unused[4];
};

/* Of a core, what threads say that ask themselves; they write it. */
struct talechain_asker {
	unsigned long long threads;   /* that ask, ever */
	unsigned long long napped_ns; /* their CPU time while they stop */
	unsigned long long unused[14];
};

/* BPF programs share the words; they do not wait. */
#ifndef __bpf__

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#ifndef CPU_ZERO
#error "talechain_borrow.h: define _GNU_SOURCE before the first include"
#endif

/* Casts here are C's, also when the includer is C++ and warns about them; GCC's
 * pragmas are clang's as well. */
#pragma GCC diagnostic push
#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* __fentry__ does not ask in these. */
#define TALECHAIN_UNTRACED __attribute__((no_instrument_function))

/* Read a word that others write; later reads see at least as much. */
TALECHAIN_UNTRACED static inline unsigned long long
talechain_borrow_read(const volatile unsigned long long *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* How a thread can wait for a change of a word in user mode. */
enum talechain_nap {
	TALECHAIN_NAP_PAUSE,  /* cannot: it asks again and again */
	TALECHAIN_NAP_UMWAIT, /* Intel's WAITPKG */
	TALECHAIN_NAP_MWAITX  /* AMD's MONITORX */
};

/* A nap's longest time, in cycles of the CPU's time stamp counter. */
#define TALECHAIN_NAP_CYCLES 100000u

/* Find what this CPU has.  CPUID is slow under a hypervisor: ask once. */
TALECHAIN_UNTRACED static inline enum talechain_nap
talechain_nap_find(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & 1u << 5) != 0)
		return TALECHAIN_NAP_UMWAIT;
	if (__get_cpuid(0x80000001u, &a, &b, &c, &d) && (c & 1u << 29) != 0)
		return TALECHAIN_NAP_MWAITX;
#endif
	return TALECHAIN_NAP_PAUSE;
}

/* Use as little of the core as can be, until *word is not what was seen, or
 * for TALECHAIN_NAP_CYCLES or a moment. */
TALECHAIN_UNTRACED static inline void
talechain_nap(enum talechain_nap how, const volatile unsigned long long *word,
    unsigned long long seen)
{
#if defined(__x86_64__)
	unsigned int low, high;

	switch (how) {
	case TALECHAIN_NAP_UMWAIT:
		__asm__ volatile("umonitor %0" : : "r"(word) : "memory");
		if (talechain_borrow_read(word) != seen)
			return;
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
		high += low + TALECHAIN_NAP_CYCLES < low;
		low += TALECHAIN_NAP_CYCLES;
		/* 0: the deeper of both states, C0.2. */
		__asm__ volatile("umwait %0"
				 :
				 : "r"(0u), "a"(low), "d"(high)
				 : "memory", "cc");
		return;
	case TALECHAIN_NAP_MWAITX:
		__asm__ volatile("monitorx"
				 :
				 : "a"(word), "c"(0), "d"(0)
				 : "memory");
		if (talechain_borrow_read(word) != seen)
			return;
		/* 0xf0: no deeper state than C0; 2: for as many cycles. */
		__asm__ volatile("mwaitx"
				 :
				 : "a"(0xf0), "b"(TALECHAIN_NAP_CYCLES), "c"(2)
				 : "memory");
		return;
	case TALECHAIN_NAP_PAUSE:
		break;
	}
#endif
	(void)how;
	for (int i = 0; i < 64 && talechain_borrow_read(word) == seen; i++)
#if defined(__x86_64__) || defined(__i386__)
		__asm__ volatile("pause" : : : "memory");
#elif defined(__aarch64__)
		__asm__ volatile("yield" : : : "memory");
#else
		__asm__ volatile("" : : : "memory");
#endif
}

/* One thread's; it is pinned to the borrowing lanes of one core. */
struct talechain_borrow {
	const volatile unsigned long long *hold; /* not 0: stop */

	/* Private. */
	const volatile struct talechain_lane *lane;
	struct talechain_asker *asker;
	enum talechain_nap how;
};

/* While a thread stops it looks this often whether anything is counted, and
 * says this often for how long it has napped: it may be killed meanwhile. */
#define TALECHAIN_BORROW_LOOK_NS 100000000u
#define TALECHAIN_BORROW_SAY_NS 1000000u

/* Never stops a thread. */
static const unsigned long long talechain_borrow_none = 0;

/* Private: map a descriptor of the environment once in a process.  Returns NULL
 * with errno if it is not, or no longer, what it should be. */
TALECHAIN_UNTRACED static inline void *
talechain_borrow_map(void **once, int fd, size_t size, int protection)
{
	char path[40], is[32] = "";
	void *at = __atomic_load_n(once, __ATOMIC_ACQUIRE), *none = NULL;

	if (at != NULL)
		return at;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, is, sizeof(is) - 1) < 0 ||
	    strcmp(is, "anon_inode:bpf-map") != 0) {
		errno = ENOENT;
		return NULL;
	}
	at = mmap(NULL, size * TALECHAIN_LANES, protection, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(
		once, &none, at, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return at;
	munmap(at, size * TALECHAIN_LANES);
	return none;
}

/* Begin for the calling thread.  It is pinned to a core's borrowing lanes; of
 * several cores, to that with this number, modulo how many there are: number
 * the threads.  What is mapped, once, stays until the process ends.
 *
 * Returns 0, or a negative errno, and then checks never stop it: -ENOENT if
 * this program does not run under `tailor borrow --pairs`, or what it passes on
 * was closed (sudo does). */
TALECHAIN_UNTRACED static inline int
talechain_borrow_open(struct talechain_borrow *b, unsigned int number)
{
	static void *lanes_at, *askers_at;
	const char *text = getenv(TALECHAIN_BORROW);
	const struct talechain_lane *lane;
	struct talechain_asker *asker;
	unsigned int cores = 0, core = 0;
	int lanes_fd, askers_fd;
	cpu_set_t set;

	b->hold = &talechain_borrow_none;
	b->lane = NULL;
	b->asker = NULL;
	b->how = TALECHAIN_NAP_PAUSE;
	if (text == NULL || sscanf(text, "%d,%d", &lanes_fd, &askers_fd) != 2)
		return -ENOENT;
	lane = (const struct talechain_lane *)talechain_borrow_map(
	    &lanes_at, lanes_fd, sizeof(*lane), PROT_READ);
	if (lane == NULL)
		return -errno;
	asker = (struct talechain_asker *)talechain_borrow_map(
	    &askers_at, askers_fd, sizeof(*asker), PROT_READ | PROT_WRITE);
	if (asker == NULL)
		return -errno;
	for (unsigned int i = 0; i < TALECHAIN_LANES; i++)
		cores += lane[i].role == TALECHAIN_BORROWS && lane[i].core == i;
	if (cores == 0)
		return -ENOENT;
	number %= cores;
	for (unsigned int i = 0; i < TALECHAIN_LANES; i++)
		if (lane[i].role == TALECHAIN_BORROWS && lane[i].core == i &&
		    number-- == 0)
			core = i;
	CPU_ZERO(&set);
	for (unsigned int i = 0; i < TALECHAIN_LANES; i++)
		if (lane[i].role == TALECHAIN_BORROWS && lane[i].core == core)
			CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return -errno;
	b->how = talechain_nap_find();
	b->lane = lane;
	b->asker = &asker[core];
	__atomic_fetch_add(&b->asker->threads, 1, __ATOMIC_RELAXED);
	b->hold = &lane[core].hold;
	return 0;
}

/* Private: true if switches of tasks are still counted.  A program that closes
 * all descriptors may end that. */
TALECHAIN_UNTRACED static inline bool
talechain_borrow_lives(const struct talechain_borrow *b)
{
	const struct timespec moment = {0, 1};
	int cpu = sched_getcpu();
	unsigned long long before;

	if (cpu < 0 || cpu >= TALECHAIN_LANES)
		return true;
	before = talechain_borrow_read(&b->lane[cpu].switches);
	nanosleep(&moment, NULL);
	return talechain_borrow_read(&b->lane[cpu].switches) != before;
}

/* Private: time of a clock, ns. */
TALECHAIN_UNTRACED static inline unsigned long long
talechain_borrow_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000000u +
	       (unsigned long long)t.tv_nsec;
}

/* Private: add this thread's CPU time since *since to what has been napped. */
TALECHAIN_UNTRACED static inline void
talechain_borrow_say(struct talechain_borrow *b, unsigned long long *since)
{
	unsigned long long now = talechain_borrow_ns(CLOCK_THREAD_CPUTIME_ID);

	__atomic_fetch_add(
	    &b->asker->napped_ns, now - *since, __ATOMIC_RELAXED);
	*since = now;
}

/* Stop until no lending lane of the core is busy. */
TALECHAIN_UNTRACED static inline void
talechain_borrow_stop(struct talechain_borrow *b)
{
	unsigned long long hold,
	    since = talechain_borrow_ns(CLOCK_THREAD_CPUTIME_ID);
	unsigned long long now = talechain_borrow_ns(CLOCK_MONOTONIC);
	unsigned long long look = now + TALECHAIN_BORROW_LOOK_NS;
	unsigned long long say = now + TALECHAIN_BORROW_SAY_NS;

	while ((hold = talechain_borrow_read(b->hold)) != 0) {
		talechain_nap(b->how, b->hold, hold);
		now = talechain_borrow_ns(CLOCK_MONOTONIC);
		if (now < say)
			continue;
		talechain_borrow_say(b, &since);
		say = now + TALECHAIN_BORROW_SAY_NS;
		if (now < look)
			continue;
		if (!talechain_borrow_lives(b))
			b->hold = &talechain_borrow_none;
		look += TALECHAIN_BORROW_LOOK_NS;
	}
	talechain_borrow_say(b, &since);
}

/* Stop, if a lending lane of the core is busy, until none is. */
TALECHAIN_UNTRACED static inline void
talechain_borrow_check(struct talechain_borrow *b)
{
	if (__builtin_expect(talechain_borrow_read(b->hold) != 0, 0))
		talechain_borrow_stop(b);
}

/* A program whose functions are compiled with -pg -mfentry asks at the begin of
 * each, also of those that hold a lock, with no change but one more file of two
 * lines:
 *
 *	#define TALECHAIN_BORROW_FENTRY
 *	#include <talechain_borrow.h>
 *
 * It runs on one core's lanes, and must not pass 256-bit vectors as
 * arguments. */
#ifdef TALECHAIN_BORROW_FENTRY
#ifndef __x86_64__
#error "talechain_borrow.h: no __fentry__ here; call talechain_borrow_check"
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* Global for the assembler, also with -flto. */
extern struct talechain_borrow talechain_borrow_all;
__attribute__((used,
    visibility("hidden"))) struct talechain_borrow talechain_borrow_all = {
    &talechain_borrow_none, NULL, NULL, TALECHAIN_NAP_PAUSE};

/* Private: called before main(). */
TALECHAIN_UNTRACED __attribute__((constructor)) static void
talechain_borrow_begin(void)
{
	talechain_borrow_open(&talechain_borrow_all, 0);
}

/* Private: called by __fentry__. */
void talechain_borrow_fentry(void);
__attribute__((used, visibility("hidden"))) TALECHAIN_UNTRACED void
talechain_borrow_fentry(void)
{
	talechain_borrow_stop(&talechain_borrow_all);
}
#ifdef __cplusplus
}
#endif

/* hold is the first member.  All registers that pass arguments are kept. */
__asm__(".text\n"
	".globl __fentry__\n"
	".type __fentry__, @function\n"
	"__fentry__:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq talechain_borrow_all(%rip), %r11\n"
	"	cmpq $0, (%r11)\n"
	"	jne 1f\n"
	"	ret\n"
	"1:	pushq %rax; pushq %rcx; pushq %rdx; pushq %rsi\n"
	"	pushq %rdi; pushq %r8; pushq %r9; pushq %r10\n"
	"	subq $128, %rsp\n"
	"	.cfi_adjust_cfa_offset 192\n"
	"	movups %xmm0, (%rsp); movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\n"
	"	call talechain_borrow_fentry\n"
	"	movups (%rsp), %xmm0; movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\n"
	"	addq $128, %rsp\n"
	"	popq %r10; popq %r9; popq %r8; popq %rdi\n"
	"	popq %rsi; popq %rdx; popq %rcx; popq %rax\n"
	"	.cfi_adjust_cfa_offset -192\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size __fentry__, . - __fentry__\n");
#endif /* TALECHAIN_BORROW_FENTRY */

#pragma GCC diagnostic pop

#endif /* __bpf__ */
#endif /* TALECHAIN_BORROW_H */
