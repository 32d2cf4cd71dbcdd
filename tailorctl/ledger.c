/* ledger.c: the part of "tailorctl gain" that is counted: what hedging cost
 * and gained. */
#include <stdio.h>

#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "base/terminal.h"

/* Print a line's title in its column. */
static void
show_title(const char *title)
{
	plain_print_cell(title, 10, TERMINAL_BOLD);
}

/* Print members as "12 gc, 3 exit", without those that are zero. */
static void
show_members(const char *title, const cJSON *object)
{
	const cJSON *one;
	/* Three keep a line within 80 columns. */
	unsigned shown = 0, most = 3 + plain_spare() / 27;

	cJSON_ArrayForEach(one, object)
	{
		if (!cJSON_IsNumber(one) || !(one->valuedouble > 0) ||
		    !(one->valuedouble < 9e15))
			continue;
		if (shown % most == 0)
			show_title(shown == 0 ? title : "");
		printf("%s%lld %s", shown % most == 0 ? "" : ", ",
		    (long long)one->valuedouble, plain_cell(one->string, 18));
		if (++shown % most == 0)
			putchar('\n');
	}
	if (shown % most != 0)
		putchar('\n');
}

static void
show_load(const char *title, const cJSON *w)
{
	if (w == NULL)
		return;
	show_title(title);
	printf(
	    "%.3f%% sent; predicted %.3f%% (mean latency %s x %.2f pauses/s)\n",
	    field_double(w, "actual", 0) * 100,
	    field_double(w, "predicted", 0) * 100,
	    plain_seconds(field_double(w, "mean_latency_s", 0)),
	    field_double(w, "pauses_per_s", 0));
}

void
ledger_show(const cJSON *tree)
{
	const cJSON *saved = field_list(tree, "saved");

	show_title("requests");
	printf("%lld, %lld sent a second time\n",
	    field_number(tree, "requests", 0), field_number(tree, "sent", 0));
	show_title("hedges");
	printf("%lld sent, %lld won, %lld lost, %lld cancelled, %lld wasted\n",
	    field_number(tree, "sent", 0), field_number(tree, "won", 0),
	    field_number(tree, "lost", 0), field_number(tree, "cancelled", 0),
	    field_number(tree, "both_failed", 0));
	show_members("because", field_list(tree, "sent_by_trigger"));
	show_members("to", field_list(tree, "sent_to"));
	show_members("not sent", field_list(tree, "refused"));
	show_members("losers", field_list(tree, "losers"));
	show_title("saved");
	printf("%s in all, in %lld requests: %s each, %s at most\n",
	    plain_duration(field_number(saved, "total_ns", -1)),
	    field_number(saved, "losers", 0),
	    plain_duration(field_number(saved, "mean_ns", -1)),
	    plain_duration(field_number(saved, "max_ns", -1)));
	show_load("extra load", field_list(tree, "extra_load"));
	show_load("recently", field_list(tree, "extra_load_recent"));
}
