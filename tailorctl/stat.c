/* stat.c: the counters and their rates.
 *
 * Requests /metrics periodically and subtracts; a counter that decreased
 * belongs to a new process, and its change is counted from zero. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/plain.h"
#include "tailorctl/samples.h"
#include "tailorctl/screen.h"

#define SECONDS_OF_DAY 86400

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

/* A wide terminal has room for more labels; a pipe for all. */
static unsigned
name_columns(void)
{
	unsigned spare = plain_spare();

	return 55 + (spare < 45 ? spare : 45);
}

/* A moment in seconds since 1970 is a time of day, or a date. */
static char *
print_value(char out[PLAIN_DURATION_BYTES], const struct sample *s)
{
	static const char end[] = "_start_time_seconds";
	time_t moment = (time_t)s->value;
	struct tm tm;

	if (s->length < sizeof(end) - 1 || !(s->value >= 0 && s->value < 9e9) ||
	    memcmp(s->name + s->length - (sizeof(end) - 1), end,
		sizeof(end) - 1) != 0 ||
	    localtime_r(&moment, &tm) == NULL)
		return plain_count(out, s->value);
	strftime(out, PLAIN_DURATION_BYTES,
	    time(NULL) - moment < SECONDS_OF_DAY ? "%H:%M:%S" : "%Y-%m-%d",
	    &tm);
	return out;
}

/* Print a row, with a rate from the second reading on. */
static void
print_row(const struct row *row, bool rates)
{
	char text[512], value[PLAIN_DURATION_BYTES];
	char change[PLAIN_DURATION_BYTES];
	int n = (int)(row->sample.length < 400 ? row->sample.length : 400);
	unsigned columns = name_columns();

	snprintf(text, sizeof(text), "%.*s", n, row->sample.name);
	if (!isatty(STDOUT_FILENO) && columns < (unsigned)n)
		columns = (unsigned)n;
	plain_print_cell(text, columns, TERMINAL_PLAIN);
	printf("%11s", print_value(value, &row->sample));
	if (rates)
		printf(" %s%12s%s",
		    plain_escape(row->change_per_s != 0 ? TERMINAL_BOLD
							: TERMINAL_PLAIN),
		    plain_count(change, row->change_per_s),
		    plain_escape(TERMINAL_PLAIN));
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
	uint32_t shown = 0;

	screen_begin();
	printf("%s%-*s %11s%s%s\n", plain_escape(TERMINAL_BOLD),
	    (int)name_columns(), "NAME", "VALUE", rates ? "   PER SECOND" : "",
	    plain_escape(TERMINAL_PLAIN));
	while (samples_next(&at, end, &row.sample)) {
		if (!wanted(&row.sample, o))
			continue;
		/* A head, and below one line and a hint. */
		if (++shown + 3 > screen_rows())
			continue;
		row.change_per_s = change_per_s(&row.sample, now, before);
		print_row(&row, rates);
	}
	if (shown == 0)
		printf("no such metric%s\n",
		    o->all ? "" : " above zero (-A shows the others)");
	if (shown + 3 > screen_rows())
		printf("%u more: \"tailorctl stat NAME\" shows fewer\n",
		    shown + 3 - screen_rows());
	screen_hint("");
	if (screen_rows() == UINT32_MAX && !o->once)
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
	int status = STATUS_NO;

	screen_open(options);
	while (read_once(options, &now) == 0) {
		int key = 0;

		status = STATUS_OK;
		if (!options->json)
			print_table(&now, &before, options);
		else if (print_json(&now, &before, options) < 0)
			status = STATUS_NO;
		http_response_fini(&before.response);
		before = now;
		if (options->once || status != STATUS_OK || fflush(stdout) != 0)
			break;
		do
			key = screen_wait(options->interval_ns);
		while (key != SCREEN_QUIT && screen_paused());
		if (key == SCREEN_QUIT)
			break;
		status = STATUS_NO; /* unless the next reading succeeds */
	}
	http_response_fini(&before.response);
	return status;
}
