/* summary.c: computes an iteration's summary from its samples; see summary.h.
 * summary_run.c has the statistics across iterations. */
#include "loadgen/stats/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int
summary_open(
    struct summary *s, const struct plan *plan, const struct criteria *criteria)
{
	memset(s, 0, sizeof(*s));
	s->plan = plan;
	s->criteria = criteria;
	s->iterations = calloc(plan->iterations, sizeof(*s->iterations));
	s->scratch = calloc(plan->iterations, sizeof(*s->scratch));
	if (s->iterations != NULL && s->scratch != NULL &&
	    slow_list_init(&s->slow, criteria->slow) == 0)
		return 0;
	summary_close(s);
	return -ENOMEM;
}

void
summary_close(struct summary *s)
{
	for (size_t i = 0; i < s->count; i++)
		slow_list_fini(&s->iterations[i].slow);
	for (size_t i = 0; i < SERIES_COUNT; i++)
		free(s->pool[i].values);
	slow_list_fini(&s->slow);
	free(s->iterations);
	free(s->scratch);
	memset(s, 0, sizeof(*s));
}

/* Make room for more values; keeps the present ones. */
static int
series_reserve(struct sample_series *p, size_t more)
{
	int64_t *values = array_reserve(
	    p->values, &p->capacity, p->count + more, sizeof(*values));

	if (values == NULL)
		return -ENOMEM;
	p->values = values;
	return 0;
}

/* Get the value of a sample in a series; false if it has none. */
static bool
sample_value(const struct request_sample *sample,
    enum expectation_series series, int64_t *out)
{
	bool ok = sample_is_ok(sample);
	bool reported = ok && sample->server_ns >= 0;

	switch (series) {
	case SERIES_LATENCY:
		*out = ok ? sample_latency_ns(sample) : 0;
		return ok;
	case SERIES_SERVICE:
		*out = ok ? sample_service_ns(sample) : 0;
		return ok;
	case SERIES_LEAST:
		*out = ok ? sample_least_ns(sample) : 0;
		return ok;
	case SERIES_SERVER:
		*out = sample->server_ns;
		return reported;
	case SERIES_GAP:
		*out = reported ? sample_gap_ns(sample) : 0;
		return reported;
	case SERIES_SEND:
		*out = instant_since(sample->kernel_sent, sample->send_begin);
		return instant_is_set(sample->kernel_sent);
	case SERIES_RECEIVE:
		*out = instant_since(sample->first, sample->kernel_first);
		return ok && instant_is_set(sample->kernel_first);
	case SERIES_LAG:
		/* Lag exists without a response. */
		if (sample->outcome == OUTCOME_UNSENT)
			return false;
		*out = sample_lag_ns(sample);
		return true;
	}
	return false;
}

static void
distribution_fill(struct latency_summary *d, const int64_t *sorted, size_t n,
    const struct percentiles *p)
{
	double sum = 0;

	d->count = n;
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		sum += (double)sorted[i];
	d->min_ns = sorted[0];
	d->max_ns = sorted[n - 1];
	d->mean_ns = (int64_t)(sum / (double)n);
	for (unsigned i = 0; i < p->count; i++)
		d->at_ns[i] = quantile_sorted(sorted, n, p->at[i]);
}

/* Append the values of a series to its pool, and summarise them. */
static int
add_series(struct summary *s, struct iteration_summary *sum,
    const struct iteration *it, enum expectation_series series)
{
	const struct request_sample *samples = iteration_measured(it);
	struct sample_series *pool = &s->pool[series];
	int err = series_reserve(pool, it->requests);

	if (err < 0)
		return err;
	int64_t *values = pool->values + pool->count;
	size_t n = 0;
	for (size_t i = 0; i < it->requests; i++) {
		if (sample_value(&samples[i], series, &values[n]))
			n++;
	}
	pool->count += n;
	array_sort_int64(values, n);
	distribution_fill(
	    &sum->series[series], values, n, &s->criteria->percentiles);
	return 0;
}

static void
count_sample(struct iteration_summary *sum, const struct request_sample *sample)
{
	sum->outcomes[sample->outcome]++;
	if (sample->outcome == OUTCOME_UNSENT)
		return;
	sum->sent++;
	if (outcome_is_error(sample->outcome))
		sum->errors++;
	if (sample->outcome == OUTCOME_OK || sample->outcome == OUTCOME_STATUS)
		sum->status[sample->status]++;
	if (sample->outcome == OUTCOME_STATUS)
		sum->failed_status[sample->status]++;
	int64_t lag_ns = sample_lag_ns(sample);
	if (lag_ns > NS_PER_MS)
		sum->lag_over_1ms++;
	if (sample->new_connection)
		sum->new_connections++;
	if (sample->waited) {
		sum->waited++;
		if (lag_ns > sum->waited_max_ns)
			sum->waited_max_ns = lag_ns;
	}
}

static void
list_slow(struct iteration_summary *sum, const struct iteration *it)
{
	const struct request_sample *samples = iteration_measured(it);

	for (size_t i = 0; i < it->requests; i++) {
		const struct request_sample *sample = &samples[i];
		if (!sample_is_ok(sample))
			continue;
		struct slow slow = {.iteration = it->index,
		    .number = (uint32_t)(i + 1),
		    .scheduled = sample->scheduled,
		    .latency_ns = sample_latency_ns(sample),
		    .lag_ns = sample_lag_ns(sample),
		    .server_ns = sample->server_ns};
		(void)slow_list_offer(&sum->slow, &slow);
	}
}

/* Return the rate from the first request's due time to the last one's
 * sending. */
static double
sending_rate(const struct iteration *it, size_t sent)
{
	const struct request_sample *samples = iteration_measured(it);

	if (sent < 2)
		return 0;
	int64_t span_ns =
	    instant_since(samples[sent - 1].send_begin, samples[0].scheduled);
	return span_ns <= 0
		   ? 0
		   : (double)(sent - 1) * (double)NS_PER_S / (double)span_ns;
}

static void
copy_facts(struct iteration_summary *sum, const struct iteration *it)
{
	sum->index = it->index;
	sum->seed = it->seed;
	sum->partial = it->interrupted;
	sum->max_in_flight = it->max_in_flight;
	sum->unsolicited = it->unsolicited;
	sum->clock_stepped = it->clock_stepped;
	sum->hiccups = it->hiccups;
	sum->cpu_ns = it->cpu_ns;
	sum->wall_ns = it->wall_ns;
	sum->involuntary_switches = it->involuntary_switches;
	for (size_t i = 0; i < it->requests; i++)
		count_sample(sum, &iteration_measured(it)[i]);
	for (size_t i = 0; i < it->warmup; i++)
		sum->warmup_errors += outcome_is_error(it->samples[i].outcome);
	sum->rate_per_s = sending_rate(it, sum->sent);
}

static void
add_totals(struct summary *s, const struct iteration_summary *sum)
{
	s->complete += !sum->partial;
	s->sent += sum->sent;
	s->errors += sum->errors;
	s->warmup_errors += sum->warmup_errors;
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		s->outcomes[i] += sum->outcomes[i];
	for (unsigned i = 0; i < STATUS_CODES; i++)
		s->failed_status[i] += sum->failed_status[i];
	for (size_t i = 0; i < sum->slow.count; i++)
		(void)slow_list_offer(&s->slow, &sum->slow.slowest[i]);
}

static void
count_errnos(struct summary *s, const struct iteration *it)
{
	for (size_t i = 0; i < it->requests; i++) {
		const struct request_sample *sample =
		    &iteration_measured(it)[i];
		if (sample->error > 0)
			s->failed_errno[sample->outcome]
				       [sample->error % SAMPLE_ERRNOS]++;
	}
}

int
summary_add(struct summary *s, struct iteration *it)
{
	struct iteration_summary *sum = &s->iterations[s->count];
	int err = slow_list_init(&sum->slow, s->criteria->slow);

	if (err < 0)
		return err;
	s->count++; /* from here summary_close() frees it */
	samples_bound(it->samples, it->warmup + it->requests);
	copy_facts(sum, it);
	for (unsigned i = 0; i < SERIES_COUNT; i++) {
		err = add_series(s, sum, it, (enum expectation_series)i);
		if (err < 0)
			return err;
	}
	list_slow(sum, it);
	add_totals(s, sum);
	count_errnos(s, it);
	return 0;
}

void
summary_finish(struct summary *s)
{
	for (unsigned i = 0; i < SERIES_COUNT; i++) {
		array_sort_int64(s->pool[i].values, s->pool[i].count);
		distribution_fill(&s->pooled[i], s->pool[i].values,
		    s->pool[i].count, &s->criteria->percentiles);
	}
}
