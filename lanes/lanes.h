/* lanes.h: what each CPU runs, and batch work beside busy CPUs, as words for
 * polling.
 *
 * The thesis patched the kernel to write the task into shared memory at each
 * task switch; a BPF program on sched_switch does the same on a stock kernel.
 *
 * Needs CAP_BPF and CAP_PERFMON.  Costs every task switch of the machine some
 * 100 ns while it is open. */
#pragma once

#include <sched.h>
#include <stdint.h>

#include "talechain/talechain_borrow.h"

struct lanes; /* opaque */
struct topology;

#define LANES_WHY 640

/* Lanes that lend, those that borrow from them, and of each the lane that has
 * its core's words. */
struct lanes_pairs {
	cpu_set_t lends, borrows;
	unsigned short core[TALECHAIN_LANES];
};

/* Parse "0:1,2:3", lending:borrowing.  A lane may be in several pairs, but on
 * one side only.  Returns 0 or -EINVAL with a sentence in why (LANES_WHY
 * bytes). */
int lanes_pairs_parse(struct lanes_pairs *out, const char *text, char *why);

/* All hyperthreads beside those CPUs.  Returns as lanes_pairs_parse. */
int lanes_pairs_beside(struct lanes_pairs *out, const struct topology *t,
    const cpu_set_t *lends, char *why);

/* Load and attach; pairs: NULL, or what is to lend and borrow: then no CPU's
 * running is stored, since a job can read the words.  Returns 0, or a
 * negative errno with a sentence in why (LANES_WHY bytes).  Blocks for some
 * tenths of a second. */
int lanes_open(struct lanes **out, const struct lanes_pairs *pairs, char *why);
void lanes_close(struct lanes **lp);

/* The words of TALECHAIN_LANES CPUs, valid while it is open. */
const struct talechain_lane *lanes_words(const struct lanes *l);

/* Of each core, what programs that have the descriptor say; they can write it,
 * so it is to be believed of them alone. */
const struct talechain_asker *lanes_askers(const struct lanes *l);

/* Of each core: not 0 if its guard is to be woken although threads ask.  Written
 * by the caller. */
uint64_t *lanes_guarded(const struct lanes *l);

/* Wait until there may be batch work on a borrowing lane while its core is busy,
 * or for at most so long.  One thread of a lane; user: the struct lanes. */
void lanes_wait(void *user, int cpu, int timeout_ms);

/* Have all waits return, now and from now on. */
void lanes_end(void *user);

/* Sums over the borrowing lanes of a core, until now, ns: for how long lending
 * lanes were busy, batch work ran meanwhile, and it napped, by its own word. */
struct lanes_sums {
	int64_t busy_ns, beside_ns, napped_ns;
};
struct lanes_sums lanes_sums(const struct talechain_lane *words,
    const struct talechain_asker *askers, int core, uint64_t now);

/* In a new process: leave open beyond exec(2) what a program needs to ask
 * itself (talechain/talechain_borrow.h), which can be mapped for reading only, and what
 * keeps the words written; and name it in the environment. */
void lanes_pass_on(const struct lanes *l);
