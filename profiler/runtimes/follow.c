#include "profiler/runtimes/follow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "profiler/processes/finder.h"
#include "profiler/jvm/hsperf_page.h"
#include "profiler/processes/proc.h"
#include "profiler/runtimes/probes.h"

#define TRY_NS (100 * NS_PER_MS)
/* A runtime is mapped in a program's first moments; a JVM's page is there in
 * its first tenths of a second. */
#define TRIES 100
#define TRIES_FOR_PAGE 50
#define FINDER_STEPS 100000

/* Attach to a file; before the first one, load the programs.  Returns 0 or a
 * negative errno with why. */
static int
runtimes_attach(struct runtimes *r, const struct runtime *runtime,
    const char *file, char *why)
{
	int err;

	if (*file == '\0') {
		snprintf(why, PROBES_WHY,
		    "its file was replaced since it started, by an upgrade");
		return -ESTALE;
	}
	if (r->probes == NULL) {
		err = probes_new(&r->probes, r->first_number, why);
		if (err < 0)
			return err;
		for (unsigned i = 0; i < r->servers; i++)
			r->add(r->user, probes_channel(r->probes, i));
	}
	return probes_attach(r->probes, runtime, file, why);
}

static const char *
remedy(const struct runtime *runtime, int err)
{
	if (err == -ESTALE)
		return "restart it";
	if (runtime->page)
		return "let the JVM keep hsperfdata, or load the agent";
	return err == -ENOENT ? "use a build of it with symbols and probes"
			      : "start tailor as root, with process.user, "
				"after the server";
}

/* Log once why a server has no probes. */
static void
server_log_off(struct runtimes_server *s)
{
	if (s->off == NULL || s->logged)
		return;
	s->logged = true;
	log_event(LOG_LEVEL_WARNING, "runtime_off",
	    "server=%s runtime=%s why=\"%s\" costs=\"its collections are not "
	    "seen\" do=\"%s\"",
	    s->options.name, s->off->name, s->why, s->remedy);
}

/* Attach to a file for a server, and log the result.  If the file has no such
 * probes, another may have them: that is logged only when no more is tried.
 * False: not attached. */
static bool
server_attach(struct runtimes *r, unsigned server,
    const struct runtime *runtime, const char *file)
{
	struct runtimes_server *s = &r->server[server];
	char why[PROBES_WHY] = "";
	int root = 0;
	int err = runtimes_attach(r, runtime, file, why);

	/* Later tries have fewer privileges: keep the first reason that was
	 * logged. */
	if (err < 0 && (s->off != runtime || !s->logged)) {
		memcpy(s->why, why, sizeof(s->why));
		s->remedy = remedy(runtime, err);
		s->logged = false;
	}
	if (err < 0) {
		s->off = runtime;
		if (err != -ENOENT)
			server_log_off(s);
		return false;
	}
	if (s->runtime != runtime)
		log_event(LOG_LEVEL_NOTICE, "runtime_on",
		    "server=%s runtime=%s file=\"%s\"", s->options.name,
		    runtime->name, file);
	s->runtime = runtime;
	/* Show the path as the process sees it: without /proc/PID/root. */
	sscanf(file, "/proc/%*d/root%n", &root);
	file += root;
	snprintf(s->detail, sizeof(s->detail), "probes of %s in %.60s",
	    runtime->name, file);
	return true;
}

/* --- at the start --------------------------------------------------------- */

/* A process that already listens on an address; 0: none is found. */
static pid_t
listener_at(const struct sockaddr_storage *address)
{
	enum finder_result found = FINDER_MORE;
	struct finder finder;
	struct family family = {0};

	finder_init(&finder);
	for (int i = 0; i < FINDER_STEPS && found == FINDER_MORE; i++)
		found = finder_step(&finder, address, 0, &family);
	finder_fini(&finder);
	return found == FINDER_FOUND ? family.pid[0] : 0;
}

/* A process that already listens for a server; 0: none is found. */
static pid_t
listener_now(const struct profiler_server *options)
{
	pid_t pid = listener_at(&options->address);

	return pid != 0 ? pid : listener_at(&options->other);
}

/* True if a process's runtime may have a page in memory, and has one. */
static bool
has_page(const struct runtime *runtime, pid_t pid)
{
	struct hsperf_page *page = NULL;
	char why[PAGE_TEXT];

	if (!runtime->page || hsperf_page_open(&page, pid, why) < 0)
		return false;
	hsperf_page_free(&page);
	return true;
}

/* Attach configured probes (probes = on) to a file, or to a program's
 * runtime. */
static void
start_on(struct runtimes *r, unsigned server)
{
	const struct profiler_server *options = &r->server[server].options;
	pid_t pid = options->program == NULL ? listener_now(options) : 0;
	const char *file = options->program != NULL ? options->program : "java";
	const struct runtime *runtime = NULL;
	char found[PATH_MAX] = "";

	if (pid != 0)
		runtime = runtime_of_process(pid, found);
	else if (strchr(file, '/') != NULL)
		runtime = runtime_of_file(file);
	/* No runtime was found, or its file was replaced: the server's next
	 * process will map the new one. */
	if (runtime == NULL || (pid != 0 && found[0] == '\0'))
		runtime = runtime_of_program(file, found);
	if (found[0] != '\0')
		file = found;
	if (runtime != NULL) {
		if (!server_attach(r, server, runtime, file))
			server_log_off(&r->server[server]);
		return;
	}
	log_event(LOG_LEVEL_WARNING, "runtime_off",
	    "server=%s why=\"%.150s is not a known runtime and has none "
	    "beside it\" costs=\"its collections are not seen\" do=\"set "
	    "servers[].jvm to usdt:/path/libjvm.so\"",
	    options->name, file);
}

/* With auto, probe a runtime that can be recognised at the start. */
static void
start_auto(struct runtimes *r, unsigned server)
{
	const struct profiler_server *options = &r->server[server].options;
	const struct runtime *runtime = NULL;
	char file[PATH_MAX] = "";
	pid_t pid = 0;

	if (options->program != NULL) {
		runtime = runtime_of_program(options->program, file);
		/* A page may still appear, and is better than probes. */
		if (runtime != NULL && runtime->page &&
		    runtime_of_file(options->program) != runtime)
			return;
	} else if (options->address.ss_family != AF_UNSPEC) {
		pid = listener_now(options);
		if (pid != 0)
			runtime = runtime_of_process(pid, file);
		if (runtime != NULL && has_page(runtime, pid))
			return;
	}
	if (runtime != NULL && !runtime->asked)
		server_attach(r, server, runtime, file);
}

void
runtimes_start(struct runtimes *r, const struct profiler_options *options,
    uint32_t first_number)
{
	r->servers = options->servers;
	r->first_number = first_number;
	for (unsigned i = 0; i < r->servers; i++) {
		r->server[i].options = options->server[i];
		if (options->server[i].probes == PROFILER_PROBES_ON)
			start_on(r, i);
		else if (options->server[i].probes == PROFILER_PROBES_AUTO)
			start_auto(r, i);
	}
}

void
runtimes_close(struct runtimes *r)
{
	probes_free(&r->probes);
}

/* --- on the attach thread ------------------------------------------------- */

static void
server_watch(struct runtimes *r, unsigned server, pid_t pid)
{
	struct runtimes_server *s = &r->server[server];

	if (s->watched == pid || r->probes == NULL)
		return;
	s->watched = pid;
	/* Set workers before the process that is watched. */
	probes_workers(r->probes, server, s->worker, pid != 0 ? s->workers : 0);
	probes_watch(r->probes, server, pid);
}

void
runtimes_set(
    struct runtimes *r, unsigned server, const struct profiler_server *is)
{
	runtimes_process(r, server, 0);
	r->server[server] = (struct runtimes_server){.options = *is};
}

void
runtimes_process(struct runtimes *r, unsigned server, pid_t pid)
{
	struct runtimes_server *s = &r->server[server];
	bool known =
	    s->runtime != NULL &&
	    (s->options.probes == PROFILER_PROBES_ON || !s->runtime->page);

	if (s->pid == pid)
		return;
	s->pid = pid;
	s->tries = 0;
	s->refused[0] = '\0';
	s->due = INSTANT_NONE;
	/* If the runtime's file is probed already, watch the process at once:
	 * no collection is missed. */
	server_watch(r, server, known ? pid : 0);
}

void
runtimes_workers(
    struct runtimes *r, unsigned server, const pid_t *pid, unsigned count)
{
	struct runtimes_server *s = &r->server[server];

	s->workers = count < RUNTIME_WORKERS ? count : RUNTIME_WORKERS;
	memcpy(s->worker, pid, s->workers * sizeof(*pid));
	if (s->watched != 0)
		probes_workers(r->probes, server, s->worker, s->workers);
}

/* Find the runtime that a server's process has mapped, and probe it if due. */
static void
server_examine(struct runtimes *r, unsigned server)
{
	struct runtimes_server *s = &r->server[server];
	const struct runtime *runtime;
	char file[PATH_MAX];

	runtime = runtime_of_process(s->pid, file);
	if (runtime == NULL ||
	    (*file != '\0' && strcmp(file, s->refused) == 0) ||
	    (runtime->page && s->tries < TRIES_FOR_PAGE &&
		!proc_has_argument(s->pid, "-XX:-UsePerfData") &&
		!proc_has_argument(s->pid, "-XX:+PerfDisableSharedMem")))
		return;
	if (runtime->asked) {
		s->tries = TRIES;
	} else if (server_attach(r, server, runtime, file)) {
		s->tries = TRIES;
		server_watch(r, server, s->pid);
	} else {
		snprintf(s->refused, sizeof(s->refused), "%s", file);
	}
}

int64_t
runtimes_turn(
    struct runtimes *r, unsigned server, bool paged, struct instant now)
{
	struct runtimes_server *s = &r->server[server];

	if (s->options.probes != PROFILER_PROBES_AUTO || s->pid == 0)
		return -1;
	/* The page has appeared, and shows more than probes. */
	if (paged) {
		server_watch(r, server, 0);
		return -1;
	}
	if (s->watched != 0 || s->tries >= TRIES)
		return -1;
	if (instant_before(now, s->due))
		return instant_since(s->due, now);
	server_examine(r, server);
	s->tries++;
	s->due = instant_plus(now, TRY_NS);
	if (s->tries < TRIES)
		return TRY_NS;
	if (s->watched == 0)
		server_log_off(s);
	return -1;
}

const char *
runtimes_detail(const struct runtimes *r, unsigned server)
{
	return r->server[server].watched != 0 ? r->server[server].detail : NULL;
}
