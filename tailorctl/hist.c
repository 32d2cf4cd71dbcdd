/* hist.c: latencies of requests, as a live histogram.
 *
 * From the stream, not from counters: each request is there with its server.
 * "|" is the first server, "#" the second, "." a response of Tailor itself. */
#include <stdio.h>
#include <stdlib.h>

#include "base/histogram.h"
#include "base/json.h"
#include "tailorctl/commands.h"
#include "tailorctl/follow.h"
#include "tailorctl/plain.h"
#include "tailorctl/screen.h"

#define ROWS 22	    /* edges 1, 2, 5, ... from 10 us; the last has none */
#define BAR 56	    /* marks on 80 columns */
#define BAR_MAX 200 /* on a wide terminal */
#define KINDS 3

struct chart {
	const struct options *options; /* borrowed */
	struct stream_requests *table; /* owned */
	struct histogram all;
	uint64_t count[ROWS][KINDS];
	uint64_t requests;
};

static uint64_t
edge_ns(unsigned i)
{
	static const unsigned step[] = {1, 2, 5};
	uint64_t edge = 10000;

	for (unsigned n = i / 3; n > 0; n--)
		edge *= 10;
	return i < ROWS - 1 ? edge * step[i % 3] : UINT64_MAX;
}

static void
count(struct chart *c, const struct stream_request *r)
{
	uint64_t total = stream_request_total_ns(r);
	unsigned row = 0, kind = r->server < 0 ? 2 : r->server > 0;

	if (!r->began)
		return;
	while (total > edge_ns(row))
		row++;
	c->count[row][kind]++;
	c->requests++;
	histogram_record(&c->all, total);
}

static void
print_row(const struct chart *c, unsigned i, uint64_t most)
{
	static const char mark[KINDS] = {'|', '#', '.'};
	char edge[PLAIN_DURATION_BYTES], bar[BAR_MAX + 1];
	unsigned width = BAR + plain_spare(), n = 0;
	uint64_t sum = 0;

	width = width < BAR_MAX ? width : BAR_MAX;
	for (unsigned k = 0; k < KINDS; k++) {
		uint64_t marks =
		    (c->count[i][k] * (width - KINDS) + most - 1) / most;

		sum += c->count[i][k];
		while (marks-- > 0 && n < width)
			bar[n++] = mark[k];
	}
	bar[n] = '\0';
	printf("%s%8s %7llu %s\n", i == ROWS - 1 ? "> " : "< ",
	    plain_duration(edge, (int64_t)edge_ns(i == ROWS - 1 ? i - 1 : i)),
	    (unsigned long long)sum, bar);
}

static void
print_chart(const struct chart *c)
{
	static const double q[] = {0.5, 0.9, 0.99, 0.999, 1};
	char text[PLAIN_DURATION_BYTES], name[STREAM_NAME], cell[STREAM_NAME];
	uint64_t most = 1;
	unsigned first = ROWS, last = 0;

	for (unsigned i = 0; i < ROWS; i++) {
		uint64_t sum = 0;

		for (unsigned k = 0; k < KINDS; k++)
			sum += c->count[i][k];
		most = sum > most ? sum : most;
		if (sum > 0) {
			first = first == ROWS ? i : first;
			last = i;
		}
	}
	printf("%llu requests; | %s", (unsigned long long)c->requests,
	    plain_cell(
		cell, sizeof(cell), stream_server_name(c->table, 0, name), 14));
	if (c->table->servers != 1)
		printf(
		    "  # %s", plain_cell(cell, sizeof(cell),
				  stream_server_name(c->table, 1, name), 14));
	printf("  . Tailor itself\n");
	for (unsigned i = first; i <= last && i < ROWS; i++)
		print_row(c, i, most);
	for (unsigned i = 0; c->requests > 0 && i < sizeof(q) / sizeof(q[0]);
	     i++)
		printf("%sp%g %s", i > 0 ? "  " : "", 100 * q[i],
		    plain_duration(
			text, (int64_t)histogram_quantile(&c->all, q[i])));
	putchar('\n');
}

static int
print_json(const struct chart *c)
{
	char name[STREAM_NAME];
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.hist/1");
	json_key_uint(&j, "requests", c->requests);
	json_key_array(&j, "servers");
	for (int i = 0; i < 2; i++)
		json_string(&j, stream_server_name(c->table, i, name));
	json_array_end(&j);
	json_key_array(&j, "buckets");
	for (unsigned i = 0; i < ROWS; i++) {
		json_object_begin(&j);
		if (i < ROWS - 1)
			json_key_uint(&j, "to_ns", edge_ns(i));
		json_key_array(&j, "requests");
		for (unsigned k = 0; k < KINDS; k++)
			json_uint(&j, c->count[i][k]);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_key_uint(&j, "p50_ns", histogram_quantile(&c->all, 0.5));
	json_key_uint(&j, "p99_ns", histogram_quantile(&c->all, 0.99));
	json_key_uint(&j, "max_ns", histogram_quantile(&c->all, 1));
	json_object_end(&j);
	return plain_json(&j);
}

static void
take_event(void *user, const struct timeline_slot *slot)
{
	struct chart *c = user;
	struct stream_request r;

	if (stream_requests_take(c->table, slot, &r))
		count(c, &r);
}

static int
show(void *user, int key)
{
	const struct chart *c = user;
	const struct options *o = c->options;

	if (o->json)
		return print_json(c);
	(void)key;
	screen_begin();
	print_chart(c);
	screen_hint("");
	return fflush(stdout);
}

int
command_hist(const struct options *options)
{
	struct chart *c = calloc(1, sizeof(*c));
	struct follow f;
	int status = STATUS_NO;

	if (c != NULL)
		c->table = calloc(1, sizeof(*c->table));
	if (c == NULL || c->table == NULL || follow_open(&f, options) < 0)
		goto free_chart;
	c->options = options;
	histogram_init(&c->all);
	follow_names(options, c->table);
	screen_open(options);
	status = follow_run(&f, take_event, show, c);
	if (f.lost > 0)
		fprintf(stderr, "%llu events overtaken\n",
		    (unsigned long long)f.lost);
	follow_close(&f);

free_chart:
	if (c != NULL)
		free(c->table);
	free(c);
	return status;
}
