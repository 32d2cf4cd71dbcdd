/*
 * script.c: the interpreter of the policy's scenarios.
 */
#include "tests/unit/hedging/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hedging/hedging.h"

#define WORDS 10
#define REQUESTS 26
#define RESULT_MAX 64

struct stage {
	const struct scenario *scenario;
	struct hedging_limits limits;
	struct hedging h;
	struct instant now;
	bool begun;
	struct race race[REQUESTS];
	struct hedge_view view[REQUESTS];
	unsigned words;
	char *word[WORDS];
	char result[RESULT_MAX];
};

static const struct hedging_limits limits_default = {
    .act = true,
    .triggers = 63,
    .servers = 2,
    .connections_max = {10, 10},
    .aside_max = {100, 100},
    .budget_ratio = 0.1,
    .budget_burst = 20,
    .warmup_requests = 10,
    .warmup_max_ns = 10 * NS_PER_S,
};

static void
stage_fail(const struct stage *g, const char *step, const char *why)
{
	print_error("%s\n  step \"%s\": %s\n", g->scenario->rule, step, why);
	fail();
}

static const char *
word(const struct stage *g, unsigned i)
{
	return i < g->words ? g->word[i] : "";
}

static long
number(const struct stage *g, unsigned i)
{
	return strtol(word(g, i), NULL, 10);
}

static unsigned
server_of(const struct stage *g)
{
	return (unsigned)number(g, 1);
}

static int
attempt_of(const struct stage *g)
{
	return (int)number(g, 2);
}

/* "5ms" and the like. */
static int64_t
duration_ns(const char *text)
{
	char *unit;
	double n = strtod(text, &unit);

	if (strcmp(unit, "us") == 0)
		return (int64_t)(n * (double)NS_PER_US);
	if (strcmp(unit, "ms") == 0)
		return (int64_t)(n * (double)NS_PER_MS);
	if (strcmp(unit, "s") == 0)
		return (int64_t)(n * (double)NS_PER_S);
	return (int64_t)n;
}

static void
result_add(struct stage *g, const char *text)
{
	size_t used = strlen(g->result);

	snprintf(g->result + used, sizeof(g->result) - used, "%s%s",
	    used == 0 ? "" : ",", text);
}

static void
result_yes(struct stage *g, bool yes)
{
	result_add(g, yes ? "yes" : "no");
}

static void
result_actions(struct stage *g, unsigned actions)
{
	if ((actions & HEDGING_SWAPPED) != 0)
		result_add(g, "swap");
	if ((actions & HEDGING_SWEEP) != 0)
		result_add(g, "sweep");
	if ((actions & HEDGING_WARMUP) != 0)
		result_add(g, "warmup");
	if ((actions & HEDGING_STORM) != 0)
		result_add(g, "storm");
	if ((actions & HEDGING_CANCEL) != 0)
		result_add(g, "cancel");
	if (actions == 0)
		result_add(g, "nothing");
}

static enum hedge_trigger
trigger_named(const char *name)
{
	for (unsigned i = 0; i < HEDGE_TRIGGER_COUNT; i++)
		if (strcmp(hedge_trigger_name(i), name) == 0)
			return i;
	fail_msg("no trigger \"%s\"", name);
	return HEDGE_FIRST;
}

static uint8_t
kind_named(const char *name)
{
	for (unsigned i = 0; i < HAZARD_KIND_COUNT; i++)
		if (strcmp(hazard_kind_name((enum hazard_kind)i), name) == 0)
			return (uint8_t)i;
	return (uint8_t)strtoul(name, NULL, 10); /* a hostile one */
}

static struct race *
race_named(struct stage *g, unsigned i)
{
	unsigned index = (unsigned)(word(g, i)[0] - 'a');

	assert_true(index < REQUESTS);
	return &g->race[index];
}

static struct hedge_view *
view_named(struct stage *g, unsigned i)
{
	return &g->view[word(g, i)[0] - 'a'];
}

static void
step_set(struct stage *g)
{
	struct hedging_limits *l = &g->limits;
	const char *key = word(g, 1);
	const struct {
		const char *key;
		unsigned *count; /* one of the three */
		int64_t *time;
		double *fraction;
	} limits[] = {
	    {"triggers", .count = &l->triggers},
	    {"servers", .count = &l->servers},
	    {"conns0", .count = &l->connections_max[0]},
	    {"conns1", .count = &l->connections_max[1]},
	    {"burst", .count = &l->budget_burst},
	    {"aside", .count = &l->aside_max[0]},
	    {"warmup", .count = &l->warmup_requests},
	    {"warmup_max", .time = &l->warmup_max_ns},
	    {"timer_delay", .time = &l->timer_delay_ns},
	    {"ratio", .fraction = &l->budget_ratio},
	    {"timer", .fraction = &l->timer_ratio},
	    {"mirror", .fraction = &l->mirror_ratio},
	};
	size_t i = 0;

	if (strcmp(key, "act") == 0) {
		l->act = number(g, 2) != 0;
		return;
	}
	while (i < COUNT(limits) && strcmp(key, limits[i].key) != 0)
		i++;
	if (i == COUNT(limits))
		fail_msg("no limit \"%s\"", key);
	else if (limits[i].count != NULL)
		*limits[i].count = (unsigned)number(g, 2);
	else if (limits[i].time != NULL)
		*limits[i].time = duration_ns(word(g, 2));
	else
		*limits[i].fraction = strtod(word(g, 2), NULL);
}

/* As if the configuration had no warm-up. */
static unsigned
up_at_once(struct stage *g, unsigned server)
{
	unsigned requests = g->h.limits.warmup_requests, actions;

	g->h.limits.warmup_requests = 0;
	actions = hedging_server_up(&g->h, server, g->now);
	g->h.limits.warmup_requests = requests;
	return actions;
}

static void
step_ready(struct stage *g)
{
	for (unsigned i = 0; i < g->limits.servers; i++) {
		hedging_server_connecting(&g->h, i, g->now);
		up_at_once(g, i);
	}
}

static void
step_up(struct stage *g)
{
	unsigned server = server_of(g);

	result_actions(g, strcmp(word(g, 2), "cold") == 0
			      ? up_at_once(g, server)
			      : hedging_server_up(&g->h, server, g->now));
}

static void
step_hazard(struct stage *g)
{
	struct hazard z = {
	    .server = (uint8_t)number(g, 1),
	    .kind = kind_named(word(g, 2)),
	    .begin = strcmp(word(g, 0), "begin") == 0,
	    .at = g->now,
	};

	z.over = strcmp(word(g, 3), "over") == 0;
	if (strcmp(word(g, 3), "left") == 0)
		z.left_us = (uint32_t)(duration_ns(word(g, 4)) / NS_PER_US);
	else if (g->words > 3 && !z.over) /* seen late: so long ago */
		z.at = instant_plus(g->now, -duration_ns(word(g, 3)));
	result_actions(g, hedging_hazard(&g->h, &z, g->now));
}

/* Whole pauses; the server is active again after each if it was before. */
static void
step_pause(struct stage *g)
{
	struct hazard z = {
	    .server = (uint8_t)number(g, 1), .kind = kind_named(word(g, 2))};
	unsigned active = g->h.active;

	for (long n = g->words > 4 ? number(g, 4) : 1; n > 0; n--) {
		z.begin = 1;
		z.at = g->now;
		hedging_hazard(&g->h, &z, g->now);
		g->now = instant_plus(g->now, duration_ns(word(g, 3)));
		z.begin = 0;
		z.at = g->now;
		hedging_hazard(&g->h, &z, g->now);
		if (g->h.active != active)
			hedging_switch(&g->h, g->now);
		g->now = instant_plus(g->now, NS_PER_S);
	}
}

static void
step_choose(struct stage *g)
{
	int server = hedging_choose(&g->h);

	if (server == HEDGING_FULL)
		result_add(g, "full");
	else if (server == HEDGING_UNAVAILABLE)
		result_add(g, "unavailable");
	else
		snprintf(g->result, sizeof(g->result), "%d%s", server,
		    hedging_hedge_at_start(&g->h, (unsigned)server, g->now)
			? " hedged"
			: "");
}

static void
step_again(struct stage *g)
{
	int server = hedging_choose_for(&g->h, race_named(g, 1));

	if (server >= 0)
		snprintf(g->result, sizeof(g->result), "%d", server);
	else
		result_add(g, server == HEDGING_FULL ? "full" : "unavailable");
}

static void
step_overflow(struct stage *g)
{
	int server = hedging_overflow(&g->h, g->now);

	if (server == HEDGING_UNAVAILABLE)
		result_add(g, "no");
	else
		snprintf(g->result, sizeof(g->result), "%d", server);
}

static void
step_probed(struct stage *g)
{
	unsigned server = server_of(g);

	if (!hedging_probe_wanted(&g->h, server))
		result_add(g, "unwanted");
	else
		result_actions(
		    g, hedging_probe_done(&g->h, server,
			   strcmp(word(g, 2), "silent") != 0, g->now));
}

static void
step_rewrite(struct stage *g)
{
	bool may = race_may_rewrite(race_named(g, 1), view_named(g, 1));

	if (may)
		race_rewrite(race_named(g, 1));
	result_yes(g, may);
}

static void
step_view(struct stage *g)
{
	struct hedge_view *v = view_named(g, 1);

	for (unsigned i = 2; i < g->words; i++) {
		const char *w = word(g, i);

		if (strcmp(w, "unsafe") == 0)
			v->method_allowed = false;
		else if (strcmp(w, "uploading") == 0)
			v->body_complete = false;
		else if (strcmp(w, "big") == 0)
			v->body_kept = false;
		else if (strcmp(w, "upgrade") == 0)
			v->upgrade = true;
		else if (strcmp(w, "optout") == 0)
			v->opted_out = true;
		else if (strcmp(w, "gone") == 0)
			v->client_gone = true;
		else if (strcmp(w, "private") == 0)
			v->private = true;
		else
			v->deadline = instant_plus(g->now, duration_ns(w));
	}
}

static bool
stage_ask(struct stage *g, enum hedge_trigger trigger, int *server)
{
	enum hedge_refusal refusal = hedging_decide(
	    &g->h, race_named(g, 1), view_named(g, 1), trigger, g->now, server);

	if (refusal != HEDGE_REFUSED_NONE)
		result_add(g, hedge_refusal_name(refusal));
	else
		snprintf(g->result, sizeof(g->result), "yes %d", *server);
	return refusal == HEDGE_REFUSED_NONE;
}

static void
step_ask(struct stage *g)
{
	int server;

	stage_ask(g, trigger_named(word(g, 2)), &server);
}

static void
step_hedge(struct stage *g)
{
	enum hedge_trigger trigger = trigger_named(word(g, 2));
	int server;

	if (stage_ask(g, trigger, &server))
		race_start(&g->h, race_named(g, 1), (unsigned)server, trigger);
}

static void
result_step(struct stage *g, enum race_step step, int server)
{
	static const char *const names[] = {
	    [RACE_COLLECT] = "collect",
	    [RACE_HOLD] = "hold",
	    [RACE_DISCARD] = "discard",
	    [RACE_WAIT] = "wait",
	    [RACE_TRY] = "try",
	    [RACE_QUEUE] = "queue",
	    [RACE_SEND_HELD] = "send",
	    [RACE_RESTART] = "restart",
	    [RACE_GIVE_UP] = "give up",
	};

	result_add(g, names[step]);
	if (server >= 0) {
		size_t used = strlen(g->result);

		snprintf(
		    g->result + used, sizeof(g->result) - used, " %d", server);
	}
}

static void
step_ended(struct stage *g)
{
	const char *how = word(g, 3);
	enum attempt_end end =
	    strcmp(how, "complete") == 0 ? ATTEMPT_END_COMPLETE
	    : strcmp(how, "unsent") == 0 ? ATTEMPT_END_UNSENT
					 : ATTEMPT_END_FAILED;
	bool unwritten = strcmp(word(g, g->words - 1), "unwritten") == 0;
	int64_t latency_ns = -1;
	int server;
	enum race_step step;

	if (g->words > (unwritten ? 5 : 4))
		latency_ns = duration_ns(word(g, 4));
	step = race_ended(&g->h, race_named(g, 1), attempt_of(g), end,
	    latency_ns, !unwritten && end != ATTEMPT_END_UNSENT,
	    view_named(g, 1), g->now, &server);
	result_step(g, step, server);
}

static void
step_finish(struct stage *g)
{
	for (long n = g->words > 1 ? number(g, 1) : 1; n > 0; n--)
		hedging_request_end(&g->h);
}

static void
step_answer(struct stage *g)
{
	long n = g->words > 3 ? number(g, 3) : 1;
	int status = g->words > 4 ? (int)number(g, 4) : 200;
	int64_t latency_ns = duration_ns(word(g, 2));
	struct race r;
	int server;

	while (n-- > 0) {
		race_init(&r);
		race_start(&g->h, &r, server_of(g), HEDGE_FIRST);
		g->now = instant_plus(g->now, latency_ns);
		race_head(&r, 0, status);
		assert_true(race_commit(&g->h, &r, 0));
		race_ended(&g->h, &r, 0, ATTEMPT_END_COMPLETE, latency_ns, true,
		    &g->view[0], g->now, &server);
	}
}

static void
step_late(struct stage *g)
{
	struct race r;
	int server;

	for (long n = number(g, 3); n > 0; n--) {
		race_init(&r);
		race_start(&g->h, &r, server_of(g), HEDGE_FIRST);
		race_late(&g->h, &r, 0,
		    instant_plus(g->now, -duration_ns(word(g, 2))), g->now);
		race_abandon(&g->h, &r);
		race_ended(&g->h, &r, 0, ATTEMPT_END_FAILED, -1, true,
		    &g->view[0], g->now, &server);
	}
}

static void
step_warm(struct stage *g)
{
	struct instant next;
	unsigned due = hedging_warmup_due(&g->h, server_of(g), g->now, &next);
	int64_t in_ms = instant_since(next, g->now) / NS_PER_MS;

	if (instant_is_set(next))
		snprintf(g->result, sizeof(g->result), "%u in %lldms", due,
		    (long long)in_ms);
	else
		snprintf(g->result, sizeof(g->result), "%u", due);
}

static void
step_warmed(struct stage *g)
{
	bool ok = strcmp(word(g, 0), "warmed") == 0;
	unsigned server = server_of(g);
	unsigned actions = 0;

	for (long n = number(g, 2); n > 0; n--) {
		hedging_warmup_sent(&g->h, server);
		actions |= hedging_warmup_done(
		    &g->h, server, ok, duration_ns(word(g, 3)), g->now);
	}
	result_actions(g, actions);
}

static void
step_timer(struct stage *g)
{
	int64_t ns = hedging_timer_ns(&g->h, server_of(g));

	if (ns < 0)
		result_add(g, "off");
	else
		snprintf(g->result, sizeof(g->result), "%lld",
		    (long long)(ns / NS_PER_US));
}

/* Fields that are numbers. */
static void
step_show(struct stage *g)
{
	const struct hedging *h = &g->h;
	const struct hedging_server *s = &h->server[number(g, 2) & 1];
	const struct {
		const char *name;
		double value;
	} fields[] = {
	    {"active", h->active},
	    {"tokens", h->tokens},
	    {"swaps", (double)h->swaps},
	    {"cancelled", (double)h->hedges_cancelled},
	    {"storms", (double)h->storms},
	    {"swaps_refused", (double)h->swaps_refused},
	    {"expired", (double)h->hazards_expired},
	    {"waited", (double)h->waited_out[HAZARD_SAFEPOINT] +
			   (double)h->waited_out[HAZARD_QUOTA]},
	    {"regret_us",
		(double)h->regret_ns[HAZARD_SAFEPOINT] / (double)NS_PER_US},
	    {"until_us",
		!instant_is_set(hedging_wait_until(h))
		    ? -1
		    : (double)instant_since(hedging_wait_until(h), g->now) /
			  (double)NS_PER_US},
	    {"inflight", s->inflight},
	    {"aside", s->aside},
	    {"hedges", s->hedges},
	    {"draining", s->draining},
	    {"hazards", s->hazards},
	    {"errors", s->errors},
	    {"failing", s->failing},
	    {"p50_us", (double)s->latency_p50_ns / (double)NS_PER_US},
	    {"p95_us", (double)s->latency_p95_ns / (double)NS_PER_US},
	    {"p99_us", (double)s->latency_p99_ns / (double)NS_PER_US},
	    {"hazard_ms", !instant_is_set(s->hazard_since)
			      ? -1
			      : (double)instant_since(g->now, s->hazard_since) /
				    (double)NS_PER_MS},
	};

	if (strcmp(word(g, 1), "state") == 0) {
		result_add(g, server_state_name(s->state));
		return;
	}
	if (strcmp(word(g, 1), "trigger") == 0) {
		result_add(g, hedge_trigger_name(hedging_hazard_trigger(
				  h, (unsigned)number(g, 2))));
		return;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(word(g, 1), fields[i].name) == 0) {
			snprintf(g->result, sizeof(g->result), "%.6g",
			    fields[i].value);
			return;
		}
	fail_msg("no field \"%s\"", word(g, 1));
}

/* Steps that are one call each. */
#define STEPS(X)                                                               \
	X(reload, hedging_limits_set(&g->h, &g->limits))                       \
	X(wait, g->now = instant_plus(g->now, duration_ns(word(g, 1))))        \
	X(connecting, result_actions(g, hedging_server_connecting(             \
					    &g->h, server_of(g), g->now)))     \
	X(down, result_actions(                                                \
		    g, hedging_server_down(&g->h, server_of(g), g->now)))      \
	X(withdraw, result_actions(g, hedging_server_withdrawn(                \
					  &g->h, server_of(g), g->now)))       \
	X(switch, result_actions(g, hedging_switch(&g->h, g->now)))            \
	X(tick, result_actions(g, hedging_tick(&g->h, g->now)))                \
	X(drain, hedging_drain_begin(&g->h, server_of(g)))                     \
	X(drained,                                                             \
	    result_actions(g, hedging_drain_end(&g->h, server_of(g), g->now))) \
	X(removed, result_actions(g, hedging_active_removed(&g->h, g->now)))   \
	X(other, result_yes(g, hedging_has_other(&g->h, race_named(g, 1),      \
				   view_named(g, 1))))                         \
	X(aside, result_yes(g, race_release_slot(                              \
				   &g->h, race_named(g, 1), attempt_of(g))))   \
	X(due, result_yes(                                                     \
		   g, hedging_collection_due(&g->h, server_of(g),              \
			  instant_plus(g->now, -duration_ns(word(g, 2))))))    \
	X(start, race_start(&g->h, race_named(g, 1), (unsigned)number(g, 2),   \
		     g->words > 3 ? trigger_named(word(g, 3)) : HEDGE_FIRST))  \
	X(head,                                                                \
	    result_step(g,                                                     \
		race_head(race_named(g, 1), attempt_of(g), (int)number(g, 3)), \
		-1))                                                           \
	X(commit, result_yes(                                                  \
		      g, race_commit(&g->h, race_named(g, 1), attempt_of(g)))) \
	X(abandon, race_abandon(&g->h, race_named(g, 1)))                      \
	X(cut, race_cut(race_named(g, 1), attempt_of(g)))                      \
	X(idle,                                                                \
	    result_yes(g, hedging_hedge_obsolete(&g->h, race_named(g, 1))))    \
	X(overtake,                                                            \
	    result_yes(g, hedging_may_overtake(&g->h, race_named(g, 1),        \
			      attempt_of(g), view_named(g, 1))))               \
	X(rival,                                                               \
	    result_yes(g, race_has_rival(race_named(g, 1), attempt_of(g))))    \
	X(warmsent, hedging_warmup_sent(&g->h, server_of(g)))                  \
	X(pushback, hedging_pushback(                                          \
			&g->h, server_of(g), duration_ns(word(g, 2)), g->now)) \
	X(turn,                                                                \
	    result_add(                                                        \
		g, hedging_hedge_turn(&g->h, server_of(g)) ? "hedge" : "new"))

#define STEP_X(name, call)                       \
	static void step_##name(struct stage *g) \
	{                                        \
		call;                            \
	}
STEPS(STEP_X)
#undef STEP_X

static const struct {
	const char *name;
	void (*run)(struct stage *g);
} steps[] = {
#define STEP_X(name, call) {#name, step_##name},
    STEPS(STEP_X)
#undef STEP_X
	{"ready", step_ready},
    {"up", step_up},
    {"begin", step_hazard},
    {"end", step_hazard},
    {"pause", step_pause},
    {"choose", step_choose},
    {"again", step_again},
    {"overflow", step_overflow},
    {"probed", step_probed},
    {"rewrite", step_rewrite},
    {"view", step_view},
    {"ask", step_ask},
    {"hedge", step_hedge},
    {"ended", step_ended},
    {"finish", step_finish},
    {"answer", step_answer},
    {"late", step_late},
    {"warm", step_warm},
    {"warmed", step_warmed},
    {"warmfail", step_warmed},
    {"timer", step_timer},
    {"?", step_show},
};

static void
stage_step(struct stage *g)
{
	if (strcmp(word(g, 0), "set") == 0) {
		step_set(g);
		return;
	}
	if (!g->begun) {
		hedging_init(&g->h, &g->limits);
		g->begun = true;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strcmp(word(g, 0), steps[i].name) == 0) {
			steps[i].run(g);
			return;
		}
	fail_msg("no step \"%s\"", word(g, 0));
}

/* One "words => result". */
static void
stage_line(struct stage *g, char *line)
{
	char copy[128];
	char *expected = strstr(line, "=>");
	char *save = NULL;

	snprintf(copy, sizeof(copy), "%s", line);
	if (expected != NULL) {
		*expected = '\0';
		expected += 2;
		expected += strspn(expected, " \t");
		expected[strcspn(expected, "\r\n")] = '\0';
	}
	g->words = 0;
	g->result[0] = '\0';
	for (char *w = strtok_r(line, " \t", &save); w != NULL;
	     w = strtok_r(NULL, " \t", &save)) {
		assert_true(g->words < WORDS);
		g->word[g->words++] = w;
	}
	if (g->words == 0)
		return;
	stage_step(g);
	if (expected != NULL && strcmp(expected, g->result) != 0) {
		char why[128];

		snprintf(why, sizeof(why), "got \"%s\"", g->result);
		stage_fail(g, copy, why);
	}
}

void
scenario_run(const struct scenario *s)
{
	static struct stage g;
	char *text = strdup(s->script);
	char *save = NULL;

	assert_non_null(text);
	memset(&g, 0, sizeof(g));
	g.scenario = s;
	g.limits = limits_default;
	g.now = (struct instant){1000 * (uint64_t)NS_PER_S};
	for (unsigned i = 0; i < REQUESTS; i++) {
		race_init(&g.race[i]);
		g.view[i] = (struct hedge_view){.method_allowed = true,
		    .body_complete = true,
		    .body_kept = true};
	}
	for (char *line = strtok_r(text, ";\n", &save); line != NULL;
	     line = strtok_r(NULL, ";\n", &save)) {
		size_t n = strlen(line);

		while (n > 0 && line[n - 1] == ' ')
			line[--n] = '\0';
		stage_line(&g, line);
	}
	free(text);
}

void
scenarios_run(const struct scenario *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		scenario_run(&s[i]);
}
