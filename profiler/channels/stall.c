#include "profiler/channels/stall.h"

#define PERIOD_MAX_NS NS_PER_S /* the kernel's limit */

/* Post that a stall began, or ended (STALL_NONE), at this time.  until: when a
 * quota is renewed; unused for other kinds. */
static void
stall_post(struct hazard_state *w, enum stall kind, struct instant at,
    struct instant until)
{
	struct hazard_change change = {.at = at, .seen = instant_now()};

	if (kind == STALL_QUOTA && instant_before(at, until))
		change.quota_left_us =
		    (uint32_t)(instant_since(until, at) / NS_PER_US);
	w->stall = kind;
	hazard_state_update(w, &change);
}

/* True if the thread that got a CPU during the stall leaves it again within
 * STALL_LEAST_NS, for lack of quota or preempted: it only ended a system call,
 * or will. */
static bool
is_visit(const struct stalls *s, int server, enum talechain_off off,
    struct instant at)
{
	struct instant entered = s->server[server].entered;

	return instant_is_set(entered) &&
	       instant_since(at, entered) < STALL_LEAST_NS &&
	       (off == TALECHAIN_OFF_THROTTLED ||
		   off == TALECHAIN_OFF_PREEMPTED);
}

static void
stall_leaves(struct stalls *s, int server, enum talechain_off off, uint32_t pid,
    struct instant at)
{
	if (is_visit(s, server, off, at)) {
		s->server[server].entered = INSTANT_NONE;
		return;
	}
	if (off != TALECHAIN_OFF_THROTTLED && off != TALECHAIN_OFF_STOPPED)
		return;
	s->server[server].entered = INSTANT_NONE;
	s->server[server].kind =
	    off == TALECHAIN_OFF_STOPPED ? STALL_STOPPED : STALL_QUOTA;
	s->server[server].since = at;
	s->server[server].pid = pid;
	s->server[server].doubted = false;
}

/* End a server's stall: a thread of it has run since this time. */
static void
stall_over(struct stalls *s, unsigned server, struct instant at)
{
	s->server[server].kind = STALL_NONE;
	s->server[server].entered = INSTANT_NONE;
	if (s->hazards[server].stall != STALL_NONE)
		stall_post(&s->hazards[server], STALL_NONE, at, INSTANT_NONE);
}

/* A thread of the server gets a CPU, which ends the stall.  Not if one process
 * was stopped and another, which it forked, runs.  Not at once if the quota is
 * used up: a thread woken within a system call still finishes the call. */
static void
stall_enters(struct stalls *s, int server, uint32_t pid, struct instant at)
{
	if (s->server[server].kind == STALL_STOPPED &&
	    s->server[server].pid != pid)
		return;
	/* Events of another CPU may be read late: this one is older than the
	 * stall. */
	if (s->server[server].kind == STALL_NONE ||
	    instant_before(at, s->server[server].since))
		return;
	if (s->server[server].kind == STALL_STOPPED ||
	    !instant_before(at, s->server[server].until)) {
		stall_over(s, (unsigned)server, at);
	} else if (!instant_is_set(s->server[server].entered)) {
		s->server[server].entered = at;
		s->server[server].noticed = instant_now();
	}
}

void
stalls_forget(struct stalls *s, unsigned server)
{
	s->server[server].kind = STALL_NONE;
	s->server[server].entered = INSTANT_NONE;
}

/* Store when the quota of a thread is renewed; the event that the thread leaves
 * its CPU follows. */
static void
stall_quota(struct stalls *s, int server, const struct talechain_event *e)
{
	if (e->arg[0] > e->ts && e->arg[0] - e->ts <= PERIOD_MAX_NS)
		s->server[server].until = (struct instant){e->arg[0]};
}

void
stalls_event(struct stalls *s, const struct talechain_event *e)
{
	uint32_t next = (uint32_t)(e->arg[0] >> 32);
	struct instant at = {e->ts};
	int left, entered;

	if ((e->type != TALECHAIN_SCHEDULE && e->type != TALECHAIN_QUOTA) ||
	    e->cpu >= KERNEL_CPUS)
		return;
	left = kernel_owner_of(s->owners, e->pid);
	if (e->type == TALECHAIN_QUOTA) {
		if (left >= 0)
			stall_quota(s, left, e);
		return;
	}
	entered = kernel_owner_of(s->owners, next);
	s->runs[e->cpu] = (uint8_t)(entered + 1);
	if (left >= 0)
		stall_leaves(s, left,
		    (enum talechain_off)(e->arg[3] >> TALECHAIN_OFF_SHIFT),
		    e->pid, at);
	if (entered >= 0)
		stall_enters(s, entered, next, at);
}

void
stalls_lost(struct stalls *s)
{
	memset(s->runs, 0, sizeof(s->runs));
	for (unsigned i = 0; i < PROFILER_SERVERS; i++) {
		if (s->hazards[i].stall == STALL_NONE)
			s->server[i].kind = STALL_NONE;
		s->server[i].doubted = s->server[i].kind != STALL_NONE;
		if (s->server[i].kind != STALL_STOPPED)
			continue;
		/* Release: with it goes what the events showed. */
		__atomic_store_n(
		    &s->check[i], s->server[i].pid, __ATOMIC_RELEASE);
		s->checks = true;
	}
}

bool
stalls_want_check(struct stalls *s)
{
	bool checks = s->checks;

	s->checks = false;
	return checks;
}

void
stalls_checked(
    struct stalls *s, unsigned server, uint32_t pid, struct instant at)
{
	if (s->server[server].kind == STALL_STOPPED &&
	    s->server[server].doubted && s->server[server].pid == pid &&
	    !instant_before(at, s->server[server].since))
		stall_over(s, server, at);
}

/* True if a quota was renewed, and what followed may not have been seen. */
static bool
is_renewed(const struct stalls *s, unsigned server, struct instant now)
{
	return s->server[server].kind == STALL_QUOTA &&
	       s->server[server].doubted &&
	       !instant_before(now, s->server[server].until);
}

static bool
runs_somewhere(const struct stalls *s, unsigned server)
{
	return memchr(s->runs, (int)server + 1, sizeof(s->runs)) != NULL;
}

/* True if a stall stops the whole server: a quota stops all processes of its
 * cgroup, a signal only one, and others may serve. */
static bool
stops_all(const struct stalls *s, unsigned server)
{
	return s->server[server].kind != STALL_STOPPED ||
	       kernel_is_alone(s->owners, server);
}

void
stalls_sweep(struct stalls *s, struct instant now)
{
	if (s->owners == NULL)
		return;
	for (unsigned i = 0; i < PROFILER_SERVERS; i++) {
		if (instant_is_set(s->server[i].entered) &&
		    instant_since(now, s->server[i].noticed) >= STALL_LEAST_NS)
			stall_over(s, i, s->server[i].entered);
		if (is_renewed(s, i, now))
			stall_over(s, i, s->server[i].until);
		if (s->server[i].kind == s->hazards[i].stall ||
		    instant_since(now, s->server[i].since) < STALL_LEAST_NS ||
		    runs_somewhere(s, i) || !stops_all(s, i))
			continue;
		stall_post(&s->hazards[i], s->server[i].kind,
		    s->server[i].since, s->server[i].until);
	}
}

bool
stalls_pending(const struct stalls *s)
{
	for (unsigned i = 0; s->owners != NULL && i < PROFILER_SERVERS; i++)
		if (s->server[i].kind != s->hazards[i].stall ||
		    instant_is_set(s->server[i].entered))
			return true;
	return false;
}
