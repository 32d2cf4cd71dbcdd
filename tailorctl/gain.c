/* gain.c: "tailorctl gain": in watch mode, latencies of clients and estimated
 * latencies with Tailor acting; while it acts, the ledger.
 *
 * Each request that met a pause was drawn several times, so the number of
 * requests above a value is a fraction.  The k-th slowest request is estimated
 * where about k are expected above.  Its interval is of another time, as long:
 * where so many, or so few, are expected that k of them have a probability of
 * 2.5 %, counts being Poisson, and the expectation a count as well. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "base/terminal.h"

#define BLOCKS_MAX 96
#define BUCKETS_MAX 320
#define Z 1.96	   /* 95 % */
#define LESS 0.9   /* below this part of the old value: green */
#define NARROW 0.1 /* an interval of this part of the old value */

struct gain_counts {
	double was[BUCKETS_MAX], would[BUCKETS_MAX];
};

struct gain_read {
	unsigned blocks, buckets;
	double draws; /* of would, for each request */
	bool checked; /* health checks measure the other server */
	double edge_ns[BUCKETS_MAX];
	struct gain_counts block[BLOCKS_MAX];
	int64_t requests, met, again, failed, saved, unknown, full, full_once;
	int64_t was_max_ns, would_max_ns;
	double seconds;
};

static const struct gain_row {
	const char *name;
	double part;
} rows[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"slowest", 1}};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* A quantile in each mode, and an interval; high < 0: beyond all draws, so
 * unknown. */
struct quantile {
	double was_ns, would_ns, low_ns, high_ns;
};

/* --- reading -------------------------------------------------------------- */

static void
read_counts(const cJSON *list, double *out, unsigned buckets)
{
	const cJSON *pair;

	cJSON_ArrayForEach(pair, list)
	{
		const cJSON *at = cJSON_GetArrayItem(pair, 0);
		const cJSON *n = cJSON_GetArrayItem(pair, 1);

		if (cJSON_IsNumber(at) && cJSON_IsNumber(n) &&
		    at->valuedouble >= 0 && at->valuedouble < buckets)
			out[(unsigned)at->valuedouble] += n->valuedouble;
	}
}

static void
read_block(struct gain_read *g, const cJSON *b)
{
	int64_t was = field_number(b, "was_max_ns", 0);
	int64_t would = field_number(b, "would_max_ns", 0);
	struct gain_counts *out = &g->block[g->blocks++];

	read_counts(field_list(b, "was"), out->was, g->buckets);
	read_counts(field_list(b, "would"), out->would, g->buckets);
	g->requests += field_number(b, "requests", 0);
	g->met += field_number(b, "met", 0);
	g->again += field_number(b, "again", 0);
	g->failed += field_number(b, "failed", 0);
	g->saved += field_number(b, "saved", 0);
	g->unknown += field_number(b, "unknown", 0);
	g->full += field_number(b, "full", 0);
	g->full_once += field_number(b, "full_once", 0);
	if (was > g->was_max_ns)
		g->was_max_ns = was;
	if (would > g->would_max_ns)
		g->would_max_ns = would;
}

static void
read_gain(struct gain_read *g, const cJSON *tree)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, field_list(tree, "edges_ns"))
	{
		if (g->buckets < BUCKETS_MAX && cJSON_IsNumber(one))
			g->edge_ns[g->buckets++] = one->valuedouble;
	}
	cJSON_ArrayForEach(one, field_list(tree, "blocks"))
	{
		if (g->blocks < BLOCKS_MAX)
			read_block(g, one);
	}
	g->draws = fmax((double)field_number(tree, "draws", 1), 1);
	g->checked = field_true(tree, "checked");
	/* The first and the last block are seldom whole. */
	g->seconds =
	    fmin((double)g->blocks * (double)field_number(tree, "block_ns", 0),
		(double)field_number(tree, "uptime_ns", 0)) /
	    1e9;
}

/* --- quantiles ------------------------------------------------------------ */

/* Return the value that `above` requests exceed: the middle of its bucket. */
static double
value_at(
    const struct gain_read *g, const double *count, double above, double max)
{
	double seen = 0;

	for (unsigned i = g->buckets; i-- > 0;) {
		seen += count[i];
		if (seen < above || seen == 0)
			continue;
		return i + 1 < g->buckets
			   ? fmin((g->edge_ns[i] + g->edge_ns[i + 1]) / 2, max)
			   : max;
	}
	return 0;
}

/* Return how many are expected above the k-th largest if it is z standard
 * deviations low (Wilson and Hilferty, 1931), of a count with so many times the
 * variance of a Poisson count. */
static double
expected_above(double k, double z, double variance)
{
	double n = k / variance; /* independent ones */

	return k * pow(fmax(1 - 1 / (9 * n) + z / (3 * sqrt(n)), 0), 3);
}

static struct quantile
quantile_of(
    const struct gain_read *g, const struct gain_counts *all, double part)
{
	double n = (double)g->requests;
	double k = fmax(n - ceil(part * n) + 1, 1);
	double max = (double)g->would_max_ns, was_max = (double)g->was_max_ns;

	double most = value_at(g, all->would, 0, max);
	double high = value_at(g, all->would, expected_above(k, -Z, 2), max);

	return (struct quantile){
	    .was_ns = part < 1 ? value_at(g, all->was, k, was_max) : was_max,
	    .would_ns = value_at(g, all->would, expected_above(k, 0, 1), max),
	    .low_ns = value_at(g, all->would, expected_above(k, Z, 2), max),
	    .high_ns = high < most ? high : -1,
	};
}

static void
quantiles(const struct gain_read *g, struct quantile *out)
{
	struct gain_counts all = {0};

	for (unsigned i = 0; i < g->buckets; i++) {
		for (unsigned b = 0; b < g->blocks; b++) {
			all.was[i] += g->block[b].was[i];
			all.would[i] += g->block[b].would[i] / g->draws;
		}
	}
	for (unsigned r = 0; r < ROWS; r++) {
		out[r] = quantile_of(g, &all, rows[r].part);
		/* Without met requests, rounding to a bucket is no gain. */
		if (g->met == 0)
			out[r].would_ns = out[r].low_ns = out[r].high_ns =
			    out[r].was_ns;
	}
}

/* --- showing -------------------------------------------------------------- */

/* True if the estimate is certain enough to be printed: its interval is no
 * wider than the effect, or narrow. */
static bool
is_certain(const struct gain_read *g, const struct quantile *q)
{
	double wide_ns = q->high_ns - q->low_ns;

	return g->met == 0 ||
	       (q->high_ns >= 0 && (wide_ns <= q->was_ns - q->would_ns ||
				       wide_ns <= NARROW * q->was_ns));
}

/* Print a line: the measured value and the estimate, in green if less. */
static void
show_row(const char *name, const struct quantile *q, bool certain)
{
	bool less = certain && q->would_ns < LESS * q->was_ns;

	plain_print_cell(name, 10, TERMINAL_PLAIN);
	printf("%12s %s%14s%s", plain_duration((int64_t)q->was_ns),
	    plain_escape(less ? TERMINAL_GREEN : TERMINAL_PLAIN),
	    certain ? plain_duration((int64_t)q->would_ns) : "too uncertain",
	    plain_escape(TERMINAL_PLAIN));
}

static void
show_rows(const struct gain_read *g, const struct quantile *q)
{
	const char *low;

	plain_head("               measured  Tailor acting   95 % interval");
	for (unsigned r = 0; r < ROWS; r++) {
		show_row(rows[r].name, &q[r], is_certain(g, &q[r]));
		low = plain_duration((int64_t)q[r].low_ns);
		if (g->met == 0 || (q[r].low_ns <= 0 && q[r].high_ns < 0))
			printf("   -\n"); /* nothing would change, or too few */
		else if (q[r].high_ns < 0)
			printf("   %s or more\n", low);
		else
			printf("   %s to %s\n", low,
			    plain_duration((int64_t)q[r].high_ns));
	}
	plain_print_cell("failed", 10, TERMINAL_PLAIN);
	printf("%12lld %s%14lld%s\n", (long long)g->failed,
	    plain_escape(g->saved > 0 ? TERMINAL_GREEN : TERMINAL_PLAIN),
	    (long long)(g->failed - g->saved), plain_escape(TERMINAL_PLAIN));
}

static void
show(const struct gain_read *g, const struct quantile *q)
{
	double all = g->requests > 0 ? (double)g->requests : 1;
	bool hours = g->seconds > 2 * 3600, minutes = g->seconds > 120;

	printf("%lld requests in watch mode, in the last %.0f %s; an "
	       "estimate\n\n",
	    (long long)g->requests,
	    g->seconds / (hours	       ? 3600
			     : minutes ? 60
				       : 1),
	    hours     ? "h"
	    : minutes ? "min"
		      : "s");
	show_rows(g, q);
	printf("\n%lld requests met a pause of their server or its queue;\n"
	       "%lld of them would have been sent twice: %.2f %% extra "
	       "requests.\n",
	    (long long)g->met, (long long)g->again,
	    100 * (double)g->again / all);
	if (g->full > 0)
		printf("%lld were at a server that collected because its eden "
		       "was full. With\nhedging.steer a server collects while "
		       "it stands by, and nothing is sent twice.\n",
		    (long long)g->full);
	if (g->full_once > 0)
		printf("%lld of these may be sent only once, and acting "
		       "without steering does not help\nthem.\n",
		    (long long)g->full_once);
	if (g->unknown > 0)
		printf("%lld of them count%s unchanged: there was nothing to "
		       "estimate from,\nor both servers paused.\n",
		    (long long)g->unknown, g->unknown == 1 ? "s" : "");
	if (!g->checked)
		printf("The estimate takes the other server to be as fast as "
		       "this one: how fast it\nis while this one pauses is "
		       "known only with health checks (servers.health),\nor "
		       "after a few pauses.\n");
}

static void
write_json(const struct gain_read *g, const struct quantile *q)
{
	struct json j;

	plain_json_begin(&j);
	json_key_string(&j, "schema", "tailor.estimate/1");
	json_key_double(&j, "seconds", g->seconds);
	json_key_int(&j, "requests", g->requests);
	json_key_int(&j, "met", g->met);
	json_key_int(&j, "again", g->again);
	json_key_int(&j, "failed", g->failed);
	json_key_int(&j, "saved", g->saved);
	json_key_int(&j, "unknown", g->unknown);
	json_key_int(&j, "full", g->full);
	json_key_int(&j, "full_once", g->full_once);
	json_key_bool(&j, "checked", g->checked);
	for (unsigned r = 0; r < ROWS; r++) {
		json_key_object(&j, rows[r].name);
		json_key_int(&j, "was_ns", (int64_t)q[r].was_ns);
		json_key_int(&j, "would_ns", (int64_t)q[r].would_ns);
		json_key_bool(&j, "certain", is_certain(g, &q[r]));
		json_key_int(&j, "low_ns", (int64_t)q[r].low_ns);
		if (q[r].high_ns >= 0)
			json_key_int(&j, "high_ns", (int64_t)q[r].high_ns);
		json_object_end(&j);
	}
	plain_json_end(&j);
}

static int
show_tree(const struct ctl_options *options, const cJSON *tree)
{
	static struct gain_read gain;
	struct quantile q[ROWS];

	read_gain(&gain, tree);
	if (gain.requests == 0)
		return admin_report(options, "GET", "/ledger", ledger_show);
	quantiles(&gain, q);
	if (options->json)
		write_json(&gain, q);
	else
		show(&gain, q);
	return STATUS_OK;
}

int
command_gain(const struct ctl_options *options)
{
	cJSON *tree = admin_json(options, "/gain");
	int status = tree != NULL ? show_tree(options, tree) : STATUS_NO;

	cJSON_Delete(tree);
	return status;
}
