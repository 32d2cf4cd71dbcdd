/* main.c: the program: reads the configuration and starts the threads.
 *
 * The main thread becomes the proxy thread.  All others are started with
 * signals blocked, so signals always arrive here. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/topology.h"
#include "borrow/borrow.h"
#include "config/config.h"
#include "daemon/beside.h"
#include "daemon/daemon.h"
#include "daemon/inspect.h"
#include "daemon/notify.h"
#include "daemon/placement.h"
#include "daemon/privileges.h"
#include "daemon/settings.h"
#include "profiler/profiler.h"
#include "shim/shim.h"
#include "proxy/admin/token.h"
#include "proxy/analysis/analysis.h"
#include "proxy/client/listeners.h"
#include "proxy/request/slow.h"

/* Least time between two events of a rate.  The kernel is read every 5 ms at
 * most, and an explanation waits for its request's last rate event. */
#define RATES_PERIOD_NS (10 * NS_PER_MS)

/* 16384 events of 64 bytes in the ring of each CPU: 16 ms at a million events a
 * second, longer than the observer waits for a CPU that is not overloaded. */
#define KERNEL_SLOTS_LOG2 14

#define PROXY_CHANNEL_LOG2 14 /* 16384 events: 1 s at 4000 requests/s */

/* Print and release errors; returns how many. */
static unsigned
print_errors(struct config_errors *errors)
{
	unsigned n = errors->count;

	for (unsigned i = 0; i < n; i++)
		fprintf(stderr, "tailor: %s\n", errors->text[i]);
	config_errors_fini(errors);
	return n;
}

/* Read the configuration; NULL after printing all errors. */
static struct config *
config_first(const struct settings *s)
{
	struct config_errors errors = {0};
	struct config *c = NULL;

	settings_read(s, &c, &errors);
	print_errors(&errors);
	if (c == NULL && s->file == NULL && s->sets == 0)
		fprintf(stderr, "For example: tailor --listen :8080 --active "
				"127.0.0.1:9001\n");
	return c;
}

/* Report environment variables that look like misspelt keys: in the log, or
 * printed for a person who tests a configuration. */
static void
doubt_environment(bool logged)
{
	struct config_errors doubts = {0};

	config_doubt_environment(&doubts);
	for (unsigned i = 0; i < doubts.count; i++)
		if (logged)
			log_event(LOG_LEVEL_WARNING, "environment_ignored",
			    "why=\"%s\"", doubts.text[i]);
		else
			fprintf(
			    stderr, "tailor: warning: %s\n", doubts.text[i]);
	config_errors_fini(&doubts);
}

static int
config_print(const struct config *c)
{
	struct json j;

	json_init(&j, true);
	config_write(c, &j);
	return json_print(&j, stdout) < 0 ? 1 : 0;
}

/* For -t: print that the configuration is good, and its main values.  Also
 * checks what it names on this machine, as the user who does so at a reload. */
static int
config_say(const struct config *c, const char *file)
{
	struct config_errors errors = {0};
	struct token token;
	char why[TOKEN_WHY];

	log_level_set(LOG_LEVEL_ERROR);
	inspect_user(c, &errors);
	if (errors.count == 0 && geteuid() == 0) {
		bool failed =
		    privileges_find(c) < 0 || privileges_become(NULL, file) < 0;

		if (privileges_drop() < 0 || failed)
			return 1;
	}
	if (token_read(c->talechain.token_file, &token, why) < 0)
		config_errors_add(&errors, "talechain.token_file: %s", why);
	inspect_machine(c, &errors);
	if (print_errors(&errors) > 0)
		return 1;
	printf("configuration %s is ok: %u server%s, listens on",
	    file != NULL ? file : "(no file)", c->servers,
	    c->servers == 1 ? "" : "s");
	for (unsigned i = 0; i < c->listeners; i++)
		printf("%s %s", i > 0 ? "," : "", c->listen[i].text);
	putchar('\n');
	beside_report(c, file);
	return fflush(stdout) == 0 ? 0 : 1;
}

static int
open_timeline(struct proxy *p, const struct config *c)
{
	unsigned log2 = 0;
	const char *path = c->profiler.stream;
	int err;

	while ((1U << log2) < c->profiler.stream_slots)
		log2++;
	p->stream_path = path != NULL ? path : "";
	err = timeline_new(
	    &p->timeline, *p->stream_path != '\0' ? path : NULL, log2);
	if (err == -EBUSY) {
		log_event(LOG_LEVEL_ERROR, "instance_taken",
		    "instance=%s pid=%ld path=\"%s\" advice=\"a tailor of "
		    "this name runs already: stop it, or start this one with "
		    "another name (instance=NAME) or another listener\"",
		    c->instance, (long)timeline_owner(path), path);
		return -ECANCELED; /* logged */
	}
	if (err < 0 && *p->stream_path != '\0') {
		log_event(LOG_LEVEL_WARNING, "stream_private",
		    "path=\"%s\" error=\"%s\" advice=\"tailorctl log cannot "
		    "follow this tailor: set profiler.stream to a file in "
		    "/dev/shm\"",
		    path, strerror(-err));
		p->stream_path = "";
		err = timeline_new(&p->timeline, NULL, log2);
	}
	path = p->stream_path;
	if (err == 0 && *path != '\0' &&
	    strcmp(timeline_path(p->timeline), path) != 0) {
		p->stream_path = timeline_path(p->timeline);
		log_event(LOG_LEVEL_WARNING, "stream_elsewhere",
		    "path=\"%s\" wanted=\"%s\" why=\"another user has a file "
		    "or a lock there\" advice=\"tailorctl finds the stream at "
		    "path; find out whose the wanted file is (ls -l, lslocks), "
		    "or set profiler.stream to a file in a directory of "
		    "Tailor's\"",
		    p->stream_path, path);
	}
	return err;
}

static const enum profiler_kernel kernel_events[] = {
    [CONFIG_KERNEL_OFF] = PROFILER_KERNEL_OFF,
    [CONFIG_KERNEL_LITE] = PROFILER_KERNEL_LITE,
    [CONFIG_KERNEL_SUMS] = PROFILER_KERNEL_SUMS,
    [CONFIG_KERNEL_FULL] = PROFILER_KERNEL_FULL,
    [CONFIG_KERNEL_ALL] = PROFILER_KERNEL_FULL,
};

/* Return how long analysis waits for a request's events: its last rate event
 * comes up to a period after its end. */
static int64_t
settle_ns(const struct config *c)
{
	return ANALYSIS_SETTLE_NS +
	       (c->profiler.rates != 0 ? RATES_PERIOD_NS : 0);
}

/* Return the default name of the channels' socket (channels.sock for
 * channels-8080.sock), for servers that know no other name; NULL: the socket's
 * path is not a default one. */
static char *
channel_link(const struct config *c)
{
	const char *path = c->profiler.channel_socket;
	const char *slash = strrchr(path, '/');
	char usual[64], *link;

	snprintf(usual, sizeof(usual), "/channels-%s.sock", c->instance);
	if (slash == NULL || strcmp(slash, usual) != 0 ||
	    asprintf(&link, "%.*s/channels.sock", (int)(slash - path), path) <
		0)
		return NULL;
	return link;
}

static int
open_profiler(struct proxy *p, const struct config *c, const char *link)
{
	struct profiler_options o = {
	    .channels_max = limits_channels(),
	    .blind_ns = PROFILER_BLIND_NS,
	    .kernel = kernel_events[c->profiler.kernel],
	    .syscalls = c->profiler.kernel == CONFIG_KERNEL_ALL,
	    .stacks = c->profiler.stacks,
	    .kernel_slot_log2 = KERNEL_SLOTS_LOG2,
	    .kernel_events = c->profiler.kernel_events,
	    .rates = c->profiler.rates,
	    .rates_period_ns = RATES_PERIOD_NS,
	    .counters = c->profiler.counters,
	    .counted = &p->counted,
	    .servers = PROFILER_SERVERS, /* a reload may add one */
	    .channel_socket = *c->profiler.channel_socket != '\0'
				  ? c->profiler.channel_socket
				  : NULL,
	    .channel_link = link,
	};
	bool launches = false;
	int err;

	placement_observer(p, &o);
	for (unsigned i = 0; i < c->servers; i++) {
		const struct config_server *s = &c->server[i];

		launches |= s->argc > 0;
		servers_observed(c, s, &o.server[i]);
		o.server[i].program = *s->libjvm != '\0' ? s->libjvm
				      : s->argc > 0	 ? s->argv[0]
							 : NULL;
	}
	err = profiler_new(&p->profiler, &o);
	if (err < 0)
		return err;
	if (*c->process.user == '\0') /* else privileges_become */
		profiler_privileges_drop(
		    launches, profiler_counts(p->profiler));
	return profiler_channel(p->profiler, "proxy", TALECHAIN_KIND_PROXY,
	    PROXY_CHANNEL_LOG2, &p->events);
}

static int
config_again(void *user, struct config **out, struct config_errors *errors)
{
	return settings_read(user, out, errors);
}

static int
code_map(void *user, pid_t pid, struct instant since)
{
	return profiler_code_map(user, pid, since);
}

static int
open_analysis(struct proxy *p, const struct config *c, int kallsyms)
{
	struct analysis_options o = {
	    .timeline = p->timeline,
	    .keep = slow_tales_max(c->slow.store_bytes),
	    .store = c->slow.store,
	    .store_bytes = c->slow.store_bytes,
	    .settle_ns = settle_ns(c),
	    .kallsyms = kallsyms,
	    .maps = {c->profiler.stacks ? code_map : NULL, p->profiler},
	    .cpu = c->analysis.cpu,
	    .accounts = ACCOUNTS_KEPT,
	    .counted = &p->counted,
	    .account_bytes = c->blame.store_bytes,
	};

	return analysis_new(&p->analysis, &o);
}

/* Run the daemon, with signals unblocked. */
static int
run(struct daemon *d)
{
	sigset_t set;
	int err;

	placement_proxy(&d->proxy);
	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	err = daemon_run(d);
	/* Block signals again: one more must not end the process before the
	 * short rest of the shutdown is done. */
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	return err;
}

/* Start and run the daemon; takes ownership of the configuration. */
static int
serve(struct config *c, struct settings *settings)
{
	struct daemon *d = calloc(1, sizeof(*d));
	struct proxy *p;
	char *link = NULL;
	int err = -ENOMEM, kallsyms = -1;

	if (d == NULL) {
		config_free(&c);
	} else {
		TAILQ_INIT(&d->proxy.generations);
		err = generation_add(&d->proxy.generations, c);
	}
	if (err < 0) {
		log_event(LOG_LEVEL_ERROR, "failed", "error=\"out of memory\"");
		free(d);
		return err;
	}
	p = &d->proxy;
	p->config = c;
	d->source =
	    (struct config_source){settings->file, config_again, settings};
	privileges_core_off(c);
	placement_plan(p);
	counted_init(&p->counted);
	link = channel_link(c);
	err = privileges_find(c);
	/* Opened before privileges are dropped: the file shows addresses only
	 * to a privileged opener. */
	if (c->profiler.stacks && c->profiler.kernel != CONFIG_KERNEL_OFF)
		kallsyms = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (err == 0)
		err = open_profiler(p, c, link);
	/* From here on files are opened with the user's rights, and threads
	 * have only the capabilities that Tailor keeps. */
	if (err == 0)
		err = privileges_become(c, settings->file);
	if (err == 0)
		err = log_open();
	if (err == 0)
		err = open_timeline(p, c);
	if (err == 0)
		err = open_analysis(p, c, kallsyms);
	if (err == 0)
		err = profiler_start(p->profiler, p->timeline);
	if (err == -EADDRINUSE) /* of its sockets, logged */
		err = -ECANCELED;
	free(link);
	if (err == 0)
		err = daemon_init(d);
	if (err == 0)
		err = run(d);
	if (err < 0 && err != -ECANCELED) /* -ECANCELED: reported already */
		log_event(
		    LOG_LEVEL_ERROR, "failed", "error=\"%s\"", strerror(-err));
	if (err < 0) /* a start that fails leaves nothing of root's either */
		privileges_drop();
	daemon_fini(d);
	analysis_free(&p->analysis);
	profiler_free(&p->profiler);
	timeline_free(&p->timeline);
	counted_fini(&p->counted);
	generations_fini(&p->generations);
	free(d);
	return err;
}

int
main(int argc, char **argv)
{
	static struct settings settings;
	struct config *config;
	sigset_t all;
	int err;

	file_open_standard();
	if (argc > 1 && strcmp(argv[1], "shim") == 0)
		return shim_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "borrow") == 0)
		return borrow_main(argc - 1, argv + 1);
	settings_parse(&settings, argc, argv);
	activation_init();
	config = config_first(&settings);
	if (config == NULL)
		return 1;
	if (settings.dump || settings.test) {
		doubt_environment(false);
		err = settings.dump ? config_print(config)
				    : config_say(config, settings.file);
		config_free(&config);
		return err;
	}
	settings.instance = strdup(config->instance);
	notify_init();
	signal(SIGPIPE, SIG_IGN);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	log_prepare((enum log_level)config->log.level,
	    (enum log_format)config->log.format);
	doubt_environment(true);
	err = serve(config, &settings);
	if (err < 0) /* threads that were ending may have logged since */
		log_repeat_error();
	log_close();
	notify_fini();
	free(settings.instance);
	return err < 0 ? 1 : 0;
}
