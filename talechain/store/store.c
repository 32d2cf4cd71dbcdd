/* store.c: the table of tales.
 *
 * What a list shows of a tale has columns of its own; one more has the packed
 * tale (pack.h).  "number" is the order in which tales were kept. */
#include "talechain/store/store.h"

#include <fcntl.h>
#include <sys/file.h>

#include "base/file.h"
#include "talechain/events/termination.h"
#include "talechain/store/db.h"
#include "talechain/store/pack.h"
#include "talechain/tale/tale_struct.h"

#define KEEP_MAX 65536
#define BOOT_BYTES 40
/* Range of the times of a tale, wall clock or not. */
#define TIME_MAX (INT64_MAX / 4)

static const char schema[] =
    "BEGIN;"
    "CREATE TABLE tales (number INTEGER PRIMARY KEY, request INTEGER, id TEXT,"
    " finished_ns INTEGER, boot TEXT, reason TEXT, cause TEXT, verdict TEXT,"
    " method TEXT, target TEXT, status INTEGER, attempts INTEGER, winner TEXT,"
    " \"trigger\" TEXT, termination TEXT, flags TEXT, total_ns INTEGER,"
    " upstream_ns INTEGER, share_ns INTEGER, timeline_ns INTEGER, tale BLOB);"
    "CREATE INDEX tales_id ON tales (id);"
    "CREATE INDEX tales_request ON tales (request);"
    "PRAGMA user_version=1;"
    "COMMIT";

#define SELECT                                                          \
	"SELECT number, request, id, finished_ns, boot, reason, cause," \
	" verdict, method, target, status, attempts, winner,"           \
	" \"trigger\", termination, flags, total_ns, upstream_ns,"      \
	" share_ns, timeline_ns, tale FROM tales "
#define TALE_COLUMN 20

struct tale_store {
	int directory; /* owned; -1: memory */
	int lock;      /* owned; -1: none */
	unsigned keep;
	char boot_id[BOOT_BYTES];
	struct db db; /* its first table is the tales */
	uint64_t added;
	uint64_t unmoved; /* tales that could not be read to move them */
};

const char *
tale_reason_name(enum tale_reason reason)
{
	static const char *const name[] = {
#define TALE_X(symbol, word) word,
	    TALE_REASONS(TALE_X)
#undef TALE_X
	};

	return reason < TALE_REASON_COUNT ? name[reason] : "unknown";
}

void
tale_summarise(struct tale_summary *s, const struct tale_request *r)
{
	const struct tale_attempt *won = NULL;

	s->request = r->id;
	memcpy(s->external_id, r->external_id, sizeof(s->external_id));
	memcpy(s->method, r->method, sizeof(s->method));
	memcpy(s->target, r->target, sizeof(s->target));
	termination_text(r->termination, s->termination);
	tale_flags(r, s->flags);
	s->status = r->status;
	s->total_ns = instant_since(tale_request_end(r), tale_request_begin(r));
	s->upstream_ns = -1;
	s->attempts = 0;
	s->winner[0] = s->trigger[0] = '\0';
	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		const struct tale_attempt *a = &r->attempt[i];

		s->attempts += a->server >= 0;
		if (a->server >= 0 && strcmp(a->outcome, "won") == 0)
			won = a;
		if (a->server >= 0 && i > 0)
			memcpy(s->trigger, a->trigger, sizeof(s->trigger));
	}
	if (won == NULL)
		return;
	memcpy(s->winner, won->server_name, sizeof(s->winner));
	if (instant_is_set(won->complete) && instant_is_set(won->written))
		s->upstream_ns = instant_since(won->complete, won->written);
}

/* --- opening -------------------------------------------------------------- */

/* Make, open and lock the directory.  0 or a negative errno. */
static int
directory_open(struct tale_store *s, const char *path)
{
	struct stat st;
	int err = rundir_make(path, 0700);

	if (err < 0)
		return err;
	s->directory =
	    open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->directory < 0 || fstat(s->directory, &st) < 0)
		return -errno;
	/* Requests may hold secrets: only this user may read them. */
	if (st.st_uid != geteuid())
		return -EPERM;
	if ((st.st_mode & 077) != 0 && fchmod(s->directory, 0700) < 0)
		return -errno;
	s->lock = openat(s->directory, "lock",
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (s->lock < 0)
		return -errno;
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return 0;
}

int
tale_store_open(
    struct tale_store **out, const struct tale_store_options *options)
{
	struct tale_store *s;
	int err = 0;

	if (options->bytes_max < TALE_STORE_BYTES_MIN || options->keep == 0 ||
	    options->keep > KEEP_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->directory = s->lock = -1;
	s->keep = options->keep;
	snprintf(s->boot_id, sizeof(s->boot_id), "%s", options->boot_id);
	if (options->directory != NULL)
		err = directory_open(s, options->directory);
	if (err == 0) {
		s->db = (struct db){.directory = s->directory,
		    .path = options->directory,
		    .name = "tales.db",
		    .schema = schema,
		    .bytes_max = options->bytes_max,
		    .table = {{.name = "tales"}}};
		err = db_open(&s->db);
	}
	if (err < 0)
		tale_store_close(&s);
	else
		*out = s;
	return err;
}

void
tale_store_close(struct tale_store **sp)
{
	struct tale_store *s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	db_close(&s->db);
	if (s->lock >= 0)
		close(s->lock);
	if (s->directory >= 0)
		close(s->directory);
	free(s);
}

/* --- adding --------------------------------------------------------------- */

/* Insert a tale in place of one of the same request (*replaced: there was one)
 * and of the oldest above the bound. */
static int
row_insert(struct tale_store *s, const struct tale_summary *t,
    const struct packed *packed, bool *replaced)
{
	struct db *d = &s->db;
	uint64_t *rows = &d->table[0].rows;
	int err =
	    db_run(d, db_query(d, "DELETE FROM tales WHERE id=? AND request=?",
			  "si", t->external_id, (int64_t)t->request));

	if (err < 0)
		return err;
	*replaced = sqlite3_changes64(d->sqlite) > 0;
	*rows -= (uint64_t)sqlite3_changes64(d->sqlite);
	if (*rows >= s->keep)
		err = db_drop_oldest(d, &d->table[0], *rows - s->keep + 1);
	if (err == 0)
		err = db_run(d,
		    db_query(d,
			"INSERT INTO tales VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,"
			"?,?,?,?,?,?,?,?,?)",
			"isissssssiissssiiiib", (int64_t)t->request,
			t->external_id, t->finished_wall_ns, s->boot_id,
			tale_reason_name(t->reason), tale_cause_code(t->cause),
			t->verdict, t->method, t->target, (int64_t)t->status,
			(int64_t)t->attempts, t->winner, t->trigger,
			t->termination, t->flags, t->total_ns, t->upstream_ns,
			t->share_ns, t->timeline_ns, packed->at,
			packed->length));
	*rows += err == 0;
	return err;
}

int
tale_store_add(struct tale_store *s, const struct tale *t,
    const struct tale_summary *summary)
{
	struct tale_summary full = *summary;
	struct packed packed = {0};
	bool replaced = false;
	int err = tale_pack(&packed, t);

	tale_summarise(&full, &t->request);
	if (err == 0 && packed.length > db_addition_max(&s->db))
		err = -EFBIG;
	if (err == 0)
		err = db_begin(&s->db, packed.length + sizeof(full));
	if (err == 0)
		err = db_end(&s->db, row_insert(s, &full, &packed, &replaced));
	s->added += err == 0 && !replaced;
	free(packed.at);
	return err;
}

/* --- reading -------------------------------------------------------------- */

static enum tale_reason
reason_find(const char *name)
{
	unsigned i = 0;

	while (i < TALE_REASON_COUNT &&
	       strcmp(tale_reason_name((enum tale_reason)i), name) != 0)
		i++;
	return (enum tale_reason)i;
}

/* Read a row.  False: Tailor cannot have written it. */
static bool
summary_read(
    const struct tale_store *s, sqlite3_stmt *q, struct tale_summary *t)
{
	char boot[BOOT_BYTES], reason[32], cause[32];
	bool good = true;
	int found;

	*t = (struct tale_summary){
	    .request = (uint64_t)sqlite3_column_int64(q, 1)};
	db_text(q, 2, t->external_id, sizeof(t->external_id), &good);
	t->finished_wall_ns = db_int(q, 3, 0, TIME_MAX, &good);
	db_text(q, 4, boot, sizeof(boot), &good);
	db_text(q, 5, reason, sizeof(reason), &good);
	db_text(q, 6, cause, sizeof(cause), &good);
	db_text(q, 7, t->verdict, sizeof(t->verdict), &good);
	db_text(q, 8, t->method, sizeof(t->method), &good);
	db_text(q, 9, t->target, sizeof(t->target), &good);
	t->status = (int)db_int(q, 10, 0, 999, &good);
	t->attempts = (unsigned)db_int(q, 11, 0, TALE_ATTEMPTS, &good);
	db_text(q, 12, t->winner, sizeof(t->winner), &good);
	db_text(q, 13, t->trigger, sizeof(t->trigger), &good);
	db_text(q, 14, t->termination, sizeof(t->termination), &good);
	db_text(q, 15, t->flags, sizeof(t->flags), &good);
	t->total_ns = db_int(q, 16, -TIME_MAX, TIME_MAX, &good);
	t->upstream_ns = db_int(q, 17, -TIME_MAX, TIME_MAX, &good);
	t->share_ns = db_int(q, 18, -TIME_MAX, TIME_MAX, &good);
	t->timeline_ns = db_int(q, 19, -TIME_MAX, TIME_MAX, &good);
	t->reason = reason_find(reason);
	/* Another version may have had other causes. */
	found = tale_cause_find(cause);
	t->cause = found >= 0 ? (enum tale_cause)found : TALE_CAUSE_UNKNOWN;
	t->earlier_boot =
	    s->boot_id[0] == '\0' || strcmp(boot, s->boot_id) != 0;
	return good && t->reason < TALE_REASON_COUNT;
}

static int
blob_read(sqlite3_stmt *q, const struct tale_summary *t, struct tale **out)
{
	const void *bytes = sqlite3_column_blob(q, TALE_COLUMN);
	size_t n = (size_t)sqlite3_column_bytes(q, TALE_COLUMN);
	int err = bytes == NULL ? -EPROTO : tale_unpack(out, bytes, n);

	if (err == 0 && (*out)->request.id != t->request) {
		tale_free(out);
		err = -EPROTO;
	}
	return err;
}

/* Read the first tale that a query returns, and close the query; out may be
 * NULL. 0, -ENOENT, -EPROTO it was bad and is deleted, or another negative
 * errno. */
static int
first_read(struct tale_store *s, sqlite3_stmt *q, struct tale_summary *t,
    struct tale **out, int64_t *number)
{
	int err = db_row(&s->db, q);
	bool bad = false;

	if (err == 1) {
		*number = sqlite3_column_int64(q, 0);
		err = summary_read(s, q, t) ? 0 : -EPROTO;
		if (err == 0 && out != NULL)
			err = blob_read(q, t, out);
		bad = err == -EPROTO;
	} else if (err == 0) {
		err = -ENOENT;
	}
	sqlite3_finalize(q);
	if (bad)
		db_row_bad(&s->db, &s->db.table[0], *number);
	return err;
}

#define NEWEST " ORDER BY number DESC LIMIT 1"

int
tale_store_find(
    struct tale_store *s, const char *external_id, struct tale_summary *out)
{
	return first_read(s,
	    db_query(&s->db, SELECT "WHERE id=?" NEWEST, "s", external_id), out,
	    NULL, &(int64_t){0});
}

int
tale_store_find_request(
    struct tale_store *s, uint64_t request, struct tale_summary *out)
{
	return first_read(s,
	    db_query(
		&s->db, SELECT "WHERE request=?" NEWEST, "i", (int64_t)request),
	    out, NULL, &(int64_t){0});
}

int
tale_store_load(
    struct tale_store *s, const char *external_id, struct tale **out)
{
	struct tale_summary t;

	return first_read(s,
	    db_query(&s->db, SELECT "WHERE id=?" NEWEST, "s", external_id), &t,
	    out, &(int64_t){0});
}

int
tale_store_move(struct tale_store *from, struct tale_store *to)
{
	struct tale_summary summary;
	struct tale *t;
	int64_t number;
	int err;

	for (;;) {
		err = first_read(from,
		    db_query(&from->db, SELECT "ORDER BY number LIMIT 1", ""),
		    &summary, &t, &number);
		if (err == -ENOENT)
			return 0;
		if (err == -EPROTO) {
			from->unmoved++;
			continue;
		}
		if (err != 0)
			return err;
		err = tale_store_add(to, t, &summary);
		tale_free(&t);
		if (err == 0)
			err = db_row_delete(
			    &from->db, &from->db.table[0], number);
		if (err < 0)
			return err;
		from->added--; /* the other store has it now */
	}
}

int
tale_store_each(struct tale_store *s, const struct tale_filter *filter,
    bool (*take)(void *user, const struct tale_summary *one), void *user)
{
	const char *cause =
	    filter->cause < 0 ? ""
			      : tale_cause_code((enum tale_cause)filter->cause);
	const char *path = filter->path != NULL ? filter->path : "";
	struct db *d = &s->db;
	sqlite3_stmt *q = db_query(d,
	    SELECT "WHERE finished_ns>=?1 AND (?2='' OR cause=?2) AND (?3='' OR"
		   " substr(target,1,instr(target||'?','?')-1)=?3)"
		   " ORDER BY number DESC",
	    "iss",
	    filter->since_wall_ns > 0 ? filter->since_wall_ns : INT64_MIN,
	    cause, path);
	struct tale_summary one;
	bool more = true;
	int err = 0;

	while (more && (err = db_row(d, q)) == 1)
		if (summary_read(s, q, &one))
			more = take(user, &one);
		else
			db_row_bad(d, &d->table[0], sqlite3_column_int64(q, 0));
	sqlite3_finalize(q);
	return err < 0 ? err : 0;
}

void
tale_store_stats(struct tale_store *s, struct tale_store_stats *out)
{
	*out = (struct tale_store_stats){
	    .tales = (unsigned)s->db.table[0].rows,
	    .bytes = db_bytes(&s->db),
	    .added = s->added,
	    .dropped = s->db.table[0].dropped + s->unmoved,
	    .corrupt = s->db.corrupt,
	};
}
