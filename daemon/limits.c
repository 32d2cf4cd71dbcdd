/* limits.c: derives limits of memory, descriptors and the policy from the
 * configuration. */
#include "daemon/daemon.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "proxy/access_log/access_log.h"
#include "proxy/admin/admin.h"
#include "proxy/analysis/analysis.h"
#include "proxy/request/proxy.h"
#include "proxy/request/slow.h"
#include "proxy/upstream/response_diff.h"

/* Descriptors besides connections: logs, pages, pidfds, channels' socket,
 * libraries. */
#define DESCRIPTORS_OTHER 256
/* Most files for slow peers: what a default limit on descriptors allows. */
#define SPOOL_FILES_MAX 4096
/* If descriptors are few, channels get 1/SMALL_SHARE of them, and so do the
 * losers of each server. */
#define SMALL_SHARE 8
#define CLIENTS_LEAST 64	  /* with fewer, Tailor does not start */
#define TALE_BYTES ((size_t)2048) /* of a kept tale, without its events */
#define LOG_RING_BYTES ((size_t)1024 * 1152) /* see base/log.h */

void
limits_hedging(const struct config *c, struct hedging_limits *l)
{
	*l = (struct hedging_limits){
	    .act = c->hedging.mode == CONFIG_MODE_ACT,
	    .triggers = c->hedging.triggers,
	    .servers = c->servers,
	    .budget_ratio = c->hedging.budget_ratio,
	    .budget_burst = c->hedging.budget_burst,
	    .timer_ratio = c->hedging.timer_ratio,
	    .timer_delay_ns = c->hedging.timer_delay_ns,
	    .timer_percentile = c->hedging.timer_percentile,
	    .warmup_requests = c->warmup.requests,
	    .warmup_max_ns = c->warmup.max_ns,
	    .mirror_ratio = c->warmup.mirror,
	};
	for (unsigned i = 0; i < c->servers; i++) {
		l->connections_max[i] = c->server[i].connections_max;
		l->aside_max[i] = c->server[i].streams_max;
	}
}

/* Fill in the limits of each place, as a reload may change a place's server. */
static void
limits_places(const struct upstream *up, struct hedging_limits *l)
{
	l->servers = 1;
	UPSTREAM_EACH(up, i)
	{
		l->connections_max[i] = up->server[i].config->connections_max;
		l->aside_max[i] = up->server[i].config->streams_max;
		l->servers = i + 1;
	}
}

/* The most memory that Tailor may take, bytes, by use.  Not included: program
 * and libraries, the kernel's socket buffers, the channels that services
 * request. */
struct memory_plan {
	size_t blocks;	    /* heads, bodies and responses in transit */
	size_t connections; /* from clients and to servers */
	size_t requests, history;
	size_t tales; /* kept slow ones, if in memory */
	size_t stream, logs;
	size_t fixed;
	size_t total;
};

_Static_assert(CONFIG_HEAD_MAX <= BLOCK_BYTES, "a head fits a block");
_Static_assert(CONFIG_FIELDS_MAX <= HTTP_FIELDS_MAX, "as do its fields");

static void
limits_http(struct proxy *p)
{
	const struct config *c = p->config;

	p->clients.limits = (struct http_limits){
	    .head_max = CONFIG_HEAD_MAX,
	    .fields_max = CONFIG_FIELDS_MAX,
	    .body_max = c->proxy.body_max_bytes,
	    .underscore_pass =
		(c->proxy.pass_fields & CONFIG_PASS_UNDERSCORED) != 0,
	};
	p->upstream.limits = p->clients.limits;
	p->upstream.limits.body_max = UINT64_MAX;
	p->upstream.limits.underscore_pass = true;
}

/* Return how many blocks can be in use at once under the configuration.
 * Waiting requests use none: their heads are packed, and the table has their
 * bodies. */
static size_t
blocks_needed(const struct config *c)
{
	size_t stream = STREAM_BUFFER_BYTES / BLOCK_BYTES + 2;
	/* A client has one to read into, two for MARK_MIN, one in transit, and
	 * the next piece for its spool file. */
	size_t client = 4 + SPOOL_PIECE / BLOCK_BYTES;
	size_t blocks = (size_t)c->proxy.connections_max * client +
			BUFFERS_BYTES_MAX / BLOCK_BYTES +
			BODIES_BYTES_MAX / BLOCK_BYTES +
			(size_t)ADMIN_CLIENTS_MAX * ADMIN_CLIENT_BLOCKS;

	for (unsigned i = 0; i < c->servers; i++)
		blocks +=
		    (size_t)c->server[i].connections_max * (4 + 2 * stream) +
		    DRAIN_CONNECTIONS_MAX;
	return blocks;
}

/* Compute the plan from the structures whose number or size the configuration
 * sets. */
static void
memory_plan_make(const struct proxy *p, struct memory_plan *out)
{
	const struct config *c = p->config;
	size_t connections = 0;

	for (unsigned i = 0; i < c->servers; i++)
		connections += (size_t)c->server[i].connections_max +
			       c->server[i].streams_max + DRAIN_CONNECTIONS_MAX;
	*out = (struct memory_plan){
	    .blocks = blocks_needed(c) * sizeof(struct block),
	    .connections =
		c->proxy.connections_max *
		    (sizeof(struct client) + sizeof(struct peer_count)) +
		connections * (sizeof(struct connection) + COMPARISON_BYTES),
	    .requests = c->proxy.connections_max *
			(sizeof(struct request) + COMPARISON_BYTES),
	    .history = c->slow.history * (sizeof(struct tale_request) +
					     6 * sizeof(uint64_t)) +
		       REPLAY_MAX * sizeof(struct replay),
	    .tales = slow_tales_max(c->slow.store_bytes) * TALE_BYTES +
		     tale_checkpoints_bytes() + c->slow.store_bytes +
		     ACCOUNTS_KEPT * sizeof(struct account) + latencies_bytes(),
	    .stream =
		(size_t)c->profiler.stream_slots * sizeof(struct timeline_slot),
	    .logs = LOG_RING_BYTES +
		    (*c->access_log.path != '\0' ? access_log_bytes() : 0),
	    .fixed = sizeof(*p),
	};
	out->total = out->blocks + out->connections + out->requests +
		     out->history + out->tales + out->stream + out->logs +
		     out->fixed;
}

static void
limits_say_memory(struct proxy *p)
{
	struct memory_plan m;

	memory_plan_make(p, &m);
	p->memory_bytes = m.total;
	log_event(LOG_LEVEL_NOTICE, "memory_limit",
	    "total_kib=%zu blocks_kib=%zu connections_kib=%zu "
	    "requests_kib=%zu history_kib=%zu tales_kib=%zu stream_kib=%zu "
	    "logs_kib=%zu",
	    m.total >> 10, m.blocks >> 10, m.connections >> 10,
	    m.requests >> 10, m.history >> 10, m.tales >> 10, m.stream >> 10,
	    m.logs >> 10);
}

/* Raise the limit on open files to want, if permitted.  Returns the limit. */
static rlim_t
descriptors_get(rlim_t want)
{
	struct rlimit l, more = {want, want};

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
		return want;
	/* Works only for root, before privileges are dropped. */
	if (l.rlim_max < want && setrlimit(RLIMIT_NOFILE, &more) == 0)
		return want;
	l.rlim_cur = want < l.rlim_max ? want : l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
	return l.rlim_cur;
}

unsigned
limits_channels(void)
{
	rlim_t part =
	    descriptors_get((rlim_t)SMALL_SHARE * PROFILER_CHANNELS_MAX) /
	    SMALL_SHARE;

	return part < PROFILER_CHANNELS_MAX ? (unsigned)part
					    : PROFILER_CHANNELS_MAX;
}

/* Share out the descriptors.  Servers' slots and other uses come first, so that
 * a client that is accepted can be served.  Of the rest, files for slow peers,
 * and connections beside the slots, get at most a quarter each. */
static void
limits_descriptors(struct proxy *p)
{
	const struct config *c = p->config;
	struct hedging_limits *l = &p->hedging.limits;
	unsigned clients = c->proxy.connections_max, streams = 0, left;
	unsigned files = clients < SPOOL_FILES_MAX ? clients : SPOOL_FILES_MAX;
	unsigned losers = c->servers * DRAIN_CONNECTIONS_MAX;
	rlim_t other = DESCRIPTORS_OTHER + limits_channels(), want, have;

	if (*c->proxy.spool_directory == '\0')
		files = 0;
	if (profiler_counts(p->profiler))
		other += (rlim_t)c->servers * PROFILER_RATE_DESCRIPTORS;
	if (c->profiler.counters != 0)
		other += (rlim_t)c->servers * PROFILER_COUNTER_DESCRIPTORS;
	for (unsigned i = 0; i < c->servers; i++) {
		other += (rlim_t)c->server[i].connections_max;
		streams += c->server[i].streams_max;
	}
	want = other + losers + streams + clients + files;
	have = descriptors_get(want);
	p->clients.connections_max = clients;
	p->loop.spools.files_max = files;
	p->upstream.losers_max = DRAIN_CONNECTIONS_MAX;
	if (have >= want)
		return;
	left = have > other + 1 ? (unsigned)(have - other) : 1;
	if (losers > left / SMALL_SHARE * c->servers)
		losers = left / SMALL_SHARE * c->servers;
	p->upstream.losers_max = losers / c->servers;
	left -= losers;
	if (files > left / 4)
		files = left / 4;
	if (streams > left / 4)
		streams = left / 4;
	p->loop.spools.files_max = files;
	UPSTREAM_EACH(&p->upstream, i)
	if (l->aside_max[i] > streams / c->servers)
		l->aside_max[i] = streams / c->servers;
	p->clients.connections_max = left - files - streams;
	log_event(LOG_LEVEL_WARNING, "few_descriptors",
	    "have=%llu want=%llu clients=%u streams=%u losers=%u files=%u "
	    "advice=\"raise "
	    "the hard limit on open files (LimitNOFILE, ulimit -Hn) or lower "
	    "proxy.connections_max and servers.streams_max: as it is, no more "
	    "than %u clients can connect\"",
	    (unsigned long long)have, (unsigned long long)want,
	    p->clients.connections_max, streams, losers, files,
	    p->clients.connections_max);
}

static void
limits_spools(struct proxy *p)
{
	const struct config *c = p->config;

	p->loop.spools.directory = c->proxy.spool_directory;
	p->loop.spools.bytes_max = c->proxy.spool_max_bytes;
}

void
limits_apply(struct proxy *p)
{
	struct hedging_limits limits;

	limits_hedging(p->config, &limits);
	limits_places(&p->upstream, &limits);
	hedging_limits_set(&p->hedging, &limits);
	profiler_load_agents(p->profiler, p->config->hedging.steer);
	limits_http(p);
	p->loop.blocks.blocks_max = blocks_needed(p->config);
	limits_spools(p);
	/* If memory runs out, there is only no estimate. */
	if (p->config->hedging.mode == CONFIG_MODE_WATCH && p->gain == NULL)
		p->gain = calloc(1, sizeof(*p->gain));
	log_prepare((enum log_level)p->config->log.level,
	    (enum log_format)p->config->log.format);
	if (p->analysis != NULL) {
		analysis_budget(p->analysis, p->config->analysis.cpu);
		analysis_classes(p->analysis);
	}
	limits_descriptors(p);
	limits_say_memory(p);
}

int
limits_check(const struct proxy *p)
{
	const struct config *c = p->config;

	if (p->clients.connections_max >= CLIENTS_LEAST ||
	    p->clients.connections_max >= c->proxy.connections_max)
		return 0;
	log_event(LOG_LEVEL_ERROR, "too_few_descriptors",
	    "clients=%u advice=\"that many clients could connect: raise the "
	    "hard limit on open files (LimitNOFILE, ulimit -Hn) or lower "
	    "servers.connections_max\"",
	    p->clients.connections_max);
	return -ECANCELED; /* logged */
}

void
limits_try_spool(const struct proxy *p)
{
	const char *directory = p->config->proxy.spool_directory;
	int err;

	if (*directory == '\0')
		return;
	err = spool_try(directory);
	if (err < 0)
		log_event(LOG_LEVEL_WARNING, "spool_unusable",
		    "directory=%s error=\"%s\" advice=\"let Tailor's user "
		    "write there and enter all directories above it, or set "
		    "proxy.spool_directory; until then request bodies above "
		    "hedging.body_max get 503\"",
		    directory, strerror(-err));
}
