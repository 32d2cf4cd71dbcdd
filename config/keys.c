/* keys.c: the table of keys; see keys.h. */
#include "config/keys.h"

#include "base/log.h"
#include "config/config.h"
#include "talechain/events/counters.h"
#include "talechain/events/hazard.h"
#include "talechain/talechain.h"

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
#define CHOICES(...) CHOICES_OF(__VA_ARGS__,)
#define CHOICES_OF(...)							\
	.choices = (const struct key_choice[]){__VA_ARGS__ {NULL, 0}}
#define COUNTER_CHOICE(symbol, code, ...)				\
	{code, 1U << TALECHAIN_COUNTER_##symbol},
#define HAZARD_CHOICE(symbol, code, ...) {code, 1U << HAZARD_##symbol},
#define HAZARD_CHOICE_WAITED(						\
    symbol, code, words, colour, stops, acted, waited, ...)		\
	HAZARD_IF_##waited({code, 1U << HAZARD_##symbol},)
#define HAZARD_ACTED(symbol, code, words, colour, stops, acted, ...)	\
	HAZARD_IF_##acted("," code)
#define US 1e3
#define MS 1e6
#define S 1e9
#define K 1024.0
#define M (K * K)
#define G (K * M)
/* clang-format on */

const char *const key_sections[] = {"", "servers[]", "servers[].launch",
    "hedging", "warmup", "proxy", "profiler", "slow", "analysis", "blame",
    "talechain", "metrics", "log", "access_log", "process"};
const unsigned key_sections_count =
    sizeof(key_sections) / sizeof(key_sections[0]);

/* clang-format off */
const struct config_key config_keys[] = {
{"listen", KEY_LISTEN, LIST(config, listen, listeners, CONFIG_LISTENERS),
	.fallback = ""},
{"admin", KEY_SERVE, PLACE(config, admin), .restart = true,
	.fallback = "unix:{run}/admin-{instance}.sock"},
{"instance", KEY_NAME_OR_NONE, PLACE(config, instance), .restart = true,
	.fallback = ""},

{"servers[].name", KEY_NAME, PLACE(config_server, name), .restart = true,
	.fallback = "{server}"},
{"servers[].address", KEY_CONNECT, PLACE(config_server, address),
	.restart = true, .fallback = ""},
{"servers[].jvm", KEY_CHOICE, PLACE(config_server, jvm),
	CHOICES({"auto", CONFIG_JVM_AUTO}, {"agent", CONFIG_JVM_AGENT},
	{"hsperfdata", CONFIG_JVM_HSPERFDATA}, {"none", CONFIG_JVM_NONE},
	{"usdt", CONFIG_JVM_USDT}), BESIDE(config_server, libjvm),
	.argument = "", .restart = true, .fallback = "auto"},
{"servers[].collect", KEY_CHOICE, PLACE(config_server, collect),
	CHOICES({"auto", CONFIG_COLLECT_AUTO}, {"agent", CONFIG_COLLECT_AGENT},
	{"periodic", CONFIG_COLLECT_PERIODIC}, {"none", CONFIG_COLLECT_NONE},
	{"http", CONFIG_COLLECT_HTTP}), BESIDE(config_server, collect_target),
	.argument = "", .restart = true, .fallback = "auto"},
{"servers[].connections_max", KEY_COUNT, PLACE(config_server, connections_max),
	RANGE(1, 65535), .fallback = "64"},
{"servers[].streams_max", KEY_COUNT, PLACE(config_server, streams_max),
	RANGE(0, 65535), .fallback = "4096"},
{"servers[].host", KEY_HOST, PLACE(config_server, host), .fallback = ""},
{"servers[].health", KEY_TARGET, PLACE(config_server, health), .fallback = ""},
{"servers[].health_status", KEY_STATUSES,
	LIST(config_server, health_status, health_statuses, CONFIG_STATUSES),
	.fallback = "200-399"},
{"servers[].health_timeout", KEY_DURATION,
	PLACE(config_server, health_timeout_ns), RANGE(1 * MS, 600 * S),
	.unit = "s", .fallback = "2s"},
{"servers[].health_interval", KEY_DURATION,
	PLACE(config_server, health_interval_ns), RANGE(0, 3600 * S),
	.unit = "s", .fallback = "2s"},
{"servers[].health_rise", KEY_COUNT, PLACE(config_server, health_rise),
	RANGE(1, 100), .fallback = "2"},
{"servers[].health_fall", KEY_COUNT, PLACE(config_server, health_fall),
	RANGE(1, 100), .fallback = "3"},
{"servers[].drain_timeout", KEY_DURATION,
	PLACE(config_server, drain_timeout_ns), RANGE(0, 86400 * S),
	.unit = "s", .fallback = "60s"},
{"servers[].launch.command", KEY_ARGUMENTS,
	LIST(config_server, argv, argc, CONFIG_ARGS), .fallback = ""},
{"servers[].launch.environment", KEY_ENVIRONMENT,
	LIST(config_server, env, envc, CONFIG_ARGS), .fallback = ""},
{"servers[].launch.cpus", KEY_CPUS, PLACE(config_server, cpus),
	.fallback = "auto"},
{"servers[].launch.directory", KEY_TEXT, PLACE(config_server, directory),
	.fallback = ""},
{"servers[].launch.output", KEY_TEXT, PLACE(config_server, output),
	.fallback = ""},
{"servers[].launch.stop_timeout", KEY_DURATION,
	PLACE(config_server, stop_timeout_ns), RANGE(0, 600 * S), .unit = "s",
	.fallback = "10s"},

{"hedging.mode", KEY_CHOICE, PLACE(config, hedging.mode),
	CHOICES({"act", CONFIG_MODE_ACT}, {"watch", CONFIG_MODE_WATCH}),
	.fallback = "act"},
{"hedging.triggers", KEY_FLAGS, PLACE(config, hedging.triggers),
	CHOICES_OF(HAZARD_KINDS(HAZARD_CHOICE)),
	.fallback = &("" HAZARD_KINDS(HAZARD_ACTED))[1]},
{"hedging.steer", KEY_BOOL, PLACE(config, hedging.steer),
	.fallback = "false"},
{"hedging.allow", KEY_RULES,
	LIST(config, hedging.allow, hedging.allow_rules, CONFIG_RULES),
	.fallback = ""},
{"hedging.body_max", KEY_BYTES, PLACE(config, hedging.body_max_bytes),
	RANGE(0, 16 * M), .fallback = "64k"},
{"hedging.budget_ratio", KEY_RATIO, PLACE(config, hedging.budget_ratio),
	RANGE(0, 1), .fallback = "0.1"},
{"hedging.budget_burst", KEY_COUNT, PLACE(config, hedging.budget_burst),
	RANGE(0, 1000000), .fallback = "0"},
{"hedging.wait_out", KEY_FLAGS, PLACE(config, hedging.wait_out),
	CHOICES_OF(HAZARD_KINDS(HAZARD_CHOICE_WAITED)),
	.fallback = "safepoint,quota"},
{"hedging.commit_delay", KEY_DURATION, PLACE(config, hedging.commit_delay_ns),
	RANGE(0, 1 * S), .unit = "ms", .fallback = "1ms"},
{"hedging.timer_ratio", KEY_RATIO, PLACE(config, hedging.timer_ratio),
	RANGE(0, 1), .fallback = "0"},
{"hedging.timer_delay", KEY_DELAY, PLACE(config, hedging.timer_delay_ns),
	BESIDE(config, hedging.timer_percentile), RANGE(1 * US, 600 * S),
	.unit = "ms", .fallback = "p99"},

{"warmup.requests", KEY_COUNT, PLACE(config, warmup.requests),
	RANGE(0, 1000000), .fallback = "200"},
{"warmup.max", KEY_DURATION, PLACE(config, warmup.max_ns), RANGE(0, 600 * S),
	.unit = "s", .fallback = "10s"},
{"warmup.fields", KEY_FIELDS,
	LIST(config, warmup.fields, warmup.field_names, CONFIG_FIELDS),
	.fallback = ""},
{"warmup.exclude", KEY_PATTERNS,
	LIST(config, warmup.exclude, warmup.exclude_patterns, CONFIG_RULES),
	.fallback = ""},
{"warmup.target", KEY_TARGET, PLACE(config, warmup.target), .fallback = ""},
{"warmup.mirror", KEY_RATIO, PLACE(config, warmup.mirror), RANGE(0, 1),
	.fallback = "0"},

{"proxy.connections_max", KEY_COUNT, PLACE(config, proxy.connections_max),
	RANGE(1, 1000000), .fallback = "32768"},
{"proxy.connections_per_address_max", KEY_COUNT,
	PLACE(config, proxy.connections_per_address_max), RANGE(0, 1000000),
	.fallback = "8192"},
{"proxy.queue_timeout", KEY_DURATION, PLACE(config, proxy.queue_timeout_ns),
	RANGE(0, 3600 * S), .unit = "s", .fallback = "60s"},
{"proxy.server_wait", KEY_DURATION, PLACE(config, proxy.server_wait_ns),
	RANGE(0, 600 * S), .unit = "s", .fallback = "5s"},
{"proxy.header_timeout", KEY_DURATION, PLACE(config, proxy.header_timeout_ns),
	RANGE(1 * MS, 600 * S), .unit = "s", .fallback = "10s"},
{"proxy.client_timeout", KEY_DURATION, PLACE(config, proxy.client_timeout_ns),
	RANGE(1 * MS, 3600 * S), .unit = "s", .fallback = "30s"},
{"proxy.idle_timeout", KEY_DURATION, PLACE(config, proxy.idle_timeout_ns),
	RANGE(1 * MS, 3600 * S), .unit = "s", .fallback = "75s"},
{"proxy.connect_timeout", KEY_DURATION, PLACE(config, proxy.connect_timeout_ns),
	RANGE(1 * MS, 600 * S), .unit = "s", .fallback = "60s"},
{"proxy.request_timeout", KEY_DURATION, PLACE(config, proxy.request_timeout_ns),
	RANGE(1 * MS, 3600 * S), .unit = "s", .fallback = "60s"},
{"proxy.upstream_idle_timeout", KEY_DURATION,
	PLACE(config, proxy.upstream_idle_timeout_ns), RANGE(1 * MS, 3600 * S),
	.unit = "s", .fallback = "60s"},
{"proxy.stop_timeout", KEY_DURATION, PLACE(config, proxy.stop_timeout_ns),
	RANGE(0, 3600 * S), .unit = "s", .fallback = "30s"},
{"proxy.stop_streams", KEY_DURATION, PLACE(config, proxy.stop_streams_ns),
	RANGE(0, 86400 * S), .unit = "s", .fallback = "5s"},
{"proxy.tunnel_timeout", KEY_DURATION, PLACE(config, proxy.tunnel_timeout_ns),
	RANGE(1 * MS, 86400 * S), .unit = "s", .fallback = "3600s"},
{"proxy.body_max", KEY_BYTES, PLACE(config, proxy.body_max_bytes),
	RANGE(0, 1024 * G), .fallback = "1G"},
{"proxy.spool_directory", KEY_PATH, PLACE(config, proxy.spool_directory),
	.fallback = "{state}/spool"},
{"proxy.spool_max", KEY_BYTES, PLACE(config, proxy.spool_max_bytes),
	RANGE(0, 1024 * G), .fallback = "4G"},
{"proxy.add_fields", KEY_FLAGS, PLACE(config, proxy.add_fields),
	CHOICES({"server-timing", CONFIG_ADD_SERVER_TIMING},
	{"via", CONFIG_ADD_VIA}, {"forwarded", CONFIG_ADD_FORWARDED}),
	.fallback = "server-timing"},
{"proxy.pass_fields", KEY_FLAGS, PLACE(config, proxy.pass_fields),
	CHOICES({"underscored", CONFIG_PASS_UNDERSCORED},
	{"trailers", CONFIG_PASS_TRAILERS}), .fallback = ""},
{"proxy.websocket", KEY_BOOL, PLACE(config, proxy.websocket),
	.fallback = "false"},
{"proxy.cpu", KEY_CPU, PLACE(config, proxy.cpu), .restart = true,
	.fallback = "auto"},
{"proxy.trust", KEY_NETWORKS,
	LIST(config, proxy.trust, proxy.networks, CONFIG_NETWORKS),
	.fallback = ""},
{"profiler.poll", KEY_CHOICE, PLACE(config, profiler.poll),
	CHOICES({"auto", CONFIG_POLL_AUTO}, {"spin", CONFIG_POLL_SPIN},
	{"relax", CONFIG_POLL_RELAX}, {"sleep", CONFIG_POLL_SLEEP}),
	BESIDE(config, profiler.sleep_ns), .argument = "200us",
	RANGE(1 * US, 100 * MS), .unit = "us", .restart = true,
	.fallback = "auto"},
{"profiler.cpu", KEY_CPU, PLACE(config, profiler.cpu), .restart = true,
	.fallback = "auto"},
{"profiler.channel_socket", KEY_PATH, PLACE(config, profiler.channel_socket),
	.restart = true, .fallback = "{run}/channels-{instance}.sock"},
{"profiler.stream", KEY_PATH, PLACE(config, profiler.stream), .restart = true,
	.fallback = "/dev/shm/tailor{user}-{instance}.stream"},
{"profiler.stream_slots", KEY_COUNT, PLACE(config, profiler.stream_slots),
	RANGE(1024, 16 * M), .power_of_two = true, .restart = true,
	.fallback = "262144"},
{"profiler.kernel", KEY_CHOICE, PLACE(config, profiler.kernel),
	CHOICES({"off", CONFIG_KERNEL_OFF}, {"lite", CONFIG_KERNEL_LITE},
	{"sums", CONFIG_KERNEL_SUMS}, {"full", CONFIG_KERNEL_FULL},
	{"all", CONFIG_KERNEL_ALL}),
	.restart = true, .fallback = "lite"},
{"profiler.kernel_events", KEY_COUNT, PLACE(config, profiler.kernel_events),
	RANGE(1000, M), .restart = true, .fallback = "50000"},
{"profiler.stacks", KEY_BOOL, PLACE(config, profiler.stacks), .restart = true,
	.fallback = "true"},
{"profiler.rates", KEY_FLAGS, PLACE(config, profiler.rates),
	CHOICES({"ipc", 1U << TALECHAIN_RATE_IPC},
	{"clock", 1U << TALECHAIN_RATE_CLOCK},
	{"cpu", 1U << TALECHAIN_RATE_CPU},
	{"page_faults", 1U << TALECHAIN_RATE_PAGE_FAULTS},
	{"switches", 1U << TALECHAIN_RATE_SWITCHES},
	{"queue", 1U << TALECHAIN_RATE_QUEUE},
	{"classes", 1U << TALECHAIN_RATE_CLASSES},
	{"compiled", 1U << TALECHAIN_RATE_COMPILED},
	{"heap", 1U << TALECHAIN_RATE_HEAP}), .restart = true,
	.fallback = "ipc,clock,heap"},
{"profiler.counters", KEY_FLAGS, PLACE(config, profiler.counters),
	CHOICES_OF(TALECHAIN_COUNTERS(COUNTER_CHOICE)),
	.restart = true, .fallback = ""},

{"slow.target", KEY_DURATION, PLACE(config, slow.target_ns), RANGE(0, 600 * S),
	.unit = "ms", .or_auto = true, .fallback = "auto"},
{"slow.store", KEY_PATH, PLACE(config, slow.store), .restart = true,
	.fallback = "{state}/tales-{instance}"},
{"slow.store_bytes", KEY_BYTES, PLACE(config, slow.store_bytes),
	RANGE(1 * M, 64 * G), .restart = true, .fallback = "64M"},
{"slow.keep_slowest", KEY_COUNT, PLACE(config, slow.keep_slowest), RANGE(0, 64),
	.fallback = "3"},
{"slow.history", KEY_COUNT, PLACE(config, slow.history), RANGE(16, 1048576),
	.restart = true, .fallback = "4096"},

{"analysis.cpu", KEY_RATIO, PLACE(config, analysis.cpu), RANGE(0, 1),
	.fallback = "0.02"},
{"analysis.accounts", KEY_COUNT, PLACE(config, analysis.accounts),
	RANGE(0, 1000), .fallback = "4"},

{"blame.classes", KEY_CLASSES,
	LIST(config, blame.classes, blame.class_count, CONFIG_CLASSES),
	.fallback = ""},
{"blame.store_bytes", KEY_BYTES, PLACE(config, blame.store_bytes),
	RANGE(1 * M, 64 * G), .restart = true, .fallback = "192M"},

{"talechain.allow", KEY_NETWORKS,
	LIST(config, talechain.allow, talechain.networks, CONFIG_NETWORKS),
	.fallback = ""},
{"talechain.token_file", KEY_PATH, PLACE(config, talechain.token_file),
	.fallback = ""},

{"metrics.listen", KEY_SERVE, PLACE(config, metrics.listen), .restart = true,
	.fallback = ""},
{"metrics.allow", KEY_NETWORKS,
	LIST(config, metrics.allow, metrics.networks, CONFIG_NETWORKS),
	.restart = true, .fallback = "127.0.0.0/8,::1/128,unix"},

{"log.level", KEY_CHOICE, PLACE(config, log.level),
	CHOICES({"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING},
	{"notice", LOG_LEVEL_NOTICE}, {"info", LOG_LEVEL_INFO},
	{"debug", LOG_LEVEL_DEBUG}), .fallback = "notice"},
{"log.format", KEY_CHOICE, PLACE(config, log.format),
	CHOICES({"text", LOG_FORMAT_TEXT}, {"json", LOG_FORMAT_JSON}),
	.restart = true, .fallback = "text"},

{"access_log.path", KEY_PATH, PLACE(config, access_log.path), .fallback = ""},
{"access_log.format", KEY_CHOICE, PLACE(config, access_log.format),
	CHOICES({"json", CONFIG_ACCESS_JSON}, {"text", CONFIG_ACCESS_TEXT},
	{"combined", CONFIG_ACCESS_COMBINED}),
	.fallback = "json"},
{"access_log.redact", KEY_FLAGS, PLACE(config, access_log.redact),
	CHOICES({"query", CONFIG_REDACT_QUERY},
	{"client", CONFIG_REDACT_CLIENT}), .fallback = ""},

{"process.user", KEY_TEXT, PLACE(config, process.user), .restart = true,
	.fallback = ""},
{"process.core_dumps", KEY_BOOL, PLACE(config, process.core_dumps),
	.restart = true, .fallback = "false"},
};
/* clang-format on */
const unsigned config_keys_count = sizeof(config_keys) / sizeof(config_keys[0]);
