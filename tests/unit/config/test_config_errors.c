/* Goal: every mistake is reported, at its place, with what is right. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <unistd.h>

#include "base/nearest.h"
#include "tests/unit/config/helper.h"

static const struct {
	const char *text;
	const char *errors;
} bad[] = {
    /* --- not JSON: one error, where reading ended --------------------- */
    {"", "t:1:1: the file is empty\n"},
    {" // nothing\n", "t:1:1: the file is empty\n"},
    {"{", "t:1:1: this { is not closed\n"},
    {"{\n\"log\": {}\n", "t:1:1: this { is not closed\n"},
    {"{\"log\" {}}", "t:1:8: unexpected '{'\n"},
    {"{\"a\": 1\n \"b\": 2}",
	"t:2:2: a comma or colon is missing before this text\n"},
    {"{,}", "t:1:3: unexpected '}'\n"},
    {"{\"listen\": [,]}", "t:1:13: unexpected ','\n"},
    {"{\"listen\": [\":1\",,]}", "t:1:18: unexpected ','\n"},
    {"{}}", "t:1:3: unexpected '}'\n"},
    {"{} {}", "t:1:4: unexpected '{'\n"},
    {"{\"a\": \"b\n\"}", "t:1:7: this quote is not closed\n"},
    {"{\"a\": b\",\n}", "t:1:7: unexpected b; names and text need double "
			"quotes\n"},
    {"{\"a\": :80\",\n}", "t:1:10: this quote is unmatched: is a quote "
			  "before it missing?\n"},
    {"{\"a\": \"b", "t:1:7: this quote is not closed\n"},
    {"{\"a\": \"b\tc\"}", "t:1:9: control byte 0x09 inside a text\n"},
    {"{\"a\": \"\\q\"}", "t:1:8: unknown escape\n"},
    {"{\"a\": \"\\ud800\"}", "t:1:8: unknown escape\n"},
    {"{\"a\": \"\\u0000\"}", "t:1:8: \\u0000 inside a text\n"},
    {"{\"a\": \"\xc3\xa9\xff\"}", "t:1:9: byte 0xff is not UTF-8\n"},
    {"{\"a\": \"b\r\n\"}", "t:1:7: this quote is not closed\n"},
    {"{\"a\": \"b\\\n\"}", "t:1:7: this quote is not closed\n"},
    {"{\"a\": [{},\n \"b\": 1}", "t:1:7: this [ is not closed\n"},
    {"{\"a\": {\"b\": 1],\n \"c\": 2}", "t:1:7: this { is not closed\n"},
    {"listen: x", "t:1:1: not JSON: a configuration begins with {, not with "
		  "listen\n"},
    {"{log: {}}", "t:1:2: unexpected log; names and text need double quotes\n"},
    {"{\"a\": yes}",
	"t:1:7: unexpected yes; names and text need double quotes\n"},
    {"{\"a\": 01}", "t:1:7: 01 is not a JSON number\n"},
    {"{\"a\": +1}", "t:1:7: +1 is not a JSON number\n"},
    {"{\"a\": 1.}", "t:1:7: 1. is not a JSON number\n"},
    {"{\"a\": 1e}", "t:1:7: 1e is not a JSON number\n"},
    {"{\n /* open }", "t:2:2: this comment is not closed\n"},
    {"{\v}", "t:1:2: control byte 0x0b\n"},
    {"[[[[[[[[[[[[[[[[[[", "t:1:17: nested deeper than 16\n"},

    /* --- shape --------------------------------------------------------- */
    {"[1]", "t:1:1: must be an object {}\n"},
    {"{\"log\": []}", "t:1:2: log: must be an object {}\n"},
    {"{\"servers\": {}}",
	"t:1:2: servers: must be a list [] of objects, even for one\n"},
    {"{\"servers\": [1, {}]}",
	"t:1:14: servers[0]: must be an object like {\"address\": "
	"\"127.0.0.1:9001\"}\n"},
    {"{\"servers\": [{}, {}, {}]}",
	"t:1:22: servers: at most 2 are allowed, an active one and a "
	"backup\n"},

    /* --- names --------------------------------------------------------- */
    {"{\"hedgign\": {}}",
	"t:1:2: hedgign: unknown key; did you mean hedging?\n"},
    {"{\"server\": []}", "t:1:2: server: unknown key; did you mean servers?\n"},
    {"{\"proxy\": {\"haeder_timeout\": 1}}",
	"t:1:12: proxy.haeder_timeout: unknown key; did you mean "
	"proxy.header_timeout?\n"},
    {"{\"header_timeout\": 1}",
	"t:1:2: header_timeout: unknown key; did you mean "
	"proxy.header_timeout?\n"},
    {"{\"servers\": [{}, {\"adress\": \"\"}]}",
	"t:1:19: servers[1].adress: unknown key; did you mean "
	"servers[1].address?\n"},
    {"{\"servers\": [{\"lanch\": {}}]}",
	"t:1:15: servers[0].lanch: unknown key; did you mean "
	"servers[0].launch?\n"},
    {"{\"xyzzy\": {\"listen\": 1}}", "t:1:2: xyzzy: unknown key\n"},
    {"{\"\": 1}", "t:1:2: \"\": unknown key\n"},
    {"{\"servers[]\": {}}", "t:1:2: \"servers[]\": unknown key; did you "
			    "mean servers?\n"},
    {"{\"log.level\": \"info\"}",
	"t:1:2: \"log.level\": unknown key; did you mean log.level?\n"},
    {"{\"log\": {\"level\": \"info\",\n\"level\": \"info\"}}",
	"t:2:1: log.level: given twice, first at 1:10\n"},
    {"{\"log\": {}, \"\\u006cog\": {}}",
	"t:1:13: log: given twice, first at 1:2\n"},
    {"{\"a\\nb\": 1}", "t:1:2: a?b: unknown key\n"},

    /* --- values -------------------------------------------------------- */
    {"{\"hedging\": {\"mode\": \"watsh\"}}",
	"t:1:22: hedging.mode: \"watsh\" is not one of \"act\", \"watch\"; "
	"did you mean \"watch\"?\n"},
    {"{\"hedging\": {\"mode\": 1}}",
	"t:1:22: hedging.mode: 1 is not one of \"act\", \"watch\"\n"},
    {"{\"access_log\": {\"redact\": [\"query\", \"clinet\"]}}",
	"t:1:37: access_log.redact: \"clinet\" is not one of \"query\", "
	"\"client\"; did you mean \"client\"?\n"},
    {"{\"access_log\": {\"redact\": 1}}",
	"t:1:27: access_log.redact: 1 is not a list of \"query\", "
	"\"client\"\n"},
    {"{\"hedging\": {\"body_max\": \"17M\"}}",
	"t:1:26: hedging.body_max: \"17M\" is not a size in 0..16M (a plain "
	"number is in bytes)\n"},
    {"{\"hedging\": {\"budget_ratio\": -0.1}}",
	"t:1:30: hedging.budget_ratio: -0.1 is not a number in 0..1\n"},
    {"{\"proxy\": {\"header_timeout\": 0}}",
	"t:1:30: proxy.header_timeout: 0 is not a duration in 1ms..600s (a "
	"plain number is in s)\n"},
    {"{\"proxy\": {\"header_timeout\": \"5 s\"}}",
	"t:1:30: proxy.header_timeout: \"5 s\": the units are h, m, s, ms, us "
	"and ns\n"},
    {"{\"proxy\": {\"body_max\": \"10MB\"}}",
	"t:1:24: proxy.body_max: \"10MB\": the units are k, M and G\n"},
    {"{\"slow\": {\"keep_slowest\": 1.5}}",
	"t:1:27: slow.keep_slowest: 1.5 is not a whole number in 0..64\n"},
    {"{\"slow\": {\"keep_slowest\": 1e300}}",
	"t:1:27: slow.keep_slowest: 1e+300 is not a whole number in 0..64\n"},
    {"{\"slow\": {\"keep_slowest\": null}}",
	"t:1:27: slow.keep_slowest: null is not a whole number in 0..64\n"},
    {"{\"proxy\": {\"websocket\": \"true\"}}",
	"t:1:25: proxy.websocket: \"true\" is not true or false\n"},
    {"{\"proxy\": {\"add_fields\": \"vai\"}}",
	"t:1:26: proxy.add_fields: \"vai\" is not one of \"server-timing\", "
	"\"via\", \"forwarded\"; did you mean \"via\"?\n"},
    {"{\"hedging\": {\"timer_delay\": \"p49\"}}",
	"t:1:29: hedging.timer_delay: \"p49\" is not a duration in 1us..600s "
	"(a plain number is in ms) or a percentile in \"p50\"..\"p100\"\n"},
    {"{\"hedging\": {\"timer_delay\": 0}}",
	"t:1:29: hedging.timer_delay: 0 is not a duration in 1us..600s (a "
	"plain number is in ms) or a percentile in \"p50\"..\"p100\"\n"},
    {"{\"servers\": [{\"jvm\": \"usdt:x\"}, {\"jvm\": \"none:/x\"}]}",
	"t:1:22: servers[0].jvm: \"usdt:x\" is not one of \"auto\", "
	"\"agent\", \"hsperfdata\", \"none\", \"usdt\" or \"usdt:\" and an "
	"absolute path\n"
	"t:1:41: servers[1].jvm: \"none:/x\" is not one of \"auto\", "
	"\"agent\", \"hsperfdata\", \"none\", \"usdt\" or \"usdt:\" and an "
	"absolute path\n"},
    {"{\"listen\": [\":80 proxy_protocol\", \"x proxy_protocol\"]}",
	"t:1:35: listen: \"x proxy_protocol\": the port is missing: write "
	"\"HOST:PORT\", or \":PORT\" to listen\n"},
    {"{\"proxy\": {\"cpu\": \"0-1\"}}",
	"t:1:19: proxy.cpu: \"0-1\" is not \"auto\", \"none\" or the number "
	"of a CPU\n"},
    {"{\"proxy\": {\"trusted_proxies\": [\"10.0.0.1/8\", \"x\"]}}",
	"t:1:32: proxy.trusted_proxies: \"10.0.0.1/8\": an address within the "
	"network; write \"10.0.0.0/8\"\n"},
    {"{\"proxy\": {\"trusted_proxies\": [\"10.0.0.0/33\"]}}",
	"t:1:32: proxy.trusted_proxies: \"10.0.0.0/33\": the part after / is "
	"not in "
	"0..32\n"},
    {"{\"profiler\": {\"stream_slots\": 5000}}",
	"t:1:31: profiler.stream_slots: 5000 is not a power of two in "
	"1024..16777216\n"},
    {"{\"profiler\": {\"poll\": \"sleep:1s\"}}",
	"t:1:23: profiler.poll: \"sleep:1s\" is not one of \"auto\", "
	"\"spin\", \"relax\", \"sleep\" or \"sleep:\" and a duration in "
	"1us..100ms (a plain number is in us)\n"},
    {"{\"profiler\": {\"stream\": \"x\"}}",
	"t:1:25: profiler.stream: \"x\" is not \"\" or an absolute path\n"},
    {"{\"listen\": [\":80\", \"foo\", \":x\"]}",
	"t:1:20: listen: \"foo\": the port is missing: write "
	"\"HOST:PORT\", or \":PORT\" to listen\n"},
    {"{\"servers\": [{\"address\": \"http://127.0.0.1:9001/x\"}]}",
	"t:1:26: servers[0].address: \"http://127.0.0.1:9001/x\": a URL; "
	"write host:port alone: \"127.0.0.1:9001\"\n"},
    {"{\"servers\": [{\"address\": \"http://localhost\"}]}",
	"t:1:26: servers[0].address: \"http://localhost\": a URL; "
	"write host:port alone: \"localhost:80\"\n"},
    {"{\"servers\": [{\"address\": \"http://[::1]\"}]}",
	"t:1:26: servers[0].address: \"http://[::1]\": a URL; "
	"write host:port alone: \"[::1]:80\"\n"},
    {"{\"servers\": [{\"address\": \"http://example.com/\"}]}",
	"t:1:26: servers[0].address: \"http://example.com/\": a URL; "
	"write host:port alone, or unix:/path\n"},
    {"{\"listen\": \"https://:8443\"}",
	"t:1:12: listen: \"https://:8443\": TLS is not supported; write "
	"host:port of a listener for plain HTTP\n"},
    {"{\"listen\": [\":80\", 80]}", "t:1:20: listen: 80 is not text\n"},
    {"{\"listen\": 80}",
	"t:1:12: listen: 80 is not a list of addresses like "
	"\"127.0.0.1:8080\", \":8080\", \"[::1]:8080\" or \"unix:/path\"\n"},
    {"{\"servers\": [{\"address\": \"127.0.0.1:0\"}]}",
	"t:1:26: servers[0].address: \"127.0.0.1:0\": the port is not in "
	"1..65535\n"},
    {"{\"servers\": [{\"name\": \"a b\"}]}",
	"t:1:23: servers[0].name: \"a b\" is not a name of 1 to 32 letters, "
	"digits, '.', '_' or '-'\n"},
    {"{\"servers\": [{\"health\": \"x y\"}]}",
	"t:1:25: servers[0].health: \"x y\" is not \"\" or a target like "
	"\"/status?brief\"\n"},
    {"{\"servers\": [{\"launch\": {\"command\": [\"\"]}}]}",
	"t:1:38: servers[0].launch.command: \"\": the program's name is "
	"empty\n"},
    {"{\"servers\": [{\"launch\": {\"command\": \"java -jar a.jar\"}}]}",
	"t:1:37: servers[0].launch.command: \"java -jar a.jar\": no shell "
	"splits it: write a list, with a text for each argument\n"},
    {"{\"servers\": [{\"launch\": {\"environment\": {\"A\": 1}}}]}",
	"t:1:47: servers[0].launch.environment.A: 1 is not text\n"},
    {"{\"servers\": [{\"launch\": {\"environment\": {\"1A\": \"\"}}}]}",
	"t:1:48: servers[0].launch.environment.1A: \"\": a name has letters, "
	"digits and underscores\n"},
    {"{\"servers\": [{\"launch\": {\"environment\": {\"A\": \"\", "
     "\"A\": \"\"}}}]}",
	"t:1:56: servers[0].launch.environment.A: \"\": it is given twice\n"},
    {"{\"hedging\": {\"repeatable\": [\"PUT\"]}}",
	"t:1:29: hedging.repeatable: \"PUT\": a rule is a method, a space and "
	"a "
	"path pattern: write it like \"POST /*/_search\": * is one "
	"segment, ** any number\n"},
    {"{\"warmup\": {\"exclude\": [\"GET /admin\"]}}",
	"t:1:25: warmup.exclude: \"GET /admin\": a path pattern begins "
	"with /\n"},
    {"{\"warmup\": {\"fields\": [\"X-Request-Id\"]}}",
	"t:1:24: warmup.fields: \"X-Request-Id\": it identifies the "
	"client: a copy has none\n"},

    /* --- all at once, in the order of the file -------------------------- */
    {"{\n"
     "  // a comment with a \" quote\n"
     "  \"proxy\": {\"websoket\": true, \"body_max\": \"1k\", /* } */ "
     "\"websocket\": 1},\n"
     "\t\"\xc3\xa9\": 2, \"slow\": {\"target\": \"1d\",},\n"
     "  \"log\": {\"format\": \"jsn\"},\n"
     "}",
	"t:3:13: proxy.websoket: unknown key; did you mean "
	"proxy.websocket?\n"
	"t:3:70: proxy.websocket: 1 is not true or false\n"
	"t:4:2: \xc3\xa9: unknown key\n"
	"t:4:29: slow.target: \"1d\": the units are h, m, s, ms, us and ns\n"
	"t:5:21: log.format: \"jsn\" is not one of \"text\", \"json\"; did "
	"you mean \"json\"?\n"},
};

TEST(test_exact_messages)
{
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct config_errors errors = {0};
		struct config *c;
		char *text;

		assert_int_equal(config_parse(&c, bad[i].text,
				     strlen(bad[i].text), "t", &errors),
		    -EINVAL);
		assert_null(c);
		text = errors_joined(&errors);
		assert_string_equal(text, bad[i].errors);
		free(text);
		config_errors_fini(&errors);
	}
}

TEST(test_nul_byte)
{
	struct config_errors errors = {0};
	struct config *c;

	assert_int_equal(config_parse(&c, "{}\0{}", 5, "t", &errors), -EINVAL);
	assert_string_equal(errors.text[0], "t:1:3: byte 0x00");
	config_errors_fini(&errors);
}

TEST(test_thousands_of_errors_stop_at_a_hundred)
{
	struct config_errors errors = {0};
	struct config *c;
	char *text;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	fputc('{', f);
	for (int i = 0; i < 50000; i++)
		fprintf(f, "\"k%d\": 1,\n", i);
	fputc('}', f);
	fclose(f);
	assert_int_equal(config_parse(&c, text, length, "t", &errors), -EINVAL);
	assert_int_equal(errors.count, 101);
	assert_string_equal(errors.text[99], "t:100:1: k99: unknown key");
	assert_string_equal(
	    errors.text[100], "more errors follow; these are the first 100");
	config_errors_fini(&errors);
	free(text);
}

TEST(test_files)
{
	char path[] = "/tmp/tailor-test-XXXXXX";
	struct config_errors errors = {0};
	static char spaces[(1 << 20) + 1];
	char expected[128];
	struct config *c;
	int fd;

	assert_int_equal(
	    config_load(&c, "/nonexistent", true, &errors), -ENOENT);
	assert_null(c);
	assert_string_equal(errors.text[0],
	    "/nonexistent: cannot be read: No such file or directory; name "
	    "another file with -c");
	config_errors_fini(&errors);
	assert_int_equal(config_load(&c, "/tmp", true, &errors), -EISDIR);
	assert_int_equal(errors.count, 1);
	config_errors_fini(&errors);

	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"log\": {}}\n", 12), 12);
	assert_int_equal(config_load(&c, path, true, &errors), 0);
	config_free(&c);
	assert_null(c);
	memset(spaces, ' ', sizeof(spaces));
	assert_int_equal(
	    pwrite(fd, spaces, sizeof(spaces), 12), sizeof(spaces));
	assert_int_equal(config_load(&c, path, true, &errors), -EINVAL);
	snprintf(expected, sizeof(expected), "%s:1:1: larger than 1 MiB", path);
	assert_string_equal(errors.text[0], expected);
	config_errors_fini(&errors);
	close(fd);
	unlink(path);
}

TEST(test_set_messages)
{
	static const struct {
		const char *path, *text, *error;
	} cases[] = {
	    {"hedging.mod", "act",
		"hedging.mod: unknown key; did you mean hedging.mode?"},
	    {"servers[].name", "x",
		"servers[].name: unknown key; did you mean servers[0].name?"},
	    {"servers[2].name", "x",
		"servers[2].name: at most 2 servers: servers[0] and "
		"servers[1]"},
	    {"servers.name", "x",
		"servers.name: unknown key; did you mean servers[0].name?"},
	    {"listen[0]", ":1", "listen[0]: unknown key; did you mean listen?"},
	    {"", "", ": unknown key"},
	    {"servers[1].name", "",
		"servers[1].name: \"\" is not a name of 1 to 32 letters, "
		"digits, '.', '_' or '-'"},
	    {"proxy.websocket", "yes",
		"proxy.websocket: \"yes\" is not true or false"},
	    {"slow.history", "x",
		"slow.history: \"x\" is not a whole number in 16..1048576"},
	    {"servers[0].host", "a b",
		"servers[0].host: \"a b\" is not \"\" or a host like "
		"\"www.example.com\" or \"127.0.0.1:9001\""},
	    {"servers[0].health_status", "200-",
		"servers[0].health_status: \"200-\": a status is in 200..599, "
		"a range like 200-399"},
	    {"servers[0].health_status", "404,399-200",
		"servers[0].health_status: \"399-200\": a status is in "
		"200..599, a range like 200-399"},
	    {"servers[0].health_status", "-200",
		"servers[0].health_status: \"-200\": a status is in 200..599, "
		"a range like 200-399"},
	    {"servers[0].health_status", "2000",
		"servers[0].health_status: \"2000\": a status is in 200..599, "
		"a range like 200-399"},
	    {"servers[0].health_status", "200-600",
		"servers[0].health_status: \"200-600\": a status is in "
		"200..599, a range like 200-399"},
	    {"listen", "a,:1",
		"listen: \"a\": the port is missing: write \"HOST:PORT\", or "
		"\":PORT\" "
		"to listen"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config_errors errors = {0};
		struct config *c;
		char *before, *after;

		assert_int_equal(config_new(&c), 0);
		before = written(c);
		assert_int_equal(
		    config_set(c, cases[i].path, cases[i].text, &errors),
		    -EINVAL);
		assert_int_equal(errors.count, 1);
		assert_string_equal(errors.text[0], cases[i].error);
		after = written(c);
		assert_string_equal(before, after);
		free(before);
		free(after);
		config_errors_fini(&errors);
		config_free(&c);
	}
}

static const struct {
	const char *text, *errors;
} contradictions[] = {
    /* No contradiction: the same port on different addresses, and the
     * kernel's choice twice. */
    {"{\"listen\": [\"127.0.0.1:0\", \"127.0.0.1:0\", "
     "\"[::1]:80\"], \"admin\": \"127.0.0.1:0\", \"servers\": ["
     "{\"address\": \"127.0.0.1:80\"}, "
     "{\"address\": \"127.0.0.1:81\"}]}",
	""},
    {"{}", "listen: no address; name one for clients, for example "
	   "\":8080\"\n"
	   "servers: none given; name one or two, each with an "
	   "address\n"},
    {"{\"listen\": \":80\", \"servers\": [{}]}",
	"servers[0].address: missing: where the server listens\n"},
    {"{\"listen\": [\":0\", \":0\", \"unix:/a\", \"unix:/a\"], "
     "\"admin\": \"unix:/a\", "
     "\"servers\": [{\"address\": \"unix:/b\"}]}",
	"listen: unix:/a is given twice\n"
	"admin: unix:/a is also in listen\n"
	"admin: unix:/a is also in listen\n"},
    {"{\"listen\": \":80\", \"admin\": \"10.0.0.1:81\", "
     "\"servers\": [{\"address\": \"127.0.0.1:80\"}]}",
	"admin: 10.0.0.1:81 is reachable from other machines; use a "
	"loopback address or unix:/path\n"
	"servers[0].address: 127.0.0.1:80 is where Tailor itself "
	"listens\n"},
    {"{\"listen\": \":80\", \"servers\": [{\"address\": \":1\", "
     "\"collect\": \"http://b/gc\"}]}",
	"servers[0].collect: \"http:/path\" needs a target of at most "
	"256 bytes\n"},
    {"{\"listen\": \":80\", \"servers\": [{\"address\": \":1\", "
     "\"health_status\": []}]}",
	"servers[0].health_status: none given; leave it out for "
	"200-399\n"},
    {"{\"listen\": [\":80 proxy_protocol\", "
     "\"unix:/a proxy_protocol\", \":81\", \":80\"], "
     "\"servers\": [{\"address\": \":1\"}]}",
	"listen: :80 is given twice\n"
	"listen: no peer may connect to :80; name the "
	"peers in proxy.trusted_proxies\n"
	"listen: no peer may connect to unix:/a; name "
	"the peers in proxy.trusted_proxies\n"},
    {"{\"listen\": \":80\", \"servers\": [{\"address\": "
     "\"localhost:1\"}, {\"name\": \"a\", "
     "\"address\": \"127.0.0.1:1\"}]}",
	"servers[1].address: 127.0.0.1:1 is the address of servers[0] "
	"too\n"
	"servers[1].name: \"a\" is the name of servers[0] too\n"},
    {"{\"listen\": \"[::1]:2\", \"servers\": [{\"address\": "
     "\"localhost:2\"}, {\"name\": \"b\", "
     "\"address\": \"[::1]:2\"}]}",
	"servers[0].address: localhost:2 is where Tailor itself "
	"listens\n"
	"servers[1].address: [::1]:2 is where Tailor itself "
	"listens\n"
	"servers[1].address: [::1]:2 is the address of servers[0] "
	"too\n"},
    {"{\"listen\": \":80\", \"admin\": \"127.0.0.1:81\", \"profiler\": "
     "{\"channel_socket\": \"/a\"}, \"metrics\": {\"listen\": "
     "\"unix:/a\"}, \"servers\": [{\"address\": \"localhost:81\"}]}",
	"profiler.channel_socket: /a is also in listen, admin or "
	"metrics.listen; give it a path of its own\n"
	"servers[0].address: localhost:81 is Tailor's own admin or "
	"metrics.listen\n"},
    {"{\"listen\": \":80\", \"hedging\": {\"steer\": true}, \"servers\": "
     "[{\"address\": \":1\", \"launch\": {\"output\": \"/a\"}}]}",
	"servers[0].launch.output: nothing is launched: set "
	"launch.command, or leave this out\n"
	"hedging.steer: needs two servers; add one, or leave it out\n"},
};

TEST(test_check_messages)
{
	for (unsigned i = 0;
	     i < sizeof(contradictions) / sizeof(contradictions[0]); i++) {
		struct config_errors errors = {0};
		struct config *c = parse_good(contradictions[i].text);
		char *text;

		assert_int_equal(config_check(c, &errors),
		    contradictions[i].errors[0] == '\0' ? 0 : -EINVAL);
		text = errors_joined(&errors);
		assert_string_equal(text, contradictions[i].errors);
		free(text);
		config_errors_fini(&errors);
		config_free(&c);
	}
}

/* The definition, read aloud. */
static unsigned
naive_distance(const char *a, size_t m, const char *b, size_t n)
{
	unsigned best, other;

	if (m == 0 || n == 0)
		return (unsigned)(m + n);
	best = naive_distance(a, m - 1, b, n - 1) + (a[m - 1] != b[n - 1]);
	other = naive_distance(a, m - 1, b, n) + 1;
	best = other < best ? other : best;
	other = naive_distance(a, m, b, n - 1) + 1;
	best = other < best ? other : best;
	if (m > 1 && n > 1 && a[m - 1] == b[n - 2] && a[m - 2] == b[n - 1]) {
		other = naive_distance(a, m - 2, b, n - 2) + 1;
		best = other < best ? other : best;
	}
	return best;
}

TEST(test_distance_against_the_definition)
{
	for (unsigned round = 0; round < 2000; round++) {
		char a[8] = "", b[8] = "";
		size_t m = unit_draw(7), n = unit_draw(7);

		for (size_t i = 0; i < m; i++)
			a[i] = (char)('a' + unit_draw(3));
		for (size_t i = 0; i < n; i++)
			b[i] = (char)('a' + unit_draw(3));
		assert_int_equal(
		    nearest_distance(a, b), naive_distance(a, m, b, n));
	}
	assert_int_equal(nearest_distance("mode", "mdoe"), 1);
}
