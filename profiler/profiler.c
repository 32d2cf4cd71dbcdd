/*
 * profiler.c: the public face: makes the two threads' state, starts and stops
 * them, and answers questions from other threads.
 */
#include "profiler/profiler.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "profiler/attach.h"
#include "profiler/hazard_ring.h"
#include "profiler/observer.h"

#define INSIDE_MAX 8 /* channels of our own threads */

struct profiler {
	struct profiler_options options;
	struct hazard_ring hazards;
	struct order_ring orders, returns;
	struct observer observer;
	struct attach attach;
	struct channel *inside[INSIDE_MAX]; /* owned */
	unsigned insides;
	pthread_mutex_t periods_lock; /* one reader of periods at a time */
};

static bool
options_are_valid(const struct profiler_options *o)
{
	unsigned i;

	if (o->timeline == NULL || o->servers > PROFILER_SERVERS ||
	    o->channels_max < 1 || o->channels_max > 1024 || o->blind_ns < 0 ||
	    (o->poll == PROFILER_POLL_SLEEP && o->sleep_ns <= 0))
		return false;
	for (i = 0; i < o->servers; i++)
		if (o->server[i].name == NULL)
			return false;
	return true;
}

static void
profiler_open_door(struct profiler *p)
{
	const char *path = p->options.channel_socket;
	int err;

	if (path == NULL || *path == '\0')
		return;
	err = door_open(&p->attach.door, path);
	if (err < 0)
		log_event(LOG_LEVEL_WARNING, "channels_off",
		    "socket=%s error=\"%s\" costs=\"no events and no agents "
		    "from servers\" do=\"%s\"",
		    path, strerror(-err),
		    err == -EADDRINUSE
			? "another tailor listens there: give this one its "
			  "own profiler.channel_socket"
			: "make its directory writable for tailor, or set "
			  "profiler.channel_socket");
}

static void
profiler_init_observer(struct profiler *p)
{
	const struct profiler_options *options = &p->options;
	struct observer *o = &p->observer;
	unsigned i;

	o->poll = options->poll;
	o->sleep_ns = options->sleep_ns;
	o->blind_ns = options->blind_ns;
	/* An intended sleep is not a blind interval. */
	if (o->poll == PROFILER_POLL_SLEEP && o->blind_ns < 2 * o->sleep_ns)
		o->blind_ns = 2 * o->sleep_ns;
	o->cpu = options->cpu;
	o->servers = options->servers;
	o->output.timeline = options->timeline;
	o->output.hazards = &p->hazards;
	o->output.pid = (uint32_t)getpid();
	o->orders = &p->orders;
	o->returns = &p->returns;
	histogram_init(&o->periods);
	histogram_init(&o->periods_copy);
	for (i = 0; i < PROFILER_SERVERS; i++) {
		o->watch[i].output = &o->output;
		o->watch[i].server = i;
	}
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
	err = attach_init(&p->attach, &p->options, OUTPUT_CHANNEL + 1);
	if (err < 0)
		goto fail_ring;
	p->attach.orders = &p->orders;
	p->attach.returns = &p->returns;
	profiler_init_observer(p);
	pthread_mutex_init(&p->periods_lock, NULL);
	profiler_open_door(p);
	*out = p;
	return 0;

fail_ring:
	hazard_ring_fini(&p->hazards);
fail:
	free(p);
	return err;
}

/* After both threads have ended, pages may be in any of their hands. */
static void
profiler_free_pages(struct profiler *p)
{
	struct order o;
	struct page *page;
	unsigned i;

	attach_collect(&p->attach);
	while (order_pop(&p->orders, &o)) {
		page = o.source;
		if (o.kind == ORDER_PAGE)
			page_free(&page);
	}
	for (i = 0; i < PROFILER_SERVERS; i++)
		page_free(&p->observer.page[i]);
}

void
profiler_free(struct profiler **pp)
{
	struct profiler *p = *pp;
	unsigned i;

	*pp = NULL;
	if (p == NULL)
		return;
	/* The one that sends orders first, so that the other sees them all. */
	attach_stop(&p->attach);
	observer_stop(&p->observer);
	profiler_free_pages(p);
	attach_fini(&p->attach);
	for (i = 0; i < p->insides; i++)
		channel_free(&p->inside[i]);
	hazard_ring_fini(&p->hazards);
	pthread_mutex_destroy(&p->periods_lock);
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
	    &c, p->attach.door.next_number, kind, name, slot_log2);
	if (err < 0)
		return err;
	if (!observer_add_channel(&p->observer, c, instant_now())) {
		channel_free(&c);
		return -ENOSPC;
	}
	p->attach.door.next_number++;
	p->inside[p->insides++] = c;
	talechain_attach(tc, c->memory, slot_log2);
	return 0;
}

int
profiler_start(struct profiler *p)
{
	int err = observer_start(&p->observer);

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
	process_tell(&p->attach.process[server], pid);
	attach_wake(&p->attach);
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
profiler_stats(struct profiler *p, struct profiler_stats *out)
{
	const struct counters *c = &p->observer.output.counters;

	attach_stats(&p->attach, out);
	out->sweeps = counter_read(&c->sweeps);
	out->events = counter_read(&c->events);
	out->lost = counter_read(&c->lost);
	out->torn = counter_read(&c->torn);
	out->abandoned = counter_read(&c->abandoned);
	out->rejected = counter_read(&c->rejected);
	out->hazards = counter_read(&c->hazards);
	out->hazards_lost = counter_read(&c->hazards_lost);
	out->blind = counter_read(&c->blind);
	out->blind_ns = counter_read(&c->blind_ns);
	out->blind_max_ns = counter_read(&c->blind_max_ns);
	out->channels += p->insides;
	out->channels_opened += p->insides;
}

void
profiler_periods(struct profiler *p, struct histogram *out)
{
	struct timespec wait = {.tv_nsec = 100 * NS_PER_US};
	struct observer *o = &p->observer;

	pthread_mutex_lock(&p->periods_lock);
	if (o->running) {
		__atomic_store_n(&o->periods_wanted, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&o->periods_wanted, __ATOMIC_ACQUIRE))
			nanosleep(&wait, NULL);
		*out = o->periods_copy;
	} else {
		*out = o->periods;
	}
	pthread_mutex_unlock(&p->periods_lock);
}

const char *
profiler_poll_name(enum profiler_poll poll)
{
	switch (poll) {
	case PROFILER_POLL_SPIN:
		return "spin";
	case PROFILER_POLL_RELAX:
		return "relax";
	case PROFILER_POLL_SLEEP:
		return "sleep";
	}
	return "?";
}

const char *
profiler_source_name(enum profiler_source source)
{
	switch (source) {
	case PROFILER_SOURCE_NONE:
		return "none";
	case PROFILER_SOURCE_PIDFD:
		return "pidfd";
	case PROFILER_SOURCE_HSPERFDATA:
		return "hsperfdata";
	case PROFILER_SOURCE_AGENT:
		return "agent";
	}
	return "?";
}
