#include "profiler/shim/report.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS 79 /* of text, and its full stop */

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
