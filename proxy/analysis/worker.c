/* worker.c: one question after the other: slice, explain, render, keep.
 *
 * A request is sliced a few milliseconds after it finished, when the observer
 * has certainly read the last of its events. */
#include "proxy/analysis/worker.h"

#include "base/log.h"
#include "base/text.h"
#include "proxy/analysis/slow_report.h"
#include "talechain/render/render.h"

#define SLACK_NS (5 * NS_PER_MS)
#define LATE_NS (20 * NS_PER_MS) /* wait between tries for a late observer */
#define LATE_TRIES 5
#define MAP_TRIES 50		      /* a second in all */
#define STORE_AGAIN_NS (5 * NS_PER_S) /* between two tries of a disk */

/* --- the store ------------------------------------------------------------ */

/* The disk has failed with err: keep new tales in memory until it works again.
 * 0 or a negative errno. */
static int
store_fail(struct tale_work *w, int err)
{
	w->tried = instant_now();
	atomic_store(&w->stats.on_disk, false);
	atomic_fetch_add(&w->stats.failures, 1);
	log_event(LOG_LEVEL_WARNING, "store_in_memory",
	    "directory=\"%s\" error=\"%s\" advice=\"timelines of slow requests "
	    "will not survive a restart: let Tailor's user make or write to "
	    "the directory, or set slow.store to another\"",
	    w->directory, strerror(-err));
	return tale_store_open(&w->spare, &w->spare_options);
}

static int
store_open(struct tale_work *w, const struct analysis_options *o)
{
	int err;

	w->directory = o->store;
	w->options = (struct tale_store_options){.directory = o->store,
	    .boot_id = w->boot_id,
	    .bytes_max = o->store_bytes,
	    .keep = o->keep};
	w->spare_options = w->options;
	w->spare_options.directory = NULL;
	if (o->store[0] == '\0')
		return tale_store_open(&w->store, &w->spare_options);
	err = tale_store_open(&w->store, &w->options);
	if (err == -EBUSY)
		log_event(LOG_LEVEL_ERROR, "store_taken",
		    "directory=\"%s\" advice=\"another running tailor keeps "
		    "its timelines there: stop that one, or give this one a "
		    "directory of its own (slow.store)\"",
		    o->store);
	atomic_store(&w->stats.on_disk, err == 0);
	return err == 0 || err == -EBUSY ? err : store_fail(w, err);
}

/* Add a store's figures. */
static void
stats_add(struct tale_store_stats *sum, struct tale_store *store)
{
	struct tale_store_stats s;

	if (store == NULL)
		return;
	tale_store_stats(store, &s);
	sum->tales += s.tales;
	sum->bytes += s.bytes;
	sum->added += s.added;
	sum->dropped += s.dropped;
	sum->corrupt += s.corrupt;
}

/* Publish the figures of both stores for other threads. */
static void
store_publish(struct tale_work *w)
{
	struct tale_store_stats s = w->spares;

	stats_add(&s, w->store);
	stats_add(&s, w->spare);
	atomic_store(&w->stats.tales, s.tales);
	atomic_store(&w->stats.bytes, s.bytes);
	atomic_store(&w->stats.added, s.added);
	atomic_store(&w->stats.dropped, s.dropped);
	atomic_store(&w->stats.corrupt, s.corrupt);
}

/* True if err means that the disk has failed, not that this tale is too large
 * or memory is short. */
static bool
is_failure(const struct tale_work *w, int err)
{
	return err < 0 && err != -EFBIG && err != -ENOMEM &&
	       w->directory[0] != '\0';
}

static int
store_add(
    struct tale_work *w, const struct tale *t, const struct tale_summary *said)
{
	int err = 0;

	if (w->spare == NULL) {
		err = tale_store_add(w->store, t, said);
		if (!is_failure(w, err))
			return err;
		err = store_fail(w, err);
	}
	return err == 0 ? tale_store_add(w->spare, t, said) : err;
}

/* Try the disk again, and move the tales kept in memory to it. */
static void
store_again(struct tale_work *w)
{
	struct instant now = instant_now();

	if (w->spare == NULL || instant_since(now, w->tried) < STORE_AGAIN_NS)
		return;
	w->tried = now;
	if (w->store == NULL && tale_store_open(&w->store, &w->options) < 0)
		return;
	if (tale_store_move(w->spare, w->store) == 0) {
		stats_add(&w->spares, w->spare); /* counters never fall */
		w->spares.bytes = 0;
		tale_store_close(&w->spare);
		atomic_store(&w->stats.on_disk, true);
		log_event(LOG_LEVEL_NOTICE, "store_on_disk", "directory=\"%s\"",
		    w->directory);
	}
	store_publish(w);
}

static int
keep(struct tale_work *w, const struct tale *t, const struct tale_summary *said)
{
	int err = store_add(w, t, said);

	if (err < 0) {
		atomic_fetch_add(&w->stats.failed, 1);
		log_event(LOG_LEVEL_INFO, "tale_not_kept",
		    "request=%s error=\"%s\"", said->external_id,
		    err == -EFBIG ? "larger than a quarter of slow.store_bytes"
				  : strerror(-err));
	}
	store_publish(w);
	return err;
}

/* --- candidates ----------------------------------------------------------- */

static void
candidate_drop(struct tale_work *w, unsigned i)
{
	tale_free(&w->candidate[i].tale);
	w->candidate[i] = w->candidate[--w->candidates];
}

/* Keep the candidates of a window that is over; all of them if forced. */
static void
candidates_keep(struct tale_work *w, bool forced)
{
	if (w->candidates == 0 ||
	    (!forced && instant_before(instant_now(), w->window_end)))
		return;
	while (w->candidates > 0) {
		struct tale_candidate *c = &w->candidate[w->candidates - 1];

		keep(w, c->tale, &c->summary);
		candidate_drop(w, w->candidates - 1);
	}
}

/* Add a tale, which w then owns, to the candidates of its window. */
static void
candidate_add(struct tale_work *w, const struct analysis_question *q,
    struct tale *t, const struct tale_summary *said)
{
	unsigned fastest = 0;

	if (w->window_end.ns != q->window_end.ns)
		candidates_keep(w, true);
	w->window_end = q->window_end;
	for (unsigned i = 1; i < w->candidates; i++)
		if (w->candidate[i].summary.total_ns <
		    w->candidate[fastest].summary.total_ns)
			fastest = i;
	if (w->candidates >= q->window_keep ||
	    w->candidates == TALE_CANDIDATES) {
		if (w->candidate[fastest].summary.total_ns >= said->total_ns) {
			tale_free(&t);
			return;
		}
		candidate_drop(w, fastest);
	}
	w->candidate[w->candidates].tale = t;
	w->candidate[w->candidates++].summary = *said;
}

static struct tale_candidate *
candidate_find(struct tale_work *w, const char *external_id)
{
	for (unsigned i = 0; i < w->candidates; i++)
		if (strcmp(w->candidate[i].summary.external_id, external_id) ==
		    0)
			return &w->candidate[i];
	return NULL;
}

/* Open the accounts' files, if the store of tales has locked its directory. */
static void
keep_accounts(struct tale_work *w)
{
	if (w->directory[0] != '\0' && w->store != NULL)
		accounts_keep(&w->accounts, w->directory, w->account_bytes);
}

/* Write the figures of routes that have lost their place, and free the
 * places. */
static void
routes_end(struct tale_work *w, int64_t now_wall_ns)
{
	for (unsigned i = 0; i < ROUTE_PLACES; i++) {
		if (routes_state(&w->routes, i) != ROUTE_LOST)
			continue;
		latencies_end(&w->latencies, w->accounts.store, i, now_wall_ns);
		accounts_end(&w->accounts, i);
		tail_end(&w->tail, i);
		routes_free(&w->routes, i);
	}
}

void
tale_work_tick(struct tale_work *w)
{
	int64_t now_wall_ns = instant_wall_now_ns();

	routes_end(w, now_wall_ns);
	candidates_keep(w, false);
	store_again(w);
	keep_accounts(w);
	tail_update(&w->tail, &w->accounts, now_wall_ns);
	latencies_tick(&w->latencies, w->accounts.store, now_wall_ns);
}

/* --- explaining ----------------------------------------------------------- */

/* Say in the story that it is from an earlier boot, with another clock. */
static void
mark_earlier_boot(struct story *s, int64_t finished_wall_ns)
{
	struct story_verdict *v = &s->verdict;
	char when[40];

	text_wall(when, finished_wall_ns);
	memmove(v->evidence[1], v->evidence[0],
	    sizeof(v->evidence) - sizeof(v->evidence[0]));
	snprintf(v->evidence[0], sizeof(v->evidence[0]),
	    "FROM AN EARLIER BOOT: recorded at %s, before this machine was "
	    "last started; its times cannot be compared with current ones",
	    when);
}

static void
summarise(struct tale_work *w, const struct story *story,
    enum tale_reason reason, struct tale_summary *said)
{
	const struct tale_request *r = tale_request(story->tale);

	*said = (struct tale_summary){.reason = reason,
	    .cause = story->verdict.cause,
	    .share_ns = story->verdict.share_ns,
	    .timeline_ns = story->total_ns,
	    .finished_wall_ns = instant_wall_ns(r->finished)};
	memcpy(said->verdict, story->verdict.text, sizeof(story->verdict.text));
	tale_summarise(said, r);
	atomic_fetch_add(&w->stats.made, 1);
}

/* Set the version, host and start time that a rendering shows. */
static void
origin_set(const struct tale_work *w, struct story *s, int64_t finished_wall_ns)
{
	const struct tale *t = s->tale;
	struct instant finished = tale_request(t)->finished;

	s->origin.version = TAILOR_VERSION;
	memcpy(s->origin.host, w->host, sizeof(w->host));
	if (finished_wall_ns != 0 && instant_is_set(finished))
		s->origin.begun_wall_ns =
		    finished_wall_ns - instant_since(finished, tale_begun(t));
}

/* Set the names of other requests in the story, from the question's requests
 * and the kept tales. */
static void
requests_name(const struct tale_work *w, const struct analysis_question *q,
    struct story *s)
{
	struct tale_store *store[2] = {w->store, w->spare};
	struct tale_summary one;

	for (unsigned i = 0; i < q->names; i++)
		for (unsigned k = 0; k < s->requests; k++)
			if (s->request[k].id == q->name[i].id)
				story_request_name(s, k, q->name[i].external_id,
				    q->name[i].method, q->name[i].target);
	for (unsigned k = 0; k < s->requests; k++)
		for (unsigned i = 0; i < 2; i++)
			if (store[i] != NULL &&
			    tale_store_find_request(
				store[i], s->request[k].id, &one) == 0)
				story_request_name(s, k, one.external_id,
				    one.method, one.target);
}

/* Count a slow request's time by cause. */
static void
count_causes(struct tale_work *w, const struct story *story)
{
	atomic_fetch_add(&w->stats.cause_requests[story->verdict.cause], 1);
	if (story->contradictions > 0)
		atomic_fetch_add(&w->stats.contradictory, 1);
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		if (story->cause_ns[i] > 0)
			atomic_fetch_add(&w->stats.cause_ns[i],
			    (uint64_t)story->cause_ns[i]);
}

static void
account(struct tale_work *w, const struct analysis_question *q,
    const struct story *story)
{
	accounts_add(&w->accounts, story, q->route, q->stratum, q->stands,
	    instant_wall_ns(q->request.finished));
}

static int
render_json(const struct story *s, char **text, size_t *length)
{
	struct json j;
	int err;

	json_init(&j, false);
	err = story_render_json(s, &j);
	if (err == 0)
		err = json_take(&j, text, length);
	json_fini(&j);
	return err;
}

static void
render(const struct story *s, enum tale_format format,
    struct analysis_answer *answer)
{
	static int (*const as[TALE_FORMAT_COUNT])(
	    const struct story *, char **, size_t *) = {
	    [TALE_FORMAT_TEXT] = story_render_text,
	    [TALE_FORMAT_JSON] = render_json,
	    [TALE_FORMAT_HTML] = story_render_html,
	    [TALE_FORMAT_SVG] = story_render_svg,
	    [TALE_FORMAT_CHROME] = story_render_chrome,
	};
	int err = as[format](s, &answer->text, &answer->length);

	answer->status = err == 0 ? 200 : 500;
}

/* Return how much longer a question may wait for its events. */
static int64_t
patience_left(const struct analysis_question *q)
{
	return q->kind == ANALYSIS_KEEP
		   ? INT64_MAX
		   : ANALYSIS_PATIENCE_NS -
			 instant_since(instant_now(), q->put);
}

/* Wait for the events of a question.  False: a client's question has come,
 * which is done first. */
static bool
wait_for_events(
    const struct tale_work *w, const struct analysis_question *q, int64_t ns)
{
	int64_t left_ns = patience_left(q);

	if (left_ns < ns)
		ns = left_ns;
	if (ns <= 0 || atomic_load(&w->closing))
		return true;
	if (q->kind == ANALYSIS_KEEP)
		return w->wait(w->user, ns);
	nanosleep(&(struct timespec){0, ns}, NULL);
	return true;
}

/* Wait until the observer has read all events of the request.  Returns as
 * wait_for_events. */
static bool
settle(const struct tale_work *w, const struct analysis_question *q)
{
	bool later = instant_before(q->request.finished, q->asked);
	struct instant due =
	    instant_plus(later ? q->asked : q->request.finished, w->settle_ns);
	int64_t left = instant_since(due, instant_now());

	return left > w->settle_ns || wait_for_events(w, q, left);
}

/* Slice the tale, and again if its end is missing because the observer was
 * late.  -EAGAIN: a client's question is done first. */
static int
slice(struct tale_work *w, struct analysis_question *q, struct tale **out)
{
	for (;; q->tries++) {
		int err = tale_slice_next(out, w->checkpoints, &q->request,
		    q->has_client ? &q->client : NULL, SLACK_NS);

		if (err < 0 || tale_whole(*out) || q->tries == LATE_TRIES ||
		    patience_left(q) <= 0 || atomic_load(&w->closing))
			return err;
		tale_free(out);
		if (!wait_for_events(w, q, LATE_NS))
			return -EAGAIN;
	}
}

/* Wait until JVMs have written maps of the code in a tale's stacks.  Returns as
 * wait_for_events. */
static bool
wait_for_maps(const struct tale_work *w, const struct analysis_question *q,
    const struct tale *t)
{
	int64_t ns;

	for (unsigned i = 0; i < MAP_TRIES; i++) {
		ns = symbols_wait(w->symbols, t);
		if (ns == 0 || patience_left(q) <= 0 ||
		    atomic_load(&w->closing))
			break;
		if (!wait_for_events(w, q, ns))
			return false;
	}
	return true;
}

/* Find the kept tale of a question's request; false: there is none. */
static bool
kept(struct tale_work *w, const struct analysis_question *q,
    struct tale_store **store, struct tale_summary *said)
{
	const char *id = q->request.external_id;
	bool found;

	*store = w->spare;
	found = w->spare != NULL && tale_store_find(w->spare, id, said) == 0;
	if (!found && w->store != NULL) {
		*store = w->store;
		found = tale_store_find(w->store, id, said) == 0;
	}
	/* If clients used an id twice, the question is about the latest. */
	return found && (!q->known || said->request == q->request.id);
}

/* Slice a kept tale again, if it is from before a slow client had read the
 * response, or had acknowledged it late; then *renewed.  0 or -EAGAIN. */
static int
slice_again(struct tale_work *w, struct analysis_question *q, struct tale **t,
    bool *renewed)
{
	bool late = instant_is_set(q->request.acknowledged) &&
		    !instant_is_set(tale_request(*t)->acknowledged);
	struct tale *later = NULL;
	int err;

	if (!q->known || (!late && (q->kind != ANALYSIS_TALE || tale_read(*t))))
		return 0;
	err = slice(w, q, &later);
	*renewed = err == 0 && (late || tale_read(later));
	if (*renewed) {
		symbols_name(w->symbols, later, q->kind == ANALYSIS_TALE);
		tale_free(t);
		*t = later;
	} else
		tale_free(&later);
	return err == -EAGAIN ? err : 0;
}

/* Get a tale from the store, else from the stream.  0, -ENOENT, -ENOMEM or
 * -EAGAIN.  *said is filled in only if the store has the tale; *renewed: the
 * stored tale was incomplete, and *out is a new one. */
static int
fetch(struct tale_work *w, struct analysis_question *q, struct tale **out,
    struct tale_summary *said, bool *renewed)
{
	struct tale_store *store;
	struct tale_summary found;
	int err = -ENOENT;

	/* With the client's stamps it is explained again, if that is still
	 * possible. */
	if (kept(w, q, &store, &found) && !(q->has_client && q->known)) {
		*said = found;
		err = tale_store_load(store, q->request.external_id, out);
		if (err == 0)
			err = slice_again(w, q, out, renewed);
		if (err == 0 || err == -ENOMEM || err == -EAGAIN)
			return err;
		store_publish(w);
	}
	if (!q->known)
		return -ENOENT;
	if (!settle(w, q))
		return -EAGAIN;
	err = slice(w, q, out);
	if (err == 0 && *out != NULL && !wait_for_maps(w, q, *out))
		return -EAGAIN;
	if (err == 0 && *out != NULL)
		symbols_name(w->symbols, *out, q->kind == ANALYSIS_TALE);
	return err == -ESTALE ? 0 : err;
}

/* Explain a tale, answer, and keep the tale where that is due.  0 or a negative
 * errno. */
static int
explain_and_keep(struct tale_work *w, const struct analysis_question *q,
    struct tale **t, const struct tale_summary *old, bool renewed,
    struct analysis_answer *answer)
{
	struct tale_summary said = *old;
	struct story *story = NULL;
	bool stored = old->external_id[0] != '\0';
	int err;

	answer->status = 500;
	err = tale_explain(&story, *t);
	if (err < 0)
		return err;
	/* The tale that is shown is kept, so that a list, an explanation and
	 * the next start give the same. */
	renewed |=
	    stored && !said.earlier_boot && said.timeline_ns != story->total_ns;
	if (!stored || renewed)
		summarise(w, story,
		    stored && q->kind == ANALYSIS_TALE ? said.reason
						       : q->reason,
		    &said);
	if (q->reason == TALE_REASON_TARGET && q->kind == ANALYSIS_KEEP &&
	    !q->counted)
		count_causes(w, story);
	if (q->account)
		account(w, q, story);
	if (stored && said.earlier_boot)
		mark_earlier_boot(story, said.finished_wall_ns);
	if (q->kind == ANALYSIS_TALE) {
		origin_set(w, story, said.finished_wall_ns);
		requests_name(w, q, story);
		render(story, q->format, answer);
	}
	story_free(&story);
	if (renewed)
		err = keep(w, *t, &said);
	/* A tale of another boot has another clock: it stays where it is. */
	if (!q->keep || said.earlier_boot)
		return err;
	/* A client asked first: its reason stays. */
	if (stored && (q->kind == ANALYSIS_KEEP || q->reason == said.reason))
		return err;
	said.reason = q->reason;
	if (q->reason != TALE_REASON_SLOWEST)
		return keep(w, *t, &said);
	candidate_add(w, q, *t, &said);
	*t = NULL;
	return err;
}

/* Process a TALE or KEEP question.  False: put off, as a client's question is
 * done first. */
static bool
do_tale(struct tale_work *w, struct analysis_question *q,
    struct analysis_answer *answer)
{
	struct tale_candidate *c = candidate_find(w, q->request.external_id);
	struct tale_summary said = {0};
	struct tale *t = NULL;
	bool renewed = false, again;
	int err;

	/* A client wants this candidate: keep it before its window ends. */
	if (c != NULL && (q->kind == ANALYSIS_TALE || q->keep)) {
		keep(w, c->tale, &c->summary);
		candidate_drop(w, (unsigned)(c - w->candidate));
	}
	err = fetch(w, q, &t, &said, &renewed);
	again = err == -EAGAIN;
	if (err == 0)
		err = explain_and_keep(w, q, &t, &said, renewed, answer);
	else
		answer->status = err == -ENOENT ? 404 : 500;
	if (err < 0 && !again && q->kind == ANALYSIS_KEEP &&
	    q->reason == TALE_REASON_TARGET)
		missed_add(&w->missed, &q->request, missed_by(err));
	tale_free(&t);
	return !again;
}

/* Process a KEEP question that needs only an account.  Returns as do_tale. */
static bool
do_account(struct tale_work *w, struct analysis_question *q)
{
	struct story *story = NULL;
	struct tale *t = NULL;
	int err = settle(w, q) ? slice(w, q, &t) : -EAGAIN;

	if ((err == 0 || err == -ESTALE) && t != NULL &&
	    tale_explain(&story, t) == 0)
		account(w, q, story);
	story_free(&story);
	tale_free(&t);
	return err != -EAGAIN;
}

/* --- lists ---------------------------------------------------------------- */

static void
do_list(struct tale_work *w, const struct analysis_question *q,
    struct analysis_answer *answer)
{
	struct tale_summary *all;
	unsigned n = 0;
	int err = -ENOMEM;

	all = slow_list((struct tale_store *const[]){w->store, w->spare},
	    atomic_load(&w->stats.tales) + 1,
	    q->kind == ANALYSIS_SLOW ? &w->missed : NULL, &q->list, &n);
	store_publish(w);
	if (all != NULL && q->kind == ANALYSIS_SLOW)
		err = slow_report(
		    all, n, &q->list, &answer->text, &answer->length);
	else if (all != NULL)
		err = q->report->write(q->report, all, n, &w->tail,
		    &answer->text, &answer->length);
	free(all);
	answer->status = err == 0 ? 200 : 500;
}

static void
do_accounts(struct tale_work *w, const struct analysis_question *q,
    struct analysis_answer *answer)
{
	struct text t = {0};

	accounts_write(&w->accounts, q->list.since_ns, q->list.until_ns,
	    ACCOUNTS_ANSWER, &t);
	answer->status =
	    text_take(&t, &answer->text, &answer->length) == 0 ? 200 : 500;
}

/* Find the period whose latencies a question is about. */
static void
latencies_window(struct tale_work *w, const struct analysis_question *q,
    int64_t *from_ns, int64_t *to_ns)
{
	accounts_window(
	    &w->accounts, q->list.since_ns, q->list.until_ns, from_ns, to_ns);
	/* Up to now: the latest account is not the latest request. */
	if (q->list.until_ns == 0)
		*to_ns = INT64_MAX;
}

static void
do_latencies(struct tale_work *w, const struct analysis_question *q,
    struct analysis_answer *answer)
{
	struct text t = {0};
	int64_t from_ns, to_ns;
	int err;

	latencies_window(w, q, &from_ns, &to_ns);
	err = latencies_write(&w->latencies, w->accounts.store, from_ns, to_ns,
	    instant_wall_now_ns(), &t);
	if (text_take(&t, &answer->text, &answer->length) < 0)
		err = -ENOMEM;
	answer->status = err == 0 ? 200 : 500;
	if (err == 0)
		return;
	free(answer->text);
	answer->text = NULL;
}

/* Read the accounts and start a job for the rest, on another thread. */
static enum tale_work_result
do_blame(struct tale_work *w, const struct analysis_question *q,
    struct analysis_answer *answer)
{
	struct blame_job *job = blame_jobs_new(&w->blame, q);
	int64_t from_ns, to_ns;

	answer->status = 429;
	if (job == NULL)
		return TALE_WORK_ANSWER;
	accounts_read(&w->accounts, q->list.since_ns, q->list.until_ns,
	    ACCOUNTS_REPORT, blame_job_begin, blame_job_take, job);
	latencies_window(w, q, &from_ns, &to_ns);
	/* If this fails, percentiles are computed from accounts. */
	(void)latencies_read(&w->latencies, w->accounts.store, from_ns, to_ns,
	    instant_wall_now_ns(), blame_job_latency, job);
	blame_jobs_start(&w->blame);
	return TALE_WORK_DONE;
}

static bool
do_keep(struct tale_work *w, struct analysis_question *q,
    struct analysis_answer *answer)
{
	return q->keep ? do_tale(w, q, answer) : do_account(w, q);
}

enum tale_work_result
tale_work_do(struct tale_work *w, struct analysis_question *q,
    struct analysis_answer *answer)
{
	*answer = (struct analysis_answer){.cookie = q->cookie};
	switch (q->kind) {
	case ANALYSIS_TALE:
		do_tale(w, q, answer);
		return TALE_WORK_ANSWER;
	case ANALYSIS_KEEP:
		return do_keep(w, q, answer) ? TALE_WORK_DONE : TALE_WORK_LATER;
	case ANALYSIS_MISSED:
		missed_add(&w->missed, &q->request, MISSED_QUEUE);
		return TALE_WORK_DONE;
	case ANALYSIS_SLOW:
	case ANALYSIS_REPORT:
		do_list(w, q, answer);
		return TALE_WORK_ANSWER;
	case ANALYSIS_BLAME:
		return do_blame(w, q, answer);
	case ANALYSIS_LATENCIES:
		do_latencies(w, q, answer);
		return TALE_WORK_ANSWER;
	case ANALYSIS_ACCOUNTS:
		do_accounts(w, q, answer);
		return TALE_WORK_ANSWER;
	}
	return TALE_WORK_DONE;
}

int
tale_work_init(struct tale_work *w, const struct analysis_options *o)
{
	struct timeline_about about;
	int err = timeline_reader_from(&w->reader, o->timeline);

	routes_init(&w->routes);
	if (err < 0)
		return err;
	timeline_reader_about(w->reader, &about);
	memcpy(w->boot_id, about.boot_id, sizeof(w->boot_id));
	err = tale_checkpoints_new(&w->checkpoints, w->reader);
	if (err == 0)
		err = accounts_init(&w->accounts, &w->routes, o->accounts);
	if (err == 0)
		err = latencies_init(
		    &w->latencies, &w->routes, instant_wall_now_ns());
	if (err < 0)
		return err;
	w->settle_ns = o->settle_ns;
	gethostname(w->host, sizeof(w->host) - 1);
	err = symbols_new(
	    &w->symbols, o->kallsyms > 0 ? o->kallsyms : -1, &o->maps);
	if (err < 0)
		return err;
	err = store_open(w, o);
	if (err < 0)
		return err;
	store_publish(w);
	w->account_bytes = o->account_bytes;
	keep_accounts(w);
	w->accounts.counted = o->counted;
	return 0;
}

void
tale_work_fini(struct tale_work *w)
{
	blame_jobs_fini(&w->blame);
	if (w->store != NULL || w->spare != NULL)
		candidates_keep(w, true);
	latencies_fini(&w->latencies, w->accounts.store, instant_wall_now_ns());
	accounts_fini(&w->accounts); /* while the directory is locked */
	tale_store_close(&w->store);
	tale_store_close(&w->spare);
	symbols_free(&w->symbols);
	tale_checkpoints_free(&w->checkpoints);
	timeline_reader_close(&w->reader);
}
