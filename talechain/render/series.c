/* series.c: rates of servers and CPUs, as curves under the lanes. */
#include "talechain/events/events.h"
#include "talechain/render/scene.h"

/* Find the lane under which a period is drawn; false: under none. */
static bool
period_lane(struct explainer *ex, const struct rate_period *p, unsigned *lane)
{
	const struct story *s = ex->s;
	enum story_lane_kind kind =
	    p->server >= 0 ? STORY_LANE_SERVER : STORY_LANE_CPU;
	int number = p->server >= 0 ? p->server : p->cpu;
	size_t best = s->lanes;

	for (size_t i = 0; i < s->lanes; i++)
		if (s->lane[i].kind == kind && s->lane[i].number == number &&
		    (best == s->lanes || s->lane[i].tid < s->lane[best].tid))
			best = i;
	*lane = (unsigned)best;
	if (best < s->lanes)
		return true;
	/* A CPU that the request did not touch has no lane. */
	if (p->server < 0 || tale_attempt_of(ex->t, p->server) < 0)
		return false;
	*lane = lane_get(ex, STORY_LANE_SERVER, number, 0);
	return true;
}

/* The curve of a signal on a lane, added if it is new; NULL: no room. */
static struct story_series *
series_get(struct explainer *ex, uint64_t signal, unsigned lane)
{
	struct story *s = ex->s;
	const struct talechain_rate_name *name = talechain_rate_find(signal);

	for (size_t i = 0; i < s->curves; i++)
		if (s->series[i].signal == signal && s->series[i].lane == lane)
			return &s->series[i];
	if (s->curves == STORY_SERIES_MAX)
		return NULL;
	ARRAY_ADD(&ex->failed, s->series, s->curves,
	    (struct story_series){.signal = (unsigned)signal,
		.lane = lane,
		.name = name->name,
		.unit = name->unit});
	return ex->failed ? NULL : &s->series[s->curves - 1];
}

static void
series_point(
    struct explainer *ex, struct story_series *x, const struct rate_period *p)
{
	double worth = talechain_rate_find(p->signal)->worth;
	struct story_point at = {.begin_ns = moment_cut(ex->t, p->begin_ns),
	    .end_ns = moment_cut(ex->t, p->end_ns),
	    .value = p->count / p->base * worth};

	/* Only hostile input has overlapping periods of one signal. */
	if (x->points > 0 && at.begin_ns < x->point[x->points - 1].end_ns)
		at.begin_ns = x->point[x->points - 1].end_ns;
	if (at.begin_ns >= at.end_ns)
		return;
	ARRAY_ADD(&ex->failed, x->point, x->points, at);
	if (at.value > x->most)
		x->most = at.value;
	if (p->usual > 0)
		x->usual = p->usual * worth;
}

void
series_find(struct explainer *ex)
{
	struct story_series *x;
	struct rate_period p;
	unsigned lane;

	for (size_t i = 0; i < ex->t->entries && !ex->failed; i++) {
		if (!rate_period_of(ex, &ex->t->entry[i], &p) ||
		    p.end_ns <= 0 || p.begin_ns >= ex->s->total_ns ||
		    !period_lane(ex, &p, &lane))
			continue;
		x = series_get(ex, p.signal, lane);
		if (x != NULL)
			series_point(ex, x, &p);
	}
}
