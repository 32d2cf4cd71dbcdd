/* evidence.c: why the verdict says what it says, in a few lines.
 *
 * The largest piece and when it was; the whole length of a pause; number and
 * size of page faults; the application's own account; how much of the time is
 * covered.  Every number is one of an event. */
#include <inttypes.h>

#include "talechain/words/say.h"

/* The next free line of evidence, or the last but one.  The last line stays
 * free for story_request_name. */
static struct phrase
evidence(struct story_verdict *v)
{
	int i = 0;

	while (i < STORY_LINES - 2 && v->evidence[i][0] != '\0')
		i++;
	return (struct phrase){v->evidence[i], sizeof(v->evidence[i])};
}

static void
evidence_sums(const struct phrase *l)
{
	phrase_add(l,
	    "kernel events were paused, and only totals of what the thread "
	    "did with the request were kept: how long is known, not when");
}

/* How many pauses have pieces of that cause. */
static unsigned
count_pauses(const struct explainer *ex, enum tale_cause cause)
{
	const struct tale_pause *seen = NULL, *p;
	unsigned n = 0;

	for (size_t i = 0; i < ex->s->segments; i++) {
		p = ex->segment_claim[i].pause;
		if (ex->s->segment[i].cause != cause || p == NULL || p == seen)
			continue;
		n++;
		seen = p;
	}
	return n;
}

/* Append the whole length of the longest pause behind the verdict. */
static void
evidence_pause(
    const struct explainer *ex, const struct claim *c, struct story_verdict *v)
{
	unsigned n = count_pauses(ex, c->cause);
	const struct tale_pause *p = c->pause;
	struct phrase l = evidence(v);
	char ms[32], name[NAME_SIZE], words[PAUSE_WORDS];

	phrase_add(&l, "%s was %s for %s%s, from %+.3f to %+.3f ms",
	    server_name(ex, p->server, name), pause_words(p, false, words),
	    p->begin_seen && p->end_seen ? "" : "at least ",
	    text_ms(ms, instant_since(p->end, p->begin)),
	    text_ms_of(instant_since(p->begin, ex->t->t0)),
	    text_ms_of(instant_since(p->end, ex->t->t0)));
	if (n > 1)
		phrase_add(&l, "; %u pauses in all", n);
}

/* Append number, sum and size of the page faults. */
static void
evidence_faults(const struct explainer *ex, struct story_verdict *v)
{
	uint64_t bytes = 0, largest_bytes = 0;
	uint64_t faults = 0, many;
	unsigned major = 0;
	int64_t longest_ns = 0, ns;
	struct phrase l = evidence(v);
	char ms[32], sum[32];

	for (size_t i = 0; i < ex->t->entries; i++) {
		const struct talechain_event *e = &ex->t->entry[i].slot.event;

		if (e->type != TALECHAIN_PAGEFAULT)
			continue;
		ns = tale_event_latency_ns(e);
		many = tale_high(e->arg[3]) + UINT64_C(1);
		faults += many;
		major += tale_low(e->arg[3]) == 1;
		if (__builtin_add_overflow(bytes, e->arg[2], &bytes))
			bytes = UINT64_MAX;
		if (e->arg[2] / many > largest_bytes)
			largest_bytes = e->arg[2] / many;
		if (many > 1)
			ns = longest_ns > TALE_FAULT_SMALL_NS
				 ? longest_ns
				 : TALE_FAULT_SMALL_NS;
		if (ns > longest_ns)
			longest_ns = ns;
	}
	phrase_add(&l, "%" PRIu64 " page fault%s, %s of the request, %s %s",
	    faults, faults == 1 ? "" : "s",
	    text_ms(sum, ex->s->cause_ns[TALE_CAUSE_PAGE_FAULT]),
	    longest_ns == TALE_FAULT_SMALL_NS ? "each under" : "the longest",
	    text_ms(ms, longest_ns));
	if (bytes > 0)
		phrase_add(&l,
		    "; %" PRIu64 " KiB of memory, up to %" PRIu64
		    " KiB at once",
		    bytes / 1024, largest_bytes / 1024);
	if (major > 0)
		phrase_add(&l, "; %u read from disk", major);
}

/* Append how many classes were prepared, and methods compiled meanwhile. */
static void
evidence_classes(
    const struct explainer *ex, int attempt, struct story_verdict *v)
{
	uint64_t classes = 0, compiled = 0;
	struct phrase l = evidence(v);

	for (size_t i = 0; i < ex->t->entries; i++) {
		const struct tale_entry *e = &ex->t->entry[i];

		if (!cause_is_classes(ex, e, attempt))
			continue;
		classes += e->slot.event.arg[0] & UINT32_MAX;
		compiled += e->slot.event.arg[1] & UINT32_MAX;
	}
	if (classes > 0)
		phrase_add(&l,
		    "%" PRIu64 " classes were prepared and %" PRIu64
		    " methods compiled meanwhile",
		    classes, compiled);
}

/* Append when the largest piece of a cause was, and how many pieces there
 * are. */
static void
evidence_piece(const struct explainer *ex, enum tale_cause cause,
    size_t segment, struct story_verdict *v)
{
	const struct story_segment *g = &ex->s->segment[segment];
	struct phrase l = evidence(v);
	unsigned pieces = 0;
	char ms[32];

	for (size_t i = 0; i < ex->s->segments; i++)
		pieces += ex->s->segment[i].cause == cause;
	if (pieces > 1)
		phrase_add(&l, "%u pieces, the longest %s, ", pieces,
		    text_ms(ms, g->end_ns - g->begin_ns));
	phrase_add(&l, "from %+.3f to %+.3f ms", text_ms_of(g->begin_ns),
	    text_ms_of(g->end_ns));
	if (g->who[0] != '\0')
		phrase_add(&l, ", %s", g->who);
}

/* Append where the thread waited, or computed, by its stack. */
static void
evidence_stack(const struct explainer *ex, const struct claim *c,
    size_t segment, struct story_verdict *v)
{
	struct phrase l = evidence(v);

	if (c->attempt >= 0 && tale_causes[c->cause].nature == TALE_NATURE_WORK)
		say_samples(ex, c, &l);
	else
		say_stack(ex, segment, &l);
}

/* Append the application's own account, if there is one that can be true. */
static void
evidence_application(const struct explainer *ex, struct story_verdict *v)
{
	const struct chain_attempt *a;
	char queued[32], worked[32], name[NAME_SIZE];
	struct phrase l;

	if (ex->chain.winner < 0)
		return;
	a = &ex->chain.attempt[ex->chain.winner];
	if (!moment_ordered(a->app_receive, a->app_start) ||
	    !moment_ordered(a->app_start, a->app_finish))
		return;
	l = evidence(v);
	phrase_add(&l,
	    "%s reports that the request waited there for %s and was worked on "
	    "for %s",
	    attempt_name(ex, ex->chain.winner, name),
	    text_ms(queued, a->app_start - a->app_receive),
	    text_ms(worked, a->app_finish - a->app_start));
}

/* True if an entry is of a collection of a server without the request. */
static bool
is_others(const struct explainer *ex, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;

	return (v->type == TALECHAIN_PAUSE_BEGIN ||
		   v->type == TALECHAIN_PAUSE_END) &&
	       v->arg[1] == HAZARD_GC && !e->doubtful &&
	       tale_attempt_of(ex->t, tale_event_server(&e->slot)) < 0;
}

/* The first such collection in the request's time: its end event, or the begin
 * event if it did not end.  NULL: none. */
static const struct talechain_event *
find_unmet(const struct explainer *ex)
{
	const struct tale_entry *e, *open = NULL;
	struct instant begin;

	for (size_t i = 0; i < ex->t->entries; i++) {
		e = &ex->t->entry[i];
		if (!is_others(ex, e))
			continue;
		open = e->slot.event.type == TALECHAIN_PAUSE_BEGIN ? e : NULL;
		begin =
		    tale_earlier(e->at, tale_event_latency_ns(&e->slot.event));
		if (open == NULL && instant_before(begin, ex->t->end) &&
		    instant_before(ex->t->t0, e->at))
			return &e->slot.event;
	}
	return open != NULL && instant_before(open->at, ex->t->end)
		   ? &open->slot.event
		   : NULL;
}

/* Append a pause that the request did not meet, and whether Tailor ordered
 * it. */
static void
evidence_unmet(const struct explainer *ex, struct story_verdict *v)
{
	const struct talechain_event *e = find_unmet(ex);
	struct phrase l;
	char ms[32];

	if (e == NULL)
		return;
	l = evidence(v);
	phrase_add(
	    &l, "%sthe other server collected", l.at[0] != '\0' ? "; " : "");
	if (e->type == TALECHAIN_PAUSE_END)
		phrase_add(
		    &l, " for %s", text_ms(ms, tale_event_latency_ns(e)));
	phrase_add(&l, " meanwhile%s: a pause that this request did not meet",
	    e->arg[2] == TALECHAIN_CAUSE_ORDERED ? ", as Tailor had ordered"
						 : "");
}

void
evidence_write(struct explainer *ex, enum tale_cause cause)
{
	struct story_verdict *v = &ex->s->verdict;
	size_t segment = 0;
	const struct claim *c = tile_longest(ex, cause, &segment);
	char name[NAME_SIZE];
	struct phrase l;

	if (c != NULL && c->rank == RANK_SUM) {
		l = evidence(v);
		evidence_sums(&l);
	} else if (c != NULL && c->pause != NULL)
		evidence_pause(ex, c, v);
	else if (cause == TALE_CAUSE_PAGE_FAULT)
		evidence_faults(ex, v);
	else if (cause == TALE_CAUSE_CLASS_LOADING && c != NULL &&
		 c->attempt >= 0)
		evidence_classes(ex, c->attempt, v);
	else if (c != NULL)
		evidence_piece(ex, cause, segment, v);
	if (c != NULL)
		evidence_stack(ex, c, segment, v);
	evidence_application(ex, v);
	if (ex->chain.winner >= 0 && ex->t->request.attempt[1].server < 0 &&
	    ex->t->request.termination == 0) {
		l = evidence(v);
		say_response(ex, &l, ex->chain.winner);
		if (ex->t->pauses == 0)
			phrase_add(&l, "; Tailor saw no pause of %s meanwhile",
			    attempt_name(ex, ex->chain.winner, name));
	}
	evidence_unmet(ex, v);
	if (ex->s->contradictions > 0) {
		l = evidence(v);
		phrase_add(&l,
		    "%s%u piece%s of the time contradict%s other events, and "
		    "count%s as not observed",
		    l.at[0] != '\0' ? "; " : "", ex->s->contradictions,
		    ex->s->contradictions == 1 ? "" : "s",
		    ex->s->contradictions == 1 ? "s" : "",
		    ex->s->contradictions == 1 ? "s" : "");
	}
	l = evidence(v);
	if (l.at[0] == '\0' && ex->s->coverage < 0.995)
		phrase_add(&l, "%.0f %% of the time is observed",
		    100 * ex->s->coverage);
}

void
story_request_name(struct story *s, unsigned i, const char *external_id,
    const char *method, const char *target)
{
	struct story_request *r = &s->request[i];
	char safe[3][TALE_TEXT], (*line)[STORY_TEXT] = s->verdict.evidence;
	bool first = r->external_id[0] == '\0';
	unsigned n;

	snprintf(r->external_id, sizeof(r->external_id), "%s", external_id);
	snprintf(r->method, sizeof(r->method), "%s", method);
	snprintf(r->target, sizeof(r->target), "%s", target);
	for (n = 0; n < STORY_LINES && line[n][0] != '\0'; n++)
		continue;
	if (first && n < STORY_LINES)
		snprintf(line[n], STORY_TEXT,
		    "request %016" PRIx64 " was %s %s (tailorctl why %s)",
		    r->id, text_safe(safe[0], TALE_TEXT, method),
		    text_safe(safe[1], TALE_TEXT, target),
		    text_safe(safe[2], TALE_TEXT, external_id));
}
