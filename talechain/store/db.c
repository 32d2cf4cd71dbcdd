/* db.c: a bound on files that SQLite writes, and what is not trusted in them.
 *
 * Part of the bound is for the write-ahead log: for an addition of at most two
 * thirds of that part, for pages that a checkpoint leaves, and for the shared
 * memory beside it.  Few pages are cached and no statements: a store is written
 * to a few times a second, and read when a client requests a list. */
#include "talechain/store/db.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"

#define PAGE 4096
#define VERSION 1 /* user_version of a schema */
#define LOG_BYTES_MAX (UINT64_C(4) << 20)
#define NAME_BYTES 64
/* Pages by which a table's trees may grow on any addition. */
#define SPLITS 24
#define DROP_PART 16 /* the oldest 1/16 of the rows go at once */

#define JOURNAL 2
static const char *const beside[] = {"-wal", "-shm", "-journal"};

/* The bytes for the write-ahead log and its shared memory. */
static uint64_t
log_bytes(const struct db *d)
{
	uint64_t part = d->bytes_max / 8 * 3;

	return part < LOG_BYTES_MAX ? part : LOG_BYTES_MAX;
}

static int64_t
pages_max(const struct db *d)
{
	return (int64_t)(d->bytes_max - log_bytes(d)) / PAGE;
}

size_t
db_addition_max(const struct db *d)
{
	return (size_t)(log_bytes(d) / 3 * 2);
}

/* --- errors --------------------------------------------------------------- */

int
db_error(struct db *d)
{
	int code = sqlite3_errcode(d->sqlite), system;

	if (d->sqlite == NULL)
		return -EIO;
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return -EBUSY;
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		system = sqlite3_system_errno(d->sqlite);
		return system > 0 ? -system : -EIO;
	/* No database, not ours or incomplete; or read-only although its file
	 * is not: a later SQLite wrote it. */
	default:
		d->damaged = true;
		return -EPROTO;
	}
}

/* Run statements without parameters. */
static int
execute(struct db *d, const char *sql)
{
	return sqlite3_exec(d->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK
		   ? 0
		   : db_error(d);
}

/* --- statements ----------------------------------------------------------- */

static void
parameters_set(sqlite3_stmt *s, const char *types, va_list *args)
{
	for (int i = 1; *types != '\0'; types++, i++) {
		const void *bytes;

		switch (*types) {
		case 'i':
			sqlite3_bind_int64(s, i, va_arg(*args, int64_t));
			break;
		case 'd':
			sqlite3_bind_double(s, i, va_arg(*args, double));
			break;
		case 's':
			sqlite3_bind_text(s, i, va_arg(*args, const char *), -1,
			    SQLITE_STATIC);
			break;
		case 'b':
			bytes = va_arg(*args, const void *);
			sqlite3_bind_blob64(
			    s, i, bytes, va_arg(*args, size_t), SQLITE_STATIC);
			break;
		}
	}
}

sqlite3_stmt *
db_query(struct db *d, const char *sql, const char *types, ...)
{
	sqlite3_stmt *s = NULL;
	va_list args;

	if (sqlite3_prepare_v2(d->sqlite, sql, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	va_start(args, types);
	parameters_set(s, types, &args);
	va_end(args);
	return s;
}

int
db_again(struct db *d, sqlite3_stmt *s, const char *types, ...)
{
	va_list args;
	int err;

	va_start(args, types);
	parameters_set(s, types, &args);
	va_end(args);
	err = db_row(d, s);
	sqlite3_reset(s);
	return err;
}

int
db_row(struct db *d, sqlite3_stmt *s)
{
	if (s == NULL)
		return db_error(d);
	switch (sqlite3_step(s)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return db_error(d);
	}
}

int
db_run(struct db *d, sqlite3_stmt *s)
{
	int err = db_row(d, s);

	sqlite3_finalize(s);
	return err;
}

int
db_number(struct db *d, const char *sql, int64_t *out)
{
	sqlite3_stmt *s = db_query(d, sql, "");
	int err = db_row(d, s);

	*out = err == 1 ? sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
	return err < 0 ? err : 0;
}

void
db_text(sqlite3_stmt *s, int column, char *out, size_t size, bool *good)
{
	const char *text = (const char *)sqlite3_column_text(s, column);
	size_t n = (size_t)sqlite3_column_bytes(s, column);

	out[0] = '\0';
	if (text == NULL || n >= size || strlen(text) != n)
		*good = false;
	else
		memcpy(out, text, n + 1);
}

int64_t
db_int(sqlite3_stmt *s, int column, int64_t min, int64_t max, bool *good)
{
	int64_t value = sqlite3_column_int64(s, column);

	if (sqlite3_column_type(s, column) != SQLITE_INTEGER || value < min ||
	    value > max)
		*good = false;
	return value;
}

void
db_pair_add(struct text *t, const char *name, uint64_t value)
{
	text_add(t, "%s\"%s\":%llu", t->length == 0 ? "{" : ",", name,
	    (unsigned long long)value);
}

void
db_pair_end(struct text *t)
{
	text_put(t, t->length == 0 ? "{}" : "}", t->length == 0 ? 3 : 2);
}

int
db_pair_next(const char **at, char name[DB_PAIR_NAME], uint64_t *value)
{
	const char *s = *at;
	size_t n;
	char *end;

	if (strcmp(s, "}") == 0 || strcmp(s, "{}") == 0)
		return 0;
	if ((*s != '{' && *s != ',') || s[1] != '"')
		return -EPROTO;
	s += 2;
	n = strcspn(s, "\"");
	if (n >= DB_PAIR_NAME || s[n] != '"' || s[n + 1] != ':' ||
	    !isdigit((unsigned char)s[n + 2]))
		return -EPROTO;
	memcpy(name, s, n);
	name[n] = '\0';
	errno = 0;
	*value = strtoull(s + n + 2, &end, 10);
	*at = end;
	return errno == 0 ? 1 : -EPROTO;
}

/* --- opening -------------------------------------------------------------- */

/* Remove all files beside the database, or only those that SQLite should not
 * open: a rollback journal is not ours, and can name other files to delete. */
static int
beside_remove(const struct db *d, bool all)
{
	char name[NAME_BYTES];
	struct stat st;

	for (unsigned i = 0; i < COUNT(beside); i++) {
		snprintf(name, sizeof(name), "%s%s", d->name, beside[i]);
		if (fstatat(d->directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((all || i == JOURNAL || !S_ISREG(st.st_mode)) &&
		    unlinkat(d->directory, name, 0) < 0)
			return -errno;
	}
	return 0;
}

/* Create the file if there is none, and check that it is one of ours. */
static int
file_prepare(const struct db *d)
{
	struct stat st, place;
	int err = 0, fd;

	/* Non-blocking: a FIFO in that place must not hang us. */
	fd = openat(d->directory, d->name,
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO
			   ? -EPROTO
			   : -errno;
	if (fstat(fd, &st) < 0 || fstat(d->directory, &place) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode) ||
		 (st.st_uid != geteuid() && st.st_uid != place.st_uid))
		err = -EPROTO;
	close(fd);
	return err == 0 ? beside_remove(d, false) : err;
}

static int
on_log(void *user, sqlite3 *sqlite, const char *schema, int pages)
{
	struct db *d = user;

	(void)sqlite;
	(void)schema;
	d->log_pages = pages;
	return SQLITE_OK;
}

/* Set limits, so that nothing in the file decides what runs, or how much memory
 * it takes. */
static void
settings_set(struct db *d)
{
	uint64_t most = d->bytes_max < INT32_MAX ? d->bytes_max : INT32_MAX;

	sqlite3_extended_result_codes(d->sqlite, 1);
	sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(d->sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(d->sqlite, SQLITE_LIMIT_LENGTH, (int)most);
	sqlite3_busy_timeout(d->sqlite, 100);
	sqlite3_wal_hook(d->sqlite, on_log, d);
}

/* Check that a query's first text is part of in, and close the query.  0;
 * -EPROTO: it is not; or another negative errno. */
static int
first_text(struct db *d, sqlite3_stmt *s, const char *in)
{
	int err = db_row(d, s);
	const char *text =
	    err == 1 ? (const char *)sqlite3_column_text(s, 0) : NULL;

	if (err >= 0)
		err = text != NULL && strstr(in, text) != NULL ? 0 : -EPROTO;
	sqlite3_finalize(s);
	return err;
}

/* Create our tables in an empty database, which has version 0. */
static int
schema_set(struct db *d)
{
	int64_t size = 0, version = 0, rows = 0;
	char sql[80];
	int err = db_number(d, "PRAGMA page_size", &size);

	if (err == 0)
		err = db_number(d, "PRAGMA user_version", &version);
	if (err == 0 && version == 0)
		err = execute(d, d->schema);
	else if (err == 0 && (size != PAGE || version != VERSION))
		err = -EPROTO;
	for (int i = 0; err == 0 && i < DB_TABLES; i++) {
		struct db_table *t = &d->table[i];

		if (t->name == NULL)
			continue;
		err = first_text(d,
		    db_query(d, "SELECT sql FROM sqlite_schema WHERE name=?",
			"s", t->name),
		    d->schema);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", t->name);
		if (err == 0)
			err = db_number(d, sql, &rows);
		t->rows = err == 0 ? (uint64_t)rows : 0;
	}
	return err;
}

static int
try_open(struct db *d)
{
	int flags =
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
	char path[PATH_MAX + NAME_BYTES] = "", sql[80];
	bool suspect = d->damaged;
	int err = 0;

	if (d->directory < 0)
		flags |= SQLITE_OPEN_MEMORY;
	else
		err = file_prepare(d);
	/* SQLite refuses links anywhere in a path: resolve them first. */
	if (err == 0 && d->directory >= 0 && realpath(d->path, path) == NULL)
		err = -errno;
	if (err < 0)
		return err;
	snprintf(path + strlen(path), NAME_BYTES, "/%s", d->name);
	d->damaged = false;
	d->log_pages = 0;
	sqlite3_open_v2(path, &d->sqlite, flags, NULL);
	if (d->sqlite == NULL)
		return -ENOMEM;
	err = db_error(d);
	/* SQLite opens a file read-only if it cannot write it. */
	if (err == 0 && sqlite3_db_readonly(d->sqlite, "main") > 0)
		err = -EROFS;
	if (err < 0)
		return err;
	settings_set(d);
	err = execute(d, "PRAGMA auto_vacuum=INCREMENTAL;"
			 "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;"
			 "PRAGMA cell_size_check=ON;PRAGMA mmap_size=0;"
			 "PRAGMA temp_store=MEMORY;PRAGMA cache_size=-256");
	if (err == 0)
		err = schema_set(d);
	if (err == 0 && suspect)
		err = first_text(
		    d, db_query(d, "PRAGMA quick_check(1)", ""), "ok");
	if (err < 0)
		return err;
	/* Delete rows if the bound has become smaller. */
	err = db_begin(d, 0);
	if (err == 0)
		err = db_end(d, 0);
	snprintf(sql, sizeof(sql),
	    "PRAGMA incremental_vacuum;PRAGMA max_page_count=%lld",
	    (long long)pages_max(d));
	if (err == 0)
		err = execute(d, sql);
	return err == -EFBIG ? -EPROTO : err;
}

/* Rename the file, so that it can be read by hand. */
static int
put_aside(struct db *d)
{
	char to[NAME_BYTES];
	int err = beside_remove(d, true);

	snprintf(to, sizeof(to), "%s.damaged", d->name);
	if (err == 0 && renameat(d->directory, d->name, d->directory, to) < 0 &&
	    errno != ENOENT)
		err = -errno;
	if (err < 0)
		return err;
	d->corrupt++;
	log_event(LOG_LEVEL_WARNING, "store_put_aside",
	    "file=\"%s/%s\" renamed=%s advice=\"it is damaged, or no database "
	    "of this version, and a new one is begun: sqlite3 %s .recover "
	    "prints what is left of it\"",
	    d->path, d->name, to, to);
	return 0;
}

int
db_open(struct db *d)
{
	int err = try_open(d);

	/* After a failed call an intact file may look damaged: open it
	 * again. */
	if (err == -EPROTO) {
		db_close(d);
		d->damaged = true;
		err = try_open(d);
	}
	if (err == -EPROTO && d->directory >= 0) {
		db_close(d);
		err = put_aside(d);
		d->damaged = false;
		if (err == 0)
			err = try_open(d);
	}
	if (err < 0)
		db_close(d);
	return err;
}

void
db_close(struct db *d)
{
	sqlite3_close(d->sqlite);
	d->sqlite = NULL;
	for (int i = 0; i < DB_TABLES; i++)
		d->table[i].rows = 0;
}

uint64_t
db_bytes(struct db *d)
{
	char name[NAME_BYTES];
	uint64_t bytes = 0;
	int64_t pages;
	struct stat st;

	if (d->directory < 0) {
		(void)db_number(d, "PRAGMA page_count", &pages);
		return (uint64_t)pages * PAGE;
	}
	for (unsigned i = 0; i <= JOURNAL; i++) {
		snprintf(name, sizeof(name), "%s%s", d->name,
		    i < JOURNAL ? beside[i] : "");
		if (fstatat(d->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

/* --- transactions --------------------------------------------------------- */

int
db_drop_oldest(struct db *d, struct db_table *t, uint64_t rows)
{
	char sql[160];
	int err;

	snprintf(sql, sizeof(sql),
	    "DELETE FROM %s WHERE number IN "
	    "(SELECT number FROM %s ORDER BY number LIMIT ?)",
	    t->name, t->name);
	err = db_run(d, db_query(d, sql, "i", (int64_t)rows));
	if (err == 0) {
		uint64_t gone = (uint64_t)sqlite3_changes64(d->sqlite);

		t->rows -= gone < t->rows ? gone : t->rows;
		t->dropped += gone;
		/* If the number of rows is wrong, the loop ends here. */
		if (gone == 0)
			t->rows = 0;
	}
	return err;
}

/* Delete the oldest part of each table.  -EFBIG: all tables are empty. */
static int
drop_part(struct db *d)
{
	uint64_t left = 0;
	int err = 0;

	for (int i = 0; err == 0 && i < DB_TABLES; i++) {
		struct db_table *t = &d->table[i];

		left += t->rows;
		if (t->rows > 0)
			err = db_drop_oldest(d, t, 1 + t->rows / DROP_PART);
	}
	return err == 0 && left == 0 ? -EFBIG : err;
}

/* Delete the oldest rows until so many pages are free. */
static int
room_make(struct db *d, int64_t pages)
{
	int64_t used = 0, unused = 0;
	int err;

	for (;;) {
		err = db_number(d, "PRAGMA page_count", &used);
		if (err == 0)
			err = db_number(d, "PRAGMA freelist_count", &unused);
		if (err < 0 || pages_max(d) - used + unused >= pages)
			return err;
		err = drop_part(d);
		if (err < 0)
			return err;
	}
}

/* Write the log's pages into the file.  -EBUSY: another program reads the log,
 * so it cannot be reused from its start. */
static int
checkpoint(struct db *d)
{
	int pages = 0, done = 0;

	if (sqlite3_wal_checkpoint_v2(d->sqlite, NULL,
		SQLITE_CHECKPOINT_PASSIVE, &pages, &done) != SQLITE_OK)
		return db_error(d);
	if (pages == done)
		d->log_pages = 0;
	return pages == done ? 0 : -EBUSY;
}

int
db_begin(struct db *d, size_t bytes)
{
	int err = 0;

	if (d->damaged && d->directory >= 0)
		db_close(d);
	if (d->sqlite == NULL)
		err = db_open(d);
	if (err == 0 && (uint64_t)d->log_pages * PAGE > log_bytes(d) / 8)
		err = checkpoint(d);
	if (err == 0)
		err = execute(d, "BEGIN IMMEDIATE");
	if (err < 0)
		return err;
	memcpy(d->before, d->table, sizeof(d->before));
	err = room_make(d, (int64_t)(bytes / (PAGE - 16)) + SPLITS);
	return err < 0 ? db_end(d, err) : 0;
}

int
db_end(struct db *d, int err)
{
	if (err == 0)
		err = execute(d, "COMMIT");
	if (err < 0) {
		if (!sqlite3_get_autocommit(d->sqlite))
			sqlite3_exec(d->sqlite, "ROLLBACK", NULL, NULL, NULL);
		memcpy(d->table, d->before, sizeof(d->table));
	}
	return err;
}

int
db_row_delete(struct db *d, struct db_table *t, int64_t number)
{
	char sql[80];
	int err;

	snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE number=?", t->name);
	err = db_run(d, db_query(d, sql, "i", number));
	t->rows -= err == 0 && t->rows > 0;
	return err;
}

void
db_row_bad(struct db *d, struct db_table *t, int64_t number)
{
	d->corrupt++;
	(void)db_row_delete(d, t, number);
}
