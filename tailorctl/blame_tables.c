/* blame_tables.c: the accounts that "tailorctl blame" reads, and how long all
 * requests took; times count back from the latest account. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/blame.h"
#include "base/terminal.h"

/* A table of what ended within since_ns .. until_ns before the latest account,
 * or a file's, which has what it has.  The caller frees it; NULL after a
 * message. */
static char *
accounts_get(
    const struct ctl_options *options, int64_t since_ns, int64_t until_ns)
{
	struct http_response response;
	char *text = NULL, path[64];
	size_t length;
	int err;

	if (options->file != NULL) {
		err = file_read(options->file, &text, &length);
		if (err < 0)
			fprintf(stderr, "tailorctl: %s: %s\n", options->file,
			    strerror(-err));
		if (text == NULL || strlen(text) == length)
			return text;
		fprintf(stderr, "tailorctl: --file: it has a zero byte\n");
		free(text);
		return NULL;
	}
	snprintf(path, sizeof(path), "/accounts?since=%lld&until=%lld",
	    (long long)(since_ns / NS_PER_S), (long long)(until_ns / NS_PER_S));
	if (until_ns == 0)
		*strchr(path, '&') = '\0';
	if (admin_request_ok(options, "GET", path, &response) < 0)
		return NULL;
	text = strndup(response.body, response.length);
	http_response_fini(&response);
	if (text == NULL)
		fprintf(stderr, "tailorctl: out of memory\n");
	return text;
}

/* blame_rows_read, with a message. */
static int
rows_read(struct blame_rows *rows, char *text, int64_t from_ns, int64_t to_ns)
{
	int err = blame_rows_read(rows, text, from_ns, to_ns);

	if (err != 0)
		fprintf(stderr, "tailorctl: %s\n", rows->error);
	return err;
}

/* When the latest account of a table ended; the table is as before.  0, or a
 * negative errno after a message. */
static int
newest_find(const char *text, int64_t *newest_ns)
{
	struct blame_rows rows;
	char *copy = strdup(text);
	int err = copy == NULL ? -ENOMEM : rows_read(&rows, copy, 0, 0);

	if (copy != NULL) {
		*newest_ns = rows.newest_ns;
		blame_rows_fini(&rows);
	}
	free(copy);
	return err;
}

/* The length of the period; of a running tailor an hour, or less if it is
 * compared with less than an hour ago. */
static int64_t
period_ns(const struct ctl_options *o)
{
	int64_t hour_ns = o->file == NULL ? 3600 * NS_PER_S : 0;

	if (o->since_ns > 0)
		return o->since_ns > o->until_ns ? o->since_ns - o->until_ns
						 : 0;
	if (o->against_ns > 0 && (hour_ns == 0 || o->against_ns < hour_ns))
		return o->against_ns;
	return hour_ns;
}

/* Read a period that ended until_ns before the latest account. */
static int
period_read(const struct ctl_options *o, struct blame_rows *rows,
    int64_t length_ns, int64_t until_ns)
{
	int64_t newest_ns = 0, from_ns = 0, to_ns = 0;
	int err = 0;
	char *text =
	    accounts_get(o, length_ns > 0 ? until_ns + length_ns : 0, until_ns);

	if (text == NULL)
		return -EIO;
	if (o->file != NULL && (length_ns > 0 || until_ns > 0)) {
		err = newest_find(text, &newest_ns);
		from_ns = length_ns > 0 ? newest_ns - until_ns - length_ns : 0;
		to_ns = until_ns > 0 ? newest_ns - until_ns : 0;
	}
	if (err == 0)
		err = rows_read(rows, text, from_ns, to_ns);
	free(text);
	return err;
}

/* How long all requests took, if the running tailor knows. */
static void
exact_get(struct view *v, int64_t length_ns)
{
	const struct ctl_options *o = v->options;
	int64_t since_ns = length_ns > 0 ? o->until_ns + length_ns : 0;
	struct http_response response;
	char *text, path[80];

	if (o->file != NULL)
		return;
	snprintf(path, sizeof(path), "/latencies?since=%lld&until=%lld",
	    (long long)(since_ns / NS_PER_S),
	    (long long)(o->until_ns / NS_PER_S));
	if (o->until_ns == 0)
		*strchr(path, '&') = '\0';
	if (admin_request(o, "GET", path, &response) < 0)
		return;
	text = response.status == 200 ? strndup(response.body, response.length)
				      : NULL;
	http_response_fini(&response);
	if (text != NULL && blame_exact_read(&v->of.exact, text) != 0)
		fprintf(stderr, "tailorctl: the latencies of all requests "
				"cannot be read\n");
	free(text);
}

int
blame_tables_read(struct view *v)
{
	const struct ctl_options *o = v->options;
	int64_t length_ns = period_ns(o);
	int err = 0;

	if (o->against_ns > 0)
		err = period_read(
		    o, &v->of.then, length_ns, o->until_ns + o->against_ns);
	if (err == 0)
		err = period_read(o, &v->of.rows, length_ns, o->until_ns);
	if (err == 0)
		exact_get(v, length_ns);
	return err;
}

int
blame_tables_print(const struct ctl_options *o)
{
	int64_t length_ns = period_ns(o);
	char *text = accounts_get(
	    o, length_ns > 0 ? o->until_ns + length_ns : 0, o->until_ns);

	if (text == NULL)
		return STATUS_NO;
	plain_write(stdout, text, strlen(text));
	free(text);
	return STATUS_OK;
}
