/* observer_rest.c: resting, waking, lending.
 *
 * Why no wake-up is lost: the observer stores state, then loads wakes; a waker
 * adds to wakes, then loads state; all four are sequentially consistent.
 * Either the observer sees the addition and does not wait, or the waker sees
 * that it rests and makes the eventfd readable, which ends a wait that begins
 * later, too.  seen is loaded before the sweep, so an addition during the sweep
 * ends the next rest.  If the eventfd is still readable for a wake-up that was
 * seen already, one rest more than necessary ends.
 *
 * A first request that ends no rest is not late either: the observer stores
 * soon_ns, then loads idle; the proxy thread stores idle, then loads soon_ns.
 * Either the observer sees the request and does not rest long, or the proxy
 * thread sees how long the observer rests.  An observer that is not calm loads
 * idle, too: the proxy thread may have seen soon_ns of an earlier, calm
 * rest. */
#include "profiler/observer/observer_rest.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "profiler/channels/output.h"

/* Descriptors that end a rest: the eventfd, the sources, stall. */
#define ENDS (1 + PROFILER_SERVERS + 1)

int
observer_rest_init(struct observer_rest *r)
{
	*r = (struct observer_rest){
	    .stall = -1, .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	for (unsigned i = 0; i < COUNT(r->source); i++)
		r->source[i] = -1;
	return r->event < 0 ? -errno : 0;
}

void
observer_rest_fini(struct observer_rest *r)
{
	close(r->event);
	r->event = -1;
}

void
observer_rest_set(struct observer_rest *r, bool in_flight, struct instant now)
{
	if (in_flight)
		__atomic_store_n(&r->busy_ns, now.ns, __ATOMIC_RELAXED);
	__atomic_store_n(&r->idle, !in_flight, __ATOMIC_SEQ_CST);
	if (in_flight &&
	    now.ns < __atomic_load_n(&r->soon_ns, __ATOMIC_SEQ_CST))
		observer_rest_wake(r);
}

void
observer_rest_wake(struct observer_rest *r)
{
	__atomic_fetch_add(&r->wakes, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&r->state, __ATOMIC_SEQ_CST) != OBSERVER_SWEEPS)
		eventfd_write(r->event, 1);
}

/* True if only a wake-up ends the rest that is planned: while no request is in
 * flight, none waits for what a source has. */
static bool
is_deep(const struct observer_rest *r)
{
	return r->wait_ns > OBSERVER_REST_NS;
}

/* Set the descriptors that end a rest.  This reads the observer's structures,
 * so it comes before they may be borrowed. */
static void
rest_ends(const struct observer_rest *r, bool calm, struct pollfd end[ENDS])
{
	end[0] = (struct pollfd){.fd = r->event, .events = POLLIN};
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		end[1 + i] = (struct pollfd){
		    .fd = calm ? r->source[i] : -1, .events = POLLIN};
	end[ENDS - 1] =
	    (struct pollfd){.fd = calm ? r->stall : -1, .events = POLLIN};
}

/* Wait until wakes has moved or a source is readable.  False: the time passed
 * before. */
static bool
rest_wait(struct observer_rest *r, int64_t wait_ns, struct pollfd end[ENDS])
{
	struct timespec t = {
	    .tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S};
	eventfd_t wakes;

	if (__atomic_load_n(&r->wakes, __ATOMIC_SEQ_CST) == r->seen &&
	    ppoll(end, ENDS, &t, NULL) > 0 && end[0].revents != 0)
		eventfd_read(r->event, &wakes);
	r->stirred = false;
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		r->stirred |= end[1 + i].revents != 0;
	return r->stirred || end[ENDS - 1].revents != 0 ||
	       __atomic_load_n(&r->wakes, __ATOMIC_SEQ_CST) != r->seen;
}

/* Take the structures back after a rest; wait while they are lent. */
static void
rest_take_back(struct observer_rest *r)
{
	uint32_t rests = OBSERVER_RESTS;

	while (!__atomic_compare_exchange_n(&r->state, &rests, OBSERVER_SWEEPS,
	    false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		rests = OBSERVER_RESTS;
		sched_yield();
	}
}

/* Forget what the sources announced during a deep rest: the sweep that follows
 * reads it.  Otherwise the next rest would end at once. */
static void
sources_clear(const struct observer_rest *r)
{
	struct timespec none = {0};
	struct pollfd end[ENDS];

	rest_ends(r, true, end);
	ppoll(end + 1, ENDS - 1, &none, NULL);
}

/* Set how long the next rest is. */
static void
rest_plan(struct observer_rest *r, int64_t longest_ns, int64_t calm_ns)
{
	int64_t busy_ns = calm_ns > 0 ? calm_ns : OBSERVER_CALM_NS;
	struct instant now = instant_now();
	uint64_t soon_ns = UINT64_MAX;
	bool requested =
	    instant_is_set(r->from) &&
	    __atomic_load_n(&r->busy_ns, __ATOMIC_RELAXED) >= r->from.ns;

	r->wait_ns = r->wait_ns == 0 ? OBSERVER_REST_FIRST_NS : 2 * r->wait_ns;
	if (calm_ns > 0 && requested)
		r->wait_ns = calm_ns;
	if (r->wait_ns > longest_ns)
		r->wait_ns = longest_ns;
	r->from = now;
	if (calm_ns > 0 && !is_deep(r))
		soon_ns = now.ns + (uint64_t)(r->wait_ns - calm_ns);
	__atomic_store_n(&r->soon_ns, soon_ns, __ATOMIC_SEQ_CST);
	if (r->wait_ns > busy_ns &&
	    __atomic_load_n(&r->idle, __ATOMIC_SEQ_CST) == 0)
		r->wait_ns = busy_ns;
	r->until = instant_plus(now, r->wait_ns);
}

bool
observer_rest(struct observer_rest *r, int64_t longest_ns, int64_t calm_ns)
{
	struct pollfd end[ENDS];
	bool woken, deep;

	rest_plan(r, longest_ns, calm_ns);
	deep = is_deep(r);
	rest_ends(r, calm_ns > 0 && !deep, end);
	__atomic_store_n(&r->deep, deep, __ATOMIC_RELAXED);
	__atomic_store_n(&r->state, OBSERVER_RESTS, __ATOMIC_SEQ_CST);
	woken = rest_wait(r, r->wait_ns, end);
	rest_take_back(r);
	__atomic_store_n(&r->deep, 0, __ATOMIC_RELAXED);
	if (deep)
		sources_clear(r);
	if (woken)
		r->wait_ns = 0;
	count_add(&r->woken, woken);
	r->seen = __atomic_load_n(&r->wakes, __ATOMIC_SEQ_CST);
	count_add(&r->rests, 1);
	return deep && woken;
}

bool
observer_rest_borrow(struct observer_rest *r)
{
	uint32_t rests = OBSERVER_RESTS;

	return __atomic_compare_exchange_n(&r->state, &rests, OBSERVER_LENT,
	    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void
observer_rest_return(struct observer_rest *r)
{
	__atomic_store_n(&r->state, OBSERVER_RESTS, __ATOMIC_SEQ_CST);
}
