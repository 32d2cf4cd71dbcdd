/*
 * analysis.c: the analysis thread.
 *
 * A request is examined a few milliseconds after it finished, when the
 * observer has certainly read the last of its events.  The store is a ring
 * of tales: the oldest slow request makes room for the newest.
 */
#include "proxy/analysis.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/log.h"
#include "talechain/story.h"

#define QUESTIONS 256 /* waiting at once; a power of two */
#define ANSWERS 64
#define SETTLE_NS (5 * NS_PER_MS) /* from finish until all events are read */
#define SLACK_NS (5 * NS_PER_MS)
#define LATE_NS (20 * NS_PER_MS) /* the observer is given that, so often */
#define LATE_TRIES 5

struct analysis {
	struct timeline_reader *reader; /* owned; analysis thread */
	pthread_t thread;
	bool started;
	atomic_bool stop;

	/* proxy -> analysis: head written by the proxy, tail by us */
	struct analysis_question question[QUESTIONS];
	_Atomic uint64_t asked, read;
	int question_fd; /* owned */

	/* analysis -> proxy: the other way round */
	struct analysis_answer answer[ANSWERS];
	_Atomic uint64_t answered, taken;
	int answer_fd; /* owned */

	struct tale **store; /* owned; analysis thread */
	unsigned keep;
	uint64_t stored;
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
	uint64_t head = atomic_load_explicit(&a->asked, memory_order_relaxed);

	if (head - atomic_load_explicit(&a->read, memory_order_acquire) ==
	    QUESTIONS)
		return false;
	a->question[head % QUESTIONS] = *q;
	/* Release: the question is whole before it is counted. */
	atomic_store_explicit(&a->asked, head + 1, memory_order_release);
	wake(a->question_fd);
	return true;
}

bool
analysis_keep(struct analysis *a, const struct tale_request *request)
{
	struct analysis_question q = {
	    .known = true, .keep = true, .silent = true, .request = *request};

	return analysis_ask(a, &q);
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

static struct tale *
store_find(const struct analysis *a, const char *external_id)
{
	for (unsigned i = 0; i < a->keep; i++)
		if (a->store[i] != NULL &&
		    strcmp(tale_request(a->store[i])->external_id,
			external_id) == 0)
			return a->store[i];
	return NULL;
}

static void
store_add(struct analysis *a, struct tale *t)
{
	struct tale **place = &a->store[a->stored++ % a->keep];

	tale_free(place);
	*place = t;
}

static void
render(const struct tale *t, enum tale_format format,
    struct analysis_answer *answer)
{
	struct story *s = NULL;
	struct json j;
	int err = tale_tell(&s, t);

	if (err == 0 && format == TALE_FORMAT_TEXT) {
		err = story_render_text(s, &answer->text, &answer->length);
	} else if (err == 0) {
		json_init(&j, false);
		err = story_render_json(s, &j);
		if (err == 0)
			err = json_take(&j, &answer->text, &answer->length);
		json_fini(&j);
	}
	story_free(&s);
	answer->status = err == 0 ? 200 : 500;
}

/* Until the observer has surely read everything about the request. */
static void
settle(const struct tale_request *r)
{
	struct instant due = instant_plus(r->finished, SETTLE_NS);
	int64_t left = instant_since(due, instant_now());

	if (left > 0 && left <= SETTLE_NS)
		nanosleep(&(struct timespec){0, left}, NULL);
}

/* Slice, and again if the observer was so late that the end is missing. */
static int
slice(struct analysis *a, const struct analysis_question *q, struct tale **out)
{
	int err, tries;

	for (tries = 0;; tries++) {
		err = tale_slice(out, a->reader, &q->request,
		    q->has_client ? &q->client : NULL, SLACK_NS);
		if (err < 0 || tale_whole(*out) || tries == LATE_TRIES)
			return err;
		tale_free(out);
		nanosleep(&(struct timespec){0, LATE_NS}, NULL);
	}
}

static void
examine(struct analysis *a, const struct analysis_question *q)
{
	struct analysis_answer answer = {.cookie = q->cookie, .status = 404};
	struct tale *t = store_find(a, q->request.external_id), *made = NULL;
	int err;

	/* With the client's stamps the tale is told anew. */
	if (q->known && (t == NULL || q->has_client)) {
		settle(&q->request);
		err = slice(a, q, &made);
		if (err < 0 && err != -ESTALE)
			answer.status = 500;
		if (made != NULL)
			t = made;
	}
	if (t != NULL && !q->silent)
		render(t, q->format, &answer);
	if (made != NULL && q->keep)
		store_add(a, made);
	else
		tale_free(&made);
	if (!q->silent)
		analysis_reply(a, &answer);
}

static void *
analysis_main(void *user)
{
	struct analysis *a = user;
	struct analysis_question *q;
	uint64_t junk;

	/* Rather late than in anybody's way. */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
	while (!atomic_load(&a->stop)) {
		uint64_t tail =
		    atomic_load_explicit(&a->read, memory_order_relaxed);

		if (atomic_load_explicit(&a->asked, memory_order_acquire) ==
		    tail) {
			if (read(a->question_fd, &junk, sizeof(junk)) < 0 &&
			    errno != EINTR)
				break;
			continue;
		}
		q = &a->question[tail % QUESTIONS];
		examine(a, q);
		atomic_store_explicit(&a->read, tail + 1, memory_order_release);
	}
	return NULL;
}

int
analysis_new(struct analysis **out, struct timeline *timeline, unsigned keep)
{
	struct analysis *a = calloc(1, sizeof(*a));
	int err = -ENOMEM;

	if (a == NULL)
		return -ENOMEM;
	a->keep = keep;
	a->answer_fd = -1;
	a->question_fd = eventfd(0, EFD_CLOEXEC);
	if (a->question_fd < 0) {
		err = -errno;
		goto fail;
	}
	a->answer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->answer_fd < 0) {
		err = -errno;
		goto fail;
	}
	a->store = calloc(keep, sizeof(struct tale *));
	if (a->store == NULL)
		goto fail;
	err = timeline_reader_from(&a->reader, timeline);
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
		atomic_store(&a->stop, true);
		wake(a->question_fd);
		pthread_join(a->thread, NULL);
		while (analysis_take(a, &left))
			free(left.text);
	}
	for (unsigned i = 0; a->store != NULL && i < a->keep; i++)
		tale_free(&a->store[i]);
	free(a->store);
	timeline_reader_close(&a->reader);
	if (a->question_fd >= 0)
		close(a->question_fd);
	if (a->answer_fd >= 0)
		close(a->answer_fd);
	free(a);
	*ap = NULL;
}
