/* observer_rest.c: resting, waking, lending.
 *
 * Why no wake-up is lost: the observer stores state, then loads wakes; a waker
 * adds to wakes, then loads state; all four are sequentially consistent.
 * Either the observer sees the addition and does not wait, or the waker sees
 * that it rests.  An addition between that load and the wait is seen by the
 * kernel, which compares wakes again.  seen is loaded before the sweep, so an
 * addition during the sweep ends the next rest.
 *
 * A first request that ends no rest is not late either: the observer stores
 * soon_ns, then loads idle; the proxy thread stores idle, then loads soon_ns.
 * Either the observer sees the request and does not rest long, or the proxy
 * thread sees how long it rests.  So it loads idle if it is not calm, too: the
 * proxy thread may have seen the soon_ns of a calm rest before. */
#include "profiler/observer_rest.h"

#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/output.h"

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
		syscall(
		    SYS_futex, &r->wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Wait until wakes has moved.  False if the time has passed first. */
static bool
rest_wait(struct observer_rest *r, int64_t wait_ns)
{
	struct timespec t = {
	    .tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S};

	if (__atomic_load_n(&r->wakes, __ATOMIC_SEQ_CST) == r->seen)
		syscall(SYS_futex, &r->wakes, FUTEX_WAIT_PRIVATE, r->seen, &t,
		    NULL, 0);
	return __atomic_load_n(&r->wakes, __ATOMIC_SEQ_CST) != r->seen;
}

/* After a rest, or after its loan. */
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

/* How long the next rest is. */
static void
rest_plan(struct observer_rest *r, int64_t longest_ns, bool calm)
{
	struct instant now = instant_now();
	uint64_t soon_ns = UINT64_MAX;

	r->wait_ns = r->wait_ns == 0 ? OBSERVER_REST_FIRST_NS : 2 * r->wait_ns;
	if (r->wait_ns > longest_ns)
		r->wait_ns = longest_ns;
	if (calm)
		soon_ns = now.ns + (uint64_t)(r->wait_ns - OBSERVER_CALM_NS);
	__atomic_store_n(&r->soon_ns, soon_ns, __ATOMIC_SEQ_CST);
	if (r->wait_ns > OBSERVER_CALM_NS &&
	    __atomic_load_n(&r->idle, __ATOMIC_SEQ_CST) == 0)
		r->wait_ns = OBSERVER_CALM_NS;
	r->until = instant_plus(now, r->wait_ns);
}

void
observer_rest(struct observer_rest *r, int64_t longest_ns, bool calm)
{
	bool woken;

	rest_plan(r, longest_ns, calm);
	__atomic_store_n(&r->state, OBSERVER_RESTS, __ATOMIC_SEQ_CST);
	woken = rest_wait(r, r->wait_ns);
	rest_take_back(r);
	if (woken)
		r->wait_ns = 0;
	counter_add(&r->woken, woken);
	r->seen = __atomic_load_n(&r->wakes, __ATOMIC_SEQ_CST);
	counter_add(&r->rests, 1);
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
