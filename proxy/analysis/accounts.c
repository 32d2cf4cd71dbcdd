/* accounts.c: the ring of accounts, their weights, and the table of them. */
#include "proxy/analysis/accounts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/path_pattern.h"
#include "base/random.h"

#define STORE_EACH 64	/* accounts that wait are written, */
#define STORE_EACH_S 10 /* or after so many seconds */

int
accounts_init(struct accounts *a, const struct routes *routes, size_t max)
{
	memset(a, 0, sizeof(*a));
	a->routes = routes;
	a->max = max;
	snprintf(a->name[0].name, ACCOUNT_ROUTE, ROUTE_OTHER_NAME);
	if (max == 0)
		return 0;
	/* Pages that are not used yet take no memory. */
	a->account = calloc(max, sizeof(*a->account));
	return a->account == NULL ? -ENOMEM : 0;
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

static bool
class_matches(const char *class, const char *method, struct path path)
{
	size_t n = strcspn(class, " ");
	bool any = n == 1 && *class == '*';

	return (any ||
		   (strlen(method) == n && memcmp(class, method, n) == 0)) &&
	       path_pattern_matches(class + n + 1, path);
}

char *
account_class(char *const *class, unsigned n, const char *method,
    const char *target, char out[ACCOUNT_ROUTE])
{
	const char *found = ROUTE_OTHER_NAME;
	struct path path;

	if (n == 0)
		return account_route(method, target, out);
	if (path_read(target, strlen(target), &path))
		for (unsigned i = n; i-- > 0;)
			if (class_matches(class[i], method, path))
				found = class[i];
	snprintf(out, ACCOUNT_ROUTE, "%s", found);
	return out;
}

/* Return the number of a name; a new name takes the number of a name that no
 * account has, or 0 ("other"). */
static uint8_t
name_number(struct accounts *a, const char *name)
{
	unsigned unused = 0;

	for (unsigned i = 0; i < ACCOUNT_NAMES; i++) {
		if (strcmp(a->name[i].name, name) == 0)
			return (uint8_t)i;
		if (unused == 0 && i > 0 && a->name[i].accounts == 0)
			unused = i;
	}
	if (unused > 0)
		snprintf(a->name[unused].name, ACCOUNT_ROUTE, "%s", name);
	return (uint8_t)unused;
}

static struct account *
account_at(struct accounts *a, size_t i)
{
	return &a->account[i % a->max];
}

static struct account_named
account_name(const struct accounts *a, const struct account *one)
{
	struct account_named named = {.account = *one};

	memcpy(named.route, a->name[one->route].name, ACCOUNT_ROUTE);
	if (one->server >= 0)
		memcpy(named.server, a->server[one->server], ACCOUNT_SERVER);
	return named;
}

/* --- files ---------------------------------------------------------------- */

static void
store_publish(struct accounts *a)
{
	struct account_store_stats s;

	account_store_stats(a->store, &s);
	atomic_store(&a->bytes, s.bytes);
	atomic_store(&a->kept, s.accounts);
	atomic_store(&a->dropped, s.dropped);
	atomic_store(&a->corrupt, s.corrupt);
}

/* Record the result err of opening or writing the files; changes are logged. */
static void
store_judge(struct accounts *a, const char *what, int err)
{
	if (err < 0 && !a->failed) {
		atomic_fetch_add(&a->failures, 1);
		log_event(LOG_LEVEL_WARNING, "accounts_in_memory",
		    "what=%s error=\"%s\" advice=\"accounts of requests "
		    "(tailorctl blame) will not survive a restart: see "
		    "slow.store\"",
		    what, strerror(-err));
	}
	if (err == 0 && a->failed)
		log_event(
		    LOG_LEVEL_NOTICE, "accounts_on_disk", "what=%s", what);
	a->failed = err < 0;
	if (a->store != NULL)
		store_publish(a);
}

void
accounts_keep(struct accounts *a, const char *directory, uint64_t bytes_max)
{
	if (a->store == NULL)
		store_judge(a, "open",
		    account_store_open(&a->store, directory, bytes_max));
}

/* Write complete accounts.  If writing fails, they are tried again with the
 * next ones, until the ring overwrites them. */
static void
store_write(struct accounts *a)
{
	static struct account_named block[ACCOUNT_BLOCK];
	int err = 0;

	if (a->open - a->stored > a->max) {
		atomic_fetch_add(&a->lost, a->open - a->max - a->stored);
		a->stored = a->open - a->max;
	}
	while (err == 0 && a->stored < a->ready) {
		unsigned n = 0;

		while (n < ACCOUNT_BLOCK && a->stored + n < a->ready) {
			block[n] =
			    account_name(a, account_at(a, a->stored + n));
			n++;
		}
		err = account_store_add(a->store, block, n);
		if (err == 0)
			a->stored += n;
	}
	a->stored_second = a->second;
	store_judge(a, "write", err);
}

/* --- weights -------------------------------------------------------------- */

/* The second is over: weigh its accounts, which represent all requests offered
 * in it. */
static void
second_close(struct accounts *a)
{
	uint64_t stands[ACCOUNT_STRATA] = {0};

	for (size_t i = a->open; i < a->made; i++)
		stands[account_at(a, i)->stratum] += account_at(a, i)->stands;
	for (size_t i = a->open; i < a->made; i++) {
		struct account *one = account_at(a, i);
		double weight = (double)one->stands *
				(double)a->offered[one->stratum] /
				(double)stands[one->stratum];
		unsigned place =
		    routes_find(a->routes, a->name[one->route].name);

		one->weight = weight < 1 ? 1 : weight;
		for (unsigned k = 0; k < one->parts; k++)
			atomic_fetch_add(&a->cause_ns[place][one->cause[k]],
			    (uint64_t)llround(
				one->weight * (double)one->part_ns[k]));
	}
	for (unsigned k = 0; k < ACCOUNT_STRATA; k++)
		if (stands[k] > 0)
			a->offered[k] = 0;
	a->open = a->made;
	accounts_count(a, false);
	if (a->store != NULL &&
	    (a->ready - a->stored >= STORE_EACH ||
		a->second >= a->stored_second + STORE_EACH_S))
		store_write(a);
}

void
accounts_fini(struct accounts *a)
{
	if (a->store != NULL) {
		second_close(a);
		accounts_count(a, true);
		store_write(a);
	}
	account_store_close(&a->store);
	free(a->account);
	a->account = NULL;
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

void
accounts_put_off(struct accounts *a, const uint32_t offered[ACCOUNT_STRATA])
{
	for (unsigned k = 0; k < ACCOUNT_STRATA; k++)
		a->offered[k] -= offered[k];
}

/* Fill in the largest parts; the rest of the total becomes "unknown". */
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

/* Return the server of the attempt whose response was used, else of the first
 * attempt; -1: unknown. */
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
accounts_add(struct accounts *a, const struct story *s, const char *route,
    enum account_stratum stratum, uint32_t stands, int64_t end_wall_ns)
{
	const struct tale_request *r = tale_request(s->tale);
	struct account *one;

	if (a->max == 0)
		return;
	/* The ring is full of this second's accounts: end the second early. */
	if (a->made - a->open == a->max)
		second_close(a);
	one = account_at(a, a->made++);
	if (a->made > a->max)
		a->name[one->route].accounts--;
	*one = (struct account){.id = r->id,
	    .end_wall_ns = end_wall_ns,
	    .total_ns = s->total_ns,
	    .in_flight = s->in_flight,
	    .status = (uint16_t)r->status,
	    .stands = stands,
	    .stratum = (uint8_t)stratum,
	    .server = server_of(a, r),
	    .kernel = s->kernel,
	    .cold = instant_is_set(r->accepted)};
	one->route = name_number(a, route);
	a->name[one->route].accounts++;
	if (instant_is_set(r->finished))
		one->middle = instant_plus(r->finished, -s->total_ns / 2);
	memcpy(one->external_id, r->external_id, sizeof(one->external_id));
	for (unsigned i = 0; i < TALE_ATTEMPTS; i++)
		if (r->attempt[i].server >= 0)
			one->attempts++;
	parts_fill(one, s);
}

void
accounts_end(struct accounts *a, unsigned place)
{
	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		atomic_store(&a->ended_ns[place][c],
		    atomic_load(&a->cause_ns[place][c]));
}

/* --- reading them --------------------------------------------------------- */

/* Accounts that are being read. */
struct account_walk {
	int64_t from_ns, to_ns;
	uint64_t found[2]; /* accounts of the tail; others */
	double share[2];   /* of the found ones, to be taken */
	account_take *take;
	void *user;
};

/* Return a number in [0, 1) that is independent of the account's selection. */
static double
lot(const struct account *one)
{
	return random_unit(
	    hash_number(hash_number(one->id) + (uint64_t)one->end_wall_ns));
}

static void
walk_take(void *user, const struct account_named *named)
{
	struct account_walk *w = user;
	double share = w->share[named->account.stratum == ACCOUNT_OTHER];

	if (lot(&named->account) < share)
		w->take(w->user, named, named->account.weight / share);
}

/* Return the first account of the ring that is in no file. */
static size_t
ring_first(const struct accounts *a)
{
	size_t first = a->made > a->max ? a->made - a->max : 0;

	return a->store != NULL && first < a->stored ? a->stored : first;
}

/* Count the accounts; returns the counters that some of them have. */
static uint32_t
walk_count(struct accounts *a, struct account_walk *w)
{
	uint32_t counters = 0;

	if (a->store != NULL)
		account_store_count(a->store, w->from_ns, w->to_ns,
		    &w->found[0], &w->found[1], &counters);
	for (size_t i = ring_first(a); i < a->made; i++) {
		const struct account *one = account_at(a, i);

		w->found[one->stratum == ACCOUNT_OTHER]++;
		for (unsigned k = 0; k < one->counted; k++)
			counters |= 1U << one->counter[k];
	}
	return counters;
}

/* Find the shares to take.  The tail gets three quarters of the room, if it
 * needs them. */
static void
walk_thin(struct account_walk *w, double room)
{
	double tail = (double)w->found[0], other = (double)w->found[1];

	w->share[0] = w->share[1] = 1;
	if (tail + other <= room)
		return;
	if (tail > room * 3 / 4 && tail > room - other)
		w->share[0] = fmax(room * 3 / 4, room - other) / tail;
	w->share[1] = fmin(1, (room - w->share[0] * tail) / fmax(other, 1));
}

/* Return when the latest account ended; at most now, as the clock may have been
 * set back. */
static int64_t
latest_wall_ns(struct accounts *a)
{
	struct account_store_stats s = {.last_wall_ns = 0};
	int64_t now_ns = instant_wall_now_ns();

	if (a->store != NULL)
		account_store_stats(a->store, &s);
	for (size_t i = ring_first(a); i < a->made; i++)
		if (account_at(a, i)->end_wall_ns > s.last_wall_ns)
			s.last_wall_ns = account_at(a, i)->end_wall_ns;
	return s.last_wall_ns < now_ns ? s.last_wall_ns : now_ns;
}

void
accounts_window(struct accounts *a, int64_t since_ns, int64_t until_ns,
    int64_t *from_ns, int64_t *to_ns)
{
	int64_t latest_ns = latest_wall_ns(a);

	*from_ns = since_ns > 0 ? latest_ns - since_ns : 0;
	*to_ns = latest_ns - until_ns + 1;
}

void
accounts_read(struct accounts *a, int64_t since_ns, int64_t until_ns,
    size_t room, account_begin *begin, account_take *take, void *user)
{
	struct account_walk w = {.take = take, .user = user};

	second_close(a);
	accounts_window(a, since_ns, until_ns, &w.from_ns, &w.to_ns);
	begin(user, walk_count(a, &w));
	walk_thin(&w, (double)room);
	if (a->store != NULL)
		account_store_read(a->store, w.from_ns, w.to_ns, walk_take, &w);
	for (size_t i = ring_first(a); i < a->made; i++) {
		struct account_named one = account_name(a, account_at(a, i));

		if (one.account.end_wall_ns >= w.from_ns &&
		    one.account.end_wall_ns < w.to_ns)
			walk_take(&w, &one);
	}
	/* Bad rows are found as they are read. */
	if (a->store != NULL)
		store_publish(a);
}

/* --- CSV ------------------------------------------------------------------ */

struct account_csv {
	struct text *text;
	uint32_t counters; /* bits of counters with a column */
};

static void
csv_head(void *user, uint32_t counters)
{
	struct account_csv *w = user;

	w->counters = counters;
	text_puts(w->text, "number,id,end_ns,total_ns,weight,route,server,"
			   "in_flight,status,attempts,new_connection,tail");
	account_counted_head(counters, w->text);
	text_puts(w->text, ",kernel");
	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		text_add(w->text, ",%s", tale_cause_code((enum tale_cause)c));
	text_puts(w->text, "\n");
}

static void
csv_row(void *user, const struct account_named *named, double weight)
{
	const struct account *one = &named->account;
	int64_t ns[TALE_CAUSE_COUNT] = {0};
	struct account_csv *w = user;

	for (unsigned k = 0; k < one->parts; k++)
		ns[one->cause[k]] += one->part_ns[k];
	text_add(w->text, "%llu,%s,%lld,%lld,%.6g,%s,%s,%u,%u,%u,%d,%d",
	    (unsigned long long)one->id, one->external_id,
	    (long long)one->end_wall_ns, (long long)one->total_ns, weight,
	    named->route, named->server, one->in_flight, one->status,
	    one->attempts, one->cold, one->stratum != ACCOUNT_OTHER);
	account_counted_write(one, w->counters, w->text);
	text_add(w->text, ",%d", one->kernel);
	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++) {
		if (ns[c] == 0)
			text_puts(w->text, ",0");
		else
			text_add(w->text, ",%lld", (long long)ns[c]);
	}
	text_puts(w->text, "\n");
}

void
accounts_write(struct accounts *a, int64_t since_ns, int64_t until_ns,
    size_t room, struct text *text)
{
	struct account_csv w = {.text = text};

	accounts_read(a, since_ns, until_ns, room, csv_head, csv_row, &w);
}
