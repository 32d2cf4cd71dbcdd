#include "loadgen/stats/run.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define SCHEMA "tailor.load.run/1"
#define EXACT 9e15 /* doubles hold whole numbers up to there */

static const cJSON *
member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *
run_text(const cJSON *object, const char *key)
{
	const cJSON *value = member(object, key);

	return cJSON_IsString(value) ? value->valuestring : "";
}

/* A number that makes sense here, or otherwise. */
static double
checked(const cJSON *value, double otherwise)
{
	if (!cJSON_IsNumber(value) || value->valuedouble < 0 ||
	    value->valuedouble > EXACT)
		return otherwise;
	return value->valuedouble;
}

double
run_number(const cJSON *object, const char *key, double otherwise)
{
	return checked(member(object, key), otherwise);
}

static int64_t
ns_of(const cJSON *object, const char *key)
{
	return (int64_t)run_number(object, key, -1);
}

/* A number that was written from an unsigned one, or 0. */
static unsigned
ordinal_of(const cJSON *object, const char *key)
{
	double value = run_number(object, key, 0);

	return value <= UINT_MAX ? (unsigned)value : 0;
}

/* Which percentiles the run has: those of its first distribution. */
static void
read_percentiles(struct run *r, const cJSON *latency)
{
	const cJSON *value;

	if (r->percentiles.count > 0 || latency == NULL)
		return;
	(void)percentiles_add(&r->percentiles, 50);
	(void)percentiles_add(&r->percentiles, 99);
	cJSON_ArrayForEach(value, latency)
	{
		char *end;
		if (value->string == NULL || value->string[0] != 'p')
			continue;
		double digits = strtod(value->string + 1, &end);
		if (strcmp(end, "_ns") != 0)
			continue;
		/* "p999" is 99.9: two digits stand before the point. */
		while (digits >= 100)
			digits /= 10;
		(void)percentiles_add(&r->percentiles, digits);
	}
}

static void
read_iteration(struct run *r, const cJSON *from)
{
	struct run_iteration *it = &r->iterations[r->count++];
	const cJSON *latency = member(from, "latency");
	char key[PERCENTILE_KEY_MAX], name[PERCENTILE_KEY_MAX + 4];

	it->index = ordinal_of(from, "index");
	it->seed = run_number(from, "seed", -1);
	it->partial = cJSON_IsTrue(member(from, "partial"));
	it->sent = (size_t)run_number(from, "sent", 0);
	it->ok = (size_t)run_number(from, "ok", 0);
	it->rate_per_s = run_number(from, "achieved_rate_per_s", 0);
	it->server_p99_ns = ns_of(member(from, "server"), "p99_ns");
	it->lag_p99_ns = ns_of(member(from, "lag"), "p99_ns");
	it->any = cJSON_IsObject(latency);
	it->max_ns = ns_of(latency, "max_ns");
	it->mean_ns = ns_of(latency, "mean_ns");
	read_percentiles(r, latency);
	for (unsigned i = 0; i < r->percentiles.count; i++) {
		snprintf(name, sizeof(name), "%s_ns",
		    percentile_key(r->percentiles.at[i], key));
		it->at_ns[i] = ns_of(latency, name);
	}
}

/* "slow/01-0412.html", not a path to elsewhere. */
static bool
is_page(const char *name)
{
	static const char safe[] = "0123456789-.html";

	return strncmp(name, "slow/", 5) == 0 &&
	       strspn(name + 5, safe) == strlen(name + 5) &&
	       strstr(name, "..") == NULL;
}

static void
read_slow(struct run *r, const cJSON *from)
{
	struct run_slow *slow = &r->slow[r->slow_count++];

	slow->iteration = ordinal_of(from, "iteration");
	slow->number = ordinal_of(from, "seq");
	slow->latency_ns = ns_of(from, "latency_ns");
	slow->lag_ns = ns_of(from, "lag_ns");
	slow->server_ns = ns_of(from, "server_ns");
	slow->id = run_text(from, "id");
	slow->verdict = run_text(from, "verdict");
	slow->text = run_text(from, "text");
	slow->page = run_text(from, "timeline");
	if (!is_page(slow->page))
		slow->page = "";
}

static int
read_iterations(struct run *r, const cJSON *all)
{
	const cJSON *one, *slow;
	size_t listed = 0;
	int n = cJSON_GetArraySize(all);

	cJSON_ArrayForEach(one, all)
	{
		int k = cJSON_GetArraySize(member(one, "slowest"));
		listed += (size_t)k;
	}
	r->iterations = calloc((size_t)n + 1, sizeof(*r->iterations));
	r->slow = calloc(listed + 1, sizeof(*r->slow));
	if (r->iterations == NULL || r->slow == NULL)
		return -ENOMEM;
	cJSON_ArrayForEach(one, all)
	{
		read_iteration(r, one);
		cJSON_ArrayForEach(slow, member(one, "slowest"))
		    read_slow(r, slow);
	}
	return 0;
}

static void
read_median(struct run_median *m, const cJSON *from)
{
	const cJSON *interval = member(from, "ci95_ns");

	m->median_ns = ns_of(from, "median_ns");
	m->bounded = cJSON_GetArraySize(interval) == 2;
	if (!m->bounded)
		return;
	m->low_ns = (int64_t)checked(cJSON_GetArrayItem(interval, 0), 0);
	m->high_ns = (int64_t)checked(cJSON_GetArrayItem(interval, 1), 0);
}

static void
read_plan(struct run *r)
{
	const cJSON *plan = member(r->tree, "plan");

	r->url = run_text(member(r->tree, "target"), "url");
	r->started = run_text(r->tree, "started");
	r->verdict = run_text(member(r->tree, "generator"), "verdict");
	r->arrivals = run_text(plan, "arrivals");
	r->rate_per_s = run_number(plan, "rate_per_s", 0);
	r->seed = run_number(plan, "seed", -1);
	r->requests = (size_t)run_number(plan, "requests", 0);
}

int
run_parse(
    struct run *r, const char *text, size_t length, char *why, size_t why_size)
{
	const cJSON *summary;
	int err;

	memset(r, 0, sizeof(*r));
	r->tree = cJSON_ParseWithLength(text, length);
	if (r->tree == NULL ||
	    strcmp(run_text(r->tree, "schema"), SCHEMA) != 0 ||
	    !cJSON_IsArray(member(r->tree, "iterations"))) {
		snprintf(why, why_size, "is not " SCHEMA);
		err = -EPROTO;
		goto fail_tree;
	}
	read_plan(r);
	err = read_iterations(r, member(r->tree, "iterations"));
	if (err < 0) {
		snprintf(why, why_size, "out of memory");
		goto fail_tree;
	}
	summary = member(r->tree, "summary");
	read_median(&r->p50, member(summary, "p50"));
	read_median(&r->p99, member(summary, "p99"));
	return 0;

fail_tree:
	run_close(r);
	return err;
}

int
run_read(struct run *r, const char *path, char *why, size_t why_size)
{
	char reason[64];
	char *text;
	size_t length;
	int err = file_read(path, &text, &length);

	if (err < 0) {
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		return err;
	}
	err = run_parse(r, text, length, reason, sizeof(reason));
	if (err < 0)
		snprintf(why, why_size, "%s: %s", path, reason);
	free(text);
	return err;
}

void
run_close(struct run *r)
{
	cJSON_Delete(r->tree);
	free(r->iterations);
	free(r->slow);
	memset(r, 0, sizeof(*r));
}

/* --- requests.ndjson ------------------------------------------------------ */

static int
add_point(struct points *p, const cJSON *line)
{
	if (p->count == p->capacity) {
		size_t capacity = 2 * p->capacity + 4096;
		struct point *all = realloc(p->all, capacity * sizeof(*all));
		if (all == NULL)
			return -ENOMEM;
		p->all = all;
		p->capacity = capacity;
	}
	struct point *one = &p->all[p->count];
	one->iteration = ordinal_of(line, "i");
	one->number = ordinal_of(line, "n");
	one->scheduled_ns = ns_of(line, "sched");
	one->latency_ns = ns_of(line, "lat");
	if (one->iteration == 0 || one->number == 0 || one->scheduled_ns < 0)
		return -EPROTO;
	p->count++;
	return 0;
}

int
points_read(struct points *p, const char *path, char *why, size_t why_size)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	int err = 0;
	FILE *f = fopen(path, "re");

	memset(p, 0, sizeof(*p));
	if (f == NULL) {
		err = -errno;
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		return err;
	}
	while (err == 0 && (n = getline(&line, &size, f)) > 0) {
		cJSON *tree = cJSON_ParseWithLength(line, (size_t)n);
		err = tree == NULL ? -EPROTO : add_point(p, tree);
		cJSON_Delete(tree);
	}
	free(line);
	fclose(f);
	if (err == 0)
		return 0;
	snprintf(why, why_size, "%s: line %zu: %s", path, p->count + 1,
	    err == -EPROTO ? "is not a request" : strerror(-err));
	points_close(p);
	return err;
}

void
points_close(struct points *p)
{
	free(p->all);
	memset(p, 0, sizeof(*p));
}
