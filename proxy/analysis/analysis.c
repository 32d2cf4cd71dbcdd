/* analysis.c: the analysis thread and its rings; worker.c has its work. */
#include "proxy/analysis/analysis.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/background.h"
#include "base/log.h"
#include "proxy/analysis/budget.h"
#include "proxy/analysis/worker.h"

#define LAST_NS NS_PER_S /* for questions that still wait at the end */
#define QUESTIONS 256	 /* places in each ring; a power of two */
#define MISSED_PLACES 32 /* of these, for requests without a place */
#define ANSWERS 64
#define LOW_NICE 10 /* less important than requests */
/* The longest time between two ticks of the work; while a disk fails. */
#define TICK_REST_NS (10 * NS_PER_S)
#define TICK_AGAIN_NS NS_PER_S
#define MINUTE_NS (60 * NS_PER_S)

/* Ring from proxy to analysis: the proxy writes asked, the analysis thread
 * read. */
struct questions {
	struct analysis_question question[QUESTIONS];
	_Atomic uint64_t asked, read;
};

struct analysis {
	struct tale_work work; /* analysis thread; its counters: any */
	pthread_t thread;
	bool started;
	atomic_bool stop;

	/* Questions of clients do not wait for tales that no client asked
	 * for. */
	struct questions asked, keeps;
	int asked_fd, keeps_fd; /* owned; readable: check the ring */

	/* analysis thread */
	struct analysis_budget budget;
	int64_t keep_cpu_ns;  /* CPU time of the present KEEP so far */
	struct instant until; /* set: a client waits for KEEPs until then */
	int nice;	      /* nice value of the process */
	bool may_raise;	      /* a lowered priority can be raised again */
	pid_t tid;

	/* any thread */
	atomic_bool low; /* the thread's priority */
	_Atomic double cpu;
	_Atomic uint64_t rest_ns; /* a server pauses: rest until then */

	/* ring from analysis to proxy */
	struct analysis_answer answer[ANSWERS];
	_Atomic uint64_t answered, taken;
	int answer_fd; /* owned */
};

/* --- the thread's priority ------------------------------------------------ */

/* True if a lowered priority can be raised again.  Otherwise it is never
 * lowered, as a client might wait for a thread that gets no CPU.  Raises the
 * limit now, as Tailor may give up its rights later. */
static bool
priority_may_rise(int nice)
{
	struct rlimit l;
	rlim_t needed = (rlim_t)(20 - nice);

	if (nice >= LOW_NICE || getrlimit(RLIMIT_NICE, &l) < 0)
		return false;
	if (l.rlim_cur >= needed)
		return true;
	l.rlim_cur = needed;
	if (l.rlim_max < needed)
		l.rlim_max = needed;
	return setrlimit(RLIMIT_NICE, &l) == 0;
}

/* Raise the thread's priority.  Any thread. */
static void
priority_raise(struct analysis *a)
{
	if (atomic_exchange(&a->low, false))
		setpriority(PRIO_PROCESS, (id_t)a->tid, a->nice);
}

/* Lower the thread's priority.  A question may come before low is set: the
 * caller checks the ring afterwards. */
static void
priority_lower(struct analysis *a)
{
	if (!a->may_raise || atomic_load(&a->low))
		return;
	setpriority(PRIO_PROCESS, (id_t)a->tid, LOW_NICE);
	atomic_store(&a->low, true);
}

/* --- rings ---------------------------------------------------------------- */

bool
analysis_ask(struct analysis *a, const struct analysis_question *q)
{
	bool keep = q->kind == ANALYSIS_KEEP || q->kind == ANALYSIS_MISSED;
	uint64_t places = QUESTIONS;
	struct questions *to = keep ? &a->keeps : &a->asked;
	uint64_t head = atomic_load_explicit(&to->asked, memory_order_relaxed);
	struct analysis_question *place = &to->question[head % QUESTIONS];

	if (q->kind == ANALYSIS_KEEP)
		places -= MISSED_PLACES;
	if (head - atomic_load_explicit(&to->read, memory_order_acquire) >=
	    places)
		return false;
	*place = *q;
	place->put = instant_now();
	place->keeps =
	    atomic_load_explicit(&a->keeps.asked, memory_order_relaxed);
	/* Order: write the question, count it, then check the priority. */
	atomic_store(&to->asked, head + 1);
	if (!keep)
		priority_raise(a);
	eventfd_write(keep ? a->keeps_fd : a->asked_fd, 1);
	return true;
}

void
analysis_rest(struct analysis *a, struct instant until)
{
	atomic_store_explicit(&a->rest_ns, until.ns, memory_order_relaxed);
}

void
analysis_budget(struct analysis *a, double cpu)
{
	atomic_store(&a->cpu, cpu);
}

const char *
analysis_count(struct analysis *a, const struct latency_key *key,
    int64_t total_ns, int64_t *tail_ns)
{
	return latencies_count(&a->work.latencies, key, total_ns, tail_ns);
}

void
analysis_classes(struct analysis *a)
{
	latencies_forget(&a->work.latencies);
}

int
analysis_fd(const struct analysis *a)
{
	return a->answer_fd;
}

bool
analysis_take(struct analysis *a, struct analysis_answer *out)
{
	uint64_t tail = atomic_load_explicit(&a->taken, memory_order_relaxed);
	uint64_t junk;

	if (atomic_load_explicit(&a->answered, memory_order_acquire) == tail) {
		/* Empty the eventfd, then check again, so that no answer is
		 * missed. */
		if (read(a->answer_fd, &junk, sizeof(junk)) < 0 &&
		    errno != EAGAIN)
			return false;
		if (atomic_load_explicit(&a->answered, memory_order_acquire) ==
		    tail)
			return false;
	}
	*out = a->answer[tail % ANSWERS];
	atomic_store_explicit(&a->taken, tail + 1, memory_order_release);
	return true;
}

static void
analysis_reply(struct analysis *a, const struct analysis_answer *answer)
{
	uint64_t head =
	    atomic_load_explicit(&a->answered, memory_order_relaxed);

	/* Wait for a place: the proxy takes answers in every turn. */
	while (head - atomic_load_explicit(&a->taken, memory_order_acquire) ==
	       ANSWERS) {
		if (atomic_load(&a->stop)) {
			free(answer->text);
			return;
		}
		nanosleep(&(struct timespec){0, NS_PER_MS}, NULL);
	}
	a->answer[head % ANSWERS] = *answer;
	atomic_store_explicit(&a->answered, head + 1, memory_order_release);
	eventfd_write(a->answer_fd, 1);
}

/* The next question, or NULL. */
static struct analysis_question *
question_next(struct questions *of)
{
	uint64_t tail = atomic_load_explicit(&of->read, memory_order_relaxed);

	if (atomic_load_explicit(&of->asked, memory_order_acquire) == tail)
		return NULL;
	return &of->question[tail % QUESTIONS];
}

static void
question_done(struct questions *of, struct analysis_question *q)
{
	if (q->report != NULL)
		q->report->free(q->report);
	q->report = NULL;
	free(q->name);
	q->name = NULL;
	atomic_fetch_add_explicit(&of->read, 1, memory_order_release);
}

static void
fd_drain(int fd)
{
	uint64_t junk;

	if (read(fd, &junk, sizeof(junk)) < 0 && errno != EAGAIN)
		log_event(LOG_LEVEL_ERROR, "analysis", "error=\"%m\"");
}

/* --- tales that no client asked for --------------------------------------- */

static int64_t
thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* True if the budget allows a KEEP question, which is decided once for each. */
static bool
keep_is_taken(struct analysis *a, struct analysis_question *q)
{
	static const enum budget_kind kind[ACCOUNT_STRATA] = {
	    [ACCOUNT_OTHER] = BUDGET_OTHER,
	    [ACCOUNT_TAIL] = BUDGET_TAIL,
	    [ACCOUNT_SLOW] = BUDGET_SLOW,
	    [ACCOUNT_SLOWEST] = BUDGET_SLOW};
	bool slow = q->reason == TALE_REASON_TARGET;

	if (q->taken)
		return true;
	budget_set(&a->budget, atomic_load(&a->cpu));
	q->taken = (slow && budget_give(&a->budget)) ||
		   budget_take(&a->budget, kind[q->stratum], q->request.id,
		       q->stratum == ACCOUNT_SLOWEST, instant_now());
	if (!q->taken && slow)
		missed_add(&a->work.missed, &q->request, MISSED_BUDGET);
	if (!q->taken && q->account)
		atomic_fetch_add(&a->work.stats.accounts_left_out, 1);
	return q->taken;
}

/* Wait until a moment.  False: a client's question has come. */
static bool
wait_until(struct analysis *a, struct instant due)
{
	struct pollfd p = {.fd = a->asked_fd, .events = POLLIN};
	/* While a client waits already, further questions wait their turn. */
	nfds_t fds = instant_is_set(a->until) ? 0 : 1;
	int64_t left_ns;
	struct timespec t;

	while ((left_ns = instant_since(due, instant_now())) > 0) {
		t = (struct timespec){left_ns / NS_PER_S, left_ns % NS_PER_S};
		if (ppoll(&p, fds, &t, NULL) <= 0)
			continue;
		/* The wake-up may be for a question that was answered
		 * already. */
		fd_drain(a->asked_fd);
		if (question_next(&a->asked) != NULL || atomic_load(&a->stop))
			return false;
	}
	return true;
}

/* Wait for events of a KEEP question; see worker.h. */
static bool
keep_wait(void *user, int64_t ns)
{
	struct analysis *a = user;
	struct instant due = instant_plus(instant_now(), ns);

	if (!instant_is_set(a->until) || instant_before(due, a->until))
		return wait_until(a, due);
	wait_until(a, a->until);
	return false;
}

/* Wait while a server pauses, up to ANALYSIS_REST_NS after q was put.  False: a
 * client's question has come. */
static bool
rest_over(struct analysis *a, const struct analysis_question *q)
{
	struct instant most = instant_plus(q->put, ANALYSIS_REST_NS);
	struct instant until = {
	    atomic_load_explicit(&a->rest_ns, memory_order_relaxed)};

	if (instant_is_set(a->until))
		return true; /* a client waits already */
	return wait_until(a, instant_before(until, most) ? until : most);
}

enum keep_result {
	KEEP_NONE,  /* there is no question */
	KEEP_DONE,  /* a question was done, or left out */
	KEEP_LATER, /* the next question is put off */
};

static enum keep_result
keep_next(struct analysis *a)
{
	struct analysis_question *q = question_next(&a->keeps);
	enum tale_work_result result = TALE_WORK_DONE;
	struct analysis_answer answer;
	int64_t began_ns = thread_cpu_ns();

	if (q == NULL)
		return KEEP_NONE;
	if (!rest_over(a, q))
		return KEEP_LATER;
	accounts_offered(&a->work.accounts, q->request.finished, q->offered);
	if (keep_is_taken(a, q)) {
		result = tale_work_do(&a->work, q, &answer);
		a->keep_cpu_ns += thread_cpu_ns() - began_ns;
	}
	if (result == TALE_WORK_LATER) {
		accounts_put_off(&a->work.accounts, q->offered);
		return KEEP_LATER;
	}
	if (q->taken)
		budget_spend(&a->budget, a->keep_cpu_ns);
	a->keep_cpu_ns = 0;
	question_done(&a->keeps, q);
	return KEEP_DONE;
}

/* --- what clients ask ----------------------------------------------------- */

/* Do the KEEP questions put before q, for ANALYSIS_PATIENCE_NS at most: a list,
 * and a search of the store, must include slow requests that have finished. */
static void
keeps_before(struct analysis *a, const struct analysis_question *q)
{
	enum keep_result result = KEEP_DONE;

	if (q->kind == ANALYSIS_TALE && q->known)
		return;
	a->until = instant_plus(instant_now(), ANALYSIS_PATIENCE_NS);
	while (result == KEEP_DONE && instant_before(instant_now(), a->until) &&
	       atomic_load(&a->keeps.read) < q->keeps)
		result = keep_next(a);
	a->until = INSTANT_NONE;
}

/* How many of the KEEP questions put before q are still to be done. */
static uint64_t
keeps_waiting(const struct analysis *a, const struct analysis_question *q)
{
	uint64_t done = atomic_load(&a->keeps.read);

	return q->keeps > done ? q->keeps - done : 0;
}

/* Answer the next question of a client.  False: there is none. */
static bool
answer_next(struct analysis *a)
{
	struct analysis_question *q = question_next(&a->asked);
	struct analysis_answer answer;

	if (q == NULL)
		return false;
	priority_raise(a);
	fd_drain(a->asked_fd);
	keeps_before(a, q);
	q->list.waiting = keeps_waiting(a, q);
	if (tale_work_do(&a->work, q, &answer) == TALE_WORK_ANSWER)
		analysis_reply(a, &answer);
	question_done(&a->asked, q);
	return true;
}

/* Send the replies that another thread has computed meanwhile. */
static void
blame_answer(struct analysis *a)
{
	struct analysis_answer answer;

	while (blame_jobs_take(&a->work.blame, &answer))
		analysis_reply(a, &answer);
}

/* --- the thread ----------------------------------------------------------- */

/* The time until tale_work_tick has something to do without a question. */
static int64_t
tick_due_ns(const struct tale_work *w)
{
	int64_t due_ns = MINUTE_NS - instant_wall_now_ns() % MINUTE_NS;
	int64_t window_ns;

	if (due_ns > TICK_REST_NS)
		due_ns = TICK_REST_NS;
	if (w->spare != NULL ||
	    (w->directory[0] != '\0' && w->accounts.store == NULL))
		due_ns = TICK_AGAIN_NS;
	if (w->candidates == 0)
		return due_ns;
	window_ns = instant_since(w->window_end, instant_now());
	if (window_ns < 0)
		return 0;
	return window_ns < due_ns ? window_ns : due_ns;
}

/* Sleep until a question comes or something is due. */
static void
question_wait(struct analysis *a)
{
	struct pollfd p[] = {{.fd = a->asked_fd, .events = POLLIN},
	    {.fd = a->keeps_fd, .events = POLLIN}};
	int64_t left_ns = tick_due_ns(&a->work);

	if (poll(p, 2, (int)(left_ns / NS_PER_MS) + 1) <= 0)
		return;
	if (p[0].revents != 0)
		fd_drain(a->asked_fd);
	if (p[1].revents != 0)
		fd_drain(a->keeps_fd);
}

/* At the end, keep the tales that still wait for it, for a second at most; the
 * rest are lost, and no client waits for them. */
static void
keep_last(struct analysis *a)
{
	struct instant last = instant_plus(instant_now(), LAST_NS);
	struct analysis_question *q;
	struct analysis_answer answer;
	unsigned left = 0;

	while ((q = question_next(&a->keeps)) != NULL) {
		if (instant_before(instant_now(), last))
			tale_work_do(&a->work, q, &answer);
		else
			left++;
		question_done(&a->keeps, q);
	}
	if (left > 0)
		log_event(LOG_LEVEL_WARNING, "tales_not_kept",
		    "count=%u why=\"no time left at the end\"", left);
}

static void *
analysis_main(void *user)
{
	struct analysis *a = user;

	assert(a != NULL);
	a->tid = gettid();
	background_become();
	while (!atomic_load(&a->stop)) {
		atomic_fetch_add(&a->work.stats.turns, 1);
		tale_work_tick(&a->work);
		atomic_store(&a->work.stats.cpu_ns, (uint64_t)thread_cpu_ns());
		blame_answer(a);
		if (answer_next(a))
			continue;
		priority_lower(a);
		if (question_next(&a->asked) == NULL &&
		    keep_next(a) == KEEP_NONE)
			question_wait(a);
	}
	keep_last(a);
	return NULL;
}

int
analysis_new(struct analysis **out, const struct analysis_options *o)
{
	struct analysis *a = calloc(1, sizeof(*a));
	int err;

	if (a == NULL)
		return -ENOMEM;
	a->asked_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->keeps_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	a->answer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->asked_fd < 0 || a->keeps_fd < 0 || a->answer_fd < 0) {
		err = -errno;
		goto fail;
	}
	atomic_store(&a->cpu, o->cpu);
	budget_init(&a->budget, o->cpu, instant_now());
	a->work.blame.wake_fd = a->asked_fd;
	a->work.wait = keep_wait;
	a->work.user = a;
	a->nice = getpriority(PRIO_PROCESS, 0);
	a->may_raise = priority_may_rise(a->nice);
	err = tale_work_init(&a->work, o);
	if (err < 0)
		goto fail;
	err = -pthread_create(&a->thread, NULL, analysis_main, a);
	if (err < 0)
		goto fail;
	a->started = true;
	*out = a;
	return 0;

fail:
	analysis_free(&a);
	return err;
}

void
analysis_free(struct analysis **ap)
{
	struct analysis *a = *ap;
	struct analysis_answer left;

	if (a == NULL)
		return;
	if (a->started) {
		atomic_store(&a->work.closing, true);
		atomic_store(&a->stop, true);
		eventfd_write(a->asked_fd, 1);
		pthread_join(a->thread, NULL);
		while (analysis_take(a, &left))
			free(left.text);
	}
	tale_work_fini(&a->work);
	if (a->asked_fd >= 0)
		close(a->asked_fd);
	if (a->keeps_fd >= 0)
		close(a->keeps_fd);
	if (a->answer_fd >= 0)
		close(a->answer_fd);
	free(a);
	*ap = NULL;
}

struct analysis_seen
analysis_seen(const struct analysis *a)
{
	const struct tale_work *w = &a->work;

	return (struct analysis_seen){&w->stats, &w->missed, &w->routes,
	    &w->accounts, &w->latencies, &w->tail};
}
