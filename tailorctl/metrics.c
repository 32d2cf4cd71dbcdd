/* metrics.c: prints the metrics of Tailor, or their rates.
 *
 * --rates requests them periodically and subtracts; a counter that decreased
 * belongs to a new process, and its change is counted from zero. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "base/terminal.h"
#include "tailorctl/samples.h"
#include "tailorctl/screen.h"

#define FRAME_ROWS 3 /* a head above the table, a line and a hint below */

/* One reading: the text and the time of the request. */
struct metrics_reading {
	struct http_response response;
	struct instant at; /* not set: no reading yet */
};

/* Return the value of the same sample in an earlier reading, or 0. */
static double
value_in(const struct metrics_reading *in, const struct metric_sample *like)
{
	const char *at = in->response.body;
	const char *end = at + in->response.length;
	struct metric_sample s;

	while (samples_next(&at, end, &s))
		if (s.length == like->length &&
		    memcmp(s.name, like->name, s.length) == 0)
			return s.value;
	return 0;
}

static double
change_per_s(const struct metric_sample *s, const struct metrics_reading *now,
    const struct metrics_reading *before)
{
	int64_t gap_ns = instant_since(now->at, before->at);
	double old = value_in(before, s);

	if (sample_is_sum(s) && old > s->value)
		old = 0;
	return (s->value - old) * (double)NS_PER_S /
	       (double)(gap_ns > 0 ? gap_ns : 1);
}

/* Get the next sample with the wanted name; a table of rates skips rates of
 * zero and parts of histograms. */
static bool
next_wanted(const char **at, const struct metrics_reading *now,
    const struct ctl_options *o, struct metric_sample *s)
{
	const char *end = now->response.body + now->response.length;
	const char *part = o->argument != NULL ? o->argument : "";

	while (samples_next(at, end, s))
		if (memmem(s->name, s->length, part, strlen(part)) != NULL &&
		    (!o->rates || o->json ||
			(s->value != 0 && !sample_is_part(s))))
			return true;
	return false;
}

static void
print_lines(const struct metrics_reading *now, const struct ctl_options *o)
{
	const char *at = now->response.body;
	const char *end = at + now->response.length;
	struct metric_sample s;

	if (o->argument == NULL)
		admin_response_print(&now->response);
	while (o->argument != NULL && next_wanted(&at, now, o, &s)) {
		const char *eol = memchr(s.name, '\n', (size_t)(end - s.name));

		plain_write(stdout, s.name, (size_t)((eol ?: end) - s.name));
		putchar('\n');
	}
}

static int
print_json(const struct metrics_reading *now,
    const struct metrics_reading *before, const struct ctl_options *o)
{
	const char *at = now->response.body;
	struct json j;
	struct metric_sample s;

	plain_json_begin(&j);
	json_key_string(&j, "schema", "tailor.metrics/1");
	json_key_array(&j, "samples");
	while (next_wanted(&at, now, o, &s)) {
		json_object_begin(&j);
		json_key(&j, "name");
		json_string_n(&j, s.name, s.length);
		json_key_double(&j, "value", s.value);
		if (instant_is_set(before->at))
			json_key_double(
			    &j, "per_second", change_per_s(&s, now, before));
		json_object_end(&j);
	}
	json_array_end(&j);
	return plain_json_end(&j);
}

/* Return the width of names: more on a wide terminal, no limit in a pipe. */
static unsigned
name_columns(void)
{
	unsigned spare = plain_spare();

	return 55 + (spare < 45 ? spare : 45);
}

static void
print_row(const struct metric_sample *s, double change)
{
	char name[512];
	unsigned n = (unsigned)(s->length < 400 ? s->length : 400);
	unsigned columns = name_columns();

	snprintf(name, sizeof(name), "%.*s", (int)n, s->name);
	if (!isatty(STDOUT_FILENO) && columns < n)
		columns = n;
	plain_print_cell(name, columns, TERMINAL_PLAIN);
	printf("%11s %s%12s%s\n", plain_count(s->value),
	    plain_escape(change != 0 ? TERMINAL_BOLD : TERMINAL_PLAIN),
	    plain_count(change), plain_escape(TERMINAL_PLAIN));
}

static void
print_rates(const struct metrics_reading *now,
    const struct metrics_reading *before, const struct ctl_options *o)
{
	const char *at = now->response.body;
	uint32_t shown = 0;
	struct metric_sample s;

	screen_begin();
	printf("%s%-*s %11s   PER SECOND%s\n", plain_escape(TERMINAL_BOLD),
	    (int)name_columns(), "NAME", "VALUE", plain_escape(TERMINAL_PLAIN));
	while (next_wanted(&at, now, o, &s))
		if (++shown + FRAME_ROWS <= screen_rows())
			print_row(&s, instant_is_set(before->at)
					  ? change_per_s(&s, now, before)
					  : 0);
	if (shown == 0)
		printf("no such metric above zero\n");
	if (shown + FRAME_ROWS > screen_rows())
		printf("%u more: \"tailorctl metrics --rates NAME\" shows "
		       "fewer\n",
		    shown + FRAME_ROWS - screen_rows());
	screen_hint("");
}

static int
print(const struct metrics_reading *now, const struct metrics_reading *before,
    const struct ctl_options *o)
{
	if (o->json && print_json(now, before, o) < 0)
		return STATUS_NO;
	if (!o->json && o->rates)
		print_rates(now, before, o);
	else if (!o->json)
		print_lines(now, o);
	return fflush(stdout) == 0 ? STATUS_OK : STATUS_NO;
}

int
command_metrics(const struct ctl_options *options)
{
	struct metrics_reading now, before = {{0}, INSTANT_NONE};
	int status = STATUS_NO, key = 0;

	if (options->rates)
		screen_open(options);
	while (key != SCREEN_QUIT) {
		bool last = !options->rates ||
			    (options->once && instant_is_set(before.at));

		now.at = instant_now();
		status = STATUS_NO;
		if (admin_request_ok(
			options, "GET", "/metrics", &now.response) < 0)
			break;
		/* With --once print only the second reading, with rates. */
		status = options->once && !last ? STATUS_OK
						: print(&now, &before, options);
		http_response_fini(&before.response);
		before = now;
		if (last || status != STATUS_OK)
			break;
		do
			key = screen_wait(options->interval_ns);
		while (key != SCREEN_QUIT && screen_paused());
	}
	http_response_fini(&before.response);
	return status;
}
