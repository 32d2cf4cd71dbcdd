/* slow_report.c: kept tales in order, and as rows of a JSON document. */
#include "proxy/analysis/slow_report.h"

#include <stdlib.h>

#include "base/array.h"

static int
summary_compare(const void *va, const void *vb, void *sort)
{
	const struct tale_summary *a = va, *b = vb;
	int order = 0;

	switch (*(const enum analysis_sort *)sort) {
	case ANALYSIS_SORT_TIME:
		break;
	case ANALYSIS_SORT_TOTAL:
		order = COMPARE(b->timeline_ns, a->timeline_ns);
		break;
	case ANALYSIS_SORT_SERVER:
		order = strcmp(a->winner, b->winner);
		break;
	case ANALYSIS_SORT_CAUSE:
		order = strcmp(
		    tale_cause_code(a->cause), tale_cause_code(b->cause));
		break;
	case ANALYSIS_SORT_STATUS:
		order = COMPARE(b->status, a->status);
		break;
	}
	return order ?: COMPARE(b->finished_wall_ns, a->finished_wall_ns);
}

/* A list of kept tales, at most max. */
struct listed {
	struct tale_summary *one; /* owned */
	size_t n, max;
};

static bool
listed_add(void *user, const struct tale_summary *one)
{
	struct listed *l = user;

	if (l->n == l->max)
		return false;
	l->one[l->n++] = *one;
	return true;
}

/* True if one of two stores has a request's tale. */
static bool
is_kept(struct tale_store *const store[2], uint64_t request)
{
	struct tale_summary found;

	for (unsigned i = 0; i < 2; i++)
		if (store[i] != NULL &&
		    tale_store_find_request(store[i], request, &found) == 0)
			return true;
	return false;
}

static bool
is_wanted(const struct tale_filter *want, const struct tale_summary *one)
{
	size_t path = strcspn(one->target, "?");

	return one->finished_wall_ns >= want->since_wall_ns &&
	       (want->cause < 0 || want->cause == (int)one->cause) &&
	       (want->path == NULL ||
		   (strlen(want->path) == path &&
		       strncmp(one->target, want->path, path) == 0));
}

/* Add the requests without a tale; one may have been made since. */
static void
missed_list(struct tale_store *const store[2], const struct missed *m,
    const struct tale_filter *want, struct listed *l)
{
	const struct tale_summary *one;

	for (unsigned i = 0; (one = missed_get(m, i)) != NULL; i++)
		if (is_wanted(want, one) && !is_kept(store, one->request))
			(void)listed_add(l, one);
}

struct tale_summary *
slow_list(struct tale_store *const store[2], size_t most,
    const struct missed *missed, const struct analysis_list *wanted,
    unsigned *n)
{
	struct tale_filter want = {.cause = wanted->cause,
	    .path = wanted->path[0] != '\0' ? wanted->path : NULL};
	struct listed l = {.max = most + (missed != NULL ? MISSED_KEPT : 0)};

	l.one = calloc(l.max, sizeof(*l.one));
	if (l.one == NULL)
		return NULL;
	if (wanted->since_ns > 0)
		want.since_wall_ns = instant_wall_now_ns() - wanted->since_ns;
	for (unsigned i = 0; i < 2; i++)
		if (store[i] != NULL)
			(void)tale_store_each(store[i], &want, listed_add, &l);
	if (missed != NULL)
		missed_list(store, missed, &want, &l);
	qsort_r(l.one, l.n, sizeof(*l.one), summary_compare,
	    (void *)(uintptr_t)&wanted->sort);
	*n = l.n < wanted->n ? (unsigned)l.n : wanted->n;
	return l.one;
}

static void
write_one(const struct tale_summary *s, struct json *j)
{
	char when[40];

	json_object_begin(j);
	json_key_string(j, "id", s->external_id);
	json_key_string(j, "method", s->method);
	json_key_string(j, "target", s->target);
	json_key_int(j, "status", s->status);
	json_key_int(j, "total_ns", s->timeline_ns);
	json_key_int(j, "proxy_ns", s->total_ns);
	if (s->upstream_ns >= 0)
		json_key_int(j, "upstream_ns", s->upstream_ns);
	json_key_string(j, "winner", s->winner);
	json_key_uint(j, "attempts", s->attempts);
	json_key_string(j, "trigger", s->trigger);
	json_key_string(j, "termination", s->termination);
	json_key_string(j, "flags", s->flags);
	json_key_string(j, "finished", text_wall(when, s->finished_wall_ns));
	json_key_int(j, "finished_unix_ms", s->finished_wall_ns / NS_PER_MS);
	if (s->missing != NULL)
		json_key_string(j, "missing", s->missing);
	json_key_string(j, "cause", tale_cause_code(s->cause));
	json_key_int(j, "share_ns", s->share_ns);
	json_key_string(j, "verdict", s->verdict);
	json_key_string(j, "reason", tale_reason_name(s->reason));
	json_key_bool(j, "earlier_boot", s->earlier_boot);
	json_object_end(j);
}

void
slow_report_list(const struct tale_summary *one, unsigned n, struct json *j)
{
	json_array_begin(j);
	for (unsigned i = 0; i < n; i++)
		write_one(&one[i], j);
	json_array_end(j);
}

/* Write how many slow requests have no timeline, in all and by the reason. */
static void
write_missed(const struct analysis_list *list, struct json *j)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MISSED_COUNT; i++)
		sum += list->missed[i];
	json_key_uint(j, "left_out", sum);
	json_key_array(j, "missing");
	for (unsigned i = 0; i < MISSED_COUNT; i++) {
		if (list->missed[i] == 0)
			continue;
		json_object_begin(j);
		json_key_string(j, "code", missed_code((enum missed_reason)i));
		json_key_string(j, "why", missed_words((enum missed_reason)i));
		json_key_uint(j, "requests", list->missed[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

int
slow_report(const struct tale_summary *one, unsigned n,
    const struct analysis_list *list, char **text, size_t *length)
{
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.slow/1");
	json_key_int(&j, "target_ns", list->target_ns);
	json_key_uint(&j, "slow_requests", list->slow);
	json_key_uint(&j, "waiting", list->waiting);
	write_missed(list, &j);
	json_key(&j, "slow");
	slow_report_list(one, n, &j);
	json_object_end(&j);
	return json_take(&j, text, length);
}
