/*
 * exposition.c: see exposition.h.
 */
#include "proxy/exposition.h"

#include <event2/buffer.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
exposition_print(struct exposition *e, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (evbuffer_add_vprintf(e->out, format, arguments) < 0)
		e->failed = true;
	va_end(arguments);
}

void
exposition_family(
    struct exposition *e, const char *name, const char *type, const char *help)
{
	size_t n = strlen(name);

	if (e->openmetrics && strcmp(type, "counter") == 0 && n > 6)
		n -= strlen("_total");
	exposition_print(e, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)n, name,
	    help, (int)n, name, type);
}

void
exposition_gauge(
    struct exposition *e, const char *name, const char *help, double value)
{
	exposition_family(e, name, "gauge", help);
	exposition_print(e, "%s %.9g\n", name, value);
}

void
exposition_counter(
    struct exposition *e, const char *name, const char *help, uint64_t value)
{
	exposition_family(e, name, "counter", help);
	exposition_print(e, "%s %llu\n", name, (unsigned long long)value);
}

/* Seconds as both formats write them alike: "0.001", "1.0". */
static const char *
edge_text(uint64_t ns, char *out, size_t size)
{
	snprintf(out, size, "%.9g%s", (double)ns / 1e9,
	    ns % UINT64_C(1000000000) == 0 ? ".0" : "");
	return out;
}

static void
print_exemplar(struct exposition *e, const struct exemplar *x)
{
	if (e->openmetrics && x != NULL && x->id[0] != '\0')
		exposition_print(e, " # {request_id=\"%s\"} %.9g %.3f", x->id,
		    (double)x->value_ns / 1e9, (double)x->wall_ns / 1e9);
	exposition_print(e, "\n");
}

void
exposition_histogram(struct exposition *e, const char *name, const char *labels,
    const struct distribution *d, const struct exemplar *exemplars)
{
	const char *comma = labels[0] != '\0' ? "," : "";
	const char *open = labels[0] != '\0' ? "{" : "";
	const char *close = labels[0] != '\0' ? "}" : "";
	uint64_t sum = 0;
	char edge[40];

	for (unsigned i = 0; i <= d->edges; i++) {
		sum += d->count[i];
		exposition_print(e, "%s_bucket{%s%sle=\"%s\"} %llu", name,
		    labels, comma,
		    i < d->edges ? edge_text(d->edge[i], edge, sizeof(edge))
				 : "+Inf",
		    (unsigned long long)sum);
		print_exemplar(e, exemplars != NULL ? &exemplars[i] : NULL);
	}
	exposition_print(e, "%s_sum%s%s%s %.9g\n%s_count%s%s%s %llu\n", name,
	    open, labels, close, (double)d->sum / 1e9, name, open, labels,
	    close, (unsigned long long)d->total);
}

void
exposition_summary(struct exposition *e, const char *name, const char *help,
    const struct histogram *h)
{
	static const double q[] = {0.5, 0.9, 0.99, 1.0};

	exposition_family(e, name, "summary", help);
	for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		exposition_print(e, "%s{quantile=\"%g\"} %.9g\n", name, q[i],
		    (double)histogram_quantile(h, q[i]) / 1e9);
	exposition_print(e, "%s_sum %.9g\n%s_count %llu\n", name,
	    (double)h->sum / 1e9, name, (unsigned long long)h->count);
}

void
exposition_end(struct exposition *e)
{
	if (e->openmetrics)
		exposition_print(e, "# EOF\n");
}
