/* log.c: follow the timeline stream: all events, or finished requests.
 *
 * One event is one line, wrapped at the width of the output:
 *
 *	08:15:03.412345678 0 jvm_gc_begin cause=allocation count=3
 *	time of day        |  event        its arguments; zero ones are left out
 *	                   server, "-" if none
 *
 * With --requests, or a query about fields of requests, one line is one
 * finished request. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tailorctl/options.h"
#include "tailorctl/follow.h"
#include "base/terminal.h"
#include "tailorctl/query.h"
#include "talechain/events/events.h"
#include "talechain/events/termination.h"

#define INDENT 19

struct logger {
	struct follow follow;
	struct stream_requests *table; /* owned */
	const char *query;	       /* borrowed; NULL: everything */
	bool requests;
	int columns;
	uint64_t shown;
};

/* --- fields of a query --------------------------------------------------- */

static const char *const event_fields[] = {
    "event", "server", "pid", "tid", "cpu", "channel", "late", NULL};

static bool
listed(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static const uint16_t types[] = {
#define TYPES_X(symbol, number, name, a0, a1, a2, a3) number,
    TALECHAIN_EVENTS(TYPES_X)
#undef TYPES_X
};

/* True if some kind of event has an argument of that name. */
static bool
is_argument(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct talechain_event e = {.type = types[i]};
		struct talechain_value v;

		for (unsigned n = 0; talechain_argument(&e, n, &v); n++)
			if (strcmp(v.name, name) == 0)
				return true;
	}
	return false;
}

struct asked_event {
	const struct logger *logger;
	const struct timeline_slot *slot;
	char text[64];
};

/* Return the value of an argument, as text if its name has texts. */
static struct query_value
argument_value(const struct talechain_value *v, char text[64])
{
	if (strcmp(v->name, "request") == 0)
		snprintf(text, 64, "%016llx", (unsigned long long)v->value);
	else if (strcmp(v->name, "cause") == 0)
		snprintf(text, 64, "%s",
		    talechain_cause_name(v->value < UINT32_MAX
					     ? (unsigned)v->value
					     : UINT32_MAX));
	else if (strcmp(v->name, "termination") == 0)
		termination_text((unsigned)v->value, text);
	else
		return (struct query_value){
		    .kind = QUERY_NUMBER, .number = v->value};
	return (struct query_value){.kind = QUERY_TEXT, .text = text};
}

static struct query_value
event_lookup(const char *field, void *user)
{
	struct asked_event *a = user;
	const struct talechain_event *e = &a->slot->event;
	const char *type = talechain_type_name(e->type);
	struct query_value found = {.kind = QUERY_NUMBER, .text = a->text};
	struct talechain_value v;

	for (unsigned n = 0; talechain_argument(e, n, &v); n++)
		if (strcmp(v.name, field) == 0 && strcmp(field, "server") != 0)
			return argument_value(&v, a->text);
	if (strcmp(field, "event") == 0) {
		found.kind = QUERY_TEXT;
		found.text = type != NULL ? type : "unknown";
	} else if (strcmp(field, "server") == 0) {
		found.kind = QUERY_TEXT;
		stream_server_name(a->logger->table, a->slot->server, a->text);
	} else if (strcmp(field, "pid") == 0) {
		found.number = e->pid;
	} else if (strcmp(field, "tid") == 0) {
		found.number = e->tid;
	} else if (strcmp(field, "channel") == 0) {
		found.number = a->slot->channel;
	} else if (strcmp(field, "late") == 0 && a->slot->read_ns >= e->ts) {
		found.number = a->slot->read_ns - e->ts;
	} else if (strcmp(field, "cpu") == 0 && e->cpu != UINT32_MAX) {
		found.number = e->cpu;
	} else {
		found.kind = QUERY_MISSING;
	}
	return found;
}

static bool
is_of_events(const char *field)
{
	return listed(event_fields, field) || is_argument(field);
}

/* Lookup that finds the query's subject: requests, if it has a field that only
 * requests have. */
static struct query_value
find_subject(const char *field, void *user)
{
	struct logger *l = user;

	if (listed(stream_request_fields, field) && !is_of_events(field))
		l->requests = true;
	return (struct query_value){.kind = QUERY_MISSING};
}

/* True if the field is a time in ns. */
static bool
is_time(const char *field)
{
	static const char *const times[] = {
	    "total", "wait", "upstream", "send", "late", NULL};
	size_t n = strlen(field);

	return listed(times, field) ||
	       (n > 3 && strcmp(field + n - 3, "_ns") == 0);
}

/* Refuse a field that events, or requests, cannot have. */
static struct query_value
check_field(const char *field, void *user)
{
	const struct logger *l = user;
	bool fits = l->requests ? listed(stream_request_fields, field)
				: is_of_events(field);

	return (struct query_value){
	    .kind = fits ? QUERY_MISSING : QUERY_UNKNOWN,
	    .text = l->requests ? "requests have" : "events have",
	    .time = is_time(field)};
}

/* Check the query.  0, or -1 after a message. */
static int
query_open(struct logger *l, const struct ctl_options *o)
{
	struct query_error error;
	int indent;

	l->requests = o->requests;
	l->query = o->query;
	if (o->query == NULL ||
	    (query_match(o->query, find_subject, l, &error) >= 0 &&
		query_match(o->query, check_field, l, &error) >= 0))
		return 0;
	indent = fprintf(stderr, "tailorctl: -q, column %u: ", error.column);
	plain_wrap(stderr, error.text, (unsigned)indent);
	if (strlen(o->query) <= 70 && error.column <= 70 &&
	    strpbrk(o->query, "\n\t\033") == NULL)
		fprintf(stderr, "  %s\n  %*s\n", plain_cell(o->query, 70),
		    (int)error.column, "^");
	return -1;
}

/* --- showing -------------------------------------------------------------- */

/* Print a word, on the next line if it does not fit. */
static void
print_word(int *column, int columns, const char *word)
{
	if (*column + 1 + (int)strlen(word) > columns)
		*column = printf("\n%*s", INDENT + 2, "") - 1;
	*column += printf(" %s", word);
}

static void
print_event(const struct logger *l, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const char *type = talechain_type_name(e->type);
	char clock[FOLLOW_CLOCK], word[128], text[64];
	struct talechain_value v;
	int column = INDENT;

	printf("%s ", follow_clock(&l->follow, e->ts, clock));
	if (slot->server >= 0 && slot->server <= 9)
		column += printf("%d ", slot->server);
	else
		column += printf("- ");
	if (type != NULL)
		column += printf("%s", type);
	else
		column += printf("type_%04x", e->type);
	for (unsigned n = 0; talechain_argument(e, n, &v); n++) {
		struct query_value value = argument_value(&v, text);

		if (v.value == 0)
			continue;
		if (value.kind == QUERY_TEXT)
			snprintf(word, sizeof(word), "%s=%s", v.name, text);
		else
			snprintf(word, sizeof(word), "%s=%llu", v.name,
			    (unsigned long long)value.number);
		print_word(&column, l->columns, word);
	}
	putchar('\n');
}

static void
write_event(struct json *j, const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;
	const char *type = talechain_type_name(e->type);
	struct talechain_value v;

	json_key_uint(j, "ts", e->ts);
	json_key_uint(j, "read_ns", slot->read_ns);
	json_key_int(j, "server", slot->server);
	json_key_uint(j, "channel", slot->channel);
	json_key_uint(j, "seq", e->seq);
	json_key_uint(j, "pid", e->pid);
	json_key_uint(j, "tid", e->tid);
	if (e->cpu != UINT32_MAX)
		json_key_uint(j, "cpu", e->cpu);
	json_key_uint(j, "type", e->type);
	if (type != NULL)
		json_key_string(j, "event", type);
	for (unsigned n = 0; talechain_argument(e, n, &v); n++)
		json_key_uint(j, v.name, v.value);
}

static void
print_request(const struct logger *l, const struct stream_request *r)
{
	char clock[FOLLOW_CLOCK], name[STREAM_NAME], ended[TERMINATION_TEXT];

	printf("%s %016llx %7s %3llu %s %-12s %9lluB %llu%s\n",
	    follow_clock(&l->follow, r->finished_ns, clock),
	    (unsigned long long)r->id,
	    plain_duration(r->began ? (int64_t)stream_request_total_ns(r) : -1),
	    (unsigned long long)r->status,
	    termination_text(r->termination, ended),
	    plain_cell(stream_server_name(l->table, r->server, name), 12),
	    (unsigned long long)r->bytes, (unsigned long long)r->attempts,
	    r->attempts > 1 ? " hedged" : "");
}

static void
write_request(
    struct json *j, const struct logger *l, const struct stream_request *r)
{
	struct stream_request_query asked = {.table = l->table, .request = r};

	for (const char *const *field = stream_request_fields; *field != NULL;
	     field++) {
		struct query_value v = stream_request_lookup(*field, &asked);

		if (v.kind == QUERY_NUMBER)
			json_key_uint(j, *field, v.number);
		else if (v.kind == QUERY_TEXT)
			json_key_string(j, *field, v.text);
	}
	json_key_uint(j, "finished_ns", r->finished_ns);
}

static int
show_event(struct logger *l, const struct timeline_slot *slot)
{
	struct asked_event asked = {.logger = l, .slot = slot};
	struct query_error error;
	struct json j;

	if (l->query != NULL &&
	    query_match(l->query, event_lookup, &asked, &error) <= 0)
		return 0;
	l->shown++;
	if (!l->follow.options->json) {
		print_event(l, slot);
		return 0;
	}
	plain_json_begin(&j);
	write_event(&j, slot);
	return plain_json_end(&j);
}

static int
show_request(struct logger *l, const struct timeline_slot *slot)
{
	struct stream_request r;
	struct stream_request_query asked = {.table = l->table, .request = &r};
	struct query_error error;
	struct json j;

	if (!stream_requests_take(l->table, slot, &r) ||
	    (l->query != NULL && query_match(l->query, stream_request_lookup,
				     &asked, &error) <= 0))
		return 0;
	l->shown++;
	if (!l->follow.options->json) {
		print_request(l, &r);
		return 0;
	}
	plain_json_begin(&j);
	write_request(&j, l, &r);
	return plain_json_end(&j);
}

static int
show_lost(const struct logger *l, uint64_t lost)
{
	struct json j;

	if (!l->follow.options->json) {
		printf("-- missed: %llu events were overwritten unread\n",
		    (unsigned long long)lost);
		return 0;
	}
	plain_json_begin(&j);
	json_key_uint(&j, "missed", lost);
	return plain_json_end(&j);
}

/* Print until the end of the stream or a signal; returns the exit status. */
static int
run(struct logger *l)
{
	const struct ctl_options *o = l->follow.options;
	struct timeline_slot slot;
	uint64_t lost;
	int err = 0;

	while (err == 0 && !ferror(stdout) &&
	       (o->count == 0 || l->shown < (uint64_t)o->count)) {
		switch (follow_next(&l->follow, &slot, &lost)) {
		case FOLLOW_SLOT:
			err = l->requests ? show_request(l, &slot)
					  : show_event(l, &slot);
			break;
		case FOLLOW_LOST:
			err = show_lost(l, lost);
			break;
		case FOLLOW_IDLE:
			err = fflush(stdout) != 0 ? -EIO : 0;
			break;
		case FOLLOW_END:
			return STATUS_OK;
		case FOLLOW_GONE:
			return STATUS_NO;
		}
	}
	return err == 0 && !ferror(stdout) ? STATUS_OK : STATUS_NO;
}

int
command_log(const struct ctl_options *options)
{
	struct logger l = {.columns = (int)terminal_columns(stdout)};
	int status = STATUS_USAGE;

	if (options->list)
		return events_list(options);
	l.table = calloc(1, sizeof(*l.table));
	if (l.table == NULL || query_open(&l, options) < 0)
		goto free_table;
	status = STATUS_NO;
	if (follow_open(&l.follow, options) < 0)
		goto free_table;
	if (l.query != NULL || l.requests)
		follow_names(options, l.table);
	status = run(&l);
	if (fflush(stdout) != 0)
		status = STATUS_NO;
	fprintf(stderr, "%llu %s%s, %llu missed\n", (unsigned long long)l.shown,
	    l.requests ? "request" : "event", l.shown == 1 ? "" : "s",
	    (unsigned long long)l.follow.lost);
	follow_close(&l.follow);

free_table:
	free(l.table);
	return status;
}
