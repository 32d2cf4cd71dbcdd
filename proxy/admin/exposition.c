#include "proxy/admin/exposition.h"

#include <assert.h>
#include <stdlib.h>

#include "base/embed.h"
#include "http/writer.h"

#define FAMILY_NAME_MAX 80
#define FIRST_BYTES ((size_t)96 << 10) /* usually enough for all metrics */

void
exposition_init(struct exposition *e, bool openmetrics)
{
	*e = (struct exposition){.openmetrics = openmetrics};
	text_reserve(&e->text, FIRST_BYTES);
}

void
exposition_fini(struct exposition *e)
{
	free(e->text.at);
	e->text = (struct text){0};
}

static void
put(struct exposition *e, const char *text, size_t n)
{
	text_put(&e->text, text, n);
}

static void
put_text(struct exposition *e, const char *text)
{
	text_puts(&e->text, text);
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

/* Append a name and its labels; last: close the braces, no label follows. */
static void
put_name(struct exposition *e, const char *suffix, const struct label *labels,
    bool last)
{
	const char *before = "{";

	put_text(e, e->name);
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

/* metrics.txt has for each family a line with its name and type, then its
 * meaning in lines that begin with a tab. */
EMBED(families, "proxy/admin/metrics.txt");

/* Find the line of a family; NULL: none.  Begins the search at the last family,
 * as families are mostly written in the order of the file. */
static const char *
family_find(struct exposition *e, const char *name, size_t n)
{
	char mark[FAMILY_NAME_MAX + 3] = "\n";
	const char *at;

	assert(n <= FAMILY_NAME_MAX);
	memcpy(mark + 1, name, n);
	memcpy(mark + 1 + n, " ", 2);
	at = strstr(e->family != NULL ? e->family : families, mark);
	if (at == NULL)
		at = strstr(families, mark);
	if (at != NULL)
		e->family = at;
	return at != NULL ? at + 1 : NULL;
}

void
exposition_family(struct exposition *e, const char *name)
{
	size_t n = strlen(name), kind;
	const char *line = family_find(e, name, n), *type, *end;

	e->name = name;
	type = line != NULL ? line + n + 1 : "untyped";
	kind = strcspn(type, "\n");
	if (e->openmetrics && n > 6 && strncmp(type, "counter", kind) == 0)
		n -= strlen("_total");
	put_text(e, "# HELP ");
	put(e, name, n);
	for (line = type + kind; line[0] == '\n' && line[1] == '\t';
	     line = end) {
		end = strchrnul(line + 2, '\n');
		if (line[-1] == '.')
			put(e, " ", 1);
		put(e, " ", 1);
		put(e, line + 2, (size_t)(end - line - 2));
	}
	put_text(e, "\n# TYPE ");
	put(e, name, n);
	put(e, " ", 1);
	put(e, type, kind);
	put(e, "\n", 1);
}

void
exposition_part(struct exposition *e, const char *suffix,
    const struct label *labels, uint64_t value)
{
	put_name(e, suffix, labels, true);
	put(e, " ", 1);
	put_number(e, value);
	put(e, "\n", 1);
}

void
exposition_part_ns(struct exposition *e, const char *suffix,
    const struct label *labels, uint64_t value_ns)
{
	put_name(e, suffix, labels, true);
	put(e, " ", 1);
	put_seconds(e, value_ns);
	put(e, "\n", 1);
}

void
exposition_gauge(struct exposition *e, const char *name, double value)
{
	exposition_family(e, name);
	if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
		exposition_sample(e, NULL, (uint64_t)value);
	else
		text_add(&e->text, "%s %.9g\n", name, value);
}

void
exposition_counter(struct exposition *e, const char *name, uint64_t value)
{
	exposition_family(e, name);
	exposition_sample(e, NULL, value);
}

static void
put_exemplar(struct exposition *e, const struct exemplar *x)
{
	if (e->openmetrics && x != NULL && x->id[0] != '\0') {
		/* At most 114 characters of labels: 128 are allowed. */
		text_add(&e->text, " # {request_id=\"%s\"", x->id);
		if (x->trace_id[0] != '\0')
			text_add(&e->text, ",trace_id=\"%s\"", x->trace_id);
		text_add(&e->text, "} %.9g %.3f", (double)x->value_ns / 1e9,
		    (double)x->wall_ns / 1e9);
	}
	put(e, "\n", 1);
}

void
exposition_histogram(struct exposition *e, const struct label *labels,
    const struct distribution *d, const struct exemplar *exemplars)
{
	size_t begun = e->text.length, head = 0;
	uint64_t sum = 0;

	for (unsigned i = 0; i <= d->edges; i++) {
		if (i == 0)
			put_name(e, "_bucket", labels, false);
		else if (text_reserve(&e->text, head)) /* as the first */
			put(e, e->text.at + begun, head);
		head = i == 0 ? e->text.length - begun : head;
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
	exposition_part_ns(e, "_sum", labels, d->sum);
	exposition_part(e, "_count", labels, d->total);
}

void
exposition_distribution(
    struct exposition *e, const char *name, const struct distribution *d)
{
	exposition_family(e, name);
	exposition_histogram(e, NULL, d, NULL);
}

void
exposition_end(struct exposition *e)
{
	if (e->openmetrics)
		put_text(e, "# EOF\n");
}
