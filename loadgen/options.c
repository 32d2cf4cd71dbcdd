#include "loadgen/options.h"

#include <errno.h>
#include <math.h>

#define P99_REQUESTS 1000
#define WARMUP_MAX 100 /* by default, as the next two */
#define WARMUP_SHARE 10
#define WARMUP_S 10

static void
options_init(struct load_options *o)
{
	memset(o, 0, sizeof(*o));
	o->plan.rate_per_s = 1000;
	o->plan.requests = 1000;
	o->plan.iterations = 20;
	o->plan.seed = 1;
	o->plan.pause_ns = 500 * NS_PER_MS;
	o->plan.connections = 1;
	o->plan.max_connections = 1024;
	o->pin = true;
	o->plan.timeout_ns = 10 * NS_PER_S;
	o->plan.spin = true;
	for (unsigned status = 200; status < 300; status++)
		o->plan.expected_status[status] = true;
	o->plan.kernel_stamps = true;
	o->criteria.slow = 3;
	o->find_step_ns = 10 * NS_PER_S;
	o->find_lowest_per_s = 1;
	o->find_highest_per_s = 1e5;
	/* The table shows both, the verdict needs p99. */
	(void)percentiles_add(&o->criteria.percentiles, 50);
	(void)percentiles_add(&o->criteria.percentiles, 99);
}

static int
wrong(struct load_options *o, const char *text)
{
	snprintf(o->why, sizeof(o->why), "%s", text);
	return -EINVAL;
}

static int
check_closed(struct load_options *o)
{
	if (o->rate_given)
		return wrong(o,
		    "--arrivals closed:C has no --rate: the responses set it");
	if (o->duration_ns > 0)
		return wrong(
		    o, "--arrivals closed:C needs --requests, not --duration");
	if (o->connections_given)
		return wrong(o, "--arrivals closed:C sets the number of "
				"connections itself");
	o->plan.connections = o->plan.closed_clients;
	return 0;
}

static int
check_trace(struct load_options *o)
{
	if (o->rate_given || o->requests_given || o->duration_ns > 0)
		return wrong(o, "--arrivals file:PATH sets rate and number of "
				"requests itself");
	return 0;
}

static int
check_duration(struct load_options *o)
{
	if (o->requests_given)
		return wrong(o, "give --requests or --duration, not both");
	double n =
	    o->plan.rate_per_s * (double)o->duration_ns / (double)NS_PER_S;
	/* So many that p99 of each iteration rests on ten requests. */
	if (!o->iterations_given)
		o->plan.iterations =
		    n < 2 * P99_REQUESTS ? 1
		    : n < (double)o->plan.iterations * P99_REQUESTS
			? (uint64_t)(n / P99_REQUESTS)
			: o->plan.iterations;
	n /= (double)o->plan.iterations;
	if (n < 1 || n > PLAN_REQUESTS_MAX)
		return wrong(o, "--duration times --rate must be 1 to 100 "
				"million requests an iteration");
	o->plan.requests = (uint64_t)llround(n);
	return 0;
}

void
options_default_warmup(struct load_options *o)
{
	struct plan *plan = &o->plan;
	uint64_t n = (plan->requests + WARMUP_SHARE - 1) / WARMUP_SHARE;

	if (o->warmup_given)
		return;
	if (n > WARMUP_MAX)
		n = WARMUP_MAX;
	if (plan->arrivals != ARRIVALS_CLOSED &&
	    (double)n > plan->rate_per_s * WARMUP_S)
		n = (uint64_t)(plan->rate_per_s * WARMUP_S);
	plan->warmup = n;
}

static int
check_output(struct load_options *o)
{
	const char *path[] = {o->output.json_path, o->output.ndjson_path};
	unsigned on_stdout = 0;

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		if (path[i] != NULL && o->output.out_dir != NULL)
			return wrong(o, "--out writes what --json and --ndjson "
					"do: give it or them");
		if (path[i] != NULL && strcmp(path[i], "-") == 0)
			on_stdout++;
	}
	o->output.on_stdout = on_stdout > 0;
	if (on_stdout > 1)
		return wrong(o, "only one output can go to stdout (-)");
	return 0;
}

static int
check_combinations(struct load_options *o)
{
	int err = 0;

	if (o->plan.arrivals == ARRIVALS_CLOSED)
		err = check_closed(o);
	else if (o->plan.arrivals == ARRIVALS_FILE)
		err = check_trace(o);
	else if (o->duration_ns > 0 && o->find_percent <= 0)
		err = check_duration(o);
	if (err < 0)
		return err;
	options_default_warmup(o);
	if (o->plan.connections > o->plan.max_connections) {
		if (o->max_connections_given)
			return wrong(
			    o, "--connections is above --max-connections");
		o->plan.max_connections = o->plan.connections;
	}
	if (!o->percentiles_given)
		(void)percentiles_parse(&o->criteria.percentiles, "90,99.9");
	/* Compute every percentile that --fail compares. */
	for (unsigned i = 0; i < o->criteria.fail_count; i++) {
		if (o->criteria.fails[i].statistic == STATISTIC_PERCENTILE &&
		    percentiles_add(&o->criteria.percentiles,
			o->criteria.fails[i].percent) < 0)
			return wrong(o, "--fail: too many percentiles");
	}
	return check_output(o);
}

static int
check_find(struct load_options *o)
{
	if (o->url != NULL &&
	    options_line.explain(options_line.command, o->url, o->why))
		return -EINVAL;
	if (o->url == NULL && o->urls_path == NULL)
		return wrong(o, "no URL given: tailor-load find --p99 10ms "
				"http://localhost:8080/");
	if (o->find_percent <= 0)
		return wrong(o, "find needs --p50, --p90, --p99 or --p999 with "
				"the most that it may be, like --p99 10ms");
	if (o->find_lowest_per_s > o->find_highest_per_s)
		return wrong(o, "--min-rate is above --max-rate");
	return check_combinations(o);
}

/* Refuse a verb without the options that it needs. */
static int
check_verb(struct load_options *o, enum options_verb verb)
{
	if (verb == OPTIONS_RUN && o->url != NULL &&
	    options_line.explain(options_line.command, o->url, o->why))
		return -EINVAL;
	if (verb == OPTIONS_RUN && o->url == NULL && o->urls_path == NULL)
		return wrong(o, "no URL given: "
				"tailor-load -r 100 -d 10s "
				"http://localhost:8080/");
	if (verb == OPTIONS_FIND)
		return check_find(o);
	if (verb == OPTIONS_AB && (o->url_a == NULL || o->url_b == NULL))
		return wrong(o, "ab needs --a URL and --b URL");
	if (verb == OPTIONS_RUN || verb == OPTIONS_AB)
		return check_combinations(o);
	return verb == OPTIONS_CHECK ? 0 : check_output(o);
}

int
options_parse(
    struct load_options *o, int argc, char **argv, enum options_verb *verb)
{
	struct line_words words;
	int err;

	options_init(o);
	err = line_parse(&options_line, o, argc, argv, &words, o->why);
	if (err != 0)
		return err;
	*verb = (enum options_verb)words.command;
	for (int i = 0; i < words.count; i++)
		o->files[i] = words.word[i];
	o->url =
	    *verb == OPTIONS_RUN || *verb == OPTIONS_FIND ? o->files[0] : NULL;
	return check_verb(o, *verb);
}
