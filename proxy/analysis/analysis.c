/*
 * analysis.c: the analysis thread and the two rings to it; what it does is in
 * worker.c.
 */
#include "proxy/analysis/analysis.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/log.h"
#include "proxy/analysis/worker.h"

#define LAST_NS NS_PER_S /* for what still waits at the end */
#define QUESTIONS 256	 /* waiting at once in each ring; a power of two */
#define ANSWERS 64

/* proxy -> analysis: head written by the proxy, tail by us. */
struct questions {
	struct analysis_question question[QUESTIONS];
	_Atomic uint64_t asked, read;
};

struct analysis {
	struct tale_work work; /* analysis thread; its counters: any */
	pthread_t thread;
	bool started;
	atomic_bool stop;

	/* A tale that a client waits for, and that can be made from the
	 * stream, does not wait for those that none asked for.  The
	 * other questions are about what has been kept: these stay in line. */
	struct questions soon, in_turn;
	int question_fd; /* owned; of both */

	/* analysis -> proxy: the other way round */
	struct analysis_answer answer[ANSWERS];
	_Atomic uint64_t answered, taken;
	int answer_fd; /* owned */
};

static void
wake(int fd)
{
	uint64_t one = 1;
	ssize_t n;

	do
		n = write(fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

bool
analysis_ask(struct analysis *a, const struct analysis_question *q)
{
	struct questions *to =
	    q->kind == ANALYSIS_TALE && q->known ? &a->soon : &a->in_turn;
	uint64_t head = atomic_load_explicit(&to->asked, memory_order_relaxed);

	if (head - atomic_load_explicit(&to->read, memory_order_acquire) ==
	    QUESTIONS)
		return false;
	to->question[head % QUESTIONS] = *q;
	/* Release: the question is whole before it is counted. */
	atomic_store_explicit(&to->asked, head + 1, memory_order_release);
	wake(a->question_fd);
	return true;
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
		/* Empty the eventfd first, then look again: an answer that
		 * came in between is not lost. */
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

	/* The proxy takes answers at every turn; wait for a place. */
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
	wake(a->answer_fd);
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
	atomic_fetch_add_explicit(&of->read, 1, memory_order_release);
}

/* Answer the next question of a ring; false: there is none. */
static bool
question_answer(struct analysis *a, struct questions *of)
{
	struct analysis_question *q = question_next(of);
	struct analysis_answer answer;

	if (q == NULL)
		return false;
	if (tale_work_do(&a->work, q, &answer))
		analysis_reply(a, &answer);
	question_done(of, q);
	return true;
}

/* Sleep until there may be a question, or a window ends; a second at most,
 * so that a wake-up that failed delays a question and does not lose it. */
static void
question_wait(struct analysis *a)
{
	struct pollfd p = {.fd = a->question_fd, .events = POLLIN};
	int64_t left_ns = NS_PER_S, window_ns;
	uint64_t junk;

	if (a->work.candidates > 0) {
		window_ns = instant_since(a->work.window_end, instant_now());
		if (window_ns < left_ns)
			left_ns = window_ns < 0 ? 0 : window_ns;
	}
	if (poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1) > 0 &&
	    read(a->question_fd, &junk, sizeof(junk)) < 0 && errno != EAGAIN)
		log_event(LOG_LEVEL_ERROR, "analysis", "error=\"%m\"");
}

static void *
analysis_main(void *user)
{
	struct analysis *a = user;
	struct analysis_question *q;
	struct analysis_answer answer;
	struct instant last;
	unsigned left = 0;

	assert(a != NULL);
	/* Rather late than in the way of a request. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
	while (!atomic_load(&a->stop)) {
		tale_work_flush(&a->work, false);
		if (!question_answer(a, &a->soon) &&
		    !question_answer(a, &a->in_turn))
			question_wait(a);
	}
	/* What was asked to be kept is kept, as far as a second goes; no client
	 * waits for the rest. */
	last = instant_plus(instant_now(), LAST_NS);
	while ((q = question_next(&a->in_turn)) != NULL) {
		if (q->kind == ANALYSIS_KEEP &&
		    instant_before(instant_now(), last))
			tale_work_do(&a->work, q, &answer);
		else if (q->kind == ANALYSIS_KEEP)
			left++;
		question_done(&a->in_turn, q);
	}
	if (left > 0)
		log_event(LOG_LEVEL_WARNING, "tales_not_kept",
		    "count=%u why=\"no time left at the end\"", left);
	return NULL;
}

void
analysis_stats(const struct analysis *a, struct analysis_stats *out)
{
	const struct tale_work *w = &a->work;

	*out = (struct analysis_stats){
	    .store = {.tales = (unsigned)atomic_load(&w->tales),
		.files = (unsigned)atomic_load(&w->files),
		.bytes = atomic_load(&w->bytes),
		.added = atomic_load(&w->added),
		.dropped = atomic_load(&w->dropped),
		.corrupt = atomic_load(&w->corrupt)},
	    .failed = atomic_load(&w->failed),
	    .made = atomic_load(&w->made),
	    .contradictory = atomic_load(&w->contradictory),
	    .on_disk = w->directory[0] != '\0',
	};
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++) {
		out->cause_requests[i] = atomic_load(&w->cause_requests[i]);
		out->cause_ns[i] = atomic_load(&w->cause_ns[i]);
	}
}

int
analysis_new(struct analysis **out, const struct analysis_options *o)
{
	struct analysis *a = calloc(1, sizeof(*a));
	int err;

	if (a == NULL)
		return -ENOMEM;
	a->answer_fd = -1;
	a->question_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->question_fd < 0) {
		err = -errno;
		goto fail;
	}
	a->answer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->answer_fd < 0) {
		err = -errno;
		goto fail;
	}
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
		wake(a->question_fd);
		pthread_join(a->thread, NULL);
		while (analysis_take(a, &left))
			free(left.text);
	}
	tale_work_fini(&a->work);
	if (a->question_fd >= 0)
		close(a->question_fd);
	if (a->answer_fd >= 0)
		close(a->answer_fd);
	free(a);
	*ap = NULL;
}
