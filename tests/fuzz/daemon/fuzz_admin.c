/*
 * fuzz_admin.c: libFuzzer target, what is sent to the admin listener.
 *
 * The bytes go over a connection to a proxy in this process that has all but
 * a loop, an observer and living servers; one request that has finished is
 * known by the id "known".  Half of the clients leave before the answer.
 * Aborts if
 *   - the connection does not end, or what comes is no HTTP answer;
 *   - an answer that says it is JSON is not;
 *   - a server's state, the log's level or the configuration is another one
 *     afterwards without a POST, or after one that has an Origin.
 * Whatever a POST has changed is made again from new.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/daemon.h"
#include "proxy/admin/admin.h"
#include "proxy/analysis/analysis.h"
#include "tests/fuzz/check.h"
#include "proxy/request/table.h"
#include "proxy/client/listeners.h"

#define INPUT_MAX 20000 /* somewhat more than the head and the body may have */
#define ANSWER_MAX (1 << 22)
#define TURNS_MAX 5000 /* without an end */

int LLVMFuzzerInitialize(int *argc, char ***argv);

static char directory[] = "/tmp/tailor-fuzz-admin-XXXXXX";
static char text[1024]; /* the configuration */
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct daemon *process;
static struct proxy *proxy; /* of it */
static char answer[ANSWER_MAX + 1];
static size_t answered;

/* What only a POST may change. */
struct state {
	const struct config *config;
	enum log_level level;
	unsigned active;
	struct {
		enum maintenance stage;
		unsigned hazards;
	} server[CONFIG_SERVERS];
};

static struct state
state_of(const struct proxy *p)
{
	struct state s;

	memset(&s, 0, sizeof(s));
	s.config = p->config;
	s.level = log_level_get();
	s.active = p->hedging.active;
	for (unsigned i = 0; i < p->config->servers; i++) {
		s.server[i].stage = p->upstream.server[i].maintenance.stage;
		s.server[i].hazards = p->hedging.server[i].hazards;
	}
	return s;
}

static int
configure(void *user, struct config **out, struct config_errors *errors)
{
	int err = config_parse(out, text, strlen(text), "fuzz", errors);

	(void)user;
	return err < 0 ? err : config_check(*out, errors);
}

static void
remember_request(struct proxy *p)
{
	struct tale_request *r = table_slot(&p->table);
	struct instant now = instant_now();

	memset(r, 0, sizeof(*r));
	r->id = 1;
	strcpy(r->external_id, "known");
	strcpy(r->method, "GET");
	strcpy(r->target, "/search?q=1");
	r->status = 200;
	r->first_byte = r->received = instant_plus(now, -NS_PER_S);
	r->committed = r->finished = instant_plus(now, -NS_PER_S + NS_PER_MS);
	table_file(&p->table);
}

static int
reload(void *user, struct reload_result *out)
{
	return daemon_reload(user, "admin", out);
}

static void
proxy_begin(void)
{
	const char *failed;
	static struct profiler *profiler;
	static struct timeline *timeline;
	static struct analysis *analysis;
	struct config_errors errors = {0};
	struct config *config = NULL;
	uint64_t cookie = process != NULL ? process->tales.cookie : 0;

	if (process != NULL) {
		daemon_fini(process);
		generations_fini(&proxy->generations);
		free(process);
	}
	process = calloc(1, sizeof(*process));
	check(process != NULL, "memory");
	proxy = &process->proxy;
	check(configure(NULL, &config, &errors) == 0, "configuration");
	TAILQ_INIT(&proxy->generations);
	check(generation_add(&proxy->generations, config) == 0, "generation");
	proxy->config = config;
	if (timeline == NULL) {
		struct profiler_options o = {.channels_max = 1, .cpu = -1};
		struct analysis_options a = {
		    .keep = 4, .store = "", .store_bytes = 1 << 20};

		check(timeline_new(&timeline, NULL, 10) == 0, "timeline");
		a.timeline = timeline;
		check(profiler_new(&profiler, &o) == 0, "profiler");
		check(analysis_new(&analysis, &a) == 0, "analysis");
	}
	process->source = (struct config_source){.read = configure};
	proxy->profiler = profiler;
	proxy->timeline = timeline;
	proxy->analysis = analysis;
	proxy->stream_path = "";
	check(daemon_init(process) == 0, "daemon");
	process->tales.cookie = cookie; /* answers to the last may come yet */
	check(event_add(&process->answer_event, NULL) == 0, "event");
	check(listeners_change(&proxy->clients, proxy->config, &failed) == 0,
	    "listener");
	check(admin_new(&process->admin, proxy, reload, process) == 0 &&
		  process->admin != NULL,
	    "admin listener");
	remember_request(proxy);
}

static void
clean_up(void)
{
	char path[sizeof(directory) + 8];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%c", directory, "la"[i]);
		unlink(path);
	}
	rmdir(directory);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	log_level_set(LOG_LEVEL_ERROR);
	check(mkdtemp(directory) != NULL, "directory");
	atexit(clean_up);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/a", directory);
	snprintf(text, sizeof(text),
	    "{\"listen\": [\"unix:%s/l\"], \"admin\": \"unix:%s/a\","
	    " \"servers\": [{\"name\": \"one\", \"address\": \"unix:%s/1\"},"
	    " {\"name\": \"two\", \"address\": \"unix:%s/2\"}],"
	    " \"slow\": {\"history\": 16, \"store\": \"\"},"
	    " \"log\": {\"level\": \"error\"}}",
	    directory, directory, directory, directory);
	proxy_begin();
	return 0;
}

static void
loop_turn(void)
{
	check(event_base_loop(proxy->loop.base, EVLOOP_NONBLOCK) >= 0, "loop");
	loop_turn_end(&proxy->loop);
	admin_tick(process->admin, instant_now());
}

/* One turn of the loop, and what it brought; false at the end. */
static bool
turn(int fd)
{
	ssize_t n;

	loop_turn();
	n = recv(fd, answer + answered, ANSWER_MAX - answered, MSG_DONTWAIT);
	if (n > 0)
		answered += (size_t)n;
	check(answered < ANSWER_MAX, "length of the answers");
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static void
wait_for_answer(void)
{
	struct pollfd p = {analysis_fd(proxy->analysis), POLLIN, 0};

	poll(&p, 1, 100);
}

/* Send it all and take what comes until the other side ends; or leave when it
 * has been sent. */
static void
exchange(const char *data, size_t size, bool leave)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t sent = 0;
	bool ended = false;

	answered = 0;
	check(fd >= 0 && connect(fd, (const struct sockaddr *)&address,
			     sizeof(address)) == 0,
	    "connection");
	for (unsigned i = 0; turn(fd); i++) {
		size_t before = answered;
		ssize_t n = send(
		    fd, data + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		check(i < TURNS_MAX, "end of the connection");
		if (n > 0 || answered > before)
			continue;
		if (leave)
			break;
		if (!TAILQ_EMPTY(&process->tales.queries))
			wait_for_answer();
		else if (!ended)
			ended = shutdown(fd, SHUT_WR) == 0;
	}
	close(fd);
	loop_turn();
	for (unsigned i = 0; !TAILQ_EMPTY(&process->tales.queries); i++) {
		wait_for_answer();
		check(i < TURNS_MAX, "end of the questions");
		loop_turn();
	}
	answer[answered] = '\0';
}

/* The first answer, if it is there whole. */
static void
check_answer(bool head)
{
	const char *body = strstr(answer, "\r\n\r\n"), *length;
	char *end;
	long n;
	cJSON *tree;

	if (answered == 0)
		return;
	check(strncmp(answer, "HTTP/1.1 ", 9) == 0 &&
		  strchr("245", answer[9]) != NULL,
	    "status line");
	check(body != NULL, "head");
	length = strstr(answer, "\r\nContent-Length: ");
	if (head || length == NULL || length > body)
		return;
	body += 4;
	n = strtol(length + 18, &end, 10);
	check(n >= 0 && *end == '\r', "length");
	end = strstr(answer, "\r\nContent-Type: application/json\r\n");
	if (end == NULL || end > body || n > answer + answered - body)
		return;
	tree = cJSON_ParseWithLength(body, (size_t)n);
	check(tree != NULL, "JSON");
	cJSON_Delete(tree);
}

/* Whether a POST may change anything: there is one, and not all that there is
 * has an Origin in its head. */
static bool
may_change(const char *input)
{
	const char *post = strstr(input, "POST"), *blank, *origin;

	if (post == NULL || post != input || strstr(post + 4, "POST") != NULL)
		return post != NULL;
	blank = strstr(input, "\r\n\r\n");
	origin = strstr(input, "\r\nOrigin: null\r\n");
	return blank != NULL && (origin == NULL || origin > blank);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char input[INPUT_MAX + 1];
	struct state before = state_of(proxy), after;

	if (size < 1 || size > INPUT_MAX)
		return 0;
	memcpy(input, data + 1, size - 1);
	input[size - 1] = '\0';
	exchange(input, size - 1, (data[0] & 1) != 0);
	/* Empty lines before a request are no part of it. */
	check_answer(strncmp(input + strspn(input, "\r\n"), "HEAD", 4) == 0);
	after = state_of(proxy);
	if (memcmp(&before, &after, sizeof(before)) == 0)
		return 0;
	check(memmem(data, size, "POST", 4) != NULL &&
		  (strlen(input) < size - 1 || may_change(input)),
	    "something has changed");
	log_level_set(LOG_LEVEL_ERROR);
	proxy_begin();
	return 0;
}
