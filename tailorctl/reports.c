/* reports.c: commands that send one request and show the response.
 *
 * With --json a valid JSON response is printed unchanged; otherwise it becomes
 * a table or a few lines. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/terminal.h"
#include "base/text.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"

#define INDENT 4
#define SLOWEST_NS (600 * NS_PER_S) /* period of "why" without an id */
#define WHY_LINES 18		    /* of text, before what --all adds */
#define WHY_PARTS 3 /* paragraphs: verdict, request, where the time went */

/* Return a latency; -1 for 0, which a server without requests has. */
static int64_t
latency_ns(const cJSON *server, const char *key)
{
	int64_t ns = field_number(server, key, -1);

	return ns > 0 ? ns : -1;
}

/* Return a text, or missing if there is none. */
static const char *
text_of(const cJSON *object, const char *key, const char *missing)
{
	const char *text = field_text(object, key);

	return text != NULL ? text : missing;
}

/* Write a list as "gc,exit", or "-" if it is empty. */
static void
join(const cJSON *list, char *out, size_t size)
{
	const cJSON *one;

	out[0] = '\0';
	cJSON_ArrayForEach(one, list)
	{
		const char *text = cJSON_GetStringValue(one);

		if (text != NULL)
			text_append(out, size, "%s%.40s",
			    *out != '\0' ? "," : "", text);
	}
	if (*out == '\0')
		text_append(out, size, "-");
}

/* Return the colour of a state: ready is good, down is bad, others are
 * temporary. */
static enum terminal_colour
state_colour(const char *state)
{
	if (state == NULL || strcmp(state, "ready") == 0)
		return TERMINAL_GREEN;
	return strcmp(state, "down") == 0 ? TERMINAL_RED : TERMINAL_YELLOW;
}

/* Print a server's phase, how full its heap is and when the next swap is due;
 * or what steering lacks. */
static void
show_steering(const cJSON *steer)
{
	const char *missing = field_text(steer, "missing");
	double used = field_double(steer, "used", -1);
	int64_t left_ns = field_number(steer, "swap_in_ns", -1);
	char text[64] = "";

	if (steer == NULL)
		return;
	if (missing != NULL && *missing != '\0') {
		plain_print(INDENT, "not steered: %.200s", missing);
		return;
	}
	if (used >= 0)
		text_append(text, sizeof(text), ", %.0f %% full",
		    fmin(999, used * 100));
	if (left_ns >= 0)
		text_append(text, sizeof(text), ", next swap in about %s",
		    plain_duration(left_ns));
	plain_print(
	    INDENT, "steered: %.20s%s", text_of(steer, "phase", "-"), text);
}

/* Print the source, "hsperfdata of OpenJDK 17", without naming it twice. */
static void
show_source(const cJSON *s)
{
	const char *source = text_of(s, "source", "-");
	const char *detail = text_of(s, "detail", "");
	const char *between = *detail != '\0' ? ": " : "";

	if (strcmp(source, "pidfd") == 0)
		source = "not visible";
	else if (strncmp(detail, source, strlen(source)) == 0)
		source = between = "";
	plain_print(INDENT, "pauses: %.20s%s%.400s", source, between, detail);
}

/* Print further lines of a server: its process, and how its pauses are seen. */
static void
show_server_details(const cJSON *s)
{
	const cJSON *kept = field_list(s, "connections");
	const char *health = text_of(field_list(s, "health"), "detail", "");
	const char *name = text_of(s, "program", "");
	int64_t processes = field_number(s, "processes", 0);
	const char *waits = waits_text(field_list(s, "waits"));
	char program[64] = "";

	if (*name != '\0' && processes > 1)
		snprintf(program, sizeof(program), " (%.15s, %lld processes)",
		    name, (long long)processes);
	else if (*name != '\0')
		snprintf(program, sizeof(program), " (%.15s)", name);
	plain_print(INDENT, "%.100s, pid %lld%s", text_of(s, "address", "-"),
	    field_number(s, "pid", 0), program);
	show_source(s);
	if (*health != '\0')
		plain_print(INDENT, "health: %.480s", health);
	show_steering(field_list(s, "steer"));
	printf("    connections: %lld idle, %lld busy, %lld draining; "
	       "%lld restarts, %lld errors\n",
	    field_number(kept, "idle", 0), field_number(kept, "busy", 0),
	    field_number(s, "draining", 0), field_number(s, "restarts", 0),
	    field_number(s, "errors", 0));
	if (field_number(s, "quick_ends", 0) > 1)
		printf("    ended %lld times soon after a start: %s\n",
		    field_number(s, "quick_ends", 0),
		    plain_cell(field_text(s, "last_end"), 20));
	if (strcmp(text_of(s, "state", ""), "warming") == 0)
		printf("    warms up with copies of requests, %lld so far\n",
		    field_number(s, "warmups", 0));
	if (*waits != '\0')
		printf("    waits for %s\n", waits);
}

/* Return the width of names and hazards; other columns are fixed. */
static unsigned
name_columns(void)
{
	return 12 + (plain_spare() < 40 ? plain_spare() / 2 : 20);
}

static void
show_server(const cJSON *s)
{
	const char *state = field_text(s, "state");
	double errors_per_s = field_double(s, "errors_per_s", 0);
	char text[512];

	join(field_list(s, "pauses"), text, sizeof(text));
	printf("%c ", field_true(s, "active") ? '*' : ' ');
	plain_print_cell(field_text(s, "name"), name_columns(), TERMINAL_BOLD);
	plain_print_cell(state, 10, state_colour(state));
	plain_print_cell(text, name_columns(),
	    *text != '-' ? TERMINAL_YELLOW : TERMINAL_PLAIN);
	printf("%8s %s%8s%s %7lld %7s %7s\n",
	    plain_rate(field_double(s, "responses_per_s", 0)),
	    plain_escape(errors_per_s > 0 ? TERMINAL_RED : TERMINAL_PLAIN),
	    plain_rate(errors_per_s), plain_escape(TERMINAL_PLAIN),
	    field_number(s, "inflight", 0),
	    plain_duration(latency_ns(s, "p50_ns")),
	    plain_duration(latency_ns(s, "p95_ns")));
	show_server_details(s);
}

/* True if a server lacks exactly this, for this reason. */
static bool
misses_it(const cJSON *server, const cJSON *it)
{
	const cJSON *one;
	bool found = false;

	cJSON_ArrayForEach(one, field_list(server, "misses"))
	{
		found |= cJSON_Compare(one, it, true);
	}
	return found;
}

/* Print a line for what one server lacks, with the names of all that lack it;
 * nothing if an earlier one had it. */
static void
show_miss(const cJSON *servers, const cJSON *server, const cJSON *it)
{
	const char *fix = text_of(it, "do", "");
	char names[128] = "";
	const cJSON *one;

	cJSON_ArrayForEach(one, servers)
	{
		if (!misses_it(one, it))
			continue;
		if (*names == '\0' && one != server)
			return;
		text_append(names, sizeof(names), "%s%.40s",
		    *names != '\0' ? ", " : "", text_of(one, "name", "-"));
	}
	plain_print(0, "not seen of %s: %.60s: %.250s%s%.250s", names,
	    text_of(it, "signals", "-"), text_of(it, "why", "-"),
	    *fix != '\0' ? "; do: " : "", fix);
}

static void
show_servers(const cJSON *tree)
{
	int columns = (int)name_columns();
	const cJSON *s, *it;

	printf("mode %s\n", plain_cell(field_text(tree, "mode"), 20));
	printf("%s  %-*s %-10s %-*s %8s %8s %7s %7s %7s%s\n",
	    plain_escape(TERMINAL_BOLD), columns, "SERVER", "STATE", columns,
	    "PAUSES", "RATE/s", "ERRORS/s", "FLIGHT", "P50", "P95",
	    plain_escape(TERMINAL_PLAIN));
	cJSON_ArrayForEach(s, field_list(tree, "servers")) show_server(s);
	cJSON_ArrayForEach(s, field_list(tree, "servers"))
	{
		cJSON_ArrayForEach(it, field_list(s, "misses"))
		{
			show_miss(field_list(tree, "servers"), s, it);
		}
	}
}

int
command_servers(const struct ctl_options *options)
{
	int status = admin_report(options, "GET", "/servers", show_servers);
	struct http_response a;

	/* For health checks: the status also says that requests are served. */
	if (status != STATUS_OK ||
	    admin_request(options, "GET", "/readyz", &a) < 0)
		return STATUS_NO;
	if (a.status == 503) {
		admin_response_complain(&a);
		status = STATUS_NO;
	}
	http_response_fini(&a);
	return status;
}

static void
show_request(const cJSON *r)
{
	char servers[128];

	join(field_list(r, "servers"), servers, sizeof(servers));
	printf("%-17s %7s %-9s %-14s %s %s\n",
	    plain_cell(field_text(r, "id"), 17),
	    plain_duration(field_number(r, "age_ns", -1)),
	    plain_cell(field_text(r, "state"), 9), plain_cell(servers, 14),
	    plain_cell(field_text(r, "method"), 7),
	    plain_cell(field_text(r, "target"), 20 + plain_spare()));
}

static void
show_requests(const cJSON *tree)
{
	const cJSON *r;

	printf("%lld in flight, %lld of them wait for a server\n",
	    field_number(tree, "inflight", 0), field_number(tree, "queued", 0));
	if (cJSON_GetArraySize(field_list(tree, "requests")) == 0)
		return;
	plain_head(
	    "ID                    AGE STATE     SERVERS        REQUEST");
	cJSON_ArrayForEach(r, field_list(tree, "requests")) show_request(r);
}

int
command_requests(const struct ctl_options *options)
{
	char target[64];

	snprintf(target, sizeof(target), "/requests?n=%lld",
	    (long long)(options->count != 0 ? options->count : 20));
	return admin_report(options, "GET", target, show_requests);
}

/* Write a time as "10:15:03" if today, else as "11-20 10:15". */
static const char *
short_time(const cJSON *one, char out[32])
{
	const char *when = text_of(one, "finished", "");
	time_t now = time(NULL);
	char today[16];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(today, sizeof(today), "%Y-%m-%d", &tm);
	if (strlen(when) < 19)
		return "-";
	if (strncmp(when, today, 10) == 0)
		snprintf(out, 32, "%.8s", when + 11);
	else
		snprintf(out, 32, "%.5s %.5s", when + 5, when + 11);
	return out;
}

/* How a request ended, "SH"; "": normally. */
static const char *
failed_code(const cJSON *one)
{
	const char *ended = text_of(one, "termination", "--");

	return strcmp(ended, "--") != 0 ? ended : "";
}

/* Print why a request is in the list: "slower than the target (now 20.0ms)". */
static void
show_reason(const cJSON *one, int64_t target_ns)
{
	static const char *const reasons[][2] = {
	    {"slowest", "among the slowest of its minute"},
	    {"failed", "failed, and quicker than the target"},
	    {"pinned", "pinned"},
	    {"asked", "its client had it analyzed"},
	};
	const char *code = text_of(one, "reason", "");
	const char *ended = failed_code(one);
	int status = (int)field_number(one, "status", 0);
	char text[200];

	snprintf(text, sizeof(text), "slower than the target (now %s)",
	    plain_duration(target_ns));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(code, reasons[i][0]) == 0)
			snprintf(text, sizeof(text), "%s", reasons[i][1]);
	if (status >= 500)
		text_append(text, sizeof(text), ", error %d", status);
	if (ended[0] != '\0')
		text_append(
		    text, sizeof(text), ", ended %s", plain_cell(ended, 2));
	if (field_number(one, "attempts", 1) > 1)
		text_append(text, sizeof(text), ", sent again (%s)",
		    plain_cell(field_text(one, "trigger"), 15));
	printf("    listed: ");
	plain_wrap(stdout, text, 12);
}

/* Return the colour of a cause: dim if unknown. */
static enum terminal_colour
cause_colour(const char *cause)
{
	return cause == NULL || strcmp(cause, "unknown") == 0 ? TERMINAL_DIM
							      : TERMINAL_YELLOW;
}

/* A request in the column of causes. */
static const char *
cause_or_missing(const cJSON *one)
{
	return field_text(one, "missing") != NULL ? "no timeline"
						  : field_text(one, "cause");
}

/* Show a request in a line. */
static void
show_slow_line(const cJSON *one)
{
	long long status = field_number(one, "status", 0);
	const char *id = plain_cell(field_text(one, "id"), 40);
	const char *cause = cause_or_missing(one);
	char at[32], text[512];
	int rest;

	plain_print_cell(short_time(one, at), 11, TERMINAL_PLAIN);
	printf("%s%7s%s ", plain_escape(TERMINAL_BOLD),
	    plain_duration(field_number(one, "total_ns", -1)),
	    plain_escape(TERMINAL_PLAIN));
	plain_print_cell(cause, 14, cause_colour(cause));
	printf("%s%3lld %-2s%s ",
	    plain_escape(status >= 500 ? TERMINAL_RED : TERMINAL_PLAIN), status,
	    plain_cell(failed_code(one), 2), plain_escape(TERMINAL_PLAIN));
	rest = (int)(80 + plain_spare()) - 42 - printf("%-16s ", id);
	snprintf(text, sizeof(text), "%.16s %.300s",
	    text_of(one, "method", "-"), text_of(one, "target", "-"));
	printf("%s\n", plain_cell(text, rest > 8 ? (unsigned)rest : 8));
}

/* Show a request in a paragraph. */
static void
show_slow_one(const cJSON *one, int64_t target_ns)
{
	const char *verdict = text_of(one, "verdict", "");
	const char *cause = cause_or_missing(one);
	long long status = field_number(one, "status", 0);
	char at[32], text[512];

	snprintf(text, sizeof(text), "%.16s %.300s",
	    text_of(one, "method", "-"), text_of(one, "target", "-"));
	plain_print_cell(short_time(one, at), 11, TERMINAL_PLAIN);
	printf("%s%7s%s ", plain_escape(TERMINAL_BOLD),
	    plain_duration(field_number(one, "total_ns", -1)),
	    plain_escape(TERMINAL_PLAIN));
	plain_print_cell(cause, 14, cause_colour(cause));
	plain_print_cell(field_text(one, "winner"), 9, TERMINAL_PLAIN);
	printf("%s%3lld%s %s\n",
	    plain_escape(status >= 500 ? TERMINAL_RED : TERMINAL_PLAIN), status,
	    plain_escape(TERMINAL_PLAIN), plain_cell(text, 31 + plain_spare()));
	if (verdict[0] != '\0')
		plain_print(INDENT, "%.500s", verdict);
	show_reason(one, target_ns);
	printf("    why %s%s\n", plain_cell(field_text(one, "id"), 55),
	    field_true(one, "earlier_boot") ? " (earlier boot)" : "");
}

/* Show how many slow requests have no timeline, and why; and how many are still
 * to be examined. */
static void
show_left_out(const cJSON *tree)
{
	long long waiting = field_number(tree, "waiting", 0);
	const cJSON *one;

	if (field_number(tree, "left_out", 0) > 0)
		printf("%lld of %lld slow requests have no timeline "
		       "(tailorctl why ID makes that of a\nrecent one); "
		       "the latest are listed:\n",
		    field_number(tree, "left_out", 0),
		    field_number(tree, "slow_requests", 0));
	cJSON_ArrayForEach(one, field_list(tree, "missing"))
	{
		printf("%7lld  %s\n", field_number(one, "requests", 0),
		    plain_cell(field_text(one, "why"), 70));
	}
	if (waiting > 0)
		printf("%lld requests wait to be examined: list again in a "
		       "moment.\n",
		    waiting);
}

/* True if options of "slow" select only some of the kept requests; if it
 * prints all of each. */
static bool slow_chosen, slow_all;

static void
show_slow(const cJSON *tree)
{
	int64_t target_ns = field_number(tree, "target_ns", -1);
	const cJSON *one;

	plain_head(slow_all ? "FINISHED      TOTAL CAUSE          SERVER"
			      "        REQUEST"
			    : "FINISHED      TOTAL CAUSE          END    "
			      "WHY ID           REQUEST");
	cJSON_ArrayForEach(one, field_list(tree, "slow"))
	{
		if (slow_all)
			show_slow_one(one, target_ns);
		else
			show_slow_line(one);
	}
	if (cJSON_GetArraySize(field_list(tree, "slow")) == 0)
		printf("%s. Tailor keeps requests slower than %s and the "
		       "slowest of each minute.\n",
		    slow_chosen ? "No kept request matches" : "None yet",
		    plain_duration(target_ns));
	show_left_out(tree);
}

int
command_slow(const struct ctl_options *options)
{
	char target[1200], part[300];

	snprintf(target, sizeof(target), "/slow?n=%lld",
	    (long long)(options->count != 0 ? options->count : 20));
	slow_all = options->all;
	slow_chosen = options->since_ns > 0 || options->cause != NULL ||
		      options->path != NULL;
	if (options->since_ns > 0)
		text_append(target, sizeof(target), "&since=%lld",
		    (long long)(options->since_ns / NS_PER_S));
	if (options->cause != NULL)
		text_append(target, sizeof(target), "&cause=%s",
		    admin_escape(options->cause, part, sizeof(part)));
	if (options->path != NULL)
		text_append(target, sizeof(target), "&path=%s",
		    admin_escape(options->path, part, sizeof(part)));
	if (options->sort != NULL)
		text_append(target, sizeof(target), "&sort=%s", options->sort);
	return admin_report(options, "GET", target, show_slow);
}

/* Print a number or word of a JSON response from column indent on, and a
 * newline. */
static void
print_value(const cJSON *item, unsigned indent)
{
	const char *text = cJSON_GetStringValue(item);
	char *printed;

	if (text != NULL) {
		plain_wrap(stdout, text, indent);
		return;
	}
	printed = cJSON_PrintUnformatted(item);
	plain_wrap(stdout, printed != NULL ? printed : "?", indent);
	free(printed);
}

/* Print members as "name: value" lines, inner ones indented; an object in a
 * list begins with a dash. */
static void
show_members(const cJSON *tree, int indent, bool listed)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, tree)
	{
		bool dash = listed && item == tree->child;
		int column;

		if (cJSON_IsObject(item) && item->string == NULL) {
			if (indent < 20)
				show_members(item, indent + 2, true);
			continue;
		}
		column = printf("%*s%s%s", dash ? indent - 2 : indent, "",
		    dash ? "- " : "",
		    item->string != NULL ? plain_cell(item->string, 40) : "-");
		if (cJSON_IsObject(item) || cJSON_IsArray(item)) {
			putchar('\n');
			if (indent < 16)
				show_members(item, indent + 4, false);
			continue;
		}
		column += printf("%s ", item->string != NULL ? ":" : "");
		print_value(item, (unsigned)column);
	}
}

static void
show_info(const cJSON *tree)
{
	show_members(tree, 0, false);
}

int
command_info(const struct ctl_options *options)
{
	return admin_report(options, "GET", "/info", show_info);
}

/* Write a body to a file; 0 or -1 after a message. */
static int
save(const struct http_response *a, const char *path)
{
	FILE *f = fopen(path, "we");
	bool ok = f != NULL && fwrite(a->body, 1, a->length, f) == a->length;

	if (f != NULL && fclose(f) != 0)
		ok = false;
	if (!ok)
		fprintf(stderr, "tailorctl: %s: %s\n", path, strerror(errno));
	return ok ? 0 : -1;
}

/* Get the id of the slowest kept request that finished within since_ns (0: any
 * time), a string that the caller frees, or NULL: there is none.  False: no
 * response. */
static bool
slowest_of(const struct ctl_options *options, int64_t since_ns, char **id)
{
	/* 256 of them may have no timeline. */
	char target[64] = "/slow?n=300&sort=total";
	const char *found = NULL;
	const cJSON *one;
	cJSON *tree;

	if (since_ns > 0)
		text_append(target, sizeof(target), "&since=%lld",
		    (long long)(since_ns / NS_PER_S));
	tree = admin_json(options, target);
	if (tree == NULL)
		return false;
	cJSON_ArrayForEach(one, field_list(tree, "slow"))
	{
		if (found == NULL && field_text(one, "missing") == NULL)
			found = field_text(one, "id");
	}
	*id = found != NULL ? strdup(found) : NULL;
	cJSON_Delete(tree);
	return true;
}

/* Return the id of the request to explain if the command names none; the caller
 * frees it.  NULL after a message. */
static char *
slowest(const struct ctl_options *options)
{
	int64_t since_ns =
	    options->since_ns > 0 ? options->since_ns : SLOWEST_NS;
	char *id = NULL;

	if (!slowest_of(options, since_ns, &id))
		return NULL;
	if (id == NULL && options->since_ns == 0 &&
	    !slowest_of(options, 0, &id))
		return NULL;
	if (id == NULL)
		fprintf(stderr, "tailorctl: no slow request is kept%s\n",
		    options->since_ns > 0 ? " from that time" : " yet");
	else
		fprintf(
		    stderr, "slowest kept request: %s\n", plain_cell(id, 57));
	return id;
}

/* Print what is said of a request through a pager, if that is a terminal. */
static void
page(const struct http_response *a)
{
	FILE *out = NULL;

	if (isatty(STDOUT_FILENO))
		out = popen("${PAGER:-less -FRX} || cat", "w");
	plain_write(out != NULL ? out : stdout, a->body, a->length);
	if (out != NULL)
		pclose(out);
}

/* Print the first lines of what is said of a request: the verdict, what the
 * request was and where its time went. */
static void
print_first(const struct http_response *a)
{
	const char *at = a->body, *end = a->body + a->length, *eol;
	unsigned lines = 0, parts = 0;

	while (at < end && lines < WHY_LINES && parts < WHY_PARTS) {
		eol = memchr(at, '\n', (size_t)(end - at));
		parts += eol == at;
		lines++;
		at = eol != NULL ? eol + 1 : end;
	}
	plain_write(stdout, a->body, (size_t)(at - a->body));
	if (at < end)
		printf("%sMore: --all (picture, threads, events), or -o "
		       "why.html\n",
		    parts == WHY_PARTS ? "" : "...\n");
}

/* "why --pin": keep the timeline of the request with that escaped id. */
static bool
pin(const struct ctl_options *options, const char *id)
{
	char target[600];
	struct http_response a;

	snprintf(target, sizeof(target), "/pin?id=%s", id);
	if (admin_request_ok(options, "POST", target, &a) < 0)
		return false;
	http_response_fini(&a);
	return true;
}

int
command_why(const struct ctl_options *options)
{
	const char *format = options->json ? "json" : options->format;
	char id[512], target[600], *found = NULL;
	struct http_response a;
	int err = 0;

	if (options->argument == NULL) {
		found = slowest(options);
		if (found == NULL)
			return STATUS_NO;
	}
	admin_escape(found != NULL ? found : options->argument, id, sizeof(id));
	free(found);
	if (options->pin && !pin(options, id))
		return STATUS_NO;
	snprintf(target, sizeof(target), "/timeline/%s%s%s", id,
	    format != NULL ? "?format=" : "", format != NULL ? format : "");
	if (admin_request(options, "GET", target, &a) < 0)
		return STATUS_NO;
	if (a.status != 200) {
		admin_response_complain(&a);
		if (a.status == 404)
			fprintf(stderr,
			    "\"tailorctl slow\" lists the "
			    "requests that are kept, and the slow\n"
			    "ones that are not, with the reason; "
			    "without an id, why takes the\nslowest. "
			    "A client's own id is accepted only from "
			    "those that\nproxy.trusted_proxies or "
			    "talechain.allow names.\n");
		http_response_fini(&a);
		return STATUS_NO;
	}
	if (options->output != NULL)
		err = save(&a, options->output);
	else if (format != NULL)
		admin_response_print(&a);
	else if (options->all)
		page(&a);
	else
		print_first(&a);
	http_response_fini(&a);
	return err == 0 ? STATUS_OK : STATUS_NO;
}

static void
show_active(const cJSON *tree)
{
	printf("active: %s\n", plain_cell(field_text(tree, "active"), 70));
}

int
command_switch(const struct ctl_options *options)
{
	return admin_report(options, "POST", "/switch", show_active);
}

/* --- waiting -------------------------------------------------------------- */

static void
append_count(char *out, size_t size, int64_t n, const char *what)
{
	if (n > 0)
		text_append(out, size, "%s%lld %s%s", *out != '\0' ? ", " : "",
		    (long long)n, what, n == 1 ? "" : "s");
}

const char *
waits_text(const cJSON *waits)
{
	int64_t oldest_ns = field_number(waits, "oldest_ns", -1);
	int64_t cut_ns = field_number(waits, "cut_in_ns", -1);
	const char *method = field_text(waits, "method");
	const char *target = field_text(waits, "target");
	char text[512] = "";

	append_count(
	    text, sizeof(text), field_number(waits, "requests", 0), "request");
	append_count(
	    text, sizeof(text), field_number(waits, "tunnels", 0), "WebSocket");
	append_count(text, sizeof(text), field_number(waits, "losers", 0),
	    "beaten response");
	if (*text != '\0' && cut_ns >= 0)
		text_append(text, sizeof(text), ", cut in %llds",
		    (long long)(cut_ns / NS_PER_S));
	if (*text != '\0' && oldest_ns >= 0 && method != NULL && target != NULL)
		text_append(text, sizeof(text), "; oldest %llds: %s %.200s",
		    (long long)(oldest_ns / NS_PER_S), method, target);
	return plain_cell(text, 64);
}
