#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profiler/processes/proc.h"
#include "shim/observe.h"

#define SHOWN_MAX 64

static double
part(uint64_t n, uint64_t of)
{
	return of > 0 ? 100.0 * (double)n / (double)of : 0;
}

/* Write a tag as text: the thread's number and name if tags are tasks, else
 * hexadecimal. */
static void
tag_name(const struct observation *o, uint64_t tag, char *out, size_t size)
{
	char name[PROC_NAME_BYTES];

	if (o->sources.lanes == NULL) {
		snprintf(out, size, "0x%" PRIx64, tag);
		return;
	}
	if (tag == 0) {
		snprintf(out, size, "idle");
		return;
	}
	proc_name((pid_t)(uint32_t)tag, name);
	snprintf(out, size, "%u %s", (unsigned)(uint32_t)tag, name);
}

static void
print_tags(const struct observation *o)
{
	const struct tag_row *row[SHOWN_MAX];
	const struct sampler *sampler = &o->sources.sampler;
	unsigned top =
	    o->options->top < SHOWN_MAX ? o->options->top : SHOWN_MAX;
	size_t n = tags_sorted(&o->scope->tags, row, top);
	char name[64];

	printf("\n  %-18s %12s %7s", "tag, per cycle", "samples", "%");
	for (unsigned k = 0; k < sampler->signals && k < 3; k++)
		printf("  %11.11s", sampler->signal[k].name);
	printf("\n");
	for (size_t i = 0; i < n; i++) {
		const struct tag_row *r = row[i];

		tag_name(o, r->tag, name, sizeof(name));
		if (r == &o->scope->tags.others)
			printf("  %-18s", "(all others)");
		else
			printf("  %-18.18s", name);
		printf(" %12" PRIu64 " %6.1f%%", r->samples,
		    part(r->samples, o->scope->periods));
		for (unsigned k = 0; k < sampler->signals && k < 3; k++)
			printf("  %11.4g", tag_rate(r, k));
		printf("\n");
	}
}

/* A signal's mean rate from the first sample to the last, per second. */
static double
per_second(const struct observation *o, unsigned signal)
{
	uint64_t cycles = o->last.clock.begin - o->first.clock.begin;
	int64_t count =
	    (int64_t)(o->last.value[signal] - o->first.value[signal]);

	return cycles > 0 ? (double)count / (double)cycles * o->hz : 0;
}

/* The part of the time in which the least of a signal's counters counted. */
static double
signal_counted(const struct signal *g)
{
	double least = g->minus != NULL ? counter_counted(g->minus) : 1, one;

	for (unsigned i = 0; i < g->counters; i++) {
		one = counter_counted(&g->counter[i]);
		least = one < least ? one : least;
	}
	return least;
}

static void
print_signals(const struct observation *o)
{
	const struct sampler *sampler = &o->sources.sampler;

	printf("\n  %-28s%10s%10s%10s%10s%10s\n", "signal, per cycle", "p10",
	    "p50", "p90", "max", "a second");
	for (unsigned k = 0; k < sampler->signals; k++) {
		const struct histogram *h = &o->scope->rate[k];

		printf("  %-28.28s%10.3g%10.3g%10.3g%10.3g%10.4g\n",
		    sampler->signal[k].name,
		    (double)histogram_quantile(h, .1) / SCOPE_RATE,
		    (double)histogram_quantile(h, .5) / SCOPE_RATE,
		    (double)histogram_quantile(h, .9) / SCOPE_RATE,
		    h->count > 0 ? (double)h->max / SCOPE_RATE : 0.0,
		    per_second(o, k));
	}
	for (unsigned k = 0; k < sampler->signals; k++)
		if (signal_counted(&sampler->signal[k]) < 1)
			printf("  %.28s was counted for %.3g %% of the time; "
			       "the rest is estimated.\n",
			    sampler->signal[k].name,
			    100 * signal_counted(&sampler->signal[k]));
	for (unsigned k = 0; k < sampler->signals; k++)
		if (strcmp(sampler->signal[k].name, "task-clock") == 0 ||
		    strcmp(sampler->signal[k].name, "cpu-clock") == 0)
			printf("  %s counts ns: one busy CPU gives %.3f per "
			       "cycle, 1e9 a second.\n",
			    sampler->signal[k].name, 1e9 / o->hz);
}

void
observe_print(const struct observation *o, bool live)
{
	const struct shim_scope *s = o->scope;

	if (live)
		printf("\033[H\033[2J");
	printf("%" PRIu64 " samples in %.1f s on CPU %d, %.1f %% kept, "
	       "period p50 %.0f ns\n",
	    s->periods, (double)o->taken_ns / 1e9, o->cpu, scope_kept(s) * 100,
	    (double)histogram_quantile(&s->period, .5) / o->hz * 1e9);
	if (o->note[0] != '\0')
		sentence_print("Note:", o->note);
	if (o->ended != NULL)
		sentence_print("Ended early:", o->ended);
	print_signals(o);
	if (o->options->tag != NULL)
		print_tags(o);
	if (s->straddling + s->backwards + o->sources.sampler.unread +
		o->series.missed >
	    0)
		printf("\n  %" PRIu64 " periods over a change of tag, %" PRIu64
		       " with a signal that fell,\n  %" PRIu64
		       " counters unread, %" PRIu64
		       " intervals not in the series\n",
		    s->straddling, s->backwards, o->sources.sampler.unread,
		    o->series.missed);
	fflush(stdout);
}

static void
json_tag_rows(const struct observation *o, struct json *j)
{
	static const struct tag_row *row[TAGS];
	const struct sampler *sampler = &o->sources.sampler;
	size_t n = tags_sorted(&o->scope->tags, row, TAGS);
	char name[64];
	bool others;

	json_key_array(j, "tags");
	for (size_t i = 0; i < n; i++) {
		json_object_begin(j);
		snprintf(name, sizeof(name), "0x%" PRIx64, row[i]->tag);
		others = row[i] == &o->scope->tags.others;
		json_key_string(j, "tag", others ? "others" : name);
		if (o->sources.lanes != NULL && !others) {
			tag_name(o, row[i]->tag, name, sizeof(name));
			json_key_string(j, "name", name);
		}
		json_key_uint(j, "samples", row[i]->samples);
		json_key_uint(j, "kept", row[i]->kept);
		json_key_array(j, "rate");
		for (unsigned k = 0; k < sampler->signals; k++)
			json_double(j, tag_rate(row[i], k));
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

void
observe_json(const struct observation *o, struct json *j)
{
	const struct sampler *sampler = &o->sources.sampler;
	const struct shim_scope *s = o->scope;

	json_object_begin(j);
	json_key_string(j, "schema", "tailor.shim/1");
	json_key_double(j, "clock_hz", o->hz);
	json_key_uint(j, "taken_ns", o->taken_ns);
	json_key_int(j, "cpu", o->cpu);
	json_key_string(j, "note", o->note);
	json_key_string(j, "ended", o->ended != NULL ? o->ended : "");
	json_key_uint(j, "periods", s->periods);
	json_key_uint(j, "kept", s->kept);
	json_key_uint(j, "straddling", s->straddling);
	json_key_uint(j, "backwards", s->backwards);
	json_key_uint(j, "unread", sampler->unread);
	json_key_uint(j, "intervals_missed", o->series.missed);
	quantiles_json(j, "period_cycles", &s->period, 1);
	quantiles_json(j, "gap_cycles", &s->gap, 1);
	json_key_array(j, "signals");
	for (unsigned k = 0; k < sampler->signals; k++) {
		json_object_begin(j);
		json_key_string(j, "name", sampler->signal[k].name);
		if (sampler->signal[k].counter != NULL) {
			json_key_string(j, "read_by",
			    counter_way_name(sampler->signal[k].counter->way));
			json_key_double(
			    j, "counted", signal_counted(&sampler->signal[k]));
		}
		json_key_double(j, "per_second", per_second(o, k));
		quantiles_json(j, "raw", &s->raw[k], SCOPE_RATE);
		quantiles_json(j, "kept", &s->rate[k], SCOPE_RATE);
		json_object_end(j);
	}
	json_array_end(j);
	json_tag_rows(o, j);
	json_object_end(j);
}

#define COLUMNS 79 /* text and its full stop */

void
sentence_print(const char *lead, const char *text)
{
	size_t column = strlen(lead), n;

	printf("%s", lead);
	for (; *text != '\0'; text += n) {
		text += strspn(text, " ");
		n = strcspn(text, " ");
		if (column + 1 + n > COLUMNS) {
			printf("\n ");
			column = 1;
		}
		column += 1 + n;
		printf(" %.*s", (int)n, text);
	}
	printf(".\n");
}

void
quantiles_json(
    struct json *j, const char *key, const struct histogram *h, double scale)
{
	static const double q[] = {.01, .1, .5, .9, .99, .999};
	static const char *const name[] = {
	    "p1", "p10", "p50", "p90", "p99", "p999"};

	json_key_object(j, key);
	json_key_uint(j, "count", h->count);
	for (unsigned i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		json_key_double(
		    j, name[i], (double)histogram_quantile(h, q[i]) / scale);
	json_key_double(j, "max", h->count > 0 ? (double)h->max / scale : 0);
	json_object_end(j);
}
