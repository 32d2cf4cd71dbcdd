/* profiler.c: the public functions: create the state of the two threads, start
 * and stop them, answer calls from other threads. */
#include "profiler/profiler.h"

#include <assert.h>

#include "base/array.h"
#include "base/log.h"
#include "base/permission.h"
#include "base/text.h"
#include "profiler/attach/attach.h"
#include "profiler/channels/hazard_ring.h"
#include "profiler/kernel/kernel.h"
#include "profiler/observer/observer.h"
#include "profiler/observer/rates.h"

#define INSIDE_MAX 8 /* channels of our own threads */

struct profiler {
	struct profiler_options options;
	struct hazard_ring hazards;
	struct command_ring commands, released;
	struct observer observer;
	struct attach attach;
	struct kernel *kernel; /* owned; NULL: off */
	struct profiler_signal_state signal[PROFILER_SIGNALS];
	char kernel_fix[PERMISSION_TEXT];   /* what to do if it is off */
	struct channel *inside[INSIDE_MAX]; /* owned */
	unsigned insides;
	bool idle; /* the proxy thread's: no request in flight */
};

static bool
options_are_valid(const struct profiler_options *o)
{
	return o->servers <= PROFILER_SERVERS && o->channels_max >= 1 &&
	       o->channels_max <= PROFILER_CHANNELS_MAX && o->blind_ns >= 0 &&
	       (o->rates == 0 || o->rates_period_ns > 0) &&
	       (o->poll != PROFILER_POLL_SLEEP || o->sleep_ns > 0);
}

/* Listen for channels.  Returns 0, or -EADDRINUSE if another tailor listens
 * there. */
static int
profiler_open_listener(struct profiler *p)
{
	const char *path = p->options.channel_socket;
	int err;

	if (path == NULL || *path == '\0')
		return 0;
	err = channel_listener_open(&p->attach.listener, path);
	if (err == 0) {
		channel_listener_link(
		    &p->attach.listener, p->options.channel_link);
		return 0;
	}
	if (err == -EADDRINUSE) {
		log_event(LOG_LEVEL_ERROR, "channels_taken",
		    "socket=%s advice=\"another tailor listens there: stop "
		    "it, or give this one its own profiler.channel_socket\"",
		    path);
		return err;
	}
	log_event(LOG_LEVEL_WARNING, "channels_off",
	    "socket=%s error=\"%s\" costs=\"no events and no agents from "
	    "servers\" do=\"make its directory writable for tailor, or set "
	    "profiler.channel_socket\"",
	    path, strerror(-err));
	return 0;
}

static void
profiler_init_observer(struct profiler *p)
{
	const struct profiler_options *options = &p->options;
	struct observer *o = &p->observer;

	o->poll = options->poll;
	o->sleep_ns = options->sleep_ns;
	o->rest_ns = options->rest_ns > 0 ? options->rest_ns : OBSERVER_REST_NS;
	o->quiet_ns =
	    options->rest_ns > 0 ? options->rest_ns : OBSERVER_REST_QUIET_NS;
	o->blind_ns = options->blind_ns;
	/* A configured sleep is not a blind interval. */
	if (o->poll == PROFILER_POLL_SLEEP && o->blind_ns < 2 * o->sleep_ns)
		o->blind_ns = 2 * o->sleep_ns;
	o->cpu = options->cpu;
	o->servers = options->servers;
	o->rates.signals = options->rates & RATES_IN_MEMORY;
	o->rates.period_ns = options->rates_period_ns;
	o->output.hazards = &p->hazards;
	o->output.pid = (uint32_t)getpid();
	o->commands = &p->commands;
	o->released = &p->released;
	for (unsigned i = 0; i < PROFILER_SERVERS; i++) {
		o->hazards[i].output = &o->output;
		o->hazards[i].server = i;
	}
}

static const char *
kernel_name(enum profiler_kernel kernel)
{
	static const char *const names[] = {
	    [PROFILER_KERNEL_OFF] = "off",
	    [PROFILER_KERNEL_LITE] = "lite",
	    [PROFILER_KERNEL_SUMS] = "sums",
	    [PROFILER_KERNEL_FULL] = "full",
	};

	return NAME_IN(names, kernel);
}

/* Log once which events of the kernel are on, or why none. */
static void
profiler_log_kernel(struct profiler *p, int err)
{
	const struct profiler_signal_state *s = p->signal;
	struct permission permission;
	char off[400] = "";

	if (p->kernel == NULL) {
		permission_read(&permission);
		if (err == -EPERM)
			permission_remedy(
			    &permission, p->kernel_fix, sizeof(p->kernel_fix));
		else
			snprintf(p->kernel_fix, sizeof(p->kernel_fix),
			    "nothing; profiler.kernel=off hides this");
		log_event(LOG_LEVEL_NOTICE, "kernel_off",
		    "why=\"%s\" costs=\"timelines without run queues, "
		    "connections and page faults\" do=\"%s\"",
		    s[PROFILER_SIGNAL_SCHEDULER].why, p->kernel_fix);
		return;
	}
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
		if (!s[i].on)
			text_append(off, sizeof(off), "%s%s: %s",
			    off[0] != '\0' ? "; " : "", profiler_signal_name(i),
			    s[i].why);
	log_event(LOG_LEVEL_NOTICE, "kernel_on",
	    "profile=%s cpus=%u ring=%u off=\"%s\"",
	    kernel_name(p->options.kernel), kernel_channels(p->kernel),
	    1U << p->options.kernel_slot_log2, off);
}

/* Open the sources in the kernel.  A failure is never fatal: everything else
 * works without them. */
static void
profiler_open_kernel(struct profiler *p)
{
	const struct profiler_options *options = &p->options;
	struct kernel_options o = {
	    .profile = options->kernel,
	    .syscalls = options->syscalls,
	    .stacks = options->stacks,
	    .slot_log2 = options->kernel_slot_log2,
	    .events_per_s = options->kernel_events,
	    .first_number = p->attach.listener.next_number,
	};
	int err;

	for (unsigned i = 0; i < PROFILER_SIGNALS; i++)
		snprintf(p->signal[i].why, sizeof(p->signal[i].why),
		    "not configured: profiler.kernel is off");
	snprintf(
	    p->kernel_fix, sizeof(p->kernel_fix), "--set profiler.kernel=lite");
	p->attach.kernel_why = p->signal[PROFILER_SIGNAL_SCHEDULER].why;
	p->attach.kernel_fix = p->kernel_fix;
	if (options->kernel == PROFILER_KERNEL_OFF)
		return;
	err = kernel_new(&p->kernel, &o, p->signal);
	profiler_log_kernel(p, err);
	if (err < 0)
		return;
	for (unsigned i = 0; i < options->servers; i++)
		kernel_server_port(p->kernel, i, options->server[i].port);
	p->observer.stalls.hazards = p->observer.hazards;
	p->observer.stalls.owners = kernel_channel(p->kernel, 0)->owners;
	p->attach.check = p->observer.stalls.check;
	for (unsigned i = 0; i < kernel_channels(p->kernel); i++) {
		kernel_channel(p->kernel, i)->stalls = &p->observer.stalls;
		observer_add_channel(
		    &p->observer, kernel_channel(p->kernel, i), instant_now());
	}
	p->attach.listener.next_number += kernel_channels(p->kernel);
	p->observer.kernel = p->kernel;
	p->observer.rest.stall = kernel_stirs(p->kernel);
	attach_set_kernel(&p->attach, p->kernel);
}

/* Add a channel, by a command if the observer runs already. */
static void
profiler_add_channel(void *user, struct channel *c)
{
	struct profiler *p = user;
	struct observer_command o = {
	    .kind = COMMAND_CHANNEL, .at = instant_now(), .source = c};

	if (p->observer.running)
		sender_send(&p->attach.sender, &o);
	else
		observer_add_channel(&p->observer, c, instant_now());
}

/* Probe runtimes.  A failure is never fatal: only collections are not seen. */
static void
profiler_open_runtimes(struct profiler *p)
{
	struct runtimes *r = &p->attach.runtimes;

	r->add = profiler_add_channel;
	r->user = p;
	runtimes_start(r, &p->options, p->attach.listener.next_number);
	p->attach.listener.next_number += PROFILER_SERVERS;
}

int
profiler_new(struct profiler **out, const struct profiler_options *options)
{
	struct profiler *p;
	int err;

	if (!options_are_valid(options))
		return -EINVAL;
	p = aligned_alloc(64, (sizeof(*p) + 63) / 64 * 64);
	if (p == NULL)
		return -ENOMEM;
	memset(p, 0, sizeof(*p));
	p->options = *options;
	err = hazard_ring_init(&p->hazards);
	if (err < 0)
		goto fail;
	err = observer_rest_init(&p->observer.rest);
	if (err < 0)
		goto fail_ring;
	err = attach_init(&p->attach, &p->options, OUTPUT_CHANNEL + 1);
	if (err < 0)
		goto fail_rest;
	p->attach.sender.commands = &p->commands;
	p->attach.sender.rest = &p->observer.rest;
	p->attach.released = &p->released;
	profiler_init_observer(p);
	p->observer.attach = &p->attach.wake;
	profiler_open_kernel(p);
	profiler_open_runtimes(p);
	rates_open(&p->attach.rates, &p->options);
	epochs_open(&p->attach.epochs, options->counters, options->servers,
	    options->counted);
	steal_open(&p->attach.steal, options->proc_stat);
	*out = p;
	return 0;

fail_rest:
	observer_rest_fini(&p->observer.rest);
fail_ring:
	hazard_ring_fini(&p->hazards);
fail:
	free(p);
	return err;
}

/* Either thread may own pages when both have ended. */
static void
profiler_free_pages(struct profiler *p)
{
	struct observer_command o;
	struct hsperf_page *page;

	attach_collect(&p->attach);
	while (command_pop(&p->commands, &o)) {
		page = o.source;
		if (o.kind == COMMAND_PAGE)
			hsperf_page_free(&page);
	}
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		hsperf_page_free(&p->observer.page[i]);
}

void
profiler_free(struct profiler **pp)
{
	struct profiler *p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	/* Stop the thread that sends commands first: the observer then handles
	 * all of them. */
	attach_stop(&p->attach);
	observer_stop(&p->observer);
	profiler_free_pages(p);
	rates_close(&p->attach.rates);
	epochs_close(&p->attach.epochs);
	steal_close(&p->attach.steal);
	attach_fini(&p->attach);
	runtimes_close(&p->attach.runtimes);
	kernel_free(&p->kernel);
	for (unsigned i = 0; i < p->insides; i++)
		channel_free(&p->inside[i]);
	observer_rest_fini(&p->observer.rest);
	hazard_ring_fini(&p->hazards);
	free(p);
}

int
profiler_channel(struct profiler *p, const char *name, enum talechain_kind kind,
    unsigned slot_log2, struct talechain *tc)
{
	struct channel *c;
	int err;

	if (p->observer.running)
		return -EINVAL;
	if (p->insides == INSIDE_MAX)
		return -ENOSPC;
	err = channel_new_inside(
	    &c, p->attach.listener.next_number, kind, name, slot_log2);
	if (err < 0)
		return err;
	if (!observer_add_channel(&p->observer, c, instant_now())) {
		channel_free(&c);
		return -ENOSPC;
	}
	p->attach.listener.next_number++;
	p->inside[p->insides++] = c;
	talechain_attach(tc, c->memory, slot_log2);
	return 0;
}

int
profiler_start(struct profiler *p, struct timeline *timeline)
{
	int err = profiler_open_listener(p);

	if (err < 0)
		return err;
	observer_set_timeline(&p->observer, timeline, instant_now());
	err = observer_start(&p->observer);
	if (err < 0)
		return err;
	err = attach_start(&p->attach);
	if (err < 0)
		observer_stop(&p->observer);
	return err;
}

void
profiler_server_process(struct profiler *p, unsigned server, pid_t pid)
{
	assert(server < p->options.servers);
	process_assign(&p->attach.process[server], pid);
	attach_wake(&p->attach);
}

void
profiler_server_set(
    struct profiler *p, unsigned server, const struct profiler_server *is)
{
	assert(server < p->options.servers);
	if (p->kernel != NULL)
		kernel_server_port(p->kernel, server, is->port);
	attach_set(&p->attach, server, is);
}

void
profiler_watch_port(struct profiler *p, uint16_t port)
{
	if (p->kernel != NULL)
		kernel_watch_port(p->kernel, port);
}

bool
profiler_signals(const struct profiler *p,
    struct profiler_signal_state out[PROFILER_SIGNALS])
{
	memcpy(out, p->signal, sizeof(p->signal));
	return p->kernel != NULL;
}

void
profiler_signals_here(struct profiler_signal_state out[PROFILER_SIGNALS])
{
	const struct kernel_options all = {.profile = PROFILER_KERNEL_FULL,
	    .syscalls = true,
	    .sums = true,
	    .slot_log2 = 12,
	    .first_number = 1};
	struct kernel *k = NULL;

	(void)kernel_new(&k, &all, out); /* the states say why not */
	kernel_free(&k);
}

bool
profiler_counts(const struct profiler *p)
{
	return p->attach.epochs.sources != 0 ||
	       (p->attach.rates.signals & ~(1U << TALECHAIN_RATE_CLOCK)) != 0;
}

int
profiler_hazard_fd(const struct profiler *p)
{
	return p->hazards.fd;
}

bool
profiler_hazard_take(struct profiler *p, struct hazard *out)
{
	return hazard_ring_take(&p->hazards, out);
}

void
profiler_in_flight(struct profiler *p, bool any)
{
	if (p->idle != any)
		return;
	p->idle = !any;
	if (any)
		observer_look(&p->observer);
	observer_rest_set(&p->observer.rest, any, instant_now());
}

void
profiler_wake(struct profiler *p)
{
	if (p->idle)
		observer_rest_wake(&p->observer.rest);
}

void
profiler_heap(struct profiler *p, unsigned server, struct profiler_heap *out)
{
	const struct hsperf_heap *h = &p->observer.heap[server];
	uint64_t collector;

	observer_look(&p->observer);
	collector = count_read(&h->collector);
	memset(out, 0, sizeof(*out));
	if (collector == 0)
		return;
	out->known = true;
	out->concurrent = collector_concurrent((enum collector)(collector - 1));
	out->mixes = collector - 1 == COLLECTOR_G1;
	out->ordered = __atomic_load_n(&p->attach.orders.understood[server],
			   __ATOMIC_RELAXED) != 0;
	out->cause = (enum talechain_cause)count_read(&h->cause);
	for (unsigned i = 0; i < PROFILER_HEAP_COUNTERS; i++)
		out->word[i] = count_read(&h->word[i]);
}

void
profiler_collect(struct profiler *p, unsigned server, uint64_t bytes)
{
	assert(server < p->options.servers);
	orders_leave(&p->attach.orders, server,
	    bytes > ORDERS_STOP ? bytes : ORDERS_STOP);
	attach_wake(&p->attach);
}

void
profiler_load_agents(struct profiler *p, bool on)
{
	__atomic_store_n(&p->attach.orders.load_agents, on, __ATOMIC_RELAXED);
	attach_wake(&p->attach);
}

int
profiler_code_map(struct profiler *p, pid_t pid, struct instant since)
{
	int err = code_map_ask(&p->attach.code_maps, pid, since);

	if (err == -EAGAIN)
		attach_wake(&p->attach);
	return err;
}

/* Copy the observer's account of its own cost, counter by counter. */
static void
profiler_copy_cost(const struct profiler *p, struct profiler_stats *out)
{
	const struct profiler_cost *s = &p->observer.cost.seen;
	struct timespec t;
	clockid_t clock;

	out->cost.timed = count_read(&s->timed);
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		out->cost.cycles[i] = count_read(&s->cycles[i]);
	for (unsigned i = 0; i < PROFILER_PERIODS; i++)
		out->cost.period[i] = count_read(&s->period[i]);
	out->cost.periods_ns = count_read(&s->periods_ns);
	out->cpu_ns = 0;
	if (p->observer.running &&
	    pthread_getcpuclockid(p->observer.thread, &clock) == 0 &&
	    clock_gettime(clock, &t) == 0)
		out->cpu_ns = (uint64_t)t.tv_sec * (uint64_t)NS_PER_S +
			      (uint64_t)t.tv_nsec;
}

void
profiler_stats(struct profiler *p, struct profiler_stats *out)
{
	const struct counters *c = &p->observer.output.counters;
	const struct observer_rest *r = &p->observer.rest;
	const struct kernel_tally *tally;

	attach_stats(&p->attach, out);
	out->attach_turns = count_read(&p->attach.turns);
	out->sweeps = count_read(&c->sweeps);
	out->events = count_read(&c->events);
	out->lost = count_read(&c->lost);
	out->torn = count_read(&c->torn);
	out->abandoned = count_read(&c->abandoned);
	out->rejected = count_read(&c->rejected);
	out->hazards = count_read(&c->hazards);
	out->hazards_lost = count_read(&c->hazards_lost);
	out->blind = count_read(&c->blind);
	out->blind_ns = count_read(&c->blind_ns);
	out->blind_max_ns = count_read(&c->blind_max_ns);
	profiler_copy_cost(p, out);
	out->resting =
	    __atomic_load_n(&r->state, __ATOMIC_RELAXED) != OBSERVER_SWEEPS;
	out->rests = count_read(&r->rests);
	out->wakes = count_read(&r->woken);
	out->rates = count_read(&c->rates);
	out->rates_dropped = count_read(&c->rates_dropped) +
			     count_read(&p->attach.rates.dropped);
	out->stolen_ns = count_read(&p->attach.steal.total_ns);
	out->channels += p->insides;
	out->channels_opened += p->insides;
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		out->processes_refused += out->server[i].left_out;
	if (p->kernel == NULL)
		return;
	tally = kernel_tally(p->kernel);
	out->processes_refused += count_read(&tally->refused);
	out->kernel_missed = kernel_missed(p->kernel);
	out->kernel_crowded = count_read(&tally->crowded);
	out->kernel_unseen = count_read(&tally->unseen);
	out->kernel_stackless = count_read(&tally->stackless);
	out->kernel_unsummed = count_read(&tally->unsummed);
	out->peers_refused = count_read(&tally->strangers);
	out->peers_busy = count_read(&tally->restless);
	out->kernel_unsampled_ns = count_read(&c->unsampled_ns);
}
