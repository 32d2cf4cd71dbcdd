/* rates.c: rates from words of channels and pages, sampled by the observer.
 *
 * A server has a channel for each of its threads; their queues and their
 * agents' counts are added up.  Without an agent, the JVM's performance page
 * counts classes and compilations; only the page has the heap. */
#include "profiler/observer/rates.h"

#include "profiler/counters/cycles.h"

#define USUAL_MAX ((UINT64_C(1) << 24) - 1)
#define INTERVAL_MAX ((INT64_C(1) << 40) - 1)

/* The words, in the order of struct rate_words. */
static const struct {
	enum talechain_rate signal;
	enum talechain_word word; /* WORDS: no channel has it */
	bool level;		  /* report the value, not its growth */
} words[RATE_WORDS] = {
    {TALECHAIN_RATE_QUEUE, TALECHAIN_WORD_QUEUE, true},
    {TALECHAIN_RATE_CLASSES, TALECHAIN_WORD_CLASSES, false},
    {TALECHAIN_RATE_COMPILED, TALECHAIN_WORD_COMPILED, false},
    {TALECHAIN_RATE_HEAP, TALECHAIN_WORDS, true},
};

void
rate_note(struct observer_output *o, const struct rate *r, struct instant at,
    struct instant seen)
{
	uint64_t usual =
	    r->usual_milli < USUAL_MAX ? r->usual_milli : USUAL_MAX;
	int64_t interval_ns =
	    r->interval_ns < INTERVAL_MAX ? r->interval_ns : INTERVAL_MAX;
	struct observer_event n = {.type = TALECHAIN_RATE,
	    .server = r->server,
	    .at = at,
	    .seen = seen,
	    .arg = {(uint64_t)r->signal, r->count, r->base,
		usual << 40 | (uint64_t)interval_ns}};

	output_emit_on(o, &n, r->cpu);
	count_add(&o->counters.rates, 1);
}

static void
words_add(struct rate_words *w, unsigned i, uint64_t value)
{
	w->value[i] += value;
	w->has[i] = true;
}

/* Read the words of a server. */
static void
words_take(struct rate_words *w, const struct rates_sources *s, unsigned server)
{
	const struct hsperf_page *p = s->page[server];
	const struct channel *c;

	w->clock.begin = cycles_in_order();
	for (unsigned k = 0; k < s->channels && k < RATE_LOOKS; k++) {
		c = s->channel[k];
		if (c->ending || __atomic_load_n(&c->server,
				     __ATOMIC_RELAXED) != (int)server)
			continue;
		for (unsigned i = 0; i < RATE_WORDS; i++)
			if (words[i].word < TALECHAIN_WORDS &&
			    (words[i].level ? c->kind == TALECHAIN_KIND_APP
					    : c->kind == TALECHAIN_KIND_JVM))
				words_add(w, i,
				    __atomic_load_n(
					&c->memory->word[words[i].word],
					__ATOMIC_RELAXED));
	}
	if (p != NULL && !hsperf_page_is_dead(p)) {
		if (!w->has[1] && p->classes_at != 0)
			words_add(w, 1, hsperf_page_count(p, p->classes_at));
		if (!w->has[2] && p->compiled_at != 0)
			words_add(w, 2, hsperf_page_count(p, p->compiled_at));
		if (s->heap[server].collector != 0)
			words_add(w, 3,
			    s->heap[server].word[PROFILER_HEAP_EDEN_USED]);
	}
	w->clock.end = cycles_in_order();
}

/* Emit the rates of one server's words since the last sample. */
static void
words_rate(const struct rates_watch *w, unsigned server,
    const struct rate_words *was, const struct rate_words *is,
    struct observer_output *o)
{
	struct rate r = {.server = (int)server,
	    .cpu = -1,
	    .interval_ns = instant_since(is->at, was->at)};

	for (unsigned i = 0; i < RATE_WORDS; i++) {
		if ((w->signals >> words[i].signal & 1) == 0 || !is->has[i])
			continue;
		r.signal = words[i].signal;
		r.count = is->value[i];
		r.base = 1;
		if (!words[i].level) {
			/* If the value decreased, it is of another JVM or
			 * source. */
			if (!was->has[i] || is->value[i] < was->value[i])
				continue;
			r.count -= was->value[i];
			r.base = (uint64_t)r.interval_ns;
		}
		rate_note(o, &r, is->at, is->at);
	}
}

void
rates_sweep(struct rates_watch *w, const struct rates_sources *s,
    struct observer_output *o, struct instant now)
{
	struct rate_words is;

	if (w->signals == 0 || instant_before(now, w->due))
		return;
	w->due = instant_plus(now, w->period_ns);
	for (unsigned i = 0; i < s->servers; i++) {
		memset(&is, 0, sizeof(is));
		is.known = true;
		is.at = now;
		words_take(&is, s, i);
		if (w->server[i].known &&
		    dte_keep(w->server[i].clock, is.clock, DTE_MARGIN_PPM) &&
		    instant_before(w->server[i].at, now))
			words_rate(w, i, &w->server[i], &is, o);
		else if (w->server[i].known)
			count_add(&o->counters.rates_dropped, 1);
		w->server[i] = is;
	}
}
