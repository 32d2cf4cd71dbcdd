#include "loadgen/stats/run.h"

#include <cjson/cJSON.h>
#include <errno.h>
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

double
run_number(const cJSON *object, const char *key, double otherwise)
{
	const cJSON *value = member(object, key);

	if (!cJSON_IsNumber(value) || value->valuedouble < 0 ||
	    value->valuedouble > EXACT)
		return otherwise;
	return value->valuedouble;
}

static int64_t
ns_of(const cJSON *object, const char *key)
{
	return (int64_t)run_number(object, key, -1);
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

	it->seed = run_number(from, "seed", -1);
	it->partial = cJSON_IsTrue(member(from, "partial"));
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

static int
read_iterations(struct run *r, const cJSON *all)
{
	const cJSON *one;

	r->iterations =
	    calloc((size_t)cJSON_GetArraySize(all) + 1, sizeof(*r->iterations));
	if (r->iterations == NULL)
		return -ENOMEM;
	cJSON_ArrayForEach(one, all) read_iteration(r, one);
	return 0;
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
	r->requests = (size_t)run_number(plan, "requests", 0);
}

int
run_parse(
    struct run *r, const char *text, size_t length, char *why, size_t why_size)
{
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
	memset(r, 0, sizeof(*r));
}
