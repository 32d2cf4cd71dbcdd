/* db.h: one SQLite database of the store: opened, bounded, written to.  Private
 * to this room.
 *
 * A file in a directory that the caller has locked, or memory.  Its pages and
 * its write-ahead log together stay below a bound: before something is added,
 * the oldest rows of each table make room, in the same transaction.  A power
 * cut costs what was added since the last checkpoint (half a megabyte at most),
 * a crash of Tailor nothing.
 *
 * What is in the files is hostile: triggers and views are off, a text or a
 * value is bounded before it is made, and what is no database of ours is put
 * aside: renamed to NAME.damaged (one is kept), logged and counted.
 *
 * Functions return 0 or a negative errno: -EPROTO is a file that looks damaged,
 * which the next db_begin puts aside if it is; -EBUSY another program that has
 * the database open and does not let go of it. */
#pragma once

#include <sqlite3.h>

#include "base/text.h"

#define DB_BYTES_MIN (UINT64_C(1) << 20)
#define DB_TABLES 2

struct db_table {
	const char *name; /* NULL: none; its key is "number" */
	uint64_t rows;
	uint64_t dropped; /* rows, at a bound */
};

struct db {
	/* Set by who opens it: */
	int directory;	    /* borrowed; -1: memory */
	const char *path;   /* of that; borrowed */
	const char *name;   /* of the file; static */
	const char *schema; /* static */
	uint64_t bytes_max; /* at least DB_BYTES_MIN */
	struct db_table table[DB_TABLES];

	sqlite3 *sqlite; /* owned; NULL: closed */
	bool damaged;
	int log_pages;	  /* in the write-ahead log */
	uint64_t corrupt; /* files and rows that were not ours */
	struct db_table before[DB_TABLES]; /* the transaction */
};

/* Open the database whose fields above are set; a damaged file is put aside and
 * a new one begun.  -EROFS: the file cannot be written.  After an error the
 * database is closed; closing it again does nothing. */
int db_open(struct db *d);
void db_close(struct db *d);

/* Of files as they are now, or of memory. */
uint64_t db_bytes(struct db *d);

/* The most that is added at once. */
size_t db_addition_max(const struct db *d);

/* Begin a transaction that adds so many bytes; rows that are in the way of it
 * go.  If it is not 0, nothing has begun. */
int db_begin(struct db *d, size_t bytes);
/* Commit if err is 0, else leave the database as it was before.  Returns err,
 * or why it could not be committed. */
int db_end(struct db *d, int err);

/* Delete the oldest rows of a table, which count as dropped. */
int db_drop_oldest(struct db *d, struct db_table *t, uint64_t rows);

/* Delete the row of a table with this number, if there is one. */
int db_row_delete(struct db *d, struct db_table *t, int64_t number);
/* A row cannot be what Tailor wrote: count it and delete it. */
void db_row_bad(struct db *d, struct db_table *t, int64_t number);

/* A statement with its parameters: a letter of types each, 'i' int64_t, 'd'
 * double, 's' text, 'b' pointer and size_t.  Text and bytes must stay until it
 * is closed.  NULL: see db_error. */
sqlite3_stmt *db_query(struct db *d, const char *sql, const char *types, ...);
/* Run one that gives no rows with these parameters; it stays open. */
int db_again(struct db *d, sqlite3_stmt *s, const char *types, ...);
/* The next row: 1, 0 none, or a negative errno; of NULL that of db_query. */
int db_row(struct db *d, sqlite3_stmt *s);
/* Run one that gives no rows, and close it; NULL is accepted, as in db_row. */
int db_run(struct db *d, sqlite3_stmt *s);
/* The first number that a query gives; 0: it is NULL, or could not be read. */
int db_number(struct db *d, const char *sql, int64_t *out);
/* Of the last call. */
int db_error(struct db *d);

/* A column's text, or number; *good becomes false if that is longer than
 * size - 1, has a NUL, or is not within [min, max]. */
void db_text(sqlite3_stmt *s, int column, char *out, size_t size, bool *good);
int64_t
db_int(sqlite3_stmt *s, int column, int64_t min, int64_t max, bool *good);

/* Pairs of a name and a number in one column, as JSON: {"gc":1200,"lock":3}. */
#define DB_PAIR_NAME 32
void db_pair_add(struct text *t, const char *name, uint64_t value);
/* Ends and terminates it: t->at can be used if t has not failed. */
void db_pair_end(struct text *t);
/* The next pair of such a text: 1, 0 no more, or -EPROTO.  *at is moved on. */
int db_pair_next(const char **at, char name[DB_PAIR_NAME], uint64_t *value);
