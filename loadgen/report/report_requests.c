/* report_requests.c: measured requests, as lines of JSON.
 *
 * Instants are ns after the run's epoch (in run.json), durations ns.
 * lat = last - sched = lag + svc; least is explained at samples_bound().  A
 * failed request has "err" and no lat, so that percentiles of lat equal those
 * that tailor-load reports.  Unknown values are left out. */
#include "loadgen/report/report.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static void
put_text(struct json *j, const char *key, const char *text)
{
	if (*text != '\0')
		json_key_string(j, key, text);
}

static void
put_number(struct json *j, const char *key, int64_t number, bool known)
{
	if (known)
		json_key_int(j, key, number);
}

static void
put_instant(
    struct json *j, const char *key, struct instant at, struct instant epoch)
{
	put_number(j, key, instant_since(at, epoch), instant_is_set(at));
}

/* Write measured request number at + 1 of r->iteration. */
static void
put_request(struct json *j, const struct report *r, size_t at, bool listed)
{
	const struct request_sample *s = &iteration_measured(&r->iteration)[at];
	const struct request_name name = {
	    .iteration = r->iteration.index, .number = (uint32_t)(at + 1)};
	const struct finding *f =
	    listed ? findings_of(&r->findings, name.iteration, name.number)
		   : NULL;
	const bool ok = sample_is_ok(s);
	char id[REQUEST_ID_MAX], trace[REQUEST_TRACE_LENGTH + 1];

	(void)request_id_format(&r->texts.ids, &name, id);
	request_trace_format(&r->texts.ids, &name, trace);
	json_object_begin(j);
	json_key_uint(j, "i", name.iteration);
	json_key_uint(j, "n", name.number);
	json_key_string(j, "id", id);
	json_key_string(j, "trace", trace);
	json_key_uint(j, "conn", s->connection);
	json_key_uint(j, "new_conn", s->new_connection);
	put_number(j, "st", s->status, s->status != 0);
	json_key_uint(j, "bytes", s->body_bytes);
	put_text(j, "err", ok ? "" : outcome_name((enum outcome)s->outcome));
	put_text(j, "errno", sample_errno_name(s->error));
	put_instant(j, "sched", s->scheduled, r->epoch);
	put_instant(j, "send0", s->send_begin, r->epoch);
	put_instant(j, "send1", s->send_end, r->epoch);
	put_instant(j, "ktx", s->kernel_sent, r->epoch);
	put_instant(j, "kack", s->kernel_acked, r->epoch);
	put_instant(j, "krx", s->kernel_first, r->epoch);
	put_instant(j, "first", s->first, r->epoch);
	put_instant(j, "last", s->last, r->epoch);
	put_number(j, "lat", sample_latency_ns(s), ok);
	put_number(j, "least", sample_least_ns(s), ok);
	put_number(j, "svc", sample_service_ns(s), ok);
	json_key_int(j, "lag", sample_lag_ns(s));
	put_number(j, "srv", s->server_ns, s->server_ns >= 0);
	put_number(j, "waited", 1, s->waited);
	put_number(j, "slow", 1, listed);
	put_text(j, "verdict", f != NULL ? f->code : "");
	json_object_end(j);
}

static bool
is_listed(const struct slow_list *l, size_t number)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->slowest[i].number == number)
			return true;
	}
	return false;
}

/* Make room for n more points. */
static int
reserve(struct points *p, size_t n)
{
	struct point *all =
	    array_reserve(p->all, &p->capacity, p->count + n, sizeof(*all));

	if (all == NULL)
		return -ENOMEM;
	p->all = all;
	return 0;
}

static int
keep_points(struct report *r)
{
	const struct iteration *it = &r->iteration;
	int err = reserve(&r->points, it->requests);

	for (size_t i = 0; i < it->requests && err == 0; i++) {
		const struct request_sample *s = &iteration_measured(it)[i];
		if (!sample_is_ok(s) &&
		    !outcome_is_error((enum outcome)s->outcome))
			continue;
		r->points.all[r->points.count++] = (struct point){
		    .iteration = it->index,
		    .scheduled_ns = instant_since(s->scheduled, r->epoch),
		    .latency_ns = sample_is_ok(s) ? sample_latency_ns(s) : -1};
	}
	return err;
}

int
report_requests(struct report *r)
{
	const struct iteration *it = &r->iteration;
	const struct summary *sum = &r->summary;
	const struct slow_list *slow = &sum->iterations[sum->count - 1].slow;
	struct json j;
	int err = 0;

	if (r->options->out_dir != NULL)
		err = keep_points(r);
	if (!output_is_wanted(&r->requests))
		return err;
	json_init(&j, false);
	for (size_t i = 0; i < it->requests && err == 0; i++) {
		if (iteration_measured(it)[i].outcome == OUTCOME_UNSENT)
			continue;
		put_request(&j, r, i, is_listed(slow, i + 1));
		err = output_json(&r->requests, &j);
	}
	json_fini(&j);
	return err;
}
