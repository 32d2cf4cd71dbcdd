#include "borrow/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/instant.h"
#include "borrowing/lane.h"
#include "talechain/talechain_borrow.h"

/* The thread of a lane. */
struct watch {
	pthread_t thread;
	int cpu;
	struct guard_view view;
	int at; /* the core's words */
	const struct talechain_lane *core;
	const struct talechain_asker *asker;
	const atomic_bool *stop;
	enum talechain_nap how;
	struct borrowing_queue queue;
	struct borrowing_lane lane;
	struct instant event; /* the latest that lane knows */
	uint64_t changed_ns;  /* what it was then */
	bool busy;

	/* A thread of the core asks itself: what it was judged by. */
	unsigned bad; /* judgements in a row */
	struct instant judged;
	struct lanes_sums sums;
};

struct lane_guard {
	atomic_bool stop;
	void (*end)(void *user);
	void *user;
	unsigned watches;
	struct watch watch[]; /* owned */
};

/* Tell the policy what has happened since the last look.  Returns until when
 * batch work may run. */
static struct instant
look(struct watch *w, bool busy)
{
	struct instant at = {talechain_borrow_read(&w->core->changed_ns)};

	if (busy == w->busy && at.ns == w->changed_ns)
		return w->lane.until;
	w->changed_ns = at.ns;
	/* The CPUs' clocks may differ by some ns. */
	if (instant_before(at, w->event))
		at = w->event;
	w->event = at;
	if (busy && w->busy)
		borrowing_idle(&w->lane, at);
	w->busy = busy;
	return busy ? borrowing_busy(&w->lane, at)
		    : borrowing_idle(&w->lane, at);
}

static void
sleep_until(struct instant at)
{
	struct timespec t = {
	    (time_t)(at.ns / NS_PER_S), (long)(at.ns % NS_PER_S)};

	while (
	    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Judge threads that ask by what has been since they were judged before. */
static void
judge(struct watch *w, struct instant now)
{
	struct lanes_sums s =
	    lanes_sums(w->view.words, w->view.askers, w->at, now.ns);
	int64_t ran_ns = (s.beside_ns - w->sums.beside_ns) -
			 (s.napped_ns - w->sums.napped_ns);
	bool bad = instant_is_set(w->judged) &&
		   ran_ns * GUARD_PART > s.busy_ns - w->sums.busy_ns;

	w->bad = bad ? w->bad + 1 : 0;
	if (w->bad >= 2)
		w->view.guarded[w->at] = 1;
	w->judged = now;
	w->sums = s;
}

/* True if batch work is left to itself: it asks, and stops in time. */
static bool
trusts(struct watch *w, struct instant now)
{
	if (talechain_borrow_read(&w->asker->threads) != 0 &&
	    instant_since(now, w->judged) >= GUARD_TRUST_MS * NS_PER_MS)
		judge(w, now);
	return talechain_borrow_read(&w->asker->threads) != 0 &&
	       w->view.guarded[w->at] == 0;
}

/* True if the kernel has moved us: the lane has been taken away, and another is
 * not ours to hold. */
static bool
is_elsewhere(const struct watch *w)
{
	return sched_getcpu() != w->cpu;
}

/* Nap until the core is not busy, or for as long as a nap may be: then true. */
static bool
nap(const struct watch *w, unsigned long long hold, struct instant since)
{
	while (talechain_borrow_read(&w->core->hold) == hold &&
	       !atomic_load_explicit(w->stop, memory_order_relaxed)) {
		talechain_nap(w->how, &w->core->hold, hold);
		if (instant_since(instant_now(), since) >= GUARD_NAP_NS)
			return true;
	}
	return false;
}

/* Wait until batch work runs while the core is busy. */
static void
wait_for_work(const struct watch *w)
{
	w->view.wait(w->view.user, w->cpu, GUARD_TRUST_MS);
}

static void *
watch_run(void *user)
{
	static const struct sched_param usual = {0};
	struct instant now, until, latest;
	unsigned long long hold;
	struct watch *w = user;

	/* We may have been started as something else. */
	sched_setscheduler(0, SCHED_OTHER, &usual);
	w->how = talechain_nap_find();
	prctl(PR_SET_TIMERSLACK, 1);
	while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
		hold = talechain_borrow_read(&w->core->hold);
		until = look(w, hold != 0);
		now = instant_now();
		latest = instant_plus(now, GUARD_TRUST_MS * NS_PER_MS);
		if (is_elsewhere(w))
			sleep_until(latest);
		else if (trusts(w, now) || until.ns == UINT64_MAX)
			wait_for_work(w);
		else if (instant_before(now, until))
			sleep_until(
			    instant_before(until, latest) ? until : latest);
		else if (nap(w, hold, now))
			wait_for_work(w);
	}
	return NULL;
}

static int
watch_start(struct watch *w)
{
	sigset_t all, before;
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET((size_t)w->cpu, &set);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* Fails if the lane may not be used. */
	err = pthread_create(&w->thread, &attr, watch_run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

int
guard_start(struct lane_guard **out, const struct guard_view *view,
    const struct lanes_pairs *pairs, int64_t budget_ns)
{
	size_t n = (size_t)CPU_COUNT(&pairs->borrows);
	struct lane_guard *g = calloc(1, sizeof(*g) + n * sizeof(g->watch[0]));
	struct watch *w;
	int err = 0;

	if (g == NULL)
		return -ENOMEM;
	g->end = view->end;
	g->user = view->user;
	for (int i = 0; i < TALECHAIN_LANES && err == 0; i++) {
		if (!CPU_ISSET((size_t)i, &pairs->borrows))
			continue;
		w = &g->watch[g->watches];
		w->cpu = i;
		w->view = *view;
		w->at = pairs->core[i];
		w->core = &view->words[w->at];
		w->asker = &view->askers[w->at];
		w->stop = &g->stop;
		borrowing_queue_init(&w->queue, 1);
		borrowing_lane_init(&w->lane, &w->queue,
		    budget_ns > 0 ? BORROWING_FIXED : BORROWING_IDLE,
		    budget_ns);
		w->busy = true;
		err = watch_start(w);
		g->watches += err == 0;
	}
	if (err < 0)
		guard_stop(&g);
	*out = g;
	return err;
}

void
guard_stop(struct lane_guard **gp)
{
	struct lane_guard *g = *gp;

	*gp = NULL;
	if (g == NULL)
		return;
	atomic_store_explicit(&g->stop, true, memory_order_relaxed);
	g->end(g->user);
	for (unsigned i = 0; i < g->watches; i++)
		pthread_join(g->watch[i].thread, NULL);
	free(g);
}
