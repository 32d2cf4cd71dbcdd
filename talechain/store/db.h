/* db.h: one SQLite database of the store: opened, bounded, written to.  Private
 * to this folder.
 *
 * The database is a file in a directory that the caller has locked, or in
 * memory.  Its pages and its write-ahead log together stay below a bound:
 * before something is added, the oldest rows of each table make room, in the
 * same transaction.  A power cut costs what was added since the last checkpoint
 * (half a megabyte at most), a crash of Tailor nothing.
 *
 * What is in the files is hostile: triggers and views are off, SQLite refuses
 * texts and values that are too long, and a file that is no database of ours is
 * put aside: renamed to NAME.damaged (one is kept), logged and counted.
 *
 * Functions return 0 or a negative errno.  -EPROTO: a file looks damaged; the
 * next db_begin checks it, and puts it aside if it is.  -EBUSY: another program
 * has the database open and keeps it locked. */
#pragma once

#include <sqlite3.h>

#include "base/text.h"

#define DB_BYTES_MIN (UINT64_C(1) << 20)
#define DB_TABLES 2

struct db_table {
	const char *name; /* NULL: no table; the key is "number" */
	uint64_t rows;
	uint64_t dropped; /* rows deleted at a bound */
};

struct db {
	/* Set before db_open(): */
	int directory;	    /* borrowed; -1: memory */
	const char *path;   /* path of directory; borrowed */
	const char *name;   /* file name; static */
	const char *schema; /* static */
	uint64_t bytes_max; /* at least DB_BYTES_MIN */
	struct db_table table[DB_TABLES];

	sqlite3 *sqlite; /* owned; NULL: closed */
	bool damaged;
	int log_pages;	  /* in the write-ahead log */
	uint64_t corrupt; /* files and rows that were not ours */
	struct db_table before[DB_TABLES]; /* table[] before the transaction */
};

/* Open the database whose fields above are set; a damaged file is put aside and
 * a new one begun.  -EROFS: the file cannot be written.  After an error the
 * database is closed; closing it again does nothing. */
int db_open(struct db *d);
void db_close(struct db *d);

/* Bytes of the files as they are now, or of the database in memory. */
uint64_t db_bytes(struct db *d);

/* The most bytes that one transaction may add. */
size_t db_addition_max(const struct db *d);

/* Begin a transaction that adds so many bytes; the oldest rows are deleted to
 * make room.  After an error no transaction has begun. */
int db_begin(struct db *d, size_t bytes);
/* Commit if err is 0, else roll back.  Returns err, or the error of the
 * commit. */
int db_end(struct db *d, int err);

/* Delete so many of the oldest rows of a table; they count as dropped. */
int db_drop_oldest(struct db *d, struct db_table *t, uint64_t rows);

/* Delete the row of a table with this number, if there is one. */
int db_row_delete(struct db *d, struct db_table *t, int64_t number);
/* Count and delete a row that Tailor cannot have written. */
void db_row_bad(struct db *d, struct db_table *t, int64_t number);

/* Prepare a statement with its parameters.  types has a letter for each: 'i'
 * int64_t, 'd' double, 's' text, 'b' pointer and size_t.  Text and bytes must
 * stay until it is closed.  NULL: failed; db_error() has the reason. */
sqlite3_stmt *db_query(struct db *d, const char *sql, const char *types, ...);
/* Run a prepared statement that returns no rows with other parameters; it stays
 * open. */
int db_again(struct db *d, sqlite3_stmt *s, const char *types, ...);
/* Read the next row: 1, 0 there is none, or a negative errno.  If s is NULL:
 * the error of the db_query that returned it. */
int db_row(struct db *d, sqlite3_stmt *s);
/* Run a prepared statement that returns no rows, and close it.  If s is NULL:
 * the error of the db_query that returned it. */
int db_run(struct db *d, sqlite3_stmt *s);
/* *out receives the first number that a query returns; 0 if that is NULL or
 * could not be read. */
int db_number(struct db *d, const char *sql, int64_t *out);
/* The negative errno of the last SQLite call; 0: it succeeded. */
int db_error(struct db *d);

/* A column's text, or its number.  *good becomes false if the text is longer
 * than size - 1 or has a NUL, or if the number is not within [min, max]. */
void db_text(sqlite3_stmt *s, int column, char *out, size_t size, bool *good);
int64_t
db_int(sqlite3_stmt *s, int column, int64_t min, int64_t max, bool *good);

/* Pairs of a name and a number in one column, as JSON: {"gc":1200,"lock":3}. */
#define DB_PAIR_NAME 32
void db_pair_add(struct text *t, const char *name, uint64_t value);
/* End and terminate the text: t->at can be used if t has not failed. */
void db_pair_end(struct text *t);
/* Read the next pair of such a text and advance *at: 1, 0 no more, or
 * -EPROTO. */
int db_pair_next(const char **at, char name[DB_PAIR_NAME], uint64_t *value);
