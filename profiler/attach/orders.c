/* orders.c: orders on their way to the JVMs. */
#include "profiler/attach/orders.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/log.h"

/* At this age of a JVM, an agent that it was started with has connected. */
#define LOAD_AGE_NS (3 * NS_PER_S)
#define LOAD_LOOK_NS (500 * NS_PER_MS)
#define FLAG_AGAIN_NS (5 * NS_PER_S)
#define PERIODIC_MS 1
#define PERIODIC_MAX_MS UINT64_C(86400000) /* a day */

void
orders_init(struct orders *o)
{
	memset(o, 0, sizeof(*o));
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		load_init(&o->load[i]);
}

void
orders_leave(struct orders *o, unsigned server, uint64_t order)
{
	__atomic_store_n(&o->wanted[server], order, __ATOMIC_RELEASE);
}

static void
order_send(int fd, uint64_t order)
{
	char line[48];
	int n = order == ORDERS_STOP || order == PROFILER_COLLECT_FULL
		    ? snprintf(line, sizeof(line), "%s\n",
			  order == ORDERS_STOP ? "STOP" : "FULL")
		    : snprintf(line, sizeof(line), "COLLECT %llu\n",
			  (unsigned long long)order);

	/* If the socket is full, the agent does not read: the order is lost,
	 * and the proxy sees that in the heap. */
	if (send(fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
		log_event(LOG_LEVEL_DEBUG, "order_unsent", "bytes=%llu",
		    (unsigned long long)order);
}

/* Load our agent into this process, unless that was tried before. */
static int64_t
agent_load(struct orders *o, const struct channel_listener *d, unsigned server,
    struct instant now)
{
	const struct process *p = &d->process[server];
	struct load *l = &o->load[server];
	char library[400];

	if (__atomic_load_n(&o->load_agents, __ATOMIC_RELAXED) == 0 ||
	    p->server.collect != PROFILER_COLLECT_LOAD || !p->server.agent ||
	    p->page == NULL || d->path == NULL || o->tried[server] == p->jvm)
		return -1;
	if (proc_age_ns(p->jvm) < LOAD_AGE_NS)
		return LOAD_LOOK_NS;
	o->tried[server] = p->jvm;
	o->logged[server] = false;
	if (file_agent(library, sizeof(library))) {
		load_begin(l, p->jvm, library, d->path, now);
	} else {
		l->state = LOAD_FAILED;
		snprintf(l->why, sizeof(l->why),
		    "libtailor-jvm.so is not installed (make agent)");
	}
	return 0;
}

static int64_t
load_watch(struct orders *o, const struct process *p, struct instant now)
{
	unsigned server = p->index;
	struct load *l = &o->load[server];
	int64_t due_ns = load_turn(l, now);

	if (o->logged[server])
		return due_ns;
	if (l->state == LOAD_DONE)
		log_event(LOG_LEVEL_NOTICE, "agent_loaded",
		    "server=%s pid=%d why=\"hedging.steer\"", p->server.name,
		    (int)l->pid);
	else if (l->state == LOAD_FAILED)
		log_event(LOG_LEVEL_WARNING, "agent_not_loaded",
		    "server=%s why=\"%s\" costs=\"no steering\" do=\"start "
		    "it with -agentpath:.../libtailor-jvm.so\"",
		    p->server.name, l->why);
	o->logged[server] = l->state == LOAD_DONE || l->state == LOAD_FAILED;
	return due_ns;
}

/* --- a flag of G1 --------------------------------------------------------- */

static const char periodic[] = "G1PeriodicGCInterval";

static bool
load_busy(const struct load *l)
{
	return l->state == LOAD_CONNECT || l->state == LOAD_REPLY;
}

/* Take the flag's value from the reply.  A value that an earlier tailor may
 * have left is not the user's.  False: the reply has none. */
static bool
flag_read(struct orders_periodic *f, const struct load *l)
{
	if (!load_flag_value(l, &f->is))
		return false;
	if (f->is > PERIODIC_MS)
		f->own = f->is;
	f->read = true;
	return true;
}

/* Note that the flag has the requested value, which G1 reads when the interval
 * of the old value has passed. */
static void
flag_set(struct orders_periodic *f, struct instant now)
{
	uint64_t ms = f->is < PERIODIC_MAX_MS ? f->is : PERIODIC_MAX_MS;

	if (f->is > PERIODIC_MS && f->asked <= PERIODIC_MS)
		f->usable = instant_plus(now, (int64_t)ms * NS_PER_MS);
	f->is = f->asked;
}

static void
flag_done(struct orders_periodic *f, const struct load *l, const char *server,
    struct instant now)
{
	bool failed = f->failed;
	const char *why = l->why;

	f->failed = l->state == LOAD_FAILED;
	if (!f->read && !f->failed) {
		f->failed = !flag_read(f, l);
		why = "it has no such flag (JDK 12 or later has)";
	} else if (f->read && (!f->failed || f->asked == PERIODIC_MS)) {
		/* A JVM that did not reply may still set the flag. */
		flag_set(f, now);
	}
	f->again = f->failed ? instant_plus(now, FLAG_AGAIN_NS) : INSTANT_NONE;
	if (f->failed && !failed)
		log_event(LOG_LEVEL_WARNING, "flag_not_set",
		    "server=%s flag=%s why=\"%s\" costs=\"no steering%s\"",
		    server, periodic, why,
		    f->read && f->is == PERIODIC_MS
			? "; until it is set back it may collect each second"
			: "");
}

/* Do one step of reading the flag, then of setting it as wanted.  Returns the
 * time until the next step, ns; -1: none. */
static int64_t
flag_turn(struct orders_periodic *f, struct load *l, const char *server,
    struct instant now)
{
	char value[24];
	int64_t due_ns = -1;

	if (load_busy(l)) {
		due_ns = load_turn(l, now);
		if (!load_busy(l))
			flag_done(f, l, server, now);
	}
	if (f->failed && f->want == PERIODIC_MS)
		f->want = 0;
	if (load_busy(l) || (f->read ? f->is == f->want : f->failed) ||
	    (f->failed && f->is == f->own))
		return due_ns;
	if (instant_before(now, f->again))
		return instant_since(f->again, now);
	f->asked = f->want;
	snprintf(value, sizeof(value), "%llu", (unsigned long long)f->want);
	load_flag(l, f->pid, periodic, f->read ? value : NULL, now);
	if (!load_busy(l))
		flag_done(f, l, server, now);
	return 0;
}

/* True if orders can be carried out. */
static bool
periodic_usable(const struct orders_periodic *f, struct instant now)
{
	return f->pid != 0 && f->read && !f->failed &&
	       !instant_before(now, f->usable);
}

static int64_t
periodic_turn(struct orders *o, const struct process *p, uint64_t order,
    struct instant now)
{
	struct orders_periodic *f = &o->periodic[p->index];
	bool on = __atomic_load_n(&o->load_agents, __ATOMIC_RELAXED) != 0;
	int64_t due_ns;

	if (f->pid != p->jvm) {
		f->pid = 0;
		if (!on || p->page == NULL || p->page->kind != COLLECTOR_G1)
			return -1;
		/* A younger JVM may not handle SIGQUIT yet. */
		if (proc_age_ns(p->jvm) < LOAD_AGE_NS)
			return LOAD_LOOK_NS;
		load_fini(&o->load[p->index]);
		*f = (struct orders_periodic){
		    .pid = p->jvm, .own = p->page->periodic_ms};
	}
	if (f->pid == 0)
		return -1;
	if (order != 0)
		f->ordered = order != ORDERS_STOP;
	f->ordered = f->ordered && on && !f->failed;
	f->want = f->ordered ? PERIODIC_MS : on ? 0 : f->own;
	due_ns = flag_turn(f, &o->load[p->index], p->server.name, now);
	if (instant_before(now, f->usable))
		due_ns = sooner_ns(due_ns, instant_since(f->usable, now));
	return due_ns;
}

/* Restore the user's value of the flag; nothing else does. */
static void
periodic_end(struct orders_periodic *f, struct load *l)
{
	struct timespec wait = {.tv_nsec = 5 * NS_PER_MS};

	if (f->pid == 0 || !f->read)
		return;
	f->want = f->own;
	f->failed = false;
	f->again = INSTANT_NONE;
	for (int i = 0; i < 60 && (f->is != f->want || load_busy(l)); i++) {
		flag_turn(f, l, "-", instant_now());
		if (f->failed)
			break;
		nanosleep(&wait, NULL);
	}
}

void
orders_fini(struct orders *o)
{
	for (unsigned i = 0; i < PROFILER_SERVERS; i++) {
		periodic_end(&o->periodic[i], &o->load[i]);
		load_fini(&o->load[i]);
	}
}

int64_t
orders_turn(
    struct orders *o, const struct channel_listener *d, struct instant now)
{
	int64_t due_ns = -1;
	const struct process *p;
	uint64_t order;
	unsigned agents;
	int fd;

	for (unsigned i = 0; i < d->servers; i++) {
		p = &d->process[i];
		if (p->page != NULL) {
			o->load[i].java = p->page->java;
			o->load[i].no_attach = p->page->no_attach;
		}
		order = __atomic_exchange_n(&o->wanted[i], 0, __ATOMIC_ACQUIRE);
		if (p->server.collect == PROFILER_COLLECT_PERIODIC) {
			due_ns =
			    sooner_ns(due_ns, periodic_turn(o, p, order, now));
			__atomic_store_n(&o->understood[i],
			    periodic_usable(&o->periodic[i], now),
			    __ATOMIC_RELAXED);
		}
		if (p->server.collect != PROFILER_COLLECT_AGENT &&
		    p->server.collect != PROFILER_COLLECT_LOAD)
			continue;
		agents = channel_listener_agents(d, i, &fd);
		__atomic_store_n(&o->understood[i], fd >= 0, __ATOMIC_RELAXED);
		if (order != 0 && fd >= 0)
			order_send(fd, order);
		if (agents == 0)
			due_ns = sooner_ns(due_ns, agent_load(o, d, i, now));
		due_ns = sooner_ns(due_ns, load_watch(o, p, now));
	}
	return due_ns;
}
