/* accounts.c: the ring of accounts, their weights, and the table of them. */
#include "proxy/analysis/accounts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
accounts_init(struct accounts *a, size_t max)
{
	memset(a, 0, sizeof(*a));
	a->max = max;
	if (max == 0)
		return 0;
	/* Pages that are not used yet take no memory. */
	a->account = calloc(max, sizeof(*a->account));
	return a->account == NULL ? -ENOMEM : 0;
}

void
accounts_fini(struct accounts *a)
{
	free(a->account);
	a->account = NULL;
}

char *
account_route(const char *method, const char *target, char out[ACCOUNT_ROUTE])
{
	size_t n = (size_t)snprintf(out, ACCOUNT_ROUTE, "%.15s ", method);

	if (*target != '/')
		target = "/";
	do {
		bool plain = isalnum((unsigned char)*target) ||
			     strchr("/-._~", *target) != NULL;

		out[n++] = *target++;
		if (!plain)
			out[n - 1] = '_';
	} while (n < ACCOUNT_ROUTE - 1 && strchr("/?#", *target) == NULL);
	out[n] = '\0';
	return out;
}

/* The number of a route; the last one is for those that have no room. */
static uint8_t
route_find(struct accounts *a, const char *name)
{
	unsigned n = atomic_load_explicit(&a->routes, memory_order_relaxed);
	unsigned i = 0;

	while (i < n && strcmp(a->route[i], name) != 0)
		i++;
	if (i < n || n == ACCOUNT_ROUTES)
		return (uint8_t)(i < n ? i : n - 1);
	snprintf(a->route[n], ACCOUNT_ROUTE, "%s",
	    n == ACCOUNT_ROUTES - 1 ? "other" : name);
	/* The name is whole before it is counted. */
	atomic_store_explicit(&a->routes, n + 1, memory_order_release);
	return (uint8_t)n;
}

static struct account *
account_at(struct accounts *a, size_t i)
{
	return &a->account[i % a->max];
}

/* The second is over: its accounts stand for all that was offered. */
static void
second_close(struct accounts *a)
{
	uint64_t made[ACCOUNT_STRATA] = {0};

	for (size_t i = a->open; i < a->made; i++)
		made[account_at(a, i)->stratum]++;
	for (size_t i = a->open; i < a->made; i++) {
		struct account *one = account_at(a, i);
		double weight = (double)a->offered[one->stratum] /
				(double)made[one->stratum];

		one->weight = weight < 1 ? 1 : weight;
		for (unsigned k = 0; k < one->parts; k++)
			atomic_fetch_add(
			    &a->cause_ns[one->route][one->cause[k]],
			    (uint64_t)llround(
				one->weight * (double)one->part_ns[k]));
	}
	for (unsigned k = 0; k < ACCOUNT_STRATA; k++)
		if (made[k] > 0)
			a->offered[k] = 0;
	a->open = a->made;
}

void
accounts_offered(struct accounts *a, struct instant now,
    const uint32_t offered[ACCOUNT_STRATA])
{
	uint64_t second = now.ns / (uint64_t)NS_PER_S;

	if (second != a->second)
		second_close(a);
	a->second = second;
	for (unsigned k = 0; k < ACCOUNT_STRATA; k++)
		a->offered[k] += offered[k];
}

/* The largest parts; what is left of the total is not explained. */
static void
parts_fill(struct account *one, const struct story *s)
{
	bool done[TALE_CAUSE_COUNT] = {0};
	int64_t left = s->total_ns;

	done[TALE_CAUSE_UNKNOWN] = true;
	while (one->parts < ACCOUNT_PARTS - 1) {
		enum tale_cause c = story_cause_largest(s, done);

		if (c == TALE_CAUSE_COUNT || s->cause_ns[c] <= 0)
			break;
		done[c] = true;
		one->cause[one->parts] = (uint8_t)c;
		one->part_ns[one->parts++] = s->cause_ns[c];
		left -= s->cause_ns[c];
	}
	if (left <= 0)
		return;
	one->cause[one->parts] = TALE_CAUSE_UNKNOWN;
	one->part_ns[one->parts++] = left;
}

/* The attempt whose response was used, else the first; its server. */
static int8_t
server_of(struct accounts *a, const struct tale_request *r)
{
	const struct tale_attempt *t = &r->attempt[0];

	for (unsigned i = 1; i < TALE_ATTEMPTS; i++)
		if (strcmp(r->attempt[i].outcome, "won") == 0)
			t = &r->attempt[i];
	if (t->server < 0 || t->server >= ACCOUNT_SERVERS)
		return -1;
	memcpy(a->server[t->server], t->server_name, sizeof(t->server_name));
	return (int8_t)t->server;
}

void
accounts_add(struct accounts *a, const struct story *s,
    enum account_stratum stratum, int64_t end_wall_ns)
{
	const struct tale_request *r = tale_request(s->tale);
	char route[ACCOUNT_ROUTE];
	struct account *one;

	if (a->max == 0)
		return;
	/* A second of so many requests ends early. */
	if (a->made - a->open == a->max)
		second_close(a);
	one = account_at(a, a->made++);
	*one = (struct account){.id = r->id,
	    .end_wall_ns = end_wall_ns,
	    .total_ns = s->total_ns,
	    .in_flight = s->in_flight,
	    .status = (uint16_t)r->status,
	    .stratum = (uint8_t)stratum,
	    .server = server_of(a, r),
	    .kernel = s->kernel,
	    .cold = instant_is_set(r->accepted)};
	one->route = route_find(a, account_route(r->method, r->target, route));
	memcpy(one->external_id, r->external_id, sizeof(one->external_id));
	for (unsigned i = 0; i < TALE_ATTEMPTS; i++)
		if (r->attempt[i].server >= 0)
			one->attempts++;
	parts_fill(one, s);
}

static void
account_write(
    const struct accounts *a, const struct account *one, struct text *t)
{
	int64_t ns[TALE_CAUSE_COUNT] = {0};

	for (unsigned k = 0; k < one->parts; k++)
		ns[one->cause[k]] += one->part_ns[k];
	text_add(t, "%llu,%s,%lld,%lld,%.6g,%s,%s,%u,%u,%u,%d,%d,%d",
	    (unsigned long long)one->id, one->external_id,
	    (long long)one->end_wall_ns, (long long)one->total_ns, one->weight,
	    a->route[one->route], one->server < 0 ? "" : a->server[one->server],
	    one->in_flight, one->status, one->attempts, one->cold,
	    one->stratum != ACCOUNT_OTHER, one->kernel);
	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++) {
		if (ns[c] == 0)
			text_puts(t, ",0");
		else
			text_add(t, ",%lld", (long long)ns[c]);
	}
	text_puts(t, "\n");
}

void
accounts_write(struct accounts *a, int64_t since_wall_ns, struct text *t)
{
	size_t first = a->made > a->max ? a->made - a->max : 0;

	second_close(a);
	text_puts(t, "number,id,end_ns,total_ns,weight,route,server,in_flight,"
		     "status,attempts,new_connection,slow,kernel");
	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		text_add(t, ",%s", tale_cause_code((enum tale_cause)c));
	text_puts(t, "\n");
	for (size_t i = first; i < a->made; i++)
		if (account_at(a, i)->end_wall_ns >= since_wall_ns)
			account_write(a, account_at(a, i), t);
}
