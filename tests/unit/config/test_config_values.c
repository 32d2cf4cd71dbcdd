/* Goal: what is written in a file arrives in the struct, in its unit. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "config/keys.h"
#include "talechain/events/hazard.h"
#include "tests/unit/config/helper.h"

#define TRIGGERS(kind) ((c->hedging.triggers & 1U << HAZARD_##kind) != 0)

/* Goal: a default of each type arrives as one that is written. */
TEST(test_defaults)
{
	struct config *c;

	assert_int_equal(config_new(&c), 0);
	assert_int_equal(c->listeners, 0);
	assert_int_equal(c->servers, 0);
	assert_true(TRIGGERS(GC) && TRIGGERS(EXIT) && TRIGGERS(QUOTA));
	assert_false(TRIGGERS(SAFEPOINT));
	assert_int_equal(c->hedging.body_max_bytes, 65536);
	assert_true(c->hedging.budget_ratio == 0.10);
	assert_int_equal(c->proxy.idle_timeout_ns, 75000000000);
	assert_true(!(c->proxy.add_fields & CONFIG_ADD_VIA) &&
		    (c->proxy.add_fields & CONFIG_ADD_SERVER_TIMING));
	assert_int_equal(c->hedging.timer_percentile, 99);
	assert_int_equal(c->hedging.timer_delay_ns, 0);
	assert_string_equal(c->proxy.cpu, "auto");
	assert_int_equal(c->proxy.networks, 0);
	assert_int_equal(c->profiler.poll, CONFIG_POLL_AUTO);
	assert_int_equal(c->profiler.sleep_ns, 200000);
	assert_int_equal(c->slow.target_ns, CONFIG_DURATION_AUTO);
	assert_int_equal(c->log.level, LOG_LEVEL_NOTICE);
	for (unsigned i = 0; i < CONFIG_SERVERS; i++) {
		assert_string_equal(c->server[i].name, i == 0 ? "a" : "b");
		assert_int_equal(c->server[i].address.length, 0);
		assert_int_equal(c->server[i].connections_max, 64);
		assert_int_equal(c->server[i].argc, 0);
	}
	config_free(&c);
	assert_null(c);
	config_free(&c);
}

/* Set a key, which succeeds. */
static void
set(struct config *c, const char *path, const char *text)
{
	struct config_errors errors = {0};

	assert_int_equal(config_set(c, path, text, &errors), 0);
	assert_int_equal(errors.count, 0);
}

/* A configuration of that user's, with its places. */
static struct config *
placed(const char *user)
{
	struct config_errors errors = {0};
	struct config *c;

	assert_int_equal(config_new(&c), 0);
	set(c, "process.user", user);
	set(c, "instance", "blue");
	assert_int_equal(config_name(c, NULL, &errors), 0);
	return c;
}

TEST(test_default_places)
{
	struct config *c;
	char expected[128];

	setenv("RUNTIME_DIRECTORY", "/run/some/where:/run/else", 1);
	c = placed("");
	assert_string_equal(
	    c->admin.text, "unix:/run/some/where/admin-blue.sock");
	assert_int_equal(c->admin.address.ss_family, AF_UNIX);
	assert_string_equal(
	    c->profiler.channel_socket, "/run/some/where/channels-blue.sock");
	config_free(&c);

	/* Too long for a socket's address: the next choice. */
	setenv("RUNTIME_DIRECTORY",
	    "/run/0123456789/0123456789/0123456789/0123456789/0123456789/"
	    "0123456789/0123456789/0123456789",
	    1);
	unsetenv("XDG_RUNTIME_DIR");
	c = placed("");
	if (geteuid() == 0)
		snprintf(expected, sizeof(expected), "/run/tailor");
	else
		snprintf(expected, sizeof(expected), "/tmp/tailor-%u",
		    (unsigned)geteuid());
	assert_memory_equal(
	    c->profiler.channel_socket, expected, strlen(expected));
	if (geteuid() == 0)
		assert_string_equal(
		    c->profiler.stream, "/dev/shm/tailor-blue.stream");
	config_free(&c);
	unsetenv("RUNTIME_DIRECTORY");
}

/* Goal: root that becomes another user has the places of that user, and no
 * other; what is written out is taken as it is. */
TEST(test_places_of_the_user)
{
	struct config_errors errors = {0};
	char stream[64];
	struct config *c;

	if (geteuid() != 0)
		unit_skip("only root becomes another user");
	unsetenv("STATE_DIRECTORY");
	c = placed("daemon:nogroup");
	assert_string_equal(
	    c->admin.text, "unix:/run/tailor-daemon/admin-blue.sock");
	assert_string_equal(
	    c->proxy.spool_directory, "/var/lib/tailor-daemon/spool");
	assert_string_equal(c->slow.store, "/var/lib/tailor-daemon/tales-blue");
	snprintf(stream, sizeof(stream), "/dev/shm/tailor-%u-blue.stream",
	    (unsigned)getpwnam("daemon")->pw_uid);
	assert_string_equal(c->profiler.stream, stream);
	config_free(&c);

	setenv("STATE_DIRECTORY", "/var/lib/x:/var/lib/y", 1);
	c = placed("daemon");
	assert_string_equal(
	    c->proxy.spool_directory, "/var/lib/x/daemon/spool");
	unsetenv("STATE_DIRECTORY");
	set(c, "slow.store", "{state}/a{user}");
	set(c, "admin", "unix:{run}/a");
	set(c, "access_log.path", "/var/lib/tailor/{x}");
	assert_int_equal(
	    config_set(c, "profiler.stream", "{x}/a", &errors), -EINVAL);
	assert_int_equal(config_name(c, NULL, &errors), 0);
	snprintf(stream, sizeof(stream), "/var/lib/tailor-daemon/a-%u",
	    (unsigned)getpwnam("daemon")->pw_uid);
	assert_string_equal(c->slow.store, stream);
	assert_string_equal(c->admin.text, "unix:/run/tailor-daemon/a");
	assert_string_equal(c->access_log.path, "/var/lib/tailor/{x}");
	config_errors_fini(&errors);
	config_free(&c);
}

/* The name that a configuration gets, and its paths. */
static void
check_name(const char *listen, const char *running, const char *expected)
{
	struct config_errors errors = {0};
	char path[128];
	struct config *c;

	setenv("RUNTIME_DIRECTORY", "/run/r", 1);
	assert_int_equal(config_new(&c), 0);
	set(c, "listen", listen);
	set(c, "access_log.path", "/l/{instance}/{instance}.log");
	assert_int_equal(config_name(c, running, &errors), 0);
	assert_string_equal(c->instance, expected);
	snprintf(path, sizeof(path), "unix:/run/r/admin-%s.sock", expected);
	assert_string_equal(c->admin.text, path);
	assert_string_equal(
	    ((struct sockaddr_un *)(void *)&c->admin.address)->sun_path,
	    path + 5);
	snprintf(path, sizeof(path), "/run/r/channels-%s.sock", expected);
	assert_string_equal(c->profiler.channel_socket, path);
	snprintf(path, sizeof(path), "/l/%s/%s.log", expected, expected);
	assert_string_equal(c->access_log.path, path);
	assert_null(strchr(c->profiler.stream, '{'));
	snprintf(path, sizeof(path), "/tales-%s", expected);
	if (strncmp(expected, "pid-", 4) == 0)
		assert_string_equal(c->slow.store, "");
	else
		assert_non_null(strstr(c->slow.store, path));
	config_free(&c);
	unsetenv("RUNTIME_DIRECTORY");
}

/* Goal: the first listener names a tailor, and every path has the name. */
TEST(test_names)
{
	char passing[32];

	check_name(":8080", NULL, "8080");
	check_name("[::1]:81,127.0.0.1:82", NULL, "81");
	check_name("unix:/run/app/front.sock", NULL, "front");
	check_name("unix:/.sock", NULL, ".sock");
	check_name("/run/a b/c d", NULL, "c_d");
	snprintf(passing, sizeof(passing), "pid-%ld", (long)getpid());
	check_name(":0", NULL, passing);
	/* A reload does not rename. */
	check_name(":8080", "blue", "blue");
	check_name(":8080", passing, passing);
	check_name(":0", "8080", "8080");
}

/* Goal: a name of one's own wins; one that makes a path too long is refused
 * where it is used. */
TEST(test_names_of_ones_own)
{
	struct config_errors errors = {0};
	struct config *c;

	assert_int_equal(config_new(&c), 0);
	set(c, "listen", ":0");
	assert_int_equal(
	    config_set(c, "instance", "no/path", &errors), -EINVAL);
	set(c, "instance", "blue");
	assert_int_equal(config_name(c, "8080", &errors), 0);
	assert_string_equal(c->instance, "blue");
	assert_non_null(strstr(c->slow.store, "/tales-blue"));
	config_errors_fini(&errors);

	set(c, "admin",
	    "unix:/0123456789/0123456789/0123456789/0123456789/0123456789/"
	    "0123456789/0123456789/0123456789/01/{instance}");
	set(c, "instance", "01234567890123456789");
	assert_int_equal(config_name(c, NULL, &errors), -EINVAL);
	assert_int_equal(errors.count, 1);
	assert_non_null(strstr(errors.text[0], "at most 107 bytes"));
	config_errors_fini(&errors);
	config_free(&c);
}

TEST(test_a_whole_file)
{
	struct config *c = parse_good(
	    "\xef\xbb\xbf// with a byte order mark\n"
	    "{ /* \" */ \"listen\": [\"127.0.0.1:0\", \"[::1]:80\",],\n"
	    "\"admin\": \"\",\n"
	    "\"servers\": [{\"name\": \"left\", \"address\": "
	    "\"unix:/x // y\", \"jvm\": \"none\",\n"
	    "  \"health\": \"/up?x=1\", \"host\": \"[::1]:80\",\n"
	    "  \"health_status\": [\"204\", \"300-302\"], \"launch\": {\n"
	    "    \"command\": [\"java\", \"-jar\", \"a b.jar\", \"\"],\n"
	    "    \"environment\": {\"A\": \"1 2\", \"_b\": \"\"},\n"
	    "    \"cpus\": \"0-3,8\", \"stop_timeout\": 2.5},},\n"
	    "  {\"address\": \"localhost:65535\"}],\n"
	    "\"hedging\": {\"triggers\": \"safepoint\",\n"
	    "  \"repeatable\": [\"POST /*/_search\", \"PUT /a/**\"],\n"
	    "  \"body_max\": 1000, \"timer_delay\": 0.5},\n"
	    "\"proxy\": {\"cpu\": 3, \"add_fields\": \"via\",\n"
	    "  \"trusted_proxies\": [\"10.0.0.0/8\", \"2001:db8::/32\", "
	    "\"192.168.1.1\", \"unix\"], \"idle_timeout\": \"1.5m\"},\n"
	    "\"profiler\": {\"poll\": \"sleep:250us\", \"stream\": \"\"},\n"
	    "\"log\": {\"level\": \"debug\", \"format\": \"json\"}, }");
	const struct config_server *s = &c->server[0];

	assert_int_equal(c->listeners, 2);
	assert_string_equal(c->listen[1].text, "[::1]:80");
	assert_int_equal(c->admin.length, 0);
	assert_string_equal(s->name, "left");
	assert_string_equal(s->address.text, "unix:/x // y");
	assert_int_equal(s->jvm, CONFIG_JVM_NONE);
	assert_string_equal(s->health, "/up?x=1");
	assert_string_equal(s->host, "[::1]:80");
	for (unsigned status = 0; status < 1000; status++)
		assert_int_equal(config_status_expected(s, status),
		    status == 204 || (status >= 300 && status <= 302));
	assert_true(config_status_expected(&c->server[1], 200));
	assert_false(config_status_expected(&c->server[1], 400));
	assert_int_equal(s->argc, 4);
	assert_string_equal(s->argv[2], "a b.jar");
	assert_string_equal(s->argv[3], "");
	assert_null(s->argv[4]);
	assert_int_equal(s->envc, 2);
	assert_string_equal(s->env[1], "_b=");
	assert_null(s->env[2]);
	assert_string_equal(s->cpus, "0-3,8");
	assert_int_equal(s->stop_timeout_ns, 2500000000);
	assert_string_equal(c->server[1].name, "b");
	assert_true(TRIGGERS(SAFEPOINT));
	assert_false(TRIGGERS(GC) || TRIGGERS(EXIT));
	assert_string_equal(c->hedging.repeatable[1], "PUT /a/**");
	assert_int_equal(c->hedging.body_max_bytes, 1000);
	assert_int_equal(c->hedging.timer_delay_ns, 500000);
	assert_int_equal(c->hedging.timer_percentile, 0);
	assert_true((c->proxy.add_fields & CONFIG_ADD_VIA));
	assert_false((c->proxy.add_fields & CONFIG_ADD_SERVER_TIMING));
	assert_string_equal(c->proxy.cpu, "3");
	assert_int_equal(c->proxy.networks, 4);
	assert_int_equal(c->proxy.trusted_proxies[1].address[1], 0x01);
	assert_int_equal(c->proxy.trusted_proxies[1].bits, 32);
	assert_int_equal(c->proxy.trusted_proxies[2].bits, 32);
	assert_int_equal(c->proxy.trusted_proxies[3].family, AF_UNIX);
	assert_int_equal(c->proxy.trusted_proxies[3].bits, 0);
	assert_int_equal(c->proxy.idle_timeout_ns, 90000000000);
	assert_int_equal(c->profiler.sleep_ns, 250000);
	assert_string_equal(c->profiler.stream, "");
	assert_int_equal(c->log.level, LOG_LEVEL_DEBUG);
	assert_int_equal(c->log.format, LOG_FORMAT_JSON);
	config_free(&c);
}

/* The value of a key as config_write has it, without spaces. */
static void
assert_shows(const struct config *c, const char *path, const char *expected)
{
	char *text = written(c), name[64], *value;
	cJSON *tree = cJSON_Parse(text);
	const cJSON *at = tree;
	int n, server;

	while (sscanf(path, "%63[^.[]%n", name, &n) == 1) {
		at = cJSON_GetObjectItem(at, name);
		path += n;
		if (sscanf(path, "[%d]", &server) == 1) {
			at = cJSON_GetArrayItem(at, server);
			path += 3;
		}
		path += *path == '.';
	}
	value = cJSON_PrintUnformatted(at);
	assert_string_equal(value, expected);
	free(value);
	cJSON_Delete(tree);
	free(text);
}

/* Goal: texts of a command line become values of the key's type; a later one
 * replaces all of an earlier one. */
TEST(test_set)
{
	static const char *const sets[][3] = {
	    {"listen", ":80 proxy_protocol,[::1]:81",
		"[\":80 proxy_protocol\",\"[::1]:81\"]"},
	    {"servers[1].address", "[::1]:9002", "\"[::1]:9002\""},
	    {"servers[0].launch.command", "java -jar  x.jar",
		"[\"java\",\"-jar\",\"x.jar\"]"},
	    {"servers[1].launch.command", "[\"a b\", \"c,d\"]",
		"[\"a b\",\"c,d\"]"},
	    {"servers[0].launch.environment", "A=1 B=2=3",
		"[\"A=1\",\"B=2=3\"]"},
	    {"servers[1].launch.environment", "{\"A\": \"1 2\"}",
		"[\"A=1 2\"]"},
	    {"hedging.mode", "watch", "\"watch\""},
	    {"hedging.triggers", "exit,safepoint", "[\"safepoint\",\"exit\"]"},
	    {"hedging.repeatable", "[\"POST /a,b\"]", "[\"POST /a,b\"]"},
	    {"hedging.budget_ratio", "0.25", "0.25"},
	    {"warmup.fields", "Cookie,X-Tenant", "[\"Cookie\",\"X-Tenant\"]"},
	    {"proxy.websocket", "true", "true"},
	    {"proxy.add_fields", "forwarded,server-timing",
		"[\"server-timing\",\"forwarded\"]"},
	    {"hedging.timer_delay", "p95", "\"p95\""},
	    {"hedging.timer_delay", "7", "\"7ms\""},
	    {"servers[1].jvm", "usdt:/a/libjvm.so", "\"usdt:/a/libjvm.so\""},
	    {"servers[1].jvm", "usdt", "\"usdt\""},
	    {"proxy.header_timeout", "1500ms", "\"1500ms\""},
	    {"proxy.stop_timeout", "5", "\"5s\""},
	    {"profiler.poll", "sleep:75", "\"sleep:75us\""},
	    {"profiler.poll", "sleep", "\"sleep:200us\""},
	    {"profiler.cpu", "1", "\"1\""},
	    {"talechain.allow", "", "[]"},
	    {"listen", ":82", "[\":82\"]"},
	};
	struct config *c;

	assert_int_equal(config_new(&c), 0);
	for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		set(c, sets[i][0], sets[i][1]);
		assert_shows(c, sets[i][0], sets[i][2]);
	}
	assert_int_equal(c->servers, 2);
	config_free(&c);
}

TEST(test_limits_of_lists)
{
	struct config_errors errors = {0};
	struct config *c;

	assert_int_equal(config_new(&c), 0);
	set(c, "listen", ":1,:2,:3,:4,:5,:6,:7,:8");
	assert_int_equal(c->listeners, CONFIG_LISTENERS);
	assert_int_equal(
	    config_set(c, "listen", ":1,:2,:3,:4,:5,:6,:7,:8,:9", &errors),
	    -EINVAL);
	assert_string_equal(
	    errors.text[0], "listen: \":9\": at most 8 are allowed");
	set(c, "servers[0].launch.command",
	    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 "
	    "20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 "
	    "36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 "
	    "52 53 54 55 56 57 58 59 60 61 62 63 64");
	assert_int_equal(c->server[0].argc, CONFIG_ARGS);
	assert_null(c->server[0].argv[CONFIG_ARGS]);
	config_errors_fini(&errors);
	config_free(&c);
}

/* --- addresses ------------------------------------------------------------ */

static void
expect_inet(const char *text, const char *host, unsigned port)
{
	struct config_address a;
	const char *why;
	char shown[INET6_ADDRSTRLEN];
	const struct sockaddr_in *in = (const void *)&a.address;
	const struct sockaddr_in6 *in6 = (const void *)&a.address;

	assert_int_equal(config_address_parse(text, &a, &why), 0);
	assert_string_equal(a.text, text);
	if (a.address.ss_family == AF_INET) {
		assert_int_equal(a.length, sizeof(*in));
		inet_ntop(AF_INET, &in->sin_addr, shown, sizeof(shown));
		assert_int_equal(ntohs(in->sin_port), port);
	} else {
		assert_int_equal(a.address.ss_family, AF_INET6);
		assert_int_equal(a.length, sizeof(*in6));
		inet_ntop(AF_INET6, &in6->sin6_addr, shown, sizeof(shown));
		assert_int_equal(ntohs(in6->sin6_port), port);
	}
	assert_string_equal(shown, host);
	free(a.text);
}

/* What a name stands for besides its first address. */
static void
expect_other(const char *text, int family)
{
	struct config_address a;
	const char *why;
	const struct sockaddr_in6 *in6 = (const void *)&a.other;
	const struct sockaddr_in *in = (const void *)&a.other;

	assert_int_equal(config_address_parse(text, &a, &why), 0);
	assert_int_equal(a.other.ss_family, family);
	if (family == AF_INET6) {
		assert_true(IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr));
		assert_int_equal(ntohs(in6->sin6_port), 80);
	} else if (family == AF_INET) {
		assert_int_equal(in->sin_addr.s_addr, htonl(INADDR_ANY));
		assert_int_equal(ntohs(in->sin_port), 80);
	}
	free(a.text);
}

TEST(test_addresses)
{
#define NO_PORT                                      \
	"the port is missing: write \"HOST:PORT\", " \
	"or \":PORT\" to listen"
	static const char *const bad[][2] = {
	    {"", NO_PORT},
	    {"127.0.0.1", NO_PORT},
	    {"80", "a port needs a colon before it: write \":PORT\" or "
		   "\"HOST:PORT\""},
	    {"127.0.0.1:", "the port is not in 1..65535"},
	    {":65536", "the port is not in 1..65535"},
	    {":-1", "the port is not in 1..65535"},
	    {":080", "the port is not in 1..65535"},
	    {": 80", "the port is not in 1..65535"},
	    {"::1:80", "IPv6 addresses need [brackets]"},
	    {"127.0.0.1:80,127.0.0.1:81", "only one address may be given here"},
	    {"[::1]", "the port is missing after ]"},
	    {"[::1]80", "the port is missing after ]"},
	    {"[]:80", "no IPv6 address in the brackets"},
	    {"[:80", "the port is missing after ]"},
	    {"[127.0.0.1]:80", "no IPv6 address in the brackets"},
	    {"example.org:80",
		"names are not resolved; write the address, or localhost"},
	    {"*:80", "write \":PORT\" for all addresses"},
	    {"256.0.0.1:80",
		"names are not resolved; write the address, or localhost"},
	    {"0123456789012345678901234567890123456789012345678901:80",
		"the host is too long"},
	    {"unix:", "unix: needs an absolute path"},
	    {"unix:x", "unix: needs an absolute path"},
	    {"unix:/01234567890123456789012345678901234567890123456789012345"
	     "6789012345678901234567890123456789012345678901234567",
		"a socket's path has at most 107 bytes"},
	};
	struct config_address a;
	const struct sockaddr_un *un = (const void *)&a.address;
	const char *why;

	expect_inet("127.0.0.1:80", "127.0.0.1", 80);
	expect_inet("localhost:65535", "127.0.0.1", 65535);
	expect_inet(":8080", "::", 8080);
	expect_inet("0.0.0.0:1", "0.0.0.0", 1);
	expect_inet("[::1]:0", "::1", 0);
	expect_other("localhost:80", AF_INET6);
	expect_other(":80", AF_INET);
	expect_other("127.0.0.1:80", AF_UNSPEC);
	expect_other("[::]:80", AF_UNSPEC);
	assert_int_equal(config_address_parse("unix:/a:1", &a, &why), 0);
	assert_int_equal(un->sun_family, AF_UNIX);
	assert_string_equal(un->sun_path, "/a:1");
	assert_int_equal(a.length, offsetof(struct sockaddr_un, sun_path) + 5);
	free(a.text);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
		    config_address_parse(bad[i][0], &a, &why), -EINVAL);
		assert_string_equal(why, bad[i][1]);
	}
}

/* --- quantities ----------------------------------------------------------- */

TEST(test_quantities)
{
	static const struct {
		enum quantity q;
		const char *text;
		uint64_t plain;
		int err;
		uint64_t value;
	} cases[] = {
	    {QUANTITY_DURATION, "250us", 1, 0, 250000},
	    {QUANTITY_DURATION, "1.5s", 1, 0, 1500000000},
	    {QUANTITY_DURATION, "0.000000001s", 1, 0, 1},
	    {QUANTITY_DURATION, "1.50", 1000000, 0, 1500000},
	    {QUANTITY_DURATION, "2h", 1, 0, UINT64_C(7200000000000)},
	    {QUANTITY_DURATION, "0", 1000000, 0, 0},
	    {QUANTITY_DURATION, "1.5ns", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "0.0000000001s", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "1k", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "1 s", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "-1s", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "s", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "1.s", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, ".5s", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "1e3", 1, -EINVAL, 0},
	    {QUANTITY_DURATION, "18446744073709551615ns", 1, 0, UINT64_MAX},
	    {QUANTITY_DURATION, "18446744073709551616ns", 1, -ERANGE, 0},
	    {QUANTITY_DURATION, "18446744073.709551615s", 1, 0, UINT64_MAX},
	    {QUANTITY_DURATION, "18446744073.709551616s", 1, -ERANGE, 0},
	    {QUANTITY_DURATION, "9999999999999s", 1, -ERANGE, 0},
	    {QUANTITY_BYTES, "64k", 1, 0, 65536},
	    {QUANTITY_BYTES, "64K", 1, 0, 65536},
	    {QUANTITY_BYTES, "1.5M", 1, 0, 1572864},
	    {QUANTITY_BYTES, "0.0009765625k", 1, 0, 1},
	    {QUANTITY_BYTES, "0.1k", 1, -EINVAL, 0},
	    {QUANTITY_BYTES, "0.5", 1, -EINVAL, 0},
	    {QUANTITY_BYTES, "1m", 1, -EINVAL, 0},
	    {QUANTITY_COUNT, "17", 1, 0, 17},
	    {QUANTITY_COUNT, "17.0", 1, 0, 17},
	    {QUANTITY_COUNT, "17k", 1, -EINVAL, 0},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = 0;

		assert_int_equal(quantity_parse(cases[i].q, cases[i].text,
				     cases[i].plain, &value),
		    cases[i].err);
		assert_int_equal(value, cases[i].value);
	}
}

TEST(test_quantities_read_back)
{
	for (unsigned round = 0; round < 30000; round++) {
		static const enum quantity kinds[] = {
		    QUANTITY_COUNT, QUANTITY_BYTES, QUANTITY_DURATION};
		enum quantity q = kinds[round % 3];
		uint64_t v, back;
		char text[QUANTITY_TEXT_MAX];

		v = unit_draw(UINT64_MAX) >> unit_draw(64);
		/* Make round numbers common, they are what has a unit. */
		if (round % 2 == 0)
			v = v % 1000 *
			    (q == QUANTITY_BYTES ? 1 << 20 : 1000000);
		assert_int_equal(
		    quantity_parse(q, quantity_format(q, v, text), 1, &back),
		    0);
		assert_int_equal(back, v);
	}
}
