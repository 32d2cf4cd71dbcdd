/* accounts.c: the tables of accounts and of latencies.
 *
 * Names of causes and counters are stored, not numbers, so another version can
 * read them.  Sums and differences of what is read cannot overflow. */
#include "talechain/store/accounts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "talechain/store/db.h"

#define WEIGHT_MAX 1e12 /* as BLAME_WEIGHT_MAX */
#define PART_MAX_NS (INT64_MAX / 64)
#define END_MAX_NS (INT64_MAX / 4)

static const char schema[] =
    "BEGIN;"
    "CREATE TABLE accounts (number INTEGER PRIMARY KEY, end_ns INTEGER,"
    " request INTEGER, id TEXT, route TEXT, server TEXT, total_ns INTEGER,"
    " weight REAL, in_flight INTEGER, status INTEGER, attempts INTEGER,"
    " stratum INTEGER, kernel INTEGER, new_connection INTEGER, causes TEXT,"
    " counted TEXT);"
    "CREATE INDEX accounts_end ON accounts (end_ns);"
    "CREATE TABLE latencies (number INTEGER PRIMARY KEY, from_ns INTEGER,"
    " to_ns INTEGER, route TEXT, unnamed INTEGER, requests INTEGER,"
    " buckets TEXT);"
    "CREATE INDEX latencies_from ON latencies (from_ns);"
    "PRAGMA user_version=1;"
    "COMMIT";

struct account_store {
	int directory; /* owned; -1: memory */
	struct db db;  /* its tables are accounts and latencies */
};

int
account_store_open(
    struct account_store **out, const char *directory, uint64_t bytes_max)
{
	struct account_store *s;
	int err;

	if (bytes_max < DB_BYTES_MIN)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->directory = -1;
	if (directory != NULL)
		s->directory = open(
		    directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	s->db = (struct db){.directory = s->directory,
	    .path = directory,
	    .name = "accounts.db",
	    .schema = schema,
	    .bytes_max = bytes_max,
	    .table = {{.name = "accounts"}, {.name = "latencies"}}};
	err = directory != NULL && s->directory < 0 ? -errno : db_open(&s->db);
	if (err < 0)
		account_store_close(&s);
	else
		*out = s;
	return err;
}

void
account_store_close(struct account_store **sp)
{
	struct account_store *s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	db_close(&s->db);
	if (s->directory >= 0)
		close(s->directory);
	free(s);
}

/* Make a name fit for a line of CSV, and for a terminal. */
static void
name_plain(char *name)
{
	for (; *name != '\0'; name++)
		if (!isprint((unsigned char)*name) || *name == ',' ||
		    *name == '"')
			*name = '_';
}

/* --- accounts ------------------------------------------------------------- */

/* Approximate size of an account's row, bytes. */
static size_t
account_bytes(const struct account_named *one)
{
	return 96 + strlen(one->account.external_id) + strlen(one->route) +
	       strlen(one->server) + one->account.parts * (size_t)32 +
	       one->account.counted * (size_t)40;
}

static int
account_insert(struct db *d, sqlite3_stmt *q, const struct account_named *one,
    struct text *causes, struct text *counted)
{
	const struct account *a = &one->account;

	causes->length = counted->length = 0;
	for (unsigned k = 0; k < a->parts; k++)
		db_pair_add(causes, tale_cause_code(a->cause[k]),
		    (uint64_t)a->part_ns[k]);
	db_pair_end(causes);
	for (unsigned k = 0; k < a->counted; k++)
		db_pair_add(counted,
		    talechain_counter_kind(a->counter[k])->code, a->milli[k]);
	db_pair_end(counted);
	if (causes->failed || counted->failed)
		return -ENOMEM;
	return db_again(d, q, "iisssidiiiiiiss", a->end_wall_ns, (int64_t)a->id,
	    a->external_id, one->route, one->server, a->total_ns, a->weight,
	    (int64_t)a->in_flight, (int64_t)a->status, (int64_t)a->attempts,
	    (int64_t)a->stratum, (int64_t)a->kernel, (int64_t)a->cold,
	    causes->at, counted->at);
}

int
account_store_add(
    struct account_store *s, const struct account_named *one, unsigned n)
{
	struct text causes = {0}, counted = {0};
	struct db *d = &s->db;
	sqlite3_stmt *q;
	size_t bytes = 0;
	int err;

	for (unsigned i = 0; i < n; i++)
		bytes += account_bytes(&one[i]);
	err = db_begin(d, bytes);
	if (err < 0)
		return err;
	q = db_query(d,
	    "INSERT INTO accounts VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	    "");
	err = q == NULL ? db_error(d) : 0;
	for (unsigned i = 0; i < n && err == 0; i++)
		err = account_insert(d, q, &one[i], &causes, &counted);
	sqlite3_finalize(q);
	free(causes.at);
	free(counted.at);
	if (err == 0)
		d->table[0].rows += n;
	return db_end(d, err);
}

/* Read an account's causes; false: they do not add up to its total. */
static bool
causes_read(const char *text, struct account *a)
{
	char name[DB_PAIR_NAME];
	int64_t sum = 0;
	uint64_t ns;
	int more;

	while ((more = db_pair_next(&text, name, &ns)) == 1) {
		int cause = tale_cause_find(name);

		if (a->parts == ACCOUNT_PARTS || ns > PART_MAX_NS)
			return false;
		a->cause[a->parts] =
		    (uint8_t)(cause >= 0 ? cause : TALE_CAUSE_UNKNOWN);
		a->part_ns[a->parts++] = (int64_t)ns;
		sum += (int64_t)ns;
	}
	return more == 0 && sum == a->total_ns;
}

/* Read the counters of an account; unknown ones are left out.  False:
 * malformed, or out of range. */
static bool
counted_read(const char *text, struct account *a)
{
	char name[DB_PAIR_NAME];
	uint64_t milli;
	int more;

	while ((more = db_pair_next(&text, name, &milli)) == 1) {
		int counter = talechain_counter_find(name);

		if (milli > ACCOUNT_MILLI_MAX)
			return false;
		if (counter < 0)
			continue;
		if (a->counted == ACCOUNT_COUNTERS)
			return false;
		a->counter[a->counted] = (uint8_t)counter;
		a->milli[a->counted++] = milli;
	}
	return more == 0;
}

/* Read a row.  False: Tailor cannot have written it. */
static bool
account_read(sqlite3_stmt *q, struct account_named *one)
{
	struct account *a = &one->account;
	char causes[1024], counted[512];
	bool good = true;

	*one = (struct account_named){.route = ""};
	a->end_wall_ns = db_int(q, 1, 0, END_MAX_NS, &good);
	a->id = (uint64_t)sqlite3_column_int64(q, 2);
	db_text(q, 3, a->external_id, sizeof(a->external_id), &good);
	db_text(q, 4, one->route, sizeof(one->route), &good);
	db_text(q, 5, one->server, sizeof(one->server), &good);
	a->total_ns = db_int(q, 6, 0, INT64_MAX, &good);
	a->weight = sqlite3_column_double(q, 7);
	a->in_flight = (uint32_t)db_int(q, 8, 0, UINT32_MAX, &good);
	a->status = (uint16_t)db_int(q, 9, 0, 999, &good);
	a->attempts = (uint8_t)db_int(q, 10, 0, UINT8_MAX, &good);
	a->stratum = (uint8_t)db_int(q, 11, 0, ACCOUNT_STRATA - 1, &good);
	a->kernel = db_int(q, 12, 0, 1, &good);
	a->cold = db_int(q, 13, 0, 1, &good);
	db_text(q, 14, causes, sizeof(causes), &good);
	db_text(q, 15, counted, sizeof(counted), &good);
	name_plain(a->external_id);
	name_plain(one->route);
	name_plain(one->server);
	return good && a->weight >= 1 && a->weight <= WEIGHT_MAX &&
	       causes_read(causes, a) && counted_read(counted, a);
}

int
account_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct account_named *one), void *user)
{
	struct db *d = &s->db;
	sqlite3_stmt *q = db_query(d,
	    "SELECT * FROM accounts WHERE end_ns>=? AND end_ns<?"
	    " ORDER BY end_ns",
	    "ii", from_wall_ns, to_wall_ns);
	struct account_named one;
	int err;

	while ((err = db_row(d, q)) == 1)
		if (account_read(q, &one))
			take(user, &one);
		else
			db_row_bad(d, &d->table[0], sqlite3_column_int64(q, 0));
	sqlite3_finalize(q);
	return err;
}

int
account_store_count(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns, uint64_t *slow, uint64_t *other, uint32_t *counters)
{
	struct db *d = &s->db;
	sqlite3_stmt *q = db_query(d,
	    "SELECT stratum, counted FROM accounts WHERE end_ns>=? AND "
	    "end_ns<?",
	    "ii", from_wall_ns, to_wall_ns);
	int err;

	*slow = *other = 0;
	*counters = 0;
	while ((err = db_row(d, q)) == 1) {
		struct account a = {.counted = 0};
		char counted[512];
		bool good = true;

		*(sqlite3_column_int(q, 0) == ACCOUNT_OTHER ? other : slow) +=
		    1;
		db_text(q, 1, counted, sizeof(counted), &good);
		if (good && counted_read(counted, &a))
			for (unsigned k = 0; k < a.counted; k++)
				*counters |= 1U << a.counter[k];
	}
	sqlite3_finalize(q);
	return err;
}

/* --- latencies ------------------------------------------------------------ */

int
latency_store_add(struct account_store *s, const struct latency_block *block)
{
	struct text buckets = {0};
	struct db *d = &s->db;
	int err;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		char edge[DB_PAIR_NAME];

		if (block->bucket[i] == 0)
			continue;
		snprintf(edge, sizeof(edge), "%llu",
		    (unsigned long long)histogram_bucket_edge(i));
		db_pair_add(&buckets, edge, block->bucket[i]);
	}
	db_pair_end(&buckets);
	err = buckets.failed ? -ENOMEM : db_begin(d, buckets.length + 128);
	if (err == 0) {
		err = db_run(
		    d, db_query(d,
			   "INSERT INTO latencies VALUES (NULL,?,?,?,?,?,?)",
			   "iisiis", block->from_wall_ns, block->to_wall_ns,
			   block->route, (int64_t)block->unnamed,
			   (int64_t)block->count, buckets.at));
		d->table[1].rows += err == 0;
		err = db_end(d, err);
	}
	free(buckets.at);
	return err;
}

/* Read the counts of a block; false: they are not of a histogram, or do not add
 * up. */
static bool
buckets_read(const char *text, struct latency_block *b)
{
	char name[DB_PAIR_NAME], *end;
	uint64_t requests, sum = 0;
	int more;

	while ((more = db_pair_next(&text, name, &requests)) == 1) {
		uint64_t edge = strtoull(name, &end, 10);
		unsigned i = histogram_bucket(edge);

		if (end == name || *end != '\0' ||
		    histogram_bucket_edge(i) != edge ||
		    requests > LATENCY_COUNT_MAX - sum)
			return false;
		b->bucket[i] += requests;
		sum += requests;
	}
	return more == 0 && sum > 0 && sum == b->count && b->unnamed <= sum;
}

static bool
latencies_read(sqlite3_stmt *q, struct latency_block *b)
{
	const char *buckets = (const char *)sqlite3_column_text(q, 6);
	bool good = true;

	memset(b, 0, sizeof(*b));
	b->from_wall_ns = db_int(q, 1, 0, END_MAX_NS, &good);
	b->to_wall_ns = db_int(q, 2, b->from_wall_ns, END_MAX_NS, &good);
	db_text(q, 3, b->route, sizeof(b->route), &good);
	name_plain(b->route);
	b->unnamed = (uint64_t)db_int(q, 4, 0, LATENCY_COUNT_MAX, &good);
	b->count = (uint64_t)db_int(q, 5, 0, LATENCY_COUNT_MAX, &good);
	return good && buckets != NULL && buckets_read(buckets, b);
}

int
latency_store_read(struct account_store *s, int64_t from_wall_ns,
    int64_t to_wall_ns,
    void (*take)(void *user, const struct latency_block *block), void *user)
{
	struct latency_block *b = malloc(sizeof(*b));
	struct db *d = &s->db;
	sqlite3_stmt *q = db_query(d,
	    "SELECT * FROM latencies WHERE from_ns>=? AND to_ns<=?"
	    " ORDER BY from_ns",
	    "ii", from_wall_ns, to_wall_ns);
	int err = b == NULL ? -ENOMEM : 1;

	while (err == 1 && (err = db_row(d, q)) == 1) {
		if (latencies_read(q, b))
			take(user, b);
		else
			db_row_bad(d, &d->table[1], sqlite3_column_int64(q, 0));
	}
	sqlite3_finalize(q);
	free(b);
	return err;
}

int
latency_store_move(struct account_store *from, struct account_store *to)
{
	struct latency_block *b = malloc(sizeof(*b));
	int err = b == NULL ? -ENOMEM : 1;

	while (err == 1) {
		sqlite3_stmt *q = db_query(&from->db,
		    "SELECT * FROM latencies ORDER BY number LIMIT 1", "");
		int64_t number = 0;
		bool good = false;

		err = db_row(&from->db, q);
		if (err == 1) {
			number = sqlite3_column_int64(q, 0);
			good = latencies_read(q, b);
		}
		sqlite3_finalize(q);
		if (good) {
			int added = latency_store_add(to, b);

			err = added < 0 ? added : 1;
		}
		if (err == 1 &&
		    db_row_delete(&from->db, &from->db.table[1], number) < 0)
			err = -EIO;
	}
	free(b);
	return err;
}

void
account_store_stats(struct account_store *s, struct account_store_stats *out)
{
	*out = (struct account_store_stats){.bytes = db_bytes(&s->db),
	    .accounts = s->db.table[0].rows,
	    .dropped = s->db.table[0].dropped,
	    .latencies_dropped = s->db.table[1].dropped,
	    .corrupt = s->db.corrupt};
	(void)db_number(
	    &s->db, "SELECT max(end_ns) FROM accounts", &out->last_wall_ns);
}
