/* check.c: contradictory claims become "not observed".
 *
 * Events may be missing without any sign.  The remaining ones may then
 * contradict each other: two threads run on one CPU, or a server's threads
 * compute for longer than its CPU clock says.  Such time counts as not
 * observed, and lowers the coverage.  Contradictions within the events of one
 * thread are found where its intervals are made (threads.c). */

#include "base/array.h"
#include "talechain/claims/explainer.h"

/* Stamps of one switch may differ by this much. */
#define EDGE_NS (10 * NS_PER_US)
/* The CPU clock is read a little before or after a period's end. */
#define CLOCK_EDGE_NS NS_PER_MS
#define RATE_CPUS_MAX 65536 /* no machine has more */
#define CLOCK_SHARE 10	    /* the clock may be off by 1/10 of a period */

/* A time in which a thread, or all threads of an attempt, cannot have computed
 * as claimed. */
struct contradiction {
	uint32_t tid; /* 0: any */
	int attempt;
	int64_t begin_ns, end_ns;
	const char *note;
};

static bool
is_computing(const struct claim *c)
{
	return (c->rank == RANK_THREAD || c->rank == RANK_THREAD_RATE) &&
	       c->attempt >= 0 &&
	       tale_causes[c->cause].nature == TALE_NATURE_WORK;
}

/* Add a contradiction over each of the first claims, as far as that is of
 * computing and in the time of k. */
static void
contradict(struct explainer *ex, size_t claims, const struct contradiction *k)
{
	const struct claim *like;
	struct claim c;

	for (size_t i = 0; i < claims && !ex->failed; i++) {
		like = &ex->claim[i];
		if ((k->tid != 0 && k->tid != like->tid) ||
		    k->attempt != like->attempt || !is_computing(like))
			continue;
		c = *like;
		if (!claim_cut(&c, k->begin_ns, k->end_ns))
			continue;
		c.rank = RANK_CONTRADICTION;
		c.cause = TALE_CAUSE_NOT_OBSERVED;
		c.note = k->note;
		claim_add(ex, &c);
	}
}

/* --- one thread on a CPU at a time ---------------------------------------- */

static int
run_compare(const void *va, const void *vb)
{
	const struct thread_interval *const *a = va, *const *b = vb;

	return COMPARE((*a)->cpu, (*b)->cpu)
		   ?: COMPARE((*a)->begin_ns, (*b)->begin_ns);
}

static void
contradict_thread(struct explainer *ex, size_t claims, uint32_t tid,
    int64_t begin_ns, int64_t end_ns)
{
	const struct tale_thread *thread = tale_thread_find(ex->t, tid);
	struct contradiction k = {
	    .tid = tid,
	    .begin_ns = begin_ns,
	    .end_ns = end_ns,
	    .note = "ran, but another thread ran on its CPU",
	};

	if (thread == NULL || thread->attempt < 0)
		return;
	k.attempt = thread->attempt;
	contradict(ex, claims, &k);
}

/* Compare runs, in order of CPU and time, each with the run so far that ends
 * last. */
static void
runs_compare(struct explainer *ex, size_t claims,
    const struct thread_interval *const *run, size_t runs)
{
	const struct thread_interval *last = NULL, *p;
	int64_t end_ns;

	for (size_t i = 0; i < runs; i++) {
		p = run[i];
		if (last == NULL || last->cpu != p->cpu) {
			last = p;
			continue;
		}
		end_ns = p->end_ns < last->end_ns ? p->end_ns : last->end_ns;
		if (end_ns - p->begin_ns > EDGE_NS && p->tid != last->tid) {
			contradict_thread(
			    ex, claims, p->tid, p->begin_ns, end_ns);
			contradict_thread(
			    ex, claims, last->tid, p->begin_ns, end_ns);
		}
		if (p->end_ns > last->end_ns)
			last = p;
	}
}

static void
check_cpus(struct explainer *ex, size_t claims)
{
	const struct thread_interval **run;
	size_t runs = 0;

	run = calloc(ex->intervals + 1, sizeof(struct thread_interval *));
	if (run == NULL) {
		ex->failed = true;
		return;
	}
	for (size_t i = 0; i < ex->intervals; i++)
		if (ex->interval[i].state == THREAD_RUN &&
		    ex->interval[i].cpu >= 0)
			run[runs++] = &ex->interval[i];
	qsort(run, runs, sizeof(struct thread_interval *), run_compare);
	runs_compare(ex, claims, run, runs);
	free(run);
}

/* --- no more computing than the CPU clock says ---------------------------- */

/* How long the threads of an attempt's server ran within a period, together. */
static int64_t
ran_ns(const struct explainer *ex, int attempt, int64_t begin, int64_t end)
{
	const struct tale_thread *thread;
	const struct thread_interval *p;
	int64_t sum_ns = 0;

	for (unsigned i = 0; i < ex->t->threads; i++) {
		thread = &ex->t->thread[i];
		if (thread->attempt != attempt)
			continue;
		p = NULL;
		while ((p = threads_next(ex, thread->tid, p, end)) != NULL)
			if (p->state == THREAD_RUN)
				sum_ns += interval_within_ns(p, begin, end);
	}
	return sum_ns;
}

/* Read the CPU time of an attempt's server, and its period, from a RATE event.
 * False: the entry has none, or is of another server. */
static bool
rate_cpu_of(const struct explainer *ex, const struct tale_entry *e, int attempt,
    int64_t *begin_ns, int64_t *end_ns, int64_t *cpu_ns)
{
	int server = ex->t->request.attempt[attempt].server;
	struct rate_period p;

	if (!rate_period_of(ex, e, &p) || p.signal != TALECHAIN_RATE_CPU ||
	    server < 0 || p.server != server ||
	    p.count / p.base > RATE_CPUS_MAX)
		return false;
	*begin_ns = p.begin_ns;
	*end_ns = p.end_ns;
	*cpu_ns = (int64_t)(p.count / p.base * (double)(p.end_ns - p.begin_ns));
	return true;
}

static void
check_clock(struct explainer *ex, size_t claims, int attempt)
{
	struct contradiction k = {
	    .attempt = attempt,
	    .note = "ran longer than its server's CPU clock says",
	};
	int64_t cpu_ns, edge_ns;

	for (size_t i = 0; i < ex->t->entries; i++) {
		if (!rate_cpu_of(ex, &ex->t->entry[i], attempt, &k.begin_ns,
			&k.end_ns, &cpu_ns))
			continue;
		edge_ns = (k.end_ns - k.begin_ns) / CLOCK_SHARE;
		if (edge_ns < CLOCK_EDGE_NS)
			edge_ns = CLOCK_EDGE_NS;
		if (ran_ns(ex, attempt, k.begin_ns, k.end_ns) >
		    cpu_ns + edge_ns)
			contradict(ex, claims, &k);
	}
}

void
check_claims(struct explainer *ex)
{
	size_t claims = ex->claims;

	ex->leg_begin_ns = 0;
	ex->leg_end_ns = ex->s->total_ns;
	if (!ex->chain.kernel)
		return;
	check_cpus(ex, claims);
	for (int i = 0; i < TALE_ATTEMPTS && !ex->failed; i++)
		check_clock(ex, claims, i);
}

/* --- the tiling ----------------------------------------------------------- */

/* True if the segments follow each other from 0 to the end, and add up. */
static bool
is_tiled(const struct story *s)
{
	int64_t at = 0, sum_ns = 0;

	for (size_t i = 0; i < s->segments; i++) {
		if (s->segment[i].begin_ns != at || s->segment[i].end_ns <= at)
			return false;
		at = s->segment[i].end_ns;
	}
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		sum_ns += s->cause_ns[i];
	return at == s->total_ns && sum_ns == s->total_ns;
}

void
check_tiles(struct explainer *ex)
{
	struct story *s = ex->s;

	for (size_t i = 0; i < s->segments; i++)
		s->contradictions +=
		    ex->segment_claim[i].rank == RANK_CONTRADICTION;
	if (!is_tiled(s)) {
		s->contradictions++;
		s->coverage = s->known = 0;
	}
}
