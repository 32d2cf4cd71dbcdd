/*
 * stat.c: the counters and their rates.
 *
 * Requests /metrics periodically and subtracts; a counter that decreased
 * belongs to a new process, and its change is counted from zero.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/plain.h"
#include "tailorctl/samples.h"

/* One reading: the text and the time of the request. */
struct reading {
	struct http_response response;
	struct instant at; /* not set: no reading yet */
};

struct row {
	struct sample sample;
	double change_per_s;
};

/* The value of the same sample in an earlier reading; false if not there. */
static bool
find(const struct reading *in, const struct sample *like, double *value)
{
	const char *at = in->response.body;
	const char *end = at + in->response.length;
	struct sample s;

	while (samples_next(&at, end, &s)) {
		if (s.length == like->length &&
		    memcmp(s.name, like->name, s.length) == 0) {
			*value = s.value;
			return true;
		}
	}
	return false;
}

/* Whether a sample is shown: by name, and not zero. */
static bool
wanted(const struct sample *s, const struct options *o)
{
	if (o->argument != NULL && memmem(s->name, s->length, o->argument,
				       strlen(o->argument)) == NULL)
		return false;
	return o->all || (s->value != 0 && !sample_is_part(s));
}

static double
change_per_s(const struct sample *s, const struct reading *now,
    const struct reading *before)
{
	int64_t gap_ns = instant_since(now->at, before->at);
	double old = 0;

	if (!instant_is_set(before->at) || gap_ns <= 0)
		return 0;
	if (!find(before, s, &old) || old > s->value)
		old = 0;
	return (s->value - old) * (double)NS_PER_S / (double)gap_ns;
}

/* Print a row, with a rate from the second reading on. */
static void
print_row(const struct row *row, bool rates)
{
	char text[512], name[512], value[PLAIN_DURATION_BYTES];
	char change[PLAIN_DURATION_BYTES];
	int n = (int)(row->sample.length < 400 ? row->sample.length : 400);

	snprintf(text, sizeof(text), "%.*s", n, row->sample.name);
	printf("%-55s %11s", plain_cell(name, sizeof(name), text, 55),
	    plain_count(value, row->sample.value));
	if (rates)
		printf(" %12s", plain_count(change, row->change_per_s));
	putchar('\n');
}

static int
print_json(const struct reading *now, const struct reading *before,
    const struct options *o)
{
	const char *at = now->response.body;
	const char *end = at + now->response.length;
	struct json j;
	struct sample s;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.stat/1");
	json_key_array(&j, "samples");
	while (samples_next(&at, end, &s)) {
		if (!wanted(&s, o))
			continue;
		json_object_begin(&j);
		json_key(&j, "name");
		json_string_n(&j, s.name, s.length);
		json_key_double(&j, "value", s.value);
		json_key_double(
		    &j, "per_second", change_per_s(&s, now, before));
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return plain_json(&j);
}

static void
print_table(const struct reading *now, const struct reading *before,
    const struct options *o)
{
	const char *at = now->response.body;
	const char *end = at + now->response.length;
	bool rates = instant_is_set(before->at);
	struct row row;

	if (isatty(STDOUT_FILENO) && !o->once)
		printf("\033[H\033[2J"); /* home, clear */
	printf("%-55s %11s%s\n", "NAME", "VALUE", rates ? "   PER SECOND" : "");
	while (samples_next(&at, end, &row.sample)) {
		if (!wanted(&row.sample, o))
			continue;
		row.change_per_s = change_per_s(&row.sample, now, before);
		print_row(&row, rates);
	}
	if (!isatty(STDOUT_FILENO) && !o->once)
		putchar('\n');
}

static int
read_once(const struct options *o, struct reading *out)
{
	out->at = instant_now();
	return admin_request_ok(o, "GET", "/metrics", &out->response);
}

int
command_stat(const struct options *options)
{
	struct reading now, before = {{0}, INSTANT_NONE};
	struct timespec pause = {options->interval_ns / NS_PER_S,
	    (long)(options->interval_ns % NS_PER_S)};
	int status = STATUS_NO;

	while (read_once(options, &now) == 0) {
		status = STATUS_OK;
		if (!options->json)
			print_table(&now, &before, options);
		else if (print_json(&now, &before, options) < 0)
			status = STATUS_NO;
		http_response_fini(&before.response);
		before = now;
		if (options->once || status != STATUS_OK || fflush(stdout) != 0)
			break;
		status = STATUS_NO; /* unless the next reading succeeds */
		nanosleep(&pause, NULL);
	}
	http_response_fini(&before.response);
	return status;
}
