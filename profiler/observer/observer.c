/* observer.c: the polling loop.
 *
 * In the loop: no allocation, no lock, no log, and no system calls except the
 * rest while there is nothing to poll, the sleep (in that poll mode) and the
 * hazard ring's wake-up. */
#include "profiler/observer/observer.h"

#include <assert.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "base/background.h"
#include "base/log.h"
#include "profiler/counters/cycles.h"

#define CALIBRATION_NS (100 * NS_PER_MS)
/* Pauses between two sweeps on an SMT sibling of the proxy. */
#define RELAX_PAUSES 16
/* Sleeps are short for this time after a source has ended a rest: the pause
 * that it announced begins a few switches later. */
#define ALERT_NS (1 * NS_PER_MS)
#define ALERT_SLEEP_NS (40 * NS_PER_US)
/* A time slice short enough to be scheduled soon after a wake-up. */
#define SLICE_NS (100 * NS_PER_US)

/* --- cost ---------------------------------------------------------------- */

/* A sweep begins, period_ns after the one before (0: there was none). */
static void
observer_cost_begin(struct observer_cost *s, int64_t period_ns)
{
	unsigned bucket;

	if (period_ns > 0) {
		bucket = 64 - (unsigned)__builtin_clzll((uint64_t)period_ns);
		if (bucket >= PROFILER_PERIODS)
			bucket = PROFILER_PERIODS - 1;
		count_add(&s->seen.period[bucket], 1);
		count_add(&s->seen.periods_ns, (uint64_t)period_ns);
	}
	s->timing = s->sweep++ % OBSERVER_COST_EVERY == 0;
	if (!s->timing)
		return;
	count_add(&s->seen.timed, 1);
	s->mark = cycles_in_order();
}

/* Add the time since the last mark to a part. */
static void
observer_cost_mark(struct observer_cost *s, enum profiler_part part)
{
	uint64_t now;

	if (!s->timing)
		return;
	now = cycles_in_order();
	/* Skip a negative time: another CPU's clock may be behind. */
	if ((int64_t)(now - s->mark) > 0)
		count_add(&s->seen.cycles[part], now - s->mark);
	s->mark = now;
}

/* --- pages -------------------------------------------------------------- */

static void
observer_page_note(
    struct observer *o, const struct hsperf_page *p, const struct pause_edge *e)
{
	struct observer_event n = {.server = (int)p->server,
	    .at = e->at,
	    .seen = instant_now(),
	    .arg = {(uint64_t)e->cause, e->count, 0, 0}};

	if (e->gc)
		n.type =
		    e->begin ? TALECHAIN_JVM_GC_BEGIN : TALECHAIN_JVM_GC_END;
	else
		n.type = e->begin ? TALECHAIN_JVM_SAFEPOINT_BEGIN
				  : TALECHAIN_JVM_SAFEPOINT_END;
	if (!e->begin)
		n.arg[2] = (uint64_t)e->latency_ns;
	output_emit(&o->output, &n);
}

/* Handle one edge: post the hazard first, then emit the event. */
static void
observer_page_edge(
    struct observer *o, const struct hsperf_page *p, const struct pause_edge *e)
{
	struct hazard_state *w = &o->hazards[p->server];
	struct hazard_change change = {
	    .cause = e->cause, .at = e->at, .seen = instant_now()};

	if (e->gc && e->pulse) {
		if (e->begin && hazard_state_page_counts(w)) {
			change.at = e[1].at; /* its end always follows */
			hazard_state_pulse(w, HAZARD_GC, e->at, &change);
		}
	} else if (e->pulse) {
		if (e->begin) {
			change.at = change.seen;
			change.cause = e[1].cause; /* the end has the cause */
			hazard_state_pulse(w, HAZARD_SAFEPOINT, e->at, &change);
		}
	} else {
		if (e->gc)
			w->page_gc = e->begin;
		else
			w->page_safepoint = e->begin;
		hazard_state_update(w, &change);
	}
	if (!e->gc || hazard_state_page_counts(w))
		observer_page_note(o, p, e);
}

static void
observer_page_edges(struct observer *o, const struct hsperf_page *p)
{
	for (unsigned i = 0; i < o->edges.count; i++)
		observer_page_edge(o, p, &o->edges.edge[i]);
}

/* --- commands ----------------------------------------------------------- */

static void
observer_note_channel(struct observer *o, const struct channel *c, bool opened,
    struct instant now)
{
	struct observer_event n = {.type = TALECHAIN_META_CHANNEL,
	    .server = __atomic_load_n(&c->server, __ATOMIC_RELAXED),
	    .at = now,
	    .seen = now,
	    .arg = {c->number, opened, (uint64_t)c->pid}};

	output_emit(&o->output, &n);
}

static void
observer_release(struct observer *o, enum command_kind kind, void *source)
{
	struct observer_command r = {.kind = kind, .source = source};
	bool fits = command_push(o->released, &r);

	assert(fits); /* the ring has room for all sources */
	(void)fits;
}

bool
observer_add_channel(struct observer *o, struct channel *c, struct instant now)
{
	if (o->channels == OBSERVER_CHANNELS)
		return false;
	o->channel[o->channels++] = c;
	if (c->kind == TALECHAIN_KIND_JVM)
		o->agent[o->agents++] = c;
	o->apps += c->kind == TALECHAIN_KIND_APP;
	if (o->output.timeline != NULL)
		observer_note_channel(o, c, true, now);
	return true;
}

void
observer_set_timeline(
    struct observer *o, struct timeline *timeline, struct instant now)
{
	o->output.timeline = timeline;
	for (unsigned i = 0; i < o->channels; i++)
		observer_note_channel(o, o->channel[i], true, now);
}

static void
observer_drop_channel(struct observer *o, unsigned i, struct instant now)
{
	struct channel *c = o->channel[i];

	observer_note_channel(o, c, false, now);
	o->channel[i] = o->channel[--o->channels];
	o->apps -= c->kind == TALECHAIN_KIND_APP;
	for (unsigned k = 0; k < o->agents; k++)
		if (o->agent[k] == c)
			o->agent[k--] = o->agent[--o->agents];
	observer_release(o, COMMAND_CHANNEL_END, c);
}

static void
observer_set_page(struct observer *o, unsigned server, struct hsperf_page *p,
    struct instant now)
{
	struct hazard_state *w = &o->hazards[server];
	struct hazard_change change = {.at = now, .seen = now};
	struct hsperf_page *old = o->page[server];

	if (p != NULL)
		p->server = server;
	if (p != NULL && old != NULL && old->pid == p->pid) {
		hsperf_page_continue(p, old);
	} else if (old != NULL) {
		pause_end(&old->pause, now, &o->edges);
		observer_page_edges(o, old);
	}
	o->page[server] = p;
	o->rest.source[server] = p != NULL ? p->vm.fd : -1;
	__atomic_store_n(&o->heap[server].collector, 0, __ATOMIC_RELAXED);
	if (old != NULL)
		observer_release(o, COMMAND_PAGE_END, old);
	w->eden = 0;
	w->page_concurrent = p != NULL && collector_concurrent(p->kind);
	w->page_gc = p != NULL && p->pause.gc;
	w->page_safepoint = p != NULL && p->pause.safepoint;
	hazard_state_update(w, &change);
}

static void
observer_handle_command(
    struct observer *o, const struct observer_command *r, struct instant now)
{
	struct hazard_change change = {.at = r->at, .seen = now};
	struct channel *c = r->source;

	/* The command may have been written after this sweep began. */
	if (instant_before(now, r->at))
		change.seen = instant_now();

	switch (r->kind) {
	case COMMAND_CHANNEL:
		if (!observer_add_channel(o, c, now))
			observer_release(o, COMMAND_CHANNEL_END, c);
		break;
	case COMMAND_CHANNEL_END:
		c->ending = true;
		c->end_budget = c->cursor.mask + 1;
		break;
	case COMMAND_PAGE:
		observer_set_page(o, r->server, r->source, now);
		break;
	case COMMAND_PAGE_END:
		observer_set_page(o, r->server, NULL, now);
		break;
	case COMMAND_SERVER_START:
		stalls_forget(&o->stalls, r->server);
		hazard_state_start(&o->hazards[r->server], r->pid, &change);
		break;
	case COMMAND_SERVER_EXIT:
		/* The main process may be another than at the start. */
		o->hazards[r->server].pid = r->pid;
		stalls_forget(&o->stalls, r->server);
		hazard_state_exit(&o->hazards[r->server], r->status, &change);
		break;
	case COMMAND_NOT_STOPPED:
		stalls_checked(&o->stalls, r->server, (uint32_t)r->pid, r->at);
		break;
	case COMMAND_RATE:
		rate_note(&o->output, &r->rate, r->at, change.seen);
		break;
	}
}

/* --- hazards -------------------------------------------------------------- */

static void
observer_sweep_page(
    struct observer *o, struct hsperf_page *p, struct instant now)
{
	if (hsperf_page_is_dead(p)) {
		/* End pauses once: then pause_idle() is true. */
		if (pause_idle(&p->pause) || !p->pause.known)
			return;
		pause_end(&p->pause, now, &o->edges);
	} else if (!hsperf_page_sweep(p, now, &o->edges)) {
		return;
	}
	observer_page_edges(o, p);
}

/* Read the page's counts of classes unless an agent reports them. */
static void
observer_page_classes(
    struct observer *o, struct hsperf_page *p, struct instant now)
{
	if (p->classes_at == 0 || !activity_due(&p->activity, now) ||
	    hsperf_page_is_dead(p) || o->hazards[p->server].agents > 0)
		return;
	activity_sample(&p->activity, hsperf_page_count(p, p->classes_at),
	    p->compiled_at != 0 ? hsperf_page_count(p, p->compiled_at) : 0,
	    (int)p->server, &o->output, now);
}

/* The heap in use that the agent of the page's JVM reports; 0: no report. */
static uint64_t
observer_agent_heap(const struct observer *o, const struct hsperf_page *p)
{
	const struct channel *c;

	for (unsigned i = 0; i < o->agents; i++) {
		c = o->agent[i];
		if (c->pid == p->pid && !c->ending && !c->from_kernel)
			return __atomic_load_n(
			    &c->memory->word[TALECHAIN_WORD_HEAP],
			    __ATOMIC_RELAXED);
	}
	return 0;
}

/* --- bulk rings ----------------------------------------------------------- */

static void
observer_sweep_rings(struct observer *o, struct instant now)
{
	unsigned budget = OBSERVER_BATCH, looks = OBSERVER_LOOKS, taken;
	enum profiler_part part;
	struct channel *c;

	o->behind = false;
	if (looks > o->channels)
		looks = o->channels;
	for (; looks > 0 && budget > 0; looks--, o->looked++) {
		if (o->turn >= o->channels)
			o->turn = 0;
		c = o->channel[o->turn];
		part = c->from_kernel ? PROFILER_PART_KERNEL
				      : PROFILER_PART_CHANNELS;
		if (!c->ending) {
			taken = channel_drain(c, &o->output, budget, now);
			budget -= taken;
			o->read += taken;
			o->turn++;
		} else if (channel_drained(c, &o->output, now)) {
			if (c->kind == TALECHAIN_KIND_JVM)
				agent_channel_leave(c, o->hazards, now);
			/* The last channel moves to this index. */
			observer_drop_channel(o, o->turn, now);
		} else {
			budget = 0;
			o->turn++;
		}
		observer_cost_mark(&o->cost, part);
	}
	o->behind = budget == 0;
}

/* --- rates ---------------------------------------------------------------- */

static void
observer_sweep_rates(struct observer *o, struct instant now)
{
	struct rates_sources sources = {
	    o->channel, o->channels, o->page, o->heap, o->servers};

	rates_sweep(&o->rates, &sources, &o->output, now);
}

/* --- time ----------------------------------------------------------------- */

/* Emit the relation of cycles to the clock: read {cycles, clock, cycles} three
 * times and use the fastest reading. */
static void
observer_calibrate(struct observer *o, struct instant now)
{
	struct observer_event n = {
	    .type = TALECHAIN_META_CALIBRATION, .server = -1, .seen = now};
	uint64_t before, after, width = UINT64_MAX;
	struct instant t;

	for (int i = 0; i < 3; i++) {
		before = cycles_now();
		t = instant_now();
		after = cycles_now();
		if (after - before >= width)
			continue;
		width = after - before;
		n.arg[0] = before + width / 2;
		n.arg[1] = t.ns;
		n.at = t;
	}
	if (instant_is_set(o->calibrated) && n.arg[1] > o->calibrated.ns)
		n.arg[2] =
		    (uint64_t)((unsigned __int128)(n.arg[0] -
						   o->calibrated_cycles) *
			       (uint64_t)NS_PER_S /
			       (n.arg[1] - o->calibrated.ns));
	o->calibrated.ns = n.arg[1];
	o->calibrated_cycles = n.arg[0];
	output_emit(&o->output, &n);
}

/* Report events that the kernel could not write. */
static void
observer_missed(struct observer *o, struct instant now)
{
	struct output_gap g = {
	    .cpu = -1, .why = TALECHAIN_LOSS_MISSED, .end = now};
	uint64_t missed;

	if (o->kernel == NULL)
		return;
	missed = kernel_missed(o->kernel);
	g.channel = kernel_channel(o->kernel, 0)->number;
	g.events = missed - o->missed_reported;
	if (missed > o->missed_reported)
		output_lost(&o->output, &g, now);
	o->missed_reported = missed;
}

/* Have the attach thread do what is due now. */
static void
observer_wake_attach(const struct observer *o)
{
	if (o->attach != NULL)
		eventfd_write(*o->attach, 1);
}

/* Pause the kernel's programs where they write too much. */
static void
observer_sample(struct observer *o, struct instant now)
{
	struct observer_event n = {
	    .type = TALECHAIN_META_UNSAMPLED, .server = -1, .seen = now};
	struct kernel_pause pause;

	if (o->kernel == NULL || !kernel_sample(o->kernel, now, &pause))
		return;
	n.at = pause.from;
	n.arg[0] = pause.until.ns;
	n.arg[1] = pause.most_per_s;
	count_add(&o->output.counters.unsampled_ns,
	    (uint64_t)instant_since(pause.until, pause.from));
	output_emit(&o->output, &n);
	stalls_lost(&o->stalls); /* switches are not seen in a pause */
	if (kernel_is_paused(o->kernel))
		observer_wake_attach(o); /* it parks the programs */
}

/* Work that is due ten times a second. */
static void
observer_periodic(struct observer *o, struct instant now)
{
	if (instant_since(now, o->calibrated) < CALIBRATION_NS)
		return;
	observer_calibrate(o, now);
	observer_missed(o, now);
}

/* Count the time since the last sweep, and report a blind interval. */
static void
observer_account(struct observer *o, struct instant now)
{
	struct counters *c = &o->output.counters;
	struct observer_event n = {
	    .type = TALECHAIN_META_BLIND, .server = -1, .at = now, .seen = now};
	int64_t gap_ns = instant_since(now, o->swept);

	observer_cost_begin(&o->cost,
	    instant_is_set(o->swept) && o->rest.wait_ns == 0 ? gap_ns : 0);
	count_add(&c->sweeps, 1);
	if (!instant_is_set(o->swept) || gap_ns <= o->blind_ns)
		return;
	count_add(&c->blind, 1);
	count_add(&c->blind_ns, (uint64_t)gap_ns);
	if ((uint64_t)gap_ns > c->blind_max_ns)
		count_add(&c->blind_max_ns, (uint64_t)gap_ns - c->blind_max_ns);
	n.arg[0] = (uint64_t)gap_ns;
	output_emit(&o->output, &n);
}

/* --- the loop ------------------------------------------------------------- */

/* Read everything that can begin or end a hazard. */
static void
observer_sweep_hazards(struct observer *o, struct instant now)
{
	struct observer_command command;

	while (command_pop(o->commands, &command))
		observer_handle_command(o, &command, now);
	observer_cost_mark(&o->cost, PROFILER_PART_ORDERS);
	for (unsigned i = 0; i < o->servers; i++)
		if (o->page[i] != NULL) {
			observer_sweep_page(o, o->page[i], now);
			observer_page_classes(o, o->page[i], now);
			hsperf_page_heap(o->page[i], now,
			    observer_agent_heap(o, o->page[i]), &o->heap[i]);
			o->hazards[i].eden = o->heap[i].eden;
		}
	observer_cost_mark(&o->cost, PROFILER_PART_PAGES);
	for (unsigned i = 0; i < o->agents; i++)
		agent_channel_sweep(o->agent[i], o->hazards, now);
	stalls_sweep(&o->stalls, now);
}

void
observer_sweep(struct observer *o, struct instant now)
{
	observer_account(o, now);
	o->swept = now;
	if (o->kernel != NULL)
		kernel_take_stirs(o->kernel);
	observer_sample(o, now);
	observer_cost_mark(&o->cost, PROFILER_PART_OWN);
	observer_sweep_hazards(o, now);
	for (unsigned i = 0; i < o->agents; i++)
		agent_channel_rates(o->agent[i], &o->output, now);
	observer_cost_mark(&o->cost, PROFILER_PART_AGENTS);
	observer_sweep_rings(o, now);
	if (stalls_want_check(&o->stalls))
		observer_wake_attach(o);
	observer_sweep_rates(o, now);
	observer_cost_mark(&o->cost, PROFILER_PART_RATES);
	observer_periodic(o, now);
	observer_cost_mark(&o->cost, PROFILER_PART_OWN);
}

bool
observer_look(struct observer *o)
{
	if (!observer_rest_borrow(&o->rest))
		return false;
	o->cost.timing = false;
	observer_sweep_hazards(o, instant_now());
	observer_rest_return(&o->rest);
	return true;
}

/* Set CPU and scheduling; failures are not fatal. */
static void
observer_settle(struct observer *o)
{
	cpu_set_t set;

	o->output.pid = (uint32_t)getpid();
	o->output.tid = (uint32_t)gettid();
	prctl(PR_SET_NAME, "observer");
	if (o->kernel != NULL)
		kernel_ignore_thread(o->kernel, gettid());
	if (o->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((size_t)o->cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			log_event(LOG_LEVEL_WARNING, "observer_not_pinned",
			    "cpu=%d error=\"%s\" do=\"set profiler.cpu to a "
			    "CPU tailor may use, or to none\"",
			    o->cpu, strerror(errno));
	}
	if (o->poll != PROFILER_POLL_SLEEP)
		return;
	prctl(PR_SET_TIMERSLACK, 1UL);
	/* From Linux 6.12 on a shorter slice is scheduled sooner. */
	if (sched_getscheduler(0) == SCHED_OTHER) /* else: set from outside */
		(void)scheduling_set(
		    0, (struct scheduling){.runtime_ns = SLICE_NS});
}

/* True if an agent's JVM has a page whose VM thread is followed: collections
 * begin on that thread. */
static bool
agent_has_page(const struct observer *o, const struct channel *c, int server)
{
	const struct hsperf_page *p = o->page[server];

	return p != NULL && p->vm.fd >= 0 && p->pid == c->pid;
}

/* True if only polling finds a hazard soon enough: in a page, in the state word
 * of a server's agent or runtime, or a stall that may become one. */
static bool
observer_polls(const struct observer *o)
{
	int server;

	for (unsigned i = 0; i < o->servers; i++)
		if (o->page[i] != NULL && hsperf_page_polls(o->page[i]))
			return true;
	for (unsigned i = 0; i < o->agents; i++) {
		server =
		    __atomic_load_n(&o->agent[i]->server, __ATOMIC_RELAXED);
		if (server >= 0 && !agent_has_page(o, o->agent[i], server))
			return true;
	}
	return stalls_pending(&o->stalls);
}

/* How long the observer may rest with requests in flight; 0: it must poll. */
static int64_t
observer_calm_ns(const struct observer *o)
{
	int64_t calm_ns = OBSERVER_CALM_RINGS_NS;

	if (o->poll != PROFILER_POLL_SLEEP || o->sleep_ns >= OBSERVER_CALM_NS ||
	    observer_polls(o))
		return 0;
	for (unsigned i = 0; i < o->servers; i++) {
		if (o->hazards[i].stall != STALL_NONE)
			return OBSERVER_CALM_NS;
		if (o->page[i] != NULL &&
		    activity_is_high(&o->page[i]->activity, o->swept))
			calm_ns = OBSERVER_CALM_PAGE_NS;
	}
	return calm_ns;
}

/* True if a pause is in force, or a stall may become one.  Not the end of a
 * server, which lasts, and whose own end is a command. */
static bool
observer_sees_pause(const struct observer *o)
{
	uint32_t active = 0;

	for (unsigned i = 0; i < o->servers; i++)
		active |= o->hazards[i].active;
	return (active & ~(UINT32_C(1) << HAZARD_EXIT)) != 0 ||
	       stalls_pending(&o->stalls);
}

int64_t
observer_longest_ns(const struct observer *o)
{
	return o->apps == 0 && o->read <= OBSERVER_QUIET_EVENTS &&
		       !observer_sees_pause(o)
		   ? o->quiet_ns
		   : o->rest_ns;
}

/* Rest.  A rest is no blind interval, but a delay of its end is. */
static void
observer_pause_long(struct observer *o, int64_t calm_ns)
{
	struct observer_rest *r = &o->rest;
	struct instant due;
	int64_t longest_ns;

	/* All rings are read before each rest. */
	if (o->looked < o->channels)
		return;
	o->looked = 0;
	longest_ns = observer_longest_ns(o);
	o->read = 0;
	if (observer_rest(r, longest_ns, calm_ns))
		observer_wake_attach(o); /* its periods are shorter now */
	due.ns = __atomic_load_n(&r->busy_ns, __ATOMIC_RELAXED);
	if (observer_rest_idle(r))
		o->swept = INSTANT_NONE;
	else if (calm_ns > 0)
		o->swept = instant_before(r->until, instant_now())
			       ? r->until
			       : INSTANT_NONE;
	else if (instant_before(o->swept, due))
		o->swept = due;
}

static void
observer_sleep(const struct observer *o)
{
	struct timespec t = {.tv_sec = o->sleep_ns / NS_PER_S,
	    .tv_nsec = o->sleep_ns % NS_PER_S};

	if (o->sleep_ns > ALERT_SLEEP_NS && instant_before(o->swept, o->alert))
		t = (struct timespec){.tv_nsec = ALERT_SLEEP_NS};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void
observer_pause(struct observer *o)
{
	int64_t calm_ns = observer_calm_ns(o);

	if (o->behind)
		return;
	/* A JVM's thread has ended the rest.  Sleep a little, so that it goes
	 * on: it may be on this CPU. */
	if (o->rest.stirred) {
		o->alert = instant_plus(o->swept, ALERT_NS);
	} else if (calm_ns > 0 || (observer_rest_idle(&o->rest) &&
				      o->poll != PROFILER_POLL_SPIN)) {
		observer_pause_long(o, calm_ns);
		return;
	}
	o->rest.stirred = false;
	o->rest.wait_ns = 0;
	o->looked = 0;
	switch (o->poll) {
	case PROFILER_POLL_SPIN:
		break;
	case PROFILER_POLL_RELAX:
		for (int i = 0; i < RELAX_PAUSES; i++)
			cycles_relax();
		break;
	case PROFILER_POLL_SLEEP:
		observer_sleep(o);
		break;
	}
}

static void *
observer_run(void *arg)
{
	struct observer *o = arg;
	unsigned rounds;

	observer_settle(o);
	while (__atomic_load_n(&o->stop, __ATOMIC_RELAXED) == 0) {
		observer_sweep(o, instant_now());
		observer_pause(o);
	}
	/* Record what was written before the stop. */
	for (rounds = 0; rounds < 2 * OBSERVER_CHANNELS / OBSERVER_LOOKS;
	     rounds++)
		observer_sweep(o, instant_now());
	return NULL;
}

int
observer_start(struct observer *o)
{
	sigset_t all, old;
	int err;

	/* Signals are for the main thread, except SIGBUS (sigbus_guard.c). */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&o->thread, NULL, observer_run, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	o->running = err == 0;
	return -err;
}

void
observer_stop(struct observer *o)
{
	if (!o->running)
		return;
	__atomic_store_n(&o->stop, 1, __ATOMIC_RELAXED);
	observer_rest_wake(&o->rest);
	pthread_join(o->thread, NULL);
	o->running = false;
}
