#include "tailorctl/overview.h"

#include "base/terminal.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/field.h"

#define SLICES 2
#define BUCKETS_MAX 64

struct overview_counts {
	int64_t requests, again, over_ns; /* that long */
	int64_t bucket[BUCKETS_MAX];
};

/* The last slices of the list, as far as they are recent. */
static void
count(struct overview_counts *c, const cJSON *tree)
{
	const cJSON *slices = field_list(tree, "slices"), *one;
	int64_t slice_ns = field_number(tree, "slice_ns", 10 * NS_PER_S);
	int64_t uptime_ns = field_number(tree, "uptime_ns", 0);
	int64_t now_ns = 0; /* how much of the present one has passed */

	cJSON_ArrayForEach(one, slices)
	{
		int64_t ago_ns = field_number(one, "began_ago_ns", INT64_MAX);
		const cJSON *n;
		unsigned i = 0;

		if (slice_ns > 0)
			now_ns = ago_ns % slice_ns;
		if (ago_ns >= SLICES * slice_ns)
			continue;
		c->requests += field_number(one, "requests", 0);
		c->again += field_number(one, "again", 0);
		cJSON_ArrayForEach(n, field_list(one, "latency"))
		{
			if (i < BUCKETS_MAX && cJSON_IsNumber(n))
				c->bucket[i++] += (int64_t)n->valuedouble;
		}
	}
	c->over_ns = slice_ns * (SLICES - 1) + now_ns;
	if (uptime_ns < c->over_ns)
		c->over_ns = uptime_ns;
}

/* The edge that this part of the requests is under. */
static int64_t
under(const struct overview_counts *c, const cJSON *tree, double part)
{
	const cJSON *one;
	int64_t below = 0;
	unsigned i = 0;

	if (c->requests == 0)
		return -1;
	cJSON_ArrayForEach(one, field_list(tree, "latency"))
	{
		below += i < BUCKETS_MAX ? c->bucket[i++] : 0;
		if ((double)below >= part * (double)c->requests)
			return field_number(one, "to_ns", INT64_MAX);
	}
	return -1;
}

static void
read_servers(struct overview *o, const cJSON *tree)
{
	const cJSON *s;

	cJSON_ArrayForEach(s, field_list(tree, "servers"))
	{
		const char *name = plain_cell(field_text(s, "name"), 16);
		const char *state = plain_cell(field_text(s, "state"), 10);

		if (field_true(s, "active"))
			snprintf(
			    o->active, sizeof(o->active), "%s %s", name, state);
		else
			text_append(o->others, sizeof(o->others),
			    "  standby %s %s", name, state);
	}
}

int
overview_read(struct overview *o, const struct ctl_options *options)
{
	cJSON *tree = admin_json(options, "/live.json");
	struct overview_counts c = {0};

	*o = (struct overview){.active = "-"};
	if (tree == NULL)
		return -1;
	count(&c, tree);
	snprintf(o->mode, sizeof(o->mode), "%s",
	    plain_cell(field_text(tree, "mode"), 8));
	o->uptime_ns = field_number(tree, "uptime_ns", -1);
	o->inflight = field_number(tree, "inflight", 0);
	o->swaps = field_number(tree, "swaps", 0);
	if (c.over_ns > 0) {
		o->rate_per_s = (double)c.requests * 1e9 / (double)c.over_ns;
		o->again_per_s = (double)c.again * 1e9 / (double)c.over_ns;
	}
	o->p50_ns = under(&c, tree, 0.5);
	o->p99_ns = under(&c, tree, 0.99);
	read_servers(o, tree);
	cJSON_Delete(tree);
	return 0;
}

static const char *
bound(int64_t ns)
{
	if (ns == INT64_MAX)
		return ">50s";
	if (ns < 0)
		return "-";
	return plain_format("<%s", plain_duration(ns));
}

/* "45s", "12min", "3.2h", "9.1d" */
static void
print_uptime(int64_t ns)
{
	static const struct {
		double seconds, from;
		const char *name;
	} unit[] = {{86400, 2 * 86400, "d"}, {3600, 7200, "h"},
	    {60, 120, "min"}, {1, 0, "s"}};
	double seconds = (double)ns / 1e9;
	unsigned i = 0;

	while (i < 3 && seconds < unit[i].from)
		i++;
	printf("%.*f%s", i < 2, seconds / unit[i].seconds, unit[i].name);
}

void
overview_print(const struct overview *o)
{
	printf("%smode %s  up ", plain_escape(TERMINAL_BOLD), o->mode);
	print_uptime(o->uptime_ns);
	printf("  active %s%s%s\n", o->active, o->others,
	    plain_escape(TERMINAL_PLAIN));
	printf("%s/s  p50 %s  p99 %s  in flight %lld  hedges %s/s  swaps "
	       "%lld\n\n",
	    plain_rate(o->rate_per_s), bound(o->p50_ns), bound(o->p99_ns),
	    (long long)o->inflight, plain_rate(o->again_per_s),
	    (long long)o->swaps);
}

void
overview_write(const struct overview *o, struct json *j)
{
	json_key_object(j, "overview");
	json_key_string(j, "mode", o->mode);
	json_key_int(j, "uptime_ns", o->uptime_ns);
	json_key_double(j, "requests_per_s", o->rate_per_s);
	json_key_double(j, "hedges_per_s", o->again_per_s);
	if (o->p50_ns >= 0 && o->p50_ns < INT64_MAX)
		json_key_int(j, "p50_under_ns", o->p50_ns);
	if (o->p99_ns >= 0 && o->p99_ns < INT64_MAX)
		json_key_int(j, "p99_under_ns", o->p99_ns);
	json_key_int(j, "inflight", o->inflight);
	json_key_int(j, "swaps", o->swaps);
	json_object_end(j);
}
