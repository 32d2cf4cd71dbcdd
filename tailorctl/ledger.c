#include <stdio.h>

#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/field.h"
#include "tailorctl/plain.h"

static double
number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static long long
count(const cJSON *object, const char *key)
{
	return (long long)field_number(object, key, 0);
}

/* "12 gc, 3 exit"; members that are zero are left out. */
static void
show_members(const char *title, const cJSON *object)
{
	const cJSON *one;
	unsigned shown = 0;
	char name[40];

	cJSON_ArrayForEach(one, object)
	{
		if (!cJSON_IsNumber(one) || !(one->valuedouble > 0) ||
		    !(one->valuedouble < 9e15))
			continue;
		/* Three to a line keep it within 80 columns. */
		printf(shown % 3 == 0 ? "%-10s %lld %s" : "%s%lld %s",
		    shown % 3 == 0 ? (shown == 0 ? title : "") : ", ",
		    (long long)one->valuedouble,
		    plain_cell(name, sizeof(name), one->string, 18));
		if (++shown % 3 == 0)
			putchar('\n');
	}
	if (shown % 3 != 0)
		putchar('\n');
}

static void
show_load(const char *title, const cJSON *w)
{
	char latency[PLAIN_DURATION_BYTES];

	if (w == NULL)
		return;
	plain_seconds(latency, number(w, "mean_latency_s"));
	printf("%-10s %.3f%% sent; W f = %s * %.3f/s = %.3f%%\n", title,
	    number(w, "actual") * 100, latency, number(w, "hazards_per_s"),
	    number(w, "predicted") * 100);
}

static void
show(const cJSON *tree)
{
	const cJSON *saved = field_list(tree, "saved");
	char mean[PLAIN_DURATION_BYTES], most[PLAIN_DURATION_BYTES];
	char total[PLAIN_DURATION_BYTES];

	printf("%-10s %lld, %lld sent a second time\n", "requests",
	    count(tree, "requests"), count(tree, "sent"));
	printf("%-10s %lld sent, %lld won, %lld lost, %lld cancelled, "
	       "%lld wasted\n",
	    "hedges", count(tree, "sent"), count(tree, "won"),
	    count(tree, "lost"), count(tree, "cancelled"),
	    count(tree, "both_failed"));
	show_members("because", field_list(tree, "sent_by_trigger"));
	show_members("to", field_list(tree, "sent_to"));
	show_members("not sent", field_list(tree, "refused"));
	show_members("losers", field_list(tree, "losers"));
	printf("%-10s %s in all, by %lld losers: %s each, %s at most\n",
	    "saved", plain_duration(total, field_number(saved, "total_ns", -1)),
	    count(saved, "losers"),
	    plain_duration(mean, field_number(saved, "mean_ns", -1)),
	    plain_duration(most, field_number(saved, "max_ns", -1)));
	show_load("extra load", field_list(tree, "extra_load"));
	show_load("recently", field_list(tree, "extra_load_recent"));
}

int
command_ledger(const struct options *options)
{
	return admin_report(options, "GET", "/ledger", show);
}
