/* report_requests.c: measured requests, as lines of JSON and rows of CSV.
 *
 * Both are made from the same cells.  Instants are ns after the run's epoch
 * (run.json has it), durations ns.  lat = last - sched = lag + svc;
 * least is explained at samples_bound().  A failed request has "err", and none
 * of these: percentiles of lat are those that tailor-load reports.  No field of
 * CSV (RFC 4180) needs quotes: ids and traces are digits and hyphens, the rest
 * are numbers and our own words. */
#include "loadgen/report/report.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define CELLS_MAX 26
#define ROW_MAX 800

/* A value with its key.  Not known: left out of JSON, empty in CSV. */
struct cell {
	const char *key;
	const char *text; /* NULL: a number */
	int64_t number;
	bool known;
	bool flag; /* left out of JSON if 0 */
};

struct cells {
	size_t count;
	struct cell all[CELLS_MAX];
	char id[REQUEST_ID_MAX];
	char trace[REQUEST_TRACE_LENGTH + 1];
};

static void
add(struct cells *c, struct cell cell)
{
	assert(c->count < CELLS_MAX);
	c->all[c->count++] = cell;
}

static void
add_text(struct cells *c, const char *key, const char *text)
{
	add(c, (struct cell){.key = key, .text = text, .known = *text != '\0'});
}

static void
add_number(struct cells *c, const char *key, int64_t number, bool known)
{
	add(c, (struct cell){.key = key, .number = number, .known = known});
}

static void
add_flag(struct cells *c, const char *key, bool set)
{
	add(c, (struct cell){
		   .key = key, .number = set, .known = true, .flag = true});
}

static void
add_instant(
    struct cells *c, const char *key, struct instant at, struct instant epoch)
{
	add_number(c, key, instant_since(at, epoch), instant_is_set(at));
}

/* Measured request number at + 1 of r->iteration. */
static void
describe(const struct report *r, size_t at, bool listed, struct cells *c)
{
	const struct sample *s = &iteration_measured(&r->iteration)[at];
	const struct request_name name = {
	    .iteration = r->iteration.index, .number = (uint32_t)(at + 1)};
	const struct finding *f =
	    listed ? findings_of(&r->findings, name.iteration, name.number)
		   : NULL;
	const bool ok = sample_is_ok(s);

	c->count = 0;
	(void)request_id_format(&r->texts.ids, &name, c->id);
	request_trace_format(&r->texts.ids, &name, c->trace);
	add_number(c, "i", name.iteration, true);
	add_number(c, "n", name.number, true);
	add_text(c, "id", c->id);
	add_text(c, "trace", c->trace);
	add_number(c, "conn", s->connection, true);
	add_number(c, "new_conn", s->new_connection, true);
	add_number(c, "st", s->status, s->status != 0);
	add_number(c, "bytes", (int64_t)s->body_bytes, true);
	add_text(c, "err", ok ? "" : outcome_name((enum outcome)s->outcome));
	add_text(c, "errno", sample_errno_name(s->error));
	add_instant(c, "sched", s->scheduled, r->epoch);
	add_instant(c, "send0", s->send_begin, r->epoch);
	add_instant(c, "send1", s->send_end, r->epoch);
	add_instant(c, "ktx", s->kernel_sent, r->epoch);
	add_instant(c, "kack", s->kernel_acked, r->epoch);
	add_instant(c, "krx", s->kernel_first, r->epoch);
	add_instant(c, "first", s->first, r->epoch);
	add_instant(c, "last", s->last, r->epoch);
	add_number(c, "lat", sample_latency_ns(s), ok);
	add_number(c, "least", sample_least_ns(s), ok);
	add_number(c, "svc", sample_service_ns(s), ok);
	add_number(c, "lag", sample_lag_ns(s), true);
	add_number(c, "srv", s->server_ns, s->server_ns >= 0);
	add_flag(c, "waited", s->waited);
	add_flag(c, "slow", listed);
	add_text(c, "verdict", f != NULL ? f->code : "");
}

static int
write_json(struct report *r, struct json *j, const struct cells *c)
{
	json_object_begin(j);
	for (size_t i = 0; i < c->count; i++) {
		const struct cell *cell = &c->all[i];
		if (!cell->known || (cell->flag && cell->number == 0))
			continue;
		if (cell->text != NULL)
			json_key_string(j, cell->key, cell->text);
		else
			json_key_int(j, cell->key, cell->number);
	}
	json_object_end(j);
	return output_json(&r->requests, j);
}

/* A Tailor's word is written only if it cannot be anything but a field. */
static const char *
csv_word(const char *text)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	return strspn(text, safe) == strlen(text) ? text : "other";
}

/* One row; of the names of the columns, or of the values. */
static void
write_csv(struct report *r, const struct cells *c, bool names)
{
	char row[ROW_MAX], number[24];
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct cell *cell = &c->all[i];
		const char *text = number;

		snprintf(number, sizeof(number), "%" PRId64, cell->number);
		if (names)
			text = cell->key;
		else if (!cell->known)
			text = "";
		else if (cell->text != NULL)
			text = csv_word(cell->text);
		n += (size_t)snprintf(row + n, sizeof(row) - n, "%s%s%s",
		    i > 0 ? "," : "", text, i + 1 == c->count ? "\r\n" : "");
		assert(n < sizeof(row)); /* all fields are ours and short */
	}
	output_write(&r->csv, row, n);
}

void
report_csv_head(struct report *r)
{
	struct cells c;

	describe(r, 0, false, &c);
	write_csv(r, &c, true);
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

int
report_requests(struct report *r)
{
	const struct iteration *it = &r->iteration;
	const struct summary *sum = &r->summary;
	const struct slow_list *slow = &sum->iterations[sum->count - 1].slow;
	struct cells c;
	struct json j;
	int err = 0;

	json_init(&j, false);
	for (size_t i = 0; i < it->requests && err == 0; i++) {
		if (iteration_measured(it)[i].outcome == OUTCOME_UNSENT)
			continue;
		describe(r, i, is_listed(slow, i + 1), &c);
		if (output_is_wanted(&r->csv))
			write_csv(r, &c, false);
		if (output_is_wanted(&r->requests))
			err = write_json(r, &j, &c);
	}
	json_fini(&j);
	return err;
}
