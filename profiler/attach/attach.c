#include "profiler/attach/attach.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

/* How often to check for a released source while one is ending. */
#define RETURN_PERIOD_NS (2 * NS_PER_MS)
/* How often the kernel's losses are read. */
#define COUNT_PERIOD_NS NS_PER_S
#define COUNT_REST_NS (4 * NS_PER_S) /* without requests in flight */
/* How long processes are watched after servers waited for them, at least. */
#define PEER_PERIOD_NS (30 * NS_PER_S)
/* Descriptors of a server: its pidfd and those of threads. */
#define POLL_SERVER (1 + PROC_THREADS)
#define POLL_OTHERS (1 + PROFILER_SERVERS * POLL_SERVER)

int
attach_init(struct attach *a, const struct profiler_options *options,
    uint32_t first_number)
{
	int err;

	memset(a, 0, sizeof(*a));
	a->servers = options->servers;
	for (unsigned i = 0; i < a->servers; i++) {
		process_init(&a->process[i], i, &options->server[i]);
		a->process[i].sender = &a->sender;
		a->process[i].runtimes = &a->runtimes;
	}
	a->listener = (struct channel_listener){.sender = &a->sender,
	    .process = a->process,
	    .servers = a->servers,
	    .channels_max = options->channels_max,
	    .next_number = first_number};
	orders_init(&a->orders);
	code_map_init(&a->code_maps);
	a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->wake < 0)
		return -errno;
	err = channel_listener_init(&a->listener);
	if (err < 0)
		goto fail_wake;
	a->polled =
	    calloc(POLL_OTHERS + 1 + options->channels_max + PENDING_MAX,
		sizeof(*a->polled));
	if (a->polled == NULL) {
		err = -ENOMEM;
		goto fail_listener;
	}
	pthread_mutex_init(&a->lock, NULL);
	return 0;

fail_listener:
	channel_listener_fini(&a->listener);
fail_wake:
	close(a->wake);
	return err;
}

void
attach_collect(struct attach *a)
{
	struct observer_command o;
	struct hsperf_page *page;

	while (command_pop(a->released, &o)) {
		if (a->sender.out > 0)
			a->sender.out--;
		if (o.kind == COMMAND_CHANNEL_END) {
			channel_listener_release(&a->listener, o.source);
			continue;
		}
		page = o.source;
		process_page_returned(&a->process[page->server], page);
	}
}

void
attach_fini(struct attach *a)
{
	channel_listener_fini(&a->listener);
	orders_fini(&a->orders);
	code_map_fini(&a->code_maps);
	for (unsigned i = 0; i < a->servers; i++)
		process_fini(&a->process[i]);
	pthread_mutex_destroy(&a->lock);
	free(a->polled);
	close(a->wake);
}

void
attach_set_kernel(struct attach *a, struct kernel *kernel)
{
	a->kernel = kernel;
	for (unsigned i = 0; i < a->servers; i++)
		a->process[i].kernel = kernel;
}

/* Update the copy that attach_stats() reads, but for what was logged. */
static void
attach_publish(struct attach *a)
{
	const struct channel_listener *d = &a->listener;
	unsigned agents;
	const char *probes;
	int fd;

	pthread_mutex_lock(&a->lock);
	a->shown.channels = d->channels;
	a->shown.channels_opened = d->opened;
	a->shown.channels_refused = d->refused;
	for (unsigned i = 0; i < a->servers; i++) {
		agents = channel_listener_agents(d, i, &fd);
		a->shown.server[i].pid = a->process[i].pid;
		a->shown.server[i].processes = a->process[i].family.count;
		a->shown.server[i].left_out = a->process[i].left_out;
		memcpy(a->shown.server[i].program, a->process[i].name,
		    sizeof(a->shown.server[i].program));
		process_describe(&a->process[i], agents,
		    &a->shown.server[i].source, a->shown.server[i].detail);
		probes = runtimes_detail(&a->runtimes, i);
		if (probes == NULL)
			continue;
		a->shown.server[i].source = PROFILER_SOURCE_PROBES;
		snprintf(a->shown.server[i].detail,
		    sizeof(a->shown.server[i].detail), "%s", probes);
	}
	pthread_mutex_unlock(&a->lock);
}

void
attach_stats(struct attach *a, struct profiler_stats *out)
{
	pthread_mutex_lock(&a->lock);
	*out = a->shown;
	pthread_mutex_unlock(&a->lock);
	pthread_mutex_lock(&a->code_maps.lock);
	out->code_maps = a->code_maps.written;
	out->code_maps_failed = a->code_maps.failed;
	pthread_mutex_unlock(&a->code_maps.lock);
}

void
attach_wake(struct attach *a)
{
	eventfd_write(a->wake, 1);
}

void
attach_set(struct attach *a, unsigned server, const struct profiler_server *is)
{
	pthread_mutex_lock(&a->lock);
	a->set[server].is = *is;
	a->set[server].due = true;
	pthread_mutex_unlock(&a->lock);
	attach_wake(a);
}

/* Apply the servers that attach_set has left. */
static void
attach_turn_set(struct attach *a, struct instant now)
{
	struct profiler_server is;
	bool due;

	for (unsigned i = 0; i < a->servers; i++) {
		pthread_mutex_lock(&a->lock);
		due = a->set[i].due;
		is = a->set[i].is;
		a->set[i].due = false;
		pthread_mutex_unlock(&a->lock);
		if (!due)
			continue;
		process_set(&a->process[i], &is, now);
		runtimes_set(&a->runtimes, i, &is);
		a->process[i].watched_jvm = 0;
	}
}

/* Fill in the descriptors to poll for a server: POLL_SERVER places. */
static void
attach_poll_server(const struct attach *a, unsigned i, struct pollfd *p)
{
	const struct process *s = i < a->servers ? &a->process[i] : NULL;

	p[0] =
	    (struct pollfd){.fd = s != NULL ? s->pidfd : -1, .events = POLLIN};
	for (unsigned k = 0; k < PROC_THREADS; k++)
		p[1 + k] = (struct pollfd){
		    .fd = s != NULL ? s->thread[k] : -1, .events = POLLIN};
}

static int64_t
attach_turn_server(
    struct process *s, const struct pollfd *p, struct instant now)
{
	bool thread = false;

	for (unsigned k = 0; k < PROC_THREADS; k++)
		thread |= p[1 + k].revents != 0;
	return process_turn(s, p[0].revents != 0, thread, now);
}

/* Once per period read the losses of the kernel's programs, with thirty system
 * calls, and give up peers; park the programs. */
static int64_t
attach_turn_kernel(struct attach *a, struct instant now)
{
	int64_t period_ns = observer_rest_deep(a->sender.rest)
				? COUNT_REST_NS
				: COUNT_PERIOD_NS;

	if (a->kernel == NULL)
		return -1;
	if (instant_since(now, a->counted) >= period_ns) {
		kernel_count(a->kernel);
		for (unsigned i = 0; i < a->servers; i++)
			process_refresh(&a->process[i]);
		a->counted = now;
	}
	if (instant_since(now, a->aged) >= PEER_PERIOD_NS) {
		kernel_peers_age(a->kernel);
		a->aged = now;
	}
	return sooner_ns(period_ns - instant_since(now, a->counted),
	    kernel_park(a->kernel, now));
}

/* Read the states that the observer asks for, and report processes that are
 * not stopped. */
static void
attach_turn_check(struct attach *a)
{
	struct observer_command o = {.kind = COMMAND_NOT_STOPPED};

	for (unsigned i = 0; a->check != NULL && i < a->servers; i++) {
		o.pid = (pid_t)__atomic_exchange_n(
		    &a->check[i], 0, __ATOMIC_ACQUIRE);
		o.server = i;
		o.at = instant_now();
		if (o.pid != 0 && !proc_is_stopped(o.pid))
			sender_send(&a->sender, &o);
	}
}

/* Probe the runtimes of changed server processes. */
static int64_t
attach_turn_runtimes(struct attach *a, struct instant now)
{
	int64_t due_ns = -1;

	for (unsigned i = 0; i < a->servers; i++) {
		process_watch(&a->process[i]);
		due_ns =
		    sooner_ns(due_ns, runtimes_turn(&a->runtimes, i,
					  a->process[i].page != NULL, now));
	}
	return due_ns;
}

/* Follow changed server processes, then sample what is due. */
static int64_t
attach_turn_rates(struct attach *a, struct instant now)
{
	const struct process *p;

	for (unsigned i = 0; i < a->servers; i++) {
		p = &a->process[i];
		rates_server(
		    &a->rates, i, &p->family, p->searched, p->server.name);
		epochs_server(
		    &a->epochs, i, &p->family, p->searched, p->server.name);
	}
	return sooner_ns(rates_turn(&a->rates, a->sender.commands, now),
	    epochs_reader_turn(&a->epochs, now));
}

/* Copy what is not seen of a server, once it is logged. */
static void
publish_observed(struct attach *a, unsigned i)
{
	const struct process *p = &a->process[i];
	const struct observed *o = &a->observed[i];
	struct profiler_miss *m = a->shown.server[i].miss;
	unsigned misses = o->misses;

	pthread_mutex_lock(&a->lock);
	a->shown.server[i].reported = p->pid != 0 ? o->reported : p->foreign;
	memcpy(m, o->miss, sizeof(o->miss));
	if (p->pid == 0) {
		misses = p->where[0] != '\0';
		m->what = "its process";
		snprintf(m->why, sizeof(m->why), "%s", p->where);
		snprintf(m->fix, sizeof(m->fix), "%s", p->fix);
	}
	a->shown.server[i].misses = misses;
	pthread_mutex_unlock(&a->lock);
}

static int64_t
attach_turn_observed(struct attach *a, unsigned server, struct instant now)
{
	const struct observed_facts facts = {
	    .socket = a->listener.path,
	    .kernel_why = a->kernel_why,
	    .kernel_fix = a->kernel_fix,
	    .detail = a->shown.server[server].detail,
	    .collections =
		a->shown.server[server].source > PROFILER_SOURCE_PIDFD,
	};
	int64_t due_ns = observed_turn(
	    &a->observed[server], &a->process[server], &facts, now);

	publish_observed(a, server);
	return due_ns;
}

/* Do one turn, after sleeping for wait_ns at most; -1: until something happens.
 * Returns the next wait_ns. */
static int64_t
attach_turn(struct attach *a, int64_t wait_ns)
{
	struct timespec t = {
	    .tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S};
	struct pollfd *p = a->polled;
	struct instant now;
	uint64_t count;
	int64_t due_ns;
	unsigned n;

	p[0] = (struct pollfd){.fd = a->wake, .events = POLLIN};
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		attach_poll_server(a, i, &p[1 + i * POLL_SERVER]);
	n = POLL_OTHERS + channel_listener_poll(&a->listener, p + POLL_OTHERS);
	if (ppoll(p, n, wait_ns < 0 ? NULL : &t, NULL) < 0)
		for (unsigned i = 0; i < n; i++)
			p[i].revents = 0;
	if (p[0].revents != 0 && read(a->wake, &count, sizeof(count)) < 0)
		p[0].revents = 0;
	count_add(&a->turns, 1);
	/* Handle ends of processes first: other work may take longer. */
	now = instant_now();
	due_ns = -1;
	attach_turn_set(a, now);
	for (unsigned i = 0; i < a->servers; i++)
		due_ns = sooner_ns(due_ns, attach_turn_server(&a->process[i],
					       &p[1 + i * POLL_SERVER], now));
	for (unsigned i = 0; i < a->servers; i++) {
		if (a->process[i].changed)
			channel_listener_assign(&a->listener);
		a->process[i].changed = false;
		process_watch(&a->process[i]);
	}
	due_ns = sooner_ns(due_ns, orders_turn(&a->orders, &a->listener, now));
	due_ns = sooner_ns(due_ns, code_map_turn(&a->code_maps, &a->orders,
				       a->process, a->servers, now));
	attach_turn_check(a);
	due_ns = sooner_ns(due_ns, attach_turn_kernel(a, now));
	due_ns = sooner_ns(due_ns, attach_turn_runtimes(a, now));
	due_ns = sooner_ns(due_ns, attach_turn_rates(a, now));
	due_ns =
	    sooner_ns(due_ns, steal_turn(&a->steal, a->sender.commands,
				  observer_rest_deep(a->sender.rest), now));
	due_ns = sooner_ns(
	    due_ns, channel_listener_turn(&a->listener, p + POLL_OTHERS, now));
	attach_collect(a);
	attach_publish(a);
	for (unsigned i = 0; i < a->servers; i++)
		due_ns = sooner_ns(due_ns, attach_turn_observed(a, i, now));
	return a->sender.out > 0 ? sooner_ns(due_ns, RETURN_PERIOD_NS) : due_ns;
}

static void *
attach_run(void *arg)
{
	struct attach *a = arg;
	int64_t wait_ns = 0;

	prctl(PR_SET_NAME, "attach");
	while (__atomic_load_n(&a->sender.stop, __ATOMIC_RELAXED) == 0)
		wait_ns = attach_turn(a, wait_ns);
	return NULL;
}

int
attach_start(struct attach *a)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&a->thread, NULL, attach_run, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	a->running = err == 0;
	return -err;
}

void
attach_stop(struct attach *a)
{
	if (!a->running)
		return;
	__atomic_store_n(&a->sender.stop, 1, __ATOMIC_RELAXED);
	attach_wake(a);
	pthread_join(a->thread, NULL);
	a->running = false;
}
