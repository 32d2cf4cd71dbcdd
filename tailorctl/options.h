/* options.h: the command line of tailorctl. */
#pragma once

#include "base/command_line.h"

/* Exit statuses. */
enum {
	STATUS_OK = 0,
	STATUS_NO = 1,	  /* no tailor, or it refused */
	STATUS_USAGE = 2, /* the command line is wrong */
};

/* Commands: name, argument, the argument's values (NULL: none), summary. */
#define COMMANDS(X)                                                          \
	X(servers, "", NULL, "show the servers, their state and latencies")  \
	X(requests, "", NULL, "show requests in flight, oldest first")       \
	X(slow, "", NULL, "show slow requests and their causes")             \
	X(why, "[ID]", "@ID",                                                \
	    "explain where a request's time went, or the slowest's")         \
	X(blame, "", NULL, "show what a route's p99 consists of")            \
	X(top, "", NULL, "show what costs most time, updated")               \
	X(log, "", NULL, "follow events or requests as they happen")         \
	X(live, "", NULL, "show the address of the live page for a browser") \
	X(borrow, "", NULL, "show what is lent to whom, and what it costs")  \
	X(hold, "JOB", "@JOB", "stop what `tailor borrow` runs")             \
	X(gain, "", NULL, "show what acting gains and costs, or would")      \
	X(metrics, "[NAME]", "@NAME", "print metrics, or their rates")       \
	X(info, "", NULL, "show version, placement and listeners")           \
	X(drain, "SERVER", "@SERVER", "take a server out of service")        \
	X(undrain, "SERVER", "@SERVER", "return it to service")              \
	X(restart, "SERVER", "@SERVER",                                      \
	    "drain it, restart its program, return it")                      \
	X(deploy, "", NULL, "restart both servers, one after the other")     \
	X(switch, "", NULL, "make the backup active, if it is ready")        \
	X(reload, "", NULL, "read the configuration again")                  \
	X(probe, "", NULL, "show which signals this machine offers")         \
	X(completion, "SHELL", "bash zsh fish",                              \
	    "print a script for bash, zsh or fish")

enum ctl_command {
#define OPTIONS_X(name, argument, values, summary) COMMAND_##name,
	COMMANDS(OPTIONS_X)
#undef OPTIONS_X
	    COMMAND_COUNT
};

/* Groupings of top. */
enum top_kind { TOP_CAUSE, TOP_PATH, TOP_LATENCY, TOP_CPU, TOP_WAKER };
#define TOP_KINDS "cause path latency cpu waker"

struct ctl_options {
	enum ctl_command command;
	const char *argument; /* borrowed from argv; NULL: not given */
	const char *admin;    /* borrowed; NULL: see find_tailor */
	const char *stream;   /* borrowed; NULL: as the daemon reports */
	bool json;
	bool once;
	bool rates;
	bool dump;
	bool pin, list, all;
	bool force;
	bool resume;
	bool requests;
	enum top_kind by;
	const char *query;	/* borrowed; NULL: everything */
	const char *cause;	/* borrowed; NULL: any */
	const char *path;	/* borrowed; NULL: any */
	const char *sort;	/* borrowed; NULL: by time */
	const char *output;	/* borrowed; NULL: standard output */
	const char *percentile; /* borrowed; NULL: 99 */
	const char *route;	/* borrowed; NULL: the busiest ones */
	const char *without;	/* borrowed; codes with commas; or NULL */
	const char *file;	/* borrowed; NULL: ask the running tailor */
	bool impact, accounts;
	int64_t against_ns; /* 0: not compared */
	int64_t until_ns;   /* 0: until now */
	const char *format; /* static: "html", ...; NULL: text or JSON */
	int64_t since_ns;   /* 0: any time */
	int64_t count;	    /* most rows; 0: 20, of log no limit */
	const char *with;   /* borrowed; NULL: Tailor restarts its program */
	int64_t hold_ns;    /* of deploy */
	int64_t interval_ns;
	int64_t timeout_ns;
};

/* Parse.  0; 1 after printing help or the version; or -EINVAL after a message.
 * *out borrows from argv. */
int options_parse(struct ctl_options *out, int argc, char **argv);

/* Print the completion script for that shell; false: there is none. */
bool options_completion(const char *shell);

/* Run one command and return its exit status.  Output goes to standard output,
 * errors to standard error, both within 80 columns. */
#define COMMANDS_X(name, argument, values, summary) \
	int command_##name(const struct ctl_options *options);
COMMANDS(COMMANDS_X)
#undef COMMANDS_X

/* Print the words that the running tailor has for "@WHAT" (completion.c).
 *   selected  the argument of --admin, or NULL */
void
completion_words(const char *what, const char *selected, const char *typed);

/* Print the numbers of jobs, of `tailor borrow`, that begin with typed
 * (borrow.c). */
void borrow_print_jobs(const char *typed);

/* Print the ledger of GET /ledger (ledger.c). */
struct cJSON;
void ledger_show(const struct cJSON *tree);

/* "log --list": print the events of the stream (events.c).  The exit status. */
int events_list(const struct ctl_options *options);

/* reports.c: describe what a drain or restart waits for: "3 requests, 1
 * WebSocket, cut in 48s; oldest 12s: GET /x", without control characters and
 * cut to fit a line; "" if it waits for nothing.
 *   waits  the object "waits" of /servers, or NULL
 * The result is static, as plain_cell()'s, and shorter than WAITS_BYTES. */
#define WAITS_BYTES 260
const char *waits_text(const struct cJSON *waits);
