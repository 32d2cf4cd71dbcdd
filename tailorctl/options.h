/*
 * options.h: the command line of tailorctl, from two tables.
 *
 * One table of commands, one of options; parsing, --help and the completion
 * script are made from them, so they cannot disagree.
 */
#ifndef TAILOR_TAILORCTL_OPTIONS_H
#define TAILOR_TAILORCTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses. */
enum {
	STATUS_OK = 0,
	STATUS_NO = 1,	  /* no tailor, or its answer is negative */
	STATUS_USAGE = 2, /* the command line is wrong */
};

/*
 * Commands: name, options that mean something to it (letters; a, j, t, h and
 * V are everybody's), its argument ("" none; [X] may be left out), summary.
 */
#define COMMANDS(X)                                                       \
	X(servers, "", "",                                                \
	    "the servers, which one is active, and how they do")          \
	X(requests, "n", "", "what is in flight, oldest first")           \
	X(slow, "nwcp", "", "the latest slow requests, and why")          \
	X(why, "HSCo", "ID", "where one slow request spent its time")     \
	X(pin, "", "ID", "keep the timeline of a request")                \
	X(top, "bwnids1", "", "what costs most time, again and again")    \
	X(hist, "ids1", "", "how long requests take, as they finish")     \
	X(stat, "1iA", "[NAME]", "counters, and how fast they change")    \
	X(log, "qrkds", "", "follow events or requests as they happen")   \
	X(events, "", "", "what events there are, and their arguments")   \
	X(ledger, "", "", "what hedging cost, and what it was worth")     \
	X(metrics, "", "", "all metrics, as Prometheus reads them")       \
	X(info, "", "", "version, placement, listeners")                  \
	X(ready, "", "[SERVER]",                                          \
	    "bring a drained server back; without: is one ready?")        \
	X(drain, "f", "SERVER", "take a server out of service")           \
	X(restart, "f", "SERVER",                                         \
	    "drain it, start its program anew, bring it back")            \
	X(switch, "", "", "make the standby active, if it is ready")      \
	X(reload, "", "", "read the configuration again")                 \
	X(probe, "", "", "what this machine offers, and what is missing") \
	X(completion, "", "SHELL", "print a script for bash, zsh or fish")

enum command {
#define OPTIONS_X(name, letters, argument, summary) COMMAND_##name,
	COMMANDS(OPTIONS_X)
#undef OPTIONS_X
	    COMMAND_COUNT
};

/* What top counts by: symbol, word. */
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
	const char *stream;   /* borrowed; NULL: ask the tailor */
	bool json;
	bool once;
	bool all;
	bool dump;
	bool force;
	bool requests;
	enum top_kind by;
	const char *query;  /* borrowed; NULL: everything */
	const char *cause;  /* borrowed; NULL: any */
	const char *path;   /* borrowed; NULL: any */
	const char *output; /* borrowed; NULL: standard output */
	const char *format; /* static: "html", ...; NULL: text or JSON */
	int64_t since_ns;   /* 0: whenever */
	uint64_t count;	    /* slow: how many; log: 0 = no end */
	int64_t interval_ns;
	int64_t timeout_ns;
};

enum options_result {
	OPTIONS_RUN,  /* *out is filled in: run the command */
	OPTIONS_DONE, /* --help or --version, printed */
	OPTIONS_BAD,  /* said on standard error */
};

/* Parse.  *out borrows from argv. */
enum options_result options_parse(struct options *out, int argc, char **argv);

/* Print the completion script for that shell; false: there is none. */
bool options_completion(const char *shell);

#endif
