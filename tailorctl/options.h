/* options.h: the command line of tailorctl, from two tables.
 *
 * Parsing, --help and the completion script are made from one table of commands
 * and one of options, so they agree. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses. */
enum {
	STATUS_OK = 0,
	STATUS_NO = 1,	  /* no tailor, or it refused */
	STATUS_USAGE = 2, /* the command line is wrong */
};

/* Commands: name, its options (letters; a, j, t, h and V apply to all), its
 * argument ("" none; [X] optional), summary. */
#define COMMANDS(X)                                                           \
	X(servers, "", "", "show the servers, their state and latencies")     \
	X(requests, "n", "", "show requests in flight, oldest first")         \
	X(slow, "nwcpx", "", "show slow requests and their causes")           \
	X(why, "HSCow", "[ID]",                                               \
	    "explain where a request's time went, or the slowest's")          \
	X(blame, "PRWGFIXwUHo", "", "show what a route's p99 consists of")    \
	X(pin, "", "ID", "keep the timeline of a request")                    \
	X(top, "bwnids1", "", "show what costs most time, updated")           \
	X(hist, "ids1", "", "show a live histogram of latencies")             \
	X(stat, "1iA", "[NAME]", "show counters and their rates")             \
	X(log, "qrkds", "", "follow events or requests as they happen")       \
	X(events, "", "", "list event types and their arguments")             \
	X(live, "", "", "show the address of the live page for a browser")    \
	X(ledger, "", "", "show the cost and benefit of hedging")             \
	X(gain, "", "", "show what acting would change, in watch mode")       \
	X(metrics, "", "", "print all metrics in Prometheus' format")         \
	X(info, "", "", "show version, placement and listeners")              \
	X(ready, "", "[SERVER]",                                              \
	    "return it to service; without: is one ready?")                   \
	X(drain, "f", "SERVER", "take a server out of service")               \
	X(restart, "f", "SERVER", "drain it, restart its program, return it") \
	X(switch, "", "", "make the standby active, if it is ready")          \
	X(reload, "", "", "read the configuration again")                     \
	X(probe, "", "", "show which signals this machine offers")            \
	X(completion, "", "SHELL", "print a script for bash, zsh or fish")

enum command {
#define OPTIONS_X(name, letters, argument, summary) COMMAND_##name,
	COMMANDS(OPTIONS_X)
#undef OPTIONS_X
	    COMMAND_COUNT
};

/* Groupings of top: symbol, word. */
#define TOP_KINDS(X)      \
	X(CAUSE, "cause") \
	X(PATH, "path")   \
	X(CPU, "cpu")     \
	X(WAKER, "waker")

enum top_kind {
#define OPTIONS_X(symbol, word) TOP_##symbol,
	TOP_KINDS(OPTIONS_X)
#undef OPTIONS_X
};

struct options {
	enum command command;
	const char *argument; /* borrowed from argv; NULL: not given */
	const char *admin;    /* borrowed; NULL: see find.h */
	const char *stream;   /* borrowed; NULL: ask the daemon */
	bool json;
	bool once;
	bool all;
	bool dump;
	bool force;
	bool requests;
	enum top_kind by;
	const char *query;	/* borrowed; NULL: everything */
	const char *cause;	/* borrowed; NULL: any */
	const char *path;	/* borrowed; NULL: any */
	const char *sort;	/* borrowed; NULL: by time */
	const char *output;	/* borrowed; NULL: standard output */
	const char *percentile; /* borrowed; NULL: 99 */
	const char *route;	/* borrowed; NULL: those with most requests */
	const char *without;	/* borrowed; codes with commas; NULL */
	const char *accounts;	/* borrowed; "csv", "ndjson"; NULL */
	const char *file;	/* borrowed; NULL: of the running tailor */
	bool impact;
	int64_t against_ns; /* 0: not compared */
	int64_t until_ns;   /* 0: until now */
	const char *format; /* static: "html", ...; NULL: text or JSON */
	int64_t since_ns;   /* 0: any time */
	uint64_t count;	    /* slow: how many; log: 0 = no end */
	int64_t interval_ns;
	int64_t timeout_ns;
};

enum options_result {
	OPTIONS_RUN,  /* *out is filled in: run the command */
	OPTIONS_DONE, /* --help or --version, printed */
	OPTIONS_BAD,  /* printed on standard error */
};

/* Parse.  *out borrows from argv. */
enum options_result options_parse(struct options *out, int argc, char **argv);

/* Print the completion script for that shell; false: there is none. */
bool options_completion(const char *shell);
