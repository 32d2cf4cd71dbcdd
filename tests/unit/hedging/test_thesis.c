/*
 * Goal: the thesis's experiment in simulation: the active server pauses again
 * and again; hedges per pause are exactly the requests in flight, the extra
 * load is W * f, and no client sees the pause.
 *
 * Discrete events, Poisson arrivals, exponential service times on servers
 * that work on all requests at once; a paused server stands still.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/random.h"
#include "hedging/hedging.h"

#define FLYING_MAX 1024
#define LATENCIES_MAX 300000
#define NEVER UINT64_MAX

struct setting {
	double rate_per_s;
	int64_t service_ns; /* mean */
	int64_t period_ns;  /* from one pause of the active to the next */
	int64_t pause_ns;
	unsigned pauses;
	bool act;
};

/* T4: short safepoints beside the pauses, which then are safepoints, too. */
static struct {
	int64_t period_ns; /* 0: none */
	int64_t length_ns;
} stops;

struct flight {
	bool live; /* an attempt of it is with a server */
	bool answered;
	struct race race;
	struct instant arrived;
	int64_t service_max_ns;
	struct instant began[RACE_ATTEMPTS];
	uint64_t done_ns[RACE_ATTEMPTS]; /* NEVER: not running */
};

struct simulation {
	const struct setting *setting;
	struct hedging h;
	struct instant now;
	uint64_t seed;
	uint64_t next_arrival_ns, next_pause_ns, resume_ns, next_stop_ns;
	unsigned paused; /* which, while resume_ns is set */
	struct flight flight[FLYING_MAX];
	struct flight *end; /* of those that were used so far */
	/* results */
	uint64_t requests, answers, hedges, pauses;
	uint64_t late; /* took longer than two whole services */
	int64_t latency_max_ns, latency_sum_ns;
	int64_t latency_ns[LATENCIES_MAX];
};

static const struct hedge_view safe = {
    .method_allowed = true, .body_complete = true, .body_kept = true};

/* Exponential with the given mean, never 0. */
static int64_t
draw_ns(struct simulation *s, double mean_ns)
{
	double u = random_unit(splitmix64(&s->seed));

	return 1 + (int64_t)(-log1p(-u) * mean_ns);
}

static bool
is_paused(const struct simulation *s, unsigned server)
{
	return s->resume_ns != NEVER && s->paused == server;
}

static void
attempt_begin(struct simulation *s, struct flight *f, unsigned server,
    enum hedge_trigger trigger)
{
	int i = race_start(&s->h, &f->race, server, trigger);
	int64_t service_ns = draw_ns(s, (double)s->setting->service_ns);
	uint64_t from_ns = is_paused(s, server) ? s->resume_ns : s->now.ns;

	f->began[i] = s->now;
	f->done_ns[i] = from_ns + (uint64_t)service_ns;
	if (service_ns > f->service_max_ns)
		f->service_max_ns = service_ns;
}

static void
arrive(struct simulation *s)
{
	struct flight *f = s->flight;
	int server = hedging_choose(&s->h);

	while (f < s->end && f->live)
		f++;
	assert_true(f < s->flight + FLYING_MAX);
	s->end += f == s->end;
	assert_in_range(server, 0, 1); /* nothing queues here */
	memset(f, 0, sizeof(*f));
	f->live = true;
	f->arrived = s->now;
	f->done_ns[0] = f->done_ns[1] = NEVER;
	race_init(&f->race);
	attempt_begin(s, f, (unsigned)server, HEDGE_FIRST);
	s->requests++;
	s->next_arrival_ns =
	    s->now.ns +
	    (uint64_t)draw_ns(s, (double)NS_PER_S / s->setting->rate_per_s);
}

static void
answer(struct simulation *s, struct flight *f, int i)
{
	int64_t latency_ns = instant_since(s->now, f->arrived);
	int rival = 1 - i;

	f->answered = true;
	assert_true(s->answers < LATENCIES_MAX);
	s->latency_ns[s->answers++] = latency_ns;
	s->latency_sum_ns += latency_ns;
	if (latency_ns > s->latency_max_ns)
		s->latency_max_ns = latency_ns;
	if (latency_ns > 2 * f->service_max_ns)
		s->late++;
	assert_true(race_commit(&s->h, &f->race, i));
	if (f->done_ns[rival] != NEVER)
		hedging_drain_begin(
		    &s->h, (unsigned)f->race.attempt[rival].server);
	hedging_request_end(&s->h);
}

static void
complete(struct simulation *s, struct flight *f, int i)
{
	unsigned server = (unsigned)f->race.attempt[i].server;
	enum race_step step = race_head(&f->race, i, 200);
	bool loser = f->answered;
	int next;

	assert_int_equal(step, loser ? RACE_DISCARD : RACE_COLLECT);
	if (!loser)
		answer(s, f, i);
	f->done_ns[i] = NEVER;
	race_ended(&s->h, &f->race, i, ATTEMPT_END_COMPLETE,
	    instant_since(s->now, f->began[i]), true, &safe, s->now, &next);
	if (loser)
		hedging_drain_end(&s->h, server, s->now);
	f->live = f->done_ns[1 - i] != NEVER;
}

static enum hazard_kind
kind(void)
{
	return stops.period_ns > 0 ? HAZARD_SAFEPOINT : HAZARD_GC;
}

static unsigned
sweep(struct simulation *s, unsigned todo)
{
	unsigned hedged = 0;

	if ((todo & HEDGING_SWEEP) == 0)
		return 0;
	for (struct flight *f = s->flight; f < s->end; f++) {
		enum hedge_trigger trigger =
		    hedging_hazard_trigger(&s->h, s->paused);
		int server;

		if (!f->live || f->answered ||
		    hedging_decide(&s->h, &f->race, &safe, trigger, s->now,
			&server) != HEDGE_REFUSED_NONE)
			continue;
		attempt_begin(s, f, (unsigned)server, trigger);
		hedged++;
	}
	s->hedges += hedged;
	return hedged;
}

/* The active stops: what it had begun is done later. */
static unsigned
stop_begin(struct simulation *s, int64_t length_ns, unsigned *flying)
{
	struct hazard z = {.kind = (uint8_t)kind(), .begin = 1, .at = s->now};

	*flying = 0;
	s->paused = s->h.active;
	z.server = (uint8_t)s->paused;
	s->resume_ns = s->now.ns + (uint64_t)length_ns;
	for (struct flight *f = s->flight; f < s->end; f++)
		for (int i = 0; i < RACE_ATTEMPTS; i++)
			if (f->live && f->done_ns[i] != NEVER &&
			    f->race.attempt[i].server == (int)s->paused) {
				f->done_ns[i] += (uint64_t)length_ns;
				*flying += !f->answered;
			}
	return hedging_hazard(&s->h, &z, s->now);
}

static void
pause_begin(struct simulation *s)
{
	unsigned flying, todo = stop_begin(s, s->setting->pause_ns, &flying);

	s->pauses++;
	s->next_pause_ns += (uint64_t)s->setting->period_ns;
	if (stops.period_ns > 0) {
		sweep(s, todo);
		return;
	}
	assert_int_equal(
	    todo, s->setting->act ? HEDGING_SWAPPED | HEDGING_SWEEP : 0);
	/* the heart of it: nothing more and nothing less */
	if (todo != 0)
		assert_int_equal(sweep(s, todo), flying);
}

/* A short one, unless it stands anyway. */
static void
short_begin(struct simulation *s)
{
	unsigned flying;

	s->next_stop_ns += (uint64_t)stops.period_ns;
	if (s->resume_ns == NEVER)
		sweep(s, stop_begin(s, stops.length_ns, &flying));
}

static void
pause_end(struct simulation *s)
{
	const struct hazard z = {.server = (uint8_t)s->paused,
	    .kind = (uint8_t)kind(),
	    .at = s->now};
	unsigned todo = hedging_hazard(&s->h, &z, s->now);

	assert_int_equal(todo & HEDGING_SWAPPED, 0); /* T5 */
	s->resume_ns = NEVER;
}

/* The attempt that is done first; NULL if none runs. */
static struct flight *
earliest(struct simulation *s, int *attempt, uint64_t *at_ns)
{
	struct flight *first = NULL;

	*at_ns = NEVER;
	for (struct flight *f = s->flight; f < s->end; f++)
		for (int i = 0; f->live && i < RACE_ATTEMPTS; i++)
			if (f->done_ns[i] < *at_ns) {
				*at_ns = f->done_ns[i];
				*attempt = i;
				first = f;
			}
	return first;
}

/* Arrivals end with the last pause's period; what is there is finished. */
static void
simulate(struct simulation *s)
{
	uint64_t end_ns = s->now.ns + (uint64_t)s->setting->period_ns *
					  (s->setting->pauses + 1);

	for (;;) {
		int attempt = 0;
		uint64_t done_ns, arrival_ns = s->next_arrival_ns;
		uint64_t pause_ns = s->next_pause_ns;
		uint64_t stop_ns = s->next_stop_ns;
		struct instant wait = hedging_wait_until(&s->h);
		struct flight *f = earliest(s, &attempt, &done_ns);

		if (arrival_ns >= end_ns)
			arrival_ns = NEVER;
		if (pause_ns >= end_ns)
			pause_ns = NEVER;
		if (stop_ns >= end_ns)
			stop_ns = NEVER;
		if (f == NULL && arrival_ns == NEVER && s->resume_ns == NEVER &&
		    pause_ns == NEVER)
			return;
		if (instant_is_set(wait) && wait.ns < s->resume_ns &&
		    wait.ns <= done_ns && wait.ns <= arrival_ns) {
			s->now = wait;
			sweep(s, hedging_tick(&s->h, s->now));
		} else if (s->resume_ns <= done_ns &&
			   s->resume_ns <= arrival_ns &&
			   s->resume_ns <= pause_ns &&
			   s->resume_ns <= stop_ns) {
			s->now.ns = s->resume_ns;
			pause_end(s);
		} else if (stop_ns <= done_ns && stop_ns <= arrival_ns &&
			   stop_ns < pause_ns) {
			s->now.ns = stop_ns;
			short_begin(s);
		} else if (pause_ns <= done_ns && pause_ns <= arrival_ns) {
			s->now.ns = pause_ns;
			pause_begin(s);
		} else if (f != NULL && done_ns <= arrival_ns) {
			s->now.ns = done_ns;
			complete(s, f, attempt);
		} else {
			s->now.ns = arrival_ns;
			arrive(s);
		}
	}
}

static void
simulation_init(struct simulation *s, const struct setting *setting)
{
	const struct hedging_limits limits = {
	    .act = setting->act,
	    .triggers = 7,
	    .servers = 2,
	    .connections_max = {FLYING_MAX, FLYING_MAX},
	    .budget_ratio = 0.1,
	};

	memset(s, 0, sizeof(*s));
	s->end = s->flight;
	s->setting = setting;
	s->seed = 2017;
	s->now = (struct instant){1000 * (uint64_t)NS_PER_S};
	s->resume_ns = NEVER;
	s->next_arrival_ns = s->now.ns;
	s->next_pause_ns = s->now.ns + (uint64_t)setting->period_ns;
	s->next_stop_ns = NEVER;
	if (stops.period_ns > 0)
		s->next_stop_ns = s->now.ns + (uint64_t)stops.period_ns;
	hedging_init(&s->h, &limits);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		hedging_server_up(&s->h, i, s->now);
}

static struct simulation simulation;

TEST(test_extra_load_is_w_f)
{
	static const struct setting settings[] = {
	    /* 1000/s, 2 ms, 200 ms every 2 s: W f = 0.1 % */
	    {1000, 2 * NS_PER_MS, 2 * NS_PER_S, 200 * NS_PER_MS, 100, true},
	    /* 5 ms, 0.5/s: 0.25 % */
	    {1000, 5 * NS_PER_MS, 2 * NS_PER_S, 200 * NS_PER_MS, 100, true},
	    /* 50 ms, 1/s: 5 % */
	    {1000, 50 * NS_PER_MS, NS_PER_S, 100 * NS_PER_MS, 100, true},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		const struct setting *t = &settings[i];
		struct simulation *s = &simulation;
		double wf, extra, slack;

		simulation_init(s, t);
		simulate(s);
		/* by Little's law: W as set, f as seen */
		wf = (double)t->service_ns / (double)t->period_ns *
		     ((double)t->pauses / (t->pauses + 1));
		extra = (double)s->hedges / (double)s->requests;
		/* hedges are Poisson: four standard deviations */
		slack = 4 * sqrt((double)s->hedges) / (double)s->requests;
		assert_int_equal(s->pauses, t->pauses);
		assert_int_equal(s->answers, s->requests);
		assert_int_equal(s->h.swaps, s->pauses);
		assert_true(fabs(extra - wf) < slack);
		/* nobody waited for the end of a pause */
		assert_int_equal(s->late, 0);
	}
}

/* Goal: the same without acting shows the pause, so the test above can. */
TEST(test_watching_shows_the_pause)
{
	static const struct setting setting = {
	    1000, 2 * NS_PER_MS, 2 * NS_PER_S, 200 * NS_PER_MS, 20, false};
	struct simulation *s = &simulation;

	simulation_init(s, &setting);
	simulate(s);
	assert_int_equal(s->answers, s->requests);
	assert_int_equal(s->hedges, 0);
	assert_int_equal(s->h.swaps, 0);
	assert_true(s->latency_max_ns > setting.pause_ns * 9 / 10);
	/* about 200 of every 2000 requests meet a pause */
	assert_true(s->late * 20 > s->requests);
}

static double
p99_ms(struct simulation *s)
{
	size_t rank = s->answers * 99 / 100;

	array_sort_int64(s->latency_ns, s->answers);
	return (double)s->latency_ns[rank] / (double)NS_PER_MS;
}

/* Goal: with safepoint among the triggers, 20 of 0.3 ms a second make no storm,
 * no swap and no hedge, and p99 stays within 0.5 ms of none; one of 60 ms among
 * them is hedged. */
TEST(test_short_safepoints)
{
	static const struct setting setting = {
	    1000, 2 * NS_PER_MS, 2 * NS_PER_S, 60 * NS_PER_MS, 50, true};
	struct simulation *s = &simulation;
	double none_ms, waiting_ms;

	stops.length_ns = 300 * NS_PER_US;
	stops.period_ns = 1000 * NS_PER_S; /* none */
	simulation_init(s, &setting);
	simulate(s);
	none_ms = p99_ms(s);
	stops.period_ns = 49 * NS_PER_MS;
	simulation_init(s, &setting);
	simulate(s);
	waiting_ms = p99_ms(s);
	assert_int_equal(s->answers, s->requests);
	assert_true(fabs(waiting_ms - none_ms) < 0.5);
	assert_int_equal(s->h.storms, 0);
	assert_int_equal(s->h.swaps, s->pauses);
	assert_true(s->h.waited_out[HAZARD_SAFEPOINT] > 1900);
	assert_true(s->hedges > s->pauses);
	assert_int_equal(s->h.refused[HEDGE_REFUSED_STORM], 0);
	stops.period_ns = 0;
}
