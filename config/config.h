/* config.h: the configuration, read once, checked whole.
 *
 * JSON with // and C comments and trailing commas, parsed by cJSON, checked
 * against one table of keys (name, type, unit, range, default, meaning), from
 * which the effective configuration (tailor -T) and the manual page are made,
 * too.  All errors are reported at once, each with file:line:column or key
 * path, the allowed range, and the nearest known key for an unknown one.
 *
 * An address is "host:port", "[v6]:port" or "unix:/path"; a quantity is a
 * number in the key's unit, or text with a unit ("250us", "64k"). */
#pragma once

#include <sys/socket.h>

#include "base/json.h"

#define CONFIG_SERVERS 2
#define CONFIG_LISTENERS 8
#define CONFIG_RULES 16
#define CONFIG_CLASSES 32
#define CONFIG_FIELDS 16
#define CONFIG_ARGS 64
#define CONFIG_NETWORKS 16
#define CONFIG_STATUSES 16
#define CONFIG_HEAD_MAX 16384 /* bytes: heads are read into one block */
#define CONFIG_FIELDS_MAX 100
#define CONFIG_DURATION_AUTO (-1) /* a duration that follows another value */

#define CONFIG_PROXY_PROTOCOL " proxy_protocol" /* after an address of listen */

struct config_address {
	char *text; /* owned, as written */
	struct sockaddr_storage address;
	socklen_t length; /* 0: not set */
	/* A second address, or family 0.  For localhost address is 127.0.0.1
	 * and other ::1; for ":PORT" they are :: and 0.0.0.0.  Connections to a
	 * server use either; a listener uses other where the kernel lacks the
	 * family of address. */
	struct sockaddr_storage other;
	bool proxied; /* listen: a PROXY header comes first */
};

/* An IPv4 or IPv6 network, "127.0.0.0/8"; or "unix": all peers on Unix sockets,
 * AF_UNIX with no bits. */
struct config_network {
	int family;
	uint8_t address[16];
	unsigned bits;
};

enum config_mode {
	CONFIG_MODE_ACT,   /* swap and hedge */
	CONFIG_MODE_WATCH, /* observe and record; use only the active server */
};
enum config_poll {
	CONFIG_POLL_AUTO,
	CONFIG_POLL_SPIN,
	CONFIG_POLL_RELAX,
	CONFIG_POLL_SLEEP,
};
enum config_kernel {
	CONFIG_KERNEL_OFF,
	CONFIG_KERNEL_LITE,
	CONFIG_KERNEL_SUMS, /* lite; sums while lite is paused */
	CONFIG_KERNEL_FULL,
	CONFIG_KERNEL_ALL, /* also system calls */
};
enum config_jvm {
	CONFIG_JVM_AUTO, /* agent if it reports, else hsperfdata */
	CONFIG_JVM_AGENT,
	CONFIG_JVM_HSPERFDATA,
	CONFIG_JVM_USDT, /* libjvm's own probes */
	CONFIG_JVM_NONE, /* not a JVM: watch only its process */
};

enum config_collect {
	CONFIG_COLLECT_AUTO,	 /* the agent, loaded if there is none */
	CONFIG_COLLECT_AGENT,	 /* the agent in the server's command */
	CONFIG_COLLECT_PERIODIC, /* a flag of G1, by the attach protocol */
	CONFIG_COLLECT_HTTP,	 /* an HTTP request to the server */
	CONFIG_COLLECT_NONE,
};

enum config_access {
	CONFIG_ACCESS_JSON,
	CONFIG_ACCESS_TEXT,
	CONFIG_ACCESS_COMBINED,
};

/* Bits of sets: of proxy.add_fields, proxy.pass_fields, access_log.redact. */
enum config_add {
	CONFIG_ADD_SERVER_TIMING = 1,
	CONFIG_ADD_VIA = 2,
	CONFIG_ADD_FORWARDED = 4,
};
enum config_pass { CONFIG_PASS_UNDERSCORED = 1, CONFIG_PASS_TRAILERS = 2 };
enum config_redact { CONFIG_REDACT_QUERY = 1, CONFIG_REDACT_CLIENT = 2 };

struct config_server {
	char *name; /* owned */
	struct config_address address;
	enum config_jvm jvm;
	char *libjvm; /* owned; for usdt; "" = beside java */
	enum config_collect collect;
	char *collect_target; /* owned; of http */
	unsigned connections_max;
	unsigned streams_max;
	char *host;   /* owned; of requests that name none, "" = its address */
	char *health; /* owned; path of the health request, "" = connect only */
	unsigned health_statuses;
	char *health_status[CONFIG_STATUSES]; /* owned "200-399" or "404" */
	int64_t health_timeout_ns;
	int64_t health_interval_ns; /* 0: off */
	unsigned health_rise, health_fall;
	int64_t drain_timeout_ns; /* 0: none */
	/* launch: the program Tailor starts and keeps running; argc 0: none */
	unsigned argc;
	char *argv[CONFIG_ARGS + 1]; /* owned, NULL-terminated */
	unsigned envc;
	char *env[CONFIG_ARGS + 1]; /* owned "NAME=value" */
	char *cpus;		    /* owned; "", or "0-3,8", or "auto" */
	char *directory;	    /* owned; "" = ours */
	char *output;		    /* owned; file for its output, "" = ours */
	int64_t stop_timeout_ns;
};

struct config {
	unsigned listeners;
	struct config_address listen[CONFIG_LISTENERS];
	struct config_address admin; /* length 0: no admin listener */
	char *instance;		     /* owned; "" until config_name() */
	unsigned servers;	     /* 1 or 2 */
	struct config_server server[CONFIG_SERVERS];

	struct {
		enum config_mode mode;
		bool steer;
		unsigned triggers; /* bit 1 << enum hazard_kind */
		unsigned repeatables;
		char *repeatable[CONFIG_RULES]; /* owned "METHOD /path" */
		uint64_t body_max_bytes;
		double budget_ratio;
		unsigned budget_burst;	   /* 0: twice connections_max */
		double timer_ratio;	   /* T6; 0: off */
		int64_t timer_delay_ns;	   /* 0: timer_percentile's */
		unsigned timer_percentile; /* 50 .. 100, or 0 */
	} hedging;

	struct {
		unsigned requests;
		int64_t max_ns;
		char *target;  /* owned; used without history */
		double mirror; /* copies to the backup, per request */
		unsigned field_names;
		char *fields[CONFIG_FIELDS]; /* owned; copied besides ours */
		unsigned exclude_patterns;
		char *exclude[CONFIG_RULES]; /* owned "/path": never copied */
	} warmup;

	struct {
		unsigned connections_max;
		unsigned connections_per_address_max;
		int64_t queue_timeout_ns;
		int64_t server_wait_ns;
		int64_t header_timeout_ns; /* whole request head */
		int64_t client_timeout_ns; /* client neither sends nor reads */
		int64_t idle_timeout_ns;   /* of kept connections */
		int64_t connect_timeout_ns;
		int64_t request_timeout_ns; /* the deadline, all attempts */
		int64_t upstream_idle_timeout_ns;
		int64_t stop_timeout_ns;   /* graceful stop */
		int64_t stop_streams_ns;   /* endless responses in a stop */
		int64_t tunnel_timeout_ns; /* no data in either direction */
		uint64_t body_max_bytes;
		char *spool_directory; /* owned; "" = no files */
		uint64_t spool_max_bytes;
		unsigned add_fields;  /* a set of enum config_add */
		unsigned pass_fields; /* a set of enum config_pass */
		bool websocket;	      /* let an upgrade to it pass */
		char *cpu;	      /* owned; "auto", "none", or one CPU */
		unsigned networks;
		struct config_network trusted_proxies[CONFIG_NETWORKS];
	} proxy;

	struct {
		enum config_poll poll;
		int64_t sleep_ns;
		char *cpu;	      /* owned; as proxy.cpu */
		char *channel_socket; /* owned; "" = off */
		char *stream; /* owned; path in /dev/shm, "" = private */
		unsigned stream_slots;
		enum config_kernel kernel;
		unsigned kernel_events; /* limit per CPU and second */
		bool stacks;
		/* Sampled and written into the stream: bit 1 << enum
		 * talechain_rate. */
		unsigned rates;
		unsigned counters; /* bit 1 << enum talechain_counter */
	} profiler;

	struct {
		int64_t target_ns; /* slower than this is slow, or AUTO */
		char *store;	   /* owned; directory, "" = memory */
		uint64_t store_bytes;
		unsigned keep_slowest; /* per minute, even if below target */
		unsigned history;      /* last N finished requests */
	} slow;

	struct {
		double cpu;	   /* share of a CPU, if no client waits */
		unsigned accounts; /* per second, of requests not slow */
	} analysis;

	struct {
		uint64_t store_bytes; /* of accounts, in slow.store */
		unsigned class_count;
		char *classes[CONFIG_CLASSES]; /* owned "METHOD /path" */
	} blame;

	struct {
		unsigned networks;
		struct config_network allow[CONFIG_NETWORKS];
		char *token_file; /* owned; "" = none */
	} talechain;

	struct { /* a listener for metrics alone */
		struct config_address listen;
		unsigned networks;
		struct config_network allow[CONFIG_NETWORKS];
	} metrics;

	struct {
		unsigned level;	 /* enum log_level */
		unsigned format; /* enum log_format */
	} log;

	struct {
		char *path; /* owned; "" = off */
		enum config_access format;
		unsigned redact; /* a set of enum config_redact */
	} access_log;

	struct {
		char *user; /* owned; "name" or "name:group", "" = stay */
		bool core_dumps;
	} process;
};

/* Errors in order of appearance; each a whole sentence. */
struct config_errors {
	unsigned count;
	char **text; /* owned */
};

/* Read a file of at most 1 MiB.
 *   may_wait  path may be a pipe; else it must be a plain file
 * Returns 0, or -EINVAL with *errors filled (at least one, at most about 100),
 * or another negative errno with one error saying what to do.  On failure *out
 * is NULL.  Free with config_free, errors with config_errors_fini. */
int config_load(struct config **out, const char *path, bool may_wait,
    struct config_errors *errors);

/* The same from text; name replaces the file's in messages. */
int config_parse(struct config **out, const char *text, size_t length,
    const char *name, struct config_errors *errors);

/* All defaults, no listener and no servers. */
int config_new(struct config **out);
void config_free(struct config **cp);
void config_errors_fini(struct config_errors *errors);

/* Append one sentence; it is dropped without memory or over the limit. */
void config_errors_add(struct config_errors *errors, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Set one key by its path ("hedging.mode", "servers[0].address"), as the
 * command line and the environment do.  Lists are split at commas, commands
 * and environments at spaces; text that is a JSON list or object is parsed as
 * one.  A key of servers[1] makes the number of servers 2.
 * Returns 0, or -EINVAL or -ENOMEM with an error added and nothing changed. */
int config_set(struct config *c, const char *path, const char *text,
    struct config_errors *errors);

/* Set every key whose variable is in the environment: TAILOR_ and its path in
 * upper case, "_" between names (TAILOR_HEDGING_MODE,
 * TAILOR_SERVERS_0_ADDRESS).  0, or -EINVAL or -ENOMEM with all errors
 * added. */
int config_set_environment(struct config *c, struct config_errors *errors);

/* Add a sentence for every variable that begins with TAILOR_ and nearly names a
 * key.  None is an error: other programs may use the prefix. */
void config_doubt_environment(struct config_errors *doubts);

/* Determine c->instance and replace {instance} by it in every path and in
 * admin, and {run}, {state} and {user} by the places of the user that the
 * tailor runs as (places.c).  Call it when all keys are set, before
 * config_check().
 *   running  for a reload: the name of the running tailor, which stays
 *            unless c names another; NULL at the start: the first listener
 *            gives the name
 * A name made from the process's number does not last: a slow.store with
 * {instance} then becomes "" (memory).  0, or -EINVAL or -ENOMEM with errors
 * added. */
int config_name(
    struct config *c, const char *running, struct config_errors *errors);

/* Check the combination of keys (no listener, two equal servers, limits that
 * contradict).  0 or -EINVAL with errors added. */
int config_check(const struct config *c, struct config_errors *errors);

/* True if a response with this status passes a server's health check. */
bool config_status_expected(const struct config_server *s, unsigned status);

/* Called with a key that differs.
 *   restart  a running tailor cannot take the new value: the table of
 *            keys says so */
typedef void config_difference(void *user, const char *path, bool restart);

/* Report each key whose values differ, in the order of the table, servers
 * first.  Servers are matched by name; "servers" differs if one was added or
 * removed.  0 or -ENOMEM. */
int config_compare(const struct config *now, const struct config *next,
    config_difference *each, void *user);

/* True if a server must be drained to become another: the address, or how it is
 * observed or launched, differs. */
bool config_server_replaces(
    const struct config_server *now, const struct config_server *next);

/* The TCP port of an address, -1 of a Unix socket's or of none. */
int config_address_port(const struct config_address *a);

/* True if an address means all addresses of this machine: 0.0.0.0 or ::. */
bool config_address_is_any(const struct config_address *a);

/* True if two addresses are set and the same; an unset one equals none. */
bool config_address_equal(
    const struct config_address *a, const struct config_address *b);

/* Write the effective configuration, every key, as JSON. */
void config_write(const struct config *c, struct json *out);

/* Write the table of keys as a JSON schema. */
void config_write_schema(struct json *out);

/* Write the table of keys as scdoc for tailor.conf(5).  0 or -ENOMEM. */
int config_write_manual(char **text, size_t *length);

/* Every key as `tailor --set` takes it, "proxy.body_max= ...", for completion.
 * Owned by the caller; NULL if memory ran out. */
char *config_list_keys(void);

/* Parse "127.0.0.1:80", "[::1]:80", "localhost:80" (127.0.0.1 or ::1), ":80"
 * (all addresses; an IPv6 socket that takes IPv4 as well, or, without IPv6,
 * 0.0.0.0), "unix:/path" or "/path".
 * Port 0 is accepted; the caller decides whether it makes sense.
 * Returns 0 with out->text for the caller to free, or -EINVAL or -ENOMEM with
 * *why set to a sentence, valid until this thread's next call, and *out
 * unchanged.  Uses no name service. */
int config_address_parse(
    const char *text, struct config_address *out, const char **why);
