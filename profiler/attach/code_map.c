#include "profiler/attach/code_map.h"

#include "base/log.h"

#define FAILED_AGAIN_NS (600 * NS_PER_S)
/* A younger JVM may not handle SIGQUIT yet. */
#define YOUNG_NS (3 * NS_PER_S)
#define TURN_NS (2 * NS_PER_MS) /* a client may wait for the names */
#define JAVA_LEAST 17		/* has Compiler.perfmap */

void
code_map_init(struct code_map_orders *o)
{
	memset(o, 0, sizeof(*o));
	pthread_mutex_init(&o->lock, NULL);
	load_init(&o->load);
}

void
code_map_fini(struct code_map_orders *o)
{
	load_fini(&o->load);
	pthread_mutex_destroy(&o->lock);
}

/* The place of a process's latest order; else one that is not needed any more;
 * NULL: there is none. */
static struct code_map *
map_of(struct code_map_orders *o, pid_t pid, struct instant now)
{
	struct code_map *free_one = NULL;

	for (unsigned i = 0; i < CODE_MAPS; i++) {
		if (o->of[i].pid == pid)
			return &o->of[i];
		if (!instant_before(now, o->of[i].due))
			free_one = &o->of[i];
	}
	return free_one;
}

int
code_map_ask(struct code_map_orders *o, pid_t pid, struct instant since)
{
	struct instant now = instant_now();
	const struct code_map *m;
	int err = -EAGAIN;

	pthread_mutex_lock(&o->lock);
	m = map_of(o, pid, now);
	if (m == NULL)
		err = 0;
	else if (m->pid == pid && o->wanted != pid &&
		 ((m->err == 0 && !instant_before(m->begun, since)) ||
		     instant_before(now, m->due)))
		err = m->err;
	else if (o->wanted == 0)
		o->wanted = pid;
	pthread_mutex_unlock(&o->lock);
	return err;
}

static bool
is_busy(const struct load *l)
{
	return l->state == LOAD_CONNECT || l->state == LOAD_REPLY;
}

/* Log how the order ended: of each process, the first success and the first
 * failure. */
static void
order_log(struct code_map_orders *o, const struct process *p, pid_t pid,
    int64_t took_ns, const char *why)
{
	pid_t *logged = &o->logged[p->index][why != NULL];

	if (*logged == pid)
		return;
	*logged = pid;
	if (why == NULL)
		log_event(LOG_LEVEL_NOTICE, "code_map_written",
		    "server=%s pid=%d file=/tmp/perf-%d.map ms=%lld "
		    "why=\"profiler.stacks: names of Java methods\"",
		    p->server.name, (int)pid, (int)proc_inner_pid(pid),
		    (long long)(took_ns / NS_PER_MS));
	else
		log_event(LOG_LEVEL_WARNING, "code_map_not_written",
		    "server=%s pid=%d why=\"%s\" costs=\"no names of Java "
		    "methods in stacks\" do=\"jcmd %d Compiler.perfmap, as its "
		    "user, with JDK 17 or later\"",
		    p->server.name, (int)pid, why, (int)pid);
}

/* Note how the order ended, and that there is no other one for rest_ns. */
static void
order_note(
    struct code_map_orders *o, int err, int64_t rest_ns, struct instant now)
{
	struct code_map *m;

	pthread_mutex_lock(&o->lock);
	m = map_of(o, o->wanted, now);
	if (m != NULL)
		*m = (struct code_map){.pid = o->wanted,
		    .begun = o->begun,
		    .due = instant_plus(now, rest_ns),
		    .err = err};
	o->wanted = 0;
	pthread_mutex_unlock(&o->lock);
}

/* End the order: err, and why it failed; NULL: the map is there. */
static void
order_end(struct code_map_orders *o, const struct process *p, int err,
    const char *why, struct instant now)
{
	int64_t took_ns = instant_since(now, o->begun);
	int64_t rest_ns = took_ns * CODE_MAP_SHARE;

	if (rest_ns < CODE_MAP_PERIOD_NS)
		rest_ns = CODE_MAP_PERIOD_NS;
	/* No other thread changes what is wanted. */
	order_log(o, p, o->wanted, took_ns, why);
	pthread_mutex_lock(&o->lock);
	o->written += why == NULL;
	o->failed += why != NULL;
	pthread_mutex_unlock(&o->lock);
	order_note(o, err, why == NULL ? rest_ns : FAILED_AGAIN_NS, now);
}

/* Take what the load must know from a JVM's page, which is the server's, or is
 * opened for this. */
static void
page_take(struct load *l, const struct process *p, pid_t pid)
{
	struct hsperf_page *opened = NULL;
	const struct hsperf_page *page = p->page;
	char why[PAGE_TEXT];

	if ((page == NULL || page->pid != pid) &&
	    hsperf_page_open(&opened, pid, why) == 0)
		page = opened;
	else if (page != NULL && page->pid != pid)
		page = NULL;
	l->java = page != NULL ? page->java : 0;
	l->no_attach = page != NULL
			   ? page->no_attach
			   : "it has no performance page, so its options are "
			     "not known";
	hsperf_page_free(&opened);
}

static void
order_begin(struct code_map_orders *o, const struct orders *others,
    const struct process *p, pid_t pid, struct instant now)
{
	struct load *l = &o->load;

	o->begun = now;
	if (!p->server.hsperfdata && !p->server.agent &&
	    p->server.probes == PROFILER_PROBES_OFF) {
		order_end(o, p, -EPERM, "servers[].jvm is none", now);
		return;
	}
	page_take(l, p, pid);
	if (l->java != 0 && l->java < JAVA_LEAST) {
		order_end(o, p, -EOPNOTSUPP, "only JDK 17 and later can", now);
		return;
	}
	if (others->load[p->index].knocked == pid)
		l->knocked = pid;
	load_code_map(l, pid, now);
}

/* The server that a process belongs to; NULL: none. */
static const struct process *
owner_of(const struct process *process, unsigned servers, pid_t pid)
{
	for (unsigned i = 0; i < servers; i++)
		if (process_owns(&process[i], pid))
			return &process[i];
	return NULL;
}

/* Begin what is wanted.  Returns the time until the next turn. */
static int64_t
wanted_take(struct code_map_orders *o, const struct orders *others,
    const struct process *process, unsigned servers, struct instant now)
{
	const struct process *p;
	pid_t pid;

	pthread_mutex_lock(&o->lock);
	pid = o->wanted;
	pthread_mutex_unlock(&o->lock);
	if (pid == 0)
		return -1;
	p = owner_of(process, servers, pid);
	if (p == NULL || proc_age_ns(pid) < YOUNG_NS) {
		o->begun = now;
		order_note(o, -EACCES, YOUNG_NS, now);
		return -1;
	}
	o->server = p->index;
	order_begin(o, others, p, pid, now);
	return 0;
}

int64_t
code_map_turn(struct code_map_orders *o, struct orders *others,
    const struct process *process, unsigned servers, struct instant now)
{
	struct load *l = &o->load;
	int64_t due_ns = is_busy(l) ? load_turn(l, now) : -1;

	if (l->state == LOAD_IDLE)
		due_ns = wanted_take(o, others, process, servers, now);
	if (l->knocked == l->pid && l->pid != 0)
		others->load[o->server].knocked = l->pid;
	if (l->state != LOAD_DONE && l->state != LOAD_FAILED)
		return is_busy(l) ? TURN_NS : due_ns;
	order_end(o, &process[o->server], l->state == LOAD_DONE ? 0 : -EACCES,
	    l->state == LOAD_DONE ? NULL : l->why, now);
	l->state = LOAD_IDLE;
	return -1;
}
