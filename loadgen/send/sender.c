/* sender.c: sender_run() loops: send what is due, fail what is too old, then
 * sleep or poll, and read what has come (receiver.c). */
#include "loadgen/send/sender.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loadgen/send/stamps.h"

#define LEAD_NS (10 * NS_PER_MS) /* from now to the schedule's zero */
#define EVENTS 64
#define STEP_NS (10 * NS_PER_US) /* a larger change means a set clock */

static int
watch(struct sender *s, int fd, void *marker, uint32_t more)
{
	struct epoll_event event = {
	    .events = EPOLLIN | more, .data.ptr = marker};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno
								     : 0;
}

int
sender_open(struct sender *s, const struct plan *plan, const struct target *t,
    struct request_texts *texts)
{
	int err = -ENOMEM;

	memset(s, 0, sizeof(*s));
	s->plan = plan;
	s->texts = texts;
	s->buffer = malloc(RECEIVER_BUFFER_BYTES);
	if (s->buffer == NULL)
		return err;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->timer_fd =
	    timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	s->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->epoll_fd < 0 || s->timer_fd < 0 || s->stop_fd < 0) {
		err = -errno;
		goto fail;
	}
	/* The timer is edge-triggered and never read.  The stop event is
	 * level-triggered, so that it ends every later wait, too. */
	err = watch(s, s->timer_fd, &s->timer_fd, EPOLLET);
	if (err == 0)
		err = watch(s, s->stop_fd, &s->stop_fd, 0);
	if (err == 0)
		err = pool_open(&s->pool, s->epoll_fd, plan, t);
	if (err == 0)
		return 0;

fail:
	sender_close(s);
	return err;
}

void
sender_close(struct sender *s)
{
	pool_close(&s->pool);
	if (s->stop_fd > 0)
		close(s->stop_fd);
	if (s->timer_fd > 0)
		close(s->timer_fd);
	if (s->epoll_fd > 0)
		close(s->epoll_fd);
	free(s->buffer);
	memset(s, 0, sizeof(*s));
}

void
sender_stop(struct sender *s)
{
	const uint64_t one = 1;

	atomic_store(&s->stop, true);
	ssize_t n = write(s->stop_fd, &one, sizeof(one));
	(void)n; /* fails only if the sender has been woken already */
}

static bool
stopped(struct sender *s)
{
	return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

int
sender_prepare(struct sender *s)
{
	pool_sweep(&s->pool);
	pool_trim(&s->pool, s->plan->connections);
	return pool_fill(&s->pool, s->plan->connections, s->plan->timeout_ns);
}

void
sender_pause(struct sender *s, struct iteration *it, int64_t pause_ns)
{
	struct instant end = instant_plus(instant_now(), pause_ns);
	struct instant tick = instant_now();

	while (!stopped(s)) {
		tick = instant_plus(tick, NS_PER_MS);
		if (!instant_before(tick, end))
			return;
		struct timespec t = {.tv_sec = (time_t)(tick.ns / NS_PER_S),
		    .tv_nsec = (long)(tick.ns % NS_PER_S)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		struct instant now = instant_now();
		int64_t late_ns = instant_since(now, tick);
		if (late_ns > it->hiccups.pause_max_ns)
			it->hiccups.pause_max_ns = late_ns;
		/* A long stall counts once, not once per missed tick. */
		if (late_ns > NS_PER_MS)
			tick = now;
	}
}

/* True if the next request may be sent; out: when it was due. */
static bool
is_due(struct sender *s, struct instant now, struct instant *due)
{
	const struct iteration *it = s->it;

	if (s->next == it->warmup + it->requests)
		return false;
	if (s->plan->arrivals == ARRIVALS_CLOSED) {
		*due = now;
		return s->pool.busy.count < s->plan->closed_clients;
	}
	*due = instant_plus(it->begin, it->offset_ns[s->next]);
	return !instant_before(now, *due);
}

static void
count_sent(struct sender *s)
{
	struct iteration *it = s->it;

	if (s->pool.busy.count > it->max_in_flight)
		it->max_in_flight = s->pool.busy.count;
	if (s->next > it->warmup)
		atomic_store_explicit(&it->progress.sent, s->next - it->warmup,
		    memory_order_relaxed);
}

/* Send one request; false: no connection may be opened for it now. */
static bool
send_one(struct sender *s, struct instant due)
{
	struct iteration *it = s->it;
	struct request_sample *sample = &it->samples[s->next];
	struct load_connection *c = NULL;
	uint32_t opened = s->pool.opened;
	int err;

	sample->scheduled = due;
	sample->send_begin = instant_now();
	if (s->plan->arrivals == ARRIVALS_CLOSED)
		sample->scheduled = sample->send_begin;
	err = pool_take(&s->pool, &c);
	if (err == -EBUSY) {
		sample->waited = true;
		return false;
	}
	sample->outcome = OUTCOME_UNANSWERED;
	sample->new_connection = err < 0 || s->pool.opened != opened;
	s->worked = true;
	s->next++;
	if (err < 0) {
		sample->error = (uint16_t)-err;
		receiver_fail(s, NULL, s->next - 1, OUTCOME_CONNECT);
	} else {
		sample->connection = c->number;
		c->request = s->next - 1;
		response_init(&c->response, c->head, s->texts->is_head);
		receiver_write(s, c);
	}
	count_sent(s);
	return true;
}

static void
send_due(struct sender *s, struct instant now)
{
	struct instant due;

	while (is_due(s, now, &due)) {
		if (!send_one(s, due))
			return;
	}
}

/* Return when the oldest request in flight times out. */
static struct instant
oldest_deadline(const struct sender *s)
{
	const struct load_connection *c = TAILQ_FIRST(&s->pool.busy.queue);

	if (c == NULL)
		return (struct instant){UINT64_MAX};
	return instant_plus(
	    s->it->samples[c->request].send_begin, s->plan->timeout_ns);
}

static void
fail_late(struct sender *s, struct instant now)
{
	while (!instant_before(now, oldest_deadline(s))) {
		struct load_connection *c = TAILQ_FIRST(&s->pool.busy.queue);
		receiver_fail(s, c, c->request, OUTCOME_TIMEOUT);
	}
}

/* Return when the sender next has to send a request or fail one. */
static struct instant
wake_time(const struct sender *s)
{
	const struct iteration *it = s->it;
	struct instant wake = oldest_deadline(s);
	int64_t ahead_ns = s->plan->spin ? SENDER_SPIN_NS : 0;

	/* Nothing can be sent while all connections are busy. */
	bool full = s->pool.idle.count == 0 && s->pool.closed.count == 0;
	if (s->next == it->warmup + it->requests || full ||
	    s->plan->arrivals == ARRIVALS_CLOSED)
		return wake;
	struct instant due =
	    instant_plus(it->begin, it->offset_ns[s->next] - ahead_ns);
	return instant_before(due, wake) ? due : wake;
}

static void
arm_timer(struct sender *s, struct instant wake)
{
	struct itimerspec spec = {
	    .it_value = {.tv_sec = (time_t)(wake.ns / NS_PER_S),
		.tv_nsec = (long)(wake.ns % NS_PER_S)}};

	if (wake.ns == s->armed.ns || wake.ns == UINT64_MAX)
		return;
	s->armed = wake;
	int err = timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
	assert(err == 0);
	(void)err;
}

/* Sleep until wake_time() or an event, or only poll; then read responses. */
static void
wait_and_read(struct sender *s, struct instant now)
{
	struct epoll_event events[EVENTS];
	struct instant wake = wake_time(s);
	bool sleep = instant_before(now, wake);

	if (sleep) {
		arm_timer(s, wake);
		s->worked = true;
	}
	int n = epoll_wait(s->epoll_fd, events, EVENTS, sleep ? -1 : 0);
	for (int i = 0; i < n; i++) {
		void *what = events[i].data.ptr;
		if (what == &s->timer_fd || what == &s->stop_fd)
			continue;
		s->worked = true;
		receiver_event(s, what, events[i].events);
	}
}

/* Read the clock.  If nothing else was done since before, the difference is a
 * time without the CPU: record the longest. */
static struct instant
read_clock(struct sender *s, struct instant before)
{
	struct instant now = instant_now();
	int64_t away_ns = instant_since(now, before);

	if (!s->worked && away_ns > s->it->hiccups.spin_max_ns)
		s->it->hiccups.spin_max_ns = away_ns;
	s->worked = false;
	return now;
}

struct usage {
	int64_t cpu_ns;
	long switches;
};

static struct usage
usage_now(void)
{
	struct timespec cpu;
	struct rusage r;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	(void)getrusage(RUSAGE_THREAD, &r);
	return (struct usage){
	    (int64_t)cpu.tv_sec * NS_PER_S + cpu.tv_nsec, r.ru_nivcsw};
}

/* Discard the kernel's stamps if the wall clock was set meanwhile. */
static void
check_clock(struct sender *s)
{
	struct iteration *it = s->it;
	int64_t moved_ns = stamps_clock_offset_ns() - s->clock_offset_ns;

	it->clock_stepped = moved_ns > STEP_NS || moved_ns < -STEP_NS;
	for (size_t i = 0; it->clock_stepped && i < it->warmup + it->requests;
	     i++) {
		it->samples[i].kernel_sent = INSTANT_NONE;
		it->samples[i].kernel_acked = INSTANT_NONE;
		it->samples[i].kernel_first = INSTANT_NONE;
		it->samples[i].kernel_read = INSTANT_NONE;
	}
}

static void
finish(struct sender *s, struct usage before)
{
	struct iteration *it = s->it;
	struct usage after = usage_now();

	it->wall_ns = instant_since(instant_now(), it->begin);
	it->cpu_ns = after.cpu_ns - before.cpu_ns;
	it->involuntary_switches = after.switches - before.switches;
	it->opened = s->pool.opened;
	check_clock(s);
	it->interrupted = s->finished < it->warmup + it->requests;
	while (TAILQ_FIRST(&s->pool.busy.queue) != NULL) {
		struct load_connection *c = TAILQ_FIRST(&s->pool.busy.queue);
		it->samples[c->request].last = instant_now();
		connection_close(&s->pool, c);
	}
}

void
sender_run(struct sender *s, struct iteration *it)
{
	size_t total = it->warmup + it->requests;
	struct usage before = usage_now();
	struct instant now;

	s->it = it;
	s->next = 0;
	s->finished = 0;
	s->worked = true;
	s->clock_offset_ns = stamps_clock_offset_ns();
	pool_count_from_zero(&s->pool);
	it->begin = instant_now();
	if (s->plan->arrivals != ARRIVALS_CLOSED)
		it->begin = instant_plus(it->begin, LEAD_NS);
	it->origin = it->begin;
	if (it->warmup > 0)
		it->origin =
		    instant_plus(it->begin, it->offset_ns[it->warmup - 1]);
	now = instant_now();
	while (s->finished < total && !stopped(s)) {
		now = read_clock(s, now);
		/* First, as a closed loop then sends replacements. */
		fail_late(s, now);
		send_due(s, now);
		/* If the last request has just failed, no event would come. */
		if (s->finished < total)
			wait_and_read(s, now);
	}
	finish(s, before);
}
