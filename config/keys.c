/*
 * keys.c: the table of keys; see keys.h.
 */
#include "config/keys.h"

#include <string.h>

#include "base/log.h"
#include "config/config.h"

#define SIZE(type, member) ((unsigned)sizeof(((struct type *)0)->member))

/* clang-format off */
#define PLACE(owner, member)						\
	.offset = offsetof(struct owner, member),			\
	.size = SIZE(owner, member)
#define BESIDE(owner, member) .count_offset = offsetof(struct owner, member)
#define LIST(owner, member, counter, most)				\
	PLACE(owner, member),						\
	.count_offset = offsetof(struct owner, counter), .max = (most)
#define RANGE(least, most) .min = (double)(least), .max = (double)(most)
#define US 1e3
#define MS 1e6
#define S 1e9
#define K 1024.0
#define M (K * K)
#define G (K * M)
/* clang-format on */

static const struct key_choice modes[] = {
    {"act", CONFIG_MODE_ACT},
    {"watch", CONFIG_MODE_WATCH},
    {NULL, 0},
};
static const struct key_choice triggers[] = {
    {"gc", offsetof(struct config, hedging.trigger_gc)},
    {"safepoint", offsetof(struct config, hedging.trigger_safepoint)},
    {"exit", offsetof(struct config, hedging.trigger_exit)},
    {"unresponsive", offsetof(struct config, hedging.trigger_unresponsive)},
    {"quota", offsetof(struct config, hedging.trigger_quota)},
    {"stopped", offsetof(struct config, hedging.trigger_stopped)},
    {NULL, 0},
};
static const struct key_choice losers[] = {
    {"drain", CONFIG_LOSER_DRAIN},
    {"close", CONFIG_LOSER_CLOSE},
    {"half-close", CONFIG_LOSER_HALF_CLOSE},
    {NULL, 0},
};
static const struct key_choice kernels[] = {
    {"off", CONFIG_KERNEL_OFF},
    {"lite", CONFIG_KERNEL_LITE},
    {"full", CONFIG_KERNEL_FULL},
    {"all", CONFIG_KERNEL_ALL},
    {NULL, 0},
};
static const struct key_choice jvms[] = {
    {"auto", CONFIG_JVM_AUTO},
    {"agent", CONFIG_JVM_AGENT},
    {"hsperfdata", CONFIG_JVM_HSPERFDATA},
    {"none", CONFIG_JVM_NONE},
    {"usdt", CONFIG_JVM_USDT},
    {NULL, 0},
};
static const struct key_choice rates[] = {
    {"ipc", offsetof(struct config, profiler.rates.ipc)},
    {"clock", offsetof(struct config, profiler.rates.clock)},
    {"cpu", offsetof(struct config, profiler.rates.cpu)},
    {"page_faults", offsetof(struct config, profiler.rates.page_faults)},
    {"switches", offsetof(struct config, profiler.rates.switches)},
    {"queue", offsetof(struct config, profiler.rates.queue)},
    {"classes", offsetof(struct config, profiler.rates.classes)},
    {"compiled", offsetof(struct config, profiler.rates.compiled)},
    {NULL, 0},
};
static const struct key_choice polls[] = {
    {"auto", CONFIG_POLL_AUTO},
    {"spin", CONFIG_POLL_SPIN},
    {"relax", CONFIG_POLL_RELAX},
    {"sleep", CONFIG_POLL_SLEEP},
    {NULL, 0},
};
static const struct key_choice fields_added[] = {
    {"server-timing", offsetof(struct config, proxy.server_timing)},
    {"via", offsetof(struct config, proxy.via)},
    {"forwarded", offsetof(struct config, proxy.forwarded)},
    {NULL, 0},
};
static const struct key_choice fields_passed[] = {
    {"underscored", offsetof(struct config, proxy.underscore_pass)},
    {"trailers", offsetof(struct config, proxy.trailers_pass)},
    {NULL, 0},
};
static const struct key_choice levels[] = {
    {"error", LOG_LEVEL_ERROR},
    {"warning", LOG_LEVEL_WARNING},
    {"notice", LOG_LEVEL_NOTICE},
    {"info", LOG_LEVEL_INFO},
    {"debug", LOG_LEVEL_DEBUG},
    {NULL, 0},
};
static const struct key_choice formats[] = {
    {"text", LOG_FORMAT_TEXT},
    {"json", LOG_FORMAT_JSON},
    {NULL, 0},
};

static const struct key_choice access_formats[] = {
    {"json", CONFIG_ACCESS_JSON},
    {"text", CONFIG_ACCESS_TEXT},
    {"combined", CONFIG_ACCESS_COMBINED},
    {NULL, 0},
};
static const struct key_choice redactions[] = {
    {"query", offsetof(struct config, access_log.redact_query)},
    {"client", offsetof(struct config, access_log.redact_client)},
    {NULL, 0},
};

const struct key_section key_sections[] = {
    {"", "Where clients and operators connect."},
    {"servers[]",
	"A list of one or two servers of the same service.  The first one is "
	"active at the start, the other stands by."},
    {"servers[].launch",
	"The program that Tailor starts as this server and starts again when "
	"it ends.  Without a command Tailor does not start the server."},
    {"hedging", "When servers are swapped and requests sent again."},
    {"warmup",
	"A server that has just started responds slowly.  Before it may become "
	"active it gets copies of finished requests: GET, HEAD and OPTIONS "
	"without a body and with a 2xx response, recent ones of at most "
	"512 different targets.  A copy has few of the fields, and "
	"Tailor-Warmup: 1; one of more than 2048 bytes is not kept."},
    {"proxy", "The HTTP side: limits, timeouts and what is added."},
    {"profiler", "The observer thread and what it reads."},
    {"slow", "Which slow requests are kept with their timelines."},
    {"analysis", "The thread that examines slow requests."},
    {"talechain", "Timeline requests that clients send under /.talechain/."},
    {"metrics", "A listener for metrics alone, which other machines may use."},
    {"log", "What is written to standard error."},
    {"access_log",
	"One line for every finished request, written by a thread of its own. "
	"When the disk is slower than the requests, lines are dropped and "
	"counted; requests never wait."},
    {"process", "The user that Tailor runs as."},
};
const unsigned key_sections_count =
    sizeof(key_sections) / sizeof(key_sections[0]);

/* clang-format off */
const struct config_key config_keys[] = {
{"listen", KEY_LISTEN, LIST(config, listen, listeners, CONFIG_LISTENERS),
	.fallback = "",
	.meaning = "Where clients connect.  There is no default port.  Port 0 "
	"lets the kernel choose.  At \"ADDRESS proxy_protocol\" each "
	"connection begins with a header of the PROXY protocol, version "
	"1 or 2, that names the client, and only peers in proxy.trust may "
	"connect."},
{"admin", KEY_SERVE, PLACE(config, admin),
	.restart = true,
	.fallback = "unix:{run}/admin-{instance}.sock",
	.meaning = "Where tailorctl and metrics collectors connect; \"\" for "
	"none.  A path alone is a UNIX socket too.  There is no password: "
	"access to the default UNIX socket is controlled by its file's "
	"permissions, and TCP is for loopback addresses only."},
{"instance", KEY_NAME_OR_NONE, PLACE(config, instance),
	.restart = true,
	.fallback = "",
	.meaning = "The name of this tailor among those of the same user.  It "
	"is part of the names of its files and selects it in tailorctl (-a "
	"NAME).  \"\": the port of the first listener, or the name of its UNIX "
	"socket without .sock; pid-PID if the kernel chooses the port.  That "
	"name does not last, so slow.store is then empty by default."},

{"servers[].name", KEY_NAME, PLACE(config_server, name),
	.restart = true,
	.fallback = "{server}",
	.meaning = "The server's name in logs, metrics and timelines."},
{"servers[].address", KEY_CONNECT, PLACE(config_server, address),
	.restart = true,
	.fallback = "",
	.meaning = "Where the server listens.  Must be given."},
{"servers[].jvm", KEY_CHOICE, PLACE(config_server, jvm), .choices = jvms,
	BESIDE(config_server, libjvm), .argument = "",
	.restart = true,
	.fallback = "auto",
	.meaning = "Where the collections of its runtime are seen: agent is "
	"Tailor's agent inside a Java virtual machine; hsperfdata the file "
	"that HotSpot keeps; usdt probes in libjvm, Node or CPython (needs "
	"root at the start, and nothing in the server); auto the agent if it "
	"reports, else the file, else the probes of libjvm or Node; none is "
	"for a server without any: only its end is seen.  Probed with usdt is "
	"the file in \"usdt:/path/libjvm.so\" (or libnode.so, node, python3), "
	"else the program of launch.command, or the libjvm.so beside it if it "
	"is java, else the server that listens when tailor starts."},
{"servers[].loser", KEY_CHOICE, PLACE(config_server, loser),
	.choices = losers, .fallback = "drain",
	.meaning = "What happens to an attempt that lost.  drain reads and "
	"drops its response and keeps the connection: closing does not cancel "
	"the work in most HTTP/1.1 servers and costs them write errors.  It is "
	"given 5 s, longer than any garbage collection.  close "
	"is for servers that do cancel, half-close for those that keep "
	"responding after it."},
{"servers[].connections_max", KEY_COUNT,
	PLACE(config_server, connections_max), RANGE(1, 65535),
	.fallback = "64",
	.meaning = "Connections to the server, and so requests inside it, at "
	"one time.  A few times its worker threads is enough: more only moves "
	"the queue to where it cannot be seen."},
{"servers[].streams_max", KEY_COUNT, PLACE(config_server, streams_max),
	RANGE(0, 65535),
	.fallback = "4096",
	.meaning = "Connections to the server beside those, of requests that "
	"wait rather than work: event streams, WebSockets, and requests older "
	"than a second while others wait for a connection."},
{"servers[].health", KEY_TARGET, PLACE(config_server, health),
	.fallback = "",
	.meaning = "Target of the GET that must get a 2xx response before the "
	"server counts as up.  \"\": a connection is enough, because no path "
	"exists on every service."},
{"servers[].health_interval", KEY_DURATION,
	PLACE(config_server, health_interval_ns), RANGE(0, 3600 * S),
	.unit = "s", .fallback = "2s",
	.meaning = "Time between health checks of a server in service; 0: "
	"none.  Without a health target there are none: requests show a lost "
	"connection sooner.  Three consecutive failures take the server out of "
	"service, unless it is the last one; failures during a pause do not "
	"count."},
{"servers[].drain_timeout", KEY_DURATION,
	PLACE(config_server, drain_timeout_ns), RANGE(0, 86400 * S),
	.unit = "s", .fallback = "60s",
	.meaning = "How long a drain or restart waits for what the server has "
	"in flight, from when it gets nothing new; then the rest, mostly "
	"WebSockets and event streams, is cut, counted and logged.  A request "
	"that may be repeated is sent to the other server.  0: no limit."},
{"servers[].launch.command", KEY_ARGUMENTS,
	LIST(config_server, argv, argc, CONFIG_ARGS), .fallback = "",
	.meaning = "The program and its arguments, as separate strings; no "
	"shell is involved.  It is started again 100 ms after its end, and "
	"after longer delays while it keeps ending at once."},
{"servers[].launch.environment", KEY_ENVIRONMENT,
	LIST(config_server, env, envc, CONFIG_ARGS), .fallback = "",
	.meaning = "Variables added to its environment, {\"NAME\": \"value\"}."},
{"servers[].launch.cpus", KEY_CPUS, PLACE(config_server, cpus),
	.fallback = "auto",
	.meaning = "CPUs it may run on.  auto keeps it off the proxy's and the "
	"observer's and apart from the other server; \"\" leaves it free."},
{"servers[].launch.directory", KEY_TEXT, PLACE(config_server, directory),
	.fallback = "",
	.meaning = "Its working directory; \"\" for Tailor's."},
{"servers[].launch.output", KEY_TEXT, PLACE(config_server, output),
	.fallback = "",
	.meaning = "File that its output is appended to; \"\" for Tailor's "
	"own."},
{"servers[].launch.stop_timeout", KEY_DURATION,
	PLACE(config_server, stop_timeout_ns), RANGE(0, 600 * S), .unit = "s",
	.fallback = "10s",
	.meaning = "Between SIGTERM and SIGKILL.  Ten seconds let a JVM run "
	"its shutdown hooks and are common for supervisors."},

{"hedging.mode", KEY_CHOICE, PLACE(config, hedging.mode),
	.choices = modes, .fallback = "act",
	.meaning = "act swaps and re-sends; watch only observes and records, "
	"to see what Tailor would have done."},
{"hedging.triggers", KEY_FLAGS, .choices = triggers,
	.fallback = "gc,exit,unresponsive,stopped",
	.meaning = "What counts as a hazard: a garbage collection; any "
	"safepoint; the end of the process; the CPU quota of its cgroup used "
	"up, and a process stopped or frozen, both by the kernel's events; "
	"unresponsive, a server with "
	"several requests in flight that sends nothing, not even the response "
	"to a probe, for at least a second and four times its longest silence "
	"of the last minutes.  Other safepoints are mostly too short to be "
	"worth a second copy."},
{"hedging.allow", KEY_RULES,
	LIST(config, hedging.allow, hedging.allow_rules, CONFIG_RULES),
	.fallback = "",
	.meaning = "Requests that may be sent twice besides GET, HEAD and "
	"OPTIONS: at most 16 rules \"METHOD /path\", for example \"POST "
	"/*/_search\".  In the path * matches exactly one segment, ** any "
	"number of them, and everything else is literal, case included.  It is "
	"compared with the decoded path, without the query.  A path matches no "
	"rule if it has an empty segment or one that is . or .., if it has ; "
	"or \\, or escapes / \\ ; ? # % or a control byte.  At most 256 bytes "
	"and 16 segments.  Only for requests that are safe to repeat: a late "
	"second PUT can undo a newer one.  These requests are never copied "
	"(see warmup)."},
{"hedging.body_max", KEY_BYTES, PLACE(config, hedging.body_max_bytes),
	RANGE(0, 16 * M), .fallback = "64k",
	.meaning = "Largest request body that waits in memory until it is "
	"whole and may be sent a second time; a larger one waits in a file "
	"(proxy.spool_directory), and its request is not hedged.  Bodies of "
	"queries usually are far smaller.  All bodies in memory may take 64M; "
	"beyond that they wait in files, too."},
{"hedging.budget_ratio", KEY_RATIO, PLACE(config, hedging.budget_ratio),
	RANGE(0, 1), .fallback = "0.1",
	.meaning = "Second copies allowed per finished request.  Collections "
	"need about a hundredth of that; the limit is for a server that "
	"flaps."},
{"hedging.budget_burst", KEY_COUNT, PLACE(config, hedging.budget_burst),
	RANGE(0, 1000000), .fallback = "0",
	.meaning = "Unused budget that may accumulate; 0 for twice "
	"connections_max, so that one hazard may always re-send all that is in "
	"flight."},
{"hedging.min_pause", KEY_DURATION, PLACE(config, hedging.min_pause_ns),
	RANGE(0, 600 * S), .unit = "ms", .fallback = "0",
	.meaning = "Pauses expected to be shorter swap the servers but send "
	"nothing again; 0 sends always, the least latency."},
{"hedging.commit_delay", KEY_DURATION,
	PLACE(config, hedging.commit_delay_ns), RANGE(0, 1 * S), .unit = "ms",
	.fallback = "1ms",
	.meaning = "A response is held back until it is complete, 64k large or "
	"this old, because until then another attempt can still win.  "
	"Responses of a local server arrive in one burst: after a millisecond "
	"nearly all are complete.  A response of known length below 64k waits "
	"for its end, and none is forwarded while its server pauses and "
	"another attempt runs.  A response that no other attempt can replace "
	"(watch mode, one server, a request that is sent once, both attempts "
	"used) does not wait.  0 forwards every head at once."},
{"hedging.timer_ratio", KEY_RATIO, PLACE(config, hedging.timer_ratio),
	RANGE(0, 1), .fallback = "0",
	.meaning = "Second copies allowed per finished request because a "
	"response is late without a hazard, for pauses without a signal.  0 "
	"sends none; 0.01 is a good value.  They also count in budget_ratio, "
	"and need the other server to be less than half full."},
{"hedging.timer_delay", KEY_DELAY, PLACE(config, hedging.timer_delay_ns),
	BESIDE(config, hedging.timer_percentile),
	RANGE(1 * US, 600 * S), .unit = "ms", .fallback = "p99",
	.meaning = "Time without a response head after which a response is "
	"late.  p99 is the 99th percentile of the server's last 128 responses "
	"without a hazard, at least a millisecond and at most a second."},

{"warmup.requests", KEY_COUNT, PLACE(config, warmup.requests),
	RANGE(0, 1000000), .fallback = "200",
	.meaning = "Requests before the server may become active, two at a "
	"time and at most 500 a second; 0 for no warm-up.  Enough for the "
	"first compiled code and filled caches."},
{"warmup.max", KEY_DURATION, PLACE(config, warmup.max_ns),
	RANGE(0, 600 * S), .unit = "s", .fallback = "10s",
	.meaning = "Ready in any case after this time: a slow server is better "
	"than none.  Before, it is ready when its 95th percentile is within "
	"1.5 times the active server's."},
{"warmup.fields", KEY_FIELDS,
	LIST(config, warmup.fields, warmup.field_names, CONFIG_FIELDS),
	.fallback = "",
	.meaning = "Fields of the request that a copy carries besides Host, "
	"Accept, Accept-Charset, Accept-Encoding, Accept-Language, User-Agent, "
	"Range, X-Forwarded-Proto and X-Forwarded-Host; at most 16.  Its "
	"X-Forwarded-For is \"unknown\" unless that field is named.  A request "
	"with Authorization or Cookie is not copied at all unless the field is "
	"named here: the copy would be sent as that user, and without the "
	"field it could lock the account."},
{"warmup.exclude", KEY_PATTERNS,
	LIST(config, warmup.exclude, warmup.exclude_patterns, CONFIG_RULES),
	.fallback = "",
	.meaning = "Paths whose requests are never copied: at most 16 patterns "
	"as in hedging.allow, without a method.  For GETs with side effects "
	"and for secret paths or queries.  A request whose path cannot be "
	"compared with patterns is never copied either."},
{"warmup.target", KEY_TARGET, PLACE(config, warmup.target),
	.fallback = "",
	.meaning = "Target of the GET used without history; \"\" waits for "
	"history."},
{"warmup.mirror", KEY_RATIO, PLACE(config, warmup.mirror),
	RANGE(0, 1), .fallback = "0",
	.meaning = "Copies of recent requests sent to the standby per request, "
	"two at a time, to keep its compiled code and caches warm: 0.01 is one "
	"per hundred.  Two servers that collect garbage take turns and need "
	"none."},

{"proxy.connections_max", KEY_COUNT, PLACE(config, proxy.connections_max),
	RANGE(1, 1000000), .fallback = "32768",
	.meaning = "Client connections, and so requests at one time; more are "
	"refused.  Each takes a descriptor: with a lower limit on open files "
	"fewer are allowed, which is logged.  All may wait for a server at "
	"once; such a request takes about 3 KiB including its connection, "
	"plus its head and body."},
{"proxy.connections_per_address_max", KEY_COUNT,
	PLACE(config, proxy.connections_per_address_max), RANGE(0, 1000000),
	.fallback = "8192",
	.meaning = "Connections of one client address, by /64 in IPv6; more "
	"are closed.  The default is a quarter of connections_max, and more "
	"than a company behind one address has.  At most an eighth of them may "
	"have an incomplete request, for example an upload; one more gets 429.  "
	"0 for no limit, where a load balancer sends everything from one "
	"address and can name no client.  Not for this machine's addresses "
	"(127.0.0.0/8 and ::1), clients on UNIX sockets, and proxy.trust."},
{"proxy.queue_timeout", KEY_DURATION, PLACE(config, proxy.queue_timeout_ns),
	RANGE(0, 3600 * S), .unit = "s", .fallback = "60s",
	.meaning = "How long a request may wait for a connection to a server "
	"that is up; then 503.  After "
	"a second a request may also go to a standby that is less than half "
	"full.  As long as the request_timeout: while both servers pause, a "
	"late response is better than an error."},
{"proxy.server_wait", KEY_DURATION, PLACE(config, proxy.server_wait_ns),
	RANGE(0, 600 * S), .unit = "s", .fallback = "5s",
	.meaning = "How long they may wait while no server is up, as during a "
	"restart of the only one; then 503.  Also how long after the start of "
	"Tailor clients are not accepted if no server is up."},
{"proxy.header_timeout", KEY_DURATION,
	PLACE(config, proxy.header_timeout_ns), RANGE(1 * MS, 600 * S),
	.unit = "s", .fallback = "10s",
	.meaning = "Time limit for a whole request head, from its first byte."},
{"proxy.client_timeout", KEY_DURATION,
	PLACE(config, proxy.client_timeout_ns), RANGE(1 * MS, 3600 * S),
	.unit = "s", .fallback = "30s",
	.meaning = "Time limit for a client that sends nothing of a request "
	"body (408) or reads nothing of its response (closed).  A body that "
	"takes longer must come at 128 bytes per second on average; else 408."},
{"proxy.idle_timeout", KEY_DURATION, PLACE(config, proxy.idle_timeout_ns),
	RANGE(1 * MS, 3600 * S), .unit = "s", .fallback = "75s",
	.meaning = "Time limit of a client connection without a request; above "
	"the minute that load balancers commonly use, so that they close "
	"first."},
{"proxy.connect_timeout", KEY_DURATION,
	PLACE(config, proxy.connect_timeout_ns), RANGE(1 * MS, 600 * S),
	.unit = "s", .fallback = "60s",
	.meaning = "Time limit to connect to a server.  On one machine it "
	"takes microseconds unless the server's backlog is full, as during a "
	"pause; then it is retried every 1 to 64 ms.  A timeout sends the "
	"request to the other server and does not mean that this one is down."},
{"proxy.request_timeout", KEY_DURATION,
	PLACE(config, proxy.request_timeout_ns), RANGE(1 * MS, 3600 * S),
	.unit = "s", .fallback = "60s",
	.meaning = "The deadline of a request over all attempts; then 504.  A "
	"long body, in either direction, may take longer while it makes "
	"progress."},
{"proxy.upstream_idle_timeout", KEY_DURATION,
	PLACE(config, proxy.upstream_idle_timeout_ns),
	RANGE(1 * MS, 3600 * S), .unit = "s", .fallback = "60s",
	.meaning = "Time limit of a server connection without a request.  Set "
	"it below the server's own limit, so that Tailor closes first."},
{"proxy.stop_timeout", KEY_DURATION, PLACE(config, proxy.stop_timeout_ns),
	RANGE(0, 3600 * S), .unit = "s", .fallback = "30s",
	.meaning = "How long a graceful stop waits for requests in flight; the "
	"rest is cut and counted in the last log line.  Idle connections are "
	"kept for a thirtieth of it (a second), so that a request already on "
	"its way gets a response, with Connection: close, and not a reset.  A "
	"second SIGTERM stops at once."},
{"proxy.tunnel_timeout", KEY_DURATION,
	PLACE(config, proxy.tunnel_timeout_ns), RANGE(1 * MS, 86400 * S),
	.unit = "s", .fallback = "3600s",
	.meaning = "Time limit of a WebSocket connection without bytes from "
	"either side."},
{"proxy.body_max", KEY_BYTES, PLACE(config, proxy.body_max_bytes),
	RANGE(0, 1024 * G), .fallback = "1G",
	.meaning = "Largest request body; larger ones get 413.  A head of more "
	"than 16k or 100 fields gets 431, and 414 if its first line is that "
	"long; of a server's response, 502.  A request whose head would grow "
	"by more than 1 KiB on its way (with a Host of several hundred bytes, "
	"which is named up to three times) may get 431 below that."},
{"proxy.spool_directory", KEY_PATH, PLACE(config, proxy.spool_directory),
	.fallback = "{state}/spool",
	.meaning = "Directory for bytes that wait for a slow peer and exceed "
	"memory: request bodies above hedging.body_max, until they are whole, "
	"and unread responses of slow clients.  Its files have no names.  "
	"Better on a disk than in memory (tmpfs): files are written to the "
	"page cache, which the kernel empties to the disk.  \"\": no files; "
	"larger bodies get 503, and a client that does not read stops its "
	"server's response."},
{"proxy.spool_max", KEY_BYTES, PLACE(config, proxy.spool_max_bytes),
	RANGE(0, 1024 * G), .fallback = "4G",
	.meaning = "All such files together, responses half of it at most, and "
	"one response a 64th: then reading from its server pauses until the "
	"client has read it.  A request body without room gets 503."},
{"proxy.add_fields", KEY_FLAGS, .choices = fields_added,
	.fallback = "server-timing",
	.meaning = "Fields that are added besides X-Forwarded-*: to responses "
	"Server-Timing, for clients that proxy.trust or talechain.allow names; "
	"to requests Via, as RFC 9110 7.6.3 demands of gateways (off, as in "
	"HAProxy and nginx: nginx does not compress responses to requests with "
	"Via, gzip_proxied), and Forwarded (RFC 7239) with the client and the "
	"host."},
{"proxy.pass_fields", KEY_FLAGS, .choices = fields_passed, .fallback = "",
	.meaning = "Fields that are passed on though they are dropped by "
	"default: those with an underscore in their name, because many "
	"servers treat Content_Length as Content-Length; and a chunked "
	"response's trailers, without those of framing, routing and access, "
	"to clients that send TE: trailers."},
{"proxy.websocket", KEY_BOOL, PLACE(config, proxy.websocket),
	.fallback = "false",
	.meaning = "Allow upgrades to WebSocket: after the server's 101 bytes "
	"pass in both directions unread.  Such a request is never sent twice.  "
	"All other upgrades are ignored, h2c among them."},
{"proxy.cpu", KEY_CPU, PLACE(config, proxy.cpu),
	.restart = true, .fallback = "auto",
	.meaning = "The CPU of the proxy thread; auto decides by the machine's "
	"topology, none does not pin."},
{"proxy.trust", KEY_NETWORKS,
	LIST(config, proxy.trust, proxy.networks, CONFIG_NETWORKS),
	.fallback = "",
	.meaning = "Proxies in front of this one: networks, and unix for peers "
	"on UNIX sockets.  Their X-Forwarded-*, Forwarded, x-request-id and "
	"X-Tailor-Hedge fields are trusted, the client in their "
	"X-Forwarded-For is used for talechain.allow and the access log, and "
	"limits per address do not apply to them.  Name only proxies that "
	"write X-Forwarded-For into each request.  None by default, not even "
	"on this machine: any client can write such a field."},
{"profiler.poll", KEY_CHOICE, PLACE(config, profiler.poll),
	.choices = polls, BESIDE(config, profiler.sleep_ns),
	.argument = "200us", RANGE(1 * US, 100 * MS), .unit = "us",
	.restart = true, .fallback = "auto",
	.meaning = "How the observer waits between two sweeps while requests "
	"are in flight: spin not at all, relax with the CPU's pause "
	"instruction, sleep in the kernel (200 us, short beside any pause "
	"worth a swap).  auto is relax on an SMT sibling of the proxy, else "
	"sleep; it is logged.  While no request is in flight it rests in the "
	"kernel until one comes, but for spin, which never rests.  Gaps of "
	"more than 1 ms between sweeps, or two sleeps, are recorded."},
{"profiler.cpu", KEY_CPU, PLACE(config, profiler.cpu),
	.restart = true, .fallback = "auto",
	.meaning = "The CPU of the observer thread, as proxy.cpu."},
{"profiler.channel_socket", KEY_PATH, PLACE(config, profiler.channel_socket),
	.restart = true,
	.fallback = "{run}/channels-{instance}.sock",
	.meaning = "Socket where agents and applications request channels; "
	"\"\" for none.  At most 512 may be open.  Launched servers find it in "
	"TALECHAIN_SOCKET.  Others "
	"look for channels.sock: a symbolic link in the same directory, made "
	"by the first tailor there if the path has its default; those of a "
	"second tailor need TALECHAIN_SOCKET."},
{"profiler.stream", KEY_PATH, PLACE(config, profiler.stream),
	.restart = true,
	.fallback = "/dev/shm/tailor{user}-{instance}.stream",
	.meaning = "File of the timeline stream that tailorctl log and top "
	"read.  It must not be on a disk: writing back its pages would block "
	"the observer.  \"\" keeps it private.  A tailor whose file belongs to "
	"one that runs does not start."},
{"profiler.stream_slots", KEY_COUNT, PLACE(config, profiler.stream_slots),
	RANGE(1024, 16 * M), .power_of_two = true,
	.restart = true, .fallback = "262144",
	.meaning = "Events in the stream, 96 bytes each, before the oldest is "
	"overwritten: 16 MiB, some seconds of a busy service."},
{"profiler.kernel", KEY_CHOICE, PLACE(config, profiler.kernel),
	.choices = kernels, .restart = true, .fallback = "lite",
	.meaning = "Which kernel events of Tailor, its servers and their "
	"connections are recorded.  lite: run queues, TCP, network softirqs, "
	"page faults; full: idle states and every softirq, too; all: and the "
	"servers' system calls, which adds 150 ns to each system call of each "
	"process on the machine.  Needs CAP_BPF and CAP_PERFMON; what is "
	"missing is off, the rest works."},
{"profiler.rates", KEY_FLAGS, .choices = rates, .restart = true,
	.fallback = "ipc,clock",
	.meaning = "What is sampled of the servers and drawn under their lanes "
	"in timelines: instructions per cycle; how fast the CPUs' clocks are; "
	"CPU time; page faults; context switches; requests in their queues; "
	"classes loaded and methods compiled.  The first two need hardware "
	"counters, which most virtual machines lack: then they are off.  "
	"Counters cover up to 128 threads of a server."},

{"slow.target", KEY_DURATION, PLACE(config, slow.target_ns),
	RANGE(0, 600 * S), .unit = "ms", .or_auto = true, .fallback = "auto",
	.meaning = "A request slower than this is slow.  auto: slower than 99 % "
	"of the requests of the last five minutes; 20ms until there were 1000. "
	" With a fixed time a service that always takes longer has slow "
	"requests only, and a fast one has none, however much its latency "
	"varies."},
{"slow.store", KEY_PATH, PLACE(config, slow.store),
	.restart = true,
	.fallback = "{state}/tales-{instance}",
	.meaning = "Directory (mode 0700) where they are kept, so that they "
	"survive a restart; \"\" for memory only, which is also used, and "
	"logged, when the directory cannot be used.  Directories above it are "
	"made too, mode 0750.  A tailor whose directory belongs to one that "
	"runs does not start."},
{"slow.store_bytes", KEY_BYTES, PLACE(config, slow.store_bytes),
	RANGE(64 * K, 64 * G), .restart = true, .fallback = "64M",
	.meaning = "Limit of their size there, or in memory.  Tales take a few "
	"kilobytes, with events of the kernel some hundreds, and two of memory "
	"each: one is kept for each 64k of this, then the oldest is dropped."},
{"slow.keep_slowest", KEY_COUNT, PLACE(config, slow.keep_slowest),
	RANGE(0, 64), .fallback = "3",
	.meaning = "Slowest requests of each minute that are kept even if none "
	"was slow, for comparison."},
{"slow.history", KEY_COUNT, PLACE(config, slow.history),
	RANGE(16, 1048576),
	.restart = true, .fallback = "4096",
	.meaning = "Finished requests kept in memory, slow or not; warm-up "
	"uses them."},

{"analysis.cpu", KEY_RATIO, PLACE(config, analysis.cpu),
	RANGE(0, 1), .fallback = "0.02",
	.meaning = "CPU time that examining slow requests may take, as a part of "
	"one CPU; 1: without limit.  When there are more of them, each second "
	"has a share of its slow requests examined, chosen by chance, and the "
	"slowest of each minute; the others are counted "
	"(tailor_slow_left_out_total).  What is asked for, by tailorctl why or "
	"a TaleChain request, is always examined, and first."},

{"talechain.allow", KEY_NETWORKS,
	LIST(config, talechain.allow, talechain.networks, CONFIG_NETWORKS),
	.fallback = "",
	.meaning = "Clients that may use the TaleChain paths (/.talechain/): "
	"networks, and unix for clients on UNIX sockets.  Behind a proxy in "
	"proxy.trust the forwarded client counts.  None by default: a timeline "
	"shows targets of other clients' requests, and every client of a proxy "
	"that is not in proxy.trust comes from that proxy's address.  "
	"tailorctl needs none of this."},
{"talechain.token_file", KEY_PATH, PLACE(config, talechain.token_file),
	.fallback = "",
	.meaning = "A file with a token: one line of 16 to 256 visible ASCII "
	"characters, not readable for other users.  A request with "
	"Authorization: Bearer TOKEN may use the TaleChain paths from any "
	"address.  Read again on a reload.  \"\" for none."},

{"metrics.listen", KEY_SERVE, PLACE(config, metrics.listen),
	.restart = true, .fallback = "",
	.meaning = "An address at which only GET /metrics, /healthz and "
	"/readyz are answered, for a collector on another machine; \"\" for "
	"none.  It can change nothing and shows no request."},
{"metrics.allow", KEY_NETWORKS,
	LIST(config, metrics.allow, metrics.networks, CONFIG_NETWORKS),
	.restart = true, .fallback = "127.0.0.0/8,::1/128,unix",
	.meaning = "Clients that may use metrics.listen: networks, and unix "
	"for clients on UNIX sockets; all others get 403.  This machine by "
	"default."},

{"log.level", KEY_CHOICE, PLACE(config, log.level), .choices = levels,
	.fallback = "notice",
	.meaning = "The lowest level that is written."},
{"log.format", KEY_CHOICE, PLACE(config, log.format), .choices = formats,
	.restart = true,
	.fallback = "text",
	.meaning = "text is for people and the journal, json is one object per "
	"line."},

{"access_log.path", KEY_PATH, PLACE(config, access_log.path),
	.fallback = "",
	.meaning = "The file; \"\" for none.  It is opened again on SIGUSR1, "
	"for logrotate."},
{"access_log.format", KEY_CHOICE, PLACE(config, access_log.format),
	.choices = access_formats, .fallback = "json",
	.meaning = "json is one object per line; text resembles HAProxy's HTTP "
	"log; combined is the format of Apache and nginx."},
{"access_log.redact", KEY_FLAGS, .choices = redactions, .fallback = "",
	.meaning = "What is left out: query is the text after the question "
	"mark of a target and a referer, which may contain secrets; client is the last part "
	"of the client's address (8 bits of IPv4, 80 of IPv6)."},

{"process.user", KEY_TEXT, PLACE(config, process.user),
	.restart = true, .fallback = "",
	.meaning = "When started as root: the user to become once sockets are "
	"bound and kernel sources open, before a server is launched or a "
	"client accepted.  All capabilities are dropped, for launched servers "
	"too.  \"USER:GROUP\" names another group than the user's own.  "
	"\"\": do not change user."},
{"process.core_dumps", KEY_BOOL, PLACE(config, process.core_dumps),
	.restart = true, .fallback = "false",
	.meaning = "Allow a core dump after a crash, if the system does.  It "
	"contains requests and credentials.  Launched servers are not "
	"affected."},
};
/* clang-format on */
const unsigned config_keys_count = sizeof(config_keys) / sizeof(config_keys[0]);

const struct removed_key removed_keys[] = {
    {"servers[].libjvm",
	"replaced by servers[].jvm, as in \"usdt:/path/libjvm.so\""},
    {"servers[].health_fall", "fixed at 3"},
    {"servers[].launch.restart_delay",
	"fixed at 100ms, doubled while the program dies at once"},
    {"servers[].launch.restart_wait",
	"fixed at 10s; tailorctl restart --force does not wait"},
    {"hedging.table_max", "fixed at 64M"},
    {"hedging.inflight_max", "fixed: the server's connections_max"},
    {"hedging.swap_rate_max", "fixed at 20"},
    {"hedging.storm_hold", "fixed at 1s"},
    {"hedging.min_remaining", "fixed: the median time of the other server"},
    {"hedging.commit_bytes", "fixed at 64k"},
    {"hedging.drain_max", "fixed at 1M"},
    {"hedging.drain_timeout", "fixed at 5s"},
    {"hedging.drain_connections",
	"fixed at 256; servers[].loser closes them instead"},
    {"hedging.warming_override", "fixed at 500ms"},
    {"hedging.ready_inflight", "fixed: a tenth of connections_max"},
    {"hedging.timer_probability", "fixed at 1; lower hedging.timer_ratio"},
    {"hedging.timer_cap", "fixed at 1s"},
    {"hedging.timer_percentile",
	"replaced by hedging.timer_delay, as in \"p99\""},
    {"warmup.rate", "fixed at 500 a second"},
    {"warmup.concurrency", "fixed at 2"},
    {"warmup.credentials", "replaced by warmup.fields"},
    {"warmup.p95_factor",
	"fixed at 1.5; warmup.max ends a warm-up in any case"},
    {"proxy.half_open_per_address_max",
	"fixed: an eighth of proxy.connections_per_address_max"},
    {"proxy.inflight_max", "replaced by proxy.connections_max"},
    {"proxy.per_address_exempt",
	"this machine and proxy.trust are exempt; set "
	"proxy.connections_per_address_max to 0 to exempt all"},
    {"proxy.queue_max",
	"fixed: proxy.connections_max; proxy.queue_timeout ends the wait"},
    {"proxy.body_timeout", "replaced by proxy.client_timeout"},
    {"proxy.body_rate_min", "fixed at 128"},
    {"proxy.write_timeout", "replaced by proxy.client_timeout"},
    {"proxy.lingering", "fixed at 2s"},
    {"proxy.stop_idle", "fixed: a thirtieth of proxy.stop_timeout"},
    {"proxy.underscore_pass", "replaced by proxy.pass_fields: \"underscored\""},
    {"proxy.trailers_pass", "replaced by proxy.pass_fields: \"trailers\""},
    {"proxy.via", "replaced by proxy.add_fields: \"via\""},
    {"proxy.forwarded", "replaced by proxy.add_fields: \"forwarded\""},
    {"proxy.server_timing", "replaced by proxy.add_fields: \"server-timing\""},
    {"proxy.proxy_protocol",
	"replaced by listen, as in \"127.0.0.1:8080 proxy_protocol\""},
    {"proxy.keep_alive_requests", "there is no limit any more"},
    {"proxy.strict_authority", "fixed at true"},
    {"proxy.poll", "fixed at sleep"},
    {"proxy.line_max", "fixed at 16k, with all other lines of the head"},
    {"proxy.request_line_max",
	"fixed at 16k, with all other lines of the head"},
    {"proxy.field_line_max", "fixed at 16k, with all other lines of the head"},
    {"proxy.head_max", "fixed at 16k"},
    {"proxy.fields_max", "fixed at 100"},
    {"proxy.stream_buffer", "fixed at 256k"},
    {"proxy.buffers_max", "fixed at 256M"},
    {"proxy.spool_response_max", "fixed: a 64th of proxy.spool_max"},
    {"proxy.spool_files_max",
	"fixed at 4096, or proxy.connections_max if that is less"},
    {"profiler.channels_max", "fixed at 512"},
    {"profiler.blind", "fixed at 1ms"},
    {"profiler.syscalls", "replaced by profiler.kernel: \"all\""},
    {"profiler.kernel_slots", "fixed at 16384"},
    {"profiler.rates_period", "fixed at 10ms"},
    {"slow.keep", "fixed: one for every 64k of slow.store_bytes"},
    {"slow.window", "fixed at 60s"},
    {"access_log.ring", "fixed at 2048"},
    {"process.group", "replaced by process.user, as in \"tailor:adm\""},
};
const unsigned removed_keys_count =
    sizeof(removed_keys) / sizeof(removed_keys[0]);
