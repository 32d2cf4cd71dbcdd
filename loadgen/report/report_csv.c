/*
 * report_csv.c: requests.ndjson's columns as a table (RFC 4180).
 *
 * What was not measured is an empty field.  No field needs quotes: ids and
 * traces are digits and hyphens, the rest are numbers and our own words.
 */
#include "loadgen/report/report.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define ROW_MAX 512

static const char columns[] =
    "i,n,id,trace,conn,new_conn,st,bytes,err,sched,send0,send1,ktx,kack,krx,"
    "first,last,lat,svc,lag,srv,waited,slow,verdict\r\n";

struct row {
	char text[ROW_MAX];
	size_t length;
};

static void put(struct row *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
put(struct row *r, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int n = vsnprintf(
	    r->text + r->length, ROW_MAX - r->length, format, arguments);
	va_end(arguments);
	/* All fields are ours and short. */
	assert(n >= 0 && r->length + (size_t)n < ROW_MAX);
	r->length += (size_t)n;
}

static void
put_instant(struct row *r, struct instant at, struct instant epoch)
{
	if (instant_is_set(at))
		put(r, "%" PRId64, instant_since(at, epoch));
	put(r, ",");
}

static void
put_instants(struct row *r, const struct sample *s, struct instant epoch)
{
	put_instant(r, s->scheduled, epoch);
	put_instant(r, s->send_begin, epoch);
	put_instant(r, s->send_end, epoch);
	put_instant(r, s->kernel_sent, epoch);
	put_instant(r, s->kernel_acked, epoch);
	put_instant(r, s->kernel_first, epoch);
	put_instant(r, s->first, epoch);
	put_instant(r, s->last, epoch);
}

static void
put_durations(struct row *r, const struct sample *s)
{
	if (sample_is_ok(s))
		put(r, "%" PRId64 ",%" PRId64 ",", sample_latency_ns(s),
		    sample_service_ns(s));
	else
		put(r, ",,");
	put(r, "%" PRId64 ",", sample_lag_ns(s));
	if (s->server_ns >= 0)
		put(r, "%" PRId64, s->server_ns);
	put(r, ",");
}

/* A server's word is written only if it cannot be anything but a field. */
static const char *
csv_word(const char *code)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

	return strspn(code, safe) == strlen(code) ? code : "other";
}

void
report_csv_head(struct report *r)
{
	output_write(&r->csv, columns, sizeof(columns) - 1);
}

void
report_csv_row(struct report *r, size_t at, bool listed)
{
	const struct sample *s = &iteration_measured(&r->iteration)[at];
	const struct request_name name = {
	    .iteration = r->iteration.index, .number = (uint32_t)(at + 1)};
	const struct finding *f =
	    findings_of(&r->findings, name.iteration, name.number);
	char id[REQUEST_ID_MAX], trace[REQUEST_TRACE_LENGTH + 1];
	struct row row = {.length = 0};

	(void)request_id_format(&r->texts.ids, &name, id);
	request_trace_format(&r->texts.ids, &name, trace);
	put(&row, "%u,%" PRIu32 ",%s,%s,%" PRIu32 ",%d,", name.iteration,
	    name.number, id, trace, s->connection, s->new_connection);
	if (s->status != 0)
		put(&row, "%u", s->status);
	put(&row, ",%" PRIu64 ",%s,", s->body_bytes,
	    sample_is_ok(s) ? "" : outcome_name((enum outcome)s->outcome));
	put_instants(&row, s, r->epoch);
	put_durations(&row, s);
	put(&row, "%d,%d,%s\r\n", s->waited, listed,
	    listed && f != NULL ? csv_word(f->code) : "");
	output_write(&r->csv, row.text, row.length);
}
