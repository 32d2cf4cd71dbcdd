/*
 * report_requests.c: one line of JSON per measured request.
 *
 * Instants are ns after the run's epoch (run.json has it), durations ns.
 * lat = last - sched = lag + svc.  A failed request has "err", and no lat or
 * svc: percentiles of lat are those that tailor-load reports.
 */
#include "loadgen/report/report.h"

#include <stdlib.h>

#include "base/json.h"

static void
put_instant(
    struct json *j, const char *key, struct instant at, struct instant epoch)
{
	if (instant_is_set(at))
		json_key_int(j, key, instant_since(at, epoch));
}

static void
put_outcome(struct json *j, const struct sample *s)
{
	if (s->status != 0)
		json_key_uint(j, "st", s->status);
	json_key_uint(j, "bytes", s->body_bytes);
	if (!sample_is_ok(s))
		json_key_string(
		    j, "err", outcome_name((enum outcome)s->outcome));
}

static void
put_durations(struct json *j, const struct sample *s)
{
	if (sample_is_ok(s)) {
		json_key_int(j, "lat", sample_latency_ns(s));
		json_key_int(j, "svc", sample_service_ns(s));
	}
	json_key_int(j, "lag", sample_lag_ns(s));
	if (s->server_ns >= 0)
		json_key_int(j, "srv", s->server_ns);
}

static void
put_request(struct json *j, const struct report *r, size_t at)
{
	const struct iteration *it = &r->iteration;
	const struct sample *s = &iteration_measured(it)[at];
	const struct request_name name = {
	    .iteration = it->index, .number = (uint32_t)(at + 1)};
	char id[REQUEST_ID_MAX];
	char trace[REQUEST_TRACE_LENGTH + 1];

	(void)request_id_format(&r->texts.ids, &name, id);
	request_trace_format(&r->texts.ids, &name, trace);
	json_object_begin(j);
	json_key_uint(j, "i", name.iteration);
	json_key_uint(j, "n", name.number);
	json_key_string(j, "id", id);
	json_key_string(j, "trace", trace);
	json_key_uint(j, "conn", s->connection);
	json_key_uint(j, "new_conn", s->new_connection);
	put_outcome(j, s);
	put_instant(j, "sched", s->scheduled, r->epoch);
	put_instant(j, "send0", s->send_begin, r->epoch);
	put_instant(j, "send1", s->send_end, r->epoch);
	put_instant(j, "ktx", s->kernel_sent, r->epoch);
	put_instant(j, "kack", s->kernel_acked, r->epoch);
	put_instant(j, "krx", s->kernel_first, r->epoch);
	put_instant(j, "first", s->first, r->epoch);
	put_instant(j, "last", s->last, r->epoch);
	put_durations(j, s);
	if (s->waited)
		json_key_uint(j, "waited", 1);
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

/* One request as a line of JSON. */
static int
write_json(struct report *r, struct json *j, size_t at, bool listed)
{
	const struct finding *f =
	    findings_of(&r->findings, r->iteration.index, (uint32_t)(at + 1));
	char *text;
	size_t length;
	int err;

	put_request(j, r, at);
	if (listed)
		json_key_uint(j, "slow", 1);
	if (listed && f != NULL)
		json_key_string(j, "verdict", f->code);
	json_object_end(j);
	err = json_take(j, &text, &length);
	if (err < 0)
		return err;
	output_write(&r->requests, text, length);
	output_write(&r->requests, "\n", 1);
	free(text);
	return 0;
}

int
report_requests(struct report *r)
{
	const struct iteration *it = &r->iteration;
	const struct summary *sum = &r->summary;
	const struct slow_list *slow = &sum->iterations[sum->count - 1].slow;
	struct json j;
	int err = 0;

	json_init(&j, false);
	for (size_t i = 0; i < it->requests && err == 0; i++) {
		if (iteration_measured(it)[i].outcome == OUTCOME_UNSENT)
			continue;
		bool listed = is_listed(slow, i + 1);
		if (output_is_wanted(&r->csv))
			report_csv_row(r, i, listed);
		if (output_is_wanted(&r->requests))
			err = write_json(r, &j, i, listed);
	}
	json_fini(&j);
	return err;
}
