#include "loadgen/report/report.h"

#include "base/text.h"
#include "base/quantity.h"

#define LIST_MAX 10 /* run.json has all */
#define CAUSES_MAX 8

static void
print_one(FILE *out, const struct report *r, const struct slow *slow)
{
	const struct request_name name = {
	    .iteration = slow->iteration, .number = slow->number};
	char id[REQUEST_ID_MAX];
	char t[3][QUANTITY_TEXT_MAX];

	(void)request_id_format(&r->texts.ids, &name, id);
	fprintf(out, "  %-20s iteration %u request %u  %8s  lag %s", id,
	    slow->iteration, slow->number,
	    quantity_format_ns(slow->latency_ns, t[0]),
	    quantity_format_ns(slow->lag_ns, t[1]));
	if (slow->server_ns >= 0)
		fprintf(out, "  in the server %s",
		    quantity_format_ns(slow->server_ns, t[2]));
	fprintf(out, "\n");
}

static void
print_causes(FILE *out, const struct report *r)
{
	const struct findings *f = &r->findings;
	struct slow_cause causes[CAUSES_MAX];
	int n = findings_causes(f, causes, CAUSES_MAX);
	char t[QUANTITY_TEXT_MAX], safe[4 * FINDING_CODE_MAX];

	if (f->count + f->missing > 0)
		fprintf(out,
		    "\nSlow: %zu explained, %zu pinned, %zu no longer kept\n",
		    f->count, f->pinned, f->missing);
	for (int i = 0; i < n; i++) {
		fprintf(out, "%6zu x %s", causes[i].count,
		    text_safe(safe, sizeof(safe), causes[i].code));
		if (causes[i].median_ns >= 0)
			fprintf(out, " (median %s)",
			    quantity_format_ns(causes[i].median_ns, t));
		fprintf(out, "\n");
	}
	if (f->why[0] != '\0')
		fprintf(out, "\nSlow requests are no longer analyzed: %s\n",
		    f->why);
}

/* The slowest of all: in words, and where to look. */
static void
print_worst(FILE *out, const struct report *r)
{
	char safe[4 * FINDING_TEXT_MAX];
	const struct slow_list *l = &r->summary.slow;
	const struct finding *f =
	    l->count == 0 ? NULL
			  : findings_of(&r->findings, l->slowest[0].iteration,
				l->slowest[0].number);

	if (f == NULL)
		return;
	fprintf(out, "Worst: %s", text_safe(safe, sizeof(safe), f->text));
	if (f->page[0] != '\0')
		fprintf(out, "\n       -> %s/%s", r->options->out_dir, f->page);
	fprintf(out, "\n");
}

void
report_text_slow(FILE *out, const struct report *r)
{
	const struct slow_list *l = &r->summary.slow;

	if (l->count == 0)
		return;
	fprintf(out, "\nSlowest:\n");
	for (size_t i = 0; i < l->count && i < LIST_MAX; i++)
		print_one(out, r, &l->slowest[i]);
	if (l->count > LIST_MAX)
		fprintf(out, "  and %zu more\n", l->count - LIST_MAX);
	print_causes(out, r);
	print_worst(out, r);
}
