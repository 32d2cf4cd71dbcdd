/* agent_link.c: the agent's own thread, which connects to Tailor and reconnects
 * when Tailor restarts.
 *
 * Closing a channel that callbacks may use: they increment agent.inside, then
 * load agent.link; this thread clears agent.link, then waits for agent.inside
 * to be 0.  All four are sequentially consistent, so either the callback sees
 * NULL or this thread sees the callback.  A callback takes less than a
 * microsecond and never waits for us. */
#include "profiler/jvm/agent.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#define SLOT_LOG2 10 /* a thousand events: minutes of collections */
#define RETRY_MS 500
/* How often counters are copied to the channel.  The count of classes is also
 * stored as each is prepared; those prepared before the channel was open are
 * stored only this way. */
#define WORDS_MS 50
#define RING_TRIES 1000 /* some 20 us */

static struct {
	pthread_t thread;
	bool running;
	uint32_t stop; /* atomic */
	int wake;      /* owned eventfd */
	char *path;    /* owned, or NULL */
	char *next;    /* atomic; owned; new path, "": default; NULL: none */
	uint64_t started_ns;
	struct talechain tc;
	char order[64]; /* incomplete line */
	size_t order_bytes;
} link_state = {.wake = -1};

/* --- writing to the channel, on any thread -------------------------------- */

struct talechain *
agent_enter(void)
{
	__atomic_fetch_add(&agent.inside, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&agent.link, __ATOMIC_SEQ_CST);
}

void
agent_leave(void)
{
	__atomic_fetch_sub(&agent.inside, 1, __ATOMIC_RELEASE);
}

void
agent_state_show(struct talechain *tc)
{
	uint64_t state = __atomic_load_n(&agent.state, __ATOMIC_SEQ_CST);
	uint64_t shown = __atomic_load_n(&tc->channel->state, __ATOMIC_RELAXED);

	talechain_word_set(tc, TALECHAIN_WORD_CAUSE,
	    __atomic_load_n(&agent.cause, __ATOMIC_RELAXED));
	talechain_word_set(tc, TALECHAIN_WORD_SINCE,
	    __atomic_load_n(&agent.since_ns, __ATOMIC_RELAXED));
	/* Never go back: another thread may have stored a newer one. */
	while (shown < state &&
	       !__atomic_compare_exchange_n(&tc->channel->state, &shown, state,
		   false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
}

void
agent_state_set(enum talechain_jvm_state state, uint64_t now_ns, uint64_t cause)
{
	uint64_t old = __atomic_load_n(&agent.state, __ATOMIC_RELAXED), new;

	__atomic_store_n(&agent.since_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.cause, cause, __ATOMIC_RELAXED);
	do {
		if ((old & 0xff) == TALECHAIN_JVM_DEAD)
			return;
		new = ((old >> 8) + 1) << 8 | (uint64_t)state;
	} while (!__atomic_compare_exchange_n(&agent.state, &old, new, false,
	    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* Take the ring for writing.  False: another thread has it for too long. */
static bool
ring_take(void)
{
	for (unsigned i = 0; i < RING_TRIES; i++)
		if (__atomic_exchange_n(
			&agent.ring_busy, 1, __ATOMIC_ACQUIRE) == 0)
			return true;
	return false;
}

void
agent_emit(struct talechain *tc, uint32_t tid, uint64_t now_ns,
    enum talechain_type type, const uint64_t arg[4])
{
	if (!ring_take()) {
		__atomic_fetch_add(&tc->channel->dropped, 1, __ATOMIC_RELAXED);
		return;
	}
	tc->tid = tid;
	talechain_emit_at(tc, now_ns, type, arg[0], arg[1], arg[2], arg[3]);
	__atomic_store_n(&agent.ring_busy, 0, __ATOMIC_RELEASE);
}

/* --- the thread ----------------------------------------------------------- */

static bool
link_open(void)
{
	struct talechain *tc = &link_state.tc;
	char name[TALECHAIN_NAME_BYTES];

	snprintf(name, sizeof(name), "jvm-%d", (int)getpid());
	if (talechain_open_kind(
		tc, link_state.path, TALECHAIN_KIND_JVM, name, SLOT_LOG2) < 0)
		return false;
	/* Not published yet: this thread may write the ring. */
	if (link_state.started_ns != 0)
		talechain_emit_at(
		    tc, link_state.started_ns, TALECHAIN_JVM_START, 0, 0, 0, 0);
	link_state.started_ns = 0;
	link_state.order_bytes = 0;
	agent_names_again();
	__atomic_store_n(&agent.link, tc, __ATOMIC_SEQ_CST);
	/* Show a collection that began before the channel was published. */
	agent_state_show(tc);
	return true;
}

static void
link_close(void)
{
	struct timespec wait = {0, 100000};

	__atomic_store_n(&agent.link, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&agent.inside, __ATOMIC_SEQ_CST) != 0)
		nanosleep(&wait, NULL);
	talechain_close(&link_state.tc);
}

/* Carry out the orders that Tailor has written: lines "COLLECT BYTES", "FULL"
 * and "STOP".  Others are of a later Tailor, and ignored.  False: Tailor is
 * gone. */
static bool
link_read_orders(void)
{
	char *const text = link_state.order, *end;
	size_t length = link_state.order_bytes;
	unsigned long long bytes;
	ssize_t n;

	n = recv(link_state.tc.socket, text + length,
	    sizeof(link_state.order) - length, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	length += (size_t)n;
	while ((end = memchr(text, '\n', length)) != NULL) {
		*end++ = '\0';
		if (sscanf(text, "COLLECT %llu", &bytes) == 1)
			agent_collect((uint64_t)bytes);
		else if (strcmp(text, "FULL") == 0)
			agent_collect(AGENT_COLLECT_FULL);
		else if (strcmp(text, "STOP") == 0)
			agent_collect(0);
		length -= (size_t)(end - text);
		memmove(text, end, length);
	}
	if (length == sizeof(link_state.order))
		length = 0;
	link_state.order_bytes = length;
	return true;
}

/* Take over a path that agent_link_move left.  True if it is another one. */
static bool
link_moved(void)
{
	char *next =
	    __atomic_exchange_n(&link_state.next, NULL, __ATOMIC_ACQ_REL);
	const char *path = link_state.path != NULL ? link_state.path : "";
	bool moved = next != NULL && strcmp(next, path) != 0;

	if (moved) {
		free(link_state.path);
		link_state.path = *next != '\0' ? next : NULL;
	}
	if (!moved || link_state.path == NULL)
		free(next);
	return moved;
}

static void
link_copy_words(uint64_t *classes, uint64_t *compiled)
{
	uint64_t c = __atomic_load_n(&agent.classes, __ATOMIC_RELAXED);
	uint64_t m = __atomic_load_n(&agent.compiled, __ATOMIC_RELAXED);

	if (c != *classes)
		talechain_word_set(&link_state.tc, TALECHAIN_WORD_CLASSES, c);
	if (m != *compiled)
		talechain_word_set(&link_state.tc, TALECHAIN_WORD_COMPILED, m);
	talechain_word_set(&link_state.tc, TALECHAIN_WORD_ORDERS,
	    __atomic_load_n(&agent.orders, __ATOMIC_RELAXED));
	*classes = c;
	*compiled = m;
}

static void *
link_run(void *arg)
{
	struct pollfd p[2] = {{.fd = link_state.wake, .events = POLLIN},
	    {.fd = -1, .events = POLLIN}};
	uint64_t classes = 0, compiled = 0, woken;
	unsigned tick = 0;
	bool open = false, moved;

	(void)arg;
	while (__atomic_load_n(&link_state.stop, __ATOMIC_ACQUIRE) == 0) {
		if (!open) {
			open = link_open();
			classes = compiled = 0;
		}
		p[1].fd = open ? link_state.tc.socket : -1;
		p[1].revents = 0;
		if (poll(p, 2, open ? WORDS_MS : RETRY_MS) < 0)
			continue;
		if (open) {
			link_copy_words(&classes, &compiled);
			agent_names_emit(&link_state.tc, tick++);
		}
		moved = read(link_state.wake, &woken, sizeof(woken)) > 0 &&
			link_moved();
		if (open &&
		    (moved || (p[1].revents != 0 && !link_read_orders()))) {
			agent_collect(0);
			link_close();
			open = false;
			if (!moved)
				poll(p, 1, RETRY_MS);
		}
	}
	if (open)
		link_close();
	return NULL;
}

int
agent_link_start(const char *path, uint64_t started_ns)
{
	sigset_t all, old;
	int err;

	link_state.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (link_state.wake < 0)
		return -errno;
	link_state.path = path != NULL ? strdup(path) : NULL;
	link_state.started_ns = started_ns;
	/* The JVM's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&link_state.thread, NULL, link_run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	link_state.running = err == 0;
	return -err;
}

void
agent_link_move(const char *path)
{
	char *next;

	if (!link_state.running)
		return;
	next = strdup(path != NULL ? path : "");
	free(__atomic_exchange_n(&link_state.next, next, __ATOMIC_ACQ_REL));
	eventfd_write(link_state.wake, 1);
}

void
agent_link_stop(void)
{
	if (!link_state.running)
		return;
	__atomic_store_n(&link_state.stop, 1, __ATOMIC_RELEASE);
	eventfd_write(link_state.wake, 1);
	pthread_join(link_state.thread, NULL);
	link_state.running = false;
	close(link_state.wake);
	free(link_state.path);
	free(link_state.next);
	link_state.path = link_state.next = NULL;
}
