/*
 * exposition.c: families, samples and histograms as lines of text.
 */
#include "proxy/admin/exposition.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "http/writer.h"

#define FIRST_BYTES ((size_t)96 << 10) /* usually all that it takes */

void
exposition_init(struct exposition *e, bool openmetrics)
{
	*e = (struct exposition){.openmetrics = openmetrics};
}

void
exposition_fini(struct exposition *e)
{
	free(e->text);
	e->text = NULL;
}

/* Whether n more bytes have room. */
static bool
text_reserve(struct exposition *e, size_t n)
{
	size_t want = e->capacity == 0 ? FIRST_BYTES : e->capacity;
	char *text;

	if (n <= e->capacity - e->length)
		return true;
	while (want - e->length < n)
		want *= 2;
	text = realloc(e->text, want);
	if (text == NULL) {
		e->failed = true;
		return false;
	}
	e->text = text;
	e->capacity = want;
	return true;
}

static void
put(struct exposition *e, const char *text, size_t n)
{
	if (n == 0 || !text_reserve(e, n))
		return;
	memcpy(e->text + e->length, text, n);
	e->length += n;
}

static void
put_text(struct exposition *e, const char *text)
{
	put(e, text, strlen(text));
}

static void
put_number(struct exposition *e, uint64_t n)
{
	char digits[DIGITS_DECIMAL_MAX];

	put(e, digits, digits_decimal(digits, n));
}

size_t
exposition_seconds(uint64_t ns, char *out)
{
	uint64_t part = ns % (uint64_t)NS_PER_S;
	size_t n = digits_decimal(out, ns / (uint64_t)NS_PER_S), end = n + 10;

	out[n] = '.';
	for (size_t i = end - 1; i > n; i--, part /= 10)
		out[i] = (char)('0' + part % 10);
	while (end > n + 2 && out[end - 1] == '0')
		end--;
	out[end] = '\0';
	return end;
}

static void
put_seconds(struct exposition *e, uint64_t ns)
{
	char text[EXPOSITION_SECONDS];

	put(e, text, exposition_seconds(ns, text));
}

/* A name and what of the labels' braces is known; last: nothing follows. */
static void
put_name(struct exposition *e, const char *name, const char *suffix,
    const struct label *labels, bool last)
{
	const char *before = "{";

	put_text(e, name);
	put_text(e, suffix);
	for (; labels != NULL && labels->name != NULL; labels++) {
		put_text(e, before);
		put_text(e, labels->name);
		put(e, "=\"", 2);
		put_text(e, labels->value);
		put(e, "\"", 1);
		before = ",";
	}
	if (!last)
		put_text(e, before);
	else if (*before == ',')
		put(e, "}", 1);
}

void
exposition_print(struct exposition *e, const char *format, ...)
{
	va_list arguments;
	char line[400];
	int n;

	va_start(arguments, format);
	n = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= sizeof(line))
		e->failed = true;
	else
		put(e, line, (size_t)n);
}

void
exposition_family(
    struct exposition *e, const char *name, const char *type, const char *help)
{
	size_t n = strlen(name);

	if (e->openmetrics && strcmp(type, "counter") == 0 && n > 6)
		n -= strlen("_total");
	put_text(e, "# HELP ");
	put(e, name, n);
	put(e, " ", 1);
	put_text(e, help);
	put_text(e, "\n# TYPE ");
	put(e, name, n);
	put(e, " ", 1);
	put_text(e, type);
	put(e, "\n", 1);
}

void
exposition_sample(struct exposition *e, const char *name,
    const struct label *labels, uint64_t value)
{
	put_name(e, name, "", labels, true);
	put(e, " ", 1);
	put_number(e, value);
	put(e, "\n", 1);
}

void
exposition_sample_ns(struct exposition *e, const char *name,
    const struct label *labels, uint64_t value_ns)
{
	put_name(e, name, "", labels, true);
	put(e, " ", 1);
	put_seconds(e, value_ns);
	put(e, "\n", 1);
}

void
exposition_gauge(
    struct exposition *e, const char *name, const char *help, double value)
{
	exposition_family(e, name, "gauge", help);
	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
		exposition_sample(e, name, NULL, (uint64_t)value);
	else
		exposition_print(e, "%s %.9g\n", name, value);
}

void
exposition_counter(
    struct exposition *e, const char *name, const char *help, uint64_t value)
{
	exposition_family(e, name, "counter", help);
	exposition_sample(e, name, NULL, value);
}

static void
put_exemplar(struct exposition *e, const struct exemplar *x)
{
	if (e->openmetrics && x != NULL && x->id[0] != '\0')
		exposition_print(e, " # {request_id=\"%s\"} %.9g %.3f", x->id,
		    (double)x->value_ns / 1e9, (double)x->wall_ns / 1e9);
	put(e, "\n", 1);
}

void
exposition_histogram(struct exposition *e, const char *name,
    const struct label *labels, const struct distribution *d,
    const struct exemplar *exemplars)
{
	size_t begun = e->length, head = 0;
	uint64_t sum = 0;

	for (unsigned i = 0; i <= d->edges; i++) {
		if (i == 0)
			put_name(e, name, "_bucket", labels, false);
		else if (text_reserve(e, head)) /* as the first one begins */
			put(e, e->text + begun, head);
		head = i == 0 ? e->length - begun : head;
		put(e, "le=\"", 4);
		if (i < d->edges)
			put_seconds(e, d->edge[i]);
		else
			put(e, "+Inf", 4);
		put(e, "\"} ", 3);
		sum += d->count[i];
		put_number(e, sum);
		put_exemplar(e, exemplars != NULL ? &exemplars[i] : NULL);
	}
	put_name(e, name, "_sum", labels, true);
	put(e, " ", 1);
	put_seconds(e, d->sum);
	put(e, "\n", 1);
	put_name(e, name, "_count", labels, true);
	put(e, " ", 1);
	put_number(e, d->total);
	put(e, "\n", 1);
}

void
exposition_summary(struct exposition *e, const char *name, const char *help,
    const struct histogram *h)
{
	static const struct {
		const char *name;
		double q;
	} wanted[] = {{"0.5", 0.5}, {"0.9", 0.9}, {"0.99", 0.99}, {"1", 1.0}};

	exposition_family(e, name, "summary", help);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		exposition_sample_ns(e, name,
		    LABELS({"quantile", wanted[i].name}),
		    histogram_quantile(h, wanted[i].q));
	put_name(e, name, "_sum ", NULL, true);
	put_seconds(e, h->sum);
	put(e, "\n", 1);
	put_name(e, name, "_count ", NULL, true);
	put_number(e, h->count);
	put(e, "\n", 1);
}

void
exposition_end(struct exposition *e)
{
	if (e->openmetrics)
		put_text(e, "# EOF\n");
}
